"""
Tables of intervals for notebooks, pages and publications: every interval is a bar by its numbers.

`table` returns a Styler of pandas and `great_table` one of Great Tables; `Intervals` is the
DataFrame that notebooks show like the first of these. Wherever people read an interval, its digits
stop where its numerical error begins: `decimals` says after how many.
"""

from collections.abc import Callable
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayescm.measures.display_names import (
    DisplayNames,
    check_display_names,
    display_dim,
    display_label,
    distinct_display_names,
)
from bayescm.validate import check_is, fail

if TYPE_CHECKING:
    from pandas.io.formats.style import Styler
if TYPE_CHECKING:
    from great_tables import GT

# A bar, in pixels. With names of 20 letters a row of labels, mean, interval and bar has 500 pixels.
_WIDTH = 100
_HEIGHT = 14
_LINE, _RANGE, _TICK = "#aab2ba", "#0b62a4", "#1b1f24"
# Columns that are no more exact than the bounds of their row: of these the error is stated. The
# point is the value in the sample, which has none.
_WITHIN_ERROR = ("mean", "lower", "upper", "inner_lower", "inner_upper")
# The columns that come first, after the labels; and the first of the numbers of any table.
_FIRST = ("mean", "median", "lower", "upper", "interval")
_NUMBERS = ("point", *_FIRST)
# Letters of a cell that is broken into lines; and the look of cells.
_WORDY = 30
_CELL = [("padding", "0.2em 0.4em"), ("font-size", "13px")]
_TECHNICAL = [
    "how",
    "error",
    "undefined",
    "sd",
    "paired",
    "sentence",
    "expected_loss",
    "expected_loss_second",
]


def table(
    frame: pd.DataFrame,
    *,
    digits: int = 3,
    caption: str | None = None,
    technical: bool = False,
    display_names: DisplayNames = None,
) -> "Styler":
    """
    Return a table of intervals for notebooks and pages, each with a small bar.

    Parameters
    ----------
    frame : DataFrame
        With columns ``lower`` and ``upper``, as `summary`, `compare` and `Monitor.summary`
        return them.
    digits : int, default 3
        Decimals of the numbers; of an interval fewer where its numerical error is larger than the
        last of them, but two at least.
    caption : str, optional
        The heading.
    technical : bool, default False
        Whether to show how numbers were made, their numerical error and sentences, too.
    display_names : mapping of str to str, optional
        How measures, columns and labels are written, where not as
        `bayescm.measures.display_name` writes them.

    Returns
    -------
    pandas.io.formats.style.Styler
        Notebooks show it; ``to_html()`` is HTML that loads nothing from elsewhere. All bars have
        one scale: from 0 to 1 where all intervals lie there, else as wide as they need, 0 being
        marked. Text is escaped. Measure, system, mean and interval come first, with one number of
        decimals for the mean and both ends. The bars are for pages: `bayescm.latex_table`,
        `bayescm.to_markdown` and `bayescm.to_word` make the tables of other documents.

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
    shown = with_bars(frame, digits, technical, display_names)
    numbers = list(shown.select_dtypes("number").columns)
    shown = _cells(shown, frame, digits)
    plain = [name for name in shown.columns if name != "interval"]
    style = _styler(shown).format(subset=plain, escape="html")
    style = style.format_index(escape="html", axis=1).hide(axis="index")
    style = style.set_properties(**{"text-align": "left"})
    style = style.set_properties(subset=numbers, **{"text-align": "right", "white-space": "nowrap"})
    wordy = [name for name in plain if shown[name].astype(str).str.len().max() > _WORDY]
    style = style.set_properties(subset=wordy, **{"white-space": "normal", "min-width": "12em"})
    cells = [{"selector": name, "props": _CELL} for name in ("th", "td")]
    style = style.set_table_styles(cells)
    return style if caption is None else style.set_caption(escaped(caption))


def _cells(shown, frame, digits):
    """Return the cells as text: one number of decimals in a column, but for numerical errors."""
    texts = in_text(shown, partial(_with_decimals, digits=digits), frame, by_column=True)
    if "error" in shown:
        texts["error"] = [text_of(value, np.nan, digits) for value in shown["error"]]
    return texts


def _with_decimals(value, error, digits):
    """Write a number like all others of its column; a share that is nearly 0 or 1 is not 0 or 1."""
    text = text_of(value, error, digits)
    if not isinstance(value, float | np.floating) or np.isnan(value):
        return text
    most = decimals(error, digits)
    least = 10.0**-most
    if 0 < value < least / 2:
        return f"<{least:.{most}f}"
    if 1 - least / 2 < value < 1:
        return f">{1 - least:.{most}f}"
    return f"{0:.{most}f}" if -least / 2 < value < 0 else text


def _styler(frame):
    """Return a Styler that makes pages and notebooks only: elsewhere the bars are text of SVG."""
    from pandas.io.formats.style import Styler

    class IntervalTable(Styler):
        def to_latex(self, *unused: Any, **also: Any) -> Any:
            raise _not_a_page("LaTeX", "bcm.latex_table(summary)")

        def to_typst(self, *unused: Any, **also: Any) -> Any:
            raise _not_a_page("Typst", "bcm.to_markdown(summary)")

        def to_string(self, *unused: Any, **also: Any) -> Any:
            raise _not_a_page("text", "print the summary itself, or bcm.to_markdown(summary)")

        def to_excel(self, *unused: Any, **also: Any) -> None:
            raise _not_a_page("Excel", "the summary itself: summary.to_excel(path)")

    return IntervalTable(frame)


def _not_a_page(document, todo):
    return fail(f"the bars of this table are for pages, not for {document}", ..., "", f"use {todo}")


def great_table(
    frame: pd.DataFrame,
    *,
    digits: int = 3,
    caption: str | None = None,
    technical: bool = False,
    display_names: DisplayNames = None,
) -> "GT":
    """
    Return a table of intervals as one of Great Tables, to be styled further.

    Parameters
    ----------
    frame : DataFrame
        With columns ``lower`` and ``upper``, as `summary`, `compare` and `Monitor.summary`
        return them.
    digits : int, default 3
        Decimals of the numbers; of an interval fewer where its numerical error is larger than the
        last of them, but two at least.
    caption : str, optional
        The heading.
    technical : bool, default False
        Whether to show how numbers were made and their numerical error too.
    display_names : mapping of str to str, optional
        How measures, columns and labels are written, where not as
        `bayescm.measures.display_name` writes them.

    Returns
    -------
    great_tables.GT
        With a small bar in the column ``interval`` as `table` draws it; ``as_raw_html()`` loads
        nothing from elsewhere. Bars are no LaTeX: ``.cols_hide("interval").as_latex()``. Text is
        escaped.

    Raises
    ------
    ImportError
        If Great Tables is not installed (the extra ``tables``).
    TypeError
        If it is not a DataFrame.
    ValueError
        If it has no intervals.

    See Also
    --------
    bayescm.table : A Styler of pandas, which needs nothing more.
    bayescm.latex_table : The table of a paper.

    Examples
    --------
    >>> import bayescm as bcm
    >>> summary = bcm.summary(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), ["recall", "f1"])
    >>> great_table(summary, caption="A test").as_raw_html().count("<svg")
    2
    """
    try:
        from great_tables import GT
    except ImportError:
        todo = "pip install 'bayescm[tables]', or use bcm.table"
        what = "tables of this kind need Great Tables, which is not installed"
        raise fail(what, ..., "the extra tables", todo, ImportError) from None
    shown = with_bars(frame, digits, technical, display_names)
    numbers = list(shown.select_dtypes("number").columns)
    shown = _cells(shown, frame, digits)
    formatted = GT(shown).sub_missing(missing_text="–")
    formatted = formatted.fmt_passthrough("interval", escape=False)
    formatted = formatted.cols_align("left").cols_align("right", numbers)
    return formatted if caption is None else formatted.tab_header(caption)


class Intervals(pd.DataFrame):
    """
    A DataFrame that notebooks show with a bar for every interval, as `table` does.

    It is one in everything else. Where the columns ``lower`` and ``upper`` are gone, the rows have
    names or are more than pandas shows, or jinja2 is missing, it is shown as pandas does.
    """

    @property
    def _constructor(self):
        return Intervals

    def __repr__(self):
        # A terminal's pandas leaves columns out in the middle, which is where the interval stands.
        with pd.option_context("display.max_columns", pd.get_option("display.max_columns") or None):
            if "error" not in self.columns:
                return super().__repr__()
            most = pd.get_option("display.precision")
            if all(decimals(error, most) == most for error in self["error"]):
                return super().__repr__()
            return repr(in_text(pd.DataFrame(self), partial(_limited, most=most)))

    def _repr_html_(self):
        most: Any = pd.get_option("display.max_rows")
        if not pd.get_option("display.notebook_repr_html") or not _plain(self, most):
            return super()._repr_html_()
        try:
            shown = table(pd.DataFrame(self)).to_html()
        except ImportError:
            return super()._repr_html_()
        # Beside the numbers the sentences would be wider than a notebook.
        shown += "".join(f"<p>{escape(str(each))}</p>" for each in self.get("sentence", ()))
        caution = self.attrs.get("caution")
        return shown + f"<p>Caution: {escape(caution)}</p>" if caution else shown


def _plain(frame: pd.DataFrame, most: int | None) -> bool:
    """Say whether a frame is small, has intervals, and rows without names."""
    columns = frame.columns
    is_plain = columns.nlevels == 1 and columns.is_unique and {"lower", "upper"} <= set(columns)
    numbered = frame.index.name is None and pd.api.types.is_integer_dtype(frame.index)
    few = 0 < len(frame) <= (most or len(frame))
    return is_plain and "interval" not in columns and numbered and few


# What stands in the cells: numbers, escaped text, and the bars.


def with_bars(
    frame: pd.DataFrame, digits: int, technical: bool, display_names: DisplayNames = None
) -> pd.DataFrame:
    """Return what is shown of a table, with a column ``interval`` of bars; refuse what has none."""
    allowed, todo = "a table of intervals", "pass bcm.summary(...) or bcm.compare(...)"
    check_is(frame, pd.DataFrame, "a table", allowed, todo)
    if not {"lower", "upper"} <= set(frame.columns) or "interval" in frame.columns:
        got = list(frame.columns)
        raise fail("the table has no intervals", got, "lower and upper, no interval", todo)
    check_digits(digits)
    shown = frame if technical else frame.drop(columns=_TECHNICAL, errors="ignore")
    if not technical and tuple(frame.attrs.get("rope", ())) == (0, 0):  # not requested
        shown = shown.drop(columns="p_rope", errors="ignore")
    shown = shown.reset_index(drop=True)
    shown.insert(
        list(shown.columns).index("upper") + 1, "interval", _bars(frame), allow_duplicates=True
    )
    return for_readers(shown.iloc[:, _reading_order(shown)], display_names)


def _reading_order(frame):
    """Return the places of the columns: labels, mean and interval first, then the rest."""
    names = list(frame.columns)
    labels = min((names.index(name) for name in _NUMBERS if name in names), default=0)
    first = [*range(labels), *(names.index(name) for name in _FIRST if name in names)]
    return first + [place for place in range(len(names)) if place not in first]


def for_readers(frame: pd.DataFrame, display_names: DisplayNames = None) -> pd.DataFrame:
    """
    Return a table with the display names of its measures, columns and labels.

    Examples
    --------
    >>> for_readers(pd.DataFrame({"data_set": ["wdbc"], "measure": ["f1"], "p_better": [0.9]}))
      data set measure  P(better)
    0     wdbc      F1        0.9
    """
    stated, shown = check_display_names(display_names), frame.copy()
    for name in frame.columns[~frame.columns.duplicated()]:
        if name == "measure":
            written = distinct_display_names(frame[name], stated)
            shown[name] = [written[str(value)] for value in frame[name]]
        elif stated and name not in ("interval", "how") and frame[name].dtype.kind not in "fc":
            shown[name] = [
                display_label(value, stated) if value in stated or str(value) in stated else value
                for value in frame[name]
            ]
    return shown.rename(
        columns=lambda name: name if name == "interval" else display_dim(name, stated)
    )


def check_digits(digits: Any) -> None:
    """Raise where a number of decimals is none."""
    if isinstance(digits, bool) or not isinstance(digits, int) or not 0 <= digits <= 15:
        raise fail("digits must be a whole number", digits, "0 to 15", "pass `digits=3`")


def is_mean_unusable(table: Any) -> Any:
    """
    Return where a mean does not represent its distribution: infinite, or outside its interval.

    The interval of a distribution on few values, such as a median of marks, may not contain its
    mean.

    Parameters
    ----------
    table : DataFrame, or mapping with columns or numbers ``mean``, ``lower``, ``upper``, ``error``
    """
    mean, lower, upper = (np.asarray(table[name], float) for name in ("mean", "lower", "upper"))
    error = np.nan_to_num(np.asarray(table["error"], float)) if "error" in table else 0.0
    return np.isinf(mean) | (mean < lower - error) | (mean > upper + error)


def decimals(error: float, most: int) -> int:
    """
    Return how many decimals of a number to print: none beyond its numerical error, but two.

    Parameters
    ----------
    error : float
        That of the number; NaN or 0 where it has none.
    most : int
        How many to print of a number without an error.

    Examples
    --------
    >>> [decimals(error, 4) for error in (1e-6, 0.0008, 0.004, 0.03)]
    [4, 3, 2, 2]
    """
    if not error > 0:
        return most
    return int(min(max(np.floor(-np.log10(error)), 2), most))


def value_and_interval(value: float, ends: Any, error: float) -> str:
    """
    Write a number and its interval, by three decimals at most.

    Examples
    --------
    >>> value_and_interval(0.8216, (0.7431, 0.8902), 0.004)
    '0.82 [0.74, 0.89]'
    """
    lower, upper = ends
    digits = decimals(error, 3)
    return f"{value:.{digits}f} [{lower:.{digits}f}, {upper:.{digits}f}]"


def in_text(
    frame: pd.DataFrame,
    write: Callable[[Any, float], Any],
    errors: pd.DataFrame | None = None,
    *,
    by_column: bool = False,
) -> pd.DataFrame:
    """
    Return a table of text.

    Parameters
    ----------
    frame : DataFrame
    write : callable
        Function from a value and its numerical error, NaN where it has none, to text.
    errors : DataFrame, optional
        The table with the column ``error``, where that is not shown; by default the first.
    by_column : bool
        Whether all rows are written with the largest of the errors.
    """
    table = frame if errors is None else errors
    of_row = table["error"].to_numpy(float) if "error" in table else np.full(len(frame), np.nan)
    if by_column and not np.isnan(of_row).all():
        of_row = np.full(len(frame), np.nanmax(of_row))
    shown = frame.astype(object)
    for place, name in enumerate(frame.columns):
        of_value = of_row if name in _WITHIN_ERROR else np.full(len(frame), np.nan)
        texts = [write(*pair) for pair in zip(frame.iloc[:, place], of_value, strict=True)]
        shown.isetitem(place, pd.Series(texts, frame.index, object))
    return shown


def _limited(value, error, most):
    """Write a number that has an error, and leave the rest to pandas."""
    return f"{value:.{decimals(error, most)}f}" if error > 0 else value


def text_of(value: Any, error: float, digits: int) -> Any:
    """Write a number with so many decimals, none beyond its error; leave the rest as it is."""
    if not isinstance(value, float | np.floating):
        return value
    if np.isnan(value):
        return "–"
    most = decimals(error, digits)
    small = 0 < abs(float(value)) < 0.5 * 10.0**-most  # all digits would be 0
    return f"{value:.0e}" if small and most == digits else f"{value:.{most}f}"


def escaped(text: Any) -> str:
    """Return text as HTML shows it."""
    from markupsafe import escape

    return str(escape(text))


def _bars(frame):
    ends = frame[["lower", "upper"]].to_numpy(float)
    errors = frame["error"] if "error" in frame else np.full(len(frame), np.nan)
    middle = frame["mean"].to_numpy(float) if "mean" in frame else ends.mean(axis=1)
    low, high = _scale(ends)

    def x(value):
        return round(float((value - low) / (high - low) * _WIDTH), 1)

    zero = x(0.0) if low < 0 < high else None
    return [_bar(x, row, zero) for row in np.column_stack([ends, middle, errors])]


def _scale(ends):
    """Return both ends of the scale that all bars have."""
    finite = ends[np.isfinite(ends)]
    if not finite.size or (finite.min() >= 0 and finite.max() <= 1):
        return 0.0, 1.0
    if finite.min() >= -1 and finite.max() <= 1:
        most = float(np.abs(finite).max()) * 1.05
        return -most, most
    edge = 0.05 * float(np.ptp(finite) or 1.0)
    return min(0.0, finite.min() - edge), max(0.0, finite.max() + edge)


def _bar(x, row, zero):
    lower, upper, middle, error = row
    if not np.isfinite([lower, upper]).all():
        return ""
    start, width = x(lower), max(x(upper) - x(lower), 1.0)
    parts = [_rect(0, _HEIGHT / 2 - 0.5, _WIDTH, 1, _LINE)]
    parts.append(_rect(start, 3, width, _HEIGHT - 6, _RANGE, 'fill-opacity="0.5"'))
    if zero is not None:
        parts.append(_rect(zero - 0.5, 0, 1, _HEIGHT, _LINE))
    if np.isfinite(middle):
        parts.append(_rect(x(middle) - 1, 1, 2, _HEIGHT - 2, _TICK))
    digits = decimals(error, 3)
    text = f"from {lower:.{digits}f} to {upper:.{digits}f}"
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    return f'<svg {size} role="img" aria-label="{text}">{"".join(parts)}</svg>'


def _rect(x, y, width, height, fill, more=""):
    geometry = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {geometry} fill="{fill}" {more}/>'
