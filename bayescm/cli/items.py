"""``bayescm items``: a number for each item, from a file with one row per item and system."""

from typing import Annotated, Any

import typer

from bayescm.cli.options import (
    BelongsWith,
    Interval,
    Measures,
    Options,
    SafeOutput,
    Source,
    command,
)


class Columns(Source):
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
    group: Annotated[
        str | None,
        typer.Option("--group", help="Column of the cluster of an item: its topic or document."),
    ] = None
    by: Annotated[
        list[str] | None,
        typer.Option("--by", help="Column of slices, each with answers of its own; repeatable."),
    ] = None
    weights: Annotated[
        str | None, typer.Option("--weights", help="Column of the weights of the items.")
    ] = None
    weights_are: Annotated[
        str | None,
        typer.Option(
            "--weights-are",
            help="counts (how many items a row stands for) or importance (how much it counts).",
        ),
        BelongsWith("--weights"),
    ] = None
    missing: Annotated[
        str | None,
        typer.Option(
            "--missing",
            help="Where a system lacks an item: 'drop pairs' or 'worst'. By default refused.",
        ),
    ] = None


class Question(Options):
    """What is asked of the item scores."""

    of: Annotated[
        str,
        typer.Option("--of", help="population (all items like these) or, of clusters, finite."),
    ] = "population"
    compare: Annotated[
        bool, typer.Option("--compare", help="Differences of the systems, item by item.")
    ] = False


@command
def items(
    columns: Columns,
    measures: Measures,
    question: Question,
    interval: Interval,
    output: SafeOutput,
) -> None:
    """Item scores (nDCG, rubric marks, Dice ...): mean, median, share_above(0.5) ..."""
    import bayescm as bcm
    from bayescm.cli import evidence
    from bayescm.cli.output import show
    from bayescm.evidence.item_scores import ITEM_SCORES
    from bayescm.validate import fail

    if columns.lower_is_better and not question.compare:
        todo = "leave it out, or ask for --compare"
        raise fail("--lower-is-better changes no summary", ..., "a comparison", todo)
    data = evidence.item_scores(columns)
    names = measures.measures or ITEM_SCORES.default_measures(data)
    keywords: dict[str, Any] = {**interval.keywords(), **question.keywords("of")}
    header = f"{data.sizes['item']} items; {interval.prob:.4g} {interval.kind}"
    ask = bcm.compare if question.compare else bcm.summary
    frame = ask(data, names, **keywords)
    facts = {**keywords, "items": data.sizes["item"], "model": "item_scores"}
    show(frame, output, header, facts=facts, hidden=["sentence"])
