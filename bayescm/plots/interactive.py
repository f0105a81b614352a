"""
Interactive plotly versions of the plots, for pages that are read on a screen.

ArviZ can also plot forests with plotly, but only from draws and without hover labels. The plots in
this module use the same tables as the static ones.
"""

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers.tables import value_and_interval

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_ROW = 26  # height in pixels of a row of a forest
_EDGE = 90  # margin in pixels around a forest


def forest(table: pd.DataFrame) -> "Figure":
    """
    Plot a row for each measure and member, with its numbers as a hover label.

    Parameters
    ----------
    table : DataFrame
        Summary with the columns ``label``, ``member``, ``color``, ``look``, ``scale`` and ``y``
        that the static forest plot adds.
    """
    scales = [part for _, part in table.groupby("scale", sort=False)]
    lengths = [part["y"].max() - part["y"].min() + 1 for part in scales]
    figure = _figure(sum(lengths) * _ROW + _EDGE * len(scales), lengths)
    seen: set[int] = set()
    for line, part in enumerate(scales, start=1):
        for number, members in part.groupby("color"):
            # Rows without a common dimension may have separate colours.
            colors = members["look"].map(lambda look: _rgb(look.color))
            for color, rows in members.groupby(colors, sort=False):
                named = bool(number >= 0) and number not in seen
                seen.add(int(number))
                _add_rows(figure, rows, color, named, line)
        ticks = part.drop_duplicates("label")
        labels = [_text(label) for label in ticks["label"]]
        ends = [part["y"].max() + 0.7, part["y"].min() - 0.7]
        figure.update_yaxes(tickvals=ticks["tick"], ticktext=labels, range=ends, row=line, col=1)
    return figure


def _add_rows(figure, rows, color, named, line):
    """Add the rows of one member to a panel."""
    defined = rows[rows["lower"].notna()]
    ends = {"symmetric": False, "array": defined["upper"] - defined["center"], "thickness": 2}
    figure.add_scatter(
        x=defined["center"],
        y=defined["y"],
        error_x=ends | {"arrayminus": defined["center"] - defined["lower"], "width": 0},
        mode="markers",
        marker={"size": 9, "color": color},
        name=_text(rows["member"].iloc[0]),
        showlegend=named,
        text=[_numbers(row) for row in defined.to_dict("records")],
        hovertemplate="%{text}<extra></extra>",
        row=line,
        col=1,
    )


def matrix(counts: xr.DataArray, shares: np.ndarray, ends: np.ndarray, total: str) -> "Figure":
    """
    Plot a confusion matrix with the count, share and interval of each cell.

    Parameters
    ----------
    counts : DataArray
        Counts, dims (actual, predicted).
    shares, ends : ndarray, shape (C, C), (C, C, 2)
    total : str
        Denominator of the shares, in words.
    """
    names = [_text(label) for label in counts["actual"].values]
    size = len(names)
    texts = np.empty((size, size), object)
    for (row, column), count in np.ndenumerate(counts.values):
        low, high = ends[row, column]
        share = "no examples" if np.isnan(shares[row, column]) else f"{shares[row, column]:.1%}"
        texts[row, column] = (
            f"actual {names[row]}, predicted {names[column]}: {count:,.6g}<br>{share} of the "
            f"{total} [{low:.1%}, {high:.1%}]"
        )
    figure = _figure(min(max(320, 34 * size + 160), 900))
    written = {"text": counts.values, "texttemplate": "%{text:,.6~g}"} if size <= 30 else {}
    figure.add_heatmap(
        z=shares,
        customdata=texts,
        hovertemplate="%{customdata}<extra></extra>",
        colorscale="Blues",
        zmin=0,
        zmax=1,
        showscale=False,
        **written,
    )
    ticks: dict[str, Any] = {"tickvals": list(range(size)), "ticktext": names}
    ticks |= {"constrain": "domain"}
    figure.update_xaxes(title="predicted class", **ticks)
    figure.update_yaxes(title="actual class", autorange="reversed", scaleanchor="x", **ticks)
    return figure


def curves(traces: list[dict[str, Any]], across: str, up: str) -> "Figure":
    """
    Plot curves with bands.

    Parameters
    ----------
    traces : list of dict
        Properties of each curve: ``name``, ``color``, points ``x`` and ``y``, and a ``band`` (n, 2)
        over a ``grid`` (n,).
    across, up : str
        Names of the axes.
    """
    figure = _figure(560)
    for i, curve in enumerate(traces):
        color = _rgb(curve["color"])
        low, high = np.transpose(curve["band"])
        edge: dict[str, Any] = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
        edge |= {"legendgroup": str(i), "showlegend": False}
        figure.add_scatter(x=curve["grid"], y=low, **edge)
        shade = f"rgba{color[3:-1]},0.18)"
        figure.add_scatter(x=curve["grid"], y=high, fill="tonexty", fillcolor=shade, **edge)
        at_points = [np.interp(curve["x"], curve["grid"], end) for end in (low, high)]
        figure.add_scatter(
            x=curve["x"],
            y=curve["y"],
            mode="lines",
            line={"color": color, "width": 2},
            name=_text(curve["name"]),
            legendgroup=str(i),
            customdata=np.column_stack(at_points),
            hovertemplate=f"{across} %{{x:.3f}}<br>{up} %{{y:.3f}}, band [%{{customdata[0]:.3f}}, "
            "%{customdata[1]:.3f}]<extra></extra>",
        )
    square = {"constrain": "domain"}
    figure.update_xaxes(title=across, range=[0, 1], **square)
    figure.update_yaxes(title=up, range=[0, 1.005], scaleanchor="x", **square)
    return figure


def _figure(height, lengths=(1,)):
    """Return a figure with panels of these relative heights, below each other."""
    from plotly.subplots import make_subplots

    layout: dict[str, Any] = {"height": int(height), "margin": {"l": 10, "r": 10, "t": 30, "b": 50}}
    layout |= {"legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"}}
    layout |= {"template": "plotly_white", "font": {"size": 13}}
    gap = _EDGE / 2 / max(height, _EDGE) if len(lengths) > 1 else 0
    shares = [length / sum(lengths) for length in lengths]
    figure = make_subplots(rows=len(lengths), row_heights=shares, vertical_spacing=gap)
    return figure.update_layout(layout).update_xaxes(automargin=True).update_yaxes(automargin=True)


def _rgb(color):
    from matplotlib.colors import to_rgb

    return f"rgb({', '.join(str(round(255 * part)) for part in to_rgb(color))})"


def _text(label):
    """Escape a name, because plotly interprets some HTML tags."""
    return escape(str(label), quote=False).replace("\n", "<br>")


def _numbers(row):
    where = f", {_text(row['member'])}" if row["color"] >= 0 else ""
    numbers = value_and_interval(row["center"], (row["lower"], row["upper"]), row["error"])
    return f"{_text(row['label'])}{where}<br>{numbers}"
