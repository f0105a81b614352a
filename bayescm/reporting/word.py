"""A report as a document of Word, which LibreOffice and others open too."""

import io
import re
from collections.abc import Sequence
from typing import Any

from bayescm.reporting.render import drawing, numeric_columns
from bayescm.reporting.sections import Section

_WIDEST = 6.3  # inches of a page between its margins
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # by XML


def document(title: str, sections: Sequence[Section]) -> bytes:
    """Return the file of a report."""
    from docx import Document

    file = Document()
    file.core_properties.title, file.core_properties.author = _plain(title)[:250], ""
    file.core_properties.comments = ""
    file.add_heading(_plain(title), 0)
    for section in sections:
        file.add_heading(_plain(section.title), 1)
        for sentence in section.sentences:
            style = "List Bullet" if len(section.sentences) > 1 else None
            file.add_paragraph(_plain(sentence), style)
        for table in section.tables:
            caption = file.add_paragraph(_plain(table.caption), "Caption")
            caption.paragraph_format.keep_with_next = True
            _add_table(file, table.text)
        for picture in section.pictures:
            _add_picture(file, picture)
    buffer = io.BytesIO()
    file.save(buffer)
    return buffer.getvalue()


def _plain(text: Any) -> str:
    return _FORBIDDEN.sub("\ufffd", str(text))


def _add_table(file, frame):
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Inches, Pt

    grid = file.add_table(1, frame.shape[1], style="Light List Accent 1")
    right = numeric_columns(frame)
    rows = [
        list(frame.columns),
        *frame.itertuples(index=False),
    ]
    for column, width in zip(grid.columns, _widths(rows), strict=True):
        column.width = Inches(width)  # LibreOffice takes this, Word that of the cells
    for i, row in enumerate(rows):
        cells = grid.rows[0].cells if i == 0 else grid.add_row().cells
        for column, (cell, value) in enumerate(zip(cells, row, strict=True)):
            cell.width = grid.columns[column].width
            paragraph = cell.paragraphs[0]
            paragraph.paragraph_format.keep_with_next = i == 0  # the head stays with its table
            paragraph.add_run(_plain(value)).font.size = Pt(8 if frame.shape[1] > 5 else 9)
            if column in right:
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
    file.add_paragraph()


def _widths(rows):
    """Share the width of a page out by the longest text of each column."""
    longest = [
        min(max(len(str(value)) for value in column), 60) for column in zip(*rows, strict=True)
    ]
    padded = [length + 6 for length in longest]
    return [_WIDEST * length / sum(padded) for length in padded]


def _add_picture(file, picture):
    from docx.shared import Inches

    buffer = io.BytesIO()
    with drawing():
        picture.figure.savefig(buffer, format="png", dpi=200, bbox_inches="tight")
    width = min(_WIDEST, picture.figure.get_figwidth())
    shape = file.add_picture(buffer, Inches(width))
    shape._inline.docPr.set("descr", _plain(picture.alt))  # for those who cannot see it
    file.add_paragraph(_plain(picture.alt), "Caption")
