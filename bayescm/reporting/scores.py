"""The sections about scores and probabilities: curves and areas, calibration, net benefit."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import bayescm as bcm
from bayescm.answers.summary import by_site
from bayescm.evidence.scores import PROBABILITIES, SCORES
from bayescm.evidence.slices import slice_name
from bayescm.reporting import cautions, methods, sections
from bayescm.reporting.progress import progress
from bayescm.reporting.sections import Picture, Section, Table
from bayescm.validate import fail

_PANELS = 11  # classes of a picture
_THRESHOLDS = (0.1, 0.2, 0.5)


def of_scores(
    scores: xr.Dataset,
    measures: Sequence | None,
    settings: dict[str, Any],
    keywords: dict[str, Any],
) -> list[Section]:
    """Return the whole report of scores."""
    if keywords:
        todo = "leave them out, or ask interval(scores, ...) with them"
        raise fail("a report of scores has one model", [*keywords], "no keywords of a model", todo)
    totals = _class_totals(scores)
    facts = {
        "Model": "scores, which uses only the order of the scores",
        "Draws": "4000 per curve, where the moments say less",
        "Seed": settings["random_seed"],
        **methods.versions(),
    }
    return [
        Section("What was evaluated", _evaluated_scores(scores, totals)),
        *beside(scores, settings, measures),
        Section("How it was computed", [f"{name}: {value}." for name, value in facts.items()]),
        cautions.section(cautions.few(totals)),
    ]


def beside(
    scores: xr.Dataset, settings: dict[str, Any], measures: Sequence | None = None
) -> list[Section]:
    """Return the sections of curves, which stand beside those of answers too."""
    progress("curves")
    measures = list(measures or SCORES.default_measures(scores))
    prob, kind, rope = settings["prob"], settings["kind"], settings["rope"]
    asked = {"prob": prob, "kind": kind, "random_seed": settings["random_seed"]}
    table = bcm.summary(scores, measures, model="scores", **asked)
    areas = sections.posterior_summary(table, prob, kind, title="Curves: what is known")
    parts = [areas]
    if scores.sizes.get("classifier", 1) > 1:
        comparison = bcm.compare(scores, measures, model="scores", rope=rope, **asked)
        parts.append(sections.differences(comparison, rope, prob))
        parts[-1].title = "Curves: which is better"
    row = table.loc[(table["upper"] - table["lower"]).idxmax()]
    areas.sentences.append(
        f"The least certain is {row['measure']}{_where(row)}, {row['upper'] - row['lower']:.3f} "
        "wide; halving that takes about four times as many examples."
    )
    progress("pictures of curves")
    band = f"curve with its {100 * prob:.4g}% simultaneous band"
    areas.pictures = [
        Picture("roc", f"ROC {band}.", bcm.plot_roc(scores, prob=prob)),
        Picture(
            "precision-recall-curve",
            f"Precision-recall {band}.",
            bcm.plots.plot_precision_recall(scores, prob=prob),
        ),
    ]
    return parts


def _class_totals(scores):
    weight = scores["weight"] if "weight" in scores else xr.ones_like(scores["actual"], float)
    labels, index = np.unique(scores["actual"].values, return_inverse=True)
    sums = np.bincount(index, np.asarray(weight.values, float))
    return xr.DataArray(sums, dims="actual", coords={"actual": labels})


def _evaluated_scores(scores, totals):
    pairs = zip(totals["actual"].values, totals.values, strict=True)
    shares = ", ".join(f"{name} ({n:,.6g})" for name, n in pairs)
    lines = [f"{scores.sizes['example']:,} examples with scores: {shares}."]
    if "positive" in scores.coords:
        lines.append(f"The positive class is {scores.coords['positive'].item()}.")
    if "classifier" in scores.dims:
        lines.append(_classifiers(scores))
    if "fold" in scores:
        lines.append(
            "The curves are drawn fold by fold: scores of different folds need not be comparable."
        )
    if "prevalence" in scores.coords:
        share = float(scores.coords["prevalence"])
        lines.append(f"Precision is for a population in which {100 * share:.4g}% are positive.")
    return lines


def _classifiers(evidence):
    names = ", ".join(str(name) for name in evidence["classifier"].values)
    return f"{evidence.sizes['classifier']} classifiers on the same examples: {names}."


def _where(row):
    labels = [str(row[name]) for name in ("classifier", "class", "fold", "group") if name in row]
    return f" of {', '.join(labels)}" if labels else ""


def of_probabilities(
    evidence: xr.Dataset,
    measures: Sequence | None,
    settings: dict[str, Any],
    keywords: dict[str, Any],
) -> list[Section]:
    """Return the whole report of probabilities: a prediction model, as TRIPOD+AI asks for it."""
    keywords = dict(keywords)
    thresholds = list(keywords.pop("thresholds", _THRESHOLDS))
    prob = settings["prob"]
    options = {"prob": prob, "kind": "eti", "random_seed": settings["random_seed"]} | keywords
    many_classes, one_sample = "class" in evidence.dims, slice_name(evidence) is None
    measures = [*measures] if measures else PROBABILITIES.default_measures(evidence)
    progress("intervals")
    table = bcm.summary(evidence, measures, **options)
    model = sections.posterior_summary(table, prob, "eti", title="The prediction model")
    columns = ["measure", *{"classifier", "class"} & {*table}, "point", "mean", "lower", "upper"]
    shown, contents = table[columns], "Discrimination and calibration"
    if one_sample and not many_classes:
        progress("decisions")
        benefit = _net_benefit(evidence, thresholds, settings)
        shown = pd.concat([shown, benefit[columns]], ignore_index=True)
        contents = "Discrimination, calibration and net benefit"
    mass = f"{100 * prob:.4g}% intervals"
    model.tables = [Table(f"{contents}, {mass}", shown)]
    parts = [Section("What was evaluated", _evaluated_probabilities(evidence)), model]
    if "group" in evidence:
        parts.append(_sites(evidence, measures, options, mass))
    if evidence.sizes.get("classifier", 1) > 1:
        progress("comparison")
        comparison = bcm.compare(evidence, measures, rope=settings["rope"], **options)
        parts.append(sections.differences(comparison, settings["rope"], prob))
    progress("pictures")
    model.pictures = _pictures(evidence, prob) if one_sample else []
    default = PROBABILITIES.default_model(evidence, {}).model
    facts = {
        "Model": "correlated t of the folds" if default == "fold_forecasts" else default,
        "Intervals": "equal-tailed",
        "Seed": settings["random_seed"],
        **methods.versions(),
    }
    doubtful = bcm.interval(evidence, measures[0], **options)
    if one_sample and not many_classes:
        doubtful = bcm.calibration.test(evidence)  # says of the curve, too, whether it has a step
    caution = doubtful.attrs.get("caution")
    return [
        *parts,
        sections.computation(table, facts),
        cautions.section([caution] if caution else []),
    ]


def _evaluated_probabilities(evidence):
    number, actual = evidence.sizes["example"], evidence["actual"].values
    if "class" in evidence.dims:
        labels = evidence["class"].values.tolist()
        sizes = [f"{int((actual == label).sum()):,} {label}" for label in labels]
        share = f"{len(sizes)} classes: {', '.join(sizes)}"
    else:
        label = evidence["positive"].item()
        events = int((actual == label).sum())
        share = f"{events:,} events ({label}), {100 * events / number:.3g}%"
    lines = [f"{number:,} examples with probabilities, {share}."]
    if "classifier" in evidence.dims:
        lines.append(_classifiers(evidence))
    if "group" in evidence:
        lines.append(f"{len(set(evidence['group'].values.tolist()))} sites.")
    return lines


def _net_benefit(evidence, thresholds, settings):
    """Return the net benefit at some thresholds as rows of a summary."""
    options = {"prob": settings["prob"], "random_seed": settings["random_seed"]}
    curve = bcm.curves.decision_curve(
        evidence, thresholds=thresholds, simultaneous=False, **options
    )
    data = curve[["net_benefit", "mean"]].rename(net_benefit="point")
    for end in ("lower", "upper"):
        data[end] = curve["interval"].sel(bound=end, drop=True)
    frame = data.reset_coords(drop=True).to_dataframe().reset_index()
    frame["measure"] = [f"net benefit at {threshold:g}" for threshold in frame["threshold"]]
    return frame


def _sites(evidence, measures, options, mass):
    """Say what is known of every site, of all there may be, and of a new one."""
    progress("sites")
    options = {name: options[name] for name in ("prob", "random_seed")}
    table = by_site(evidence, measures, **options)
    figure = bcm.plot_forest(evidence, "calibration_slope", of="group", kind="eti", **options)
    lines = ["Sites are drawn towards each other, the more the smaller they are."]
    picture = Picture("sites", "Calibration slope of each site.", figure)
    return Section("Site by site", lines, [Table(f"Sites, {mass}", table)], [picture])


def _pictures(evidence, prob):
    """Return the calibration curves, and of two classes the net benefit."""
    if evidence.sizes.get("class", 0) > _PANELS:
        return []
    figure = bcm.plot_calibration(evidence, prob=prob)
    pictures = [Picture("calibration", "Calibration curve.", figure)]
    if "class" not in evidence.dims:
        figure = bcm.plots.plot_decision_curve(evidence, prob=prob)
        pictures.append(Picture("decision-curve", "Net benefit.", figure))
    return pictures
