"""Probabilities: the calibration curve with its band."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from bayescm.answers.summary import summary
from bayescm.curves import calibration
from bayescm.curves.calibration.views import views
from bayescm.plots import common
from bayescm.plots.canvas import canvas
from bayescm.validate import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BINS = 40
_PANELS = 12  # of the classes and of the highest probability
# What the band of each method of `bayescm.curves.calibration.curve` holds.
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
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Draw calibration curves, how often what was forecast comes true, with their bands.

    More than two classes have a panel each, against the rest, and one of the highest probability.
    Below the curves lies the histogram of the forecasts; the legend has the expected calibration
    error and the calibration slope. The heading says what the band holds, or the legend where the
    curves differ in it: a smooth curve, one that never falls, however it jumps, the values of
    forecasts that take few (drawn as bars), or means over groups of forecasts.

    Parameters
    ----------
    evidence : Dataset
        Probabilities, see :func:`bayescm.from_probabilities`, of 11 classes at most.
    prob : float, default 0.95
    simultaneous : bool, default True
        Whether the band is for the whole curve, or pointwise. The picture says which.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

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
    ('probability given', 'share that comes true')
    """
    of = partial(calibration.curve, prob=prob, simultaneous=simultaneous)
    panels = [(title, [(*one, of(one[1])) for one in every]) for title, every in _panels(evidence)]
    methods = {
        str(each)
        for _, every in panels
        for *_, found in every
        for each in np.atleast_1d(found["method"])
    }
    wide = 1 if len(panels) == 1 else int(np.ceil(np.sqrt(len(panels))))
    size = (5.6, 5.8) if len(panels) == 1 else (3.6 * wide, 3.7 * -(-len(panels) // wide) + 0.3)
    with canvas(size, ax=ax, number=len(panels), columns=wide) as page:
        for axes, (title, every) in zip(page.panels, panels, strict=True):
            axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
            axes.set(xlabel="probability given", ylabel="share that comes true")
            axes.plot([0, 1], [0, 1], color=common.grey(), linewidth=0.8, linestyle=":")
            if title:
                axes.set_title(title, fontsize=9)
            _curves(axes, every, len(methods) > 1)
            axes.legend(fontsize=8 if len(panels) == 1 else 6, loc="upper left")
        words = f"{100 * prob:g}% band, {'simultaneous' if simultaneous else 'pointwise'}"
        holds = _HOLDS[methods.pop()] if len(methods) == 1 else "the legend says what each holds"
        page.heading(words, holds, common.positive_of(evidence))
    return page.figure


def _panels(evidence):
    """Return titles, and by name of classifier the probabilities of two classes to be drawn."""
    every = views(evidence)
    if not every[0][0]:
        return [("", [(None, evidence)])]
    if len(every) >= _PANELS:
        todo = "take one: curves.one_vs_rest(evidence, label), or curves.top_label(evidence)"
        raise fail("more classes than panels", len(every), f"{_PANELS - 1} at most", todo)
    panels = [(f"class {of['class']}", [(None, view)]) for of, view in every]
    highest = [(of.get("classifier"), view) for of, view in views(evidence, top_label=True)]
    return [*panels, ("the highest probability", highest)]


def _curves(axes, every, differ):
    place = 0
    for name, evidence, found in every:
        for part, scores, label in _members(found, evidence, _labels(evidence, name)):
            method, colour = part["method"].item(), common.paint(place)
            label = f"{label}\n{_HOLDS[method]}" if differ else label
            _band(axes, part.dropna("probability"), method, colour, label)
            _histogram(axes, scores, evidence.get("weight"), colour)
            place += 1


def _band(axes, part, method, colour, label):
    """Draw a curve and its band as its method has them."""
    at, middle = part["probability"].values, part["estimate"].values
    low, high = part["interval"].values.T
    if method == "binomial":
        distance = [middle - low, high - middle]
        axes.errorbar(at, middle, distance, color=colour, label=label, fmt="o", ms=4, capsize=3)
        return
    shape = "default"
    if method == "isotonic":
        # Between two places a curve that never falls has the lower end of the left one and the
        # upper end of the right one.
        shape, middle = "steps-post", np.repeat(middle, 2)[1:-1]
        at, low, high = np.repeat(at, 2)[1:-1], np.repeat(low[:-1], 2), np.repeat(high[1:], 2)
    elif method == "grouped":
        shape = "steps-mid"
    step = "mid" if method == "grouped" else None
    axes.fill_between(at, low, high, step=step, color=colour, alpha=0.2, linewidth=0)
    axes.plot(at, middle, color=colour, label=label, drawstyle=shape)


def _labels(evidence, name=None):
    """Return lines for the legend for each classifier, or for the one of this name."""
    table = summary(evidence, ["ece", "calibration_slope"])
    lines, several = [], "classifier" in evidence.dims
    for each in evidence["classifier"].values.tolist() if several else [name]:
        own = table[table["classifier"] == each] if several else table
        parts = [
            f"{word} {row.point:.3f} [{row.lower:.3f}, {row.upper:.3f}]"
            for word, row in zip(["ECE", "slope"], own.itertuples(), strict=True)
        ]
        lines.append("\n".join([*([] if each is None else [str(each)]), *parts]))
    return lines


def _members(found, evidence, labels):
    for place, label in enumerate(labels):
        one = {"classifier": place} if "classifier" in found.dims else {}
        yield found.isel(one), evidence["score"].isel(one).values, label


def _histogram(axes, scores, weight, colour):
    """Draw how often each probability was given, at the foot of the picture."""
    counts, edges = np.histogram(scores, bins=_BINS, range=(0, 1), weights=weight)
    height = 0.12 * counts / counts.max()
    axes.stairs(height, edges, color=colour, alpha=0.7, linewidth=0.8)
