"""The study of binned probabilities: its truth, and that intervals hold it."""

import pytest

from bayescm.studies import binned_intervals
from bayescm.studies.tables import Settings


@pytest.mark.long
def test_the_truth_is_that_of_the_case_and_intervals_hold_it():
    known = binned_intervals.truths((-1.0, 1.5, 0.0))
    assert known["calibration_slope"][0] == pytest.approx(1.5, abs=1e-6)
    right = binned_intervals.truths((-1.0, 1.0, 0.0))
    assert right["calibration_in_the_large"][0] == pytest.approx(0, abs=1e-9)
    assert right["brier"][1] == pytest.approx(right["brier"][0], abs=1e-3)
    table = binned_intervals.table(case=1, settings=Settings(replications=60, seed=3))
    assert table["doc"].between(0.8, 1).all()
    lengths = table.pivot(index="measure", columns="size", values="il")
    assert (lengths[1000] < 0.55 * lengths[200]).all()
