"""Search for the worst slices, with control of the false discovery rate."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers import cautions
from bayescm.answers.compare import draw_labelled
from bayescm.answers.gaps import number_of_draws, number_of_examples, observed_values, pooled
from bayescm.answers.interval import resolve_measures
from bayescm.fitting.question import Question
from bayescm.measures.labelled import check_not_several
from bayescm.validate import check_kind, check_prob, check_seed, fail

_LARGEST = 4e7  # largest number of drawn values held in memory
_FEWEST = 500  # smallest number of draws, if there are many slices


def worst_slices(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measure: str | Callable,
    *,
    threshold: float | None = None,
    delta: float = 0.0,
    fdr: float = 0.1,
    k: int = 10,
    dim: str | Sequence[str] = "group",
    prob: float = 0.95,
    kind: str = "hdi",
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    **keywords: Any,
) -> pd.DataFrame:
    """
    Return a table of slices, sorted by decreasing probability of being bad.

    The worst of many noisy values usually looks worse than it is. Three or more slices are
    therefore partially pooled first, with the same models as in `bayescm.gap`. The number of
    flagged slices is limited by the expected false discovery rate (Newton et al., 2004). In
    contrast, `interval` with ``of="group"`` uses `models.hierarchical_groups`, which shrinks an
    outlying slice more strongly. Pass ``model="hierarchical_groups"`` to use that model here.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts with a dimension ``group`` or with dimensions of several attributes, or a fit of
        them. Also scores or probabilities with groups, and item scores, attempts or multilabel
        predictions in slices, with ``dim="topic"``.
    measure : str or callable
        A single measure.
    threshold : float, optional
        A slice is bad if its value is worse than the threshold (below it, or above it if lower
        values are better). By default, a slice is bad if it is worse than the mean of the other
        slices by more than ``delta``.
    delta : float, default 0
        Margin for the default definition of a bad slice. Ignored if ``threshold`` is passed.
    fdr : float in (0, 1), default 0.1
        Expected false discovery rate among the flagged slices.
    k : int, default 10
        Number of slices for ``p_worst``, the probability of being among the k worst.
    dim : str or sequence of str, default "group"
        Dimension of the slices. With several dimensions, each combination of labels is a slice, and
        the model is ``crossed_groups``.
    prob : float in (0, 1), default 0.95
        Probability of the intervals.
    kind : {"hdi", "eti"}
    model, concentration, positive, draws, random_seed
        See `bayescm.interval`.
    **keywords
        Further keywords of the model, such as ``spread=0.5``.

    Returns
    -------
    DataFrame
        One row per slice (and class, and classifier):

        - The labels of the slice, and the number of ``examples`` in it.
        - ``observed``: value in the sample.
        - ``mean``, ``lower``, ``upper``: posterior mean and interval.
        - ``p_bad``, ``p_worst``: probability of being bad, and of being among the ``k`` worst.
        - ``expected_fdr``: expected false discovery rate if this row and all rows above are
          flagged.
        - ``flagged``: whether the slice is flagged.

        ``attrs`` contains the expected number of false discoveries among the flagged slices
        (``expected_false``) and of bad slices in total (``expected_bad``). It also contains
        ``measure``, ``threshold``, ``fdr``, ``k``, ``prob``, ``kind``, ``how``, the largest
        numerical ``error`` of a bound, and ``caution`` if there is reason to doubt the model.

    Raises
    ------
    ValueError
        If there are fewer than two slices, or an argument is invalid.

    References
    ----------
    Newton, M. A., Noueiry, A., Sarkar, D. & Ahlquist, P. (2004). Detecting differential gene
    expression with a semiparametric hierarchical mixture method. Biostatistics 5, 155-176.
    doi:10.1093/biostatistics/5.2.155

    See Also
    --------
    gap : Performance gap between the slices.
    plot_slices : Plot of this table.

    Examples
    --------
    >>> import bayescm as bcm
    >>> tp = [45, 44, 46, 43, 45, 44, 28, 45]
    >>> cells = bcm.from_cells(tp=tp, fn=[50 - each for each in tp], fp=[9] * 8, tn=[41] * 8)
    >>> slices = worst_slices(cells.rename(batch="group"), "recall", threshold=0.8)
    >>> slices[slices["flagged"]]["group"].tolist()
    [6]
    """
    check_prob(prob), check_kind(kind), _check_fdr(fdr)
    seed = check_seed(random_seed)
    question = Question(
        "parameter", None, model, concentration, positive, draws, seed, None, keywords
    )
    posterior, dims, names = pooled(evidence, dim, question)
    resolved = _single_measure(posterior, measure)
    level = _number("threshold", threshold)
    values = _draw_slices(posterior, resolved, dims, draws, seed)
    sign = -1.0 if resolved.lower_is_better else 1.0
    bad = _prob_bad(values, sign, level, dims, _number("delta", delta))
    ends, errors = posterior.empirical(resolved, values.values).interval_with_error(prob, kind)
    labels = _row_labels(values, resolved.__name__, names)
    number = _check_k(k, bad.size)
    columns = {
        "examples": _by_row(number_of_examples(posterior), values),
        "observed": _by_row(observed_values(posterior, resolved), values),
        "mean": values.values.mean(0).ravel(),
        "lower": ends[..., 0].ravel(),
        "upper": ends[..., 1].ravel(),
        "p_bad": bad.ravel(),
        "p_worst": _prob_among_worst(sign * values.values.reshape(len(values), -1), number),
    }
    table = _flag(pd.DataFrame({**labels, **columns}), sign, fdr)
    flagged = table[table["flagged"]]
    table.attrs = {
        "measure": resolved.__name__,
        "threshold": threshold,
        "fdr": fdr,
        "k": number,
        "prob": prob,
        "kind": kind,
        "how": posterior.how,
        "error": float(np.max(errors, initial=0.0, where=~np.isnan(errors))),
        "expected_false": float((1 - flagged["p_bad"]).sum()),
        "expected_bad": float(table["p_bad"].sum()),
    }
    doubts = cautions.of_measures(posterior, [resolved], "parameter") + posterior.misfit(resolved)
    if doubts:
        table.attrs["caution"] = " ".join(doubts)
    return table


def _check_fdr(fdr):
    if isinstance(fdr, bool) or not isinstance(fdr, (int, float, np.number)) or not 0 < fdr < 1:
        raise fail("`fdr` must be between 0 and 1", fdr, "", "pass e.g. `fdr=0.1`")


def _single_measure(posterior, measure):
    """Return the requested measure, or raise an error if there are several."""
    check_not_several(measure)
    (resolved,) = resolve_measures(posterior, [measure])
    return resolved


def _number(name, value):
    if value is None:
        return None
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not np.isfinite(value):
        raise fail(f"{name} must be a finite number", value, "", f"pass e.g. {name}=0.8")
    return float(value)


def _draw_slices(posterior, measure, dims, draws, seed):
    """Draw the measure of every slice, dims (draw, ..., [class]), with slice dimensions first."""
    size = number_of_draws(posterior, draws)
    if draws is None:
        size = max(_FEWEST, min(size, int(_LARGEST / max(1, posterior.batch.size))))
    drawn = draw_labelled(posterior, [measure], size, np.random.default_rng(seed))
    values = drawn[measure.__name__].transpose("draw", *dims, ...)
    if np.prod([values.sizes[name] for name in dims]) < 2:
        raise fail(
            "At least two slices are needed; the sizes are {}",
            dict(values.sizes),
            "",
            "name the column of the slices",
        )
    return values


def _prob_bad(values, sign, level, dims, delta):
    """Return the probability that each slice is bad. Undefined values are treated as not bad."""
    if level is not None:
        return (sign * (values.values - level) < 0).mean(0)
    number = values.notnull().sum(dims)
    rest = (values.sum(dims) - values.fillna(0)) / (number - 1).where(number > 1)
    off = (sign * (values - rest)).transpose(*values.dims).values
    return (off < -delta).mean(0)


def _prob_among_worst(values, k):
    """Return the probability of being among the k lowest of the values, shape (draw, slice)."""
    defined = np.where(np.isnan(values), np.inf, values)
    edge = np.partition(defined, k - 1, axis=1)[:, k - 1 : k]
    return ((defined <= edge) & np.isfinite(defined)).mean(0)


def _check_k(k, slices):
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise fail("`k` must be a number of slices, 1 or more", k, "", "pass `k=10`")
    return min(int(k), slices)


def _row_labels(values, name, names) -> dict[str, Any]:
    """Return the labels of every row, by dimension."""
    dims = [names.get(dim, dim) for dim in values.dims[1:]]
    taken = {"examples", "observed", "mean", "lower", "upper", "p_bad", "p_worst"} & set(dims)
    if taken:
        raise fail(
            "The dimension {} has the same name as a column of the table",
            taken,
            "",
            "rename the dimension",
        )
    labels = [values.get_index(dim) for dim in values.dims[1:]]
    return {
        "measure": np.full(values[0].size, name, dtype=object),
        **pd.MultiIndex.from_product(labels, names=dims).to_frame(index=False),
    }


def _by_row(numbers, values):
    """Return a number per slice, in the order of the rows."""
    blank = values.isel(draw=0, drop=True)
    shared = [dim for dim in blank.dims if dim in numbers.dims]
    return (numbers.transpose(*shared).variable + 0 * blank.fillna(0).variable).values.ravel()


def _flag(table, sign, fdr):
    """Sort by the probability of being bad, and flag rows up to the false discovery rate."""
    order = np.lexsort((sign * table["mean"].to_numpy(), -table["p_bad"].to_numpy()))
    table = table.iloc[order].reset_index(drop=True)
    share = np.cumsum(1 - table["p_bad"].to_numpy()) / np.arange(1, len(table) + 1)
    return table.assign(expected_fdr=share, flagged=share <= fdr)
