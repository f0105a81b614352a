"""Tables of results and halves on the command line, and the report on them."""

import json

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.cli import main

RNG = np.random.default_rng(0)
ROWS = [
    (f"set {i}", name, fold, level + RNG.normal(0, 0.02))
    for i in range(6)
    for name, level in {"a": 0.8, "b": 0.85, "c": 0.7}.items()
    for fold in range(5)
]
TABLE = pd.DataFrame(ROWS, columns=["data_set", "classifier", "fold", "accuracy"])
TRUTH = np.arange(120) % 3 == 0
FOLDS = pd.DataFrame(
    {"actual": TRUTH.astype(int), "predicted": TRUTH ^ (RNG.random(120) < 0.2), "fold": 0}
).astype(int)
FOLDS["fold"] = np.arange(120) % 4
HALVES = pd.concat(
    FOLDS.assign(predicted=(TRUTH ^ (RNG.random(120) < 0.25)).astype(int), repeat=each)
    for each in range(3)
).assign(half=lambda table: (np.arange(len(table)) // 3) % 2)


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main([str(each) for each in arguments])
    said = capsys.readouterr()
    return left.value.code, said.out, said.err


@pytest.mark.long
def test_results_are_compared_and_ranked(capsys, tmp_path):
    path = tmp_path / "results.csv"
    TABLE.assign(note="x").to_csv(path, index=False)
    of = ("--data-set", "data_set", "-m", "accuracy", "--format", "json")
    code, out, _ = run(capsys, "compare", path, *of, "--rope", "0.01")
    assert code == 0
    pairs = bcm.compare(bcm.from_results(TABLE), rope=0.01)
    assert [row["p_worse"] for row in json.loads(out)] == pytest.approx(pairs["p_worse"])
    code, out, _ = run(capsys, "ranks", path, *of, "--plot", tmp_path / "tiers.png")
    assert code == 0
    assert [row["tiers"] for row in json.loads(out)] == ["2", "1", "3"]
    assert (tmp_path / "tiers.png").exists()
    code, _, err = run(capsys, "ranks", path, "--data-set", "data")
    assert code == 2
    assert "for the data sets" in err


def test_ranks_of_predictions(capsys, tmp_path):
    path = tmp_path / "answers.csv"
    FOLDS.assign(b=HALVES["predicted"].to_numpy()[:120]).to_csv(path, index=False)
    both = ("--predicted", "predicted", "--predicted", "b", "--positive", "1")
    code, out, _ = run(capsys, "ranks", path, *both, "-m", "f1")
    assert code == 0
    assert "worst_rank" in out
    assert "rank_1" not in out


@pytest.mark.long
def test_halves_beside_folds(capsys, tmp_path):
    folds, halves = tmp_path / "folds.csv", tmp_path / "halves.csv"
    FOLDS.to_csv(folds, index=False)
    HALVES.to_csv(halves, index=False)
    of = ("--fold", "fold", "--positive", "1", "-m", "recall", "--halves", halves)
    code, out, _ = run(capsys, "summary", folds, *of, "--format", "json")
    assert code == 0
    plain = FOLDS["actual"], FOLDS["predicted"]
    counts = bcm.from_predictions(*plain, positive=1, by={"fold": FOLDS["fold"]})
    by = {"repeat": HALVES["repeat"], "half": HALVES["half"]}
    other = bcm.from_predictions(HALVES["actual"], HALVES["predicted"], positive=1, by=by)
    known = bcm.interval(counts, "recall", halves=other).values
    row = json.loads(out)[0]
    assert [row["lower"], row["upper"]] == pytest.approx(known)
    code, _, err = run(capsys, "summary", folds, "--halves", halves)
    assert code == 2
    assert "--halves has no effect here: it belongs with --fold" in err


@pytest.mark.long
def test_a_report_on_results(tmp_path):
    text = bcm.report(bcm.from_results(TABLE), tmp_path / "page.md", progressbar=False).read_text()
    assert "3 classifiers on 6 data sets, 5 runs on each" in text
    assert "b is found to be the best" in text
    assert "hierarchical\\_differences" in text
