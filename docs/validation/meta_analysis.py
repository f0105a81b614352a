"""Meta-analyses of diagnostic tests: comparison with published results, and meta-regressions."""

import warnings
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy.optimize import minimize
from scipy.special import expit, logit

from bayescm.answers.heterogeneity import shares_beyond_chance
from bayescm.evidence import from_cells
from bayescm.posteriors import hierarchical_groups
from bayescm.posteriors.logit_normal_groups import LogitNormalRates
from bayescm.simulation import Experiment, Repeated
from bayescm.validate import fail
from validation import data_folder

# Two published meta-analyses are compared with the model of groups: AUDIT-C, a questionnaire for
# unhealthy alcohol use (14 studies; Kriston, L., Hoelzel, L., Weiser, A.-K., Berner, M. M. &
# Haerter, M. (2008). Meta-analysis: are 3 questions enough to detect unhealthy alcohol use? Annals
# of Internal Medicine 149, 879-888), and telomerase as a marker of bladder cancer (10 studies;
# Glas, A. S., Roos, D., Deutekom, M., Zwinderman, A. H., Bossuyt, P. M. M. & Kurth, K. H. (2003).
# Tumor markers in the diagnosis of primary bladder cancer. Journal of Urology 169, 1975-1982). The
# bivariate model is fitted in three ways:
# - "normal, REML": normal within studies, fitted by REML as in Reitsma et al. and the R package
#   mada. If any study has an empty cell, half an example is added to all cells of all studies.
# - "binomial, likelihood": binomial within studies, fitted by maximum likelihood.
# - "posterior": the posterior of `hierarchical_groups`.


class Collection(NamedTuple):
    """Name of a collection of studies, its file, and the marker to select."""

    data: str
    file: str
    marker: str | None = None


COLLECTIONS = {
    1: Collection("AUDIT-C", "mada_auditc.csv"),
    2: Collection("telomerase", "bamdit_glas.csv", "Telomerase"),
}
ESTIMATES = (
    *("sensitivity", "sensitivity_lower", "sensitivity_upper"),
    *("specificity", "specificity_lower", "specificity_upper"),
    *("sd_sensitivity", "sd_specificity", "correlation", "i2"),
)
# AUDIT-C: the output in the vignette of mada 0.5.12. Its correlation is with the false positive
# rate, and its I2 uses the errors of the means instead of the variances between studies.
# Telomerase: Glas et al. Their upper end of 0.74 is left out, because it is below the estimate
# of 0.75.
PUBLISHED = {
    "AUDIT-C": (0.891, 0.808, 0.941, 0.780, 0.715, 0.833, 1.175, 0.638, -0.854, 0.404),
    "telomerase": (0.75, 0.66, np.nan, 0.86, 0.71, 0.94, np.nan, np.nan, np.nan, np.nan),
}
NORMAL_QUANTILE = 1.959964  # the 97.5% quantile


def read_collection(file: str, marker: str | None = None) -> np.ndarray:
    """Return the counts of a collection of studies, shape (G, 2, 2)."""
    folder = Path(data_folder() or ".")
    path = next(
        (path for path in (folder / file, folder / "confusion" / file) if path.exists()), None
    )
    if path is None:
        raise fail(
            f"the data file {file} is missing",
            str(folder),
            "a folder that has it, with columns TP, FN, FP, TN (and marker)",
            "pass the folder by --data",
        )
    studies = pd.read_csv(path)
    if marker:
        studies = studies[studies["marker"] == marker]
    return studies[["TN", "FP", "FN", "TP"]].to_numpy().reshape(-1, 2, 2)


def bivariate_normal(
    cells: np.ndarray, *, everywhere: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Fit the bivariate normal model by REML.

    Parameters
    ----------
    cells : ndarray, shape (G, 2, 2)
    everywhere : bool, default True
        If any study has an empty cell, add half an example to all studies, as in mada. If False,
        add it only to studies with an empty cell.

    Returns
    -------
    means, errors : ndarray, shape (2,)
        Means of the logits of sensitivity and specificity, and their standard errors.
    between : ndarray, shape (3,)
        Both standard deviations between studies, and the correlation.

    References
    ----------
    Reitsma, J. B., Glas, A. S., Rutjes, A. W. S., Scholten, R. J. P. M., Bossuyt, P. M. &
    Zwinderman, A. H. (2005). Bivariate analysis of sensitivity and specificity produces informative
    summary measures in diagnostic reviews. Journal of Clinical Epidemiology 58, 982-990.
    doi:10.1016/j.jclinepi.2005.02.022
    """
    empty = (cells == 0).any((1, 2))
    continuity = empty.any() if everywhere else empty[:, None, None]
    (tn, fp), (fn, tp) = (cells + 0.5 * continuity).transpose(1, 2, 0).astype(float)
    y = np.stack([np.log(tp / fn), np.log(tn / fp)], axis=1)
    within = np.stack([1 / tp + 1 / fn, 1 / tn + 1 / fp], axis=1)

    def generalized_least_squares(point):
        a, b, r = np.exp(point[0]), np.exp(point[1]), np.tanh(point[2])
        between = np.array([[a * a, r * a * b], [r * a * b, b * b]])
        precision = np.linalg.inv(between + within[:, :, None] * np.eye(2))
        means = np.linalg.solve(precision.sum(0), np.einsum("gij,gj->i", precision, y))
        return means, precision

    def restricted_deviance(point):
        means, precision = generalized_least_squares(point)
        residual = y - means
        squares = np.einsum("gi,gij,gj->", residual, precision, residual)
        logs = np.linalg.slogdet(precision)[1].sum()
        return squares - logs + np.linalg.slogdet(precision.sum(0))[1]

    point = minimize(restricted_deviance, [-0.5, -0.5, 0.0], method="Nelder-Mead").x
    means, precision = generalized_least_squares(point)
    errors = np.sqrt(np.diag(np.linalg.inv(precision.sum(0))))
    return means, errors, np.append(np.exp(point[:2]), np.tanh(point[2]))


def bivariate_binomial(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return maximum-likelihood means of the logits, and between-study sds and correlation."""
    (tn, fp), (fn, tp) = np.asarray(cells, float).transpose(1, 2, 0)
    hits, totals = np.stack([tp, tn], axis=1), np.stack([tp + fn, tn + fp], axis=1)
    rates = LogitNormalRates(hits, totals, np.full((2, 2), 0.5), 1.0)

    def negative_log_likelihood(point):
        return float(-(rates.log_posterior(point[None]) - rates.log_prior(point[None]))[0])

    options = {"maxiter": 4000, "xatol": 1e-4, "fatol": 1e-5}
    start = [2, 1.2, 0.2, -0.4, -0.6]
    point = minimize(negative_log_likelihood, start, method="Nelder-Mead", options=options).x
    return point[:2], np.append(np.exp(point[2:4]), np.tanh(point[4]))


def posterior_estimates(cells: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return medians and 95% intervals of both rates, and medians of the heterogeneity."""
    draws = hierarchical_groups(cells).variables(20_000, np.random.default_rng(seed))
    rates, spread = draws["rates"][:, 1:], draws["spread"][:, 1:]
    rho = draws["correlation"]
    _, i2 = shares_beyond_chance(cells, logit(rates), spread, rho)
    ends = np.quantile(rates, [0.5, 0.025, 0.975], axis=0).T.ravel()
    return np.concatenate([ends, np.median(spread, axis=0), [np.median(rho), np.median(i2)]])


def bivariate_estimates(replications, data, file, marker):
    """Yield the estimates of a collection by each method, and the published ones."""
    cells = read_collection(file, marker)
    normal_means, errors, normal_between = bivariate_normal(cells)
    half = NORMAL_QUANTILE * errors
    normal_ends = expit([normal_means, normal_means - half, normal_means + half]).T.ravel()
    means, between = bivariate_binomial(cells)
    sensitivity, specificity = expit(means)
    no_ends = (np.nan, np.nan)
    estimates = {
        "published": PUBLISHED[data],
        "normal, REML": (*normal_ends, *normal_between, _i2(cells, normal_means, normal_between)),
        "binomial, likelihood": (
            *(sensitivity, *no_ends, specificity, *no_ends),
            *(*between, _i2(cells, means, between)),
        ),
        "posterior": posterior_estimates(cells, replications.seed),
    }
    for method, values in estimates.items():
        yield {
            "studies": len(cells),
            "method": method,
            **dict(zip(ESTIMATES, values, strict=True)),
            "replications": 0,
        }


def _i2(cells, means, between):
    return float(shares_beyond_chance(cells, means, between[:2], between[2])[1])


# Experiment "meta_regression": coverage of the slopes of covariates, of the typical study, and of
# the remaining standard deviations between studies. Each study has a standard normal year and, in
# one case, one of two tests. The logits of sensitivity and specificity are linear in these
# covariates, with normal and correlated residuals between studies.

RATES = ("recall", "specificity")
MEANS, YEAR, TEST = (1.2, 1.8), (0.5, -0.3), (-0.6, 0.4)


class RegressionSetting(NamedTuple):
    """Number of studies, range of examples per class, heterogeneity, and whether tests differ."""

    studies: int
    smallest: int
    largest: int
    sd_recall: float
    sd_specificity: float
    correlation: float
    tests: bool


REGRESSIONS = {
    1: RegressionSetting(8, 20, 150, 0.4, 0.5, 0.0, tests=False),
    2: RegressionSetting(20, 10, 100, 0.8, 0.6, -0.5, tests=True),
    3: RegressionSetting(12, 30, 200, 0.4, 0.5, 0.0, tests=False),
}


def studies_with_covariates(
    rng: np.random.Generator, *setting: Any
) -> tuple[xr.DataArray, Mapping[str, float]]:
    """Return counts of studies with their covariates, and the true parameters."""
    size, smallest, largest, a, b, correlation, tests = RegressionSetting(*setting)
    year, test = rng.standard_normal(size), np.arange(size) % 2
    covariance = [[a * a, correlation * a * b], [correlation * a * b, b * b]]
    effects = rng.multivariate_normal([0, 0], covariance, size)
    logits = np.array(MEANS) + np.outer(year, YEAR) + effects
    truth = _by_rate("typical", expit(MEANS)) | _by_rate("year", YEAR) | _by_rate("sd", (a, b))
    if tests:
        logits += np.outer(test, TEST)
        truth |= _by_rate("test", TEST)
    totals = rng.integers(smallest, largest, (2, size))
    tp, tn = rng.binomial(totals, expit(logits).T)
    counts = from_cells(tp=tp, fn=totals[0] - tp, fp=totals[1] - tn, tn=tn).rename(batch="group")
    names = np.array(["a", "b"], object)[test]
    return counts.assign_coords(year=("group", year), test=("group", names)), truth


def _by_rate(name, values):
    return {f"{name} {rate}": float(value) for rate, value in zip(RATES, values, strict=True)}


def regression_intervals(counts: xr.DataArray, *, tests: bool) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals of all parameters."""
    reference: dict[str, Any] = {"year": 0.0} | ({"test": "a"} if tests else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there can be few effective draws
        posterior = hierarchical_groups(counts, covariates=reference)
        draws = posterior.variables(4000, np.random.default_rng(0))
    parameters = {"typical": draws["rates"], "sd": draws["spread"], "year": draws["slope"][:, 0]}
    if tests:
        parameters["test"] = draws["slope"][:, 1]
    return {
        f"{name} {rate}": np.quantile(values[:, column], [0.025, 0.975])
        for name, values in parameters.items()
        for column, rate in enumerate(RATES, start=1)
    }


def regression_methods(*setting):
    """Return the method, with the covariates of a setting."""
    return {"posterior": partial(regression_intervals, tests=RegressionSetting(*setting).tests)}


EXPERIMENTS = [
    Repeated("meta_analysis", COLLECTIONS, bivariate_estimates, columns=("data",)),
    Experiment("meta_regression", REGRESSIONS, studies_with_covariates, regression_methods),
]
