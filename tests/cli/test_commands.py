"""The command line as its users meet it: tables, formats, files, one clear line on errors."""

import errno
import io
import json
import sys

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.cli import main

CELLS = ["--tp", "65", "--fn", "15", "--fp", "35", "--tn", "30"]


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(each) for each in arguments])
    out = capsys.readouterr()
    return stopped.value.code, out.out, out.err


@pytest.fixture(scope="module")
def predictions(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "p.csv"
    counts = {
        ("sick", "sick"): 65,
        ("sick", "well"): 15,
        ("well", "sick"): 35,
        ("well", "well"): 30,
    }
    rows = [pair for pair, size in counts.items() for _ in range(size)]
    pd.DataFrame(rows, columns=["y", "yhat"]).to_csv(path, index=False)
    return path


def test_interval_prints_the_exact_numbers_in_every_format(capsys):
    exact = bcm.interval(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), "f1", concentration=0.5)
    for style, parse in (
        ("json", json.loads),
        ("csv", lambda text: pd.read_csv(io.StringIO(text))),
    ):
        code, out, _ = run(
            capsys, "interval", *CELLS, "-m", "f1", "--concentration", 0.5, "--format", style
        )
        frame = pd.DataFrame(parse(out))
        assert code == 0
        assert frame["lower"][0] == pytest.approx(float(exact[0]), abs=1e-12)
        assert frame["upper"][0] == pytest.approx(float(exact[1]), abs=1e-12)
    for style in ("table", "markdown"):
        code, out, _ = run(capsys, "interval", *CELLS, "-m", "f1", "--format", style)
        assert code == 0
        assert "0.644" in out
        assert "0.791" in out


def test_infinite_numbers_are_not_the_null_of_undefined_ones(capsys):
    cells = [*("--tp", 0), *("--fn", 0), *("--fp", 2), *("--tn", 8)]
    arguments = ["interval", *cells, "-m", "recall", "-m", "dor", "--format", "json"]
    recall, dor = json.loads(run(capsys, *arguments)[1])
    assert recall["point"] is None
    assert dor["mean"] == "Infinity"
    assert dor["median"] > 0


def test_interval_at_another_prevalence_moves_precision_and_not_recall(capsys):
    rows = {}
    for extra in ([], ["--prevalence", 0.01]):
        _, out, _ = run(capsys, "interval", *CELLS, "--format", "json", *extra)
        rows[bool(extra)] = {row["measure"]: row for row in json.loads(out)}
    assert rows[True]["recall"]["lower"] == pytest.approx(rows[False]["recall"]["lower"])
    assert rows[True]["precision"]["upper"] < 0.1


@pytest.mark.long
def test_predictive_values_of_several_places_are_one_table_and_one_picture(capsys, tmp_path):
    shares, picture = (0.01, 0.05, 0.2), tmp_path / "places.png"
    options = [word for share in shares for word in ("--prevalence", share)]
    line = ["interval", *CELLS, "-m", "ppv", *options, "--format", "json", "--plot", picture]
    rows = json.loads(run(capsys, *line)[1])
    assert [row["prevalence"] for row in rows] == list(shares)
    counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    for row in rows:
        there = bcm.at_prevalence(counts, row["prevalence"])
        known = bcm.interval(there, "ppv").values
        assert [row["lower"], row["upper"]] == pytest.approx(known.tolist(), rel=1e-6)
    assert picture.stat().st_size > 5000


def test_predictive_interval_is_wider(capsys):
    arguments = ["interval", *CELLS, "-m", "f1", "--format", "json"]
    parameter = json.loads(run(capsys, *arguments)[1])[0]
    predictive = json.loads(run(capsys, *arguments, "--of", "predictive", "--n", 50)[1])[0]
    assert predictive["lower"] < parameter["lower"] < parameter["upper"] < predictive["upper"]


def test_summary_reads_predictions_and_says_the_positive_class(capsys, predictions):
    arguments = ["summary", predictions, "--actual", "y", "--predicted", "yhat"]
    code, out, _ = run(capsys, *arguments, "--positive", "sick", "-m", "recall")
    assert code == 0
    assert "positive sick" in out
    assert "0.8125" in out
    code, out, _ = run(capsys, *arguments, "-m", "accuracy", "--format", "csv")
    assert code == 0
    assert pd.read_csv(io.StringIO(out))["point"][0] == pytest.approx(95 / 145)


@pytest.mark.slow
def test_summary_writes_a_picture(capsys, predictions, tmp_path):
    picture = tmp_path / "out.png"
    arguments = ["--actual", "y", "--predicted", "yhat", "--positive", "sick", "-m", "f1"]
    code, _, _ = run(capsys, "summary", predictions, *arguments, "--plot", picture)
    assert code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert [each.name for each in tmp_path.iterdir()] == ["out.png"]


def test_compare_says_which_is_better(capsys, tmp_path):
    path = tmp_path / "p.csv"
    rows = [("s", "s", "s")] * 40 + [("s", "s", "w")] * 15 + [("w", "w", "w")] * 40
    pd.DataFrame(rows, columns=["y", "a", "b"]).to_csv(path, index=False)
    arguments = ["compare", path, "--actual", "y", "--predicted", "a", "--positive", "s"]
    code, out, _ = run(capsys, *arguments, "--predicted", "b", "-m", "recall", "--rope", 0.01)
    assert code == 0
    assert "a is better than b in recall" in out
    code, out, _ = run(capsys, *arguments, "--predicted", "b", "-m", "f1", "--format", "json")
    assert json.loads(out)[0]["p_better"] > 0.999
    code, _, err = run(capsys, *arguments, "-m", "f1")
    assert code == 2
    assert "Only one classifier" in err


@pytest.mark.long
def test_compare_says_of_which_class_and_group(capsys, tmp_path):
    path, picture = tmp_path / "p.csv", tmp_path / "out.png"
    rows = [("x", "x", "x", 1), ("x", "x", "z", 2), ("z", "z", "z", 1), ("w", "w", "x", 2)] * 9
    pd.DataFrame(rows, columns=["y", "a", "b", "site"]).to_csv(path, index=False)
    arguments = ["compare", path, "--actual", "y", "--predicted", "a", "--predicted", "b"]
    arguments += ["-m", "recall", "--rope", "-0.01,0.02", "--group", "site"]
    code, out, _ = run(capsys, *arguments, "--format", "markdown", "--plot", picture)
    assert code == 0
    assert "| recall[x] | a" in out
    assert "For group 2, a is better than b in recall of w by more than 0.02" in out
    assert picture.stat().st_size > 1000
    code, out, _ = run(capsys, *arguments, "--pool", "--format", "csv")
    assert len(pd.read_csv(io.StringIO(out))) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--predicted", "y", "--rope", "0.02,-0.02"], "rope must be"),
        (["--rope", "wide"], "rope must be one or two numbers"),
        (["--pool"], "--pool needs --group"),
        (["--predicted", "yhat"], "named twice"),
    ],
)
def test_compare_names_what_is_wrong(capsys, predictions, arguments, said):
    given = ["compare", predictions, "--actual", "y", "--predicted", "yhat", *arguments]
    code, out, err = run(capsys, *given)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_plan_prints_a_size(capsys):
    arguments = ["--measure", "recall", "--expect", 0.85, "--width", 0.1, "--assurance", 0.9]
    code, out, _ = run(capsys, "plan", *arguments, "--format", "json")
    assert code == 0
    assert json.loads(out)[0]["n"] == 226
    code, out, _ = run(
        capsys, "plan", "-m", "recall", "--above", 0.8, "--expect", 0.9, "--format", "json"
    )
    assert json.loads(out)[0]["n"] == 115


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["interval", "--tp", "-5", "--fn", "1", "--fp", "1", "--tn", "1"], "tp is negative"),
        (["interval", *CELLS, "-m", "recal"], "Did you mean 'recall'"),
        (["interval", *CELLS, "--prob", "1.5"], "prob must be a number between"),
        (["interval", *CELLS, "--kind", "hpd"], "hpd"),
        (["interval", "--tp", "x"], "--tp"),
        (["interval", "--tp", "1"], "Missing option"),
        (["plan", "-m", "recall"], "exactly one of --width"),
        (["plan", "-m", "recall", "--above", "0.8"], "--above needs --expect"),
        (
            ["plan", "-m", "recall", "--width", "0.1", "--pilot", "1,2"],
            "--pilot must be four counts",
        ),
        (["report"], "Nothing to report on"),
        (["nonsense"], "No such command"),
    ],
)
def test_errors_are_one_line_and_status_two(capsys, arguments, said):
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("bayescm: ")
    assert err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"--actual": "truth"}, "'y' or 'yhat'"),
        ({"--positive": "ill"}, "is not among the labels"),
        ({"-m": "f1"}, "needs a positive class"),
        ({"--plot": "picture.bmp"}, "A plot cannot be saved as"),
        ({"--plot": "nowhere/picture.png"}, "does not exist"),
    ],
)
def test_bad_files_and_columns_leave_nothing_behind(
    capsys, predictions, tmp_path, monkeypatch, change, said
):
    monkeypatch.chdir(tmp_path)
    options = {"--actual": "y", "--predicted": "yhat"} | change
    flat = [text for option in options.items() for text in option]
    code, _, err = run(capsys, "summary", predictions, *flat)
    assert code == 2
    assert said in err
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "sites.csv"
    rows = [("1", "1", "1"), ("2", "1", "2"), ("x", "x", "x"), ("2", "2", "2"), ("1", "1", "x")] * 9
    frame = pd.DataFrame(rows, columns=["actual", "a", "b"])
    frame.assign(site=[i % 3 for i in range(len(frame))]).to_csv(path, index=False)
    return path


@pytest.mark.long
def test_every_command_takes_the_same_options_and_says_what_it_read(capsys, sites):
    group = ["--predicted", "a", "--group", "site", "-m", "accuracy", "--of", "finite"]
    code, out, err = run(capsys, "summary", sites, *group)
    assert (code, err) == (0, "")
    assert "45 examples, 3 classes: '1', '2', 'x'; 0.95 hdi" in out
    code, out, _ = run(capsys, "summary", sites, *group, "--format", "json")
    told = {"prob": 0.95, "kind": "hdi", "of": "finite", "positive": None, "n": 45}
    assert told.items() <= json.loads(out)[0].items()
    assert json.loads(out)[0]["model"] == "hierarchical_groups"
    asked = ["-m", "accuracy", "--delta", 0.2, "--format", "json"]
    _, out, _ = run(capsys, "gap", sites, "--predicted", "a", "--by", "site", *asked)
    row = json.loads(out)[0]
    assert row["lower"] < row["point"] < row["upper"]
    assert 0 < row["p_below"] <= 1
    asked = ["--group", "site", "-m", "accuracy", "--reference", 1, "--format", "json"]
    _, out, _ = run(capsys, "compare", sites, "--predicted", "a", *asked)
    assert [(row["first"], row["second"]) for row in json.loads(out)] == [(0, 1), (2, 1)]
    cells = ["--by", "site", "--by", "b", "-m", "accuracy"]
    code, out, _ = run(capsys, "gap", sites, "--predicted", "a", *cells, "--format", "json")
    assert code == 0
    assert 0 <= json.loads(out)[0]["lower"] < json.loads(out)[0]["upper"] <= 1
    asked = ["--group", "site", "-m", "accuracy", "--threshold", 0.6, "-k", 2, "--format", "json"]
    _, out, _ = run(capsys, "slices", sites, "--predicted", "a", *asked)
    rows = json.loads(out)
    assert len(rows) == 2
    assert {"site", "p_bad", "flagged"} <= set(rows[0])
    assert rows[0]["p_bad"] >= rows[1]["p_bad"]
    both = ["--predicted", "a", "--predicted", "b", "-m", "accuracy", "--format", "json"]
    _, out, _ = run(capsys, "compare", sites, *both, "--of", "predictive", "--n", 50)
    assert (json.loads(out)[0]["of"], json.loads(out)[0]["next"]) == ("predictive", 50)
    code, _, err = run(capsys, "summary", sites, "--predicted", "a", "--numeric-labels")
    assert (code, "whole number" in err) == (2, True)


def test_a_matrix_of_two_classes_says_which_cell_is_which(capsys):
    _, out, _ = run(capsys, "interval", "--matrix", "65,15;35,30", "-m", "f1")
    assert "positive 1; 0.95 hdi (TP 30, FN 35, FP 15, TN 65)" in out


def test_a_matrix_of_several_classes(capsys):
    matrix = ["--matrix", "50,2,1;3,40,7;0,5,45", "--label", "a", "--label", "b", "--label", "c"]
    _, out, _ = run(capsys, "interval", *matrix, "-m", "f1", "--format", "json")
    rows = json.loads(out)
    assert [row["class"] for row in rows] == ["a", "b", "c"]
    code, _, err = run(capsys, "interval", "--matrix", "1,2;3")
    assert (code, err.count("\n")) == (2, 1)


def test_the_probability_above_a_value(capsys, sites):
    options = ["-m", "f1", "--threshold", 0.7, "--threshold", 0.8, "--format", "json"]
    rows = json.loads(run(capsys, "prob-above", *CELLS, *options)[1])
    exact = bcm.prob_above(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), "f1", 0.7)
    assert rows[0]["p_above"] == pytest.approx(float(exact))
    assert rows[1]["p_above"] < rows[0]["p_above"]
    options = ["--predicted", "a", "-m", "recall", "--threshold", 0.5, "--format", "csv"]
    frame = pd.read_csv(io.StringIO(run(capsys, "prob-above", sites, *options)[1]))
    assert frame["measure"].tolist() == ["recall[1]", "recall[2]", "recall[x]"]


def test_elicited_counts_are_a_prior(capsys):
    named = ["-m", "precision=0.6", "-m", "recall=0.65", "-m", "accuracy=0.6", "--weight", 72.5]
    code, out, _ = run(capsys, "elicit", *named)
    prior = out.split("--concentration ")[1].strip()
    assert (code, prior) == (0, "24.0638,12.9574,16.0426,19.4362")
    arguments = ["interval", *CELLS, "-m", "f1", "--concentration", prior, "--format", "json"]
    (row,) = json.loads(run(capsys, *arguments)[1])
    given = bcm.priors.elicit(precision=0.6, recall=0.65, accuracy=0.6, weight=72.5)
    counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    exact = bcm.interval(counts, "f1", concentration=given.values)
    assert row["lower"] == pytest.approx(float(exact[0]), abs=1e-5)


def test_version_and_completion(capsys):
    assert run(capsys, "--version")[:2] == (0, f"bayescm {bcm.__version__}\n")
    assert "--install-completion" in run(capsys, "--help")[1]


def test_labels_steer_neither_the_terminal_nor_a_spreadsheet(capsys, tmp_path):
    path = tmp_path / "p.csv"
    rows = [("=1+2", "=1+2"), ("a\x1b[31m", "a\x1b[31m"), ("b", "=1+2"), ("b", "b")] * 5
    pd.DataFrame(rows, columns=["actual", "predicted"]).to_csv(path, index=False)
    _, out, _ = run(capsys, "summary", path, "-m", "recall")
    assert "\x1b[31m" not in out
    assert "\\x1b[31m" in out
    _, out, _ = run(capsys, "summary", path, "-m", "recall", "--format", "csv", "--safe-csv")
    assert pd.read_csv(io.StringIO(out))["class"].tolist()[0] == "'=1+2"


def test_a_missing_file_is_named(capsys):
    code, _, err = run(capsys, "summary", "none.csv", "--actual", "y", "--predicted", "yhat")
    assert code == 2
    assert "none.csv" in err


@pytest.mark.long
def test_the_demo_of_the_readme(capsys, tmp_path):
    sampler = ["--sampler", "max_treedepth=6", "--sampler", "nuts_sampler=nutpie"]
    code, out, _ = run(capsys, "demo", "--out", tmp_path / "demo", *sampler)
    assert code == 0
    assert "1. The evidence: 228 test examples" in out
    assert "[bold]" not in out
    assert "[/]" not in out
    written = {path.name for path in (tmp_path / "demo").iterdir()}
    assert {"measures.csv", "comparison.csv", "fit.nc", "measures.png", "posterior.png"} <= written
    table = pd.read_csv(tmp_path / "demo" / "measures.csv")
    assert table["mean"].between(table["lower"], table["upper"]).all()


@pytest.mark.parametrize(
    ("option", "words"),
    [("target_acept=0.9", "Did you mean 'target_accept'"), ("cores=0", "cores must be a whole")],
)
def test_the_demo_checks_options_of_the_sampler_first(capsys, tmp_path, option, words):
    code, _, err = run(capsys, "demo", "--out", tmp_path / "demo", "--sampler", option)
    assert code == 2
    assert words in err
    assert not (tmp_path / "demo").exists()


def test_summary_takes_abstentions_and_weights(capsys, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("y,p,w\n1,1,0.5\n1,no,2\n0,0,1\n0,1,1.5\n1,1,1\n0,no,1\n")
    given = ["summary", path, "--actual", "y", "--predicted", "p", "--abstain", "no"]
    given += ["--positive", 1, "--format", "json"]
    points = {each["measure"]: each["point"] for each in json.loads(run(capsys, *given)[1])}
    assert points["coverage"] == pytest.approx(4 / 6)
    assert points["accuracy"] == pytest.approx(3 / 4)
    code, _, err = run(capsys, *given, "--weights", "w")
    assert code == 2
    assert "--weights-are" in err
    weighted = json.loads(run(capsys, *given, "--weights", "w", "--weights-are", "importance")[1])
    points = {each["measure"]: each["point"] for each in weighted}
    assert points["coverage"] == pytest.approx(4 / 7)
    assert points["accuracy"] == pytest.approx(2.5 / 4)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The judge does not help")  # a score of nothing
def test_summary_with_a_judge_and_a_few_labels(capsys, tmp_path):
    path = tmp_path / "items.csv"
    rows = [
        f"{'yes' if i % 3 else 'no'},{'yes' if i % 3 else 'no'},{i * 3.3 / 7}" for i in range(12)
    ]
    rows += [f",{'yes' if i % 2 else 'no'},{i / 7}" for i in range(40)]
    path.write_text("human,llm,score\n" + "\n".join(rows) + "\n")
    given = ["summary", path, "--actual", "human", "--positive", "yes", "-m", "prevalence"]
    for judges in (["llm"], ["score"], ["llm", "score"]):
        options = [part for judge in judges for part in ("--judge", judge)]
        (row,) = json.loads(run(capsys, *given, *options, "--format", "json")[1])
        assert 0 < row["lower"] < row["upper"] < 1
    code, _, err = run(capsys, *given, "--judge", "llm", "--weights", "score")
    assert code == 2
    assert "--weights" in err
    pair = ["--actual", "human", "--positive", "yes", "--predicted", "llm", "--predicted", "old"]
    frame = pd.read_csv(path).assign(old=["yes", "no"] * 26)
    frame.to_csv(path, index=False)
    table = run(capsys, "compare", path, *pair, "--judge", "score", "--format", "json")[1]
    assert {row["first"] for row in json.loads(table)} == {"llm"}
    assert all(row["paired"] for row in json.loads(table))


@pytest.mark.long
def test_answers_are_read_with_the_right_ones(capsys, tmp_path):
    rng = np.random.default_rng(0)
    right = [(s, i, 100 + i) for s in "ab" for i in range(12) for _ in range(4)]
    rows = [(s, i, t if rng.random() < i / 12 else rng.integers(3), t) for s, i, t in right]
    path = tmp_path / "answers.csv"
    frame = pd.DataFrame(rows, columns=["model", "item", "said", "gold"])
    frame.to_csv(path, index=False)
    columns = ["--answer", "said", "--truth", "gold", "--system", "model", "--format", "json"]
    code, out, err = run(capsys, "attempts", path, *columns, "-m", "majority_at(3)")
    assert (code, err) == (0, "")
    assert all(row["how"].endswith("plurality of the answers") for row in json.loads(out))
    parts = {
        name: bcm.from_attempts(part["said"], item=part["item"], truth=part["gold"])
        for name, part in frame.groupby("model")
    }
    alone = bcm.interval(parts["a"], "mean", of="finite")
    code, out, _ = run(capsys, "attempts", path, *columns, "-m", "mean", "--of", "finite")
    assert json.loads(out)[0]["lower"] == pytest.approx(float(alone[0]), abs=0.03)
    for wrong, said in (
        (["--answer", "said"], "--answer and --truth belong together"),
        ([*columns, "--correct", "said"], "--correct and --answer both define"),
    ):
        code, _, err = run(capsys, "attempts", path, *wrong)
        assert code == 2
        assert said in err
    frame.loc[60, "gold"] = 999  # of the other system
    frame.to_csv(path, index=False)
    code, _, err = run(capsys, "attempts", path, *columns)
    assert code == 2
    assert "has several correct answers: '103' and '999'" in err


@pytest.mark.long
def test_few_items_are_cautioned_of_in_the_terminal_and_in_the_report(capsys, tmp_path):
    table = pd.DataFrame({"item": np.repeat(["p", "q", "r"], 4), "correct": [0, 1, 1] * 4})
    path = tmp_path / "answers.csv"
    table.to_csv(path, index=False)
    for of, words in (("population", "the population of items"), ("new", "a new item")):
        code, _, err = run(capsys, "attempts", path, "-m", "mean", "--of", of)
        assert code == 0
        assert f"caution: With only 3 items, the estimate for {words}" in err
    code, _, err = run(capsys, "attempts", path, "-m", "mean", "--of", "finite")
    assert (code, err) == (0, "")
    evidence = bcm.from_attempts(table["correct"], item=table["item"])
    report = bcm.report(evidence, tmp_path / "report.md", progressbar=False).read_text()
    assert "With only 3 items" in report.split("Cautions")[-1]


@pytest.mark.long
def test_attempts_are_read_with_their_systems_and_reported(capsys, tmp_path):
    rng = np.random.default_rng(0)
    rows = [(s, i, int(rng.random() < i / 12)) for s in "ab" for i in range(12) for _ in range(4)]
    path = tmp_path / "answers.csv"
    frame = pd.DataFrame(rows, columns=["model", "problem", "right"])
    frame.to_csv(path, index=False)
    columns = ["--item", "problem", "--correct", "right", "--system", "model", "--format", "json"]
    code, out, err = run(capsys, "attempts", path, *columns, "-m", "pass_at(2)", "--of", "finite")
    assert (code, err) == (0, "")
    assert [row["classifier"] for row in json.loads(out)] == ["a", "b"]
    code, out, _ = run(capsys, "attempts", path, *columns, "--compare")
    assert {row["measure"] for row in json.loads(out)} == {"mean", "pass_at(4)", "pass_all(4)"}
    alone = path.with_name("alone.csv")
    texts = frame[frame["model"] == "a"].assign(text=lambda rows: rows["problem"] // 2)
    texts.to_csv(alone, index=False)
    named = ["--item", "problem", "--correct", "right", "--group", "text", "-m", "mean"]
    code, out, _ = run(capsys, "attempts", alone, *named, "--plan", "--format", "json")
    assert code == 0
    assert [row["items"] for row in json.loads(out)][:3] == [12, 24, 48]
    code, _, err = run(capsys, "attempts", path, *columns, "-m", "pass_at(9)")
    assert code == 2
    assert "collect at least 9 attempts per item" in err
    parts = {name: part["right"].to_numpy().reshape(12, 4) for name, part in frame.groupby("model")}
    assert run(capsys, "attempts", path, *columns[:-2], "--report", tmp_path / "a.md")[0] == 0
    report = bcm.report(bcm.from_attempts(parts), tmp_path / "report.md", progressbar=False)
    assert "12 items with 4 answers each" in report.read_text()
    assert "Which is better" in report.read_text()


@pytest.mark.filterwarnings("ignore:old and new differ in 3 of 4")
def test_several_labels_are_read_from_fields_and_compared(capsys, tmp_path):
    path = tmp_path / "tags.csv"
    rows = ["id,truth,old,new", "1,cat; dog,cat,cat;dog", "2,,dog,", "3,dog,dog,dog", "4,cat,,cat"]
    path.write_text("\n".join(rows) + "\n")
    columns = ["--actual", "truth", "--predicted", "old", "--predicted", "new"]
    measures = ["-m", "hamming_loss", "-m", "recall"]
    code, out, _ = run(capsys, "multilabel", path, *columns, *measures, "--format", "json")
    assert code == 0
    rows = json.loads(out)
    points = {(row["measure"], row["classifier"], row.get("class")): row["point"] for row in rows}
    assert points["hamming_loss", "old", None] == pytest.approx(3 / 8)
    assert points["recall", "old", "dog"] == pytest.approx(1 / 2)
    code, out, _ = run(capsys, "multilabel", path, *columns, "--compare", "--format", "json")
    assert code == 0
    assert {row["second"] for row in json.loads(out)} == {"new"}
    code, _, err = run(capsys, "multilabel", path, *columns, "--separator", "|")
    assert code == 2
    assert "No field contains several labels" in err
    path.write_text("actual,predicted\ncat;;dog,cat\n")
    code, _, err = run(capsys, "multilabel", path)
    assert code == 2
    assert "an empty or repeated label" in err


@pytest.mark.long
def test_a_plan_of_two_measures_is_of_both_at_once(capsys):
    both = ["-m", "sensitivity", "-m", "specificity", "--above", ".8", "--above", ".7"]
    line = [*both, "--expect", ".9", "--expect", ".85", "--prevalence", ".2", "--format", "json"]
    _, out, _ = run(capsys, "plan", *line)
    (row,) = json.loads(out)
    assert (row["measure"], row["n"]) == ("sensitivity and specificity", 542)
    _, out, _ = run(capsys, "plan", *line[:-2])
    assert "115 positives and 67 negatives would do. A test set of 542 examples has fewer" in out
    code, _, err = run(capsys, "plan", *both[:4], "--width", ".1", "--expect", ".9")
    assert (code, "cannot be planned together" in err) == (2, True)
    line = ["-m", "sensitivity", "--expect", ".85", "--width", ".1", "--prevalence", ".2"]
    _, out, _ = run(capsys, "plan", *line)
    assert "226 positives would do. A test set of 1,147 examples has fewer with probability" in out


@pytest.fixture
def marks(tmp_path):
    """Return the columns of a file of item scores of two systems, the better one first."""
    rng, path = np.random.default_rng(8), tmp_path / "marks.csv"
    old = rng.beta(2, 1, 30)
    scores = {"new": np.clip(old + 0.05, 0, 1), "base": old}
    parts = [pd.DataFrame({"q": np.arange(30), "s": k, "m": v}) for k, v in scores.items()]
    pd.concat(parts).to_csv(path, index=False)
    return [path, "--item", "q", "--system", "s", "--score", "m", "--range", "0,1"]


def test_item_scores_in_the_terminal_are_those_of_python(capsys, marks):
    frame = pd.read_csv(marks[0])
    evidence = bcm.from_item_scores(frame, item="q", system="s", score="m", range=(0, 1))
    _, out, _ = run(capsys, "items", *marks, "--format", "json")
    expected = bcm.summary(evidence)
    rows = pd.DataFrame(json.loads(out))
    assert rows["classifier"].tolist() == expected["classifier"].tolist() == ["new", "base"] * 2
    np.testing.assert_allclose(rows["lower"], expected["lower"])
    _, out, _ = run(capsys, "items", *marks, "-m", "mean")
    assert f"{expected['point'][0]:.4g}" in out  # which has no error
    _, out, _ = run(capsys, "items", *marks, "--compare", "--rope", ".01")
    assert out.strip().endswith(bcm.compare(evidence, rope=0.01)["sentence"].item())
    _, out, _ = run(capsys, "items", *marks, "--ranks", "--format", "json")
    assert [row["p_best"] > 0.9 for row in json.loads(out)] == [True, False]


def test_requirements_on_items_are_on_every_system(capsys, marks):
    better = "mean - mean[classifier=base] > 0"
    code, out, _ = run(
        capsys, "items", *marks, "--require", "mean > .5", "--require", better, "--format", "json"
    )
    assert code == 0
    assert [row["classifier"] for row in json.loads(out)] == ["new", "base", "new"]
    assert run(capsys, "items", *marks, "--require", "mean > .99")[0] == 1
    code, _, err = run(capsys, "items", *marks, "--compare", "--ranks")
    assert (code, "cannot be combined" in err) == (2, True)
    code, _, err = run(capsys, "items", *marks[:3], "--score", "m", "--ranks")
    assert (code, "several scores" in err) == (2, True)


def test_requirements_of_items_in_a_file_say_what_would_decide_and_are_written(
    capsys, marks, tmp_path
):
    gate, junit = tmp_path / "gate.toml", tmp_path / "out.xml"
    gate.write_text('[bayescm]\nsystem = "s"\nlevel = 0.9\nrequire = ["mean > 0.66"]\n')
    columns = [marks[0], "--item", "q", "--score", "m", "--range", "0,1"]
    code, out, _ = run(
        capsys, "items", *columns, "--requirements", gate, "--junit", junit, "--format", "json"
    )
    rows = json.loads(out)
    assert [row["level"] for row in rows] == [0.9, 0.9]
    assert [row["outcome"] == "not yet known" for row in rows] == [code == 3] * 2
    assert all("items" in row["needed"] for row in rows)
    assert junit.read_text().count("would decide it") == 2
    gate.write_text('require = ["mean > 0.66"]\nscores = "m"\n')
    code, _, err = run(capsys, "items", *marks, "--requirements", gate)
    assert (code, "gate.toml has an unknown key 'scores'" in err) == (2, True)
    gate.write_text("level = 0.9\n")
    code, _, err = run(capsys, "items", *marks, "--requirements", gate)
    assert (code, "requirement" in err) == (2, True)


@pytest.mark.parametrize(
    ("requirement", "columns"),
    [
        ("mean > .7", "ame the columns with --correct, or --score and --item"),
        ("share_at_least(4) > .7", "ame the columns with --score and --item"),
        ("pass@4 > .7", "ame the columns with --correct"),
        ("f1_samples - f1_samples[classifier=old] > 0", "--separator, or --tp and --fp and --fn"),
    ],
)
def test_check_names_the_columns_of_measures_of_items(capsys, marks, requirement, columns):
    code, _, err = run(capsys, "check", marks[0], "--require", requirement)
    assert (code, columns in err) == (2, True), err


@pytest.mark.long
def test_plans_of_three_systems_are_of_every_pair(capsys, tmp_path):
    rng, path = np.random.default_rng(1), tmp_path / "three.csv"
    place, system = np.tile(np.arange(24), 3), np.repeat(list("abc"), 24)
    answers = {"item": place, "system": system, "score": rng.random(72).round(2)}
    answers["correct"] = (rng.random(72) < 0.5).astype(int)
    pd.concat([pd.DataFrame(answers)] * 2).drop_duplicates().to_csv(path, index=False)
    asked = ["--system", "system", "--width", ".3", "--format", "json"]
    _, out, _ = run(capsys, "items", path, *asked)
    assert [row["first"] + row["second"] for row in json.loads(out)] == ["ab", "ac", "bc"]
    _, out, _ = run(capsys, "items", path, *asked, "--assurance", "0.5", "--reference", "c")
    assert [row["first"] + row["second"] for row in json.loads(out)] == ["ac", "bc"]
    code, _, err = run(capsys, "items", path, *asked, "--reference", "d")
    assert (code, "is not one of the systems" in err) == (2, True)
    twice = pd.DataFrame({k: np.tile(v, 2) for k, v in answers.items()})
    twice.to_csv(path, index=False)
    _, out, _ = run(
        capsys, "attempts", path, "--system", "system", "-m", "mean", "--plan", "--format", "json"
    )
    assert {row["classifier"] for row in json.loads(out)} == {"a", "b", "c"}


@pytest.mark.long
def test_items_are_planned_drawn_and_reported(capsys, marks, tmp_path):
    _, out, _ = run(capsys, "items", *marks, "--width", ".05", "--format", "json")
    assert json.loads(out)[0]["unit"] == "items"
    for more in ([], ["--compare"], ["--ranks"]):
        picture = tmp_path / "p.png"
        assert run(capsys, "items", *marks, "-m", "mean", *more, "--plot", picture)[0] == 0
        assert picture.stat().st_size
    code, out, _ = run(capsys, "items", *marks, "--report", tmp_path / "r.md")
    assert code == 0
    assert "30 items" in (tmp_path / "r.md").read_text()


def test_an_unforeseen_error_is_not_the_status_of_a_requirement_that_failed(capsys, monkeypatch):
    def broken(*_, **__):
        raise KeyError("theta")

    monkeypatch.setattr("bayescm.answers.summary.summary", broken)
    code, _, err = run(capsys, "interval", *CELLS, "-m", "f1")
    assert code == 70
    assert "KeyError" in err.splitlines()[-1]
    assert "Traceback" in err


def test_a_reader_that_leaves_is_not_the_status_of_a_requirement_that_failed(capsys, monkeypatch):
    def closed(*_, **__):
        raise BrokenPipeError(errno.EPIPE, "the reader has left")

    monkeypatch.setattr("bayescm.cli.output.say_table", closed)
    with monkeypatch.context() as streams:  # Typer puts others in the place of these
        streams.setattr("sys.stdout", sys.stdout)
        streams.setattr("sys.stderr", sys.stderr)
        code, _, _ = run(capsys, "interval", *CELLS, "-m", "f1")
    assert code == 141


def test_tables_break_texts_at_the_width_of_a_line_and_never_numbers(capsys, monkeypatch):
    arguments = ["interval", *CELLS, "-m", "mcc", "-m", "f1"]
    monkeypatch.delenv("COLUMNS", raising=False)
    _, unbounded, _ = run(capsys, *arguments)
    widths = [len(line) for line in unbounded.splitlines()]
    for columns, fits in ((max(widths) - 1, True), (40, False)):
        monkeypatch.setenv("COLUMNS", str(columns))
        _, out, _ = run(capsys, *arguments)
        assert (max(map(len, out.splitlines())) <= columns) is fits
        assert {word for word in out.split() if "─" not in word} == {
            word for word in unbounded.split() if "─" not in word
        }


def test_items_say_of_how_many_clusters_slices_and_systems_they_are(tmp_path, capsys):
    rows = [(i, s, i // 2, i % 2, i / 12) for i in range(12) for s in "uv"]
    path = tmp_path / "q.csv"
    pd.DataFrame(rows, columns=["item", "s", "text", "half", "score"]).to_csv(path, index=False)
    _, out, _ = run(capsys, "items", path, "--system", "s", "--group", "text", "--by", "half")
    assert out.startswith("12 items in 6 clusters, slices: 2 of half, 2 systems; 0.95 hdi\n")
    _, out, _ = run(capsys, "items", path, "--system", "s", "--require", "mean > .1")
    assert out.startswith("12 items, 2 systems\n")


@pytest.mark.parametrize(
    ("command", "tables"), [("items", False), ("curve", False), ("check", True)]
)
def test_the_help_speaks_of_confusion_tables_where_they_are_taken(capsys, command, tables):
    _, out, _ = run(capsys, command, "--help")
    assert ("confusion" in out) is tables


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "summary {} --actual y --predicted yhat --ci 0.9",
            "No such option: --ci. The probability of an interval is --prob 0.95.",
        ),
        (
            "summary {} --actual y --predicted yhat --average macro",
            "is part of the measure's name: 'f1_macro'",
        ),
        ("summary {} --actual y --predicted yhat --metric f1", "The measures are -m f1 -m recall."),
        (
            "summary {} --actual y --predicted yhat -m auc",
            "needs the scores of the examples: --score.",
        ),
        ("summary {} --actual y --predicted yhat -m f1,mcc", "one by one"),
        ("compare {} --actual y --predicted yhat", "Repeat --predicted for each"),
        ("ranks {} --actual y --predicted yhat", "Repeat --predicted for each"),
        ("items {} --score y", "Name the column with --item."),
        (
            "check {} --actual y --predicted yhat --positive sick --require recall>80",
            "recall > 80%",
        ),
        (
            "check {} --actual y --predicted yhat --require accuracy>.8 --junit no/x.xml",
            "folder 'no' does not exist",
        ),
        ("plan -m recall --width .1", "--pilot 65,15,35,30"),
    ],
)
def test_wrong_calls_end_in_advice_in_options(capsys, predictions, line, message):
    code, out, err = run(capsys, *line.format(predictions).split())
    assert (code, out) == (2, "")
    assert message in err


def test_a_confusion_table_has_no_groups(capsys, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("actual,a,b\na,5,2\nb,1,9\n")
    code, _, err = run(capsys, "gap", path, "--group", "a")
    assert code == 2
    assert "Pass the file of predictions" in err
