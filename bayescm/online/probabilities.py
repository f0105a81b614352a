"""Posterior probabilities that a measure is below a floor, or worse than in a reference period."""

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from scipy import special

from bayescm.evidence.counts import CELLS, as_counts
from bayescm.measures.labelled import apply, one_kernel
from bayescm.online.updating import distribution_at
from bayescm.validate import check_number, fail

# The trapezoidal rule for a standard normal variable.
_Z = np.linspace(-8.5, 8.5, 137)
_WEIGHTS = np.exp(-(_Z**2) / 2) / np.exp(-(_Z**2) / 2).sum()


def prob_below(
    counts: xr.DataArray, measure: str | Callable, floor: float, *, concentration: Any = None
) -> xr.DataArray:
    """
    Return the posterior probability that a measure is at most a floor.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted)
        The evidence in force, as `accumulate` returns it.
    measure : str or callable
    floor : float
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts; the default prior if omitted.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> round(float(prob_below(counts, "recall", 0.8)), 3)
    0.4
    """
    counts = as_counts(counts)
    kernel = one_kernel(measure, counts)
    floor = check_number("floor", floor, usual=0.8)
    below = distribution_at(counts, kernel, concentration).cdf(floor)
    return _like(kernel, counts, below)


def prob_worse(
    counts: xr.DataArray,
    reference: xr.DataArray,
    measure: str | Callable,
    *,
    concentration: Any = None,
) -> xr.DataArray:
    """
    Return the probability that a measure is worse than in a reference period.

    The reference may also be another classifier. The two must have been tested on different
    examples; for the same examples see `bayescm.compare`.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted)
        The evidence in force now.
    reference : DataArray, dims (actual, predicted)
        The evidence of the reference.
    measure : str or callable
        Worse is lower, or higher where its ``lower_is_better`` says so.
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts of each.

    Examples
    --------
    >>> import bayescm as bcm
    >>> now = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> before = bcm.from_cells(tp=270, fn=30, fp=130, tn=120)
    >>> round(float(prob_worse(now, before, "recall")), 3)
    0.981
    """
    counts, reference = as_counts(counts), as_counts(reference)
    if reference.ndim != 2:
        todo = "sum over its batches: reference.sum('step')"
        raise fail("the reference must be a single table", reference.dims, str(CELLS), todo)
    kernel = one_kernel(measure, counts)
    if reference.indexes["actual"].tolist() != counts.indexes["actual"].tolist():
        got, allowed = reference.indexes["actual"].tolist(), f"{counts.indexes['actual'].tolist()}"
        raise fail("the reference has different labels", got, allowed, "give both the same labels")
    now, then = (distribution_at(each, kernel, concentration) for each in (counts, reference))
    return _like(kernel, counts, worse(now, then, kernel.lower_is_better))


def worse(now: Any, then: Any, lower_is_better: bool) -> np.ndarray:
    """Return the probability that what is known of a measure now is worse than it was then."""
    if known_far_out(now) and known_far_out(then):
        quantiles = [then.quantile(each) for each in special.ndtr(_Z)]
        below = sum(w * now.cdf(x) for w, x in zip(_WEIGHTS, quantiles, strict=True))
    else:
        gap, spread = then.mean() - now.mean(), np.hypot(now.sd(), then.sd())
        below = special.ndtr(gap / spread)
    return 1 - below if lower_is_better else below


def below(known: Any, floor: float) -> np.ndarray:
    """Return the probability that a measure is at most a floor, of use far out in the tail."""
    if known_far_out(known):
        return known.cdf(float(floor))
    return special.ndtr((floor - known.mean()) / known.sd())


def known_far_out(known: Any) -> bool:
    """Say whether tails are known that no number of draws would show."""
    return known.how == "closed form"


def _like(kernel, counts, values):
    template = apply(kernel, counts)
    return template.copy(data=np.broadcast_to(values, template.shape))
