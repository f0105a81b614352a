"""
Measures of the next test set, by enumeration of all that it may be, or by draws.

The next n examples have a share of positives, and a share of right answers among the positives and
among the negatives, that are unknown: each is a beta variable, so that each count of the next
confusion matrix is beta-binomial given the ones before.

References
----------
Caelen, O. (2017). A Bayesian interpretation of the confusion matrix. Annals of Mathematics and
Artificial Intelligence, 81, 429-450. doi:10.1007/s10472-017-9564-8 (algorithm 1)
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescm.direct.dirichlet_multinomial import DirichletMultinomial
from bayescm.direct.fixed_totals import FixedTotals
from bayescm.direct.hierarchical_folds import HierarchicalFolds
from bayescm.distributions.beta import PointMass
from bayescm.distributions.discrete import Discrete, Empirical, Stack
from bayescm.validate import fail

# Confusion matrices that are enumerated, for the whole batch: 200 examples make 1.4 million.
_MOST = 1_500_000


def predictive_distribution(posterior: Any, kernel: Callable, n: ArrayLike, draws: int, rng) -> Any:
    """
    Return the distribution of a measure of a future test set of n examples.

    Parameters
    ----------
    posterior
        From a function of `bayescm.direct`.
    kernel : Kernel
    n : int or array_like (...)
        Size of the test set, one for all or one for each member of the batch.
    draws : int
        How many test sets are drawn where there are too many to enumerate.
    rng : numpy.random.Generator

    Returns
    -------
    Discrete, Stack of these, or Empirical

    Raises
    ------
    ValueError
        Where the model has no theta of a next test set.

    Examples
    --------
    >>> from bayescm.direct import dirichlet_multinomial
    >>> from bayescm.measures.catalogue import resolve
    >>> posterior = dirichlet_multinomial([[30, 30], [30, 50]], concentration=0)
    >>> distribution = predictive_distribution(posterior, resolve("accuracy"), 10, 0, None)
    >>> distribution.how, round(float(distribution.mean()), 4)
    ('enumeration', 0.5714)
    """
    known = isinstance(posterior, (DirichletMultinomial, FixedTotals))
    if known and posterior.weights.shape[-1] == 2:
        batch = posterior.weights.shape[:-2]
        sizes = np.broadcast_to(np.asarray(n, int), batch)
        if special.comb(sizes + 3, 3).sum() <= _MOST:
            return _enumerated(posterior, kernel, sizes)
    theta = _next_theta(posterior, draws, rng)
    return Empirical(kernel(_next_counts(theta, np.asarray(n, int), rng)))


def _next_theta(posterior, draws, rng):
    drawn = posterior.draws(draws, rng)
    theta = drawn.get("theta_new", drawn.get("theta"))
    if theta is None:
        raise fail(
            f"{type(posterior).__name__} does not say what one next test set is of",
            "of='predictive'",
            "models with one theta, or a new one",
            "take model='hierarchical_folds' or 'pooled_folds'",
        )
    if not isinstance(posterior, HierarchicalFolds):
        return theta
    # The next test set is of one classifier: one of the training sets of equal weight.
    chosen = rng.integers(theta.shape[-3], size=theta.shape[:-3])
    return np.take_along_axis(theta, chosen[..., None, None, None], axis=-3)[..., 0, :, :]


def _next_counts(theta, n, rng):
    flat = theta.reshape(*theta.shape[:-2], -1)
    # Rounding may leave a sum just above 1, which the generator refuses.
    counts = rng.multinomial(np.broadcast_to(n, flat.shape[:-1]), flat / flat.sum(-1)[..., None])
    return counts.reshape(theta.shape)


def _enumerated(posterior, kernel, sizes):
    shares = _share_of_positives(posterior)
    distributions = np.empty(sizes.shape, dtype=object)
    for index in np.ndindex(sizes.shape):
        values, weights = _every_table(
            kernel, int(sizes[index]), posterior.weights[index], shares[index]
        )
        distributions[index] = Discrete.of(values, weights)
    return distributions[()] if not sizes.shape else Stack(distributions)


def _share_of_positives(posterior):
    """Return the beta parameters of the share, or the share and NaN where it is known."""
    rows = posterior.weights.sum(axis=-1)
    if isinstance(posterior, FixedTotals):
        distribution = posterior._prevalence()
        if isinstance(distribution, PointMass):
            return np.stack([distribution.at, np.full_like(distribution.at, np.nan)], axis=-1)
        return np.stack([distribution.a, distribution.b], axis=-1)
    return rows[..., ::-1]


def _every_table(kernel, n, weights, share):
    """Return the measure of every confusion matrix of n examples, and its probability."""
    positives = np.arange(n + 1)
    log_share = _log_share(positives, n, share)
    values, logs = [], []
    for k in positives:
        tp, tn = np.arange(k + 1)[:, None], np.arange(n - k + 1)[None, :]
        hits = _log_beta_binomial(tp, k, weights[1, 1], weights[1, 0])
        rejections = _log_beta_binomial(tn, n - k, weights[0, 0], weights[0, 1])
        cells = np.broadcast_arrays(tn, n - k - tn, k - tp, tp)
        values.append(np.stack(cells, axis=-1).reshape(-1, 2, 2))
        logs.append((log_share[k] + hits + rejections).ravel())
    return kernel(np.concatenate(values)), np.exp(np.concatenate(logs))


def _log_share(k, n, share):
    a, b = share
    if np.isnan(b):
        return _log_ways(k, n) + special.xlogy(k, a) + special.xlog1py(n - k, -a)
    return _log_beta_binomial(k, n, a, b)


def _log_beta_binomial(k, n, a, b):
    return _log_ways(k, n) + special.betaln(k + a, n - k + b) - special.betaln(a, b)


def _log_ways(k, n):
    return -np.log(n + 1) - special.betaln(k + 1, n - k + 1)
