"""Plots of cross-validation folds: single folds, pooled folds, and the discount."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayescm.answers.interval import distribution, interval
from bayescm.classical.folds import fold_t
from bayescm.evidence.counts import as_counts
from bayescm.evidence.folds import stack
from bayescm.measures.display_names import DisplayNames, display_label, display_name
from bayescm.measures.labelled import as_measures, several
from bayescm.measures.over_folds import fold_macro, fold_micro
from bayescm.plots import style
from bayescm.plots.canvas import band, canvas, name_rows, rows
from bayescm.posteriors import pooled_folds
from bayescm.validate import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Joint models of all folds, by row label.
_MODELS = {
    "partially pooled": "hierarchical_folds",
    "pooled, discounted": "pooled_folds",
    "averaged": "averaged_folds",
}
_ROW = 0.28  # height of a row in inches
_MOST = 60  # largest number of legible folds
_BESIDE = 3  # panels in a row
_NARROWEST = 3.0  # minimum width of a legible panel in inches, with 8-point text


def plot_folds(
    counts: xr.DataArray,
    measure: str | Callable,
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    concentration: Any = None,
    colors: style.Colors = None,
    display_names: DisplayNames = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Plot the interval of every fold, and pooled intervals of all folds.

    Parameters
    ----------
    counts : DataArray
        Counts, dims ``([classifier,] [repeat,] fold, actual, predicted)``.
    measure : str or callable
        Measure with a single value per matrix, such as a measure of the positive class.
    prob : float in (0, 1), default 0.95
        Probability of the intervals.
    kind : {"hdi", "eti"}
        Highest-density or equal-tailed posterior intervals.
    concentration : float or array_like, optional
        Prior pseudo-counts per cell.
    colors : mapping of str to color, optional
        Colours of the pooled rows, such as ``{"partially pooled": "tab:red"}``.
    display_names : mapping of str to str, optional
        Display names of measures, dimensions and labels, such as ``{"f1": "F-measure", "rf":
        "random forest"}``.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on, for a single classifier. By default a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        Figure with a panel for each classifier. It shows the separate folds (grey), followed by the
        models of all folds and the t intervals, which are not clipped. A line marks the measure of
        the summed folds.

    Raises
    ------
    ValueError
        If there are no folds, if a classifier has several cross-validations, or if there are too
        many folds for a legible plot.

    Examples
    --------
    >>> import bayescm as bcm
    >>> cells = {"tp": [6, 5, 7, 4], "fn": [4, 5, 3, 6], "fp": [4, 5, 3, 6], "tn": [6, 5, 7, 4]}
    >>> counts = bcm.from_cells(**cells).rename(batch="fold")
    >>> axes = plot_folds(counts, "recall").axes[0]
    >>> [label.get_text() for label in axes.get_yticklabels()][-2:]
    ['corrected t', 'resampled t']
    """
    runs = {
        name: _one_cross_validation(run, measure) for name, run in _by_classifier(counts).items()
    }
    for run in runs.values():
        _check_number(run)
    prior = {} if concentration is None else {"concentration": concentration}
    single, pooled = _intervals(runs, measure, prob, kind, prior)
    shown = prob, kind, display_names
    return _figure_of_folds(runs, single, pooled, measure, *shown, ax, colors)


def fold_figures(
    counts: xr.DataArray,
    measure: str | Callable,
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    concentration: Any = None,
) -> "list[Figure]":
    """Return figures that each show part of the folds, and the pooled intervals."""
    runs = {
        name: _one_cross_validation(run, measure) for name, run in _by_classifier(counts).items()
    }
    prior = {} if concentration is None else {"concentration": concentration}
    single, pooled = _intervals(runs, measure, prob, kind, prior)
    number = max(len(rows) for rows in single.values())
    size = -(-number // -(-number // _MOST))  # similar numbers of folds per figure
    parts = [
        {name: rows[start : start + size] for name, rows in single.items()}
        for start in range(0, number, size)
    ]
    shown = measure, prob, kind, None, None
    return [_figure_of_folds(runs, part, pooled, *shown) for part in parts]


def _intervals(runs, measure, prob, kind, prior):
    """Return the rows of single folds and of all folds, by classifier name."""
    if len(several(measure)) != 1:
        raise fail(
            "Only one measure is possible; got {}", measure, "", "make one plot for each measure"
        )
    return [
        {name: ask(run, measure, prob, kind, prior) for name, run in runs.items()}
        for ask in (_single_folds, _all_folds)
    ]


def _figure_of_folds(runs, single, pooled, measure, prob, kind, display_names, ax, colors=None):
    longest = max(len(single[name]) + len(pooled[name]) for name in runs)
    number = len(runs)
    beside = min(number, _BESIDE)
    size = (6 * beside + 2, (_ROW * longest + 1.6) * -(-number // beside))
    panels: dict[str, Any] = {"number": number, "columns": beside, "narrowest": _NARROWEST}
    with canvas(size, ax=ax, sharex=True, **panels) as page:
        for axes, (name, run) in zip(page.panels, runs.items(), strict=True):
            _draw(axes, single[name], pooled[name], colors)
            summed = fold_micro(run, measure).item()
            axes.axvline(summed, color=style.muted(), linestyle=":", linewidth=1, zorder=0)
            axes.set_xlabel(display_name(as_measures(measure, run)[0], display_names))
            if number > 1:
                axes.set_title(style.wrapped(display_label(name, display_names)), fontsize=10)
        missing = sum(int(fold_macro(run, measure).undefined_folds) for run in runs.values())
        page.heading(
            f"marker: estimate; bar: {style.interval_words(prob, kind)}",
            "dotted: all folds summed",
            style.positive_class(run, display_names=display_names),
            f"undefined in {missing} folds" if missing else "",
        )
    return page.figure


def _by_classifier(counts):
    """Return the counts of every classifier by name."""
    counts = as_counts(counts)
    if "classifier" not in counts.dims:
        return {"": counts}
    names = counts["classifier"].values.tolist()
    return {str(name): counts.isel(classifier=i) for i, name in enumerate(names)}


def _check_number(counts):
    """Raise an error if there are too many folds for one figure."""
    number = stack(counts).sizes["fold"]
    if number > _MOST:
        todo = "select some folds or repeats, or write a report, which has several figures"
        raise fail(
            f"The plot would have {number} folds; at most {_MOST} are readable", ..., "", todo
        )


def _single_folds(counts, measure, prob, kind, prior):
    """Return label, estimate and interval of every single fold."""
    folds = stack(counts)
    batch = folds.rename(fold="batch")
    keywords = {"model": "dirichlet_multinomial", **prior}
    posterior = distribution(batch, measure, **keywords)
    centers, ends = posterior.mean().values, posterior.interval(prob, kind).values
    repeats = counts.sizes.get("repeat", 1)
    labels = [
        f"repeat {repeat}, fold {fold}" if repeats > 1 else f"fold {fold}"
        for repeat in range(repeats)
        for fold in range(counts.sizes["fold"])
    ]
    return list(zip(labels, centers, ends, strict=True))


def _all_folds(counts, measure, prob, kind, prior):
    """Return label, estimate and interval for the fold models and the t intervals."""
    rows = []
    for label, model in _MODELS.items():
        posterior = distribution(counts, measure, model=model, **prior)
        rows.append((label, posterior.mean().item(), posterior.interval(prob, kind).values))
    macro = fold_macro(counts, measure).item()
    repeated = counts.sizes.get("repeat", 1) > 1
    for method in ["resampled"] if repeated else ["plain", "corrected", "resampled"]:
        label = "K-fold t" if method == "plain" else f"{method} t"
        rows.append((label, macro, fold_t(counts, measure, method=method, prob=prob).values))
    return rows


def _draw(axes, single, pooled, colors):
    """Plot the folds and, below a gap, one row for each pooled method."""
    y = [*range(len(single)), *range(len(single) + 1, len(single) + 1 + len(pooled))]
    name_rows(axes, y, [label for label, _, _ in [*single, *pooled]])
    _, centers, ends = zip(*single, strict=True)
    rows(axes, y[: len(single)], ends, centers, color=style.muted())
    looks = style.roles([label for label, _, _ in pooled], colors)
    for i, (label, center, ends) in enumerate(pooled):
        one = {"color": looks[label].color, "marker": looks[label].marker}
        rows(axes, [y[len(single) + i]], [ends], [center], **one)


def plot_omega(
    counts: xr.DataArray,
    measures: str | Callable | Sequence[str | Callable],
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    concentration: Any = None,
    display_names: DisplayNames = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Plot the interval of each measure of the pooled folds as a function of the discount.

    Parameters
    ----------
    counts : DataArray
        Counts of one classifier, dims ``([repeat,] fold, actual, predicted)``.
    measures : str, callable or a sequence of these
    prob : float in (0, 1), default 0.95
        Probability of the intervals.
    kind : {"hdi", "eti"}
        Highest-density or equal-tailed intervals.
    concentration : float or array_like, optional
        Prior pseudo-counts per cell.
    display_names : mapping of str to str, optional
        Display names of measures, dimensions and labels, such as ``{"f1": "F-measure", "rf":
        "random forest"}``.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on, for a single measure. By default a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        Figure with a panel for each measure. It shows the interval for omega from 1/M (average of
        the M matrices) to 1 (full pooling), with the default marked.

    Examples
    --------
    >>> import bayescm as bcm
    >>> cells = {"tp": [6, 5, 7, 4], "fn": [4, 5, 3, 6], "fp": [4, 5, 3, 6], "tn": [6, 5, 7, 4]}
    >>> counts = bcm.from_cells(**cells).rename(batch="fold")
    >>> [axes.get_title() for axes in plot_omega(counts, ["precision", "recall"]).axes]
    ['precision', 'recall']
    """
    names = several(measures)
    counts = _one_cross_validation(counts, *names)
    matrices = stack(counts).sizes["fold"]
    default = pooled_folds(counts).omega
    omegas = np.unique([*np.linspace(1 / matrices, 1, 40), default])
    keywords: dict[str, Any] = {"model": "pooled_folds", "prob": prob, "kind": kind}
    if concentration is not None:
        keywords["concentration"] = concentration
    number = len(names)
    with canvas((3.6 * number + 0.6, 3.6), ax=ax, number=number, columns=number) as page:
        for axes, measure in zip(page.panels, names, strict=True):
            ends = [interval(counts, measure, omega=omega, **keywords) for omega in omegas]
            band(axes, omegas, ends, color=style.color(0), edges=True)
            axes.axhline(fold_micro(counts, measure).item(), color=style.muted(), linestyle=":")
            axes.axvline(default, color=style.color(1), linestyle="--")
            axes.set_title(display_name(as_measures(measure, counts)[0], display_names))
            axes.set_xlabel("omega")
            axes.set_xlim(omegas[0], 1)
        page.heading(
            style.interval_words(prob, kind),
            style.positive_class(counts, display_names=display_names),
            "dotted: all folds summed",
            f"dashed: the default, {default:.3g}",
        )
    return page.figure


def _one_cross_validation(counts, *measures):
    """Return canonical counts of a single cross-validation, or raise an error."""
    counts = as_counts(counts)
    stack(counts)
    others = [dim for dim in counts.dims[:-2] if dim not in ("repeat", "fold")]
    if others:
        first = {dim: 0 for dim in others}
        todo = f"select one, e.g. counts.isel({first})"
        raise fail(
            "The counts also have the dimensions {}, so they contain more than one "
            "cross-validation",
            others,
            "",
            todo,
        )
    for resolved in [resolved for measure in measures for resolved in as_measures(measure, counts)]:
        if np.ndim(resolved(np.ones((counts.sizes["actual"],) * 2))):
            todo = "use an average over the classes such as f1_macro, or a function of your own"
            raise fail(
                f"{resolved.__name__} has one value per class, but a single number is needed",
                ...,
                "",
                todo,
            )
    return counts
