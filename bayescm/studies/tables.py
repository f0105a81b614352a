"""How a study's cases become a table beside the published one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pandas as pd

from bayescm.simulation import coverage


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


def run_cases(table: int, studies: dict[int, coverage.Study], settings: Settings) -> pd.DataFrame:
    """Run the cases of a table one after the other, and put them below each other."""
    parts = []
    for case, study in studies.items():
        frame = settings.run(study)
        frame.insert(0, "table", table)
        frame.insert(1, "case", case)
        parts.append(frame)
    return pd.concat(parts, ignore_index=True)


def run_chosen(
    build: Callable[[int], coverage.Study],
    cases: Iterable[int],
    case: int | None,
    settings: Settings | None,
) -> pd.DataFrame:
    """Run one case of a study that has a single table, or all of them."""
    studies = {number: build(number) for number in (cases if case is None else [case])}
    return run_cases(0, studies, settings or Settings()).drop(columns="table")
