"""The direct sibling of `bayescm.models.crossed_groups`: effects by Laplace, and weighted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import expit

from bayescm.direct.arguments import labelled, prior_of, shares_of
from bayescm.direct.base import FINITE_DRAWS, Posterior
from bayescm.direct.groups.crossed import Crossed
from bayescm.direct.groups.smooth import check_smooth, terms_of
from bayescm.evidence.counts import is_outcomes
from bayescm.validate import fail

_RATES = 3
_DEFAULT = 0.5
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
    concentration : ndarray, shape (2, 2)
        Prior pseudo-counts of the cell in the middle.
    spread, interaction : float
        Scales of the half-normal priors of the standard deviations of main effects and of
        interactions, on the logit scale.
    prevalence : float or None
        Share of the positive class in the population of every cell, where it is known.
    smooth : tuple of str
        Attributes whose main effect is a slope and a curve.
    """

    sampling_method = "importance"
    counts: xr.DataArray
    concentration: np.ndarray
    spread: float
    interaction: float
    prevalence: float | None
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
        """Prevalence, recall and specificity, each with effects of its own."""
        terms = terms_of(self.counts, self.smooth)
        (tn, fp), (fn, tp) = self.counts.values.astype(float).reshape(-1, 2, 2).transpose(1, 2, 0)
        weight = self.concentration
        columns = [
            (tp + fn, tp + fn + tn + fp, weight.sum(1)[::-1]),
            (tp, tp + fn, weight[1, ::-1]),
            (tn, tn + fp, weight[0]),
        ]
        return [
            Crossed(hits[:, None], all_[:, None], prior[None], self.spread, terms, self.interaction)
            for hits, all_, prior in columns
        ]

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        drawn = [self._draw(each, size, rng) for each in self.blocks]
        found = {name: np.stack([each[name] for each in drawn], axis=-1) for name in drawn[0]}
        logits = found.pop("logits")
        found["theta"] = self._theta(logits)
        found["effect"] = found["effect"].reshape(size, *self.counts.shape[:-2], _RATES)
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
        share, recall, specificity = np.moveaxis(expit(logits), -1, 0)
        rest, miss, alarm = np.moveaxis(expit(-logits), -1, 0)
        if self.prevalence is not None:
            share, rest = self.prevalence, 1 - self.prevalence
        cells = [rest * specificity, rest * alarm, share * miss, share * recall]
        return np.stack(cells, axis=-1).reshape(len(logits), *self.counts.shape)


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
    counts : DataArray, dims (..., actual, predicted), or array_like, (..., 2, 2)
        Counts of two classes; each of the leading dims, two or more, is an attribute. A cell may be
        empty.
    concentration : float, array_like or DataArray, shape (2, 2), optional
        Prior pseudo-counts > 0 of the cell in the middle; by default .5.
    spread : float, default 1
        Scale of the half-normal prior of the standard deviations of main effects, on the logit
        scale; > 0.
    interaction : float, default 0.5
        The same for the interactions.
    prevalence : float, optional
        Share of the positive class in the population of every cell, inside (0, 1), where it is
        known; by default that of the scalar coord ``prevalence``.
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
        If there are fewer than two attributes, or more than two classes, or a keyword is
        invalid; if the labels of a smooth attribute are not numbers, or fewer than five were seen.

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
    weight = np.broadcast_to(np.asarray(_DEFAULT if weight is None else weight, float), (2, 2))
    if not ((weight > 0) & np.isfinite(weight)).all():
        todo = "pass e.g. concentration=0.5"
        raise fail("concentration must be positive", concentration, "numbers > 0", todo)
    for name, scale in {"spread": spread, "interaction": interaction}.items():
        if not isinstance(scale, (int, float, np.number)) or not 0 < scale < np.inf:
            todo = f"pass e.g. {name}=0.5, or a function through fit"
            raise fail(f"{name} must be a positive scale", scale, "a number > 0", todo)
    prevalence = shares_of(prevalence, counts, table)
    if prevalence is not None and not (np.ndim(prevalence) == 0 and 0 < prevalence < 1):
        todo = "pass the proportion of positives, e.g. 0.01"
        raise fail("prevalence must lie between 0 and 1", prevalence, "0 < prevalence < 1", todo)
    wanted = check_smooth(table, smooth)
    return CrossedGroups(table, weight, float(spread), float(interaction), prevalence, wanted)


def _check_dims(table):
    attributes = table.dims[:-2]
    if wrong := _NO_ATTRIBUTES & set(attributes):
        todo = "sum over it or select one: counts.sum(dim), counts.sel(dim=...)"
        raise fail("these are no attributes of examples", sorted(wrong), "e.g. sex, age", todo)
    if len(attributes) < 2:
        todo = 'name them, by={"sex": ..., "age": ...}; one attribute is for hierarchical_groups'
        raise fail("fewer than two attributes", attributes, "two leading dims or more", todo)
    if table.sizes["actual"] != 2:
        todo = "compare one class with the rest, or take the cells apart by dirichlet_multinomial"
        raise fail("crossed groups are of two classes", table.sizes["actual"], "2", todo)
