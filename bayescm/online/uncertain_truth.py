"""
Batches of patterns: labels of raters, partly labelled examples, probabilities of several classes.

The ledger stores patterns: how often each combination of labels occurred. A pattern of ratings is
the labels of every rater and the gold label. One of partly labelled examples is the answer of the
judge, the prediction and the label. One of probabilities of three classes or more is the label and
the probabilities, on a grid of 0.01 and not below 0.0025. Counts of patterns add up over batches,
as tables do.

Partly labelled batches have the posterior of `bayescm.posteriors.partly_labelled`. A change is
looked for in the true classes of the labelled examples, given what judge and classifier said.

Ratings have the posterior of `bayescm.posteriors.noisy_labels`, and probabilities of several
classes the default posterior of their evidence, for the batches in force after each step. Each
takes about a second, so there is no rule `change`.
"""

import json
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.counts import WATCHED, abstains, default_measures, positive
from bayescm.evidence.partly_labelled import PARTLY_LABELLED as EVIDENCE_PARTLY_LABELLED
from bayescm.evidence.partly_labelled import select_classifier
from bayescm.evidence.raters import as_ratings
from bayescm.evidence.scores import as_scores, from_probabilities
from bayescm.fitting.posterior_for import posterior_of as posterior_for
from bayescm.fitting.question import Question
from bayescm.online.encoding import (
    CLASS_FORECASTS,
    PARTLY_LABELLED,
    RATINGS,
    PatternCounts,
    is_sampled,
    zero_counts,
)
from bayescm.posteriors.base import LabelTemplate, Posterior
from bayescm.validate import fail

# What the ledger keeps


def as_ratings_batch(evidence: xr.Dataset, concentration: Any = None) -> xr.DataArray:
    """
    Return a batch of ratings as the ledger stores it, dims (pattern).

    Raises
    ------
    ValueError
        If the examples come in groups, or the concentration is invalid.
    """
    evidence = as_ratings(evidence)
    if "group" in evidence:
        todo = "leave `group=` out; add groups under names of their own"
        raise fail("a batch of ratings has no groups", "group", "", todo)
    _check_prior(evidence, concentration)
    labels, raters = evidence["actual"].values.tolist(), evidence["classifier"].values.tolist()
    patterns = []
    votes, gold = evidence["votes"].values, evidence["gold"].values.tolist()
    for index in range(evidence.sizes["pattern"]):
        given = {
            str(rater): np.repeat(np.arange(len(labels)), votes[place, index]).tolist()
            for place, rater in enumerate(raters)
        }
        named = {rater: [labels[code] for code in codes] for rater, codes in given.items() if codes}
        patterns.append([named, None if gold[index] < 0 else labels[gold[index]]])
    facts = {"labels": labels, "positive": None, "raters": list(map(str, raters))}
    if "positive" in evidence.coords:
        facts["positive"] = evidence["positive"].item()
    return _table(patterns, evidence["counts"].values, RATINGS, facts)


def as_partly_labelled_batch(evidence: xr.DataArray, concentration: Any = None) -> xr.DataArray:
    """
    Return a batch of partly labelled examples as the ledger stores it, dims (pattern).

    Raises
    ------
    ValueError
        If the evidence has slices or abstentions, the labels come from elsewhere, or the
        concentration is invalid.
    """
    counts = EVIDENCE_PARTLY_LABELLED.canonical(select_classifier(evidence))
    if further := [str(dim) for dim in counts.dims if dim not in ("judge", "actual", "predicted")]:
        todo = "add each slice under a name of its own"
        raise fail("a batch has no slices", further, "", todo)
    if "transfer" in counts.coords:
        todo = "leave `transfer=` out, if the labels belong to examples of this batch"
        raise fail("a batch has labels of its own examples", "transfer", "", todo)
    if abstains(counts):
        todo = "leave these examples out, or let the abstention be a class"
        raise fail("a monitor keeps no abstentions", counts["abstain"].item(), "", todo)
    _check_prior(counts, concentration)
    labels, judges = counts["actual"].values.tolist(), counts["judge"].values.tolist()
    cells = counts.transpose("judge", "actual", "predicted").values
    others = counts["unlabelled"].transpose("judge", "predicted").values
    patterns, numbers = [], []
    for judge, answer in np.ndindex(others.shape):
        truths = [*zip(labels, cells[judge, :, answer], strict=True), (None, others[judge, answer])]
        for truth, number in truths:
            if number:
                patterns.append([str(judges[judge]), labels[answer], truth])
                numbers.append(number)
    facts = {"labels": labels, "positive": positive(counts)}
    facts["classified"] = str(counts.coords.get("classified", xr.DataArray("classifier")).item())
    return _table(patterns, np.array(numbers, np.int64), PARTLY_LABELLED, facts)


# The grid of probabilities, and the least one: the middle of the first bin of two classes.
_GRID, _LEAST = 0.01, 0.0025


def as_class_forecasts_batch(evidence: xr.Dataset) -> xr.DataArray:
    """
    Return a batch of probabilities of three classes or more as the ledger stores it, (pattern).

    Raises
    ------
    ValueError
        If there are folds, groups, weights or a set prevalence.
    """
    evidence = as_scores(evidence)
    further = sorted({"weight", "fold", "group", "prevalence"} & {*evidence.variables})
    if further:
        todo = "leave weights, folds, groups and a set prevalence out"
        raise fail("a batch is one sample of single examples", further, "", todo)
    labels = evidence["class"].values.tolist()
    values = evidence["score"].transpose("example", "class").values
    steps = np.maximum(np.round(values / _GRID), _LEAST / _GRID)
    rows = [*zip(evidence["actual"].values.tolist(), steps.tolist(), strict=True)]
    counts = Counter(json.dumps([truth, row]) for truth, row in rows)
    patterns = [json.loads(text) for text in counts]
    facts = {"labels": labels, "positive": None}
    return _table(patterns, np.array([*counts.values()]), CLASS_FORECASTS, facts)


def _class_forecasts_of(table):
    """Return the probabilities of counts of patterns (pattern), the counts as weights."""
    table = table[table.values > 0]
    if table.dtype.kind == "f" and (table.values != np.round(table.values)).any():
        todo = "use `window=`, the number of latest batches that count"
        raise fail("forgetting leaves fractions of examples", ..., "whole examples", todo)
    patterns = [json.loads(text) for text in table["pattern"].values.tolist()]
    steps = np.array([row for _, row in patterns], float)
    return from_probabilities(
        [truth for truth, _ in patterns],
        steps / steps.sum(axis=1, keepdims=True),
        labels=table.attrs["labels"],
        weights=table.values.astype(int),
        weights_are="counts",
    )


def _check_prior(evidence, concentration):
    """Raise an error if a concentration is invalid for the default model of a batch."""
    if concentration is not None:
        posterior_for(evidence, Question(concentration=concentration))


def _table(patterns, counts, encoding, facts):
    """Return counts of patterns, in the order of their text."""
    texts = [json.dumps(pattern, sort_keys=True) for pattern in patterns]
    order = np.argsort(texts, kind="stable")
    kept = [index for index in order if counts[index] > 0]
    coords = {"pattern": np.array([texts[index] for index in kept], object)}
    attrs = facts | {"patterns": encoding}
    return xr.DataArray(counts[kept].astype(np.int64), coords, ["pattern"], "counts", attrs)


def tables_of_batches(batches: Sequence[PatternCounts], zeros: xr.DataArray) -> xr.DataArray:
    """Return the counts of all patterns that occur, dims (step, pattern)."""
    patterns = sorted({pattern for batch in batches for pattern in batch.pattern})
    place = {pattern: index for index, pattern in enumerate(patterns)}
    table = np.zeros((len(batches), len(patterns)), np.int64)
    for row, batch in zip(table, batches, strict=True):
        np.add.at(row, [place[pattern] for pattern in batch.pattern], batch.counts)
    coords = {"pattern": np.array(patterns, object)}
    return xr.DataArray(table, coords, ["step", "pattern"], "counts", zeros.attrs)


def evidence_of(table: xr.DataArray) -> xr.DataArray | xr.Dataset:
    """
    Return counts of patterns as evidence.

    Parameters
    ----------
    table : DataArray, dims (..., pattern)
        Of ratings and probabilities a single table, dims (pattern).
    """
    if table.attrs["patterns"] == CLASS_FORECASTS:
        counted = _class_forecasts_of(table)
        rows = np.repeat(np.arange(counted.sizes["example"]), counted["weight"].values.astype(int))
        return counted.isel(example=rows).drop_vars("weight")
    of_type = _ratings_of if table.attrs["patterns"] == RATINGS else _partly_labelled_of
    return of_type(table)


def _ratings_of(table):
    """Return the ratings of counts of patterns (pattern)."""
    labels, raters = table.attrs["labels"], table.attrs["raters"]
    table = table[table.values > 0]
    votes = np.zeros((len(raters), table.size, len(labels)), np.int64)
    gold = np.full(table.size, -1)
    for index, text in enumerate(table["pattern"].values.tolist()):
        given, truth = json.loads(text)
        for rater, named in given.items():
            np.add.at(votes[raters.index(rater), index], [labels.index(name) for name in named], 1)
        gold[index] = -1 if truth is None else labels.index(truth)
    evidence = xr.Dataset(
        {
            "counts": ("pattern", table.values),
            "votes": (("classifier", "pattern", "predicted"), votes),
            "gold": ("pattern", gold),
        },
        {"classifier": raters, "actual": labels, "predicted": labels},
    )
    label = table.attrs["positive"]
    return evidence if label is None else evidence.assign_coords(positive=label)


def _partly_labelled_of(table):
    """Return the partly labelled examples of counts of patterns (..., pattern)."""
    labels = table.attrs["labels"]
    patterns = [json.loads(text) for text in table["pattern"].values.tolist()]
    judges = sorted({judge for judge, _, _ in patterns}) or ["all"]
    lead, size = table.shape[:-1], len(labels)
    counts = np.zeros((*lead, len(judges), size, size), table.dtype)
    others = np.zeros((*lead, len(judges), size), table.dtype)
    for number, (judge, answer, truth) in zip(
        np.moveaxis(table.values, -1, 0), patterns, strict=True
    ):
        stratum = judges.index(judge), labels.index(answer)
        if truth is None:
            others[..., *stratum] += number
        else:
            counts[..., stratum[0], labels.index(truth), stratum[1]] += number
    dims = tuple(str(dim) for dim in table.dims[:-1])
    coords: dict[str, Any] = {
        str(name): coord
        for name, coord in table.coords.variables.items()
        if name != "pattern" and {*coord.dims} <= {*dims}
    }
    coords |= {"judge": judges, "actual": labels, "predicted": labels}
    coords |= {"unlabelled": ((*dims, "judge", "predicted"), others)}
    coords |= {"classified": table.attrs["classified"]}
    if table.attrs["positive"] is not None:
        coords["positive"] = table.attrs["positive"]
    return xr.DataArray(counts, coords, [*dims, "judge", "actual", "predicted"], "counts")


# The posterior


def default_measures_of(table: xr.DataArray) -> list[str]:
    """Return the measures that are monitored by default."""
    if table.attrs["patterns"] == CLASS_FORECASTS:
        return ["log_loss", "brier"]
    if table.attrs.get("classified") == "nothing":
        return ["prevalence"]
    return default_measures(zero_counts(table.attrs["labels"], table.attrs["positive"]), WATCHED)


def posterior_of(tables: xr.DataArray, concentration: Any = None) -> Posterior:
    """Return the posterior of counts of patterns (..., pattern), one for each leading index."""
    if is_sampled(tables):
        return SampledSteps(tables, concentration)
    question = Question(model="partly_labelled", concentration=concentration)
    return posterior_for(evidence_of(tables), question)


class SampledSteps(Posterior):
    """
    The posterior of ratings or probabilities, for each leading index of counts of patterns.

    Parameters
    ----------
    tables : DataArray, dims (..., pattern)
    concentration : float, optional
        See `bayescm.models.noisy_labels`.
    """

    has_model = cell_prior = False

    def __init__(self, tables: xr.DataArray, concentration: float | None = None):
        self.tables = tables
        flat = tables.values.reshape(-1, tables.shape[-1])
        pattern = {"pattern": tables["pattern"].values}
        is_of_raters = tables.attrs["patterns"] == RATINGS
        of_type = _ratings_of if is_of_raters else _class_forecasts_of
        self.members: list[Any] = [
            posterior_for(
                of_type(xr.DataArray(row, pattern, ["pattern"], attrs=tables.attrs)),
                Question(concentration=concentration),
            )
            for row in flat
        ]
        latest = self.members[-1]
        self.measured_variable = latest.measured_variable
        if is_of_raters:
            self.counts = latest.counts.rename(classifier="rater")

    @property
    def how(self) -> str:  # type: ignore[override]
        """How the draws of the latest step are made."""
        return self.members[-1].how

    @cached_property
    def template(self) -> LabelTemplate:
        """The dims and coords that remain of the evidence, with a dim of the raters."""
        dims, coords = self.tables.dims[:-1], self.tables.coords.variables
        remaining = {name: coord for name, coord in coords.items() if {*coord.dims} <= {*dims}}
        leading = LabelTemplate(remaining, dims, self.tables.shape[:-1])
        raters = self.tables.attrs.get("raters")
        return leading if raters is None else leading.append_dim("rater", raters)

    @property
    def batch(self) -> xr.DataArray:
        """The number of examples of every step, of every rater the same."""
        sizes = self.tables.values.sum(axis=-1)
        sizes = sizes[..., None] if "raters" in self.tables.attrs else sizes
        return self.template.to_dataarray(np.broadcast_to(sizes, self.template.shape))

    @property
    def values_per_draw(self) -> int:
        """The cells of all steps."""
        return 1 + self.template.size  # the steps are drawn one by one

    def classes_of(self, measure: Any) -> np.ndarray | None:
        """Return the labels of the classes that a measure has a value for each of, or None."""
        return self.members[-1].classes_of(measure)

    def bound(self, measure: Any) -> Any:
        """Return a measure for the classes of the latest step."""
        return self.members[-1].bound(measure)

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return what the ratings of the latest step make doubtful."""
        return self.members[-1].caveats(of)

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return how many draws are made of each step."""
        return self.members[-1].draws_by_default(of, joint=joint)

    def draw(
        self,
        measures: Sequence[Any],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Draw several measures jointly, (size, ..., raters, [C])."""
        drawn = [member.draw_in_parts(measures, size, rng, of=of, n=n) for member in self.members]
        return [self._shaped(np.stack(each, axis=1), 1) for each in zip(*drawn, strict=True)]

    def point(self, measure: Any, of: str = "parameter") -> np.ndarray:
        """Return the plug-in estimates, (..., raters, [C])."""
        return self._shaped(np.stack([member.point(measure, of) for member in self.members]), 0)

    def _shaped(self, values, axis):
        shape = values.shape
        return values.reshape((*shape[:axis], *self.tables.shape[:-1], *shape[axis + 1 :]))


# A change


def labelled_by_stratum(tables: xr.DataArray) -> np.ndarray:
    """Return how many labelled examples of each stratum are of each true class, (T, K, C)."""
    counts = _partly_labelled_of(tables).values
    return counts.swapaxes(-1, -2).reshape(len(counts), -1, counts.shape[-1])
