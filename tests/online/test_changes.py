"""What is known now is known since the latest change; alarms are sentences, part of incidents."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln

import bayescm as bcm
from bayescm.online import Monitor, alarms, history
from bayescm.online.rules import MonitoredSeries, change_share, segments

FLOOR = {"recall": 0.7}
MEASURES = ["precision", "recall", "specificity", "accuracy", "f1"]
HOURS = [40, 41, 39, 40, 42, 38] * 4 + [20, 19, 21, 20, 18, 22] * 2 + [40, 39, 41, 40, 42, 40] * 2


def monitor_of(tp, n=50, **settings):
    """Return a monitor of a batch an hour, of so many true positives of n."""
    monitor = Monitor("sqlite://", "spam filter", **settings)
    for hour, count in enumerate(tp):
        at = np.datetime64("2026-01-05T00:00", "us") + np.timedelta64(hour, "h")
        counts = bcm.from_cells(tp=count, fn=n - count, fp=5, tn=n - 5)
        monitor.add(f"hour {hour}", counts, at=at)
    return monitor


@pytest.mark.long
def test_what_is_known_now_is_known_since_the_change():
    with monitor_of(HOURS[:36]) as monitor:
        since = monitor.since_change()
        assert since["batch_id"].values[0] == "hour 24"
        assert monitor.n_examples() == 12 * 100
        row = monitor.summary().set_index("measure").loc["recall"]
        want = bcm.interval(since.sum("step"), "recall").values
        assert row[["lower", "upper"]].tolist() == pytest.approx(want, abs=1e-9)
        ends = monitor.history()
        np.testing.assert_allclose(ends["recall"][-1], want, atol=1e-6)
        np.testing.assert_allclose(ends["recall"][:24], monitor.history()["recall"][:24])
        assert np.unique(ends["since"].values).tolist() == [ends["at"].values[i] for i in (0, 24)]
        counts = monitor.posterior()["counts"]
        np.testing.assert_array_equal(counts, since.sum("step"))
        figure = monitor.plot(floor=FLOOR)
        assert "change" in [line.get_label() for line in figure.axes[0].lines]


@pytest.mark.long
@pytest.mark.parametrize("settings", [{"window": 30}, {"forgetting": 0.99}])
def test_what_is_not_forgotten_is_of_the_time_since_the_change_too(settings):
    with monitor_of(HOURS[:36], **settings) as monitor:
        upper = monitor.summary().set_index("measure").loc["recall", "upper"]
        assert upper < 0.5


@pytest.mark.long
def test_a_series_without_a_change_is_that_of_all_batches():
    with monitor_of(HOURS[:24]) as monitor:
        assert monitor.since_change().identical(monitor.batches())
        whole = history(monitor.batches(), ["recall"])["recall"]
        np.testing.assert_allclose(monitor.history()["recall"], whole)


@pytest.mark.long
def test_changes_are_found_one_after_the_other_and_stay_as_batches_come():
    with monitor_of(HOURS) as monitor:
        batches = monitor.batches()
    share = change_share(0.05)
    found = [change[:2] for change in segments(batches, None, share)]
    assert [first for first, _ in found] == [24, 36]
    for length in range(1, len(batches)):
        so_far = [change[:2] for change in segments(batches[:length], None, share)]
        assert so_far == [(first, raised) for first, raised in found if raised < length]


@pytest.mark.long
def test_the_last_change_is_known_without_those_before():
    with monitor_of(HOURS) as monitor:
        batches = monitor.batches()
    series = MonitoredSeries(batches, segments=segments(batches, None, 0.025))
    raised = series.segments[0].raised
    np.testing.assert_array_equal(series.before[raised], batches[:raised].sum("step"))
    later = series.before[raised + 1]
    np.testing.assert_array_equal(later, batches[24 : raised + 1].sum("step"))


@pytest.mark.long
def test_alarms_say_in_words_what_one_is_called_about():
    with monitor_of(HOURS[:30]) as monitor:
        table = monitor.alarms(floor=FLOOR)
        row = table[table["rule"] == "floor"].iloc[0]
        recent = monitor.batches()[int(row["first"]) : int(row["step"]) + 1].sum("step")
        want = bcm.interval(recent, "recall").values
        assert row[["lower", "upper"]].tolist() == pytest.approx(want, abs=1e-9)
        assert row["limit"] == 0.7
        number = int(row["step"] - row["first"]) + 1
        span = "the last batch" if number == 1 else f"the last {number} batches"
        assert row["sentence"].startswith(f"recall of {span} is {row['estimate']:.3g} [")
        assert (
            "below the floor 0.7 (probability > 0.9999), since 2026-01-06 00:00" in row["sentence"]
        )
        change = table[table["rule"] == "change"].iloc[0]
        assert change["sentence"].startswith("the answers have changed: recall is 0.")
        assert change["limit"] == pytest.approx(0.8, abs=0.01)


@pytest.mark.long
def test_a_drop_is_one_incident_which_is_closed_when_it_is_over():
    with monitor_of(HOURS[:36]) as monitor:
        (incident,) = monitor.incidents(floor=FLOOR).to_dict("records")
        assert (incident["state"], incident["incident"]) == ("open", "hour 24")
        assert pd.isna(incident["closed"])
        assert "below the floor" in incident["sentence"]
        assert monitor.incidents()["state"].tolist() == ["open"]  # worse than before, still
    with monitor_of(HOURS) as monitor:
        for rules in ({}, {"floor": FLOOR}):
            (incident,) = monitor.incidents(**rules).to_dict("records")
            assert incident["state"] == "closed"
            assert incident["closed"] < pd.Timestamp("2026-01-06 20:00")


@pytest.mark.parametrize("n_bad", [1, pytest.param(2, marks=pytest.mark.long)])
def test_what_is_bad_for_a_batch_or_two_is_over_with_the_good_ones_after_it(n_bad):
    with monitor_of([45, 44, 46, 45] * 3 + [20] * n_bad + [45, 46, 44, 45] * 2) as monitor:
        table = monitor.alarms()
        assert (table["rule"] == "change").sum() == 2
        (incident,) = monitor.incidents().to_dict("records")
        assert (incident["state"], incident["incident"]) == ("closed", "hour 12")
        assert monitor.since_change()["batch_id"].values[0] == f"hour {12 + n_bad}"
        assert monitor.summary().set_index("measure").loc["recall", "lower"] > 0.85


@pytest.mark.long
def test_a_second_alarm_of_a_change_has_the_bayes_factor_of_its_formula():
    with monitor_of([45, 44, 46, 45] * 3 + [20] + [45, 46, 44, 45] * 2) as monitor:
        batches = monitor.batches()
    first, second = segments(batches, None, 0.025)

    def log_evidence(table):
        alpha, theirs = table + 0.5, gammaln(table + 0.5).sum(-1)
        return float((theirs - gammaln(alpha.sum(-1))).sum()) - 2 * 2 * gammaln(0.5)

    cells = batches.values
    whole = log_evidence(cells[first.first : second.raised + 1].sum(0))
    terms = [(second.raised - first.raised) * np.log1p(-0.01)]
    for split in range(first.raised + 1, second.raised + 1):
        parts = cells[first.first : split].sum(0), cells[split : second.raised + 1].sum(0)
        place = np.log(0.01) + (split - first.raised - 1) * np.log1p(-0.01)
        terms.append(sum(map(log_evidence, parts)) - whole + place)
    assert second.log_bayes_factor == pytest.approx(np.logaddexp.reduce(terms), abs=1e-9)
    assert second.first == first.raised + 1


@pytest.mark.long
def test_the_incident_of_an_alarm_is_the_same_however_many_batches_follow():
    with monitor_of(HOURS) as monitor:
        batches, whole = monitor.batches(), monitor.alarms(floor=FLOOR)
    keys = ["step", "rule", "measure", "sentence"]
    for length in (25, 30, 36, 40):
        some = alarms(batches[:length], MEASURES, floor=FLOOR)
        want = whole.loc[whole["step"] < length, keys]
        assert some[keys].values.tolist() == want.values.tolist()


@pytest.mark.long
def test_an_improvement_is_an_incident_that_closes_by_itself():
    with monitor_of([30, 31, 29, 30] * 5 + [45, 44, 46, 45] * 3) as monitor:
        table = monitor.incidents()
        assert table["state"].tolist() == ["closed"]


@pytest.mark.long
def test_scores_have_no_change():
    rng = np.random.default_rng(1)
    with Monitor("sqlite://", "risk", edges=[-1, 0, 1]) as monitor:
        for day, sign in enumerate([1] * 8 + [-1] * 8):
            score = rng.normal(size=400)
            y = (rng.random(400) < 1 / (1 + np.exp(-2 * sign * score))).astype(int)
            monitor.add(day, bcm.from_scores(y, score), at=f"2026-01-{day + 1:02}")
        assert monitor.since_change().sizes["step"] == 16
        assert monitor.incidents().empty
