"""Plots with intervals, made as scikit-learn makes its displays."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self

import xarray as xr

import bayescm as bcm
from bayescm.integrations.estimators import counts_of, probabilities_of, scores_of
from bayescm.validate import check_keywords, fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
            todo = "pass positive= to from_estimator or from_predictions"
            raise fail("unknown keyword", "pos_label", "positive", todo, TypeError)
        draw = getattr(bcm, self._plot)
        self.figure_ = draw(self.evidence, ax=ax, **check_keywords(draw, keywords))
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
    _from_estimator = staticmethod(counts_of)

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


class _OfScores(_Display):
    _from_estimator = staticmethod(scores_of)

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


class RocCurveDisplay(_OfScores):
    """
    The ROC curve with its band; see `bayescm.plot_roc`.

    Examples
    --------
    >>> display = RocCurveDisplay.from_predictions([1, 0, 1, 0], [0.9, 0.2, 0.4, 0.6], positive=1)
    >>> display.ax_.get_xlabel()
    'false positive rate'
    """

    _plot = "plot_roc"


class PrecisionRecallDisplay(_OfScores):
    """
    The precision-recall curve with its band; see `bayescm.plot_precision_recall`.

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
    _from_estimator = staticmethod(probabilities_of)

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
