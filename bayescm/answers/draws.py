"""Draws of measures of several classifiers, folds, groups or fits, jointly where possible."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr

from bayescm.answers.asking import Wanted, check_draws, check_room, check_size, template, wanted
from bayescm.direct.base import Posterior
from bayescm.evidence.counts import as_counts, positive
from bayescm.fitting.route import comparison_of
from bayescm.validate import check_seed, fail

type Members = Mapping[str, xr.DataArray | xr.DataTree]
type Evidence = xr.DataArray | xr.Dataset | xr.DataTree | Members

_CHUNK = 2e6  # numbers held at once


@dataclass(frozen=True, eq=False)
class Joint:
    """
    Draws of measures, and what is known beyond them.

    Attributes
    ----------
    blanks : mapping of str to DataArray
        By measure, dims ``(..., [class])``: what the draws are of.
    drawn : callable
        Draws them, when they are needed: where the distribution of a difference is known, nothing
        is drawn.
    measures : list of callables
    paired : bool
        Whether the draws along the dim compared belong together, being of the same examples, or of
        classes of one matrix.
    distribution : callable
        From (measure, place) to the distribution of one member, or None; a place maps the dims of
        the values, but draw, to indices.
    difference : callable
        From (measure, place of the first, place of the second) to the distribution of the
        difference of two members that belong together, or None.
    relative : bool
        Whether only differences between members are known: a level is about their average.
    doubts : tuple of str
        What makes the model doubtful, in whole sentences.
    size : int
        How many draws there will be.
    """

    blanks: Mapping[str, xr.DataArray]
    drawn: Callable[[], xr.Dataset]
    measures: list
    paired: bool
    distribution: Callable
    difference: Callable
    relative: bool = False
    doubts: tuple[str, ...] = ()
    size: int = 0

    @cached_property
    def values(self) -> xr.Dataset:
        """A variable per measure, dims ``(draw, ..., [class])``; NaN where undefined."""
        return self.drawn()

    def numbers(self, *apart: str) -> int:
        """Return how many numbers the draws of all measures are, of one member of some dims."""
        sizes = [
            math.prod(size for dim, size in each.sizes.items() if dim not in apart)
            for each in self.blanks.values()
        ]
        return self.size * sum(sizes)

    def check_levels(self) -> None:
        """Raise where levels have no meaning by themselves."""
        if self.relative:
            what = "results are of differences between members"
            raise fail(what, ..., "", "use compare or ranks")


def draw_measures(
    evidence: Evidence,
    measures: Wanted | None,
    *,
    dim: str = "classifier",
    model: str | Callable | None = None,
    draws: int | None = None,
    random_seed: Any = 0,
    of: str = "parameter",
    n: int | None = None,
    compared: bool = True,
    **keywords: Any,
) -> Joint:
    """
    Draw measures from the joint posterior of whatever the evidence holds.

    Parameters
    ----------
    evidence : DataArray, Dataset, DataTree or mapping
        Counts, outcomes or a fit. The members of a mapping are independent, even if their fits
        were given the same seed.
    measures : name, function, or sequence of these
    dim : str, default "classifier"
        The dim that will be compared; the name of the dim that the members of a mapping get.
    model : str or callable, optional
        See `bayescm.interval`; by default that of `fitting.route.comparison_of`.
    draws : int, optional
        Default 50,000 for up to 64 cells (16 classifiers of two classes), 10,000 for more.
    random_seed : int, default 0
    of, n
        See `bayescm.interval`.
    compared : bool, default True
        Whether members are compared, and a warning is due where they seem to be paired unsaid.
    **keywords
        Of the model, such as ``concentration=0.5``.

    Returns
    -------
    Joint
    """
    check_draws(draws)
    rng = np.random.default_rng(check_seed(random_seed))
    options = {"model": model, "draws": draws, "of": of, "n": check_size(n, of), **keywords}
    options["compared"] = compared
    if isinstance(evidence, Mapping) and not isinstance(evidence, xr.Dataset | xr.DataTree):
        return _of_members(evidence, measures, dim, rng, options)
    posterior = comparison_of(evidence, dim, model, **keywords).members(dim)
    found, of = wanted(posterior, measures, of)
    paired = dim in posterior.pairs or dim == "class"  # which share the cells of one matrix
    if compared and not paired:
        _warn_if_paired(_classifiers(posterior.seen, dim))
        _warn_if_apart(posterior.seen, dim)
    number = draws or posterior.draws_by_default(of, joint=True)
    blanks = {each.__name__: template(posterior, each).filled() for each in found}

    def drawn():
        return labelled_draws(posterior, found, number, rng, of=of, n=n)

    whole = cache(lambda measure: posterior.distribution(measure, of=of, n=n))

    def distribution(measure, place):
        if whole(measure) is None or whole(measure).how.startswith("draws"):
            return None
        dims, shape = blanks[measure.__name__].dims, blanks[measure.__name__].shape
        index = [place[each] for each in dims]
        found = whole(measure)
        return found.take(np.ravel_multi_index(index, shape)) if dims else found

    def difference(measure, first, second):
        return None if dim == "class" else posterior.difference(measure, first, second, of=of)

    more = bool(posterior.measured), tuple(posterior.doubts(of))
    return Joint(blanks, drawn, found, paired, distribution, difference, *more, number)


def labelled_draws(
    posterior: Posterior,
    measures: Sequence[Callable],
    size: int,
    rng: np.random.Generator,
    *,
    of: str = "parameter",
    n: int | None = None,
) -> xr.Dataset:
    """Draw all measures at once, some draws at a time; dims (draw, ..., [class])."""
    check_room(posterior, measures, size)
    width = posterior.width
    step = max(1, int(_CHUNK / width)) if size * width > _CHUNK else size
    sizes = np.diff([*range(0, size, step), size])
    parts = [posterior.draw(measures, each, rng, of=of, n=n) for each in sizes]
    arrays = [np.concatenate(each) for each in zip(*parts, strict=True)]
    labelled = {}
    for measure, array in zip(measures, arrays, strict=True):
        labels = template(posterior, measure)
        coords = {k: v for k, v in labels.coords.items() if k != measure.__name__}
        labelled[measure.__name__] = xr.DataArray(array, coords, ("draw", *labels.dims))
    return xr.Dataset(labelled)


def _of_members(members, measures, dim, rng, options):
    """Draw each member by itself, in an order of its own: equal seeds must not make pairs."""
    if not members:
        raise fail("no evidence", {}, "two or more members", 'pass {"a": counts_a, "b": counts_b}')
    matrices = {name: each for name, each in members.items() if isinstance(each, xr.DataArray)}
    _check_positive(matrices)
    if options["compared"]:
        _warn_if_paired(matrices)
    parts = {}
    for name, member in members.items():
        seed = np.random.SeedSequence(int(rng.integers(2**63)))
        part = draw_measures(member, measures, dim="", random_seed=seed, **options)
        if any(dim in each.dims for each in part.blanks.values()):
            todo = "select along it, or compare over another dim"
            raise fail(
                f"only some members have the dim {dim}", name, "it in all members or in none", todo
            )
        parts[name] = part

    def joined(values):
        values = [each.drop_vars("positive", errors="ignore") for each in values]
        index = xr.Variable(dim, list(parts))
        return xr.concat(values, index, join="exact", coords="minimal", compat="override")

    def drawn():
        values = [part.values for part in parts.values()]
        size = min(each.sizes["draw"] for each in values)
        orders = [rng.permutation(each.sizes["draw"])[:size] for each in values]
        shuffled = [each.isel(draw=order) for each, order in zip(values, orders, strict=True)]
        return joined(shuffled).transpose("draw", dim, ...)

    def distribution(measure, place):
        own = {each: where for each, where in place.items() if each != dim}
        return list(parts.values())[place[dim]].distribution(measure, own)

    found = next(iter(parts.values())).measures
    _check_votes(members, found)
    blanks = {
        each.__name__: joined(part.blanks[each.__name__] for part in parts.values())
        for each in found
    }
    doubts = tuple(dict.fromkeys(each for part in parts.values() for each in part.doubts))
    size = min(part.size for part in parts.values())
    known = blanks, drawn, found, False, distribution, lambda *_: None
    return Joint(*known, doubts=doubts, size=size)


def _check_positive(members):
    """Raise where the same labels have one positive class here and another one there."""
    seen: dict[frozenset, Any] = {}
    for name, counts in members.items():
        own, labels = positive(counts), frozenset(as_counts(counts).indexes["actual"])
        if own is not None and seen.setdefault(labels, own) != own:
            todo = f"give all members positive={seen[labels]!r}"
            raise fail(f"{name} has a different positive class", own, repr(seen[labels]), todo)


def _check_votes(members, measures):
    """Raise where a majority is a plurality here, and more than half of the answers there."""
    attempts = {k: each for k, each in members.items() if "attempt" in getattr(each, "dims", ())}
    lacking = [name for name, each in attempts.items() if "answer" not in each]
    votes = any(getattr(getattr(each, "form", None), "votes", False) for each in measures)
    if votes and 0 < len(lacking) < len(attempts):
        todo = "give all of them truth=, or leave the answers out: evidence.drop_vars('answer')"
        raise fail(f"the answers themselves are not known of {lacking[0]}", ..., "", todo)


def _warn_if_paired(members):
    """Warn where matrices that are taken for independent have the same class totals."""
    totals = {name: counts.sum("predicted").values.tolist() for name, counts in members.items()}
    for one, two in combinations(totals, 2):
        if totals[one] == totals[two]:
            warnings.warn(
                f"{one} and {two} have the same class totals: they seem to have been tested on "
                "the same examples, but are compared as independent, which makes intervals too "
                "wide. To pair them, use from_classifiers.",
                UserWarning,
                stacklevel=4,
            )
            return


def _warn_if_apart(seen, dim):
    """Warn where members gave a number for each of the same examples, and are not paired."""
    if {dim, "example"} <= {*seen.dims}:
        warnings.warn(
            f"each {dim} saw the same examples, but this model takes them for independent, which "
            "as a rule makes differences look less certain than they are. To pair them, compare a "
            "site at a time, or all sites as one sample: evidence.drop_vars('group').",
            UserWarning,
            stacklevel=4,
        )


def _classifiers(counts, dim):
    """Return the counts of each classifier by name, where classifiers are compared."""
    if dim != "classifier" or dim not in counts.dims or "predicted" not in counts.dims:
        return {}
    names = counts.coords.get(dim, np.arange(counts.sizes[dim])).values.tolist()
    return {name: counts.isel({dim: place}) for place, name in enumerate(names)}
