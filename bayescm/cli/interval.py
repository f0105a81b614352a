"""``bayescm interval``: from four counts to intervals, in less than a second."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from bayescm.cli.options import (
    Concentration,
    Format,
    FormatOption,
    Kind,
    KindOption,
    Measures,
    Prob,
)


class Of(StrEnum):
    """What the interval is about."""

    parameter = "parameter"
    predictive = "predictive"


def interval(
    tp: Annotated[int, typer.Option("--tp", help="True positives.")],
    fn: Annotated[int, typer.Option("--fn", help="False negatives.")],
    fp: Annotated[int, typer.Option("--fp", help="False positives.")],
    tn: Annotated[int, typer.Option("--tn", help="True negatives.")],
    measure: Measures = None,
    prob: Prob = 0.95,
    kind: KindOption = Kind.hdi,
    concentration: Concentration = None,
    prevalence: Annotated[
        float | None,
        typer.Option("--prevalence", help="Prevalence of the target population."),
    ] = None,
    of: Annotated[
        Of, typer.Option("--of", help="The measure itself, or that of the next test set.")
    ] = Of.parameter,
    n: Annotated[
        int | None, typer.Option("--n", help="Size of the next test set (predictive).")
    ] = None,
    style: FormatOption = Format.table,
) -> None:
    """Posterior interval of any measure from the four counts of a confusion matrix."""
    from bayescm.answers.summary import summary
    from bayescm.cli.output import show
    from bayescm.evidence import at_prevalence, from_cells

    counts = from_cells(tp=tp, fn=fn, fp=fp, tn=tn)
    if prevalence is not None:
        counts = at_prevalence(counts, prevalence)
    prior: dict[str, Any] = {} if concentration is None else {"concentration": concentration}
    chosen: dict[str, Any] = {"prob": prob, "kind": kind.value, "of": of.value, "n": n}
    header = f"tp={tp} fn={fn} fp={fp} tn={tn}, {prob:.4g} {kind.value}"
    show(summary(counts, measure or DEFAULT, **chosen, **prior), style.value, header)


DEFAULT = ["accuracy", "precision", "recall", "specificity", "f1", "mcc"]
