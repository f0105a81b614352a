"""Densities of measures: the posterior, and the prior against it."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayescm.answers.asking import distributions_of
from bayescm.distributions.decision import chance
from bayescm.distributions.discrete import Empirical
from bayescm.measures.catalogue import resolve
from bayescm.measures.labelled import measure, several
from bayescm.plots import common
from bayescm.plots.canvas import canvas
from bayescm.validate import check_kind, check_prob, fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches of a panel, and panels beside each other.
_WIDTH, _HEIGHT, _COLUMNS, _MOST = 3.3, 2.4, 3, 24


def plot_posterior(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measures: str | Callable | Sequence[str | Callable],
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    reference: float | Mapping[str, float] | None = None,
    rope: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
    ax: "Axes | None" = None,
    **keywords: Any,
) -> "Figure":
    """
    Draw the posterior density of measures, each with its mean and interval.

    Where the distribution of a measure is known its own density is drawn, and otherwise a kernel
    estimate from draws. Measures of a future test set (``of="predictive"``) take few values and are
    drawn as steps.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts, outcomes of several classifiers, or a fit.
    measures : str, callable or a sequence of these
        One panel each, and one for every index of any other dims.
    prob : float in (0, 1), default 0.95
        Mass of the interval.
    kind : {"hdi", "eti"}
        Highest density or equal tails.
    reference : float or mapping of measure to float, optional
        A value to compare with, drawn as a line with the probability of exceeding it.
    rope : tuple or mapping of measure to tuple, optional
        Lower and upper end of a region of practical equivalence, drawn with its probability.
    ax : matplotlib.axes.Axes, optional
        Where to draw, if there is one panel; by default a new figure.
    **keywords
        ``of``, and for counts ``model``, ``draws``, ``random_seed`` and the model's own keywords;
        see `bayescm.interval`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a measure is undefined throughout, the rope is empty, or there are too many panels.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> figure = plot_posterior(counts, ["precision", "f1"], reference=0.7)
    >>> len(figure.axes)
    2
    """
    check_prob(prob), check_kind(kind)
    wanted = several(measures)
    found = distributions_of(evidence, wanted, **keywords)
    panels = _panels([template.filled() for _, template in found])
    for distribution, template in found:
        _check_defined(distribution, template.name)
        _check_rope(_for(rope, template.name))
    with canvas(
        _size(len(panels)), ax=ax, number=len(panels), columns=min(_COLUMNS, len(panels))
    ) as page:
        every = iter(zip(page.panels, panels, strict=True))
        for each, (distribution, template) in zip(wanted, found, strict=True):
            ends = distribution.hdi(prob) if kind == "hdi" else distribution.eti(prob)
            curves = common.density(distribution, resolve(each).range)
            means = distribution.mean()
            settings = _for(reference, template.name), _for(rope, template.name)
            marks = _marks(distribution, template.shape, *settings)
            for index in np.ndindex(template.shape):
                axes, (name, where) = next(every)
                _draw(axes, np.broadcast_to(curves, (*template.shape, *curves.shape[-2:]))[index])
                low, high = np.broadcast_to(ends, (*template.shape, 2))[index]
                center = np.broadcast_to(means, template.shape)[index]
                _under(axes, center, low, high)
                lines = [common.called(name, where), f"{center:.3f} [{low:.3f}, {high:.3f}]"]
                lines += [mark(axes, index) for mark in marks]
                axes.set_title("\n".join(lines), fontsize=9)
        words = f"dot and bar: mean and {common.words_for(prob, kind)}"
        page.heading(words, common.positive_of(evidence, keywords.get("positive")))
    return page.figure


def _panels(templates):
    """Return the name and place of every panel, or raise where they are too many."""
    panels = [(each.name, where) for each in templates for where in common.places(each, ())]
    if len(panels) > _MOST:
        todo = "select some, or use plot_forest"
        raise fail("too many panels to read", len(panels), f"at most {_MOST}", todo)
    return panels


def _size(panels):
    columns = min(_COLUMNS, panels)
    return max(_WIDTH * columns, 4.5), _HEIGHT * -(-panels // columns) + 0.4


def _check_defined(distribution, name):
    if np.isnan(distribution.mean()).any():
        todo = "leave it out, or give the empty cells a prior"
        expected = "measures defined in some draws"
        raise fail("a measure is undefined (0/0) in nearly every draw", [name], expected, todo)


def _check_rope(rope):
    if rope is not None and not rope[0] < rope[1]:
        raise fail("the rope is empty", rope, "(lower, upper)", "pass e.g. (0.7, 0.8)")


def _draw(axes, curve, place=0, label=None):
    """Draw one density."""
    colour = common.paint(place)
    axes.plot(*curve, common.STYLES[place % 4], color=colour, linewidth=1.4, label=label)
    axes.fill_between(*curve, color=colour, alpha=0.15, linewidth=0)
    axes.set_yticks([])
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_ylim(0, max(axes.get_ylim()[1] if len(axes.lines) > 1 else 0, 1.08 * _top(curve)))


def _top(curve):
    """Return the height of a density, without what rises to infinity at its ends."""
    return np.max(curve[1][2:-2])


def _under(axes, center, low, high):
    """Draw mean and interval below the density."""
    foot = -0.05
    style = {"color": common.ink(), "transform": axes.get_xaxis_transform(), "clip_on": False}
    axes.plot([low, high], [foot, foot], linewidth=2.5, solid_capstyle="butt", **style)
    axes.plot(center, foot, "o", markersize=5, markerfacecolor=common.paper(), **style)
    axes.spines["bottom"].set_position(("axes", -0.1))


def _marks(distribution, shape, reference, rope):
    """Return functions that draw the reference and the rope, and tell their probability."""
    found: list[Callable] = []

    def chance_of(values, index):
        return chance(float(np.broadcast_to(values, shape)[index]))

    if reference is not None:
        above = distribution.sf(reference)

        def draw_reference(axes, index):
            axes.axvline(reference, color=common.ink(), linestyle="--", linewidth=1)
            return f"P(> {reference:g}) {chance_of(above, index)}"

        found.append(draw_reference)
    if rope is not None:
        low, high = rope
        inside = distribution.cdf(high) - distribution.cdf(low)

        def draw_rope(axes, index):
            axes.axvspan(low, high, color=common.paint(4), alpha=0.25, linewidth=0)
            return f"P({low:g} to {high:g}) {chance_of(inside, index)}"

        found.append(draw_rope)
    return found


def plot_prior_posterior(
    fitted: xr.DataTree,
    measures: str | Callable | Sequence[str | Callable],
    *,
    positive: Any = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Draw the prior and posterior densities of measures on top of each other.

    Parameters
    ----------
    fitted : DataTree
        A fit with a proper prior.
    measures : str, callable or a sequence of these
        One panel each, and one for every index of any other dims.
    positive : label, optional
        The positive class, where the fit does not know it or another one is meant.
    ax : matplotlib.axes.Axes, optional
        Where to draw, if there is one panel; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    See Also
    --------
    bayescm.plot_priors : The posterior under several priors.

    Examples
    --------
    >>> import bayescm as bcm
    >>> tree = bcm.fit(bcm.from_cells(tp=6, fn=2, fp=3, tn=9), draws=500, random_seed=1)
    >>> figure = plot_prior_posterior(tree, ["precision", "recall"])
    >>> [axes.get_title() for axes in figure.axes]
    ['precision', 'recall']
    """
    if not isinstance(fitted, xr.DataTree) or "prior" not in fitted.children:
        raise fail(
            "no prior to draw",
            type(fitted).__name__,
            "the tree of a fit with a proper prior",
            "use fit(counts) with a concentration above 0",
        )
    groups = {
        name: measure(fitted, measures, group=name, positive=positive)
        for name in ("prior", "posterior")
    }
    draws = ("chain", "draw")
    after = {name: each.transpose(*draws, ...)[0, 0] for name, each in groups["posterior"].items()}
    panels = _panels(list(after.values()))
    ranges = {
        name: resolve(each).range for name, each in zip(after, several(measures), strict=True)
    }
    with canvas(
        _size(len(panels)), ax=ax, number=len(panels), columns=min(_COLUMNS, len(panels))
    ) as page:
        for axes, (name, where) in zip(page.panels, panels, strict=True):
            for place, group in ((1, "prior"), (0, "posterior")):
                drawn = Empirical(groups[group][name].sel(where).values.ravel())
                _check_defined(drawn, name)
                _draw(axes, common.density(drawn, ranges[name]), place, group)
            axes.set_title(common.wrapped(common.called(name, where)), fontsize=9)
        if page.own:
            # Below the panels, where there is nothing else.
            handles = page.axes.get_legend_handles_labels()
            page.figure.legend(
                *handles, loc="outside lower center", ncols=2, frameon=False, fontsize=9
            )
        else:
            page.axes.legend(frameon=False, fontsize=8)
        page.heading("prior and posterior", common.positive_of(fitted, positive))
    return page.figure


def _for(setting, name):
    return setting.get(name) if isinstance(setting, Mapping) else setting
