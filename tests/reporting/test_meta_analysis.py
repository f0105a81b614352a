"""The report of a meta-analysis: tables of studies, summary, heterogeneity, in medicine's words."""

import re

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.cli import main
from bayescm.reporting.meta_analysis import MetaAnalysisRecipe

TP, FN = [45, 30, 60, 22, 80, 33, 50, 70], [5, 10, 6, 9, 20, 4, 18, 7]
FP, TN = [10, 12, 30, 5, 25, 14, 9, 20], [90, 60, 120, 45, 150, 40, 110, 80]
YEARS = [1999, 2001, 2004, 2006, 2009, 2012, 2015, 2018]
SETTINGS = {"prob": 0.95, "kind": "eti", "rope": 0.0, "random_seed": 0}


def studies(number=8):
    cells = {"tp": TP, "fn": FN, "fp": FP, "tn": TN}
    counts = bcm.from_cells(**{name: cell[:number] for name, cell in cells.items()})
    return counts.rename(batch="group").assign_coords(year=("group", YEARS[:number]))


def recipe(counts, measures=None, **keywords):
    return MetaAnalysisRecipe(counts, measures, SETTINGS, keywords)


def frame_of(section, number=0):
    return section.tables[number].frame


@pytest.mark.long
def test_the_page_is_a_meta_analysis_in_the_words_of_medicine(tmp_path):
    path = bcm.report(studies(), tmp_path / "r.md", meta_analysis=True)
    page = path.read_text(encoding="utf-8")
    assert page.startswith("# Meta-analysis of a diagnostic test\n")
    assert "8 studies of 1,289 participants: 469 with the condition (positive) and 820" in page
    assert "| 0 | 45 | 10 | 5 | 90 |" in page
    assert {picture.stem for picture in (tmp_path / "r_files").iterdir()} == {"sroc", "studies"}
    assert not {"recall", "precision", "group", "groups", "worse"} & set(re.findall(r"\w+", page))
    assert "Publication bias is not modelled" in page


@pytest.mark.long
@pytest.mark.parametrize("measures", [None, ["recall", "specificity", "ppv"]])
def test_the_summary_has_the_typical_study_the_mean_and_a_new_one(measures):
    counts = studies()
    section = recipe(counts, measures).summary()
    frame = pd.concat([table.frame for table in section.tables]).set_index(["measure", "of"])
    name = "sensitivity" if measures is None else "recall"
    for of, words in {"typical": "typical study", "new": "new study"}.items():
        expected = bcm.interval(counts, "recall", of=of, kind="eti").values
        ends = frame.loc[name, words][["lower", "upper"]].tolist()
        assert ends == [f"{end:.2f}" for end in expected]
    assert len(section.sentences) == len(frame) / 3 + 1


@pytest.mark.long
def test_how_far_studies_differ_is_that_of_heterogeneity_and_what_goes_with_it():
    covariates = {"year": 2005}
    asked = recipe(studies(), None, covariates=covariates)
    (section,) = asked.extras()
    expected = bcm.meta.heterogeneity(studies(), kind="eti", covariates=covariates)
    assert frame_of(section)["median"].tolist() == [f"{x:.2f}" for x in expected["median"][:6]]
    assert frame_of(section, 1)["covariate"].tolist() == ["year", "year"]
    assert "These are values for studies with year 2005." in asked.summary().sentences
    assert "year" in frame_of(asked.evaluation())


@pytest.mark.long
def test_hospitals_with_covariates_have_a_report_that_names_them(tmp_path):
    path = bcm.report(studies(), tmp_path / "r.md", covariates={"year": 2005.0}, measures="recall")
    page = path.read_text(encoding="utf-8")
    assert "Covariates: numbers are of groups with year 2005." in page
    assert "The gaps between groups" in page


@pytest.mark.long
def test_ratios_have_a_median_and_equal_tails_and_name_their_error():
    """The mean of an odds ratio of a new study is that of its largest values."""
    page = MetaAnalysisRecipe(studies(), None, SETTINGS | {"kind": "hdi"}, {})
    proportions, ratios = page.summary().tables
    assert "highest-density" in proportions.caption
    assert "equal-tailed" in ratios.caption
    new = ratios.frame.set_index(["measure", "of"]).loc["dor", "new study"]
    odds_ratio = bcm.distribution(studies(), "dor", of="new")
    expected = [odds_ratio.quantile(level).item() for level in (0.5, 0.025, 0.975)]
    np.testing.assert_allclose(new.astype(float), expected, atol=0.5)
    (errors,) = (line for line in page.computation().sentences if "numerical error" in line)
    assert "of sensitivity (" in errors
    assert "of DOR (new study)" in errors


@pytest.mark.long
def test_a_covariate_has_a_sentence_in_python_on_the_page_and_in_the_terminal(file, capsys):
    table = bcm.meta.heterogeneity(studies(), covariates={"year": 2005})
    first, second = table.attrs["sentences"]
    assert first.startswith("For each unit more of year the odds of sensitivity are multiplied by")
    assert "with probability" in second
    assert {name: table.attrs[name] for name in ("prob", "kind")} == {"prob": 0.95, "kind": "hdi"}
    assert (table["error"] < 0.2).all()
    (section,) = MetaAnalysisRecipe(
        studies(), None, SETTINGS | {"kind": "hdi"}, {"covariates": {"year": 2005}}
    ).extras()
    assert section.sentences[-2:] == [first, second]
    with pytest.raises(SystemExit):
        main(["heterogeneity", str(file), "--covariate", "year=2005"])
    printed = " ".join(capsys.readouterr().out.split())
    assert first in printed


@pytest.mark.long
def test_studies_whose_rates_rise_together_have_no_summary_curve(tmp_path):
    """Better and worse tests, and no cut-off that trades sensitivity for specificity."""
    counts = bcm.from_cells(
        tp=[60, 70, 78, 84, 90, 95], fn=[40, 30, 22, 16, 10, 5],
        fp=[40, 31, 24, 15, 11, 4], tn=[60, 69, 76, 85, 89, 96],
    ).rename(batch="group")  # fmt: skip
    assert "increase together" in bcm.meta.heterogeneity(counts).attrs["caution"]
    with pytest.warns(UserWarning, match=r"increase together.*no summary ROC curve"):
        figure = bcm.plots.plot_sroc(counts)
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert "SROC curve" not in labels
    lines = recipe(counts).cautions().sentences
    assert any("increase together" in line for line in lines)
    assert len(recipe(counts).pictures()[0].pictures) == 2


@pytest.mark.long
def test_numbers_have_no_digits_beyond_their_error():
    section = recipe(studies(), ["LR+"]).summary()
    new = frame_of(section).set_index("of").loc["new study"]
    assert "." not in new["upper"] or len(new["upper"].split(".")[1]) == 1
    assert new["upper"] in section.sentences[0]


@pytest.mark.long
def test_cautions_name_few_studies_and_what_depends_on_the_prevalence():
    lines = recipe(studies(4), ["sensitivity", "ppv", "accuracy"]).cautions().sentences
    assert lines[0].startswith("With only 4 studies")
    assert lines[1].startswith("PPV, accuracy also depend on the prevalence")
    lines = recipe(studies(), ["sensitivity", "LR+", "dor", "nnd"]).cautions().sentences
    assert not any("also depend on the prevalence" in line for line in lines)
    assert "caution" not in bcm.meta.heterogeneity(studies()).attrs
    assert bcm.meta.heterogeneity(studies(4)).attrs["caution"].startswith("With only 4 studies")
    lines = recipe(studies(), ["ppv"], prevalence=0.05).cautions().sentences
    assert not any("also depend on the prevalence" in line for line in lines)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"of": "new"}, "of has no effect on a meta-analysis"),
        ({"model": "robust_groups"}, "always uses the model"),
        ({"checklist": "stard"}, "for a single study.*PRISMA-DTA"),
        ({"rope": 0.1}, "rope has no effect on a meta-analysis"),
        ({"covariates": {"yeer": 2000}}, "Unknown covariate"),
        ({"label_error": (1, 9)}, "no keyword 'label_error'"),
    ],
)
def test_what_a_meta_analysis_has_not_is_refused(tmp_path, wrong, words):
    error = TypeError if "label_error" in wrong else ValueError
    with pytest.raises(error, match=words):
        bcm.report(studies(), tmp_path / "r.md", meta_analysis=True, **wrong)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("evidence", ["one table", "three classes", "no positive class"])
def test_evidence_that_is_no_table_of_studies_is_refused(tmp_path, evidence):
    three = bcm.from_matrix(np.ones((3, 3, 3), int)).rename(batch="group")
    unnamed = bcm.from_matrix(np.ones((3, 2, 2), int), labels=["a", "b"]).rename(batch="group")
    wrong = {
        "one table": bcm.from_cells(tp=6, fn=1, fp=2, tn=9),
        "three classes": three,
        "no positive class": unnamed,
    }[evidence]
    words = {
        "one table": "Select along other dimensions, or rename the dimension",
        "three classes": "Recall and specificity need two classes",
        "no positive class": "needs a positive class",
    }[evidence]
    with pytest.raises(ValueError, match=words):
        bcm.report(wrong, tmp_path / "r.md", meta_analysis=True)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "studies.csv"
    rows = zip("ABCDEFGH", YEARS, TP, FN, FP, TN, strict=True)
    lines = ["study,year,TP,FN,FP,TN", *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.long
def test_the_command_line_names_the_option_where_groups_may_be_studies(
    file, tmp_path, monkeypatch, capsys
):
    def write(evidence, path, **settings):
        path.write_text(str(sorted(settings.items())))
        return path

    monkeypatch.setattr("bayescm.reporting.report", write)
    out = tmp_path / "r.md"
    for options in ([], ["--meta-analysis", "--covariate", "year=2005"]):
        with pytest.raises(SystemExit) as stopped:
            main(["report", str(file), "-o", str(out), *options])
        assert stopped.value.code == 0
        printed = capsys.readouterr()
        assert ("--meta-analysis writes" in printed.out + printed.err) == (not options)
    assert "('covariates', {'year': 2005.0})" in out.read_text()
    assert "('meta_analysis', True)" in out.read_text()
