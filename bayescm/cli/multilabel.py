"""``bayescm multilabel``: several labels for each example, from a file with one row per example."""

from typing import Annotated, Any

import typer

from bayescm.cli.options import Interval, Measures, Options, SafeOutput, Source, command


class Columns(Source):
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
    group: Annotated[
        str | None,
        typer.Option("--group", help="Column of the cluster of an example, such as its patient."),
    ] = None
    by: Annotated[
        list[str] | None,
        typer.Option("--by", help="Column of slices, each with answers of its own; repeatable."),
    ] = None


class Question(Options):
    """What is asked of the labels."""

    of: Annotated[
        str,
        typer.Option("--of", help="population (all examples like these) or, of clusters, finite."),
    ] = "population"
    compare: Annotated[
        bool, typer.Option("--compare", help="Differences of the systems, on the same examples.")
    ] = False


@command
def multilabel(
    columns: Columns,
    measures: Measures,
    question: Question,
    interval: Interval,
    output: SafeOutput,
) -> None:
    """Any number of labels for each example: f1_micro, f1_macro, recall, hamming_loss ..."""
    import bayescm as bcm
    from bayescm.cli import evidence
    from bayescm.cli.output import show
    from bayescm.evidence.multilabel import MULTILABEL

    data = evidence.multilabel(columns)
    names = measures.measures or MULTILABEL.default_measures(data)
    keywords: dict[str, Any] = {**interval.keywords(), **question.keywords("of")}
    examples, labels = data.sizes["example"], data.sizes["label"]
    header = f"{examples} examples, {labels} labels; {interval.prob:.4g} {interval.kind}"
    frame = (bcm.compare if question.compare else bcm.summary)(data, names, **keywords)
    facts = {**keywords, "examples": examples, "labels": labels, "model": "multilabel"}
    show(frame, output, header, facts=facts, hidden=["sentence"])
