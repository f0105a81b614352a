"""
``bayescm items``, ``item-counts``, ``multilabel`` and ``attempts``: commands for one type of items.

They read the same files as `summary`, `compare`, `ranks`, `check` and `report`, with default column
names, and offer the same questions as options: ``items FILE --compare`` corresponds to ``compare
FILE``.
"""

from pathlib import Path
from typing import Annotated, Any

from bayescm.cli.check import Requirements
from bayescm.cli.columns import (
    Attempts,
    By,
    Cells,
    Group,
    Items,
    ItemScores,
    Predictions,
    Scores,
    SeveralLabels,
    Source,
    Weights,
)
from bayescm.cli.options import (
    OUTPUT,
    QUESTION,
    BelongsWith,
    Contrast,
    Interval,
    Measures,
    Options,
    TableAndPlot,
    command,
    option,
)
from bayescm.validate import fail


class ScoreColumns(Source, Weights, By, Group, ItemScores, Scores):
    """The columns of a file with one row per item, or per item and system."""


class CountColumns(Source, Group, Cells, Items):
    """The columns of a file with one row per item, or per item and system."""


class LabelColumns(Source, Weights, By, Group, SeveralLabels, Predictions):
    """The columns of a file whose fields contain the labels of an example."""


class AnswerColumns(Source, By, Group, Attempts):
    """The columns of a file with one row per answer."""


class Question(Contrast, Requirements):
    """A summary by default, or another question."""

    of: Annotated[
        str,
        option(
            "--of",
            "Estimand: population (all similar items), finite (the observed clusters or "
            "attempts), or new (one more item).",
            QUESTION,
            "ESTIMAND",
        ),
    ] = "population"
    compare: Annotated[
        bool, option("--compare", "Print the differences between the systems.", QUESTION)
    ] = False
    ranks: Annotated[bool, option("--ranks", "Print the ranks of the systems.", QUESTION)] = False
    report: Annotated[
        Path | None,
        option("--report", "Output file for a report: .html, .md, .tex or .docx.", OUTPUT, "FILE"),
    ] = None


class ItemTable(Options):
    """A table of the items."""

    item_table: Annotated[
        bool,
        option(
            "--item-table",
            "Print the mean score of each item and its correlation with the other items.",
            QUESTION,
        ),
    ] = False


class ScoreQuestion(ItemTable, Question):
    """Questions about item scores, including the number of items needed for a goal."""

    width: Annotated[
        float | None,
        option(
            "--width", "Plan the number of items for intervals of this width.", QUESTION, "NUMBER"
        ),
    ] = None
    difference: Annotated[
        float | None,
        option(
            "--difference",
            "Plan the number of items needed to detect this difference between two systems.",
            QUESTION,
            "NUMBER",
        ),
    ] = None
    assurance: Annotated[
        float,
        option("--assurance", "Probability that the planned goal is reached.", QUESTION, "SHARE"),
        BelongsWith("--width or --difference"),
    ] = 0.9


class AnswerQuestion(ItemTable, Question):
    """Questions about repeated attempts, including the benefit of more items or attempts."""

    plan: Annotated[
        bool,
        option(
            "--plan", "Print how wide the intervals would be with more items or attempts.", QUESTION
        ),
    ] = False


@command(
    "bayescm items scores.csv --item query --system engine --score ndcg --range 0,1",
    "bayescm items scores.csv --item query --system engine --score ndcg --range 0,1 --compare",
)
def items(
    columns: ScoreColumns,
    measures: Measures,
    question: ScoreQuestion,
    interval: Interval,
    output: TableAndPlot,
) -> int | None:
    """Summarise item scores (nDCG, rubric scores, Dice ...): mean, median, share_at_least(4) ..."""
    from bayescm.cli.output import show

    goals = question.keywords("width", "difference")
    tables = question.keywords("item_table")
    data = _read(columns, question, "item scores", [*goals, *tables])
    if tables:
        return _item_table(data, interval, output)
    if not goals:
        return _answer(data, columns, measures, question, interval, output)
    from bayescm.planning.item_scores import plan_item_scores

    keywords = {**goals, **interval.keywords("prob"), **question.keywords("assurance")}
    if data["item_score"].sizes.get("classifier", 1) > 2 and question.reference is not None:
        keywords |= {"reference": question.reference}
    show(plan_item_scores(data, **keywords), output)
    return None


@command(
    "bayescm multilabel tags.csv --actual tags --predicted old --predicted new",
    "bayescm multilabel tags.csv --actual tags --predicted new --require 'f1_micro > 0.8'",
)
def multilabel(
    columns: LabelColumns,
    measures: Measures,
    question: Question,
    interval: Interval,
    output: TableAndPlot,
) -> int | None:
    """Summarise multilabel predictions: f1_micro, f1_macro, recall, hamming_loss ..."""
    data = _read(columns, question, "multilabel")
    return _answer(data, columns, measures, question, interval, output)


@command(
    "bayescm item-counts found.csv --item image --system detector",
    "bayescm item-counts found.csv --item image --system detector -m f1 --compare",
)
def item_counts(
    columns: CountColumns,
    measures: Measures,
    question: Question,
    interval: Interval,
    output: TableAndPlot,
) -> int | None:
    """Summarise TP, FP and FN of items, e.g. objects in images: precision, recall, f1 ..."""
    data = _read(columns, question, "item counts")
    return _answer(data, columns, measures, question, interval, output)


@command(
    "bayescm attempts answers.csv --item problem --correct right --system model -m pass@4",
    "bayescm attempts answers.csv --item problem --correct right --plan",
)
def attempts(
    columns: AnswerColumns,
    measures: Measures,
    question: AnswerQuestion,
    interval: Interval,
    output: TableAndPlot,
) -> int | None:
    """Summarise repeated attempts at items: mean, pass@4, pass^4, maj@5 ..."""
    from bayescm.cli.output import facts, header, show

    tables = question.keywords("item_table")
    data = _read(columns, question, "attempts", [*question.keywords("plan"), *tables])
    if tables:
        return _item_table(data, interval, output)
    if not question.plan:
        return _answer(data, columns, measures, question, interval, output)
    keywords = {**interval.keywords(), **question.keywords("of")}
    frame = _plans(data, measures.measures, keywords)
    show(frame, output, header(data, **interval.keywords()), facts=facts(data, **keywords))
    return None


def _read(columns, question, name, goals=()):
    """Return the evidence of a type, or raise an error if the options ask several questions."""
    from bayescm.cli import evidence
    from bayescm.cli.check import read_requirements

    read_requirements(question, columns)
    asked = [*question.keywords("compare", "ranks", "require", "report"), *goals]
    if len(asked) > 1:
        options = [f"--{name.replace('_', '-')}" for name in asked]
        raise fail("{} cannot be combined", options, "", "use one of them at a time")
    directed = {"compare", "ranks", "report"} & {*asked}
    if columns.get("lower_is_better") and not directed:
        raise fail(
            "--lower-is-better has no effect without a comparison",
            ...,
            "",
            "leave it out, or pass --compare or --ranks",
        )
    data = evidence.read(columns, name)
    if {"compare", "ranks"} & {*asked} and data.sizes.get("classifier", 1) < 2:
        raise fail(
            "{} needs two or more systems, but only one is given",
            f"--{asked[0]}",
            "",
            "name the column of the systems, or several columns of predictions",
        )
    return data


def _answer(
    data: Any,
    columns: Source,
    measures: Measures,
    question: Question,
    interval: Interval,
    output: TableAndPlot,
) -> int | None:
    """Print the requested results, and return the exit status if requirements are checked."""
    from bayescm.cli import answers
    from bayescm.cli.check import show_outcomes
    from bayescm.cli.output import header
    from bayescm.cli.report import write_report

    names, of = measures.measures if not question.require else None, question.keywords("of")
    if question.require:
        return show_outcomes(data, question, of, columns, output)
    if question.report is not None:
        settings = {"measures": names, **interval.keywords()}
        write_report(data, question.report, columns.file, settings, output)
    elif question.ranks:
        answers.show_ranks(data, names, {"prob": interval.prob, **of}, output)
    elif question.compare:
        keywords = {**interval.keywords(), **of}
        rope, reference = question.ends(), question.reference
        answers.show_comparison(data, names, rope, reference, keywords, output)
    else:
        keywords, top = {**interval.keywords(), **of}, header(data, **interval.keywords())
        answers.show_summary(data, names, keywords, output, columns, header=top)
    return None


def _item_table(data, interval, output):
    """Print the table of the items."""
    from bayescm.answers.item_table import item_table
    from bayescm.cli.output import show

    show(item_table(data, **interval.keywords("prob")), output)


def _plans(data, measures, keywords):
    """Return the expected interval widths of all measures for every system."""
    import pandas as pd

    from bayescm.cli.output import default_measures
    from bayescm.planning.attempts import plan_attempts

    parts = []
    for system in data["classifier"].values.tolist() if "classifier" in data.dims else [None]:
        of_system = data if system is None else data.sel(classifier=system)
        for measure in measures or default_measures(data):
            part = plan_attempts(of_system, measure, **keywords)
            if system is not None:
                part.insert(0, "classifier", system)
            parts.append(part)
    return pd.concat(parts, ignore_index=True)
