"""Every command takes every type of evidence, by one group of options."""

import json
import shlex
from pathlib import Path

import golden_commands
import numpy as np
import pytest

from bayescm.cli import load, main
from bayescm.cli.columns import Evidence
from bayescm.evidence.registry import TYPES

# Options that name evidence of each type, of several systems, and a measure of it.
SEVERAL = {
    "outcomes": ("p.csv --actual y --positive 1 --predicted one --predicted two", "recall"),
    "partly labelled": (
        "labels.csv --actual y --positive 1 --predicted two --predicted three --judge one",
        "recall",
    ),
    "ratings": ("raters.csv --raters ann,bob,eve --predicted model --positive 1", "recall"),
    "scores": ("p.csv --actual y --positive 1 --score s --score r", "auc"),
    "probabilities": ("p.csv --actual y --positive 1 --probability r --probability r2", "brier"),
    "attempts": ("a2.csv --item q --correct c --system s", "mean"),
    "item scores": ("marks.csv --item item --score mark --range 1,5 --system s", "mean"),
    "item counts": ("found.csv --item image --tp tp --fp fp --fn fn --system s", "f1"),
    "preferences": ("votes.csv --left a --right b --winner winner", "rating"),
    "multilabel": (
        "tags.csv --actual tags --predicted one --predicted two --separator ;",
        "f1_micro",
    ),
}
ONE = {
    "counts": ("p.csv --actual y --positive 1 --predicted one", "recall"),
    "probabilities of three classes": (
        "chances.csv --actual y --probability a=p_a --probability b=p_b --probability c=p_c",
        "log_loss",
    ),
    "results": ("results.csv --data-set data", "accuracy"),
}
# The same by a short name.
SHORT = {
    "scores": "curve",
    "probabilities": "calibration",
    "attempts": "attempts",
    "item scores": "items",
    "item counts": "item-counts",
    "multilabel": "multilabel",
}
VALUES = {"item scores": 3}  # of marks from 1 to 5
RESULTS = {"results": ("results.csv --data-set data", "accuracy")}
SINGLE = {name: line for name, line in ONE.items() if name != "results"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    golden_commands.write_files(folder)
    table = (folder / "p.csv").read_text().splitlines()
    place = table[0].split(",").index("r")
    rows = [f"{row},{float(row.split(',')[place]) ** 2:.6f}" for row in table[1:]]
    (folder / "p.csv").write_text("\n".join([f"{table[0]},r2", *rows]))
    votes = ["u,v,left", "v,u,right", "u,v,right", "v,w,left", "w,u,right", "u,w,tie"]
    (folder / "votes.csv").write_text("\n".join(["a,b,winner", *votes * 8]))
    return folder


@pytest.fixture
def run(files, monkeypatch, capsys):
    monkeypatch.chdir(files)

    def call(line):
        with pytest.raises(SystemExit) as stopped:
            main(shlex.split(line.replace("--separator ;", "--separator ';'")))
        said = capsys.readouterr()
        return stopped.value.code, said.out, said.err

    return call


def rows(run, line):
    status, out, err = run(f"{line} --format json")
    assert status in (0, 1, 3), err
    return json.loads(out)


def test_every_option_of_evidence_is_a_column_of_a_type():
    columns = set().union(*(entry.columns.names for entry in TYPES if entry.columns))
    cells = {"tn", "matrix"}
    fields = {*load("summary").options} & {*Evidence.__dataclass_fields__}
    assert fields == columns | cells | {"file", "records", "decimal", "thousands"}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SEVERAL | SINGLE)
def test_summary_and_interval_take_every_type(run, name):
    line, measure = (SEVERAL | SINGLE)[name]
    table = rows(run, f"summary {line} -m {measure} --prob 0.9")
    assert all(row["lower"] <= row["mean"] <= row["upper"] for row in table)
    assert all(row["prob"] == 0.9 and row["model"] for row in table)
    assert table == rows(run, f"interval {line} -m {measure} --prob 0.9")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SEVERAL | SINGLE)
def test_probabilities_and_requirements_take_every_type(run, name):
    line, measure = (SEVERAL | SINGLE)[name]
    value = VALUES.get(name, 0.3)
    above = rows(run, f"prob-above {line} -m {measure} --threshold {value}")
    table = rows(run, f"check {line} --require '{measure} > {value}'")
    assert all(0 <= row["p_above"] <= 1 for row in above)
    assert np.allclose(
        sorted(row["p_above"] for row in above),
        sorted(row["probability"] for row in table),
        atol=0.02,
    )


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SEVERAL | RESULTS)
def test_comparisons_and_ranks_take_every_type(run, name):
    line, measure = (SEVERAL | RESULTS)[name]
    differences = rows(run, f"compare {line} -m {measure}")
    assert all(row["lower"] <= row["mean"] <= row["upper"] for row in differences)
    systems = {row["first"] for row in differences} | {row["second"] for row in differences}
    ranks = rows(run, f"ranks {line} -m {measure}")
    assert {row["classifier"] for row in ranks} == systems
    assert sum(row["p_best"] for row in ranks) == pytest.approx(1, abs=0.01)


@pytest.mark.long
@pytest.mark.parametrize("name", ["attempts", "item scores", "item counts", "multilabel"])
def test_a_short_name_gives_the_same(run, name):
    line, measure = SEVERAL[name]
    short = f"{SHORT[name]} {line} -m {measure}"
    assert rows(run, short) == rows(run, f"summary {line} -m {measure}")
    assert rows(run, f"{short} --compare") == rows(run, f"compare {line} -m {measure}")
    assert rows(run, f"{short} --ranks") == rows(run, f"ranks {line} -m {measure}")
    required = f"--require '{measure} > {VALUES.get(name, 0.3)}'"
    assert rows(run, f"{SHORT[name]} {line} {required}") == rows(run, f"check {line} {required}")


@pytest.mark.parametrize("name", SEVERAL | ONE)
def test_reports_take_every_type(run, monkeypatch, name):
    written = {}

    def report(evidence, path, **settings):
        written.update(settings, evidence=evidence)
        return path

    monkeypatch.setattr("bayescm.reporting.report", report)
    line, measure = (SEVERAL | ONE)[name]
    asked = "" if name == "scores" else f"-m {measure}"
    status, _, err = run(f"report {line} {asked} -o r.md")
    assert status == 0, err
    assert written["source"] == Path(line.split()[0])


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "line",
    [
        "p.csv --actual y --positive 1 --predicted one -m recall",
        "p.csv --actual y --positive 1 --score s -m auc",
        "one.csv --item item --score mark --range 1,5 -m mean",
        "a.csv --item q --correct c -m mean",
        "tags.csv --actual tags --predicted one --separator ; -m f1_micro",
    ],
)
def test_a_file_is_the_pilot_of_a_plan(run, line):
    (row,) = rows(run, f"plan {line} --width 0.3 --assurance 0.5")
    assert row["n"] > 1


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("line", "measure"),
    [
        ("p.csv --actual y --positive 1 --predicted one --group g", "recall"),
        ("p.csv --actual y --positive 1 --score s --group k", "auc"),
        ("one.csv --item item --score mark --range 1,5 --by kind", "mean"),
    ],
)
def test_gaps_and_slices_take_types_with_parts(run, line, measure):
    (gap,) = rows(run, f"gap {line} -m {measure}")
    assert gap["lower"] <= gap["point"] <= gap["upper"]
    assert len(rows(run, f"slices {line} -m {measure}")) > 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("summary one.csv --item item", ["--item", "--score", "--correct", "--tp"]),
        ("summary one.csv --system s", ["--system", "--score", "--correct", "--tp"]),
        ("summary p.csv --score s --probability r", ["--score", "--probability", "Leave one"]),
        ("compare p.csv --judge one --raters one,two,three", ["--judge", "--raters"]),
        (
            "summary p.csv --actual y --predicted one --range 0,1",
            ["--range", "--score and --item"],
        ),
        ("summary p.csv --actual y --score s --predicted one", ["--predicted has no effect"]),
        (
            "summary one.csv --item item --score mark --range 1,5 --clip 0.1",
            ["--clip", "no effect"],
        ),
        ("summary one.csv --item item --score mark --range 1,5 --score item", ["--score", "once"]),
        (
            "summary p.csv --actual y --predicted one --correct c",
            ["--actual", "--predicted", "--correct"],
        ),
        ("summary votes.csv --left a --right nobody", ["nobody", "'a'"]),
        ("summary votes.csv --winner winner", ["--left"]),
        ("gap p.csv --actual y --predicted one --group g --by g", ["--group", "--by", "'g'"]),
        ("interval p.csv --tp 65 --fn 15 --fp 35 --tn 30", ["FILE", "--tn"]),
        ("interval p.csv --matrix 3,1;1,4", ["FILE", "--matrix"]),
        ("summary", ["FILE", "--tp", "--matrix"]),
        ("items", ["FILE"]),
        ("curve p.csv --actual y", ["--score"]),
        ("calibration p.csv --actual y", ["--probability"]),
        ("interval --tp 6.5 --fn 1 --fp 1 --tn 1", ["--tp", "6.5", "FILE"]),
        ("interval --tp 65 --fn 1", ["--fp", "--tn"]),
        ("compare one.csv --item item --score mark --range 1,5", ["--system"]),
        ("ranks p.csv --actual y --score s", ["Only one system"]),
        ("gap p.csv --actual y --predicted one", ["--group"]),
        ("gap one.csv --item item --score mark --range 1,5", ["--by"]),
        ("plan one.csv --item item --score mark --range 1,5 --above 0.3", ["--width", "FILE"]),
        ("summary one.csv --item item --score kind --range 1,5", ["kind", "one.csv", "number"]),
        ("summary one.csv --item item --score mark --range 1", ["--range", "0,1"]),
        ("summary p.csv --actual y --predicted one --missing worst", ["--missing", "no effect"]),
        ("summary one.csv --item item --score mark --missing never", ["--missing", "drop pairs"]),
        ("summary results.csv --data-set data", ["level of a single classifier"]),
        ("summary raters.csv --raters ann --positive 1", ["rater"]),
        ("check p.csv --actual y --predicted one --require 'mean > 0.3'", ["--score and --item"]),
        ("summary tags.csv --actual tags --predicted one --separator ''", ["--separator"]),
        ("prob-above marks.csv --item item --score mark --threshold 2", ["--system", "system"]),
    ],
)
def test_wrong_calls_name_options_files_and_columns(run, line, words):
    status, out, err = run(line)
    assert (status, out, err.count("\n")) == (2, "", 1), err
    assert all(word in err for word in words), err
