"""Studies that differ: how much of it is more than chance, and what goes with it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import logit

from bayescm.distributions.empirical import Empirical
from bayescm.evidence.counts import as_counts
from bayescm.evidence.covariates import study_covariates
from bayescm.fitting.posterior_for import posterior_of
from bayescm.posteriors.hierarchical_groups import HierarchicalGroups, hierarchical_groups
from bayescm.validate import (
    check_keywords,
    check_kind,
    check_prob,
    check_seed,
    check_whole,
    fail,
)

_RATES = ("prevalence", "recall", "specificity")
# With fewer studies the prior of the spread between them shows.
_FEW_STUDIES = 5


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
    Return how much studies differ beyond chance, and how that goes with their covariates.

    Parameters
    ----------
    counts : DataArray, dims (group, actual, predicted)
        Counts of two classes, a group for each study.
    prob : float in (0, 1), default 0.95
    kind : {"hdi", "eti"}
    concentration : float or array_like, optional
        Prior pseudo-counts per cell; see `bayescm.models.hierarchical_groups`.
    draws : int, default 20,000
        Of the direct posterior; with a prior that is a function the model is sampled by NUTS.
    random_seed : int, default 0
    **keywords
        Further ones of `bayescm.models.hierarchical_groups`; with ``covariates=`` what is left
        beside them is told, and what each adds to the logits.

    Returns
    -------
    DataFrame
        One row each, with columns ``median``, ``lower`` and ``upper``: ``sd_recall`` and
        ``sd_specificity``, the standard deviations of the logits between studies; ``correlation``;
        ``i2_recall``, ``i2_specificity`` and ``i2``, the share of the variation between estimates
        that is not chance, of each and of both together; and ``odds_ratio_recall`` and
        ``odds_ratio_specificity`` of every covariate, for each unit of it (column ``covariate``),
        with the column ``p_above_1``. ``attrs["caution"]`` says so where the studies are few.

    Raises
    ------
    ValueError
        If the counts are not of studies and two classes.

    Notes
    -----
    The variance of an estimated logit within a study of n examples is taken at its mean over the
    studies there may be, (exp(t**2 / 2 + m) + exp(t**2 / 2 - m) + 2) times the mean of 1 / n, with
    m and t the mean and the standard deviation of the logits. Of importance weights n is how many
    examples a class of a study is worth by Kish's formula, as in the posterior. The share of both
    together is that of the square roots of the determinants. Large studies make it large however
    little they differ: look at the standard deviations, and at the region of a new study, first.

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
    ['sd_recall', 'sd_specificity', 'correlation', 'i2_recall']
    """
    counts = as_counts(counts)
    if counts.sizes["actual"] != 2 or counts.dims[:-2] != ("group",):
        todo = "pass the counts of one classifier, a group for each study"
        raise fail("not studies of two classes", counts.dims, "group, actual, predicted", todo)
    check_prob(prob)
    check_kind(kind)
    check_whole("draws", draws, 2, "draws", 20_000)
    check_seed(random_seed)
    check_keywords(hierarchical_groups, keywords)
    if isinstance(keywords.get("covariates"), Mapping):
        keywords["covariates"] = study_covariates(counts, keywords["covariates"])
    prior = {"concentration": concentration, "random_seed": random_seed, **keywords}
    posterior = posterior_of(counts, "hierarchical_groups", **prior)
    rng = np.random.default_rng(check_seed(random_seed))
    if isinstance(posterior, HierarchicalGroups):
        (studies,) = posterior.collections
        sample = studies.draw(draws, rng, groups=False)
        ((cells, _),) = posterior.cells_and_totals
    else:  # sampled, with a prior of another family
        sample, cells = posterior.variables(draws, rng), counts.values
    values = _variation(cells, sample)
    rows = [_row(name, draws_of_quantity, prob, kind) for name, draws_of_quantity in values.items()]
    if "slope" in sample:
        rows += _slopes(sample["slope"], keywords["covariates"], prob, kind)
    table = pd.DataFrame(rows).set_index("quantity")
    if (number := counts.sizes["group"]) < _FEW_STUDIES:
        table.attrs["caution"] = (
            f"{number} studies say little about how far studies differ: the prior of the standard "
            "deviations between them shows."
        )
    return table


def _variation(cells, sample):
    """Return draws of what says how much studies of these cells (G, 2, 2) differ."""
    sd, rho = sample["spread"][:, 1:], sample["correlation"]
    mean = logit(np.clip(sample["rates"][:, 1:], 1e-300, 1 - 1e-16))
    i2, joint_i2 = shares_beyond_chance(cells, mean, sd, rho)
    return {
        "sd_recall": sd[:, 0],
        "sd_specificity": sd[:, 1],
        "correlation": rho,
        "i2_recall": i2[:, 0],
        "i2_specificity": i2[:, 1],
        "i2": joint_i2,
    }


def shares_beyond_chance(
    cells: np.ndarray, mean: np.ndarray, sd: np.ndarray, rho: Any
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return I2 of Zhou and Dendukuri: of both rates, and of both together.

    Parameters
    ----------
    cells : ndarray, shape (G, 2, 2)
        The positive class is the last one.
    mean, sd : ndarray, shape (..., 2)
        Means of the logits of recall and specificity, and their standard deviations between
        studies.
    rho : array_like, shape (...)
        Their correlation.
    """
    totals = cells.sum(-1).T[::-1]
    mean_inverse = np.array([np.mean(1 / total[total > 0]) for total in totals])
    within = (np.exp(sd**2 / 2 + mean) + np.exp(sd**2 / 2 - mean) + 2) * mean_inverse
    between = np.sqrt(1 - rho**2) * sd.prod(-1)  # the root of the determinant
    return sd**2 / (sd**2 + within), between / (between + np.sqrt(within.prod(-1)))


def _row(name, values, prob, kind):
    lower, upper = Empirical(values).interval_with_error(prob, kind)[0]
    return {"quantity": name, "median": np.median(values), "lower": lower, "upper": upper}


def _slopes(slopes, covariates, prob, kind):
    """Return rows of the odds ratios of every covariate."""
    names = getattr(covariates, "coords", {}).get("covariate", np.arange(slopes.shape[1]))
    rows = []
    for index, name in enumerate(np.asarray(names).tolist()):
        for rate in (1, 2):
            values = slopes[:, index, rate]
            row = _row(f"odds_ratio_{_RATES[rate]}", np.exp(values), prob, kind)
            rows.append(row | {"covariate": str(name), "p_above_1": float((values > 0).mean())})
    return rows
