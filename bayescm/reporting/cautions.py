"""Cautions that follow from the counts and the prior."""

import re
from collections.abc import Hashable, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers.summary import COLUMNS
from bayescm.evidence.counts import CELLS
from bayescm.measures.display_names import display_label, display_name
from bayescm.reporting.sections import Section

# Classes with fewer examples than this are named in a caution.
FEW = 20
_SHUFFLES = 4000  # number of random assignments of errors to folds, groups or batches
_RARE = 0.01  # p-value below which a caution is added


def of_counts(
    counts: xr.DataArray,
    table: pd.DataFrame,
    *,
    prior: np.ndarray | None = None,
    apart: Sequence[Hashable] = (),
    paired: bool = False,
    fixed: bool = False,
    doubts: Sequence[str] = (),
) -> Section:
    """
    Return the cautions that follow from counts, prior and posterior.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted)
        Counts.
    table : DataFrame
        Summary of the counts.
    prior : ndarray (..., C, C), optional
        Prior pseudo-counts, if there are any.
    apart : sequence of hashable
        Dimensions over which the model does not pool, so that the prior applies to each member.
    paired : bool
        Whether classifiers are compared on the same examples.
    fixed : bool
        Whether the class totals were fixed by the sampling design.
    doubts : sequence of str
        Cautions of the posterior.
    """
    totals = _totals(counts)
    lines = few(totals) + _heavy_prior(prior, counts, apart) + _undefined(table)
    if fixed or bool(counts.coords.get("fixed_totals", False)):
        lines.append(
            "The class totals were fixed by the sampling. The prevalence is not estimated, "
            "and precision, accuracy and F1 apply to this proportion of positives only."
        )
    if not paired:
        lines += _look_paired(counts)
    lines += [text for dim in ("fold", "group", "step") for text in _uneven(counts, dim)]
    return section([*lines, *doubts])


def without_repetition(*cautions: str) -> list[str]:
    """Merge the cautions of several tables, without repeated sentences."""
    known: dict[str, None] = {}
    lines = []
    for caution in cautions:
        sentences = [text for text in re.split(r"(?<=[.:!]) (?=[A-Z])", caution) if text]
        fresh = [text for text in sentences if text not in known]
        known |= dict.fromkeys(fresh)
        lines += [" ".join(fresh)] if fresh else []
    return lines


def section(lines: Sequence[str]) -> Section:
    """Return the section of cautions, which may state that there are none."""
    return Section("Cautions", list(lines) or ["No cautions."])


def _totals(counts):
    """Return the number of examples per class, for the classifier with the fewest examples."""
    totals = counts.sum([dim for dim in counts.dims if dim not in ("actual", "classifier")])
    if "repeat" in counts.dims:
        totals = totals / counts.sizes["repeat"]
    return totals.min("classifier") if "classifier" in totals.dims else totals


def few(totals: xr.DataArray) -> list[str]:
    """Return a caution that names classes with few examples."""
    pairs = zip(totals["actual"].values, totals.values, strict=True)
    rare = [f"{label} ({n:.4g})" for label, n in pairs if n < FEW]
    if not rare:
        return []
    more = f" and {len(rare) - 10} others" if len(rare) > 10 else ""
    return [
        (
            f"Fewer than {FEW} examples: {', '.join(rare[:10])}{more}. Results that depend "
            "on such a class are uncertain."
        )
    ]


def _heavy_prior(prior, counts, apart):
    """
    Return a caution if the prior weighs more than a tenth of the data, in total or in a class.

    If the model does not pool folds, groups or classifiers, the prior is compared with the counts
    of each, and otherwise with their sum.
    """
    if prior is None:
        return []
    counts = counts.sum("step") if "step" in counts.dims else counts
    weights = xr.DataArray(prior, dims=counts.dims if prior.ndim > 2 else CELLS).sum("predicted")
    pooled = [dim for dim in counts.dims if dim not in (*CELLS, *apart, "classifier")]
    weights = weights.isel({dim: 0 for dim in pooled if dim in weights.dims})
    totals = counts.sum([*pooled, "predicted"])
    if "repeat" in pooled:
        totals = totals / counts.sizes["repeat"]
    weights, totals = xr.broadcast(weights, totals)
    for dim in [dim for dim in totals.dims if dim != "actual"]:  # drop equal members
        first = {dim: [0]}
        if (totals == totals[first].values).all() and (weights == weights[first].values).all():
            weights, totals = weights[{dim: 0}], totals[{dim: 0}]
    advice = "a different prior would change the results"
    rows = _heavy(weights.sum("actual"), totals.sum("actual"))
    if rows:
        name, weight, size = max(rows, key=lambda row: row[1] / max(row[2], 1e-9))
        more = f" (and likewise for {len(rows) - 1} more)" if len(rows) > 1 else ""
        return [
            f"The prior is worth {weight:.3g} examples, more than a tenth of the {size:.4g} "
            f"{name or 'in the data'}{more}: {advice}."
        ]
    rows = _heavy(weights, totals)
    if not rows:
        return []
    heavy = [f"{name} ({weight:.2g} to {size:.4g})" for name, weight, size in rows]
    more = f" and {len(heavy) - 10} others" if len(heavy) > 10 else ""
    return [
        f"The prior is worth more than a tenth of the examples of {', '.join(heavy[:10])}{more}: "
        f"{advice} there."
    ]


def _heavy(weights, totals):
    """Return name, weight and number of examples of each weight above a tenth of the examples."""
    rows = []
    for index in np.argwhere((weights > totals / 10).values):
        where = dict(zip(totals.dims, index.tolist(), strict=True))
        labels = {d: totals[d].values[i] if d in totals.coords else i for d, i in where.items()}
        name = [str(labels.pop("actual"))] if "actual" in labels else []
        name += [f"of {dim} {label}" for dim, label in labels.items()]
        rows.append((" ".join(name), float(weights[where]), float(totals[where])))
    return rows


def _undefined(table):
    lines = []
    index = [name for name in table.columns if name not in COLUMNS]
    for row in table.to_dict("records"):
        labels = [display_label(row[column]) for column in index if column != "measure"]
        name = " ".join([display_name(row["measure"]), *labels])
        if row["undefined"] > 1e-4:
            share = f"{100 * row['undefined']:.2g}%"
            lines.append(f"{name} is undefined (0/0) in {share} of its posterior draws.")
    most = 6
    if len(lines) <= most:
        return lines
    return [*lines[:most], f"The same applies to {len(lines) - most} more."]


def _look_paired(counts):
    if "classifier" not in counts.dims:
        return []
    names = counts["classifier"].values
    rows = counts.sum([dim for dim in counts.dims if dim not in ("classifier", "actual")])
    rows = rows.transpose("classifier", "actual").values
    for i, j in combinations(range(len(names)), 2):
        if np.array_equal(rows[i], rows[j]):
            return [
                (
                    f"{names[i]} and {names[j]} have the same class totals. They seem to be tested "
                    "on the same examples, but are compared as independent, so differences look "
                    "less certain than they are."
                )
            ]
    return []


def _uneven(counts, dim):
    """Return a caution if the parts differ more in accuracy than by chance (permutation test)."""
    if dim not in counts.dims or counts.sizes[dim] < 2:
        return []
    names = counts["classifier"].values if "classifier" in counts.dims else [None]
    lines = []
    for i, name in enumerate(names):
        one = counts if name is None else counts.isel(classifier=i)
        # Repeats are tested separately, because each contains every example once.
        runs = [one.isel(repeat=r) for r in range(one.sizes.get("repeat", 0))] or [one]
        p_value = min(1.0, len(runs) * min(_shuffle_test(run, dim) for run in runs))
        if p_value <= _RARE:
            of = "" if name is None else f" of {name}"
            exact = p_value > 1.5 / _SHUFFLES * len(runs)
            p = f"p = {p_value:.2g}" if exact else f"p < {p_value:.1g}"
            parts = "batches" if dim == "step" else f"{dim}s"
            lines.append(f"The {parts} differ in accuracy{of} by more than chance ({p}).")
    return lines


def _shuffle_test(counts, dim):
    """Return the p-value of a permutation test that all parts have the same error rate."""
    cells = counts.sum([name for name in counts.dims if name not in (*CELLS, dim)])
    cells = cells.transpose(dim, *CELLS).values
    sizes = cells.sum(axis=(1, 2)).round().astype(int)
    wrong = (sizes - np.trace(cells, axis1=1, axis2=2)).round().astype(int)
    if not 0 < wrong.sum() < sizes.sum():
        return 1.0
    rng = np.random.default_rng(0)
    expected = sizes * wrong.sum() / sizes.sum()
    sizes, wrong, expected = sizes[sizes > 0], wrong[sizes > 0], expected[sizes > 0]
    shuffled = rng.multivariate_hypergeometric(sizes, wrong.sum(), _SHUFFLES, method="marginals")
    spread = ((shuffled - expected) ** 2 / expected).sum(axis=1)
    observed = ((wrong - expected) ** 2 / expected).sum()
    # The observed value is slightly reduced, so that ties are counted despite rounding errors.
    return (1 + (spread >= observed * (1 - 1e-9)).sum()) / (1 + _SHUFFLES)
