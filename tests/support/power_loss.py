"""
Power loss: the files of a ledger as they can be on disk after the power is lost at any time.

A writer runs with `disk_log.c`, which logs its writes, truncations, removals and fsyncs. The power
can be lost after each of these operations. Everything that was synced is then on disk, together
with any part of the rest, torn at sector boundaries. The ledger is opened from such files. Every
acknowledged batch must be present, and the hash chain must be intact. Run as a script to choose the
number of points.
"""

import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from ledger_worker import counts

from bayescm.online import verify
from bayescm.online.ledger import Ledger

_SECTOR = 512


def write(folder, batches):
    """Write batches, and acknowledge each one in a file that is also logged."""
    with Ledger(f"{folder}/eval.db") as ledger, open(f"{folder}/a.said", "wb", buffering=0) as said:
        for number in range(batches):
            if number % 7 == 6:
                ledger.close()  # runs a checkpoint, and removes the write-ahead log
            ledger.record("classifier", f"0-{number}", counts(0, number))
            said.write(f"{number}\n".encode())


def logged(folder, batches):
    """Run a writer with logging, and return the initial files and the logged operations."""
    folder, library = Path(folder), Path(folder) / "disk_log.so"
    source = Path(__file__).with_name("disk_log.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    with Ledger(folder / "eval.db") as ledger:
        ledger.record("classifier", "before", counts(9, 9))
    start = {"eval.db": (folder / "eval.db").read_bytes()}
    env = os.environ | {"LD_PRELOAD": str(library), "DISK_LOG": str(folder / "log")}
    subprocess.run([sys.executable, __file__, "write", folder, str(batches)], env=env, check=True)
    return start, parsed((folder / "log").read_bytes())


def parsed(raw):
    done, place = [], 0
    while place < len(raw):
        kind, length, offset, size = struct.unpack_from("<cIqI", raw, place)
        name = raw[place + 17 : place + 17 + length].decode()
        place += 17 + length + size
        done.append((kind, Path(name).name, offset, raw[place - size : place]))
    return done


class Disk:
    """Durable contents of every file, and pending operations that are not synced."""

    def __init__(self, files):
        self.durable, self.pending = {k: bytearray(v) for k, v in files.items()}, []

    def do(self, kind, name, offset, data):
        if kind == b"S":
            for each in [each for each in self.pending if each[1] == name]:
                apply(self.durable, *each)
            self.pending = [each for each in self.pending if each[1] != name]
        else:
            self.pending.append((kind, name, offset, data))

    def after_power_loss(self, rng):
        """Return the durable files with a random part of the pending operations applied."""
        files = {name: bytearray(data) for name, data in self.durable.items()}
        chance = rng.choice([0.0, 0.3, 0.7, 1.0])
        for kind, name, offset, data in self.pending:
            if kind != b"W":
                if rng.random() < chance:
                    apply(files, kind, name, offset, data)
                continue
            for start in range(0, len(data), _SECTOR):
                if rng.random() < chance:
                    apply(files, kind, name, offset + start, data[start : start + _SECTOR])
        return files


def apply(files, kind, name, offset, data):
    if kind == b"U":
        files.pop(name, None)
        return
    file = files.setdefault(name, bytearray())
    if kind == b"T":
        file[offset:] = b""
        file.extend(bytes(offset - len(file)))
    else:
        file.extend(bytes(max(0, offset - len(file))))
        file[offset : offset + len(data)] = data


def points(number, seed, batches):
    """Simulate power losses with a correct disk, and with one that ignores fsync as a control."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        start, done = logged(folder, batches)
        where = Path(folder) / "after"
        tried, acknowledged, lost = lose(where, start, done, max(1, number // len(done)), seed)
        rng, false = random.Random(seed), Disk(start)
        for step in done:
            if step[0] != b"S" and not step[1].endswith(".said"):
                false.do(*step)
        control = [looked_at(where, false.after_power_loss(rng), acknowledged) for _ in range(8)]
    return [len(done), tried, acknowledged, lost, sum(map(bool, control))]


def lose(where, start, done, each_step, seed):
    """
    Simulate power losses after every operation.

    Returns the number of losses, the number of acknowledged batches, and the failures.
    """
    rng, lost, tried = random.Random(seed), [], 0
    disk, acknowledged = Disk(start), 0
    for place, step in enumerate(done):
        if step[1].endswith(".said"):
            acknowledged += step[0] == b"W"
        else:
            disk.do(*step)
        for _ in range(each_step):
            tried += 1
            if problem := looked_at(where, disk.after_power_loss(rng), acknowledged):
                lost.append([place, acknowledged, problem])
    return tried, acknowledged, lost


def looked_at(folder, files, acknowledged):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    try:
        with Ledger(folder / "eval.db", create=False) as ledger:
            there = ledger.read("classifier").batch_id.tolist()
            if not verify(ledger)["whole"].all():
                return "damaged"
            ledger.record("classifier", "next", counts(8, 8))
    except Exception as problem:
        return repr(problem)
    want = ["before", *[f"0-{number}" for number in range(acknowledged)]]
    return "" if there[: len(want)] == want and len(there) - len(want) in (0, 1) else str(there)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], int(sys.argv[3]))
    else:
        print(json.dumps(points(*map(int, sys.argv[1:]))))
