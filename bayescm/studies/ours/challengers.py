"""
How often a challenger is promoted that should not be, and how soon one that should.

A champion with an accuracy of 0.85 in both classes, and a challenger that differs a little, on the
same 200 examples a batch. Seven in ten examples are as hard for one as for the other: there the two
go wrong together. After every batch the rule of `online.Challenge` is asked.
"""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm import __version__
from bayescm.measures.catalogue import resolve
from bayescm.online.acting.promoting import FUTILE, PROMOTE, Rule, decided, looks
from bayescm.studies.tables import Settings, chosen
from bayescm.validate import check_choice

TABLES = ("errors",)
ACCURACY, SHARED, SIZE, BATCHES = 0.85, 0.7, 200, 20
# By how much the challenger is better, and the measure that is watched.
CASES = {1: (-0.02, "accuracy"), 2: (0.0, "accuracy"), 3: (0.02, "accuracy")}
CASES |= {4: (0.04, "accuracy"), 5: (0.0, "f1"), 6: (0.02, "f1")}
PROBS, _AT_ONCE = (0.95, 0.99, 0.995), 50  # streams whose posteriors are in memory together


def streams(rng: np.random.Generator, better: float, many: int) -> xr.Dataset:
    """
    Draw outcomes of a champion and a challenger.

    Parameters
    ----------
    rng : numpy.random.Generator
    better : float
        Accuracy of the challenger minus that of the champion.
    many : int
        How many streams.

    Returns
    -------
    Dataset
        ``counts`` (batch, step, outcome): those of each batch.
    """
    shape = (many, BATCHES, SIZE)
    actual, hard = rng.integers(0, 2, shape), rng.random(shape)
    other = np.where(rng.random(shape) < SHARED, hard, rng.random(shape))
    first = np.where(hard < ACCURACY, actual, 1 - actual)
    second = np.where(other < ACCURACY + better, actual, 1 - actual)
    code = 4 * actual + 2 * first + second
    counts = np.stack([(code == each).sum(-1) for each in range(8)], axis=-1)
    truth, one, two = np.unravel_index(np.arange(8), (2, 2, 2))
    coords: dict[str, Any] = {
        "actual": ("outcome", truth),
        "predicted": (("classifier", "outcome"), np.stack([one, two])),
        "classifier": ["champion", "challenger"],
        "label": [0, 1],
        "positive": 1,
    }
    return xr.Dataset({"counts": (("batch", "step", "outcome"), counts)}, coords)


def table(
    name: str = "errors", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Simulate challenges, and count how they end.

    Parameters
    ----------
    name : {"errors"}
    case : int, optional
        1 to 6, as in ``CASES``; all by default.
    settings : Settings, optional
        How many streams of each kind, and the seed.

    Returns
    -------
    DataFrame
        One row per case, ``prob`` and ``planned``: ``promoted`` and ``futile``, the shares of
        streams that end so within 20 batches, ``batches``, the mean number until the end, and the
        ``better`` that was true. Promotions are errors where ``better`` is not above 0.

    Examples
    --------
    >>> found = table(case=4, settings=Settings(replications=4))
    >>> found["prob"].tolist()
    [0.95, 0.95, 0.99, 0.99, 0.995, 0.995]
    """
    check_choice("table", name, list(TABLES))
    settings = settings or Settings()
    parts = [_rows(each, settings) for each in chosen(CASES, case)]
    return pd.DataFrame([row for part in parts for row in part])


def _rows(case, settings):
    better, measure = CASES[case]
    rng = np.random.default_rng(np.random.SeedSequence(settings.seed, spawn_key=(case,)))
    n = SIZE * np.arange(1, BATCHES + 1)
    rules = [Rule(0.0, p, planned) for p in PROBS for planned in (None, SIZE * BATCHES)]
    ends: list[list[np.ndarray]] = [[] for _ in rules]
    for start in range(0, settings.replications, _AT_ONCE):
        found = streams(rng, better, min(_AT_ONCE, settings.replications - start))
        summed = found.assign(counts=found["counts"].cumsum("step"))
        known = looks(summed, resolve(measure), random_seed=rng)
        for each, rule in zip(ends, rules, strict=True):
            each.append(decided(known, n, rule))
    made = {"replications": settings.replications, "seed": settings.seed, "version": __version__}
    about = {"case": case, "measure": measure, "better": better}
    return [
        about | _row(np.concatenate(each), rule) | made
        for each, rule in zip(ends, rules, strict=True)
    ]


def _row(decisions, rule):
    last, going = decisions[:, -1], (decisions == "go on").sum(axis=1)
    return {
        "prob": rule.prob,
        "planned": rule.planned,
        "promoted": np.mean(last == PROMOTE),
        "futile": np.mean(last == FUTILE),
        "batches": np.minimum(going + 1, BATCHES).mean(),
    }
