"""Files of evaluation tools on the command line, beside the same calls in Python."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.cli import main

RNG = np.random.default_rng(3)
RIGHT = {"a": RNG.random(30) < 0.7, "b": RNG.random(30) < 0.5}


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(each) for each in arguments])
    out = capsys.readouterr()
    return stopped.value.code, out.out, out.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("files")

    def write(name, content):
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))

    for model, answers in RIGHT.items():
        rows = [
            {"doc_hash": f"h{i}", "doc_id": i, "filter": name, "metrics": ["exact_match"]}
            | {"exact_match": float(right)}
            for i, right in enumerate(answers)
            for name in ("strict-match", "flexible-extract")
        ]
        lines = "\n".join(map(json.dumps, rows))
        write(f"out/{model}/samples_gsm8k_2026-01-31T12-00-00.000000.jsonl", lines)
    records = [
        {"test": i, "provider": {"id": model}, "success": bool(right), "grade": "FA"[int(right)]}
        for model, answers in RIGHT.items()
        for i, right in enumerate(answers)
    ]
    write("results.json", {"results": {"results": records}})
    scores = {name: {f"q{i}": float(x) for i, x in enumerate(RIGHT[name])} for name in RIGHT}
    write("ndcg.json", scores)
    write("counts.csv", "model,tp,fn,fp\na,9,1,2\nb,8,2,1\n")
    write("table.csv", "test,disease,no disease\npositive,90,10\nnegative,5,95\n")
    return path


def table(capsys, *arguments):
    code, out, err = run(capsys, *arguments, "--format", "csv")
    assert code == 0, err
    return pd.read_csv(io.StringIO(out))


@pytest.mark.long
def test_sample_files_of_lm_evaluation_harness(capsys, folder):
    out = folder / "out"
    asked = ["--sample-metric", "exact_match", "--sample-filter", "strict-match"]
    found = table(capsys, "attempts", out, *asked)
    expected = bcm.summary(bcm.integrations.lm_eval(out, filter="strict-match"), "mean")
    assert found["mean"].tolist() == pytest.approx(expected["mean"].tolist())
    compared = table(capsys, "compare", out, *asked)
    assert compared[["first", "second"]].values.tolist() == [["a", "b"]]
    code, _, err = run(capsys, "attempts", out, "--sample-metric", "exact_match")
    assert code == 2
    assert "several values of --sample-filter" in err
    assert "--sample-filter" in err


RECORDS = ["--records", "results.results", "--item", "test", "--system", "provider.id"]


@pytest.mark.long
@pytest.mark.parametrize("answers", [["success"], ["grade", "--passing", "A"]])
def test_records_inside_a_file(capsys, folder, answers):
    found = table(
        capsys, "attempts", folder / "results.json", *RECORDS, "--correct", *answers
    ).set_index("classifier")
    for name, right in RIGHT.items():
        assert found.loc[name, "point"] == pytest.approx(right.mean())
    code, _, err = run(capsys, "attempts", folder / "results.json", "--correct", "success")
    assert code == 2
    assert "--records results.results" in err


@pytest.mark.long
def test_scores_by_item(capsys, folder):
    file = folder / "ndcg.json"
    found = table(capsys, "items", file, "--system", "system", "--range", "0,1", "-m", "mean")
    assert found["point"].tolist() == [RIGHT["a"].mean(), RIGHT["b"].mean()]
    items = table(capsys, "items", file, "--system", "system", "--item-table")
    assert items["mean"].tolist() == pytest.approx(((RIGHT["a"] * 1.0 + RIGHT["b"]) / 2).tolist())


@pytest.mark.long
def test_counts_of_classifiers_and_of_a_test(capsys, folder):
    found = table(capsys, "summary", folder / "counts.csv", "--classifier", "model")
    assert found["measure"].unique().tolist() == ["precision", "recall", "f1"]
    code, _, err = run(
        capsys, "summary", folder / "counts.csv", "--classifier", "model", "-m", "accuracy"
    )
    assert code == 2
    assert "true negatives, which are unknown" in err
    found = table(capsys, "summary", folder / "table.csv", "-m", "recall", "-m", "precision")
    assert found["point"].tolist() == pytest.approx([90 / 95, 90 / 100])


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["summary", "counts.csv", "--records", "a"], "--records has no effect"),
        (["summary", "results.json", "--records", "a.b"], "results.results"),
        (
            ["attempts", "results.json", *RECORDS, "--correct", "success", "--sample-filter", "x"],
            "--sample-filter has no effect",
        ),
        (["items", "ndcg.json", "--system", "system", "--item-table", "--of", "new"], "--of"),
        (
            ["items", "ndcg.json", "--system", "system", "--item-table", "--compare"],
            "--item-table",
        ),
        (["attempts", "results.json", *RECORDS, "--passing", "A"], "correct"),
    ],
)
def test_options_without_effect_are_errors(capsys, folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
