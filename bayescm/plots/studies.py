"""Studies of diagnostic accuracy: their summary in ROC space, and a paired forest."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from scipy.special import expit, logit

from bayescm.answers.asking import answers_of
from bayescm.answers.interval import interval
from bayescm.answers.numbers import mean
from bayescm.direct import hierarchical_groups
from bayescm.evidence.counts import CELLS, as_counts
from bayescm.plots import common
from bayescm.plots.canvas import canvas
from bayescm.validate import check_keywords, check_kind, check_prob, check_seed, fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DRAWS = 4000
_TOGETHER = {"typical study": "typical", "mean of studies": "population", "new study": "new"}
_ROW, _MOST = 0.28, 80


def plot_sroc(
    counts: xr.DataArray,
    *,
    prob: float = 0.95,
    random_seed: int = 0,
    ax: "Axes | None" = None,
    **keywords: Any,
) -> "Figure":
    """
    Draw studies in ROC space with their summary point, its region, and that of a new study.

    Parameters
    ----------
    counts : DataArray, dims (group, actual, predicted)
        Counts of two classes, a group for each study.
    prob : float in (0, 1), default 0.95
        Mass of both regions and of the curve's band.
    random_seed : int, default 0
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    **keywords
        Those of `bayescm.models.hierarchical_groups`.

    Returns
    -------
    matplotlib.figure.Figure
        A circle for each study, its area in proportion to its examples; the typical study with its
        region (solid) and the region of a new study (dashed), ellipses on the logit scale that
        hold `prob` of the posterior; the summary ROC curve with a pointwise
        band, over the false positive rates that were observed.

    Raises
    ------
    ValueError
        If there are no groups, or more than two classes.

    Notes
    -----
    On the logit scale the curve is the line through the typical study whose slope is the ratio of
    the two standard deviations between studies, as in the model of Rutter and Gatsonis.

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
    counts, prob = _studies(counts), check_prob(prob)
    posterior = hierarchical_groups(counts, **keywords)
    drawn = posterior.variables(_DRAWS, np.random.default_rng(check_seed(random_seed)))
    typical, new = (_logits(drawn[name]) for name in ("theta_typical", "theta_new"))
    seen, n = _observed(counts)
    with canvas((6, 6), ax=ax) as page:
        axes = page.axes
        style = {"facecolors": "none", "edgecolors": common.grey(), "clip_on": False}
        axes.scatter(seen[0], seen[1], 15 + 285 * n / n.max(), **style)
        axes.plot(*expit(typical).mean(0), "s", color=common.paint(0), label="typical study")
        mass = f"{100 * prob:g}% region of"
        first, second = common.paint(0), common.paint(1)
        axes.plot(*_rim(typical, prob), "-", color=first, label=f"{mass} the typical study")
        axes.plot(*_rim(new, prob), "--", color=second, label=f"{mass} a new study")
        x, curve = _curve(typical, drawn["spread"], seen[0], prob)
        axes.plot(x, curve[1], color=common.paint(2), label="SROC curve")
        axes.fill_between(x, curve[0], curve[2], color=common.paint(2), alpha=0.15, linewidth=0)
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="false positive rate", ylabel="recall")
        axes.set_aspect("equal")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(loc="lower right", fontsize=8)
        words = f"{counts.sizes['group']} studies, area of a circle: examples"
        page.heading(words, f"{100 * prob:g}% band of the curve", common.positive_of(counts))
    return page.figure


def plot_studies(
    counts: xr.DataArray,
    *,
    prob: float = 0.95,
    kind: str = "eti",
    random_seed: int = 0,
    **keywords: Any,
) -> "Figure":
    """
    Draw the recall and specificity of every study beside each other, and of all together below.

    Parameters
    ----------
    counts : DataArray, dims (group, actual, predicted)
        Counts of two classes, a group for each study.
    prob : float in (0, 1), default 0.95
        Mass of the intervals.
    kind : {"hdi", "eti"}
        Highest density or equal tails.
    random_seed : int, default 0
    **keywords
        Those of `bayescm.models.hierarchical_groups`.

    Returns
    -------
    matplotlib.figure.Figure
        Every study by itself, and, by the model of groups, the typical study, the mean over all
        studies there may be, and a new study.

    Raises
    ------
    ValueError
        If there are no groups, more than two classes, or too many studies to read.

    Examples
    --------
    >>> import bayescm as bcm
    >>> cells = {"tp": [47, 126, 19, 36], "fn": [9, 51, 10, 3]}
    >>> cells |= {"fp": [101, 272, 12, 78], "tn": [738, 1543, 192, 276]}
    >>> figure = plot_studies(bcm.from_cells(**cells).rename(batch="group"))
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['recall', 'specificity']
    """
    counts, prob = _studies(counts), check_prob(prob)
    if counts.sizes["group"] > _MOST:
        todo = "select some studies"
        raise fail("too many studies to read", counts.sizes["group"], f"at most {_MOST}", todo)
    names = [common.wrapped(each) for each in _labels(counts)]
    together = _all_together(counts, prob, kind, random_seed, keywords)
    size = (10, _ROW * (len(names) + 4) + 1.4)
    with canvas(size, number=2, columns=2, sharey=True) as page:
        for axes, measure in zip(page.panels, ("recall", "specificity"), strict=True):
            rows = _alone(counts, measure, prob, kind) + together[measure]
            _forest(axes, rows, len(names))
            axes.set_xlabel(measure)
        labels = [*names, *(label for label, _, _ in rows[len(names) :])]
        places = [place + (place >= len(names)) for place in range(len(labels))]
        page.axes.set_yticks(places, labels)
        page.axes.invert_yaxis()
        page.heading(f"bar: {common.words_for(prob, kind)}", common.positive_of(counts))
    return page.figure


def _all_together(counts, prob, kind, random_seed, keywords):
    """Return (label, mean, ends) of what one posterior says of all studies, by measure."""
    check_kind(kind), check_keywords(hierarchical_groups, keywords)
    posterior, names = hierarchical_groups(counts, **keywords), ["recall", "specificity"]
    rows: dict[str, list] = {name: [] for name in names}
    for label, of in _TOGETHER.items():
        found = answers_of(posterior, names, of=of, random_seed=random_seed)
        for name, (distribution, _) in zip(names, found, strict=True):
            ends, _ = distribution.checked(prob, kind)
            rows[name].append((label, distribution.mean(), ends))
    return rows


def _studies(counts):
    """Return counts of two classes with the single dim group, or raise."""
    counts = as_counts(counts)
    if counts.dims != ("group", *CELLS):
        dim = next((str(name) for name in counts.dims if name not in CELLS), "batch")
        todo = f"name the dim of the studies group: counts.rename({dim}='group')"
        raise fail("not studies", list(counts.dims), f"dims group, {', '.join(CELLS)}", todo)
    if counts.sizes["actual"] != 2:
        labels = counts["actual"].values.tolist()
        raise fail("recall and specificity are of two classes", labels, "two", "join some")
    return counts


def _labels(counts):
    if "group" in counts.coords:
        return counts["group"].values.tolist()
    return [f"study {number}" for number in range(1, len(counts) + 1)]


def _observed(counts):
    """Return the false positive rates and recalls of studies that have both, and their sizes."""
    (tn, fp), (fn, tp) = counts.values.transpose(1, 2, 0).astype(float)
    known = (tp + fn > 0) & (fp + tn > 0)
    rates = [part[known] / (part + rest)[known] for part, rest in ((fp, tn), (tp, fn))]
    return rates, counts.values.sum((1, 2))[known]


def _logits(theta):
    """Return the logits of the false positive rate and of recall, (draws, 2)."""
    tiny = np.finfo(float).tiny
    right, left = theta[:, [0, 1], [1, 1]], theta[:, [0, 1], [0, 0]]
    return np.log(np.maximum(right, tiny)) - np.log(np.maximum(left, tiny))


def _rim(logits, prob):
    """Return the rim of the ellipse on the logit scale that holds a share of the draws."""
    center, root = np.median(logits, axis=0), np.linalg.cholesky(np.cov(logits.T))
    distance = np.linalg.norm(np.linalg.solve(root, (logits - center).T), axis=0)
    turn = np.linspace(0, 2 * np.pi, 200)
    ring = np.quantile(distance, prob) * np.stack([np.cos(turn), np.sin(turn)])
    return expit(center[:, None] + root @ ring)


def _curve(typical, spread, seen, prob):
    """Return false positive rates, and the lower, middle and upper curve of recall over them."""
    # The spreads are of prevalence, recall and specificity; the last is that of alarms too.
    slope = (spread[:, 1] / spread[:, 2])[:, None]
    low, high = np.clip([seen.min(), seen.max()], 0.005, 0.995)
    x = np.linspace(low, high, 100)
    lines = expit(typical[:, 1:] + slope * (logit(x) - typical[:, :1]))
    return x, np.quantile(lines, [(1 - prob) / 2, 0.5, (1 + prob) / 2], axis=0)


def _alone(counts, measure, prob, kind):
    """Return label, mean and interval of every study by itself."""
    single = counts.rename(group="batch")
    model = "dirichlet_multinomial"
    ends = interval(single, measure, prob=prob, kind=kind, model=model).values
    centers = mean(single, measure, model=model).values
    return list(zip(_labels(counts), centers, ends, strict=True))


def _forest(axes, rows, studies):
    """Draw a row for each study, and below a gap those of all together."""
    for place, (_, center, ends) in enumerate(rows):
        y, together = place + (place >= studies), place >= studies
        paint = common.paint(0) if together else common.grey()
        axes.plot(ends, [y, y], color=paint, linewidth=2, solid_capstyle="butt")
        axes.plot(center, y, "D" if together else "o", color=paint, markersize=5)
        text = f"{center:.2f} [{ends[0]:.2f}, {ends[1]:.2f}]"
        where = axes.get_yaxis_transform()
        axes.text(1.01, y, text, transform=where, va="center", fontsize=8, color=common.grey())
    axes.set_xlim(0, 1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color=common.grey(0.1))
    axes.set_axisbelow(True)
