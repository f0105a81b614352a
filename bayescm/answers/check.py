"""
Requirements on a classifier: met, failed, or not yet known.

A requirement ``MEASURE > NUMBER @ LEVEL`` is met where the posterior probability that it holds is
at least the level, failed where that of its contrary is, and not yet known in between. Where draws
answer and the probability is within two standard errors of a level, many more are drawn; where it
is so still, the requirement is neither met nor failed: no outcome is a matter of luck. What more
evidence would bring is found by asking the same of the counts multiplied.
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
# A probability from draws decides an outcome if it is this many standard errors from the level.
_ERRORS = 2.0
# If it is nearer, there are this many times as many draws: the error is a quarter then.
_TIMES_DRAWS = 16
_MOST_DRAWS = 50_000  # their bound: more know a probability to better than 0.002
_EFFECTS = ("fold", "repeat", "group")
# Dims that a model uses up by itself; all others are added up where no part is named.
_KEPT = (*CELLS, "outcome", "classifier", *_EFFECTS)
# Dims of answers, which a posterior of all members has.
_OF_ANSWERS = ("classifier", "class")
# The variables of items and of examples with several labels, which are drawn from those like them.
_OF_ITEMS = ("item_scores", "attempts", "example_cells", "preferences")
# Beyond this many times the evidence nobody will collect more.
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
    Say of each requirement whether it is met, failed or not yet known.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts, outcomes of several classifiers, a fit, or any other evidence that
        `bayescm.prob_above` takes.
    requirements : str or sequence of str
        ``"recall > 0.9 @ 0.95"``, ``"f1 - f1[classifier=old] > -0.01 @ 0.9"``,
        ``"recall[site=B] > 0.8"``; see `bayescm.answers.check.parse`.
    classifier : optional
        Of several classifiers or systems, the one that a measure without ``[classifier=...]`` is
        of; needed where there is such a measure, unless ``by="classifier"`` asks of each.
    by : str, optional
        A dim of the evidence: each requirement is asked of each of its members, but for those that
        name one; a difference from a member is not asked of this itself.
    level : float, default 0.95
        The probability asked for where a requirement names none.
    of, n, model, concentration, positive, draws
        See `bayescm.interval`.
    random_seed : int, default 0
        Seed of the draws, which differences are made of, and of a sampled model.
    **keywords
        The model's further keywords; see `bayescm.interval`.

    Returns
    -------
    DataFrame
        ``requirement``, ``classifier`` where one is passed, the member of ``by``, ``mean``,
        ``lower`` and ``upper`` (the posterior mean of the measure or the difference, and its 95%
        highest-density interval), ``probability`` (posterior, that the requirement holds),
        ``level``, ``outcome`` (``"met"`` from the level on, ``"failed"`` up to one minus the level,
        else ``"not yet known"``, as where draws leave open which) and ``needed``: about how much
        more evidence would decide it, if it went on as before (of counts, of outcomes, and of items
        in no slices, in clusters where they come in such).

    Raises
    ------
    ValueError, TypeError
        If a requirement cannot be read, names a part that the evidence does not have or leaves open
        which of several classifiers it is of, or there is no evidence.

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
        raise fail("nothing is required", texts, "one requirement or more", todo)
    check_prob(level), check_seed(random_seed)
    parsed = [parse(text, level) for text in texts]
    type_of(evidence).canonical(evidence)  # says what is wrong with it
    if of in ("group", "fold"):
        todo = (
            f'name the part, "recall[{of}=A] > 0.8", or pass `by="{of}"`: of its examples alone; '
            f'prob_above(evidence, measure, threshold, `of="{of}"`) draws each towards the others'
        )
        raise fail("a requirement is of one number", of, "an estimand of the whole evidence", todo)
    for requirement in parsed:
        _check_scale(evidence, requirement)
    if by == "classifier" and classifier is not None:
        todo = "leave one of them out"
        raise fail("each classifier, and one of them", classifier, "by or classifier", todo)
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
    # Part by part, so that a model that is sampled is sampled once for each.
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
    """Raise where the threshold is no value that the measure, or the difference, can have."""
    low, high = _range_of(evidence, requirement.first.measure)
    if requirement.second is not None:
        other_low, other_high = _range_of(evidence, requirement.second.measure)
        low, high = low - other_high, high - other_low
    if not low <= requirement.threshold <= high:
        todo = 'write e.g. "recall > 0.8" or "recall > 80%"' if high <= 1 else "correct the number"
        what = f"{requirement.text!r} has a number outside the range of what it asks of"
        raise fail(what, requirement.threshold, f"a number from {low:g} to {high:g}", todo)


def _range_of(evidence, measure):
    """Return the lowest and the highest value of a measure: of scores, where these have ends."""
    if isinstance(evidence, xr.DataTree):  # does not say of which variable its measures are
        return -np.inf, np.inf
    try:
        entry = resolve(measure, type_of(evidence).measured_variable)
    except ValueError:  # the posterior says which measures there are
        return -np.inf, np.inf
    has_ends = entry.takes == "item_scores" and "lowest" in getattr(evidence, "coords", ())
    if has_ends and entry.range == (-np.inf, np.inf):
        return evidence["lowest"].item(), evidence["highest"].item()
    return entry.range


def _decide(evidence, requirement, question):
    """Return what is judged, the probability, the level, the outcome and what would decide it."""
    judged, above, error, draw_clusters = _judged(evidence, requirement, question)
    close = _is_close(above, requirement.level, error)
    if close and question.draws is None and draw_clusters == 1:  # no fit, and no sampled model
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
    """Say whether draws leave open on which side of the level the probability of either is."""
    return min(abs(above - level), abs(1 - above - level)) < _ERRORS * error


def _outcome(probability, level):
    if np.isnan(probability):
        return UNKNOWN
    return MET if probability >= level else FAILED if probability <= 1 - level else UNKNOWN


# The language of requirements: ``f1 - f1[classifier=old] > -0.01 @ 0.9``.
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_TERM = r"\s*(LR[+-]|\w+[@^]\d+|\w+(?:\([^()]*\))?)\s*(?:\[([^\[\]]*)\])?\s*"
_LEVEL = rf"(?:@\s*({_NUMBER})\s*(%?)\s*)?"
_WHOLE = re.compile(rf"{_TERM}(?:-{_TERM})?(>=|<=|>|<)\s*({_NUMBER})\s*(%?)\s*{_LEVEL}")
_EXAMPLE = 'write e.g. "recall > 0.9 @ 0.95" or "f1 - f1[classifier=old] > -0.01"'


class Term(NamedTuple):
    """A measure, and the part of the evidence that it is of."""

    measure: str
    where: dict[str, str]

    def same(self, other: "Term") -> bool:
        """Say whether another term is of the same measure and part."""
        where, of_other = (
            {dim: str(label) for dim, label in term.where.items()} for term in (self, other)
        )
        return self.measure == other.measure and where == of_other


class Requirement(NamedTuple):
    """That a measure, or a difference of two, exceeds a threshold (or stays below it)."""

    text: str
    first: Term
    second: Term | None
    above: bool
    threshold: float
    level: float

    def members(self, by: str | None) -> list[dict[str, str]]:
        """Return the member of a dim that all its terms name: it is asked of no other."""
        terms = [self.first] if self.second is None else [self.first, self.second]
        if by is None or not all(by in term.where for term in terms):
            return []
        return [{by: ", ".join(dict.fromkeys(term.where[by] for term in terms))}]

    def differing(self, members: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the members of which it compares no measure with itself."""
        if self.second is None or self.first == self.second:
            return members
        requirements = [(member, self.of(member)) for member in members]
        return [
            member
            for member, requirement in requirements
            if requirement.second is None or not requirement.first.same(requirement.second)
        ]

    def parts(self) -> list[tuple]:
        """Return the parts of the evidence that its terms are of, each once."""
        terms = [self.first] if self.second is None else [self.first, self.second]
        return list(dict.fromkeys(tuple(sorted(_part_labels(term).items())) for term in terms))

    def of(self, member: dict[str, Any]) -> "Requirement":
        """Return the requirement of one member; a part that a term names itself stays."""
        first = self.first._replace(where=member | self.first.where)
        second = self.second and self.second._replace(where=member | self.second.where)
        return self._replace(first=first, second=second)


def parse(text: str, level: float = 0.95) -> Requirement:
    """
    Return what a requirement says.

    Parameters
    ----------
    text : str
        ``MEASURE > NUMBER``, ``MEASURE - MEASURE > NUMBER`` (or ``<``, ``>=``, ``<=``), with
        ``@ LEVEL`` for the probability that is asked for. A measure may name its part:
        ``recall[site=B]``, ``f1[classifier=old]``, ``recall[class=cat]``, several parted by commas;
        ``recall[cat]`` and ``f1_macro[cat,dog]`` are measures of chosen classes. Numbers may be
        given in per cent.
    level : float, default 0.95
        The level where the text gives none.

    Raises
    ------
    ValueError
        If the text is no requirement, or its level does not lie between .5 and 1.

    Examples
    --------
    >>> parse("f1 - f1[classifier=old] > -0.01 @ 0.9")[1:]
    (Term(measure='f1', where={}), Term(measure='f1', where={'classifier': 'old'}),
     True, -0.01, 0.9)
    """
    match = _WHOLE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise fail("not a requirement", text, "MEASURE > NUMBER @ LEVEL", _EXAMPLE)
    first, part, second, other_part, sign, threshold, threshold_percent, stated, per_cent = (
        match.groups()
    )
    required = level if stated is None else float(stated) / (100 if per_cent else 1)
    if not 0.5 < required < 1:
        raise fail(f"the level of {text!r}", required, "a probability between 0.5 and 1", _EXAMPLE)
    limit = float(threshold) / (100 if threshold_percent else 1)
    one_term = _term(first, part, text)
    other_term = None if second is None else _term(second, other_part, text)
    return Requirement(text, one_term, other_term, sign[0] == ">", limit, required)


def _term(measure, brackets, whole):
    """Return a measure and its part; ``recall[cat]`` is a measure of chosen classes."""
    if brackets and brackets.strip() and "=" not in brackets:
        return Term(f"{measure}[{brackets}]", {})
    return Term(measure, _named_part(brackets, whole))


def _named_part(text, whole):
    """Return the dims and labels in brackets."""
    pairs = [pair.partition("=") for pair in (text or "").split(",") if pair.strip()]
    unread = [pair for pair in pairs if not all(part.strip() for part in pair)]
    if unread or (text is not None and not pairs):
        todo = 'write e.g. "recall[site=B] > 0.8"'
        raise fail(f"cannot read the part in {whole!r}", text, "[NAME=LABEL]", todo)
    return {name.strip(): label.strip() for name, _, label in pairs}


# What a requirement judges, and the probability that it is above the threshold: the distribution
# of one measure, that of the difference of two classifiers as `compare` has it, or else draws.


def _judged(
    evidence, requirement: Requirement, question
) -> tuple[dict[str, float], float, float, int]:
    """
    Return what the requirement is about: mean and interval, and P(above its threshold).

    Then the standard error of this probability, and the number of clusters of the draws.
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
    """Return the distribution of the difference: joint where both are of the same examples."""
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
    """Return the difference that `compare` has of two classifiers."""
    posterior, (kernel,), of = joint_posterior(part, [terms[0].measure], question)
    template = posterior.measure_template(kernel).to_dataarray()
    first, second = (_indices_of_term(template, term, part) for term in terms)
    paired, n = is_paired(posterior, "classifier"), question.n
    exact = None if paired else posterior.exact_members(kernel, of=of, n=n)

    def draws():
        size, rng = draws_of(question, posterior, of), rng_of(question)
        return draw_labelled(posterior, [kernel], size, rng, of=of, n=n)[kernel.__name__].values

    return difference_of(posterior, kernel, first, second, of=of, exact=exact, draws=draws)


def _draws_of_terms(part, terms, rng, question):
    """Return joint draws of the measures of one part."""
    posterior, of = select_estimand(posterior_of(part, question), question.of)
    names = list(dict.fromkeys(term.measure for term in terms))
    kernels = resolve_measures(posterior, names)
    drawn = draw_labelled(posterior, kernels, _DRAWS, rng, of=of, n=question.n)
    values = dict(zip(names, (drawn[kernel.__name__] for kernel in kernels), strict=True))
    return [_value_of_term(values[term.measure], term, part).values for term in terms]


def _value_of_term(values, term, part):
    """Return the number that a term stands for, of the part that it names."""
    return values.isel(_indices_of_term(values, term, part), drop=True)


def _indices_of_term(values, term, part):
    """Return the place of what a term names on each dim of an answer."""
    where = {k: v for k, v in term.where.items() if k in _OF_ANSWERS or not _adds_up(part)}
    dims = [dim for dim in values.dims if dim != "draw"]
    for dim in dims:
        if dim not in where and (dim != "classifier" or values.sizes[dim] > 1):
            labels = values[dim].values.tolist()
            todo = f'write e.g. "{term.measure}[{dim}={labels[0]}] > 0.8"'
            raise fail(f"{term.measure} has a value for each {dim}", labels, f"one {dim}", todo)
    for dim in {*where} - {*dims}:
        _labels(values, dim)  # says that there is no such part
    return {dim: _index_of_label(values, dim, where) for dim in dims}


# The part of the evidence that a term names.


def _adds_up(evidence):
    """Say whether parts of the evidence can be left out, added up and multiplied: tables can."""
    return type_of(evidence).sum_over is not None


def _part_labels(term):
    return {dim: label for dim, label in term.where.items() if dim not in _OF_ANSWERS}


def _part(evidence, where):
    """Return a part of the evidence; dims that are not named are added up."""
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
    """Return the place of the label that a term names, or of the only one."""
    labels = [str(label) for label in _labels(evidence, dim)]
    label = where.get(dim, labels[0])
    if str(label) not in labels:
        raise fail(f"no such {dim}", label, labels, suggest(str(label), labels))
    if labels.count(str(label)) > 1:
        todo = "rename them, or add them up"
        raise fail(f"several {dim}s have one name", label, "each name once", todo)
    return labels.index(str(label))


def _labels(evidence, dim):
    if isinstance(evidence, xr.Dataset) and dim in (parts := slice_labels(evidence)):
        return parts[dim]
    if dim not in evidence.dims:
        hidden = (*CELLS, "outcome", "label", "draw")
        dims = [str(name) for name in evidence.dims if name not in hidden]
        todo = (
            "read it with the evidence: `by={...}` in `from_predictions`, --by on the command line"
        )
        raise fail("the evidence has no such part", dim, dims or "parts by name", todo)
    return evidence[dim].values.tolist()


# How much more evidence would decide.


def _needed(evidence, requirement, probability, question):
    """Say how much more evidence would decide, if it went on in the same proportions."""
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
            return ""  # what examples cannot take away is in it
        # To sample once more for every factor would take minutes.
        away = abs(float(ndtri(_single(counts, requirement, question))))
        return _more(total, unit, _factor_by_variance(away, requirement.level))

    def spare(times):
        more = (counts * times).round().astype(np.int64)
        above = _single(more, requirement, question)
        # Beyond eight deviations probabilities are not told apart.
        return float(abs(np.clip(ndtri(above), -8, 8)) - ndtri(requirement.level))

    return _more(total, unit, _deciding_factor(spare, float(ndtri(requirement.level))))


def _needed_of_items(evidence, requirement, probability, question):
    """Say the same of items like these: the variance of what is known of all goes with one over."""
    if not isinstance(evidence, xr.Dataset) or question.of not in ("parameter", "population"):
        return ""  # of these items alone more of others tell nothing
    entry = type_of(evidence)
    if entry.measured_variable not in _OF_ITEMS or slice_dims(evidence):
        return ""
    away = abs(float(ndtri(probability)))
    times = _factor_by_variance(away, requirement.level)
    clusters = clusters_of(evidence, entry.unit.removesuffix("s"))
    if clusters is not None:  # more items of the same clusters would tell little
        return _more(len({*clusters.tolist()}), "clusters", times)
    return _more(entry.size(evidence), entry.unit, times)


def _needed_of_difference(evidence, requirement, question):
    """Say the same of a difference, whose variance falls as examples come."""
    parts = {}
    for term in (requirement.first, requirement.second):
        counts = _table(evidence, term)
        if any(dim in counts.dims for dim in _EFFECTS):
            return ""  # what examples cannot take away is in it
        classifier = "" if type_of(evidence) is OUTCOMES else term.where.get("classifier")
        parts[classifier, *sorted(_part_labels(term).items())] = float(counts.sum())
    difference = _difference(evidence, requirement, question)
    away = abs(float(difference.mean()) - requirement.threshold) / float(difference.sd())
    return _more(sum(parts.values()), "examples", _factor_by_variance(away, requirement.level))


def _factor_by_variance(away, level) -> float | None:
    """Return the factor that decides, given the deviations: the variance goes with one over it."""
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
    Return the factor from which on deviations are to spare, or None if that is beyond the most.

    The distance from a threshold in deviations grows about with the root of the examples, and
    between two factors nearly with their logarithm: a few values settle it.
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
        # A little to the far side of where it should be, so that both ends close in.
        nudge = 0.001 / width if share < 0.5 else -0.001 / width
        middle = low[0] * np.exp(width * np.clip(share + nudge, 0.001 / width, 1 - 0.001 / width))
        value = spare(middle)
        low, high = (low, (middle, value)) if value >= 0 else ((middle, value), high)
    return high[0]


def _unit(counts, measure):
    """Return how many there are of what the measure counts, and its name."""
    unit = resolve(measure).unit or "examples"
    label = counts["positive"].item() if "positive" in counts.coords else None
    dim = "predicted" if unit.startswith("predicted") else "actual"
    if unit != "examples" and label is not None:
        is_counted = counts[dim] == label if unit.endswith("positives") else counts[dim] != label
        return float(counts.where(is_counted, 0).sum()), unit
    return float(counts.sum()), "examples"
