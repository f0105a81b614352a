"""The population of forecasts and outcomes: the Bayesian bootstrap inside each class."""

import numpy as np

_GROUPS = 1024  # of each class, where the examples are many
_NEIGHBOURS = 64  # of each site


def grouped(
    probability: np.ndarray, outcome: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Put examples (n,) of one class and neighbouring forecasts together where they are many."""
    if len(outcome) <= 4 * _GROUPS:
        return probability, outcome, weight
    order = np.lexsort((probability, outcome))
    outcome, weight, probability = outcome[order], weight[order], probability[order]
    first = np.searchsorted(outcome, 1)
    rank = np.concatenate([np.arange(first), np.arange(len(outcome) - first)])
    size = np.where(outcome == 1, len(outcome) - first, first)
    place = (rank * _GROUPS // size + _GROUPS * outcome).astype(int)
    total = np.bincount(place, weight, 2 * _GROUPS)
    some = total > 0
    mean = np.bincount(place, weight * probability, 2 * _GROUPS)[some] / total[some]
    return mean, np.repeat([0.0, 1.0], _GROUPS)[some], total[some]


def neighbours(rows: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Put neighbouring forecasts (1, n) of one classifier together where they are many."""
    if len(rows) > 1 or len(weight) <= _NEIGHBOURS:
        return rows, weight
    order = np.argsort(rows[0], kind="stable")
    place = np.arange(len(order)) * _NEIGHBOURS // len(order)
    total = np.bincount(place, weight[order])
    return np.bincount(place, (weight * rows[0])[order])[None] / total, total


def draw_shares(
    outcome: np.ndarray,
    weight: np.ndarray,
    prevalence: np.ndarray,
    size: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """
    Draw the shares of units in the population.

    Parameters
    ----------
    outcome, weight : ndarray, shape (u,)
        The class of each unit, and how many examples it stands for.
    prevalence : ndarray, shape (size, C)
        Draws of the share of each class.

    Returns
    -------
    ndarray, shape (size, u)
        Each row adds up to 1, and those of a class to its share.
    """
    shares = draw_gammas(weight, size, rng)
    code = outcome.astype(int)
    shares *= (prevalence / (shares @ np.eye(prevalence.shape[1])[code]))[:, code]
    return shares


def draw_gammas(weight, size, rng):
    """Draw gamma variates (size, u) of shapes (u,); those of shape 1 are exponential, and quick."""
    one = weight == 1
    if one.sum() < len(weight) / 2:
        return rng.standard_gamma(weight, (size, len(weight)))
    drawn = rng.standard_exponential((size, len(weight)))
    drawn[:, ~one] = rng.standard_gamma(weight[~one], (size, (~one).sum()))
    return drawn
