"""Repeated answers: tables, rows, systems, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.evidence.clusters_and_slices import items_of_slices, slice_dims

TABLE = [[1, 0, 1], [0, 0, np.nan], [1, 1, 1]]


def test_a_table_rows_and_a_frame_are_the_same_evidence():
    item = ["a", "a", "a", "b", "b", "c", "c", "c"]
    rows = bcm.from_attempts([1, 0, 1, 0, 0, 1, 1, 1], item=item)
    frame = bcm.from_attempts(pd.DataFrame(TABLE, index=["a", "b", "c"]))
    np.testing.assert_array_equal(rows["correct"], TABLE)
    assert rows["correct"].equals(frame["correct"])
    shuffled = bcm.from_attempts([0, 1, 1, 0], item=["b", "a", "a", "b"], attempt=[1, 1, 0, 0])
    np.testing.assert_array_equal(shuffled["correct"].sel(item="a", attempt=[0, 1]), [1, 1])
    graded = bcm.from_attempts([["A", "C"], ["B", "F"]], passing=["A", "B"])
    np.testing.assert_array_equal(graded["correct"], [[1, 0], [1, 0]])


def test_systems_are_put_together_by_their_items():
    other = pd.DataFrame(TABLE, index=["c", "b", "a"])
    both = bcm.from_attempts({"x": pd.DataFrame(TABLE, index=["a", "b", "c"]), "y": other})
    assert both["correct"].dims == ("classifier", "item", "attempt")
    assert both["correct"].sel(classifier="y", item="c").values.tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="y and x have different items"):
        bcm.from_attempts({"x": TABLE, "y": TABLE[:2]})


@pytest.mark.parametrize(
    ("given", "keywords", "message"),
    [
        ([[1, 2], [0, 1]], {}, "If answers are graded, name the grades"),
        ([["A", "B"]], {}, "passing="),
        ([["A", "BC"]], {"passing": "BC"}, "passing must be a sequence of grades"),
        ([[1, 0], [np.nan, np.nan]], {}, "has no attempt"),
        ([[[1, 0]]], {}, "A table of attempts must have the shape"),
        (1, {}, "A table of attempts must have the shape"),
        (pd.Series([1, 0], index=["a", "a"]), {}, "has several rows"),
        ([1, 0], {"attempt": [0, 1]}, "attempt needs item"),
        ([1, 0], {"item": ["a", "a"], "attempt": [3, 3]}, "Attempt 3 at item a is given twice"),
        ([1, 0, 1], {"item": ["a", "a"]}, "The columns have different lengths"),
        ({}, {}, "No systems"),
        (pd.DataFrame([[1, 0], [0, 0]], index=["a", "a"]), {}, "has several rows"),
        ([1, 0], {"item": ["a", "a"], "group": ["x", "y"]}, "Item a is in several groups"),
        ([1, 0], {"item": ["a", "b"], "group": ["x", None]}, "has no group"),
        ([[1, 0], [0, 1]], {"group": ["x"]}, "The columns have different lengths"),
    ],
)
def test_what_is_no_table_of_answers_is_refused(given, keywords, message):
    with pytest.raises((ValueError, TypeError), match=message):
        bcm.from_attempts(given, **keywords)


def test_items_keep_their_groups():
    table = bcm.from_attempts(TABLE, group=["x", "y", "x"])
    assert table["group"].values.tolist() == ["x", "y", "x"]
    rows = bcm.from_attempts([0, 1, 1], item=["b", "a", "b"], group=["y", "x", "y"])
    assert rows["group"].sel(item="b").item() == "y"
    both = bcm.from_attempts({"a": table["correct"], "b": table["correct"]})
    assert both["group"].dims == ("item",)
    other = bcm.from_attempts(TABLE, group=["x", "y", "y"])["correct"]
    with pytest.raises(ValueError, match="Systems disagree on the groups"):
        bcm.from_attempts({"a": table["correct"], "b": other})


ANSWERS = [["4", "5", "5"], ["7", None, "7"], ["x", "y", "x"]]
CODES = [[0, 1, 1], [0, np.nan, 0], [1, 2, 1]]


@pytest.mark.long
def test_answers_with_their_truth_say_which_are_equal():
    truth = ["4", "7", "z"]
    table = bcm.from_attempts(ANSWERS, truth=truth)
    np.testing.assert_array_equal(table["answer"], CODES)
    np.testing.assert_array_equal(table["correct"], [[1, 0, 0], [1, np.nan, 1], [0, 0, 0]])
    frame = pd.DataFrame(ANSWERS, index=["a", "b", "c"])
    by_item = pd.Series({"c": "z", "a": "4", "b": "7"})
    for each in (dict(by_item), by_item, truth, np.array(truth), pd.Series(truth)):
        np.testing.assert_array_equal(bcm.from_attempts(frame, truth=each)["answer"], CODES)
    item, single = np.repeat(["a", "b", "c"], 3), [each for row in ANSWERS for each in row]
    for each in (dict(by_item), np.repeat(truth, 3), pd.Series(truth)[[0, 0, 0, 1, 1, 1, 2, 2, 2]]):
        rows = bcm.from_attempts(single, item=item, truth=each)
        np.testing.assert_array_equal(rows["answer"].sel(item=["a", "b", "c"]), CODES)
    numbers = bcm.from_attempts(np.array([[1.5, np.nan], [2, 3]]), truth=[1.5, 3])
    np.testing.assert_array_equal(numbers["answer"], [[0, np.nan], [1, 0]])
    both = bcm.from_attempts({"one": frame, "two": frame.iloc[::-1]}, truth=by_item)
    assert both["answer"].dims == ("classifier", "item", "attempt")
    np.testing.assert_array_equal(both["answer"].sel(classifier="two", item=list("abc")), CODES)


def test_a_text_beside_nan_is_an_attempt_that_was_not_made():
    graded = bcm.from_attempts([["A", np.nan], ["B", "C"]], passing=["A"])
    np.testing.assert_array_equal(graded["correct"], [[1, np.nan], [0, 0]])
    rows = bcm.from_attempts(["A", np.nan, "B"], item=[1, 1, 2], passing=["A"])
    np.testing.assert_array_equal(rows["correct"], [[1, np.nan], [0, np.nan]])
    told = bcm.from_attempts([["A", np.nan], ["B", "C"]], truth=["A", "C"])
    np.testing.assert_array_equal(told["answer"], [[0, np.nan], [1, 0]])


@pytest.mark.parametrize(
    ("given", "keywords", "message"),
    [
        (ANSWERS, {"truth": ["4", None, "z"]}, "has no correct answer"),
        (ANSWERS, {"truth": {0: "4", 1: "7"}}, "has no correct answer"),
        (ANSWERS, {"truth": ["4", "7"]}, "The columns have different lengths"),
        (ANSWERS, {"truth": "47z"}, "truth must be a sequence or a mapping"),
        (ANSWERS, {"truth": ANSWERS}, "truth must have one axis, not the shape"),
        (
            ANSWERS,
            {"item": list("abc"), "truth": list("abc")},
            "correct must have one axis, but its shape",
        ),
        ([[1, 0], [0, 1]], {"item": ["a", "b"]}, "correct must have one axis, but its shape"),
        (ANSWERS, {"truth": [4, 7, 9]}, "Answers and truth mix text and numbers"),
        (
            ANSWERS,
            {"truth": ["4", "7", "z"], "passing": ["4"]},
            "truth and passing both define which attempts",
        ),
        (
            list("abc"),
            {"item": [1, 1, 2], "truth": list("abc")},
            "Item 1 has several correct answers",
        ),
        (
            ANSWERS,
            {"truth": pd.Series(list("47zz"), index=[0, 1, 2, 2])},
            "2 has several correct answers",
        ),
        (
            {"x": [["a"], ["b"]], "y": [["a"], ["b"]]},
            {"truth": ["a"]},
            "The columns have different lengths",
        ),
    ],
)
def test_what_is_no_truth_is_refused(given, keywords, message):
    with pytest.raises((ValueError, TypeError), match=message):
        bcm.from_attempts(given, **keywords)


def test_one_truth_is_not_laid_beside_items_in_two_orders():
    frame = pd.DataFrame(ANSWERS, index=["a", "b", "c"])
    with pytest.raises(ValueError, match="items in different orders"):
        bcm.from_attempts({"one": frame, "two": frame.iloc[::-1]}, truth=["4", "7", "z"])


def test_answers_that_disagree_with_what_is_right_are_refused():
    evidence = bcm.from_attempts(ANSWERS, truth=["4", "7", "z"])
    evidence["correct"] = 1 - evidence["correct"]
    with pytest.raises(ValueError, match="correct and answer disagree"):
        bcm.interval(evidence, "mean")


# One attempt at each item, and tables with a row for each answer

LONG = pd.DataFrame(
    {
        "q": ["a", "b", "c"] * 2,
        "model": ["x"] * 3 + ["y"] * 3,
        "right": [1, 0, 1, 1, 1, 0],
        "said": list("478455"),
        "gold": list("478478"),
        "topic": ["s", "s", "t"] * 2,
    }
)
RIGHT = {"x": [1, 0, 1], "y": [1, 1, 0]}


def test_one_answer_to_each_item_is_one_attempt():
    one = bcm.from_attempts(RIGHT["x"])
    assert one["correct"].dims == ("item", "attempt")
    assert one["correct"].values.ravel().tolist() == RIGHT["x"]
    labelled = pd.Series(RIGHT["x"], index=["a", "b", "c"])
    both = bcm.from_attempts({"x": labelled, "y": labelled.iloc[::-1]})
    assert both["correct"].sel(item=["a", "b", "c"]).values[1].ravel().tolist() == RIGHT["x"]
    array = bcm.from_attempts(one["correct"].isel(attempt=0, drop=True))
    assert array["correct"].equals(one["correct"])


def test_a_table_with_a_row_for_each_answer_is_the_same_evidence():
    columns = {"item": "q", "system": "model", "correct": "right"}
    wide = bcm.from_attempts({k: pd.Series(v, ["a", "b", "c"]) for k, v in RIGHT.items()})
    for frame in (LONG, LONG.iloc[[3, 0, 4, 1, 5, 2]]):
        long = bcm.from_attempts(frame, **columns).sel(classifier=["x", "y"])
        np.testing.assert_array_equal(long["correct"], wide["correct"])
        assert long["item"].values.tolist() == ["a", "b", "c"]
    items = {"x": ["a", "b", "c"], "y": ["c", "b", "a"]}
    answers = {"x": RIGHT["x"], "y": RIGHT["y"][::-1]}
    by_system = bcm.from_attempts(answers, item=items)
    np.testing.assert_array_equal(by_system["correct"], wide["correct"])
    told = bcm.from_attempts(LONG, item="q", system="model", correct="said", truth="gold")
    np.testing.assert_array_equal(told["correct"][..., 0], [[1, 1, 1], [1, 0, 0]])
    repeated = bcm.from_attempts(LONG.assign(run=[0] * 3 + [1] * 3), item="q", correct="right")
    assert dict(repeated.sizes) == {"item": 3, "attempt": 2}


@pytest.mark.long
def test_slices_and_groups_of_a_table_are_of_the_items():
    columns = {"item": "q", "system": "model", "correct": "right"}
    arrays = bcm.from_attempts(RIGHT, by={"topic": ["s", "s", "t"]})
    for by in ("topic", ["topic"], {"topic": "topic"}):
        sliced = bcm.from_attempts(LONG, by=by, **columns)
        assert slice_dims(sliced) == ["topic"]
        assert sliced["topic"].values.tolist() == ["s", "t"]
        assert [items.tolist() for items in items_of_slices(sliced)] == [[0, 1], [2]]
        assert sliced["slice_topic"].equals(arrays["slice_topic"].assign_coords(item=list("abc")))
    grouped = bcm.from_attempts(LONG, group="topic", **columns)
    assert grouped["group"].values.tolist() == ["s", "s", "t"]


@pytest.mark.parametrize(
    ("answers", "keywords", "message"),
    [
        (LONG, {"item": "q", "correct": "rigth"}, "There is no column"),
        (LONG, {"item": "q"}, "Pass correct= with the name"),
        (LONG, {"correct": "right"}, "Pass item= with the name"),
        (RIGHT, {"item": "q", "correct": "right"}, "a DataFrame"),
        (LONG, {"item": "q", "correct": "right", "by": "model"}, "Item a is in several models"),
        (RIGHT, {"by": ["topic"]}, "by must map names of dimensions to values"),
        (RIGHT, {"by": {"item": [1, 2, 3]}}, "The dimension name"),
        (RIGHT, {"by": {"topic": ["s", None, "t"]}}, "has no topic"),
        (RIGHT, {"item": {"x": [1, 2, 3]}}, "Give a value for every system"),
        (
            RIGHT,
            {"item": {"x": [1, 2, 3], "y": [3, 2, 1]}, "by": {"topic": ["s", "t", "t"]}},
            "Systems disagree on the topic",
        ),
    ],
)
def test_what_is_no_table_of_attempts_is_refused(answers, keywords, message):
    with pytest.raises((ValueError, TypeError), match=message):
        bcm.from_attempts(answers, **keywords)
