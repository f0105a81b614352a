"""
Tables of posterior summaries, one row per measure.

In addition to `summary`, the module puts summaries into sentences (`sentences`), returns them as
flat numbers for experiment trackers (`as_metrics`) and summarises groups by site (`by_site`).
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers.cautions import of_point, undefined_points
from bayescm.answers.dask import in_blocks, is_lazy
from bayescm.answers.interval import (
    labelled_distributions,
    resolve_measures,
    usual_measures,
)
from bayescm.answers.tables import Intervals, decimals, is_mean_unusable
from bayescm.distributions.batches import precompute_intervals
from bayescm.distributions.hdi import remark
from bayescm.evidence.registry import is_members
from bayescm.fitting.posterior_for import posterior_of, select_estimand
from bayescm.fitting.question import USUAL, Question
from bayescm.fitting.sampled import several_fits
from bayescm.measures.display_names import (
    DisplayNames,
    display_dim,
    display_label,
    display_name,
    with_index,
)
from bayescm.posteriors.base import Posterior
from bayescm.validate import check_kind, check_prob, fail

type Evidence = xr.DataArray | xr.Dataset | xr.DataTree
COLUMNS = ("point", "mean", "median", "sd", "lower", "upper", "how", "error", "undefined")
_POPULATIONS = ("population", "typical", "new")
_SITES = {"population": "mean of all", "new": "a new one"}
_SITE_COLUMNS = ("measure", "group", "classifier", "point", "mean", "lower", "upper", "error")


def summary(
    evidence: Evidence | Mapping[Any, Evidence],
    measures: str | Callable | Sequence[str | Callable] | None = None,
    *,
    dim: str = "classifier",
    prob: float = 0.95,
    kind: str = "hdi",
    of: str | Sequence[str] = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    accuracy: float | None = None,
    **keywords: Any,
) -> pd.DataFrame:
    """
    Return a table of posterior summaries, one row per measure.

    This is the usual starting point for a single classifier. To compare classifiers, use
    `bayescm.compare`, because separate intervals of paired classifiers do not show the uncertainty
    of their difference.

    Parameters
    ----------
    evidence : DataArray, Dataset, DataTree or mapping
        See `bayescm.interval`. Counts in a Dask array are summarised block by block by the Dask
        workers. A mapping ``{"a": counts, "b": counts}`` contains several pieces of evidence, which
        are summarised separately.
    measures : str, callable or a sequence of these, optional
        Measures to summarise. By default the usual measures for this type of evidence. There is no
        default for results on several data sets.
    dim : str, default "classifier"
        Name of the column that identifies the members of a mapping, such as ``"data_set"``.
    of : str or sequence of str, default "parameter"
        Estimand. See `bayescm.interval`. Several estimands, such as ``["population", "typical",
        "finite", "new"]`` for groups, are listed in separate rows.
    prob, kind, n, model, concentration, positive, draws, random_seed, accuracy, **keywords
        See `bayescm.interval`.

    Returns
    -------
    DataFrame
        One row per measure and combination of leading dimensions and classes, each of which has a
        column. If the evidence has groups or folds, the column ``of`` names the estimand (by
        default ``"population"`` for groups). Further columns:

        - ``point``: the plug-in estimate of the same estimand from the observed data. It is NaN if
          the measure is 0/0 in the sample. In this case, the rest of the row depends on the prior,
          and ``caution`` names the measure. See Notes for sampled and custom models.
        - ``mean``, ``sd``: posterior mean and standard deviation.
        - ``median``: only if a mean is infinite or outside its interval.
        - ``lower``, ``upper``: bounds of the interval.
        - ``how``: the method of computation, and the reason if the interval is not of the requested
          kind.
        - ``error``: the numerical error of the bounds. See `bayescm.interval`.
        - ``undefined``: the fraction of the posterior with an undefined measure (0/0).

        ``attrs`` contains ``prob`` and ``kind``, the values of ``covariates`` if there are any, and
        a ``caution`` if there is reason to doubt the model.

    Warns
    -----
    UserWarning
        If the requested ``accuracy`` is not reached, for example with folds or draws.

    Notes
    -----
    For a custom model, ``point`` is the measure of the counts. It is the posterior median for
    fits without their counts, for sampled models of other types of evidence, and for custom
    models with a prevalence. For repeated attempts, it is the mean over all subsets of the
    required number of attempts.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> summary(counts, ["precision", "f1"])[["measure", "point", "lower", "upper"]].round(3)
         measure  point  lower  upper
    0  precision  0.650  0.555  0.740
    1         f1  0.722  0.644  0.791
    """
    estimands = of if isinstance(of, str) else tuple(of)
    question = Question(
        estimands, n, model, concentration, positive, draws, random_seed, accuracy, keywords
    )
    return nested_summary(evidence, measures, question, dim=dim, prob=prob, kind=kind)


def nested_summary(
    evidence: Evidence | Mapping[Any, Evidence],
    measures: str | Callable | Sequence[str | Callable] | None,
    question: Question,
    *,
    dim: str = "classifier",
    prob: float,
    kind: str,
    inner: float | None = None,
) -> pd.DataFrame:
    """
    Return a summary that can include the ends of an inner interval.

    Parameters
    ----------
    evidence, measures, dim, prob, kind
        See `summary`.
    question : Question
        Estimand, model and further options. The estimand may be a tuple of several estimands.
    inner : float, optional
        Probability of the inner interval, which adds the columns ``inner_lower`` and
        ``inner_upper``.
    """
    check_prob(prob), check_kind(kind)
    again = partial(nested_summary, dim=dim, prob=prob, kind=kind, inner=inner)
    if is_members(evidence):
        return _of_members(evidence, dim, lambda member: again(member, measures, question))
    if measures is None:
        measures = usual_measures(evidence)
    if not isinstance(question.of, str):
        return _of_estimands(
            question.of, lambda of: again(evidence, measures, replace(question, of=of))
        )
    if is_lazy(evidence):
        return in_blocks(partial(again, measures=measures, question=question), evidence)
    posterior, of = select_estimand(posterior_of(evidence, question), question.of)
    return table_of(posterior, measures, prob, kind, replace(question, of=of), inner=inner)


def _of_estimands(estimands, ask):
    """Return the summaries of several estimands in one table, sorted by measure."""
    if not len(estimands):
        raise fail("`of` is empty", ..., "", 'pass `of=["population", "new"]`')
    with several_fits(len(estimands)):
        tables = [ask(of) for of in estimands]
    for of, part in zip(estimands, tables, strict=True):
        if "of" not in part:
            part.insert(list(part).index("point"), "of", of)
    cautions = dict.fromkeys(part.attrs["caution"] for part in tables if "caution" in part.attrs)
    return _below_each_other(tables, list(cautions))


def _below_each_other(tables, cautions):
    """Concatenate tables with the union of their columns, sorted by measure."""
    order = max((list(part) for part in tables), key=len)
    parts = [pd.DataFrame(part.reindex(columns=order)) for part in tables]
    table = pd.concat(parts, ignore_index=True)
    rank = {name: i for i, name in enumerate(dict.fromkeys(table["measure"]))}
    table = table.sort_values("measure", key=lambda names: names.map(rank), kind="stable")
    table = Intervals(table.reset_index(drop=True))
    kept = ("prob", "kind", "covariates")
    table.attrs = {name: tables[0].attrs[name] for name in kept if name in tables[0].attrs}
    table.attrs["ranges"] = {}
    for part in tables:
        table.attrs["ranges"] |= part.attrs["ranges"]
    table.attrs |= {"caution": " ".join(cautions)} if cautions else {}
    return table


def _of_members(evidence, dim, ask):
    """Return the summaries of several pieces of evidence in one table, sorted by measure."""
    if not evidence:
        raise fail("No evidence is given", ..., "", 'pass e.g. {"a": counts_a, "b": counts_b}')
    with several_fits(len(evidence)):
        tables = {name: ask(member) for name, member in evidence.items()}
    for name, part in tables.items():
        if dim in part:
            raise fail(
                f"{name} already has a column {dim}",
                ...,
                "",
                'choose another name, e.g. `dim="data_set"`',
            )
        part.insert(1, dim, pd.Series([name] * len(part), dtype=object))
    if any("of" in part for part in tables.values()):
        for part in tables.values():
            if "of" not in part:
                part.insert(list(part).index("point"), "of", "parameter")
    cautions = [
        f"{name}: {part.attrs['caution']}"
        for name, part in tables.items()
        if "caution" in part.attrs
    ]
    return _below_each_other(list(tables.values()), cautions)


def table_of(
    posterior: Posterior,
    measures: str | Callable | Sequence[str | Callable],
    prob: float,
    kind: str,
    question: Question = USUAL,
    *,
    inner: float | None = None,
) -> pd.DataFrame:
    """Return the summary of a posterior. See `summary` for the other options."""
    of, resolved_measures = question.of, resolve_measures(posterior, measures)
    answers = labelled_distributions(posterior, resolved_measures, question)
    scalars = [distribution for distribution, template in answers if not template.dims]
    precompute_intervals(scalars, prob, kind, moments=True)
    if inner is not None:
        precompute_intervals(scalars, inner, kind)
    points = [posterior.point(measure, of) for measure in resolved_measures]
    parts = [
        _rows(distribution, template, point, prob, kind, inner)
        for (distribution, template), point in zip(answers, points, strict=True)
    ]
    infinite = [part["measure"][0] for part in parts if np.isinf(part["mean"]).any()]
    if any(is_mean_unusable(part).any() for part in parts):
        for part, (distribution, template) in zip(parts, answers, strict=True):
            median = np.broadcast_to(distribution.quantile(0.5), template.shape)
            part["median"] = median.ravel()
    # Label columns come first, including the classes, which only some measures have.
    names = dict.fromkeys(name for part in sorted(parts, key=len)[::-1] for name in part)
    table = Intervals({name: _column(parts, name) for name in names})
    if (estimand := posterior.estimand_name(of)) != "parameter":
        table.insert(list(table).index("point"), "of", estimand)
    table.attrs |= {"prob": prob, "kind": kind}
    table.attrs["ranges"] = {
        str(template.name): measure.range
        for measure, (_, template) in zip(resolved_measures, answers, strict=True)
    }
    _warn_of_accuracy(table, question.accuracy)
    template_attrs = answers[0][1].attrs
    table.attrs |= {k: template_attrs[k] for k in ("covariates",) if k in template_attrs}
    cautions = [answers[0][1].attrs.get("caution", "")]
    if "median" in table:
        table.insert(list(table).index("mean") + 1, "median", table.pop("median"))
    if infinite:
        written = ", ".join(map(display_name, infinite))
        cautions.append(f"The mean is infinite for {written}. Use the median.")
    cautions += _of_the_judge(posterior, table)
    of_points = [
        of_point(posterior, *each, prob=prob, kind=kind, of=of)
        for each in zip(resolved_measures, answers, parts, strict=True)
    ]
    cautions += undefined_points([name for names, _ in of_points for name in names])
    cautions += [sentence for _, sentences in of_points for sentence in sentences]
    if kind == "hdi" and of == "new":
        cautions += _orders_of_magnitude(parts, resolved_measures)
    cautions += [_without_end(part, answer[0]) for part, answer in zip(parts, answers, strict=True)]
    if caution := " ".join(filter(None, cautions)):
        table.attrs["caution"] = caution
    return table


def _of_the_judge(posterior, table):
    """Return a caution if the measures describe the judge because there are no predictions."""
    observed = getattr(posterior, "counts", None)
    if observed is None or observed.coords.get("classified", "") != "judge":
        return []
    names = [name for name in dict.fromkeys(table["measure"]) if name != "prevalence"]
    if not names:
        return []
    written = ", ".join(map(display_name, names))
    return [
        (
            f"The results are for the judge, because no predictions were given: {written}. "
            "The prevalence is the proportion of positives among all examples."
        )
    ]


def _warn_of_accuracy(table, accuracy):
    """Warn if the requested accuracy is not reached by the method of computation."""
    if accuracy is None or not (worst := table["error"].max()) > accuracy:
        return
    name = table.loc[table["error"].idxmax(), "measure"]
    warnings.warn(
        f"accuracy={accuracy:g} was not achieved: the numerical error of "
        f"{display_name(name)} is {worst:.1g}. accuracy applies to functions of "
        "Dirichlet tables; for other estimates, increase draws=.",
        UserWarning,
        stacklevel=5,
    )


def _orders_of_magnitude(parts, measures):
    """Return a caution if a ratio in a new group ranges over orders of magnitude."""
    names = [
        display_name(part["measure"][0])
        for part, measure in zip(parts, measures, strict=True)
        if np.isinf(getattr(measure, "range", (0.0, 1.0))[1]) and (part["sd"] > part["mean"]).any()
    ]
    if not names:
        return []
    return [
        (
            f"Values of {', '.join(names)} in new groups can differ by orders of magnitude. The "
            "highest-density interval begins close to 0, and a few large values determine the "
            "mean. Use an equal-tailed interval."
        )
    ]


def _without_end(part, distribution):
    """Return a caution if the intervals of a measure extend to infinity."""
    endless = np.isinf(part["upper"])
    if not endless.any():
        return ""
    beyond = np.ravel(distribution.sf(np.finfo(float).max))
    if not (beyond > 0).any():
        return ""
    up_to = "up to " if endless.sum() > 1 else ""
    return (
        f"{display_name(part['measure'][0])} is infinite with probability "
        f"{up_to}{beyond.max():.2g}, as for a test that is no better than chance. Its "
        "interval has no upper end."
    )


# Rows of one measure, and columns of all measures.


def _rows(distribution, template, point, prob, kind, inner):
    ends, error = distribution.interval_with_error(prob, kind)
    ends, error = np.broadcast_to(ends, (*template.shape, 2)), error.max(axis=-1)
    how = np.full(template.shape, distribution.how, dtype=object)
    if kind == "hdi":
        how = _with_kind(how, np.broadcast_to(distribution.hdi_kind(prob), template.shape))
    columns = {
        "point": point,
        "mean": distribution.mean(),
        "sd": distribution.sd(),
        "lower": ends[..., 0],
        "upper": ends[..., 1],
        "how": how,
        "error": error,
        "undefined": distribution.undefined,
    }
    if inner is not None:
        ends, _ = distribution.interval_with_error(inner, kind)
        ends = np.broadcast_to(ends, (*template.shape, 2))
        columns |= {"inner_lower": ends[..., 0], "inner_upper": ends[..., 1]}
    return _columns(template, columns)


def _with_kind(how, kinds):
    """Add remarks on highest-density intervals that are not unique."""
    for kind in np.unique(kinds).tolist():
        how[kinds == kind] += remark(kind)
    return how


def _columns(template, columns):
    index = [
        template.coords[dim].values if dim in template.coords else range(size)
        for dim, size in template.sizes.items()
    ]
    grid = np.meshgrid(*index, indexing="ij") if index else []
    rows = {"measure": np.full(template.size, template.name, dtype=object)}
    rows |= {dim: labels.ravel() for dim, labels in zip(template.dims, grid, strict=True)}
    rows |= {
        name: np.broadcast_to(values, template.shape).ravel() for name, values in columns.items()
    }
    return rows


def _column(parts, name):
    """Return a column of all measures, with NaN for measures that do not have it."""
    if all(name in part for part in parts):
        return np.concatenate([part[name] for part in parts])
    blank = [np.full(len(part["measure"]), np.nan, object) for part in parts]
    return np.concatenate([part.get(name, empty) for part, empty in zip(parts, blank, strict=True)])


# Sentences.


def sentences(
    table: pd.DataFrame, *, prob: float = 0.95, display_names: DisplayNames = None
) -> list[str]:
    """
    Describe each row of a summary in a plain sentence.

    Parameters
    ----------
    table : DataFrame
        Table returned by `summary`.
    prob : float
        Probability of the intervals in the table.
    display_names : mapping of str to str, optional
        Display names of measures, dimensions and labels. See `bayescm.measures.display_name`.

    Examples
    --------
    >>> import bayescm as bcm
    >>> table = summary(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), "f1")
    >>> sentences(table)
    ['F1 lies between 0.644 and 0.791 with probability 95%; the best single guess is 0.719.']
    """
    dims = [name for name in table.columns if name not in ("measure", "of", *COLUMNS)]
    return [_sentence(row, dims, prob, display_names) for row in table.to_dict("records")]


def _sentence(row, dims, prob, display_names):
    where = [
        f"{display_dim(dim, display_names)} {display_label(row[dim], display_names)}"
        for dim in dims
    ]
    where += [row["of"]] if "of" in row else []
    name = with_index(display_name(row["measure"], display_names), where)
    if np.isnan(row["lower"]):
        return f"{name} is undefined: 0/0."
    digits, is_finite = decimals(row["error"], 3), np.isfinite(row["mean"])
    has_mean = not is_mean_unusable(row)
    center = row["mean"] if has_mean else row.get("median", np.nan)
    lower, upper, middle = (f"{value:.{digits}f}" for value in (row["lower"], row["upper"], center))
    text = f"{name} lies between {lower} and {upper} with probability {100 * prob:.4g}%; "
    # The mean of a population may be outside the range of the observed groups if they are few.
    guess = "its mean is " if row.get("of") in _POPULATIONS else "the best single guess is "
    no_mean = "its median is " if is_finite else "its mean is infinite, its median "
    text += guess if has_mean else no_mean
    text += middle
    if row["undefined"] > 0.001:
        text += f", where it is defined (it is undefined in {100 * row['undefined']:.2g}% of cases)"
    return text + "."


# Summaries by site, and as flat numbers.


def by_site(
    evidence: xr.Dataset,
    measures: Sequence[str | Callable],
    *,
    prob: float = 0.95,
    random_seed: Any = 0,
) -> pd.DataFrame:
    """
    Return equal-tailed intervals for the population and for each group.

    Parameters
    ----------
    evidence : Dataset
        Probabilities with a ``group``. See :func:`bayescm.from_probabilities`.
    measures : sequence of str or callable
    prob : float, default 0.95
    random_seed : int, default 0

    Returns
    -------
    DataFrame
        For each measure (and classifier), rows for the mean of the population of groups, for a new
        group and for each observed group. The columns are ``point``, ``mean``, ``lower``, ``upper``
        and ``error``. ``attrs["caution"]`` is set if there is reason to doubt the model.
    """
    options = {"prob": prob, "kind": "eti", "random_seed": random_seed}
    tables = [
        summary(evidence, measures, of=of, **options).assign(group=name)
        for of, name in _SITES.items()
    ]
    tables.append(summary(evidence, measures, of="group", **options))
    table = pd.concat(map(pd.DataFrame, tables), ignore_index=True)
    order = {name: rank for rank, name in enumerate(dict.fromkeys(table["measure"]))}
    in_order = table.sort_values("measure", key=lambda names: names.map(order), kind="stable")
    in_order = in_order[[name for name in _SITE_COLUMNS if name in in_order]]
    cautions = dict.fromkeys(part.attrs["caution"] for part in tables if "caution" in part.attrs)
    in_order.attrs = {"caution": " ".join(cautions)} if cautions else {}
    return in_order.reset_index(drop=True)


def as_metrics(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree | pd.DataFrame,
    measures: Any = None,
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    accuracy: float | None = None,
    **keywords: Any,
) -> dict[str, float]:
    """
    Return point estimates and intervals as a flat dict, for experiment trackers.

    Parameters
    ----------
    evidence : DataArray, Dataset, DataTree or DataFrame
        Any evidence that `bayescm.summary` accepts, or a table returned by it. No other arguments
        may be given with a table.
    measures : str, callable or a sequence of these, optional
        By default the measures of `bayescm.summary`.
    prob : float, default 0.95
        Probability of the intervals.
    kind : {"hdi", "eti"}
        Highest-density or equal-tailed intervals.
    of, n, model, concentration, positive, draws, random_seed, accuracy, **keywords
        See `bayescm.interval`.

    Returns
    -------
    dict of str to float
        Keys are ``"f1/point"``, ``"f1/mean"``, ``"f1/lower"`` and ``"f1/upper"``, with a prefix
        such as ``"site=A/"`` if there are several rows per measure. Values are NaN if a measure is
        undefined.

    Examples
    --------
    Weights & Biases accepts the result directly: ``run.log(as_metrics(counts, "f1"))``.

    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> {name: round(value, 3) for name, value in as_metrics(counts, "f1").items()}
    {'f1/point': 0.722, 'f1/mean': 0.719, 'f1/lower': 0.644, 'f1/upper': 0.791}
    """
    options: dict[str, Any] = {"of": of, "n": n, "draws": draws, "random_seed": random_seed}
    options |= {"accuracy": accuracy, "model": model, "concentration": concentration}
    options |= {"positive": positive, "prob": prob, "kind": kind, **keywords}
    if isinstance(evidence, pd.DataFrame) and "measure" in evidence:
        usual = {"of": "parameter", "random_seed": 0, "prob": 0.95, "kind": "hdi"}
        extra = [
            name
            for name, value in options.items()
            if (value != usual[name] if name in usual else value is not None)
        ]
        if measures is not None or extra:
            extra = [*([] if measures is None else ["measures"]), *extra]
            raise fail(
                "{} has no effect on a finished table", extra, "", "pass it to bcm.summary instead"
            )
        table = evidence
    else:
        names = {} if measures is None else {"measures": measures}
        table = summary(evidence, **names, **options)
    numbers = [name for name in ("point", "mean", "lower", "upper") if name in table]
    dims = list(table.columns[1 : table.columns.get_loc(numbers[0])])
    metrics: dict[str, float] = {}
    for row in table.to_dict("records"):
        labels = [f"{dim}={row[dim]}" for dim in dims if row[dim] == row[dim] and row[dim] != ""]
        path = "/".join([*labels, str(row["measure"])])
        metrics |= {f"{path}/{name}": float(row[name]) for name in numbers}
    return metrics
