"""The studies of halves, pairs, ranks and the best of many: samples, and a few replications."""

import numpy as np
import pytest

from bayescm.studies.learners import best, halves, pairs, ranks
from bayescm.studies.learners.kinds import CASES, LEARNERS, Learning
from bayescm.studies.tables import Settings


def test_every_learner_has_a_case_with_the_positives_asked_for():
    assert {case[0] for case in CASES.values()} == set(LEARNERS)
    for case in CASES.values():
        learning = Learning(*case)
        features, actual = learning.sample(np.random.default_rng(1), 100)
        assert len(features) == 100
        assert actual.sum() == round(100 * learning.share)


def test_folds_and_halves_are_counted_once():
    evidence, _ = halves.study(2).generate(np.random.default_rng(1))
    assert evidence["folds"].sum() == 200
    assert (evidence["halves"].sum(["half", "actual", "predicted"]) == 200).all()
    ends = halves.with_halves(evidence)
    assert set(ends) == set(halves.MEASURES)
    assert ends["recall"][0] < ends["recall"][1]


def test_equal_classifiers_see_features_of_their_own_and_every_method_says_how_far_they_differ():
    both, _ = pairs.study(1).generate(np.random.default_rng(1))
    assert both["counts"].sum() == 150
    assert (both["halves"].sum(["half", "outcome"]) == 150).all()
    assert pairs.study(1).truth(np.random.default_rng(1))["f1"] == (0, 0)
    assert (both["predicted"][..., 0] != both["predicted"][..., 1]).any()
    found = {name: method(both)["accuracy"] for name, method in pairs.METHODS.items()}
    assert all(low < 0.1 and high > -0.1 and low < high for low, high in found.values())
    length = {name: high - low for name, (low, high) in found.items()}
    # They answer apart: nothing cancels out of the difference.
    assert 0.8 < length["folds"] / length["halves"] < 1.1
    assert 0.8 < length["halves"] / length["unpaired"] < 1.2


@pytest.mark.parametrize(("case", "width"), [(3, 19), (6, 6), (9, 4)])
def test_ranks_of_classifiers_apart(case, width):
    found = ranks.table(case=case, settings=Settings(replications=2, seed=3)).iloc[0]
    assert found["covered"] > 0
    assert 1 <= found["width"] < width


def test_nested_selection_counts_every_example_once():
    truth, answers, levels = best.generate(np.random.default_rng(1), best.CASES[5])
    cells = best.cells_by_fold(truth, answers)
    assert cells.shape == (10, 100, 2, 2)
    assert (cells.sum((2, 3)) == 20).all()
    right = np.trace(cells.sum(0), axis1=-2, axis2=-1) / 200
    np.testing.assert_allclose(right, (answers == truth).mean(1))
    low, high = best.nested(truth, answers, "accuracy")
    assert low - 0.05 < levels[0] < high + 0.05 < right.max() + 0.2


def test_a_case_that_is_none_is_refused():
    with pytest.raises(ValueError, match="no such case"):
        halves.study(99)
