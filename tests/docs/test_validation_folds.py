"""What the experiments on cross-validation draw."""

import numpy as np
import pytest
from validation import folds


def test_every_learner_has_a_case():
    used = {case.learner for case in (*folds.HALVES.values(), *folds.MANY_CLASSES.values())}
    used |= {case.learner for case in folds.TRAINING_SIZES.values()}
    assert used == set(folds.LEARNERS)
    pairs = folds.PAIRS.values()
    assert {name for pair in pairs for name in (pair.first, pair.second)} <= set(folds.LEARNERS)


def test_samples_have_the_positives_asked_for():
    for case in folds.HALVES.values():
        x, actual = folds.sample(np.random.default_rng(1), 100, case.positives, case.features)
        assert len(x) == 100
        assert actual.sum() == round(100 * case.positives)


def test_folds_and_halves_are_counted_once():
    evidence, _ = folds.folds_and_halves(np.random.default_rng(1), *folds.HALVES[2])
    assert evidence["folds"].sum() == 200
    assert (evidence["halves"].sum(["half", "actual", "predicted"]) == 200).all()
    ends = folds.with_halves(evidence)
    assert set(ends) == set(folds.HALVES_MEASURES)
    assert ends["recall"][0] < ends["recall"][1]


@pytest.mark.long
def test_equal_learners_see_features_of_their_own_and_every_method_says_how_far_they_differ():
    outcomes, _ = folds.outcomes_of_pairs(np.random.default_rng(1), *folds.PAIRS[1])
    assert outcomes["counts"].sum() == 150
    assert (outcomes["halves"].sum(["half", "outcome"]) == 150).all()
    truth = folds.truth_of_pairs(np.random.default_rng(1), *folds.PAIRS[1])
    assert truth["f1"] == (0, 0)
    assert (outcomes["predicted"][..., 0] != outcomes["predicted"][..., 1]).any()
    ends = {name: method(outcomes)["accuracy"] for name, method in folds.PAIRS_METHODS.items()}
    assert all(low < 0.1 and high > -0.1 and low < high for low, high in ends.values())
    length = {name: high - low for name, (low, high) in ends.items()}
    # They answer apart: nothing cancels out of the difference.
    assert 0.8 < length["folds"] / length["halves"] < 1.1
    assert 0.8 < length["halves"] / length["unpaired"] < 1.2


def test_data_of_many_classes_have_the_totals_of_their_shares():
    _, actual = folds.sample_of_classes(np.random.default_rng(1), 5, 250, 0.05)
    assert np.bincount(actual).tolist() == [12, 59, 59, 59, 59]


@pytest.mark.parametrize("case", [1, 5])
def test_training_sets_are_those_of_the_design(case):
    counts, _ = folds.splits_of_sizes(np.random.default_rng(1), *folds.TRAINING_SIZES[case])
    assert counts.sizes["fold"] == folds.TRAINING_SIZES[case].splits
    sizes = np.unique(counts.sum(["actual", "predicted"]))
    assert sizes.tolist() == ([40] if case == 1 else [33])


def test_cases_of_real_data_name_the_option_of_their_folder(monkeypatch):
    monkeypatch.delenv("BAYESCM_DATA", raising=False)
    with pytest.raises(ValueError, match=r"letter.csv.gz is missing.*--data"):
        folds.paper_folds(np.random.default_rng(1), *folds.PAPER_CASES[16])
