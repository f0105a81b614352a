"""``bayescm slices``: which of many slices are bad, from a file with columns of attributes."""

from typing import Annotated, Any

import typer

from bayescm.cli.options import (
    Actual,
    Concentration,
    File,
    Format,
    FormatOption,
    Kind,
    KindOption,
    Labels,
    NumericLabels,
    Plot,
    Positive,
    Predicted,
    Prob,
    SafeCsv,
)


def slices(
    file: File,
    group: Annotated[
        list[str],
        typer.Option(
            "--group", "--by", help="Column of the slices; repeat for the combinations of several."
        ),
    ],
    actual: Actual = None,
    predicted: Predicted = None,
    positive: Positive = None,
    label: Labels = None,
    numeric_labels: NumericLabels = False,
    measure: Annotated[str, typer.Option("--measure", "-m", help="The measure.")] = "recall",
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            help="A slice is bad if it is worse than this; by default, worse than the mean of the "
            "others.",
        ),
    ] = None,
    delta: Annotated[
        float, typer.Option("--delta", help="Without a threshold: worse by more than this.")
    ] = 0.0,
    fdr: Annotated[
        float, typer.Option("--fdr", help="Share of those flagged that may be falsely so.")
    ] = 0.1,
    smooth: Annotated[
        list[str] | None,
        typer.Option(
            "--smooth",
            help="Column of numbers, such as an age, that acts by a curve; of several columns.",
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Rows: the worst so many.")] = 10,
    prob: Prob = 0.95,
    kind: KindOption = Kind.hdi,
    concentration: Concentration = None,
    plot: Plot = None,
    style: FormatOption = Format.table,
    safe_csv: SafeCsv = False,
) -> None:
    """Which of many slices are bad, the worst first, with the false discoveries to expect."""
    from bayescm.answers.groups.slices import worst_slices
    from bayescm.cli import evidence
    from bayescm.cli.output import check_picture, save_picture, show
    from bayescm.cli.summary import facts, header

    check_picture(plot)
    dims = ["group"] if len(group) == 1 else group
    known = evidence.from_file(
        file,
        actual=actual,
        predicted=[predicted] if predicted else None,
        positive=positive,
        labels=label,
        numeric_labels=numeric_labels,
        **dict(zip(dims, group, strict=True)),
    )
    asked: dict[str, Any] = {"threshold": threshold, "delta": delta, "fdr": fdr, "k": k}
    asked |= {"dim": dims, "prob": prob, "kind": kind.value}
    asked |= evidence.prior(concentration, known) | ({"smooth": smooth} if smooth else {})
    found = worst_slices(known, measure, **asked)
    number = int(found["flagged"].sum())
    said = f"{number} of {len(found)} slices flagged"
    if number:
        said += f", {found.attrs['expected_false']:.1f} of them falsely as is to be expected"
    words = f"{header(known, prob, kind.value)}\n{said}"
    told = facts(known, prob=prob, kind=kind.value, fdr=fdr)
    table = found.head(k).rename(columns={"group": group[0]} if len(group) == 1 else {})
    show(table, style.value, words, facts=told, safe=safe_csv)
    if plot is not None:
        from bayescm.plots import plot_slices

        save_picture(plot_slices(known, measure, **asked), plot)
