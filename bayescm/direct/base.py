"""
What every direct sibling returns: a `Posterior`, declared once.

A posterior is asked for the distribution of a measure, and where it has none for draws, never for
the name of its model.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from bayescm.direct.frames import Frame
from bayescm.distributions.discrete import Empirical
from bayescm.evidence.counts import CELLS, classes
from bayescm.measures.measure import average, by_class
from bayescm.measures.next_tables import next_counts, one_of
from bayescm.validate import fail

# Draws where nothing else is asked for. Comparisons read small probabilities off their draws, and
# take more of them while a draw is small; effects drawn for every member of the evidence are slow.
DRAWS = 20_000
PAIRED_DRAWS, LARGE_DRAWS = 50_000, 10_000
FINITE_DRAWS = 4_000
_SMALL = 64  # numbers of one draw: 16 classifiers of two classes


class Posterior:
    """
    The posterior of a model given labelled evidence, without MCMC.

    A subclass has ``counts`` and `variables`; the rest follows, and may be overridden.

    Attributes
    ----------
    takes : str
        The kind of evidence: ``"counts"``, ``"outcomes"``, ``"scores"``.
    measured : tuple of Measure, of which evidence without counts holds values to be compared
    gives : str
        The variable that its measures are functions of (their ``takes``): the cells.
    uses : tuple of str
        The dims of the evidence that it uses up: one posterior for all of their members.
    pairs : tuple of str
        The dims whose members belong together, being tested on the same examples.
    estimands : mapping of str to str
        The values of ``of`` that it answers, and the variable (..., C, C) that each is read off.
        Further axes of the variable, between the batch and the cells, are averaged over; the next
        test set (``"predictive"``) is of one of their members.
    fits : bool
        Whether there is a PyMC model of the same evidence, so that `fit` makes a tree of it.
    cell_prior : bool
        Whether ``concentration`` is pseudo-counts of the cells.
    knows_groups : bool
        Whether it allows for examples that come in groups, by the coord ``design_effect``.
    how, worth : str, float
        How its draws are made, in words; as many independent draws they are worth at most.
    sampling_method : {"conjugate", "quadrature", "importance", "gibbs"}, for the tree of a fit
    counts : DataArray, dims (..., actual, predicted)
        The evidence, canonical; of outcomes, the matrix of every classifier.
    """

    takes: str = "counts"
    gives: str = "cells"
    measured: tuple = ()
    uses: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    estimands: Mapping[str, str] = {"parameter": "theta", "predictive": "theta"}
    fits: bool = True
    cell_prior: bool = True
    knows_groups: bool = False
    how: str = "draws"
    worth: float = np.inf
    sampling_method: str = "conjugate"
    counts: xr.DataArray

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        raise NotImplementedError

    @cached_property
    def frame(self) -> Frame:
        """The dims and coords that remain of the evidence."""
        gone = (*self.uses, *CELLS)
        sizes = {dim: size for dim, size in self.counts.sizes.items() if dim not in gone}
        held = self.counts.coords.variables
        coords = {name: each for name, each in held.items() if sizes.keys() >= set(each.dims)}
        return Frame(coords, tuple(sizes), tuple(sizes.values()))

    @cached_property
    def batch(self) -> xr.DataArray:
        """The number of examples of every member of the batch."""
        gone = (*self.uses, *CELLS)
        axes = tuple(place for place, dim in enumerate(self.counts.dims) if dim in gone)
        return self.frame.filled(self.counts.values.sum(axis=axes))

    @property
    def seen(self) -> xr.DataArray:
        """The counts that the evidence holds."""
        return self.counts

    @cached_property
    def pooled(self) -> np.ndarray:
        """The counts of every member of the batch, (..., C, C)."""
        axes = [place for place, dim in enumerate(self.counts.dims) if dim in self.uses]
        return self.counts.values.sum(axis=tuple(axes)) if axes else self.counts.values

    def doubts(self, of: str = "parameter") -> list[str]:
        """Return what the evidence makes doubtful of an estimand, in whole sentences."""
        return []

    def check_of(self, of: str) -> str:
        """Return the estimand, or raise where the posterior has none of this name."""
        name = "finite" if of == "fitted" and "fold" in self.uses else of
        if name not in self.estimands:
            raise fail(
                f"{type(self).__name__} has no such estimand",
                of,
                self.estimands,
                "for others use another model",
            )
        return name

    def says(self, of: str) -> str:
        """Return what an estimand is called: ``"parameter"`` by its own name where it has one."""
        of = self.check_of(of)
        own = self.estimands[of]
        names = [each for each, variable in self.estimands.items() if variable == own]
        named = [each for each in names if each not in ("parameter", "predictive")]
        return named[0] if of == "parameter" and named else of

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the plug-in estimate of the same estimand, (..., [C])."""
        return (
            self.mean_of_members(measure) if self.check_of(of) == "finite" else measure(self.pooled)
        )

    def mean_of_members(self, measure: Callable) -> np.ndarray:
        """Return the mean over what the posterior uses up of each member's own measure."""
        used = [dim for dim in self.uses if dim in self.counts.dims]
        apart = self.counts.transpose(*used, *self.batch.dims, *CELLS).values
        values = measure(apart)
        values = values.reshape(-1, *values.shape[len(used) :])
        return average(np.moveaxis(values, 0, -1))

    def distribution(self, measure: Callable, *, of: str = "parameter", n: Any = None) -> Any:
        """Return the distribution of a measure, shape (..., [C]), or None where it is drawn."""
        return None

    def drawn(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the distribution of draws (size, ..., [C]) of a measure."""
        return Empirical(draws, how=self.how, worth=self.worth)

    def difference(self, measure: Callable, first: Mapping, second: Mapping, *, of: str) -> Any:
        """
        Return the distribution of a difference of two members that belong together, or None.

        Parameters
        ----------
        measure : callable
        first, second : mapping of str to int
            Their places along the dims of the batch, and of ``class`` if the measure has one.
        """
        return None

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., C, C) of the variable that an estimand is read off."""
        return self.variables(size, rng)[self.estimands[of]]

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
        Draw several measures jointly.

        Parameters
        ----------
        measures : sequence of callable
        size : int
        rng : numpy.random.Generator
        of : str
            One of the estimands.
        n : int or array_like, optional
            Size of the next test set, for ``"predictive"``; by default that of the evidence.

        Returns
        -------
        list of ndarray, shape (size, ..., [C])
        """
        if of == "parameter":
            return self.draw_parameter(measures, size, rng)
        if of != "predictive":
            return self._averaged(measures, self.cells(of, size, rng))
        sizes = self.batch.values if n is None else np.asarray(n)
        if not np.isfinite(sizes).all():
            raise fail("the size of the evidence is not known", ..., "n", "pass n=100")
        counts = self.next_tables(size, rng, sizes.astype(int))
        return [measure(counts) for measure in measures]

    def next_tables(self, size: int, rng: np.random.Generator, n: np.ndarray) -> np.ndarray:
        """Draw the confusion matrices (size, ..., C, C) of the next test set of n examples."""
        cells = self.cells("predictive", size, rng)
        return next_counts(one_of(cells, self._further(cells), rng), n, rng)

    def draw_parameter(
        self, measures: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Draw the parameter of several measures jointly; see `draw`."""
        return self._averaged(measures, self.cells("parameter", size, rng))

    def _averaged(self, measures, cells):
        axes, values = self._further(cells), [measure(cells) for measure in measures]
        return [each.mean(axis=axes) for each in values] if axes else values

    def _further(self, cells):
        """Return the axes between those of the batch and the cells."""
        return tuple(range(1 + self.batch.ndim, cells.ndim - 2))

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return how many draws are made where nothing else is asked for."""
        if of == "finite":
            return FINITE_DRAWS
        if not joint:
            return DRAWS
        return PAIRED_DRAWS if self.width <= _SMALL else LARGE_DRAWS

    @property
    def width(self) -> int:
        """The numbers of one draw of the whole batch."""
        return self.batch.size * self.counts.shape[-1] ** 2

    @property
    def held(self) -> int:
        """The numbers held for one draw, with those of the dims that are used up."""
        return self.counts.size

    def classes_of(self, measure: Callable) -> np.ndarray | None:
        """Return the labels of the classes that a measure has a value for each of, or None."""
        return classes(self.counts) if by_class(measure, self.counts.shape[-1]) else None

    def part(self, index: np.ndarray) -> "Posterior | None":
        """Return some members of the flat batch, or None where they are not to be had apart."""
        return None

    def members(self, dim: str) -> "Posterior":
        """Return the posterior of every member of a dim that is used up, such as each group."""
        if dim in self.uses:
            return Members(self, dim)
        return self

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log posterior density of the free variables of the PyMC model."""
        raise NotImplementedError(f"{type(self).__name__} has no density in closed form")

    def log_likelihood(self, variables: Mapping[str, np.ndarray]) -> xr.DataArray | None:
        """
        Return the log likelihood by unit given draws (size, ...) of the variables of the model.

        Dims ``(sample, ..., unit)``, named as the variable observed. Of models whose units have
        effects of their own, these integrated out, for `arviz.loo`; None where the model's own
        log likelihood is by unit as it is.
        """
        return None

    def log_marginal(self) -> np.ndarray:
        """Return the log marginal likelihood of each member of the batch."""
        raise NotImplementedError(f"{type(self).__name__} has no marginal likelihood")


class Members(Posterior):
    """Every member of a dim that a posterior uses up: of groups, each one's own matrix."""

    def __init__(self, whole: Posterior, dim: str):
        self.whole, self.dim, self.counts = whole, dim, whole.counts
        self.uses = tuple(each for each in whole.uses if each != dim)
        self.pairs, self.how = whole.pairs, whole.how
        self.estimands = {"parameter": f"theta_{dim}"}

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return those of the whole posterior, which knows its members by the name of the dim."""
        own = of if of == "finite" else self.dim
        return self.whole.draws_by_default(own, joint=joint)

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., C, C) of the members' own cells."""
        own, known = f"theta_{self.dim}", {v: name for name, v in self.whole.estimands.items()}
        if own in known:
            return self.whole.cells(known[own], size, rng)
        drawn = self.whole.variables(size, rng)
        if own not in drawn:
            raise fail(f"the model has no single {self.dim}", own, drawn, "take another model")
        return drawn[own]
