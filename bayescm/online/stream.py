"""The batches that alarms judge, and the evidence that each is judged by."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from bayescm.online.batches import Batches
from bayescm.online.series import remembered
from bayescm.online.settings import prior_cells
from bayescm.online.store.rows import instant

# What is recent: the last batch, the last two, four ... of them.
WINDOWS = tuple(2**power for power in range(10))
REACH = max(WINDOWS)


@dataclass(frozen=True, eq=False)
class Stream:
    """
    Batches in their order, of which those from one on are judged.

    Attributes
    ----------
    counts : DataArray, dims (step, actual, predicted)
        The batches at hand.
    first : int
        How many of them only go before those that are judged.
    number : int
        How many batches are before those at hand.
    earlier : ndarray, shape (C, C)
        The sum of the batches before those at hand.
    memory : dict
        ``forgetting`` and ``window``, where the evidence in force is not all there is.
    concentration : optional
        Prior pseudo-counts.
    """

    counts: xr.DataArray
    first: int
    number: int
    earlier: np.ndarray
    memory: dict[str, Any]
    concentration: Any

    @cached_property
    def cells(self) -> np.ndarray:
        """The batches, (T, C, C)."""
        return self.counts.values

    @cached_property
    def named(self) -> dict[str, np.ndarray]:
        """The step, the name and the time of each batch, by the names of their coords."""
        known = self.counts.coords.variables
        step = known["step"].values if "step" in known else np.arange(len(self.cells))
        nothing = np.full(len(step), "NaT", "<M8[us]")
        return {
            "step": step,
            "batch_id": known["batch_id"].values if "batch_id" in known else step.astype(str),
            "at": known["at"].values if "at" in known else nothing,
        }

    @cached_property
    def sums(self) -> np.ndarray:
        """Sums of the batches at hand before each and of all, (T + 1, C, C)."""
        nothing = np.zeros((1, *self.cells.shape[1:]), self.cells.dtype)
        return np.concatenate([nothing, self.cells.cumsum(axis=0)])

    @cached_property
    def prior(self) -> np.ndarray:
        """Prior pseudo-counts (C, C)."""
        return prior_cells(self.concentration, self.counts)

    @cached_property
    def asked(self) -> np.ndarray:
        """The places that are judged, and the one before: whether an alarm is on already."""
        return np.arange(max(self.first - 1, 0), len(self.cells))

    @cached_property
    def before(self) -> np.ndarray:
        """The evidence in force before each batch that is judged, (n, C, C)."""
        if not self.remembers_all:
            in_force = remembered(self.counts, **self.memory).shift(step=1, fill_value=0).values
            return (in_force * self.memory.get("forgetting", 1.0))[self.asked]
        return self.earlier + self.sums[self.asked]

    @property
    def remembers_all(self) -> bool:
        """Whether nothing is forgotten."""
        return self.memory.get("forgetting", 1.0) == 1 and self.memory.get("window") is None

    def recent(self, first: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the recent evidence, (n, C, C), and where each begins; none from before `first`."""
        if not self.remembers_all:
            later = remembered(self.counts[first:], **self.memory).values
            in_force = np.concatenate([np.zeros_like(later[:1]).repeat(first, axis=0), later])
            length = self.memory.get("window") or len(self.cells)
            yield in_force[self.asked], np.maximum(self.asked + 1 - length, first)
            return
        for window in WINDOWS:
            start = np.maximum(self.asked + 1 - window, first)
            yield self.sums[self.asked + 1] - self.sums[np.minimum(start, self.asked + 1)], start

    @property
    def windows(self) -> int:
        """How many answers there are to what is recent."""
        return len(WINDOWS) if self.remembers_all else 1


def stream_of(
    batches: Batches, since: Any, reference: Any, memory: dict[str, Any], concentration: Any
) -> tuple[Stream, np.datetime64 | None]:
    """
    Return what alarms judge, and from when on where that is more than was asked for.

    Parameters
    ----------
    batches : Batches
    since : datetime, datetime64 or str, or None
    reference : int, DataArray or None
        A number of batches are the first ones, and take the whole ledger.
    memory : dict
        ``forgetting`` and ``window``.
    concentration : optional
        Prior pseudo-counts.
    """
    forgetting, window = memory["forgetting"], memory["window"]
    recent = None
    if since is not None and forgetting == 1 and not isinstance(reference, int):
        recent = batches.recent(since, max(REACH, window or 0) + 1)
    if recent is None:
        counts = batches.in_force()
        nothing = np.zeros(counts.shape[1:], counts.dtype)
        earliest = None if since is None else np.datetime64(instant(since).replace(tzinfo=None))
        return Stream(counts, 0, 0, nothing, memory, concentration), earliest
    counts, first, earlier = recent
    number = int(counts.indexes["step"][0]) if counts.sizes["step"] else 0
    return Stream(counts, first, number, earlier, memory, concentration), None
