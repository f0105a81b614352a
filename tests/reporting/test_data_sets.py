"""One report on several data sets: a table of ranks, and the sections of each."""

import re

import numpy as np
import pytest

import bayescm as bcm


def _data_set(seed, folds=True):
    rng = np.random.default_rng(seed)
    truth = np.arange(60) % 2
    labels = {
        name: np.where(rng.random(60) < wrong, 1 - truth, truth)
        for name, wrong in (("rf", 0.1), ("lr", 0.2), ("stump", 0.4))
    }
    by = {"fold": np.arange(60) // 2 % 4} if folds else None
    return bcm.from_classifiers(truth, labels, positive=1, by=by)


@pytest.fixture(scope="module")
def data_sets():
    return {"wdbc": _data_set(1), "heart_x": _data_set(2)}


@pytest.mark.long
def test_each_data_set_has_a_section_and_all_a_table_of_ranks(data_sets, tmp_path):
    path = bcm.report(data_sets, tmp_path / "report.md", measures=["accuracy"])
    text = path.read_text()
    headings = re.findall(r"^(#+) (.*)$", text, re.MULTILINE)
    assert [title for level, title in headings if level == "##"] == [
        "All data sets", "wdbc", "heart\\_x",
    ]  # fmt: skip
    inner = [title for level, title in headings if level == "###"]
    assert inner.count("What is known") == inner.count("Which is better") == 2
    (caption,) = re.findall("Expected rank of each classifier.*", text)
    lines = text[text.index(caption) :].splitlines()[2:7]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert rows[0] == ["measure", "classifier", "wdbc", "heart\\_x", "mean rank"]
    found = {row[1]: [float(cell) for cell in row[2:]] for row in rows[2:]}
    for place, evidence in enumerate(data_sets.values()):
        table = bcm.ranks(evidence, "accuracy").set_index("classifier")["expected_rank"]
        for name, numbers in found.items():
            assert numbers[place] == pytest.approx(table[name], abs=2e-3)
    for first, second, mean in found.values():
        assert mean == pytest.approx((first + second) / 2, abs=2e-3)
    # Pictures of both data sets have files of their own.
    pictures = re.findall(r"\]\((report_files/.*?)\)", text)
    assert len(pictures) == len(set(pictures)) == len([*(tmp_path / "report_files").iterdir()])


@pytest.mark.parametrize(
    ("keywords", "words"),
    [({"checklist": "stard"}, "checklist"), ({"meta_analysis": True}, "meta_analysis")],
)
def test_what_is_for_one_data_set_is_refused(data_sets, tmp_path, keywords, words):
    with pytest.raises(ValueError, match=words):
        bcm.report(data_sets, tmp_path / "report.md", **keywords)
    with pytest.raises(ValueError, match="No data sets"):
        bcm.report({}, tmp_path / "report.md")
    assert not [*tmp_path.iterdir()]


@pytest.mark.long
def test_the_command_line_reads_several_files_and_writes_a_methods_text(tmp_path, monkeypatch):
    from bayescm import cli

    monkeypatch.chdir(tmp_path)
    for name, seed in (("wdbc", 1), ("heart", 2)):
        rng = np.random.default_rng(seed)
        truth = np.arange(40) % 2
        columns = [truth, *(np.where(rng.random(40) < 0.2, 1 - truth, truth) for _ in range(2))]
        rows = "\n".join(",".join(map(str, row)) for row in zip(*columns, strict=True))
        (tmp_path / f"{name}.csv").write_text(f"y,rf,lr\n{rows}\n")
    line = "report wdbc.csv --also heart.csv --actual y --predicted rf --predicted lr --positive 1"
    line += " -m accuracy -o r.md --methods m.md --bib m.bib"
    (tmp_path / "m.bib").write_text("@misc{mine,\n  year = {2020},\n}\n")
    for _ in range(2):
        with pytest.raises(SystemExit) as stopped:
            cli.main(line.split())
        assert stopped.value.code == 0
    assert "## heart" in (tmp_path / "r.md").read_text()
    assert "2 data sets" in (tmp_path / "m.md").read_text()
    keys = re.findall(r"@\w+{(\w+),", (tmp_path / "m.bib").read_text())
    assert len(keys) == len(set(keys))
    assert keys[0] == "mine"
