"""Tables of papers in Markdown and Word have the cells, marks and notes of those in LaTeX."""

import io
import re
import shutil
import subprocess

import docx
import numpy as np
import pytest
from matplotlib.figure import Figure

import bayescm as bcm
from bayescm.reporting.sections import Picture, Section, Table
from bayescm.reporting.word import document

RNG = np.random.default_rng(11)
TRUTH = RNG.integers(0, 2, 90)
LABELS = {
    name: np.where(RNG.random(90) < wrong, 1 - TRUTH, TRUTH)
    for name, wrong in (("r_f", 0.1), ("l|r", 0.12), ("stump", 0.4))
}
THREE = bcm.from_classifiers(TRUTH, LABELS, positive=1)
SUMMARY = bcm.summary(THREE, ["accuracy", "mcc"])
COMPARISON = bcm.compare(THREE, ["accuracy", "mcc"])
SETS = bcm.summary({"one": THREE, "two": THREE}, ["accuracy", "mcc", "f1"], dim="data_set")


def _rows(text):
    """Return the cells of a table of Markdown."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


@pytest.mark.long
@pytest.mark.parametrize(
    ("frame", "keywords"),
    [
        (SUMMARY, {"comparison": COMPARISON}),
        (SUMMARY, {"center": "point", "digits": 3}),
        (COMPARISON, {}),
        (bcm.ranks(THREE, "accuracy"), {}),
        (SETS, {"display_names": {"r_f": "forest"}}),
    ],
)
def test_numbers_are_those_of_latex(frame, keywords, tmp_path):
    written = bcm.latex_table(frame, **keywords)
    numbers = re.findall(r"\d\.\d+", written[written.index("\\midrule") :])
    markdown = bcm.to_markdown(frame, **keywords)
    rows = _rows(markdown)
    assert len({len(row) for row in rows}) == 1
    assert sorted(re.findall(r"\d\.\d+", str(rows))) == sorted(numbers)
    assert markdown.count("**") // 2 == written.count("textbf{") - written.count("begin{textbf")
    path = bcm.to_word(frame, tmp_path / "table.docx", **keywords)
    (table,) = docx.Document(path).tables
    cells = [cell.text for row in table.rows for cell in row.cells]
    assert sorted(re.findall(r"\d\.\d+", str(cells))) == sorted(numbers)
    assert not re.search(r"-\d|\*\*|\ue000", " ".join(cells))
    bold = [
        run.text
        for row in table.rows[1:]
        for cell in row.cells
        for run in cell.paragraphs[0].runs
        if run.bold and run.text
    ]
    assert len(bold) == markdown.count("**") // 2


def test_names_are_text_in_markdown():
    text = bcm.to_markdown(SUMMARY, caption="a_b <i>")
    assert text.startswith("a\\_b &lt;i&gt;. Posterior mean")
    assert [row[0] for row in _rows(text)[2:]] == ["r\\_f", "l\\|r", "stump"]
    assert "−0." in bcm.to_markdown(COMPARISON)


def test_other_tables_and_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match="A summary needs a column"):
        bcm.to_markdown(SUMMARY[["measure", "mean"]])
    with pytest.raises(ValueError, match="A Word document must have a name ending"):
        bcm.to_word(SUMMARY, tmp_path / "table.md")
    with pytest.raises(ValueError, match="this table has the columns"):
        bcm.to_word(COMPARISON, tmp_path / "table.docx", rows="first")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("name", "advice"),
    [("to_latex", "latex_table"), ("to_string", "to_markdown"), ("to_excel", "to_excel")],
)
def test_bars_are_for_pages_only(name, advice):
    with pytest.raises(ValueError, match=advice):
        getattr(bcm.table(SUMMARY), name)("table.out")


@pytest.mark.long
def test_a_picture_fits_on_its_page_and_minus_signs_stay_with_their_numbers():
    tall = Picture("tall", "A tall picture.", Figure(figsize=(6, 24)))
    frame = COMPARISON[["first", "mean", "lower"]]
    section = Section("One", ["From -0.5 to 1e-05."], [Table("t", frame)], [tall])
    made = document("Report", [section])
    file = docx.Document(io.BytesIO(made))
    page = file.sections[0]
    (shape,) = file.inline_shapes
    assert shape.height < 0.9 * (page.page_height - page.top_margin - page.bottom_margin)
    assert shape.width <= page.page_width - page.left_margin - page.right_margin
    text = " ".join(paragraph.text for paragraph in file.paragraphs)
    assert "−0.5 to 1e−05" in text
    assert not re.search(r"-\d", text)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_a_report_of_word_becomes_a_pdf_with_whole_numbers(tmp_path):
    bcm.report(THREE, tmp_path / "report.docx", measures=["accuracy", "mcc"])
    profile = f"-env:UserInstallation=file://{tmp_path}/profile"
    command = ["soffice", profile, "--headless", "--convert-to", "pdf", "--outdir", str(tmp_path)]
    subprocess.run([*command, str(tmp_path / "report.docx")], check=True, timeout=180)
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed")
    text = subprocess.run(
        ["pdftotext", "-layout", str(tmp_path / "report.pdf"), "-"], check=True, capture_output=True
    ).stdout.decode()
    assert "accuracy" in text
    # No line ends in a minus sign whose number begins the next one.
    assert not re.search(r"[-−]\s*\n\s*\d", text)
