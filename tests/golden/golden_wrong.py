"""Outputs that are known to be wrong, with correct figures from other code.

A test fails if one of them becomes correct, so that it is moved to the recorded outputs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class KnownWrong:
    """An output, the correct figures, and their tolerance."""

    answer: Callable[[], np.ndarray]
    right: tuple[float, ...]
    within: float


WRONG: dict[str, KnownWrong] = {}
