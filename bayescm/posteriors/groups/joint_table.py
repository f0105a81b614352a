"""Priors over tables of joint outcomes too large to write out."""

from math import log

import numpy as np

from bayescm.distributions import dirichlet
from bayescm.validate import fail

_MOST = 64  # sticks
_NUMBERS = 2**17  # of all sticks at once


def own_priors(concentration, judges: int, classes: int, *, abstains: bool = False) -> np.ndarray:
    """Return each classifier's own pseudo-counts, ``(J, C, C)``; 0 in an abstention's row."""
    real_rows = classes - abstains
    own = dirichlet.default_concentration(real_rows) if concentration is None else concentration
    own = np.array(np.broadcast_to(np.asarray(own, float), (judges, classes, classes)))
    own[:, real_rows:] = 0
    real = own[:, :real_rows]
    if not ((real > 0).all() or (real == 0).all()) or not np.isfinite(own).all():
        raise fail(
            "concentration must be positive, or 0 throughout",
            concentration,
            "finite numbers, all > 0 or all 0",
            "pass e.g. concentration=0.5, or 0 for the Bayesian bootstrap",
        )
    rows = own.sum(-1)
    if not np.allclose(rows, rows[:1]):
        raise fail(
            "the classifiers' priors disagree about the class frequencies",
            rows.tolist(),
            "the same row sums for every classifier, since they share the truth",
            "scale the rows of each prior to common sums",
        )
    return own


def base_measure(prior, actual, predicted) -> np.ndarray:
    """Return the prior pseudo-counts of joint cells: answers independent given the truth."""
    rows = prior[0].sum(-1)
    split = np.divide(
        prior, prior.sum(-1, keepdims=True), where=rows[:, None] > 0, out=np.zeros_like(prior)
    )
    own = rows[actual].copy()
    for each, answers in zip(split, predicted, strict=True):
        own *= each[actual, answers]
    return own


def draw_prior(prior, lead, share, rng):
    """Draw every classifier's matrix from the prior of the joint table, ``(*lead, J, C, C)``.

    Sticks are broken off a joint table with common atoms; what is left is given to each
    classifier as a Dirichlet of its own with common row sums. Each classifier's distribution is
    exact whatever the number of sticks, and so are all means and covariances between classifiers;
    the sticks make the rest of the joint distribution right up to a millionth of the mass.
    """
    size = int(np.prod(lead))
    sticks, left = _sticks(prior[0].sum(), size, share, rng, most=1 if len(prior) == 1 else _MOST)
    rest = left[:, None, None, None] * _independent_rows(prior, size, rng)
    return (_place(sticks.T, prior, rng) + rest).reshape(*lead, *prior.shape)


def draw_hits(rows, chance, lead, share, rng):
    """Draw the share of the prior's mass that each classifier hits, ``(*lead, J)``, or None.

    Rows are those of the classes that count, and chances (classes, J) that one of them is hit. What
    the sticks leave, a millionth of the mass, goes with the last; None if they leave more.
    """
    sticks, left = _sticks(rows.sum(), int(np.prod(lead)), share, rng)
    if sticks.shape[1] == _MOST:
        return None
    sticks[:, -1] += left
    hit = np.empty((len(sticks), chance.shape[1]))
    step = max(1, _NUMBERS // (sticks.shape[1] * chance.shape[1]))
    for part in (slice(start, start + step) for start in range(0, len(sticks), step)):
        own = sticks[part]
        actual = rng.choice(len(rows), own.shape, p=rows / rows.sum())
        hit[part] = (own[:, None] @ _happens(chance, actual, rng))[:, 0]
    return hit.reshape(*lead, -1)


def _happens(chance, row, rng):
    """Draw what happens with the chances in some rows, by eight random bits and more if need be."""
    more, bits = np.modf(256 * chance)
    bits, size = bits.astype(np.uint8)[row], row.size * chance.shape[1]
    drawn = rng.integers(0, 2**64 - 1, -(-size // 8), np.uint64, endpoint=True)
    drawn = drawn.view(np.uint8)[:size].reshape(bits.shape)
    found = drawn < bits
    if more.any():
        open_ = np.nonzero(drawn == bits)
        found[open_] = rng.random(len(open_[0])) < more[row[open_[:-1]], open_[-1]]
    return found


def _sticks(weight, size, share, rng, most=_MOST):
    """Break sticks off 1 until a millionth is left, (size, number), and return what is left."""
    number = (log(1e-6) - log(share)) / log(weight / (1 + weight))
    broken = rng.beta(1, weight, (int(np.clip(np.ceil(number), 1, most)), size)).T
    left = np.cumprod(1 - broken, axis=1)
    broken[:, 1:] *= left[:, :-1]
    return broken, left[:, -1]


def _place(sticks, prior, rng):
    """Put each stick on one joint cell drawn from the base measure, ``(size, J, C, C)``."""
    number, size = sticks.shape
    judges, classes, _ = prior.shape
    rows = prior[0].sum(-1)
    actual = rng.choice(classes, (number, size), p=rows / rows.sum())
    edges = np.cumsum(prior, axis=-1)
    edges = edges / np.where(edges[..., -1:] > 0, edges[..., -1:], 1)
    first = np.arange(size) * classes**2 + actual * classes
    total = np.empty((size, judges, classes**2))
    for judge in range(judges):
        uniform, code = rng.random((number, size)), first.copy()
        for edge in edges[judge, :, :-1].T:
            code += uniform > edge[actual]
        mass = np.bincount(code.ravel(), sticks.ravel(), size * classes**2)
        total[:, judge] = mass.reshape(size, -1)
    return total.reshape(size, judges, classes, classes)


def _independent_rows(prior, size, rng):
    """Draw common row totals, and each classifier's split of them independently."""
    having = prior[0].sum(-1) > 0  # nothing is an abstention
    total = np.zeros((size, *prior.shape))
    rows = dirichlet.draw(prior[0, having].sum(-1), size, rng)
    total[:, :, having] = rows[:, None, :, None] * dirichlet.draw(prior[:, having], size, rng)
    return total
