"""A report as a document of Word, which LibreOffice and others open too."""

import io
import re
from collections.abc import Sequence
from typing import Any

from bayescm.reporting.formats.cells import drawing, number, numeric_columns
from bayescm.reporting.parts import Section
from bayescm.validate import fail

_WIDEST = 6.3  # inches of a page between its margins
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # by XML


def check() -> None:
    """Raise where the library that writes such documents is missing."""
    try:
        import docx  # noqa: F401
    except ImportError:
        todo = "pip install 'bayescm[docx]'"
        what = "a .docx needs python-docx, which is not installed"
        raise fail(what, ..., "the extra docx", todo, ImportError) from None


def document(title: str, sections: Sequence[Section]) -> bytes:
    """Return the file of a report."""
    from docx import Document

    made = Document()
    made.core_properties.title, made.core_properties.author = _plain(title)[:250], ""
    made.core_properties.comments = ""
    made.add_heading(_plain(title), 0)
    for section in sections:
        made.add_heading(_plain(section.title), 1)
        for sentence in section.sentences:
            style = "List Bullet" if len(section.sentences) > 1 else None
            made.add_paragraph(_plain(sentence), style)
        for table in section.tables:
            caption = made.add_paragraph(_plain(table.caption), "Caption")
            caption.paragraph_format.keep_with_next = True
            _table(made, table.frame)
        for picture in section.pictures:
            _picture(made, picture)
    buffer = io.BytesIO()
    made.save(buffer)
    return buffer.getvalue()


def _plain(text: Any) -> str:
    return _FORBIDDEN.sub("\ufffd", str(text))


def _table(made, frame):
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Inches, Pt

    drawn = made.add_table(1, frame.shape[1], style="Light List Accent 1")
    right = numeric_columns(frame)
    rows = [
        list(frame.columns),
        *([number(v) for v in row] for row in frame.itertuples(index=False)),
    ]
    for column, width in zip(drawn.columns, _widths(rows), strict=True):
        column.width = Inches(width)  # LibreOffice takes this, Word that of the cells
    for place, row in enumerate(rows):
        cells = drawn.rows[0].cells if place == 0 else drawn.add_row().cells
        for column, (cell, value) in enumerate(zip(cells, row, strict=True)):
            cell.width = drawn.columns[column].width
            paragraph = cell.paragraphs[0]
            paragraph.paragraph_format.keep_with_next = place == 0  # the head stays with its table
            paragraph.add_run(_plain(value)).font.size = Pt(8 if frame.shape[1] > 5 else 9)
            if column in right:
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
    made.add_paragraph()


def _widths(rows):
    """Share the width of a page out by the longest text of each column."""
    longest = [
        min(max(len(str(value)) for value in column), 60) for column in zip(*rows, strict=True)
    ]
    return [_WIDEST * (each + 6) / sum(most + 6 for most in longest) for each in longest]


def _picture(made, picture):
    from docx.shared import Inches

    buffer = io.BytesIO()
    with drawing():
        picture.figure.savefig(buffer, format="png", dpi=200, bbox_inches="tight")
    width = min(_WIDEST, picture.figure.get_figwidth())
    shape = made.add_picture(buffer, Inches(width))
    shape._inline.docPr.set("descr", _plain(picture.alt))  # for those who cannot see it
    made.add_paragraph(_plain(picture.alt), "Caption")
