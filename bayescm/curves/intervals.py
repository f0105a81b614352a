"""Intervals of summaries of a curve: area, partial area, average precision, best F1."""

import xarray as xr

from bayescm.curves import areas
from bayescm.curves.draws import interval_of, number_draws
from bayescm.curves.roc import NUMBER_DRAWS


def auc(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    kind: str = "eti",
    average: str | None = None,
    model: str | None = None,
    draws: int | None = None,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return the posterior interval of the area under the ROC curve.

    The area is the probability that a random positive example scores higher than a random negative
    one, with ties counting one half.

    Parameters
    ----------
    evidence : Dataset
        From :func:`bayescm.from_scores`.
    prob : float, default 0.95
        Mass of the interval.
    kind : {"eti", "hdi"}
        Equal-tailed or highest-density. Near the end of the scale highest-density intervals have
        poorer coverage; hence the default.
    average : {"macro", "weighted", "micro"}, optional
        For more than two classes: the mean over classes, the mean weighted by prevalence, or the
        area of all (example, class) pairs pooled. By default each class against the rest.
    model : {"scores", "binormal"}, optional
        By default the first, which uses only the order of the scores; the second takes them to be
        normal in each class.
    draws : int, optional
        By default the bounds follow from the moments of the area, which are known, where these tell
        as much as 4,000 draws do; elsewhere, and of averages, these are drawn.
    random_seed : int, optional

    Returns
    -------
    DataArray, dims ([fold | group], [classifier], [class], bound)

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> actual = rng.random(200) < 0.3
    >>> evidence = bcm.from_scores(actual, rng.normal(actual, 1))
    >>> auc(evidence).values.round(2)
    array([0.71, 0.85])
    """

    def drawn():
        size = NUMBER_DRAWS if draws is None else draws
        values = number_draws(
            evidence, "auc", average=average, model=model, draws=size, random_seed=random_seed
        )
        return interval_of(values, prob, kind)

    if draws is None and average is None and model in (None, "scores"):
        return areas.interval(evidence, prob, kind, drawn)
    return drawn()


def average_precision(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    kind: str = "eti",
    average: str | None = None,
    model: str | None = None,
    draws: int = NUMBER_DRAWS,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return the posterior interval of the average precision, the area under the PR curve.

    This is the population's integral of precision over recall. What scikit-learn computes from the
    sample, a sum of steps, is an estimate of it that is biased upwards when positives are few.

    Parameters
    ----------
    evidence, prob, kind, average, model, draws, random_seed
        See `auc`. The prevalence is estimated from the sample, or set by `at_prevalence`.

    Returns
    -------
    DataArray, dims ([fold | group], [classifier], [class], bound)

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> average_precision(evidence, draws=4000).values.round(1)
    array([0.2, 0.9])
    """
    values = number_draws(
        evidence,
        "average_precision",
        average=average,
        model=model,
        draws=draws,
        random_seed=random_seed,
    )
    return interval_of(values, prob, kind)


def partial_auc(
    evidence: xr.Dataset,
    *,
    max_fpr: float,
    prob: float = 0.95,
    kind: str = "eti",
    model: str | None = None,
    draws: int = NUMBER_DRAWS,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return the posterior interval of the area under the ROC curve up to a false positive rate.

    Standardised after McClish, as scikit-learn does: 0.5 for chance, 1 for a perfect classifier.

    Parameters
    ----------
    evidence, prob, kind, model, draws, random_seed
        See `auc`.
    max_fpr : float
        Upper limit of the area, in (0, 1].

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
    values = number_draws(
        evidence, f"partial_auc({max_fpr})", model=model, draws=draws, random_seed=random_seed
    )
    return interval_of(values, prob, kind)


def max_f1(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    kind: str = "eti",
    model: str | None = None,
    draws: int = NUMBER_DRAWS,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return the posterior interval of F1 at its best threshold.

    This is what the scores could achieve, not what a threshold chosen on these data will achieve;
    for that, see `best_threshold`.

    Parameters
    ----------
    evidence, prob, kind, model, draws, random_seed
        See `auc`.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 0, 1, 1, 1, 0], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> max_f1(evidence, draws=4000).values.round(1)
    array([0.3, 0.9])
    """
    values = number_draws(evidence, "max_f1", model=model, draws=draws, random_seed=random_seed)
    return interval_of(values, prob, kind)
