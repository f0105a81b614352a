"""The direct sibling of `bayescm.models.crossed_groups`: effects by Laplace, and weighted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit, logit

from bayescm.evidence.counts import is_outcomes
from bayescm.inference.importance import Weighted, explore
from bayescm.posteriors.base import (
    FINITE_DRAWS,
    Posterior,
    as_labelled_counts,
    class_shares,
    prior_of,
    shares_of,
)
from bayescm.posteriors.groups.random_effects import Block
from bayescm.validate import fail, suggest

# Main effects of several attributes: one for each level, or a slope and a curve of numbers.

_KNOTS, _FEWEST = 6, 5


def check_smooth(counts: xr.DataArray, smooth: Any) -> tuple[str, ...]:
    """Return the names of smooth attributes, or raise where one cannot be."""
    if not isinstance(smooth, (str, Sequence, set, frozenset)):
        todo = 'pass e.g. smooth="age"'
        raise fail("smooth must be names of attributes", smooth, "names", todo, TypeError)
    names = (smooth,) if isinstance(smooth, str) else tuple(smooth)
    attributes = list(counts.dims[:-2])
    for name in names:
        if name not in attributes:
            todo = suggest(str(name), attributes)
            raise fail("smooth is of an attribute", name, attributes, todo)
        levels = counts[name].values if name in counts.coords else np.array(["?"])
        if levels.dtype.kind not in "iuf" or not np.isfinite(levels).all():
            todo = "give numbers as labels, or leave smooth out"
            raise fail(f"the labels of {name} are not numbers", levels[0], "numbers", todo)
        seen = len(np.unique(levels[_examples(counts, name) > 0]))
        if seen < _FEWEST:
            todo = "leave smooth out: few values are levels"
            raise fail(f"too few values of {name} for a curve", seen, f"{_FEWEST} or more", todo)
    return names


def terms_of(counts: xr.DataArray, smooth: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the term of every column, (L,), and the columns (G, L) in every cell."""
    owner, blocks, first = [], [], 0
    for dim, place in zip(counts.dims, np.indices(counts.shape[:-2]), strict=False):
        if dim in smooth:
            basis = curve_of(counts[dim].values.astype(float), _examples(counts, dim))
            own = np.minimum(np.arange(basis.shape[1]), 1)
        else:
            basis = np.eye(counts.sizes[dim])
            own = np.zeros(len(basis), int)
        owner.append(first + own)
        blocks.append(basis[place.ravel()])
        first += own[-1] + 1
    return np.concatenate(owner), np.concatenate(blocks, axis=1)


def curve_of(levels: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """
    Return the columns of a slope and of a curve, (levels, 1 + K), which goes on as a line.

    Parameters
    ----------
    levels : ndarray, shape (levels,)
    seen : ndarray, shape (levels,)
        Examples of each; levels without any do not move the knots.

    Examples
    --------
    >>> curve_of(np.arange(7.0), np.ones(7)).shape
    (7, 6)
    """
    share = seen / seen.sum()
    middle = share @ levels
    z = (levels - middle) / np.sqrt(share @ (levels - middle) ** 2)
    known = np.unique(z[seen > 0])
    knots = np.quantile(known, np.linspace(0, 1, 1 + min(_KNOTS, len(known) - 2)))
    squares = np.maximum(z[:, None] - knots, 0) ** 2 / 2
    curve = squares[:, :-1] - squares[:, 1:]
    # What a level and a slope say is not the curve's.
    line = np.stack([np.ones_like(z), z], axis=1)
    curve = curve - line @ (line.T @ (share[:, None] * curve))
    return np.concatenate([z[:, None], curve / np.sqrt(share @ (curve**2).sum(1))], axis=1)


def _examples(counts, dim):
    """Return how many examples every level of an attribute has."""
    axes = tuple(place for place, each in enumerate(counts.dims) if each != dim)
    return counts.values.sum(axes).astype(float)


# One binomial rate in the cells of several attributes: the scales are explored by importance, the
# effects integrated out by Laplace's method. Given scales the main effects are proposed from their
# normal approximation and weighted by the likelihood with the cells' own effects integrated out by
# quadrature.

_FREEDOM = 12
_ROUGH, _SCALES, _SIZE = 150, 500, 4000
_STEPS = 40


@dataclass(frozen=True, eq=False)
class Crossed(Block):
    """
    One rate, D = 1, in G cells.

    Its points (S, 1 + L + A + 1) are the logit in the middle, the main effects of all columns,
    and the logarithms of the scales of the A terms that these are of and of the interactions.

    Attributes
    ----------
    terms : tuple of ndarray
        The term of every column, (L,), in order, and the columns in every cell, (G, L).
    interaction : float
        Scale of the half-normal prior of the standard deviation of the interactions.
    """

    terms: tuple[np.ndarray, np.ndarray]
    interaction: float

    @cached_property
    def levels(self) -> tuple[np.ndarray, np.ndarray]:
        """The term of every column, and the design (G, 1 + L) of middle and main effects."""
        owner, design = self.terms
        return owner, np.concatenate([np.ones((len(design), 1)), design], axis=1)

    @property
    def _number(self):
        """The number of the terms."""
        return self.terms[0][-1] + 1

    def parts(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return middles (S,), main effects (S, L), their scales (S, A), interactions' (S,)."""
        size = 1 + len(self.terms[0])
        scales = np.exp(points[:, size:])
        return points[:, 0], points[:, 1:size], scales[:, :-1], scales[:, -1]

    def _distribution(self, points):
        own = points[:, : 1 + len(self.terms[0])]
        return [own @ self.levels[1].T], [[np.exp(points[:, -1:])]]

    def log_prior(self, points: np.ndarray) -> np.ndarray:
        """Return the log prior density of points (S, P), up to a constant."""
        middle, main, _, _ = self.parts(points)
        logs = points[:, 1 + len(self.terms[0]) :]
        deviations = np.exp(logs[:, self.levels[0]])
        normal = -np.log(deviations) - (main / deviations) ** 2 / 2
        return self._prior_of_middle(middle) + normal.sum(1) + self._prior_of_scales(logs)

    def _prior_of_middle(self, middle):
        a, b = self.prior[0]
        return a * middle - (a + b) * np.logaddexp(0, middle)

    def _prior_of_scales(self, logs):
        widths = np.array([self.scale] * self._number + [self.interaction])
        return (logs - (np.exp(logs) / widths) ** 2 / 2).sum(1)

    def laplace(self, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Integrate the effects out, given logarithms of scales (S, A + 1).

        Returns
        -------
        heights : ndarray, shape (S,)
            Log posterior densities of the scales, up to a constant.
        middle : ndarray, shape (S, 1 + L)
            Where the middle and the main effects are most probable.
        root : ndarray, shape (S, 1 + L, 1 + L)
            The lower Cholesky factor of their precision.
        """
        owner, design = self.levels
        heights = self._prior_of_scales(logs)
        logs = np.clip(logs, -12, 5)
        precision = np.concatenate([np.zeros((len(logs), 1)), np.exp(-2 * logs[:, owner])], axis=1)
        variance = np.exp(2 * logs[:, -1:])
        at, own = self._mode(precision, variance)
        _, weight, curve = self._curved(at, own, precision, variance)
        root = np.linalg.cholesky(curve)
        logits = at @ design.T + own
        heights += logits @ self.hits[:, 0] - np.logaddexp(0, logits) @ self.totals[:, 0]
        heights += self._prior_of_middle(at[:, 0])
        heights -= (precision * at**2).sum(1) / 2 + logs[:, owner].sum(1)
        heights -= (own**2 / variance + np.log1p(variance * weight)).sum(1) / 2
        return heights - _log_size(root), at, root

    def _mode(self, precision, variance):
        """Return middle and main effects (S, 1 + L) and the cells' own (S, G), by Newton."""
        design, (hits, totals), (a, b) = self.levels[1], self._column, self.prior[0]
        at, own = np.zeros(precision.shape), np.zeros((len(precision), len(design)))
        at[:, 0] = logit((hits.sum() + a) / (totals.sum() + a + b))
        for _ in range(_STEPS):
            rate, weight, curve = self._curved(at, own, precision, variance)
            off = hits - totals * rate
            slope = off @ design - precision * at
            slope[:, 0] += a - (a + b) * expit(at[:, 0])
            # The cells' own effects, whose curvature is diagonal, are solved for first.
            shrink, left = variance / (1 + variance * weight), off - own / variance
            slope -= (weight * shrink * left) @ design
            move = np.linalg.solve(curve, slope[..., None])[..., 0]
            moves = shrink * (left - weight * (move @ design.T))
            length = np.abs(move @ design.T + moves).max(1, keepdims=True)
            brake = np.minimum(1, 2 / np.maximum(length, 1e-12))
            at, own = at + brake * move, own + brake * moves
            if length.max() < 1e-6:
                break
        return at, own

    @property
    def _column(self):
        return self.hits[:, 0], self.totals[:, 0]

    def _curved(self, at, own, precision, variance):
        """Return rates and weights of the cells, and the curvature left for the main effects."""
        design, (a, b) = self.levels[1], self.prior[0]
        rate, common = expit(at @ design.T + own), expit(at[:, 0])
        weight = self.totals[:, 0] * rate * (1 - rate)
        square = (design[:, :, None] * design[:, None]).reshape(len(design), -1)
        curve = ((weight / (1 + variance * weight)) @ square).reshape(*at.shape, -1)
        diagonal = np.arange(at.shape[1])
        curve[:, diagonal, diagonal] += precision
        curve[:, 0, 0] += (a + b) * common * (1 - common)
        return rate, weight, curve

    @cached_property
    def points(self) -> Weighted:
        """Weighted points of the posterior of scales, middle and main effects."""
        widths = np.log([self.scale] * self._number + [self.interaction])
        bounds = [(width - 5, width + 1.5) for width in widths]
        found = explore(
            lambda logs: self.laplace(logs)[0], widths - 1, bounds, rough=_ROUGH, size=_SCALES
        )
        rng = np.random.default_rng(20240229)
        heights, at, root = self.laplace(found.points)
        edges = np.cumsum(found.weights) / found.weights.sum()
        chosen = np.searchsorted(edges, (np.arange(_SIZE) + 0.5) / _SIZE).clip(max=len(at) - 1)
        normal = rng.standard_normal((_SIZE, at.shape[1]))
        normal /= np.sqrt(rng.chisquare(_FREEDOM, (_SIZE, 1)) / _FREEDOM)
        turned = np.linalg.solve(root[chosen].transpose(0, 2, 1), normal[..., None])[..., 0]
        points = np.concatenate([at[chosen] + turned, found.points[chosen]], axis=1)
        proposal = heights[chosen] + _log_student(normal) + _log_size(root)[chosen]
        logs = self.log_posterior(points) - proposal
        weights = np.exp(logs - logs.max())
        weights = np.minimum(weights, weights.mean() * _SIZE**0.5)
        return Weighted(points, weights / weights.sum())


def _log_size(root):
    """Return the logarithm of the determinant of each root (S, D, D)."""
    return np.log(np.diagonal(root, axis1=1, axis2=2)).sum(1)


def _log_student(normal):
    """Return the log density of Student t numbers (S, D), up to a constant."""
    return -(_FREEDOM + normal.shape[1]) / 2 * np.log1p((normal**2).sum(1) / _FREEDOM)


# The posterior of the matrices of all cells.

_DEFAULT = 2  # pseudo-counts of a matrix, shared by its cells
# Dims of evidence whose members are no groups of examples.
_NO_ATTRIBUTES = {"batch", "classifier", "fold", "half", "repeat", "step"}


@dataclass(frozen=True, eq=False)
class CrossedGroups(Posterior):
    """
    The posterior of the matrices of all cells of several attributes.

    Attributes
    ----------
    counts : DataArray, dims (..., actual, predicted)
        Every leading dim is an attribute.
    concentration : ndarray, shape (C, C)
        Prior pseudo-counts of the cell in the middle.
    spread, interaction : float
        Scales of the half-normal priors of the standard deviations of main effects and of
        interactions, on the logit scale.
    shares : ndarray, shape (C,), or None
        Shares of the classes in the population of every cell, where they are known.
    smooth : tuple of str
        Attributes whose main effect is a slope and a curve.
    """

    sampling_method = "importance"
    counts: xr.DataArray
    concentration: np.ndarray
    spread: float
    interaction: float
    shares: np.ndarray | None
    smooth: tuple[str, ...] = ()

    @property
    def how(self) -> str:  # type: ignore[override]
        """How the draws are made, and how many independent ones they are worth at most."""
        return f"draws by importance sampling ({self.effective_draws:,.0f} effective)"

    @property
    def effective_draws(self) -> float:  # type: ignore[override]
        """The number of independent draws that the parameters are worth."""
        return min(each.points.effective for each in self.blocks)

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return how many draws are made: each has effects for every cell."""
        return FINITE_DRAWS

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the measure at the mean of the posterior of the cells, (..., [C])."""
        self.resolve_estimand(of)
        return measure(self._mean)

    @cached_property
    def _mean(self):
        drawn = self.variables(FINITE_DRAWS, np.random.default_rng(20240229))
        return drawn["theta"].mean(axis=0)

    @cached_property
    def blocks(self) -> list[Crossed]:
        """The rates that make up a matrix, each with effects of its own; see `rates_of`."""
        terms = terms_of(self.counts, self.smooth)
        cells = self.counts.values.astype(float).reshape(-1, self.concentration.size)
        weight = self.concentration.ravel()
        return [
            Crossed(
                (cells @ hits)[:, None],
                (cells @ (hits + rest))[:, None],
                np.array([[weight @ hits, weight @ rest]]),
                self.spread,
                terms,
                self.interaction,
            )
            for hits, rest in zip(*self._rates, strict=True)
        ]

    @cached_property
    def _rates(self):
        return rates_of(len(self.concentration))

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        drawn = [self._draw(each, size, rng) for each in self.blocks]
        found = {name: np.stack([each[name] for each in drawn], axis=-1) for name in drawn[0]}
        logits = found.pop("logits")
        found["theta"] = self._theta(logits)
        found["effect"] = found["effect"].reshape(size, *self.counts.shape[:-2], len(drawn))
        return found

    def _draw(self, block, size, rng):
        points = block.points.draw(size, rng)
        middle, main, spread, interaction = block.parts(points)
        effect = block.draw_effects(points, rng)
        return {
            "rates": expit(middle),
            "spread": spread,
            "interaction": interaction,
            "main": main / spread[:, block.levels[0]],
            "effect": effect[..., 0],
            "logits": block.logits(points, effect)[..., 0],
        }

    def _theta(self, logits):
        if self.shares is not None:
            known = np.log(self.shares[1:] / np.cumsum(self.shares)[:-1])
            logits[..., : len(known)] = known[::-1]
        hits, rest = self._rates
        logs = log_expit(logits) @ hits + log_expit(-logits) @ rest
        return np.exp(logs).reshape(len(logits), *self.counts.shape)


def rates_of(classes: int) -> tuple[np.ndarray, np.ndarray]:
    """
    Return which cells are hits and which misses of each rate, two arrays (R, C * C) of 0 and 1.

    The last class comes first. Each share is of the classes that are left; then row by row the
    right ones, and of the errors each of those that are left. Of two classes these are the
    prevalence, the recall and the specificity.

    Examples
    --------
    >>> hits, rest = rates_of(2)
    >>> hits.reshape(3, 2, 2).astype(int).tolist()
    [[[0, 0], [1, 1]], [[0, 0], [0, 1]], [[1, 0], [0, 0]]]
    >>> len(rates_of(4)[0])
    15
    """
    order = np.arange(classes)[::-1]
    pairs: list[tuple] = []
    for place, actual in enumerate(order[:-1]):
        pairs.append(((actual, slice(None)), (order[place + 1 :], slice(None))))
    for actual in order:
        cells = [actual, *order[order != actual]]
        for place, predicted in enumerate(cells[:-1]):
            pairs.append(((actual, predicted), (actual, cells[place + 1 :])))
    found = np.zeros((2, len(pairs), classes, classes))
    for rate, both in enumerate(pairs):
        for each, where in zip(found, both, strict=True):
            each[rate][where] = 1
    hits, rest = found.reshape(2, len(pairs), -1)
    return hits, rest


def crossed_groups(
    counts: xr.DataArray | ArrayLike,
    *,
    concentration: Any = None,
    spread: float = 1.0,
    interaction: float = 0.5,
    prevalence: float | None = None,
    smooth: str | Sequence[str] = (),
) -> CrossedGroups:
    """
    Return the posterior of the confusion matrices of all cells of several attributes.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted), or array_like, (..., C, C)
        Counts; each of the leading dims, two or more, is an attribute. A cell may be empty.
    concentration : float, array_like or DataArray, shape (C, C), optional
        Prior pseudo-counts > 0 of the cell in the middle; by default ``2 / C**2``.
    spread : float, default 1
        Scale of the half-normal prior of the standard deviations of main effects, on the logit
        scale; > 0.
    interaction : float, default 0.5
        The same for the interactions.
    prevalence : float or array_like, shape (C,), optional
        Share of the positive class in the population of every cell, inside (0, 1), or the shares of
        all classes, where they are known; by default those of the coord ``prevalence``.
    smooth : str or sequence of str, optional
        Attributes whose labels are numbers, such as age: a slope and a curve take the place of a
        main effect for each level. Values that nobody has are answered if they are levels:
        ``counts.reindex(age=range(20, 90), fill_value=0)``.

    Returns
    -------
    CrossedGroups

    Raises
    ------
    ValueError
        If there are fewer than two attributes, or a keyword is invalid; if the labels of a smooth
        attribute are not numbers, or fewer than five were seen.

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
        todo = "take one: from_predictions(actual, predicted, by={'sex': sex, 'age': age})"
        raise fail("crossed groups are of one classifier", "outcomes", "counts", todo)
    table = as_labelled_counts(counts)
    _check_dims(table)
    weight = prior_of(concentration, counts, table.dims[:-2])
    shape = table.shape[-2:]
    usual = _DEFAULT / np.prod(shape)
    weight = np.broadcast_to(np.asarray(usual if weight is None else weight, float), shape)
    if not ((weight > 0) & np.isfinite(weight)).all():
        todo = "pass e.g. concentration=0.5"
        raise fail("concentration must be positive", concentration, "numbers > 0", todo)
    for name, scale in {"spread": spread, "interaction": interaction}.items():
        if not isinstance(scale, (int, float, np.number)) or not 0 < scale < np.inf:
            todo = f"pass e.g. {name}=0.5, or a function through fit"
            raise fail(f"{name} must be a positive scale", scale, "a number > 0", todo)
    shares = shares_of(prevalence, counts, table)
    shares = None if shares is None else class_shares(shares, len(weight))
    wanted = check_smooth(table, smooth)
    return CrossedGroups(table, weight, float(spread), float(interaction), shares, wanted)


def _check_dims(table):
    attributes = table.dims[:-2]
    if wrong := _NO_ATTRIBUTES & set(attributes):
        todo = "sum over it or select one: counts.sum(dim), counts.sel(dim=...)"
        raise fail("these are no attributes of examples", sorted(wrong), "e.g. sex, age", todo)
    if len(attributes) < 2:
        todo = 'name them, by={"sex": ..., "age": ...}; one attribute is for hierarchical_groups'
        raise fail("fewer than two attributes", attributes, "two leading dims or more", todo)
