"""What the experiments on selection and on ranks draw."""

import numpy as np
import pytest
from validation import experiments, selection


@pytest.mark.long
@pytest.mark.parametrize(("case", "width"), [(3, 19), (6, 6), (9, 4)])
def test_ranks_of_classifiers_apart(case, width):
    (ranks,) = experiments("ranks")
    row = ranks.run(case=case, replications=2, seed=3).iloc[0]
    assert row["covered"] > 0
    assert 1 <= row["width"] < width


def test_nested_selection_counts_every_example_once():
    pipelines, examples, _, spread = selection.BEST[5]
    rng = np.random.default_rng(1)
    truth, answers, accuracies = selection.answers_of_pipelines(rng, pipelines, examples, spread)
    cells = selection.cells_by_fold(truth, answers)
    assert cells.shape == (10, 100, 2, 2)
    assert (cells.sum((2, 3)) == 20).all()
    right = np.trace(cells.sum(0), axis1=-2, axis2=-1) / 200
    np.testing.assert_allclose(right, (answers == truth).mean(1))
    low, high = selection.nested(truth, answers, "accuracy")
    assert low - 0.05 < accuracies[0] < high + 0.05 < right.max() + 0.2


def test_ranks_are_as_near_to_the_pairs_as_draws_go():
    (experiment,) = experiments("ranks_and_pairs")
    row = experiment.run(case=1, replications=2, seed=3).iloc[0]
    assert 0 <= row["pair_off"] <= row["worst_pair_off"] < 0.02
    assert row["best_above_pair"] < 0.02
