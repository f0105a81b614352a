"""Draws of independent betas that are evenly spread, so that a few do for many."""

from functools import lru_cache

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtr, ndtri

_NODES = np.linspace(-5.5, 5.5, 111)  # on the normal scale, where the logit of a share is smooth


def even_betas(a: np.ndarray, b: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """
    Draw betas (size, ...), each one with a draw in every one of ``size`` equally probable parts.

    Latin hypercube sampling: sums and other smooth functions of them have a much smaller Monte
    Carlo error than with independent draws.

    References
    ----------
    McKay, M. D., Beckman, R. J., Conover, W. J. (1979). A comparison of three methods for selecting
    values of input variables in the analysis of output from a computer code. Technometrics 21,
    239-245. doi:10.2307/1268522
    """
    at, part = _places(size)
    mass = ndtr(-np.abs(_NODES))
    low = _NODES < 0
    first, second = (np.where(low, *each) for each in _twice(a[..., None], b[..., None]))
    shares = np.clip(betaincinv(first, second, mass), 1e-300, 1 - 1e-16)
    odds = np.where(low, 1, -1) * logit(shares)
    drawn = odds[..., at] * (1 - part) + odds[..., at + 1] * part
    return np.moveaxis(rng.permuted(expit(drawn), axis=-1), -1, 0)


def _twice(a, b):
    return (a, b), (b, a)


@lru_cache(maxsize=8)
def _places(size):
    """Return the node below the middle of each part, and how far it is to the next."""
    middle = np.clip(ndtri((np.arange(size) + 0.5) / size), _NODES[0], _NODES[-1])
    at = np.clip(np.searchsorted(_NODES, middle) - 1, 0, len(_NODES) - 2)
    return at, (middle - _NODES[at]) / (_NODES[1] - _NODES[0])
