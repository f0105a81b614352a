r"""
Predictive distributions of measures, by enumeration of all possible test sets.

Consider the next n examples of two classes. The share of positives, the recall and the specificity
are beta variables. Therefore, the counts of the next confusion matrix have the distributions

.. math::

    P &\sim \mathrm{BetaBinomial}(n, a, b), \\
    \mathrm{TP} \mid P &\sim \mathrm{BetaBinomial}(P, w_{11}, w_{10}), \\
    \mathrm{TN} \mid P &\sim \mathrm{BetaBinomial}(n - P, w_{00}, w_{01}),

with the Dirichlet parameters w of the rows. If the share of positives is known, P is binomial.

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

from bayescm.distributions.batches import Stack
from bayescm.distributions.empirical import Discrete
from bayescm.distributions.log_densities import log_beta_binomial, log_binomial
from bayescm.measures.measure import by_class, of_members

# Largest number of enumerated confusion matrices in a batch. There are 1.4 million for 200
# examples.
_MOST_TABLES = 1_500_000


def enumerated(
    measure: Callable, concentration: np.ndarray, share: np.ndarray, n: ArrayLike
) -> Any:
    """
    Return the distribution of a measure of a test set of n further examples.

    Parameters
    ----------
    measure : callable
    concentration : ndarray, shape (..., C, C)
        Dirichlet parameters of each row.
    share : ndarray, shape (..., 2)
        Beta parameters of the share of positives. If the share is known, the share and NaN.
    n : int or array_like (...)
        Size of the test set, one for all or one for each member of the batch.

    Returns
    -------
    Discrete, Stack of these, or None
        None if there are more than two classes, if the measure has one value per class, or if there
        are too many confusion matrices to enumerate.
    """
    sizes = np.broadcast_to(np.asarray(n, int), concentration.shape[:-2])
    one_number = not by_class(measure, concentration.shape[-1])
    if (
        concentration.shape[-1] > 2
        or not one_number
        or special.comb(sizes + 3, 3).sum() > _MOST_TABLES
    ):
        return None
    distributions = np.empty(sizes.shape, dtype=object)
    for number, index in enumerate(np.ndindex(sizes.shape)):
        of_member = of_members(measure, number)
        tables = _enumerate_tables(of_member, int(sizes[index]), concentration[index], share[index])
        distributions[index] = Discrete.of(*tables)
    return distributions[()] if not sizes.shape else Stack(distributions)


def _enumerate_tables(measure, n, concentration, share):
    """Return the measure and probability of each confusion matrix of n examples."""
    positives = np.arange(n + 1)
    log_positives = _log_positives(positives, n, share)
    values, logs = [], []
    for k in positives:
        tp, tn = np.arange(k + 1)[:, None], np.arange(n - k + 1)[None, :]
        hits = log_beta_binomial(tp, k, concentration[1, 1], concentration[1, 0])
        rejections = log_beta_binomial(tn, n - k, concentration[0, 0], concentration[0, 1])
        cells = np.broadcast_arrays(tn, n - k - tn, k - tp, tp)
        values.append(np.stack(cells, axis=-1).reshape(-1, 2, 2))
        logs.append((log_positives[k] + hits + rejections).ravel())
    return measure(np.concatenate(values)), np.exp(np.concatenate(logs))


def _log_positives(k, n, share):
    a, b = share
    if np.isnan(b):
        return log_binomial(k, n, a)
    return log_beta_binomial(k, n, a, b)
