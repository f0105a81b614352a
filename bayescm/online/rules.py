"""
Alarms: rules on posterior and predictive probabilities, with a chosen rate of false alarms.

`rate` is the probability that a stream in which nothing changes raises any alarm within `horizon`
batches. The rules in use share it equally, and each rule divides its share among the values that it
examines (Bonferroni's inequality). The table gives the level of each rule: the largest probability
of a false alarm at one batch (for `change`, at any batch, by Ville's inequality, see
`bayes_factor`).

=========== ========= ======================================================== ==================
rule        evidence  fires if                                                 level
=========== ========= ======================================================== ==================
change      not r     the Bayes factor of a change exceeds 1 / level           share
batch       counts, i the two-sided predictive tail of a batch is <= level     share / (H V)
reference   counts, i P(worse than in the reference | recent) >= 1 - level     share / (H V S)
floor       all       P(worse than the floor | recent) >= 1 - level            share / (H V S)
calibration binned    P(beyond the tolerance on a side | recent) >= 1 - level  share / (H V S)
=========== ========= ======================================================== ==================

- i: items, with scores, attempts, counts or several labels. Their `change` is a change in the
  shares of the parts of the scale, or of the examples by their number of wrong labels.
- r: ratings, scores that are not probabilities, and probabilities of three classes or more.
- binned: forecasts of two classes.

`EvidenceType.alarm_rules` of each type decides which rules it has. The probabilities are averaged
over the prior: over truths that are drawn from it. For one fixed truth, false alarms may be more or
less frequent, for instance if little evidence meets a prior that is far from the truth.

Here H is the horizon, V the number of values that are monitored (measures, times classes), and S
the number of spans of recent evidence: the last batch, the last 2, 4, 8 ... 512 together, or one
where evidence is forgotten. The share is ``rate`` over the number of rules in use: of counts
`change`, `batch`, and those of `reference` and `floor` that are asked for; so of items. Of
binned forecasts it is ``rate`` over the number of limits, each floor and each tolerance being one,
and one more for `change`, and V is 1. Of partly labelled batches it is ``rate`` over one for
`change` and one for the floors. Of ratings and of probabilities of three classes or more, which
have floors alone, it is ``rate``.

A change is one in the answers to the classes, of item scores in the shares of the parts of their
scale, of probabilities in what comes true of them; of scores that are no probabilities none is
looked for.

Once `change` has fired, everything begins anew at the first batch after the change, at its most
probable place by then (`segments`): what is in force, what a batch is compared with, and how far
back recent evidence reaches. The rule then asks whether the answers have changed again, at any
batch after its alarm, against one table behind all batches since the change. Those up to the alarm
tell what that table is like, and are no evidence of a second change: if there is none, the Bayes
factor exceeds 1 / share with at most that probability, whenever the alarm came, averaged over the
posterior of the table by these batches. How often a second alarm is false is simulated too.

How often a healthy series raises any, and how soon a real drop is noticed, is simulated in
``docs/validation/online.py`` and tabulated in the docs.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from bayescm.answers.interval import resolve_measures
from bayescm.distributions.base import Distribution
from bayescm.evidence.counts import CELLS, as_counts
from bayescm.evidence.evidence_type import ChangeStatistic
from bayescm.evidence.registry import type_of
from bayescm.measures.catalogue import among, same
from bayescm.measures.display_names import display_name
from bayescm.measures.labelled import apply, kernels, one_kernel
from bayescm.online.bayes_factor import check_proper, geometric_prior, mixture
from bayescm.online.comparable import comparable
from bayescm.online.discounting import check_single_series, discounted
from bayescm.online.encoding import COUNTS, encoding_of, what_changes
from bayescm.online.predictive_check import unlikely_batches
from bayescm.online.updating import monitored_measures, posterior_of, prior_cells
from bayescm.posteriors.base import Posterior
from bayescm.validate import check_number, fail, suggest

# The rules of counts, in the order of the columns of ``docs/results/run_length_*.csv``.
RULES = ("batch", "floor", "reference", "change")
COLUMNS: tuple[str, ...] = (
    *("step", "batch_id", "at", "first", "since", "rule", "measure", "direction"),
    *("estimate", "lower", "upper", "limit", "value", "threshold", "lasted", "on", "sentence"),
)
RATE = 0.05  # probability of a false alarm within the horizon
HORIZON = 1000  # batches
_HAZARD = 0.01  # prior probability of a change at each batch
# What is recent: the last batch, the last two, four ... of them.
SPANS = tuple(2**power for power in range(10))
# How many batches ago a change is looked for: at each of the last sixteen, then at fewer.
_AGES = np.unique(np.r_[1:17, np.geomspace(16, max(SPANS), 36).astype(int)])
# How far a measure may be from what it would be if the forecasts were right, on both sides.
TOLERANCE = {"calibration_in_the_large": 0.02, "calibration_slope": 0.2}
_FEWEST = 10  # examples of a class, below which recent forecasts are not judged
# The same for items. With fewer the tails of means are too light
# (docs/results/item_score_alarms_tails.csv).
_FEWEST_ITEMS = 20  # on a scale with two ends
_FEWEST_WITHOUT_ENDS = 100  # on a scale without
_BLOCK = 512  # batches that are looked through at once for a change
# Standard normal quantile of .95: beyond it a measure is worse than it was before a change.
_WORSE = 1.645
# What an alarm says of the measures; of `mixed` some are better and some are worse.
WORSE, BETTER, MIXED, UNCLEAR = "worse", "better", "mixed", "unclear"


def alarms(
    counts: xr.DataArray,
    measures: str | Callable | Sequence[str | Callable],
    *,
    rate: float = RATE,
    floor: float | Mapping[str, float] | None = None,
    reference: int | xr.DataArray | None = None,
    horizon: int = HORIZON,
    concentration: Any = None,
    forgetting: float = 1.0,
    window: int | None = None,
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
        batches, by whichever rule and measure, in (0, 1), averaged over the prior. The rules in use
        share it equally.
    floor : float or mapping of str to float, optional
        Worst acceptable value of all measures, or of each by its name: the least one, or where
        lower is better the largest. A single class or system has its label in brackets:
        ``{"recall[sick]": 0.8}``, ``{"win_rate[old][system=new]": 0.5}``.
    reference : int or DataArray, optional
        The number of first batches that later ones are compared with, or the counts of a reference
        period or another classifier.
    horizon : int, default 1000
        The number of batches that `rate` is about.
    concentration, forgetting, window
        See `surprise`.

    Returns
    -------
    DataFrame
        One row per alarm, in the order of time: ``step``, ``batch_id`` and ``at`` of the batch that
        raised it, ``first`` and ``since`` (step and time of the first batch of what it is about),
        ``rule``, ``measure``; ``direction`` (``worse``, ``better``, of `change` also ``mixed``, or
        ``unclear`` if no measure has moved far); ``estimate``, ``lower`` and ``upper`` (posterior
        mean and 95% highest-density interval of the measure by the batches from then on) and
        ``limit``, what it is to be compared with; ``value`` and ``threshold``, by which the rule
        fires; ``lasted`` and ``on``, for how many batches, and whether it is on still; and
        ``sentence``, all that in words. The rules:

        ``change``
            the Bayes factor for a change in the answers to the classes exceeds its threshold
            (`change`), which it ever does with at most the rule's share of `rate` if nothing
            changes. Estimate and limit are those of the measure that has moved furthest, now and
            before. It is on until the next change, or at once off again where no measure is worse
            than before. All rules go on with the evidence since the change.
        ``batch``
            a batch is incompatible with those before it, by its predictive tail probability
            (`surprise`).
        ``reference``
            by recent evidence the measure is worse than in the reference with a posterior
            probability at the threshold. Recent is the last batch, or the last 2, 4, 8 ... 512
            together; with ``forgetting`` or ``window``, what these leave in force.
        ``floor``
            by recent evidence it is worse than its floor.

        All but ``batch`` are listed at their onset.

    Examples
    --------
    >>> import bayescm as bcm
    >>> weeks = bcm.from_cells(tp=[45] * 9 + [30] * 3, fn=[5] * 9 + [20] * 3, fp=3, tn=47)
    >>> table = alarms(weeks.rename(batch="step"), "recall", floor=0.8)
    >>> table[["step", "rule"]].values.tolist()
    [[9, 'change'], [9, 'batch'], [11, 'floor']]
    >>> print(table["sentence"][0])
    the answers have changed: recall 0.598 [0.464, 0.73], 0.899 before (Bayes factor 74)
    """
    counts = as_counts(counts)
    check_single_series(counts)
    memory = {"forgetting": forgetting, "window": window}
    series = MonitoredSeries(counts, concentration, memory)
    return evaluate_rules(
        series, measures, rate=rate, floor=floor, reference=reference, horizon=horizon
    )


def evaluate_rules(
    series: "MonitoredSeries",
    measures: Any,
    *,
    rate: float = RATE,
    floor: float | Mapping[str, float] | None = None,
    reference: int | xr.DataArray | None = None,
    tolerance: Mapping[str, float] | None = None,
    horizon: int = HORIZON,
) -> pd.DataFrame:
    """
    Return the alarms of a series of counts, of binned forecasts, or of sums over items.

    Parameters
    ----------
    series : MonitoredSeries
    measures, rate, floor, reference, horizon
        See `alarms`; a reference is of counts.
    tolerance : mapping of str to float, optional
        Of binned forecasts: how far a measure may be from what it would be if the forecasts were
        right, on both sides; by default `TOLERANCE`, of those that are monitored.

    Returns
    -------
    DataFrame
        See `alarms`. The rule ``calibration`` fires if, by recent evidence, a measure is beyond
        its tolerance with a posterior probability at the threshold.
    """
    check_rate(rate, horizon)
    entry = type_of(series.tables)
    rules = entry.alarm_rules(series.tables)
    if reference is not None and "reference" not in rules:
        what, allowed = f"batches of {entry.name} have no reference period", "a floor"
        raise fail(what, reference, allowed, "leave `reference` out")
    if "calibration" in rules:
        return _of_forecasts(series, measures, rules, rate, horizon, floor, tolerance)
    if tolerance is not None:
        what, todo = "a tolerance is of probabilities", "leave `tolerance` out, or set a floor"
        raise fail(what, tolerance, "no tolerance", todo)
    resolved = series.resolve(measures)
    floors = _floors_of_values(floor, resolved, series)
    period = _reference_period(series, reference)
    share = rate / _number_of_rules(rules, floor, reference)
    if "change" in rules:
        series = replace(series, segments=segments(series.tables, series.concentration, share))
    level = share / (horizon * sum(_n_values(measure, series) for measure in resolved))
    columns = [_change(series, resolved, share)] if "change" in rules else []
    phases = series.of_each_phase()
    for measure in resolved:
        name = measure.__name__
        if "batch" in rules:
            columns += [each.placed(_batch(each.series, measure, level)) for each in phases]
        if name in floors:
            columns.append(_floor(series, measure, floors[name], level / series.n_spans))
        for each in phases if period is not None else []:
            of_phase = _of_phase(period, each, reference)
            if of_phase is not None:
                alarms = _reference(each.series, measure, level / series.n_spans, *of_phase)
                columns.append(each.placed(alarms))
    return _table(columns)


def _of_phase(period, phase, reference):
    """Return the reference period of a phase: how many of its batches, and their table."""
    if phase.places is None:
        return period
    if isinstance(reference, xr.DataArray):
        return period
    number = int((phase.places < period[0]).sum())
    if not number:
        return None  # no batch of this phase is in the reference
    return number, phase.series.tables[:number].sum("step", keep_attrs=True)


def _number_of_rules(rules, floor, reference):
    """Return how many rules share the rate of false alarms, those that are requested among them."""
    always = sum(rule in rules for rule in ("change", "batch"))
    return max(always + _has_floor(floor) + (reference is not None), 1)


def _has_floor(floor):
    return floor is not None and floor != {}


def _of_forecasts(series, measures, rules, rate, horizon, floor, tolerance):
    """Return the alarms of binned forecasts: each limit is a rule by itself."""
    resolved = series.resolve(measures)
    tolerances, floors = _limits_of_forecasts(resolved, floor, tolerance)
    share = rate / max(("change" in rules) + len(tolerances) + len(floors), 1)
    if "change" in rules:
        series = replace(series, segments=segments(series.tables, series.concentration, share))
    level = share / (horizon * series.n_spans)
    columns = [_change(series, resolved, share)] if "change" in rules else []
    for measure in resolved:
        name = measure.__name__
        if name in tolerances:
            columns.append(_calibration(series, measure, tolerances[name], level))
        if name in floors:
            columns.append(_floor(series, measure, floors[name], level))
    return _table(columns)


def _limits_of_forecasts(resolved, floor, tolerance):
    """Return the tolerances and the floors of the measures of forecasts."""
    return tolerances(resolved, tolerance), _floors(floor, resolved)


def tolerances(resolved: Any, tolerance: Any) -> dict[str, float]:
    """Return tolerances by the names of measures of forecasts, by default `TOLERANCE`."""
    if tolerance is None:
        tolerance = {name: size for name, size in TOLERANCE.items() if among(resolved, name)}
    return _limits("tolerance", tolerance, resolved, _check_tolerance)


# The series


@dataclass(frozen=True, eq=False)
class MonitoredSeries:
    """
    Batches in their order, of which those from one on are judged.

    Attributes
    ----------
    tables : DataArray, dims (step, actual, predicted), (step, actual, bin) or (step, statistic)
        All batches.
    concentration : optional
        Prior pseudo-counts.
    memory : dict
        ``forgetting`` and ``window``, where the evidence in force is not all there is.
    first : int
        The first of them that is judged.
    segments : sequence of Segment
        What the batches are parted into by changes.
    """

    tables: xr.DataArray
    concentration: Any = None
    memory: Mapping[str, Any] = field(default_factory=dict)
    first: int = 0
    segments: "Sequence[Segment]" = ()

    @cached_property
    def cells(self) -> np.ndarray:
        """The batches, (T, C, C)."""
        return self.tables.values

    @cached_property
    def sums(self) -> np.ndarray:
        """Sums of the batches before each and of all, (T + 1, C, C)."""
        zero = np.zeros((1, *self.cells.shape[1:]), self.cells.dtype)
        return np.concatenate([zero, self.cells.cumsum(axis=0)])

    def of_each_phase(self) -> "list[Phase]":
        """Return the batches of each phase of the season as a series, or all of them as one."""
        if "phase" not in self.tables.coords:
            return [Phase(self, None, len(self.cells))]
        values = self.tables.coords["phase"].values
        return [self._of_phase(np.flatnonzero(values == phase)) for phase in np.unique(values)]

    def _of_phase(self, index):
        """Return the batches with some indices as a series, parted by the changes of all."""
        parts = [
            Segment(
                int(np.searchsorted(index, segment.first)),
                int(np.searchsorted(index, segment.raised, "right")) - 1,
                segment.log_bayes_factor,
            )
            for segment in self.segments
        ]
        first = int(np.searchsorted(index, self.first))
        series = replace(self, tables=self.tables[index], segments=parts, first=first)
        return Phase(series, index, len(self.cells))

    def resolve(self, measures: Any) -> list:
        """
        Return measures as the posterior of the batches has them.

        Averages over classes are of all classes. What is in force may lack some of them: `_bound`
        leaves these out.
        """
        monitored = monitored_measures(measures, self.tables)
        # All batches, as labels that may be abstentions are those that none of them has.
        tables = self.all_together if self.is_sampled else self.cells
        posterior: Any = self.posterior(tables)
        if posterior.measured or posterior.measured_variable != "cells":
            return resolve_measures(posterior, monitored)
        return kernels(monitored, posterior.counts)

    @property
    def is_sampled(self) -> bool:
        """Whether the posterior of each table is sampled, which takes about a second."""
        return type_of(self.tables).one_by_one(self.tables)

    @property
    def all_together(self) -> np.ndarray:
        """The sum of all batches, (1, C, C); a single one may be empty."""
        return self.cells.sum(axis=0, keepdims=True)

    @cached_property
    def judged(self) -> np.ndarray:
        """Indices of the batches that are judged, and of the one before: is an alarm on already."""
        return np.arange(max(self.first - 1, 0), len(self.cells))

    @cached_property
    def starts(self) -> np.ndarray:
        """The first batch since the latest change known before each batch, for every batch."""
        starts = np.zeros(len(self.cells), int)
        for segment in self.segments:
            starts[segment.raised + 1 :] = segment.first
        return starts

    @cached_property
    def before(self) -> np.ndarray:
        """The evidence in force before each batch that is judged, (n, C, C)."""
        if self.counts_all:
            return self.sums[self.judged] - self.sums[self.starts[self.judged]]
        forgetting = self.memory.get("forgetting", 1.0)
        current = self._in_force_at(self.judged - 1, self.starts[self.judged])
        return current * forgetting

    def _in_force_at(self, last, starts):
        """Return the evidence in force after batches, of which the first that counts is given."""
        tables = np.zeros((len(last), *self.cells.shape[1:]))
        for start in np.unique(starts):
            current = discounted(self.tables[start:], **self.memory).values
            rows = np.flatnonzero((starts == start) & (last >= start))
            tables[rows] = current[last[rows] - start]
        return tables

    def evidence(self, start: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Return the evidence from some batches to others, (k, C, C), or what is in force of it."""
        if self.counts_all:
            return self.sums[last + 1] - self.sums[start]
        return self._in_force_at(last, start)

    def like(self, first: int, last: int, segment: "Segment") -> np.ndarray:
        """Return the evidence from a batch to another, of the phases since a change, (1, C, C)."""
        if "phase" not in self.tables.coords:
            return self.evidence(np.array([first]), np.array([last]))
        phases = self.tables.coords["phase"].values
        of_change = phases[segment.first : segment.raised + 1]
        is_like = np.isin(phases[first : last + 1], of_change)
        chosen = self.cells[first : last + 1][is_like if is_like.any() else slice(None)]
        return chosen.sum(axis=0, keepdims=True)

    @property
    def counts_all(self) -> bool:
        """Whether nothing is forgotten, and spans of recent evidence are looked at."""
        if self.is_sampled:
            return False  # for each span a posterior would be sampled
        return self.memory.get("forgetting", 1.0) == 1 and self.memory.get("window") is None

    @property
    def n_spans(self) -> int:
        """How many spans of recent evidence there are."""
        return len(SPANS) if self.counts_all else 1

    def recent(self, first: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield recent evidence, (n, C, C), and the batch it starts at; none before `first`."""
        earliest = np.maximum(self.starts[self.judged], first)
        if not self.counts_all:
            length = self.memory.get("window") or len(self.cells)
            start = np.maximum(self.judged + 1 - length, earliest)
            yield self._in_force_at(self.judged, earliest), start
            return
        for span in SPANS:
            start = np.maximum(self.judged + 1 - span, earliest)
            yield self.sums[self.judged + 1] - self.sums[np.minimum(start, self.judged + 1)], start

    def posterior(self, cells: np.ndarray) -> Posterior:
        """Return the posterior of tables (n, C, C) with the labels of the batches."""
        template = self._template
        cells = cells.astype(float)
        tables = xr.DataArray(cells, template.coords, template.dims, "counts", template.attrs)
        return posterior_of(tables, self.concentration)

    @cached_property
    def _template(self):
        of_steps = ["step", "batch_id", "at", "recorded_at", "classes", "phase"]
        return self.tables[:1].drop_vars(of_steps, errors="ignore")

    @cached_property
    def coords(self) -> dict[str, np.ndarray]:
        """The step, the name and the time of each batch."""
        coords = self.tables.coords.variables
        step = coords["step"].values if "step" in coords else np.arange(len(self.cells))
        no_time = np.full(len(step), "NaT", "<M8[us]")
        return {
            "step": step,
            "batch_id": coords["batch_id"].values if "batch_id" in coords else step.astype(str),
            "at": coords["at"].values if "at" in coords else no_time,
        }


class Phase(NamedTuple):
    """
    The batches of one phase of a season.

    Attributes
    ----------
    series : MonitoredSeries
    places : ndarray of int, or None
        Their places among all batches; None if these are all.
    number : int
        How many batches there are in all.
    """

    series: MonitoredSeries
    places: np.ndarray | None
    number: int

    def placed(self, alarms: dict) -> dict:
        """Return the alarms of the phase, which last as long as all batches count."""
        if self.places is None:
            return alarms
        place = dict(zip(self.series.coords["step"].tolist(), range(len(self.places)), strict=True))
        start = np.array([place[step] for step in alarms["step"].tolist()], int)
        after = np.append(self.places, self.number)[start + alarms["lasted"]]
        lasted = np.where(alarms["on"], self.number, after) - self.places[start]
        on = alarms["on"]
        if (alarms["rule"] == "batch").all():  # about one batch, and not about those that follow
            lasted, on = np.ones(len(start), int), self.places[start] == self.number - 1
        return alarms | {"lasted": lasted, "on": on}


# Changes: what the batches are parted into


class Segment(NamedTuple):
    """
    The batches since a change.

    Attributes
    ----------
    first : int
        The most probable first batch after the change, when the alarm was raised.
    raised : int
        The batch that raised the alarm.
    log_bayes_factor : float
        Of a change against none, by then.
    """

    first: int
    raised: int
    log_bayes_factor: float


def change_share(rate: float, floor: Any = None, reference: Any = None) -> float:
    """Return the share of the rate of false alarms that the rule `change` has, of counts."""
    return rate / _number_of_rules(("change", "batch"), floor, reference)


def share_of_change(tables: xr.DataArray, measures: Any, keywords: Mapping[str, Any]) -> float:
    """
    Return the share of the rate of false alarms that the rule `change` has, whatever the type.

    Parameters
    ----------
    tables : DataArray
    measures : sequence of measures
        Those that are monitored.
    keywords : mapping
        The keywords of `evaluate_rules`.
    """
    rate, floor = keywords.get("rate", RATE), keywords.get("floor")
    rules = type_of(tables).alarm_rules(tables)
    if "calibration" not in rules:
        return rate / _number_of_rules(rules, floor, keywords.get("reference"))
    limits = _limits_of_forecasts(measures, floor, keywords.get("tolerance"))
    return rate / (1 + sum(map(len, limits)))


def segments(tables: xr.DataArray, concentration: Any, share: float) -> list[Segment]:
    """
    Return the changes of a series, each after the alarm of the one before.

    Parameters
    ----------
    tables : DataArray, dims (step, actual, predicted), (step, actual, bin) or (step, statistic)
        The batches. Of probabilities a change is one in what comes true of them (`events_of`), of
        scores none is looked for, of items it is one in the shares of the parts of their scale,
        whose prior is half an item in each.
    concentration : optional
        Prior pseudo-counts.
    share : float
        Of the rate of false alarms: the Bayes factor is compared with one over it.
    """
    statistic = type_of(tables).change_statistic(tables)
    if statistic is None:
        return []
    prior = None
    if statistic.law == "multinomial":
        prior = check_proper(prior_of_change(statistic, tables, concentration))
    cells, score = comparable(statistic, prior, tables)
    sums = np.concatenate([np.zeros((1, *cells.shape[1:]), cells.dtype), cells.cumsum(axis=0)])
    changes: list[Segment] = []
    begin, unchanged, threshold = 0, 1, -np.log(share)
    while change := _first_change(sums[begin:] - sums[begin], score, threshold, unchanged):
        changes.append(Segment(begin + change.first, begin + change.raised, change[2]))
        begin = changes[-1].first
        unchanged = changes[-1].raised - begin + 1
    return changes


def prior_of_change(
    statistic: ChangeStatistic, tables: xr.DataArray, concentration: Any
) -> np.ndarray:
    """Return the pseudo-counts of the numbers in which a change is looked for."""
    return prior_cells(concentration, tables) if statistic.prior is None else statistic.prior


def _first_change(sums, score, threshold, unchanged):
    """
    Return the first alarm of a change, or None.

    Parameters
    ----------
    sums : ndarray, shape (T + 1, C, C)
        Sums of the counts before every batch, and of all.
    score : callable
        See `mixture`.
    threshold : float
        Of the log Bayes factor.
    unchanged : int
        How many batches there are at the beginning, at least, before there may be a change.
    """
    ages = _AGES[max(len(sums), 2) > _AGES]
    weights = geometric_prior(np.arange(len(sums)) - unchanged + 1, _HAZARD)
    for begin in range(unchanged, len(sums), _BLOCK):
        block = sums[: begin + _BLOCK]
        log, _, latest = mixture(block, ages, weights, score, begin)
        if (log >= threshold).any():
            row = int((log >= threshold).argmax())
            return Segment(int(latest[row]), begin + row - 1, float(log[row]))
    return None


# The rules


def _change(series, measures, share):
    """Return the alarms of changes; each is on until the next while a measure is worse for it."""
    threshold, last = -np.log(share), len(series.cells) - 1
    healthy, is_worse, first = None, False, 0
    rows, lasted, on, directions = [], [], [], []
    for index, segment in enumerate(series.segments):
        before = _moments(series, measures, first, segment.first - 1, segment)
        after = _moments(series, measures, segment.first, segment.raised)
        # While a measure is still worse than before an earlier change, it is compared with that.
        healthy = healthy if is_worse else before
        is_worse = bool((_moved_by(after, healthy, 2) > _WORSE).any())
        first, is_latest = segment.first, index == len(series.segments) - 1
        end = last + 1 if is_latest else series.segments[index + 1].raised
        lasted.append(end - segment.raised if is_worse else 1)
        on.append(is_latest and is_worse)
        rows.append(_furthest(series, measures, segment, before, after))
        directions.append(_direction(_moved_by(after, before, 2)))
    listed = [i for i, segment in enumerate(series.segments) if segment.raised >= series.first]
    facts = {name: np.array([rows[i][name] for i in listed]) for name in _FACTS}
    batch = np.array([series.segments[i].raised for i in listed], int)
    start = np.array([series.segments[i].first for i in listed], int)
    value = np.array([series.segments[i].log_bayes_factor for i in listed])
    names = [rows[i]["name"] for i in listed]
    facts["direction"] = np.array([directions[i] for i in listed], dtype=object)
    duration = np.array([lasted[i] for i in listed], int), np.array([on[i] for i in listed], bool)
    return _columns(
        series,
        "change",
        what_changes(series.tables),
        names,
        batch,
        start,
        value,
        threshold,
        duration,
        facts,
    )


def _direction(moved):
    """Return the direction of a change, by how far each measure has become worse."""
    is_worse, is_better = (moved > _WORSE).any(), (moved < -_WORSE).any()
    if is_worse and is_better:
        return MIXED
    return WORSE if is_worse else BETTER if is_better else UNCLEAR


def _moments(series, measures, first, last, like=None):
    """
    Return mean, sd and badness of every value that is monitored, (3, V): more is worse.

    If there are seasons, only batches of the same phases as those of ``like`` count.
    """
    evidence = series.evidence(np.array([first]), np.array([last]))
    posterior = series.posterior(evidence if like is None else series.like(first, last, like))
    parts = []
    for measure in measures:
        distribution = _distribution(posterior, measure)
        mean, sd = np.ravel(distribution.mean()), np.ravel(distribution.sd())
        if measure.__name__ in TOLERANCE:
            badness = np.abs(mean - np.ravel(posterior.if_right(measure)))
        else:
            badness = mean if measure.lower_is_better else -mean
        parts.append(np.stack([mean, sd, badness]))
    return np.concatenate(parts, axis=1)


def _moved_by(after, before, row):
    """Return by how many standard deviations every mean (row 0) or badness (row 2) has moved."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return (after[row] - before[row]) / np.hypot(after[1], before[1])


def _furthest(series, measures, segment, before, after):
    """Return what is known of the value that a change has moved furthest."""
    moved = np.nan_to_num(np.abs(_moved_by(after, before, 0)), nan=-1.0)
    index = int(moved.argmax())
    values = [
        (measure, column) for measure in measures for column in range(len(_names(series, measure)))
    ]
    measure, column = values[index]
    evidence = series.evidence(np.array([segment.first]), np.array([segment.raised]))
    estimate, lower, upper = _estimates(series.posterior(evidence), measure, np.array([column]))
    return {
        "name": _names(series, measure)[column],
        "estimate": estimate[0],
        "lower": lower[0],
        "upper": upper[0],
        "limit": before[0, index],
    }


def _batch(series, measure, level):
    before, batches = series.before, series.cells[series.judged]
    enough = series.posterior(before).enough & series.posterior(batches).enough
    rows = np.flatnonzero(np.broadcast_to(enough, len(batches)))
    tails = np.ones((len(batches), *_shape_of_value(series, measure)))
    posteriors = series.posterior(before[rows]), series.posterior(batches[rows])
    tails[rows] = unlikely_batches(measure, *posteriors, level)

    def limit(posterior, batch, column):
        rows = series.before[batch - series.judged[0]]
        return _pick(_distribution(series.posterior(rows), measure).mean(), column)

    return _rows(series, "batch", measure, tails, tails <= level, level, limit, onset=False)


def _reference(series, measure, level, first, table):
    reference = _distribution(posterior_of(table, series.concentration), measure)
    limit = _point(posterior_of(table, series.concentration), measure)

    def is_beyond(posterior):
        values = _point(posterior, measure)
        return values > limit if measure.lower_is_better else values < limit

    def probability(posterior):
        return _prob_worse(_distribution(posterior, measure), reference, measure.lower_is_better)

    def limit_of(posterior, batch, column):
        return np.broadcast_to(np.ravel(limit)[column], len(batch))

    rule = "reference"
    return _by_recent(series, rule, measure, is_beyond, probability, level, limit_of, first)


def _floor(series, measure, floor, level):
    floor = np.asarray(floor)  # one for all values, or one for each, NaN if it has none

    def is_beyond(posterior):
        values = _point(posterior, measure)
        return values > floor if measure.lower_is_better else values < floor

    def probability(posterior):
        reached = _below(_distribution(posterior, measure), floor)
        return 1 - reached if measure.lower_is_better else reached

    def limit(posterior, batch, column):
        return np.broadcast_to(floor, _shape_of_value(series, measure)).ravel()[column]

    return _by_recent(series, "floor", measure, is_beyond, probability, level, limit)


def _calibration(series, measure, tolerance, level):
    def is_beyond(posterior):
        return np.abs(posterior.point(measure) - posterior.if_right(measure)) > tolerance

    def probability(posterior):
        right, distribution = posterior.if_right(measure), posterior.distribution(measure)
        low, high = distribution.cdf(right - tolerance), distribution.sf(right + tolerance)
        return np.fmax(low, high)

    def limit(posterior, batch, column):
        right = _pick(posterior.if_right(measure), column)
        is_above = _pick(posterior.point(measure), column) > right
        return right + np.where(is_above, tolerance, -tolerance)

    return _by_recent(series, "calibration", measure, is_beyond, probability, level, limit)


def _by_recent(series, rule, measure, is_beyond, probability, level, limit, first=0):
    """
    Return the alarms of a rule on recent evidence, of whichever span.

    Parameters
    ----------
    is_beyond : callable
        From the posterior of tables to where the plug-in estimate is beyond the limit: elsewhere
        the probability is not worked out.
    probability : callable
        From the posterior of tables to the probability that the measure is beyond the limit.
    limit : callable
        What the estimates of alarms are to be compared with; see `_rows`.
    first : int
        Evidence from before this batch is not recent.
    """
    highest = np.zeros((len(series.judged), *_shape_of_value(series, measure)))
    since = np.zeros(highest.shape, int)
    for cells, start in series.recent(first):
        posterior = series.posterior(cells)
        with np.errstate(divide="ignore", invalid="ignore"):
            beyond = is_beyond(posterior)
        enough = np.broadcast_to(posterior.enough, len(cells))
        beyond &= enough.reshape(-1, *[1] * (beyond.ndim - 1))
        rows = np.flatnonzero(beyond.reshape(len(beyond), -1).any(axis=1))
        if not len(rows):
            continue
        probable = np.where(beyond[rows], probability(series.posterior(cells[rows])), 0.0)
        starts = np.broadcast_to(start[rows].reshape(-1, *[1] * (beyond.ndim - 1)), probable.shape)
        since[rows] = np.where(probable > highest[rows], starts, since[rows])
        highest[rows] = np.fmax(probable, highest[rows])
    threshold = 1 - level
    is_on = highest >= threshold
    return _rows(series, rule, measure, highest, is_on, threshold, limit, since=since)


_FACTS = ("estimate", "lower", "upper", "limit")


def _rows(series, rule, measure, values, is_on, threshold, limit, *, since=None, onset=True):
    """
    Return the columns of a rule's alarms.

    Parameters
    ----------
    values, is_on : ndarray, shape (n, [C])
        Of each batch that is judged, what is compared with the threshold, and whether that is so.
    limit : callable
        From the posterior, the batches and the classes of alarms to what they are compared with.
    since : ndarray of int, shape (n, [C]), optional
        The batch at which what an alarm is about begins; by default the batch itself.
    onset : bool, default True
        Whether only the first of alarms in a row is listed.
    """
    is_on = is_on.reshape(len(is_on), -1)
    is_listed = is_on
    if onset:
        was_on = np.concatenate([np.zeros_like(is_on[:1]), is_on[:-1]])
        is_listed = is_on & ~was_on
    # Where each run of batches at which the rule is on ends, looked for from the last one.
    end = np.where(is_on, len(is_on), np.arange(len(is_on))[:, None])
    end = np.minimum.accumulate(end[::-1], axis=0)[::-1]
    row, column = np.nonzero(is_listed & (series.judged >= series.first)[:, None])
    batch = series.judged[row]
    start = batch if since is None else since.reshape(len(since), -1)[row, column]
    lasted, on = end[row, column] - row, end[row, column] == len(is_on)
    facts = {name: np.empty(0) for name in _FACTS}
    if len(batch):
        posterior = series.posterior(series.evidence(start, batch))
        numbers = *_estimates(posterior, measure, column), limit(posterior, batch, column)
        facts = dict(zip(_FACTS, numbers, strict=True))
    facts["direction"] = np.full(len(batch), WORSE, dtype=object)
    if rule == "batch":
        is_higher = facts["estimate"] > facts["limit"]
        is_better = is_higher != measure.lower_is_better
        facts["direction"][is_better] = BETTER
    names = np.array(_names(series, measure), dtype=object)[column]
    value = values.reshape(len(values), -1)[row, column]
    return _columns(series, rule, names, names, batch, start, value, threshold, (lasted, on), facts)


def _columns(series, rule, measures, names, batch, start, value, threshold, duration, facts):
    """Return the columns of the alarms of batches about the evidence from others on."""
    at, step = series.coords["at"], series.coords["step"]
    columns = {
        "step": step[batch],
        "batch_id": series.coords["batch_id"][batch],
        "at": at[batch],
        "first": step[start],
        "since": at[start],
        "rule": np.full(len(batch), rule, dtype=object),
        "measure": np.full(len(batch), measures, dtype=object),
        **facts,  # `direction` among them
        "value": value,
        "threshold": np.full(len(batch), float(threshold)),
        "lasted": duration[0],
        "on": duration[1],
    }
    numbers = [facts[name] for name in _FACTS]
    rows = zip(names, batch - start + 1, at[start], *numbers, value, strict=True)
    changing = what_changes(series.tables)
    sentences = [_sentence(rule, changing, *row) for row in rows]
    return columns | {"sentence": np.array(sentences, dtype=object)}


def _shape_of_value(series, measure):
    """Return the shape of a measure of one batch: of raters, of classes or neither."""
    template = series.posterior(series.all_together).measure_template(measure)
    return template.shape[1:]


def _names(series, measure):
    """Return the names of the values of a measure: its own, or one for each rater and class."""
    template = series.posterior(series.all_together).measure_template(measure)
    dims = template.dims[1:]
    labels = [template.coords[dim].values.tolist() for dim in dims]
    wheres = (dict(zip(dims, each, strict=True)) for each in product(*labels))
    return [value_name(measure.__name__, where) for where in wheres]


def value_name(measure: str, where: Mapping[Any, Any]) -> str:
    """
    Return the name of one value of a measure: ``recall[sick]``, ``win_rate[old][system=new]``.

    A class has its label in brackets. Raters and systems have their dim too, since a label alone
    may be an opponent.
    """
    parts = [f"[{label}]" if dim == "class" else f"[{dim}={label}]" for dim, label in where.items()]
    return measure + "".join(parts)


def _pick(values, column):
    """Return the values (k, [C]) of k alarms, each of its own class."""
    return np.reshape(values, (len(column), -1))[np.arange(len(column)), column]


def _estimates(posterior, measure, column):
    """Return posterior mean and bounds of the 95% HDI of the measure of each alarm."""
    distribution = _distribution(posterior, measure)
    ends = np.asarray(distribution.hdi(0.95)).reshape(len(column), -1, 2)
    lower, upper = ends[np.arange(len(column)), column].T
    return _pick(distribution.mean(), column), lower, upper


_SENTENCES = {
    "change": "the {changing} have changed: {measure} {estimate}, {limit} before (Bayes factor "
    "{value})",
    "batch": "{measure} of one batch {estimate}, where {limit} was to be expected (chance {value})",
    "reference": "{measure} of {span} {estimate}, worse than {limit} in the reference "
    "(probability {value})",
    "floor": "{measure} of {span} {estimate}, {side} the floor {limit} (probability {value})",
    "calibration": "{measure} of {span} {estimate}, beyond the {limit} that is tolerated "
    "(probability {value})",
}


def _sentence(rule, changing, name, number, since, estimate, lower, upper, limit, value):
    """Return what an alarm says, in words."""
    if rule == "change":
        shown = f"{np.exp(min(value, 690)):.2g}"
    elif rule == "batch":
        shown = f"{value:.2g}"
    else:
        shown = "> 0.9999" if value > 0.9999 else f"{value:.4f}"
    text = _SENTENCES[rule].format(
        measure=displayed(name),
        changing=changing,
        span="the last batch" if number == 1 else f"the last {number} batches",
        estimate=f"{estimate:.3g} [{lower:.3g}, {upper:.3g}]",
        limit=f"{limit:.3g}",
        side="below" if estimate < limit else "above",
        value=shown,
    )
    if rule == "batch" or np.isnat(since):
        return text
    return f"{text}, since {since.astype('datetime64[m]').item():%Y-%m-%d %H:%M}"


def displayed(name):
    """Return how a measure is written, with a class or a system behind it: ``recall[sick]``."""
    if found := re.fullmatch(r"(.*?)\[(\w+)=(.*)\]", name):
        measure, dim, label = found.groups()
        return f"{display_name(measure)} ({dim} {label})"
    measure, bracket, label = name.partition("[")
    return display_name(measure) + bracket + label


def _table(columns: Sequence[Mapping[str, np.ndarray]]) -> pd.DataFrame:
    """Return one row per alarm of all rules, in the order of time."""
    if not columns:
        return pd.DataFrame({name: [] for name in COLUMNS})
    order = np.argsort(np.concatenate([rule["step"] for rule in columns]), kind="stable")
    every = {name: np.concatenate([rule[name] for rule in columns]) for name in COLUMNS}
    return pd.DataFrame({name: values[order] for name, values in every.items()})


# The limits, and how often alarms may be false

_KEYWORDS = ("rate", "floor", "reference", "tolerance", "horizon", "silence")


def check_rules(rules: Mapping[str, Any]) -> None:
    """Raise where a keyword of the rules of a monitor is none."""
    for name in rules:
        if name not in _KEYWORDS:
            todo = suggest(name, _KEYWORDS) or "leave it out"
            if name in ("measure", "measures"):
                todo = "pass measures to the monitor: Monitor(store, classifier, `measures=['f1']`)"
            raise fail("the rules of alarms have no such keyword", name, _KEYWORDS, todo, TypeError)


def check_rate(rate: float, horizon: int) -> None:
    """Raise where the rate of false alarms, or what it is about, is none."""
    if not isinstance(rate, int | float | np.number) or not 0 < rate < 1:
        todo = "pass `rate=0.05` for one stream in twenty with a false alarm"
        raise fail("rate must lie between 0 and 1", rate, "0 < rate < 1", todo)
    if isinstance(horizon, bool) or not isinstance(horizon, int | np.integer) or horizon < 1:
        todo = "pass `horizon=1000`"
        raise fail("horizon must be a number of batches", horizon, "1 or more", todo)


def _floors(floor, measures):
    """Return the floor of each measure that has one, by the name under which it is monitored."""
    if floor is None:
        return {}
    if not isinstance(floor, Mapping):
        floor = dict.fromkeys([measure.__name__ for measure in measures], floor)
    return _limits("floor", floor, measures, lambda size: check_number("floor", size, usual=0.8))


def _floors_of_values(floor, measures, series):
    """
    Return floors as `_floors` does; one of a single value, such as ``recall[sick]``, in an array.

    A measure with such a floor has an array with the shape of the measure, NaN if a value has none.
    """
    if not isinstance(floor, Mapping):
        return _floors(floor, measures)
    plain, single = dict(floor), {}
    of_measures = {measure.__name__ for measure in measures}
    for measure in measures:
        names = _names(series, measure) if len(_shape_of_value(series, measure)) else []
        here = [name for name in floor if name in names and name not in of_measures]
        if found := {names.index(name): plain.pop(name) for name in here}:
            single[measure] = found
    floors = _floors(plain, measures)
    for measure, found in single.items():
        of_all = floors.get(measure.__name__, np.nan)
        array = np.full(_shape_of_value(series, measure), of_all)
        for place, size in found.items():
            array.flat[place] = check_number("floor", size, usual=0.8)
        floors[measure.__name__] = array
    return floors


def floor_of(floor: Any, name: str, label: str) -> float | None:
    """
    Return the floor of a value of a measure, or None.

    Parameters
    ----------
    floor : float, mapping of str to float, or None
        As of `evaluate_rules`.
    name, label : str
        The measure, and the measure with the class or system of the value: ``"recall[sick]"``.
    """
    if not isinstance(floor, Mapping):
        return floor
    of_measure = (size for alias, size in floor.items() if same(alias, name))
    return floor[label] if label in floor else next(of_measure, None)


def _check_tolerance(size):
    if not isinstance(size, int | float | np.number) or not 0 <= size < np.inf:
        raise fail("a tolerance must not be negative", size, "a number >= 0", "pass 0.02")
    return float(size)


def _limits(noun, limits, measures, check):
    """Return limits by the names under which their measures are monitored."""
    names = [measure.__name__ for measure in measures]
    by_name: dict[str, float] = {}
    for alias, size in limits.items():
        indices = among(measures, alias)
        if not indices:
            what = f"a {noun} for a measure that is not monitored"
            raise fail(what, alias, names, "monitor it too")
        by_name |= dict.fromkeys([names[index] for index in indices], check(size))
    return by_name


def _n_values(measure, series):
    """Return how many numbers a measure gives: one, or one for each rater and class."""
    return int(np.prod(_shape_of_value(series, measure)))


def _reference_period(series, reference):
    """Return how many batches are in the reference, and their table; None where there is none."""
    counts = series.tables
    if reference is None:
        return None
    if not isinstance(reference, xr.DataArray):
        first, last = int(reference), counts.sizes["step"]
        if first < 1:
            allowed = "counts, or a number of first batches"
            raise fail("no such reference period", reference, allowed, "pass `reference=10`")
        first = min(first, last)  # until it is over, no batch is compared with it
        return first, counts[:first].sum("step", keep_attrs=True)
    if encoding_of(counts) != COUNTS:
        todo = "pass `reference=10` for the first ten batches"
        raise fail("a reference of items is of batches", ..., "their number", todo, TypeError)
    reference = as_counts(reference)
    if reference.ndim != 2:
        raise _not_a_single_table(reference)
    _check_same_labels(reference, counts)
    return 0, reference


def _check_same_labels(reference, counts):
    got, allowed = reference.indexes["actual"].tolist(), counts.indexes["actual"].tolist()
    if got != allowed:
        todo = "give both the same labels"
        raise fail("the reference has different labels", got, str(allowed), todo)


def _not_a_single_table(reference):
    todo = "sum over its batches: reference.sum('step')"
    return fail("the reference must be a single table", reference.dims, str(CELLS), todo)


# Posterior probabilities of a floor, and of worse than in a reference period

# The trapezoidal rule for a standard normal variable: exponentially accurate.
_Z = np.linspace(-8.5, 8.5, 137)
_WEIGHTS = np.exp(-(_Z**2) / 2) / np.exp(-(_Z**2) / 2).sum()


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
    kernel = one_kernel(measure, counts)
    floor = check_number("floor", floor, usual=0.8)
    below = _distribution(posterior_of(counts, concentration), kernel).cdf(floor)
    return _labelled(kernel, counts, below)


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
        raise _not_a_single_table(reference)
    kernel = one_kernel(measure, counts)
    _check_same_labels(reference, counts)
    current, earlier = (
        _distribution(posterior_of(table, concentration), kernel) for table in (counts, reference)
    )
    return _labelled(kernel, counts, _prob_worse(current, earlier, kernel.lower_is_better))


def _prob_worse(current: Distribution, earlier: Distribution, lower_is_better: bool) -> np.ndarray:
    """
    Return the probability that a measure is worse now than it was.

    It is read off the distribution of the difference if that is known. Otherwise, with F the
    current distribution function and Q the earlier quantile function, it is the mean of
    F(Q(Phi(z))) over a standard normal z; of draws and of quadratures, that of a normal difference.
    """
    difference = current.minus(earlier)
    if difference is not None:
        below = difference.cdf(0.0)
    elif current.accurate_tails and earlier.accurate_tails:
        quantiles = [earlier.quantile(q) for q in special.ndtr(_Z)]
        below = sum(w * current.cdf(x) for w, x in zip(_WEIGHTS, quantiles, strict=True))
    else:
        gap, spread = earlier.mean() - current.mean(), np.hypot(earlier.sd(), current.sd())
        below = special.ndtr(gap / spread)
    return 1 - below if lower_is_better else below


def _below(distribution: Distribution, floor: Any) -> np.ndarray:
    """Return the probability that a measure is at most a floor, of use far out in the tail."""
    if distribution.accurate_tails:
        sizes = np.unique(np.asarray(floor)[np.isfinite(floor)])
        below: Any = np.nan
        for size in sizes.tolist():
            below = np.where(np.equal(floor, size), distribution.cdf(size), below)
        return below
    sd = distribution.sd()
    # A value without uncertainty is known by definition, such as the win rate of a system against
    # itself: it has no alarms.
    sd = np.where(sd > 0, sd, np.nan)
    return special.ndtr((floor - distribution.mean()) / sd)


def _distribution(posterior: Posterior, measure: Callable) -> Distribution:
    return posterior.distribution(posterior.bound(measure))


def _point(posterior: Posterior, measure: Callable) -> np.ndarray:
    return posterior.point(posterior.bound(measure))


def _labelled(measure, counts, values):
    template = apply(measure, counts)
    return template.copy(data=np.broadcast_to(values, template.shape))
