"""Which alarms belong together, and when that is over."""

import numpy as np
import pandas as pd
import pytest

from bayescm.online.incidents import QUIET, incidents_of, with_incidents

AT = np.datetime64("2026-01-05T00:00", "us") + np.arange(20) * np.timedelta64(1, "h")
NO_ACKNOWLEDGEMENTS = pd.DataFrame(
    columns=["batch_id", "rule", "measure", "note", "recorded_at"], dtype=str
)


def incidents(steps, n_batches):
    """Return the incidents of alarms of single batches."""
    alarms = pd.DataFrame({"step": steps, "at": AT[steps], "since": AT[steps]})
    alarms = alarms.assign(rule="batch", measure="recall", sentence="odd", lasted=1, on=False)
    alarms["batch_id"] = alarms["step"].map(str)
    table = with_incidents(alarms, NO_ACKNOWLEDGEMENTS, AT[:n_batches])
    return incidents_of(table, AT[:n_batches])


@pytest.mark.long
@pytest.mark.parametrize("n_quiet", range(5))
def test_an_incident_ends_with_the_third_quiet_batch_and_not_before(n_quiet):
    again = 5 + n_quiet + 1
    table = incidents([5, again], n_batches=12)
    assert len(table) == (1 if n_quiet <= QUIET else 2)
    if n_quiet > QUIET:
        # It is not closed by the very batch that opens another one.
        assert table["closed"][0] == AT[5 + QUIET + 1] < table["opened"][1]


@pytest.mark.parametrize(
    ("n_quiet", "state"), [(0, "open"), (QUIET, "open"), (QUIET + 1, "closed")]
)
def test_an_incident_is_open_until_it_was_quiet_for_long_enough(n_quiet, state):
    table = incidents([5], n_batches=6 + n_quiet)
    assert table["state"].tolist() == [state]
    assert pd.isna(table["closed"][0]) == (state == "open")
