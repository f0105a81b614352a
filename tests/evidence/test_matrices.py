"""Counts from cells and matrices, and evidence put together."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.evidence import combine, from_cells, from_matrix

# from_cells


def test_the_positive_class_is_last():
    counts = from_cells(tp=65, fn=15, fp=35, tn=30)
    np.testing.assert_array_equal(counts.values, [[30, 35], [15, 65]])
    assert counts.actual.values.tolist() == ["negative", "positive"]
    assert counts.positive.item() == "positive"
    assert (counts.dtype, counts.name) == (np.int64, "counts")


def test_arrays_make_a_batch():
    counts = from_cells(tp=[1, 2, 3], fn=4, fp=np.array([5, 6, 7]), tn=8)
    assert counts.sizes == {"batch": 3, "actual": 2, "predicted": 2}
    for i in range(3):
        single = from_cells(tp=1 + i, fn=4, fp=5 + i, tn=8)
        np.testing.assert_array_equal(counts[i].values, single.values)


def test_dataarrays_keep_their_dims_and_coords():
    tp = xr.DataArray([1, 2], dims="classifier", coords={"classifier": ["a", "b"]})
    counts = from_cells(tp=tp, fn=xr.DataArray([1, 2, 3], dims="group"), fp=[1, 1, 1, 1], tn=2)
    assert counts.dims[-2:] == ("actual", "predicted")
    assert counts.sizes["classifier"] == 2
    assert counts.sizes["group"] == 3
    assert counts.sizes["batch"] == 4
    assert counts.sel(classifier="b", actual="positive", predicted="positive").values.max() == 2


def test_labels_of_cells():
    counts = from_cells(tp=1, fn=2, fp=3, tn=4, labels=["well", "sick"])
    assert counts.sel(actual="sick", predicted="well") == 2
    assert counts.positive.item() == "sick"


@pytest.mark.parametrize("wrong", ["65", True, 1j])
def test_cells_must_be_numbers(wrong):
    with pytest.raises(TypeError, match="tp must be a number"):
        from_cells(tp=wrong, fn=15, fp=35, tn=30)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"fp": -1}, "fp is negative: -1"),
        ({"fp": [1, -1]}, r"fp is negative in cell \(1,\)"),
        ({"tn": float("nan")}, r"tn is missing \(NaN\)"),
        ({"tn": float("inf")}, "tn is infinite"),
        ({"tp": None}, r"tp is missing \(NaN\)"),
        ({"tp": 2.5}, "tp is not a whole number"),
        ({"tp": [1, 2], "fn": [1, 2, 3]}, "Give all four the same length and coordinates"),
        ({"tp": []}, "empty"),
        ({"tp": [[1, 2], [3, 4]]}, "tp must be a number"),
        ({"labels": ["a", "b", "c"]}, "Use from_matrix for more classes"),
        ({"labels": ["a"]}, "Name every class, including those absent"),
    ],
    ids=str,
)
def test_wrong_cells_are_refused(cells, said):
    with pytest.raises(ValueError, match=said):
        from_cells(**{"tp": 65, "fn": 15, "fp": 35, "tn": 30, **cells})


def test_cells_that_disagree_on_coordinates_are_refused():
    tp = xr.DataArray([1, 2], dims="fold", coords={"fold": [0, 1]})
    fn = xr.DataArray([1, 2], dims="fold", coords={"fold": [1, 2]})
    with pytest.raises(ValueError, match="Give all four the same length and coordinates"):
        from_cells(tp=tp, fn=fn, fp=1, tn=1)


def test_fractional_cells_only_where_asked_for():
    assert from_cells(tp=2.5, fn=1, fp=1, tn=1, fractional=True).dtype == np.float64


# from_matrix


def test_a_bare_matrix_is_read_as_scikit_learn_writes_it():
    counts = from_matrix([[30, 35], [15, 65]])
    assert counts.actual.values.tolist() == [0, 1]
    assert counts.positive.item() == 1


@pytest.mark.parametrize(
    ("labels", "positive", "found"),
    [
        ([0, 1], None, 1),
        ([1, 0], None, 1),
        ([False, True], None, True),
        ([0, 1], 0, 0),
        ([False, True], 1, True),
        ([0, 2], None, None),
        (["a", "b"], None, None),
        (["a", "b"], "a", "a"),
    ],
)
def test_the_positive_class_is_explicit_or_obvious(labels, positive, found):
    counts = from_matrix([[1, 2], [3, 4]], labels=labels, positive=positive)
    assert ("positive" in counts.coords) is (found is not None)
    if found is not None:
        assert counts.positive.item() is found
    assert counts.actual.values.tolist() == labels


def test_a_labelled_matrix_brings_its_labels():
    frame = pd.DataFrame([[1, 2], [3, 4]], index=["a", "b"], columns=["b", "a"])
    counts = from_matrix(frame, positive="b")
    assert counts.sel(actual="a", predicted="a") == 2
    again = from_matrix(counts.transpose())
    assert again.sel(actual="b", predicted="a") == 4
    assert again.positive.item() == "b"


def test_labels_add_empty_rows_and_columns():
    crosstab = pd.crosstab(
        pd.Series(["a", "a", "b"], name="actual"), pd.Series(["a", "a", "a"], name="predicted")
    )
    counts = from_matrix(crosstab, labels=["a", "b", "refusal"])
    np.testing.assert_array_equal(counts.values, [[2, 0, 0], [1, 0, 0], [0, 0, 0]])
    with pytest.raises(ValueError, match="actual and predicted have different labels"):
        from_matrix(crosstab)


@pytest.mark.parametrize("names", [("predicted", "actual"), ("Prediction", None), (None, "y_true")])
def test_a_table_with_predictions_down_is_turned(names):
    actual, predicted = list("aabbbb"), list("abbbba")
    turned = pd.crosstab(pd.Series(predicted), pd.Series(actual)).rename_axis(index=names[0])
    counts = from_matrix(turned.rename_axis(columns=names[1]))
    assert counts.equals(bcm.from_predictions(actual, predicted))
    with pytest.raises(ValueError, match="Both axes of the table are named"):
        from_matrix(turned.rename_axis(index="pred", columns="Predicted label"))


def test_cells_in_different_orders_are_refused():
    tp = pd.Series([5, 6], index=["a", "b"])
    with pytest.raises(ValueError, match="has the rows of tn in a different order"):
        from_cells(tp=tp[::-1], fn=1, fp=1, tn=tp)
    assert from_cells(tp=tp, fn=1, fp=1, tn=tp.set_axis([3, 4])).shape == (2, 2, 2)


def test_matrices_of_folds():
    counts = from_matrix(np.full((5, 3, 3), 4), dims=("fold",))
    assert counts.n_folds == 5
    assert bool(counts.fixed_totals)
    assert counts.fold.values.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("matrix", "keywords", "said"),
    [
        ([[1, 2, 3], [4, 5, 6]], {}, "The matrix must be square, but its shape"),
        ([1, 2], {}, "The matrix must be square, but its shape"),
        (5, {}, "The matrix must be square, but its shape"),
        ([[1, 2], [3]], {}, "The rows of the counts have different lengths"),
        ([], {}, "empty"),
        ([[5]], {}, "Name every class, including those absent"),
        ([[1, 2], [3, 4]], {"labels": ["a", "b", "c"]}, "labels are needed, one per class"),
        ([[1, 2], [3, 4]], {"labels": ["a", "a"]}, "The labels contain a duplicate"),
        ([[1, 2], [3, 4]], {"labels": ["a", 1]}, "mixed types"),
        ([[1, 2], [3, 4]], {"labels": ["a", None]}, "mixed types"),
        ([[1, 2], [3, 4]], {"labels": "ab"}, "Labels must be a list"),
        (
            [[1, 2], [3, 4]],
            {"labels": ["sick", "well"], "positive": "Sick"},
            "Did you mean 'sick'",
        ),
        ([[1, 2], [3, -4]], {}, r"negative in cell \(1, 1\)"),
        ([[1, 2], [3, 0.5]], {}, "fractional=True"),
        (np.ones((2, 3, 2, 2)), {}, "names of dimensions are needed, one per leading"),
        ([[1, 2], [3, 4]], {"dims": ("fold",)}, "names of dimensions are needed, one per leading"),
        (pd.DataFrame([[1, 2], [3, 4]], ["a", "b"], ["a", "b"]), {"labels": ["a", "c"]}, "not in"),
    ],
    ids=str,
)
def test_wrong_matrices_are_refused(matrix, keywords, said):
    with pytest.raises(ValueError, match=said):
        from_matrix(matrix, **keywords)


def test_an_empty_fold_is_refused():
    with pytest.raises(ValueError, match="Some folds have no examples"):
        from_matrix([[[1, 2], [3, 4]], [[0, 0], [0, 0]]], dims=("fold",))


# combine


def several():
    return {name: from_cells(tp=i, fn=2, fp=3, tn=4) for i, name in enumerate("abc")}


def test_combine_is_the_inverse_of_selection():
    both = combine(several())
    assert both.dims == ("classifier", "actual", "predicted")
    assert both.dtype == np.int64
    for name, counts in several().items():
        xr.testing.assert_equal(both.sel(classifier=name, drop=True), counts)
    again = combine([both.sel(classifier=name) for name in "abc"])
    xr.testing.assert_identical(again, both)


def test_combined_evidence_has_the_labels_of_all():
    first = from_matrix([[1, 2], [3, 4]], labels=["a", "b"])
    second = from_matrix([[5, 6], [7, 8]], labels=["b", "c"])
    both = combine([first, second], dim="group")
    assert both.actual.values.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(both[1].values, [[0, 0, 0], [0, 5, 6], [0, 7, 8]])


def test_combined_folds_know_their_design():
    both = combine([from_cells(tp=9, fn=1, fp=2, tn=8)] * 4, dim="fold")
    assert (both.n_folds.item(), both.test_share.item(), both.fixed_totals.item()) == (
        4,
        0.25,
        True,
    )


def test_steps_are_appended():
    first = combine(several(), dim="step")
    later = combine({"d": from_cells(tp=9, fn=9, fp=9, tn=9)}, dim="step")
    assert combine([first, later], dim="step").step.values.tolist() == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="occurs twice along step"):
        combine([first, first], dim="step")


def test_dims_in_any_order():
    cubes = combine(several(), dim="group")
    both = combine({"x": cubes, "y": cubes.transpose("predicted", "group", "actual")})
    assert both.dims == ("classifier", "group", "actual", "predicted")
    assert (both.sel(classifier="x", drop=True) == both.sel(classifier="y", drop=True)).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.assign_coords(positive="negative"), "positive differs"),
        (lambda c: c.drop_vars("positive"), "positive differs"),
        (lambda c: c.assign_coords(prevalence=0.1), "prevalence differs"),
        (lambda c: c.expand_dims(group=["x", "y"]), "The dimensions other than .* differ"),
        (
            lambda c: c.expand_dims(classifier=["x", "y"]),
            "Only some pieces of evidence have the dimension",
        ),
    ],
)
def test_evidence_that_means_something_else_is_not_combined(change, said):
    counts = from_cells(tp=1, fn=2, fp=3, tn=4)
    with pytest.raises(ValueError, match=said):
        combine({"a": counts, "b": change(counts)})


def test_other_groups_are_not_combined():
    first = from_cells(tp=1, fn=2, fp=3, tn=4).expand_dims(group=["x", "y"])
    second = first.assign_coords(group=["x", "z"])
    with pytest.raises(ValueError, match=r"The dimensions other than .* differ"):
        combine([first, second])


def test_one_table_is_not_combined():
    with pytest.raises(TypeError, match="one piece of evidence"):
        combine(from_cells(tp=1, fn=2, fp=3, tn=4))


def test_nothing_is_not_combined():
    with pytest.raises(ValueError, match="nothing to combine"):
        combine([])


@pytest.mark.parametrize("name", ["All", "Gesamt"])
def test_the_margins_of_a_crosstab_are_no_class(name):
    actual, answers = pd.Series(list("aabbab")), pd.Series(list("aabbba"))
    table = pd.crosstab(actual, answers, margins=True, margins_name=name)
    with pytest.raises(ValueError, match=f"marginal sums, named '{name}'.*Leave margins out"):
        from_matrix(table)
    plain = from_matrix(table.drop(index=name, columns=name))
    assert plain.equals(from_matrix(pd.crosstab(actual, answers)))


def test_two_equal_rows_are_no_margins():
    table = pd.DataFrame([[5, 5], [5, 5]], index=["a", "b"], columns=["a", "b"])
    assert from_matrix(table).sum() == 20


class Tensor:
    """As those of PyTorch: numpy sees it unless it needs a gradient, and ``values`` is a method."""

    def __init__(self, data, gradient=False):
        self.data, self.gradient = np.asarray(data), gradient

    def __array__(self, dtype=None, copy=None):
        if self.gradient:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        return np.array(self.data, dtype)

    def __len__(self):
        return len(self.data)

    def values(self):
        raise RuntimeError("only of sparse tensors")


def test_tensors_are_arrays():
    counts = from_cells(tp=Tensor(3), fn=1, fp=2, tn=Tensor(4))
    assert counts.identical(from_cells(tp=3, fn=1, fp=2, tn=4))
    actual, score = [0, 1, 1, 0], [0.1, 0.7, 0.4, 0.4]
    expected = bcm.from_scores(actual, score)
    assert bcm.from_scores(Tensor(actual), Tensor(score)).identical(expected)
    with pytest.raises(TypeError, match="convert a tensor to a numpy array"):
        bcm.from_scores(actual, Tensor(score, gradient=True))
