"""Confidence intervals for one proportion."""

from typing import Any

import numpy as np
import xarray as xr
from scipy.special import betaincinv, ndtr, ndtri

from bayescm.validate import check_choice, check_counts, check_prob, check_row_order, fail


def proportion(
    successes: Any, trials: Any, *, method: str = "wilson", prob: float = 0.95
) -> xr.DataArray:
    """
    Return confidence intervals for proportions.

    Parameters
    ----------
    successes, trials : int, array_like or DataArray
        Whole numbers, ``0 <= successes <= trials`` and ``trials >= 1``; broadcast together.
    method : {"wilson", "clopper_pearson", "agresti_coull", "plus_four", "wald"}
        ``"agresti_coull"`` adds half of z squared to successes and failures; ``"plus_four"`` adds
        2 and is often called by its name.
    prob : float, default 0.95

    Returns
    -------
    DataArray, dims (..., bound)
        Equivalent to ``statsmodels.stats.proportion.proportion_confint`` but for clipping: the
        last three methods may leave [0, 1].

    Raises
    ------
    ValueError
        If there are no trials or more successes than trials.

    References
    ----------
    Brown, L. D., Cai, T. T. & DasGupta, A. (2001). Interval estimation for a binomial proportion.
    Statistical Science 16, 101-133. doi:10.1214/ss/1009213286

    Examples
    --------
    >>> proportion(65, 80).values.round(4)
    array([0.7134, 0.8829])
    """
    prob = check_prob(prob)
    check_choice("method", method, list(_METHODS))
    given = {"successes": successes, "trials": trials}
    check_row_order({k: v for k, v in given.items() if not isinstance(v, xr.DataArray)})
    successes, trials = xr.broadcast(_labelled(successes), _labelled(trials))
    hits, number = successes.values, trials.values
    if (number < 1).any():
        raise fail(
            "a proportion needs at least one trial",
            number,
            "trials >= 1",
            "leave these entries out",
        )
    if (hits > number).any():
        raise fail(
            "more successes than trials", hits, "successes <= trials", "correct these entries"
        )
    z = ndtri((1 + prob) / 2)
    ends = np.stack(_METHODS[method](hits.astype(float), number.astype(float), z), axis=-1)
    coords = {**trials.coords, **successes.coords, "bound": ["lower", "upper"]}
    return xr.DataArray(ends, dims=(*successes.dims, "bound"), coords=coords)


def _labelled(numbers):
    values = check_counts(numbers)
    return numbers.copy(data=values) if isinstance(numbers, xr.DataArray) else xr.DataArray(values)


def _wald(hits, number, z):
    share = hits / number
    half = z * np.sqrt(share * (1 - share) / number)
    return share - half, share + half


def _agresti_coull(hits, number, z):
    return _wald(hits + z**2 / 2, number + z**2, z)


def _plus_four(hits, number, z):
    return _wald(hits + 2, number + 4, z)


def _wilson(hits, number, z):
    share = hits / number
    centre = (hits + z**2 / 2) / (number + z**2)
    half = z / (number + z**2) * np.sqrt(number * share * (1 - share) + z**2 / 4)
    # Rounding must not keep the ends from the limits they reach.
    return np.where(hits == 0, 0.0, centre - half), np.where(hits == number, 1.0, centre + half)


def _clopper_pearson(hits, number, z):
    tail = ndtr(-z)
    lower = betaincinv(np.maximum(hits, 1), number - hits + 1, tail)
    upper = betaincinv(hits + 1, np.maximum(number - hits, 1), 1 - tail)
    return np.where(hits == 0, 0.0, lower), np.where(hits == number, 1.0, upper)


_METHODS = {
    "wilson": _wilson,
    "clopper_pearson": _clopper_pearson,
    "agresti_coull": _agresti_coull,
    "plus_four": _plus_four,
    "wald": _wald,
}
