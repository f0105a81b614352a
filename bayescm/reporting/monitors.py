"""The report of an online evaluation: the posterior now, its history, the alarms."""

from pathlib import Path
from typing import Any

from bayescm.answers.summary import summary
from bayescm.online import ForecastMonitor, Ledger, Monitor, opened
from bayescm.reporting import content, facts
from bayescm.reporting.cautions import cautions
from bayescm.reporting.formats import checklists, render
from bayescm.reporting.parts import Picture, Section, Table
from bayescm.reporting.settling import uncertain
from bayescm.reporting.without_counts.forecasts import of_forecasts
from bayescm.validate import fail


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
    Write a report of a monitor's store: of a `Monitor`, or of a `ForecastMonitor`.

    Parameters
    ----------
    store : str
        See `bayescm.online.Monitor`.
    path, measures, title, prob, kind
        See `bayescm.report`. Intervals of probabilities and scores are equal-tailed whatever
        ``kind`` says.
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
    with render.own_figures(), opened(ledger, name, measures=measures) as monitor:
        if isinstance(monitor, ForecastMonitor):
            sections, kind = _of_forecasts(monitor, prob), "eti"
        else:
            sections = _of_counts(monitor, prob, kind)
        checklists.methods(sections, prob, kind)
        render.write(path, title or f"Online evaluation of {name}", sections)
    return path


def _of_counts(monitor: Monitor, prob: float, kind: str) -> list[Section]:
    batches = monitor.batches()
    counts = batches.sum("step").reset_coords(drop=True)
    if "positive" in batches.coords:
        counts = counts.assign_coords(positive=batches.coords["positive"])
    measures = None if monitor.measures is None else list(monitor.measures)
    wanted = content.check_measures(measures, counts)
    interval: dict[str, Any] = {"prob": prob, "kind": kind}
    table = summary(counts, wanted, **interval)
    content.check_defined(table)
    prior = facts.prior_of(counts, None)
    evaluated = content.evaluated(counts)
    evaluated.sentences.append(_span(batches))
    return [
        evaluated,
        content.known(table, prob, kind),
        _history(monitor, prob, kind),
        uncertain(counts, table, wanted, prob, kind),
        content.computed(table, facts.of_counts(counts, "dirichlet_multinomial", prior, 0)),
        cautions(batches, table, prior=prior),
    ]


def _of_forecasts(monitor: ForecastMonitor, prob: float) -> list[Section]:
    batches = monitor.batches()
    sections = of_forecasts(monitor, batches, prob, _history(monitor, prob, "eti"))
    sections[0].sentences.append(_span(batches))
    return sections


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
    said, tables = ["No rule has raised an alarm."], []
    if len(alarms):
        last = alarms.iloc[-1]
        number = f"{len(alarms)} alarms" if len(alarms) > 1 else "One alarm"
        said = [f"{number}, the last one at {last['batch_id']} by the rule {last['rule']}."]
        times = {name: alarms[name].dt.floor("s").astype(str) for name in ("at", "since")}
        tables = [Table("Alarms", alarms.assign(**times))]
    alt = f"Each measure over time with its {100 * prob:.4g}% interval; dots are single batches."
    picture = Picture("history", alt, monitor.plot(prob=prob, kind=kind))
    return Section("Over time", said, tables, [picture])
