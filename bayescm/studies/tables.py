"""How a study's cases become a table beside the published one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from bayescm.simulation import coverage
from bayescm.validate import check_choice, fail


@dataclass(frozen=True)
class Settings:
    """
    How much is simulated, where and on what.

    Attributes
    ----------
    replications, jobs, seed, progress
        See `bayescm.simulation.coverage.run`.
    data : str, optional
        Folder of the data files.
    journals : path, optional
        Folder where every case keeps its finished replications; a later run goes on from there.
    """

    replications: int = 300
    jobs: int | str = 1
    seed: int = 0
    progress: bool = False
    data: str | None = None
    journals: str | Path | None = None

    def run(self, study: coverage.Study) -> pd.DataFrame:
        """Run one case."""
        journal = None
        if self.journals is not None:
            Path(self.journals).mkdir(parents=True, exist_ok=True)
            journal = Path(self.journals) / f"{study.name.replace(' ', '-')}.jsonl"
        return coverage.run(
            study,
            replications=self.replications,
            jobs=self.jobs,
            seed=self.seed,
            journal=journal,
            progress=self.progress,
        )


def published(name: str) -> pd.DataFrame:
    """Return the figures a paper prints, from ``bayescm/studies/published/<name>.csv``."""
    return pd.read_csv(str(files("bayescm.studies.published") / f"{name}.csv"))


def beside(ours: pd.DataFrame, theirs: pd.DataFrame, on: list[str]) -> pd.DataFrame:
    """Put the published columns beside ours as ``published_*``; what is not printed is NaN."""
    renamed = theirs.rename(columns=lambda name: name if name in on else f"published_{name}")
    return ours.merge(renamed, how="left", on=on)


def gaps(
    table: pd.DataFrame,
    *,
    replications: int,
    reason: Callable[[pd.Series], str],
    largest: float = 3.0,
) -> pd.DataFrame:
    """
    Return the published figures that ours differ from by more than so many standard errors.

    Parameters
    ----------
    table : DataFrame
        Ours beside the published figures, see `beside`.
    replications : int
        How many replications the paper has.
    reason : callable
        What is known of the reason, given a row of the answer.
    largest : float, default 3
        In standard errors of the difference: ours, theirs, and the rounding of the print.

    Returns
    -------
    DataFrame
        The columns that name a row of the table, and ``figure`` (doc, il or center), ``ours``,
        ``published``, ``z`` and ``reason``.
    """
    rows = []
    for _, row in table.iterrows():
        for figure in ("doc", "il", "center"):
            printed = row.get(f"published_{figure}", float("nan"))
            if pd.notna(printed) and pd.notna(row[figure]):
                z = (row[figure] - printed) / _error(row, figure, printed, replications)
                rows.append(row.to_dict() | {"figure": figure, "published": printed, "z": z})
    frame = pd.DataFrame(rows)
    frame["ours"] = [row[row["figure"]] for _, row in frame.iterrows()]
    frame = frame[frame["z"].abs() > largest]
    names = [name for name in _NAMES if name in frame]
    frame = frame[[*names, "figure", "ours", "published", "z"]].reset_index(drop=True)
    return frame.assign(reason=[reason(row) for _, row in frame.iterrows()])


# What names a row of a table, and half a unit of the last digit that papers print of a figure.
_NAMES = ("table", "case", "learner", "measure", "method", "delta")
_HALF = {"doc": 0.0005, "il": 0.0005, "center": 0.005}


def _error(row, figure, printed, replications):
    """Return the standard error of the difference; a share of 0 or 1 is not taken for certain."""
    ours = row[f"{figure}_se"]
    theirs = ours * (row["replications"] / replications) ** 0.5
    if figure == "doc":
        share = (printed * replications + 0.5) / (replications + 1)
        theirs = (share * (1 - share) / (replications + 2)) ** 0.5
    return (ours**2 + theirs**2 + _HALF[figure] ** 2 / 3) ** 0.5


def run_cases(table: int, studies: dict[int, coverage.Study], settings: Settings) -> pd.DataFrame:
    """Run the cases of a table one after the other, and put them below each other."""
    parts = []
    for case, study in studies.items():
        frame = settings.run(study)
        frame.insert(0, "table", table)
        frame.insert(1, "case", case)
        parts.append(frame)
    return pd.concat(parts, ignore_index=True)


def case_of(cases: Mapping[int, Any], case: int) -> Any:
    """Return the setting of a case, or raise where there is none."""
    if case not in cases:
        raise fail("no such case", case, f"1 to {len(cases)}", "pass case=1")
    return cases[case]


def chosen(cases: Mapping[int, Any], case: int | None) -> list[int]:
    """Return the numbers of the cases to run: of one, or of all."""
    if case is None:
        return list(cases)
    case_of(cases, case)
    return [case]


def run_chosen(
    build: Callable[[int], coverage.Study],
    cases: Mapping[int, Any],
    case: int | None,
    settings: Settings | None,
    *,
    columns: Sequence[str] = (),
) -> pd.DataFrame:
    """
    Run one case of a study that has a single table, or all of them.

    Parameters
    ----------
    build : callable
        From the number of a case to its study.
    cases : mapping of int to tuple
        The setting of each case.
    case : int, optional
    settings : Settings, optional
    columns : sequence of str, optional
        What the parts of a setting are: columns of the table, after ``case``.
    """
    studies = {number: build(number) for number in chosen(cases, case)}
    frame = run_cases(0, studies, settings or Settings()).drop(columns="table")
    for place, column in enumerate(columns):
        frame.insert(place + 1, column, [cases[number][place] for number in frame["case"]])
    return frame


def table_of(
    study: Callable[[int], coverage.Study],
    cases: Mapping[int, Any],
    *,
    columns: Sequence[str] = (),
) -> Callable[..., pd.DataFrame]:
    """Return the ``table`` of a study that has a single one; see `run_chosen`."""

    def table(
        name: str = "coverage", case: int | None = None, settings: Settings | None = None
    ) -> pd.DataFrame:
        """
        Return the coverage and the length of intervals.

        Parameters
        ----------
        name : {"coverage"}
        case : int, optional
            One case only; see `study`.
        settings : Settings, optional
            How much is simulated, and where.

        Returns
        -------
        pandas.DataFrame
            As of `bayescm.simulation.coverage.run`, with the case in columns in front.
        """
        check_choice("table", name, ["coverage"])
        return run_chosen(study, cases, case, settings, columns=columns)

    return table
