"""Plots of pairwise preferences: win rates of all pairs of systems."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayescm.answers.preferences import win_rates
from bayescm.evidence.preferences import as_preferences
from bayescm.measures.display_names import DisplayNames, display_label
from bayescm.plots import style
from bayescm.plots.canvas import canvas
from bayescm.posteriors.preferences import FIRST, SPREAD, TIES, preferences
from bayescm.validate import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WRITTEN = 14  # with more systems, cells contain no numbers
_MOST = 150  # largest number of systems in a plot
# Size of a cell in inches, by the number of systems.
_INCHES = ((6, 0.95), (14, 0.72), (_MOST, 0.16))

_CELL = 0.62  # size in inches of a cell with its numbers, with 10-point text


def plot_preferences(
    votes: xr.Dataset,
    *,
    systems: Sequence[Any] | None = None,
    prob: float = 0.95,
    kind: str = "hdi",
    draws: int | None = None,
    random_seed: int = 0,
    display_names: DisplayNames = None,
    ax: "Axes | None" = None,
    spread: float = SPREAD,
    first: float = FIRST,
    ties: float = TIES,
) -> "Figure":
    """
    Plot the rate at which each system is preferred to each other system.

    Systems are sorted by strength, with the strongest first. The colour of a cell is the win rate
    in percent of the row system over the column system, with ties counting half. With up to
    fourteen systems, cells contain this number, its interval, and the number of votes on the pair.

    Parameters
    ----------
    votes : Dataset
        Result of `bayescm.from_preferences` or `bayescm.from_rankings`.
    systems : sequence of str, optional
        Systems in the plot. By default all systems. The strengths are estimated from all votes.
    prob : float in (0, 1), default 0.95
        Probability of the intervals.
    kind : {"hdi", "eti"}
    draws : int, optional
        Number of posterior draws.
    random_seed : int, default 0
    display_names : mapping of str to str, optional
        Display names of systems.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on. By default a new figure.
    spread, first, ties : float
        Priors. See `bayescm.models.preferences`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there are more than 150 systems, or fewer than two.

    Examples
    --------
    >>> import bayescm as bcm
    >>> figure = plot_preferences(bcm.from_preferences([[0, 14], [6, 0]]))
    >>> print(figure.axes[0].texts[0].get_text())
    67
    [47, 85]
    20 votes
    """
    votes = as_preferences(votes)
    shown = votes["classifier"].values.tolist() if systems is None else [*map(str, systems)]
    if not 2 <= len({*shown}) <= _MOST:
        todo = "name some: systems=[...]"
        raise fail(f"The plot needs 2 to {_MOST} systems", len(shown), "", todo)
    prior: dict[str, Any] = {"spread": spread, "first": first, "ties": ties}
    precision: dict[str, Any] = {"draws": draws, "random_seed": random_seed}
    table = win_rates(votes, systems=shown, prob=prob, kind=kind, **precision, **prior)
    posterior = preferences(votes, **prior)
    strength = posterior.strengths_of(posterior.mode[0][None]).strength[0]
    order = [posterior.names[place] for place in np.argsort(-strength, kind="stable")]
    names = [name for name in order if name in shown]
    place = {name: k for k, name in enumerate(names)}
    number = len(names)
    rates, cells = np.full((number, number), np.nan), {}
    for row in table.to_dict("records"):
        i, j = place[row["first"]], place[row["second"]]
        rates[i, j], rates[j, i] = row["win_rate"], 1 - row["win_rate"]
        ends = (row["lower"], row["upper"])
        cells[i, j] = (row["win_rate"], *ends, row["votes"])
        cells[j, i] = (1 - row["win_rate"], 1 - ends[1], 1 - ends[0], row["votes"])
    side = max(3.0, next(cell for most, cell in _INCHES if number <= most) * number)
    written = [style.wrapped(display_label(name, display_names), 24) for name in names]
    with canvas((side + 2.6, side + 1.2), ax=ax) as page:
        axes = page.axes
        image = axes.imshow(100 * rates, cmap=style.colormap(), vmin=0, vmax=100)
        axes.set_facecolor(style.muted(0.15))
        bar = page.figure.colorbar(image, ax=axes, shrink=0.7, label="win rate of the row (%)")
        bar.outline.set_visible(False)
        readable = (page.figure.get_figwidth() - 2.6 * page.scale) / number > _CELL * page.scale
        has_numbers = number <= _WRITTEN and (readable or not page.is_new)
        if has_numbers:
            for (i, j), (rate, low, high, count) in sorted(cells.items()):
                words = f"{100 * rate:.0f}\n[{100 * low:.0f}, {100 * high:.0f}]\n{count:,} votes"
                color = style.text_color_on(rate)
                axes.text(j, i, words, ha="center", va="center", fontsize=7, color=color)
        size = 9 if number <= _WRITTEN else 6
        axes.set_yticks(range(number), written, fontsize=size)
        rotation = 90 if number > 6 or style.longest_line(written) > 10 else 0
        axes.set_xticks(range(number), written, fontsize=size, rotation=rotation)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_ylabel("preferred")
        axes.set_xlabel("over")
        page.heading(style.interval_words(prob, kind) if has_numbers else "")
    return page.figure
