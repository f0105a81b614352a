"""
The options that name evidence: a file and its columns, or counts.

`Evidence` has all of them, for commands that take every type of evidence. The type is determined
from the options that are passed (`bayescm.cli.evidence`). Commands of one type have some of the
groups.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from bayescm.cli.options import BelongsWith, Options, option

_FILE = "CSV, JSON, Parquet or Arrow file, a folder of Parquet or Arrow, or a table of DuckDB "
_FILE += "(answers.duckdb::table), with one row per example, item or attempt. "
_PREDICTIONS = "Columns of predictions"
_SCORES = "Columns of scores and probabilities"
_ITEMS = "Columns of items (scores, attempts, counts, labels) and votes"
_TRUTH = "Columns of judges and raters"
_PARTS = "Columns of parts and weights"
_TABLES = "Counts and tables of results"
_FORMAT = "Format of the file"


def column(name: str, help: str, panel: str, metavar: str = "COLUMN") -> Any:
    """Return the option of a column."""
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
        column("--thousands", "Separator between thousands, e.g. a point.", _FORMAT, "CHARACTER"),
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
    """The positive class."""

    positive: Annotated[
        str | None, column("--positive", "The positive class.", _PREDICTIONS, "LABEL")
    ] = None


class Actual(Options):
    """The column of the true classes."""

    actual: Annotated[
        str | None, column("--actual", "Column of the true classes. Default: actual.", _PREDICTIONS)
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
    """The columns of the true classes and of the predictions of classifiers."""

    predicted: Annotated[
        list[str] | None,
        column(
            "--predicted",
            "Column of predictions of a classifier. Repeat for several. Default: predicted.",
            _PREDICTIONS,
        ),
    ] = None
    labels: Annotated[
        list[str] | None,
        column("--label", "A class. Repeat for all, in order.", _PREDICTIONS, "LABEL"),
    ] = None
    abstain: Annotated[
        str | None,
        column("--abstain", "Label that marks an abstention, e.g. refused.", _PREDICTIONS, "LABEL"),
        BelongsWith("predictions"),
    ] = None


class Cells(Options):
    """The counts of a confusion matrix, or the columns of the counts of items."""

    tp: Annotated[
        str | None, column("--tp", "True positives; with FILE their column.", _TABLES, "N|COLUMN")
    ] = None
    fn: Annotated[
        str | None, column("--fn", "False negatives; with FILE their column.", _TABLES, "N|COLUMN")
    ] = None
    fp: Annotated[
        str | None, column("--fp", "False positives; with FILE their column.", _TABLES, "N|COLUMN")
    ] = None
    tn: Annotated[str | None, column("--tn", "True negatives.", _TABLES, "N")] = None
    matrix: Annotated[
        str | None,
        column(
            "--matrix",
            'Counts of any number of classes, a row per actual class: "50,2,1;3,40,7;0,5,45".',
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
            "Column of scores of a classifier or of items. Repeat for several.",
            _SCORES,
        ),
    ] = None


class Probabilities(Options):
    """The columns of probabilities."""

    probability: Annotated[
        list[str] | None,
        column(
            "--probability",
            "Column of probabilities of a classifier, or CLASS=COLUMN for each of three "
            "classes or more. Repeat for several.",
            _SCORES,
        ),
    ] = None
    clip: Annotated[
        float | None,
        column("--clip", "Smallest probability; the largest is 1 minus this.", _SCORES, "NUMBER"),
        BelongsWith("--probability"),
    ] = None


class Fold(Options):
    """The column of the folds."""

    fold: Annotated[str | None, column("--fold", "Column of the folds.", _PARTS)] = None


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
        column("--by", "Column of slices with separate results. Repeat for several.", _PARTS),
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
            "The weight is the number of rows that a row represents (counts), or a sampling weight "
            "(importance).",
            _PARTS,
            "counts|importance",
        ),
        BelongsWith("--weights"),
    ] = None


class Items(Options):
    """The columns of items and systems."""

    item: Annotated[str | None, column("--item", "Column of the items.", _ITEMS)] = None
    system: Annotated[
        str | None, column("--system", "Column of the systems, if there are several.", _ITEMS)
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
            "How to treat missing item scores: 'drop pairs' or 'worst'. Default: an error.",
            _ITEMS,
            "TREATMENT",
        ),
        BelongsWith("--score and --item"),
    ] = None


class Attempts(Items):
    """The columns of attempts."""

    correct: Annotated[
        str | None,
        column("--correct", "Column with 1 for a right answer and 0 for a wrong one.", _ITEMS),
    ] = None
    answer: Annotated[
        str | None, column("--answer", "Column of the answers themselves, with --truth.", _ITEMS)
    ] = None
    truth: Annotated[
        str | None, column("--truth", "Column of the right answers, with --answer.", _ITEMS)
    ] = None
    attempt: Annotated[
        str | None, column("--attempt", "Column of the number of the attempt.", _ITEMS)
    ] = None
    passing: Annotated[
        list[str] | None,
        column(
            "--passing",
            "Grade in --correct that counts as correct. Repeat for several.",
            _ITEMS,
            "GRADE",
        ),
        BelongsWith("--correct"),
    ] = None
    metric: Annotated[
        str | None,
        column(
            "--sample-metric",
            "Metric in the sample files of LM Evaluation Harness. FILE is their folder.",
            _ITEMS,
            "NAME",
        ),
    ] = None
    filter: Annotated[
        str | None,
        column("--sample-filter", "Filter in these files, e.g. strict-match.", _ITEMS, "NAME"),
        BelongsWith("--sample-metric"),
    ] = None


class SeveralLabels(Options):
    """How the labels of an example are separated, or that each label has a column."""

    indicators: Annotated[
        bool,
        option(
            "--indicators",
            "Read a column of 0 and 1 for each label, e.g. --actual 'true_*'.",
            _ITEMS,
        ),
    ] = False
    separator: Annotated[
        str | None,
        column(
            "--separator",
            "Separator between several labels in a field, e.g. ';'.",
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
        column("--winner", "Column of outcomes: left, right or tie.", _ITEMS),
    ] = None
    ordered: Annotated[
        bool | None,
        option(
            "--ordered",
            "The left system was shown first. Default: true if a pair occurs in both orders.",
            _ITEMS,
        ),
    ] = None


class Judges(Options):
    """The columns of judges that have seen all examples."""

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
            "Use labels from another population: only the judge's error rates carry over.",
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
        column("--gold", "Column of the ground truth, empty if it is unknown.", _TRUTH),
        BelongsWith("--raters"),
    ] = None


class Halves(Options):
    """The file of classifiers that were trained on halves."""

    halves: Annotated[
        Path | None,
        column(
            "--halves",
            "File of predictions of classifiers trained on the other half, with columns repeat "
            "and half.",
            _PARTS,
            "FILE",
        ),
        BelongsWith("--fold and one --predicted"),
    ] = None


class Results(Options):
    """The columns of a table of results on several data sets."""

    data_set: Annotated[
        str | None,
        column("--data-set", "Column of data sets in a table of results, long or wide.", _TABLES),
    ] = None
    classifier: Annotated[
        str | None,
        column(
            "--classifier",
            "Column of classifiers in a table of results, or of TP, FN, FP and TN.",
            _TABLES,
        ),
        BelongsWith("--data-set, or a table of TP, FN, FP and TN"),
    ] = None
    test_share: Annotated[
        float | None,
        column("--test-share", "Share of the examples that a run tests.", _TABLES, "SHARE"),
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
    """All options that name evidence."""

    file: Annotated[
        Path | None,
        typer.Argument(
            help=f"{_FILE}Or a confusion table: a row for each actual class, its label first.",
            show_default=False,
        ),
    ] = None


def given(options: Any) -> set[str]:
    """Return the columns that are named, on the command line or in a file of requirements."""
    values = {name: value for name, value in vars(options).items() if name != "_invocation"}
    return {name for name, value in values.items() if value not in (None, False)} - {"file"}
