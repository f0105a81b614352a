"""Classes that share strength: coverage of macro averages, and the limits."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm import posteriors
from bayescm.distributions import dirichlet
from bayescm.measures import resolve

MACRO = resolve("f1_macro")


def simulated(rng, classes, accuracy):
    shares = rng.dirichlet(np.full(classes, 5.0))
    right = rng.beta(10 * accuracy, 10 * (1 - accuracy), classes)
    theta = np.zeros((classes, classes))
    for row in range(classes):
        wrong = (1 - right[row]) * rng.dirichlet(np.ones(classes - 1))
        theta[row] = shares[row] * np.insert(wrong, row, right[row])
    return theta


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("accuracy", [0.7, 0.93])
def test_macro_f1_of_ten_classes_with_fifty_examples(accuracy):
    rng = np.random.default_rng(0)
    covered = {"hierarchical_rows": 0, "dirichlet_multinomial": 0}
    for _ in range(40):
        theta = simulated(rng, 10, accuracy)
        cells = rng.multinomial(50, theta.ravel()).reshape(10, 10)
        for name in covered:
            (drawn,) = getattr(posteriors, name)(cells).draw([MACRO], 500, rng)
            low, high = np.quantile(drawn, [0.025, 0.975])
            covered[name] += low <= MACRO(theta) <= high
    assert covered["hierarchical_rows"] / 40 >= 0.86
    assert covered["dirichlet_multinomial"] / 40 < 0.80  # the negative control


def test_many_examples_leave_nothing_to_share():
    rng = np.random.default_rng(1)
    cells = rng.multinomial(60_000, simulated(rng, 4, 0.8).ravel()).reshape(4, 4)
    for name in ("f1_macro", "accuracy", "mcc"):
        kernel = resolve(name)
        ours, flat = (
            getattr(posteriors, model)(cells).draw([kernel], 4000, rng)[0]
            for model in ("hierarchical_rows", "dirichlet_multinomial")
        )
        assert ours.mean() == pytest.approx(flat.mean(), abs=0.2 * flat.std())
        assert ours.std() == pytest.approx(flat.std(), rel=0.08)


def test_no_spread_is_one_accuracy_for_all():
    cells = np.array([[4, 1, 0], [0, 9, 1], [1, 0, 3]])
    drawn = posteriors.hierarchical_rows(cells, spread=1e-3).variables(
        4000, np.random.default_rng(0)
    )
    np.testing.assert_allclose(drawn["accuracy"] - drawn["common"][:, None], 0, atol=0.01)
    # 16 right of 19, and Jeffreys' prior.
    assert drawn["common"].mean() == pytest.approx(16.5 / 20, abs=0.006)


def test_cells_are_probabilities_and_classes_may_be_absent():
    cells = np.array([[4, 1, 0], [0, 0, 0], [1, 0, 3]])
    theta = posteriors.hierarchical_rows(cells).variables(200, np.random.default_rng(0))["theta"]
    np.testing.assert_allclose(theta.sum((1, 2)), 1)
    assert (theta > 0).all()


def test_the_order_of_the_classes_does_not_matter():
    cells = np.array([[40, 6, 2], [1, 30, 9], [3, 0, 20]])
    turned = cells[::-1, ::-1]
    one, two = (
        posteriors.hierarchical_rows(each).draw([MACRO], 20_000, np.random.default_rng(0))[0]
        for each in (cells, turned)
    )
    np.testing.assert_allclose(
        np.quantile(one, [0.1, 0.9]), np.quantile(two, [0.1, 0.9]), atol=3e-3
    )


def test_batches_and_intervals():
    tables = np.stack([np.diag([5, 4, 3]) + 1, np.diag([9, 9, 9])])
    counts = bcm.from_matrix(tables, labels=list("abc"))
    ends = bcm.interval(counts, "f1_macro", model="hierarchical_rows", random_seed=0)
    assert ends.dims == ("batch", "bound")
    assert (ends.diff("bound") > 0).all()


@pytest.mark.parametrize(
    ("cells", "keywords", "message"),
    [
        (np.eye(2), {}, "needs three or more classes"),
        (np.eye(3), {"spread": 0}, "spread must be one finite number"),
        (np.eye(3), {"errors": -1}, "errors must be one finite number"),
        (np.eye(3), {"concentration": np.inf}, "concentration must be one finite number"),
    ],
)
def test_bad_input_is_named(cells, keywords, message):
    with pytest.raises(ValueError, match=message):
        posteriors.hierarchical_rows(cells, **keywords)


@pytest.mark.long
def test_sparse_draws_are_those_of_the_dirichlet_distribution():
    rng = np.random.default_rng(3)
    weights = np.full((2, 40), 1 / 40)
    weights[0, :3] += [5, 1, 1]
    drawn = dirichlet.draw_sparse(weights, 20_000, rng)
    np.testing.assert_allclose(drawn.sum(axis=-1), 1)
    total = weights.sum(axis=-1, keepdims=True)
    mean = weights / total
    sd = np.sqrt(mean * (1 - mean) / (total + 1))
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=(5 * sd / np.sqrt(20_000)).max())
    np.testing.assert_allclose(drawn.std(axis=0)[0, :3], sd[0, :3], rtol=0.05)
    # Of cells that are next to nothing: as often above a thousandth.
    kept = dirichlet.draw(weights, 20_000, rng)
    np.testing.assert_allclose((drawn > 1e-3).mean(), (kept > 1e-3).mean(), atol=0.003)


def test_right_answers_do_not_ask_where_errors_go(monkeypatch):
    cells = np.random.default_rng(1).poisson(0.5 + 8 * np.eye(12))
    posterior = posteriors.hierarchical_rows(cells)
    kernels = [resolve(name) for name in ("accuracy", "error_rate")]
    both = [*kernels, resolve("f1_macro")]
    right, wrong, _ = posterior.draw(both, 4000, np.random.default_rng(2))
    theta = posterior.cells("parameter", 4000, np.random.default_rng(3))
    monkeypatch.delattr(type(posterior._matrices[0]), "completed")
    alone, rest = posterior.draw(kernels, 4000, np.random.default_rng(2))
    np.testing.assert_allclose(alone, right)  # the same draws
    np.testing.assert_allclose(alone + rest, 1)
    np.testing.assert_allclose(right + wrong, 1)
    assert alone.shape == (4000,)
    want = np.einsum("dii->d", theta)
    assert abs(alone.mean() - want.mean()) < 5 * want.std() / 4000**0.5
