"""``bayescm gap``: how far groups are apart, from a file with a column of groups."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from bayescm.cli.options import (
    Actual,
    Classifiers,
    Concentration,
    File,
    Format,
    FormatOption,
    Kind,
    KindOption,
    Labels,
    Measures,
    NumericLabels,
    Positive,
    Prob,
    SafeCsv,
)


class Statistic(StrEnum):
    """What is said of the groups."""

    range = "range"
    ratio = "ratio"
    worst = "worst"
    deviation = "deviation"


def gap(
    file: File,
    group: Annotated[
        list[str],
        typer.Option(
            "--group", "--by", help="Column of the groups; repeat for the combinations of several."
        ),
    ],
    actual: Actual = None,
    predicted: Classifiers = None,
    positive: Positive = None,
    label: Labels = None,
    numeric_labels: NumericLabels = False,
    measure: Measures = None,
    statistic: Annotated[
        Statistic,
        typer.Option(
            "--statistic",
            help="Largest minus smallest (range), smallest by largest (ratio), the worst group, or "
            "each group minus the mean of the others (deviation).",
        ),
    ] = Statistic.range,
    delta: Annotated[
        float | None, typer.Option("--delta", help="Also the probability of less than this.")
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option("--reference", help="Of every other classifier, its gap minus this one's."),
    ] = None,
    prob: Prob = 0.95,
    kind: KindOption = Kind.hdi,
    concentration: Concentration = None,
    style: FormatOption = Format.table,
    safe_csv: SafeCsv = False,
) -> None:
    """How far groups are apart in a measure, or by fairlearn's names: equalized_odds_difference."""
    import pandas as pd

    from bayescm.answers.groups.gaps import gap
    from bayescm.cli import evidence
    from bayescm.cli.output import show
    from bayescm.cli.summary import facts, header

    labels: dict[str, Any] = {
        "positive": positive,
        "labels": label,
        "numeric_labels": numeric_labels,
    }
    dims = ["group"] if len(group) == 1 else group
    columns = dict(zip(dims, group, strict=True))
    known = evidence.from_file(file, actual=actual, predicted=predicted, **columns, **labels)
    options: dict[str, Any] = {
        "prob": prob,
        "kind": kind.value,
        "statistic": statistic.value,
        "delta": delta,
        "dim": dims,
    }
    prior = evidence.prior(concentration, known)
    parts = [
        _rows(gap(known, each, reference=reference, **options, **prior), each)
        for each in measure or ["recall", "specificity"]
    ]
    words = header(known, prob, kind.value)
    told = facts(known, prob=prob, kind=kind.value, statistic=statistic.value)
    show(pd.concat(parts, ignore_index=True), style.value, words, facts=told, safe=safe_csv)


def _rows(found, measure):
    """Return a row for each place on the dims of an answer."""
    dims = [dim for dim in found.dims if dim != "bound"]
    known = ["observed", "point", "p_below"]
    wide = (
        found.rename("value")
        .to_dataset("bound")
        .reset_coords([name for name in known if name in found.coords])
    )
    wide = wide.drop_vars([name for name in wide.coords if name not in dims])
    frame = wide.expand_dims("row" if not dims else []).to_dataframe().reset_index()
    columns = [*dims, "measure", *(name for name in (*known[:2], "lower", "upper", known[2]))]
    return frame.assign(measure=measure)[
        [name for name in columns if name in frame or name == "measure"]
    ]
