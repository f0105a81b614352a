"""From evidence to the sections of a report, question first."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers.summary import sentences, summary
from bayescm.distributions.decision import chance
from bayescm.evidence.counts import CELLS, abstains, classes, positive
from bayescm.measures.catalogue import resolve
from bayescm.measures.defaults import default_measures
from bayescm.measures.labelled import kernels, several
from bayescm.reporting.parts import Section, Table
from bayescm.reporting.progress import tell
from bayescm.validate import fail

# A confusion matrix of more classes is not printed as a table.
LARGEST_TABLE = 12
# Of more classes the columns are headed by the labels alone.
FEW_COLUMNS = 4
ROWS = "rows are actual classes, columns predictions"
MOST_SENTENCES = 12
# Of every class, where there are more than FEW_COLUMNS.
PER_CLASS = ("recall", "precision", "f1")


def evaluated(counts: xr.DataArray, *, paired: bool = False) -> Section:
    """Say what was evaluated: examples, classes, positive class, design."""
    labels = pd.Index(classes(counts))
    one = counts.isel(classifier=0) if "classifier" in counts.dims else counts
    one = one.isel(repeat=0) if "repeat" in one.dims else one
    totals = one.sum([dim for dim in one.dims if dim != "actual"])
    totals = totals.isel(actual=totals.indexes["actual"].isin(labels))
    each = counts.sum([dim for dim in counts.dims if dim != "classifier"])
    if "classifier" in counts.dims and not paired:
        sizes = zip(counts["classifier"].values, each.values, strict=True)
        said = [f"Examples: {', '.join(f'{_amount(n)} of {name}' for name, n in sizes)}."]
        said.append(f"{len(labels)} classes.")
    else:
        examples = "1 example" if totals.sum() == 1 else f"{_amount(totals.sum())} examples"
        said = [f"{examples} of {len(labels)} classes{_shares(totals)}."]
    if len(labels) == 2:
        named = positive(counts)
        said.append(
            "No positive class was given." if named is None else f"The positive class is {named}."
        )
    if abstains(counts):
        said.append(f"{counts['abstain'].item()} is no answer: measures are of the answered.")
    said += _design(counts, paired)
    absent = [str(label) for label in labels[(totals == 0).values]]
    if absent:
        said.append(f"Classes without examples: {', '.join(absent)}.")
    section = Section("What was evaluated", said)
    if len(labels) <= LARGEST_TABLE:
        names = one if "classifier" not in counts.dims else counts
        section.tables = [
            Table(f"Confusion matrix{which}{_pooled(counts)}; {ROWS}", _matrix(table))
            for which, table in _each_classifier(names)
        ]
    else:
        section.sentences.append(f"With {len(labels)} classes the matrix is not a table here.")
    return section


def each_class(counts: xr.DataArray, measures: Sequence, interval: dict[str, Any]) -> list[Section]:
    """Say what is known of every class, the least recalled first; where there are many."""
    known = {resolve(each).__name__ for each in measures}
    names = [each for each in PER_CLASS if each not in known]
    many = counts.sizes.get("classifier", 1) > 1
    if counts.sizes["actual"] <= FEW_COLUMNS or many or not names or "group" in counts.dims:
        return []
    tell("intervals of every class")
    table = summary(counts, names, **interval)
    totals = counts.sum([dim for dim in counts.dims if dim != "actual"])
    frame = pd.DataFrame({"class": counts["actual"].values, "examples": totals.values})
    for name in names:
        rows = table[table["measure"] == name].set_index("class").loc[frame["class"]]
        for column in ("point", "lower", "upper"):
            frame[name if column == "point" else f"{name} {column}"] = rows[column].to_numpy()
    frame["class"] = frame["class"].astype(str)
    mass = f"{100 * interval['prob']:.4g}%"
    caption = f"Every class with {mass} intervals, by {names[0]}"
    return [Section("Each class", tables=[Table(caption, frame.sort_values(names[0]))])]


def _amount(n):
    """Write a number of examples: all its digits, unless it is fractional."""
    return f"{n:,.0f}" if n == round(float(n)) else f"{n:,.6g}"


def _shares(totals):
    if totals.size > 6:
        return ""
    named = zip(totals.indexes["actual"], totals.values, strict=True)
    return ": " + ", ".join(f"{label} ({int(count):,})" for label, count in named)


def _design(counts, paired):
    said = []
    if "classifier" in counts.dims:
        names = ", ".join(str(name) for name in counts["classifier"].values)
        on = "the same examples" if paired else "different examples"
        said.append(f"{counts.sizes['classifier']} classifiers on {on}: {names}.")
    if "fold" in counts.dims:
        repeats = counts.sizes.get("repeat", 1)
        times = f", repeated {repeats} times" if repeats > 1 else ""
        fixed = bool(counts.coords.get("fixed_totals", False))
        kind = "stratified" if fixed else "not stratified"
        said.append(f"Cross-validation with {counts.sizes['fold']} folds, {kind}{times}.")
    if "group" in counts.dims:
        said.append(f"{counts.sizes['group']} groups, partially pooled.")
    if "step" in counts.dims:
        said.append(f"{counts.sizes['step']} batches over time, taken together below.")
    if "prevalence" in counts.coords:
        share = float(counts.coords["prevalence"])
        said.append(f"All results are for a population in which {100 * share:.4g}% are positive.")
    return said


def _each_classifier(counts):
    pooled = counts.sum([dim for dim in counts.dims if dim not in (*CELLS, "classifier")])
    if "classifier" not in counts.dims:
        return [("", pooled)]
    return [(f" of {name}", pooled.sel(classifier=name)) for name in pooled["classifier"].values]


def _pooled(counts):
    over = [dim for dim in ("repeat", "fold", "group", "step") if dim in counts.dims]
    names = ["batches" if dim == "step" else f"{dim}s" for dim in over]
    return f", summed over {' and '.join(names)}" if over else ""


def _matrix(counts):
    before = "predicted " if counts.sizes["predicted"] <= FEW_COLUMNS else ""
    table = pd.DataFrame(
        counts.transpose(*CELLS).values,
        columns=[f"{before}{label}" for label in counts["predicted"].values],
    )
    if np.all(table == table.round()):
        table = table.astype(int)
    table.insert(0, "actual", [str(label) for label in counts["actual"].values])
    return table


def known(table: pd.DataFrame, prob: float, kind: str) -> Section:
    """Say what is known of each measure."""
    called = "highest-density" if kind == "hdi" else "equal-tailed"
    numbers = ["mean", "lower", "upper", "sd", "point"]
    places = list(table.columns[: list(table.columns).index("point")])
    shown = table[[*places, *numbers]]
    caption = (
        f"Posterior of each measure; lower and upper bound the {100 * prob:.4g}% {called} "
        f"interval, point is the value in the sample"
    )
    said = first(sentences(table, prob=prob), "The table has the other measures.")
    return Section("What is known", said, [Table(caption, shown)])


def first(said: list[str], rest: str) -> list[str]:
    """Return the first dozen sentences: a page of them is not read."""
    return said if len(said) <= MOST_SENTENCES else [*said[:MOST_SENTENCES], rest]


def better(comparison: pd.DataFrame, rope: float, prob: float) -> Section:
    """Say which classifier is better, by how much and how surely."""
    said = first(list(comparison["sentence"]), "The table has the other pairs.")
    unsaid = ["sentence", "sd", "paired", "expected_loss_second"]
    shown = comparison.drop(columns=unsaid + ([] if rope else ["p_rope"]))
    for name in ("p_better", "p_rope", "p_worse"):
        if name in shown:
            shown[name] = [_chance(value) for value in shown[name]]
    margin = f"; p_rope: they differ by less than {rope:.4g}" if rope else ""
    paired = "the same examples" if comparison["paired"].all() else "different examples"
    caption = (
        f"Differences, first minus second, on {paired}, with their {100 * prob:.4g}% interval"
        f"{margin}; expected_loss: the average cost of choosing the first. A verdict requires a "
        f"probability of {100 * prob:.4g}%"
    )
    return Section("Which is better", said, [Table(caption, shown)])


def _chance(value):
    """Return a probability as text that is never rounded to certainty."""
    return "–" if np.isnan(value) else chance(value).removeprefix("= ").replace(" ", "")


def computed(table: pd.DataFrame, facts: dict[str, Any]) -> Section:
    """Say how the numbers were computed, so that they can be reproduced."""
    rungs = ", ".join(
        f"{how} ({', '.join(dict.fromkeys(part['measure']))})"
        for how, part in table.groupby("how", sort=False)
    )
    said = [f"{name}: {value}." for name, value in facts.items()]
    said.append(f"How each number was computed: {rungs}.")
    worst = table["error"].max()
    if worst > 1e-6:
        said.append(f"The largest numerical error of an interval bound is {worst:.2g}.")
    return Section("How it was computed", said, facts=facts)


def check_measures(measures: Sequence | None, counts: xr.DataArray) -> list:
    """Return the measures to report, each known and possible with this evidence."""
    if measures is None:
        return default_measures(counts)
    wanted = several(measures)
    kernels(wanted, counts)
    return wanted


def check_defined(table: pd.DataFrame) -> None:
    """Raise if every measure is undefined."""
    if table["lower"].isna().all():
        raise fail(
            "every measure is undefined (0/0)",
            list(dict.fromkeys(table["measure"])),
            "measures that this evidence defines",
            "ask for other measures, or collect examples of every class",
        )
