"""
Coverage of gaps between groups, beside the bootstrap over examples.

Recall and specificity of groups differ on the logit scale, with a standard deviation tau; sizes
are log-uniform. In three settings a single group deviates from others that are nearly equal, and in
two all are equal: the true gap is 0 there, which the upper limit alone can hold.
"""

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy.special import expit, logit

from bayescm.answers.groups.gaps import statistic_of
from bayescm.distributions.discrete import Empirical
from bayescm.evidence import from_matrix
from bayescm.measures.catalogue import resolve
from bayescm.posterior.route import members_of
from bayescm.simulation.coverage import Study
from bayescm.studies.tables import case_of, table_of

TABLES = ("coverage",)
STATISTICS = ("range", "ratio", "worst")
DRAWS, RESAMPLES = 2000, 1000


class Setting(NamedTuple):
    """How many groups, how they differ, how many positives each has, and who deviates."""

    groups: int
    tau: float
    smallest: int
    largest: int
    deviation: float = 0.0


CASES = {
    1: Setting(6, 0.05, 50, 200),
    2: Setting(6, 0.3, 20, 100),
    3: Setting(6, 0.6, 5, 500),
    4: Setting(10, 0.15, 30, 120),
    5: Setting(10, 0.4, 100, 500),
    6: Setting(20, 0.2, 10, 60),
    7: Setting(20, 0.6, 5, 50),
    8: Setting(30, 0.3, 5, 500),
    9: Setting(50, 0.15, 20, 80),
    10: Setting(12, 0.1, 50, 200, -1.2),
    11: Setting(6, 0.0, 30, 100),
    12: Setting(20, 0.0, 30, 100),
    13: Setting(8, 0.05, 60, 300, -1.5),
    14: Setting(30, 0.2, 40, 200, -1.5),
}


def generate(
    rng: np.random.Generator, setting: Setting
) -> tuple[xr.DataArray, Mapping[str, float]]:
    """Return counts of groups, and the true gap, ratio and worst recall."""
    size = (setting.groups, 2)
    logits = logit([0.8, 0.85]) + setting.tau * rng.standard_normal(size)
    logits[0, 0] += setting.deviation
    rates = expit(logits)
    low, high = np.log(setting.smallest), np.log(setting.largest)
    sizes = np.exp(rng.uniform(low, high, size)).round()
    hits = rng.binomial(sizes.astype(int), rates)
    (tp, tn), (fn, fp) = hits.T, (sizes - hits).T
    cells = np.stack([np.stack([tn, fp], -1), np.stack([fn, tp], -1)], -2).astype(int)
    recall = xr.DataArray(rates[:, 0], dims="group")
    truth = {name: float(statistic_of(recall, "group", name, less=False)) for name in STATISTICS}
    return from_matrix(cells, positive=1, dims=("group",)), truth


def pooled(counts: xr.DataArray, *, kind: str) -> Mapping[str, Any]:
    """Return the 95% intervals of `bayescm.gap`, all statistics from the same draws."""
    drawn = _drawn(counts.values.tobytes(), counts.sizes["group"])
    return {name: _ends(drawn[name], kind) for name in STATISTICS}


@lru_cache(maxsize=1)
def _drawn(cells, groups):
    counts = from_matrix(np.frombuffer(cells, int).reshape(groups, 2, 2), dims=("group",))
    posterior = members_of(counts, "group")
    (values,) = posterior.draw([resolve("recall")], DRAWS, np.random.default_rng(0))
    return _statistics(values)


def _statistics(values):
    drawn = xr.DataArray(values, dims=("draw", "group"))
    return {
        name: statistic_of(drawn, "group", name, less=False).values[:, None] for name in STATISTICS
    }


def _ends(values, kind):
    return Empirical(values).checked(0.95, kind)[0][0]


def bootstrap(counts: xr.DataArray) -> Mapping[str, Any]:
    """Return 95% percentile intervals over resampled examples, groups undefined left out."""
    rng = np.random.default_rng(0)
    cells = counts.values
    flat = rng.multinomial(cells.sum(), cells.ravel() / cells.sum(), RESAMPLES)
    with np.errstate(invalid="ignore"):
        drawn = _statistics(resolve("recall")(flat.reshape(-1, *cells.shape)))
    return {name: np.nanquantile(drawn[name][:, 0], [0.025, 0.975]) for name in STATISTICS}


def study(case: int) -> Study:
    """
    Return one case, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        1 to 14, as in ``CASES``; all groups are equal in 11 and 12, one deviates in 10, 13, 14.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(3).name
    'gaps 6 0.6 5 500 0'
    """
    setting = case_of(CASES, case)
    methods = {f"gap, {kind}": partial(pooled, kind=kind) for kind in ("eti", "hdi")}
    name = " ".join(["gaps", *(f"{each:g}" for each in setting)])
    return Study(name, partial(generate, setting=setting), methods | {"bootstrap": bootstrap})


table = table_of(study, CASES, columns=Setting._fields)
