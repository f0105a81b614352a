"""
Text encoding of evidence in the ledger: names, times, tables of counts and item scores.

The description of a classifier contains the facts that all its batches share, as JSON: the labels
and the positive class, the edges of the bins of forecasts, the names of the two classifiers and the
rule of a challenge, or the ends of the scale of item scores. The payload of a batch is JSON of its
cells in the order of these labels, or of its items and their scores. The type and the version of
the encoding are stored with both:

================== =========================================== ==================================
type               evidence, dims                              payload of a batch
================== =========================================== ==================================
counts             a confusion matrix, (actual, predicted)     C lists of C
forecasts          probabilities or scores, (actual, bin)      C lists, one number per bin
paired_outcomes    predictions of two classifiers for the      C lists of C * C
                   same examples, (actual, champion,
                   challenger)
item_scores        one number per item, (item)                 the names of the items (null if
                                                               unnamed), and their scores
multilabel         actual and predicted labels of each         two strings of 0 and 1 for each
                   example, (example, truth, label)            example, in the order of the labels
attempts           correct answers and attempts of each item,  the names of the items, or null, and
                   (item, answers)                             two lists of numbers
item_counts        tp, fp and fn of each item, (item, cell)    the names of the items, or null, and
                                                               three lists of numbers
ratings            the labels of several raters, (pattern)     the patterns of labels that occur,
                                                               and their frequencies
partly_labelled    predictions of a judge and a classifier,    the same
                   and some labels, (pattern)
class_forecasts    probabilities of three or more classes,     the same, with probabilities on a
                   (pattern)                                   grid
preferences        votes on pairs of systems, (pattern)        the same, with left, right and winner
================== =========================================== ==================================

`EvidenceType.as_batch` converts evidence to batches, and the attribute `BATCH_FORM` of a batch
names its encoding. A new encoding of patterns needs a row here and a line in `_PATTERNS`. Any other
new encoding needs a row, its shared facts in `_SHARED`, its empty batch in `zeros`, and the three
functions that write and read a payload (`encode`, `decode`, `sum_of_payloads`).
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
from bayescm.evidence.attempts import ANSWERS, AnsweredItems
from bayescm.evidence.binned_forecasts import OF_FORECASTS, zero_forecasts
from bayescm.evidence.evidence_type import BATCH_FORM
from bayescm.evidence.item_counts import CELLS, CountedItems
from bayescm.evidence.item_scores import ScoredItems
from bayescm.evidence.multilabel import LabelledExamples
from bayescm.evidence.patterns import PatternCounts
from bayescm.evidence.registry import TYPES, type_of
from bayescm.evidence.scores import forecast_table as forecast_table
from bayescm.online.chain import digest
from bayescm.online.classes import (
    CLASSES,
    ClassChange,
    current_names,
    facts_after,
)
from bayescm.validate import fail

COUNTS, FORECASTS, PAIRED_OUTCOMES = "counts", "forecasts", "paired_outcomes"
ITEM_SCORES, MULTILABEL = "item_scores", "multilabel"
ATTEMPTS, ITEM_COUNTS = "attempts", "item_counts"
RATINGS, PARTLY_LABELLED, CLASS_FORECASTS = "ratings", "partly_labelled", "class_forecasts"
# Encodings of patterns: their name in messages, and the facts that all batches share.
_PATTERNS: dict[str, tuple[str, tuple[str, ...]]] = {
    RATINGS: ("labels of raters", ("labels", "positive", "raters")),
    PARTLY_LABELLED: ("partly labelled examples", ("labels", "positive", "classified")),
    CLASS_FORECASTS: ("probabilities of three classes or more", ("labels", "positive")),
    "preferences": ("votes on pairs of systems", ("systems", "ordered")),
}
# Subjects of a change: answers, scores, outcomes.
CHANGING = tuple(dict.fromkeys(entry.changing for entry in TYPES))
_VARIABLES = {FORECASTS: OF_FORECASTS, CLASS_FORECASTS: OF_FORECASTS}
VERSION = 1  # current version of the encodings
# Value that replaces a probability of 0, in steps of the grid of probabilities.
_NO_CHANCE = 0.25
# Facts shared by all batches, in addition to labels and positive class, as attributes of a table.
_SHARED: dict[str, tuple[str, ...]] = {
    COUNTS: (),
    FORECASTS: ("edges", "chances"),
    PAIRED_OUTCOMES: ("classifiers", "rule"),
    ITEM_SCORES: ("lowest", "highest", "lower_is_better"),
    MULTILABEL: (),
    ATTEMPTS: ("lowest", "highest", "lower_is_better", "unit_of_scores"),
    ITEM_COUNTS: (),
    **{form: facts for form, (_, facts) in _PATTERNS.items()},
}
# Encodings of batches with any number of items or examples, with a noun and a column for each.
_OF_ITEMS = {
    ITEM_SCORES: ("scores", "score"),
    MULTILABEL: ("labels", "predicted"),
    ATTEMPTS: ("answers", "right"),
    ITEM_COUNTS: ("counts", "tp"),
}


class Description(NamedTuple):
    """
    Description of a classifier or a challenge in the ledger, without its batches.

    Attributes
    ----------
    classifier : str
        Name of the classifier or challenge.
    encoding : str
        Type of its batches, as in the table above.
    encoding_version : int
        Version of the text.
    text : str
        JSON of the facts that all batches share, with the classes of the first batch.
    changes : tuple of ClassChange
        Later entries that rename or add classes.
    """

    classifier: str
    encoding: str
    encoding_version: int
    text: str
    changes: tuple[ClassChange, ...] = ()

    @property
    def genesis(self) -> str:
        """Start of the hash chain of the classifier."""
        return digest("bayescm", *self[:4])

    def first_facts(self) -> dict[str, Any]:
        """Return the shared facts of all batches by name, with the classes of the first batch."""
        check_encodings(self.classifier, [(self.encoding, self.encoding_version)])
        return json.loads(self.text)

    def facts(self) -> dict[str, Any]:
        """Return the shared facts of all batches by name, with the current classes."""
        return facts_after(self.first_facts(), self.changes)

    def names(self) -> dict[Any, Any]:
        """Return a dict that maps former class names to current ones."""
        return current_names(self.first_facts()["labels"], self.changes) if self.changes else {}

    def as_of(self, entry: int) -> "Description":
        """Return the description at the time when an entry was written."""
        earlier = tuple(change for change in self.changes if change.entry < entry)
        return self._replace(changes=earlier)

    def number_of_classes(self, entry: int) -> int:
        """Return the number of classes at the time when an entry was written."""
        return len(self.as_of(entry).facts()["labels"])


def encoding_of(table: xr.DataArray) -> str:
    """Return the encoding of a batch in the ledger, or of the batches in a sum."""
    return table.attrs.get(BATCH_FORM, COUNTS)


def sizes_of(tables: xr.DataArray) -> xr.DataArray:
    """Return the number of examples or items for each leading index of tables."""
    return type_of(tables).batch_sizes(tables)


def unit_of(tables: xr.DataArray) -> str:
    """Return the plural noun for the units that tables count."""
    return type_of(tables).unit


def what_changes(tables: xr.DataArray) -> str:
    """Return the subject of the rule `change`, which its alarms report as their measure."""
    return type_of(tables).changing


def variables_of(tables: xr.DataArray) -> tuple[str, ...]:
    """Return the variables that measures of tables depend on (their ``takes``)."""
    variable = type_of(tables).measured_variable
    return _VARIABLES.get(encoding_of(tables), ("cells",)) if variable is None else (variable,)


def describe(classifier: str, evidence: xr.DataArray) -> Description:
    """Return the description of a classifier, given its first batch."""
    encoding, facts = encoding_of(evidence), {}
    if encoding == MULTILABEL:
        facts = {"labels": evidence.indexes["label"].tolist()}
    elif encoding not in (*_OF_ITEMS, *_PATTERNS):
        facts = {"labels": evidence.indexes["actual"].tolist(), "positive": positive(evidence)}
    facts |= {name: evidence.attrs[name] for name in _SHARED[encoding]}
    return Description(classifier, encoding, VERSION, json.dumps(facts))


def zeros(description: Description) -> xr.DataArray:
    """Return an empty batch of a classifier: zero counts with its labels, or no items."""
    facts, form = description.facts(), description.encoding
    if form == COUNTS:
        return zero_counts(**facts)
    if form == FORECASTS:
        return zero_forecasts(**facts)
    if form == PAIRED_OUTCOMES:
        todo = "use it as a challenge (online.Challenge, monitor challenge --name), or use "
        todo += "another name"
        raise fail("This is a challenge between {}", facts["classifiers"], "", todo)
    dims, coords = _EMPTY[form], {}
    if form == MULTILABEL:
        coords = {"label": facts.pop("labels")}
    elif form in (ATTEMPTS, ITEM_COUNTS):
        coords = {dims[1]: list(ANSWERS if form == ATTEMPTS else CELLS)}
    lengths = {dims[0]: 0, "truth": 2, **{dim: len(labels) for dim, labels in coords.items()}}
    cells = np.zeros([lengths[dim] for dim in dims], _DTYPES.get(form, float))
    coords |= {dims[0]: []} if dims[0] != "example" else {}
    return xr.DataArray(cells, coords, dims, form, facts | {BATCH_FORM: form})


# Dimensions of an empty batch, and its dtype if it is not float.
_EMPTY = {
    ITEM_SCORES: ["item"],
    ATTEMPTS: ["item", "answers"],
    ITEM_COUNTS: ["item", "cell"],
    MULTILABEL: ["example", "truth", "label"],
    **{form: ["pattern"] for form in _PATTERNS},
}
_DTYPES = {MULTILABEL: bool} | dict.fromkeys(_PATTERNS, np.int64)


def zero_counts(labels: list, positive: Any) -> xr.DataArray:
    """Return a confusion matrix of zeros."""
    coords = {"actual": labels, "predicted": labels}
    if positive is not None:
        coords["positive"] = positive
    cells = np.zeros((len(labels), len(labels)), dtype=np.int64)
    return xr.DataArray(cells, coords, ["actual", "predicted"], name="counts")


def encode(evidence: xr.DataArray, description: Description) -> dict[str, Any]:
    """
    Return the encoding, version and payload of a batch; missing labels get zero counts.

    Raises
    ------
    ValueError
        If the type, labels, bins, scale or classifiers of the batch differ from earlier batches.
    """
    facts = description.facts()
    _check_type(evidence, description, facts)
    if description.encoding == ITEM_SCORES:
        payload = json.dumps({"item": _names(evidence), "score": evidence.values.tolist()})
        return {"encoding": ITEM_SCORES, "encoding_version": VERSION, "payload": payload}
    if description.encoding == MULTILABEL:
        in_order = _in_label_order(evidence, facts["labels"], description.names())
        rows = [[_bits(row) for row in pair] for pair in in_order]
        payload = json.dumps({"actual": [r[0] for r in rows], "predicted": [r[1] for r in rows]})
        return {"encoding": MULTILABEL, "encoding_version": VERSION, "payload": payload}
    if description.encoding in (ATTEMPTS, ITEM_COUNTS):
        names = ANSWERS if description.encoding == ATTEMPTS else CELLS
        columns = dict(zip(names, evidence.values.T.astype(int).tolist(), strict=True))
        payload = json.dumps({"item": _names(evidence), **columns})
        encoding = description.encoding
        return {"encoding": encoding, "encoding_version": VERSION, "payload": payload}
    if description.encoding in _PATTERNS:
        _check_patterns(evidence, description, facts)
        columns = {"pattern": evidence["pattern"].values, "counts": evidence.values}
        payload = json.dumps({name: values.tolist() for name, values in columns.items()})
        encoding = description.encoding
        return {"encoding": encoding, "encoding_version": VERSION, "payload": payload}
    labels = _check_labels(evidence, description, facts)
    if labels != facts["labels"]:
        dims = [dim for dim in evidence.dims if dim != "bin"]
        evidence = evidence.reindex(dict.fromkeys(dims, facts["labels"]), fill_value=0)
    cells = evidence.values.reshape(len(facts["labels"]), -1).tolist()
    return {
        "encoding": description.encoding,
        "encoding_version": VERSION,
        "payload": json.dumps(cells),
    }


# Nouns for the types of batches of a monitor, for messages.
_NOUNS = {
    COUNTS: "a confusion matrix",
    FORECASTS: "forecasts in bins",
    ITEM_SCORES: "item scores",
    MULTILABEL: "several labels of each example",
    ATTEMPTS: "attempts at each item",
    ITEM_COUNTS: "counts of each item",
    **{form: noun for form, (noun, _) in _PATTERNS.items()},
}


def _names(evidence):
    """Return the names of items, or None if they are only numbered."""
    names = evidence.indexes["item"]
    if names.equals(pd.RangeIndex(len(names))):
        return None
    return [name if isinstance(name, int | float) else str(name) for name in names.tolist()]


def _bits(row):
    return "".join("01"[value] for value in row.tolist())


def _check_not_renamed(labels, names, of):
    """Raise an error if a batch uses a former name of a class."""
    if former := [label for label in labels if label in names]:
        pairs = [f"{old!r} is now {names[old]!r}" for old in former]
        what = f"Classes of {of} were renamed: {', '.join(pairs)}"
        raise fail(what, ..., "", "use the new names in this batch and in later ones")


def _in_label_order(evidence, labels, names):
    """Return sorted rows of labels (n, 2, L), with columns in the order of the first batch."""
    got = evidence.indexes["label"].tolist()
    _check_not_renamed(got, names, "earlier batches")
    if unknown := [label for label in got if label not in labels]:
        todo = "pass the labels of the first batch: `from_multilabel(..., labels=[...])`"
        raise fail(
            "The labels {} are unknown in the earlier batches", unknown, map(str, labels), todo
        )
    pairs = np.zeros((evidence.sizes["example"], 2, len(labels)), bool)
    pairs[..., [labels.index(label) for label in got]] = evidence.values  # others stay False
    return pairs[np.lexsort(pairs.reshape(len(pairs), 2 * len(labels)).T[::-1])]


def _check_type(evidence, description, facts):
    """Raise an error if the type, bins, scale or names of a batch differ from earlier batches."""
    classifier, todo = description.classifier, "record this batch under another classifier name"
    encoding, recorded = encoding_of(evidence), description.encoding
    if encoding != recorded and PAIRED_OUTCOMES not in (encoding, recorded):
        raise fail(
            f"{classifier!r} has batches of {_NOUNS[recorded]}, but this batch has "
            f"{_NOUNS[encoding]}",
            ...,
            "",
            "record this batch under another classifier name",
        )
    if encoding != recorded:
        got = "of two classifiers" if encoding == PAIRED_OUTCOMES else "of one classifier"
        before = f"of {facts['classifiers']}" if "classifiers" in facts else "of one classifier"
        raise fail(
            f"{classifier!r} has batches {before}, but this batch is {got}",
            ...,
            "",
            "record this batch under another classifier name",
        )
    if encoding == FORECASTS:
        for name, noun in (("edges", "edges of bins"), ("chances", "kinds of forecasts")):
            got, known = evidence.attrs[name], facts[name]
            if got != known:
                if name == "chances":
                    got, known = (("scores", "probabilities")[bool(x)] for x in (got, known))
                raise fail(
                    f"The {noun} of this batch differ from those of {classifier!r}: {{}}",
                    got,
                    str(known),
                    "bin all batches alike, or " + todo,
                )
    if encoding == ITEM_SCORES:
        for name in _SHARED[ITEM_SCORES]:
            if evidence.attrs[name] != facts[name]:
                allowed, advice = str(facts[name]), "pass the scale of the first batch, or " + todo
                raise fail(
                    f"{name} is {{}}, which differs from the batches of {classifier!r}",
                    evidence.attrs[name],
                    allowed,
                    advice,
                )
    if encoding == PAIRED_OUTCOMES and evidence.attrs["classifiers"] != facts["classifiers"]:
        names = facts["classifiers"]
        raise fail(
            f"The classifiers {{}} differ from those of challenge {classifier!r}",
            evidence.attrs["classifiers"],
            names,
            "record this batch under another name",
        )
    # If two processes start a challenge at the same time, the first one determines the rule.
    if "rule" in facts and evidence.attrs["rule"] != facts["rule"]:
        rule = str(facts["rule"])
        raise fail(
            f"The rule {{}} differs from the rule of challenge {classifier!r}",
            str(evidence.attrs["rule"]),
            rule,
            "record this batch under another name",
        )


def _check_labels(evidence, description, facts):
    labels, positive_class = evidence.indexes["actual"].tolist(), positive(evidence)
    classifier = description.classifier
    _check_not_renamed(labels, description.names(), repr(classifier))
    if unknown := [label for label in labels if label not in facts["labels"]]:
        raise fail(
            f"The labels {{}} are unknown to classifier {classifier!r}, whose labels are "
            f"{facts['labels']}",
            unknown,
            "",
            "correct the labels, or add a class: `monitor.change_classes(add=[...])`, or "
            "bayescm monitor classes --add",
        )
    if facts["positive"] is None and len(labels) < len(facts["labels"]):
        positive_class = None  # refers only to the two classes that occur in this batch
    if positive_class not in (None, facts["positive"]):
        allowed, todo = repr(facts["positive"]), f"pass `positive={facts['positive']!r}`"
        raise fail(
            f"{{}} is not the positive class of classifier {classifier!r}",
            positive_class,
            allowed,
            todo,
        )
    return labels


def _check_patterns(batch, description, facts):
    """Raise an error if labels, raters or systems of a batch are unknown, or its facts differ."""
    classifier = description.classifier
    _check_not_renamed(batch.attrs.get("labels", []), description.names(), repr(classifier))
    for name, noun in (("labels", "classes"), ("raters", "raters"), ("systems", "systems")):
        known = facts.get(name, [])
        if unknown := [label for label in batch.attrs.get(name, []) if label not in known]:
            todo = f"correct the names, or record all {noun} in the first batch under a new name"
            if name == "labels":
                todo = "correct the labels, or add a class with `change_classes`"
            raise fail(
                f"The {noun} {{}} are unknown in the batches of {classifier!r}",
                unknown,
                known,
                todo,
            )
    label = batch.attrs.get("positive")
    if label not in (None, facts.get("positive")):
        todo = f"pass `positive={facts['positive']!r}`"
        raise fail(
            f"{{}} is not the positive class of {classifier!r}",
            label,
            repr(facts["positive"]),
            todo,
        )
    if batch.attrs.get("classified") != facts.get("classified"):
        todo = "name the same columns as in the first batch"
        raise fail(
            f"The predictions of this batch differ from the batches of {classifier!r}: {{}}",
            batch.attrs["classified"],
            facts["classified"],
            todo,
        )
    if batch.attrs.get("ordered") != facts.get("ordered"):
        known, todo = "is known", "pass `ordered=True`, as in the first batch"
        if not facts["ordered"]:
            known, todo = "is not known", "pass `ordered=False`, as in the first batch"
        raise fail(
            f"In the batches of {classifier!r}, the order in which systems were shown {known}",
            ...,
            "",
            todo,
        )


def decode(payloads: Sequence[str], encoding: str, n_labels: int = 0) -> np.ndarray:
    """
    Return the cells of batches as an array, parsed without one Python object per number.

    Batches of items, examples or patterns can have any length. For these, the result is an object
    array of `ScoredItems`, `LabelledExamples`, `AnsweredItems`, `CountedItems` or `PatternCounts`.
    Multilabel batches without examples get `n_labels` columns.
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
            batches[index] = LabelledExamples(
                *(_rows(payload[name], n_labels) for name in _ANSWERS)
            )
        return batches
    if encoding in (ATTEMPTS, ITEM_COUNTS):
        make, names = (AnsweredItems, ANSWERS) if encoding == ATTEMPTS else (CountedItems, CELLS)
        batches = np.empty(len(payloads), dtype=object)
        for index, payload in enumerate(map(json.loads, payloads)):
            columns = [np.array(payload[name], float) for name in names]
            batches[index] = make(payload["item"], *columns)
        return batches
    if encoding in _PATTERNS:
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


def payload_now(payload: str, description: Description) -> str:
    """
    Return the payload of an earlier batch with the current classes.

    Counts and probabilities of classes that were added later are zero. Patterns contain the names
    of classes, which are replaced.
    """
    if not description.changes:
        return payload
    form, number = description.encoding, len(description.facts()["labels"])
    batch = json.loads(payload)
    if form == MULTILABEL:
        rows = {name: [row.ljust(number, "0") for row in batch[name]] for name in _ANSWERS}
        return json.dumps(rows)
    if form in _PATTERNS:
        return _patterns_now(batch, form, description.names(), number)
    cells = np.array(batch)
    before, width = len(cells), number if form == COUNTS else cells.shape[1]
    if form == PAIRED_OUTCOMES:
        cells = cells.reshape([before] * 3)
        cells = np.pad(cells, [(0, number - before)] * 3)
        return json.dumps(cells.reshape(number, -1).tolist())
    padding = [(0, number - before), (0, width - cells.shape[1])]
    return json.dumps(np.pad(cells, padding).tolist())


def _patterns_now(batch, form, names, number):
    """Return a payload of patterns with the current names of the classes."""
    total: Counter = Counter()
    for text, count in zip(batch["pattern"], batch["counts"], strict=True):
        pattern = json.loads(text)
        if form == CLASS_FORECASTS:
            truth, row = pattern
            least = [_NO_CHANCE] * (number - len(row))
            pattern = [names.get(truth, truth), [*row, *least]]
        elif form == PARTLY_LABELLED:
            judge, *rest = pattern
            # The labels of a judge may be classes, but are stored as text.
            by_text = {str(old): str(new) for old, new in names.items()}
            pattern = [by_text.get(judge, judge), *(names.get(label, label) for label in rest)]
        else:
            given, truth = pattern
            votes = {
                rater: [names.get(label, label) for label in labels]
                for rater, labels in given.items()
            }
            pattern = [votes, names.get(truth, truth)]
        total[json.dumps(pattern, sort_keys=True)] += count
    patterns = sorted(total)
    counts = [total[pattern] for pattern in patterns]
    return json.dumps({"pattern": patterns, "counts": counts})


_ANSWERS = ("actual", "predicted")


def _rows(texts, n_labels):
    if not texts:
        return np.zeros((0, n_labels), bool)
    return np.array([list(text) for text in texts]) == "1"


def sum_of_payloads(payloads: Sequence[str], encoding: str) -> str:
    """Return the payload of several batches as one: the sums of their cells, or all their items."""
    batches = [json.loads(payload) for payload in payloads]
    if encoding == MULTILABEL:
        return json.dumps({name: [row for b in batches for row in b[name]] for name in _ANSWERS})
    if encoding in _PATTERNS:
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
    """Return True if batches of an encoding are lists of items or examples of any length."""
    return encoding in _OF_ITEMS


def difference_of_items(encoding: str, payload: dict) -> tuple[str, list]:
    """Return the noun for the values of items in an encoding, and the values in a payload."""
    noun, name = _OF_ITEMS[encoding]
    return noun, payload[name]


def chance_of_same(payload: str) -> float:
    """
    Return an upper bound on the probability of an identical independent batch.

    For counts x of n examples, it is the multinomial probability of x with the proportions x / n,
    which maximise it. For item scores and multilabel examples, the categories are the distinct
    values.
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
    """Raise an error if an encoding, given as a pair of type and version, is unknown."""
    for encoding, version in set(encodings):
        if encoding not in (*_SHARED, CLASSES) or version != VERSION:
            raise fail(
                f"Classifier {classifier!r} has the unknown encoding {encoding}, version {version}",
                ...,
                "",
                "install a newer bayescm (the ledger was not touched)",
            )


def check_name(value: str | int, keyword: str) -> str:
    """Return the name of a batch or classifier as text, or raise an error if it is invalid."""
    is_name = isinstance(value, str | int | np.integer) and not isinstance(value, bool)
    text = str(value) if is_name else ""
    if not text.strip() or len(text) > 500 or not text.isprintable():
        allowed = "printable text of 1 to 500 characters, or a whole number"
        raise fail(f"{keyword} must be {allowed}", value, "", f"pass {keyword}='2026-01-31'")
    return text


def as_utc(at: Any) -> datetime:
    """Return a time as a datetime in UTC, which is also the default time zone."""
    try:
        if not isinstance(at, str | date | np.datetime64):  # a number has no unit
            raise TypeError
        if isinstance(at, str) and not at.strip()[:4].isdigit():  # 1/2/2026 is ambiguous
            raise ValueError
        moment = pd.Timestamp(at)
        if pd.isna(moment):
            raise ValueError
        moment = moment.tz_localize("UTC") if moment.tzinfo is None else moment.tz_convert("UTC")
        return moment.to_pydatetime(warn=False)
    except (ValueError, TypeError, AttributeError):
        todo = "pass `at='2026-01-31T12:00'`"
        raise fail("`at` must be a datetime or ISO 8601 text", at, "", todo) from None


_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?")


def time_of_name(batch_id: str) -> str | None:
    """Return the time in the name of a batch, such as 2026-01-31 (ISO 8601), or None."""
    if not _DATE.fullmatch(batch_id):
        return None
    try:
        return timestamp(as_utc(batch_id))
    except ValueError:  # not a date, e.g. 2026-02-30
        return None


def as_datetime64(at: Any) -> np.datetime64:
    """Return a time as a numpy datetime in UTC, with a resolution of one microsecond."""
    return np.datetime64(as_utc(at).replace(tzinfo=None), "us")


def timestamp(moment: datetime) -> str:
    """Return a time in UTC as text of fixed width, so that text and time sort alike."""
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
