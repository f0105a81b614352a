"""Counts of items from files, as Python reads them."""

import json

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.cli import main

RNG = np.random.default_rng(6)
CELLS = {"tp": 5, "fp": 1, "fn": 2}


def table(system, items=60):
    counts = {name: RNG.poisson(mean, items) for name, mean in CELLS.items()}
    return pd.DataFrame({"image": [f"i{k}" for k in range(items)], "s": system} | counts)


def run(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main([*map(str, words), "--format", "json"])
    done = capsys.readouterr()
    return left.value.code, done.out, done.err


@pytest.mark.long
def test_systems_are_compared_item_by_item_in_whatever_order(capsys, tmp_path):
    one, two = table("one"), table("two")
    shuffled = pd.concat([one, two.sample(frac=1, random_state=2)])
    shuffled.rename(columns={"tp": "found"}).to_csv(tmp_path / "c.csv", index=False)
    words = ["item-counts", tmp_path / "c.csv", "--item", "image", "--system", "s"]
    words += ["--tp", "found", "-m", "f1"]
    code, out, err = run(capsys, *words, "--compare")
    assert code == 0, err
    (row,) = json.loads(out)
    both = bcm.from_item_counts({"one": one, "two": two})
    expected = bcm.compare(both, "f1").iloc[0]
    assert row["mean"] == pytest.approx(expected["mean"], abs=1e-6)
    assert row["lower"] == pytest.approx(expected["lower"], abs=1e-6)


@pytest.mark.long
def test_clusters_and_one_system(capsys, tmp_path):
    one = table("one").assign(video=np.arange(60) // 2)
    one.to_csv(tmp_path / "c.csv", index=False)
    code, out, err = run(capsys, "item-counts", tmp_path / "c.csv", "--group", "video")
    assert code == 0, err
    evidence = bcm.from_item_counts(one[[*CELLS]], group=one["video"])
    found = pd.DataFrame(json.loads(out)).set_index("measure")
    expected = bcm.summary(evidence).set_index("measure")
    assert set(found.index) == {"precision", "recall", "f1", "f1_samples"}
    np.testing.assert_allclose(found["upper"], expected["upper"], atol=1e-6)


@pytest.mark.parametrize(
    ("change", "more", "words"),
    [
        (lambda t: t, ["--system", "s"], "--system needs --item"),
        (
            lambda t: t.drop(index=3),
            ["--system", "s", "--item", "image"],
            "exactly one row for each item",
        ),
        (lambda t: t.drop(columns="fp"), [], "fp"),
        (lambda t: t.assign(tp=0.5), [], "whole"),
    ],
)
def test_files_that_are_no_item_counts(capsys, tmp_path, change, more, words):
    both = pd.concat([table("one"), table("two")], ignore_index=True)
    change(both).to_csv(tmp_path / "c.csv", index=False)
    code, _, err = run(capsys, "item-counts", tmp_path / "c.csv", *more)
    assert code == 2
    assert words in err
