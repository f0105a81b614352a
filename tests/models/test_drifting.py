"""The drifting model: its fence, its direct posterior, and refits without compilation."""

import numpy as np
import pytest
from pytensor.compile.mode import Mode

import bayescm as bcm
from bayescm import models

TABLES = np.array([[[30, 35], [15, 65]], [[35, 30], [25, 55]], [[36, 29], [24, 56]]])
SERIES = bcm.from_matrix(TABLES, labels=["well", "sick"], positive="sick", dims=("step",))


@pytest.mark.long
def test_the_positive_class_may_stand_first():
    turned = models.drifting(SERIES.isel(actual=[1, 0], predicted=[1, 0]))
    straight = models.drifting(SERIES)
    point = straight.initial_point()
    assert straight.compile_logp(mode=Mode("py", None))(point) == pytest.approx(
        turned.compile_logp(mode=Mode("py", None))(point)
    )
    at = {"start": [0.3, 0.9, 0.6], "drift": [1.0, 1, 1], "moves": np.ones((2, 3))}
    theta = [
        model["theta"].eval({model[k]: v for k, v in at.items()}, mode=Mode("py", None))
        for model in (straight, turned)
    ]
    np.testing.assert_allclose(theta[0], theta[1][:, ::-1, ::-1])
    np.testing.assert_allclose(theta[0][0], [[0.7 * 0.6, 0.7 * 0.4], [0.3 * 0.1, 0.3 * 0.9]])


def test_one_batch_has_no_moves():
    assert [each.name for each in models.drifting(SERIES[:1]).free_RVs] == ["start", "drift"]


@pytest.mark.long
def test_the_tree_of_exact_draws():
    tree = bcm.fit(SERIES, "drifting", draws=200, random_seed=1)
    assert tree.attrs["sampling_method"] != "nuts"
    assert tree["posterior"]["theta"].dims == ("chain", "draw", "step", "actual", "predicted")
    recall = bcm.measure(tree, "recall")["recall"]
    assert recall.dims == ("chain", "draw", "step")
    distribution = bcm.distribution(SERIES, "recall", model="drifting").mean()
    np.testing.assert_allclose(recall.mean(("chain", "draw")), distribution, atol=0.01)


@pytest.mark.parametrize("model", ["drifting"])
@pytest.mark.parametrize(
    "counts",
    [
        bcm.from_cells(tp=1, fn=2, fp=3, tn=4),
        bcm.from_matrix(np.ones((4, 3, 3), int), dims=("step",)),
    ],
)
def test_evidence_that_is_no_series_is_refused(model, counts):
    with pytest.raises(ValueError, match="needs two-class tables along 'step'"):
        bcm.fit(counts, model)
    with pytest.raises(ValueError, match="needs two-class tables along 'step'"):
        bcm.interval(counts, "accuracy", model=model)
