import json

import pytest

from bayescm.cli import main

ROWS = "actual,predicted\nsick,sick\nwell,sick\nwell,well\nsick,well\nsick,sick\n"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(ROWS)

    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["monitor", *arguments])
        return left.value.code, capsys.readouterr()

    return call


def test_from_a_file_to_what_is_known(run):
    add = ("add", "a.csv", "--store", "e.db", "--batch", "monday", "--positive", "sick")
    code, said = run(*add)
    assert (code, "recorded" in said.out) == (0, True)
    assert "nothing changed" in run(*add)[1].out
    code, said = run("status", "--store", "e.db", "-m", "recall", "--format", "json")
    (row,) = json.loads(said.out)
    assert (row["batches"], row["examples"], row["measure"]) == (1, 5, "recall")
    code, said = run("history", "--store", "e.db", "-m", "recall", "--format", "csv")
    assert said.out.splitlines()[0] == "step,batch_id,at,n,measure,lower,upper"
    code, said = run("alarms", "--store", "e.db", "--floor", "recall=0.999", "--exit-code")
    assert code in (0, 1)
    assert "monday" in run("export", "--store", "e.db")[1].out
    assert run("plot", "--store", "e.db", "-o", "h.png")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("status", "--store", "none.db"), "there is no ledger"),
        (("status", "--store", "postgresql://u:hidden@127.0.0.1:port/x"), "not a ledger's address"),
    ],
)
def test_errors_are_one_line_without_credentials(run, arguments, message):
    code, said = run(*arguments)
    assert code == 2
    assert message in said.err
    assert "hidden" not in said.err
