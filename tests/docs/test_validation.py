"""The simulations behind our own tables of coverage run, and their names fit their results."""

import pandas as pd
import pytest
from reference_cases import DATA, data_file
from validation import experiments, result_name

# Files that the first case of an experiment reads.
FILES = {"meta_analysis": "confusion/mada_auditc.csv"}
EXPERIMENTS = {result_name(each): each for each in experiments()}


def test_no_two_experiments_write_the_same_table():
    assert len(EXPERIMENTS) == len(experiments())


@pytest.mark.long
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_two_replications_of_the_first_case(name, monkeypatch):
    experiment = EXPERIMENTS[name]
    if name in FILES:
        data_file(FILES[name])
        monkeypatch.setenv("BAYESCM_DATA", str(DATA))
    case = min(experiment.cases)
    table = experiment.run(case, replications=2)
    assert len(table)
    assert set(table["case"]) == {case}
    assert table.select_dtypes("number").notna().any().any()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_committed_tables_have_the_columns_of_their_experiment(name, pytestconfig):
    path = pytestconfig.rootpath / "docs" / "results" / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"no table of {name} is committed")
    table = pd.read_csv(path, comment="#")
    assert {"case", "seed"} <= set(table.columns)
    assert set(table["case"]) <= set(EXPERIMENTS[name].cases)
