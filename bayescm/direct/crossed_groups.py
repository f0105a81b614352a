"""The direct sibling of `bayescm.models.crossed_groups`: effects by Laplace, and weighted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit

from bayescm.direct.base import FINITE_DRAWS, Posterior, class_shares, labelled, prior_of, shares_of
from bayescm.direct.groups.crossed import Crossed
from bayescm.direct.groups.smooth import check_smooth, terms_of
from bayescm.evidence.counts import is_outcomes
from bayescm.validate import fail

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
        return f"draws by importance sampling ({self.worth:,.0f} effective)"

    @property
    def worth(self) -> float:  # type: ignore[override]
        """The number of independent draws that the parameters are worth."""
        return min(each.points.effective for each in self.blocks)

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return how many draws are made: each has effects for every cell."""
        return FINITE_DRAWS

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the measure at the mean of the posterior of the cells, (..., [C])."""
        self.check_of(of)
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
    table = labelled(counts)
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
