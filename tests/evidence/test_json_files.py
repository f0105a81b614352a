"""JSON and JSON Lines: records with nested fields, and the other forms that programs write."""

import gzip
import json

import pandas as pd
import pytest

from bayescm.evidence.files import File, read, read_columns

RECORDS = [
    {"id": 1, "target": {"label": "cat"}, "output": {"label": "cat", "score": 0.9}, "site": "a"},
    {"id": 2, "target": {"label": "dog"}, "output": {"label": "cat", "score": 0.4}, "site": "a"},
    {"id": 3, "target": {"label": "dog"}, "output": {"label": "dog", "score": 0.2}, "site": "b"},
]
COLUMNS = {"actual": "target.label", "predicted": "output.label"}


@pytest.fixture
def write(tmp_path):
    def make(content, name="answers.json"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return make


def lines(records):
    return "\n".join(map(json.dumps, records)) + "\n\n"


@pytest.mark.parametrize(
    ("content", "name", "keywords"),
    [
        (RECORDS, "answers.json", {}),
        (lines(RECORDS), "answers.jsonl", {}),
        (lines(RECORDS), "ANSWERS.NDJSON", {}),
        ({"results": {"version": 2, "results": RECORDS}}, "a.json", {"records": "results.results"}),
        ({"runs": [{"rows": []}, {"rows": RECORDS}]}, "a.json", {"records": "runs.1.rows"}),
    ],
)
def test_records_are_counted(write, content, name, keywords):
    counts = read(write(content, name), **COLUMNS, by="site", positive="dog", **keywords)
    assert counts.dims == ("site", "actual", "predicted")
    assert counts.sum("site").values.tolist() == [[1, 0], [1, 1]]
    assert counts.sel(site="b").values.tolist() == [[0, 0], [0, 1]]


def test_compressed_lines_and_lines_with_separators_of_other_kinds(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    records = [{"actual": "x\u2028y", "predicted": "x\u2028y"}, {"actual": "z", "predicted": "z"}]
    text = "\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    path.write_bytes(gzip.compress(text.encode()))
    assert read(path)["actual"].values.tolist() == ["x\u2028y", "z"]


def test_columns_keep_the_types_of_json(write):
    frame = read_columns(write(RECORDS), ["target.label"], numbers=["output.score"])
    assert frame["output.score"].tolist() == [0.9, 0.4, 0.2]
    assert frame["target.label"].tolist() == ["cat", "dog", "dog"]
    typed = [{"actual": 1, "predicted": "1"}, {"actual": 2, "predicted": "2"}]
    assert read(write(typed))["actual"].values.tolist() == ["1", "2"]  # text beside numbers


def test_a_table_of_rows_and_names_of_columns(write):
    split = {"columns": ["actual", "predicted"], "data": [[1, 0], [0, 0], [1, 1]]}
    assert read(write(split), positive=1).values.tolist() == [[1, 0], [1, 1]]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"q1": 0.5, "q2": 1}, {"item": ["q1", "q2"], "score": [0.5, 1.0]}),
        (
            {"bm25": {"q1": 0.5, "q2": 1.0}, "dense": {"q1": 0.25}},
            {
                "item": ["q1", "q2", "q1"],
                "score": [0.5, 1.0, 0.25],
                "system": ["bm25", "bm25", "dense"],
            },
        ),
    ],
)
def test_scores_by_item_are_a_table(write, content, expected):
    pd.testing.assert_frame_equal(File(write(content)).whole(10), pd.DataFrame(expected))


@pytest.mark.parametrize(
    ("content", "name", "keywords", "message"),
    [
        ("{", "a.json", {}, "Write the file again, or name it"),
        ('{"actual": 1}\n{', "a.jsonl", {}, "Write the file again, or name it"),
        (RECORDS, "a.json", {"records": "results"}, "Expected a path of a list of records"),
        ({"out": {"rows": RECORDS}}, "a.json", {}, r"not a list of records.*records='out\.rows'"),
        ({"out": {"rows": RECORDS}}, "a.json", {"records": "out.row"}, "json contains nothing"),
        ([], "a.json", {}, "an empty list"),
        ([1, 2], "a.json", {}, "not a list of records"),
        ("actual,predicted\n1,1\n", "a.csv", {"records": "x"}, "records has no effect"),
        (RECORDS, "a.json", {"decimal": ","}, "decimal=',' has no effect"),
        ([{"actual": [1], "predicted": 1}], "a.json", {}, "json cannot be read"),
        ([{"actual": 1, "predicted": None}], "a.json", {}, "predicted has missing values"),
        (RECORDS, "a.json", {"actual": "label"}, "label"),
    ],
)
def test_other_contents_are_errors(write, content, name, keywords, message):
    with pytest.raises(ValueError, match=message):
        read(write(content, name), **keywords)


def test_a_file_that_does_not_exist_or_is_damaged(tmp_path, write):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read(tmp_path / "a.jsonl", records="x")
    (tmp_path / "b.json.gz").write_bytes(b"no gzip")
    with pytest.raises(ValueError, match=r"b\.json\.gz is damaged"):
        read(tmp_path / "b.json.gz")
