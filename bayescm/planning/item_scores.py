"""
How many items make the interval of a mean score narrow enough, or show a difference.

The distribution of the scores is that of a pilot: it is drawn by the Bayesian bootstrap, test sets
are drawn from it, and each gets the interval of the default model by its moments.
"""

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.clusters_and_slices import clusters_of, slice_dims
from bayescm.evidence.item_scores import as_item_scores
from bayescm.planning.proportions import (
    check_share,
    check_size,
    plan_table,
    size_error,
    size_for_width,
)
from bayescm.posteriors.item_scores import by_moments, dirichlet_mean
from bayescm.validate import check_number, check_prob, check_seed, check_whole, fail

_PSEUDO_ITEMS = 0.5  # at each end of the range, as `models.item_scores` has them by default
_FEWEST_ITEMS = 10  # of a pilot


def plan_item_scores(
    pilot: xr.Dataset,
    *,
    width: float | None = None,
    difference: float | None = None,
    assurance: float = 0.9,
    prob: float = 0.95,
    replications: int = 400,
    random_seed: int = 0,
) -> pd.DataFrame:
    """
    Return the number of items that makes an interval narrow enough, or shows a difference.

    Parameters
    ----------
    pilot : Dataset
        Scores so far, from `bayescm.from_item_scores`, of ten items or more: of one system, or of
        two, whose paired difference the plan is then of.
    width : float, optional
        The largest acceptable width of the interval.
    difference : float, optional
        Of two systems, a difference between their mean scores: the interval shall leave 0 out if
        it is true.
    assurance : float in (0, 1), default 0.9
        Probability of reaching the goal, over future sets of items.
    prob : float in (0, 1), default 0.95
        Mass of the interval, which is equal-tailed.
    replications : int >= 100, default 400
        Sets of items simulated at each number.
    random_seed : int, default 0

    Returns
    -------
    DataFrame, one row
        As `bayescm.plan` returns it.

    Raises
    ------
    ValueError
        If not exactly one of width and difference is given, the pilot is of fewer than ten items,
        of clusters or of slices, or no number of items is enough.

    Examples
    --------
    >>> import bayescm as bcm
    >>> pilot = bcm.from_item_scores(np.random.default_rng(1).beta(5, 2, 40), range=(0, 1))
    >>> plan = plan_item_scores(pilot, width=0.05, replications=100)
    >>> plan.loc[0, ["measure", "unit"]].tolist(), bool(100 < plan.loc[0, "n"] < 400)
    (['mean', 'items'], True)
    """
    if (width is None) == (difference is None):
        todo = "pass width=0.05, or difference=0.02"
        raise fail("one goal", [width, difference], "width or difference", todo)
    check_share("assurance", assurance)
    check_prob(prob), check_seed(random_seed)
    check_whole("replications", replications, 100, "sets of items", 400)
    score, ends = _pilot(pilot, difference is not None)
    if difference is not None:
        check_number("difference", difference, usual=0.02)
        if not difference:
            raise fail("no difference shows as 0", difference, "not 0", "pass e.g. difference=0.02")
    else:
        check_number("width", width, 0.0, usual=0.05)

    def simulate(n):
        return _intervals(score, ends, n, prob, replications, random_seed, difference)

    if width is not None:

        def widths_at(n):
            return np.diff(simulate(n), axis=1)[:, 0]

        n = size_for_width(widths_at, width, assurance, start=len(score), tolerance=0.01, least=5)
        while np.mean((widths := widths_at(n)) <= width) < assurance:
            n += max(1, n // 100)
        goal = f"{prob:.4g} interval at most {width:.4g} wide"
        reached, error = float(np.mean(widths <= width)), size_error(n, widths, assurance)
    else:
        n, reached = _smallest(lambda n: _shown(simulate(n), difference), assurance, len(score))
        goal = f"{prob:.4g} interval without 0 if the difference is {difference:.4g}"
        error = np.nan
    measure = (
        "mean" if width is not None and pilot["item_score"].ndim == 1 else "difference of mean"
    )
    how = f"{replications} simulated sets of items"
    return plan_table(measure, goal, reached, n, "items", error, how)


def _pilot(pilot, paired):
    """Return the scores, or the differences of two systems, and the ends that they may have."""
    pilot = as_item_scores(pilot)
    score = np.atleast_2d(pilot["item_score"].values)
    if clusters_of(pilot) is not None or slice_dims(pilot):
        todo = "select one slice, or drop the clusters: pilot.drop_vars('group')"
        raise fail("a plan is of items drawn one by one", ..., "no clusters and slices", todo)
    if len(score) > 2 or (paired and len(score) != 2):
        todo = "select: pilot.sel(classifier=['a', 'b'])"
        allowed = "two" if paired else "one or two"
        raise fail("a plan is of one system, or of two", len(score), allowed, todo)
    ends = np.array([])
    if "lowest" in pilot.coords:
        ends = np.array([pilot["lowest"].item(), pilot["highest"].item()])
    values = score[0] if len(score) == 1 else score[0] - score[1]
    values = values[~np.isnan(values)]
    if len(score) == 2 and values.size:
        ends = np.array([-1.0, 1.0]) * np.abs(values).max()
    if len(values) < _FEWEST_ITEMS:
        raise fail("a small pilot", len(values), f"{_FEWEST_ITEMS} items or more", "score more")
    if not np.ptp(values):
        raise fail("all items of the pilot have the same score", values[0], "several", "score more")
    return values, ends


def _intervals(score, ends, n, prob, replications, seed, truth):
    """
    Return the equal-tailed intervals (R, 2) of simulated sets of n items.

    They are moved by what makes the mean of the population of each the ``truth``, if that is not
    None.
    """
    rng = np.random.default_rng(seed)
    population = np.concatenate([score, ends])
    weight = np.concatenate([np.ones(len(score)), np.full(len(ends), _PSEUDO_ITEMS)])
    shares = rng.dirichlet(weight, replications)
    pseudo = np.concatenate([np.zeros(len(score)), np.full(len(ends), _PSEUDO_ITEMS)])
    low, high = population.min(), population.max()
    moments = [
        [low, high, *dirichlet_mean(population, counts + pseudo)]
        for counts in rng.multinomial(n, shares)
    ]
    means = np.array(moments).T
    varied = means[3] > 0
    intervals = np.repeat(means[2][:, None], 2, axis=1)
    distribution = by_moments(means[:, varied]) if varied.any() else None
    if distribution is not None:
        intervals[varied] = distribution.eti(prob)
    return intervals if truth is None else intervals + (truth - shares @ population)[:, None]


def _shown(intervals, difference):
    """Return the share of intervals that leave 0 out on the side of the difference."""
    return float(np.mean(intervals[:, 0] > 0 if difference > 0 else intervals[:, 1] < 0))


def _smallest(share, assurance, start):
    """Return the smallest number at which a share is reached, within 1 %, and the share."""
    low, high = 4, max(start, 5)
    while share(high) < assurance:
        low, high = high, 2 * high
        check_size(high)
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (middle, high) if share(middle) < assurance else (low, middle)
    return high, share(high)
