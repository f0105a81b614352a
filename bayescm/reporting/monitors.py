"""The report of an online evaluation: the posterior now, its history, the alarms."""

from pathlib import Path

import numpy as np
import pandas as pd

from bayescm.answers.summary import summary
from bayescm.evidence.counts import positive
from bayescm.online import Ledger, Monitor
from bayescm.online.encoding import FORECASTS
from bayescm.reporting import cautions, methods, render, sections
from bayescm.reporting.sample_size_advice import uncertain
from bayescm.reporting.sections import Picture, Section, Table
from bayescm.validate import fail

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
    name = classifier or _only_classifier(ledger)
    with render.own_figures(), Monitor(ledger, name, measures=measures) as monitor:
        parts = _sections(monitor, prob, kind)
        methods.add_paragraph(parts, prob, kind)
        render.write(path, title or f"Online evaluation of {name}", parts)
    return path


def _sections(monitor: Monitor, prob: float, kind: str) -> list[Section]:
    batches = monitor.batches()
    counts = batches.sum("step").reset_coords(drop=True)
    if "positive" in batches.coords:
        counts = counts.assign_coords(positive=batches.coords["positive"])
    history = _history(monitor, prob, kind)
    if monitor.encoding == FORECASTS:
        table = monitor.summary(prob=prob, kind=kind)
        measures = list(table["measure"])
        tables = [_calibration_table(counts, batches.attrs)]
        evaluation = Section("What was evaluated", _evaluated_forecasts(batches), tables)
        posterior = sections.posterior_summary(table, prob, kind)
        caption = posterior.tables[0].caption.removesuffix(", point is the value in the sample")
        posterior.tables = [Table(caption, table[["measure", "mean", "lower", "upper", "sd"]])]
        facts = _FORECASTS | methods.versions()
        doubts = cautions.section(_doubts(table, batches.attrs["chances"], history))
    else:
        measures = sections.check_measures(monitor.measures, counts)
        table = summary(counts, measures, prob=prob, kind=kind)
        sections.check_defined(table)
        prior = methods.prior_of(counts, None)
        evaluation = sections.evaluation(counts)
        posterior = sections.posterior_summary(table, prob, kind)
        facts = methods.of_counts("dirichlet_multinomial", prior, 0)
        doubts = cautions.of_counts(batches, table, prior=prior)
    evaluation.sentences.append(_span(batches))
    return [
        evaluation,
        posterior,
        history,
        uncertain(counts, table, measures, prob, kind),
        sections.computation(table, facts),
        doubts,
    ]


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
    return Table("Forecasts beside what came true, all batches together", pd.DataFrame(rows))


def _doubts(table, chances, history):
    caution = table.attrs.get("caution")
    lines = [f"{caution[0].upper()}{caution[1:]}."] if caution else []
    unknown = table.loc[table["lower"].isna() | table["upper"].isna(), "measure"]
    if len(unknown):
        lines.append(f"The evidence does not tell {', '.join(unknown)}.")
    if not chances:
        lines.append("These are scores, not probabilities: nothing is said of calibration.")
    if history.tables:
        lines.append(
            "There were alarms: what is known is of all batches together, before and after them."
        )
    return lines


def _only_classifier(ledger):
    names = list(ledger.classifiers())
    if len(names) != 1:
        what = "the store has no batches" if not names else "the store has several classifiers"
        todo = "name one with classifier=" if names else "add a batch first"
        raise fail(what, names, "one classifier", todo)
    return names[0]


def _span(batches):
    first, last = (str(batches["at"].values[index])[:10] for index in (0, -1))
    return f"{batches.sizes['step']:,} batches from {first} to {last}."


def _history(monitor, prob, kind):
    alarms = monitor.alarms()
    lines, tables = ["No rule has raised an alarm."], []
    if len(alarms):
        last = alarms.iloc[-1]
        number = f"{len(alarms)} alarms" if len(alarms) > 1 else "One alarm"
        lines = [f"{number}, the last one at {last['batch_id']} by the rule {last['rule']}."]
        times = {name: alarms[name].dt.floor("s").astype(str) for name in ("at", "since")}
        tables = [Table("Alarms", alarms.assign(**times))]
    alt = f"Each measure over time with its {100 * prob:.4g}% interval; dots are single batches."
    picture = Picture("history", alt, monitor.plot(prob=prob, kind=kind))
    return Section("Over time", lines, tables, [picture])
