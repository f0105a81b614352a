"""scikit-learn: a bound of the posterior as a score, results of searches, and displays."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd
import xarray as xr
from sklearn.utils.validation import check_is_fitted

import bayescm as bcm
from bayescm.evidence.results import from_results
from bayescm.measures.catalogue import is_named, resolve
from bayescm.validate import check_keywords, check_kind, check_prob, check_row_order, fail, suggest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


__all__ = [
    "CalibrationDisplay",
    "ConfusionMatrixDisplay",
    "PrecisionRecallDisplay",
    "RocCurveDisplay",
    "from_search",
    "scorer",
]


def scorer(
    measure: str | Callable,
    *,
    at: str | float = "lower",
    prob: float = 0.95,
    kind: str = "hdi",
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
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
    of, n, model, concentration
        See `bayescm.interval`.
    positive : label, optional
        The positive class of two; by default the last of the estimator's classes, as in
        scikit-learn.
    draws, random_seed, **keywords
        See `bayescm.interval`.

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
        todo = 'pass `at="lower"`'
        raise fail("at is no point of a posterior", at, "lower, upper, mean or a quantile", todo)
    check_prob(prob)
    check_kind(kind)
    bcm.measures.resolve(measure)
    asked: dict[str, Any] = {"of": of, "n": n, "model": model, "concentration": concentration}
    asked |= {"draws": draws, "random_seed": random_seed, **keywords}
    return Scorer(measure, at, prob, kind, positive, asked)


def from_search(
    search: Any, metric: str | None = None, *, test_share: float | None = None
) -> xr.Dataset:
    """
    Return the results of a fitted search, to compare its candidates over the splits.

    Parameters
    ----------
    search : fitted ``GridSearchCV``, ``RandomizedSearchCV`` or another object with ``cv_results_``
    metric : str, optional
        The metric of a search with several. Default: the only one.
    test_share : float in (0, 1), optional
        Test examples over all examples of a split. Default: 1/K for K folds. Other splitters need
        it.

    Returns
    -------
    Dataset, dims (data_set, classifier, run)
        As from `bayescm.from_results`, with one data set. Candidates are named by the parameters in
        which they differ. `bayescm.compare` and `bayescm.ranks` use the correlated t, which takes
        account of the training examples that splits share. Scores are better if they are higher, as
        in scikit-learn: a metric that is named as a loss is called ``neg_`` and its name.

    Raises
    ------
    ValueError
        If there are several metrics and none is named, or the share of test examples is unknown.

    Notes
    -----
    The score of the best candidate is too good, because it was selected. Use
    `bayescm.learners.best`, or evaluate it on examples that took no part in the search.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> search = GridSearchCV(tree, {"max_depth": [1, 4]}, scoring="accuracy", cv=10).fit(X, y)
    >>> results = from_search(search)
    >>> bcm.compare(results)[["first", "second", "p_better"]].round(3).values.tolist()
    [['max_depth=1', 'max_depth=4', 0.011]]
    """
    check_is_fitted(search, "cv_results_")
    results = search.cv_results_
    found = [re.fullmatch(r"split0_test_(.+)", name) for name in results]
    metrics = [match[1] for match in found if match]
    if metric is None and len(metrics) > 1:
        raise fail(
            "the search has several metrics", metrics, "one", "pass metric= with one of them"
        )
    metric = metrics[0] if metric is None else metric
    if metric not in metrics:
        raise fail("no such metric", metric, metrics, suggest(metric, metrics))
    splits = [results[f"split{i}_test_{metric}"] for i in range(search.n_splits_)]
    name = search.scoring if metric == "score" and isinstance(search.scoring, str) else metric
    if is_named(name) and resolve(name).lower_is_better:
        name = f"neg_{name}"  # scores of scikit-learn are better if they are higher
    share = _test_share(search) if test_share is None else test_share
    rows = [
        ("data", candidate, split, score)
        for split, scores in enumerate(splits)
        for candidate, score in zip(_candidates(results["params"]), scores, strict=True)
    ]
    table = pd.DataFrame(rows, columns=["data_set", "classifier", "run", name])
    return from_results(table, measure=name, test_share=share)


def _candidates(params):
    """Return the names of candidates: the parameters in which they differ."""
    names = list(dict.fromkeys(name for each in params for name in each))
    differ = [name for name in names if len({repr(each.get(name)) for each in params}) > 1] or names
    return [", ".join(f"{name}={each[name]}" for name in differ if name in each) for each in params]


def _test_share(search):
    """Return the share of test examples in a split, by the splitter of a search."""
    splitter = search.cv
    if splitter is None or isinstance(splitter, int):
        return 1 / search.n_splits_
    if hasattr(splitter, "n_repeats"):
        return 1 / splitter.cvargs["n_splits"]
    if isinstance(getattr(splitter, "n_splits", None), int) and not hasattr(splitter, "test_size"):
        return 1 / splitter.n_splits
    if isinstance(getattr(splitter, "test_size", None), float):
        return splitter.test_size
    todo = "pass test_share=, test examples over all examples of a split"
    raise fail("the share of test examples is not known", type(splitter).__name__, "", todo)


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
        measure = bcm.measures.resolve(self.measure)
        as_evidence = _counts if measure.takes == "cells" else _probabilities
        evidence = as_evidence(estimator, X, y, self.positive)
        value = self._point(evidence, lower_is_better=measure.lower_is_better)
        if value.size != 1:
            todo = f'take an average, e.g. "{measure.__name__}_macro", or one class, "f1[a]"'
            raise fail("a score is one number", dict(value.sizes), "a single value", todo)
        return -value.item() if measure.lower_is_better else value.item()

    def _point(self, evidence, *, lower_is_better):
        """Return the point of the posterior; of a loss the cautious end is the upper one."""
        if self.at == "mean":
            return bcm.distribution(evidence, self.measure, **self.keywords).mean()
        if isinstance(self.at, float):
            level = 1 - self.at if lower_is_better else self.at
            return bcm.distribution(evidence, self.measure, **self.keywords).quantile(level)
        interval = bcm.interval(
            evidence, self.measure, prob=self.prob, kind=self.kind, **self.keywords
        )
        upper = (self.at == "lower") == lower_is_better
        return interval.sel(bound="upper" if upper else "lower")


def _counts(estimator: Any, X: Any, y: Any, positive: Any) -> xr.DataArray:
    """Return the counts of the classes that an estimator predicts."""
    check_row_order({"X": X, "y": y})
    labels = _classes(estimator)
    keywords = {}
    if len(labels) == 2:
        keywords["positive"] = labels[-1] if positive is None else positive
    return bcm.from_predictions(y, estimator.predict(X), labels=labels, **keywords)


def _probabilities(estimator: Any, X: Any, y: Any, positive: Any) -> xr.Dataset:
    """Return an estimator's probabilities as evidence."""
    check_row_order({"X": X, "y": y})
    probabilities, positive = _predicted_probabilities(estimator, X, positive)
    return bcm.from_probabilities(y, probabilities, positive=positive)


def _scores(estimator: Any, X: Any, y: Any, positive: Any) -> xr.Dataset:
    """Return an estimator's scores as evidence: of two classes the decision function's if any."""
    check_row_order({"X": X, "y": y})
    labels = _classes(estimator)
    if len(labels) == 2 and hasattr(estimator, "decision_function"):
        positive = labels[-1] if positive is None else positive
        scores = estimator.decision_function(X)
        return bcm.from_scores(y, scores if positive == labels[-1] else -scores, positive=positive)
    probabilities, positive = _predicted_probabilities(estimator, X, positive)
    if positive is None:
        return bcm.from_scores(y, probabilities, labels=labels)
    return bcm.from_scores(y, probabilities, positive=positive)


def _predicted_probabilities(estimator, X, positive):
    """Return the probabilities of the positive class and its label, or those of all classes."""
    labels = _classes(estimator)
    if not hasattr(estimator, "predict_proba"):
        todo = "wrap it in CalibratedClassifierCV"
        raise fail("no probabilities", type(estimator).__name__, "predict_proba", todo, TypeError)
    probabilities = np.asarray(estimator.predict_proba(X))
    if len(labels) > 2:
        return probabilities, None
    positive = labels[-1] if positive is None else positive
    if positive not in labels:
        raise fail("not a class", positive, labels, "pass one of the estimator's classes")
    return probabilities[:, labels.index(positive)], positive


def _classes(estimator) -> list:
    """Return the classes of a fitted classifier, or raise where it is none."""
    if not hasattr(estimator, "classes_"):
        if hasattr(estimator, "fit"):
            check_is_fitted(estimator)
        todo = "pass a classifier, or `from_predictions` with the classes that it stands for"
        what = type(estimator).__name__
        raise fail("not a classifier", what, "one with classes_", todo, TypeError)
    return np.asarray(estimator.classes_).tolist()


class _Display:
    """
    A plot with intervals, made as scikit-learn makes its displays.

    Parameters
    ----------
    evidence : DataArray or Dataset

    Attributes
    ----------
    evidence : DataArray or Dataset
        What is drawn; every other function of the package takes it too.
    figure_ : matplotlib.figure.Figure
    ax_ : matplotlib.axes.Axes
    """

    _plot: ClassVar[str]
    _from_estimator: ClassVar[Callable]
    figure_: "Figure"
    ax_: "Axes"

    def __init__(self, evidence: xr.DataArray | xr.Dataset) -> None:
        self.evidence = evidence

    def plot(self, *, ax: "Axes | None" = None, **keywords: Any) -> Self:
        """
        Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where; by default a new figure.
        **keywords
            Those of the plot, ``prob`` and others.

        Returns
        -------
        display
        """
        if "pos_label" in keywords:
            todo = "pass `positive= to from_estimator` or `from_predictions`"
            raise fail("unknown keyword", "pos_label", "positive", todo, TypeError)
        plot = getattr(bcm.plots, self._plot)
        self.figure_ = plot(self.evidence, ax=ax, **check_keywords(plot, keywords))
        self.ax_ = self.figure_.axes[0] if ax is None else ax
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        positive: Any = None,
        ax: "Axes | None" = None,
        **keywords: Any,
    ) -> Self:
        """
        Draw a fitted estimator's performance on a test set.

        Parameters
        ----------
        estimator : fitted classifier
        X : array_like
            Its features, one row per example.
        y : array_like
            Actual classes.
        positive : label, optional
            The positive class of two; by default the last of the estimator's classes.
        ax : Axes, optional
        **keywords
            Those of the plot.

        Returns
        -------
        display
        """
        return cls(cls._from_estimator(estimator, X, y, positive)).plot(ax=ax, **keywords)


class ConfusionMatrixDisplay(_Display):
    """
    The confusion matrix with intervals; see `bayescm.plot_matrix`.

    Examples
    --------
    >>> display = ConfusionMatrixDisplay.from_predictions([1, 0, 1, 1], [1, 0, 0, 1])
    >>> int(display.evidence.sum())
    4
    """

    _plot = "plot_matrix"
    _from_estimator = staticmethod(_counts)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        positive: Any = None,
        ax: "Axes | None" = None,
        **keywords: Any,
    ) -> Self:
        """Draw the matrix of actual and predicted classes; see `from_estimator`."""
        return cls(bcm.from_predictions(y_true, y_pred, positive=positive)).plot(ax=ax, **keywords)


class _ScoreDisplay(_Display):
    _from_estimator = staticmethod(_scores)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        positive: Any = None,
        ax: "Axes | None" = None,
        **keywords: Any,
    ) -> Self:
        """Draw actual classes and scores, a greater one for the positive class."""
        return cls(bcm.from_scores(y_true, y_score, positive=positive)).plot(ax=ax, **keywords)


class RocCurveDisplay(_ScoreDisplay):
    """
    The ROC curve with its band; see `bayescm.plot_roc`.

    Examples
    --------
    >>> display = RocCurveDisplay.from_predictions([1, 0, 1, 0], [0.9, 0.2, 0.4, 0.6], positive=1)
    >>> display.ax_.get_xlabel()
    'false positive rate'
    """

    _plot = "plot_roc"


class PrecisionRecallDisplay(_ScoreDisplay):
    """
    The precision-recall curve with its band; see `bayescm.plots.plot_precision_recall`.

    Examples
    --------
    >>> actual, scores = [1, 0, 1, 0], [0.9, 0.2, 0.4, 0.6]
    >>> PrecisionRecallDisplay.from_predictions(actual, scores, positive=1).ax_.get_xlabel()
    'recall'
    """

    _plot = "plot_precision_recall"


class CalibrationDisplay(_Display):
    """
    The calibration curve with its band; see `bayescm.plot_calibration`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> forecasts = rng.beta(2, 2, 200)
    >>> actual = (rng.random(200) < forecasts).astype(int)
    >>> display = CalibrationDisplay.from_predictions(actual, forecasts, positive=1)
    >>> display.evidence.sizes["example"]
    200
    """

    _plot = "plot_calibration"
    _from_estimator = staticmethod(_probabilities)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        positive: Any = None,
        ax: "Axes | None" = None,
        **keywords: Any,
    ) -> Self:
        """Draw actual classes and forecast probabilities of the positive class."""
        return cls(bcm.from_probabilities(y_true, y_prob, positive=positive)).plot(
            ax=ax, **keywords
        )
