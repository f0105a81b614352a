import numpy as np
import pytest
from reference_cases import cases

from bayescm import simulation
from bayescm.papers import thesis


@pytest.mark.parametrize("case", cases("coverage-"))
def test_the_coverage_curves_are_exact(case):
    n, p = case["inputs"]["n"], case["inputs"]["p"]
    coverage = thesis.coverage_of_proportions(n, [p]).set_index("method")["doc"]
    for method, expected in case["expected"].items():
        assert coverage[method] == pytest.approx(expected, abs=case["tol"]["abs"]), method


def test_the_coverage_of_f1_is_that_of_simulated_samples():
    table = thesis.coverage_of_f1(30, [0.7])
    rng = np.random.default_rng(0)
    f1 = 0.7
    hits = rng.binomial(30, f1 / (2 - f1), 40_000)
    jeffreys = table.set_index("method")["doc"]["jeffreys"]
    a, b = hits + 0.5, 30 - hits + 1.0
    low, high = (thesis.betaincinv(a, b, tail) for tail in (0.025, 0.975))
    inside = (low <= f1 / (2 - f1)) & (f1 / (2 - f1) <= high)
    assert inside.mean() == pytest.approx(jeffreys, abs=0.005)


def test_exact_tables_have_a_case_for_each_size():
    assert thesis.table("5", 2)["n"].unique().tolist() == [thesis.SIZES[1]]
    assert thesis.table("6")["n"].unique().tolist() == list(thesis.SIZES)


def test_chains_have_their_share_and_their_correlation():
    rng = np.random.default_rng(1)
    for stay in (0.0, 0.9):
        chain = thesis.markov_chains(rng, 0.4, stay, (400, 100))
        assert chain.mean() == pytest.approx(0.4, abs=0.04)
        follow = np.corrcoef(chain[:, 1:].ravel(), chain[:, :-1].ravel())[0, 1]
        assert follow == pytest.approx(stay, abs=0.03)


@pytest.mark.long
def test_dependence_ruins_the_plain_interval_alone():
    names = ("independent", "design", "groups, average")
    methods = {name: thesis.METHODS[name] for name in names}
    frame = simulation.run(
        lambda rng: thesis.dependent_images(rng, 0.9), methods, replications=10, seed=12
    )
    coverage = frame.set_index("method")["doc"]
    # In 300 replications: .41, .92 and .95.
    assert coverage["independent"] < 0.9
    assert coverage["design"] > 0.6
    assert coverage["groups, average"] > 0.6
    assert coverage["independent"] < coverage["groups, average"]
