"""
Areas under curves and other measures of scores: intervals, comparisons and draws.

They are computed from the posterior of the curves (`bayescm.posteriors.roc.curve_posterior`). For
example, ``auc(scores)`` is equivalent to ``bayescm.interval(scores, "auc")``. The measures
themselves are in `bayescm.measures.curves`.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers import compare as comparison
from bayescm.answers.compare import draw_labelled
from bayescm.answers.interval import interval, resolve_measures
from bayescm.curves.roc import interval_of
from bayescm.fitting.posterior_for import posterior_of
from bayescm.fitting.question import Question
from bayescm.measures import curves as measures
from bayescm.measures.catalogue import resolve
from bayescm.posteriors.roc.curve_posterior import DRAWS
from bayescm.validate import check_choice, check_seed, check_whole, fail


def auc(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    average: str | None = None,
    model: str | None = None,
    draws: int | None = None,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return the posterior interval of the area under the ROC curve.

    The area is the probability that a random positive example scores higher than a random negative
    one, with ties counting one half. Equivalent to ``bayescm.interval(evidence, "auc")``.

    Parameters
    ----------
    evidence : Dataset
        Scores from :func:`bayescm.from_scores`.
    prob : float, default 0.95
        Probability of the interval.
    kind : {"hdi", "eti"}
        Highest-density or equal-tailed interval. Both reach 1 if the sample separates the classes
        perfectly.
    average : {"macro", "weighted", "micro"}, optional
        Average over more than two classes: the mean over classes, the mean weighted by prevalence,
        or the area of all (example, class) pairs pooled. By default, there is one interval for each
        class against the rest.
    model : {"scores", "binormal"}, optional
        ``"scores"`` (the default) uses only the order of the scores. ``"binormal"`` assumes normal
        scores in each class.
    draws : int, optional
        Number of draws. By default the interval is computed from the moments of the area if these
        are as accurate as 4,000 draws. Otherwise, and for averages, 4,000 draws are used.
    random_seed : int, default 0
        Seed of the draws.

    Returns
    -------
    DataArray, dims ([fold | group], [classifier], [class], bound)
        Interval with the attributes of `bayescm.interval`.

    Notes
    -----
    The first three moments of the area are known (`bayescm.posteriors.scores.area_distribution`).
    The number of examples per class is the sum of their weights. With ``weights_are="importance"``,
    it is Kish's effective sample size, (sum w)^2 / sum w^2. With two classes, it is computed for
    each class; with more classes, for all examples together.

    The coverage of 95% intervals was simulated in 60 settings with 50 to 1,000 examples, areas of
    0.8 to 0.99, and four populations (``docs/results/curves_coverage.csv``). Equal-tailed intervals
    of the area are a tenth longer than highest-density intervals.

    ================= ============ =========== ===================== ====================
    measure           HDI, average HDI, lowest equal-tailed, average equal-tailed, lowest
    ================= ============ =========== ===================== ====================
    area              97%          90%         97%                   92%
    average precision 95%          83%         96%                   89%
    best F1           93%          88%         95%                   90%
    ================= ============ =========== ===================== ====================

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> actual = rng.random(200) < 0.3
    >>> evidence = bcm.from_scores(actual, rng.normal(actual, 1))
    >>> auc(evidence).values.round(2)
    array([0.72, 0.85])
    """
    return interval(
        evidence,
        _of_classes("auc", average),
        prob=prob,
        kind=kind,
        model=_checked(model),
        draws=draws,
        random_seed=random_seed,
    )


def average_precision(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    average: str | None = None,
    model: str | None = None,
    draws: int | None = None,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return the posterior interval of the average precision (area under the PR curve).

    Average precision is the integral of precision over recall in the population, if all scores
    differ. If several examples of a class share a score, no threshold separates them. Precision is
    then evaluated with all of them predicted positive, and the integral is a sum of steps. The
    sample estimate in scikit-learn uses steps only, and is biased upwards if there are few
    positives.

    Parameters
    ----------
    evidence, prob, kind, average, model, draws, random_seed
        See `auc`. The prevalence is estimated from the sample, or set by `at_prevalence`.

    Returns
    -------
    DataArray, dims ([fold | group], [classifier], [class], bound)
        Interval.

    Notes
    -----
    Let q be the prevalence, and t and f the true and the false positive rate along a draw of the
    curve. The points k of the curve are the ends of the slots between scores. The average precision
    is the sum over k of

        integral of q t / (q t + (1 - q) f) dt from t_(k-1) to t_k    between two scores,
        (t_k - t_(k-1)) q t_k / (q t_k + (1 - q) f_k)                 at a shared score.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> average_precision(evidence, draws=4000).values.round(1)
    array([0.3, 1. ])
    """
    return interval(
        evidence,
        _of_classes("average_precision", average),
        prob=prob,
        kind=kind,
        model=_checked(model),
        draws=draws,
        random_seed=random_seed,
    )


def partial_auc(
    evidence: xr.Dataset,
    *,
    max_fpr: float,
    prob: float = 0.95,
    kind: str = "hdi",
    model: str | None = None,
    draws: int | None = None,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return the posterior interval of the partial area under the ROC curve.

    The partial area extends up to the false positive rate ``max_fpr``. It is standardised after
    McClish, as in scikit-learn: 0.5 for chance, 1 for a perfect classifier.

    Parameters
    ----------
    evidence, prob, kind, model, draws, random_seed
        See `auc`.
    max_fpr : float
        Upper limit of the false positive rate, in (0, 1].

    References
    ----------
    McClish, D. K. (1989). Analyzing a portion of the ROC curve. Medical Decision Making 9,
    190-195. doi:10.1177/0272989X8900900307

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> partial_auc(evidence, max_fpr=0.5, draws=4000).values.round(1)
    array([0.3, 0.9])
    """
    return interval(
        evidence,
        measures.partial_auc(max_fpr),
        prob=prob,
        kind=kind,
        model=_checked(model),
        draws=draws,
        random_seed=random_seed,
    )


def max_f1(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    model: str | None = None,
    draws: int | None = None,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return the posterior interval of F1 at its best threshold.

    The result describes the performance of the scores at the best threshold. It is not the
    performance of a threshold chosen on these data; for that, see `best_threshold`.

    Parameters
    ----------
    evidence, prob, kind, model, draws, random_seed
        See `auc`.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> max_f1(evidence, draws=4000).values.round(1)
    array([0.4, 0.9])
    """
    return interval(
        evidence,
        "max_f1",
        prob=prob,
        kind=kind,
        model=_checked(model),
        draws=draws,
        random_seed=random_seed,
    )


def compare(
    evidence: xr.Dataset,
    measure: str | Callable = "auc",
    *,
    prob: float = 0.95,
    kind: Literal["hdi", "eti"] = "hdi",
    rope: float | tuple[float, float] = 0.0,
    reference: str | None = None,
    draws: int | None = None,
    random_seed: int = 0,
) -> pd.DataFrame:
    """
    Compare classifiers scored on the same examples, pairwise.

    Parameters
    ----------
    evidence : Dataset
        Scores of two or more classifiers.
    measure : str or callable
        Measure to compare; see `number_draws`.
    prob, kind, rope, reference
        See :func:`bayescm.compare`.
    draws, random_seed
        See `auc`.

    Returns
    -------
    DataFrame
        The columns of :func:`bayescm.compare`.

    Notes
    -----
    Curves are drawn jointly: each example has the same weight for all classifiers. Areas are
    instead joined by a Gaussian copula with the correlation estimated from the sample
    (`bayescm.posteriors.roc.paired_areas`). The intervals are about as long as DeLong's, provided
    that DeLong's have the nominal coverage. For curves and for areas, the interval of each single
    classifier is the same as without a comparison.

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> actual = rng.random(300) < 0.4
    >>> good = rng.normal(2 * actual, 1)
    >>> evidence = bcm.from_scores(actual, {"good": good, "worse": good + rng.normal(size=300)})
    >>> compare(evidence, "auc")[["first", "second", "p_better"]].values.tolist()
    [['good', 'worse', 1.0]]
    """
    return comparison.compare(
        evidence,
        measure,
        prob=prob,
        kind=kind,
        rope=rope,
        reference=reference,
        model="scores",
        draws=draws,
        random_seed=random_seed,
    )


def fold_auc(
    evidence: xr.Dataset,
    *,
    rho: float | None = None,
    prob: float = 0.95,
    kind: str = "hdi",
    draws: int = DRAWS,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return the posterior interval of the mean AUC over cross-validation folds.

    Given the data, the areas of the folds are independent except for their shared training
    examples. The correlation due to the shared examples widens the distribution of the mean, as in
    the model `averaged_folds`.

    Parameters
    ----------
    evidence : Dataset
        Scores with folds.
    rho : float, optional
        Correlation between folds in [0, 1). The default is Nadeau and Bengio's, the number of test
        examples divided by the number of test and training examples. It uses the coordinates
        ``test_share`` and ``train_size`` of `bayescm.learners.cross_scores`, or else is one over
        the number of folds.
    prob, kind, draws, random_seed
        See `auc`.

    Returns
    -------
    DataArray, dims ([classifier], [class], bound)
        Interval.

    References
    ----------
    Nadeau, C. & Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52,
    239-281. doi:10.1023/A:1024068626366

    Examples
    --------
    >>> import bayescm as bcm
    >>> halves = bcm.from_scores([0, 1, 0, 1] * 4, range(16), fold=[0] * 8 + [1] * 8)
    >>> fold_auc(halves, draws=500).dims
    ('bound',)
    """
    values = number_draws(evidence, "auc", draws=draws, random_seed=random_seed)
    number = values.sizes.get("fold", 1)
    if number < 2:
        todo = "pass `from_scores(..., fold=)`"
        raise fail(
            "Two or more folds are needed; the scores have the dimensions {}", values.dims, "", todo
        )
    if rho is None:
        share = float(evidence.coords.get("test_share", 1 / number))
        rho = share / (share + float(evidence.coords.get("train_size", 1 - share)))
    if not 0 <= rho < 1:
        raise fail("`rho` must be a correlation, at least 0 and below 1", rho, "", "leave it out")
    mean = values.mean("fold")
    centre = mean.mean("draw")
    # With correlation rho, the variance of the mean of K folds is multiplied by
    # 1 + K rho / (1 - rho).
    wide = centre + (mean - centre) * np.sqrt(1 + number * rho / (1 - rho))
    return interval_of(wide.clip(0, 1), prob, kind)


def number_draws(
    evidence: xr.Dataset,
    measure: str | Callable = "auc",
    *,
    average: str | None = None,
    model: str | None = None,
    draws: int = DRAWS,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return posterior draws of a summary of each curve.

    The curves of all classes, and of classifiers on the same examples, are drawn jointly.
    Differences of these draws are therefore draws of the difference.

    Parameters
    ----------
    evidence : Dataset
        Scores.
    measure : str or callable
        ``"auc"``, ``"average_precision"``, ``"max_f1"``, ``"partial_auc(0.1)"``, or a function of a
        `bayescm.measures.curves.Curve`.
    average, model, draws, random_seed
        See `bayescm.curves.auc`.

    Returns
    -------
    DataArray, dims (draw, [fold | group], [classifier], [class])
        Draws.

    Examples
    --------
    >>> import bayescm as bcm
    >>> scores = {"a": [1, 2, 4, 3, 5, 6], "b": [1, 3, 2, 4, 5, 6]}
    >>> both = bcm.from_scores([0, 0, 1, 0, 1, 1], scores)
    >>> drawn = number_draws(both, "auc", draws=500)
    >>> drawn.dims
    ('draw', 'classifier')
    """
    check_whole("draws", draws, 2, "draws", DRAWS)
    posterior, resolved = _posterior_and_measure(evidence, measure, average, model)
    rng = np.random.default_rng(check_seed(random_seed))
    return draw_labelled(posterior, [resolved], draws, rng)[resolved.__name__]


def estimate(
    evidence: xr.Dataset, measure: str | Callable = "auc", *, average: str | None = None
) -> xr.DataArray:
    """
    Return the value of a measure in the sample.

    Equivalent to ``sklearn.metrics.roc_auc_score`` (including ``max_fpr`` and averages),
    ``average_precision_score``, and the largest F1 along ``precision_recall_curve``.

    Parameters
    ----------
    evidence, measure, average
        See `number_draws`.

    Returns
    -------
    DataArray, dims ([fold | group], [classifier], [class])
        Sample values.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> estimate(evidence).item(), round(estimate(evidence, "average_precision").item(), 4)
    (0.75, 0.8333)
    """
    posterior, resolved = _posterior_and_measure(evidence, measure, average, "scores")
    return posterior.measure_template(resolved).to_dataarray(posterior.point(resolved))


def _posterior_and_measure(evidence, measure, average, model):
    posterior = posterior_of(evidence, Question(model=_checked(model)))
    (resolved,) = resolve_measures(posterior, _of_classes(measure, average))
    return posterior, resolved


def _checked(model: str | None) -> str:
    return check_choice("model", model or "scores", ["scores", "binormal"])


def _of_classes(measure: str | Callable, average: str | None) -> str | Callable:
    """Return a measure, or its average over the classes."""
    if average is None:
        return measure
    check_choice("average", average, ["macro", "weighted", "micro"])
    return measures.averaged(resolve(measure, "curve"), average)
