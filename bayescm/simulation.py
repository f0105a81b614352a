"""Coverage and length of intervals, measured by simulation.

Data sets whose true value is known are drawn and handed to several interval methods, and it is
counted how often the true value lies inside (degree of confidence, DOC) and how long the intervals
are (interval length, IL). Replication ``i`` draws from a generator that depends on the seed and on
``i`` alone, so the result is the same whatever the number of workers, and an interrupted run
resumes from its journal without losing or repeating a replication.

`run` measures the methods on one kind of data sets, `Experiment` on several cases of it. What is
counted otherwise (false alarms, discoveries, mean errors) is a `Repeated`.
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

# Evidence up to this many cells is kept in the journal, so that a method added later needs no new
# simulation.
CELLS_IN_JOURNAL = 1000
# Index of the generator that draws the true values: no replication ever has it.
TRUTH = 2**31


def generator(seed: int, index: int) -> np.random.Generator:
    """Return the generator of one replication: it depends on the seed and the index alone."""
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
    """Measure the coverage and the length of intervals.

    Parameters
    ----------
    draw : callable
        Function from a `numpy.random.Generator` to ``(evidence, truth)``, where ``truth`` maps each
        measure to its true value, or is None where there is one ``truth`` for all replications.
    methods : mapping of str to callable
        Each method is a function from the evidence to a mapping of measures to
        ``(lower, upper)``.
    truth : callable, optional
        Function from a `numpy.random.Generator` to the true values of all replications; of values
        that are simulated themselves, to pairs (value, standard error). It is called once, and its
        answer is kept in the journal.
    name : str, optional
        Name of the experiment; it guards the journal against being continued by a different one.
        By default the name of ``draw``.
    replications : int
        Number of simulated data sets, >= 1.
    jobs : int or str
        Number of processes (-1: one for each core), or the address of a Dask scheduler such as
        ``"tcp://127.0.0.1:8786"``.
    seed : int
        Replication ``i`` draws from ``SeedSequence(seed, spawn_key=(i,))``.
    journal : path, optional
        File (JSON lines) to which finished replications are appended as they come. If it exists,
        the run continues it: only missing replications or methods are computed.
    progress : bool
        Show a progress bar with the time left.

    Returns
    -------
    pandas.DataFrame
        One row for each measure and method: ``experiment``, ``measure``, ``method``, ``truth`` (its
        mean), ``center`` and ``center_se`` (mean of the intervals' middles, and its standard
        error), ``replications``, ``doc``, ``doc_se``, ``il``, ``il_se``, ``undefined`` (fraction of
        replications without an interval, counted as misses), ``seed`` and ``version``.

    Raises
    ------
    ValueError
        If the journal belongs to another experiment or seed, or a replication fails (which one, and
        why).

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
    """Coverage of intervals in several cases; a table has one row a case, measure and method.

    Parameters
    ----------
    name : str
        Name of the experiment, and of the file of its table.
    cases : mapping of int to tuple
        The setting of each case.
    draw : callable
        Function ``draw(rng, *setting)`` to ``(evidence, truth)``, see `run`.
    methods : mapping of str to callable, or callable
        The methods (see `run`), or a function of ``*setting`` that returns them.
    truth : callable, optional
        Function ``truth(rng, *setting)`` to the true values of all replications, see `run`.
    columns : sequence of str
        What the parts of a setting are called: columns of the table. By default the fields of the
        settings where these are named tuples.
    table : str
        Which table of the name this is, where there are several.
    reshape : callable, optional
        Function from the table of all cases to the table that is returned, where names of measures
        have several parts, or rows are to be averaged.

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
        """Run one case, or all of them.

        Parameters
        ----------
        case : int, optional
            By default all cases.
        replications, jobs, seed, progress
            See `run`.
        journal : path, optional
            Folder in which each case has its journal.

        Returns
        -------
        pandas.DataFrame
            That of `run`, with the case and the parts of its setting in front.

        Raises
        ------
        ValueError
            If there is no such case; and as `run`.
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
    """How often one case of a `Repeated` is to be simulated, and the generators to do so."""

    number: int
    seed: int
    case: int

    def generators(self) -> Iterator[np.random.Generator]:
        """Return a generator for each replication, which depends on nothing else."""
        for index in range(self.number):
            yield np.random.default_rng([self.seed, self.case, index])

    def generator(self, *key: int) -> np.random.Generator:
        """Return one generator for all replications of the case, of several by a further key."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(self.case, *key)))


@dataclass(frozen=True)
class Repeated:
    """An experiment whose outcome is not the coverage of an interval.

    Parameters
    ----------
    name : str
        Name of the experiment, and of the file of its table.
    cases : mapping of int to tuple
        The setting of each case.
    simulate : callable
        Function ``simulate(replications, *setting)`` to the rows of one case (mappings, or a
        DataFrame), which draws from the generators of ``replications``, a `Replications`.
    columns : sequence of str
        What the parts of a setting are called: columns of the table. By default the fields of the
        settings where these are named tuples.
    table : str
        Which table of the name this is, where there are several.

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
        """Run one case, or all of them.

        Parameters
        ----------
        case : int, optional
            By default all cases.
        replications : int
            How often each case is repeated, >= 1.
        seed : int

        Returns
        -------
        pandas.DataFrame
            The rows of each case, with its number and the parts of its setting in front, and
            ``replications`` (unless the rows state their own: 0 for what is not simulated),
            ``seed`` and ``version`` behind.

        Raises
        ------
        ValueError
            If there is no such case, or nothing to repeat.
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
            "too few replications", replications, "an integer >= 1", "ask for at least one"
        )


def _cases(experiment, case):
    cases = list(experiment.cases)
    if case is None:
        return cases
    if case not in cases:
        allowed = f"{cases[0]} to {cases[-1]}" if len(cases) > 2 else cases
        raise validate.fail("no such case", case, allowed, "leave it out to run all")
    return [case]


def _with_arguments(function, setting, rng):
    return function(rng, *setting)


def _label(experiment):
    return f"{experiment.name} {experiment.table}".strip()


def _journal_file(folder, label):
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder) / f"{label.replace(' ', '-')}.jsonl"


def _with_setting(experiment, number, table):
    """Put the case and the parts of its setting in front of a table."""
    setting = experiment.cases[number]
    columns = experiment.columns or getattr(setting, "_fields", ())
    front = {"case": number, **dict(zip(columns, setting, strict=False))}
    for position, (column, value) in enumerate(front.items()):
        table.insert(position, column, [value] * len(table))  # a tuple is one value
    return table


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


def _replicate(name, draw, methods, seed, index, record):
    """Draw one replication (or take it from its record) and apply the methods it still lacks."""
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
            f"replication {index} of {name!r} failed",
            f"{type(error).__name__}: {error}",
            "an answer in every replication",
            f"draw the data again with simulation.generator({seed}, {index}) to see why",
        ) from error
    return record


def _pack(evidence):
    """Return small counts, or a mapping of them, as JSON takes it, else None."""
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
    """The finished replications of an experiment: in memory and, on request, in a file.

    The file holds JSON lines: a header (experiment, seed, version, true values), then one line for
    each finished replication. It is only ever appended to.

    Parameters
    ----------
    path : path or None
        The file. If it exists, its replications are taken over.
    name : str
        Name of the experiment.
    seed : int
    truth : callable, optional
        Function from a generator to the true values; it is called when the file is new.

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
                "the journal belongs to another run",
                f"{self.path}: {header.get('experiment')!r}, seed {header.get('seed')}",
                f"{name!r}, seed {seed}",
                "name another file, or run the same experiment with the same seed",
            )
        # Later lines hold more methods than earlier ones of the same replication; a second header
        # stands where two runs began at once.
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
            # A kill in the middle of a line: that replication was not finished.
            os.truncate(self.path, len(complete))
        lines = [json.loads(line) for line in complete.splitlines()]
        return (lines[0], lines[1:]) if lines else (None, [])

    def _append(self, line):
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(line) + "\n")

    def add(self, record):
        """Keep one finished replication."""
        self.records[record["index"]] = record
        self._append(record)

    def lacks(self, index, methods):
        """Say whether a replication, or one of its methods, is still to be done."""
        record = self.records.get(index)
        return record is None or any(name not in record["intervals"] for name in methods)

    def frame(self, methods, indices):
        """Return one row for each replication, method and measure."""
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
    """Return a true value and its standard error, 0 where it is known."""
    return (truth, 0.0) if np.ndim(truth) == 0 else tuple(truth)
