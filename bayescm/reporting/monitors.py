"""
The report of an online evaluation: the posterior now, its history, the alarms.

It follows the recipe of all reports (`bayescm.reporting.recipe`).
"""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import bayescm as bcm
from bayescm.evidence.counts import positive
from bayescm.online import Ledger, Monitor
from bayescm.online.encoding import (
    ATTEMPTS,
    COUNTS,
    FORECASTS,
    ITEM_COUNTS,
    ITEM_SCORES,
    MULTILABEL,
    what_changes,
)
from bayescm.online.incidents import standing
from bayescm.reporting import cautions, methods, render, sections
from bayescm.reporting.recipe import (
    RECIPES,
    AttemptsRecipe,
    ItemScoresRecipe,
    MultilabelRecipe,
    Recipe,
)
from bayescm.reporting.sample_size_advice import uncertain
from bayescm.reporting.sections import Picture, Section, Table

_ROWS = 10  # of the table of forecasts beside what came true
_FORECASTS = {
    "Model": "Dirichlet shares of truth and bin, linearized",
    "Prior": "one example over all bins, whose forecasts are right",
}


def monitor_report(
    store: str,
    path: str | Path,
    *,
    classifier: str | None = None,
    measures: list | None = None,
    title: str | None = None,
    prob: float = 0.95,
    kind: str = "hdi",
    concentration: Any = None,
    forgetting: float = 1.0,
    window: int | None = None,
    order: str = "at",
    season: Any = None,
    **rules: Any,
) -> Path:
    """
    Write a report of a monitor's store.

    Parameters
    ----------
    store : str
        See `bayescm.online.Monitor`.
    path, measures, title, prob, kind
        See `bayescm.report`.
    classifier : str, optional
        Which classifier in the store; optional if there is only one.
    concentration, forgetting, window, order, season
        See `bayescm.online.Monitor`.
    **rules
        ``rate``, ``floor``, ``reference``, ``tolerance``, ``horizon`` and ``silence``; see
        `bayescm.online.Monitor.alarms`.

    Returns
    -------
    Path

    Raises
    ------
    ValueError
        If the store has no batches, or several classifiers and none is named.
    """
    path = render.check_path(path)
    ledger = Ledger(store, create=False)  # to look for a store must not make it
    name = classifier or ledger.only_classifier()
    memory: dict[str, Any] = {
        "forgetting": forgetting,
        "window": window,
        "order": order,
        "season": season,
    }
    memory |= {"measures": measures, "concentration": concentration}
    with render.own_figures(), Monitor(ledger, name, **memory) as monitor:
        recipe = _RECIPES.get(monitor.encoding, PatternsMonitorRecipe)
        parts = recipe(monitor, prob, kind, rules, concentration).sections()
        methods.add_paragraph(parts, prob, kind)
        render.write(path, title or f"Online evaluation of {name}", parts)
    return path


class CountsMonitorRecipe(Recipe):
    """Batches of confusion matrices: what is known now, and over time."""

    def __init__(
        self,
        monitor: Monitor,
        prob: float,
        kind: str,
        rules: dict[str, Any],
        concentration: Any = None,
    ):
        self.monitor, self.batches, self.rules = monitor, monitor.batches(), rules
        self.latest = monitor.since_change(**rules)
        state = monitor.posterior(**rules)
        self.prior = state["concentration"].values
        settings = {"prob": prob, "kind": kind, "rope": 0.0, "random_seed": 0}
        keywords = {} if concentration is None else {"concentration": state["concentration"]}
        super().__init__(state["counts"], None, settings, keywords)
        self.measures = self.monitored()

    def monitored(self) -> list:
        """Return the measures that are monitored."""
        return sections.check_measures(self.monitor.measures, self.evidence)

    @cached_property
    def history(self) -> Section:
        """The section about the incidents, with the picture of the measures over time."""
        incidents = self.monitor.incidents(**self.rules)
        lines, tables = ["No rule has raised an alarm."], []
        if len(incidents):
            number = len(incidents)
            lines = ["One incident." if number == 1 else f"{number} incidents."]
            lines += [f"{text[0].upper()}{text[1:]}." for text in standing(incidents)]
            times = {name: _minutes(incidents[name]) for name in ("opened", "closed")}
            columns = ["opened", "closed", "state", "alarms", "sentence"]
            columns += ["note"] if (incidents["note"] != "").any() else []
            tables = [Table("Incidents", incidents.assign(**times)[columns])]
        alt = f"Each measure over time with its {self.mass} interval; dots are single batches."
        picture = self.monitor.plot(prob=self.prob, kind=self.kind, **self.rules)
        return Section("Over time", lines, tables, [Picture("history", alt, picture)])

    def evaluation(self) -> Section:
        """Name examples and classes, and how many batches there are."""
        section = sections.evaluation(self.description, self.evidence)
        section.sentences += self._spans()
        return section

    def _spans(self):
        """Say how many batches there are, and since when what is known now is known."""
        lines = [_span(self.batches)]
        if self.latest.sizes["step"] < self.batches.sizes["step"]:
            first = _minutes(self.latest["at"].to_series()).iloc[0]
            lines.append(
                f"The {what_changes(self.batches)} have changed: what is known now is by the "
                f"batches since {first}, {self.latest.sizes['step']:,} of them."
            )
        return lines

    def extras(self) -> list[Section]:
        """Show the measures over time, and the incidents."""
        return [self.history]

    def advice(self) -> list[Section]:
        """Name the widest interval."""
        return [uncertain(self.evidence, self.table, self.measures or [], self.prob, self.kind)]

    def facts(self) -> dict[str, Any]:
        """Name the model and its default prior."""
        return methods.of_counts("dirichlet_multinomial", self.prior, self.random_seed)

    def cautions(self) -> Section:
        """List the cautions of counts."""
        doubts = cautions.without_repetition(self.table.attrs.get("caution", ""))
        return cautions.of_counts(self.latest, self.table, prior=self.prior, doubts=doubts)


class ForecastsMonitorRecipe(CountsMonitorRecipe):
    """Batches of probabilities or scores, in bins."""

    def monitored(self) -> list:
        """Return the measures that are monitored."""
        return list(self.table["measure"])

    @cached_property
    def table(self) -> pd.DataFrame:
        """The summary of the measures of the binned forecasts."""
        return self.monitor.summary(prob=self.prob, kind=self.kind, **self.rules)

    def evaluation(self) -> Section:
        """Name examples, events and bins, and show what came true."""
        tables = [_calibration_table(self.evidence, self.batches.attrs)]
        lines = [*_evaluated_forecasts(self.latest), *self._spans()]
        return Section("What was evaluated", lines, tables)

    def summary(self) -> Section:
        """Say what is known of each measure, which has no value of its own in the sample."""
        section = super().summary()
        caption = section.tables[0].caption.removesuffix(", point is the value in the sample")
        columns = ["measure", "mean", "lower", "upper", "sd", "error"]
        section.tables = [Table(caption, self.table[columns])]
        return section

    def facts(self) -> dict[str, Any]:
        """Name the model and its prior in words."""
        return _FORECASTS | methods.versions()

    def cautions(self) -> Section:
        """Name what the bins and the evidence do not tell, and that there were alarms."""
        are_of_all = self.latest.sizes["step"] == self.batches.sizes["step"]
        had_alarms = are_of_all and bool(self.history.tables)
        doubts = _doubts(self.table, self.batches.attrs["chances"], had_alarms)
        return cautions.section(doubts)


class ItemScoresMonitorRecipe(CountsMonitorRecipe):
    """Batches of item scores: their means now and over time, and the scores in bars."""

    def __init__(
        self,
        monitor: Monitor,
        prob: float,
        kind: str,
        rules: dict[str, Any],
        concentration: Any = None,
    ):
        self.monitor, self.batches, self.rules = monitor, monitor.batches(), rules
        self.latest = monitor.since_change(**rules)
        items = self.items()
        in_force = np.isin(items["step"].values, self.latest["step"].values)
        (dim,) = items["step"].dims
        settings = {"prob": prob, "kind": kind, "rope": 0.0, "random_seed": 0}
        Recipe.__init__(self, items.isel({dim: in_force}), None, settings, {})
        self.pseudo_items = 0.5 if concentration is None else float(concentration)

    def items(self) -> xr.Dataset:
        """Return all items of the batches in force."""
        return self.monitor.item_scores()

    @cached_property
    def table(self) -> pd.DataFrame:
        """The summary of the means that are monitored."""
        return self.monitor.summary(prob=self.prob, kind=self.kind, **self.rules)

    def evaluation(self) -> Section:
        """Name the items in force and their scale, and how many batches there are."""
        section = ItemScoresRecipe(self.evidence, None, self.settings, {}).evaluation()
        section.sentences += self._spans()
        return section

    def advice(self) -> list[Section]:
        """Return nothing: how many items a goal takes is asked of the items."""
        return []

    def pictures(self) -> list[Section]:
        """Draw the scores of the items in force."""
        figure = bcm.plots.plot_item_scores(self.evidence, prob=self.prob, kind=self.kind)
        alt = "The share of items with each score, and the mean."
        return [Section("Pictures", pictures=[Picture("scores", alt, figure)])]

    def facts(self) -> dict[str, Any]:
        """Name the model and its prior in words."""
        has_ends = "lowest" in self.evidence.coords
        prior = f"{self.pseudo_items:g} pseudo-items at each end of the scale"
        return {
            "Model": "item_scores, a Dirichlet process, by its moments",
            "Prior": prior if has_ends else "none: the ends of the scale are not known",
        } | methods.versions()

    def cautions(self) -> Section:
        """Say what is assumed, and what the posterior says of itself."""
        unit = self.type.unit
        assumed = f"The {unit} of each batch are taken for a new sample of those there may be."
        caution = self.table.attrs.get("caution")
        return cautions.section([assumed, *([caution] if caution else [])])


class MultilabelMonitorRecipe(ItemScoresMonitorRecipe):
    """Batches of several labels: the ratios that are monitored, now and over time."""

    def items(self) -> xr.Dataset:
        """Return all examples of the batches in force."""
        return self.monitor.multilabel()

    def evaluation(self) -> Section:
        """Name the examples and their labels, and how many batches there are."""
        section = MultilabelRecipe(self.evidence, None, self.settings, {}).evaluation()
        section.sentences += self._spans()
        return section

    def pictures(self) -> list[Section]:
        """Return nothing: the picture over time stands with the incidents."""
        return []

    def facts(self) -> dict[str, Any]:
        """Name the model and its prior in words."""
        prior = f"{self.pseudo_items:g} pseudo-examples in each cell"
        model = {"Model": "multilabel, ratios over a Dirichlet process, by moments"}
        return model | {"Prior": prior} | methods.versions()


class AttemptsMonitorRecipe(MultilabelMonitorRecipe):
    """Batches of attempts: the mean share of right answers, now and over time."""

    def items(self) -> xr.Dataset:
        """Return all items of the batches in force."""
        return self.monitor.attempts()

    def evaluation(self) -> Section:
        """Name the items and their attempts, and how many batches there are."""
        section = AttemptsRecipe(self.evidence, None, self.settings, {}).evaluation()
        section.sentences += self._spans()
        return section

    def facts(self) -> dict[str, Any]:
        """Name the model and its prior in words."""
        prior = f"{self.pseudo_items:g} pseudo-items with no right answer and with all right"
        model = {"Model": "item_scores of the shares of right answers, by moments"}
        return model | {"Prior": prior} | methods.versions()


class ItemCountsMonitorRecipe(MultilabelMonitorRecipe):
    """Batches of item counts: the ratios that are monitored, now and over time."""

    def items(self) -> xr.Dataset:
        """Return all items of the batches in force."""
        return self.monitor.item_counts()

    def evaluation(self) -> Section:
        """Name the items and what was counted in them, and how many batches there are."""
        tp, fp, fn = (int(self.evidence[name].sum()) for name in ("tp", "fp", "fn"))
        counted = f"{tp:,} true positives, {fp:,} false positives and {fn:,} false negatives"
        line = f"{self.evidence.sizes['item']:,} items with {counted}."
        return Section("What was evaluated", [line, *self._spans()])


class PatternsMonitorRecipe(MultilabelMonitorRecipe):
    """Batches of ratings, partly labelled examples, votes ..., now and over time."""

    def __init__(
        self,
        monitor: Monitor,
        prob: float,
        kind: str,
        rules: dict[str, Any],
        concentration: Any = None,
    ):
        self.monitor, self.batches, self.rules = monitor, monitor.batches(), rules
        self.latest = monitor.since_change(**rules)
        evidence = monitor.evidence(**rules)
        settings = {"prob": prob, "kind": kind, "rope": 0.0, "random_seed": 0}
        Recipe.__init__(self, evidence, None, settings, {})
        self.concentration = concentration

    def evaluation(self) -> Section:
        """Name the examples or votes, and how many batches there are."""
        recipe = RECIPES.get(self.type.name, Recipe)
        section = recipe(self.evidence, None, self.settings, {}).evaluation()
        section.sentences += self._spans()
        return section

    def facts(self) -> dict[str, Any]:
        """Name the model and its prior in words."""
        prior = "the default of the model"
        if self.concentration is not None:
            prior = f"a pseudo-count of {float(self.concentration):g}"
        return {"Model": _BY_BOOTSTRAP.get(self.type.name, self.model()), "Prior": prior} | (
            methods.versions()
        )


# The words for models that are called otherwise than their method.
_BY_BOOTSTRAP = {"probabilities": "the Bayesian bootstrap of the examples"}

# The recipe of each type of batches. Batches of patterns use `PatternsMonitorRecipe`.
_RECIPES: dict[str, type[CountsMonitorRecipe]] = {
    COUNTS: CountsMonitorRecipe,
    FORECASTS: ForecastsMonitorRecipe,
    ITEM_SCORES: ItemScoresMonitorRecipe,
    MULTILABEL: MultilabelMonitorRecipe,
    ATTEMPTS: AttemptsMonitorRecipe,
    ITEM_COUNTS: ItemCountsMonitorRecipe,
}


def _evaluated_forecasts(batches):
    totals = batches.sum(("step", "bin"))
    number, label = int(totals.sum()), positive(batches)
    events = int(totals.sel(actual=label))
    kind = "probabilities" if batches.attrs["chances"] else "scores"
    share = f"{events:,} events ({label}), {100 * events / number:.3g}%"
    return [
        f"{number:,} examples with {kind}, {share}.",
        f"{batches.sizes['bin']} bins; measures are of {kind} moved to the middles of their bins.",
    ]


def _calibration_table(counts, attrs):
    """Return the forecasts in about ten groups of examples, and what came true in each."""
    edges, cells = np.array(attrs["edges"], float), counts.values
    if not attrs["chances"]:
        edges = np.concatenate([[-np.inf], edges, [np.inf]])
    middle = (edges[1:] + edges[:-1]) / 2
    totals = cells.sum(axis=0)
    code = np.minimum((np.cumsum(totals) - totals) * _ROWS // max(totals.sum(), 1), _ROWS - 1)
    rows = []
    for number in np.unique(code[totals > 0]):
        bins = np.flatnonzero((code == number) & (totals > 0))
        total, events = totals[bins].sum(), cells[1, bins].sum()
        row = {"from": edges[bins[0]], "to": edges[bins[-1] + 1], "examples": int(total)}
        row |= {"events": int(events)}
        if attrs["chances"]:
            row["mean forecast"] = float((totals[bins] * middle[bins]).sum() / total)
        rows.append(row | {"share of events": float(events / total)})
    return Table("Forecasts beside what came true", pd.DataFrame(rows))


def _doubts(table, chances, had_alarms):
    caution = table.attrs.get("caution")
    lines = [f"{caution[0].upper()}{caution[1:]}."] if caution else []
    unknown = table.loc[table["lower"].isna() | table["upper"].isna(), "measure"]
    if len(unknown):
        lines.append(f"The evidence does not tell {', '.join(unknown)}.")
    if not chances:
        lines.append("These are scores, not probabilities: nothing is said of calibration.")
    if had_alarms:
        lines.append(
            "There were alarms: what is known is of all batches together, before and after them."
        )
    return lines


def _minutes(times):
    """Return times as text, to the minute; empty where there is none."""
    return times.dt.strftime("%Y-%m-%d %H:%M").fillna("")


def _span(batches):
    first, last = (str(batches["at"].values[index])[:10] for index in (0, -1))
    return f"{batches.sizes['step']:,} batches from {first} to {last}."
