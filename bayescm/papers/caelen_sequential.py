"""
Algorithm 4 and figure 5 of Caelen (2017): a forest evaluated on 300 batches of 100 examples.

After every batch, the paper computes "10%" intervals of the MCC. It reports that after 150 batches
they contain the true value about 90% of the time, although 10% intervals should contain it 10% of
the time. The published figure is reproduced if the interval refers to the MCC *of the next 100
examples* (Algorithm 1) but is compared with the true MCC. As data accumulate, its centre approaches
the true value, but its width remains the width for 100 examples. This module includes both
intervals.

The true value is computed, not simulated. The predictions of the forest and the class probability
are functions on a square, which are integrated on a grid. Given the cell probabilities, the batches
are multinomial, as in the paper.

References
----------
Caelen, O. (2017). A Bayesian interpretation of the confusion matrix. Annals of Mathematics and
Artificial Intelligence, 81, 429-450. doi:10.1007/s10472-017-9564-8
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import ndtr
from sklearn.ensemble import RandomForestClassifier

from bayescm.distributions import dirichlet
from bayescm.evidence import from_matrix
from bayescm.measures.catalogue import mcc
from bayescm.papers import run_experiment
from bayescm.posteriors import dirichlet_multinomial
from bayescm.simulation import Experiment, Method
from bayescm.validate import check_choice

TABLES = ("figure 5",)
STEPS = (1, 10, 50, 100, 150, 200, 300)  # numbers of batches after which intervals are computed
BATCH = 100
TRAINING = 1000  # number of examples to train the forest
TREES = 100
GRID = 400  # number of grid points per axis, to compare the forest with the truth
DRAWS = 4000


def surface(points: np.ndarray) -> np.ndarray:
    """Return the probability of the positive class at points (n, 2) of the square [0, 3]^2."""
    squares = points**2
    wave = np.sin(squares.sum(axis=1)) + np.cos(squares).sum(axis=1)
    return ndtr(wave - 0.5)


def forest_cells(rng: np.random.Generator, *, trees: int = TREES) -> np.ndarray:
    """Return the cell probabilities of a forest trained on 1,000 examples of equation (9)."""
    points = rng.uniform(0, 3, (TRAINING, 2))
    labels = rng.random(TRAINING) < surface(points)
    seed = int(rng.integers(2**31))
    forest = RandomForestClassifier(trees, max_features="sqrt", random_state=seed)
    forest.fit(points, labels)
    middles = (np.arange(GRID) + 0.5) * 3 / GRID
    grid = np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2)
    predicted, positive = forest.predict(grid), surface(grid)
    shares = np.stack([1 - positive, positive])
    return np.stack([(shares * ~predicted).mean(axis=1), (shares * predicted).mean(axis=1)], axis=1)


def batches(rng: np.random.Generator) -> tuple[xr.DataArray, Mapping[str, float]]:
    """Return the evidence after selected numbers of batches, and the true MCC for each."""
    cells = forest_cells(rng)
    sums = rng.multinomial(BATCH, cells.ravel(), max(STEPS)).cumsum(axis=0)
    tables = sums[np.array(STEPS) - 1].reshape(-1, 2, 2)
    counts = from_matrix(tables, labels=[0, 1], dims=("step",)).assign_coords(step=list(STEPS))
    return counts, {_measure_after(step): float(mcc(cells)) for step in STEPS}


def _measure_after(step):
    return f"mcc after {step}"


def of_the_truth(
    counts: xr.DataArray, *, prob: float, concentration: float
) -> Mapping[str, np.ndarray]:
    """Return equal-tailed posterior intervals of the true MCC (NaN for improper posteriors)."""
    ends = {}
    for step, cells in zip(counts["step"].values, counts.values, strict=True):
        ends[_measure_after(step)] = np.full(2, np.nan)
        if (cells + concentration > 0).all():
            posterior = dirichlet_multinomial(cells, concentration=concentration)
            ends[_measure_after(step)] = posterior.distribution(mcc).eti(prob)
    return ends


def of_the_next_100(counts: xr.DataArray, *, prob: float, kind: str) -> Mapping[str, np.ndarray]:
    """Return intervals of the MCC of the next 100 examples from draws, as in Algorithm 1."""
    rng = np.random.default_rng(counts.values.ravel().tolist())
    size = DRAWS if kind == "eti" else 1000
    return {
        _measure_after(step): _predictive_interval(cells, size, prob, kind, rng)
        for step, cells in zip(counts["step"].values, counts.values, strict=True)
    }


def _predictive_interval(cells, size, prob, kind, rng):
    if not cells.all():
        return np.full(2, np.nan)
    theta = dirichlet.draw(cells.astype(float), size, rng, axes=2).reshape(size, 4)
    tables = rng.multinomial(BATCH, theta / theta.sum(-1, keepdims=True)).reshape(size, 2, 2)
    values = mcc(tables)
    values = np.sort(values[~np.isnan(values)])
    if kind == "eti":
        return np.quantile(values, [(1 - prob) / 2, (1 + prob) / 2])
    inside = int(np.ceil(prob * len(values)))
    start = np.argmin(values[inside - 1 :] - values[: len(values) - inside + 1])
    return values[[start, start + inside - 1]]


METHODS: dict[str, Method] = {
    "10 % of the truth, Haldane": partial(of_the_truth, prob=0.1, concentration=0.0),
    "10 % of the truth": partial(of_the_truth, prob=0.1, concentration=0.5),
    "95 % of the truth": partial(of_the_truth, prob=0.95, concentration=0.5),
    "10 % of the next 100, equal tails": partial(of_the_next_100, prob=0.1, kind="eti"),
    "10 % of the next 100, shortest of 1000": partial(of_the_next_100, prob=0.1, kind="hdi"),
}
EXPERIMENT = Experiment("caelen-sequential", {1: ()}, batches, METHODS)


def table(
    name: str = "figure 5", case: int | None = None, *, data: str | None = None, **options: Any
) -> pd.DataFrame:
    """
    Return how often each interval contains the true MCC after 1 to 300 batches.

    Parameters
    ----------
    name : {"figure 5"}
    case : int, optional
        The only case is 1.
    data : None
        Not used, because the experiment needs no data files.
    **options
        ``replications``, ``seed``, ``jobs``, ``journal`` and ``progress`` of
        `bayescm.simulation.Experiment.run`.

    Returns
    -------
    pandas.DataFrame
        Table with ``batches`` and, if the paper states it, ``published_doc``.
    """
    check_choice("table", name, list(TABLES))
    frame = run_experiment(EXPERIMENT, case, **options)
    frame.insert(1, "batches", frame["measure"].str.removeprefix("mcc after ").astype(int))
    printed = frame["method"].str.contains("next 100") & (frame["batches"] >= 150)
    frame["published_doc"] = np.where(printed, 0.9, np.nan)
    return frame
