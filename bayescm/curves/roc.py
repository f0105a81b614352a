"""
ROC and precision-recall curves with simultaneous or pointwise bands, and draws of curves.

Curves are drawn from the posterior of the scores (`bayescm.posteriors.scores`). Each fold or group,
classifier and class has a separate curve, and curves for the same examples share their draws. A
band is either pointwise, or the hull of the deepest draws, which contains the whole curve with the
requested probability.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from bayescm.distributions.empirical import Empirical
from bayescm.evidence.scores import as_scores, score_arrays
from bayescm.evidence.slices import samples
from bayescm.measures.curves import (
    ClassCurves,
    Curve,
    empirical,
    lowest,
    on_the_axes,
    precision_at,
    tpr_at,
)
from bayescm.posteriors.binormal import binormal
from bayescm.posteriors.roc.curve_posterior import CurvePosterior, empirical_curves
from bayescm.posteriors.roc.prevalence import known_prevalence
from bayescm.posteriors.roc.slots import Slots
from bayescm.posteriors.scores import scores
from bayescm.validate import check_choice, check_kind, check_prob, check_seed, check_whole, fail

_RESOLUTION = 256  # number of blocks to which slots are merged, if there are more slots
# The grid is dense near both ends, where curves bend most.
_ENDS = np.array([0.001, 0.002, 0.005])
GRID = np.concatenate([_ENDS, np.linspace(0, 1, 101)[1:-1], 1 - _ENDS[::-1]])
CURVE_DRAWS = 2000


def roc(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    simultaneous: bool = True,
    fpr: Any = None,
    model: str | None = None,
    draws: int = CURVE_DRAWS,
    random_seed: int = 0,
) -> xr.Dataset:
    """
    Return the ROC curve with its band.

    Parameters
    ----------
    evidence : Dataset
        Scores from :func:`bayescm.from_scores`.
    prob : float, default 0.95
        Probability that the band contains the whole curve or, if pointwise, any one point.
    simultaneous : bool, default True
        Whether the band is for the whole curve.
    fpr : array_like, optional
        False positive rates in [0, 1] at which to evaluate the curve, 107 by default. A
        simultaneous band covers these points.
    model : {"scores", "binormal"}, optional
        ``"scores"`` (the default) uses only the order of the scores. ``"binormal"`` assumes normal
        scores in each class.
    draws : int, default 2000
        Number of draws.
    random_seed : int, optional
        Seed of the draws.

    Returns
    -------
    Dataset
        ``tpr`` over ([fold | group], [classifier], [class], fpr, bound), and ``median`` and
        ``estimate`` (the curve of the sample) without ``bound``. The scalar coordinates are
        ``prob`` and ``band`` (simultaneous or pointwise).

    Notes
    -----
    The probability mass beyond the scores of the highest negative and of the lowest positive has a
    distribution, but the data do not determine its position. The lower bound of a simultaneous band
    places it as far out as possible. On the axes, both bands place it as close as possible. At a
    rate of 0, they therefore extend as high as the curve can rise before the highest negative.

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> actual = rng.random(200) < 0.3
    >>> evidence = bcm.from_scores(actual, rng.normal(actual, 1))
    >>> curve = roc(evidence, fpr=[0.1, 0.2])
    >>> curve.tpr.dims, curve.band.item()
    (('fpr', 'bound'), 'simultaneous')
    """
    grid = _grid(fpr, "fpr", np.concatenate([[0.0], GRID, [1.0]]), 0.0)
    drawn = draw_curves(evidence, draws, random_seed, resolution=_RESOLUTION, model=model)
    answer = _with_band(evidence, drawn, _tpr_on(grid), prob, simultaneous)
    return answer.assign(tpr=_at_the_axes(answer, drawn, prob))


def precision_recall(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    simultaneous: bool = True,
    recall: Any = None,
    model: str | None = None,
    draws: int = CURVE_DRAWS,
    random_seed: int = 0,
) -> xr.Dataset:
    """
    Return the precision-recall curve with its band.

    Between thresholds, the curve interpolates by mixing them. The interpolation is linear in ROC
    space and curved here.

    Parameters
    ----------
    evidence : Dataset
        Scores from :func:`bayescm.from_scores`, or from `at_prevalence` for a known prevalence.
    recall : array_like, optional
        Recalls in (0, 1] at which to evaluate the curve. Below one over the number of positives,
        the data contain little information and the band is wide. At 0, precision is undefined.
    prob, simultaneous, model, draws, random_seed
        See `roc`.

    Returns
    -------
    Dataset
        ``precision`` over ([fold | group], [classifier], [class], recall, bound), and ``median``
        and ``estimate``. The scalar coordinates are as in `roc`.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> found = precision_recall(evidence, recall=[0.25, 0.5, 1], draws=500)
    >>> found["precision"].dims
    ('recall', 'bound')
    """
    grid = _grid(recall, "recall", np.concatenate([GRID[GRID >= 0.01], [1.0]]), 1e-12)
    drawn = draw_curves(evidence, draws, random_seed, resolution=_RESOLUTION, model=model)
    return _with_band(evidence, drawn, _precision_on(grid), prob, simultaneous)


def roc_draws(
    evidence: xr.Dataset,
    *,
    fpr: Any = None,
    model: str | None = None,
    draws: int = CURVE_DRAWS,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return posterior draws of the ROC curve.

    Curves of classifiers on the same examples are drawn jointly. `band` turns the draws, or a
    difference between them, into a band.

    Parameters
    ----------
    evidence, fpr, model, draws, random_seed
        See `roc`.

    Returns
    -------
    DataArray, dims (draw, [fold | group], [classifier], [class], fpr)
        Draws.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> roc_draws(evidence, fpr=[0, 0.5, 1], draws=100).shape
    (100, 3)
    """
    grid = _grid(fpr, "fpr", np.concatenate([[0.0], GRID, [1.0]]), 0.0)
    drawn = draw_curves(evidence, draws, random_seed, resolution=_RESOLUTION, model=model)
    return _tpr_on(grid)(drawn)


def precision_recall_draws(
    evidence: xr.Dataset,
    *,
    recall: Any = None,
    model: str | None = None,
    draws: int = CURVE_DRAWS,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return posterior draws of the precision-recall curve.

    Parameters
    ----------
    evidence, recall, model, draws, random_seed
        See `precision_recall`.

    Returns
    -------
    DataArray, dims (draw, [fold | group], [classifier], [class], recall)
        Draws.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> precision_recall_draws(evidence, recall=[0.5, 1], draws=100).shape
    (100, 2)
    """
    grid = _grid(recall, "recall", np.concatenate([GRID[GRID >= 0.01], [1.0]]), 1e-12)
    drawn = draw_curves(evidence, draws, random_seed, resolution=_RESOLUTION, model=model)
    return _precision_on(grid)(drawn)


def points(evidence: xr.Dataset) -> xr.Dataset:
    """
    Return the points of the empirical curve, one per distinct score.

    Equivalent to ``sklearn.metrics.roc_curve(..., drop_intermediate=False)`` and
    ``precision_recall_curve``, with the highest threshold first.

    Parameters
    ----------
    evidence : Dataset
        Scores of one classifier and two classes, without folds.

    Returns
    -------
    Dataset, dim ``threshold``
        ``fpr``, ``tpr`` and ``precision``. Examples with a score >= threshold are predicted
        positive.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> points(evidence).tpr.values
    array([0. , 0.5, 0.5, 1. , 1. ])
    """
    evidence = as_scores(evidence)
    extra = [dim for dim in ("classifier", "class") if dim in evidence.dims]
    extra += [name for name in ("fold", "group") if name in evidence]
    if extra:
        todo = "select one: evidence.sel(classifier=...), one_vs_rest(...), pool_folds(...)"
        raise fail("A single curve is needed, but the scores also have {}", extra, "", todo)
    matrix, weights, codes = score_arrays(evidence)
    prevalence = known_prevalence(evidence, codes == 1)
    observed, thresholds = empirical(matrix[0], codes == 1, weights, prevalence)
    share, fpr, tpr = observed.prevalence[0], observed.fpr[0], observed.tpr[0]
    with np.errstate(invalid="ignore"):
        precision = share * tpr / (share * tpr + (1 - share) * fpr)
    precision[0] = 1.0  # scikit-learn's convention if no example is predicted positive
    rates = {"fpr": fpr, "tpr": tpr, "precision": precision}
    columns = {name: ("threshold", values) for name, values in rates.items()}
    coords = {"threshold": np.concatenate([[np.inf], thresholds])}
    return xr.Dataset(columns, coords)


def _grid(rates, name, default, least):
    if rates is None:
        return default
    try:
        grid = np.atleast_1d(np.asarray(rates, float))
    except (TypeError, ValueError):
        grid = np.array([np.nan])
    if grid.ndim != 1 or not len(grid) or not ((grid >= least) & (grid <= 1)).all():
        allowed = "numbers in [0, 1]" if least == 0 else "numbers in (0, 1]"
        raise fail(f"{name} must be {allowed}", rates, "", f"leave `{name}` out")
    return grid


def _tpr_on(grid):
    """Return a function that maps drawn curves to their true positive rates on a grid."""
    return lambda drawn: drawn.map(partial(tpr_at, fpr=grid), "tpr", {"fpr": grid})


def _precision_on(grid):
    """Return a function that maps drawn curves to their precision on a grid of recalls."""
    return lambda drawn: drawn.map(
        partial(precision_at, recall=grid), "precision", {"recall": grid}
    )


def _with_band(evidence, drawn, on_grid, prob, simultaneous):
    """Return band, median and sample values of drawn curves, evaluated on a grid."""
    values = on_grid(drawn)
    lowest = on_grid(drawn.lowest()) if simultaneous else None
    bounds = band(values, prob=prob, simultaneous=simultaneous, lowest=lowest)
    answer = {values.name: bounds, "median": values.reduce(np.median, "draw")}
    answer["estimate"] = on_grid(observed_curves(evidence)).isel(draw=0, drop=True)
    coords = {"prob": prob, "band": "simultaneous" if simultaneous else "pointwise"}
    return xr.Dataset(answer).assign_coords(coords)


def _at_the_axes(answer, drawn, prob):
    """Return the band with its values on the axes, where a curve may rise at once or end early."""
    tpr, fpr = answer["tpr"].copy(), answer["fpr"].values
    lower, upper = tpr.values[..., 0], tpr.values[..., 1]
    rates = drawn.on_the_axes()
    if rates is not None:
        start = np.quantile(rates[0], (1 + prob) / 2, axis=0)
        done = np.quantile(rates[1], (1 - prob) / 2, axis=0)
        # The band on the axis must not exceed the band at larger rates.
        further = upper[..., fpr > 0].min(axis=-1, initial=np.inf)
        upper[..., fpr == 0] = np.minimum(start, further)[..., None]
        upper[fpr >= done[..., None]] = 1.0
    # The band always includes the empirical curve.
    np.maximum(upper, answer["estimate"].values, out=upper)
    lower[..., fpr == 0] = 0.0
    return tpr


# Bands around draws of a curve: pointwise, and global envelopes by extreme rank length.


def band(
    draws: xr.DataArray,
    *,
    prob: float = 0.95,
    simultaneous: bool = True,
    dim: str | None = None,
    lowest: xr.DataArray | None = None,
) -> xr.DataArray:
    """
    Return a band from draws of a curve, or of the difference between two curves.

    Parameters
    ----------
    draws : DataArray, dims (draw, ..., dim)
        Draws from `roc_draws`, or a difference between two of these.
    prob : float, default 0.95
        Probability that the band contains the whole curve or, if pointwise, any one point.
    simultaneous : bool, default True
        Whether the band is for the whole curve.
    dim : str, optional
        Dimension along the curve. The default is the last one.
    lowest : DataArray, optional
        The same draws at their lowest possible values, for the lower bound of a simultaneous band.

    Returns
    -------
    DataArray, dims (..., dim, bound)
        Band.

    Notes
    -----
    The simultaneous band is the hull of the deepest draws. The depth of a draw is its most extreme
    rank among all draws. Ties are broken by the next most extreme ranks (the extreme rank length of
    global envelope tests).

    References
    ----------
    Myllymäki, M., Mrkvička, T., Grabarnik, P., Seijo, H. & Hahn, U. (2017). Global envelope tests
    for spatial processes. Journal of the Royal Statistical Society B 79, 381-404.
    doi:10.1111/rssb.12172

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 1] * 9, range(36))
    >>> draws = bcm.curves.roc_draws(evidence, fpr=[0.25, 0.5], draws=500)
    >>> band(draws).dims
    ('fpr', 'bound')
    """
    check_prob(prob)
    dim = str(draws.dims[-1]) if dim is None else dim
    for needed in ("draw", dim):
        if needed not in draws.dims:
            raise fail(
                f"The draws need the dimensions draw and {dim}; they have {{}}",
                draws.dims,
                "",
                "name the dimension of the curve with `dim=`",
            )
    ordered = draws.transpose("draw", ..., dim)
    shape = (ordered.sizes["draw"], -1, ordered.sizes[dim])
    flat = ordered.values.reshape(shape)
    low = flat if lowest is None else lowest.transpose(*ordered.dims).values.reshape(shape)
    ends = np.stack(
        [
            _global_envelope(flat[:, index], low[:, index], prob)
            if simultaneous
            else _pointwise(flat[:, index], prob)
            for index in range(flat.shape[1])
        ]
    )
    ends = ends.reshape(*ordered.shape[1:], 2)
    coords = {k: v for k, v in ordered.coords.items() if "draw" not in v.dims}
    coords |= {"bound": ["lower", "upper"]}
    return xr.DataArray(ends, coords, (*ordered.dims[1:], "bound"), draws.name)


def interval_of(values: xr.DataArray, prob: float, kind: str) -> xr.DataArray:
    """Return the interval of draws, dims (draw, ...)."""
    check_prob(prob), check_kind(kind)
    distribution = Empirical(values.transpose("draw", ...).values)
    ends = getattr(distribution, kind)(prob)
    dims = [dim for dim in values.dims if dim != "draw"]
    coords = {k: v for k, v in values.coords.items() if "draw" not in v.dims}
    return xr.DataArray(
        ends, {**coords, "bound": ["lower", "upper"]}, (*dims, "bound"), values.name
    )


def _pointwise(curves, prob):
    """Return equal-tailed intervals, (T, 2), of curves (S, T)."""
    return np.quantile(curves, [(1 - prob) / 2, (1 + prob) / 2], axis=0).T


def _global_envelope(curves, low, prob):
    """Return the hull (T, 2) of the deepest of the curves (S, T); ``low`` gives the lower side."""
    size = len(curves)
    points = np.ascontiguousarray(curves.T)
    # Only the most extreme ranks matter, so it is enough to sort the draws at both edges.
    edge = min(size // 2, max(8, int(np.ceil((1 - prob) * size))))
    order = np.stack([_edge(points, edge), _edge(-points, edge)])
    values = np.take_along_axis(points[None], order, axis=2)
    draws, ranks = order[..., :edge], np.stack([_edge_ranks(side) for side in values])
    extreme = _extreme_rank_lengths(draws.ravel(), ranks.ravel(), size)
    deepest_first = np.lexsort(extreme.T[::-1])[::-1]
    kept = deepest_first[: int(np.ceil(prob * size))]
    return np.stack([low[kept].min(axis=0), curves[kept].max(axis=0)], axis=1)


def _edge(points, edge):
    """Return indices of the lowest draws at each point, in order, and the next, (T, edge + 1)."""
    some = np.argpartition(points, edge, axis=1)[:, : edge + 1]
    return np.take_along_axis(some, np.take_along_axis(points, some, axis=1).argsort(axis=1), 1)


def _edge_ranks(values):
    """Return ranks from the edge, (T, edge), with the last rank for tied draws."""
    edge = values.shape[1] - 1
    last = np.where(values[:, 1:] != values[:, :-1], np.arange(edge), edge)
    return np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]


def _extreme_rank_lengths(draw, rank, size, number=8):
    """Return each draw's most extreme ranks from both ends, smallest first, (size, number)."""
    none = rank.max(initial=0) + 1
    draw, rank = np.divmod(np.sort(draw * none + rank), none)
    within = np.arange(len(draw)) - np.searchsorted(draw, np.arange(size))[draw]
    out = np.full((size, number), none)
    keep = within < number
    out[draw[keep], within[keep]] = rank[keep]
    return out


# Draws of curves labelled by fold or group, classifier and class.


class DrawnCurves(NamedTuple):
    """
    Curves along leading dimensions, with the same draws for all curves of a fold or group.

    Attributes
    ----------
    curves : list of Curve
        Curves in the order of the dimensions.
    slots : list of Slots
        Slots of each curve. Empty if the model does not use slots (`binormal`), or if nothing is
        drawn.
    dims : tuple of str
        Dimensions of the curves.
    coords : mapping
        Labels of the dimensions, and the scalar coordinates of the evidence.
    """

    curves: list[Curve]
    slots: list[Slots]
    dims: tuple[str, ...]
    coords: dict[str, Any]

    def map(
        self, function: Callable, name: str, tail: Mapping[str, Any] | None = None
    ) -> xr.DataArray:
        """Return a function of each curve, dims (draw, ..., *tail)."""
        return self.label([function(curve) for curve in self.curves], name, tail)

    def lowest(self) -> "DrawnCurves":
        """Return the lowest curves that the open ends allow, if the model has open ends."""
        if not self.slots:
            return self
        pairs = zip(self.curves, self.slots, strict=True)
        return self._replace(curves=[lowest(curve, slots.open_ends) for curve, slots in pairs])

    def on_the_axes(self) -> tuple[xr.DataArray, xr.DataArray] | None:
        """Return the rates `on_the_axes` of each curve, or None if the model has no open ends."""
        if not self.slots:
            return None
        pairs = zip(self.curves, self.slots, strict=True)
        rates = [on_the_axes(curve, slots.open_ends) for curve, slots in pairs]
        tpr, fpr = zip(*rates, strict=True)
        return self.label(tpr, "tpr"), self.label(fpr, "fpr")

    def label(
        self, values: Sequence[np.ndarray], name: str, tail: Mapping[str, Any] | None = None
    ) -> xr.DataArray:
        """Return the arrays (draw, *tail) of all curves as one, dims (draw, ..., *tail)."""
        tail = dict(tail or {})
        stacked = np.stack(values, axis=1)
        shape = [len(self.coords[dim]) for dim in self.dims]
        stacked = stacked.reshape(len(stacked), *shape, *stacked.shape[2:])
        scalars = {key: each for key, each in self.coords.items() if key not in self.dims}
        coords = {**scalars, **{dim: self.coords[dim] for dim in self.dims}, **tail}
        return xr.DataArray(stacked, coords, ("draw", *self.dims, *tail), name)


def draw_curves(
    evidence: xr.Dataset,
    draws: int,
    random_seed: int | None,
    *,
    resolution: int | None = None,
    thresholds: np.ndarray | None = None,
    model: str | None = None,
) -> DrawnCurves:
    """
    Draw the curves of scores.

    Parameters
    ----------
    evidence : Dataset
        Scores.
    draws : int
        Number of draws.
    random_seed : int or None
        Seed of the draws.
    resolution : int, optional
        Number of slots above which neighbours are merged.
    thresholds : ndarray, optional
        Scores at which the curves need a point.
    model : {"scores", "binormal"}, optional
        ``"scores"`` (the default) uses only the order of the scores.
    """
    check_whole("draws", draws, 2, "draws", 4000)
    normal = check_choice("model", model or "scores", ["scores", "binormal"]) == "binormal"
    rng = np.random.default_rng(check_seed(random_seed))
    if normal:
        posterior = binormal(evidence)
        curves = [curve for sample in posterior.samples for curve in sample.curves(draws, rng)]
        return DrawnCurves(curves, [], *_labels(posterior))
    posterior = scores(evidence)
    curves, slots = [], []
    for sample in posterior.samples:
        uncut = None if thresholds is None else [slots.above(thresholds) for slots in sample.slots]
        curves += sample.curves(draws, rng, resolution=resolution, uncut=uncut)
        slots += sample.slots
    return DrawnCurves(curves, slots, *_labels(posterior))


def observed_curves(evidence: xr.Dataset) -> DrawnCurves:
    """Return the empirical curves of the examples, each as a single draw."""
    posterior = scores(evidence)
    curves: list[Curve] = []
    for sample in samples(posterior.evidence):
        for curve in empirical_curves(sample):
            curves += curve.one_vs_rest() if isinstance(curve, ClassCurves) else [curve]
    return DrawnCurves(curves, [], *_labels(posterior))


def _labels(posterior: CurvePosterior) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the dimensions of curves, and their coordinates including scalar ones."""
    template = posterior.template
    if posterior.classes:
        template = template.append_dim("class", posterior.classes)
    return template.dims, {name: each.values for name, each in template.coords.items()}
