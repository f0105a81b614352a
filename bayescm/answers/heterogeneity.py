"""Heterogeneity between studies: its size, and its association with covariates."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import logit

from bayescm.answers.tables import value_and_interval
from bayescm.distributions.empirical import Empirical
from bayescm.evidence.counts import as_counts, positive
from bayescm.evidence.covariates import study_covariates
from bayescm.fitting.posterior_for import posterior_of
from bayescm.fitting.question import Question
from bayescm.posteriors.hierarchical_groups import (
    FEW_GROUPS,
    HierarchicalGroups,
    hierarchical_groups,
)
from bayescm.validate import (
    check_keywords,
    check_kind,
    check_prob,
    check_seed,
    check_whole,
    fail,
)

# Probability of a positive correlation above which a caution is added. With few studies, or small
# differences between them, the probability is close to 0.5.
_RISING = 0.8


def heterogeneity(
    counts: xr.DataArray,
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    concentration: Any = None,
    draws: int = 20_000,
    random_seed: int = 0,
    **keywords: Any,
) -> pd.DataFrame:
    """
    Return the heterogeneity between studies, and its association with covariates.

    Parameters
    ----------
    counts : DataArray, dims (group, actual, predicted)
        Counts of two classes, with one group per study.
    prob : float in (0, 1), default 0.95
    kind : {"hdi", "eti"}
    concentration : float or array_like, optional
        Prior pseudo-counts per cell. See `bayescm.models.hierarchical_groups`.
    draws : int, default 20,000
        Number of draws of the direct posterior. If the prior is a function, the model is sampled by
        NUTS instead.
    random_seed : int, default 0
    **keywords
        Further keywords of `bayescm.models.hierarchical_groups`. With ``covariates=``, the result
        is the residual heterogeneity and the effect of each covariate.

    Returns
    -------
    DataFrame
        One row per quantity, with columns ``median``, ``lower``, ``upper`` and ``error`` (the
        numerical error of the bounds). The quantities are:

        - ``sd_sensitivity``, ``sd_specificity``: between-study standard deviations of the logits.
        - ``correlation``: between-study correlation of the logits.
        - ``i2_sensitivity``, ``i2_specificity``, ``i2``: share of the variation between estimates
          that is not due to chance, for each rate and for both jointly.
        - ``odds_ratio_sensitivity``, ``odds_ratio_specificity``: exponentiated slope of each
          covariate, per unit. The column ``covariate`` names the covariate, and ``p_above_1`` is
          the probability that the rate increases with it.

        ``attrs`` contains ``prob``, ``kind`` and ``model``, the effects of covariates in
        ``sentences``, and a ``caution`` if there are few studies, or if sensitivity and specificity
        increase together.

    Raises
    ------
    ValueError
        If the counts do not have two classes and one group per study, or if no study has
        participants with the condition, or without it.

    Notes
    -----
    The variance of an estimated logit in a study of n examples is averaged over the population of
    studies: (exp(t**2 / 2 + m) + exp(t**2 / 2 - m) + 2) times the mean of 1 / n. Here m and t are
    the mean and standard deviation of the logits. With importance weights, n is Kish's effective
    number of examples per class and study, as in the posterior. The joint I2 uses the square roots
    of the determinants of the covariance matrices. Large studies make I2 large even if their rates
    differ little, so consult the standard deviations and the region of a new study first.

    References
    ----------
    Zhou, Y. & Dendukuri, N. (2014). Statistics for quantifying heterogeneity in univariate and
    bivariate meta-analyses of binary data: the case of meta-analyses of diagnostic accuracy.
    Statistics in Medicine 33, 2701-2717. doi:10.1002/sim.6115

    Examples
    --------
    >>> import bayescm as bcm
    >>> studies = bcm.from_cells(
    ...     tp=[47, 126, 19, 36, 130], fn=[9, 51, 10, 3, 19],
    ...     fp=[101, 272, 12, 78, 211], tn=[738, 1543, 192, 276, 959],
    ... ).rename(batch="group")
    >>> table = bcm.meta.heterogeneity(studies)
    >>> list(table.index[:4])
    ['sd_sensitivity', 'sd_specificity', 'correlation', 'i2_sensitivity']
    """
    counts = as_counts(counts)
    if counts.sizes["actual"] != 2 or counts.dims[:-2] != ("group",):
        raise fail(
            "Studies need the dimensions group, actual and predicted",
            counts.dims,
            "",
            "pass the counts of one classifier, with one group per study",
        )
    check_both_outcomes(counts)
    check_prob(prob)
    check_kind(kind)
    check_whole("draws", draws, 2, "draws", 20_000)
    check_seed(random_seed)
    check_keywords(hierarchical_groups, keywords)
    if isinstance(keywords.get("covariates"), Mapping):
        keywords["covariates"] = study_covariates(counts, keywords["covariates"])
    question = Question(
        model="hierarchical_groups",
        concentration=concentration,
        random_seed=random_seed,
        keywords=keywords,
    )
    posterior = posterior_of(counts, question)
    rng = np.random.default_rng(check_seed(random_seed))
    if isinstance(posterior, HierarchicalGroups):
        (studies,) = posterior.collections
        sample = studies.draw(draws, rng, groups=False)
        ((cells, _),) = posterior.cells_and_totals
    else:  # sampled by NUTS, because the prior belongs to another family
        sample, cells = posterior.variables(draws, rng), counts.values
    values = _variation(cells, sample)

    def row(quantity, draws_of_quantity):
        """Return the median, the interval and its error of one quantity."""
        monte_carlo = (posterior.draw_clusters, posterior.how, posterior.effective_draws)
        distribution = Empirical(draws_of_quantity, *monte_carlo)
        (lower, upper), errors = distribution.interval_with_error(prob, kind)
        median = np.median(draws_of_quantity)
        numbers = {"median": median, "lower": lower, "upper": upper, "error": errors.max()}
        return {"quantity": quantity, **numbers}

    rows = [row(*quantity) for quantity in values.items()]
    if "slope" in sample:
        rows += _odds_ratios(sample["slope"], keywords["covariates"], row)
    table = pd.DataFrame(rows).set_index("quantity")
    table.attrs |= {"prob": prob, "kind": kind, "model": "hierarchical_groups"}
    if "slope" in sample:
        slopes = table[table.index.str.startswith("odds_ratio")]
        table.attrs["sentences"] = [_sentence(*slope) for slope in slopes.iterrows()]
    cautions = [rising_together(values["correlation"])]
    if (number := counts.sizes["group"]) < FEW_GROUPS:
        cautions.insert(
            0,
            (
                f"With only {number} studies, the between-study standard deviations depend "
                "strongly on their prior."
            ),
        )
    if caution := " ".join(filter(None, cautions)):
        table.attrs["caution"] = caution
    return table


def _variation(cells, sample):
    """Return draws of the heterogeneity of studies with these cells (G, 2, 2)."""
    sd, rho = sample["spread"][:, 1:], sample["correlation"]
    mean = logit(np.clip(sample["rates"][:, 1:], 1e-300, 1 - 1e-16))
    i2, joint_i2 = shares_beyond_chance(cells, mean, sd, rho)
    return {
        "sd_sensitivity": sd[:, 0],
        "sd_specificity": sd[:, 1],
        "correlation": rho,
        "i2_sensitivity": i2[:, 0],
        "i2_specificity": i2[:, 1],
        "i2": joint_i2,
    }


def rising_together(correlation: np.ndarray) -> str:
    """
    Return a caution if sensitivity and specificity increase together, or an empty string.

    If studies differ in their cut-offs, sensitivity and specificity trade off, and a summary ROC
    curve describes this trade-off. If both increase together, the studies differ in other ways,
    such as patients or the quality of the test, and a summary ROC curve does not exist.

    Parameters
    ----------
    correlation : ndarray, shape (S,)
        Draws of the between-study correlation of the logits of sensitivity and specificity.
    """
    probability = float((correlation > 0).mean())
    if probability <= _RISING:
        return ""
    return (
        "Sensitivity and specificity increase together across studies (the correlation "
        f"of their logits is {np.median(correlation):.2f}, above 0 with probability "
        f"{probability:.2f}). The studies differ by more than their cut-offs and have "
        "no summary ROC curve."
    )


def check_both_outcomes(counts: xr.DataArray) -> None:
    """Raise an error if participants with or without the condition are missing in all studies."""
    present = counts.sum(("group", "predicted")).values > 0
    if present.all():
        return
    label, labels = positive(counts), counts["actual"].values.tolist()
    of_positives = present[-1 if label is None else labels.index(label)]  # default: the last class
    missing, rate = ("without", "sensitivity") if of_positives else ("with", "specificity")
    raise fail(
        f"No study has participants {missing} the condition",
        ...,
        "",
        f"use {rate} alone, with summary, interval or plot_forest",
    )


def shares_beyond_chance(
    cells: np.ndarray, mean: np.ndarray, sd: np.ndarray, rho: Any
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the I2 of Zhou and Dendukuri for each rate, and for both rates jointly.

    Parameters
    ----------
    cells : ndarray, shape (G, 2, 2)
        Counts of each study. The positive class is the last one.
    mean, sd : ndarray, shape (..., 2)
        Means and between-study standard deviations of the logits of sensitivity and specificity.
    rho : array_like, shape (...)
        Correlation of the logits.
    """
    totals = cells.sum(-1).T[::-1]
    mean_inverse = np.array([np.mean(1 / total[total > 0]) for total in totals])
    within = (np.exp(sd**2 / 2 + mean) + np.exp(sd**2 / 2 - mean) + 2) * mean_inverse
    between = np.sqrt(1 - rho**2) * sd.prod(-1)  # square root of the determinant
    return sd**2 / (sd**2 + within), between / (between + np.sqrt(within.prod(-1)))


def _odds_ratios(slopes, covariates, row):
    """Return rows for the odds ratios of every covariate, built by the function `row`."""
    names = getattr(covariates, "coords", {}).get("covariate", np.arange(slopes.shape[1]))
    rows = []
    for index, name in enumerate(np.asarray(names).tolist()):
        for rate, rate_name in ((1, "sensitivity"), (2, "specificity")):
            slope = slopes[:, index, rate]
            odds_ratio = row(f"odds_ratio_{rate_name}", np.exp(slope))
            probability = float((slope > 0).mean())
            rows.append(odds_ratio | {"covariate": str(name), "p_above_1": probability})
    return rows


def _sentence(quantity, row):
    """Describe the effect of a covariate on sensitivity or specificity."""
    rate = quantity.removeprefix("odds_ratio_")
    name, is_label, label = row["covariate"].partition("=")
    where = f"With {name} {label}" if is_label else f"For each unit more of {name}"
    numbers = value_and_interval(row["median"], (row["lower"], row["upper"]), row["error"])
    rises = row["p_above_1"] >= 0.5
    probability = row["p_above_1"] if rises else 1 - row["p_above_1"]
    written = "> 0.99" if probability > 0.99 else f"{probability:.2f}"
    direction = ("higher" if rises else "lower") if is_label else ("rising" if rises else "falling")
    return (
        f"{where} the odds of {rate} are multiplied by {numbers}: {direction} with probability "
        f"{written}."
    )
