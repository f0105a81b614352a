"""Labels in brackets: an opponent of a win rate, a class of other measures."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm.measures import resolve
from bayescm.measures.preferences import Strengths


def test_labels_may_have_parentheses():
    counts = bcm.from_matrix([[9, 1, 0], [2, 7, 3], [0, 0, 5]], labels=["a", "cat (tabby)", "z"])
    found = bcm.measure(counts, ["recall", "recall[cat (tabby)]"])
    assert float(found["recall[cat (tabby)]"]) == float(
        found["recall"].sel({"class": "cat (tabby)"})
    )


def test_win_and_tie_rates_follow_from_the_chances_of_a_vote():
    strengths = Strengths(np.array([[0.7, -0.2, -0.5]]), np.array([0.3]), np.array([0.6]))
    weight = {}
    for first, second in ((0, 1), (1, 0)):
        eta = strengths.strength[0, first] - strengths.strength[0, second] + 0.3
        parts = np.array([np.exp(eta / 2), np.exp(-eta / 2), 0.6])
        weight[first] = parts / parts.sum()
    win = (weight[0][0] + weight[0][2] / 2 + weight[1][1] + weight[1][2] / 2) / 2
    tie = (weight[0][2] + weight[1][2]) / 2
    assert strengths.win_rate(1)[0, 0] == pytest.approx(win)
    assert strengths.tie_rate(1)[0, 0] == pytest.approx(tie)
    assert strengths.win_rate(0)[0, 1] == pytest.approx(1 - win)


def test_extreme_strengths_do_not_overflow():
    far = Strengths(np.array([[5000.0, -5000.0]]), np.zeros(1), np.ones(1))
    np.testing.assert_allclose(far.win_rate(1), [[1, 0.5]])
    np.testing.assert_allclose(far.tie_rate(1)[0, 0], 0)


def test_names_without_evidence_and_unknown_ones():
    assert resolve("elo", "preferences").same_as(resolve("rating", "preferences"))
    assert resolve("win_rate").takes != "preferences"  # of attempts and of tables as well
    with pytest.raises(ValueError, match=r"evidence of .?from_preferences"):
        bcm.interval(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), "rating")
