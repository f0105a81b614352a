"""The report of several classifiers on several data sets."""

from typing import Any

import xarray as xr

import bayescm as bcm
from bayescm.reporting import content
from bayescm.reporting.facts import versions
from bayescm.reporting.parts import Picture, Section, Table
from bayescm.reporting.pictures import MOST_ROWS
from bayescm.reporting.progress import tell


def of_results(
    evidence: xr.Dataset, settings: dict[str, Any], keywords: dict[str, Any]
) -> list[Section]:
    """Return the whole report of results."""
    asked = {"prob": settings["prob"], "random_seed": settings["random_seed"]} | keywords
    tell("comparison")
    pairs = bcm.compare(evidence, kind=settings["kind"], rope=settings["rope"], **asked)
    tell("ranks")
    ranked = bcm.ranks(evidence, **asked).sort_values("expected_rank", ignore_index=True)
    known = ["classifier", "expected_rank", "best_rank", "worst_rank", "tiers", "p_best"]
    caption = "Ranks (1 is best); best_rank to worst_rank hold for all classifiers at once"
    told = {"Model": "hierarchical_differences", "Seed": settings["random_seed"]} | versions()
    shares = f"{100 * evidence['test_share'].item():.3g} %"
    cautions = [
        "The data sets are taken for a sample of those that the answers are about.",
        f"Runs share training examples; {shares} of the examples are tested in each.",
    ]
    return [
        Section("What was evaluated", _evaluated(evidence)),
        Section("Who is told apart", _apart(ranked), [Table(caption, ranked[known])]),
        content.better(pairs, settings["rope"], settings["prob"]),
        _pictures(evidence, pairs, settings, asked),
        Section("How it was computed", [f"{name}: {value}." for name, value in told.items()]),
        Section("Cautions", cautions),
    ]


def _evaluated(evidence):
    sizes, seen = evidence.sizes, evidence["result"].notnull().any("run")
    names = ", ".join(str(name) for name in evidence["classifier"].values)
    said = [
        f"{sizes['classifier']} classifiers on {sizes['data_set']} data sets, "
        f"{sizes['run']} runs on each: {names}.",
        f"The results are of {evidence['measured'].item()}.",
    ]
    if not seen.all():
        said.append(f"{int((~seen).sum())} classifiers lack results on a data set.")
    return said


def _apart(ranked):
    """Say who may be best, and who shares a tier with nobody."""
    first = ranked.loc[ranked["best_rank"] == 1, "classifier"].astype(str).tolist()
    if len(first) == 1:
        return [f"{first[0]} is told to be the best."]
    return [f"{', '.join(first[:-1])} and {first[-1]} may each be the best."]


def _pictures(evidence, pairs, settings, asked):
    tell("pictures")
    measure, section = evidence["measured"].item(), Section("Pictures")
    if evidence.sizes["classifier"] <= MOST_ROWS:
        alt = f"The set of ranks of every classifier in {measure}, and the tiers."
        section.pictures.append(Picture("tiers", alt, bcm.plot_tiers(evidence, measure, **asked)))
    if len(pairs) <= MOST_ROWS:
        plain = {name: settings[name] for name in ("prob", "kind", "rope")}
        drawn = bcm.plot_differences(pairs, **plain)
        section.pictures.append(Picture("differences", "Differences of all pairs.", drawn))
    return section
