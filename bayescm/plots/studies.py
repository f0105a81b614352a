"""Plots of diagnostic accuracy studies: summary ROC plots, and paired forest plots."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from scipy.special import expit, logit

from bayescm.answers.heterogeneity import check_both_outcomes, rising_together
from bayescm.answers.interval import distribution, resolve_measures
from bayescm.evidence.counts import CELLS, as_counts
from bayescm.fitting.posterior_for import posterior_of
from bayescm.fitting.question import Question
from bayescm.measures.display_names import (
    DisplayNames,
    check_display_names,
    display_dim,
    display_label,
    display_name,
    plural,
)
from bayescm.plots import style
from bayescm.plots.canvas import band, bare, canvas, name_rows, rows, write_beside
from bayescm.plots.paper import is_narrow
from bayescm.posteriors import hierarchical_groups
from bayescm.validate import check_keywords, check_kind, check_prob, check_seed, fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DRAWS = 4000
_MEASURES = ("recall", "specificity")
# By default, these plots use medical terms, because the studies evaluate diagnostic tests.
MEDICAL_NAMES = {"recall": "sensitivity", "fpr": "1 - specificity"}
# Estimands for all studies jointly.
_POOLED = ("typical", "population", "new")
# Dimensions whose members are not studies: they share examples, classifiers or training data.
_NO_STUDIES = ("classifier", "fold", "repeat", "half", "step")
_ROW = 0.28  # height in inches of the row of a study
MOST_STUDIES = 80  # largest number of legible studies
# Positions in points to the right of a panel.
_RIGHT = 32  # end of the column of correct predictions
_WRONG = 68  # end of the column of wrong predictions
_INTERVALS = 76  # start of the column of intervals
_NARROWEST = 3.0  # minimum width in inches of a panel with intervals, with 8-point text
_COUNTED = {"recall": ("TP", "FN"), "specificity": ("TN", "FP")}


def plot_sroc(
    counts: xr.DataArray,
    *,
    prob: float = 0.95,
    concentration: Any = None,
    random_seed: int = 0,
    colors: style.Colors = None,
    display_names: DisplayNames = None,
    ax: "Axes | None" = None,
    **keywords: Any,
) -> "Figure":
    """
    Plot studies in ROC space with a summary point and regions.

    Parameters
    ----------
    counts : DataArray, dims (group, actual, predicted)
        Counts of two classes, with one group per study. If the dimension has another name, such as
        ``hospital``, the plot uses this name for the studies.
    prob : float in (0, 1), default 0.95
        Probability of both regions and of the band of the curve.
    concentration : float or array_like, optional
        Prior pseudo-counts per cell. See `bayescm.models.hierarchical_groups`.
    random_seed : int, default 0
    colors : mapping of str to color, optional
        Colours of the parts ``"typical"``, ``"new"`` and ``"curve"``.
    display_names : mapping of str to str, optional
        Display names of measures and labels, instead of the medical terms, such as ``{"recall":
        "recall", "fpr": "false positive rate"}``.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on. By default a new figure.
    **keywords
        Further keywords of `bayescm.models.hierarchical_groups`.

    Returns
    -------
    matplotlib.figure.Figure
        Figure with a circle for each study, whose area is proportional to its number of examples.
        It shows the typical study with its region (solid) and the region of a new study (dashed).
        Both are ellipses on the logit scale with posterior probability `prob`. The summary ROC
        curve has a pointwise band and covers the observed values of 1 - specificity.

    Raises
    ------
    ValueError
        If the dimension of studies is missing, or there are more than two classes.

    Warns
    -----
    UserWarning
        If sensitivity and specificity are positively correlated over the studies. The curve is then
        omitted, because it would contradict the data.

    Notes
    -----
    On the logit scale, the curve is the line through the typical study whose slope is the ratio of
    the two between-study standard deviations, as in the model of Rutter and Gatsonis. It describes
    how sensitivity and specificity trade off if the cut-off differs between studies.

    References
    ----------
    Rutter, C. M. & Gatsonis, C. A. (2001). A hierarchical regression approach to meta-analysis of
    diagnostic test accuracy evaluations. Statistics in Medicine 20, 2865-2884.
    doi:10.1002/sim.942

    Harbord, R. M., Deeks, J. J., Egger, M., Whiting, P. & Sterne, J. A. C. (2007). A unification
    of models for meta-analysis of diagnostic accuracy studies. Biostatistics 8, 239-251.
    doi:10.1093/biostatistics/kxl004

    Examples
    --------
    >>> import bayescm as bcm
    >>> cells = {"tp": [47, 126, 19, 36], "fn": [9, 51, 10, 3]}
    >>> cells |= {"fp": [101, 272, 12, 78], "tn": [738, 1543, 192, 276]}
    >>> axes = plot_sroc(bcm.from_cells(**cells).rename(batch="group")).axes[0]
    >>> [each.get_text() for each in axes.get_legend().get_texts()]
    ['typical study', '95% region of the typical study', '95% region of a new study', 'SROC curve']
    """
    counts, word = studies_of(counts, display_names)
    display_names = _in_words_of_medicine(display_names)
    prob = check_prob(prob)
    check_keywords(hierarchical_groups, keywords)
    posterior = _posterior(counts, concentration, random_seed, keywords)
    variables = posterior.variables(_DRAWS, np.random.default_rng(check_seed(random_seed)))
    typical, new = (_logits(variables[name]) for name in ("theta_typical", "theta_new"))
    fpr, recall, n = _observed(counts)
    if no_curve := rising_together(variables["correlation"]):
        warnings.warn(no_curve, UserWarning, stacklevel=2)
    with canvas((6, 6), ax=ax) as page:
        axes, parts = page.axes, style.roles(["typical", "new", "curve"], colors)
        circles = {"facecolors": "none", "edgecolors": style.muted(), "clip_on": False}
        axes.scatter(fpr, recall, 15 + 285 * n / n.max(), **circles)
        axes.plot(
            *expit(typical).mean(0), "s", color=parts["typical"].color, label=f"typical {word}"
        )
        mass = f"{100 * prob:g}% region of"
        axes.plot(
            *_ellipse(typical, prob),
            "-",
            color=parts["typical"].color,
            label=f"{mass} the typical {word}",
        )
        axes.plot(
            *_ellipse(new, prob), "--", color=parts["new"].color, label=f"{mass} a new {word}"
        )
        if not no_curve:
            x, (low, middle, high) = _summary_curve(typical, variables["spread"], fpr, prob)
            line = {"color": parts["curve"].color, "label": "SROC curve"}
            band(axes, x, np.stack([low, high], axis=-1), middle, **line)
        across, up = (display_name(name, display_names) for name in ("fpr", "recall"))
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel=across, ylabel=up)
        axes.set_aspect("equal")
        bare(axes)
        axes.legend(loc="lower right", fontsize=8)
        number = f"{counts.sizes['group']} {plural(word)}, area of a circle: examples"
        page.heading(
            number,
            "no curve: both rise together" if no_curve else f"{100 * prob:g}% band of the curve",
            style.positive_class(counts, display_names=display_names),
        )
    return page.figure


def _in_words_of_medicine(display_names):
    return {**MEDICAL_NAMES, **check_display_names(display_names)}


def _observed(counts):
    """Return false positive rates, recalls and sizes of the studies with both rates defined."""
    (tn, fp), (fn, tp) = counts.values.transpose(1, 2, 0).astype(float)
    defined = (tp + fn > 0) & (fp + tn > 0)
    fpr, recall = (part[defined] / (part + rest)[defined] for part, rest in ((fp, tn), (tp, fn)))
    return fpr, recall, counts.values.sum((1, 2))[defined]


def _logits(theta):
    """Return the logits of the false positive rate and of recall, (draws, 2)."""
    tiny = np.finfo(float).tiny
    right, left = theta[:, [0, 1], [1, 1]], theta[:, [0, 1], [0, 0]]
    return np.log(np.maximum(right, tiny)) - np.log(np.maximum(left, tiny))


def _ellipse(logits, prob):
    """Return the boundary of the ellipse on the logit scale that contains a share of the draws."""
    center, root = np.median(logits, axis=0), np.linalg.cholesky(np.cov(logits.T))
    distance = np.linalg.norm(np.linalg.solve(root, (logits - center).T), axis=0)
    angle = np.linspace(0, 2 * np.pi, 200)
    circle = np.quantile(distance, prob) * np.stack([np.cos(angle), np.sin(angle)])
    return expit(center[:, None] + root @ circle)


def _summary_curve(typical, spread, fpr, prob):
    """Return false positive rates, and the lower, middle and upper recall curves at these rates."""
    # Spreads are ordered prevalence, recall, specificity. The last one also applies to the fpr.
    slope = (spread[:, 1] / spread[:, 2])[:, None]
    low, high = np.clip([fpr.min(), fpr.max()], 0.005, 0.995)
    x = np.linspace(low, high, 100)
    recall = expit(typical[:, 1:] + slope * (logit(x) - typical[:, :1]))
    return x, np.quantile(recall, [(1 - prob) / 2, 0.5, (1 + prob) / 2], axis=0)


def plot_studies(
    counts: xr.DataArray,
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    concentration: Any = None,
    random_seed: int = 0,
    display_names: DisplayNames = None,
    **keywords: Any,
) -> "Figure":
    """
    Plot sensitivity and specificity of every study, with pooled estimates.

    Parameters
    ----------
    counts : DataArray, dims (group, actual, predicted)
        Counts of two classes, with one group per study. If the dimension has another name, such as
        ``hospital``, the plot uses this name for the studies.
    prob : float in (0, 1), default 0.95
        Probability of the intervals.
    kind : {"hdi", "eti"}
        Highest-density or equal-tailed intervals.
    concentration : float or array_like, optional
        Prior pseudo-counts per cell. See `bayescm.models.hierarchical_groups`.
    random_seed : int, default 0
    display_names : mapping of str to str, optional
        Display names of measures, dimensions and labels, instead of the medical terms, such as
        ``{"recall": "recall"}``.
    **keywords
        Further keywords of `bayescm.models.hierarchical_groups`.

    Returns
    -------
    matplotlib.figure.Figure
        Figure with the separate estimates of every study. True positives and false negatives are
        next to the sensitivity, and true negatives and false positives next to the specificity. The
        rows below, from the model of groups, are the typical study, the mean of the population of
        studies, and a new study.

    Raises
    ------
    ValueError
        If the dimension of studies is missing, or if there are more than two classes or too many
        studies for a legible plot.

    Examples
    --------
    >>> import bayescm as bcm
    >>> cells = {"tp": [47, 126, 19, 36], "fn": [9, 51, 10, 3]}
    >>> cells |= {"fp": [101, 272, 12, 78], "tn": [738, 1543, 192, 276]}
    >>> figure = plot_studies(bcm.from_cells(**cells).rename(batch="group"))
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['sensitivity', 'specificity']
    """
    counts, word = studies_of(counts, display_names)
    display_names = _in_words_of_medicine(display_names)
    prob = check_prob(prob)
    check_kind(kind), check_keywords(hierarchical_groups, keywords)
    studies = counts.sizes["group"]
    if studies > MOST_STUDIES:
        todo = "select some studies"
        raise fail(
            f"The plot would have {studies} studies; at most {MOST_STUDIES} are readable",
            ...,
            "",
            todo,
        )
    names = [f"{word} {number}" for number in range(studies)]  # numbered as in tables
    if "group" in counts.coords:
        names = [display_label(name, display_names) for name in counts["group"].values.tolist()]
    single = _single(counts, prob, kind)
    posterior = _posterior(counts, concentration, random_seed, keywords)
    pooled = _pooled(posterior, prob, kind, random_seed)
    together = [f"typical {word}", f"mean of {plural(word)}", f"new {word}"]
    y = np.r_[:studies, studies + 1 : studies + 1 + len(_POOLED)]  # separated by a gap
    size = (8.6, _ROW * (studies + 4) + 1.4)
    # In one column of a journal, there is room for intervals but not for counts.
    narrow = is_narrow()
    with canvas(size, number=2, columns=2, narrowest=_NARROWEST, sharey=not narrow) as page:
        for axes, measure in zip(page.panels, _MEASURES, strict=True):
            (centers, ends), (centers_pooled, ends_pooled) = single[measure], pooled[measure]
            name_rows(axes, y, [*map(style.wrapped, names), *together])
            rows(axes, y[:studies], ends, centers, color=style.muted())
            pooled_rows = {"color": style.color(0), "marker": "D"}
            rows(axes, y[studies:], ends_pooled, centers_pooled, **pooled_rows)
            numbers = zip([*centers, *centers_pooled], [*ends, *ends_pooled], strict=True)
            texts = [f"{center:.2f} [{low:.2f}, {high:.2f}]" for center, (low, high) in numbers]
            beyond = 6 if narrow else _INTERVALS * page.scale
            write_beside(axes, y, texts, at=1.02, points=beyond)  # to the right of markers at 1
            columns = zip(_COUNTED[measure], _counted(counts, measure), strict=True)
            for points, (name, cell) in zip((_RIGHT, _WRONG), columns, strict=True):
                if narrow:
                    break
                column = [name, *(f"{number:,g}" for number in cell)]
                write_beside(
                    axes, [-1, *y[:studies]], column, points=points * page.scale, ha="right"
                )
            axes.set(xlim=(0, 1), xticks=[0, 0.5, 1])
            axes.set_xlabel(display_name(measure, display_names))
        bars = f"bar: {style.interval_words(prob, kind)}"
        page.heading(bars, style.positive_class(counts, display_names=display_names))
    return page.figure


def _counted(counts, measure):
    """Return the numbers of correct and wrong predictions in one class, for each study."""
    index = int(measure == "recall")
    of_class = counts.values[:, index]
    return of_class[:, index], of_class[:, 1 - index]


def _single(counts, prob, kind):
    """Return means and intervals of every single study, by measure."""
    batch = counts.rename(group="batch")
    rows = {}
    for name in _MEASURES:
        posterior = distribution(batch, name, model="dirichlet_multinomial")
        rows[name] = posterior.mean().values, posterior.interval(prob, kind).values
    return rows


def _posterior(counts, concentration, random_seed, keywords):
    """Return the posterior of the groups, which is sampled if a prior is given as a function."""
    question = Question(
        model="hierarchical_groups",
        concentration=concentration,
        random_seed=random_seed,
        keywords=keywords,
    )
    return posterior_of(counts, question)


def _pooled(posterior, prob, kind, random_seed):
    """Return means and intervals of all pooled estimands, by measure."""
    resolved_measures = resolve_measures(posterior, list(_MEASURES))
    answers = [
        posterior.distributions(resolved_measures, of=of, random_seed=random_seed) for of in _POOLED
    ]
    return {
        name: (
            np.array([measures[i].mean() for measures in answers]),
            np.array([measures[i].interval_with_error(prob, kind)[0] for measures in answers]),
        )
        for i, name in enumerate(_MEASURES)
    }


def studies_of(counts: xr.DataArray, display_names: DisplayNames) -> tuple[xr.DataArray, str]:
    """Return counts of two classes with dimension ``group``, and the name of one group."""
    counts = as_counts(counts)
    dims = [dim for dim in counts.dims if dim not in CELLS]
    if len(dims) != 1 or dims[0] in _NO_STUDIES:
        raise fail(
            f"The counts need one dimension of studies, and {', '.join(CELLS)}; they have {{}}",
            list(counts.dims),
            "",
            "select along other dimensions, or rename the dimension of studies with counts.rename",
        )
    (dim,) = dims
    if counts.sizes["actual"] != 2:
        labels = counts["actual"].values.tolist()
        raise fail("Recall and specificity need two classes", labels, "", "merge classes")
    usual = {"group": "study", "batch": "study"}
    word = display_dim(dim, {**usual, **check_display_names(display_names)})
    counts = counts if dim == "group" else counts.rename({dim: "group"})
    check_both_outcomes(counts)
    return counts, word
