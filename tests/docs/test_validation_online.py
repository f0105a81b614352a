"""The experiments on online evaluation: what they draw, and that they tell methods apart."""

import numpy as np
import pytest
from validation import experiments, online


def run(name, table, case, **options):
    (experiment,) = experiments(name, table)
    return experiment.run(case, **options)


@pytest.mark.long
@pytest.mark.parametrize("table", ["prior", "fixed", "drift"])
def test_every_case_has_a_row_for_each_measure_and_method(table):
    (experiment,) = experiments("online", table)
    frame = experiment.run(replications=1, seed=2)
    assert frame["case"].unique().tolist() == list(experiment.cases)
    for case, setting in experiment.cases.items():
        _, truth = experiment.draw(np.random.default_rng(0), *setting)
        methods = experiment.methods(*setting) if table == "prior" else experiment.methods
        assert (frame["case"] == case).sum() == len(truth) * len(methods)


def test_batches_are_of_twenty_and_the_recall_is_that_of_the_path():
    counts, truth = online.fixed_truth(np.random.default_rng(1), "rare")
    assert counts.sum(["actual", "predicted"]).values.tolist() == [20, 200, 2000]
    assert truth["recall after 1"] == pytest.approx(0.8)
    counts, truth = online.moving_recall(np.random.default_rng(1), "jumps once, .9 to .7")
    assert counts.sizes["step"] == online.STEPS
    assert (truth["recall at 20"], truth["recall at 21"]) == pytest.approx((0.9, 0.7))


@pytest.mark.long
def test_the_truth_of_the_prior_is_covered_and_a_jump_is_not_by_what_pools():
    frame = run("online", "prior", 1, replications=80, seed=4)
    nominal = frame["method"].str.rstrip("%").astype(float) / 100
    error = np.sqrt(nominal * (1 - nominal) / 80)
    assert (np.abs(frame["doc"] - nominal) < 4 * error).all()
    drift = run("online", "drift", 3, replications=10, seed=4)
    after = drift[drift["measure"] == "recall at 30"].set_index("method")["doc"]
    assert after["drifting, filtered"] > 0.5
    assert after["all batches pooled"] < 0.45


@pytest.mark.long
def test_drops_raise_alarms_and_healthy_series_do_not():
    frame = run("run_length", "alarms", None, replications=6, seed=1)
    assert len(frame) == 32
    frame = frame[frame["rate"] == 0.005].set_index(["rule", "recall"])
    assert frame.loc[("change", 0.9), "alarmed"] <= 0.5
    # A batch is compared with those since the last change, which is often found before it.
    dropped = frame.xs(0.7, level="recall").drop("batch")
    assert (dropped["alarmed"] > 0.6).all()
    assert (dropped["median"] <= 20).all()
    larger, smaller = frame.loc[("change", 0.7), "median"], frame.loc[("change", 0.85), "median"]
    assert larger < smaller


@pytest.mark.long
def test_the_end_of_a_bad_batch_is_seen():
    frame = run("run_length", "after", 5, replications=3, seed=1)
    assert frame[["noticed", "ended"]].eq(1).all(axis=None)
    assert frame["median"].le(3).all()


@pytest.mark.long
def test_a_better_challenger_is_promoted_more_often():
    worse, better = (run("challengers", "", case, replications=4, seed=3) for case in (1, 4))
    assert worse["promoted"].mean() < better["promoted"].mean()
    assert (better["promoted"] + better["futile"] <= 1).all()


def test_the_truth_of_binned_probabilities_is_that_of_the_case():
    extreme = online.true_measures(-1.0, 1.5, 0.0)
    assert extreme["calibration_slope"][0] == pytest.approx(1.5, abs=1e-6)
    right = online.true_measures(-1.0, 1.0, 0.0)
    assert right["calibration_in_the_large"][0] == pytest.approx(0, abs=1e-9)
    assert right["brier"][1] == pytest.approx(right["brier"][0], abs=1e-3)


@pytest.mark.long
def test_intervals_of_binned_probabilities_cover_and_narrow():
    table = run("binned_intervals", "", 1, replications=60, seed=3)
    assert table["doc"].between(0.8, 1).all()
    lengths = table.pivot(index="measure", columns="size", values="il")
    assert (lengths[1000] < 0.55 * lengths[200]).all()


@pytest.mark.long
def test_forecasts_that_drift_raise_an_alarm_and_right_ones_do_not():
    rng, ones = np.random.default_rng(1), np.ones(30)
    healthy = online.binned_batches(rng, 300, -1.0, ones, 0 * ones, 0 * ones)
    assert np.isnan(list(online.first_alarms_of_forecasts(healthy).values())).all()
    drifting = online.binned_batches(rng, 300, -1.0, 0.5 * ones, 0 * ones, 0 * ones)
    assert online.first_alarms_of_forecasts(drifting)["calibration"] < 15
