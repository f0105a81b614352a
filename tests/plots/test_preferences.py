"""The matrix of win rates."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.preferences import plot_preferences, win_rates

WINS = pd.DataFrame(
    [[0, 30, 25, 9], [10, 0, 21, 8], [5, 9, 0, 4], [1, 2, 3, 0]], list("wxyz"), list("wxyz")
)
VOTES = bcm.from_preferences(WINS.loc[list("zxyw"), list("zxyw")])


def cells(figure):
    (image,) = figure.axes[0].images
    return np.ma.filled(image.get_array(), np.nan)


@pytest.mark.long
def test_the_strongest_system_comes_first_and_cells_are_win_rates():
    figure = plot_preferences(VOTES)
    axes = figure.axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == list("wxyz")
    rates = cells(figure)
    table = win_rates(VOTES).set_index(["first", "second"])["win_rate"]
    for (first, second), rate in table.items():
        i, j = names.index(first), names.index(second)
        assert rates[i, j] == pytest.approx(100 * rate, abs=1e-9)
        assert rates[j, i] == pytest.approx(100 - 100 * rate, abs=1e-9)
    assert len(axes.texts) == 12
    assert axes.texts[0].get_text().endswith("40 votes")


@pytest.mark.long
def test_some_systems_are_shown_and_all_votes_are_used():
    figure = plot_preferences(VOTES, systems=["z", "w"])
    expected = win_rates(VOTES, reference="z").set_index("first").loc["w", "win_rate"]
    assert cells(figure)[0, 1] == pytest.approx(100 * expected)
    with pytest.raises(ValueError, match="Unknown system"):
        plot_preferences(VOTES, systems=["z", "q"])
    with pytest.raises(ValueError, match="The plot needs 2 to"):
        plot_preferences(VOTES, systems=["z"])


@pytest.mark.long
def test_axes_of_the_user_and_names():
    figure, ax = mpl.pyplot.subplots()
    assert plot_preferences(VOTES, ax=ax, display_names={"w": "Winner"}) is figure
    assert ax.get_yticklabels()[0].get_text() == "Winner"


def test_the_heading_describes_intervals_only_if_cells_have_them():
    assert "interval" in plot_preferences(VOTES).get_suptitle()
    with bcm.plots.paper_columns(1):
        figure = plot_preferences(VOTES)
    assert not figure.axes[0].texts
    assert not figure.get_suptitle()


@pytest.mark.long
def test_many_systems_have_no_numbers():
    rng = np.random.default_rng(1)
    wins = rng.integers(0, 3, (20, 20))
    np.fill_diagonal(wins, 0)
    assert not plot_preferences(bcm.from_preferences(wins)).axes[0].texts
