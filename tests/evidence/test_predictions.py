"""Counts from predictions: every kind of label, leading dims, weights, and what is refused."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix

from bayescm.evidence import from_frame, from_predictions
from bayescm.evidence.tabulate import tabulate

RNG = np.random.default_rng(7)
distributions = settings(deadline=None, derandomize=True, max_examples=60)

NAMES = {
    "string": lambda codes: np.array(["a", "bb", "c", "dd", "e"])[codes],
    "object": lambda codes: np.array(["a", "bb", "c", "dd", "e"], object)[codes],
    "list": lambda codes: ["abcde"[i] for i in codes],
    "integer": lambda codes: codes,
    "wide": lambda codes: codes * 10**6 - 7,
    "int8": lambda codes: codes.astype(np.int8) - 3,
    "uint64": lambda codes: codes.astype(np.uint64),
    "whole float": lambda codes: codes.astype(float),
    "series": lambda codes: pd.Series(np.array(["a", "bb", "c", "dd", "e"])[codes], index=codes),
    "nullable": lambda codes: pd.Series(codes, dtype="Int64"),
    "categorical": lambda codes: pd.Categorical.from_codes(codes, list("vwxyz")),
    "dataarray": lambda codes: xr.DataArray(codes, dims="example"),
}


@pytest.mark.parametrize("kind", NAMES)
def test_counts_are_those_of_scikit_learn(kind):
    codes = RNG.integers(0, 5, (2, 300))
    counts = from_predictions(*(NAMES[kind](each) for each in codes))
    np.testing.assert_array_equal(counts.values, confusion_matrix(*codes))
    labels = sorted(set(np.asarray(NAMES[kind](np.arange(5))).tolist()))
    assert counts.actual.values.tolist() == counts.predicted.values.tolist() == labels
    assert "positive" not in counts.coords


@pytest.mark.parametrize(
    ("labels", "positive"),
    [((0, 1), 1), ((False, True), True), (("no", "yes"), None), ((1, 2), None)],
)
def test_the_positive_class_where_it_is_obvious(labels, positive):
    codes = RNG.integers(0, 2, (2, 50))
    counts = from_predictions(*np.array(labels)[codes])
    found = counts.positive.item() if "positive" in counts.coords else None
    assert found is positive
    assert counts.actual.values.tolist() == list(labels)


def test_booleans_and_zero_one_need_not_all_occur():
    for labels in ([True, True], [1, 1], [0, 0]):
        counts = from_predictions(labels, labels)
        assert counts.shape == (2, 2)
        assert counts.positive.item() in (1, True)


def test_a_categorical_brings_its_order_but_no_empty_classes():
    size = pd.CategoricalDtype(["small", "middle", "large", "huge"], ordered=True)
    counts = from_predictions(
        pd.Series(["large", "small", "middle"], dtype=size),
        pd.Series(["large", "small", "small"], dtype=size),
    )
    assert counts.actual.values.tolist() == ["small", "middle", "large"]


@pytest.mark.long
@distributions
@given(st.data())
def test_renaming_labels_permutes_the_table(data):
    size, n = data.draw(st.integers(2, 5)), data.draw(st.integers(1, 40))
    codes = st.lists(st.integers(0, size - 1), min_size=n, max_size=n)
    actual, predicted = np.array(data.draw(codes)), np.array(data.draw(codes))
    names = np.array(data.draw(st.permutations("abcde"))[:size])
    counts = from_predictions(actual, predicted, labels=range(size))
    renamed = from_predictions(names[actual], names[predicted], labels=names)
    np.testing.assert_array_equal(renamed.values, counts.values)
    ordered = from_predictions(names[actual], names[predicted], labels=sorted(names))
    xr.testing.assert_equal(ordered.sel(actual=names, predicted=names), renamed)
    assert counts.sum() == n


@pytest.mark.long
@distributions
@given(st.data())
def test_leading_dims_are_a_loop_and_sum_to_the_whole(data):
    n = data.draw(st.integers(12, 40))
    vector = st.lists(st.integers(0, 2), min_size=n, max_size=n)
    actual, predicted, group, site = (np.array(data.draw(vector)) for _ in range(4))
    by = {"group": group, "site": np.array(["x", "y", "z"])[site]}
    counts = from_predictions(actual, predicted, labels=range(3), by=by)
    assert counts.dims == ("group", "site", "actual", "predicted")
    whole = from_predictions(actual, predicted, labels=range(3))
    np.testing.assert_array_equal(counts.sum(["group", "site"]).values, whole.values)
    for g in counts.group.values:
        for s in counts.site.values:
            chosen = (group == g) & (by["site"] == s)
            expected = (
                confusion_matrix(actual[chosen], predicted[chosen], labels=range(3))
                if chosen.any()
                else 0
            )
            assert (counts.sel(group=g, site=s).values == expected).all()


@pytest.mark.parametrize("place", [[0, 40], [5, 5000], [0.0, 1.0], ["b", "a"], [True, False]])
def test_places_on_a_leading_dim_are_sorted_and_kept(place):
    place = np.array(place)
    counts = from_predictions([0, 1, 1], [0, 1, 0], by={"group": place[[1, 0, 0]]})
    assert counts.group.values.tolist() == sorted(place.tolist())


def test_weights_count_examples():
    actual, predicted = RNG.integers(0, 3, (2, 100))
    weights = RNG.integers(0, 4, 100)
    counts = from_predictions(actual, predicted, weights=weights)
    assert counts.dtype == np.int64
    expected = from_predictions(np.repeat(actual, weights), np.repeat(predicted, weights))
    np.testing.assert_array_equal(counts.values, expected.values)
    with pytest.raises(ValueError, match="Fractional weights need weights_are"):
        from_predictions(actual, predicted, weights=weights / 3)
    thirds = from_predictions(actual, predicted, weights=weights / 3, weights_are="counts")
    np.testing.assert_allclose(thirds.values, expected.values / 3)


def test_importance_weights_sum_to_kish_and_have_no_scale():
    actual, predicted = RNG.integers(0, 2, (2, 100))
    weights = RNG.lognormal(size=100)
    counts = from_predictions(actual, predicted, weights=weights, weights_are="importance")
    assert counts.sum().item() == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert 0 < counts["effective"].sum().item() < 100
    large = from_predictions(actual, predicted, weights=1e6 * weights, weights_are="importance")
    np.testing.assert_allclose(large, counts)
    np.testing.assert_allclose(large["effective"], counts["effective"])
    plain = from_predictions(actual, predicted)
    same = from_predictions(actual, predicted, weights=np.full(100, 0.3), weights_are="importance")
    np.testing.assert_allclose(same, plain)
    np.testing.assert_allclose(same["effective"], plain)


# Labels that are absent, unknown or answers only


def test_a_class_absent_from_the_sample_keeps_its_row():
    counts = from_predictions(["a", "b"], ["a", "a"], labels=["a", "b", "c"])
    np.testing.assert_array_equal(counts.values, [[1, 0, 0], [1, 0, 0], [0, 0, 0]])


def test_a_refusal_is_a_column_when_named():
    actual, predicted = ["a", "b", "b"], ["a", "refused", "b"]
    counts = from_predictions(actual, predicted, labels=["a", "b", "refused"])
    assert counts.sel(actual="b", predicted="refused") == 1
    assert counts.sel(actual="refused").sum() == 0
    with pytest.raises(ValueError, match="which is not in"):
        from_predictions(actual, predicted)


@pytest.mark.parametrize(
    ("actual", "predicted", "keywords", "said"),
    [
        ([], [], {}, "no examples"),
        ([0, 1], [0, 1, 1], {}, "The columns have different lengths"),
        ([0, 1], [0, 1], {"by": {"fold": [1]}}, "The columns have different lengths"),
        ([0, 1], [0, 1], {"weights": [1]}, "The columns have different lengths"),
        ([0, 1], [0, 1], {"weights": [1, -1]}, "A weight is negative"),
        ([0, 1], [0, 1], {"weights": [1, np.nan]}, "A weight is missing"),
        (["a", "a"], ["a", "a"], {}, "Name every class, including those absent"),
        (["a", "b"], ["a", None], {}, "predicted has missing values.*position 1"),
        (["a", np.nan], ["a", "b"], {}, "actual has missing values"),
        ([0, 1.0], [0, np.nan], {}, "predicted has missing values"),
        ([0, None], [0, 1], {}, "actual has missing values"),
        (pd.Series([0, None], dtype="Int64"), [0, 1], {}, "actual has missing values"),
        (pd.Series(["a", None], dtype="category"), ["a", "a"], {}, "actual has missing values"),
        ([0, 1], [0.2, 0.9], {}, "from_scores"),
        ([0, 1], [0, np.inf], {}, "predicted contains fractions instead of labels"),
        ([0, 2], [0, 1], {}, "which is not in"),
        ([0, 1, 2], [0, 1, 1], {"labels": [0, 1]}, "which is not in"),
        (
            ["ham", "spam"],
            ["ham", "spam"],
            {"labels": ["ham", "spma"]},
            "which is not in",
        ),
        (["a", "b"], ["a", "b"], {"positive": "c"}, "is not among the labels"),
        ([0, "a"], [0, 0], {}, "mixed types"),
        (["0", "1"], [0, 1], {}, "which is not in"),
        (np.eye(2), np.eye(2), {}, "actual must have one axis, but its shape"),
        (pd.DataFrame({"y": [0, 1]}), [0, 1], {}, "actual must have one axis, but its shape"),
        ([0, 1], [0, 1], {"by": {"model": [0, 1]}}, "The dimension name"),
        ([0, 1], [0, 1], {"by": {"fold": [0, None]}}, "fold has missing values"),
        (np.arange(6000.0), np.arange(6000.0), {}, "distinct labels, more than"),
    ],
    ids=str,
)
def test_wrong_predictions_are_refused(actual, predicted, keywords, said):
    with pytest.raises(ValueError, match=said):
        from_predictions(actual, predicted, **keywords)


@pytest.mark.parametrize("wrong", ["abc", 3, None, {"a": 1}])
def test_what_is_no_column_is_refused(wrong):
    with pytest.raises(TypeError, match="actual must be a sequence, with one label"):
        from_predictions(wrong, [0, 1])


def test_labels_must_be_single():
    with pytest.raises(TypeError, match="Expected strings, integers or booleans"):
        from_predictions([[1], [0]], [1, 0])


def test_leading_dims_need_names():
    with pytest.raises(TypeError, match=r'by=\{"fold": fold\}'):
        from_predictions([1, 0], [1, 0], by=[0, 1])


# Folds


def test_folds_know_their_design():
    actual, fold = np.tile([0, 1, 1], 20), np.repeat(np.arange(5), 12)
    counts = from_predictions(actual, actual, by={"fold": fold})
    assert counts.n_folds == 5
    assert counts.test_share == 0.2
    assert bool(counts.fixed_totals)
    shuffled = from_predictions(
        actual, actual, by={"fold": np.repeat(np.arange(5), [8, 16, 12, 12, 12])}
    )
    assert not bool(shuffled.fixed_totals)


def test_repeats_need_the_same_folds():
    actual = np.tile([0, 1], 20)
    by = {"repeat": np.repeat([0, 1], 20), "fold": np.tile(np.repeat([0, 1], 10), 2)}
    counts = from_predictions(actual, actual, by=by)
    assert counts.dims == ("repeat", "fold", "actual", "predicted")
    assert (counts.n_folds.item(), bool(counts.fixed_totals)) == (2, True)
    with pytest.raises(ValueError, match="Some folds have no examples"):
        from_predictions(actual, actual, by=by | {"fold": np.repeat([0, 1, 2], [20, 10, 10])})


def test_folds_of_one_class_and_classes_never_predicted_are_accepted():
    counts = from_predictions([0, 0, 1, 1], [0, 0, 0, 0], by={"fold": [0, 0, 1, 1]})
    np.testing.assert_array_equal(counts.values, [[[2, 0], [0, 0]], [[0, 0], [2, 0]]])
    assert not bool(counts.fixed_totals)


def test_ragged_groups_are_accepted():
    by = {"group": [0, 0, 0, 1], "classifier": ["a", "b", "a", "a"]}
    counts = from_predictions([0, 1, 1, 1], [0, 1, 0, 1], by=by)
    assert counts.sel(group=1, classifier="b").sum() == 0


# Tables


class Foreign:
    """A table of another library."""

    def to_pandas(self):
        return pd.DataFrame({"actual": [0, 1], "predicted": [0, 1]})


@pytest.mark.parametrize("frame", [Foreign(), {"actual": [0, 1], "predicted": [0, 1]}])
def test_any_table_that_pandas_takes(frame):
    np.testing.assert_array_equal(from_frame(frame).values, np.eye(2))


def test_columns_by_name():
    frame = pd.DataFrame(
        {"y": [0, 1, 1, 0], "yhat": [0, 1, 0, 0], "cv": [0, 0, 1, 1], "n": [1, 2, 3, 4]}
    )
    keywords = {"actual": "y", "predicted": "yhat", "weights": "n"}
    counts = from_frame(frame, by={"fold": "cv"}, **keywords)
    np.testing.assert_array_equal(counts.values, [[[1, 0], [0, 2]], [[4, 0], [3, 0]]])
    for by in ("cv", ["cv"]):
        assert from_frame(frame, by=by, **keywords).dims[0] == "cv"


def test_a_missing_column_is_named_with_those_there_are():
    frame = pd.DataFrame({"truth": [0, 1], "pred": [0, 1]})
    with pytest.raises(ValueError, match=r"mean 'pred'.*'truth' or 'pred'"):
        from_frame(frame, actual="truth")


def test_tables_need_no_labels():
    table, labels, coords = tabulate(["x", "y"], ["y", "y"], by={"step": [2, 1]})
    np.testing.assert_array_equal(table, [[[0, 0], [0, 1]], [[0, 1], [0, 0]]])
    assert (labels.tolist(), coords["step"].tolist()) == (["x", "y"], [1, 2])


def test_a_design_that_is_known_is_not_worked_out():
    fold = [0, 0, 0, 1, 1, 1]
    actual, predicted = [0, 1, 1, 0, 0, 1], [0, 1, 0, 0, 1, 1]
    given = {"fixed_totals": False, "test_share": 0.2}
    counts = from_predictions(actual, predicted, by={"fold": fold}, design=given)
    assert (counts.fixed_totals.item(), counts.test_share.item()) == (False, 0.2)
    assert counts.n_folds.item() == 2
    with pytest.raises(ValueError, match="Unknown part"):
        from_predictions(actual, predicted, by={"fold": fold}, design={"folds": 2})
    with pytest.raises(ValueError, match="test_share"):
        from_predictions(actual, predicted, by={"fold": fold}, design={"test_share": 2})


def test_labels_of_tensorflow_are_text():
    said = [np.array([each.encode() for each in some], object) for some in (["a", "ä"], ["a", "a"])]
    counts = from_predictions(*said, positive="ä")
    assert counts.identical(from_predictions(["a", "ä"], ["a", "a"], positive="ä"))
