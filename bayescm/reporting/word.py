"""Reports as Word documents, which LibreOffice and others can also open."""

import io
import re
from collections.abc import Sequence
from typing import Any

from bayescm.reporting.render import drawing, numeric_columns
from bayescm.reporting.sections import Section

# Largest height of a plot relative to the page, which leaves room for its caption.
_TALLEST = 0.85
# Total margins of a cell in inches, width of a bold letter in inches per point of the font size,
# and smallest font size in points.
_MARGINS, _LETTER, _SMALLEST = 0.17, 0.0092, 6
# Word and LibreOffice break lines after a hyphen before a number, but not after a minus sign.
_HYPHEN = re.compile(r"(?<![\w.)\]-])-(?=[\d.])|(?<=\de)-(?=\d)")
# Characters that XML does not allow.
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def document(title: str, sections: Sequence[Section]) -> bytes:
    """Return the file contents of a report."""
    from docx import Document

    file = Document()
    file.core_properties.title, file.core_properties.author = _plain(title)[:250], ""
    file.core_properties.comments = ""
    file.add_heading(_plain(title), 0)
    for section in sections:
        file.add_heading(_plain(section.title), 1 + section.depth)
        for sentence in section.sentences:
            style = "List Bullet" if len(section.sentences) > 1 else None
            file.add_paragraph(_plain(sentence), style)
        for table in section.tables:
            caption = file.add_paragraph(_plain(table.caption), "Caption")
            caption.paragraph_format.keep_with_next = True
            _add_table(file, table.text)
        for picture in section.pictures:
            _add_picture(file, picture)
    return _bytes(file)


def table_alone(words: str, lines: Sequence[Sequence[str]], right: set[int], bold: str) -> bytes:
    """
    Return the file contents of a single table with its caption.

    Parameters
    ----------
    words : str
        Caption.
    lines : sequence of sequences of str
        Cells, with the header in the first line.
    right : set of int
        Indices of numeric columns.
    bold : str
        Mark before and after bold text.
    """
    from docx import Document

    file = Document()
    file.core_properties.author = file.core_properties.comments = ""
    file.add_paragraph(_plain(words), "Caption").paragraph_format.keep_with_next = True
    _add_grid(file, lines, right, bold)
    return _bytes(file)


def _bytes(file):
    buffer = io.BytesIO()
    file.save(buffer)
    return buffer.getvalue()


def _plain(text: Any) -> str:
    return _FORBIDDEN.sub("\ufffd", _HYPHEN.sub("−", str(text)))


def _page(file):
    """Return the width and height of a page between its margins, in inches."""
    from docx.shared import Length

    page = file.sections[0]
    width = page.page_width - page.left_margin - page.right_margin
    height = page.page_height - page.top_margin - page.bottom_margin
    return Length(width).inches, Length(height).inches


def _add_table(file, frame):
    rows = [list(frame.columns), *frame.itertuples(index=False)]
    _add_grid(file, rows, numeric_columns(frame))


def _add_grid(file, rows, right, bold=None):
    """Add a table of rows, with the header first. Text between marks is bold."""
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Inches, Pt

    number = len(rows[0])
    grid = file.add_table(1, number, style="Light List Accent 1")
    points = 8 if number > 5 else 9
    plain = [
        [str(value).replace(bold, "") if bold else str(value) for value in row] for row in rows
    ]
    widths, points = _widths(plain, _page(file)[0], points)
    for column, width in zip(grid.columns, widths, strict=True):
        column.width = Inches(width)  # used by LibreOffice; Word uses the width of cells
    for i, row in enumerate(rows):
        cells = grid.rows[0].cells if i == 0 else grid.add_row().cells
        for column, (cell, value) in enumerate(zip(cells, row, strict=True)):
            cell.width = grid.columns[column].width
            paragraph = cell.paragraphs[0]
            paragraph.paragraph_format.keep_with_next = i == 0  # keep the header with its table
            for place, part in enumerate(str(value).split(bold) if bold else [value]):
                run = paragraph.add_run(_plain(part))
                run.font.size = Pt(points)
                if bold and i:  # the style makes the first column bold
                    run.bold = place % 2 == 1
            if column in right:
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
    file.add_paragraph()


def _widths(rows, widest, points):
    """
    Return column widths in inches and a font size in points at which the longest word fits.

    The remaining width is distributed in proportion to the longest text of each column.
    """
    columns = [[str(value) for value in column] for column in zip(*rows, strict=True)]
    words = [
        max(len(word) for value in column for word in [*value.split(), ""]) for column in columns
    ]
    texts = [min(max(map(len, column)), 60) for column in columns]
    while points > _SMALLEST and _inches(words, points) > widest:
        points -= 1
    least = [_MARGINS + word * points * _LETTER for word in words]
    if (rest := widest - sum(least)) <= 0:
        return [widest * width / sum(least) for width in least], points
    wanted = [text - word + 1 for text, word in zip(texts, words, strict=True)]
    return [
        width + rest * share / sum(wanted) for width, share in zip(least, wanted, strict=True)
    ], points


def _inches(words, points):
    return sum(_MARGINS + word * points * _LETTER for word in words)


def _add_picture(file, picture):
    buffer = io.BytesIO()
    with drawing():
        picture.figure.savefig(buffer, format="png", dpi=200, bbox_inches="tight")
    shape = file.add_picture(buffer)
    widest, tallest = _page(file)
    most = min(widest, picture.figure.get_figwidth()) / shape.width.inches
    scale = min(most, _TALLEST * tallest / shape.height.inches)
    shape.width, shape.height = round(scale * shape.width), round(scale * shape.height)
    shape._inline.docPr.set("descr", _plain(picture.alt))  # alternative text
    file.add_paragraph(_plain(picture.alt), "Caption")
