"""
Cross-validations by NUTS: the models of folds, sampled by PyMC, beside their direct posteriors.

The folds are those of `validation.recomputed.folds`: sonar, Haberman's survival and contraceptive
method choice, of naive Bayes (`hierarchical_folds`), and of naive Bayes and a tree on the same
folds (`paired_folds`). Four chains of the PyMC model are run, and measures are computed from the
cell probabilities that they draw: expected over training sets, the mean over the folds at hand, and
differences of two classifiers. Mean, standard deviation and both 95 % limits are compared, in
Monte Carlo errors of the chains and of the package's own points or draws together. The error of a
mean is that of limits at most, and half of it is taken.

A row also has the largest split R-hat of the values that are compared, and the number of
divergences. As many draws of each chain are made as there are replications, a hundred at least,
after half as many steps to tune it.
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
    """Return the tree of four chains."""
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
    """Return mean, standard deviation and limits of chains (chain, draw), with their errors."""
    figures = {
        "mean": Figure(values.mean(), float(az.mcse(values, method="mean"))),
        "sd": Figure(values.std(), float(az.mcse(values, method="sd"))),
    }
    for name, prob in TAILS.items():
        error = float(az.mcse(values, method="quantile", prob=prob))
        figures[name] = Figure(np.quantile(values, prob), error)
    return figures


def measures_of(table: str) -> dict[str, Callable]:
    """Return the measures of the classes of a table; what stratification fixes is left out."""
    measures = TWO_CLASSES if PAIRS[table].shape[1] == 2 else MANY_CLASSES
    return {name: measures[name] for name in measures if name not in ("prevalence", "lift")}


def of_folds(table: str, draws: int, seed: int) -> Iterator[tuple[str, str, dict, np.ndarray, Any]]:
    """Yield estimand, measure, the package's figures, the values of the chains, and their tree."""
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
    """Yield the same of differences of two classifiers."""
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
        # Independent draws: fewer or more than those of the chains are worth.
        scale = np.sqrt(float(az.ess(difference)) / PACKAGE_DRAWS)
        package = {
            key: Figure(frame.loc[measure, key], own.error * scale)
            for key, own in chain_figures(difference).items()
            if key in frame
        }
        yield "difference", measure, package, difference, tree


def table_rows(replications: Replications, model: str, table: str) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every estimand and figure, such as the lower limits of all measures."""
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
