import numpy as np
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.evidence.folds import design, stack
from bayescm.measures.over_folds import fold_macro, fold_micro

RNG = np.random.default_rng(8)
CELLS = RNG.integers(0, 9, (2, 3, 4, 2, 2))
REPEATED = bcm.from_matrix(CELLS, dims=("classifier", "repeat", "fold"))


def test_stack_lays_the_repeats_end_to_end():
    rows = stack(REPEATED)
    assert rows.dims == ("classifier", "fold", "actual", "predicted")
    np.testing.assert_array_equal(rows, CELLS.reshape(2, 12, 2, 2))
    assert rows.n_folds == 4
    xr.testing.assert_equal(stack(REPEATED.transpose("fold", ..., "repeat")), rows)


def test_design_is_worked_out_or_taken_from_the_counts():
    whole = {"n_folds": 4, "test_share": 0.25, "train_size": 0.75, "fixed_totals": False}
    assert design(REPEATED) == whole
    bare = xr.DataArray(CELLS[0, 0], dims=("fold", "actual", "predicted"))
    assert design(bare)["n_folds"] == 4
    given = {"n_folds": 9, "test_share": 0.3, "train_size": 0.4, "fixed_totals": True}
    assert design(bare.assign_coords(given)) == given


def test_micro_is_the_measure_of_the_sum():
    expected = bcm.measure(REPEATED.sum(("repeat", "fold")), "f1")["f1"]
    np.testing.assert_allclose(fold_micro(REPEATED, "f1"), expected)
    assert fold_micro(REPEATED, "f1").dims == ("classifier",)


def test_macro_is_the_mean_of_the_measures():
    expected = bcm.measure(REPEATED, "accuracy")["accuracy"].mean(("repeat", "fold"))
    np.testing.assert_allclose(fold_macro(REPEATED, "accuracy"), expected)


def test_micro_and_macro_recall_agree_when_folds_have_equal_totals():
    counts = bcm.from_cells(tp=[3, 5, 4], fn=[2, 0, 1], fp=[1, 0, 3], tn=2).rename(batch="fold")
    assert fold_micro(counts, "recall").item() == pytest.approx(fold_macro(counts, "recall").item())
    assert fold_micro(counts, "precision") != fold_macro(counts, "precision")


@pytest.mark.parametrize(("undefined", "expected"), [("drop", 0.75), ("zero", 0.375)])
def test_conventions_for_undefined_folds(undefined, expected):
    counts = bcm.from_cells(tp=[3, 0], fn=[2, 5], fp=[1, 0], tn=[4, 5]).rename(batch="fold")
    mean = fold_macro(counts, "precision", undefined=undefined)
    assert mean == expected
    assert mean.undefined_folds == 1


def test_undefined_everywhere_is_nan_and_nan_spreads_if_asked():
    counts = bcm.from_cells(tp=[0, 0], fn=[2, 5], fp=[0, 0], tn=[4, 5]).rename(batch="fold")
    assert np.isnan(fold_macro(counts, "precision"))
    assert fold_macro(counts, "precision").undefined_folds == 2
    one = bcm.from_cells(tp=[3, 0], fn=[2, 5], fp=[1, 0], tn=[4, 5]).rename(batch="fold")
    assert np.isnan(fold_macro(one, "precision", undefined="nan"))


def test_classes_of_many_keep_their_dim():
    counts = bcm.from_matrix(RNG.integers(0, 9, (5, 3, 3)), dims=("fold",))
    assert fold_macro(counts, "recall").dims == ("class",)
    assert fold_micro(counts, "f1_macro").dims == ()


@pytest.mark.parametrize("function", [fold_micro, fold_macro])
@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (REPEATED.isel(repeat=0, fold=0), "Use cross_confusion, or name the axis"),
        (REPEATED.isel(repeat=[0], fold=[0]), "A cross-validation needs two or more folds"),
    ],
)
def test_bad_input(function, counts, message):
    with pytest.raises(ValueError, match=message):
        function(counts, "f1")


def test_unknown_convention():
    with pytest.raises(ValueError, match="Unknown undefined"):
        fold_macro(REPEATED, "f1", undefined="skip")
