"""Scores seen differently: at another prevalence, one class against the rest, all folds as one."""

from collections.abc import Hashable

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.scores import as_scores, check_share
from bayescm.validate import fail, suggest


def at_prevalence(evidence: xr.Dataset, prevalence: float) -> xr.Dataset:
    """
    Return scores as evidence about a population with a different prevalence.

    Precision and whatever depends on it changes; the ROC curve does not.

    Parameters
    ----------
    evidence : Dataset
        Scores of two classes.
    prevalence : float
        Proportion of positives, between 0 and 1.

    Examples
    --------
    >>> from bayescm import from_scores
    >>> evidence = from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> at_prevalence(evidence, 0.01).prevalence.item()
    0.01
    """
    evidence = as_scores(evidence)
    if "class" in evidence.dims:
        todo = "take one class against the rest first: one_vs_rest(evidence, label)"
        raise fail("a prevalence needs two classes", evidence["class"].values, "two classes", todo)
    check_share(prevalence)
    return evidence.assign_coords(prevalence=float(prevalence))


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
