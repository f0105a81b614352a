"""What all formats of a report share: numbers as text, and figures whose fonts lack characters."""

import re
import warnings
from contextlib import contextmanager
from typing import Any

import numpy as np


def numeric_columns(frame: Any) -> set[int]:
    """Return the places of the columns that are numbers, which stand to the right."""
    columns = (frame.iloc[:, index] for index in range(frame.shape[1]))
    return {index for index, column in enumerate(columns) if all(map(_looks_numeric, column))}


def _looks_numeric(value):
    if isinstance(value, str):
        return bool(re.fullmatch(r"[<>–]?[\d.]*", value))
    return isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))


def number(value: Any) -> str:
    """Return a cell as text: three decimals for what lies between 0.001 and 1000."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        value = float(value)
        if np.isnan(value):
            return "–"
        return f"{value:.3f}" if value == 0 or 1e-3 <= abs(value) < 1e3 else f"{value:.3g}"
    return str(value)


@contextmanager
def drawing():
    """Ignore that the fonts at hand lack a character: the reader's browser has it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        yield
