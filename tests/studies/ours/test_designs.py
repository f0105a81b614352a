import numpy as np
import pytest

from bayescm.simulation.journal import generator
from bayescm.studies.ours import designs
from bayescm.studies.tables import Settings


@pytest.mark.parametrize("case", list(designs.CASES))
def test_evidence_has_the_design_and_the_truth_is_one(case):
    counts, truth = designs.study(case).generate(generator(0, 0))
    model, given = designs.CASES[case]
    assert set(truth) == set(designs.MEASURES[model])
    assert all(-1 <= value <= 1 for value in truth.values())
    if model == "fixed_totals":
        np.testing.assert_array_equal(counts.sum("predicted"), given)
    if model == "hierarchical_groups":
        assert counts.sizes["group"] == given[0]
        np.testing.assert_array_equal(counts.sum(["actual", "predicted"]), given[1])


def test_the_plain_model_is_wider_where_the_prevalence_was_fixed():
    table = designs.table("coverage", 2, Settings(replications=3, seed=1))
    il = table.set_index(["measure", "method"])["il"]
    assert il["precision", "fixed_totals"] < il["precision", "dirichlet_multinomial"]
    assert il["recall", "fixed_totals"] == pytest.approx(il["recall", "dirichlet_multinomial"])


def test_unknown_case():
    with pytest.raises(ValueError, match="no such case"):
        designs.study(9)
