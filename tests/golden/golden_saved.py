"""A ledger and trees written by version 0.1.0, which must give the same figures in later versions.

The files in ``saved/`` are never replaced. A version with another file format adds its own files.
``python tests/golden/golden_saved.py`` writes the files that are missing.
"""

import gzip
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import date, timedelta
from pathlib import Path

import arviz as az
import golden_evidence as evidence
import numpy as np
import pandas as pd
import xarray as xr

import bayescm as bcm
from bayescm import online

FOLDER = Path(__file__).parent / "saved"
LEDGER = FOLDER / "ledger_0_1_0.sql"
DAYS = 10

# The ledger has every type of batch that a monitor supports, with a change after six days.


def _rng(*key):
    return np.random.default_rng([41, *key])


def _is_good(day):
    """Return True if a day is before the change. Corrections have 100 added to the day."""
    return day % 100 < 6


def _level(day):
    """Return the probability of a correct prediction on a day."""
    return 0.85 if _is_good(day) else 0.6


def _answers(day, classes, size=60):
    rng = _rng(classes, day)
    actual = np.arange(size) % classes
    is_right = rng.random(size) < _level(day)
    return actual, np.where(is_right, actual, (actual + rng.integers(1, classes, size)) % classes)


def spam(day):
    """Return counts of two classes with a positive one."""
    actual, predicted = _answers(day, 2)
    return bcm.from_predictions(np.array(["ham", "spam"])[actual],
                                np.array(["ham", "spam"])[predicted], positive="spam")  # fmt: skip


def sides(day):
    """Return counts of two classes without a positive one."""
    actual, predicted = _answers(day + 200, 2)
    names = np.array(["left", "right"])
    return bcm.from_predictions(names[actual], names[predicted])


def topics(day):
    """Return counts of three classes."""
    actual, predicted = _answers(day, 3)
    names = np.array(["art", "law", "sport"])
    return bcm.from_predictions(names[actual], names[predicted])


def _chances(day, size=120):
    rng = _rng(7, day)
    chance = rng.beta(1.5, 2.5, size)
    is_true = rng.random(size) < (chance if _is_good(day) else 1 - chance)
    return is_true.astype(int), chance.round(3)


def risk(day):
    """Return probabilities."""
    return bcm.from_probabilities(*_chances(day), positive=1)


def ranking(day):
    """Return scores."""
    actual, _ = _chances(day)
    return bcm.from_scores(actual, (actual + _rng(8, day).normal(0, 1, 120)).round(3), positive=1)


def marks(day):
    """Return scores from 1 to 5 of named items."""
    level = 0.8 if _is_good(day) else 0.45
    score = 1 + _rng(9, day).binomial(4, level, 25)
    items = [f"q{day}.{k}" for k in range(25)]
    return bcm.from_item_scores(pd.Series(score, index=items), range=(1, 5))


def losses(day):
    """Return losses of unnamed items. Lower is better."""
    loss = _rng(10, day).beta(2, 6 if _is_good(day) else 2, 25).round(3)
    return bcm.from_item_scores(loss, range=(0, 1), lower_is_better=True)


def tags(day):
    """Return multilabel examples."""
    rng = _rng(11, day)
    actual = rng.random((30, 3)) < [0.5, 0.3, 0.6]
    predicted = actual ^ (rng.random((30, 3)) > _level(day))
    return bcm.from_multilabel(actual, predicted, labels=["cat", "dog", "fish"])


def duel(day):
    """Return the outcomes of a champion and a challenger."""
    actual, champion = _answers(day, 2)
    _, challenger = _answers(day % 3, 2)
    return bcm.from_classifiers(actual, {"old": champion, "new": challenger}, positive=1)


MONITORED: dict[str, Callable] = {
    "spam": spam, "sides": sides, "topics": topics, "risk": risk, "ranking": ranking,
    "marks": marks, "losses": losses, "tags": tags,
}  # fmt: skip
FLOORS = {
    "spam": {"recall": 0.8}, "sides": {"accuracy": 0.8}, "topics": {"accuracy": 0.8},
    "risk": {"auc": 0.7}, "ranking": {"auc": 0.9}, "marks": {"mean": 3.9},
    "losses": {"mean": 0.3}, "tags": {"f1_micro": 0.8},
}  # fmt: skip
# Settings of `Monitor` that differ from the defaults.
OTHER = {
    "spam": {"concentration": 1.0, "measures": ["f1", "mcc"], "forgetting": 0.9},
    "sides": {"window": 3, "measures": ["balanced_accuracy"]},
    "topics": {"measures": ["recall", "f1_macro"], "order": "recorded_at"},
    "risk": {"measures": ["auc", "brier"], "forgetting": 0.8},
    "ranking": {"window": 4},
    "marks": {"measures": ["share_above(3)", "mean"], "concentration": 1.0, "forgetting": 0.9},
    "losses": {"window": 2},
    "tags": {"measures": ["f1_samples", "recall[cat]", "hamming_loss"], "window": 5},
}  # fmt: skip


def _day(number):
    return str(date(2026, 1, 1) + timedelta(days=number))


def _write_ledger(path: Path) -> None:
    """Write ten days of every monitor, with a late batch, a correction and acknowledged alarms."""
    for name, batch in MONITORED.items():
        edges = np.linspace(-2, 3, 21) if name == "ranking" else None
        with online.Monitor(str(path), name, edges=edges) as monitor:
            for day in (0, 2, 1, *range(3, DAYS)):  # the second day is added late
                monitor.add(_day(day), batch(day))
            monitor.add("day 3 again", batch(103), at=_day(3), corrects=_day(3))
            floor = FLOORS[name]
            monitor.acknowledge(monitor.alarms(floor=floor, rate=0.1).head(2), note="seen")
            online.notify(monitor, online.to_log(), floor=floor, rate=0.1)
    with online.Challenge(str(path), "duel", measure="f1", margin=0.01, planned=900) as challenge:
        for day in range(DAYS):
            challenge.add(_day(day), duel(day))


@contextmanager
def ledger(dump: str | None = None) -> Iterator[str]:
    """Yield the path of a new database with the saved ledger, or with another dump."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "eval.db"
        with closing(sqlite3.connect(store)) as connection:
            connection.executescript(dump or LEDGER.read_text(encoding="utf-8"))
        yield str(store)


def concluded(name: str) -> dict:
    """Return all results of a saved monitor."""
    rules = {"floor": FLOORS[name], "rate": 0.1}
    with ledger() as store, online.Monitor(store, name) as monitor:
        alarms, incidents = monitor.alarms_and_incidents(**rules)
        acknowledged = monitor.ledger.acknowledgements(name)
        return {
            "encoding": monitor.encoding,
            "batches": monitor.batches(),
            "batch_id": list(monitor.batches()["batch_id"].values),
            "originals": monitor.original_ids(),
            "examples": monitor.n_examples(**rules),
            "summary": monitor.summary(**rules),
            "equal tails": monitor.summary(kind="eti", prob=0.8, **rules),
            "history": monitor.history(**rules),
            "observed": monitor.observed(),
            "tolerated": {k: list(v) for k, v in monitor.tolerated().items()},
            "alarms": alarms,
            "incidents": incidents,
            "acknowledged": acknowledged,
            "pages": list(monitor.ledger.deliveries(name)["outcome"]),
        }


def with_other_settings(name: str) -> dict:
    """Return the results of a saved monitor with another prior, memory, order or measures."""
    with ledger() as store, online.Monitor(store, name, **OTHER[name]) as monitor:
        return {"summary": monitor.summary(), "history": monitor.history(last=3)}


def continued(name: str) -> dict:
    """Return the results of a saved monitor after more batches are added."""
    batch = MONITORED[name]
    with ledger() as store, online.Monitor(store, name) as monitor:
        added = {
            "new": monitor.add(_day(DAYS), batch(DAYS)),
            "new again": monitor.add(_day(DAYS), batch(DAYS)),
            "saved again": monitor.add(_day(4), batch(4)),
            "correction again": monitor.add(
                "day 3 again", batch(103), at=_day(3), corrects=_day(3)
            ),
            "correction": monitor.add("day 5 again", batch(105), at=_day(5), corrects=_day(5)),
            "other batch of this name": _refused(lambda: monitor.add(_day(6), batch(106))),
            "corrected twice": _refused(
                lambda: monitor.add("day 3 once more", batch(107), at=_day(3), corrects=_day(3))
            ),
        }
        return {
            "added": {key: str(value) for key, value in added.items()},
            "summary": monitor.summary(),
            "batch_id": list(monitor.batches()["batch_id"].values),
            "verified": online.verify(store).drop(columns=["head"]),
        }


def _refused(call):
    try:
        return call()
    except ValueError:
        return "refused"


def items_of(name: str) -> xr.Dataset:
    """Return all items of a saved monitor of item scores or multilabel examples."""
    with ledger() as store, online.Monitor(store, name) as monitor:
        return monitor.multilabel() if name == "tags" else monitor.item_scores()


def challenged() -> dict:
    """Return the decisions of a saved challenge, and after more batches are added."""
    with ledger() as store, online.Challenge(store, "duel") as challenge:
        saved = {"rule": str(challenge.rule), "history": challenge.history()}
        added = [challenge.add(_day(day), duel(day)) for day in (DAYS, DAYS, 0)]
        return saved | {"added": list(map(str, added)), "decision": challenge.decision()}


def whole_ledger() -> dict:
    """Return the checks, the export, the backup and the roll-up of the saved ledger."""
    with ledger() as store, tempfile.TemporaryDirectory() as folder:
        backup = online.backup(store, f"{folder}/backup.db")
        restored = online.restore(f"{folder}/backup.db", f"{folder}/restored.db")
        with online.Ledger(f"{folder}/restored.db") as opened:
            table = opened.table()
        rolled = online.roll_up(store, f"{folder}/sums.db", before="2026-01-06", by="month")
        said = {}
        for name in MONITORED:
            with online.Monitor(f"{folder}/sums.db", name) as monitor:
                said[name] = monitor.summary(rate=1e-100)
        return {
            "verified": online.verify(store),
            "backup": backup,
            "restored": restored,
            "table": table,
            "rolled up": rolled.drop(columns=["head"]),
            "summaries of sums": said,
        }


# Trees of every model, and of designs that give a tree other dimensions.


def _of(made, model=None, **keywords):
    settings = {"draws": 40, "chains": 2, "random_seed": 3} | keywords
    return lambda: bcm.fit(made(), model, **settings)


def _few_folds(*dims):
    cells = _rng(12).multinomial(30, [0.4, 0.1, 0.15, 0.35], (2,) * (len(dims) - 1) + (4,))
    return bcm.from_matrix(cells.reshape(*cells.shape[:-1], 2, 2), dims=dims, positive=1)


def _few_outcomes(classes=2, **by):
    actual, first = _answers(0, classes)
    _, second = _answers(7, classes)
    positive = 1 if classes == 2 else None
    return bcm.from_classifiers(actual, {"a": first, "b": second}, positive=positive, by=by)


def _few_chances(classes=2, **by):
    if classes == 2:
        actual, chance = (part[:40] for part in _chances(1))
        return bcm.from_probabilities(actual, chance, positive=1, **by)
    rng = _rng(13)
    return bcm.from_probabilities(list("abc") * 8, rng.dirichlet([1] * 3, 24).round(3))


def _few_scores():
    actual, _ = _chances(1)
    return bcm.from_scores(actual[:24], _rng(14).normal(actual[:24], 1).round(2), positive=1)


def _few_attempts():
    return bcm.from_attempts(_rng(15).integers(0, 2, (8, 4)))


def _few_marks(**by):
    return bcm.from_item_scores(_rng(16).random(9).round(2), range=(0, 1), **by)


def _few_tags():
    return bcm.from_multilabel(*(_rng(17).random((2, 9, 3)) < 0.5), labels=["x", "y", "z"])


def _few_ratings():
    actual = np.arange(40) % 2
    votes = {k: np.where(_rng(18, n).random(40) < 0.8, actual, 1 - actual)
             for n, k in enumerate(("ann", "bob", "eve"))}  # fmt: skip
    return bcm.from_raters(votes, positive=1)


def _partly(**keywords):
    actual, predicted = _answers(0, 2)
    seen = pd.Series(np.where(np.arange(60) % 3, np.nan, actual), dtype="Int64")
    return bcm.from_partly_labelled(
        seen, predicted, judge=_answers(9, 2)[1], positive=1, **keywords
    )


def _few_results():
    rng = _rng(19)
    rows = [(d, c, f, rng.beta(8, 3)) for d in "wxyz" for c in "ab" for f in range(3)]
    names = ["data_set", "classifier", "fold", "accuracy"]
    return bcm.from_results(pd.DataFrame(rows, columns=names))


def _few_groups(*dims, classes=2, sizes=(4,)):
    cells = _rng(20, classes).integers(1, 9, (*sizes, classes, classes))
    positive = 1 if classes == 2 else None
    return bcm.from_matrix(cells, dims=dims, positive=positive)


def _weighted():
    actual, predicted = _answers(0, 2)
    given = {"weights": 1 + _rng(21).random(60).round(2), "weights_are": "importance"}
    return bcm.from_predictions(actual, predicted, positive=1, **given)


TREES: dict[str, Callable] = {
    "counts": _of(evidence.two),
    "counts by NUTS": _of(evidence.two, method="nuts", tune=200),
    "counts of three": _of(lambda: topics(0)),
    "counts in a batch": _of(lambda: _few_groups("batch", sizes=(3,))),
    "counts at a prevalence": _of(lambda: bcm.at_prevalence(evidence.two(), 0.1)),
    "counts of importance": _of(_weighted),
    "counts with wrong labels": _of(evidence.two, label_error=(2, 18)),
    "classes in rows": _of(lambda: topics(0), "hierarchical_rows"),
    "folds": _of(lambda: _few_folds("fold")),
    "folds averaged": _of(lambda: _few_folds("fold"), "averaged_folds"),
    "folds pooled": _of(lambda: _few_folds("repeat", "fold"), "pooled_folds", omega=1.0),
    "folds of classifiers": _of(lambda: _few_folds("classifier", "fold")),
    "groups": _of(lambda: _few_groups("group")),
    "groups of three classes": _of(lambda: _few_groups("group", classes=3, sizes=(3,))),
    "groups, robust": _of(lambda: _few_groups("group"), "robust_groups"),
    "groups, crossed": _of(lambda: _few_groups("sex", "age", sizes=(2, 3)), "crossed_groups"),
    "steps": _of(lambda: _few_groups("step"), "drifting"),
    "outcomes": _of(_few_outcomes),
    "outcomes of three": _of(lambda: _few_outcomes(3)),
    "outcomes of groups": _of(lambda: _few_outcomes(group=np.arange(60) // 15)),
    "outcomes of folds": _of(lambda: _few_outcomes(fold=np.arange(60) // 15), "paired_folds"),
    "scores": _of(_few_scores),
    "scores, binormal": _of(_few_scores, "binormal"),
    "probabilities": _of(_few_chances),
    "probabilities of three": _of(lambda: _few_chances(3)),
    "probabilities of groups": _of(lambda: _few_chances(group=np.arange(40) // 10)),
    "attempts": _of(_few_attempts),
    "item scores": _of(_few_marks),
    "item scores of slices": _of(
        lambda: _few_marks(by={"topic": np.arange(9) % 3}), "item_score_slices"
    ),
    "multilabel": _of(_few_tags),
    "ratings": _of(_few_ratings),
    "partly labelled": _of(_partly),
    "partly labelled, transferred": _of(lambda: _partly(transfer="errors")),
    "results": _of(_few_results),
}  # fmt: skip


def _path(name):
    return FOLDER / f"{name.replace(',', '').replace(' ', '_')}.nc.gz"


def tree(name: str) -> xr.DataTree:
    """Load a saved tree."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit.nc"
        path.write_bytes(gzip.decompress(_path(name).read_bytes()))
        return bcm.load(path)


def summarised(name: str) -> dict:
    """Return the groups of a saved tree, the means of its variables, and its summary."""
    loaded = tree(name)
    sizes = {
        f"{group.name}.{key}": " ".join(f"{dim}={n}" for dim, n in variable.sizes.items())
        for group in loaded.subtree
        for key, variable in group.data_vars.items()
    }
    posterior = loaded["posterior"].to_dataset()
    means = {key: posterior[key].mean(("chain", "draw")) for key in posterior.data_vars}
    attrs = ("model", "model_keywords", "sampling_method", "estimands", "batch", "uses", "pairs")
    return {
        "sizes": sizes,
        "attributes": {key: str(loaded.attrs[key]) for key in attrs if key in loaded.attrs},
        "means": means,
        "arviz": az.summary(loaded, kind="stats", round_to="none"),
        "summary": _summary(loaded),
    }


def _summary(loaded):
    """Return the summary by the package, or nothing if the tree is not supported."""
    try:
        return bcm.summary(loaded)
    except (ValueError, KeyError):
        return "none in version 0.1.0"


def _exact(function, *names):
    return (lambda seed: function(*names)), "integrated"


LEDGERS = {
    **{f"{name}, conclusions": _exact(concluded, name) for name in MONITORED},
    **{f"{name}, other settings": _exact(with_other_settings, name) for name in MONITORED},
    **{f"{name}, continued": _exact(continued, name) for name in MONITORED},
    **{f"{name}, items": _exact(items_of, name) for name in ("marks", "losses", "tags")},
    "challenge": _exact(challenged),
    "whole ledger": _exact(whole_ledger),
}
SAVED_TREES = {name: _exact(summarised, name) for name in TREES}


def main() -> None:
    """Write the files that are missing."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        if not LEDGER.exists():
            _write_ledger(Path(folder) / "eval.db")
            with closing(sqlite3.connect(f"{folder}/eval.db")) as connection:
                LEDGER.write_text("\n".join(connection.iterdump()) + "\n", encoding="utf-8")
            print(LEDGER.name, LEDGER.stat().st_size, flush=True)
        for name, fitted in TREES.items():
            if not _path(name).exists():
                bcm.save(fitted(), f"{folder}/fit.nc")
                data = Path(f"{folder}/fit.nc").read_bytes()
                _path(name).write_bytes(gzip.compress(data, 9, mtime=0))
                print(_path(name).name, _path(name).stat().st_size, flush=True)


if __name__ == "__main__":
    main()
