"""The report of probabilities: the table of a prediction model, its calibration, its benefit."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import xarray as xr

import bayescm as bcm
from bayescm.reporting import content
from bayescm.reporting.facts import versions
from bayescm.reporting.parts import Picture, Section, Table
from bayescm.reporting.progress import tell

_CALIBRATION = ("calibration_slope", "calibration_intercept", "calibration_in_the_large")
_NAMES = ("auc", *_CALIBRATION, "brier", "brier_skill", "ece")
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
    wanted = list(measures) if measures else list(_NAMES)
    tell("intervals")
    table = bcm.summary(evidence, wanted, **asked)
    known = content.known(table, settings["prob"], "eti")
    tell("decisions")
    benefit = _benefit(evidence, thresholds, settings)
    both = {"classifier"} & {*table} & {*benefit}
    columns = ["measure", *both, "point", "mean", "lower", "upper"]
    whole = pd.concat([table[columns], benefit[columns]], ignore_index=True)
    model = Section("The prediction model", known.sentences)
    caption = (
        f"Discrimination, calibration and net benefit, {100 * settings['prob']:.4g}% intervals"
    )
    model.tables = [Table(caption, whole)]
    sections = [Section("What was evaluated", _evaluated(evidence)), model]
    if evidence.sizes.get("classifier", 1) > 1:
        tell("comparison")
        better = bcm.compare(evidence, wanted, rope=settings["rope"], **asked)
        sections.append(content.better(better, settings["rope"], settings["prob"]))
    tell("pictures")
    prob = settings["prob"]
    model.pictures = [
        Picture("calibration", "Calibration curve.", bcm.plot_calibration(evidence, prob=prob)),
        Picture("decision-curve", "Net benefit.", bcm.plot_decision_curve(evidence, prob=prob)),
    ]
    told = {"Model": "calibration", "Seed": settings["random_seed"]} | versions()
    said = bcm.interval(evidence, wanted[0], **asked).attrs.get("caution", "")
    return [
        *sections,
        content.computed(table, told),
        Section("Cautions", [said or "No cautions."]),
    ]


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
    number, label = evidence.sizes["example"], evidence["positive"].item()
    events = int((evidence["actual"] == label).sum())
    share = f"{events:,} events ({label}), {100 * events / number:.3g}%"
    said = [f"{number:,} examples with probabilities, {share}."]
    if "classifier" in evidence.dims:
        names = ", ".join(str(name) for name in evidence["classifier"].values)
        said.append(f"{evidence.sizes['classifier']} classifiers on the same examples: {names}.")
    return said
