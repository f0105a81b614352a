"""The monitor: everything concluded from the ledger, whenever asked."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from stores_for_tests import STORES, empty_store

import bayescm as bcm
from bayescm import online, priors
from bayescm.evidence.counts import WATCHED
from bayescm.online import Monitor
from bayescm.online.encoding import chance_of_same
from bayescm.online.ledger import Ledger

RNG = np.random.default_rng(3)
# Tables that differ by no more than chance: nothing changes.
TABLES = np.array([[40, 12], [10, 38]]) + RNG.integers(0, 4, (6, 2, 2))
WEEKS = bcm.from_matrix(TABLES, labels=["well", "sick"], positive="sick", dims=("step",))
DAYS = pd.date_range("2026-01-05", periods=6, freq="7D")


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    with empty_store(request.param, tmp_path) as address:
        yield address


def filled(store, order=range(6), **keywords):
    monitor = online.Monitor(store, "spam", **keywords)
    for index in order:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert monitor.add(f"week {index}", WEEKS[index], at=DAYS[index])
    return monitor


def test_the_history_is_that_of_the_series(store):
    with filled(store) as monitor:
        history = monitor.history()
        want = online.history(WEEKS, WATCHED.with_positive)
        for name in WATCHED.with_positive:
            assert history[name].dims == ("step", "bound")
            np.testing.assert_allclose(history[name], want[name])
        assert history["batch_id"].values.tolist() == [f"week {i}" for i in range(6)]
        assert (history["at"].values == DAYS.values).all()
        assert history["n"].values.tolist() == WEEKS.sum(["actual", "predicted"]).values.tolist()
        assert "positive" in history.coords


def test_the_order_in_which_batches_come_does_not_matter(store):
    with filled(store, order=[3, 0, 5, 1, 4, 2]) as monitor:
        want = online.history(WEEKS, ["f1"])["f1"]
        np.testing.assert_allclose(monitor.history()["f1"], want)


def test_a_late_batch_is_accepted_and_said():
    with online.Monitor("sqlite://", "spam") as monitor:
        monitor.add("b", WEEKS[1], at="2026-01-12")
        with pytest.warns(UserWarning, match="is dated before the latest batch"):
            assert monitor.add("a", WEEKS[0], at="2026-01-05")
        monitor.add("c", WEEKS[2], at="2026-01-19")
        assert monitor.batches()["batch_id"].values.tolist() == ["a", "b", "c"]


@pytest.mark.long
def test_conclusions_can_be_changed_afterwards(store):
    prior = priors.elicit(precision=0.6, recall=0.65, accuracy=0.6, weight=20, like=WEEKS)
    filled(store).close()
    with online.Monitor(
        store, "spam", concentration=prior, forgetting=0.9, measures=["mcc"]
    ) as monitor:
        history = monitor.history(prob=0.5, kind="eti")
        assert list(history.data_vars) == ["mcc"]
        in_force = online.accumulate(WEEKS, forgetting=0.9)
        want = bcm.interval(in_force, "mcc", concentration=prior, prob=0.5, kind="eti")
        np.testing.assert_allclose(history["mcc"], want, atol=1e-6)
    with online.Monitor(store, "spam", window=2) as monitor:
        np.testing.assert_array_equal(monitor.posterior()["counts"], WEEKS[-2:].sum("step"))


@pytest.mark.long
def test_the_posterior_is_a_state_that_goes_on(store):
    with filled(store) as monitor:
        state = monitor.posterior()
        assert state["counts"].identical(WEEKS.sum("step").rename("counts"))
        np.testing.assert_allclose(state["concentration"], 0.5)
        ends = online.intervals(online.update(state, WEEKS[0]), "f1")
        want = bcm.interval(WEEKS.sum("step") + WEEKS[0], "f1")
        np.testing.assert_allclose(ends["f1"], want)
        tree = bcm.fit(state["counts"], concentration=state["concentration"], draws=20)
        again = priors.from_posterior(tree)
        np.testing.assert_allclose(again, state["counts"] + 0.5)


def test_a_correction_replaces_and_the_old_one_stays(store):
    with filled(store) as monitor:
        assert monitor.add("week 2, relabelled", WEEKS[0], corrects="week 2")
        batches = monitor.batches()
        assert batches["batch_id"].values.tolist()[2] == "week 2, relabelled"
        assert batches.sizes["step"] == 6
        np.testing.assert_array_equal(batches[2], WEEKS[0])
        assert monitor.add("again", WEEKS[1], corrects="week 2, relabelled")
        np.testing.assert_array_equal(monitor.batches()[2], WEEKS[1])
    with Ledger(store) as ledger:
        assert len(ledger.table()) == 8


@pytest.mark.long
def test_a_batch_is_taken_back_by_a_correction_to_nothing(store):
    with filled(store) as monitor:
        monitor.add("week 2, withdrawn", WEEKS[2] * 0, corrects="week 2")
        want = WEEKS.sum("step") - WEEKS[2]
        np.testing.assert_array_equal(monitor.posterior()["counts"], want)
        assert np.isfinite(monitor.history()["f1"]).all()
        monitor.alarms()


def test_two_monitors_of_one_store_see_each_other(store):
    with online.Monitor(store, "spam") as one, online.Monitor(store, "spam") as other:
        one.add(1, WEEKS[0])
        assert other.batches().sizes["step"] == 1
        other.add(2, WEEKS[1])
        one.add(3, WEEKS[2])
        assert one.batches()["batch_id"].values.tolist() == ["1", "2", "3"]
        assert other.batches()["batch_id"].values.tolist() == ["1", "2", "3"]


@pytest.mark.long
def test_classifiers_of_one_store_are_apart(store):
    with filled(store) as spam, online.Monitor(store, "pets") as pets:
        tables = np.arange(1, 10).reshape(3, 3)
        pets.add("week 0", bcm.from_matrix(tables, labels=["cat", "cow", "dog"]))
        assert spam.batches().sizes["actual"] == 2
        history = pets.history()
        assert list(history.data_vars) == list(WATCHED.many_classes)
        assert history["recall"].dims == ("step", "class", "bound")


@pytest.mark.long
def test_the_same_batch_again_is_no_news(store):
    with filled(store) as monitor:
        assert not monitor.add("week 3", WEEKS[3])
        with pytest.raises(ValueError, match="with other counts"):
            monitor.add("week 3", WEEKS[4])
        assert monitor.batches().sizes["step"] == 6


@pytest.mark.long
def test_alarms_of_the_monitor_are_those_of_its_series(store):
    with filled(store, measures=["recall"]) as monitor:
        got = monitor.alarms(rate=0.01, floor=0.9, reference=2)
        want = online.alarms(WEEKS, ["recall"], rate=0.01, floor=0.9, reference=2)
        assert got["step"].tolist() == want["step"].tolist()
        assert got["rule"].tolist() == want["rule"].tolist()
        assert len(got) > 0
        assert set(got["batch_id"]) <= {f"week {i}" for i in range(6)}


@pytest.mark.long
@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        (WEEKS, "A batch must be a single table"),
        (WEEKS[0] * 0, "The batch has no examples"),
        (bcm.from_cells(tp=1, fn=2, fp=3, tn=4), "are unknown to classifier"),
    ],
)
def test_batches_that_are_none_are_refused(evidence, message):
    with online.Monitor("sqlite://", "spam") as monitor:
        monitor.add("first", WEEKS[0])
        with pytest.raises(ValueError, match=message):
            monitor.add("second", evidence)
        assert monitor.batches().sizes["step"] == 1


@pytest.mark.parametrize("prior", [priors.uniform(["no", "yes"]), np.ones((3, 3))])
def test_a_prior_that_does_not_fit_is_refused_before_anything_is_recorded(prior):
    with online.Monitor("sqlite://", "spam", concentration=prior) as monitor:
        with pytest.raises(ValueError, match=r"labels|shape"):
            monitor.add("first", WEEKS[0])
        with pytest.raises(ValueError, match="has no batches"):
            monitor.batches()


def test_what_is_no_evidence_is_refused():
    with online.Monitor("sqlite://", "spam") as monitor, pytest.raises(TypeError, match="evidence"):
        monitor.add("first", [[1, 2], [3, 4]])


def test_the_name_of_a_batch_comes_first():
    with (
        online.Monitor("sqlite://", "spam") as monitor,
        pytest.raises(TypeError, match=r"Pass add\('first', evidence\)"),
    ):
        monitor.add(WEEKS.isel(step=0), "first")


def test_settings_are_checked_at_once():
    with pytest.raises(ValueError, match="forgetting"):
        online.Monitor("sqlite://", "spam", forgetting=0)
    with pytest.raises(ValueError, match="classifier must be printable text"):
        online.Monitor("sqlite://", "")


def test_a_monitor_shows_no_password():
    with online.Monitor("sqlite://", "spam") as monitor:
        assert repr(monitor) == "Monitor(Ledger('sqlite://'), 'spam')"


@pytest.mark.long
def test_the_picture(tmp_path):
    with filled(f"sqlite:///{tmp_path}/eval.db", measures=["recall", "f1"]) as monitor:
        figure = monitor.plot(floor={"recall": 0.5}, rate=0.05)
        assert len(figure.axes) == 2
        assert [axis.get_ylabel() for axis in figure.axes] == ["recall", "F1"]
        figure.savefig(tmp_path / "history.png")


def test_abstentions_are_refused():
    counts = bcm.from_predictions(["a", "b"], ["a", "none"], positive="a", abstain="none")
    with (
        online.Monitor("sqlite://", "spam") as monitor,
        pytest.raises(ValueError, match="Leave these examples out"),
    ):
        monitor.add("monday", counts)


@pytest.mark.long
@pytest.mark.parametrize("method", ["alarms", "summary", "history", "incidents", "plot"])
def test_measures_are_those_of_the_monitor_and_no_rule(method):
    with online.Monitor("sqlite://", "spam") as monitor:
        monitor.add("monday", bcm.from_cells(tp=5, fn=1, fp=2, tn=4))
        with pytest.raises(TypeError, match=r": Monitor\("):
            getattr(monitor, method)(measures=["recall"])


@pytest.mark.long
def test_the_same_counts_under_another_name_are_recorded_with_a_hint():
    counts = bcm.from_cells(tp=6512, fn=1520, fp=3498, tn=3011)
    with Monitor("sqlite://", "m") as monitor:
        monitor.add("monday", counts)
        with pytest.warns(UserWarning, match="which is unlikely by chance"):
            monitor.add("tuesday", counts)
        assert monitor.batches().sizes["step"] == 2
        monitor.add("other", counts + 1, corrects="tuesday")
        monitor.add("again", counts + 1, corrects="other")  # of a correction nothing is said
        few = bcm.from_cells(tp=3, fn=1, fp=0, tn=4)
        for day in range(3):  # nor of what others may well have by chance
            monitor.add(day, few)


def test_the_chance_of_a_batch_like_another_is_that_of_multinomial_counts():
    shares, n = np.array([0.45, 0.05, 0.05, 0.45]), 100
    payload = json.dumps((n * shares).astype(int).reshape(2, 2).tolist())
    exact = stats.multinomial.pmf(n * shares, n, shares)
    assert chance_of_same(payload) == pytest.approx(exact)
    rng = np.random.default_rng(5)
    draws = rng.multinomial(n, shares, 100_000)
    assert (draws == n * shares).all(axis=1).mean() == pytest.approx(exact, abs=5e-4)


def test_a_classifier_that_is_nearly_another_is_begun_with_a_hint():
    counts = bcm.from_cells(tp=3, fn=1, fp=0, tn=4)
    with Ledger("sqlite://") as ledger:
        Monitor(ledger, "spam filter").add("a", counts)
        Monitor(ledger, "risk").add("a", counts)
        with pytest.warns(UserWarning, match="The batch was recorded for a new classifier"):
            Monitor(ledger, "spam fliter").add("b", counts)
        Monitor(ledger, "spam fliter").add("c", counts)
        for name in ("ham filter 1", "ham filter 2"):  # versions are no slips
            Monitor(ledger, name).add("d", counts)
