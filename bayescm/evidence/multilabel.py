"""
Multilabel evidence: the actual labels and the predicted labels of each example.

Multilabel evidence is an ``xr.Dataset`` with the boolean variables ``actual`` (example, label) and
``predicted`` ([classifier,] example, label). The optional variable ``label_score`` contains the
scores of the labels, with the dimensions of ``predicted``. Examples may have clusters and slices
(`bayescm.evidence.clusters_and_slices`), and a ``weight`` with the scalar coordinate
``weights_are``.
"""

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.clusters_and_slices import (
    combine_along,
    with_clusters,
    with_slices,
    with_weights,
)
from bayescm.evidence.default_models import of_items
from bayescm.evidence.descriptions import describe_multilabel
from bayescm.evidence.evidence_type import (
    BATCH_FORM,
    Columns,
    EvidenceType,
)
from bayescm.evidence.identifiers import as_pandas, check_no_identifiers
from bayescm.evidence.labels import UnknownLabelError, as_labels, check_plain_labels
from bayescm.evidence.resampling import resample_rows
from bayescm.evidence.sums_of_items import (
    RULES_OF_ITEMS,
    along_units,
    check_one_system,
    number_of_items,
    parts_of,
)
from bayescm.evidence.tabulate import check_sizes
from bayescm.validate import check_reals, check_row_order, fail, suggest, unmasked

_RESERVED = ("example", "label", "classifier", "measure", "bound")


def from_multilabel(
    actual: Any,
    predicted: Any,
    *,
    labels: Sequence[Hashable] | None = None,
    group: Any = None,
    by: Mapping[str, Any] | None = None,
    weights: Any = None,
    weights_are: str | None = None,
    scores: Any = None,
) -> xr.Dataset:
    """
    Return actual and predicted label sets of examples as evidence.

    Use this if any number of labels can be correct at once, as for the tags of a text, the findings
    on an image, or the genres of a film. If each example has exactly one label, use
    `from_predictions`.

    Parameters
    ----------
    actual : array_like, shape (n, L), or sequence of n sets of labels
        Labels of each example, in one of these forms:

        - Indicators (0 and 1 or booleans), as an array, a sparse matrix, or a DataFrame whose
          columns are named after the labels.
        - The labels of each example, as lists or sets.
    predicted : the same, or mapping of str to the same
        Predicted labels in the same form. A mapping contains the predictions of several systems for
        the same examples. Columns of DataFrames are matched by name.
    labels : sequence, optional
        Names of the columns of arrays. For DataFrames and label sets, all labels in the desired
        order. By default the names of the columns, the sorted labels that occur, or 0, 1, ...
    group : array_like, shape (n,), optional
        Cluster of each example, such as the patient shown in an image. Examples in a cluster are
        not treated as independent.
    by : mapping of str to array_like (n,), optional
        Slices of the examples, e.g. ``{"site": site}``. Results are computed for each slice, along
        a dimension of this name.
    weights : array_like, shape (n,), optional
        Weight >= 0 of each example.
    weights_are : {"counts", "importance"}, optional
        Meaning of the weights. Required if they are not integers.

        - ``"counts"``: the weight is the number of examples that a row represents.
        - ``"importance"``: the weight of the example in averages, such as the inverse of its
          sampling probability. The scale of the weights does not matter.
    scores : array_like or DataFrame, shape (n, L), or mapping of str to these, optional
        Score or probability of each label, with columns as in ``actual``. A mapping if
        ``predicted`` is a mapping. Required for ``auc``, ``average_precision`` and
        ``label_ranking_average_precision``.

    Returns
    -------
    Dataset, dims ([classifier,] example, label)

    Raises
    ------
    ValueError
        If an indicator is missing or neither 0 nor 1, or a score is missing or infinite. If labels
        or lengths differ, a label occurs twice, or it is ambiguous whether lists contain labels or
        indicators. Also if the labels of an example are a sequence, such as the tags of words,
        which `from_item_counts` supports.
    TypeError
        If the input is neither indicators nor label sets.

    Examples
    --------
    >>> evidence = from_multilabel([{"cat"}, {"cat", "dog"}, set()], [{"cat"}, {"dog"}, {"dog"}])
    >>> evidence["actual"].values.astype(int)
    array([[1, 0],
           [1, 1],
           [0, 0]])
    >>> both = {"a": np.eye(3), "b": np.ones((3, 3))}
    >>> dict(from_multilabel(np.eye(3), both, labels=["x", "y", "z"]).sizes)
    {'example': 3, 'label': 3, 'classifier': 2}
    """
    several = isinstance(predicted, Mapping)
    systems = dict(predicted) if several else {"predicted": predicted}
    if not systems:
        raise fail("No systems are given", ..., "", 'pass e.g. {"a": predicted}')
    columns = {"actual": actual, "predicted": systems, "scores": scores, "group": group, "by": by}
    columns["weights"] = weights
    check_row_order(columns)
    names = [f"predicted by {name}" for name in systems] if several else ["predicted"]
    tables = dict(zip(("actual", *names), map(as_pandas, (actual, *systems.values())), strict=True))
    matrices, label_names = _matrices(tables, labels)
    check_sizes({name: len(matrix) for name, matrix in matrices.items()})
    truth, *answers = matrices.values()
    evidence = xr.Dataset({"actual": (("example", "label"), truth)})
    evidence = evidence.assign_coords(label=label_names)
    if several:
        stacked = (("classifier", "example", "label"), np.stack(answers))
        evidence = evidence.assign(predicted=stacked)
        evidence = evidence.assign_coords(classifier=[str(name) for name in systems])
    else:
        evidence = evidence.assign(predicted=(("example", "label"), answers[0]))
    if scores is not None:
        evidence = evidence.assign(label_score=_scores(evidence, scores, several))
    evidence = with_weights(
        with_clusters(evidence, group, "example"), weights, weights_are, "example"
    )
    taken = _RESERVED if group is None else (*_RESERVED, "group")
    return as_multilabel(with_slices(evidence, by, "example", taken))


# Conversion of tables and label sets to booleans (example, label)


def _matrices(tables, labels):
    """Return a boolean matrix for each table, and the labels common to all tables."""
    of_sets = {name: _is_sets(name, table) for name, table in tables.items()}
    if len(set(of_sets.values())) > 1:
        kinds = {name: "sets" if sets else "indicators" for name, sets in of_sets.items()}
        todo = "pass all as indicators, or all as sets of labels"
        raise fail("Indicators and sets of labels cannot be combined: {}", kinds, "", todo)
    if next(iter(of_sets.values())):
        return _of_sets(tables, labels)
    matrices = {name: _indicators(name, table) for name, table in tables.items()}
    columns = {
        name: table.columns for name, table in tables.items() if isinstance(table, pd.DataFrame)
    }
    widths = {name: matrix.shape[1] for name, matrix in matrices.items()}
    if len(set(widths.values())) > 1:
        todo = "give every table a column for each label"
        raise fail("The tables have different numbers of labels: {}", widths, "", todo)
    (width, *_) = widths.values()
    default = next(iter(columns.values())) if columns else range(width)
    names = _distinct(list(default) if labels is None else labels)
    if len(names) != width:
        todo = "name every column once"
        raise fail(f"{width} labels are needed, one per column", names, "", todo)
    for name, index in columns.items():
        _distinct(list(index))
        for label in index:
            if label not in names:
                todo = suggest(label, names) or "give all tables the same columns"
                raise fail(f"{name} has a column {{}}, which is not a label", label, names, todo)
        matrices[name] = matrices[name][:, index.get_indexer(pd.Index(names))]
    return matrices, _label_array(names)


def _is_sets(name, table):
    """Return True if a table contains the labels of each example rather than indicators."""
    if isinstance(table, str | Mapping) or (
        not hasattr(table, "shape") and not isinstance(table, Iterable)
    ):
        raise _neither(name, table)
    if np.ndim(table) == 2 if hasattr(table, "shape") else False:
        return False
    if getattr(table, "ndim", 1) == 2:  # a sparse matrix
        return False
    rows = list(table)
    if not rows:
        raise fail("The evidence contains no examples", ..., "", "pass some predictions")
    for row in rows:
        if isinstance(row, str) or not isinstance(row, Iterable):
            raise _neither(name, row)
    if any(isinstance(row, AbstractSet) for row in rows):
        return True
    sequences = [list(row) for row in rows]
    numbers = all(
        isinstance(item, bool | int | float | np.number | np.bool) and item in (0, 1)
        for row in sequences
        for item in row
    )
    if not numbers or len({len(row) for row in sequences}) > 1 or not sequences[0]:
        return True
    if any(len(set(row)) < len(row) for row in sequences):
        return False  # labels of an example would be distinct
    todo = "pass np.array(...) if these are indicators, and sets if they are labels"
    raise fail(
        f"The values of {name}, e.g. {{}}, can be indicators or the labels 0 and 1",
        rows[0],
        "",
        todo,
    )


def _neither(name, got):
    todo = "pass np.array of 0 and 1, or a list of sets; one label per example: `from_predictions`"
    if isinstance(got, str) and got.strip()[:1] in ("[", "{"):
        todo = f"parse the texts of {name} first: [json.loads(text) for text in column]"
    return fail(
        f"{name} must have an indicator for every label, or a set of labels, for each example",
        got,
        "",
        todo,
        TypeError,
    )


def _indicators(name, table):
    """Return booleans (example, label) from indicators 0 and 1."""
    table = table.toarray() if hasattr(table, "toarray") else table
    if isinstance(table, pd.DataFrame):
        check_no_identifiers(table, "labels", "make {name} the index", roles=())
    values = np.asarray(unmasked(table, name))
    if values.ndim != 2:
        raise _neither(name, values.shape)
    if not values.size:
        raise fail(f"{name} is empty: its shape is {{}}", values.shape, "", "pass some predictions")
    if values.dtype == bool:
        return values
    if (absent := np.asarray(pd.isna(values))).any():
        where = tuple(int(index[0]) for index in np.nonzero(absent))
        raise fail(
            f"{name} has missing indicators: {{}}",
            where,
            "",
            "leave the example out, or fill in the indicators",
        )
    zero, one = values == 0, values == 1
    if not np.all(zero | one):
        got = values[~np.asarray(zero | one, dtype=bool)][0]
        todo = "compare probabilities with a threshold first: scores >= 0.5"
        raise fail(f"Indicators in {name} must be 0 or 1", got, "", todo)
    return np.asarray(one, dtype=bool)


def _of_sets(tables, labels):
    """Return booleans (example, label) from the labels of each example."""
    rows_of = {name: [_labels_of(row) for row in table] for name, table in tables.items()}
    for name, rows in rows_of.items():
        _check_no_tags(name, rows)
    sets = {name: [set(row) for row in rows] for name, rows in rows_of.items()}
    occurring = set().union(*(row for rows in sets.values() for row in rows))
    check_plain_labels(occurring)
    if labels is None:
        try:
            labels = sorted(occurring)
        except TypeError:
            kinds = sorted({type(label).__name__ for label in occurring})
            todo = "convert them to one type"
            raise fail("The labels must all have the same type", kinds, "", todo) from None
    names = _distinct(labels)
    if not names:
        raise fail("The evidence contains no labels", ..., "", "name the labels with `labels=`")
    place = {label: index for index, label in enumerate(names)}
    matrices = {name: np.zeros((len(rows), len(names)), bool) for name, rows in sets.items()}
    for name, rows in sets.items():
        for example, row in enumerate(rows):
            for label in row:
                if label not in place:
                    what, todo = f"{name} has an unknown label {{}}", suggest(label, names)
                    raise fail(what, label, names, todo, UnknownLabelError)
                matrices[name][example, place[label]] = True
    return matrices, _label_array(names)


def _labels_of(row):
    return row if isinstance(row, AbstractSet) else list(row)


# Tags of words in named entity recognition: B-PER begins a name, I-PER continues it, and O is
# outside.
_TAG = re.compile(r"O|[BIESLU]-.+")


def _check_no_tags(name, rows):
    """Raise an error if the labels of an example are a sequence, such as a tag for each word."""
    todo = (
        "count the items found, invented and missed in each text, and use "
        "`from_item_counts(tp=, fp=, fn=)`, or classify single words with `from_predictions`"
    )
    for row in rows:
        if isinstance(row, list) and len(set(row)) < len(row):
            note = "; if these are labels, and not tags of words, pass sets"
            raise fail(f"{name} has an example with a repeated label: {{}}", row, "", todo + note)
    every = set().union(*rows)
    texts = [label for label in every if isinstance(label, str)]
    if len(texts) == len(every) > 1 and "O" in every and all(map(_TAG.fullmatch, texts)):
        raise fail(
            f"{name} contains tags of words, such as {{}}, whose order and number matter",
            sorted(texts)[:3],
            "",
            todo,
        )


def _label_array(names):
    return as_labels(names) if len(names) > 1 else np.array(names)


def _distinct(labels):
    labels = list(labels)
    texts = [str(label) for label in labels]
    for text in texts:
        if texts.count(text) > 1:
            raise fail("The label {} occurs twice", text, "", "rename one of them")
    return labels


def _scores(evidence, scores, several):
    """Return the scores of the labels, with the dimensions of the predictions."""
    predicted = evidence["predicted"]
    if isinstance(scores, Mapping) != several:
        todo = "pass one of each, or mappings of both"
        raise fail("Scores and predictions are from different systems", ..., "", todo)
    tables = {str(name): table for name, table in scores.items()} if several else {"": scores}
    names = predicted["classifier"].values.tolist() if several else [""]
    if {*tables} != {*names}:
        raise fail(
            f"The scores are from the systems {list(tables)}, but the predictions are from {names}",
            ...,
            "",
            "give all systems scores",
        )
    shape, labels = predicted.shape[-2:], evidence["label"].values.tolist()
    rows = []
    for name in names:
        table = tables[name]
        if isinstance(table, pd.DataFrame):
            if {*table.columns} != {*labels} or len(table.columns) != len(labels):
                todo = "give the scores a column for each label"
                raise fail(
                    f"The scores have columns {list(table.columns)}, but the labels are {labels}",
                    ...,
                    "",
                    todo,
                )
            table = table[labels].to_numpy()
        values = check_reals(unmasked(table, "a score"), "scores", "pass numbers")
        if values.shape != shape:
            raise fail(
                f"Scores must have the shape {shape}",
                values.shape,
                "",
                "give each example a score for every label",
            )
        if not np.isfinite(values).all():
            todo = "leave the example out, or give the label its lowest score"
            raise fail("A score is missing or infinite", ..., "", todo)
        rows.append(values)
    return predicted.dims, np.stack(rows) if several else rows[0]


# Validation


def is_multilabel(evidence: Any) -> bool:
    """Return True if an object is multilabel evidence."""
    return isinstance(evidence, xr.Dataset) and all(
        name in evidence.data_vars and "label" in evidence[name].dims
        for name in ("actual", "predicted")
    )


def as_multilabel(evidence: xr.Dataset) -> xr.Dataset:
    """
    Validate multilabel evidence and return it with dims ([classifier,] example, label).

    Raises
    ------
    TypeError, ValueError
        If the evidence is not valid multilabel evidence.
    """
    if not is_multilabel(evidence):
        todo = "use `from_multilabel`"
        got = type(evidence).__name__
        raise fail("This function needs multilabel evidence", got, "", todo, TypeError)
    extra = set(evidence["predicted"].dims) - {"classifier", "example", "label"}
    if extra or set(evidence["actual"].dims) != {"example", "label"}:
        todo = "select along it, or pass slices as `by=` of `from_multilabel`"
        raise fail(
            "Multilabel evidence cannot have the dimension {}",
            sorted(map(str, extra)),
            "",
            todo,
        )
    if not evidence.sizes["example"]:
        raise fail("The evidence contains no examples", ..., "", "pass some predictions")
    for name in ("actual", "predicted"):
        if evidence[name].dtype != bool:
            todo = "use `from_multilabel`"
            raise fail(f"{name} must be boolean", evidence[name].dtype.name, "", todo)
    scores: dict[str, Any] = {}
    if "label_score" in evidence:
        if {*evidence["label_score"].dims} != {*evidence["predicted"].dims}:
            todo = "use `from_multilabel`"
            raise fail("Scores and predictions must have the same dimensions", ..., "", todo)
        scores["label_score"] = evidence["label_score"].transpose(..., "example", "label")
    dims = ("example", "label")
    if not scores and evidence["actual"].dims == evidence["predicted"].dims == dims:
        return evidence
    return evidence.assign(
        actual=evidence["actual"].transpose("example", "label"),
        predicted=evidence["predicted"].transpose(..., "example", "label"),
        **scores,
    )


# Batches of a monitor

_FORM = "multilabel"


class LabelledExamples(NamedTuple):
    """
    Batch of multilabel examples.

    Attributes
    ----------
    actual, predicted : ndarray of bool, shape (n, L)
    """

    actual: np.ndarray
    predicted: np.ndarray

    @property
    def number_wrong(self) -> np.ndarray:
        """Number of wrong labels of each example, shape (n,)."""
        return (self.actual ^ self.predicted).sum(1).astype(float)

    def cells(self, chosen: Sequence[bool] | None = None) -> np.ndarray:
        """Return tp, fn, fp and tn (4, n) of each example over all, or selected, labels."""
        labels = slice(None) if chosen is None else np.array(chosen)
        actual, predicted = self.actual[:, labels], self.predicted[:, labels]
        pairs = [
            actual & predicted,
            actual & ~predicted,
            ~actual & predicted,
            ~(actual | predicted),
        ]
        return np.stack([pair.sum(axis=1) for pair in pairs]).astype(float)


def as_batch(evidence: xr.Dataset, like: xr.DataArray | None = None) -> xr.DataArray:
    """
    Return multilabel examples in the form stored by a ledger, dims (example, truth, label).

    Raises
    ------
    ValueError
        If there are several systems, slices, clusters or scores.
    """
    evidence = as_multilabel(evidence)
    check_one_system(evidence)
    of_examples = [
        str(name) for name, column in evidence.variables.items() if "example" in column.dims
    ]
    if further := sorted({*of_examples} - {"example", "actual", "predicted"}):
        raise fail(
            "A batch with several labels cannot have {}",
            further,
            "",
            "leave them out; add each slice under its own name",
        )
    pairs = np.stack([evidence["actual"].values, evidence["predicted"].values], axis=1)
    coords = {"label": evidence["label"].values}
    dims = ["example", "truth", "label"]
    return xr.DataArray(pairs, coords, dims, "labels", {BATCH_FORM: _FORM})


def add_batches(
    batches: Sequence[LabelledExamples], like: xr.DataArray, coords: Mapping[str, np.ndarray]
) -> xr.Dataset:
    """Return the examples of batches as evidence, with the coordinates of their batches."""
    sizes, labels = [len(batch.actual) for batch in batches], like.indexes["label"].tolist()
    none = np.zeros((0, len(labels)), bool)
    variables = {
        name: (["example", "label"], np.concatenate([none, *(getattr(b, name) for b in batches)]))
        for name in ("actual", "predicted")
    }
    return xr.Dataset(variables, {"label": labels, **along_units(coords, sizes, "example")})


MULTILABEL = EvidenceType(
    name="multilabel",
    made_by="from_multilabel",
    unit="examples",
    matches=is_multilabel,
    canonical=as_multilabel,
    default_model=of_items("multilabel"),
    default_measures=lambda evidence: [
        *("f1_micro", "f1_macro", "f1_samples", "subset_accuracy", "hamming_loss")
    ],
    size=lambda evidence: evidence.sizes["example"],
    values=lambda evidence: evidence["predicted"],
    has_cells=False,
    measured_variable="example_cells",
    combine=combine_along("example", as_multilabel, "from_multilabel", _RESERVED),
    sentences=describe_multilabel,
    resample=resample_rows("example"),
    batch_forms=(_FORM,),
    watched_measures=lambda batch: ["precision_micro", "recall_micro", "f1_micro"],
    as_batch=as_batch,
    add=add_batches,
    batch_sizes=number_of_items,
    change_statistic=parts_of,
    alarm_rules=lambda sums: RULES_OF_ITEMS,
    columns=Columns(
        (("separator",), ("indicators",)),
        ("actual", "predicted", "labels", "group", "by", "weights", "weights_are"),
    ),
)
