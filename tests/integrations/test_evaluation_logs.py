"""Logs of LM Evaluation Harness and Inspect: which answers become which evidence."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.integrations.evaluation_logs import evidence_of_samples, inspect, lm_eval

REFERENCE = Path(__file__).parents[1] / "reference"
DATE = "2026-01-31T12-00-00.000000"


@pytest.fixture
def samples(tmp_path):
    def write(model, task, rows, date=DATE):
        folder = tmp_path / model
        folder.mkdir(exist_ok=True)
        file = folder / f"samples_{task}_{date}.jsonl"
        file.write_text("\n".join(map(json.dumps, rows)))
        return file

    return write


def records(values, metric="acc", name="none", order=None):
    """Return records of documents, whose ids are their places and whose hashes are their own."""
    order = range(len(values)) if order is None else order
    return [
        {
            "doc_id": place,
            "doc": {"question": f"q{document}"},
            "target": "x",
            "filter": name,
            "metrics": [metric],
            "doc_hash": f"hash{document}",
            metric: values[document],
        }
        for place, document in enumerate(order)
    ]


def test_documents_of_two_models_are_joined_by_their_hashes(samples, tmp_path):
    values = {"a": [1.0, 0.0, 1.0, 1.0], "b": [0.0, 0.0, 1.0, 0.0]}
    samples("a", "arc_easy", records(values["a"]))
    samples("b", "arc_easy", records(values["b"], order=[3, 1, 0, 2]))
    evidence = lm_eval(tmp_path)
    assert dict(evidence.sizes) == {"classifier": 2, "item": 4, "attempt": 1}
    for document in range(4):
        found = evidence["correct"].sel(item=f"hash{document}", attempt=0)
        expected = [values[model][document] for model in found["classifier"].values]
        assert found.values.tolist() == expected
    table = bcm.compare(evidence, "mean", random_seed=1)
    assert table.loc[0, ["first", "second"]].tolist() == ["a", "b"]
    assert table.loc[0, "mean"] > 0


def test_two_filters_are_not_two_attempts(samples):
    both = records([1, 0, 1], "exact_match", "strict-match")
    both += records([1, 1, 1], "exact_match", "flexible-extract")
    file = samples("a", "gsm8k", both)
    with pytest.raises(ValueError, match=r"flexible-extract.*filter="):
        lm_eval(file)
    strict, flexible = (
        lm_eval(file, filter=f"{name}") for name in ("strict-match", "flexible-extract")
    )
    assert strict["correct"].sum() == 2
    assert flexible["correct"].sum() == 3
    assert strict.sizes["attempt"] == 1
    with pytest.raises(ValueError, match=r"strict.*strict-match"):
        lm_eval(file, filter="strict")


@pytest.mark.long
def test_runs_of_one_task_are_attempts_and_tasks_are_slices(samples, tmp_path):
    for hour in ("01", "02", "03"):
        samples("a", "gsm8k", records([1, 0]), f"2026-01-31T{hour}-00-00.000000")
        samples("a", "mmlu_law", records([0, 0, 1]), f"2026-01-31T{hour}-00-00.000000")
    evidence = lm_eval(tmp_path / "a", metric="acc")
    assert evidence.sizes["attempt"] == 3
    assert evidence["task"].values.tolist() == ["gsm8k", "mmlu_law"]
    means = bcm.summary(evidence, ["mean"], of="finite").set_index("task")["mean"]
    assert means["gsm8k"] == pytest.approx(0.5, abs=0.1)


def test_a_document_that_is_in_a_data_set_twice_is_two_items(samples):
    rows = records([1, 0, 1])
    rows.append({**rows[0], "doc_id": 3, "acc": 0})
    evidence = lm_eval(samples("a", "arc", rows))
    assert evidence["item"].values.tolist() == ["hash0", "hash1", "hash2", "hash0#2"]
    assert evidence["correct"].values.ravel().tolist() == [1, 0, 1, 0]


def test_graded_metrics_are_item_scores(samples, tmp_path):
    samples("a", "squad", records([0.5, 1.0, 0.25], "f1"))
    samples("b", "squad", records([0.5, 0.0, 0.75], "f1"))
    evidence = lm_eval(tmp_path, range=(0, 1))
    np.testing.assert_array_equal(evidence["item_score"], [[0.5, 1.0, 0.25], [0.5, 0.0, 0.75]])


@pytest.mark.parametrize(
    ("change", "keywords", "message"),
    [
        ({"doc_hash": None}, {}, "Run lm_eval with --log_samples, in a version"),
        ({"metrics": ["acc", "acc_norm"], "acc_norm": 1}, {}, r"acc_norm.*metric="),
        ({}, {"metric": "f1"}, "Unknown metric"),
        ({}, {"range": (0, 1)}, "range has no effect"),
        ({"filter": "a"}, {"filter": "b"}, "Unknown filter"),
    ],
)
def test_what_a_file_does_not_tell_is_an_error(samples, change, keywords, message):
    file = samples("a", "arc", [{**row, **change} for row in records([1, 0, 1])])
    with pytest.raises(ValueError, match=message):
        lm_eval(file, **keywords)


def test_paths_without_samples_are_errors(tmp_path, samples):
    with pytest.raises(FileNotFoundError, match="--log_samples"):
        lm_eval(tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        lm_eval([tmp_path / "nothing.jsonl"])
    (tmp_path / "results.jsonl").write_text('{"a": 1}')
    with pytest.raises(ValueError, match="is not named like a sample file, samples"):
        lm_eval(tmp_path / "results.jsonl")


def log(scores, epochs=2, **columns):
    """Return a data frame as ``samples_df`` returns it."""
    items = len(scores) // epochs
    return pd.DataFrame(
        {
            "id": np.tile(np.arange(items), epochs),
            "epoch": np.repeat(np.arange(1, epochs + 1), items),
            "model": "provider/model",
            "task_name": "task",
            "score_match": scores,
            "error": "",
            **columns,
        }
    )


def test_epochs_of_inspect_are_attempts():
    evidence = evidence_of_samples(log(["C", "I", "C", "C", "P", "N"]))
    assert evidence["correct"].values.tolist() == [[1, 1], [0, 0], [1, 0]]
    partly = evidence_of_samples(log(["C", "I", "C", "C", "P", "N"]), passing=["C", "P"])
    assert partly["correct"].values.tolist() == [[1, 1], [0, 1], [1, 0]]


def test_samples_with_errors_are_asked_about():
    frame = log(["C", "I", None, "C"], error=["", "", "timeout", ""])
    with pytest.raises(ValueError, match=r"1 of 4 samples.*errors=\"wrong\""):
        evidence_of_samples(frame)
    wrong = evidence_of_samples(frame, errors="wrong")["correct"].values
    missing = evidence_of_samples(frame, errors="missing")["correct"].values
    np.testing.assert_array_equal(wrong, [[1, 0], [0, 1]])
    np.testing.assert_array_equal(missing, [[1, np.nan], [0, 1]])
    with pytest.raises(ValueError, match="errors has no effect"):
        evidence_of_samples(log(["C", "I", "C", "C"]), errors="wrong")


def test_scorers_models_tasks_and_groups_of_inspect():
    frame = log(
        [1, 0, 0, 1], score_model_graded=[0.5, 0.25, 1.0, 0.0], metadata_text=["x", "y"] * 2
    )
    with pytest.raises(ValueError, match="The files have several values of scorer"):
        evidence_of_samples(frame)
    evidence = evidence_of_samples(frame, scorer="match", group="metadata_text")
    assert evidence["group"].values.tolist() == ["x", "y"]
    other = frame.assign(model="provider/other")
    both = evidence_of_samples(pd.concat([frame, other]), scorer="match")
    assert both["classifier"].values.tolist() == ["provider/model", "provider/other"]
    graded = frame[frame["epoch"] == 1]
    assert evidence_of_samples(graded, scorer="model_graded", range=(0, 1)).sizes["item"] == 2
    with pytest.raises(ValueError, match="unknown grades"):
        evidence_of_samples(log(["A", "B", "A", "B"]))
    with pytest.raises(ValueError, match="There is no column"):
        evidence_of_samples(frame, scorer="match", group="text")


def test_samples_that_inspect_wrote():
    """``samples_df`` of inspect_ai 0.3.285: four questions, two epochs, all answered with 1."""
    frame = pd.read_json(REFERENCE / "inspect_samples.json", dtype=False)
    evidence = evidence_of_samples(frame, group="metadata_doc")
    assert evidence["correct"].values.tolist() == [[0, 0], [1, 1], [0, 0], [1, 1]]
    assert evidence["group"].values.tolist() == ["a", "a", "b", "b"]


def test_logs_of_inspect_need_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "inspect_ai.analysis", None)
    with pytest.raises(ImportError, match="pip install inspect_ai"):
        inspect("logs")
