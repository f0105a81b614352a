"""The check on entry: whatever comes in is canonical or an error."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import bayescm as bcm
from bayescm.evidence import (
    align,
    as_counts,
    at_prevalence,
    from_cells,
    from_matrix,
    positive,
)
from bayescm.evidence.counts import with_design
from bayescm.evidence.registry import type_of

distributions = settings(deadline=None, derandomize=True, max_examples=30)


@st.composite
def evidence(draw):
    """Draw counts of 2 to 4 classes with up to two leading dims, dims and labels in any order."""
    size = draw(st.integers(2, 4))
    leading = draw(st.sampled_from([(), ("fold",), ("classifier", "group")]))
    shape = (*(draw(st.integers(1, 3)) for _ in leading), size, size)
    values = draw(arrays(np.int64, shape, elements=st.integers(0, 10**12)))
    labels = [f"class {i}" for i in range(size)]
    table = xr.DataArray(
        values,
        dims=(*leading, "actual", "predicted"),
        coords={"actual": labels, "predicted": labels},
    )
    if draw(st.booleans()):
        table = table.assign_coords(positive=draw(st.sampled_from(labels)))
    shuffled = table.sel(
        actual=draw(st.permutations(labels)), predicted=draw(st.permutations(labels))
    )
    return table, shuffled.transpose(*draw(st.permutations(table.dims)))


@distributions
@given(evidence())
def test_the_canonical_form_holds_the_same_numbers_in_order(pair):
    original, shuffled = pair
    counts = as_counts(shuffled)
    assert counts.dims[-2:] == ("actual", "predicted")
    assert counts.dtype == np.int64
    assert counts.name == "counts"
    labels = counts.actual.values.tolist()
    assert labels == counts.predicted.values.tolist()
    if len(labels) == 2 and positive(counts) is not None:
        assert labels[-1] == positive(counts)
    back = counts.sel(actual=original.actual, predicted=original.predicted)
    np.testing.assert_array_equal(back.transpose(*original.dims).values, original.values)
    xr.testing.assert_identical(as_counts(counts), counts)


def square(**changes):
    given = {
        "data": [[1, 2], [3, 4]],
        "dims": ("actual", "predicted"),
        "coords": {"actual": ["a", "b"], "predicted": ["a", "b"]},
    } | changes
    return xr.DataArray(**given)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (square(data=[[1, -2], [3, 4]]), r"negative in cell \(0, 1\)"),
        (square(data=[[1, np.nan], [3, 4]]), "NaN"),
        (square(data=[[1, np.inf], [3, 4]]), "infinite"),
        (
            square(dims=("actual", "answer"), coords={}),
            "Build counts with from_matrix, or rename the dimensions",
        ),
        (square(coords={}), "has no labels"),
        (
            square(coords={"actual": ["a", "b"], "predicted": ["a", "c"]}),
            "actual and predicted have different labels",
        ),
        (
            square(coords={"actual": ["a", "a"], "predicted": ["a", "a"]}),
            "The labels contain a duplicate",
        ),
        (square().isel(actual=[0], predicted=[0]), "Name every class, including those absent"),
        (square().isel(actual=[0]), "actual and predicted have different labels"),
        (square().assign_coords(positive="c"), "is not among the labels"),
        (square().assign_coords(prevalence=1.5), "prevalence must be between 0 and 1"),
        (square().assign_coords(test_share=0), "test_share must be between 0 and 1"),
        (square().assign_coords(n_folds=2.5), "n_folds must be a whole number of folds"),
        (square().assign_coords(n_folds=np.nan), "n_folds must be a whole number of folds"),
        (square().assign_coords(n_folds="x"), "n_folds must be a whole number of folds"),
        (square().assign_coords(fixed_totals="no"), "fixed_totals must be True or False"),
        (
            square().assign_coords(positive=("actual", ["a", "b"])),
            "positive must be a single value",
        ),
        (square().expand_dims(model=2), "The dimension name"),
        (square().expand_dims(draw=2), "The dimension name"),
        (square().expand_dims(fold=0), "empty"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_table_of_counts_is_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        as_counts(wrong)


@pytest.mark.parametrize("wrong", [[[1, 2], [3, 4]], np.eye(2), pd.DataFrame(np.eye(2)), None])
def test_bare_matrices_are_sent_to_from_matrix(wrong):
    with pytest.raises(TypeError, match="from_matrix"):
        as_counts(wrong)


def test_fractions_pass_only_where_they_may():
    halves = square(data=[[0.5, 2], [3, 4]])
    assert as_counts(halves).dtype == np.float64
    with pytest.raises(ValueError, match="not a whole number"):
        as_counts(halves, fractional=False)


def test_the_evidence_is_not_changed():
    given = square(data=[[1.0, 2], [3, 4]]).assign_coords(positive="a")
    before = given.copy(deep=True)
    as_counts(given)
    xr.testing.assert_identical(given, before)


# align


SICK = from_matrix([[65, 15], [35, 30]], labels=["sick", "well"], positive="sick")


@pytest.mark.parametrize("kind", ["array", "list", "frame", "dataarray", "shuffled"])
def test_a_matrix_is_aligned_by_label_or_in_the_order_given(kind):
    matrix, labels = np.array([[1.0, 2], [3, 4]]), ["sick", "well"]
    labelled = xr.DataArray(matrix, [("actual", labels), ("predicted", labels)])
    values = {
        "array": matrix,
        "list": matrix.tolist(),
        "frame": pd.DataFrame(matrix, labels, labels),
        "dataarray": labelled,
        "shuffled": labelled.transpose()[::-1],
    }[kind]
    np.testing.assert_array_equal(align(values, SICK), [[4, 3], [2, 1]])


def test_a_number_stays_a_number():
    assert align(0.5, SICK) == 0.5
    assert align(None, SICK) is None


def test_leading_axes_are_matched_by_name():
    counts = from_cells(tp=xr.DataArray([1, 2, 3], dims="fold"), fn=1, fp=1, tn=1)
    counts = counts.expand_dims(classifier=["a", "b"])
    one = xr.ones_like(counts.isel(fold=0, drop=True), float) * xr.DataArray(
        [1, 2], dims="classifier"
    )
    aligned = align(one, counts)
    assert aligned.shape == (2, 3, 2, 2)
    assert (aligned[1] == 2).all()
    bare = align(np.arange(12.0).reshape(3, 2, 2), counts)
    np.testing.assert_array_equal(bare, np.arange(12).reshape(3, 2, 2)[None].repeat(2, axis=0))


@pytest.mark.parametrize(
    "wrong",
    [
        np.ones((3, 3)),
        np.ones(2),
        np.ones((5, 2, 2)),
        pd.DataFrame(np.eye(2), ["sick", "dead"], ["sick", "well"]),
    ],
)
def test_a_matrix_that_does_not_fit_is_refused(wrong):
    with pytest.raises(ValueError, match=r"The values must be one number|do not match the labels"):
        align(wrong, SICK)


# prevalence, default model


def test_at_prevalence_marks_the_counts():
    rare = at_prevalence(SICK, 0.01)
    assert rare.prevalence == 0.01
    assert "prevalence" not in SICK.coords
    np.testing.assert_array_equal(rare.values, [[30, 35], [15, 65]])


@pytest.mark.parametrize("wrong", [0, 1, -1, 2, float("nan"), "0.1", [0.1, 0.2], None])
def test_a_prevalence_is_a_share(wrong):
    with pytest.raises(ValueError, match="Pass the proportion of positives"):
        at_prevalence(SICK, wrong)


def test_a_prevalence_of_two_classes_needs_the_positive_one():
    with pytest.raises(ValueError, match="A prevalence needs two classes, one of them"):
        at_prevalence(SICK.drop_vars("positive"), 0.1)


@pytest.mark.parametrize("wrong", [0.1, [0.2, 0.8], [0.5, 0.5, 0], {"a": 0.5, "b": 0.5}])
def test_the_prevalence_of_more_classes_is_a_proportion_of_each(wrong):
    with pytest.raises(ValueError, match=r"must have a proportion|must name the classes"):
        at_prevalence(from_matrix(np.eye(3, dtype=int), labels=list("abc")), wrong)


@pytest.mark.parametrize(
    ("evidence", "model"),
    [
        (SICK, "dirichlet_multinomial"),
        (SICK.expand_dims(classifier=2), "dirichlet_multinomial"),
        (SICK.expand_dims(fold=5), "hierarchical_folds"),
        (SICK.expand_dims(repeat=2, fold=5), "hierarchical_folds"),
        (SICK.expand_dims(group=5), "hierarchical_groups"),
        (at_prevalence(SICK, 0.1), "fixed_totals"),
        (xr.Dataset({"count": ("outcome", [3, 4])}), "paired_outcomes"),
        (xr.Dataset({"score": ("example", [0.1, 0.4])}), "scores"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_default_model(evidence, model):
    assert type_of(evidence).default_model(evidence, {}).model == model


def test_what_the_folds_say_of_their_design():
    folds = xr.DataArray([10, 10, 9], dims="fold")
    counts = from_cells(tp=folds, fn=0, fp=1, tn=4)
    assert {"n_folds": 3, "fixed_totals": True}.items() <= {
        k: v.item() for k, v in counts.coords.items() if v.ndim == 0
    }.items()
    assert counts.test_share == 1 / 3
    uneven = from_cells(tp=folds, fn=xr.DataArray([0, 0, 3], dims="fold"), fp=1, tn=4)
    assert not uneven.fixed_totals


def test_a_design_that_is_given_is_kept():
    counts = from_cells(tp=xr.DataArray([10, 10], dims="fold"), fn=1, fp=1, tn=4)
    given = counts.assign_coords(test_share=0.3, fixed_totals=False)
    again = with_design(given)
    assert (again.test_share.item(), again.fixed_totals.item()) == (0.3, False)


def test_scores_have_no_cells_without_a_threshold():
    scores = bcm.from_scores([0, 1, 1], [0.1, 0.4, 0.3], positive=1)
    with pytest.raises(ValueError, match=r"curves\.at_threshold\(scores, 'f1', 0\.5\)"):
        bcm.interval(scores, "f1")
    with pytest.raises(TypeError, match=r"interval\(scores, 'auc'\)"):
        bcm.evidence.as_counts(scores)


@pytest.mark.parametrize("labels", [[False, True], [0, 1], ["no", "yes"]])
def test_boolean_labels_are_labels_and_not_a_mask(labels):
    counts = bcm.from_matrix([[5, 1], [2, 7]], labels=labels, positive=labels[1])
    prior = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(align(prior, counts), prior)
    np.testing.assert_array_equal(
        align(np.array(2 * [prior]), counts.expand_dims(batch=2)), 2 * [prior]
    )
