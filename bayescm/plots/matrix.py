"""Plots of confusion matrices, with an interval in every cell."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import xarray as xr

from bayescm.answers.compare import draws_of, rng_of
from bayescm.answers.interval import (
    ASKED,
)
from bayescm.distributions.beta import Beta
from bayescm.distributions.empirical import Empirical
from bayescm.evidence.counts import CELLS, as_counts, check_true_negatives, in_order
from bayescm.evidence.default_models import model_of_counts
from bayescm.evidence.outcomes import matrices_of
from bayescm.evidence.trees import (
    attribute_dims,
    cells_of,
    extra_dims,
    variables_of,
    with_positive_class,
)
from bayescm.fitting.posterior_for import posterior_of, select_estimand
from bayescm.fitting.question import Question
from bayescm.measures.catalogue import resolve
from bayescm.measures.display_names import DisplayNames, display_label, display_name
from bayescm.plots import interactive, style
from bayescm.plots.canvas import bare, canvas, rows
from bayescm.plots.paper import is_narrow
from bayescm.validate import check_choice, check_kind, check_number, check_prob, fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WHOLES = {"actual": "actual class", "predicted": "predicted class", "all": "whole"}
_AXES = {"actual": -1, "predicted": -2, "all": (-2, -1)}
_FEW_IN_ONE_COLUMN = 4  # with more classes, cells of a narrow figure are too small for intervals
_FEW = 10  # with more classes, cells contain only counts, and intervals are in a separate panel
_WRITTEN = 30  # with more classes, only colours are shown
_MOST = 100  # largest number of legible classes
# By number of classes: size of a cell in inches, font size in points, and percentage decimals.
_SIZES = [(4, 1.25, 10, 1), (6, 1.15, 9, 1), (10, 0.85, 7.5, 1), (30, 0.3, 6, 0), (100, 0.16, 0, 0)]


def plot_matrix(
    evidence: xr.DataArray | xr.DataTree,
    *,
    per: str = "actual",
    prob: float = 0.95,
    kind: str = "hdi",
    order: Literal["labels", "error"] | None = None,
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    display_names: DisplayNames = None,
    ax: "Axes | None" = None,
    **keywords: Any,
) -> "Figure":
    """
    Plot a confusion matrix with counts, proportions and intervals.

    For a single matrix of counts, each cell is treated as a separate proportion ("how many examples
    of this actual class are predicted as that class?") with the interval of
    `bayescm.answers.proportion`. For folds, groups, counts at a prevalence, weighted counts and
    fits, or if a model is named, the proportions and intervals come from the model.

    Both agree for two classes and `dirichlet_multinomial`. For many classes, the prior for this
    model suits measures of the whole matrix, but makes the interval of an unobserved confusion far
    too short. The prior for a separate proportion does not.

    Parameters
    ----------
    evidence : DataArray or DataTree
        A single matrix of counts, matrices of folds or groups that a model pools, or a fit.
    per : {"actual", "predicted", "all"}
        Denominator of the proportions: rows (recall on the diagonal), columns (precision on the
        diagonal), or all examples.
    prob : float in (0, 1), default 0.95
        Probability of the intervals.
    kind : {"hdi", "eti"}
        Highest-density or equal-tailed intervals.
    order : {"labels", "error"}, optional
        Order of the classes: as in the labels, or by decreasing error rate. The latter is the
        default for more than ten classes.
    of, n, model, positive, draws, random_seed
        See `bayescm.interval`. For a fit, only ``positive`` can be chosen. Without a model the
        intervals are exact, and ``n``, ``draws`` and a seed are not accepted.
    concentration : float, array_like, DataArray or callable, optional
        Prior of the model. Without a model, the prior pseudo-counts on either side of each
        proportion, by default 0.5.
    display_names : mapping of str to str, optional
        Display names of classes and measures, such as ``{1: "ill", 0: "healthy", "recall":
        "sensitivity"}``.
    ax : matplotlib.axes.Axes, optional
        Axes to plot the matrix on. By default a new figure.
    **keywords
        Further keywords of the model.

    Returns
    -------
    matplotlib.figure.Figure
        Figure whose colours show the observed proportions, or their means under a model. With more
        than ten classes, cells contain only counts, and a square-root scale enhances small
        proportions. A panel beside the matrix then shows the interval of each class.

    Raises
    ------
    ValueError
        If there are several matrices, such as those of several classifiers or of folds that the
        model does not pool. Also if there are more than a hundred classes, or a keyword has no
        effect.

    References
    ----------
    Caelen, O. (2017). A Bayesian interpretation of the confusion matrix. Annals of Mathematics and
    Artificial Intelligence, 81, 429-450. doi:10.1007/s10472-017-9564-8

    Examples
    --------
    >>> import bayescm as bcm
    >>> figure = plot_matrix(bcm.from_cells(tp=65, fn=15, fp=35, tn=30))
    >>> print(figure.axes[0].texts[-1].get_text())
    65
    81.2%
    [72.2, 89.1]
    """
    check_prob(prob), check_kind(kind), check_choice("per", per, list(_WHOLES))
    if order is not None:
        check_choice("order", order, ["labels", "error"])
    evidence = with_positive_class(matrices_of(evidence), positive)
    check_true_negatives(evidence, "a plot of all cells")
    if getattr(evidence, "sizes", {}).get("classifier") == 1:
        evidence = evidence.isel(classifier=0, drop=True)
    asked = {"n": n, "model": model, "concentration": concentration, "draws": draws}
    keywords |= {name: value for name, value in asked.items() if value is not None}
    keywords |= {} if of == "parameter" else {"of": of}
    keywords |= {} if random_seed == 0 else {"random_seed": random_seed}
    of_model = isinstance(evidence, xr.DataTree) or has_model(evidence, keywords)
    if isinstance(evidence, xr.DataTree):
        counts, shares, distribution = _of_tree(evidence, per, **keywords)
    elif of_model:
        counts, shares, distribution = _of_model(evidence, per, Question.of_keywords(**keywords))
    else:
        counts, shares, distribution = _of_counts(evidence, per, **keywords)
    classes = len(counts["actual"])
    if classes > _MOST:
        raise fail(
            f"The plot would have {classes} classes; at most {_MOST} are readable",
            ...,
            "",
            "merge classes, or use summary(counts, 'recall')",
        )
    ends = distribution.hdi(prob) if kind == "hdi" else distribution.eti(prob)
    if order == "error" or (order is None and classes > _FEW):
        worst = np.argsort(np.nan_to_num(np.diag(shares), nan=2.0), kind="stable")
        counts, index = counts[worst, worst], np.ix_(worst, worst)
        shares, ends = shares[index], ends[index]
    written = [display_label(label, display_names) for label in counts["actual"].values.tolist()]
    counts = counts.assign_coords(actual=written, predicted=written)
    beside = classes > _FEW and per != "all" and ax is None
    side = max(3.2, next(cell for most, cell, _, _ in _SIZES if classes <= most) * classes)
    size = (side + 2.3, side + 1.3)
    panels: dict[str, Any] = {"number": 1}
    if beside:
        size = (side + 4.8, side + 2.2)
        panels = {"number": 2, "columns": 2, "width_ratios": [side, 2.2], "sharey": True}
    with canvas(size, ax=ax, **panels) as page:
        _draw_cells(page, counts, shares, ends, per)
        if beside:
            measure = "recall" if per == "actual" else "precision"
            _draw_classes(page.panels[1], shares, ends, display_name(measure, display_names))
        by = " by the model" if of_model else ""
        page.interactive(partial(interactive.matrix, counts, shares, ends, _WHOLES[per]))
        page.heading(
            f"count, share of the {_WHOLES[per]}{by}" if _has_room(classes) else "count",
            style.interval_words(prob, kind) if _has_room(classes) or beside else "",
            "classes by error, worst first" if order != "labels" and beside else "",
            style.positive_class(evidence, display_names=display_names),
        )
    return page.figure


def _has_room(classes):
    """Return True if a cell has room for its share and its interval."""
    return classes <= (_FEW_IN_ONE_COLUMN if is_narrow() else _FEW)


def _draw_cells(page, counts, shares, ends, per):
    """Plot the matrix with the contents of its cells."""
    from matplotlib.colors import Normalize, PowerNorm

    axes, classes = page.axes, len(shares)
    few = classes <= _FEW
    norm = Normalize(0, 1) if few else PowerNorm(0.5, 0, 1)
    aspect = "equal" if few or not page.is_new else "auto"
    image = axes.imshow(shares, cmap=style.colormap(), norm=norm, aspect=aspect)
    axes.set_facecolor(style.muted(0.15))  # visible if a class has no examples
    label = f"proportion of the {_WHOLES[per]}"
    bar = page.figure.colorbar(image, ax=page.panels, shrink=0.7 if few else 0.5, label=label)
    bar.outline.set_visible(False)
    _, _, points, digits = next(size for size in _SIZES if classes <= size[0])
    for (row, column), count in np.ndenumerate(counts.values):
        if classes <= _WRITTEN and (few or count > 0):
            share = shares[row, column]
            text = f"{count:,.4g}"
            if _has_room(classes):
                text = _text(count, share, ends[row, column], digits)
            color = style.text_color_on(norm(share))
            axes.text(column, row, text, ha="center", va="center", fontsize=points, color=color)
    _name_classes(axes, counts)


def _text(count, share, ends, digits):
    low, high = 100 * ends
    percentage = "no examples" if np.isnan(share) else f"{100 * share:.{digits}f}%"
    return f"{count:,g}\n{percentage}\n[{low:.{digits}f}, {high:.{digits}f}]"


def _name_classes(axes, counts):
    labels = [style.wrapped(label, 24) for label in counts["actual"].values]
    few, size = len(labels) <= _FEW, 9 if len(labels) <= 6 else 7.5
    between = "\nn = " if few else "  "
    if len(labels) > _WRITTEN:
        size = 5
    for axis, over in ((axes.yaxis, "predicted"), (axes.xaxis, "actual")):
        totals = counts.sum(over).values
        names = [f"{label}{between}{n:,.6g}" for label, n in zip(labels, totals, strict=True)]
        axis.set_ticks(range(len(labels)), names, fontsize=size)
    longest = style.longest_line(labels)
    if not few:
        axes.tick_params(axis="x", rotation=90)
    elif longest > (14 if len(labels) <= 4 else 6) or (is_narrow() and len(labels) > 4):
        for tick in axes.get_xticklabels():
            tick.set(rotation=45, ha="right", rotation_mode="anchor")
    axes.set_xlabel("predicted class" if few else "predicted class, with its total")
    axes.set_ylabel("actual class" if few else "actual class, with its total")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _draw_classes(axes, shares, ends, measure):
    """Plot the diagonal with its intervals, with one row per class."""
    y = np.arange(len(shares))
    rows(axes, y, ends[y, y], np.diag(shares), color=style.color(0), width=1.2, size=3)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel(measure)
    axes.grid(axis="x", color=style.muted(0.15))
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", left=False, labelleft=False)
    bare(axes, left=False)


def has_model(counts: xr.DataArray, keywords: dict[str, Any]) -> bool:
    """Return True if a model is named, or required by the type of counts."""
    if keywords.keys() - {*ASKED, "concentration"}:
        return True
    if keywords.get("of", "parameter") != "parameter":
        return True
    return model_of_counts(as_counts(counts), {}).model != "dirichlet_multinomial"


def _of_counts(evidence, per, *, of="parameter", concentration=0.5, **unused):
    """Return counts, observed shares, and the distribution of each cell's share."""
    if unused:
        todo = "leave them out, or name a model, such as `model='dirichlet_multinomial'`"
        raise fail(
            "{} has no effect, because the intervals of proportions are exact",
            [*unused],
            ["concentration"],
            todo,
        )
    check_number("concentration", concentration, 0, usual=0.5)
    counts = _one_matrix(as_counts(evidence), ())
    cells = counts.values.astype(float)
    totals = np.broadcast_to(cells.sum(axis=_AXES[per], keepdims=True), cells.shape)
    shares = np.divide(cells, totals, out=np.full(cells.shape, np.nan), where=totals > 0)
    return counts, shares, Beta(cells + concentration, totals - cells + concentration)


def _of_model(evidence, per, question):
    """
    Return counts, and the means and distributions of the shares under a model.

    Each share is a measure of the cells. With rows as denominators, the diagonal equals the recall
    of `bayescm.interval` for the same model.
    """
    posterior, of = select_estimand(posterior_of(evidence, question), question.of)
    if posterior.template.dims:
        dim = posterior.template.dims[0]
        todo = f"select one of {dim}, or sum over it"
        raise fail(
            "The plot shows one matrix, but the sizes are {}", dict(posterior.batch.sizes), "", todo
        )
    columns = [resolve(_share_of(i, _AXES[per])) for i in range(evidence.sizes["predicted"])]
    size, rng = draws_of(question, posterior, of), rng_of(question)
    shares = posterior.draw_in_parts(columns, size, rng, of=of, n=question.n)
    distribution, counts = Empirical(np.stack(shares, axis=-1)), in_order(as_counts(evidence))
    summed = counts.sum([dim for dim in counts.dims if dim not in CELLS])
    return summed, distribution.mean(), distribution


def _share_of(column, axis):
    """Return a function that computes the shares in one column of the matrix."""

    def share(cells):
        with np.errstate(divide="ignore", invalid="ignore"):
            return (cells / cells.sum(axis=axis, keepdims=True))[..., column]

    share.__name__ = f"share_{column}"
    return share


def _of_tree(tree, per, **keywords):
    """Return counts, and the means and distributions of the shares of a fit."""
    if keywords:
        raise fail(
            "{} has no effect on a fit, which has its own model and prior",
            [*keywords],
            "",
            "pass it to fit, or plot the counts",
        )
    name = variables_of(tree)["parameter"]
    theta = cells_of(tree, "posterior", name)
    over = extra_dims(tree, theta)  # shares are averaged over folds for each draw
    _one_matrix(theta, ("chain", "draw", *over))
    cells = theta.transpose("chain", "draw", *over, *CELLS).values
    cells = cells.reshape(-1, *cells.shape[2:])
    axis: Any = _AXES[per]
    shares = cells / cells.sum(axis=axis, keepdims=True)
    distribution = Empirical(shares.mean(axis=tuple(range(1, 1 + len(over)))))
    data = tree["constant_data"].to_dataset() if "constant_data" in tree.children else {}
    if "counts" not in data or not set(CELLS) <= set(data["counts"].dims):
        todo = "plot the counts themselves"
        raise fail("The fit has no matrix of counts, only {}", list(data), "", todo)
    counts = in_order(data["counts"])
    pooled = [dim for dim in attribute_dims(tree, "uses") if dim in counts.dims]
    return _one_matrix(counts.sum(pooled), ()), distribution.mean(), distribution


def _one_matrix(values, over):
    extra = [dim for dim in values.dims if dim not in ("actual", "predicted", *over)]
    if extra:
        label = values[extra[0]].values.tolist()[0]
        todo = f"select one of {extra[0]}, such as .sel({extra[0]}={label!r}), or sum over it"
        sizes = {dim: values.sizes[dim] for dim in extra}
        raise fail("The plot shows one matrix, but the sizes are {}", sizes, "", todo)
    return values
