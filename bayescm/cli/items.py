"""``bayescm items``, ``item-counts``, ``multilabel`` and ``attempts``: evidence of many items."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from bayescm.cli.check import STATUS, values_of, write_junit
from bayescm.cli.options import (
    BelongsWith,
    Contrast,
    Interval,
    Measures,
    Separators,
    TableAndPlot,
    command,
    file_with,
)
from bayescm.validate import fail


class Parts(Separators):
    """The file, and the columns of what items come in."""

    file: Annotated[Path, file_with("one row per item, per answer or per example.")]
    group: Annotated[
        str | None,
        typer.Option(
            "--group", help="Column of the cluster of an item: its topic, document or patient."
        ),
    ] = None
    by: Annotated[
        list[str] | None,
        typer.Option("--by", help="Column of slices, each with answers of its own; repeatable."),
    ] = None


class Weights(Parts):
    """The columns of what items come in, and of their weights."""

    weights: Annotated[
        str | None,
        typer.Option("--weights", help="Column of the weights of the items, or of the examples."),
    ] = None
    weights_are: Annotated[
        str | None,
        typer.Option(
            "--weights-are",
            help="counts (how many a row stands for) or importance (how much it counts).",
        ),
        BelongsWith("--weights"),
    ] = None


class ScoreColumns(Weights):
    """The columns of a file with one row per item, or per item and system."""

    score: Annotated[str, typer.Option("--score", help="Column of the scores.")] = "score"
    item: Annotated[str, typer.Option("--item", help="Column of the items.")] = "item"
    system: Annotated[
        str | None, typer.Option("--system", help="Column of the system that was scored.")
    ] = None
    range: Annotated[
        str | None,
        typer.Option("--range", help="The lowest and the highest score there can be, as in 0,1."),
    ] = None
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="Scores are errors.")
    ] = False
    missing: Annotated[
        str | None,
        typer.Option(
            "--missing",
            help="Where a system lacks an item: 'drop pairs' or 'worst'. By default refused.",
        ),
    ] = None


class CountColumns(Separators):
    """The columns of a file with one row per item, or per item and system."""

    file: Annotated[Path, file_with("one row per item, or per item and system.")]
    tp: Annotated[str, typer.Option("--tp", help="Column of the objects that were found.")] = "tp"
    fp: Annotated[str, typer.Option("--fp", help="Column of the objects made up.")] = "fp"
    fn: Annotated[str, typer.Option("--fn", help="Column of the objects missed.")] = "fn"
    item: Annotated[
        str | None,
        typer.Option("--item", help="Column of the items; needed with --system."),
    ] = None
    system: Annotated[
        str | None, typer.Option("--system", help="Column of the system that was evaluated.")
    ] = None
    group: Annotated[
        str | None,
        typer.Option("--group", help="Column of the cluster of an item, such as its video."),
    ] = None


class LabelColumns(Weights):
    """The columns of a file whose fields hold the labels of an example."""

    actual: Annotated[
        str,
        typer.Option("--actual", help="Column of the labels of an example; empty: it has none."),
    ] = "actual"
    predicted: Annotated[
        list[str] | None,
        typer.Option(
            "--predicted",
            help="Column of the labels that a system predicts; default predicted. Repeat for "
            "several.",
        ),
    ] = None
    separator: Annotated[
        str, typer.Option("--separator", help="What stands between labels in a field.")
    ] = ";"
    labels: Annotated[
        list[str] | None,
        typer.Option("--label", help="A label; repeat for all, in order, to keep absent ones."),
    ] = None


class AnswerColumns(Parts):
    """The columns of a file with one row per answer."""

    item: Annotated[str, typer.Option("--item", help="Column of the items.")] = "item"
    correct: Annotated[
        str | None,
        typer.Option(
            "--correct",
            help="Column that says whether the answer is right: 1 or 0. [default: correct]",
        ),
    ] = None
    answer: Annotated[
        str | None,
        typer.Option(
            "--answer",
            help="Column of the answers themselves, with --truth instead of --correct, equal "
            "where their text is: majority_at(5) is then the plurality of them.",
        ),
    ] = None
    truth: Annotated[
        str | None,
        typer.Option("--truth", help="Column of the right answer, the same at each of an item."),
    ] = None
    attempt: Annotated[
        str | None, typer.Option("--attempt", help="Column of the number of the attempt.")
    ] = None
    system: Annotated[
        str | None, typer.Option("--system", help="Column of the system that answered.")
    ] = None


class ItemMeasures(Measures):
    """The measures of items."""

    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            help="mean, median, sd, 'quantile(0.1)', 'share_at_least(4)' or 'share_above(0.5)' "
            "(strictly above). May be repeated.",
        ),
    ] = None


class LabelMeasures(Measures):
    """The measures of several labels."""

    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            help="f1_micro, f1_macro, f1 (of each label), 'f1[cat]', f1_samples, hamming_loss ... "
            "May be repeated.",
        ),
    ] = None


class CountMeasures(Measures):
    """The measures of item counts."""

    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measure", "-m", help="precision, recall, f1, jaccard, f1_samples. May be repeated."
        ),
    ] = None


class AnswerMeasures(Measures):
    """The measures of repeated answers."""

    measures: Annotated[
        list[str] | None,
        typer.Option("--measure", "-m", help="mean, pass@4, pass^4, maj@5, ... May be repeated."),
    ] = None


class Question(Contrast):
    """What is asked of the items: a summary, or one of these."""

    of: Annotated[
        str,
        typer.Option(
            "--of",
            help="population (all items like these); of clusters and of attempts also finite (the "
            "ones at hand), of attempts new (one more item).",
        ),
    ] = "population"
    compare: Annotated[
        bool, typer.Option("--compare", help="Differences of the systems, item by item.")
    ] = False
    ranks: Annotated[
        bool, typer.Option("--ranks", help="Ranks of the systems: tiers, P(best) and losses.")
    ] = False
    require: Annotated[
        list[str] | None,
        typer.Option(
            "--require",
            help='A requirement, such as "mean > 0.6 @ 0.95", of each system unless it names one '
            "in brackets, as classifier=new; repeat for several. Exits with 0, 1 or 3 as bayescm "
            "check does.",
        ),
    ] = None
    requirements: Annotated[
        Path | None,
        typer.Option(
            "--requirements", help="TOML file: require = [...], level, by, system, group ..."
        ),
    ] = None
    level: Annotated[
        float | None,
        typer.Option("--level", help="Probability asked for where none is given; default 0.95."),
        BelongsWith("--require"),
    ] = None
    junit: Annotated[
        Path | None,
        typer.Option("--junit", help="Write the outcomes of requirements here as JUnit XML."),
        BelongsWith("--require"),
    ] = None
    report: Annotated[
        Path | None,
        typer.Option("--report", help="Write a report here: .html, .md, .tex or .docx."),
    ] = None


class ScoreQuestion(Question):
    """What is asked of item scores: also how many items a goal takes."""

    width: Annotated[
        float | None,
        typer.Option("--width", help="Plan: how many items make the interval this narrow."),
    ] = None
    difference: Annotated[
        float | None,
        typer.Option("--difference", help="Plan: how many items show this difference of two."),
    ] = None
    assurance: Annotated[
        float,
        typer.Option("--assurance", help="Plan: probability that the goal is reached."),
        BelongsWith("--width or --difference"),
    ] = 0.9


class AnswerQuestion(Question):
    """What is asked of repeated answers: also what more of them would tell."""

    plan: Annotated[
        bool,
        typer.Option(
            "--plan", help="How wide the intervals would be with more items, or more attempts."
        ),
    ] = False


@command
def items(
    columns: ScoreColumns,
    measures: ItemMeasures,
    question: ScoreQuestion,
    interval: Interval,
    output: TableAndPlot,
) -> int | None:
    """Item scores (nDCG, rubric marks, Dice ...): mean, median, share_at_least(4) ..."""
    from bayescm.cli import evidence
    from bayescm.cli.output import show

    goals = question.keywords("width", "difference")
    _read_requirements(question, columns)
    _check_single(question, [*goals])
    directed = question.compare or question.ranks or question.report
    if columns.lower_is_better and not directed:
        todo = "leave it out, or ask for --compare or --ranks"
        raise fail("--lower-is-better changes nothing here", ..., "a comparison", todo)
    data = evidence.item_scores(columns)
    if goals:
        from bayescm.planning.item_scores import plan_item_scores

        keywords = {**goals, **interval.keywords("prob"), **question.keywords("assurance")}
        if data["item_score"].sizes.get("classifier", 1) > 2 and question.reference is not None:
            keywords |= {"reference": question.reference}
        show(plan_item_scores(data, **keywords), output)
        return None
    count = _count(data, "item")
    facts = {"items": data.sizes["item"], "model": "item_scores"}
    return _answer(data, count, facts, columns, measures, question, interval, output)


@command
def multilabel(
    columns: LabelColumns,
    measures: LabelMeasures,
    question: Question,
    interval: Interval,
    output: TableAndPlot,
) -> int | None:
    """Any number of labels for each example: f1_micro, f1_macro, recall, hamming_loss ..."""
    from bayescm.cli import evidence

    _read_requirements(question, columns)
    _check_single(question, [])
    data = evidence.multilabel(columns)
    examples, labels = data.sizes["example"], data.sizes["label"]
    facts = {"examples": examples, "labels": labels, "model": "multilabel"}
    count = f"{_count(data, 'example')}, {labels} labels"
    return _answer(data, count, facts, columns, measures, question, interval, output)


@command
def item_counts(
    columns: CountColumns,
    measures: CountMeasures,
    question: Question,
    interval: Interval,
    output: TableAndPlot,
) -> int | None:
    """Objects found, made up and missed in each item: precision, recall, f1 ..."""
    from bayescm.cli import evidence

    _read_requirements(question, columns)
    _check_single(question, [])
    data = evidence.item_counts(columns)
    facts = {"items": data.sizes["item"], "model": "multilabel"}
    count = _count(data, "item")
    return _answer(data, count, facts, columns, measures, question, interval, output)


@command
def attempts(
    columns: AnswerColumns,
    measures: AnswerMeasures,
    question: AnswerQuestion,
    interval: Interval,
    output: TableAndPlot,
) -> int | None:
    """One or several answers to each item: mean, pass@4, pass^4, maj@5 ..."""
    from bayescm.cli import evidence
    from bayescm.cli.output import show

    _read_requirements(question, columns)
    _check_single(question, ["plan"] if question.plan else [])
    data = evidence.attempts(columns)
    number, least = data.sizes["item"], int(data["correct"].notnull().sum("attempt").min())
    attempts_of_item = "1 attempt" if least == 1 else f"{least} attempts"
    count = f"{_count(data, 'item')}, {attempts_of_item} or more at each"
    facts = {"items": number, "attempts": least, "model": "repeated_items"}
    if question.plan:
        keywords = {**interval.keywords(), **question.keywords("of")}
        frame = _plans(data, measures.measures, keywords)
        header = f"{count}; {interval.prob:.4g} {interval.kind}"
        show(frame, output, header, facts={**keywords, **facts})
        return None
    return _answer(data, count, facts, columns, measures, question, interval, output)


def _count(data, dim):
    """Return how many items there are, in how many clusters and slices, and of how many systems."""
    from bayescm.evidence.clusters_and_slices import clusters_of, slice_dims

    text = f"{data.sizes[dim]} {dim}s"
    if (clusters := clusters_of(data, dim)) is not None:
        text += f" in {len({*clusters.tolist()})} clusters"
    slices = " x ".join(f"{data.sizes[name]} of {name}" for name in slice_dims(data))
    if slices:
        text += f", slices: {slices}"
    return text + (f", {data.sizes['classifier']} systems" if "classifier" in data.dims else "")


def _read_requirements(question, columns):
    """Set what the file of requirements says, where the command line leaves it open."""
    if question.requirements is None:
        return
    of_columns = [field.name for field in fields(columns) if field.name != "file"]
    names = ("require", "level", *of_columns)
    keys = {"label" if name == "labels" else name: name for name in names}
    values = values_of(question.requirements, keys)
    if isinstance(values.get("by"), str):
        values["by"] = [values["by"]]
    if isinstance(values.get("range"), list):
        values["range"] = ",".join(map(str, values["range"]))
    question.fill(values)
    for name in values.keys() & {*of_columns} - columns.on_command_line():
        setattr(columns, name, values[name])
    if not question.require:
        todo = "write require = [...] in the file, or pass --require"
        raise fail("nothing is required", question.requirements.name, "require", todo)


def _check_single(question, goals):
    """Raise where several questions are asked at once."""
    names = ("compare", "ranks", "require", "report")
    asked = [f"--{name}" for name in [*question.keywords(*names), *goals]]
    if len(asked) > 1:
        raise fail("several questions at once", asked, "one of them", "ask one by one")


def _answer(
    data: Any,
    count: str,
    facts: Mapping[str, Any],
    columns: Separators,
    measures: Measures,
    question: Question,
    interval: Interval,
    output: TableAndPlot,
) -> int | None:
    """Answer what is asked of the evidence, and return the exit status of requirements."""
    from bayescm.answers.compare import compare
    from bayescm.answers.ranks import ranks
    from bayescm.answers.summary import summary
    from bayescm.cli.output import show

    if (question.compare or question.ranks) and data.sizes.get("classifier", 1) < 2:
        option = "--compare" if question.compare else "--ranks"
        todo = "name the column of the systems, or several predictions"
        raise fail("only one system to compare", option, "two or more", todo)
    if question.require:
        return _check(data, count, facts, columns, question, output)
    names = measures.measures
    if question.report is not None:
        _report(data, names, columns, question, interval, output)
        return None
    of = question.keywords("of")
    printing: dict[str, Any] = {"hidden": ["sentence"]}
    if question.ranks:
        keywords = {"prob": interval.prob, **of}
        frame = ranks(data, names, random_seed=0, **keywords)
        header = f"{count}; {interval.prob:.4g} jointly"
        printing["hidden"] = [name for name in frame if str(name).startswith("rank_")]
        picture = _picture_of_tiers(data, frame["measure"].unique().tolist(), keywords)
    else:
        keywords = {**interval.keywords(), **of}
        header = f"{count}; {interval.prob:.4g} {interval.kind}"
        if question.compare:
            rope = question.ends()
            frame = compare(data, names, rope=rope, reference=question.reference, **keywords)
            printing["closing"] = "\n".join(frame["sentence"])
            picture = _picture_of_differences(frame, rope, interval)
        else:
            frame = summary(data, names, **keywords)
            picture = _picture_of_intervals(data, names, keywords)
    show(frame, output, header, facts={**keywords, **facts}, picture=picture, **printing)
    return None


def _picture_of_tiers(data, names, keywords):
    def picture():
        from bayescm.plots import plot_tiers

        if len(names) > 1:
            raise fail("a picture of tiers is of one measure", names, "one", "ask one by one")
        return plot_tiers(data, names[0], **keywords)

    return picture


def _picture_of_differences(frame, rope, interval):
    def picture():
        from bayescm.plots import plot_differences

        return plot_differences(frame, rope=rope, **interval.keywords())

    return picture


def _picture_of_intervals(data, names, keywords):
    def picture():
        from bayescm.plots import plot_forest

        return plot_forest(data, names, **keywords)

    return picture


def _check(data, count, facts, columns, question, output):
    """Print which requirements are met, of each system or of each slice, and return the status."""
    from bayescm.answers.check import check
    from bayescm.cli.output import show

    slices: Sequence[str] = columns.get("by") or []
    by = "classifier" if data.sizes.get("classifier", 1) > 1 else next(iter(slices), None)
    keywords = {**question.keywords("of"), "level": question.level or 0.95}
    table = check(data, question.require, by=by, **keywords)
    junit = None if question.junit is None else partial(write_junit, table, question.junit)
    renamed = {"needed": "would decide it"}
    show(table, output, count, facts={**keywords, **facts}, files=junit, renamed=renamed)
    return next(code for name, code in STATUS.items() if name in {*table["outcome"]})


def _report(data, names, columns, question, interval, output):
    """Write a report on the evidence."""
    from bayescm.cli.output import say
    from bayescm.reporting import report
    from bayescm.reporting.render import check_path

    path = question.report
    check_path(path)
    output.refuse_unread()
    keywords = {"measures": names, "source": columns.file, **interval.keywords()}
    written = report(data, path, progressbar=True, **keywords)
    say(f"written to {written}")


def _plans(data, measures, keywords):
    """Return the widths to expect of all measures, of every system."""
    import pandas as pd

    from bayescm.evidence.attempts import ATTEMPTS
    from bayescm.planning.attempts import plan_attempts

    names = measures or ATTEMPTS.default_measures(data)
    parts = []
    for system in data["classifier"].values.tolist() if "classifier" in data.dims else [None]:
        of_system = data if system is None else data.sel(classifier=system)
        for measure in names:
            part = plan_attempts(of_system, measure, **keywords)
            if system is not None:
                part.insert(0, "classifier", system)
            parts.append(part)
    return pd.concat(parts, ignore_index=True)
