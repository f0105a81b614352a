"""Bayes factors for a change: one table of probabilities against two."""

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy import special

from bayescm.evidence.counts import CELLS, as_counts
from bayescm.online.discounting import check_single_series
from bayescm.online.updating import prior_cells
from bayescm.validate import check_choice, check_whole, fail

PARTS = ("answers", "totals", "all")
_REACH = 500
_ROOM = 200_000  # largest number of elements in a temporary array, which fits into the cache
_FEW = 8  # longest axis that is added term by term


def log_bayes_factor(
    before: xr.DataArray, after: xr.DataArray, *, concentration: Any = None
) -> xr.DataArray:
    """
    Return the log Bayes factor of "no change" between two sets of batches.

    Positive values favour one table of cell probabilities for both sets, negative values two
    tables. Like every Bayes factor, it depends on the prior for the alternative: a vague prior
    favours no change.

    Parameters
    ----------
    before, after : DataArray, dims (..., actual, predicted)
        Counts of the two sets.
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts of each table, all > 0. The default prior if omitted.

    Returns
    -------
    DataArray, dims (..., part)
        Natural logarithms of the Bayes factors. The parts are:

        - ``all``: the whole table, which is the sum of the other parts.
        - ``totals``: the class frequencies.
        - The class labels as text: the predictions for each actual class.

    References
    ----------
    Kass, R. E. & Raftery, A. E. (1995). Bayes factors. Journal of the American Statistical
    Association, 90(430), 773-795. doi:10.1080/01621459.1995.10476572

    Examples
    --------
    >>> import bayescm as bcm
    >>> before = bcm.from_cells(tp=90, fn=10, fp=20, tn=80)
    >>> after = bcm.from_cells(tp=70, fn=30, fp=20, tn=80)
    >>> log_bayes_factor(before, after).round(1).to_series().to_dict()
    {'all': -0.0, 'totals': 2.1, 'negative': 2.2, 'positive': -4.3}
    """
    before, after = xr.align(as_counts(before), as_counts(after), join="exact")
    prior = proper(concentration, before)
    before, after = xr.broadcast(before.astype(float), after.astype(float))
    order = (*[dim for dim in before.dims if dim not in CELLS], *CELLS)
    before, after = before.transpose(*order), after.transpose(*order)
    together = _masses(before.values + after.values, prior)
    apart = [_masses(counts.values, prior) for counts in (before, after)]
    logs = {name: together[name] - apart[0][name] - apart[1][name] for name in together}
    rows = np.moveaxis(logs["rows"], -1, 0)
    parts = ["all", "totals", *map(str, before["actual"].values)]
    values = np.stack([logs["totals"] + rows.sum(0), logs["totals"], *rows], axis=-1)
    coords = {k: v for k, v in before.coords.items() if not set(CELLS) & set(v.dims)}
    dims = [*order[:-2], "part"]
    return xr.DataArray(values, {**coords, "part": parts}, dims, name="log_bayes_factor")


def proper(concentration: Any, counts: xr.DataArray) -> np.ndarray:
    """Return prior pseudo-counts (C, C), which must be > 0, in the order of the counts."""
    return check_proper(prior_cells(concentration, counts))


def check_proper(prior: np.ndarray) -> np.ndarray:
    """Return prior pseudo-counts (C, C), or raise an error if one is not > 0."""
    if not (prior > 0).all():
        todo = "use priors.jeffreys(counts), or leave concentration out"
        raise fail("The Bayes factor needs a prior above 0 in every cell", prior.tolist(), "", todo)
    return prior


def _masses(cells, prior):
    """Return log marginal likelihoods, up to a constant that does not depend on the split."""
    return {
        "totals": _log_ratio(cells.sum(-1), prior.sum(-1)),
        "rows": _log_ratio(cells, prior),
    }


def _log_ratio(cells, prior):
    gains = special.gammaln(cells + prior) - special.gammaln(prior)
    total = prior.sum(-1)
    return gains.sum(-1) - special.gammaln(cells.sum(-1) + total) + special.gammaln(total)


def change(
    counts: xr.DataArray,
    *,
    concentration: Any = None,
    part: str = "answers",
    hazard: float = 0.01,
    reach: int = _REACH,
) -> xr.Dataset:
    """
    Return the Bayes factor and probability of a change so far, after every step.

    Without a change, one table generates all batches. With a change, one table generates the
    batches up to a change point and another one the batches after it. The change point has a
    geometric prior.

    Parameters
    ----------
    counts : DataArray
        The batches, in time order along the single leading dimension ``step``.
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts of each table, all > 0.
    part : {"answers", "totals", "all"}
        What may change: the predictions for each class, the class frequencies, or both.
    hazard : float, default 0.01
        Prior probability in (0, 1) that a change occurs at the next batch.
    reach : int, default 500
        Largest age of a possible change, in batches.

    Returns
    -------
    Dataset, dim step
        - ``log_bayes_factor``: the log Bayes factor of a change at any batch against no change.
          Without a change, the probability that it ever exceeds log(1 / a) is at most a,
          averaged over the prior (Ville's inequality).
        - ``probability``: the probability of a change so far.
        - ``latest``: the step of the most probable first batch after a change.

    References
    ----------
    Shafer, G., Shen, A., Vereshchagin, N. & Vovk, V. (2011). Test martingales, Bayes factors and
    p-values. Statistical Science, 26(1), 84-101. doi:10.1214/10-STS347

    Examples
    --------
    >>> import bayescm as bcm
    >>> weeks = bcm.from_cells(tp=[18] * 9 + [13] * 4, fn=[2] * 9 + [7] * 4, fp=3, tn=17)
    >>> changes = change(weeks.rename(batch="step"))
    >>> changes["probability"].values[[8, 12]].round(3)
    array([0.002, 0.889])
    >>> int(changes["latest"][-1])
    9
    """
    counts = as_counts(counts)
    check_choice("part", part, list(PARTS))
    if not isinstance(hazard, int | float | np.number) or not 0 < hazard < 1:
        raise fail("`hazard` must be between 0 and 1", hazard, "", "pass hazard=0.01")
    check_single_series(counts)
    prior = proper(concentration, counts)
    sums = np.concatenate([np.zeros((1, *prior.shape), counts.dtype), counts.values.cumsum(axis=0)])
    weights = geometric_prior(np.arange(len(sums)), hazard)
    check_whole("reach", reach, 1, "batches", _REACH)
    ages = np.arange(1, min(int(reach), max(len(sums) - 2, 1)) + 1)
    logs, probability, latest = mixture(sums, ages, weights, score_of(prior, part))
    coords = {k: v for k, v in counts.coords.items() if v.dims in ((), ("step",))}
    steps = counts["step"].values
    return xr.Dataset(
        {
            "log_bayes_factor": ("step", logs),
            "probability": ("step", probability),
            "latest": ("step", steps[latest]),
        },
        {"step": steps, **coords},
    )


class ChangePrior(NamedTuple):
    """Log prior probabilities of a change right after each batch, and of no change by then."""

    log_change: np.ndarray
    log_none: np.ndarray


def geometric_prior(batches: np.ndarray, hazard: float) -> ChangePrior:
    """Return the geometric prior for the change point, after each number of batches."""
    log_none = np.maximum(batches - 1, 0) * np.log1p(-hazard)
    log_change = np.where(batches > 0, np.log(hazard) + log_none, -np.inf)
    return ChangePrior(log_change, log_none)


def mixture(
    sums: np.ndarray,
    ages: np.ndarray,
    weights: ChangePrior,
    score: Callable[[np.ndarray], np.ndarray],
    first: int = 1,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return the Bayes factor, probability and most probable place of a change.

    Without a change, the mixture over change points is a martingale. Leaving out some ages omits
    terms of the mixture, so that it exceeds a threshold no more often.

    Parameters
    ----------
    sums : ndarray, shape (T + 1, C, C)
        Cumulative sums of the counts, starting with zero.
    ages : ndarray of int
        Ages of possible changes in batches, ascending.
    weights : ChangePrior
        Prior for each row of the sums.
    score : callable
        Log marginal likelihood of tables; see `score_of`.
    first : int
        First row of the sums to evaluate.

    Returns
    -------
    logs, probability, latest : ndarray
        Log Bayes factor, probability of a change, and its most probable place as a row of the sums.
    """
    whole, parts = score(sums), []
    table = _tabulated(score, sums, ages, len(sums) - first)
    step = max(1, _ROOM // (len(ages) * sums[0].size))
    for start in range(first, len(sums), step):
        t = np.arange(start, min(start + step, len(sums)))[:, None]
        split = t - ages
        exists = split >= 0
        split = np.maximum(split, 0)
        log = whole[split] + table(sums[t] - sums[split]) - whole[t] + weights.log_change[split]
        log = np.where(exists, log, -np.inf)
        peak = log.max(axis=1)
        finite = np.where(np.isfinite(peak), peak, 0.0)
        with np.errstate(divide="ignore"):
            log_change = np.log(np.exp(log - finite[:, None]).sum(axis=1)) + finite
        total = np.logaddexp(log_change, weights.log_none[t[:, 0]])
        best = np.where(np.isfinite(peak), split[np.arange(len(t)), log.argmax(axis=1)], 0)
        parts.append((total, np.exp(log_change - total), best))
    logs, probability, latest = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return logs, probability, latest


def score_of(prior: np.ndarray, part: str) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function for the log marginal likelihood (...) of tables (..., C, C)."""

    def score(cells, log_ratio=_log_gain):
        totals = _log_mass(log_ratio, _sum_last(cells), prior.sum(-1)) if part != "answers" else 0.0
        rows = _sum_last(_log_mass(log_ratio, cells, prior)) if part != "totals" else 0.0
        return totals + rows

    return score


_PSEUDO_EVENTS = 4.0  # prior sd of 0.5 for the ratio of observed to expected events


def log_evidence_of_events(cells: np.ndarray) -> np.ndarray:
    """
    Return the log marginal likelihood (...) of observed and expected events (..., G, 2).

    With y observed and e expected events in a group,

        y  ~  Poisson(lambda e),      lambda  ~  Gamma(a, a),      a = `_PSEUDO_EVENTS`,

    up to terms that do not depend on lambda. The number of events varies less than a Poisson
    variable, because each example has at most one event. Bayes factors are therefore conservative.
    """
    events, expected, a = cells[..., 0], cells[..., 1], _PSEUDO_EVENTS
    gain = special.gammaln(a + events) - special.gammaln(a) + a * np.log(a)
    return (gain - (a + events) * np.log(a + expected)).sum(axis=-1)


def _log_mass(log_ratio, cells, prior):
    return _sum_last(log_ratio(cells, prior)) - log_ratio(_sum_last(cells), prior.sum(-1))


def _sum_last(values):
    """Return sums over the last axis, adding short axes term by term, which is much faster."""
    if values.shape[-1] > _FEW:
        return values.sum(-1)
    return reduce(np.add, [values[..., index] for index in range(values.shape[-1])])


def _log_gain(cells, prior):
    return special.gammaln(cells + prior) - special.gammaln(prior)


def _tabulated(score, sums, ages, steps):
    """Return the score, using a lookup table if it is evaluated often for few distinct integers."""
    reach = min(int(ages[-1]), len(sums) - 1)
    top = int((sums[reach:] - sums[: len(sums) - reach]).sum(axis=(-2, -1)).max(initial=0)) + 1
    if sums.dtype.kind not in "iu" or top > steps * len(ages) / 4:
        return score
    tables: dict = {}

    def by_table(cells, prior):
        # The axes of the prior come last. The table has one column per element of the prior.
        flat = np.asarray(prior).ravel()
        key = flat.tobytes()
        if key not in tables:
            tables[key] = _log_gain(np.arange(top + 1)[:, None], flat)
        if not np.ndim(prior):
            return tables[key][cells, 0]
        columns = np.arange(flat.size).reshape(np.shape(prior))
        return tables[key][cells, columns]

    return lambda cells: score(cells, by_table)
