"""The progress of a report, shown where somebody waits for it: in a terminal or in a notebook."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


def progress(step: str) -> None:
    """Say which part of the report is being made, where anybody listens."""
    listener = _listener.get()
    if listener is not None:
        listener(step)


@contextmanager
def showing_progress(show: bool | None) -> Iterator[None]:
    """Show the progress made inside, and nothing afterwards; None: in terminals and notebooks."""
    from rich.console import Console

    console = Console(stderr=True)
    if show is None:
        show = console.is_jupyter or sys.stderr.isatty()
    if not show:
        yield
        return
    with _in_notebook() if console.is_jupyter else _in_terminal(console) as listener:
        token = _listener.set(listener)
        try:
            yield
        finally:
            _listener.reset(token)


@contextmanager
def _in_terminal(console):
    with console.status("reading") as status:
        yield lambda step: status.update(f"report: {step}")


@contextmanager
def _in_notebook():
    from IPython.display import HTML, display

    # One line that is rewritten, and empty in the end: what else the cell has shown stays.
    handle = display(HTML("report"), display_id=True)
    try:
        yield lambda step: handle.update(HTML(f"report: {step}"))
    finally:
        handle.update(HTML(""))
