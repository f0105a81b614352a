"""The same tables for publications: those of Great Tables."""

from typing import TYPE_CHECKING

import pandas as pd

from bayescm.answers.tables.cells import text_of, with_bars
from bayescm.validate import fail

if TYPE_CHECKING:
    from great_tables import GT


def great_table(
    frame: pd.DataFrame, *, digits: int = 3, caption: str | None = None, technical: bool = False
) -> "GT":
    """
    Return a table of intervals as one of Great Tables, to be styled further.

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
    great_tables.GT
        Columns are named as in ``frame``, with a small bar in the column ``interval`` as `table`
        draws it; ``as_raw_html()`` loads nothing from elsewhere. Bars are no LaTeX:
        ``.cols_hide("interval").as_latex()``. Text is escaped.

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
    shown = with_bars(frame, digits, technical)
    numbers = list(shown.select_dtypes("number").columns)
    made = GT(shown).fmt(text_of(digits), columns=numbers).sub_missing(missing_text="–")
    made = made.fmt_passthrough("interval", escape=False)
    made = made.cols_align("left").cols_align("right", numbers)
    return made if caption is None else made.tab_header(caption)
