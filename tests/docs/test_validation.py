"""The simulations behind our own tables of coverage run, and their names fit their results."""

import pandas as pd
import pytest
from golden_documents import EXPERIMENTS as GOLDEN
from reference_cases import DATA, data_file
from validation import experiments, result_name
from validation.__main__ import main

# Files that the first case of an experiment reads.
FILES = {"meta_analysis": "confusion/mada_auditc.csv"}
EXPERIMENTS = {result_name(each): each for each in experiments()}


def test_no_two_experiments_write_the_same_table():
    assert len(EXPERIMENTS) == len(experiments())


# The figures of the others are golden outputs.
@pytest.mark.long
@pytest.mark.parametrize("name", sorted(EXPERIMENTS.keys() - set(GOLDEN)))
def test_a_replication_of_the_first_case(name, monkeypatch):
    experiment = EXPERIMENTS[name]
    if name in FILES:
        data_file(FILES[name])
        monkeypatch.setenv("BAYESCM_DATA", str(DATA))
    case = min(experiment.cases)
    table = experiment.run(case, replications=1)
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


@pytest.mark.long
def test_a_table_is_written_with_the_call_that_made_it(tmp_path, capsys):
    options = ["--case", "5", "--replications", "1", "--seed", "3", "--out", str(tmp_path)]
    main(["worst_slices", *options])
    text = (tmp_path / "worst_slices.csv").read_text()
    call = "# python docs/validation worst_slices --case 5 --seed 3 --replications 1; bayescm "
    assert text.startswith(call)
    table = pd.read_csv(tmp_path / "worst_slices.csv", comment="#")
    assert table["method"].tolist() == ["worst_slices", "binomial tests", "observed below"]
    assert "binomial tests" in capsys.readouterr().out


@pytest.mark.long
def test_a_single_case_does_not_replace_the_committed_table(pytestconfig, capsys):
    path = pytestconfig.rootpath / "docs" / "results" / "worst_slices.csv"
    before = path.read_bytes()
    main(["worst_slices", "--case", "5", "--replications", "1"])
    assert "binomial tests" in capsys.readouterr().out
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["gaps", "--case", "99"], "Unknown case 99"),
        (["curves", "--table", "nonsense", "--case", "1"], "nknown table 'nonsense'"),
        (["best", "--replications", "0", "--case", "1"], "replications"),
        (["best", "--case", "1", "--out", "no/such/folder"], "there is no folder no/such/folder"),
    ],
)
def test_bad_arguments_are_one_message(arguments, message, capsys):
    with pytest.raises(SystemExit) as info:
        main(arguments)
    assert info.value.code == 2
    assert message in capsys.readouterr().err
