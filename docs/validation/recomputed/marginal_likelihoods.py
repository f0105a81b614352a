"""
Marginal likelihoods by bridge sampling of the PyMC models, compared with the direct posteriors.

All models with a `log_marginal_likelihood` of the direct posterior are sampled by NUTS. The direct
posteriors compute it in closed form or by quadrature. A further model is a multinomial distribution
of three classes with a correlated logistic-normal prior of the cells. Its marginal likelihood is
estimated by importance sampling from a multivariate t distribution at the mode. There is a row for
each model and seed. There are four chains, with as many draws as replications, but at least 500.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from scipy import optimize, special, stats

import bayescm as bcm
from bayescm.answers.evidence_for import by_bridge_sampling
from bayescm.simulation import Repeated, Replications
from validation.recomputed import Figure, rows

CHAINS, FEWEST_DRAWS, SEEDS = 4, 500, 2
IMPORTANCE_DRAWS = 400_000

# Evidence


def two_classes() -> xr.DataArray:
    """Return a table of two classes with an empty cell."""
    return bcm.from_matrix([[40, 0], [7, 23]], labels=["well", "sick"], positive="sick")


def folds() -> xr.DataArray:
    """Return five folds of three classes."""
    rng = np.random.default_rng(11)
    return bcm.from_matrix(rng.integers(0, 7, (5, 3, 3)), dims=("fold",))


def steps() -> xr.DataArray:
    """Return four batches of an online evaluation."""
    tables = [[[30, 5], [6, 41]], [[25, 9], [7, 38]], [[28, 8], [11, 33]], [[20, 15], [9, 36]]]
    return bcm.from_matrix(tables, labels=["well", "sick"], positive="sick", dims=("step",))


def classifiers() -> xr.Dataset:
    """Return two classifiers on the same examples."""
    rng = np.random.default_rng(12)
    actual = rng.integers(0, 2, 60)
    predicted = {name: np.where(rng.random(60) < 0.8, actual, 1 - actual) for name in "ab"}
    return bcm.from_classifiers(actual, predicted, positive=1)


def partly_labelled() -> Any:
    """Return predictions for 80 examples, 30 of them labelled."""
    rng = np.random.default_rng(13)
    actual = rng.integers(0, 2, 80)
    predicted, judge = (np.where(rng.random(80) < rate, actual, 1 - actual) for rate in (0.8, 0.9))
    labels = np.where(np.arange(80) < 30, actual.astype(object), None)
    return bcm.from_partly_labelled(labels, predicted, judge=judge)


def scores() -> xr.Dataset:
    """Return the scores of 25 examples."""
    rng = np.random.default_rng(14)
    actual = rng.integers(0, 2, 25)
    return bcm.from_scores(actual, np.round(rng.normal(actual, 1), 2))


def item_scores() -> xr.Dataset:
    """Return the scores of twelve items."""
    rng = np.random.default_rng(15)
    return bcm.from_item_scores(np.round(rng.beta(3, 2, 12), 2), range=(0, 1))


def multilabel() -> xr.Dataset:
    """Return nine examples with three labels."""
    rng = np.random.default_rng(16)
    return bcm.from_multilabel(*(rng.random((2, 9, 3)) < 0.5))


def weighted() -> xr.DataArray:
    """Return a table of examples with importance weights."""
    rng = np.random.default_rng(17)
    actual = rng.integers(0, 2, 70)
    predicted = np.where(rng.random(70) < 0.8, actual, 1 - actual)
    weights = rng.lognormal(size=70)
    return bcm.from_predictions(actual, predicted, weights=weights, weights_are="importance")


MODELS: dict[str, tuple[Callable, dict[str, Any]]] = {
    "dirichlet_multinomial": (two_classes, {}),
    "fixed_totals": (two_classes, {"concentration": 0.7}),
    "pooled_folds": (folds, {"omega": 1.0}),
    "averaged_folds": (folds, {}),
    "paired_outcomes": (classifiers, {}),
    "partly_labelled": (partly_labelled, {}),
    "drifting": (steps, {}),
    "scores": (scores, {}),
    "binormal": (scores, {}),
    "importance_weighted": (weighted, {}),
    "item_scores": (item_scores, {}),
    "multilabel": (multilabel, {}),
}
LOGISTIC_NORMAL = "logistic-normal cells"

# The logistic-normal prior

TABLE = np.array([[9, 1, 0], [2, 7, 3], [0, 0, 5]])
COVARIANCE = 1.5**2 * (0.5 * np.eye(9) + 0.5)


def logistic_normal() -> pm.Model:
    """Return a multinomial distribution of nine cells with a correlated logistic-normal prior."""
    with pm.Model() as model:
        logit = pm.MvNormal("logit", np.zeros(9), cov=COVARIANCE, shape=9)
        pm.Multinomial("cells", TABLE.sum(), pm.math.softmax(logit), observed=TABLE.ravel())
    return model


def by_importance_sampling(rng: np.random.Generator) -> Figure:
    """Return the log marginal likelihood of `logistic_normal`."""
    cells = TABLE.ravel()
    ways = special.gammaln(cells.sum() + 1) - special.gammaln(cells + 1).sum()
    prior = stats.multivariate_normal(np.zeros(9), COVARIANCE)

    def log_joint(logit):
        return prior.logpdf(logit) + ways + special.log_softmax(logit, -1) @ cells

    mode = optimize.minimize(lambda logit: -log_joint(logit), np.zeros(9)).x
    theta = special.softmax(mode)
    curvature = cells.sum() * (np.diag(theta) - np.outer(theta, theta))
    spread = np.linalg.inv(np.linalg.inv(COVARIANCE) + curvature)
    proposal = stats.multivariate_t(mode, 1.2 * spread, df=5, seed=rng)
    drawn = proposal.rvs(IMPORTANCE_DRAWS)
    logs = log_joint(drawn) - proposal.logpdf(drawn)
    weights = np.exp(logs - logs.max())
    error = weights.std() / weights.mean() / np.sqrt(len(weights))
    return Figure(float(np.log(weights.mean()) + logs.max()), float(error))


def table_rows(replications: Replications, model: str) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every seed."""
    if model == LOGISTIC_NORMAL:
        known, sampled = by_importance_sampling(replications.generator(1)), logistic_normal()
    else:
        make, keywords = MODELS[model]
        evidence = make()
        posterior = getattr(bcm.posteriors, model)(evidence, **keywords)
        known = Figure(float(np.sum(posterior.log_marginal_likelihood())))
        sampled = getattr(bcm.models, model)(evidence, **keywords)
    draws = max(replications.number, FEWEST_DRAWS)
    for index in range(SEEDS):
        seed = int(replications.generator(2, index).integers(2**31))
        options = {"draws": draws, "chains": CHAINS, "random_seed": seed}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a few draws diverge if a cell is empty
            value, error, _ = by_bridge_sampling(model, sampled, **options)
        found = Figure(float(value), error)
        answer = f"seed {seed}"
        yield from rows("log marginal likelihood", {answer: known}, {answer: found})


EXPERIMENTS = [
    Repeated(
        "recomputed",
        {case: (model,) for case, model in enumerate([*MODELS, LOGISTIC_NORMAL], start=1)},
        table_rows,
        columns=["model"],
        table="marginal_likelihoods",
    )
]
