"""The studies of comparisons: populations are what they say, tables have what is promised."""

import numpy as np
import pytest
from reference_cases import DATA, data_file

from bayescm.classical.paired import score_statistic, tango, wald
from bayescm.evidence.joint_cells import pour
from bayescm.studies.ours import comparisons, meta_analysis, paired_accuracy
from bayescm.studies.tables import Settings


@pytest.mark.parametrize("case", comparisons.PAIRS)
def test_pairs_err_as_often_and_as_jointly_as_they_say(case):
    size, positives, rates, correlation = comparisons.PAIRS[case]
    known = comparisons.Pairs(size, positives, rates, correlation).population()
    assert known.shares.min() >= 0
    wrong = (known.cells[1:] != known.cells[0]).astype(float)
    error = wrong @ known.shares
    np.testing.assert_allclose(error, rates)
    both = (wrong[0] * wrong[1]) @ known.shares
    spread = np.sqrt(np.prod(error * (1 - error)))
    assert (both - np.prod(error)) / spread == pytest.approx(correlation)
    assert known.shares[known.cells[0] == 1].sum() == pytest.approx(positives)


@pytest.mark.parametrize("case", comparisons.JOINT)
def test_several_err_as_often_as_they_say(case):
    _, positives, rates, shared, _ = comparisons.JOINT[case]
    known = comparisons.truth_table(positives, rates, shared)
    matrices = pour(known.shares, known.cells[0], known.cells[1:], 2)
    np.testing.assert_allclose(matrices[:, 0, 1] + matrices[:, 1, 0], rates)


def test_pairs_are_shorter_than_strangers():
    frame = comparisons.table("paired", 1, Settings(replications=8)).set_index(
        ["measure", "method"]
    )
    assert frame.il["f1", "paired"] < 0.65 * frame.il["f1", "independent"]
    assert (frame["truth"] == 0).all()


@pytest.mark.long
def test_intervals_of_paired_accuracies():
    one, two = np.array([9.0, 2.0, 0.0]), np.array([2.0, 9.0, 0.0])
    for method in (tango, wald):
        ends = method(one, two, 40)
        np.testing.assert_allclose(ends[0], -ends[1][::-1], atol=1e-12)
        assert ends[0][0] <= 7 / 40 <= ends[0][1]
    # Tango's score is z at either end, also where nobody is ever alone right.
    ends = tango(one, two, 40)
    assert abs(score_statistic(ends[:, 0], one, two, 40) - 1.96).max() < 1e-3
    frame = paired_accuracy.enumerated(8).set_index("method")
    assert frame.il["Dirichlet(1)"] < frame.il["Bonett-Price"]


def test_intervals_that_hold_jointly_are_wider():
    frame = comparisons.table("jointly", 1, Settings(replications=4)).set_index("method")
    assert frame.il["joint"] > frame.il["single"]
    again = comparisons.table("jointly", 1, Settings(replications=4)).set_index("method")
    assert again.equals(frame)


def test_classes_that_share_have_answers():
    frame = comparisons.table("rows", 5, Settings(replications=3))
    assert set(frame["method"]) == {"sharing", "2/C^2"}
    assert (frame["classes"] == 10).all()


@pytest.mark.long
def test_meta_analyses_stand_beside_the_published_ones():
    data_file("confusion/bamdit_glas.csv")
    frame = meta_analysis.table("bivariate", 2, Settings(data=str(DATA))).set_index("method")
    published, ours = frame.loc["published"], frame.loc["posterior"]
    assert ours["sensitivity"] == pytest.approx(published["sensitivity"], abs=0.03)
    assert ours["specificity"] == pytest.approx(published["specificity"], abs=0.04)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: comparisons.study("paired", 99), "no such case"),
        (lambda: comparisons.study("jointly", 1), "unknown table"),
        (lambda: comparisons.table("jointly", 99, Settings()), "no such case"),
        (lambda: meta_analysis.table("bivariate", 9, Settings()), "no such case"),
        (lambda: meta_analysis.read(1, "nowhere"), "mada_auditc.csv is missing"),
    ],
)
def test_what_is_missing_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
