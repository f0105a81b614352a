"""Votes on pairs of systems: tables and columns, outcomes, orders, clusters, and bad input."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.evidence.preferences import as_preferences, groups_that_never_met
from bayescm.evidence.registry import type_of

TABLE = pd.DataFrame(
    {
        "model_a": ["x", "y", "x", "z", "z", "y"],
        "model_b": ["y", "x", "z", "x", "y", "z"],
        "winner": ["model_a", "tie", "model_b", "model_a", "tie (bothbad)", "model_a"],
        "prompt": [1, 1, 2, 2, 3, 3],
        "times": [1, 2, 1, 1, 0, 3],
    }
)


def counts_of(evidence):
    """Return the votes as a mapping from the two systems and the winner to a number."""
    return {
        (str(pair["left"].item()), str(pair["right"].item()), str(name)): int(number)
        for pair in (evidence.isel(pair=i) for i in range(evidence.sizes["pair"]))
        for name, number in zip(pair["winner"].values, pair["vote_count"].values, strict=True)
        if number
    }


def test_a_table_becomes_counts_of_pairs_in_the_order_shown():
    assert counts_of(bcm.from_preferences(TABLE)) == {
        ("x", "y", "left"): 1,
        ("y", "x", "tie"): 1,
        ("x", "z", "right"): 1,
        ("z", "x", "left"): 1,
        ("z", "y", "tie"): 1,
        ("y", "z", "left"): 1,
    }
    assert bcm.from_preferences(TABLE)["ordered"]


def test_without_an_order_both_orders_are_one_pair():
    assert counts_of(bcm.from_preferences(TABLE, ordered=False)) == {
        ("x", "y", "left"): 1,
        ("x", "y", "tie"): 1,
        ("x", "z", "right"): 2,
        ("y", "z", "tie"): 1,
        ("y", "z", "left"): 1,
    }


def test_the_order_is_known_only_if_some_pair_was_seen_in_both():
    assert not bcm.from_preferences(TABLE.iloc[[0, 2, 5]])["ordered"]
    assert bcm.from_preferences(TABLE.iloc[[0, 2, 5]], ordered=True)["ordered"]


@pytest.mark.parametrize(
    ("written", "code"),
    [
        (["A", " left ", "MODEL_A"], 0),
        (["b", "Right", "model_b"], 1),
        (["Tie", "draw", "both_bad"], 2),
        (["x", "x", "x"], 0),  # the name of the system on the left
        (["y", "y", "y"], 1),
    ],
)
def test_outcomes_are_recognised(written, code):
    evidence = bcm.from_preferences(left=["x"] * 3, right=["y"] * 3, winner=written)
    assert evidence["vote_count"].values.tolist() == [
        [3 if place == code else 0 for place in range(3)]
    ]


def test_outcomes_of_their_own_replace_the_usual_ones():
    sides = {"left": ["x"] * 4, "right": ["y"] * 4}
    names = {"left": 1, "right": [2], "tie": [0, 9]}
    evidence = bcm.from_preferences(**sides, winner=[1, 2, 0, 9], outcomes=names)
    assert evidence["vote_count"].values.tolist() == [[1, 1, 2]]
    with pytest.raises(ValueError, match=r"Unknown outcomes: 'tie' \(1 vote\)"):
        bcm.from_preferences(**sides, winner=[1, 2, 0, "tie"], outcomes=names)


def test_numbers_of_votes_and_columns_by_name():
    weighted = bcm.from_preferences(TABLE, weights="times")
    repeated = bcm.from_preferences(TABLE.loc[TABLE.index.repeat(TABLE["times"])])
    xr.testing.assert_identical(weighted, repeated)
    renamed = TABLE.rename(columns={"model_a": "p", "model_b": "q", "winner": "w"})
    other = bcm.from_preferences(renamed, left="p", right="q", winner="w")
    xr.testing.assert_identical(other, bcm.from_preferences(TABLE))


def test_a_table_of_wins_equals_its_votes():
    names = ["x", "y", "z"]
    wins = pd.DataFrame([[0, 2, 1], [1, 0, 0], [4, 0, 0]], names, names)
    ties = pd.DataFrame([[0, 3, 0], [3, 0, 0], [0, 0, 0]], names, names)
    votes = [("x", "y", "left")] * 2 + [("y", "x", "left"), ("x", "z", "left")]
    votes += [("z", "x", "left")] * 4 + [("y", "x", "tie")] * 3
    table = pd.DataFrame(votes, columns=["left", "right", "winner"])
    expected = bcm.from_preferences(table, ordered=False)
    xr.testing.assert_identical(bcm.from_preferences(wins, ties=ties), expected)
    numbers = bcm.from_preferences(wins.to_numpy(), ties=ties.to_numpy())
    assert numbers["classifier"].values.tolist() == ["0", "1", "2"]
    np.testing.assert_array_equal(numbers["vote_count"], expected["vote_count"])


def test_clusters_are_kept_by_vote():
    evidence = bcm.from_preferences(TABLE, group="prompt", weights="times", ordered=False)
    assert evidence.sizes["vote"] == TABLE["times"].sum()
    flat = evidence["vote_pair"].values * 3 + evidence["vote_winner"].values
    again = np.bincount(flat, minlength=evidence["vote_count"].size)
    np.testing.assert_array_equal(again.reshape(-1, 3), evidence["vote_count"])
    assert sorted(evidence["group"].values.tolist()) == [1, 1, 1, 2, 2, 3, 3, 3]


def test_selected_systems_keep_the_votes_on_their_pairs():
    evidence = bcm.from_preferences(TABLE, group="prompt")
    chosen = as_preferences(evidence.sel(classifier=["x", "z"]))
    kept = TABLE[~TABLE[["model_a", "model_b"]].isin(["y"]).any(axis=1)]
    xr.testing.assert_identical(chosen, bcm.from_preferences(kept, group="prompt"))
    with pytest.raises(ValueError, match="Votes on pairs need two or more systems"):
        as_preferences(evidence.sel(classifier="x"))
    apart = bcm.from_preferences([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    with pytest.raises(ValueError, match="No pair of the systems"):
        as_preferences(apart.sel(classifier=["0", "2"]))


def test_rankings_become_pairs_in_clusters():
    long = pd.DataFrame({"q": [1, 1, 1, 2, 2, 3], "m": list("xyzxyz"), "place": [1, 2, 2, 5, 4, 1]})
    evidence = bcm.from_rankings(long, item="q", system="m", rank="place")
    assert counts_of(evidence) == {
        ("x", "y", "left"): 1,
        ("x", "y", "right"): 1,
        ("x", "z", "left"): 1,
        ("y", "z", "tie"): 1,
    }
    assert evidence["group"].values.tolist() == [1, 2, 1, 1]
    wide = long.pivot(index="q", columns="m", values="place")
    xr.testing.assert_identical(bcm.from_rankings(wide), evidence)
    twice = pd.concat([long, long.iloc[:1]])
    with pytest.raises(ValueError, match="'x' is in the ranking of 1 twice"):
        bcm.from_rankings(twice, item="q", system="m", rank="place")
    with pytest.raises(ValueError, match="No ranking contains at least two systems"):
        bcm.from_rankings(long.iloc[[5]], item="q", system="m", rank="place")


def changed(column, row, value):
    table = TABLE.astype(object).copy()
    table.loc[row, column] = value
    return table


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: bcm.from_preferences(changed("winner", 1, "skip")), r"'skip' \(1 vote\)"),
        (
            lambda: bcm.from_preferences(TABLE.replace({"winner": {"tie": "?", "model_a": 7}})),
            r"7 \(3 votes\), '\?' \(1 vote\)",
        ),
        (
            lambda: bcm.from_preferences(changed("winner", 1, None)),
            "The outcome of 1 vote is missing",
        ),
        (lambda: bcm.from_preferences(changed("winner", 1, " ")), "The outcome of"),
        (lambda: bcm.from_preferences(changed("model_a", 0, "y")), "itself: 'y', in 1 vote"),
        (
            lambda: bcm.from_preferences(changed("model_a", 0, np.nan)),
            "The left system of 1 vote is missing",
        ),
        (lambda: bcm.from_preferences(changed("model_b", 0, "nan")), "'nan'"),
        (
            lambda: bcm.from_preferences(changed("prompt", 0, None), group="prompt"),
            "A table of wins cannot be combined with group|is missing",
        ),
        (lambda: bcm.from_preferences(changed("times", 0, 0.5), weights="times"), "whole number"),
        (lambda: bcm.from_preferences(changed("times", 0, -1), weights="times"), "negative"),
        (lambda: bcm.from_preferences(TABLE, winner="verdict"), "There is no column"),
        (lambda: bcm.from_preferences(TABLE[["winner"]]), "not named"),
        (lambda: bcm.from_preferences(TABLE.iloc[:0]), "no votes"),
        (
            lambda: bcm.from_preferences(left=["x"], right=["y", "z"], winner=["tie"]),
            "The columns have different lengths",
        ),
        (lambda: bcm.from_preferences([[0, 1.5], [2, 0]]), "whole number"),
        (lambda: bcm.from_preferences([[1, 1], [2, 0]]), "compared with itself"),
        (
            lambda: bcm.from_preferences([[0, 1, 2], [2, 0, 1]]),
            "The table must be square, with a row",
        ),
        (lambda: bcm.from_preferences([[0, 1], [2, 0]], ties=[[0, 1], [2, 0]]), "not symmetric"),
        (
            lambda: bcm.from_preferences([[0, 1], [2, 0]], group=[1, 2]),
            "A table of wins cannot be combined with group|is missing",
        ),
        (lambda: bcm.from_preferences(TABLE, ties=[[0]]), "table of wins"),
        (
            lambda: bcm.from_preferences(left=["x"], right=["tie"], winner=["tie"]),
            "is both a system and an outcome",
        ),
        (
            lambda: bcm.from_preferences(TABLE, outcomes={"left": [1], "tie": [1]}),
            "two meanings",
        ),
        (
            lambda: bcm.from_preferences(left=["b"], right=["a"], winner=["a"]),
            "is both a system and an outcome",
        ),
    ],
)
def test_what_is_rejected(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()


def test_groups_that_never_met_are_found():
    evidence = bcm.from_preferences([[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 2], [0, 0, 0, 0]])
    assert groups_that_never_met(evidence) == [["0", "1"], ["2", "3"]]
    assert groups_that_never_met(bcm.from_preferences(TABLE)) == [["x", "y", "z"]]


def test_combined_votes_are_those_of_one_table():
    half, rest = TABLE.iloc[:3], TABLE.iloc[3:]
    for options in ({"ordered": True}, {"ordered": False, "group": "prompt"}):
        parts = [bcm.from_preferences(part, **options) for part in (half, rest)]
        both = bcm.combine(parts, dim="vote")
        xr.testing.assert_identical(both, bcm.from_preferences(TABLE, **options))
    with pytest.raises(ValueError, match="Only some pieces of evidence have a known order"):
        bcm.combine(
            [parts[0].drop_vars("group"), bcm.from_preferences(rest, ordered=True)], dim="vote"
        )
    with pytest.raises(ValueError, match="along site"):
        bcm.combine(parts, dim="site")


def test_the_description_counts_votes_pairs_and_ties():
    words = " ".join(type_of(bcm.from_preferences(TABLE)).describe(bcm.from_preferences(TABLE)))
    assert "6 votes on 3 pairs of 3 systems" in words
    assert "2 votes (33%) are ties" in words
