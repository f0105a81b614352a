"""
Building blocks of reports: sections of sentences, tables and plots, independent of the format.

`bayescm.reporting.recipe` determines the sections of a report and their order.

The module also contains the sections common to most types of evidence, in the order of a report:
evaluation, results, comparison of classifiers, gaps between groups, and methods of computation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import bayescm as bcm
from bayescm.answers.gaps import gap_of
from bayescm.answers.summary import sentences, summary
from bayescm.answers.tables import decimals, in_text
from bayescm.distributions.decision import chance
from bayescm.evidence.counts import CELLS, classes, default_measures, lacks_true_negatives
from bayescm.measures.catalogue import resolve
from bayescm.measures.display_names import display_label, display_name
from bayescm.measures.labelled import as_measures, several
from bayescm.reporting.progress import progress
from bayescm.validate import fail

_LARGEST_TABLE = 12  # with more classes, a confusion matrix is not printed as a table
# With more classes, column headings of the confusion matrix are labels only, and measures of each
# class are in a separate row.
_FEW_CLASSES = 4
_PER_CLASS = ("recall", "precision", "f1")
_MOST_SENTENCES = 12
_ROUNDING = 1e-15  # smaller values are rounding errors, e.g. of a mean of differences
MANY_GROUPS = 12  # with fewer groups, a plot of all groups shows which are bad
_WORST = 10  # number of groups in the table of the worst ones
_OF_GROUPS = ["examples", "observed", "mean", "lower", "upper", "p_bad", "expected_fdr"]


def number(value: Any, error: float = np.nan) -> str:
    """
    Format a cell, with three decimals for numbers between 0.001 and 1000.

    If the numerical error affects the third decimal, two decimals are shown.
    """
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        value = float(value)
        if np.isnan(value):
            return "–"
        if abs(value) < _ROUNDING:
            value = 0.0
        if decimals(error, 3) < 3:
            return f"{round(value, 2) + 0:.2f}"  # avoids -0.00
        return f"{value:.3f}" if value == 0 or 1e-3 <= abs(value) < 1e3 else f"{value:.3g}"
    return str(value)


@dataclass(frozen=True)
class Table:
    """
    Table with a caption. The column ``error`` limits the decimals of intervals.

    Columns named in ``labels`` have user labels as headings, which are not changed.
    """

    caption: str
    frame: pd.DataFrame
    labels: Sequence[str] = ()

    @property
    def text(self) -> pd.DataFrame:
        """Cells as formatted text, without the column ``error``."""
        return in_text(self.frame.drop(columns="error", errors="ignore"), number, self.frame)


@dataclass(frozen=True)
class Picture:
    """Matplotlib figure with a file name (without suffix) and an alternative text."""

    name: str
    alt: str
    figure: object


@dataclass
class Section:
    """
    Heading with sentences, tables and plots.

    Sections of one of several data sets have ``depth`` 1, below the heading of the data set.
    """

    title: str
    sentences: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)  # about the computation
    depth: int = 0


def evaluation(lines: Sequence[str], counts: xr.DataArray) -> Section:
    """
    Return the section on the evaluation, with the confusion matrices.

    Parameters
    ----------
    lines : sequence of str
        Description of the evidence. See `bayescm.evidence.evidence_type.EvidenceType.describe`.
    counts : DataArray, dims (..., actual, predicted)
    """
    section = Section("What was evaluated", list(lines))
    number = len(classes(counts))
    if number > _LARGEST_TABLE:
        section.sentences.append(f"With {number} classes, the matrix is not shown as a table.")
        return section
    section.tables = [] if lacks_true_negatives(counts) else _matrices(counts)
    return section


_PLURALS = {"step": "batches", "half": "halves"}


def _matrices(counts):
    """Return the confusion matrix of each classifier, summed over the parts of the evidence."""
    # Every repeat tests the same examples, so the mean over repeats counts each example once.
    repeated = "repeat" in counts.dims
    summed = [dim for dim in ("half", "fold", "group", "step") if dim in counts.dims]
    names = [_PLURALS.get(dim, f"{dim}s") for dim in summed]
    over = f", summed over {' and '.join(names)}" if names else ""
    if repeated:
        over += f"{' and' if names else ','} averaged over {counts.sizes['repeat']} repeats"
        counts = counts.mean("repeat")
    pooled = counts.sum([dim for dim in counts.dims if dim not in (*CELLS, "classifier")])
    matrices = {"": pooled}
    if "classifier" in counts.dims:
        names = pooled["classifier"].values
        matrices = {f" of {display_label(name)}": pooled.sel(classifier=name) for name in names}
    layout = "rows are actual classes, columns predictions"
    return [
        Table(f"Confusion matrix{of}{over}; {layout}", _matrix(matrix))
        for of, matrix in matrices.items()
    ]


def _matrix(counts):
    before = "predicted " if counts.sizes["predicted"] <= _FEW_CLASSES else ""
    table = pd.DataFrame(
        counts.transpose(*CELLS).values,
        columns=[f"{before}{label}" for label in counts["predicted"].values],
    )
    if np.all(table == table.round()):
        table = table.astype(int)
    table.insert(0, "actual", [str(label) for label in counts["actual"].values])
    return table


def posterior_summary(
    table: pd.DataFrame, prob: float, kind: str, title: str = "What is known"
) -> Section:
    """Return the section on the posterior of each measure."""
    index = list(table.columns[: list(table.columns).index("point")])
    name = "highest-density" if kind == "hdi" else "equal-tailed"
    caption = (
        f"Posterior of each measure; lower and upper bound the {100 * prob:.4g}% {name} "
        f"interval, point is the value in the sample"
    )
    lines = shortened(sentences(table, prob=prob), "The table has the other measures.")
    shown = table[[*index, "mean", "lower", "upper", "sd", "point", "error"]]
    return Section(title, lines, [Table(caption, shown)])


def shortened(lines: list[str], ending: str) -> list[str]:
    """Return the sentences or, if there are more than twelve, the first twelve and an ending."""
    return lines if len(lines) <= _MOST_SENTENCES else [*lines[:_MOST_SENTENCES], ending]


def per_class(counts: xr.DataArray, measures: Sequence, interval: dict[str, Any]) -> list[Section]:
    """Return the section on individual classes, sorted by a measure, if there are many."""
    resolved = {resolve(measure).__name__ for measure in measures}
    names = [name for name in _PER_CLASS if name not in resolved]
    many = counts.sizes.get("classifier", 1) > 1
    if counts.sizes["actual"] <= _FEW_CLASSES or many or not names or "group" in counts.dims:
        return []
    progress("intervals of every class")
    table = summary(counts, names, **interval)
    totals = counts.sum([dim for dim in counts.dims if dim != "actual"])
    frame = pd.DataFrame({"class": counts["actual"].values, "examples": totals.values})
    for name in names:
        rows = table[table["measure"] == name].set_index("class").loc[frame["class"]]
        for column in ("point", "lower", "upper"):
            heading = display_name(name)
            frame[heading if column == "point" else f"{heading} {column}"] = rows[column].to_numpy()
    frame["class"] = frame["class"].astype(str)
    mass = f"{100 * interval['prob']:.4g}%"
    first = display_name(names[0])
    caption = f"Every class with {mass} intervals, by {first}"
    return [Section("Each class", tables=[Table(caption, frame.sort_values(first))])]


def differences(
    comparison: pd.DataFrame, rope: float, prob: float, units: str = "examples"
) -> Section:
    """Return the section on the better classifier, with size and certainty of the difference."""
    lines = shortened(list(comparison["sentence"]), "The table has the other pairs.")
    hidden = ["sentence", "sd", "paired", "expected_loss_second"]
    shown = comparison.drop(columns=hidden + ([] if rope else ["p_rope"]))
    for name in ("p_better", "p_rope", "p_worse"):
        if name in shown:
            shown[name] = [probability(value) for value in shown[name]]
    margin = f"; p_rope: they differ by less than {rope:.4g}" if rope else ""
    paired = f"on the same {units}" if comparison["paired"].all() else f"on different {units}"
    if how := comparison.attrs.get("how"):
        paired = f"paired fold by fold ({how})"
    caption = (
        f"Differences, first minus second, {paired}, with their {100 * prob:.4g}% interval"
        f"{margin}; expected_loss: the average cost of choosing the first. A verdict requires a "
        f"probability of {100 * prob:.4g}%"
    )
    return Section("Which is better", lines, [Table(caption, shown)])


def probability(value: float) -> str:
    """Format a probability, without rounding it to 0 or 1."""
    return "–" if np.isnan(value) else chance(value).removeprefix("= ").replace(" ", "")


def gaps(posterior: Any, measures: Sequence, settings: Mapping[str, Any]) -> Section:
    """
    Return the section on the gaps between groups in each measure.

    Parameters
    ----------
    posterior : Posterior
        Posterior of all groups.
    measures : sequence
        Measures with a single value each.
    settings : dict
        Settings ``prob``, ``kind`` and ``random_seed``.
    """
    progress("gaps between groups")
    options = {name: settings[name] for name in ("prob", "kind", "random_seed")}
    rows, cautions = [], []
    for measure in measures:
        spread = gap_of(posterior, measure, statistic="range", **options)
        deviation = gap_of(posterior, measure, statistic="deviation", **options)
        rows += _gap_rows(spread, deviation)
        if "caution" in spread.attrs:
            cautions.append(f"{display_name(str(spread.name))}: {spread.attrs['caution']}")
    mass = f"{100 * settings['prob']:.4g}%"
    caption = (
        f"Largest minus smallest value of a group, with the {mass} interval; observed: "
        "in the sample, where it is too large; farthest: the group farthest from the "
        "mean of the others"
    )
    lines = []
    for row in rows:
        of = f" of {display_label(row['classifier'])}" if "classifier" in row else ""
        lines.append(
            f"The gap in {display_name(row['measure'])}{of} between the observed groups is "
            f"between {row['lower']:.3f} and {row['upper']:.3f} with probability {mass}."
        )
    lines += cautions
    return Section("The gaps between groups", lines, [Table(caption, pd.DataFrame(rows))])


def _gap_rows(spread, deviation):
    """Return a row for each classifier, or a single row if there is only one."""
    if "classifier" in spread.dims:
        return [
            {"classifier": name, **row}
            for name in spread["classifier"].values
            for row in _gap_rows(spread.sel(classifier=name), deviation.sel(classifier=name))
        ]
    distance = deviation["point"]
    groups = distance["group"].values if "group" in distance.coords else range(len(distance))
    lower, upper = spread.values
    return [
        {
            "measure": spread.name,
            "mean": spread["point"].item(),
            "lower": lower,
            "upper": upper,
            "observed": spread["observed"].item(),
            "farthest": str(groups[np.abs(distance.values).argmax()]),
        }
    ]


def worst_groups(counts: xr.DataArray, measures: Sequence, settings: Mapping[str, Any]) -> Section:
    """
    Return the section on the worst of many groups, with the expected false discoveries.

    Parameters
    ----------
    counts : DataArray, with a dim ``group``
    measures : sequence
        Measures with a single value each.
    settings : dict
        Settings ``prob``, ``kind`` and ``random_seed``.
    """
    progress("the worst groups")
    options = {name: settings[name] for name in ("prob", "kind", "random_seed")}
    section = Section("Which groups are worse than the others")
    for measure in measures:
        table = bcm.worst_slices(counts, measure, k=_WORST, **options)
        flagged, name = table[table["flagged"]], display_name(table.attrs["measure"])
        section.sentences.append(
            f"In {name}, {len(flagged)} of {len(table)} groups are flagged as worse than "
            f"the mean of the others. About {table.attrs['expected_false']:.1f} of these "
            "are expected to be false discoveries. Of all groups, "
            f"{table.attrs['expected_bad']:.1f} are expected to be worse."
        )
        labels = list(table.columns[: table.columns.get_loc("examples")])
        shown = table.head(_WORST)[[*labels, *_OF_GROUPS]].convert_dtypes()
        caption = (
            f"The {len(shown)} groups most probably worse in {name}: observed in the "
            "sample, partially pooled, and the proportion of false discoveries if a row "
            "and those above are flagged"
        )
        section.tables.append(Table(caption, shown))
    alt = f"{name} of the groups, partially pooled, sorted by their means."
    figure = bcm.plots.plot_slices(counts, measures[-1], **options)
    section.pictures.append(Picture("slices", alt, figure))
    return section


def computation(table: pd.DataFrame, facts: dict[str, Any]) -> Section:
    """Return the section on methods of computation, for reproducibility."""
    methods = ", ".join(
        f"{how} ({', '.join(map(display_name, dict.fromkeys(part['measure'])))})"
        for how, part in table.groupby("how", sort=False)
    )
    lines = [f"{name}: {value}." for name, value in facts.items()]
    lines.append(f"How each number was computed: {methods}.")
    worst = table["error"].max()
    if worst > 1e-6:
        lines.append(f"The largest numerical error of an interval bound is {worst:.2g}.")
    return Section("How it was computed", lines, facts=facts)


def check_measures(measures: Sequence | None, counts: xr.DataArray) -> list:
    """Return the measures to report, after checking that they apply to this evidence."""
    if measures is None:
        return default_measures(counts)
    names = several(measures)
    as_measures(names, counts)
    return names


def check_defined(table: pd.DataFrame) -> None:
    """Raise an error if all measures are undefined."""
    if table["lower"].isna().all():
        raise fail(
            "Every measure is undefined (0/0): {}",
            list(dict.fromkeys(table["measure"])),
            "",
            "choose other measures, or collect examples of every class",
        )
