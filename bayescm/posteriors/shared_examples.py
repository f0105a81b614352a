r"""
Joint draws of measures of classifiers that forecast or score the same examples.

The classifiers share the bootstrap weights of the examples
(`bayescm.inference.bayesian_bootstrap`). These weights ignore unobserved disagreement, so that the
difference between two classifiers that differ in few examples would look too certain. As for item
scores, two shared pseudo-examples represent this disagreement. The value of an example for a
measure :math:`T_k` of classifier k is

.. math:: v_{ik} = T_k + (n + 1) \, (T_k^{+i} - T_k),

where :math:`T_k^{+i}` is the measure after a copy of example i is added to the sample (Tukey's
sensitivity curve). If the measure is a mean of losses, this is the loss of the example. The
pseudo-examples have the weights :math:`h_j`. In them, classifier k has the values :math:`u_{jk}`,
sampled from the values of the examples and within their range
(`bayescm.inference.bayesian_bootstrap.draw_disagreement`). A draw :math:`M_k` of the measure
becomes

.. math:: M'_k = \frac{n M_k + \sum_j h_j u_{jk}}{n + \sum_j h_j}.

Only the order of the draws is taken from :math:`M'` (`bayescm.inference.iman_conover`). The
marginal distribution of a classifier therefore does not depend on the other classifiers.

References
----------
Tukey, J. W. (1977). Exploratory Data Analysis. Addison-Wesley.

Hampel, F. R. (1974). The influence curve and its role in robust estimation. Journal of the American
Statistical Association 69, 383-393. doi:10.1080/01621459.1974.10482962
"""

from collections.abc import Sequence

import numpy as np

from bayescm.inference.bayesian_bootstrap import Disagreement, draw_disagreement
from bayescm.inference.iman_conover import iman_conover

_WEIGHT = 0.5  # gamma shape of the weight of each pseudo-example, as for item scores
# Largest number of examples whose values are computed. Half of them are the examples in which the
# classifiers differ most.
_MOST_EXAMPLES = 400
# Limit on the number of chosen examples times the number of all examples, which is the size of
# `weights`. If there are more than ten examples, at least ten are chosen.
_MOST_NUMBERS = 4e6
_FEWEST_EXAMPLES = 10


class SharedExamples:
    """
    Subset of the examples, from which the values of pseudo-examples are sampled.

    Parameters
    ----------
    rows : sequence of ndarray, shape (K, ..., n) each
        Scores of the classifiers, on one or more scales. The subset includes the examples with the
        largest differences on each scale.
    weight : ndarray, shape (n,)
        Number of examples that each row represents.
    """

    def __init__(self, rows: Sequence[np.ndarray], weight: np.ndarray):
        self.weight = weight
        self.index = _chosen(rows, len(weight))

    def weights(self) -> np.ndarray:
        """Return weights (1 + m, n): of the sample, then with each chosen example added again."""
        weights = np.tile(self.weight, (1 + len(self.index), 1))
        weights[np.arange(len(self.index)) + 1, self.index] += 1
        return weights

    def disagreement(self, classifiers: int, size: int, rng: np.random.Generator) -> Disagreement:
        """Return draws of the pseudo-examples, which all measures share."""
        return draw_disagreement(classifiers, self.weight[self.index], _WEIGHT, size, rng)

    def moved(self, draws: np.ndarray, values: np.ndarray, pseudo: Disagreement) -> np.ndarray:
        """
        Return draws (S, K) of a measure after the pseudo-examples are added.

        Parameters
        ----------
        draws : ndarray, shape (S, K)
            Draws of the measure without the pseudo-examples.
        values : ndarray, shape (1 + m, K)
            The measure at each row of `weights`.
        pseudo : Disagreement
            From `disagreement`.
        """
        total = self.weight.sum()
        of_example = (values[0] + (total + 1) * (values[1:] - values[0])).T
        of_example = np.where(np.isfinite(of_example), of_example, np.nan)
        if np.isnan(of_example).all(axis=1).any():
            return draws  # the effect of single examples on the measure is unknown
        low, high = np.nanmin(of_example), np.nanmax(of_example)
        of_pseudo = pseudo.scores(of_example, low, high)
        sums = total * draws + (of_pseudo * pseudo.weight[:, None]).sum(axis=2)
        return sums / (total + pseudo.weight.sum(axis=1))[:, None]

    def joint(self, draws: np.ndarray, values: np.ndarray, pseudo: Disagreement) -> np.ndarray:
        """
        Return draws reordered so that they are joint draws of all classifiers.

        Parameters
        ----------
        draws : ndarray, shape (S, K, ...)
            Draws with shared weights of the examples. The elements of the last axes, such as the
            classes, are reordered separately.
        values : ndarray, shape (1 + m, K, ...)
            See `moved`.
        pseudo : Disagreement
            From `disagreement`.

        Returns
        -------
        ndarray, shape (S, K, ...)
            Every column is a permutation of the column in ``draws``.
        """
        joint = np.empty_like(draws)
        for place in np.ndindex(draws.shape[2:]):
            at = (slice(None), slice(None), *place)
            joint[at] = iman_conover(draws[at], self.moved(draws[at], values[at], pseudo))
        return joint


def _chosen(rows, number):
    """Return the indices of evenly spaced examples and of those with the largest differences."""
    most = int(min(_MOST_EXAMPLES, max(_MOST_NUMBERS / number, _FEWEST_EXAMPLES)))
    if number <= most:
        return np.arange(number)
    part = max(1, most // 2 // len(rows))
    chosen = [np.linspace(0, number - 1, most // 2).astype(int)]
    for scores in rows:
        distance = np.ptp(scores, axis=0).reshape(-1, number).max(axis=0)
        chosen.append(np.argsort(-distance, kind="stable")[:part])
    return np.unique(np.concatenate(chosen))
