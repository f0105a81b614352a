"""Colours that suit the style in force, and the words of headings, panels and legends."""

from collections.abc import Hashable, Mapping, Sequence
from textwrap import wrap
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.trees import with_positive_class
from bayescm.evidence.types import is_members
from bayescm.measures.display_names import (
    DisplayNames,
    check_display_names,
    display_dim,
    display_label,
    display_name,
    with_index,
)
from bayescm.validate import fail

# Okabe and Ito's colours, told apart by colour-blind readers too, and their brighter sisters for
# dark backgrounds; markers and lines say the same twice. The last one is the colour of the text.
_LIGHT = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
_DARK = ["#56B4E9", "#FF9248", "#2FD0A5", "#F0A6CC", "#F0E442", "#9AA7FF"]
MOST_COLORS = len(_LIGHT) + 1
MARKERS = ["o", "s", "D", "^", "v", "P", "X"]
LINES = ["-", "--", "-.", ":"]
_LUMINANCE = [0.299, 0.587, 0.114]  # of red, green and blue, as in ITU-R BT.601


def color(i: int) -> Any:
    """Return the colour of the i-th curve, classifier or group."""
    colors = _DARK if is_dark() else _LIGHT
    return [*colors, foreground()][i % MOST_COLORS]


def foreground() -> Any:
    """Return the colour of the text."""
    return tuple(_rgb("text.color"))


def background() -> Any:
    """Return the colour behind the curves."""
    return tuple(_rgb("axes.facecolor"))


def muted(share: float = 0.65) -> Any:
    """Return a mixture of text and background: so much of the text's colour."""
    return tuple(share * _rgb("text.color") + (1 - share) * _rgb("axes.facecolor"))


def colormap():
    """Return a colour map from the background to a strong blue."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    if not is_dark():
        return colormaps["Blues"]
    return LinearSegmentedColormap.from_list("blues", [background(), "#1F4E79", "#7CC7F5"])


def text_color_on(value: float) -> Any:
    """Return the colour of text that can be read on a value of the colour map."""
    light = np.array(colormap()(float(np.nan_to_num(value)))[:3]) @ _LUMINANCE > 0.5
    return "black" if light else "white"


def is_dark() -> bool:
    """Say whether the style in force has a dark background."""
    return bool(_rgb("axes.facecolor") @ _LUMINANCE < 0.5)


def _rgb(name):
    from matplotlib import colors, rcParams

    fallback = "black" if name == "text.color" else "white"
    value = rcParams[name]
    return np.array(colors.to_rgb(fallback if value in ("none", "auto") else value))


def panels(values: xr.DataArray, over: Sequence[str]) -> list[dict[Hashable, Any]]:
    """Return every index of the dims of a variable but those it is drawn over, by label."""
    dims = [dim for dim in values.dims if dim not in over]
    labels = [values[dim].values.tolist() for dim in dims]
    shape = [len(names) for names in labels]
    return [
        {dim: names[i] for dim, names, i in zip(dims, labels, index, strict=True)}
        for index in np.ndindex(*shape)
    ]


def check_few(lines: Sequence, what: str = "curves") -> None:
    """Raise where there are more lines than colours."""
    if len(lines) > MOST_COLORS:
        allowed, todo = f"at most {MOST_COLORS}", "select some of them"
        raise fail(f"too many {what} to tell apart", len(lines), allowed, todo)


def label(name: Hashable, where: Mapping[Hashable, Any], display_names: DisplayNames = None) -> str:
    """Return the label of a measure at an index of its dims."""
    return with_index(display_name(str(name), display_names), index_words(where, display_names))


def index_words(where: Mapping[Hashable, Any], display_names: DisplayNames = None) -> list[str]:
    """Say where along each dim something is, for readers."""
    return [
        f"{display_dim(dim, display_names)} {display_label(value, display_names)}"
        if dim != "of"  # the column of the estimand
        else display_label(value, display_names)
        for dim, value in where.items()
    ]


def wrapped(text: Any, width: int = 30) -> str:
    """Break a long label into lines, at its spaces and underscores first."""
    if len(str(text)) <= width:
        return str(text)
    marked = str(text).replace("_", "_\u200b").replace("/", "/\u200b")
    lines = wrap(marked.replace("\u200b", " \u200b"), width, break_on_hyphens=True)
    return "\n".join(lines).replace(" \u200b", "").replace("\u200b", "")


def longest_line(labels: Sequence[str]) -> int:
    """Return the number of characters of the longest line of some labels."""
    return max((len(line) for text in labels for line in str(text).split("\n")), default=0)


def legend_above(axes: Any, names: Sequence[str]) -> None:
    """Write the legend above the panel, in as many columns as the names leave room for."""
    characters = int(90 * min(1, axes.figure.get_figwidth() / 7))  # that a line has room for
    columns = min(4, max(1, characters // (longest_line(names) + 6)))
    location: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1)}
    axes.legend(**location, ncols=columns, frameon=False, fontsize=9)


def axis_name(measure: str, usual: str, display_names: DisplayNames = None) -> str:
    """Return what an axis of a measure is called: its words in full, unless others are stated."""
    return display_name(measure, {measure: usual, **check_display_names(display_names)})


def positive_class(evidence: Any, positive: Any = None, display_names: DisplayNames = None) -> str:
    """Say which class is the positive one, or nothing where there is none or its name says it."""
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
    """Say what kind of interval is drawn."""
    names = {"hdi": "highest-density", "eti": "equal-tailed"}
    return f"{100 * prob:g}% {names[kind]} interval"


def band_words(prob: float, simultaneous: bool) -> str:
    """Say what a band covers."""
    if simultaneous:
        return f"{100 * prob:g}% simultaneous band (for the whole curve)"
    return f"{100 * prob:g}% pointwise band (for one point at a time)"


def short_band_words(prob: float, simultaneous: bool) -> str:
    """Say what a band covers, beside much else."""
    return f"{100 * prob:g}% band, {'simultaneous' if simultaneous else 'pointwise'}"
