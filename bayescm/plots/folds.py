"""Folds of a cross-validation: each by itself, all together, and the discount that pools them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayescm.answers.interval import interval
from bayescm.answers.numbers import mean
from bayescm.classical.folds import fold_t
from bayescm.direct import pooled_folds
from bayescm.evidence.counts import as_counts
from bayescm.evidence.folds import stack
from bayescm.measures.labelled import kernels, several
from bayescm.measures.over_folds import fold_macro, fold_micro
from bayescm.plots import common
from bayescm.plots.canvas import canvas
from bayescm.validate import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Together: what is drawn, by which model or t method, in which colour and with which marker.
_MODELS = [
    ("partially pooled", "hierarchical_folds"),
    ("pooled, discounted", "pooled_folds"),
    ("averaged", "averaged_folds"),
]
_ROW, _MOST = 0.28, 60


def plot_folds(
    counts: xr.DataArray,
    measure: str | Callable,
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    concentration: Any = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Draw the interval of every fold, and those of all folds together, one below the other.

    Parameters
    ----------
    counts : DataArray
        Dims ``([classifier,] [repeat,] fold, actual, predicted)``.
    measure : str or callable
        A measure with a single value per matrix, or of the positive class.
    prob : float in (0, 1), default 0.95
        Mass of the intervals.
    kind : {"hdi", "eti"}
        Highest density or equal tails of the posterior intervals.
    concentration : float or array_like, optional
        Prior pseudo-counts per cell.
    ax : matplotlib.axes.Axes, optional
        Where to draw a single classifier; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        A panel for each classifier: every fold alone (grey), then the models of folds and the t
        intervals, which are not clipped; a line at the measure of the summed folds.

    Raises
    ------
    ValueError
        If there are no folds, several cross-validations of a classifier, or too many folds to
        read.

    Examples
    --------
    >>> import bayescm as bcm
    >>> cells = {"tp": [6, 5, 7, 4], "fn": [4, 5, 3, 6], "fp": [4, 5, 3, 6], "tn": [6, 5, 7, 4]}
    >>> counts = bcm.from_cells(**cells).rename(batch="fold")
    >>> axes = plot_folds(counts, "recall").axes[0]
    >>> [label.get_text() for label in axes.get_yticklabels()][-2:]
    ['corrected t', 'resampled t']
    """
    if len(several(measure)) != 1:
        raise fail("one measure at a time", measure, "a name or a function", "ask for each")
    members = _members(counts)
    evaluations = {name: _one_evaluation(each, measure) for name, each in members.items()}
    prior = {} if concentration is None else {"concentration": concentration}
    rows = {
        name: [each(counts, measure, prob, kind, prior) for each in (_alone, _together)]
        for name, counts in evaluations.items()
    }
    longest = max(len(alone) + len(together) for alone, together in rows.values())
    number = len(rows)
    size = (6 * number + 2, _ROW * longest + 1.6)
    with canvas(size, ax=ax, number=number, columns=number, sharex=True) as page:
        for axes, (name, counts) in zip(page.panels, evaluations.items(), strict=True):
            _draw(axes, *rows[name])
            axes.axvline(
                fold_micro(counts, measure).item(),
                color=common.grey(),
                linestyle=":",
                linewidth=1,
                zorder=0,
            )
            axes.set_xlabel(kernels(measure, counts)[0].__name__)
            if number > 1:
                axes.set_title(name)
        words = f"marker: estimate; bar: {common.words_for(prob, kind)}", "dotted: all folds summed"
        missing = [int(fold_macro(each, measure).undefined_folds) for each in evaluations.values()]
        undefined = f"undefined in {sum(missing)} folds" if any(missing) else ""
        page.heading(*words, common.positive_of(counts), undefined)
    return page.figure


def _members(counts):
    """Return the counts of every classifier, by its name."""
    counts = as_counts(counts)
    if "classifier" not in counts.dims:
        return {"": counts}
    names = counts["classifier"].values.tolist()
    return {str(name): counts.isel(classifier=place) for place, name in enumerate(names)}


def _draw(axes, alone, together):
    """Draw a marker and a bar for each row, the folds first."""
    ticks = []
    for place, (label, center, ends, paint, marker) in enumerate([*alone, *together]):
        y = place + (place >= len(alone))  # a gap between the folds and what they say together
        axes.plot(ends, [y, y], color=paint, linewidth=2, solid_capstyle="butt")
        axes.plot(center, y, marker, color=paint, markersize=5)
        ticks.append((y, label))
    axes.set_yticks(*zip(*ticks, strict=True))
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)


def _alone(counts, measure, prob, kind, prior):
    """Return label, mean, ends, colour and marker of every fold by itself."""
    rows = stack(counts)
    if rows.sizes["fold"] > _MOST:
        todo = "select some folds or repeats"
        raise fail("too many folds to read", rows.sizes["fold"], f"at most {_MOST}", todo)
    single = rows.rename(fold="batch")
    keywords = {"model": "dirichlet_multinomial", **prior}
    ends = interval(single, measure, prob=prob, kind=kind, **keywords).values
    centers = mean(single, measure, **keywords).values
    repeats = counts.sizes.get("repeat", 1)
    names = [
        f"repeat {repeat}, fold {fold}" if repeats > 1 else f"fold {fold}"
        for repeat in range(repeats)
        for fold in range(counts.sizes["fold"])
    ]
    paint = [common.grey()] * len(names), ["o"] * len(names)
    return list(zip(names, centers, ends, *paint, strict=True))


def _together(counts, measure, prob, kind, prior):
    """Return the same of the models of folds and of the t intervals."""
    rows = []
    for place, (label, model) in enumerate(_MODELS):
        ends = interval(counts, measure, prob=prob, kind=kind, model=model, **prior).values
        center = mean(counts, measure, model=model, **prior).item()
        rows.append((label, center, ends, common.paint(place), common.MARKERS[place]))
    methods = ["resampled"] if counts.sizes.get("repeat", 1) > 1 else ["plain", "corrected"]
    macro = fold_macro(counts, measure).item()
    for method in dict.fromkeys([*methods, "resampled"]):
        place = len(rows)
        ends = fold_t(counts, measure, method=method, prob=prob).values
        label = "K-fold t" if method == "plain" else f"{method} t"
        rows.append((label, macro, ends, common.paint(place), common.MARKERS[place]))
    return rows


def plot_omega(
    counts: xr.DataArray,
    measures: str | Callable | Sequence[str | Callable],
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    concentration: Any = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Draw how the interval from the pooled folds depends on their discount.

    Parameters
    ----------
    counts : DataArray
        Counts of one classifier, dims ``([repeat,] fold, actual, predicted)``.
    measures : str, callable or a sequence of these
    prob : float in (0, 1), default 0.95
        Mass of the intervals.
    kind : {"hdi", "eti"}
        Highest density or equal tails.
    concentration : float or array_like, optional
        Prior pseudo-counts per cell.
    ax : matplotlib.axes.Axes, optional
        Where to draw a single measure; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        A panel for each measure: the interval for omega from 1/M (the average matrix) to 1 (plain
        pooling), the default marked.

    Examples
    --------
    >>> import bayescm as bcm
    >>> cells = {"tp": [6, 5, 7, 4], "fn": [4, 5, 3, 6], "fp": [4, 5, 3, 6], "tn": [6, 5, 7, 4]}
    >>> counts = bcm.from_cells(**cells).rename(batch="fold")
    >>> [axes.get_title() for axes in plot_omega(counts, ["precision", "recall"]).axes]
    ['precision', 'recall']
    """
    wanted = several(measures)
    counts = _one_evaluation(counts, *wanted)
    matrices = stack(counts).sizes["fold"]
    known = pooled_folds(counts)
    omegas = np.unique([*np.linspace(1 / matrices, 1, 40), known.omega])
    keywords: dict[str, Any] = {"model": "pooled_folds", "prob": prob, "kind": kind}
    if concentration is not None:
        keywords["concentration"] = concentration
    number = len(wanted)
    with canvas((3.6 * number + 0.6, 3.6), ax=ax, number=number, columns=number) as page:
        for axes, measure in zip(page.panels, wanted, strict=True):
            ends = np.stack([interval(counts, measure, omega=each, **keywords) for each in omegas])
            axes.fill_between(omegas, *ends.T, color=common.paint(0), alpha=0.25, linewidth=0)
            axes.plot(omegas, ends, color=common.paint(0), linewidth=1)
            axes.axhline(fold_micro(counts, measure).item(), color=common.grey(), linestyle=":")
            axes.axvline(known.omega, color=common.paint(1), linestyle="--")
            axes.set_title(kernels(measure, counts)[0].__name__)
            axes.set_xlabel("omega")
            axes.set_xlim(omegas[0], 1)
        words = common.words_for(prob, kind), common.positive_of(counts)
        lines = "dotted: all folds summed", f"dashed: the default, {known.omega:.3g}"
        page.heading(*words, *lines)
    return page.figure


def _one_evaluation(counts, *measures):
    """Return canonical counts of one cross-validation, or raise."""
    counts = as_counts(counts)
    stack(counts)
    others = [dim for dim in counts.dims[:-2] if dim not in ("repeat", "fold")]
    if others:
        first = {dim: 0 for dim in others}
        todo = f"select one, e.g. counts.isel({first})"
        raise fail("more than one cross-validation", others, "dims repeat and fold", todo)
    for kernel in [kernel for measure in measures for kernel in kernels(measure, counts)]:
        if np.ndim(kernel(np.ones((counts.sizes["actual"],) * 2))):
            todo = "use an average over the classes such as f1_macro, or a function of your own"
            raise fail(
                f"{kernel.__name__} has one value per class",
                kernel.__name__,
                "a single number",
                todo,
            )
    return counts
