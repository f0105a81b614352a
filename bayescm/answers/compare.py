"""
Which is better, by how much, and how certainly: comparisons of the members of some evidence.

The difference of two members has a known distribution where the posterior has one, where both are
independent and in closed form, or else the draws of both, joint ones where members are paired.
"""

import math
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import batched, combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers.dask import in_blocks, is_lazy
from bayescm.answers.interval import (
    Wanted,
    check_draws,
    check_room,
    check_size,
    measure_template,
    resolve_measures,
)
from bayescm.answers.tables import Intervals
from bayescm.distributions.base import joined
from bayescm.distributions.decision import check_rope, decide, sentence
from bayescm.distributions.differences import Independent
from bayescm.distributions.discrete import Discrete, Empirical
from bayescm.distributions.quadrature import FunctionOfShares
from bayescm.evidence.attempts import ATTEMPTS
from bayescm.evidence.counts import as_counts, positive
from bayescm.evidence.types import type_of
from bayescm.fitting.posterior_for import posterior_of
from bayescm.posteriors.base import Posterior
from bayescm.validate import check_choice, check_kind, check_prob, check_seed, fail, suggest

type Members = Mapping[str, xr.DataArray | xr.DataTree]
type Evidence = xr.DataArray | xr.Dataset | xr.DataTree | Members
_VERDICT = ["p_better", "p_rope", "p_worse", "expected_loss", "expected_loss_second"]
_NUMBERS = ["mean", "sd", "lower", "upper"]
_COLUMNS = ["measure", "first", "second", *_NUMBERS, *_VERDICT, "paired", "sentence"]
_KNOWN = set(_COLUMNS)
_ASSUMED = " Higher is assumed to be better."
_PAIRS_AT_ONCE = 2**10  # whose differences are decided together
_DRAWS_AT_ONCE = 2e6  # numbers in memory while measures are drawn


def compare(
    evidence: Evidence,
    measures: str | Callable | Sequence[str | Callable] | None = None,
    *,
    dim: str = "classifier",
    prob: float = 0.95,
    kind: Literal["hdi", "eti"] = "hdi",
    rope: Any = 0.0,
    reference: Hashable | None = None,
    contrast: Literal["difference", "ratio"] = "difference",
    random_seed: int = 0,
    **options: Any,
) -> pd.DataFrame:
    """
    Compare classifiers, or any other members of the evidence, pairwise.

    Parameters
    ----------
    evidence : Dataset, DataArray, DataTree or mapping
        Outcomes of classifiers on the same examples (:func:`bayescm.from_classifiers`) are compared
        as pairs. Counts along ``dim`` are independent; with a dim ``fold`` they are compared fold
        by fold, by the correlated t. A mapping ``{"a": counts, "b": counts}`` holds independent
        evidence, from different examples. Fits are accepted in place of any of these.
    measures : name, function, or sequence of these, optional
        For results on several data sets (:func:`bayescm.from_results`), the measure they hold.
    dim : str, default "classifier"
        What to compare: ``"group"`` gives the gaps between groups, of which three or more are
        partially pooled; the members of other dims stand by themselves.
    prob : float, default 0.95
        Mass of the interval, and the probability a verdict requires.
    kind : {"hdi", "eti"}
    rope : float or (float, float), default 0
        Region of practical equivalence of the difference: half its width, or its ends. For a
        ratio: of its distance from 1.
    reference : label, optional
        Compare all others with this one, instead of all pairs.
    contrast : {"difference", "ratio"}
    random_seed : int, default 0
        Seed of the draws. Nothing is drawn where the distribution of a difference is known.
    **options
        ``model``, ``draws``, and the model's own keywords such as ``concentration=0.5``.

    Returns
    -------
    DataFrame
        One row per pair and measure: ``measure``, ``first``, ``second``, the ``mean``, ``sd`` and
        interval (``lower``, ``upper``) of first - second, the probabilities that the first is
        better, equivalent or worse (``p_better``, ``p_rope``, ``p_worse``), the expected loss of
        choosing the first (``expected_loss``) and the second, ``paired``, and a ``sentence`` that
        puts the three probabilities into words. For error rates, losses and costs, lower is
        better; for slope, intercept and calibration in the large, nearer to 1 or 0; for your own
        functions see `bayescm.measures.measure`. Other dims of the
        evidence are columns in front; a measure of one of many classes
        is named ``recall[cat]``. ``attrs["caution"]`` says what makes the model doubtful.

    Raises
    ------
    ValueError
        If there is nothing to compare, or an argument is invalid.

    Warns
    -----
    UserWarning
        If two matrices compared as independent have the same class totals, or probabilities by site
        of several classifiers, which their model does not pair.

    See Also
    --------
    ranks : Which of several is best.
    joint_interval : Intervals that hold simultaneously.

    Examples
    --------
    >>> import bayescm as bcm
    >>> actual = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    >>> answers = {"a": [1, 1, 1, 0, 0, 0, 0, 0, 0, 1], "b": [1, 0, 0, 0, 0, 0, 0, 1, 0, 1]}
    >>> table = bcm.compare(bcm.from_classifiers(actual, answers), "accuracy")
    >>> table[["first", "second", "mean", "p_better", "paired"]].round(3).values.tolist()
    [['a', 'b', 0.25, 0.967, True]]
    """
    prob, region = check_prob(prob), check_rope(rope)
    check_kind(kind)
    check_choice("contrast", contrast, ["difference", "ratio"])
    if is_lazy(evidence):
        asked = {"dim": dim, "prob": prob, "kind": kind, "rope": rope, "contrast": contrast}
        asked |= {"reference": reference, "random_seed": random_seed}
        return in_blocks(partial(compare, measures=measures, **asked, **options), evidence)
    drawn = draw_measures(evidence, measures, dim=dim, random_seed=random_seed, **options)
    if contrast == "ratio":
        drawn.check_levels()
        _check_ratios(drawn.measures)
    rows = []
    for kernel, place, names in places(drawn, dim):
        less = kernel.lower_is_better
        pairs, known_as = _pairs(names, reference, dim), labels(drawn, kernel, place)
        at = [{**place, dim: pair} for pair in pairs]
        known = (_distributions(drawn, kernel, each, dim, contrast, less) for each in at)
        rope_ = (-region[1], -region[0]) if less else region
        numbers = _decisions(known, rope=rope_, prob=prob, kind=kind)
        asked = {"rope": region, "prob": prob, "kind": kind}
        for pair, place_of, each in zip(pairs, at, numbers, strict=True):
            row = known_as | _numbers_of_contrast(each, less, contrast)
            if kernel.ideal is not None and not drawn.relative:
                row |= _nearer_to_ideal(drawn, kernel, place_of, dim, asked)
            row |= {"first": names[pair[0]], "second": names[pair[1]], "paired": drawn.paired}
            words = sentence(row, rope=region, prob=prob, contrast=contrast)
            row["sentence"] = _sentence_with_place(row, words) + _ASSUMED * kernel.direction_assumed
            rows.append(row)
    leading = [key for key in rows[0] if key not in _KNOWN]
    columns = [*leading, *_COLUMNS]
    table = Intervals({column: [row.get(column, np.nan) for row in rows] for column in columns})
    if drawn.doubts:
        table.attrs["caution"] = " ".join(drawn.doubts)
    return table


# Joint draws of measures, with what is known beyond them.


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
        See `bayescm.interval`; by default that of the type of evidence for a comparison.
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
        return _draw_mapping(evidence, measures, dim, rng, options)
    posterior = posterior_of(evidence, model, compared=dim, **keywords).by(dim)
    found, of = resolve_measures(posterior, measures, of)
    paired = dim in posterior.pairs or dim == "class"  # which share the cells of one matrix
    if compared and not paired:
        _warn_if_paired(_classifiers(posterior.observed, dim))
        _warn_if_apart(posterior.observed, dim)
    number = draws or posterior.draws_by_default(of, joint=True)
    blanks = {each.__name__: measure_template(posterior, each).to_dataarray() for each in found}

    def drawn():
        return draw_labelled(posterior, found, number, rng, of=of, n=n)

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

    more = bool(posterior.measured), tuple(posterior.caveats(of))
    return Joint(blanks, drawn, found, paired, distribution, difference, *more, number)


def draw_labelled(
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
    width = posterior.values_per_draw
    step = max(1, int(_DRAWS_AT_ONCE / width)) if size * width > _DRAWS_AT_ONCE else size
    sizes = np.diff([*range(0, size, step), size])
    parts = [posterior.draw(measures, each, rng, of=of, n=n) for each in sizes]
    arrays = [np.concatenate(each) for each in zip(*parts, strict=True)]
    labelled = {}
    for measure, array in zip(measures, arrays, strict=True):
        labels = measure_template(posterior, measure)
        coords = {k: v for k, v in labels.coords.items() if k != measure.__name__}
        labelled[measure.__name__] = xr.DataArray(array, coords, ("draw", *labels.dims))
    return xr.Dataset(labelled)


def _draw_mapping(members, measures, dim, rng, options):
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


# Members that do not fit together, or seem to be pairs.


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
    attempts = {k: each for k, each in members.items() if type_of(each) is ATTEMPTS}
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


# Each measure, at each place of the dims that are not compared, and the pairs of members.


def places(drawn: Joint, dim: str) -> Iterator[tuple[Any, dict[str, int], list]]:
    """Give every measure at every place of the dims that are not compared."""
    for kernel in drawn.measures:
        values = drawn.blanks[kernel.__name__]
        if dim not in values.dims:
            having = ", ".join(map(str, values.dims)) or "none"
            todo = "pass outcomes or counts with this dim, or a mapping from names to evidence"
            raise fail("no such dim to compare over", dim, having, todo)
        names = values.coords[dim].values.tolist() if dim in values.coords else None
        names = names or list(range(values.sizes[dim]))
        if len(names) < 2:
            todo = "add another, or use interval() for a single one"
            raise fail(f"only one {dim}", names, "two or more", todo)
        others = [str(each) for each in values.dims if each != dim]
        for index in np.ndindex(*(values.sizes[each] for each in others)):
            yield kernel, dict(zip(others, index, strict=True)), names


def labels(drawn: Joint, kernel: Any, place: dict[str, int]) -> dict[str, Any]:
    """Return the names of the place: of its dims, and of the measure with its class."""
    name = kernel.__name__
    if not place:
        return {"measure": name}
    named = drawn.blanks[name].isel(place)
    if "class" in place:
        name = f"{name}[{named.coords['class'].item()}]"
    dims = [dim for dim in place if dim != "class"]
    having = {dim: named.coords[dim].item() if dim in named.coords else place[dim] for dim in dims}
    return having | {"measure": name}


def _pairs(names, reference, dim):
    if reference is None:
        return list(combinations(range(len(names)), 2))
    if reference not in names:
        todo = suggest(reference, names)
        raise fail(f"the reference is not a {dim}", reference, names, todo)
    base = names.index(reference)
    return [(each, base) for each in range(len(names)) if each != base]


# The distribution of a difference or of a ratio, and what it says.


def _distributions(drawn, kernel, place, dim, contrast, less):
    """Return the distribution of how much the first is better, and a better source of its tails."""
    pair = place[dim][::-1] if less and contrast == "difference" else place[dim]
    at = [{**place, dim: each} for each in pair]
    if contrast == "ratio":
        first, second = _draws_at(drawn, kernel, at)
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = first / second - 1
        return Empirical(-excess if less else excess), None
    known = drawn.difference(kernel, *at)
    if known is not None:
        return known, None
    distributions = [] if drawn.paired else [drawn.distribution(kernel, each) for each in at]
    alone = not distributions or any(each is None for each in distributions)
    if not alone:
        apart = Independent(*distributions)
        if apart.is_exact:
            return apart, None
    first, second = _draws_at(drawn, kernel, at)
    return Empirical(first - second), None if alone else _tails(distributions)


def _tails(distributions):
    """Return exact probabilities where they are quick to have."""
    if all(isinstance(each, Discrete) for each in distributions):
        return Independent(*distributions)
    quick = all(
        isinstance(each, FunctionOfShares) or each.how == "closed form" for each in distributions
    )
    return Independent(*distributions) if quick else None


def _draws_at(drawn, kernel, at):
    values = drawn.values[kernel.__name__].variable
    numbers = values.values
    return [numbers[tuple(each.get(dim, slice(None)) for dim in values.dims)] for each in at]


def _check_ratios(measures):
    """Raise where the best value is neither the highest nor the lowest."""
    for each in measures:
        if each.ideal is not None:
            what = f"a ratio does not say which {each.__name__} is better: best is {each.ideal:g}"
            raise fail(what, ..., "a difference", 'ask for contrast="difference"')


def _decisions(known, **asked):
    """Give what distributions say: some at once where they are alike, else one after the other."""
    for part in batched(known, _PAIRS_AT_ONCE):
        alike = len(part) > 1 and not any(tails for _, tails in part)
        batch = joined([each for each, _ in part]) if alike else None
        if batch is not None:
            yield from decide(batch, **asked)
            continue
        for each, tails in part:
            yield from decide(each, tails=tails, **asked)


def _nearer_to_ideal(drawn, kernel, place, dim, asked):
    """Return what becomes of the probabilities where the better is the one nearer to an ideal."""
    at = [{**place, dim: each} for each in place[dim]]
    first, second = (kernel.worth(each) for each in _draws_at(drawn, kernel, at))
    (numbers,) = decide(Empirical(first - second), **asked)
    return {key: numbers[key] for key in _VERDICT}


def _numbers_of_contrast(numbers, less, contrast):
    """Return the numbers of the contrast from those of how much the first is better."""
    if less:
        ends = -numbers["upper"], -numbers["lower"]
        numbers = numbers | {"mean": -numbers["mean"], "lower": ends[0], "upper": ends[1]}
    if contrast == "ratio":
        numbers = numbers | {key: numbers[key] + 1 for key in ("mean", "lower", "upper")}
    return numbers


def _sentence_with_place(row, words):
    """Say where, if the row is about one place of the further dims."""
    where = [f"{dim} {place}" for dim, place in row.items() if dim not in _KNOWN]
    if not where:
        return words
    return f"For {', '.join(where)}, {words.replace('It is open', 'it is open', 1)}"
