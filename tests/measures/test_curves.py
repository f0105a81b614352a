"""Numbers about curves: scikit-learn's where the curve is the examples' own."""

import numpy as np
import pytest
from scipy.integrate import quad

from bayescm.measures.curves import (
    Curve,
    auc,
    average_precision,
    cells_at,
    empirical,
    lowest,
    max_f1,
    partial_auc,
    precision_at,
    tpr_at,
)


def line(fpr, tpr, prevalence=0.3, tied=False):
    """Return a curve of straight pieces."""
    fpr, tpr = np.array([fpr], float), np.array([tpr], float)
    pieces = fpr.shape[1] - 1
    inner, at = np.full(pieces, 0.5), np.arange(pieces + 1)
    return Curve(fpr, tpr, np.array([prevalence]), inner, np.full(pieces, tied), at)


BENT = line([0, 0.1, 0.4, 0.4, 1], [0, 0.5, 0.5, 0.9, 1])


def test_average_precision_of_straight_pieces_is_the_integral():
    ends = precision_at
    integral, _ = quad(lambda r: ends(BENT, np.array([r]))[0, 0], 1e-12, 1, points=[0.5, 0.9])
    assert average_precision(BENT)[0] == pytest.approx(integral, abs=1e-7)


@pytest.mark.parametrize("height", [0.0, 1e-300, 1e-17, 1e-9])
def test_average_precision_survives_pieces_without_height(height):
    steep = line([0, 0.2, 0.4, 1], [0, height, 1, 1])
    assert average_precision(steep)[0] == pytest.approx(
        average_precision(line([0, 0.2, 0.4, 1], [0, 0, 1, 1]))[0], abs=1e-6
    )


def test_ends_of_the_scale():
    perfect, chance = line([0, 0, 1], [0, 1, 1]), line([0, 1], [0, 1])
    for function, best, worst in (
        (auc, 1, 0.5),
        (average_precision, 1, 0.3),
        (lambda c: partial_auc(0.1)(c), 1, 0.5),
        (max_f1, 1, 0.6 / 1.3),
    ):
        np.testing.assert_allclose(function(perfect), best)
        np.testing.assert_allclose(function(chance), worst)


def test_a_tied_piece_is_one_threshold():
    assert average_precision(line([0, 1], [0, 1], tied=True))[0] == pytest.approx(0.3)
    both = line([0, 0.2, 1], [0, 0.8, 1], tied=True)
    first = 0.3 * 0.8 / (0.3 * 0.8 + 0.7 * 0.2)
    assert average_precision(both)[0] == pytest.approx(0.8 * first + 0.2 * 0.3)


def test_noise_is_taken_off_the_best_f1():
    rng = np.random.default_rng(1)
    fpr = np.sort(rng.random((500, 30)), axis=1)
    ends = np.zeros((500, 1)), np.ones((500, 1))
    fpr = np.concatenate([ends[0], fpr, ends[1]], axis=1)
    noisy = Curve(fpr, fpr, np.full(500, 0.3), np.full(31, 0.5), np.zeros(31), np.arange(32))
    hits = 0.6 * fpr
    plain = (hits / (hits + 0.3 * (1 - fpr) + 0.7 * fpr)).max(axis=1)
    assert max_f1(noisy).mean() <= plain.mean()


def test_cells_at_a_place():
    cells = cells_at(BENT, np.array([0, 1, 1.5, 4]))
    np.testing.assert_allclose(cells.sum((-2, -1)), 1)
    np.testing.assert_allclose(cells[0, :, 1, 1], 0.3 * np.array([0, 0.5, 0.5, 1]))
    np.testing.assert_allclose(cells[0, :, 0, 1], 0.7 * np.array([0, 0.1, 0.25, 1]))


def test_the_examples_own_curve():
    scores, positive = np.array([3.0, 1, 2, 2]), np.array([True, False, True, False])
    found, thresholds = empirical(scores, positive, np.ones(4))
    assert thresholds.tolist() == [3, 2, 1]
    np.testing.assert_array_equal(found.fpr[0], [0, 0, 0.5, 1])
    np.testing.assert_array_equal(found.tpr[0], [0, 0.5, 1, 1])
    assert auc(found)[0] == 0.875


def test_the_lowest_curve_has_its_open_ends_furthest_out():
    found = lowest(BENT, (2, 3))
    assert found.fpr.tolist() == [[0, 0.4, 0.4, 0.4, 1]]
    assert found.tpr.tolist() == [[0, 0.5, 0.5, 0.9, 1]]
    assert lowest(BENT, (2, 1)).tpr.tolist() == [[0, 0.5, 0.5, 0.5, 1]]
    untouched = lowest(BENT, (0, 4))
    assert np.array_equal(untouched.fpr, BENT.fpr)
    grid = np.linspace(0, 1, 21)
    assert (tpr_at(found, grid) <= tpr_at(BENT, grid)).all()
