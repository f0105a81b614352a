r"""
Measures of pairwise preferences: win rates, tie rates, ratings and position advantage.

These measures are functions of draws of the strengths s of the systems (`Strengths`). Let d be the
advantage of the system shown first and nu the tie parameter. A vote on i (first) and j is a win of
i, a win of j or a tie with probabilities proportional to

.. math:: e^{\eta / 2}, \; e^{-\eta / 2}, \; \nu, \qquad \eta = s_i - s_j + d.

The expected share of wins of i, with ties counting half, is

.. math:: w(\eta) = \frac{e^{\eta / 2} + \nu / 2}{e^{\eta / 2} + e^{-\eta / 2} + \nu}.

Measures of a pair are averaged over both orders. A system compared with itself is treated as a
contest between equal systems, with win rate 0.5.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bayescm.measures.measure import Measure
from bayescm.validate import fail, suggest

# Rating points per unit of log odds: 400 points correspond to odds of 10 to 1 (Elo).
POINTS = 400 / np.log(10)
# Rating of a system with mean strength.
MEAN_RATING = 1000.0


@dataclass(frozen=True, eq=False)
class Strengths:
    """
    Draws of the parameters of pairwise preferences between K systems.

    Attributes
    ----------
    strength : ndarray, shape (S, K)
        Log odds relative to the mean of all systems.
    first : ndarray, shape (S,)
        Advantage of the system shown first, in log odds (0 if the order is unknown).
    tie : ndarray, shape (S,)
        Tie parameter nu >= 0 (0 if there are no ties).

    Examples
    --------
    >>> equal = Strengths(np.array([[0.0, 0.0]]), np.zeros(1), np.ones(1))
    >>> equal.win_rate(0), equal.tie_rate(0).round(4)
    (array([[0.5, 0.5]]), array([[0.3333, 0.3333]]))
    """

    strength: np.ndarray
    first: np.ndarray
    tie: np.ndarray

    def win_rate(self, opponent: int, systems: slice = slice(None)) -> np.ndarray:
        """Return the win rates (S, K) of systems against one opponent, with ties counting half."""
        return 0.5 + self._mean_over_orders(_half_of_wins_over_losses, opponent, systems)

    def tie_rate(self, opponent: int, systems: slice = slice(None)) -> np.ndarray:
        """Return the tie rates (S, K) of systems against one opponent."""
        return self._mean_over_orders(_share_of_ties, opponent, systems)

    def _mean_over_orders(self, function, opponent, systems):
        difference = self.strength[:, systems] - self.strength[:, [opponent]]
        first, tie = self.first[:, None], self.tie[:, None]
        if not first.any():
            return function(difference, tie)
        return (function(difference + first, tie) + function(difference - first, tie)) / 2

    def against_all(self, rate: Callable[[int, slice], np.ndarray], swapped: int) -> np.ndarray:
        """
        Return the mean rate (S, K) of each system against all others.

        Parameters
        ----------
        rate : callable
            Method `win_rate` or `tie_rate`.
        swapped : {-1, 1}
            1 if the rate of j against i equals the rate of i against j, and -1 if the two rates are
            complementary.
        """
        number = self.strength.shape[1]
        total = np.zeros_like(self.strength)
        for opponent in range(number - 1):
            later = slice(opponent + 1, None)
            values = rate(opponent, later)
            total[:, later] += values
            total[:, opponent] += values.sum(1) if swapped == 1 else (1 - values).sum(1)
        return total / (number - 1)


@dataclass(frozen=True, eq=False)
class NextVotes(Strengths):
    """
    Rates in the next sample of votes, with votes on every pair.

    In each vote, either system is shown first with equal probability. A system has no votes against
    itself and keeps its expected rates.

    Attributes
    ----------
    number : int
        Number of votes on each pair.
    rng : numpy.random.Generator
    """

    number: int
    rng: np.random.Generator

    def win_rate(self, opponent: int, systems: slice = slice(None)) -> np.ndarray:
        """Return the shares (S, K) of the next votes that systems win, with ties counting half."""
        wins, ties = self._votes(opponent, systems)
        return self._but_itself((wins + ties / 2) / self.number, 0.5, opponent, systems)

    def tie_rate(self, opponent: int, systems: slice = slice(None)) -> np.ndarray:
        """Return the shares (S, K) of ties in the next votes."""
        _, ties = self._votes(opponent, systems)
        expected = super().tie_rate(opponent, slice(opponent, opponent + 1))[:, 0]
        return self._but_itself(ties / self.number, expected, opponent, systems)

    def _votes(self, opponent, systems):
        """Return the numbers of wins and ties, (S, K)."""
        won = super().win_rate(opponent, systems)
        tied = np.nan_to_num(super().tie_rate(opponent, systems))  # NaN if there are no ties
        ties = self.rng.binomial(self.number, tied)
        share = np.clip((won - tied / 2) / (1 - tied), 0, 1)
        return self.rng.binomial(self.number - ties, share), ties

    def _but_itself(self, values, expected, opponent, systems):
        places = np.arange(self.strength.shape[1])[systems]
        values[:, places == opponent] = np.reshape(expected, (-1, 1))
        return values


def _half_of_wins_over_losses(eta, tie):
    """Return half of the excess of wins over losses: w(eta) - 1/2."""
    small = np.exp(-np.abs(eta) / 2)  # at most 1, which avoids overflow
    return np.sign(eta) * (1 - small**2) / (1 + small**2 + tie * small) / 2


def _share_of_ties(eta, tie):
    """Return nu / (exp(eta/2) + exp(-eta/2) + nu), or NaN without a tie parameter."""
    small = np.exp(-np.abs(eta) / 2)
    tie = np.where(tie > 0, tie, np.nan)
    return tie * small / (1 + small**2 + tie * small)


@dataclass(frozen=True, eq=False, repr=False)
class PreferenceMeasure(Measure):
    """
    Measure of pairwise preferences.

    Attributes
    ----------
    of_each_system : bool
        Whether the measure has one value for each system, rather than a single value for all votes.
    of_pair : callable, optional
        Function of `Strengths` and the index of the opponent that returns values (S, K), for
        measures that may name an opponent, such as ``win_rate[b]``.
    opponent : str
        Name of the opponent, if any.
    of_votes : bool
        Whether the measure is a share of votes, and is therefore also defined for the next votes.
    """

    of_each_system: bool = True
    of_votes: bool = False
    of_pair: Callable[[Strengths, int], np.ndarray] | None = None
    opponent: str = ""

    def of_labels(self, labels: Sequence[str]) -> "PreferenceMeasure":
        """Return the measure against one system, which `bound` looks up by name."""
        text = ",".join(labels)
        if self.of_pair is None:
            todo = "leave the brackets out; win_rate[b] and tie_rate[b] name an opponent"
            raise fail(f"{self.__name__} has no opponent, so {{}} cannot be read", text, "", todo)
        name = f"{self.__name__}[{text}]"
        facts: dict[str, Any] = {"compute": _not_bound, "opponent": text, "__name__": name}
        return replace(self, canonical=f"{self.canonical}[{text}]", **facts)

    def bound(self, names: Sequence[Any]) -> "PreferenceMeasure":
        """Return the measure with the index of its opponent among the systems."""
        if not self.opponent or self.of_pair is None:
            return self
        texts = [str(name) for name in names]
        plain = {text.replace(", ", ","): place for place, text in enumerate(texts)}
        place = plain.get(self.opponent.replace(", ", ","))
        if place is None:
            todo = suggest(self.opponent, texts)
            raise fail("Unknown system {} to compare with", self.opponent, texts, todo)
        return replace(self, compute=partial(_against, of_pair=self.of_pair, opponent=place))


def _against(strengths, of_pair, opponent):
    return of_pair(strengths, opponent)


def _not_bound(strengths):
    raise fail(
        "A measure with the name of an opponent needs votes with names of systems",
        ...,
        "",
        "use the evidence of votes",
    )


def _measure(formula, **facts):
    """Convert a function of `Strengths` to a measure."""
    name = formula.__name__.lstrip("_")
    common: dict[str, Any] = {"unit": "votes", "takes": "preferences", "needs_positive": False}
    return PreferenceMeasure(formula, formula, name, canonical=name, **common, **facts)


def _win_rate(strengths):
    """Share of votes won against a random opponent, with ties counting half."""
    return strengths.against_all(strengths.win_rate, swapped=-1)


def _win_rate_of_pair(strengths, opponent):
    """Share of votes won against one opponent, with ties counting half."""
    return strengths.win_rate(opponent)


def _tie_rate(strengths):
    """Share of ties in votes against a random opponent."""
    return strengths.against_all(strengths.tie_rate, swapped=1)


def _tie_rate_of_pair(strengths, opponent):
    """Share of ties in votes against one opponent."""
    return strengths.tie_rate(opponent)


def _strength(strengths):
    """Log odds of winning a decided vote against a system of mean strength."""
    return strengths.strength


def _rating(strengths):
    """Elo rating: 1000 for mean strength, and 400 points for odds of 10 to 1 in decided votes."""
    return MEAN_RATING + POINTS * strengths.strength


def _position_advantage(strengths):
    """Share of decided votes between equal systems won by the system shown first."""
    return 1 / (1 + np.exp(-strengths.first))


win_rate = _measure(_win_rate, of_pair=_win_rate_of_pair, of_votes=True)
tie_rate = _measure(_tie_rate, of_pair=_tie_rate_of_pair, of_votes=True)
strength = _measure(_strength, range=(-np.inf, np.inf))
rating = _measure(_rating, range=(-np.inf, np.inf), aliases=("elo",), display_names={"elo": "Elo"})
position_advantage = _measure(_position_advantage, of_each_system=False)
# Measures whose label in brackets is an opponent instead of a class.
WITH_OPPONENT = (win_rate.__name__, tie_rate.__name__)


def is_against_itself(measure: str, system: object) -> bool:
    """
    Return True if a measure compares a system with itself, so that its value is known.

    Examples
    --------
    >>> is_against_itself("win_rate[a]", "a"), is_against_itself("win_rate[a]", "b")
    (True, False)
    """
    return measure in {f"{name}[{system}]" for name in WITH_OPPONENT}
