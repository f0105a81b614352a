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
from bayescm.validate import fail

MEASURES = ["accuracy", "f1_macro", "mcc"]


def compare(
    file: File,
    actual: Actual,
    predicted: Annotated[
        list[str], typer.Option("--predicted", help="Column of a classifier's predictions; repeat.")
    ],
    positive: Positive = None,
    measure: Measures = None,
    rope: Annotated[
        str,
        typer.Option("--rope", help="Differences below this, or within LOW,HIGH, count as none."),
    ] = "0",
    group: Annotated[
        str | None, typer.Option("--group", help="Column of the groups; one row for each.")
    ] = None,
    pool: Annotated[
        bool,
        typer.Option("--pool", help="Pool the groups partially: one row, for the typical group."),
    ] = False,
    reference: Annotated[
        str | None,
        typer.Option("--reference", help="Compare all others with this classifier only."),
    ] = None,
    prob: Prob = 0.95,
    kind: KindOption = Kind.hdi,
    style: FormatOption = Format.table,
    plot: Plot = None,
) -> None:
    """Paired differences of measures: intervals, P(better), expected loss, a sentence each."""
    from bayescm.answers.compare import compare
    from bayescm.cli.output import check_picture, save_picture, show
    from bayescm.cli.summary import header
    from bayescm.evidence.outcomes import counts_of, from_classifiers
    from bayescm.evidence.reading import as_label, read_columns

    check_picture(plot)
    region = _rope(rope)
    if pool and group is None:
        raise fail(
            "there are no groups to pool",
            "--pool",
            "--pool together with --group",
            "name the column of the groups",
        )
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
        rope=region,
        reference=reference,
        prob=prob,
        kind=kind.value,
        random_seed=0,
        model="hierarchical_groups" if pool else None,
    )
    if plot is not None:
        from bayescm.plots import plot_differences

        save_picture(plot_differences(table, rope=region, prob=prob, kind=kind.value), plot)
    people = style in (Format.table, Format.markdown)
    words = header(counts_of(evidence).isel(classifier=0, drop=True), prob, kind.value)
    show(table.drop(columns=["sentence"]) if people else table, style.value, words)
    if people:
        print("\n".join(table["sentence"]))


def _rope(text):
    """Return one number, or the two ends; ``compare`` checks them."""
    try:
        ends = [float(each) for each in text.split(",")]
    except ValueError:
        todo = "write e.g. --rope 0.01"
        raise fail("the rope must be one or two numbers", text, "WIDTH or LOW,HIGH", todo) from None
    return ends[0] if len(ends) == 1 else tuple(ends)
