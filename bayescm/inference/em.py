r"""
Expectation-maximisation (EM) for mixtures of known components and for latent classes.

**Known components** (`mixture_weights`). There are :math:`n_d` observations of type d, which have
probability :math:`L_{dm}` under component m. The weights w of the components, with :math:`a_m`
pseudo-observations, maximise

.. math:: \sum_d n_d \log \sum_m w_m L_{dm} + \sum_m a_m \log w_m

by repeating :math:`w_m \leftarrow \bigl(a_m + \sum_d n_d \, w_m L_{dm} / \sum_k w_k L_{dk}\bigr) /
(\sum_k a_k + \sum_d n_d)`.

**Latent classes** (`latent_class`; Dawid & Skene 1979). An example of class c is labelled j by
rater r with probability :math:`\theta_{rcj}`, independently of the other raters. It belongs to
class c with probability :math:`\pi_{gc}` in population g. Given the number :math:`v_{rpj}` of
labels j by rater r in pattern p, the expectation step is

.. math:: t_{pc} \propto \pi_{g(p) c} \prod_{r, j} \theta_{rcj}^{v_{rpj}}.

The maximisation step counts the examples of each class, weighted by t, and adds pseudo-counts.

References
----------
Dempster, A. P., Laird, N. M. & Rubin, D. B. (1977). Maximum likelihood from incomplete data via the
EM algorithm. Journal of the Royal Statistical Society B 39, 1-38.
doi:10.1111/j.2517-6161.1977.tb01600.x

Dawid, A. P. & Skene, A. M. (1979). Maximum likelihood estimation of observer error-rates using the
EM algorithm. Applied Statistics 28, 20-28. doi:10.2307/2346806
"""

from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

_STEPS = 200  # maximum number of steps of `latent_class`
_TOLERANCE = 1e-9  # convergence tolerance for class probabilities


def mixture_weights(
    likelihood: np.ndarray, counts: np.ndarray, pseudo_counts: ArrayLike = 0.0, *, steps: int
) -> np.ndarray:
    """
    Return the weights (..., M) of known components that maximise the posterior density.

    Parameters
    ----------
    likelihood : ndarray, shape ([...], D, M)
        Likelihood of each type of observation under each component. Its precision is used
        throughout.
    counts : ndarray, shape (..., D)
        Number of observations of each type.
    pseudo_counts : array_like, broadcasts against (..., M)
        Pseudo-observations of each component.
    steps : int
        Number of steps. Each step requires two matrix products, and the error decreases
        geometrically.

    Returns
    -------
    ndarray, shape (..., M)
        Weights, which sum to 1. They are equal if there are neither observations nor pseudo-counts.

    Examples
    --------
    >>> coins = np.array([[0.9, 0.2], [0.1, 0.8]])  # heads and tails of two coins
    >>> mixture_weights(coins, np.array([55.0, 45.0]), steps=200).round(3)
    array([0.5, 0.5])
    """
    precision, components = likelihood.dtype, likelihood.shape[-1]
    pseudo_counts = np.broadcast_to(pseudo_counts, (*counts.shape[:-1], components))
    total = counts.sum(-1, keepdims=True) + pseudo_counts.sum(-1, keepdims=True)
    shares, prior = (
        (number / np.where(total > 0, total, 1)).astype(precision)
        for number in (counts, pseudo_counts)
    )
    transposed = np.ascontiguousarray(likelihood.swapaxes(-1, -2))
    batched = likelihood.ndim > 2
    product = partial(np.einsum, "...i,...ij->...j") if batched else np.matmul
    weights = np.full(prior.shape, 1 / components, precision)
    least = np.finfo(precision).tiny
    for _ in range(steps):
        ratio = shares / np.maximum(product(weights, transposed), least)
        weights = weights * product(ratio, likelihood) + prior
    weights = np.where(total > 0, weights, 1)
    return weights / weights.sum(-1, keepdims=True, dtype=float)


def latent_class(
    votes: np.ndarray,
    counts: np.ndarray,
    start: np.ndarray,
    pseudo_counts: ArrayLike = 0.0,
    *,
    possible: np.ndarray | None = None,
    group: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the most probable prevalence of latent classes and response rates of raters.

    Parameters
    ----------
    votes : ndarray, shape (R, P, J)
        Number of times that each rater gave each label in each pattern.
    counts : ndarray, shape (P,)
        Number of examples with each pattern.
    start : ndarray, shape (P, C)
        Class probabilities of each pattern at the start.
    pseudo_counts : array_like, broadcasts against (R, C, J)
        Pseudo-counts of each label given the class.
    possible : ndarray of bool, shape (P, C), optional
        Possible classes of each pattern. By default all classes.
    group : ndarray of int, shape (P,), optional
        Population of each pattern, from 0. By default there is one population.

    Returns
    -------
    prevalence : ndarray, shape (G, C)
    rates : ndarray, shape (R, C, J)
    """
    group = np.zeros(len(counts), int) if group is None else group
    member = np.eye(group.max() + 1)[group] * counts[:, None]  # (P, G)
    truth = start
    for _ in range(_STEPS):
        prevalence = member.T @ truth / member.sum(0)[:, None]
        rates = np.einsum("n,nc,rnj->rcj", counts, truth, votes) + pseudo_counts
        rates = np.maximum(rates, 1e-9)
        rates = rates / rates.sum(-1, keepdims=True)
        logs = log_joint(prevalence[None], log_likelihood(rates[None], votes), possible, group)
        expected = softmax(logs[0], axis=-1)
        if np.abs(expected - truth).max() < _TOLERANCE:
            break
        truth = expected
    return prevalence, rates


def log_likelihood(rates: np.ndarray, votes: np.ndarray) -> np.ndarray:
    """
    Return the log probability (S, P, C) of every pattern of votes given the class.

    Parameters
    ----------
    rates : ndarray, shape (S, R, C, J)
    votes : ndarray, shape (R, P, J)
    """
    raters, patterns, answers = votes.shape
    logs = np.log(np.maximum(rates, 1e-300)).swapaxes(1, 2)
    flat = logs.reshape(len(rates), -1, raters * answers)
    terms = flat @ votes.transpose(0, 2, 1).reshape(raters * answers, patterns)
    return terms.swapaxes(1, 2)


def log_joint(
    prevalence: np.ndarray,
    likelihood: np.ndarray,
    possible: np.ndarray | None,
    group: np.ndarray,
) -> np.ndarray:
    """
    Return the joint log probability (S, P, C) of every pattern and class.

    Parameters
    ----------
    prevalence : ndarray, shape (S, G, C)
    likelihood : ndarray, shape (S, P, C)
        See `log_likelihood`.
    possible, group
        As in `latent_class`.
    """
    logs = likelihood + np.log(np.maximum(prevalence, 1e-300))[:, group]
    return logs if possible is None else np.where(possible, logs, -np.inf)
