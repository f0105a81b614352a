"""Measures against the threshold, with bands."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import xarray as xr

from bayescm import curves
from bayescm.measures.labelled import several
from bayescm.plots import common
from bayescm.plots.canvas import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_threshold(
    evidence: xr.Dataset,
    measures: str | Callable | Sequence[str | Callable],
    *,
    at: Any = None,
    prob: float = 0.95,
    simultaneous: bool = True,
    random_seed: int = 0,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Draw measures against the threshold, with bands.

    Parameters
    ----------
    evidence : Dataset
        Scores of two classes; a line for each measure, classifier and fold, up to seven. The scores
        of several classifiers need a common scale.
    measures : name, function, or sequence of these
    at : array_like, optional
        Thresholds.
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
    wanted = several(measures)
    keywords = {"at": at, "prob": prob, "simultaneous": simultaneous, "random_seed": random_seed}
    lines = []
    for found in (curves.threshold(evidence, measure, **keywords) for measure in wanted):
        lines += [
            (found.sel(where), where) for where in common.places(found["median"], ["threshold"])
        ]
    common.check_few(lines)
    with canvas((6.4, 4.2), ax=ax) as page:
        axes = page.axes
        for place, (found, where) in enumerate(lines):
            name = next(iter(found.data_vars))
            paint, x = common.paint(place), found["threshold"].values
            label = common.wrapped(common.called(name, where), 40)
            axes.plot(x, found["median"], common.STYLES[place % 4], color=paint, label=label)
            axes.fill_between(x, *found[name].values.T, color=paint, alpha=0.2, linewidth=0)
        axes.set(xlabel="threshold: predicted positive at or above")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(fontsize=8, loc="best")
        words = f"line: median; {common.band_words(prob, simultaneous)}"
        page.heading(words, common.positive_of(evidence))
    return page.figure
