"""The pages of the dashboard: rendered here, escaped everywhere, asking for nothing outside."""

from typing import Any
from urllib.parse import urlencode

import jinja2
from starlette.responses import Response

from bayescm.online.web.pictures import HEIGHT, WIDTH, bar, panels
from bayescm.online.web.watch import SHOWN, Now, Watch

_ON_A_PAGE = 50  # classifiers; a monitor of more is read page by page
_ALARMS = 100  # listed, the latest first
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_LOADER = jinja2.PackageLoader("bayescm.online.web", "templates")
_PAGES = jinja2.Environment(loader=_LOADER, autoescape=True, trim_blocks=True, lstrip_blocks=True)
_PAGES.globals |= {"width": WIDTH, "height": HEIGHT, "bar": bar}
_PAGES.filters["three"] = lambda value: "–" if value != value else f"{value:.3f}"


def link(classifier: str) -> str:
    """Return the address of a classifier's page."""
    return "classifier?" + urlencode({"name": classifier}, errors="surrogatepass")


_PAGES.filters["link"] = link


def style() -> Response:
    """Return the style sheet of all pages."""
    text, _, _ = _LOADER.get_source(_PAGES, "style.css")
    return Response(text, headers=HEADERS, media_type="text/css")


def page(template: str, status: int = 200, /, **facts: Any) -> Response:
    """Return a page of one of the templates."""
    text = _PAGES.get_template(template).render(**facts)
    # What a name may hold and UTF-8 may not is shown as a question mark.
    body = text.encode("utf-8", "replace")
    return Response(body, status, HEADERS, "text/html; charset=utf-8")


def problem(code: int, said: str) -> Response:
    """Return the page of an error."""
    return page("problem.html.j2", code, said=said, code=code)


def status(watch: Watch, number: int) -> Response:
    """Return the page of all classifiers, or of the fifty that are on this one."""
    names = watch.names()
    last = max(1, -(-len(names) // _ON_A_PAGE))
    number = min(max(number, 1), last)
    shown = names[(number - 1) * _ON_A_PAGE : number * _ON_A_PAGE]
    found = [watch.now(name) for name in shown]
    facts = {"found": found, "number": number, "last": last, "rows": _rows, "watch": watch}
    facts["duels"] = watch.challenges.now() if number == 1 else []
    return page("status.html.j2", many=len(names), **facts)


def _rows(now: Now) -> list[dict[str, Any]]:
    return now.measures.to_dict("records")


def classifier(watch: Watch, name: str, *, may_acknowledge: bool, said: str = "") -> Response:
    """Return the page of one classifier: its history, its alarms, and a form where there is one."""
    now = watch.now(name)
    pictures, span = [], ("", "")
    if not now.problem:
        ends, observed = watch.history(name)
        first, last = (str(ends["at"].values[place])[:16] for place in (0, -1))
        span = (first, last)
        pictures = panels(ends, observed, now.alarms, watch.rules.get("floor"))
    alarms = now.alarms.iloc[::-1][:_ALARMS].to_dict("records")
    facts = {"alarms": alarms, "panels": pictures, "rows": _rows(now), "watch": watch, "span": span}
    more = {"shown": min(now.batches, SHOWN), "may_acknowledge": may_acknowledge, "said": said}
    return page("classifier.html.j2", now=now, **facts, **more)
