"""
Simulations for the tables of coverage in the documentation, one module per topic.

``python docs/validation NAME [--table T] [--case C] [--seed S] [--replications R]`` runs an
experiment and writes its table to ``docs/results/NAME.csv``, or to ``NAME_T.csv`` if the experiment
has several tables. With ``--case``, the table is printed, and is written only with
``--out FOLDER``. The list ``EXPERIMENTS`` at the end of each module declares its experiments with
`Experiment` and `Repeated` of `bayescm.simulation`.
"""

import os
from importlib import import_module
from pathlib import Path

from bayescm.simulation import Experiment, Repeated
from bayescm.validate import check_choice

THEMES = (
    "attempts",
    "better_of_folds",
    "class_probabilities",
    "comparisons",
    "counts",
    "curves",
    "folds",
    "groups",
    "item_scores",
    "judges",
    "meta_analysis",
    "multilabel",
    "near_copies",
    "online",
    "preferences",
    "probabilities",
    "raters",
    "selection",
    "sites",
    "small_evidence",
    "small_samples",
    "systems",
)
FOLDER = Path(__file__).parent
RECOMPUTED = sorted(f"recomputed.{path.stem}" for path in FOLDER.glob("recomputed/[!_]*.py"))


def experiments(name: str | None = None, table: str | None = None) -> list[Experiment | Repeated]:
    """Return all experiments, or those with the given name and table."""
    themes = [import_module(f"validation.{theme}") for theme in (*THEMES, *RECOMPUTED)]
    every = [experiment for theme in themes for experiment in theme.EXPERIMENTS]
    if name is None:
        return every
    check_choice("experiment", name, sorted({each.name for each in every}))
    tables = [each for each in every if each.name == name]
    if table is None:
        return tables
    check_choice("table", table, [each.table for each in tables])
    return [each for each in tables if each.table == table]


def result_name(experiment: Experiment | Repeated) -> str:
    """Return the file name of an experiment's table, without suffix."""
    return "_".join(filter(None, [experiment.name, experiment.table]))


def files() -> dict[str, str]:
    """Return a mapping from the file name of each table to the module that creates it."""
    return {
        f"{result_name(experiment)}.csv": f"docs/validation/{theme.replace('.', '/')}.py"
        for theme in (*THEMES, *RECOMPUTED)
        for experiment in import_module(f"validation.{theme}").EXPERIMENTS
    }


def data_folder() -> str | None:
    """Return the folder of data files (``--data``), for cases with real data."""
    # Worker processes inherit environment variables.
    return os.environ.get("BAYESCM_DATA")
