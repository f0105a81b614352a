"""Commands about labels that may be wrong, and about raters without a truth."""

import json

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


@pytest.mark.long
@pytest.mark.parametrize(
    ("given", "error"),
    [
        (["0.05"], 0.05),
        (["positive=2,38", "negative=0.01"], {"positive": (2, 38), "negative": 0.01}),
    ],
)
def test_rates_of_wrong_labels_are_those_of_the_library(capsys, given, error):
    options = [part for each in given for part in ("--label-error", each)]
    status, out, _ = run(capsys, "interval", *CELLS, "-m", "f1", "--format", "json", *options)
    (row,) = json.loads(out)
    exact = bcm.interval(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), "f1", label_error=error)
    assert status == 0
    assert (row["lower"], row["upper"]) == pytest.approx(tuple(exact.values))
    assert row["model"] == "mislabelled"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["0.7"], "rate of wrong labels"),
        (["x"], "cannot be read as a rate"),
        (["sick=0.1"], "unknown class"),
        (["0.1", "0.2"], "is given several rates, but no classes"),
    ],
)
def test_what_is_no_rate_is_one_line(capsys, given, said):
    options = [part for each in given for part in ("--label-error", each)]
    status, out, err = run(capsys, "interval", *CELLS, "-m", "f1", *options)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_error_rates_are_carried_over(capsys, tmp_path):
    human = ["good", "bad", "good", "bad"] * 10 + [None] * 60
    judge = ["good", "bad", "good", "good"] * 10 + ["bad", "bad", "good"] * 20
    file = tmp_path / "items.csv"
    pd.DataFrame({"human": human, "llm": judge}).to_csv(file, index=False)
    options = ["--actual", "human", "--judge", "llm", "--positive", "good", "-m", "prevalence"]
    status, out, _ = run(
        capsys, "summary", file, *options, "--transfer", "errors", "--format", "json"
    )
    assert status == 0
    (row,) = json.loads(out)
    evidence = bcm.from_partly_labelled(human, judge=judge, positive="good", transfer="errors")
    assert row["mean"] == pytest.approx(bcm.summary(evidence, "prevalence")["mean"].item())


@pytest.mark.long
def test_raters_are_summarized(capsys, tmp_path):
    columns = {
        "ann": ["good", "bad", "good", "good", "bad", "bad"] * 12,
        "bob": ["good", "bad", "good", "bad", "bad", "bad"] * 12,
        "llm": ["good", "bad", "good", "good", "bad", None] * 12,
        "yhat": ["good", "bad", "bad", "good", "bad", "bad"] * 12,
    }
    file = tmp_path / "items.csv"
    pd.DataFrame(columns).to_csv(file, index=False)
    options = ["--raters", "ann,bob,llm", "--predicted", "yhat", "--positive", "good"]
    status, out, _ = run(capsys, "summary", file, *options, "-m", "recall", "--format", "json")
    assert status == 0
    rows = {row["classifier"]: row for row in json.loads(out)}
    assert list(rows) == ["ann", "bob", "llm", "yhat"]
    assert rows["yhat"]["model"] == "noisy_labels"
    given = {name: columns[name] for name in ("ann", "bob", "llm")}
    predicted = {"yhat": columns["yhat"]}
    evidence = bcm.from_raters(given, predicted=predicted, positive="good")
    exact = bcm.summary(evidence, "recall").set_index("classifier")["mean"]
    assert rows["yhat"]["mean"] == pytest.approx(exact["yhat"])
    status, _, err = run(capsys, "summary", file, *options, "--fold", "ann")
    assert status == 2
    assert "--fold has no effect with" in err
    assert "--raters" in err
