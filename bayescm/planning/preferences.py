r"""
Plan votes: how many are needed to estimate a win rate, and on which pairs.

The votes so far determine the precision matrix H of the strengths
(`bayescm.posteriors.preferences`) at the most probable spread. One vote on the pair (i, j), shown
in both orders equally often, adds the information

.. math::

    w_{ij} \, (e_i - e_j)(e_i - e_j)', \qquad
    w_{ij} = \frac{p_L + p_R - (p_L - p_R)^2}{4}.

The interval of the win rate w of i over j is approximated by the interval of a normal distribution
with standard deviation :math:`|w'| \sqrt{(e_i - e_j)' H^{-1} (e_i - e_j)}`. Here w' is the
derivative of w with respect to the difference of the strengths.

If votes are clustered, the variance of a difference is multiplied by its design effect, which is
the sandwich variance divided by the variance for independent votes. Further votes are assumed to
come in similar clusters.

Votes are allocated batch by batch to the pair that reduces the variance most. This is the variance
of the requested difference, or the mean of the variances of all pairwise differences.
"""

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy.optimize import brentq
from scipy.special import ndtri

from bayescm.evidence.preferences import as_preferences
from bayescm.posteriors.preferences import FIRST, SPREAD, TIES, Preferences, preferences
from bayescm.validate import check_number, check_prob, check_whole, fail, suggest

# Number of batches for the allocation. With twice as many, widths differ by less than 1%.
_BATCHES = 100
# Largest number of votes in a plan; nobody will collect more.
_MOST = 10**8
# Half the step of the numerical derivative of a win rate with respect to a strength.
_STEP = 1e-4
_DESIGNS = ("pairs as so far", "all pairs equally", "best pairs")


class Pilot(NamedTuple):
    """
    Summary of the votes so far.

    Attributes
    ----------
    posterior : Preferences
    precision : ndarray, shape (p, p)
        Precision of the strengths and the other coefficients, at their mode.
    information : ndarray, shape (K, K)
        Information of one vote on each pair, w, with 0 on the diagonal.
    slope : ndarray, shape (K, K)
        Derivative of the win rate of row over column with respect to the strength of the row.
    effect : ndarray, shape (K, K)
        Factor of the variance of a difference due to clusters (1 without clusters).
    """

    posterior: Preferences
    precision: np.ndarray
    information: np.ndarray
    slope: np.ndarray
    effect: np.ndarray

    def variance(self, precision: np.ndarray, first: int, second: int) -> float:
        """Return the variance of the difference between two strengths."""
        contrast = np.zeros(len(precision))
        contrast[[first, second]] = 1, -1
        return float(contrast @ np.linalg.solve(precision, contrast))

    def width(self, precision: np.ndarray, first: int, second: int, prob: float) -> float:
        """Return the expected width of the interval of the win rate of two systems."""
        variance = self.effect[first, second] * self.variance(precision, first, second)
        sd = self.slope[first, second] * np.sqrt(variance)
        return float(2 * ndtri((1 + prob) / 2) * sd)

    def added(self, shares: np.ndarray) -> np.ndarray:
        """Return the information (p, p) of one vote, given the shares (K, K) of the pairs."""
        number = len(shares)
        weight = shares * self.information
        weight = weight + weight.T
        added = np.zeros_like(self.precision)
        added[:number, :number] = np.diag(weight.sum(axis=1)) - weight
        return added


def _pilot(votes, prior) -> Pilot:
    votes = as_preferences(votes)
    posterior = preferences(votes, **prior)
    mode, scale = posterior.mode
    _, precision = posterior._derivatives(scale)(mode)
    strengths = posterior.strengths_of(mode[None])
    number = len(posterior.names)
    information, slope = np.zeros((2, number, number))
    values = strengths.strength[0]
    tie, first = float(strengths.tie[0]), float(strengths.first[0])
    difference = values[:, None] - values
    for move in (first, -first):
        lead, tied = _lead_and_tie(difference + move, tie)
        information += (1 - tied - lead**2) / 8
        ahead, _ = _lead_and_tie(difference + move + _STEP, tie)
        behind, _ = _lead_and_tie(difference + move - _STEP, tie)
        slope += (ahead - behind) / (2 * _STEP) / 4
    np.fill_diagonal(information, 0)
    effect = np.ones((number, number))
    if not posterior.has_model:
        covariance = np.linalg.inv(precision)
        sandwich = covariance @ posterior.information_of_clusters(mode, scale) @ covariance
        alone, together = (_variances(each[:number, :number]) for each in (covariance, sandwich))
        np.divide(together, alone, out=effect, where=alone > 0)
    return Pilot(posterior, precision, information, slope, effect)


def _variances(covariance):
    """Return the variances of all differences, (K, K), given a covariance matrix."""
    diagonal = np.diag(covariance)
    return diagonal[:, None] + diagonal - 2 * covariance


def _lead_and_tie(eta, tie):
    """Return p_L - p_R, which is twice the win rate minus 1, and p_T."""
    small = np.exp(-np.abs(eta) / 2)
    total = 1 + small**2 + tie * small
    return np.sign(eta) * (1 - small**2) / total, tie * small / total


def plan_preferences(
    votes: xr.Dataset,
    *,
    difference: Sequence[str],
    width: float,
    prob: float = 0.95,
    spread: float = SPREAD,
    first: float = FIRST,
    ties: float = TIES,
) -> pd.DataFrame:
    """
    Return the number of further votes that gives an interval of a required width.

    Parameters
    ----------
    votes : Dataset
        Votes so far, from `bayescm.from_preferences`, with or without clusters.
    difference : sequence of two str
        The two systems.
    width : float
        Required width of the interval of the win rate of the first over the second, such as 0.1.
    prob : float in (0, 1), default 0.95
        Probability of the interval.
    spread, first, ties : float
        Priors. See `bayescm.models.preferences`.

    Returns
    -------
    DataFrame
        One row per design: pairs in the current proportions, all pairs equally, and the optimal
        allocation. Columns are ``design``, ``more_votes``, ``width`` (expected with these votes)
        and ``width_now``.

    Raises
    ------
    ValueError
        If a system is unknown, if the width is not between 0 and 1, or if there are fewer than five
        clusters.

    Examples
    --------
    >>> import bayescm as bcm
    >>> votes = bcm.from_preferences([[0, 14, 9], [6, 0, 8], [5, 7, 0]])
    >>> plan = bcm.preferences.plan_preferences(votes, difference=("0", "1"), width=0.2)
    >>> plan["design"].tolist()
    ['pairs as so far', 'all pairs equally', 'best pairs']
    >>> bool(plan["more_votes"][2] < plan["more_votes"][0])
    True
    """
    check_prob(prob)
    if not check_number("width", width, 0, usual=0.1) < 1:
        raise fail(
            "`width` of a win rate must be between 0 and 1", width, "", "pass e.g. `width=0.1`"
        )
    pilot = _pilot(votes, {"spread": spread, "first": first, "ties": ties})
    target = _places(pilot.posterior.names, difference)
    now = pilot.width(pilot.precision, *target, prob)
    rows = []
    for design in _DESIGNS:
        expected = partial(_expected_width, pilot, design, target, prob)
        number = 0 if now <= width else _fewest(expected, width)
        row = {"design": design, "more_votes": number}
        rows.append(row | {"width": expected(number or 0), "width_now": now})
    return pd.DataFrame(rows)


def _expected_width(pilot, design, target, prob, number):
    """Return the expected width of the interval of a difference after further votes."""
    return pilot.width(_precision_after(pilot, number, design, target), *target, prob)


def _fewest(expected, width):
    """Return the smallest number of votes that reaches the expected width."""
    high = 16
    while expected(high) > width:
        high *= 4
        if high > _MOST:
            raise fail(
                f"The plan needs more than {_MOST:,} votes",
                ...,
                "",
                "choose a wider interval, or other systems",
            )
    if expected(1) <= width:
        return 1
    return int(np.ceil(brentq(lambda number: expected(number) - width, 1, high, xtol=0.5)))


def plan_pairs(
    votes: xr.Dataset,
    *,
    budget: int,
    difference: Sequence[str] | None = None,
    prob: float = 0.95,
    spread: float = SPREAD,
    first: float = FIRST,
    ties: float = TIES,
) -> pd.DataFrame:
    """
    Return the allocation of further votes to the most informative pairs.

    Parameters
    ----------
    votes : Dataset
        Votes so far, from `bayescm.from_preferences`, with or without clusters.
    budget : int
        Number of further votes.
    difference : sequence of two str, optional
        The two systems whose win rate is of interest. By default the average over all pairs.
    prob : float in (0, 1), default 0.95
        Probability of the intervals whose width is reported.
    spread, first, ties : float
        Priors. See `bayescm.models.preferences`.

    Returns
    -------
    DataFrame
        One row per pair that gets votes, in decreasing order: ``first``, ``second``, ``votes``, and
        the interval widths ``width_now`` and ``width`` of the win rate of this pair. ``attrs``
        contains ``width_now`` and ``width`` of the difference, or their means over all pairs.

    Raises
    ------
    ValueError
        If the budget is not a positive integer, if a system is unknown, or if there are fewer than
        five clusters.

    Examples
    --------
    >>> import bayescm as bcm
    >>> votes = bcm.from_preferences([[0, 14, 9], [6, 0, 8], [5, 7, 0]])
    >>> int(bcm.preferences.plan_pairs(votes, budget=50)["votes"].sum())
    50
    """
    check_prob(prob), check_whole("budget", budget, 1, "votes", 1000)
    pilot = _pilot(votes, {"spread": spread, "first": first, "ties": ties})
    names = pilot.posterior.names
    target = None if difference is None else _places(names, difference)
    allocated = _allocated(pilot, budget, target)
    precision = pilot.precision + pilot.added(allocated)
    chosen = np.argwhere(allocated > 0)
    chosen = chosen[np.argsort(-allocated[tuple(chosen.T)], kind="stable")]
    rows = [
        {
            "first": names[i],
            "second": names[j],
            "votes": int(allocated[i, j]),
            "width_now": pilot.width(pilot.precision, i, j, prob),
            "width": pilot.width(precision, i, j, prob),
        }
        for i, j in chosen
    ]
    table = pd.DataFrame(rows)
    pairs = [target] if target else [*combinations(range(len(names)), 2)]
    for name, each in (("width_now", pilot.precision), ("width", precision)):
        table.attrs[name] = float(np.mean([pilot.width(each, i, j, prob) for i, j in pairs]))
    return table


def _places(names: list[str], difference: Sequence[str]) -> tuple[int, int]:
    """Return the indices of two systems."""
    if isinstance(difference, str) or len(difference) != 2:
        raise fail(
            "`difference` must name two systems",
            difference,
            "",
            'pass e.g. `difference=("a", "b")`',
        )
    for name in difference:
        if str(name) not in names:
            raise fail("Unknown system {}", name, names, suggest(str(name), names))
    first, second = (names.index(str(name)) for name in difference)
    if first == second:
        raise fail(
            "`difference` must name two different systems", difference, "", "name another system"
        )
    return first, second


def _precision_after(pilot, number, design, target):
    """Return the precision after further votes, according to a design."""
    if design == "best pairs":
        return pilot.precision + pilot.added(_allocated(pilot, number, target, whole=False))
    size = len(pilot.information)
    shares = np.triu(np.ones((size, size)), 1)
    if design == "pairs as so far":
        posterior = pilot.posterior
        shares = np.zeros((size, size))
        np.add.at(shares, (posterior.left, posterior.right), posterior.votes.sum(axis=1))
    return pilot.precision + number * pilot.added(shares / shares.sum())


def _allocated(pilot, budget, target, whole=True):
    """Return the number of votes on each pair, (K, K) above the diagonal, allocated in batches."""
    number = len(pilot.information)
    allocated = np.zeros((number, number))
    precision = pilot.precision.copy()
    centre = np.eye(number) - 1 / number
    batches = min(_BATCHES, budget) if whole else _BATCHES
    sizes = np.full(batches, budget / batches)
    if whole:
        sizes = np.diff(np.round(np.linspace(0, budget, batches + 1)))
    upper = np.triu(np.ones((number, number), bool), 1)
    for size in sizes:
        covariance = np.linalg.inv(precision)[:number, :number]
        if target is None:
            loss = covariance @ centre @ covariance
        else:
            column = covariance[:, target[0]] - covariance[:, target[1]]
            loss = np.outer(column, column)
        # Reduction in variance by one vote on (i, j): (e_i - e_j)' loss (e_i - e_j) w.
        diagonal = np.diag(loss)
        gain = (diagonal[:, None] + diagonal - 2 * loss) * pilot.information
        i, j = np.unravel_index(np.argmax(np.where(upper, gain, -1)), gain.shape)
        allocated[i, j] += size
        weight = size * pilot.information[i, j]
        precision[[i, j], [i, j]] += weight
        precision[[i, j], [j, i]] -= weight
    return allocated
