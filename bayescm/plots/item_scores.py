"""Plots of the distribution of item scores: bars with intervals, for scores or bins."""

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from bayescm.answers.compare import draw_measures
from bayescm.answers.interval import distribution
from bayescm.distributions.beta import Beta
from bayescm.distributions.empirical import Empirical
from bayescm.evidence.clusters_and_slices import clusters_of, slice_dims
from bayescm.evidence.item_scores import as_item_scores
from bayescm.measures.display_names import DisplayNames, display_label
from bayescm.plots import style
from bayescm.plots.canvas import bare, canvas
from bayescm.validate import check_kind, check_prob, fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKS = 11  # with more distinct scores, bins are used
_BINS = 12
_PANELS = 12


def plot_item_scores(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    display_names: DisplayNames = None,
    colors: style.Colors = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Plot the distribution of item scores, and the mean score.

    Up to eleven distinct scores, such as the grades of a rubric, have one bar each; more scores are
    binned. The line on a bar is the interval of its share in the population of items, or of similar
    clusters if items come in clusters. The dot above the bars is the posterior mean of the mean
    score with its interval, as in `bayescm.summary`. Weights of items are taken into account.

    Parameters
    ----------
    evidence : Dataset
        Result of `bayescm.from_item_scores`. Each system has a panel.
    prob : float in (0, 1), default 0.95
        Probability of the intervals.
    kind : {"hdi", "eti"}
    display_names : mapping of str to str, optional
        Display names of systems and measures, such as ``{"mean": "mean score", "gpt": "GPT"}``.
    colors : mapping of str to color, optional
        Colours by name, such as ``{"rf": "tab:red"}``. Other names keep the same colour in all
        plots of a session.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on, if there is one panel. By default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there are slices or more than twelve systems.

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
        raise fail(
            "The scores have several slices, along {}", dims, "", "build evidence from one slice"
        )
    scores = np.atleast_2d(evidence["item_score"].values)
    names = evidence["classifier"].values.tolist() if "classifier" in evidence.dims else [None]
    if len(names) > _PANELS:
        raise fail(
            f"The plot would have {len(names)} panels; at most {_PANELS} are readable",
            ...,
            "",
            "select some systems",
        )
    posterior = distribution(evidence, "mean")
    means = np.atleast_2d(posterior.interval(prob, kind).values)
    points = np.atleast_1d(posterior.mean().values)
    weight = evidence["weight"].values if "weight" in evidence else np.ones(scores.shape[1])
    edges, centers, width = _bars(evidence, scores)
    counts = np.array([_counts(row, edges, weight) for row in scores])
    mean = style.axis_name("mean", "mean", display_names)
    columns = min(3, len(names))
    size = (3.4 * columns + 0.8, 2.9 * -(-len(names) // columns) + 0.4)
    with canvas(size, ax=ax, number=len(names), columns=columns, sharex=True, sharey=True) as page:
        shares = _shares(evidence, counts, edges)
        with np.errstate(invalid="ignore"):
            ends = [share.eti(prob) if kind == "eti" else share.hdi(prob) for share in shares]
        top = 1.08 * np.nanmax(ends)
        looks = style.looks_of_rows(names if names != [None] else [], colors)
        looks = looks or style.looks([()], colors)
        for axes, name, look, count, bounds, point, (low, high) in zip(
            page.panels, names, looks, counts, ends, points, means, strict=True
        ):
            axes.bar(centers, count / count.sum(), width, color=look.color, alpha=0.55)
            present = count > 0
            axes.vlines(centers[present], *bounds[present].T, color=style.foreground(), linewidth=1)
            axes.hlines(top, low, high, color=style.foreground(), linewidth=2)
            axes.plot(point, top, "o", color=style.foreground(), markersize=5)
            numbers = [f"{number:#.3g}".rstrip(".") for number in (point, low, high)]
            title = "{} {} [{}, {}]".format(mean, *numbers)
            system = style.wrapped(display_label(name, display_names))
            axes.set_title(title if name is None else f"{system}\n{title}", fontsize=9)
            axes.set(xlabel="score", ylim=(0, 1.06 * top))
            bare(axes)
        page.axes.set_ylabel("share of items")
        page.heading(f"bars: items; lines: {style.interval_words(prob, kind)}")
    return page.figure


def _bars(evidence, scores):
    """Return the edges (B + 1,) of the bars, their centres and their width."""
    marks = np.unique(scores[~np.isnan(scores)])
    if "lowest" in evidence.coords:
        ends = [evidence["lowest"].item(), evidence["highest"].item()]
        marks = np.union1d(marks, ends)
    if len(marks) <= _MARKS:
        width = 0.8 * np.diff(marks).min() if len(marks) > 1 else 0.8
        return np.concatenate([[-np.inf], (marks[1:] + marks[:-1]) / 2, [np.inf]]), marks, width
    edges = np.linspace(marks[0], marks[-1], _BINS + 1)
    return edges, (edges[1:] + edges[:-1]) / 2, 0.95 * (edges[1] - edges[0])


def _counts(score, edges, weight):
    """Return the weighted number of items in each bin."""
    has_score = ~np.isnan(score)
    bar = np.searchsorted(edges[1:-1], score[has_score], side="right")
    return np.bincount(bar, weight[has_score], len(edges) - 1)


def _shares(evidence, counts, edges):
    """Return the distributions of the bar shares, for each system."""
    importance = "weights_are" in evidence.coords and evidence["weights_are"].item() == "importance"
    if not importance and clusters_of(evidence) is None:
        pseudo_items = np.zeros(counts.shape[1])
        if "lowest" in evidence.coords:
            pseudo_items[[0, -1]] = 0.5
        return [Beta(count, count.sum() - count) for count in counts + pseudo_items]
    measures = [_share_of_bar(index, edges) for index in range(counts.shape[1])]
    draws = draw_measures(evidence, measures, compared=False)
    drawn = np.stack([draws[measure.__name__].values for measure in measures], axis=-1)
    drawn = drawn.reshape(len(drawn), *counts.shape)
    return [Empirical(drawn[:, system]) for system in range(len(counts))]


def _share_of_bar(index, edges):
    """Return the measure of item scores that equals the share of one bar."""

    def share(scores):
        return scores.mean(lambda score: np.searchsorted(edges[1:-1], score, side="right") == index)

    share.__name__ = f"share_of_bar_{index}"
    return share
