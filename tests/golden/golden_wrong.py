"""Answers that are known to be wrong, with the right figures, found by other code.

They fail until they are mended, and the test says so when one no longer does. There is none now.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class KnownWrong:
    """An answer, the right one, and by how much it may be off."""

    answer: Callable[[], np.ndarray]
    right: tuple[float, ...]
    within: float


WRONG: dict[str, KnownWrong] = {}
