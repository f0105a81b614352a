import numpy as np
import pytest

from bayescm.simulation import coverage
from bayescm.simulation.journal import generator
from bayescm.studies.ours import priors
from bayescm.studies.tables import Settings


@pytest.mark.parametrize("case", list(priors.CASES))
def test_cells_are_probabilities_and_counts_add_up(case):
    classes, size, _ = priors.CASES[case]
    counts, truth = priors.study(case).generate(generator(0, 0))
    assert counts.shape == (classes, classes)
    assert counts.sum() == size
    assert set(truth) == set(priors.MEASURES)
    assert all(-1 <= value <= 1 for value in truth.values())


@pytest.mark.long
def test_two_examples_cover_and_half_an_example_a_cell_does_not():
    table = priors.table("coverage", 14, Settings(replications=30, seed=2))
    doc = table.set_index(["measure", "method"])["doc"]
    assert doc["accuracy", "2/C^2"] > 0.7
    assert doc["accuracy", "0.5"] == 0
    assert table[["classes", "n", "recall"]].drop_duplicates().values.tolist() == [[10, 50, 0.93]]


def test_rules_agree_for_two_classes():
    study = priors.study(1)
    frame = coverage.run(study, replications=10).set_index(["measure", "method"])
    for rule in ("0.5", "1/C"):
        np.testing.assert_array_equal(
            frame.xs(rule, level="method")["il"], frame.xs("2/C^2", level="method")["il"]
        )


def test_unknown_case():
    with pytest.raises(ValueError, match="no such case"):
        priors.study(17)
