"""What the command line says of a table that it has read, and of numbers and lists in a file."""

import json

import pandas as pd
import pytest

from bayescm import cli


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Return a function from a command line and the text of its file to status and both outputs."""
    monkeypatch.chdir(tmp_path)

    def call(line, text=None, name="t.csv"):
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(SystemExit) as stopped:
            cli.main(line.split())
        out, errors = capsys.readouterr()
        return stopped.value.code, out, errors

    return call


TURNED = "yhat,ill,well\nill,65,35\nwell,15,30\n"
STATED = "t.csv: rows ('yhat') are predicted, columns are actual: TP 65, FN 15, FP 35, TN 30"


@pytest.mark.long
@pytest.mark.parametrize("style", ["json", "csv", "table", "markdown"])
@pytest.mark.parametrize("command", ["summary", "check"])
def test_the_cells_are_stated_on_the_error_stream_alone(run, command, style):
    if command == "check" and style == "markdown":
        pytest.skip("as the others")
    question = "--require recall>.5" if command == "check" else "-m recall"
    line = f"{command} t.csv --positive ill {question} --format {style}"
    code, out, errors = run(line, TURNED)
    assert code == 0
    assert errors.count(STATED) == 1
    assert "yhat" not in out
    if style == "json":
        assert json.loads(out)[0]
    if style == "csv":
        assert "recall" in out.splitlines()[1]


def test_other_commands_state_them_too(run):
    line = "prob-above t.csv --positive ill -m recall --threshold .7 --format json"
    code, out, errors = run(line, TURNED)
    assert (code, STATED in errors, len(json.loads(out))) == (0, True, 1)


def test_a_table_without_a_positive_class_states_one_cell(run):
    _, _, errors = run("summary t.csv -m accuracy", ",a,b\na,65,35\nb,15,30\n")
    assert "35 of actual class 'a' are predicted as 'b'" in errors
    assert "assumed" in errors


@pytest.mark.long
def test_the_advice_names_the_file_and_the_options(run):
    code, _, errors = run("summary t.csv -m accuracy", ";a;b\na;1.000;12\nb;3;4\n")
    assert code == 2
    assert "in column 'a' of t.csv" in errors
    assert "Pass --thousands . if 1.000 is 1000, or --decimal . if it is 1." in errors
    code, out, _ = run("summary t.csv -m accuracy --thousands . --format json")
    assert (code, json.loads(out)[0]["n"]) == (0, 1019)
    code, _, errors = run("heterogeneity t.csv", "id;TP;FN;FP;TN\na;1.000;2;3;4\nb;5;6;7;8\n")
    assert (code, "--thousands ." in errors) == (2, True)
    (pd.DataFrame({"actual": [1, 0], "predicted": [1, 1], "w": [1.5, 2]})).to_parquet("p.parquet")
    weighted = "summary p.parquet -m accuracy --weights w --weights-are importance --decimal ,"
    code, _, errors = run(weighted)
    assert (code, "--decimal , has no effect: p.parquet stores numbers" in errors) == (2, True)


WEIGHTS = "actual;predicted;w\n" + "1;1;1.250\n0;0;12\n1;0;2.250\n" * 3


@pytest.mark.long
@pytest.mark.filterwarnings("default")
def test_weights_warn_and_go_on(run):
    line = "summary t.csv -m accuracy --weights w --weights-are importance --format json"
    code, out, errors = run(line, WEIGHTS)
    assert (code, json.loads(out)[0]["measure"]) == (0, "accuracy")
    assert "pass --thousands . to read 1250; pass --decimal . if" in errors
    _, changed, errors = run(f"{line} --thousands .")
    assert "thousands" not in errors
    assert json.loads(changed)[0]["point"] != json.loads(out)[0]["point"]
    code, _, errors = run("summary t.csv -m accuracy --thousands .")
    assert (code, "--thousands has no effect" in errors) == (2, True)


FILES = {  # command line, and a file with decimal commas
    "curve": ("curve t.csv --score s --format csv", "actual;s\n1;0,9\n0;0,2\n1;0,6\n0;0,7\n"),
    "calibration": (
        "calibration t.csv --probability s -m brier --format csv",
        "actual;s\n" + "1;0,9\n0;0,2\n1;0,6\n0;0,7\n" * 5,
    ),
    "items": ("items t.csv --score s -m mean --format csv", "item;s\na;0,5\nb;0,7\nc;1\n"),
    "results": (
        "compare t.csv --data-set d --format csv",
        "d;classifier;fold;s\n" + "".join(
            f"{d};{c};{f};0,{7 + f}{i}{j}\n"
            for i, d in enumerate("xyz") for j, c in enumerate("ab") for f in range(2)
        ),
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FILES)
def test_decimal_commas_in_every_kind_of_number(run, name):
    line, text = FILES[name]
    code, _, errors = run(line, text)
    assert (code, "--decimal ," in errors, "t.csv" in errors) == (2, True, True)
    code, out, _ = run(f"{line} --decimal ,")
    assert code == 0
    points = run(line, text.replace(",", "."))
    assert points[1] == out


@pytest.mark.filterwarnings("ignore")
def test_a_judge_s_scores_with_commas_are_no_labels(run):
    rows = "".join(f"{i % 2 if i < 30 else ''};0,{10 + i % 60}\n" for i in range(90))
    line = "summary t.csv --judge s -m prevalence --positive 1 --format json"
    code, _, errors = run(line, "actual;s\n" + rows)
    assert (code, "--decimal ," in errors) == (2, True)
    code, out, _ = run(f"{line} --decimal ,")
    assert code == 0
    assert run(line, ("actual;s\n" + rows).replace(",", "."))[1] == out


LISTS = {
    "JSON": ('["cat", "dog"]', '["dog", "cat"]'),
    "Python": ("['cat', 'dog']", "('dog', 'cat')"),
    "sets": ("{'cat', 'dog'}", "{'dog', 'cat'}"),
}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LISTS)
def test_lists_of_labels_as_text(run, name):
    first, second = LISTS[name]
    text = f"actual;predicted\n{first};{second}\n[];[]\n['cat'];['dog']\n;['cat']\n"
    line = "multilabel t.csv -m f1_micro -m subset_accuracy --format json"
    _, out, _ = run(line, text)
    plain = "actual,predicted\ncat;dog,dog;cat\n,\ncat,dog\n,cat\n"
    assert run(line, plain)[1] == out
    code, _, errors = run(f"{line} --separator ;", text)
    assert (code, "--separator has no effect" in errors) == (2, True)


@pytest.mark.filterwarnings("ignore")
def test_lists_that_are_stored_as_lists(run, tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"actual": [["cat", "dog"], [], ["cat"]]})
    frame.assign(predicted=[["dog", "cat"], ["cat"], ["dog"]]).to_parquet("t.parquet")
    line = "multilabel t.parquet -m f1_micro --format json"
    out = run(line)[1]
    assert run("multilabel t.csv -m f1_micro --format json",
               "actual,predicted\ncat;dog,dog;cat\n,cat\ncat,dog\n")[1] == out  # fmt: skip


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("['cat' 'dog']", "Column 'predicted' has a list of labels that cannot be read"),
        ("[cat, dog]", "Column 'predicted' has a list of labels that cannot be read"),
        ("cat;dog", "has lists, but the field"),
        ("['O', 'O', 'B-PER']", "from_item_counts"),
    ],
)
def test_lists_that_cannot_be_read(run, field, said):
    text = f"actual\tpredicted\n['cat', 'dog']\t['cat']\n['cat']\t{field}\n"
    code, _, errors = run("multilabel t.tsv -m f1_micro", text, "t.tsv")
    assert (code, said in errors) == (2, True), errors


def test_a_label_in_brackets_is_a_label(run):
    code, out, _ = run(
        "multilabel t.csv -m f1_micro --format json",
        "actual,predicted\n[unk];cat,[unk]\ncat,cat\n",
    )
    assert (code, json.loads(out)[0]["labels"]) == (0, 2)
