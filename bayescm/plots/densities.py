"""Densities of measures: the posterior, and the prior against it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import xarray as xr

from bayescm.answers import interval as intervals
from bayescm.answers.decision import chance
from bayescm.plots import common
from bayescm.validate import check_kind, check_prob, fail

# Inches of a panel, and panels beside each other.
_WIDTH, _HEIGHT, _COLUMNS, _MOST = 3.3, 2.4, 3, 24
# ArviZ's bandwidth follows the noise of the draws; these densities are smooth.
_SMOOTH = {"bw_fct": 1.5}


def plot_posterior(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measures: str | Callable | Sequence[str | Callable],
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    reference: float | Mapping[str, float] | None = None,
    rope: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
    **keywords: Any,
):
    """
    Draw the posterior density of measures, each with its mean and interval.

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
    **keywords
        ``of``, and for counts ``model``, ``draws``, ``random_seed`` and the model's own keywords;
        see `bayescm.interval`.

    Returns
    -------
    matplotlib.figure.Figure

    See Also
    --------
    arviz.plot_dist : Draws the densities.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> figure = plot_posterior(counts, ["precision", "f1"], reference=0.7, draws=500)
    >>> len(figure.axes)
    2
    """
    import arviz as az

    check_prob(prob), check_kind(kind)
    wanted = [measures] if isinstance(measures, str) or callable(measures) else list(measures)
    values = common.draws_of(evidence, wanted, **keywords)
    collection = az.plot_dist(
        xr.DataTree.from_dict({"posterior": values}),
        ci_prob=prob,
        ci_kind=kind,
        point_estimate="mean",
        kind="kde",
        stats={"dist": _SMOOTH},
        visuals={
            "dist": {"color": common.PALETTE[0]},
            "point_estimate_text": False,
            "title": False,
        },
        **_layout(values),
    )
    for measure, (name, each) in zip(wanted, values.items(), strict=True):
        means = intervals.mean(evidence, measure, **keywords)
        ends = intervals.interval(evidence, measure, prob=prob, kind=kind, **keywords)
        axes = collection.viz["plot"][name]
        lines = _marks(axes, evidence, measure, keywords, _for(reference, name), _for(rope, name))
        for where in common.places(each, ("chain", "draw")):
            low, high = ends.sel(where).values
            title = [common.called(name, where), f"{means.sel(where):.3f} [{low:.3f}, {high:.3f}]"]
            title += [f"{words} {chance(p.sel(where).item())}" for words, p in lines]
            axes.sel(where).item().set_title("\n".join(title), fontsize=9)
    figure = collection.viz["figure"].item()
    words = f"mean and {common.words_for(prob, kind)}"
    common.heading(figure, words, common.positive_of(evidence))
    return common.finish(figure)


def _marks(axes, evidence, measure, keywords, reference, rope):
    """Draw the reference and the region of equivalence; return words and probability of each."""
    lines = []
    if reference is not None:
        for each in axes.values.flat:
            each.axvline(reference, color="black", linestyle="--", linewidth=1)
        above = intervals.prob_above(evidence, measure, reference, **keywords)
        lines.append((f"P(> {reference:g})", above))
    if rope is not None:
        low, high = rope
        if not low < high:
            raise fail("the rope is empty", rope, "(lower, upper)", "pass e.g. (0.7, 0.8)")
        for each in axes.values.flat:
            each.axvspan(low, high, color=common.PALETTE[4], alpha=0.25, linewidth=0)
        below = [intervals.cdf(evidence, measure, end, **keywords) for end in rope]
        lines.append((f"P({low:g} to {high:g})", below[1] - below[0]))
    return lines


def plot_prior_posterior(fitted: xr.DataTree, measures: str | Callable | Sequence[str | Callable]):
    """
    Draw the prior and posterior densities of measures on top of each other.

    Parameters
    ----------
    fitted : DataTree
        A fit with a proper prior.
    measures : str, callable or a sequence of these
        One panel each, and one for every index of any other dims.

    Returns
    -------
    matplotlib.figure.Figure

    See Also
    --------
    arviz.plot_prior_posterior : Draws the densities.
    """
    import arviz as az

    if not isinstance(fitted, xr.DataTree) or "prior" not in fitted.children:
        raise fail(
            "no prior to draw",
            type(fitted).__name__,
            "the tree of a fit with a proper prior",
            "use fit(counts) with a concentration above 0",
        )
    groups = {
        name: common.draws_of(fitted, measures, group=name) for name in ("prior", "posterior")
    }
    collection = az.plot_prior_posterior(
        xr.DataTree.from_dict(groups),
        visuals={"title": False},
        kind="kde",
        stats={"dist": _SMOOTH},
        color=common.PALETTE[1::-1],
        **_layout(groups["posterior"]),
    )
    for name, each in groups["posterior"].items():
        axes = collection.viz["plot"][name]
        for where in common.places(each, ("chain", "draw")):
            axes.sel(where).item().set_title(common.called(name, where), fontsize=9)
    figure = collection.viz["figure"].item()
    common.heading(figure, "prior and posterior", common.positive_of(fitted))
    return common.finish(figure)


def _layout(values):
    """Return ArviZ's settings for panels that do not overlap."""
    panels = sum(len(common.places(each, ("chain", "draw"))) for each in values.values())
    if panels > _MOST:
        todo = "select some, or use plot_forest"
        raise fail("too many panels to read", panels, f"at most {_MOST}", todo)
    columns = min(_COLUMNS, panels)
    rows = -(-panels // columns)
    size = (max(_WIDTH * columns, 4.5), _HEIGHT * rows + 0.4)
    return {
        "col_wrap": columns,
        "figure_kwargs": {"layout": "constrained", "figsize": size},
    }


def _for(setting, name):
    return setting.get(name) if isinstance(setting, Mapping) else setting
