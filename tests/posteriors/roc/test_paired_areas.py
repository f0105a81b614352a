"""The joint distribution of the areas of classifiers on the same examples."""

import numpy as np
import pytest

from bayescm.posteriors.roc.paired_areas import correlation, couple, placement_covariance


def sample(size=120, seed=1, shift=1.2, number=3):
    rng = np.random.default_rng(seed)
    codes = (rng.random(size) < 0.4).astype(int)
    common = rng.standard_normal(size)
    matrix = np.stack([common + rng.standard_normal(size) + shift * codes for _ in range(number)])
    return matrix, np.ones(size), codes


def variance(matrix, weights, codes, factor=1.0):
    _, covariance = placement_covariance(matrix, weights, [codes == 0, codes == 1])
    return factor * np.diag(covariance)


@pytest.mark.parametrize("factor", [0.9, 1.0, 2.0])
@pytest.mark.parametrize("shift", [0.0, 1.2, 30.0])
def test_it_is_a_correlation(shift, factor):
    data = sample(shift=shift)
    found = correlation(variance(*data, factor=factor), *data)
    assert np.allclose(found, found.T)
    assert np.allclose(np.diag(found), 1)
    assert (np.abs(found) <= 1).all()


def test_many_examples_give_the_correlation_of_placements():
    data = sample(20_000, shift=1.2)
    covariance = placement_covariance(data[0], data[1], [data[2] == 0, data[2] == 1])[1]
    spread = np.sqrt(np.diag(covariance))
    found = correlation(spread**2, *data)
    assert np.allclose(found, covariance / np.outer(spread, spread), atol=0.03)


def test_only_order_counts_and_classifiers_are_alike():
    matrix, weights, codes = sample()
    spread = variance(matrix, weights, codes)
    found = correlation(spread, matrix, weights, codes)
    assert np.allclose(correlation(spread, np.exp(matrix), weights, codes), found)
    order = [2, 0, 1]
    again = correlation(spread[order], matrix[order], weights, codes)
    assert np.allclose(again, found[np.ix_(order, order)])


def test_a_weight_of_two_is_two_examples():
    matrix, weights, codes = sample(60)
    twice = np.tile(matrix, 2), np.tile(weights, 2), np.tile(codes, 2)
    spread = variance(*twice)
    found = correlation(spread, matrix, 2 * weights, codes)
    assert np.allclose(found, correlation(spread, *twice))


def test_each_area_keeps_its_draws():
    data = sample()
    areas = np.random.default_rng(2).beta(8, 2, (500, 3))
    found = couple(areas, *data, np.random.default_rng(3))
    assert np.array_equal(np.sort(found, axis=0), np.sort(areas, axis=0))
    wanted = correlation(areas.var(axis=0), *data)
    assert np.allclose(np.corrcoef(found.T), wanted, atol=0.1)


def test_copies_go_together_and_opposites_apart():
    matrix, weights, codes = sample(number=1)
    areas = np.random.default_rng(2).beta(8, 2, (500, 1)).repeat(2, axis=1)
    copies = couple(areas, matrix[[0, 0]], weights, codes, np.random.default_rng(3))
    assert np.array_equal(copies[:, 0], copies[:, 1])
    opposites = np.concatenate([matrix, -matrix])
    shown = areas * np.sqrt(variance(matrix, weights, codes) / areas.var())
    found = couple(shown, opposites, weights, codes, np.random.default_rng(3))
    assert np.corrcoef(found.T)[0, 1] < -0.8


@pytest.mark.parametrize(
    ("first", "second", "codes"),
    [
        ([1, 2, 3, 4], [1, 3, 2, 4], [0, 0, 0, 1]),  # one positive
        ([1, 2, 3, 4], [2, 1, 3, 4], [0, 0, 1, 1]),  # both separated
        ([1, 1, 1, 1], [1, 2, 3, 4], [0, 0, 1, 1]),  # one says nothing
        ([-np.inf, 2, 3, np.inf], [1, 2, 3, 4], [0, 1, 0, 1]),
    ],
)
def test_few_examples_have_an_answer(first, second, codes):
    matrix, codes = np.array([first, second], float), np.array(codes)
    areas = np.random.default_rng(2).beta(8, 2, (100, 2))
    found = couple(areas, matrix, np.ones(4), codes, np.random.default_rng(3))
    assert np.isfinite(found).all()
