"""What a report is at, said where somebody waits for it: in a terminal or in a notebook."""

import sys
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
def telling(show: bool | None) -> Iterator[None]:
    """Show what `tell` says, and nothing afterwards; None: in terminals and notebooks."""
    from rich.console import Console

    console = Console(stderr=True)
    if show is None:
        show = console.is_jupyter or sys.stderr.isatty()
    if not show:
        yield
        return
    with _in_notebook() if console.is_jupyter else _in_terminal(console) as listener:
        token = _told.set(listener)
        try:
            yield
        finally:
            _told.reset(token)


@contextmanager
def _in_terminal(console):
    with console.status("reading") as status:
        yield lambda part: status.update(f"report: {part}")


@contextmanager
def _in_notebook():
    from IPython.display import HTML, display

    # One line that is rewritten, and empty in the end: what else the cell has shown stays.
    handle = display(HTML("report"), display_id=True)
    try:
        yield lambda part: handle.update(HTML(f"report: {part}"))
    finally:
        handle.update(HTML(""))
