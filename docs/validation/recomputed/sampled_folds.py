"""
Cross-validation: the PyMC models of folds, sampled by NUTS, compared with the direct posteriors.

The folds are those of `validation.recomputed.folds`: sonar, Haberman's survival and contraceptive
method choice. They are used with naive Bayes (`hierarchical_folds`), and with naive Bayes and a
tree on the same folds (`paired_folds`). Four chains are run. Measures are computed from the sampled
cell probabilities: expected measures over training sets, means over the observed folds, and
differences between two classifiers. The means, standard deviations and 95% limits are compared,
relative to the combined Monte Carlo errors of the chains and of the package. The error of a mean is
at most the error of the limits; half of the latter is used.

A row also has the largest split R-hat of the compared values, and the number of divergences. The
number of draws per chain is the number of replications, but at least one hundred, after half as
many tuning steps.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import arviz as az
import numpy as np
import pymc as pm

import bayescm as bcm
from bayescm.simulation import Repeated, Replications
from validation.recomputed import TAILS, Figure, rows, summarised
from validation.recomputed.folds import PAIRS
from validation.recomputed.partly_labelled import MANY_CLASSES, PACKAGE_DRAWS, TWO_CLASSES

CHAINS, TARGET, FEWEST_DRAWS = 4, 0.95, 100
CASES = dict(
    enumerate(
        [(model, table) for model in ("hierarchical_folds", "paired_folds") for table in PAIRS],
        start=1,
    )
)
FOLD_VARIABLES = {"parameter": "theta_expected", "finite": "theta_fold"}


def sampled(model: pm.Model, draws: int, seed: int) -> Any:
    """Return a tree with the draws of four chains."""
    with model:
        return pm.sample(
            draws,
            tune=draws // 2,
            chains=CHAINS,
            cores=1,
            target_accept=TARGET,
            random_seed=seed,
            progressbar=False,
        )


def chain_figures(values: np.ndarray) -> dict[str, Figure]:
    """Return the mean, sd and limits of chains (chain, draw), with Monte Carlo errors."""
    figures = {
        "mean": Figure(values.mean(), float(az.mcse(values, method="mean"))),
        "sd": Figure(values.std(), float(az.mcse(values, method="sd"))),
    }
    for name, prob in TAILS.items():
        error = float(az.mcse(values, method="quantile", prob=prob))
        figures[name] = Figure(np.quantile(values, prob), error)
    return figures


def measures_of(table: str) -> dict[str, Callable]:
    """Return the measures of a table, without those that are fixed by stratification."""
    measures = TWO_CLASSES if PAIRS[table].shape[1] == 2 else MANY_CLASSES
    return {name: measures[name] for name in measures if name not in ("prevalence", "lift")}


def of_folds(table: str, draws: int, seed: int) -> Iterator[tuple[str, str, dict, np.ndarray, Any]]:
    """Yield the estimand, measure, package's figures, values of the chains, and their tree."""
    measures = measures_of(table)
    labels = {"positive": 1} if PAIRS[table].shape[1] == 2 else {}
    counts = bcm.from_matrix(PAIRS[table].sum(-1), dims=("fold",), **labels)
    tree = sampled(bcm.models.hierarchical_folds(counts), draws, seed)
    for of, variable in FOLD_VARIABLES.items():
        theta = tree["posterior"][variable].values
        answers = bcm.summary(counts, list(measures), of=of, kind="eti").set_index("measure")
        for measure, function in measures.items():
            row = answers.loc[measure]
            package = {key: Figure(row[key], row["error"]) for key in TAILS}
            package |= {key: Figure(row[key], row["error"] / 2) for key in ("mean", "sd")}
            yield of, measure, package, function(theta).mean(-1), tree


def of_pairs(table: str, draws: int, seed: int) -> Iterator[tuple[str, str, dict, np.ndarray, Any]]:
    """Yield the same as `of_folds`, for differences between two classifiers."""
    folds, measures = PAIRS[table], measures_of(table)
    labels = {"positive": 1} if folds.shape[1] == 2 else {}
    cells = np.argwhere(folds)
    fold, actual, one, two = np.repeat(cells, folds[tuple(cells.T)], axis=0).T
    answers = {"bayes": one, "tree": two}
    evidence = bcm.from_classifiers(actual, answers, by={"fold": fold}, **labels)
    tree = sampled(bcm.models.paired_folds(evidence), draws, seed)
    theta = tree["posterior"]["theta"].values
    options: dict[str, Any] = {"model": "paired_folds", "kind": "eti", "draws": PACKAGE_DRAWS}
    frame = bcm.compare(evidence, list(measures), **options).set_index("measure")
    for measure, function in measures.items():
        values = function(theta)
        difference = values[..., 0] - values[..., 1]
        # The package has independent draws, so errors are rescaled from the effective sample size.
        scale = np.sqrt(float(az.ess(difference)) / PACKAGE_DRAWS)
        package = {
            key: Figure(frame.loc[measure, key], own.error * scale)
            for key, own in chain_figures(difference).items()
            if key in frame
        }
        yield "difference", measure, package, difference, tree


def table_rows(replications: Replications, model: str, table: str) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every estimand and figure, such as the lower limit, over all measures."""
    seed = int(replications.generator().integers(2**31))
    ask = of_folds if model == "hierarchical_folds" else of_pairs
    compared, r_hat, divergences = [], [], 0
    for of, measure, package, values, tree in ask(
        table, max(replications.number, FEWEST_DRAWS), seed
    ):
        own = chain_figures(values)
        for key, figure in package.items():
            compared += rows(f"{key}, {of}", {measure: figure}, {measure: own[key]})
        r_hat.append(float(az.rhat(values)))
        divergences = int(tree["sample_stats"]["diverging"].sum())
    for row in summarised(compared):
        yield {**row, "r_hat": max(r_hat), "divergences": divergences}


EXPERIMENTS = [
    Repeated("recomputed", CASES, table_rows, columns=["model", "table"], table="sampled_folds")
]
