"""Figures and their panels, new or the user's own, and how a notebook shows them."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from bayescm.plots import common
from bayescm.validate import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Canvas:
    """
    A figure and the panels in it to draw on.

    Attributes
    ----------
    figure : Figure
    panels : list of Axes
    own : bool
        Whether the figure was made for this plot, and not by the user.
    """

    figure: "Figure"
    panels: list["Axes"]
    own: bool

    @property
    def axes(self) -> "Axes":
        """The first panel."""
        return self.panels[0]

    def heading(self, *parts: str) -> None:
        """Write what holds for all panels above them, in as many lines as the width asks for."""
        inches = self.figure.get_figwidth()
        if not self.own:
            inches *= self.axes.get_position().width
        lines, most = [""], max(24, inches / 0.078)
        for part in filter(None, parts):
            longer = f"{lines[-1]} · {part}" if lines[-1] else part
            lines[-1:] = [longer] if len(longer) <= most else [lines[-1], part]
        text = "\n".join(filter(None, lines))
        if self.own:
            self.figure.suptitle(text, fontsize=10, color=common.grey())
        elif self.axes.get_title():
            self.axes.set_title(f"{text}\n{self.axes.get_title()}", fontsize=9)
        else:
            self.axes.set_title(text, fontsize=9, color=common.grey())

    def to_point_at(self, draw: Callable[[], Any]) -> None:
        """Keep how the same picture is drawn for a screen, for who asks for it."""
        if self.own:
            vars(self.figure)["pointed"] = draw


@contextmanager
def canvas(
    size: tuple[float, float],
    *,
    ax: "Axes | None" = None,
    number: int = 1,
    columns: int = 1,
    **shared: Any,
) -> Iterator[Canvas]:
    """
    Give a figure to draw on: a new one that stays with pyplot, or that of the user's axes.

    A new figure is closed where drawing fails.

    Parameters
    ----------
    size : pair of float
        Inches of a new figure.
    ax : Axes, optional
        The user's own axes.
    number, columns : int
        Panels in all, and beside each other.
    **shared
        ``sharex``, ``sharey``.
    """
    from matplotlib import pyplot as plt

    if ax is not None:
        figure = _figure_of(ax, number)
        yield Canvas(figure, [ax], False)
        show_once(figure)
        return
    rows = -(-number // columns)
    figure, grid = plt.subplots(
        rows, columns, figsize=size, layout="constrained", squeeze=False, **shared
    )
    for axes in grid.flat[number:]:
        axes.remove()
    with closed_on_failure(figure):
        yield Canvas(figure, list(grid.flat[:number]), True)
    show_once(figure)


def _figure_of(ax, number):
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        todo = "make some with figure, ax = plt.subplots()"
        raise fail("not axes", type(ax).__name__, "matplotlib axes", todo, TypeError)
    if number != 1:
        todo = "leave ax out, or ask for fewer measures or members"
        raise fail("ax is for one panel, and this plot has more", number, "one panel", todo)
    return ax.get_figure(root=True)


@contextmanager
def closed_on_failure(figure: "Figure") -> Iterator[None]:
    """Close a figure that nobody will get."""
    from matplotlib import pyplot as plt

    try:
        yield
    except BaseException:
        plt.close(figure)
        raise


def show_once(figure: "Figure") -> None:
    """
    Let a notebook show a figure once, whether or not it is the value of its cell.

    A notebook shows every figure that is open at the end of a cell, and the value of the cell as
    well: a function that returns a figure would be seen twice. So, where it is shown as the value
    of a cell, it is closed with pyplot first, as `plt.show` closes what it has shown there.
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
    # IPython then goes on to its own ways of displaying a figure.
    raise NotImplementedError
