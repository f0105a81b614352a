"""Tables and pictures as the commands print them."""

import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table

PICTURES = (".png", ".svg", ".pdf")


def show(frame: pd.DataFrame, style: str, header: str = "") -> None:
    """Print a table: for people (``table``, ``markdown``) or for programs (``csv``, ``json``).

    Programs get every digit and no header; people get four significant digits.
    """
    if style == "csv":
        print(frame.to_csv(index=False), end="")
    elif style == "json":
        print(frame.to_json(orient="records", double_precision=15, indent=2))
    else:
        if header:
            console().print(header, highlight=False, markup=False)
        console().print(
            _rich_table(frame, box.MARKDOWN if style == "markdown" else box.SIMPLE_HEAD)
        )


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
    handle, name = tempfile.mkstemp(suffix=path.suffix, dir=path.parent)
    os.close(handle)
    try:
        figure.savefig(name, dpi=150, bbox_inches="tight")
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _terminal_width():
    return os.get_terminal_size().columns if os.isatty(1) else 0


def _rich_table(frame, style):
    table = Table(box=style)
    for column in frame.columns:
        numeric = pd.api.types.is_numeric_dtype(frame[column])
        table.add_column(str(column), justify="right" if numeric else "left", no_wrap=True)
    for row in frame.itertuples(index=False):
        table.add_row(*[_cell(value) for value in row])
    return table


def _cell(value):
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.4g}"
    return str(value)
