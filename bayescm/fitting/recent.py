"""The last few results of slow computations, found again by their inputs."""

import threading
from collections import deque
from collections.abc import Callable, Iterator


class Recent[Key, Value]:
    """
    The last few results, by keys that a function compares.

    `functools.lru_cache` needs keys with a hash. Evidence and graphs of models have none.

    Parameters
    ----------
    same : callable
        From an earlier key and a new one to whether both have the same result.
    size : int, default 8
        Number of results that are kept.
    """

    def __init__(self, same: Callable[[Key, Key], bool], size: int = 8):
        self._same, self._lock = same, threading.Lock()
        self._entries: deque[tuple[Key, Value]] = deque(maxlen=size)

    def __iter__(self) -> Iterator[Value]:
        return (value for _, value in list(self._entries))

    def find(self, key: Key) -> Value | None:
        """Return the result of the same key, which is the latest one from now on, or None."""
        with self._lock:
            for place, (earlier, value) in enumerate(self._entries):
                if self._same(earlier, key):
                    del self._entries[place]
                    self._entries.append((earlier, value))
                    return value
        return None

    def keep(self, key: Key, value: Value) -> None:
        """Keep a result, in the place of the one that was found the longest time ago."""
        with self._lock:
            self._entries.append((key, value))

    def clear(self) -> None:
        """Forget all results."""
        self._entries.clear()
