"""What stands in the cells of a table of intervals: numbers, escaped text, and small bars."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from bayescm.validate import check_is, fail

_WIDTH, _HEIGHT = 160, 14  # of a bar, in pixels
_LINE, _RANGE, _TICK = "#aab2ba", "#0b62a4", "#1b1f24"
_TECHNICAL = ("how", "error", "undefined", "sd", "expected_loss_second", "paired")


def with_bars(frame: pd.DataFrame, digits: int, technical: bool) -> pd.DataFrame:
    """Return what is shown of a table, with a column ``interval`` of bars; refuse what has none."""
    allowed, todo = "a table of intervals", "pass bcm.summary(...) or bcm.compare(...)"
    check_is(frame, pd.DataFrame, "a table", allowed, todo)
    if not {"lower", "upper"} <= set(frame.columns) or "interval" in frame.columns:
        got = list(frame.columns)
        raise fail("the table has no intervals", got, "lower and upper, no interval", todo)
    if isinstance(digits, bool) or not isinstance(digits, int) or not 0 <= digits <= 15:
        raise fail("digits must be a whole number", digits, "0 to 15", "pass digits=3")
    shown = frame if technical else frame.drop(columns=list(_TECHNICAL), errors="ignore")
    shown = shown.reset_index(drop=True)
    shown.insert(
        list(shown.columns).index("lower"), "interval", _bars(shown), allow_duplicates=True
    )
    return shown


def text_of(digits: int) -> Callable[[Any], Any]:
    """Return a function that writes numbers with so many decimals and leaves the rest as it is."""

    def text(value):
        if isinstance(value, float | np.floating):
            small = 0 < abs(float(value)) < 0.5 * 10.0**-digits  # all digits would be 0
            return "–" if np.isnan(value) else f"{value:.0e}" if small else f"{value:.{digits}f}"
        return value

    return text


def escaped(text: Any) -> str:
    """Return text as HTML shows it."""
    from markupsafe import escape

    return str(escape(text))


def _bars(frame):
    ends = frame[["lower", "upper"]].to_numpy(float)
    middle = frame["mean"].to_numpy(float) if "mean" in frame else ends.mean(axis=1)
    low, high = _scale(ends)

    def x(value):
        return round(float((value - low) / (high - low) * _WIDTH), 1)

    zero = x(0.0) if low < 0 < high else None
    return [_bar(x, row, zero) for row in np.column_stack([ends, middle])]


def _scale(ends):
    """Return both ends of the scale that all bars have."""
    known = ends[np.isfinite(ends)]
    if not known.size or (known.min() >= 0 and known.max() <= 1):
        return 0.0, 1.0
    if known.min() >= -1 and known.max() <= 1:
        most = float(np.abs(known).max()) * 1.05
        return -most, most
    edge = 0.05 * float(np.ptp(known) or 1.0)
    return min(0.0, known.min() - edge), max(0.0, known.max() + edge)


def _bar(x, row, zero):
    lower, upper, middle = row
    if not np.isfinite([lower, upper]).all():
        return ""
    start, width = x(lower), max(x(upper) - x(lower), 1.0)
    parts = [_rect(0, _HEIGHT / 2 - 0.5, _WIDTH, 1, _LINE)]
    parts.append(_rect(start, 3, width, _HEIGHT - 6, _RANGE, 'fill-opacity="0.5"'))
    if zero is not None:
        parts.append(_rect(zero - 0.5, 0, 1, _HEIGHT, _LINE))
    if np.isfinite(middle):
        parts.append(_rect(x(middle) - 1, 1, 2, _HEIGHT - 2, _TICK))
    said = f"from {lower:.3f} to {upper:.3f}"
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    return f'<svg {size} role="img" aria-label="{said}">{"".join(parts)}</svg>'


def _rect(x, y, width, height, fill, more=""):
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {place} fill="{fill}" {more}/>'
