"""Which sections a report has, by the type of evidence: question first, cautions last."""

import warnings
from typing import Any

import numpy as np
import xarray as xr

import bayescm as bcm
from bayescm.answers.interval import ASKED
from bayescm.evidence.attempts import ATTEMPTS
from bayescm.evidence.counts import CELLS, as_counts, positive
from bayescm.evidence.outcomes import OUTCOMES, matrices_of
from bayescm.evidence.partly_labelled import (
    PARTLY_LABELLED,
    judge_as_classifier,
    select_classifier,
)
from bayescm.evidence.types import type_of
from bayescm.fitting.posterior_for import members_of, posterior_of
from bayescm.planning.labels import labels_worth
from bayescm.reporting import cautions, figures, methods, sections
from bayescm.reporting.progress import progress
from bayescm.reporting.sample_size_advice import open_questions, uncertain
from bayescm.reporting.scores import beside, of_probabilities, of_scores
from bayescm.reporting.sections import MANY_GROUPS, Picture, Section, Table
from bayescm.validate import fail

# From this many cells on a report draws less, or it would take minutes.
_MANY_CELLS, _FEWER_DRAWS = 2_500, 500
# The dims that a report knows how to speak of, beside those that its model uses up.
_DIMS = ("fold", "repeat", "group", "classifier", "step")
# Measures of raters of two classes and of more, and raters up to which errors together show.
_OF_TWO, _OF_MANY = ("prevalence", "recall", "specificity", "f1"), ("accuracy", "f1_macro")
_FEW_RATERS = 4


def sections_of(evidence, measures, scores, settings, keywords) -> list[Section]:
    """
    Return the sections of the report: those of the type of the evidence, see `_SECTIONS`.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
    measures : measures or None
        By default a selection that suits the evidence.
    scores : Dataset or None
        Scores of the same examples, which have sections beside those of counts.
    settings : dict
        ``prob``, ``kind``, ``rope`` and ``random_seed``.
    keywords : dict
        The model and its keywords.
    """
    of_type = _SECTIONS.get(type_of(evidence).name, _of_any)
    parts = of_type(evidence, measures, settings, keywords)
    if scores is not None:
        parts[-2:-2] = beside(
            scores, settings
        )  # before computation and cautions, with which all end
    return parts


def _of_any(evidence, measures, settings, keywords):
    """Return the sections of a type that has none of its own."""
    entry = type_of(evidence)
    prob, kind = settings["prob"], settings["kind"]
    asked = {"prob": prob, "kind": kind, "random_seed": settings["random_seed"]} | keywords
    progress("intervals")
    table = bcm.summary(evidence, measures, **asked)
    number = f"{entry.size(evidence):,.6g} {entry.unit}."
    parts = [Section("What was evaluated", [number]), sections.posterior_summary(table, prob, kind)]
    if evidence.sizes.get("classifier", 1) > 1:
        progress("comparison")
        names = measures or list(dict.fromkeys(table["measure"]))
        comparison = bcm.compare(evidence, names, rope=settings["rope"], **asked)
        parts.append(sections.differences(comparison, settings["rope"], prob))
    model = keywords.get("model") or entry.default_model(evidence, keywords).model
    facts = methods.facts(model, settings["random_seed"])
    doubts = [table.attrs["caution"]] if "caution" in table.attrs else []
    return [*parts, sections.computation(table, facts), cautions.section(doubts)]


def _of_counts(evidence, measures, settings, keywords):
    batches = as_counts(matrices_of(evidence))
    of_posterior = _of_posterior(settings, keywords)
    _check_dims(batches, posterior_of(evidence, **of_posterior))
    counts = batches.sum("step") if "step" in batches.dims else batches
    posterior = posterior_of(counts, **of_posterior)
    measures = sections.check_measures(measures, counts)
    prob, kind, rope = settings["prob"], settings["kind"], settings["rope"]
    interval = {"prob": prob, "kind": kind, "random_seed": settings["random_seed"], **keywords}
    if counts.sizes["actual"] ** 2 > _MANY_CELLS:
        interval.setdefault("draws", _FEWER_DRAWS)
    progress("intervals")
    table = bcm.summary(counts, measures, **interval)
    sections.check_defined(table)
    paired = type_of(evidence) is OUTCOMES
    progress("what remains open")
    advice, comparison = uncertain(counts, table, measures, prob, kind), None
    pooled = "group" not in posterior.template.dims
    parts = [sections.evaluation(batches, paired=paired, pooled=pooled)]
    parts.append(sections.posterior_summary(table, prob, kind))
    parts += sections.per_class(counts, measures, interval)
    parts += _groups(counts, measures, settings, keywords)
    if counts.sizes.get("classifier", 1) > 1:
        progress("comparison")
        names = [measure for measure in measures if not _has_classes(counts, measure)]
        comparison = _compare(evidence, names, settings, keywords)
        parts.append(sections.differences(comparison, rope, prob))
        advice.sentences += open_questions(evidence, comparison, measures, prob, rope)
    prior = None
    if posterior.cell_prior:
        prior = methods.prior_of(counts, keywords.get("concentration"))
    model = keywords.get("model") or type_of(counts).default_model(counts, keywords).model
    facts = methods.of_counts(model, prior, settings["random_seed"], posterior)
    if comparison is not None and paired:
        pairs = "the correlated t" if "fold" in evidence.dims else "paired_outcomes"
        facts["Model"] += f" of each classifier, {pairs} of their differences"
    fixed, doubts = _has_fixed_totals(posterior), posterior.caveats()
    return [
        *parts,
        advice,
        figures.of_counts(batches, measures, interval, posterior, comparison),
        sections.computation(table, facts),
        cautions.of_counts(batches, table, prior=prior, paired=paired, fixed=fixed, doubts=doubts),
    ]


def _of_model(keywords):
    """Return the keywords of the model, without those of what is asked of its posterior."""
    return {name: value for name, value in keywords.items() if name not in ASKED}


def _of_posterior(settings, keywords):
    """Return the keywords of the model, and those with which it is sampled where it has to be."""
    sampler = {"draws": keywords.get("draws"), "random_seed": settings["random_seed"]}
    return sampler | _of_model(keywords)


def _check_dims(counts, posterior):
    """Raise where there are dims that neither the model nor the report knows."""
    allowed = {*_DIMS, *CELLS, *posterior.pooled_dims}
    others = [dim for dim in counts.dims if dim not in allowed]
    if others:
        dim = others[0]
        raise fail(
            "a report covers a single evaluation",
            dim,
            sorted(allowed),
            f"select one with counts.isel({dim}=0), or rename the dim: "
            f'counts.rename({dim}="group")',
        )


def _has_fixed_totals(posterior):
    """Say whether the classes' shares are given rather than estimated: they do not vary."""
    name = posterior.resolve_estimand("parameter")
    shares = posterior.cells(name, 2, np.random.default_rng(0))[:2].sum(axis=-1)
    return bool(np.ptp(shares, axis=0).max() < 1e-12)


def _compare(evidence, measures, settings, keywords):
    """Compare by the report's own model and prior where it is a model of a comparison."""
    names = ["concentration"]
    if callable(keywords.get("concentration")):  # which is sampled
        names += ["draws", "tune", "chains"]
    prior = {name: keywords[name] for name in names if name in keywords}
    with warnings.catch_warnings():
        # The cautions say so.
        warnings.filterwarnings("ignore", message=".*have the same class totals")
        return bcm.compare(evidence, measures, **settings, **prior)


def _groups(counts, measures, settings, keywords):
    """Say how far groups are apart, where the posterior knows each of them."""
    of_model, of_posterior = _of_model(keywords), _of_posterior(settings, keywords)
    posterior = posterior_of(counts, **of_posterior)
    of_each = "group" not in posterior.pooled_dims or "theta_group" in posterior.estimands.values()
    names = [measure for measure in measures if not _has_classes(counts, measure)]
    if counts.sizes.get("group", 1) < 2 or "fold" in counts.dims or not (of_each and names):
        return []
    if of_model.get("model"):
        members = posterior.by("group")
    else:
        members = members_of(counts, "group", **of_posterior)
    parts = [sections.gaps(members, names, settings)]
    if counts.sizes["group"] >= MANY_GROUPS and not of_model:
        parts.append(sections.worst_groups(counts, names, settings))
    return parts


def _has_classes(counts, measure):
    square = np.ones((counts.sizes["actual"],) * 2)
    return bool(np.ndim(bcm.measures.resolve(measure)(square)))


def _of_fit(tree, measures, settings, keywords):
    counts = _observed(tree)
    measures = sections.check_measures(measures, counts)
    interval = {name: settings[name] for name in ("prob", "kind")}
    table = bcm.summary(tree, measures, **interval)
    sections.check_defined(table)
    posterior = posterior_of(tree)
    concentration, prior = tree["constant_data"].get("concentration"), None
    if concentration is not None and set(CELLS) <= set(concentration.dims):
        prior = methods.prior_of(counts, concentration)
    return [
        sections.evaluation(counts, pooled="group" not in posterior.template.dims),
        sections.posterior_summary(table, **interval),
        uncertain(counts, table, measures, **interval),
        figures.of_fit(tree, counts, measures, interval, posterior),
        sections.computation(table, methods.of_fit(tree, prior, posterior)),
        cautions.of_counts(counts, table, prior=prior, fixed=_has_fixed_totals(posterior)),
    ]


def _observed(tree):
    data = tree["constant_data"].to_dataset() if "constant_data" in tree.children else xr.Dataset()
    if "counts" not in data or "predicted" not in data["counts"].dims:
        raise fail(
            "the fit does not contain its matrices",
            tree.attrs.get("model", list(data.data_vars)),
            "a fit of counts",
            "pass the evidence itself to report()",
        )
    counts = data["counts"]
    return as_counts(counts.astype(np.int64) if (counts == counts.round()).all() else counts)


def _of_partly_labelled(evidence, measures, settings, keywords):
    """Return the report where people labelled a part, and a judge has seen all."""
    if evidence["unlabelled"].ndim > 2:
        expected = ("judge", "predicted", "answers")
        dims = [dim for dim in evidence["unlabelled"].dims if dim not in expected]
        todo = "report each slice by itself: evidence.sel(...), or ask bcm.summary"
        raise fail("slices of partly labelled examples", dims, "one set of examples", todo)
    counts = matrices_of(evidence).sum("judge")
    measures = sections.check_measures(measures, counts)
    prob, kind = settings["prob"], settings["kind"]
    interval = {"prob": prob, "kind": kind, "random_seed": settings["random_seed"], **keywords}
    progress("intervals")
    table = bcm.summary(evidence, measures, **interval)
    sections.check_defined(table)
    evaluation = sections.evaluation(counts, paired="classifier" in counts.dims)
    labelled = float(PARTLY_LABELLED.values(evidence).sum())
    others = float(evidence["unlabelled"].sum())
    evaluation.sentences.insert(
        0,
        f"{labelled:,.0f} of {labelled + others:,.0f} examples are labelled; "
        "the tables below are of these.",
    )
    parts = [evaluation, sections.posterior_summary(table, prob, kind)]
    if counts.sizes.get("classifier", 1) > 1:
        progress("comparison")
        of_model = {k: keywords[k] for k in ("model", "concentration") if k in keywords}
        comparison = bcm.compare(evidence, measures, **settings, **of_model)
        parts.append(sections.differences(comparison, settings["rope"], prob))
    progress("the judge")
    parts.append(_judge(evidence, measures, interval))
    progress("pictures")
    alt = f"Posterior mean and {100 * prob:.4g}% interval."
    forest = Picture("forest", alt, bcm.plot_forest(evidence, measures, **interval))
    model = keywords.get("model") or PARTLY_LABELLED.default_model(evidence, keywords).model
    facts = methods.of_counts(model, None, settings["random_seed"])
    totals = counts.sum("predicted")
    totals = totals.isel(classifier=0) if "classifier" in totals.dims else totals
    return [
        *parts,
        Section("Pictures", pictures=[forest]),
        sections.computation(table, facts),
        cautions.section(cautions.few(totals) + _strata_without_labels(evidence)),
    ]


def _judge(evidence, measures, interval: dict[str, Any]):
    """Say how good the judge is, and how many labels it is worth."""
    asked = {name: value for name, value in interval.items() if name not in ("prob", "kind")}
    worth = labels_worth(evidence, measures, **asked)
    number = worth["labels"].iloc[0]
    lines = []
    for row in worth.to_dict("records"):
        index = [str(v) for k, v in row.items() if k not in ("measure", "labels", "worth")]
        name = " of ".join([row["measure"], *index])
        lines.append(f"Of {name}, {number:,} labels are worth {row['worth']:,} with the judge.")
    lines = sections.shortened(lines, "The table has the other measures.")
    caption = "How many labels alone would tell as much as the labels and the judge together"
    section = Section("The judge", lines, [Table(caption, worth)])
    judge = judge_as_classifier(evidence)
    if judge is None:
        answers = ", ".join(str(answer) for answer in evidence["judge"].values[:12])
        section.sentences.append(f"It is no classifier; its answers are: {answers}.")
        return section
    names = ["accuracy"] if positive(judge) is None else ["recall", "specificity", "accuracy"]
    table = bcm.summary(judge, names, **interval)[["measure", "mean", "lower", "upper"]]
    mass = f"{100 * interval['prob']:.4g}%"
    for row in table.to_dict("records"):
        ends = f"{row['lower']:.3f} and {row['upper']:.3f}"
        section.sentences.append(
            f"The judge's {row['measure']} lies between {ends} with probability {mass}."
        )
    section.tables.append(Table(f"The judge against the truth, with {mass} intervals", table))
    return section


def _strata_without_labels(evidence):
    """Warn of examples whose stratum has no label at all."""
    one = select_classifier(evidence)
    labelled, others = one.sum("actual"), one["unlabelled"]
    blank = float(others.where(labelled == 0, 0).sum())
    share = 100 * blank / float(one.sum(("judge", *CELLS)) + others.sum())
    if share < 1:
        return []
    return [f"{share:.3g}% of the examples are in strata without a label: the prior speaks there."]


def _of_results(evidence, measures, settings, keywords):
    """Return the report of several classifiers on several data sets."""
    asked = {"prob": settings["prob"], "random_seed": settings["random_seed"]} | keywords
    progress("comparison")
    pairs = bcm.compare(evidence, kind=settings["kind"], rope=settings["rope"], **asked)
    progress("ranks")
    ranked = bcm.ranks(evidence, **asked).sort_values("expected_rank", ignore_index=True)
    best = ranked.loc[ranked["best_rank"] == 1, "classifier"].astype(str).tolist()
    told_apart = f"{', '.join(best[:-1])} and {best[-1]} may each be the best."
    if len(best) == 1:
        told_apart = f"{best[0]} is told to be the best."
    columns = ["classifier", "expected_rank", "best_rank", "worst_rank", "tiers", "p_best"]
    caption = "Ranks (1 is best); best_rank to worst_rank hold for all classifiers at once"
    share = f"{100 * evidence['test_share'].item():.3g} %"
    facts = methods.facts("hierarchical_differences", settings["random_seed"])
    return [
        Section("What was evaluated", _evaluated_results(evidence)),
        Section("Who is told apart", [told_apart], [Table(caption, ranked[columns])]),
        sections.differences(pairs, settings["rope"], settings["prob"]),
        _figures_of_results(evidence, pairs, settings, asked),
        Section("How it was computed", [f"{name}: {value}." for name, value in facts.items()]),
        cautions.section(
            [
                "The data sets are taken for a sample of those that the answers are about.",
                f"Runs share training examples; {share} of the examples are tested in each.",
            ]
        ),
    ]


def _evaluated_results(evidence):
    sizes, there = evidence.sizes, evidence["result"].notnull().any("run")
    names = ", ".join(str(name) for name in evidence["classifier"].values)
    lines = [
        f"{sizes['classifier']} classifiers on {sizes['data_set']} data sets, "
        f"{sizes['run']} runs on each: {names}.",
        f"The results are of {evidence['measured'].item()}.",
    ]
    if not there.all():
        lines.append(f"{int((~there).sum())} classifiers lack results on a data set.")
    return lines


def _figures_of_results(evidence, pairs, settings, asked):
    progress("pictures")
    measure, section = evidence["measured"].item(), Section("Pictures")
    if evidence.sizes["classifier"] <= figures.MOST_ROWS:
        alt = f"The set of ranks of every classifier in {measure}, and the tiers."
        section.pictures.append(
            Picture("tiers", alt, bcm.plots.plot_tiers(evidence, measure, **asked))
        )
    if len(pairs) <= figures.MOST_ROWS:
        options = {name: settings[name] for name in ("prob", "kind", "rope")}
        figure = bcm.plot_differences(pairs, **options)
        section.pictures.append(Picture("differences", "Differences of all pairs.", figure))
    return section


def _of_attempts(evidence, measures, settings, keywords):
    """Return the report of several answers to each item."""
    attempts = evidence["correct"].notnull().sum("attempt")
    least, most = int(attempts.min()), int(attempts.max())
    measures = list(measures or ATTEMPTS.default_measures(evidence))
    prob, kind = settings["prob"], settings["kind"]
    asked = {"prob": prob, "kind": kind, "random_seed": settings["random_seed"]} | keywords
    progress("intervals")
    table = bcm.summary(evidence, measures, **asked)
    at_hand = bcm.summary(evidence, measures, of="finite", **asked)
    number = f"{least}" if least == most else f"{least} to {most}"
    lines = [f"{evidence.sizes['item']:,} items with {number} answers to each."]
    if "group" in evidence.coords:
        groups = len(set(evidence["group"].values.tolist()))
        lines.append(f"The items come in {groups:,} groups, which are drawn as wholes.")
    if "classifier" in evidence.dims:
        names = ", ".join(str(name) for name in evidence["classifier"].values)
        lines.append(f"{evidence.sizes['classifier']} systems on the same items: {names}.")
    all_items = "What is known of all items like these"
    these = "What is known of the items at hand"
    parts = [
        Section("What was evaluated", lines),
        sections.posterior_summary(table, prob, kind, title=all_items),
        sections.posterior_summary(at_hand, prob, kind, title=these),
    ]
    if evidence.sizes.get("classifier", 1) > 1:
        progress("comparison")
        comparison = bcm.compare(evidence, measures, rope=settings["rope"], **asked)
        parts.append(sections.differences(comparison, settings["rope"], prob))
    doubts = ["Answers to an item are taken for independent given its rate of right ones."]
    if caution := table.attrs.get("caution"):
        doubts.append(caution)
    facts = methods.facts("repeated_items", settings["random_seed"])
    return [*parts, sections.computation(table, facts), cautions.section(doubts)]


def _of_raters(evidence, measures, settings, keywords):
    """Return the report of raters without a truth: what each is worth, and how far they agree."""
    two = evidence.sizes["actual"] == 2
    default = _OF_TWO if two and "positive" in evidence.coords else _OF_MANY
    measures = list(measures or default)
    prob, kind = settings["prob"], settings["kind"]
    asked = {"prob": prob, "kind": kind, "random_seed": settings["random_seed"]} | keywords
    progress("intervals")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = bcm.summary(evidence, measures, **asked)
        agreement = bcm.raters.agreement(evidence, prob=prob, kind=kind)
        dependence = bcm.raters.assumed_dependence(evidence, measures, **asked) if two else None
    title = "What is known of each rater, against the truth that nobody has seen"
    caption = f"Agreement beyond chance, {100 * prob:.4g}% intervals"
    parts = [
        Section("What was evaluated", _evaluated_raters(evidence)),
        sections.posterior_summary(table, prob, kind, title=title),
        Section("How far they agree", [], [Table(caption, agreement)]),
    ]
    if dependence is not None:
        line = "Examples may be hard for all raters alike. This is how the answers would move."
        shown = dependence[["dependence", "measure", "classifier", "mean", "lower", "upper"]]
        assumed = Table("By the correlation of two raters' errors", shown)
        parts.append(Section("If they err together", [line], [assumed]))
    doubts = [*dict.fromkeys(str(warning.message) for warning in caught)]
    if evidence.sizes["classifier"] < _FEW_RATERS and not (evidence["gold"] >= 0).any():
        doubts.append("That the raters err independently is assumed and cannot be seen.")
    assumption = "Given the truth, raters are taken to err apart."
    facts = methods.facts("noisy_labels", settings["random_seed"])
    return [
        *parts,
        sections.computation(table, facts),
        cautions.section(doubts or [assumption]),
    ]


def _evaluated_raters(evidence):
    number, gold = (evidence["counts"].sum(), evidence["counts"].where(evidence["gold"] >= 0).sum())
    names = ", ".join(str(name) for name in evidence["classifier"].values)
    lines = [f"{int(number):,} examples; {evidence.sizes['classifier']} raters: {names}."]
    if gold:
        lines.append(f"The truth of {int(gold):,} is known.")
    return lines


# The sections of each type of evidence, by its name.
_SECTIONS = {
    "counts": _of_counts,
    "outcomes": _of_counts,
    "scores": of_scores,
    "probabilities": of_probabilities,
    "attempts": _of_attempts,
    "results": _of_results,
    "ratings": _of_raters,
    "partly labelled": _of_partly_labelled,
    "fit": _of_fit,
}
