"""Labels and names that are no text or numbers, and advice about them that can be followed."""

import enum

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm


class Coded(enum.Enum):
    NO = 0
    YES = 1


class Nested(enum.Enum):
    NO = (0, "x")
    YES = (1, "y")


class Word(enum.StrEnum):
    NO = "no"
    YES = "yes"


def calls(no, yes):
    truth, said = [no, yes, yes, no] * 6, [no, yes, no, no] * 6
    scores = np.linspace(0.1, 0.9, 24)
    return {
        "predictions": lambda: bcm.from_predictions(truth, said),
        "classifiers": lambda: bcm.from_classifiers(truth, {"a": said, "b": truth}),
        "matrix": lambda: bcm.from_matrix([[5, 1], [2, 6]], labels=[no, yes]),
        "cells": lambda: bcm.from_cells(tp=5, fn=1, fp=2, tn=6, labels=[no, yes]),
        "raters": lambda: bcm.from_raters({"a": truth, "b": said, "c": said, "d": truth}),
        "scores": lambda: bcm.from_scores(truth, scores, positive=yes),
        "probabilities": lambda: bcm.from_probabilities(truth, scores, positive=yes),
        "multilabel": lambda: bcm.from_multilabel([{no}, {no, yes}], [{yes}, {no}]),
        "partly labelled": lambda: bcm.from_partly_labelled([*truth[:12], *[None] * 12], said),
        "groups of predictions": lambda: bcm.from_predictions(truth, said, by={"group": truth}),
        "groups of scores": lambda: bcm.from_scores(
            truth, scores, positive=yes, by={"group": [no, yes] * 12}
        ),
        "groups of items": lambda: bcm.from_item_scores(scores, range=(0, 1), group=truth),
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", calls(0, 1))
def test_members_of_an_enumeration_are_told_what_to_pass(name):
    with pytest.raises(TypeError, match=r"members of the enumeration Coded.*\[label.value for"):
        calls(Coded.NO, Coded.YES)[name]()
    with pytest.raises(TypeError, match=r"members of the enumeration Nested.*\[label.name for"):
        calls(Nested.NO, Nested.YES)[name]()
    calls(*(member.value for member in Coded))[name]()
    calls(*(member.name for member in Nested))[name]()
    calls(Word.NO, Word.YES)[name]()  # which are texts


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", calls(0, 1))
def test_tuples_are_told_what_to_pass(name):
    with pytest.raises(TypeError, match="of type tuple"):
        calls(("a", 1), ("b", 2))[name]()
    calls("a/1", "b/2")[name]()


def test_columns_may_have_numbers_as_names():
    frame = pd.DataFrame({0: [1, 0, 1, 0], 1: [1, 1, 0, 0], 2: [1, 0, 1, 1]})
    single = bcm.from_frame(frame, actual=0, predicted=1)
    assert single.equals(bcm.from_predictions(frame[0], frame[1]))
    both = bcm.from_frame(frame, actual=0, predicted=[1, 2])
    assert both.equals(bcm.from_classifiers(frame[0], {"1": frame[1], "2": frame[2]}))
    assert both.equals(bcm.from_classifiers(frame[0], frame[[1, 2]]))
    with pytest.raises(TypeError, match="The name of a dimension must be text"):
        bcm.from_frame(frame, actual=0, predicted=1, by=2)
    with pytest.raises(TypeError, match="The name of a dimension must be text"):
        bcm.from_predictions(frame[0], frame[1], by={2: frame[2]})


@pytest.mark.parametrize("constructor", [bcm.from_scores, bcm.from_probabilities])
@pytest.mark.parametrize("positive", ["cat", "dog"])
def test_the_column_of_the_positive_class(constructor, positive):
    actual = np.array(["dog", "cat", "dog", "cat"] * 5)
    table = np.where((actual == "cat")[:, None], [0.9, 0.1], [0.2, 0.8])  # cat sorts first
    place = ["cat", "dog"].index(positive)
    with pytest.raises(ValueError, match=rf"class '{positive}': proba\[:, {place}\]"):
        constructor(actual, table, positive=positive)
    followed = constructor(actual, table[:, place], positive=positive)
    assert bcm.summary(followed, "auc")["point"].item() == 1


def test_one_class_of_scores_needs_examples_of_another():
    for constructor in (bcm.from_scores, bcm.from_probabilities):
        with pytest.raises(ValueError, match="Add examples of another class") as caught:
            constructor(["a"] * 3, [0.1, 0.2, 0.3])
        assert "labels" not in str(caught.value)


def test_labels_as_one_text():
    with pytest.raises(ValueError, match=r"labels=\['0', '...'\]"):
        bcm.from_predictions(["0", "1"], ["0", "1"], labels="0")


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("65", "not a string; got '65'.*int"),
        (True, "not a boolean; got True"),
        (2j, "not a complex number"),
    ],
)
def test_cells_that_are_no_numbers(cell, said):
    with pytest.raises(TypeError, match=f"fp must be a number, {said}"):
        bcm.from_cells(tp=5, fn=15, fp=cell, tn=30)
    with pytest.raises(TypeError, match="must be a number, not"):
        bcm.from_matrix([[cell, cell], [cell, cell]])


def test_tables_whose_columns_have_numbers_as_names():
    votes = pd.DataFrame({0: list("xyz"), 1: list("yzx"), "winner": list("xyx")})
    named = votes.rename(columns={0: "model_a", 1: "model_b"})
    assert bcm.from_preferences(votes, left=0, right=1).equals(bcm.from_preferences(named))
    scored = pd.DataFrame({0: [1, 0, 1, 0], 1: [0.9, 0.2, 0.7, 0.4]})
    with pytest.raises(
        TypeError, match=r"column must be a string; got [01].*rename\(columns=str\)"
    ):
        bcm.from_scored_frame(scored, 1, actual=0)
    text = scored.rename(columns=str)
    assert bcm.from_scored_frame(text, "1", actual="0", positive=1) is not None


def test_results_whose_columns_have_numbers_as_names():
    table = pd.DataFrame(np.linspace(0.6, 0.9, 8).reshape(4, 2), [*"wxyz"]).rename_axis("data_set")
    with pytest.raises(ValueError, match=r"for the data sets.*Make it a column.*reset_index\(\)"):
        bcm.from_results(table)
    with pytest.raises(ValueError, match=r"for the data sets.*Add a column 'data_set'"):
        bcm.from_results(table.reset_index(drop=True))
    rows = table.reset_index()
    with pytest.raises(ValueError, match="neither a column 'classifier' nor a column of runs"):
        bcm.from_results(rows)
    as_runs = bcm.from_results(rows.assign(model="a"), classifier="model", test_share=0.5)
    assert as_runs.sizes["run"] == 2
    assert bcm.from_results(rows.rename(columns={0: "fold"})).sizes["classifier"] == 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [0, 2, ("a", 1)])
def test_the_advised_name_of_a_classifier_works(name):
    for function in (bcm.from_classifiers, bcm.from_scores):
        with pytest.raises(TypeError, match=r"must be a string.*Pass \{"):
            function([1, 0, 1, 0], {name: [1, 0, 0, 1]}, positive=1)
        assert function([1, 0, 1, 0], {f"{name}": [1, 0, 0, 1]}, positive=1) is not None
