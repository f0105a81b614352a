"""The joint posterior: each classifier's own one by marginalising, whatever the number."""

import sys

import numpy as np
import pytest
from scipy.stats import beta
from scipy.stats import dirichlet_multinomial as scipy_dm

import bayescm as bcm
from bayescm import posteriors
from bayescm.evidence.outcomes import marginal_matrices
from bayescm.measures import resolve
from bayescm.posteriors import joint_table
from bayescm.posteriors.paired_outcomes import PairedOutcomes

SIZE = 20_000


def simulated(judges, classes, n, seed=3):
    rng = np.random.default_rng(seed)
    actual = rng.integers(classes, size=n)
    answers = {
        f"c{judge}": np.where(rng.random(n) < 0.8, actual, rng.integers(classes, size=n))
        for judge in range(judges)
    }
    return bcm.from_classifiers(actual, answers, labels=list(range(classes)), positive=None)


def distance(draws, a, b):
    """Return Kolmogorov's statistic, of 1.95 at p = 0.001; near 1 rounding makes ties."""
    points = np.sort(draws[draws < 1 - 1e-12])
    below = np.searchsorted(np.sort(draws), points, side="right") / len(draws)
    return np.abs(below - beta.cdf(points, a, b)).max() * len(draws) ** 0.5


# Small tables are written out, large ones drawn lazily; of the last many cells have no count.
TABLES = [(2, 2, 40), (3, 3, 30), (9, 2, 25), (4, 6, 20), (2, 20, 40)]


@pytest.mark.parametrize(("judges", "classes", "n"), TABLES)
@pytest.mark.parametrize("measure", ["accuracy", "recall", "precision"])
@pytest.mark.long
def test_each_classifier_keeps_its_own_posterior(judges, classes, n, measure):
    outcomes = simulated(judges, classes, n)
    posterior = posteriors.paired_outcomes(outcomes)
    kernel = resolve(measure)
    (draws,) = posterior.draw([kernel], 2000, np.random.default_rng(1))
    distribution = posterior.distribution(kernel)
    for index in np.ndindex(draws.shape[1:]):
        own = bcm.posteriors.dirichlet_multinomial(posterior.counts.values[index[0]]).distribution(
            kernel
        )
        np.testing.assert_array_equal(distribution.a[index[0]], own.a)
    # The distribution of one class of the last classifier: what adding the others must not change.
    last = (len(draws[0]) - 1, *(() if draws.ndim == 2 else (0,)))
    assert distance(draws[(slice(None), *last)], distribution.a[last], distribution.b[last]) < 1.95


def test_a_wrong_distribution_is_noticed():
    outcomes = simulated(2, 2, 40)
    posterior = posteriors.paired_outcomes(outcomes)
    (draws,) = posterior.draw([resolve("accuracy")], SIZE // 4, np.random.default_rng(1))
    distribution = posterior.distribution(resolve("accuracy"))
    assert distance(draws[:, 0], distribution.a[0] + 2, distribution.b[0]) > 1.95


@pytest.mark.long
@pytest.mark.parametrize(("judges", "classes"), [(2, 2), (3, 2), (2, 3)])
def test_lazy_draws_have_the_moments_of_the_whole_table(judges, classes, monkeypatch):
    posterior = posteriors.paired_outcomes(simulated(judges, classes, 6))
    whole = posterior.cells("parameter", SIZE, np.random.default_rng(1)).reshape(SIZE, -1)
    monkeypatch.setattr(sys.modules[PairedOutcomes.__module__], "ENUMERATE", 0)
    lazy = posterior.cells("parameter", SIZE, np.random.default_rng(2)).reshape(SIZE, -1)
    sd = whole.std(axis=0)
    np.testing.assert_allclose(lazy.mean(0), whole.mean(0), atol=5 * sd.max() / SIZE**0.5)
    scale = np.outer(sd, sd) + 1e-12
    # Of small cells a variance has a standard error of about .03, and there are 324 entries.
    np.testing.assert_allclose(np.cov(lazy.T) / scale, np.cov(whole.T) / scale, atol=0.12)


UNLIKE = np.array([[[0.3 + j / 10, 1.7 - j / 10], [0.4, 0.6]] for j in range(8)])


# Of accuracy and recall alone no cells are drawn; of heavy priors sticks leave too much.
@pytest.mark.long
@pytest.mark.parametrize("concentration", [None, 0.1, UNLIKE, 8.0])
@pytest.mark.parametrize("measure", ["accuracy", "error_rate", "recall", "fall_out"])
def test_shares_drawn_alone_are_distributed_as_known(concentration, measure):
    outcomes = simulated(8, 2, 30).assign_coords(positive=1)
    posterior = posteriors.paired_outcomes(outcomes, concentration=concentration)
    kernel = resolve(measure)
    (draws,) = posterior.draw([kernel], SIZE // 4, np.random.default_rng(2))
    known, gaps = posterior.distribution(kernel), draws - draws[:, :1]
    off = (draws.mean(axis=0) - known.mean()) / known.sd()
    assert np.abs(off).max() < 4 / (SIZE // 4) ** 0.5
    np.testing.assert_allclose(draws.std(axis=0), known.sd(), rtol=0.08)
    assert distance(draws[:, 7], known.a[7], known.b[7]) < 1.95
    for one in range(1, 8):
        gap = posterior.difference(kernel, {"classifier": one}, {"classifier": 0})
        assert abs(gaps[:, one].mean() - gap.mean()) < 4 * gap.sd() / (SIZE // 4) ** 0.5
        assert gaps[:, one].std() == pytest.approx(gap.sd(), rel=0.08)


def test_a_share_alone_of_no_example_is_undefined():
    outcomes = simulated(9, 2, 20).assign_coords(positive=1)
    negatives = outcomes.isel(outcome=(outcomes["actual"] == 0).values)
    posterior = posteriors.paired_outcomes(negatives, concentration=0)
    (draws,) = posterior.draw([resolve("recall")], 3, np.random.default_rng(0))
    assert np.isnan(draws).all()


def test_classifiers_that_answer_alike_do_not_differ():
    actual = [1, 1, 1, 0, 0, 0, 1, 0] * 200
    answers = [1, 0, 1, 0, 0, 1, 1, 0] * 200
    twins = bcm.from_classifiers(actual, {"a": answers, "b": answers})
    theta = posteriors.paired_outcomes(twins).cells("parameter", 1000, np.random.default_rng(0))
    assert np.abs(theta[:, 0] - theta[:, 1]).max() < 0.02


def test_prior_weighs_the_same_for_any_number_of_classifiers():
    for judges in (1, 2, 5):
        posterior = posteriors.paired_outcomes(simulated(judges, 2, 10))
        assert posterior.weight == 2
    written = posteriors.paired_outcomes(simulated(3, 2, 10))
    own = joint_table.base_measure(written.prior, written.joint_cells[0], written.joint_cells[1:])
    table = marginal_matrices(own, written.joint_cells[0], written.joint_cells[1:], 2)
    np.testing.assert_allclose(table, 0.5)


def test_concentration_zero_is_the_bayesian_bootstrap():
    outcomes = simulated(3, 4, 30)
    posterior = posteriors.paired_outcomes(outcomes, concentration=0)
    theta = posterior.cells("parameter", 2000, np.random.default_rng(0))
    assert (theta[:, posterior.counts.values == 0] == 0).all()
    share = posterior.counts.values / 30
    np.testing.assert_allclose(theta.mean(0), share, atol=0.01)


def test_a_selection_merges_outcomes():
    outcomes = simulated(3, 2, 50)
    merged = posteriors.paired_outcomes(outcomes.isel(classifier=[0]))
    assert merged.outcomes.shape == (4,)
    alone = posteriors.paired_outcomes(outcomes).counts.values[0]
    np.testing.assert_array_equal(merged.counts.values[0], alone)


def test_marginal_likelihood_is_scipys():
    posterior = posteriors.paired_outcomes(simulated(2, 2, 30))
    prior = joint_table.base_measure(
        posterior.prior, posterior.joint_cells[0], posterior.joint_cells[1:]
    )
    counts = posterior.joint_weights - prior
    expected = scipy_dm.logpmf(np.rint(counts).astype(int), prior, 30)
    np.testing.assert_allclose(posterior.log_marginal_likelihood(), expected, rtol=1e-12)


def test_leading_dims_are_kept():
    rng = np.random.default_rng(0)
    actual, group = rng.integers(2, size=60), np.arange(60) % 3
    answers = {"a": rng.integers(2, size=60), "b": rng.integers(2, size=60)}
    outcomes = bcm.from_classifiers(actual, answers, by={"group": group})
    posterior = posteriors.paired_outcomes(outcomes)
    assert posterior.cells("parameter", 5, rng).shape == (5, 3, 2, 2, 2)
    assert posterior.log_marginal_likelihood().shape == (3,)


@pytest.mark.parametrize("bad", [-1.0, np.nan, [[0.0, 1.0], [1.0, 1.0]]])
def test_concentrations_are_checked(bad):
    with pytest.raises(ValueError, match="concentration must be finite numbers"):
        posteriors.paired_outcomes(simulated(2, 2, 10), concentration=bad)


def test_priors_must_agree_on_the_classes():
    prior = [[[1, 1], [1, 1]], [[2, 2], [1, 1]]]
    with pytest.raises(ValueError, match="must have the same row sums"):
        posteriors.paired_outcomes(simulated(2, 2, 10), concentration=prior)


def test_a_tree_of_a_huge_table_is_refused():
    posterior = posteriors.paired_outcomes(simulated(20, 2, 10))
    with pytest.raises(ValueError, match="too large for a tree"):
        posterior.variables(10, np.random.default_rng(0))
    assert isinstance(posterior, PairedOutcomes)
