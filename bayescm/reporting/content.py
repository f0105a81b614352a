"""From evidence to the sections of a report, question first."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm import planning
from bayescm.evidence.counts import CELLS, positive
from bayescm.labelled import kernels
from bayescm.reporting.parts import Section, Table
from bayescm.tables import sentences
from bayescm.validate import fail

TWO_CLASSES = ["accuracy", "precision", "recall", "specificity", "f1", "mcc"]
NO_POSITIVE = ["accuracy", "balanced_accuracy", "f1_macro", "mcc"]
MANY_CLASSES = ["accuracy", "balanced_accuracy", "f1_macro", "mcc"]
# A confusion matrix of more classes is not printed as a table.
LARGEST_TABLE = 12
MOST_SENTENCES = 12


def default_measures(counts: xr.DataArray) -> list[str]:
    """Return the measures worth reporting first for this kind of evidence."""
    if counts.sizes["actual"] > 2:
        return MANY_CLASSES
    return NO_POSITIVE if positive(counts) is None else TWO_CLASSES


def evaluated(counts: xr.DataArray) -> Section:
    """Say what was evaluated: examples, classes, positive class, design."""
    labels = counts.indexes["actual"]
    one = counts.isel(classifier=0) if "classifier" in counts.dims else counts
    totals = one.sum([dim for dim in one.dims if dim != "actual"])
    size = int(totals.sum())
    said = [f"{size:,} examples of {len(labels)} classes{_shares(totals)}."]
    if len(labels) == 2:
        named = positive(counts)
        said.append(
            "No class was named as the positive one."
            if named is None
            else f"The positive class is {named}."
        )
    said += _design(counts)
    absent = [str(label) for label in labels[(totals == 0).values]]
    if absent:
        said.append(f"Without an example: {', '.join(absent)}.")
    section = Section("What was evaluated", said)
    if len(labels) <= LARGEST_TABLE:
        names = one if "classifier" not in counts.dims else counts
        section.tables = [
            Table(f"Confusion matrix{which}; rows are the truth", _matrix(table))
            for which, table in _each_classifier(names)
        ]
    else:
        section.sentences.append(
            f"With {len(labels)} classes the matrix is left to the picture and the tables show "
            f"averages over classes."
        )
    return section


def _shares(totals):
    if totals.size > 6:
        return ""
    named = zip(totals.indexes["actual"], totals.values, strict=True)
    return ": " + ", ".join(f"{int(count):,} {label}" for label, count in named)


def _design(counts):
    said = []
    if "classifier" in counts.dims:
        names = ", ".join(str(name) for name in counts["classifier"].values)
        said.append(f"{counts.sizes['classifier']} classifiers on the same examples: {names}.")
    if "fold" in counts.dims:
        repeats = counts.sizes.get("repeat", 1)
        times = f", repeated {repeats} times" if repeats > 1 else ""
        fixed = bool(counts.coords.get("fixed_totals", False))
        kind = "stratified" if fixed else "not stratified"
        said.append(f"Cross-validation with {counts.sizes['fold']} folds, {kind}{times}.")
    if "group" in counts.dims:
        said.append(f"{counts.sizes['group']} groups, partially pooled.")
    if "prevalence" in counts.coords:
        share = float(counts.coords["prevalence"])
        said.append(f"All answers are for a population in which {100 * share:.4g} % are positive.")
    return said


def _each_classifier(counts):
    pooled = counts.sum([dim for dim in counts.dims if dim not in (*CELLS, "classifier")])
    if "classifier" not in counts.dims:
        return [("", pooled)]
    return [(f" of {name}", pooled.sel(classifier=name)) for name in pooled["classifier"].values]


def _matrix(counts):
    table = pd.DataFrame(
        counts.transpose(*CELLS).values,
        columns=[f"predicted {label}" for label in counts["predicted"].values],
    )
    if np.all(table == table.round()):
        table = table.astype(int)
    table.insert(0, "actual", [str(label) for label in counts["actual"].values])
    return table


def known(table: pd.DataFrame, prob: float, kind: str) -> Section:
    """Say what is known of each measure."""
    called = "highest-density" if kind == "hdi" else "equal-tailed"
    shown = table.drop(columns=["how", "error", "undefined"])
    caption = f"Posterior of each measure; lower and upper bound the {prob:.4g} {called} interval"
    said = _first(sentences(table, prob=prob), "The table has the other measures.")
    return Section("What is known", said, [Table(caption, shown)])


def _first(said, rest):
    """Return the first dozen sentences: a page of them is not read."""
    return said if len(said) <= MOST_SENTENCES else [*said[:MOST_SENTENCES], rest]


def better(comparison: pd.DataFrame, rope: float) -> Section:
    """Say which classifier is better, by how much and how surely."""
    said = _first(list(comparison["sentence"]), "The table has the other pairs.")
    shown = comparison.drop(columns=["sentence"])
    margin = f"; p_rope: they differ by less than {rope:.4g}" if rope else ""
    paired = "the same examples" if shown["paired"].all() else "examples of their own"
    caption = f"Differences first minus second, on {paired}{margin}"
    return Section("Which is better", said, [Table(caption, shown)])


def uncertain(counts: xr.DataArray, table: pd.DataFrame, prob: float, kind: str) -> Section:
    """Say where the evidence is thin, and how much more of it would settle the matter."""
    width = table["upper"] - table["lower"]
    if width.isna().all():
        return Section("Where it is uncertain", ["Every measure is undefined."])
    row = table.loc[width.idxmax()]
    widest = float(width.max())
    said = [
        f"The widest interval is that of {row['measure']}: {widest:.3f} from end to end. "
        f"An interval half as wide needs about four times the examples."
    ]
    plain = counts.dims == CELLS and counts.sizes["actual"] == 2
    if plain and row["measure"] in planning.UNITS:
        plan = planning.plan(
            row["measure"], width=widest / 2, pilot=counts, assurance=0.9, prob=prob, kind=kind
        ).iloc[0]
        said.append(
            f"To have it at most {widest / 2:.3f} wide with 90 % assurance takes "
            f"{plan['n']:,} {plan['unit']} in a new test set."
        )
    return Section("Where it is uncertain", said)


def cautions(counts: xr.DataArray, table: pd.DataFrame) -> Section:
    """List what the evidence itself warns of."""
    said = []
    totals = counts.sum([dim for dim in counts.dims if dim not in ("actual", "classifier")])
    if "classifier" in totals.dims:
        totals = totals.isel(classifier=0)
    few = {label: int(n) for label, n in zip(totals["actual"].values, totals.values, strict=True)}
    few = {label: n for label, n in few.items() if n < 20}
    if few:
        listed = ", ".join(f"{label} {n}" for label, n in list(few.items())[:10])
        more = f" and {len(few) - 10} others" if len(few) > 10 else ""
        said.append(f"Fewer than 20 examples: {listed}{more}. Measures of such a class are wide.")
    undefined = table[table["undefined"] > 0]
    for name, share in zip(undefined["measure"], undefined["undefined"], strict=True):
        said.append(f"{name} is undefined (0/0) in {100 * share:.2g} % of its posterior.")
    size = float(totals.sum())
    if size < 20:
        said.append(
            f"The prior weighs two examples and the data {size:.0f}: more than a tenth of what is "
            f"known comes from the prior."
        )
    if bool(counts.coords.get("fixed_totals", False)):
        said.append("Stratification fixed the class totals: the prevalence is not estimated.")
    if "fold" in counts.dims:
        said += _uneven_folds(counts)
    return Section("Cautions", said or ["None: no rule of this report has found anything."])


def _uneven_folds(counts):
    """Warn where folds differ more than chance: a chi-square test of accuracy over folds."""
    from scipy import stats

    stacked = counts.sum([dim for dim in counts.dims if dim not in (*CELLS, "fold")])
    total = stacked.sum(CELLS).values
    right = np.trace(stacked.transpose("fold", *CELLS).values, axis1=-2, axis2=-1)
    table = np.stack([right, total - right])
    if (table.sum(axis=1) == 0).any():
        return []
    chance = stats.chi2_contingency(table).pvalue
    if chance > 0.01:
        return []
    return [f"The folds differ in accuracy more than chance would make them (p = {chance:.2g})."]


def computed(table: pd.DataFrame, facts: dict[str, Any]) -> Section:
    """Say how the numbers were made, so that they can be made again."""
    rungs = ", ".join(
        f"{how} ({', '.join(dict.fromkeys(part['measure']))})"
        for how, part in table.groupby("how", sort=False)
    )
    said = [f"{name}: {value}." for name, value in facts.items()]
    said.append(f"How each number was made: {rungs}.")
    worst = table["error"].max()
    if worst > 1e-6:
        said.append(f"The largest numerical error of an interval's end is {worst:.2g}.")
    return Section("How it was computed", said)


def check_measures(measures: Sequence | None, counts: xr.DataArray) -> list:
    """Return the measures to report, each known and possible with this evidence."""
    if measures is None:
        return default_measures(counts)
    wanted = [measures] if isinstance(measures, str) or callable(measures) else list(measures)
    kernels(wanted, counts)
    return wanted


def check_defined(table: pd.DataFrame) -> None:
    """Raise where nothing at all can be said."""
    if table["lower"].isna().all():
        raise fail(
            "every measure is undefined (0/0)",
            list(dict.fromkeys(table["measure"])),
            "a measure that this evidence defines",
            "ask for others, or collect examples of every class",
        )
