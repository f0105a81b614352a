"""
How evidence is written in the ledger: names, moments, tables of counts and item scores as text.

What all batches of a classifier share is its description: JSON of the labels and the positive
class, with the edges of the bins of forecasts, or with the names of the two classifiers of a
challenge and its rule; of item scores the ends of their scale. A batch is JSON of its cells in the
order of these labels, or of its items and their scores. Both carry the type and the version of
their encoding:

================== =========================================== ==================================
type               evidence, dims                              payload of a batch
================== =========================================== ==================================
counts             a confusion matrix, (actual, predicted)     C lists of C
forecasts          probabilities or scores, (actual, bin)      C lists, a number for each bin
paired_outcomes    two classifiers' answers to the same        C lists of C * C
                   examples, (actual, champion, challenger)
item_scores        a number for each item, (item)              the names of the items, null where
                                                               they have none, and their scores
multilabel         the labels that each example has, and       two texts of 0 and 1 for each
                   those predicted, (example, truth, label)    example, in the order of the labels
attempts           right answers and attempts of each item,    the names of the items, or null, and
                   (item, answers)                             two lists of numbers
item_counts        tp, fp and fn of each item, (item, cell)    the names of the items, or null, and
                                                               three lists of numbers
ratings            the labels of several raters, (pattern)     the patterns of labels that occur,
                                                               and how often each does
partly_labelled    answers of a judge and a classifier, and    the same
                   some labels, (pattern)
class_forecasts    probabilities of three classes or more,     the same, of probabilities on a grid
                   (pattern)
================== =========================================== ==================================

An encoding is of a table, and not of a type of evidence: probabilities and scores become a table
only by the bins of the first batch (`forecasts.forecast_table`), outcomes only where they are of
two classifiers (`challenge`), item scores and several labels only where they are of one system
(`item_scores`, `multilabel`). A further encoding needs a row here, its dims in `encoding_of`, what
its batches share in `_SHARED`, and its zeros in `zeros`.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime
from math import lgamma
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence import positive
from bayescm.online.chain import digest
from bayescm.validate import fail

COUNTS, FORECASTS, PAIRED_OUTCOMES = "counts", "forecasts", "paired_outcomes"
ITEM_SCORES, MULTILABEL = "item_scores", "multilabel"
ATTEMPTS, ITEM_COUNTS = "attempts", "item_counts"
RATINGS, PARTLY_LABELLED, CLASS_FORECASTS = "ratings", "partly_labelled", "class_forecasts"
_OF_PATTERNS = (RATINGS, PARTLY_LABELLED, CLASS_FORECASTS)
OF_FORECASTS = ("probabilities", "curve")  # the variables of measures of binned forecasts
# What a change is one of: of counts, of item scores, and of forecasts.
CHANGING = ("answers", "scores", "outcomes")
VERSION = 1  # of the encodings of today
# What the batches of a classifier share beside labels and positive class, as attributes of a table.
_SHARED: dict[str, tuple[str, ...]] = {
    COUNTS: (),
    FORECASTS: ("edges", "chances"),
    PAIRED_OUTCOMES: ("classifiers", "rule"),
    ITEM_SCORES: ("lowest", "highest", "lower_is_better"),
    MULTILABEL: (),
    ATTEMPTS: ("lowest", "highest", "lower_is_better", "unit_of_scores"),
    ITEM_COUNTS: (),
    RATINGS: ("labels", "positive", "raters"),
    PARTLY_LABELLED: ("labels", "positive", "classified"),
    CLASS_FORECASTS: ("labels", "positive"),
}
# The columns of a batch of items, beside their names.
ANSWERS = ("right", "attempts")
CELLS = ("tp", "fp", "fn")
# Encodings of items or examples, any number in a batch, and the noun and a column of each.
_OF_ITEMS = {
    ITEM_SCORES: ("scores", "score"),
    MULTILABEL: ("labels", "predicted"),
    ATTEMPTS: ("answers", "right"),
    ITEM_COUNTS: ("counts", "tp"),
}


class Description(NamedTuple):
    """
    What the ledger says of a classifier, or of a challenge, beside its batches.

    Attributes
    ----------
    classifier : str
    encoding : str
        The type of its batches, as in the table above.
    encoding_version : int
        Of the text.
    text : str
        JSON of what all batches share.
    """

    classifier: str
    encoding: str
    encoding_version: int
    text: str

    @property
    def genesis(self) -> str:
        """The hash that stands before the first entry of the classifier."""
        return digest("bayescm", *self)

    def facts(self) -> dict[str, Any]:
        """Return what all batches share, by its names."""
        check_encodings(self.classifier, [(self.encoding, self.encoding_version)])
        return json.loads(self.text)


class ScoredItems(NamedTuple):
    """
    A batch of item scores, in the order of the names of the items, or else of their scores.

    Attributes
    ----------
    item : list or None
        The names of the items, or None where they have none.
    score : ndarray, shape (n,)
    """

    item: list | None
    score: np.ndarray


class AnsweredItems(NamedTuple):
    """
    A batch of attempts, in the order of the names of the items, or else of their answers.

    Attributes
    ----------
    item : list or None
        The names of the items, or None if they have none.
    right, attempts : ndarray, shape (n,)
        The number of right answers and of attempts of each item.
    """

    item: list | None
    right: np.ndarray
    attempts: np.ndarray

    @property
    def score(self) -> np.ndarray:
        """The share of right answers of each item, (n,)."""
        return self.right / self.attempts


class CountedItems(NamedTuple):
    """
    A batch of counts of each item without true negatives.

    Attributes
    ----------
    item : list or None
        The names of the items, or None if they have none.
    tp, fp, fn : ndarray, shape (n,)
    """

    item: list | None
    tp: np.ndarray
    fp: np.ndarray
    fn: np.ndarray


class PatternCounts(NamedTuple):
    """
    A batch of patterns of labels; see `bayescm.online.uncertain_truth`.

    Attributes
    ----------
    pattern : list of str
        JSON of each pattern.
    counts : ndarray of int, shape (n,)
        How often each occurs.
    """

    pattern: list[str]
    counts: np.ndarray


class LabelledExamples(NamedTuple):
    """
    A batch of several labels.

    Attributes
    ----------
    actual, predicted : ndarray of bool, shape (n, L)
    """

    actual: np.ndarray
    predicted: np.ndarray


def encoding_of(table: xr.DataArray) -> str:
    """Return the type of a table of evidence."""
    if has_patterns(table):
        return table.attrs["patterns"]
    if "answers" in table.dims:
        return ATTEMPTS
    if "cell" in table.dims:
        return ITEM_COUNTS
    if has_item_scores(table):
        return ITEM_SCORES
    if has_labels(table):
        return MULTILABEL
    if table.ndim == 3:
        return PAIRED_OUTCOMES
    return FORECASTS if is_binned(table) else COUNTS


def is_binned(tables: xr.DataArray) -> bool:
    """Say whether tables, with whatever leading dims, are of binned forecasts."""
    return "bin" in tables.dims


def has_item_scores(tables: xr.DataArray) -> bool:
    """Return whether these are item scores or attempts, or the sums of batches of them."""
    of_items = "item" in tables.dims and "cell" not in tables.dims
    return of_items or (is_summed(tables) and "support" in tables.attrs)


def has_attempts(tables: xr.DataArray) -> bool:
    """Return whether these are attempts, or the sums of batches of them."""
    return "answers" in tables.dims or tables.attrs.get("unit_of_scores") == ATTEMPTS


def has_labels(tables: xr.DataArray) -> bool:
    """Return whether these are labels of examples or item counts, or the sums of batches."""
    of_examples = "label" in tables.dims or "cell" in tables.dims
    return of_examples or (is_summed(tables) and "labels" in tables.attrs)


def has_patterns(tables: xr.DataArray) -> bool:
    """Return whether these are counts of patterns: ratings, or partly labelled examples."""
    return "pattern" in tables.dims


def is_sampled(tables: xr.DataArray) -> bool:
    """Return whether the posterior after each batch is sampled: no change is then looked for."""
    return has_patterns(tables) and tables.attrs["patterns"] != PARTLY_LABELLED


def labels_of(tables: xr.DataArray) -> list:
    """Return the labels of the examples, or the sole unnamed label of item counts."""
    if is_summed(tables):
        return tables.attrs["labels"]
    return tables.indexes["label"].tolist() if "label" in tables.dims else []


def is_summed(tables: xr.DataArray) -> bool:
    """Say whether these are sums over the items or examples of batches, and no tables of counts."""
    return "statistic" in tables.dims


def sizes_of(tables: xr.DataArray) -> xr.DataArray:
    """Return the number of examples, or of items, of each leading index of tables."""
    if is_summed(tables):
        sizes = tables.sel(statistic="items", drop=True)
        is_whole = (sizes.values == np.floor(sizes.values)).all()  # where nothing is forgotten
        return sizes.astype(np.int64) if is_whole else sizes
    if has_patterns(tables):
        return tables.sum("pattern")
    return tables.sum(tables.dims[-2:])


def unit_of(tables: xr.DataArray) -> str:
    """Return what tables count, in the plural."""
    of_counts = has_labels(tables) and not labels_of(tables)
    return "items" if has_item_scores(tables) or of_counts else "examples"


def what_changes(tables: xr.DataArray) -> str:
    """Return what the rule `change` is about, which stands for the measure of its alarms."""
    return CHANGING[1 if has_item_scores(tables) else 2 if is_binned(tables) else 0]


def variables_of(tables: xr.DataArray) -> tuple[str, ...]:
    """Return the variables that measures of tables are functions of (their ``takes``)."""
    if has_attempts(tables):
        return ("attempts",)
    if has_item_scores(tables):
        return ("item_scores",)
    if has_labels(tables):
        return ("example_cells",)
    return OF_FORECASTS if is_binned(tables) else ("cells",)


def describe(classifier: str, evidence: xr.DataArray) -> Description:
    """Return the description of a classifier whose first batch this is."""
    encoding, facts = encoding_of(evidence), {}
    if encoding == MULTILABEL:
        facts = {"labels": evidence.indexes["label"].tolist()}
    elif encoding not in (*_OF_ITEMS, *_OF_PATTERNS):
        facts = {"labels": evidence.indexes["actual"].tolist(), "positive": positive(evidence)}
    facts |= {name: evidence.attrs[name] for name in _SHARED[encoding]}
    return Description(classifier, encoding, VERSION, json.dumps(facts))


def zeros(description: Description) -> xr.DataArray:
    """Return zero counts with the labels of a classifier, or no items on its scale."""
    facts = description.facts()
    if description.encoding == ITEM_SCORES:
        return xr.DataArray(np.zeros(0), {"item": []}, ["item"], "item_score", facts)
    if description.encoding == ATTEMPTS:
        coords = {"item": [], "answers": list(ANSWERS)}
        return xr.DataArray(np.zeros((0, 2)), coords, ["item", "answers"], "attempts", facts)
    if description.encoding == ITEM_COUNTS:
        coords = {"item": [], "cell": list(CELLS)}
        return xr.DataArray(np.zeros((0, 3)), coords, ["item", "cell"], "item_counts")
    if description.encoding == MULTILABEL:
        none, coords = np.zeros((0, 2, len(facts["labels"])), bool), {"label": facts["labels"]}
        return xr.DataArray(none, coords, ["example", "truth", "label"], "labels")
    if description.encoding in _OF_PATTERNS:
        attrs = facts | {"patterns": description.encoding}
        return xr.DataArray(np.zeros(0, np.int64), {"pattern": []}, ["pattern"], "counts", attrs)
    if description.encoding == PAIRED_OUTCOMES:
        todo = "ask for it as a challenge (online.Challenge, monitor challenge --name), or take "
        todo += "another name"
        what = "this is a challenge of two classifiers"
        raise fail(what, facts["classifiers"], "one classifier", todo)
    return (zero_forecasts if description.encoding == FORECASTS else zero_counts)(**facts)


def zero_counts(labels: list, positive: Any) -> xr.DataArray:
    """Return a confusion matrix of zeros."""
    coords = {"actual": labels, "predicted": labels}
    if positive is not None:
        coords["positive"] = positive
    cells = np.zeros((len(labels), len(labels)), dtype=np.int64)
    return xr.DataArray(cells, coords, ["actual", "predicted"], name="counts")


def zero_forecasts(
    labels: list, positive: Any, edges: Sequence[float], chances: bool
) -> xr.DataArray:
    """
    Return zero counts of forecasts in bins.

    Parameters
    ----------
    labels : list
        The negative and the positive class.
    positive : label
    edges : sequence of float
        Those of probabilities begin with 0 and end with 1; scores below the first and above the
        last have bins of their own.
    chances : bool
        Whether the forecasts are probabilities.
    """
    number = len(edges) - 1 if chances else len(edges) + 1
    coords = {"actual": labels, "bin": np.arange(number), "positive": positive}
    attrs = {"edges": [float(edge) for edge in edges], "chances": bool(chances)}
    cells = np.zeros((len(labels), number), dtype=np.int64)
    return xr.DataArray(cells, coords, ["actual", "bin"], "counts", attrs)


def encode(evidence: xr.DataArray, description: Description) -> dict[str, Any]:
    """
    Return type, version and payload of a batch; labels that it lacks count zero.

    Raises
    ------
    ValueError
        If it is not of the type, the labels, the bins, the scale or the classifiers of the batches
        before.
    """
    facts = description.facts()
    _check_type(evidence, description, facts)
    if description.encoding == ITEM_SCORES:
        payload = json.dumps({"item": _names(evidence), "score": evidence.values.tolist()})
        return {"encoding": ITEM_SCORES, "encoding_version": VERSION, "payload": payload}
    if description.encoding == MULTILABEL:
        rows = [[_bits(row) for row in pair] for pair in _in_label_order(evidence, facts["labels"])]
        payload = json.dumps({"actual": [r[0] for r in rows], "predicted": [r[1] for r in rows]})
        return {"encoding": MULTILABEL, "encoding_version": VERSION, "payload": payload}
    if description.encoding in (ATTEMPTS, ITEM_COUNTS):
        names = ANSWERS if description.encoding == ATTEMPTS else CELLS
        columns = dict(zip(names, evidence.values.T.astype(int).tolist(), strict=True))
        payload = json.dumps({"item": _names(evidence), **columns})
        encoding = description.encoding
        return {"encoding": encoding, "encoding_version": VERSION, "payload": payload}
    if has_patterns(evidence):
        _check_patterns(evidence, description.classifier, facts)
        columns = {"pattern": evidence["pattern"].values, "counts": evidence.values}
        payload = json.dumps({name: values.tolist() for name, values in columns.items()})
        encoding = description.encoding
        return {"encoding": encoding, "encoding_version": VERSION, "payload": payload}
    labels = _check_labels(evidence, description.classifier, facts)
    if labels != facts["labels"]:
        dims = [dim for dim in evidence.dims if dim != "bin"]
        evidence = evidence.reindex(dict.fromkeys(dims, facts["labels"]), fill_value=0)
    cells = evidence.values.reshape(len(facts["labels"]), -1).tolist()
    return {
        "encoding": description.encoding,
        "encoding_version": VERSION,
        "payload": json.dumps(cells),
    }


# Of the types of batches that a monitor takes, in messages.
_NOUNS = {
    COUNTS: "a confusion matrix",
    FORECASTS: "forecasts in bins",
    ITEM_SCORES: "item scores",
    MULTILABEL: "several labels of each example",
    ATTEMPTS: "attempts at each item",
    ITEM_COUNTS: "counts of each item",
    RATINGS: "labels of raters",
    PARTLY_LABELLED: "partly labelled examples",
    CLASS_FORECASTS: "probabilities of three classes or more",
}


def _names(evidence):
    """Return the names of items, or None where they are numbered by their order."""
    names = evidence.indexes["item"]
    if names.equals(pd.RangeIndex(len(names))):
        return None
    return [name if isinstance(name, int | float) else str(name) for name in names.tolist()]


def _bits(row):
    return "".join("01"[value] for value in row.tolist())


def _in_label_order(evidence, labels):
    """Return the labels (n, 2, L) in the order of the first batch, sorted by example."""
    got = evidence.indexes["label"].tolist()
    if unknown := [label for label in got if label not in labels]:
        todo = "pass the labels of the first batch: `from_multilabel(..., labels=[...])`"
        raise fail("labels unknown to the batches before", unknown, map(str, labels), todo)
    pairs = np.zeros((evidence.sizes["example"], 2, len(labels)), bool)
    pairs[..., [labels.index(label) for label in got]] = evidence.values  # others no example has
    return pairs[np.lexsort(pairs.reshape(len(pairs), -1).T[::-1])]


def _check_type(evidence, description, facts):
    """Raise where a batch is of another type than those before, or of others' bins or names."""
    classifier, todo = description.classifier, "take another name for it"
    encoding, recorded = encoding_of(evidence), description.encoding
    if encoding != recorded and PAIRED_OUTCOMES not in (encoding, recorded):
        raise fail(f"{classifier!r} holds other batches", _NOUNS[encoding], _NOUNS[recorded], todo)
    if encoding != recorded:
        got = "of two classifiers" if encoding == PAIRED_OUTCOMES else "of one classifier"
        before = f"of {facts['classifiers']}" if "classifiers" in facts else "of one"
        raise fail(f"{classifier!r} holds other batches", got, before, todo)
    if encoding == FORECASTS:
        for name, noun in (("edges", "edges of bins"), ("chances", "kind of forecasts")):
            if evidence.attrs[name] != facts[name]:
                what = f"other {noun} than those of {classifier!r}"
                advice = "bin all batches alike, or " + todo
                raise fail(what, evidence.attrs[name], str(facts[name]), advice)
    if encoding == ITEM_SCORES:
        for name in _SHARED[ITEM_SCORES]:
            if evidence.attrs[name] != facts[name]:
                what = f"{name} is not that of the batches of {classifier!r}"
                allowed, advice = str(facts[name]), "pass the scale of the first batch, or " + todo
                raise fail(what, evidence.attrs[name], allowed, advice)
    if encoding == PAIRED_OUTCOMES and evidence.attrs["classifiers"] != facts["classifiers"]:
        what, names = f"not the classifiers of challenge {classifier!r}", facts["classifiers"]
        raise fail(what, evidence.attrs["classifiers"], names, todo)
    # Where two processes begin a challenge at once, the rule of the first is that of both.
    if "rule" in facts and evidence.attrs["rule"] != facts["rule"]:
        what, rule = f"not the rule of challenge {classifier!r}", str(facts["rule"])
        raise fail(what, str(evidence.attrs["rule"]), rule, todo)


def _check_labels(evidence, classifier, facts):
    labels, positive_class = evidence.indexes["actual"].tolist(), positive(evidence)
    if unknown := [label for label in labels if label not in facts["labels"]]:
        raise fail(
            f"labels unknown to classifier {classifier!r}",
            unknown,
            f"labels among {facts['labels']}",
            "correct the labels, or start a new classifier with all of them",
        )
    if facts["positive"] is None and len(labels) < len(facts["labels"]):
        positive_class = None  # only of the two of many classes that occur in this batch
    if positive_class not in (None, facts["positive"]):
        allowed, todo = repr(facts["positive"]), f"pass `positive={facts['positive']!r}`"
        what = f"not the positive class of classifier {classifier!r}"
        raise fail(what, positive_class, allowed, todo)
    return labels


def _check_patterns(batch, classifier, facts):
    """Raise an error if a batch has labels, raters or a positive class that the first one lacks."""
    for name, noun in (("labels", "classes"), ("raters", "raters")):
        known = facts.get(name, [])
        if unknown := [label for label in batch.attrs.get(name, []) if label not in known]:
            todo = "begin with a batch that has all of them, under a new name"
            raise fail(f"{noun} unknown to the batches of {classifier!r}", unknown, known, todo)
    label = batch.attrs["positive"]
    if label not in (None, facts["positive"]):
        todo = f"pass `positive={facts['positive']!r}`"
        what = f"not the positive class of {classifier!r}"
        raise fail(what, label, repr(facts["positive"]), todo)
    if batch.attrs.get("classified") != facts.get("classified"):
        todo = "name the same columns as in the first batch"
        what = f"other predictions than in the batches of {classifier!r}"
        raise fail(what, batch.attrs["classified"], facts["classified"], todo)


def decode(payloads: Sequence[str], encoding: str) -> np.ndarray:
    """
    Return the cells of batches of one shape, without a Python object for each number.

    Of item scores and of several labels the batches have any number of items: an array of
    `ScoredItems`, or of `LabelledExamples`.
    """
    if not payloads:
        return np.array([])
    if encoding == ITEM_SCORES:
        batches = np.empty(len(payloads), dtype=object)
        for index, payload in enumerate(map(json.loads, payloads)):
            batches[index] = ScoredItems(payload["item"], np.array(payload["score"], float))
        return batches
    if encoding == MULTILABEL:
        batches = np.empty(len(payloads), dtype=object)
        for index, payload in enumerate(map(json.loads, payloads)):
            batches[index] = LabelledExamples(*(_rows(payload[name]) for name in _ANSWERS))
        return batches
    if encoding in (ATTEMPTS, ITEM_COUNTS):
        make, names = (AnsweredItems, ANSWERS) if encoding == ATTEMPTS else (CountedItems, CELLS)
        batches = np.empty(len(payloads), dtype=object)
        for index, payload in enumerate(map(json.loads, payloads)):
            columns = [np.array(payload[name], float) for name in names]
            batches[index] = make(payload["item"], *columns)
        return batches
    if encoding in _OF_PATTERNS:
        batches = np.empty(len(payloads), dtype=object)
        for index, payload in enumerate(map(json.loads, payloads)):
            counts = np.array(payload["counts"], np.int64)
            batches[index] = PatternCounts(payload["pattern"], counts)
        return batches
    joined = ",".join(payloads)
    dtype = np.int64 if set(joined) <= set("0123456789, []") else float
    shape = np.shape(json.loads(payloads[0]))
    numbers = joined.translate(str.maketrans("", "", "[] "))
    return np.fromstring(numbers, dtype, sep=",").reshape(-1, *shape)


_ANSWERS = ("actual", "predicted")


def _rows(texts):
    return np.array([list(text) for text in texts]) == "1"


def sum_of_payloads(payloads: Sequence[str], encoding: str) -> str:
    """Return the payload of several batches as one: the sums of their cells, or all their items."""
    batches = [json.loads(payload) for payload in payloads]
    if encoding == MULTILABEL:
        return json.dumps({name: [row for b in batches for row in b[name]] for name in _ANSWERS})
    if encoding in _OF_PATTERNS:
        total: Counter = Counter()
        for batch in batches:
            total.update(dict(zip(batch["pattern"], batch["counts"], strict=True)))
        patterns = sorted(total)
        counts = [total[pattern] for pattern in patterns]
        return json.dumps({"pattern": patterns, "counts": counts})
    if encoding not in _OF_ITEMS:
        return json.dumps(np.sum([np.array(cells) for cells in batches], axis=0).tolist())
    columns = {
        name: [value for batch in batches for value in batch[name]]
        for name in batches[0]
        if name != "item"
    }
    names = None
    if all(batch["item"] is not None for batch in batches):
        names = [name for batch in batches for name in batch["item"]]
    return json.dumps({"item": names, **columns})


def is_of_items(encoding: str) -> bool:
    """Return whether the batches of an encoding are lists of items or examples, of any length."""
    return encoding in _OF_ITEMS


def difference_of_items(encoding: str, payload: dict) -> tuple[str, list]:
    """Return the noun of what items have in an encoding, and the values in a payload."""
    noun, name = _OF_ITEMS[encoding]
    return noun, payload[name]


def chance_of_same(payload: str) -> float:
    """
    Return the chance, at most, that an independent batch is the same.

    Of counts x of n examples it is the multinomial one of x at the shares x / n, at which it is
    largest. Of item scores and of several labels it is that of the values that occur.
    """
    batch = json.loads(payload)
    if isinstance(batch, dict) and "pattern" in batch:
        counts = np.array(batch["counts"], float)
    elif isinstance(batch, dict):
        columns = [column for name, column in batch.items() if name != "item"]
        values = zip(*columns, strict=True)
        counts = np.array(list(Counter(values).values()), float)
    else:
        counts = np.array(batch, float).ravel()
    counts = counts[counts > 0]
    n = counts.sum()
    log = lgamma(n + 1) - sum(lgamma(count + 1) for count in counts)
    return float(np.exp(log + (counts * np.log(counts / n)).sum())) if n else 1.0


def check_encodings(classifier: str, encodings: Any) -> None:
    """Raise where an encoding is none of today's: a pair of type and version for each."""
    for encoding, version in set(encodings):
        if encoding not in _SHARED or version != VERSION:
            raise fail(
                f"unknown encoding of classifier {classifier!r}",
                f"{encoding}, version {version}",
                f"{', '.join(_SHARED)} of version {VERSION}",
                "install a newer bayescm (the ledger was not touched)",
            )


def check_name(value: str | int, keyword: str) -> str:
    """Return the name of a batch or classifier as text, or raise where it is not one."""
    is_name = isinstance(value, str | int | np.integer) and not isinstance(value, bool)
    text = str(value) if is_name else ""
    if not text.strip() or len(text) > 500 or not text.isprintable():
        allowed = "printable text of 1 to 500 characters, or a whole number"
        raise fail(f"{keyword} must be a name", value, allowed, f"pass {keyword}='2026-01-31'")
    return text


def as_utc(at: Any) -> datetime:
    """Return a moment as a datetime in UTC; a moment without a zone is taken as UTC."""
    try:
        if not isinstance(at, str | date | np.datetime64):  # a number has no unit
            raise TypeError
        if isinstance(at, str) and not at.strip()[:4].isdigit():  # the first of 1/2/2026?
            raise ValueError
        moment = pd.Timestamp(at)
        if pd.isna(moment):
            raise ValueError
        moment = moment.tz_localize("UTC") if moment.tzinfo is None else moment.tz_convert("UTC")
        return moment.to_pydatetime(warn=False)
    except (ValueError, TypeError, AttributeError):
        todo = "pass `at='2026-01-31T12:00'`"
        raise fail("at must be a time", at, "a datetime or ISO 8601 text", todo) from None


_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?")


def time_of_name(batch_id: str) -> str | None:
    """Return the moment that the name of a batch is in ISO 8601, such as 2026-01-31, or None."""
    if not _DATE.fullmatch(batch_id):
        return None
    try:
        return timestamp(as_utc(batch_id))
    except ValueError:  # 2026-02-30
        return None


def as_datetime64(at: Any) -> np.datetime64:
    """Return a moment as numpy has it: in UTC, to the microsecond."""
    return np.datetime64(as_utc(at).replace(tzinfo=None), "us")


def timestamp(moment: datetime) -> str:
    """Write a moment in UTC with a fixed width, so that the order of the text is that of time."""
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
