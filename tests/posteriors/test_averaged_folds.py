import numpy as np
import pytest
from reference_cases import cases, folded_cells

import bayescm as bcm
from bayescm.distributions.beta import F1, Beta
from bayescm.distributions.mixtures import MeanOfFolds, MixtureOfFolds
from bayescm.measures import resolve
from bayescm.measures.labelled import average_draws
from bayescm.posteriors import averaged_folds, dirichlet_multinomial

RNG = np.random.default_rng(3)
CELLS = RNG.integers(4, 12, (2, 6, 2, 2))
# A thesis gave accuracy and Jaccard index beta distributions of their own, with one prior count a
# side.
STAND_ALONE = {"accuracy": [[0.5, 0.5], [0.5, 0.5]], "jaccard": [[0.5, 0.5], [0.5, 1.0]]}


@pytest.mark.parametrize("measure", ["precision", "recall"])
@pytest.mark.parametrize("case", cases("kfold-"))
def test_reference_moment_matched_betas(case, measure):
    cells, concentration = folded_cells(case["inputs"]), case["inputs"]["lambda"]
    for name, rho in [("CI_A_rho_1_over_K", None), ("CI_A_rho_0", 0.0)]:
        expected = {
            key: np.array(value, float) for key, value in case["expected"][measure][name].items()
        }
        distribution = averaged_folds(cells, concentration=concentration, rho=rho).distribution(
            resolve(measure)
        )
        assert distribution.mean() == pytest.approx(expected["E"], abs=1e-12)
        assert distribution.sd() ** 2 == pytest.approx(expected["V"], abs=1e-13)
        np.testing.assert_allclose(
            [distribution.a, distribution.b], [expected["a"], expected["b"]], rtol=1e-10
        )
        np.testing.assert_allclose(
            distribution.eti(0.95), expected["interval"], atol=case["tol"]["abs"], rtol=0
        )


@pytest.mark.parametrize(
    "measure", ["precision", "recall", "specificity", "accuracy", "jaccard", "f1"]
)
@pytest.mark.parametrize("case", cases("avgpost-"))
def test_reference_readings_of_the_average_posterior(case, measure):
    tp, fn, fp, tn = np.array(case["inputs"]["splits_tp_fn_fp_tn"]).T
    cells = np.moveaxis(np.array([[tn, fp], [fn, tp]]), -1, 0)
    weight = case["inputs"]["lambda"] * np.array(STAND_ALONE.get(measure, np.ones((2, 2))))
    expected = case["expected"][measure]
    for average, key in [("independent", "mean_of_draws"), ("mixture", "mixture")]:
        distribution = averaged_folds(cells, concentration=weight, average=average).distribution(
            resolve(measure)
        )
        assert distribution.mean() == pytest.approx(float(expected["mean"]), abs=1e-10)
        wanted = [float(end) for end in expected[key]]
        np.testing.assert_allclose(distribution.eti(0.95), wanted, atol=case["tol"]["abs"], rtol=0)
    sd = averaged_folds(cells, concentration=weight, average="independent")
    assert sd.distribution(resolve(measure)).sd() == pytest.approx(
        float(expected["mean_of_draws_sd"])
    )


@pytest.mark.parametrize("case", cases("kfold-C-lam1.0"))
def test_shrinkage_by_a_prior_in_every_fold_can_miss_the_estimate_itself(case):
    distribution = averaged_folds(folded_cells(case["inputs"]), concentration=1).distribution(
        resolve("precision")
    )
    macro = float(case["expected"]["precision"]["t"]["macro"])
    assert distribution.eti(0.95)[1] < macro


def distributions_of(average, rho=None, name="f1"):
    return averaged_folds(CELLS, average=average, rho=rho).distribution(resolve(name))


@pytest.mark.long
@pytest.mark.parametrize("average", ["correlated", "independent", "mixture"])
@pytest.mark.parametrize("name", ["recall", "f1"])
def test_draws_have_the_moments_and_quantiles_of_the_distribution(average, name):
    posterior = averaged_folds(CELLS, average=average)
    (drawn,) = posterior.draw([resolve(name)], 60_000, np.random.default_rng(1))
    distribution = posterior.distribution(resolve(name))
    assert drawn.shape == (60_000, 2)
    np.testing.assert_allclose(drawn.mean(0), distribution.mean(), atol=0.003)
    np.testing.assert_allclose(drawn.std(0), distribution.sd(), rtol=0.02)
    # Proposition 2 is an approximation.
    near = 0.01 if average == "correlated" and name == "recall" else 0.004
    for q in (0.025, 0.5, 0.975):
        np.testing.assert_allclose(np.quantile(drawn, q, 0), distribution.quantile(q), atol=near)


@pytest.mark.parametrize("average", ["correlated", "independent", "mixture"])
def test_distribution_is_a_distribution(average):
    distribution = distributions_of(average)
    q = np.array([0.01, 0.3, 0.9])[:, None]
    np.testing.assert_allclose(
        distribution.cdf(distribution.quantile(q)), np.broadcast_to(q, (3, 2)), atol=1e-10
    )
    np.testing.assert_allclose(distribution.cdf(0.6) + distribution.sf(0.6), 1)
    step = 1e-5
    slope = (distribution.cdf(0.6 + step) - distribution.cdf(0.6 - step)) / (2 * step)
    np.testing.assert_allclose(distribution.pdf(0.6), slope, rtol=1e-5)
    x = np.linspace(0, 1, 4001)[:, None]
    density = np.trapezoid(distribution.pdf(x) * x, x, axis=0)
    np.testing.assert_allclose(density, distribution.mean(), atol=1e-5)
    third = np.trapezoid(
        distribution.pdf(x) * ((x - distribution.mean()) / distribution.sd()) ** 3, x, axis=0
    )
    np.testing.assert_allclose(third, distribution.skewness(), atol=1e-3)


@pytest.mark.parametrize("average", ["correlated", "independent", "mixture"])
def test_highest_density_is_the_shortest_interval_of_its_mass(average):
    distribution = distributions_of(average)
    ends = distribution.hdi(0.9)
    assert (distribution.hdi_kind(0.9) == "interior").all()
    np.testing.assert_allclose(
        distribution.cdf(ends[:, 1]) - distribution.cdf(ends[:, 0]), 0.9, atol=1e-8
    )
    np.testing.assert_allclose(
        distribution.pdf(ends[:, 0]), distribution.pdf(ends[:, 1]), rtol=1e-4
    )
    assert (np.ptp(ends, axis=-1) <= np.ptp(distribution.eti(0.9), axis=-1)).all()
    mode = distribution.mode()
    assert (distribution.pdf(mode) >= distribution.pdf(mode + 1e-3)).all()
    assert (distribution.pdf(mode) >= distribution.pdf(mode - 1e-3)).all()


@pytest.mark.long
def test_mixture_of_far_folds_has_two_modes_and_an_equal_tailed_interval():
    distribution = MixtureOfFolds(Beta(np.array([300.0, 20]), np.array([20.0, 300])))
    assert distribution.hdi_kind(0.9) == "not unimodal"
    assert np.isnan(distribution.mode())
    np.testing.assert_allclose(distribution.hdi(0.9), distribution.eti(0.9))


def test_mean_of_two_uniforms_is_triangular():
    distribution = MeanOfFolds(Beta(np.ones(2), np.ones(2)))
    np.testing.assert_allclose(distribution.quantile(0.125), 0.25, atol=1e-6)
    np.testing.assert_allclose(distribution.cdf(0.5), 0.5, atol=1e-9)
    np.testing.assert_allclose(distribution.skewness(), 0, atol=1e-12)


def test_one_sided_highest_density():
    distribution = MixtureOfFolds(Beta(np.array([1.0, 1.0]), np.array([9.0, 12.0])))
    assert distribution.hdi_kind(0.9) == "one-sided lower"
    np.testing.assert_allclose(distribution.hdi(0.9), [0, distribution.quantile(0.9)], atol=1e-9)


def test_many_folds_approach_the_normal_distribution():
    distribution = MeanOfFolds(F1(np.full(200, 7.0), np.full(200, 5.0)))
    z = (distribution.eti(0.95) - distribution.mean()) / distribution.sd()
    np.testing.assert_allclose(z, [-1.96, 1.96], atol=0.03)


def test_inflation_is_that_of_lemma_4():
    plain, correlated = distributions_of("independent"), distributions_of("correlated", rho=0.4)
    np.testing.assert_allclose(correlated.sd(), plain.sd() * np.sqrt(1 + 5 * 0.4))
    np.testing.assert_allclose(correlated.mean(), plain.mean())


def test_rho_of_repeats_is_that_of_one_cross_validation():
    few = bcm.from_matrix(CELLS, dims=("batch", "fold")).assign_coords(n_folds=3)
    assert averaged_folds(few).rho == pytest.approx(1 / 3)
    assert averaged_folds(CELLS).rho == pytest.approx(1 / 6)


@pytest.mark.filterwarnings("ignore:averaged_folds applies its prior")
def test_matrix_of_pseudo_counts_goes_to_every_fold():
    weight = np.array([[1, 2], [3, 4]])
    np.testing.assert_allclose(
        averaged_folds(CELLS, concentration=weight).folds.concentration - CELLS,
        np.broadcast_to(weight, CELLS.shape),
    )
    each = np.stack([weight, 2 * weight])
    np.testing.assert_allclose(
        averaged_folds(CELLS, concentration=each).folds.concentration[1, 5] - CELLS[1, 5],
        2 * weight,
    )


def test_classes_of_many_each_have_a_distribution():
    cells = RNG.integers(1, 9, (2, 5, 3, 3))
    posterior = averaged_folds(cells)
    distribution = posterior.distribution(resolve("recall"))
    assert distribution.eti(0.9).shape == (2, 3, 2)
    for group in range(2):
        parts = dirichlet_multinomial(cells[group]).distribution(resolve("recall"))
        np.testing.assert_allclose(distribution.mean()[group], parts.mean().mean(0))
    (drawn,) = posterior.draw([resolve("recall")], 20_000, np.random.default_rng(0))
    np.testing.assert_allclose(drawn.mean(0), distribution.mean(), atol=0.01)


@pytest.mark.parametrize("average", ["correlated", "independent", "mixture"])
def test_f1_of_every_class_too(average):
    cells = RNG.integers(1, 9, (4, 3, 3))
    posterior = averaged_folds(cells, average=average)
    distribution = posterior.distribution(resolve("f1"))
    (drawn,) = posterior.draw([resolve("f1")], 20_000, np.random.default_rng(0))
    assert drawn.shape == (20_000, 3)
    if distribution is not None:
        np.testing.assert_allclose(
            distribution.eti(0.9), np.quantile(drawn, [0.05, 0.95], 0).T, atol=0.01
        )


def test_measures_come_from_the_same_draws():
    kernels = [resolve("recall"), resolve("fnr")]
    recall, fnr = averaged_folds(CELLS).draw(kernels, 100, np.random.default_rng(0))
    np.testing.assert_allclose(recall + fnr, 1)


def test_mixture_takes_the_folds_in_turn():
    values = np.arange(12.0).reshape(6, 2) * [1, 10]
    assert average_draws(values, 1, np.nan).tolist() == [0, 30, 4, 70, 8, 110]


@pytest.mark.parametrize(
    ("cells", "keywords", "message"),
    [
        (CELLS, {"rho": 1.0}, "rho must be a correlation"),
        (CELLS, {"rho": -0.1}, "rho must be a correlation"),
        (CELLS, {"rho": np.nan}, "rho must be a correlation"),
        (CELLS, {"rho": "x"}, "rho must be a correlation"),
        (CELLS, {"average": "median"}, "Unknown average"),
        (CELLS[:, :1], {}, "cross-validation needs two or more folds"),
        (CELLS[0, 0], {}, "Confusion matrices must have the shape"),
    ],
)
def test_bad_input(cells, keywords, message):
    with pytest.raises(ValueError, match=message):
        averaged_folds(cells, **keywords)


def test_priors_that_outweigh_tiny_folds_are_warned_of():
    one_out = np.zeros((40, 2, 2))
    one_out[np.arange(40), np.arange(40) % 2, np.arange(40) % 2] = 1
    with pytest.warns(UserWarning, match="worth 80 examples, compared with 40"):
        averaged_folds(one_out)
    averaged_folds(one_out, concentration=0.01)  # without a word
