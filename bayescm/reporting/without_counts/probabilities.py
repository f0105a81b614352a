"""The report of probabilities: the table of a prediction model, its calibration, its benefit."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import xarray as xr

import bayescm as bcm
from bayescm.answers.groups.sites import by_site
from bayescm.posterior.route import default_model
from bayescm.reporting import content
from bayescm.reporting.facts import versions
from bayescm.reporting.parts import Picture, Section, Table
from bayescm.reporting.progress import tell

_CALIBRATION = ("calibration_slope", "calibration_intercept", "calibration_in_the_large")
_NAMES, _OF_CURVES = ("auc", *_CALIBRATION, "brier", "brier_skill"), ("ece",)
_CLASSES, _OF_CLASSES = ("auc_macro", "brier", "brier_skill"), ("macro", "top_label", "full")
_PANELS = 11  # classes of a picture
_THRESHOLDS = (0.1, 0.2, 0.5)


def of_probabilities(
    evidence: xr.Dataset,
    measures: Sequence | None,
    settings: dict[str, Any],
    keywords: dict[str, Any],
) -> list[Section]:
    """Return the whole report of probabilities."""
    keywords = dict(keywords)
    thresholds = list(keywords.pop("thresholds", _THRESHOLDS))
    asked = {"prob": settings["prob"], "kind": "eti", "random_seed": settings["random_seed"]}
    asked |= keywords
    several, whole = "class" in evidence.dims, not {"fold", "group"} & {*evidence}
    wanted = [*measures] if measures else _default(several, whole)
    tell("intervals")
    table = bcm.summary(evidence, wanted, **asked)
    known = content.known(table, settings["prob"], "eti")
    model = Section("The prediction model", known.sentences)
    columns = ["measure", *{"classifier", "class"} & {*table}, "point", "mean", "lower", "upper"]
    shown, of = table[columns], "Discrimination and calibration"
    if whole and not several:
        tell("decisions")
        benefit = _benefit(evidence, thresholds, settings)
        shown = pd.concat([shown, benefit[columns]], ignore_index=True)
        of = "Discrimination, calibration and net benefit"
    mass = f"{100 * settings['prob']:.4g}% intervals"
    model.tables = [Table(f"{of}, {mass}", shown)]
    sections = [Section("What was evaluated", _evaluated(evidence)), model]
    if "group" in evidence:
        sections.append(_sites(evidence, wanted, asked, mass))
    if evidence.sizes.get("classifier", 1) > 1:
        tell("comparison")
        better = bcm.compare(evidence, wanted, rope=settings["rope"], **asked)
        sections.append(content.better(better, settings["rope"], settings["prob"]))
    tell("pictures")
    prob = settings["prob"]
    model.pictures = _pictures(evidence, prob) if whole else []
    told = {
        "Model": "correlated t of the folds" if "fold" in evidence else default_model(evidence),
        "Intervals": "equal-tailed",
        "Seed": settings["random_seed"],
    } | versions()
    doubtful = bcm.interval(evidence, wanted[0], **asked)
    if whole and not several:
        doubtful = bcm.calibration.test(evidence)  # says of the curve, too, whether it has a step
    said = doubtful.attrs.get("caution", "")
    return [
        *sections,
        content.computed(table, told),
        Section("Cautions", [said or "No cautions."]),
    ]


def _sites(evidence, wanted, asked, mass):
    """Say what is known of every site, of all there may be, and of a new one."""
    tell("sites")
    asked = {name: asked[name] for name in ("prob", "random_seed")}
    table = by_site(evidence, wanted, **asked)
    found = bcm.plot_forest(evidence, "calibration_slope", of="group", kind="eti", **asked)
    said = ["Sites are drawn towards each other, the more the smaller they are."]
    picture = Picture("sites", "Calibration slope of each site.", found)
    return Section("Site by site", said, [Table(f"Sites, {mass}", table)], [picture])


def _default(several, whole):
    """Return the usual measures; of folds only those that each fold has by itself."""
    names = _CLASSES if several else _NAMES
    curves = [f"ece_{each}" for each in _OF_CLASSES] if several else _OF_CURVES
    return [*names, *(curves if whole else [])]


def _pictures(evidence, prob):
    """Return the calibration curves, and of two classes the net benefit."""
    if evidence.sizes.get("class", 0) > _PANELS:
        return []
    found = bcm.plot_calibration(evidence, prob=prob)
    pictures = [Picture("calibration", "Calibration curve.", found)]
    if "class" not in evidence.dims:
        found = bcm.plot_decision_curve(evidence, prob=prob)
        pictures.append(Picture("decision-curve", "Net benefit.", found))
    return pictures


def _benefit(evidence, thresholds, settings):
    """Return the net benefit at some thresholds as rows of a summary."""
    options = {"prob": settings["prob"], "random_seed": settings["random_seed"]}
    found = bcm.decision_curve(evidence, thresholds=thresholds, simultaneous=False, **options)
    data = found[["net_benefit", "mean"]].rename(net_benefit="point")
    for end in ("lower", "upper"):
        data[end] = found["interval"].sel(bound=end, drop=True)
    frame = data.reset_coords(drop=True).to_dataframe().reset_index()
    frame["measure"] = [f"net benefit at {each:g}" for each in frame["threshold"]]
    return frame


def _evaluated(evidence):
    number, actual = evidence.sizes["example"], evidence["actual"].values
    if "class" in evidence.dims:
        each = [f"{int((actual == k).sum()):,} {k}" for k in evidence["class"].values.tolist()]
        share = f"{len(each)} classes: {', '.join(each)}"
    else:
        label = evidence["positive"].item()
        events = int((actual == label).sum())
        share = f"{events:,} events ({label}), {100 * events / number:.3g}%"
    said = [f"{number:,} examples with probabilities, {share}."]
    if "classifier" in evidence.dims:
        names = ", ".join(str(name) for name in evidence["classifier"].values)
        said.append(f"{evidence.sizes['classifier']} classifiers on the same examples: {names}.")
    if "group" in evidence:
        said.append(f"{len(set(evidence['group'].values.tolist()))} sites.")
    return said
