"""Selective classification: the risk of the answered examples as a function of coverage."""

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from bayescm.curves.roc import band
from bayescm.evidence.scores import as_scores
from bayescm.posteriors.roc.curve_posterior import DRAWS
from bayescm.posteriors.shared_examples import SharedExamples
from bayescm.validate import check_prob, check_seed, fail

_PLACES = 200  # maximum number of thresholds
_PRIOR = 0.5  # number of right and of wrong pseudo-examples at each end of the confidences


def risk_coverage(
    evidence: xr.Dataset,
    *,
    promise: float = 0.05,
    assurance: float = 0.95,
    prob: float = 0.95,
    simultaneous: bool = False,
    random_seed: int = 0,
) -> xr.Dataset:
    """
    Return the risk-coverage curve of a classifier that abstains if it is unsure.

    The classifier predicts the class with the highest probability, but only if this probability
    reaches a threshold. Coverage is the proportion of answered examples. Risk is the proportion of
    errors among these.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two or more classes from :func:`bayescm.from_probabilities`.
    promise : float, default 0.05
        Largest accepted risk.
    assurance : float, default 0.95
        Required posterior probability that the risk is below the promise.
    prob : float, default 0.95
        Probability of the intervals.
    simultaneous : bool, default False
        Whether ``interval`` is a band that contains the whole risk curve.
    random_seed : int, default 0
        Seed of the draws.

    Returns
    -------
    Dataset, dims ([classifier], threshold)
        - ``coverage`` and ``risk``: the values in the sample.
        - ``interval`` (bound): the interval of the risk.
        - ``p_kept``: the probability that the risk is below the promise.

        The following variables do not depend on the threshold:

        - ``promised_threshold``: the lower end of the run of thresholds that keep the promise with
          the assurance, up to the highest such threshold. NaN if there is none.
        - ``promised_coverage``: the coverage in the sample at this threshold, or 0.
        - ``area`` and ``area_interval``: the area under the risk-coverage curve.
        - ``p_best``, for several classifiers: the probability that the area is the smallest.
        - ``area_difference`` (other, bound), for several classifiers: the difference between pairs
          on the same examples.

    Raises
    ------
    TypeError, ValueError
        If the evidence contains scores that are not probabilities, or contains folds, groups,
        importance weights or a given prevalence, or if an argument is not a probability.

    Notes
    -----
    At every threshold above the lowest one, the risk has the beta distribution that follows from
    Jeffreys' prior. At the lowest threshold, where all examples are answered, the prior is uniform.
    All thresholds and classifiers have a joint distribution.

    References
    ----------
    Geifman, Y. & El-Yaniv, R. (2017). Selective classification for deep neural networks. Advances
    in Neural Information Processing Systems 30, 4878-4887.

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> p = rng.beta(0.4, 0.4, 1000)
    >>> evidence = bcm.from_probabilities(rng.random(1000) < p, p)
    >>> found = risk_coverage(evidence, promise=0.05)
    >>> bool(0.3 < found["promised_coverage"] < 0.7)
    True
    """
    check_prob(prob), check_prob(assurance)
    if not 0 < promise < 1:
        raise fail("`promise` must be a risk between 0 and 1", promise, "", "pass `promise=0.05`")
    names, confidence, wrong, weight = _answers(evidence)
    at = np.unique(np.quantile(confidence, np.linspace(0, 1, _PLACES), method="nearest"))
    rng = np.random.default_rng(check_seed(random_seed))
    shares = _draw_shares(confidence, wrong, weight, at, rng)
    places = np.searchsorted(at, confidence, side="right")
    sample = _shares_above(places, wrong, weight[None], len(at))
    answered, errors = shares.sum(axis=1), shares[:, 1]
    labels = {"classifier": names, "threshold": at}
    risk = xr.DataArray(errors / answered, labels, ("draw", *labels))
    share = xr.DataArray(answered, labels, ("draw", *labels))
    total, mistakes = (
        xr.DataArray(values[0], labels) for values in (sample.sum(axis=1), sample[:, 1])
    )
    points = {"coverage": total, "risk": mistakes / total.where(total > 0)}
    kept = (risk < promise).mean("draw")
    answer = points | {
        "interval": band(risk, prob=prob, simultaneous=simultaneous),
        "p_kept": kept,
        **_promised(kept, total, assurance),
        **_areas(
            share, risk, prob, joint=partial(_joint_areas, confidence, wrong, weight, at, rng)
        ),
    }
    table = xr.Dataset({name: values.rename(name) for name, values in answer.items()})
    table = table.assign_coords(prob=prob, promise=promise, assurance=assurance)
    if "classifier" in evidence.dims:
        return table
    alone = table.drop_vars(["p_best", "area_difference", "other"])
    return alone.isel(classifier=0, drop=True)


def _answers(evidence):
    """Return names, highest probabilities (K, n), whether they are wrong, and weights (n,)."""
    evidence = as_scores(evidence)
    if "probabilities" not in evidence.coords:
        raise fail(
            "These are scores, not probabilities",
            ...,
            "",
            "if they are probabilities, use `from_probabilities(actual, probabilities)`",
            TypeError,
        )
    for name in ("fold", "group", "importance", "prevalence"):
        if name in evidence.variables:
            raise fail(
                f"Selective prediction needs a single sample, without {name}",
                ...,
                "",
                f"use drop_vars({name!r}) to treat all as one sample",
            )
    score, truth = evidence["score"], evidence["actual"].values
    if "classifier" not in score.dims:
        score = score.expand_dims(classifier=["classifier"])
    if "class" in score.dims:
        values = score.transpose("classifier", "example", "class").values
        wrong = evidence["class"].values[values.argmax(axis=-1)] != truth
        confidence = values.max(axis=-1)
    else:
        values = score.transpose("classifier", "example").values
        wrong = (values >= 0.5) != (truth == evidence["positive"].item())
        confidence = np.maximum(values, 1 - values)
    weight = evidence["weight"].values if "weight" in evidence else np.ones(len(truth))
    return score["classifier"].values, confidence, wrong, weight.astype(float)


def _draw_shares(confidence, wrong, weight, at, rng):
    """Draw the shares of right and wrong examples at or above each threshold, (S, 2, K, T)."""
    places = np.searchsorted(at, confidence, side="right")
    ends = np.repeat([[1, 1, len(at), len(at)]], len(places), axis=0)
    flags = np.repeat([[False, True, False, True]], len(places), axis=0)
    places, flags = np.concatenate([places, ends], 1), np.concatenate([wrong, flags], 1)
    keys, cell = np.unique(2 * places + flags, axis=1, return_inverse=True)
    shape = np.bincount(cell.ravel(), np.concatenate([weight, [_PRIOR] * 4]))
    mass = rng.standard_gamma(shape, (DRAWS, len(shape)))
    return _shares_above(keys // 2, keys % 2, mass, len(at))


def _shares_above(places, wrong, mass, number):
    """
    Return the shares of right and wrong examples at or above each threshold.

    The input is masses (S, m) of cells.
    """
    mass = mass / mass.sum(axis=1, keepdims=True)
    shares = np.empty((len(mass), 2, len(places), number))
    for classifier, (row, flags) in enumerate(zip(places, wrong, strict=True)):
        for is_wrong in (0, 1):
            cells = np.flatnonzero(flags == is_wrong)
            between = mass[:, cells] @ (row[cells, None] == np.arange(1, number + 1))
            shares[:, is_wrong, classifier] = np.cumsum(between[:, ::-1], axis=1)[:, ::-1]
    return shares


def _promised(kept, coverage, assurance):
    """Return the lowest threshold of the run that keeps the promise, and the coverage there."""
    at, threshold, answered = kept["threshold"].values, [], []
    for good, share in zip(kept.values >= assurance, coverage.values, strict=True):
        # The highest threshold that keeps the promise.
        last = len(good) - 1 - int(good[::-1].argmax())
        broken = np.flatnonzero(~good[: last + 1])
        first = broken[-1] + 1 if len(broken) else 0
        threshold.append(at[first] if good.any() else np.nan)
        answered.append(share[first] if good.any() else 0.0)
    names: dict[str, Any] = {"classifier": kept["classifier"].values}
    columns = {"promised_threshold": threshold, "promised_coverage": answered}
    return {name: xr.DataArray(column, names) for name, column in columns.items()}


def _areas(share, risk, prob, joint):
    """Return the area under the risk-coverage curve, and the differences of pairs."""
    area = _area(share, risk)
    compared = area.copy(data=joint(area.values))
    difference = compared - compared.rename(classifier="other")
    ends = [(1 - prob) / 2, (1 + prob) / 2]
    best = compared == compared.min("classifier")

    def interval(values):
        bounds = values.quantile(ends, "draw").rename(quantile="bound")
        return bounds.assign_coords(bound=["lower", "upper"]).transpose(..., "bound")

    return {
        "area": area.mean("draw"),
        "area_interval": interval(area),
        "p_best": (best / best.sum("classifier")).mean("draw"),
        "area_difference": interval(difference),
    }


def _area(share, risk):
    steps = share - share.shift(threshold=-1, fill_value=0.0)
    return (steps * risk).sum("threshold")


def _joint_areas(confidence, wrong, weight, at, rng, area):
    """Return draws (S, K) of the areas, reordered to be joint draws of all classifiers."""
    answers = np.concatenate([confidence, wrong], axis=1)
    _, first, same = np.unique(answers, axis=0, return_index=True, return_inverse=True)
    if len(first) == 1:
        return area
    examples = SharedExamples([confidence, wrong.astype(float)], weight)
    pseudo = examples.disagreement(len(first), len(area), rng)
    places = np.searchsorted(at, confidence, side="right")
    shares = _shares_above(places, wrong, examples.weights(), len(at))
    dims = ("draw", "classifier", "threshold")
    answered, errors = (xr.DataArray(each, dims=dims) for each in (shares.sum(1), shares[:, 1]))
    values = _area(answered, errors / answered.where(answered > 0)).values
    return examples.joint(area[:, first], values[:, first], pseudo)[:, same.ravel()]
