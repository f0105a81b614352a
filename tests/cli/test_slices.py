import json

import numpy as np
import pandas as pd
import pytest

from bayescm.cli import main


def run(capsys, *arguments):
    with pytest.raises(SystemExit):
        main([str(each) for each in arguments])
    return capsys.readouterr()


@pytest.fixture
def ages(tmp_path):
    rng = np.random.default_rng(1)
    age, actual = rng.integers(2, 9, 400) * 10, rng.integers(0, 2, 400)
    right = rng.random(400) < 1 - ((age - 50) / 50) ** 2
    columns = {"actual": actual, "predicted": np.where(right, actual, 1 - actual), "age": age}
    path = tmp_path / "ages.csv"
    pd.DataFrame(columns | {"sex": rng.choice(["f", "m"], 400)}).to_csv(path, index=False)
    return path


@pytest.mark.long
def test_numbers_may_act_by_a_curve(ages, capsys):
    slices = ["slices", ages, "--positive", 1, "--group", "age", "--group", "sex", "-k", 20]
    widths = []
    for more in ([], ["--smooth", "age"]):
        rows = json.loads(run(capsys, *slices, *more, "--format", "json").out)
        assert {row["age"] for row in rows[:2]} <= {20, 80}
        widths.append(np.mean([row["upper"] - row["lower"] for row in rows]))
    assert widths[1] < widths[0]


def test_what_cannot_be_smooth_is_named(ages, capsys):
    slices = ["slices", ages, "--positive", 1, "--group", "age", "--group", "sex"]
    said = run(capsys, *slices, "--smooth", "sex")
    assert "labels of sex must be numbers" in said.err
