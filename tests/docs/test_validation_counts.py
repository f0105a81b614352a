"""Experiments on tables of counts: what is drawn, and that wrong intervals are recognised."""

import numpy as np
import pytest
from validation import experiments
from validation.counts import (
    FIXED_TOTALS,
    HARD_COUNTS,
    PRIORS,
    counts_of_classifier,
    counts_with_fixed_totals,
    tail_differs,
)

from bayescm.simulation import generator


def table_of(name, case, replications, seed=0):
    (experiment,) = experiments(name, "")
    return experiment.run(case, replications=replications, seed=seed)


@pytest.mark.parametrize("case", PRIORS)
def test_counts_of_a_classifier_add_up_and_its_measures_are_in_range(case):
    counts, truth = counts_of_classifier(generator(0, 0), *PRIORS[case])
    assert counts.shape == (PRIORS[case].classes, PRIORS[case].classes)
    assert counts.sum() == PRIORS[case].n
    assert all(-1 <= value <= 1 for value in truth.values())


@pytest.mark.long
def test_a_prior_of_two_examples_covers_and_one_of_half_an_example_a_cell_does_not():
    doc = table_of("priors", 14, 30, seed=2).set_index(["measure", "method"])["doc"]
    assert doc["accuracy", "2/C^2"] > 0.7
    assert doc["accuracy", "0.5"] == 0


@pytest.mark.long
def test_rules_for_the_prior_agree_for_two_classes():
    il = table_of("priors", 1, 10).pivot_table(index="measure", columns="method", values="il")
    np.testing.assert_array_equal(il["0.5"], il["2/C^2"])
    np.testing.assert_array_equal(il["1/C"], il["2/C^2"])


@pytest.mark.parametrize("case", FIXED_TOTALS)
def test_class_totals_are_those_of_the_design(case):
    counts, _ = counts_with_fixed_totals(generator(0, 0), *FIXED_TOTALS[case])
    np.testing.assert_array_equal(counts.sum("predicted"), FIXED_TOTALS[case])


@pytest.mark.long
def test_the_plain_model_is_wider_where_the_prevalence_was_fixed():
    il = table_of("fixed_totals", 2, 3, seed=1).set_index(["measure", "method"])["il"]
    assert il["precision", "fixed_totals"] < il["precision", "dirichlet_multinomial"]
    assert il["recall", "fixed_totals"] == pytest.approx(il["recall", "dirichlet_multinomial"])


@pytest.mark.long
@pytest.mark.parametrize("measure", ["diagnostic_odds_ratio", "f1"])
def test_no_interval_of_hard_tables_is_wrong(measure):
    (case,) = (case for case, setting in HARD_COUNTS.items() if setting.measure == measure)
    faults = ["missing", "reversed", "outside", "unknown_error", "wrong", "understated"]
    assert table_of("hard_counts", case, 6, seed=5)[faults].to_numpy().sum() == 0


def test_a_wrong_interval_is_recognised():
    values = np.random.default_rng(0).random(50_000)
    assert not tail_differs(values, np.array([0.05, 0.95]), 0.9, "eti")
    assert tail_differs(values, np.array([0.0, 0.95]), 0.9, "eti")
    assert tail_differs(values, np.array([0.2, 0.8]), 0.9, "hdi")
    options = {"prob": 0.9, "kind": "eti", "share": 0.0}
    assert tail_differs(values, np.array([0.06, 0.95]), slack=0.002, **options)
    assert not tail_differs(values, np.array([0.06, 0.95]), slack=0.02, **options)
