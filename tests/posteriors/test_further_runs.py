"""One further run at the same items, flips between answers, and the variance between items."""

import numpy as np
import pytest

import bayescm as bcm

RNG = np.random.default_rng(7)
RATES = RNG.beta(0.6, 0.8, 60)
ANSWERS = (RNG.random((60, 6)) < RATES[:, None]).astype(int)
EVIDENCE = bcm.from_attempts(ANSWERS)


@pytest.mark.long
def test_points_are_those_of_all_pairs_of_answers():
    pairs = [(i, j) for i in range(6) for j in range(i)]
    flips = np.mean([ANSWERS[:, i] != ANSWERS[:, j] for i, j in pairs])
    table = bcm.summary(EVIDENCE, ["flip_rate", "variance_within", "icc"]).set_index("measure")
    assert table.loc["flip_rate", "point"] == pytest.approx(flips)
    assert table.loc["flip_rate", "mean"] == pytest.approx(2 * table.loc["variance_within", "mean"])
    # The estimate by analysis of variance, with one factor.
    rate = ANSWERS.mean(axis=1)
    between = 6 * rate.var(ddof=1)
    within = (rate * (1 - rate)).mean() * 6 / 5
    anova = (between - within) / (between + 5 * within)
    assert table.loc["icc", "point"] == pytest.approx(anova, abs=0.01)
    assert table.loc["icc", "lower"] < anova < table.loc["icc", "upper"]


@pytest.mark.parametrize(
    "n", [pytest.param(1, marks=pytest.mark.long), 6, pytest.param(40, marks=pytest.mark.long)]
)
def test_a_run_varies_by_its_answers_and_by_what_is_not_known_of_the_rates(n):
    finite, run = (
        bcm.distribution(EVIDENCE, "mean", random_seed=1, draws=8000, **asked)
        for asked in ({"of": "finite"}, {"of": "predictive", "n": n})
    )
    within = bcm.distribution(EVIDENCE, "variance_within", of="finite", random_seed=1).mean().item()
    assert run.mean().item() == pytest.approx(finite.mean().item(), abs=0.003)
    expected = (finite.sd().item() ** 2 + within / (60 * n)) ** 0.5
    assert run.sd().item() == pytest.approx(expected, rel=0.05)


@pytest.mark.long
def test_pass_at_k_of_a_run_is_its_unbiased_estimate():
    values = bcm.distribution(EVIDENCE, "pass_at(2)", of="predictive", n=2, random_seed=1)
    steps = np.unique(np.round(values.distributions[0].draws * 60, 6))
    assert np.allclose(steps, np.round(steps))  # with two attempts an item passes or it does not
    three = bcm.distribution(EVIDENCE, "pass_at(2)", of="predictive", n=3, random_seed=1)
    assert three.mean().item() == pytest.approx(
        bcm.distribution(EVIDENCE, "pass_at(2)", of="finite", random_seed=1).mean().item(), abs=0.01
    )


@pytest.mark.long
def test_two_systems_and_slices_have_runs_too():
    other = (RNG.random((60, 6)) < np.clip(RATES + 0.1, 0, 1)[:, None]).astype(int)
    both = bcm.from_attempts({"a": ANSWERS, "b": other})
    run, finite = (
        bcm.compare(both, "mean", random_seed=1, **asked).loc[0]
        for asked in ({"of": "predictive", "n": 1}, {"of": "finite"})
    )
    assert run["mean"] == pytest.approx(finite["mean"], abs=0.01)
    assert run["sd"] > 1.3 * finite["sd"]
    sliced = bcm.from_attempts(ANSWERS, by={"half": ["x", "y"] * 30})
    assert bcm.summary(sliced, ["mean"], of="predictive", n=2).shape[0] == 2


@pytest.mark.parametrize(
    ("evidence", "measure", "n", "message"),
    [
        (EVIDENCE, "pass_at(4)", 2, "pass_at.4. needs at least 4 attempts.*Pass n=4"),
        (EVIDENCE, "icc", None, "is not available for one further run"),
        (
            EVIDENCE,
            lambda rates: rates.mean(lambda p: p),
            None,
            "is not available for one further run",
        ),
        (bcm.from_attempts(ANSWERS[:, :1]), "mean", None, "needs at least 2 attempts per item"),
        (
            bcm.from_attempts(ANSWERS[:, :1]),
            "flip_rate",
            None,
            "needs at least 2 attempts per item",
        ),
        (
            bcm.from_attempts([["a", "b", "b"]] * 8, truth=["a"] * 8),
            "majority_at(3)",
            None,
            "depends on the wrong answers",
        ),
    ],
)
def test_runs_that_are_not_known_are_errors(evidence, measure, n, message):
    of = "parameter" if measure == "flip_rate" else "predictive"
    with pytest.raises(ValueError, match=message):
        bcm.interval(evidence, measure, of=of, n=n)
