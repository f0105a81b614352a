"""
Alarms: rules on posterior and predictive probabilities, with a chosen rate of false alarms.

How often a healthy series raises any, and how soon a real drop is seen, is simulated in
``docs/validation/online.py`` and tabulated in the docs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.counts import CELLS, as_counts
from bayescm.measures.catalogue import among
from bayescm.measures.labelled import kernels
from bayescm.online.bayes_factor import checked, hazard_weights, mixture, score_of
from bayescm.online.predictive_check import surprise, unlikely
from bayescm.online.probabilities import below, worse
from bayescm.online.series import discounted, step_axis
from bayescm.online.settings import prior_cells
from bayescm.online.updating import distribution_at
from bayescm.validate import check_keywords, check_number, fail

RULES = ("batch", "floor", "reference", "change")
COLUMNS = ("step", "batch_id", "at", "since", "rule", "measure", "value", "threshold")
RATE, HORIZON, _HAZARD = 0.05, 1000, 0.01
# What is recent: the last batch, the last two, four ... of them.
WINDOWS = tuple(2**power for power in range(10))
# How many batches ago a change is looked for: every place of the last sixteen, then fewer.
_AGES = np.unique(np.r_[1:17, np.geomspace(16, max(WINDOWS), 36).astype(int)])


@dataclass(frozen=True, eq=False)
class MonitoredSeries:
    """
    Batches in their order, of which those from one on are judged.

    Attributes
    ----------
    counts : DataArray, dims (step, actual, predicted)
        All batches.
    first : int
        The first of them that is judged.
    memory : dict
        ``forgetting`` and ``window``, where the evidence in force is not all there is.
    concentration : optional
        Prior pseudo-counts.
    """

    counts: xr.DataArray
    first: int
    memory: dict[str, Any]
    concentration: Any

    @cached_property
    def cells(self) -> np.ndarray:
        """The batches, (T, C, C)."""
        return self.counts.values

    @cached_property
    def named(self) -> dict[str, np.ndarray]:
        """The step, the name and the time of each batch, by the names of their coords."""
        known = self.counts.coords.variables
        step = known["step"].values if "step" in known else np.arange(len(self.cells))
        nothing = np.full(len(step), "NaT", "<M8[us]")
        return {
            "step": step,
            "batch_id": known["batch_id"].values if "batch_id" in known else step.astype(str),
            "at": known["at"].values if "at" in known else nothing,
        }

    @cached_property
    def sums(self) -> np.ndarray:
        """Sums of the batches before each and of all, (T + 1, C, C)."""
        nothing = np.zeros((1, *self.cells.shape[1:]), self.cells.dtype)
        return np.concatenate([nothing, self.cells.cumsum(axis=0)])

    @cached_property
    def prior(self) -> np.ndarray:
        """Prior pseudo-counts (C, C)."""
        return prior_cells(self.concentration, self.counts)

    @cached_property
    def asked(self) -> np.ndarray:
        """The places that are judged, and the one before: whether an alarm is on already."""
        return np.arange(max(self.first - 1, 0), len(self.cells))

    @cached_property
    def before(self) -> np.ndarray:
        """The evidence in force before each batch that is judged, (n, C, C)."""
        if not self.is_all_counted:
            current = discounted(self.counts, **self.memory).shift(step=1, fill_value=0).values
            return (current * self.memory.get("forgetting", 1.0))[self.asked]
        return self.sums[self.asked]

    @property
    def is_all_counted(self) -> bool:
        """Whether nothing is forgotten."""
        return self.memory.get("forgetting", 1.0) == 1 and self.memory.get("window") is None

    def recent(self, first: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the recent evidence, (n, C, C), and where each begins; none from before `first`."""
        if not self.is_all_counted:
            later = discounted(self.counts[first:], **self.memory).values
            current = np.concatenate([np.zeros_like(later[:1]).repeat(first, axis=0), later])
            length = self.memory.get("window") or len(self.cells)
            yield current[self.asked], np.maximum(self.asked + 1 - length, first)
            return
        for window in WINDOWS:
            start = np.maximum(self.asked + 1 - window, first)
            yield self.sums[self.asked + 1] - self.sums[np.minimum(start, self.asked + 1)], start

    @property
    def windows(self) -> int:
        """How many answers there are to what is recent."""
        return len(WINDOWS) if self.is_all_counted else 1


def alarms(
    counts: xr.DataArray,
    measures: str | Callable | Sequence[str | Callable],
    *,
    rate: float = RATE,
    floor: float | Mapping[str, float] | None = None,
    reference: int | xr.DataArray | None = None,
    horizon: int = HORIZON,
    **evidence: Any,
) -> pd.DataFrame:
    """
    Return the alarms of a series of batches.

    Parameters
    ----------
    counts : DataArray
        The batches, dims (step, actual, predicted), in the order of time.
    measures : name, function, or sequence of these
    rate : float, default 0.05
        The chance that a stream in which nothing changes raises any alarm at all within `horizon`
        batches, by whichever rule and measure, in (0, 1). The rules in use share it equally.
    floor : float or mapping of str to float, optional
        Worst acceptable value of all measures, or of each by its name: the least one, or where
        lower is better the largest.
    reference : int or DataArray, optional
        The number of first batches that later ones are compared with, or the counts of a reference
        period or another classifier.
    horizon : int, default 1000
        The number of batches that `rate` is about.
    **evidence
        ``concentration``, ``forgetting`` and ``window``; see `surprise`.

    Returns
    -------
    DataFrame
        One row per alarm, in the order of time: ``step``, ``batch_id`` and ``at`` of the batch that
        raised it, ``since`` (the time of the first batch of what it is about), ``rule``,
        ``measure``, ``value`` and ``threshold``. The rules:

        ``batch``
            a batch is incompatible with those before it, by its predictive tail probability
            (`surprise`).
        ``floor``
            the measure is worse than its floor with a posterior probability at the threshold, by
            recent evidence: the last batch, or the last 2, 4, 8 ... 512 together. With
            ``forgetting`` or ``window``, by what these leave in force.
        ``reference``
            by recent evidence it is worse than in the reference.
        ``change``
            the Bayes factor for a change in the answers to the classes exceeds its threshold
            (`change`), which it ever does with the rule's share of `rate` if nothing changes.

        The last three are listed at their onset.

    Examples
    --------
    >>> import bayescm as bcm
    >>> weeks = bcm.from_cells(tp=[45] * 9 + [30] * 3, fn=[5] * 9 + [20] * 3, fp=3, tn=47)
    >>> alarms(weeks.rename(batch="step"), "recall", floor=0.8)[["step", "rule"]].values.tolist()
    [[9, 'change'], [9, 'batch'], [10, 'batch']]
    """
    counts = as_counts(counts)
    check_keywords(surprise, evidence)
    if step_axis(counts) or counts.ndim != 3:
        allowed, todo = "(step, actual, predicted)", "select one of them"
        raise fail("only one series at a time", counts.dims, allowed, todo)
    memory = {name: value for name, value in evidence.items() if name != "concentration"}
    series = MonitoredSeries(counts, 0, memory, evidence.get("concentration"))
    return evaluate_rules(
        series, measures, rate=rate, floor=floor, reference=reference, horizon=horizon
    )


def evaluate_rules(
    series: MonitoredSeries,
    measures: Any,
    *,
    rate: float = RATE,
    floor: Any = None,
    reference: Any = None,
    horizon: int = HORIZON,
) -> pd.DataFrame:
    """Return the alarms of a series; parameters as for `alarms`."""
    check_rate(rate, horizon)
    found = kernels(measures, series.counts)
    floors, then = floors_of(floor, found), _reference(series, reference)
    share = rate / (2 + bool(floors) + (then is not None))
    n_values = sum(_n_values(kernel, series) for kernel in found)
    level = share / (horizon * n_values)
    tables = [_change(series, share)]
    for kernel in found:
        tables.append(_batch(series, kernel, level))
        if kernel.__name__ in floors:
            tables.append(_floor(series, kernel, floors[kernel.__name__], level / series.windows))
        if then is not None:
            tables.append(_worse(series, kernel, then, level / series.windows))
    return joined(tables)


def check_rate(rate: float, horizon: int) -> None:
    """Raise where the rate of false alarms, or what it is about, is none."""
    if not isinstance(rate, int | float | np.number) or not 0 < rate < 1:
        todo = "pass rate=0.05 for one stream in twenty with a false alarm"
        raise fail("rate must lie between 0 and 1", rate, "0 < rate < 1", todo)
    if isinstance(horizon, bool) or not isinstance(horizon, int | np.integer) or horizon < 1:
        todo = "pass horizon=1000"
        raise fail("horizon must be a number of batches", horizon, "1 or more", todo)


def mark_acknowledged(table: pd.DataFrame, acknowledgements: pd.DataFrame) -> pd.DataFrame:
    """Return alarms with a column that says which of them were acknowledged."""
    names = ["batch_id", "rule", "measure"]
    keys = set(map(tuple, acknowledgements[names].values.tolist()))
    rows = map(tuple, table[names].astype(str).values.tolist())
    return table.assign(acknowledged=np.array([row in keys for row in rows], dtype=bool))


def _n_values(kernel, series):
    """Return how many numbers a measure gives: one, or one for each class."""
    return int(np.size(kernel(np.ones(series.cells.shape[1:]))))


def _change(series, share):
    threshold = -np.log(share)
    prior = checked(series.prior)
    weights = hazard_weights(np.arange(len(series.sums)), _HAZARD)
    ages = _AGES[max(len(series.sums), 2) > _AGES]
    first = series.asked[0] + 1
    log, _, latest = mixture(series.sums, ages, weights, score_of(prior, "answers"), first)
    return rows(series, "answers", log, log >= threshold, "change", threshold, since=latest)


def _batch(series, kernel, level):
    tails = unlikely(kernel, series.cells[series.asked], series.before + series.prior, level)
    return rows(series, kernel, tails, tails <= level, "batch", level, onset=False)


def _floor(series, kernel, floor, level):
    def probability(cells):
        known = distribution_at(cells, kernel, series.concentration)
        reached = below(known, floor)
        return 1 - reached if kernel.lower_is_better else reached

    return _by_recent(series, kernel, floor, probability, level, "floor")


def _worse(series, kernel, reference, level):
    first, table = reference
    then = distribution_at(table, kernel, series.concentration)
    with np.errstate(divide="ignore", invalid="ignore"):
        usual = kernel(table.values.astype(float))

    def probability(cells):
        now = distribution_at(cells, kernel, series.concentration)
        return worse(now, then, kernel.lower_is_better)

    return _by_recent(series, kernel, usual, probability, level, "reference", first)


def _by_recent(series, kernel, limit, probability, level, rule, first=0):
    """Return alarms where the recent evidence, over any span, is beyond a limit."""
    shape = np.shape(kernel(np.ones(series.cells.shape[1:])))
    most = np.zeros((len(series.asked), *shape))
    since = np.zeros(most.shape, int)
    for cells, start in series.recent(first):
        with np.errstate(divide="ignore", invalid="ignore"):
            seen = kernel(cells.astype(float))
        beyond = seen > limit if kernel.lower_is_better else seen < limit
        some = np.flatnonzero(beyond.reshape(len(beyond), -1).any(axis=1))
        if not len(some):
            continue
        tables = series.counts[:1].drop_vars(
            ["step", "batch_id", "at", "recorded_at"], errors="ignore"
        )
        tables = xr.DataArray(cells[some], tables.coords, tables.dims, name="counts")
        found = np.where(beyond[some], probability(tables), 0.0)
        better = found > most[some]
        begins = np.broadcast_to(start[some].reshape(-1, *[1] * len(shape)), found.shape)
        since[some] = np.where(better, begins, since[some])
        most[some] = np.maximum(found, most[some])
    return rows(series, kernel, most, most >= 1 - level, rule, 1 - level, since=since)


def floors_of(floor: Any, found: list) -> dict[str, float]:
    """Return the floor of each measure that has one, by the name it is watched under."""
    names = [kernel.__name__ for kernel in found]
    if floor is None:
        return {}
    if not isinstance(floor, Mapping):
        return dict.fromkeys(names, check_number("floor", floor, usual=0.8))
    floors: dict[str, float] = {}
    for name, value in floor.items():
        mine = among(found, name)
        if not mine:
            todo = "monitor it too"
            raise fail("a floor for a measure that is not monitored", name, names, todo)
        known = check_number("floor", value, usual=0.8)
        floors |= dict.fromkeys([names[each] for each in mine], known)
    return floors


def _reference(series, reference):
    """Return how many batches are in the reference, and their table; None where there is none."""
    counts = series.counts
    if reference is None:
        return None
    if not isinstance(reference, xr.DataArray):
        first, last = int(reference), counts.sizes["step"]
        if not 0 < first < max(last, 2):
            allowed = f"counts, or 1 to {last - 1} of {last} batches"
            raise fail("no such reference period", reference, allowed, "pass reference=10")
        return first, counts[:first].sum("step")
    reference = as_counts(reference)
    if reference.ndim != 2:
        todo = "sum over its batches: reference.sum('step')"
        raise fail("the reference must be a single table", reference.dims, str(CELLS), todo)
    labels = [each.indexes["actual"].tolist() for each in (reference, counts)]
    if labels[0] != labels[1]:
        todo = "give both the same labels"
        raise fail("the reference has different labels", labels[0], str(labels[1]), todo)
    return 0, reference


def rows(series, measure, values, fired, rule, threshold, since=None, onset=True) -> tuple:
    """Return the columns of a rule's alarms."""
    if onset:
        before = np.concatenate([np.zeros_like(fired[:1]), fired[:-1]])
        fired = fired & ~before
    name = getattr(measure, "__name__", measure)
    labels = series.counts.indexes["actual"] if fired.ndim > 1 else [None]
    names = [name if each is None else f"{name}[{each}]" for each in labels]
    rows, columns = np.nonzero(fired.reshape(len(fired), -1))
    keep = series.asked[rows] >= series.first
    rows, columns = rows[keep], columns[keep]
    place = series.asked[rows]
    begins = place if since is None else since.reshape(len(since), -1)[rows, columns]
    step, batch_id, at = (series.named[each] for each in ("step", "batch_id", "at"))
    named = np.array(names, dtype=object)[columns]
    value = values.reshape(len(values), -1)[rows, columns]
    rule, threshold = np.full(len(place), rule, dtype=object), np.full(len(place), float(threshold))
    when = at[place], at[begins]
    return step[place], batch_id[place], *when, rule, named, value, threshold


def joined(rules: list) -> pd.DataFrame:
    """Return one row per alarm of all rules, in the order of time."""
    if not rules:
        return pd.DataFrame({name: [] for name in COLUMNS})
    columns = [np.concatenate(parts) for parts in zip(*rules, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return pd.DataFrame({name: each[order] for name, each in zip(COLUMNS, columns, strict=True)})
