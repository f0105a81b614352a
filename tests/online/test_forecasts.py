"""Probabilities batch by batch: what is kept, what it says, and when it raises an alarm."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats
from scipy.special import expit
from sklearn.metrics import brier_score_loss, roc_auc_score

import bayescm as bcm
from bayescm.cli import main
from bayescm.evidence.binned_forecasts import events_of, middles
from bayescm.measures import display_name
from bayescm.measures.catalogue import resolve
from bayescm.online import Ledger, Monitor, forecast_table
from bayescm.online.bayes_factor import log_evidence_of_events
from bayescm.online.web import pages
from bayescm.online.web.metrics import exposition
from bayescm.online.web.state import dashboard_state
from bayescm.posteriors.binned_forecasts import BinnedForecasts

EDGES = np.linspace(0, 1, 151)


def batch(rng, size=300, slope=1.0, level=0.0):
    """Return the truth and the probabilities of a batch."""
    odds = rng.normal(-1, 1.3, size)
    return (rng.random(size) < expit(level + slope * odds)).astype(int), expit(odds)


def day(number):
    return np.datetime64("2026-01-01") + np.timedelta64(number, "D")


@pytest.fixture(scope="module")
def drifting():
    """Return a ledger of 24 batches, whose probabilities are too extreme from the ninth on."""
    rng, ledger = np.random.default_rng(2), Ledger("sqlite://")
    monitor = Monitor(ledger, "risk")
    for number in range(24):
        truth, p = batch(rng, slope=1.0 if number < 8 else 0.4)
        monitor.add(number, bcm.from_probabilities(truth, p), at=day(number))
    monitor_of_counts = Monitor(ledger, "spam")
    monitor_of_counts.add("monday", bcm.from_cells(tp=65, fn=15, fp=35, tn=30), at=day(0))
    return ledger


@pytest.mark.long
def test_fine_bins_have_the_numbers_of_the_examples():
    rng = np.random.default_rng(1)
    truth, p = batch(rng, 4000, slope=0.8)
    monitor = Monitor("sqlite://", "m", edges=EDGES)
    monitor.add("all", bcm.from_probabilities(truth, p))
    table = monitor.summary().set_index("measure")
    assert table.loc["auc", "mean"] == pytest.approx(roc_auc_score(truth, p), abs=3e-3)
    assert table.loc["brier", "mean"] == pytest.approx(brier_score_loss(truth, p), abs=1e-3)
    evidence = bcm.from_probabilities(truth, p)
    for name, row in table.iterrows():
        own = bcm.interval(evidence, name, kind="eti", draws=1000).values
        np.testing.assert_allclose([row["lower"], row["upper"]], own, atol=0.15 * np.ptp(own))


def filled(batches, **settings):
    """Return a monitor of a batch a day."""
    monitor = Monitor("sqlite://", "risk", **settings)
    for number, (truth, p) in enumerate(batches):
        monitor.add(number, forecast_table(truth, p, positive=1), at=day(number))
    return monitor


@pytest.mark.long
def test_the_evidence_of_events_is_an_integral_over_how_many_there_are():
    rng = np.random.default_rng(3)
    tables = filled([batch(rng, 80)]).batches()
    cells = events_of(tables).numbers
    middle = middles(tables)
    expected = np.where(middle < 0.5, middle, 1 - middle) * tables.values[0].sum(axis=0)
    assert cells[..., 1].sum() == pytest.approx(expected.sum())
    assert (
        cells[..., 0].sum() == tables[0, 1, middle < 0.5].sum() + tables[0, 0, middle > 0.5].sum()
    )
    rates = np.linspace(0, 40, 400_001)[1:]
    total = 0.0
    for events, number in cells[0]:
        density = stats.gamma(4, scale=1 / 4).pdf(rates)
        likelihood = rates**events * np.exp(-rates * number)
        total += np.log(np.trapezoid(density * likelihood, rates))
    assert log_evidence_of_events(cells)[0] == pytest.approx(total, abs=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("n_wrong", [1, 12])
def test_what_is_known_of_probabilities_is_known_since_what_comes_true_has_changed(n_wrong):
    rng, wrong = np.random.default_rng(4), range(12, 12 + n_wrong)
    number, size = 12 + n_wrong + 6, 1000
    settings = [{"slope": 0.2, "level": 1.0} if i in wrong else {} for i in range(number)]
    with filled([batch(rng, size, **setting) for setting in settings]) as monitor:
        table = monitor.alarms(tolerance={})
        changes = table[table["rule"] == "change"]
        assert changes["first"].tolist() == [12, 12 + n_wrong]
        assert changes["measure"].unique().tolist() == ["outcomes"]
        sentence = changes["sentence"].iloc[0]
        assert sentence.startswith("the outcomes have changed: ")
        assert ", since 2026-01-13 00:00" in sentence
        assert monitor.since_change(tolerance={}).sizes["step"] == 6
        slope = monitor.summary(tolerance={}).set_index("measure").loc["calibration_slope"]
        assert slope["lower"] < 1 < slope["upper"]
        (incident,) = monitor.incidents(tolerance={}).to_dict("records")
        assert incident["state"] == "closed"
        assert "change" in [line.get_label() for line in monitor.plot().axes[0].lines]


@pytest.mark.long
def test_another_population_and_better_forecasts_of_it_are_no_incident():
    rng = np.random.default_rng(5)
    batches = [batch(rng, 500) for _ in range(15)]
    for _ in range(15):  # of whom more are ill, as the forecasts say
        odds = rng.normal(0, 1.3, 500)
        batches.append(((rng.random(500) < expit(odds)).astype(int), expit(odds)))
    with filled(batches) as monitor:
        assert monitor.since_change().sizes["step"] == 30
        assert monitor.incidents().empty


@pytest.mark.long
def test_history_is_of_the_sums_and_alarms_find_the_change(drifting):
    monitor = Monitor(drifting, "risk")
    ends = monitor.history()
    for name in ("auc", "calibration_slope"):
        last = monitor.summary().set_index("measure").loc[name]
        np.testing.assert_allclose(ends[name][-1], last[["lower", "upper"]].astype(float))
        np.testing.assert_allclose(monitor.history(last=3)[name], ends[name][-3:])
    assert ends["n"].values.tolist() == [300] * 24
    found = monitor.alarms(floor={"auc": 0.9})
    assert set(found["rule"]) == {"calibration", "floor", "change"}
    slope = found[found["measure"] == "calibration_slope"]
    assert 8 <= slope["step"].iloc[0] < 16
    assert (slope["since"] >= day(6)).all()
    assert monitor.acknowledge(found) == len(found)
    assert monitor.alarms(floor={"auc": 0.9}, new=True).empty
    late = monitor.alarms(floor={"auc": 0.9}, since=day(16))
    assert set(late["step"]) == set(found["step"][found["step"] >= 16])
    wide = monitor.alarms(tolerance={"calibration_slope": 0.9})
    assert wide["rule"].tolist() == ["change"]
    window = Monitor(drifting, "risk", window=4)
    in_force = window.posterior()["counts"]
    np.testing.assert_array_equal(in_force, monitor.batches()[-4:].sum("step"))


@pytest.mark.long
def test_few_examples_of_a_class_are_cautioned_of(tmp_path, capsys):
    p = np.linspace(0.05, 0.95, 200)
    truth = (np.arange(200) % 14 == 13).astype(int)
    ledger = Ledger(str(tmp_path / "eval.db"))
    monitor = Monitor(ledger, "m")
    monitor.add("one", bcm.from_probabilities(truth, p), at=day(0))
    assert "1 (14)" in monitor.summary().attrs["caution"]
    assert "caution" in monitor.history().attrs
    seen = dashboard_state(ledger, {})
    for page in (pages.status(seen, 1), pages.classifier(seen, "m", may_acknowledge=False)):
        assert "Caution: fewer than 20 examples of 1 (14)" in page.body.decode()
    assert 'bayescm_caution{classifier="m"} 1.0' in exposition(seen).decode()
    for command in ("status", "history"):
        with pytest.raises(SystemExit):
            main(["monitor", command, "--store", str(tmp_path / "eval.db"), "--classifier", "m"])
        assert "caution: " in (said := capsys.readouterr()).err
        assert "1 (14)" in said.err
    monitor.add("two", bcm.from_probabilities(truth[::-1], p), at=day(1))
    assert "caution" not in monitor.summary().attrs
    assert "caution" not in monitor.history().attrs
    assert "Caution" not in pages.status(seen, 1).body.decode()


@pytest.mark.long
@pytest.mark.parametrize("name", ["auc", "brier", "log_loss", "calibration_slope"])
def test_the_linearized_posterior_is_that_of_drawn_shares(name):
    rng = np.random.default_rng(4)
    tables = [forecast_table(*batch(rng, 1000, slope)) for slope in (1.0, 0.5)]
    counts = xr.concat(tables, "step").assign_attrs(tables[0].attrs)
    posterior, measure = BinnedForecasts(counts), resolve(name)
    distribution = posterior.distribution(measure)
    (drawn,) = posterior.draw([measure], 10_000, rng)
    width = np.diff(distribution.eti(0.95)).ravel()
    for q in (0.025, 0.5, 0.975):
        error = distribution.quantile(q) - np.quantile(drawn, q, axis=0)
        assert (np.abs(error) < 0.06 * width).all()
    np.testing.assert_allclose(distribution.mean(), drawn.mean(axis=0), atol=0.02 * width.max())
    # A batch is its members.
    for step in range(2):
        alone = BinnedForecasts(counts[step].assign_attrs(counts.attrs)).distribution(measure)
        np.testing.assert_allclose(distribution.hdi(0.9)[step], alone.hdi(0.9), rtol=1e-6)


@pytest.mark.long
def test_intervals_are_of_the_kind_that_is_asked_for(drifting):
    monitor = Monitor(drifting, "risk")
    shortest, central = (monitor.summary(kind=kind) for kind in ("hdi", "eti"))
    lengths = [(table["upper"] - table["lower"]).values for table in (shortest, central)]
    assert (lengths[0][:2] < lengths[1][:2]).all()  # the area and the Brier score are skewed
    np.testing.assert_allclose(lengths[0][2:], lengths[1][2:], rtol=1e-4)
    last = monitor.history(last=1)["auc"].values[0]
    np.testing.assert_allclose(last, shortest.loc[0, ["lower", "upper"]].astype(float))


@pytest.mark.long
def test_bins_that_tell_little_are_cautioned_of():
    rng = np.random.default_rng(3)
    truth, p = batch(rng)
    rare = rng.beta(1, 400, 4000)
    exact = np.where(np.arange(4000) % 5 == 0, 0.0, rng.random(4000))
    wrong = rng.random(4000) < np.where(exact == 0, 0.02, exact)
    tables = {
        "the default": (bcm.online.forecast_table(truth, p), None),
        "two bins": (bcm.online.forecast_table(truth, p, edges=[0, 0.5, 1]), "share a bin and"),
        "nearly all in one": (
            bcm.online.forecast_table((rng.random(4000) < rare).astype(int), rare),
            "% of the pairs of a positive and a negative share a bin: ",
        ),
        "zeros that err": (
            bcm.online.forecast_table(wrong.astype(int), exact),
            "forecasts below 0.005 are wrong, more than",
        ),
    }
    for name, (table, said) in tables.items():
        with Monitor("sqlite://", "m") as monitor:
            monitor.add("one", table, at=day(0))
            found = monitor.summary().attrs.get("caution")
        assert found is None if said is None else said in found, (name, found)


def test_kinds_are_not_mixed_and_every_batch_is_kept(drifting):
    truth, p = batch(np.random.default_rng(5))
    counts = bcm.from_predictions(truth, (p > 0.5).astype(int), positive=1)
    with pytest.raises(ValueError, match="Record this batch under another"):
        Monitor(drifting, "risk").add("x", counts)
    with pytest.raises(ValueError, match="Record this batch under another"):
        Monitor(drifting, "spam").add("x", bcm.from_probabilities(truth, p))
    other = forecast_table(truth, p, edges=EDGES)
    with pytest.raises(ValueError, match="The edges of bins of this batch differ"):
        Monitor(drifting, "risk").add("x", other)
    monitor = Monitor("sqlite://", "risk")
    assert monitor.add("a", forecast_table(truth, p))
    assert not monitor.add("a", bcm.from_probabilities(truth, p))
    assert monitor.add("none", forecast_table([0, 0], [0.1, 0.2]))  # a batch without positives
    assert monitor.add("b", forecast_table(truth[:50], p[:50]), corrects="a")
    assert monitor.batches()["batch_id"].values.tolist() == ["b", "none"]
    assert monitor.posterior()["counts"].sum() == 52


def test_scores_have_an_area_and_no_calibration():
    truth, p = batch(np.random.default_rng(6), 2000)
    scores = np.log(p)
    monitor = Monitor("sqlite://", "s", edges=np.quantile(scores, np.linspace(0.01, 0.99, 200)))
    monitor.add(1, bcm.from_scores(truth, scores))
    assert monitor.summary()["mean"].item() == pytest.approx(roc_auc_score(truth, p), abs=3e-3)
    assert monitor.alarms().empty
    with pytest.raises(ValueError, match="needs probabilities, but these are scores"):
        Monitor(monitor.ledger, "s", measures=["brier"]).history()


def test_what_is_no_batch_is_refused():
    monitor = Monitor("sqlite://", "risk")
    with pytest.raises(ValueError, match="Probabilities"):
        forecast_table([0, 1], [0.2, 1.2])
    elsewhere = bcm.at_prevalence(bcm.from_probabilities([0, 1], [0.2, 0.7]), 0.1)
    with pytest.raises(ValueError, match=r"Leave out .* a fixed prevalence"):
        monitor.add("elsewhere", elsewhere)
    with pytest.raises(ValueError, match="A forecast is missing"):
        forecast_table([0, 1], [0.2, np.nan])
    with pytest.raises(ValueError, match="Scores need edges"):
        forecast_table([0, 1], [0.2, 0.3], kind="scores")
    with pytest.raises(ValueError, match="ascending numbers"):
        forecast_table([0, 1], [0.2, 0.3], edges=[0, 0.5, 0.4, 1])
    with pytest.raises(TypeError, match="not forecasts"):
        Monitor("sqlite://", "risk", edges=EDGES).add("x", bcm.from_cells(tp=1, fn=1, fp=1, tn=1))
    with pytest.raises(ValueError, match="Begin with a batch that has both classes"):
        monitor.add("x", forecast_table(["sick"], [0.4], positive="sick"))
    monitor.add("x", forecast_table(*batch(np.random.default_rng(1))))
    with pytest.raises(ValueError, match="is not available for binned forecasts"):
        Monitor(monitor.ledger, "risk", measures=["ece"]).summary()
    with pytest.raises(ValueError, match="concentration has no effect on binned forecasts"):
        Monitor(monitor.ledger, "risk", concentration=1).summary()
    with pytest.raises(ValueError, match="forecasts has no predictive distribution"):
        monitor.history(of="predictive")
    with pytest.raises(ValueError, match="reference is not available for batches of probabilities"):
        monitor.alarms(reference=1)
    with pytest.raises(ValueError, match="which is not monitored"):
        monitor.alarms(tolerance={"log_loss": 0.1})


@pytest.mark.long
def test_the_dashboard_shows_both_kinds(drifting):
    seen = dashboard_state(
        drifting, {"floor": {"recall": 0.5, "auc": 0.9}, "measures": ["recall", "auc"]}
    )
    for name, measure in (("risk", "auc"), ("spam", "recall")):
        now = seen.classifier(name)
        assert now.problem == ""
        assert now.measures["measure"].tolist() == [measure]
        text = pages.classifier(seen, name, may_acknowledge=False).body.decode()
        assert display_name(measure) in text
    assert 'measure="auc"' in exposition(seen).decode()
    assert "risk" in pages.status(seen, 1).body.decode()


@pytest.mark.long
def test_the_command_line_takes_probabilities(tmp_path, capsys):
    store, rng = str(tmp_path / "eval.db"), np.random.default_rng(3)

    def run(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main(["monitor", *map(str, arguments)])
        out = capsys.readouterr()
        assert stopped.value.code == 0, out.err
        return out.out

    for number in range(3):
        truth, p = batch(rng)
        frame = pd.DataFrame({"y": np.where(truth, "sick", "well"), "p": p})
        frame.to_csv(tmp_path / "b.csv", index=False)
        options = ("--actual", "y", "--probability", "p", "--positive", "sick", "--store", store)
        said = run("add", tmp_path / "b.csv", "--batch", number, *options)
        assert "300 examples, recorded" in said
    status = json.loads(run("status", "--store", store, "--format", "json"))
    assert {"auc", "calibration_slope"} <= {row["measure"] for row in status}
    assert {row["examples"] for row in status} == {900}
    rows = json.loads(run("history", "--store", store, "--format", "json", "-m", "brier"))
    assert len(rows) == 3
    run("alarms", "--store", store, "--tolerance", "calibration_slope=0.1", "--floor", "auc=0.5")
    run("plot", "--store", store, "--out", tmp_path / "history.png")
    assert (tmp_path / "history.png").stat().st_size > 0
    run("verify", "--store", store)


@pytest.mark.long
def test_pictures_show_what_is_tolerated():
    rng = np.random.default_rng(0)
    with bcm.online.Monitor("sqlite://", "risk") as monitor:
        for day in range(3):
            p = rng.beta(1, 3, 300)
            monitor.add(day, bcm.from_probabilities((rng.random(300) < p).astype(int), p))
        tolerated = monitor.tolerated(tolerance={"calibration_slope": 0.3})
        assert tolerated == {"calibration_slope": pytest.approx((0.7, 1.3), abs=1e-6)}
        usual = {"calibration_in_the_large": (-0.02, 0.02), "calibration_slope": (0.8, 1.2)}
        assert monitor.tolerated() == {k: pytest.approx(v, abs=1e-6) for k, v in usual.items()}
        for axes, lines in zip(monitor.plot().axes, (0, 0, 2, 2), strict=True):
            assert sum(line.get_label() == "tolerated" for line in axes.lines) == lines
        state = dashboard_state(monitor.ledger, {})
        page = pages.classifier(state, "risk", may_acknowledge=False).body.decode()
        assert page.count("<title>end of what is tolerated</title>") == 4
