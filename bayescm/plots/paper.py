"""Figures as wide as the columns of a journal, with letters of the size of its text."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bayescm.validate import fail

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NATURAL = 10.0  # points of the letters that figures are laid out for
SMALLEST = 6.0  # points of letters that journals print
NARROW = 5.0  # inches; a narrower figure has its legend below, not at its side
NARROWEST = 1.5  # inches of a panel that still reads, at letters of 8 points


class Paper(NamedTuple):
    """The inches of a figure's width, and the points of its letters beside those on a screen."""

    width: float
    scale: float


_paper: ContextVar[Paper | None] = ContextVar("paper", default=None)


@contextmanager
def paper_columns(
    columns: float = 1, *, width: float = 3.5, gap: float = 0.2, font_size: float = 8.0
) -> Iterator[None]:
    """
    Make the figures drawn inside as wide as some columns of a journal.

    Parameters
    ----------
    columns : float, default 1
        How many columns a figure spans, such as 1, 1.5 or 2.
    width, gap : float
        Inches of a column, and between two.
    font_size : float, default 8
        Points of the letters; headings, names and numbers keep their proportions.

    Yields
    ------
    None

    Raises
    ------
    ValueError
        If a size is not positive.

    Notes
    -----
    Panels stand below each other where they would be too narrow side by side. Fonts are embedded in
    PDF by every plot, inside or not. Your own axes (``ax=``) keep their size.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> with bcm.plots.paper_columns(2):
    ...     figure = bcm.plot_forest(counts, ["precision", "recall"])
    >>> round(float(figure.get_figwidth()), 2)
    7.2
    """
    for name, value in {"columns": columns, "width": width, "font_size": font_size}.items():
        if not isinstance(value, (int, float)) or not value > 0:
            raise fail(f"{name} must be a size", value, "a number above 0", "pass e.g. `columns=1`")
    inches = columns * width + max(0.0, columns - 1) * gap
    token = _paper.set(Paper(inches, font_size / _NATURAL))
    try:
        yield
    finally:
        _paper.reset(token)


def fitted(
    size: tuple[float, float],
    number: int,
    columns: int,
    narrowest: float = NARROWEST,
    in_rows: bool = False,
) -> tuple[float, float, int, float]:
    """
    Return width, height and panels beside each other of a figure, and the scale of its letters.

    Parameters
    ----------
    size : pair of float
        The inches of the figure on a screen.
    number, columns : int
        Panels in all, and beside each other on a screen.
    narrowest : float
        Inches of a panel that still reads, at letters of 8 points.
    in_rows : bool
        Whether the height is for rows of text, and not for the aspect of the panel.
    """
    paper = _paper.get()
    if paper is None:
        return *size, columns, 1.0
    most = max(1, int(paper.width / (narrowest * paper.scale / 0.8)))
    beside = min(columns, most)
    height = size[1] * paper.scale * -(-number // beside) / -(-number // columns)
    if number == 1 and not in_rows and abs(size[1] / size[0] - 1) < 0.1:  # panels of one aspect
        height = paper.width * size[1] / size[0]
    return paper.width, height, beside, paper.scale


def is_narrow() -> bool:
    """Return whether figures are narrow, such as one column of a journal."""
    paper = _paper.get()
    return paper is not None and paper.width < NARROW


def letters_of_a_label(usual: int) -> int:
    """Return after how many letters a label at the side of a figure is broken into lines."""
    paper = _paper.get()
    return usual if paper is None else min(usual, max(12, int(4 * paper.width / paper.scale)))


def scale_letters(figure: "Figure", scale: float) -> None:
    """Scale all the text of a figure, its lines and its markers."""
    from matplotlib.text import Text

    if scale == 1.0:
        return
    texts = figure.findobj(Text)
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            labels = axis.get_ticklabels(which="both")
            if labels:
                size = max(SMALLEST, float(labels[0].get_fontsize()) * scale)
                axis.set_tick_params(which="both", labelsize=size)
            # Ticks come and go with the limits: the axis knows the size of their labels.
            of_ticks = {*axis.findobj(Text)} - {axis.label, axis.get_offset_text()}
            texts = [text for text in texts if text not in of_ticks]
    for text in texts:
        text.set_fontsize(max(SMALLEST, float(text.get_fontsize()) * scale))
    for axes in figure.axes:
        for line in axes.lines:
            line.set_markersize(line.get_markersize() * scale)
            line.set_linewidth(line.get_linewidth() * scale)
        for lines in axes.collections:
            lines.set_linewidth([width * scale for width in np.atleast_1d(lines.get_linewidth())])
