"""Tables of several engines give the same counts, which the engine makes."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.metrics import roc_auc_score

import bayescm as bcm
from bayescm.evidence.outcomes import counts_of

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


def _spark():
    session = _engine("pyspark.sql").SparkSession.builder.master("local[2]")
    return session.config("spark.sql.shuffle.partitions", "2").getOrCreate()


ENGINES = {
    "pyarrow": lambda frame: pa.Table.from_pandas(frame),
    "polars": lambda frame: _engine("polars").from_pandas(frame),
    "polars lazy": lambda frame: _engine("polars").from_pandas(frame).lazy(),
    "duckdb": lambda frame: _engine("duckdb").from_df(frame),
    "dask": lambda frame: _engine("dask.dataframe").from_pandas(frame, npartitions=3),
    "columns": lambda frame: frame.to_dict("list"),
    "ibis": lambda frame: _engine("ibis").memtable(frame),
    "spark": lambda frame: _spark().createDataFrame(frame),
}
# Those whose import takes a second.
LONG = ("dask", "ibis", "spark")


NAMES = [pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in ENGINES]
ASKED = {"actual": "y", "predicted": "p", "by": {"group": "site"}}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Dask support is moving:FutureWarning")
@pytest.mark.filterwarnings("ignore:The .future.infer_string:Warning")
@pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning")
@pytest.mark.parametrize("engine", NAMES)
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
    with pytest.raises(ValueError, match="Weights in n must be numbers"):
        bcm.from_frame(pa.Table.from_pandas(FRAME.assign(n=-1)), **ASKED, weights="n")
    with pytest.raises(ValueError, match="Fractional weights need weights_are"):
        bcm.from_frame(pa.Table.from_pandas(FRAME.assign(n=0.5)), **ASKED, weights="n")
    with pytest.raises(TypeError, match="is not a table of pandas"):
        bcm.from_frame(7, **ASKED)


def test_importance_weights_are_those_of_the_rows():
    frame = FRAME.assign(n=RNG.lognormal(size=500))
    asked = ASKED | {"weights": "n", "weights_are": "importance"}
    one, two = (bcm.from_frame(each, **asked) for each in (frame, pa.Table.from_pandas(frame)))
    np.testing.assert_allclose(one, two)
    np.testing.assert_allclose(one["effective"], two["effective"])


SCORED = pd.DataFrame({"y": RNG.integers(0, 2, 400), "fold": RNG.integers(0, 2, 400)})
SCORED["a"], SCORED["b"] = RNG.normal(SCORED["y"]), RNG.normal(SCORED["y"] / 2)
EDGES = [-0.5, 0.25, 0.5, 2.0]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Dask support is moving:FutureWarning")
@pytest.mark.filterwarnings("ignore:The .future.infer_string:Warning")
@pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning")
@pytest.mark.parametrize("engine", [name for name in NAMES if name != "columns"])
def test_every_engine_counts_classifiers_and_scores(engine):
    table = ENGINES[engine](FRAME.assign(q=FRAME["y"]))
    asked = {"actual": "y", "by": {"group": "site"}, "weights": "n"}
    both = bcm.from_frame(table, predicted={"p": "p", "perfect": "q"}, **asked)
    rows = FRAME.loc[FRAME.index.repeat(FRAME["n"])]
    expected = bcm.from_classifiers(
        rows["y"], {"p": rows["p"], "perfect": rows["y"]}, by={"group": rows["site"]}
    )
    assert counts_of(both).identical(counts_of(expected))
    binned = bcm.from_scored_frame(ENGINES[engine](SCORED), ["a", "b"], actual="y", edges=EDGES)
    assert binned.identical(bcm.from_scored_frame(SCORED, ["a", "b"], actual="y", edges=EDGES))


def test_bins_are_exact_at_their_edges_and_say_what_an_area_may_miss():
    rows = bcm.from_scores(SCORED["y"], {"a": SCORED["a"]}, fold=SCORED["fold"])
    exact = bcm.from_scored_frame(SCORED, {"a": "a"}, actual="y", fold="fold")
    np.testing.assert_allclose(bcm.curves.auc(exact), bcm.curves.auc(rows))
    binned = bcm.from_scored_frame(SCORED, "a", actual="y", edges=EDGES)
    for edge in EDGES:
        cases = binned["weight"].where((binned["score"] >= edge) & (binned["actual"] == 1), 0)
        assert cases.sum() == ((SCORED["a"] >= edge) & (SCORED["y"] == 1)).sum()
    areas = [
        roc_auc_score(each["actual"], each["score"].clip(-9), sample_weight=weight)
        for each, weight in (
            (binned, binned["weight"]),
            (SCORED.assign(actual=SCORED["y"], score=SCORED["a"]), None),
        )
    ]
    assert 0 < abs(np.diff(areas)[0]) <= binned["area_error"]


@pytest.mark.long
@pytest.mark.parametrize("engine", ["polars lazy", "duckdb"])
def test_a_thousand_bins_are_no_deep_expression(engine):
    edges = np.linspace(0, 1, 1001)[1:-1]
    frame = pd.DataFrame({"y": [0, 1, 0, 1, 1], "a": [-0.2, 0.001, 0.0015, 0.5, 1.0]})
    found = bcm.from_scored_frame(ENGINES[engine](frame), "a", actual="y", edges=edges)
    expected = np.sort([-np.inf, *edges[[0, 0, 499, 998]]])
    np.testing.assert_array_equal(np.sort(found["score"]), expected)


def test_counts_of_scores_may_be_fractions():
    halves = SCORED.assign(n=0.5)
    found = bcm.from_scored_frame(halves, "a", actual="y", weights="n", edges=EDGES)
    whole = bcm.from_scored_frame(SCORED, "a", actual="y", edges=EDGES)
    np.testing.assert_allclose(found["weight"], whole["weight"] / 2)


@pytest.mark.parametrize(
    ("frame", "asked", "message"),
    [
        (SCORED, {"scores": "c"}, "There is no column"),
        (SCORED.assign(a="x"), {"scores": "a"}, "a must be a column of scores"),
        (SCORED, {"scores": "a", "edges": [1, 0]}, "increasing numbers"),
        (SCORED.assign(a=np.nan), {"scores": "a", "edges": EDGES}, "a has missing values"),
        ([1, 2], {"scores": "a"}, "A table of pandas or another engine"),
        (
            pa.table({"y": [0, 1, 1], "a": [0.1, 0.9, 0.9], "n": [1, None, 2]}),
            {"scores": "a", "weights": "n"},
            r"n has missing values \(1\)",
        ),
    ],
)
def test_scores_that_cannot_be_counted(frame, asked, message):
    with pytest.raises((ValueError, TypeError), match=message):
        bcm.from_scored_frame(frame, actual="y", **asked)


def test_nan_is_no_high_score_where_the_engine_sorts_it_last():
    table = _engine("polars").DataFrame({"y": [0, 1, 1], "a": [0.1, 0.9, np.nan]})
    with pytest.raises(ValueError, match="a has missing values"):
        bcm.from_scored_frame(table, "a", actual="y", edges=EDGES)
