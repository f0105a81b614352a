"""What texts say about the evidence and the models, compared with the evidence and the results."""

import inspect
import re
import warnings

import numpy as np
import pytest

import bayescm as bcm
from bayescm.answers.compare import compare
from bayescm.cli.planning import Goal
from bayescm.evidence.registry import type_of
from bayescm.measures import curves, probabilities
from bayescm.measures.measure import Measure
from bayescm.reporting.recipe import recipe_of

RNG = np.random.default_rng(1)
N = 60
ACTUAL = np.tile([0, 1], N // 2)
ANSWERS = {
    name: np.where(RNG.random(N) < right, ACTUAL, 1 - ACTUAL)
    for name, right in (("one", 0.9), ("two", 0.8))
}
SCORES = {name: ACTUAL + RNG.normal(0, 1, N) for name in ANSWERS}
CHANCES = {name: 1 / (1 + np.exp(-2 * score + 1)) for name, score in SCORES.items()}
MARKS = {name: RNG.integers(1, 6, N).astype(float) for name in ANSWERS}
TAGS = {name: RNG.random((N, 3)) < 0.4 for name in ("truth", *ANSWERS)}
RIGHT = {name: RNG.random((N, 4)) < 0.6 for name in ANSWERS}
FOLD, CLUSTER = np.arange(N) % 5, np.arange(N) // 5
WEIGHT = np.tile([1, 2, 3], N // 3)
COUNTED = {"weights": WEIGHT, "weights_are": "counts"}
IMPORTANT = {"weights": WEIGHT / 2, "weights_are": "importance"}


def _cross_validated(repeats):
    """Return the counts of two classifiers in folds, as `cross_confusion` returns them."""
    folds = [
        np.stack(
            [
                bcm.from_predictions(ACTUAL, answer, positive=1, by={"fold": FOLD}).values
                for _ in range(repeats)
            ]
        )
        for answer in ANSWERS.values()
    ]
    dims = ("classifier", "repeat", "fold")
    counts = bcm.from_matrix(np.stack(folds), labels=[0, 1], positive=1, dims=dims)
    counts = counts.assign_coords(classifier=list(ANSWERS), n_folds=5)
    return counts if repeats > 1 else counts.isel(repeat=0)


def _one(values):
    return next(iter(values.values()))


# Evidence, how many units it has, and whether its systems are paired (None: there is one system).
EVIDENCE = {
    "counts": (lambda: bcm.from_predictions(ACTUAL, _one(ANSWERS), positive=1), N, None),
    "counts of weights": (
        lambda: bcm.from_predictions(ACTUAL, _one(ANSWERS), positive=1, **COUNTED),
        WEIGHT.sum(),
        None,
    ),
    "importance weights": (
        lambda: bcm.from_predictions(ACTUAL, _one(ANSWERS), positive=1, **IMPORTANT),
        WEIGHT.sum() ** 2 / (WEIGHT**2).sum(),
        None,
    ),
    "folds": (
        lambda: bcm.from_predictions(ACTUAL, _one(ANSWERS), positive=1, by={"fold": FOLD}),
        N,
        None,
    ),
    "groups": (
        lambda: bcm.from_predictions(ACTUAL, _one(ANSWERS), positive=1, by={"group": FOLD}),
        N,
        None,
    ),
    "folds of two classifiers": (lambda: _cross_validated(1), N, True),
    "repeated folds of two classifiers": (lambda: _cross_validated(10), N, True),
    "outcomes": (lambda: bcm.from_classifiers(ACTUAL, ANSWERS, positive=1), N, True),
    "outcomes in folds": (
        lambda: bcm.from_classifiers(ACTUAL, ANSWERS, positive=1, by={"fold": FOLD}),
        N,
        True,
    ),
    "scores": (lambda: bcm.from_scores(ACTUAL, _one(SCORES), positive=1), N, None),
    "scores of two": (lambda: bcm.from_scores(ACTUAL, SCORES, positive=1, fold=FOLD), N, True),
    "scores with weights": (
        lambda: bcm.from_scores(ACTUAL, _one(SCORES), positive=1, **COUNTED),
        N,
        None,
    ),
    "probabilities": (
        lambda: bcm.from_probabilities(ACTUAL, _one(CHANCES), positive=1),
        N,
        None,
    ),
    "probabilities of two": (
        lambda: bcm.from_probabilities(ACTUAL, CHANCES, positive=1),
        N,
        True,
    ),
    "attempts": (lambda: bcm.from_attempts(_one(RIGHT)), N, None),
    "attempts of two": (lambda: bcm.from_attempts(RIGHT), N, True),
    "items": (lambda: bcm.from_item_scores(_one(MARKS), range=(1, 5)), N, None),
    "items of one named": (
        lambda: bcm.from_item_scores({"one": _one(MARKS)}, range=(1, 5)),
        N,
        None,
    ),
    "items of two": (lambda: bcm.from_item_scores(MARKS, range=(1, 5)), N, True),
    "items in clusters": (
        lambda: bcm.from_item_scores(MARKS, range=(1, 5), group=CLUSTER),
        N,
        True,
    ),
    "items with weights": (
        lambda: bcm.from_item_scores(_one(MARKS), range=(1, 5), **IMPORTANT),
        N,
        None,
    ),
    "labels": (lambda: bcm.from_multilabel(TAGS["truth"], TAGS["one"]), N, None),
    "labels of two": (
        lambda: bcm.from_multilabel(TAGS["truth"], {name: TAGS[name] for name in ANSWERS}),
        N,
        True,
    ),
    "labels in clusters": (
        lambda: bcm.from_multilabel(TAGS["truth"], TAGS["one"], group=CLUSTER),
        N,
        None,
    ),
    "item counts": (
        lambda: bcm.from_item_counts(tp=[2, 1, 3], fn=[0, 1, 0], fp=[1, 0, 0]),
        3,
        None,
    ),
}
HEAVY = ("probabilities", "probabilities of two", "scores of two")


@pytest.mark.parametrize("name", EVIDENCE)
def test_a_description_has_the_numbers_of_the_evidence(name):
    make, number, paired = EVIDENCE[name]
    evidence = make()
    entry = type_of(evidence)
    lines = entry.describe(evidence)
    text = " ".join(lines)
    first = float(re.match(r"[\d,.]+", lines[0])[0].replace(",", ""))
    assert first == pytest.approx(number, rel=1e-3)
    assert entry.unit.removesuffix("s") in lines[0]
    sizes = re.search(r": (.*\(.*\))\.", lines[0])
    if sizes:
        totals = [float(each) for each in re.findall(r"\(([\d.]+)\)", sizes[1])]
        assert sum(totals) == pytest.approx(number, rel=1e-3)
    names = [*ANSWERS] if paired else []
    if names:
        assert f"2 {'classifiers' if 'class' in text else 'systems'} on the same" in text
        assert text.count("one, two.") == 1
    assert "different examples" not in text
    counted = {"cluster": len(set(CLUSTER)), "fold": 5, "group": 5}
    for part, size in counted.items():
        found = re.search(rf"(\d+) {part}s", text)
        assert (found is None) == (part not in _parts(evidence)), part
        assert found is None or int(found[1]) == size
    assert not re.search(r"\b1 [a-z]+s\b", text)
    labels = entry.describe(evidence, written=lambda label: f"<{label}>")
    assert re.sub(r"[<>]", "", " ".join(labels)) == text


def _parts(evidence):
    """Return the words for the parts that evidence comes in."""
    parts = {str(dim) for dim in evidence.dims} & {"fold", "group"}
    parts |= {"fold"} & {str(name) for name in evidence.coords} | (
        {"fold"} if "fold" in getattr(evidence, "data_vars", ()) else set()
    )
    units = ("item", "example")
    if "group" in evidence.coords and evidence["group"].dims in [(unit,) for unit in units]:
        parts |= {"cluster"}
    return parts


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in EVIDENCE if name not in HEAVY])
def test_reports_and_methods_paragraphs_name_the_models_and_the_pairing(name):
    make, _, paired = EVIDENCE[name]
    evidence = make()
    settings = {"prob": 0.9, "kind": "eti", "rope": 0.0, "random_seed": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        recipe = recipe_of(evidence, None, settings, {})
        facts, evaluation = recipe.facts(), recipe.evaluation().sentences
        text = bcm.methods_paragraph(evidence, prob=0.9, kind="eti", random_seed=3).text
        cautions = " ".join(recipe.cautions().sentences)
        comparison = None if paired is None else recipe.comparison
    default = type_of(evidence).default_model(evidence, {})
    assert str(default.model) in facts["Model"]
    assert facts["Model"].split(" for ")[0].split(" of ")[0].replace("_", " ") in text
    assert r"90\% equal-tailed" in text
    assert text.startswith("The evaluation is of ")
    for line in type_of(evidence).describe(evidence):
        assert line in " ".join(evaluation)
        assert line.replace("%", r"\%") in text
    if comparison is not None:
        assert comparison["paired"].all() == paired
        (section,) = recipe.differences()
        caption = section.tables[0].caption
        assert "different" not in caption
        assert "them as independent" not in cautions
        how = comparison.attrs.get("how")
        assert (how == "correlated t") == ("fold" in evidence.dims)
        if how:
            assert how in facts["Model"]
            assert how in caption
            assert "correlated t" in text
        else:
            assert f"on the same {type_of(evidence).unit}" in caption
    if "cluster" in _parts(evidence):
        assert "of a cluster share one weight" in text
    if "weight" in evidence:
        assert "counts in proportion to its importance" in text or "weights" in text


def test_classifiers_on_different_examples_are_called_so():
    cells = np.array([[[30, 5], [4, 31]], [[50, 5], [9, 51]]])
    names = ["a", "b"]
    counts = bcm.from_matrix(cells, labels=[0, 1], positive=1, dims=("classifier",))
    counts = counts.assign_coords(classifier=names)
    first, *rest = type_of(counts).describe(counts)
    assert first == "70 examples (a) and 115 examples (b) of 2 classes."
    assert "2 classifiers on different examples: a, b." in rest
    text = bcm.methods_paragraph(counts, "recall").text
    assert text.startswith("The evaluation is of 70 examples (a) and 115 examples (b)")


@pytest.mark.long
def test_a_name_of_a_measure_has_the_meaning_of_its_evidence():
    items = bcm.from_item_scores(_one(MARKS), range=(1, 5))
    attempts = bcm.from_attempts(_one(RIGHT))
    assert "mean (mean score of an item)" in bcm.methods_paragraph(items, "mean").text
    assert "mean (proportion of right answers" in bcm.methods_paragraph(attempts, "mean").text
    labels = bcm.from_multilabel(TAGS["truth"], TAGS["one"])
    text = bcm.methods_paragraph(labels, ["f1_macro", "f1_samples"]).text
    assert "mean over the labels of" in text
    assert "mean over the examples of" in text


def test_a_methods_paragraph_names_the_classes_that_averages_leave_out():
    actual, predicted = ["a", "b", "b", "a"] * 9, ["a", "b", "a", "a"] * 9
    counts = bcm.from_predictions(actual, predicted, labels=["a", "b", "c"])
    text = bcm.methods_paragraph(counts, ["accuracy", "f1_macro"]).text
    assert "Averages leave out classes" in text
    assert "F1 (macro): c." in text


def test_methods_of_probabilities_of_several_classes():
    actual = np.arange(N) % 3
    forecasts = np.random.default_rng(2).dirichlet([1, 1, 1], N)
    evidence = bcm.from_probabilities(actual, forecasts)
    text = bcm.methods_paragraph(evidence, ["brier_score", "ece_top_label"], draws=200).text
    assert "most probable class" in text


def test_one_unit_is_singular():
    attempts = bcm.from_attempts(np.array([[1, 0, 1]]))
    assert type_of(attempts).describe(attempts) == ["1 item with 3 answers each."]
    item = bcm.from_item_scores([2.0], range=(1, 5))
    assert type_of(item).describe(item)[0] == "1 item."
    example = bcm.from_predictions([1], [1], labels=[0, 1], positive=1)
    assert type_of(example).describe(example)[0].startswith("1 example of 2 classes")


@pytest.mark.parametrize("module", [curves, probabilities])
def test_every_measure_of_a_file_has_averages_wherever_it_is_in_the_file(module):
    own = [
        entry
        for entry in vars(module).values()
        if isinstance(entry, Measure) and entry.one_class and entry.canonical in vars(module)
    ]
    assert own
    for measure in own:
        assert f"{measure.canonical}_macro" in module.AVERAGED


def test_the_mean_in_a_plot_of_item_scores_is_the_mean_of_its_interval():
    evidence = bcm.from_item_scores([1, 5, 5, 5, 5, 5, 5, 4, 4, 4], range=(1, 5))
    row = bcm.summary(evidence, "mean").iloc[0]
    title = bcm.plots.plot_item_scores(evidence).axes[0].get_title()
    numbers = [float(number) for number in re.findall(r"\d+\.?\d*", title)]
    assert numbers == pytest.approx([row["mean"], row["lower"], row["upper"]], abs=0.006)
    assert row["point"] != pytest.approx(row["mean"], abs=0.03)


@pytest.mark.long
def test_equal_medians_are_all_in_bold_and_inside_their_intervals():
    rng = np.random.default_rng(3)
    marks = {name: rng.choice([3, 4, 4, 4, 4, 5], 400).astype(float) for name in "abcd"}
    evidence = bcm.from_item_scores(marks, range=(1, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        comparison = compare(evidence, "median")
        text = bcm.latex_table(bcm.summary(evidence, "median"), comparison=comparison)
    rows = [line for line in text.splitlines() if re.match(r"    [abcd] &", line)]
    assert len(rows) == 4
    for row in rows:
        assert r"\textbf{4.00} [4.00, 4.00]" in row


def test_a_plan_has_the_same_assurance_by_default_in_python_and_in_the_terminal():
    planners = (bcm.plan, bcm.planning.plan_comparison, bcm.planning.plan_above)
    defaults = {inspect.signature(planner).parameters["assurance"].default for planner in planners}
    assert defaults == {Goal.assurance}
