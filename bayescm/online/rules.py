"""
Alarms: rules on posterior and predictive probabilities, with a chosen false-alarm rate.

How often they raise false alarms and how soon they detect a real drop is simulated in
``studies.run_length`` and tabulated in the docs.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from bayescm.direct import dirichlet_multinomial
from bayescm.evidence.counts import CELLS, as_counts
from bayescm.measures.catalogue import among
from bayescm.measures.labelled import apply, kernels
from bayescm.online.bayes_factor import change
from bayescm.online.predictive_check import surprise
from bayescm.online.series import accumulate, step_axis
from bayescm.online.settings import as_prior
from bayescm.online.updating import distribution_at
from bayescm.validate import check_keywords, fail

# The trapezoidal rule for a standard normal variable.
_Z = np.linspace(-8.5, 8.5, 137)
_WEIGHTS = np.exp(-(_Z**2) / 2) / np.exp(-(_Z**2) / 2).sum()
_DRAWS = 10_000
RULES = ("batch", "floor", "reference", "change")
COLUMNS = ("step", "batch_id", "at", "rule", "measure", "value", "threshold")


def prob_below(
    counts: xr.DataArray, measure: str | Callable, floor: float, *, concentration: Any = None
) -> xr.DataArray:
    """
    Return the posterior probability that a measure is at most a floor.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted)
        The evidence in force, as `accumulate` returns it.
    measure : str or callable
    floor : float
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts; the default prior if omitted.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> round(float(prob_below(counts, "recall", 0.8)), 3)
    0.4
    """
    counts = as_counts(counts)
    (kernel,) = kernels(measure, counts)
    below = distribution_at(counts, kernel, concentration).cdf(float(floor))
    return _like(kernel, counts, below)


def prob_worse(
    counts: xr.DataArray,
    reference: xr.DataArray,
    measure: str | Callable,
    *,
    concentration: Any = None,
) -> xr.DataArray:
    """
    Return the probability that a measure is worse than in a reference period.

    The reference may also be another classifier. The two must have been tested on different
    examples; for the same examples see `bayescm.compare`.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted)
        The evidence in force now.
    reference : DataArray, dims (actual, predicted)
        The evidence of the reference.
    measure : str or callable
        Worse is lower, or higher where its ``lower_is_better`` says so.
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts of each.

    Examples
    --------
    >>> import bayescm as bcm
    >>> now = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> before = bcm.from_cells(tp=270, fn=30, fp=130, tn=120)
    >>> round(float(prob_worse(now, before, "recall")), 3)
    0.981
    """
    counts, reference = as_counts(counts), as_counts(reference)
    if reference.ndim != 2:
        todo = "sum over its batches: reference.sum('step')"
        raise fail("the reference must be a single table", reference.dims, str(CELLS), todo)
    (kernel,) = kernels(measure, counts)
    if reference.indexes["actual"].tolist() != counts.indexes["actual"].tolist():
        got, allowed = reference.indexes["actual"].tolist(), f"{counts.indexes['actual'].tolist()}"
        raise fail("the reference has different labels", got, allowed, "give both the same labels")
    now, then = (distribution_at(each, kernel, concentration) for each in (counts, reference))
    if not all(each.how == "closed form" for each in (now, then)):
        return _like(kernel, counts, _drawn_worse(kernel, counts, reference, concentration))
    quantiles = [then.quantile(each) for each in special.ndtr(_Z)]
    below = sum(w * now.cdf(x) for w, x in zip(_WEIGHTS, quantiles, strict=True))
    return _like(kernel, counts, 1 - below if kernel.lower_is_better else below)


def _drawn_worse(kernel, counts, reference, concentration):
    """Return the share of draws that are worse, step by step."""
    prior, rng = as_prior(concentration, counts).values, np.random.default_rng(0)

    def draws(cells):
        return dirichlet_multinomial(cells, concentration=prior).draw([kernel], _DRAWS, rng)[0]

    then, batch = draws(reference.values), counts.shape[:-2]
    worse_than = np.greater if kernel.lower_is_better else np.less
    pairs = (worse_than(draws(counts.values[index]), then) for index in np.ndindex(batch))
    worse = [each.mean(axis=0) for each in pairs]
    return np.reshape(worse, (*batch, *np.shape(worse[0])))


def _like(kernel, counts, values):
    template = apply(kernel, counts)
    return template.copy(data=np.broadcast_to(values, template.shape))


def alarms(
    counts: xr.DataArray,
    measures: str | Callable | Sequence[str | Callable],
    *,
    rate: float = 0.005,
    floor: float | Mapping[str, float] | None = None,
    reference: int | xr.DataArray | None = None,
    **evidence: Any,
) -> pd.DataFrame:
    """
    Return the alarms of a series of batches.

    Parameters
    ----------
    counts : DataArray
        The batches, dims (step, actual, predicted), in the order of time.
    measures : name, function, or sequence of these
    rate : float, default 0.005
        The false-alarm rate, in (0, 1); its meaning for each rule is given below.
    floor : float or mapping of str to float, optional
        Worst acceptable value of all measures, or of each by its name: the least one, or where
        lower is better the largest.
    reference : int or DataArray, optional
        The number of first batches that later ones are compared with, or the counts of a reference
        period or another classifier.
    **evidence
        ``concentration``, ``forgetting`` and ``window``; see `surprise`.

    Returns
    -------
    DataFrame
        One row per alarm, in the order of time: ``step``, ``batch_id``, ``at``, ``rule``,
        ``measure``, ``value`` and ``threshold``. The rules:

        ``batch``
            a batch is incompatible with those before it: its predictive tail probability is at most
            `rate` (`surprise`). Raises a false alarm in at most this fraction of batches.
        ``floor``
            the measure is worse than its floor with probability 1 - `rate` or more.
        ``reference``
            it is worse than in the reference with probability 1 - `rate` or more.
        ``change``
            the Bayes factor for a change in the answers to the classes is 1 / `rate` or more
            (`change`). The probability of ever raising a false alarm is at most `rate`.

        The last three are listed at their onset.

    Examples
    --------
    >>> import bayescm as bcm
    >>> weeks = bcm.from_cells(tp=[45] * 9 + [30] * 3, fn=[5] * 9 + [20] * 3, fp=3, tn=47)
    >>> alarms(weeks.rename(batch="step"), "recall", floor=0.6)[["step", "rule"]].values.tolist()
    [[9, 'batch'], [10, 'change'], [10, 'batch'], [11, 'batch']]
    """
    counts = as_counts(counts)
    check_keywords(surprise, evidence)
    if "step" not in counts.coords:
        counts = counts.assign_coords(step=np.arange(counts.shape[step_axis(counts)]))
    if not isinstance(rate, int | float | np.number) or not 0 < rate < 1:
        todo = "pass rate=0.005 for one false alarm in two hundred batches"
        raise fail("rate must lie between 0 and 1", rate, "0 < rate < 1", todo)
    found = kernels(measures, counts)
    floors = _floors(floor, found)
    prior = evidence.get("concentration")
    tables = [_change_alarms(counts, prior, rate)]
    now, then = _against(counts, reference, evidence)
    for kernel in found:
        tails = surprise(counts, kernel, **evidence)
        tables.append(_rows(counts, tails, tails <= rate, "batch", rate))
        if kernel.__name__ in floors:
            in_force = accumulate(counts, **_forgetting(evidence))
            beyond = prob_below(in_force, kernel, floors[kernel.__name__], concentration=prior)
            beyond = 1 - beyond if kernel.lower_is_better else beyond
            tables.append(_rows(counts, beyond, _begins(beyond >= 1 - rate), "floor", 1 - rate))
        if then is not None:
            worse = prob_worse(now, then, kernel, concentration=prior)
            worse = worse.drop_vars(["batch_id", "at"], errors="ignore")
            worse = worse.reindex(step=counts["step"], fill_value=0.0)
            tables.append(_rows(counts, worse, _begins(worse >= 1 - rate), "reference", 1 - rate))
    joined = pd.concat(tables, ignore_index=True)
    return joined.sort_values("step", kind="stable", ignore_index=True)


def _change_alarms(counts, prior, rate):
    threshold = -np.log(rate)
    log = change(counts, concentration=prior)["log_bayes_factor"].rename("answers")
    return _rows(counts, log, _begins(log >= threshold), "change", threshold)


def _floors(floor, found):
    """Return the floor of each measure that has one, by the name it is watched under."""
    names = [kernel.__name__ for kernel in found]
    if floor is None:
        return {}
    if not isinstance(floor, Mapping):
        return dict.fromkeys(names, float(floor))
    floors: dict[str, float] = {}
    for name, value in floor.items():
        mine = among(found, name)
        if not mine:
            todo = "monitor it too"
            raise fail("a floor for a measure that is not monitored", name, names, todo)
        floors |= dict.fromkeys([names[each] for each in mine], float(value))
    return floors


def _against(counts, reference, evidence):
    """Return what is in force at each step, and the reference that it is compared with."""
    if reference is None:
        return None, None
    if isinstance(reference, xr.DataArray):
        return accumulate(counts, **_forgetting(evidence)), reference
    first, last = int(reference), counts.sizes["step"]
    if not 0 < first < max(last, 2):
        allowed = f"counts, or 1 to {last - 1} of {last} batches"
        raise fail("no such reference period", reference, allowed, "pass reference=10")
    later = counts.isel(step=slice(first, None))
    return accumulate(later, **_forgetting(evidence)), counts[:first].sum("step")


def _forgetting(evidence):
    return {k: v for k, v in evidence.items() if k in ("forgetting", "window")}


def _begins(holds):
    return holds & ~holds.shift(step=1, fill_value=False)


def _rows(counts, values, fired, rule, threshold):
    """Return one row per alarm of a rule."""
    classes = values["class"].values if "class" in values.dims else [None]
    names = [values.name if each is None else f"{values.name}[{each}]" for each in classes]
    rows, columns = np.nonzero(fired.values.reshape(counts.sizes["step"], -1))
    step = counts["step"].values[rows]
    batch_id, at = counts.coords.get("batch_id"), counts.coords.get("at")
    return pd.DataFrame(
        {
            "step": step,
            "batch_id": step.astype(str) if batch_id is None else batch_id.values[rows],
            "at": np.datetime64("NaT", "us") if at is None else at.values[rows],
            "rule": rule,
            "measure": np.array(names, dtype=object)[columns],
            "value": values.values.reshape(counts.sizes["step"], -1)[rows, columns],
            "threshold": float(threshold),
        },
        columns=list(COLUMNS),
    )
