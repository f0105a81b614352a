"""The true values of pluralities, beside all ways in which answers can fall."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from validation.attempts import chance_of_plurality


def enumerated(rate, shares, k):
    """Return the chance that answer 0 is the plurality of k, or wins a tie of it by lot."""
    probabilities = [rate, *((1 - rate) * np.asarray(shares))]
    chance = 0.0
    for answers in product(range(len(probabilities)), repeat=k):
        counts = Counter(answers)
        tied = [answer for answer, count in counts.items() if count == max(counts.values())]
        chance += (0 in tied) / len(tied) * np.prod([probabilities[answer] for answer in answers])
    return chance


@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.7, 0.2, 0.1], [1.0]])
@pytest.mark.parametrize("k", [1, 3, 6])
def test_chance_of_the_plurality_against_enumeration(shares, k):
    rates = np.array([0.3, 0.55])
    chance = chance_of_plurality(rates, np.tile(shares, (2, 1)), k)
    np.testing.assert_allclose(chance, [enumerated(rate, shares, k) for rate in rates], rtol=1e-12)


def test_wrong_answers_that_all_differ_win_only_where_none_is_right_or_by_lot():
    rate, k = 0.3, 5
    one_right = k * rate * (1 - rate) ** (k - 1)
    several_right = 1 - (1 - rate) ** k - one_right
    chance = chance_of_plurality(np.array([rate]), np.empty((1, 0)), k)
    assert chance.item() == pytest.approx(several_right + one_right / k, abs=1e-12)
