"""The Bayesian correlated t: two classifiers over the folds of one cross-validation."""

import warnings
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from bayescm.direct.folds.correlated_t import mean_difference
from bayescm.distributions.decision import check_rope, decide
from bayescm.validate import check_prob, check_reals, check_row_order, fail


def correlated_t(
    first: ArrayLike,
    second: ArrayLike,
    *,
    n_folds: int,
    rope: Any = 0.0,
    prob: float = 0.95,
) -> pd.Series:
    """
    Compare two classifiers' scores over the folds of a cross-validation.

    The differences of the folds are normal and equally correlated, since their training sets
    overlap; with a flat prior the posterior of the mean difference is a Student t distribution
    whose scale is that of Nadeau and Bengio's corrected t.

    Parameters
    ----------
    first, second : array_like, shape (n,)
        Scores on the same folds, higher is better; the folds of all repeats, one after the other.
    n_folds : int
        Folds of one repeat, 2 or more.
    rope : float or (float, float), default 0
        Region of practical equivalence, in the units of the scores.
    prob : float, default 0.95
        Mass of the interval.

    Returns
    -------
    Series
        ``mean``, ``sd``, ``lower``, ``upper``, ``p_better`` (the first is), ``p_rope``,
        ``p_worse``, ``expected_loss`` and ``expected_loss_second``. Equal to
        ``baycomp.two_on_single``, whose three numbers are p_better, p_rope and p_worse.

    Raises
    ------
    ValueError
        If the numbers of scores differ, or are not a multiple of ``n_folds``.

    References
    ----------
    Corani, G. & Benavoli, A. (2015). A Bayesian approach for comparing cross-validated algorithms
    on multiple data sets. Machine Learning 100, 285-304. doi:10.1007/s10994-015-5486-z

    Examples
    --------
    >>> a, b = [0.81, 0.78, 0.84, 0.80], [0.79, 0.77, 0.80, 0.80]
    >>> correlated_t(a, b, n_folds=4)[["mean", "p_better"]].round(4).tolist()
    [0.0175, 0.8639]
    """
    check_row_order({"first": first, "second": second})
    first, second = (
        check_reals(each, f"the {name} scores", "pass one number for each fold")
        for name, each in (("first", first), ("second", second))
    )
    if first.shape != second.shape or first.ndim != 1:
        got: object = (first.shape, second.shape)
        raise fail(
            "the scores do not pair up", got, "two arrays of shape (n,)", "pair them by fold"
        )
    if n_folds < 2 or len(first) % n_folds:
        todo = "pass n_folds, the folds of one repeat"
        got = {"n_folds": n_folds, "scores": len(first)}
        raise fail("the scores do not make whole repeats", got, "a multiple of n_folds", todo)
    distribution = mean_difference(first - second, 1 / n_folds)
    ends, prob = check_rope(rope), check_prob(prob)
    if distribution.scale == 0 and distribution.location:
        warnings.warn(
            "The scores differ by the same number on every fold, which the t takes for certainty.",
            stacklevel=2,
        )
    (found,) = decide(distribution, rope=ends, prob=prob, kind="eti")
    if ends == (0.0, 0.0) and found["p_rope"] == 1:  # no difference in any fold: either way
        found |= {"p_better": 0.5, "p_rope": 0.0, "p_worse": 0.5}
    return pd.Series(found)
