"""
Recall in the cells of three attributes: how far estimates are off, and what their intervals cover.

Two by three by four cells; the logit of recall has main effects and interactions, normal with a
standard deviation each; sizes are log-uniform. With three classes that is so of the recall of each,
errors go to either of the others, and what is estimated is the mean of the three. Beside
`crossed_groups` stand the observed recall and the same cells as 24 groups that know nothing of the
attributes (`hierarchical_groups`).
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit

from bayescm import __version__, direct
from bayescm.evidence import from_matrix
from bayescm.measures.catalogue import resolve
from bayescm.studies.tables import Settings, chosen
from bayescm.validate import check_choice

TABLES = ("error",)
_SHAPE, _MIDDLE, _DRAWS = (2, 3, 4), 1.2, 1000
_DIMS = ("sex", "age", "site")


class Setting(NamedTuple):
    """Standard deviations of main effects and interactions, how many of a class a cell has."""

    main: float
    interaction: float
    smallest: int
    largest: int
    classes: int = 2


CASES = {
    1: Setting(0.5, 0.2, 5, 60),
    2: Setting(0.5, 0.0, 5, 60),
    3: Setting(0.3, 0.3, 20, 200),
    4: Setting(0.0, 0.4, 5, 60),
    5: Setting(0.5, 0.2, 5, 60, 3),
    6: Setting(0.5, 0.0, 5, 30, 3),
    7: Setting(0.3, 0.3, 20, 100, 3),
}


def _totals(rng, setting, classes):
    """Return how many of each class the cells have, (classes, 2, 3, 4)."""
    low, high = np.log(setting.smallest), np.log(setting.largest)
    return np.exp(rng.uniform(low, high, (classes, *_SHAPE))).round().astype(int)


def _recall(rng, setting):
    """Return the recall of one class in every cell."""
    logits = _MIDDLE + setting.interaction * rng.standard_normal(_SHAPE)
    for axis, levels in enumerate(_SHAPE):
        main = setting.main * rng.standard_normal(levels)
        logits = logits + (np.zeros(_SHAPE).swapaxes(axis, -1) + main).swapaxes(axis, -1)
    return expit(logits)


def generate(
    rng: np.random.Generator, setting: Setting
) -> tuple[xr.DataArray, np.ndarray, np.ndarray]:
    """Return counts of the cells, the true recall and the observed one, (2, 3, 4)."""
    if setting.classes > 2:
        return _of_many(rng, setting)
    recall = _recall(rng, setting)
    totals = _totals(rng, setting, 2)
    hits = rng.binomial(totals, [recall, np.full(_SHAPE, 0.85)])
    misses = totals - hits
    sick, well = np.stack([misses[0], hits[0]], -1), np.stack([hits[1], misses[1]], -1)
    counts = from_matrix(np.stack([well, sick], -2), positive=1, dims=_DIMS)
    return counts, recall, hits[0] / totals[0]


def _of_many(rng, setting):
    classes = setting.classes
    recall = np.stack([_recall(rng, setting) for _ in range(classes)])
    same = np.eye(classes)[:, None, None, None]  # (actual, 1, 1, 1, predicted)
    rates = np.where(same, recall[..., None], ((1 - recall) / (classes - 1))[..., None])
    cells = rng.multinomial(_totals(rng, setting, classes), rates)
    seen = np.einsum("a...a->a...", cells) / cells.sum(-1)
    return from_matrix(np.moveaxis(cells, 0, -2), dims=_DIMS), recall.mean(0), seen.mean(0)


def _drawn(counts):
    """Return draws of recall in every cell, by name of the method."""
    classes = counts.sizes["actual"]
    known: dict[str, Any] = {"positive": 1} if classes == 2 else {}
    flat = from_matrix(counts.values.reshape(-1, classes, classes), dims=("group",), **known)
    measure = resolve("recall" if classes == 2 else "recall_macro")
    members = {
        "crossed_groups": direct.crossed_groups(counts),
        "hierarchical_groups": direct.hierarchical_groups(flat).members("group"),
    }
    for name, posterior in members.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of points that are worth little
            (values,) = posterior.draw([measure], _DRAWS, np.random.default_rng(0))
        yield name, values.reshape(_DRAWS, *_SHAPE)


def table(
    name: str = "error", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return the mean absolute error of the cells' recall, and the coverage of 95% intervals.

    Parameters
    ----------
    name : {"error"}
    case : int, optional
        One case only, 1 to 7.
    settings : Settings, optional
        How much is simulated; case and replication have a seed of their own.

    Returns
    -------
    pandas.DataFrame
        A row for each case and method: ``error``, and of equal-tailed intervals ``doc`` and ``il``,
        means over cells and data sets.
    """
    check_choice("table", name, list(TABLES))
    settings, rows = settings or Settings(), []
    for number in chosen(CASES, case):
        for each in range(settings.replications):
            rng = np.random.default_rng([settings.seed, number, each])
            counts, truth, observed = generate(rng, CASES[number])
            known = {"case": number, **CASES[number]._asdict()}
            rows.append(known | {"method": "observed", "error": np.abs(observed - truth).mean()})
            for method, values in _drawn(counts):
                low, high = np.quantile(values, [0.025, 0.975], axis=0)
                row = {"method": method, "error": np.abs(values.mean(0) - truth).mean()}
                row |= {"doc": ((low <= truth) & (truth <= high)).mean(), "il": (high - low).mean()}
                rows.append(known | row)
    keys = ["case", *Setting._fields, "method"]
    means = pd.DataFrame(rows).groupby(keys, sort=False, as_index=False).mean()
    said = {"replications": settings.replications, "seed": settings.seed, "version": __version__}
    return means.assign(**said)
