"""Tables for notebooks and pages: every interval is a small bar beside its numbers."""

from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from bayescm.answers.tables.cells import escaped, text_of, with_bars

if TYPE_CHECKING:
    from pandas.io.formats.style import Styler


def table(
    frame: pd.DataFrame, *, digits: int = 3, caption: str | None = None, technical: bool = False
) -> "Styler":
    """
    Return a table of intervals for notebooks and pages, each with a small bar.

    Parameters
    ----------
    frame : DataFrame
        With columns ``lower`` and ``upper``, as `summary`, `compare` and `Monitor.summary`
        return them.
    digits : int, default 3
        Decimals of the numbers.
    caption : str, optional
        The heading.
    technical : bool, default False
        Whether to show how numbers were made and their numerical error too.

    Returns
    -------
    pandas.io.formats.style.Styler
        Notebooks show it; ``to_html()`` is HTML that loads nothing from elsewhere. All bars have
        one scale: from 0 to 1 where all intervals lie there, else as wide as they need, 0 being
        marked. Text is escaped.

    Raises
    ------
    TypeError
        If it is not a DataFrame.
    ValueError
        If it has no intervals.

    Examples
    --------
    >>> import bayescm as bcm
    >>> shown = table(bcm.summary(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), ["recall", "f1"]))
    >>> shown.to_html().count("<svg")
    2
    """
    shown = with_bars(frame, digits, technical)
    plain = [name for name in shown.columns if name != "interval"]
    style = shown.style.format(text_of(digits), subset=plain, escape="html")
    style = style.format_index(escape="html", axis=1).hide(axis="index")
    style = style.set_properties(**{"text-align": "left"})
    numbers = list(shown.select_dtypes("number").columns)
    style = style.set_properties(subset=numbers, **{"text-align": "right", "white-space": "nowrap"})
    return style if caption is None else style.set_caption(escaped(caption))


class Intervals(pd.DataFrame):
    """
    A DataFrame that notebooks show with a bar for every interval, as `table` does.

    It is one in everything else. Where the columns ``lower`` and ``upper`` are gone, the rows have
    names or are more than pandas shows, or jinja2 is missing, it is shown as pandas does.
    """

    @property
    def _constructor(self):
        return Intervals

    def _repr_html_(self):
        most: Any = pd.get_option("display.max_rows")
        if not pd.get_option("display.notebook_repr_html") or not _plain(self, most):
            return super()._repr_html_()
        try:
            shown = table(pd.DataFrame(self), technical=True).to_html()
        except ImportError:
            return super()._repr_html_()
        said = self.attrs.get("caution")
        return shown + f"<p>Caution: {escape(said)}</p>" if said else shown


def _plain(frame: pd.DataFrame, most: int | None) -> bool:
    """Say whether a frame is small, has intervals, and rows without names."""
    columns = frame.columns
    known = columns.nlevels == 1 and columns.is_unique and {"lower", "upper"} <= set(columns)
    numbered = frame.index.name is None and pd.api.types.is_integer_dtype(frame.index)
    few = 0 < len(frame) <= (most or len(frame))
    return known and "interval" not in columns and numbered and few
