"""Reports on several data sets: a table of ranks, and the sections of each data set."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

import bayescm as bcm
from bayescm.measures.display_names import display_label
from bayescm.reporting.progress import progress
from bayescm.reporting.recipe import Recipe, recipe_of
from bayescm.reporting.sections import Section, Table

_NUMBERS = ["mean", "lower", "upper", "error"]


def sections_of_data_sets(
    evidence: Mapping[Any, Any],
    measures: Any,
    settings: Mapping[str, Any],
    keywords: Mapping[str, Any],
) -> list[Section]:
    """
    Return the sections of a report on several data sets.

    Parameters
    ----------
    evidence : mapping of name to evidence
    measures, settings, keywords
        See `bayescm.reporting.recipe.sections_of`.
    """
    recipes = {
        name: recipe_of(of_data_set, measures, settings, keywords)
        for name, of_data_set in evidence.items()
    }
    sections = []
    for number, (name, recipe) in enumerate(recipes.items(), start=1):
        progress(f"data set {display_label(name)}")
        sections.append(Section(display_label(name)))
        for section in recipe.sections():
            pictures = [replace(one, name=f"{number}-{one.name}") for one in section.pictures]
            sections.append(replace(section, pictures=pictures, depth=1))
    return [_overview(recipes, settings, keywords), *sections]


def _overview(recipes: Mapping[Any, Recipe], settings, keywords) -> Section:
    """Return the overview section with the results of all data sets and ranks in each."""
    section = Section("All data sets", [f"The report covers {len(recipes)} data sets."])
    tables = {name: pd.DataFrame(recipe.table) for name, recipe in recipes.items()}
    if all({"measure", *_NUMBERS} <= {*table} for table in tables.values()):
        parts = [_numbers(table, name) for name, table in tables.items()]
        joined = pd.concat(parts, ignore_index=True)
        order = {name: place for place, name in enumerate(dict.fromkeys(joined["measure"]))}
        joined = joined.sort_values("measure", key=lambda names: names.map(order), kind="stable")
        caption = "Posterior mean and interval of each measure in each data set"
        section.tables.append(Table(caption, joined.reset_index(drop=True)))
    ranked = {
        name: recipe
        for name, recipe in recipes.items()
        if recipe.evidence.sizes.get("classifier", 1) > 1
    }
    if ranked:
        section.tables.append(_ranks(ranked, settings, keywords))
        section.sentences.append(
            "Mean ranks describe these data sets. For conclusions about other data sets, "
            "compare the results of all of them with bcm.from_results and bcm.compare."
        )
    return section


def _numbers(table, name):
    labels = list(table.columns[: min(table.columns.get_loc(x) for x in ("point", "mean"))])
    part = table[[*labels, *_NUMBERS]].copy()
    part.insert(1, "data set", display_label(name))
    return part


def _ranks(recipes, settings, keywords):
    """Return the expected rank of each classifier in each data set, and the mean rank."""
    asked = {"prob": settings["prob"], "random_seed": settings["random_seed"], **keywords}
    columns: dict[tuple, dict] = {}
    for name, recipe in recipes.items():
        names = recipe.measures or list(dict.fromkeys(recipe.table["measure"]))
        progress(f"ranks in {display_label(name)}")
        table = bcm.ranks(recipe.evidence, names, **asked)
        others = list(table.columns[: table.columns.get_loc("classifier") + 1])
        for row in table.to_dict("records"):
            key = tuple((other, row[other]) for other in others)
            columns.setdefault(key, {})[display_label(name)] = row["expected_rank"]
    rows = []
    for key, found in columns.items():
        complete = len(found) == len(recipes)
        mean = {"mean rank": sum(found.values()) / len(found)} if complete else {}
        rows.append(dict(key) | {display_label(name): None for name in recipes} | found | mean)
    frame = pd.DataFrame(rows)
    data_sets = [display_label(name) for name in recipes]
    labels = [name for name in frame if name not in (*data_sets, "mean rank")]
    frame = frame[[*labels, *data_sets, *(["mean rank"] if "mean rank" in frame else [])]]
    places = {name: place for place, name in enumerate(dict.fromkeys(frame["measure"]))}
    frame["place"] = frame["measure"].map(places)
    by = ["place", *(["mean rank"] if "mean rank" in frame else [])]
    frame = frame.sort_values(by, kind="stable").drop(columns="place").reset_index(drop=True)
    frame[data_sets] = frame[data_sets].astype(float)
    caption = "Expected rank of each classifier in each data set; 1 is best"
    return Table(caption, frame, data_sets)
