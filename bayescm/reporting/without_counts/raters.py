"""The report of raters without a truth: what each is worth, how far they agree, what is assumed."""

import warnings
from collections.abc import Sequence
from typing import Any

import xarray as xr

import bayescm as bcm
from bayescm.reporting import content
from bayescm.reporting.facts import versions
from bayescm.reporting.parts import Section, Table
from bayescm.reporting.progress import tell

_TWO, _MANY = ("prevalence", "recall", "specificity", "f1"), ("accuracy", "f1_macro")
_FEW = 4  # raters up to which errors together cannot be seen


def of_raters(
    evidence: xr.Dataset,
    measures: Sequence | None,
    settings: dict[str, Any],
    keywords: dict[str, Any],
) -> list[Section]:
    """Return the whole report of raters."""
    two = evidence.sizes["actual"] == 2
    default = _TWO if two and "positive" in evidence.coords else _MANY
    wanted = list(measures) if measures else list(default)
    asked = {name: settings[name] for name in ("prob", "kind", "random_seed")} | keywords
    tell("intervals")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = bcm.summary(evidence, wanted, **asked)
        known = content.known(table, settings["prob"], settings["kind"])
        agree = bcm.agreement(evidence, prob=settings["prob"], kind=settings["kind"])
        moved = bcm.assumed_dependence(evidence, wanted, **asked) if two else None
    known.title = "What is known of each rater, against the truth that nobody has seen"
    caption = f"Agreement beyond chance, {100 * settings['prob']:.4g}% intervals"
    sections = [
        Section("What was evaluated", _evaluated(evidence)),
        known,
        Section("How far they agree", [], [Table(caption, agree)]),
    ]
    if moved is not None:
        said = "Examples may be hard for all raters alike. This is how the answers would move."
        shown = moved[["dependence", "measure", "classifier", "mean", "lower", "upper"]]
        assumed = Table("By the correlation of two raters' errors", shown)
        sections.append(Section("If they err together", [said], [assumed]))
    told = {"Model": "noisy_labels", "Seed": settings["random_seed"]} | versions()
    cautions = [*dict.fromkeys(str(each.message) for each in caught)]
    if evidence.sizes["classifier"] < _FEW and not (evidence["gold"] >= 0).any():
        cautions.append("That the raters err independently is assumed and cannot be seen.")
    return [
        *sections,
        content.computed(table, told),
        Section("Cautions", cautions or ["Given the truth, raters are taken to err apart."]),
    ]


def _evaluated(evidence):
    number, gold = (evidence["counts"].sum(), evidence["counts"].where(evidence["gold"] >= 0).sum())
    names = ", ".join(str(name) for name in evidence["classifier"].values)
    said = [f"{int(number):,} examples; {evidence.sizes['classifier']} raters: {names}."]
    if gold:
        said.append(f"The truth of {int(gold):,} is known.")
    return said
