"""The next test set: enumeration against reference values, draws and closed forms."""

import numpy as np
import pytest
from reference_cases import cases
from scipy import stats

import bayescm as bcm
from bayescm.measures import resolve
from bayescm.posteriors import dirichlet_multinomial, fixed_totals

CELLS = np.array([[30.0, 35.0], [15.0, 65.0]])


@pytest.mark.long
@pytest.mark.parametrize("case", cases("caelen-predictive-MCC"))
def test_mcc_of_the_next_test_set_is_the_reference(case):
    tp, tn, fp, fn = case["inputs"]["v_tp_tn_fp_fn"]
    counts = bcm.from_cells(tp=tp, fn=fn, fp=fp, tn=tn)
    asked = {"of": "predictive", "concentration": case["inputs"]["alpha"][0]}
    expected, tol = case["expected"], case["tol"]
    above = float(bcm.prob_above(counts, "mcc", 0, **asked))
    assert above == pytest.approx(expected["P_gt0"], abs=tol["prob"])
    assert float(bcm.distribution(counts, "mcc", **asked).mean()) == pytest.approx(
        expected["mean"], abs=1e-9
    )
    assert float(bcm.distribution(counts, "mcc", **asked).sd()) == pytest.approx(
        expected["sd"], abs=1e-9
    )
    for kind, key in (("eti", "et95"), ("hdi", "hpd95")):
        ends = bcm.interval(counts, "mcc", kind=kind, **asked).values
        assert ends == pytest.approx(expected[key], abs=tol["interval"])


def test_accuracy_is_beta_binomial():
    distribution = dirichlet_multinomial(CELLS).distribution(
        resolve("accuracy"), of="predictive", n=40
    )
    exact = stats.betabinom(40, 96, 51)
    x = np.arange(41)
    assert distribution.cdf(x / 40) == pytest.approx(exact.cdf(x), abs=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("prevalence", [None, 0.3, (3, 7)])
def test_enumeration_agrees_with_draws(prevalence):
    posterior = dirichlet_multinomial(CELLS)
    if prevalence is not None:
        posterior = fixed_totals(CELLS, prevalence=prevalence)
    rng = np.random.default_rng(1)
    exact = posterior.distribution(resolve("f1"), of="predictive", n=30)
    assert exact.how == "enumeration"
    theta = posterior.variables(100_000, rng)["theta"].reshape(-1, 4)
    values = resolve("f1")(rng.multinomial(30, theta / theta.sum(-1)[:, None]).reshape(-1, 2, 2))
    for x in (0.5, 0.6, 0.7, 0.8):
        assert float(exact.cdf(x)) == pytest.approx(np.nanmean(values <= x), abs=0.006)


def test_undefined_mass_is_reported():
    posterior = dirichlet_multinomial([[7.0, 0.0], [5.0, 0.0]])
    distribution = posterior.distribution(resolve("precision"), of="predictive", n=5)
    theta = posterior.variables(200_000, np.random.default_rng(0))["theta"]
    none_predicted = (theta[:, :, 0].sum(-1) ** 5).mean()
    assert distribution.undefined == pytest.approx(none_predicted, abs=0.003)


def test_large_test_sets_and_many_classes_are_drawn():
    posterior, f1 = dirichlet_multinomial(CELLS), resolve("f1")
    asked = {"of": "predictive", "n": 10**6}
    assert posterior.exact_distribution(f1, **asked) is None
    (large,) = posterior.draw([f1], 4000, np.random.default_rng(2), **asked)
    ends = posterior.distribution(f1).eti(0.9)
    assert np.quantile(large, [0.05, 0.95]) == pytest.approx(ends, abs=0.006)
    three = dirichlet_multinomial(np.eye(3) * 9 + 1)
    assert three.exact_distribution(resolve("mcc"), of="predictive", n=50) is None


@pytest.mark.long
def test_the_next_test_set_of_a_cross_validation_is_of_one_classifier():
    folds = np.array([[[9, 1], [3, 7]], [[8, 2], [4, 6]], [[10, 0], [5, 5]]])
    batch = np.stack([folds, folds[::-1, ::-1, ::-1]])
    counts = bcm.from_matrix(batch, labels=["a", "b"], positive="b", dims=("batch", "fold"))
    asked = {"model": "hierarchical_folds", "draws": 1500}
    for n, factor in ((20, 1.4), (100_000, 0.95)):
        mean = bcm.distribution(counts, "accuracy", of="predictive", n=n, **asked).mean()
        np.testing.assert_allclose(mean, bcm.distribution(counts, "accuracy").mean(), atol=0.015)
        spread = bcm.distribution(counts, "accuracy", of="predictive", n=n, **asked).sd()
        assert (spread > factor * bcm.distribution(counts, "accuracy").sd()).all()
    many = bcm.from_matrix(
        np.tile(np.eye(3) * 5 + 1, (4, 1, 1)), labels=list("abc"), dims=("fold",)
    )
    assert bcm.interval(many, "f1_macro", of="predictive", draws=500).shape == (2,)
    with pytest.raises(ValueError, match="is not available"):
        bcm.interval(counts, "accuracy", of="predictive", model="averaged_folds")
