"""
Batches with a sampled posterior: ratings, votes, and probabilities of three or more classes.

The default posterior of these batches supports one sample of examples and takes up to one second,
so every step has a separate posterior.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.registry import type_of
from bayescm.fitting.posterior_for import posterior_of
from bayescm.fitting.question import Question
from bayescm.posteriors.base import LabelTemplate, Posterior


class SampledSteps(Posterior):
    """
    Posterior for each leading index of counts of patterns: ratings, votes or probabilities.

    Parameters
    ----------
    tables : DataArray, dims (..., pattern)
        Counts of patterns.
    concentration : float, optional
        See `bayescm.models.noisy_labels`.
    """

    has_model = cell_prior = False

    def __init__(self, tables: xr.DataArray, concentration: float | None = None):
        self.tables = tables
        flat = tables.values.reshape(-1, tables.shape[-1])
        pattern, attrs = {"pattern": tables["pattern"].values}, tables.attrs
        question = Question(concentration=concentration)
        self.members: list[Any] = [
            posterior_of(xr.DataArray(row, pattern, ["pattern"], attrs=attrs), question)
            for row in flat
        ]
        latest = self.members[-1]
        self.measured_variable = latest.measured_variable
        self.systems = type_of(tables).recorded_together
        if self.systems and type_of(tables).has_cells:
            self.counts = latest.counts.rename(classifier=self.systems)

    @property
    def how(self) -> str:  # type: ignore[override]
        """Method used to sample the latest step."""
        return self.members[-1].how

    @cached_property
    def template(self) -> LabelTemplate:
        """Remaining dimensions and coordinates of the evidence, with a dimension of the systems."""
        return self._of_steps(self.members[-1].template)

    def measure_template(self, measure: Any, attrs: dict | None = None) -> LabelTemplate:
        """Return the dimensions, coordinates and name of a measure at every step."""
        return self._of_steps(self.members[-1].measure_template(measure, attrs))

    def _of_steps(self, template):
        """Return the labels of one step with the dimension of the steps in front."""
        dims, coords = self.tables.dims[:-1], self.tables.coords.variables
        remaining = {name: coord for name, coord in coords.items() if {*coord.dims} <= {*dims}}
        facts = {"name": template.name, "attrs": template.attrs}
        steps = LabelTemplate(remaining, dims, self.tables.shape[:-1], **facts)
        for dim in template.dims:
            name = self.systems if dim == "classifier" and self.systems else dim
            steps = steps.append_dim(name, template.coords[dim].values)
        return steps

    @property
    def batch(self) -> xr.DataArray:
        """Number of examples at every step, the same for all systems."""
        sizes = self.tables.values.sum(axis=-1)
        sizes = sizes[..., None] if self.systems else sizes
        return self.template.to_dataarray(np.broadcast_to(sizes, self.template.shape))

    @property
    def values_per_draw(self) -> int:
        """Number of measure values per draw over all steps."""
        return 1 + self.template.size  # the steps are sampled one by one

    def classes_of(self, measure: Any) -> np.ndarray | None:
        """Return the labels of the classes of a measure with one value per class, or None."""
        return self.members[-1].classes_of(measure)

    def bound(self, measure: Any) -> Any:
        """Return a measure for the classes of the latest step."""
        return self.members[-1].bound(measure)

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return the cautions of the posterior of the latest step."""
        return self.members[-1].caveats(of)

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the default number of draws per step."""
        return self.members[-1].draws_by_default(of, joint=joint)

    def draw(
        self,
        measures: Sequence[Any],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Sample several measures jointly, each (size, ..., raters, [C])."""
        drawn = [member.draw_in_parts(measures, size, rng, of=of, n=n) for member in self.members]
        return [self._shaped(np.stack(each, axis=1), 1) for each in zip(*drawn, strict=True)]

    def point(self, measure: Any, of: str = "parameter") -> np.ndarray:
        """Return the plug-in estimates, (..., raters, [C])."""
        return self._shaped(np.stack([member.point(measure, of) for member in self.members]), 0)

    def _shaped(self, values, axis):
        shape = values.shape
        return values.reshape((*shape[:axis], *self.tables.shape[:-1], *shape[axis + 1 :]))
