"""
Groups of examples with scores or probabilities, separate or partially pooled.

The separate posterior of a group uses only its own examples (`bayescm.posteriors.scores`,
`calibration` or `dirichlet_calibration`). Three or more groups are partially pooled, like slices of
items (`bayescm.posteriors.item_score_slices`). `bayescm.posteriors.hierarchical_calibration` pools
only the calibration of the groups and not the spread of their forecasts. With that model, the gaps
between groups in proper scores and areas would be as noisy as without pooling.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from bayescm.distributions.empirical import Empirical
from bayescm.evidence.default_models import ENOUGH_GROUPS
from bayescm.evidence.scores import as_scores, score_arrays
from bayescm.evidence.slices import samples, slice_labels
from bayescm.posteriors import heavy_weights
from bayescm.posteriors.base import LabelTemplate, Posterior
from bayescm.posteriors.calibration import calibration
from bayescm.posteriors.dirichlet_calibration import dirichlet_calibration
from bayescm.posteriors.forecasts import exact_forecast_caveats
from bayescm.posteriors.item_score_slices import ItemScoreSlices
from bayescm.posteriors.scores import scores
from bayescm.validate import fail

_SPREAD = 0.5  # scale of the prior for the spread between groups, as for slices of items
_FEW_EXAMPLES = 20  # a caution is added if a group has fewer examples of a class


def score_groups(evidence: xr.Dataset, *, spread: float | None = None) -> Posterior:
    """
    Return the posterior of groups of examples with scores or probabilities.

    Parameters
    ----------
    evidence : xarray.Dataset
        From :func:`bayescm.from_scores` or :func:`bayescm.from_probabilities`, with groups.
    spread : float, optional
        Scale > 0 of the half-normal prior of the standard deviation between groups. The unit is the
        range of the measure or, if the measure has no range, twice the standard deviation of the
        examples. By default, two groups are not pooled, and the scale is 0.5 for three or more
        groups.

    Raises
    ------
    ValueError
        If there are no groups, if every group lacks a class, or if the spread is not > 0.

    Examples
    --------
    >>> import bayescm as bcm
    >>> y, p = [0, 0, 1, 1] * 9, [0.1, 0.6, 0.4, 0.9] * 9
    >>> evidence = bcm.from_probabilities(y, p, by={"group": ["a"] * 12 + ["b"] * 12 + ["c"] * 12})
    >>> score_groups(evidence).template.dims
    ('group',)
    """
    evidence = as_scores(evidence)
    if "group" not in evidence:
        todo = 'name the group of every example: `by={"group": site}`'
        raise fail("The examples have no groups", ..., "", todo)
    number = isinstance(spread, int | float | np.number) and not isinstance(spread, bool)
    if spread is not None and not (number and 0 < spread < np.inf):
        raise fail("`spread` must be a finite number > 0", spread, "", "pass e.g. `spread=0.5`")
    apart = SeparateGroups(evidence)
    if spread is None and len(apart.labels) < ENOUGH_GROUPS:
        return apart
    return PooledGroups(apart, evidence, _SPREAD if spread is None else float(spread))


class SeparateGroups(Posterior):
    """
    Separate posteriors of the groups.

    A group that lacks a class has no posterior, and its values are NaN.

    Attributes
    ----------
    labels : list
        Names of the groups.
    of_groups : list of Posterior or None
        Posterior of each group.
    """

    pairs = ("classifier",)
    cell_prior = False
    estimands = {"parameter": "theta", "finite": "theta"}  # noqa: RUF012
    has_model = False

    def __init__(self, evidence: xr.Dataset):
        self.evidence = evidence
        ((_, self.labels),) = slice_labels(evidence).items()
        of_probabilities = "probabilities" in evidence.coords
        model: Callable[[xr.Dataset], Posterior] = scores
        if of_probabilities:
            model = dirichlet_calibration if "class" in evidence.dims else calibration
        self.measured_variable = ("probabilities", "curve") if of_probabilities else "curve"
        groups = list(samples(evidence))
        classes = evidence.sizes.get("class", 2)
        self._totals = np.stack(
            [
                np.bincount(codes, weights, classes)
                for _, weights, codes in map(score_arrays, groups)
            ]
        )
        self.of_groups = [
            model(group) if totals.all() else None
            for group, totals in zip(groups, self._totals, strict=True)
        ]
        known = [posterior for posterior in self.of_groups if posterior is not None]
        if not known:
            todo = "combine groups"
            raise fail("No group has examples of all classes, {}", self.labels, "", todo)
        self._first = known[0]
        self.how = self._first.how

    @property
    def observed(self) -> xr.DataArray:
        """Observed scores."""
        return self.evidence["score"]

    @cached_property
    def template(self) -> LabelTemplate:
        """Labels of the groups and the classifiers."""
        return self._first.template.prepend_dim("group", self.labels)

    @cached_property
    def batch(self) -> xr.DataArray:
        """Number of examples by group, for every classifier."""
        numbers = np.reshape(self._totals.sum(axis=1), (-1, *[1] * (self.template.ndim - 1)))
        return self.template.to_dataarray(np.broadcast_to(numbers, self.template.shape))

    @property
    def values_per_draw(self) -> int:
        """Number of values in memory for one draw. Groups are sampled one after the other."""
        return max(each.values_per_draw for each in self.of_groups if each is not None)

    def classes_of(self, measure: Callable) -> np.ndarray | None:
        """Return the classes of a one-vs-rest measure, or None."""
        return self._first.classes_of(measure)

    def bound(self, measure: Any) -> Any:
        """Return a measure, resolved for the class that it names (``auc[cat]``) versus the rest."""
        return self._first.bound(measure)

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the default number of draws."""
        return self._first.draws_by_default("parameter", joint=joint)

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return cautions about groups that lack a class or have few examples of a class."""
        sentences = []
        lacking = [label for label, totals in zip(self.labels, self._totals, strict=True)
                   if not totals.all()]  # fmt: skip
        if lacking:
            names = ", ".join(map(str, lacking[:5])) + (", ..." if len(lacking) > 5 else "")
            sentences.append(f"Groups that lack a class are left out: {names}.")
        few = ((self._totals > 0) & (self._totals < _FEW_EXAMPLES)).any(axis=1).sum()
        if few:
            sentences.append(
                f"{few} of {len(self.labels)} groups have fewer than {_FEW_EXAMPLES} examples of a "
                "class: the intervals may be too short."
            )
        if "probabilities" in self.evidence.coords:
            sentences += exact_forecast_caveats(self.evidence["score"].values)
        return sentences + heavy_weights.of_scores(self.evidence)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the sample value of each group."""
        return self._stacked([each and each.point(measure) for each in self.of_groups], 0)

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Return joint draws of several measures, (size, groups, [K], [C])."""
        self.resolve_estimand(of)
        drawn = [each and each.draw_in_parts(measures, size, rng) for each in self.of_groups]
        return [
            self._stacked([values and values[place] for values in drawn], 1)
            for place in range(len(measures))
        ]

    def empirical(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the empirical distribution of draws of a measure, or of a statistic of groups."""
        return Empirical(draws, how=self.how)

    @staticmethod
    def _stacked(values, axis):
        """Return the values of the groups, stacked along an axis, with NaN for None."""
        blank = np.full_like(next(each for each in values if each is not None), np.nan)
        return np.stack([blank if each is None else each for each in values], axis=axis)


class PooledGroups(ItemScoreSlices):
    """Partially pooled posterior of groups of examples."""

    has_model = False
    dims = ("group",)

    def empirical(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the empirical distribution of draws of a measure, or of a statistic of groups."""
        return Empirical(draws, how=self.how)
