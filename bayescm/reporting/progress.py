"""What a report is at, said on the terminal of who waits for it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_told: ContextVar[Callable[[str], None] | None] = ContextVar("told", default=None)


def tell(part: str) -> None:
    """Say which part of the report is being made, where anybody listens."""
    listener = _told.get()
    if listener is not None:
        listener(part)


@contextmanager
def telling(show: bool) -> Iterator[None]:
    """Show on a terminal's standard error what `tell` says, and nothing afterwards."""
    if not show:
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status("reading") as status:
        token = _told.set(lambda part: status.update(f"report: {part}"))
        try:
            yield
        finally:
            _told.reset(token)
