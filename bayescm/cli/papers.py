"""``bayescm paper``: simulations of the papers, with our figures next to the published ones."""

from pathlib import Path
from typing import Annotated

import typer

from bayescm.cli.options import Options, Output, command


class Simulation(Options):
    """Table of a paper to simulate, number of replications, processes and data."""

    name: Annotated[
        str,
        typer.Argument(
            help="Paper, e.g. wang-li or caelen. An unknown name lists all.",
            show_default=False,
        ),
    ]
    table: Annotated[
        str | None, typer.Option("--table", help="Table of the paper. Default: all.")
    ] = None
    case: Annotated[int | None, typer.Option("--case", help="Case of the table. Default: all.")] = (
        None
    )
    replications: Annotated[
        int, typer.Option("--replications", help="Number of simulated data sets in each case.")
    ] = 300
    jobs: Annotated[
        str,
        typer.Option("--jobs", help="Number of processes (-1: all cores), or a Dask scheduler."),
    ] = "-1"
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder with the data files that a table needs.")
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Output file (.csv or .parquet). Finished replications are kept in a "
            "folder next to it, and the same command resumes there.",
        ),
    ] = None
    seed: Annotated[int, typer.Option("--seed", help="Seed of the simulation.")] = 0


@command()
def paper(simulation: Simulation, output: Output) -> None:
    """Degree of confidence and length of intervals, simulated as in a paper."""
    from bayescm.cli.output import show
    from bayescm.papers import run_paper

    keywords = simulation.keywords()
    jobs = keywords["jobs"]
    keywords["jobs"] = int(jobs) if jobs.lstrip("-").isdigit() else jobs
    if "data" in keywords:
        keywords["data"] = str(keywords["data"])
    show(run_paper(**keywords, progress=True), output)
