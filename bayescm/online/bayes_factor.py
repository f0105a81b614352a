"""Has anything changed? Bayes factors for one table of probabilities against two."""

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
_ROOM = 200_000  # numbers in a temporary array: it stays in the cache of the processor
_FEW = 8  # terms that are added one after another


def log_bayes_factor(
    before: xr.DataArray, after: xr.DataArray, *, concentration: Any = None
) -> xr.DataArray:
    """
    Return the natural log of the Bayes factor of "no change" between two sets of batches.

    Above 0 the data favour one table of cell probabilities for both, below 0 two. Like every
    Bayes factor it depends on the prior of the alternative: a vague one favours no change.

    Parameters
    ----------
    before, after : DataArray, dims (..., actual, predicted)
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts of either table, all > 0; the default prior if omitted.

    Returns
    -------
    DataArray, dims (..., part)
        Part ``all``: the whole table, the sum of the others. ``totals``: how often the classes
        occur. The labels as text: the answers to each actual class.

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
    """Return prior pseudo-counts (C, C) in the order of the counts; raise where one is not > 0."""
    return check_proper(prior_cells(concentration, counts))


def check_proper(prior: np.ndarray) -> np.ndarray:
    """Return prior pseudo-counts (C, C), or raise where one is not > 0."""
    if not (prior > 0).all():
        todo = "use priors.jeffreys(counts), or leave concentration out"
        raise fail("the Bayes factor needs a proper prior", prior.tolist(), "every cell > 0", todo)
    return prior


def _masses(cells, prior):
    """Return log marginal likelihoods, up to what any split has in common."""
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
    Ask at every step whether anything has changed at some unknown batch so far.

    "Nothing" is one table behind all batches. "Something" is one table up to a batch and another
    one after it, whose place has a geometric prior.

    Parameters
    ----------
    counts : DataArray
        The batches, with the single leading dim ``step`` in order of time.
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts of either table, all > 0.
    part : {"answers", "totals", "all"}
        What may have changed: the answers to each class, how often classes occur, or either.
    hazard : float, default 0.01
        Prior probability that a change comes with the next batch, in (0, 1).
    reach : int, default 500
        How many batches back to look for a change.

    Returns
    -------
    Dataset, dim step
        ``log_bayes_factor`` of a change at any batch against none; if nothing changes, averaged
        over the prior, the probability that it ever exceeds log(1 / a) is at most a (Ville's
        inequality). ``probability`` that something has changed so far. ``latest``: the step of the
        most probable first batch after a change.

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
        raise fail("hazard must be a probability", hazard, "0 < hazard < 1", "pass hazard=0.01")
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
    """Log prior probabilities of a change right after so many batches, and of none by then."""

    log_change: np.ndarray
    log_none: np.ndarray


def geometric_prior(batches: np.ndarray, hazard: float) -> ChangePrior:
    """Return the geometric prior of the place of a change, after each number of batches."""
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
    Return what is known of a change at every batch.

    Fewer ages leave out terms of a mixture that is a martingale if nothing changes, so that it
    exceeds a threshold no more often.

    Parameters
    ----------
    sums : ndarray, shape (T + 1, C, C)
        Sums of the counts before every batch, and of all.
    ages : ndarray of int
        How many batches ago a change is looked for, ascending.
    weights : ChangePrior
        Of every row of the sums.
    score : callable
        Log marginal likelihood of tables; see `score_of`.
    first : int
        The first row of the sums that is asked about.

    Returns
    -------
    logs, probability, latest : ndarray
        Log Bayes factor, probability of a change, and the most probable place of one, as a row of
        the sums.
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
    """Return the log marginal likelihood (...) of tables (..., C, C) under a prior."""

    def score(cells, log_ratio=_log_gain):
        totals = _log_mass(log_ratio, _sum_last(cells), prior.sum(-1)) if part != "answers" else 0.0
        rows = _sum_last(_log_mass(log_ratio, cells, prior)) if part != "totals" else 0.0
        return totals + rows

    return score


_PSEUDO_EVENTS = 4.0  # of each group: what comes true may be half as many again as expected


def log_evidence_of_events(cells: np.ndarray) -> np.ndarray:
    """
    Return the log marginal likelihood (...) of events and expected numbers (..., G, 2).

    With y events of e that are expected in a group,

        y  ~  Poisson(lambda e),      lambda  ~  Gamma(a, a),      a = `_PSEUDO_EVENTS`,

    up to what does not depend on lambda. Numbers of events of single examples vary less than those
    of Poisson, so that Bayes factors are rather too small than too large.
    """
    events, expected, a = cells[..., 0], cells[..., 1], _PSEUDO_EVENTS
    gain = special.gammaln(a + events) - special.gammaln(a) + a * np.log(a)
    return (gain - (a + events) * np.log(a + expected)).sum(axis=-1)


def _log_mass(log_ratio, cells, prior):
    return _sum_last(log_ratio(cells, prior)) - log_ratio(_sum_last(cells), prior.sum(-1))


def _sum_last(values):
    """Return sums over the last axis; one term after another is several times faster where few."""
    if values.shape[-1] > _FEW:
        return values.sum(-1)
    return reduce(np.add, [values[..., index] for index in range(values.shape[-1])])


def _log_gain(cells, prior):
    return special.gammaln(cells + prior) - special.gammaln(prior)


def _tabulated(score, sums, ages, steps):
    """Return the score, by a table where many sums of few different whole numbers are asked for."""
    reach = min(int(ages[-1]), len(sums) - 1)
    top = int((sums[reach:] - sums[: len(sums) - reach]).sum(axis=(-2, -1)).max(initial=0)) + 1
    if sums.dtype.kind not in "iu" or top > steps * len(ages) / 4:
        return score
    tables: dict = {}

    def by_table(cells, prior):
        # Axes of the prior stand last: a column of the table for each of its numbers.
        flat = np.asarray(prior).ravel()
        key = flat.tobytes()
        if key not in tables:
            tables[key] = _log_gain(np.arange(top + 1)[:, None], flat)
        if not np.ndim(prior):
            return tables[key][cells, 0]
        columns = np.arange(flat.size).reshape(np.shape(prior))
        return tables[key][cells, columns]

    return lambda cells: score(cells, by_table)
