"""
Batches whose posterior is sampled: ratings, and probabilities of three classes or more.

Their default posterior takes one sample of examples, and about a second, so that there is one for
each step, and no rule `change`.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from bayescm.fitting.posterior_for import posterior_of
from bayescm.fitting.question import Question
from bayescm.posteriors.base import LabelTemplate, Posterior


class SampledSteps(Posterior):
    """
    The posterior of ratings or probabilities, for each leading index of counts of patterns.

    Parameters
    ----------
    tables : DataArray, dims (..., pattern)
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
        if "raters" in attrs:
            self.counts = latest.counts.rename(classifier="rater")

    @property
    def how(self) -> str:  # type: ignore[override]
        """How the draws of the latest step are made."""
        return self.members[-1].how

    @cached_property
    def template(self) -> LabelTemplate:
        """The dims and coords that remain of the evidence, with a dim of the raters."""
        dims, coords = self.tables.dims[:-1], self.tables.coords.variables
        remaining = {name: coord for name, coord in coords.items() if {*coord.dims} <= {*dims}}
        leading = LabelTemplate(remaining, dims, self.tables.shape[:-1])
        raters = self.tables.attrs.get("raters")
        return leading if raters is None else leading.append_dim("rater", raters)

    @property
    def batch(self) -> xr.DataArray:
        """The number of examples of every step, of every rater the same."""
        sizes = self.tables.values.sum(axis=-1)
        sizes = sizes[..., None] if "raters" in self.tables.attrs else sizes
        return self.template.to_dataarray(np.broadcast_to(sizes, self.template.shape))

    @property
    def values_per_draw(self) -> int:
        """The cells of all steps."""
        return 1 + self.template.size  # the steps are drawn one by one

    def classes_of(self, measure: Any) -> np.ndarray | None:
        """Return the labels of the classes that a measure has a value for each of, or None."""
        return self.members[-1].classes_of(measure)

    def bound(self, measure: Any) -> Any:
        """Return a measure for the classes of the latest step."""
        return self.members[-1].bound(measure)

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return what the ratings of the latest step make doubtful."""
        return self.members[-1].caveats(of)

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return how many draws are made of each step."""
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
        """Draw several measures jointly, (size, ..., raters, [C])."""
        drawn = [member.draw_in_parts(measures, size, rng, of=of, n=n) for member in self.members]
        return [self._shaped(np.stack(each, axis=1), 1) for each in zip(*drawn, strict=True)]

    def point(self, measure: Any, of: str = "parameter") -> np.ndarray:
        """Return the plug-in estimates, (..., raters, [C])."""
        return self._shaped(np.stack([member.point(measure, of) for member in self.members]), 0)

    def _shaped(self, values, axis):
        shape = values.shape
        return values.reshape((*shape[:axis], *self.tables.shape[:-1], *shape[axis + 1 :]))
