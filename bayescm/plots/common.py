"""What all plots share: colours that suit the style, densities, words."""

from collections.abc import Hashable, Mapping, Sequence
from textwrap import wrap
from typing import Any

import numpy as np
import xarray as xr

from bayescm.distributions.base import Distribution
from bayescm.distributions.batches import LazyDraws, together
from bayescm.distributions.discrete import Empirical
from bayescm.measures.trees import told
from bayescm.validate import fail

# Okabe and Ito's colours, told apart by colour-blind readers too, and their brighter sisters for
# dark backgrounds; markers say the same twice. The last one is the colour of the text.
_LIGHT = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
_DARK = ["#56B4E9", "#FF9248", "#2FD0A5", "#F0A6CC", "#F0E442", "#9AA7FF"]
MOST_COLOURS = len(_LIGHT) + 1
MARKERS = ["o", "s", "D", "^", "v", "P", "X"]
STYLES = ["-", "--", "-.", ":"]
_POINTS, _TAIL = 400, 1e-4


def _rgb(name):
    from matplotlib import colors, rcParams

    fallback = "black" if name == "text.color" else "white"
    value = rcParams[name]
    return np.array(colors.to_rgb(fallback if value in ("none", "auto") else value))


def is_dark() -> bool:
    """Say whether the style in force has a dark background."""
    return bool(_rgb("axes.facecolor") @ [0.299, 0.587, 0.114] < 0.5)


def paint(place: int) -> Any:
    """Return the colour of a member."""
    colours = _DARK if is_dark() else _LIGHT
    return [*colours, ink()][place % MOST_COLOURS]


def ink() -> Any:
    """Return the colour of the text."""
    return tuple(_rgb("text.color"))


def paper() -> Any:
    """Return the colour of the background."""
    return tuple(_rgb("axes.facecolor"))


def grey(share: float = 0.65) -> Any:
    """Return a mixture of text and background: so much of the text's colour."""
    return tuple(share * _rgb("text.color") + (1 - share) * _rgb("axes.facecolor"))


def shades():
    """Return a colour map from the background to a strong blue."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    if not is_dark():
        return colormaps["Blues"]
    return LinearSegmentedColormap.from_list("shades", [paper(), "#1F4E79", "#7CC7F5"])


def on_shade(share: float) -> Any:
    """Return the colour of text that can be read on a shade."""
    light = np.array(shades()(float(np.nan_to_num(share)))[:3]) @ [0.299, 0.587, 0.114] > 0.5
    return "black" if light else "white"


def density(distribution: Distribution, ends: tuple = (None, None)) -> np.ndarray:
    """
    Return the density of a distribution, and the points where it is.

    It is that of the distribution itself: only draws are smoothed by a kernel, and distributions
    of a few values are shown as steps.

    Parameters
    ----------
    distribution : Distribution
        Batch of shape (...).
    ends : pair of float or None
        The range of what is drawn: an estimate from draws is folded back there.

    Returns
    -------
    ndarray, shape (..., 2, points)
        Points and density.
    """
    if isinstance(distribution, LazyDraws):
        return together([distribution], lambda drawn: _estimate(drawn.draws, ends))[0]
    if isinstance(distribution, Empirical):
        return _estimate(distribution.draws, ends)
    return _density(distribution)


def _estimate(draws, ends):
    """Return a kernel estimate from draws (size, ...), of those that are defined."""
    found = np.empty((*draws.shape[1:], 2, _POINTS))
    for index in np.ndindex(draws.shape[1:]):
        found[index] = _kernel(draws[:, *index], ends)
    return found


def _kernel(draws, ends):
    from arviz_stats.base import array_stats

    draws = draws[np.isfinite(draws)]
    low, high = draws.min(), draws.max()
    if low == high:
        return _steps(Empirical(draws), low, high)
    room = 0.05 * (high - low)
    low = low - room if ends[0] is None else max(low - room, ends[0])
    high = high + room if ends[1] is None else min(high + room, ends[1])
    # ArviZ's bandwidth follows the noise of the draws; these densities are smooth.
    settings = {"bw_fct": 1.5, "bound_correction": True, "grid_len": _POINTS}
    return np.stack(array_stats.kde(draws, custom_lims=(low, high), **settings)[:2])


def _density(distribution):
    low, high = (np.asarray(distribution.quantile(q), float) for q in (_TAIL, 1 - _TAIL))
    room = 0.05 * (high - low)
    least, most = (np.asarray(end, float) for end in distribution.support)
    # To the end of the support where it is near: there the density is 0, or infinite.
    low = np.where(low - room <= least, np.maximum(least, low - room), low)
    high = np.where(high + room >= most, np.minimum(most, high + room), high)
    x = np.linspace(low, high, _POINTS)
    with np.errstate(all="ignore"):
        y = np.asarray(distribution.pdf(x), float)
    x, y = np.moveaxis(x, 0, -1), np.moveaxis(y, 0, -1)
    ends = [0, -1]
    y[..., ends] = np.where(np.isfinite(y[..., ends]), y[..., ends], y[..., [1, -2]])
    with np.errstate(invalid="ignore"):
        mass = np.trapezoid(y, x, axis=-1)
    continuous = np.isfinite(y).all(axis=-1) & (np.abs(mass - 1) < 0.1)
    if not continuous.all():
        steps = _steps(distribution, low, high)
        x, y = np.where(continuous[..., None], (x, y), steps)
    return np.stack([x, y], axis=-2)


def _steps(distribution, low, high):
    """Return a histogram as a line: of a distribution that has no density."""
    spread = np.where(high > low, high - low, 1e-3 * np.maximum(np.abs(high), 1))
    edges = np.linspace(low - 0.02 * spread, high + 0.02 * spread, _POINTS // 8 + 1)
    heights = np.diff([distribution.cdf(each) for each in edges], axis=0) / np.diff(edges, axis=0)
    x = np.repeat(edges, 2, axis=0)[1:-1]
    y = np.repeat(heights, 2, axis=0)
    pad = np.linspace(0, len(x) - 1, _POINTS).round().astype(int)  # as many points as the others
    return np.stack([np.moveaxis(each[pad], 0, -1) for each in (x, y)])


def positive_of(evidence: Any, label: Any = None) -> str:
    """Say which class is the positive one, or nothing where there is none."""
    evidence = told(evidence, label)
    holder = evidence["posterior"] if isinstance(evidence, xr.DataTree) else evidence
    if "positive" not in getattr(holder, "coords", {}):
        return ""
    return f"positive class: {holder.coords['positive'].item()}"


def words_for(prob: float, kind: str) -> str:
    """Say what kind of interval is drawn."""
    names = {"hdi": "highest-density", "eti": "equal-tailed"}
    return f"{100 * prob:g}% {names[kind]} interval"


def called(name: Hashable, where: Mapping[Hashable, Any]) -> str:
    """Return the label of a measure at an index of its dims."""
    index = ", ".join(f"{dim} {value}" for dim, value in where.items())
    return f"{name} ({index})" if index else str(name)


def places(values: xr.DataArray, over: Sequence[str]) -> list[dict[Hashable, Any]]:
    """Return every index of the dims of a variable but those it is drawn over, by label."""
    rest = [dim for dim in values.dims if dim not in over]
    labels = [values[dim].values.tolist() for dim in rest]
    shape = [len(each) for each in labels]
    return [
        {dim: each[i] for dim, each, i in zip(rest, labels, index, strict=True)}
        for index in np.ndindex(*shape)
    ]


def wrapped(text: Any, width: int = 30) -> str:
    """Break a long label into lines, at its spaces and underscores first."""
    if len(str(text)) <= width:
        return str(text)
    marked = str(text).replace("_", "_\u200b").replace("/", "/\u200b")
    lines = wrap(marked.replace("\u200b", " \u200b"), width, break_on_hyphens=True)
    return "\n".join(lines).replace(" \u200b", "").replace("\u200b", "")


def widest(labels: Sequence[str]) -> int:
    """Return the number of characters of the longest line of some labels."""
    return max((len(line) for each in labels for line in str(each).split("\n")), default=0)


def check_few(members: Sequence) -> None:
    """Raise where there are more members than colours."""
    if len(members) > MOST_COLOURS:
        todo = "select some of them"
        allowed = f"at most {MOST_COLOURS}"
        raise fail("too many curves to tell apart", len(members), allowed, todo)


def band_words(prob: float, simultaneous: bool) -> str:
    """Return what a band covers, for a legend."""
    if simultaneous:
        return f"{100 * prob:g}% simultaneous band (for the whole curve)"
    return f"{100 * prob:g}% pointwise band (for one point at a time)"
