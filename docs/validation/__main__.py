"""Run an experiment by its name: ``python docs/validation NAME``; ``--help`` lists all."""

import argparse
import os
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bayescm.evidence.files import atomic_write
from bayescm.simulation import Experiment
from validation import experiments, result_name


def main(arguments: list[str] | None = None) -> None:
    """Run the experiments with a name, and write their tables."""
    names = sorted({each.name for each in experiments()})
    parser = argparse.ArgumentParser(prog="python docs/validation", description=__doc__)
    parser.add_argument("name", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--table", help="one table of the name; by default all")
    parser.add_argument("--case", type=int, help="one case, whose table is printed alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replications", type=int, default=300, help="data sets in each case")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; -1: one for each core")
    parser.add_argument("--data", help="folder of the data files, for cases of real data")
    parser.add_argument(
        "--out",
        type=Path,
        help="folder of the tables; by default docs/results, and none for a case",
    )
    options = parser.parse_args(arguments)
    if options.data is not None:
        os.environ["BAYESCM_DATA"] = options.data
    if options.out is None and options.case is None:
        options.out = HERE.parent / "results"
    if options.out is not None and not options.out.is_dir():
        parser.error(f"there is no folder {options.out}")
    try:
        for experiment in experiments(options.name, options.table):
            _run(experiment, options)
    except ValueError as error:
        parser.error(str(error))


def _run(experiment, options):
    """Run an experiment, print its table and, if there is an output folder, write it."""
    path = None if options.out is None else options.out / f"{result_name(experiment)}.csv"
    keywords = {"replications": options.replications, "seed": options.seed}
    if isinstance(experiment, Experiment):
        # Finished replications are stored next to the table, so that the same call can resume.
        journal = None if path is None else path.with_name(path.name + ".journal")
        keywords |= {"jobs": options.jobs, "journal": journal, "progress": True}
    table = experiment.run(options.case, **keywords)
    if path is not None:
        with atomic_write(path) as part, part.open("w", newline="") as file:
            file.write(_origin(experiment, options))
            table.to_csv(file, index=False, float_format="%.6g")
    print(table.to_string(index=False))


def _origin(experiment, options):
    """Return a comment with the command and the versions that created a table."""
    call = f"python docs/validation {experiment.name}"
    for option in ("table", "case", "seed", "replications"):
        value = experiment.table if option == "table" else getattr(options, option)
        if value not in ("", None):
            call += f" --{option} {value}"
    versions = [f"{name} {version(name)}" for name in ("bayescm", "numpy", "scipy")]
    return f"# {call}; {', '.join(versions)}\n"


if __name__ == "__main__":
    main()
