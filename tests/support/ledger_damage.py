"""
Results from a ledger whose file is damaged. Run as a script to choose the number of trials.

Each trial flips one bit or truncates the file, then computes two of six results. A result must
equal the result from the intact file, or the call must raise a ValueError or an OSError. Silently
wrong results and other exceptions are failures.
"""

import json
import random
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

from ledger_worker import counts

from bayescm.online import Monitor, verify
from bayescm.online.ledger import Ledger

NAMES = ("first", "second")


def fill(path, batches):
    """Write a ledger of two classifiers with a correction."""
    with Ledger(path) as ledger:
        for number in range(batches):
            at = f"2026-01-01T{number // 60 % 24:02}:{number % 60:02}"
            ledger.record(NAMES[number % 2], f"batch {number}", counts(1, number), at=at)
        ledger.record("first", "again", counts(2, 2), corrects="batch 2")


def answers(path, batches):
    """Return functions that compute results from a ledger, keyed by name."""

    def status():
        with Ledger(path, create=False) as ledger:
            names = ledger.classifiers()
            last = [ledger.last(each) for each in names]
            return [[n, e.total, e.batches, e.entry] for n, e in zip(names, last, strict=True)]

    def series():
        with Monitor(Ledger(path, create=False), "first") as monitor:
            table = monitor.batches()
            return [table.values.tolist(), table["batch_id"].values.tolist()]

    def recent():
        with Monitor(Ledger(path, create=False), "second", window=3) as monitor:
            return monitor.posterior()["counts"].values.tolist()

    def export():
        with Ledger(path, create=False) as ledger:
            return ledger.table().drop(columns="hash").values.tolist()

    def again():
        with Ledger(path, create=False) as ledger:
            number = batches - 2
            name = NAMES[number % 2]
            was = not ledger.record(name, f"batch {number}", counts(1, number))
            return [was, ledger.last(name).total]

    def more():
        with Ledger(path, create=False) as ledger:
            ledger.record("second", "new", counts(3, 3), at="2026-02-01")
            return [ledger.last("second").total, len(ledger.read("second").entry)]

    return {job.__name__: job for job in (status, series, recent, export, again, more)}


def damage(raw, rng):
    """Return the bytes with one bit flipped, or truncated."""
    if rng.random() < 0.1:
        return raw[: rng.randrange(len(raw))], "cut"
    place, bit = rng.randrange(len(raw)), 1 << rng.randrange(8)
    return raw[:place] + bytes([raw[place] ^ bit]) + raw[place + 1 :], "bit"


def trials(number, seed, batches):
    """Return the counts of every outcome over many damaged copies, and the failures."""
    rng, came, wrong = random.Random(seed), Counter(), []
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        path = Path(folder) / "eval.db"
        fill(path, batches)
        raw = path.read_bytes()
        want = {}
        for name in answers(path, batches):
            shutil.copy(path, Path(folder) / "copy.db")
            want[name] = answers(Path(folder) / "copy.db", batches)[name]()
        for trial in range(number):
            bad, kind = damage(raw, rng)
            for name in rng.sample(sorted(want), 2):
                said = ask(Path(folder), bad, batches, name, want)
                came[f"{kind}: {said}"] += 1
                if said in ("wrong", "traceback"):
                    wrong.append([trial, name, said])
            if trial % 4:
                continue
            said = checked(Path(folder), bad)
            came[f"{kind}: verify {said}"] += 1
            if said == "traceback":
                wrong.append([trial, "verify", said])
    return [dict(came), wrong]


def ask(folder, bad, batches, name, want):
    """Compute one result from a damaged copy, and return the outcome."""
    path = fresh(folder, bad)
    try:
        got = answers(path, batches)[name]()
    except (ValueError, OSError) as problem:
        return "named" if "damaged" in str(problem) else "refused"
    except BaseException:
        return "traceback"
    return "right" if got == want[name] else "wrong"


def checked(folder, bad):
    path = fresh(folder, bad)
    try:
        return "whole" if verify(path)["whole"].all() else "named"
    except (ValueError, OSError):
        return "named"
    except BaseException:
        return "traceback"


def fresh(folder, bad):
    path = folder / "bad.db"
    for each in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        each.unlink(missing_ok=True)
    path.write_bytes(bad)
    return path


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(trials(*map(int, sys.argv[1:]))))
