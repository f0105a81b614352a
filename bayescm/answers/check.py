"""
Check of requirements on a classifier: met, failed or not yet known.

A requirement ``MEASURE > NUMBER @ LEVEL`` is met if its posterior probability is at least the
level. It is failed if the probability of the opposite is at least the level. Otherwise it is not
yet known. If the probability comes from draws and is within two standard errors of a level, many
more draws are taken. If it is still that close, the requirement is not yet known, so that no
outcome depends on Monte Carlo error. The amount of data needed for a decision is found by repeating
the check with multiplied counts.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import ndtri

from bayescm.answers.compare import (
    difference_of,
    draw_labelled,
    draws_of,
    is_paired,
    joint_posterior,
    rng_of,
)
from bayescm.answers.interval import (
    distribution_for,
    resolve_measures,
)
from bayescm.distributions.base import Distribution
from bayescm.distributions.empirical import Empirical
from bayescm.evidence.clusters_and_slices import clusters_of, slice_dims
from bayescm.evidence.counts import CELLS
from bayescm.evidence.outcomes import OUTCOMES, matrices_of
from bayescm.evidence.registry import type_of
from bayescm.evidence.slices import slice_labels
from bayescm.fitting.posterior_for import posterior_of, select_estimand
from bayescm.fitting.question import Question
from bayescm.fitting.sampled import is_sampled, several_fits
from bayescm.measures.catalogue import resolve
from bayescm.validate import check_prob, check_seed, fail, suggest

MET, FAILED, UNKNOWN = "met", "failed", "not yet known"
_DRAWS = 100_000
# A probability from draws is conclusive if it is at least this many standard errors from the level.
_ERRORS = 2.0
# Otherwise, the number of draws is multiplied by this factor, which divides the error by 4.
_TIMES_DRAWS = 16
_MOST_DRAWS = 50_000  # largest number of draws, for a standard error below 0.0023
_EFFECTS = ("fold", "repeat", "group")
# Dimensions that models handle. All others are summed over unless a part is named.
_KEPT = (*CELLS, "outcome", "classifier", *_EFFECTS)
# Dimensions of results, along which members are selected after the posterior is computed.
_OF_ANSWERS = ("classifier", "class")
# Measured variables whose posterior describes a population of similar items or examples.
_OF_ITEMS = ("item_scores", "attempts", "example_cells", "preferences")
# Sample sizes above this multiple of the data are not computed, because nobody would collect so
# much.
_MOST_TIMES = 1024


def check(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    requirements: str | Sequence[str],
    *,
    classifier: Any = None,
    by: str | None = None,
    level: float = 0.95,
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    **keywords: Any,
) -> pd.DataFrame:
    """
    Check whether requirements are met, failed or not yet known.

    Use it for acceptance tests of a classifier, for example in continuous integration.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts, outcomes of several classifiers, a fit, or any other evidence that
        `bayescm.prob_above` supports.
    requirements : str or sequence of str
        Requirements such as ``"recall > 0.9 @ 0.95"``, ``"f1 - f1[classifier=old] > -0.01 @ 0.9"``
        or ``"recall[site=B] > 0.8"``. See `bayescm.answers.check.parse` for the syntax.
    classifier : optional
        The classifier or system to which measures without ``[classifier=...]`` refer. Required if
        there are several classifiers and a measure without ``[classifier=...]``, unless
        ``by="classifier"`` checks each of them.
    by : str, optional
        Dimension of the evidence. Each requirement is checked for every member of this dimension,
        except requirements that name a member. A difference from a member is not checked for that
        member itself.
    level : float, default 0.95
        Required probability, for requirements that do not state one.
    of, n, model, concentration, positive, draws
        See `bayescm.interval`.
    random_seed : int, default 0
        Seed of the draws that are used for differences and sampled models.
    **keywords
        Further keywords of the model. See `bayescm.interval`.

    Returns
    -------
    DataFrame
        One row per requirement and member:

        - ``requirement``: the text of the requirement.
        - ``classifier``, if one is passed, and the member of ``by``.
        - ``mean``, ``lower``, ``upper``: posterior mean and 95% highest-density interval of the
          measure or difference.
        - ``probability``: posterior probability that the requirement is true.
        - ``level``: the required probability.
        - ``outcome``: ``"met"`` if the probability is at least the level, ``"failed"`` if it is at
          most one minus the level, and ``"not yet known"`` otherwise. It is also ``"not yet
          known"`` if the Monte Carlo error leaves the outcome open.
        - ``needed``: approximate amount of further data needed for a decision, if results stay in
          the same proportions. It is available for counts, for outcomes, and for items without
          slices (as a number of clusters if items come in clusters).

    Raises
    ------
    ValueError, TypeError
        If a requirement cannot be parsed, or names a part that the evidence does not contain. If a
        requirement does not state which of several classifiers it refers to. If there are no
        requirements.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> table = check(counts, ["recall > 0.7 @ 0.95", "precision > 0.9", "f1 > 0.7"])
    >>> table[["outcome", "needed"]].values.tolist()
    [['met', ''], ['failed', ''], ['not yet known', '1,074 more examples']]
    """
    texts = [requirements] if isinstance(requirements, str) else list(requirements)
    if not texts:
        todo = 'pass e.g. ["recall > 0.9 @ 0.95"]'
        raise fail("No requirement is given", ..., "", todo)
    check_prob(level), check_seed(random_seed)
    parsed = [parse(text, level) for text in texts]
    type_of(evidence).canonical(evidence)  # validates the evidence
    if of in ("group", "fold"):
        raise fail(
            f"A requirement cannot refer to `of={of!r}`, which has several values",
            ...,
            "",
            f'name one part, e.g. "recall[{of}=A] > 0.8"; or pass `by="{of}"` to use the '
            "examples of each part alone; or use prob_above(evidence, measure, threshold, "
            f'`of="{of}"`), which shrinks parts towards each other',
        )
    for requirement in parsed:
        _check_scale(evidence, requirement)
    if by == "classifier" and classifier is not None:
        todo = "leave one of them out"
        raise fail("`by` and `classifier` cannot be combined", ..., "", todo)
    members: list[dict] = [{}] if by is None else [{by: label} for label in _labels(evidence, by)]
    named = None if classifier is None else "classifier"
    classifiers: list[dict] = [{}] if classifier is None else [{"classifier": classifier}]
    asked = [
        (requirement, of_classifier | member)
        for requirement in parsed
        for of_classifier in requirement.members(named) or classifiers
        for member in requirement.members(by) or requirement.differing(members)
    ]
    accuracy = keywords.pop("accuracy", None)
    question = Question(
        of, n, model, concentration, positive, draws, random_seed, accuracy, keywords
    )
    # Requirements are sorted by part, so that a sampled model is sampled only once per part.
    parts = [requirement.of(member).parts() for requirement, member in asked]
    order = sorted(range(len(asked)), key=lambda i: str(parts[i]))
    number = len({part for parts_of_question in parts for part in parts_of_question})
    rows: list[dict[str, Any]] = [{}] * len(asked)
    with several_fits(number if _adds_up(evidence) else 1):
        for i in order:
            requirement, member = asked[i]
            rows[i] = {"requirement": requirement.text, **member}
            rows[i] |= _decide(evidence, requirement.of(member), question)
    return pd.DataFrame(rows)


def _check_scale(evidence, requirement):
    """Raise an error if the threshold is outside the range of the measure or difference."""
    low, high = _range_of(evidence, requirement.first.measure)
    if requirement.second is not None:
        other_low, other_high = _range_of(evidence, requirement.second.measure)
        low, high = low - other_high, high - other_low
    if not low <= requirement.threshold <= high:
        todo = 'write e.g. "recall > 0.8" or "recall > 80%"' if high <= 1 else "correct the number"
        raise fail(
            f"{requirement.text!r}: the measure is between {low:g} and {high:g}", ..., "", todo
        )


def _range_of(evidence, measure):
    """Return the range of a measure, or of the scores if these have a known range."""
    if isinstance(evidence, xr.DataTree):  # the measured variable of a fit is unknown here
        return -np.inf, np.inf
    try:
        entry = resolve(measure, type_of(evidence).measured_variable)
    except ValueError:  # measures are validated later, by the posterior
        return -np.inf, np.inf
    has_ends = entry.takes == "item_scores" and "lowest" in getattr(evidence, "coords", ())
    if has_ends and entry.range == (-np.inf, np.inf):
        return evidence["lowest"].item(), evidence["highest"].item()
    return entry.range


def _decide(evidence, requirement, question):
    """Return the judged quantity, probability, level, outcome and the data needed."""
    judged, above, error, draw_clusters = _judged(evidence, requirement, question)
    close = _is_close(above, requirement.level, error)
    if close and question.draws is None and draw_clusters == 1:  # neither a fit nor sampled
        effective = max(above * (1 - above), error) / error**2
        draws = min(_TIMES_DRAWS * round(effective), _MOST_DRAWS)
        judged, above, error, _ = _judged(evidence, requirement, replace(question, draws=draws))
        close = _is_close(above, requirement.level, error)
    probability = above if requirement.above else 1 - above
    outcome = UNKNOWN if close else _outcome(probability, requirement.level)
    needed = _needed(evidence, requirement, probability, question) if outcome == UNKNOWN else ""
    level = requirement.level
    return judged | {
        "probability": probability,
        "level": level,
        "outcome": outcome,
        "needed": needed,
    }


def _is_close(above, level, error):
    """Return True if the Monte Carlo error leaves the comparison with the level open."""
    return min(abs(above - level), abs(1 - above - level)) < _ERRORS * error


def _outcome(probability, level):
    if np.isnan(probability):
        return UNKNOWN
    return MET if probability >= level else FAILED if probability <= 1 - level else UNKNOWN


# Grammar of requirements such as ``f1 - f1[classifier=old] > -0.01 @ 0.9``.
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_TERM = r"\s*(LR[+-]|\w+[@^]\d+|\w+(?:\([^()]*\))?)\s*(?:\[([^\[\]]*)\])?\s*"
_LEVEL = rf"(?:@\s*({_NUMBER})\s*(%?)\s*)?"
_WHOLE = re.compile(rf"{_TERM}(?:-{_TERM})?(>=|<=|>|<)\s*({_NUMBER})\s*(%?)\s*{_LEVEL}")
_EXAMPLE = 'write e.g. "recall > 0.9 @ 0.95" or "f1 - f1[classifier=old] > -0.01"'


class Term(NamedTuple):
    """A measure, and the part of the evidence that it refers to."""

    measure: str
    where: dict[str, str]

    def same(self, other: "Term") -> bool:
        """Return True if another term has the same measure and part."""
        where, of_other = (
            {dim: str(label) for dim, label in term.where.items()} for term in (self, other)
        )
        return self.measure == other.measure and where == of_other


class Requirement(NamedTuple):
    """Requirement that a measure or a difference is above (or below) a threshold."""

    text: str
    first: Term
    second: Term | None
    above: bool
    threshold: float
    level: float

    def members(self, by: str | None) -> list[dict[str, str]]:
        """Return the members named by all terms, joined into one entry, or an empty list."""
        terms = [self.first] if self.second is None else [self.first, self.second]
        if by is None or not all(by in term.where for term in terms):
            return []
        return [{by: ", ".join(dict.fromkeys(term.where[by] for term in terms))}]

    def differing(self, members: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the members for which the requirement does not compare a measure with itself."""
        if self.second is None or self.first == self.second:
            return members
        requirements = [(member, self.of(member)) for member in members]
        return [
            member
            for member, requirement in requirements
            if requirement.second is None or not requirement.first.same(requirement.second)
        ]

    def parts(self) -> list[tuple]:
        """Return the distinct parts of the evidence that the terms refer to."""
        terms = [self.first] if self.second is None else [self.first, self.second]
        return list(dict.fromkeys(tuple(sorted(_part_labels(term).items())) for term in terms))

    def of(self, member: dict[str, Any]) -> "Requirement":
        """Return the requirement for one member. Parts that a term names take precedence."""
        first = self.first._replace(where=member | self.first.where)
        second = self.second and self.second._replace(where=member | self.second.where)
        return self._replace(first=first, second=second)


def parse(text: str, level: float = 0.95) -> Requirement:
    """
    Parse a requirement.

    Parameters
    ----------
    text : str
        ``MEASURE > NUMBER`` or ``MEASURE - MEASURE > NUMBER`` (or ``<``, ``>=``, ``<=``),
        optionally followed by ``@ LEVEL``, the required probability. A measure may name a part of
        the evidence in brackets: ``recall[site=B]``, ``f1[classifier=old]``, ``recall[class=cat]``.
        Several parts are separated by commas. ``recall[cat]`` and ``f1_macro[cat,dog]`` are
        measures of selected classes. Numbers may be percentages.
    level : float, default 0.95
        Required probability if the text does not state one.

    Raises
    ------
    ValueError
        If the text is not a valid requirement, or its level is not between 0.5 and 1.

    Examples
    --------
    >>> parse("f1 - f1[classifier=old] > -0.01 @ 0.9")[1:]
    (Term(measure='f1', where={}), Term(measure='f1', where={'classifier': 'old'}),
     True, -0.01, 0.9)
    """
    match = _WHOLE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise fail("{} is not a requirement", text, "MEASURE > NUMBER @ LEVEL", _EXAMPLE)
    first, part, second, other_part, sign, threshold, threshold_percent, stated, per_cent = (
        match.groups()
    )
    required = level if stated is None else float(stated) / (100 if per_cent else 1)
    if not 0.5 < required < 1:
        raise fail(
            f"The level of {text!r} must be a probability between 0.5 and 1", required, "", _EXAMPLE
        )
    limit = float(threshold) / (100 if threshold_percent else 1)
    one_term = _term(first, part, text)
    other_term = None if second is None else _term(second, other_part, text)
    return Requirement(text, one_term, other_term, sign[0] == ">", limit, required)


def _term(measure, brackets, whole):
    """Return a measure and its part. ``recall[cat]`` is a measure of a selected class."""
    if brackets and brackets.strip() and "=" not in brackets:
        return Term(f"{measure}[{brackets}]", {})
    return Term(measure, _named_part(brackets, whole))


def _named_part(text, whole):
    """Parse the dimensions and labels in brackets."""
    pairs = [pair.partition("=") for pair in (text or "").split(",") if pair.strip()]
    unread = [pair for pair in pairs if not all(part.strip() for part in pair)]
    if unread or (text is not None and not pairs):
        todo = 'write e.g. "recall[site=B] > 0.8"'
        raise fail(f"The part {{}} in {whole!r} cannot be read", text, "[NAME=LABEL]", todo)
    return {name.strip(): label.strip() for name, _, label in pairs}


# The judged quantity, and the probability that it is above the threshold. The quantity is one
# measure, a difference between two classifiers as in `compare`, or another difference, which uses
# draws.


def _judged(
    evidence, requirement: Requirement, question
) -> tuple[dict[str, float], float, float, int]:
    """
    Return the mean and interval of the judged quantity, and P(above the threshold).

    The last two values are the standard error of this probability, and the number of clusters in
    the draws.
    """
    threshold = requirement.threshold
    if requirement.second is not None:
        difference = _difference(evidence, requirement, question)
        lower, upper = difference.hdi(0.95)
        judged = {"mean": float(difference.mean()), "lower": float(lower), "upper": float(upper)}
        above, error = difference.prob_above(threshold), difference.probability_error(threshold)
        return judged, float(above), float(error), getattr(difference, "draw_clusters", 1)
    term, part = requirement.first, _part(evidence, requirement.first.where)
    counts = matrices_of(part) if _adds_up(part) else part
    of_measure = distribution_for(counts, term.measure, question)
    ends = of_measure.interval()
    (posterior_of_measure,), template = of_measure.distributions, of_measure.template
    error = posterior_of_measure.probability_error(threshold)
    columns = {"mean": of_measure.mean(), "above": of_measure.prob_above(threshold)}
    columns["error"] = template.to_dataarray(error)
    columns |= {bound: ends.sel(bound=bound, drop=True) for bound in ("lower", "upper")}
    values = {name: _value_of_term(column, term, part).item() for name, column in columns.items()}
    judged = {name: values[name] for name in ("mean", "lower", "upper")}
    return (
        judged,
        values["above"],
        values["error"],
        getattr(posterior_of_measure, "draw_clusters", 1),
    )


def _single(part, requirement, question):
    counts = matrices_of(part) if _adds_up(part) else part
    probability = distribution_for(counts, requirement.first.measure, question).prob_above(
        requirement.threshold
    )
    return _value_of_term(probability, requirement.first, part).item()


def _difference(evidence, requirement, question) -> Distribution:
    """Return the distribution of the difference between both terms of a requirement."""
    term, other = terms = requirement.first, requirement.second
    rng = np.random.default_rng(question.random_seed)
    if _adds_up(evidence) and _part_labels(term) != _part_labels(other):
        (first,) = _draws_of_terms(_part(evidence, term.where), (term,), rng, question)
        (second,) = _draws_of_terms(_part(evidence, other.where), (other,), rng, question)
        return Empirical.difference(first, second)
    part = _part(evidence, term.where)
    differing = {dim for dim, _ in term.where.items() ^ other.where.items()}
    if term.measure == other.measure and differing == {"classifier"}:
        return _difference_of_classifiers(part, terms, question)
    return Empirical.difference(*_draws_of_terms(part, terms, rng, question))


def _difference_of_classifiers(part, terms, question):
    """Return the distribution of the difference between two classifiers, as in `compare`."""
    posterior, (measure,), of = joint_posterior(part, [terms[0].measure], question)
    template = posterior.measure_template(measure).to_dataarray()
    first, second = (_indices_of_term(template, term, part) for term in terms)
    paired, n = is_paired(posterior, "classifier"), question.n
    exact = None if paired else posterior.exact_members(measure, of=of, n=n)

    def draws():
        size, rng = draws_of(question, posterior, of), rng_of(question)
        return draw_labelled(posterior, [measure], size, rng, of=of, n=n)[measure.__name__].values

    return difference_of(posterior, measure, first, second, of=of, exact=exact, draws=draws)


def _draws_of_terms(part, terms, rng, question):
    """Return joint draws of the measures of one part of the evidence."""
    posterior, of = select_estimand(posterior_of(part, question), question.of)
    names = list(dict.fromkeys(term.measure for term in terms))
    measures = resolve_measures(posterior, names)
    drawn = draw_labelled(posterior, measures, _DRAWS, rng, of=of, n=question.n)
    values = dict(zip(names, (drawn[measure.__name__] for measure in measures), strict=True))
    return [_value_of_term(values[term.measure], term, part).values for term in terms]


def _value_of_term(values, term, part):
    """Return the value for the part that a term names."""
    return values.isel(_indices_of_term(values, term, part), drop=True)


def _indices_of_term(values, term, part):
    """Return the index of the part that a term names, for each dimension of a result."""
    where = {k: v for k, v in term.where.items() if k in _OF_ANSWERS or not _adds_up(part)}
    dims = [dim for dim in values.dims if dim != "draw"]
    for dim in dims:
        if dim not in where and (dim != "classifier" or values.sizes[dim] > 1):
            labels = values[dim].values.tolist()
            raise fail(
                f"{term.measure} has a value for each {dim}: {{}}",
                labels,
                "",
                f'name one, e.g. "{term.measure}[{dim}={labels[0]}] > 0.8"',
            )
    for dim in {*where} - {*dims}:
        _labels(values, dim)  # raises an error for an unknown part
    return {dim: _index_of_label(values, dim, where) for dim in dims}


# The part of the evidence that a term names.


def _adds_up(evidence):
    """Return True if parts of the evidence can be selected, summed and multiplied, like counts."""
    return type_of(evidence).sum_over is not None


def _part_labels(term):
    return {dim: label for dim, label in term.where.items() if dim not in _OF_ANSWERS}


def _part(evidence, where):
    """Return a part of the evidence, summed over dimensions that are not named."""
    entry = type_of(evidence)
    if entry.sum_over is None:
        return evidence
    for dim in where:
        if dim not in _OF_ANSWERS:
            index = _index_of_label(evidence, dim, where)
            evidence = evidence.isel({dim: index}, drop=True)
    dims = [dim for dim in entry.values(evidence).dims if dim not in _KEPT]
    return entry.sum_over(evidence, dims)


def _index_of_label(evidence, dim, where):
    """Return the index of the label that a term names, or of the only label."""
    labels = [str(label) for label in _labels(evidence, dim)]
    label = where.get(dim, labels[0])
    if str(label) not in labels:
        raise fail(f"Unknown {dim} {{}}", label, labels, suggest(str(label), labels))
    if labels.count(str(label)) > 1:
        todo = "rename them, or add them up"
        raise fail(f"Several {dim}s have the name {{}}", label, "", todo)
    return labels.index(str(label))


def _labels(evidence, dim):
    if isinstance(evidence, xr.Dataset) and dim in (parts := slice_labels(evidence)):
        return parts[dim]
    if dim not in evidence.dims:
        hidden = (*CELLS, "outcome", "label", "draw")
        dims = [str(name) for name in evidence.dims if name not in hidden]
        todo = (
            "pass it when you build the evidence: `by={...}` in `from_predictions`, or --by on the "
            "command line"
        )
        raise fail("The evidence has no dimension {}", dim, dims or "a dimension with labels", todo)
    return evidence[dim].values.tolist()


# Amount of further data needed for a decision.


def _needed(evidence, requirement, probability, question):
    """Return the further data needed for a decision, if results stay in the same proportions."""
    if not _adds_up(evidence):
        return _needed_of_items(evidence, requirement, probability, question)
    if requirement.second is not None:
        return _needed_of_difference(evidence, requirement, question)
    counts = _table(evidence, requirement.first)
    where = {k: v for k, v in requirement.first.where.items() if k != "classifier"}
    requirement = requirement._replace(first=Term(requirement.first.measure, where))
    total, unit = _unit(counts, requirement.first.measure)
    if is_sampled(posterior_of(counts, question)):
        if any(dim in counts.dims for dim in _EFFECTS):
            return ""  # more examples do not reduce the variance between parts
        # Sampling again for every factor would take minutes.
        away = abs(float(ndtri(_single(counts, requirement, question))))
        return _more(total, unit, _factor_by_variance(away, requirement.level))

    def spare(times):
        more = (counts * times).round().astype(np.int64)
        above = _single(more, requirement, question)
        # Probabilities beyond eight standard deviations cannot be distinguished from 0 or 1.
        return float(abs(np.clip(ndtri(above), -8, 8)) - ndtri(requirement.level))

    return _more(total, unit, _deciding_factor(spare, float(ndtri(requirement.level))))


def _needed_of_items(evidence, requirement, probability, question):
    """Return the further items needed, if the posterior variance decreases as 1 / size."""
    if not isinstance(evidence, xr.Dataset) or question.of not in ("parameter", "population"):
        return ""  # further items provide no information about the observed items
    entry = type_of(evidence)
    if entry.measured_variable not in _OF_ITEMS or slice_dims(evidence):
        return ""
    away = abs(float(ndtri(probability)))
    times = _factor_by_variance(away, requirement.level)
    clusters = clusters_of(evidence, entry.unit.removesuffix("s"))
    if clusters is not None:  # more items of the same clusters would add little
        return _more(len({*clusters.tolist()}), "clusters", times)
    return _more(entry.size(evidence), entry.unit, times)


def _needed_of_difference(evidence, requirement, question):
    """Return the further examples needed for a difference, from its variance."""
    parts = {}
    for term in (requirement.first, requirement.second):
        counts = _table(evidence, term)
        if any(dim in counts.dims for dim in _EFFECTS):
            return ""  # more examples do not reduce the variance between parts
        classifier = "" if type_of(evidence) is OUTCOMES else term.where.get("classifier")
        parts[classifier, *sorted(_part_labels(term).items())] = float(counts.sum())
    difference = _difference(evidence, requirement, question)
    away = abs(float(difference.mean()) - requirement.threshold) / float(difference.sd())
    return _more(sum(parts.values()), "examples", _factor_by_variance(away, requirement.level))


def _factor_by_variance(away, level) -> float | None:
    """Return the sample size factor for a decision, if the variance decreases as 1 / size."""
    times = float((ndtri(level) / max(away, 1e-9)) ** 2)
    return times if times <= _MOST_TIMES else None


def _table(evidence, term):
    counts = matrices_of(_part(evidence, term.where))
    if "classifier" not in counts.dims:
        return counts
    return counts.isel(classifier=_index_of_label(counts, "classifier", term.where), drop=True)


def _more(total, unit, times):
    if times is None:
        return f"more than {_MOST_TIMES} times as many {unit}"
    number = max(1, round(total * (times - 1)))
    return f"{number:,} more {unit if number > 1 else unit.removesuffix('s')}"


def _deciding_factor(spare, level) -> float | None:
    """
    Return the smallest factor with a nonnegative margin, or None if it exceeds the maximum.

    The distance from a threshold in standard deviations grows approximately with the square root of
    the number of examples. Between two factors, the margin is nearly linear in the logarithm of the
    factor, so a few evaluations suffice.
    """
    low = high = (1.0, spare(1.0))
    while not high[1] >= 0:
        if high[0] >= _MOST_TIMES:
            return None
        away = level / max(level + high[1], level / 8) if np.isfinite(high[1]) else 8
        factor = min(max(1.05 * away**2, 1.2) * high[0], _MOST_TIMES)
        low, high = high, (factor, spare(factor))
    for _ in range(12):
        if high[0] < 1.003 * low[0]:
            break
        width = np.log(high[0] / low[0])
        share = low[1] / (low[1] - high[1]) if np.isfinite(low[1]) and high[1] > low[1] else 0.5
        # Step slightly past the expected root, so that both ends of the bracket close in.
        nudge = 0.001 / width if share < 0.5 else -0.001 / width
        middle = low[0] * np.exp(width * np.clip(share + nudge, 0.001 / width, 1 - 0.001 / width))
        value = spare(middle)
        low, high = (low, (middle, value)) if value >= 0 else ((middle, value), high)
    return high[0]


def _unit(counts, measure):
    """Return the number of units on which the measure is based, and the name of the unit."""
    unit = resolve(measure).unit or "examples"
    label = counts["positive"].item() if "positive" in counts.coords else None
    dim = "predicted" if unit.startswith("predicted") else "actual"
    if unit != "examples" and label is not None:
        is_counted = counts[dim] == label if unit.endswith("positives") else counts[dim] != label
        return float(counts.where(is_counted, 0).sum()), unit
    return float(counts.sum()), "examples"
