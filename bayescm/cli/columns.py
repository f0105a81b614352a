"""
Options that specify evidence: a file and its columns, or counts.

`Evidence` contains all of them, for commands that accept every type of evidence. The type is
determined from the options that are passed (`bayescm.cli.evidence`). Commands for a single type use
some of the groups.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from bayescm.cli.options import BelongsWith, Options, option

_FILE = "CSV, JSON, Parquet or Arrow file, a folder of Parquet or Arrow files, or a DuckDB table "
_FILE += "(answers.duckdb::table), with one row per example, item or attempt. "
_PREDICTIONS = "Columns of predictions"
_SCORES = "Columns of scores and probabilities"
_ITEMS = "Columns of items (scores, attempts, counts, labels) and votes"
_TRUTH = "Columns of judges and raters"
_PARTS = "Columns of parts and weights"
_TABLES = "Counts and tables of results"
_FORMAT = "Format of the file"


def column(name: str, help: str, panel: str, metavar: str = "COLUMN") -> Any:
    """Return an option that names a column or describes the columns."""
    return option(name, help, panel, metavar)


class Separators(Options):
    """How numbers are written in a text file."""

    decimal: Annotated[
        str | None,
        column(
            "--decimal", "Decimal separator, a point or a comma. Default: a point.", _FORMAT, ".|,"
        ),
        BelongsWith("counts, scores or weights in a text file"),
    ] = None
    thousands: Annotated[
        str | None,
        column("--thousands", "Thousands separator, e.g. a point.", _FORMAT, "CHARACTER"),
        BelongsWith("counts, scores or weights in a text file"),
    ] = None


class Source(Separators):
    """The file of the evidence."""

    records: Annotated[
        str | None,
        column(
            "--records",
            "Dotted path of the list of records in a JSON file, e.g. results.results.",
            _FORMAT,
            "PATH",
        ),
    ] = None

    file: Annotated[Path | None, typer.Argument(help=_FILE, show_default=False)] = None


class Positive(Options):
    """Positive class."""

    positive: Annotated[
        str | None, column("--positive", "Positive class.", _PREDICTIONS, "LABEL")
    ] = None


class Actual(Options):
    """The column of the true classes."""

    actual: Annotated[
        str | None, column("--actual", "Column of true classes. Default: actual.", _PREDICTIONS)
    ] = None


class Truth(Positive, Actual):
    """The true classes, and how labels are read."""

    numeric_labels: Annotated[
        bool,
        option(
            "--numeric-labels",
            "Read labels as integers, so that 01 equals 1.",
            _PREDICTIONS,
        ),
    ] = False


class Predictions(Truth):
    """The columns of the true classes and of the classifiers' predictions."""

    predicted: Annotated[
        list[str] | None,
        column(
            "--predicted",
            "Column of predictions from a classifier. Repeat for several. Default: predicted.",
            _PREDICTIONS,
        ),
    ] = None
    labels: Annotated[
        list[str] | None,
        column("--label", "Class label. Repeat for each class, in order.", _PREDICTIONS, "LABEL"),
    ] = None
    abstain: Annotated[
        str | None,
        column("--abstain", "Label that marks an abstention, e.g. refused.", _PREDICTIONS, "LABEL"),
        BelongsWith("predictions"),
    ] = None


class Cells(Options):
    """The counts of a confusion matrix, or the columns of item counts."""

    tp: Annotated[
        str | None,
        column("--tp", "Number of true positives, or their column in FILE.", _TABLES, "N|COLUMN"),
    ] = None
    fn: Annotated[
        str | None,
        column("--fn", "Number of false negatives, or their column in FILE.", _TABLES, "N|COLUMN"),
    ] = None
    fp: Annotated[
        str | None,
        column("--fp", "Number of false positives, or their column in FILE.", _TABLES, "N|COLUMN"),
    ] = None
    tn: Annotated[str | None, column("--tn", "Number of true negatives.", _TABLES, "N")] = None
    matrix: Annotated[
        str | None,
        column(
            "--matrix",
            'Confusion matrix, one row per actual class, e.g. "50,2,1;3,40,7;0,5,45".',
            _TABLES,
            "ROWS",
        ),
    ] = None


class Scores(Options):
    """The columns of scores."""

    score: Annotated[
        list[str] | None,
        column(
            "--score",
            "Column of scores from a classifier, or of item scores. Repeat for several.",
            _SCORES,
        ),
    ] = None


class Probabilities(Options):
    """The columns of probabilities."""

    probability: Annotated[
        list[str] | None,
        column(
            "--probability",
            "Column of probabilities from a classifier. With three or more classes, "
            "CLASS=COLUMN for each class. Repeat for several.",
            _SCORES,
        ),
    ] = None
    clip: Annotated[
        float | None,
        column(
            "--clip",
            "Clip probabilities to the range from this value to 1 minus this value.",
            _SCORES,
            "NUMBER",
        ),
        BelongsWith("--probability"),
    ] = None


class Fold(Options):
    """The column of the folds."""

    fold: Annotated[str | None, column("--fold", "Column of cross-validation folds.", _PARTS)] = (
        None
    )


class Group(Options):
    """The column of groups."""

    group: Annotated[
        list[str] | None,
        column(
            "--group",
            "Column of groups, or of clusters of items. Repeat for several.",
            _PARTS,
        ),
    ] = None


class By(Options):
    """The columns of slices."""

    by: Annotated[
        list[str] | None,
        column("--by", "Column of slices, each with separate results. Repeat for several.", _PARTS),
    ] = None


class Weights(Options):
    """The column of weights."""

    weights: Annotated[
        str | None,
        column("--weights", "Column of weights.", _PARTS),
        BelongsWith("the predictions of one classifier"),
    ] = None
    weights_are: Annotated[
        str | None,
        column(
            "--weights-are",
            "Meaning of the weights: number of units that a row represents (counts), or "
            "sampling weight (importance).",
            _PARTS,
            "counts|importance",
        ),
        BelongsWith("--weights"),
    ] = None


class Items(Options):
    """The columns of items and systems."""

    item: Annotated[str | None, column("--item", "Column of item labels.", _ITEMS)] = None
    system: Annotated[
        str | None,
        column("--system", "Column of system names, if there are several systems.", _ITEMS),
    ] = None


class ItemScores(Items):
    """The columns of item scores."""

    range: Annotated[
        str | None,
        column("--range", "Lowest and highest possible item score, e.g. 0,1.", _ITEMS, "LOW,HIGH"),
        BelongsWith("--score and --item"),
    ] = None
    lower_is_better: Annotated[
        bool,
        option("--lower-is-better", "Treat lower item scores as better.", _ITEMS),
        BelongsWith("--score and --item"),
    ] = False
    missing: Annotated[
        str | None,
        column(
            "--missing",
            "How to treat missing item scores: 'drop pairs' or 'worst'. Default: raise an error.",
            _ITEMS,
            "TREATMENT",
        ),
        BelongsWith("--score and --item"),
    ] = None


class Attempts(Items):
    """The columns of attempts."""

    correct: Annotated[
        str | None,
        column("--correct", "Column of attempts: 1 if correct, 0 if wrong.", _ITEMS),
    ] = None
    answer: Annotated[
        str | None, column("--answer", "Column of the answers themselves. Needs --truth.", _ITEMS)
    ] = None
    truth: Annotated[
        str | None, column("--truth", "Column of correct answers. Needs --answer.", _ITEMS)
    ] = None
    attempt: Annotated[str | None, column("--attempt", "Column of attempt numbers.", _ITEMS)] = None
    passing: Annotated[
        list[str] | None,
        column(
            "--passing",
            "Grade that is treated as correct, if --correct contains grades. Repeat for several.",
            _ITEMS,
            "GRADE",
        ),
        BelongsWith("--correct"),
    ] = None
    metric: Annotated[
        str | None,
        column(
            "--sample-metric",
            "Metric in sample files of LM Evaluation Harness. FILE is the folder with these files.",
            _ITEMS,
            "NAME",
        ),
    ] = None
    filter: Annotated[
        str | None,
        column("--sample-filter", "Filter in the sample files, e.g. strict-match.", _ITEMS, "NAME"),
        BelongsWith("--sample-metric"),
    ] = None


class SeveralLabels(Options):
    """How multilabel data are stored: separated labels in a field, or one column per label."""

    indicators: Annotated[
        bool,
        option(
            "--indicators",
            "Read one 0/1 column per label. In column names, * stands for the label, e.g. "
            "--actual 'true_*'.",
            _ITEMS,
        ),
    ] = False
    separator: Annotated[
        str | None,
        column(
            "--separator",
            "Separator between the labels in a field, e.g. ';'.",
            _ITEMS,
            "CHARACTER",
        ),
    ] = None


class Preferences(Options):
    """The columns of votes on pairs of systems."""

    left: Annotated[
        str | None, column("--left", "Column of the left system in each vote.", _ITEMS)
    ] = None
    right: Annotated[
        str | None, column("--right", "Column of the right system in each vote.", _ITEMS)
    ] = None
    winner: Annotated[
        str | None,
        column("--winner", "Column of outcomes of the votes: left, right or tie.", _ITEMS),
    ] = None
    ordered: Annotated[
        bool | None,
        option(
            "--ordered",
            "State that the left system was shown first. By default, this is assumed if a "
            "pair occurs in both orders.",
            _ITEMS,
        ),
    ] = None


class Judges(Options):
    """The columns of judges, who have labelled all examples."""

    judge: Annotated[
        list[str] | None,
        column(
            "--judge",
            "Column of labels or scores from a judge, if --actual is partly empty. "
            "Repeat for several.",
            _TRUTH,
        ),
    ] = None
    transfer: Annotated[
        str | None,
        column(
            "--transfer",
            "Transfer only error rates from the labelled examples, which are from another "
            "population.",
            _TRUTH,
            "errors",
        ),
        BelongsWith("--judge"),
    ] = None


class Raters(Options):
    """The columns of raters. Any rater may be wrong."""

    raters: Annotated[
        str | None,
        column(
            "--raters",
            "Columns of labels from several raters, any of whom may be wrong.",
            _TRUTH,
            "ANN,BOB,LLM",
        ),
    ] = None
    gold: Annotated[
        str | None,
        column("--gold", "Column of gold labels, empty if unknown.", _TRUTH),
        BelongsWith("--raters"),
    ] = None


class Halves(Options):
    """The file of predictions by classifiers that were trained on halves."""

    halves: Annotated[
        Path | None,
        column(
            "--halves",
            "File of predictions by classifiers trained on the other half of the data, with "
            "columns repeat and half.",
            _PARTS,
            "FILE",
        ),
        BelongsWith("--fold and one --predicted"),
    ] = None


class Results(Options):
    """The columns of a table of results on several data sets."""

    data_set: Annotated[
        str | None,
        column("--data-set", "Column of data sets in a long or wide table of results.", _TABLES),
    ] = None
    classifier: Annotated[
        str | None,
        column(
            "--classifier",
            "Column of classifiers in a table of results, or in a table of TP, FN, FP and TN.",
            _TABLES,
        ),
        BelongsWith("--data-set, or a table of TP, FN, FP and TN"),
    ] = None
    test_share: Annotated[
        float | None,
        column("--test-share", "Proportion of the examples that each run tests.", _TABLES, "SHARE"),
        BelongsWith("--data-set"),
    ] = None


class Evidence(  # the help shows the last ones first
    Source,
    Results,
    Cells,
    Raters,
    Judges,
    Halves,
    Weights,
    By,
    Group,
    Fold,
    Preferences,
    SeveralLabels,
    Attempts,
    ItemScores,
    Probabilities,
    Scores,
    Predictions,
):
    """All options that specify evidence."""

    file: Annotated[
        Path | None,
        typer.Argument(
            help=f"{_FILE}Alternatively, a confusion matrix with one row per actual class, "
            "starting with its label.",
            show_default=False,
        ),
    ] = None


def given(options: Any) -> set[str]:
    """Return the options that are set, on the command line or in a file of requirements."""
    values = {name: value for name, value in vars(options).items() if name != "_invocation"}
    return {name for name, value in values.items() if value not in (None, False)} - {"file"}
