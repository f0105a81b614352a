"""Figures as users of matplotlib and of notebooks expect them."""

import matplotlib.pyplot as plt
import nbclient
import nbformat
import numpy as np
import pytest

import bayescm as bcm
from bayescm.plots import style

CELLS = [
    (
        "import bayescm as bcm, matplotlib.pyplot as plt\n"
        "c = bcm.from_cells(tp=9, fn=1, fp=2, tn=8)",
        0,
    ),
    ("bcm.plot_matrix(c)", 1),
    ("bcm.plot_matrix(c);", 1),
    ("f = bcm.plot_matrix(c)", 1),
    ("f", 1),
    ("f = bcm.plot_matrix(c)\nplt.show()", 1),
    ("for per in ['actual', 'predicted']:\n    bcm.plot_matrix(c, per=per)", 2),
    ("_, ax = plt.subplots()\nbcm.plot_matrix(c, ax=ax)", 1),
    ("_, ax = plt.subplots()\nbcm.plot_matrix(c, ax=ax);", 1),
    ("bcm.plot_matrix(c)\nbcm.plot_matrix(c)", 2),
    ("assert plt.get_fignums() == []", 0),
]


@pytest.mark.long
@pytest.mark.slow
def test_a_notebook_shows_every_figure_once(monkeypatch):
    monkeypatch.delenv("MPLBACKEND", raising=False)
    cells = [nbformat.v4.new_code_cell(source) for source, _ in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    pictures = [
        sum("image/png" in output.get("data", {}) for output in cell.outputs)
        for cell in notebook.cells
    ]
    assert pictures == [number for _, number in CELLS]


def test_a_figure_stays_with_pyplot(two):
    figure = bcm.plot_matrix(two)
    assert plt.gcf() is figure
    assert len(plt.get_fignums()) == 1


def test_what_fails_leaves_no_figure_behind(two, three):
    with pytest.raises(ValueError, match="one density per prior"):
        bcm.plots.plot_priors(three, {"flat": 1.0}, "recall")
    with pytest.raises(TypeError, match="ax must be matplotlib axes, not a module"):
        bcm.plot_matrix(two, ax=plt)
    assert plt.get_fignums() == []


SCORES = bcm.from_scores(np.arange(20) % 3 == 0, np.arange(20) % 7)
FOLDS = bcm.from_matrix([[[6, 4], [3, 7]], [[7, 3], [2, 8]]], dims=("fold",))
WEEKS = FOLDS.rename(fold="step")
PAIR = bcm.from_classifiers([1, 0, 1, 1, 0], {"a": [1, 0, 0, 1, 1], "b": [1, 1, 1, 1, 0]})
ONE_AXES = {
    "posterior": lambda two, ax: bcm.plot_posterior(two, "f1", ax=ax),
    "forest": lambda two, ax: bcm.plot_forest(two, ["f1", "recall"], ax=ax),
    "matrix": lambda two, ax: bcm.plot_matrix(two, ax=ax),
    "region": lambda two, ax: bcm.plots.plot_region(two, draws=500, ax=ax),
    "priors": lambda two, ax: bcm.plots.plot_priors(two, {"flat": 1.0}, "f1", ax=ax),
    "plan": lambda two, ax: bcm.plots.plot_plan("recall", expect=0.8, n=50, ax=ax),
    "differences": lambda two, ax: bcm.plot_differences(bcm.compare(PAIR, "accuracy"), ax=ax),
    "ranks": lambda two, ax: bcm.plot_ranks(PAIR, "accuracy", draws=500, ax=ax),
    "tiers": lambda two, ax: bcm.plots.plot_tiers(PAIR, "accuracy", draws=500, ax=ax),
    "history": lambda two, ax: bcm.plot_history(bcm.online.history(WEEKS, "f1"), ax=ax),
    "omega": lambda two, ax: bcm.plots.plot_omega(FOLDS, "recall", ax=ax),
    "roc": lambda two, ax: bcm.plot_roc(SCORES, ax=ax),
    "precision_recall": lambda two, ax: bcm.plots.plot_precision_recall(SCORES, ax=ax),
    "curve_numbers": lambda two, ax: bcm.plots.plot_curve_numbers(SCORES, ax=ax),
    "threshold": lambda two, ax: bcm.plots.plot_threshold(SCORES, "f1", ax=ax),
}


@pytest.mark.long
@pytest.mark.parametrize("name", ONE_AXES)
def test_plots_of_one_panel_draw_on_the_users_own(two, name):
    with plt.style.context("dark_background"):
        figure, axes = plt.subplots(1, 2)
        before = len(axes[0].get_children())
        assert ONE_AXES[name](two, axes[1]) is figure
        assert len(axes[0].get_children()) == before
        assert axes[1].has_data()
        assert axes[1].get_title()
        assert len(plt.get_fignums()) == 1


def test_ax_is_for_one_panel(two):
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="ax is for one panel"):
        bcm.plot_posterior(two, ["f1", "recall"], ax=ax)


def test_colours_stand_out_from_the_background_of_the_style():
    def contrast(first, second):
        bright, dim = sorted((luminance(first), luminance(second)), reverse=True)
        return (bright + 0.05) / (dim + 0.05)

    for name in ("default", "dark_background"):
        with plt.style.context(name):
            colours = [style.color(i) for i in range(style.MOST_COLORS)]
            assert min(contrast(each, style.background()) for each in colours) > 2
            assert contrast(style.muted(), style.background()) > 4.5  # readable text (WCAG 2)
            for share in np.linspace(0, 1, 11):
                shade = style.colormap()(share)
                assert contrast(style.text_color_on(share), shade) > 3


def luminance(colour):
    """Return the relative luminance of WCAG 2."""
    rgb = np.array(plt.matplotlib.colors.to_rgb(colour))
    return np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92) @ [
        0.2126,
        0.7152,
        0.0722,
    ]


@pytest.mark.long
def test_long_names_leave_room_for_the_plot():
    name = "gradient boosting with isotonic calibration and early stopping, fold 3"
    pair = {name: [1, 0, 0, 1, 1], f"{name} again": [1, 1, 1, 1, 0]}
    table = bcm.compare(bcm.from_classifiers([1, 0, 1, 1, 0], pair), ["accuracy", "mcc"])
    figure = bcm.plot_differences(table)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert axes.get_position().width > 0.4
    boxes = [tick.get_window_extent() for tick in axes.get_yticklabels()]
    assert boxes[0].y0 >= boxes[1].y1 or boxes[1].y0 >= boxes[0].y1


@pytest.mark.long
def test_figures_of_a_paper_have_its_width_and_its_letters(two):
    wide = bcm.plot_posterior(two, ["precision", "recall", "f1"])
    with bcm.plots.paper_columns(1, width=3.3, font_size=7):
        narrow = bcm.plot_posterior(two, ["precision", "recall", "f1"])
    assert narrow.get_figwidth() == 3.3
    assert narrow.axes[0].title.get_fontsize() == pytest.approx(0.7 * 9)
    narrow.canvas.draw()
    labels = [label for axes in narrow.axes for label in axes.get_xticklabels()]
    assert [label.get_fontsize() for label in labels] == pytest.approx([7] * len(labels), abs=0.01)
    assert wide.axes[0].title.get_fontsize() == 9
    assert bcm.plot_posterior(two, "f1").get_figwidth() > 4
    with bcm.plots.paper_columns(2):
        assert bcm.plot_forest(two, "f1").get_figwidth() == pytest.approx(7.2)


def test_a_size_of_paper_is_a_number_above_0():
    with (
        pytest.raises(ValueError, match="columns must be a number above 0"),
        bcm.plots.paper_columns(0),
    ):
        pass


@pytest.mark.long
def test_fonts_are_embedded_as_truetype(two, tmp_path):
    bcm.plot_forest(two, "f1").savefig(tmp_path / "forest.pdf")
    content = (tmp_path / "forest.pdf").read_bytes()
    assert b"/FontFile2" in content
    assert b"/Type3" not in content
