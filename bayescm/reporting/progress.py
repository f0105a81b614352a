"""Progress of a report, shown in terminals and notebooks."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


def progress(step: str) -> None:
    """Report the current step, if progress is shown."""
    listener = _listener.get()
    if listener is not None:
        listener(step)


@contextmanager
def showing_progress(show: bool | None) -> Iterator[None]:
    """
    Show progress within the context and clear it afterwards.

    If `show` is None, progress is shown in terminals and notebooks only.
    """
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

    # A single line is updated and finally cleared, so that other output of the cell remains.
    handle = display(HTML("report"), display_id=True)
    try:
        yield lambda step: handle.update(HTML(f"report: {step}"))
    finally:
        handle.update(HTML(""))
