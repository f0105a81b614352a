"""The distribution of item scores: bars of marks, or of bins, with what is known of each."""

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from bayescm.answers.interval import distribution
from bayescm.distributions.beta import Beta
from bayescm.evidence.clusters_and_slices import slice_dims
from bayescm.evidence.item_scores import as_item_scores
from bayescm.measures.display_names import DisplayNames, display_label
from bayescm.plots import style
from bayescm.plots.canvas import bare, canvas
from bayescm.validate import check_kind, check_prob, fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKS = 11  # distinct scores that are drawn one by one; more are put into bins
_BINS = 12
_PANELS = 12


def plot_item_scores(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    display_names: DisplayNames = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Draw how the scores of items are distributed: the share of each mark, and the mean.

    Up to eleven distinct scores, such as the marks of a rubric, have a bar each, more of them are
    put into bins. The line on a bar is the interval of its share, of the items that there may be;
    the dot above the bars is the mean score with its interval.

    Parameters
    ----------
    evidence : Dataset
        From `bayescm.from_item_scores`; a panel for each system.
    prob : float in (0, 1), default 0.95
        Mass of the intervals.
    kind : {"hdi", "eti"}
    display_names : mapping of str to str, optional
        How systems and measures are written, where not as `bayescm.measures.display_name` writes
        them, such as ``{"mean": "mean score", "gpt": "GPT"}``.
    ax : matplotlib.axes.Axes, optional
        Where to draw, if there is one panel; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there are slices, clusters or importance weights, or too many systems.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_item_scores([1, 3, 4, 4, 5, 5, 5], range=(1, 5))
    >>> figure = plot_item_scores(evidence)
    >>> figure.axes[0].get_xlabel()
    'score'
    """
    check_prob(prob), check_kind(kind)
    evidence = as_item_scores(evidence)
    if dims := slice_dims(evidence):
        todo = "make evidence of one slice"
        raise fail("scores of several slices", dims, "one sample of items", todo)
    if "group" in evidence.coords or "weights_are" in evidence.coords:
        todo = "drop them from the evidence to draw the sample as it is"
        raise fail("the bars are of items drawn one by one", ..., "no clusters and weights", todo)
    scores = np.atleast_2d(evidence["item_score"].values)
    names = evidence["classifier"].values.tolist() if "classifier" in evidence.dims else [None]
    if len(names) > _PANELS:
        raise fail("too many panels to read", len(names), f"at most {_PANELS}", "select some")
    means = np.atleast_2d(distribution(evidence, "mean").interval(prob, kind).values)
    points = np.nanmean(scores, axis=1)
    centers, width, counts = _bars(evidence, scores)
    pseudo_items = np.zeros(len(centers))
    if "lowest" in evidence.coords:
        pseudo_items[[0, -1]] = 0.5
    mean = style.axis_name("mean", "mean", display_names)
    columns = min(3, len(names))
    size = (3.4 * columns + 0.8, 2.9 * -(-len(names) // columns) + 0.4)
    with canvas(size, ax=ax, number=len(names), columns=columns, sharex=True, sharey=True) as page:
        shares = [Beta(weight, weight.sum() - weight) for weight in counts + pseudo_items]
        with np.errstate(invalid="ignore"):
            ends = [share.eti(prob) if kind == "eti" else share.hdi(prob) for share in shares]
        top = 1.08 * np.nanmax(ends)
        for axes, name, count, bounds, point, (low, high) in zip(
            page.panels, names, counts, ends, points, means, strict=True
        ):
            axes.bar(centers, count / count.sum(), width, color=style.color(0), alpha=0.55)
            present = count > 0
            axes.vlines(centers[present], *bounds[present].T, color=style.foreground(), linewidth=1)
            axes.hlines(top, low, high, color=style.color(1), linewidth=2)
            axes.plot(point, top, "o", color=style.color(1), markersize=5)
            title = f"{mean} {point:.3g} [{low:.3g}, {high:.3g}]"
            system = style.wrapped(display_label(name, display_names))
            axes.set_title(title if name is None else f"{system}\n{title}", fontsize=9)
            axes.set(xlabel="score", ylim=(0, 1.06 * top))
            bare(axes)
        page.axes.set_ylabel("share of items")
        page.heading(f"bars: items; lines: {style.interval_words(prob, kind)}")
    return page.figure


def _bars(evidence, scores):
    """Return the centres (B,) and the width of bars, and how many items (K, B) are in each."""
    marks = np.unique(scores[~np.isnan(scores)])
    bounded = "lowest" in evidence.coords
    if bounded:
        ends = [evidence["lowest"].item(), evidence["highest"].item()]
        marks = np.union1d(marks, ends)
    if len(marks) <= _MARKS:
        counts = np.array([[(row == mark).sum() for mark in marks] for row in scores])
        width = 0.8 * np.diff(marks).min() if len(marks) > 1 else 0.8
        return marks, width, counts
    edges = np.linspace(marks[0], marks[-1], _BINS + 1)
    counts = np.array([np.histogram(row[~np.isnan(row)], edges)[0] for row in scores])
    return (edges[1:] + edges[:-1]) / 2, 0.95 * (edges[1] - edges[0]), counts
