"""Repeated answers: tables, rows, systems, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm

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
    with pytest.raises(ValueError, match="y answered other items than x"):
        bcm.from_attempts({"x": TABLE, "y": TABLE[:2]})


@pytest.mark.parametrize(
    ("given", "keywords", "message"),
    [
        ([[1, 2], [0, 1]], {}, "neither right nor wrong"),
        ([["A", "B"]], {}, "passing="),
        ([["A", "BC"]], {"passing": "BC"}, "passing is one grade"),
        ([[1, 0], [np.nan, np.nan]], {}, "an item has no attempt"),
        ([1, 0], {}, "not a table of attempts"),
        ([1, 0], {"attempt": [0, 1]}, "attempt without item"),
        ([1, 0], {"item": ["a", "a"], "attempt": [3, 3]}, "attempt 3 at item a"),
        ([1, 0, 1], {"item": ["a", "a"]}, "differ in length"),
        ({}, {}, "no systems"),
        (pd.DataFrame([[1, 0], [0, 0]], index=["a", "a"]), {}, "an item has several rows"),
        ([1, 0], {"item": ["a", "a"], "group": ["x", "y"]}, "item a is in several groups"),
        ([1, 0], {"item": ["a", "b"], "group": ["x", None]}, "an item has no group: 'b'"),
        ([[1, 0], [0, 1]], {"group": ["x"]}, "differ in length"),
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
    with pytest.raises(ValueError, match="systems disagree on the groups"):
        bcm.from_attempts({"a": table["correct"], "b": other})
