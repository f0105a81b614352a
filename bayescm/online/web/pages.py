"""
Pages of the dashboard, rendered on the server with escaped text and no external resources.

The plots (bars of intervals and bands over time) are SVG in the templates, with coordinates
computed here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any
from urllib.parse import urlencode

import jinja2
import numpy as np
import pandas as pd
import xarray as xr
from starlette.responses import Response

from bayescm.measures.display_names import display_name
from bayescm.measures.preferences import is_against_itself
from bayescm.online.encoding import CHANGING
from bayescm.online.rules import displayed, floor_of, value_name
from bayescm.online.web.state import SHOWN, ClassifierState, DashboardState

_PER_PAGE = 50  # number of classifiers per page
_MOST_ALARMS = 100  # largest number of listed alarms, latest first
# Sizes of a plot, in units that the page scales.
WIDTH = 600.0
HEIGHT = 150.0
_EDGE = 6.0
_TICK = 0.8  # width of the tick at the mean, in percent
_TICKS = 5  # number of ticks on the time axis
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


def link(classifier: str) -> str:
    """Return the address of a classifier's page."""
    return "classifier?" + urlencode({"name": classifier}, errors="surrogatepass")


def style() -> Response:
    """Return the style sheet of all pages."""
    text, _, _ = _LOADER.get_source(_PAGES, "style.css")
    return Response(text, headers=HEADERS, media_type="text/css")


def page(template: str, status: int = 200, /, **facts: Any) -> Response:
    """Return a page rendered from a template."""
    text = _PAGES.get_template(template).render(**facts)
    # Characters that UTF-8 cannot encode are shown as question marks.
    body = text.encode("utf-8", "replace")
    return Response(body, status, HEADERS, "text/html; charset=utf-8")


def problem(code: int, message: str) -> Response:
    """Return an error page."""
    return page("problem.html.j2", code, message=message, code=code)


def status(state: DashboardState, number: int) -> Response:
    """Return the page of all classifiers, or one of several such pages with fifty each."""
    names = state.names()
    last = max(1, -(-len(names) // _PER_PAGE))
    number = min(max(number, 1), last)
    shown = names[(number - 1) * _PER_PAGE : number * _PER_PAGE]
    return page(
        "status.html.j2",
        classifiers=[state.classifier(name) for name in shown],
        challenges=state.challenges() if number == 1 else [],
        n_classifiers=len(names),
        number=number,
        last=last,
        rows=_rows,
        state=state,
    )


def _rows(classifier: ClassifierState) -> list[dict[str, Any]]:
    return classifier.measures.to_dict("records")


def classifier(
    state: DashboardState, name: str, *, may_acknowledge: bool, message: str = ""
) -> Response:
    """Return the page of one classifier, with its history, alarms and an optional form."""
    current = state.classifier(name)
    pictures, times = [], []
    if not current.problem:
        ends, observed = state.history(name)
        ends = ends.assign_coords(at=ends[state.settings.get("order") or "at"])
        times = time_axis(ends["at"].values)
        rules = state.rules_of(name)
        tolerated = state.monitor(name).tolerated(**rules)
        pictures = panels(ends, observed, current.alarms, rules.get("floor"), tolerated)
    return page(
        "classifier.html.j2",
        classifier=current,
        alarms=current.alarms.iloc[::-1][:_MOST_ALARMS].to_dict("records"),
        incidents=current.incidents.iloc[::-1][:_MOST_ALARMS].to_dict("records"),
        panels=pictures,
        rows=_rows(current),
        state=state,
        times=times,
        shown=min(current.batches, SHOWN),
        may_acknowledge=may_acknowledge,
        message=message,
    )


def time_axis(at: np.ndarray) -> list[str]:
    """Return the times of evenly spaced ticks, from the first batch to the last."""
    first, last = at.min(), at.max()
    ticks = first + (last - first) * np.arange(_TICKS) // (_TICKS - 1)
    unit = "D" if last - first >= np.timedelta64(_TICKS, "D") else "m"
    return [str(tick.astype(f"<M8[{unit}]")).replace("T", " ") for tick in ticks]


@dataclass(frozen=True)
class Panel:
    """
    History of one measure, as coordinates of a plot.

    Attributes
    ----------
    name : str
        Name of the measure, with its class if there are several.
    low, high : float
        Values at the lower and the upper edge.
    bands : list of str
        The interval, as points of one polygon for each segment between changes.
    changes : list of float
        Positions of the changes.
    dots, marks : list of tuple
        Positions of the single batches, and positions and labels of the alarms.
    limits : list of tuple
        Heights of the limits and their descriptions: a floor, or an end of the tolerated range.
    words : str
        Description of the plot.
    """

    name: str
    low: float
    high: float
    bands: list[str]
    changes: list[float]
    dots: list[tuple[float, float]]
    marks: list[tuple[float, float, str]]
    limits: list[tuple[float, str]]
    words: str


def panels(
    ends: xr.Dataset,
    observed: xr.Dataset,
    alarms: pd.DataFrame,
    floors: Any,
    tolerated: Mapping[str, tuple[float, float]],
) -> list[Panel]:
    """
    Return a panel for every measure of a history.

    Parameters
    ----------
    ends : Dataset
        Result of `Monitor.history`.
    observed : Dataset
        The same measures in each single batch, dims (step, [class]).
    alarms : DataFrame
        Result of `Monitor.alarms`. Alarms of batches that are not shown are ignored.
    floors : mapping, float or None
        Limits by measure.
    tolerated : mapping of str to pairs of float
        Result of `Monitor.tolerated`.
    """
    pictures = []
    for name, intervals in ends.data_vars.items():
        dims = [dim for dim in intervals.dims if dim not in ("step", "bound")]
        for labels in product(*(intervals[dim].values.tolist() for dim in dims)):
            where = dict(zip(dims, labels, strict=True))
            if is_against_itself(str(name), where.get("system")):
                continue
            label = value_name(str(name), where)
            interval = intervals.sel(where).transpose("step", "bound").values
            values = observed[name].sel(where).values
            marked = alarms[alarms["measure"].isin([label, *CHANGING])] if len(alarms) else alarms
            limits = [(end, "end of what is tolerated") for end in tolerated.get(str(name), ())]
            if (floor := floor_of(floors, str(name), label)) is not None:
                limits.append((floor, "floor"))
            pictures.append(_panel(displayed(label), interval, values, marked, ends, limits))
    return pictures


def _panel(label, interval, values, alarms, ends, limits):
    shown = np.concatenate([interval.ravel(), values, [limit for limit, _ in limits]])
    shown = shown[np.isfinite(shown)]
    low, high = (float(shown.min()), float(shown.max())) if len(shown) else (0.0, 1.0)
    x = _across(ends["at"].values)

    def y(value):
        return np.round(_EDGE + (HEIGHT - 2 * _EDGE) * (high - value) / ((high - low) or 1.0), 1)

    since = ends["since"].values
    starts = [0, *(np.flatnonzero(since[1:] != since[:-1]) + 1).tolist()]
    parts = [slice(*part) for part in zip(starts, [*starts[1:], None], strict=True)]
    dots = [(a, float(y(b))) for a, b in zip(x, values, strict=True) if np.isfinite(b)]
    middle = np.where(np.isfinite(values), values, interval.mean(axis=1))
    return Panel(
        label,
        low,
        high,
        [_band(x[part], interval[part], y) for part in parts],
        [float(x[start]) for start in starts[1:]],
        dots,
        _marks(alarms, ends, x, y, middle),
        [(float(y(limit)), what) for limit, what in limits],
        f"{label}: now {_pair(interval[-1])}, at the first batch shown {_pair(interval[0])}",
    )


def _band(x, interval, y):
    """Return the points of the polygon of an interval, with a minimum width."""
    defined = np.isfinite(interval).all(axis=1)
    x, (lower, upper) = x[defined], interval[defined].T if defined.any() else np.empty((2, 0))
    if len(x) == 1:
        x, lower, upper = x[0] + np.array([-1.5, 1.5]), lower.repeat(2), upper.repeat(2)
    points = [*zip(x, y(lower), strict=True), *zip(x[::-1], y(upper[::-1]), strict=True)]
    return " ".join(f"{a},{b}" for a, b in points)


def _across(at):
    """Return the horizontal positions of times."""
    seconds = (at - at.min()) / np.timedelta64(1, "s")
    if not seconds.any():
        return np.full(len(at), WIDTH / 2)
    return np.round(_EDGE + (WIDTH - 2 * _EDGE) * seconds / seconds.max(), 1)


def _marks(alarms, ends, x, y, middle):
    index_of = {step: index for index, step in enumerate(ends["step"].values.tolist())}
    marks = []
    for row in alarms.itertuples(index=False):
        index = index_of.get(row.step)
        if index is not None and np.isfinite(middle[index]):
            marks.append((x[index], float(y(middle[index])), f"{row.batch_id}: {row.rule}"))
    return marks


def _pair(ends):
    return f"{ends[0]:.3f} to {ends[1]:.3f}"


def bar(row: Any) -> tuple[float, float, float] | None:
    """
    Return the start and width of an interval's bar and the start of its tick, in percent.

    Measures between 0 and 1 use this scale. Measures that may be negative use a scale from -1 to 1.
    The result is None for other measures.
    """
    ends = [row["lower"], row["upper"], row["mean"]]
    if not np.all(np.isfinite(ends)) or min(ends) < -1 or max(ends) > 1:
        return None
    start = -1.0 if min(ends) < 0 else 0.0
    lower, upper, middle = (100 * (x - start) / (1 - start) for x in ends)
    return round(lower, 2), round(max(upper - lower, 0.5), 2), round(middle - _TICK / 2, 2)


_LOADER = jinja2.PackageLoader("bayescm.online.web", "templates")
_PAGES = jinja2.Environment(loader=_LOADER, autoescape=True, trim_blocks=True, lstrip_blocks=True)
_PAGES.globals |= {"width": WIDTH, "height": HEIGHT, "bar": bar}
_PAGES.globals["ticks"] = np.round(np.linspace(_EDGE, WIDTH - _EDGE, _TICKS), 1).tolist()
_PAGES.filters |= {
    "three": lambda value: "–" if np.isnan(value) else f"{value:.3f}",
    "link": link,
    "displayed": display_name,
    "minute": lambda time: "" if pd.isna(time) else f"{time:%Y-%m-%d %H:%M}",
}
