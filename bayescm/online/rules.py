"""
Alarms: rules on posterior and predictive probabilities, with a chosen rate of false alarms.

How often a healthy stream raises any, and how soon a real drop is seen, is simulated in
``docs/validation/online.py`` and tabulated in the docs.
"""

from collections.abc import Callable, Mapping, Sequence
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
from bayescm.online.series import step_axis
from bayescm.online.stream import REACH, Stream
from bayescm.online.updating import distribution_at
from bayescm.validate import check_keywords, check_number, fail

RULES = ("batch", "floor", "reference", "change")
COLUMNS = ("step", "batch_id", "at", "since", "rule", "measure", "value", "threshold")
RATE, HORIZON, _HAZARD = 0.05, 1000, 0.01
# How many batches ago a change is looked for: every place of the last sixteen, then fewer.
_AGES = np.unique(np.r_[1:17, np.geomspace(16, REACH, 36).astype(int)])


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
    nothing = np.zeros(counts.shape[1:], counts.dtype)
    stream = Stream(counts, 0, 0, nothing, memory, evidence.get("concentration"))
    return judged(stream, measures, rate=rate, floor=floor, reference=reference, horizon=horizon)


def judged(
    stream: Stream,
    measures: Any,
    *,
    rate: float = RATE,
    floor: Any = None,
    reference: Any = None,
    horizon: int = HORIZON,
) -> pd.DataFrame:
    """Return the alarms of a stream; parameters as for `alarms`."""
    check_rate(rate, horizon)
    found = kernels(measures, stream.counts)
    floors, then = floors_of(floor, found), _reference(stream, reference)
    share = rate / (2 + bool(floors) + (then is not None))
    series = sum(_series(kernel, stream) for kernel in found)
    level = share / (horizon * series)
    tables = [_change(stream, share)]
    for kernel in found:
        tables.append(_batch(stream, kernel, level))
        if kernel.__name__ in floors:
            tables.append(_floor(stream, kernel, floors[kernel.__name__], level / stream.windows))
        if then is not None:
            tables.append(_worse(stream, kernel, then, level / stream.windows))
    return joined(tables)


def check_rate(rate: float, horizon: int) -> None:
    """Raise where the rate of false alarms, or what it is about, is none."""
    if not isinstance(rate, int | float | np.number) or not 0 < rate < 1:
        todo = "pass rate=0.05 for one stream in twenty with a false alarm"
        raise fail("rate must lie between 0 and 1", rate, "0 < rate < 1", todo)
    if isinstance(horizon, bool) or not isinstance(horizon, int | np.integer) or horizon < 1:
        todo = "pass horizon=1000"
        raise fail("horizon must be a number of batches", horizon, "1 or more", todo)


def marked(found: pd.DataFrame, seen: set[tuple[str, str, str]]) -> pd.DataFrame:
    """Return alarms with a column that says which of them were acknowledged."""
    marks = np.zeros(len(found), dtype=bool)
    if seen and len(found):
        columns = [found[each].astype(str) for each in ("batch_id", "rule", "measure")]
        marks[:] = [key in seen for key in zip(*columns, strict=True)]
    found["acknowledged"] = marks
    return found


def _series(kernel, stream):
    """Return how many numbers a measure gives: one, or one for each class."""
    return int(np.size(kernel(np.ones(stream.cells.shape[1:]))))


def _change(stream, share):
    threshold = -np.log(share)
    prior = checked(stream.prior)
    earlier = np.concatenate([stream.earlier[None], stream.earlier + stream.sums[1:]])
    weights = hazard_weights(stream.number + np.arange(len(earlier)), _HAZARD)
    ages = _AGES[max(len(earlier), 2) > _AGES]
    first = stream.asked[0] + 1
    log, _, latest = mixture(earlier, ages, weights, score_of(prior, "answers"), first)
    return rows(stream, "answers", log, log >= threshold, "change", threshold, since=latest)


def _batch(stream, kernel, level):
    tails = unlikely(kernel, stream.cells[stream.asked], stream.before + stream.prior, level)
    return rows(stream, kernel, tails, tails <= level, "batch", level, onset=False)


def _floor(stream, kernel, floor, level):
    def probability(cells):
        known = distribution_at(cells, kernel, stream.concentration)
        reached = below(known, floor)
        return 1 - reached if kernel.lower_is_better else reached

    return _by_recent(stream, kernel, floor, probability, level, "floor")


def _worse(stream, kernel, reference, level):
    first, table = reference
    then = distribution_at(table, kernel, stream.concentration)
    with np.errstate(divide="ignore", invalid="ignore"):
        usual = kernel(table.values.astype(float))

    def probability(cells):
        now = distribution_at(cells, kernel, stream.concentration)
        return worse(now, then, kernel.lower_is_better)

    return _by_recent(stream, kernel, usual, probability, level, "reference", first)


def _by_recent(stream, kernel, limit, probability, level, rule, first=0):
    """Return alarms where the recent evidence, over any span, is beyond a limit."""
    shape = np.shape(kernel(np.ones(stream.cells.shape[1:])))
    most = np.zeros((len(stream.asked), *shape))
    since = np.zeros(most.shape, int)
    for cells, start in stream.recent(first):
        with np.errstate(divide="ignore", invalid="ignore"):
            seen = kernel(cells.astype(float))
        beyond = seen > limit if kernel.lower_is_better else seen < limit
        some = np.flatnonzero(beyond.reshape(len(beyond), -1).any(axis=1))
        if not len(some):
            continue
        tables = stream.counts[:1].drop_vars(
            ["step", "batch_id", "at", "recorded_at"], errors="ignore"
        )
        tables = xr.DataArray(cells[some], tables.coords, tables.dims, name="counts")
        found = np.where(beyond[some], probability(tables), 0.0)
        better = found > most[some]
        begins = np.broadcast_to(start[some].reshape(-1, *[1] * len(shape)), found.shape)
        since[some] = np.where(better, begins, since[some])
        most[some] = np.maximum(found, most[some])
    return rows(stream, kernel, most, most >= 1 - level, rule, 1 - level, since=since)


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


def _reference(stream, reference):
    """Return how many batches are in the reference, and their table; None where there is none."""
    counts = stream.counts
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


def rows(stream, measure, values, fired, rule, threshold, since=None, onset=True) -> tuple:
    """Return the columns of a rule's alarms."""
    if onset:
        before = np.concatenate([np.zeros_like(fired[:1]), fired[:-1]])
        fired = fired & ~before
    name = getattr(measure, "__name__", measure)
    labels = stream.counts.indexes["actual"] if fired.ndim > 1 else [None]
    names = [name if each is None else f"{name}[{each}]" for each in labels]
    rows, columns = np.nonzero(fired.reshape(len(fired), -1))
    keep = stream.asked[rows] >= stream.first
    rows, columns = rows[keep], columns[keep]
    place = stream.asked[rows]
    begins = place if since is None else since.reshape(len(since), -1)[rows, columns]
    step, batch_id, at = (stream.named[each] for each in ("step", "batch_id", "at"))
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
