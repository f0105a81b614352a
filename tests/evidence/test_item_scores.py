"""A number for each item: the door, its tables, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.evidence.clusters_and_slices import clusters_of, items_of_slices, slice_dims

SCORES = {"a": [0.9, 0.4, 1.0, 0.2], "b": [0.8, 0.5, 0.7, 0.1]}
ITEMS = ["q1", "q2", "q3", "q4"]
LONG = pd.DataFrame(
    {
        "q": ITEMS * 2,
        "model": ["a"] * 4 + ["b"] * 4,
        "s": SCORES["a"] + SCORES["b"],
        "topic": ["x", "x", "y", "y"] * 2,
        "w": [1.0, 2.0, 1.0, 1.0] * 2,
    }
)


def test_every_door_gives_the_same_evidence():
    wide = bcm.from_item_scores(SCORES, item=ITEMS, range=(0, 1))
    series = {name: pd.Series(values, ITEMS) for name, values in SCORES.items()}
    series["b"] = series["b"].iloc[::-1]  # aligned by its labels
    frame = pd.DataFrame(SCORES, index=ITEMS)
    named = frame.rename_axis("q").reset_index()
    for other in (
        bcm.from_item_scores(series, range=(0, 1)),
        bcm.from_item_scores(frame, range=(0, 1)),
        bcm.from_item_scores(named, item="q", range=(0, 1)),
        bcm.from_item_scores(LONG, item="q", system="model", score="s", range=(0, 1)),
        bcm.from_item_scores(
            LONG.sample(frac=1, random_state=1).sort_values("q", kind="stable"),
            item="q",
            system="model",
            score="s",
            range=(0, 1),
        ).sel(classifier=["a", "b"]),
    ):
        xr.testing.assert_equal(other, wide)
    assert wide["lowest"].item() == 0
    assert not wide["lower_is_better"]


def test_one_system_has_no_dim_of_systems():
    one = bcm.from_item_scores(SCORES["a"])
    assert one["item_score"].dims == ("item",)
    assert "lowest" not in one.coords
    long = LONG[LONG["model"] == "a"]
    by_name = bcm.from_item_scores(long, item="q", score="s")
    np.testing.assert_array_equal(by_name["item_score"], one["item_score"])


def test_clusters_slices_and_weights_are_of_the_items():
    named = bcm.from_item_scores(
        LONG, item="q", system="model", score="s", group="topic", weights="w", weights_are="counts"
    )
    np.testing.assert_array_equal(clusters_of(named), ["x", "x", "y", "y"])
    assert named["weight"].values.tolist() == [1, 2, 1, 1]
    sliced = bcm.from_item_scores(LONG, item="q", system="model", score="s", by="topic")
    assert slice_dims(sliced) == ["topic"]
    assert clusters_of(sliced) is None
    assert [places.tolist() for places in items_of_slices(sliced)] == [[0, 1], [2, 3]]
    arrays = bcm.from_item_scores(SCORES, by={"topic": ["x", "x", "y", "y"]})
    assert arrays["topic"].values.tolist() == ["x", "y"]
    crossed = bcm.from_item_scores(SCORES, by={"topic": ["x", "x", "y", "y"], "year": [1, 2, 1, 2]})
    assert [places.tolist() for places in items_of_slices(crossed)] == [[0], [1], [2], [3]]


def test_missing_scores_are_refused_dropped_by_pairs_or_the_worst():
    gap = {"a": [0.9, np.nan, 1.0], "b": [0.8, 0.5, 0.7]}
    with pytest.raises(ValueError, match=r'"drop pairs".*"worst"'):
        bcm.from_item_scores(gap)
    dropped = bcm.from_item_scores(gap, missing="drop pairs")
    assert int(dropped["item_score"].isnull().sum()) == 1
    worst = bcm.from_item_scores(gap, missing="worst", range=(0, 1))
    assert worst["item_score"].values[0, 1] == 0
    errors = bcm.from_item_scores(gap, missing="worst", range=(0, 1), lower_is_better=True)
    assert errors["item_score"].values[0, 1] == 1
    with pytest.raises(ValueError, match="needs the range of the scores"):
        bcm.from_item_scores(gap, missing="worst")
    absent = LONG.drop(index=5)
    with pytest.raises(ValueError, match="item q2 of b"):
        bcm.from_item_scores(absent, item="q", system="model", score="s")


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"range": (0, 0.5)}, "is outside the range"),
        ({"range": (1, 0)}, "range must be finite, with lowest"),
        ({"range": 1}, "range must be two numbers"),
        ({"missing": "skip"}, "missing"),
        ({"group": ["x", "y"]}, "The columns have different lengths"),
        ({"weights_are": "counts"}, "needs weights"),
        ({"weights": [0.5, 1, 1, 1]}, "weights_are"),
        ({"by": {"item": ITEMS}}, "The dimension name"),
        ({"item": ["q1", "q1", "q2", "q3"]}, "has several scores"),
    ],
)
def test_what_is_refused(keywords, words):
    with pytest.raises((ValueError, TypeError), match=words):
        bcm.from_item_scores(SCORES, **keywords)


def test_odd_scores_are_refused():
    with pytest.raises(TypeError, match="scores"):
        bcm.from_item_scores(["good", "bad"])
    with pytest.raises(ValueError, match="Scores must be finite"):
        bcm.from_item_scores([1.0, np.inf])
    with pytest.raises(ValueError, match="Scores must have one axis, but their shape"):
        bcm.from_item_scores(np.ones((2, 2)))
    with pytest.raises(ValueError, match="No systems"):
        bcm.from_item_scores({})
    twice = pd.concat([LONG, LONG.iloc[:1]])
    with pytest.raises(ValueError, match="Item q1 of a has several scores"):
        bcm.from_item_scores(twice, item="q", system="model", score="s")
    with pytest.raises(ValueError, match="There is no column"):
        bcm.from_item_scores(LONG, item="q", system="modl", score="s")
    with pytest.raises(ValueError, match=r"several scores.*Name the column of the system"):
        bcm.from_item_scores(LONG, item="q", score="s")
    mixed = {"a": pd.Series([1, 2], ["x", "y"]), "b": pd.Series([1, 2], ["y", "x"])}
    with pytest.raises(ValueError, match="a different order"):
        bcm.from_item_scores(mixed, group=[1, 2])


def test_a_slice_is_selected_from_the_answer():
    sliced = bcm.from_item_scores(SCORES, range=(0, 1), by={"topic": ["x", "x", "y", "y"]})
    with pytest.raises(ValueError, match="One topic was selected, but the evidence still"):
        bcm.interval(sliced.sel(topic="x"), "mean")


def test_a_column_that_numbers_the_rows_is_no_system():
    frame = pd.DataFrame({"answer": [3, 1, 2, 4], "base": [2, 3, 5, 1], "tuned": [4, 4, 2, 5]})
    with pytest.raises(ValueError, match=r"'answer' numbers the rows.*item='answer'"):
        bcm.from_item_scores(frame)
    scores = bcm.from_item_scores(frame, item="answer")
    assert scores["classifier"].values.tolist() == ["base", "tuned"]


def test_scores_by_item_are_joined_by_the_items():
    found = bcm.from_item_scores({"a": {"q1": 0.9, "q2": 0.4}, "b": {"q2": 0.5, "q1": 0.8}})
    assert found["item_score"].sel(classifier="b", item=["q1", "q2"]).values.tolist() == [0.8, 0.5]
    assert bcm.from_item_scores({"q1": 0.9, "q2": 0})["item"].values.tolist() == ["q1", "q2"]
    with pytest.raises(ValueError, match="have scores without items"):
        bcm.from_item_scores({"a": {"q1": 0.9}, "b": [0.5]})
    with pytest.raises(ValueError, match="scores are missing"):
        bcm.from_item_scores({"a": {"q1": 0.9}, "b": {"q2": 0.5}})
