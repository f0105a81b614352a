"""Intervals of many measures, classes, classifiers or groups, one below the other."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers.summary import COLUMNS, summary
from bayescm.plots import common, interactive
from bayescm.plots.canvas import canvas
from bayescm.validate import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Rows that still read, the mass of the thick part of an interval, inches of a row.
_MOST, _INNER, _ROW = 80, 0.5, 0.3


def plot_forest(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measures: str | Callable | Sequence[str | Callable],
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    reference: float | None = None,
    rope: tuple[float, float] | None = None,
    ax: "Axes | None" = None,
    **keywords: Any,
) -> "Figure":
    """
    Draw the intervals of measures one below the other, on a common scale.

    One row per measure and index of the other dims. Where there are several measures of a few
    classifiers, classes or groups, these share the rows of a measure and have a colour each.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts (intervals as in `bayescm.interval`), outcomes of several classifiers, or a fit.
    measures : str, callable or a sequence of these
    prob : float in (0, 1), default 0.95
        Mass of the thin line; the thick one holds half of the posterior. The dot is the mean, which
        lies outside the thick line where a posterior is very skewed.
    kind : {"hdi", "eti"}
        Highest density or equal tails.
    reference : float, optional
        Where to draw a reference line.
    rope : tuple of float, optional
        Lower and upper end of a region of practical equivalence.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure. The numbers stand to the right of the axes.
    **keywords
        See `bayescm.interval`.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> axes = plot_forest(counts, ["precision", "recall"]).axes[0]
    >>> [tick.get_text() for tick in axes.get_yticklabels()]
    ['precision', 'recall']
    """
    table = summary(evidence, measures, prob=prob, kind=kind, **keywords)
    inner = summary(evidence, measures, prob=_INNER, kind=kind, **keywords)
    table[["inner_lower", "inner_upper"]] = inner[["lower", "upper"]]
    table = _placed(table)
    if len(table) > _MOST:
        todo = "select some measures or members, or read summary()"
        raise fail("too many rows to read", len(table), f"at most {_MOST}", todo)
    shared = (table["colour"] >= 0).any()
    tall = table["label"].str.count("\n").max() + 1
    height = _ROW * max(tall * 0.6, 1) * (table["y"].max() + 1) + 1.4
    with canvas((7 + 0.07 * common.widest(table["label"]), height), ax=ax) as page:
        for colour, rows in table.groupby("colour"):
            _draw(page.axes, rows, int(colour) if shared else 0)
        _write(page.axes, table)
        if reference is not None:
            page.axes.axvline(reference, color=common.ink(), linestyle="--", linewidth=1, zorder=1)
        if rope is not None:
            page.axes.axvspan(*rope, color=common.paint(4), alpha=0.25, linewidth=0, zorder=0)
        if shared:
            _legend(page.axes, table)
        words = f"dot: mean; bars: 50% and {common.words_for(prob, kind)}"
        inside = (table["inner_lower"] <= table["mean"]) & (table["mean"] <= table["inner_upper"])
        skewed = not inside[table["mean"].notna()].all()
        aside = "a dot beside its 50% bar: skewed" if skewed else ""
        page.to_point_at(partial(interactive.forest, table))
        page.heading(words, aside, common.positive_of(evidence, keywords.get("positive")))
    return page.figure


def _legend(axes, table):
    """Name the members above the panel, in as many columns as their names leave room for."""
    room = max(1, 90 // (common.widest(table["member"]) + 6))
    where = {"loc": "lower center", "bbox_to_anchor": (0.5, 1)}
    axes.legend(**where, ncols=min(4, room), frameon=False, fontsize=9)


def _placed(table: pd.DataFrame) -> pd.DataFrame:
    """Add to each row its label, its place from the top, its member and colour (-1: none)."""
    dims = [name for name in table.columns if name not in ("measure", "inner_lower", "inner_upper")]
    dims = [name for name in dims if name not in COLUMNS]
    shared = _shared(table, dims)
    table = table.copy()
    rest = [name for name in dims if name != shared]
    where = [{name: row[name] for name in rest} for row in table.to_dict("records")]
    names = table["measure"].tolist()
    labels = [common.called(name, each) for name, each in zip(names, where, strict=True)]
    if table["measure"].nunique() == 1 and rest:
        labels = [", ".join(str(value) for value in each.values()) for each in where]
    members = table[shared] if shared else pd.Series([np.nan] * len(table))
    table["colour"] = pd.factorize(members)[0]
    table["member"] = [common.wrapped(f"{shared} {each}", 40) for each in members]
    table["group"] = pd.factorize(pd.Series(labels))[0]
    table["label"] = [common.wrapped(each) for each in labels]
    table = table.sort_values("group", kind="stable", ignore_index=True)
    table["y"] = table.index + (table["group"] if shared else 0)
    table["tick"] = table.groupby("group")["y"].transform("mean")
    return table


def _shared(table, dims):
    """Return the dim whose members share the rows of a measure, or None."""
    if table["measure"].nunique() < 2:
        return None
    few = [name for name in dims if 1 < table[name].nunique() < common.MOST_COLOURS]
    return few[0] if few else None


def _draw(axes, rows, colour):
    paint = common.paint(colour)
    axes.hlines(rows["y"], rows["lower"], rows["upper"], color=paint, linewidth=1.2)
    axes.hlines(rows["y"], rows["inner_lower"], rows["inner_upper"], color=paint, linewidth=3.5)
    axes.plot(
        rows["mean"],
        rows["y"],
        common.MARKERS[colour],
        color=common.paper(),
        markeredgecolor=paint,
        markersize=5.5,
        linestyle="none",
        label=rows["member"].iloc[0] if rows["colour"].iloc[0] >= 0 else None,
    )


def _write(axes, table):
    """Name the rows at the left and write their numbers at the right."""
    ticks = table.drop_duplicates("label")
    axes.set_yticks(ticks["tick"], ticks["label"])
    axes.set_ylim(table["y"].max() + 0.7, -0.7)
    for row in table.itertuples():
        text = "undefined (0/0)"
        if not np.isnan(row.lower):
            text = f"{row.mean:.3f} [{row.lower:.3f}, {row.upper:.3f}]"
        where = axes.get_yaxis_transform()
        axes.text(1.02, row.y, text, transform=where, va="center", fontsize=8, color=common.grey())
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=common.grey(0.1))
    axes.set_axisbelow(True)
    if table["measure"].nunique() == 1:
        axes.set_xlabel(table["measure"].iloc[0])
