import numpy as np
import pytest
from reference_cases import cases, folded_cells

import bayescm as bcm
from bayescm.measures import resolve
from bayescm.posteriors import dirichlet_multinomial, pooled_folds

RNG = np.random.default_rng(2)
CELLS = RNG.integers(0, 12, (3, 10, 2, 2))
NAMED = ["accuracy", "precision", "recall", "jaccard", "f1"]


@pytest.mark.parametrize("measure", ["precision", "recall"])
@pytest.mark.parametrize("case", cases("kfold-"))
def test_reference_intervals_of_discounted_folds(case, measure):
    concentration = case["inputs"]["lambda"]
    for name in ("CI_M_omega0", "CI_M_one_over_K", "CI_M_one"):
        expected = case["expected"][measure][name]
        omega = None if name == "CI_M_omega0" else float(expected["omega"])
        posterior = pooled_folds(
            folded_cells(case["inputs"]), concentration=concentration, omega=omega
        )
        distribution = posterior.distribution(resolve(measure))
        assert posterior.omega == pytest.approx(float(expected["omega"]))
        assert [distribution.a, distribution.b] == pytest.approx(
            [float(expected[key]) for key in ("alpha", "beta")]
        )
        wanted = [float(end) for end in expected["interval"]]
        np.testing.assert_allclose(distribution.eti(0.95), wanted, atol=case["tol"]["abs"], rtol=0)


@pytest.mark.parametrize("case", cases("cvf1-"))
def test_reference_interval_of_f1_on_blocked_folds(case):
    tp, fn, fp, tn = np.array(case["inputs"]["cms_3x2_tp_fn_fp_tn"]).T
    cells = np.moveaxis(np.array([[tn, fp], [fn, tp]]), -1, 0)
    concentration, expected = case["inputs"]["lambda"], case["expected"]["bp_3x2"]
    posterior = pooled_folds(cells, concentration=concentration, omega=1 / 6)
    ends = posterior.distribution(resolve("f1")).eti(0.95)
    wanted = [float(end) for end in expected["interval"]]
    np.testing.assert_allclose(ends, wanted, atol=case["tol"]["abs"], rtol=0)
    # Neither the sum of the six matrices nor the average with another discount gives this.
    trap = [float(end) for end in case["expected"]["TRAP_bp_3x2_using_sum"]]
    whole = pooled_folds(cells, concentration=concentration, omega=1.0)
    np.testing.assert_allclose(whole.distribution(resolve("f1")).eti(0.95), trap, atol=1e-9, rtol=0)
    average = dirichlet_multinomial(cells.mean(0), concentration=concentration)
    np.testing.assert_allclose(
        average.distribution(resolve("f1")).eti(0.95), wanted, atol=1e-9, rtol=0
    )


@pytest.mark.parametrize("name", NAMED)
def test_omega_1_is_plain_pooling_and_1_over_m_the_average_matrix(name):
    kernel = resolve(name)
    for omega, matrix in [(1.0, CELLS.sum(1)), (0.1, CELLS.mean(1))]:
        pooled = pooled_folds(CELLS, omega=omega).distribution(kernel)
        np.testing.assert_allclose(
            pooled.eti(0.9), dirichlet_multinomial(matrix).distribution(kernel).eti(0.9), rtol=1e-12
        )


@pytest.mark.parametrize(
    ("n_folds", "omega"), [(None, 11 / 20), (10, 11 / 20), (5, 6 / 20), (2, 3 / 20), (50, 1)]
)
def test_default_discount_of_one_and_of_repeated_cross_validation(n_folds, omega):
    counts = bcm.from_matrix(CELLS, dims=("batch", "fold"))
    counts = counts if n_folds is None else counts.assign_coords(n_folds=n_folds)
    assert pooled_folds(counts).omega == pytest.approx(omega)


def test_longer_intervals_for_smaller_omega():
    distributions = [
        pooled_folds(CELLS[0], omega=omega).distribution(resolve("f1")) for omega in (0.1, 0.5, 1)
    ]
    lengths = np.ptp([distribution.eti(0.95) for distribution in distributions], axis=-1)
    assert (np.diff(lengths) < 0).all()


def test_order_of_folds_does_not_matter():
    there = pooled_folds(CELLS).concentration
    np.testing.assert_allclose(pooled_folds(CELLS[:, ::-1]).concentration, there)


def test_averaged_counts_are_accepted():
    half = pooled_folds(CELLS / 2, omega=1.0)
    np.testing.assert_allclose(half.concentration, pooled_folds(CELLS, omega=0.5).concentration)


@pytest.mark.parametrize(
    ("cells", "keywords", "message"),
    [
        (CELLS, {"omega": 0.0999}, r"1/10 = 0.1"),
        (CELLS, {"omega": 1.01}, "omega must be from"),
        (CELLS, {"omega": np.nan}, "omega must be from"),
        (CELLS, {"omega": "x"}, "omega must be from"),
        (CELLS, {"omega": [0.5, 0.6]}, "omega must be from"),
        (CELLS[:, :1], {}, "cross-validation needs two or more folds"),
        (CELLS[0, 0], {}, "Confusion matrices must have the shape"),
    ],
)
def test_bad_input(cells, keywords, message):
    with pytest.raises(ValueError, match=message):
        pooled_folds(cells, **keywords)
