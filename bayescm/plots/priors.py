"""The effect of the prior: the posterior of a measure under several priors."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import xarray as xr

from bayescm.answers.asking import distribution_of
from bayescm.plots import common
from bayescm.plots.canvas import canvas
from bayescm.validate import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_priors(
    evidence: xr.DataArray,
    measure: str | Callable,
    priors: Mapping[str, Any],
    *,
    ax: "Axes | None" = None,
    **keywords: Any,
) -> "Figure":
    """
    Draw the posterior density of a measure under several priors.

    Parameters
    ----------
    evidence : DataArray, dims (actual, predicted)
        Counts.
    measure : str or callable
    priors : mapping of str to concentration
        A name for each prior: ``{"flat": 1.0, "experts": priors.elicit(...)}``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    **keywords
        Keywords of `bayescm.interval`: ``model``, ``draws``, ``random_seed`` ...

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=50, fn=30, fp=30, tn=35)
    >>> experts = bcm.priors.elicit(precision=0.6, recall=0.65, accuracy=0.6, weight=72.5)
    >>> figure = plot_priors(counts, "f1", {"flat": 1.0, "experts": experts})
    >>> len(figure.axes[0].lines)
    2
    """
    if not isinstance(priors, Mapping) or not priors:
        raise fail("no priors", priors, "a mapping from names to priors", 'pass {"flat": 1.0}')
    with canvas((6, 3.6), ax=ax) as page:
        for place, (name, prior) in enumerate(priors.items()):
            distribution, template = distribution_of(
                evidence, measure, concentration=prior, **keywords
            )
            if template.ndim:
                todo = "select one matrix, and average over classes (e.g. f1_macro)"
                raise fail("more than one density per prior", template.dims, "no other dims", todo)
            style = {"color": common.paint(place), "ls": common.STYLES[place % 4]}
            page.axes.plot(*common.density(distribution), **style, label=common.wrapped(name))
        page.axes.set(xlabel=template.name, ylabel="posterior density", ylim=(0, None))
        page.axes.spines[["top", "right"]].set_visible(False)
        page.axes.legend(frameon=False)
        page.heading("posterior by prior", common.positive_of(evidence))
    return page.figure
