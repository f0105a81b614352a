"""How often labels are wrong: what was said of it, checked, and what truth is behind them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betainc, betaincinv, betaln, expit, xlogy

from bayescm.validate import fail, suggest

HALF = 0.5  # from here on labels say less than nothing
# Points of the grids of a stratum's share, the first of them by its powers of ten.
_COARSE, _FINE, _NEGLIGIBLE = 200, 256, 30.0
_TODO = "pass a rate such as 0.05, a Beta such as (2, 38), or one of these for each class"


@dataclass(frozen=True, eq=False)
class LabelErrors:
    """
    Rates of wrong labels.

    Attributes
    ----------
    known : ndarray, shape (C,)
        The rate of each class; NaN where it has a distribution.
    betas : ndarray, shape (U, 2)
        The parameters of the others, in order.
    spread : ndarray, shape (C, C)
        Which labels the wrong ones are.
    """

    known: np.ndarray
    betas: np.ndarray
    spread: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """The rates (C,), those with a distribution at the mean of it before the cut."""
        return self.filled(self.betas[:, 0] / self.betas.sum(-1))

    @property
    def least(self) -> np.ndarray:
        """The rates (C,), those with a distribution where it begins."""
        return self.filled(betaincinv(*self.betas.T, 0.025))

    def filled(self, rates: np.ndarray) -> np.ndarray:
        """Return all rates (..., C) from those that are not known, (..., U)."""
        known = np.broadcast_to(self.known, (*rates.shape[:-1], len(self.known))).copy()
        known[..., np.isnan(self.known)] = np.minimum(rates, HALF)
        return known

    def matrix(self, rates: np.ndarray) -> np.ndarray:
        """Return the probability (..., C, C) of every label given the true class."""
        right = np.eye(len(self.known))
        return right * (1 - rates[..., None]) + rates[..., None] * self.spread

    def log_prior(self, rates: np.ndarray) -> np.ndarray:
        """Return the log density (...) at the rates (..., U) that are not known."""
        a, b = self.betas.T
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = xlogy(a - 1, rates) + xlogy(b - 1, 1 - rates) - betaln(a, b)
        inside = np.where(rates < HALF, inside - np.log(betainc(a, b, HALF)), -np.inf)
        return inside.sum(-1)

    def draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the rates (size, U) that are not known from what was said of them."""
        a, b = self.betas.T
        return betaincinv(a, b, betainc(a, b, HALF) * rng.random((size, len(self.betas))))


def label_errors(given: Any, labels: list) -> LabelErrors:
    """
    Return rates of wrong labels from what a user passes.

    Parameters
    ----------
    given : float, tuple of two floats, or mapping of these by class
        Of a class also a mapping from wrong labels to rates.
    labels : list
        The classes, in order.

    Raises
    ------
    ValueError
        If a rate is not a number in [0, 1/2), or a class is unknown.
    """
    size = len(labels)
    known, betas = np.zeros(size), []
    spread = (1 - np.eye(size)) / (size - 1)
    if isinstance(given, Mapping):
        _check_classes(given, labels)
    for place, label in enumerate(labels):
        rate = given.get(label, 0.0) if isinstance(given, Mapping) else given
        if isinstance(rate, Mapping):
            _check_classes(rate, labels)
            parts = np.array([_rate(rate.get(each, 0.0)) for each in labels])
            if parts[place]:
                raise fail("a right label is no error", {label: rate}, "wrong labels", "drop it")
            known[place] = _rate(float(parts.sum()))
            spread[place] = parts / known[place] if known[place] else spread[place]
        elif isinstance(rate, tuple):
            betas.append(_beta(rate))
            known[place] = np.nan
        else:
            known[place] = _rate(rate)
    return LabelErrors(known, np.array(betas).reshape(-1, 2), spread)


def _check_classes(given, labels):
    for name in given:
        if name not in labels:
            what = "a label error of an unknown class"
            raise fail(what, name, labels, suggest(name, labels))


def _rate(value):
    number = isinstance(value, (int, float, np.integer, np.floating)) and np.ndim(value) == 0
    if isinstance(value, bool) or not number or not 0 <= value < HALF:
        raise fail("not a rate of wrong labels", value, "0 <= rate < 0.5", _TODO)
    return float(value)


def _beta(pair):
    numbers = len(pair) == 2 and all(isinstance(each, (int, float, np.number)) for each in pair)
    if not numbers or not all(0 < each < np.inf for each in pair):
        raise fail("not a Beta distribution of label errors", pair, "two numbers > 0", _TODO)
    if pair[0] >= pair[1]:
        said = f"a mean of {pair[0] / sum(pair):.2g}"
        raise fail("labels are wrong more often than right", said, "a mean below 0.5", _TODO)
    return tuple(map(float, pair))


class Shares:
    """
    The share of the second of two classes in each stratum, behind labels that may be wrong.

    In units of the prior distribution, in which it is uniform: a grid where the likelihood is not
    negligible, for any of the rates that may be.

    Parameters
    ----------
    known : ndarray, shape (K, 2)
        Labelled examples of each stratum.
    prior : ndarray, shape (K, 2)
    errors : ndarray, shape (S, 2, 2)
        Probabilities of labels given the truth, as they may be.
    size : int, optional
        Points of the grid.
    """

    def __init__(self, known: np.ndarray, prior: np.ndarray, errors: np.ndarray, size: int = _FINE):
        self.known, self._prior = known, (prior[:, 1], prior[:, 0])
        ends = 10.0 ** np.linspace(-15, np.log10(HALF), _COARSE)
        coarse = np.concatenate([[0], ends, 1 - ends[::-1], [1]])
        rough = self._log_likelihood(np.broadcast_to(coarse, (len(known), len(coarse))), errors)
        rough = (rough - rough.max(axis=-1, keepdims=True)).max(axis=0) > -_NEGLIGIBLE
        first = np.maximum(rough.argmax(-1) - 1, 0)
        last = np.minimum(len(coarse) - rough[:, ::-1].argmax(-1), len(coarse) - 1)
        self._low = betainc(*self._prior, coarse[first])
        self._length = np.maximum(betainc(*self._prior, coarse[last]) - self._low, 1e-300)
        self._middle = self._shares((np.arange(size) + 0.5) / size)
        self._edges = self._shares(np.arange(size + 1) / size)

    def _shares(self, parts):
        units = self._low[:, None] + self._length[:, None] * parts
        a, b = (each[:, None] for each in self._prior)
        return betaincinv(a, b, np.minimum(units, 1.0))

    def _log_likelihood(self, shares, errors):
        """Return the log likelihood (S, K, M) of shares (K, M)."""
        first, second = (errors[:, each, 1, None, None] for each in (0, 1))
        labelled = first + (second - first) * shares
        known = self.known[:, None]
        return xlogy(known[..., 1], labelled) + xlogy(known[..., 0], 1 - labelled)

    def log_marginal(self, errors: np.ndarray) -> np.ndarray:
        """Return the log probability (S,) of the labels at given rates of errors."""
        logs = self._log_likelihood(self._middle, errors)
        top = logs.max(-1)
        inside = np.log(np.exp(logs - top[..., None]).mean(-1)) + top
        return (inside + np.log(self._length)).sum(-1)

    def draw(self, errors: np.ndarray, each: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the shares, each of (S, each, K), at given rates of errors."""
        logs = self._log_likelihood(self._middle, errors)
        mass = np.exp(logs - logs.max(-1, keepdims=True))
        steps = np.cumsum(mass, axis=-1)
        place = _search(steps, rng.random((*steps.shape[:-1], each)))
        strata = np.arange(len(self.known))[:, None]
        low, high = self._edges[strata, place], self._edges[strata, place + 1]
        return (low + (high - low) * rng.random(place.shape)).swapaxes(-1, -2)


def _search(steps, uniform):
    """Return where (..., E) uniform numbers fall in the rising steps (..., M) of each row."""
    rows, size = steps.reshape(-1, steps.shape[-1]), steps.shape[-1]
    wanted = uniform.reshape(len(rows), -1) * rows[:, -1:]
    # One search for all rows: each is moved beyond the ones before.
    offset = np.concatenate([[0.0], np.cumsum(rows[:, -1])[:-1]])[:, None]
    place = np.searchsorted((rows + offset).ravel(), (wanted + offset).ravel())
    place = place - np.repeat(np.arange(len(rows)) * size, wanted.shape[1])
    return np.clip(place, 0, size - 1).reshape(uniform.shape)


def unit(points: np.ndarray) -> np.ndarray:
    """Return rates below one half from any numbers."""
    return HALF * expit(points)
