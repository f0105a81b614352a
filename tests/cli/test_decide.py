"""``bayescm decide`` as its users meet it."""

import json

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.cli import main
from bayescm.curves.decisions import DRAWS_OF_A_TABLE


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    rng = np.random.default_rng(1)
    p = rng.beta(1, 3, 200)
    columns = {"y": np.where(rng.random(200) < p, "sick", "well"), "p": p, "q": p**2, "s": p * 9}
    path = tmp_path_factory.mktemp("data") / "probabilities.parquet"
    pd.DataFrame(columns).to_parquet(path)
    return path


def run(capsys, file, *more):
    given = ["decide", file, "--actual", "y", "--positive", "sick", "--format", "json", *more]
    with pytest.raises(SystemExit) as stopped:
        main([str(each) for each in given])
    out = capsys.readouterr()
    return stopped.value.code, out.out, out.err


@pytest.mark.long
def test_net_benefit_is_the_librarys(capsys, file, tmp_path):
    picture = tmp_path / "curve.png"
    both = ["--probability", "p", "--probability", "q"]
    code, out, err = run(capsys, file, *both, "--threshold", 0.2, "--plot", picture)
    assert code == 0, err
    frame = pd.read_parquet(file)
    evidence = bcm.from_probabilities(frame["y"], dict(frame[["p", "q"]]), positive="sick")
    found = bcm.curves.decision_curve(evidence, thresholds=[0.2], draws=DRAWS_OF_A_TABLE)
    for row in json.loads(out):
        one = found.sel(classifier=row["classifier"], threshold=0.2)
        assert row["net_benefit"] == pytest.approx(one["net_benefit"].item())
        assert [row["lower"], row["upper"]] == pytest.approx(one["interval"].values.tolist())
        assert row["error"] == pytest.approx(one["error"].item())
        assert row["p_best"] == pytest.approx(one["p_best"].sel(strategy=row["classifier"]).item())
    assert picture.stat().st_size > 5000


@pytest.mark.long
def test_costs_and_what_is_refused(capsys, file):
    two = ["--false-alarm", 1, "--miss", 4]
    code, out, _ = run(capsys, file, "--probability", "p", *two, "--prevalence", 0.05)
    assert code == 0
    assert {"cost", "regret", "p_best"} <= set(json.loads(out)[0])
    for column, more, words in (
        ("p", two[:2], "--false-alarm and --miss"),
        ("s", [], "between 0 and 1"),
        ("p", ["--threshold", 2], "threshold"),
    ):
        code, _, err = run(capsys, file, "--probability", column, *more)
        assert code == 2
        assert words in err


@pytest.mark.long
def test_answering_only_when_sure(capsys, file, tmp_path):
    asked = ["--probability", "p", "--probability", "q", "--promise", 0.3]
    code, out, err = run(capsys, file, *asked, "--plot", tmp_path / "risk.png")
    assert code == 0, err
    frame = pd.read_parquet(file)
    evidence = bcm.from_probabilities(frame["y"], dict(frame[["p", "q"]]), positive="sick")
    found = bcm.curves.risk_coverage(evidence, promise=0.3)
    for row in json.loads(out):
        one = found.sel(classifier=row["classifier"])
        for name in ("promised_coverage", "area"):
            assert row[name] == pytest.approx(one[name].item())
    costs = ["--probability", "p", "--miss", 4, "--false-alarm", 1]
    assert run(capsys, file, *costs, "--plot", tmp_path / "cost.png")[0] == 0
    assert {each.name for each in tmp_path.iterdir()} == {"risk.png", "cost.png"}
