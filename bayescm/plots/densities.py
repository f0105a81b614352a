"""Plots of posterior densities: single measures, pairs of measures, and effects of priors."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayescm.answers.interval import distribution_of, distributions_of, usual_measures
from bayescm.answers.measure import measure
from bayescm.answers.regions import region
from bayescm.answers.tables import value_and_interval
from bayescm.distributions.base import Distribution
from bayescm.distributions.batches import LazyDraws, together
from bayescm.distributions.decision import chance
from bayescm.distributions.empirical import Empirical, WeightedNodes
from bayescm.evidence.registry import type_of
from bayescm.fitting.question import Question
from bayescm.fitting.sampled import several_fits
from bayescm.measures.catalogue import resolve
from bayescm.measures.display_names import (
    DisplayNames,
    display_label,
    display_name,
    distinct_display_names,
    with_index,
)
from bayescm.measures.labelled import several
from bayescm.plots import style
from bayescm.plots.canvas import bare, canvas
from bayescm.plots.paper import NARROWEST, is_narrow
from bayescm.priors.pseudo_counts import named_priors
from bayescm.validate import check_kind, check_prob, fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH = 3.3  # width of a panel in inches
_HEIGHT = 2.4  # height of a panel in inches
_COLUMNS = 3  # panels in a row
MOST = 24  # largest number of legible panels
_WIDE_PANELS = 9  # with more panels, there is an additional column of narrower panels
_LEAST_HEIGHT = 1.6  # minimum height of a panel in inches, if panels fill a page
_LAYOUTS = 2  # layout passes after which the positions below a panel have converged
_OF_A_MEMBER = 0.4  # inches for two lines above a panel and an interval below, per member
_PAGE = 11.0  # height of a page in inches
_BELOW = 0.06  # distance between intervals below a panel, relative to its height
_LINES_OF_A_MEMBER = 3
# Minimum width in inches of a panel with the numbers of several members above, with 8-point text.
_WITH_NUMBERS = 2.8
# Width in inches below which the legend is placed below the axes.
_NARROW = 5.0
_POINTS = 400  # points of a density
_TAIL = 1e-4  # probability beyond each end of the plotted part
_QUANTILES = (100, 4000)  # minimum and maximum number of quantiles that represent weighted nodes
# Tails are cut at this multiple of the distance between an outer quantile and the median. For a
# normal distribution, this is about 8 standard deviations, so nothing visible is lost. It cuts off
# extreme tails, such as the tail of a number needed to diagnose that has a median of 4 and exceeds
# 100 once in a thousand.
_MIDDLE, _LONG = (0.025, 0.5, 0.975), 4


def plot_posterior(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measures: str | Callable | Sequence[str | Callable] | None = None,
    *,
    dim: str = "classifier",
    prob: float = 0.95,
    kind: str = "hdi",
    reference: float | Mapping[str, float] | None = None,
    rope: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
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
    Plot the posterior density of measures, with mean and interval.

    If the distribution of a measure is known, its exact density is plotted, and otherwise a kernel
    density estimate from draws. Measures of a future test set (``of="predictive"``) are discrete
    and plotted as steps. Panels of measures with the same finite range share the x axis.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts, outcomes of several classifiers, or a fit.
    measures : str, callable or a sequence of these, optional
        Measures to plot, with one panel for each measure and index of other dimensions. By default
        the measures of `bayescm.summary`.
    dim : str, default "classifier"
        Dimension to compare. Up to seven members share a panel, in different colours.
    prob : float in (0, 1), default 0.95
        Probability of the interval.
    kind : {"hdi", "eti"}
        Highest-density or equal-tailed intervals.
    reference : float or mapping of measure to float, optional
        Reference value, shown as a line with the probability of exceeding it.
    rope : tuple or mapping of measure to tuple, optional
        Lower and upper end of a region of practical equivalence, shown with its probability.
    of, n, model, concentration, positive, draws, random_seed, accuracy, **keywords
        See `bayescm.interval`.
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

    Raises
    ------
    ValueError
        If a measure is undefined in the whole posterior or infinite in most draws, if the rope is
        empty, or if there are too many panels.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> figure = plot_posterior(counts, ["precision", "f1"], reference=0.7)
    >>> len(figure.axes)
    2
    """
    check_prob(prob), check_kind(kind)
    measures = usual_measures(evidence) if measures is None else measures
    variable = type_of(evidence).measured_variable
    resolved = [resolve(name, variable) for name in several(measures)]
    question = Question(
        of, n, model, concentration, positive, draws, random_seed, accuracy, keywords
    )
    answers = distributions_of(evidence, several(measures), question)
    for distribution, template in answers:
        _check_defined(distribution, template.name)
        _check_rope(_of_measure(rope, template.name))
    parts = zip(resolved, answers, strict=True)
    panels = [
        panel for measure, (_, template) in parts for panel in _panels_of(measure, template, dim)
    ]
    most = max(len(panel.members) for panel in panels)
    written = distinct_display_names([panel.name for panel in panels], display_names)
    by_name = {template.name: distribution for distribution, template in answers}
    members = [
        (label,) if len(panel.members) > 1 else (*panel.where.values(),)
        for panel in panels
        for label, _ in panel.members
    ]
    labels = [label for of_member in members for label in of_member]
    style.check_colors(colors, [*labels, *(panel.name for panel in panels)])
    of_labels = {name: color for name, color in (colors or {}).items() if name in labels}
    looks = dict(zip(members, style.looks(members, of_labels), strict=True))
    with _panel_canvas(_check_few(panels), ax, most) as page:
        densities = {
            panel.name: density(by_name[panel.name], panel.range, panel.shape) for panel in panels
        }
        for axes, panel in zip(page.panels, panels, strict=True):
            distribution, shape = by_name[panel.name], panel.shape
            value, zone = _of_measure(reference, panel.name), _of_measure(rope, panel.name)
            centers = np.broadcast_to(distribution.center(), shape)
            ends, errors = distribution.interval_with_error(prob, kind)
            ends, errors = (np.broadcast_to(pair, (*shape, 2)) for pair in (ends, errors))
            above = None if value is None else np.broadcast_to(distribution.sf(value), shape)
            inside = None if zone is None else _mass(distribution, zone, shape)
            texts = []
            for i, (label, index) in enumerate(panel.members):
                alone = len(panel.members) == 1
                look = looks[tuple(panel.where.values()) if alone else (label,)]
                if alone and colors and panel.name in colors:
                    look = look._replace(color=colors[panel.name])
                _draw(axes, densities[panel.name][index], look)
                low, high = ends[index]
                color = style.foreground() if alone else look.color
                _draw_below(axes, centers[index], low, high, row=i, color=color)
                error = errors[index].max()
                lines = [value_and_interval(float(centers[index]), ends[index], error)]
                if above is not None:
                    lines.append(f"P(> {value:g}) {chance(float(above[index]))}")
                if inside is not None:
                    lines.append(f"P({zone[0]:g} to {zone[1]:g}) {chance(float(inside[index]))}")
                texts.append((display_label(label, display_names), lines))
            axes.spines["bottom"].set_position(("axes", -0.1 - _BELOW * (len(texts) - 1)))
            if value is not None:
                axes.axvline(value, color=style.foreground(), linestyle="--", linewidth=1)
            if zone is not None:
                axes.axvspan(*zone, color=style.color(4), alpha=0.25, linewidth=0)
            where = style.index_words(panel.where, display_names)
            _name_panel(axes, with_index(written[panel.name], where), texts)
        _share_ranges(page.panels, panels)
        without_mean = any(np.isinf(by_name[panel.name].mean()).any() for panel in panels)
        dot = "mean (median where that is infinite)" if without_mean else "mean"
        bars = f"dot and bar: {dot} and {style.interval_words(prob, kind)}"
        page.heading(bars, style.positive_class(evidence, positive, display_names))
        if page.is_new and most > 1:
            # The axis is placed below the intervals at a distance relative to the panel height.
            # This height changes with the layout, so the layout is computed repeatedly.
            for _ in range(_LAYOUTS):
                page.figure.draw_without_rendering()
    return page.figure


@dataclass(frozen=True)
class _Panel:
    """Measure at an index of its dimensions, with label and index of each compared member."""

    name: str
    range: tuple[float, float]
    shape: tuple[int, ...]
    where: Mapping[Hashable, Any]
    members: list[tuple[Any, tuple[int, ...]]]


def _panels_of(measure, template, dim):
    """Return the panels of a measure. Up to seven compared members share a panel."""
    labels = template.to_dataarray()
    over = [dim] if 1 < labels.sizes.get(dim, 1) <= style.MOST_COLORS else []
    positions = {name: labels.dims.index(name) for name in labels.dims}
    panels = []
    for index in np.ndindex(*(1 if name in over else labels.sizes[name] for name in labels.dims)):
        where = {
            name: labels[name].values.tolist()[index[axis]]
            for name, axis in positions.items()
            if name not in over
        }
        members = [("", index)]
        if over:
            axis = positions[dim]
            members = [
                (label, (*index[:axis], i, *index[axis + 1 :]))
                for i, label in enumerate(labels[dim].values.tolist())
            ]
        panels.append(_Panel(str(template.name), measure.range, labels.shape, where, members))
    return panels


def _name_panel(axes, name, texts):
    """Write the measure and the numbers of each member above a panel."""
    if len(texts) == 1:
        axes.set_title("\n".join([style.wrapped(name, 24), *texts[0][1]]), fontsize=9)
        return
    labels = [
        "\n".join(filter(None, [f"{style.wrapped(label, 24)} {lines[0]}", ", ".join(lines[1:])]))
        for label, lines in texts
    ]
    legend_position: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1)}
    axes.legend(
        axes.lines[: _LINES_OF_A_MEMBER * len(texts) : _LINES_OF_A_MEMBER],
        labels,
        title=name,
        fontsize=8,
        frameon=False,
        **legend_position,
    )


def _share_ranges(axes, panels):
    """Set common x limits for panels of measures with the same finite range."""
    ranges = [panel.range for panel in panels]
    for ends in set(ranges):
        shared = [one for one, of in zip(axes, ranges, strict=True) if of == ends]
        if len(shared) > 1 and np.isfinite(ends).all():
            limits = np.array([one.get_xlim() for one in shared])
            for one in shared:
                one.set_xlim(limits[:, 0].min(), limits[:, 1].max())


def _of_measure(setting, name):
    return setting.get(name) if isinstance(setting, Mapping) else setting


def _mass(distribution, zone, shape):
    low, high = zone
    return np.broadcast_to(distribution.cdf(high) - distribution.cdf(low), shape)


def _check_few(panels):
    """Return the number of panels, or raise an error if there are too many."""
    if len(panels) > MOST:
        todo = "select some, or use plot_forest"
        raise fail(
            f"The plot would have {len(panels)} panels; at most {MOST} are readable", ..., "", todo
        )
    return len(panels)


def _panel_canvas(number, ax, members=1):
    columns = min(_COLUMNS, number) if number <= _WIDE_PANELS else _COLUMNS + 1
    width = _WIDTH if number <= _WIDE_PANELS else _WIDTH * _COLUMNS / (_COLUMNS + 1) + 0.1
    lines, beneath = -(-number // columns), _OF_A_MEMBER * members if members > 1 else 0
    height = min(_HEIGHT + beneath, max(_PAGE / lines, _LEAST_HEIGHT + beneath))
    size = (max(width * columns, 4.5), height * lines + 0.4)
    narrowest = NARROWEST if members == 1 else _WITH_NUMBERS
    return canvas(size, ax=ax, number=number, columns=columns, narrowest=narrowest)


def _check_defined(distribution, name):
    if np.isnan(distribution.mean()).any():
        todo = "leave it out, or give the empty cells a prior"
        raise fail(f"{name} is undefined (0/0) in nearly every draw", ..., "", todo)
    if np.isinf(distribution.quantile(0.5)).any():
        todo = "leave it out: summary() has its interval"
        raise fail(f"{name} is infinite in most draws", ..., "", todo)


def _check_rope(rope):
    if rope is not None and not rope[0] < rope[1]:
        raise fail(
            "The rope must be (lower, upper) with lower < upper", rope, "", "pass e.g. (0.7, 0.8)"
        )


def _draw(axes, curve, look, label=None):
    """Plot a density, scaled to its height without infinite values at its ends."""
    axes.plot(*curve, look.line, color=look.color, linewidth=1.4, label=label)
    axes.fill_between(*curve, color=look.color, alpha=0.15, linewidth=0)
    axes.set_yticks([])
    bare(axes, left=False)
    top = 1.08 * np.max(curve[1][2:-2])
    axes.set_ylim(0, max(axes.get_ylim()[1] if len(axes.lines) > 1 else 0, top))


def _draw_below(axes, center, low, high, *, row, color):
    """Plot mean and interval below the density, with one row per member."""
    foot = -0.05 - _BELOW * row
    line = {"color": color, "transform": axes.get_xaxis_transform(), "clip_on": False}
    axes.plot([low, high], [foot, foot], linewidth=2.5, solid_capstyle="butt", **line)
    axes.plot(center, foot, "o", markersize=5, markerfacecolor=style.background(), **line)


def plot_prior_posterior(
    fitted: xr.DataTree,
    measures: str | Callable | Sequence[str | Callable] | None = None,
    *,
    positive: Any = None,
    display_names: DisplayNames = None,
    colors: style.Colors = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Overlay the prior and posterior densities of measures.

    Parameters
    ----------
    fitted : DataTree
        Fit with a proper prior.
    measures : str, callable or a sequence of these, optional
        Measures to plot, with one panel for each measure and index of other dimensions. By default
        the measures of `bayescm.summary`.
    positive : label, optional
        Positive class. It overrides the fit, and is required if the fit has none.
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

    See Also
    --------
    bayescm.plots.plot_priors : Posterior under several priors.

    Examples
    --------
    >>> import bayescm as bcm
    >>> tree = bcm.fit(bcm.from_cells(tp=6, fn=2, fp=3, tn=9), draws=500, random_seed=1)
    >>> figure = plot_prior_posterior(tree, ["precision", "recall"])
    >>> [axes.get_title() for axes in figure.axes]
    ['precision', 'recall']
    """
    if not isinstance(fitted, xr.DataTree) or "prior" not in fitted.children:
        raise fail(
            "A plot of prior and posterior needs the tree of a fit with a proper prior",
            ...,
            "",
            "use fit(counts) with a concentration above 0",
        )
    groups = {
        name: measure(fitted, measures, group=name, positive=positive)
        for name in ("prior", "posterior")
    }
    first_draw = groups["posterior"].isel(chain=0, draw=0)
    variables = list(first_draw.values())
    panels = [(values.name, where) for values in variables for where in style.panels(values, ())]
    resolved_measures = map(resolve, list(first_draw) if measures is None else several(measures))
    ranges = {
        name: resolved.range for name, resolved in zip(first_draw, resolved_measures, strict=True)
    }
    looks = style.roles(["posterior", "prior"], colors)
    with _panel_canvas(_check_few(panels), ax) as page:
        for axes, (name, where) in zip(page.panels, panels, strict=True):
            for group in ("prior", "posterior"):
                draws = Empirical(groups[group][name].sel(where).values.ravel())
                _check_defined(draws, name)
                _draw(axes, density(draws, ranges[name]), looks[group], group)
            title = style.label(name, where, display_names)
            axes.set_title(style.wrapped(title), fontsize=9)
        if page.is_new:
            # The legend is placed below the panels, where there is free space.
            handles = page.axes.get_legend_handles_labels()
            page.figure.legend(
                *handles, loc="outside lower center", ncols=2, frameon=False, fontsize=9
            )
        else:
            page.axes.legend(frameon=False, fontsize=8)
        page.heading("prior and posterior", style.positive_class(fitted, positive, display_names))
    return page.figure


def plot_priors(
    evidence: xr.DataArray,
    priors: Any,
    measure: str | Callable,
    *,
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    display_names: DisplayNames = None,
    colors: style.Colors = None,
    ax: "Axes | None" = None,
    **keywords: Any,
) -> "Figure":
    """
    Plot the posterior density of a measure under several priors.

    Parameters
    ----------
    evidence : DataArray, dims (actual, predicted)
        Counts.
    priors : mapping of str to concentration, or one concentration
        Priors by name, such as ``{"flat": 1.0, "experts": priors.elicit(...)}``.
    measure : str or callable
    of, n, model, positive, draws, random_seed, **keywords
        See `bayescm.interval`.
    display_names : mapping of str to str, optional
        Display names of measures, dimensions and labels, such as ``{"f1": "F-measure", "rf":
        "random forest"}``.
    colors : mapping of str to color, optional
        Colours by name, such as ``{"rf": "tab:red"}``. Other names keep the same colour in all
        plots of a session.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on. By default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=50, fn=30, fp=30, tn=35)
    >>> experts = bcm.priors.elicit(precision=0.6, recall=0.65, accuracy=0.6, weight=72.5)
    >>> figure = plot_priors(counts, {"flat": 1.0, "experts": experts}, "f1")
    >>> len(figure.axes[0].lines)
    2
    """
    priors = named_priors(priors)
    question = Question(of, n, model, None, positive, draws, random_seed, None, keywords)
    looks = style.looks([[name] for name in priors], colors)
    with canvas((6, 3.6), ax=ax) as page, several_fits(len(priors)):
        for (name, prior), look in zip(priors.items(), looks, strict=True):
            of_prior = replace(question, concentration=prior)
            distribution, template = distribution_of(evidence, measure, of_prior)
            if template.ndim:
                todo = "select one matrix, and average over classes (e.g. f1_macro)"
                raise fail(
                    "There must be one density per prior, but the evidence has the dimensions {}",
                    template.dims,
                    "",
                    todo,
                )
            line = {
                "color": look.color,
                "ls": look.line,
                "label": style.wrapped(display_label(name, display_names)),
            }
            page.axes.plot(*density(distribution), **line)
        name = display_name(str(template.name), display_names)
        page.axes.set(xlabel=name, ylabel="posterior density", ylim=(0, None))
        bare(page.axes)
        page.axes.legend(frameon=False)
        page.heading("posterior by prior", style.positive_class(evidence, positive, display_names))
    return page.figure


def density(
    distribution: Distribution,
    ends: tuple = (None, None),
    shape: tuple[int, ...] | None = None,
) -> np.ndarray:
    """
    Return the density of a distribution, and the points at which it is evaluated.

    The exact density is used if it is available. Draws are smoothed with a kernel, and discrete
    distributions are shown as steps.

    Parameters
    ----------
    distribution : Distribution
        Batch of distributions, shape (...).
    ends : pair of float or None
        Range of the plot. Kernel estimates are reflected at its ends.
    shape : tuple of int, optional
        Target shape for broadcasting the batch.

    Returns
    -------
    ndarray, shape (..., 2, points)
        Points and density.
    """
    if isinstance(distribution, LazyDraws):
        curves = together([distribution], lambda drawn: _estimate(drawn.draws, ends))[0]
    elif isinstance(distribution, WeightedNodes):
        # The cdf has steps at the nodes, so quantiles are smoothed like draws. The number of
        # quantiles determines the bandwidth, so it is the effective number of nodes.
        number = int(np.clip(1 / (distribution.weights**2).sum(), *_QUANTILES))
        even = (np.arange(number) + 0.5) / number
        curves = _estimate(distribution.quantile(even), ends)
    elif isinstance(distribution, Empirical):
        curves = _estimate(distribution.draws, ends)
    else:
        curves = _density(distribution)
    return curves if shape is None else np.broadcast_to(curves, (*shape, *curves.shape[-2:]))


def _estimate(draws, ends):
    """Return a kernel density estimate from draws (size, ...), ignoring NaN."""
    curves = np.empty((*draws.shape[1:], 2, _POINTS))
    for index in np.ndindex(draws.shape[1:]):
        curves[index] = _kernel(draws[:, *index], ends)
    return curves


def _kernel(draws, ends):
    from arviz_stats.base import array_stats

    draws = draws[np.isfinite(draws)]
    least, most = _readable(*np.quantile(draws, _MIDDLE))
    draws = draws[(least <= draws) & (draws <= most)]
    low, high = draws.min(), draws.max()
    if low == high:
        return _steps(Empirical(draws), low, high)
    room = 0.05 * (high - low)
    low = low - room if ends[0] is None else max(low - room, ends[0])
    high = high + room if ends[1] is None else min(high + room, ends[1])
    # ArviZ's default bandwidth would show the noise of the draws, but these densities are smooth.
    settings = {"bw_fct": 1.5, "bound_correction": True, "grid_len": _POINTS}
    return np.stack(array_stats.kde(draws, custom_lims=(low, high), **settings)[:2])


def _readable(low, middle, high):
    """Return limits that cut long tails, so that the middle of the density is visible."""
    return middle - _LONG * (middle - low), middle + _LONG * (high - middle)


def _density(distribution):
    low, high = (np.asarray(distribution.quantile(q), float) for q in (_TAIL, 1 - _TAIL))
    for q in (0.99, *_MIDDLE[::-1]):  # used if quantiles further out are infinite
        high = np.where(np.isinf(high), distribution.quantile(q), high)
    least, most = _readable(*(np.asarray(distribution.quantile(q), float) for q in _MIDDLE))
    low, high = np.maximum(low, least), np.minimum(high, most)
    room = 0.05 * (high - low)
    least, most = (np.asarray(end, float) for end in distribution.support)
    # Extend to a nearby end of the support, at which the density is 0 or infinite.
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
    """Return a histogram as a line, for a distribution without a density."""
    spread = np.where(high > low, high - low, 1e-3 * np.maximum(np.abs(high), 1))
    edges = np.linspace(low - 0.02 * spread, high + 0.02 * spread, _POINTS // 8 + 1)
    heights = np.diff([distribution.cdf(edge) for edge in edges], axis=0) / np.diff(edges, axis=0)
    x = np.repeat(edges, 2, axis=0)[1:-1]
    y = np.repeat(heights, 2, axis=0)
    pad = np.linspace(0, len(x) - 1, _POINTS).round().astype(int)  # equal number of points
    return np.stack([np.moveaxis(values[pad], 0, -1) for values in (x, y)])


def plot_region(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measures: tuple[str | Callable, str | Callable] = ("recall", "precision"),
    *,
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
    Plot the joint posterior of two measures as highest-density regions.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts, outcomes of several classifiers, or a fit. There is a region for every index of the
        other dimensions, up to seven.
    measures : pair of str or callable, default ("recall", "precision")
        Measures on the x and y axis. For recall and precision, lines of equal F1 are added.
    prob : float in (0, 1), default 0.95
        Probability of the outer region. The inner region contains half of the posterior.
    of, n, model, concentration, positive, draws, random_seed, **keywords
        See `bayescm.interval`.
    display_names : mapping of str to str, optional
        Display names of measures, dimensions and labels, such as ``{"f1": "F-measure", "rf":
        "random forest"}``.
    colors : mapping of str to color, optional
        Colours by name, such as ``{"rf": "tab:red"}``. Other names keep the same colour in all
        plots of a session.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on. By default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import bayescm as bcm
    >>> axes = plot_region(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), draws=2000).axes[0]
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('recall', 'precision')
    """
    check_prob(prob)
    if len(several(measures)) != 2:
        todo = 'pass `measures=("recall", "precision")`'
        raise fail("A region needs exactly two measures", measures, "", todo)
    asked: dict[str, Any] = {"of": of, "n": n, "draws": draws, "random_seed": random_seed}
    asked |= {"model": model, "concentration": concentration, "positive": positive, **keywords}
    outer = region(evidence, (measures[0], measures[1]), prob=prob, **asked)
    inner = region(evidence, (measures[0], measures[1]), prob=0.5, **asked)
    members = style.panels(outer["level"], ())
    style.check_few(members, "regions")
    names = [", ".join(style.index_words(where, display_names)) for where in members]
    width = 5.6 if len(members) == 1 else 6.2 + 0.08 * min(style.longest_line(names), 30)
    with canvas((width, 5.6), ax=ax) as page:
        ends = [
            _draw_region(page.axes, look, outer.sel(where), inner["level"].sel(where).item(), name)
            for (where, look), name in zip(style.looks_at(members, colors), names, strict=True)
        ]
        variable = type_of(evidence).measured_variable
        resolved_measures = [resolve(name, variable) for name in measures]
        _frame(page.axes, resolved_measures, np.array(ends), display_names)
        if len(members) > 1:
            # The legend is outside the axes, because loc="best" ignores the regions.
            legend_position: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1)}
            if page.is_new and page.figure.get_figwidth() < _NARROW:
                legend_position = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16)}
            page.axes.legend(fontsize=9, frameon=False, **legend_position)
        levels = f"dot: mean; 50% and {100 * prob:g}% highest-density region"
        page.heading(levels, style.positive_class(evidence, positive, display_names))
    return page.figure


def _draw_region(axes, look, outer, inner_level, name):
    """Plot the regions of one member, the outer one first, and its mean, and return their ends."""
    grid, color = outer["density"], look.color
    x, y = (grid.coords[dim].values for dim in grid.dims)
    values = grid.values
    axes.plot(
        np.average(x, weights=values.sum(1)),
        np.average(y, weights=values.sum(0)),
        look.marker,
        color=style.background(),
        markeredgecolor=color,
        linestyle="none",
        zorder=3,
        label=style.wrapped(name) or None,
    )
    level = outer["level"].item()
    for height, alpha in ((level, 0.06 if name else 0.2), (inner_level, 0.35)):
        axes.contourf(x, y, values.T, [height, 2 * values.max()], colors=[color], alpha=alpha)
        axes.contour(x, y, values.T, [height], colors=[color], linewidths=1.3)
    inside = values >= level
    return x[inside.any(1)][[0, -1]], y[inside.any(0)][[0, -1]]


def _frame(axes, measures, ends, display_names):
    axes.set_xlabel(display_name(measures[0], display_names))
    axes.set_ylabel(display_name(measures[1], display_names))
    bare(axes)
    low, high = ends[..., 0].min(axis=0), ends[..., 1].max(axis=0)
    low, high = low - 0.08 * (high - low), high + 0.08 * (high - low)
    if all(measure.range == (0, 1) for measure in measures):
        # Both axes have the same scale and length, within [0, 1].
        length = min(1.0, (high - low).max())
        low = np.clip((low + high - length) / 2, 0, 1 - length)
        high = low + length
        axes.set_aspect("equal")
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    if {measure.canonical for measure in measures} == {"recall", "precision"}:
        equal_f1(axes)


def equal_f1(axes):
    """Plot lines of equal F1 in the background."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    x, y = np.linspace(left, right, 300), np.linspace(low, high, 300)[:, None]
    f1 = 2 * x * y / np.maximum(x + y, 1e-9)
    levels = np.arange(0.1, 1, 0.1)
    lines = axes.contour(
        x, y.ravel(), f1, levels, colors=[style.muted(0.25)], linewidths=0.8, zorder=0
    )
    if is_narrow():  # otherwise the legend would cover the labels
        return
    axes.clabel(lines, fmt="F1 %.1f", fontsize=7, colors=[style.muted(0.6)])
