"""
The dashboard of a ledger: pages for people, numbers for Prometheus.

The extra ``serve`` is loaded when one of these functions is called.
"""

import os
import warnings
from collections.abc import Sequence
from typing import Any

from bayescm.online.ledger import Ledger
from bayescm.validate import fail


def dashboard(
    store: str | os.PathLike | Ledger,
    *,
    token: str | None = None,
    hosts: Sequence[str] = ("localhost", "127.0.0.1", "[::1]"),
    **settings: Any,
) -> Any:
    """
    Return the dashboard of a ledger as an ASGI application, for a server of your own.

    It has a page of all classifiers and challenges (``/``), one of each with its history and alarms
    (``/classifier?name=``), numbers for Prometheus (``/metrics``) and ``/healthz``. Everything is
    rendered by the server; no page loads anything from elsewhere or runs a script.

    Parameters
    ----------
    store : str, path or Ledger
        A ledger that is there; see `Monitor`.
    token : str, optional
        The secret needed to acknowledge alarms, at least 16 characters. Without it nothing can be
        changed.
    hosts : sequence of str
        The names that requests may be for: those of the machine itself by default, ``["*"]`` for
        all.
    **settings
        ``prob``, ``kind``, those of `Monitor` (``measures``, ``concentration``, ``forgetting``,
        ``window``, ``order``) and those of `Monitor.alarms` (``rate``, ``floor``, ``reference``,
        ``tolerance``, ``horizon``), for all classifiers; ``classifiers``, a mapping of names to
        those of single ones, which go before. A challenge is judged by the rule that the ledger
        keeps of it.

    Returns
    -------
    starlette.applications.Starlette

    Raises
    ------
    ImportError
        If the extra ``serve`` is not installed.
    ValueError
        If there is no ledger, or a setting is out of its range.

    Examples
    --------
    >>> import bayescm as bcm
    >>> ledger = Ledger("sqlite://")
    >>> ledger.record("spam filter", "monday", bcm.from_cells(tp=65, fn=15, fp=35, tn=30))
    True
    >>> app = dashboard(ledger, floor={"recall": 0.8})
    >>> [route.path for route in app.routes]
    ['/', '/classifier', '/metrics', '/healthz', '/style.css']
    """
    return _app().application(store, token=token, hosts=hosts, **settings)


def serve(
    store: str | os.PathLike | Ledger,
    *,
    host: str = "127.0.0.1",
    port: int = 8710,
    hosts: Sequence[str] = (),
    token: str | None = None,
    **settings: Any,
) -> None:
    """
    Serve the dashboard of a ledger until the process is told to end.

    Parameters
    ----------
    store : str, path or Ledger
    host : str, default "127.0.0.1"
        Where to listen: by default only this machine can ask.
    port : int, default 8710
    hosts : sequence of str, optional
        Further names by which requests may reach it, such as that of a proxy.
    token, **settings
        See `dashboard`.

    Raises
    ------
    ImportError
        If the extra ``serve`` is not installed.
    ValueError
        If there is no ledger, or a setting is out of its range.

    Warns
    -----
    UserWarning
        If other machines can ask: the pages are for everybody who can.

    Examples
    --------
    The call returns when the server is stopped::

        bcm.online.serve("eval.db", floor={"recall": 0.8})
    """
    app = _app()
    if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 65536:
        raise fail("not a port", port, "1 to 65535", "pass port=8710")
    asgi = app.application(store, token=token, hosts=app.hosts_of(host, hosts), **settings)
    if not app.is_local(host):
        warnings.warn(
            f"The dashboard listens on {host}: whoever reaches it can read it. Put it behind a "
            "proxy that asks who they are, with TLS, or leave host out.",
            UserWarning,
            stacklevel=2,
        )
    app.listen(asgi, host, port)


def _app():
    try:
        from bayescm.online.web import app
    except ImportError as problem:
        todo = "pip install 'bayescm[serve]'"
        what = f"the dashboard needs {problem.name}, which is not installed"
        raise fail(what, ..., "the extra serve", todo, ImportError) from None
    return app
