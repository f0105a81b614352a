"""
Which is better, by how much, and how certainly: comparisons of the members of some evidence.

`joint_posterior` is the posterior of all members: paired, partially pooled, or independent. The
difference of two of them (`difference_of`) has an exact distribution where the posterior has one,
or where both are independent and known exactly; else it is that of their joint draws.
"""

import math
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import batched, combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers import cautions
from bayescm.answers.dask import in_blocks, is_lazy
from bayescm.answers.interval import (
    Wanted,
    resolve_measures,
)
from bayescm.answers.tables import Intervals
from bayescm.distributions.base import Distribution, concatenate
from bayescm.distributions.decision import check_rope, decide, sentence, turned
from bayescm.distributions.differences import DrawnDifference, independent, independent_tails
from bayescm.distributions.empirical import Empirical
from bayescm.distributions.preintegration import FunctionOfDirichlet
from bayescm.evidence.attempts import ATTEMPTS
from bayescm.evidence.counts import as_counts, positive
from bayescm.evidence.registry import is_members, type_of
from bayescm.fitting.posterior_for import posterior_of, select_estimand
from bayescm.fitting.question import USUAL, Question
from bayescm.fitting.sampled import several_fits
from bayescm.measures.display_names import (
    DisplayNames,
    display_dim,
    display_label,
    display_name,
)
from bayescm.posteriors.base import IndependentMembers, Posterior
from bayescm.posteriors.correlated_t import CorrelatedT
from bayescm.posteriors.paired_outcomes import PairedOutcomes
from bayescm.validate import check_choice, check_kind, check_prob, check_seed, fail, suggest

type Members = Mapping[str, xr.DataArray | xr.DataTree]
type Evidence = xr.DataArray | xr.Dataset | xr.DataTree | Members
_VERDICT = ["p_better", "p_rope", "p_worse", "expected_loss", "expected_loss_second"]
_NUMBERS = ["mean", "sd", "lower", "upper"]
COLUMNS = ["measure", "first", "second", *_NUMBERS, *_VERDICT, "paired", "sentence"]
_ASSUMED = " Higher is assumed to be better."
_MANY_DISCORDANT = 50  # examples on which only one is right, of which no prior decides
_FEW_CELLS = 64  # of a joint table of which it is drawn whether the prior decides
_PAIRS_AT_ONCE = 2**10  # whose differences are decided together


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
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    display_names: DisplayNames = None,
    **keywords: Any,
) -> pd.DataFrame:
    """
    Compare classifiers, or any other members of the evidence, pairwise.

    Parameters
    ----------
    evidence : Dataset, DataArray, DataTree or mapping
        Outcomes of classifiers on the same examples (:func:`bayescm.from_classifiers`) are compared
        as pairs. Counts along ``dim`` are independent; with a dim ``fold`` they are compared fold
        by fold, by the correlated t. A mapping ``{"a": counts, "b": counts}`` holds independent
        evidence, from different examples, whose members are compared; where each of them has
        ``dim`` itself, such as the outcomes of classifiers on several data sets
        ``{"wdbc": ..., "heart": ...}``, it is compared within each. Fits are accepted in place of
        any of these.
    measures : name, function, or sequence of these, optional
        By default the usual ones of the type of evidence; of results on several data sets
        (:func:`bayescm.from_results`) those that they hold.
    dim : str, default "classifier"
        What to compare: ``"group"`` gives the differences between groups, of which three or more
        are partially pooled, by the models that `bayescm.gap` uses; the members of other dims are
        not pooled. A name that the members of a mapping do not have, such as ``"data_set"``,
        compares these with each other.
    prob : float, default 0.95
        Mass of the interval, and the probability a verdict requires.
    kind : {"hdi", "eti"}
    rope : float or (float, float), default 0
        Region of practical equivalence of the difference: half its width, or its ends. For a
        ratio: of its distance from 1.
    reference : label, optional
        Compare all others with this one, instead of all pairs.
    contrast : {"difference", "ratio"}
    of, n, model, concentration, positive
        See `bayescm.interval`.
    draws : int, optional
        How many joint draws; by default 50,000 for up to 64 cells (16 classifiers of two classes),
        10,000 for more. Nothing is drawn where the distribution of a difference is known.
    random_seed : int, default 0
        Seed of the draws.
    display_names : mapping of str to str, optional
        How measures, dims and labels are written in the sentences, where not as
        `bayescm.measures.display_name` writes them.
    **keywords
        The model's further keywords; see `bayescm.interval`.

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
        evidence are columns in front, and ``data_set`` where members of a mapping are compared
        within each; a measure of one of many classes is named ``recall[cat]``. ``attrs`` has
        ``prob``, ``kind``, ``rope`` and ``contrast``; ``how`` where folds are paired by the
        correlated t, which intervals are not by; ``draws`` where some numbers are of so many; and
        ``caution``, which says what makes the model doubtful.

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
    question = Question(of, n, model, concentration, positive, draws, random_seed, None, keywords)
    return _comparison(
        evidence,
        measures,
        question,
        dim=dim,
        prob=prob,
        kind=kind,
        region=region,
        reference=reference,
        contrast=contrast,
        display_names=display_names,
    )


def _comparison(
    evidence, measures, question, *, dim, prob, kind, region, reference, contrast, display_names
):
    """Return the table of a comparison; a mapping of evidence with the dim has one of each."""
    again = partial(
        _comparison,
        measures=measures,
        question=question,
        dim=dim,
        prob=prob,
        kind=kind,
        region=region,
        reference=reference,
        contrast=contrast,
        display_names=display_names,
    )
    if is_lazy(evidence):
        return in_blocks(again, evidence)
    if is_members(evidence) and hold_dim(evidence, dim):
        tables = within_each(again, evidence)
        table = Intervals(tables)
        table.attrs = tables.attrs
        table["sentence"] = [
            _at({"data_set": name}, words, display_names)
            for name, words in zip(table["data_set"], table["sentence"], strict=True)
        ]
        return table
    posterior, kernels, of = joint_posterior(evidence, measures, question, dim=dim)
    n, size, rng = question.n, draws_of(question, posterior, of), rng_of(question)
    joint_draws = cache(partial(draw_labelled, posterior, kernels, size, rng, of=of, n=n))
    if contrast == "ratio":
        check_levels(posterior)
        _check_ratios(kernels)
    paired = is_paired(posterior, dim)
    alone = cache(partial(posterior.exact_members, of=of, n=n))
    rows: list[dict] = []
    ranges: dict[str, tuple[float, float]] = {}
    prior_decides: list[str] = []
    for kernel, position, names in positions(posterior, kernels, dim):
        values = partial(_values_of, joint_draws, kernel)
        difference = partial(
            difference_of,
            posterior,
            kernel,
            of=of,
            exact=None if paired or contrast == "ratio" else alone(kernel),
            draws=values,
            by_draws=question.draws is not None,
        )
        less = kernel.lower_is_better
        pairs, where = _pairs(names, reference, dim), labels(posterior, kernel, position)
        members = [({**position, dim: i}, {**position, dim: j}) for i, j in pairs]
        index = partial(_index, posterior.measure_template(kernel).dims)
        if contrast == "ratio":
            better = (
                _excess(values(), index(first), index(second), less) for first, second in members
            )
        else:
            better = (difference(*(pair[::-1] if less else pair)) for pair in members)
        numbers = _decisions(better, rope=turned(region) if less else region, prob=prob, kind=kind)
        for pair, member, decision in zip(pairs, members, numbers, strict=True):
            row = where | _numbers_of_contrast(decision, less, contrast)
            if kernel.ideal is not None and not posterior.measured:
                first, second = (kernel.oriented(values()[index(at)]) for at in member)
                row |= _verdict(first - second, rope=region, prob=prob, kind=kind)
            row |= {"first": names[pair[0]], "second": names[pair[1]], "paired": paired}
            words = sentence(
                _displayed(row, kernel, display_names),
                rope=region,
                prob=prob,
                contrast=contrast,
                lower_is_better=less,
            )
            words = _sentence_with_labels(row, words, display_names)
            row["sentence"] = words + _ASSUMED if kernel.direction_assumed else words
            ranges[row["measure"]] = kernel.range
            rows.append(row)
            usual_prior = question.concentration is None
            if usual_prior and contrast == "difference" and of == "parameter":
                at = member[::-1] if less else member
                rope_of_better = turned(region) if less else region
                displayed = row | _displayed(row, kernel, display_names)
                prior_decides += _prior_decides(
                    posterior, kernel, at, displayed, rope_of_better, prob
                )
    leading = [key for key in rows[0] if key not in COLUMNS]
    columns = [*leading, *COLUMNS]
    table = Intervals({column: [row.get(column, np.nan) for row in rows] for column in columns})
    table.attrs = {"prob": prob, "kind": kind, "rope": region, "contrast": contrast}
    table.attrs["ranges"] = ranges
    if posterior.how == CorrelatedT.how:  # differences by another model than intervals
        table.attrs["how"] = posterior.how
    if joint_draws.cache_info().currsize:
        table.attrs["draws"] = size
    caveats = cautions.of_measures(posterior, kernels, of) + prior_decides
    caveats += [words for kernel in kernels for words in posterior.caveats_of_pairs(kernel)]
    if is_members(evidence):
        caveats += cautions.of_items(evidence)
    if is_members(evidence) and hold_dim(evidence, "classifier"):
        caveats.append(
            f"The members of the mapping ({display_dim(dim, display_names)}) are compared with "
            "each other, every classifier by itself. To compare classifiers within each of them, "
            "leave out dim."
        )
    if caveats:
        table.attrs["caution"] = " ".join(caveats)
    return table


# A mapping whose members have what is compared themselves: the table of each, below each other.


def hold_dim(evidence: Members, dim: str) -> bool:
    """Say whether every member of a mapping has a dim itself, such as ``classifier``."""
    return bool(evidence) and all(dim in _dims(member) for member in evidence.values())


def _dims(member):
    nodes = member.subtree if isinstance(member, xr.DataTree) else [member]
    return {dim for node in nodes for dim in getattr(node, "dims", ())}


def within_each(ask: Callable[[Any], pd.DataFrame], evidence: Members) -> pd.DataFrame:
    """Return what is asked of each member, measure by measure, with a column ``data_set``."""
    with several_fits(len(evidence)):
        tables = {name: ask(member) for name, member in evidence.items()}
    joined = below_each_other(tables, "data_set")
    rank = {name: i for i, name in enumerate(dict.fromkeys(joined["measure"]))}
    by_measure = joined["measure"].map(rank)
    return joined.iloc[by_measure.argsort(kind="stable")].reset_index(drop=True)


def below_each_other(tables: Mapping[Any, pd.DataFrame], dim: str) -> pd.DataFrame:
    """
    Return tables below each other, with a column in front that names each.

    Parameters
    ----------
    tables : mapping of label to DataFrame
        As `compare` or `bayescm.ranks` return them.
    dim : str

    Raises
    ------
    ValueError
        If they are of another ``prob``, ``rope``, ``kind`` or ``contrast``.
    """
    if not tables:
        raise fail("no comparisons", {}, "one or more", 'pass {"wdbc": compare(...), ...}')
    parts, cautions = [], []
    attrs: dict[str, Any] = {}
    for name, table in tables.items():
        for fact, value in table.attrs.items():
            if fact == "caution":
                cautions.append(f"{name}: {value}")
            elif fact == "ranges":
                attrs[fact] = attrs.get(fact, {}) | value
            elif attrs.setdefault(fact, value) != value and fact not in ("how", "draws"):
                todo = "compare all of them in one way"
                raise fail(f"the comparisons have different {fact}", value, attrs[fact], todo)
        part = pd.DataFrame(table)
        part.insert(0, dim, pd.Series([name] * len(part), part.index, object))
        parts.append(part)
    joined = pd.concat(parts, ignore_index=True)
    joined.attrs = attrs | ({"caution": " ".join(cautions)} if cautions else {})
    return joined


def _values_of(joint_draws, kernel):
    """Return the draws of a measure, of all measures that are drawn together."""
    return joint_draws()[kernel.__name__].values


# The posterior of all members, and the distribution of a difference of two of them.


def joint_posterior(
    evidence: Evidence,
    measures: Wanted | None,
    question: Question = USUAL,
    *,
    dim: str = "classifier",
    compared: bool = True,
) -> tuple[Posterior, list, str]:
    """
    Return the posterior of all members of the evidence, the measures resolved, and the estimand.

    Parameters
    ----------
    evidence : DataArray, Dataset, DataTree or mapping
        Counts, outcomes or a fit. The members of a mapping are independent, even if their fits
        were given the same seed.
    measures : name, function, or sequence of these, optional
    question : Question
        By default its model is the default for comparisons of this type of evidence.
    dim : str, default "classifier"
        The dim that will be compared; the name of the dim that the members of a mapping get.
    compared : bool, default True
        Whether members are compared, and a warning is due if they seem to be paired unsaid.
    """
    if measures is None:
        measures = _default_measures(evidence)
    if not is_members(evidence):
        whole, of = posterior_of(evidence, question, compared=dim), question.of
        of = "parameter" if of == dim and dim in whole.pooled_dims else of  # each member, as asked
        posterior, of = select_estimand(whole.by(dim), of)
        kernels = resolve_measures(posterior, measures)
        if compared and not is_paired(posterior, dim):
            _warn_if_paired(_classifiers(posterior.observed, dim))
            _warn_if_apart(posterior.observed, dim)
        return posterior, kernels, of
    if not evidence:
        raise fail("no evidence", {}, "two or more members", 'pass {"a": counts_a, "b": counts_b}')
    matrices = {k: member for k, member in evidence.items() if isinstance(member, xr.DataArray)}
    _check_positive(matrices)
    if compared:
        _warn_if_paired(matrices)
    with several_fits(len(evidence)):
        parts = {
            name: joint_posterior(member, measures, question, dim="", compared=compared)
            for name, member in evidence.items()
        }
    _, kernels, of = next(iter(parts.values()))
    _check_votes(evidence, kernels)
    posteriors = {name: posterior for name, (posterior, *_) in parts.items()}
    resolved = {name: kernels_of_member for name, (_, kernels_of_member, _) in parts.items()}
    return IndependentMembers(posteriors, dim, resolved), kernels, of


def _default_measures(evidence):
    """Return the measures usually compared of the type of evidence, or None where it has none."""
    member = next(iter(evidence.values()), None) if is_members(evidence) else evidence
    if member is None:
        return None
    entry = type_of(member)
    return (entry.compared_measures or entry.default_measures)(member) or None


def is_paired(posterior: Posterior, dim: str) -> bool:
    """Say whether members belong together: of the same examples, or classes of one matrix."""
    return dim in posterior.pairs or dim == "class"


def check_levels(posterior: Posterior) -> None:
    """Raise where only differences between members are known, and levels have no meaning."""
    if posterior.measured:
        what = "results are of differences between members"
        raise fail(what, ..., "", "use compare or ranks")


def difference_of(
    posterior: Posterior,
    measure: Callable,
    first: Mapping[str, int],
    second: Mapping[str, int],
    *,
    of: str,
    exact: np.ndarray | None,
    draws: Callable[[], np.ndarray],
    by_draws: bool = False,
) -> Distribution:
    """
    Return the distribution of a measure of one member minus that of another.

    Members that belong together are asked of their posterior; others are independent, and their
    difference follows from the exact distributions of both, where there are any.

    Parameters
    ----------
    posterior : Posterior
    measure : callable
    first, second : mapping of str to int
        Their indices along the dims of the measure.
    of : str
    exact : ndarray of objects, optional
        Of independent members, the exact distribution of each, or None where it has none; not
        passed where members belong together.
    draws : callable
        Returns joint draws of the measure, where they are needed.
    by_draws : bool, default False
        Whether draws were asked for, and stand in the place of pre-integration.
    """
    if exact is None:
        if "class" in first and first["class"] != second["class"]:  # of one matrix: no pair
            return _drawn_difference(posterior, measure, first, second, draws)
        distribution = posterior.difference(measure, first, second, of=of, draws=draws)
        if by_draws and distribution.how == FunctionOfDirichlet.how:
            return _drawn_difference(posterior, measure, first, second, draws)
        return distribution
    dims = posterior.measure_template(measure).dims
    pair = [exact[tuple(at[dim] for dim in dims)] for at in (first, second)]
    if None in pair or (by_draws and FunctionOfDirichlet.how in [member.how for member in pair]):
        return _drawn_difference(posterior, measure, first, second, draws)
    by_quadrature = independent(*pair)
    if by_quadrature is not None:
        return by_quadrature
    drawn = _drawn_difference(posterior, measure, first, second, draws)
    tails = independent_tails(*pair)
    return drawn if tails is None else DrawnDifference(drawn.draws, tails=tails)


def _drawn_difference(posterior, measure, first, second, draws):
    dims, values = posterior.measure_template(measure).dims, draws()
    return Empirical.difference(values[_index(dims, first)], values[_index(dims, second)])


def _index(dims, at):
    """Return the index of a member into draws (size, ...)."""
    return (slice(None), *(at[dim] for dim in dims))


def draw_labelled(
    posterior: Posterior,
    measures: Sequence[Callable],
    size: int,
    rng: np.random.Generator,
    *,
    of: str = "parameter",
    n: int | None = None,
) -> xr.Dataset:
    """Draw all measures jointly: a variable of each, dims (draw, ..., [class])."""
    arrays = posterior.draw_in_parts(measures, size, rng, of=of, n=n)
    labelled = {}
    for measure, array in zip(measures, arrays, strict=True):
        template = posterior.measure_template(measure)
        coords = {k: v for k, v in template.coords.items() if k != measure.__name__}
        labelled[measure.__name__] = xr.DataArray(array, coords, ("draw", *template.dims))
    return xr.Dataset(labelled)


def draw_measures(
    evidence: Evidence,
    measures: Wanted | None,
    question: Question = USUAL,
    *,
    dim: str = "classifier",
    compared: bool = True,
) -> xr.Dataset:
    """
    Draw measures from the joint posterior of whatever the evidence holds.

    Parameters
    ----------
    evidence, measures, question, dim, compared
        As of `joint_posterior`.

    Returns
    -------
    Dataset, dims (draw, ..., [class])
        A variable per measure; NaN where undefined.
    """
    posterior, kernels, of = joint_posterior(
        evidence, measures, question, dim=dim, compared=compared
    )
    check_levels(posterior)
    size, rng = draws_of(question, posterior, of), rng_of(question)
    return draw_labelled(posterior, kernels, size, rng, of=of, n=question.n)


def draws_of(question: Question, posterior: Posterior, of: str) -> int:
    """Return the number of joint draws: as asked, or as usual for the posterior."""
    return question.draws or posterior.draws_by_default(of, joint=True)


def rng_of(question: Question) -> np.random.Generator:
    """Return the generator of the joint draws."""
    return np.random.default_rng(check_seed(question.random_seed))


def count_values(posterior: Posterior, kernels: Sequence[Callable], *apart: str) -> int:
    """Return how many numbers one draw of all measures is, of one member of some dims."""
    return sum(
        math.prod(size for dim, size in template.sizes.items() if dim not in apart)
        for template in map(posterior.measure_template, kernels)
    )


# Members that do not fit together, or seem to be pairs.


def _check_positive(members):
    """Raise where the same labels have one positive class here and another one there."""
    positive_classes: dict[frozenset, Any] = {}
    for name, counts in members.items():
        label, labels = positive(counts), frozenset(as_counts(counts).indexes["actual"])
        if label is not None and positive_classes.setdefault(labels, label) != label:
            todo = f"give all members `positive={positive_classes[labels]!r}`"
            allowed = repr(positive_classes[labels])
            raise fail(f"{name} has a different positive class", label, allowed, todo)


def _check_votes(members, measures):
    """Raise where a majority is a plurality here, and more than half of the answers there."""
    attempts = {k: member for k, member in members.items() if type_of(member) is ATTEMPTS}
    lacking = [name for name, member in attempts.items() if "answer" not in member]
    votes = any(getattr(getattr(measure, "form", None), "votes", False) for measure in measures)
    if votes and 0 < len(lacking) < len(attempts):
        todo = "give all of them `truth=`, or leave the answers out: evidence.drop_vars('answer')"
        raise fail(f"the answers themselves are not known of {lacking[0]}", ..., "", todo)


def _warn_if_paired(members):
    """Warn where matrices that are taken for independent have the same class totals."""
    totals = {name: counts.sum("predicted").values.tolist() for name, counts in members.items()}
    for first, second in combinations(totals, 2):
        if totals[first] == totals[second]:
            warnings.warn(
                f"{first} and {second} have the same class totals: they seem to have been tested "
                "on the same examples, but are compared as independent, which makes intervals too "
                "wide. To pair them, use from_classifiers.",
                UserWarning,
                stacklevel=4,
            )
            return


def _warn_if_apart(observed, dim):
    """Warn where members gave a number for each of the same examples, and are not paired."""
    if {dim, "example"} <= {*observed.dims}:
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
    return {name: counts.isel({dim: index}) for index, name in enumerate(names)}


# Each measure, at each position along the dims that are not compared, and the pairs of members.


def positions(
    posterior: Posterior, kernels: Sequence[Any], dim: str
) -> Iterator[tuple[Any, dict[str, int], list]]:
    """Give every measure at every position along the other dims, and the members compared."""
    for kernel in kernels:
        template = posterior.measure_template(kernel)
        if dim not in template.dims:
            dims = [*template.dims, *(name for name in posterior.pooled_dims if name == "group")]
            todo = 'pass several by name, {"a": counts_a, "b": counts_b}, or evidence with this dim'
            if dims:
                todo = (
                    f'pass `dim="{dims[0]}"`, or several by name, {{"a": counts_a, "b": counts_b}}'
                )
            allowed = "a dim of the evidence: " + (", ".join(map(str, dims)) or "none")
            raise fail("no such dim to compare over", dim, allowed, todo)
        names = template.coords[dim].values.tolist() if dim in template.coords else None
        names = names or list(range(template.sizes[dim]))
        if len(names) < 2:
            todo = "add another, or use interval() for a single one"
            raise fail(f"only one {dim}", names, "two or more", todo)
        others = [str(other) for other in template.dims if other != dim]
        for index in np.ndindex(*(template.sizes[other] for other in others)):
            yield kernel, dict(zip(others, index, strict=True)), names


def labels(posterior: Posterior, kernel: Any, position: dict[str, int]) -> dict[str, Any]:
    """Return the labels at a position: of its dims, and of the measure with its class."""
    name, coords = kernel.__name__, posterior.measure_template(kernel).coords
    if "class" in position:
        name = f"{name}[{coords['class'].values.tolist()[position['class']]}]"
    where = {
        dim: coords[dim].values.tolist()[index] if dim in coords else index
        for dim, index in position.items()
        if dim != "class"
    }
    return where | {"measure": name}


def _pairs(names, reference, dim):
    if reference is None:
        return list(combinations(range(len(names)), 2))
    if reference not in names:
        todo = suggest(reference, names)
        raise fail(f"the reference is not a {dim}", reference, names, todo)
    base = names.index(reference)
    return [(index, base) for index in range(len(names)) if index != base]


# What the distribution of a difference or of a ratio says.


def _excess(values, first, second, less):
    """Return the distribution of how much the first is better, as a share of the second."""
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = values[first] / values[second] - 1
    return Empirical(-excess if less else excess)


def _check_ratios(measures):
    """Raise where the best value is neither the highest nor the lowest."""
    for measure in measures:
        if measure.ideal is not None:
            name, ideal = measure.__name__, measure.ideal
            what = f"a ratio does not say which {name} is better: best is {ideal:g}"
            raise fail(what, ..., "a difference", 'ask for `contrast="difference"`')


def _decisions(distributions, **options):
    """Give what distributions say: some at once where they are alike, else one after the other."""
    for part in batched(distributions, _PAIRS_AT_ONCE):
        batch = concatenate(part) if len(part) > 1 else None
        for distribution in part if batch is None else [batch]:
            yield from decide(distribution, **options)


def _verdict(draws, **options):
    """Return the probabilities of how much nearer to the ideal the first is."""
    (numbers,) = decide(Empirical(draws), **options)
    return {key: numbers[key] for key in _VERDICT}


def _prior_decides(posterior, kernel, members, row, rope, prob):
    """Say where a verdict on a pair would not stand with a uniform prior of who is right."""
    stands = {"better": row["p_better"] >= prob, "worse": row["p_worse"] >= prob}
    if not isinstance(posterior, PairedOutcomes) or not any(stands.values()):
        return []
    heavier = posterior.with_uniform_prior(kernel, *members)
    if heavier is None or heavier[1].sum() > _MANY_DISCORDANT:
        return []
    difference = heavier[0].exact_difference(kernel, *members)
    if difference is None and heavier[0].size > _FEW_CELLS:
        return []
    difference = heavier[0].difference(kernel, *members) if difference is None else difference
    low, high = rope
    below = difference.cdf(low) - difference.mass_at(low)
    share = float(difference.sf(high) if stands["better"] else below)
    if share >= prob:
        return []
    verdict = "better" if stands["better"] else "worse"
    alone = heavier[1][::-1] if kernel.lower_is_better else heavier[1]
    return [
        f"Whether {row['first']} is {verdict} than {row['second']} in {row['measure']} hangs on "
        f"the prior: {row['first']} alone is right about {alone[0]:.6g} examples and "
        f"{row['second']} alone about {alone[1]:.6g}. With a uniform prior of which of the two is "
        f"right (concentration={heavier[0].prior.flat[0]:.4g}) the probability is "
        f"{100 * share:.1f}%."
    ]


def _numbers_of_contrast(numbers, less, contrast):
    """Return the numbers of the contrast from those of how much the first is better."""
    if less:
        ends = -numbers["upper"], -numbers["lower"]
        numbers = numbers | {"mean": -numbers["mean"], "lower": ends[0], "upper": ends[1]}
    if contrast == "ratio":
        numbers = numbers | {key: numbers[key] + 1 for key in ("mean", "lower", "upper")}
    return numbers


def _displayed(row, kernel, display_names):
    """Return a row of a comparison with the display names of its measure and of the pair."""
    if kernel.ideal is not None:  # the interval is not of what the verdict is of: who is nearer
        row = {name: value for name, value in row.items() if name not in ("lower", "upper")}
    names = {side: display_label(row[side], display_names) for side in ("first", "second")}
    return row | names | {"measure": display_name(row["measure"], display_names)}


def _sentence_with_labels(row, words, display_names):
    """Say where, if the row is about one position along the further dims."""
    where = {dim: label for dim, label in row.items() if dim not in COLUMNS}
    return _at(where, words, display_names) if where else words


def _at(where, words, display_names):
    """Put before a sentence where it holds."""
    places = ", ".join(
        f"{display_dim(dim, display_names)} {display_label(label, display_names)}"
        for dim, label in where.items()
    )
    words = words.removeprefix("For ").replace("It is open", "it is open", 1)
    return f"For {places}, {words}"
