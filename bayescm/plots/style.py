"""Colours that suit the current style, and the words in headings, panels and legends."""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from bayescm.evidence.registry import is_members
from bayescm.evidence.trees import with_positive_class
from bayescm.measures.display_names import (
    DisplayNames,
    check_display_names,
    display_dim,
    display_label,
    display_name,
    with_index,
)
from bayescm.validate import fail, suggest

# Okabe and Ito's colour-blind safe palette, and brighter versions for dark backgrounds. Markers and
# line styles repeat the distinction. The last colour is the text colour.
_LIGHT = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
_DARK = ["#56B4E9", "#FF9248", "#2FD0A5", "#F0A6CC", "#F0E442", "#9AA7FF"]
MOST_COLORS = len(_LIGHT) + 1
MARKERS = ["o", "s", "D", "^", "v", "P", "X"]
LINES = ["-", "--", "-.", ":"]
_LUMINANCE = [0.299, 0.587, 0.114]  # weights of red, green and blue (ITU-R BT.601)


def color(i: int) -> Any:
    """Return the colour of the i-th curve, classifier or group."""
    colors = _DARK if is_dark() else _LIGHT
    return [*colors, foreground()][i % MOST_COLORS]


# Type of the argument ``colors`` of plots: colours by name.
Colors = Mapping[Any, Any] | None


class Look(NamedTuple):
    """Style of a classifier, a class or another member."""

    color: Any
    marker: str
    line: str


# Index of the colour, marker and line of each name that was plotted in this session.
numbers_of_names: dict[str, int] = {}


def looks(members: Sequence[Sequence[Any]], colors: Colors = None) -> list[Look]:
    """
    Return the style of each member; a name keeps its style in all plots of a session.

    Parameters
    ----------
    members : sequence of sequences of labels
        Labels of each member, such as its classifier and its class. An empty sequence denotes the
        only member of a plot.
    colors : mapping of label to color, optional
        Colours chosen by the user.
    """
    check_colors(colors, [label for labels in members for label in labels])
    numbers = _numbers([tuple(labels) for labels in members])
    found = []
    for labels, number in zip(members, numbers, strict=True):
        stated = [colors[label] for label in labels if colors and label in colors]
        shown = stated[0] if stated else color(number)
        found.append(Look(shown, MARKERS[number % len(MARKERS)], LINES[number % len(LINES)]))
    return found


def looks_at(
    where: Sequence[Mapping[Hashable, Any]], colors: Colors = None
) -> list[tuple[Mapping[Hashable, Any], Look]]:
    """Return members, as labels by dimension, with their styles."""
    # Labels common to all members are ignored, so that a classifier has the same style in plots of
    # different measures.
    differing = {dim for dim in where[0] if len({index.get(dim) for index in where}) > 1} or {
        dim for dim in where[0] if dim != "measure"
    }
    names = [[label for dim, label in index.items() if dim in differing] for index in where]
    found = looks(names)
    check_colors(colors, [label for index in where for label in index.values()])
    stated = [
        [colors[label] for label in index.values() if colors and label in colors] for index in where
    ]
    found = [
        look._replace(color=of_user[0]) if of_user else look
        for look, of_user in zip(found, stated, strict=True)
    ]
    return list(zip(where, found, strict=True))


def looks_of_rows(names: Sequence[Any], colors: Colors = None) -> list[Look]:
    """Return the styles of named rows, which are equal by default if there are many names."""
    names = list(names)
    if len(names) <= MOST_COLORS:
        return looks([[name] for name in names], colors)
    check_colors(colors, names)
    return [Look((colors or {}).get(name, color(0)), MARKERS[0], LINES[0]) for name in names]


def roles(names: Sequence[str], colors: Colors = None) -> dict[str, Look]:
    """Return the fixed styles of the parts of a plot, such as prior and posterior."""
    check_colors(colors, names)
    return {
        name: Look((colors or {}).get(name, color(i)), MARKERS[i % len(MARKERS)], LINES[i % 4])
        for i, name in enumerate(names)
    }


def check_colors(colors: Colors, labels: Sequence[Any]) -> None:
    """
    Raise an error if a colour is invalid, or none of the names with colours is in the plot.

    Other names are ignored, so that all figures of a paper can use the same mapping.
    """
    from matplotlib.colors import is_color_like

    if colors is None:
        return
    if not isinstance(colors, Mapping):
        raise fail(
            "`colors` must be a mapping from names to colours",
            colors,
            "",
            'pass a colour for each name, e.g. `colors={"rf": "tab:red"}`',
            TypeError,
        )
    if colors and {*colors}.isdisjoint(labels):
        name, drawn = next(iter(colors)), list(dict.fromkeys(labels))
        todo = suggest(str(name), [str(label) for label in drawn])
        raise fail(
            "The plot has nothing with the name {} to colour",
            name,
            drawn or "",
            todo or "leave `colors` out",
        )
    for name, value in colors.items():
        if not is_color_like(value):
            raise fail(
                f"The colour of {name} must be a colour of matplotlib",
                value,
                "",
                'pass e.g. "tab:red" or "#0072B2"',
            )


def _numbers(members):
    """Return the style index of each member, fixed in a session unless two would share it."""
    taken: dict[tuple, int] = {}
    for member in dict.fromkeys(members):
        number = numbers_of_names.get(_name(member))
        if number is not None and number not in taken.values():
            taken[member] = number
    for member in dict.fromkeys(members):
        if member in taken:
            continue
        is_name = any(isinstance(label, str) for label in member)  # numbers are positions
        used = [Counter(taken.values())]
        # Other plots may add names later, so use the colour with the fewest names.
        used += [Counter(numbers_of_names.values())] if is_name else []
        taken[member] = min(range(MOST_COLORS), key=lambda i: (*(count[i] for count in used), i))
        if is_name:
            numbers_of_names.setdefault(_name(member), taken[member])
    return [taken[member] for member in members]


def _name(member):
    return ", ".join(map(str, member))


def foreground() -> Any:
    """Return the colour of the text."""
    return tuple(_rgb("text.color"))


def background() -> Any:
    """Return the background colour."""
    return tuple(_rgb("axes.facecolor"))


def muted(share: float = 0.65) -> Any:
    """Return a mixture of text and background colour, with a share of the text colour."""
    return tuple(share * _rgb("text.color") + (1 - share) * _rgb("axes.facecolor"))


def colormap():
    """Return a colour map from the background colour to a strong blue."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    if not is_dark():
        return colormaps["Blues"]
    return LinearSegmentedColormap.from_list("blues", [background(), "#1F4E79", "#7CC7F5"])


def text_color_on(value: float) -> Any:
    """Return a text colour that is legible on a value of the colour map."""
    light = np.array(colormap()(float(np.nan_to_num(value)))[:3]) @ _LUMINANCE > 0.5
    return "black" if light else "white"


def is_dark() -> bool:
    """Return True if the current style has a dark background."""
    return bool(_rgb("axes.facecolor") @ _LUMINANCE < 0.5)


def _rgb(name):
    from matplotlib import colors, rcParams

    fallback = "black" if name == "text.color" else "white"
    value = rcParams[name]
    return np.array(colors.to_rgb(fallback if value in ("none", "auto") else value))


def panels(values: xr.DataArray, over: Sequence[str]) -> list[dict[Hashable, Any]]:
    """Return all indices, by label, of the dimensions that are not part of a panel."""
    dims = [dim for dim in values.dims if dim not in over]
    labels = [values[dim].values.tolist() for dim in dims]
    shape = [len(names) for names in labels]
    return [
        {dim: names[i] for dim, names, i in zip(dims, labels, index, strict=True)}
        for index in np.ndindex(*shape)
    ]


def check_few(lines: Sequence, what: str = "curves") -> None:
    """Raise an error if there are more lines than colours."""
    if len(lines) > MOST_COLORS:
        todo = "select some of them"
        raise fail(
            f"{len(lines)} {what} are too many to distinguish; the plot shows at most "
            f"{MOST_COLORS}",
            ...,
            "",
            todo,
        )


def label(name: Hashable, where: Mapping[Hashable, Any], display_names: DisplayNames = None) -> str:
    """Return the label of a measure at an index of its dimensions."""
    return with_index(display_name(str(name), display_names), index_words(where, display_names))


def index_words(where: Mapping[Hashable, Any], display_names: DisplayNames = None) -> list[str]:
    """Return each dimension with its label, in words."""
    return [
        f"{display_dim(dim, display_names)} {display_label(value, display_names)}"
        if dim != "of"  # column of the estimand
        else display_label(value, display_names)
        for dim, value in where.items()
    ]


def wrapped(text: Any, width: int = 30) -> str:
    """Break a long label into lines, preferably at spaces and underscores."""
    if len(str(text)) <= width:
        return str(text)
    marked = str(text).replace("_", "_\u200b").replace("/", "/\u200b")
    lines = wrap(marked.replace("\u200b", " \u200b"), width, break_on_hyphens=True)
    return "\n".join(lines).replace(" \u200b", "").replace("\u200b", "")


def longest_line(labels: Sequence[str]) -> int:
    """Return the number of characters in the longest line of some labels."""
    return max((len(line) for text in labels for line in str(text).split("\n")), default=0)


def scale_of(measure: str, ends: tuple[float, float] | None) -> tuple:
    """
    Return the scale of a measure. Measures with the same scale share an axis.

    Parameters
    ----------
    measure : str
    ends : pair of float, optional
        Lowest and highest value of the measure. By default 0 and 1.
    """
    low, high = ends or (0.0, 1.0)
    if low >= -1 and high <= 1:
        return (-1.0, 1.0)
    # Unbounded ratios, such as lift or an odds ratio, have separate scales.
    return (low, high) if math.isfinite(low) and math.isfinite(high) else (low, high, measure)


def legend_above(axes: Any, names: Sequence[str], of_panels: Sequence[Any] = ()) -> None:
    """
    Place the legend above a panel, in as many columns as fit.

    Parameters
    ----------
    axes : Axes
    names : sequence of str
    of_panels : sequence of Axes, optional
        Panels whose members the legend describes, if there are several.
    """
    named: dict[str, Any] = {}
    for panel in of_panels or [axes]:
        handles, labels = panel.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
    characters = int(90 * min(1, axes.figure.get_figwidth() / 7))  # number that fits into a line
    columns = min(4, max(1, characters // (longest_line(names) + 6)))
    location: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1)}
    axes.legend(named.values(), named, **location, ncols=columns, frameon=False, fontsize=9)


def axis_name(measure: str, usual: str, display_names: DisplayNames = None) -> str:
    """Return the axis label of a measure: the unabbreviated name, unless the user chose another."""
    return display_name(measure, {measure: usual, **check_display_names(display_names)})


def positive_class(evidence: Any, positive: Any = None, display_names: DisplayNames = None) -> str:
    """Name the positive class, if it exists and its name is not self-explanatory."""
    if is_members(evidence):
        members = evidence.values()
        words = {positive_class(member, positive, display_names) for member in members}
        return words.pop() if len(words) == 1 else ""
    evidence = with_positive_class(evidence, positive)
    variables = evidence["posterior"] if isinstance(evidence, xr.DataTree) else evidence
    if "positive" not in getattr(variables, "coords", {}):
        return ""
    label = display_label(variables.coords["positive"].item(), display_names)
    return "" if label == "positive" else f"positive class: {label}"


def interval_words(prob: float, kind: str) -> str:
    """Describe the type of the plotted intervals."""
    names = {"hdi": "highest-density", "eti": "equal-tailed"}
    return f"{100 * prob:g}% {names[kind]} interval"


def band_words(prob: float, simultaneous: bool) -> str:
    """Describe the coverage of a band."""
    if simultaneous:
        return f"{100 * prob:g}% simultaneous band (for the whole curve)"
    return f"{100 * prob:g}% pointwise band (for one point at a time)"


def short_band_words(prob: float, simultaneous: bool) -> str:
    """Describe the coverage of a band briefly, for crowded plots."""
    return f"{100 * prob:g}% band, {'simultaneous' if simultaneous else 'pointwise'}"
