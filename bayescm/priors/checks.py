"""
Checks of a prior: its predictions, conflicts with the data, and its influence on the posterior.

The prior predictive distribution of counts n in a test set of N examples is

    p(n) = N! / prod n_i!  Gamma(A) / Gamma(N + A)  prod Gamma(n_i + a_i) / Gamma(a_i)

This is the Dirichlet-multinomial distribution with concentration a, whose sum is A.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.distributions import dirichlet
from bayescm.evidence.counts import CELLS, align, as_counts
from bayescm.evidence.outcomes import matrices_of
from bayescm.measures.labelled import measure_cells
from bayescm.priors.pseudo_counts import check_concentration, named_priors, no_counts
from bayescm.validate import check_seed, check_whole, fail

# Tolerance for ties: tables with a smaller difference in log probability are treated as equal.
_TIE = 1e-9
# Tolerance for flat priors: log densities with a smaller relative range are treated as constant.
_FLAT = 1e-9


def predictive(
    concentration: Any,
    measures: str | Callable | Sequence[str | Callable],
    *,
    n: int,
    draws: int = 10_000,
    random_seed: int = 0,
) -> xr.Dataset:
    """
    Sample measures of a test set from the prior predictive distribution.

    Use this to check whether a prior is plausible before any data are seen.

    Parameters
    ----------
    concentration : DataArray, float, or mapping of str to these
        Prior with dimensions (actual, predicted) and all cells > 0, as returned by the functions of
        `bayescm.priors`. A number is used for every cell of two classes, with the positive one
        last. A mapping contains several named priors, as in :func:`table`.
    measures : name, function, or sequence of these
    n : int
        Size of the test set.
    draws : int, default 10,000
    random_seed : int, default 0

    Returns
    -------
    Dataset
        One variable per measure, dims ([prior], draw, [class]). NaN if a measure is undefined.

    Raises
    ------
    ValueError, TypeError
        If no prior is given, a prior is improper, or the input is not a prior.

    Examples
    --------
    >>> from bayescm.priors import elicit
    >>> prior = elicit(precision=0.6, recall=0.65, accuracy=0.6, weight=20)
    >>> f1 = predictive(prior, "f1", n=145, random_seed=1)["f1"]
    >>> f1.quantile([0.025, 0.975]).values.round(2)
    array([0.34, 0.84])
    >>> f1 = predictive({"flat": 1.0, "experts": prior}, "f1", n=145, random_seed=1)["f1"]
    >>> f1.quantile(0.025, "draw").round(2).values
    array([0.02, 0.34])
    """
    if isinstance(concentration, Mapping):
        asked: dict[str, Any] = {"n": n, "draws": draws, "random_seed": random_seed}
        priors = named_priors(concentration)
        parts = [predictive(prior, measures, **asked) for prior in priors.values()]
        return xr.concat(parts, pd.Index(list(priors), name="prior"))
    if isinstance(concentration, int | float) and not isinstance(concentration, bool):
        concentration = no_counts(None) + float(concentration)
    check_whole("n", n, 1, "examples", 100), check_whole("draws", draws, 1, "draws", 4000)
    prior = check_concentration(concentration)
    if prior.ndim > 2:
        raise fail(
            "Only one prior is possible; it has the dimensions {}",
            prior.dims,
            "",
            "select one: prior.isel(...)",
        )
    if not (prior > 0).all():
        raise _improper(prior.values)
    tables = _replicates(prior.values, n, draws, np.random.default_rng(check_seed(random_seed)))
    counts = xr.DataArray(tables, dict(prior.coords), ["draw_", *CELLS])
    return measure_cells(counts, measures).rename(draw_="draw")


def _improper(cells):
    todo = "use priors.jeffreys(counts)"
    return fail(
        "A prior with empty cells is improper and has no predictive distribution: {}",
        cells,
        "",
        todo,
    )


def _replicates(prior, n, draws, rng):
    """Sample tables of n examples each, (draws, *prior.shape)."""
    theta = dirichlet.draw(prior, draws, rng, axes=prior.ndim).reshape(draws, -1)
    return rng.multinomial(n, theta / theta.sum(-1, keepdims=True)).reshape(draws, *prior.shape)


def conflict(
    counts: xr.DataArray,
    concentration: Any = None,
    *,
    draws: int = 10_000,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return the prior predictive tail probability of the counts.

    A small value indicates that prior and data disagree, whether or not the posterior depends on
    the prior (which `sensitivity` measures). With a previous posterior as the prior, this checks
    whether a new batch is compatible with earlier data.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted)
        Observed counts.
    concentration : float, array_like or DataArray, optional
        Prior, all cells > 0. By default the default prior.
    draws : int, default 10,000
        Number of replicated tables of the same size. The standard error of a tail probability p is
        sqrt(p (1 - p) / draws).
    random_seed : int, default 0

    Returns
    -------
    DataArray, dims (..., part)
        Prior predictive probability of a table that is at most as probable as the observed one. The
        part ``all`` is for the whole table, ``totals`` for the class totals, and each class label
        (as text) for the predictions given this actual class. NaN if a class has no examples.

    References
    ----------
    Evans, M. & Moshonov, H. (2006). Checking for prior-data conflict. Bayesian Analysis, 1(4),
    893-914. doi:10.1214/06-BA129

    Examples
    --------
    >>> import bayescm as bcm
    >>> prior = bcm.priors.elicit(precision=0.9, recall=0.9, accuracy=0.95, weight=200)
    >>> tail = conflict(bcm.from_cells(tp=15, fn=15, fp=5, tn=65), prior)
    >>> bool(tail.sel(part="positive") < 0.001), bool(tail.sel(part="totals") > 0.05)
    (True, True)
    """
    check_whole("draws", draws, 1, "draws", 10_000)
    cells = as_counts(counts)
    prior = align(concentration, counts)
    if prior is None:
        prior = dirichlet.default_concentration(cells.sizes["actual"])
    prior = np.broadcast_to(prior, cells.shape)
    if not (prior > 0).all():
        raise _improper(prior.min())
    rng = np.random.default_rng(check_seed(random_seed))
    tails = [
        _tail_probabilities(cells.values[index], prior[index], draws, rng)
        for index in np.ndindex(cells.shape[:-2])
    ]
    parts = ["all", "totals", *map(str, cells["actual"].values)]
    dims = [*cells.dims[:-2], "part"]
    coords = {k: v for k, v in cells.coords.items() if not set(CELLS) & set(v.dims)}
    shape = (*cells.shape[:-2], len(parts))
    return xr.DataArray(np.reshape(tails, shape), {**coords, "part": parts}, dims, name="conflict")


def _tail_probabilities(cells, prior, draws, rng):
    """Return tail probabilities of the table, its class totals and its rows, (2 + C,)."""
    total = cells.sum()
    if total != np.floor(total):
        todo = "count whole examples"
        raise fail("Fractional counts (total {}) have no predictive distribution", total, "", todo)
    tables = _replicates(prior, int(total), draws, rng)
    tails = [
        _tail_probability(cells, tables, prior, axes=2),
        _tail_probability(cells.sum(-1), tables.sum(-1), prior.sum(-1), axes=1),
    ]
    for row, row_prior in zip(cells, prior, strict=True):
        if row.sum():
            rows = _replicates(row_prior, int(row.sum()), draws, rng)
            tails.append(_tail_probability(row, rows, row_prior, axes=1))
        else:
            tails.append(np.nan)
    return tails


def _tail_probability(counts, replicates, prior, axes):
    """Return the proportion of replicates that are at most as probable as the counts."""
    observed = _log_probability(counts, prior, axes)
    limit = observed + _TIE * (1 + abs(observed))
    return float((_log_probability(replicates, prior, axes) <= limit).mean())


def _log_probability(counts, prior, axes):
    return dirichlet.log_marginal(np.asarray(counts, float), counts + prior, axes=axes)


def sensitivity(
    tree: xr.DataTree,
    measures: str | Callable | Sequence[str | Callable] | None = None,
    *,
    positive: Any = None,
) -> pd.DataFrame:
    """
    Return the sensitivity of measures to power-scaling of prior and likelihood.

    This is ArviZ's power-scaling diagnostic of the posterior. It does not detect a prior that
    disagrees with the data but is outweighed by them. Use `conflict` for this purpose. For a flat
    prior, the sensitivity is 0, because its powers are equally flat.

    Parameters
    ----------
    tree : DataTree
        Fit of one matrix with the groups ``log_prior`` and ``log_likelihood``.
    measures : name, function, or sequence of these, optional
        Measures. By default those of `bayescm.summary`.
    positive : label, optional
        Positive class, if the fit does not define it.

    Returns
    -------
    DataFrame
        One row per measure (and class). The columns ``prior`` and ``likelihood`` are sensitivities:
        0 means no influence, and values above 0.05 should be examined. The column ``diagnosis`` is
        "prior and evidence disagree" if both are above 0.05 (potential prior-data conflict), "the
        prior dominates" if only the prior is, and "-" otherwise.

    References
    ----------
    Kallioinen, N., Paananen, T., Bürkner, P.-C. & Vehtari, A. (2024). Detecting and diagnosing
    prior and likelihood sensitivity with power-scaling. Statistics and Computing, 34, 57.
    doi:10.1007/s11222-023-10366-5

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> flat = bcm.fit(counts, concentration=1.0, random_seed=1)
    >>> float(sensitivity(flat, "f1")["prior"].iloc[0])
    0.0
    """
    if not isinstance(tree, xr.DataTree):
        todo = "fit the counts first: sensitivity(fit(counts), measures)"
        raise fail(
            f"sensitivity needs a fit, not a {type(tree).__name__}", ..., "", todo, TypeError
        )
    for group in ("log_prior", "log_likelihood"):
        if group not in tree.children:
            todo = "fit integer counts with a proper prior (concentration > 0)"
            raise fail(f"The tree has no group {group}, only {{}}", sorted(tree.children), "", todo)
    draws = measure_cells(tree, measures, positive=positive)
    if set(draws.dims) - {"chain", "draw", "class"}:
        todo = "fit one matrix at a time"
        raise fail(
            "The fit has several matrices but one likelihood; its sizes are {}",
            dict(draws.sizes),
            "",
            todo,
        )
    changes = {group: _power_scaled(tree, draws, group) for group in ("prior", "likelihood")}
    table = pd.DataFrame({group: _by_row(values) for group, values in changes.items()})
    strong, weak = table["prior"] > 0.05, table["likelihood"] < 0.05
    diagnoses = ["prior and evidence disagree", "the prior dominates"]
    table["diagnosis"] = np.select([strong & ~weak, strong & weak], diagnoses, "-")
    return table.rename_axis("measure").reset_index()


def _power_scaled(tree, draws, group):
    """Return ArviZ's sensitivity of the measures to powers of the prior or the likelihood."""
    from arviz_stats import psense

    logs = tree[f"log_{group}"].to_dataset()
    total = sum(values.sum(set(values.dims) - {"chain", "draw"}) for values in logs.values())
    if float(total.max() - total.min()) <= _FLAT * (1 + abs(float(total.max()))):
        return draws.isel(chain=0, draw=0, drop=True) * 0.0
    parts = {"posterior": draws, f"log_{group}": total.to_dataset(name="total")}
    return psense(xr.DataTree.from_dict(parts), group=group, sample_dims=["chain", "draw"])


def _by_row(dataset):
    """Return one number per measure, or per class of a measure."""
    rows = {}
    for name, values in dataset.items():
        if values.ndim:
            for label in values["class"].values:
                rows[f"{name}[{label}]"] = float(values.sel({"class": label}))
        else:
            rows[name] = float(values)
    return pd.Series(rows)


def table(
    counts: xr.DataArray,
    priors: Any,
    measures: str | Callable | Sequence[str | Callable] | None = None,
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    accuracy: float | None = None,
    **keywords: Any,
) -> pd.DataFrame:
    """
    Return a summary table of the posterior under several priors.

    Use this to show how much results depend on the prior.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted)
    priors : mapping of str to concentration, or one concentration
        Named priors, e.g. ``{"flat": 1.0, "experts": priors.elicit(...)}``. For models with further
        priors, a name can refer to several keywords, such as
        ``{"alike": {"spread": 0.3}, "apart": {"spread": 1.0}}`` for groups.
    measures : name, function, or sequence of these, optional
        Measures. By default those of `bayescm.summary`.
    prob, kind, of, n, model, positive, draws, random_seed, accuracy, **keywords
        See `bayescm.interval`.

    Returns
    -------
    DataFrame
        Concatenated tables of `bayescm.summary`, with two additional columns at the front:
        ``prior`` (its name) and ``examples`` (the number of examples to which it is equivalent).
        ``examples`` is NaN for priors from other families, and for entries that do not change the
        concentration.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=50, fn=30, fp=30, tn=35)
    >>> experts = bcm.priors.elicit(precision=0.6, recall=0.65, accuracy=0.6, weight=72.5)
    >>> both = table(counts, {"flat": 1.0, "experts": experts}, "recall")
    >>> both[["prior", "examples", "mean"]].round(3).values.tolist()
    [['flat', 4.0, 0.622], ['experts', 72.5, 0.633]]
    """
    from bayescm.answers.summary import summary
    from bayescm.fitting.sampled import several_fits

    by_keyword = {
        name: dict(prior) if isinstance(prior, Mapping) else {"concentration": prior}
        for name, prior in named_priors(priors).items()
    }
    if isinstance(counts, xr.DataTree):
        raise fail("A fit already has its prior", ..., "", "pass the evidence itself")
    asked: dict[str, Any] = {"prob": prob, "kind": kind, "of": of, "n": n, "model": model}
    asked |= {"positive": positive, "draws": draws, "random_seed": random_seed}
    asked |= {"accuracy": accuracy, **keywords}
    with several_fits(len(by_keyword)):
        tables = [
            summary(counts, measures, **asked, **prior).assign(
                prior=name, examples=_examples(prior, counts)
            )
            for name, prior in by_keyword.items()
        ]
    joined = pd.concat(tables, ignore_index=True)
    return joined[["prior", "examples", *joined.columns.drop(["prior", "examples"])]]


def _examples(prior, counts):
    """Return the number of examples to which the prior for the cells is equivalent, or NaN."""
    concentration = prior.get("concentration")
    if callable(concentration) or "concentration" not in prior:  # unknown pseudo-counts
        return float("nan")
    counts = matrices_of(counts)
    aligned, size = align(concentration, counts), counts.sizes["actual"]
    cells = np.asarray(dirichlet.default_concentration(size) if aligned is None else aligned)
    return float(np.broadcast_to(cells, (*cells.shape[:-2], size, size)).sum((-2, -1)).max())
