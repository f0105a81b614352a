"""The tables of the studies of curves."""

import pytest

from bayescm.studies import curve_tables
from bayescm.studies.command import run_study


@pytest.mark.parametrize(("name", "number"), [("curves", 60), ("paired", 32), ("choice", 5)])
def test_every_case_has_a_study_of_its_own(name, number):
    names = [curve_tables.study(name, case).name for case in range(1, number + 1)]
    assert len(set(names)) == len(curve_tables.cases(name)) == number
    with pytest.raises(ValueError, match="no such case"):
        curve_tables.study(name, number + 1)


@pytest.mark.slow
def test_a_case_is_run_by_name():
    frame = run_study("curves", "paired", 1, replications=2)
    assert frame.loc[0, ["first_area", "correlation", "n"]].tolist() == [0.8, 0.3, 50]
    assert set(frame["method"]) == {"posterior", "DeLong"}
    frame = run_study("curves", "curves", 1, replications=2)
    assert {"roc band", "pr band", "auc"} <= set(frame["measure"])
