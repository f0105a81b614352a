"""Batches are compared with others of the same phase of a season."""

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.online import Monitor
from bayescm.online.rules import segments
from bayescm.online.seasons import phases

DAYS = pd.date_range("2026-01-05", periods=56)  # a Monday


def fill(monitor, rng, drop_at=None, n=400):
    """Add eight weeks: recall is 0.9, at weekends 0.6, and lower from a day on."""
    for index, day in enumerate(DAYS):
        recall = 0.6 if day.day_of_week > 4 else 0.9
        if drop_at is not None and index >= drop_at:
            recall -= 0.15
        tp, tn = rng.binomial(n // 2, recall), rng.binomial(n // 2, 0.9)
        batch = bcm.from_cells(tp=tp, fn=n // 2 - tp, fp=n // 2 - tn, tn=tn)
        monitor.add(str(day.date()), batch)


@pytest.mark.long
@pytest.mark.parametrize("season", [7, "weekday", "by batch"])
def test_a_season_raises_no_alarms(season):
    if season == "by batch":
        season = pd.Series({str(day.date()): str(day.day_of_week > 4) for day in DAYS})
    with Monitor("sqlite://", "mail", measures=["recall"], season=season) as monitor:
        fill(monitor, np.random.default_rng(0))
        assert monitor.alarms(reference=14).empty
        assert len(monitor.since_change()) == 56
        assert monitor.history().sizes["step"] == 56
    with Monitor("sqlite://", "mail", measures=["recall"]) as monitor:  # the negative control
        fill(monitor, np.random.default_rng(0))
        assert len(monitor.alarms(reference=14)) > 5


@pytest.mark.long
def test_a_drop_in_all_phases_is_noticed_and_is_for_the_worse():
    with Monitor("sqlite://", "mail", measures=["recall"], season=7) as monitor:
        fill(monitor, np.random.default_rng(1), drop_at=40)
        alarms = monitor.alarms(reference=14)
        change = alarms[alarms["rule"] == "change"].iloc[0]
        assert 39 <= change["first"] <= 41
        assert change["direction"] == "worse"
        assert {"reference"} <= set(alarms["rule"])
        reference = alarms[alarms["rule"] == "reference"].iloc[0]
        assert reference["step"] >= 40
        assert (reference["first"] - reference["step"]) % 7 == 0 or reference["first"] >= 40


@pytest.mark.long
def test_one_odd_batch_is_compared_with_its_phase():
    """Recall 0.6 is usual on Sundays and odd on a Wednesday."""
    with Monitor("sqlite://", "mail", measures=["recall"], season="weekday") as monitor:
        fill(monitor, np.random.default_rng(2))
        monitor.add("odd", bcm.from_cells(tp=120, fn=80, fp=20, tn=180), at="2026-03-04")
        alarms = monitor.alarms()
        batch = alarms[alarms["rule"] == "batch"]
        assert batch["batch_id"].tolist() == ["odd"]
        assert batch["limit"].iloc[0] == pytest.approx(0.9, abs=0.02)
        assert batch["direction"].iloc[0] == "worse"


@pytest.mark.long
def test_false_alarms_are_as_rare_as_promised():
    """Healthy streams of 200 batches at a rate of 0.2 for them, with a season of 4."""
    rng, n_false, n = np.random.default_rng(3), 0, 100
    for _ in range(n):
        recall = rng.beta(8, 2, 4)[np.arange(200) % 4]
        tp = rng.binomial(50, recall)
        series = bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45).rename(batch="step")
        series = series.assign_coords(phase=("step", np.arange(200) % 4))
        n_false += bool(segments(series, None, 0.2))
    assert n_false / n <= 0.2 + 3 * np.sqrt(0.2 * 0.8 / n)


def test_phases():
    at = DAYS[:3].to_numpy()
    names = np.array(["a", "b", "c"], object)
    assert phases(2, names, at).tolist() == [0, 1, 0]
    assert phases("weekday", names, at).tolist() == [0, 1, 2]
    assert phases("month", names, at).tolist() == [1, 1, 1]
    assert phases({"a": "x", "b": "y", "c": "x"}, names, at).tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="have no phase"):
        phases({"a": "x", "b": "y"}, names, at)


@pytest.mark.long
@pytest.mark.parametrize("season", [1, 0, 7.5, "fortnight", True])
def test_a_season_is_a_number_or_a_part_of_the_time(season):
    with pytest.raises((ValueError, TypeError), match="season"):
        Monitor("sqlite://", "mail", season=season)
