import numpy as np
import pytest

import bayescm as bcm


def texts(figure):
    return [each.get_text().split("\n") for each in figure.axes[0].texts]


def test_cells_say_count_share_and_interval(two):
    figure = bcm.plot_matrix(two)
    low, high = 100 * bcm.interval(two, "recall").values
    assert texts(figure)[-1] == ["65", "81.2%", f"[{low:.1f}, {high:.1f}]"]
    assert "positive class: sick" in figure.get_suptitle()
    axes = figure.axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["well\nn = 65", "sick\nn = 80"]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["well\nn = 45", "sick\nn = 100"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted class", "actual class")


@pytest.mark.parametrize(
    ("per", "share", "measure"), [("predicted", "65.0%", "precision"), ("all", "44.8%", None)]
)
def test_shares_of_columns_and_of_all(two, per, share, measure):
    shown = texts(bcm.plot_matrix(two, per=per, kind="eti", prob=0.8))[-1]
    assert shown[1] == share
    if measure:
        low, high = 100 * bcm.interval(two, measure, kind="eti", prob=0.8).values
        assert shown[2] == f"[{low:.1f}, {high:.1f}]"


def test_a_confusion_never_seen_may_yet_happen(three):
    assert texts(bcm.plot_matrix(three))[2] == ["0", "0.0%", "[0.0, 17.1]"]


def test_of_a_fit_the_models_shares(tree):
    count, share, _ = texts(bcm.plot_matrix(tree))[-1]
    assert count == "65"
    assert float(share.removesuffix("%")) == pytest.approx(80.9, abs=0.5)


def test_a_class_without_examples():
    counts = bcm.from_matrix([[5, 1, 0], [2, 7, 0], [0, 0, 0]], labels=list("abc"))
    assert texts(bcm.plot_matrix(counts))[-1][1] == "no examples"


def ends_of_true_positives(figure):
    return [float(end) / 100 for end in texts(figure)[-1][2].strip("[]").split(",")]


@pytest.mark.long
@pytest.mark.parametrize(
    ("per", "measure"), [("actual", "recall"), ("predicted", "precision"), ("all", "hits")]
)
def test_of_folds_the_shares_are_those_of_their_model(per, measure):
    def hits(cells):
        return cells[..., 1, 1] / cells.sum((-2, -1))

    tp = np.array([28, 17, 25, 12, 29])
    folds = bcm.from_cells(tp=tp, fn=30 - tp, fp=[4, 9, 2, 12, 5], tn=40).rename(batch="fold")
    wanted = bcm.interval(folds, hits if measure == "hits" else measure, kind="eti")
    figure = bcm.plot_matrix(folds, per=per, kind="eti")
    assert ends_of_true_positives(figure) == pytest.approx(wanted.values.tolist(), abs=0.01)
    assert texts(figure)[-1][0] == "111"
    assert "by the model" in figure.get_suptitle()


def test_at_a_prevalence_columns_are_of_that_population(two):
    rare = bcm.at_prevalence(two, 0.03)
    wanted = bcm.interval(rare, "precision", kind="eti").values.tolist()
    figure = bcm.plot_matrix(rare, per="predicted", kind="eti")
    assert ends_of_true_positives(figure) == pytest.approx(wanted, abs=0.002)


def test_a_named_model_and_its_prior(three, tree):
    prior = {"model": "dirichlet_multinomial", "concentration": 4.0}
    wanted = bcm.interval(three, "recall", kind="eti", **prior).values[-1].tolist()
    figure = bcm.plot_matrix(three, kind="eti", **prior)
    assert ends_of_true_positives(figure) == pytest.approx(wanted, abs=0.01)
    with pytest.raises(ValueError, match="has its own model"):
        bcm.plot_matrix(tree, concentration=4.0)


@pytest.mark.long
def test_many_classes_are_ordered_by_error_with_an_interval_each():
    cells = 20 * np.eye(30, dtype=int)
    cells[7] = 1
    counts = bcm.from_matrix(cells, labels=[f"a rather long class {i}" for i in range(30)])
    figure = bcm.plot_matrix(counts)
    matrix, beside, _ = figure.axes
    assert matrix.get_yticklabels()[0].get_text().endswith("class 7  30")
    assert len(matrix.texts) == 30 + 29
    low, high = beside.collections[0].get_segments()[0][:, 0]
    expected = bcm.answers.proportion(1, 29)
    np.testing.assert_allclose([low, high], expected)
    figure.draw_without_rendering()
    boxes = [each.get_window_extent() for each in matrix.get_xticklabels()]
    assert min(box.y0 for box in boxes) >= 0
    first = bcm.plot_matrix(counts, order="labels").axes[0].get_yticklabels()[0]
    assert first.get_text().endswith("class 0  20")


@pytest.mark.long
def test_words_stay_inside_their_cells(two):
    figure = bcm.plot_matrix(two * 10**6)
    figure.draw_without_rendering()
    axes = figure.axes[0]
    cell = axes.get_window_extent().width / 2
    assert max(each.get_window_extent().width for each in axes.texts) < cell


@pytest.mark.parametrize("unused", ["draws", "random_seed", "n", "accuracy"])
def test_keywords_without_effect_on_proportions_are_refused(two, unused):
    with pytest.raises(ValueError, match=f"{unused}.*name a model"):
        bcm.plot_matrix(two, **{unused: 100})


def test_draws_and_their_seed_are_of_a_model(two):
    model = {"model": "dirichlet_multinomial", "draws": 200}
    first, again, other = (
        texts(bcm.plot_matrix(two, random_seed=seed, **model)) for seed in (1, 1, 2)
    )
    assert first == again != other


def test_what_cannot_be_drawn(classifiers):
    with pytest.raises(ValueError, match="shows one matrix"):
        bcm.plot_matrix(classifiers)
    with pytest.raises(ValueError, match="The plot would"):
        bcm.plot_matrix(bcm.from_matrix(np.ones((101, 101), int)))
    with pytest.raises(ValueError, match="Unknown per"):
        bcm.plot_matrix(classifiers, per="row")


def test_class_names_in_one_column_do_not_overlap():
    counts = np.full((6, 6), 3) + 30 * np.eye(6, dtype=int)
    with bcm.plots.paper_columns(1):
        figure = bcm.plot_matrix(bcm.from_matrix(counts, labels=list("abcdef")))
    assert {tick.get_rotation() for tick in figure.axes[0].get_xticklabels()} == {45}
