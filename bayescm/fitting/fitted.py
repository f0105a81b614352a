"""A fitted tree as a posterior: it answers by its draws."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from bayescm import posteriors
from bayescm.distributions.base import Distribution
from bayescm.distributions.empirical import Empirical
from bayescm.evidence.counts import CELLS, in_order
from bayescm.evidence.trees import (
    attribute_dims,
    cells_of,
    extra_dims,
    variables_of,
    with_positive_class,
)
from bayescm.fitting.nuts import NOT_CONVERGED
from bayescm.measures.labelled import measure
from bayescm.posteriors.base import CountsPosterior, Posterior

# Models of counts, whose plug-in estimate depends on the counts and on a known prevalence alone.
_OF_COUNTS = (
    "averaged_folds",
    "dirichlet_multinomial",
    "fixed_totals",
    "hierarchical_folds",
    "hierarchical_groups",
    "hierarchical_rows",
    "pooled_folds",
    "robust_groups",
)


class ObservedCounts(CountsPosterior):
    """The counts that a model outside the catalogue was given, for its plug-in estimates."""

    def __init__(
        self, counts: xr.DataArray, pooled_dims: tuple[Any, ...], estimands: Mapping[str, str]
    ):
        self.counts, self.pooled_dims, self.estimands = counts, pooled_dims, estimands


class FittedPosterior(CountsPosterior):
    """
    The posterior of a fit, by the draws of its tree.

    Parameters
    ----------
    tree : DataTree
        As `fit` returns it, or with a group ``posterior`` that holds cell probabilities.
    variable : str, optional
        The cell probabilities of the parameter, where they are others than usual.
    """

    sampling_method = "draws of a fit"

    def __init__(self, tree: xr.DataTree, variable: str | None = None):
        tree = with_positive_class(tree)
        self.tree, self.variable = tree, variable
        self.estimands = {"parameter": variable} if variable else variables_of(tree)
        self.pooled_dims = () if variable else tuple(attribute_dims(tree, "uses"))
        self.pairs = tuple(attribute_dims(tree, "pairs"))
        cells = cells_of(tree, "posterior", self.estimands["parameter"])
        over = [] if variable else extra_dims(tree, cells)
        self.counts = cells.isel(dict.fromkeys(("chain", "draw", *over), 0), drop=True)
        self.chains, self.size = cells.sizes["chain"], cells.sizes["chain"] * cells.sizes["draw"]

    def caveats(self, of: str = "parameter") -> list[str]:
        """Say where the chains show that the sampler may have missed part of the posterior."""
        troubles = self.tree["posterior"].attrs.get(NOT_CONVERGED)
        doubts = [f"The sampler may have missed part of the posterior: {troubles}."]
        return [*(doubts if troubles else []), *super().caveats(of)]

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the number of draws of the tree."""
        return self.size

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """
        Return the plug-in estimate of the same estimand, (..., [C]), as of the direct posterior.

        Of a model that is not of the catalogue it is that of the counts as observed, added up over
        the dims that the model pools over. Of a fit that does not hold what the estimate takes, the
        median.
        """
        if self.direct is not None and of in self.direct.estimands:
            return self.direct.point(measure, of)
        return self.distribution(measure, of=of).quantile(0.5)

    @cached_property
    def direct(self) -> Posterior | None:
        """The direct posterior of the counts that the tree holds, whose prior does not matter."""
        attrs = self.tree.attrs
        keywords = json.loads(attrs.get("model_keywords", "{}"))
        if not {*CELLS} <= {*self.observed.dims}:
            return None
        if attrs.get("model") not in posteriors.__all__ and "prevalence" not in keywords:
            return self._observed_counts()
        if attrs.get("model") not in _OF_COUNTS:
            return None
        if isinstance(keywords.get("prevalence"), str) or "weights" in attrs:
            return None  # a function, by its name; importance weights, which the tree lacks
        of_model = {name: keywords[name] for name in ("prevalence",) if name in keywords}
        if isinstance(of_model.get("prevalence"), list) and "prevalence" in self.tree["posterior"]:
            of_model["prevalence"] = tuple(of_model["prevalence"])  # of a beta prior
        if "covariates" in self.tree["constant_data"]:
            of_model |= {"covariates": self.tree["constant_data"]["covariates"]}
        direct = getattr(posteriors, attrs["model"])(self.observed, **of_model)
        return direct.by(self.variable.removeprefix("theta_")) if self.variable else direct

    def _observed_counts(self):
        """Return the counts of every member of the batch, or None where they are of others."""
        batch_dims = self.template.dims
        if not {*batch_dims} <= {*self.observed.dims}:
            return None
        counts = in_order(self.observed)
        pooled_dims = tuple(dim for dim in counts.dims if dim not in (*batch_dims, *CELLS))
        counts = counts.transpose(*batch_dims, *pooled_dims, *CELLS)
        return ObservedCounts(counts, pooled_dims, self.estimands)

    def distributions(
        self,
        measures: Sequence[Callable],
        *,
        of: str = "parameter",
        n: Any = None,
        draws: int | None = None,
        random_seed: Any = 0,
    ) -> list[Distribution]:
        """Return the distributions of the tree's draws, or of ``draws`` of them at random."""
        if draws is not None:
            options: dict[str, Any] = {"of": of, "n": n, "draws": draws, "random_seed": random_seed}
            return super().distributions(measures, **options)
        # Effective draws count for the error: the chains are told apart.
        return [
            Empirical(values, chains=self.chains, how=self.how)
            for values in self._values(measures, of, n)
        ]

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Return draws of the tree: all of them as they are, or some at random."""
        values = self._values(measures, of, n)
        if size == self.size:
            return values
        chosen = rng.integers(self.size, size=size)
        return [draws[chosen] for draws in values]

    def _values(self, measures, of, n):
        if of == "predictive" and n is not None:
            # The predicted counts of the tree are of the same size.
            rng = np.random.default_rng(0)
            return super().draw(measures, self.size, rng, of=of, n=n)
        measured = measure(self.tree, list(measures), of=of, variable=self.variable)
        arrays = [measured[kernel.__name__].transpose("chain", "draw", ...) for kernel in measures]
        return [array.values.reshape(self.size, *array.shape[2:]) for array in arrays]

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return all draws (size, ..., C, C) of the variable that an estimand is read off."""
        drawn = cells_of(self.tree, "posterior", self.estimands[of])
        order = ("chain", "draw", *self.batch.dims, ..., *CELLS)
        array = drawn.transpose(*order).values
        return array.reshape(self.size, *array.shape[2:])

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return all draws of the variables of the tree, whatever ``size`` is."""
        chains = self.tree["posterior"].to_dataset().transpose("chain", "draw", ...)
        return {
            str(name): array.values.reshape(self.size, *array.shape[2:])
            for name, array in chains.data_vars.items()
        }

    @property
    def observed(self) -> xr.DataArray:
        """The counts that the tree holds, NaN where there are none."""
        has_data = "constant_data" in self.tree.children
        data = self.tree["constant_data"].to_dataset() if has_data else xr.Dataset()
        return data.get("counts", xr.DataArray(np.nan))

    @cached_property
    def batch(self) -> xr.DataArray:
        """The number of examples of every member of the batch."""
        bare = self.template.to_dataarray()
        over = [dim for dim in self.observed.dims if dim not in bare.dims]
        total = self.observed.sum(over, skipna=False)
        return bare.copy(data=total.broadcast_like(bare).transpose(*bare.dims).values)

    def by(self, dim: str) -> Posterior:
        """Return the posterior of each member of a dim that is pooled over, such as each group."""
        name = f"theta_{dim}"
        single = name in self.tree["posterior"].data_vars
        return FittedPosterior(self.tree, name) if single else self
