"""
Tables of intervals for notebooks, web pages and publications, with a bar for every interval.

`table` returns a pandas Styler and `great_table` a Great Tables object; `Intervals` is a
DataFrame that notebooks display in the same way as `table`. Printed intervals never have more
decimals than their numerical error allows, as computed by `decimals`.
"""

import re
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

# Sizes of a bar in pixels. With names of 20 letters, a row of labels, mean, interval and bar is 500
# pixels wide.
_WIDTH = 100
_HEIGHT = 14
_LINE, _RANGE, _TICK = "#aab2ba", "#0b62a4", "#1b1f24"
# Columns whose values have a numerical error. The point estimate is exact.
_WITHIN_ERROR = ("mean", "lower", "upper", "inner_lower", "inner_upper")
# Columns that are shown directly after the labels. The first number column ends the labels.
_FIRST = ("mean", "median", "lower", "upper", "interval")
_NUMBERS = ("point", *_FIRST)
# Number of characters above which the cells of a column are broken into lines, and the style of
# cells.
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
    Return a table of intervals with small bars, for notebooks and web pages.

    Parameters
    ----------
    frame : DataFrame
        Table with columns ``lower`` and ``upper``, as returned by `summary`, `compare` and
        `Monitor.summary`.
    digits : int, default 3
        Number of decimals. If the numerical error of an interval is too large, fewer decimals are
        shown, but at least two.
    caption : str, optional
        Heading of the table.
    technical : bool, default False
        Whether to include the method of computation, the numerical error and the sentences.
    display_names : mapping of str to str, optional
        Display names of measures, columns and labels. By default, see
        `bayescm.measures.display_name`.

    Returns
    -------
    pandas.io.formats.style.Styler
        Styled table, which notebooks display. ``to_html()`` returns HTML without external
        resources, with escaped text. Measure, system, mean and interval come first, with the same
        number of decimals for the mean and both ends. All bars share a scale: from 0 to 1 if all
        intervals are within this range, and otherwise as wide as needed, with a mark at 0. The bars
        are only for web pages; for other documents use `bayescm.latex_table`, `bayescm.to_markdown`
        or `bayescm.to_word`.

    Raises
    ------
    TypeError
        If ``frame`` is not a DataFrame.
    ValueError
        If ``frame`` does not contain intervals.

    Examples
    --------
    >>> import bayescm as bcm
    >>> shown = table(bcm.summary(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), ["recall", "f1"]))
    >>> shown.to_html().count("<svg")
    2
    """
    shown = with_bars(frame, digits, technical, display_names)
    numbers = list(shown.select_dtypes("number").columns)
    style = _styled(_cells(shown, frame, digits), numbers)
    return style if caption is None else style.set_caption(escaped(caption))


def _styled(shown, numbers):
    """Return a Styler of formatted cells, with the columns of numbers aligned to the right."""
    plain = [name for name in shown.columns if name != "interval"]
    style = _styler(shown).format(subset=plain, escape="html")
    style = style.format_index(escape="html", axis=1).hide(axis="index")
    style = style.set_properties(**{"text-align": "left"})
    style = style.set_properties(subset=numbers, **{"text-align": "right", "white-space": "nowrap"})
    wordy = [name for name in plain if shown[name].astype(str).str.len().max() > _WORDY]
    style = style.set_properties(subset=wordy, **{"white-space": "normal", "min-width": "12em"})
    cells = [{"selector": name, "props": _CELL} for name in ("th", "td")]
    return style.set_table_styles(cells)


def _cells(shown, frame, digits):
    """Return the cells as text, with equal numbers of decimals per column, except in ``error``."""
    texts = in_text(shown, partial(_with_decimals, digits=digits), frame, by_column=True)
    if "error" in shown:
        texts["error"] = [text_of(value, np.nan, digits) for value in shown["error"]]
    return texts


def _with_decimals(value, error, digits):
    """Format a number for its column. A proportion is never rounded to 0 or 1."""
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
    """Return a Styler for web pages and notebooks only, as other formats would show raw SVG."""
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
    return fail(
        f"Tables with bars are available in HTML only, not in {document}", ..., "", f"use {todo}"
    )


def great_table(
    frame: pd.DataFrame,
    *,
    digits: int = 3,
    caption: str | None = None,
    technical: bool = False,
    display_names: DisplayNames = None,
) -> "GT":
    """
    Return a table of intervals as a Great Tables object, for further styling.

    Parameters
    ----------
    frame : DataFrame
        Table with columns ``lower`` and ``upper``, as returned by `summary`, `compare` and
        `Monitor.summary`.
    digits : int, default 3
        Number of decimals. If the numerical error of an interval is too large, fewer decimals are
        shown, but at least two.
    caption : str, optional
        Heading of the table.
    technical : bool, default False
        Whether to include the method of computation and the numerical error.
    display_names : mapping of str to str, optional
        Display names of measures, columns and labels. By default, see
        `bayescm.measures.display_name`.

    Returns
    -------
    great_tables.GT
        Table with escaped text and a small bar in the column ``interval``, as in `table`.
        ``as_raw_html()`` returns HTML without external resources. LaTeX does not support the bars:
        use ``.cols_hide("interval").as_latex()``.

    Raises
    ------
    ImportError
        If Great Tables is not installed (the extra ``tables``).
    TypeError
        If ``frame`` is not a DataFrame.
    ValueError
        If ``frame`` does not contain intervals.

    See Also
    --------
    bayescm.table : pandas Styler, without further dependencies.
    bayescm.latex_table : Table for papers.

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
        raise fail(
            "This kind of table needs the package Great Tables",
            ...,
            "",
            "install it with pip install 'bayescm[tables]', or use bcm.table",
            ImportError,
        ) from None
    shown = with_bars(frame, digits, technical, display_names)
    numbers = list(shown.select_dtypes("number").columns)
    shown = _cells(shown, frame, digits)
    formatted = GT(shown).sub_missing(missing_text="–")
    formatted = formatted.fmt_passthrough("interval", escape=False)
    formatted = formatted.cols_align("left").cols_align("right", numbers)
    return formatted if caption is None else formatted.tab_header(caption)


class Intervals(pd.DataFrame):
    """
    DataFrame that notebooks display with a bar for every interval, as in `table`.

    In all other respects it is an ordinary DataFrame. It is displayed like an ordinary DataFrame if
    the columns ``lower`` and ``upper`` are missing, if the rows have names, if there are more rows
    than pandas shows, or if jinja2 is not installed.
    """

    @property
    def _constructor(self):
        return Intervals

    def __repr__(self):
        # In a terminal, pandas omits columns in the middle, where the interval is.
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
        plain = pd.DataFrame(self)
        plain.attrs = self.attrs
        try:
            shown = table(plain).to_html()
        except ImportError:
            return super()._repr_html_()
        # Sentences follow the table, because as a column they would make it wider than a notebook.
        shown += "".join(f"<p>{escape(str(each))}</p>" for each in self.get("sentence", ()))
        caution = self.attrs.get("caution")
        return shown + f"<p>Caution: {escape(caution)}</p>" if caution else shown


class Ranks(pd.DataFrame):
    """
    DataFrame that notebooks display without the probabilities of single ranks.

    These columns, one per member, would make the table wider than a notebook.
    """

    @property
    def _constructor(self):
        return Ranks

    def _repr_html_(self):
        single = [name for name in self.columns if re.fullmatch(r"rank_\d+", str(name))]
        if not pd.get_option("display.notebook_repr_html") or not single or "tiers" not in self:
            return super()._repr_html_()
        shown = for_readers(pd.DataFrame(self.drop(columns=single)))
        numbers = list(shown.select_dtypes("number").columns)
        try:
            style = _styled(in_text(shown, partial(_with_decimals, digits=3)), numbers)
        except ImportError:
            return super()._repr_html_()
        omitted = f"The probabilities of single ranks ({single[0]} to {single[-1]}) are omitted."
        caution = self.attrs.get("caution")
        caution = f"<p>Caution: {escape(caution)}</p>" if caution else ""
        return f"{style.to_html()}<p>{omitted}</p>{caution}"


def _plain(frame: pd.DataFrame, most: int | None) -> bool:
    """Return True if a frame is short, contains intervals, and has no row names."""
    columns = frame.columns
    is_plain = columns.nlevels == 1 and columns.is_unique and {"lower", "upper"} <= set(columns)
    numbered = frame.index.name is None and pd.api.types.is_integer_dtype(frame.index)
    few = 0 < len(frame) <= (most or len(frame))
    return is_plain and "interval" not in columns and numbered and few


# Contents of the cells: numbers, escaped text and bars.


def with_bars(
    frame: pd.DataFrame, digits: int, technical: bool, display_names: DisplayNames = None
) -> pd.DataFrame:
    """Return the table to display, with an added column ``interval`` of bars."""
    allowed, todo = "a table of intervals", "pass bcm.summary(...) or bcm.compare(...)"
    check_is(frame, pd.DataFrame, "a table", allowed, todo)
    if not {"lower", "upper"} <= set(frame.columns) or "interval" in frame.columns:
        got = list(frame.columns)
        raise fail("The table has no columns lower and upper; it has {}", got, "", todo)
    check_digits(digits)
    shown = frame if technical else frame.drop(columns=_TECHNICAL, errors="ignore")
    # Without a region of equivalence, `p_rope` is not informative.
    if not technical and tuple(frame.attrs.get("rope", ())) == (0, 0):
        shown = shown.drop(columns="p_rope", errors="ignore")
    shown = shown.reset_index(drop=True)
    shown.insert(
        list(shown.columns).index("upper") + 1, "interval", _bars(frame), allow_duplicates=True
    )
    return for_readers(shown.iloc[:, _reading_order(shown)], display_names)


def _reading_order(frame):
    """Return the column positions in reading order: labels, mean, interval, then the rest."""
    names = list(frame.columns)
    labels = min((names.index(name) for name in _NUMBERS if name in names), default=0)
    first = [*range(labels), *(names.index(name) for name in _FIRST if name in names)]
    return first + [place for place in range(len(names)) if place not in first]


def for_readers(frame: pd.DataFrame, display_names: DisplayNames = None) -> pd.DataFrame:
    """
    Return a table with display names for its measures, columns and labels.

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
    """Raise an error if the number of decimals is invalid."""
    if isinstance(digits, bool) or not isinstance(digits, int) or not 0 <= digits <= 15:
        raise fail("`digits` must be a whole number from 0 to 15", digits, "", "pass `digits=3`")


def is_mean_unusable(table: Any) -> Any:
    """
    Return True if a mean is infinite or outside its interval.

    Such a mean does not represent its distribution. For example, the interval of a discrete
    distribution, such as that of a median grade, may exclude its mean.

    Parameters
    ----------
    table : DataFrame, or mapping with columns or numbers ``mean``, ``lower``, ``upper``, ``error``
    """
    mean, lower, upper = (np.asarray(table[name], float) for name in ("mean", "lower", "upper"))
    error = np.nan_to_num(np.asarray(table["error"], float)) if "error" in table else 0.0
    return np.isinf(mean) | (mean < lower - error) | (mean > upper + error)


def decimals(error: float, most: int) -> int:
    """
    Return the number of decimals that the numerical error allows, at least two.

    Parameters
    ----------
    error : float
        Numerical error; NaN or 0 if there is none.
    most : int
        Largest number of decimals, which is used if there is no numerical error.

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
    Format a value and its interval, with at most three decimals.

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
    Return a table as formatted text.

    Parameters
    ----------
    frame : DataFrame
    write : callable
        Function that formats a value, given the value and its numerical error (NaN if there is
        none).
    errors : DataFrame, optional
        Table with the column ``error``, if ``frame`` does not contain it. By default ``frame``.
    by_column : bool
        Whether all rows of a column are formatted with the largest error.
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
    """Format a number that has an error, and return other values unchanged."""
    return f"{value:.{decimals(error, most)}f}" if error > 0 else value


def text_of(value: Any, error: float, digits: int) -> Any:
    """Format a number with decimals limited by its error, and return other values unchanged."""
    if not isinstance(value, float | np.floating):
        return value
    if np.isnan(value):
        return "–"
    most = decimals(error, digits)
    small = 0 < abs(float(value)) < 0.5 * 10.0**-most  # all digits would be 0
    return f"{value:.0e}" if small and most == digits else f"{value:.{most}f}"


def escaped(text: Any) -> str:
    """Escape text for HTML."""
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
    """Return both ends of the common scale of all bars."""
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
