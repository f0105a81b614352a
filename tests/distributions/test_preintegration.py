"""Functions of Dirichlet vectors on scrambled Sobol lines, against what is known otherwise."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm.distributions.batches import Stack
from bayescm.distributions.beta import Beta
from bayescm.distributions.differences import Independent, discordant
from bayescm.distributions.preintegration import (
    MEMBERS,
    FunctionOfDirichlet,
    UndefinedOnLine,
    joint_difference,
    preintegrated,
)
from bayescm.measures import resolve
from bayescm.measures.catalogue import own
from bayescm.posteriors import dirichlet_multinomial, fixed_totals, paired_outcomes

TABLE = np.array([[30.0, 35.0], [15.0, 65.0]])
THREE = bcm.from_matrix([[50, 3, 2], [4, 40, 6], [1, 5, 30]])


def right(cells):
    """Return the share right of square tables (m, C * C)."""
    size = int(cells.shape[1] ** 0.5)
    return np.einsum("mii->m", cells.reshape(-1, size, size))


def share_right(rng, classes, n):
    """Return the share right of a random table on lines, and its beta distribution."""
    chances = np.full((classes, classes), 0.2 / classes) + 0.8 * np.eye(classes)
    chances *= rng.uniform(0.5, 1.5, chances.shape)
    weights = rng.multinomial(n, (chances / chances.sum()).ravel()) + 2 / classes**2
    hits = right(weights[None])[0]
    return FunctionOfDirichlet([weights], right), Beta(hits, weights.sum() - hits)


def gaps(distribution, known, kind):
    """Return errors, and errors that are stated, in parts of the length of the interval."""
    (ends, stated), exact = distribution.interval_with_error(0.95, kind), getattr(known, kind)(0.95)
    return np.abs(ends - exact) / np.ptp(exact), stated / np.ptp(exact)


@pytest.mark.parametrize("kind", ["eti", "hdi"])
@pytest.mark.parametrize(("classes", "n"), [(2, 200), (3, 500), (4, 2000)])
def test_bounds_are_right_to_four_digits_of_the_length(classes, n, kind):
    rng = np.random.default_rng(classes)
    actual, stated = gaps(*share_right(rng, classes, n), kind)
    assert (actual < 1e-4).all()
    assert (stated < 2e-4).all()


@pytest.mark.long
def test_stated_errors_are_not_below_half_the_actual_ones():
    rng = np.random.default_rng(5)
    cases = [share_right(rng, classes, n) for classes in (2, 3) for n in (20, 40, 80, 160, 320)]
    both = [gaps(*case, kind) for case in cases for kind in ("eti", "hdi")]
    actual, stated = (np.concatenate(each) for each in zip(*both, strict=True))
    assert (actual <= 2 * stated).all()
    # Negative control: they are not so large that this would hold of anything.
    assert (actual > stated / 50).mean() > 0.5


def test_it_is_the_distribution_that_the_lattice_gives():
    known = dirichlet_multinomial(TABLE, concentration=0.5).distribution(resolve("mcc"))
    mcc = resolve("mcc")
    weights = TABLE.ravel() + 0.5
    lines = FunctionOfDirichlet([weights], lambda cells: mcc(cells.reshape(-1, 2, 2)), mcc.range)
    spread = known.sd()
    x = known.quantile(np.array([0.001, 0.1, 0.5, 0.9, 0.999]))
    np.testing.assert_allclose(lines.cdf(x), known.cdf(x), atol=1e-4)
    np.testing.assert_allclose(lines.sf(x), known.sf(x), atol=1e-4)
    np.testing.assert_allclose(lines.pdf(x), known.pdf(x), rtol=3e-3)
    np.testing.assert_allclose(lines.quantile(known.cdf(x)), x, atol=1e-3 * spread)
    np.testing.assert_allclose(lines.mean(), known.mean(), atol=1e-3 * spread)
    np.testing.assert_allclose(lines.sd(), spread, rtol=1e-3)
    np.testing.assert_allclose(lines.skewness(), known.skewness(), atol=1e-2)


@pytest.mark.long
def test_more_lines_are_taken_for_a_smaller_error():
    lines, known = share_right(np.random.default_rng(1), 2, 60)
    finer = lines.with_tolerance(1e-6)
    assert finer.relative_error < lines.relative_error
    assert gaps(finer, known, "eti")[0].max() < 1e-4
    assert lines.eti(0.95).tolist() == lines.with_tolerance(1e-4).eti(0.95).tolist()


def test_a_difference_on_the_same_examples_is_that_of_the_discordant_ones():
    weights = np.array([60.5, 5.5, 9.5, 20.5])  # both right, the first, the second, none
    known = discordant(5.5, 9.5, 81.0)
    lines = FunctionOfDirichlet([weights], lambda cells: cells[:, 1] - cells[:, 2], (-1.0, 1.0))
    for kind in ("eti", "hdi"):
        assert gaps(lines, known, kind)[0].max() < 2e-4
    np.testing.assert_allclose(lines.expected_loss(), known.expected_loss(), rtol=2e-3)
    np.testing.assert_allclose(lines.sf(0), known.sf(0), atol=1e-4)


def test_vectors_may_have_totals_and_a_difference_may_be_of_two_tables():
    rows = [np.array([40.5, 10.5]), np.array([5.5, 30.5])]
    one, two = (FunctionOfDirichlet([row], lambda cells: cells[:, 0]) for row in rows)
    known = Independent(Beta(*rows[0]), Beta(*rows[1]))
    assert gaps(joint_difference(one, two), known, "hdi")[0].max() < 1e-4
    scaled = FunctionOfDirichlet(rows, lambda cells: cells[:, 0], (0.0, 0.25), np.array([0.25, 1]))
    np.testing.assert_allclose(scaled.eti(0.9), Beta(*rows[0]).eti(0.9) / 4, atol=1e-6)
    assert joint_difference(one, Beta(3.0, 4.0)) is None


@pytest.mark.long
@pytest.mark.parametrize(
    "function",
    [
        lambda cells: np.maximum(right(cells), 0.6),  # an atom
        lambda cells: np.where(right(cells) > 0.6, right(cells), np.nan),  # undefined in part
        lambda cells: 2 * right(cells),  # beyond its support
        lambda cells: np.zeros(len(cells)),
    ],
)
def test_what_lines_are_no_good_for_is_left_to_draws(function):
    weights = TABLE.ravel() + 0.5
    assert preintegrated([weights], right, (0.0, 1.0)) is not None
    assert preintegrated([weights], function, (0.0, 1.0)) is None
    with pytest.raises(UndefinedOnLine):
        FunctionOfDirichlet([weights], function).mean()


@pytest.mark.long
def test_many_cells_and_many_tables_are_left_to_draws():
    assert preintegrated([np.full(36, 9.0)], right, (0.0, 1.0)) is None
    assert preintegrated([np.full((MEMBERS + 1, 4), 9.0)], right, (0.0, 1.0)) is None
    batch = preintegrated([np.array([[9.0, 2, 3, 8], [20, 2, 3, 8]])], right, (0.0, 1.0))
    assert isinstance(batch, Stack)
    np.testing.assert_allclose(batch.eti(0.95)[1], Beta(28.0, 5.0).eti(0.95), atol=2e-4)
    assert (
        batch.with_tolerance(1e-6).interval_with_error(0.95, "eti")[1]
        < batch.interval_with_error(0.95, "eti")[1]
    ).all()


def recalls(cells):
    """Recall of each class."""
    return np.einsum("...ii->...i", cells) / cells.sum(-1)


@pytest.mark.long
def test_a_function_of_the_user_with_a_value_for_each_class():
    ends = bcm.interval(THREE, recalls, kind="eti", concentration=0.5)
    rows = Beta(*np.array([[50.5, 6.0], [40.5, 11.0], [30.5, 7.0]]).T)
    assert ends.attrs["how"] == "pre-integration"
    assert ends.attrs["error"] < 1e-3
    np.testing.assert_allclose(ends, rows.eti(0.95), atol=1e-4)


def mean_recall(cells):
    """Mean of the recalls."""
    return recalls(cells).mean(-1)


@pytest.mark.long
@pytest.mark.parametrize("shares", [None, np.array([0.2, 0.3, 0.5])])
def test_of_known_class_totals_the_prevalence_counts(shares):
    posterior = fixed_totals(THREE, prevalence=shares)
    accuracy = posterior.distribution(resolve("accuracy"))
    draws = posterior.draw([resolve("accuracy")], 100_000, np.random.default_rng(1))[0]
    np.testing.assert_allclose(accuracy.mean(), draws.mean(), atol=4 * draws.std() / 300)
    np.testing.assert_allclose(
        accuracy.eti(0.95), np.quantile(draws, [0.025, 0.975]), atol=0.04 * draws.std()
    )


def test_an_uncertain_prevalence_has_a_stick_of_its_own():
    def flagged(cells):
        """Share that is called positive."""
        return cells[..., :, 1].sum(-1) / cells.sum((-2, -1))

    posterior = fixed_totals(TABLE, prevalence=(4, 9))
    ours = own(flagged)
    draws = posterior.draw([ours], 100_000, np.random.default_rng(1))[0]
    known = posterior.distribution(ours)
    np.testing.assert_allclose(
        known.eti(0.95), np.quantile(draws, [0.025, 0.975]), atol=0.04 * draws.std()
    )


def answers(classes, n=150):
    rng = np.random.default_rng(3)
    truth = rng.integers(classes, size=n)
    noisy = lambda share: np.where(rng.random(n) < share, truth, rng.integers(classes, size=n))  # noqa: E731
    members = {"a": noisy(0.8), "b": noisy(0.7), "c": noisy(0.6)}
    return bcm.from_classifiers(truth, members, positive=1 if classes == 2 else None)


@pytest.mark.long
@pytest.mark.parametrize(("classes", "measure"), [(2, "f1"), (2, "mcc"), (3, "f1_macro")])
def test_differences_of_classifiers_are_those_of_joint_draws(classes, measure):
    posterior, kernel = paired_outcomes(answers(classes)), resolve(measure)
    first, second = {"classifier": 0}, {"classifier": 2}
    known = posterior.exact_difference(kernel, first, second)
    draws = posterior.draw([kernel], 100_000, np.random.default_rng(1))[0]
    gap = draws[:, 0] - draws[:, 2]
    np.testing.assert_allclose(known.mean(), gap.mean(), atol=4 * gap.std() / 300)
    np.testing.assert_allclose(
        known.eti(0.95), np.quantile(gap, [0.025, 0.975]), atol=0.04 * gap.std()
    )
    assert known.how == "pre-integration"
    assert posterior.exact_difference(kernel, first, first) is None
    assert posterior.exact_difference(kernel, first, second, of="predictive") is None


@pytest.mark.long
def test_draws_are_made_where_they_are_asked_for():
    assert bcm.interval(THREE, "mcc").attrs["how"] == "pre-integration"
    assert bcm.interval(THREE, "mcc", draws=1000).attrs["how"] == "draws"
    both = answers(2)
    known, drawn = (bcm.compare(both, "f1", **more) for more in ({}, {"draws": 1000}))
    assert 0 < np.abs(known["mean"] - drawn["mean"]).max() < 0.01


@pytest.mark.long
def test_the_seed_does_not_move_the_answer():
    one, two = (bcm.interval(THREE, mean_recall, random_seed=seed) for seed in (0, 1))
    np.testing.assert_array_equal(one, two)
