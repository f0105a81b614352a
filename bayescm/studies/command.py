"""Any study by its name, its table written to a file: what ``bayescm study`` does."""

from pathlib import Path
from typing import Any

import pandas as pd

from bayescm import studies
from bayescm.evidence.files import replacing
from bayescm.studies.tables import Settings
from bayescm.validate import check_choice, fail

# By the names of the command line.
STUDIES = {name.replace("_", "-"): name for name in studies.__all__ if name != "run_study"}


def run_study(
    name: str,
    table: str | None = None,
    case: int | None = None,
    *,
    out: str | Path | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """
    Run a study and return its table.

    Parameters
    ----------
    name : str
        "wang-li", "wang-2015", "priors", "caelen-sequential", "caelen", "thesis", "yuan-jiang",
        "comparisons", "meta-analysis", "online", "run-length", "designs", "groups", "curves",
        "weights", "judges" or any other module of `bayescm.studies`, such as "label-errors".
    table : str, optional
        One table of the paper; by default all, one below the other.
    case : int, optional
        One case of the table.
    out : path, optional
        File of the table, ``.csv`` or ``.parquet``. The folder ``<out>.journal`` keeps the finished
        replications, and the same call resumes from there.
    **settings
        ``replications``, ``jobs``, ``seed``, ``progress`` and ``data`` of
        `bayescm.studies.tables.Settings`.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    ValueError
        If the study, table or case does not exist, or a data file is missing.

    Examples
    --------
    >>> run_study("wang-2015", "2").shape
    (30, 7)
    """
    check_choice("study", name, list(STUDIES))
    module = getattr(studies, STUDIES[name])
    if table is not None:
        check_choice("table", table, list(module.TABLES))
    elif case is not None and len(module.TABLES) > 1:
        raise fail("a case needs a table", case, module.TABLES, "pass a table too")
    path = None if out is None else _check_out(Path(out))
    journals = None if path is None else path.with_name(path.name + ".journal")
    chosen = Settings(**settings, journals=journals)
    tables = [table] if table is not None else module.TABLES
    frame = pd.concat([module.table(each, case, chosen) for each in tables], ignore_index=True)
    if path is not None:
        write_table(frame, path)
    return frame


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table beside its final name first, so that no half table is ever left."""
    with replacing(path) as part:
        if path.suffix == ".csv":
            frame.to_csv(part, index=False, float_format="%.6g")
        else:
            frame.to_parquet(part, index=False)


def _check_out(path):
    if path.suffix not in (".csv", ".parquet"):
        raise fail("unknown file format", str(path), "a name in .csv or .parquet", "rename it")
    if not path.parent.is_dir():
        raise fail("no such folder", str(path.parent), "an existing folder", "create it first")
    return path
