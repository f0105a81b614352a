"""A saved ledger with batches of every type, and the recorded results of its monitors.

Every version of the package must open the ledger and reproduce the recorded results. The files in
``tests/online/specimens`` are therefore not replaced. ``python tests/support/specimen_ledger.py``
only writes the files that are missing.
"""

import json
import sqlite3
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bayescm as bcm
from bayescm import online

FOLDER = Path(__file__).parents[1] / "online" / "specimens"
LEDGER, FIGURES = FOLDER / "ledger.sql", FOLDER / "figures.json"
DAYS, CHANGE = 11, 7
LABELS = ["ill", "well"]


def day_name(number: int) -> str:
    """Return the name of the batch of a day."""
    return str(date(2026, 3, 1) + timedelta(days=number))


def _rng(kind, day):
    return np.random.default_rng([53, kind, day])


def _level(day):
    """Return the probability of a correct prediction. Corrections have 100 added to the day."""
    return 0.85 if day % 100 < CHANGE else 0.55


def counts(day):
    """Return counts of three classes."""
    rng = _rng(1, day)
    actual = rng.integers(0, 3, 90)
    wrong = rng.random(90) > _level(day)
    predicted = np.where(wrong, (actual + rng.integers(1, 3, 90)) % 3, actual)
    names = np.array(["art", "law", "sport"])
    return bcm.from_predictions(names[actual], names[predicted])


def two_classes(day):
    """Return counts of two classes with a positive one."""
    rng = _rng(2, day)
    hits = rng.binomial(40, _level(day)), rng.binomial(60, 0.9)
    return bcm.from_cells(tp=hits[0], fn=40 - hits[0], fp=60 - hits[1], tn=hits[1])


def probabilities(day):
    """Return probabilities that are calibrated before the change, and too extreme afterwards."""
    rng = _rng(3, day)
    log_odds = rng.normal(-1, 1.3, 300)
    slope = 1.0 if day % 100 < CHANGE else 0.3
    outcome = rng.random(300) < 1 / (1 + np.exp(1 - slope * (log_odds + 1)))
    chance = (1 / (1 + np.exp(-log_odds))).round(4)
    return bcm.from_probabilities(outcome.astype(int), chance, positive=1)


def scores(day):
    """Return scores."""
    rng = _rng(4, day)
    actual = np.arange(80) % 2
    return bcm.from_scores(
        actual, (3 * _level(day) * actual + rng.normal(-1, 1, 80)).round(3), positive=1
    )


def marks(day):
    """Return scores from 1 to 5 of named items."""
    score = 1 + _rng(5, day).binomial(4, _level(day), 40)
    items = [f"q{day % 3}.{k}" for k in range(40)]  # the items are repeated every third day
    return bcm.from_item_scores(pd.Series(score, index=items), range=(1, 5))


def errors(day):
    """Return errors with unlimited range. Lower is better."""
    error = _rng(6, day).gamma(2, 1 / _level(day) ** 2, 120).round(3)
    return bcm.from_item_scores(error, lower_is_better=True)


def tags(day):
    """Return multilabel examples."""
    rng = _rng(7, day)
    actual = rng.random((40, 3)) < [0.5, 0.3, 0.6]
    predicted = actual ^ (rng.random((40, 3)) > _level(day))
    return bcm.from_multilabel(actual, predicted, labels=["cat", "dog", "fish"])


def attempts(day):
    """Return three attempts at each of forty items."""
    rng = _rng(8, day)
    rates = rng.beta(6 * _level(day), 6 * (1 - _level(day)), 40)
    return bcm.from_attempts((rng.random((40, 3)) < rates[:, None]).astype(float))


def found(day):
    """Return counts of the objects of each item."""
    rng = _rng(9, day)
    size = rng.gamma(2, 3, 40)
    wrong = 0.2 if day % 100 < CHANGE else 1.2
    return bcm.from_item_counts(
        tp=rng.poisson(size), fp=rng.poisson(wrong * size), fn=rng.poisson(0.3 * size)
    )


def _answers(rng, actual, right):
    return np.array(LABELS)[np.where(rng.random(len(actual)) < right, actual, 1 - actual)]


def ratings(day):
    """Return the labels of three raters, and some gold labels."""
    rng = _rng(10, day)
    actual = rng.integers(0, 2, 100)
    raters = {"ann": 0.9, "bob": 0.85, "eve": _level(day)}
    table = {name: _answers(rng, actual, right) for name, right in raters.items()}
    gold = pd.Series(np.array(LABELS)[actual]).where(np.arange(100) < 25, None)
    return bcm.from_raters(pd.DataFrame(table), gold=gold, positive="ill")


def partly_labelled(day):
    """Return predictions and labels of a judge, with some human labels."""
    rng = _rng(11, day)
    actual = rng.integers(0, 2, 160)
    labels = [LABELS[a] if index % 2 else None for index, a in enumerate(actual)]
    predicted, judge = _answers(rng, actual, _level(day)), _answers(rng, actual, 0.9)
    return bcm.from_partly_labelled(labels, predicted, judge=judge, positive="ill")


def three_chances(day):
    """Return probabilities of three classes."""
    rng = _rng(12, day)
    chance = rng.dirichlet([1, 1, 1], 60)
    right = chance if day % 100 < CHANGE else np.full_like(chance, 1 / 3)
    actual = [rng.choice(3, p=row) for row in right]
    return bcm.from_probabilities(np.array(["a", "b", "c"])[actual], chance.round(3))


def duel(day):
    """Return the outcomes of a champion and a challenger."""
    rng = _rng(13, day)
    actual = rng.integers(0, 2, 80)
    answers = {"old": 0.8, "new": 0.86}
    predicted = {
        name: np.where(rng.random(80) < right, actual, 1 - actual)
        for name, right in answers.items()
    }
    return bcm.from_classifiers(actual, predicted, positive=1)


BATCHES = {
    "counts": counts, "two classes": two_classes, "probabilities": probabilities,
    "scores": scores, "marks": marks, "errors": errors, "tags": tags, "attempts": attempts,
    "found": found, "ratings": ratings, "partly labelled": partly_labelled,
    "three chances": three_chances,
}  # fmt: skip
# Evidence with sampled posteriors, which take a second per batch.
SAMPLED = ("ratings", "three chances")
_ITEMS = {"floor": 0.8, "reference": 3, "rate": 0.2, "horizon": 100}
RULES: dict[str, dict[str, Any]] = {
    "counts": _ITEMS | {"floor": {"accuracy": 0.75}},
    "two classes": _ITEMS | {"floor": {"recall": 0.8}},
    "probabilities": {"floor": {"auc": 0.7}, "tolerance": {"calibration_slope": 0.1}},
    "scores": {"floor": {"auc": 0.9}, "rate": 0.2},
    "marks": _ITEMS | {"floor": {"mean": 3.8}},
    "errors": _ITEMS | {"floor": {"mean": 3.5}},
    "tags": _ITEMS | {"floor": {"f1_micro": 0.75}},
    "attempts": _ITEMS | {"floor": 0.7},
    "found": _ITEMS | {"floor": {"precision": 0.7}},
    "ratings": {"floor": {"recall": 0.8}},
    "partly labelled": {"floor": {"recall": 0.75}, "rate": 0.2},
    "three chances": {},
}
# Settings of `Monitor` that differ from the defaults.
OTHER: dict[str, dict[str, Any]] = {
    "counts": {"measures": ["f1_macro", "recall"], "forgetting": 0.9},
    "two classes": {"concentration": 1.0, "measures": ["f1", "mcc"], "window": 3},
    "probabilities": {"measures": ["auc", "brier", "calibration_slope"], "forgetting": 0.8},
    "scores": {"window": 4},
    "marks": {"measures": ["share_above(3)", "mean"], "concentration": 1.0, "forgetting": 0.9},
    "errors": {"measures": ["mean", "share_above(2)"], "window": 4},
    "tags": {"measures": ["f1_samples", "recall[cat]", "f1[dog]", "hamming_loss"], "window": 5},
    "attempts": {"measures": ["pass@1"], "concentration": 1.0, "forgetting": 0.9},
    "found": {"measures": ["recall", "f1_samples"], "concentration": 1.0, "window": 4},
    "partly labelled": {"measures": ["accuracy"], "window": 4},
}


def write_ledger(path: Path) -> None:
    """Write eleven days of every monitor, with a late batch, a correction and seen alarms."""
    for name, batch in BATCHES.items():
        edges = np.linspace(-3, 4, 21) if name == "scores" else None
        days = 4 if name in SAMPLED else DAYS
        with online.Monitor(str(path), name, edges=edges) as monitor:
            for day in (0, 2, 1, *range(3, days)):  # the second day is added late
                monitor.add(day_name(day), batch(day))
            monitor.add("day 3 again", batch(103), at=day_name(3), corrects=day_name(3))
            if name not in SAMPLED:
                monitor.acknowledge(monitor.alarms(**RULES[name]).head(1), note="seen")
    with online.Challenge(str(path), "duel", measure="f1", margin=0.01, planned=900) as challenge:
        for day in range(5):
            challenge.add(day_name(day), duel(day))


@contextmanager
def ledger() -> Iterator[str]:
    """Yield the path of a new database with the saved ledger."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "eval.db"
        with closing(sqlite3.connect(store)) as connection:
            connection.executescript(LEDGER.read_text(encoding="utf-8"))
        yield str(store)


def concluded(name: str) -> dict[str, Any]:
    """Return all results of a saved monitor."""
    rules = RULES[name]
    with ledger() as store, online.Monitor(store, name) as monitor:
        alarms, incidents = monitor.alarms_and_incidents(**rules)
        found = {
            "encoding": monitor.encoding,
            "batch_id": list(monitor.batches()["batch_id"].values),
            "examples": monitor.n_examples(),
            "summary": monitor.summary(),
            "alarms": alarms,
            "incidents": incidents,
            "tolerated": {key: list(ends) for key, ends in monitor.tolerated().items()},
            "rules": list(monitor.rules),
        }
        if name not in SAMPLED:
            found["history"] = monitor.history(**rules)
            found["observed"] = monitor.observed()
    if name in OTHER:
        with ledger() as store, online.Monitor(store, name, **OTHER[name]) as monitor:
            further = {key: rules[key] for key in ("reference", "rate", "horizon") if key in rules}
            found["other summary"] = monitor.summary(kind="eti", prob=0.8)
            found["other history"] = monitor.history(last=3)
            found["other alarms"] = monitor.alarms(**further)
    for key in {"alarms", "other alarms"} & {*found}:
        found[key] = found[key].drop(columns="direction")  # this column is not in the saved file
    found["rules"].remove("silence")
    return {key: _plain(value) for key, value in found.items()}


def continued(name: str) -> dict[str, Any]:
    """Return the results of a saved monitor after more batches are added."""
    batch, days = BATCHES[name], 4 if name in SAMPLED else DAYS
    with ledger() as store, online.Monitor(store, name) as monitor:
        added = {
            "saved again": monitor.add(day_name(2), batch(2)),
            "correction again": monitor.add(
                "day 3 again", batch(103), at=day_name(3), corrects=day_name(3)
            ),
            "new": monitor.add(day_name(days), batch(days)),
            "new again": monitor.add(day_name(days), batch(days)),
            "correction": monitor.add("day 1 again", batch(101), corrects=day_name(1)),
            "other batch of this name": _rejected(lambda: monitor.add(day_name(2), batch(106))),
            "corrected twice": _rejected(
                lambda: monitor.add("day 3 once more", batch(107), corrects=day_name(3))
            ),
        }
        entries = online.verify(store)
        return {
            "added": {key: str(value) for key, value in added.items()},
            "batch_id": list(monitor.batches()["batch_id"].values),
            "summary": _plain(monitor.summary()),
            "head": entries.set_index("classifier")["head"].drop(name).to_dict(),
        }


def _rejected(call):
    try:
        return call()
    except ValueError:
        return "rejected"


def whole_ledger() -> dict[str, Any]:
    """Return the checks, the export, the copies and the roll-up of the saved ledger."""
    with ledger() as store, tempfile.TemporaryDirectory() as folder:
        online.backup(store, f"{folder}/backup.db")
        online.restore(f"{folder}/backup.db", f"{folder}/restored.db")
        with online.Ledger(f"{folder}/restored.db") as opened:
            table = opened.table()
        rolled = online.roll_up(store, f"{folder}/sums.db", before=day_name(6), by="month")
        said = {}
        for name in BATCHES:
            if name not in SAMPLED:
                with online.Monitor(f"{folder}/sums.db", name) as monitor:
                    said[name] = _plain(monitor.summary(rate=1e-100))
        with online.Ledger(f"{folder}/sums.db") as opened:
            sums = opened.table()
        payloads = sums[["classifier", "batch_id", "at", "cells", "labels"]]
        return {
            "verified": _plain(online.verify(store)),
            "table": _plain(table),
            "rolled up": _plain(rolled.drop(columns=["head"])),
            "sums": _plain(payloads),
            "summaries of sums": said,
        }


def _plain(value):
    """Return tables and datasets as mappings from columns to lists."""
    if isinstance(value, pd.DataFrame):
        columns = {str(column): _column(value[column]) for column in value}
        return columns | {"caution": value.attrs.get("caution", "")}
    if isinstance(value, np.generic):
        return value.item()
    if hasattr(value, "data_vars"):
        columns = {str(name): value[name].values.tolist() for name in value.data_vars}
        named = {name: _column(pd.Series(value[name].values.ravel())) for name in value.coords}
        return {"variables": columns, "coords": named, "caution": value.attrs.get("caution", "")}
    return value


def _column(column):
    return [v if isinstance(v, int | float | bool | str) else str(v) for v in column.tolist()]


def figures() -> dict[str, Any]:
    """Return all results of the saved ledger."""
    every = {f"{name}: concluded": concluded(name) for name in BATCHES}
    every |= {f"{name}: continued": continued(name) for name in BATCHES}
    return every | {"whole": whole_ledger()}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    FOLDER.mkdir(exist_ok=True)
    if not LEDGER.exists():
        with tempfile.TemporaryDirectory() as place:
            write_ledger(Path(place) / "eval.db")
            with closing(sqlite3.connect(Path(place) / "eval.db")) as database:
                text = "\n".join(database.iterdump()) + "\n"
        LEDGER.write_text(text, encoding="utf-8")
    if not FIGURES.exists():
        lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in figures().items()]
        FIGURES.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
