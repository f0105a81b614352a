"""
Sample size planning from a pilot, for any type of evidence.

The examples or items of the pilot are resampled in unknown proportions
(`bayescm.evidence.resampling`), and the interval of the default model is computed for each test
set. If the pilot contains several systems, the plan is for the differences between them.
"""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from bayescm.evidence.attempts import ATTEMPTS
from bayescm.evidence.item_scores import ITEM_SCORES
from bayescm.evidence.raters import RATINGS
from bayescm.evidence.registry import type_of
from bayescm.measures.labelled import of_variable
from bayescm.planning import attempts
from bayescm.planning.item_scores import plan_item_scores
from bayescm.planning.search import plan_table, size_error, size_for_width
from bayescm.validate import check_seed, check_whole, fail

# Numbers of test sets simulated at each size, for intervals that take about 50 ms and for slower
# ones.
_SETS = 100
_SLOW_SETS = {ATTEMPTS.name: 20, RATINGS.name: 20}
_FEWEST = 10  # minimum number of examples or items of a pilot
# A warning is issued if the relative error of a size exceeds this.
_LARGE_ERROR = 0.5
# If a size is within this relative distance, its widths are scaled as 1 / sqrt(n).
_NEAR = 0.1
_SLOW_NEAR = 0.3  # this distance for slow types of evidence


def plan_like(
    pilot: Any,
    measure: str | Callable,
    *,
    width: float,
    assurance: float,
    prob: float,
    kind: str,
    replications: int | None,
    random_seed: int,
) -> pd.DataFrame:
    """
    Return the size of a test set that is similar to a pilot. See `bayescm.plan`.

    Parameters have the same meaning as in `bayescm.plan`.
    """
    entry = type_of(pilot)
    if entry.resample is None:
        raise fail(
            f"A size cannot be planned for evidence of type {entry.name}, because "
            f"its number of {entry.unit} is not a choice",
            ...,
            "",
            "pass evidence of examples or items",
        )
    pilot = entry.canonical(pilot)
    sets = _SLOW_SETS.get(entry.name, _SETS) if replications is None else replications
    check_whole("replications", sets, 20, "test sets", _SETS)
    asked: dict[str, Any] = {"prob": prob, "kind": kind, "random_seed": random_seed}
    if entry is ITEM_SCORES and _is_mean(measure):
        asked["replications"] = max(sets, 100)
        return plan_item_scores(pilot, width=width, assurance=assurance, **asked)
    number, unit = entry.size(pilot), entry.unit
    if number < _FEWEST:
        raise fail(
            f"The pilot has only {number} {unit}; a plan needs at least {_FEWEST}",
            ...,
            "",
            f"collect more {unit}",
        )
    by_items = entry is ATTEMPTS and not _names(pilot)
    if not by_items:
        # Raises an error if the pilot has parts, e.g. folds.
        entry.resample(pilot, _FEWEST, np.random.default_rng(0))
    present = _differences if _names(pilot) else _of_one
    name, widths = present(pilot, measure, prob=prob, kind=kind)
    if by_items:
        n_attempts, simulate = attempts.simulated_widths(pilot, measure, replications=sets, **asked)
        unit = f"items, with {n_attempts} attempts at each"
    else:
        simulate = _simulator(pilot, measure, sets, **asked)
        if "unlabelled" in pilot.coords:
            labelled = 1 - float(pilot["unlabelled"].sum()) / number
            unit = f"examples, {100 * labelled:.3g}% of them labelled"
    simulate = cache(simulate)
    start = int(np.clip(number * (widths.max() / width) ** 2, _FEWEST, 100 * number))
    near = _SLOW_NEAR if entry.name in _SLOW_SETS else _NEAR
    n = size_for_width(simulate, width, assurance, start=start, tolerance=near, least=_FEWEST)
    widths = simulate(n)
    quantile = np.quantile(widths, assurance, method="higher")
    size = max(_FEWEST, int(np.ceil(n * (quantile / width) ** 2)))
    reached = float(np.mean(widths <= quantile))
    goal = f"{prob:.4g} {kind} at most {width:.4g} wide"
    if len(_names(pilot)) > 2:
        goal = f"{prob:.4g} {kind} of every difference at most {width:.4g} wide"
    how, error = f"{sets} simulated test sets", size_error(size, widths, assurance)
    if error > _LARGE_ERROR * size:
        warnings.warn(
            f"The size {size:,} has a Monte Carlo error of {error:,.0f}, because the "
            f"simulated intervals differ much in width. Pass replications={5 * sets} or a "
            "larger pilot.",
            UserWarning,
            stacklevel=4,
        )
    return plan_table(name, goal, reached, size, unit, error, how)


def _is_mean(measure):
    """Check whether a measure of item scores is their mean."""
    (resolved,) = of_variable(measure, ITEM_SCORES.measured_variable or "")
    return getattr(resolved.form, "kind", None) == "mean"


def _names(pilot):
    """Return the names of the systems of a pilot (empty for a single system)."""
    return pilot["classifier"].values.tolist() if "classifier" in pilot.dims else []


def _simulator(pilot, measure, sets, *, prob, kind, random_seed):
    """Return the function from n to the widths (R,), the largest per set if there are several."""
    resample: Any = type_of(pilot).resample
    present = _differences if _names(pilot) else _of_one

    def simulate(n: int) -> np.ndarray:
        rng = np.random.default_rng(check_seed(random_seed))
        widths = np.full(sets, np.nan)
        for index in range(sets):
            drawn = resample(pilot, n, rng)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # raised for small test sets
                try:
                    widths[index] = present(drawn, measure, prob=prob, kind=kind)[1].max()
                except ValueError:
                    continue  # the measure is undefined, e.g. recall without positives
        if np.isnan(widths).all():
            todo = "pass a larger pilot"
            raise fail(
                f"{{}} is undefined in every simulated test set of size {n}", measure, "", todo
            )
        # An undefined interval is not narrow enough.
        return np.where(np.isnan(widths), 2 * np.nanmax(widths), widths)

    return simulate


def _of_one(evidence, measure, *, prob, kind):
    """Return the name of a measure and the width of its interval."""
    from bayescm.answers.interval import interval

    bounds = interval(evidence, measure, prob=prob, kind=kind)
    if "class" in bounds.dims:
        raise fail(
            f"{bounds.name} has one value per class; a plan needs one number",
            ...,
            "",
            f"use e.g. {bounds.name}_macro",
        )
    return bounds.name, np.ravel(bounds.sel(bound="upper") - bounds.sel(bound="lower"))


def _differences(evidence, measure, *, prob, kind):
    """Return the name of a difference and the interval widths of all pairs."""
    from bayescm.answers.compare import compare

    table = compare(evidence, measure, prob=prob, kind=kind)
    name = table["measure"].iloc[0]
    if "class" in table:
        raise fail(
            f"{name} has one value per class; a plan needs one number",
            ...,
            "",
            f"use e.g. {name}_macro",
        )
    return f"difference of {name}", (table["upper"] - table["lower"]).to_numpy(float)
