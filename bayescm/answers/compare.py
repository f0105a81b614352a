"""Which is better, by how much, and how certainly: comparisons."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from itertools import batched, combinations
from typing import Any, Literal

import numpy as np
import pandas as pd

from bayescm.answers.dask import in_blocks, is_lazy
from bayescm.answers.draws import Evidence, Joint, draw_measures
from bayescm.answers.tables import Intervals
from bayescm.distributions.base import joined
from bayescm.distributions.decision import check_rope, decide, sentence
from bayescm.distributions.differences import Independent
from bayescm.distributions.discrete import Discrete, Empirical
from bayescm.distributions.quadrature import FunctionOfShares
from bayescm.validate import check_choice, check_kind, check_prob, fail, suggest

_COLUMNS = ["measure", "first", "second", "mean", "sd", "lower", "upper"]
_VERDICT = ["p_better", "p_rope", "p_worse", "expected_loss", "expected_loss_second"]
_COLUMNS += [*_VERDICT, "paired", "sentence"]
_KNOWN = set(_COLUMNS)
_ASSUMED = " Higher is assumed to be better."
_PAIRS = 2**10  # at once


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
        numbers = _decided(known, rope=rope_, prob=prob, kind=kind)
        asked = {"rope": region, "prob": prob, "kind": kind}
        for pair, place_of, each in zip(pairs, at, numbers, strict=True):
            row = known_as | _turned(each, less, contrast)
            if kernel.ideal is not None and not drawn.relative:
                row |= _nearer(drawn, kernel, place_of, dim, asked)
            row |= {"first": names[pair[0]], "second": names[pair[1]], "paired": drawn.paired}
            words = sentence(row, rope=region, prob=prob, contrast=contrast)
            row["sentence"] = _said(row, words) + _ASSUMED * kernel.direction_assumed
            rows.append(row)
    leading = [key for key in rows[0] if key not in _KNOWN]
    columns = [*leading, *_COLUMNS]
    table = Intervals({column: [row.get(column, np.nan) for row in rows] for column in columns})
    if drawn.doubts:
        table.attrs["caution"] = " ".join(drawn.doubts)
    return table


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


def _pairs(names, reference, dim):
    if reference is None:
        return list(combinations(range(len(names)), 2))
    if reference not in names:
        todo = suggest(reference, names)
        raise fail(f"the reference is not a {dim}", reference, names, todo)
    base = names.index(reference)
    return [(each, base) for each in range(len(names)) if each != base]


def _distributions(drawn, kernel, place, dim, contrast, less):
    """Return the distribution of how much the first is better, and a better source of its tails."""
    pair = place[dim][::-1] if less and contrast == "difference" else place[dim]
    at = [{**place, dim: each} for each in pair]
    if contrast == "ratio":
        first, second = _draws(drawn, kernel, at)
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
    first, second = _draws(drawn, kernel, at)
    return Empirical(first - second), None if alone else _tails(distributions)


def _check_ratios(measures):
    """Raise where the best value is neither the highest nor the lowest."""
    for each in measures:
        if each.ideal is not None:
            what = f"a ratio does not say which {each.__name__} is better: best is {each.ideal:g}"
            raise fail(what, ..., "a difference", 'ask for contrast="difference"')


def _nearer(drawn, kernel, place, dim, asked):
    """Return what becomes of the probabilities where the better is the one nearer to an ideal."""
    at = [{**place, dim: each} for each in place[dim]]
    first, second = (kernel.worth(each) for each in _draws(drawn, kernel, at))
    (numbers,) = decide(Empirical(first - second), **asked)
    return {key: numbers[key] for key in _VERDICT}


def _draws(drawn, kernel, at):
    values = drawn.values[kernel.__name__].variable
    numbers = values.values
    return [numbers[tuple(each.get(dim, slice(None)) for dim in values.dims)] for each in at]


def _tails(distributions):
    """Return exact probabilities where they are quick to have."""
    if all(isinstance(each, Discrete) for each in distributions):
        return Independent(*distributions)
    quick = all(
        isinstance(each, FunctionOfShares) or each.how == "closed form" for each in distributions
    )
    return Independent(*distributions) if quick else None


def _decided(known, **asked):
    """Give what distributions say: some at once where they are alike, else one after the other."""
    for part in batched(known, _PAIRS):
        alike = len(part) > 1 and not any(tails for _, tails in part)
        batch = joined([each for each, _ in part]) if alike else None
        if batch is not None:
            yield from decide(batch, **asked)
            continue
        for each, tails in part:
            yield from decide(each, tails=tails, **asked)


def _turned(numbers, less, contrast):
    """Return the numbers of the contrast from those of how much the first is better."""
    if less:
        ends = -numbers["upper"], -numbers["lower"]
        numbers = numbers | {"mean": -numbers["mean"], "lower": ends[0], "upper": ends[1]}
    if contrast == "ratio":
        numbers = numbers | {key: numbers[key] + 1 for key in ("mean", "lower", "upper")}
    return numbers


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


def _said(row, words):
    """Say where, if the row is about one place of the further dims."""
    where = [f"{dim} {place}" for dim, place in row.items() if dim not in _KNOWN]
    if not where:
        return words
    return f"For {', '.join(where)}, {words.replace('It is open', 'it is open', 1)}"
