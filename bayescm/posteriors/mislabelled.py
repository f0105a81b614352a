"""
The direct sibling of `bayescm.models.mislabelled`: the truth behind labels that may be wrong.

Given the rates of errors the strata are independent, and of two classes each has a single unknown
share: a grid. Rates with a distribution are sampled by importance. Of more classes the true classes
and the shares are drawn in turn, in many short chains beside each other.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import betainc, betaincinv, betaln, expit, logit, xlogy

from bayescm.distributions import dirichlet
from bayescm.evidence.counts import abstains, is_outcomes, known_shares
from bayescm.evidence.outcomes import arrays, as_outcomes, tables_of
from bayescm.inference.importance import explore
from bayescm.posteriors.base import as_labelled_counts, prior_of
from bayescm.posteriors.strata import Strata
from bayescm.validate import fail, suggest

# Rates of wrong labels, checked and in one form, and the shares of the true classes behind labels.

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


# The posterior of the table of true classes and predictions.

# Rates of errors drawn, each with several shares; points that find them, on a coarser grid.
_RATES, _ROUGH, _POINTS, _GRID = 1000, 300, 1500, 96
# Chains of the Gibbs sampler, sweeps left out first, and sweeps from one kept to the next.
_CHAINS, _BURN, _THIN, _STEPS = 500, 60, 3, 200
_CONTRADICTION = 5.0  # of the log likelihood: two standard deviations and more
_FAR = 12.0


@dataclass(frozen=True, eq=False)
class Mislabelled(Strata):
    """
    The posterior of the true cells behind labels that may be wrong.

    Attributes
    ----------
    counts : DataArray, dims (..., actual, predicted)
        By label; of several classifiers the matrix of each.
    known : ndarray, shape (..., K, C)
        The same by stratum, what the classifiers said, and label.
    answers : ndarray of int, shape (J, K)
    prior : ndarray, shape (K, C)
    errors : LabelErrors
    shares : ndarray, shape (C,), or None
        The share of each true class in the population that is meant.
    """

    counts: xr.DataArray
    known: np.ndarray
    answers: np.ndarray
    prior: np.ndarray
    errors: LabelErrors
    shares: np.ndarray | None

    @cached_property
    def _several(self):
        # Matrices of several classifiers have the dim too, but no answers that go together.
        return self.counts.ndim > self.known.ndim

    @property
    def sampling_method(self) -> str:  # type: ignore[override]
        """Quadrature where the rates are known, importance or Gibbs sampling where not."""
        if self.known.shape[-1] > 2:
            return "gibbs"
        return "importance" if len(self.errors.betas) else "quadrature"

    @cached_property
    def batch(self) -> xr.DataArray:
        """The number of examples of every member of the batch."""
        size = self.each(self.known.sum((-2, -1)))
        return self.template.to_dataarray(np.broadcast_to(size, self.template.shape))

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        lead, (strata, classes) = self.known.shape[:-2], self.known.shape[-2:]
        members = self.known.reshape(-1, strata, classes)
        if not len(self.errors.betas):  # the strata are independent, of all members alike
            members = members.reshape(1, -1, classes)
        drawn = [self._truth(known, size, rng) for known in members]
        shape = (size, *lead, strata, classes)
        truth = np.stack([each for each, _ in drawn], axis=1).reshape(shape)
        share = dirichlet.draw(self.known.sum(-1) + self.prior.sum(-1), size, rng)
        cells = share[..., None] * truth
        flat = cells.swapaxes(-1, -2).reshape(size, *lead, -1)
        found = {"theta_cell": flat, "theta": self.table(self._moved(cells))}
        if len(self.errors.betas):
            rates = np.stack([each for _, each in drawn], axis=1)
            found["label_error"] = rates.reshape(size, *lead, -1)
        return found

    def strata(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., K, C) of the probability of every stratum and true class."""
        flat = self.variables(size, rng)["theta_cell"]
        cells = flat.reshape(*flat.shape[:-1], self.known.shape[-1], -1).swapaxes(-1, -2)
        return self._moved(cells)

    def _moved(self, cells):
        """Return cells (..., K, C) with the shares of the population that is meant."""
        if self.shares is None:
            return cells
        return self.shares * cells / cells.sum(-2, keepdims=True)

    def _truth(self, known, size, rng):
        """Return draws (size, K, C) of the true classes in every stratum, and of the rates."""
        prior = np.tile(self.prior, (len(known) // len(self.prior), 1))
        if known.shape[-1] > 2:
            return self._in_turn(known, prior, size, rng), np.empty((size, 0))
        number = min(_RATES, size) if len(self.errors.betas) else 1
        rates = self._rates(known, number, rng)
        matrices = self.errors.matrix(self.errors.filled(rates))
        each = -(-size // number)
        drawn = Shares(known, prior, matrices).draw(matrices, each, rng)
        drawn = drawn.reshape(-1, len(known))
        order = rng.permutation(len(drawn))[:size]
        positive = drawn[order]
        return np.stack([1 - positive, positive], -1), np.repeat(rates, each, axis=0)[order]

    def _rates(self, known, size, rng):
        """Return draws (size, U) of the rates of errors."""
        if not len(self.errors.betas):
            return np.empty((size, 0))
        every = self.errors.matrix(self.errors.filled(self.errors.draw(_ROUGH, rng)))
        shares = Shares(known, self.prior, every, _GRID)

        def log_density(points):
            rates = unit(points)
            matrices = self.errors.matrix(self.errors.filled(rates))
            jacobian = np.log(np.maximum(rates * (1 - rates / HALF), 1e-300)).sum(-1)
            return self.errors.log_prior(rates) + shares.log_marginal(matrices) + jacobian

        start = logit(np.clip(self.errors.mean[np.isnan(self.errors.known)] / HALF, 1e-3, 0.99))
        bounds = [(-_FAR, _FAR)] * len(start)
        found = explore(log_density, start, bounds, rough=_ROUGH, size=_POINTS)
        return unit(found.draw(size, rng))

    def _in_turn(self, known, prior, size, rng):
        """Draw true classes and shares in turn, at known rates, of many classes."""
        if len(self.errors.betas):
            allowed = "known rates, where there are more than two classes"
            todo = 'pass numbers, or sample it: fit(evidence, method="nuts", label_error=...)'
            raise fail("uncertain rates of label errors", self.errors.betas, allowed, todo)
        matrix, whole = self.errors.matrix(self.errors.known), np.rint(known).astype(int)
        if (whole != known).any():
            raise fail("fractional counts with label errors", ..., "whole examples", "round them")
        truth = np.repeat(self._likely(known, matrix)[None], _CHAINS, axis=0)
        kept: list = []
        keep = -(-size // _CHAINS)
        for sweep in range(_BURN + keep * _THIN):
            chances = truth[..., None, :] * matrix.T  # (chain, K, label, truth)
            chances = chances / np.maximum(chances.sum(-1, keepdims=True), 1e-300)
            moved = rng.multinomial(whole, chances).sum(-2)
            truth = dirichlet.draw(moved + prior, 1, rng)[0]
            if sweep >= _BURN and (sweep - _BURN) % _THIN == 0:
                kept.append(truth)
        return rng.permutation(np.concatenate(kept))[:size]

    def _likely(self, known, matrix):
        """Return the most likely true classes (..., K, C) behind labels (..., K, C)."""
        truth = np.full(known.shape, 1 / known.shape[-1])
        for _ in range(_STEPS):
            joint = truth[..., None, :] * matrix.T
            total = np.maximum(joint.sum(-1, keepdims=True), 1e-300)
            expected = (known[..., None] * joint / total).sum(-2)
            norm = expected.sum(-1, keepdims=True)
            truth = np.where(norm > 0, expected / np.maximum(norm, 1e-300), truth)
        return truth

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the measure of the most likely true classes, at the mean rates."""
        self.resolve_estimand(of)
        truth = self._likely(self.known, self.errors.matrix(self.errors.mean))
        cells = self.known.sum(-1, keepdims=True) * truth
        with np.errstate(invalid="ignore"):
            return measure(self.table(self._moved(cells)))

    def caveats(self, of: str = "parameter") -> list[str]:
        """Say where the labels contradict the rates: they are wrong less often than was said."""
        total = self.known.sum(-1, keepdims=True)
        matrix = self.errors.matrix(self.errors.least)
        expected = self._likely(self.known, matrix) @ matrix
        observed = self.known / np.maximum(total, 1)
        loss = (xlogy(self.known, observed) - xlogy(self.known, expected)).sum((-2, -1))
        if not (loss > _CONTRADICTION).any():
            return []
        return [
            "The labels contradict the rates of label errors: were they wrong so often, more "
            "examples would differ from what the classifier says. Lower the rates, or let the "
            "label and the classifier err together, which this model does not."
        ]

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return how many draws are made: of many classes they are slow."""
        return 4_000 if self.known.shape[-1] > 2 else super().draws_by_default(of, joint=joint)

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log posterior density of the cells and rates, up to a constant."""
        flat = np.asarray(variables["theta_cell"])
        cells = flat.reshape(*flat.shape[:-1], self.known.shape[-1], -1).swapaxes(-1, -2)
        rates = np.asarray(variables.get("label_error", np.empty((*flat.shape[:-1], 0))))
        seen = cells @ self.errors.matrix(self.errors.filled(rates))
        likelihood = xlogy(self.known, seen).sum((-2, -1))
        prior = xlogy(self.prior - 1, cells).sum((-2, -1))
        return likelihood + prior + self.errors.log_prior(rates)


def mislabelled(
    evidence: xr.DataArray | xr.Dataset, *, label_error: Any = 0.0, concentration: Any = None
) -> Mislabelled:
    """
    Return the posterior of the true cells behind labels that are wrong at some rate.

    Parameters
    ----------
    evidence : DataArray, dims (..., actual, predicted), or Dataset
        Counts, of which ``actual`` are the labels; or outcomes of several classifiers.
    label_error : float, tuple of two floats, or mapping of these by class
        How often the label of an example of a class is wrong, in [0, 1/2): a number; ``(a, b)`` for
        a Beta(a, b), cut at one half, for each class; of a class also a mapping from wrong labels
        to numbers. Classes that a mapping leaves out have no errors; by default none has.
    concentration : float or array_like, optional
        Prior pseudo-counts of the true cells, > 0; by default ``2 / C**2``. Of several classifiers
        one number; by default two for all answers on which they agree, and one for every other.

    Returns
    -------
    Mislabelled

    Raises
    ------
    ValueError
        If a rate is not a number in [0, 1/2), the evidence has folds, or, when drawn from, rates of
        more than two classes are uncertain.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> bcm.interval(counts, "recall", label_error=0.1).round(2).values
    array([0.74, 0.93])
    >>> bcm.interval(counts, "recall").round(2).values
    array([0.72, 0.89])
    """
    if "fold" in getattr(evidence, "dims", ()):
        todo = 'add the folds up: counts.sum("fold")'
        raise fail("label errors of a cross-validation", "fold", "counts without folds", todo)
    read = _of_outcomes if is_outcomes(evidence) else _of_counts
    counts, table, answers, prior = read(evidence, concentration)
    if not ((prior > 0) & (prior < np.inf)).all():
        raise fail("concentration must be positive", concentration, "numbers > 0", "pass 0.5")
    errors = label_errors(label_error, counts["actual"].values.tolist())
    return Mislabelled(counts, table, answers, prior, errors, known_shares(counts))


def _of_counts(evidence, concentration):
    """Return canonical counts, by stratum (..., K, C), what was said, and the prior (K, C)."""
    counts = as_labelled_counts(evidence)
    classes = counts.shape[-1]
    own = prior_of(concentration, evidence)
    own = dirichlet.default_concentration(classes) if own is None else own
    prior = np.broadcast_to(np.asarray(own, float), (classes, classes)).T
    table = counts.values.astype(float).swapaxes(-1, -2)
    return counts, table, np.arange(classes)[None], prior


def _of_outcomes(evidence, concentration):
    """Return the same of several classifiers: their answers together are one stratum."""
    outcomes = as_outcomes(evidence)
    if abstains(outcomes):
        todo = "leave the abstentions out, or the label errors"
        raise fail("this model knows no abstentions", outcomes["abstain"].item(), "none", todo)
    counts = tables_of(outcomes)
    weights, truth, said = arrays(outcomes)
    answers, place = np.unique(said, axis=1, return_inverse=True)
    table = np.zeros((*weights.shape[:-1], answers.shape[1], counts.shape[-1]))
    for outcome, stratum in enumerate(place.ravel()):
        table[..., stratum, truth[outcome]] += weights[..., outcome]
    return counts, table, answers, _prior_of_answers(concentration, answers, counts.shape[-1])


def _prior_of_answers(concentration, answers, classes):
    """Return the prior (K, C) of what several classifiers answer."""
    if concentration is not None:
        if np.ndim(concentration):
            todo = "pass one number"
            raise fail("a prior for each cell", np.shape(concentration), "one number", todo)
        return np.full((answers.shape[1], classes), float(concentration))
    agree = (answers == answers[0]).all(axis=0)
    whole = np.where(agree, 2 / max(1, agree.sum()), 1.0)
    return np.tile(whole[:, None] / classes, classes)
