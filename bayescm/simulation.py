"""Simulation studies of the coverage and length of intervals.

Data sets with known true values are simulated and passed to several interval methods. The results
are the coverage (degree of confidence, DOC) and the mean length (interval length, IL) of the
intervals. Replication ``i`` uses a generator that depends only on the seed and ``i``, so results do
not depend on the number of workers. An interrupted run resumes from its journal without losing or
repeating replications.

`run` evaluates the methods on one type of data set, and `Experiment` on several cases. Use
`Repeated` for other outcomes, such as false alarms, discoveries and mean errors.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm import __version__, validate
from bayescm.evidence.parallel import parallel, progress_bar

type Truth = Mapping[str, Any]
type Method = Callable[[Any], Mapping[str, Any]]

# Evidence with up to this number of cells is stored in the journal, so that methods can be added
# later without a new simulation.
CELLS_IN_JOURNAL = 1000
# Index of the generator for true values, which no replication uses.
TRUTH = 2**31


def generator(seed: int, index: int) -> np.random.Generator:
    """Return the generator of one replication, which depends only on seed and index."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))


def run(
    draw: Callable[[np.random.Generator], tuple[Any, Truth | None]],
    methods: Mapping[str, Method],
    *,
    truth: Callable[[np.random.Generator], Truth] | None = None,
    name: str | None = None,
    replications: int = 300,
    jobs: int | str = 1,
    seed: int = 0,
    journal: str | Path | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Estimate the coverage and length of intervals by simulation.

    Parameters
    ----------
    draw : callable
        Function of a `numpy.random.Generator` that returns ``(evidence, truth)``. ``truth`` maps
        each measure to its true value, or is None if the argument ``truth`` specifies the values
        for all replications.
    methods : mapping of str to callable
        Methods by name. Each is a function of the evidence that returns a mapping of measures to
        ``(lower, upper)``.
    truth : callable, optional
        Function of a `numpy.random.Generator` that returns the true values for all replications.
        True values that are themselves simulated are pairs (value, standard error). The function is
        called once, and its result is stored in the journal.
    name : str, optional
        Name of the experiment, which prevents another experiment from continuing the journal. By
        default the name of ``draw``.
    replications : int
        Number of simulated data sets, >= 1.
    jobs : int or str
        Number of processes (-1 for one per core), or the address of a Dask scheduler such as
        ``"tcp://127.0.0.1:8786"``.
    seed : int
        Seed. Replication ``i`` uses ``SeedSequence(seed, spawn_key=(i,))``.
    journal : path, optional
        JSON Lines file for finished replications. If the file exists, only missing replications and
        methods are computed.
    progress : bool
        Whether to show a progress bar with the remaining time.

    Returns
    -------
    pandas.DataFrame
        One row per measure and method, with these columns:

        - ``experiment``, ``measure`` and ``method``.
        - ``truth``: mean true value.
        - ``center``, ``center_se``: mean midpoint of the intervals, and its standard error.
        - ``replications``: number of replications.
        - ``doc``, ``doc_se``: coverage, and its standard error.
        - ``il``, ``il_se``: mean length, and its standard error.
        - ``undefined``: proportion of replications without an interval, which are treated as
          misses.
        - ``seed`` and ``version``.

    Raises
    ------
    ValueError
        If the journal belongs to another experiment or seed, or a replication fails. The message
        names the replication and the reason.

    Examples
    --------
    >>> from bayescm import simulation
    >>> def tosses(rng):
    ...     return rng.binomial(50, 0.3), {"p": 0.3}
    >>> def wald(heads, z=1.96):
    ...     p = heads / 50
    ...     half = z * (p * (1 - p) / 50) ** 0.5
    ...     return {"p": (p - half, p + half)}
    >>> table = simulation.run(tosses, {"wald": wald}, replications=200, seed=1)
    >>> table.loc[0, ["doc", "il"]].astype(float).round(3).tolist()
    [0.92, 0.251]
    """
    name = name or str(getattr(draw, "__name__", "experiment"))
    _check_replications(replications)
    done = Journal(journal, name, seed, truth)
    missing = [index for index in range(replications) if done.lacks(index, methods)]
    tasks = [(name, draw, methods, seed, index, done.records.get(index)) for index in missing]
    with progress_bar(len(tasks), name, progress) as advance:
        for record in parallel(_replicate, tasks, jobs):
            done.add(record)
            advance()
    return summarize(done.frame(methods, range(replications)), experiment=name, seed=seed)


@dataclass(frozen=True)
class Experiment:
    """Simulation study of the coverage of intervals in several cases.

    Parameters
    ----------
    name : str
        Name of the experiment, and of the file of its table.
    cases : mapping of int to tuple
        Settings by case number.
    draw : callable
        Function ``draw(rng, *setting)`` that returns ``(evidence, truth)``; see `run`.
    methods : mapping of str to callable, or callable
        Methods (see `run`), or a function of ``*setting`` that returns them.
    truth : callable, optional
        Function ``truth(rng, *setting)`` that returns the true values of all replications; see
        `run`.
    columns : sequence of str
        Names of the parts of a setting, used as columns of the table. By default the fields of the
        settings if they are named tuples.
    table : str
        Name of the table, if the experiment produces several tables.
    reshape : callable, optional
        Function that transforms the table of all cases, for example to split names of measures or
        to average rows.

    Examples
    --------
    >>> def tosses(rng, n, p):
    ...     return rng.binomial(n, p) / n, {"p": p}
    >>> def exact(share):
    ...     return {"p": (share - 0.2, share + 0.2)}
    >>> cases = {1: (20, 0.3), 2: (50, 0.5)}
    >>> tossing = Experiment("tossing", cases, tosses, {"within .2": exact}, columns=("n", "p"))
    >>> tossing.run(case=2, replications=10)[["case", "n", "p", "doc"]].values.tolist()
    [[2.0, 50.0, 0.5, 1.0]]
    """

    name: str
    cases: Mapping[int, Any]
    draw: Callable[..., tuple[Any, Truth | None]]
    methods: Mapping[str, Method] | Callable[..., Mapping[str, Method]]
    truth: Callable[..., Truth] | None = None
    columns: Sequence[str] = ()
    table: str = ""
    reshape: Callable[[pd.DataFrame], pd.DataFrame] | None = None

    def run(
        self,
        case: int | None = None,
        *,
        replications: int = 300,
        jobs: int | str = 1,
        seed: int = 0,
        journal: str | Path | None = None,
        progress: bool = False,
    ) -> pd.DataFrame:
        """Run one case, or all cases.

        Parameters
        ----------
        case : int, optional
            Case number. By default all cases.
        replications, jobs, seed, progress
            See `run`.
        journal : path, optional
            Folder with one journal per case.

        Returns
        -------
        pandas.DataFrame
            Table of `run` with one row per case, measure and method. The columns of the case and of
            the parts of its setting come first.

        Raises
        ------
        ValueError
            If the case does not exist, or for the reasons given in `run`.
        """
        tables = []
        for number in _cases(self, case):
            setting = self.cases[number]
            label = f"{_label(self)} case {number}"
            table = run(
                partial(_with_arguments, self.draw, setting),
                self.methods(*setting) if callable(self.methods) else self.methods,
                truth=self.truth and partial(_with_arguments, self.truth, setting),
                name=label,
                replications=replications,
                jobs=jobs,
                seed=seed,
                journal=None if journal is None else _journal_file(journal, label),
                progress=progress,
            )
            tables.append(_with_setting(self, number, table.drop(columns="experiment")))
        result = pd.concat(tables, ignore_index=True)
        return result if self.reshape is None else self.reshape(result)


@dataclass(frozen=True)
class Replications:
    """Number of replications of one case of a `Repeated`, and their random number generators."""

    number: int
    seed: int
    case: int

    def generators(self) -> Iterator[np.random.Generator]:
        """Yield one generator per replication, which depends only on seed, case and index."""
        for index in range(self.number):
            yield np.random.default_rng([self.seed, self.case, index])

    def generator(self, *key: int) -> np.random.Generator:
        """Return a generator for the whole case, or one of several identified by keys."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(self.case, *key)))


@dataclass(frozen=True)
class Repeated:
    """Simulation study with an outcome other than the coverage of intervals.

    Parameters
    ----------
    name : str
        Name of the experiment, and of the file of its table.
    cases : mapping of int to tuple
        Settings by case number.
    simulate : callable
        Function ``simulate(replications, *setting)`` that returns the rows of one case (mappings or
        a DataFrame). It uses the generators of ``replications``, a `Replications` object.
    columns : sequence of str
        Names of the parts of a setting, used as columns of the table. By default the fields of the
        settings if they are named tuples.
    table : str
        Name of the table, if the experiment produces several tables.

    Examples
    --------
    >>> def tosses(replications, p):
    ...     heads = [rng.random() < p for rng in replications.generators()]
    ...     return [{"heads": sum(heads)}]
    >>> table = Repeated("coin", {1: (0.5,), 2: (1.0,)}, tosses, columns=["p"]).run(case=2)
    >>> table[["case", "p", "heads", "replications", "seed"]].values.tolist()
    [[2.0, 1.0, 300.0, 300.0, 0.0]]
    """

    name: str
    cases: Mapping[int, Any]
    simulate: Callable[..., Any]
    columns: Sequence[str] = ()
    table: str = ""

    def run(
        self, case: int | None = None, *, replications: int = 300, seed: int = 0
    ) -> pd.DataFrame:
        """Run one case, or all cases.

        Parameters
        ----------
        case : int, optional
            Case number. By default all cases.
        replications : int
            Number of replications of each case, >= 1.
        seed : int

        Returns
        -------
        pandas.DataFrame
            Rows of each case. The case number and the parts of its setting come first, and
            ``replications``, ``seed`` and ``version`` come last. Rows may contain ``replications``
            themselves, with 0 for results that are not simulated.

        Raises
        ------
        ValueError
            If the case does not exist, or the number of replications is invalid.
        """
        _check_replications(replications)
        tables = []
        for number in _cases(self, case):
            rows = self.simulate(Replications(replications, seed, number), *self.cases[number])
            tables.append(_with_setting(self, number, pd.DataFrame(rows)))
        table = pd.concat(tables, ignore_index=True)
        if "replications" not in table:
            table["replications"] = replications
        return table.assign(seed=seed, version=__version__)


def _check_replications(replications):
    if replications < 1:
        raise validate.fail(
            "Replications must be a whole number, 1 or more",
            replications,
            "",
            "pass e.g. replications=100",
        )


def _cases(experiment, case):
    cases = list(experiment.cases)
    if case is None:
        return cases
    if case not in cases:
        allowed = f"{cases[0]} to {cases[-1]}" if len(cases) > 2 else cases
        raise validate.fail("Unknown case {}", case, allowed, "leave it out to run all")
    return [case]


def _with_arguments(function, setting, rng):
    return function(rng, *setting)


def _label(experiment):
    return f"{experiment.name} {experiment.table}".strip()


def _journal_file(folder, label):
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder) / f"{label.replace(' ', '-')}.jsonl"


def _with_setting(experiment, number, table):
    """Insert the case number and the parts of its setting as the first columns of a table."""
    setting = experiment.cases[number]
    columns = experiment.columns or getattr(setting, "_fields", ())
    front = {"case": number, **dict(zip(columns, setting, strict=False))}
    for position, (column, value) in enumerate(front.items()):
        table.insert(position, column, [value] * len(table))  # lists keep tuples as single values
    return table


def summarize(records: pd.DataFrame, **columns: Any) -> pd.DataFrame:
    """Summarise replications by coverage and mean interval length.

    Parameters
    ----------
    records : pandas.DataFrame
        One row per replication, method and measure. The columns are ``replication``, ``measure``,
        ``method``, ``truth``, ``lower``, ``upper`` and, optionally, ``truth_se``.
    **columns
        Further columns of the result, which are constant.

    Returns
    -------
    pandas.DataFrame
        Table as in `run`. ``doc_se`` is the standard deviation of the coverage under its Jeffreys
        posterior, so it is positive even if every interval covers. It includes the error of a
        simulated true value, as the change in coverage if this value is shifted by one standard
        error.
    """
    rows = [
        {"measure": measure, "method": method, **_score(group)}
        for (measure, method), group in records.groupby(["measure", "method"], sort=False)
    ]
    frame = pd.DataFrame(rows).assign(**columns, version=__version__)
    first = [name for name in ("experiment", "case") if name in frame]
    return frame[first + [name for name in frame if name not in first]]


def _score(group):
    lower, upper, truth = (group[name].to_numpy(float) for name in ("lower", "upper", "truth"))
    size, length = len(group), upper - lower
    defined = np.isfinite(length)
    error = group["truth_se"].to_numpy(float) if "truth_se" in group else 0.0
    inside, *inside_of_moved = (
        np.sum(defined & (lower <= value) & (value <= upper))
        for value in (truth, truth - error, truth + error)
    )
    moved = max(abs(number - inside) for number in inside_of_moved) / size
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


def ranks(table: pd.DataFrame, by: str = "experiment") -> pd.DataFrame:
    """Return the ranks of methods by coverage and length, averaged over the cases.

    Parameters
    ----------
    table : pandas.DataFrame
        Concatenated tables of `run`.
    by : str
        Column that identifies the cases.

    Returns
    -------
    pandas.DataFrame
        One row per measure and method, with the average ranks ``doc`` (1 for the highest coverage)
        and ``il`` (1 for the shortest intervals). Ties share the better rank, as in Wang and Li's
        Table 11.
    """
    cases = table.groupby([by, "measure"], sort=False)
    scores = table.assign(
        doc=cases["doc"].rank(method="min", ascending=False),
        il=cases["il"].rank(method="min"),
    )
    return scores.groupby(["measure", "method"], sort=False)[["doc", "il"]].mean().reset_index()


def _replicate(name, draw, methods, seed, index, record):
    """Simulate one replication, or load it from its record, and apply the missing methods."""
    rng = generator(seed, index)
    try:
        if record is None or record["evidence"] is None:
            evidence, truth = draw(rng)
            record = {"intervals": {}} if record is None else record
            truth = truth and {measure: float(value) for measure, value in truth.items()}
            record |= {"index": index, "truth": truth, "evidence": _pack(evidence)}
        else:
            evidence = _unpack(record["evidence"])
        for method, intervals in methods.items():
            if method not in record["intervals"]:
                answer = intervals(evidence)
                record["intervals"][method] = {
                    measure: [float(end) for end in np.asarray(ends, float)]
                    for measure, ends in answer.items()
                }
    except Exception as error:
        raise validate.fail(
            f"Replication {index} of {name!r} failed: {type(error).__name__}: {error}",
            ...,
            "",
            f"to see why, generate the data again with simulation.generator({seed}, {index})",
        ) from error
    return record


def _pack(evidence):
    """Return small counts, or a mapping of counts, in a form that JSON supports, else None."""
    if isinstance(evidence, Mapping):
        packed = {name: _pack(member) for name, member in evidence.items()}
        return {"mapping": packed} if all(packed.values()) else None
    small = isinstance(evidence, xr.DataArray) and evidence.size <= CELLS_IN_JOURNAL
    return json.loads(json.dumps(evidence.to_dict(), default=_plain)) if small else None


def _unpack(packed):
    if "mapping" in packed:
        return {name: _unpack(member) for name, member in packed["mapping"].items()}
    return xr.DataArray.from_dict(packed)


def _plain(value):
    return value.item() if isinstance(value, np.generic) else list(value)


class Journal:
    """Finished replications of an experiment, in memory and optionally in a file.

    The file consists of JSON lines: a header (experiment, seed, version, true values), then one
    line per finished replication. Lines are only ever appended.

    Parameters
    ----------
    path : path or None
        Name of the file. Replications in an existing file are reused.
    name : str
        Name of the experiment.
    seed : int
    truth : callable, optional
        Function of a generator that returns the true values. It is called if the file is new.

    Raises
    ------
    ValueError
        If the file belongs to another experiment or seed.
    """

    def __init__(self, path, name, seed, truth=None):
        self.path = None if path is None else Path(path)
        header, lines = self._read()
        identity = {"experiment": name, "seed": seed}
        if header and {key: header.get(key) for key in identity} != identity:
            raise validate.fail(
                f"The journal {self.path} belongs to {header.get('experiment')!r} with seed "
                f"{header.get('seed')}, not to {name!r} with seed {seed}",
                ...,
                "",
                "name another file, or run the same experiment with the same seed",
            )
        # Later lines contain more methods than earlier lines for the same replication. There is a
        # second header if two runs started at the same time.
        self.records = {line["index"]: line for line in lines if "index" in line}
        if header is None:
            values = truth(generator(seed, TRUTH)) if truth else None
            header = identity | {"version": __version__, "truth": values}
            self._append(header)
        self.truth = header["truth"]

    def _read(self):
        if self.path is None or not self.path.exists():
            return None, []
        text = self.path.read_bytes()
        complete = text[: text.rfind(b"\n") + 1]
        if len(complete) < len(text):
            # An incomplete line is from an interrupted run, so its replication was not finished.
            os.truncate(self.path, len(complete))
        lines = [json.loads(line) for line in complete.splitlines()]
        return (lines[0], lines[1:]) if lines else (None, [])

    def _append(self, line):
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(line) + "\n")

    def add(self, record):
        """Store one finished replication."""
        self.records[record["index"]] = record
        self._append(record)

    def lacks(self, index, methods):
        """Return True if a replication, or one of its methods, is missing."""
        record = self.records.get(index)
        return record is None or any(name not in record["intervals"] for name in methods)

    def frame(self, methods, indices):
        """Return one row per replication, method and measure."""
        rows = [
            (index, measure, name, *_with_error(truth[measure]), *ends)
            for index in indices
            for truth in [self.truth or self.records[index]["truth"]]
            for name in methods
            for measure, ends in self.records[index]["intervals"][name].items()
        ]
        columns = ["replication", "measure", "method", "truth", "truth_se", "lower", "upper"]
        return pd.DataFrame(rows, columns=columns)


def _with_error(truth):
    """Return a true value and its standard error, which is 0 for a known value."""
    return (truth, 0.0) if np.ndim(truth) == 0 else tuple(truth)
