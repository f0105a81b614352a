"""The tables of the studies of curves."""

import pytest

from bayescm.studies.command import run_study
from bayescm.studies.ours import curves


@pytest.mark.parametrize(("name", "number"), [("curves", 60), ("paired", 32), ("choice", 5)])
def test_every_case_has_a_study_of_its_own(name, number):
    names = [curves.study(name, case).name for case in range(1, number + 1)]
    assert len(set(names)) == len(curves.cases(name)) == number
    with pytest.raises(ValueError, match="no such case"):
        curves.study(name, number + 1)


@pytest.mark.long
def test_a_case_is_run_by_name():
    frame = run_study("curves", "paired", 1, replications=2)
    assert frame.loc[0, ["first_area", "correlation", "n"]].tolist() == [0.8, 0.3, 50]
    assert set(frame["method"]) == {"posterior", "DeLong"}
    frame = run_study("curves", "curves", 1, replications=2)
    assert {"roc band", "pr band", "auc"} <= set(frame["measure"])
