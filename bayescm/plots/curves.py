"""Plots of ROC and precision-recall curves, their summaries, and thresholds."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from scipy.special import expit, logit

from bayescm import curves
from bayescm.answers.tables import decimals, value_and_interval
from bayescm.curves.roc import interval_of, observed_curves
from bayescm.distributions.empirical import Empirical
from bayescm.measures.display_names import DisplayNames, display_label, display_name
from bayescm.measures.labelled import several
from bayescm.plots import interactive, style
from bayescm.plots.canvas import band, bare, canvas
from bayescm.plots.densities import density, equal_f1
from bayescm.validate import check_prob, fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_SMOOTH = 100  # number of points of a curve over prevalences
_TICKS = 8  # with more listed prevalences, ticks are `_ROUND`
_ROUND = [digit * 10.0**power for power in (-4, -3, -2, -1) for digit in (1, 2, 5)]


def plot_roc(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    simultaneous: bool = True,
    lines: int = 0,
    threshold: float | None = None,
    model: str | None = None,
    random_seed: int = 0,
    display_names: DisplayNames = None,
    colors: style.Colors = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Plot ROC curves with bands.

    The legend contains the area under each curve with its interval.

    Parameters
    ----------
    evidence : Dataset
        Scores. There is a curve for each classifier, class and fold, up to seven.
    prob : float, default 0.95
    simultaneous : bool, default True
        Whether the band is simultaneous or pointwise, as stated in the plot.
    lines : int, default 0
        Number of posterior draws to add.
    threshold : float, optional
        Operating point to mark, with intervals of both rates.
    model : {"scores", "binormal"}, optional
    random_seed : int, default 0
    display_names : mapping of str to str, optional
        Display names of labels and axes, such as ``{"tpr": "sensitivity", "rf": "random forest"}``.
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
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], range(8))
    >>> axes = plot_roc(evidence, threshold=3).axes[0]
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('false positive rate', 'true positive rate')
    """
    options: dict[str, Any] = {"model": model, "random_seed": random_seed}
    draws = curves.roc_draws(evidence, draws=max(lines, 2), **options)[:lines]
    bands = curves.roc(evidence, prob=prob, simultaneous=simultaneous, **options)["tpr"]
    areas = curves.auc(evidence, prob=prob, **options)
    with canvas((5.6, 5.8), ax=ax) as page:
        names = (
            style.axis_name("fpr", "false positive rate", display_names),
            style.axis_name("tpr", "true positive rate", display_names),
        )
        _square(page.axes, *names)
        page.axes.plot([0, 1], [0, 1], color=style.muted(), linewidth=0.8, linestyle=":")
        area = display_name("auc", display_names)
        members = style.looks_at(_members(bands, ("fpr", "bound")), colors)
        shown = _draw_curves(
            page.axes, evidence, ("fpr", "tpr"), bands, draws, area, areas, members, display_names
        )
        if threshold is not None:
            _operating_point(page.axes, evidence, ("fpr", "recall"), threshold, prob, members)
        page.axes.legend(fontsize=8, loc="lower right")
        page.interactive(partial(interactive.curves, shown, *names))
        page.heading(
            style.band_words(prob, simultaneous),
            style.positive_class(evidence, display_names=display_names),
        )
    return page.figure


def plot_precision_recall(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    simultaneous: bool = True,
    lines: int = 0,
    threshold: float | None = None,
    model: str | None = None,
    random_seed: int = 0,
    display_names: DisplayNames = None,
    colors: style.Colors = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Plot precision-recall curves with bands, over lines of equal F1.

    Parameters
    ----------
    evidence, prob, simultaneous, lines, threshold, model, random_seed, display_names, colors, ax
        See `plot_roc`.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], range(8))
    >>> axes = plot_precision_recall(evidence).axes[0]
    >>> axes.get_ylabel()
    'precision'
    """
    options: dict[str, Any] = {"model": model, "random_seed": random_seed}
    draws = curves.precision_recall_draws(evidence, draws=max(lines, 2), **options)[:lines]
    bands = curves.precision_recall(evidence, prob=prob, simultaneous=simultaneous, **options)
    areas = curves.average_precision(evidence, prob=prob, **options)
    share = f"prevalence {evidence.prevalence.item():g}" if "prevalence" in evidence.coords else ""
    with canvas((5.6, 5.8), ax=ax) as page:
        axes = page.axes
        names = (display_name("recall", display_names), display_name("precision", display_names))
        _square(axes, *names)
        equal_f1(axes)
        rates, area = ("tpr", "precision"), display_name("average_precision", display_names)
        precision = bands["precision"]
        members = style.looks_at(_members(precision, (precision.dims[-2], "bound")), colors)
        shown = _draw_curves(
            axes, evidence, rates, precision, draws, area, areas, members, display_names
        )
        if threshold is not None:
            _operating_point(axes, evidence, ("recall", "precision"), threshold, prob, members)
        axes.legend(fontsize=8, loc="best")
        page.interactive(partial(interactive.curves, shown, *names))
        page.heading(
            style.band_words(prob, simultaneous),
            share,
            style.positive_class(evidence, display_names=display_names),
        )
    return page.figure


def _square(axes, across, up):
    axes.set(xlim=(0, 1), ylim=(0, 1.005), aspect="equal", xlabel=across, ylabel=up)
    bare(axes)


def _draw_curves(axes, evidence, rates, bands, draws, area, areas, members, display_names):
    """Plot bands, draws and empirical curves, labelled with their areas, and return them."""
    dim, shown = bands.dims[-2], []
    digits = decimals(areas.attrs.get("error", np.nan), 3)
    observed = observed_curves(evidence)
    for i, (where, look) in enumerate(members):
        color, x, ends = look.color, bands[dim].values, bands.sel(where).values
        band(axes, x, ends, color=color)
        for curve in draws.sel(where).values:
            axes.plot(x, curve, color=color, alpha=0.15, linewidth=0.6)
        points = _points(observed.curves[i])
        low, high = areas.sel(where).values
        label = f"{area} [{low:.{digits}f}, {high:.{digits}f}]"
        if where:
            labels = [display_label(value, display_names) for value in where.values()]
            name = style.wrapped(", ".join(labels), 36)
            label = f"{name}: {label}"
        across, up = (points[name] for name in rates)
        axes.plot(across, up, look.line, color=color, linewidth=1.4, label=label)
        curve = {"name": label, "x": across, "y": up, "grid": x, "band": ends}
        shown.append(curve | {"color": color})
    return shown


def _points(curve):
    """Return the rates of a curve at its points, and the precision by Bayes' rule."""
    fpr, tpr, prevalence = curve.fpr[0], curve.tpr[0], curve.prevalence[0]
    with np.errstate(invalid="ignore"):
        precision = prevalence * tpr / (prevalence * tpr + (1 - prevalence) * fpr)
    return {"fpr": fpr, "tpr": tpr, "precision": precision}


def _operating_point(axes, evidence, names, threshold, prob, members):
    """Mark a threshold with intervals of both rates."""
    intervals = curves.at_threshold(evidence, list(names), threshold, prob=prob, kind="eti")
    medians = {
        name: curves.threshold(evidence, name, at=[threshold])["median"].isel(threshold=0)
        for name in names
    }
    for i, (where, look) in enumerate(members):
        x, y = (float(medians[name].sel(where)) for name in names)
        (left, right), (low, high) = (intervals[name].sel(where).values for name in names)
        axes.errorbar(
            x,
            y,
            xerr=[[x - left], [right - x]],
            yerr=[[y - low], [high - y]],
            fmt=look.marker,
            color=look.color,
            markeredgecolor=style.background(),
            capsize=2,
            linewidth=1,
            label=f"threshold {threshold:g}" if i == 0 else None,
            zorder=3,
        )


def plot_curve_numbers(
    evidence: xr.Dataset,
    measure: str | Callable = "auc",
    *,
    prob: float = 0.95,
    kind: str = "eti",
    model: str | None = None,
    random_seed: int = 0,
    display_names: DisplayNames = None,
    colors: style.Colors = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Plot the posterior density of a summary of each curve, with mean and interval.

    Parameters
    ----------
    evidence : Dataset
        Scores.
    measure : str or callable
        See :func:`bayescm.curves.number_draws`: ``"auc"``, ``"average_precision"``, ...
    prob : float, default 0.95
    kind : {"eti", "hdi"}
    display_names : mapping of str to str, optional
        Display names of measures, dimensions and labels, such as ``{"f1": "F-measure", "rf":
        "random forest"}``.
    colors : mapping of str to color, optional
        Colours by name, such as ``{"rf": "tab:red"}``. Other names keep the same colour in all
        plots of a session.
    model, random_seed, ax
        See `plot_roc`.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], range(8))
    >>> axes = plot_curve_numbers(evidence, "auc").axes[0]
    >>> axes.get_xlabel()
    'AUC'
    """
    check_prob(prob)
    values = curves.number_draws(
        evidence, measure, model=model, draws=20_000, random_seed=random_seed
    )
    intervals = interval_of(values, prob, kind)
    members = _members(values, ("draw",))
    with canvas((5.6, 3.6), ax=ax) as page:
        axes = page.axes
        for where, look in style.looks_at(members, colors):
            color, draws = look.color, values.sel(where).values
            distribution = Empirical(draws)
            x, y = density(distribution, (0, 1))
            low, high = intervals.sel(where).values
            center = np.nanmean(draws)
            name = style.wrapped(style.label(values.name, where, display_names), 40)
            error = float(distribution.interval_with_error(prob, kind)[1].max())
            label = f"{name} {value_and_interval(center, (low, high), error)}"
            axes.plot(x, y, look.line, color=color, label=label)
            inside = (x >= low) & (x <= high)
            axes.fill_between(x[inside], y[inside], color=color, alpha=0.2, linewidth=0)
            axes.plot(center, 0, look.marker, color=color, clip_on=False, zorder=3)
        low, high = np.nanquantile(values.values, [0.0005, 0.9995])
        axes.set(xlim=(low, high), xlabel=display_name(str(values.name), display_names), yticks=[])
        # The legend is above the densities, with one line per density.
        axes.set_ylim(0, axes.get_ylim()[1] * (1 + 0.11 * len(members)))
        bare(axes, left=False)
        axes.legend(fontsize=8, loc="upper left", frameon=False)
        interval = f"marker: mean; filled: {style.interval_words(prob, kind)}"
        page.heading(interval, style.positive_class(evidence, display_names=display_names))
    return page.figure


def plot_threshold(
    evidence: xr.Dataset,
    measures: str | Callable | Sequence[str | Callable],
    *,
    at: Any = None,
    prob: float = 0.95,
    simultaneous: bool = True,
    random_seed: int = 0,
    display_names: DisplayNames = None,
    colors: style.Colors = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Plot measures as functions of the threshold, with bands.

    Parameters
    ----------
    evidence : Dataset
        Scores of two classes. There is a line for each measure, classifier and fold, up to seven.
        Several classifiers must have scores on a common scale.
    measures : name, function, or sequence of these
    at : array_like, optional
        Thresholds.
    display_names : mapping of str to str, optional
        Display names of measures, dimensions and labels, such as ``{"f1": "F-measure", "rf":
        "random forest"}``.
    colors : mapping of str to color, optional
        Colours by name, such as ``{"rf": "tab:red"}``. Other names keep the same colour in all
        plots of a session.
    prob, simultaneous, random_seed, ax
        See `bayescm.plot_roc`.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], range(8))
    >>> axes = plot_threshold(evidence, ["recall", "f1"]).axes[0]
    >>> axes.get_xlabel()
    'threshold: predicted positive at or above'
    """
    options: dict[str, Any] = {
        "at": at,
        "prob": prob,
        "simultaneous": simultaneous,
        "random_seed": random_seed,
    }
    answers = [curves.threshold(evidence, measure, **options) for measure in several(measures)]
    lines = [
        (data.sel(where), where)
        for data in answers
        for where in style.panels(data["median"], ["threshold"])
    ]
    style.check_few(lines)
    names = [next(iter(data.data_vars)) if len(answers) > 1 else None for data, _ in lines]
    drawn = [
        where if name is None else {**where, "measure": name}
        for name, (_, where) in zip(names, lines, strict=True)
    ]
    looks = [look for _, look in style.looks_at(drawn, colors)]
    with canvas((6.4, 4.2), ax=ax) as page:
        axes = page.axes
        for (data, where), look in zip(lines, looks, strict=True):
            name = next(iter(data.data_vars))
            label = style.wrapped(style.label(name, where, display_names), 40)
            line = {"color": look.color, "linestyle": look.line, "label": label}
            band(axes, data["threshold"], data[name], data["median"], **line)
        axes.set(xlabel="threshold: predicted positive at or above")
        bare(axes)
        axes.legend(fontsize=8, loc="best")
        page.heading(
            f"line: median; {style.band_words(prob, simultaneous)}",
            style.positive_class(evidence, display_names=display_names),
        )
    return page.figure


def plot_predictive_values(
    evidence: xr.DataArray,
    prevalence: Any = None,
    *,
    measures: str | Callable | Sequence[str | Callable] = ("ppv", "npv"),
    prob: float = 0.95,
    kind: str = "hdi",
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
    Plot predictive values as functions of the prevalence, with pointwise bands.

    Listed prevalences are marked, and the curves between them are interpolated. The axis has a tick
    at each listed prevalence if there are at most eight.

    Parameters
    ----------
    evidence : DataArray, dims (..., actual, predicted)
        Counts of two classes. There is a line for each measure and member, up to seven.
    prevalence, measures, prob, kind, of, n, model, concentration, positive, draws, random_seed
        See `bayescm.curves.predictive_values`.
    display_names : mapping of str to str, optional
        Display names of measures and labels, such as ``{"ppv": "positive predictive value"}``.
    colors : mapping of str to color, optional
        Colours by name, such as ``{"rf": "tab:red"}``. Other names keep the same colour in all
        plots of a session.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on. By default a new figure.
    **keywords
        Further keywords of the model.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import bayescm as bcm
    >>> axes = plot_predictive_values(bcm.from_cells(tp=65, fn=15, fp=35, tn=30)).axes[0]
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['PPV', 'NPV']
    """
    values = curves.predictive_values(
        evidence,
        prevalence,
        measures=measures,
        prob=prob,
        kind=kind,
        of=of,
        n=n,
        model=model,
        concentration=concentration,
        positive=positive,
        draws=draws,
        random_seed=random_seed,
        **keywords,
    ).sortby("prevalence")
    if values.sizes["prevalence"] < 2:
        raise fail(
            "A curve needs two or more prevalences",
            prevalence,
            "",
            "for the numbers, use interval(at_prevalence(evidence, 0.1), ['ppv', 'npv'])",
        )
    members = _members(values["mean"], ["prevalence"])
    with canvas((6.4, 4.2), ax=ax) as page:
        axes, shares = page.axes, values["prevalence"].values
        first, last = logit(shares[[0, -1]])
        grid = expit(np.linspace(first, last, _SMOOTH))
        for where, look in style.looks_at(members, colors):
            others = {dim: label for dim, label in where.items() if dim != "measure"}
            name = style.label(where["measure"], others, display_names)
            member = values.sel(where)
            ends = _between(grid, shares, member["interval"].values)
            middle = _between(grid, shares, member["mean"].values)
            line = {"color": look.color, "linestyle": look.line, "label": name}
            band(axes, grid, ends, middle, **line)
            if prevalence is not None:
                marker = {"color": look.color, "marker": look.marker, "s": 18}
                axes.scatter(shares, member["mean"], **marker, zorder=3)
        axes.set(xscale="log", xlabel=display_name("prevalence", display_names))
        if values["interval"].min() >= 0 and values["interval"].max() <= 1:
            axes.set_ylim(0, 1.02)
        ticks = shares if prevalence is not None and len(shares) <= _TICKS else _ROUND
        ticks = [tick for tick in ticks if shares[0] <= tick <= shares[-1]]
        axes.set_xticks(ticks, [f"{100 * tick:.3g}%" for tick in ticks])
        axes.xaxis.minorticks_off()
        axes.grid(axis="y", color=style.muted(0.1))
        axes.set_axisbelow(True)
        bare(axes)
        axes.legend(fontsize=8, loc="best")
        estimand = "" if of == "parameter" else f"estimand: {of}"
        page.heading(
            f"line: posterior mean; {style.interval_words(prob, kind)} at each prevalence",
            estimand,
            style.positive_class(evidence, display_names=display_names),
        )
    return page.figure


def _between(grid, shares, values):
    """
    Interpolate values (n, ...) at given prevalences to a grid of prevalences, (m, ...).

    The logit of a predictive value is the logit of the prevalence plus the log likelihood ratio,
    which does not depend on the prevalence. Values are therefore linear on the logit scale, and the
    interpolation is exact for quantiles.
    """
    is_share = ((values >= 0) & (values <= 1)).all()
    tiny = np.finfo(float).eps
    y = logit(np.clip(values, tiny, 1 - tiny)) if is_share else values
    columns = y.reshape(len(shares), -1).T
    lines = [np.interp(logit(grid), logit(shares), column) for column in columns]
    filled = np.stack(lines, axis=-1).reshape(-1, *values.shape[1:])
    return expit(filled) if is_share else filled


def _members(values, over):
    members = style.panels(values, over)
    style.check_few(members)
    return members
