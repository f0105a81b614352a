"""What a fitted estimator of scikit-learn says of a test set, as evidence."""

from typing import Any

import numpy as np
import xarray as xr
from sklearn.utils.validation import check_is_fitted

import bayescm as bcm
from bayescm.validate import check_row_order, fail


def _classes(estimator) -> list:
    """Return the classes of a fitted classifier, or say what it is."""
    if not hasattr(estimator, "classes_"):
        if hasattr(estimator, "fit"):
            check_is_fitted(estimator)
        todo = "pass a classifier, or from_predictions with the classes that it stands for"
        what = type(estimator).__name__
        raise fail("not a classifier", what, "one with classes_", todo, TypeError)
    return np.asarray(estimator.classes_).tolist()


def counts_of(estimator: Any, X: Any, y: Any, positive: Any) -> xr.DataArray:
    """Return the counts of the classes that an estimator predicts."""
    check_row_order({"X": X, "y": y})
    labels = _classes(estimator)
    chosen = {"positive": labels[-1] if positive is None else positive} if len(labels) == 2 else {}
    return bcm.from_predictions(y, estimator.predict(X), labels=labels, **chosen)


def probabilities_of(estimator: Any, X: Any, y: Any, positive: Any) -> xr.Dataset:
    """Return an estimator's probabilities as evidence."""
    check_row_order({"X": X, "y": y})
    shares, wanted = _shares(estimator, X, positive)
    return bcm.from_probabilities(y, shares, positive=wanted)


def scores_of(estimator: Any, X: Any, y: Any, positive: Any) -> xr.Dataset:
    """Return an estimator's scores as evidence: of two classes the decision function's if any."""
    check_row_order({"X": X, "y": y})
    labels = _classes(estimator)
    if len(labels) == 2 and hasattr(estimator, "decision_function"):
        wanted = labels[-1] if positive is None else positive
        scores = estimator.decision_function(X)
        return bcm.from_scores(y, scores if wanted == labels[-1] else -scores, positive=wanted)
    shares, wanted = _shares(estimator, X, positive)
    if wanted is None:
        return bcm.from_scores(y, shares, labels=labels)
    return bcm.from_scores(y, shares, positive=wanted)


def _shares(estimator, X, positive):
    """Return the probabilities of the positive class and its label, or those of all classes."""
    labels = _classes(estimator)
    if not hasattr(estimator, "predict_proba"):
        todo = "wrap it in CalibratedClassifierCV"
        raise fail("no probabilities", type(estimator).__name__, "predict_proba", todo, TypeError)
    shares = np.asarray(estimator.predict_proba(X))
    if len(labels) > 2:
        return shares, None
    wanted = labels[-1] if positive is None else positive
    if wanted not in labels:
        raise fail("not a class", wanted, labels, "pass one of the estimator's classes")
    return shares[:, labels.index(wanted)], wanted
