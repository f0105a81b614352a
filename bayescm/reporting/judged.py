"""The report on evidence of which people labelled a part, and a judge has seen all."""

from typing import Any

import xarray as xr

import bayescm as bcm
from bayescm.evidence.counts import CELLS, positive
from bayescm.evidence.judged.as_classifier import judge_as_classifier, of_classifiers
from bayescm.evidence.outcomes import matrices_of
from bayescm.planning.labels import labels_worth
from bayescm.posterior.route import default_model
from bayescm.reporting import content, facts
from bayescm.reporting.cautions import few
from bayescm.reporting.parts import Picture, Section, Table
from bayescm.reporting.progress import tell
from bayescm.validate import fail


def of_partly_labelled(evidence, measures, settings, keywords) -> list[Section]:
    """Return the sections of the report, question first."""
    if evidence["unlabelled"].ndim > 2:
        dims = [
            dim
            for dim in evidence["unlabelled"].dims
            if dim not in ("judge", "predicted", "answers")
        ]
        todo = "report each slice by itself: evidence.sel(...), or ask bcm.summary"
        raise fail("slices of partly labelled examples", dims, "one set of examples", todo)
    counts = matrices_of(evidence).sum("judge")
    wanted = content.check_measures(measures, counts)
    prob, kind = settings["prob"], settings["kind"]
    interval = {"prob": prob, "kind": kind, "random_seed": settings["random_seed"], **keywords}
    tell("intervals")
    table = bcm.summary(evidence, wanted, **interval)
    content.check_defined(table)
    sections = [_evaluated(evidence, counts), content.known(table, prob, kind)]
    if counts.sizes.get("classifier", 1) > 1:
        tell("comparison")
        comparison = bcm.compare(evidence, wanted, **settings, **_own(keywords))
        sections.append(content.better(comparison, settings["rope"], prob))
    tell("the judge")
    sections.append(_judge(evidence, wanted, interval))
    tell("pictures")
    words = f"{100 * prob:.4g}% interval"
    drawn = bcm.plot_forest(evidence, wanted, **interval)
    pictures = Section("Pictures")
    pictures.pictures.append(Picture("forest", f"Posterior mean and {words}.", drawn))
    model = keywords.get("model") or default_model(evidence)
    told = facts.of_counts(counts, model, None, settings["random_seed"])
    totals = counts.sum("predicted")
    totals = totals.isel(classifier=0) if "classifier" in totals.dims else totals
    said = few(totals) + _elsewhere(evidence)
    cautions = Section("Cautions", said or ["No cautions."])
    return [*sections, pictures, content.computed(table, told), cautions]


def _own(keywords):
    return {k: each for k, each in keywords.items() if k in ("model", "concentration")}


def _evaluated(evidence, counts):
    """Say what was labelled, and by what the rest is known."""
    section = content.evaluated(counts, paired="classifier" in counts.dims)
    labelled, others = _sizes(evidence)
    said = f"{labelled:,.0f} of {labelled + others:,.0f} examples are labelled; "
    section.sentences.insert(0, said + "the tables below are of these.")
    return section


def _sizes(evidence):
    one = evidence["counts"] if isinstance(evidence, xr.Dataset) else evidence
    return float(one.sum()), float(evidence["unlabelled"].sum())


def _judge(evidence, measures, interval: dict[str, Any]):
    """Say how good the judge is, and how many labels it is worth."""
    given = {k: each for k, each in interval.items() if k not in ("prob", "kind")}
    worth = labels_worth(evidence, measures, **given)
    number = worth["labels"].iloc[0]
    said = [
        f"Of {_named(row)}, {number:,} labels are worth {row['worth']:,} with the judge."
        for row in worth.to_dict("records")
    ]
    said = content.first(said, "The table has the other measures.")
    caption = "How many labels alone would tell as much as the labels and the judge together"
    section = Section("The judge", said, [Table(caption, worth)])
    judge = judge_as_classifier(evidence)
    if judge is None:
        names = ", ".join(str(each) for each in evidence["judge"].values[:12])
        section.sentences.append(f"It is no classifier; its answers are: {names}.")
        return section
    asked = ["accuracy"] if positive(judge) is None else ["recall", "specificity", "accuracy"]
    table = bcm.summary(judge, asked, **interval)
    shown = table[["measure", "mean", "lower", "upper"]]
    mass = f"{100 * interval['prob']:.4g}%"
    for row in shown.to_dict("records"):
        ends = f"{row['lower']:.3f} and {row['upper']:.3f}"
        words = f"The judge's {row['measure']} lies between {ends} with probability {mass}."
        section.sentences.append(words)
    caption = f"The judge against the truth, with {mass} intervals"
    section.tables.append(Table(caption, shown))
    return section


def _named(row):
    further = [str(v) for k, v in row.items() if k not in ("measure", "labels", "worth")]
    return " of ".join([row["measure"], *further])


def _elsewhere(evidence):
    """Warn of examples whose stratum has no label at all."""
    one = of_classifiers(evidence)
    known, others = one.sum("actual"), one["unlabelled"]
    blank = float(others.where(known == 0, 0).sum())
    share = 100 * blank / float(one.sum(("judge", *CELLS)) + others.sum())
    if share < 1:
        return []
    return [f"{share:.3g}% of the examples are in strata without a label: the prior speaks there."]
