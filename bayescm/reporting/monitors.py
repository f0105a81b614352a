"""
Reports of online evaluations: the current posterior, its history, and alarms.

Reports follow the common recipe (`bayescm.reporting.recipe`).
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

_ROWS = 10  # number of rows of the calibration table
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
    Write a report on one classifier in the store of a monitor.

    Parameters
    ----------
    store : str
        Store. See `bayescm.online.Monitor`.
    path, measures, title, prob, kind
        See `bayescm.report`.
    classifier : str, optional
        Classifier in the store. Optional if there is only one.
    concentration, forgetting, window, order, season
        See `bayescm.online.Monitor`.
    **rules
        ``rate``, ``floor``, ``reference``, ``tolerance``, ``horizon`` and ``silence``. See
        `bayescm.online.Monitor.alarms`.

    Returns
    -------
    Path
        Path of the report.

    Raises
    ------
    ValueError
        If the store has no batches, or has several classifiers and none is named.
    """
    path = render.check_path(path)
    ledger = Ledger(store, create=False)  # must not create the store
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
    """Batches of confusion matrices: current results and history."""

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
        """Return the monitored measures."""
        return sections.check_measures(self.monitor.measures, self.evidence)

    @cached_property
    def history(self) -> Section:
        """Section on incidents, with a plot of the measures over time."""
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
        """Return the section on examples, classes and number of batches."""
        section = sections.evaluation(self.description, self.evidence)
        section.sentences += self._spans()
        return section

    def _spans(self):
        """Return sentences on the number of batches, and on the period of the current results."""
        lines = [_span(self.batches)]
        if self.latest.sizes["step"] < self.batches.sizes["step"]:
            first = _minutes(self.latest["at"].to_series()).iloc[0]
            lines.append(
                f"The {what_changes(self.batches)} have changed. Current results use the "
                f"batches since {first}, {self.latest.sizes['step']:,} of them."
            )
        return lines

    def extras(self) -> list[Section]:
        """Return the section on incidents, with the measures over time."""
        return [self.history]

    def advice(self) -> list[Section]:
        """Return the section on the widest interval."""
        return [uncertain(self.evidence, self.table, self.measures or [], self.prob, self.kind)]

    def facts(self) -> dict[str, Any]:
        """Return the model and its prior."""
        return methods.of_counts("dirichlet_multinomial", self.prior, self.random_seed)

    def cautions(self) -> Section:
        """Return the cautions about counts."""
        doubts = cautions.without_repetition(self.table.attrs.get("caution", ""))
        return cautions.of_counts(self.latest, self.table, prior=self.prior, doubts=doubts)


class ForecastsMonitorRecipe(CountsMonitorRecipe):
    """Batches of probabilities or scores, in bins."""

    def monitored(self) -> list:
        """Return the monitored measures."""
        return list(self.table["measure"])

    @cached_property
    def table(self) -> pd.DataFrame:
        """Summary of the measures of the binned forecasts."""
        return self.monitor.summary(prob=self.prob, kind=self.kind, **self.rules)

    def evaluation(self) -> Section:
        """Return the section on examples, events and bins, with a calibration table."""
        tables = [_calibration_table(self.evidence, self.batches.attrs)]
        lines = [*_evaluated_forecasts(self.latest), *self._spans()]
        return Section("What was evaluated", lines, tables)

    def summary(self) -> Section:
        """Return the section on the measures, which have no point estimate in binned data."""
        section = super().summary()
        caption = section.tables[0].caption.removesuffix(", point is the value in the sample")
        columns = ["measure", "mean", "lower", "upper", "sd", "error"]
        section.tables = [Table(caption, self.table[columns])]
        return section

    def facts(self) -> dict[str, Any]:
        """Return the model and its prior in words."""
        return _FORECASTS | methods.versions()

    def cautions(self) -> Section:
        """Return the cautions about binning, the evidence and alarms."""
        are_of_all = self.latest.sizes["step"] == self.batches.sizes["step"]
        had_alarms = are_of_all and bool(self.history.tables)
        doubts = _doubts(self.table, self.batches.attrs["chances"], had_alarms)
        return cautions.section(doubts)


class ItemScoresMonitorRecipe(CountsMonitorRecipe):
    """Batches of item scores: current means and history, and the score distribution."""

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
        """Return the items of all uncorrected batches, also before a change."""
        return self.monitor.item_scores()

    @cached_property
    def table(self) -> pd.DataFrame:
        """Summary of the monitored means."""
        return self.monitor.summary(prob=self.prob, kind=self.kind, **self.rules)

    def evaluation(self) -> Section:
        """Return the section on current items, their scale, and the number of batches."""
        section = ItemScoresRecipe(self.evidence, None, self.settings, {}).evaluation()
        section.sentences += self._spans()
        return section

    def advice(self) -> list[Section]:
        """Return no section: sample size planning for items uses the items themselves."""
        return []

    def pictures(self) -> list[Section]:
        """Plot the scores of the current items."""
        figure = bcm.plots.plot_item_scores(self.evidence, prob=self.prob, kind=self.kind)
        alt = "The share of items with each score, and the mean."
        return [Section("Pictures", pictures=[Picture("scores", alt, figure)])]

    def facts(self) -> dict[str, Any]:
        """Return the model and its prior in words."""
        has_ends = "lowest" in self.evidence.coords
        prior = f"{self.pseudo_items:g} pseudo-items at each end of the scale"
        return {
            "Model": "item_scores, a Dirichlet process, by its moments",
            "Prior": prior if has_ends else "none: the range of the scores is unknown",
        } | methods.versions()

    def cautions(self) -> Section:
        """Return the assumptions, and the cautions of the posterior."""
        unit = self.type.unit
        assumed = f"The {unit} of each batch are assumed to be a new random sample."
        caution = self.table.attrs.get("caution")
        return cautions.section([assumed, *([caution] if caution else [])])


class MultilabelMonitorRecipe(ItemScoresMonitorRecipe):
    """Batches of multilabel examples: current values of the monitored ratios, and history."""

    def items(self) -> xr.Dataset:
        """Return the examples of all uncorrected batches, also before a change."""
        return self.monitor.multilabel()

    def evaluation(self) -> Section:
        """Return the section on examples, labels and number of batches."""
        section = MultilabelRecipe(self.evidence, None, self.settings, {}).evaluation()
        section.sentences += self._spans()
        return section

    def pictures(self) -> list[Section]:
        """Return no section: the plot over time is shown with the incidents."""
        return []

    def facts(self) -> dict[str, Any]:
        """Return the model and its prior in words."""
        prior = f"{self.pseudo_items:g} pseudo-examples in each cell"
        model = {"Model": "multilabel, ratios over a Dirichlet process, by moments"}
        return model | {"Prior": prior} | methods.versions()


class AttemptsMonitorRecipe(MultilabelMonitorRecipe):
    """Batches of attempts: current mean proportion of correct answers, and history."""

    def items(self) -> xr.Dataset:
        """Return the items of all uncorrected batches, also before a change."""
        return self.monitor.attempts()

    def evaluation(self) -> Section:
        """Return the section on items, attempts and number of batches."""
        section = AttemptsRecipe(self.evidence, None, self.settings, {}).evaluation()
        section.sentences += self._spans()
        return section

    def facts(self) -> dict[str, Any]:
        """Return the model and its prior in words."""
        prior = f"{self.pseudo_items:g} pseudo-items with no right answer and with all right"
        model = {"Model": "item_scores of the shares of right answers, by moments"}
        return model | {"Prior": prior} | methods.versions()


class ItemCountsMonitorRecipe(MultilabelMonitorRecipe):
    """Batches of item counts: current values of the monitored ratios, and history."""

    def items(self) -> xr.Dataset:
        """Return the items of all uncorrected batches, also before a change."""
        return self.monitor.item_counts()

    def evaluation(self) -> Section:
        """Return the section on items, their counts and number of batches."""
        tp, fp, fn = (int(self.evidence[name].sum()) for name in ("tp", "fp", "fn"))
        counted = f"{tp:,} true positives, {fp:,} false positives and {fn:,} false negatives"
        line = f"{self.evidence.sizes['item']:,} items with {counted}."
        return Section("What was evaluated", [line, *self._spans()])


class PatternsMonitorRecipe(MultilabelMonitorRecipe):
    """Batches stored as patterns: ratings, partly labelled examples, votes and probabilities."""

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
        """Return the section on examples or votes, and number of batches."""
        recipe = RECIPES.get(self.type.name, Recipe)
        section = recipe(self.evidence, None, self.settings, {}).evaluation()
        section.sentences += self._spans()
        return section

    def facts(self) -> dict[str, Any]:
        """Return the model and its prior in words."""
        prior = "the default of the model"
        if self.concentration is not None:
            prior = f"a pseudo-count of {float(self.concentration):g}"
        return {"Model": _BY_BOOTSTRAP.get(self.type.name, self.model()), "Prior": prior} | (
            methods.versions()
        )


# Names of models in the report, by type of batches, if they differ from the default model.
_BY_BOOTSTRAP = {"probabilities": "the Bayesian bootstrap of the examples"}

# Recipes by type of batches. Batches of patterns use `PatternsMonitorRecipe`.
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
        (f"{batches.sizes['bin']} bins; measures use {kind} moved to the middles of their bins."),
    ]


def _calibration_table(counts, attrs):
    """Return mean forecasts and observed outcomes in about ten groups of examples."""
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
        lines.append(f"The evidence does not determine {', '.join(unknown)}.")
    if not chances:
        lines.append("These are scores, not probabilities, so calibration is not evaluated.")
    if had_alarms:
        lines.append(
            "There were alarms. The results use all batches together, before and after them."
        )
    return lines


def _minutes(times):
    """Format times to the minute, with empty strings for missing times."""
    return times.dt.strftime("%Y-%m-%d %H:%M").fillna("")


def _span(batches):
    first, last = (str(batches["at"].values[index])[:10] for index in (0, -1))
    return f"{batches.sizes['step']:,} batches from {first} to {last}."
