"""Agreement of raters: points of published examples, and intervals that hold the truth."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

import bayescm as bcm

NAN = None
# Gwet (2014), Handbook of Inter-Rater Reliability: 4 raters, 12 subjects, 5 classes.
FOUR = {
    "one": [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    "two": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, NAN],
    "three": [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 3],
    "four": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
}
POINTS = {
    "fleiss_kappa": 0.76117,
    "gwet_ac1": 0.77544,
    "krippendorff_alpha": 0.74342,
    "krippendorff_alpha_interval": 0.849,
    "krippendorff_alpha_ordinal": 0.815,
}


def test_points_are_those_of_the_published_example():
    table = bcm.raters.agreement(FOUR, list(POINTS), pairs=False).set_index("measure")
    for name, point in POINTS.items():
        assert table["point"][name] == pytest.approx(point, abs=6e-4 if "_alpha_" in name else 1e-5)
    assert (table["examples"] == 11).all()
    assert (table["lower"] < table["mean"]).all()
    assert (table["mean"] < table["upper"]).all()


@pytest.mark.long
def test_cohen_is_that_of_scikit_learn_on_what_both_rated():
    both = [each for each in zip(FOUR["one"], FOUR["three"], strict=True) if None not in each]
    table = bcm.raters.agreement(FOUR, "cohen_kappa")
    assert len(table) == 6
    found = table.set_index("raters")["point"]["one, three"]
    assert found == pytest.approx(cohen_kappa_score(*zip(*both, strict=True)))


def test_all_raters_alike_is_near_one_and_no_certainty():
    table = bcm.raters.agreement({"a": [0, 1] * 10, "b": [0, 1] * 10}).set_index("measure")
    assert (table["point"] == 1).all()
    assert (table["lower"] < 0.97).all()
    assert (table["upper"] > 0.97).all()


@pytest.mark.long
def test_intervals_hold_the_truth():
    rng, held = np.random.default_rng(5), []
    names = ["cohen_kappa", "gwet_ac1", "krippendorff_alpha"]
    shares = np.array([[0.5, 0.1], [0.05, 0.35]])
    first, second = shares.sum(1), shares.sum(0)
    mean = (first + second) / 2
    expected = [first @ second, 2 * mean.prod(), mean @ mean]
    truth = [(0.85 - each) / (1 - each) for each in expected]
    for _ in range(60):
        cells = rng.choice(4, 80, p=shares.ravel())
        table = bcm.raters.agreement({"a": cells // 2, "b": cells % 2}, names)
        held.append((table["lower"] < truth) & (truth < table["upper"]))
    assert 0.85 < np.mean(held) < 1


@pytest.mark.parametrize(
    ("raters", "measure", "said"),
    [
        ({"a": [0, 1]}, None, "two raters"),
        ({"a": [0, 0], "b": [0, 0]}, None, "classes"),
        ({"a": [0, None], "b": [None, 1]}, None, "No example has labels from both a, b"),
        ({"a": [0, 1], "b": [0, 1]}, "kapa", "not a measure of agreement"),
        ({"a": [0, 1], "b": [0]}, None, "The raters need equal numbers of examples"),
    ],
)
def test_what_cannot_agree_is_refused(raters, measure, said):
    with pytest.raises(ValueError, match=said):
        bcm.raters.agreement(raters, measure)
