"""Reports for clinics: documents of Word, checklists, and the paragraph for a methods section."""

import hashlib
import sys

import pytest

import bayescm as bcm
from bayescm.cli import main
from bayescm.reporting import methods
from bayescm.reporting.sections import Section

ROWS = "actual,predicted\n" + "sick,sick\nwell,sick\nwell,well\nsick,well\nsick,sick\n" * 12


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(ROWS)

    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["report", "a.csv", "--positive", "sick", "-m", "recall", *arguments])
        return left.value.code, capsys.readouterr()

    return call


@pytest.mark.long
@pytest.mark.slow
def test_a_document_says_what_the_page_says(run, tmp_path):
    from docx import Document

    title = "Spam <b>\x1b[31m שלום"
    assert run("--format", "docx", "--checklist", "stard", "--title", title)[0] == 0
    made = Document(tmp_path / "report.docx")
    words = [each.text for each in made.paragraphs]
    said = "\n".join(words)
    assert words[0] == "Spam <b>\ufffd[31m שלום"
    assert hashlib.sha256((tmp_path / "a.csv").read_bytes()).hexdigest() in said
    assert "Read from a.csv" in said
    assert "For a methods section: 95% highest-density intervals" in said
    assert f"bayescm {bcm.__version__}" in said
    known = bcm.summary(bcm.read("a.csv", positive="sick"), "recall").iloc[0]
    cells = [[cell.text for cell in row.cells] for table in made.tables for row in table.rows]
    assert any(f"{known['lower']:.3f}" in row and f"{known['upper']:.3f}" in row for row in cells)
    items = [row for row in cells if row[0] == "24"]
    assert items == [["24", "accuracy with its precision", "here: What is known"]]
    assert len(made.inline_shapes) >= 2
    assert all(each._inline.docPr.get("descr") for each in made.inline_shapes)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.csv", "report.docx"]


# Items of the published lists that have parts; those of a development or an evaluation alone.
PUBLISHED = {
    "stard": (30, {10: "ab", 12: "ab", 13: "ab", 21: "ab"}, {}),
    "tripod": (
        27,
        {3: "abc", 5: "ab", 6: "abc", 8: "abc", 9: "abc", 12: "abcdefg", 18: "abcdef", 20: "abc"}
        | {23: "ab", 27: "abc"},
        {"development": "9a 12a 12b 12c 15 22 27a 27b", "evaluation": "12f 12g 20c 24"},
    ),
}


@pytest.mark.parametrize("name", list(PUBLISHED))
def test_checklists_have_the_published_items_in_order(name):
    many, parts, alone = PUBLISHED[name]
    frame = methods.checklist(name, []).tables[0].frame
    wanted = [f"{each}{part}" for each in range(1, many + 1) for part in parts.get(each, " ")]
    assert frame["item"].tolist() == [each.strip() for each in wanted]
    for kind, items in alone.items():
        of_it = frame.loc[frame["about"].str.endswith(f"({kind})"), "item"]
        assert of_it.tolist() == items.split()
    assert set(frame["where"]) == {"to be written by the authors"}


def _where(name, *sections):
    frame = methods.checklist(name, sections).tables[0].frame.set_index("item")["where"]
    return frame[frame != "to be written by the authors"].to_dict()


def test_items_of_a_prediction_model_at_several_sites_are_where_they_are_reported():
    evaluated = Section("What was evaluated", ["400 examples.", "2 sites."])
    titles = ("The prediction model", "Site by site", "How it was computed", "Cautions")
    where = _where("tripod", evaluated, *map(Section, titles))
    sites, accuracy = "here: Site by site", "here: The prediction model; Site by site"
    evaluated = "here: What was evaluated"
    assert where == {
        "6a": evaluated,
        "12d": sites,
        "12e": "here: How it was computed",
        "15": evaluated,
        "21": evaluated,
        "23a": accuracy,
        "23b": sites,
        "26": "here: Cautions",
    }


def test_how_no_answers_were_handled_is_reported_only_where_there_are_some():
    told = Section("What was evaluated", ["refused marks abstentions."])
    assert _where("stard", told)["15"] == "here: What was evaluated"
    assert "15" not in _where("stard", Section("What was evaluated", ["145 examples."]))


def test_what_cannot_be_written_is_said(run, tmp_path, monkeypatch):
    assert "two formats" in run("--format", "docx", "-o", "r.html")[1].err
    assert "Unknown --checklist 'prisma'" in run("--checklist", "prisma")[1].err
    assert "A report cannot be written as" in run("--format", "pdf")[1].err
    monkeypatch.setitem(sys.modules, "docx", None)
    with pytest.raises(ImportError, match=r"bayescm\[docx\]"):
        bcm.report(bcm.from_cells(tp=6, fn=1, fp=3, tn=3), tmp_path / "r.docx")
    code, said = run("--format", "docx")
    assert (code, "bayescm[docx]" in said.err, said.err.count("\n")) == (2, True, 1)
    assert [each.name for each in tmp_path.iterdir()] == ["a.csv"]
