"""
Alarm rules based on posterior and predictive probabilities, with a fixed false-alarm rate.

`rate` is the probability that an unchanged stream raises any alarm within `horizon` batches. The
rules in use share it equally, and each rule divides its share among the values that it examines
(Bonferroni's inequality). The table gives the level of each rule: the largest probability of a
false alarm for one value, one batch and one span of evidence. For `change`, the level applies to
all batches together, by Ville's inequality (see `bayes_factor`).

=========== ========= ======================================================== ==================
rule        evidence  fires if                                                 level
=========== ========= ======================================================== ==================
change      not r     the Bayes factor of a change exceeds 1 / level           share
batch       counts, i the two-sided predictive tail of a batch is <= level     share / (H V)
reference   counts, i P(worse than in the reference | recent) >= 1 - level     share / (H V S)
floor       all       P(worse than the floor | recent) >= 1 - level            share / (H V S)
calibration binned    P(beyond the tolerance on a side | recent) >= 1 - level  share / (H V S)
=========== ========= ======================================================== ==================

- i: item scores, attempts, item counts and multilabel examples.
- r: ratings, scores that are not probabilities, and probabilities of three or more classes.
- binned: forecasts of two classes.

`EvidenceType.alarm_rules` defines the rules of each type. The probabilities are averaged over true
values drawn from the prior. For one fixed true value, false alarms may be more or less frequent,
for instance if there are few examples and the prior is far from the true value.

Here H is the horizon and V the number of monitored values (measures times classes). S is the number
of spans of recent evidence: 10 (the last batch and the last 2, 4, 8, ..., 512 together), or 1 with
forgetting, a window or a sampled posterior. The share depends on the type of the batches:

- Counts and items: ``rate`` divided by the number of rules in use, which are `change`, `batch`, and
  `reference` and `floor` if requested.
- Binned forecasts: ``rate`` divided by the number of limits (floors and tolerances), plus one for
  `change` if the forecasts are probabilities. V is 1.
- Partly labelled batches and votes: ``rate`` divided between `change` and, if requested, `floor`.
- Ratings and probabilities of three or more classes, for which only floors are available: ``rate``.

The rule `change` tests for a change of the predictions given the class. For item scores, it tests
the distribution over the parts of the scale; for multilabel examples, the distribution of the
number of wrong labels. For probabilities, it tests the outcomes given the forecasts. Scores that
are not probabilities are not tested.

Once `change` has fired, all rules start again at the first batch after the change, at its most
probable position given the batches up to the alarm (`segments`). This applies to the current
evidence, to the evidence that a batch is compared with, and to the spans of recent evidence.

The rule `change` then tests for another change at any batch after its alarm, against one table for
all batches since the change. Batches up to the alarm inform this table but are not evidence of a
second change. Without a second change, the Bayes factor exceeds 1 / share with probability at
most the share, whenever the alarm came. This probability is averaged over the posterior of the
table given these batches.

``docs/validation/online.py`` simulates the rate of false alarms, including second alarms, and the
delay until a real drop is detected. The docs tabulate the results.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from bayescm.answers.interval import resolve_measures
from bayescm.distributions.base import Distribution
from bayescm.evidence.counts import as_counts
from bayescm.evidence.evidence_type import ChangeStatistic
from bayescm.evidence.registry import type_of
from bayescm.measures.catalogue import among, same
from bayescm.measures.display_names import display_name
from bayescm.measures.labelled import apply, as_measures, one_measure
from bayescm.online.bayes_factor import check_proper, geometric_prior, mixture
from bayescm.online.comparable import comparable
from bayescm.online.discounting import check_single_series, discounted
from bayescm.online.encoding import COUNTS, encoding_of, what_changes
from bayescm.online.predictive_check import unlikely_batches
from bayescm.online.updating import monitored_measures, posterior_of, prior_cells
from bayescm.posteriors.base import Posterior
from bayescm.validate import check_number, fail, suggest

# Rules for counts, in the order of the columns of ``docs/results/run_length_*.csv``.
RULES = ("batch", "floor", "reference", "change")
COLUMNS: tuple[str, ...] = (
    *("step", "batch_id", "at", "first", "since", "rule", "measure", "direction"),
    *("estimate", "lower", "upper", "limit", "value", "threshold", "lasted", "on", "sentence"),
)
RATE = 0.05  # default probability of a false alarm within the horizon
HORIZON = 1000  # default horizon in batches
_HAZARD = 0.01  # prior probability of a change at each batch
# Numbers of batches in the spans of recent evidence.
SPANS = tuple(2**power for power in range(10))
# Ages of possible changes, in batches: each of the last sixteen, then increasingly sparse.
_AGES = np.unique(np.r_[1:17, np.geomspace(16, max(SPANS), 36).astype(int)])
# Accepted distance of a measure from its value under correct forecasts, on both sides.
TOLERANCE = {"calibration_in_the_large": 0.02, "calibration_slope": 0.2}
_BLOCK = 512  # number of batches tested for a change at once
# 0.95 quantile of the standard normal distribution. A measure is worse than before a change if its
# standardised deterioration exceeds this value.
_WORSE = 1.645
# Directions of an alarm; `mixed` means that some measures are better and some are worse.
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
        The batches, dims (step, actual, predicted), in time order.
    measures : name, function, or sequence of these
        Measures to monitor.
    rate : float, default 0.05
        Probability in (0, 1), averaged over the prior, that an unchanged stream raises any alarm
        within `horizon` batches. The rules in use share it equally.
    floor : float or mapping of str to float, optional
        Worst acceptable value of all measures, or of each measure by name: the smallest value or,
        if lower is better, the largest. Put a single class or system in brackets:
        ``{"recall[sick]": 0.8}``, ``{"win_rate[old][system=new]": 0.5}``.
    reference : int or DataArray, optional
        Number of first batches to compare later ones with, or the counts of a reference period or
        another classifier.
    horizon : int, default 1000
        Number of batches for `rate`.
    concentration, forgetting, window
        See `surprise`.

    Returns
    -------
    DataFrame
        One row per alarm, in time order, with these columns:

        - ``step``, ``batch_id`` and ``at`` of the batch that raised the alarm.
        - ``first`` and ``since``: step and time of the first batch of the evidence behind the
          alarm.
        - ``rule`` and ``measure``.
        - ``direction``: ``worse`` or ``better``. For `change` also ``mixed``, or ``unclear`` if no
          measure has moved far.
        - ``estimate``, ``lower`` and ``upper``: posterior mean and 95% highest-density interval of
          the measure, from the batches since ``first``.
        - ``limit``: the value to compare the estimate with.
        - ``value`` and ``threshold``: the statistic of the rule and its threshold.
        - ``lasted`` and ``on``: the number of batches that the alarm has lasted, and whether it is
          still on.
        - ``sentence``: a description of the alarm.

        The rules are:

        ``change``
            The Bayes factor for a change of the predictions given the class exceeds its threshold
            (see `change`). Without a change, this happens with probability at most the rule's share
            of `rate`. Estimate and limit are the values after and before the change, for the
            measure that has moved furthest. The alarm is on until the next change; if no measure is
            worse than before, it ends at once. All rules then use the evidence since the change.
        ``batch``
            A batch is incompatible with the batches before it, according to its predictive tail
            probability (see `surprise`).
        ``reference``
            The measure is worse than in the reference, with a posterior probability of at least the
            threshold. The evidence is the last batch, or the last 2, 4, 8, ..., 512 together. With
            ``forgetting`` or ``window``, it is the discounted evidence.
        ``floor``
            The measure is worse than its floor, according to the same recent evidence.

        Alarms of all rules except ``batch`` are listed once, at their onset.

    Examples
    --------
    >>> import bayescm as bcm
    >>> weeks = bcm.from_cells(tp=[45] * 9 + [30] * 3, fn=[5] * 9 + [20] * 3, fp=3, tn=47)
    >>> table = alarms(weeks.rename(batch="step"), "recall", floor=0.8)
    >>> table[["step", "rule"]].values.tolist()
    [[9, 'change'], [9, 'batch'], [11, 'floor']]
    >>> print(table["sentence"][0])
    the answers have changed: recall is 0.598 [0.464, 0.73], 0.899 before (Bayes factor 74)
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
    Return the alarms of a series of counts, binned forecasts or sums over items.

    Parameters
    ----------
    series : MonitoredSeries
        The batches and their prior.
    measures, rate, floor, reference, horizon
        See `alarms`. Only counts accept a table as reference.
    tolerance : mapping of str to float, optional
        For binned forecasts, the largest accepted deviation of a measure from its value under
        correct forecasts, on both sides. By default `TOLERANCE`, for the monitored measures.

    Returns
    -------
    DataFrame
        See `alarms`. The rule ``calibration`` fires if a measure is outside its tolerance according
        to recent evidence, with a posterior probability of at least the threshold.
    """
    check_rate(rate, horizon)
    entry = type_of(series.tables)
    rules = entry.alarm_rules(series.tables)
    if reference is not None and "reference" not in rules:
        raise fail(
            f"`reference` is not available for batches of {entry.name}",
            ...,
            "",
            "leave `reference` out, or set a floor",
        )
    if "calibration" in rules:
        return _of_forecasts(series, measures, rules, rate, horizon, floor, tolerance)
    if tolerance is not None:
        todo = "leave `tolerance` out, or set a floor"
        raise fail("`tolerance` is only available for probabilities", ..., "", todo)
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
    """Return the number of batches in the reference period of a phase, and their summed table."""
    if phase.places is None:
        return period
    if isinstance(reference, xr.DataArray):
        return period
    number = int((phase.places < period[0]).sum())
    if not number:
        return None  # no batch of this phase is in the reference
    return number, phase.series.tables[:number].sum("step", keep_attrs=True)


def _number_of_rules(rules, floor, reference):
    """Return the number of rules that share the rate of false alarms."""
    always = sum(rule in rules for rule in ("change", "batch"))
    return max(always + _has_floor(floor) + (reference is not None), 1)


def _has_floor(floor):
    return floor is not None and floor != {}


def _of_forecasts(series, measures, rules, rate, horizon, floor, tolerance):
    """Return the alarms of binned forecasts, for which each limit is treated as one rule."""
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
    """Return the tolerances and the floors of measures of forecasts."""
    return tolerances(resolved, tolerance), _floors(floor, resolved, {})


def tolerances(resolved: Any, tolerance: Any) -> dict[str, float]:
    """Return the tolerances of measures of forecasts by name, by default `TOLERANCE`."""
    if tolerance is None:
        tolerance = {name: size for name, size in TOLERANCE.items() if among(resolved, name)}
    return _limits("tolerance", tolerance, resolved, _check_tolerance)


# Series of batches


@dataclass(frozen=True, eq=False)
class MonitoredSeries:
    """
    Batches in time order, with the first batch to which the rules are applied.

    Attributes
    ----------
    tables : DataArray, dims (step, actual, predicted), (step, actual, bin) or (step, statistic)
        All batches.
    concentration : optional
        Prior pseudo-counts.
    memory : dict
        ``forgetting`` and ``window``, if old evidence is discounted.
    first : int
        First batch to which the rules are applied.
    segments : sequence of Segment
        Segments that start at a change.
    """

    tables: xr.DataArray
    concentration: Any = None
    memory: Mapping[str, Any] = field(default_factory=dict)
    first: int = 0
    segments: "Sequence[Segment]" = ()

    @cached_property
    def cells(self) -> np.ndarray:
        """Cells of the batches, (T, C, C)."""
        return self.tables.values

    @cached_property
    def sums(self) -> np.ndarray:
        """Cumulative sums of the batches, starting with zero, (T + 1, C, C)."""
        zero = np.zeros((1, *self.cells.shape[1:]), self.cells.dtype)
        return np.concatenate([zero, self.cells.cumsum(axis=0)])

    def of_each_phase(self) -> "list[Phase]":
        """Return one series per phase of the season, or a single one without a season."""
        if "phase" not in self.tables.coords:
            return [Phase(self, None, len(self.cells))]
        values = self.tables.coords["phase"].values
        return [self._of_phase(np.flatnonzero(values == phase)) for phase in np.unique(values)]

    def _of_phase(self, index):
        """Return the series of the batches with the given indices, with the same changes."""
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
        Return the measures in the form required by the posterior of the batches.

        Averages over classes include all classes. `Posterior.bound` leaves out classes that the
        current evidence lacks.
        """
        monitored = monitored_measures(measures, self.tables)
        # All batches are needed, because a label can be an abstention only if it is not a class in
        # any of them.
        tables = self.all_together if self.is_sampled else self.cells
        posterior: Any = self.posterior(tables)
        if posterior.measured or posterior.measured_variable != "cells":
            return resolve_measures(posterior, monitored)
        return as_measures(monitored, posterior.counts)

    @property
    def is_sampled(self) -> bool:
        """Whether the posterior of each table is sampled, which takes about one second."""
        return type_of(self.tables).one_by_one(self.tables)

    @property
    def all_together(self) -> np.ndarray:
        """Sum of all batches, (1, C, C)."""
        return self.cells.sum(axis=0, keepdims=True)

    @cached_property
    def judged(self) -> np.ndarray:
        """Indices of the evaluated batches and of the one before, to detect the onset of alarms."""
        return np.arange(max(self.first - 1, 0), len(self.cells))

    @cached_property
    def starts(self) -> np.ndarray:
        """For every batch, the first batch since the latest change detected before it."""
        starts = np.zeros(len(self.cells), int)
        for segment in self.segments:
            starts[segment.raised + 1 :] = segment.first
        return starts

    @cached_property
    def before(self) -> np.ndarray:
        """Current evidence before each evaluated batch, (n, C, C)."""
        if self.counts_all:
            return self.sums[self.judged] - self.sums[self.starts[self.judged]]
        forgetting = self.memory.get("forgetting", 1.0)
        current = self._in_force_at(self.judged - 1, self.starts[self.judged])
        return current * forgetting

    def _in_force_at(self, last, starts):
        """Return the current evidence after the batches `last`, given the first batch of each."""
        tables = np.zeros((len(last), *self.cells.shape[1:]))
        for start in np.unique(starts):
            current = discounted(self.tables[start:], **self.memory).values
            rows = np.flatnonzero((starts == start) & (last >= start))
            tables[rows] = current[last[rows] - start]
        return tables

    def evidence(self, start: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Return the evidence from batches `start` to `last`, (k, C, C), after discounting."""
        if self.counts_all:
            return self.sums[last + 1] - self.sums[start]
        return self._in_force_at(last, start)

    def like(self, first: int, last: int, segment: "Segment") -> np.ndarray:
        """Return the evidence (1, C, C) of the batches in a range with the phases of a change."""
        if "phase" not in self.tables.coords:
            return self.evidence(np.array([first]), np.array([last]))
        phases = self.tables.coords["phase"].values
        of_change = phases[segment.first : segment.raised + 1]
        is_like = np.isin(phases[first : last + 1], of_change)
        chosen = self.cells[first : last + 1][is_like if is_like.any() else slice(None)]
        return chosen.sum(axis=0, keepdims=True)

    @property
    def counts_all(self) -> bool:
        """Whether all evidence has full weight, so that spans of recent batches are examined."""
        if self.is_sampled:
            return False  # each span would need its own sampled posterior
        return self.memory.get("forgetting", 1.0) == 1 and self.memory.get("window") is None

    @property
    def n_spans(self) -> int:
        """Number of spans of recent evidence."""
        return len(SPANS) if self.counts_all else 1

    def recent(self, first: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield recent evidence, (n, C, C), and its first batch, which is `first` or later."""
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
        """Step, name and time of each batch."""
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
    Batches of one phase of a season.

    Attributes
    ----------
    series : MonitoredSeries
        The batches of this phase.
    places : ndarray of int, or None
        Positions of these batches among all batches. None without a season.
    number : int
        Total number of batches.
    """

    series: MonitoredSeries
    places: np.ndarray | None
    number: int

    def placed(self, alarms: dict) -> dict:
        """Return the alarms of the phase, with durations in batches of all phases."""
        if self.places is None:
            return alarms
        place = dict(zip(self.series.coords["step"].tolist(), range(len(self.places)), strict=True))
        start = np.array([place[step] for step in alarms["step"].tolist()], int)
        after = np.append(self.places, self.number)[start + alarms["lasted"]]
        lasted = np.where(alarms["on"], self.number, after) - self.places[start]
        on = alarms["on"]
        if (alarms["rule"] == "batch").all():  # each alarm concerns a single batch
            lasted, on = np.ones(len(start), int), self.places[start] == self.number - 1
        return alarms | {"lasted": lasted, "on": on}


# Segments between changes


class Segment(NamedTuple):
    """
    Batches since a change.

    Attributes
    ----------
    first : int
        Most probable first batch after the change, at the time of the alarm.
    raised : int
        Batch that raised the alarm.
    log_bayes_factor : float
        Log Bayes factor of a change against no change, at the time of the alarm.
    """

    first: int
    raised: int
    log_bayes_factor: float


def change_share(rate: float, floor: Any = None, reference: Any = None) -> float:
    """Return the share of the false-alarm rate for the rule `change`, for counts."""
    return rate / _number_of_rules(("change", "batch"), floor, reference)


def share_of_change(tables: xr.DataArray, measures: Any, keywords: Mapping[str, Any]) -> float:
    """
    Return the share of the false-alarm rate for the rule `change`, for any type.

    Parameters
    ----------
    tables : DataArray
        The batches.
    measures : sequence of measures
        Monitored measures.
    keywords : mapping
        Keywords of `evaluate_rules`.
    """
    rate, floor = keywords.get("rate", RATE), keywords.get("floor")
    rules = type_of(tables).alarm_rules(tables)
    if "calibration" not in rules:
        return rate / _number_of_rules(rules, floor, keywords.get("reference"))
    limits = _limits_of_forecasts(measures, floor, keywords.get("tolerance"))
    return rate / (1 + sum(map(len, limits)))


def segments(tables: xr.DataArray, concentration: Any, share: float) -> list[Segment]:
    """
    Return the changes detected in a series, each after the previous alarm.

    Parameters
    ----------
    tables : DataArray, dims (step, actual, predicted), (step, actual, bin) or (step, statistic)
        The batches. For probabilities, a change is a change of the outcomes given the forecasts
        (`events_of`). For items, it is a change of the distribution over the parts of their scale,
        with a prior of half an item in each part. Scores are not tested.
    concentration : optional
        Prior pseudo-counts.
    share : float
        Share of the false-alarm rate. The threshold of the Bayes factor is its inverse.
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
    """Return the prior pseudo-counts for the counts that are tested for changes."""
    return prior_cells(concentration, tables) if statistic.prior is None else statistic.prior


def _first_change(sums, score, threshold, unchanged):
    """
    Return the first alarm of a change, or None.

    Parameters
    ----------
    sums : ndarray, shape (T + 1, C, C)
        Cumulative sums of the counts, starting with zero.
    score : callable
        See `mixture`.
    threshold : float
        Threshold of the log Bayes factor.
    unchanged : int
        Minimum number of batches before the first possible change.
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
    """Return the alarms of changes. Each is on until the next change if a measure is worse."""
    threshold, last = -np.log(share), len(series.cells) - 1
    healthy, is_worse, first = None, False, 0
    rows, lasted, on, directions = [], [], [], []
    for index, segment in enumerate(series.segments):
        before = _moments(series, measures, first, segment.first - 1, segment)
        after = _moments(series, measures, segment.first, segment.raised)
        # As long as a measure is worse than before an earlier change, the state before that change
        # remains the baseline.
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
    """Return the direction of a change, given the standardised deterioration of each measure."""
    is_worse, is_better = (moved > _WORSE).any(), (moved < -_WORSE).any()
    if is_worse and is_better:
        return MIXED
    return WORSE if is_worse else BETTER if is_better else UNCLEAR


def _moments(series, measures, first, last, like=None):
    """
    Return mean, sd and badness (higher is worse) of every monitored value, (3, V).

    With seasons, only batches with the phases of the segment ``like`` are used.
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
    """Return the standardised change of every mean (row 0) or badness (row 2)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return (after[row] - before[row]) / np.hypot(after[1], before[1])


def _furthest(series, measures, segment, before, after):
    """Return the alarm columns for the value that a change has moved furthest."""
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
    floor = np.asarray(floor)  # a scalar, or one floor per value (NaN: no floor)

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
    Return the alarms of a rule that uses recent evidence of any span.

    Parameters
    ----------
    is_beyond : callable
        Maps the posterior of tables to whether the plug-in estimate is beyond the limit. The
        probability is computed only if it is.
    probability : callable
        Maps the posterior of tables to the probability that the measure is beyond the limit.
    limit : callable
        Returns the limit to report for each alarm; see `_rows`.
    first : int
        First batch whose evidence may be used.
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
        For each evaluated batch, the value compared with the threshold, and whether the rule is on.
    limit : callable
        Maps the posterior, the batches and the classes of alarms to the limits to report.
    since : ndarray of int, shape (n, [C]), optional
        First batch of the evidence behind each alarm. By default the batch itself.
    onset : bool, default True
        Whether to list only the first of consecutive alarms.
    """
    is_on = is_on.reshape(len(is_on), -1)
    is_listed = is_on
    if onset:
        was_on = np.concatenate([np.zeros_like(is_on[:1]), is_on[:-1]])
        is_listed = is_on & ~was_on
    # For each batch, the end of the run of batches in which the rule is on, found backwards.
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
    """Return the columns of alarms raised by `batch` with evidence from `start` on."""
    at, step = series.coords["at"], series.coords["step"]
    columns = {
        "step": step[batch],
        "batch_id": series.coords["batch_id"][batch],
        "at": at[batch],
        "first": step[start],
        "since": at[start],
        "rule": np.full(len(batch), rule, dtype=object),
        "measure": np.full(len(batch), measures, dtype=object),
        **facts,  # include `direction`
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
    """Return the shape of a measure for one batch: by rater, by class or scalar."""
    template = series.posterior(series.all_together).measure_template(measure)
    return template.shape[1:]


def _names(series, measure):
    """Return the names of the values of a measure, one for each rater and class."""
    template = series.posterior(series.all_together).measure_template(measure)
    dims = template.dims[1:]
    labels = [template.coords[dim].values.tolist() for dim in dims]
    wheres = (dict(zip(dims, each, strict=True)) for each in product(*labels))
    return [value_name(measure.__name__, where) for where in wheres]


def value_name(measure: str, where: Mapping[Any, Any]) -> str:
    """
    Return the name of one value of a measure, such as ``recall[sick]``.

    A class is put in brackets. Raters and systems also name their dimension, as in
    ``win_rate[old][system=new]``, because a label alone may be an opponent.
    """
    parts = [f"[{label}]" if dim == "class" else f"[{dim}={label}]" for dim, label in where.items()]
    return measure + "".join(parts)


def _pick(values, column):
    """Return the values (k, [C]) of k alarms, each for its class."""
    return np.reshape(values, (len(column), -1))[np.arange(len(column)), column]


def _estimates(posterior, measure, column):
    """Return the posterior mean and the bounds of the 95% HDI of the measure of each alarm."""
    distribution = _distribution(posterior, measure)
    ends = np.asarray(distribution.hdi(0.95)).reshape(len(column), -1, 2)
    lower, upper = ends[np.arange(len(column)), column].T
    return _pick(distribution.mean(), column), lower, upper


_SENTENCES = {
    "change": "the {changing} have changed: {measure} is {estimate}, {limit} before (Bayes factor "
    "{value})",
    "batch": "{measure} of one batch is {estimate}, but {limit} was expected (chance {value})",
    "reference": "{measure} of {span} is {estimate}, worse than {limit} in the reference "
    "(probability {value})",
    "floor": "{measure} of {span} is {estimate}, {side} the floor {limit} (probability {value})",
    "calibration": "{measure} of {span} is {estimate}, beyond the tolerance {limit} "
    "(probability {value})",
}


def _sentence(rule, changing, name, number, since, estimate, lower, upper, limit, value):
    """Return the description of an alarm in words."""
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
    """Return the display name of a value, such as ``recall[sick]``."""
    if found := re.fullmatch(r"(.*?)\[(\w+)=(.*)\]", name):
        measure, dim, label = found.groups()
        return f"{display_name(measure)} ({dim} {label})"
    measure, bracket, label = name.partition("[")
    return display_name(measure) + bracket + label


def _table(columns: Sequence[Mapping[str, np.ndarray]]) -> pd.DataFrame:
    """Return one row per alarm of all rules, in time order."""
    if not columns:
        return pd.DataFrame({name: [] for name in COLUMNS})
    order = np.argsort(np.concatenate([rule["step"] for rule in columns]), kind="stable")
    every = {name: np.concatenate([rule[name] for rule in columns]) for name in COLUMNS}
    return pd.DataFrame({name: values[order] for name, values in every.items()})


# Limits and the rate of false alarms

_KEYWORDS = ("rate", "floor", "reference", "tolerance", "horizon", "silence")


def check_rules(rules: Mapping[str, Any]) -> None:
    """Raise an error if a keyword of the rules is unknown."""
    for name in rules:
        if name not in _KEYWORDS:
            todo = suggest(name, _KEYWORDS) or "leave it out"
            if name in ("measure", "measures"):
                todo = "pass measures to the monitor: Monitor(store, classifier, `measures=['f1']`)"
            raise fail("Alarms have no keyword {}", name, _KEYWORDS, todo, TypeError)


def check_rate(rate: float, horizon: int) -> None:
    """Raise an error if the rate of false alarms or its horizon is invalid."""
    if not isinstance(rate, int | float | np.number) or not 0 < rate < 1:
        raise fail(
            "`rate` must be between 0 and 1",
            rate,
            "",
            "pass `rate=0.05` for a false alarm in one of twenty streams",
        )
    if isinstance(horizon, bool) or not isinstance(horizon, int | np.integer) or horizon < 1:
        todo = "pass `horizon=1000`"
        raise fail("`horizon` must be a number of batches, 1 or more", horizon, "", todo)


def _floors(floor, measures, scale):
    """Return the floors, keyed by the names of the monitored measures."""
    if floor is None:
        return {}
    if not isinstance(floor, Mapping):
        floor = dict.fromkeys([measure.__name__ for measure in measures], floor)
    return _limits("floor", floor, measures, partial(_check_floor, scale=scale))


def _check_floor(size, measure, scale):
    """Return a floor, or raise an error if it is outside the range of the measure or `scale`."""
    size = check_number("floor", size, usual=0.8)
    low, high = measure.range
    if (low, high) == (-np.inf, np.inf):
        lowest, highest = scale.get("lowest"), scale.get("highest")  # None if unbounded
        low = low if lowest is None else lowest
        high = high if highest is None else highest
    if low <= size <= high:
        return size
    todo = "pass e.g. 0.8 or 80%" if high <= 1 else "pass a value in this range"
    name = measure.__name__
    what = f"The floor of {name} must be between {low:g} and {high:g}"
    raise fail(what, size, "", todo)


def _floors_of_values(floor, measures, series):
    """
    Return the floors by measure: a number, or an array if single values have floors.

    The array has the shape of the measure, with NaN for values without a floor. A single value is
    named like ``recall[sick]``.
    """
    if not isinstance(floor, Mapping):
        return _floors(floor, measures, series.tables.attrs)
    plain, single = dict(floor), {}
    of_measures = {measure.__name__ for measure in measures}
    for measure in measures:
        names = _names(series, measure) if len(_shape_of_value(series, measure)) else []
        here = [name for name in floor if name in names and name not in of_measures]
        if found := {names.index(name): plain.pop(name) for name in here}:
            single[measure] = found
    floors = _floors(plain, measures, series.tables.attrs)
    for measure, found in single.items():
        of_all = floors.get(measure.__name__, np.nan)
        array = np.full(_shape_of_value(series, measure), of_all)
        for place, size in found.items():
            array.flat[place] = _check_floor(size, measure, series.tables.attrs)
        floors[measure.__name__] = array
    return floors


def floor_of(floor: Any, name: str, label: str) -> float | None:
    """
    Return the floor of a value of a measure, or None.

    Parameters
    ----------
    floor : float, mapping of str to float, or None
        Floors, as in `evaluate_rules`.
    name, label : str
        Name of the measure, and name of the value including its class or system, such as
        ``"recall[sick]"``.
    """
    if not isinstance(floor, Mapping):
        return floor
    of_measure = (size for alias, size in floor.items() if same(alias, name))
    return floor[label] if label in floor else next(of_measure, None)


def _check_tolerance(size, measure):
    if not isinstance(size, int | float | np.number) or not 0 <= size < np.inf:
        raise fail("A tolerance must be a finite number >= 0", size, "", "pass 0.02")
    return float(size)


class NotMonitoredError(ValueError):
    """Raised if a limit is given for a measure that is not monitored."""


def _limits(noun, limits, measures, check):
    """Return the limits, keyed by the names of the monitored measures."""
    names = [measure.__name__ for measure in measures]
    by_name: dict[str, float] = {}
    for alias, size in limits.items():
        indices = among(measures, alias)
        if not indices:
            what = f"A {noun} is set for {{}}, which is not monitored"
            raise fail(what, alias, names, "add the measure to the monitor", NotMonitoredError)
        by_name |= {names[index]: check(size, measures[index]) for index in indices}
    return by_name


def _n_values(measure, series):
    """Return the number of values of a measure: one, or one per rater and class."""
    return int(np.prod(_shape_of_value(series, measure)))


def _reference_period(series, reference):
    """Return the number of batches in the reference and their summed table, or None."""
    counts = series.tables
    if reference is None:
        return None
    if not isinstance(reference, xr.DataArray):
        first, last = int(reference), counts.sizes["step"]
        if first < 1:
            allowed = "counts, or a number of first batches"
            raise fail(f"`reference` must be {allowed}", reference, "", "pass `reference=10`")
        first = min(first, last)  # no batch is compared with an incomplete reference
        return first, counts[:first].sum("step", keep_attrs=True)
    if encoding_of(counts) != COUNTS:
        todo = "pass `reference=10` for the first ten batches"
        raise fail(
            "The reference of item scores must be a number of batches", ..., "", todo, TypeError
        )
    reference = as_counts(reference)
    if reference.ndim != 2:
        raise _not_a_single_table(reference)
    _check_same_labels(reference, counts)
    return 0, reference


def _check_same_labels(reference, counts):
    got, allowed = reference.indexes["actual"].tolist(), counts.indexes["actual"].tolist()
    if got != allowed:
        todo = "give both the same labels"
        raise fail(
            "The reference has the labels {}, but the batches have others", got, str(allowed), todo
        )


def _not_a_single_table(reference):
    todo = "sum over its batches: reference.sum('step')"
    return fail(
        "The reference must be a single table, but it has the dimensions {}",
        reference.dims,
        "",
        todo,
    )


# Posterior probabilities of being below a floor, or worse than in a reference period

# Nodes and weights of the trapezoidal rule for a standard normal variable, which converges
# exponentially.
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
        Current evidence, such as the result of `accumulate`.
    measure : str or callable
        Name or function of the measure.
    floor : float
        Value to compare the measure with.
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts. The default prior if omitted.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> round(float(prob_below(counts, "recall", 0.8)), 3)
    0.4
    """
    counts = as_counts(counts)
    resolved = one_measure(measure, counts)
    floor = check_number("floor", floor, usual=0.8)
    below = _distribution(posterior_of(counts, concentration), resolved).cdf(floor)
    return _labelled(resolved, counts, below)


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
    examples; for the same examples, use `bayescm.compare`.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted)
        Current evidence.
    reference : DataArray, dims (actual, predicted)
        Evidence of the reference.
    measure : str or callable
        Name or function of the measure. Worse means lower, or higher if its ``lower_is_better`` is
        True.
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts, the same for both.

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
    resolved = one_measure(measure, counts)
    _check_same_labels(reference, counts)
    current, earlier = (
        _distribution(posterior_of(table, concentration), resolved) for table in (counts, reference)
    )
    return _labelled(resolved, counts, _prob_worse(current, earlier, resolved.lower_is_better))


def _prob_worse(current: Distribution, earlier: Distribution, lower_is_better: bool) -> np.ndarray:
    """
    Return the probability that a measure is worse now than in the reference.

    The distribution of the difference is used if it is known. Otherwise the probability is the mean
    of F(Q(Phi(z))) over a standard normal z, with F the current distribution function and Q the
    earlier quantile function. If the tails are not accurate (draws and quadratures), the difference
    is approximated by a normal distribution.
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
    """Return the probability that a measure is at most a floor, which may be far in the tail."""
    if distribution.accurate_tails:
        sizes = np.unique(np.asarray(floor)[np.isfinite(floor)])
        below: Any = np.nan
        for size in sizes.tolist():
            below = np.where(np.equal(floor, size), distribution.cdf(size), below)
        return below
    sd = distribution.sd()
    # A value without uncertainty raises no alarms. It is known by definition, such as the win rate
    # of a system against itself.
    sd = np.where(sd > 0, sd, np.nan)
    return special.ndtr((floor - distribution.mean()) / sd)


def _distribution(posterior: Posterior, measure: Callable) -> Distribution:
    return posterior.distribution(posterior.bound(measure))


def _point(posterior: Posterior, measure: Callable) -> np.ndarray:
    return posterior.point(posterior.bound(measure))


def _labelled(measure, counts, values):
    template = apply(measure, counts)
    return template.copy(data=np.broadcast_to(values, template.shape))
