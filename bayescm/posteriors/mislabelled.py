r"""
Direct posterior of `bayescm.models.mislabelled`: true cells behind labels.

A stratum k is a combination of predictions. Its examples have the true class c with probability
:math:`t_{kc}`, which has a Dirichlet prior. An example of class c has the label l with probability
:math:`E_{cl}`, in all strata:

.. math:: p(t, E) \propto p(t) \, p(E) \prod_{k, l} \Bigl(\sum_c t_{kc} E_{cl}\Bigr)^{n_{kl}}.

Given E, the labels of each stratum have a mixture distribution with known components.

- With two classes, a stratum has one unknown share, whose posterior is computed on a grid
  (`Shares`). Uncertain error rates are sampled by importance sampling
  (`bayescm.inference.importance`).
- With more classes, the shares of all strata are sampled together by Gibbs sampling
  (`bayescm.inference.gibbs.mixture_weights`).

The maximum likelihood shares come from the EM algorithm (`bayescm.inference.em.mixture_weights`).
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
from bayescm.inference import em, gibbs
from bayescm.inference.importance import explore
from bayescm.posteriors.base import as_labelled_counts, prior_of
from bayescm.posteriors.strata import Strata
from bayescm.validate import fail, suggest

HALF = 0.5  # error rates must be lower; with two classes, labels at this rate are uninformative
_RATES = 1000  # number of draws of the error rates, each used for several draws of the shares
_PILOT = 300  # points of importance sampling in each round that adapts the proposal
_POINTS = 1500  # points of importance sampling in the last round
_PILOT_GRID = 96  # points of the grid of shares while the proposal is adapted
_BOUND = 12.0  # bound of the logits of twice the rates in the search for the mode
_COARSE = 200  # points of the first, logarithmic grid of a stratum's share
_FINE = 256  # points of the second grid
_NEGLIGIBLE = 30.0  # shares are negligible if their log likelihood is further below the largest
# Settings of Gibbs sampling.
_CHAINS = 500
_BURN = 60  # discarded sweeps at the start of a chain
_THIN = 3  # sweeps per draw
_STEPS = 200  # number of EM steps
_CONTRADICTION = 5.0  # a caution is added if the loss of log likelihood is larger
_ADVICE = "pass a rate such as 0.05, a Beta such as (2, 38), or one of these for each class"


def mislabelled(
    evidence: xr.DataArray | xr.Dataset, *, label_error: Any = 0.0, concentration: Any = None
) -> "Mislabelled":
    """
    Return the posterior of the true cells if labels are wrong at some rate.

    Use it if each example has one label, and the rate of wrong labels is approximately known.

    Parameters
    ----------
    evidence : DataArray, dims (..., actual, predicted), or Dataset
        Counts whose ``actual`` classes are labels, or outcomes of several classifiers.
    label_error : float, tuple of two floats, or mapping of these by class
        Probability that the label of an example is wrong, in [0, 1/2):

        - a number
        - ``(a, b)``: Beta(a, b), truncated at 1/2, for each class
        - a mapping from classes to any of these, or to a mapping from wrong labels to numbers

        Classes that are not in a mapping have no errors. Default: no errors.
    concentration : float or array_like, optional
        Prior pseudo-counts of the true cells, > 0. Default: ``2 / C**2``. With several classifiers,
        a single number, which applies to every combination of predictions and true class. By
        default, the pseudo-counts sum to two over all combinations with equal predictions, and to
        one over the true classes of each other combination.

    Returns
    -------
    Mislabelled

    Raises
    ------
    ValueError
        If a rate is invalid, a class in `label_error` is unknown, or the evidence has folds. With
        more than two classes, sampling raises the error if a rate is uncertain or a count is
        fractional.

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
        todo = 'sum over the folds: counts.sum("fold")'
        raise fail("Label errors are not available for a cross-validation", ..., "", todo)
    read = _of_outcomes if is_outcomes(evidence) else _of_counts
    counts, table, answers, prior = read(evidence, concentration)
    if not ((prior > 0) & (prior < np.inf)).all():
        raise fail("`concentration` must be finite numbers > 0", concentration, "", "pass 0.5")
    errors = label_errors(label_error, counts["actual"].values.tolist())
    return Mislabelled(counts, table, answers, prior, errors, known_shares(counts))


def _of_counts(evidence, concentration):
    """Return counts, counts by stratum (..., K, C), predictions and the prior (K, C)."""
    counts = as_labelled_counts(evidence)
    classes = counts.shape[-1]
    prior = prior_of(concentration, evidence)
    prior = dirichlet.default_concentration(classes) if prior is None else prior
    prior = np.broadcast_to(np.asarray(prior, float), (classes, classes)).T
    table = counts.values.astype(float).swapaxes(-1, -2)
    return counts, table, np.arange(classes)[None], prior


def _of_outcomes(evidence, concentration):
    """Return the same as `_of_counts` for several classifiers; joint predictions are the strata."""
    outcomes = as_outcomes(evidence)
    if abstains(outcomes):
        raise fail(
            "Label errors are not available with abstentions ({})",
            outcomes["abstain"].item(),
            "",
            "leave the abstentions out, or the label errors",
        )
    counts = tables_of(outcomes)
    weights, truth, predicted = arrays(outcomes)
    answers, stratum_of_outcome = np.unique(predicted, axis=1, return_inverse=True)
    table = np.zeros((*weights.shape[:-1], answers.shape[1], counts.shape[-1]))
    for outcome, stratum in enumerate(stratum_of_outcome.ravel()):
        table[..., stratum, truth[outcome]] += weights[..., outcome]
    return counts, table, answers, _prior_of_answers(concentration, answers, counts.shape[-1])


def _prior_of_answers(concentration, answers, classes):
    """Return the prior (K, C) of the joint predictions of several classifiers."""
    if concentration is not None:
        if np.ndim(concentration):
            raise fail(
                "The prior must be one number, not one per cell",
                np.shape(concentration),
                "",
                "pass one number",
            )
        return np.full((answers.shape[1], classes), float(concentration))
    agree = (answers == answers[0]).all(axis=0)
    weight = np.where(agree, 2 / max(1, agree.sum()), 1.0)
    return np.tile(weight[:, None] / classes, classes)


@dataclass(frozen=True, eq=False)
class Mislabelled(Strata):
    """
    Posterior of the true cells behind labels that may be wrong.

    Attributes
    ----------
    counts : DataArray, dims (..., actual, predicted)
        Counts by label. With several classifiers, the matrix of each.
    by_label : ndarray, shape (..., K, C)
        Counts by stratum (the predictions of all classifiers) and label.
    answers : ndarray of int, shape (J, K)
        Prediction of each classifier in each stratum.
    prior : ndarray, shape (K, C)
        Prior pseudo-counts of strata and true classes.
    errors : LabelErrors
        Error rates of the labels.
    shares : ndarray, shape (C,), or None
        Share of each true class in the target population.
    """

    counts: xr.DataArray
    by_label: np.ndarray
    answers: np.ndarray
    prior: np.ndarray
    errors: "LabelErrors"
    shares: np.ndarray | None

    @cached_property
    def _has_classifiers(self):
        # Separate matrices of several classifiers also have the dimension "classifier". They form a
        # batch, because their joint predictions are unknown.
        return self.counts.ndim > self.by_label.ndim

    @property
    def sampling_method(self) -> str:  # type: ignore[override]
        """Gibbs for over two classes; otherwise quadrature, or importance for uncertain rates."""
        if self.by_label.shape[-1] > 2:
            return "gibbs"
        return "importance" if len(self.errors.betas) else "quadrature"

    @property
    def draw_clusters(self) -> int:  # type: ignore[override]
        """The number of Gibbs chains, or of draws of uncertain rates with several draws each."""
        return {"gibbs": _CHAINS, "importance": _RATES}.get(self.sampling_method, 1)

    @cached_property
    def batch(self) -> xr.DataArray:
        """The number of examples of each member of the batch."""
        size = self.append_classifier(self.by_label.sum((-2, -1)))
        return self.template.to_dataarray(np.broadcast_to(size, self.template.shape))

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the corresponding PyMC model."""
        lead, (strata, classes) = self.by_label.shape[:-2], self.by_label.shape[-2:]
        members = self.by_label.reshape(-1, strata, classes)
        if not len(self.errors.betas):  # the strata of all members are independent
            members = members.reshape(1, -1, classes)
        drawn = [self._draw_truth(counts, size, rng) for counts in members]
        shape = (size, *lead, strata, classes)
        truth = np.stack([labels for labels, _ in drawn], axis=1).reshape(shape)
        share = dirichlet.draw(self.by_label.sum(-1) + self.prior.sum(-1), size, rng)
        cells = share[..., None] * truth
        flat = cells.swapaxes(-1, -2).reshape(size, *lead, -1)
        variables = {"theta_cell": flat, "theta": self.table(self._reweighted(cells))}
        if len(self.errors.betas):
            rates = np.stack([errors for _, errors in drawn], axis=1)
            variables["label_error"] = rates.reshape(size, *lead, -1)
        return variables

    def strata(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., K, C) of the probability of each stratum and class."""
        flat = self.variables(size, rng)["theta_cell"]
        cells = flat.reshape(*flat.shape[:-1], self.by_label.shape[-1], -1).swapaxes(-1, -2)
        return self._reweighted(cells)

    def _reweighted(self, cells):
        """Return cells (..., K, C) with the class shares of the target population."""
        if self.shares is None:
            return cells
        return self.shares * cells / cells.sum(-2, keepdims=True)

    def _draw_truth(self, counts, size, rng):
        """Return draws (size, K, C) of the true classes in each stratum, and of the rates."""
        prior = np.tile(self.prior, (len(counts) // len(self.prior), 1))
        if counts.shape[-1] > 2:
            return self._draw_gibbs(counts, prior, size, rng), np.empty((size, 0))
        number = min(_RATES, size) if len(self.errors.betas) else 1
        rates = self._draw_rates(counts, number, rng)
        matrices = self.errors.matrix(self.errors.filled(rates))
        per_rate = -(-size // number)
        drawn = Shares(counts, prior, matrices).draw(matrices, per_rate, rng)
        positive = drawn.reshape(-1, len(counts))[:size]
        return np.stack([1 - positive, positive], -1), np.repeat(rates, per_rate, axis=0)[:size]

    def _draw_rates(self, counts, size, rng):
        """Return draws (size, U) of the uncertain error rates."""
        if not len(self.errors.betas):
            return np.empty((size, 0))
        matrices = self.errors.matrix(self.errors.filled(self.errors.draw(_PILOT, rng)))
        shares = Shares(counts, self.prior, matrices, _PILOT_GRID)

        def log_density(points):
            rates = unit(points)
            matrices = self.errors.matrix(self.errors.filled(rates))
            jacobian = np.log(np.maximum(rates * (1 - rates / HALF), 1e-300)).sum(-1)
            return (
                self.errors.log_prior(rates) + shares.log_marginal_likelihood(matrices) + jacobian
            )

        start = logit(np.clip(self.errors.mean[np.isnan(self.errors.rates)] / HALF, 1e-3, 0.99))
        bounds = [(-_BOUND, _BOUND)] * len(start)
        points = explore(log_density, start, bounds, rough=_PILOT, size=_POINTS)
        return unit(points.draw(size, rng))

    def _draw_gibbs(self, counts, prior, size, rng):
        """Sample class shares (size, K, C) of strata for known rates and more than two classes."""
        if len(self.errors.betas):
            todo = 'pass numbers, or sample it: fit(evidence, `method="nuts"`, `label_error=...`)'
            raise fail(
                "Uncertain rates of label errors need NUTS if there are more than two classes",
                self.errors.betas,
                "",
                todo,
            )
        if (counts != np.rint(counts)).any():
            raise fail(
                "`label_error` is not supported for fractional counts", ..., "", "round the counts"
            )
        matrix = self.errors.matrix(self.errors.rates)
        return gibbs.mixture_weights(
            matrix.T,
            counts.astype(int),
            prior,
            size,
            rng,
            burn=_BURN,
            chains=_CHAINS,
            thin=_THIN,
            start=self._most_likely(counts, matrix),
        )

    def _most_likely(self, counts, matrix):
        """Return maximum likelihood class shares (..., K, C) behind labels (..., K, C)."""
        return em.mixture_weights(matrix.T, counts, steps=_STEPS)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the measure at the maximum likelihood class shares, given the mean rates."""
        self.resolve_estimand(of)
        truth = self._most_likely(self.by_label, self.errors.matrix(self.errors.mean))
        cells = self.by_label.sum(-1, keepdims=True) * truth
        with np.errstate(invalid="ignore"):
            return measure(self.table(self._reweighted(cells)))

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return a caution if the labels show that the rates are too high."""
        total = self.by_label.sum(-1, keepdims=True)
        matrix = self.errors.matrix(self.errors.lower_quantile)
        expected = self._most_likely(self.by_label, matrix) @ matrix
        observed = self.by_label / np.maximum(total, 1)
        loss = (xlogy(self.by_label, observed) - xlogy(self.by_label, expected)).sum((-2, -1))
        if not (loss > _CONTRADICTION).any():
            return []
        return [
            (
                "The labels contradict the rates of label errors: with so many errors, more "
                "labels would differ from the predictions. Lower the rates. If label errors "
                "and mistakes of the classifier are related, this model does not apply."
            )
        ]

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the default number of draws, which is smaller for many classes."""
        return 4_000 if self.by_label.shape[-1] > 2 else super().draws_by_default(of, joint=joint)

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log posterior density of the cells and rates, up to a constant."""
        flat = np.asarray(variables["theta_cell"])
        cells = flat.reshape(*flat.shape[:-1], self.by_label.shape[-1], -1).swapaxes(-1, -2)
        rates = np.asarray(variables.get("label_error", np.empty((*flat.shape[:-1], 0))))
        labels = cells @ self.errors.matrix(self.errors.filled(rates))
        likelihood = xlogy(self.by_label, labels).sum((-2, -1))
        prior = xlogy(self.prior - 1, cells).sum((-2, -1))
        return likelihood + prior + self.errors.log_prior(rates)


# Error rates of labels, validated and in a common form.


@dataclass(frozen=True, eq=False)
class LabelErrors:
    """
    Error rates of labels.

    Attributes
    ----------
    rates : ndarray, shape (C,)
        Rate of each class, NaN if the rate is uncertain.
    betas : ndarray, shape (U, 2)
        Beta parameters of the uncertain rates, in the order of the classes.
    spread : ndarray, shape (C, C)
        Distribution of the wrong labels of each class.
    """

    rates: np.ndarray
    betas: np.ndarray
    spread: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """The rates (C,), with uncertain ones at their mean before truncation."""
        return self.filled(self.betas[:, 0] / self.betas.sum(-1))

    @property
    def lower_quantile(self) -> np.ndarray:
        """The rates (C,), with uncertain ones at their 2.5% quantile before truncation."""
        return self.filled(betaincinv(*self.betas.T, 0.025))

    def filled(self, rates: np.ndarray) -> np.ndarray:
        """Return all rates (..., C), given the uncertain ones (..., U)."""
        filled = np.broadcast_to(self.rates, (*rates.shape[:-1], len(self.rates))).copy()
        filled[..., np.isnan(self.rates)] = np.minimum(rates, HALF)
        return filled

    def matrix(self, rates: np.ndarray) -> np.ndarray:
        """Return the probability (..., C, C) of each label given the true class."""
        right = np.eye(len(self.rates))
        return right * (1 - rates[..., None]) + rates[..., None] * self.spread

    def log_prior(self, rates: np.ndarray) -> np.ndarray:
        """
        Return the log prior density (...) of the uncertain rates (..., U).

        The rates are beta, truncated to values below 1/2.
        """
        a, b = self.betas.T
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = xlogy(a - 1, rates) + xlogy(b - 1, 1 - rates) - betaln(a, b)
        inside = np.where(rates < HALF, inside - np.log(betainc(a, b, HALF)), -np.inf)
        return inside.sum(-1)

    def draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Sample the uncertain rates (size, U) from their prior."""
        a, b = self.betas.T
        return betaincinv(a, b, betainc(a, b, HALF) * rng.random((size, len(self.betas))))


def label_errors(label_error: Any, labels: list) -> LabelErrors:
    """
    Return validated error rates of labels.

    Parameters
    ----------
    label_error : float, tuple of two floats, or mapping of these by class
        Error rates, see `mislabelled`. A class may have a mapping from wrong labels to rates.
    labels : list
        The classes, in order.

    Returns
    -------
    LabelErrors

    Raises
    ------
    ValueError
        If a rate is not a number in [0, 1/2), or a class is unknown.
    """
    size = len(labels)
    rates, betas = np.zeros(size), []
    spread = (1 - np.eye(size)) / (size - 1)
    if isinstance(label_error, Mapping):
        _check_classes(label_error, labels)
    for index, label in enumerate(labels):
        rate = label_error.get(label, 0.0) if isinstance(label_error, Mapping) else label_error
        if isinstance(rate, Mapping):
            _check_classes(rate, labels)
            parts = np.array([_rate(rate.get(other, 0.0)) for other in labels])
            if parts[index]:
                raise fail(
                    "{} gives an error rate for a correct label", {label: rate}, "", "drop it"
                )
            rates[index] = _rate(float(parts.sum()))
            spread[index] = parts / rates[index] if rates[index] else spread[index]
        elif isinstance(rate, tuple):
            betas.append(_beta(rate))
            rates[index] = np.nan
        else:
            rates[index] = _rate(rate)
    return LabelErrors(rates, np.array(betas).reshape(-1, 2), spread)


def _check_classes(label_error, labels):
    for name in label_error:
        if name not in labels:
            raise fail(
                "label_error names the unknown class {}", name, labels, suggest(name, labels)
            )


def _rate(value):
    number = isinstance(value, (int, float, np.integer, np.floating)) and np.ndim(value) == 0
    if isinstance(value, bool) or not number or not 0 <= value < HALF:
        raise fail("The rate of wrong labels must be at least 0 and below 0.5", value, "", _ADVICE)
    return float(value)


def _beta(pair):
    numbers = len(pair) == 2 and all(
        isinstance(parameter, (int, float, np.number)) for parameter in pair
    )
    if not numbers or not all(0 < parameter < np.inf for parameter in pair):
        raise fail(
            "A Beta distribution of label errors must be two finite numbers > 0",
            pair,
            "",
            _ADVICE,
        )
    if pair[0] >= pair[1]:
        mean = f"a mean of {pair[0] / sum(pair):.2g}"
        raise fail(
            f"A rate of wrong labels cannot have {mean}, which is not below 0.5", ..., "", _ADVICE
        )
    return tuple(map(float, pair))


# Two classes: the shares of the true classes behind labels, on a grid.


class Shares:
    """
    Share of the second of two classes in each stratum, behind wrong labels.

    The grid is uniform in the prior probability. It covers the shares whose likelihood is not
    negligible for at least one of the possible matrices.

    Parameters
    ----------
    counts : ndarray, shape (K, 2)
        Labelled examples of each stratum.
    prior : ndarray, shape (K, 2)
        Beta parameters of the shares.
    errors : ndarray, shape (S, 2, 2)
        Possible matrices of label probabilities given the true class.
    size : int, optional
        Number of points of the grid.
    """

    def __init__(
        self, counts: np.ndarray, prior: np.ndarray, errors: np.ndarray, size: int = _FINE
    ):
        self.counts, self._prior = counts, (prior[:, 1], prior[:, 0])
        ends = 10.0 ** np.linspace(-15, np.log10(HALF), _COARSE)
        coarse = np.concatenate([[0], ends, 1 - ends[::-1], [1]])
        rough = self._log_likelihood(np.broadcast_to(coarse, (len(counts), len(coarse))), errors)
        rough = (rough - rough.max(axis=-1, keepdims=True)).max(axis=0) > -_NEGLIGIBLE
        first = np.maximum(rough.argmax(-1) - 1, 0)
        last = np.minimum(len(coarse) - rough[:, ::-1].argmax(-1), len(coarse) - 1)
        self._low = betainc(*self._prior, coarse[first])
        self._length = np.maximum(betainc(*self._prior, coarse[last]) - self._low, 1e-300)
        self._middle = self._shares((np.arange(size) + 0.5) / size)
        self._edges = self._shares(np.arange(size + 1) / size)

    def _shares(self, parts):
        units = self._low[:, None] + self._length[:, None] * parts
        a, b = (parameters[:, None] for parameters in self._prior)
        return betaincinv(a, b, np.minimum(units, 1.0))

    def _log_likelihood(self, shares, errors):
        """Return the log likelihood (S, K, M) of shares (K, M)."""
        first, second = (errors[:, label, 1, None, None] for label in (0, 1))
        labelled = first + (second - first) * shares
        counts = self.counts[:, None]
        return xlogy(counts[..., 1], labelled) + xlogy(counts[..., 0], 1 - labelled)

    def log_marginal_likelihood(self, errors: np.ndarray) -> np.ndarray:
        """Return the log probability (S,) of the labels given the error rates."""
        logs = self._log_likelihood(self._middle, errors)
        top = logs.max(-1)
        inside = np.log(np.exp(logs - top[..., None]).mean(-1)) + top
        return (inside + np.log(self._length)).sum(-1)

    def draw(self, errors: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
        """Sample the shares (S, number, K) given the error rates."""
        logs = self._log_likelihood(self._middle, errors)
        mass = np.exp(logs - logs.max(-1, keepdims=True))
        steps = np.cumsum(mass, axis=-1)
        cell = _search(steps, rng.random((*steps.shape[:-1], number)))
        strata = np.arange(len(self.counts))[:, None]
        low, high = self._edges[strata, cell], self._edges[strata, cell + 1]
        return (low + (high - low) * rng.random(cell.shape)).swapaxes(-1, -2)


def _search(steps, uniform):
    """Return the indices of uniform numbers (..., E) in the cumulative sums (..., M)."""
    rows, size = steps.reshape(-1, steps.shape[-1]), steps.shape[-1]
    levels = uniform.reshape(len(rows), -1) * rows[:, -1:]
    # A single search covers all rows, because each row is shifted beyond the previous ones.
    offset = np.concatenate([[0.0], np.cumsum(rows[:, -1])[:-1]])[:, None]
    index = np.searchsorted((rows + offset).ravel(), (levels + offset).ravel())
    index = index - np.repeat(np.arange(len(rows)) * size, levels.shape[1])
    return np.clip(index, 0, size - 1).reshape(uniform.shape)


def unit(points: np.ndarray) -> np.ndarray:
    """Map real numbers to rates below one half."""
    return HALF * expit(points)
