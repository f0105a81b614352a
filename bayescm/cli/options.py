"""Options that several commands share: one definition each, so that they read the same."""

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


_FILE = (
    "CSV, Parquet or Arrow file with one row per example, a folder of these, or a table of DuckDB "
    "(answers.duckdb::table); in text files labels are text. Or a confusion table: a row for each "
    "actual class, its label first."
)
File = Annotated[Path, typer.Argument(help=_FILE, show_default=False)]
MaybeFile = Annotated[Path | None, typer.Argument(help=_FILE, show_default=False)]
Actual = Annotated[
    str | None, typer.Option("--actual", help="Column of the true classes; default actual.")
]
Predicted = Annotated[
    str | None, typer.Option("--predicted", help="Column of the predicted classes.")
]
Classifiers = Annotated[
    list[str] | None,
    typer.Option(
        "--predicted",
        help="Column of a classifier's predictions; default predicted. Repeat for several.",
    ),
]
Positive = Annotated[str | None, typer.Option("--positive", help="The positive class.")]
Labels = Annotated[
    list[str] | None,
    typer.Option("--label", help="A class; repeat for all, in order, to keep absent ones."),
]
NumericLabels = Annotated[
    bool,
    typer.Option("--numeric-labels", help="Labels are whole numbers: 01 and 1 are the same class."),
]
Abstain = Annotated[
    str | None, typer.Option("--abstain", help="The answer that is none, such as refused.")
]
Weights = Annotated[str | None, typer.Option("--weights", help="Column of weights.")]
WeightsAre = Annotated[
    str | None,
    typer.Option(
        "--weights-are",
        help="What weights are: counts (how many examples a row stands for) or importance "
        "(sampling weights).",
    ),
]
Judge = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        help="Column of a judge's answers or scores, where --actual is empty for what nobody "
        "labelled; repeat for several judges.",
    ),
]
Raters = Annotated[
    str | None,
    typer.Option(
        "--raters",
        help="Columns of several raters' labels, ANN,BOB,LLM, where none need be the truth; "
        "--predicted are raters, too.",
    ),
]
Gold = Annotated[
    str | None,
    typer.Option("--gold", help="With --raters: column of the truth, empty where not known."),
]
Transfer = Annotated[
    str | None,
    typer.Option(
        "--transfer",
        help="errors: the labelled rows come from elsewhere, and only the judge's error rates "
        "carry over.",
    ),
]
Fold = Annotated[str | None, typer.Option("--fold", help="Column of the folds.")]
Group = Annotated[str | None, typer.Option("--group", help="Column of the groups.")]
DataSet = Annotated[
    str | None,
    typer.Option(
        "--data-set",
        help="Column of the data sets: the file is a table of results, long (columns of the "
        "classifier, of repeat, fold or run, and of the score) or wide.",
    ),
]
Classifier = Annotated[
    str, typer.Option("--classifier", help="Column of the classifiers, with --data-set.")
]
TestShare = Annotated[
    float | None,
    typer.Option("--test-share", help="With --data-set: share of examples tested in a run."),
]
Halves = Annotated[
    Path | None,
    typer.Option(
        "--halves",
        help="File of predictions of classifiers trained on the other half, with columns repeat "
        "and half and those of the first file: says how far training sets move the measures.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", help="The model; by default the one that fits the evidence."),
]
Of = Annotated[
    str,
    typer.Option(
        "--of",
        help="What the numbers are of: parameter (the measure itself), predictive (that of the "
        "next test set); with groups or folds also finite, population or new.",
    ),
]
Next = Annotated[
    int | None, typer.Option("--n", help="Size of the next test set, with --of predictive.")
]
Measures = Annotated[
    list[str] | None,
    typer.Option("--measure", "-m", help="A measure: f1, mcc, fbeta(0.5) ... May be repeated."),
]
Prob = Annotated[float, typer.Option("--prob", help="Mass of the interval.")]
KindOption = Annotated[Kind, typer.Option("--kind", help="Kind of interval.")]
Concentration = Annotated[
    str | None,
    typer.Option(
        "--concentration",
        help="Prior pseudo-count per cell, default 2/C^2; or of two classes TP,FN,FP,TN, as "
        "`bayescm elicit` prints them.",
    ),
]
LabelError = Annotated[
    list[str] | None,
    typer.Option(
        "--label-error",
        help="How often labels are wrong: 0.05, or 2,38 for a Beta(2, 38); sick=0.05 of one class, "
        "repeated for others.",
    ),
]
Prevalence = Annotated[
    float | None, typer.Option("--prevalence", help="Prevalence of the target population.")
]
FormatOption = Annotated[Format, typer.Option("--format", help="Format of the table.")]
SafeCsv = Annotated[
    bool,
    typer.Option("--safe-csv", help="Write text that a spreadsheet takes for a formula after a '."),
]
Plot = Annotated[
    Path | None, typer.Option("--plot", help="Write a picture here (.png, .svg or .pdf).")
]
TP = Annotated[int | None, typer.Option("--tp", help="True positives.")]
FN = Annotated[int | None, typer.Option("--fn", help="False negatives.")]
FP = Annotated[int | None, typer.Option("--fp", help="False positives.")]
TN = Annotated[int | None, typer.Option("--tn", help="True negatives.")]
Matrix = Annotated[
    str | None,
    typer.Option(
        "--matrix",
        help='Instead of four counts a table of any number of classes: "50,2,1;3,40,7;0,5,45", a '
        "row for each actual class.",
    ),
]
