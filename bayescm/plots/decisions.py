"""What acting on probabilities gains and costs, what answering only when sure buys, and CORP."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayescm.classical.probabilities import corp
from bayescm.curves.deciding.costs import expected_cost
from bayescm.curves.deciding.decisions import decision_curve
from bayescm.curves.deciding.selective import risk_coverage
from bayescm.plots import common
from bayescm.plots.canvas import canvas

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHARE = 0.05  # of the examples: of fewer answers next to nothing is known


def plot_decision_curve(
    evidence: xr.Dataset,
    *,
    thresholds: Any = None,
    prevalence: float | None = None,
    prob: float = 0.95,
    simultaneous: bool = False,
    random_seed: int = 0,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Draw the net benefit of acting on each classifier's probabilities, by threshold.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two classes, see :func:`bayescm.from_probabilities`.
    thresholds, prevalence, prob, simultaneous, random_seed
        See :func:`bayescm.decision_curve`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> p = rng.beta(1, 3, 300)
    >>> axes = plot_decision_curve(bcm.from_probabilities(rng.random(300) < p, p)).axes[0]
    >>> axes.get_ylabel()
    'net benefit'
    """
    options: dict[str, Any] = {"thresholds": thresholds, "prevalence": prevalence}
    options |= {"prob": prob, "simultaneous": simultaneous, "random_seed": random_seed}
    found = decision_curve(evidence, **options)
    with canvas((6.4, 4.4), ax=ax) as page:
        axes, at = page.axes, found["threshold"]
        axes.plot(at, found["treat_all"], color=common.grey(), linestyle="--", label="treat all")
        axes.axhline(0, color=common.grey(), linewidth=0.8, label="treat none")
        for place, (name, part) in enumerate(_members(found)):
            _band(axes, at, part["interval"], part["mean"], common.paint(place), name)
        top = float(max(found["interval"].max(), found["treat_all"].max()))
        axes.set(xlabel="threshold", ylabel="net benefit", ylim=(-0.25 * top, 1.1 * top))
        axes.legend(fontsize=8, loc="upper right")
        known = "" if prevalence is None else f"prevalence {prevalence:g}"
        words = f"{100 * prob:g}% band, {'simultaneous' if simultaneous else 'pointwise'}"
        page.heading(words, known, common.positive_of(evidence))
    return page.figure


def plot_expected_cost(
    evidence: xr.Dataset,
    costs: Any,
    *,
    thresholds: Any = None,
    prob: float = 0.95,
    random_seed: int = 0,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Draw the expected cost per example of acting on probabilities, by threshold.

    A dot marks the least expected cost, the line below it where the truly best threshold lies, and
    the dashed line the threshold that the costs imply where the probabilities are right.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two classes, see :func:`bayescm.from_probabilities`.
    costs, thresholds, prob, random_seed
        See :func:`bayescm.expected_cost`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> p = rng.beta(1, 3, 300)
    >>> evidence = bcm.from_probabilities(rng.random(300) < p, p)
    >>> plot_expected_cost(evidence, {"fn": 4, "fp": 1}).axes[0].get_ylabel()
    'expected cost of an example'
    """
    options: dict[str, Any] = {"thresholds": thresholds, "prob": prob, "random_seed": random_seed}
    found = expected_cost(evidence, costs, **options)
    with canvas((6.4, 4.4), ax=ax) as page:
        axes, at = page.axes, found["threshold"]
        low, high = float(found["interval"].min()), float(found["interval"].max())
        for place, (name, part) in enumerate(_members(found)):
            colour = common.paint(place)
            _band(axes, at, part["interval"], part["mean"], colour, name)
            best, ends = part["best"].item(), part["best_interval"].values
            height = float(part["mean"].sel(threshold=best))
            label = f"best at {best:.2g} [{ends[0]:.2g}, {ends[1]:.2g}]"
            axes.plot(best, height, "o", color=colour, label=label)
            foot = low - 0.03 * (high - low) * (1 + place)
            axes.plot(ends, [foot, foot], color=colour, linewidth=2)
        implied = found["implied"].item()
        axes.axvline(implied, color=common.grey(), linestyle="--", label=f"implied: {implied:.2g}")
        axes.set(xlabel="threshold", ylabel="expected cost of an example")
        axes.legend(fontsize=8)
        page.heading(f"{100 * prob:g}% band, pointwise", common.positive_of(evidence))
    return page.figure


def plot_risk_coverage(
    evidence: xr.Dataset,
    *,
    promise: float = 0.05,
    assurance: float = 0.95,
    prob: float = 0.95,
    simultaneous: bool = False,
    random_seed: int = 0,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Draw how often each classifier errs where it is sure, by the share of examples it answers.

    The dashed line is the risk that is promised; a dot marks the coverage that keeps the promise.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two or more classes, see :func:`bayescm.from_probabilities`.
    promise, assurance, prob, simultaneous, random_seed
        See :func:`bayescm.risk_coverage`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> p = rng.beta(0.4, 0.4, 300)
    >>> evidence = bcm.from_probabilities(rng.random(300) < p, p)
    >>> plot_risk_coverage(evidence, promise=0.1).axes[0].get_xlabel()
    'share of examples answered'
    """
    options: dict[str, Any] = {"promise": promise, "assurance": assurance, "prob": prob}
    options |= {"simultaneous": simultaneous, "random_seed": random_seed}
    found = risk_coverage(evidence, **options)
    with canvas((6.4, 4.4), ax=ax) as page:
        axes = page.axes
        for place, (name, part) in enumerate(_members(found)):
            part = part.isel(threshold=part["coverage"].values > 0)
            colour, kept = common.paint(place), part["promised_coverage"].item()
            area, ends = part["area"].item(), part["area_interval"].values
            said = f"area {area:.3f} [{ends[0]:.3f}, {ends[1]:.3f}]"
            label = f"{name}: {said}" if "classifier" in found.dims else said
            _band(axes, part["coverage"], part["interval"], part["risk"], colour, label)
            if kept > 0:
                axes.plot(kept, promise, "o", color=colour, label=f"promise kept: {kept:.0%}")
        axes.axhline(promise, color=common.grey(), linestyle="--", linewidth=0.8)
        axes.set(xlabel="share of examples answered", ylabel="risk", xlim=(0, 1))
        most = float(found["interval"].where(found["coverage"] > _SHARE).max())
        axes.set_ylim(0, min(1.0, 1.15 * max(promise, most)))
        axes.legend(fontsize=8)
        words = f"{100 * prob:g}% band, {'simultaneous' if simultaneous else 'pointwise'}"
        page.heading(words, f"promise {promise:g} with probability {assurance:g}")
    return page.figure


def plot_corp(
    evidence: xr.Dataset,
    *,
    prob: float = 0.95,
    draws: int = 1000,
    random_seed: int = 0,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Draw the CORP reliability diagram: isotonic regression, and where right forecasts would lie.

    The legend has the parts of the Brier score: miscalibration, discrimination and uncertainty.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two classes, see :func:`bayescm.from_probabilities`.
    prob, draws, random_seed
        See :func:`bayescm.classical.corp`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(200)
    >>> figure = plot_corp(bcm.from_probabilities(rng.random(200) < p, p), draws=100)
    >>> figure.axes[0].get_ylabel()
    'share that comes true'
    """
    found = corp(evidence, prob=prob, draws=draws, random_seed=random_seed)
    with canvas((5.6, 5.8), ax=ax) as page:
        axes = page.axes
        axes.plot([0, 1], [0, 1], color=common.grey(), linewidth=0.8, linestyle=":")
        for place, (name, part) in enumerate(_members(found)):
            part = part.dropna("probability", subset=["recalibrated"])
            parts = [
                f"{word} {part[word].item():.3f}"
                for word in ("miscalibration", "discrimination", "uncertainty")
            ]
            label = "\n".join([*([name] if "classifier" in found.dims else []), *parts])
            bounds, curve = part["consistency"], part["recalibrated"]
            _band(axes, part["probability"], bounds, curve, common.paint(place), label)
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axes.set(xlabel="probability given", ylabel="share that comes true")
        axes.legend(fontsize=8, loc="upper left")
        words = f"where right forecasts lie with probability {prob:g}, pointwise"
        page.heading(words, common.positive_of(evidence))
    return page.figure


def _members(found: xr.Dataset) -> "Iterator[tuple[str, xr.Dataset]]":
    """Give the name and the answers of each classifier."""
    if "classifier" not in found.dims:
        yield "acting on the probabilities", found
        return
    for place, name in enumerate(found["classifier"].values.tolist()):
        yield str(name), found.isel(classifier=place)


def _band(axes, at, ends, middle, colour, label):
    order = np.argsort(np.asarray(at), kind="stable")
    place, bounds = np.asarray(at)[order], np.asarray(ends)[order]
    axes.fill_between(place, *bounds.T, color=colour, alpha=0.2, linewidth=0)
    axes.plot(place, np.asarray(middle)[order], color=colour, label=label)
