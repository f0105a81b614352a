"""Point estimates of every type of evidence are those of `summary`."""

import evidence_of_types
import numpy as np
import pytest

import bayescm as bcm

EVIDENCE = evidence_of_types.evidence()
OTHER_TYPES = [
    "scores",
    "scores of several",
    "scores of three",
    "probabilities",
    "probabilities of several",
    "attempts",
    "judged",
    "raters",
]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", OTHER_TYPES)
def test_points_are_those_of_summary(name):
    points = bcm.measure(EVIDENCE[name])
    table = bcm.summary(EVIDENCE[name])
    assert list(points.data_vars) == list(dict.fromkeys(table["measure"]))
    for measure, values in points.items():
        expected = table.loc[table["measure"] == measure, "point"].to_numpy(float)
        np.testing.assert_allclose(values.values.ravel(), expected, err_msg=measure)


def test_points_of_scores_are_those_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    actual, score = [0, 0, 1, 1, 0, 1], [0.1, 0.4, 0.35, 0.8, 0.4, 0.4]
    points = bcm.measure(bcm.from_scores(actual, score), ["auc", "average_precision"])
    assert float(points["auc"]) == pytest.approx(metrics.roc_auc_score(actual, score))
    expected = metrics.average_precision_score(actual, score)
    assert float(points["average_precision"]) == pytest.approx(expected)


def test_results_have_no_points():
    with pytest.raises(ValueError, match=r"compare\(results\)"):
        bcm.measure(EVIDENCE["results"])
