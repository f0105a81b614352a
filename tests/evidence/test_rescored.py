"""Scores at another prevalence, one class against the rest, folds pooled."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.curves import at_prevalence, one_vs_rest, pool_folds

ACTUAL, SCORE = [0, 1, 1, 0, 1, 0], [0.1, 0.9, 0.4, 0.4, -np.inf, np.inf]
PROBA = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6], [0.5, 0.4, 0.1]])


@pytest.mark.parametrize("prevalence", [0, 1, -0.1, 2, np.nan, "0.5"])
def test_a_prevalence_lies_between_zero_and_one(prevalence):
    with pytest.raises(ValueError, match="Pass the proportion of positives"):
        at_prevalence(bcm.from_scores(ACTUAL, SCORE), prevalence)


def test_a_prevalence_is_for_two_classes():
    with pytest.raises(ValueError, match="A prevalence needs two classes"):
        at_prevalence(bcm.from_scores(list("abcb"), PROBA), 0.1)
    three = bcm.from_probabilities(list("abcb"), PROBA)
    with pytest.raises(ValueError, match="one_vs_rest"):
        at_prevalence(three, {"a": 0.7, "b": 0.2, "c": 0.1})
    assert at_prevalence(one_vs_rest(three, "b"), 0.1)["prevalence"] == 0.1


def test_the_library_knows_one_at_prevalence():
    evidence = bcm.from_scores(ACTUAL, SCORE)
    assert bcm.at_prevalence(evidence, 0.1).identical(at_prevalence(evidence, 0.1))


def test_one_class_against_the_rest():
    evidence = one_vs_rest(bcm.from_scores(list("abcb"), {"m": PROBA}), "b")
    assert evidence.score.dims == ("classifier", "example")
    assert evidence.actual.values.tolist() == [False, True, False, True]
    with pytest.raises(ValueError, match="Unknown class"):
        one_vs_rest(bcm.from_scores(list("abcb"), PROBA), "x")
    with pytest.raises(ValueError, match="One class against the rest needs three"):
        one_vs_rest(bcm.from_scores(ACTUAL, SCORE), 1)


def test_folds_are_pooled_as_they_are_or_by_their_ranks():
    evidence = bcm.from_scores(
        [0, 1, 1, 0, 1], {"a": [1, 2, 2, 10, 30], "b": [5, 1, 2, 3, 4]}, fold=[0, 0, 0, 1, 1]
    )
    plain, ranked = (pool_folds(evidence, ranks=each) for each in (False, True))
    np.testing.assert_array_equal(plain.score, evidence.score)
    np.testing.assert_allclose(
        ranked.score, [[1 / 6, 2 / 3, 2 / 3, 0.25, 0.75], [5 / 6, 1 / 6, 0.5, 0.25, 0.75]]
    )
    with pytest.raises(ValueError, match="no folds"):
        pool_folds(plain, ranks=True)


def test_shares_by_label_are_not_taken_by_place():
    labels, shares = list("abc"), pd.Series({"c": 0.1, "a": 0.7, "b": 0.2})
    three = bcm.from_matrix([[9, 1, 0], [2, 7, 3], [0, 0, 5]], labels=labels)
    array = xr.DataArray(shares.values, coords={"actual": shares.index}, dims="actual")
    for given in (shares, shares.to_dict(), array, pd.Series([0.7, 0.2, 0.1])):
        np.testing.assert_allclose(at_prevalence(three, given).prevalence, [0.7, 0.2, 0.1])
        direct = bcm.posteriors.fixed_totals(three, prevalence=given)
        np.testing.assert_allclose(
            direct.point(bcm.measures.resolve("accuracy")), 0.7 * 0.9 + 0.2 * 7 / 12 + 0.1
        )
    with pytest.raises(ValueError, match="must name the classes"):
        at_prevalence(three, {"a": 0.7, "b": 0.3})


def test_evidence_that_no_prevalence_would_change_refuses_one():
    judged = bcm.from_partly_labelled([1, 0, 1, None], predicted=[1, 0, 0, 1], judge=[1, 0, 1, 1])
    with pytest.raises(ValueError, match=r"partly labelled.*specificity"):
        bcm.at_prevalence(judged, 0.1)
    both = bcm.from_classifiers([1, 0, 1, 0], {"a": [1, 0, 0, 0], "b": [1, 1, 1, 0]})
    with pytest.raises(ValueError, match="A prevalence cannot be set for outcomes"):
        bcm.at_prevalence(both, 0.1)
