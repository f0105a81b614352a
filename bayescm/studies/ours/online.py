"""
What the intervals of an online evaluation cover, batch after batch.

``truth from the prior``
    The truth is drawn from the prior that the intervals take; they cover what they say after any
    number of batches.
``fixed truth``
    The truth is a fixed point and the prior the default one. After one small batch no interval that
    depends on counts alone can cover what it says at every point; after many it nearly does.
``drift``
    The truth moves from batch to batch: as the model `drifting` says, or as it does not (not at
    all, in one jump, with the seasons, in steps four times as large as its prior expects). The
    filtered posterior of each batch is judged against the recall of that batch, beside what forgets
    at a fixed rate and what forgets nothing.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from bayescm.evidence import from_cells, from_matrix
from bayescm.measures.catalogue import resolve
from bayescm.online.series import history
from bayescm.online.updating import intervals
from bayescm.priors import elicit
from bayescm.simulation.coverage import Method, Study
from bayescm.studies.tables import Settings, chosen, run_cases
from bayescm.validate import check_choice

TABLES = ("truth from the prior", "fixed truth", "drift")
MEASURES = ("precision", "recall", "specificity", "accuracy", "f1")
BATCHES, BATCH = (1, 10, 100), 20
STEPS, POSITIVES = 40, 60
SEEN = (1, 5, 10, 20, 21, 25, 30, 40)  # the jump is between 20 and 21
EXPERTS = elicit(precision=0.7, recall=0.75, accuracy=0.8, weight=12)
TRUTHS = {
    "ordinary": ((0.40, 0.10), (0.10, 0.40)),
    "good": ((0.48, 0.02), (0.02, 0.48)),
    "rare": ((0.89, 0.01), (0.02, 0.08)),
}
PRIORS = {"elicited, worth 12": EXPERTS.values, "default": np.full((2, 2), 0.5)}
DRIFT = 0.2


def batches(rng: np.random.Generator, *, theta: np.ndarray | None, prior: np.ndarray):
    """Return the evidence after 1, 10 and 100 batches of 20, and the truth of every measure."""
    if theta is None:
        theta = rng.dirichlet(prior.ravel()).reshape(2, 2)
    drawn = rng.multinomial(BATCH, np.ravel(theta), max(BATCHES)).cumsum(axis=0)
    tables = drawn[np.array(BATCHES) - 1].reshape(-1, 2, 2)
    labels = ["negative", "positive"]
    counts = from_matrix(tables, labels=labels, positive=labels[1], dims=("step",))
    truth = {name: float(resolve(name)(np.asarray(theta))) for name in MEASURES}
    return counts, {f"{name} after {n}": truth[name] for name in MEASURES for n in BATCHES}


def ends(counts: xr.DataArray, *, prob: float, prior: np.ndarray) -> Mapping[str, np.ndarray]:
    """Return equal-tailed intervals of every measure after 1, 10 and 100 batches."""
    weights = xr.DataArray(prior, dims=("actual", "predicted"))
    state = xr.Dataset({"counts": counts, "concentration": weights})
    found = intervals(state, MEASURES, prob=prob, kind="eti")
    return {
        f"{name} after {n}": found[name].values[place]
        for name in MEASURES
        for place, n in enumerate(BATCHES)
    }


def _as_said(rng):
    drift = abs(rng.normal(0, DRIFT))
    start = special.logit(rng.beta(4, 1))
    return start + np.cumsum(np.r_[0, rng.normal(0, drift, STEPS - 1)])


def _still(rng):
    return np.full(STEPS, special.logit(rng.beta(4, 1)))


def _jump(_):
    return special.logit(np.repeat([0.9, 0.7], STEPS // 2))


def _seasons(rng):
    return special.logit(0.85) + 0.5 * np.sin(np.arange(STEPS) * np.pi / 6 + rng.uniform(0, 6.3))


def _fast(rng):
    return special.logit(0.85) + np.cumsum(np.r_[0, rng.normal(0, 4 * DRIFT, STEPS - 1)])


PATHS: dict[str, Callable] = {
    "walks as the model says": _as_said,
    "stands still": _still,
    "jumps once, .9 to .7": _jump,
    "has seasons of 12 batches": _seasons,
    "walks in steps of .8": _fast,
}


def moving(rng: np.random.Generator, *, path: Callable):
    """Return 40 batches of 60 positives whose recall moves, and the recall at some of them."""
    recall = special.expit(path(rng))
    tp, tn = rng.binomial(POSITIVES, recall), rng.binomial(POSITIVES, 0.9, STEPS)
    counts = from_cells(tp=tp, fn=POSITIVES - tp, fp=POSITIVES - tn, tn=tn).rename(batch="step")
    return counts, {f"recall at {step}": float(recall[step - 1]) for step in SEEN}


def walked(counts: xr.DataArray, *, filtered: bool) -> Mapping[str, np.ndarray]:
    """Return 95% intervals of recall by the model `drifting`."""
    from bayescm.direct import drifting

    prior = np.array([[0.5, 0.5], [1.0, 4.0]])
    distribution = drifting(counts.values, concentration=prior, filtered=filtered).distribution(
        resolve("recall")
    )
    assert distribution is not None  # recall is one of the walks
    return _at_steps(distribution.eti(0.95))


def weighed(counts: xr.DataArray, **remembered: Any) -> Mapping[str, np.ndarray]:
    """Return 95% intervals of recall by conjugate updates with a window or forgetting."""
    prior = np.array([[0.5, 0.5], [1.0, 4.0]])
    found = history(counts, "recall", concentration=prior, kind="eti", **remembered)
    return _at_steps(found["recall"].values)


def _at_steps(values):
    return {f"recall at {step}": values[step - 1] for step in SEEN}


MOVING: dict[str, Method] = {
    "drifting, filtered": partial(walked, filtered=True),
    "forgetting .9": partial(weighed, forgetting=0.9),
    "window of 10": partial(weighed, window=10),
    "all batches pooled": weighed,
}


def studies(name: str) -> dict[int, Study]:
    """
    Return the cases of a table.

    Examples
    --------
    >>> [case.name for case in studies("fixed truth").values()][0]
    'fixed truth: ordinary'
    """
    if name == "drift":
        return {
            case: Study(f"drift: recall {said}", partial(moving, path=path), MOVING)
            for case, (said, path) in enumerate(PATHS.items(), start=1)
        }
    fixed, flat = name == "fixed truth", np.full((2, 2), 0.5)
    points = {said: (np.array(theta), flat) for said, theta in TRUTHS.items()}
    chosen: dict = points if fixed else {said: (None, prior) for said, prior in PRIORS.items()}
    return {
        case: Study(
            f"{name}: {said}",
            partial(batches, theta=theta, prior=prior),
            {f"{prob:.0%}": partial(ends, prob=prob, prior=prior) for prob in (0.1, 0.5, 0.95)},
        )
        for case, (said, (theta, prior)) in enumerate(chosen.items(), start=1)
    }


def table(
    name: str = "drift", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return what the intervals of a table cover.

    Parameters
    ----------
    name : {"truth from the prior", "fixed truth", "drift"}
    case : int, optional
        One case; all by default.
    settings : Settings, optional
        How much is simulated, and where.

    Returns
    -------
    pandas.DataFrame
        As `bayescm.simulation.coverage.run` returns it, one row for each case, measure and method.
    """
    check_choice("table", name, list(TABLES))
    cases = studies(name)
    wanted = {each: cases[each] for each in chosen(cases, case)}
    frame = run_cases(0, wanted, settings or Settings())
    return frame.assign(table=name)
