"""Whether a challenger is to take the champion's place, judged after every batch."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy.special import ndtr, ndtri

from bayescm.direct.paired_outcomes import paired_outcomes
from bayescm.validate import fail

GO_ON, PROMOTE, FUTILE = "go on", "promote", "futile"
_DRAWS, _AT_ONCE = 4000, 4_000_000  # of each posterior; numbers in memory
_TAILS = (0.025, 0.975)


class Rule(NamedTuple):
    """
    When to stop.

    Attributes
    ----------
    margin : float
        By how much better the challenger must be, at least.
    prob : float
        The posterior probability at which it is promoted.
    planned : int or None
        The examples that there will be at most.
    """

    margin: float = 0.0
    prob: float = 0.95
    planned: int | None = None


class Looks(NamedTuple):
    """
    What is known of the difference (challenger minus champion, more is better) after each batch.

    Attributes
    ----------
    mean, sd, lower, upper : ndarray
        Of its posterior; the interval is equal-tailed, of 95%.
    p_better : ndarray
        The probability that the challenger is better by more than the margin.
    """

    mean: np.ndarray
    sd: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    p_better: np.ndarray


def looks(
    outcomes: xr.Dataset, kernel: Callable, *, margin: float = 0.0, random_seed: Any = 0
) -> Looks:
    """
    Return what is known after each batch.

    Parameters
    ----------
    outcomes : Dataset
        Of the champion and the challenger, in this order; ``counts`` of any leading dims, summed
        over the batches so far.
    kernel : callable
        A measure, one number for each classifier.
    margin : float
        See `Rule`.
    random_seed
        Of the draws.
    """
    posterior = paired_outcomes(outcomes)
    lead = posterior.outcomes.shape[:-1]
    flat = posterior.outcomes.reshape(-1, posterior.outcomes.shape[-1])
    many = max(1, _AT_ONCE // (_DRAWS * max(8, flat.shape[-1])))
    rng, parts = np.random.default_rng(random_seed), []
    for start in range(0, len(flat), many):
        some = xr.Dataset({"counts": (("batch", "outcome"), flat[start : start + many])})
        coords = {name: each for name, each in outcomes.coords.items() if name in _KEPT}
        parts.append(_judged(some.assign_coords(coords), kernel, margin, rng))
    return Looks(*(np.concatenate(each).reshape(lead) for each in zip(*parts, strict=True)))


_KEPT = ("actual", "predicted", "label", "classifier", "positive")


def _judged(outcomes, kernel, margin, rng):
    cells = paired_outcomes(outcomes).cells("parameter", _DRAWS, rng)
    values = kernel(cells)
    if values.ndim != 3:
        todo = "take an average: 'f1_macro', 'accuracy', or one class: 'f1[a]'"
        raise fail("a measure with a value for each class", kernel.__name__, "one number", todo)
    drawn = values[..., 1] - values[..., 0]
    drawn = -drawn if getattr(kernel, "lower_is_better", False) else drawn
    if np.isnan(drawn).any():  # 0/0 is left out
        known = np.isnan(drawn).mean(axis=0)
        lower, upper = np.nanquantile(drawn, _TAILS, axis=0)
        better = (drawn > margin).mean(axis=0) / (1 - known)
        return np.nanmean(drawn, axis=0), np.nanstd(drawn, axis=0), lower, upper, better
    lower, upper = np.quantile(drawn, _TAILS, axis=0)
    return drawn.mean(axis=0), drawn.std(axis=0), lower, upper, (drawn > margin).mean(axis=0)


def p_promote(found: Looks, n: np.ndarray, rule: Rule) -> np.ndarray:
    """
    Return the probability to be promoted at the planned end, as it looks now.

    What is to come is predicted from the posterior of the difference as a normal distribution.

    Parameters
    ----------
    found : Looks
    n : ndarray
        Examples so far.
    rule : Rule
        With ``planned``.

    References
    ----------
    Spiegelhalter, D. J., Freedman, L. S. & Blackburn, P. R. (1986). Monitoring clinical trials:
    conditional or predictive power? Controlled Clinical Trials 7, 8-17.
    doi:10.1016/0197-2456(86)90003-6
    """
    share = np.minimum(n / (rule.planned or np.inf), 1.0)
    sd = np.maximum(found.sd, np.finfo(float).tiny)
    ahead = (found.mean - rule.margin) / sd - ndtri(rule.prob) * np.sqrt(share)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = ndtr(ahead / np.sqrt(1 - share))
    return np.where(share < 1, expected, (found.p_better > rule.prob).astype(float))


def decided(found: Looks, n: np.ndarray, rule: Rule) -> np.ndarray:
    """
    Return the decision after each batch, along the last axis; the first one stays.

    Promoted is the challenger where it is better by more than the margin with a probability of
    more than ``prob``. Futile it is, with a planned number of examples, where the probability to be
    promoted at their end is below ``1 - prob``; without one, where it is better with a probability
    below ``1 - prob``.
    """
    hopeless = found.p_better if rule.planned is None else p_promote(found, n, rule)
    now = np.where(hopeless < 1 - rule.prob, 2, 0)
    now = np.where(found.p_better > rule.prob, 1, now)
    first = np.argmax(now > 0, axis=-1)[..., None]
    place = np.arange(now.shape[-1])
    kept = np.where(place >= first, np.take_along_axis(now, first, axis=-1), 0)
    return np.array([GO_ON, PROMOTE, FUTILE], dtype=object)[kept]
