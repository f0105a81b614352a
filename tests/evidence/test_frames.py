"""Tables of several engines give the same counts, which the engine makes."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import bayescm as bcm

RNG = np.random.default_rng(2)
FRAME = pd.DataFrame(
    {
        "y": RNG.choice(["sick", "well", "NA"], 500, p=[0.3, 0.6, 0.1]),
        "p": RNG.choice(["sick", "well", "NA"], 500, p=[0.3, 0.6, 0.1]),
        "site": RNG.integers(0, 4, 500),
        "n": RNG.integers(0, 3, 500),
    }
)


def _engine(name):
    module = pytest.importorskip(name)
    return module


ENGINES = {
    "pyarrow": lambda frame: pa.Table.from_pandas(frame),
    "polars": lambda frame: _engine("polars").from_pandas(frame),
    "polars lazy": lambda frame: _engine("polars").from_pandas(frame).lazy(),
    "duckdb": lambda frame: _engine("duckdb").from_df(frame),
    "dask": lambda frame: _engine("dask.dataframe").from_pandas(frame, npartitions=3),
    "columns": lambda frame: frame.to_dict("list"),
}
ASKED = {"actual": "y", "predicted": "p", "by": {"group": "site"}}


@pytest.mark.filterwarnings("ignore:Dask support is moving:FutureWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_counts_the_same(engine):
    table = ENGINES[engine](FRAME)
    for more in ({}, {"weights": "n"}):
        expected = bcm.from_frame(FRAME, **ASKED, **more)
        found = bcm.from_frame(table, **ASKED, **more)
        assert found.identical(expected)
    assert expected.dtype == np.int64


def test_what_the_table_lacks_is_named():
    table = pa.Table.from_pandas(FRAME)
    with pytest.raises(ValueError, match="Did you mean 'site'"):
        bcm.from_frame(table, **ASKED | {"by": {"group": "sites"}})
    holes = pa.Table.from_pandas(FRAME.assign(p=FRAME["p"].where(FRAME["p"] != "NA")))
    with pytest.raises(ValueError, match=rf"p has missing values \({(FRAME['p'] == 'NA').sum()}\)"):
        bcm.from_frame(holes, **ASKED)
    with pytest.raises(ValueError, match="a weight in n is negative"):
        bcm.from_frame(pa.Table.from_pandas(FRAME.assign(n=-1)), **ASKED, weights="n")
    with pytest.raises(ValueError, match="weights_are does not say"):
        bcm.from_frame(pa.Table.from_pandas(FRAME.assign(n=0.5)), **ASKED, weights="n")
    with pytest.raises(TypeError, match="not a table"):
        bcm.from_frame(7, **ASKED)


def test_importance_weights_are_those_of_the_rows():
    frame = FRAME.assign(n=RNG.lognormal(size=500))
    asked = ASKED | {"weights": "n", "weights_are": "importance"}
    one, two = (bcm.from_frame(each, **asked) for each in (frame, pa.Table.from_pandas(frame)))
    np.testing.assert_allclose(one, two)
    np.testing.assert_allclose(one["effective"], two["effective"])
