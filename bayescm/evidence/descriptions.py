"""
Descriptions of evidence in sentences: number of units, classes, systems and design.

Reports, methods paragraphs and monitors use these sentences through `EvidenceType.describe`.
Functions here take evidence and ``written``, which formats a label for readers, and return
sentences. The first sentence is a noun phrase for the sample, such as "145 examples of 2 classes:
well (65), sick (80).", so that a text can put words before it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.clusters_and_slices import clusters_of, slice_dims
from bayescm.evidence.evidence_type import number_of

Written = Callable[[Any], str]
_LISTED = 6  # maximum number of classes to list with their sizes


def named(labels: Iterable, units: str, written: Written, where: str = "") -> str:
    """Return a sentence that names systems, such as "2 classifiers on the same items: a, b."."""
    labels = list(labels)
    place = f" on {where}" if where and len(labels) > 1 else ""
    return f"{number_of(len(labels), units)}{place}: {', '.join(map(written, labels))}."


def _without_true_negatives(counts, written):
    """Describe true positives, false negatives and false positives."""
    total = counts.sum([dim for dim in counts.dims if dim not in ("actual", "predicted")])
    (_, fp), (fn, tp) = total.values.tolist()
    numbers = f"{tp:,g} true positives, {fn:,g} false negatives and {fp:,g} false positives."
    return [numbers, "The number of true negatives is unknown.", _positive(counts, written)]


def describe_counts(counts: xr.DataArray, written: Written = str, paired: bool = False) -> list:
    """Describe confusion matrices. If ``paired``, the classifiers share their examples."""
    if "true_negatives" in counts.coords:
        return _without_true_negatives(counts, written)
    classes = counts["actual"].values.tolist()
    abstain = [counts["abstain"].item()] if "abstain" in counts.coords else []
    positions = [position for position, label in enumerate(classes) if label not in abstain]
    labels = [classes[position] for position in positions]
    of_class = counts.sum([dim for dim in counts.dims if dim not in ("actual", "classifier")])
    if "repeat" in counts.dims:  # all repeats test the same examples
        of_class = of_class / counts.sizes["repeat"]
        whole = counts.dtype.kind != "f"
        of_class = of_class.round() if whole else of_class
    of_class = of_class.isel(actual=positions)  # a label would be read as a mask if it is boolean
    shared = paired or _have_same_totals(counts)
    names = counts["classifier"].values.tolist() if "classifier" in counts.dims else []
    weighted = "effective" in counts.coords
    if names and not shared:
        totals = [
            f"{_examples(total, weighted)} ({written(name)})"
            for name, total in zip(names, of_class.sum("actual").values, strict=True)
        ]
        number = ", ".join(totals[:-1]) + f" and {totals[-1]}" if len(totals) > 1 else totals[0]
        present = (of_class > 0).any("classifier").values
        sizes = ""
    else:
        one = of_class.isel(classifier=0) if names else of_class
        number, present = _examples(float(one.sum()), weighted), (one > 0).values
        sizes = _class_sizes(labels, one.values.tolist(), written)
    lines = [f"{number} of {len(labels)} classes{sizes}."]
    if len(labels) == 2:
        lines.append(_positive(counts, written))
    if "abstain" in counts.coords:
        label = written(counts["abstain"].item())
        lines.append(
            f"{label} marks abstentions. Measures are computed from the answered examples."
        )
    if names:
        lines.append(named(names, "classifiers", written, _where(counts, paired, shared)))
    lines += _design(counts)
    absent = [written(label) for label, has in zip(labels, present, strict=True) if not has]
    if absent:
        lines.append(f"Classes without examples: {', '.join(absent)}.")
    return lines


def describe_scores(scores: xr.Dataset, written: Written = str) -> list[str]:
    """Describe examples with scores of two or more classes."""
    labels, totals = _totals(scores)
    number = number_of(scores.sizes["example"], "examples")
    lines = [f"{number} with scores{_class_sizes(labels, totals, written)}."]
    if "positive" in scores.coords:
        lines.append(_positive(scores, written))
    return lines + _of_examples(scores, written)


def describe_probabilities(evidence: xr.Dataset, written: Written = str) -> list[str]:
    """Describe examples with predicted probabilities."""
    labels, totals = _totals(evidence)
    number = number_of(evidence.sizes["example"], "examples")
    if "class" in evidence.dims:
        sizes = _class_sizes(labels, totals, written)
        lines = [f"{number} with probabilities of {len(labels)} classes{sizes}."]
    else:
        label = evidence["positive"].item()
        events = float(totals[labels.index(label)]) if label in labels else 0.0
        share = f"{number_of(events, 'events')} ({written(label)})"
        percent = f"{100 * events / float(totals.sum()):.3g}%"
        lines = [f"{number} with probabilities, {share}, {percent}."]
    lines += _of_examples(evidence, written)
    if "group" in evidence:
        sites = len(np.unique(evidence["group"].values))
        lines.append(f"{number_of(sites, 'sites')}.")
    return lines


def describe_attempts(evidence: xr.Dataset, written: Written = str) -> list[str]:
    """Describe items with repeated attempts."""
    attempts = evidence["correct"].notnull().sum("attempt")
    least, most = int(attempts.min()), int(attempts.max())
    number = f"{least} to " if least < most else ""
    items = number_of(evidence.sizes["item"], "items")
    lines = [f"{items} with {number}{number_of(most, 'answers')} each."]
    if "group" in evidence.coords:
        groups = number_of(len(np.unique(evidence["group"].values)), "groups")
        lines.append(f"The items come in {groups}, which are sampled as a whole.")
    return lines + _slices(evidence) + _systems(evidence, "items", written)


def describe_item_scores(evidence: xr.Dataset, written: Written = str) -> list[str]:
    """Describe items with one score each."""
    lines = [f"{number_of(evidence.sizes['item'], 'items')}."]
    lines += _systems(evidence, "items", written)
    if "lowest" in evidence.coords:
        low, high = evidence["lowest"].item(), evidence["highest"].item()
        lines.append(f"Scores are between {low:g} and {high:g}.")
    if evidence["lower_is_better"]:
        lines.append("Lower scores are better.")
    lines += _clusters(evidence, "item") + _weights(evidence, "items") + _slices(evidence)
    missing = int(evidence["item_score"].isnull().sum())
    if "judge_score" in evidence:
        lines.append(f"A judge has scored all items; people have not scored {missing:,} of them.")
    elif missing:
        are = "is" if missing == 1 else "are"
        lines.append(
            f"{number_of(missing, 'scores')} {are} missing: systems are compared on the items that "
            "all have."
        )
    return lines


def describe_multilabel(evidence: xr.Dataset, written: Written = str) -> list[str]:
    """Describe multilabel examples."""
    positives = evidence["actual"].values.sum(axis=0)
    rarest, number = evidence["label"].values[positives.argmin()], int(positives.min())
    examples = evidence.sizes["example"]
    have = "has" if number == 1 else "have"
    lines = [
        f"{number_of(examples, 'examples')} and {number_of(evidence.sizes['label'], 'labels')}.",
        (
            f"An example has {positives.sum() / examples:.3g} labels on average. The rarest "
            f"label is {written(rarest)}, which {number_of(number, 'examples')} {have}."
        ),
    ]
    lines += _systems(evidence, "examples", written) + _clusters(evidence, "example")
    return lines + _weights(evidence, "examples") + _slices(evidence)


def describe_item_counts(evidence: xr.Dataset, written: Written = str) -> list[str]:
    """Describe items with true positives, false negatives and false positives."""
    lines = [f"{number_of(evidence.sizes['item'], 'items')}."]
    if "classifier" not in evidence.dims:
        found, missed, false = (float(evidence[name].sum()) for name in ("tp", "fn", "fp"))
        lines.append(
            f"{number_of(found, 'true positives')}, {number_of(missed, 'false negatives')} and "
            f"{number_of(false, 'false positives')} in all."
        )
    lines += _systems(evidence, "items", written) + _clusters(evidence, "item")
    return lines + _weights(evidence, "items") + _slices(evidence)


def describe_results(results: xr.Dataset, written: Written = str) -> list[str]:
    """Describe the results of classifiers on several data sets."""
    sizes, measured = results.sizes, results["result"].notnull().any("run")
    names = ", ".join(map(written, results["classifier"].values.tolist()))
    lines = [
        f"{number_of(sizes['classifier'], 'classifiers')} on "
        f"{number_of(sizes['data_set'], 'data sets')}, {number_of(sizes['run'], 'runs')} on each: "
        f"{names}."
    ]
    if not measured.all():
        missing = number_of(int((~measured).sum()), "results")
        lines.append(f"{missing} of a classifier on a data set missing.")
    return lines


def describe_ratings(ratings: xr.Dataset, written: Written = str) -> list[str]:
    """Describe examples with labels from several raters."""
    counts, has_truth = ratings["counts"], ratings["gold"] >= 0
    lines = [
        f"{number_of(float(counts.sum()), 'examples')}.",
        named(ratings["classifier"].values.tolist(), "raters", written),
    ]
    if known := int(counts.where(has_truth).sum()):
        lines.append(f"The true labels of {number_of(known, 'examples')} are known.")
    return lines


# Parts of sentences that several types share


def _examples(number, weighted):
    """Return the number of examples, or their effective number, with its unit."""
    if weighted:
        return f"{number:,.4g} examples (the effective number of weighted ones)"
    return number_of(number, "examples")


def _have_same_totals(counts):
    """Return True if classifiers have the same class totals in all folds."""
    if "classifier" not in counts.dims or "fold" not in counts.dims:
        return False
    totals = counts.sum("predicted")
    return bool((totals == totals.isel(classifier=0)).all())


def _where(counts, paired, shared):
    """Return the phrase for the examples or folds that the classifiers share."""
    if paired:
        return "the same examples"
    if "fold" in counts.dims:
        return "the same folds" if shared else "the same folds, with different examples"
    return "different examples"


def _class_sizes(labels: Sequence, totals: Any, written: Written) -> str:
    """Return the size of every class as text, or an empty string for many classes."""
    if len(labels) > _LISTED:
        return ""
    pairs = zip(labels, totals, strict=True)
    return ": " + ", ".join(f"{written(label)} ({_total(total)})" for label, total in pairs)


def _total(total):
    total = float(total)
    return f"{total:,.0f}" if total == round(total) else f"{total:,.4g}"


def _positive(evidence, written):
    if "positive" not in evidence.coords:
        return "No positive class was given."
    return f"The positive class is {written(evidence['positive'].item())}."


def _design(counts):
    """Describe folds, groups, batches and a known prevalence."""
    lines = []
    if "fold" in counts.dims:
        repeats = counts.sizes.get("repeat", 1)
        times = f", repeated {repeats} times" if repeats > 1 else ""
        fixed = bool(counts.coords.get("fixed_totals", False))
        kind = "stratified" if fixed else "not stratified"
        lines.append(f"Cross-validation with {counts.sizes['fold']} folds, {kind}{times}.")
    elif "half" in counts.dims:
        halvings = number_of(counts.sizes.get("repeat", 1), "halvings")
        lines.append(f"{halvings} of the examples; each half is tested on the other.")
    if "group" in counts.dims:
        lines.append(f"{number_of(counts.sizes['group'], 'groups')}.")
    if "step" in counts.dims:
        lines.append(f"{counts.sizes['step']} batches over time, combined.")
    known = ("repeat", "half", "fold", "group", "step", "classifier", "actual", "predicted")
    further = [f"{dim} ({counts.sizes[dim]})" for dim in counts.dims if dim not in known]
    if further:
        lines.append(f"The tables are split by {' and '.join(further)}.")
    if "prevalence" in counts.coords and counts["prevalence"].ndim == 0:
        share = float(counts.coords["prevalence"])
        lines.append(f"All results are for a population with {100 * share:.4g}% positives.")
    return lines


def _totals(scores):
    """Return the classes of examples with scores, and the number of examples in each."""
    labels, numbers = np.unique(scores["actual"].values, return_counts=True)
    return labels.tolist(), numbers


def _of_examples(scores, written):
    """Describe classifiers, folds, weights and a known prevalence of examples with scores."""
    lines = []
    if "classifier" in scores.dims:
        names = scores["classifier"].values.tolist()
        lines.append(named(names, "classifiers", written, "the same examples"))
    if "fold" in scores:
        folds = len(np.unique(scores["fold"].values))
        lines.append(f"Cross-validation with {number_of(folds, 'folds')}.")
    lines += _weights(scores, "examples")
    if "prevalence" in scores.coords:
        share = float(scores.coords["prevalence"])
        lines.append(f"Precision is for a population with {100 * share:.4g}% positives.")
    return lines


def _systems(evidence, units, written):
    if "classifier" not in evidence.dims:
        return []
    names = evidence["classifier"].values.tolist()
    return [named(names, "systems", written, f"the same {units}")]


def _clusters(evidence, dim):
    cluster = clusters_of(evidence, dim)
    if cluster is None:
        return []
    number = number_of(len(np.unique(cluster)), "clusters")
    return [f"The {dim}s come in {number}, which are sampled as a whole."]


def _weights(evidence, units):
    """Describe the weights of items or examples."""
    if "weight" not in evidence:
        return []
    weight = np.asarray(evidence["weight"].values, float)
    kind = evidence.coords.get("weights_are")
    if kind is not None and kind.item() == "importance":
        worth = weight.sum() ** 2 / (weight**2).sum()
        return [f"The {units} have weights and are worth {worth:,.0f} of equal weight."]
    return [f"The {units} have weights and represent {weight.sum():,.6g} in all."]


def _slices(evidence):
    return [
        (f"{number_of(evidence.sizes[dim], 'slices')} along {dim}, each estimated separately.")
        for dim in slice_dims(evidence)
    ]
