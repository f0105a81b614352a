"""``bayescm calibration`` as its users meet it."""

import json

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.cli import main


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    rng = np.random.default_rng(1)
    p = rng.beta(1, 2, 120)
    rows = rng.dirichlet([1, 1, 1], 120)
    code = (rng.random((120, 1)) > rows.cumsum(axis=1)).sum(axis=1).clip(max=2)
    columns = {"y": np.where(rng.random(120) < p, "sick", "well"), "p": p, "fold": range(120)}
    columns |= {"pet": np.array(["cat", "dog", "fox"])[code], "half": p / 2, "over": 2 * p}
    frame = pd.DataFrame(columns | dict(zip("abc", rows.T, strict=True)))
    path = tmp_path_factory.mktemp("data") / "p.csv"
    frame.assign(fold=frame["fold"] % 4).to_csv(path, index=False)
    return path


def run(capsys, file, *more):
    with pytest.raises(SystemExit) as stopped:
        main(["calibration", str(file), "--format", "json", *map(str, more)])
    out = capsys.readouterr()
    return stopped.value.code, out.out, out.err


SICK = ("--actual", "y", "--positive", "sick")
PETS = ("--actual", "pet", *(f"--probability={each}" for each in ("cat=a", "dog=b", "fox=c")))
HALVES = ("--actual", "pet", *(f"--probability={each}=half" for each in ("cat", "dog", "fox")))


@pytest.mark.long
def test_two_classes_and_what_recalibration_gains(capsys, file, tmp_path):
    one = (*SICK, "--probability", "p", "-m", "brier")
    code, out, err = run(capsys, file, *one, "--corp", "--plot", tmp_path / "corp.png")
    assert code == 0, err
    frame = pd.read_csv(file)
    evidence = bcm.from_probabilities(frame["y"], frame["p"], positive="sick")
    (row,) = json.loads(out)
    assert row["point"] == pytest.approx(bcm.summary(evidence, "brier")["point"].item())
    assert (tmp_path / "corp.png").stat().st_size > 0
    code, out, err = run(capsys, file, *SICK, "--probability", "p", "--recalibrated")
    assert code == 0, err
    assert [each["measure"] for each in json.loads(out)] == ["brier", "log_loss"]


def test_what_makes_the_model_doubtful_goes_to_stderr(capsys, file, tmp_path):
    rare = pd.read_csv(file).assign(y=["sick", *["well"] * 11] * 10)
    rare.to_csv(tmp_path / "rare.csv", index=False)
    asked = (*SICK, "--probability", "p", "-m", "brier")
    code, out, err = run(capsys, tmp_path / "rare.csv", *asked)
    assert code == 0, err
    assert json.loads(out)[0]["measure"] == "brier"
    assert err.count("caution: With only 10 positive examples") == 1


@pytest.mark.long
def test_sites_are_drawn_towards_each_other(capsys, file, tmp_path):
    options = (*SICK, "--probability", "p", "--group", "fold", "-m", "brier")
    code, out, err = run(capsys, file, *options, "--plot", tmp_path / "sites.png")
    assert code == 0, err
    groups = [each["group"] for each in json.loads(out)]
    assert groups == ["mean of all", "a new one", *range(4)] or groups[2:] == list("0123")
    assert err.count("With only 4 sites") == 1
    assert (tmp_path / "sites.png").stat().st_size > 0
    code, _, err = run(capsys, file, *options, "--corp", "--plot", tmp_path / "corp.png")
    assert code == 2
    assert "--corp needs one sample" in err


@pytest.mark.long
def test_folds_are_not_one_sample(capsys, file):
    code, out, err = run(capsys, file, *SICK, "--probability", "p", "--fold", "fold")
    assert code == 0, err
    assert "ece" not in {each["measure"] for each in json.loads(out)}
    code, _, err = run(capsys, file, *SICK, "--probability", "p", "--fold", "fold", "-m", "ece")
    assert code == 2
    assert "ece is not available for folds" in err


@pytest.mark.long
def test_more_than_two_classes(capsys, file):
    code, out, err = run(capsys, file, *PETS, "-m", "brier", "-m", "auc_macro")
    assert code == 0, err
    frame = pd.read_csv(file)
    evidence = bcm.from_probabilities(frame["pet"], frame[list("abc")].to_numpy())
    points = bcm.summary(evidence, ["brier", "auc_macro"])["point"]
    assert [each["point"] for each in json.loads(out)] == pytest.approx(points.tolist())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((*SICK, "--probability", "over"), "robabilities must be between 0 and 1"),
        (HALVES, "must sum to 1"),
        (("--actual", "pet", "--probability", "cat=a"), "three or more classes"),
        ((*PETS[:-1], "--probability=cow=c"), "'fox'"),
        ((*SICK, "--probability", "pet"), "text where a number belongs: '"),
    ],
)
def test_bad_input_is_named(capsys, file, options, words):
    code, _, err = run(capsys, file, *options)
    assert code == 2
    assert words in err
    assert "Traceback" not in err


@pytest.mark.long
@pytest.mark.filterwarnings("always:ece. The calibration curve seems:UserWarning")
def test_a_warning_of_table_and_picture_is_printed_once(capsys, tmp_path):
    rng = np.random.default_rng(5)
    p = rng.random(900)
    y = (rng.random(900) < np.where(p < 0.6, 0.2, 0.8)).astype(int)
    pd.DataFrame({"y": y, "p": p}).to_csv(tmp_path / "step.csv", index=False)
    options = ("--actual", "y", "--positive", "1", "--probability", "p", "-m", "ece")
    code, _, err = run(capsys, tmp_path / "step.csv", *options, "--plot", tmp_path / "p.png")
    assert code == 0
    assert err.count("seems to have a step") == 1
