"""``bayescm attempts``: accuracy, pass@k and its relatives, from a file with one row per answer."""

from typing import Annotated, Any

import typer

from bayescm.cli.options import Interval, Measures, Options, SafeOutput, Source, command


class Columns(Source):
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
    group: Annotated[
        str | None,
        typer.Option(
            "--group", help="Column of what the items come in, such as the text they are about."
        ),
    ] = None
    by: Annotated[
        list[str] | None,
        typer.Option("--by", help="Column of slices, each with answers of its own; repeatable."),
    ] = None


class Question(Options):
    """What is asked of the attempts."""

    of: Annotated[
        str,
        typer.Option(
            "--of", help="population (all items like these), finite (these items) or new (one)."
        ),
    ] = "population"
    compare: Annotated[
        bool, typer.Option("--compare", help="Differences of the systems, on the same items.")
    ] = False
    plan: Annotated[
        bool,
        typer.Option(
            "--plan", help="How wide the intervals would be with more items, or more attempts."
        ),
    ] = False


@command
def attempts(
    columns: Columns,
    measures: Measures,
    question: Question,
    interval: Interval,
    output: SafeOutput,
) -> None:
    """One or several answers to each item: mean, pass_at(4), pass_all(4), majority_at(5) ..."""
    from bayescm.answers.compare import compare
    from bayescm.answers.summary import summary
    from bayescm.cli import evidence
    from bayescm.cli.output import show
    from bayescm.evidence.attempts import ATTEMPTS

    data = evidence.attempts(columns)
    items, least = data.sizes["item"], int(data["correct"].notnull().sum("attempt").min())
    names = measures.measures or ATTEMPTS.default_measures(data)
    keywords: dict[str, Any] = {**interval.keywords(), **question.keywords("of")}
    if question.plan:
        frame = _plans(data, names, keywords)
    else:
        frame = (compare if question.compare else summary)(data, names, **keywords)
    attempts_of_item = "1 attempt" if least == 1 else f"{least} attempts"
    header = f"{items} items, {attempts_of_item} or more at each; "
    header += f"{interval.prob:.4g} {interval.kind}"
    facts = {**keywords, "items": items, "attempts": least, "model": "repeated_items"}
    show(frame, output, header, facts=facts, hidden=["sentence"])


def _plans(data, measures, keywords):
    """Return the widths to expect of all measures."""
    import pandas as pd

    from bayescm.planning.attempts import plan_attempts

    parts = [plan_attempts(data, measure, **keywords) for measure in measures]
    return pd.concat(parts, ignore_index=True)
