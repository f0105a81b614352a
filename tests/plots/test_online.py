import numpy as np
import pytest

import bayescm as bcm

RNG = np.random.default_rng(2)
TP = np.array([45, 46, 44] * 5 + [30, 31] * 5)
WEEKS = bcm.from_cells(tp=TP, fn=50 - TP, fp=5, tn=40).rename(batch="step")
PETS = bcm.from_matrix(RNG.integers(1, 30, (4, 3, 3)), labels=["cat", "cow", "dog"], dims=("step",))


@pytest.mark.long
def test_a_panel_for_every_measure_and_the_alarms_at_its_foot():
    history = bcm.online.history(WEEKS, ["recall", "f1"], window=5)
    alarms = bcm.online.alarms(WEEKS, ["recall", "f1"], floor={"recall": 0.8}, window=5)
    figure = bcm.plot_history(history, batches=WEEKS, alarms=alarms, floor={"recall": 0.8})
    assert [axis.get_ylabel() for axis in figure.axes] == ["recall", "F1"]
    labels = [[line.get_label() for line in axis.lines] for axis in figure.axes]
    assert "floor" in labels[0]
    assert "floor" not in labels[1]
    assert {"alarm: batch", "alarm: change"} <= set(labels[0])
    (legend,) = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert len(texts) == len(set(texts))


def test_the_band_is_the_interval():
    history = bcm.online.history(WEEKS, "recall", kind="eti")
    figure = bcm.plot_history(history)
    lower, upper = (line.get_ydata() for line in figure.axes[0].lines[:2])
    np.testing.assert_allclose(np.stack([lower, upper], -1), history["recall"])


@pytest.mark.long
def test_a_panel_for_every_class():
    history = bcm.online.history(PETS, ["recall", "accuracy"])
    figure = bcm.plot_history(history, batches=PETS, alarms=bcm.online.alarms(PETS, "recall"))
    assert len(figure.axes) == 4


def test_too_many_panels_are_refused():
    names = ["recall", "precision", "f1", "specificity", "npv"]
    with pytest.raises(ValueError, match="The plot needs 1 to"):
        bcm.plot_history(bcm.online.history(PETS, names))
