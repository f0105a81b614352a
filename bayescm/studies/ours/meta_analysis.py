"""
Published meta-analyses of diagnostic tests beside the model of groups.

AUDIT-C (14 studies) and telomerase as a marker of bladder cancer (10 studies), by the bivariate
model in three forms: normal within studies too and fitted by REML, half an example added to every
cell of all studies where one is empty (Reitsma and others; the R package mada); binomial within
studies, by maximum likelihood; and the posterior of `bayescm.direct.hierarchical_groups`.

References
----------
Reitsma, J. B., Glas, A. S., Rutjes, A. W. S., Scholten, R. J. P. M., Bossuyt, P. M. & Zwinderman,
A. H. (2005). Bivariate analysis of sensitivity and specificity produces informative summary
measures in diagnostic reviews. Journal of Clinical Epidemiology 58, 982-990.
doi:10.1016/j.jclinepi.2005.02.022

Glas, A. S., Roos, D., Deutekom, M., Zwinderman, A. H., Bossuyt, P. M. M. & Kurth, K. H. (2003).
Tumor markers in the diagnosis of primary bladder cancer. Journal of Urology 169, 1975-1982.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit, logit

from bayescm import __version__
from bayescm.answers.groups.heterogeneity import shares_beyond_chance
from bayescm.direct import hierarchical_groups
from bayescm.direct.groups.random_effects import Block
from bayescm.studies.tables import Settings, chosen
from bayescm.validate import check_choice, fail

TABLES = ("bivariate",)
CASES = {1: ("AUDIT-C", "mada_auditc", ""), 2: ("telomerase", "bamdit_glas", "Telomerase")}
_COLUMNS = ["sensitivity", "sensitivity_lower", "sensitivity_upper"]
_COLUMNS += ["specificity", "specificity_lower", "specificity_upper"]
_COLUMNS += ["sd_sensitivity", "sd_specificity", "correlation", "i2"]
# The first as the vignette of mada 0.5.12 prints it (its correlation is that with the false
# positive rate, and its I2 has the errors of the means where the variances between studies belong);
# the second by Glas and others (their .74 cannot be: it is below .75).
PUBLISHED = {
    1: (0.891, 0.808, 0.941, 0.780, 0.715, 0.833, 1.175, 0.638, -0.854, 0.404),
    2: (0.75, 0.66, np.nan, 0.86, 0.71, 0.94, np.nan, np.nan, np.nan, np.nan),
}
_NONE, _Z = (np.nan, np.nan), 1.959964


def read(case: int, folder: str | None) -> np.ndarray:
    """Return the studies of a case, shape (G, 2, 2)."""
    _, name, marker = CASES[case]
    places = [Path(folder or ".") / part / f"{name}.csv" for part in ("", "confusion")]
    path = next((each for each in places if each.exists()), None)
    if path is None:
        todo = "pass data= (--data) with its folder; columns TP, FN, FP, TN (and marker)"
        raise fail(f"the data file {name}.csv is missing", folder, "a folder that has it", todo)
    rows = pd.read_csv(path)
    rows = rows[rows["marker"] == marker] if marker else rows
    return rows[["TN", "FP", "FN", "TP"]].to_numpy().reshape(-1, 2, 2)


def reitsma(cells: np.ndarray, *, everywhere: bool = True) -> tuple[np.ndarray, ...]:
    """
    Fit the bivariate normal model by REML.

    Parameters
    ----------
    cells : ndarray, shape (G, 2, 2)
    everywhere : bool, default True
        Add half an example to every study where one has an empty cell, as mada does; else only to
        those that have one.

    Returns
    -------
    means, errors : ndarray, shape (2,)
        Of the logits of sensitivity and specificity.
    between : ndarray, shape (3,)
        Both standard deviations between studies, and the correlation.
    """
    empty = (cells == 0).any((1, 2))
    add = empty.any() if everywhere else empty[:, None, None]
    (tn, fp), (fn, tp) = (cells + 0.5 * add).transpose(1, 2, 0).astype(float)
    y = np.stack([np.log(tp / fn), np.log(tn / fp)], axis=1)
    own = np.stack([1 / tp + 1 / fn, 1 / tn + 1 / fp], axis=1)

    def fitted(point):
        a, b, r = np.exp(point[0]), np.exp(point[1]), np.tanh(point[2])
        between = np.array([[a * a, r * a * b], [r * a * b, b * b]])
        inverse = np.linalg.inv(between + own[:, :, None] * np.eye(2))
        return np.linalg.solve(inverse.sum(0), np.einsum("gij,gj->i", inverse, y)), inverse

    def loss(point):
        middle, inverse = fitted(point)
        off = y - middle
        square = np.einsum("gi,gij,gj->", off, inverse, off)
        logs = np.linalg.slogdet(inverse)[1].sum()
        return square - logs + np.linalg.slogdet(inverse.sum(0))[1]

    point = minimize(loss, [-0.5, -0.5, 0.0], method="Nelder-Mead").x
    middle, inverse = fitted(point)
    error = np.sqrt(np.diag(np.linalg.inv(inverse.sum(0))))
    return middle, error, np.append(np.exp(point[:2]), np.tanh(point[2]))


def likeliest(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the means of the logits, and what is between studies, of the binomial model."""
    (tn, fp), (fn, tp) = np.asarray(cells, float).transpose(1, 2, 0)
    hits, totals = np.stack([tp, tn], axis=1), np.stack([tp + fn, tn + fp], axis=1)
    block = Block(hits, totals, np.full((2, 2), 0.5), 1.0)

    def loss(point):
        return float(-(block.log_posterior(point[None]) - block.log_prior(point[None]))[0])

    options = {"maxiter": 4000, "xatol": 1e-4, "fatol": 1e-5}
    point = minimize(loss, [2, 1.2, 0.2, -0.4, -0.6], method="Nelder-Mead", options=options).x
    return point[:2], np.append(np.exp(point[2:4]), np.tanh(point[4]))


def _i2(cells, means, between):
    return float(shares_beyond_chance(cells, means, between[:2], between[2])[1])


def posterior(cells: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return medians and 95% intervals of both rates, and medians of what is between studies."""
    drawn = hierarchical_groups(cells).variables(20_000, np.random.default_rng(seed))
    rates, spread = drawn["rates"][:, 1:], drawn["spread"][:, 1:]
    rho = 2 * drawn["correlation"] - 1
    _, i2 = shares_beyond_chance(cells, logit(rates), spread, rho)
    ends = np.quantile(rates, [0.5, 0.025, 0.975], axis=0).T.ravel()
    return np.concatenate([ends, np.median(spread, axis=0), [np.median(rho), np.median(i2)]])


def table(name: str, case: int | None, settings: Settings) -> pd.DataFrame:
    """Return the estimates of each case by every method, beside the published ones."""
    check_choice("table", name, list(TABLES))
    rows = []
    for each in chosen(CASES, case):
        cells = read(each, settings.data)
        means, errors, between = reitsma(cells)
        ends = expit([means, means - _Z * errors, means + _Z * errors]).T.ravel()
        likely, spread = likeliest(cells)
        at = expit(likely)
        methods = {
            "published": np.array(PUBLISHED[each]),
            "normal, REML": np.array([*ends, *between, _i2(cells, means, between)]),
            "binomial, likelihood": np.array(
                [at[0], *_NONE, at[1], *_NONE, *spread, _i2(cells, likely, spread)]
            ),
            "posterior": posterior(cells, settings.seed),
        }
        for method, values in methods.items():
            own = {"case": each, "data": CASES[each][0], "studies": len(cells), "method": method}
            rows.append(own | dict(zip(_COLUMNS, values, strict=True)))
    return pd.DataFrame(rows).assign(seed=settings.seed, version=__version__, table=name)
