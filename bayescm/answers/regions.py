"""Joint credible regions of two measures, and correlations between measures."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import ndtri

from bayescm.answers.compare import (
    Evidence,
    check_levels,
    count_values,
    draw_labelled,
    draw_measures,
    draws_of,
    joint_posterior,
    rng_of,
)
from bayescm.fitting.question import Question
from bayescm.fitting.sampled import is_sampled
from bayescm.measures.labelled import several
from bayescm.validate import check_memory, check_prob, fail

_GRID = 160  # number of grid points along each axis
_COPIES = 4  # number of copies of the draws in memory while regions are computed
_GRIDS = 2  # number of grids in memory at the same time
_SMALL = 16  # largest number of cells of a table for which draws are almost free
_MANY_DRAWS = 400_000  # number of draws for small tables, so that the boundary is smooth


def region(
    evidence: Evidence,
    measures: tuple[str | Callable, str | Callable] = ("recall", "precision"),
    *,
    prob: float = 0.95,
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    **keywords: Any,
) -> xr.Dataset:
    """
    Return the joint highest-density region of two measures.

    Use it for measures that depend on each other, such as recall and precision, whose separate
    intervals do not show this dependence.

    Parameters
    ----------
    evidence : Dataset, DataArray, DataTree or mapping
        See :func:`bayescm.compare`.
    measures : pair of name or function, default ("recall", "precision")
        The two measures. For measures of one class, a region is returned for each class.
    prob : float, default 0.95
        Posterior probability of the region.
    of, n, model, concentration, positive, draws, random_seed, **keywords
        See :func:`bayescm.compare`.

    Returns
    -------
    Dataset
        Result on a grid with coordinates named after the measures, for each member of the leading
        dimensions:

        - ``density``: density estimate from the draws.
        - ``inside``: whether the grid point is inside the region.
        - ``level``: density at the boundary of the region.
        - ``area``: area of the region.

        The region may have holes or consist of several pieces.

    References
    ----------
    Hyndman, R. J. (1996). Computing and graphing highest density regions. The American
    Statistician 50, 120-126. doi:10.1080/00031305.1996.10474359

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> where = bcm.answers.region(counts, ("recall", "precision"), random_seed=1)
    >>> bool(where.inside.sel(recall=0.81, precision=0.65, method="nearest"))
    True
    """
    prob = check_prob(prob)
    is_small = isinstance(evidence, xr.DataArray) and evidence.size <= _SMALL
    many = _MANY_DRAWS if is_small and model is None else None
    question = Question(of, n, model, concentration, positive, draws, random_seed, None, keywords)
    posterior, resolved_measures, of = _posterior_of_two(evidence, measures, question)
    many = None if is_sampled(posterior) else many
    size = draws or many or draws_of(question, posterior, of)
    matrices = posterior.measure_template(resolved_measures[0]).size
    numbers = (
        _COPIES * size * count_values(posterior, resolved_measures) + _GRIDS * _GRID**2 * matrices
    )
    check_memory("these regions need", numbers, "use fewer members at a time, or fewer draws")
    values = draw_labelled(posterior, resolved_measures, size, rng_of(question), of=of, n=n)
    names = [measure.__name__ for measure in resolved_measures]
    grids = [_grid(values[measure.__name__].values, measure.range) for measure in resolved_measures]
    stacked = xr.concat([values[name] for name in names], "measure", coords="minimal")
    leading = [dim for dim in stacked.dims if dim not in ("measure", "draw")]
    stacked = stacked.transpose(*leading, "measure", "draw")
    shape = [stacked.sizes[dim] for dim in leading]
    density, level = np.empty((*shape, _GRID, _GRID)), np.empty(shape)
    for index in np.ndindex(*shape):
        density[index], level[index] = _highest(stacked.values[index], grids, prob)
    inside = density >= level[..., None, None]
    cell = np.prod([grid[1] - grid[0] for grid in grids])
    coords = {dim: values.coords[dim] for dim in leading if dim in values.coords}
    return xr.Dataset(
        {
            "density": ((*leading, *names), density),
            "inside": ((*leading, *names), inside),
            "level": (leading, level),
            "area": (leading, inside.sum((-2, -1)) * cell),
        },
        coords={**coords, **dict(zip(names, grids, strict=True))},
    )


def _posterior_of_two(evidence, measures, question):
    """Return the posterior, two measures with the same dimensions, and the estimand."""
    allowed = "exactly two measures, both of one class or of the whole matrix"
    if len(several(measures)) != 2:
        raise fail(f"A region needs {allowed}", measures, "", 'pass ("recall", "precision")')
    posterior, resolved_measures, of = joint_posterior(evidence, measures, question, compared=False)
    check_levels(posterior)
    if len({posterior.measure_template(measure).dims for measure in resolved_measures}) > 1:
        names = [measure.__name__ for measure in resolved_measures]
        todo = "use averages such as f1_macro, or a function of the cells for one class"
        raise fail("Only one of the measures {} has one value per class", names, allowed, todo)
    return posterior, resolved_measures, of


def _grid(draws, ends):
    """Return grid points that cover the draws with a margin, within the measure's range."""
    low, high = np.nanmin(draws), np.nanmax(draws)
    room = 0.08 * (high - low) + 1e-9
    least, most = ends
    return np.linspace(max(low - room, least), min(high + room, most), _GRID)


def _highest(draws, grids, prob):
    """Return the smoothed density on the grid, and its level at the boundary of the region."""
    draws = draws[:, ~np.isnan(draws).any(axis=0)]
    steps = [grid[1] - grid[0] for grid in grids]
    spans = [
        (grid[0] - step / 2, grid[-1] + step / 2) for grid, step in zip(grids, steps, strict=True)
    ]
    counts, _, _ = np.histogram2d(draws[0], draws[1], bins=_GRID, range=spans)
    # Scott's rule with the correlation of the draws, so that thin regions stay thin. For repeated
    # draws, as in importance sampling, Kish's effective size avoids a ragged boundary.
    pairs = np.ascontiguousarray(draws.T).view(complex)  # complex pairs sort six times faster
    _, repeats = np.unique(pairs, return_counts=True)
    effective = draws.shape[1] ** 2 / (repeats.astype(float) ** 2).sum()
    bandwidth = np.cov(draws) * effective ** (-1 / 3)
    bandwidth += np.diag([(step / 2) ** 2 for step in steps])
    density = _smooth(counts, np.linalg.inv(bandwidth), steps)
    density /= density.sum() * np.prod(steps)
    cells = [
        np.clip(np.rint((values - grid[0]) / step).astype(int), 0, len(grid) - 1)
        for values, grid, step in zip(draws, grids, steps, strict=True)
    ]
    return density, np.quantile(density[cells[0], cells[1]], 1 - prob)


def _smooth(counts, precision, steps):
    """Convolve counts on a grid with a normal density, reflected at the edges of the grid."""
    size = counts.shape[0]
    wide = np.pad(counts, size // 2, mode="symmetric")
    offsets = [np.fft.fftfreq(wide.shape[0], 1 / wide.shape[0]) * step for step in steps]
    x, y = np.meshgrid(*offsets, indexing="ij")
    square = precision[0, 0] * x**2 + 2 * precision[0, 1] * x * y + precision[1, 1] * y**2
    measure = np.exp(-square / 2)
    product = np.fft.rfft2(wide) * np.fft.rfft2(measure)
    smooth = np.fft.irfft2(product, wide.shape)
    return np.maximum(smooth[size // 2 :, size // 2 :][:size, :size], 0)


def correlation(
    evidence: Evidence,
    measures: Sequence[str | Callable] | None = None,
    *,
    prob: float = 0.95,
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    **keywords: Any,
) -> xr.Dataset:
    """
    Return posterior correlations between measures.

    Parameters
    ----------
    evidence : Dataset, DataArray, DataTree or mapping
        See :func:`bayescm.compare`.
    measures : sequence of two or more names or functions, optional
        Measures, by default the same as for `bayescm.compare`.
    prob : float, default 0.95
    of, n, model, concentration, positive, draws, random_seed, **keywords
        See :func:`bayescm.compare`.

    Returns
    -------
    Dataset, dims (..., measure, other)
        ``correlation`` and the bounds ``lower`` and ``upper``, which describe only the Monte Carlo
        error: they contain the exact correlation with probability ``prob``, and more draws make
        them narrower. Correlations between members are not included, but :func:`bayescm.compare`
        takes them into account.

    References
    ----------
    Caelen, O. (2017). A Bayesian interpretation of the confusion matrix. Annals of Mathematics and
    Artificial Intelligence 81, 429-450. doi:10.1007/s10472-017-9564-8

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> correlations = correlation(counts, ["precision", "recall"], random_seed=1)
    >>> round(float(correlations.correlation.sel(measure="precision", other="recall")), 2)
    0.26
    """
    prob = check_prob(prob)
    question = Question(of, n, model, concentration, positive, draws, random_seed, None, keywords)
    values = draw_measures(evidence, measures, question, compared=False)
    names = [str(name) for name in values.data_vars]
    if len(names) < 2:
        raise fail("A correlation needs two or more measures", names, "", "add another measure")
    stacked = xr.concat([values[name] for name in names], "measure", coords="minimal")
    stacked = stacked.transpose(..., "measure", "draw")
    with np.errstate(divide="ignore", invalid="ignore"):
        correlations = np.apply_along_axis(
            lambda flat: _corr(flat, len(names)), -1, _flat(stacked.values)
        )
        correlations = correlations.reshape(*stacked.shape[:-2], len(names), len(names))
        reach = ndtri((1 + prob) / 2) / np.sqrt(stacked.sizes["draw"] - 3)
        middle = np.arctanh(correlations)
        ends = np.tanh(middle - reach), np.tanh(middle + reach)
    dims = (*stacked.dims[:-2], "measure", "other")
    coords = {dim: values.coords[dim] for dim in stacked.dims[:-2] if dim in values.coords}
    parts = {"correlation": correlations, "lower": ends[0], "upper": ends[1]}
    return xr.Dataset(
        {name: (dims, array) for name, array in parts.items()},
        coords={**coords, "measure": names, "other": names},
    )


def _flat(array):
    return array.reshape(*array.shape[:-2], -1)


def _corr(flat, number):
    draws = flat.reshape(number, -1)
    return np.corrcoef(draws[:, ~np.isnan(draws).any(axis=0)]).ravel()
