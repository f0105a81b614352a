"""Probabilities: the calibration curve with its band."""

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
    error and the calibration slope.

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
    panels = _panels(evidence)
    wide = 1 if len(panels) == 1 else int(np.ceil(np.sqrt(len(panels))))
    size = (5.6, 5.8) if len(panels) == 1 else (3.6 * wide, 3.7 * -(-len(panels) // wide) + 0.3)
    with canvas(size, ax=ax, number=len(panels), columns=wide) as page:
        for axes, (title, every) in zip(page.panels, panels, strict=True):
            axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
            axes.set(xlabel="probability given", ylabel="share that comes true")
            axes.plot([0, 1], [0, 1], color=common.grey(), linewidth=0.8, linestyle=":")
            if title:
                axes.set_title(title, fontsize=9)
            _curves(axes, every, prob, simultaneous)
            axes.legend(fontsize=8 if len(panels) == 1 else 6, loc="upper left")
        words = f"{100 * prob:g}% band, {'simultaneous' if simultaneous else 'pointwise'}"
        page.heading(words, common.positive_of(evidence))
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


def _curves(axes, every, prob, simultaneous):
    place = 0
    for name, evidence in every:
        found = calibration.curve(evidence, prob=prob, simultaneous=simultaneous)
        for part, scores, label in _members(found, evidence, _labels(evidence, name)):
            at, ends, colour = part["probability"], part["interval"].values, common.paint(place)
            axes.fill_between(at, ends[:, 0], ends[:, 1], color=colour, alpha=0.2, linewidth=0)
            axes.plot(at, part["median"], color=colour, label=label)
            _histogram(axes, scores, evidence.get("weight"), colour)
            place += 1


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
