"""
Counts of patterns: ratings, partly labelled examples and probabilities of three classes or more.

A ledger stores how often each combination of labels occurred, dims (..., pattern). A pattern of
ratings is the labels of every rater and the gold label. One of partly labelled examples is the
answer of the judge, the prediction and the label. One of probabilities is the label and the
probabilities, on a grid. Patterns are JSON. Their counts add up over batches, as tables do.
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
    A batch of patterns.

    Attributes
    ----------
    pattern : list of str
        JSON of each pattern.
    counts : ndarray of int, shape (n,)
        How often each occurs.
    """

    pattern: list[str]
    counts: np.ndarray


def pattern_table(
    patterns: Sequence, numbers: Iterable, form: str, facts: Mapping[str, Any]
) -> xr.DataArray:
    """
    Return how often each pattern occurs, in the order of their text, dims (pattern).

    Parameters
    ----------
    patterns : sequence
        Of plain values that JSON can write. A pattern may occur several times.
    numbers : iterable of int
        How often each occurs.
    form : str
        The form in which a ledger stores the batch.
    facts : mapping
        What all batches share, such as the labels: attributes of the table.
    """
    total: Counter = Counter()
    for pattern, number in zip(patterns, numbers, strict=True):
        total[json.dumps(pattern, sort_keys=True)] += int(number)
    texts = sorted(text for text, number in total.items() if number > 0)
    counts = np.array([total[text] for text in texts], np.int64)
    coords = {"pattern": np.array(texts, object)}
    return xr.DataArray(counts, coords, ["pattern"], "counts", {**facts, BATCH_FORM: form})


def patterns_of_batches(batches: Sequence[PatternCounts], like: xr.DataArray) -> xr.DataArray:
    """Return the counts of all patterns that occur in batches, dims (step, pattern)."""
    patterns = sorted({pattern for batch in batches for pattern in batch.pattern})
    place = {pattern: index for index, pattern in enumerate(patterns)}
    table = np.zeros((len(batches), len(patterns)), np.int64)
    for row, batch in zip(table, batches, strict=True):
        np.add.at(row, [place[pattern] for pattern in batch.pattern], batch.counts)
    coords = {"pattern": np.array(patterns, object)}
    return xr.DataArray(table, coords, ["step", "pattern"], "counts", like.attrs)


def watched_measures(table: xr.DataArray) -> list[str]:
    """Return the measures of patterns of labels that a monitor reports by default."""
    if table.attrs.get("classified") == "nothing":
        return ["prevalence"]
    labels, label = table.attrs["labels"], table.attrs["positive"]
    coords = {"actual": labels, "predicted": labels} | (
        {} if label is None else {"positive": label}
    )
    zeros = np.zeros((len(labels), len(labels)))
    return default_measures(xr.DataArray(zeros, coords, ["actual", "predicted"]), WATCHED)


def has_patterns(evidence: Any) -> bool:
    """Return whether evidence is counts of patterns."""
    return isinstance(evidence, xr.DataArray) and "pattern" in evidence.dims


def number_of_examples(tables: xr.DataArray) -> xr.DataArray:
    """Return the number of examples of each leading index of counts of patterns."""
    return tables.sum("pattern")
