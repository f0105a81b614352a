r"""
The direct posterior of `bayescm.models.hierarchical_folds`: weighted nodes.

The docstring of the model defines the symbols and gives the reasons for its constants. The unknowns
are the rates observed in this cross-validation (the *level*), the spread of the thresholds, and the
effects of training that all folds share.

**Two classes.** `fold_nodes` places nodes :math:`x_k` on a lattice and weights them by importance
sampling at quasi-random points. The weight is the posterior density divided by the density
:math:`q` of the nodes,

.. math::

    w_k \propto \frac{p(x_k) \prod_m \int p(n_m \mid x_k, e) \, N(e; 0, S_k) \, de}{q(x_k)}.

:math:`n_m` are the counts of fold m. The effects :math:`e` of training on fold m alone are
integrated out by Laplace's method (`fold_likelihood`).

- With examples in groups, the counts are divided by their design effect.
- With repeats, the fold likelihoods are raised to the power `repeat_weight`, and
  `variance_likelihood` is a further factor.
- With halves, `halves_likelihood` is a further factor.

The expected measure over training sets is computed at every node (`Nodes.expected`), so its
distribution is a set of weighted values.

**More than two classes.** A lattice would need too many dimensions. `nodes_of_many_classes` samples
the nodes from an approximate posterior, so that their weights are nearly equal.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy import special
from scipy.special import betaincinv, log_softmax, ndtr, ndtri, softmax

from bayescm.distributions.batches import Stack
from bayescm.distributions.dirichlet import default_concentration
from bayescm.distributions.empirical import WeightedNodes
from bayescm.distributions.log_densities import log_half_student_t2
from bayescm.evidence.counts import CELLS
from bayescm.evidence.folds import FOLDS, design, is_random_split, stack
from bayescm.inference import laplace
from bayescm.inference.importance import Weighted
from bayescm.measures.measure import of_members
from bayescm.posteriors.base import (
    CountsPosterior,
    as_labelled_counts,
    class_shares,
    prior_of,
    shares_of,
)
from bayescm.validate import fail

# Copies of the constants in models/hierarchical_folds.py. The comments there say which constants
# are derived, measured or tuned. A test checks that the values agree.
CENTRING = 2.0
SEPARATION = 1.0
HALF_RATE = 0.6
HALF_NOISE = 3.0
SPREAD = 0.3
THRESHOLD_RHO = 0.4
DISAGREEMENT = 0.4
PRIOR_REPEATS = 4
MOST_DISAGREEMENT = 0.9
SPREAD_WITH_HALVES = 0.8
SEPARATION_WITH_HALVES = 0.8
SEPARATION_OF_SPREAD = 0.04
HALF_REPEATS = 20.0
LEAST_VARIANCE = 1e-3


def hierarchical_folds(
    counts: xr.DataArray | ArrayLike,
    *,
    concentration: Any = None,
    spread: float | None = None,
    separation: float | None = None,
    rho: float | None = None,
    fixed_totals: bool | None = None,
    prevalence: Any = None,
    halves: xr.DataArray | None = None,
) -> "HierarchicalFolds":
    """
    Return the posterior of cross-validation folds, partially pooled.

    Use it to estimate the expected performance of a learning algorithm, from the folds of one
    cross-validation or of its repeats.

    Parameters
    ----------
    counts : DataArray, dims (..., [repeat,] fold, actual, predicted), or (..., M, C, C)
        Counts of the folds. The scalar coords ``n_folds``, ``test_share``, ``train_size`` and
        ``fixed_totals`` describe the design if it cannot be inferred from the counts.
    concentration : array_like, optional
        Prior pseudo-counts of the typical rates, > 0: one number or (C, C). Default: ``2 / C**2``.
    spread : float, optional
        Scale of the half-Student-t prior (2 degrees of freedom) of the spread of the thresholds, in
        units of u^(2/3). Default: 0.3, or 0.8 with `halves`.
    separation : float, optional
        Standard deviation of the separations, in units of u. Default: 1, or at least 0.8 with
        `halves`.
    rho : float, optional
        Correlation between folds of the effects of training, in [0, 1). Default: 1 minus the test
        share for the separation, and 0.4 for the threshold.
    fixed_totals : bool, optional
        Whether the design fixed the class totals. Default: the coord ``fixed_totals`` or, without
        it, whether all folds have nearly equal class totals.
    prevalence : array_like, optional
        Share of each actual class, (C,), or of the positive class. Default: the coord
        ``prevalence``, if any. Otherwise, the shares in the sample if the class totals are fixed,
        and unknown shares if they are not.
    halves : DataArray, dims (..., repeat, half, actual, predicted), optional
        Counts of the same classifiers trained on disjoint halves, each tested on the other half,
        from `bayescm.learners.cross_halves`. They show how far training sets move the threshold.
        With halves, the prior for the spread is wider, and the correlation between folds is
        estimated.

    Returns
    -------
    HierarchicalFolds

    Raises
    ------
    ValueError
        If there are fewer than two folds, a class has no examples, or an argument is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescm.measures.catalogue import resolve
    >>> folds = np.array([[[9, 1], [3, 7]], [[8, 2], [4, 6]], [[10, 0], [5, 5]]])
    >>> posterior = hierarchical_folds(folds)
    >>> posterior.distribution(resolve("recall")).eti(0.95).round(1)
    array([0.4, 0.8])
    """
    table = as_labelled_counts(counts, "fold")
    facts, folds = design(table), stack(table).values
    repeats = _repeats(folds, facts["n_folds"])
    rhos = (THRESHOLD_RHO, 1 - facts["test_share"])
    shares = shares_of(prevalence, counts, table)
    default_spread, default_separation = (
        (SPREAD, SEPARATION) if halves is None else (SPREAD_WITH_HALVES, SEPARATION_WITH_HALVES)
    )
    settings = Design(
        prior=_prior(folds, prior_of(concentration, counts, (*table.dims[:-3], *FOLDS))),
        spread=_positive(default_spread if spread is None else spread, "spread"),
        separation=_positive(
            default_separation if separation is None else separation, "separation"
        ),
        rho=rhos if rho is None else (_correlation(rho), float(rho)),
        repeats=repeats,
        fixed=bool(facts["fixed_totals"] if fixed_totals is None else fixed_totals),
        shares=None if shares is None else class_shares(shares, folds.shape[-1]),
        smaller=_smaller(facts),
        totals_effect=float(table.coords.get("totals_effect", 1.0)),
    )
    posterior = HierarchicalFolds(table, settings)
    if halves is None:
        return posterior
    if rho is not None:
        todo = "leave `rho` out"
        raise fail(
            f"`rho={rho!r}` has no effect with halves, which determine the correlation "
            "between folds",
            ...,
            "",
            todo,
        )
    return HierarchicalFolds(table, settings, _check_halves(halves, posterior))


def _repeats(folds, n_folds):
    number = folds.shape[-3]
    if (folds.sum((-3, -1)) == 0).any():
        todo = "leave the class out of the counts"
        raise fail("A class has no examples in any fold", ..., "", todo)
    if n_folds < 2 or number % n_folds:
        todo = "correct the coordinate n_folds"
        divisors = [divisor for divisor in range(2, number + 1) if number % divisor == 0]
        raise fail(
            f"n_folds must divide the number of folds, so it must be one of {divisors}",
            n_folds,
            "",
            todo,
        )
    return number // int(n_folds)


def _smaller(facts):
    """Return u for the given training sets, relative to training sets of K - 1 of K folds."""
    return float(np.sqrt((facts["n_folds"] - 1) * facts["test_share"] / facts["train_size"]))


def _prior(cells, concentration):
    classes = cells.shape[-1]
    default = default_concentration(classes)
    prior = np.asarray(default if concentration is None else concentration, float)
    if not ((prior > 0) & (prior < np.inf)).all():
        todo = "pass e.g. `concentration=0.5`"
        raise fail("`concentration` must be finite numbers > 0", concentration, "", todo)
    return np.broadcast_to(prior, (classes, classes))


def _positive(value, name):
    if not 0 < value < np.inf:
        raise fail(
            f"{name} must be a finite number > 0", value, "", f"leave `{name}` out, or pass 1"
        )
    return float(value)


def _correlation(rho):
    number = np.ndim(rho) == 0 and isinstance(rho, (Real, np.ndarray))
    if not number or not 0 <= rho < 1:
        raise fail(
            "`rho` must be a correlation, at least 0 and below 1",
            rho,
            "",
            "leave it out, or pass the proportion tested",
        )
    return float(rho)


def _check_halves(halves, posterior):
    """Return the counts of halves with the dims of the batch first, or raise an error."""
    halves = as_labelled_counts(halves, "repeat", "half")
    dims = (*posterior.batch.dims, "repeat", "half")
    if set(halves.dims[:-2]) != set(dims) or halves.sizes["half"] != 2:
        todo = "use cross_halves, or `from_matrix(tables, dims=('repeat', 'half'))`"
        raise fail(
            f"`halves` must have the dimensions {', '.join((*dims, *CELLS))}, with two "
            "halves; the sizes are {}",
            dict(halves.sizes),
            "",
            todo,
        )
    labels = posterior.counts["actual"].values.tolist()
    sizes = {dim: halves.sizes[dim] for dim in posterior.batch.dims}
    if halves["actual"].values.tolist() != labels or sizes != dict(posterior.batch.sizes):
        todo = "build both from the same classifiers and labels, with the same positive class"
        raise fail("The halves and the counts have different classes or sizes", ..., "", todo)
    for dim in posterior.batch.dims:
        if dim in halves.indexes and dim in posterior.batch.indexes:
            names, labels_of_halves = (
                posterior.batch[dim].values.tolist(),
                halves[dim].values.tolist(),
            )
            if set(names) - set(labels_of_halves):
                raise fail(
                    "The halves have the labels {}, which do not match the counts",
                    labels_of_halves,
                    names,
                    "build both from the same classifiers",
                )
            halves = halves.sel({dim: names})
    halves = halves.transpose(*dims, *CELLS)
    if (halves.sum(CELLS[1]) == 0).any():
        todo = "leave this halving out, or use cross_halves"
        raise fail("A half has no example of some class", ..., "", todo)
    return halves


# The posterior.

_RARE = 0.01  # a caution is added for a p-value of equal thresholds up to this / batch size
_KEPT = 64  # largest number of cross-validations whose nodes are cached


@dataclass(frozen=True)
class Design:
    """Design of the cross-validation and its priors, named as in the model."""

    prior: np.ndarray
    spread: float
    separation: float
    rho: tuple[float, float]
    repeats: int
    fixed: bool
    shares: np.ndarray | None
    smaller: float = 1.0  # factor of u for training sets smaller than all but one fold
    effect: float = 1.0  # design effect of examples in groups, for the rates
    totals_effect: float = 1.0  # design effect for the class totals
    halves: np.ndarray | None = None  # counts of disjoint halves, (R, 2, C, C)
    # Effective number of examples in a row, divided by the sum of its importance weights, (C,).
    worth: np.ndarray | float = 1.0


class HierarchicalFolds(CountsPosterior):
    """
    Posterior with a separate set of nodes for each cross-validation.

    Parameters
    ----------
    counts : DataArray, dims (..., [repeat,] fold, actual, predicted)
    settings : Design
        Design of the cross-validation, and its priors.
    halves : DataArray, dims (..., repeat, half, actual, predicted), optional
        Counts of classifiers trained on disjoint halves.
    """

    pooled_dims = FOLDS
    estimands = {  # noqa: RUF012
        "parameter": "theta_expected",
        "finite": "theta_fold",
        "predictive": "theta_new",
    }
    sampling_method = "quadrature"
    knows_groups = knows_weights = True

    def __init__(self, counts: xr.DataArray, settings: Design, halves: xr.DataArray | None = None):
        self.counts = counts
        self._halves = None if halves is None else halves.values.astype(float)
        self.settings = settings
        worth = row_worth(counts)
        self.folds = stack(counts * worth).transpose(..., "fold", *CELLS).values.astype(float)
        self._worth = worth.broadcast_like(self.batch).transpose(*self.batch.dims, "actual").values
        effect = counts.coords.get("design_effect", xr.DataArray(1.0))
        self._effect = effect.broadcast_like(self.batch).transpose(*self.batch.dims).values
        self._kept: dict[tuple, Nodes] = {}

    def exact_distribution(self, measure: Callable, *, of: str = "parameter", n: Any = None) -> Any:
        """Return the distribution of the expected measure, or None for other estimands."""
        if of != "parameter":
            return None
        parts = [
            _distributions(of_members(measure, number), self._nodes(index))
            for number, index in enumerate(self._indices())
        ]
        shape = (*self.batch.shape, *parts[0].shape)
        return Stack(np.stack(parts).reshape(shape)) if shape else parts[0].item()

    def draw_parameter(
        self, measures: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Return draws (size, ..., [C]) of expected measures; all measures share the nodes."""
        columns: list[list[np.ndarray]] = [[] for _ in measures]
        for number, index in enumerate(self._indices()):
            nodes = self._nodes(index)
            index_of_node = nodes.choose(size, rng)
            for column, measure in zip(columns, measures, strict=True):
                column.append(nodes.expected(of_members(measure, number))[index_of_node])
        return [_stack_batch(column, self.batch.shape) for column in columns]

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the free variables and rates of the PyMC model."""
        drawn = [
            draw_variables(self.folds[index], self._settings(index), size, rng)
            for index in self._indices()
        ]
        return {
            name: _stack_batch([draws[name] for draws in drawn], self.batch.shape)
            for name in drawn[0]
        }

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return cautions about heavy weights, random splits and very different thresholds."""
        uneven = (
            "Random splits test some examples often and others rarely. The model ignores "
            "this, so intervals may be too short. Repeated cross-validation tests all "
            "examples equally often."
        )
        caveats = super().caveats(of) + ([uneven] if is_random_split(self.counts) else [])
        if self._halves is not None:
            return caveats
        p_value = min(
            equal_thresholds_p_value(self.folds[i], self._settings(i)) for i in self._indices()
        )
        if p_value > _RARE / self.batch.size:
            return caveats
        moving = (
            "The classifiers of the folds differ in how often they predict each class by "
            f"more than chance (p = {p_value:.1g}). Another training set may change the "
            "measures more than one cross-validation shows. To measure this, pass "
            "halves=cross_halves(estimator, X, y)."
        )
        return [*caveats, moving]

    def _indices(self):
        return np.ndindex(self.batch.shape)

    def _nodes(self, index):
        if index not in self._kept:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            self._kept[index] = fold_nodes(self.folds[index], self._settings(index))
        return self._kept[index]

    def _settings(self, index):
        halves = None if self._halves is None else self._halves[index]
        effect, worth = float(self._effect[index]), self._worth[index]
        return replace(self.settings, effect=effect, halves=halves, worth=worth)


def row_worth(counts: xr.DataArray) -> xr.DataArray:
    """
    Return the ratio of effective examples to the sum of weights, per actual class.

    Importance weights are scaled over all classes, so the weights of a class that was sampled more
    often than others sum to less than its number of examples. Suppose the cells of a row have sums
    of weights S and effective sizes e. Then the effective size of the row is
    (sum S)^2 / sum(S^2 / e), as in `kish_factors`. The sums of weights estimate the class shares.
    """
    dims = [dim for dim in counts.dims if dim in (*FOLDS, "predicted")]
    cells = counts.astype(float).drop_vars(["effective", "heaviest"], errors="ignore")
    total = cells.sum(dims)
    if "effective" not in counts.coords:
        return xr.ones_like(total)
    square = (cells**2 / counts["effective"].drop_vars("heaviest", errors="ignore")).sum(dims)
    return (total / square).where(square > 0, 1.0)


def _distributions(measure, nodes):
    values = nodes.expected(measure)
    distributions = np.empty(values.shape[1:], object)
    for index in np.ndindex(distributions.shape):
        distributions[index] = WeightedNodes.of(values[:, *index], nodes.weights)
    return distributions


def _stack_batch(columns, batch):
    stacked = np.stack(columns, axis=1)
    return stacked.reshape(len(stacked), *batch, *stacked.shape[2:])


# Nodes, and the effects of training at each of them.


@dataclass(frozen=True, eq=False)
class Nodes:
    """
    Weighted nodes.

    Attributes
    ----------
    weights : ndarray, shape (N,)
        Weights that sum to 1.
    rates : ndarray, shape (N, C, C)
        Logarithms of the typical rates.
    effects : ndarray, shape (N, 1 + C)
        Standardised effects common to the folds: separation, then thresholds.
    spread : ndarray, shape (N,)
        Spread of the thresholds.
    total : ndarray, shape (N, 1 + C)
        Standard deviation of each effect between training sets.
    centred : ndarray, shape (N, 1 + C)
        The same, without the part that the posterior of the rates already contains.
    shares : ndarray, shape (N or 1, C)
        Share of each actual class.
    rho : ndarray, shape (N,)
        Proportion of the variance of the thresholds that is common to all folds.
    """

    weights: np.ndarray
    rates: np.ndarray
    effects: np.ndarray
    spread: np.ndarray
    total: np.ndarray
    centred: np.ndarray
    shares: np.ndarray
    rho: np.ndarray

    def expected(self, measure: Callable) -> np.ndarray:
        """Return the expected measure over training sets at every node, (N, [C])."""
        return measure(self.trained(self.centred)).mean(axis=1)

    def trained(self, spreads: np.ndarray) -> np.ndarray:
        """
        Return cell probabilities for equally weighted training sets, (N, T, C, C).

        Each training set moves a single effect, up or down. The T = 2 (1 + C) sets are the points
        of a cubature rule that matches the means and covariances of the effects.
        """
        size = spreads.shape[-1]
        factors = np.exp(np.minimum(np.sqrt(size) * spreads, 300))
        rates = np.repeat(np.exp(self.rates)[:, None], 2 * size, axis=1)
        for moved, factor in ((rates[:, :size], factors), (rates[:, size:], 1 / factors)):
            diagonal = np.einsum("nii->ni", moved[:, 0])
            diagonal *= factor[:, :1]
            columns = np.einsum("njij->nij", moved[:, 1:])
            columns *= factor[:, None, 1:]
        rates *= (self.shares[:, None] / rates.sum(-1))[..., None]
        return rates

    def choose(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return indices of nodes, in random order, sampled systematically by weight."""
        return Weighted(np.arange(len(self.weights)), self.weights).choose(size, rng)


def units(cells, design):
    """
    Return the standard error of each class, (C,), and the unit u.

    The class totals are divided by the number of repeats and by the design effect of groups. The
    standard error is their inverse square root, and u^2 is twice the median of the inverse totals.
    """
    totals = cells.sum((0, 2)) / design.repeats / design.effect
    error = 1 / np.sqrt(np.maximum(totals, 1))
    return error, np.sqrt(2 * np.median(error**2))


def independent_totals(cells, design):
    """Return the effective class totals: the number of independently drawn examples."""
    return cells.sum((0, 2)) / design.worth / design.repeats / design.totals_effect


def training_spreads(ratio, design, error, unit, rho=None):
    """
    Return three arrays of the standard deviations of the effects of training.

    Each has shape (N, 1 + C). The first array is for the effects that all folds share, the second
    for the effects of one fold alone, and the third for both together. The docstring of the model
    defines the variances.
    """
    threshold, separation = design.rho
    threshold = threshold if rho is None else rho[:, None]
    threshold_variance = (ratio[:, None] * error) ** 2
    n_independent = np.maximum(1 / error**2 * design.effect / design.totals_effect, 1)
    luck = 0 if design.fixed else 1 / n_independent
    separation_variance = np.full((len(ratio), 1), (design.separation * design.smaller * unit) ** 2)
    if design.halves is not None:
        separation_variance += SEPARATION_OF_SPREAD * (ratio[:, None] * unit) ** 2
    common = np.hstack([separation * separation_variance, threshold * threshold_variance + luck])
    alone = np.hstack(
        [(1 - separation) * separation_variance, (1 - threshold) * threshold_variance]
    )
    return (
        np.sqrt(common),
        np.sqrt(alone),
        np.sqrt(common + alone),
    )


def centred_spreads(common_sd: np.ndarray, fold_sd: np.ndarray, folds: int) -> np.ndarray:
    """
    Return the standard deviations of all effects, without the part contained in the rates.

    The posterior of the rates contains the variance ``common_sd**2 + fold_sd**2 / folds``. It is
    subtracted `CENTRING` times from the total variance ``common_sd**2 + fold_sd**2``.
    """
    carried = common_sd**2 + fold_sd**2 / folds
    return np.sqrt(np.maximum(common_sd**2 + fold_sd**2 - CENTRING * carried, 0))


def node_shares(totals, design, size, uniform=None):
    """Return the share of each class: known, as in the sample, or drawn from its posterior."""
    if design.shares is not None:
        return design.shares[None]
    if design.fixed:
        return (totals / totals.sum())[None]
    weights = design.prior.sum(-1) + totals
    if len(totals) == 2:
        grid = np.linspace(0.001, 0.999, 200) * (1 - 2e-6) + 1e-6
        positive = np.interp(uniform, grid, betaincinv(weights[1], weights[0], grid))
        return np.stack([1 - positive, positive], -1)
    gammas = np.random.default_rng(2).standard_gamma(weights, (size, len(weights)))
    return gammas / gammas.sum(-1, keepdims=True)


def shifted(rates: np.ndarray, effects: np.ndarray) -> np.ndarray:
    """Return log rates (..., C, C) plus effects (..., 1 + C), up to a row constant."""
    diagonal = effects[..., :1, None] * np.eye(rates.shape[-1])
    return rates + effects[..., None, 1:] + diagonal


# Two classes: a lattice over the spread, the common effects and the rates.

_SIZE = 2048
_CLASSES_SIZE = 2000
# Generator of a lattice sequence whose first 2**m points are evenly spread for m <= 20 (Cools, Kuo
# & Nuyens, 2006).
_GENERATOR = np.array([1, 182667, 469891, 498753, 110745, 446247, 250185, 118627])
_GRID = np.linspace(-5.5, 5.5, 45)
_HEAVIER = 0.8  # proportion of the counts that the density of the nodes uses, for heavier tails


def fold_nodes(
    cells: np.ndarray, design: Design, rng: np.random.Generator | None = None, size=None
):
    """
    Return the nodes of one cross-validation.

    Parameters
    ----------
    cells : ndarray, shape (M, C, C)
    design : Design
    rng : numpy.random.Generator, optional
        Generator of a random shift of the lattice. Without it, the nodes are always the same.
    size : int, optional
        Number of nodes. Default: 2,048 for two classes, and 2,000 for more.

    Returns
    -------
    Nodes
    """
    classes = cells.shape[-1]
    size = size or (_SIZE if classes == 2 else _CLASSES_SIZE)
    if classes > 2:
        rng = np.random.default_rng(classes) if rng is None else rng
        return nodes_of_many_classes(cells, design, size, rng)
    uniform = _lattice(size, rng)
    error, unit = units(cells, design)
    cells = cells / design.effect

    rho = np.full(size, design.rho[0])
    if design.halves is not None:
        rho, uniform = uniform[:, 1], np.delete(uniform, 1, axis=1)
    spread, log_prior = _spread_nodes(cells, design, error, unit, uniform[:, 0])
    effects = ndtri(uniform[:, 1 : classes + 2])
    common_sd, fold_sd, total = training_spreads(spread / unit, design, error, unit, rho)
    weighted = cells * (repeat_weight(cells, design) if design.repeats > 1 else 1.0)
    level, log_density = _level_nodes(weighted, design, uniform, fold_sd)
    log_weights = fold_likelihood(weighted, level, fold_sd) - log_density + log_prior
    if design.repeats > 1:
        log_weights += variance_likelihood(cells, fold_sd[:, 1:], design.repeats)
    if design.halves is not None:
        log_weights += halves_likelihood(design, spread / unit, error)
    rates = log_softmax(shifted(level, -common_sd * effects), axis=-1)
    log_weights += (design.prior * rates).sum((-2, -1))
    weights = np.exp(log_weights - log_weights.max())
    class_share = node_shares(
        independent_totals(cells * design.effect, design), design, size, uniform[:, -1]
    )
    centred = centred_spreads(common_sd, fold_sd, len(cells))
    return Nodes(weights / weights.sum(), rates, effects, spread, total, centred, class_share, rho)


def _spread_nodes(cells, design, error, unit, uniform):
    """
    Return nodes of the spread, and the log ratio of its prior density to their density.

    Even-numbered nodes come from the prior. The others are lognormal around a moment estimate from
    the folds or halves. If the folds differ much more than expected, the prior alone would place
    almost no nodes at plausible values.
    """
    scale = design.spread * (design.smaller * unit) ** (2 / 3)
    center = _spread_by_moments(cells, (0.3 * scale) ** 2) / np.sqrt(1 - design.rho[0])
    if design.halves is not None:
        center = spread_by_halves(design, error) * unit
    spread = scale * np.sqrt(2) * uniform / np.sqrt(1 - uniform**2)  # half-Student-t(2)
    spread[1::2] = center * np.exp(0.5 * ndtri(uniform[1::2]))
    prior = np.exp(log_half_student_t2(spread, scale))
    around = np.exp(-2 * np.log(spread / center) ** 2) / (spread * 0.5 * np.sqrt(2 * np.pi))
    return spread, np.log(prior / (prior + around))


def _spread_by_moments(cells, least):
    """Return the moment estimate of the spread from the threshold of each fold."""
    n = cells.sum(-1)
    full = (n > 0).all(-1)
    right = (np.diagonal(cells, axis1=-2, axis2=-1) + 0.5) / (n + 1)
    threshold = np.diff(special.logit(right), axis=-1)[full] / 2
    noise = (1 / ((n + 1) * right * (1 - right))).sum(-1)[full] / 4
    excess = threshold.var(0, ddof=1).max() - noise.mean() if full.sum() > 1 else 0
    return np.sqrt(max(excess, least))


def _lattice(size, rng):
    shift = 0.5 if rng is None else rng.random(len(_GENERATOR))
    points = np.arange(size)[:, None] * _GENERATOR % size / size + shift / size
    return np.clip((points + (0 if rng is None else shift)) % 1, 1e-9, 1 - 1e-9)


def _level_nodes(cells, design, uniform, fold_sd):
    """Return log rates of two classes near the pooled ones, and their log density."""
    pooled = cells.sum(0)
    level, log_density = np.zeros((len(uniform), 2, 2)), 0.0
    for row in range(2):
        negative, positive = pooled[row] * _HEAVIER + design.prior[row]
        quantiles = np.log(_beta_quantiles(positive, negative))
        log_odds = quantiles - np.log(_beta_quantiles(negative, positive))[::-1]
        z = ndtri(uniform[:, -3 + row])
        interval = np.clip(np.searchsorted(_GRID, z) - 1, 0, len(_GRID) - 2)
        slope = np.diff(log_odds)[interval] / np.diff(_GRID)[interval]
        # The thresholds of single folds add variance to the pooled counts.
        information = pooled[row].prod() / pooled[row].sum() + 0.5
        wider = np.sqrt(1 + (fold_sd[:, 1:] ** 2).sum(-1) / len(cells) * information)
        middle = log_odds[len(log_odds) // 2]
        level[:, row, 1] = middle + wider * (np.interp(z, _GRID, log_odds) - middle)
        log_density = log_density - z**2 / 2 - np.log(slope * wider)
    return log_softmax(level, axis=-1), log_density


def _beta_quantiles(a, b):
    return np.maximum(betaincinv(a, b, ndtr(_GRID)), 1e-250)


# More than two classes: nodes with nearly equal weights, and a grid of the spread.

# Values of the spread, in units of the scale of its prior.
_SPREAD_GRID = np.geomspace(0.01, 100, 60)
_RHO_GRID = (np.arange(8) + 0.5) / 8


def nodes_of_many_classes(cells, design: Design, size: int, rng: np.random.Generator) -> Nodes:
    """
    Return the nodes of one cross-validation, for any number of classes.

    The spread is sampled from a grid (`_draw_spreads`), and the common effects from their prior.
    The level is sampled from the Dirichlet posterior of the pooled counts and moved by the mean of
    the effects of the single folds. The weights replace the prior of the level by the prior of the
    typical rates.

    Parameters
    ----------
    cells : ndarray, shape (M, C, C)
    design : Design
    size : int
        Number of nodes.
    rng : numpy.random.Generator
    """
    error, unit = units(cells, design)
    cells = cells / design.effect
    weighted = cells * (repeat_weight(cells, design) if design.repeats > 1 else 1.0)
    pooled = weighted.sum(0) + design.prior
    spread, rho = _draw_spreads(cells, weighted, design, error, unit, size, rng)
    effects = rng.standard_normal((size, len(error) + 1))
    common_sd, fold_sd, total = training_spreads(spread / unit, design, error, unit, rho)
    gammas = np.maximum(rng.standard_gamma(pooled, (size, *pooled.shape)), 1e-250)
    mean_effects = fold_sd / np.sqrt(len(cells)) * rng.standard_normal(fold_sd.shape)
    level = log_softmax(shifted(np.log(gammas), mean_effects), axis=-1)
    rates = log_softmax(shifted(level, -common_sd * effects), axis=-1)
    # The Dirichlet prior applies to the typical rates, not to the level.
    log_weights = (design.prior * (rates - level)).sum((-2, -1))
    weights = np.exp(log_weights - log_weights.max())
    class_share = node_shares(independent_totals(cells * design.effect, design), design, size)
    centred = centred_spreads(common_sd, fold_sd, len(cells))
    return Nodes(weights / weights.sum(), rates, effects, spread, total, centred, class_share, rho)


def _draw_spreads(cells, weighted, design, error, unit, size, rng):
    """
    Sample the spread and rho of the thresholds from their posterior on a grid.

    The level is fixed at the pooled rates. A factor from `_information` corrects for not
    integrating over it.
    """
    scale = design.spread * (design.smaller * unit) ** (2 / 3)
    rhos = np.array([design.rho[0]]) if design.halves is None else _RHO_GRID
    spread, rho = (grid.ravel() for grid in np.meshgrid(scale * _SPREAD_GRID, rhos))
    _, fold_sd, _ = training_spreads(spread / unit, design, error, unit, rho)
    pooled = weighted.sum(0) + design.prior
    rates = pooled / pooled.sum(-1, keepdims=True)
    level = np.broadcast_to(np.log(rates), (len(spread), *rates.shape))
    logs = fold_likelihood(weighted, level, fold_sd)
    information = _information(weighted.sum(0), rates) / len(cells)
    logs = logs + np.log1p(fold_sd**2 * information).sum(-1) / 2
    if design.repeats > 1:
        logs += variance_likelihood(cells, fold_sd[:, 1:], design.repeats)
    if design.halves is not None:
        logs += halves_likelihood(design, spread / unit, error)
    # The grid is uniform in log(spread), so the density is multiplied by the spread. The prior of
    # rho is uniform.
    logs += log_half_student_t2(spread, scale) + np.log(spread)
    mass = np.exp(logs - logs.max())
    cell = Weighted(np.stack([spread, rho], axis=1), mass / mass.sum()).choose(size, rng)
    within = np.log(_SPREAD_GRID[1] / _SPREAD_GRID[0]) * (rng.random(size) - 0.5)
    return spread[cell] * np.exp(within), rho[cell]


def _information(pooled, rates):
    """Return the information of all folds about the diagonal and each column, (1 + C,)."""
    n, right = pooled.sum(-1), np.diagonal(rates)
    columns = (n[:, None] * rates * (1 - rates)).sum(0)
    return np.concatenate([[(n * right * (1 - right)).sum()], columns])


# Effects of training on single folds: integrated out of the likelihood, or sampled for a tree.

_NEWTON_STEPS = 6
_CONVERGED = 1e-3  # in logits; Newton's next step would be of the order of its square


def fold_likelihood(cells, level, fold_sd):
    """
    Return the log likelihood of all folds, with fold effects integrated out.

    Laplace's method integrates over the effects of training on single folds. Their distribution
    is close to normal in both limits: if the effects are small compared with the information in one
    fold, and if the fold is large.

    Parameters
    ----------
    cells : ndarray, shape (M, C, C)
    level : ndarray, shape (N, C, C)
        Log rates.
    fold_sd : ndarray, shape (N, 1 + C)
        Standard deviations of the effects of training on one fold alone.

    Returns
    -------
    ndarray, shape (N,)
        Log likelihood, up to a constant.
    """
    folds, n_folds = np.unique(cells, axis=0, return_counts=True)
    log_likelihood = _two_classes if cells.shape[-1] == 2 else _many_classes
    return n_folds @ log_likelihood(folds, level, fold_sd)


def _two_classes(folds, level, fold_sd):
    """Return the log likelihood of each fold, (M, N), for threshold t and separation a."""
    t, a, (tt, aa, ta) = _mode_of_two_classes(folds, level, fold_sd)
    logs = _log_likelihood_of_two_classes(folds, level, fold_sd, t, a)
    return logs - (t**2 + a**2 + np.log(tt * aa - ta**2)) / 2


def _logits_of_two_classes(level, fold_sd, t, a):
    """Return the logits of specificity and recall after threshold t and separation a."""
    logit = level[:, [0, 1], [0, 1]] - level[:, [0, 1], [1, 0]]
    threshold, separation = np.hypot(fold_sd[:, 1], fold_sd[:, 2]), fold_sd[:, 0]
    by_threshold, by_separation = threshold * t, separation * a
    return logit[:, 0] - by_threshold + by_separation, logit[:, 1] + by_threshold + by_separation


def _log_likelihood_of_two_classes(folds, level, fold_sd, t, a):
    """Return the log likelihood of one or more folds at threshold t and separation a."""
    specificity, recall = _logits_of_two_classes(level, fold_sd, t, a)
    n, hits = folds.sum(-1)[..., None], np.diagonal(folds, axis1=-2, axis2=-1)[..., None]
    logs = hits[..., 0, :] * specificity - n[..., 0, :] * np.logaddexp(0, specificity)
    return logs + hits[..., 1, :] * recall - n[..., 1, :] * np.logaddexp(0, recall)


def _mode_of_two_classes(folds, level, fold_sd):
    """Return the mode, t and a, each (M, N), and minus the Hessian there: tt, aa and ta."""
    hits = folds[:, [0, 1], [0, 1], None]
    n = folds.sum(-1)[..., None]
    threshold, separation = np.hypot(fold_sd[:, 1], fold_sd[:, 2]), fold_sd[:, 0]
    t = a = np.zeros((len(folds), len(level)))
    for _ in range(_NEWTON_STEPS):
        specificity, recall = map(special.expit, _logits_of_two_classes(level, fold_sd, t, a))
        residual = [hits[:, 0] - n[:, 0] * specificity, hits[:, 1] - n[:, 1] * recall]
        weight = [n[:, 0] * specificity * (1 - specificity), n[:, 1] * recall * (1 - recall)]
        total = weight[0] + weight[1]
        tt, aa = 1 + threshold**2 * total, 1 + separation**2 * total
        ta = threshold * separation * (weight[1] - weight[0])
        slope_t = threshold * (residual[1] - residual[0]) - t
        slope_a = separation * (residual[1] + residual[0]) - a
        determinant = tt * aa - ta**2
        step_t, step_a = aa * slope_t - ta * slope_a, tt * slope_a - ta * slope_t
        # Limit each step to one logit. If the mode is far away, the Newton step is far too long.
        far = (threshold * abs(step_t) + separation * abs(step_a)) / determinant
        shorter = determinant * np.maximum(1, far)
        t, a = t + step_t / shorter, a + step_a / shorter
        if far.max() < _CONVERGED:
            break
    return t, a, (tt, aa, ta)


def _many_classes(folds, level, fold_sd):
    """Return the log likelihood of each fold, (M, N), for any number of classes."""
    logs = np.empty((len(folds), len(level)))
    for row, fold in enumerate(folds):
        derivatives = partial(_derivatives, fold, level, fold_sd)
        effects, hessian = laplace.mode(np.zeros_like(fold_sd), derivatives)
        rates = log_softmax(shifted(level, fold_sd * effects), axis=-1)
        logs[row] = (fold * rates).sum((-2, -1)) - (effects**2).sum(-1) / 2
        logs[row] -= np.linalg.slogdet(hessian)[1] / 2
    return logs


def _derivatives(fold, level, fold_sd, effects):
    """Return the gradient and minus the Hessian of the log density of standardised effects."""
    rates = softmax(shifted(level, fold_sd * effects), axis=-1)
    gradient, curvature = _expansion(fold, rates)
    hessian = curvature * fold_sd[:, :, None] * fold_sd[:, None, :] + np.eye(fold_sd.shape[-1])
    return gradient * fold_sd - effects, hessian


def _expansion(fold, rates):
    """Return gradient (N, 1 + C) and curvature (N, 1 + C, 1 + C) with respect to the effects."""
    n, hits = fold.sum(-1), np.diagonal(fold)
    right = np.diagonal(rates, axis1=-2, axis2=-1)
    expected = np.einsum("i,nij->nj", n, rates)
    gradient = np.column_stack([(hits - n * right).sum(-1), fold.sum(0) - expected])
    curvature = np.empty((*gradient.shape, gradient.shape[-1]))
    curvature[:, 0, 0] = (n * right * (1 - right)).sum(-1)
    mixed = n * right - np.einsum("i,ni,nij->nj", n, right, rates)
    curvature[:, 0, 1:] = curvature[:, 1:, 0] = mixed
    outer = np.einsum("i,nij,nil->njl", n, rates, rates)
    curvature[:, 1:, 1:] = expected[..., None] * np.eye(len(n)) - outer
    return gradient, curvature


def draw_fold_effects(fold, level, fold_sd, rng):
    """Sample the standardised effects of one fold, shape (N, 1 + C), given the nodes."""
    draw = _effects_of_two_classes if fold.shape[-1] == 2 else _effects_of_many_classes
    return draw(fold, level, fold_sd, rng)


def _effects_of_two_classes(fold, level, fold_sd, rng, tries=16):
    """
    Sample from the normal approximation at the mode, and choose by importance weight.

    The likelihood depends on the two thresholds only through their scaled difference t. In the
    orthogonal direction, they keep their prior.
    """
    t, a, (tt, aa, ta) = _mode_of_two_classes(fold[None], level, fold_sd)
    z_t, z_a = rng.standard_normal((2, tries, len(level)))
    # The precision is [[tt, ta], [ta, aa]]. Sample t from its marginal distribution, then a given
    # t.
    from_mode = z_t / np.sqrt(tt - ta**2 / aa)
    t, a = t + from_mode, a - ta / aa * from_mode + z_a / np.sqrt(aa)
    logs = _log_likelihood_of_two_classes(fold, level, fold_sd, t, a)
    logs += (z_t**2 + z_a**2 - t**2 - a**2) / 2
    chosen = _chosen(logs, rng, axis=0), np.arange(len(level))
    t, a = t[chosen], a[chosen]
    across, angle = rng.standard_normal(len(level)), np.arctan2(fold_sd[:, 1], fold_sd[:, 2])
    first = across * np.cos(angle) - t * np.sin(angle)
    second = across * np.sin(angle) + t * np.cos(angle)
    return np.stack([a, first, second], -1)


def _effects_of_many_classes(fold, level, fold_sd, rng, tries=100):
    """Sample from the prior, and choose one of the draws with the likelihood as the weight."""
    effects = rng.standard_normal((len(level), tries, fold_sd.shape[-1]))
    rates = log_softmax(shifted(level[:, None], fold_sd[:, None] * effects), axis=-1)
    chosen = _chosen((fold * rates).sum((-2, -1)), rng, axis=-1)
    return effects[np.arange(len(level)), chosen]


def _chosen(logs, rng, axis):
    """Return sampled indices, with probabilities proportional to exp(logs)."""
    # The argmax of logs with Gumbel noise has this distribution (Gumbel-max trick).
    return (logs + rng.gumbel(size=logs.shape)).argmax(axis)


def draw_variables(cells, design: Design, size: int, rng: np.random.Generator) -> dict:
    """Return draws of the variables of the PyMC model for one cross-validation."""
    pool = fold_nodes(cells, design, rng, 2 ** int(np.ceil(np.log2(max(4 * size, _SIZE)))))
    index = rng.choice(len(pool.weights), size, p=pool.weights)
    rates, effects, spread = pool.rates[index], pool.effects[index], pool.spread[index]
    error, unit = units(cells, design)
    cells = cells / design.effect
    rho = pool.rho[index]
    common_sd, fold_sd, _ = training_spreads(spread / unit, design, error, unit, rho)
    level = log_softmax(shifted(rates, common_sd * effects), axis=-1)
    omega = 1.0 if design.repeats == 1 else repeat_weight(cells, design)
    fold_effects = np.stack(
        [draw_fold_effects(fold * omega, level, fold_sd, rng) for fold in cells], 1
    )
    class_share = np.broadcast_to(
        pool.shares[index] if len(pool.shares) > 1 else pool.shares, (size, cells.shape[-1])
    )
    total, centred = pool.total[index], pool.centred[index]
    drawn = Nodes(np.ones(size), rates, effects, spread, total, centred, class_share, rho)
    common_sd[:, 0] = 0  # the luck of the test examples does not affect the classifiers
    level = log_softmax(shifted(rates, common_sd * effects), axis=-1)
    fold_rates = softmax(shifted(level[:, None], fold_sd[:, None] * fold_effects), axis=-1)
    return {
        "rates": np.exp(rates),
        "spread": spread,
        "rho_threshold": rho,
        "separation": effects[:, 0],
        "threshold": effects[:, 1:],
        "separation_fold": fold_effects[..., 0],
        "threshold_fold": fold_effects[..., 1:],
        "prevalence": class_share,
        "theta_fold": class_share[:, None, :, None] * fold_rates,
        "theta_new": drawn.trained(total),
        "theta_expected": drawn.trained(centred),
    }


# Information about the spread of the thresholds in the variance over folds, repeats and halves.


def repeat_weight(cells: np.ndarray, design: Design) -> float:
    """Return the power of the likelihood of repeats. See the model's `repeat_weight`."""
    repeats = design.repeats
    tables = cells.reshape(repeats, -1, *cells.shape[-2:]).sum(1)
    n, right = tables.sum(-1), np.diagonal(tables, axis1=-2, axis2=-1)
    log_odds = np.log((right + 0.5) / (n - right + 0.5)).mean(-1)
    typical = (right.mean(0) + 0.5) / (n.mean(0) + 1)
    error = (1 / (n.mean(0) * typical * (1 - typical))).mean() / n.shape[-1]
    observed = repeats * log_odds.var() / error
    ratio = (PRIOR_REPEATS * DISAGREEMENT + observed) / (PRIOR_REPEATS + repeats - 1)
    return 1 / (repeats * (1 - min(ratio, MOST_DISAGREEMENT) * (1 - 1 / repeats)))


def variance_likelihood(cells: np.ndarray, fold_sd: np.ndarray, repeats: int) -> np.ndarray:
    """
    Return the log density of the variance over folds of the numbers of predictions.

    It is the log of the gamma density of V in the docstring of the model.

    Parameters
    ----------
    cells : ndarray, shape (M, C, C)
    fold_sd : ndarray, shape (N, C)
        Standard deviations of the thresholds of one fold alone.
    repeats : int

    Returns
    -------
    ndarray, shape (N,)
    """
    variance, trace, squares, degrees = fold_variance(cells, repeats)
    return log_scaled_chi2(variance, trace + fold_sd**2 @ squares, degrees)


def fold_variance(cells, repeats):
    """
    Return V of the model, and the parameters of its distribution.

    V is the variance over folds of the numbers of predictions. S is the covariance matrix of these
    numbers for equal classifiers. The parameters are the trace of S, the column sums of its squared
    entries, and the degrees of freedom.
    """
    tables = cells.reshape(repeats, -1, *cells.shape[-2:])
    folds, classes = tables.shape[1], tables.shape[-1]
    pooled = tables.sum(1)
    rates = pooled / np.maximum(pooled.sum(-1, keepdims=True), 1)
    gap = tables.sum(-2) - np.einsum("rki,rij->rkj", tables.sum(-1), rates)
    variance = (gap**2).sum() / (repeats * (folds - 1))
    total = pooled.sum(0)
    rates = (total + 0.5) / (total.sum(-1, keepdims=True) + classes / 2)
    size = total.sum(-1) / (repeats * folds)
    covariance = np.diag(size @ rates) - np.einsum("i,ij,il->jl", size, rates, rates)
    trace, squares = np.trace(covariance), (covariance**2).sum(0)
    degrees = repeats * (folds - 1) * trace**2 / squares.sum()
    return max(variance, LEAST_VARIANCE * trace), trace, squares, degrees


def log_scaled_chi2(variance, mean, degrees):
    """Return the log density of a scaled chi-squared variable with this mean at a variance."""
    shape, scale = degrees / 2, 2 * mean / degrees
    # The density is written out because importing `scipy.stats` would take longer than computing
    # the posterior.
    log = special.xlogy(shape - 1, variance) - variance / scale
    return log - special.gammaln(shape) - shape * np.log(scale)


def halves_likelihood(design: Design, ratio: np.ndarray, error: np.ndarray) -> np.ndarray:
    r"""
    Return the log density of the variance between disjoint halves, shape (N,).

    The density has the same form as in `variance_likelihood`. The variance of the threshold of
    class l is :math:`0.6 \sigma_l^2 + 3 / n_l` (`HALF_RATE` and `HALF_NOISE`). For R halvings, the
    degrees of freedom are divided by :math:`1 + (R - 1) / 20` (`HALF_REPEATS`).

    Parameters
    ----------
    design : Design
    ratio : ndarray, shape (N,)
        Spread of the thresholds, divided by u.
    error : ndarray, shape (C,)
        Standard error of each class, from `units`.
    """
    assert design.halves is not None
    repeats = len(design.halves)
    cells = design.halves.reshape(-1, *design.halves.shape[-2:]) / design.effect
    variance, trace, squares, degrees = fold_variance(cells, repeats)
    between = (HALF_RATE * ratio**2 + HALF_NOISE)[:, None] * error**2
    degrees = degrees / (1 + (repeats - 1) / HALF_REPEATS)
    return log_scaled_chi2(variance, trace + between @ squares, degrees)


def spread_by_halves(design: Design, error: np.ndarray) -> float:
    """Return the moment estimate, from halves, of the spread of the thresholds divided by u."""
    assert design.halves is not None
    cells = design.halves.reshape(-1, *design.halves.shape[-2:]) / design.effect
    variance, trace, squares, _ = fold_variance(cells, len(design.halves))
    excess = (variance - trace) / (error**2 @ squares) - HALF_NOISE
    return float(np.sqrt(max(excess / HALF_RATE, 0.5)))


def equal_thresholds_p_value(cells: np.ndarray, design: Design) -> float:
    """Return the p value of a test that all folds (M, C, C) have equal thresholds."""
    variance, trace, _, degrees = fold_variance(cells / design.effect, design.repeats)
    return float(special.chdtrc(degrees, variance * degrees / trace))
