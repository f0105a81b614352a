"""Calibration curves of probabilities with bands, and CORP reliability diagrams."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from bayescm.answers.summary import summary
from bayescm.answers.tables import value_and_interval
from bayescm.classical.probabilities import corp
from bayescm.curves import calibration
from bayescm.curves.calibration import views
from bayescm.evidence.scores import forecasts_differ
from bayescm.measures.display_names import DisplayNames, display_label, display_name
from bayescm.plots import style
from bayescm.plots.canvas import band, canvas
from bayescm.validate import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BINS = 40
_MOST_INSIDE = 2  # largest number of classifiers in a legend inside the panel
_INCHES_OF_LABELS = 2.6  # width in inches of the legend of one classifier, with 8-point text
_LINE = 0.13  # height in inches of a line of the legend, with 8-point text
_NARROWEST = 2.8  # minimum width in inches of a panel with its legend, with 8-point text
_PANELS = 12  # largest number of panels, for the classes and the top label
# Meaning of the band for each method of `bayescm.curves.calibration.curve`.
_HOLDS = {
    "smooth": "of a smooth curve",
    "isotonic": "isotonic, of a curve that never falls",
    "binomial": "binomial, of each forecast value",
    "grouped": "binomial, of means over groups of forecasts",
}


def plot_calibration(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    simultaneous: bool = True,
    display_names: DisplayNames = None,
    colors: style.Colors = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Plot calibration curves with bands.

    Calibration curves show how often the forecast event occurs, as a function of the forecast. With
    more than two classes, there is a panel for each class against the rest, and one for the highest
    probability. A histogram of the forecasts is shown below the curves. The legend contains the
    expected calibration error and the calibration slope, with equal-tailed intervals of the same
    probability.

    The band refers to a smooth curve, to a monotone curve that may jump, to single forecast values
    if there are few (shown as bars), or to means over groups of forecasts. The heading states
    which of these it is, or the legend if the curves differ.

    Parameters
    ----------
    evidence : Dataset
        Probabilities, with at most 11 classes. See :func:`bayescm.from_probabilities`.
    prob : float, default 0.95
        Probability of the band, and of the intervals in the legend.
    simultaneous : bool, default True
        Whether the band is simultaneous or pointwise, as stated in the plot.
    display_names : mapping of str to str, optional
        Display names of measures and labels, such as ``{"ece": "calibration error", "rf": "random
        forest"}``.
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
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(300)
    >>> axes = plot_calibration(bcm.from_probabilities(rng.random(300) < p, p)).axes[0]
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('predicted probability', 'observed proportion')
    """
    curve_of = partial(calibration.curve, prob=prob, simultaneous=simultaneous)
    panels = [
        (title, [(name, view, curve_of(view)) for name, view in members])
        for title, members in _panels(evidence, display_names)
    ]
    curves = [curve for _, members in panels for *_, curve in members]
    methods = {str(name) for curve in curves for name in np.atleast_1d(curve["method"])}
    single = len(panels) == 1
    names = [[*_classifiers(view, name)] for _, members in panels for name, view, _ in members]
    drawn = list(dict.fromkeys(name for several in names for name in several))
    style.check_few(drawn)
    labels = [() if name is None else (name,) for name in drawn]
    looks = dict(zip(drawn, style.looks(labels, colors), strict=True))
    columns = int(np.ceil(np.sqrt(len(panels))))
    size = (5.6, 5.8) if single else (3.6 * columns, 3.7 * -(-len(panels) // columns) + 0.3)
    with canvas(size, ax=ax, number=len(panels), columns=columns, narrowest=_NARROWEST) as page:
        for axes, (title, members) in zip(page.panels, panels, strict=True):
            _unit_square(axes)
            if title:
                axes.set_title(title, fontsize=9)
            _draw_curves(axes, members, prob, len(methods) > 1, looks, display_names)
            if not (is_below := single and page.is_new and len(drawn) > _MOST_INSIDE):
                axes.legend(fontsize=8 if single else 7, loc="upper left")
        if is_below:
            _legend_below(page)
        holds = _HOLDS[methods.pop()] if len(methods) == 1 else "see the legend for each band"
        covers = style.short_band_words(prob, simultaneous)
        page.heading(covers, holds, style.positive_class(evidence, display_names=display_names))
    return page.figure


def _legend_below(page):
    """Write the legend below the panel, where it covers no curve, and enlarge the figure."""
    handles, labels = page.axes.get_legend_handles_labels()
    columns = 2 if page.figure.get_figwidth() > 2 * _INCHES_OF_LABELS * page.scale else 1
    page.figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, fontsize=8, frameon=False
    )
    lines = sum(label.count("\n") + 1.5 for label in labels) / columns
    page.figure.set_figheight(page.figure.get_figheight() + _LINE * page.scale * lines)


def _panels(evidence, display_names):
    """Return panel titles, with the two-class probabilities to plot by classifier name."""
    classes = views(evidence)
    if not classes[0][0]:
        return [("", [(None, evidence)])]
    if len(classes) >= _PANELS:
        raise fail(
            f"The plot has at most {_PANELS - 1} panels, but there are {len(classes)} classes",
            ...,
            "",
            "plot one class, curves.one_vs_rest(evidence, label), or the highest "
            "probability, curves.top_label(evidence)",
        )
    panels = [
        (" ".join(style.index_words({"class": where["class"]}, display_names)), [(None, view)])
        for where, view in classes
    ]
    top = views(evidence, top_label=True)
    highest = [(where.get("classifier"), view) for where, view in top]
    return [*panels, ("the highest probability", highest)]


def _unit_square(axes):
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.set(xlabel="predicted probability", ylabel="observed proportion")
    axes.plot([0, 1], [0, 1], color=style.muted(), linewidth=0.8, linestyle=":")


def _draw_curves(axes, members, prob, methods_differ, looks, display_names):
    """Plot the curve of each classifier and member above the histogram of its forecasts."""
    for name, evidence, curves in members:
        labels = _labels(evidence, name, prob, display_names)
        for j, (classifier, label) in enumerate(
            zip(_classifiers(evidence, name), labels, strict=True)
        ):
            one = {"classifier": j} if "classifier" in curves.dims else {}
            curve, color = curves.isel(one), looks[classifier].color
            method = curve["method"].item()
            label = f"{label}\n{_HOLDS[method]}" if methods_differ else label
            _draw_curve(axes, curve.dropna("probability"), method, color, label)
            _histogram(axes, evidence["score"].isel(one).values, evidence.get("weight"), color)


def _draw_curve(axes, curve, method, color, label):
    """Plot a curve with the band of its method."""
    x, middle = curve["probability"].values, curve["estimate"].values
    low, high = curve["interval"].values.T
    if method == "smooth":
        band(axes, x, curve["interval"], middle, color=color, label=label)
    elif method == "binomial":
        distance = [middle - low, high - middle]
        axes.errorbar(x, middle, distance, color=color, label=label, fmt="o", ms=4, capsize=3)
    elif method == "grouped":
        axes.fill_between(x, low, high, step="mid", color=color, alpha=0.2, linewidth=0)
        axes.plot(x, middle, color=color, label=label, drawstyle="steps-mid")
    else:
        # Between two points, the band of a monotone curve extends from the lower end at the left
        # point to the upper end at the right point.
        x, middle = np.repeat(x, 2)[1:-1], np.repeat(middle, 2)[1:-1]
        ends = np.stack([np.repeat(low[:-1], 2), np.repeat(high[1:], 2)], axis=-1)
        band(axes, x, ends, middle, color=color, label=label, drawstyle="steps-post")


def _classifiers(evidence, name):
    """Return the names of the classifiers, or the given name if there is no such dimension."""
    return evidence["classifier"].values.tolist() if "classifier" in evidence.dims else [name]


def _labels(evidence, name, prob, display_names):
    """Return the legend entry of each classifier."""
    measures = ["ece", *(["calibration_slope"] if forecasts_differ(evidence) else [])]
    table = summary(evidence, measures, prob=prob, kind="eti")
    written = [display_name(measure, display_names) for measure in measures]
    has_classifiers = "classifier" in evidence.dims
    lines = []
    for classifier in _classifiers(evidence, name):
        rows = table[table["classifier"] == classifier] if has_classifiers else table
        numbers = [
            f"{word} {value_and_interval(row.point, (row.lower, row.upper), row.error)}"
            for word, row in zip(written, rows.itertuples(), strict=True)
        ]
        label = [] if classifier is None else [display_label(classifier, display_names)]
        lines.append("\n".join([*label, *numbers]))
    return lines


def _histogram(axes, scores, weight, color):
    """Plot a histogram of the forecasts at the bottom of the panel."""
    counts, edges = np.histogram(scores, bins=_BINS, range=(0, 1), weights=weight)
    height = 0.12 * counts / counts.max()
    axes.stairs(height, edges, color=color, alpha=0.7, linewidth=0.8)


def plot_corp(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    draws: int = 1000,
    random_seed: int = 0,
    display_names: DisplayNames = None,
    colors: style.Colors = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Plot CORP reliability diagrams: isotonic regression with consistency bands.

    The legend contains the components of the Brier score: miscalibration, discrimination and
    uncertainty.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two classes. See :func:`bayescm.from_probabilities`.
    prob, draws, random_seed
        See :func:`bayescm.classical.corp`.
    display_names : mapping of str to str, optional
        Display names of measures and labels, such as ``{"ece": "calibration error", "rf": "random
        forest"}``.
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
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(200)
    >>> figure = plot_corp(bcm.from_probabilities(rng.random(200) < p, p), draws=100)
    >>> figure.axes[0].get_ylabel()
    'observed proportion'
    """
    diagram = corp(evidence, prob=prob, draws=draws, random_seed=random_seed)
    named = "classifier" in diagram.dims
    with canvas((5.6, 5.8), ax=ax) as page:
        axes = page.axes
        _unit_square(axes)
        names = diagram["classifier"].values.tolist() if named else [None]
        style.check_few(names)
        looks = style.looks([(name,) if named else () for name in names], colors)
        for i, (name, look) in enumerate(zip(names, looks, strict=True)):
            curve = diagram.isel(classifier=i) if named else diagram
            curve = curve.dropna("probability", subset=["recalibrated"]).sortby("probability")
            parts = [
                f"{display_name(word, display_names)} {curve[word].item():.3f}"
                for word in ("miscalibration", "discrimination", "uncertainty")
            ]
            label = "\n".join([*([display_label(name, display_names)] if named else []), *parts])
            line = {"color": look.color, "label": label}
            band(axes, curve["probability"], curve["consistency"], curve["recalibrated"], **line)
        axes.legend(fontsize=8, loc="upper left")
        lies = f"where right forecasts lie with probability {prob:g}, pointwise"
        page.heading(lies, style.positive_class(evidence, display_names=display_names))
    return page.figure
