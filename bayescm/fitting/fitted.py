"""A fitted tree as a posterior, with distributions from its draws."""

import copy
import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
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
from bayescm.posteriors.hierarchical_groups import HierarchicalGroups, few_groups
from bayescm.posteriors.score_groups import score_groups
from bayescm.validate import fail

# Posteriors without a PyMC model of the same name.
WITHOUT_MODEL: dict[str, Callable] = {
    "binned_forecasts": binned_forecasts,
    "correlated_t": correlated_t,
    "fold_forecasts": FoldForecasts,
    "grouped_outcomes": grouped_outcomes,
    "score_groups": score_groups,
}
# Models of counts whose plug-in estimate depends only on the counts and a known prevalence.
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
    """Observed counts of a custom model, for its plug-in estimates."""

    def __init__(
        self, counts: xr.DataArray, pooled_dims: tuple[Any, ...], estimands: Mapping[str, str]
    ):
        self.counts, self.pooled_dims, self.estimands = counts, pooled_dims, estimands


class TreeDraws(Posterior):
    """
    Posterior whose distributions are represented by the draws of a tree.

    Subclasses implement `values`.

    Attributes
    ----------
    tree : DataTree
    draw_clusters, size : int
        Number of chains, and number of draws in all chains.
    sampled : bool
        Whether the tree was sampled for the current question. ``draws`` was then an option of the
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
        """Return the posterior of an estimand, which is self unless its variable has fewer dims."""
        return self

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return a caution if the chains indicate that sampling was incomplete."""
        troubles = self.tree["posterior"].attrs.get(NOT_CONVERGED)
        doubts = [f"The sampler may have missed part of the posterior: {troubles}."]
        return [*(doubts if troubles else []), *super().caveats(of)]

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the number of draws in the tree."""
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
        """Return the distributions of all draws of the tree, or of ``draws`` random ones."""
        if draws is not None and not self.sampled:
            options: dict[str, Any] = {"of": of, "n": n, "draws": draws, "random_seed": random_seed}
            return super().distributions(measures, **options)
        # Use all draws, because the error depends on their autocorrelation within chains.
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
        """Return all draws of the tree in order, or a random sample of them."""
        values = self.values(measures, of, n)
        if size == self.size:
            return values
        chosen = rng.integers(self.size, size=size)
        return [draws[chosen] for draws in values]

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return all draws of the variables in the tree, whatever ``size`` is."""
        chains = self.tree["posterior"].to_dataset().transpose("chain", "draw", ...)
        return {
            str(name): array.values.reshape(self.size, *array.shape[2:])
            for name, array in chains.data_vars.items()
        }


class FittedPosterior(TreeDraws, CountsPosterior):
    """
    Posterior of a fit, represented by the draws of its tree.

    Parameters
    ----------
    tree : DataTree
        Result of `fit`, or a tree whose group ``posterior`` contains cell probabilities.
    variable : str, optional
        Name of the variable with the cell probabilities, if it is not the usual one.
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
        """Return a measure whose average over classes omits classes without examples."""
        return measure if self.direct is None else self.direct.bound(measure)

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return the cautions about the chains and, as in the direct posterior, few groups."""
        few = []
        if isinstance(self.direct, HierarchicalGroups) and of != "finite":
            number = self.direct.counts.sizes["group"]
            few = few_groups(number, finite="finite" in self.estimands)
        return [*super().caveats(of), *few]

    # Whether this is the posterior of the single members of a dimension, such as each group.
    partially_pooled = False

    @property
    def apart(self) -> Posterior | None:  # type: ignore[override]
        """Posterior of the members without pooling, if the counts determine it."""
        return None if self.direct is None else self.direct.apart

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """
        Return the plug-in estimate of the estimand, (..., [C]), as in the direct posterior.

        For a custom model, this is the estimate from the observed counts, summed over the
        dimensions that the model pools. If the fit lacks the required data, it is the posterior
        median.
        """
        if self.direct is not None and of in self.direct.estimands:
            return self.direct.point(measure, of)
        return self.distribution(measure, of=of).quantile(0.5)

    @cached_property
    def direct(self) -> Posterior | None:
        """Direct posterior of the counts in the tree, used for estimates without a prior."""
        attrs = self.tree.attrs
        keywords = json.loads(attrs.get("model_keywords", "{}"))
        if not {*CELLS} <= {*self.observed.dims}:
            return None
        if attrs.get("model") not in posteriors.__all__ and "prevalence" not in keywords:
            return self._observed_counts()
        if attrs.get("model") not in _OF_COUNTS:
            return None
        if isinstance(keywords.get("prevalence"), str) or "weights" in attrs:
            return None  # functions are stored by name, and the tree lacks weights
        of_model = {name: keywords[name] for name in ("prevalence",) if name in keywords}
        if isinstance(of_model.get("prevalence"), list) and "prevalence" in self.tree["posterior"]:
            of_model["prevalence"] = tuple(of_model["prevalence"])  # parameters of a beta prior
        if "covariates" in self.tree["constant_data"]:
            of_model |= {"covariates": self.tree["constant_data"]["covariates"]}
        direct = getattr(posteriors, attrs["model"])(self.observed, **of_model)
        return direct.by(self.variable.removeprefix("theta_")) if self.variable else direct

    def _observed_counts(self):
        """Return the counts of every member of the batch, or None if their dimensions differ."""
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
            # The predicted counts in the tree refer to test sets of the observed size instead of n.
            rng = np.random.default_rng(0)
            return CountsPosterior.draw(self, measures, self.size, rng, of=of, n=n)
        measured = measure_cells(self.tree, list(measures), of=of, variable=self.variable)
        arrays = [
            measured[measure.__name__].transpose("chain", "draw", ...) for measure in measures
        ]
        return [array.values.reshape(self.size, *array.shape[2:]) for array in arrays]

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return all draws (size, ..., C, C) of the variable of an estimand."""
        drawn = cells_of(self.tree, "posterior", self.estimands[of])
        order = ("chain", "draw", *self.batch.dims, ..., *CELLS)
        array = drawn.transpose(*order).values
        return array.reshape(self.size, *array.shape[2:])

    @property
    def observed(self) -> xr.DataArray:
        """Observed counts in the tree, or NaN if there are none."""
        has_data = "constant_data" in self.tree.children
        data = self.tree["constant_data"].to_dataset() if has_data else xr.Dataset()
        return data.get("counts", xr.DataArray(np.nan))

    @cached_property
    def batch(self) -> xr.DataArray:
        """Number of examples of every member of the batch."""
        bare = self.template.to_dataarray()
        over = [dim for dim in self.observed.dims if dim not in bare.dims]
        total = self.observed.sum(over, skipna=False)
        return bare.copy(data=total.broadcast_like(bare).transpose(*bare.dims).values)

    def by(self, dim: str) -> Posterior:
        """Return the posterior of each member of a pooled dimension, such as each group."""
        name = f"theta_{dim}"
        if name not in self.tree["posterior"].data_vars:
            return self
        members = FittedPosterior(self.tree, name)
        members.how, members.sampled = self.how, self.sampled
        members.partially_pooled = True
        return members

    def resolve_estimand(self, of: str) -> str:
        """Return the canonical name of an estimand, or raise an error with advice."""
        # The direct posterior can have members whose probabilities the PyMC model integrates out.
        direct = None if of in self.estimands else self.direct
        if direct is None or isinstance(direct, ObservedCounts):
            return super().resolve_estimand(of)
        check_in_model(of, direct, self.estimands)
        return super().resolve_estimand(of)

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


def check_in_model(of: str, direct: Posterior, available: Iterable[str]) -> None:
    """Raise an error if only the direct posterior has an estimand, not the PyMC model."""
    if of in available or of not in (*direct.estimands, *direct.pooled_dims):
        return
    todo = (
        "only the direct posterior has it: pass the evidence instead of a fit, and numbers "
        "instead of functions as priors, e.g. `spread=1`"
    )
    raise fail(f"`of={of!r}` is not available for draws of the PyMC model", ..., available, todo)


# Attributes that the posterior of a fit copies from the direct posterior of the same evidence.
_OF_DIRECT = ("measured_variable", "measured", "pooled_dims", "pairs", "estimands", "cell_prior")


class FittedMeasures(TreeDraws):
    """
    Posterior of a fit whose measures are not functions of cell probabilities.

    Labels, point estimates and cautions come from the direct posterior of the evidence in the tree.
    Measures are sampled given the variables of the tree. If they are not determined by these
    variables and the fit used direct draws, the measures are also drawn directly.

    Parameters
    ----------
    tree : DataTree
        Result of `fit`, with a group ``evidence``.
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
        """Return the cautions from the chains and from the evidence."""
        return [*super().caveats(of), *self.direct.caveats(of)]

    def caveats_of_pairs(self, measure: Callable) -> list[str]:
        """Return the cautions about comparisons of a measure."""
        return self.direct.caveats_of_pairs(measure)

    @cached_property
    def template(self) -> LabelTemplate:
        """Dimensions and coordinates of the results."""
        return self.direct.template

    @cached_property
    def batch(self) -> xr.DataArray:
        """Number of units of every member of the batch."""
        return self.direct.batch

    @property
    def observed(self) -> xr.DataArray:
        """Observed values of the evidence."""
        return self.direct.observed

    @property
    def values_per_draw(self) -> int:
        """Number of values in memory per draw."""
        return self.direct.values_per_draw

    def measure_template(self, measure: Callable, attrs: dict | None = None) -> LabelTemplate:
        """Return the dimensions, coordinates and name of a measure."""
        return self.direct.measure_template(measure, attrs)

    def classes_of(self, measure: Callable) -> np.ndarray | None:
        """Return the labels of the classes of a measure's values, or None."""
        return self.direct.classes_of(measure)

    def bound(self, measure: Any) -> Any:
        """Return a measure whose selected classes, if any, refer to the evidence."""
        return self.direct.bound(measure)

    def left_out(self, measure: Callable) -> xr.DataArray | None:
        """Return the classes that the average of a measure omits, dims (..., class), or None."""
        return self.direct.left_out(measure)

    def shrinks_by(self, of: str) -> str:
        """Return the reason why the posterior may differ from a point estimate, as a clause."""
        return self.direct.shrinks_by(of)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the plug-in estimate of the estimand, (..., [C])."""
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
        """Check whether the tree contains direct draws rather than draws from NUTS."""
        return self.tree.attrs.get("sampling_method", "nuts") != "nuts"

    def distributions(self, measures: Sequence[Callable], **options: Any) -> list[Distribution]:
        """Return the distributions of the draws or, for results, of differences."""
        if self.direct.measured:
            return self.direct.distributions(measures, **options)
        return super().distributions(measures, **options)

    def empirical(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the distribution of draws, with limits if the measure defines them."""
        of_direct = self.direct.empirical(measure, draws)
        if type(of_direct) is Empirical:
            return super().empirical(measure, draws)
        return replace(of_direct, draw_clusters=self.draw_clusters)

    def exact_difference(
        self, measure: Callable, first: Mapping, second: Mapping, *, of: str = "parameter"
    ) -> Any:
        """Return the difference between two classifiers on several data sets, or None."""
        if self.direct.measured and self._directly:
            return self.direct.exact_difference(measure, first, second, of=of)
        return None

    def by(self, dim: str) -> Posterior:
        """Return the posterior of each member of a dimension, such as each slice."""
        members = copy.copy(self)
        members._set_direct(self.direct.by(dim))
        return members


def _direct_posterior(tree):
    """Return the direct posterior of the evidence in a tree, with its prior if that is known.

    A custom model is assumed to define the variables of the default model of its evidence.
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
        if key in parameters and not isinstance(value, str)  # a function is stored as its name
    }
    return function(evidence, **known)


def fitted_posterior(tree: xr.DataTree) -> TreeDraws:
    """Return the posterior of a fitted tree, represented by its draws."""
    return FittedMeasures(tree) if EVIDENCE_GROUP in tree.children else FittedPosterior(tree)
