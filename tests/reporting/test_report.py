"""Reports: the right sections, nothing half-written, names as text."""

import re
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.evidence.counts import COUNTS, TABULATED, default_measures
from bayescm.evidence.registry import type_of
from bayescm.reporting import methods, render, sections
from bayescm.reporting.recipe import recipe_of
from bayescm.reporting.sections import Section

SECTIONS = [
    "What was evaluated",
    "What is known",
    "Uncertain results",
    "Pictures",
    "How it was computed",
    "Cautions",
]


@pytest.fixture(scope="module")
def counts():
    return bcm.from_cells(tp=65, fn=15, fp=35, tn=30)


@pytest.mark.slow
@pytest.mark.parametrize(
    "ending", [".html", *(pytest.param(each, marks=pytest.mark.long) for each in (".md", ".tex"))]
)
def test_report_has_its_sections_and_numbers_in_every_format(counts, tmp_path, ending):
    path = bcm.report(counts, tmp_path / f"r{ending}", measures=["recall", "f1"])
    text = path.read_text()
    assert all(section in text for section in SECTIONS)
    assert "0.644" in text
    assert "0.791" in text  # the exact interval of F1
    assert "95%" in text.replace(r"\%", "%")
    names = {each.name for each in tmp_path.iterdir()}
    assert names == ({"r.html"} if ending == ".html" else {f"r{ending}", "r_files"})


@pytest.mark.long
def test_report_of_few_labels_says_what_the_judge_buys(tmp_path):
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 900)
    judge, other = (np.where(rng.random(900) < p, truth, 1 - truth) for p in (0.95, 0.8))
    human = [each if place < 60 else None for place, each in enumerate(truth.tolist())]
    counts = bcm.from_partly_labelled(human, {"a": judge, "b": other}, judge)
    text = bcm.report(counts, tmp_path / "r.md", measures=["f1", "accuracy"]).read_text()
    assert "900 examples, 60 of them labelled" in text
    worth = bcm.planning.labels_worth(counts, "f1").set_index("classifier")["worth"]["a"]
    assert f"For F1 of a, 60 labels are worth {worth} with the judge." in text
    assert "The judge's recall lies between" in text
    assert "a is better than b" in text


def test_a_report_of_scores_refuses_what_it_does_not_heed(tmp_path):
    evidence = bcm.from_scores([0, 1, 0, 1], [0.1, 0.4, 0.3, 0.9], positive=1)
    with pytest.raises(ValueError, match="report of scores, which has one model"):
        bcm.report(evidence, tmp_path / "r.md", model="binormal")
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_report_of_scores_has_areas_and_their_comparison(tmp_path):
    rng = np.random.default_rng(0)
    actual = rng.random(120) < 0.4
    scores = {"good": rng.normal(3 * actual), "poor": rng.normal(actual)}
    evidence = bcm.from_scores(actual, scores, positive=True)
    text = bcm.report(evidence, tmp_path / "r.md").read_text()
    assert "120 examples with scores" in text
    assert "AUC (classifier good) lies between" in text
    assert "good is better than poor in AUC" in text
    assert "precision-recall-curve.png" in text


@pytest.mark.long
def test_batches_over_time_are_told_together_and_one_by_one(tmp_path):
    weeks = bcm.from_cells(tp=[18, 17, 19], fn=[2, 3, 1], fp=3, tn=17).rename(batch="step")
    before = plt.get_fignums()
    text = bcm.report(weeks, tmp_path / "my report.md", measures=["recall"]).read_text()
    assert "3 batches over time" in text
    assert "120 examples" in text
    assert "(my%20report_files/history.png)" in text
    assert plt.get_fignums() == before
    with pytest.raises(ValueError, match="rename"):
        bcm.report(weeks.rename(step="batch"), tmp_path / "r.md")


@pytest.mark.long
def test_too_many_classes_leave_the_matrix_out_and_say_so(tmp_path):
    cells = np.eye(101, dtype=int) * 9 + 1
    wide = bcm.from_matrix(cells, labels=[f"class {i}" for i in range(101)])
    text = bcm.report(wide, tmp_path / "r.md", measures=["accuracy"]).read_text()
    assert "101 classes is left out" in text


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "1 example of 2"), (3 * 10**9, "3,000,000,001 examples of 2")],
)
def test_numbers_of_examples_are_written_out(number, said):
    counts = bcm.from_cells(tp=1, fn=0, fp=0, tn=number)
    assert COUNTS.describe(counts)[0].startswith(said)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("r.pdf", r"\.html, \.md, \.tex, \.docx"),
        ("none/r.html", "does not exist"),
        ("r", "A report cannot be written as"),
    ],
)
def test_bad_paths_are_refused_before_any_work(counts, tmp_path, name, said):
    with pytest.raises(ValueError, match=said):
        bcm.report(counts, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_refuses_is_named_and_nothing_is_left(tmp_path, monkeypatch):
    def full(*args, **keywords):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(render.os, "replace", full)
    with pytest.raises(ValueError, match="No space left"):
        render.write(tmp_path / "r.html", "title", [Section("s")])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_evidence_without_labels_or_without_a_matrix_is_refused(tmp_path):
    with pytest.raises(ValueError, match="label"):
        bcm.report(xr.DataArray([[5, 2], [1, 6]], dims=["actual", "predicted"]), tmp_path / "r.md")
    both = bcm.from_classifiers([1, 0, 1, 0], {"a": [1, 0, 0, 0], "b": [1, 1, 1, 0]}, positive=1)
    with pytest.raises(ValueError, match="A report needs the counts"):
        bcm.report(bcm.fit(both, random_seed=0), tmp_path / "r.md")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_where_all_is_undefined_or_unknown(counts, tmp_path):
    with pytest.raises(ValueError, match="Unknown measure"):
        bcm.report(counts, tmp_path / "r.html", measures=["recal"])
    with pytest.raises(ValueError, match="Every measure is undefined"):
        bcm.report(counts, tmp_path / "r.html", measures=[nothing])
    with pytest.raises(TypeError, match="not evidence"):
        bcm.report([[1, 2], [3, 4]], tmp_path / "r.html")
    assert list(tmp_path.iterdir()) == []


def nothing(cells):
    """Return 0/0 throughout."""
    return np.full(np.shape(cells)[:-2], np.nan)


def test_a_failing_picture_leaves_the_old_report(tmp_path):
    class Broken:
        name, alt = "broken", "broken"

        class figure:
            @staticmethod
            def get_figwidth():
                return 7.0

            @staticmethod
            def savefig(*args, **keywords):
                raise RuntimeError("no room")

    path = tmp_path / "r.html"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="no room"):
        render.write(path, "title", [Section("s", pictures=[Broken()])])
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["r.html"]


def test_what_is_said_of_many_classes_holds_for_one_classifier_and_for_several():
    one = bcm.from_matrix(np.eye(13, dtype=int) + 1)
    for counts in (one, xr.concat([one, one], "classifier").assign_coords(classifier=["a", "b"])):
        section = sections.evaluation(COUNTS.describe(counts), counts)
        assert section.sentences[-1] == "With 13 classes, the matrix is not shown as a table."
        assert not section.tables


def test_default_measures_are_those_of_the_evidence():
    cells = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    assert default_measures(cells)[1] == "precision"
    assert default_measures(cells.drop_vars("positive"))[1] == "balanced_accuracy"
    assert default_measures(bcm.from_matrix(np.eye(3, dtype=int)), TABULATED)[1] == "f1"


def test_pictures_to_point_at_are_for_pages_and_need_their_library(counts, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="Interactive plots need a report in HTML"):
        bcm.report(counts, tmp_path / "r.md", interactive=True)
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(ImportError, match=r"bayescm\[interactive\]"):
        bcm.report(counts, tmp_path / "r.html", interactive=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_many_groups_have_the_worst_of_them_by_name(tmp_path):
    tp = np.r_[np.full(13, 43), 25]
    counts = bcm.from_cells(tp=tp, fn=50 - tp, fp=9, tn=41).rename(batch="group")
    text = bcm.report(counts, tmp_path / "r.md", measures=["recall"]).read_text()
    section = text.split("Which groups are worse than the others")[1]
    assert "1 of 14 groups are flagged as worse" in section
    first, *others = re.findall(r"\| recall \| (\d+) \|", section)
    assert first == "13"
    assert len(others) == 9


@pytest.mark.long
def test_raters_have_a_report(tmp_path):
    truth = np.array(["good", "bad", "bad"] * 30)
    rng = np.random.default_rng(4)
    swap = {"good": "bad", "bad": "good"}
    said = {name: [swap[each] if rng.random() < 0.15 else each for each in truth] for name in "abc"}
    with pytest.warns(UserWarning, match="three raters"):
        evidence = bcm.from_raters(said, positive="good")
    text = bcm.report(evidence, tmp_path / "raters.md").read_text().replace("\\_", "_")
    assert "90 examples." in text
    assert "3 raters: a, b, c." in text
    for part in ("Krippendorff's alpha", "If they err together"):
        assert part in text
    assert "cannot be tested" in text


@pytest.mark.long
def test_a_fit_that_pools_nothing_says_so_and_has_the_prior_of_each_table(tmp_path):
    folds = bcm.from_cells(tp=[6, 5, 7], fn=[4, 5, 3], fp=3, tn=[7, 6, 8]).rename(batch="fold")
    fitted = bcm.fit(folds, "dirichlet_multinomial", draws=100, random_seed=0)
    text = bcm.report(fitted, tmp_path / "r.md", measures=["accuracy"]).read_text()
    assert "| accuracy | 2 |" in text
    assert "concentration 0.5 per cell, worth 2 examples in all for each fold." in text
    assert "is estimated" not in text
    pooled = bcm.fit(folds, draws=100, random_seed=0)
    text = bcm.report(pooled, tmp_path / "p.md", measures=["accuracy"]).read_text()
    assert "worth 2 examples in all; the spread of the folds is estimated." in text


@pytest.mark.parametrize("pooled", [True, False])
def test_groups_are_said_to_be_pooled_where_they_are(pooled):
    counts = bcm.from_cells(tp=[6, 5, 7], fn=4, fp=3, tn=7).rename(batch="group")
    settings = {"prob": 0.95, "kind": "hdi", "rope": 0.0, "random_seed": 0}
    model = "hierarchical_groups" if pooled else "dirichlet_multinomial"
    recipe = recipe_of(counts, ["recall"], settings, {"model": model})
    words = "The groups are partially pooled." if pooled else "Each group is estimated separately."
    assert recipe.evaluation().sentences[-2:] == ["3 groups.", words]


def test_priors_of_their_own_are_named_by_what_they_weigh():
    counts = bcm.from_cells(tp=[6, 5], fn=4, fp=3, tn=7).rename(batch="fold")
    alike = xr.DataArray(np.full((2, 2, 2), 0.5), dims=("fold", "actual", "predicted"))
    alike = alike.assign_coords({dim: counts[dim] for dim in ("actual", "predicted")})
    assert methods.prior_of(counts, alike).shape == (2, 2)
    apart = methods.prior_of(counts, alike * xr.DataArray([1.0, 4.0], dims="fold"))
    said = methods.of_counts("dirichlet_multinomial", apart, 0)["Prior"]
    assert said == "concentration from 0.5 to 2 per cell, worth 2 to 8 examples in all"


@pytest.mark.long
def test_several_labels_have_a_row_for_each_label_and_the_rarest_is_named(tmp_path):
    rng = np.random.default_rng(0)
    actual = rng.random((40, 3)) < [0.5, 0.3, 0.02]
    answers = {name: actual ^ (rng.random(actual.shape) < 0.2) for name in "ab"}
    evidence = bcm.from_multilabel(actual, answers, labels=["cat", "dog", "axolotl"])
    text = bcm.report(evidence, tmp_path / "report.md", progressbar=False).read_text()
    number = int(actual[:, 2].sum())
    examples = "1 example" if number == 1 else f"{number} examples"
    assert "40 examples and 3 labels." in text
    assert f"The rarest label is axolotl, which {examples} have." in text
    assert f"| recall | dog | {int(actual[:, 1].sum())} | a |" in text
    assert "macro averages are less certain" in text.split("Cautions")[-1]


@pytest.mark.long
def test_display_names_are_in_sentences_tables_and_pictures(tmp_path):
    counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    names = {"f1": "F-measure"}
    path = bcm.report(counts, tmp_path / "a.tex", measures=["f1"], display_names=names)
    text = path.read_text()
    assert "F-measure lies between" in text
    assert "F-measure & " in text
    assert "Posterior mean and 95\\% interval of F-measure." in text
    assert "f1" not in text.lower()


@pytest.mark.long
def test_a_measure_has_the_name_of_the_call_on_the_whole_page(counts, tmp_path):
    path = bcm.report(counts, tmp_path / "r.html", measures=["sensitivity", "ppv"])
    page = path.read_text(encoding="utf-8")
    assert page.count("sensitivity") > 5
    assert not {"recall", "precision"} & set(re.findall(r"\w+", page))


def test_labels_may_be_booleans():
    truth = np.arange(40) % 3 == 0
    both = {"a": truth ^ (np.arange(40) % 7 == 0), "b": truth ^ (np.arange(40) % 5 == 0)}
    evidence = bcm.from_classifiers(truth, both, positive=True)
    lines = type_of(evidence).describe(evidence)
    assert lines[0] == "40 examples of 2 classes: False (26), True (14)."
