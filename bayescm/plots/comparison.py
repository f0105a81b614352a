"""Plots of comparisons: differences with intervals, ranks and tiers."""

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayescm.answers.compare import COLUMNS, below_each_other
from bayescm.answers.ranks import ranks
from bayescm.distributions.decision import chance, check_rope
from bayescm.measures.display_names import (
    DisplayNames,
    display_label,
    display_name,
    distinct_display_names,
)
from bayescm.plots import style
from bayescm.plots.canvas import bare, canvas, name_rows, rows, write_beside
from bayescm.plots.paper import letters_of_a_label
from bayescm.validate import check_is, fail, suggest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_differences(
    table: pd.DataFrame | Mapping[Any, pd.DataFrame],
    *,
    dim: str | None = None,
    rope: Any = None,
    prob: float | None = None,
    kind: str | None = None,
    contrast: str | None = None,
    display_names: DisplayNames = None,
    colors: style.Colors = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Plot the differences of a comparison, one per row.

    Parameters
    ----------
    table : DataFrame or mapping of label to DataFrame
        Table returned by `bayescm.compare`, or a mapping with one table per data set.
    dim : str, optional
        Column whose values share the rows of a measure and pair, with one colour each, such as
        ``"data_set"``. By default every difference has a separate row.
    rope : float or (float, float), optional
        Region of practical equivalence, shown as a grey band: half its width, or both ends.
    prob : float, optional
        Probability of the intervals in the table.
    kind : {"hdi", "eti"}, optional
        Type of these intervals.
    contrast : {"difference", "ratio"}, optional
        Whether the table contains differences or ratios. ``rope``, ``prob``, ``kind`` and
        ``contrast`` are stored in the ``attrs`` of the table by `bayescm.compare`. They are only
        needed for tables without these attributes.
    display_names : mapping of str to str, optional
        Display names of measures, dimensions and labels, such as ``{"f1": "F-measure", "rf":
        "random forest"}``.
    colors : mapping of str to color, optional
        Colours by name, such as ``{"rf": "tab:red"}``. Other names keep the same colour in all
        plots of a session.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on. By default a new figure. The probabilities are written to the right of the
        axes.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If ``rope``, ``prob``, ``kind`` or ``contrast`` differs from the value used to compute the
        table, or if the table has no column ``dim``.

    Examples
    --------
    >>> import bayescm as bcm
    >>> both = bcm.from_classifiers([1, 1, 0, 0] * 9, {"a": [1, 1, 0, 1] * 9, "b": [1, 0] * 18})
    >>> len(plot_differences(bcm.compare(both, ["accuracy", "recall"])).axes)
    1
    """
    allowed, todo = "the table of a comparison", "pass compare(evidence, measures)"
    if isinstance(table, Mapping):
        for part in table.values():
            check_is(part, pd.DataFrame, allowed, "a DataFrame for each data set", todo)
        table = below_each_other(table, "data_set")
    check_is(table, pd.DataFrame, allowed, "a DataFrame", todo)
    table = _without_index(table)
    missing = [name for name in ("measure", "lower", "upper", "p_better") if name not in table]
    if missing:
        raise fail(
            f"{allowed} needs a column {missing[0]}; this table has {{}}",
            list(table.columns),
            "",
            todo,
        )
    stated = {"rope": rope, "prob": prob, "kind": kind, "contrast": contrast}
    rope, prob, kind, contrast = _facts(table, stated)
    table = _arranged(table, dim, contrast, display_names)
    panels = [part for _, part in table.groupby("scale", sort=False)]
    lengths = [part["y"].max() + 1 for part in panels]
    lines = table["label"].str.count("\n").max() + 1
    a_row = max(0.42 if dim is None else 0.3, 0.19 * lines + 0.12)
    least = 0.19 * lines  # height in inches of the text of a row
    a_row = max(least, min(a_row, _MOST_INCHES / sum(lengths)))
    size = 6.4 + 0.075 * style.longest_line(table["label"]), a_row * sum(lengths) + 0.7
    size = size[0], size[1] + 0.7 * len(panels)
    if ax is None and size[1] > _PAGE:
        warnings.warn(
            f"The figure is {size[1]:.0f} inches high, more than a page. Plot fewer pairs or "
            "measures, e.g. of compare(..., reference=).",
            UserWarning,
            stacklevel=2,
        )
    ratios: dict[str, Any] = {"height_ratios": lengths} if len(panels) > 1 else {}
    low, high = check_rope(rope)
    labels = [] if dim is None else table[dim].unique().tolist()
    looks = dict(zip(labels, style.looks([[x] for x in labels], colors), strict=True))
    if dim is None:
        style.check_colors(colors, [])
    with canvas(size, ax=ax, number=len(panels), in_rows=True, **ratios) as page:
        for axes, part in zip(page.panels, panels, strict=True):
            _draw_differences(axes, part, dim, looks, 1.0 if contrast == "ratio" else 0.0, rope)
            axes.set_xlabel(part["axis"].iloc[0])
        if dim is not None:
            style.legend_above(page.axes, table["member"], of_panels=page.panels)
        paired = "same examples" if table["paired"].all() else "independent test sets"
        zone = "grey: equivalent" if low < high else ""
        page.heading(f"dot: mean; bar: {style.interval_words(prob, kind)}", paired, zone)
    return page.figure


def _draw_differences(axes, table, dim, looks, none, rope):
    """Plot the rows of one panel, with the probability that the first member is better."""
    heads = table.drop_duplicates("head") if table["has_head"].any() else table[:0]
    named = table.drop_duplicates("block")
    ticks = [*named[["tick", "label"]].itertuples(index=False, name=None)]
    ticks = sorted([*ticks, *heads[["head_y", "head"]].itertuples(index=False, name=None)])
    name_rows(axes, [y for y, _ in ticks], [text for _, text in ticks], last=table["y"].max())
    for (y, _), text in zip(ticks, axes.get_yticklabels(), strict=True):
        text.set_fontweight("bold" if y in heads["head_y"].tolist() else "normal")
    axes.axvline(none, color=style.muted(), lw=0.8)
    low, high = check_rope(rope)
    if low < high:
        axes.axvspan(none + low, none + high, color=style.muted(0.12), zorder=0)
    for member, part in table.groupby("member", sort=False):
        look = style.looks([()])[0] if dim is None else looks[part[dim].iloc[0]]
        rows(
            axes,
            part["y"],
            part[["lower", "upper"]],
            part["mean"],
            color=look.color,
            marker=look.marker,
            size=6.0,
            filled=False,
            label=member or None,
        )
    write_beside(axes, table["y"], [f"P(better) {chance(value)}" for value in table["p_better"]])


def _without_index(table: pd.DataFrame) -> pd.DataFrame:
    """Convert named index levels, as from ``pd.concat``, to columns."""
    named = [name for name in table.index.names if name is not None]
    return table.reset_index(named).reset_index(drop=True)


def _facts(table, stated):
    """Return rope, prob, kind and contrast, or raise an error if the user passed other values."""
    facts = {"rope": 0.0, "prob": 0.95, "kind": "hdi", "contrast": "difference"}
    for name, value in stated.items():
        of_table = table.attrs.get(name)
        is_other = value is not None and of_table is not None and value != of_table
        if is_other and not (name == "rope" and check_rope(value) == tuple(of_table)):
            raise fail(
                f"The table was computed with {name}={of_table!r}, not {{}}",
                value,
                "",
                f"compare with {name}={value!r}, or leave it out here",
            )
        facts[name] = next(x for x in (value, of_table, facts[name]) if x is not None)
    return facts.values()


def _arranged(table, dim, contrast, display_names):
    """Add the panel, member, labels and vertical position of each row."""
    index = [name for name in table if name not in COLUMNS]
    if dim is not None and dim not in index:
        todo = suggest(dim, index) or "leave `dim` out"
        raise fail("The comparison has no column {}", dim, index, todo)
    ranges = table.attrs.get("ranges", {})
    table = table.copy()
    members = [""] * len(table)
    if dim is not None:
        style.check_few(table[dim].unique(), "members")
        members = [" ".join(style.index_words({dim: x}, display_names)) for x in table[dim]]
    table["member"] = [style.wrapped(text, 40) for text in members]
    table["scale"] = [style.scale_of(name, ranges.get(name)) for name in table["measure"]]
    parts = [
        _in_rows(part, [x for x in index if x != dim], dim, contrast, display_names)
        for _, part in table.groupby("scale", sort=False)
    ]
    return pd.concat(parts)


def _in_rows(table, index, dim, contrast, display_names):
    """Add the row names of a panel. Their common part is moved to the axis label."""
    written = distinct_display_names(table["measure"], display_names)
    sign, width = "/" if contrast == "ratio" else "−", letters_of_a_label(30)
    shown = partial(display_label, display_names=display_names)
    one_measure = table["measure"].nunique() == 1
    heads = [
        " ".join([*map(shown, where), *([] if one_measure else [written[name]])])
        for where, name in zip(table[index].to_numpy().tolist(), table["measure"], strict=True)
    ]
    pairs = [
        f"{shown(first)} {sign} {shown(second)}"
        for first, second in zip(table["first"], table["second"], strict=True)
    ]
    one_pair = len(set(pairs)) == 1 and len(set(heads)) > 1
    of_measure = f" {'of' if contrast == 'ratio' else 'in'} {written[table['measure'].iloc[0]]}"
    axis = contrast + of_measure if one_measure else contrast
    table["axis"] = f"{axis}: {pairs[0]}" if one_pair else axis
    # A heading above several pairs has a separate row.
    table["has_head"] = len(set(heads)) > 1 and not one_pair
    table["head"] = [style.wrapped(text, width) for text in heads]
    labels = heads if one_pair else pairs
    table["label"] = [_wrapped_at(text, sign, width) for text in labels]
    keys = [table["head"], table["label"]]
    table["block"] = table.groupby(keys, sort=False).ngroup() if dim else np.arange(len(table))
    group = table.groupby("head", sort=False).ngroup()
    table = table.assign(group=group).sort_values(["group", "block"], kind="stable")
    y = np.arange(len(table)) + (0.0 if dim is None else table["block"].rank(method="dense") - 1)
    y = y + (table["group"] + 1 if table["has_head"].any() else 0)
    table["y"] = np.asarray(y, float)
    table["head_y"] = table.groupby("group")["y"].transform("min") - 1
    table["tick"] = table.groupby("block")["y"].transform("mean")
    return table


def _wrapped_at(text, sign, width):
    """Break a long pair before its second member, and each member if it is long."""
    if len(text) <= width or f" {sign} " not in text:
        return style.wrapped(text, width)
    first, second = text.split(f" {sign} ", 1)
    return "\n".join([style.wrapped(f"{first} {sign}", width), style.wrapped(second, width)])


_PAGE = 11.0  # height of a page in inches
_MOST_INCHES = 8.0  # largest height in inches of all rows of differences, if their text permits
_MOST_RANKINGS = 24  # largest number of legible rankings
_RANKINGS_IN_A_LINE = 3


# Margins in inches of a panel of ranks, and size of a cell with a probability, with 10-point text.
_BESIDE_RANKS = 1.8
_CELL = 0.38
_RANK = 0.22  # width of a cell in inches above which every rank has a tick


def plot_ranks(
    evidence: Any,
    measure: str | Callable,
    *,
    dim: str = "classifier",
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    display_names: DisplayNames = None,
    ax: "Axes | None" = None,
    **keywords: Any,
) -> "Figure":
    """
    Plot the probability of every rank for every member.

    If classifiers are compared within groups, data sets or classes, there is a panel for each of
    these.

    Parameters
    ----------
    evidence, measure, dim
        See :func:`bayescm.ranks`, with a single measure.
    of, n, model, concentration, positive, draws, random_seed, **keywords
        See :func:`bayescm.ranks`.
    display_names : mapping of str to str, optional
        Display names of measures, dimensions and labels, such as ``{"f1": "F-measure", "rf":
        "random forest"}``.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on, if there is one panel. By default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there are more than 24 rankings or several measures.

    Examples
    --------
    >>> import bayescm as bcm
    >>> answers = {"a": [1, 0, 0, 0, 1], "b": [1, 1, 0, 0, 0]}
    >>> both = bcm.from_classifiers([1, 1, 0, 0, 0], answers)
    >>> plot_ranks(both, "accuracy", random_seed=0).axes[0].get_xlabel()
    'rank (1 is best)'
    """
    if "colors" in keywords:
        raise fail(
            "Colours in this plot show probabilities, so `colors` has no effect",
            ...,
            "",
            "leave `colors` out, or use plot_tiers",
        )
    asked: dict[str, Any] = {"of": of, "n": n, "draws": draws, "random_seed": random_seed}
    asked |= {"model": model, "concentration": concentration, "positive": positive, **keywords}
    table = ranks(evidence, measure, dim=dim, **asked)
    if table["measure"].nunique() > 1:
        raise fail(
            "The table has several measures: {}",
            list(table["measure"].unique()),
            "",
            "pass one measure for each plot",
        )
    index = list(table.columns[: table.columns.get_loc(dim)])
    # All panels use the same order of members, so that each member has a fixed row.
    mean_rank = table.groupby(dim, sort=False)["expected_rank"].mean().sort_values(kind="stable")
    order = mean_rank.index.tolist()
    panels = [
        part.iloc[part[dim].map(order.index).argsort()]
        for _, part in table.groupby(index, sort=False, dropna=False)
    ]
    if len(panels) > _MOST_RANKINGS:
        todo = "select some of them, or use ranks()"
        raise fail(
            f"The plot would have {len(panels)} rankings; at most {_MOST_RANKINGS} are readable",
            ...,
            "",
            todo,
        )
    names = [style.wrapped(display_label(name, display_names), 24) for name in order]
    number, columns = len(order), min(_RANKINGS_IN_A_LINE, len(panels))
    width = max(
        4.5 if len(panels) == 1 else 3.5, 0.7 * number + 2.4 + 0.08 * style.longest_line(names)
    )
    height = max(2.6, max(_inches(names), 0.45) * number + 1.6)
    size = (width * columns, height * -(-len(panels) // columns))
    setting: dict[str, Any] = {"number": len(panels), "columns": columns}
    with canvas(size, ax=ax, in_rows=True, **setting) as page:
        for axes, part in zip(page.panels, panels, strict=True):
            probabilities = part[[f"rank_{rank}" for rank in range(1, len(part) + 1)]].to_numpy()
            image = axes.imshow(probabilities, cmap=style.colormap(), vmin=0, vmax=1, aspect="auto")
            room = page.figure.get_figwidth() / page.beside - _BESIDE_RANKS * page.scale
            if room / len(part) > _CELL * page.scale:  # width of a cell in inches
                _write_probabilities(axes, probabilities)
            step = 1 if room / len(part) > _RANK * page.scale else 2
            axes.set_xticks(np.arange(0, len(part), step), np.arange(1, len(part) + 1, step))
            axes.set_yticks(np.arange(len(part)), [names[order.index(name)] for name in part[dim]])
            axes.set_xlabel("rank (1 is best)")
            axes.spines[:].set_visible(False)
            if len(panels) > 1:
                where = {name: part[name].iloc[0] for name in index if name != "measure"}
                words = style.index_words(where, display_names)
                axes.set_title(style.wrapped(", ".join(words)), fontsize=9)
        bar = page.figure.colorbar(image, ax=page.panels, label="probability")
        bar.outline.set_visible(False)
        name = display_name(table["measure"].iloc[0], display_names)
        page.heading(f"probability of each rank in {name}")
    return page.figure


def _write_probabilities(axes, probabilities):
    """Write the probabilities, unless there are too many. A dot marks a probability near 0."""
    if len(probabilities) > 12:
        return
    for (row, column), value in np.ndenumerate(probabilities):
        text = f"{value:.2f}" if value >= 0.005 else "·"
        color = style.text_color_on(value)
        axes.text(column, row, text, ha="center", va="center", color=color, fontsize=8)


def plot_tiers(
    evidence: Any,
    measure: str | Callable,
    *,
    dim: str = "classifier",
    prob: float = 0.95,
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    display_names: DisplayNames = None,
    colors: style.Colors = None,
    ax: "Axes | None" = None,
    **keywords: Any,
) -> "Figure":
    """
    Plot the set of ranks of every member, and the tiers.

    Bars are simultaneous sets of ranks. The lines on the right are the tiers: each line connects
    members that are not distinguished from one another. Two members without a common line are
    distinguished, which a critical-difference diagram does not guarantee.

    Parameters
    ----------
    evidence, measure, dim, prob
        See :func:`bayescm.ranks`, with a single measure.
    of, n, model, concentration, positive, draws, random_seed, **keywords
        See :func:`bayescm.ranks`.
    display_names : mapping of str to str, optional
        Display names of measures, dimensions and labels, such as ``{"f1": "F-measure", "rf":
        "random forest"}``.
    colors : mapping of str to color, optional
        Colours by name, such as ``{"rf": "tab:red"}``. Other names keep the same colour in all
        plots of a session.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on, if there is one panel. By default a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        Figure with a panel per group, data set or class, if classifiers are compared within these.

    Raises
    ------
    ValueError
        If there are more than 24 rankings or several measures.

    Examples
    --------
    >>> import bayescm as bcm
    >>> answers = {"a": [1, 0, 0, 0, 1], "b": [1, 1, 0, 0, 0]}
    >>> both = bcm.from_classifiers([1, 1, 0, 0, 0], answers)
    >>> plot_tiers(both, "accuracy", random_seed=0).axes[0].get_xlabel()
    'rank (1 is best)'
    """
    asked: dict[str, Any] = {"of": of, "n": n, "draws": draws, "random_seed": random_seed}
    asked |= {"model": model, "concentration": concentration, "positive": positive, **keywords}
    table = ranks(evidence, measure, dim=dim, prob=prob, **asked)
    if table["measure"].nunique() > 1:
        raise fail(
            "The table has several measures: {}",
            list(table["measure"].unique()),
            "",
            "pass one measure for each plot",
        )
    index = list(table.columns[: table.columns.get_loc(dim)])
    panels = [
        part.sort_values("expected_rank", ignore_index=True)
        for _, part in table.groupby(index, sort=False, dropna=False)
    ]
    if len(panels) > _MOST_RANKINGS:
        todo = "select some of them, or use ranks()"
        raise fail(
            f"The plot would have {len(panels)} rankings; at most {_MOST_RANKINGS} are readable",
            ...,
            "",
            todo,
        )
    members = list(dict.fromkeys(name for part in panels for name in part[dim]))
    looks = dict(zip(members, style.looks_of_rows(members, colors), strict=True))
    letters = letters_of_a_label(30)
    names = {name: style.wrapped(display_label(name, display_names), letters) for name in members}
    written = list(names.values())
    number, columns = len(members), min(_RANKINGS_IN_A_LINE, len(panels))
    tiers = [_rows_of_tiers(part["tiers"]) for part in panels]
    width = 4 + 0.085 * style.longest_line(written) + 0.1 * number
    width += 0.22 * max(map(len, tiers))
    height = max(2.2, max(_inches(written), 0.32) * number + 1.3)
    size = (width * columns, height * -(-len(panels) // columns))
    setting: dict[str, Any] = {"number": len(panels), "columns": columns, "narrowest": 2.8}
    with canvas(size, ax=ax, in_rows=True, **setting) as page:
        for axes, part, of_part in zip(page.panels, panels, tiers, strict=True):
            _draw_sets(axes, part, [looks[name].color for name in part[dim]])
            _draw_tiers(axes, of_part, len(part))
            axes.set_yticks(np.arange(len(part)), [names[name] for name in part[dim]])
            axes.set_ylim(len(part) - 0.4, -0.6)
            axes.set_xlabel("rank (1 is best)")
            bare(axes, left=False)
            axes.spines["bottom"].set_bounds(1, len(part))
            axes.tick_params(axis="y", length=0)
            if len(panels) > 1:
                where = {name: part[name].iloc[0] for name in index if name != "measure"}
                words = style.index_words(where, display_names)
                axes.set_title(style.wrapped(", ".join(words)), fontsize=9, pad=16)
        page.heading(
            f"{display_name(table['measure'].iloc[0], display_names)} · dot: expected rank",
            f"bar: its set of ranks, {100 * prob:g}% for all jointly",
            "line: not distinguished",
        )
    return page.figure


def _draw_sets(axes, table, colors):
    """Plot the set of ranks and the expected rank of each member."""
    y = np.arange(len(table))
    low, high = table["best_rank"] - 0.3, table["worst_rank"] + 0.3
    axes.barh(y, high - low, 0.42, low, color=colors, alpha=0.35)
    for row, color in enumerate(colors):
        dot = {"color": color, "mfc": style.background()}
        axes.plot(table["expected_rank"][row], row, "o", **dot)


def _rows_of_tiers(tiers):
    """Return the rows of each tier."""
    rows: dict[int, list[int]] = {}
    for row, text in enumerate(tiers):
        for tier in text.split(", "):
            rows.setdefault(int(tier), []).append(row)
    return [rows[tier] for tier in sorted(rows)]


def _draw_tiers(axes, tiers, number):
    """Plot a line through the members of each tier, next to the ranks."""
    from matplotlib.ticker import FixedLocator

    step = max(0.3, number * 0.045)
    first = number + 0.4 + step
    for i, members in enumerate(tiers):
        x = [first + i * step] * len(members)
        axes.plot(x, members, "-", color=style.muted(0.35), lw=1.2)
        axes.plot(x, members, "o", color=style.foreground(), ms=4)
    axes.set_xlim(0.4, first + len(tiers) * step - step / 2)
    spacing = max(1, -(-number // 10))
    axes.xaxis.set_major_locator(FixedLocator(sorted({1, *range(spacing, number + 1, spacing)})))
    middle = first + (len(tiers) - 1) * step / 2
    axes.text(middle, -0.75, "tiers", ha="center", va="bottom", color=style.muted(), fontsize=8)


def _inches(names):
    """Return the height of the tallest name in inches."""
    return 0.2 * (max(name.count("\n") for name in names) + 1)
