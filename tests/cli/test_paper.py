import io
import sys

import pandas as pd
import pytest

from bayescm.__main__ import main as process
from bayescm.cli import COMMANDS, main


def run(*arguments):
    with pytest.raises(SystemExit) as info:
        main(["paper", *arguments])
    return info.value.code


def test_exact_tables_are_printed_for_programs(capsys):
    assert run("wang-2015", "--table", "2", "--format", "csv") == 0
    assert len(pd.read_csv(io.StringIO(capsys.readouterr().out))) == 30


def test_study_is_another_name_for_it(capsys):
    with pytest.raises(SystemExit) as info:
        main(["study", "wang-2015", "--table", "2", "--format", "csv"])
    assert info.value.code == 0
    assert len(pd.read_csv(io.StringIO(capsys.readouterr().out))) == 30
    assert "study" not in COMMANDS


@pytest.mark.parametrize(("command", "blocked"), [("paper", False), ("interval", True)])
def test_no_other_command_loads_dask(monkeypatch, command, blocked):
    monkeypatch.setitem(sys.modules, "dask", None)  # puts back what was there
    del sys.modules["dask"]
    monkeypatch.setattr("bayescm.cli.main", lambda: None)
    monkeypatch.setattr("sys.argv", ["bayescm", command])
    process()
    assert (sys.modules.get("dask", ...) is None) is blocked


@pytest.mark.long
def test_simulated_case_beside_the_published_one(capsys, tmp_path):
    out = tmp_path / "table.csv"
    options = ["--replications", "2", "--jobs", "1", "--out", str(out), "--format", "csv"]
    assert run("wang-li", "--table", "5", "--case", "1", *options) == 0
    captured = capsys.readouterr()
    printed = pd.read_csv(io.StringIO(captured.out))
    assert printed["published_il"].notna().sum() == 8
    assert "wang-li 5 case 1" in captured.err
    assert out.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["wang-li", "--table", "99"], "Unknown --table"),
        (["wang-li", "--table", "7"], "letter.csv.gz is missing"),
        (["wang-li", "--table", "5", "--out", "table.txt"], "a name ending in .csv or .parquet"),
        (["wang"], "wang-li"),
        (["gaps"], "python docs/validation NAME"),
    ],
)
def test_errors_are_one_line_on_stderr(capsys, arguments, message):
    assert run(*arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
