"""
Base classes of the direct posteriors and helpers shared by the models.

A direct posterior computes or samples the distribution of a measure without MCMC. Code that uses a
posterior calls the methods of `Posterior` and does not depend on the model.

**Estimands.** `Posterior.estimands` maps every allowed value of ``of`` to a name. In most models of
counts, this is the name of a variable in `Posterior.variables`. In other models, such as
`repeated_items`, `item_scores` and `partly_labelled`, it is only a label. The table of all models
is in ``docs/estimands.md``.

`CountsPosterior.mean_over_members` turns draws of a variable into draws of a measure. If the
variable has an axis that is not in the batch (folds, groups or training sets), the measure is
computed for each member along this axis. The values are then averaged with equal weights.

The values of ``of`` have these meanings and are computed as follows.

``"parameter"``
    The measure on infinitely many examples. For folds, it is the mean of the measure over training
    sets, which are the extra axis of ``theta_expected``. For groups, items and sites, it equals
    ``"population"``.
``"predictive"``
    The measure on n further examples, from `CountsPosterior.next_tables`. For folds, they are
    classified by one newly trained classifier. For groups, they come from one new group
    (``theta_new``). For items, they are one further run of n attempts at each observed item
    (`RepeatedItems._run`).
``"finite"``
    The mean over the observed members.

    - Folds: ``theta_fold``, in `hierarchical_folds.draw_variables`. Each classifier has its own
      effects of training, without the random variation of the test examples. ``"fitted"`` is a
      synonym.
    - Groups: ``theta_group``, the matrices of the groups given their counts. They come from
      `BivariateLogitNormal.draw`, `DirichletHierarchy.draw` and, in ``robust_groups.py``,
      `NormalMixtureRates.draw`.
    - Items: ``share_item``, the proportion of the observed items with each rate
      (`RepeatedItems.rates`).
    - Item scores in clusters: ``share_group``, the mean over the observed clusters. Items within a
      cluster have equal weights (`ItemScores.unit_weights`).
    - Slices of items and groups of scores: the same as ``"parameter"``, because each slice is one
      population.
    - Sites: the mean over the observed sites (`hierarchical_calibration.AtSites.finite`).
    - Partly labelled examples: ``theta_finite``. The missing labels are sampled by
      `PartlyLabelled.cells`.
``"population"``
    All groups, items, sites or data sets that could be sampled. For groups, the measure of
    ``theta``, the *average matrix*. For items and sites, the mean of the measure.
``"typical"``
    For groups, ``theta_typical``: the matrix at the centre of the distribution of the logits.
``"new"``
    One new group, item, site or data set.
The name of a pooled dimension, such as ``"group"``
    Each member, from the posterior that `Posterior.by` returns.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.distributions.base import Distribution
from bayescm.distributions.batches import LazyDraws
from bayescm.distributions.empirical import Empirical
from bayescm.evidence.counts import (
    CELLS,
    abstains,
    align,
    as_counts,
    by_labels,
    classes,
    is_outcomes,
    make_counts,
)
from bayescm.evidence.labels import in_label_order
from bayescm.evidence.outcomes import counts_of
from bayescm.measures.measure import (
    average,
    by_class,
    over_defined_classes,
    within_members,
)
from bayescm.measures.next_tables import next_counts, one_of
from bayescm.posteriors import heavy_weights
from bayescm.validate import check_counts, check_memory, check_seed, fail, suggest

# Default numbers of draws. Comparisons estimate small probabilities from draws, so they use more
# draws if each draw has few cells. Fewer draws are used if effects are sampled for every member,
# which is slow.
DRAWS = 20_000
PAIRED_DRAWS = 50_000
LARGE_DRAWS = 10_000
FINITE_DRAWS = 4_000
_SMALL = 64  # largest number of cells in a small draw, e.g. 16 classifiers with two classes
_VALUES_IN_MEMORY = 2**22  # largest number of values in memory for all draws


# Labels of results. Creating a labelled array takes longer than computing the values of a single
# matrix. So labels are kept as a template until the values are known. Arrays with few plain labels
# are created once and copied.

_FEW = 100  # largest number of labels along a dim of a cached array
_PLAIN = "biufU"  # dtype kinds of labels that can be cached
type Ends = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, eq=False)
class LabelTemplate:
    """
    The dims and coords of a result, without its values.

    Attributes
    ----------
    coords : mapping of str to Variable
    dims : tuple of str
    shape : tuple of int
    name : str, optional
    attrs : dict
    """

    coords: Mapping[Any, xr.Variable] = field(default_factory=dict)
    dims: tuple = ()
    shape: tuple[int, ...] = ()
    name: Any = None
    attrs: dict = field(default_factory=dict)

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return len(self.dims)

    @property
    def size(self) -> int:
        """The number of members."""
        return int(np.prod(self.shape))

    @property
    def sizes(self) -> dict:
        """The number of members along each dim."""
        return dict(zip(self.dims, self.shape, strict=True))

    def append_dim(self, dim: str, labels: Any) -> "LabelTemplate":
        """Return the template with one more dim at the end."""
        labels = np.asarray(labels)
        return self._with(dim, labels, (*self.dims, dim), (*self.shape, len(labels)))

    def prepend_dim(self, dim: str, labels: Any) -> "LabelTemplate":
        """Return the template with one more dim in front."""
        labels = np.asarray(labels)
        return self._with(dim, labels, (dim, *self.dims), (len(labels), *self.shape))

    def _with(self, dim, labels, dims, shape):
        coords = {**self.coords, dim: xr.Variable(dim, labels)}
        return replace(self, coords=coords, dims=dims, shape=shape)

    def to_dataarray(
        self, values: Any = np.nan, ends: Ends = (), attrs: dict | None = None
    ) -> xr.DataArray:
        """
        Return a DataArray with the labels of the template.

        Parameters
        ----------
        values : ndarray, shape (..., [ends]), or float
            Values. A float fills the array.
        ends : tuple of pairs of a name and labels
            Dims that follow the dims of the template.
        attrs : dict, optional
            Attributes that replace those in the template.
        """
        if np.ndim(values) == 0:
            values = np.full(self.shape, values)
        plain_coords = self._plain_coords()
        if plain_coords is None:
            further = {name: list(labels) for name, labels in ends}
            dims = (*self.dims, *further)
            array = xr.DataArray(values, dims=dims, coords={**self.coords, **further})
        else:
            array = _empty(plain_coords, self.dims, self.shape, ends).copy(deep=False, data=values)
        array.name = self.name
        if attrs or self.attrs:
            array.attrs = attrs or self.attrs
        return array

    def _plain_coords(self):
        """Return the coords as a hashable tuple, or None if one of them cannot be cached."""
        plain_coords = []
        for name, coord in self.coords.items():
            if coord.ndim == 0:
                value = coord.values.item()
            elif coord.dims == (name,) and coord.size <= _FEW and coord.dtype.kind in _PLAIN:
                value = tuple(coord.values.tolist())
            else:
                return None
            if coord.attrs:
                return None
            plain_coords.append((name, coord.dtype.str, value))
        return tuple(plain_coords)


@lru_cache(maxsize=64)
def _empty(plain_coords, dims, shape, ends):
    """Return an array of NaN with these labels. The dtypes keep the labels 1 and True distinct."""
    coords = {name: np.asarray(value, dtype) for name, dtype, value in plain_coords}
    coords |= {name: list(labels) for name, labels in ends}
    values = np.full((*shape, *(len(labels) for _, labels in ends)), np.nan)
    return xr.DataArray(values, dims=[*dims, *(name for name, _ in ends)], coords=coords)


# The posterior.


class Posterior:
    """
    Base class of the posteriors of all models, given labelled evidence.

    A subclass defines `template`, `draw` and `point`, or derives from `CountsPosterior`, which
    derives them from ``counts`` and `variables`. If the distribution of a measure can be computed
    without draws, the subclass overrides `exact_distribution`. For differences, it overrides
    `exact_difference`.

    Attributes
    ----------
    measured_variable : str or tuple of str
        Variable that the measures are functions of (their ``takes``), or a tuple of several
        variables. Default: the cells.
    measured : tuple of Measure
        The measures in the evidence, if it contains only values of measures.
    pooled_dims : tuple of str
        Dims of the evidence that are pooled: one posterior covers all of their members.
    pairs : tuple of str
        Dims whose members are paired because they were tested on the same examples.
    estimands : mapping of str to str
        The supported values of ``of``, each with the variable that it is computed from. The
        docstring of this module defines them.
    partially_pooled : bool
        Whether the posterior is for single members that are partially pooled, such as each group.
    apart : Posterior or None
        Posterior of the same members without pooling, if they are partially pooled.
    cell_prior : bool
        Whether ``concentration`` specifies pseudo-counts of the cells.
    knows_groups : bool
        Whether the model accounts for examples in groups, through the coord ``design_effect``.
    knows_weights : bool
        Whether the model accounts for importance weights, through the coord ``effective``.
    how : str
        Description of the method that produces the draws.
    effective_draws : float
        Upper bound on the effective number of independent draws.
    draw_clusters : int
        Number of clusters of dependent draws, such as chains. The draws of a cluster are
        consecutive. If all draws are independent, the number is 1.
    sampling_method : {"conjugate", "quadrature", "importance", "gibbs"}
        Name of the sampling method, as recorded in the tree returned by `fit`.
    enough : bool or ndarray, shape (...)
        Whether there are enough units to rely on the tail probabilities, which alarms use.
    reference : str
        Covariate values at which results are evaluated, such as ``"year=2000"``.
    counts : DataArray, dims (..., actual, predicted)
        Counts in the evidence, if it has any. For outcomes, the matrix of every classifier.
    """

    measured_variable: str | tuple[str, ...] = "cells"
    measured: tuple = ()
    pooled_dims: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    estimands: Mapping[str, str] = {"parameter": "theta", "predictive": "theta"}
    partially_pooled: bool = False
    apart: "Posterior | None" = None
    cell_prior: bool = True
    knows_groups: bool = False
    knows_weights: bool = False
    how: str = "draws"
    effective_draws: float = np.inf
    draw_clusters: int = 1
    sampling_method: str = "conjugate"
    enough: Any = True
    reference: str = ""
    counts: xr.DataArray

    # To be defined by a subclass.

    @cached_property
    def template(self) -> LabelTemplate:
        """The dims and coords of the evidence that results keep."""
        raise NotImplementedError

    @cached_property
    def batch(self) -> xr.DataArray:
        """The number of examples of each member of the batch."""
        raise NotImplementedError

    @property
    def has_model(self) -> bool:
        """Whether the same evidence also has a PyMC model."""
        return True

    @property
    def observed(self) -> xr.DataArray:
        """The observed values in the evidence."""
        return self.counts

    @property
    def values_per_draw(self) -> int:
        """The number of values in memory for one draw, including the pooled dims."""
        raise NotImplementedError

    def classes_of(self, measure: Callable) -> np.ndarray | None:
        """Return the class labels if a measure has one value per class, else None."""
        return None

    def bound(self, measure: Any) -> Any:
        """Return a measure adapted to the classes of the evidence, if it depends on them."""
        return measure

    def left_out(self, measure: Callable) -> xr.DataArray | None:
        """
        Return the classes that a measure omits from its average because of 0/0.

        Parameters
        ----------
        measure : callable
            A measure returned by `bound`.

        Returns
        -------
        DataArray of bool, dims (..., class), or None
            None if the measure does not average over classes, or if it omits none.
        """
        return None

    def shrinks_by(self, of: str) -> str:
        """Return why the posterior may differ from a point estimate, as part of a sentence."""
        return "the prior has a strong influence, because there is little evidence"

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the plug-in estimate of the same estimand, (..., [C])."""
        raise NotImplementedError

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """
        Sample several measures jointly.

        Parameters
        ----------
        measures : sequence of callable
        size : int
            Number of draws.
        rng : numpy.random.Generator
        of : str
            One of the estimands.
        n : int or array_like, optional
            Size of the next test set, for ``"predictive"``. Default: the size of the evidence.

        Returns
        -------
        list of ndarray, shape (size, ..., [C])
        """
        raise NotImplementedError

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the corresponding PyMC model."""
        raise NotImplementedError

    # Whether the variables of the PyMC model determine the measures of `draw_given`. If so, the
    # measures in a tree are functions of its draws, even if these were sampled directly.
    follows_variables = False

    def draw_given(
        self,
        variables: Mapping[str, np.ndarray],
        measures: Sequence[Callable],
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """
        Return draws of measures, given draws of the variables of the PyMC model.

        This method is used for trees returned by `fit`, if a measure is not a function of cell
        probabilities.

        Parameters
        ----------
        variables : mapping of str to ndarray, shape (size, ...)
            Draws of the variables of the model, by name.
        measures : sequence of callable
        rng : numpy.random.Generator
            Generator for quantities that are not variables of the model, such as example weights.
        of, n
            See `draw`.

        Returns
        -------
        list of ndarray, shape (size, ..., [C])
        """
        todo = "leave `method` out: direct draws of this model have every measure"
        what = f"measures of {', '.join(measure.__name__ for measure in measures)}"
        raise fail(f"{what} are not available for draws by NUTS", ..., "", todo)

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log posterior density of the free variables of the PyMC model."""
        raise NotImplementedError(f"{type(self).__name__} has no density in closed form")

    def log_marginal_likelihood(self) -> np.ndarray:
        """Return the log marginal likelihood of each member of the batch."""
        raise NotImplementedError(f"{type(self).__name__} has no marginal likelihood")

    def log_likelihood(self, variables: Mapping[str, np.ndarray]) -> xr.DataArray | None:
        """
        Return the log likelihood of each unit, given draws of the variables.

        The draws have shape (size, ...). The result has dims ``(sample, ..., unit)`` and the name
        of the observed variable. If units have their own effects, the effects are integrated out,
        as `arviz.loo` requires. None means that the PyMC model already computes the log likelihood
        of each unit.
        """
        return None

    def exact_distribution(self, measure: Callable, *, of: str = "parameter", n: Any = None) -> Any:
        """
        Return the exact distribution of a measure, or None if it needs draws.

        "Exact" means that the result does not depend on a seed: equal evidence always has the same
        distribution. `Distribution.how` names the method:

        - a closed form
        - a quadrature, whose intervals include the numerical error
        - weighted values at fixed nodes (folds)
        - a beta distribution matched by moments (areas under curves, averages over classes)

        Parameters
        ----------
        measure : callable
        of : str
            One of the estimands. The result is None for estimands that are sampled.
        n : int or array_like, optional
            Size of the next test set, for ``"predictive"``. Default: the size of the evidence.

        Returns
        -------
        Distribution, shape (..., [C]), or None
        """
        return None

    def exact_difference(
        self, measure: Callable, first: Mapping, second: Mapping, *, of: str = "parameter"
    ) -> Any:
        """Return the exact distribution of `difference`, or None if it needs draws."""
        return None

    def isel_batch(self, index: np.ndarray) -> "Posterior | None":
        """Return the posterior of some members of the flattened batch, or None if inseparable."""
        return None

    def by(self, dim: str) -> "Posterior":
        """Return the posterior of each member of a pooled dim, such as each group."""
        return self

    def with_draws(self, draws: int) -> "Posterior":
        """Return a posterior suited to this number of draws, e.g. with more nodes."""
        return self

    def caveats_of_pairs(self, measure: Callable) -> list[str]:
        """Return cautions about comparing members of the evidence by a measure."""
        return []

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return cautions about an estimand, as whole sentences."""
        return []

    def misfit(self, measure: Callable) -> list[str]:
        """Return cautions about a misfit of the model for a measure, as sentences."""
        return []

    # Derived from the methods above.

    def resolve_estimand(self, of: str) -> str:
        """Return the canonical name of an estimand, or raise an error."""
        name = "finite" if of == "fitted" and "fold" in self.pooled_dims else of
        if name not in self.estimands:
            variables = {"theta_group", *self.estimands.values()}
            members = [
                dim
                for dim in self.pooled_dims
                if f"theta_{dim}" in variables and self.by(dim) is not self
            ]
            names = [*self.estimands, *members]
            todo = suggest(of, names)
            if of == "data_set" and self.measured:
                todo = (
                    "the results combine all data sets; to compare within each data set, pass the "
                    'evidence of each: compare({"wdbc": outcomes, ...})'
                )
            if of in ("population", "typical", "new", "finite", "group") and not self.pooled_dims:
                todo = (
                    f"{of!r} needs groups, folds or items: build the evidence with these, e.g. "
                    "`from_predictions(..., by={'group': site})`; for several classifiers in "
                    "groups, also pass `model='hierarchical_groups'`"
                )
            what = f"`of={of!r}` is not available for this evidence and model"
            raise fail(what, ..., names, todo)
        return name

    def estimand_name(self, of: str) -> str:
        """Return the specific name of an estimand, such as "population"."""
        of = self.resolve_estimand(of)
        variable = self.estimands[of]
        names = [
            name
            for name, estimated in self.estimands.items()
            if estimated == variable and name not in ("parameter", "predictive")
        ]
        return names[0] if of == "parameter" and names else of

    def measure_template(self, measure: Callable, attrs: dict | None = None) -> LabelTemplate:
        """Return the dims, coords and name of a measure of each member of the batch."""
        template = replace(self.template, name=measure.__name__, attrs=attrs or {})
        labels = self.classes_of(measure)
        return template if labels is None else template.append_dim("class", labels)

    def distribution(
        self,
        measure: Callable,
        *,
        of: str = "parameter",
        n: Any = None,
        draws: int | None = None,
        random_seed: Any = 0,
    ) -> Distribution:
        """Return the distribution of a measure, shape (..., [C]). See `distributions`."""
        options: dict[str, Any] = {"of": of, "n": n, "draws": draws, "random_seed": random_seed}
        return self.distributions([measure], **options)[0]

    def distributions(
        self,
        measures: Sequence[Callable],
        *,
        of: str = "parameter",
        n: Any = None,
        draws: int | None = None,
        random_seed: Any = 0,
    ) -> list[Distribution]:
        """
        Return the distributions of measures, each of shape (..., [C]).

        Exact distributions are used if available. All other measures share the same draws.

        Parameters
        ----------
        measures : sequence of callable
        of : str
            One of the estimands.
        n : int or array_like, optional
            Size of the next test set, for ``"predictive"``. Default: the size of the evidence.
        draws : int, optional
            Number of draws of each member, for every measure. By default, only measures without an
            exact distribution are sampled, with `draws_by_default` draws.
        random_seed : int, default 0
        """
        exact: list[Any] = [None] * len(measures)
        if draws is None:
            exact = [self.exact_distribution(measure, of=of, n=n) for measure in measures]
        without_exact = [
            measure
            for measure, distribution in zip(measures, exact, strict=True)
            if distribution is None
        ]
        if not without_exact:
            return exact
        size = self.draws_by_default(of) if draws is None else draws
        drawn = iter(self._by_draws(without_exact, size, check_seed(random_seed), of, n))
        return [next(drawn) if distribution is None else distribution for distribution in exact]

    def _by_draws(self, measures, size, seed, of, n):
        """Return distributions estimated from draws. All measures share the same draws."""
        large = self.values_per_draw * size > _VALUES_IN_MEMORY
        if large and n is None and self.batch.ndim and self.isel_batch(np.arange(1)) is not None:
            return [LazyDraws(self, measure, size, seed, of) for measure in measures]
        arrays = self.draw_in_parts(measures, size, np.random.default_rng(seed), of=of, n=n)
        pairs = zip(measures, arrays, strict=True)
        return [self.empirical(measure, draws) for measure, draws in pairs]

    def empirical(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the empirical distribution of draws (size, ..., [C]) of a measure."""
        return Empirical(draws, self.draw_clusters, self.how, self.effective_draws)

    def draw_in_parts(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Sample several measures jointly, like `draw`, in parts that limit memory use."""
        shapes = [self.measure_template(measure).shape for measure in measures]
        values = size * sum(math.prod(shape) for shape in shapes)
        todo = "use fewer members or measures at a time, or pass `draws=1000`"
        check_memory("these draws need", 2 * values, todo)  # the parts and their concatenation
        large = self.values_per_draw * size > _VALUES_IN_MEMORY
        step = max(1, _VALUES_IN_MEMORY // self.values_per_draw) if large else size
        sizes = np.diff([*range(0, size, step), size])
        parts = [self.draw(measures, number, rng, of=of, n=n) for number in sizes]
        return [np.concatenate(values) for values in zip(*parts, strict=True)]

    def difference(
        self,
        measure: Callable,
        first: Mapping[str, int],
        second: Mapping[str, int],
        *,
        of: str = "parameter",
        n: Any = None,
        draws: Callable[[], np.ndarray] | None = None,
    ) -> Distribution:
        """
        Return the distribution of the difference of a measure between two members.

        Parameters
        ----------
        measure : callable
        first, second : mapping of str to int
            Indices of the two members along the dims of the batch, and along ``class`` if needed.
            The result is the first minus the second.
        of, n
            See `draw`.
        draws : callable, optional
            Function that returns the draws (size, ..., [C]) of the measure, so that several
            differences can share them. It is called unless the distribution is exact. By default,
            new draws are sampled.

        Returns
        -------
        Distribution, shape ()
        """
        exact = self.exact_difference(measure, first, second, of=of)
        if exact is not None:
            return exact
        if draws is None:
            size, rng = self.draws_by_default(of, joint=True), np.random.default_rng(0)
            values = self.draw_in_parts([measure], size, rng, of=of, n=n)[0]
        else:
            values = draws()
        dims = self.measure_template(measure).dims
        values = np.moveaxis(values, 0, -1)
        minuend, subtrahend = (values[tuple(at[dim] for dim in dims)] for at in (first, second))
        return Empirical.difference(minuend, subtrahend)

    def exact_members(
        self, measure: Callable, *, of: str = "parameter", n: Any = None
    ) -> np.ndarray:
        """Return the exact distribution of each member, or None, as an object array."""
        members = np.full(self.measure_template(measure).shape, None, dtype=object)
        exact = self.exact_distribution(measure, of=of, n=n)
        if exact is not None:
            for position in range(members.size):
                members.flat[position] = exact.take(position) if members.ndim else exact
        return members

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the default number of draws of an estimand."""
        if of == "finite":
            return FINITE_DRAWS
        return LARGE_DRAWS if joint else DRAWS


class CountsPosterior(Posterior):
    """
    Base class of the posteriors of models for confusion matrices.

    A subclass defines ``counts`` and `variables`. The other methods are derived from these and can
    be overridden.

    Attributes
    ----------
    counts : DataArray, dims (..., actual, predicted)
        The evidence in canonical form. For outcomes, the matrix of every classifier.
    estimands : mapping of str to str
        The variable of an estimand has dims (..., C, C). Measures are averaged over any further
        axes between the batch and the cells. The next test set (``"predictive"``) comes from one
        member along these axes.
    """

    @cached_property
    def template(self) -> LabelTemplate:
        """The dims and coords of the evidence that results keep."""
        gone = (*self.pooled_dims, *CELLS)
        sizes = {dim: size for dim, size in self.counts.sizes.items() if dim not in gone}
        coords = {
            name: coord
            for name, coord in self.counts.coords.variables.items()
            if sizes.keys() >= set(coord.dims)
        }
        return LabelTemplate(coords, tuple(sizes), tuple(sizes.values()))

    @cached_property
    def batch(self) -> xr.DataArray:
        """The number of examples of each member of the batch."""
        gone = (*self.pooled_dims, *CELLS)
        axes = tuple(axis for axis, dim in enumerate(self.counts.dims) if dim in gone)
        return self.template.to_dataarray(self.counts.values.sum(axis=axes))

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return cautions if a few heavy importance weights dominate the counts."""
        return heavy_weights.of_counts(self.counts, self.pooled_dims)

    @cached_property
    def pooled(self) -> np.ndarray:
        """The counts (..., C, C) of each member of the batch, summed over pooled dims."""
        axes = [axis for axis, dim in enumerate(self.counts.dims) if dim in self.pooled_dims]
        return self.counts.values.sum(axis=tuple(axes)) if axes else self.counts.values

    @property
    def values_per_draw(self) -> int:
        """The number of cells in memory for one draw, including the pooled dims."""
        return self.counts.size

    def classes_of(self, measure: Callable) -> np.ndarray | None:
        """Return the class labels if a measure has one value per class, else None."""
        return classes(self.counts) if by_class(measure, self.counts.shape[-1]) else None

    def bound(self, measure: Any) -> Any:
        """Return a measure whose average over classes omits classes without examples."""
        return over_defined_classes(measure, len(classes(self.counts)), self.values_in_evidence)

    def left_out(self, measure: Callable) -> xr.DataArray | None:
        """Return the classes that a measure omits from its average, or None."""
        included = getattr(measure, "included", None)
        if included is None:
            return None
        labels = classes(self.counts)
        template = self.template.append_dim("class", labels)
        names = [str(label) for label in labels.tolist()]
        chosen = np.isin(names, getattr(measure, "class_selection", ()) or names)
        values = np.broadcast_to(~included & chosen, template.shape)
        return template.to_dataarray(values) if values.any() else None

    def shrinks_by(self, of: str) -> str:
        """Return why the posterior may differ from a point estimate, as part of a sentence."""
        if self.pooled_dims:
            members = " and ".join(f"{dim}s" for dim in self.pooled_dims)
            return (
                f"the model describes how the {members} differ, and its prior has a strong "
                "influence"
            )
        return f"with {np.min(self.batch.values):.4g} examples, the prior has a strong influence"

    def values_in_evidence(self, measure: Callable) -> np.ndarray:
        """Return a measure of the counts of each member of the batch, NaN if it is 0/0."""
        return measure(self.pooled)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the plug-in estimate of the same estimand, (..., [C])."""
        if self.resolve_estimand(of) == "finite":
            return self.mean_of_members(measure)
        return measure(self.pooled)

    def mean_of_members(self, measure: Callable) -> np.ndarray:
        """Return the mean of a measure over the members of the pooled dims."""
        pooled = [dim for dim in self.pooled_dims if dim in self.counts.dims]
        tables = self.counts.transpose(*pooled, *self.batch.dims, *CELLS).values
        values = self.of_members(measure)(tables)
        values = values.reshape(-1, *values.shape[len(pooled) :])
        return average(np.moveaxis(values, 0, -1))

    def of_members(self, measure: Callable) -> Callable:
        """Return the measure to apply to the counts of one member, such as one group."""
        return measure

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Sample several measures jointly, (size, ..., [C]). See `Posterior.draw`."""
        if of == "parameter":
            return self.draw_parameter(measures, size, rng)
        if of != "predictive":
            return self.mean_over_members(measures, self.cells(of, size, rng))
        sizes = self.batch.values if n is None else np.asarray(n)
        if not np.isfinite(sizes).all():
            raise fail("The number of examples is unknown", ..., "", "pass `n=100`")
        counts = self.next_tables(size, rng, sizes.astype(int))
        return [measure(counts) for measure in measures]

    def draw_parameter(
        self, measures: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Sample the parameter of several measures jointly. See `draw`."""
        return self.mean_over_members(measures, self.cells("parameter", size, rng))

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., C, C) of the cell probabilities of an estimand."""
        return self.variables(size, rng)[self.estimands[of]]

    def next_tables(self, size: int, rng: np.random.Generator, n: np.ndarray) -> np.ndarray:
        """Sample confusion matrices (size, ..., C, C) of the next n test examples."""
        cells = self.cells("predictive", size, rng)
        return next_counts(one_of(cells, self._axes_within(cells), rng), n, rng)

    def mean_over_members(
        self, measures: Sequence[Callable], cells: np.ndarray
    ) -> list[np.ndarray]:
        """Return measures of cells, averaged over folds or groups with equal weights."""
        axes = self._axes_within(cells)
        values = [within_members(measure, len(axes))(cells) for measure in measures]
        return [draws.mean(axis=axes) for draws in values] if axes else values

    def _axes_within(self, cells):
        """Return the axes between the batch and the cells."""
        return tuple(range(1 + self.batch.ndim, cells.ndim - 2))

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the default number of draws of an estimand."""
        if joint and of != "finite":
            cells = self.template.size * self.counts.shape[-1] ** 2
            return PAIRED_DRAWS if cells <= _SMALL else LARGE_DRAWS
        return super().draws_by_default(of)

    def by(self, dim: str) -> Posterior:
        """Return the posterior of each member of a pooled dim, such as each group."""
        return PerMember(self, dim) if dim in self.pooled_dims else self


class PerMember(CountsPosterior):
    """Posterior of the matrix of each member of a pooled dim, such as each group."""

    partially_pooled = True

    def __init__(self, posterior: CountsPosterior, dim: str):
        self.posterior, self.dim, self.counts = posterior, dim, posterior.counts
        self.pooled_dims = tuple(pooled for pooled in posterior.pooled_dims if pooled != dim)
        self.pairs, self.how = posterior.pairs, posterior.how
        self.effective_draws = posterior.effective_draws
        self.estimands = {"parameter": f"theta_{dim}"}

    @property
    def apart(self) -> Posterior | None:  # type: ignore[override]
        """The posterior of the groups without pooling."""
        return self.posterior.apart if self.dim == "group" else None

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the default number of draws of the pooled posterior for this dim."""
        return self.posterior.draws_by_default(of if of == "finite" else self.dim, joint=joint)

    def bound(self, measure: Any) -> Any:
        """Return a measure whose average over classes omits classes that occur in no member."""
        return within_members(self.posterior.bound(measure), 1)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the plug-in estimate of each member, (..., [C])."""
        return super().point(self.posterior.of_members(measure), of)

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., C, C) of the cells of each member."""
        name = f"theta_{self.dim}"
        estimands = {variable: estimand for estimand, variable in self.posterior.estimands.items()}
        if name in estimands:
            return self.posterior.cells(estimands[name], size, rng)
        drawn = self.posterior.variables(size, rng)
        if name not in drawn:
            raise fail(f"The model has no {self.dim} {{}}", name, drawn, "use another model")
        return drawn[name]


class IndependentMembers(Posterior):
    """
    Posteriors of unrelated evidence, combined along a new dim.

    Parameters
    ----------
    posteriors : mapping of label to Posterior
        Posteriors with the same shape and labels.
    dim : str
        Name of the new dim.
    measures : mapping of label to list of Measure
        The same measures for each posterior, resolved for its classes.
    """

    how = "draws"

    def __init__(
        self,
        posteriors: Mapping[Any, Posterior],
        dim: str,
        measures: Mapping[Any, Sequence[Callable]],
    ):
        self.posteriors, self.dim = dict(posteriors), dim
        self._measures = {
            label: {measure.__name__: measure for measure in resolved}
            for label, resolved in measures.items()
        }
        self.estimands = next(iter(self.posteriors.values())).estimands

    def _resolved(self, measures):
        """Return each posterior with the measures resolved for it."""
        return [
            (posterior, [self._measures[label][measure.__name__] for measure in measures])
            for label, posterior in self.posteriors.items()
        ]

    @cached_property
    def template(self) -> LabelTemplate:
        """The dims and coords of the posteriors, with the new dim in front."""
        return self._side_by_side([posterior.template for posterior in self.posteriors.values()])

    def measure_template(self, measure: Callable, attrs: dict | None = None) -> LabelTemplate:
        """Return the dims, coords and name of a measure of each member."""
        templates = [
            posterior.measure_template(*resolved, attrs)
            for posterior, resolved in self._resolved([measure])
        ]
        return self._side_by_side(templates)

    def _side_by_side(self, templates):
        first, labels = templates[0], list(self.posteriors)
        for label, template in zip(labels, templates, strict=True):
            if self.dim in template.dims:
                todo = (
                    f"use each of them separately; to compare the members, with each "
                    f"{self.dim} on its own, pass `dim='data_set'`"
                )
                raise fail(f"{label} already has a dimension {self.dim}", ..., "", todo)
            if template.sizes != first.sizes or not all(
                template.coords[dim].equals(first.coords[dim])
                for dim in first.dims
                if dim in first.coords and dim in template.coords
            ):
                raise fail(
                    f"{label} has other classes or dimensions than {labels[0]}: "
                    f"{dict(template.sizes)}, not {dict(first.sizes)}",
                    ...,
                    "",
                    "compare evidence with the same classes and dimensions",
                )
        coords = {name: coord for name, coord in first.coords.items() if name != "positive"}
        return replace(first, coords=coords).prepend_dim(self.dim, labels)

    def left_out(self, measure: Callable) -> xr.DataArray | None:
        """Return the classes that a measure omits from its average, (dim, ..., class)."""
        of_members = [
            posterior.left_out(*resolved) for posterior, resolved in self._resolved([measure])
        ]
        known = [array for array in of_members if array is not None]
        if not known:
            return None
        filled = [xr.zeros_like(known[0]) if array is None else array for array in of_members]
        index = pd.Index(list(self.posteriors), name=self.dim, dtype=object)
        return xr.concat(
            filled, index, join="outer", fill_value=False, coords="minimal", compat="override"
        )

    @property
    def values_per_draw(self) -> int:
        """Largest value of any posterior, because the posteriors are sampled one by one."""
        return max(posterior.values_per_draw for posterior in self.posteriors.values())

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the number of draws that all posteriors can provide."""
        return min(
            posterior.draws_by_default(of, joint=joint) for posterior in self.posteriors.values()
        )

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return the distinct cautions of all posteriors."""
        caveats = [posterior.caveats(of) for posterior in self.posteriors.values()]
        return list(dict.fromkeys(sentence for sentences in caveats for sentence in sentences))

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Sample each posterior separately, and permute the draws so that they are not paired."""
        # With the default size, each tree returns all of its draws. They are then subsampled.
        default = size == self.draws_by_default(of, joint=True)
        seeds = [np.random.SeedSequence(int(rng.integers(2**63))) for _ in self.posteriors]
        draws = []
        for seed, (posterior, resolved) in zip(seeds, self._resolved(measures), strict=True):
            number = posterior.draws_by_default(of, joint=True) if default else size
            generator = np.random.default_rng(seed)
            draws.append(posterior.draw_in_parts(resolved, number, generator, of=of, n=n))
        orders = [rng.permutation(len(arrays[0]))[:size] for arrays in draws]
        return [
            np.stack([values[order] for values, order in zip(arrays, orders, strict=True)], axis=1)
            for arrays in zip(*draws, strict=True)
        ]

    def exact_members(
        self, measure: Callable, *, of: str = "parameter", n: Any = None
    ) -> np.ndarray:
        """Return the exact distribution of each member, or None, as an object array."""
        return np.stack(
            [
                posterior.exact_members(*resolved, of=of, n=n)
                for posterior, resolved in self._resolved([measure])
            ]
        )


# Arguments of the functions that create posteriors. Counts, prior and known shares are put in the
# same class order.


def as_labelled_counts(evidence: Any, *model_dims: str, abstention: bool = False) -> xr.DataArray:
    """
    Return canonical counts. A bare array gets labels and dims.

    Parameters
    ----------
    evidence : DataArray, Dataset or array_like
        Evidence, or an array of shape (..., C, C). Outcomes are converted to one matrix per
        classifier, without the pairing of the classifiers.
    *model_dims : str
        Dims of an array before its last two axes. Any axes before these form a batch.
    abstention : bool, default False
        Whether the model supports an abstention label.

    Raises
    ------
    ValueError
        If a label is an abstention and the model would treat it as a class, or an array has the
        wrong shape.
    """
    if isinstance(evidence, xr.DataArray | xr.Dataset | xr.DataTree):
        counts = as_counts(counts_of(evidence) if is_outcomes(evidence) else evidence)  # type: ignore[arg-type]
        if abstains(counts) and not abstention:
            raise fail(
                "This model does not support abstentions ({})",
                counts["abstain"].item(),
                "dirichlet_multinomial or paired_outcomes",
                'use each table separately with `model="dirichlet_multinomial"`, or build the '
                "counts without folds and groups",
            )
        return counts
    table = check_counts(evidence, fractional=True)
    if table.ndim < 2 + len(model_dims) or table.shape[-1] != table.shape[-2]:
        allowed = f"(..., {''.join(f'{dim}, ' for dim in model_dims)}C, C)"
        raise fail(
            f"Confusion matrices must have the shape {allowed}",
            table.shape,
            "",
            "reshape the array, with actual classes as rows and predicted classes as columns",
        )
    lead = table.ndim - 2 - len(model_dims)
    dims = [f"batch_{axis}" if lead > 1 else "batch" for axis in range(lead)]
    return make_counts(table, np.arange(table.shape[-1]), dims=(*dims, *model_dims))


def kish_factors(counts: xr.DataArray, parts: np.ndarray) -> np.ndarray:
    r"""
    Return factors that scale parts of a table to their effective sizes.

    Importance weights are scaled over all tables together. So the sum of weights in a group with
    heavy examples exceeds its number of examples. Consider a part whose cells have the sums of
    weights :math:`S_c` and the effective sizes :math:`e_c`. By Kish's formula, the effective size
    of the part is

    .. math:: \frac{(\sum_c S_c)^2}{\sum_c S_c^2 / e_c}.

    The factor is this size divided by :math:`\sum_c S_c`.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted)
        Counts. Without the coord ``effective``, all factors are 1.
    parts : ndarray, shape (R, C * C)
        Indicator (0 or 1) of the cells in each part.

    Returns
    -------
    ndarray, shape (..., R)
        Factors. The factor of a part without examples is 1.

    References
    ----------
    Kish, L. (1965). Survey sampling. Wiley.
    """
    cells = counts.values.astype(float)
    if "effective" not in counts.coords:
        return np.ones((*cells.shape[:-2], len(parts)))
    effective = counts["effective"].broadcast_like(counts).transpose(*counts.dims).values
    squares = np.divide(cells**2, effective, out=np.zeros_like(cells), where=effective > 0)
    total, square = (
        array.reshape(*cells.shape[:-2], -1) @ parts.T.astype(float) for array in (cells, squares)
    )
    return np.divide(total, square, out=np.ones_like(total), where=square > 0)


def prior_of(concentration: Any, evidence: Any, uses: Sequence[Hashable] = ()) -> Any:
    """Return a concentration in canonical class order, for evidence without the dims `uses`."""
    if np.ndim(concentration) == 0 and not isinstance(concentration, xr.DataArray):
        return align(concentration, evidence)
    if is_outcomes(evidence):
        evidence = counts_of(evidence)
    if not isinstance(evidence, xr.DataArray):
        return np.asarray(concentration, float)
    first = {dim: 0 for dim in uses if dim in evidence.dims}
    return align(concentration, evidence.isel(first, drop=True) if first else evidence)


def shares_of(prevalence: Any, evidence: Any, counts: xr.DataArray) -> Any:
    """Return known class shares in the order of the counts. Default: the coord `prevalence`."""
    if prevalence is None and "prevalence" in counts.coords:
        prevalence_coord = counts.coords["prevalence"]
        return prevalence_coord.values if prevalence_coord.ndim else prevalence_coord.item()
    ordered = in_label_order(prevalence, counts["actual"].values.tolist())
    if ordered is not prevalence:
        return np.asarray(ordered, float)
    if np.ndim(prevalence) == 0 or isinstance(prevalence, tuple):
        return prevalence
    shares = prevalence
    if not isinstance(shares, xr.DataArray):
        shares = np.asarray(shares, float)
        if not isinstance(evidence, xr.DataArray):
            return shares
        if counts.sizes["actual"] == 2 and shares.shape == counts.shape[:-2]:
            return shares
        shares = xr.DataArray(shares, dims=[*counts.dims[:-2], "actual"][-shares.ndim :])
        if shares.sizes["actual"] == counts.sizes["actual"]:
            shares = shares.assign_coords(actual=evidence["actual"].values)
    if "actual" not in shares.dims:
        return shares.values
    labels, share_labels = (array["actual"].values.tolist() for array in (counts, shares))
    if set(labels) != set(share_labels):
        todo = "give one proportion per class"
        raise fail(
            "`prevalence` has the classes {}, which are not the classes of the counts",
            share_labels,
            labels,
            todo,
        )
    return by_labels(shares, labels, ["actual"]).transpose(..., "actual").values


def class_shares(prevalence: Any, classes: int) -> np.ndarray:
    """Return known class shares (C,); a number is the share of the second class."""
    shares = np.asarray(prevalence, float)
    if classes == 2 and shares.ndim == 0:
        shares = np.stack([1 - shares, shares])
    if shares.shape != (classes,) or not ((shares > 0).all() and np.isclose(shares.sum(), 1)):
        todo = "pass e.g. `prevalence=0.1`" if classes == 2 else "give one proportion per class"
        allowed = "proportions > 0 that sum to 1"
        raise fail(f"`prevalence` must be {allowed}", prevalence, "", todo)
    return shares
