"""Fits whose measures are not functions of cell probabilities."""

import re

import arviz as az
import evidence_of_types
import numpy as np
import pytest
import xarray as xr

import bayescm as bcm

LABELS = [{"x"}, {"x", "y"}, {"y"}, set()] * 3
OTHER = [{"x"}, {"y"}, {"y"}, {"x"}] * 3
RNG = np.random.default_rng(4)
EVIDENCE = evidence_of_types.evidence() | {
    "item scores": bcm.from_item_scores(RNG.random(12), range=(0, 1)),
    "item scores of two": bcm.from_item_scores(
        {"a": RNG.random(12), "b": RNG.random(12)}, range=(0, 1)
    ),
    "item scores in clusters": bcm.from_item_scores(
        RNG.random(12), range=(0, 1), group=np.arange(12) // 2
    ),
    "several labels": bcm.from_multilabel(LABELS, OTHER),
    "several labels of two": bcm.from_multilabel(LABELS, {"a": OTHER, "b": LABELS}),
    "item counts": bcm.from_item_counts(tp=[1, 2, 3], fp=[0, 1, 0], fn=[1, 0, 0]),
    "attempts of two": bcm.from_attempts(
        {"a": RNG.integers(0, 2, (12, 5)), "b": RNG.integers(0, 2, (12, 5))}
    ),
}
FITTED = [
    "scores",
    "probabilities",
    "attempts",
    "item scores",
    "several labels",
    "item counts",
    *(
        pytest.param(name, marks=pytest.mark.long)
        for name in (
            "scores of several",
            "scores of three",
            "scores of folds",
            "probabilities of several",
            "attempts of two",
            "item scores of two",
            "item scores in clusters",
            "several labels of two",
        )
    ),
]
QUICK = {"draws": 1000, "chains": 2, "random_seed": 3}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", FITTED)
def test_a_fit_has_the_summary_of_its_evidence(name, tmp_path):
    tree = bcm.fit(EVIDENCE[name], **QUICK)
    fitted, expected = bcm.summary(tree), bcm.summary(EVIDENCE[name])
    assert fitted["measure"].tolist() == expected["measure"].tolist()
    np.testing.assert_allclose(fitted["point"], expected["point"])
    sd = np.maximum(expected["sd"].to_numpy(float), 1e-3)
    # 2,000 draws: five Monte Carlo standard errors, of means and of two quantiles (3.2 per sd).
    assert (np.abs(fitted["mean"] - expected["mean"]) < 5 * sd / np.sqrt(2000) + 1e-9).all()
    assert (np.abs(fitted["upper"] - expected["upper"]) < 0.45 * sd).all()
    assert len(az.summary(tree)) > 0
    bcm.save(tree, tmp_path / "fit.nc")
    assert bcm.summary(bcm.load(tmp_path / "fit.nc")).equals(fitted)


@pytest.mark.filterwarnings("ignore:a and b differ in:UserWarning")
def test_a_fit_compares_its_systems_as_the_evidence_does():
    evidence = EVIDENCE["item scores of two"]
    tree = bcm.fit(evidence, draws=2000, random_seed=3)
    fitted, expected = (bcm.compare(data, "mean") for data in (tree, evidence))
    sd = float(expected["sd"].iloc[0])
    assert abs(float((fitted["mean"] - expected["mean"]).iloc[0])) < 0.1 * sd
    assert abs(float((fitted["p_better"] - expected["p_better"]).iloc[0])) < 0.05
    assert bool(fitted["paired"].iloc[0])


@pytest.mark.long
def test_a_fit_of_results_compares_as_the_results_do():
    results = EVIDENCE["results"]
    tree = bcm.fit(results, **QUICK)
    assert bcm.compare(tree).equals(bcm.compare(results))
    with pytest.raises(ValueError, match="differences between classifiers"):
        bcm.interval(tree, "accuracy")


def test_measure_returns_draws_with_labels():
    tree = bcm.fit(EVIDENCE["item scores of two"], **QUICK)
    values = bcm.measure(tree, ["mean", "quantile(0.9)"])
    assert values["mean"].dims == ("chain", "draw", "classifier")
    assert values["classifier"].values.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="variable=None has no effect on a fit without"):
        bcm.measure(tree, "mean", group="prior")


def test_nuts_needs_a_pymc_model():
    with pytest.raises(ValueError, match="item_scores has no PyMC model for this evidence"):
        bcm.fit(EVIDENCE["item scores in clusters"], method="nuts")


@pytest.mark.long
@pytest.mark.parametrize(("name", "measure"), [("scores", "auc"), ("item scores", "mean")])
def test_measures_follow_from_the_variables_of_a_tree(name, measure):
    tree = bcm.fit(EVIDENCE[name], **QUICK)
    values = bcm.measure(tree, measure)[measure].values
    np.testing.assert_allclose(values, tree["posterior"][measure].values, atol=1e-9)


@pytest.mark.long
def test_measures_of_scores_follow_from_the_masses_of_every_classifier():
    evidence = EVIDENCE["scores of several"]
    tree = bcm.fit(evidence, **QUICK)
    values = bcm.measure(tree, ["auc", "average_precision"])
    np.testing.assert_allclose(values["auc"].values, tree["posterior"]["auc"].values, atol=1e-9)
    expected = bcm.summary(evidence, "average_precision")
    mean = values["average_precision"].mean(("chain", "draw"))
    assert (np.abs(mean - expected["mean"]) < 5 * expected["sd"] / np.sqrt(2000)).all()


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "measure"), [("scores", "average_precision"), ("item scores", "sd")]
)
def test_a_tree_of_nuts_has_the_summary_of_its_evidence(name, measure):
    tree = bcm.fit(EVIDENCE[name], method="nuts", **QUICK)
    fitted, expected = (bcm.summary(data, measure).iloc[0] for data in (tree, EVIDENCE[name]))
    assert tree.attrs["sampling_method"] == "nuts"
    assert abs(fitted["mean"] - expected["mean"]) < 0.2 * expected["sd"]
    assert fitted["sd"] == pytest.approx(expected["sd"], rel=0.15)


# Evidence of one system whose model has other measures than its variables, by estimand.
GIVEN = [
    ("probabilities", "brier", "parameter"),
    ("probabilities", "ece", "parameter"),
    ("probabilities of three", "ece_full", "parameter"),
    ("probabilities of three", "auc_macro", "parameter"),
    ("probabilities of sites", "calibration_slope", "new"),
    ("probabilities of sites", "calibration_in_the_large", "finite"),
    ("attempts", "pass_at(2)", "parameter"),
    ("attempts", "majority_at(3)", "finite"),
    ("attempts", "mean", "new"),
    ("several labels", "f1_micro", "parameter"),
    ("several labels", "f1_macro", "parameter"),
    ("several labels", "hamming_loss", "parameter"),
    ("item scores in slices", "mean", "parameter"),
]


def given(name):
    rng = np.random.default_rng(6)
    if name == "probabilities of three":
        rows = rng.dirichlet([2, 2, 2], 60)
        return bcm.from_probabilities([rng.choice(3, p=row) for row in rows], rows)
    if name == "probabilities of sites":
        chance = rng.beta(2, 2, 150)
        truth = (rng.random(150) < chance).astype(int)
        return bcm.from_probabilities(truth, chance, group=np.arange(150) // 30)
    if name == "item scores in slices":
        return bcm.from_item_scores(
            rng.beta(2, 3, 60), range=(0, 1), by={"topic": np.arange(60) % 5}
        )
    return EVIDENCE[name]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("name", "measure", "of"), GIVEN)
def test_measures_given_the_variables_are_those_of_the_evidence(name, measure, of):
    """Draws of the variables by any sampler have the measures of the posterior."""
    evidence = given(name)
    model = "item_score_slices" if "slices" in name else None
    tree = bcm.fit(evidence, model, **QUICK)
    tree.attrs["sampling_method"] = "nuts"
    found = bcm.summary(tree, measure, of=of)
    expected = bcm.summary(evidence, measure, of=of, model=model)
    assert (np.abs(found["mean"] - expected["mean"]) < 0.15 * expected["sd"]).all()
    np.testing.assert_allclose(found["sd"], expected["sd"], rtol=0.15)


@pytest.mark.long
def test_the_curve_of_the_variables_decides_the_calibration_error():
    """Not the direct posterior's own curve."""
    evidence = EVIDENCE["probabilities"]
    tree = bcm.fit(evidence, **QUICK)
    tree.attrs["sampling_method"] = "nuts"
    before = bcm.summary(tree, ["ece", "brier"])
    tree["posterior"]["curve"] = tree["posterior"]["curve"] * 0 + 0.999
    after = bcm.summary(tree, ["ece", "brier"])
    assert after["mean"][0] > before["mean"][0] + 0.3
    assert after["mean"][1] == pytest.approx(before["mean"][1])


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_a_model_does_not_describe_is_an_error_with_the_reason():
    slices = given("item scores in slices")
    tree = bcm.fit(slices, "item_score_slices", **QUICK)
    tree.attrs["sampling_method"] = "nuts"
    with pytest.raises(ValueError, match=r"describes the mean score of each slice.*: sd"):
        bcm.summary(tree, "sd")
    answers = bcm.from_attempts([["4", "5", "5"], ["7", "7", "9"]] * 4, truth=["4", "7"] * 4)
    tree = bcm.fit(answers, **QUICK)
    tree.attrs["sampling_method"] = "nuts"
    with pytest.raises(ValueError, match="not which answers are equal"):
        bcm.summary(tree, "majority_at(3)")
    assert len(bcm.summary(tree, "pass_at(2)")) == 1


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "name",
    [
        "probabilities",
        "probabilities of three",
        "probabilities of sites",
        "attempts",
        "several labels",
    ],
)
def test_fits_by_nuts_have_the_default_measures_of_their_evidence(name):
    evidence = given(name)
    tree = bcm.fit(evidence, method="nuts", **QUICK)
    found, expected = bcm.summary(tree), bcm.summary(evidence)
    assert found["measure"].tolist() == expected["measure"].tolist()
    # Means of skill have heavy tails at new sites, and means of ECE differ by its curves.
    assert (np.abs(found["mean"] - expected["mean"]) < 0.5 * expected["sd"]).all()


@pytest.mark.long
def test_a_distance_from_calibration_has_the_limits_of_the_evidence():
    rng = np.random.default_rng(3)
    probability = rng.random(150).round(2)
    actual = (rng.random(150) < probability).astype(int)
    evidence = bcm.from_probabilities(actual, probability, positive=1)
    tree = bcm.fit(evidence, draws=500, chains=2, random_seed=1)
    found, expected = (bcm.interval(each, "ece") for each in (tree, evidence))
    assert found.sel(bound="lower") == expected.sel(bound="lower") == 0
    np.testing.assert_allclose(found, expected, atol=0.02)
    assert found.attrs["how"] == expected.attrs["how"]


def three_classes_in_groups():
    """Return counts of three classes in three groups."""
    labels = ["none", "mild", "severe"]
    tables = [[19, 2, 0], [5, 16, 0], [1, 4, 13]], [[18, 4, 5], [0, 15, 0], [1, 3, 8]]
    return xr.DataArray(
        [*tables, [[22, 2, 2], [2, 6, 2], [2, 4, 18]]],
        {"group": list("abc"), "actual": labels, "predicted": labels},
        ("group", "actual", "predicted"),
    )


def test_a_fit_without_the_groups_does_not_answer_for_each_of_them():
    tree = bcm.fit(three_classes_in_groups(), spread=0.4, draws=50, random_seed=1)
    for of in ("group", "new", "finite"):
        with pytest.raises(ValueError, match=r"'typical'\. Only the direct posterior has it"):
            bcm.summary(tree, "recall[severe]", of=of)
    with pytest.raises(ValueError, match=r"'population' or 'typical'\.$"):
        bcm.interval(tree, "recall[severe]", of="mean")
    with pytest.raises(ValueError, match="direct posterior"):
        bcm.plot_forest(tree, "recall[severe]", of="group")


@pytest.mark.parametrize("classes", [2, 3])
def test_a_fit_of_few_groups_has_the_caution_of_the_direct_posterior(classes):
    counts = three_classes_in_groups().isel(actual=slice(classes), predicted=slice(classes))
    counts = counts.assign_coords(positive="mild")
    few = r"With only 3 groups, the between-group .* groups\."
    tree = bcm.fit(counts, draws=50, random_seed=1)
    for evidence in (counts, tree):
        table = bcm.summary(evidence, "recall[mild]", of="population")
        assert re.search(few, table.attrs["caution"])
    assert ("of='finite'" in table.attrs["caution"]) == (classes == 2)
    if classes == 2:
        for of in ("finite", "group"):
            assert "With only" not in str(bcm.summary(tree, "recall[mild]", of=of).attrs)
