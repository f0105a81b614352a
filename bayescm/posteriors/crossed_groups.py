r"""
Direct posterior of `bayescm.models.crossed_groups`, by importance sampling.

A matrix of C classes is a function of C**2 - 1 binomial rates (`rates_of`), which are independent
in the prior and in the posterior. For one of these rates, cell g has h_g hits among n_g examples.
Its logit is

.. math:: x_g = b_0 + (X b)_g + v_g, \qquad b_l \sim N(0, \tau_{a(l)}^2), \quad
    v_g \sim N(0, \omega^2).

Column l of the design X belongs to the term a(l): the levels of an attribute, or the slope or the
curve of a numeric attribute. The computation has two stages (`CrossedRates`):

1. Given the scales :math:`(\tau, \omega)`, the effects b and v are integrated out by Laplace's
   method (Tierney and Kadane 1986). Newton's method finds their mode. The resulting posterior of
   the few scales is explored by importance sampling (`bayescm.inference.importance`). The curvature
   of the interactions v is diagonal, so block elimination leaves a system for b only.
2. For scales sampled from this posterior, b is proposed from a Student t distribution around its
   mode (`bayescm.inference.nested_laplace`). The weight is the posterior density with v integrated
   out by adaptive Gauss-Hermite quadrature, as in `bayescm.posteriors.logit_normal_groups`. The
   weights correct the approximation of stage 1.

References
----------
Tierney, L. & Kadane, J. B. (1986). Accurate approximations for posterior moments and marginal
densities. Journal of the American Statistical Association 81, 82-86.
doi:10.1080/01621459.1986.10478240
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit, logit

from bayescm.distributions.dirichlet import default_concentration
from bayescm.distributions.log_densities import log_half_normal
from bayescm.evidence.counts import is_outcomes
from bayescm.inference.importance import Weighted, explore
from bayescm.inference.nested_laplace import NestedLaplace, log_determinant
from bayescm.posteriors.base import (
    FINITE_DRAWS,
    CountsPosterior,
    Posterior,
    as_labelled_counts,
    class_shares,
    kish_factors,
    prior_of,
    shares_of,
)
from bayescm.posteriors.dirichlet_multinomial import dirichlet_multinomial
from bayescm.posteriors.logit_normal_groups import LogitNormalRates
from bayescm.validate import fail, suggest

# Dims of evidence that are not attributes of examples.
_NO_ATTRIBUTES = {"batch", "classifier", "fold", "half", "repeat", "step"}


def crossed_groups(
    counts: xr.DataArray | ArrayLike,
    *,
    concentration: Any = None,
    spread: float = 1.0,
    interaction: float = 0.5,
    prevalence: float | None = None,
    smooth: str | Sequence[str] = (),
) -> "CrossedGroups":
    """
    Return the posterior of confusion matrices for all cells of several attributes.

    Use it if examples are divided by two or more attributes, such as sex and age, so that many
    cells have few or no examples. Cells are partially pooled.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted), or array_like, (..., C, C)
        Counts. Each leading dim is an attribute; at least two are required. A cell may be empty.
    concentration : float, array_like or DataArray, shape (C, C), optional
        Prior pseudo-counts > 0 of the typical matrix, for which all effects are 0. Default:
        ``2 / C**2``.
    spread : float, default 1
        Scale > 0 of the half-normal prior for the standard deviations of main effects, on the logit
        scale.
    interaction : float, default 0.5
        Scale > 0 of the half-normal prior for the standard deviations of interactions, on the logit
        scale.
    prevalence : float or array_like, shape (C,), optional
        Known proportion of positives in the population of each cell, inside (0, 1), or known shares
        of all classes. Default: the coord ``prevalence``, if any.
    smooth : str or sequence of str, optional
        Attributes with numeric labels, such as age. A slope and a curve replace the main effects of
        the levels. To estimate unobserved values, add them as levels:
        ``counts.reindex(age=range(20, 90), fill_value=0)``.

    Returns
    -------
    CrossedGroups

    Raises
    ------
    ValueError
        If there are fewer than two attributes, or an argument is invalid. If the labels of a smooth
        attribute are not numbers, or fewer than five of the labels were observed.

    Examples
    --------
    >>> import bayescm as bcm
    >>> women = [[[20, 3], [4, 9]], [[30, 6], [3, 30]]]
    >>> men = [[[9, 1], [0, 4]], [[0, 0], [0, 0]]]
    >>> counts = bcm.from_matrix([women, men], dims=("sex", "age"))
    >>> crossed_groups(counts).point(bcm.measures.resolve("recall")).shape
    (2, 2)
    """
    if is_outcomes(counts):
        raise fail(
            "crossed_groups needs counts of one classifier, not outcomes",
            ...,
            "",
            "use one classifier: `from_predictions(actual, predicted, by={'sex': sex, "
            "'age': age})`",
        )
    table = as_labelled_counts(counts)
    _check_attributes(table)
    weight = prior_of(concentration, counts, table.dims[:-2])
    shape = table.shape[-2:]
    weight = default_concentration(shape[0]) if weight is None else weight
    weight = np.broadcast_to(np.asarray(weight, float), shape)
    if not ((weight > 0) & np.isfinite(weight)).all():
        todo = "pass e.g. `concentration=0.5`"
        raise fail("`concentration` must be finite numbers > 0", concentration, "", todo)
    for name, scale in {"spread": spread, "interaction": interaction}.items():
        if not isinstance(scale, (int, float, np.number)) or not 0 < scale < np.inf:
            todo = f"pass e.g. {name}=0.5, or a function from a name to a PyMC variable"
            raise fail(f"{name} must be a finite number > 0", scale, "", todo)
    shares = shares_of(prevalence, counts, table)
    shares = None if shares is None else class_shares(shares, len(weight))
    names = _smooth_attributes(table, smooth)
    return CrossedGroups(table, weight, float(spread), float(interaction), shares, names)


def _check_attributes(table):
    attributes = table.dims[:-2]
    if wrong := _NO_ATTRIBUTES & set(attributes):
        todo = "sum over it or select one: counts.sum(dim), counts.sel(dim=...)"
        raise fail(
            "The dimensions {} are not attributes of examples, such as sex or age",
            sorted(wrong),
            "",
            todo,
        )
    if len(attributes) < 2:
        raise fail(
            "crossed_groups needs two or more attributes",
            attributes,
            "",
            'name them, `by={"sex": ..., "age": ...}`; for one attribute, use hierarchical_groups',
        )


def _smooth_attributes(counts, smooth):
    """Return the names of smooth attributes, or raise an error if one is invalid."""
    if not isinstance(smooth, (str, Sequence, set, frozenset)):
        todo = 'pass e.g. `smooth="age"`'
        raise fail("`smooth` must be names of attributes", smooth, "", todo, TypeError)
    names = (smooth,) if isinstance(smooth, str) else tuple(smooth)
    attributes = list(counts.dims[:-2])
    for name in names:
        if name not in attributes:
            todo = suggest(str(name), attributes)
            raise fail("Unknown attribute {} to smooth", name, attributes, todo)
        levels = counts[name].values if name in counts.coords else np.array(["?"])
        if levels.dtype.kind not in "iuf" or not np.isfinite(levels).all():
            todo = "give numbers as labels, or leave `smooth` out"
            raise fail(
                f"The labels of {name} must be numbers for a smooth curve", levels[0], "", todo
            )
        n_levels = len(np.unique(levels[_examples(counts, name) > 0]))
        if n_levels < _FEWEST_LEVELS:
            raise fail(
                f"{name} has {n_levels} values, but a smooth curve needs at least {_FEWEST_LEVELS}",
                ...,
                "",
                "leave `smooth` out, so that the values are treated as levels",
            )
    return names


@dataclass(frozen=True, eq=False)
class CrossedGroups(CountsPosterior):
    """
    Posterior of the matrices of all cells of several attributes.

    Attributes
    ----------
    counts : DataArray, dims (..., actual, predicted)
        Counts. Each leading dim is an attribute.
    concentration : ndarray, shape (C, C)
        Prior pseudo-counts of the typical matrix, for which all effects are 0.
    spread, interaction : float
        Scales of the half-normal priors for the standard deviations of main effects and of
        interactions, on the logit scale.
    shares : ndarray, shape (C,), or None
        Shares of the classes in the population of each cell, if known.
    smooth : tuple of str
        Attributes whose main effect is a slope and a curve.
    """

    knows_weights = True
    partially_pooled = True
    sampling_method = "importance"
    counts: xr.DataArray
    concentration: np.ndarray
    spread: float
    interaction: float
    shares: np.ndarray | None
    smooth: tuple[str, ...] = ()

    @property
    def how(self) -> str:  # type: ignore[override]
        """Description of the method, with the effective number of independent draws."""
        return f"draws by importance sampling ({self.effective_draws:,.0f} effective)"

    @property
    def effective_draws(self) -> float:  # type: ignore[override]
        """The effective number of independent draws of the parameters."""
        return min(rate.parameters.effective for rate in self.rates)

    @cached_property
    def apart(self) -> Posterior | None:  # type: ignore[override]
        """The posterior of each cell without pooling. None with weights or known shares."""
        if "effective" in self.counts.coords or self.shares is not None:
            return None
        return dirichlet_multinomial(self.counts, concentration=self.concentration)

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the default number of draws. Each draw includes the effects of all cells."""
        return FINITE_DRAWS

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the measure at the posterior mean of the cells, (..., [C])."""
        self.resolve_estimand(of)
        return measure(self._mean)

    @cached_property
    def _mean(self):
        drawn = self.variables(FINITE_DRAWS, np.random.default_rng(20240229))
        return drawn["theta"].mean(axis=0)

    @cached_property
    def rates(self) -> "list[CrossedRates]":
        """The posterior of each rate of a matrix. See `rates_of`."""
        terms, columns = _design(self.counts, self.smooth)
        cells = self.counts.values.astype(float).reshape(-1, self.concentration.size)
        weight = self.concentration.ravel()
        hits_and_misses = list(zip(*rates_of(len(self.concentration)), strict=True))
        # With importance weights, each rate uses its own effective number of examples.
        parts = np.stack([hits + misses for hits, misses in hits_and_misses])
        factors = kish_factors(self.counts, parts).reshape(-1, len(parts)).T[..., None]
        return [
            CrossedRates(
                (cells @ hits)[:, None] * factor,
                (cells @ (hits + misses))[:, None] * factor,
                np.array([[weight @ hits, weight @ misses]]),
                self.spread,
                terms,
                columns,
                self.interaction,
            )
            for (hits, misses), factor in zip(hits_and_misses, factors, strict=True)
        ]

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the corresponding PyMC model."""
        drawn = [rate.draw(size, rng) for rate in self.rates]
        variables = {name: np.stack([draws[name] for draws in drawn], axis=-1) for name in drawn[0]}
        variables["theta"] = self._theta(variables.pop("logits"))
        effect = variables["effect"]
        variables["effect"] = effect.reshape(size, *self.counts.shape[:-2], len(drawn))
        return variables

    def _theta(self, logits):
        """Return cell probabilities (size, ..., C, C) for the logits (size, G, R) of all rates."""
        if self.shares is not None:
            shares = np.log(self.shares[1:] / np.cumsum(self.shares)[:-1])
            logits[..., : len(shares)] = shares[::-1]
        hits, misses = rates_of(len(self.concentration))
        logs = log_expit(logits) @ hits + log_expit(-logits) @ misses
        return np.exp(logs).reshape(len(logits), *self.counts.shape)


def rates_of(classes: int) -> tuple[np.ndarray, np.ndarray]:
    """
    Return indicators of the cells that are hits and misses of each rate.

    The first rates are the class shares, last class first: the share of a class among the classes
    that remain. Then, row by row, come the accuracy of the class and the share of each kind of
    error among the errors that remain. For two classes, the rates are the prevalence, the recall
    and the specificity.

    Returns
    -------
    hits, misses : ndarray, shape (R, C * C)
        Arrays of 0 and 1.

    Examples
    --------
    >>> hits, misses = rates_of(2)
    >>> hits.reshape(3, 2, 2).astype(int).tolist()
    [[[0, 0], [1, 1]], [[0, 0], [0, 1]], [[1, 0], [0, 0]]]
    >>> len(rates_of(4)[0])
    15
    """
    order = np.arange(classes)[::-1]
    pairs: list[tuple] = []
    for rank, actual in enumerate(order[:-1]):
        pairs.append(((actual, slice(None)), (order[rank + 1 :], slice(None))))
    for actual in order:
        row = [actual, *order[order != actual]]
        for rank, predicted in enumerate(row[:-1]):
            pairs.append(((actual, predicted), (actual, row[rank + 1 :])))
    hits, misses = np.zeros((2, len(pairs), classes, classes))
    for rate, (hit, miss) in enumerate(pairs):
        hits[rate][hit] = misses[rate][miss] = 1
    return hits.reshape(len(pairs), -1), misses.reshape(len(pairs), -1)


# One rate in all cells.

_ROUGH = 150  # number of draws of the scales in each round that adapts the proposal
_SCALES = 500  # number of draws of the scales in the last round
_SIZE = 4000  # number of draws of the effects, equal to the default number of draws
# Degrees of freedom of the proposal of the effects, so that its tails are heavier than the
# posterior's.
_FREEDOM = 12
_NEWTON_STEPS = 40  # largest number of Newton steps
_LONGEST_STEP = 2.0  # largest Newton step, in logits of a cell
_CONVERGED = 1e-6  # Newton's method stops after a step of this size, in logits
# Logarithms of the scales, in units of the scale of the prior.
_LOWER = -5.0  # lower limit; effects with smaller scales are negligible
_UPPER = 1.5  # upper limit, with prior probability 7e-6 above it
_START = -1.0  # start of the search for the mode
# Logarithms of scales are clipped to these bounds, beyond which precisions would overflow.
_LEAST_LOG_SCALE = -12
_GREATEST_LOG_SCALE = 5


@dataclass(frozen=True, eq=False)
class CrossedRates(LogitNormalRates):
    """
    Posterior of one rate (D = 1) in G cells, with A terms of main effects.

    The parameters (S, 1 + L + A + 1) are the intercept b_0, the main effects b, and the logarithms
    of the scales. The scales are tau, one per term, and omega for the interactions. The
    standardised effects of `LogitNormalRates` are the interactions.

    Attributes
    ----------
    terms : ndarray of int, shape (L,)
        Term of each column, in order.
    columns : ndarray, shape (G, L)
        Design of the main effects.
    interaction : float
        Scale of the half-normal prior for the standard deviation of the interactions.
    """

    terms: np.ndarray
    columns: np.ndarray
    interaction: float

    @cached_property
    def _regressors(self):
        """The columns of the intercept and of the main effects, (G, 1 + L)."""
        return np.concatenate([np.ones((len(self.columns), 1)), self.columns], axis=1)

    @property
    def _prior_scales(self):
        """The scales (A + 1,) of the half-normal priors for tau and omega."""
        return np.array([self.scale] * (self.terms[-1] + 1) + [self.interaction])

    def components(
        self, parameters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """
        Return intercepts (S,), main effects (S, L), and their scales (S, A).

        The last array contains the scales of the interactions, (S,).
        """
        size = 1 + len(self.terms)
        scales = np.exp(parameters[:, size:])
        return parameters[:, 0], parameters[:, 1:size], scales[:, :-1], scales[:, -1]

    def draw(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Sample the variables of the PyMC model of this rate, and its logits (size, G)."""
        parameters = self.parameters.draw(size, rng)
        middle, main, spread, interaction = self.components(parameters)
        effect = self.draw_effects(parameters, rng)
        return {
            "rates": expit(middle),
            "spread": spread,
            "interaction": interaction,
            "main": main / spread[:, self.terms],
            "effect": effect[..., 0],
            "logits": self.logits(parameters, effect)[..., 0],
        }

    def logit_distribution(self, parameters):
        """Return the mean of the logits given main effects, and the interaction scale."""
        coefficients = parameters[:, : 1 + len(self.terms)]
        return [coefficients @ self._regressors.T], [[np.exp(parameters[:, -1:])]]

    def log_prior(self, parameters: np.ndarray) -> np.ndarray:
        """Return the log prior density of parameters (S, P), up to a constant."""
        middle, main, _, _ = self.components(parameters)
        log_scales = parameters[:, 1 + len(self.terms) :]
        deviations = np.exp(log_scales[:, self.terms])
        normal = -np.log(deviations) - (main / deviations) ** 2 / 2
        total = self._log_prior_of_middle(middle) + normal.sum(1)
        return total + self._log_prior_of_scales(log_scales)

    def _log_prior_of_middle(self, middle):
        """Return the log prior for b_0, for a rate Beta(a, b), up to a constant."""
        a, b = self.prior[0]
        return a * middle - (a + b) * np.logaddexp(0, middle)

    def _log_prior_of_scales(self, log_scales):
        """Return the log prior for the logarithms of the half-normal scales."""
        scales = np.exp(log_scales)
        return (log_half_normal(scales, self._prior_scales) + log_scales).sum(1)

    @cached_property
    def parameters(self) -> Weighted:
        """Weighted draws of intercept, main effects and scales, with a fixed seed."""
        logs = np.log(self._prior_scales)
        scales = explore(
            lambda log_scales: self.laplace(log_scales).log_density,
            logs + _START,
            [(log + _LOWER, log + _UPPER) for log in logs],
            rough=_ROUGH,
            size=_SCALES,
        )
        rng = np.random.default_rng(20240229)
        # The scales are resampled systematically, with a fixed start and order.
        edges = np.cumsum(scales.weights) / scales.weights.sum()
        index = np.searchsorted(edges, (np.arange(_SIZE) + 0.5) / _SIZE).clip(max=len(edges) - 1)
        effects, log_proposal = self.laplace(scales.points).propose(index, rng, freedom=_FREEDOM)
        parameters = np.concatenate([effects, scales.points[index]], axis=1)
        return Weighted.from_logs(parameters, self.log_posterior(parameters) - log_proposal)

    def laplace(self, log_scales: np.ndarray) -> NestedLaplace:
        """
        Integrate the effects out, given logarithms of scales (S, A + 1).

        For each row of scales, the result approximates the distribution of the intercept and the
        main effects, (1 + L,).
        """
        log_heights = self._log_prior_of_scales(log_scales)
        logs = np.clip(log_scales, _LEAST_LOG_SCALE, _GREATEST_LOG_SCALE)
        precision = np.exp(-2 * logs[:, self.terms])
        precision = np.concatenate([np.zeros((len(logs), 1)), precision], axis=1)
        variance = np.exp(2 * logs[:, -1:])
        b, v = self._mode(precision, variance)
        _, weight, hessian = self._curvature(b, v, precision, variance)
        roots = np.linalg.cholesky(hessian)
        logits = b @ self._regressors.T + v
        log_heights += logits @ self.hits[:, 0] - np.logaddexp(0, logits) @ self.totals[:, 0]
        log_heights += self._log_prior_of_middle(b[:, 0])
        log_heights -= (precision * b**2).sum(1) / 2 + logs[:, self.terms].sum(1)
        log_heights -= (v**2 / variance + np.log1p(variance * weight)).sum(1) / 2
        factors = np.linalg.inv(roots).swapaxes(1, 2)
        return NestedLaplace(log_scales, b, factors, log_heights + log_determinant(factors))

    def _mode(self, precision, variance):
        """Return intercept and main effects (S, 1 + L) and interactions (S, G) at the mode."""
        x, hits, totals = self._regressors, self.hits[:, 0], self.totals[:, 0]
        prior_hits, prior_misses = self.prior[0]
        b, v = np.zeros(precision.shape), np.zeros((len(precision), len(x)))
        b[:, 0] = logit((hits.sum() + prior_hits) / (totals.sum() + prior_hits + prior_misses))
        for _ in range(_NEWTON_STEPS):
            rate, weight, hessian = self._curvature(b, v, precision, variance)
            residual = hits - totals * rate
            gradient = residual @ x - precision * b
            gradient[:, 0] += prior_hits - (prior_hits + prior_misses) * expit(b[:, 0])
            # The curvature of the interactions is diagonal, so they are eliminated first.
            shrinkage = variance / (1 + variance * weight)
            remainder = residual - v / variance
            gradient -= (weight * shrinkage * remainder) @ x
            step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
            step_of_v = shrinkage * (remainder - weight * (step @ x.T))
            longest = np.abs(step @ x.T + step_of_v).max(1, keepdims=True)
            damping = np.minimum(1, _LONGEST_STEP / np.maximum(longest, 1e-12))
            b, v = b + damping * step, v + damping * step_of_v
            if longest.max() < _CONVERGED:
                break
        return b, v

    def _curvature(self, b, v, precision, variance):
        """Return rates and weights of the cells, and the Hessian of b with v eliminated."""
        x, (prior_hits, prior_misses) = self._regressors, self.prior[0]
        rate, middle = expit(b @ x.T + v), expit(b[:, 0])
        weight = self.totals[:, 0] * rate * (1 - rate)
        squares = (x[:, :, None] * x[:, None]).reshape(len(x), -1)
        hessian = ((weight / (1 + variance * weight)) @ squares).reshape(*b.shape, -1)
        diagonal = np.arange(b.shape[1])
        hessian[:, diagonal, diagonal] += precision
        hessian[:, 0, 0] += (prior_hits + prior_misses) * middle * (1 - middle)
        return rate, weight, hessian


# Design of the main effects: a column for each level, or a slope and a curve for numeric levels.

_PIECES = 6  # largest number of pieces of a curve, as in the model file
_FEWEST_LEVELS = 5  # with fewer levels, a curve is not better than separate levels


def _design(counts, smooth):
    """Return the term of each column, (L,), and the columns (G, L) for all cells."""
    terms, columns, n_terms = [], [], 0
    for dim, level in zip(counts.dims, np.indices(counts.shape[:-2]), strict=False):
        if dim in smooth:
            basis = curve_basis(counts[dim].values.astype(float), _examples(counts, dim))
            term = np.minimum(np.arange(basis.shape[1]), 1)
        else:
            basis = np.eye(counts.sizes[dim])
            term = np.zeros(len(basis), int)
        terms.append(n_terms + term)
        columns.append(basis[level.ravel()])
        n_terms += term[-1] + 1
    return np.concatenate(terms), np.concatenate(columns, axis=1)


def curve_basis(levels: np.ndarray, examples: np.ndarray) -> np.ndarray:
    """
    Return the basis columns of a slope and of a curve with linear ends.

    The second derivative of the curve is constant between neighbouring knots. Beyond the outermost
    knots, it is 0, so the curve is linear there.

    Parameters
    ----------
    levels : ndarray, shape (levels,)
        Numeric labels.
    examples : ndarray, shape (levels,)
        Number of examples of each level. Levels without examples do not affect the knots.

    Returns
    -------
    ndarray, shape (levels, 1 + K)

    Examples
    --------
    >>> curve_basis(np.arange(7.0), np.ones(7)).shape
    (7, 6)
    """
    share = examples / examples.sum()
    middle = share @ levels
    z = (levels - middle) / np.sqrt(share @ (levels - middle) ** 2)
    observed = np.unique(z[examples > 0])
    knots = np.quantile(observed, np.linspace(0, 1, 1 + min(_PIECES, len(observed) - 2)))
    squares = np.maximum(z[:, None] - knots, 0) ** 2 / 2
    curve = squares[:, :-1] - squares[:, 1:]
    # The curve is made orthogonal to the level and the slope.
    line = np.stack([np.ones_like(z), z], axis=1)
    curve = curve - line @ (line.T @ (share[:, None] * curve))
    return np.concatenate([z[:, None], curve / np.sqrt(share @ (curve**2).sum(1))], axis=1)


def _examples(counts, dim):
    """Return the number of examples of each level of an attribute."""
    axes = tuple(axis for axis, name in enumerate(counts.dims) if name != dim)
    return counts.values.sum(axes).astype(float)
