"""Counts of Dask: the same answers, and nothing computed before it is asked for."""

import dask
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.fitting import sampled

CELLS = np.random.default_rng(5).integers(1, 30, (7, 2, 2))
COUNTS = bcm.from_matrix(CELLS, labels=["well", "sick"], positive="sick")
LABELLED = COUNTS.assign_coords(batch=list("abcdefg"))


def refused(*_, **__):
    raise AssertionError("computed before it was asked for")


@pytest.mark.long
@pytest.mark.parametrize("counts", [COUNTS, LABELLED], ids=["plain", "labelled"])
@pytest.mark.parametrize("measure", ["recall", ["f1", "mcc"], "recall[well]"])
def test_an_interval_is_computed_block_by_block_when_asked_for(counts, measure):
    with dask.config.set(scheduler=refused):
        lazy = bcm.interval(counts.chunk(batch=3), measure)
    assert lazy.chunksizes["batch"] == (3, 3, 1)
    assert lazy.attrs["prob"] == 0.95
    found = lazy.compute(scheduler="sync")
    expected = bcm.interval(counts, measure)
    xr.testing.assert_allclose(found, expected)
    assert set(found.coords) == set(expected.coords)


@pytest.mark.long
def test_what_a_model_uses_up_lies_in_one_block():
    folds = bcm.from_matrix(
        np.random.default_rng(1).integers(2, 9, (4, 3, 2, 2)), dims=("batch", "fold"), positive=1
    )
    lazy = bcm.interval(folds.chunk(batch=2, fold=1), "recall", model="pooled_folds")
    expected = bcm.interval(folds, "recall", model="pooled_folds")
    assert lazy.dims == expected.dims
    np.testing.assert_allclose(lazy.compute(scheduler="sync"), expected)


@pytest.mark.long
@pytest.mark.parametrize("counts", [COUNTS, LABELLED], ids=["plain", "labelled"])
def test_a_table_of_blocks_is_the_table_of_all(counts):
    with dask.config.set(scheduler="sync"):
        found = bcm.summary(counts.chunk(batch=3), ["recall", "f1"])
    pd.testing.assert_frame_equal(found, bcm.summary(counts, ["recall", "f1"]))


@pytest.mark.long
def test_comparisons_are_made_block_by_block():
    both = bcm.from_matrix(
        np.random.default_rng(2).integers(1, 30, (5, 2, 2, 2)), dims=("site", "classifier")
    )
    with dask.config.set(scheduler="sync"):
        found = bcm.compare(both.chunk(site=2, classifier=1), ["recall", "accuracy"])
    pd.testing.assert_frame_equal(found, bcm.compare(both, ["recall", "accuracy"]))


@pytest.mark.long
def test_a_local_cluster_of_distributed_answers_the_same():
    from distributed import Client, LocalCluster

    made = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with LocalCluster(**made) as cluster, Client(cluster):
        found = bcm.interval(COUNTS.chunk(batch=3), "f1").compute()
    np.testing.assert_allclose(found, bcm.interval(COUNTS, "f1"))


@pytest.mark.long
def test_it_is_said_how_many_posteriors_are_sampled(monkeypatch, capsys):
    drawn = bcm.fit(COUNTS[:2], draws=50, random_seed=0)
    monkeypatch.setattr(sampled, "watched", lambda: True)
    monkeypatch.setattr(sampled, "fit", lambda *_, **__: drawn)

    def prior(name):  # of another family, with which a model is sampled
        raise AssertionError(name)

    bcm.interval(COUNTS.chunk(batch=3), "recall", concentration=prior)
    said = "Up to 4 posteriors are sampled, one after another.\n"  # of three blocks, and of a trial
    assert capsys.readouterr().err == said


def test_other_arrays_of_dask_are_refused():
    with pytest.raises(ValueError, match="Only counts can be Dask arrays, not evidence"):
        bcm.interval(COUNTS.rename(predicted="answer").chunk(), "recall")
