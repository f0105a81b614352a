"""
Pairwise comparisons of classifiers or other members of the evidence.

`joint_posterior` returns the posterior of all members, which are paired, partially pooled or
independent. `difference_of` returns the distribution of the difference between two members. It is
exact if the posterior provides it, or if both members are independent with exact distributions.
Otherwise it is estimated from joint draws.
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
_MANY_DISCORDANT = 50  # number of discordant examples above which no usual prior decides
_FEW_CELLS = 64  # largest number of joint cells for which this check needs no draws
_PAIRS_AT_ONCE = 2**10  # number of pairs whose differences are evaluated together


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
    Compare classifiers, or other members of the evidence, pairwise.

    For each pair, the result contains the interval of the difference and the probabilities that the
    first is better, equivalent or worse. For many classifiers, `bayescm.ranks` is easier to read.

    Parameters
    ----------
    evidence : Dataset, DataArray, DataTree or mapping
        Data to compare, or fits.

        - Outcomes of classifiers on the same examples (:func:`bayescm.from_classifiers`) are
          compared as pairs.
        - Counts along ``dim`` are treated as independent. If they have a dimension ``fold``, they
          are compared fold by fold with the correlated t.
        - The members of a mapping ``{"a": counts, "b": counts}`` are independent and come from
          different examples. If every member has the dimension ``dim`` itself, comparisons are made
          within each member, as for classifiers on several data sets ``{"wdbc": ..., "heart":
          ...}``.
    measures : name, function, or sequence of these, optional
        Measures to compare. By default the usual measures for this type of evidence, or all
        measures of results on several data sets (:func:`bayescm.from_results`).
    dim : str, default "classifier"
        Dimension to compare along. Along ``"group"``, three or more groups are partially pooled,
        with the same models as in `bayescm.gap`; along any other dimension, members are not pooled.
        If the members of a mapping do not have this dimension, such as ``"data_set"``, they are
        compared with each other.
    prob : float, default 0.95
        Probability of the interval, and the probability that a verdict requires.
    kind : {"hdi", "eti"}
    rope : float or (float, float), default 0
        Region of practical equivalence for the difference: half its width, or both ends. For
        ratios, it refers to the difference from 1.
    reference : label, optional
        Member to compare all others with. By default all pairs are compared.
    contrast : {"difference", "ratio"}
    of, n, model, concentration, positive
        See `bayescm.interval`.
    draws : int, optional
        Number of joint draws. By default 50,000 for up to 64 cells (16 classifiers with two
        classes) and 10,000 for more. No draws are needed if the distribution of a difference is
        known.
    random_seed : int, default 0
        Seed of the random draws.
    display_names : mapping of str to str, optional
        Display names of measures, dimensions and labels in the sentences. By default, see
        `bayescm.measures.display_name`.
    **keywords
        Further keywords of the model. See `bayescm.interval`.

    Returns
    -------
    DataFrame
        One row per pair and measure:

        - Columns of other dimensions of the evidence, if there are any, and ``data_set`` if
          comparisons are made within the members of a mapping.
        - ``measure``: name of the measure, including the class if there are several classes, such
          as ``recall[cat]``.
        - ``first``, ``second``: the members.
        - ``mean``, ``sd``, ``lower``, ``upper``: posterior of first - second.
        - ``p_better``, ``p_rope``, ``p_worse``: probabilities that the first is better, equivalent
          or worse.
        - ``expected_loss``, ``expected_loss_second``: expected loss of choosing the first or the
          second.
        - ``paired``: whether the members are compared as pairs.
        - ``sentence``: the three probabilities in words.

        Lower values are better for error rates, losses and costs. Values nearer to the ideal are
        better for the calibration slope (1), intercept and calibration in the large (0). For custom
        functions, see `bayescm.measures.measure`.

        ``attrs`` contains ``prob``, ``kind``, ``rope`` and ``contrast``. It also contains ``how``
        if the folds were compared with the correlated t, ``draws`` if some numbers come from draws,
        and ``caution`` if there is reason to doubt the model.

    Raises
    ------
    ValueError
        If there is nothing to compare, or an argument is invalid.

    Warns
    -----
    UserWarning
        If two matrices are compared as independent but have the same class totals, or if the model
        cannot pair the classifiers, as with probabilities by site.

    See Also
    --------
    ranks : Ranking of several members.
    joint_interval : Simultaneous intervals.

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
    """Return the table of a comparison, within each member of a mapping if it has the dim."""
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
    posterior, resolved_measures, of = joint_posterior(evidence, measures, question, dim=dim)
    n, size, rng = question.n, draws_of(question, posterior, of), rng_of(question)
    joint_draws = cache(partial(draw_labelled, posterior, resolved_measures, size, rng, of=of, n=n))
    if contrast == "ratio":
        check_levels(posterior)
        _check_ratios(resolved_measures)
    paired = is_paired(posterior, dim)
    alone = cache(partial(posterior.exact_members, of=of, n=n))
    rows: list[dict] = []
    ranges: dict[str, tuple[float, float]] = {}
    prior_decides: list[str] = []
    for measure, position, names in positions(posterior, resolved_measures, dim):
        values = partial(_values_of, joint_draws, measure)
        difference = partial(
            difference_of,
            posterior,
            measure,
            of=of,
            exact=None if paired or contrast == "ratio" else alone(measure),
            draws=values,
            by_draws=question.draws is not None,
        )
        less = measure.lower_is_better
        pairs, where = _pairs(names, reference, dim), labels(posterior, measure, position)
        members = [({**position, dim: i}, {**position, dim: j}) for i, j in pairs]
        index = partial(_index, posterior.measure_template(measure).dims)
        if contrast == "ratio":
            better = (
                _excess(values(), index(first), index(second), less) for first, second in members
            )
        else:
            better = (difference(*(pair[::-1] if less else pair)) for pair in members)
        numbers = _decisions(better, rope=turned(region) if less else region, prob=prob, kind=kind)
        for pair, member, decision in zip(pairs, members, numbers, strict=True):
            row = where | _numbers_of_contrast(decision, less, contrast)
            if measure.ideal is not None and not posterior.measured:
                first, second = (measure.oriented(values()[index(at)]) for at in member)
                row |= _verdict(first - second, rope=region, prob=prob, kind=kind)
            row |= {"first": names[pair[0]], "second": names[pair[1]], "paired": paired}
            words = sentence(
                _displayed(row, measure, display_names),
                rope=region,
                prob=prob,
                contrast=contrast,
                lower_is_better=less,
            )
            words = _sentence_with_labels(row, words, display_names)
            row["sentence"] = words + _ASSUMED if measure.direction_assumed else words
            ranges[row["measure"]] = measure.range
            rows.append(row)
            usual_prior = question.concentration is None
            if usual_prior and contrast == "difference" and of == "parameter":
                at = member[::-1] if less else member
                rope_of_better = turned(region) if less else region
                displayed = row | _displayed(row, measure, display_names)
                prior_decides += _prior_decides(
                    posterior, measure, at, displayed, rope_of_better, prob
                )
    leading = [key for key in rows[0] if key not in COLUMNS]
    columns = [*leading, *COLUMNS]
    table = Intervals({column: [row.get(column, np.nan) for row in rows] for column in columns})
    table.attrs = {"prob": prob, "kind": kind, "rope": region, "contrast": contrast}
    table.attrs["ranges"] = ranges
    if posterior.how == CorrelatedT.how:  # differences and intervals use different models
        table.attrs["how"] = posterior.how
    if joint_draws.cache_info().currsize:
        table.attrs["draws"] = size
    caveats = cautions.of_measures(posterior, resolved_measures, of) + prior_decides
    caveats += [
        words for measure in resolved_measures for words in posterior.caveats_of_pairs(measure)
    ]
    if is_members(evidence):
        caveats += cautions.of_items(evidence)
    if is_members(evidence) and hold_dim(evidence, "classifier"):
        caveats.append(
            f"The members of the mapping ({display_dim(dim, display_names)}) are compared "
            "with each other, for each classifier separately. To compare classifiers "
            "within each member, leave out dim."
        )
    if caveats:
        table.attrs["caution"] = " ".join(caveats)
    return table


# Mappings whose members have the compared dimension: one table per member, concatenated.


def hold_dim(evidence: Members, dim: str) -> bool:
    """Return True if every member of a mapping has a dimension, such as ``classifier``."""
    return bool(evidence) and all(dim in _dims(member) for member in evidence.values())


def _dims(member):
    nodes = member.subtree if isinstance(member, xr.DataTree) else [member]
    return {dim for node in nodes for dim in getattr(node, "dims", ())}


def within_each(ask: Callable[[Any], pd.DataFrame], evidence: Members) -> pd.DataFrame:
    """Return the results of all members, sorted by measure, with a column ``data_set``."""
    with several_fits(len(evidence)):
        tables = {name: ask(member) for name, member in evidence.items()}
    joined = below_each_other(tables, "data_set")
    rank = {name: i for i, name in enumerate(dict.fromkeys(joined["measure"]))}
    by_measure = joined["measure"].map(rank)
    return joined.iloc[by_measure.argsort(kind="stable")].reset_index(drop=True)


def below_each_other(tables: Mapping[Any, pd.DataFrame], dim: str | None) -> pd.DataFrame:
    """
    Concatenate tables, with a first column that identifies the table of each row.

    Parameters
    ----------
    tables : mapping of label to DataFrame
        Tables returned by `compare` or `bayescm.ranks`.
    dim : str or None
        Name of the new column. With None, no column is added.

    Raises
    ------
    ValueError
        If there are no tables, or the tables have different ``prob``, ``rope``, ``kind`` or
        ``contrast``.
    """
    if not tables:
        raise fail("No comparisons are given", ..., "", 'pass e.g. {"wdbc": compare(...), ...}')
    parts, cautions = [], []
    attrs: dict[str, Any] = {}
    kind = "tables" if dim is None else "comparisons"
    for name, table in tables.items():
        for fact, value in table.attrs.items():
            if fact == "caution":
                cautions.append(value if dim is None else f"{name}: {value}")
            elif fact == "ranges":
                attrs[fact] = attrs.get(fact, {}) | value
            elif attrs.setdefault(fact, value) != value and fact not in ("how", "draws"):
                raise fail(
                    f"The {kind} have different {fact}: {value!r} and {attrs[fact]!r}",
                    ...,
                    "",
                    f"make all {kind} with the same {fact}",
                )
        part = pd.DataFrame(table)
        if dim is not None:
            part.insert(0, dim, pd.Series([name] * len(part), part.index, object))
        parts.append(part)
    joined = pd.concat(parts, ignore_index=True)
    joined.attrs = attrs | ({"caution": " ".join(cautions)} if cautions else {})
    return joined


def _values_of(joint_draws, measure):
    """Return the draws of one measure. All measures share the same joint draws."""
    return joint_draws()[measure.__name__].values


# The joint posterior of all members, and the distribution of the difference between two members.


def joint_posterior(
    evidence: Evidence,
    measures: Wanted | None,
    question: Question = USUAL,
    *,
    dim: str = "classifier",
    compared: bool = True,
) -> tuple[Posterior, list, str]:
    """
    Return the joint posterior of all members, resolved measures and the estimand.

    Parameters
    ----------
    evidence : DataArray, Dataset, DataTree or mapping
        Counts, outcomes or a fit. The members of a mapping are independent, even if their fits
        share a seed.
    measures : name, function, or sequence of these, optional
    question : Question
        Estimand, model and further options. By default the parameter, and the default model for
        comparisons of this type of evidence.
    dim : str, default "classifier"
        Dimension to compare along, and the name of the dimension of a mapping's members.
    compared : bool, default True
        Whether members are compared. If so, a warning is issued for members that seem to be paired.
    """
    if measures is None:
        measures = _default_measures(evidence)
    if not is_members(evidence):
        whole, of = posterior_of(evidence, question, compared=dim), question.of
        # The posterior by `dim` already has one result per member.
        of = "parameter" if of == dim and dim in whole.pooled_dims else of
        posterior, of = select_estimand(whole.by(dim), of)
        resolved_measures = resolve_measures(posterior, measures)
        if compared and not is_paired(posterior, dim):
            _warn_if_paired(_classifiers(posterior.observed, dim))
            _warn_if_apart(posterior.observed, dim)
        return posterior, resolved_measures, of
    if not evidence:
        raise fail(
            "There is no evidence to compare", ..., "", 'pass e.g. {"a": counts_a, "b": counts_b}'
        )
    matrices = {k: member for k, member in evidence.items() if isinstance(member, xr.DataArray)}
    _check_positive(matrices)
    if compared:
        _warn_if_paired(matrices)
    with several_fits(len(evidence)):
        parts = {
            name: joint_posterior(member, measures, question, dim="", compared=compared)
            for name, member in evidence.items()
        }
    _, resolved_measures, of = next(iter(parts.values()))
    _check_votes(evidence, resolved_measures)
    posteriors = {name: posterior for name, (posterior, *_) in parts.items()}
    resolved = {name: measures_of_member for name, (_, measures_of_member, _) in parts.items()}
    return IndependentMembers(posteriors, dim, resolved), resolved_measures, of


def _default_measures(evidence):
    """Return the measures compared by default for this type of evidence, or None."""
    member = next(iter(evidence.values()), None) if is_members(evidence) else evidence
    if member is None:
        return None
    entry = type_of(member)
    return (entry.compared_measures or entry.default_measures)(member) or None


def is_paired(posterior: Posterior, dim: str) -> bool:
    """Return True if members are paired, by shared examples or as classes of one matrix."""
    return dim in posterior.pairs or dim == "class"


def check_levels(posterior: Posterior) -> None:
    """Raise an error if the posterior contains only differences between members, not levels."""
    if posterior.measured:
        raise fail(
            "Results describe only differences between classifiers", ..., "", "use compare or ranks"
        )


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
    Return the distribution of the difference of a measure between two members.

    For paired members, the posterior determines the difference. For independent members, it follows
    from both exact distributions if these exist, and otherwise from draws.

    Parameters
    ----------
    posterior : Posterior
    measure : callable
    first, second : mapping of str to int
        Indices of the members along the dimensions of the measure.
    of : str
    exact : ndarray of objects, optional
        Exact distributions of independent members, with None for members that do not have one.
        None for paired members.
    draws : callable
        Function that returns joint draws of the measure. It is called only if draws are needed.
    by_draws : bool, default False
        Whether draws were requested instead of pre-integration.
    """
    if exact is None:
        if "class" in first and first["class"] != second["class"]:  # two classes of one matrix
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
    """Return the index of a member in draws (size, ...)."""
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
    """Draw all measures jointly, as one variable per measure, dims (draw, ..., [class])."""
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
    Draw measures from the joint posterior of the evidence.

    Parameters
    ----------
    evidence, measures, question, dim, compared
        See `joint_posterior`.

    Returns
    -------
    Dataset, dims (draw, ..., [class])
        One variable per measure, with NaN if it is undefined.
    """
    posterior, resolved_measures, of = joint_posterior(
        evidence, measures, question, dim=dim, compared=compared
    )
    check_levels(posterior)
    size, rng = draws_of(question, posterior, of), rng_of(question)
    return draw_labelled(posterior, resolved_measures, size, rng, of=of, n=question.n)


def draws_of(question: Question, posterior: Posterior, of: str) -> int:
    """Return the requested number of joint draws, or the default of the posterior."""
    return question.draws or posterior.draws_by_default(of, joint=True)


def rng_of(question: Question) -> np.random.Generator:
    """Return the generator of the joint draws."""
    return np.random.default_rng(check_seed(question.random_seed))


def count_values(posterior: Posterior, measures: Sequence[Callable], *apart: str) -> int:
    """Return the number of values in one draw of all measures, excluding the dims `apart`."""
    return sum(
        math.prod(size for dim, size in template.sizes.items() if dim not in apart)
        for template in map(posterior.measure_template, measures)
    )


# Checks for incompatible members, and for members that seem to be paired.


def _check_positive(members):
    """Raise an error if members with the same labels have different positive classes."""
    positive_classes: dict[frozenset, Any] = {}
    for name, counts in members.items():
        label, labels = positive(counts), frozenset(as_counts(counts).indexes["actual"])
        if label is not None and positive_classes.setdefault(labels, label) != label:
            todo = f"give all members `positive={positive_classes[labels]!r}`"
            allowed = repr(positive_classes[labels])
            raise fail(f"{name} has a different positive class, {{}}", label, allowed, todo)


def _check_votes(members, measures):
    """Raise an error if majority votes are defined differently for different members."""
    attempts = {k: member for k, member in members.items() if type_of(member) is ATTEMPTS}
    lacking = [name for name, member in attempts.items() if "answer" not in member]
    votes = any(getattr(getattr(measure, "form", None), "votes", False) for measure in measures)
    if votes and 0 < len(lacking) < len(attempts):
        raise fail(
            f"{lacking[0]} does not contain the answers, only whether they are right",
            ...,
            "",
            "pass `truth=` for all systems, or remove the answers with "
            "evidence.drop_vars('answer')",
        )


def _warn_if_paired(members):
    """Warn if matrices that are treated as independent have the same class totals."""
    totals = {name: counts.sum("predicted").values.tolist() for name, counts in members.items()}
    for first, second in combinations(totals, 2):
        if totals[first] == totals[second]:
            warnings.warn(
                f"{first} and {second} have the same class totals. They seem to be tested on "
                "the same examples, but they are compared as independent, so intervals are too "
                "wide. For paired comparisons, use from_classifiers.",
                UserWarning,
                stacklevel=4,
            )
            return


def _warn_if_apart(observed, dim):
    """Warn if members have values for the same examples but are not paired."""
    if {dim, "example"} <= {*observed.dims}:
        warnings.warn(
            f"The members of {dim} were tested on the same examples, but this model treats "
            "them as independent, so differences usually look less certain than they are. "
            "For paired comparisons, compare one site at a time, or drop the groups with "
            "evidence.drop_vars('group').",
            UserWarning,
            stacklevel=4,
        )


def _classifiers(counts, dim):
    """Return the counts of each classifier by name, if classifiers are compared."""
    if dim != "classifier" or dim not in counts.dims or "predicted" not in counts.dims:
        return {}
    names = counts.coords.get(dim, np.arange(counts.sizes[dim])).values.tolist()
    return {name: counts.isel({dim: index}) for index, name in enumerate(names)}


# Iteration over measures, positions along the other dimensions, and pairs of members.


def positions(
    posterior: Posterior, measures: Sequence[Any], dim: str
) -> Iterator[tuple[Any, dict[str, int], list]]:
    """Yield each measure, each position along the other dims, and the names of the members."""
    for measure in measures:
        template = posterior.measure_template(measure)
        if dim not in template.dims:
            dims = [*template.dims, *(name for name in posterior.pooled_dims if name == "group")]
            if dim in dims:  # the fit averages over the groups, e.g. hierarchical_rows
                raise fail(
                    "This fit contains the population of all groups, but no single group",
                    ...,
                    "",
                    f'pass the evidence instead of the fit: compare(evidence, dim="{dim}")',
                )
            todo = 'pass a mapping, {"a": counts_a, "b": counts_b}, or use from_classifiers'
            if dims:
                todo = f'pass `dim="{dims[0]}"`, or a mapping, {{"a": counts_a, "b": counts_b}}'
            raise fail("The evidence has no dimension {} to compare along", dim, dims, todo)
        names = template.coords[dim].values.tolist() if dim in template.coords else None
        names = names or list(range(template.sizes[dim]))
        if len(names) < 2:
            raise fail(
                f"There is only one {dim}, {{}}, so there is nothing to compare",
                names,
                "",
                "add another one, or use interval()",
            )
        others = [str(other) for other in template.dims if other != dim]
        for index in np.ndindex(*(template.sizes[other] for other in others)):
            yield measure, dict(zip(others, index, strict=True)), names


def labels(posterior: Posterior, measure: Any, position: dict[str, int]) -> dict[str, Any]:
    """Return the labels of a position, and the name of the measure including its class."""
    name, coords = measure.__name__, posterior.measure_template(measure).coords
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
        raise fail(f"Unknown {dim} {{}} as the reference", reference, names, todo)
    base = names.index(reference)
    return [(index, base) for index in range(len(names)) if index != base]


# Numbers and sentences for differences and ratios.


def _excess(values, first, second, less):
    """Return the distribution of the relative advantage of the first over the second."""
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = values[first] / values[second] - 1
    return Empirical(-excess if less else excess)


def _check_ratios(measures):
    """Raise an error if the ideal value is neither the highest nor the lowest."""
    for measure in measures:
        if measure.ideal is not None:
            name, ideal = measure.__name__, measure.ideal
            raise fail(
                f"A ratio does not tell which {name} is better, because the best value is "
                f"{ideal:g}",
                ...,
                "",
                'use `contrast="difference"`',
            )


def _decisions(distributions, **options):
    """Yield the decision for each distribution, in batches if the distributions can be joined."""
    for part in batched(distributions, _PAIRS_AT_ONCE):
        batch = concatenate(part) if len(part) > 1 else None
        for distribution in part if batch is None else [batch]:
            yield from decide(distribution, **options)


def _verdict(draws, **options):
    """Return the decision from draws of how much closer the first member is to the ideal."""
    (numbers,) = decide(Empirical(draws), **options)
    return {key: numbers[key] for key in _VERDICT}


def _prior_decides(posterior, measure, members, row, rope, prob):
    """Return a caution if the verdict on a pair changes with a uniform prior on which is right."""
    stands = {"better": row["p_better"] >= prob, "worse": row["p_worse"] >= prob}
    if not isinstance(posterior, PairedOutcomes) or not any(stands.values()):
        return []
    heavier = posterior.with_uniform_prior(measure, *members)
    if heavier is None or heavier[1].sum() > _MANY_DISCORDANT:
        return []
    difference = heavier[0].exact_difference(measure, *members)
    if difference is None and heavier[0].size > _FEW_CELLS:
        return []
    difference = heavier[0].difference(measure, *members) if difference is None else difference
    low, high = rope
    below = difference.cdf(low) - difference.mass_at(low)
    share = float(difference.sf(high) if stands["better"] else below)
    if share >= prob:
        return []
    verdict = "better" if stands["better"] else "worse"
    alone = heavier[1][::-1] if measure.lower_is_better else heavier[1]
    return [
        (
            f"Whether {row['first']} is {verdict} than {row['second']} in {row['measure']} "
            f"depends on the prior: {row['first']} alone is right for about {alone[0]:.6g} "
            f"examples and {row['second']} alone for about {alone[1]:.6g}. With a uniform "
            "prior for which of the two is right "
            f"(concentration={heavier[0].prior.flat[0]:.4g}), the probability is "
            f"{100 * share:.1f}%."
        )
    ]


def _numbers_of_contrast(numbers, less, contrast):
    """Convert numbers for the advantage of the first member into numbers for the contrast."""
    if less:
        ends = -numbers["upper"], -numbers["lower"]
        numbers = numbers | {"mean": -numbers["mean"], "lower": ends[0], "upper": ends[1]}
    if contrast == "ratio":
        numbers = numbers | {key: numbers[key] + 1 for key in ("mean", "lower", "upper")}
    return numbers


def _displayed(row, measure, display_names):
    """Return a row of a comparison with display names for its measure and members."""
    if measure.ideal is not None:  # the verdict is about distance from the ideal, not the interval
        row = {name: value for name, value in row.items() if name not in ("lower", "upper")}
    names = {side: display_label(row[side], display_names) for side in ("first", "second")}
    return row | names | {"measure": display_name(row["measure"], display_names)}


def _sentence_with_labels(row, words, display_names):
    """Prefix a sentence with its labels along further dimensions, if there are any."""
    where = {dim: label for dim, label in row.items() if dim not in COLUMNS}
    return _at(where, words, display_names) if where else words


def _at(where, words, display_names):
    """Prefix a sentence with its position."""
    places = ", ".join(
        f"{display_dim(dim, display_names)} {display_label(label, display_names)}"
        for dim, label in where.items()
    )
    words = words.removeprefix("For ").replace("It is open", "it is open", 1)
    return f"For {places}, {words}"
