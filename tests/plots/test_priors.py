import numpy as np
import pytest

import bayescm as bcm


@pytest.mark.parametrize("measure", ["f1", "mcc", lambda cells: cells[..., 1, 1]])
def test_a_density_for_every_prior(two, measure):
    experts = bcm.priors.elicit(precision=0.6, recall=0.65, accuracy=0.6, weight=20, like=two)
    figure = bcm.plot_priors(two, measure, {"flat": 1.0, "experts": experts})
    lines = figure.axes[0].lines
    assert [line.get_label() for line in lines] == ["flat", "experts"]
    for line in lines:
        assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(1, abs=0.02)


def test_one_density_each(two, three):
    with pytest.raises(ValueError, match="no priors"):
        bcm.plot_priors(two, "f1", {})
    with pytest.raises(ValueError, match="one density"):
        bcm.plot_priors(three, "recall", {"flat": 1.0})
