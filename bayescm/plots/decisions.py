"""Plots for decisions: net benefit, expected cost, and risk against coverage."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayescm.curves.decisions import decision_curve, expected_cost
from bayescm.curves.selective import risk_coverage
from bayescm.measures.display_names import DisplayNames, display_label
from bayescm.plots import style
from bayescm.plots.canvas import band, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The limits of the y axis depend only on risks at a coverage above this, because risks at lower
# coverages are uncertain.
_SHARE = 0.05


def plot_decision_curve(
    evidence: xr.Dataset,
    *,
    thresholds: Any = None,
    prevalence: float | None = None,
    prob: float = 0.95,
    simultaneous: bool = False,
    random_seed: int = 0,
    display_names: DisplayNames = None,
    colors: style.Colors = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Plot decision curves: the net benefit of each classifier by threshold.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two classes. See :func:`bayescm.from_probabilities`.
    thresholds, prevalence, prob, simultaneous, random_seed
        See :func:`bayescm.curves.decision_curve`.
    display_names : mapping of str to str, optional
        Display names of labels. By default the labels in the evidence.
    colors : mapping of str to color, optional
        Colours by name, such as ``{"rf": "tab:red"}``. Other names keep the same colour in all
        plots of a session.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on. By default a new figure.

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
    benefit = decision_curve(evidence, **options).sortby("threshold")
    with canvas((6.4, 4.4), ax=ax) as page:
        axes, x = page.axes, benefit["threshold"]
        axes.plot(x, benefit["treat_all"], color=style.muted(), linestyle="--", label="treat all")
        axes.axhline(0, color=style.muted(), linewidth=0.8, label="treat none")
        for name, curve, look in _by_classifier(benefit, colors):
            label = display_label(name, display_names) if name else "acting on the probabilities"
            line = {"color": look.color, "label": label}
            band(axes, x, curve["interval"], curve["mean"], **line)
        top = float(max(benefit["interval"].max(), benefit["treat_all"].max()))
        axes.set(xlabel="threshold", ylabel="net benefit", ylim=(-0.25 * top, 1.1 * top))
        axes.legend(fontsize=8, loc="upper right")
        page.heading(
            style.short_band_words(prob, simultaneous),
            "" if prevalence is None else f"prevalence {prevalence:g}",
            style.positive_class(evidence, display_names=display_names),
        )
    return page.figure


def plot_expected_cost(
    evidence: xr.Dataset,
    costs: Any,
    *,
    thresholds: Any = None,
    prob: float = 0.95,
    random_seed: int = 0,
    display_names: DisplayNames = None,
    colors: style.Colors = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Plot the expected cost per example of acting on probabilities, by threshold.

    A dot marks the minimum expected cost, and the line below it is the interval of the optimal
    threshold. The dashed line is the threshold that the costs imply for calibrated probabilities.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two classes. See :func:`bayescm.from_probabilities`.
    costs, thresholds, prob, random_seed
        See :func:`bayescm.curves.expected_cost`.
    display_names : mapping of str to str, optional
        Display names of labels. By default the labels in the evidence.
    colors : mapping of str to color, optional
        Colours by name, such as ``{"rf": "tab:red"}``. Other names keep the same colour in all
        plots of a session.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on. By default a new figure.

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
    cost = expected_cost(evidence, costs, **options).sortby("threshold")
    with canvas((6.4, 4.4), ax=ax) as page:
        axes = page.axes
        low, high = float(cost["interval"].min()), float(cost["interval"].max())
        for i, (name, curve, look) in enumerate(_by_classifier(cost, colors)):
            label = display_label(name, display_names) if name else "acting on the probabilities"
            line = {"color": look.color, "label": label}
            band(axes, cost["threshold"], curve["interval"], curve["mean"], **line)
            best, ends = curve["best"].item(), curve["best_interval"].values
            least = float(curve["mean"].sel(threshold=best))
            label = f"best at {best:.2g} [{ends[0]:.2g}, {ends[1]:.2g}]"
            axes.plot(best, least, "o", color=look.color, label=label)
            foot = low - 0.03 * (high - low) * (1 + i)
            axes.plot(ends, [foot, foot], color=look.color, linewidth=2)
        implied = cost["implied"].item()
        axes.axvline(implied, color=style.muted(), linestyle="--", label=f"implied: {implied:.2g}")
        axes.set(xlabel="threshold", ylabel="expected cost of an example")
        axes.legend(fontsize=8)
        page.heading(
            style.short_band_words(prob, False),
            style.positive_class(evidence, display_names=display_names),
        )
    return page.figure


def plot_risk_coverage(
    evidence: xr.Dataset,
    *,
    promise: float = 0.05,
    assurance: float = 0.95,
    prob: float = 0.95,
    simultaneous: bool = False,
    random_seed: int = 0,
    display_names: DisplayNames = None,
    colors: style.Colors = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """
    Plot risk-coverage curves: error rate against share of answered examples.

    Examples are answered in order of decreasing confidence. The dashed line is the promised risk,
    and a dot marks the coverage at which the promise is kept.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two or more classes. See :func:`bayescm.from_probabilities`.
    promise, assurance, prob, simultaneous, random_seed
        See :func:`bayescm.curves.risk_coverage`.
    display_names : mapping of str to str, optional
        Display names of labels. By default the labels in the evidence.
    colors : mapping of str to color, optional
        Colours by name, such as ``{"rf": "tab:red"}``. Other names keep the same colour in all
        plots of a session.
    ax : matplotlib.axes.Axes, optional
        Axes to plot on. By default a new figure.

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
    risk = risk_coverage(evidence, **options)
    with canvas((6.4, 4.4), ax=ax) as page:
        axes = page.axes
        for name, curve, look in _by_classifier(risk, colors):
            order = np.argsort(curve["coverage"].values, kind="stable")
            curve = curve.isel(threshold=order[curve["coverage"].values[order] > 0])
            ends = curve["area_interval"].values
            area = f"area {curve['area'].item():.3f} [{ends[0]:.3f}, {ends[1]:.3f}]"
            label = f"{display_label(name, display_names)}: {area}" if name else area
            line = {"color": look.color, "label": label}
            band(axes, curve["coverage"], curve["interval"], curve["risk"], **line)
            if (coverage := curve["promised_coverage"].item()) > 0:
                dot = {"color": look.color, "label": f"promise kept: {coverage:.0%}"}
                axes.plot(coverage, promise, "o", **dot)
        axes.axhline(promise, color=style.muted(), linestyle="--", linewidth=0.8)
        axes.set(xlabel="share of examples answered", ylabel="risk", xlim=(0, 1))
        most = float(risk["interval"].where(risk["coverage"] > _SHARE).max())
        axes.set_ylim(0, min(1.0, 1.15 * max(promise, most)))
        axes.legend(fontsize=8)
        page.heading(
            style.short_band_words(prob, simultaneous),
            f"promise {promise:g} with probability {assurance:g}",
        )
    return page.figure


def _by_classifier(
    answers: xr.Dataset, colors: style.Colors
) -> Iterator[tuple[str | None, xr.Dataset, style.Look]]:
    """Yield the name of each classifier (if named), its results and its style."""
    if "classifier" not in answers.dims:
        yield None, answers, style.looks([()], colors)[0]
        return
    names = answers["classifier"].values.tolist()
    style.check_few(names)
    for i, (name, look) in enumerate(
        zip(names, style.looks([[name] for name in names], colors), strict=True)
    ):
        yield str(name), answers.isel(classifier=i), look
