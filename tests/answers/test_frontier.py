"""Quality and cost: the frontier against loops over joint draws."""

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm

RNG = np.random.default_rng(1)
ACTUAL = RNG.integers(0, 2, 200)
RIGHT = {"small": 0.72, "medium": 0.75, "large": 0.85, "old": 0.70}
COST = {"small": 1.0, "medium": 2.0, "large": 9.0, "old": 4.0}


def answers(rate):
    return np.where(RNG.random(200) < rate, ACTUAL, 1 - ACTUAL)


EVIDENCE = bcm.from_classifiers(
    ACTUAL, {name: answers(rate) for name, rate in RIGHT.items()}, positive=1
)


def by_loops(values, costs, margin):
    """Return P(frontier) and P(cheaper and not worse) by definition, over draws."""
    size, number = values.shape
    on_frontier, not_worse = np.zeros(number), np.zeros((number, number))
    for value, cost in zip(values, costs, strict=True):
        for j in range(number):
            dominated = False
            for i in range(number):
                as_cheap, as_good = cost[i] <= cost[j], value[i] >= value[j]
                strictly = cost[i] < cost[j] or value[i] > value[j]
                dominated |= as_cheap and as_good and strictly
                not_worse[i, j] += cost[i] < cost[j] and value[i] >= value[j] - margin
            on_frontier[j] += not dominated
    return on_frontier / size, not_worse / size


def test_probabilities_are_those_of_loops_over_the_joint_draws():
    table = bcm.frontier(EVIDENCE, "accuracy", cost=COST, margin=0.02, draws=500, random_seed=4)
    table = table.set_index("classifier")
    assert table.index.tolist() == ["small", "medium", "old", "large"]
    drawn = bcm.answers.compare.draw_measures(
        EVIDENCE,
        ["accuracy"],
        bcm.fitting.question.Question(draws=500, random_seed=4),
    )["accuracy"]
    names = drawn["classifier"].values.tolist()
    costs = np.tile([COST[name] for name in names], (500, 1))
    on_frontier, not_worse = by_loops(drawn.values, costs, 0.02)
    for place, name in enumerate(names):
        assert table.loc[name, "p_frontier"] == pytest.approx(on_frontier[place])
        assert table.loc[name, "p_cheaper_not_worse"] == pytest.approx(not_worse[:, place].max())
    assert pd.isna(table.loc["small", "cheaper"])
    assert table.loc["small", "p_frontier"] == 1


def test_draws_without_a_value_are_left_out():
    rare = bcm.from_classifiers([1, 0, 0, 0], {"a": [0, 0, 0, 0], "b": [1, 0, 0, 0]}, positive=1)
    table = bcm.frontier(
        rare, "precision", cost={"a": 1, "b": 2}, of="predictive", random_seed=1
    ).set_index("classifier")
    assert table[["mean", "lower", "upper", "p_frontier"]].notna().all(axis=None)
    assert table.loc["a", "p_frontier"] == 1
    assert table.loc["b", "p_frontier"] < 1


def test_losses_are_better_if_they_are_low():
    scores = {"a": RNG.uniform(0, 0.2, 50), "b": RNG.uniform(0.6, 1, 50)}
    errors = bcm.from_item_scores(scores, range=(0, 1), lower_is_better=True)
    table = bcm.frontier(errors, "mean", cost={"a": 1, "b": 2}).set_index("classifier")
    assert table["p_frontier"].round(3).tolist() == [1.0, 0.0]
    assert table.loc["b", "cheaper"] == "a"


@pytest.mark.long
def test_costs_of_items_have_the_uncertainty_of_their_mean():
    per_item = {name: RNG.gamma(4, cost / 4, 200) for name, cost in COST.items()}
    table = bcm.frontier(EVIDENCE, "f1", cost=per_item, random_seed=1).set_index("classifier")
    for name, costs in per_item.items():
        half = 1.96 * costs.std() / 200**0.5
        assert table.loc[name, "cost"] == pytest.approx(costs.mean(), rel=0.01)
        assert table.loc[name, "cost_upper"] - costs.mean() == pytest.approx(half, rel=0.15)
    framed = bcm.frontier(EVIDENCE, "f1", cost=pd.DataFrame(per_item), random_seed=1)
    assert framed["cost"].tolist() == table["cost"].tolist()
    fixed = bcm.frontier(EVIDENCE, "f1", cost=pd.Series(COST))
    assert (fixed["cost_lower"] == fixed["cost"]).all()


@pytest.mark.long
@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ({"small": 1.0}, "cost lacks the systems"),
        (COST | {"tiny": 1.0}, "which is not a system"),
        (COST | {"old": -1.0}, "Costs of old"),
        (COST | {"old": [1.0, np.nan]}, "costs of old are missing"),
        (COST | {"old": "much"}, "The cost of old must be a number"),
        (COST | {"old": np.ones((2, 2))}, "The cost of old must be one number"),
    ],
)
def test_costs_that_are_no_costs_are_errors(cost, message):
    with pytest.raises(ValueError, match=message):
        bcm.frontier(EVIDENCE, "accuracy", cost=cost)


def test_other_wrong_calls():
    with pytest.raises(TypeError, match="cost must map systems to costs"):
        bcm.frontier(EVIDENCE, "accuracy", cost=3.0)
    with pytest.raises(ValueError, match="margin must be a finite number"):
        bcm.frontier(EVIDENCE, "accuracy", cost=COST, margin=-0.1)
    with pytest.raises(ValueError, match="A frontier needs a column cost"):
        bcm.plots.plot_frontier(bcm.summary(bcm.from_cells(tp=1, fn=2, fp=3, tn=4)))


@pytest.mark.long
def test_the_plot_fills_the_points_of_the_frontier():
    table = bcm.frontier(EVIDENCE, "accuracy", cost=COST | {"large": 90.0}, random_seed=1)
    axes = bcm.plots.plot_frontier(table, cost_label="dollars").axes[0]
    assert axes.get_xscale() == "log"
    assert axes.get_xlabel() == "dollars"
    assert [text.get_text().split("\n")[0] for text in axes.texts] == table["classifier"].tolist()
