"""``bayescm curve`` as its users meet it."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.cli import main


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(each) for each in arguments])
    out = capsys.readouterr()
    return stopped.value.code, out.out, out.err


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    sick = rng.random(90) < 0.4
    score = rng.normal(1.5 * sick, 1)
    return pd.DataFrame(
        {"y": np.where(sick, "sick", "well"), "s": score, "t": -score, "f": np.arange(90) % 3}
    )


@pytest.fixture(scope="module")
def file(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "scores.csv"
    frame.to_csv(path, index=False)
    return path


def base(file, *more):
    return ["curve", file, "--actual", "y", "--score", "s", "--positive", "sick", *more]


def test_the_area_is_the_librarys(capsys, file, frame):
    code, out, _ = run(capsys, *base(file, "--format", "json"))
    (row,) = json.loads(out)
    evidence = bcm.from_scores(frame["y"], frame["s"], positive="sick")
    assert code == 0
    assert [row["lower"], row["upper"]] == pytest.approx(bcm.curves.auc(evidence).values.tolist())
    assert row["estimate"] == pytest.approx(bcm.curves.estimate(evidence).item())


@pytest.mark.long
@pytest.mark.parametrize("kind", ["roc", "pr", "threshold"])
def test_every_kind_has_a_table_and_a_picture(capsys, file, tmp_path, kind):
    picture = tmp_path / f"{kind}.png"
    code, out, err = run(capsys, *base(file, "--kind", kind, "--plot", picture))
    assert code == 0, err
    assert "90 examples" in out
    assert picture.stat().st_size > 5000


@pytest.mark.long
def test_two_scores_are_compared(capsys, file):
    _, out, _ = run(capsys, *base(file, "--score", "t", "--format", "csv"))
    table = pd.read_csv(io.StringIO(out))
    assert table["classifier"].tolist() == ["s", "t", "s - t"]
    assert table["p_better"].iloc[-1] == 1


@pytest.mark.long
def test_folds_have_a_row_each(capsys, file):
    _, out, _ = run(capsys, *base(file, "--fold", "f", "--format", "csv"))
    assert pd.read_csv(io.StringIO(out))["fold"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--positive", "x"], "positive class"),
        (["--score", "q"], "There is no column"),
        (["--kind", "pr", "--prevalence", "2"], "prevalence must be between"),
        (["--prevalence", "0.2"], "--prevalence"),
        (["--plot", "x.gif"], "plot"),
        (["--kind", "threshold", "--measure", "f11"], "f1"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(capsys, file, more, words):
    arguments = base(file)
    if more[0] == "--positive":  # which is passed once
        arguments = arguments[: arguments.index("--positive")]
    code, out, err = run(capsys, *arguments, *more)
    assert code == 2
    assert out == ""
    assert words in err
    assert err.count("\n") == 1
