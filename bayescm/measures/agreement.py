"""
Chance-corrected agreement between raters: Cohen's and Fleiss' kappa, AC1 and alpha.

All measures are functions of the distribution of label patterns over the examples. Examples with a
single label contribute only to the shares of the labels.

References
----------
Gwet, K. L. (2008). Computing inter-rater reliability and its variance in the presence of high
agreement. British Journal of Mathematical and Statistical Psychology 61, 29-48.
doi:10.1348/000711006X126600

Hayes, A. F., Krippendorff, K. (2007). Answering the call for a standard reliability measure for
coding data. Communication Methods and Measures 1, 77-89. doi:10.1080/19312450709336664
"""

from collections.abc import Callable

import numpy as np


class Labelled:
    """
    Frequencies of label patterns among examples.

    Parameters
    ----------
    votes : ndarray, shape (R, ..., P, C)
        Number of times each rater assigned each label, for every pattern.
    weight : ndarray, shape (..., P)
        Number of examples with each pattern, or its probability.
    sample : bool
        Whether the ratings are a finite sample. If so, the expected disagreement in Krippendorff's
        alpha refers to pairs of labels drawn without replacement.
    """

    def __init__(self, votes: np.ndarray, weight: np.ndarray, *, sample: bool = False):
        self.by_rater, self.weight, self.sample = votes, weight, sample
        self.votes = votes.sum(0)
        self.ratings = self.votes.sum(-1)

    @property
    def several(self) -> np.ndarray:
        """Weight of the examples with at least two labels."""
        return self.weight * (self.ratings > 1)

    @property
    def agreement(self) -> np.ndarray:
        """Probability that two labels of an example agree, shape (...)."""
        pairs = np.maximum(self.ratings * (self.ratings - 1), 1)
        same = (self.votes * (self.votes - 1)).sum(-1) / pairs
        return _ratio((self.several * same).sum(-1), self.several.sum(-1))

    @property
    def shares(self) -> np.ndarray:
        """Share of each label, with equal weight for each example, shape (..., C)."""
        one = self.votes / np.maximum(self.ratings, 1)[..., None]
        weight = self.weight * (self.ratings > 0)
        return _ratio((weight[..., None] * one).sum(-2), weight.sum(-1)[..., None])

    @property
    def coincidences(self) -> np.ndarray:
        """Coincidence matrix, with equal weight for each label, shape (..., C, C)."""
        others = self.several / np.maximum(self.ratings - 1, 1)
        pairs = np.einsum("...p,...pc,...pk->...ck", others, self.votes, self.votes)
        with_itself = (others[..., None] * self.votes).sum(-2)
        return pairs - with_itself[..., None] * np.eye(with_itself.shape[-1])


def _ratio(above, below):
    with np.errstate(divide="ignore", invalid="ignore"):
        return above / below


def _beyond(observed, chance):
    return _ratio(observed - chance, 1 - chance)


def observed_agreement(labelled: Labelled) -> np.ndarray:
    """Return the probability that two labels of an example agree."""
    return labelled.agreement


def fleiss_kappa(labelled: Labelled) -> np.ndarray:
    """Return Fleiss' kappa, with the chance agreement of two labels drawn from all labels."""
    return _beyond(labelled.agreement, (labelled.shares**2).sum(-1))


def gwet_ac1(labelled: Labelled) -> np.ndarray:
    """Return Gwet's AC1. Only labels of hard examples are assumed to agree by chance."""
    shares = labelled.shares
    chance = (shares * (1 - shares)).sum(-1) / (shares.shape[-1] - 1)
    return _beyond(labelled.agreement, chance)


def cohen_kappa(labelled: Labelled) -> np.ndarray:
    """Return Cohen's kappa of two raters, each with separate label shares."""
    first, second = (
        votes / np.maximum(votes.sum(-1, keepdims=True), 1) for votes in labelled.by_rater
    )
    table = np.einsum("...p,...pc,...pk->...ck", labelled.weight, first, second)
    table = _ratio(table, table.sum((-2, -1), keepdims=True))
    chance = (table.sum(-1) * table.sum(-2)).sum(-1)
    return _beyond(np.trace(table, axis1=-2, axis2=-1), chance)


def _alpha(distance: Callable) -> Callable:
    def alpha(labelled: Labelled) -> np.ndarray:
        coincidences = labelled.coincidences
        single = coincidences.sum(-1)
        number = single.sum(-1)
        distances = distance(single)
        expected = (single[..., :, None] * single[..., None, :] * distances).sum((-2, -1))
        expected = _ratio(expected, number - labelled.sample)
        return 1 - _ratio((coincidences * distances).sum((-2, -1)), expected)

    return alpha


def _nominal(single):
    return 1 - np.eye(single.shape[-1])


def _interval(single):
    rank = np.arange(single.shape[-1])
    return (rank[:, None] - rank) ** 2.0


def _ordinal(single):
    # The distance is the squared number of labels between the midranks of two classes.
    middle = np.cumsum(single, axis=-1) - single / 2
    return (middle[..., :, None] - middle[..., None, :]) ** 2


# Measures for any number of raters, and for two raters.
AMONG_ALL: dict[str, Callable] = {
    "agreement": observed_agreement,
    "fleiss_kappa": fleiss_kappa,
    "gwet_ac1": gwet_ac1,
    "krippendorff_alpha": _alpha(_nominal),
    "krippendorff_alpha_ordinal": _alpha(_ordinal),
    "krippendorff_alpha_interval": _alpha(_interval),
}
OF_TWO: dict[str, Callable] = {"cohen_kappa": cohen_kappa}
EVERY = AMONG_ALL | OF_TWO
