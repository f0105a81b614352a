"""Tables and pictures as the commands print them."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table

PICTURES = (".png", ".svg", ".pdf")
# People are not shown how much smaller than this a number is.
_NOTHING = 1e-9


def show(
    frame: pd.DataFrame,
    style: str,
    header: str = "",
    *,
    facts: Mapping[str, Any] | None = None,
    safe: bool = False,
) -> None:
    """
    Print a table: for people (``table``, ``markdown``) or for programs (``csv``, ``json``).

    Programs get every digit and no header; people get four significant digits, and no character
    that would steer their terminal. ``facts`` are the same in all rows, for JSON; ``safe`` CSV has
    no cell that a spreadsheet would take for a formula. The table's ``caution`` goes to stderr.
    """
    if said := frame.attrs.get("caution"):
        print(f"bayescm: caution: {printable(said)}", file=sys.stderr)
    frame = frame.assign(
        **{str(name): _iso(frame[name]) for name in frame.select_dtypes("datetime")}
    )
    if style == "csv":
        print((safe_csv(frame) if safe else frame).to_csv(index=False), end="")
    elif style == "json":
        known = {name: value for name, value in (facts or {}).items() if name not in frame}
        complete = frame.assign(**known)
        print(complete.to_json(orient="records", double_precision=15, indent=2))
    else:
        if header:
            say(header)
        console().print(
            _rich_table(frame, box.MARKDOWN if style == "markdown" else box.SIMPLE_HEAD)
        )


def say(text: str) -> None:
    """Print text for people."""
    console().print(printable(text), highlight=False)


def printable(text: str) -> str:
    r"""
    Return text without characters that steer a terminal or turn the direction of writing.

    Examples
    --------
    >>> print(printable("cat\x1b[31m"))
    cat\x1b[31m
    """
    return "".join(
        each if each.isprintable() or each == "\n" else each.encode("unicode_escape").decode()
        for each in text
    )


def safe_csv(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with a ' before text (names of columns too) that looks like a formula."""
    safe = frame.map(_no_formula)
    return safe.rename(columns=_no_formula)


def _no_formula(value):
    formula = isinstance(value, str) and value.lstrip(" ").startswith(tuple("=+-@\t\r\n"))
    return f"'{value}" if formula else value


def _iso(times):
    """Write times in UTC as ISO 8601; none where there is none."""
    return times.dt.strftime("%Y-%m-%dT%H:%M:%SZ").where(times.notna(), None)


def console() -> Console:
    """
    Return where text for people goes; a table cut to the width of a pipe would lose columns.

    Labels are printed as they are: ``recall[cat]`` is not markup.
    """
    return Console(width=max(500, _terminal_width()), soft_wrap=True, markup=False, emoji=False)


def check_picture(path: Path | None) -> None:
    """Refuse an unknown ending or a missing folder before any work is done."""
    from bayescm import validate

    if path is None:
        return
    if path.suffix not in PICTURES:
        raise validate.fail(
            "unknown picture format",
            str(path),
            f"a name ending in {', '.join(PICTURES)}",
            "rename the file",
        )
    if not path.parent.is_dir():
        raise validate.fail(
            "no such folder", str(path.parent), "an existing folder", "create it first"
        )


def save_picture(figure, path: Path) -> None:
    """Write a figure beside its final name first, so that no half picture is ever left."""
    from matplotlib import pyplot as plt

    from bayescm.evidence.files import replacing

    try:
        with replacing(path) as part:
            figure.savefig(part, dpi=150, bbox_inches="tight")
    finally:
        plt.close(figure)


def _terminal_width():
    return os.get_terminal_size().columns if os.isatty(1) else 0


def _rich_table(frame, style):
    table = Table(box=style)
    for column in frame.columns:
        numeric = pd.api.types.is_numeric_dtype(frame[column])
        table.add_column(_cell(column), justify="right" if numeric else "left", no_wrap=True)
    for row in frame.itertuples(index=False):
        table.add_row(*[_cell(value) for value in row])
    return table


def _cell(value):
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else _number(value)
    return printable(str(value)).replace("\n", "\\n")


def _number(value):
    """Return four significant digits; what is as good as 0 says so."""
    if value and abs(value) < _NOTHING:
        return f"{'>-' if value < 0 else '<'}{_NOTHING:.0e}".replace("e-0", "e-")
    return f"{value:.4g}"
