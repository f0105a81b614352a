"""Learning curves: nested training sets, tested on the same folds."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB

import bayescm as bcm

RNG = np.random.default_rng(6)
Y = np.repeat([0, 1], [60, 40])
X = RNG.normal(Y[:, None] * [2.0, 0.5, 0.0], 1.0)


class Counts(ClassifierMixin, BaseEstimator):
    """Right on as many examples as it has seen of each class, in per cent."""

    def fit(self, x, y):
        self.classes_, self.seen_ = np.unique(y, return_counts=True)
        return self

    def predict(self, x):
        return np.full(len(x), 1 - int(self.seen_.sum() == 90))


@pytest.mark.long
def test_sizes_are_numbers_or_shares_and_every_size_is_summarised_by_itself():
    table = bcm.learners.learning_curve(
        Counts(), X, Y, [10, 0.5, 1.0], cv=10, measures=["recall", "f1"]
    )
    assert table["size"].tolist() == [10, 10, 45, 45, 90, 90]
    assert table["point"].tolist()[:2] == [1.0, pytest.approx(80 / 140)]
    assert table["point"].tolist()[4] == 0
    folds = bcm.cross_confusion(Counts(), X, Y, cv=10)
    expected = bcm.summary(folds, "recall").iloc[0]
    for name in ("lower", "upper", "mean"):
        assert table.loc[4, name] == pytest.approx(expected[name], abs=1e-9)


@pytest.mark.long
def test_a_plot_has_a_line_for_each_classifier():
    two = {"bayes": GaussianNB(), "counts": Counts()}
    table = bcm.learners.learning_curve(two, X, Y, [20, 80], cv=5)
    figure = bcm.plots.plot_learning_curve(table)
    lines = figure.axes[0].get_lines()
    assert [line.get_label() for line in lines] == ["bayes", "counts"]
    np.testing.assert_array_equal(lines[0].get_xdata(), [20, 80])
    assert "band: 95% highest-density interval" in figure.get_suptitle()
    plt.close(figure)
    with pytest.raises(ValueError, match="The table has several measures"):
        bcm.plots.plot_learning_curve(table.assign(measure=["a", "b"] * 2))
    with pytest.raises(ValueError, match="not a learning curve"):
        bcm.plots.plot_learning_curve(table[["size", "mean"]])


@pytest.mark.parametrize("sizes", [[95], [1], [2.5], [True], [], 50, ["ten"], [np.nan], [np.inf]])
def test_impossible_sizes_are_refused(sizes):
    with pytest.raises(ValueError, match="size"):
        bcm.learners.learning_curve(Counts(), X, Y, sizes)


def test_a_size_without_one_of_the_classes_is_refused():
    rare = np.repeat([0, 1], [90, 10])
    with pytest.raises(ValueError, match="examples lacks examples of at least one class"):
        bcm.learners.learning_curve(Counts(), X, rare, [3], cv=5)


class Knows(ClassifierMixin, BaseEstimator):
    """Right on the groups that it has seen, else it says 0."""

    def fit(self, x, y):
        self.classes_, self.seen_ = np.unique(y), dict(zip(x[:, 0], y, strict=True))
        return self

    def predict(self, x):
        return np.array([self.seen_.get(each, 0) for each in x[:, 0]])


@pytest.mark.long
def test_groups_are_not_tested_on_what_they_were_trained_on():
    group = np.arange(100) // 5
    known = {"cv": 5, "measures": "recall"}
    apart = bcm.learners.learning_curve(
        Knows(), group[:, None], Y, [0.5, 1.0], groups=group, **known
    )
    assert (apart["point"] == 0).all()
    mixed = bcm.learners.learning_curve(Knows(), group[:, None], Y, [0.5, 1.0], **known)
    assert (mixed["point"] > 0.8).all()
    assert mixed["sd"].iloc[1] < apart["sd"].iloc[1]
