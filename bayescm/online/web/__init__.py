"""
Dashboard of a ledger: web pages for people, and metrics for Prometheus.

The packages of the extra ``serve`` are imported when one of these functions is called.
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
    Return the dashboard of a ledger as an ASGI application.

    Use this function to run the dashboard on a server that you manage; `serve` starts one. The
    dashboard consists of a page of all classifiers and challenges (``/``), a page for each
    classifier with its history and alarms (``/classifier?name=``), metrics for Prometheus
    (``/metrics``) and ``/healthz``. All pages are rendered by the server. They load nothing from
    other hosts and run no scripts.

    Parameters
    ----------
    store : str, path or Ledger
        An existing ledger; see `Monitor`.
    token : str, optional
        Secret that is required to acknowledge alarms, at least 16 characters. Without a token, the
        dashboard is read-only.
    hosts : sequence of str
        Host names that requests may use. By default the names of the local machine. Pass ``["*"]``
        to allow all.
    **settings
        Settings for all classifiers:

        - ``prob`` and ``kind`` of the intervals.
        - Arguments of `Monitor`: ``measures``, ``concentration``, ``forgetting``, ``window``,
          ``order`` and ``season``.
        - Arguments of `Monitor.alarms`: ``rate``, ``floor``, ``reference``, ``tolerance``,
          ``horizon`` and ``silence``.
        - ``classifiers``: a mapping from names to the settings of single classifiers, which
          override the others.

        Challenges use the rule stored in the ledger.

    Returns
    -------
    starlette.applications.Starlette
        The application.

    Raises
    ------
    ImportError
        If the extra ``serve`` is not installed.
    ValueError
        If the ledger does not exist, or a setting is out of range.

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
    Serve the dashboard of a ledger until the process is stopped.

    Parameters
    ----------
    store : str, path or Ledger
        An existing ledger; see `Monitor`.
    host : str, default "127.0.0.1"
        Address to listen on. By default only the local machine has access.
    port : int, default 8710
        Port to listen on.
    hosts : sequence of str, optional
        Additional host names that requests may use, such as the name of a proxy.
    token, **settings
        See `dashboard`.

    Raises
    ------
    ImportError
        If the extra ``serve`` is not installed.
    ValueError
        If the ledger does not exist, or a setting is out of range.

    Warns
    -----
    UserWarning
        If other machines have access, because the pages require no login.

    Examples
    --------
    The call returns when the server is stopped::

        bcm.online.serve("eval.db", floor={"recall": 0.8})
    """
    app = _app()
    if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 65536:
        raise fail("`port` must be a number from 1 to 65535", port, "", "pass port=8710")
    asgi = app.application(store, token=token, hosts=app.hosts_of(host, hosts), **settings)
    if not app.is_local(host):
        warnings.warn(
            f"The dashboard listens on {host}, so anyone who can reach it can read it. Put "
            "it behind a proxy with authentication and TLS, or leave host out.",
            UserWarning,
            stacklevel=2,
        )
    app.listen(asgi, host, port)


def _app():
    try:
        from bayescm.online.web import app
    except ImportError as problem:
        raise fail(
            f"The dashboard needs the package {problem.name}",
            ...,
            "",
            "install it with pip install 'bayescm[serve]'",
            ImportError,
        ) from None
    return app
