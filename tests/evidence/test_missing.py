"""Every door refuses what is missing: masked, pandas.NA, None and NaN; and counts beyond 2**53."""

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

import bayescm as bcm

LABELS, OTHERS = [1, 0, 1, 0, 1, 0], [1, 0, 0, 1, 1, 0]
MASK = [False, False, True, False, False, False]


def _missing(values, how):
    """Return the values, the third of which is missing."""
    if how == "masked":
        return np.ma.array(values, mask=MASK)
    if how == "pandas.NA":
        return pd.array(np.where(MASK, None, values), dtype="Float64")
    gone = None if how == "None" else np.nan
    return [gone if hidden else value for value, hidden in zip(values, MASK, strict=True)]


RATERS = {"a": OTHERS, "b": LABELS, "c": LABELS, "d": OTHERS}
SPREAD = [0.1, 0.9, 0.4, 0.3, 0.8, 0.2]


def _grouped(gone):
    known = {"groups": gone, "cv": 2, "random_state": 3}
    return bcm.cross_confusion(GaussianNB(), np.array(SPREAD)[:, None], LABELS, **known)


DOORS = {
    "groups of a cross-validation": _grouped,
    "truth of probabilities": lambda gone: bcm.from_probabilities(gone, SPREAD, positive=1),
    "sites of probabilities": lambda gone: bcm.from_probabilities(LABELS, SPREAD, group=gone),
    "rows of a table": lambda gone: bcm.from_frame(
        pd.DataFrame({"y": LABELS, "p": gone}), actual="y", predicted="p"
    ),
    "judge": lambda gone: bcm.from_partly_labelled(
        [1, 0, 1, 0, None, None], OTHERS, gone, positive=1
    ),
    "judged": lambda gone: bcm.from_partly_labelled(
        [1, 0, 1, 0, None, None], gone, OTHERS, positive=1
    ),
    "populations of raters": lambda gone: bcm.from_raters(RATERS, group=gone),
    "items": lambda gone: bcm.from_attempts(LABELS, item=gone),
    "actual": lambda gone: bcm.from_predictions(gone, OTHERS, positive=1),
    "predicted": lambda gone: bcm.from_predictions(LABELS, gone, positive=1),
    "by": lambda gone: bcm.from_predictions(LABELS, OTHERS, positive=1, by={"fold": gone}),
    "weights": lambda gone: bcm.from_predictions(LABELS, OTHERS, positive=1, weights=gone),
    "classifiers": lambda gone: bcm.from_classifiers(LABELS, {"a": gone, "b": OTHERS}, positive=1),
    "scores": lambda gone: bcm.from_scores(LABELS, gone, positive=1),
    "truth of scores": lambda gone: bcm.from_scores(gone, OTHERS, positive=1),
    "cells": lambda gone: bcm.from_cells(tp=gone, fn=LABELS, fp=LABELS, tn=LABELS),
    "matrix": lambda gone: bcm.from_matrix([np.ma.reshape(np.ma.array(gone)[:4], (2, 2))][0]),
    "direct": lambda gone: bcm.posteriors.dirichlet_multinomial(
        np.ma.reshape(np.ma.array(gone)[:4], (2, 2))
    ),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("how", ["masked", "pandas.NA", "None", "NaN"])
def test_what_is_missing_is_refused(door, how):
    DOORS[door](np.array(LABELS))  # which is whole
    with pytest.raises((ValueError, TypeError), match=r"missing|masked|must be a number|<NA>"):
        DOORS[door](_missing(LABELS, how))


@pytest.mark.parametrize("how", ["pandas.NA", "None", "NaN"])
def test_an_attempt_that_was_not_made_is_no_wrong_one(how):
    table = bcm.from_attempts(_missing(LABELS, how), item=list("aabbcc"))
    assert table["correct"].values.tolist()[0] == [1, 0]
    assert np.isnan(table["correct"].values[1, 0])


def test_counts_are_exact_or_refused():
    assert bcm.from_cells(tp=2**53, fn=1, fp=1, tn=1).values.max() == 2**53
    for count in (2**53 + 1, 4e18):
        with pytest.raises(ValueError, match="too large"):
            bcm.from_cells(tp=count, fn=1, fp=1, tn=1)
