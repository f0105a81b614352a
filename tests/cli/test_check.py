import json
from xml.etree import ElementTree

import pandas as pd
import pytest

from bayescm.cli import main


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [
        ("1", "1", "1", "A"),
        ("1", "1", "0", "B"),
        ("0", "0", "0", "A"),
        ("0", "0", "1", "B"),
    ] * 20
    pd.DataFrame(rows, columns=["y", "new", "old", "site"]).to_csv("p.csv", index=False)

    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["check", "p.csv", *arguments])
        return left.value.code, capsys.readouterr()

    return call


COLUMNS = ("--actual", "y", "--predicted", "new")


@pytest.mark.long
@pytest.mark.parametrize(
    ("required", "status"),
    [
        (["recall > 0.9 @ 0.9", "f1 - f1[classifier=old] > -0.01 @ 0.9"], 0),
        (["recall > 0.9 @ 0.9", "recall < 0.5"], 1),
        (["recall > 0.9 @ 0.9", "recall > 0.99"], 3),
        (["recall > 0.99", "recall < 0.5"], 1),
        (["recal > 0.9"], 2),
    ],
)
def test_the_exit_status_says_the_outcome(run, required, status):
    options = [text for each in required for text in ("--require", each)]
    code, said = run(*COLUMNS, *options)
    assert code == status
    assert (status == 2) == bool(said.err)


@pytest.mark.long
def test_every_site_and_every_format(run, tmp_path):
    options = ("--require", "accuracy > 0.8", "--by", "site")
    code, said = run(*COLUMNS, *options, "--format", "json", "--junit", "out.xml")
    rows = json.loads(said.out)
    assert (code, [row["site"] for row in rows]) == (0, ["A", "B"])
    assert rows[0]["model"] == "dirichlet_multinomial"
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "0")
    assert suite[1].get("name") == "accuracy > 0.8 [site=B]"
    judged = "{mean:.4g} [{lower:.4g}, {upper:.4g}], probability".format(**rows[1])
    assert suite[1].find("system-out").text.startswith(judged)
    code, said = run("--actual", "y", "--predicted", "old", *options, "--format", "markdown")
    assert code == 1
    assert "| accuracy > 0.8 | A" in said.out
    assert {"mean", "lower", "upper", "would"} <= set(said.out.split())


@pytest.mark.long
def test_requirements_in_a_file(run, tmp_path):
    path = tmp_path / "gate.toml"
    path.write_text(
        '[bayescm]\nactual = "y"\npredicted = "old"\nlevel = 0.9\n'
        'require = ["recall[site=A] > 0.8"]\n'
    )
    assert run("--requirements", "gate.toml")[0] == 0
    assert run("--requirements", "gate.toml", "--require", "recall[site=B] > 0.8")[0] == 1
    path.write_text('requires = ["recall > 0.8"]\n')
    code, said = run("--requirements", "gate.toml")
    assert (code, "Did you mean 'require'" in said.err) == (2, True)
