"""Outcomes of several classifiers: nothing lost, nothing silent."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.evidence.outcomes import as_outcomes, counts_of

RNG = np.random.default_rng(7)
ACTUAL = RNG.choice(["cat", "dog", "eel"], 200)
ANSWERS = {name: np.where(RNG.random(200) < 0.7, ACTUAL, RNG.permutation(ACTUAL)) for name in "abc"}


@pytest.mark.parametrize("labels", [None, ["eel", "dog", "cat"], ["cat", "dog", "eel", "fox"]])
def test_each_classifier_gets_its_own_matrix(labels):
    matrices = counts_of(bcm.from_classifiers(ACTUAL, ANSWERS, labels=labels))
    for name, answers in ANSWERS.items():
        alone = bcm.from_predictions(ACTUAL, answers, labels=labels)
        own = matrices.sel(classifier=name, drop=True)
        xr.testing.assert_equal(own, alone)


def test_only_the_outcomes_that_occurred_are_held():
    rows = {(truth, *each) for truth, *each in zip(ACTUAL, *ANSWERS.values(), strict=True)}
    outcomes = bcm.from_classifiers(ACTUAL, ANSWERS)
    assert outcomes.sizes["outcome"] == len(rows)
    assert int(outcomes.counts.sum()) == 200


def test_leading_dims_split_the_counts():
    site = np.arange(200) % 3
    outcomes = bcm.from_classifiers(ACTUAL, ANSWERS, by={"group": site})
    assert outcomes.counts.dims == ("group", "outcome")
    whole = counts_of(bcm.from_classifiers(ACTUAL, ANSWERS))
    xr.testing.assert_equal(counts_of(outcomes).sum("group"), whole)


def test_folds_bring_their_design():
    fold = np.arange(200) % 5
    matrices = counts_of(bcm.from_classifiers(ACTUAL, ANSWERS, by={"fold": fold}))
    assert matrices.coords["test_share"] == 0.2


@pytest.mark.parametrize("positive", ["cat", "dog"])
def test_the_positive_class_comes_last(positive):
    keep = ACTUAL != "eel"
    answers = {"a": np.where(ANSWERS["a"] == "eel", "dog", ANSWERS["a"])[keep]}
    outcomes = bcm.from_classifiers(ACTUAL[keep], answers, positive=positive)
    assert outcomes.label.values[-1] == positive
    assert counts_of(outcomes).actual.values[-1] == positive
    relabelled = outcomes.isel(label=[1, 0])
    xr.testing.assert_identical(as_outcomes(relabelled), as_outcomes(outcomes))


def test_one_classifier_may_be_selected():
    outcomes = bcm.from_classifiers(ACTUAL, ANSWERS)
    for chosen in (outcomes.sel(classifier="b"), outcomes.sel(classifier=["b"])):
        own = counts_of(chosen).squeeze("classifier", drop=True)
        xr.testing.assert_equal(own, bcm.from_predictions(ACTUAL, ANSWERS["b"]))


def test_outcomes_survive_a_file(tmp_path):
    outcomes = bcm.from_classifiers(ACTUAL == "cat", {"a": ANSWERS["a"] == "cat"})
    outcomes = bcm.from_classifiers(ACTUAL, ANSWERS)
    outcomes.to_netcdf(tmp_path / "outcomes.nc", engine="netcdf4")
    with xr.open_dataset(tmp_path / "outcomes.nc", engine="netcdf4") as again:
        xr.testing.assert_equal(counts_of(again), counts_of(outcomes))


def test_a_frame_of_answers_will_do():
    frame = pd.DataFrame(ANSWERS)
    xr.testing.assert_identical(
        bcm.from_classifiers(ACTUAL, frame), bcm.from_classifiers(ACTUAL, ANSWERS)
    )


def test_a_label_that_a_classifier_never_answered_is_an_empty_column():
    never = np.where(ANSWERS["a"] == "eel", "cat", ANSWERS["a"])
    matrices = counts_of(bcm.from_classifiers(ACTUAL, {"never": never, "b": ANSWERS["b"]}))
    assert int(matrices.sel(classifier="never", predicted="eel").sum()) == 0


BAD = {
    "unequal length": (
        lambda: bcm.from_classifiers(ACTUAL, {"a": ANSWERS["a"][:-1]}),
        "The columns have different lengths",
    ),
    "named twice": (
        lambda: bcm.from_classifiers(ACTUAL, [("a", ANSWERS["a"]), ("a", ANSWERS["b"])]),
        "The classifier",
    ),
    "unknown label": (
        lambda: bcm.from_classifiers(ACTUAL, {"a": np.where(ACTUAL == "cat", "fox", ACTUAL)}),
        "predicted by a contains",
    ),
    "nothing": (lambda: bcm.from_classifiers(ACTUAL, {}), "No classifier"),
    "no examples": (lambda: bcm.from_classifiers([], {"a": []}), "no examples"),
    "missing": (
        lambda: bcm.from_classifiers(ACTUAL, {"a": [None, *ANSWERS["a"][1:]]}),
        "predicted by a has missing values",
    ),
    "positive": (
        lambda: bcm.from_classifiers(ACTUAL, ANSWERS, positive="doge"),
        "Did you mean 'dog'",
    ),
    "fractions": (
        lambda: bcm.from_classifiers([0, 1], {"a": [0.2, 0.9]}),
        "predicted by a contains fractions instead of labels",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    call, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("given", [ACTUAL, 3, [["a"], ["b"]]])
def test_answers_need_names(given):
    with pytest.raises(TypeError, match="Predictions must be a mapping from names"):
        bcm.from_classifiers(ACTUAL, given)


def test_other_evidence_is_not_outcomes():
    with pytest.raises(TypeError, match="This function needs outcomes of classifiers"):
        as_outcomes(xr.Dataset())
    outcomes = bcm.from_classifiers(ACTUAL, ANSWERS)
    with pytest.raises(ValueError, match="The outcomes lack the variable label"):
        as_outcomes(outcomes.drop_vars("label"))
    with pytest.raises(ValueError, match="negative"):
        as_outcomes(outcomes.assign(counts=-outcomes.counts))
