r"""
Direct posterior of `bayescm.models.paired_folds`: a Dirichlet distribution and grids.

The joint outcomes of all folds have a conjugate Dirichlet posterior. In addition, training moves
the thresholds of each classifier m. Averaged over K folds, the effect on the threshold of class j
has the variance

.. math:: r_m^2 e_j^2 \left(\rho_m + \frac{1 - \rho_m}{K}\right).

Here :math:`e_j` is the standard error of the log total of class j, :math:`r_m` the spread in units
of u (see the model), and :math:`\rho_m` the proportion of the variance that the folds share.
Training also moves the separation of each classifier. These quantities are estimated from the
following statistics.

=================================  ===============================================================
quantity                           statistic
=================================  ===============================================================
spread of the thresholds           variance of the numbers of each prediction, over folds and over
                                   disjoint halves
correlation of the thresholds      variance of the difference of two classifiers
spread of the separations          variance of the numbers of correct predictions, over halves
=================================  ===============================================================

Each variance is a scaled chi-squared variable, as in the model. Spreads and correlations are
sampled from grids of their posterior density.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import log_softmax

from bayescm.distributions.log_densities import log_half_student_t2
from bayescm.evidence.outcomes import as_outcomes, tables_of
from bayescm.posteriors.base import CountsPosterior
from bayescm.posteriors.hierarchical_folds import (
    HALF_NOISE,
    HALF_RATE,
    HALF_REPEATS,
    LEAST_VARIANCE,
    SEPARATION,
    SEPARATION_WITH_HALVES,
    SPREAD,
    SPREAD_WITH_HALVES,
    THRESHOLD_RHO,
    log_scaled_chi2,
    shifted,
)
from bayescm.posteriors.paired_outcomes import PairedOutcomes, paired_outcomes
from bayescm.validate import fail

# Copies of the constants in the model file, which explains them.
SEPARATION_LOG_SD = 0.7
SEPARATION_HALF_RATE = 0.7

_MOST_CELLS = 20_000  # largest number of cells of the joint table, which is the size of a draw


def paired_folds(
    outcomes: xr.Dataset,
    *,
    concentration: Any = None,
    spread: float | None = None,
    separation: float | None = None,
) -> "PairedFolds":
    """
    Return the posterior of classifiers cross-validated on the same folds.

    Use it to compare classifiers by any measure on one cross-validation.

    Parameters
    ----------
    outcomes : Dataset, dims (fold, outcome)
        Outcomes from `bayescm.cross_outcomes`, or from `bayescm.from_classifiers` with
        ``by={"fold": fold}``.
    concentration : array_like, optional
        Prior pseudo-counts of each classifier's matrix, > 0. Default: ``2 / C**2``.
    spread : float, optional
        Scale of the half-Student-t prior of the spread of the thresholds, in units of u^(2/3), with
        u as in `bayescm.models.paired_folds`. Default: 0.3, or 0.8 with halves.
    separation : float, optional
        Standard deviation of the separations, in units of u. With halves, the median of its prior.
        Default: 1, or 0.8 with halves.

    Returns
    -------
    PairedFolds

    Raises
    ------
    ValueError
        If the evidence lacks folds, or has other dimensions. If there are fewer than two
        classifiers or too many joint cells, or if an argument is out of range.

    Examples
    --------
    >>> import bayescm as bcm
    >>> actual, fold = [0, 1] * 12, [0] * 8 + [1] * 8 + [2] * 8
    >>> answers = {"a": [0, 1] * 11 + [1, 0], "b": [0, 1] * 8 + [1, 0] * 4}
    >>> both = bcm.from_classifiers(actual, answers, by={"fold": fold})
    >>> table = bcm.compare(both, "accuracy", model="paired_folds")
    >>> table["p_better"].round(1).tolist()
    [1.0]
    """
    outcomes = as_outcomes(outcomes)
    if outcomes["counts"].dims != ("fold", "outcome") or outcomes.sizes["fold"] < 2:
        todo = "use cross_outcomes, or compare the counts of each classifier"
        raise fail(
            "paired_folds needs the outcomes of one cross-validation, with two or more "
            "folds; the sizes are {}",
            dict(outcomes.sizes),
            "",
            todo,
        )
    if outcomes.sizes["classifier"] < 2:
        todo = "use hierarchical_folds for one"
        raise fail(
            "Two or more classifiers are needed",
            outcomes["classifier"].values.tolist(),
            "",
            todo,
        )
    without_halves = outcomes.drop_vars("halves", errors="ignore")
    pooled = paired_outcomes(without_halves.sum("fold"), concentration=concentration)
    if pooled.size > _MOST_CELLS:
        raise fail(
            f"There are {{}} joint outcomes, more than {_MOST_CELLS}",
            pooled.size,
            "",
            "compare fewer classifiers at once",
        )
    counts = tables_of(outcomes)
    totals = counts.values.sum((0, -1))[0]
    if (totals == 0).any():
        todo = "leave the class out of the counts"
        raise fail("A class has no examples in any fold", ..., "", todo)
    error = 1 / np.sqrt(np.maximum(totals, 1))
    unit = np.sqrt(2 * np.median(error**2))
    default_spread, default_separation = (
        (SPREAD_WITH_HALVES, SEPARATION_WITH_HALVES)
        if "halves" in outcomes
        else (SPREAD, SEPARATION)
    )
    separation = default_separation if separation is None else separation
    separation = unit * _positive(separation, "separation")
    spread = _positive(default_spread if spread is None else spread, "spread")
    answers, right_answers = _moments(outcomes, pooled)
    thresholds = ThresholdSpread(*answers, error, spread * unit ** (-1 / 3), THRESHOLD_RHO)
    separations = SeparationSpread(*right_answers, separation, unit)
    fixed = bool(counts.coords["fixed_totals"])
    return PairedFolds(counts, pooled, thresholds, separations, fixed)


def _positive(value, name):
    if not 0 < value < np.inf:
        todo = f"leave `{name}` out, or pass 1"
        raise fail(f"{name} must be a finite number > 0", value, "", todo)
    return float(value)


class PairedFolds(CountsPosterior):
    """
    Posterior of classifiers cross-validated on the same folds.

    Parameters
    ----------
    counts : DataArray, dims (fold, classifier, actual, predicted)
        Matrices of each classifier.
    pooled_outcomes : PairedOutcomes
        Posterior of the joint outcomes of all folds.
    thresholds : ThresholdSpread
        Posterior of the spread and correlation of the thresholds.
    separations : SeparationSpread
        Posterior of the spread of the separations, and their correlation.
    fixed : bool
        Whether the design fixed the class totals.
    """

    pooled_dims = ("fold",)
    pairs = ("classifier",)
    estimands = {"parameter": "theta"}  # noqa: RUF012
    how = "conjugate and a grid"
    sampling_method = "quadrature"

    def __init__(self, counts, pooled_outcomes, thresholds, separations, fixed):
        self.counts = counts.transpose("fold", ...)
        self.outcomes: PairedOutcomes = pooled_outcomes
        self.thresholds: ThresholdSpread = thresholds
        self.separations: SeparationSpread = separations
        self._fixed = fixed

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Sample the cell probabilities of all classifiers jointly, (size, J, C, C)."""
        tables = self.outcomes.cells("parameter", size, rng)
        return self._trained(tables, self._effects(size, rng))

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws of the variables of the PyMC model."""
        drawn = self.outcomes.variables(size, rng)
        effects = self._effects(size, rng)
        return drawn | effects | {"theta": self._trained(drawn["theta"], effects)}

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log density of the free variables, up to a constant."""
        drawn = {name: np.asarray(values) for name, values in variables.items()}
        rho = drawn.get("rho_threshold", np.full(drawn["spread"].shape, self.thresholds.rho))
        logs = self.outcomes.log_density(drawn)
        logs = logs + self.thresholds.log_density(
            drawn["spread"] / self._unit, rho, drawn["correlation"]
        )
        if self.separations.halves is not None:
            logs = logs + self.separations.log_density(drawn["separation"])
        squares = (drawn["training_common"] ** 2).sum(-1) + (drawn["training"] ** 2).sum((-2, -1))
        return logs - squares / 2

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return cautions, including one about missing halves."""
        sentences = super().caveats(of)
        if self.separations.halves is None:
            sentences.append(
                "Without halves, the data hardly show how much training changes each "
                "classifier, so differences may look too certain, especially for recall and F1 "
                "of trees. Pass halves=8 to cross_outcomes, or leave the model out."
            )
        return sentences

    @property
    def _unit(self):
        return np.sqrt(2 * np.median(self.thresholds.error**2))

    def _effects(self, size, rng):
        ratio, rho, correlation = self.thresholds.draw(size, rng)
        n_classifiers, classes = self.counts.sizes["classifier"], self.counts.shape[-1]
        return {
            "spread": ratio * self._unit,
            "rho_threshold": rho,
            "correlation": correlation,
            "separation": self.separations.draw(size, rng),
            "training_common": rng.standard_normal((size, classes)),
            "training": rng.standard_normal((size, n_classifiers, 1 + classes)),
        }

    def _trained(self, tables, drawn):
        """Return the tables (size, J, C, C) after the effects of training."""
        spread, rho = drawn["spread"], drawn["rho_threshold"]
        share = rho + (1 - rho) / self.counts.sizes["fold"]
        column = ((spread / self._unit) ** 2 * share)[..., None] * self.thresholds.error**2
        together, training = drawn["correlation"][:, None, None], drawn["training"]
        common = np.sqrt(together) * drawn["training_common"][:, None]
        threshold = np.sqrt(column) * (common + np.sqrt(1 - together) * training[..., 1:])
        apart = drawn["separation"][:, None] * (training[..., 0] @ self.separations.root.T)
        effects = np.concatenate([apart[..., None], threshold], axis=-1)
        with np.errstate(divide="ignore"):
            rates = np.exp(log_softmax(shifted(np.log(tables), effects), axis=-1))
        shares = tables.sum(-1, keepdims=True)
        if self._fixed:
            totals = self.counts.values.sum((0, -1))[0]
            shares = (totals / totals.sum())[:, None]
        return shares * rates


# Variances over test sets of the numbers of predictions of each label, and of correct predictions.


@dataclass(frozen=True, eq=False)
class AnswerMoments:
    """
    Moments over test sets of the numbers of events, such as each prediction.

    Attributes
    ----------
    variance : ndarray, shape (J, J)
        Variances of the classifiers and covariances between them, summed over the events.
    covariance : ndarray, shape (J, L, J, L)
        Expected covariance of the numbers in one test set, for fixed classifiers.
    freedom : float
        Degrees of freedom for one event.
    """

    variance: np.ndarray
    covariance: np.ndarray
    freedom: float

    def log_density_of_variances(self, threshold_variance: np.ndarray) -> np.ndarray:
        """
        Return the log density (..., J) of the variance of each classifier.

        The thresholds have the variances `threshold_variance`, shape (..., J, C).
        """
        index = np.arange(len(self.variance))
        covariance = self.covariance[index, :, index]
        trace, squares = np.trace(covariance, axis1=-2, axis2=-1), (covariance**2).sum(-2)
        variance = np.maximum(self.variance.diagonal(), LEAST_VARIANCE * trace)
        mean = trace + (threshold_variance * squares).sum(-1)
        degrees = self.freedom * trace**2 / squares.sum(-1)
        return log_scaled_chi2(variance, mean, degrees)

    def log_density_of_differences(
        self, threshold_variance: np.ndarray, correlation: np.ndarray
    ) -> np.ndarray:
        """
        Return the log density (..., R) of the mean variance of pairwise differences.

        Parameters
        ----------
        threshold_variance : ndarray, shape (..., J, C)
        correlation : ndarray, shape (..., R)
            Correlation between the thresholds of two classifiers.
        """
        variances, by_chance, degrees, mean = [], [], [], np.zeros(())
        pairs = list(combinations(range(len(self.variance)), 2))
        for i, j in pairs:
            first, second = self.covariance[i, :, i], self.covariance[j, :, j]
            across = self.covariance[i, :, j]
            difference = first + second - across - across.T
            variances.append(self.variance[i, i] + self.variance[j, j] - 2 * self.variance[i, j])
            by_chance.append(np.trace(difference))
            degrees.append(self.freedom * by_chance[-1] ** 2 / (difference**2).sum())
            first_variance = threshold_variance[..., i, :]
            second_variance = threshold_variance[..., j, :]
            apart = first_variance @ (first**2).sum(0) + second_variance @ (second**2).sum(0)
            together = np.sqrt(first_variance * second_variance) @ (first * second).sum(0)
            mean = mean + apart[..., None] - 2 * together[..., None] * correlation
        chance = np.mean(by_chance)
        variance = max(np.mean(variances), LEAST_VARIANCE * chance)
        return log_scaled_chi2(variance, chance + mean / len(pairs), np.mean(degrees))


def answer_moments(
    counts: np.ndarray, truth: np.ndarray, events: np.ndarray, prior: np.ndarray
) -> AnswerMoments:
    """
    Return the moments of events over the F test sets of each of R repeats.

    Parameters
    ----------
    counts : ndarray, shape (R, F, cells)
        Counts of the joint outcomes.
    truth : ndarray, shape (C, cells)
        Indicator of the cells of each actual class.
    events : ndarray, shape (J, L, cells)
        Indicator of the cells of L events of each classifier: each prediction, or a correct one.
    prior : ndarray, shape (cells,)
        Prior pseudo-counts.

    Returns
    -------
    AnswerMoments
    """
    repeats, folds, _ = counts.shape
    flat = events.reshape(-1, events.shape[-1])
    totals = counts @ truth.T
    rates = np.einsum("rx,ix,kx->rik", counts.sum(1), truth, flat, optimize=True)
    rates = rates / np.maximum(totals.sum(1), 1)[..., None]
    residuals = (counts @ flat.T - totals @ rates).reshape(repeats, folds, *events.shape[:2])
    variance = np.einsum("rfjl,rfml->jm", residuals, residuals) / (repeats * (folds - 1))
    theta = truth * (counts.sum((0, 1)) + prior)
    theta = theta / theta.sum(-1, keepdims=True)
    size = totals.mean((0, 1))
    mean = theta @ flat.T
    covariance = (flat * (size @ theta)) @ flat.T - (mean.T * size) @ mean
    covariance = covariance.reshape(*events.shape[:2], *events.shape[:2])
    freedom = repeats * (folds - 1) / (1 + (repeats - 1) / HALF_REPEATS)
    return AnswerMoments(variance, covariance, freedom)


def _moments(
    outcomes: xr.Dataset, pooled: PairedOutcomes
) -> list[tuple[AnswerMoments, AnswerMoments | None]]:
    """Return moments over folds, and over halves or None, of all and of correct predictions."""
    labels = outcomes["label"].values.tolist()
    rows = [outcomes["actual"].values, *outcomes["predicted"].transpose("classifier", ...).values]
    codes = [[labels.index(label) for label in row.tolist()] for row in rows]
    cell = np.ravel_multi_index(tuple(np.array(codes)), (len(labels),) * len(codes))
    actual, answers = pooled.joint_cells[0], pooled.joint_cells[1:]
    at = np.arange(len(labels))[:, None]
    truth = (actual == at).astype(float)
    prior = replace(pooled, outcomes=np.zeros_like(pooled.outcomes)).joint_weights
    names = [name for name in ("counts", "halves") if name in outcomes]
    tables = [_table(outcomes[name], cell, pooled) for name in names]
    moments = []
    for events in (answers[:, None] == at, answers[:, None] == actual):
        folds, *halves = [
            answer_moments(table, truth, events.astype(float), prior) for table in tables
        ]
        moments.append((folds, halves[0] if halves else None))
    return moments


def _table(counts, cells, pooled):
    """Return counts (R, F, cells) of all joint cells, adding up repeated ones."""
    values = counts.transpose(..., "outcome").values
    table = np.zeros((*values.shape[:-1], pooled.size))
    for index, cell in enumerate(cells):
        table[..., cell] += values[..., index]
    return table if table.ndim == 3 else table[None]


# Spread of the thresholds of each classifier, and their correlation.

_RATIO = np.geomspace(0.02, 40, 48)  # grid of the spread of the thresholds, in units of u
_RHO = (np.arange(16) + 0.5) / 16
_CORRELATION = (np.arange(25) + 0.5) / 25


@dataclass(frozen=True, eq=False)
class ThresholdSpread:
    """
    Posterior of the spread and the correlation of the thresholds, on grids.

    Attributes
    ----------
    folds : AnswerMoments
        Moments over folds.
    halves : AnswerMoments or None
        Moments over disjoint halves.
    error : ndarray, shape (C,)
        Standard error of a log class total.
    scale : float
        Scale of the prior for the spread, in units of u.
    rho : float
        Proportion of the variance that the folds share. It is fixed if there are no halves.
    """

    folds: AnswerMoments
    halves: AnswerMoments | None
    error: np.ndarray
    scale: float
    rho: float

    def log_density(self, ratio, rho, correlation):
        """Return the log density of ratio and rho (..., J), and correlation (...)."""
        logs = self._log_posterior(ratio, rho).sum(-1)
        _, variance = self._threshold_variances(ratio, rho)
        return (
            logs
            + self._closest().log_density_of_differences(
                variance, np.asarray(correlation)[..., None]
            )[..., 0]
        )

    def draw(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Sample spreads over u and rho, (size, J), and the correlation, (size,)."""
        n_classifiers = len(self.folds.variance)
        rhos = _RHO if self.halves is not None else np.array([self.rho])
        grid = np.stack(np.meshgrid(_RATIO, rhos, indexing="ij"), -1).reshape(-1, 2)
        ratio, rho = np.repeat(grid[:, None], n_classifiers, axis=1).transpose(2, 0, 1)
        # The grid is uniform in the logarithm of the ratio.
        logs = self._log_posterior(ratio, rho) + np.log(ratio)
        mass = np.exp(logs - logs.max(0))
        proposals = 4 * size
        points = rng.random((proposals, n_classifiers))
        below = np.cumsum(mass / mass.sum(0), axis=0)
        cell = np.stack(
            [np.searchsorted(below[:, j], points[:, j]) for j in range(n_classifiers)], 1
        )
        cell = np.minimum(cell, len(grid) - 1)
        step = np.log(_RATIO[1] / _RATIO[0])
        ratio = grid[cell, 0] * np.exp(step * (rng.random(cell.shape) - 0.5))
        rho = grid[cell, 1]
        if self.halves is not None:
            rho = rho + (rng.random(cell.shape) - 0.5) / len(_RHO)
        _, variance = self._threshold_variances(ratio, rho)
        logs = self._closest().log_density_of_differences(variance, _CORRELATION)
        shares = np.exp(logs - logs.max())
        # First choose the spreads, weighted by their density summed over the correlations. Then
        # choose the correlation.
        chosen = rng.choice(proposals, size, p=shares.sum(-1) / shares.sum())
        below = np.cumsum(shares[chosen], axis=-1)
        below = below / below[:, -1:]
        index = (rng.random((size, 1)) > below).sum(-1)
        correlation = (index + rng.random(size)) / len(_CORRELATION)
        return ratio[chosen], rho[chosen], correlation

    def _closest(self):
        """Return the most informative moments: over halves or, if there are none, over folds."""
        return self.folds if self.halves is None else self.halves

    def _threshold_variances(self, ratio, rho):
        """Return the variances (..., J, C) of the thresholds between folds and between halves."""
        between_folds = ((1 - rho) * ratio**2)[..., None] * self.error**2
        if self.halves is None:
            return between_folds, between_folds
        return between_folds, (HALF_RATE * ratio**2 + HALF_NOISE)[..., None] * self.error**2

    def _log_posterior(self, ratio, rho):
        """
        Return the log posterior (..., J) of each classifier's spread over u, and rho.

        The prior for the spread is half-Student-t, and the prior for rho is uniform.
        """
        between_folds, between_halves = self._threshold_variances(ratio, rho)
        logs = log_half_student_t2(ratio, self.scale)
        logs = logs + self.folds.log_density_of_variances(between_folds)
        if self.halves is None:
            return logs
        return logs + self.halves.log_density_of_variances(between_halves)


# Spread of the separations, and their correlation.

_SEPARATION_GRID = np.linspace(-5, 5, 201)  # grid of the log spread, in prior standard deviations


@dataclass(frozen=True, eq=False)
class SeparationSpread:
    """
    Posterior of the spread of the separations, on a grid.

    Attributes
    ----------
    folds : AnswerMoments
        Moments of correct predictions over folds.
    halves : AnswerMoments or None
        Moments of correct predictions over disjoint halves.
    scale : float
        Value of the spread without halves, and the median of its prior with halves.
    unit : float
        The unit u.
    """

    folds: AnswerMoments
    halves: AnswerMoments | None
    scale: float
    unit: float

    @cached_property
    def root(self) -> np.ndarray:
        """
        Root (J, J) of the correlation matrix of the separations, computed from the agreement.

        The agreement of two classifiers is the correlation, over examples, between the indicators
        of correct predictions. See the docstring of the model.
        """
        covariance = self.folds.covariance[:, 0, :, 0]
        error = np.sqrt(covariance.diagonal())
        agreement = np.clip(covariance / np.outer(error, error), 0, 1)
        values, vectors = np.linalg.eigh(np.sin(np.pi / 2 * agreement))
        root = vectors * np.sqrt(np.maximum(values, 0))
        return root / np.sqrt((root**2).sum(1, keepdims=True))

    def log_density(self, spread: np.ndarray) -> np.ndarray:
        """Return the log density of spreads (...)."""
        return self._of_logarithm(spread) - np.log(spread)

    def draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Sample spreads, (size,)."""
        if self.halves is None:
            return np.full(size, self.scale)
        points = np.log(self.scale) + SEPARATION_LOG_SD * _SEPARATION_GRID
        logs = self._of_logarithm(np.exp(points))
        mass = np.exp(logs - logs.max())
        below = np.cumsum(mass) / mass.sum()
        edges = np.append(points, 2 * points[-1] - points[-2]) - (points[1] - points[0]) / 2
        return np.exp(np.interp(rng.random(size), np.append(0, below), edges))

    def _of_logarithm(self, spread):
        assert self.halves is not None
        by_chance = self.halves.covariance[:, 0, :, 0].diagonal()
        observed = np.maximum(self.halves.variance.diagonal(), LEAST_VARIANCE * by_chance)
        variance = SEPARATION_HALF_RATE * (np.asarray(spread)[..., None] * by_chance) ** 2
        mean = by_chance / (1 + self.unit**2 * by_chance) + variance
        logs = log_scaled_chi2(observed, mean, self.halves.freedom).sum(-1)
        return logs - (np.log(spread / self.scale) / SEPARATION_LOG_SD) ** 2 / 2
