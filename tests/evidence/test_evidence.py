"""Every way in ends at the same counts."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayescm as bcm
from bayescm import evidence
from bayescm.evidence.outcomes import counts_of

CELLS = {"tp": 65, "fn": 15, "fp": 35, "tn": 30}
LABELS = ["well", "sick"]
ACTUAL = np.repeat(["sick", "sick", "well", "well"], [65, 15, 35, 30])
PREDICTED = np.repeat(["sick", "well", "sick", "well"], [65, 15, 35, 30])
FRAME = pd.DataFrame({"actual": ACTUAL, "predicted": PREDICTED})


def from_csv(folder):
    FRAME.to_csv(folder / "predictions.csv", index=False)
    return bcm.read(folder / "predictions.csv", positive="sick")


def from_table(folder):
    pd.crosstab(FRAME["actual"], FRAME["predicted"]).to_csv(folder / "table.csv")
    return bcm.read(folder / "table.csv", positive="sick")


WAYS = {
    "cells": lambda _: bcm.from_cells(**CELLS, labels=LABELS),
    "matrix": lambda _: bcm.from_matrix(
        [[65, 15], [35, 30]], labels=["sick", "well"], positive="sick"
    ),
    "crosstab": lambda _: bcm.from_matrix(
        pd.crosstab(FRAME["actual"], FRAME["predicted"]), positive="sick"
    ),
    "predictions": lambda _: bcm.from_predictions(ACTUAL, PREDICTED, positive="sick"),
    "frame": lambda _: bcm.from_frame(FRAME, positive="sick"),
    "grouped frame": lambda _: bcm.from_frame(
        FRAME.value_counts().reset_index(), weights="count", positive="sick"
    ),
    "csv": from_csv,
    "table": from_table,
    "outcomes": lambda _: counts_of(
        bcm.from_classifiers(ACTUAL, {"a": PREDICTED}, positive="sick")
    ).isel(classifier=0, drop=True),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_ends_at_the_same_counts(way, tmp_path):
    counts = evidence.as_counts(WAYS[way](tmp_path))
    known = bcm.from_cells(**CELLS, labels=LABELS)
    xr.testing.assert_identical(counts.assign_attrs(as_read=""), known.assign_attrs(as_read=""))


def test_counts_survive_a_file(tmp_path):
    fold = np.arange(len(ACTUAL)) % 5
    counts = bcm.from_predictions(ACTUAL, PREDICTED, positive="sick", by={"fold": fold})
    counts.to_netcdf(tmp_path / "counts.nc", engine="netcdf4")
    with xr.open_dataarray(tmp_path / "counts.nc", engine="netcdf4") as again:
        xr.testing.assert_identical(evidence.as_counts(again.load()), evidence.as_counts(counts))


@pytest.mark.parametrize("labels", [[0, 1], [False, True], ["a", "b"]])
def test_every_kind_of_label_survives_a_file(labels, tmp_path):
    counts = bcm.from_matrix([[1, 2], [3, 4]], labels=labels, positive=labels[0])
    counts.to_netcdf(tmp_path / "counts.nc", engine="netcdf4")
    with xr.open_dataarray(tmp_path / "counts.nc", engine="netcdf4") as again:
        xr.testing.assert_equal(evidence.as_counts(again.load()), evidence.as_counts(counts))


def test_the_public_names_are_here():
    for name in ("from_cells", "from_matrix", "from_predictions", "from_frame", "read", "combine"):
        assert getattr(bcm, name) is getattr(evidence, name)
