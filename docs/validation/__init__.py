"""
The simulations behind the package's own tables of coverage, one file for each theme.

``python docs/validation NAME [--table T] [--case C] [--seed S] [--replications R]`` runs an
experiment and writes its table to ``docs/results/NAME.csv``, or ``NAME_T.csv`` where a name has
several tables. The table of a single case is printed, and written only with ``--out FOLDER``. Each
file ends with ``EXPERIMENTS``, what it declares by `Experiment` and `Repeated` of
`bayescm.simulation`.
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
    """Return the experiments of a name, or all of them; perhaps the one with a table only."""
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
    """Return the name of the file of an experiment's table, without its suffix."""
    return "_".join(filter(None, [experiment.name, experiment.table]))


def files() -> dict[str, str]:
    """Return the file of this folder that makes each table, by the name of the table's file."""
    return {
        f"{result_name(experiment)}.csv": f"docs/validation/{theme.replace('.', '/')}.py"
        for theme in (*THEMES, *RECOMPUTED)
        for experiment in import_module(f"validation.{theme}").EXPERIMENTS
    }


def data_folder() -> str | None:
    """Return the folder of data files (``--data``), for the cases of real data."""
    # An environment variable reaches the worker processes too.
    return os.environ.get("BAYESCM_DATA")
