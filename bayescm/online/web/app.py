"""The web application of the dashboard: routes, access control and the server."""

import hmac
import ipaddress
import os
import socket
import sys
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs

import pandas as pd
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from bayescm.online.ledger import Ledger, ledger_of
from bayescm.online.web import metrics, pages
from bayescm.online.web.state import DashboardState, dashboard_state
from bayescm.validate import fail

_LARGEST_FORM = 16_384  # largest size of a form in bytes
_MOST_FIELDS = 20  # largest number of fields in a form
_SHORTEST_TOKEN = 16  # minimum number of characters in the token
LIMITS: dict[str, Any] = {"log_level": "error", "server_header": False, "limit_concurrency": 200}
LIMITS |= {"timeout_keep_alive": 5, "timeout_graceful_shutdown": 3}
_THIS_MACHINE = ("localhost", "127.0.0.1", "[::1]")


def application(
    store: str | os.PathLike | Ledger,
    *,
    token: str | None = None,
    hosts: Sequence[str] = _THIS_MACHINE,
    **settings: Any,
) -> Starlette:
    """Return the dashboard; see `bayescm.online.dashboard`."""
    ledger = ledger_of(store, create=False)
    answers = _Answers(dashboard_state(ledger, settings), _check_token(token))
    routes = [
        Route("/", answers.status),
        Route("/classifier", answers.classifier),
        Route("/metrics", answers.metrics),
        Route("/healthz", answers.health),
        Route("/style.css", lambda request: pages.style()),
    ]
    if token is not None:
        routes.append(Route("/acknowledge", answers.acknowledge, methods=["POST"]))
    # Host names are checked to prevent DNS rebinding, which would let other sites read these pages.
    trusted = Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)
    handlers: dict[Any, Any] = {
        404: _missing,
        405: _missing,
        500: lambda request, error: pages.problem(500, "This cannot be shown."),
        OSError: _failed,
        ValueError: _failed,
        ClientDisconnect: lambda request, error: Response(status_code=400),  # no client reads it
    }
    return Starlette(routes=routes, middleware=[trusted], exception_handlers=handlers)


def _check_token(token):
    if token is not None and (len(token) < _SHORTEST_TOKEN or not token.isascii()):
        todo = "make one: python -c 'import secrets; print(secrets.token_urlsafe())'"
        raise fail(
            f"The token must have at least {_SHORTEST_TOKEN} ASCII characters", ..., "", todo
        )
    return token


def _missing(request: Request, error: Any) -> Response:
    return pages.problem(error.status_code, "There is no such page.")


def _failed(request: Request, error: Any) -> Response:
    """Show the error of the ledger, which contains no credentials."""
    return pages.problem(503, str(error))


class _Answers:
    """Responses to the requests. Requests that read the ledger run in threads."""

    def __init__(self, state: DashboardState, token: str | None):
        self._state, self._token = state, token

    def status(self, request: Request) -> Response:
        """Return the page of all classifiers."""
        number = request.query_params.get("page", "1")
        return pages.status(self._state, int(number) if _is_number(number) else 1)

    def classifier(self, request: Request) -> Response:
        """Return the page of one classifier."""
        name, number = (request.query_params.get(key, "") for key in ("name", "seen"))
        if name not in self._state.names():
            return pages.problem(404, "The ledger has no classifier of this name.")
        message = f"{int(number)} acknowledged." if _is_number(number) else ""
        may_acknowledge = self._token is not None
        return pages.classifier(self._state, name, may_acknowledge=may_acknowledge, message=message)

    def metrics(self, request: Request) -> Response:
        """Return the metrics for Prometheus."""
        return Response(metrics.exposition(self._state), media_type=metrics.TYPE)

    def health(self, request: Request) -> Response:
        """Return True if the ledger can be read."""
        try:
            number = len(self._state.names())
        except (OSError, ValueError):
            return PlainTextResponse("the ledger cannot be read\n", 503)
        return PlainTextResponse(f"ok, {number} classifiers\n")

    async def acknowledge(self, request: Request) -> Response:
        """Acknowledge alarms, if the form contains the token."""
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _LARGEST_FORM:
                return pages.problem(413, "The form is too long.")
        text = body.decode("utf-8", "replace")
        if text.count("&") > _MOST_FIELDS:
            return pages.problem(400, "The form has too many fields.")
        form = {key: values[-1] for key, values in parse_qs(text).items()}
        token = form.get("token", "").encode("utf-8", "replace")
        if not hmac.compare_digest(token, str(self._token).encode()):
            return pages.problem(403, "The token is incorrect.")
        return await run_in_threadpool(self._acknowledge, form)

    def _acknowledge(self, form):
        name, note = form.get("name", ""), form.get("note", "")
        if name not in self._state.names():
            return pages.problem(404, "The ledger has no classifier of this name.")
        if len(note) > 500 or not note.isprintable():
            return pages.problem(400, "A note is printable text of at most 500 characters.")
        new = self._state.classifier(name).new
        if not ("all" in form or "batch" in form):
            return pages.problem(400, "The form names no alarm.")
        alarms = new if "all" in form else new[new["batch_id"] == form["batch"]]
        number = self._state.monitor(name).acknowledge(pd.DataFrame(alarms), note=note)
        return RedirectResponse(f"{pages.link(name)}&seen={number}", 303, pages.HEADERS)


def _is_number(text: str) -> bool:
    """Return True if text of a request is a short non-negative integer."""
    return text.isascii() and text.isdigit() and len(text) < 7


def listen(app: Starlette, host: str, port: int) -> None:
    """Serve until the process is stopped."""
    name = f"[{host}]" if ":" in host else host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        server_socket = socket.create_server((host, port), family=family)
    except OSError as problem:
        raise fail(
            f"The server cannot listen on {{}}: {problem.strerror or problem}",
            f"{name}:{port}",
            "",
            "choose another port, or stop the program that uses it",
        ) from None
    print(f"bayescm: the dashboard is at http://{name}:{port} until Ctrl-C", file=sys.stderr)
    uvicorn.Server(uvicorn.Config(app, **LIMITS)).run(sockets=[server_socket])


def hosts_of(host: str, further: Sequence[str]) -> list[str]:
    """Return the host names for requests: local names, the name of the host and additional ones."""
    if _is(host, "is_unspecified") and not further:
        return ["*"]
    name = f"[{host}]" if ":" in host else host
    return [*_THIS_MACHINE, name, *further]


def is_local(host: str) -> bool:
    """Return True if only the local machine can reach a host."""
    return host == "localhost" or _is(host, "is_loopback")


def _is(host, what):
    try:
        return getattr(ipaddress.ip_address(host), what)
    except ValueError:
        return False
