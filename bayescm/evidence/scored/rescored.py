"""Evidence seen differently: at another prevalence, one class against the rest, folds as one."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.counts import abstains, as_counts, positive
from bayescm.evidence.labels import in_label_order
from bayescm.evidence.scored.scores import as_scores, check_share
from bayescm.validate import check_reals, fail, suggest


def at_prevalence(evidence: Any, prevalence: Any) -> Any:
    """
    Return counts or scores as evidence about the same classifier at a different prevalence.

    Precision, accuracy and F1 change; recall, specificity and the ROC curve do not. The default
    model of counts becomes ``fixed_totals`` with this prevalence.

    Parameters
    ----------
    evidence : DataArray or Dataset
        Counts, or scores of two classes.
    prevalence : float, or mapping or array_like of C floats
        Proportion of positives, between 0 and 1. Of counts of more than two classes the proportion
        of each, by label (a mapping, a Series) or in the order of the labels; they sum to 1. Scores
        and probabilities of more than two classes are refused: take one against the rest first.

    Returns
    -------
    DataArray or Dataset
        The same numbers with the coord ``prevalence``: a scalar, or one number for each class.

    Raises
    ------
    ValueError
        If it is not a proportion, or two classes have no positive one.

    Examples
    --------
    >>> import bayescm as bcm
    >>> rare = at_prevalence(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), 0.01)
    >>> rare.prevalence.item(), round(float(bcm.measure(rare, "precision")["precision"]), 4)
    (0.01, 0.015)
    >>> three = bcm.from_matrix([[9, 1, 0], [2, 7, 3], [0, 0, 5]], labels=["a", "b", "c"])
    >>> at_prevalence(three, {"a": 0.7, "b": 0.2, "c": 0.1}).prevalence.values
    array([0.7, 0.2, 0.1])
    """
    if not (isinstance(evidence, xr.Dataset) and "score" in evidence):
        return _counts_at_prevalence(as_counts(evidence), prevalence)
    evidence = as_scores(evidence)
    if "class" in evidence.dims:
        todo = "take one class against the rest first: one_vs_rest(evidence, label)"
        raise fail("a prevalence needs two classes", evidence["class"].values, "two classes", todo)
    check_share(prevalence)
    return evidence.assign_coords(prevalence=float(prevalence))


def _counts_at_prevalence(counts, prevalence):
    labels = counts.indexes["actual"].tolist()
    if abstains(counts) or "effective" in counts.coords:
        what = "an abstention" if abstains(counts) else "importance weights"
        allowed, todo = "plain counts of the classes", "weight the examples to that population"
        raise fail(f"counts with {what} take no prevalence", prevalence, allowed, todo)
    if len(labels) == 2:
        if positive(counts) is None:
            allowed = "two classes with a positive one"
            raise fail("a prevalence needs a positive class", labels, allowed, "pass positive=...")
        number = isinstance(prevalence, (int, float, np.number))
        if not number or not 0 < prevalence < 1:
            todo = "pass the proportion of positives, e.g. 0.01"
            allowed = "0 < prevalence < 1"
            raise fail("prevalence must lie between 0 and 1", prevalence, allowed, todo)
        return counts.assign_coords(prevalence=float(prevalence))
    if isinstance(prevalence, xr.DataArray) and set(prevalence.coords) == set(prevalence.dims):
        prevalence = prevalence.to_series()
    prevalence = in_label_order(prevalence, labels)
    shares = np.array(np.nan)
    if np.ndim(prevalence) == 1:
        shares = check_reals(prevalence, "proportions of the classes", "pass numbers")
    if shares.shape != (len(labels),) or not (shares > 0).all() or abs(shares.sum() - 1) > 1e-6:
        todo = "pass a proportion for each class, such as {'a': 0.7, 'b': 0.2, 'c': 0.1}"
        allowed = f"numbers > 0 that sum to 1, one for each of {labels}"
        raise fail("prevalence is not a proportion of each class", prevalence, allowed, todo)
    return counts.assign_coords(prevalence=("actual", shares / shares.sum()))


def one_vs_rest(evidence: xr.Dataset, label: Hashable) -> xr.Dataset:
    """
    Return the scores of one of many classes against the rest.

    Examples
    --------
    >>> from bayescm import from_scores
    >>> proba = [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6], [0.5, 0.4, 0.1]]
    >>> evidence = from_scores(["a", "b", "c", "b"], proba)
    >>> one_vs_rest(evidence, "b").actual.values
    array([False,  True, False,  True])
    """
    evidence = as_scores(evidence)
    if "class" not in evidence.dims:
        raise fail(
            "there are only two classes",
            label,
            "scores for three classes or more",
            "use the scores as they are",
        )
    classes = evidence["class"].values.tolist()
    if label not in classes:
        raise fail("no such class", label, classes, suggest(label, classes))
    chosen = evidence.sel({"class": label}, drop=True)
    return chosen.assign(actual=evidence["actual"] == label).assign_coords(positive=True)


def top_label(evidence: xr.Dataset) -> xr.Dataset:
    """
    Return the highest probability of each example as that of being right, of one classifier.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of more than two classes, see `from_probabilities`.

    Returns
    -------
    Dataset
        Probabilities of two classes: positive is an example whose class had the highest
        probability (the first one of those that tie).

    Raises
    ------
    ValueError
        If there are two classes, several classifiers, or every example is right, or wrong.

    Examples
    --------
    >>> from bayescm import from_probabilities
    >>> proba = [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6], [0.5, 0.4, 0.1]]
    >>> found = top_label(from_probabilities(["a", "b", "c", "b"], proba))
    >>> found.score.values, found.actual.values
    (array([0.7, 0.4, 0.6, 0.5]), array([ True,  True,  True, False]))
    """
    evidence = as_scores(evidence)
    if "class" not in evidence.dims:
        todo = "take them as they are: both classes have one curve"
        raise fail("there are only two classes", ..., "three classes or more", todo)
    if "classifier" in evidence.dims:
        got = evidence["classifier"].values.tolist()
        todo = f"select one: evidence.sel(classifier={got[0]!r})"
        raise fail("each classifier has a highest probability of its own", got, "one", todo)
    score = evidence["score"]
    right = score["class"].values[score.values.argmax(axis=-1)] == evidence["actual"].values
    if right.all() or not right.any():
        got = f"{'right' if right.all() else 'wrong'} in all {len(right)} examples"
        todo = "ask for measures of each class, or collect more examples"
        raise fail("nothing to tell forecasts by", got, "some of both", todo)
    chosen = evidence.drop_dims("class").assign(score=score.max("class"))
    told = chosen.assign(actual=("example", right)).assign_coords(positive=True)
    return as_scores(told)


def pool_folds(evidence: xr.Dataset, *, ranks: bool) -> xr.Dataset:
    """
    Pool the scores of all folds into one sample.

    Each fold was scored by its own model. If these share a scale (calibrated probabilities), pool
    the scores as they are; if not, pool their ranks within the fold. Ranks treat every fold as a
    random sample of one population, so the folds should be stratified.

    Parameters
    ----------
    evidence : Dataset
        Scores with folds.
    ranks : bool
        Whether to replace each score by its mid-rank within the fold, over the fold's size.

    Examples
    --------
    >>> from bayescm import from_scores
    >>> evidence = from_scores([0, 1, 0, 1], [0.1, 0.4, 5, 8], fold=[0, 0, 1, 1])
    >>> pool_folds(evidence, ranks=True).score.values
    array([0.25, 0.75, 0.25, 0.75])
    """
    evidence = as_scores(evidence)
    if "fold" not in evidence:
        raise fail("no folds", list(evidence), "a variable named fold", "pass fold= to from_scores")
    if not ranks:
        return evidence.drop_vars("fold")
    score, fold = evidence["score"], evidence["fold"].values
    values = np.empty(score.shape)
    axis = score.dims.index("example")
    for each in pd.unique(fold):
        part = [slice(None)] * score.ndim
        part[axis] = fold == each
        values[tuple(part)] = _mid_ranks(score.values[tuple(part)], axis)
    return evidence.assign(score=score.copy(data=values)).drop_vars("fold")


def _mid_ranks(values, axis):
    from scipy.stats import rankdata

    return (rankdata(values, axis=axis) - 0.5) / values.shape[axis]
