import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import bayescm as bcm
from bayescm.evidence.cross_validation import count_folds, cross_confusion, cross_predictions
from bayescm.evidence.splits import BlockedThreeByTwo, FiveByTwo

X, Y = load_breast_cancer(return_X_y=True)
X = X[:, :5]
NAMES = np.array(["sick", "well"])[Y]


class Short(GaussianNB):
    """A classifier that answers for one example too few."""

    def predict(self, X):
        return super().predict(X)[1:]


class Picky(ClassifierMixin, BaseEstimator):
    """A classifier that refuses a training set without its favourite example."""

    def __init__(self, favourite=0.0):
        self.favourite = favourite

    def fit(self, x, y):
        if not (x[:, 0] == self.favourite).any():
            raise RuntimeError("my favourite is missing")
        self.classes_ = np.unique(y)
        return self

    def predict(self, x):
        return np.full(len(x), self.classes_[0])


def design(counts):
    names = ("n_folds", "test_share", "fixed_totals")
    return tuple(counts.coords[name].item() for name in names)


def test_counts_are_those_of_scikit_learn_fold_by_fold():
    cv = StratifiedKFold(5, shuffle=True, random_state=2)
    counts = cross_confusion(GaussianNB(), X, Y, cv)
    predicted = cross_val_predict(GaussianNB(), X, Y, cv=cv)
    for fold, (_, test) in enumerate(cv.split(X, Y)):
        expected = confusion_matrix(Y[test], predicted[test])
        np.testing.assert_array_equal(counts.sel(fold=fold), expected)
    assert counts.dims == ("fold", "actual", "predicted")
    assert counts.positive.item() == 1
    assert design(counts) == (5, pytest.approx(0.2), True)


@pytest.mark.long
@pytest.mark.parametrize(
    ("cv", "dims", "expected"),
    [
        (10, {"fold": 10}, (10, 0.1, True)),
        (2, {"fold": 2}, (2, 0.5, True)),
        (KFold(7, shuffle=True, random_state=0), {"fold": 7}, (7, 1 / 7, False)),
        (LeaveOneOut(), {"fold": 60}, (60, 1 / 60, True)),
        (BlockedThreeByTwo(random_state=0), {"repeat": 3, "fold": 2}, (2, 0.5, True)),
        (FiveByTwo(random_state=0), {"repeat": 5, "fold": 2}, (2, 0.5, True)),
        (
            RepeatedStratifiedKFold(n_splits=4, n_repeats=3, random_state=0),
            {"repeat": 3, "fold": 4},
            (4, 0.25, True),
        ),
        (
            StratifiedShuffleSplit(n_splits=30, test_size=0.1, random_state=0),
            {"fold": 30},
            (10, 0.1, True),
        ),
        (ShuffleSplit(7, test_size=0.2, random_state=0), {"fold": 7}, (7, 0.2, False)),
        (ShuffleSplit(10, test_size=0.3, random_state=0), {"fold": 10}, (5, 0.3, False)),
    ],
    ids=lambda each: type(each).__name__ if hasattr(each, "split") else None,
)
def test_every_splitter_tells_its_design(cv, dims, expected):
    x, y = X[:60], np.resize([0, 0, 1], 60)
    counts = cross_confusion(GaussianNB(), x, y, cv)
    assert {dim: counts.sizes[dim] for dim in dims} == dims
    assert counts.dims == (*dims, "actual", "predicted")
    share = pytest.approx(expected[1], abs=0.01)
    assert design(counts) == (expected[0], share, expected[2])


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The numerical error of a bound")  # of tests of eight examples
@pytest.mark.parametrize("splits", [2, 3, 7, 10])
@pytest.mark.parametrize("share", [0.05, 0.33, 0.9])
def test_random_splits_have_an_answer_from_every_model_of_folds(splits, share):
    cv = ShuffleSplit(splits, test_size=share, random_state=0)
    counts = cross_confusion(GaussianNB(), X, Y, cv)
    for model in ("pooled_folds", "averaged_folds", "hierarchical_folds"):
        low, high = bcm.interval(counts, "recall", model=model).values
        assert 0 <= low < high <= 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("cv", "ratio"),
    [
        (StratifiedShuffleSplit(15, train_size=0.3, test_size=0.2, random_state=0), 0.2 / 0.3),
        (TimeSeriesSplit(5), 10 / 30),
        ([(np.arange(20), np.arange(20, 60)), (np.arange(40, 60), np.arange(40))], 2.0),
    ],
    ids=["shuffled", "series", "by hand"],
)
def test_sizes_of_training_sets_are_recorded_and_used(cv, ratio):
    x, y = X[:60], np.resize([0, 0, 1, 1, 1], 60)
    both = {"bayes": GaussianNB(), "dummy": DummyClassifier(strategy="stratified", random_state=0)}
    counts = cross_confusion(both, x, y, cv)
    assert (counts.test_share / counts.train_size).item() == pytest.approx(ratio, rel=0.02)
    one = counts.sel(classifier="bayes")
    rest = 1 - one.test_share.item()
    t_length = [
        np.ptp(bcm.classical.fold_t(each, "accuracy", method="resampled").values)
        for each in (one, one.assign_coords(train_size=rest))
    ]
    folds = counts.sizes["fold"]
    fuller = one.test_share.item() / rest
    expected = np.sqrt((1 / folds + ratio) / (1 / folds + fuller))
    assert t_length[0] == pytest.approx(t_length[1] * expected, rel=0.02)
    spread = [
        bcm.compare(each, "accuracy")["sd"][0]
        for each in (counts, counts.assign_coords(train_size=rest))
    ]
    assert spread[0] == pytest.approx(spread[1] * expected, rel=0.02)
    for model in ("hierarchical_folds", "averaged_folds"):
        plain, smaller = (
            np.ptp(bcm.interval(each, "accuracy", model=model).values)
            for each in (one.assign_coords(train_size=rest), one)
        )
        assert smaller > plain or fuller == pytest.approx(ratio)


def test_groups_reach_the_splitter():
    groups = np.arange(len(Y)) % 6
    counts = cross_confusion(GaussianNB(), X, Y, GroupKFold(6), groups=groups)
    assert counts.sum(("actual", "predicted")).values.tolist() == np.bincount(groups).tolist()


@pytest.mark.long
def test_groups_are_worth_fewer_examples():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(30), 10)
    y = np.repeat(np.arange(30) % 2, 10)
    x = 0.3 * rng.normal(size=(300, 2)) + 1.5 * rng.normal(size=(30, 2))[groups] + 0.6 * y[:, None]
    both = {"bayes": GaussianNB(), "tree": DecisionTreeClassifier(random_state=0)}
    grouped = cross_confusion(both, x, y, 5, groups=groups)
    assert grouped.design_effect.dims == ("classifier",)
    assert (grouped.design_effect > 1.5).all()
    assert grouped.totals_effect > 8
    assert not grouped.fixed_totals
    single = grouped.drop_vars(["design_effect", "totals_effect"])
    lengths = [np.ptp(bcm.interval(each, "accuracy").values, axis=-1) for each in (grouped, single)]
    assert (lengths[0] > 1.25 * lengths[1]).all()
    # Groups of one example are examples.
    alone = cross_confusion(GaussianNB(), x, y, 5, groups=np.arange(300))
    assert alone.design_effect.item() < 1.1
    assert alone.totals_effect.item() == pytest.approx(1, abs=0.01)
    with pytest.warns(UserWarning, match="The examples come in groups, but pooled_folds treats"):
        bcm.interval(grouped, "accuracy", model="pooled_folds")


def test_a_tiny_class_is_warned_of_and_not_refused():
    y = np.resize([0, 1], 60)
    y[:2] = 2
    with pytest.warns(UserWarning, match="least populated class"):
        counts = cross_confusion(GaussianNB(), X[:60], y, 5)
    assert counts.sizes["fold"] == 5


@pytest.mark.long
def test_several_classifiers_see_the_same_splits():
    both = {"tree": DecisionTreeClassifier(random_state=0), "bayes": GaussianNB()}
    cv = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=1)
    counts = cross_confusion(both, X, NAMES, cv, positive="sick")
    assert counts.dims == ("classifier", "repeat", "fold", "actual", "predicted")
    assert counts.classifier.values.tolist() == ["tree", "bayes"]
    alone = cross_confusion(GaussianNB(), X, NAMES, cv, positive="sick")
    xr.testing.assert_identical(counts.sel(classifier="bayes", drop=True), alone)
    totals = counts.sum("predicted")
    xr.testing.assert_equal(totals[0].drop_vars("classifier"), totals[1].drop_vars("classifier"))


def test_out_of_fold_predictions_are_kept_and_give_the_same_counts():
    cv = BlockedThreeByTwo(random_state=0)
    predictions = cross_predictions({"bayes": GaussianNB()}, X, Y, cv)
    assert predictions.sizes == {"tested": 3 * len(Y), "classifier": 1}
    assert (predictions["actual"] == Y[predictions["example"]]).all()
    counts = count_folds(predictions, labels=[1, 0], positive=0)
    direct = cross_confusion({"bayes": GaussianNB()}, X, Y, cv, labels=[1, 0], positive=0)
    xr.testing.assert_identical(counts, direct)


@pytest.mark.long
def test_data_frames_and_processes_change_nothing():
    frame = pd.DataFrame(X, columns=list("abcde"))
    one = cross_confusion(GaussianNB(), X, Y, 5)
    two = cross_confusion(GaussianNB(), frame, pd.Series(NAMES), 5, n_jobs=2, positive="well")
    np.testing.assert_array_equal(one, two)


def test_shuffling_has_its_seed():
    first, again, other = (
        cross_confusion(GaussianNB(), X, Y, 5, random_state=seed) for seed in (1, 1, 2)
    )
    xr.testing.assert_identical(first, again)
    assert not (first == other).all()


def test_more_than_two_classes():
    counts = cross_confusion(GaussianNB(), *load_iris(return_X_y=True), 5)
    assert counts.shape == (5, 3, 3)
    assert (counts.sum("predicted") == 10).all()


def test_a_class_that_is_never_predicted_keeps_its_column():
    counts = cross_confusion(DummyClassifier(), X, NAMES, 4, positive="sick")
    assert counts.sel(predicted="sick").sum() == 0
    assert counts.shape == (4, 2, 2)


def test_a_failing_estimator_is_named_with_fold_and_cause_and_nothing_is_lost():
    y = np.resize([0, 1], 40)
    x = np.arange(40.0)[:, None]
    both = {"picky": Picky(7.0), "bayes": GaussianNB()}
    with pytest.raises(ValueError, match=r"RuntimeError: my favourite is missing") as info:
        cross_predictions(both, x, y, 5)
    assert isinstance(info.value.__cause__, RuntimeError)
    kept = info.value.predictions
    assert kept["picky"].sizes["tested"] == 32
    assert kept["bayes"].sizes["tested"] == 40


def test_a_failing_estimator_without_a_name():
    y = np.resize([0, 1], 40)
    with pytest.raises(ValueError, match="Picky failed on repeat 0, fold 0"):
        cross_confusion(Picky(-1), np.arange(40.0)[:, None], y, 5)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((GaussianNB(), X, Y, 1), ValueError, "A cross-validation needs two or more folds"),
        (
            (GaussianNB(), X, Y, [(range(100), range(100, 200))]),
            ValueError,
            "Cross-validation needs at least two splits",
        ),
        ((GaussianNB(), X, Y, 400), ValueError, "Every class has at most 357 examples"),
        ((GaussianNB, X, Y), TypeError, "Pass an unfitted scikit-learn classifier, or a mapping"),
        (("tree", X, Y), TypeError, "Pass an unfitted scikit-learn classifier, or a mapping"),
        (({}, X, Y), ValueError, "No classifiers"),
        ((GaussianNB(), X, Y[:-1]), ValueError, "inconsistent numbers"),
        ((GaussianNB(), X, Y[:, None]), ValueError, "y must be one column of labels"),
        ((GaussianNB(), X, np.where(np.arange(len(Y)) == 3, np.nan, Y)), ValueError, "missing"),
        ((Short(), X, Y, 5), ValueError, r"Short failed on repeat 0, fold 0.*shape"),
    ],
)
def test_bad_input(arguments, error, message):
    with pytest.raises(error, match=message):
        cross_confusion(*arguments)


def test_unknown_keyword():
    with pytest.raises(TypeError, match="n_job"):
        cross_confusion(GaussianNB(), X, Y, n_job=2)


def test_public_names():
    assert bcm.cross_confusion is cross_confusion
    assert bcm.evidence.cross_validation.cross_predictions is cross_predictions


def test_progress_bar_goes_to_stderr(capsys):
    cross_confusion(GaussianNB(), X, Y, 3, progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "cross-validation" in captured.err
