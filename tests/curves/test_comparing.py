"""Paired differences."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm import curves
from bayescm.classical import delong_compare


def pair(size=300, seed=1):
    rng = np.random.default_rng(seed)
    actual = rng.random(size) < 0.4
    good = rng.normal(1.5 * actual, 1)
    return actual, {"good": good, "worse": good + rng.normal(size=size)}


@pytest.mark.long
def test_the_columns_are_those_of_every_comparison():
    found = curves.compare(bcm.from_scores(*pair(1000)))
    plain = bcm.compare(bcm.from_classifiers([0, 1, 1], {"a": [0, 1, 0], "b": [0, 1, 1]}), "f1")
    assert list(found.columns) == list(plain.columns)
    row = found.iloc[0]
    assert row["p_better"] > 0.99
    assert "good is better than worse in auc" in row["sentence"]


@pytest.mark.parametrize("seed", range(3))
def test_areas_agree_with_delong(seed):
    evidence = bcm.from_scores(*pair(seed=seed))
    ours, theirs = curves.compare(evidence).iloc[0], delong_compare(evidence).iloc[0]
    assert ours["mean"] == pytest.approx(theirs["difference"], abs=0.15 * theirs["sd"])
    assert ours["sd"] == pytest.approx(theirs["sd"], rel=0.1)


@pytest.mark.parametrize("measure", ["auc", "average_precision", "partial_auc(0.2)", "max_f1"])
def test_copies_do_not_differ_in_anything(measure):
    actual, scores = pair(80)
    row = curves.compare(
        bcm.from_scores(actual, {"a": scores["good"], "b": 2 * scores["good"]}), measure, rope=0.01
    ).iloc[0]
    assert abs(row["mean"]) < 1e-9
    assert row["sd"] < 1e-9
    assert row["p_rope"] == 1


def test_an_area_is_the_same_beside_another():
    actual, scores = pair(80)
    both = curves.auc(bcm.from_scores(actual, scores))
    for name, values in scores.items():
        alone = curves.auc(bcm.from_scores(actual, values))
        np.testing.assert_allclose(both.sel(classifier=name), alone, rtol=1e-12)


def test_all_pairs_or_against_a_reference_and_fold_by_fold():
    actual, scores = pair(90)
    three = {**scores, "worst": -scores["good"]}
    evidence = bcm.from_scores(actual, three, fold=np.arange(90) % 2)
    found = curves.compare(evidence, draws=50)
    assert len(found) == 2 * 3
    assert found.columns[0] == "fold"
    found = curves.compare(evidence, reference="worst", draws=50)
    assert set(found["second"]) == {"worst"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (dict(reference="x"), "reference"),
        (dict(rope=-1), "rope"),
        (dict(prob=2), "prob"),
        (dict(measure="auk"), "unknown measure"),
    ],
)
def test_bad_arguments_are_refused(change, words):
    with pytest.raises(ValueError, match=words):
        curves.compare(bcm.from_scores(*pair(50)), **change)


def test_one_classifier_is_nothing_to_compare():
    actual, scores = pair(50)
    with pytest.raises(ValueError, match="no such dim to compare over"):
        curves.compare(bcm.from_scores(actual, scores["good"]))
