"""Options that several commands share, so that they read the same everywhere."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """How a table is printed."""

    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"


class Kind(StrEnum):
    """Highest-density or equal-tailed interval."""

    hdi = "hdi"
    eti = "eti"


File = Annotated[
    Path, typer.Argument(help="CSV or Parquet file with one row per example.", show_default=False)
]
Actual = Annotated[str, typer.Option("--actual", help="Column of the true classes.")]
Predicted = Annotated[str, typer.Option("--predicted", help="Column of the predicted classes.")]
Positive = Annotated[str | None, typer.Option("--positive", help="The positive class.")]
Measures = Annotated[
    list[str] | None,
    typer.Option("--measure", "-m", help="A measure: f1, mcc, fbeta(0.5) ... May be repeated."),
]
Prob = Annotated[float, typer.Option("--prob", help="Mass of the interval.")]
KindOption = Annotated[Kind, typer.Option("--kind", help="Kind of interval.")]
Concentration = Annotated[
    float | None,
    typer.Option("--concentration", help="Prior pseudo-count per cell; default 2/C^2."),
]
FormatOption = Annotated[Format, typer.Option("--format", help="Format of the table.")]
Plot = Annotated[
    Path | None, typer.Option("--plot", help="Write a picture here (.png, .svg or .pdf).")
]
