"""
Sample size for the interval of an area under the ROC curve.

Scores in both classes are assumed to be normal with equal variances, and means that differ by
sqrt(2) times the normal quantile of the area. Test sets are simulated, and DeLong's interval on the
logit scale is computed for each.
"""

import numpy as np
import pandas as pd
from scipy.special import expit, logit, ndtri

from bayescm.planning.search import (
    LARGEST,
    check_share,
    check_size,
    plan_table,
    size_error,
    size_for_width,
)
from bayescm.posteriors.roc.paired_areas import placement_covariance
from bayescm.validate import check_prob, check_seed, check_whole

_SCORES = 10**8  # largest number of scores simulated at a size, over all test sets
_FEWEST = 20  # minimum number of test sets at any size


def plan_auc(
    *,
    expect: float,
    width: float,
    prevalence: float = 0.5,
    assurance: float = 0.9,
    prob: float = 0.95,
    replications: int = 400,
    random_seed: int = 0,
) -> pd.DataFrame:
    """
    Return the size of a test set that makes the interval of an AUC narrow enough.

    Parameters
    ----------
    expect : float in (0.5, 1)
        Plausible area.
    width : float in (0, 1)
        Largest acceptable width of the interval (DeLong's, on the logit scale).
    prevalence : float in (0, 1), default 0.5
        Prevalence of positives in the population. Their number in a test set is random.
    assurance : float in (0, 1), default 0.9
        Probability of reaching the width, over future test sets.
    prob : float, default 0.95
        Probability of the interval.
    replications : int >= 20, default 400
        Number of test sets simulated at each size, with normal scores of equal variance. At large
        sizes, at which intervals vary little, fewer are simulated: at most a hundred million scores
        in total, but at least 20 test sets. The column ``how`` states the number.
    random_seed : int, default 0
        Seed of the simulation.

    Returns
    -------
    DataFrame, one row
        The plan, in the format of `bayescm.plan`.

    Raises
    ------
    ValueError
        If a number is out of range, or no size up to ten million suffices.

    Notes
    -----
    The search starts at the size implied by Hanley and McNeil's variance. See
    :func:`hanley_mcneil`.

    References
    ----------
    Hanley, J. A. & McNeil, B. J. (1982). The meaning and use of the area under a receiver operating
    characteristic (ROC) curve. Radiology 143, 29-36. doi:10.1148/radiology.143.1.7063747

    Examples
    --------
    >>> plan_auc(expect=0.85, width=0.1, replications=20).loc[0, ["unit", "how"]].tolist()
    ['examples', '20 simulated test sets']
    """
    check_share("expect", expect, 0.5)
    for name, value in (("width", width), ("prevalence", prevalence), ("assurance", assurance)):
        check_share(name, value)
    check_prob(prob)
    check_whole("replications", replications, 20, "test sets", 400)
    z = float(ndtri((1 + prob) / 2))
    least = int(np.ceil(4 / min(prevalence, 1 - prevalence)))

    def simulate(n):
        sets = min(replications, max(_FEWEST, _SCORES // n))
        return _widths(expect, prevalence, n, sets, random_seed, z)

    # Size at which Hanley and McNeil's standard error gives the requested width.
    standard_error = hanley_mcneil(expect, prevalence * 1e4, (1 - prevalence) * 1e4) * 100
    start = max(least, (2 * z * standard_error / width) ** 2)
    check_size(start / 2)  # the approximation may be too large by at most about this factor
    start = int(min(start, LARGEST))
    n = size_for_width(simulate, width, assurance, start=start, tolerance=0.01, least=least)
    while np.mean(simulate(n) <= width) >= assurance and n > least:
        n -= max(1, n // 200)
    while np.mean((widths := simulate(n)) <= width) < assurance:
        n += max(1, n // 200)
    goal = f"{prob:.4g} interval at most {width:.4g} wide"
    how = f"{len(widths)} simulated test sets"
    reached, error = float(np.mean(widths <= width)), size_error(n, widths, assurance)
    return plan_table("auc", goal, reached, n, "examples", error, how)


def _widths(area, prevalence, n, sets, seed, z):
    """Return the widths of the intervals in simulated test sets, 1 for sets without an interval."""
    rng = np.random.default_rng(check_seed(seed))
    separation, weights, widths = np.sqrt(2) * ndtri(area), np.ones(n), np.ones(sets)
    for index in range(sets):
        # Each test set is a random sample, so its number of positives is random.
        positives = rng.binomial(n, prevalence)
        if not 2 <= positives <= n - 2:
            continue
        is_positive = np.arange(n) < positives
        by_class = [~is_positive, is_positive]
        scores = rng.standard_normal((1, n)) + separation * is_positive
        (auc,), ((variance,),) = placement_covariance(scores, weights, by_class)
        if 0 < auc < 1:
            half = z * np.sqrt(variance) / (auc * (1 - auc))
            widths[index] = np.ptp(expit(logit(auc) + np.array([-half, half])))
    return widths


def hanley_mcneil(area: float, positives: float, negatives: float) -> float:
    """
    Return Hanley and McNeil's standard error of an area, assuming exponential scores.

    Parameters
    ----------
    area : float in (0, 1)
        Area under the ROC curve.
    positives, negatives : float
        Numbers of examples in each class.

    References
    ----------
    Hanley, J. A. & McNeil, B. J. (1982). The meaning and use of the area under a receiver operating
    characteristic (ROC) curve. Radiology 143, 29-36. doi:10.1148/radiology.143.1.7063747

    Examples
    --------
    >>> round(hanley_mcneil(0.893, 51, 58), 4)
    0.0325
    """
    # Probabilities q1 that two positives outscore one negative, and q2 that one positive outscores
    # two negatives.
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    variance = area * (1 - area)
    variance += (positives - 1) * (q1 - area**2) + (negatives - 1) * (q2 - area**2)
    return float(np.sqrt(variance / (positives * negatives)))
