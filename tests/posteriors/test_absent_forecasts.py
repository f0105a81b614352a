"""Probabilities with a class that has no examples, and forecasts that are all equal."""

import numpy as np
import pytest

import bayescm as bcm


def of_three(n, seed=3):
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.ones(3), n)
    return rng.choice(["a", "b"], n), chances


def test_proper_scores_do_not_need_every_class():
    truth, chances = of_three(200)
    evidence = bcm.from_probabilities(truth, chances, labels=["a", "b", "c"])
    code = np.array(["a", "b", "c"]).searchsorted(truth)
    losses = -np.log(chances[np.arange(200), code])
    errors = ((chances - np.eye(3)[code]) ** 2).sum(axis=1)
    table = bcm.summary(evidence, ["log_loss", "brier"])
    np.testing.assert_allclose(table["point"], [losses.mean(), errors.mean()])
    # The weights of the examples are Dirichlet(1, ..., 1), as if nothing were known of class c.
    weights = np.random.default_rng(1).dirichlet(np.ones(200), 20_000)
    np.testing.assert_allclose(table["mean"], [losses.mean(), errors.mean()], rtol=0.03)
    spread = [(weights @ losses).std(), (weights @ errors).std()]
    np.testing.assert_allclose(table["sd"], spread, rtol=0.1)
    assert "No example is of class c: its share is assumed to be 0" in table.attrs["caution"]
    assert "0 examples" not in table.attrs["caution"]


def test_defaults_leave_out_what_is_undefined(tmp_path):
    truth, chances = of_three(60)
    evidence = bcm.from_probabilities(truth, chances, labels=["a", "b", "c"])
    table = bcm.summary(evidence)
    assert table["measure"].tolist() == ["brier", "brier_skill", "ece_top_label"]
    assert np.isfinite(table[["point", "lower", "upper"]]).all(axis=None)
    bcm.plot_calibration(evidence)
    bcm.report(evidence, tmp_path / "report.html")
    with pytest.raises(ValueError, match="no example is of class c"):
        bcm.summary(evidence, "auc")
    with pytest.raises(ValueError, match="no example is of class c"):
        bcm.plot_roc(evidence)
    bcm.summary(bcm.fit(evidence), "log_loss")


def test_scores_need_every_class():
    truth, scores = of_three(60)
    with pytest.raises(ValueError, match="0 of 60 examples are of class 'c'"):
        bcm.from_scores(truth, scores, labels=["a", "b", "c"])


@pytest.mark.parametrize("values", [[0.4], [0.3, 0.7], [0.0, 1.0]])
def test_few_forecast_values_have_a_summary(values, tmp_path):
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, 60)
    evidence = bcm.from_probabilities(truth, rng.choice(values, 60))
    table = bcm.summary(evidence)
    assert {"auc", "brier", "ece", "calibration_in_the_large"} <= {*table["measure"]}
    assert ("calibration_slope" in table["measure"].tolist()) == (len(values) > 1)
    assert np.isfinite(table[["point", "lower", "upper"]]).all(axis=None)
    bcm.plot_calibration(evidence)
    bcm.report(evidence, tmp_path / "report.html")


def test_a_classifier_whose_forecasts_are_equal_is_compared():
    rng = np.random.default_rng(6)
    truth, chances = rng.integers(0, 2, 60), rng.random(60)
    evidence = bcm.from_probabilities(truth, {"flat": np.full(60, 0.5), "model": chances})
    measures = set(bcm.summary(evidence)["measure"])
    assert "calibration_slope" not in measures
    assert "brier" in measures
    with pytest.raises(ValueError, match=r"(?i)slope"):
        bcm.summary(evidence, "calibration_slope")


@pytest.mark.long
def test_measures_of_each_class_need_examples_of_it():
    truth, chances = of_three(60)
    evidence = bcm.from_probabilities(truth, chances, labels=["a", "b", "c"])
    for measure in ("ece", "ece_macro"):
        with pytest.raises(ValueError, match=f"{measure} needs examples of every class.*class c"):
            bcm.interval(evidence, measure)
    lower, upper = bcm.interval(evidence, "auc_micro").values
    assert lower < bcm.measure(evidence, "auc_micro")["auc_micro"] < upper
