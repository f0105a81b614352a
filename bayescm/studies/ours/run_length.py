"""
How long the alarms of an online evaluation keep quiet, and how soon they see a drop.

Batches of positives and negatives, half of each, with a given recall and a specificity of 0.9.
Without a change every alarm is a false one; the table has the share of series that raise any within
the run, and how often the first one comes. With a change the recall falls at one batch, and the
table has the median wait for an alarm after it. A second table has healthy streams of several kinds
over 1,000 batches, judged by the default rules, and by floors that they meet by little.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm import __version__
from bayescm.evidence import from_cells
from bayescm.measures.defaults import WATCHED
from bayescm.online.rules import RULES, alarms
from bayescm.studies.tables import Settings, chosen
from bayescm.validate import check_choice

TABLES = ("alarms", "healthy")
CASES = {1: 0.9, 2: 0.85, 3: 0.8, 4: 0.7}
RATES, QUIET, LONG = (0.05, 0.005), 200, 1000
# Healthy: examples of a batch, prevalence, recall, specificity, and rules beside the default.
HEALTHY: dict[int, tuple[int, float, float, float, dict[str, Any]]] = {
    1: (100, 0.5, 0.9, 0.9, {}),
    2: (20, 0.5, 0.8, 0.9, {}),
    3: (1000, 0.1, 0.7, 0.95, {}),
    4: (200, 0.02, 0.8, 0.99, {}),
    5: (100, 0.5, 0.81, 0.9, {"floor": {"recall": 0.8}}),
    6: (100, 0.5, 0.8, 0.9, {"floor": {"recall": 0.8}}),
    7: (100, 0.5, 0.9, 0.9, {"floor": {"recall": 0.85, "f1": 0.85}}),
}


def series(
    rng: np.random.Generator, recall: np.ndarray, *, size: int = 100, specificity: float = 0.9
) -> xr.DataArray:
    """
    Draw batches.

    Parameters
    ----------
    rng : numpy.random.Generator
    recall : ndarray, shape (T,)
        Recall at every step.
    size : int, default 100
        Examples of a batch, half of them positive.
    specificity : float, default 0.9

    Returns
    -------
    DataArray, dims (step, actual, predicted)
    """
    half = size // 2
    tp, tn = rng.binomial(half, recall), rng.binomial(half, specificity, len(recall))
    counts = from_cells(tp=tp, fn=half - tp, fp=half - tn, tn=tn).rename(batch="step")
    return counts.assign_coords(step=np.arange(len(recall)))


def first_alarms(counts: xr.DataArray, after: int, settings: Mapping[str, Any]) -> dict[str, float]:
    """Return the step of the first alarm of every rule from a step on, NaN where there is none."""
    found = alarms(counts, ["recall"], **settings)
    first = found[found["step"] >= after].groupby("rule")["step"].min()
    return {rule: float(first.get(rule, np.nan)) for rule in RULES}


def table(
    name: str = "alarms", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Simulate series without a change and with drops of recall, and time the alarms.

    Parameters
    ----------
    name : {"alarms", "healthy"}
    case : int, optional
        Of "alarms", 1 has no change, 2 to 4 a drop of recall from 0.9 to 0.85, 0.8 and 0.7; of
        "healthy", one kind of stream. All by default.
    settings : Settings, optional
        How many series of each kind, and the seed.

    Returns
    -------
    DataFrame
        One row per rule, rate and recall after the drop (0.9: none): ``alarmed``, the share of
        series with an alarm within 200 batches of their start or within 50 of the drop; ``median``,
        the median number of batches to the first one (infinite where fewer than half have one);
        ``run_length``, batches seen per first alarm (infinite where there was none). Rules that are
        listed where they begin have no alarm after the drop if they were on before it. Of
        "healthy" one row per kind of stream: ``alarmed`` by any rule, and by each of them.
    """
    check_choice("table", name, list(TABLES))
    cases: Mapping[int, Any] = CASES if name == "alarms" else HEALTHY
    wanted = chosen(cases, case)
    settings = settings or Settings()
    if name == "healthy":
        return pd.DataFrame([_healthy(each, settings) for each in wanted])
    parts = [_times(each, CASES[each], rate, settings) for each in wanted for rate in RATES]
    return pd.DataFrame([row for part in parts for row in part])


def _times(case, recall, rate, settings):
    """Return a row for every rule."""
    path = np.full(QUIET, 0.9) if case == 1 else np.repeat([0.9, recall], [50, 50])
    start, size = (0 if case == 1 else 50), 100
    alarmed = {"rate": rate, "floor": 0.8, "reference": 20}
    stream = np.random.default_rng(np.random.SeedSequence(settings.seed, spawn_key=(case,)))
    waits = pd.DataFrame(
        first_alarms(series(stream, path, size=size), start, alarmed)
        for _ in range(settings.replications)
    )
    about = {"case": case, "rate": rate, "recall": recall, "batches": len(path) - start}
    made = {"replications": settings.replications, "seed": settings.seed, "version": __version__}
    times = waits - start + 1
    return [about | _row(rule, times[rule], len(path) - start) | made for rule in RULES]


def _healthy(case, settings):
    """Return how many streams of 1,000 batches raise any alarm, all measures by default."""
    size, prevalence, recall, specificity, rules = HEALTHY[case]
    rng = np.random.default_rng(np.random.SeedSequence(settings.seed, spawn_key=(100 + case,)))
    cells = [prevalence * recall, prevalence * (1 - recall)]
    cells += [(1 - prevalence) * (1 - specificity), (1 - prevalence) * specificity]
    raised = []
    for _ in range(settings.replications):
        tp, fn, fp, tn = rng.multinomial(size, cells, LONG).T
        counts = from_cells(tp=tp, fn=fn, fp=fp, tn=tn).rename(batch="step")
        raised.append(set(alarms(counts, WATCHED.with_positive, **rules)["rule"]))
    about = {"case": case, "size": size, "prevalence": prevalence, "recall": recall}
    about |= {"specificity": specificity, "floors": str(rules.get("floor", ""))}
    about |= {"batches": LONG}
    share = {rule: float(np.mean([rule in each for each in raised])) for rule in RULES}
    made = {"replications": settings.replications, "seed": settings.seed, "version": __version__}
    return about | {"alarmed": float(np.mean([bool(each) for each in raised]))} | share | made


def _row(rule, waits, longest):
    seen = waits.fillna(longest)
    return {
        "rule": rule,
        "alarmed": float(waits.notna().mean()),
        "median": float(waits.fillna(np.inf).median()),
        "run_length": float(seen.sum() / waits.notna().sum()) if waits.notna().any() else np.inf,
    }
