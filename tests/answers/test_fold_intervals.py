"""The models of folds through `interval`, `mean` and kin."""

import numpy as np
import pytest
import xarray as xr
from reference_cases import cases

import bayescm as bcm
from bayescm.measures import resolve
from bayescm.posteriors import averaged_folds, pooled_folds

RNG = np.random.default_rng(9)
CELLS = RNG.integers(1, 9, (2, 3, 4, 2, 2))
COUNTS = bcm.from_matrix(CELLS, dims=("classifier", "repeat", "fold"))
MODELS = {"pooled_folds": pooled_folds, "averaged_folds": averaged_folds}


def counts_of(inputs):
    cells = {name.lower(): inputs[name] for name in ("TP", "FN", "FP", "TN")}
    return bcm.from_cells(**cells).rename(batch="fold")


@pytest.mark.parametrize("measure", ["precision", "recall"])
@pytest.mark.parametrize("case", cases("kfold-"))
def test_reference_intervals(case, measure):
    counts, expected = counts_of(case["inputs"]), case["expected"][measure]
    settings = {"kind": "eti", "concentration": case["inputs"]["lambda"]}
    for key, model in [("CI_M_omega0", "pooled_folds"), ("CI_A_rho_1_over_K", "averaged_folds")]:
        ends = bcm.interval(counts, measure, model=model, **settings)
        wanted = [float(end) for end in expected[key]["interval"]]
        np.testing.assert_allclose(ends, wanted, atol=case["tol"]["abs"], rtol=0)


@pytest.mark.long
@pytest.mark.parametrize("name", ["precision", "f1", "mcc", "balanced_accuracy"])
@pytest.mark.parametrize("model", MODELS)
def test_folds_and_repeats_are_used_up_and_the_rest_stays(model, name):
    ends = bcm.interval(COUNTS, name, model=model)
    assert ends.dims == ("classifier", "bound")
    alone = bcm.interval(COUNTS.isel(classifier=1), name, model=model)
    # By draws where the folds have no closed form.
    drawn = model == "averaged_folds" and name in ("mcc", "balanced_accuracy")
    np.testing.assert_allclose(ends[1], alone, atol=0.02 if drawn else 1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_order_of_dims_does_not_matter(model):
    turned = COUNTS.transpose("fold", "predicted", "classifier", "actual", "repeat")
    xr.testing.assert_allclose(
        bcm.interval(turned, "recall", model=model), bcm.interval(COUNTS, "recall", model=model)
    )


@pytest.mark.parametrize("model", MODELS)
def test_design_of_the_counts_sets_the_default(model):
    few = COUNTS.isel(repeat=0).assign_coords(n_folds=2)
    kernel, folds = resolve("recall"), CELLS[:, 0]
    expected = MODELS[model](few).distribution(kernel).eti(0.95)
    np.testing.assert_allclose(bcm.interval(few, "recall", model=model, kind="eti"), expected)
    assert not np.allclose(expected, MODELS[model](folds).distribution(kernel).eti(0.95))


def test_prior_goes_by_label():
    names = ["sick", "well"]
    counts = bcm.from_matrix(CELLS[0, 0], labels=names, positive="sick", dims=("fold",))
    weights = xr.DataArray([[1.0, 2], [3, 4]], [("actual", names), ("predicted", names)])
    settings = {"model": "pooled_folds", "kind": "eti"}
    there = bcm.interval(counts, "f1", concentration=weights, **settings)
    here = bcm.interval(counts, "f1", concentration=weights[::-1, ::-1], **settings)
    xr.testing.assert_identical(there, here)


def test_averaged_matrices_are_accepted_and_pooled_whole():
    halves = bcm.from_matrix(CELLS[0, 0] / 2, dims=("fold",), fractional=True)
    settings = {"model": "pooled_folds", "kind": "eti"}
    whole = bcm.from_matrix(CELLS[0, 0], dims=("fold",))
    xr.testing.assert_allclose(
        bcm.interval(halves, "mcc", omega=1.0, **settings),
        bcm.interval(whole, "mcc", omega=0.5, **settings),
    )
    with pytest.raises(ValueError, match="not a whole number"):
        bcm.from_matrix(CELLS[0, 0] / 2, dims=("fold",))


def test_moments_of_f1_have_a_closed_form():
    settings = {"model": "pooled_folds", "concentration": 1.0}
    folds = COUNTS.isel(classifier=0, repeat=0)
    known, drawn = (
        bcm.distribution(folds, "f1", **settings, **more).skewness()
        for more in ({}, {"draws": 10**5})
    )
    assert float(known) == pytest.approx(float(drawn), abs=0.05)
    mode, mean = (
        bcm.distribution(folds, "f1", **settings).mode(),
        bcm.distribution(folds, "f1", **settings).mean(),
    )
    pearson = bcm.distribution(folds, "f1", **settings).skewness(method="pearson")
    assert pearson == pytest.approx((mean - mode) / bcm.distribution(folds, "f1", **settings).sd())


@pytest.mark.long
@pytest.mark.parametrize("average", ["independent", "mixture"])
def test_readings_of_the_average(average):
    folds = COUNTS.isel(repeat=0)
    settings = {"model": "averaged_folds", "average": average}
    ends = bcm.interval(folds, "mcc", kind="eti", prob=0.9, **settings)
    low, high = ends.sel(bound="lower"), ends.sel(bound="upper")
    np.testing.assert_allclose(bcm.distribution(folds, "mcc", **settings).cdf(low), 0.05, atol=1e-3)
    np.testing.assert_allclose(bcm.prob_above(folds, "mcc", high, **settings), 0.05, atol=1e-3)


@pytest.mark.long
def test_a_class_that_is_never_predicted_and_a_fold_without_positives():
    counts = bcm.from_cells(tp=[0, 0, 0], fn=[3, 0, 2], fp=0, tn=[5, 8, 6]).rename(batch="fold")
    for model in MODELS:
        for name in ("precision", "recall", "f1"):
            low, high = bcm.interval(counts, name, model=model).values
            assert 0 <= low < high <= 1


@pytest.mark.parametrize(
    ("counts", "keywords", "error", "message"),
    [
        (COUNTS, {"omega": 0.01}, ValueError, "the average matrix"),
        (COUNTS, {"omega": 2}, ValueError, "the average matrix"),
        (COUNTS, {"rho": 0.1}, TypeError, "rho"),
        (COUNTS, {"model": "averaged_folds", "rho": 1.0}, ValueError, "rho must be a correlation"),
        (COUNTS, {"model": "averaged_folds", "omega": 0.5}, TypeError, "omega"),
        (COUNTS[..., 0, 0, :, :], {}, ValueError, "Use cross_confusion, or name the axis"),
        (
            COUNTS.isel(repeat=[0], fold=[1]),
            {},
            ValueError,
            "A cross-validation needs two or more folds",
        ),
    ],
)
def test_bad_input(counts, keywords, error, message):
    with pytest.raises(error, match=message):
        bcm.interval(counts, "f1", **{"model": "pooled_folds", **keywords})


@pytest.mark.long
@pytest.mark.parametrize(("train", "said"), [(0.75, True), (0.3, False)])
def test_random_splits_of_all_data_say_that_intervals_may_be_too_short(train, said):
    counts = COUNTS.isel(classifier=0, drop=True)
    assert "Random splits" not in bcm.interval(counts, "recall").attrs.get("caution", "")
    splits = bcm.from_matrix(CELLS[0].reshape(12, 2, 2), dims=("fold",))
    splits = splits.assign_coords(n_folds=4, test_share=0.25, train_size=train)
    found = bcm.interval(splits, "recall").attrs.get("caution", "")
    assert ("Random splits" in found) == said
    table = bcm.summary(splits, ["recall", "f1"])
    assert table.attrs.get("caution", "") == found
    assert ("<p>Caution: Random" in table._repr_html_()) == said


def test_folds_of_different_classes_have_the_classes_of_all():
    first = bcm.from_matrix([[3, 1], [2, 4]], labels=["a", "b"])
    second = bcm.from_matrix([[3, 1], [2, 4]], labels=["a", "c"])
    counts = bcm.combine([first, second], dim="fold")
    ends = bcm.interval(counts, "recall", model="pooled_folds")
    assert ends["class"].values.tolist() == ["a", "b", "c"]
    assert (np.diff(ends) > 0).all()


@pytest.mark.long
def test_the_classifiers_at_hand_are_an_estimand_of_their_own():
    folds = np.array([[[17, 3], [4, 16]], [[14, 6], [6, 14]], [[18, 2], [7, 13]]])
    counts = bcm.from_matrix(folds, labels=["no", "yes"], positive="yes", dims=("fold",))
    new = bcm.interval(counts, "recall", kind="eti")
    fitted = bcm.interval(counts, "recall", kind="eti", of="fitted")
    assert 0.5 < np.ptp(fitted.values) / np.ptp(new.values) < 0.95
    tree = bcm.fit(counts, draws=400, chains=1, random_seed=3)
    drawn = bcm.measure(tree, "recall", of="fitted")["recall"]
    assert set(drawn.dims) == {"chain", "draw"}
    ends = np.quantile(drawn, [0.025, 0.975])
    np.testing.assert_allclose(ends, fitted.values, atol=0.05)
    np.testing.assert_allclose(
        bcm.interval(tree, "recall", kind="eti", of="fitted"), ends, atol=1e-3
    )


@pytest.mark.long
def test_other_models_know_no_classifiers_at_hand():
    counts = bcm.from_cells(tp=[3, 4], fn=[2, 1], fp=[1, 1], tn=[4, 4]).rename(batch="fold")
    for model in ("pooled_folds", "averaged_folds"):
        with pytest.raises(ValueError, match=r"'fitted'.*'parameter' or '(predictive|fold)'"):
            bcm.interval(counts, "recall", model=model, of="fitted")
    with pytest.raises(ValueError, match=r"'fitted'.*'parameter' or '(predictive|fold)'"):
        bcm.measure(bcm.fit(counts, "pooled_folds", draws=20), "recall", of="fitted")
