"""Distributions by quadrature against reference values, draws, closed forms and each other."""

import numpy as np
import pytest
from reference_cases import cases
from scipy import special

import bayescm as bcm
from bayescm import measures
from bayescm.distributions import quadrature
from bayescm.distributions.closed_forms import distribution_at_prevalence
from bayescm.distributions.differences import Independent
from bayescm.distributions.incomplete import log_odds, near_log_odds
from bayescm.distributions.quadrature import FunctionOfShares, LogNumber, lattice
from bayescm.measures.measure import FunctionOfCells
from bayescm.posteriors import dirichlet_multinomial, fixed_totals

CELLS = [[30.0, 35.0], [15.0, 65.0]]
NAMES = [*measures.names(), "fbeta(0.5)", "tversky(0.3,0.9)", "cost([[0,1],[5,0]])"]
NAMES = [name for name in NAMES if measures.resolve(name).form]  # the others are drawn
BY_QUADRATURE = [
    name
    for name in NAMES
    if isinstance(
        dirichlet_multinomial(CELLS).distribution(measures.resolve(name)), FunctionOfShares
    )
]


def _distribution(name, cells=CELLS, concentration=0.5):
    return dirichlet_multinomial(cells, concentration=concentration).distribution(
        measures.resolve(name)
    )


@pytest.mark.long
@pytest.mark.parametrize("case", cases("fbeta")[::5])
def test_fbeta_reference(case):
    tp, fn, fp, tn = case["inputs"]["tp_fn_fp_tn"]
    want, tol = case["expected"], case["tol"]
    distribution = _distribution(
        f"fbeta({case['inputs']['beta']})", [[tn, fp], [fn, tp]], case["inputs"]["lambda"]
    ).with_tolerance(1e-9)
    assert distribution.eti(0.95) == pytest.approx([want["et_lo"], want["et_hi"]], abs=tol["abs"])
    assert distribution.quantile(0.5) == pytest.approx(want["median"], abs=tol["abs"])
    assert distribution.mean() == pytest.approx(want["mean"], abs=tol["abs"])
    assert distribution.sd() ** 2 == pytest.approx(want["var"], abs=tol["abs"])
    assert distribution.skewness() == pytest.approx(want["skewness"], abs=1e-6)
    for x, below in want["cdf"].items():
        assert distribution.cdf(float(x)) == pytest.approx(below, abs=tol["abs"])
        assert distribution.pdf(float(x)) == pytest.approx(want["pdf"][x], abs=1e-7)
    if "hdi_lo" in want:
        ends = [want["hdi_lo"], want["hdi_hi"]]
        assert distribution.hdi(0.95) == pytest.approx(ends, abs=tol["hdi_abs"])


@pytest.mark.parametrize("case", cases("caelen-posterior-MCC"))
def test_mcc_reference(case):
    tp, tn, fp, fn = case["inputs"]["v_tp_tn_fp_fn"]
    want, tol = case["expected"], case["tol"]
    distribution = _distribution("mcc", [[tn, fp], [fn, tp]], case["inputs"]["alpha"][0])
    distribution = distribution.with_tolerance(1e-6)
    assert distribution.sf(0) == pytest.approx(want["P_gt0"], abs=tol["abs"])
    assert distribution.eti(0.95) == pytest.approx(want["et95"], abs=tol["abs"])
    assert distribution.hdi(0.95) == pytest.approx(want["hdi95"], abs=tol["hdi"])
    assert distribution.mean() == pytest.approx(want["mean"], abs=tol["abs"])
    assert distribution.sd() == pytest.approx(want["sd"], abs=tol["abs"])
    assert distribution.quantile(0.5) == pytest.approx(want["median"], abs=tol["abs"])


def drawn(posterior, names):
    """Return draws by name, all from the same draws of the cells."""
    kernels = [measures.resolve(name) for name in names]
    return dict(zip(names, posterior.draw(kernels, 100_000, np.random.default_rng(0)), strict=True))


@pytest.fixture(scope="module", params=[[[30, 0], [0, 65]], [[3, 0], [1, 4]]], ids=str)
def table(request):
    posterior = dirichlet_multinomial(request.param, concentration=0.5)
    return posterior, drawn(posterior, BY_QUADRATURE)


@pytest.mark.long
@pytest.mark.parametrize("name", BY_QUADRATURE)
def test_agrees_with_draws(name, table):
    posterior, draws = table
    distribution = posterior.distribution(measures.resolve(name))
    levels = np.array([0.025, 0.5, 0.975])
    shares = [(draws[name] <= x).mean() for x in distribution.quantile(levels)]
    assert shares == pytest.approx(levels, abs=0.008)
    assert (
        distribution.error_at(distribution.eti(0.95))
        <= 1e-5 * np.maximum(1, distribution.eti(0.95))
    ).all()


UNCERTAIN = [name for name in NAMES if name != "prevalence"]


@pytest.fixture(scope="module", params=[None, 0.07])
def chosen_totals(request):
    posterior = fixed_totals(CELLS, concentration=0.5, prevalence=request.param)
    return posterior, drawn(posterior, UNCERTAIN)


@pytest.mark.parametrize("name", UNCERTAIN)
def test_fixed_totals_agree_with_draws(name, chosen_totals):
    posterior, draws = chosen_totals
    levels = np.array([0.025, 0.5, 0.975])
    found = posterior.distribution(measures.resolve(name)).quantile(levels)
    shares = [(draws[name] <= x).mean() for x in found]
    assert shares == pytest.approx(levels, abs=0.008)


@pytest.mark.parametrize("name", ["precision", "f1", "accuracy"])
def test_two_ways_to_the_same_distribution(name):
    """With the Dirichlet's own prevalence the general integral is the closed form."""
    kernel, posterior = measures.resolve(name), dirichlet_multinomial(CELLS, concentration=0.5)
    prevalence = posterior.distribution(measures.prevalence)
    general = distribution_at_prevalence(kernel, posterior.concentration, prevalence)
    general = general.with_tolerance(1e-6)
    assert general.eti(0.95) == pytest.approx(posterior.distribution(kernel).eti(0.95), abs=1e-8)


@pytest.mark.long
@pytest.mark.parametrize("name", ["mcc", "lift", "balanced_accuracy", "overlap"])
def test_batch_is_loop(name):
    rng = np.random.default_rng(2)
    cells = rng.multinomial(60, [0.4, 0.1, 0.1, 0.4], size=6).reshape(2, 3, 2, 2)
    batch = _distribution(name, cells)
    for index in [(0, 0), (1, 2)]:
        alone = _distribution(name, cells[index])
        np.testing.assert_allclose(batch.eti(0.9)[index], alone.eti(0.9), rtol=1e-8)
        np.testing.assert_allclose(batch.hdi(0.9)[index], alone.hdi(0.9), rtol=1e-6)
        np.testing.assert_allclose(batch.cdf(0.7)[index], alone.cdf(0.7), atol=1e-9)


@pytest.mark.parametrize("name", ["mcc", "cohen_kappa", "balanced_accuracy"])
def test_swapping_the_classes_commutes(name):
    swapped = np.asarray(CELLS)[::-1, ::-1]
    assert _distribution(name).eti(0.95) == pytest.approx(
        _distribution(name, swapped).eti(0.95), abs=1e-9
    )


def test_a_batch_of_which_the_prevalence_leads_some():
    """Its first table alone is integrated along the prevalence as well; once an IndexError."""
    cells = np.array([[[640, 6455], [28_139_951, 4817]], [[30, 35], [15, 65]], [[3, 0], [1, 4]]])
    batch = _distribution("cohen_kappa", cells).with_tolerance(1e-3)
    ends, error = batch.interval_with_error(0.95, "hdi")
    for table, (low, high), tolerance in zip(cells, ends, error, strict=True):
        alone = _distribution("cohen_kappa", table).hdi(0.95)
        np.testing.assert_allclose([low, high], alone, atol=2 * tolerance.max())
        assert tolerance.max() <= 1e-3 * (high - low)


@pytest.mark.parametrize("name", BY_QUADRATURE[::2])
def test_highest_density_interval(name):
    distribution = _distribution(name)
    low, high = distribution.hdi(0.9)
    assert distribution.cdf(high) - distribution.cdf(low) == pytest.approx(0.9, abs=1e-6)
    if distribution.hdi_kind(0.9) == "interior":
        assert distribution.pdf(low) == pytest.approx(distribution.pdf(high), rel=1e-4)
        if name != "lift":  # whose mode takes seconds
            assert distribution.pdf(distribution.mode()) >= distribution.pdf(low)
    assert high - low <= np.diff(distribution.eti(0.9))[0] * (1 + 1e-9)


@pytest.mark.parametrize("name", ["mcc", "fbeta(2)", "informedness", "diagnostic_odds_ratio"])
def test_large_counts_become_normal(name):
    cells = np.array([[4e9, 1e9], [2e9, 9e9]])
    distribution, kernel = _distribution(name, cells), measures.resolve(name)
    assert distribution.mean() == pytest.approx(float(kernel(cells)), rel=1e-7)
    low, high = distribution.eti(0.95)
    assert (high - low) / 2 == pytest.approx(1.959964 * distribution.sd(), rel=1e-3)


def test_infinite_moments_are_infinite():
    distribution = _distribution("positive_likelihood_ratio", [[30, 0], [3, 9]])
    assert np.isinf(distribution.mean())
    assert np.isinf(distribution.sd())


def test_log_odds_of_many_shares():
    rng = np.random.default_rng(7)
    a, b = 3 * np.exp(rng.exponential(3, (2, 500)))
    scores = lattice(2, False, 2, True).grid
    scores = scores[np.abs(scores) <= 6]
    exact = log_odds(a[:, None], b[:, None], scores)
    off = np.abs(near_log_odds(a, b, scores, (15, 11)) - exact) / np.sqrt(1 / a + 1 / b)[:, None]
    assert off.max() < 5e-6
    assert off[:, np.abs(scores) < 4].max() < 5e-8


def kappa_below(x, cells, prior, size=600):
    """
    Return the probability that Cohen's kappa is at most x, on a grid of quantiles of q and s.

    q is the share of fn among the errors, s that of tp among the agreements. With these, kappa is
    at most x up to a share r of the agreements that solves a quadratic equation. With 600
    quantiles the probability is right to 5e-5, and to half of that with twice as many.
    """
    tn, fp, fn, tp = np.ravel(cells) + prior
    u = (np.arange(size) + 0.5) / size
    a = (1 - 2 * special.betaincinv(fn, fp, u)[:, None]) ** 2
    s = special.betaincinv(tp, tn, u)
    b = 4 * s * (1 - s)
    odds = (1 + x) / (1 - x)
    square, linear, constant = a + b - 1, 1 + odds - 2 * a, a - odds
    root = np.sqrt(np.maximum(linear**2 - 4 * square * constant, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.where(constant < 0, -2 * constant / (linear + root), 0.0)
    return special.betainc(tp + tn, fn + fp, np.clip(r, 0, 1)).mean()


@pytest.mark.long
@pytest.mark.parametrize("cells", [(0, 40, 60, 1), (1, 2, 3, 0)])
def test_kappa_next_to_the_least_that_the_prevalence_allows(cells):
    """Once an error of up to 1e-2 of the length was stated."""
    distribution = _distribution("cohen_kappa", np.reshape(cells, (2, 2))).with_tolerance(1e-6)
    ends, error = distribution.interval_with_error(0.95, "eti")
    assert [kappa_below(x, cells, 0.5) for x in ends] == pytest.approx([0.025, 0.975], abs=1e-4)
    assert error.max() <= 1e-5 * np.ptp(ends)
    ends, error = distribution.interval_with_error(0.95, "hdi")
    assert error.max() <= 1e-5 * np.ptp(ends)
    assert kappa_below(ends[1], cells, 0.5) - kappa_below(ends[0], cells, 0.5) == pytest.approx(
        0.95, abs=1e-4
    )


def test_odds_ratio_with_an_empty_cell_and_a_weak_prior():
    """Four million draws have 1.7 to 2.08 million as their shortest interval of 95 %."""
    counts = [[13.0, 0.0], [8.0, 39.0]]
    distribution = _distribution("diagnostic_odds_ratio", counts, 0.3).with_tolerance(1e-3)
    low, high = distribution.hdi(0.95)
    assert 0 < low < 3
    assert high == pytest.approx(2.08e6, rel=0.03)
    assert distribution.cdf(high) - distribution.cdf(low) == pytest.approx(0.95, abs=1e-5)


# One statement of a measure, and its distribution


FUNCTIONS = [name for name in NAMES if isinstance(measures.resolve(name).form, FunctionOfCells)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_odds_are_the_measure(name):
    kernel = measures.resolve(name)
    tn, fp, fn, tp = cells = np.random.default_rng(1).gamma(1, 20, (4, 50))
    above, below = kernel.form.odds(tp, fn, fp, tn)
    low, high = kernel.range
    odds = above / below
    number = odds if np.isinf(high) else low + (high - low) * odds / (1 + odds)
    np.testing.assert_allclose(number, kernel(cells.T.reshape(-1, 2, 2)), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_odds_of_numbers_that_floats_cannot_hold(name):
    odds = measures.resolve(name).form.odds
    logs = np.random.default_rng(2).normal(0, 30, (4, 50))
    plain = np.log(np.divide(*odds(*np.exp(logs))))
    above, below = odds(*map(LogNumber, logs - 3000.0))
    np.testing.assert_allclose(np.log(above / below), plain, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("d", "outer"), [(1, False), (2, False), (3, False), (2, True)])
def test_a_lattice_has_the_moments_of_a_normal_distribution(d, outer):
    lines = lattice(d, outer, 2, False)
    along = lines.first[:, None] + lines.step * np.arange(lines.grid_index.shape[2])
    weights = lines.weights[:, None] * np.exp(-(along**2) / 2) * lines.step / np.sqrt(2 * np.pi)
    for index in lines.grid_index:
        scores = lines.grid[index]
        for power, moment in [(1, 0), (2, 1), (3, 0), (4, 3)]:
            assert (scores**power * weights).sum() == pytest.approx(moment, abs=1e-8)
    if outer:
        assert (lines.outer**2 * lines.weights).sum() == pytest.approx(1, abs=1e-8)


def small_tables(size, seed):
    rng = np.random.default_rng(seed)
    return [rng.multinomial(rng.integers(5, 41), rng.dirichlet([1] * 4)) for _ in range(size)]


def errors_beyond_what_is_stated(name, kind, tables):
    """Return by how many times the error is beyond the stated one, of intervals to 1e-4."""
    ratios = []
    for cells in tables:
        distribution = _distribution(name, cells.reshape(2, 2))
        exact = distribution.with_tolerance(1e-9).interval_with_error(0.95, kind)[0]
        ends, error = distribution.with_tolerance(9e-5).interval_with_error(0.95, kind)
        ratios.append((np.abs(ends - exact) / (error + 1e-9 * np.ptp(ends))).max())
    return np.array(ratios)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "kind"),
    [("informedness", "eti"), ("lift", "hdi"), ("fowlkes_mallows", "hdi"), ("overlap", "eti")],
)
def test_errors_are_those_that_are_stated(name, kind):
    """Never five times as large, and twice as large in two of a hundred at most."""
    beyond = errors_beyond_what_is_stated(name, kind, small_tables(2, 3))
    assert (beyond < 5).all()
    assert (beyond > 2).sum() <= 1


def test_errors_of_lines_that_are_wrong_are_not_those_that_are_stated(monkeypatch):
    """Lines that all begin a hundredth too late, which no lattice sees and a check must see."""
    tables = small_tables(8, 3)
    exact = [
        _distribution("lift", cells.reshape(2, 2)).interval_with_error(0.95, "eti")[0]
        for cells in tables
    ]

    def shifted(*args):
        lines = lattice(*args)
        return lines._replace(first=lines.first + 0.01)

    monkeypatch.setattr(quadrature, "lattice", shifted)
    beyond = [
        np.abs(ends - other).max() / error.max()
        for cells, other in zip(tables, exact, strict=True)
        for ends, error in [
            _distribution("lift", cells.reshape(2, 2)).interval_with_error(0.95, "eti")
        ]
    ]
    assert max(beyond) > 5


@pytest.mark.parametrize(
    ("name", "cells", "prob"),
    [
        pytest.param("mcc", [6, 0, 12, 0], 0.95, marks=pytest.mark.long),
        ("lift", [5, 2, 1, 2], 0.5),
        ("positive_likelihood_ratio", [9, 3, 0, 1], 0.95),
        ("overlap", [6, 0, 12, 0], 0.95),
        ("f1", [5, 2, 1, 2], 0.5),
    ],
)
def test_no_interval_of_the_mass_is_shorter(name, cells, prob):
    distribution = _distribution(name, np.reshape(cells, (2, 2))).with_tolerance(1e-6)
    low, high = distribution.hdi(prob)
    assert distribution.cdf(high) - distribution.cdf(low) == pytest.approx(prob, abs=1e-6)
    below = (1 - prob) * np.r_[0, special.expit(np.linspace(-9, 9, 10)), 1]
    lengths = distribution.quantile(below + prob) - distribution.quantile(below)
    assert high - low <= lengths.min() * (1 + 1e-6)


@pytest.mark.parametrize("name", ["mcc", "lift", "diagnostic_odds_ratio"])
def test_intervals_of_one_mode_are_nested(name):
    distribution = _distribution(name, [[14, 3], [2, 9]])
    ends = np.array([distribution.hdi(prob) for prob in (0.2, 0.5, 0.8, 0.95, 0.999)])
    assert (distribution.hdi_kind(0.5), distribution.hdi_kind(0.999)) == ("interior", "interior")
    assert (np.diff(ends[:, 0]) < 0).all()
    assert (np.diff(ends[:, 1]) > 0).all()


def test_the_shortest_of_several_candidates_says_that_there_are_several():
    ratio = _distribution("positive_likelihood_ratio", [[1, 0], [3, 9]])
    assert ratio.hdi(0.95)[1] < ratio.eti(0.95)[1]
    both = bcm.from_matrix([[6, 0], [12, 0]], positive=1)
    attrs = bcm.interval(both, "overlap", concentration=0.5).attrs
    assert attrs["how"] == "quadrature, more than one mode"
    np.testing.assert_allclose(bcm.interval(both, "overlap", concentration=0.5)[1], 1)
    # A U-shaped beta density: one of both ends, and not what lies between equal tails.
    recall = bcm.interval(
        bcm.from_matrix([[6, 1], [0, 0]], positive=1), "recall", concentration=0.3
    )
    assert recall.attrs["how"] == "closed form, more than one mode"
    assert recall.values[0] == 0 or recall.values[1] == 1


@pytest.mark.parametrize("name", ["precision", "lift", "cohen_kappa"])
def test_shortest_intervals_at_an_uncertain_prevalence(name):
    """Once 16 % longer than the shortest of the same mass, and an error of 1e-7 was stated."""
    posterior = fixed_totals([[2139, 14], [140, 877]], concentration=0.5, prevalence=(5, 20))
    distribution = posterior.distribution(measures.resolve(name))
    low, high = distribution.hdi(0.95)
    values = np.sort(posterior.draw([measures.resolve(name)], 200_000, np.random.default_rng(0))[0])
    assert ((values > low) & (values < high)).mean() == pytest.approx(0.95, abs=0.003)
    shortest = (values[190_000:] - values[:10_000]).min()
    assert high - low == pytest.approx(shortest, rel=0.03)
    assert high - low < shortest * 1.01


@pytest.mark.long
@pytest.mark.parametrize("name", ["informedness", "lift"])
def test_differences_of_small_tables(name):
    """Once off by 2 % of the length. Draws are those of numpy's gamma variates."""
    one, two = (
        dirichlet_multinomial(cells, concentration=0.5)
        for cells in ([[3, 1], [0, 6]], [[5, 2], [1, 2]])
    )
    kernel = measures.resolve(name)
    apart = Independent(one.distribution(kernel), two.distribution(kernel))
    rng = np.random.default_rng(0)
    values = np.subtract(*(each.draw([kernel], 200_000, rng)[0] for each in (one, two)))
    levels = np.array([0.025, 0.5, 0.975])
    below = (values[:, None] <= apart.quantile(levels)).mean(0)
    np.testing.assert_allclose(below, levels, atol=5 * 0.5 / 200_000**0.5)
    assert apart.cdf(apart.quantile(levels)) == pytest.approx(levels, abs=1e-7)
    assert apart.cdf(apart.hdi(0.9)[1]) - apart.cdf(apart.hdi(0.9)[0]) == pytest.approx(
        0.9, abs=1e-5
    )
    if name == "informedness":
        assert apart.eti(0.95) == pytest.approx([-0.3425, 0.9770], abs=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("name", ["mcc", "overlap", "balanced_accuracy"])
def test_very_many_are_each_by_itself(name):
    cells = (
        np.random.default_rng(5).multinomial(145, [0.2, 0.1, 0.2, 0.5], 10_050).reshape(-1, 2, 2)
    )
    cells[::1000] = np.random.default_rng(6).multinomial(9, [0.25] * 4, 11).reshape(-1, 2, 2)
    many = _distribution(name, cells)
    for kind in ("eti", "hdi"):
        ends, error = many.interval_with_error(0.95, kind)
        assert (error <= 1.1e-3).all()
        for place in (0, 1, 1000, 10_049):
            alone = _distribution(name, cells[place]).interval_with_error(0.95, kind)[0]
            np.testing.assert_allclose(ends[place], alone, atol=2 * error[place].max() + 1e-6)


def p_better(prevalence, names):
    x, y = bcm.from_cells(tp=9, fn=3, fp=2, tn=14), bcm.from_cells(tp=11, fn=1, fp=6, tn=10)
    both = bcm.at_prevalence(bcm.combine({"x": x, "y": y}), prevalence)
    return bcm.compare(both, names)["p_better"].to_numpy()


@pytest.mark.long
@pytest.mark.parametrize(
    ("prevalence", "right"),
    [
        (0.3, {"precision": 0.89299, "fdr": 0.89299, "accuracy": 0.86312, "markedness": 0.77688}),
        (0.01, {"accuracy": 0.94919, "markedness": 0.86464, "mcc": 0.81663}),
    ],
)
@pytest.mark.filterwarnings("ignore:x and y have the same class totals")
def test_comparisons_at_a_prevalence(prevalence, right):
    """Once off by up to .005. References: 4e7 draws of both pairs of betas."""
    found = p_better(prevalence, list(right))
    assert found == pytest.approx(list(right.values()), abs=5 * 0.00004)


def test_a_comparison_of_small_tables():
    """Reference: a sum of four betas by Gauss-Jacobi quadrature over three of them."""
    both = {"a": [[6, 0], [1, 3]], "b": [[2, 1], [2, 5]]}
    both = {name: bcm.from_matrix(cells, positive=1) for name, cells in both.items()}
    row = bcm.compare(both, "informedness", kind="eti").iloc[0]
    assert row[["lower", "upper"]].tolist() == pytest.approx([-0.342506, 0.977043], abs=2e-6)


def test_a_likelihood_ratio_next_to_an_empty_cell():
    """Reference: Gauss-Jacobi quadrature over the recall, of 300 and of 800 nodes."""
    cells = bcm.from_matrix([[6, 0], [1, 3]], positive=1)
    low, _ = bcm.interval(cells, "positive_likelihood_ratio", accuracy=1e-6).values
    assert low == pytest.approx(0.0534410479, abs=1e-8)
