"""Figures in the column widths of a journal, with matching font sizes."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bayescm.validate import fail

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NATURAL = 10.0  # font size in points in the default layout of figures
SMALLEST = 6.0  # smallest font size in points that journals accept
NARROW = 5.0  # width in inches below which figures use the layout of a single journal column
NARROWEST = 1.5  # minimum width of a legible panel in inches, with 8-point text


class Paper(NamedTuple):
    """Width of a figure in inches, and font size relative to the size on a screen."""

    width: float
    scale: float


_paper: ContextVar[Paper | None] = ContextVar("paper", default=None)


@contextmanager
def paper_columns(
    columns: float = 1, *, width: float = 3.5, gap: float = 0.2, font_size: float = 8.0
) -> Iterator[None]:
    """
    Format all figures created within the context for the columns of a journal.

    Parameters
    ----------
    columns : float, default 1
        Number of columns that a figure spans, such as 1, 1.5 or 2.
    width, gap : float
        Width of a column, and gap between two columns, in inches.
    font_size : float, default 8
        Font size in points. Headings, names and numbers keep their relative sizes.

    Yields
    ------
    None

    Raises
    ------
    ValueError
        If ``columns``, ``width`` or ``font_size`` is not positive.

    Notes
    -----
    Panels are placed below each other if they would be too narrow side by side. All plots embed
    fonts in PDF, with or without this context. User-supplied axes (``ax=``) keep their size.

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
            raise fail(f"{name} must be a number above 0", value, "", "pass e.g. `columns=1`")
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
    Return width, height, panels per row and font scale of a figure.

    Parameters
    ----------
    size : pair of float
        Size of the figure on a screen, in inches.
    number, columns : int
        Number of panels in total, and per row on a screen.
    narrowest : float
        Minimum width of a legible panel in inches, with 8-point text.
    in_rows : bool
        Whether the height depends on rows of text instead of the aspect ratio of the panel.
    """
    paper = _paper.get()
    if paper is None:
        return *size, columns, 1.0
    most = max(1, int(paper.width / (narrowest * paper.scale / 0.8)))
    beside = min(columns, most)
    height = size[1] * paper.scale * -(-number // beside) / -(-number // columns)
    if number == 1 and not in_rows and abs(size[1] / size[0] - 1) < 0.1:  # square figure
        height = paper.width * size[1] / size[0]
    return paper.width, height, beside, paper.scale


def is_narrow() -> bool:
    """Return True if figures are narrow, such as one column of a journal."""
    paper = _paper.get()
    return paper is not None and paper.width < NARROW


def letters_of_a_label(usual: int) -> int:
    """Return the number of characters after which a label at the side of a figure is wrapped."""
    paper = _paper.get()
    return usual if paper is None else min(usual, max(12, int(4 * paper.width / paper.scale)))


def scale_letters(figure: "Figure", scale: float) -> None:
    """Scale all text, lines and markers of a figure."""
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
            # Ticks are recreated when the limits change, so the size is set on the axis.
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
