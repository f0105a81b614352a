"""
Measures as functions of the threshold, the best threshold, and predictions at a threshold.

A threshold chosen because it looks best looks better than it is. `best_threshold` corrects for this
with data sets of the same size, simulated from the posterior of the curves.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from bayescm.curves.roc import CURVE_DRAWS, band, draw_curves, interval_of, observed_curves
from bayescm.evidence.outcomes import from_classifiers
from bayescm.evidence.scores import as_scores
from bayescm.measures.curves import Curve, cells_at
from bayescm.measures.labelled import one_number, several
from bayescm.posteriors.roc.curve_posterior import DRAWS
from bayescm.posteriors.roc.slots import Slots
from bayescm.validate import check_kind, check_prob, check_seed, fail

RESOLUTION = 256
# Maximum number of default thresholds: all distinct scores, or else quantiles of them.
_MOST_THRESHOLDS = 201


def threshold(
    evidence: xr.Dataset,
    measure: str | Callable,
    *,
    at: Any = None,
    prob: float = 0.95,
    simultaneous: bool = True,
    draws: int = CURVE_DRAWS,
    random_seed: int = 0,
) -> xr.Dataset:
    """
    Return a measure as a function of the threshold, with its band.

    An example is predicted positive if its score is at least the threshold. New scores may be
    higher or lower than all scores of the sample, so recall above the highest score is small but
    not exactly 0. At an infinite threshold, all or no examples are predicted positive, and measures
    that are 0/0 there are NaN.

    Parameters
    ----------
    evidence : Dataset
        Scores of two classes, or of one class against the rest.
    measure : str or callable
        Measure as in :func:`bayescm.interval`: ``"f1"``, ``"balanced_accuracy"``, or a function of
        cells.
    at : float or array_like, optional
        Thresholds. By default the distinct scores, or 201 quantiles of them.
    prob : float, default 0.95
        Probability that the band contains the measure at all thresholds or, if pointwise, at any
        one of them.
    simultaneous : bool, default True
        Whether the band is for all thresholds.
    draws : int, default 2000
        Number of draws.
    random_seed : int, optional
        Seed of the draws.

    Returns
    -------
    Dataset
        A variable with the name of the measure over ([fold | group], [classifier], threshold,
        bound), ``median``, and ``undefined``, the fraction of draws in which the measure is 0/0.
        The scalar coordinates are ``prob`` and ``band``.

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> actual = rng.random(200) < 0.3
    >>> evidence = bcm.from_scores(actual, rng.normal(actual, 1))
    >>> threshold(evidence, "f1", at=[0, 0.5, 1]).f1.dims
    ('threshold', 'bound')
    """
    values = threshold_draws(evidence, measure, at=at, draws=draws, random_seed=random_seed)
    undefined = values.isnull()
    filled = values.where(~undefined, values.median("draw"))  # preserves the ranks of the others
    filled = filled.where(filled.notnull(), 0.0)
    bounds = band(filled, prob=prob, simultaneous=simultaneous)
    never = undefined.all(dim="draw")
    answer = {
        values.name: bounds.where(~never),
        "median": values.where(~never).median("draw"),
        "undefined": undefined.mean(dim="draw"),
    }
    coords = {"prob": prob, "band": "simultaneous" if simultaneous else "pointwise"}
    return xr.Dataset(answer).assign_coords(coords)


def threshold_draws(
    evidence: xr.Dataset,
    measure: str | Callable,
    *,
    at: Any = None,
    draws: int = CURVE_DRAWS,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return posterior draws of a measure as a function of the threshold.

    Parameters
    ----------
    evidence, measure, at, draws, random_seed
        See `threshold`.

    Returns
    -------
    DataArray, dims (draw, [fold | group], [classifier], threshold)
        Draws.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> threshold_draws(evidence, "f1", at=[3, 5], draws=100).sizes["threshold"]
    2
    """
    evidence = two_classes(evidence)
    resolved = one_number(measure)
    candidates = thresholds(evidence) if at is None else _check_thresholds(at)
    drawn = draw_curves(evidence, draws, random_seed, resolution=RESOLUTION, thresholds=candidates)
    pairs = zip(drawn.curves, drawn.slots, strict=True)
    values = [values_at(candidates, curve, slots, resolved) for curve, slots in pairs]
    return drawn.label(values, resolved.__name__, {"threshold": candidates})


def at_threshold(
    evidence: xr.Dataset,
    measures: str | Callable | Sequence[str | Callable],
    threshold: float,
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    draws: int = DRAWS,
    random_seed: int = 0,
) -> xr.Dataset:
    """
    Return intervals of measures at one threshold, all from the same draws.

    If the threshold was fixed beforehand, ``bcm.interval`` of the predictions gives the same
    intervals in closed form. If it was chosen on these data, use `best_threshold`.

    Parameters
    ----------
    evidence, draws, random_seed
        See `threshold`.
    measures : name, function, or sequence of these
        Measures to estimate.
    threshold : float
        Threshold of the scores.
    prob : float, default 0.95
        Probability of the intervals.
    kind : {"hdi", "eti"}
        Highest-density or equal-tailed intervals.

    Returns
    -------
    Dataset
        One variable per measure over ([fold | group], [classifier], bound).

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> found = at_threshold(evidence, ["recall", "precision"], 5, draws=2000)
    >>> found["recall"].dims, found["threshold"].item()
    (('bound',), 5.0)
    """
    check_prob(prob), check_kind(kind)
    answers = {}
    for measure in several(measures):
        values = threshold_draws(
            evidence, measure, at=[threshold], draws=draws, random_seed=random_seed
        )
        answers[values.name] = interval_of(values.isel(threshold=0), prob, kind)
    return xr.Dataset(answers)


def values_at(thresholds: np.ndarray, curve: Curve, slots: Slots, measure: Callable) -> np.ndarray:
    """Return draws (S, T) of a measure at thresholds."""
    return measure(cells_at(curve, slots.above(thresholds)))


def thresholds(evidence: xr.Dataset) -> np.ndarray:
    """Return the thresholds to try: the distinct scores, or quantiles of them."""
    values = np.unique(evidence["score"].values)
    finite = values[np.isfinite(values)]
    if len(finite) <= _MOST_THRESHOLDS:
        return finite if len(finite) else values
    level = np.linspace(0, 1, _MOST_THRESHOLDS)
    scores = evidence["score"].values
    scores = np.sort(scores[np.isfinite(scores)])
    return np.unique(scores[np.round(level * (len(scores) - 1)).astype(int)])


def _check_thresholds(at):
    try:
        values = np.atleast_1d(np.asarray(at, float))
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if values.ndim != 1 or np.isnan(values).any() or not len(values):
        raise fail("A threshold must be a number", at, "", "pass e.g. `at=[0.3, 0.5]`")
    return values


def two_classes(evidence: xr.Dataset) -> xr.Dataset:
    """Return scores of two classes, or raise an error if there are more classes."""
    evidence = as_scores(evidence)
    if "class" in evidence.dims:
        todo = "use one class against the rest: one_vs_rest(evidence, label)"
        raise fail("A threshold needs two classes", evidence["class"].values.tolist(), "", todo)
    return evidence


# The best threshold, corrected for being chosen on the same data.


def best_threshold(
    evidence: xr.Dataset,
    measure: str | Callable,
    *,
    lower_is_better: bool | None = None,
    prob: float = 0.95,
    draws: int = CURVE_DRAWS,
    random_seed: int = 0,
) -> xr.Dataset:
    """
    Choose the threshold with the best expected value of a measure.

    The result includes the performance at the chosen threshold, corrected for choosing it on the
    same data. For costs, pass ``bcm.measures.cost([[0, 1], [5, 0]])``; lower values are then
    better. For another prevalence than in the sample, pass ``at_prevalence(evidence, 0.01)``.

    Parameters
    ----------
    evidence : Dataset
        Scores of one or more classifiers, with two classes.
    measure : str or callable
        See `threshold`.
    lower_is_better : bool, optional
        Whether lower values are better. The default depends on the measure: True for costs and
        error rates.
    prob : float, default 0.95
        Probability of the intervals.
    draws, random_seed
        See `threshold`.

    Returns
    -------
    Dataset, dims ([fold | group], [classifier], [bound])
        - ``threshold``: the chosen threshold, which has the best posterior mean.
        - ``best``: the interval of the truly best threshold.
        - ``apparent``: the best value in the sample.
        - ``value``: the interval of the measure at the chosen threshold, corrected for the choice.
        - ``optimism``: the difference between the apparent value and the corrected mean, due to
          choosing the threshold on the same data.
        - ``regret``: the expected loss compared with the truly best threshold.

    Notes
    -----
    A threshold chosen because it looks best looks better than it is. The correction is the mean
    excess in data sets of the same size, simulated from the posterior of the curves, with a
    threshold chosen in each data set.

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> actual = rng.random(200) < 0.3
    >>> evidence = bcm.from_scores(actual, rng.normal(actual, 1))
    >>> best = best_threshold(evidence, bcm.measures.cost([[0, 1], [5, 0]]))
    >>> bool(best.optimism > 0), best.value.dims
    (True, ('bound',))
    """
    check_prob(prob)
    evidence = two_classes(evidence)
    resolved = one_number(measure)
    is_loss = resolved.lower_is_better if lower_is_better is None else lower_is_better
    sign = -1.0 if is_loss else 1.0
    candidates = thresholds(evidence)
    drawn = draw_curves(evidence, draws, random_seed, resolution=RESOLUTION, thresholds=candidates)
    rng = np.random.default_rng(check_seed(random_seed))
    observed = observed_curves(evidence).curves
    choices = []
    for curve, slots, sample in zip(drawn.curves, drawn.slots, observed, strict=True):
        values = _oriented(values_at(candidates, curve, slots, resolved), sign)
        replicate = _replicate(curve, slots, rng)
        replicated = _oriented(values_at(candidates, replicate, slots, resolved), sign)
        apparent = _oriented(_observed(sample, resolved), sign).max()
        choices.append(_choose(values, replicated, apparent, prob, sign))
    answer = {}
    for name in _Choice._fields:
        values = np.stack([np.asarray(getattr(choice, name), float) for choice in choices])
        values = candidates[values.astype(int)] if name in ("threshold", "best") else values
        tail = {"bound": ["lower", "upper"]} if values.ndim > 1 else None
        labelled = drawn.label(list(values[:, None]), name, tail)
        answer[name] = labelled.isel(draw=0, drop=True)
    return xr.Dataset(answer).assign_coords(measure=resolved.__name__, prob=prob)


class _Choice(NamedTuple):
    threshold: Any
    best: Any
    apparent: Any
    value: Any
    optimism: Any
    regret: Any


def _choose(values, replicated, apparent, prob, sign):
    """
    Return the choice of a threshold.

    Parameters
    ----------
    values : ndarray, shape (S, T)
        Draws of the measure at each threshold, with higher values being better.
    replicated : ndarray, shape (S, T)
        The measure in a data set simulated from the curve of each draw.
    apparent : float
        Best value in the sample, with higher values being better.
    prob : float
        Probability of the intervals.
    sign : float
        -1 if the measure is a loss, else 1.
    """
    mean = values.mean(axis=0)
    if not np.isfinite(mean).any():
        todo = "choose another measure"
        raise fail("The measure is 0/0 at every threshold", ..., "", todo)
    chosen = int(mean.argmax())
    draws = np.arange(len(values))
    excess = replicated.max(axis=1) - values[draws, replicated.argmax(axis=1)]
    excess = max(float(excess[np.isfinite(excess)].mean()), 0.0)
    ends = [(1 - prob) / 2, (1 + prob) / 2]
    return _Choice(
        threshold=chosen,
        best=np.quantile(values.argmax(axis=1), ends, method="nearest"),
        apparent=sign * apparent,
        value=np.sort(sign * (np.quantile(values[:, chosen], ends) - excess)),
        optimism=float(apparent - mean[chosen] + excess),
        regret=float(np.mean(values.max(axis=1) - values[:, chosen])),
    )


def _oriented(values, sign):
    """Return the measure, oriented so that higher is better and 0/0 is never the best."""
    return np.where(np.isnan(values), -np.inf, sign * values)


def _replicate(curve: Curve, slots: Slots, rng) -> Curve:
    """Return the curves of data sets of the same class sizes, simulated from each of the curves."""
    rates = []
    for rate, concentration in zip((curve.fpr, curve.tpr), slots.concentration, strict=True):
        size = max(1, round(concentration.sum()))
        share = np.maximum(np.diff(rate, axis=1), 0)
        counts = rng.multinomial(size, share / share.sum(axis=1, keepdims=True))
        rates.append(np.pad(np.cumsum(counts, axis=1), ((0, 0), (1, 0))) / size)
    return replace(curve, fpr=rates[0], tpr=rates[1])


def _observed(curve: Curve, measure):
    """Return the measure at every threshold that separates examples."""
    return measure(cells_at(curve, np.arange(len(curve.slots_above), dtype=float)))[0]


# Predictions at a threshold fixed beforehand.


def classify(
    evidence: xr.Dataset, threshold: Any, *, abstain: str | int = "abstained"
) -> xr.Dataset:
    """
    Return the predictions of classifiers at a threshold fixed beforehand.

    Parameters
    ----------
    evidence : Dataset
        Scores from :func:`bayescm.from_scores`, without folds and weights.
    threshold : float or tuple of two floats
        Threshold of the scores:

        - With two classes, a number: the lowest score that is predicted positive.
        - With two classes, (low, high): a score below low is negative, a score of at least high is
          positive, and scores in between are abstentions.
        - With more classes, a number: the class with the highest score is predicted if this score
          is at least the threshold.
    abstain : label, default "abstained"
        Label of abstentions. If this is a string but the class labels are numbers, -1 is used.

    Returns
    -------
    Dataset
        Outcomes as from :func:`bayescm.from_classifiers`, for use in ``bcm.summary``,
        ``bcm.compare`` and other functions. If there may be abstentions, the coordinate ``abstain``
        contains their label.

    Raises
    ------
    ValueError
        If the scores have folds or weights, or the threshold is invalid.

    Examples
    --------
    >>> import bayescm as bcm
    >>> scores = bcm.from_scores([0, 0, 1, 1, 1], [0.1, 0.45, 0.55, 0.8, 0.9])
    >>> answers = classify(scores, (0.4, 0.6))
    >>> bcm.measure(answers, ["accuracy", "coverage"]).to_array().values.ravel().tolist()
    [1.0, 0.6]
    """
    evidence = as_scores(evidence)
    if extra := [name for name in ("fold", "weight") if name in evidence]:
        raise fail(
            "Scores with {} cannot be classified here",
            extra,
            "",
            "apply the threshold yourself and use `from_predictions`, which takes folds "
            "and weights",
        )
    ends = np.asarray(threshold, float).ravel()
    multiclass = "class" in evidence.dims
    if len(ends) not in (1, 2 - multiclass) or np.isnan(ends).any() or (np.diff(ends) < 0).any():
        allowed = "a number" if multiclass else "a number, or (low, high)"
        raise fail(f"A threshold must be {allowed}", threshold, "", "pass e.g. 0.5")
    truth = evidence["actual"].values
    if truth.dtype.kind in "iub" and isinstance(abstain, str):
        truth, abstain = truth.astype(int), -1
    score = evidence["score"]
    if "classifier" not in score.dims:
        score = score.expand_dims(classifier=["classifier"])
    labels = evidence["class"].values if multiclass else _negative_and_positive(evidence, truth)
    answers = {}
    for name, column in zip(score["classifier"].values.tolist(), score, strict=True):
        values = column.transpose("example", ...).values
        code = _highest_code(values, *ends) if multiclass else _binary_code(values, ends)
        answers[str(name)] = np.append(labels, abstain)[code]
    may_abstain = multiclass or len(ends) == 2
    return from_classifiers(
        truth,
        answers,
        positive=None if multiclass else labels[1],
        labels=labels.tolist(),
        abstain=abstain if may_abstain else None,
        by={"group": evidence["group"].values} if "group" in evidence else None,
    )


def _negative_and_positive(evidence, truth):
    """Return the negative and the positive label."""
    positive = evidence["positive"].values.astype(truth.dtype)
    return np.array([truth[truth != positive][0], positive.item()])


def _binary_code(values, ends):
    """Return 0 (negative), 1 (positive) or 2 (abstention)."""
    return np.where(values >= ends[-1], 1, np.where(values < ends[0], 0, 2))


def _highest_code(values, threshold):
    """Return the class of the highest score, or the number of classes if the score is too low."""
    return np.where(values.max(axis=1) >= threshold, values.argmax(axis=1), values.shape[1])
