"""Probabilities of more than two classes: scikit-learn's points, one density, what is found."""

import numpy as np
import pytest
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor.compile.mode import Mode
from scipy.special import softmax
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

import bayescm as bcm

LABELS = np.array(["a", "b", "c"])


def drawn(size, slope=1.0, seed=1, level=(0.0, 0.0, 0.0)):
    """Return labels and forecasts that are right where the slope is 1 and the level 0."""
    rng = np.random.default_rng(seed)
    logs = rng.normal(0, 1.3, (size, 3))
    right = softmax(level + slope * logs, axis=1)
    code = (rng.random((size, 1)) > right.cumsum(axis=1)).sum(axis=1).clip(max=2)
    return LABELS[code], softmax(logs, axis=1), right


@pytest.fixture(scope="module")
def bold():
    actual, forecast, right = drawn(400, slope=0.4)
    evidence = bcm.from_probabilities(actual, {"bold": forecast, "right": right})
    return actual, forecast, right, evidence


def test_points_are_scikit_learns(bold):
    actual, forecast, _, evidence = bold
    one = evidence.isel(classifier=0, drop=True)
    posterior = bcm.posteriors.dirichlet_calibration(one)
    points = [
        posterior.point(bcm.measures.resolve(name)).item()
        for name in ("brier", "log_loss", "auc_macro", "auc_weighted", "auc_top_label")
    ]
    highest = forecast.max(axis=1), LABELS[forecast.argmax(axis=1)] == actual
    wanted = [
        brier_score_loss(actual, forecast),
        log_loss(actual, forecast),
        roc_auc_score(actual, forecast, multi_class="ovr"),
        roc_auc_score(actual, forecast, multi_class="ovr", average="weighted"),
        roc_auc_score(highest[1], highest[0]),
    ]
    np.testing.assert_allclose(points, wanted, rtol=1e-12)


@pytest.mark.long
def test_each_class_is_that_class_against_the_rest(bold):
    one = bold[3].isel(classifier=0, drop=True)
    names = ["auc", "calibration_slope", "ece"]
    whole = bcm.interval(one, names, draws=500, kind="eti")
    assert whole.dims == ("measure", "class", "bound")
    rest = bcm.interval(bcm.curves.one_vs_rest(one, "b"), names, draws=500, kind="eti")
    # The rest is one class there, and the bounds are those of 500 draws.
    np.testing.assert_allclose(whole.sel({"class": "b"}), rest, atol=0.05)
    top = bcm.interval(bcm.curves.top_label(one), "calibration_slope", draws=500, kind="eti")
    ours = bcm.interval(one, "calibration_slope_top_label", draws=500, kind="eti")
    np.testing.assert_allclose(ours, top, atol=0.05)


@pytest.mark.long
def test_the_full_error_is_found_and_may_be_0(bold):
    _, forecast, right, evidence = bold
    names = ["ece_full", "miscalibration_full"]
    ends = bcm.interval(evidence, names, draws=500).transpose("classifier", "measure", ...).values
    truth = [np.abs(forecast - right).sum(axis=1).mean() / 2, ((forecast - right) ** 2).sum() / 400]
    assert ((ends[0, :, 0] < truth) & (truth < ends[0, :, 1]) & (ends[0, :, 0] > 0)).all()
    assert (ends[1, :, 0] == 0).all()
    found = bcm.calibration.recalibrated(evidence).set_index(["classifier", "measure"])
    gain = found.loc[("bold", "brier")]
    assert gain["lower"] < truth[1] < gain["upper"]
    rows = bcm.compare(evidence, ["log_loss", "ece_full"], draws=500)
    assert rows["paired"].all()
    assert (rows["p_better"] < 0.01).all()


@pytest.mark.long
def test_curves_are_of_classes_and_of_the_highest(bold):
    evidence = bold[3]
    curves = bcm.calibration.curve(evidence, at=[0.2, 0.6])
    assert curves["interval"].dims == ("classifier", "class", "probability", "bound")
    ends = curves["interval"].sel(classifier="right", probability=0.2)
    assert ((ends[..., 0] < 0.2) & (ends[..., 1] > 0.2)).all()
    highest = bcm.calibration.curve(evidence, at=[0.9], top_label=True)["interval"]
    assert highest.sel(classifier="bold", bound="upper").item() < 0.9
    tested = bcm.calibration.test(evidence.isel(classifier=0, drop=True), 0.1)
    assert tested["class"].tolist() == ["a", "b", "c"]
    few = evidence.isel(classifier=0, example=slice(60), drop=True)
    assert len(bcm.plot_calibration(few).axes) == 4


def test_what_is_refused():
    actual, forecast, _ = drawn(50)
    evidence = bcm.from_probabilities(actual, forecast)
    assert "examples of class" in bcm.interval(evidence, "brier", draws=100).attrs["caution"]
    with pytest.raises(ValueError, match="has no average over classes"):
        bcm.interval(evidence, "ece_micro")
    with pytest.raises(ValueError, match="cannot be restricted to named classes"):
        bcm.interval(evidence, "ece[a]")
    two = bcm.from_probabilities([0, 1, 1, 0], [0.1, 0.4, 0.8, 0.3])
    with pytest.raises(ValueError, match="needs three or more classes"):
        bcm.interval(two, "ece_macro")
    sure = np.eye(3)[np.searchsorted(LABELS, actual)]
    with pytest.raises(ValueError, match="right in all 50 examples"):
        bcm.curves.top_label(bcm.from_probabilities(actual, sure))


def test_weights_stand_for_examples():
    actual, forecast, _ = drawn(40)
    times = np.arange(40) % 3 + 1
    heavy = bcm.from_probabilities(actual, forecast, weights=times, weights_are="counts")
    long = bcm.from_probabilities(np.repeat(actual, times), np.repeat(forecast, times, axis=0))
    every = [bcm.summary(each, ["brier", "auc_macro"], draws=1000) for each in (heavy, long)]
    np.testing.assert_allclose(every[0]["point"], every[1]["point"], rtol=1e-12)
    np.testing.assert_allclose(every[0]["sd"], every[1]["sd"], rtol=0.12)


@pytest.mark.long
@pytest.mark.slow
def test_model_and_direct_posterior_have_one_density():
    actual, forecast, _ = drawn(30)
    forecast[3] = [0.0, 0.4, 0.6]
    actual[3] = "b"
    evidence = bcm.from_probabilities(
        actual, forecast, weights=np.arange(30) % 3 + 1, weights_are="counts"
    )
    posterior = bcm.posteriors.dirichlet_calibration(evidence)
    values = posterior.variables(4, np.random.default_rng(2))
    model = remove_value_transforms(bcm.models.dirichlet_calibration(evidence))
    log_joint = model.compile_logp(jacobian=False, mode=Mode("py", None))
    theirs = [float(log_joint({name: each[k] for name, each in values.items()})) for k in range(4)]
    assert np.ptp(theirs - posterior.log_density(values)) < 1e-8


def softmax_of_normals(classes, size, spread, seed):
    """Return forecasts that are right, the softmax of normal logits, and what comes true."""
    rng = np.random.default_rng(seed)
    forecast = softmax(rng.normal(0, spread, (size, classes)), axis=1)
    code = (rng.random((size, 1)) > forecast.cumsum(axis=1)).sum(axis=1).clip(max=classes - 1)
    return forecast, code


@pytest.mark.long
@pytest.mark.parametrize(("classes", "size", "spread"), [(2, 300, 4), (6, 150, 4), (25, 600, 2)])
def test_the_prior_of_proper_scores_does_not_grow_with_the_classes(classes, size, spread):
    """Beside mean and standard error of the examples' losses, which know of no classes."""
    forecast, code = softmax_of_normals(classes, size, spread, seed=classes)
    loss = -np.log(forecast[np.arange(size), code])
    square = ((forecast - np.eye(classes)[code]) ** 2).sum(axis=1) / (2 if classes == 2 else 1)
    evidence = bcm.from_probabilities(code, forecast if classes > 2 else forecast[:, 1])
    table = bcm.summary(evidence, ["log_loss", "brier"], kind="eti", draws=1000)
    for row, values in zip(table.itertuples(), (loss, square), strict=True):
        error = values.std(ddof=1) / size**0.5
        assert row.point == pytest.approx(values.mean())
        assert abs(row.mean - values.mean()) < 0.6 * error
        assert row.lower < values.mean() < row.upper
        assert 0.9 < (row.upper - row.lower) / (2 * 1.96 * error) < 1.25


@pytest.mark.long
def test_the_mean_area_of_many_classes_is_not_drawn_away_from_the_samples():
    forecast, code = softmax_of_normals(12, 300, 3, seed=1)
    evidence = bcm.from_probabilities(code, forecast)
    row = bcm.summary(evidence, "auc_macro", kind="eti", draws=1000).iloc[0]
    assert row["lower"] < row["point"] < row["upper"]
    assert abs(row["mean"] - row["point"]) < 0.3 * row["sd"]


def test_the_mean_area_of_classes_told_apart_without_a_mistake_is_not_certain():
    code = np.arange(60) % 3
    forecast = 0.9 * np.eye(3)[code] + np.random.default_rng(2).dirichlet(np.ones(3), 60) / 10
    evidence = bcm.from_probabilities(code, forecast)
    macro = bcm.interval(evidence, "auc_macro", kind="eti", draws=1000)
    single = bcm.interval(evidence, "auc", kind="eti", draws=1000)
    assert 0.97 < macro[0] < 0.9995
    assert (single[:, 0] < macro[0]).all()  # of a class alone there are twenty examples


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_of_forecasts_that_are_all_right_are_not_certain(classes):
    """Three mistakes in a hundred are seen in none of 40 examples three times in ten."""
    code, outcome = np.arange(40) % classes, np.eye(classes)
    forecast = 0.1 / (classes - 1) + (0.9 - 0.1 / (classes - 1)) * outcome[code]
    evidence = bcm.from_probabilities(code, forecast if classes > 2 else forecast[:, 1])
    right, wrong = (((forecast[0] - outcome[k]) ** 2).sum() for k in (0, 1))
    means = {
        "log_loss": -0.97 * np.log(forecast[0, 0]) - 0.03 * np.log(forecast[0, 1]),
        "brier": (0.97 * right + 0.03 * wrong) / (2 if classes == 2 else 1),
    }
    for measure, mean in means.items():
        assert bcm.interval(evidence, measure, kind="eti", draws=1000)[1] > mean


@pytest.mark.long
@pytest.mark.parametrize("classes", [2, 40])
def test_log_loss_is_refused_where_a_forecast_of_exactly_0_was_wrong(classes):
    forecast, code = softmax_of_normals(classes, 800, 2, seed=3)

    def interval(label, **options):
        changed = forecast.copy()
        changed[5, label] = 0
        changed[5] /= changed[5].sum()
        changed = changed[:, 1] if classes == 2 else changed
        evidence = bcm.from_probabilities(code, changed, **options)
        return bcm.interval(evidence, "log_loss", draws=200)

    right, wrong = (code[5] + 1) % classes, code[5]
    np.testing.assert_allclose(interval(right), interval(right, clip=1e-9), atol=1e-6)
    assert "make it infinite" in interval(right).attrs["caution"]
    with pytest.raises(ValueError, match="log_loss is infinite: some forecasts are exactly 0"):
        interval(wrong)


def test_log_loss_is_refused_where_no_mistake_shows_what_one_costs():
    actual = np.arange(50) % 2
    with pytest.raises(ValueError, match="log_loss is infinite: some forecasts are exactly 0"):
        bcm.interval(bcm.from_probabilities(actual, actual.astype(float)), "log_loss")


@pytest.mark.long
@pytest.mark.parametrize("classifiers", [1, 2])
@pytest.mark.parametrize("right", [True, False])
def test_top_labels_that_are_all_right_or_all_wrong_have_a_summary(classifiers, right):
    rng = np.random.default_rng(21)
    actual = np.arange(60) % 3
    top = actual if right else (actual + 1) % 3
    proba = 0.6 * np.eye(3)[top] + 0.4 * rng.dirichlet([1, 1, 1], 60)
    other = rng.dirichlet([1, 1, 1], 60)
    given = proba if classifiers == 1 else {"sure": proba, "other": other}
    table = bcm.summary(bcm.from_probabilities(actual, given), draws=500)
    assert "ece_top_label" not in set(table["measure"])
    assert f"is {'right' if right else 'wrong'} in all examples" in table.attrs["caution"]
    assert table["mean"].notna().all()
