"""Coverage and length of intervals, measured by simulation.

A study draws evidence whose true value is known, hands it to several interval methods, and counts
how often the true value lies inside (degree of confidence, DOC) and how long the intervals are
(IL). Replication ``i`` draws from a generator that depends on the seed and on ``i`` alone, so the
result is the same whatever the number of workers, and an interrupted run resumes from its
journal without losing or repeating a replication.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm import __version__, validate
from bayescm.evidence.parallel import parallel, progress_bar
from bayescm.simulation.journal import Journal, generator

type Truth = Mapping[str, float]
type Method = Callable[[Any], Mapping[str, Any]]

# Evidence up to this many cells is kept in the journal, so that a method added later needs no new
# simulation.
KEEP = 1000


@dataclass(frozen=True)
class Study:
    """What is simulated, how it is judged and what is true.

    Parameters
    ----------
    name : str
        Name of the study; it guards the journal against being continued by a different study.
    generate : callable
        Function from a `numpy.random.Generator` to ``(evidence, truth)``, where ``truth`` maps each
        measure to its true value, or is None when the study has one ``truth`` for all.
    methods : mapping of str to callable
        Each method is a function from the evidence to a mapping of measures to
        ``(lower, upper)``.
    truth : callable, optional
        Function from a `numpy.random.Generator` to the true values of all replications; of values
        that are simulated themselves, to pairs (value, standard error). It is called once, and its
        answer is kept in the journal.
    """

    name: str
    generate: Callable[[np.random.Generator], tuple[Any, Truth | None]]
    methods: Mapping[str, Method]
    truth: Callable[[np.random.Generator], Mapping[str, Any]] | None = None


def run(
    study: Study | Callable,
    methods: Mapping[str, Method] | None = None,
    *,
    replications: int = 300,
    jobs: int | str = 1,
    seed: int = 0,
    journal: str | Path | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Measure the coverage and the length of intervals.

    Parameters
    ----------
    study : Study or callable
        The study, or just its ``generate`` function.
    methods : mapping of str to callable, optional
        The methods, in place of those of the study.
    replications : int
        Number of simulated data sets, >= 1.
    jobs : int or str
        Number of processes (-1: one for each core), or the address of a Dask scheduler such as
        ``"tcp://127.0.0.1:8786"``.
    seed : int
        Seed of the study. Replication ``i`` draws from ``SeedSequence(seed, spawn_key=(i,))``.
    journal : path, optional
        File (JSON lines) to which finished replications are appended as they come. If it exists,
        the run continues it: only missing replications or methods are computed.
    progress : bool
        Show a progress bar with the time left.

    Returns
    -------
    pandas.DataFrame
        One row for each measure and method: ``study``, ``measure``, ``method``, ``truth`` (its
        mean), ``center`` and ``center_se`` (mean of the intervals' middles, and its standard
        error), ``replications``, ``doc``, ``doc_se``, ``il``, ``il_se``, ``undefined`` (fraction of
        replications without an interval, counted as misses), ``seed`` and ``version``.

    Raises
    ------
    ValueError
        If the journal belongs to another study or seed, or a replication fails (which one, and
        why).

    Examples
    --------
    >>> from bayescm.simulation import coverage
    >>> def tosses(rng):
    ...     return rng.binomial(50, 0.3), {"p": 0.3}
    >>> def wald(heads, z=1.96):
    ...     p = heads / 50
    ...     half = z * (p * (1 - p) / 50) ** 0.5
    ...     return {"p": (p - half, p + half)}
    >>> table = coverage.run(tosses, {"wald": wald}, replications=200, seed=1)
    >>> table.loc[0, ["doc", "il"]].astype(float).round(3).tolist()
    [0.92, 0.251]
    """
    chosen = _as_study(study, methods)
    if replications < 1:
        raise validate.fail(
            "too few replications", replications, "an integer >= 1", "ask for at least one"
        )
    done = Journal(journal, chosen, seed)
    todo = [index for index in range(replications) if done.missing(index, chosen.methods)]
    tasks = [(chosen, seed, index, done.record(index)) for index in todo]
    with progress_bar(len(todo), chosen.name, progress) as advance:
        for record in parallel(_replicate, tasks, jobs):
            done.add(record)
            advance()
    return summarize(done.frame(chosen, range(replications)), study=chosen.name, seed=seed)


def summarize(records: pd.DataFrame, **columns: Any) -> pd.DataFrame:
    """Boil replications down to degree of confidence and interval length.

    Parameters
    ----------
    records : pandas.DataFrame
        One row for each replication, method and measure, with columns ``replication``,
        ``measure``, ``method``, ``truth``, ``lower`` and ``upper``, and perhaps ``truth_se``.
    **columns
        Further columns of the answer, constant in all its rows.

    Returns
    -------
    pandas.DataFrame
        See `run`. ``doc_se`` is the standard deviation of the Jeffreys posterior of the degree of
        confidence, so that it is not zero where every interval covered. The error of a true value
        that is simulated itself is in it: by how much the coverage changes where that value is one
        standard error off.
    """
    rows = [
        {"measure": measure, "method": method, **_score(group)}
        for (measure, method), group in records.groupby(["measure", "method"], sort=False)
    ]
    frame = pd.DataFrame(rows).assign(**columns, version=__version__)
    first = [name for name in ("study", "case") if name in frame]
    return frame[first + [name for name in frame if name not in first]]


def _score(group):
    lower, upper, truth = (group[name].to_numpy(float) for name in ("lower", "upper", "truth"))
    size, length = len(group), upper - lower
    defined = np.isfinite(length)
    error = group["truth_se"].to_numpy(float) if "truth_se" in group else 0.0
    inside, *beside = (
        np.sum(defined & (lower <= each) & (each <= upper))
        for each in (truth, truth - error, truth + error)
    )
    moved = max(abs(each - inside) for each in beside) / size
    smooth = (inside + 0.5) / (size + 1)
    length, middle = length[defined], ((lower + upper) / 2)[defined]
    return {
        "truth": truth.mean(),
        "center": middle.mean() if len(middle) else np.nan,
        "center_se": _standard_error(middle),
        "replications": size,
        "doc": inside / size,
        "doc_se": np.sqrt(smooth * (1 - smooth) / (size + 2) + moved**2),
        "il": length.mean() if len(length) else np.nan,
        "il_se": _standard_error(length),
        "undefined": 1 - defined.mean(),
    }


def _standard_error(values):
    return values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan


def ranks(table: pd.DataFrame, by: str = "study") -> pd.DataFrame:
    """Rank the methods of each case by coverage and by length, and average over the cases.

    Parameters
    ----------
    table : pandas.DataFrame
        Tables of `run`, one below the other.
    by : str
        Column that tells the cases apart.

    Returns
    -------
    pandas.DataFrame
        One row for each measure and method: the average ranks ``doc`` (1: covers most) and ``il``
        (1: shortest). Equal values share the better rank, as in Wang and Li's Table 11.
    """
    cases = table.groupby([by, "measure"], sort=False)
    scores = table.assign(
        doc=cases["doc"].rank(method="min", ascending=False),
        il=cases["il"].rank(method="min"),
    )
    return scores.groupby(["measure", "method"], sort=False)[["doc", "il"]].mean().reset_index()


def _as_study(study, methods):
    if isinstance(study, Study):
        return replace(study, methods=methods) if methods is not None else study
    if methods is None:
        raise validate.fail(
            "no methods",
            methods,
            "a mapping from names to interval functions",
            "pass methods={...}",
        )
    return Study(getattr(study, "__name__", "study"), study, methods)


def _replicate(study, seed, index, record):
    """Draw one replication (or take it from its record) and apply the methods it still lacks."""
    rng = generator(seed, index)
    try:
        if record is None or record["evidence"] is None:
            evidence, truth = study.generate(rng)
            record = {"intervals": {}} if record is None else record
            truth = truth and {name: float(value) for name, value in truth.items()}
            record |= {"index": index, "truth": truth, "evidence": _pack(evidence)}
        else:
            evidence = _unpack(record["evidence"])
        for name, method in study.methods.items():
            if name not in record["intervals"]:
                answer = method(evidence)
                record["intervals"][name] = {key: _bounds(ends) for key, ends in answer.items()}
    except Exception as error:
        raise validate.fail(
            f"replication {index} of {study.name!r} failed",
            f"{type(error).__name__}: {error}",
            "an answer in every replication",
            f"draw the data again with journal.generator({seed}, {index}) to see why",
        ) from error
    return record


def _bounds(ends):
    return [float(end) for end in np.asarray(ends, float)]


def _pack(evidence):
    """Return small counts, or a mapping of them, as JSON takes it, else None."""
    if isinstance(evidence, Mapping):
        packed = {name: _pack(each) for name, each in evidence.items()}
        return {"mapping": packed} if all(packed.values()) else None
    small = isinstance(evidence, xr.DataArray) and evidence.size <= KEEP
    return json.loads(json.dumps(evidence.to_dict(), default=_plain)) if small else None


def _unpack(packed):
    if "mapping" in packed:
        return {name: _unpack(each) for name, each in packed["mapping"].items()}
    return xr.DataArray.from_dict(packed)


def _plain(value):
    return value.item() if isinstance(value, np.generic) else list(value)
