"""Record the golden outputs: ``python tests/golden/recorded.py [PART]``.

The outputs are written to ``recorded/*.json``, one file for each of `PARTS`. An output that differs
from the recorded one is written only with ``--replace REASON --reference SOURCE``. The old and new
values, the reason and the reference are then added to ``recorded/replaced.csv``. Entries include
their computing time, because ``test_golden.py`` runs the quick ones in every suite.
"""

import argparse
import csv
import json
import time
import warnings
from pathlib import Path

import golden_calls
import golden_commands
import golden_documents
import golden_saved
import numpy as np
from golden_figures import differences, flatten

FOLDER = Path(__file__).parent / "recorded"
SEEDS = 8  # number of seeds from which Monte Carlo errors of calls are estimated
PARTS = ("calls", "commands", "reports", "pages", "simulations", "ledgers", "trees")


def answers(part: str) -> dict:
    """Return the outputs of a part, keyed by name: a function of a seed, and a class of figures."""
    if part == "calls":
        return {k: (call.answer, call.figures) for k, call in golden_calls.CALLS.items()}
    if part == "commands":
        lines = [f"{c} {rest}" for c, every in golden_commands.COMMANDS.items() for rest in every]
        lines += golden_commands.BY_TYPE
        names = [f"{place:02d} {line[:70]}" for place, line in enumerate(lines)]
        kinds = [golden_commands.figures(line) for line in lines]
        runs = [lambda seed, line=line: golden_commands.run(line) for line in lines]
        return {k: (run, kind) for k, run, kind in zip(names, runs, kinds, strict=True)}
    if part in ("ledgers", "trees"):
        return golden_saved.LEDGERS if part == "ledgers" else golden_saved.SAVED_TREES
    if part == "reports":
        names = golden_documents.REPORTS
        return {k: (lambda seed, k=k: golden_documents.report(k, seed), "sampled") for k in names}
    if part == "pages":
        return {"pages": (lambda seed: golden_documents.pages(), "integrated")}
    names = golden_documents.PAPERS + golden_documents.EXPERIMENTS
    return {k: (lambda seed, k=k: golden_documents.simulation(k), "exact") for k in names}


def load(part: str) -> dict:
    """Return the recorded outputs of a part."""
    path = FOLDER / f"{part}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def made(answer, kind: str, *, seeds: int = 1) -> dict:
    """Return an entry: figures, their class, seconds, and Monte Carlo errors from other seeds."""
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figures = flatten(answer(0))
        seconds = time.perf_counter() - started
        others = [flatten(answer(seed)) for seed in range(1, seeds)] if kind == "sampled" else []
    entry = {"class": kind, "seconds": round(seconds, 2), "figures": figures}
    if others:
        entry["errors"] = _errors([figures, *others])
    return entry


def _errors(every):
    """Return the standard deviations over seeds of the figures that vary."""
    errors = {}
    for path, value in every[0].items():
        values = [each.get(path) for each in every]
        if isinstance(value, list) and all(isinstance(each, list) for each in values):
            spread = float(np.std([each[0] for each in values], ddof=1))
            if spread > 0:
                errors[path] = float(f"{spread:.3g}")
    return errors


def main() -> None:
    """Record new outputs, and outputs to replace."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=PARTS)
    parser.add_argument("--only", help="names that contain this text")
    parser.add_argument("--replace", help="why recorded outputs change")
    parser.add_argument("--reference", help="what other code or table says the new ones are right")
    options = parser.parse_args()
    if bool(options.replace) != bool(options.reference):
        parser.error("--replace and --reference come together")
    for part in [options.part] if options.part else PARTS:
        _record(part, options)


def _record(part, options):
    entries = load(part)
    for name, (answer, kind) in answers(part).items():
        if options.only and options.only not in name:
            continue
        old = entries.get(name)
        # Command lines use the fixed seeds of the commands.
        is_varied = part != "commands" and (old is None or options.replace)
        new = made(answer, kind, seeds=SEEDS if is_varied else 1)
        changed = (
            differences(old["figures"], new["figures"], kind, old.get("errors", {})) if old else []
        )
        if changed and not options.replace:
            print(f"{part}: {name} differs; kept.", *changed[:5], sep="\n    ")
            continue
        if old and not changed:
            continue
        if changed:
            _note(part, name, changed, options)
        entries[name] = new
        print(f"{part}: {name}, {new['seconds']} s", flush=True)
        FOLDER.mkdir(exist_ok=True)
        text = json.dumps(entries, indent=0, ensure_ascii=False)
        (FOLDER / f"{part}.json").write_text(text + "\n", encoding="utf-8")


def _note(part, name, changed, options):
    with (FOLDER / "replaced.csv").open("a", newline="", encoding="utf-8") as file:
        rows = ([part, name, line, options.replace, options.reference] for line in changed)
        csv.writer(file).writerows(rows)


if __name__ == "__main__":
    main()
