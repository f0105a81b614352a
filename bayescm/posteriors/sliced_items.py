"""
Items that systems share, and that slices part: what their posteriors draw and label alike.

Every slice has a population of items of its own, and its draws know nothing of other slices. In a
draw all systems are measured in the same population. Answers have the dims of the slices and
``classifier``, where the evidence has several systems.
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

# Fewer effective items in which two systems differ are warned of, where they differ by unequal
# amounts. Of 3 and of 10 that differ .81 to 1 of the differences of means are covered, least where
# gains are small and losses large and rare; of 25 .94 and more. Where all differ by one amount, .88
# to .98 are (docs/results/item_scores_near_copies.csv, 100 simulated sets each). Labels that differ
# in as many of each example may still be lost in one and added in another, and those are warned of:
# of a system that predicts no labels in 5 of 100 examples .62 of the differences of f1_micro were
# covered where as many labels were lost in each, of 150 simulated sets.
_FEW_APART = 15


class SlicedItems(Posterior):
    """
    A posterior of the populations of items of slices.

    A subclass has `observed`, `population` and `sample`, and `value` where a measure is not merely
    taken of the population; or else draws and points of its own.

    Attributes
    ----------
    evidence : Dataset
        Canonical evidence with a dim of items.
    unit : str
        The name of this dim.
    equal_differences : bool
        Whether few items in which two systems differ by one amount show how much others differ.
    """

    pairs = ("classifier",)
    cell_prior = False
    evidence: xr.Dataset
    unit: str = "item"
    equal_differences: bool = True

    @cached_property
    def slices(self) -> list[np.ndarray]:
        """The indices of the items of every slice, those of several dims in C order."""
        return items_of_slices(self.evidence, self.unit)

    @cached_property
    def names(self) -> list | None:
        """The names of the systems, or None of one without a name."""
        table = self.observed
        return table["classifier"].values.tolist() if "classifier" in table.dims else None

    @cached_property
    def template(self) -> LabelTemplate:
        """The slices and the systems."""
        template = LabelTemplate()
        for dim in slice_dims(self.evidence):
            template = template.append_dim(dim, self.evidence[dim].values)
        return template if self.names is None else template.append_dim("classifier", self.names)

    @property
    def has_model(self) -> bool:
        """Whether the evidence is one system on items drawn one by one, as the PyMC model is."""
        plain = self.names is None and not slice_dims(self.evidence)
        return plain and clusters_of(self.evidence, self.unit) is None

    def distance(self, first: int, second: int) -> np.ndarray | None:
        """Return how far two systems are apart in each item; None where it does not matter."""
        return None

    def by(self, dim: str) -> Posterior:
        """Return itself; warn where two systems differ in few items, or in none."""
        if dim == "classifier" and self.names is not None:
            for first, second in combinations(range(len(self.names)), 2):
                distance = self.distance(first, second)
                if distance is not None:
                    pair = f"{self.names[first]} and {self.names[second]}"
                    _warn_if_alike(distance, pair, self.unit, self.equal_differences)
        return super().by(dim)

    def population(self, items: np.ndarray, size: int, rng: np.random.Generator, of: str) -> Any:
        """Draw the population that some items come from."""
        raise NotImplementedError

    def sample(self, items: np.ndarray) -> Any:
        """Return some items themselves as one draw of a population."""
        raise NotImplementedError

    def value(self, measure: Callable, population: Any, items: np.ndarray) -> np.ndarray:
        """Return a measure (size, K, [L]) of the population that some items come from."""
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
        """Draw several measures jointly, (size, [slices], [K], [L])."""
        by_slice = []
        for items in self.slices:
            population = self.population(items, size, rng, of)
            by_slice.append([self.value(measure, population, items) for measure in measures])
        return [self._by_labels(values, 1) for values in zip(*by_slice, strict=True)]

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the value in the sample, ([slices], [K], [L])."""
        self.resolve_estimand(of)
        with np.errstate(invalid="ignore"):
            values = [self.value(measure, self.sample(items), items)[0] for items in self.slices]
        return self._by_labels(values, 0)

    def _by_labels(self, by_slice, axis):
        """Return values of every slice in the shape of the template, which begins at an axis."""
        values = np.stack(by_slice, axis=axis)
        further = values.shape[axis + 2 :]
        return values.reshape((*values.shape[:axis], *self.template.shape, *further))


def _warn_if_alike(distance, pair, unit, equal_suffice):
    """Warn where two systems are as good as alike."""
    apart = distance[distance > 0]
    if not apart.size:
        warnings.warn(
            f"{pair} are alike in all {len(distance):,} {unit}s. They may differ in others: how "
            "much, only the prior says.",
            stacklevel=2,
        )
        return
    # Kish's effective number (Survey Sampling, 1965, section 11.7) of weights by distance
    number = apart.sum() ** 2 / (apart**2).sum()
    equal = np.ptp(apart) <= 1e-9 * apart.max()
    if number < _FEW_APART and not (equal and equal_suffice):
        worth = "" if equal else f", worth {number:.0f} of equal difference"
        warnings.warn(
            f"{pair} differ in {apart.size:,} of {len(distance):,} {unit}s{worth}: too few to know "
            "how much others differ, and the interval of the difference may be too short.",
            stacklevel=2,
        )
