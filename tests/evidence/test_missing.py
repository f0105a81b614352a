"""Every door refuses what is missing: masked, pandas.NA, None and NaN; and counts beyond 2**53."""

import numpy as np
import pandas as pd
import pytest

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


DOORS = {
    "actual": lambda gone: bcm.from_predictions(gone, OTHERS, positive=1),
    "predicted": lambda gone: bcm.from_predictions(LABELS, gone, positive=1),
    "by": lambda gone: bcm.from_predictions(LABELS, OTHERS, positive=1, by={"fold": gone}),
    "weights": lambda gone: bcm.from_predictions(LABELS, OTHERS, positive=1, weights=gone),
    "classifiers": lambda gone: bcm.from_classifiers(LABELS, {"a": gone, "b": OTHERS}, positive=1),
    "scores": lambda gone: bcm.from_scores(LABELS, gone, positive=1),
    "truth of scores": lambda gone: bcm.from_scores(gone, OTHERS, positive=1),
    "cells": lambda gone: bcm.from_cells(tp=gone, fn=LABELS, fp=LABELS, tn=LABELS),
    "matrix": lambda gone: bcm.from_matrix([np.ma.reshape(np.ma.array(gone)[:4], (2, 2))][0]),
    "direct": lambda gone: bcm.direct.dirichlet_multinomial(
        np.ma.reshape(np.ma.array(gone)[:4], (2, 2))
    ),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("how", ["masked", "pandas.NA", "None", "NaN"])
def test_what_is_missing_is_refused(door, how):
    DOORS[door](np.array(LABELS))  # which is whole
    with pytest.raises((ValueError, TypeError), match=r"missing|masked|must be a number|<NA>"):
        DOORS[door](_missing(LABELS, how))


def test_counts_are_exact_or_refused():
    assert bcm.from_cells(tp=2**53, fn=1, fp=1, tn=1).values.max() == 2**53
    for count in (2**53 + 1, 4e18):
        with pytest.raises(ValueError, match="too large"):
            bcm.from_cells(tp=count, fn=1, fp=1, tn=1)
