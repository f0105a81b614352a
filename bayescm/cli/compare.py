"""``bayescm compare``: which of several classifiers is better, on the examples they share."""

from typing import Annotated

import typer

from bayescm.cli.options import (
    Actual,
    File,
    Format,
    FormatOption,
    Kind,
    KindOption,
    Measures,
    Plot,
    Positive,
    Prob,
)

MEASURES = ["accuracy", "f1_macro", "mcc"]


def compare(
    file: File,
    actual: Actual,
    predicted: Annotated[
        list[str], typer.Option("--predicted", help="Column of a classifier's answers; repeat it.")
    ],
    positive: Positive = None,
    measure: Measures = None,
    rope: Annotated[
        float, typer.Option("--rope", help="Differences below this count as none.")
    ] = 0.0,
    group: Annotated[str | None, typer.Option("--group", help="Column of the groups.")] = None,
    reference: Annotated[
        str | None, typer.Option("--reference", help="Compare all with this classifier only.")
    ] = None,
    prob: Prob = 0.95,
    kind: KindOption = Kind.hdi,
    style: FormatOption = Format.table,
    plot: Plot = None,
) -> None:
    """Paired differences of measures: intervals, P(better), expected loss, a sentence each."""
    from bayescm.cli.output import check_picture, save_picture, show
    from bayescm.comparison import compare
    from bayescm.evidence.outcomes import from_classifiers
    from bayescm.evidence.reading import as_label, read_columns

    check_picture(plot)
    frame = read_columns(file, [actual, *predicted, *([group] if group else [])])
    truth = frame[actual]
    evidence = from_classifiers(
        truth,
        [(name, frame[name]) for name in predicted],
        positive=as_label(positive, truth.dtype),
        by={"group": frame[group]} if group else None,
    )
    table = compare(
        evidence,
        measure or MEASURES,
        rope=rope,
        reference=reference,
        prob=prob,
        kind=kind.value,
        random_seed=0,
    )
    if plot is not None:
        from bayescm.plots import plot_differences

        save_picture(plot_differences(table, rope=rope, prob=prob, kind=kind.value), plot)
    people = style in (Format.table, Format.markdown)
    show(table.drop(columns=["sentence"]) if people else table, style.value)
    if people:
        print("\n".join(table["sentence"]))
