"""
Incidents, which group related alarms until no rule is on.

An alarm lasts as long as its rule is on, or until it is acknowledged. Alarms with at most `QUIET`
batches between them form one incident, which is named after the batch that raised the first alarm.
Its state is

============ =======================================================================
open         if the rule of one of its alarms is on, or was on in the last batches
acknowledged if a person has acknowledged all its alarms
closed       if no rule has been on for more than `QUIET` batches
============ =======================================================================

The state depends only on what has been recorded so far, and no later batch moves an alarm to
another incident.

Each alarm of the rule `silence` is a separate incident, named after the last batch before the
silence. The incident is closed when the next batch arrives.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bayescm.online.silence import SILENCE

QUIET = 2  # quiet batches that an incident tolerates; the next quiet one closes it
OPEN, ACKNOWLEDGED, CLOSED = "open", "acknowledged", "closed"
COLUMNS: tuple[str, ...] = (
    *("incident", "opened", "closed", "state", "alarms"),
    *("since", "rule", "measure", "sentence"),
    *("on", "note"),
)
# Rules by how informative their alarms are, most informative first.
_TELLING = ("floor", "reference", "calibration", "change", "batch", SILENCE)


def with_incidents(
    alarms: pd.DataFrame, acknowledgements: pd.DataFrame, recorded_at: np.ndarray
) -> pd.DataFrame:
    """
    Return alarms with their incidents, and the end of each.

    Parameters
    ----------
    alarms : DataFrame
        Result of `online.alarms`, with batches numbered from 0.
    acknowledgements : DataFrame
        Acknowledgements from the ledger.
    recorded_at : ndarray of datetime64
        Recording time of each batch.

    Returns
    -------
    DataFrame
        The alarms with the additional columns ``acknowledged``, ``note`` (of the acknowledgement),
        ``incident`` and ``end``. ``end`` is the batch that closes the incident unless it raises
        another alarm, and is infinite while the rule is on.
    """
    key = ["batch_id", "rule", "measure"]
    moments = acknowledgements["recorded_at"].str.removesuffix("Z").to_numpy("<M8[us]")
    keys = list(map(tuple, acknowledgements[key].values.tolist()))
    when = dict(zip(keys, moments, strict=True))
    note_of = dict(zip(keys, acknowledgements["note"].tolist(), strict=True))
    incidents, ends, acknowledged, notes = [], [], [], []
    last, incident = -1.0, ""  # last batch whose alarms belong to the current incident
    for row in alarms.itertuples(index=False):
        alarm = (str(row.batch_id), row.rule, row.measure)
        moment = when.get(alarm)
        if row.rule == SILENCE:
            incidents.append(str(row.batch_id))
            ends.append(np.inf if row.on else 0.0)
            acknowledged.append(moment is not None)
            notes.append(note_of.get(alarm, ""))
            continue
        reach = end = np.inf if row.on else float(row.step + row.lasted + QUIET)
        if moment is not None:
            # The acknowledgement ends the alarm for all batches recorded after it.
            later = np.flatnonzero(
                (recorded_at > moment) & (np.arange(len(recorded_at)) > row.step)
            )
            until = float(later[0]) if len(later) else float(len(recorded_at))
            end, reach = min(end, until), min(reach, until - 1)
        if row.step > last:
            incident = str(row.batch_id)
        last = max(last, reach)
        incidents.append(incident)
        ends.append(end)
        acknowledged.append(moment is not None)
        notes.append(note_of.get(alarm, ""))
    columns = {
        "acknowledged": np.array(acknowledged, bool),
        "note": np.array(notes, object),
        "incident": np.array(incidents, object),
        "end": np.array(ends, float),
    }
    return alarms.assign(**columns)


def incidents_of(alarms: pd.DataFrame, at: np.ndarray) -> pd.DataFrame:
    """
    Return one row per incident, in time order.

    Parameters
    ----------
    alarms : DataFrame
        Result of `with_incidents`. If there are alarms of `silence`, the column ``over`` contains
        the arrival time of the next batch.
    at : ndarray of datetime64
        Time of each batch.

    Returns
    -------
    DataFrame
        Incidents, with the columns described in `Monitor.incidents`.
    """
    rows = []
    is_silence = (alarms["rule"] == SILENCE).rename("is silence")
    for (incident, silent), group in alarms.groupby(["incident", is_silence], sort=False):
        end, telling = group["end"].max(), _most_telling(group)
        if end < len(at) and not group["acknowledged"].all():
            state, closed = CLOSED, group["over"].iloc[0] if silent else at[int(end)]
        else:
            state = ACKNOWLEDGED if group["acknowledged"].all() else OPEN
            closed = np.datetime64("NaT", "us")
        opened = group["at"].iloc[0]
        facts = [incident, opened, closed, state, len(group), group["since"].min()]
        note = "; ".join(filter(None, dict.fromkeys(group["note"])))
        facts += [telling.rule, telling.measure, telling.sentence]
        still_on = group[group["on"]]
        rows.append([*facts, _most_telling(still_on).sentence if len(still_on) else "", note])
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    times = ("opened", "closed", "since")
    if not len(table):
        return table
    # A silence opens later than its batch, so it may come after the incidents of later batches.
    table = table.sort_values("opened", kind="stable", ignore_index=True)
    return table.astype({name: "datetime64[us]" for name in times})


def members_of(alarms: pd.DataFrame, incident: Mapping[str, Any]) -> pd.DataFrame:
    """Return the alarms of an incident, given as a row of `incidents_of`."""
    is_silent = alarms["rule"] == SILENCE
    is_same = is_silent if incident["rule"] == SILENCE else ~is_silent
    return alarms[(alarms["incident"] == incident["incident"]) & is_same]


def standing(incidents: pd.DataFrame) -> list[str]:
    """Return sentences about incidents that are open, or acknowledged with a rule still on."""
    words = []
    for row in incidents.itertuples(index=False):
        since = f"since {row.opened:%Y-%m-%d %H:%M}"
        if row.state == OPEN:
            words.append(f"open {since}: {row.sentence}")
        elif row.state == ACKNOWLEDGED and row.on:
            note = f" (note: {row.note})" if row.note else ""
            words.append(f"acknowledged, and still on {since}: {row.on}{note}")
    return words


def _most_telling(alarms: pd.DataFrame) -> Any:
    order = [_TELLING.index(rule) for rule in alarms["rule"]]
    return list(alarms.itertuples(index=False))[int(np.argmin(order))]
