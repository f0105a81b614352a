"""
Replications of the experiments of five published works, with the published figures.

Each work is a module that is loaded on first use (``bayescm.papers.wang_li``). Its tables are
listed in ``TABLES``, and its function ``table`` returns one of them. `run_paper` accepts the names
used on the command line. Published figures are in the CSV file with the name of the work.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import lazy_loader
import pandas as pd

from bayescm.evidence.files import atomic_write
from bayescm.simulation import Experiment, Repeated
from bayescm.validate import check_choice, fail, suggest

WORKS = ("caelen", "caelen_sequential", "thesis", "wang_2015", "wang_li", "yuan_jiang")
__getattr__, __dir__, _ = lazy_loader.attach(__name__, WORKS)
__all__ = [*WORKS, "run_paper"]


def run_paper(
    name: str,
    table: str | None = None,
    case: int | None = None,
    *,
    replications: int = 300,
    jobs: int | str = 1,
    seed: int = 0,
    data: str | None = None,
    out: str | Path | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """
    Replicate the experiments of a published work.

    Parameters
    ----------
    name : {"caelen", "caelen-sequential", "thesis", "wang-2015", "wang-li", "yuan-jiang"}
        Name of the work.
    table : str, optional
        Name of a table of the work. By default all tables, concatenated.
    case : int, optional
        Number of the case in the table. By default all cases.
    replications : int
        Number of data sets simulated for each case.
    jobs : int or str
        Number of processes (-1: one per core), or the address of a Dask scheduler. See
        `bayescm.simulation.run`.
    seed : int
    data : str, optional
        Folder of the data files, for tables that need them.
    out : path, optional
        File for the table, ``.csv`` or ``.parquet``. Finished replications are stored in the folder
        ``<out>.journal``, so that the same call resumes an interrupted run.
    progress : bool
        Whether to show a progress bar with the remaining time.

    Returns
    -------
    pandas.DataFrame
        The replicated figures, with the published ones in columns ``published_*``.

    Raises
    ------
    ValueError
        If the work, table or case does not exist, or a data file is missing.

    Examples
    --------
    >>> run_paper("wang-2015", "2").shape
    (30, 7)
    """
    names = [work.replace("_", "-") for work in WORKS]
    if name not in names:
        ours = (
            "the package's own simulations are run in its source tree: python docs/validation NAME"
        )
        raise fail("Unknown paper {}", name, names, f"{suggest(name, names)} {ours}".strip())
    work = import_module(f"bayescm.papers.{name.replace('-', '_')}")
    if table is not None:
        check_choice("table", table, list(work.TABLES))
    elif case is not None and len(work.TABLES) > 1:
        raise fail(f"`case={case!r}` needs a table", ..., work.TABLES, "pass a table too")
    path = None if out is None else _check_out(Path(out))
    journal = None if path is None else path.with_name(path.name + ".journal")
    options = {"replications": replications, "seed": seed, "jobs": jobs, "journal": journal}
    parts = [
        work.table(name, case, data=data, progress=progress, **options)
        for name in (work.TABLES if table is None else [table])
    ]
    frame = pd.concat(parts, ignore_index=True)
    if path is not None:
        with atomic_write(path) as part:
            if path.suffix == ".csv":
                frame.to_csv(part, index=False, float_format="%.6g")
            else:
                frame.to_parquet(part, index=False)
    return frame


def _check_out(path):
    if path.suffix not in (".csv", ".parquet"):
        raise fail(
            "The output must have a name ending in .csv or .parquet", str(path), "", "rename it"
        )
    if not path.parent.is_dir():
        raise fail("The folder {} does not exist", str(path.parent), "", "create it first")
    return path


def run_experiment(
    experiment: Experiment | Repeated,
    case: int | None = None,
    *,
    replications: int = 300,
    seed: int = 0,
    **options: Any,
) -> pd.DataFrame:
    """
    Return the table of an experiment.

    ``options`` specify the jobs, the journal and the progress bar. They have no effect on a
    `Repeated` experiment, which is simulated in this process.
    """
    if isinstance(experiment, Repeated):
        return experiment.run(case, replications=replications, seed=seed)
    return experiment.run(case, replications=replications, seed=seed, **options)


def published(name: str) -> pd.DataFrame:
    """Return the published figures of a work, from ``bayescm/papers/<name>.csv``."""
    return pd.read_csv(str(files("bayescm.papers") / f"{name}.csv"))


def beside(ours: pd.DataFrame, theirs: pd.DataFrame, on: list[str]) -> pd.DataFrame:
    """Add the published columns as ``published_*``, with NaN for unpublished figures."""
    renamed = theirs.rename(columns=lambda name: name if name in on else f"published_{name}")
    return ours.merge(renamed, how="left", on=on)


# Columns that identify a row of a table, and half a unit of the last printed digit of each figure.
IDENTIFIERS = ("table", "case", "learner", "measure", "method", "delta")
ROUNDING = {"doc": 0.0005, "il": 0.0005, "center": 0.005}


def gaps(
    table: pd.DataFrame,
    *,
    replications: int,
    reason: Callable[[pd.Series], str],
    largest: float = 3.0,
) -> pd.DataFrame:
    """
    Return the published figures that differ significantly from ours.

    Parameters
    ----------
    table : DataFrame
        Table with replicated and published figures. See `beside`.
    replications : int
        Number of replications in the paper.
    reason : callable
        Function that returns the known reason for the difference, given a row of the result.
    largest : float, default 3
        Threshold in standard errors of the difference, which include both simulations and rounding.

    Returns
    -------
    DataFrame
        Columns that identify a row of the table, and ``figure`` (doc, il or center), ``ours``,
        ``published``, ``z`` and ``reason``.
    """
    rows = []
    for _, row in table.iterrows():
        for figure in ROUNDING:
            printed = row.get(f"published_{figure}", float("nan"))
            if pd.notna(printed) and pd.notna(row[figure]):
                z = (row[figure] - printed) / _standard_error(row, figure, printed, replications)
                names = {name: row[name] for name in IDENTIFIERS if name in row}
                figures = {"ours": row[figure], "published": printed, "z": z}
                rows.append(names | {"figure": figure} | figures)
    frame = pd.DataFrame(rows)
    frame = frame[frame["z"].abs() > largest].reset_index(drop=True)
    return frame.assign(reason=[reason(row) for _, row in frame.iterrows()])


def _standard_error(row, figure, printed, replications):
    """Return the standard error of the difference. A share of 0 or 1 is not treated as exact."""
    ours = row[f"{figure}_se"]
    theirs = ours * (row["replications"] / replications) ** 0.5
    if figure == "doc":
        share = (printed * replications + 0.5) / (replications + 1)
        theirs = (share * (1 - share) / (replications + 2)) ** 0.5
    return (ours**2 + theirs**2 + ROUNDING[figure] ** 2 / 3) ** 0.5
