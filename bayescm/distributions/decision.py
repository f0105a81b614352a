"""What a difference means: the ROPE triple, the loss of a choice, and one plain sentence."""

from typing import Any

import numpy as np

from bayescm.distributions.base import Distribution
from bayescm.validate import fail


def check_rope(rope: Any) -> tuple[float, float]:
    """
    Return the region of practical equivalence as (low, high).

    Parameters
    ----------
    rope : float, (float, float) or None
        Half the width, >= 0, or the ends in order with 0 between them; None for no region.
    """
    if rope is None:
        return 0.0, 0.0
    todo = "pass e.g. `rope=0.01`, or `rope=(-0.01, 0.02)`"
    allowed = "a number >= 0, or (low, high) with low <= 0 <= high"
    try:
        ends = np.asarray(rope, float)
    except (TypeError, ValueError):
        raise fail("the rope must be one or two numbers", rope, allowed, todo, TypeError) from None
    if not np.isfinite(ends).all() or ends.shape not in ((), (2,)):
        raise fail("the rope must be one or two numbers", rope, allowed, todo)
    if ends.ndim == 0:
        if ends < 0:
            raise fail("the rope is negative", rope, allowed, todo)
        return -float(ends), float(ends)
    if ends[0] > ends[1]:
        raise fail("the rope is reversed", rope, allowed, todo)
    if not ends[0] <= 0 <= ends[1]:
        raise fail("the rope does not contain 0", rope, allowed, todo)
    return float(ends[0]), float(ends[1])


def turned(rope: tuple[float, float]) -> tuple[float, float]:
    """Return the rope of second - first: where lower is better, of how much the first is better."""
    return -rope[1], -rope[0]


def decide(
    distribution: Distribution,
    *,
    rope: tuple[float, float],
    prob: float,
    kind: str,
) -> list[dict[str, float]]:
    """
    Return what the distribution of each difference says, from the first's point of view.

    Parameters
    ----------
    distribution : Distribution
        Of one difference (first - second, higher is better), or of several.
    rope, prob, kind
        As :func:`bayescm.compare` takes them, checked.
    """
    low, high = rope
    better = distribution.sf(high)
    worse = distribution.cdf(low) - distribution.mass_at(low)
    between = 1 - better - worse
    ends = getattr(distribution, kind)(prob)
    mean, loss = distribution.mean(), distribution.expected_loss()
    # What the second loses is not known from two infinite numbers.
    unknown = np.isinf(mean) & np.isinf(loss)
    second = np.where(unknown, np.nan, np.fmax(0.0, np.where(unknown, 0.0, mean) + loss))
    numbers = {
        "mean": mean,
        "sd": distribution.sd(),
        "lower": ends[..., 0],
        "upper": ends[..., 1],
        "p_better": better,
        "p_rope": np.where(between < 1e-12, 0.0, between),
        "p_worse": worse,
        "expected_loss": loss,
        "expected_loss_second": second,
    }
    columns = np.broadcast_arrays(*numbers.values())
    return [
        dict(zip(numbers, row, strict=True))
        for row in zip(*(column.ravel().tolist() for column in columns), strict=True)
    ]


def sentence(
    row: dict[str, Any],
    *,
    rope: tuple[float, float],
    prob: float,
    contrast: str = "difference",
    lower_is_better: bool = False,
) -> str:
    """
    Say in words what a row of a comparison says; the verdict follows the ROPE triple alone.

    A verdict needs a probability of at least ``prob``; without one the sentence says so. It is of
    one side, so that it may stand beside an interval of as much mass that is not wholly beyond the
    rope: the sentence then says this too.
    """
    first, second, what = f"{row['first']}", f"{row['second']}", row["measure"]
    if np.isnan(row["p_better"]):
        return f"{what} is undefined for {first} or {second}: no verdict is possible."
    low, high, width = _margins(turned(rope) if lower_is_better else rope, contrast)
    better, worse, same = (_percent(row[f"p_{key}"], prob) for key in ("better", "worse", "rope"))
    beside = _interval_within(row, rope, prob, contrast)
    if row["p_better"] >= prob:
        return f"{first} is better than {second} in {what}{high} (probability {better}{beside})."
    if row["p_worse"] >= prob:
        return f"{first} is worse than {second} in {what}{low} (probability {worse}{beside})."
    if row["p_rope"] >= prob:
        if not width:
            return f"{first} and {second} are equal in {what} (probability {same})."
        verdict = f"{first} and {second} are practically equivalent in {what}"
        return f"{verdict} (probability {same} of a difference within {width})."
    margin = high if low == high else f" beyond {width}"
    same = f"equivalent {same}, " if width else ""
    chances = f"probability of better {better}, {same}worse {worse}"
    return f"It is open whether {first} differs from {second} in {what}{margin} ({chances})."


def _interval_within(row, rope, prob, contrast):
    """Say that the interval holds what the verdict leaves out, if it does."""
    none = 1.0 if contrast == "ratio" else 0.0
    ends = row.get("lower", np.nan), row.get("upper", np.nan)
    if not (ends[0] <= none + rope[1] and ends[1] >= none + rope[0]):
        return ""
    within = f"{none:g}" if rope == (0.0, 0.0) else f"{contrast}s within the margin"
    return f", one-sided; the {100 * prob:.4g}% interval of the {contrast} holds {within}"


def _margins(rope, contrast):
    """Return the words for beyond the lower end, beyond the upper end, and within both."""
    if rope == (0.0, 0.0):
        return "", "", ""
    unit, by = ("%", 100) if contrast == "ratio" else ("", 1)
    ends = [f"{abs(end) * by:g}{unit}" if end else "" for end in rope]
    low, high = (f" by more than {end}" if end else "" for end in ends)
    signed = f"-{ends[0]}" if ends[0] else "0"
    return low, high, ends[1] if rope[0] == -rope[1] else f"{signed} to {ends[1] or '0'}"


def _percent(share, prob):
    """Return a probability as text that never rounds to certainty, nor across the one asked for."""
    if not 0.0005 < share < 0.9995:
        return ">99.9%" if share > 0.5 else "<0.1%"
    rounded = (round(share, digits) for digits in range(3, 17))
    shown = next((number for number in rounded if (number >= prob) == (share >= prob)), share)
    return f"{100 * shown:.12g}%"


def chance(value: float) -> str:
    """Return a probability with three digits, never rounded to certainty."""
    if value > 0.9995:
        return "> 0.999"
    return "< 0.001" if value < 0.0005 else f"= {value:.3f}"
