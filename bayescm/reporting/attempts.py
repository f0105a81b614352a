"""The report of several answers to each item."""

from collections.abc import Sequence
from typing import Any

import xarray as xr

from bayescm.answers.compare import compare
from bayescm.answers.summary import summary
from bayescm.reporting import content
from bayescm.reporting.facts import versions
from bayescm.reporting.parts import Section
from bayescm.reporting.progress import tell


def of_attempts(
    evidence: xr.Dataset,
    measures: Sequence | None,
    settings: dict[str, Any],
    keywords: dict[str, Any],
) -> list[Section]:
    """Return the whole report of repeated answers."""
    made = evidence["correct"].notnull().sum("attempt")
    most = int(made.min())
    wanted = list(measures) if measures else ["mean", f"pass_at({most})", f"pass_all({most})"]
    asked = {name: settings[name] for name in ("prob", "kind", "random_seed")} | keywords
    tell("intervals")
    table = summary(evidence, wanted, **asked)
    at_hand = summary(evidence, wanted, of="finite", **asked)
    known = content.known(table, settings["prob"], settings["kind"])
    here = content.known(at_hand, settings["prob"], settings["kind"])
    sections = [
        Section("What was evaluated", _evaluated(evidence, made)),
        Section("What is known of all items like these", known.sentences, known.tables),
        Section("What is known of the items at hand", here.sentences, here.tables),
    ]
    if evidence.sizes.get("classifier", 1) > 1:
        tell("comparison")
        better = compare(evidence, wanted, rope=settings["rope"], **asked)
        sections.append(content.better(better, settings["rope"], settings["prob"]))
    told = {"Model": "repeated_items", "Seed": settings["random_seed"]} | versions()
    cautions = ["Answers to an item are taken for independent given its rate of right ones."]
    if few := table.attrs.get("caution"):
        cautions.append(few)
    return [*sections, content.computed(table, told), Section("Cautions", cautions)]


def _evaluated(evidence, made):
    least, most = int(made.min()), int(made.max())
    number = f"{least}" if least == most else f"{least} to {most}"
    said = [f"{evidence.sizes['item']:,} items with {number} answers to each."]
    if "group" in evidence.coords:
        groups = len(set(evidence["group"].values.tolist()))
        said.append(f"The items come in {groups:,} groups, which are drawn as wholes.")
    if "classifier" in evidence.dims:
        names = ", ".join(str(name) for name in evidence["classifier"].values)
        said.append(f"{evidence.sizes['classifier']} systems on the same items: {names}.")
    return said
