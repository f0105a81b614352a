"""Calibration by site: the same posterior as the model's, and what it says of few and odd sites."""

import numpy as np
import pytest
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor.compile.mode import Mode
from scipy.special import expit

import bayescm as bcm

MEASURES = ["calibration_slope", "calibration_in_the_large", "brier"]


def sites(sizes, level, slope, seed=0):
    """Return probabilities of sites of these sizes, levels and slopes."""
    rng = np.random.default_rng(seed)
    code = np.repeat(np.arange(len(sizes)), sizes)
    odds = rng.normal(-0.5, 1.3, len(code))
    chance = expit(np.take(level, code) + np.take(slope, code) * odds)
    actual = (rng.random(len(code)) < chance).astype(int)
    return bcm.from_probabilities(
        actual, expit(odds), positive=1, group=np.array(list("abcdefgh"))[code]
    )


@pytest.fixture(scope="module")
def four():
    return sites([60, 45, 80, 6], [0.3, -0.4, 0.2, 0.0], [0.7, 1.2, 0.9, 0.8])


def test_log_density_is_that_of_the_model(four):
    posterior = bcm.posteriors.hierarchical_calibration(four, spread=0.7)
    drawn = posterior.variables(3, np.random.default_rng(1))
    model = remove_value_transforms(bcm.models.hierarchical_calibration(four, spread=0.7))
    density = model.compile_logp(jacobian=False, mode=Mode("py", None))
    free = {each.name for each in model.free_RVs}
    points = [{name: drawn[name][i] for name in free} for i in range(3)]
    theirs = np.array([float(density(point)) for point in points])
    np.testing.assert_allclose(posterior.log_density(drawn), theirs, rtol=1e-9)


@pytest.mark.long
def test_sites_are_drawn_towards_each_other(four):
    pooled = bcm.interval(four, "calibration_slope", of="group", draws=400)
    assert pooled.dims == ("group", "bound")
    length = dict(zip("abcd", np.ptp(pooled.values, axis=1), strict=True))
    alone = four.isel(example=four["group"].values == "a").drop_vars("group")
    assert length["a"] < np.ptp(bcm.interval(alone, "calibration_slope", draws=400).values)
    assert length["d"] > length["c"]  # 6 examples, and 80
    told = bcm.summary(four, MEASURES, of="new", draws=400)
    mean = bcm.summary(four, MEASURES, draws=400)
    assert (told["of"] == "new").all()
    assert (mean["of"] == "population").all()
    assert (told["sd"] > mean["sd"]).all()


@pytest.mark.long
def test_sites_have_their_labels_whatever_was_asked_for_before(four):
    posterior = bcm.posteriors.hierarchical_calibration(four)
    assert posterior.template.dims == posterior.batch.dims == ()
    sites = posterior.by("group")
    assert sites.template.dims == sites.batch.dims == ("group",)


@pytest.mark.long
def test_far_many_examples_the_sites_own_numbers_return():
    many = sites([4000, 5000], [0.5, -0.3], [0.7, 1.1])
    table = bcm.summary(many, [*MEASURES, "auc"], of="group", draws=500)
    for name, part in table.groupby("measure"):
        for site, row in part.set_index("group").iterrows():
            alone = many.isel(example=many["group"].values == site).drop_vars("group")
            own = bcm.summary(alone, name, draws=500).iloc[0]
            assert abs(row["mean"] - own["point"]) < 0.6 * own["sd"], (name, site)
            assert abs(row["point"] - own["point"]) < 0.6 * own["sd"], (name, site)
            assert 0.7 < row["sd"] / own["sd"] < 1.3, (name, site)


@pytest.mark.long
def test_odd_sites_are_answered():
    code = np.repeat(list("abc"), [40, 12, 1])
    rng = np.random.default_rng(3)
    p = rng.random(53)
    p[40:52] = 0.3  # one forecast for all
    actual = (rng.random(53) < p).astype(int)
    actual[40:52] = 0  # one class only
    evidence = bcm.from_probabilities(actual, {"m": p, "half": p / 2}, group=code)
    found = bcm.interval(evidence, ["calibration_slope", "brier"], of="group", kind="eti")
    assert found.dims == ("measure", "classifier", "group", "bound")
    assert np.isfinite(found).all()
    assert "With only 3 sites" in found.attrs["caution"]
    assert "2 of 3 sites have fewer than 10" in found.attrs["caution"]
    table = bcm.compare(evidence.isel(classifier=0, drop=True), "brier", dim="group", draws=200)
    assert len(table) == 3
    assert not table["paired"].any()
    assert np.isfinite(bcm.compare(evidence, MEASURES, draws=100)["sd"]).all()


@pytest.mark.long
def test_classifiers_of_the_same_sites_are_paired(four):
    rng, first = np.random.default_rng(5), four["score"].values
    near = expit(np.log(first / (1 - first)) + 0.3 * rng.standard_normal(len(first)))
    rows = {"a": first, "same": first, "near": near}
    evidence = bcm.from_probabilities(
        four["actual"].values, rows, positive=1, group=four["group"].values
    )
    posterior = bcm.posteriors.hierarchical_calibration(evidence)
    for of in ("population", "finite", "new"):
        (drawn,) = posterior.draw([bcm.measures.resolve("brier")], 200, rng, of=of)
        np.testing.assert_allclose(*np.sort(drawn[:, :2], axis=0).T)
        # Classifiers that agreed so far might differ in other examples of these sites.
        unseen = np.std(drawn[:, 0] - drawn[:, 1])
        assert 0 < unseen < np.std(drawn[:, 0] - drawn[:, 2]) < 0.4 * np.std(drawn[:, 0])
        alone = bcm.posteriors.hierarchical_calibration(evidence.sel(classifier="near"))
        (one,) = alone.draw([bcm.measures.resolve("brier")], 200, rng, of=of)
        np.testing.assert_allclose(drawn[:, 2].mean(), one.mean(), atol=4 * one.std() / 10)
    table = bcm.compare(evidence, "brier", draws=100)
    assert table["paired"].all()


@pytest.mark.long
def test_what_cannot_be_said_is_refused(four):
    for measure in ("ece", "miscalibration"):
        with pytest.raises(ValueError, match=f"{measure} is not available for several sites"):
            bcm.interval(four, measure)
    one = four.isel(example=four["group"].values == "a")
    with pytest.raises(ValueError, match="At least two groups"):
        bcm.interval(one, "brier")
    with pytest.raises(ValueError, match="combined with a prevalence"):
        bcm.interval(bcm.at_prevalence(four, 0.1), "brier")
    assert bcm.curves.auc(four).dims == ("group", "bound")
    for ask in (bcm.calibration.curve, bcm.calibration.recalibrated, bcm.curves.decision_curve):
        with pytest.raises(ValueError, match="not several groups"):
            ask(four)
    with pytest.raises(ValueError, match="supports one sample, but the evidence has groups"):
        bcm.models.calibration(four)
    p = [0.2, 0.2, 0.2, 0.2]
    alike = bcm.from_probabilities([0, 1, 0, 1], p, group=list("aabb"))
    with pytest.raises(ValueError, match="slope needs at least two distinct forecasts"):
        bcm.interval(alike, "calibration_slope")
    assert bcm.interval(alike, "brier", draws=200).sizes == {"bound": 2}
    with pytest.raises(ValueError, match="Folds and groups cannot be combined"):
        bcm.from_probabilities([0, 1, 0, 1], p, group=list("aabb"), fold=[0, 0, 1, 1])
    with pytest.raises(ValueError, match="A group is missing, the first at position 1"):
        bcm.from_probabilities([0, 1, 0, 1], p, group=["a", None, "b", "b"])
