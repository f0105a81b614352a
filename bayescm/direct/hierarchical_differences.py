"""
The direct sibling of `bayescm.models.hierarchical_differences`: quadrature, pair by pair.

Both t distributions are mixtures of normals, so that each data set's own difference is integrated
out in closed form; location, spread and degrees of freedom have a grid about their mode.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr

from bayescm.direct.base import Frame, Posterior
from bayescm.direct.groups.pair import Pair
from bayescm.distributions.mixtures import Gridded, StudentMixture
from bayescm.evidence.results import as_results
from bayescm.measures.catalogue import is_loss, own
from bayescm.validate import fail

_FLOOR = 1e-3  # of the scale: what is left unknown of a data set whose runs are all equal


class HierarchicalDifferences(Posterior):
    """
    The posterior of the differences of classifiers over data sets, every pair by itself.

    A difference of two classifiers has the distribution of their pair. Draws of all classifiers
    together are normal levels, about their average, with the means and variances that fit those of
    the pairs best: for ranks.

    Attributes
    ----------
    pairs_of : dict of (int, int) to Pair
    """

    takes = "results"
    gives = "results"
    pairs = ("classifier",)
    cell_prior = False
    estimands = {"parameter": "location", "population": "location", "new": "new"}  # noqa: RUF012
    sampling_method = "quadrature"
    how = "quadrature"

    def __init__(self, results: xr.Dataset, scale: float | None):
        self.results = results
        self.names = results["classifier"].values.tolist()
        kernel = _measure(results["measured"].item())
        self.measured = (kernel,)
        rho, table = results["test_share"].item(), results["result"].values
        self.pairs_of = {
            (one, two): _pair(
                table[:, one] - table[:, two], rho, scale, self.names[one], self.names[two]
            )
            for one, two in combinations(range(len(self.names)), 2)
        }

    @property
    def seen(self):
        """The results."""
        return self.results["result"]

    @cached_property
    def frame(self):
        """The classifiers."""
        return Frame().then("classifier", self.names)

    @cached_property
    def batch(self):
        """The number of data sets, for every classifier."""
        return self.seen.notnull().any("run").sum("data_set").astype(float)

    @property
    def width(self):
        """The numbers of one draw."""
        return len(self.names)

    held = width

    def classes_of(self, measure):
        """Return None: a result is one number."""
        return None

    def distribution(self, measure: Callable, *, of: str = "parameter", n: Any = None) -> Any:
        """Raise: what is known is how classifiers differ."""
        todo = "use compare(results) or ranks(results)"
        raise fail("results are of differences between classifiers", measure.__name__, "", todo)

    def difference(
        self, measure: Callable, first: Mapping, second: Mapping, *, of: str = "parameter"
    ) -> Any:
        """Return the distribution of the difference of two classifiers."""
        one, two = first["classifier"], second["classifier"]
        pair = self.pairs_of[min(one, two), max(one, two)]
        found = getattr(pair, self.estimands[of])
        return found if one < two else _turned(found)

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Draw the classifiers' levels about their average, (size, J)."""
        number = len(self.names)
        gaps, spreads = np.zeros((2, number, number))
        for (one, two), pair in self.pairs_of.items():
            known = getattr(pair, self.estimands[of])
            gaps[one, two] = known.mean()
            gaps[two, one] = -gaps[one, two]
            spreads[one, two] = spreads[two, one] = known.sd() ** 2
        centre = np.eye(number) - 1 / number
        values, vectors = np.linalg.eigh(-centre @ spreads @ centre / 2)
        factor = vectors * np.sqrt(np.maximum(values, 0))
        levels = gaps.mean(axis=1) + rng.standard_normal((size, number)) @ factor.T
        return [measure(levels) for measure in measures]

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return those of one measure: levels are of ranks only, differences are not drawn."""
        return super().draws_by_default(of)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw the variables of the model; of every pair by itself."""
        drawn = [each.draw(size, rng) for each in self.pairs_of.values()]
        every = list(zip(*drawn, strict=True))
        known = ("location", "spread", "excess")
        found = {name: np.stack(each, axis=1) for name, each in zip(known, every, strict=False)}
        return found | {"difference": np.concatenate(every[3], axis=1)}


def _pair(differences, rho, scale, first, second):
    """Return a pair from the differences (data_set, run) of two classifiers."""
    number = (~np.isnan(differences)).sum(-1)
    differences, number = differences[number > 1], number[number > 1]
    if len(number) < 2:
        todo = "leave one of them out, or add results"
        what = f"{first} and {second} have too few data sets in common"
        raise fail(what, len(number), "two or more, of two or more runs", todo)
    mean = np.nanmean(differences, axis=-1)
    error = np.nanstd(differences, axis=-1, ddof=1) * np.sqrt(1 / number + rho / (1 - rho))
    size = np.sqrt(np.mean(mean**2 + error**2)) if scale is None else scale
    if not size > 0:
        todo = "leave one of them out, or pass scale=, the size of a usual difference"
        raise fail(f"{first} and {second} are equal on every data set", ..., "a difference", todo)
    return Pair(mean, np.maximum(error, size * _FLOOR), number - 1.0, float(size))


def _measure(name):
    """Return the measure that the results are of: its values as they are."""
    loss = is_loss(name)
    found = own(lambda values: values, "results").called(name)
    if loss is None:
        return found
    return replace(found, lower_is_better=loss, direction_assumed=False)


def _turned(found):
    """Return the distribution of the difference the other way round."""
    if isinstance(found, Gridded):
        mass = None if found.mass is None else found.mass[::-1]
        return Gridded(-found.nodes[::-1], found.density[::-1], mass)
    return StudentMixture(-found.location, found.scale, found.freedom, found.weight)


def hierarchical_differences(
    results: xr.Dataset, *, scale: float | None = None
) -> HierarchicalDifferences:
    """
    Return the posterior of the differences of classifiers over data sets.

    Parameters
    ----------
    results : xarray.Dataset
        From :func:`bayescm.from_results`.
    scale : float, optional
        Size of a usual difference, > 0, in the unit of the results; by default the root mean square
        of those of the pair and their errors.

    Returns
    -------
    HierarchicalDifferences

    Raises
    ------
    ValueError
        If two classifiers have fewer than two data sets in common, or are equal everywhere.
    """
    results = as_results(results)
    if scale is not None and not 0 < scale < np.inf:
        raise fail("scale must be positive", scale, "a number > 0", "pass e.g. scale=0.02")
    if results.sizes["classifier"] < 2:
        raise fail("only one classifier", results.sizes["classifier"], "two or more", "add another")
    return HierarchicalDifferences(results, scale)
