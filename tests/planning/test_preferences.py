"""How many more votes a win rate needs, and on which pairs."""

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.preferences import plan_pairs, plan_preferences, win_rates

STRENGTH = np.array([0.8, 0.4, 0.0, 0.0, -0.4, -0.8])
NAMES = np.array(list("abcdef"))


def outcomes(left, right, rng):
    eta = STRENGTH[left] - STRENGTH[right]
    logits = np.stack([eta / 2, -eta / 2, np.full(len(eta), np.log(0.5))], axis=1)
    winner = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
    words = np.array(["left", "right", "tie"])[winner]
    return pd.DataFrame({"left": NAMES[left], "right": NAMES[right], "winner": words})


def evenly(number, rng):
    left = rng.integers(6, size=number)
    return left, (left + rng.integers(1, 6, size=number)) % 6


def table_of(number, seed):
    rng = np.random.default_rng(seed)
    return outcomes(*evenly(number, rng), rng)


def width_of(votes, first, second):
    row = win_rates(votes, reference=second, kind="eti").set_index("first").loc[first]
    return row["upper"] - row["lower"]


VOTES = bcm.from_preferences(table_of(300, 1), ordered=False)


@pytest.mark.long
def test_the_width_now_is_that_of_the_posterior():
    plan = plan_preferences(VOTES, difference=("c", "d"), width=0.05)
    assert plan["width_now"][0] == pytest.approx(width_of(VOTES, "c", "d"), rel=0.1)
    assert (plan["width"] <= 0.0501).all()
    numbers = plan.set_index("design")["more_votes"]
    assert numbers["best pairs"] < 0.6 * numbers["all pairs equally"]


@pytest.mark.long
@pytest.mark.parametrize("design", ["all pairs equally", "best pairs"])
def test_with_the_planned_votes_the_width_is_reached(design):
    plan = plan_preferences(VOTES, difference=("c", "d"), width=0.09).set_index("design")
    number = int(plan.loc[design, "more_votes"])
    found = []
    for seed in range(4):
        rng = np.random.default_rng([7, seed])
        if design == "best pairs":
            pairs = plan_pairs(VOTES, budget=number, difference=("c", "d"))
            places = {name: place for place, name in enumerate(NAMES)}
            left, right = (
                np.repeat(pairs[side].map(places), pairs["votes"]).to_numpy()
                for side in ("first", "second")
            )
        else:
            left, right = evenly(number, rng)
        more = bcm.from_preferences(outcomes(left, right, rng), ordered=False)
        found.append(width_of(bcm.combine([VOTES, more], dim="vote"), "c", "d"))
    assert np.mean(found) == pytest.approx(0.09, rel=0.08)


def test_the_best_pairs_of_a_difference_have_the_two_systems_in_them():
    table = plan_pairs(VOTES, budget=200, difference=("a", "f"))
    assert table["votes"].sum() == 200
    assert (
        ((table[["first", "second"]] == "a") | (table[["first", "second"]] == "f"))
        .any(axis=1)
        .all()
    )
    assert table.attrs["width"] < table.attrs["width_now"]


@pytest.mark.long
def test_a_new_system_gets_the_votes():
    few = pd.concat([table_of(600, 2), table_of(3000, 3).query("left == 'f'").head(4)])
    known = few[~few[["left", "right"]].isin(["f"]).any(axis=1)]
    new = pd.DataFrame({"left": ["f"] * 3, "right": ["a", "b", "c"], "winner": "right"})
    table = plan_pairs(bcm.from_preferences(pd.concat([known, new]), ordered=False), budget=50)
    with_new = (table[["first", "second"]] == "f").any(axis=1)
    assert table.loc[with_new, "votes"].sum() > 40


@pytest.mark.long
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: plan_preferences(VOTES, difference=("a", "z"), width=0.1), "Unknown system"),
        (
            lambda: plan_preferences(VOTES, difference=("a", "a"), width=0.1),
            "must name two",
        ),
        (lambda: plan_preferences(VOTES, difference="ab", width=0.1), "must name two"),
        (
            lambda: plan_preferences(VOTES, difference=("a", "b"), width=1.5),
            "must be between 0 and 1",
        ),
        (lambda: plan_preferences(VOTES, difference=("a", "b"), width=0), "width"),
        (
            lambda: plan_preferences(VOTES, difference=("a", "b"), width=1e-7),
            "more than 100,000,000 votes",
        ),
        (lambda: plan_pairs(VOTES, budget=0), "budget"),
        (
            lambda: plan_pairs(bcm.from_preferences(table_of(50, 1), group=[1, 2] * 25), budget=9),
            "At least 5 clusters",
        ),
    ],
)
def test_what_is_rejected(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.long
def test_votes_that_are_repeated_in_clusters_count_once():
    table = table_of(300, 1)
    groups = np.tile(np.arange(300), 3)
    thrice = bcm.from_preferences(pd.concat([table] * 3), group=groups, ordered=False)
    plan = plan_preferences(thrice, difference=("c", "d"), width=0.1)
    assert plan["width_now"][0] == pytest.approx(width_of(thrice, "c", "d"), rel=0.1)
    once = plan_preferences(VOTES, difference=("c", "d"), width=0.1)
    assert plan["width_now"][0] == pytest.approx(once["width_now"][0], rel=0.1)
    # Three votes tell as much as one.
    ratio = plan["more_votes"] / once["more_votes"]
    assert ratio[:2].between(2.3, 3.7).all()
    assert plan_pairs(thrice, budget=90).attrs["width_now"] == pytest.approx(
        plan_pairs(VOTES, budget=30).attrs["width_now"], rel=0.1
    )


def test_a_width_that_is_reached_needs_no_more_votes():
    plan = plan_preferences(VOTES, difference=("a", "b"), width=0.9)
    assert plan["more_votes"].tolist() == [0, 0, 0]
