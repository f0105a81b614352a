"""Outcomes of the same classifiers on several sets of examples, combined along a dim."""

import numpy as np
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.evidence.outcomes import counts_of

RNG = np.random.default_rng(3)


def outcomes(size, *, names=("a", "b"), by=None):
    actual = RNG.integers(0, 2, size)
    wrong = {name: RNG.random(size) < 0.2 for name in names}
    answers = {name: np.where(wrong[name], 1 - actual, actual) for name in names}
    return bcm.from_classifiers(actual, answers, labels=[0, 1], by=by)


SETS = {"first": outcomes(40), "second": outcomes(70)}


def test_each_member_is_there_with_its_own_matrices():
    joined = bcm.combine(SETS, dim="data_set")
    assert joined["data_set"].values.tolist() == ["first", "second"]
    for name, member in SETS.items():
        one = counts_of(joined.sel(data_set=name, drop=True))
        xr.testing.assert_equal(one, counts_of(member))


def test_pairs_are_compared_within_each_member_as_by_itself():
    table = bcm.compare(bcm.combine(SETS, dim="data_set"), "accuracy")
    assert table["paired"].all()
    for name, member in SETS.items():
        (row,) = table[table["data_set"] == name].to_dict("records")
        (alone,) = bcm.compare(member, "accuracy").to_dict("records")
        for column in ("mean", "lower", "upper", "p_better"):
            assert row[column] == pytest.approx(alone[column], abs=1e-6)


def test_intervals_are_those_of_each_member():
    table = bcm.summary(bcm.combine(SETS, dim="data_set"), "f1")
    alone = bcm.summary(SETS, "f1", dim="data_set")
    columns = ["data_set", "classifier", "mean", "lower", "upper"]
    for row, of_member in zip(
        table[columns].itertuples(index=False), alone[columns].itertuples(index=False), strict=True
    ):
        assert row[:2] == of_member[:2]
        assert row[2:] == pytest.approx(of_member[2:], abs=1e-9)


def test_classifiers_are_told_by_their_names():
    turned = SETS["second"].isel(classifier=[1, 0])
    joined = bcm.combine({"first": SETS["first"], "second": turned}, dim="data_set")
    xr.testing.assert_identical(joined, bcm.combine(SETS, dim="data_set"))


def test_further_dims_are_kept():
    folds = [outcomes(40, by={"fold": np.arange(40) % 2}) for _ in range(3)]
    joined = bcm.combine(folds, dim="data_set")
    sizes = {name: joined["counts"].sizes[name] for name in ("data_set", "fold")}
    assert sizes == {"data_set": 3, "fold": 2}


@pytest.mark.parametrize(
    ("members", "dim", "said"),
    [
        (SETS, "classifier", "outcomes are not combined along classifier"),
        ([SETS["first"], outcomes(9, names=("a", "c"))], "data_set", "the classifiers differ"),
        ([SETS["first"], SETS["first"].assign(halves=3)], "data_set", "only outcomes"),
        (
            [SETS["first"], SETS["second"].assign_coords(positive=0)],
            "data_set",
            "positive differs",
        ),
    ],
)
def test_what_does_not_belong_together_is_refused(members, dim, said):
    with pytest.raises(ValueError, match=said):
        bcm.combine(members, dim=dim)


def test_counts_and_outcomes_are_not_combined():
    with pytest.raises(TypeError):
        bcm.combine([SETS["first"], bcm.from_cells(tp=1, fn=2, fp=3, tn=4)], dim="data_set")


def test_one_set_of_outcomes_is_not_combined():
    with pytest.raises(TypeError, match="one piece of evidence"):
        bcm.combine(SETS["first"], dim="data_set")


def test_the_folds_of_several_data_sets_are_results_by_their_measure():
    rng = np.random.default_rng(4)
    sets = {}
    for name in ("iris", "wine"):
        actual, fold = rng.integers(0, 2, 60), np.arange(60) % 5
        answers = {
            k: np.where(rng.random(60) < p, actual, 1 - actual) for k, p in (("a", 0.9), ("b", 0.7))
        }
        sets[name] = bcm.from_classifiers(actual, answers, positive=1, by={"fold": fold})
    together = bcm.combine(sets, dim="data_set")
    measured = bcm.measure(together, "f1")
    results = bcm.from_results(measured)
    assert dict(results.sizes) == {"data_set": 2, "classifier": 2, "run": 5}
    assert (results["measured"].item(), results["test_share"].item()) == ("f1", 0.2)
    alone = bcm.measure(sets["wine"], "f1")["f1"].sel(classifier="b")
    np.testing.assert_array_equal(results["result"].sel(data_set="wine", classifier="b"), alone)
    assert bcm.compare(bcm.from_results(measured["f1"]))["measure"].tolist() == ["f1"]
    for evidence in (sets, together, sets["iris"]):
        with pytest.raises(TypeError, match=r"pass its measure: from_results\(measure\("):
            bcm.from_results(evidence)
    with pytest.raises(ValueError, match="dim='data_set'"):
        bcm.combine(sets)
    assert bcm.compare(sets, "f1")["data_set"].tolist() == ["iris", "wine"]
    with pytest.raises(ValueError, match="pass dim='data_set'"):
        bcm.joint_interval(sets, "f1")


# Data sets with other classes: the measure of every fold, each data set with its own classes.


def folds_of(labels, positive, size=60, folds=5):
    actual = np.array(labels)[RNG.integers(0, len(labels), size)]
    answers = {
        name: np.where(RNG.random(size) < share, actual, np.array(labels)[0])
        for name, share in {"a": 0.9, "b": 0.8}.items()
    }
    by = {"fold": np.arange(size) % folds}
    return bcm.from_classifiers(actual, answers, labels=labels, positive=positive, by=by)


OTHER_CLASSES = {
    "two": folds_of([0, 1], 1),
    "ill": folds_of(["ill", "well"], "ill"),
    "three": folds_of(["x", "y", "z"], None),
}


def test_measures_of_data_sets_with_other_classes_are_those_of_each_by_itself():
    values = bcm.measure(OTHER_CLASSES, "f1_macro", dim="data_set")["f1_macro"]
    assert values.dims == ("data_set", "fold", "classifier")
    for name, member in OTHER_CLASSES.items():
        alone = bcm.measure(member, "f1_macro")["f1_macro"]
        np.testing.assert_array_equal(values.sel(data_set=name), alone)
    results = bcm.from_results(bcm.measure(OTHER_CLASSES, "f1_macro", dim="data_set"))
    assert dict(results.sizes) == {"data_set": 3, "classifier": 2, "run": 5}
    assert results["test_share"] == 0.2


def test_the_positive_class_is_that_of_each_data_set():
    two = {name: OTHER_CLASSES[name] for name in ("two", "ill")}
    values = bcm.measure(two, "recall", dim="data_set")["recall"]
    for name, member in two.items():
        np.testing.assert_array_equal(
            values.sel(data_set=name), bcm.measure(member, "recall")["recall"]
        )


def test_a_number_for_each_class_is_refused_where_classes_differ():
    with pytest.raises(ValueError, match="one number of all classes, such as f1_macro"):
        bcm.measure(OTHER_CLASSES, "f1", dim="data_set")


def test_a_mapping_of_what_has_the_dim_is_asked_for_another_name():
    with pytest.raises(ValueError, match='such as dim="data_set"'):
        bcm.measure(OTHER_CLASSES, "f1_macro")
    with pytest.raises(TypeError, match="dim='data_set'"):
        bcm.from_results(OTHER_CLASSES)


def test_data_sets_with_other_numbers_of_folds_need_the_share_that_is_tested():
    folds = {"five": folds_of([0, 1], 1), "three": folds_of([0, 1], 1, folds=3)}
    values = bcm.measure(folds, "accuracy", dim="data_set")
    with pytest.raises(ValueError, match="differ in their number of folds"):
        bcm.from_results(values)
    results = bcm.from_results(values, test_share=0.2)
    missing = np.isnan(results["result"]).any("classifier").sum("run")
    assert missing.values.tolist() == [0, 2]


def test_counts_with_other_labels_are_added_by_combine():
    x = bcm.from_matrix([[9, 1], [2, 8]], labels=["a", "b"])
    y = bcm.from_matrix([[5, 0, 2], [1, 6, 0], [0, 3, 7]], labels=["c", "b", "a"])
    total = bcm.combine([x, y], dim="batch").sum("batch")
    assert total.sum() == x.sum() + y.sum()
    assert total.sel(actual="a", predicted="a") == 16
    assert (x + y).sum() < x.sum() + y.sum()  # what the documentation warns of


def test_a_sum_that_lost_the_positive_class_is_refused():
    x, y = (
        bcm.from_matrix(np.eye(3, dtype=int), labels=labels, positive=labels[-1])
        for labels in (["a", "b", "sick"], ["a", "b", "ill"])
    )
    lost = x + y.assign_coords(positive="sick")
    with pytest.raises(ValueError, match=r"positive class is not among.*'sick'.*combine"):
        bcm.summary(lost, "accuracy")
