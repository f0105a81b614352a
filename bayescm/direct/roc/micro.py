"""Curves of all (example, class) pairs pooled: the micro average over the classes."""

from dataclasses import replace

import numpy as np

from bayescm.direct.roc import slots
from bayescm.direct.scores import Scores, arrays


def micro(evidence) -> Scores:
    """
    Return the joint posterior of each classifier's pooled curve.

    Every example is C pairs of its score for a class and whether it is of that class. The pairs of
    an example share its weight, so that they count as one observation, not as C.

    Parameters
    ----------
    evidence : xarray.Dataset
        Scores of more than two classes, without folds.

    Returns
    -------
    Scores
        One curve per classifier. One pair in C is positive, which is certain.
    """
    matrix, weights, codes = arrays(evidence)
    classes = matrix.shape[1]
    positive = codes == np.arange(classes)[:, None]
    pooled = [view for scores in matrix for view in _pooled(scores, positive, weights)]
    group = np.repeat(np.arange(len(matrix)), classes)
    shares = np.bincount(codes, weights, classes)
    return Scores(
        tuple(pooled), weights, codes, np.zeros(len(pooled), int), shares, 1 / classes, group
    )


def _pooled(scores, positive, weights):
    """Return one view per class, all on the slots of the pairs pooled."""
    whole = slots.view(scores.ravel(), positive.ravel(), np.tile(weights, len(scores)))
    for start, own in zip(whole.start.reshape(scores.shape), positive, strict=True):
        yield replace(whole, start=start, positive=own)
