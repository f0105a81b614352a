"""From sections to one HTML page, a Markdown page with pictures, or LaTeX with PDF figures."""

import io
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import jinja2
import matplotlib
from markupsafe import Markup

from bayescm.evidence.files import replacing
from bayescm.reporting.formats import pointed
from bayescm.reporting.formats.cells import drawing, number, numeric_columns
from bayescm.reporting.parts import Section
from bayescm.reporting.progress import tell
from bayescm.validate import fail

# What a name of pictures may not hold: LaTeX takes much else for commands.
_SAFE = re.compile(r"[^\w. +=@,-]", re.ASCII)
_TEMPLATES = jinja2.PackageLoader("bayescm.reporting", "templates")
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def check_path(path: str | Path, *, interactive: bool = False) -> Path:
    """Return the path of a report, or raise where it cannot be written or its ending is unknown."""
    path = Path(path)
    if path.suffix not in RENDERERS:
        known = ", ".join(RENDERERS)
        raise fail(
            "unknown report format", path.name, f"a name ending in {known}", "rename the file"
        )
    if path.suffix == ".docx":
        from bayescm.reporting.formats import word

        word.check()
    if interactive:
        if path.suffix != ".html":
            todo = "name it .html, or leave interactive out"
            raise fail("interactive pictures are for pages", path.name, "a .html", todo)
        pointed.check()
    if not path.parent.is_dir():
        todo = "create the folder first"
        raise fail("no such folder", str(path.parent), "an existing folder", todo)
    if not os.access(path.parent, os.W_OK) or path.is_dir():
        todo = "choose another path"
        raise fail("the report cannot be written here", str(path), "a writable path", todo)
    return path


def write(
    path: Path, title: str, sections: Sequence[Section], *, interactive: bool = False
) -> None:
    """
    Write the report beside its final name first, so that no half report is ever left.

    Markdown and LaTeX keep their pictures in a folder named as the report with ``_files`` added.
    """
    try:
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            _write(path, title, sections, Path(folder), interactive)
    except OSError as error:
        todo = "choose another path, or make room"
        raise fail(
            f"the report cannot be written: {error.strerror}", str(path), "a writable path", todo
        ) from None


def _write(path, title, sections, folder, interactive):
    files = folder / f"{_SAFE.sub('-', path.stem)}_files"
    renderer = partial(_html, interactive=True) if interactive else RENDERERS[path.suffix]
    text = renderer(title, sections, folder, files.name)
    if files.is_dir():
        target = path.parent / files.name
        if target.is_symlink():
            todo = "remove the link, or choose another name for the report"
            raise fail("the folder of pictures is a symbolic link", str(target), "a folder", todo)
        target.mkdir(exist_ok=True)
        for picture in files.iterdir():
            with replacing(target / picture.name) as part:
                shutil.copyfile(picture, part)
    with replacing(path) as part:
        part.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))


@contextmanager
def own_figures():
    """Close every figure that is made inside, whatever happens: nobody will see it again."""
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
    environment.filters |= {"svg": _svg, "pointed": pointed.pointed}
    facts = {"title": title, "sections": sections}
    facts["script"] = pointed.script() if interactive else None
    return environment.get_template("report.html.j2").render(facts)


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
    environment.filters["text"] = _escape_latex
    template = environment.get_template("report.tex.j2")
    return template.render(title=title, sections=sections, files=files)


def _word(title, sections, folder, files):
    from bayescm.reporting.formats.word import document

    tell("writing")
    return document(title, sections)


RENDERERS: dict[str, Callable] = {".html": _html, ".md": _markdown, ".tex": _latex, ".docx": _word}


def _environment(**options):
    environment = jinja2.Environment(
        loader=_TEMPLATES, trim_blocks=True, lstrip_blocks=True, **options
    )
    environment.filters["number"] = number
    environment.globals["numeric_columns"] = numeric_columns
    return environment


def _escape_latex(value):
    return "".join(_LATEX.get(character, character) for character in str(value))


def _escape_markdown(value):
    text = re.sub(r"([\\`*_\[\]|])", r"\\\1", str(value))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", " ")


def _save_pictures(sections, folder, ending):
    tell("writing")
    for picture in (each for section in sections for each in section.pictures):
        folder.mkdir(exist_ok=True)
        with drawing():
            picture.figure.savefig(
                folder / f"{picture.name}.{ending}", dpi=150, bbox_inches="tight"
            )


def _svg(picture):
    """Return a figure as inline SVG: text stays text, ids are those of this picture alone."""
    buffer = io.StringIO()
    with drawing(), matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": picture.name}):
        picture.figure.savefig(
            buffer, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None}
        )
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{picture.name}-', svg)
    svg = re.sub(r'(xlink:href="#|url\(#)', rf"\1{picture.name}-", svg)
    # Its size comes from the page; the proportions from the viewBox.
    svg = re.sub(r'^<svg([^>]*?) width="[^"]*"', r"<svg\1", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r'^<svg([^>]*?) height="[^"]*"', r"<svg\1", svg, count=1, flags=re.DOTALL)
    label = Markup.escape(picture.alt)
    # Matplotlib has escaped the names in it.
    return Markup(svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1))
