"""
The base class of posteriors of items in slices, answered by one or more systems.

Slices have separate populations of items and are sampled independently. Within a draw, all systems
are measured on the same population. Results have the dimensions of the slices and, if the evidence
has several systems, the dimension ``classifier``.
"""

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.clusters_and_slices import clusters_of, items_of_slices, slice_dims
from bayescm.posteriors.base import LabelTemplate, Posterior

# A warning is issued if two systems differ in fewer effective items than this, by unequal amounts.
# Intervals of differences between means have coverage 0.81 to 1 if 3 or 10 items differ, and at
# least 0.94 if 25 do. Coverage is lowest if gains are small and losses large and rare. If all
# differing items differ by the same amount, coverage is 0.88 to 0.98
# (docs/results/item_scores_near_copies.csv, 100 data sets each). For multilabel evidence, the
# warning is also issued for equal amounts, because one example can lose labels and another can gain
# them. If one of two otherwise equal systems predicts no labels for 5 of 100 examples, intervals of
# the difference in f1_micro have coverage 0.62 if each of these examples loses the same number of
# labels (150 data sets).
_FEW_APART = 15


class SlicedItems(Posterior):
    """
    Base class of posteriors of populations of items, one population for each slice.

    A subclass defines `observed`, `population` and `sample`. It also defines `value` if a measure
    needs more than the population. Alternatively, it overrides `draw` and `point`.

    Attributes
    ----------
    evidence : Dataset
        Canonical evidence with a dimension of items.
    unit : str
        Name of this dimension.
    equal_differences : bool
        Whether few differing items are sufficient if two systems differ by the same amount in each.
    """

    pairs = ("classifier",)
    cell_prior = False
    evidence: xr.Dataset
    unit: str = "item"
    equal_differences: bool = True

    @cached_property
    def slices(self) -> list[np.ndarray]:
        """Indices of the items of each slice. Several dimensions are in C order."""
        return items_of_slices(self.evidence, self.unit)

    @cached_property
    def names(self) -> list | None:
        """Names of the systems, or None for a single unnamed system."""
        table = self.observed
        return table["classifier"].values.tolist() if "classifier" in table.dims else None

    @cached_property
    def template(self) -> LabelTemplate:
        """Labels of the slices and the systems."""
        template = LabelTemplate()
        for dim in slice_dims(self.evidence):
            template = template.append_dim(dim, self.evidence[dim].values)
        return template if self.names is None else template.append_dim("classifier", self.names)

    @property
    def has_model(self) -> bool:
        """Whether there is a PyMC model, which needs one system and no slices or clusters."""
        plain = self.names is None and not slice_dims(self.evidence)
        return plain and clusters_of(self.evidence, self.unit) is None

    def distance(self, first: int, second: int) -> np.ndarray | None:
        """Return the absolute differences between two systems by item, or None if not needed."""
        return None

    def by(self, dim: str) -> Posterior:
        """Return the posterior for comparisons along a dimension.

        Warn if two systems differ in few items or in none.
        """
        if dim == "classifier" and self.names is not None:
            for first, second in combinations(range(len(self.names)), 2):
                distance = self.distance(first, second)
                if distance is not None:
                    pair = f"{self.names[first]} and {self.names[second]}"
                    _warn_if_alike(distance, pair, self.unit, self.equal_differences)
        return super().by(dim)

    def population(self, items: np.ndarray, size: int, rng: np.random.Generator, of: str) -> Any:
        """Return draws of the population of the given items."""
        raise NotImplementedError

    def sample(self, items: np.ndarray) -> Any:
        """Return the given items as a single draw of a population."""
        raise NotImplementedError

    def value(self, measure: Callable, population: Any, items: np.ndarray) -> np.ndarray:
        """Return a measure (size, K, [L]) of the population of the given items."""
        return measure(population)

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Return joint draws of several measures, (size, [slices], [K], [L])."""
        by_slice = []
        for items in self.slices:
            population = self.population(items, size, rng, of)
            by_slice.append([self.value(measure, population, items) for measure in measures])
        return [self._by_labels(values, 1) for values in zip(*by_slice, strict=True)]

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the sample value, ([slices], [K], [L])."""
        self.resolve_estimand(of)
        with np.errstate(invalid="ignore"):
            values = [self.value(measure, self.sample(items), items)[0] for items in self.slices]
        return self._by_labels(values, 0)

    def _by_labels(self, by_slice, axis):
        """Return the values of the slices, with the shape of the template from ``axis`` on."""
        values = np.stack(by_slice, axis=axis)
        further = values.shape[axis + 2 :]
        return values.reshape((*values.shape[:axis], *self.template.shape, *further))


def _warn_if_alike(distance, pair, unit, equal_suffice):
    """Warn if two systems differ in few items or in none."""
    apart = distance[distance > 0]
    if not apart.size:
        warnings.warn(
            f"{pair} have equal scores on all {len(distance):,} {unit}s. How much they "
            f"differ on other {unit}s depends on the prior only.",
            stacklevel=2,
        )
        return
    # Kish's effective sample size, with the differences as weights (Survey Sampling, 1965, 11.7).
    number = apart.sum() ** 2 / (apart**2).sum()
    equal = np.ptp(apart) <= 1e-9 * apart.max()
    if number < _FEW_APART and not (equal and equal_suffice):
        worth = "" if equal else f" (equivalent to {number:.0f} with equal differences)"
        warnings.warn(
            f"{pair} differ in {apart.size:,} of {len(distance):,} {unit}s{worth}, too "
            f"few to estimate the difference on other {unit}s. The interval of the "
            "difference may be too short.",
            stacklevel=2,
        )
