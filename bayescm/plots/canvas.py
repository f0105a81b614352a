"""Figures and panels, common plot elements, and display in notebooks."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescm.plots import style
from bayescm.plots.paper import NARROWEST, fitted, scale_letters
from bayescm.validate import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_HEADING_LINE = 0.17  # height in inches of a line of the heading, with 10-point text
_EDGE = 0.08  # margin in inches around the panels


@dataclass(frozen=True, eq=False)
class Canvas:
    """
    Figure with panels to plot on.

    Attributes
    ----------
    figure : Figure
        The figure.
    panels : list of Axes
        The panels.
    is_new : bool
        Whether the figure was created for this plot rather than by the user.
    scale : float
        Font size relative to the size on a screen.
    beside : int
        Number of panels per row.
    """

    figure: "Figure"
    panels: list["Axes"]
    is_new: bool
    scale: float = 1.0
    beside: int = 1

    @property
    def axes(self) -> "Axes":
        """First panel."""
        return self.panels[0]

    def heading(self, *parts: str) -> None:
        """Write a common heading above the panels, wrapped to the width of the figure."""
        inches = self.figure.get_figwidth()
        if not self.is_new:
            inches *= self.axes.get_position().width
        lines, most = [""], max(24, inches / (0.078 * self.scale))
        for part in [line for text in parts for line in wrap(text, int(most))]:
            longer = f"{lines[-1]} · {part}" if lines[-1] else part
            lines[-1:] = [longer] if len(longer) <= most else [lines[-1], part]
        text = "\n".join(filter(None, lines))
        if self.is_new:
            self.figure.suptitle(text, fontsize=10, color=style.muted())
            # Additional lines of the heading must not reduce the height of the panels.
            more = _HEADING_LINE * self.scale * text.count("\n")
            self.figure.set_figheight(self.figure.get_figheight() + more)
        elif self.axes.get_title():
            self.axes.set_title(f"{text}\n{self.axes.get_title()}", fontsize=9)
        else:
            self.axes.set_title(text, fontsize=9, color=style.muted())

    def interactive(self, draw: Callable[[], Any]) -> None:
        """Store a function that creates the interactive plotly version of this plot on demand."""
        if self.is_new:
            vars(self.figure)["interactive"] = draw


@contextmanager
def canvas(
    size: tuple[float, float],
    *,
    ax: "Axes | None" = None,
    number: int = 1,
    columns: int = 1,
    narrowest: float = NARROWEST,
    in_rows: bool = False,
    **shared: Any,
) -> Iterator[Canvas]:
    """
    Provide a canvas: a new pyplot figure or the user's axes.

    A new figure is closed if plotting fails.

    Parameters
    ----------
    size : pair of float
        Size of a new figure in inches.
    ax : Axes, optional
        Axes of the user.
    number, columns : int
        Number of panels in total and per row.
    narrowest : float
        Minimum width of a legible panel in inches, for figures that are fitted to journal columns.
    in_rows : bool
        Whether the height depends on rows of text instead of the aspect ratio of the panel.
    **shared
        Keywords ``sharex`` and ``sharey``.
    """
    from matplotlib import pyplot as plt

    from bayescm.plots.embedded_fonts import EmbeddedFontsFigure

    if ax is not None:
        figure = _figure_of(ax, number)
        yield Canvas(figure, [ax], False)
        show_once(figure)
        return
    width, height, columns, scale = fitted(size, number, columns, narrowest, in_rows)
    figure, grid = plt.subplots(
        -(-number // columns),
        columns,
        figsize=(width, height),
        layout="constrained",
        squeeze=False,
        FigureClass=EmbeddedFontsFigure,
        **shared,
    )
    figure.get_layout_engine().set(w_pad=_EDGE, h_pad=_EDGE)
    for axes in grid.flat[number:]:
        axes.remove()
    with closed_on_failure(figure):
        yield Canvas(figure, list(grid.flat[:number]), True, scale, columns)
        scale_letters(figure, scale)
    show_once(figure)


def _figure_of(ax, number):
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise fail(
            f"`ax` must be matplotlib axes, not a {type(ax).__name__}",
            ...,
            "",
            "create axes with figure, ax = plt.subplots()",
            TypeError,
        )
    if number != 1:
        raise fail(
            "`ax` is for one panel, but this plot has {}",
            number,
            "",
            "leave `ax` out, or plot fewer measures or members",
        )
    return ax.get_figure(root=True)


def bare(axes: "Axes", *, left: bool = True) -> None:
    """Remove the frame, except for the lower axis and, by default, the left one."""
    axes.spines[["top", "right"] if left else ["top", "right", "left"]].set_visible(False)


def band(
    axes: "Axes",
    x: Any,
    ends: Any,
    middle: Any = None,
    *,
    color: Any,
    edges: bool = False,
    label: str | None = None,
    **line: Any,
) -> None:
    """
    Plot a band, optionally with a curve in its middle.

    Parameters
    ----------
    axes : Axes
    x : array_like, shape (n,)
    ends : array_like, shape (n, 2)
    middle : array_like, shape (n,), optional
    color : color
    edges : bool
        Whether the ends are also plotted as lines.
    label : str, optional
        Legend label of the curve or, without a curve, of the band.
    **line
        Further properties of the curve.
    """
    low, high = np.asarray(ends).T
    of_band = label if middle is None else None
    axes.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0, label=of_band)
    if edges:
        axes.plot(x, np.stack([low, high], axis=-1), color=color, linewidth=1)
    if middle is not None:
        axes.plot(x, middle, color=color, label=label, **line)


def rows(
    axes: "Axes",
    y: Any,
    ends: Any,
    center: Any = None,
    *,
    color: Any,
    inner: Any = None,
    width: float = 2.0,
    marker: str = "o",
    size: float = 5.0,
    filled: bool = True,
    label: str | None = None,
) -> None:
    """
    Plot an interval and a marker in each row.

    Parameters
    ----------
    axes : Axes
    y : array_like, shape (n,)
    ends : array_like, shape (n, 2)
    center : array_like, shape (n,), optional
        Position of the marker.
    color : color
    inner : array_like, shape (n, 2), optional
        Ends of a thicker inner part of the interval.
    width, size : float
        Line width and marker size in points.
    marker : str
    filled : bool
        Whether the marker is filled with its colour instead of the background colour.
    label : str, optional
        Legend label.
    """
    axes.hlines(y, *np.asarray(ends).T, color=color, linewidth=width)
    if inner is not None:
        axes.hlines(y, *np.asarray(inner).T, color=color, linewidth=3.5)
    if center is not None:
        face = color if filled else style.background()
        edge = {"markeredgecolor": color, "linestyle": "none", "zorder": 3}
        axes.plot(center, y, marker, color=face, markersize=size, label=label, **edge)


def name_rows(axes: "Axes", y: Any, labels: Sequence[str], *, last: float | None = None) -> None:
    """
    Label rows on the left, with the first one at the top, and add grid lines.

    Parameters
    ----------
    axes : Axes
    y : array_like, shape (n,)
        Positions of the labels.
    labels : sequence of str
    last : float, optional
        Position of the lowest row, if it is not the last labelled one.
    """
    axes.set_yticks(y, labels)
    axes.set_ylim((max(y) if last is None else last) + 0.6, -0.6)
    bare(axes, left=False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=style.muted(0.1))
    axes.set_axisbelow(True)


def write_beside(
    axes: "Axes",
    y: Any,
    texts: Sequence[str],
    *,
    at: float = 1.02,
    points: float = 0,
    ha: str = "left",
) -> None:
    """Write text to the right of each row, at a relative position plus an offset in points."""
    from matplotlib.transforms import ScaledTranslation

    figure: Any = axes.get_figure(root=True)
    beyond = ScaledTranslation(points / 72, 0, figure.dpi_scale_trans)
    look: dict[str, Any] = {"transform": axes.get_yaxis_transform() + beyond, "ha": ha}
    look |= {"va": "center", "fontsize": 8, "color": style.muted()}
    for row, text in zip(y, texts, strict=True):
        axes.text(at, row, text, **look)


@contextmanager
def closed_on_failure(figure: "Figure") -> Iterator[None]:
    """Close the figure if an exception is raised."""
    from matplotlib import pyplot as plt

    try:
        yield
    except BaseException:
        plt.close(figure)
        raise


def show_once(figure: "Figure") -> None:
    """
    Make notebooks display a figure only once.

    A notebook displays every figure that is open at the end of a cell, as well as the value of the
    cell. A returned figure would therefore appear twice. To prevent this, the figure is closed in
    pyplot when it is displayed as the value of a cell, as `plt.show` does.
    """
    vars(figure).setdefault("_ipython_display_", partial(_before_display, figure))


def _before_display(figure):
    from matplotlib import pyplot as plt

    if "inline" in plt.get_backend():
        notebook = sys.modules["matplotlib_inline.backend_inline"]
        if notebook.InlineBackend.instance().close_figures:
            plt.close(figure)
        elif figure in notebook.show._to_draw:
            notebook.show._to_draw.remove(figure)
    # IPython then uses its own display methods for the figure.
    raise NotImplementedError
