"""Rendering of sections to HTML, to Markdown with plots, or to LaTeX with PDF figures.

Word documents are written by `bayescm.reporting.word`.
"""

import importlib
import io
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jinja2
import matplotlib
from markupsafe import Markup

from bayescm.answers.latex import escape_latex
from bayescm.answers.tables import for_readers
from bayescm.evidence.files import atomic_write
from bayescm.reporting.progress import progress
from bayescm.reporting.sections import Picture, Section
from bayescm.validate import fail

# Characters that are replaced in the name of the folder for plots, because LaTeX interprets many as
# commands.
_SAFE = re.compile(r"[^\w. +=@,-]", re.ASCII)
_PLOTLY: dict[str, Any] = {"include_plotlyjs": False, "full_html": False}
_PLOTLY["config"] = {"displaylogo": False, "responsive": True}
_TEMPLATES = jinja2.PackageLoader("bayescm.reporting", "templates")


def check_path(path: str | Path, *, interactive: bool = False) -> Path:
    """Return the path of a report, or raise an error if its suffix or folder is not valid."""
    path = Path(path)
    if path.suffix not in RENDERERS:
        endings = f"a name ending in {', '.join(RENDERERS)}"
        todo = "rename the file"
        if path.suffix == ".pdf":
            todo = "use .html, which prints well, or write .tex and run LaTeX"
        raise fail(
            "A report cannot be written as {}",
            path.name,
            endings,
            todo,
        )
    if path.suffix == ".docx":
        _check_extra("docx", "a .docx needs python-docx, which is not installed")
    if interactive:
        if path.suffix != ".html":
            raise fail(
                "Interactive plots need a report in HTML",
                path.name,
                "",
                "give the report a name ending in .html, or leave `interactive` out",
            )
        _check_extra("interactive", "interactive pictures need plotly, which is not installed")
    if not path.parent.is_dir():
        todo = "create the folder first"
        raise fail("The folder {} does not exist", str(path.parent), "", todo)
    if not os.access(path.parent, os.W_OK) or path.is_dir():
        todo = "choose another path"
        raise fail("The report cannot be written to {}", str(path), "", todo)
    return path


def _check_extra(extra, what):
    """Raise an error if the library of an extra is not installed."""
    module = {"docx": "docx", "interactive": "plotly"}[extra]
    try:
        importlib.import_module(module)
    except ImportError:
        todo = f"install it with pip install 'bayescm[{extra}]'"
        raise fail(what, ..., "", todo, ImportError) from None


def write(
    path: Path, title: str, sections: Sequence[Section], *, interactive: bool = False
) -> None:
    """
    Write a report, under temporary names first, so that no incomplete file remains.

    The plots of Markdown and LaTeX reports are stored in the folder ``<name>_files``.
    """
    try:
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            _write(path, title, sections, Path(folder), interactive)
    except OSError as error:
        todo = "choose another path, or make room"
        raise fail(
            f"The report cannot be written to {{}}: {error.strerror}", str(path), "", todo
        ) from None


def _write(path, title, sections, folder, interactive):
    sections = [
        replace(section, tables=list(map(_for_readers, section.tables))) for section in sections
    ]
    files = folder / f"{_SAFE.sub('-', path.stem)}_files"
    renderer = partial(_html, interactive=True) if interactive else RENDERERS[path.suffix]
    text = renderer(title, sections, folder, files.name)
    if files.is_dir():
        target = path.parent / files.name
        if target.is_symlink():
            todo = "remove the link, or choose another name for the report"
            raise fail("The folder for plots, {}, is a symbolic link", str(target), "", todo)
        target.mkdir(exist_ok=True)
        for picture in files.iterdir():
            with atomic_write(target / picture.name) as part:
                shutil.copyfile(picture, part)
    with atomic_write(path) as part:
        part.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))


def _for_readers(table):
    """Apply display names to a table. The columns of a confusion matrix are class labels."""
    if "actual" in table.frame:
        return table
    shown = for_readers(table.frame)
    names = zip(table.frame.columns, shown.columns, strict=True)
    shown.columns = [name if name in table.labels else written for name, written in names]
    return replace(table, frame=shown)


@contextmanager
def own_figures():
    """Close all figures that are created within the context."""
    from matplotlib import pyplot as plt

    before = set(plt.get_fignums())
    try:
        with plt.rc_context({"figure.max_open_warning": 0}):
            yield
    finally:
        for number in set(plt.get_fignums()) - before:
            plt.close(number)


def _html(title, sections, folder, files, *, interactive=False):
    environment = _environment(autoescape=True)
    environment.filters |= {"svg": _svg, "plotly": _plotly}
    script = None
    if interactive:
        from plotly.offline import get_plotlyjs

        script = Markup(get_plotlyjs())  # shared by all plots of the page
    template = environment.get_template("report.html.j2")
    return template.render(title=title, sections=sections, script=script)


def _markdown(title, sections, folder, files):
    _save_pictures(sections, folder / files, "png")
    environment = _environment(autoescape=False)
    environment.filters["text"] = _escape_markdown
    template = environment.get_template("report.md.j2")
    return template.render(title=title, sections=sections, files=files)


def _latex(title, sections, folder, files):
    _save_pictures(sections, folder / files, "pdf")
    environment = _environment(
        autoescape=False,
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        comment_start_string="<#",
        comment_end_string="#>",
    )
    environment.filters["text"] = escape_latex
    template = environment.get_template("report.tex.j2")
    return template.render(title=title, sections=sections, files=files)


def _word(title, sections, folder, files):
    from bayescm.reporting.word import document

    progress("writing")
    return document(title, sections)


RENDERERS: dict[str, Callable] = {".html": _html, ".md": _markdown, ".tex": _latex, ".docx": _word}


def _environment(**options):
    environment = jinja2.Environment(
        loader=_TEMPLATES, trim_blocks=True, lstrip_blocks=True, **options
    )
    environment.globals["numeric_columns"] = numeric_columns
    return environment


def _escape_markdown(value):
    text = re.sub(r"([\\`*_\[\]|])", r"\\\1", str(value))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", " ")


def _save_pictures(sections, folder, ending):
    progress("writing")
    for picture in (picture for section in sections for picture in section.pictures):
        folder.mkdir(exist_ok=True)
        with drawing():
            picture.figure.savefig(
                folder / f"{picture.name}.{ending}", dpi=150, bbox_inches="tight"
            )


def _svg(picture):
    """Return a figure as inline SVG with unique ids, without converting text to paths."""
    buffer = io.StringIO()
    with drawing(), matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": picture.name}):
        picture.figure.savefig(
            buffer, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None}
        )
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{picture.name}-', svg)
    svg = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{picture.name}-", svg)
    # The page determines the size, and the viewBox the proportions.
    svg = re.sub(r'^<svg([^>]*?) width="[^"]*"', r"<svg\1", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r'^<svg([^>]*?) height="[^"]*"', r"<svg\1", svg, count=1, flags=re.DOTALL)
    label = Markup.escape(picture.alt)
    # Matplotlib has already escaped the names.
    return Markup(svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1))


def _plotly(picture: Picture) -> Markup | None:
    """Return the plotly version of a plot, or None if there is only the static one."""
    draw = vars(picture.figure).get("interactive")
    if draw is None:
        return None
    # Plotly escapes its output, and the plots escape text in which plotly interprets tags.
    return Markup(draw().to_html(div_id=f"interactive-{picture.name}", **_PLOTLY))


def numeric_columns(frame: Any) -> set[int]:
    """Return the positions of the columns to right-align: those whose text is numeric."""
    columns = (frame.iloc[:, index] for index in range(frame.shape[1]))
    return {index for index, column in enumerate(columns) if all(map(_looks_numeric, column))}


def _looks_numeric(text):
    return bool(re.fullmatch(r"[<>–-]?(inf|[\d.]*(e[+-]\d+)?)", text))


@contextmanager
def drawing():
    """Ignore warnings about characters that are missing in the fonts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        yield
