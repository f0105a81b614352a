"""Differences of classifiers over data sets."""

import numpy as np
import pandas as pd
import pytest
from many_data_sets import accuracies
from scipy import stats

import bayescm as bcm
from bayescm.posteriors.hierarchical_differences import HierarchicalT

RNG = np.random.default_rng(8)
LEVELS = {"a": 0.80, "b": 0.83, "c": 0.70}
ROWS = [
    (f"set {i}", name, fold, level + effect + RNG.normal(0, 0.02))
    for i in range(10)
    for name, level in LEVELS.items()
    for effect in [RNG.normal(0, 0.01)]
    for fold in range(5)
]
TABLE = pd.DataFrame(ROWS, columns=["data_set", "classifier", "fold", "accuracy"])
RESULTS = bcm.from_results(TABLE)


def test_long_and_wide_tables_are_the_same_results():
    wide = TABLE.pivot(index=["data_set", "classifier"], columns="fold", values="accuracy")
    runs = bcm.from_results(wide.reset_index(), measure="accuracy", test_share=0.2)
    columns = TABLE.pivot(index=["data_set", "fold"], columns="classifier", values="accuracy")
    several = bcm.from_results(columns.reset_index(), measure="accuracy")
    for each in (runs, several):
        np.testing.assert_allclose(each.sel(RESULTS.coords.indexes)["result"], RESULTS["result"])
        assert each["test_share"].item() == 0.2
    gone = bcm.from_results(TABLE.drop(index=[0, 7]))
    assert int(gone["result"].isnull().sum()) == 2


@pytest.mark.parametrize(
    "ask",
    [
        lambda: bcm.compare(RESULTS, contrast="ratio"),
        lambda: bcm.interval(RESULTS, "accuracy", draws=100),
        lambda: bcm.joint_interval(RESULTS, "accuracy"),
        lambda: bcm.answers.correlation(RESULTS, "accuracy"),
    ],
)
def test_levels_of_differences_are_refused(ask):
    with pytest.raises(ValueError, match="differences between classifiers"):
        ask()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.concat([TABLE, TABLE]), "occurs twice"),
        (TABLE.iloc[:0], "no results"),
        (TABLE.assign(accuracy="high"), "Results must be numbers, not strings"),
        (TABLE.rename(columns={"data_set": "x"}), "no column named 'data_set' for the data sets"),
        (TABLE.rename(columns={"fold": "run"}), "correlation between runs is unknown"),
        (TABLE.assign(note="n"), "A table of results needs columns"),
        (TABLE[TABLE["fold"] == 0], "needs at least two runs"),
        (TABLE.assign(data_set=TABLE["data_set"].where(TABLE.index > 0)), "Rows without a"),
        (TABLE.assign(fold=TABLE["fold"].where(TABLE.index > 0)), "Rows without a"),
        (
            TABLE[(TABLE["fold"] > 0) | (TABLE["data_set"] != TABLE["data_set"][0])],
            "The data sets have different numbers of folds",
        ),
    ],
)
def test_other_tables_are_refused(table, message):
    with pytest.raises((ValueError, TypeError), match=message):
        bcm.from_results(table)


def test_quadrature_is_the_integral_written_out():
    mean, error = np.array([0.5, 1.2, -0.4, 3.0]), np.array([0.3, 0.4, 0.2, 0.5])
    pair = HierarchicalT(mean, error, np.full(4, 9.0), 1.0)
    x, location = np.linspace(-30, 30, 6001), np.array([-0.5, 0.3, 1.5])
    for spread, excess in [(0.3, 1.0), (1.0, 8.0), (4.0, 30.0)]:
        own = stats.t.pdf(mean[:, None], 9, x, error[:, None])
        between = stats.t.pdf(x, 2 + excess, location[:, None, None], spread)
        exact = np.log((own * between).sum(-1) * 0.01).sum(-1)
        exact += stats.norm.logpdf(location, 0, 10) + stats.halfcauchy.logpdf(spread)
        shift = pair.log_density(location, spread, excess)[:, 0] - exact
        if spread == 0.3:
            constant = shift[0]
        np.testing.assert_allclose(shift, constant, atol=0.12)


@pytest.mark.parametrize("number", [30, 90])
def test_the_grid_is_the_density_wherever_it_is_read(number):
    rng = np.random.default_rng(number)
    mean, error = rng.standard_t(3, number), rng.uniform(0.3, 1.5, number)
    pair = HierarchicalT(mean, error, np.full(number, 9.0), 2.0)
    location, spread, excess, mass = pair.grid
    _, one, two = np.unravel_index(mass.argmax(), mass.shape)
    exact = pair.log_density(location, spread[one], excess[two])[:, 0]
    middle = len(location) // 2
    away = (location - location[middle]) / (location[middle + 1] - location[middle])
    cell = np.sqrt(1 + (np.sinh(0.5) * away) ** 2)  # locations are a sinh, in steps of a half
    shift = np.log(mass[:, one, two] / cell) - exact
    np.testing.assert_allclose(shift, shift[middle], atol=0.01)


@pytest.mark.long
def test_compare_tells_the_mean_from_a_new_data_set():
    mean = bcm.compare(RESULTS, rope=0.01).set_index(["first", "second"])
    new = bcm.compare(RESULTS, "accuracy", of="new", rope=0.01).set_index(["first", "second"])
    assert mean.loc[("b", "c"), "p_better"] > 0.99
    assert mean.loc[("a", "b"), "p_worse"] > 0.9
    np.testing.assert_allclose(mean["mean"], [-0.03, 0.10, 0.13], atol=0.02)
    assert (new["upper"] - new["lower"] > 1.5 * (mean["upper"] - mean["lower"])).all()
    np.testing.assert_allclose(new[["p_better", "p_rope", "p_worse"]].sum(axis=1), 1)
    turned = RESULTS.sel(classifier=["b", "a"])
    assert bcm.compare(turned, rope=0.01)["p_better"][0] == pytest.approx(
        mean.loc[("a", "b"), "p_worse"], abs=1e-4
    )
    assert bcm.ranks(RESULTS)["p_best"].idxmax() == 1


def test_losses_are_better_where_lower_and_other_questions_are_refused():
    loss = bcm.from_results(TABLE.rename(columns={"accuracy": "error_rate"}))
    assert bcm.compare(loss, reference="c")["p_better"].max() < 0.01
    with pytest.raises(ValueError, match="describe differences between classifiers"):
        bcm.interval(RESULTS, "accuracy")
    with pytest.raises(ValueError, match="are not values of"):
        bcm.compare(RESULTS, "f1")
    one = bcm.from_results(TABLE[TABLE["data_set"] == "set 0"])
    with pytest.raises(ValueError, match="data sets in common"):
        bcm.compare(one, model="hierarchical_differences")


def test_draws_are_those_of_the_quadrature():
    posterior = bcm.posteriors.hierarchical_differences(RESULTS)
    drawn = posterior.variables(4000, np.random.default_rng(0))
    table = bcm.compare(RESULTS)
    np.testing.assert_allclose(drawn["location"].mean(0), table["mean"], atol=0.001)
    np.testing.assert_allclose(drawn["location"].std(0), table["sd"], rtol=0.1)
    own = drawn["difference"].mean(0).reshape(3, 10)
    np.testing.assert_allclose(own.mean(1), table["mean"], atol=0.004)


@pytest.mark.long
@pytest.mark.slow
def test_what_is_published_of_54_data_sets():
    """P(hidden naive Bayes is ahead on a new data set) = .998, P(equivalent) = .002 at 1 %."""
    pair = bcm.from_results(accuracies(["hnb", "nbc"]), measure="accuracy", test_share=0.1)
    drawn = bcm.posteriors.hierarchical_differences(pair).variables(8000, np.random.default_rng(0))
    at = drawn["location"], 2 + drawn["excess"], drawn["spread"]
    above = stats.t.sf(1, at[1], at[0], at[2])
    below = stats.t.cdf(-1, at[1], at[0], at[2])
    ahead = np.stack([above, 1 - above - below, below])[..., 0].argmax(axis=0)
    shares = np.bincount(ahead, minlength=3) / 8000
    np.testing.assert_allclose(shares, [0.998, 0.002, 0.0], atol=0.003)
    # What sums over location, spread and excess give, each t next to exact, and NUTS as well.
    assert drawn["location"].mean() == pytest.approx(1.589, abs=0.02)
    assert drawn["location"].std() == pytest.approx(0.473, rel=0.03)
    assert np.log(drawn["spread"]).mean() == pytest.approx(np.log(2.44), abs=0.05)


@pytest.mark.long
def test_trees_of_results_have_all_groups():
    """Results are not counts that would have to be whole."""
    tree = bcm.fit(RESULTS, draws=50, random_seed=1)
    assert {"log_likelihood", "posterior_predictive", "prior_predictive"} <= set(tree.children)


@pytest.mark.slow
def test_classifiers_that_tie_on_most_data_sets():
    """J48 and its grafted sister are equal in all runs of several of the 54 data sets."""
    pair = bcm.from_results(accuracies(["j48", "j48gr"]), measure="accuracy", test_share=0.1)
    equal = (pair["result"].diff("classifier") == 0).all("run").sum()
    table = bcm.compare(pair, rope=1, of="new")
    assert int(equal) > 5
    assert table["p_rope"][0] > 0.999
    assert bcm.ranks(pair)["tiers"].str.len().max() >= 1


def errors_named(measure):
    rng = np.random.default_rng(4)
    rows = [
        {"data": data, "name": name, "fold": fold, measure: size + rng.normal(0, 0.01)}
        for data in range(6)
        for name, size in (("good", 0.1), ("bad", 0.2))
        for fold in range(5)
    ]
    table = pd.DataFrame(rows)
    return bcm.from_results(table, data_set="data", classifier="name", measure=measure)


@pytest.mark.parametrize("measure", ["brier", "log_loss", "error_rate", "ece"])
def test_of_losses_of_any_kind_the_smaller_is_better(measure):
    evidence = errors_named(measure)
    row = bcm.compare(evidence, reference="bad").iloc[0]
    assert row["p_better"] > 0.99
    assert "assumed" not in row["sentence"]
    ranks = bcm.classical.nemenyi(evidence).iloc[0]
    assert ranks["rank_" + ("first" if ranks["first"] == "good" else "second")] == 1


def test_results_that_are_best_in_the_middle_are_refused():
    for ask in (bcm.compare, bcm.classical.friedman):
        with pytest.raises(ValueError, match="calibration_slope is best at"):
            ask(errors_named("calibration_slope"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("far", "scale"),
    [
        *((far, None) for far in ([3, 6], [4] * 3 + [7] * 3, [6] * 6, [100, 200], [1000, 2000])),
        *(([3, 6], scale) for scale in (0.02, 0.2, 5)),
    ],
)
def test_data_sets_far_out_leave_the_mean_what_it_is(far, scale):
    """Next to sums over location, spread and excess, where each difference is known exactly."""
    rng = np.random.default_rng(6)
    mean = np.append(rng.normal(size=38), far)
    unit = scale or float(np.sqrt(np.mean(mean**2)))
    pair = HierarchicalT(mean, np.full(len(mean), 1e-3), np.full(len(mean), 9.0), unit)
    location, spread = np.linspace(-2, 2, 81), np.exp(np.linspace(-3, 4, 57))
    squares = ((mean - location[:, None, None]) / spread[:, None]) ** 2
    prior = np.log(spread) - np.log1p((spread / unit) ** 2) - (location[:, None] / unit) ** 2 / 200
    logs = []
    for excess in np.exp(np.linspace(-6, 5, 45)):
        freedom = 2 + excess
        peak = stats.t.logpdf(0, freedom) - np.log(spread)
        log = len(mean) * peak - (freedom + 1) / 2 * np.log1p(squares / freedom).sum(-1)
        logs.append(log + prior + stats.gamma.logpdf(excess, 2, scale=10) + np.log(excess))
    total = np.exp(np.array(logs) - np.max(logs)).sum((0, 2))
    total /= total.sum()
    middle = float(total @ location)
    wide = float(np.sqrt(total @ (location - middle) ** 2))
    assert pair.location.mean() == pytest.approx(middle, abs=0.02 * wide)
    assert pair.location.sd() == pytest.approx(wide, rel=0.02)
