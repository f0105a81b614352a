"""
Results of several classifiers on several data sets, for any measure and run.

Results are an ``xr.Dataset`` with ``result`` (data_set, classifier, run), where NaN marks a missing
run. The scalar coordinate ``measured`` is the name of the measure. The scalar coordinate
``test_share``, the size of a test set divided by the total size of test and training set, is the
assumed correlation between runs.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.clusters_and_slices import combine_along
from bayescm.evidence.descriptions import describe_results
from bayescm.evidence.evidence_type import (
    Columns,
    DefaultModel,
    EvidenceType,
)
from bayescm.evidence.identifiers import check_no_identifiers
from bayescm.validate import fail, no_numbers

DIMS = ("data_set", "classifier", "run")
_OF_EVIDENCE = (
    "for evidence with folds, pass its measure: "
    "from_results(measure({'wdbc': folds, ...}, 'f1_macro', dim='data_set'))"
)
_RUNS = ("repeat", "fold", "run")


def from_results(
    table: Any,
    *,
    measure: str | None = None,
    data_set: str = "data_set",
    classifier: str = "classifier",
    test_share: float | None = None,
) -> xr.Dataset:
    """
    Return results of several classifiers on several data sets as evidence.

    Use this to compare classifiers on a collection of benchmark data sets, if only scores are
    available.

    Parameters
    ----------
    table : DataFrame, DataArray or Dataset
        Scores of runs, in one of these forms:

        - Long table: columns for the data set, the classifier, the run (any of ``repeat``, ``fold``
          and ``run``) and the score.
        - Wide table without columns of the run: every other column is a run.
        - Wide table without a column of the classifier: every other column is a classifier.
        - DataArray or Dataset: a measure by fold, as returned by `bayescm.measure` for a mapping of
          the outcomes of each data set, or for evidence with dimensions ``data_set``,
          ``classifier`` and ``fold``.

        Runs with the same name are assumed to share their training and test examples. Missing rows
        and NaN are missing runs.
    measure : str, optional
        Name of the measure or, for a long table, the column with the scores. Names in the catalogue
        of measures, such as ``"error_rate"``, also determine whether higher or lower results are
        better.
    data_set, classifier : str
        Names of the columns of data sets and classifiers.
    test_share : float, optional
        Size of a test set divided by the total size of test and training set, in (0, 1). It is the
        assumed correlation between runs, due to shared training examples. By default 1/K if a
        column ``fold`` shows that every data set has K folds.

    Returns
    -------
    Dataset, dims (data_set, classifier, run)

    Raises
    ------
    ValueError
        If a column, or the name of a data set, classifier or run, is missing. If a run occurs
        twice, there are fewer than two runs, or ``test_share`` is not given and cannot be inferred.

    Examples
    --------
    >>> rows = [("iris", "a", 1, 0.9), ("iris", "a", 2, 0.8), ("iris", "b", 1, 0.7)]
    >>> table = pd.DataFrame(rows, columns=["data_set", "classifier", "fold", "accuracy"])
    >>> found = from_results(table)
    >>> dict(found.sizes), found["measured"].item(), found["test_share"].item()
    ({'data_set': 1, 'classifier': 2, 'run': 2}, 'accuracy', 0.5)

    From the folds of two data sets:

    >>> import bayescm as bcm
    >>> actual, fold = [1, 1, 0, 0] * 6, [0, 1] * 12
    >>> answers = {"a": [1, 1, 0, 1] * 6, "b": [1, 0, 0, 0] * 6}
    >>> folds = bcm.from_classifiers(actual, answers, positive=1, by={"fold": fold})
    >>> values = bcm.measure({"iris": folds, "wine": folds}, "f1", dim="data_set")
    >>> dict(bcm.from_results(values).sizes)
    {'data_set': 2, 'classifier': 2, 'run': 2}
    """
    if isinstance(table, xr.DataArray | xr.Dataset):
        table, test_share = _of_arrays(table, test_share)
    if not isinstance(table, pd.DataFrame):
        todo = "pass pandas.DataFrame(...)"
        if isinstance(table, Mapping):
            todo += f"; {_OF_EVIDENCE}"
        raise fail(
            f"Results must be a pandas DataFrame, not a {type(table).__name__}",
            ...,
            "",
            todo,
            TypeError,
        )
    runs = [name for name in _RUNS if name in table]
    long, name = _long(table, measure, data_set, classifier, runs)
    unnamed = long[list(DIMS)].isna()
    if unnamed.any(axis=None):
        where = [dim for dim in DIMS if unnamed[dim].any()]
        raise fail(
            f"Rows without a {' or '.join(where)}",
            int(unnamed.any(axis=1).sum()),
            "",
            "fill in the missing values",
        )
    twice = long.duplicated(list(DIMS))
    if twice.any():
        where = long.loc[twice, list(DIMS)].iloc[0].tolist()
        raise fail("The run {} occurs twice", where, "", "add a column repeat")
    if other := no_numbers(long["result"].dropna().to_numpy()):
        what, got, todo = other
        raise fail(f"Results must be numbers, not {what}", got, "", todo, TypeError)
    values = pd.to_numeric(long["result"], errors="coerce").astype(float)
    strange = long.loc[values.isna() & long["result"].notna(), "result"]
    if len(strange):
        raise fail(
            "Results must be numbers",
            strange.iloc[0],
            "",
            "correct the value, or pass NaN if it is missing",
        )
    cells = long.assign(result=values).set_index(list(DIMS))["result"].to_xarray()
    cells = cells.reindex({dim: pd.unique(long[dim]) for dim in DIMS})
    if test_share is None and "fold" in runs:
        test_share = 1 / max(_folds(table, data_set), 2)
    if test_share is None:
        raise fail(
            "The correlation between runs is unknown",
            ...,
            "",
            "pass test_share, e.g. `test_share=0.1` for ten folds",
        )
    scalars = {"measured": name, "test_share": float(test_share)}
    return as_results(cells.to_dataset(name="result").assign_coords(scalars))


def _of_arrays(values, test_share):
    """Return a measure by fold as a long table, and its test share."""
    if {"actual", "predicted", "outcome"} & {*values.dims, *values.coords}:
        dims = list(map(str, values.dims))
        raise fail(
            "Results of a measure are needed, but this is evidence with the dimensions {}",
            dims,
            "",
            _OF_EVIDENCE,
            TypeError,
        )
    if test_share is None and "test_share" in values.coords:
        shares = np.unique(values["test_share"])
        if len(shares) > 1:
            raise fail(
                "The data sets have different numbers of folds; their test shares are {}",
                shares,
                "",
                "pass e.g. `test_share=0.1` for ten folds, and NaN for missing runs",
            )
        test_share = float(shares[0])
    facts = [name for name in values.coords if name not in values.dims]
    if isinstance(values, xr.DataArray):
        values = values.rename(values.name or "score")
    frame = values.drop_vars(facts).to_dataframe().reset_index()
    labels = [name for name in values.dims if not pd.api.types.is_numeric_dtype(frame[name])]
    return frame.astype(dict.fromkeys(labels, object)), test_share


def _folds(table, data_set):
    """Return the number of folds, or raise an error if it differs between data sets."""
    number = table.groupby(data_set, observed=True)["fold"].nunique()
    if number.nunique() > 1:
        few, many = number.index[[number.argmin(), number.argmax()]]
        got = {few: int(number[few]), many: int(number[many])}
        raise fail(
            "The data sets have different numbers of folds: {}",
            got,
            "",
            "pass e.g. `test_share=0.1` for ten folds, and NaN for missing runs",
        )
    return int(number.iloc[0])


def _long(table, measure, data_set, classifier, runs):
    """Return columns data_set, classifier, run and result, and the name of the measure."""
    if data_set not in table:
        texts = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
        todo = f"name it, e.g. `data_set={texts[0] if texts else 'dataset'!r}`"
        if table.index.name == data_set:
            todo = "make it a column: `table.reset_index()`"
        elif not texts:
            todo = f"add a column {data_set!r} with the name of the data set of each row"
        raise fail(
            "The table has no column named {} for the data sets", data_set, list(table), todo
        )
    if not len(table):
        raise fail("The table contains no results", ..., "", "pass a table with rows")
    keys = [data_set, *([classifier] if classifier in table else []), *runs]
    rest = [name for name in table if name not in keys]
    check_no_identifiers(table[[*rest]], "scores", "leave `{name}` out", roles=())
    every = classifier in table and runs and (measure in rest or len(rest) == 1)
    if not runs and classifier not in table and measure not in rest:
        what = f"The table has neither a column {classifier!r} nor a column of runs"
        todo = (
            "name the column of classifiers, as in `classifier='model'`, or of runs, as in 'fold'"
        )
        raise fail(what, rest, f"a column {classifier!r}, or 'repeat', 'fold' or 'run'", todo)
    strange = [name for name in rest if not pd.api.types.is_numeric_dtype(table[name])]
    wide = bool(runs) != (classifier in table)
    if not every and (not wide or strange or not rest):
        got = strange or rest
        raise fail(
            "A table of results needs columns of numbers",
            got,
            "",
            "name the column of the scores with `measure=`, or remove the other columns",
        )
    if every:
        value = measure if measure in rest else rest[0]
        flat, name = table[[*keys, value]].rename(columns={value: "result"}), measure or value
    else:
        melted = "run" if classifier in table else "classifier"
        flat = table.melt(keys, rest, var_name=melted, value_name="result")
        name = measure or "score"
    flat = flat.rename(columns={data_set: "data_set", classifier: "classifier"})
    if len(runs) > 1:
        flat["run"] = flat[runs].astype(str).agg(", ".join, axis=1)
    elif runs:
        flat = flat.rename(columns={runs[0]: "run"})
    return flat[[*DIMS, "result"]], name


def is_results(evidence: Any) -> bool:
    """Return True if evidence consists of results of classifiers on data sets."""
    return isinstance(evidence, xr.Dataset) and "data_set" in evidence.dims


def as_results(evidence: xr.Dataset) -> xr.Dataset:
    """
    Validate results and return them with dims (data_set, classifier, run).

    Raises
    ------
    TypeError, ValueError
        If the evidence is not results, a number is infinite, or ``test_share`` is outside (0, 1).
    """
    complete = is_results(evidence) and {"result", "measured", "test_share"} <= set(
        evidence.variables
    )
    if not complete:
        todo = "use `from_results`"
        raise fail(
            f"This function needs results, not a {type(evidence).__name__}",
            ...,
            "",
            todo,
            TypeError,
        )
    evidence = evidence.transpose(*DIMS)
    if np.isinf(evidence["result"]).any():
        raise fail(
            "Results must be finite numbers, or NaN if missing",
            ...,
            "",
            "leave infinite results out",
        )
    share = evidence["test_share"].item()
    if not 0 < share < 1:
        raise fail(
            "`test_share` must be between 0 and 1",
            share,
            "",
            "pass the share of the examples that a run tests, e.g. `test_share=0.1` for ten folds",
        )
    if evidence.sizes["run"] < 2:
        todo = "pass one row per fold or repeat instead of averages"
        raise fail("Each data set needs at least two runs", evidence.sizes["run"], "", todo)
    return evidence


def model_of_results(results, keywords, members=None, compared=None):
    """Return the default model for results on several data sets, or for the runs on one."""
    one = results.sizes["data_set"] == 1
    return DefaultModel("correlated_t" if one else "hierarchical_differences", results)


RESULTS = EvidenceType(
    name="results",
    made_by="from_results",
    unit="data sets",
    matches=is_results,
    canonical=as_results,
    default_model=model_of_results,
    size=lambda results: results.sizes["data_set"],
    values=lambda results: results["result"],
    has_cells=False,
    combine=combine_along("data_set", as_results, "from_results", ragged="run"),
    sentences=describe_results,
    columns=Columns((("data_set",),), ("classifier", "test_share")),
)
