r"""
The prior for the joint predictions of several classifiers, and draws from it.

The prior is a Dirichlet distribution over the actual class and the predictions of J classifiers,
with total weight w. In its base measure, the predictions are independent given the actual class.
Let :math:`a_j(c, k)` be the prior pseudo-counts of classifier j, with the same row sums
:math:`a(c)` for every classifier. Then

.. math:: H(c, k_1, \dots, k_J) = a(c) \prod_j a_j(c, k_j) / a(c), \qquad w = \sum_c a(c).

Marginally, each classifier has its own prior. The table has C**(J + 1) cells, which can be too
many. Only sums over its cells are needed, and these are sampled without the table, by the
stick-breaking construction. Atoms drawn from H / w have the weights
:math:`b_k \prod_{l < k} (1 - b_l)` with :math:`b \sim \mathrm{Beta}(1, w)`.

References
----------
Sethuraman, J. (1994). A constructive definition of Dirichlet priors. Statistica Sinica 4, 639-650.

Muliere, P. & Tardella, L. (1998). Approximating distributions of random functionals of
Ferguson-Dirichlet priors. Canadian Journal of Statistics 26, 283-297. doi:10.2307/3315511
"""

from math import log

import numpy as np

from bayescm.distributions import dirichlet
from bayescm.validate import fail

_REST = 1e-6  # remaining mass at which stick breaking stops
_MOST_STICKS = 64  # largest number of sticks, enough for a prior of weight 4
_CHUNK = 2**17  # largest number of values in memory at once (1 MB)


def classifier_priors(
    concentration, n_classifiers: int, n_classes: int, *, abstains: bool = False
) -> np.ndarray:
    """Return the pseudo-counts of each classifier, ``(J, C, C)``; 0 in the abstention row."""
    n_actual = n_classes - abstains
    prior = dirichlet.default_concentration(n_actual) if concentration is None else concentration
    shape = (n_classifiers, n_classes, n_classes)
    prior = np.array(np.broadcast_to(np.asarray(prior, float), shape))
    prior[:, n_actual:] = 0
    rows = prior[:, :n_actual]
    if not ((rows > 0).all() or (rows == 0).all()) or not np.isfinite(prior).all():
        raise fail(
            "`concentration` must be finite numbers, all > 0 or all 0",
            concentration,
            "",
            "pass e.g. `concentration=0.5`, or 0 for the Bayesian bootstrap",
        )
    sums = prior.sum(-1)
    if not np.allclose(sums, sums[:1]):
        raise fail(
            "The priors of the classifiers must have the same row sums, because the "
            "classifiers share the true labels",
            sums.tolist(),
            "",
            "scale the rows of each prior to common sums",
        )
    return prior


def base_measure(prior: np.ndarray, actual: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Return prior pseudo-counts of joint cells, with predictions independent given the class."""
    rows = prior[0].sum(-1)
    conditional = np.divide(
        prior, prior.sum(-1, keepdims=True), where=rows[:, None] > 0, out=np.zeros_like(prior)
    )
    weights = rows[actual].copy()
    for shares, answers in zip(conditional, predicted, strict=True):
        weights *= shares[actual, answers]
    return weights


def draw_prior(
    prior: np.ndarray, lead: tuple[int, ...], share: float, rng: np.random.Generator
) -> np.ndarray:
    """
    Return draws of every classifier's matrix from the prior for the joint table.

    The classifiers share the atoms of the stick-breaking construction. The remaining mass is given
    to each classifier as a separate Dirichlet with common row sums.

    Parameters
    ----------
    prior : ndarray, shape (J, C, C)
        Prior pseudo-counts of each classifier.
    lead : tuple of int
        Shape of the draws.
    share : float
        Share of the prior in the mass of the posterior. A smaller share needs fewer sticks.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (*lead, J, C, C)

    Notes
    -----
    Each classifier's distribution, and the means and covariances between classifiers, are exact for
    any number of sticks. The rest of the joint distribution is approximate only in the remaining
    mass. On average, this is at most a millionth of the posterior mass, unless the largest number
    of sticks (64) is reached.
    """
    size = int(np.prod(lead))
    most = 1 if len(prior) == 1 else _MOST_STICKS
    sticks, left = _break_sticks(prior[0].sum(), size, share, rng, most)
    remainder = left[:, None, None, None] * _independent_matrices(prior, size, rng)
    return (_matrices_of_sticks(sticks.T, prior, rng) + remainder).reshape(*lead, *prior.shape)


def draw_prior_cells(
    prior: np.ndarray, size: int, share: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the draws of `draw_prior` in sparse form, without cells that are almost 0.

    Parameters
    ----------
    prior : ndarray, shape (J, C, C)
        Prior pseudo-counts, all > 0.
    size : int
        Number of draws.
    share, rng
        As in `draw_prior`.

    Returns
    -------
    place : ndarray of int, shape (m,)
        Indices into the flat array of shape (size, J, C, C). A cell may occur several times.
    mass : ndarray, shape (m,)
        Mass to add at each index.
    """
    n_classifiers, classes, _ = prior.shape
    most = 1 if n_classifiers == 1 else _MOST_STICKS
    sticks, left = _break_sticks(prior[0].sum(), size, share, rng, most)
    table = np.arange(size * n_classifiers).reshape(size, n_classifiers)
    cells = _cells_of_sticks(sticks.shape[::-1], prior, rng)
    place = [table[:, index] * classes**2 + cell for index, cell in enumerate(cells)]
    # The remaining mass has common row totals, which each classifier splits independently.
    rows = left[:, None] * dirichlet.draw(prior[0].sum(-1), size, rng)
    place_of_rest, gammas = dirichlet.large_gammas(prior, size, rng)
    row = place_of_rest // classes
    draw, actual = row // (n_classifiers * classes), row % classes
    rest = gammas / np.bincount(row, gammas)[row] * rows[draw, actual]
    mass = [sticks.T] * n_classifiers
    return (
        np.concatenate([*(each.ravel() for each in place), place_of_rest]),
        np.concatenate([*(each.ravel() for each in mass), rest]),
    )


def draw_hits(
    rows: np.ndarray,
    chance: np.ndarray,
    lead: tuple[int, ...],
    share: float,
    rng: np.random.Generator,
) -> np.ndarray | None:
    """
    Return draws of the share of the prior mass in which an event occurs, for each classifier.

    The event is either a correct or a wrong prediction. The remaining mass, about a millionth of
    the posterior mass, is added to the last stick.

    Parameters
    ----------
    rows : ndarray, shape (C,)
        Prior pseudo-counts of the classes of the measure.
    chance : ndarray, shape (C, J)
        Prior probability of the event for an example of each class.
    lead, share, rng
        As in `draw_prior`.

    Returns
    -------
    ndarray, shape (*lead, J), or None
        None if the largest number of sticks is reached.
    """
    sticks, left = _break_sticks(rows.sum(), int(np.prod(lead)), share, rng, _MOST_STICKS)
    if sticks.shape[1] == _MOST_STICKS:
        return None
    sticks[:, -1] += left
    hits = np.empty((len(sticks), chance.shape[1]))
    step = max(1, _CHUNK // (sticks.shape[1] * chance.shape[1]))
    for block in (slice(start, start + step) for start in range(0, len(sticks), step)):
        weights = sticks[block]
        actual = rng.choice(len(rows), weights.shape, p=rows / rows.sum())
        hits[block] = (weights[:, None] @ _bernoulli(chance, actual, rng))[:, 0]
    return hits.reshape(*lead, -1)


def _bernoulli(chance, row, rng):
    """
    Return Bernoulli draws (*row.shape, J) with probabilities ``chance[row]``.

    `chance` has the shape (C, J). One random byte decides 255 of 256 events, and the others need a
    further uniform number.
    """
    fraction, byte = np.modf(256 * chance)
    byte, size = byte.astype(np.uint8)[row], row.size * chance.shape[1]
    words = rng.integers(0, 2**64 - 1, -(-size // 8), np.uint64, endpoint=True)
    uniform = words.view(np.uint8)[:size].reshape(byte.shape)
    events = uniform < byte
    if fraction.any():
        undecided = np.nonzero(uniform == byte)
        further = rng.random(len(undecided[0]))
        events[undecided] = further < fraction[row[undecided[:-1]], undecided[-1]]
    return events


def _break_sticks(weight, size, share, rng, most):
    """Return the lengths of the sticks (size, number), and the remaining mass (size,)."""
    number = (log(_REST) - log(share)) / log(weight / (1 + weight))
    sticks = rng.beta(1, weight, (int(np.clip(np.ceil(number), 1, most)), size)).T
    left = np.cumprod(1 - sticks, axis=1)
    sticks[:, 1:] *= left[:, :-1]
    return sticks, left[:, -1]


def _matrices_of_sticks(sticks, prior, rng):
    """Draw the joint cell of each stick (number, size), and return matrices (size, J, C, C)."""
    size = sticks.shape[1]
    n_classifiers, classes, _ = prior.shape
    total = np.empty((size, n_classifiers, classes**2))
    first_cell = np.arange(size) * classes**2
    for index, cell in enumerate(_cells_of_sticks(sticks.shape, prior, rng)):
        mass = np.bincount((first_cell + cell).ravel(), sticks.ravel(), size * classes**2)
        total[:, index] = mass.reshape(size, -1)
    return total.reshape(size, n_classifiers, classes, classes)


def _cells_of_sticks(shape, prior, rng):
    """Yield, for each classifier, the cell of each stick (0 to C**2 - 1)."""
    classes, rows = prior.shape[-1], prior[0].sum(-1)
    actual = rng.choice(classes, shape, p=rows / rows.sum())
    edges = np.cumsum(prior, axis=-1)
    edges = edges / np.where(edges[..., -1:] > 0, edges[..., -1:], 1)
    for of_classifier in edges:
        uniform, cell = rng.random(shape), actual * classes
        for edge in of_classifier[:, :-1].T:
            cell += uniform > edge[actual]
        yield cell


def _independent_matrices(prior, size, rng):
    """Return matrices with common row totals, which each classifier splits independently."""
    possible = prior[0].sum(-1) > 0  # no actual class is an abstention
    total = np.zeros((size, *prior.shape))
    rows = dirichlet.draw(prior[0, possible].sum(-1), size, rng)
    total[:, :, possible] = rows[:, None, :, None] * dirichlet.draw(prior[:, possible], size, rng)
    return total
