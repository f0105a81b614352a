"""The rule `silence`: no batch arrives within a given time."""

import time
from datetime import timedelta

import numpy as np
import pytest

import bayescm as bcm
from bayescm import online
from bayescm.online import Monitor
from bayescm.online.silence import check_silence, silences

BATCH = bcm.from_cells(tp=45, fn=5, fp=5, tn=45)
SHORT = timedelta(seconds=2)  # longer than it takes to ask on a busy machine


@pytest.fixture
def monitor():
    with Monitor("sqlite://", "mail", measures=["recall"]) as monitor:
        yield monitor


def _add(monitor, name):
    tp = 40 + len(name) % 5
    return monitor.add(name, bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45))


@pytest.mark.long
def test_it_goes_off_and_is_over_with_the_next_batch(monitor):
    _add(monitor, "one")
    _add(monitor, "two")
    assert monitor.alarms(silence=SHORT).empty
    time.sleep(2.1)
    (alarm,) = monitor.alarms(silence=SHORT).to_dict("records")
    assert (alarm["rule"], alarm["batch_id"], alarm["on"]) == ("silence", "two", True)
    assert alarm["sentence"].startswith("no batch for more than 2 s, since ")
    assert alarm["direction"] == "unclear"
    (incident,) = monitor.incidents(silence=SHORT).to_dict("records")
    assert (incident["incident"], incident["state"]) == ("two", "open")
    assert monitor.is_silent(SHORT)
    assert not monitor.is_silent("1h")
    assert not monitor.is_silent()
    _add(monitor, "three")
    (incident,) = monitor.incidents(silence=SHORT).to_dict("records")
    assert (incident["incident"], incident["state"]) == ("two", "closed")
    assert incident["closed"] > incident["opened"]
    assert monitor.alarms(silence="1h").empty


@pytest.mark.long
def test_pages_say_that_it_began_and_that_it_is_over(monitor):
    told = []
    hook = online.Hook("list", told.append)
    _add(monitor, "one")
    assert online.notify(monitor, hook, silence=SHORT).empty
    time.sleep(2.1)
    online.notify(monitor, hook, silence=SHORT)
    assert online.notify(monitor, hook, silence=SHORT).empty
    _add(monitor, "two")
    online.notify(monitor, hook, silence=SHORT)
    assert [(page["event"], page["incident"]) for page in told] == [
        ("opened", "one"),
        ("closed", "one"),
    ]
    assert told[1]["text"].startswith("mail: incident one closed: closed at ")


@pytest.mark.long
def test_it_is_an_incident_by_itself(monitor):
    """An open incident of another rule does not keep anybody from being told."""
    told = []
    hook = online.Hook("list", told.append)
    for day in range(6):
        monitor.add(day, bcm.from_cells(tp=45 - day % 3, fn=5 + day % 3, fp=5, tn=45))
    monitor.add("bad", bcm.from_cells(tp=10, fn=40, fp=5, tn=45))
    online.notify(monitor, hook, silence="1h")
    assert [page["incident"] for page in told] == ["bad"]
    time.sleep(2.1)
    online.notify(monitor, hook, silence=SHORT)
    assert [(page["incident"], page["rule"]) for page in told[1:]] == [("bad", "silence")]
    table = monitor.incidents(silence=SHORT)
    assert table["incident"].tolist() == ["bad", "bad"]
    assert monitor.acknowledge(monitor.alarms(silence=SHORT)) == len(monitor.alarms(silence=SHORT))
    assert set(monitor.incidents(silence=SHORT)["state"]) == {"acknowledged"}
    assert online.notify(monitor, hook, silence=SHORT).empty


@pytest.mark.long
def test_a_correction_is_an_arrival_and_takes_the_name(monitor):
    _add(monitor, "one")
    monitor.add("right", BATCH, corrects="one")
    time.sleep(2.1)
    assert monitor.alarms(silence=SHORT)["batch_id"].tolist() == ["right"]
    monitor.add("again", bcm.from_cells(tp=44, fn=6, fp=5, tn=45), corrects="right")
    assert monitor.alarms(silence=SHORT)["batch_id"].tolist() == ["again"]
    assert not monitor.alarms(silence=SHORT)["on"].any()


@pytest.mark.long
@pytest.mark.parametrize(
    "silence", ["26", "", "soon", "0h", "-1h", 26, True, np.timedelta64("NaT", "s")]
)
def test_a_length_of_time_needs_a_unit(silence, monitor):
    _add(monitor, "one")
    with pytest.raises((ValueError, TypeError), match=r"silence='26h'"):
        monitor.alarms(silence=silence)


def test_lengths_of_time():
    day = np.timedelta64(1, "D")
    for silence in ("24h", "1D", "1440min", timedelta(days=1), day):
        assert check_silence(silence) == day


def test_the_rate_of_false_alarms_is_that_of_the_formula():
    """Batches that arrive at random: each gap is too long with probability exp(-limit / mean)."""
    rng = np.random.default_rng(5)
    gaps = rng.exponential(3600, 100_000)
    arrived = np.datetime64("2026-01-01", "us") + np.cumsum(gaps * 1e6).astype("m8[us]")
    found = silences(arrived, "3h", arrived[-1])
    assert len(found) / len(gaps) == pytest.approx(np.exp(-3), abs=4 * np.sqrt(np.exp(-3) / 1e5))
    limit = timedelta(hours=np.log(1000 / 0.05))
    streams = arrived.reshape(100, 1000)
    false = np.mean([bool(silences(stream, limit, stream[-1])) for stream in streams])
    assert false <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 100)
