"""Cache of the most recent results of slow computations, for keys without a hash."""

import threading
from collections import deque
from collections.abc import Callable, Iterator


class Recent[Key, Value]:
    """
    Cache of the most recent results, for keys that a function compares.

    `functools.lru_cache` requires hashable keys, but evidence and graphs of models are not
    hashable.

    Parameters
    ----------
    same : callable
        Returns whether an earlier and a new key have the same result.
    size : int, default 8
        Maximum number of cached results.
    """

    def __init__(self, same: Callable[[Key, Key], bool], size: int = 8):
        self._same, self._lock = same, threading.Lock()
        self._entries: deque[tuple[Key, Value]] = deque(maxlen=size)

    def __iter__(self) -> Iterator[Value]:
        return (value for _, value in list(self._entries))

    def find(self, key: Key) -> Value | None:
        """Return the result of an equal key and mark it as most recently used, or return None."""
        with self._lock:
            for place, (earlier, value) in enumerate(self._entries):
                if self._same(earlier, key):
                    del self._entries[place]
                    self._entries.append((earlier, value))
                    return value
        return None

    def keep(self, key: Key, value: Value) -> None:
        """Store a result, replacing the least recently used one if the cache is full."""
        with self._lock:
            self._entries.append((key, value))

    def clear(self) -> None:
        """Remove all results."""
        self._entries.clear()
