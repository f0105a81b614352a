"""Files with a column of 0 and 1 for each label, of the truth and of each system."""

import json

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.cli import main

LABELS = ["cat", "dog", "fox"]
SYSTEMS = "--indicators --actual y_* --predicted y_hat_* --predicted b_*"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    actual = rng.random((60, 3)) < 0.4
    columns = {"y": actual} | {
        name: actual ^ (rng.random((60, 3)) < wrong) for name, wrong in (("y_hat", 0.1), ("b", 0.3))
    }
    table = pd.DataFrame(
        {
            f"{name}_{label}": values[:, place].astype(int)
            for name, values in columns.items()
            for place, label in enumerate(LABELS)
        }
    )
    table.to_csv("labels.csv", index=False)
    table.assign(y_cat=2 * table["y_cat"]).to_csv("two.csv", index=False)
    table.assign(b_hen=0).to_csv("hen.csv", index=False)
    lists = {
        name: [json.dumps([LABELS[k] for k in np.flatnonzero(row)]) for row in values]
        for name, values in columns.items()
    }
    pd.DataFrame(lists).to_csv("lists.csv", index=False)
    return columns


def run(words, capsys):
    with pytest.raises(SystemExit) as left:
        main(words.split())
    done = capsys.readouterr()
    return left.value.code, done.out, done.err


def rows(text):
    return [row["mean"] for row in json.loads(text)]


@pytest.mark.long
def test_indicators_are_the_labels(folder, capsys):
    evidence = bcm.from_multilabel(
        folder["y"], {"y_hat": folder["y_hat"], "b": folder["b"]}, labels=LABELS
    )
    expected = bcm.summary(evidence, ["f1[cat]", "f1_micro"])["mean"].tolist()
    asked = "-m f1[cat] -m f1_micro --format json"
    code, text, _ = run(f"multilabel labels.csv {SYSTEMS} {asked}", capsys)
    assert code == 0
    np.testing.assert_allclose(rows(text), expected, atol=1e-9)
    # Lists as text are the same labels, in commands of all types too.
    lists = "lists.csv --actual y --predicted y_hat --predicted b"
    for line in (f"multilabel {lists} {asked}", f"summary {lists} --separator ; {asked}"):
        code, text, problem = run(line, capsys)
        assert code == 0, problem
        np.testing.assert_allclose(rows(text), expected, atol=1e-9)


@pytest.mark.long
def test_some_labels_are_named(folder, capsys):
    one = bcm.from_multilabel(folder["y"][:, :2], folder["y_hat"][:, :2], labels=LABELS[:2])
    expected = bcm.summary(one, "f1_micro")["mean"].tolist()
    line = "summary labels.csv --indicators --actual y_* --predicted y_hat_*"
    named = "--label cat --label dog -m f1_micro --format json"
    _, text, _ = run(f"{line} {named}", capsys)
    np.testing.assert_allclose(rows(text), expected, atol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("multilabel two.csv --indicators --actual y_* --predicted y_hat_*", "must be 0 or 1"),
        ("multilabel labels.csv --indicators --actual y --predicted b_*", "--actual 'y_*'"),
        ("multilabel labels.csv --indicators --actual y_* --predicted c_*", "no column 'c_"),
        ("multilabel labels.csv --indicators --actual t_* --predicted b_*", "of true labels"),
        (f"multilabel hen.csv {SYSTEMS}", "'b_hen' belongs to a label without"),
        (f"multilabel labels.csv {SYSTEMS} --predicted b_*", "named twice"),
        (f"multilabel labels.csv {SYSTEMS} --separator ;", "--separator"),
        ("multilabel lists.csv --actual y --predicted b --separator ;", "--separator"),
    ],
)
def test_what_is_wrong_is_named(line, words, capsys):
    code, _, problem = run(line, capsys)
    assert code == 2
    assert words in problem


@pytest.mark.long
def test_a_monitor_takes_them(capsys):
    line = "monitor add labels.csv --store e.db --batch a --indicators --actual y_* --predicted b_*"
    code, text, problem = run(f"{line} --label cat --label dog --label fox", capsys)
    assert code == 0, problem
    assert "60 examples with 3 labels" in text
