"""``bayescm summary``: from a file of predictions to a table and a picture."""

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
    Measures,
    Plot,
    Positive,
    Predicted,
    Prob,
)

TWO_CLASSES = ["accuracy", "precision", "recall", "specificity", "f1", "mcc"]
MANY_CLASSES = ["accuracy", "f1", "f1_macro", "mcc"]
NO_POSITIVE = ["accuracy", "balanced_accuracy", "f1_macro", "mcc"]


def summary(
    file: File,
    actual: Actual,
    predicted: Predicted,
    positive: Positive = None,
    measure: Measures = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", help="A class; repeat for all, to keep absent ones."),
    ] = None,
    prob: Prob = 0.95,
    kind: KindOption = Kind.hdi,
    concentration: Concentration = None,
    style: FormatOption = Format.table,
    plot: Plot = None,
) -> None:
    """Table of posterior summaries from a file with one row per example."""
    from bayescm.answers import summary as tables
    from bayescm.cli.output import check_picture, save_picture, show
    from bayescm.evidence import read

    check_picture(plot)
    counts = read(file, actual=actual, predicted=predicted, labels=label, positive=positive)
    prior: dict[str, Any] = {} if concentration is None else {"concentration": concentration}
    measures = measure or default_measures(counts)
    frame = tables.summary(counts, measures, prob=prob, kind=kind.value, **prior)
    if plot is not None:
        from bayescm.plots import plot_forest

        save_picture(plot_forest(counts, measures, prob=prob, kind=kind.value, **prior), plot)
    show(frame, style.value, header(counts, prob, kind.value))


def default_measures(counts):
    """Return the measures worth showing first for this kind of evidence."""
    if counts.sizes["actual"] > 2:
        return MANY_CLASSES
    return TWO_CLASSES if "positive" in counts.coords else NO_POSITIVE


def header(counts, prob, kind):
    """Return one line that says what was evaluated."""
    labels = ", ".join(str(label) for label in counts["actual"].values)
    positive = f", positive {counts['positive'].item()}" if "positive" in counts.coords else ""
    return f"{int(counts.sum())} examples, classes {labels}{positive}; {prob:.4g} {kind}"
