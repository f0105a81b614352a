"""The effect of the prior: the posterior of a measure under several priors."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from bayescm.answers.interval import distribution_of
from bayescm.plots import common
from bayescm.validate import fail

_POINTS = 400


def plot_priors(
    evidence: xr.DataArray,
    measure: str | Callable,
    priors: Mapping[str, Any],
    **keywords: Any,
):
    """
    Draw the posterior density of a measure under several priors.

    Parameters
    ----------
    evidence : DataArray, dims (actual, predicted)
        Counts.
    measure : str or callable
    priors : mapping of str to concentration
        A name for each prior: ``{"flat": 1.0, "experts": priors.elicit(...)}``.
    **keywords
        Of `bayescm.interval`: ``model``, ``draws``, ``random_seed`` ...

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
    import matplotlib.pyplot as plt

    if not priors:
        raise fail("no priors", priors, "a mapping from names to priors", 'pass {"flat": 1.0}')
    figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for index, (name, prior) in enumerate(priors.items()):
        distribution, template = distribution_of(evidence, measure, concentration=prior, **keywords)
        if template.ndim:
            todo = "select one matrix, and average over classes (e.g. f1_macro)"
            raise fail("more than one density per prior", template.dims, "no other dims", todo)
        points, density = _density(distribution)
        color = common.PALETTE[index % len(common.PALETTE)]
        axis.plot(points, density, color=color, ls=["-", "--", "-.", ":"][index % 4], label=name)
    axis.set(xlabel=template.name, ylabel="posterior density", ylim=(0, None))
    axis.legend(frameon=False)
    common.heading(figure, common.positive_of(evidence))
    return common.finish(figure)


def _density(distribution):
    points = np.linspace(
        float(distribution.quantile(1e-4)), float(distribution.quantile(1 - 1e-4)), _POINTS
    )
    return points, distribution.pdf(points)
