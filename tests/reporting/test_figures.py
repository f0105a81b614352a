"""The matrix and the region of a report are of the evidence itself, as its numbers are."""

import numpy as np
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.evidence.counts import as_counts
from bayescm.evidence.outcomes import matrices_of
from bayescm.fitting.posterior_for import posterior_of
from bayescm.fitting.question import Question
from bayescm.measures.display_names import displaying
from bayescm.reporting.figures import add_matrices
from bayescm.reporting.recipe import _observed
from bayescm.reporting.sections import Section

SETTINGS = {"prob": 0.9, "kind": "eti", "random_seed": 0}


def of_folds():
    rng = np.random.default_rng(4)
    actual, fold = np.arange(240) % 2, np.repeat(np.arange(6), 40)
    wrong = rng.random(240) < np.array([0.05, 0.1, 0.2, 0.35, 0.1, 0.4])[fold]
    return bcm.from_predictions(actual, actual ^ wrong, positive=1, by={"fold": fold})


def of_hospitals():
    """Recall between .5 and .95, in hospitals of which the largest is the worst."""
    tp, positives = np.array([19, 38, 27, 170, 9]), np.array([20, 43, 30, 340, 14])
    tn, negatives = np.array([70, 61, 88, 500, 33]), np.array([75, 80, 90, 620, 40])
    cells = {"tp": tp, "fn": positives - tp, "fp": negatives - tn, "tn": tn}
    return bcm.from_cells(**cells).rename(batch="group")


def of_one():
    return bcm.from_cells(tp=31, fn=6, fp=4, tn=72)


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Draw regions in a second: what is compared is made of the same draws."""
    monkeypatch.setattr("bayescm.answers.regions._MANY_DRAWS", 20_000)


CASES = {
    "folds": (of_folds, {}),
    "folds, another model": (of_folds, {"model": "averaged_folds"}),
    "groups, typical": (of_hospitals, {"of": "typical"}),
    "wrong labels": (of_one, {"label_error": 0.04}),
    "prevalence": (lambda: bcm.at_prevalence(of_one(), 0.02), {}),
    "plain": (of_one, {}),
}


def drawn(evidence, **keywords):
    section = Section("Pictures")
    posterior = posterior_of(
        evidence, Question.of_keywords(**{k: v for k, v in keywords.items() if k != "of"})
    )
    add_matrices(section, evidence, evidence, posterior, {**SETTINGS, **keywords})
    return {each.name: each.figure for each in section.pictures}, section.sentences


def rims(figure):
    """Return the ends of the regions of highest density, and of their lines, on both axes."""
    points = [
        path.vertices
        for each in figure.axes[0].collections
        for path in each.get_paths()
        if len(path.vertices)
    ]
    assert len(points) > 3
    return np.array([[each.min(axis=0), each.max(axis=0)] for each in points])


def texts(figure):
    return [each.get_text() for each in figure.axes[0].texts]


@pytest.mark.parametrize(
    "case", ["plain", *(pytest.param(c, marks=pytest.mark.long) for c in CASES if c != "plain")]
)
def test_pictures_are_those_of_the_evidence(case):
    make, keywords = CASES[case]
    evidence = make()
    pictures, sentences = drawn(evidence, **keywords)
    assert (list(pictures), sentences) == (["matrix-0", "region-0"], [])

    alone = bcm.plots.plot_region(evidence, prob=0.9, random_seed=0, **keywords)
    np.testing.assert_allclose(rims(pictures["region-0"]), rims(alone))
    inside = pictures["region-0"].axes[0]
    point = [bcm.summary(evidence, name, **keywords)["mean"][0] for name in ("recall", "precision")]
    assert inside.get_xlim()[0] < point[0] < inside.get_xlim()[1]
    assert inside.get_ylim()[0] < point[1] < inside.get_ylim()[1]

    # What stands in the cell of the true positives is the recall of the report, but for its draws.
    low, high = 100 * bcm.interval(evidence, "recall", prob=0.9, kind="eti", **keywords).values
    _, _, ends = texts(pictures["matrix-0"])[-1].split("\n")
    assert [float(end) for end in ends.strip("[]").split(",")] == pytest.approx(
        [low, high], abs=1.0
    )


@pytest.mark.long
def test_pictures_of_a_fit_are_of_the_fit():
    tree = bcm.fit(of_one(), concentration=7.0, random_seed=0)
    section = Section("Pictures")
    counts, posterior = _observed(tree), posterior_of(tree)
    add_matrices(section, tree, counts, posterior, {"prob": 0.9, "kind": "eti"})
    pictures = {each.name: each.figure for each in section.pictures}
    low, high = 100 * bcm.interval(tree, "recall", prob=0.9, kind="eti").values
    assert f"[{low:.1f}, {high:.1f}]" in texts(pictures["matrix-0"])[-1]
    np.testing.assert_allclose(
        rims(pictures["region-0"]), rims(bcm.plots.plot_region(tree, prob=0.9))
    )


@pytest.mark.long
def test_what_the_model_tells_apart_is_left_out_with_a_sentence():
    pictures, sentences = drawn(of_folds(), model="dirichlet_multinomial")
    assert list(pictures) == ["region-0"]  # of six folds, which can be told apart
    assert sentences == [
        "The confusion matrix is left out, because the model has one for every fold."
    ]
    tp = np.arange(30, 42)
    many = bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45).rename(batch="fold")
    pictures, sentences = drawn(many, model="dirichlet_multinomial")
    assert not pictures
    assert any(each.startswith("The region of recall and precision") for each in sentences)


@pytest.mark.long
def test_every_classifier_has_pictures_of_its_own_folds():
    tp = np.array([[18, 11, 16, 19], [12, 14, 9, 13]])
    folds = [bcm.from_cells(tp=own, fn=20 - own, fp=3, tn=17).rename(batch="fold") for own in tp]
    both = xr.concat(folds, "classifier").assign_coords(classifier=["a", "b"])
    pictures, _ = drawn(both)
    assert list(pictures) == ["matrix-0", "region-0", "matrix-1", "region-1"]
    alone = bcm.plots.plot_region(folds[0], prob=0.9, random_seed=0)
    np.testing.assert_allclose(rims(pictures["region-0"]), rims(alone))


@pytest.mark.long
def test_groups_of_two_classes_are_drawn_as_a_meta_analysis_does(tmp_path):
    cells = {"tp": [40, 10, 35], "fn": [5, 30, 8], "fp": [9, 4, 20], "tn": [41, 50, 30]}
    studies = bcm.from_cells(**cells).rename(batch="group")
    text = bcm.report(studies, tmp_path / "report.md", measures=["recall"]).read_text()
    assert "(report_files/sroc.png)" in text
    assert "(report_files/studies.png)" in text


@pytest.mark.long
def test_pictures_are_described_with_display_names():
    actual = np.arange(40) % 2
    both = bcm.from_classifiers(actual, {"a": actual, "b": 1 - actual}, positive=1)
    section, counts = Section("Pictures"), as_counts(matrices_of(both))
    posterior = posterior_of(counts)
    with displaying({"a": "the first"}):
        add_matrices(section, counts, counts, posterior, SETTINGS)
    alts = [picture.alt for picture in section.pictures]
    assert any("matrix of the first:" in alt for alt in alts)
    assert not any(" of a " in alt or " of a:" in alt for alt in alts)
