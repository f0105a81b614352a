"""
Counts of patterns: ratings, partly labelled examples and probabilities of three or more classes.

A ledger stores the frequency of each combination of labels, dims (..., pattern). Patterns are
encoded as JSON, and their counts are additive over batches. A pattern contains:

- For ratings, the labels of all raters and the gold label.
- For partly labelled examples, the judge's label, the prediction and the true label.
- For probabilities, the true label and the probabilities, rounded to a grid.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from bayescm.evidence.counts import WATCHED, default_measures
from bayescm.evidence.evidence_type import BATCH_FORM


class PatternCounts(NamedTuple):
    """
    Batch of patterns.

    Attributes
    ----------
    pattern : list of str
        Patterns, encoded as JSON.
    counts : ndarray of int, shape (n,)
        Number of occurrences of each pattern.
    """

    pattern: list[str]
    counts: np.ndarray


def pattern_table(
    patterns: Sequence, numbers: Iterable, form: str, facts: Mapping[str, Any]
) -> xr.DataArray:
    """
    Return the frequency of each pattern, sorted by text, dims (pattern).

    Parameters
    ----------
    patterns : sequence
        Patterns of plain values that JSON can represent. Repetitions are allowed.
    numbers : iterable of int
        Number of occurrences of each pattern.
    form : str
        Form in which a ledger stores the batch.
    facts : mapping
        Properties shared by all batches, such as the labels. They become attributes of the table.
    """
    total: Counter = Counter()
    for pattern, number in zip(patterns, numbers, strict=True):
        total[json.dumps(pattern, sort_keys=True)] += int(number)
    texts = sorted(text for text, number in total.items() if number > 0)
    counts = np.array([total[text] for text in texts], np.int64)
    coords = {"pattern": np.array(texts, object)}
    return xr.DataArray(counts, coords, ["pattern"], "counts", {**facts, BATCH_FORM: form})


def patterns_of_batches(batches: Sequence[PatternCounts], like: xr.DataArray) -> xr.DataArray:
    """Return the counts of all patterns in the batches, dims (step, pattern)."""
    patterns = sorted({pattern for batch in batches for pattern in batch.pattern})
    place = {pattern: index for index, pattern in enumerate(patterns)}
    table = np.zeros((len(batches), len(patterns)), np.int64)
    for row, batch in zip(table, batches, strict=True):
        np.add.at(row, [place[pattern] for pattern in batch.pattern], batch.counts)
    coords = {"pattern": np.array(patterns, object)}
    return xr.DataArray(table, coords, ["step", "pattern"], "counts", like.attrs)


def watched_measures(table: xr.DataArray) -> list[str]:
    """Return the default measures of a monitor for patterns of labels."""
    if table.attrs.get("classified") == "nothing":
        return ["prevalence"]
    labels, label = table.attrs["labels"], table.attrs["positive"]
    coords = {"actual": labels, "predicted": labels} | (
        {} if label is None else {"positive": label}
    )
    zeros = np.zeros((len(labels), len(labels)))
    return default_measures(xr.DataArray(zeros, coords, ["actual", "predicted"]), WATCHED)


def has_patterns(evidence: Any) -> bool:
    """Return True if evidence consists of counts of patterns."""
    return isinstance(evidence, xr.DataArray) and "pattern" in evidence.dims


def number_of_examples(tables: xr.DataArray) -> xr.DataArray:
    """Return the number of examples for each leading index of counts of patterns."""
    return tables.sum("pattern")
