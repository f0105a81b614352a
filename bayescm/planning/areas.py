"""How many examples make the interval of an area under a ROC curve narrow enough."""

import numpy as np
import pandas as pd
from scipy.special import expit, logit, ndtri

from bayescm.direct.roc.paired_areas import placement_covariance
from bayescm.planning.sizes import LARGEST, check_inside, result
from bayescm.validate import check_prob, check_seed, check_whole, fail

# The scores that are simulated at a size, and the fewest test sets whatever the size.
_SCORES, _FEWEST = 10**8, 20


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
        The plausible area.
    width : float in (0, 1)
        The largest acceptable width of the interval (DeLong's, on the logit scale).
    prevalence : float in (0, 1), default 0.5
        Proportion of positives in the test set.
    assurance : float in (0, 1), default 0.9
        Probability of reaching the width, over future test sets.
    prob : float, default 0.95
        Mass of the interval.
    replications : int >= 20, default 400
        Number of test sets simulated at each size, of normal scores of equal variance. Of large
        sizes, whose intervals differ little, fewer are simulated (`how` says how many): a hundred
        million scores in all, but 20 test sets at least.
    random_seed : int, default 0
        Seed of the simulation.

    Returns
    -------
    DataFrame, one row
        As `bayescm.plan` returns it.

    Raises
    ------
    ValueError
        If a number is out of its range, or no size up to ten million is enough.

    Notes
    -----
    The search begins at the size that Hanley and McNeil's variance gives. See
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
    check_inside("expect", expect, 0.5)
    for name, value in (("width", width), ("prevalence", prevalence), ("assurance", assurance)):
        check_inside(name, value)
    check_prob(prob)
    check_whole("replications", replications, 20, "test sets", 400)
    z = float(ndtri((1 + prob) / 2))

    def widths(n):
        sets = min(replications, max(_FEWEST, _SCORES // n))
        return _widths(expect, prevalence, n, sets, random_seed, z)

    n = _start(expect, prevalence, width, z)
    for _ in range(12):
        wide = widths(n)
        quantile = np.quantile(wide, assurance)
        wanted = max(_least(prevalence), round(n * (quantile / width) ** 2))
        _check_size(wanted)
        if abs(wanted - n) <= max(1, 0.01 * n):
            break
        n = wanted
    while np.mean(widths(n) <= width) >= assurance and n > _least(prevalence):
        n -= max(1, n // 200)
    while np.mean((wide := widths(n)) <= width) < assurance:
        n += max(1, n // 200)
    step = np.sqrt(assurance * (1 - assurance) / len(wide))
    low, high = np.quantile(wide, np.clip([assurance - step, assurance + step], 0, 1))
    error = float(n * (high - low) / np.quantile(wide, assurance))
    goal = f"{prob:.4g} interval at most {width:.4g} wide"
    how = f"{len(wide)} simulated test sets"
    return result("auc", goal, float(np.mean(wide <= width)), n, "examples", error, how)


def hanley_mcneil(area: float, positives: float, negatives: float) -> float:
    """
    Return the standard error of an area, for scores with exponential tails.

    Examples
    --------
    >>> round(hanley_mcneil(0.893, 51, 58), 4)
    0.0325
    """
    one, two = area / (2 - area), 2 * area**2 / (1 + area)
    spread = (positives - 1) * (one - area**2) + (negatives - 1) * (two - area**2)
    return float(np.sqrt((area * (1 - area) + spread) / (positives * negatives)))


def _start(area, prevalence, width, z):
    """Return the size at which the interval is about as wide as wanted."""
    unit = hanley_mcneil(area, prevalence * 1e4, (1 - prevalence) * 1e4) * 100
    about = max(_least(prevalence), (2 * z * unit / width) ** 2)
    _check_size(about / 2)  # the approximation may be that much too large, hardly more
    return int(min(about, LARGEST))


def _check_size(n):
    if n > LARGEST:
        what = f"no sample size up to {LARGEST:,} reaches the goal"
        raise fail(what, ..., "", "relax the goal")


def _least(prevalence):
    return int(np.ceil(4 / min(prevalence, 1 - prevalence)))


def _widths(area, prevalence, n, replications, seed, z):
    """Return the widths of the intervals in simulated test sets; infinite where there is none."""
    rng = np.random.default_rng(check_seed(seed))
    positives = np.clip(round(n * prevalence), 2, n - 2)
    codes = (np.arange(n) < positives).astype(int)
    shift, classes = np.sqrt(2) * ndtri(area) * codes, [codes == 0, codes == 1]
    ones, found = np.ones(n), np.full(replications, np.inf)
    for index in range(replications):
        scores = rng.standard_normal((1, n)) + shift
        (one,), ((variance,),) = placement_covariance(scores, ones, classes)
        if 0 < one < 1:
            half = z * np.sqrt(variance) / (one * (1 - one))
            found[index] = np.ptp(expit(logit(one) + np.array([-half, half])))
    return found
