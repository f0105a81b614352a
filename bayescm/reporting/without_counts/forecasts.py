"""The report of a monitor of probabilities or scores: what is known now, forecasts beside truth."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.counts import positive
from bayescm.reporting import content
from bayescm.reporting.facts import versions
from bayescm.reporting.parts import Section, Table
from bayescm.reporting.settling import uncertain

_ROWS = 10  # of the table of forecasts beside what came true


def of_forecasts(
    monitor: Any, batches: xr.DataArray, prob: float, history: Section
) -> list[Section]:
    """
    Return the sections of the report of a monitor of forecasts.

    Parameters
    ----------
    monitor : ForecastMonitor
    batches : DataArray, dims (step, actual, bin)
        All of its batches.
    prob : float
        The mass of its equal-tailed intervals.
    history : Section
        How it went over time, with a table where there are alarms.
    """
    counts = batches.sum("step")
    table = monitor.summary(prob=prob, kind="eti").assign(sd=np.nan, undefined=0.0, error=np.nan)
    known = content.known(table, prob, "eti")
    mass = f"{100 * prob:.4g}%"
    caption = f"Posterior of each measure; lower and upper bound the {mass} equal-tailed interval"
    known.tables = [Table(caption, table[["measure", "mean", "lower", "upper"]])]
    prior = "one example over all bins, whose forecasts are right"
    told = {"Model": "Dirichlet shares of truth and bin, linearized", "Prior": prior} | versions()
    said = _cautions(table, batches.attrs["chances"])
    if history.tables:
        said.append(
            "There were alarms: what is known is of all batches together, before and after them."
        )
    return [
        Section("What was evaluated", _evaluated(batches), [_beside(counts, batches.attrs)]),
        known,
        history,
        uncertain(counts, table, list(table["measure"]), prob, "eti"),
        content.computed(table, told),
        Section("Cautions", said or ["No cautions."]),
    ]


def _evaluated(batches):
    totals = batches.sum(("step", "bin"))
    number, label = int(totals.sum()), positive(batches)
    events = int(totals.sel(actual=label))
    kind = "probabilities" if batches.attrs["chances"] else "scores"
    share = f"{events:,} events ({label}), {100 * events / number:.3g}%"
    return [
        f"{number:,} examples with {kind}, {share}.",
        f"{batches.sizes['bin']} bins; measures are of {kind} moved to the middles of their bins.",
    ]


def _beside(counts, attrs):
    """Return the forecasts in about ten groups of examples, and what came true in each."""
    edges, cells = np.array(attrs["edges"], float), counts.values
    if not attrs["chances"]:
        edges = np.concatenate([[-np.inf], edges, [np.inf]])
    middle = (edges[1:] + edges[:-1]) / 2
    each = cells.sum(axis=0)
    code = np.minimum((np.cumsum(each) - each) * _ROWS // max(each.sum(), 1), _ROWS - 1)
    rows = []
    for number in np.unique(code[each > 0]):
        mine = np.flatnonzero((code == number) & (each > 0))
        total, events = each[mine].sum(), cells[1, mine].sum()
        row = {"from": edges[mine[0]], "to": edges[mine[-1] + 1], "examples": int(total)}
        row |= {"events": int(events)}
        if attrs["chances"]:
            row["mean forecast"] = float((each[mine] * middle[mine]).sum() / total)
        rows.append(row | {"share of events": float(events / total)})
    return Table("Forecasts beside what came true, all batches together", pd.DataFrame(rows))


def _cautions(table, chances):
    said = [f"{text[0].upper()}{text[1:]}." for text in [table.attrs.get("caution")] if text]
    odd = table.loc[table["lower"].isna() | table["upper"].isna(), "measure"]
    if len(odd):
        said.append(f"The evidence does not tell {', '.join(odd)}.")
    if not chances:
        said.append("These are scores, not probabilities: nothing is said of calibration.")
    return said
