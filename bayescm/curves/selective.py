"""Answering only when sure: the risk of the answers that are given, by how many are given."""

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from bayescm.curves.roc import band
from bayescm.evidence.scores import as_scores
from bayescm.posteriors.roc.curve_posterior import DRAWS
from bayescm.posteriors.shared_examples import SharedExamples
from bayescm.validate import check_prob, check_seed, fail

_PLACES = 200  # thresholds at most
_PRIOR = 0.5  # right and wrong examples at either end of the confidences


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
    Return how often a classifier errs where it is sure, by the share of examples that it answers.

    A classifier answers with the class of the highest probability, and only from a threshold of
    that probability on. Coverage is the share that it answers, risk the share of these that is
    wrong.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two or more classes, see :func:`bayescm.from_probabilities`.
    promise : float, default 0.05
        The risk that must not be exceeded.
    assurance : float, default 0.95
        Posterior probability of not exceeding it.
    prob : float, default 0.95
    simultaneous : bool, default False
        Whether ``interval`` is a band that holds the whole curve of the risk.
    random_seed : int, default 0

    Returns
    -------
    Dataset, dims ([classifier], threshold)
        ``coverage`` and ``risk`` in the sample; ``interval`` (bound) of the risk; ``p_kept``, the
        probability that the risk is below the promise. Without threshold: ``promised_threshold``,
        the lowest one from which on all up to the highest coverage that allows it keep the promise
        with the assurance (NaN where none does), and ``promised_coverage`` in the sample there, 0
        where none does; ``area`` under the risk by coverage, ``area_interval`` and, of several
        classifiers, ``p_best``, the probability that its area is the least, and
        ``area_difference`` (other, bound), of pairs on the same examples.

    Raises
    ------
    TypeError, ValueError
        If these are scores, not probabilities, have folds, groups or importance weights, or an
        argument is not a probability.

    Notes
    -----
    At every threshold the risk has the beta distribution of Jeffreys' prior; all thresholds and
    classifiers have one joint distribution.

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
        raise fail("promise must be a risk", promise, "0 < promise < 1", "pass `promise=0.05`")
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
        todo = "if they are chances, pass them through `from_probabilities(actual, probabilities)`"
        raise fail("these are scores, not probabilities", ..., "probabilities", todo, TypeError)
    for name in ("fold", "group", "importance", "prevalence"):
        if name in evidence.variables:
            todo = f"drop_vars({name!r}) takes them for one sample as it was drawn"
            raise fail(f"probabilities with {name}", ..., "a single plain sample", todo)
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
    """Draw the shares of examples right and wrong from each threshold on, (S, 2, K, T)."""
    places = np.searchsorted(at, confidence, side="right")
    ends = np.repeat([[1, 1, len(at), len(at)]], len(places), axis=0)
    flags = np.repeat([[False, True, False, True]], len(places), axis=0)
    places, flags = np.concatenate([places, ends], 1), np.concatenate([wrong, flags], 1)
    keys, cell = np.unique(2 * places + flags, axis=1, return_inverse=True)
    shape = np.bincount(cell.ravel(), np.concatenate([weight, [_PRIOR] * 4]))
    mass = rng.standard_gamma(shape, (DRAWS, len(shape)))
    return _shares_above(keys // 2, keys % 2, mass, len(at))


def _shares_above(places, wrong, mass, number):
    """Return the shares right and wrong from each threshold on, of masses (S, m) of cells."""
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
        last = len(good) - 1 - int(good[::-1].argmax())  # the highest threshold that keeps it
        broken = np.flatnonzero(~good[: last + 1])
        first = broken[-1] + 1 if len(broken) else 0
        threshold.append(at[first] if good.any() else np.nan)
        answered.append(share[first] if good.any() else 0.0)
    names: dict[str, Any] = {"classifier": kept["classifier"].values}
    columns = {"promised_threshold": threshold, "promised_coverage": answered}
    return {name: xr.DataArray(column, names) for name, column in columns.items()}


def _areas(share, risk, prob, joint):
    """Return the area under the risk by coverage, and the differences of pairs."""
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
    """Return draws (S, K) of the areas in the joint order of classifiers on the same examples."""
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
