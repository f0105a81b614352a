"""One area for all folds."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm import curves


def folds(size=300):
    rng = np.random.default_rng(1)
    actual = np.arange(size) % 3 == 0
    fold = np.arange(size) // 3 % 5
    score = rng.normal(1.2 * actual, 1) + 10 * fold  # every model on a scale of its own
    return bcm.from_scores(actual, {"a": score, "b": -score}, fold=fold)


@pytest.mark.long
def test_the_mean_area_lies_inside_and_correlation_widens_it():
    evidence = folds()
    mean = curves.estimate(evidence).mean("fold")
    free, default, strong = (
        curves.fold_auc(evidence, rho=rho, kind="eti", draws=1000) for rho in (0, None, 0.5)
    )
    assert free.dims == ("classifier", "bound")
    assert ((free[:, 0] < mean) & (mean < free[:, 1])).all()
    length = [float(each[0, 1] - each[0, 0]) for each in (free, default, strong)]
    assert length[1] == pytest.approx(length[0] * np.sqrt(1 + 5 / 4), rel=0.02)
    assert length[0] < length[1] < length[2]


def test_the_share_of_a_test_set_is_taken_from_the_evidence():
    evidence = folds()
    same = curves.fold_auc(evidence.assign_coords(test_share=0.5), draws=100)
    np.testing.assert_allclose(same, curves.fold_auc(evidence, rho=0.5, draws=100))


def test_scales_of_their_own_spoil_a_pool_but_not_ranks_within_folds():
    evidence = folds().isel(classifier=0)
    plain, ranked = (
        curves.estimate(curves.pool_folds(evidence, ranks=each)) for each in (False, True)
    )
    assert plain < 0.6
    assert ranked == pytest.approx(curves.estimate(evidence).mean().item(), abs=0.02)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="no folds"):
        curves.fold_auc(bcm.from_scores([0, 1], [1, 2]), draws=20)
    with pytest.raises(ValueError, match="rho"):
        curves.fold_auc(folds(), rho=1, draws=20)
