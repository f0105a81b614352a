import numpy as np
import pytest
from sklearn import metrics

import bayescm as bcm


@pytest.mark.parametrize("classes", [2, pytest.param(4, marks=pytest.mark.long)])
def test_the_points_are_those_of_scikit_learn(classes):
    rng = np.random.default_rng(classes)
    truth = rng.integers(0, classes, 120)
    answer = np.where(rng.random(120) < 0.7, truth, rng.integers(0, classes, 120))
    report = bcm.classification_report(truth, answer)
    theirs = metrics.classification_report(truth, answer, output_dict=True)
    for row in report.frame.itertuples():
        if row.measure == "accuracy":
            assert row.point == pytest.approx(theirs["accuracy"])
        else:
            name = "f1-score" if row.measure == "f1" else row.measure
            assert row.point == pytest.approx(theirs[row.name][name])
            assert row.support == theirs[row.name]["support"]
        assert row.lower < row.point < row.upper
    text = str(report)
    printed = metrics.classification_report(truth, answer)
    assert [line.split()[0] for line in text.splitlines()[1:]] == [
        line.split()[0] for line in printed.splitlines()[1:] if line.strip()
    ]


@pytest.mark.long
def test_each_class_is_the_positive_one_in_turn():
    truth, answer = [0] * 30 + [1] * 50, [0] * 25 + [1] * 55
    frame = bcm.classification_report(truth, answer).frame.set_index(["name", "measure"])
    counts = bcm.from_predictions(truth, answer)
    recall = bcm.interval(counts, "recall").values
    assert frame.loc[("1", "recall"), ["lower", "upper"]].tolist() == pytest.approx(recall)
    specificity = bcm.interval(counts, "specificity").values
    assert frame.loc[("0", "recall"), ["lower", "upper"]].tolist() == pytest.approx(specificity)
