"""``bayescm paper``: simulations from papers, with our results next to the published ones."""

from pathlib import Path
from typing import Annotated

import typer

from bayescm.cli.options import Options, Output, command


class Simulation(Options):
    """Table of a paper to reproduce, number of replications, processes and data."""

    name: Annotated[
        str,
        typer.Argument(
            help="Paper, e.g. wang-li or caelen. If the name is unknown, the error message lists "
            "all papers.",
            show_default=False,
        ),
    ]
    table: Annotated[
        str | None, typer.Option("--table", help="Table in the paper. Default: all tables.")
    ] = None
    case: Annotated[
        int | None,
        typer.Option("--case", help="Number of the case in the table. Default: all cases."),
    ] = None
    replications: Annotated[
        int, typer.Option("--replications", help="Number of simulated data sets in each case.")
    ] = 300
    jobs: Annotated[
        str,
        typer.Option(
            "--jobs",
            help="Number of processes (-1: all cores), or the address of a Dask scheduler.",
        ),
    ] = "-1"
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder with data files, which some tables need.")
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Output file (.csv or .parquet). Finished replications are stored in a folder "
            "next to this file, so the same command resumes an interrupted run.",
        ),
    ] = None
    seed: Annotated[int, typer.Option("--seed", help="Random seed for the simulation.")] = 0


@command()
def paper(simulation: Simulation, output: Output) -> None:
    """Reproduce simulations from a paper: degree of confidence and length of intervals."""
    from bayescm.cli.output import show
    from bayescm.papers import run_paper

    keywords = simulation.keywords()
    jobs = keywords["jobs"]
    keywords["jobs"] = int(jobs) if jobs.lstrip("-").isdigit() else jobs
    if "data" in keywords:
        keywords["data"] = str(keywords["data"])
    show(run_paper(**keywords, progress=True), output)
