"""Forest plots: intervals of measures, classes, classifiers and groups, and of many slices."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers.slices import worst_slices
from bayescm.answers.summary import COLUMNS, Evidence, nested_summary
from bayescm.answers.tables import is_mean_unusable, value_and_interval
from bayescm.fitting.fitted import FittedPosterior
from bayescm.fitting.question import Question
from bayescm.fitting.sampler_options import split
from bayescm.measures.display_names import (
    DisplayNames,
    display_label,
    display_name,
    distinct_display_names,
    with_index,
)
from bayescm.plots import interactive, style
from bayescm.plots.canvas import canvas, name_rows, rows, write_beside
from bayescm.plots.paper import letters_of_a_label
from bayescm.validate import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 80  # largest number of legible rows
_INNER = 0.5  # probability of the thick part of an interval
_ROW = 0.3  # height of a row in inches
_AIRY = 20  # with more rows, rows are closer together, so that fifty fit on a page
_CLOSE_ROW = 0.2  # height of a row in inches, if there are more than `_AIRY` rows
_GAP = 0.7  # distance in rows between blocks of rows with a common label
_ALL_NAMED = 40  # with at most this many slices, all are labelled
_SLICE = 0.24  # height in inches of the row of a slice
_MOST_NAMED = 15  # largest number of labelled slices, if there are more than `_ALL_NAMED`


def plot_forest(
    evidence: Evidence | Mapping[Any, Evidence],
    measures: str | Callable | Sequence[str | Callable] | None = None,
    *,
    dim: str = "classifier",
    prob: float = 0.95,
    kind: str = "hdi",
    reference: float | None = None,
    rope: tuple[float, float] | None = None,
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    accuracy: float | None = None,
    display_names: DisplayNames = None,
    colors: style.Colors = None,
    ax: "Axes | None" = None,
    **keywords: Any,
) -> "Figure":
    """
    Plot intervals of measures below each other, on a common scale.

    There is one row per measure and index of the dimensions. Classifiers, or members of another
    dimension, are distinguished by colour if there are few of them. They share the label of a
    measure, or of an index of the other dimensions, such as a data set.

    Parameters
    ----------
    evidence : DataArray, Dataset, DataTree or mapping
        Counts (with the intervals of `bayescm.interval`), outcomes of several classifiers, a fit,
        or a mapping of names to several of these.
    measures : str, callable or a sequence of these, optional
        Measures to plot. By default the measures of `bayescm.summary`.
    dim : str, default "classifier"
        Dimension of the members of a mapping.
    prob : float in (0, 1), default 0.95
        Probability of the thin line. The thick line contains half of the posterior. The dot is the
        mean, which may be outside the thick line for a skewed posterior. If the mean is infinite,
        the dot is the median.
    kind : {"hdi", "eti"}
        Highest-density or equal-tailed intervals.
    reference : float, optional
        Position of a reference line.
    rope : tuple of float, optional
        Lower and upper end of a region of practical equivalence.
    of, n, model, concentration, positive, draws, random_seed, accuracy, **keywords
        See `bayescm.interval`.
    display_names : mapping of str to str, optional
        Display names of measures, dimensions and labels, such as ``{"f1": "F-measure", "rf":
        "random forest"}``.
    colors : mapping of str to color, optional
        Colours by name, such as ``{"rf": "tab:red"}``. Other names keep the same colour in all
        plots of a session.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on. By default a new figure. The numbers are written to the right of the axes.

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
    estimands = of if isinstance(of, str) else tuple(of)
    question = Question(
        estimands, n, model, concentration, positive, draws, random_seed, accuracy, keywords
    )
    summarize = partial(nested_summary, dim=dim, prob=prob, inner=_INNER, kind=kind)
    table = summarize(evidence, measures, question)
    table = _arranged(table, display_names, colors)
    if len(table) > MOST:
        raise fail(
            f"The plot would have {len(table)} rows; at most {MOST} are readable",
            ...,
            "",
            "select some measures or members, or use summary()",
        )
    shared = (table["color"] >= 0).any()
    panels = [part for _, part in table.groupby("scale", sort=False)]
    _check_one_scale(panels, reference, rope)
    observed = ""
    if isinstance(of, str) and of in table.columns and _knows_what_was_observed(evidence):
        # Members of a pooled dimension are shown next to their separate estimates.
        observed = "cross: as observed, without pooling"
        if callable(question.model) or any(map(callable, question.of_model.values())):
            # For sampled models, `point` comes from the posterior. Without functions as models or
            # priors, it is the observed value.
            plain = summarize(evidence, measures, _without_functions(question))
            table["point"] = _arranged(plain, display_names)["point"]
    members_of_label = table.groupby("block")["y"].transform("size")
    tall = ((table["label"].str.count("\n") + 1) / members_of_label).max()
    row = _ROW if len(table) <= _AIRY else _CLOSE_ROW
    lengths = [part["y"].max() - part["y"].min() + 1 for part in panels]
    height = row * max(tall * 0.6 * _ROW / row, 1) * sum(lengths) + 0.7 + 0.7 * len(panels)
    size = (7 + 0.07 * style.longest_line(table["label"]), height)
    heights = [length + 0.2 for length in lengths]
    ratios: dict[str, Any] = {"height_ratios": heights} if len(panels) > 1 else {}
    with canvas(size, ax=ax, number=len(panels), in_rows=True, **ratios) as page:
        for axes, part in zip(page.panels, panels, strict=True):
            _draw_panel(axes, part.assign(y=part["y"] - part["y"].min()), display_names)
            if observed:
                y = part["y"] - part["y"].min()
                axes.plot(table["point"][part.index], y, "x", color=style.foreground(), zorder=3)
            if reference is not None:
                line = {"color": style.foreground(), "linestyle": "--", "linewidth": 1}
                axes.axvline(reference, zorder=1, **line)
            if rope is not None:
                axes.axvspan(*rope, color=style.color(4), alpha=0.25, linewidth=0, zorder=0)
        if shared:
            style.legend_above(page.axes, table["member"], of_panels=page.panels)
        dot = "mean"
        if "median" in table:
            dot += ", median if the mean is infinite or outside the interval"
        bars = f"dot: {dot}; bars: 50% and {style.interval_words(prob, kind)}"
        center = table["center"]
        inside = (table["inner_lower"] <= center) & (center <= table["inner_upper"])
        skewed = not inside[center.notna()].all()
        aside = "a dot beside its 50% bar: skewed" if skewed else ""
        page.interactive(partial(interactive.forest, table))
        page.heading(bars, observed, aside, style.positive_class(evidence, positive, display_names))
    return page.figure


def _check_one_scale(panels, reference, rope):
    """Raise an error if a reference line or region would be in panels of different scales."""
    given = {"reference": reference, "rope": rope}
    for name, value in given.items():
        if value is not None and len(panels) > 1:
            names = [*dict.fromkeys(name for part in panels for name in part["measure"])]
            todo = "plot measures of one scale at a time"
            raise fail(f"`{name}=` needs measures on one scale", names, "", todo)


def _draw_panel(axes, table, display_names):
    """Plot the rows of the measures with the same scale."""
    shared = (table["color"] >= 0).any()
    for _, members in table.groupby("color" if shared else table["look"].map(str), sort=shared):
        _draw_members(axes, members, shared and members["color"].iloc[0] >= 0)
    named = table.drop_duplicates("label")
    ticks = table.groupby("block")["y"].transform("mean")[named.index]
    name_rows(axes, ticks, named["label"], last=table["y"].max())
    write_beside(axes, table["y"], [_numbers(row) for row in table.itertuples()])
    if table["measure"].nunique() == 1:
        axes.set_xlabel(display_name(table["measure"].iloc[0], display_names))


def _knows_what_was_observed(evidence: Any) -> bool:
    """
    Return True if point estimates come from the observed data.

    For a fit without its data, they are posterior medians, and for groups of scores or
    probabilities, they come from the posterior.
    """
    if isinstance(evidence, xr.DataTree):
        return FittedPosterior(evidence).direct is not None
    return not (isinstance(evidence, xr.Dataset) and "score" in evidence)


def _arranged(
    table: pd.DataFrame, display_names: DisplayNames, colors: style.Colors = None
) -> pd.DataFrame:
    """Add label, position, scale, style, and number of the member (or -1) to each row."""
    ranges = table.attrs.get("ranges", {})
    numbers = ("measure", "inner_lower", "inner_upper", *COLUMNS)
    dims = [name for name in table.columns if name not in numbers]
    shared = _shared_dim(table, dims)
    table = table.copy()
    rest = [name for name in dims if name != shared]
    where = [  # measures over all classes have no class
        {name: row[name] for name in rest if not pd.isna(row[name])}
        for row in table.to_dict("records")
    ]
    written = distinct_display_names(table["measure"], display_names)
    labels = [
        with_index(written[name], style.index_words(index, display_names))
        for name, index in zip(table["measure"], where, strict=True)
    ]
    if table["measure"].nunique() == 1 and rest:
        labels = [
            ", ".join(display_label(value, display_names) for value in index.values())
            for index in where
        ]
    members = table[shared] if shared else pd.Series([np.nan] * len(table))
    table["center"] = table["mean"]
    if "median" in table:
        table["center"] = table["mean"].where(~is_mean_unusable(table), table["median"])
    table["color"] = pd.factorize(members)[0]
    table["look"] = _looks(table, dims, shared, colors)
    table["scale"] = [style.scale_of(name, ranges.get(name)) for name in table["measure"]]
    table["member"] = [
        style.wrapped(_member_words(shared, name, display_names), 40) for name in members
    ]
    table["block"] = pd.factorize(pd.Series(labels))[0]
    table["label"] = [style.wrapped(text, letters_of_a_label(30)) for text in labels]
    # Measures with the same scale are adjacent, because they share a panel.
    order = {scale: i for i, scale in enumerate(dict.fromkeys(table["scale"]))}
    table["order"] = table["scale"].map(order)
    table = table.sort_values(["order", "block"], kind="stable", ignore_index=True)
    table["block"] = pd.factorize(table["block"])[0]
    table["y"] = table.index + (_GAP * table["block"] if shared else 0)
    table["tick"] = table.groupby("block")["y"].transform("mean")
    return table


def _member_words(dim, name, display_names):
    """Name a member of a dimension. Classifier names need no further words."""
    if dim == "classifier" and isinstance(name, str):
        return display_label(name, display_names)
    return " ".join(style.index_words({dim: name}, display_names))


def _shared_dim(table, dims):
    """Return the dimension whose members are plotted in the same rows, or None."""
    several = [name for name in ("measure", *dims) if table[name].nunique() > 1]
    few = [name for name in dims if 1 < table[name].nunique() < style.MOST_COLORS]
    if len(several) < 2 or not few:
        return None
    return "classifier" if "classifier" in few else few[0]


def _looks(table, dims, shared, colors):
    """Return the style of each row, from its member, its classifier or the user's colours."""
    of_colors = [
        name for name in (*dims, "measure") if colors and not {*colors}.isdisjoint(table[name])
    ]
    usual = ["classifier"] if "classifier" in dims else []
    dim = next(iter(([shared] if shared else []) + of_colors + usual), None)
    rest = style.looks([()])[0]
    if dim is None:
        style.check_colors(colors, [name for each in dims for name in table[each].dropna()])
        return [rest] * len(table)
    names = table[dim].dropna().unique().tolist()
    if dim == "measure":
        style.check_colors(colors, names)
        return [rest._replace(color=colors.get(name, rest.color)) for name in table[dim]]
    looks = dict(zip(names, style.looks_of_rows(names, colors), strict=True))
    rest = rest._replace(color=style.foreground()) if shared else rest
    return [looks.get(name, rest) for name in table[dim]]


def _draw_members(axes, members, is_named):
    """Plot the rows of one member, with a legend entry if its dimension shares rows."""
    look = members["look"].iloc[0]
    rows(
        axes,
        members["y"],
        members[["lower", "upper"]],
        members["center"],
        inner=members[["inner_lower", "inner_upper"]],
        color=look.color,
        marker=look.marker,
        size=5.5,
        width=1.2,
        filled=False,
        label=members["member"].iloc[0] if is_named else None,
    )


def _numbers(row):
    if np.isnan(row.lower):
        return "undefined (0/0)"
    return value_and_interval(row.center, (row.lower, row.upper), row.error)


def plot_slices(
    evidence: Any,
    measure: str | Callable,
    *,
    threshold: float | None = None,
    delta: float = 0.0,
    fdr: float = 0.1,
    k: int = 10,
    dim: str | Sequence[str] = "group",
    prob: float = 0.95,
    kind: str = "hdi",
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    colors: style.Colors = None,
    display_names: DisplayNames = None,
    ax: "Axes | None" = None,
    **keywords: Any,
) -> "Figure":
    """
    Plot the intervals of slices in order of their means, highlighting bad ones.

    If there are up to 40 slices, all are labelled. Otherwise, only the worst of the flagged slices
    are labelled.

    Parameters
    ----------
    evidence, measure, threshold, delta, fdr, k, dim, prob, kind
        See :func:`bayescm.worst_slices`.
    model, concentration, positive, draws, random_seed, **keywords
        See :func:`bayescm.worst_slices`.
    colors : mapping of str to color, optional
        Colours of ``"flagged"`` slices and of the ``"other"`` slices.
    display_names : mapping of str to str, optional
        Display names of measures, dimensions and labels, such as ``{"f1": "F-measure", "rf":
        "random forest"}``.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on. By default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import bayescm as bcm
    >>> tp = [45, 44, 46, 43, 45, 44, 28, 45]
    >>> cells = bcm.from_cells(tp=tp, fn=[50 - each for each in tp], fp=[9] * 8, tn=[41] * 8)
    >>> figure = plot_slices(cells.rename(batch="group"), "recall", threshold=0.8)
    >>> figure.axes[0].get_xlabel()
    'recall'
    """
    asked: dict[str, Any] = {"threshold": threshold, "delta": delta, "fdr": fdr, "k": k}
    asked |= {"dim": dim, "prob": prob, "kind": kind, "draws": draws, "random_seed": random_seed}
    asked |= {"model": model, "concentration": concentration, "positive": positive, **keywords}
    table = worst_slices(evidence, measure, **asked)
    facts = table.attrs
    dims = list(table)[1 : list(table).index("examples")]
    # Rows are sorted by value instead of p_bad, so that the plot has a single direction.
    worst_last = table["mean"].corr(table["p_bad"]) > 0
    table = table.sort_values("mean", ascending=not worst_last, kind="stable", ignore_index=True)
    names = [
        ", ".join(display_label(label, display_names) for label in row)
        for row in table[dims].itertuples(index=False)
    ]
    few = len(table) <= _ALL_NAMED
    named = list(range(len(table))) if few else _worst_flagged(table)
    labels = [style.wrapped(names[row]) for row in named]
    flagged = [name for name, bad in zip(names, table["flagged"], strict=True) if few or bad]
    width = 6.5 + 0.07 * style.longest_line([style.wrapped(name) for name in flagged])
    height = max(2.6, _SLICE * len(table) + 1.5) if few else 7.0
    with canvas((width, height), ax=ax, in_rows=True) as page:
        axes = page.axes
        _draw_slices(axes, table, few, colors)
        name_rows(axes, named, labels, last=len(table) - 1)
        if not few:
            axes.tick_params(axis="y", labelsize=8)
            axes.set_ylabel(f"{len(table)} slices, the worst at the top")
        if (threshold := facts["threshold"]) is not None:
            axes.axvline(threshold, color=style.foreground(), linestyle="--", linewidth=1, zorder=1)
        axes.set_xlabel(display_name(facts["measure"], display_names))
        bars = f"bars: {style.interval_words(facts['prob'], facts['kind'])}; crosses: observed"
        number = int(table["flagged"].sum())
        flags = f"{number} of {len(table)} flagged (filled)" if number else ""
        flags += f", of which {facts['expected_false']:.1f} falsely" if number else ""
        page.heading(
            bars,
            flags or f"none of {len(table)} flagged",
            style.positive_class(evidence, display_names=display_names),
        )
    return page.figure


def _worst_flagged(table):
    """Return some flagged rows, worst first, that are far enough apart for their labels."""
    named: list[int] = []
    for row in np.flatnonzero(table["flagged"]).tolist():
        if len(named) < _MOST_NAMED and (not named or row - named[-1] >= len(table) / 64):
            named.append(row)
    return named


def _draw_slices(axes, table, few, colors):
    style.check_colors(colors, ["flagged", "other"])
    usual = {"flagged": style.color(1), "other": style.muted(0.45 if few else 0.25)}
    shown = {**usual, **(colors or {})}
    for flagged in (False, True):
        part = table[table["flagged"] == flagged]
        width = 2.0 if few else (1.2 if flagged else 0.6)
        size = 5.5 if few else (3.0 if flagged else 1.5)
        ends = part[["lower", "upper"]]
        rows(
            axes,
            part.index,
            ends,
            part["mean"],
            color=shown["flagged" if flagged else "other"],
            width=width,
            size=size,
            filled=flagged,
        )
    cross = {"markersize": 4 if few else 2, "alpha": 1 if few else 0.5, "linestyle": "none"}
    axes.plot(table["observed"], table.index, "x", color=style.muted(0.8), zorder=2, **cross)


def _without_functions(question):
    """Return a question without function-valued models and priors, and without NUTS options."""
    of_model, _ = split(question.keywords)
    plain = {name: value for name, value in of_model.items() if not callable(value)}
    model = None if callable(question.model) else question.model
    prior = None if callable(question.concentration) else question.concentration
    return replace(question, model=model, concentration=prior, draws=None, keywords=plain)
