"""The same pictures to be pointed at: plotly's, for pages that are read on a screen.

ArviZ draws a forest with plotly, too, of draws and without numbers to point at; these are drawn
from the same tables as the ones on paper.
"""

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.plots import common

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_ROW, _EDGE = 26, 90  # pixels of a row of a forest, and around it


def forest(table: pd.DataFrame) -> "Figure":
    """
    Draw a row for each measure and member, with its numbers where it is pointed at.

    Parameters
    ----------
    table : DataFrame
        A summary with ``label``, ``member``, ``colour`` and ``y``, as the forest on paper places
        its rows.
    """
    figure = _figure(table["y"].max() * _ROW + _EDGE + _ROW)
    for colour, rows in table.groupby("colour"):
        known = rows[rows["lower"].notna()]
        spread = {"symmetric": False, "array": known["upper"] - known["mean"], "thickness": 2}
        figure.add_scatter(
            x=known["mean"],
            y=known["y"],
            error_x=spread | {"arrayminus": known["mean"] - known["lower"], "width": 0},
            mode="markers",
            marker={"size": 9, "color": _paint(max(int(colour), 0))},
            name=_text(rows["member"].iloc[0]),
            showlegend=bool(colour >= 0),
            text=[_numbers(row) for row in known.to_dict("records")],
            hovertemplate="%{text}<extra></extra>",
        )
    ticks = table.drop_duplicates("label")
    labels = [_text(each) for each in ticks["label"]]
    lowest = table["y"].max() + 0.7
    figure.update_yaxes(tickvals=ticks["tick"], ticktext=labels, range=[lowest, -0.7])
    return figure


def matrix(counts: xr.DataArray, shares: np.ndarray, ends: np.ndarray, per: str) -> "Figure":
    """
    Draw a confusion matrix, each cell with its count, its share and the interval of that.

    Parameters
    ----------
    counts : DataArray
        Dims (actual, predicted).
    shares, ends : ndarray, shape (C, C), (C, C, 2)
    per : str
        What the shares are of, in words.
    """
    names = [_text(each) for each in counts["actual"].values]
    size = len(names)
    said = np.empty((size, size), object)
    for (row, column), count in np.ndenumerate(counts.values):
        low, high = ends[row, column]
        share = "no examples" if np.isnan(shares[row, column]) else f"{shares[row, column]:.1%}"
        said[row, column] = (
            f"actual {names[row]}, predicted {names[column]}: {count:,.6g}<br>{share} of the "
            f"{per} [{low:.1%}, {high:.1%}]"
        )
    figure = _figure(min(max(320, 34 * size + 160), 900))
    written = {"text": counts.values, "texttemplate": "%{text:,.6~g}"} if size <= 30 else {}
    figure.add_heatmap(
        z=shares,
        customdata=said,
        hovertemplate="%{customdata}<extra></extra>",
        colorscale="Blues",
        zmin=0,
        zmax=1,
        showscale=False,
        **written,
    )
    places: dict[str, Any] = {"tickvals": list(range(size)), "ticktext": names}
    places |= {"constrain": "domain"}
    figure.update_xaxes(title="predicted class", **places)
    figure.update_yaxes(title="actual class", autorange="reversed", scaleanchor="x", **places)
    return figure


def curves(drawn: list[dict[str, Any]], across: str, up: str) -> "Figure":
    """
    Draw curves with their bands.

    Parameters
    ----------
    drawn : list of dict
        Of each: ``name``, ``x`` and ``y`` of the curve, ``grid`` and ``band`` (n, 2).
    across, up : str
        The names of the axes.
    """
    figure = _figure(560)
    for place, each in enumerate(drawn):
        paint, name = _paint(place), _text(each["name"])
        low, high = np.transpose(each["band"])
        edge: dict[str, Any] = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
        edge |= {"legendgroup": str(place), "showlegend": False}
        figure.add_scatter(x=each["grid"], y=low, **edge)
        shade = f"rgba{paint[3:-1]},0.18)"
        figure.add_scatter(x=each["grid"], y=high, fill="tonexty", fillcolor=shade, **edge)
        figure.add_scatter(
            x=each["x"],
            y=each["y"],
            mode="lines",
            line={"color": paint, "width": 2},
            name=name,
            legendgroup=str(place),
            customdata=_band_at(each),
            hovertemplate=f"{across} %{{x:.3f}}<br>{up} %{{y:.3f}}, band [%{{customdata[0]:.3f}}, "
            "%{customdata[1]:.3f}]<extra></extra>",
        )
    square = {"constrain": "domain"}
    figure.update_xaxes(title=across, range=[0, 1], **square)
    figure.update_yaxes(title=up, range=[0, 1.005], scaleanchor="x", **square)
    return figure


def _band_at(each):
    """Return the band (n, 2) where the curve has its points."""
    return np.column_stack([np.interp(each["x"], each["grid"], end) for end in each["band"].T])


def _figure(height):
    from plotly.graph_objects import Figure

    layout: dict[str, Any] = {"height": int(height), "margin": {"l": 10, "r": 10, "t": 30, "b": 50}}
    layout |= {"legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"}}
    layout |= {"template": "plotly_white", "font": {"size": 13}}
    return Figure(layout=layout).update_xaxes(automargin=True).update_yaxes(automargin=True)


def _paint(place):
    from matplotlib.colors import to_rgb

    return f"rgb({', '.join(str(round(255 * each)) for each in to_rgb(common.paint(place)))})"


def _text(label):
    """Return a name as text: plotly takes some tags for its own."""
    return escape(str(label), quote=False).replace("\n", "<br>")


def _numbers(row):
    where = f", {_text(row['member'])}" if row["colour"] >= 0 else ""
    numbers = f"{row['mean']:.3f} [{row['lower']:.3f}, {row['upper']:.3f}]"
    return f"{_text(row['label'])}{where}<br>{numbers}"
