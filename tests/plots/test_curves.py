"""Pictures of curves say what their bands are."""

import numpy as np
import pytest

import bayescm as bcm

RNG = np.random.default_rng(1)
ACTUAL = (RNG.random(80) < 0.4).astype(int)
SCORE = RNG.normal(1.5 * ACTUAL, 1)
ONE = bcm.from_scores(ACTUAL, SCORE)
TWO = bcm.from_scores(ACTUAL, {"a": SCORE, "b": -SCORE})


@pytest.mark.long
@pytest.mark.parametrize("plot", [bcm.plot_roc, bcm.plots.plot_precision_recall])
@pytest.mark.parametrize(("simultaneous", "word"), [(True, "simultaneous"), (False, "pointwise")])
def test_the_picture_says_which_band_it_is(plot, simultaneous, word):
    figure = plot(ONE, simultaneous=simultaneous)
    assert word in figure.get_suptitle()
    assert "positive class: 1" in figure.get_suptitle()


@pytest.mark.long
@pytest.mark.parametrize("plot", [bcm.plot_roc, bcm.plots.plot_precision_recall])
def test_a_line_and_a_label_for_each_classifier(plot):
    axes = plot(TWO).axes[0]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert [label[0] for label in labels] == ["a", "b"]
    few, many = (len(plot(ONE, lines=lines).axes[0].lines) for lines in (0, 5))
    assert many == few + 5


@pytest.mark.long
def test_the_operating_point_is_the_examples_own():
    axes = bcm.plot_roc(ONE, threshold=0.7).axes[0]
    (point,) = [each for each in axes.containers if each.get_label() == "threshold 0.7"]
    x, y = (float(each[0]) for each in point.lines[0].get_data())
    assert x == pytest.approx((SCORE[ACTUAL == 0] >= 0.7).mean(), abs=0.03)
    assert y == pytest.approx((SCORE[ACTUAL == 1] >= 0.7).mean(), abs=0.03)
    assert bcm.plots.plot_precision_recall(ONE, threshold=0.7).axes[0].containers


@pytest.mark.long
def test_a_known_prevalence_is_named():
    figure = bcm.plots.plot_precision_recall(bcm.at_prevalence(ONE, 0.02))
    assert "prevalence 0.02" in figure.get_suptitle()


@pytest.mark.long
def test_numbers_and_thresholds():
    axes = bcm.plots.plot_curve_numbers(TWO, "average_precision").axes[0]
    assert axes.get_xlabel() == "average precision"
    axes = bcm.plots.plot_threshold(ONE, ["f1", "recall"]).axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["F1", "recall"]


@pytest.mark.long
def test_a_measure_of_several_classifiers_is_a_line_each():
    axes = bcm.plots.plot_threshold(TWO, "f1").axes[0]
    names = TWO.classifier.values.tolist()
    found = [text.get_text() for text in axes.get_legend().get_texts()]
    assert found == [f"F1 (classifier {name})" for name in names]


@pytest.mark.long
def test_too_many_curves_are_refused():
    many = bcm.from_scores(ACTUAL, {str(i): SCORE for i in range(8)})
    with pytest.raises(ValueError, match="too many"):
        bcm.plot_roc(many)
    with pytest.raises(ValueError, match="too many"):
        bcm.plots.plot_threshold(many, "f1")


@pytest.mark.long
def test_classifiers_have_display_names():
    names = {"a": "the first", "auc": "area"}
    roc = bcm.plot_roc(TWO, display_names=names).axes[0]
    recall = bcm.plots.plot_precision_recall(TWO, display_names=names).axes[0]
    for axes in (roc, recall):
        assert axes.get_legend().get_texts()[0].get_text().startswith("the first: ")
    numbers = bcm.plots.plot_curve_numbers(TWO, "auc", display_names=names).axes[0]
    assert numbers.get_xlabel() == "area"
    assert numbers.get_legend().get_texts()[0].get_text().startswith("area (classifier the first) ")
