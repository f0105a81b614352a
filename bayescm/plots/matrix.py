"""The confusion matrix itself, with an interval in every cell."""

import numpy as np
import xarray as xr

from bayescm.distributions.beta import Beta
from bayescm.distributions.discrete import Empirical
from bayescm.evidence.counts import as_counts, in_order
from bayescm.plots import common
from bayescm.validate import check_choice, check_kind, check_prob, fail

_WHOLES = {"actual": "actual class", "predicted": "predicted class", "all": "whole"}
_AXES = {"actual": -1, "predicted": -2, "all": (-2, -1)}
_MOST = 30
# Up to this many classes: inches of a cell, points of its text, digits of its percentages.
_SIZES = [
    (4, 1.25, 10, 1),
    (6, 1.15, 9, 1),
    (10, 0.85, 7.5, 1),
    (20, 0.62, 6.5, 0),
    (30, 0.6, 6, 0),
]


def plot_matrix(
    evidence: xr.DataArray | xr.DataTree,
    *,
    per: str = "actual",
    prob: float = 0.95,
    kind: str = "hdi",
    concentration: float = 0.5,
):
    """
    Draw the confusion matrix with its counts, and each cell's proportion with an interval.

    From counts, each cell is treated as a single proportion ("how many of this actual class are
    predicted as that one?") with the interval of `bayescm.proportion`. From a fit, the proportions
    and intervals are those of its model. The two agree for two classes. For many classes the
    default prior of `fit` suits measures of the whole matrix, but makes the interval of a confusion
    that was never observed far too short; a proportion's own prior does not.

    Parameters
    ----------
    evidence : DataArray or DataTree
        One matrix of counts, or the fit of one.
    per : {"actual", "predicted", "all"}
        What the proportions refer to: each row (the diagonal is the recall), each column (the
        precision), or all examples.
    prob : float in (0, 1), default 0.95
        Mass of the intervals.
    kind : {"hdi", "eti"}
        Highest density or equal tails.
    concentration : float, default 0.5
        For counts: prior pseudo-counts on either side of each proportion.

    Returns
    -------
    matplotlib.figure.Figure
        Colour shows the proportion: the observed one, or a fit's mean. With more than ten classes,
        cells without counts are left blank.

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
    import matplotlib.pyplot as plt

    check_prob(prob), check_kind(kind), check_choice("per", per, list(_WHOLES))
    of = _of_tree if isinstance(evidence, xr.DataTree) else _of_counts
    counts, shares, distribution = of(evidence, per, concentration)
    classes = len(counts["actual"])
    if classes > _MOST:
        todo = "merge classes, or read summary(counts, 'recall')"
        raise fail("too many classes to read", classes, f"at most {_MOST}", todo)
    ends = distribution.hdi(prob) if kind == "hdi" else distribution.eti(prob)
    _, cell, size, digits = next(each for each in _SIZES if classes <= each[0])
    side = max(3.2, cell * classes)
    figure, axes = plt.subplots(figsize=(side + 2.3, side + 1.3), layout="constrained")
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    bar = figure.colorbar(image, ax=axes, shrink=0.7, label=f"proportion of the {_WHOLES[per]}")
    bar.outline.set_visible(False)
    for (row, column), count in np.ndenumerate(counts.values):
        if count > 0 or classes <= 10:
            share = shares[row, column]
            text = _text(count, share, ends[row, column], digits)
            colour = "white" if share > 0.55 else "black"
            axes.text(column, row, text, ha="center", va="center", fontsize=size, color=colour)
    _name_axes(axes, counts)
    words = f"count, share of the {_WHOLES[per]}", common.words_for(prob, kind)
    common.heading(figure, *words, common.positive_of(evidence))
    return common.finish(figure)


def _of_counts(evidence, per, concentration):
    """Return counts, observed shares, and the distribution of each cell's share as a proportion."""
    counts = _one_matrix(as_counts(evidence), ())
    cells = counts.values.astype(float)
    whole = np.broadcast_to(cells.sum(axis=_AXES[per], keepdims=True), cells.shape)
    shares = np.divide(cells, whole, out=np.full(cells.shape, np.nan), where=whole > 0)
    return counts, shares, Beta(cells + concentration, whole - cells + concentration)


def _of_tree(tree, per, _):
    """Return counts, and the means and distributions of the shares of a fit."""
    theta = in_order(tree["posterior"].to_dataset()["theta"])
    theta = theta.stack(every=("chain", "draw"), create_index=False)
    theta = _one_matrix(theta, ("every",)).transpose("every", "actual", "predicted")
    counts = in_order(tree["constant_data"].to_dataset()["counts"])
    folds = [dim for dim in ("repeat", "fold") if dim in counts.dims]
    distribution = Empirical(theta.values / theta.values.sum(axis=_AXES[per], keepdims=True))
    return _one_matrix(counts.sum(folds), ()), distribution.mean(), distribution


def _one_matrix(values, over):
    extra = [dim for dim in values.dims if dim not in ("actual", "predicted", *over)]
    if extra:
        todo = f"select one of {extra[0]}, or sum over it"
        raise fail("more than one matrix", dict(values.sizes), "one matrix", todo)
    return values


def _text(count, share, ends, digits):
    low, high = 100 * ends
    shown = "no examples" if np.isnan(share) else f"{100 * share:.{digits}f}%"
    return f"{count:,g}\n{shown}\n[{low:.{digits}f}, {high:.{digits}f}]"


def _name_axes(axes, counts):
    labels = [str(each) for each in counts["actual"].values]
    size = 9 if len(labels) <= 6 else 7.5
    for axis, over in ((axes.yaxis, "predicted"), (axes.xaxis, "actual")):
        totals = counts.sum(over).values
        names = [f"{label}\nn = {n:,g}" for label, n in zip(labels, totals, strict=True)]
        axis.set_ticks(range(len(labels)), names, fontsize=size)
    if len(labels) > 3 and max(len(label) for label in labels) > 4:
        for tick in axes.get_xticklabels():
            tick.set(rotation=45, ha="right", rotation_mode="anchor")
    axes.set_xlabel("predicted class")
    axes.set_ylabel("actual class")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
