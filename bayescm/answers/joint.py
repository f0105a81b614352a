"""Simultaneous intervals of several measures, and conclusions from them."""

from collections.abc import Callable, Hashable, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import xarray as xr

from bayescm.answers.compare import (
    Evidence,
    check_levels,
    count_values,
    draw_labelled,
    draws_of,
    joint_posterior,
    rng_of,
)
from bayescm.fitting.question import Question
from bayescm.measures.display_names import display_name
from bayescm.measures.labelled import check_pairs
from bayescm.validate import check_is, check_memory, check_prob, fail

_COPIES = 5  # number of copies of the draws while they are ranked


def joint_interval(
    evidence: Evidence,
    measures: str | Callable | Sequence[str | Callable] | None = None,
    *,
    pairs: Sequence[tuple[Hashable, str]] | None = None,
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
    Return simultaneous intervals with joint posterior probability ``prob``.

    Every interval excludes the same probability on either side, chosen so that all intervals
    jointly have probability ``prob``. Any conclusion from them, even post hoc, therefore has at
    least this joint probability.

    Classifiers on the same folds are compared with the correlated t, as in :func:`bayescm.compare`.
    This distribution is unbounded, so its intervals are clipped to the range of the measure.

    Parameters
    ----------
    evidence : Dataset, DataArray, DataTree or mapping
        See :func:`bayescm.compare`.
    measures : name, function, or sequence of these, optional
        Measures, by default the same as for `bayescm.compare`.
    pairs : sequence of (classifier, measure), optional
        Combinations of classifier and measure to include. By default all of them. The intervals of
        other combinations are NaN.
    prob : float, default 0.95
    of, n, model, concentration, positive, draws, random_seed, **keywords
        See :func:`bayescm.compare`.

    Returns
    -------
    Dataset
        One variable per measure, dims ``(..., classifier, [class,] bound)``. The coordinate
        ``prob_all`` is the joint posterior probability of all intervals. Members of a dimension
        ``batch`` are unrelated and are treated separately.

    References
    ----------
    Besag, J., Green, P., Higdon, D. & Mengersen, K. (1995). Bayesian computation and stochastic
    systems. Statistical Science 10, 3-41. doi:10.1214/ss/1177010123

    See Also
    --------
    conclusions : Conclusions from these intervals, in words.
    bayescm.classical.delta : Frequentist intervals in the same format.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> both = bcm.joint_interval(counts, ["precision", "recall"], random_seed=1)
    >>> both.precision.values.round(2), round(float(both.prob_all), 3)
    (array([0.54, 0.75]), 0.95)
    """
    prob = check_prob(prob)
    question = Question(of, n, model, concentration, positive, draws, random_seed, None, keywords)
    posterior, resolved_measures, of = joint_posterior(evidence, measures, question)
    check_levels(posterior)
    size = draws_of(question, posterior, of)
    todo = "use fewer classifiers or measures at a time, or pass `draws=1000`"
    n_values = count_values(posterior, resolved_measures)
    n_per_member = count_values(posterior, resolved_measures, "batch")
    check_memory("draws that are ranked need", size * (2 * n_values + _COPIES * n_per_member), todo)
    values = draw_labelled(posterior, resolved_measures, size, rng_of(question), of=of, n=n)
    values = values if pairs is None else _select_pairs(values, resolved_measures, pairs)
    batches = values.sizes["batch"] if "batch" in values.dims else None
    parts = [values] if batches is None else [values.isel(batch=index) for index in range(batches)]
    envelopes = [_envelope(part, prob) for part in parts]
    for intervals, measure in product(envelopes, resolved_measures):
        intervals[measure.__name__] = intervals[measure.__name__].clip(*measure.range)
    if batches is None:
        return envelopes[0]
    # Without `coords`, xarray would merge equal values of `prob_all` into a scalar.
    return xr.concat(envelopes, "batch", coords=["prob_all"]).transpose("batch", ...)


def _select_pairs(values, measures, pairs):
    """Return the draws with NaN for all but the selected classifiers and measures."""
    if "classifier" not in values.dims:
        raise fail(
            "`pairs` needs evidence with classifiers",
            ...,
            "",
            "pass the measures alone, or evidence with classifiers",
        )
    names = values.coords["classifier"].values.tolist()
    selected = xr.DataArray(check_pairs(pairs, names, measures), dims=("classifier", "measure"))
    return values.assign(
        {
            measure.__name__: values[measure.__name__].where(selected.isel(measure=index))
            for index, measure in enumerate(measures)
        }
    )


def _envelope(values, prob):
    names = list(values.data_vars)
    flat = np.concatenate(
        [values[name].values.reshape(values.sizes["draw"], -1) for name in names], 1
    )
    ends, reached = envelope(flat, prob)
    variables, start = {}, 0
    for name in names:
        array = values[name]
        shape = array.shape[1:]
        stop = start + int(np.prod(shape))
        variables[name] = ((*array.dims[1:], "bound"), ends[start:stop].reshape(*shape, 2))
        start = stop
    coords = {k: v for k, v in values.coords.items() if "draw" not in v.dims}
    return xr.Dataset(variables, {**coords, "bound": ["lower", "upper"], "prob_all": reached})


def envelope(draws: np.ndarray, prob: float) -> tuple[np.ndarray, float]:
    """
    Return equal-rank intervals that jointly contain a fraction of the draws.

    Parameters
    ----------
    draws : ndarray, shape (size, P)
        Joint draws. The ends of columns that contain only NaN are NaN. Draws with NaN in another
        column are excluded.
    prob : float

    Returns
    -------
    ends : ndarray, shape (P, 2)
    reached : float
        Share of the draws inside all intervals, at least ``prob``.
    """
    ends = np.full((draws.shape[1], 2), np.nan)
    defined = ~np.isnan(draws).all(axis=0)
    inside = draws[:, defined]
    inside = inside[~np.isnan(inside).any(axis=1)]
    size = len(inside)
    if size == 0 or not defined.any():
        return ends, float("nan")
    order = np.argsort(inside, axis=0)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(size)[:, None], axis=0)
    depth = np.minimum(ranks, size - 1 - ranks).min(axis=1)
    # The intervals must contain the deepest draws, whose fraction is `prob`.
    cut = np.sort(depth)[size - int(np.ceil(prob * size))]
    rows = np.take_along_axis(inside, order[[cut, size - 1 - cut]], axis=0)
    ends[defined] = rows.T
    return ends, float((depth >= cut).mean())


def conclusions(joint: xr.Dataset, *, above: dict[str, float] | None = None) -> list[str]:
    """
    Return the conclusions from simultaneous intervals, in words.

    Parameters
    ----------
    joint : Dataset
        Result of :func:`joint_interval`, or of :func:`bayescm.classical.delta` with ``joint=True``.
    above : mapping of measure to number, optional
        Thresholds for the intervals.

    Returns
    -------
    list of str
        Sentences for each measure, which state:

        - which classifier is better than another, by at least the gap between disjoint intervals
        - which classifier is best or worst
        - which interval is inside another
        - which classifiers are above or below a threshold.

        All sentences are jointly true with the probability of the intervals. A classifier that is
        not mentioned may still be better or worse.

    Examples
    --------
    >>> import xarray as xr
    >>> coords = {"classifier": ["a", "b"], "bound": ["lower", "upper"]}
    >>> ends = (("classifier", "bound"), [[0.80, 0.86], [0.71, 0.77]])
    >>> conclusions(xr.Dataset({"f1": ends}, coords=coords), above={"f1": 0.7})
    ['a beats b in F1 by at least 0.03', 'F1 of a is above 0.7', 'F1 of b is above 0.7']
    """
    allowed, todo = "a Dataset with a dimension bound", "pass joint_interval(evidence, measures)"
    check_is(joint, xr.Dataset, "joint intervals", allowed, todo)
    if "bound" not in joint.dims:
        raise fail(
            "These are not joint intervals, because the dimension bound is missing; the "
            "dimensions are {}",
            tuple(joint.dims),
            "",
            todo,
        )
    rows = []
    for name in joint.data_vars:
        for where, ends in _by_position(joint[name]):
            label = f"{display_name(str(name))}{where}"
            rows += _orders(label, ends)
            limit = (above or {}).get(str(name))
            rows += (
                []
                if limit is None
                else _against_limit(f"{display_name(str(name))}{where}", ends, limit)
            )
    return rows


def _by_position(ends):
    """Yield the intervals of the classifiers at each position along the other dimensions."""
    others = [dim for dim in ends.dims if dim not in ("classifier", "bound")]
    members = ends.expand_dims("classifier") if "classifier" not in ends.dims else ends
    names = members.coords["classifier"].values if "classifier" in members.coords else ["it"]
    for index in np.ndindex(*(ends.sizes[dim] for dim in others)):
        at = dict(zip(others, index, strict=True))
        part = members.isel(at).transpose("classifier", "bound")
        labels = [
            str(part.coords[dim].item()) if dim in part.coords else str(at[dim]) for dim in at
        ]
        where = f"[{', '.join(labels)}]" if labels else ""
        yield where, {str(k): tuple(v) for k, v in zip(names, part.values, strict=True)}


def _orders(name, ends):
    defined = {who: pair for who, pair in ends.items() if not np.isnan(pair).any()}
    sentences: list[str] = []
    better: dict[str, set[str]] = {who: set() for who in defined}
    for first, second in combinations(defined, 2):
        for high, low in ((first, second), (second, first)):
            gap = defined[high][0] - defined[low][1]
            if gap > 0:
                better[high].add(low)
                sentences.append(f"{high} beats {low} in {name} by at least {_down(gap)}")
            elif defined[high][0] > defined[low][0] and defined[high][1] < defined[low][1]:
                sentences.append(f"the interval of {high} in {name} lies inside that of {low}")
    if len(defined) > 2:
        for who in defined:
            if len(better[who]) == len(defined) - 1:
                sentences.append(f"{who} is the best of all in {name}")
            if all(who in beaten for other, beaten in better.items() if other != who):
                sentences.append(f"{who} is the worst of all in {name}")
    return sentences


def _against_limit(name, ends, limit):
    sentences = []
    for who, (lower, upper) in ends.items():
        if lower > limit:
            sentences.append(f"{name} of {who} is above {limit:g}")
        elif upper < limit:
            sentences.append(f"{name} of {who} is below {limit:g}")
    return sentences


def _down(gap):
    """Format a gap, rounded down to two digits so that the statement remains true."""
    unit = 10.0 ** (np.floor(np.log10(gap)) - 1)
    return f"{np.floor(gap / unit + 1e-9) * unit:.6g}"
