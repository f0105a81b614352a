"""Draws of several classifiers in a joint order, each classifier's own distribution left as it is.

The order is that of a bootstrap of what all of them saw, a Gaussian copula's without the Gaussian.

References
----------
Iman, R. L. & Conover, W. J. (1982). A distribution-free approach to inducing rank correlation among
input variables. Communications in Statistics - Simulation and Computation 11, 311-334.
doi:10.1080/03610918208812265
"""

from collections.abc import Sequence

import numpy as np


def coupled(drawn: Sequence[np.ndarray], seen: np.ndarray) -> list[np.ndarray]:
    """
    Put the draws of all classifiers but the first in the order that goes with the first one's.

    Parameters
    ----------
    drawn : sequence of ndarray, shape (S,)
        Draws of each classifier.
    seen : ndarray, shape (S, K)
        Values of all of them in common resamples.

    Returns
    -------
    list of ndarray, shape (S,)

    Examples
    --------
    >>> first, second = coupled([np.array([3, 1, 2]), np.array([5, 4, 6])], np.eye(3)[:, [0, 0]])
    >>> second.tolist()
    [6, 4, 5]
    """
    first, *others = drawn
    place, like = np.argsort(first, kind="stable"), np.argsort(seen[:, 0], kind="stable")
    found = [first]
    for each, values in zip(others, seen.T[1:], strict=True):
        rank = np.empty(len(each), int)
        rank[np.argsort(values, kind="stable")] = np.arange(len(each))
        joint = np.empty_like(each)
        joint[place] = np.sort(each)[rank[like]]
        found.append(joint)
    return found


def resampled(
    code: np.ndarray, weight: np.ndarray, what: tuple[str | int, int], rng: np.random.Generator
) -> np.ndarray:
    """
    Return shares (S, n) of the examples in resamples of the sites and, inside each, of these.

    Parameters
    ----------
    code, weight : ndarray, shape (n,)
        The site of each example, from 0, and how many examples it stands for.
    what : tuple of str or int, and int
        ``"population"``, sites like those at hand; ``"finite"``, the same sites; ``"new"``, one of
        them; or a site, beside which all others together are worth one example. And the number S
        of resamples.

    Examples
    --------
    >>> drawn = resampled(np.array([0, 0, 1]), np.ones(3), ("new", 4), np.random.default_rng(0))
    >>> sorted(set(drawn[:, 2].round(2).tolist()))
    [0.0, 1.0]
    """
    (of, size), number = what, code.max() + 1
    share = rng.standard_gamma(weight, (size, len(weight)))
    if isinstance(of, int):
        others = code != of
        share[:, others] /= max(weight[others].sum(), 1)
        return share / share.sum(axis=1, keepdims=True)
    sites = np.ones((size, number))
    if of == "new":
        sites = np.eye(number)[rng.integers(number, size=size)]
    elif of != "finite":
        sites = rng.standard_exponential((size, number))
    own = np.stack([share[:, code == site].sum(axis=1) for site in range(number)], axis=1)
    share *= (sites / own)[:, code]
    return share / share.sum(axis=1, keepdims=True)
