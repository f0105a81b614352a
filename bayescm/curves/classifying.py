"""From scores to answers: with a threshold, and with scores that are no answer."""

from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.outcomes import from_classifiers
from bayescm.evidence.scores import as_scores
from bayescm.validate import fail


def classify(
    evidence: xr.Dataset, threshold: Any, *, abstain: str | int = "abstained"
) -> xr.Dataset:
    """
    Return what classifiers answer at a threshold fixed beforehand.

    Parameters
    ----------
    evidence : Dataset
        From :func:`bayescm.from_scores`, without folds and weights.
    threshold : float or tuple of two floats
        Of two classes: the least score that is answered with the positive class; or (low, high),
        where a score below low is negative, one of high or more positive, and what lies between is
        not answered. Of more: the highest score is the answer, if it is at least the threshold.
    abstain : label, default "abstained"
        What is said where there is no answer; of labels that are numbers, -1.

    Returns
    -------
    Dataset
        Outcomes as :func:`bayescm.from_classifiers` returns them, with the coord ``abstain``
        where a score may be no answer: ``bcm.summary``, ``bcm.compare`` and the rest take it.

    Raises
    ------
    ValueError
        If the scores have folds or weights, or the threshold is not valid.

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
        todo = "classify by yourself and use from_predictions, which takes both"
        raise fail("these scores have folds or weights", extra, "a plain sample", todo)
    ends = np.asarray(threshold, float).ravel()
    many = "class" in evidence.dims
    if len(ends) not in (1, 2 - many) or np.isnan(ends).any() or (np.diff(ends) < 0).any():
        allowed = "a number" if many else "a number, or (low, high)"
        raise fail("not a threshold", threshold, allowed, "pass e.g. 0.5")
    truth = evidence["actual"].values
    if truth.dtype.kind in "iub" and isinstance(abstain, str):
        truth, abstain = truth.astype(int), -1
    score = evidence["score"]
    if "classifier" not in score.dims:
        score = score.expand_dims(classifier=["classifier"])
    labels = evidence["class"].values if many else _both(evidence, truth)
    answers = {}
    for name, each in zip(score["classifier"].values.tolist(), score, strict=True):
        values = each.transpose("example", ...).values
        code = _best(values, *ends) if many else _side(values, ends)
        answers[str(name)] = np.append(labels, abstain)[code]
    positive = None if many else labels[1]
    partly = many or len(ends) == 2
    known = {"labels": labels.tolist(), "positive": positive}
    by = {"group": evidence["group"].values} if "group" in evidence else None
    return from_classifiers(truth, answers, abstain=abstain if partly else None, by=by, **known)


def _both(evidence, truth):
    """Return the negative and the positive label."""
    positive = evidence["positive"].values.astype(truth.dtype)
    return np.array([truth[truth != positive][0], positive.item()])


def _side(values, ends):
    """Return 0 (negative), 1 (positive) or 2 (neither)."""
    return np.where(values >= ends[-1], 1, np.where(values < ends[0], 0, 2))


def _best(values, threshold):
    """Return the class of the highest score, or one more where it is too low."""
    return np.where(values.max(axis=1) >= threshold, values.argmax(axis=1), values.shape[1])
