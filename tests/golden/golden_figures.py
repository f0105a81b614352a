"""Figures and words of an output, and their comparison with recorded ones.

An output is converted to a mapping from paths, such as ``lower[2]``, to texts and figures. Each
figure has a length, which its error is relative to. This is the length of its interval or,
otherwise, the larger of 1 and its absolute value.
"""

import itertools
import math
import re
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

# Largest allowed difference of a figure, relative to its length.
TOLERANCE = {"exact": 1e-9, "integrated": 1e-7}
MONTE_CARLO_ERRORS = 4  # allowed difference of two sampled figures, in standard errors
_LARGEST = 24  # number of figures per array; of longer arrays, evenly spaced figures are recorded
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])")


def flatten(answer: Any, path: str = "") -> dict[str, Any]:
    """Return the texts and pairs (figure, length) of an output, keyed by path."""
    if isinstance(answer, pd.DataFrame):
        return _frame(answer, path)
    if isinstance(answer, xr.Dataset):
        parts = [flatten(array, f"{path}{name}") for name, array in answer.data_vars.items()]
        return {key: value for part in parts for key, value in part.items()}
    if isinstance(answer, xr.DataArray):
        return _array(answer, path)
    if isinstance(answer, dict):
        parts = [flatten(value, f"{path}.{name}") for name, value in answer.items()]
        return {key: value for part in parts for key, value in part.items()}
    if isinstance(answer, str):
        return _text(answer, path)
    if isinstance(answer, list | tuple | np.ndarray):
        return _values(np.asarray(answer, dtype=object).ravel(), path)
    return _values([answer], path)


def _frame(frame, path):
    ends = "lower", "upper"
    width = frame["upper"] - frame["lower"] if set(ends) <= set(frame) else None
    figures: dict[str, Any] = {f"{path}columns": " ".join(map(str, frame.columns))}
    for column in frame:
        length = width if column in (*ends, "mean", "median", "point") else None
        figures |= _values(list(frame[column]), f"{path}{column}", length)
    return figures


def _array(array, path):
    length = None
    if "bound" in array.dims and array.sizes["bound"] == 2:
        array = array.transpose(..., "bound")
        length = np.repeat(np.diff(array.values.astype(float), axis=-1).ravel(), 2)
    figures: dict[str, Any] = {f"{path}.dims": " ".join(f"{d}={n}" for d, n in array.sizes.items())}
    for name, coordinate in array.coords.items():
        if coordinate.ndim == 0:
            figures |= _values([coordinate.item()], f"{path}.{name}")
    for name, value in array.attrs.items():
        if isinstance(value, str | int | float):
            figures |= _values([value], f"{path}.{name}")
    return figures | _values(array.values.ravel(), path or "value", length)


def _values(values, path, length=None):
    chosen = np.unique(np.linspace(0, len(values) - 1, min(len(values), _LARGEST)).astype(int))
    figures = {}
    for place in chosen:
        value = values[place]
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
            figures[f"{path}[{place}]"] = str(value)
            continue
        size = None if length is None else float(np.asarray(length)[place])
        if size is None or not math.isfinite(size) or size <= 0:
            size = max(1.0, abs(float(value))) if math.isfinite(value) else 1.0
        figures[f"{path}[{place}]"] = [float(value), size]
    return figures


def _text(text, path):
    """Return the words of a text, with # in place of numbers, and the numbers."""
    figures: dict[str, Any] = {f"{path}.words": _NUMBER.sub("#", text)}
    for place, number in enumerate(_NUMBER.findall(text)):
        digits = len(number.partition(".")[2].partition("e")[0])
        value = float(number)
        # The last printed digit can be rounded up or down.
        figures[f"{path}.number[{place}]"] = [value, max(1.0, abs(value)), 0.6 * 10.0**-digits]
    return figures


def differences(
    recorded: dict[str, Any], answer: dict[str, Any], kind: str, errors: dict[str, float]
) -> list[str]:
    """Return a line for each difference that exceeds the tolerance of the class of figures."""
    lines = [f"{path}: gone" for path in recorded.keys() - answer.keys()]
    lines += [f"{path}: new" for path in answer.keys() - recorded.keys()]
    for path in sorted(recorded.keys() & answer.keys()):
        old, new = recorded[path], answer[path]
        if isinstance(old, str) or isinstance(new, str):
            if old != new:
                lines.append(f"{path}: {_first_difference(str(old), str(new))}")
            continue
        allowed = TOLERANCE.get(kind, TOLERANCE["exact"]) * old[1]
        if kind == "sampled":
            allowed = max(allowed, MONTE_CARLO_ERRORS * 2**0.5 * errors.get(path, 0.0))
            if len(old) == 3:
                allowed += old[2]
        if not _near(old[0], new[0], allowed):
            lines.append(f"{path}: {old[0]!r} -> {new[0]!r} (allowed {allowed:.2g})")
    return lines


def _first_difference(old, new):
    """Return the first differing lines of two texts."""
    for one, other in itertools.zip_longest(old.splitlines(), new.splitlines(), fillvalue=""):
        if one != other:
            return f"{one!r} -> {other!r}"
    return f"{old!r} -> {new!r}"


def _near(old, new, allowed):
    if not (math.isfinite(old) and math.isfinite(new)):
        return old == new or (math.isnan(old) and math.isnan(new))
    return abs(old - new) <= allowed
