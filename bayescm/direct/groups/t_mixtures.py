"""Student t distributions as mixtures of normals: two of them add up in closed form."""

import numpy as np
from scipy import special

_BLOCK = 2**15  # numbers in an array: memory of more is given back, and asked for again
_NORMALS = 1.1  # between the log precisions of normals that make up a t of two degrees of freedom


def few_normals(freedom: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return variances (A, D) and weights (A,) of so many normals that make up t's (D,)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(number)
    known, place = np.unique(freedom, return_inverse=True)
    precision = special.gammaincinv(known / 2, special.ndtr(nodes)[:, None]) / (known / 2)
    return 1 / precision[:, place], weights / weights.sum()


def even_normals(freedom: np.ndarray, furthest: float) -> tuple[np.ndarray, np.ndarray]:
    """
    Return variances and weights (S, B) of normals that make up t's (S,) of unit scale.

    Log precisions are even: the sum is next to exact as far out as precisions reach, which is where
    a normal as far out as the furthest has most of its mass.
    """
    low, high = _precisions(2.0, furthest)
    number = int(np.ceil((high - low) / _NORMALS)) + 1
    low, high = _precisions(freedom, furthest)
    # Of many degrees of freedom precisions differ less, and none lies as far out as that.
    low = np.maximum(low, high - (number - 1) * 1.3 / np.sqrt(0.5 + freedom / 2))
    logs = np.linspace(low, high, number, axis=-1)
    half = freedom[:, None] / 2
    weights = half * (logs - np.exp(logs))
    weights = np.exp(weights - weights.max(-1, keepdims=True))
    return np.exp(-logs), weights / weights.sum(-1, keepdims=True)


def log_sums(
    gaps: np.ndarray, inner: np.ndarray, own: np.ndarray, outer: np.ndarray, other: np.ndarray
) -> np.ndarray:
    """
    Return log densities (L, S) of gaps (L, D): of the sum of two t variables, summed over D.

    The first is of normals of variances inner (A, D) and weights own (A,), the second of outer and
    other (S, B).
    """
    gaps, inner = gaps.astype(np.float32) ** 2 / -2, inner.astype(np.float32)[:, None]
    weights = (own[:, None] * other[:, None]).reshape(len(other), -1, 1).astype(np.float32)
    step = max(_BLOCK // (weights.shape[1] * gaps.shape[1]), 1)
    blocks = (slice(at, at + step) for at in range(0, len(other), step))
    outer = outer.astype(np.float32)[:, None, :, None]
    return np.hstack([_block(gaps, inner + outer[each], weights[each]) for each in blocks])


def _block(gaps, variances, weights):
    """Return log densities (L, S) of squared gaps (L, D), over -2, by variances (S, A, B, D)."""
    variances = variances.reshape(*weights.shape[:2], -1)
    precisions = np.reciprocal(variances, out=variances)
    weights, terms = weights * np.sqrt(precisions), np.empty_like(precisions)
    found = np.empty((len(gaps), len(terms), gaps.shape[1]), np.float32)
    for gap, each in zip(gaps, found, strict=True):
        np.exp(np.multiply(gap, precisions, out=terms), out=terms)
        np.einsum("skd,skd->sd", terms, weights, out=each)
    return np.log(np.maximum(found, np.float32(1e-37))).sum(-1, dtype=float)


def _precisions(freedom, furthest):
    """Return the least and the greatest log precision, over that of the spread, of normals."""
    half = freedom / 2
    least = np.log((half + 0.5) / (half + furthest**2 / 2))
    most = np.log(special.gammaincinv(half, 1 - 1e-4) / half)
    return least - 3 / np.sqrt(half + 0.5) - 3 / (half + 0.5), most
