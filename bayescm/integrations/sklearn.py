"""scikit-learn integration: posterior bounds as scorers, search results, and displays."""

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
    Return a scorer for ``cross_validate``, ``GridSearchCV`` and similar functions.

    By default, the score is the lower bound of a posterior interval. A search then prefers
    candidates that are known to be good to candidates that may be good.

    Parameters
    ----------
    measure : str or callable
        Measure with a single value, computed from predicted classes (``predict``) or, for measures
        such as ``"brier"``, from probabilities (``predict_proba``).
    at : {"lower", "upper", "mean"} or float in (0, 1), default "lower"
        Bound of the interval, posterior mean, or level of a posterior quantile.
    prob : float, default 0.95
        Probability of the interval.
    kind : {"hdi", "eti"}
        Highest-density or equal-tailed interval.
    of, n, model, concentration
        See `bayescm.interval`.
    positive : label, optional
        Positive class, if there are two classes. By default the last class of the estimator, as in
        scikit-learn.
    draws, random_seed, **keywords
        See `bayescm.interval`.

    Returns
    -------
    callable
        Function ``scorer(estimator, X, y)`` -> float. Greater is better. For measures for which
        lower is better, the score is negated, as in scikit-learn's ``neg_log_loss``, and
        ``at="lower"`` is still the conservative bound.

    Raises
    ------
    ValueError
        If `at` is invalid, or the measure has one value per class.

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
        raise fail("`at` must be 'lower', 'upper', 'mean' or a quantile", at, "", todo)
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
    Return the results of a fitted search, for comparisons of its candidates.

    Parameters
    ----------
    search : fitted ``GridSearchCV``, ``RandomizedSearchCV`` or another object with ``cv_results_``
    metric : str, optional
        Metric. Required if the search has several metrics.
    test_share : float in (0, 1), optional
        Number of test examples divided by the number of all examples in a split. By default 1/K for
        K folds, or the ``test_size`` of the splitter if this is a float. Required for other
        splitters.

    Returns
    -------
    Dataset, dims (data_set, classifier, run)
        Results as from `bayescm.from_results`, with a single data set. Candidates are named by the
        parameters in which they differ. `bayescm.compare` and `bayescm.ranks` use the correlated t,
        which accounts for training examples that splits share. As in scikit-learn, higher scores
        are better, so a loss is named ``neg_`` followed by its name.

    Raises
    ------
    ValueError
        If there are several metrics and none is named, or if the share of test examples is unknown.

    Notes
    -----
    The score of the best candidate is biased upwards by the selection. Use `bayescm.learners.best`,
    or evaluate the candidate on examples that were not part of the search.

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
            "The search has several metrics: {}", metrics, "", "pass metric= with one of them"
        )
    metric = metrics[0] if metric is None else metric
    if metric not in metrics:
        raise fail("The search has no metric {}", metric, metrics, suggest(metric, metrics))
    splits = [results[f"split{i}_test_{metric}"] for i in range(search.n_splits_)]
    name = search.scoring if metric == "score" and isinstance(search.scoring, str) else metric
    if is_named(name) and resolve(name).lower_is_better:
        name = f"neg_{name}"  # higher is better in scikit-learn
    share = _test_share(search) if test_share is None else test_share
    rows = [
        ("data", candidate, split, score)
        for split, scores in enumerate(splits)
        for candidate, score in zip(_candidates(results["params"]), scores, strict=True)
    ]
    table = pd.DataFrame(rows, columns=["data_set", "classifier", "run", name])
    return from_results(table, measure=name, test_share=share)


def _candidates(params):
    """Return the names of candidates, composed of the parameters that differ."""
    names = list(dict.fromkeys(name for each in params for name in each))
    differ = [name for name in names if len({repr(each.get(name)) for each in params}) > 1] or names
    return [", ".join(f"{name}={each[name]}" for name in differ if name in each) for each in params]


def _test_share(search):
    """Return the share of test examples in a split, for the splitter of a search."""
    splitter = search.cv
    if splitter is None or isinstance(splitter, int):
        return 1 / search.n_splits_
    if hasattr(splitter, "n_repeats"):
        return 1 / splitter.cvargs["n_splits"]
    if isinstance(getattr(splitter, "n_splits", None), int) and not hasattr(splitter, "test_size"):
        return 1 / splitter.n_splits
    if isinstance(getattr(splitter, "test_size", None), float):
        return splitter.test_size
    raise fail(
        "The proportion of test examples is unknown for the splitter {}",
        type(splitter).__name__,
        "",
        "pass test_share=, the proportion of examples tested in each split",
    )


@dataclass(frozen=True)
class Scorer:
    """Scorer for scikit-learn that returns a bound, mean or quantile. See `scorer`."""

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
            raise fail(
                f"A scorer must return a single number, but {measure.__name__} has several values",
                ...,
                "",
                f'use an average, e.g. "{measure.__name__}_macro", or one class, e.g. "f1[a]"',
            )
        return -value.item() if measure.lower_is_better else value.item()

    def _point(self, evidence, *, lower_is_better):
        """Return a point of the posterior. For a loss, lower and upper are exchanged."""
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
    """Return the counts for the predicted classes of an estimator."""
    check_row_order({"X": X, "y": y})
    labels = _classes(estimator)
    keywords = {}
    if len(labels) == 2:
        keywords["positive"] = labels[-1] if positive is None else positive
    return bcm.from_predictions(y, estimator.predict(X), labels=labels, **keywords)


def _probabilities(estimator: Any, X: Any, y: Any, positive: Any) -> xr.Dataset:
    """Return the probabilities of an estimator as evidence."""
    check_row_order({"X": X, "y": y})
    probabilities, positive = _predicted_probabilities(estimator, X, positive)
    return bcm.from_probabilities(y, probabilities, positive=positive)


def _scores(estimator: Any, X: Any, y: Any, positive: Any) -> xr.Dataset:
    """Return the scores of an estimator as evidence, from its decision function if possible."""
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
    """Return the probabilities and label of the positive class, or all class probabilities."""
    labels = _classes(estimator)
    if not hasattr(estimator, "predict_proba"):
        todo = "wrap it in CalibratedClassifierCV"
        raise fail(
            "{} has no predict_proba, so there are no probabilities",
            type(estimator).__name__,
            "",
            todo,
            TypeError,
        )
    probabilities = np.asarray(estimator.predict_proba(X))
    if len(labels) > 2:
        return probabilities, None
    positive = labels[-1] if positive is None else positive
    if positive not in labels:
        raise fail(
            "{} is not a class of the estimator", positive, labels, "pass one of its classes"
        )
    return probabilities[:, labels.index(positive)], positive


def _classes(estimator) -> list:
    """Return the classes of a fitted classifier, or raise an error for other estimators."""
    if not hasattr(estimator, "classes_"):
        if hasattr(estimator, "fit"):
            check_is_fitted(estimator)
        what = type(estimator).__name__
        raise fail(
            "{} has no classes_, so it is not a classifier",
            what,
            "",
            "pass a classifier, or use `from_predictions` with the predicted classes",
            TypeError,
        )
    return np.asarray(estimator.classes_).tolist()


class _Display:
    """
    Base class of displays with intervals, with the interface of scikit-learn's displays.

    Parameters
    ----------
    evidence : DataArray or Dataset

    Attributes
    ----------
    evidence : DataArray or Dataset
        Evidence of the plot, which can also be passed to other functions of the package.
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
        Plot the display.

        Parameters
        ----------
        ax : Axes, optional
            Axes to plot on. By default a new figure.
        **keywords
            Keywords of the plot function, such as ``prob``.

        Returns
        -------
        display
        """
        if "pos_label" in keywords:
            raise fail(
                "Unknown keyword pos_label",
                ...,
                "",
                "pass `positive= to from_estimator` or `from_predictions`",
                TypeError,
            )
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
        Plot the performance of a fitted estimator on a test set.

        Parameters
        ----------
        estimator : fitted classifier
        X : array_like
            Features, one row per example.
        y : array_like
            True classes.
        positive : label, optional
            Positive class, if there are two classes. By default the last class of the estimator.
        ax : Axes, optional
        **keywords
            Keywords of the plot function.

        Returns
        -------
        display
        """
        return cls(cls._from_estimator(estimator, X, y, positive)).plot(ax=ax, **keywords)


class ConfusionMatrixDisplay(_Display):
    """
    Confusion matrix with intervals. See `bayescm.plot_matrix`.

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
        """Plot the confusion matrix. See `from_estimator`."""
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
        """Plot a curve from actual classes and scores, which are higher for the positive class."""
        return cls(bcm.from_scores(y_true, y_score, positive=positive)).plot(ax=ax, **keywords)


class RocCurveDisplay(_ScoreDisplay):
    """
    ROC curve with a band. See `bayescm.plot_roc`.

    Examples
    --------
    >>> display = RocCurveDisplay.from_predictions([1, 0, 1, 0], [0.9, 0.2, 0.4, 0.6], positive=1)
    >>> display.ax_.get_xlabel()
    'false positive rate'
    """

    _plot = "plot_roc"


class PrecisionRecallDisplay(_ScoreDisplay):
    """
    Precision-recall curve with a band. See `bayescm.plots.plot_precision_recall`.

    Examples
    --------
    >>> actual, scores = [1, 0, 1, 0], [0.9, 0.2, 0.4, 0.6]
    >>> PrecisionRecallDisplay.from_predictions(actual, scores, positive=1).ax_.get_xlabel()
    'recall'
    """

    _plot = "plot_precision_recall"


class CalibrationDisplay(_Display):
    """
    Calibration curve with a band. See `bayescm.plot_calibration`.

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
        """Plot a curve from actual classes and probabilities of the positive class."""
        return cls(bcm.from_probabilities(y_true, y_prob, positive=positive)).plot(
            ax=ax, **keywords
        )
