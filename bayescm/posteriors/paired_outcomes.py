"""
Several classifiers on the same examples: a Dirichlet joint table of outcomes.

A joint outcome is the actual class together with the predictions of all classifiers. How the
difference between two classifiers is computed depends on the measure:

- accuracy and other proportions of correct or wrong predictions: exactly (`discordant`)
- F1 and similar measures: by pre-integration, if the joint table is small
- all other measures: from draws

A large joint table is never enumerated.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import lgamma, prod
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import gammaln

from bayescm.distributions import dirichlet
from bayescm.distributions.differences import discordant
from bayescm.distributions.preintegration import MEMBERS, SHARES, preintegrated
from bayescm.evidence.counts import abstains
from bayescm.evidence.outcomes import arrays, as_outcomes, marginal_matrices, masked_sums, tables_of
from bayescm.measures.measure import ClassTotals, of_members
from bayescm.measures.next_tables import next_counts
from bayescm.posteriors.base import CountsPosterior, prior_of
from bayescm.posteriors.dirichlet_multinomial import dirichlet_multinomial, need_class_totals_only
from bayescm.posteriors.joint_table import (
    base_measure,
    classifier_priors,
    draw_hits,
    draw_prior,
    draw_prior_cells,
)
from bayescm.validate import fail

# Largest number of cells of a joint table that is enumerated. Larger tables are sampled without
# enumeration.
ENUMERATE = 256
# Largest number of joint cells that a tree stores.
WRITE_OUT = 20_000


def paired_outcomes(outcomes, *, concentration=None) -> "PairedOutcomes":
    """
    Return the posterior of several classifiers tested on the same examples.

    Use it to compare classifiers on one test set. Examples with equal predictions cancel in a
    difference.

    Parameters
    ----------
    outcomes : xarray.Dataset
        Outcomes from :func:`bayescm.from_classifiers`.
    concentration : float or array_like, shape (C, C) or (J, C, C), optional
        Prior pseudo-counts of each classifier's matrix, as in ``dirichlet_multinomial``, in the
        order of ``outcomes.label``. Default: ``2 / C**2``. They are spread over the joint table,
        whose total weight equals the weight of one matrix. The row sums must be equal for all
        classifiers. With 0, the posterior is the Bayesian bootstrap.

    Returns
    -------
    PairedOutcomes

    Raises
    ------
    ValueError
        If the priors for the classifiers have different row sums, or are neither all > 0 nor all 0.

    References
    ----------
    Ferguson, T. S. (1973). A Bayesian analysis of some nonparametric problems. Annals of
    Statistics 1, 209-230. doi:10.1214/aos/1176342360

    Sethuraman, J. (1994). A constructive definition of Dirichlet priors. Statistica Sinica 4,
    639-650.
    """
    outcomes = as_outcomes(outcomes)
    counts, actual, predicted = parts = arrays(outcomes)
    matrices = tables_of(outcomes, parts)
    first = matrices.isel(dict.fromkeys(matrices.dims[:-3], 0), drop=True)
    classifier_prior = prior_of(concentration, first)
    prior = classifier_priors(
        classifier_prior, len(predicted), outcomes["label"].size, abstains=abstains(outcomes)
    )
    return PairedOutcomes(matrices, counts, actual, predicted, prior)


@dataclass(frozen=True, eq=False)
class PairedOutcomes(CountsPosterior):
    """
    Posterior of the joint outcome probabilities of several classifiers.

    The prior is a Dirichlet distribution of the whole joint table. Under its base measure, the
    predictions are independent given the truth. Its total weight is the weight of one classifier's
    prior. So the marginal prior for each classifier is exactly its own prior.

    Attributes
    ----------
    counts : DataArray, dims (..., classifier, actual, predicted)
        Matrix of each classifier.
    outcomes : ndarray, shape (..., M)
        Counts of the M observed joint outcomes.
    actual : ndarray of int, shape (M,)
        Class index of the truth of each outcome.
    predicted : ndarray of int, shape (J, M)
        Class index of each classifier's prediction.
    prior : ndarray, shape (J, C, C)
        Prior pseudo-counts of each classifier, with equal row sums.
    """

    pairs = ("classifier",)
    counts: xr.DataArray
    outcomes: np.ndarray
    actual: np.ndarray
    predicted: np.ndarray
    prior: np.ndarray

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Sample the cell probabilities of all classifiers jointly, (size, ..., J, C, C)."""
        if self.weight > 0 and self.size <= ENUMERATE:
            return self._sums(self._gammas(size, rng))
        classes = self.prior.shape[-1]
        gammas = rng.standard_gamma(self.outcomes, (size, *self.outcomes.shape))
        total = marginal_matrices(gammas, self.actual, self.predicted, classes)
        if self.weight > 0:
            share = self.weight / (self.weight + self.outcomes.sum(-1).min())
            lead = total.shape[:-3]
            mass = rng.standard_gamma(self.weight, lead)[..., None, None, None]
            total += mass * draw_prior(self.prior, lead, share, rng)
        return total / total.sum((-2, -1), keepdims=True)

    def draw_parameter(
        self, measures: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """
        Sample measures jointly.

        With a large joint table, a single proportion of correct or wrong predictions is sampled
        without the matrices. With many classes, measures that need only class totals are sampled
        from the totals.
        """
        single = len(measures) == 1 and self.size > ENUMERATE
        single = single and self.classes_of(measures[0]) is None
        share = self._share(measures[0], size, rng) if single else None
        if share is not None:
            return [share]
        weights = self.counts.values + self.prior
        if self.weight > 0 and need_class_totals_only(measures, weights, self.counts):
            totals = self._class_totals(size, rng)
            return [totals.measured(measure) for measure in measures]
        return super().draw_parameter(measures, size, rng)

    def _class_totals(self, size, rng):
        """Sample the class totals of each classifier, without the tables."""
        n_classifiers, classes = self.prior.shape[:2]
        lead = (size, *self.outcomes.shape[:-1])
        gammas = rng.standard_gamma(self.outcomes, (size, *self.outcomes.shape))
        table = np.arange(prod(lead) * n_classifiers).reshape(*lead, n_classifiers, 1)
        place = table * classes**2 + self.actual * classes + self.predicted
        mass = np.broadcast_to(gammas[..., None, :], place.shape)
        share = self.weight / (self.weight + self.outcomes.sum(-1).min())
        of_prior, shares = draw_prior_cells(self.prior, prod(lead), share, rng)
        weight = rng.standard_gamma(self.weight, prod(lead))
        shares *= weight[of_prior // (n_classifiers * classes**2)]
        return ClassTotals.from_cells(
            np.concatenate([place.ravel(), of_prior]),
            np.concatenate([mass.ravel(), shares]),
            (*lead, *self.prior.shape),
        )

    def _share(self, measure, size, rng):
        """Sample the proportion correct or wrong of each classifier, (size, ..., J), or None."""
        share_form, rows = _right_of(measure, self.prior.shape[-1], None), self.prior[0].sum(-1)
        if share_form is None:
            return None
        events, wrong = share_form
        counts_as_event, counted = events[self.actual], np.flatnonzero(events & (rows > 0))
        outcomes, rows = self.outcomes[..., counts_as_event], rows[counted]
        gammas = rng.standard_gamma(outcomes, (size, *outcomes.shape))
        share = masked_sums(gammas, (self.predicted == self.actual)[:, counts_as_event] ^ wrong)
        total, weight = gammas.sum(-1, keepdims=True), rows.sum()
        if weight > 0:
            right = self.prior[:, counted, counted].T / rows[:, None]
            chance, ratio = (
                1 - right if wrong else right,
                weight / (weight + outcomes.sum(-1).min()),
            )
            hits = draw_hits(rows, chance, total.shape[:-1], ratio, rng)
            if hits is None:
                return None
            mass = rng.standard_gamma(weight, total.shape)
            share += mass * hits
            total += mass
        with np.errstate(invalid="ignore"):
            return np.minimum(share / total, 1)

    def next_tables(self, size: int, rng: np.random.Generator, n: np.ndarray) -> np.ndarray:
        """
        Sample each classifier's matrix of the same next n examples.

        The shape is ``(size, ..., J, C, C)``.
        """
        n = n if n.ndim == 0 else n[..., 0]
        if self.size <= ENUMERATE:
            cells = self._gammas(size, rng)
            counts = rng.multinomial(n, cells / cells.sum(-1, keepdims=True))
            truth, answers = self.joint_cells[0], self.joint_cells[1:]
            return marginal_matrices(counts.astype(float), truth, answers, self.prior.shape[-1])
        # A proportion of only weight / (weight + N) is expected to have outcomes not yet observed.
        gammas = rng.standard_gamma(self.outcomes, (size, *self.outcomes.shape))
        unseen = rng.standard_gamma(self.weight, gammas.shape[:-1])[..., None]
        mass = np.concatenate([gammas, unseen], axis=-1)
        counts = rng.multinomial(n, mass / mass.sum(-1, keepdims=True))
        tables = marginal_matrices(
            counts[..., :-1].astype(float), self.actual, self.predicted, self.prior.shape[-1]
        )
        if self.weight > 0:
            theta = draw_prior(self.prior, gammas.shape[:-1], 1.0, rng)
            tables += next_counts(theta, counts[..., -1:], rng)
        return tables

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Sample the variables of the PyMC model, which contains all joint cells."""
        if self.size > WRITE_OUT:
            todo = "use compare, ranks and joint_interval, which never enumerate the cells"
            raise fail(
                f"The joint table has {{}} cells, more than {WRITE_OUT}, so it is too large for "
                "a tree",
                self.size,
                "",
                todo,
            )
        cells = self._gammas(size, rng)
        theta = np.maximum(cells / cells.sum(-1, keepdims=True), np.finfo(float).tiny)
        return {"theta_outcome": theta, "theta": self._sums(theta)}

    def exact_distribution(self, measure: Callable, *, of: str = "parameter", n: Any = None) -> Any:
        """Return the distribution of a measure of each classifier, or None."""
        marginal = dirichlet_multinomial(self.counts, concentration=self.prior)
        return marginal.distribution(measure, of=of, n=n)

    def exact_difference(
        self, measure: Callable, first: Mapping, second: Mapping, *, of: str = "parameter"
    ) -> Any:
        """
        Return the distribution of a difference between two classifiers, or None.

        See `Posterior.difference` for the parameters. The result depends on the measure:

        - For accuracy, error rate, recall, specificity and their complements, it is the
          distribution of the difference between two discordant proportions.
        - For other measures, such as F1, the joint table of both classifiers is pre-integrated if
          it is small and there are few pairs.
        - Otherwise it is None, and joint draws are used.
        """
        pair = first["classifier"], second["classifier"]
        if pair[0] == pair[1] or of != "parameter":
            return None
        at = tuple(first[dim] for dim in self.batch.dims[:-1])
        right = _right_of(measure, self.prior.shape[-1], first.get("class"))
        if right is None:
            return self._function_of_joint_table(measure, pair, at, first.get("class"))
        events, wrong = right
        wins, losses, ties = self.discordant(events, *(pair[::-1] if wrong else pair))[at]
        return discordant(wins, losses, ties)

    def _function_of_joint_table(self, measure, pair, at, label):
        """Return the distribution of a pair's difference from their joint table, or None."""
        classes, pairs = self.prior.shape[-1], self.batch.size * (len(self.prior) - 1) // 2
        shape = classes - abstains(self.counts), classes, classes
        truth, *answers = np.indices(shape).reshape(3, -1)
        if pairs > MEMBERS or len(truth) > SHARES + 1:
            return None
        weights = base_measure(self.prior[list(pair)], truth, np.array(answers))
        cells = np.ravel_multi_index((self.actual, *self.predicted[list(pair)]), shape)
        np.add.at(weights, cells, self.outcomes[at])

        members = [np.ravel_multi_index((*at, member), self.batch.shape) for member in pair]
        measure = of_members(measure, members)

        def difference(cells):
            values = measure(marginal_matrices(cells, truth, np.array(answers), classes))
            values = values if label is None else values[..., label]
            return values[:, 0] - values[:, 1]

        low, high = measure.range
        return preintegrated([weights], difference, (low - high, high - low))

    def discordant(self, events: np.ndarray, first: int, second: int) -> np.ndarray:
        """
        Return Dirichlet weights of (only first correct, only second correct, rest).

        Parameters
        ----------
        events : ndarray of bool, shape (C,)
            Actual classes to include. All other examples are omitted.
        first, second : int
            Indices of the two classifiers.

        Returns
        -------
        ndarray, shape (..., 3)
        """
        right = self.predicted == self.actual
        in_events = events[self.actual]
        first_alone = right[first] & ~right[second] & in_events
        second_alone = right[second] & ~right[first] & in_events
        prior = self._prior_discordant(events, first, second)
        counts = self.outcomes.astype(float)
        parts = [
            counts[..., first_alone].sum(-1),
            counts[..., second_alone].sum(-1),
            counts[..., in_events & ~first_alone & ~second_alone].sum(-1),
        ]
        return np.stack(parts, axis=-1) + prior

    def with_uniform_prior(
        self, measure: Callable, first: Mapping, second: Mapping
    ) -> tuple["PairedOutcomes", np.ndarray] | None:
        """
        Return a posterior with a heavier prior, and the discordant counts.

        The prior for the proportion of discordant examples that the first classifier gets right is
        uniform. This is Altham's (1971) prior for McNemar's table. With few discordant examples,
        results depend on the prior. The result is None for equal classifiers and for a prior of 0.

        Parameters
        ----------
        measure : callable
        first, second : mapping of str to int
            See `Posterior.difference`.

        References
        ----------
        Altham, P. M. E. (1971). The analysis of matched proportions. Biometrika 58, 561-576.
        doi:10.1093/biomet/58.3.561
        """
        pair = first["classifier"], second["classifier"]
        classes = self.prior.shape[-1]
        right = _right_of(measure, classes, first.get("class"))
        events = np.ones(classes, bool) if right is None else right[0]
        prior = self._prior_discordant(events, *pair)[:2]
        if not prior.all():
            return None
        at = tuple(first[dim] for dim in self.batch.dims[:-1])
        observed = self.discordant(events, *pair)[at][:2] - prior
        return replace(self, prior=self.prior / prior.min()), observed

    def _prior_discordant(self, events, first, second):
        events = events & (self.prior[0].sum(-1) > 0)  # an abstention is not a true class
        rows = self.prior[0].sum(-1)[events]
        if first == second or not rows.any():
            return np.array([0.0, 0.0, rows.sum()])
        rate = [
            np.diagonal(self.prior[classifier])[events] / rows for classifier in (first, second)
        ]
        first_alone = rows @ (rate[0] * (1 - rate[1]))
        second_alone = rows @ (rate[1] * (1 - rate[0]))
        return np.array([first_alone, second_alone, rows.sum() - first_alone - second_alone])

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log density of the joint cells theta_outcome (..., cells)."""
        return dirichlet.logpdf(np.asarray(variables["theta_outcome"]), self.joint_weights)

    def log_marginal_likelihood(self) -> np.ndarray:
        """Return the log marginal likelihood of the joint counts."""
        prior = base_measure(self.prior, self.actual, self.predicted)
        n = self.outcomes.sum(-1)
        cells = gammaln(self.outcomes + prior) - gammaln(prior) - gammaln(self.outcomes + 1)
        norm = gammaln(n + 1) + lgamma(self.weight) - gammaln(n + self.weight)
        return norm + cells.sum(-1)

    @property
    def weight(self) -> float:
        """The total weight of the prior."""
        return float(self.prior[0].sum())

    @property
    def size(self) -> int:
        """The number of possible cells of the joint table."""
        n_classifiers, classes = self.prior.shape[:2]
        return (classes - abstains(self.counts)) * classes**n_classifiers

    @cached_property
    def joint_cells(self):
        """Truth and predictions of each joint cell, shape (1 + J, cells)."""
        n_classifiers, classes = self.prior.shape[:2]
        shape = (classes - abstains(self.counts), *(classes,) * n_classifiers)
        return np.indices(shape).reshape(1 + n_classifiers, -1)

    @cached_property
    def joint_weights(self):
        """Dirichlet parameters of each joint cell, shape (..., cells)."""
        n_classifiers, classes = self.prior.shape[:2]
        shape = (classes,) * (1 + n_classifiers)
        index = np.ravel_multi_index((self.actual, *self.predicted), shape)
        prior = base_measure(self.prior, self.joint_cells[0], self.joint_cells[1:])
        weights = np.tile(prior, (*self.outcomes.shape[:-1], 1))
        weights[..., index] += self.outcomes
        return weights

    def _gammas(self, size, rng):
        return rng.standard_gamma(self.joint_weights, (size, *self.joint_weights.shape))

    def _sums(self, cells):
        total = marginal_matrices(
            cells, self.joint_cells[0], self.joint_cells[1:], self.prior.shape[-1]
        )
        return total / total.sum((-2, -1), keepdims=True)


def _right_of(measure, classes, label):
    """Return the classes of a proportion correct or wrong, and whether it is wrong, or None."""
    positive = 1 if label is None else label
    one_class, all_classes = np.arange(classes) == positive, np.ones(classes, bool)
    shares = {("right", "wrong"): (all_classes, False), ("wrong", "right"): (all_classes, True)}
    shares |= {("tp", "fn"): (one_class, False), ("fn", "tp"): (one_class, True)}
    if classes == 2:
        shares |= {("tn", "fp"): (~one_class, False), ("fp", "tn"): (~one_class, True)}
    return shares.get(measure.form)
