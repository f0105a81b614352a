"""A fitted tree as a posterior, whose distributions are the draws of the tree."""

import copy
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from bayescm import posteriors
from bayescm.distributions.base import Distribution
from bayescm.distributions.empirical import Empirical
from bayescm.evidence.counts import CELLS, in_order
from bayescm.evidence.evidence_type import EVIDENCE_GROUP
from bayescm.evidence.registry import type_of
from bayescm.evidence.stored import evidence_of
from bayescm.evidence.trees import (
    attribute_dims,
    cells_of,
    extra_dims,
    variables_of,
    with_positive_class,
)
from bayescm.fitting.nuts import NOT_CONVERGED
from bayescm.measures.labelled import measure_cells
from bayescm.posteriors.base import CountsPosterior, LabelTemplate, Posterior
from bayescm.posteriors.binned_forecasts import binned_forecasts
from bayescm.posteriors.correlated_t import correlated_t
from bayescm.posteriors.fold_forecasts import FoldForecasts
from bayescm.posteriors.grouped_outcomes import grouped_outcomes
from bayescm.posteriors.score_groups import score_groups

# Posteriors without a PyMC model of the same name.
WITHOUT_MODEL: dict[str, Callable] = {
    "binned_forecasts": binned_forecasts,
    "correlated_t": correlated_t,
    "fold_forecasts": FoldForecasts,
    "grouped_outcomes": grouped_outcomes,
    "score_groups": score_groups,
}
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


class TreeDraws(Posterior):
    """
    A posterior whose distributions are the draws of a tree.

    A subclass provides `values`.

    Attributes
    ----------
    tree : DataTree
    draw_clusters, size : int
        The number of chains, and the number of draws of all chains.
    sampled : bool
        Whether the tree was sampled to answer a question: ``draws`` was then an option of the
        sampler, and all draws of the tree are used.
    """

    sampling_method = "draws of a fit"
    sampled = False
    tree: xr.DataTree
    draw_clusters: int
    size: int

    def values(self, measures: Sequence[Callable], of: str, n: Any) -> list[np.ndarray]:
        """Return the draws (size, ..., [C]) of measures in the tree."""
        raise NotImplementedError

    def at(self, of: str) -> Posterior:
        """Return the posterior of an estimand, itself unless its variable has fewer dims."""
        return self

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return a caution if the chains show that the sampler may have missed something."""
        troubles = self.tree["posterior"].attrs.get(NOT_CONVERGED)
        doubts = [f"The sampler may have missed part of the posterior: {troubles}."]
        return [*(doubts if troubles else []), *super().caveats(of)]

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the number of draws of the tree."""
        return self.size

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
        if draws is not None and not self.sampled:
            options: dict[str, Any] = {"of": of, "n": n, "draws": draws, "random_seed": random_seed}
            return super().distributions(measures, **options)
        # The error depends on the effective number of draws, and so on the chains.
        drawn = zip(measures, self.values(measures, of, n), strict=True)
        return [self.empirical(measure, values) for measure, values in drawn]

    def empirical(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the distribution of draws (size, ..., [C]) of a measure."""
        return Empirical(draws, draw_clusters=self.draw_clusters, how=self.how)

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
        values = self.values(measures, of, n)
        if size == self.size:
            return values
        chosen = rng.integers(self.size, size=size)
        return [draws[chosen] for draws in values]

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return all draws of the variables of the tree, whatever ``size`` is."""
        chains = self.tree["posterior"].to_dataset().transpose("chain", "draw", ...)
        return {
            str(name): array.values.reshape(self.size, *array.shape[2:])
            for name, array in chains.data_vars.items()
        }


class FittedPosterior(TreeDraws, CountsPosterior):
    """
    The posterior of a fit, by the draws of its tree.

    Parameters
    ----------
    tree : DataTree
        As `fit` returns it, or with a group ``posterior`` that holds cell probabilities.
    variable : str, optional
        The cell probabilities of the parameter, where they are others than usual.
    """

    def __init__(self, tree: xr.DataTree, variable: str | None = None):
        tree = with_positive_class(tree)
        self.tree, self.variable = tree, variable
        self.estimands = {"parameter": variable} if variable else variables_of(tree)
        self.pooled_dims = () if variable else tuple(attribute_dims(tree, "uses"))
        self.pairs = tuple(attribute_dims(tree, "pairs"))
        cells = cells_of(tree, "posterior", self.estimands["parameter"])
        over = [] if variable else extra_dims(tree, cells)
        self.counts = cells.isel(dict.fromkeys(("chain", "draw", *over), 0), drop=True)
        self.draw_clusters = cells.sizes["chain"]
        self.size = self.draw_clusters * cells.sizes["draw"]

    def bound(self, measure: Any) -> Any:
        """Return a measure whose average over classes leaves out those without examples."""
        return measure if self.direct is None else self.direct.bound(measure)

    # Whether it is of single members, such as each of the groups.
    partially_pooled = False

    @property
    def apart(self) -> Posterior | None:  # type: ignore[override]
        """The posterior of the members without pooling, if it is known from the counts."""
        return None if self.direct is None else self.direct.apart

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

    def values(self, measures: Sequence[Callable], of: str, n: Any) -> list[np.ndarray]:
        """Return the draws (size, ..., [C]) of measures of the cell probabilities."""
        if of == "predictive" and n is not None:
            # The predicted counts of the tree are of the same size.
            rng = np.random.default_rng(0)
            return CountsPosterior.draw(self, measures, self.size, rng, of=of, n=n)
        measured = measure_cells(self.tree, list(measures), of=of, variable=self.variable)
        arrays = [
            measured[measure.__name__].transpose("chain", "draw", ...) for measure in measures
        ]
        return [array.values.reshape(self.size, *array.shape[2:]) for array in arrays]

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return all draws (size, ..., C, C) of the variable that an estimand is read off."""
        drawn = cells_of(self.tree, "posterior", self.estimands[of])
        order = ("chain", "draw", *self.batch.dims, ..., *CELLS)
        array = drawn.transpose(*order).values
        return array.reshape(self.size, *array.shape[2:])

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
        if name not in self.tree["posterior"].data_vars:
            return self
        members = FittedPosterior(self.tree, name)
        members.how, members.sampled = self.how, self.sampled
        members.partially_pooled = True
        return members

    def at(self, of: str) -> Posterior:
        """Return the posterior of an estimand whose variable has fewer dims than the parameter."""
        name = self.estimands.get(of, "")
        fewer = name and {*self.template.dims} - {*self.tree["posterior"][name].dims}
        if not fewer:
            return self
        chosen = FittedPosterior(self.tree, name)
        chosen.estimands = {"parameter": name, of: name}
        chosen.how, chosen.sampled = self.how, self.sampled
        return chosen


# Attributes of the direct posterior that the posterior of a fit of the same evidence has too.
_OF_DIRECT = ("measured_variable", "measured", "pooled_dims", "pairs", "estimands", "cell_prior")


class FittedMeasures(TreeDraws):
    """
    The posterior of a fit whose measures are not functions of cell probabilities.

    Labels, point estimates and cautions come from the direct posterior of the evidence in the tree.
    Measures are drawn given the variables of the tree. If they do not follow from these, and the
    draws of the tree are direct, so are the draws of the measures.

    Parameters
    ----------
    tree : DataTree
        As `fit` returns it, with a group ``evidence``.
    """

    def __init__(self, tree: xr.DataTree):
        self.tree = tree
        sizes = tree["posterior"].sizes
        self.draw_clusters = sizes["chain"]
        self.size = self.draw_clusters * sizes["draw"]
        self._set_direct(_direct_posterior(tree))

    def _set_direct(self, direct):
        self.direct = direct
        for name in _OF_DIRECT:
            setattr(self, name, getattr(direct, name))

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return the cautions of the chains and of the evidence."""
        return [*super().caveats(of), *self.direct.caveats(of)]

    def caveats_of_pairs(self, measure: Callable) -> list[str]:
        """Return the cautions about comparisons by a measure."""
        return self.direct.caveats_of_pairs(measure)

    @cached_property
    def template(self) -> LabelTemplate:
        """The dims and coords that remain of the evidence."""
        return self.direct.template

    @cached_property
    def batch(self) -> xr.DataArray:
        """The number of units of every member of the batch."""
        return self.direct.batch

    @property
    def observed(self) -> xr.DataArray:
        """The numbers of the evidence."""
        return self.direct.observed

    @property
    def values_per_draw(self) -> int:
        """The numbers in memory for one draw."""
        return self.direct.values_per_draw

    def measure_template(self, measure: Callable, attrs: dict | None = None) -> LabelTemplate:
        """Return the dims, coords and name of a measure."""
        return self.direct.measure_template(measure, attrs)

    def classes_of(self, measure: Callable) -> np.ndarray | None:
        """Return the labels of the classes for which a measure has a value, or None."""
        return self.direct.classes_of(measure)

    def bound(self, measure: Any) -> Any:
        """Return a measure whose chosen classes, if it has some, are those of the evidence."""
        return self.direct.bound(measure)

    def left_out(self, measure: Callable) -> xr.DataArray | None:
        """Return which classes a measure leaves out of its average, dims (..., class), or None."""
        return self.direct.left_out(measure)

    def shrinks_by(self, of: str) -> str:
        """Return why the posterior may be away from a point estimate, as half a sentence."""
        return self.direct.shrinks_by(of)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the plug-in estimate of the same estimand, (..., [C])."""
        return self.direct.point(measure, of)

    def values(self, measures: Sequence[Callable], of: str, n: Any) -> list[np.ndarray]:
        """Return the draws (size, ..., [C]) of measures."""
        rng = np.random.default_rng(self.tree.attrs.get("random_seed", 0))
        follows = self.direct.follows_variables and self.direct.has_model
        if self._directly and not follows:
            return self.direct.draw_in_parts(measures, self.size, rng, of=of, n=n)
        return self.direct.draw_given(self.variables(self.size, rng), measures, rng, of=of, n=n)

    @property
    def _directly(self):
        """Return whether the draws of the tree are direct, and not from NUTS."""
        return self.tree.attrs.get("sampling_method", "nuts") != "nuts"

    def distributions(self, measures: Sequence[Callable], **options: Any) -> list[Distribution]:
        """Return the distributions of the draws; results have differences only."""
        if self.direct.measured:
            return self.direct.distributions(measures, **options)
        return super().distributions(measures, **options)

    def empirical(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the distribution of draws. Some measures have their own limits."""
        of_direct = self.direct.empirical(measure, draws)
        if type(of_direct) is Empirical:
            return super().empirical(measure, draws)
        return replace(of_direct, draw_clusters=self.draw_clusters)

    def exact_difference(
        self, measure: Callable, first: Mapping, second: Mapping, *, of: str = "parameter"
    ) -> Any:
        """Return the difference of two classifiers on several data sets, or None."""
        if self.direct.measured and self._directly:
            return self.direct.exact_difference(measure, first, second, of=of)
        return None

    def by(self, dim: str) -> Posterior:
        """Return the posterior of each member of a dimension, such as each slice."""
        members = copy.copy(self)
        members._set_direct(self.direct.by(dim))
        return members


def _direct_posterior(tree):
    """Return the direct posterior of the evidence in a tree, with the prior as far as it is known.

    A model that is not in the catalogue has the variables of the default model of its evidence.
    """
    evidence = evidence_of(tree)
    name = tree.attrs.get("model")
    if name not in (*posteriors.__all__, *WITHOUT_MODEL):
        name = type_of(evidence).default_model(evidence, {}).model
    function: Any = WITHOUT_MODEL.get(name) or getattr(posteriors, name)
    keywords = json.loads(tree.attrs.get("model_keywords", "{}"))
    parameters = inspect.signature(function).parameters
    known = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in keywords.items()
        if key in parameters and not isinstance(value, str)  # a function, by its name
    }
    return function(evidence, **known)


def fitted_posterior(tree: xr.DataTree) -> TreeDraws:
    """Return the posterior of a fitted tree, by its draws."""
    return FittedMeasures(tree) if EVIDENCE_GROUP in tree.children else FittedPosterior(tree)
