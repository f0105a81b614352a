"""Markdown and Word tables for papers, with the same cells, marks and notes as in LaTeX."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bayescm.answers.latex import (
    Markup,
    check_of_rows,
    is_rows,
    one_table,
    parts_of,
    rows_of,
    written_once,
)
from bayescm.evidence.files import atomic_write
from bayescm.measures.display_names import DisplayNames, check_display_names, display_dim
from bayescm.reporting.render import check_path
from bayescm.reporting.word import table_alone
from bayescm.validate import fail

# With more interval columns, a table is too wide for a page, so the upper level is moved to rows.
_MOST_COLUMNS = 5


def escape_markdown(text: object) -> str:
    r"""
    Escape text for Markdown, on one line.

    Examples
    --------
    >>> print(escape_markdown("f1_macro | <b>"))
    f1\_macro \| &lt;b&gt;
    """
    escaped = re.sub(r"([\\`*_\[\]|~$])", r"\\\1", str(text)).replace("&", "&amp;")
    return escaped.replace("<", "&lt;").replace(">", "&gt;").replace("\n", " ")


MARKDOWN = Markup(
    escape_markdown,
    bold="**{}**",
    mark="†",
    undefined="‡",
    minus="−",
    infinity="∞",
    percent="%",
    dash="–",
    less="&lt; ",
    greater="&gt; ",
)
# Mark before and after bold numbers, which become runs of bold text. It is removed from labels.
_BOLD = "\ue000"
WORD = MARKDOWN._replace(
    escape=lambda text: str(text).replace(_BOLD, ""),
    bold=f"{_BOLD}{{}}{_BOLD}",
    less="< ",
    greater="> ",
)


def to_markdown(
    frame: pd.DataFrame | Sequence[pd.DataFrame],
    *,
    comparison: pd.DataFrame | Sequence[pd.DataFrame] | Mapping[Any, pd.DataFrame] | None = None,
    rows: str | None = None,
    center: str = "mean",
    digits: int | None = None,
    caption: str | None = None,
    display_names: DisplayNames = None,
) -> str:
    """
    Return a Markdown table of a summary, comparison or ranking.

    Parameters
    ----------
    frame, comparison, rows, center, digits, display_names
        See `bayescm.latex_table`.
    caption : str, optional
        Text above the table. It is followed by explanations of cells, bold type and marks.

    Returns
    -------
    str
        Caption and pipe table in the format of GitHub, Pandoc and Quarto. Text is escaped. If a
        summary has many columns, its measures, or another level, are placed below each other.

    Raises
    ------
    TypeError, ValueError
        For the same reasons as `bayescm.latex_table`.

    See Also
    --------
    bayescm.latex_table, bayescm.to_word : The same table for other documents.

    Examples
    --------
    >>> import bayescm as bcm
    >>> summary = bcm.summary(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), ["recall", "f1"])
    >>> print(to_markdown(summary))
    Posterior mean and 95% highest-density interval.
    <BLANKLINE>
    | Measure | Mean [interval]   |
    | ------- | ----------------- |
    | recall  | 0.81 [0.72, 0.89] |
    | F1      | 0.72 [0.64, 0.79] |
    <BLANKLINE>
    """
    words, table = _grid(frame, comparison, rows, center, digits, caption, display_names, MARKDOWN)
    right = _numeric(table)
    widths = [max(3, *(len(str(cell)) for cell in column)) for column in zip(*table, strict=True)]
    lines = [_pipes(line, widths, right) for line in table]
    rule = [
        "-" * (width - 1) + ":" if column in right else "-" * width
        for column, width in enumerate(widths)
    ]
    return "\n".join([words, "", lines[0], f"| {' | '.join(rule)} |", *lines[1:], ""])


def to_word(
    frame: pd.DataFrame | Sequence[pd.DataFrame],
    path: str | Path,
    *,
    comparison: pd.DataFrame | Sequence[pd.DataFrame] | Mapping[Any, pd.DataFrame] | None = None,
    rows: str | None = None,
    center: str = "mean",
    digits: int | None = None,
    caption: str | None = None,
    display_names: DisplayNames = None,
) -> Path:
    """
    Write a summary, comparison or ranking as a Word table, for use in a paper.

    Parameters
    ----------
    frame, comparison, rows, center, digits, display_names
        See `bayescm.latex_table`.
    path : str or Path
        Path that ends in ``.docx``. Existing files are overwritten.
    caption : str, optional
        Text above the table. It is followed by explanations of cells, bold type and marks.

    Returns
    -------
    Path
        Path of the document, which contains the caption and the table.

    Raises
    ------
    ImportError
        If python-docx is not installed (the extra ``docx``).
    TypeError, ValueError
        For the same reasons as `bayescm.latex_table`, or if the file is not writable.

    See Also
    --------
    bayescm.latex_table, bayescm.to_markdown : The same table for other documents.

    Examples
    --------
    >>> import tempfile
    >>> import bayescm as bcm
    >>> summary = bcm.summary(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), ["recall", "f1"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_word(summary, f"{folder}/table.docx").name
    'table.docx'
    """
    if Path(path).suffix != ".docx":
        raise fail(
            "A Word document must have a name ending in .docx",
            Path(path).name,
            "",
            "rename the file",
        )
    path = check_path(path)
    words, table = _grid(frame, comparison, rows, center, digits, caption, display_names, WORD)
    with atomic_write(path) as part:
        part.write_bytes(table_alone(words, table, _numeric(table), _BOLD))
    return path


def _grid(frame, comparison, rows, center, digits, caption, display_names, markup):
    """Return the caption text of a table, and its rows of cells including the header."""
    stated = check_display_names(display_names)
    frame = one_table(frame)
    if is_rows(frame):
        check_of_rows(frame, comparison, rows, center)
        body, heads, leading, notes = rows_of(frame, digits, stated, markup)
        body = written_once(body, leading)
        lines = [[heads[name] for name in body], *body.to_numpy(object).tolist()]
    else:
        parts = parts_of(frame, comparison, rows, center, digits, stated, markup, caption)
        notes, lines = parts.notes, _lines_of_summary(parts, center, stated, markup)
    stop = "" if caption is None or caption.rstrip().endswith((".", "!", "?")) else "."
    words = [markup.escape(caption) + stop if caption else "", *notes]
    return " ".join(filter(None, words)), [[str(cell) for cell in line] for line in lines]


def _lines_of_summary(parts, center, stated, markup):
    """Return the rows of a summary, with the upper level in rows if there are many columns."""
    levels, columns = parts.levels, parts.columns
    if len(levels) < 2 or len(columns) <= _MOST_COLUMNS:
        heads = [_words(parts, levels, column) for column in columns]
        if not levels:
            heads = [f"{'Mean' if center == 'mean' else 'Estimate'} [interval]"]
        lines = [
            [parts.row(one), *(parts.cell(one, column) for column in columns)]
            for one in parts.members
        ]
        return [[parts.corner, *heads], *lines]
    name = display_dim(levels[0], stated)
    inner = list(dict.fromkeys(column[1:] for column in columns))
    lines = [
        [
            markup.escape(name[:1].upper() + name[1:]),
            parts.corner,
            *(_words(parts, levels[1:], column) for column in inner),
        ]
    ]
    for upper in dict.fromkeys(column[0] for column in columns):
        for place, one in enumerate(parts.members):
            cells = [parts.cell(one, (upper, *column)) for column in inner]
            first = parts.text(levels[0], upper) if place == 0 else ""
            lines.append([first, parts.row(one), *cells])
    return lines


def _words(parts, levels, column):
    texts = (parts.text(name, value) for name, value in zip(levels, column, strict=True))
    return ", ".join(filter(None, texts))


def _numeric(lines):
    """Return the positions of the columns to right-align."""
    pattern = re.compile(r"(?:&[gl]t; |[<>] )?[−–]?[\d.]*")
    return {
        place
        for place, column in enumerate(zip(*lines[1:], strict=True))
        if all(map(pattern.fullmatch, column))
    }


def _pipes(line, widths, right):
    cells = (
        cell.rjust(width) if column in right else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(line, widths, strict=True))
    )
    return f"| {' | '.join(cells)} |"
