"""A champion and its challenger: what is kept, what is judged, when it ends."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from stores_for_tests import STORES, empty_store

import bayescm as bcm
from bayescm.cli import main
from bayescm.measures.catalogue import resolve
from bayescm.online import Challenge, Ledger, Monitor, backup, verify
from bayescm.online.challenge import (
    InterimAnalyses,
    Rule,
    decisions,
    error_of_share,
    interim_analyses,
    p_promote,
    pair_table,
    verdict,
)
from bayescm.online.web.state import dashboard_state


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    with empty_store(request.param, tmp_path) as address:
        yield address


def batch(seed, *, better=0.1, size=200, names=("old", "new")):
    rng = np.random.default_rng(seed)
    actual = rng.integers(0, 2, size)
    rates = dict(zip(names, (0.8, 0.8 + better), strict=True))
    answers = {k: np.where(rng.random(size) < p, actual, 1 - actual) for k, p in rates.items()}
    return bcm.from_classifiers(actual, answers)


@pytest.mark.long
def test_batches_are_kept_and_judged_as_compare_judges_them(store, tmp_path):
    with Challenge(store, "trial") as challenge:
        for day in range(3):
            assert challenge.add(day, batch(day), at=f"2026-01-0{day + 1}")
        assert not challenge.add(0, batch(0))
        assert challenge.add("2b", batch(9), corrects=2)
        kept, history = challenge.outcomes(), challenge.history()
        assert kept["batch_id"].values.tolist() == ["0", "1", "2b"]
        every = bcm.from_classifiers(*_joined([batch(0), batch(1), batch(9)]))
        mine = bcm.evidence.outcomes.counts_of(kept.sum("step"))
        assert (mine.values == bcm.evidence.outcomes.counts_of(every).values).all()
        row = bcm.compare(every, "accuracy").iloc[0]
        last = history.iloc[-1]
        assert last["difference"] == pytest.approx(-row["mean"], abs=0.002)
        assert last["p_better"] == pytest.approx(row["p_worse"], abs=1.5 * last["error"])
        assert history["decision"].iloc[-1] == challenge.decision() == "promote"
        copied = backup(challenge.ledger, tmp_path / "copy.db")
    assert copied["whole"].all()
    assert verify(store)["entries"].tolist() == [4]


def _joined(batches):
    """Return truth and answers of all examples of some batches."""
    actual, answers = [], {"old": [], "new": []}
    for each in batches:
        times = each["counts"].values
        actual += np.repeat(each["actual"].values, times).tolist()
        for name in answers:
            answers[name] += np.repeat(
                each["predicted"].sel(classifier=name), times
            ).values.tolist()
    return actual, answers


def test_monitors_and_challenges_share_a_store_and_not_a_name(store):
    counts = bcm.from_cells(tp=9, fn=1, fp=1, tn=9)
    with Ledger(store) as ledger:
        Challenge(ledger, "trial").add(1, batch(0))
        Monitor(ledger, "filter").add(1, counts)
        assert (ledger.classifiers(), list(ledger.challenges())) == (["filter"], ["trial"])
        with pytest.raises(ValueError, match="Record this batch under another"):
            Monitor(ledger, "trial").add(2, counts)
        with pytest.raises(ValueError, match="Challenge, monitor challenge --name"):
            Monitor(ledger, "trial").summary()
        with pytest.raises(ValueError, match="Record this batch under another"):
            Challenge(ledger, "filter").add(2, batch(0))
        with pytest.raises(ValueError, match="Record this batch under another name"):
            Challenge(ledger, "trial").add(2, batch(0, names=("new", "old")))
        with pytest.raises(ValueError, match="Unknown challenge"):
            Challenge(ledger, "tril").history()


@pytest.mark.long
def test_the_rule_is_that_of_the_first_batch_for_whoever_asks(store, tmp_path):
    rule = {"measure": "f1_macro", "margin": 0.01, "prob": 0.99, "planned": 900}
    with Challenge(store, "trial", **rule) as begun:
        for day in range(3):
            begun.add(day, batch(day, better=0.03))
        history = begun.history()
        assert begun.rule._asdict() == rule
        assert "p_promote" in history
        copied = tmp_path / "copy.db"
        backup(begun.ledger, copied)
    for address in (store, copied):
        with Challenge(address, "trial") as challenge:
            pd.testing.assert_frame_equal(challenge.history(), history)
            assert challenge.rule == begun.rule
        state = dashboard_state(challenge.ledger, {"prob": 0.8})
        (shown,) = state.challenges()
        assert shown.decision == history["decision"].iloc[-1]
        assert shown.p_better == history["p_better"].iloc[-1]
        assert "better in f1_macro by more than 0.01" in shown.rule
        assert "above 99%; 900 examples are planned" in shown.rule
    for name, value in {"measure": "f1", "margin": 0.0, "prob": 0.95, "planned": 1000}.items():
        with (
            Challenge(store, "trial", **{name: value}) as other,
            pytest.raises(ValueError, match=f"was started with {name}=.*Leave {name} out"),
        ):
            other.add(3, batch(3))


def test_two_who_begin_a_challenge_at_once_have_one_rule(store):
    with Ledger(store) as ledger:
        table = pair_table(batch(0))
        for prob, refused in ((0.99, False), (0.95, True)):
            table.attrs["rule"] = Rule(prob=prob)._asdict()
            if refused:
                with pytest.raises(ValueError, match="Record this batch under another name"):
                    ledger.record("trial", str(prob), table)
            else:
                ledger.record("trial", str(prob), table)


def test_a_measure_that_is_no_number_begins_no_challenge():
    rng = np.random.default_rng(0)
    three = bcm.from_classifiers(
        *(rng.integers(0, 3, 50), {n: rng.integers(0, 3, 50) for n in "ab"})
    )
    challenge = Challenge("sqlite://", "trial", measure="recall")
    with pytest.raises(ValueError, match="has one value per class, but a challenge"):
        challenge.add(1, three)
    assert challenge.ledger.challenges() == {}
    with pytest.raises(TypeError, match="The measure of a challenge"):
        Challenge("sqlite://", "trial", measure=lambda cells: cells[..., 0, 0])


def test_a_verdict_says_what_came_after_the_decision():
    history = pd.DataFrame(
        {"batch_id": ["a", "b", "c"], "p_better": [0.3, 0.01, 0.999]}
        | {"decision": ["go on", "futile", "futile"]}
    )
    assert verdict(history[:1]) == "go on: better with probability 0.3"
    assert verdict(history[:2]) == "futile, decided by batch 'b': better with probability 0.01"
    assert verdict(history) == (
        "futile, decided by batch 'b', which stays; with all batches so far better with "
        "probability 0.999"
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"prob": 0.5}, "and below"),
        ({"margin": "a"}, "margin must be a number"),
        ({"planned": 0}, "planned must be a number of examples"),
        ({"name": ""}, "characters, or a whole number"),
    ],
)
def test_settings_out_of_range_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Challenge("sqlite://", **{"name": "trial"} | given)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda each: each.sel(classifier=["old"]), "A challenge needs exactly two classifiers"),
        (lambda each: each.expand_dims("group"), "must be a single table"),
        (lambda each: each.assign(counts=each["counts"] * 0), "no examples"),
    ],
)
def test_what_is_no_paired_batch_is_refused(spoil, message):
    with pytest.raises(ValueError, match=message):
        Challenge("sqlite://", "trial").add(1, spoil(batch(0)))


def test_the_first_decision_stays_and_hope_falls_with_time():
    better = np.array([0.5, 0.97, 0.5, 0.01])
    analyses = InterimAnalyses(*np.zeros((4, 4)), better)
    n = np.array([100, 200, 300, 400])
    assert decisions(analyses, n, Rule()).tolist() == ["go on", "promote", "promote", "promote"]
    flat = InterimAnalyses(np.zeros(4), 1 / np.sqrt(n), *np.zeros((2, 4)), np.full(4, 0.5))
    hope = p_promote(flat, n, Rule(planned=400))
    assert (np.diff(hope) < 0).all()
    assert hope[-1] == 0
    assert decisions(flat, n, Rule(planned=400))[-1] == "futile"
    assert decisions(flat, n, Rule())[-1] == "go on"


def test_what_was_known_after_a_batch_stays_so_when_others_come():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 300)
    answers = {
        name: np.where(rng.random(300) < p, truth, 1 - truth)
        for name, p in {"champion": 0.8, "challenger": 0.84}.items()
    }
    counts = bcm.from_classifiers(truth, answers)["counts"]
    outcomes = bcm.from_classifiers(truth, answers)
    many = outcomes.assign(
        counts=counts.expand_dims(batch=4) * xr.DataArray([1, 2, 3, 4], dims="batch")
    )
    later, earlier = (
        interim_analyses(part, resolve("accuracy")).p_better
        for part in (many, many.isel(batch=slice(2)))
    )
    assert (later[:2] == earlier).all()


def test_lower_is_better_and_the_margin_counts():
    outcomes = batch(3, size=3000).expand_dims("step")
    error, margin = (interim_analyses(outcomes, resolve(m)) for m in ("error_rate", "accuracy"))
    assert error.p_better == pytest.approx(1)
    assert error.mean == pytest.approx(margin.mean, abs=0.003)
    assert interim_analyses(outcomes, resolve("accuracy"), margin=0.2).p_better == pytest.approx(0)


@pytest.mark.long
def test_the_command_adds_and_says(tmp_path, capsys):
    rows = "actual,old,new\n" + "a,b,a\nb,a,b\na,a,a\nb,b,b\n" * 20
    (tmp_path / "day.csv").write_text(rows)

    def run(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["monitor", "challenge", "--store", str(tmp_path / "e.db"), *arguments])
        return left.value.code, capsys.readouterr()

    columns = ("--champion", "old", "--challenger", "new", "--positive", "a")
    code, said = run(str(tmp_path / "day.csv"), "--batch", "monday", *columns)
    assert (code, "challenge: promote" in said.out) == (0, True)
    assert "monday" in run("--format", "csv")[1].out
    assert "The batch has no name" in run(str(tmp_path / "day.csv"), *columns)[1].err
    assert "Unknown challenge" in run("--name", "another")[1].err


@pytest.mark.long
def test_prob_of_the_file_is_of_intervals_and_not_of_a_challenge(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "monitor.toml").write_text('store = "e.db"\nprob = 0.8\n')
    (tmp_path / "day.csv").write_text("actual,old,new\n" + "a,b,a\nb,b,b\na,a,a\n" * 20)

    def run(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["monitor", "challenge", *arguments])
        return left.value.code, capsys.readouterr()

    columns = ("--champion", "old", "--challenger", "new", "--positive", "a")
    assert run("day.csv", "--batch", "1", *columns, "-m", "f1", "--prob", "0.99")[0] == 0
    with Challenge("e.db") as challenge:
        assert challenge.rule == Rule(measure="f1", prob=0.99)
        said = verdict(challenge.history())
    code, printed = run()
    assert (code, said in printed.out) == (0, True)
    code, printed = run("--prob", "0.9")
    assert (code, "Leave --prob out" in printed.err) == (2, True)


@pytest.mark.parametrize("probability", [0.5, 0.95, 0.999])
def test_shares_of_draws_are_within_their_errors_of_the_probability(probability):
    shares = np.random.default_rng(1).binomial(4000, probability, 20_000) / 4000
    within = np.abs(shares - probability) <= error_of_share(shares)
    assert 0.93 < within.mean() < 0.985
