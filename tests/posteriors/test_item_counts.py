"""Counts of items without true negatives: the door, sums and means over items, what is refused."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayescm as bcm

RNG = np.random.default_rng(5)
HARD = RNG.gamma(2, 0.5, 60)
OBJECTS = RNG.poisson(4, 60)
TP = RNG.binomial(OBJECTS, np.exp(-0.3 * HARD))
FP = RNG.poisson(HARD)
FN = OBJECTS - TP
ONE = bcm.from_item_counts(tp=TP, fp=FP, fn=FN)
TABLE = pd.DataFrame({"tp": TP, "fp": FP, "fn": FN})


def test_every_door_gives_the_same_evidence():
    xr.testing.assert_identical(bcm.from_item_counts(TABLE), ONE)
    both = bcm.from_item_counts({"a": TABLE, "b": {"tp": TP, "fp": FP, "fn": FN}})
    xr.testing.assert_identical(both.sel(classifier="b", drop=True), ONE)


def test_points_are_those_of_sums_and_means():
    measures = ["precision", "recall", "f1", "jaccard", "f1_micro", "f1_samples"]
    points = bcm.summary(ONE, measures, draws=10)["point"]
    tp, fp, fn = (x.sum() for x in (TP, FP, FN))
    sums = [tp / (tp + fp), tp / (tp + fn), 2 * tp / (2 * tp + fp + fn), tp / (tp + fp + fn)]
    some = (TP + FP + FN) > 0
    mean = (2 * TP[some] / (2 * TP + FP + FN)[some]).mean()
    np.testing.assert_allclose(points, [*sums, sums[2], mean])


def test_items_are_drawn_and_not_objects():
    weight = np.random.default_rng(1).standard_exponential((20_000, 60))
    pseudo = np.random.default_rng(2).gamma(0.5, size=(20_000, 2))
    tp, fn = weight @ TP + pseudo[:, 0], weight @ FN + pseudo[:, 1]
    own = tp / (tp + fn)
    quantiles = bcm.distribution(ONE, "recall").quantile([0.025, 0.5, 0.975])
    np.testing.assert_allclose(
        quantiles, np.quantile(own, [0.025, 0.5, 0.975]), atol=0.12 * own.std()
    )


def test_systems_are_compared_on_the_same_items():
    worse = pd.DataFrame({"tp": TP // 2, "fp": FP, "fn": OBJECTS - TP // 2})
    both = bcm.from_item_counts({"a": TABLE, "b": worse})
    for measure in ("f1", "f1_samples"):
        row = bcm.compare(both, measure).iloc[0]
        assert row["paired"]
        assert row["p_better"] > 0.99


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: bcm.interval(ONE, "specificity"), "true negatives"),
        (lambda: bcm.interval(ONE, "hamming_loss"), "true negatives"),
        (lambda: bcm.interval(ONE, "f1_macro"), "multilabel evidence"),
        (lambda: bcm.interval(ONE, "f1[cat]"), "multilabel evidence"),
        (lambda: bcm.interval(ONE, "mcc"), "is not available"),
        (lambda: bcm.from_item_counts(tp=[1, 2], fp=[0, 1]), "has no fn"),
        (lambda: bcm.from_item_counts(tp=[1, 2], fp=[0, 1], fn=[1]), "have different lengths"),
        (lambda: bcm.from_item_counts(tp=[1, -2], fp=[0, 1], fn=[1, 0]), "count"),
        (lambda: bcm.from_item_counts(TABLE, tp=TP), "cannot be combined"),
        (lambda: bcm.from_item_counts(TABLE, item=[1] * 60), "occurs twice"),
    ],
)
def test_what_is_refused(ask, words):
    with pytest.raises((ValueError, TypeError), match=words):
        ask()
