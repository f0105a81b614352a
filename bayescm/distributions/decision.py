"""Interpretation of a difference: the ROPE triple, the expected loss, and one plain sentence."""

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
        Half the width, >= 0, or the ordered ends with 0 between them. None means no region.
    """
    if rope is None:
        return 0.0, 0.0
    todo = "pass e.g. `rope=0.01`, or `rope=(-0.01, 0.02)`"
    allowed = "a number >= 0, or (low, high) with low <= 0 <= high"
    try:
        ends = np.asarray(rope, float)
    except (TypeError, ValueError):
        raise fail(f"The rope must be {allowed}", rope, "", todo, TypeError) from None
    if not np.isfinite(ends).all() or ends.shape not in ((), (2,)):
        raise fail(f"The rope must be {allowed}", rope, "", todo)
    if ends.ndim == 0:
        if ends < 0:
            raise fail(f"The rope must be {allowed}", rope, "", todo)
        return -float(ends), float(ends)
    if ends[0] > ends[1]:
        raise fail(f"The rope must be {allowed}", rope, "", todo)
    if not ends[0] <= 0 <= ends[1]:
        raise fail("The rope must contain 0", rope, "", todo)
    return float(ends[0]), float(ends[1])


def turned(rope: tuple[float, float]) -> tuple[float, float]:
    """Return the rope of second - first, which expresses the advantage if lower is better."""
    return -rope[1], -rope[0]


def decide(
    distribution: Distribution,
    *,
    rope: tuple[float, float],
    prob: float,
    kind: str,
) -> list[dict[str, float]]:
    """
    Return the decision statistics of each difference, from the point of view of the first.

    Parameters
    ----------
    distribution : Distribution
        Distribution of one or several differences (first - second, higher is better).
    rope, prob, kind
        Checked arguments of :func:`bayescm.compare`.
    """
    low, high = rope
    better = distribution.sf(high)
    worse = distribution.cdf(low) - distribution.mass_at(low)
    between = 1 - better - worse
    ends = getattr(distribution, kind)(prob)
    mean, loss = distribution.mean(), np.maximum(distribution.expected_loss(), 0.0)
    # Two infinite numbers do not determine the loss of the second.
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
    Return the sentence for a row of a comparison.

    The verdict depends on the ROPE triple only. It requires a probability of at least ``prob``;
    otherwise the sentence states that the comparison is open. The verdict is one-sided, whereas the
    interval of the same probability is two-sided and may reach into the rope. The sentence then
    mentions this.
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
    """Return a remark if the two-sided interval reaches into the rope, despite the verdict."""
    none = 1.0 if contrast == "ratio" else 0.0
    ends = row.get("lower", np.nan), row.get("upper", np.nan)
    if not (ends[0] <= none + rope[1] and ends[1] >= none + rope[0]):
        return ""
    within = f"{none:g}" if rope == (0.0, 0.0) else f"{contrast}s within the margin"
    return f", one-sided; the {100 * prob:.4g}% interval of the {contrast} holds {within}"


def _margins(rope, contrast):
    """Return the words for differences below the rope, above it, and within it."""
    if rope == (0.0, 0.0):
        return "", "", ""
    unit, by = ("%", 100) if contrast == "ratio" else ("", 1)
    ends = [f"{abs(end) * by:g}{unit}" if end else "" for end in rope]
    low, high = (f" by more than {end}" if end else "" for end in ends)
    signed = f"-{ends[0]}" if ends[0] else "0"
    return low, high, ends[1] if rope[0] == -rope[1] else f"{signed} to {ends[1] or '0'}"


def _percent(share, prob):
    """Return a probability as text that is never rounded to certainty or across the threshold."""
    if not 0.0005 < share < 0.9995:
        return ">99.9%" if share > 0.5 else "<0.1%"
    rounded = (round(share, digits) for digits in range(3, 17))
    shown = next((number for number in rounded if (number >= prob) == (share >= prob)), share)
    return f"{100 * shown:.12g}%"


def chance(value: float) -> str:
    """Return a probability as text with three digits, never rounded to certainty."""
    if value > 0.9995:
        return "> 0.999"
    return "< 0.001" if value < 0.0005 else f"= {value:.3f}"
