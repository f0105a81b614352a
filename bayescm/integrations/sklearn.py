"""scikit-learn: a bound of the posterior as a score for searches, and displays with intervals."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import bayescm as bcm
from bayescm.integrations.displays import (
    CalibrationDisplay,
    ConfusionMatrixDisplay,
    PrecisionRecallDisplay,
    RocCurveDisplay,
)
from bayescm.integrations.estimators import counts_of, probabilities_of
from bayescm.validate import check_kind, check_prob, fail

__all__ = [
    "CalibrationDisplay",
    "ConfusionMatrixDisplay",
    "PrecisionRecallDisplay",
    "RocCurveDisplay",
    "scorer",
]


def scorer(
    measure: str | Callable,
    *,
    at: str | float = "lower",
    prob: float = 0.95,
    kind: str = "hdi",
    positive: Any = None,
    **keywords: Any,
) -> "Scorer":
    """
    Return a scorer for ``cross_validate``, ``GridSearchCV`` and others: a bound of the posterior.

    A search by the lower bound prefers what is known to be good to what may be good.

    Parameters
    ----------
    measure : str or callable
        A measure with one value: of predicted classes (``predict``), or, such as ``"brier"``, of
        probabilities (``predict_proba``).
    at : {"lower", "upper", "mean"} or float in (0, 1), default "lower"
        A bound of the interval, the posterior mean, or a quantile.
    prob : float, default 0.95
        Mass of the interval.
    kind : {"hdi", "eti"}
        Highest density or equal tails.
    positive : label, optional
        The positive class of two; by default the last of the estimator's classes, as in
        scikit-learn.
    **keywords
        ``model`` and its own keywords; see `bayescm.interval`.

    Returns
    -------
    callable
        ``scorer(estimator, X, y)`` -> float, greater is better: of a measure where lower is better
        it is the negative, as scikit-learn's ``neg_log_loss`` is, and ``at="lower"`` still the
        cautious end.

    Raises
    ------
    ValueError
        If `at` is none of these, or the measure has a value for each class.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> cross_val_score(GaussianNB(), X, y, scoring=scorer("f1"), cv=3).round(2)
    array([0.9 , 0.93, 0.93])
    """
    if at not in ("lower", "upper", "mean") and not (isinstance(at, float) and 0 < at < 1):
        todo = 'pass at="lower"'
        raise fail("at is no point of a posterior", at, "lower, upper, mean or a quantile", todo)
    check_prob(prob)
    check_kind(kind)
    bcm.measures.resolve(measure)
    return Scorer(measure, at, prob, kind, positive, keywords)


@dataclass(frozen=True)
class Scorer:
    """A point of the posterior of a measure, as scikit-learn asks for it; see `scorer`."""

    measure: str | Callable
    at: str | float
    prob: float
    kind: str
    positive: Any = None
    keywords: dict = field(default_factory=dict)

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the score of a fitted estimator on a test set."""
        kernel = bcm.measures.resolve(self.measure)
        door = probabilities_of if kernel.takes == "probabilities" else counts_of
        less = kernel.lower_is_better
        found = self._found(door(estimator, X, y, self.positive), less)
        if found.size != 1:
            todo = f'take an average, e.g. "{kernel.__name__}_macro", or one class, "f1[a]"'
            raise fail("a score is one number", dict(found.sizes), "a single value", todo)
        return -found.item() if less else found.item()

    def _found(self, evidence, less):
        if self.at == "mean":
            return bcm.mean(evidence, self.measure, **self.keywords)
        if isinstance(self.at, float):
            at = 1 - self.at if less else self.at
            return bcm.quantile(evidence, self.measure, at, **self.keywords)
        ends = bcm.interval(evidence, self.measure, prob=self.prob, kind=self.kind, **self.keywords)
        return ends.sel(bound="upper" if (self.at == "lower") == less else "lower")
