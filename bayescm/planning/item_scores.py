r"""
Number of items for the interval of a mean score, or for the detection of a difference.

The score distribution is drawn from the posterior of a pilot. Test sets are drawn from this
distribution, and the interval of the default model is computed for each, from moments. For two
systems, the joint posterior of `bayescm.posteriors.item_scores` is used, in which pseudo-items
represent unobserved disagreement.

If items come in clusters, J whole clusters are drawn from the pilot for each test set. With
:math:`S_c` the sum of the scores of the :math:`m_c` items in cluster c, the mean :math:`\bar s =
\sum S_c / \sum m_c` is a ratio of two means (Cochran 1977, section 6.3). Its distribution is the t
distribution with J - 1 degrees of freedom, as in `bayescm.posteriors.item_scores`:

.. math:: \bar s \pm t_{J-1} \sqrt{\frac{\sum_c (S_c - \bar s m_c)^2}{J (J - 1) \, \bar m^2}}.

References
----------
Cochran, W. G. (1977). Sampling Techniques, 3rd edition. Wiley.
"""

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import ndtri, stdtrit

from bayescm.evidence.clusters_and_slices import clusters_of, slice_dims
from bayescm.evidence.item_scores import as_item_scores
from bayescm.inference.bayesian_bootstrap import draw_disagreement
from bayescm.planning.search import check_share, check_size, plan_table, size_error, size_for_width
from bayescm.posteriors.item_scores import by_moments, item_scores
from bayescm.validate import (
    check_kind,
    check_number,
    check_prob,
    check_seed,
    check_whole,
    fail,
    suggest,
)

_PSEUDO_ITEMS = 0.5  # number at each end of the range, as by default in `models.item_scores`
_FEWEST_ITEMS = 10  # minimum number of items of a pilot


def plan_item_scores(
    pilot: xr.Dataset,
    *,
    width: float | None = None,
    difference: float | None = None,
    assurance: float = 0.9,
    reference: Any = None,
    prob: float = 0.95,
    kind: str = "eti",
    replications: int = 400,
    random_seed: int = 0,
) -> pd.DataFrame:
    """
    Return the number of items for a narrow interval, or to detect a difference.

    Parameters
    ----------
    pilot : Dataset
        Scores of at least ten items collected so far, see `bayescm.from_item_scores`. With two
        systems, the plan is for their paired difference; with more, for every pair. If the items
        come in clusters, the plan gives the number of clusters, assuming as many items per cluster
        as in the pilot. At least ten clusters are required.
    width : float, optional
        Largest acceptable width of the interval.
    difference : float, optional
        Assumed difference between the mean scores of two systems. The interval should then exclude
        0.
    assurance : float in (0, 1), default 0.9
        Probability of reaching the goal, over future sets of items.
    reference : label, optional
        For three or more systems, the system with which all others are compared. By default all
        pairs are compared.
    prob : float in (0, 1), default 0.95
        Probability of the interval.
    kind : {"eti", "hdi"}, default "eti"
        Equal-tailed or highest-density interval.
    replications : int >= 100, default 400
        Number of item sets simulated at each size.
    random_seed : int, default 0

    Returns
    -------
    DataFrame, one row, or one row per pair (columns first, second) for three or more systems
        Plans in the format of `bayescm.plan`. For clusters, ``unit`` states their mean number of
        items.

    Raises
    ------
    ValueError
        If not exactly one of width and difference is given. If the pilot has fewer than ten items
        or clusters, or contains slices, weights or scores from a judge. If no number of items
        suffices.

    Examples
    --------
    >>> import bayescm as bcm
    >>> pilot = bcm.from_item_scores(np.random.default_rng(1).beta(5, 2, 40), range=(0, 1))
    >>> plan = plan_item_scores(pilot, width=0.05, replications=100)
    >>> plan.loc[0, ["measure", "unit"]].tolist(), bool(100 < plan.loc[0, "n"] < 400)
    (['mean', 'items'], True)
    """
    if (width is None) == (difference is None):
        todo = "pass `width=0.05`, or `difference=0.02`"
        raise fail("A plan needs exactly one of `width` and `difference`", ..., "", todo)
    check_share("assurance", assurance)
    check_prob(prob), check_kind(kind), check_seed(random_seed)
    check_whole("replications", replications, 100, "sets of items", 400)
    asked: dict[str, Any] = {
        "width": width,
        "difference": difference,
        "assurance": assurance,
        "prob": prob,
    }
    asked |= {"kind": kind, "replications": replications, "random_seed": random_seed}
    systems = as_item_scores(pilot)["item_score"]
    names = systems["classifier"].values.tolist() if "classifier" in systems.dims else []
    if len(names) > 2:
        return _of_pairs(pilot, names, reference, asked)
    if reference is not None:
        todo = "leave it out"
        raise fail(
            f"`reference={reference!r}` has no effect with fewer than three systems", ..., "", todo
        )
    posterior, cluster = _pilot(pilot, difference is not None)
    score = _values(posterior.score)
    units = len(score) if cluster is None else cluster.max() + 1
    if difference is not None:
        check_number("difference", difference, usual=0.02)
        if not difference:
            raise fail("`difference` must not be 0", difference, "", "pass e.g. `difference=0.02`")
    else:
        check_number("width", width, 0.0, usual=0.05)

    def simulate(n):
        if cluster is not None:
            totals = np.bincount(cluster, score), np.bincount(cluster)
            return _of_clusters(*totals, n, prob, replications, random_seed, difference)
        return _intervals(posterior, n, prob, kind, replications, random_seed, difference)

    if width is not None:

        def widths_at(n):
            return np.diff(simulate(n), axis=1)[:, 0]

        n = size_for_width(widths_at, width, assurance, start=units, tolerance=0.01, least=5)
        while np.mean((widths := widths_at(n)) <= width) < assurance:
            n += max(1, n // 100)
        goal = f"{prob:.4g} interval at most {width:.4g} wide"
        reached, error = float(np.mean(widths <= width)), size_error(n, widths, assurance)
    else:
        n, reached = _smallest(lambda n: _shown(simulate(n), difference), assurance, units)
        goal = f"{prob:.4g} interval without 0 if the difference is {difference:.4g}"
        error = _error_of_power(n, reached, prob, replications)
    measure = (
        "mean" if width is not None and pilot["item_score"].ndim == 1 else "difference of mean"
    )
    unit, how = "items", f"{replications} simulated sets of items"
    if cluster is not None:
        unit = f"clusters, of {len(score) / units:.3g} items on average"
        how = f"{replications} simulated sets of clusters"
    return plan_table(measure, goal, reached, n, unit, error, how)


def _of_pairs(pilot, names, reference, asked):
    """Return a row for each pair of systems, or for each system and the reference."""
    if reference is not None and reference not in names:
        raise fail(
            "The reference {} is not one of the systems",
            reference,
            names,
            suggest(reference, names),
        )
    pairs = list(combinations(names, 2))
    if reference is not None:
        pairs = [(name, reference) for name in names if name != reference]
    plans = []
    for first, second in pairs:
        row = plan_item_scores(pilot.sel(classifier=[first, second]), **asked)
        row.insert(0, "second", second)
        row.insert(0, "first", first)
        plans.append(row)
    return pd.concat(plans, ignore_index=True)


def _error_of_power(n, reached, prob, replications):
    """
    Return the standard error of the number of items at which simulated power is reached.

    The power is approximately Phi(c sqrt(n) - z) with the quantile z of the interval. Its
    derivative with respect to log n is phi(x) (x + z) / 2, with x the normal quantile of the power.
    """
    share = min(max(reached, 1 / replications), 1 - 1 / replications)
    x, z = ndtri(share), ndtri((1 + prob) / 2)
    slope = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * (x + z) / 2
    return n * np.sqrt(share * (1 - share) / replications) / slope


def _pilot(pilot, paired):
    """Return the posterior of the scores, and the clusters of the items or None."""
    pilot = as_item_scores(pilot)
    score = np.atleast_2d(pilot["item_score"].values)
    if dims := slice_dims(pilot):
        raise fail(
            "A plan needs scores of one slice; the evidence has slices along {}",
            dims,
            "",
            "select one slice",
        )
    if "weight" in pilot:
        raise fail(
            "A plan needs items with equal weights, but the pilot has weights",
            ...,
            "",
            "leave `weights=` out if all items are equally likely to be sampled",
        )
    if "judge_score" in pilot:
        raise fail(
            "A plan needs human scores only, but the pilot includes scores from a judge",
            ...,
            "",
            "use pilot.drop_vars('judge_score') to plan for human scores without a judge",
        )
    if paired and len(score) != 2:
        raise fail(
            "A difference needs exactly two systems; the pilot has {}",
            len(score),
            "",
            "pass the scores of two systems, or pass `width`",
        )
    has_value = ~np.isnan(score).any(axis=0)
    pilot, values = pilot.isel(item=has_value), _values(score[:, has_value])
    cluster = clusters_of(pilot)
    if cluster is not None:
        _, cluster = np.unique(cluster, return_inverse=True)
        if (clusters := cluster.max(initial=-1) + 1) < _FEWEST_ITEMS:
            raise fail(
                f"The pilot has only {clusters} clusters (group); a plan needs at least "
                f"{_FEWEST_ITEMS}",
                ...,
                "",
                "score items of more clusters",
            )
    if len(values) < _FEWEST_ITEMS:
        raise fail(
            f"The pilot has only {len(values)} items; a plan needs at least {_FEWEST_ITEMS}",
            ...,
            "",
            "score more items",
        )
    if not np.ptp(values):
        raise fail("All items of the pilot have the score {}", values[0], "", "score more items")
    return item_scores(pilot, concentration=_PSEUDO_ITEMS), cluster


def _values(score):
    """Return the scores of one system, or the differences of two systems."""
    return score[0] if len(score) == 1 else score[0] - score[1]


def _intervals(posterior, n, prob, kind, replications, seed, truth):
    """
    Return the intervals (R, 2) of simulated sets of n items.

    If ``truth`` is not None, intervals are shifted so that the population mean equals ``truth``.
    """
    rng = np.random.default_rng(seed)
    score, concentration = posterior.score, posterior.concentration
    systems, items = score.shape
    ends = posterior.ends if posterior.bounded else np.array([])
    seen = np.concatenate([score, np.broadcast_to(ends, (systems, len(ends)))], axis=1)
    disagreement = np.zeros((replications, systems, 0))
    if systems == 2:
        pseudo = draw_disagreement(2, np.ones(items), concentration, replications, rng)
        disagreement = pseudo.scores(score, *posterior.ends)
    pseudo_items = len(ends) + disagreement.shape[2]
    weight = np.concatenate([np.ones(items), np.full(pseudo_items, concentration)])
    shares = rng.dirichlet(weight, replications)
    counts = rng.multinomial(n, shares)
    means, moments = np.empty(replications), np.empty((6, replications))
    for index in range(replications):
        population = np.concatenate([seen, disagreement[index]], axis=1)
        value = population[0] - population[1] if systems == 2 else population[0]
        means[index] = shares[index] @ value
        drawn = counts[index] > 0
        moments[:, index] = posterior.moments(population[:, drawn], counts[index][drawn])
    varied = moments[3] > 0
    intervals = np.repeat(moments[2][:, None], 2, axis=1)
    distribution = by_moments(moments[:, varied]) if varied.any() else None
    if distribution is not None:
        intervals[varied] = getattr(distribution, kind)(prob)
    return intervals if truth is None else intervals + (truth - means)[:, None]


def _of_clusters(sums, sizes, n, prob, replications, seed, truth):
    """Return the intervals (R, 2) of simulated sets of n clusters, shifted as in `_intervals`."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(len(sums)), replications)
    counts = rng.multinomial(n, shares)
    means = counts @ sums / (counts @ sizes)
    residuals = sums - means[:, None] * sizes
    error = np.sqrt((counts * residuals**2).sum(axis=1) / (n * (n - 1))) / (counts @ sizes / n)
    half = stdtrit(n - 1, (1 + prob) / 2) * error
    intervals = np.stack([means - half, means + half], axis=1)
    population = shares @ sums / (shares @ sizes)
    return intervals if truth is None else intervals + (truth - population)[:, None]


def _shown(intervals, difference):
    """Return the share of intervals that exclude 0 on the side of the difference."""
    return float(np.mean(intervals[:, 0] > 0 if difference > 0 else intervals[:, 1] < 0))


def _smallest(share, assurance, start):
    """Return the smallest number at which the share reaches the assurance, to 1%, and the share."""
    low, high = 4, max(start, 5)
    while share(high) < assurance:
        low, high = high, 2 * high
        check_size(high)
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (middle, high) if share(middle) < assurance else (low, middle)
    return high, share(high)
