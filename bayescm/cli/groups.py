"""``bayescm gap``, ``slices`` and ``heterogeneity``: how groups, slices and studies differ."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bayescm.cli.options import (
    BelongsWith,
    Classes,
    Covariates,
    Interval,
    Measures,
    Options,
    Predictions,
    Prior,
    SafeOutput,
    Separators,
    Source,
    TableAndPlot,
    Truth,
    command,
    file_with,
)
from bayescm.validate import fail


class Dims(Options):
    """The columns of the groups, or of the attributes that make slices."""

    group: Annotated[
        list[str],
        typer.Option(
            "--group", "--by", help="Column of the groups; repeat for the combinations of several."
        ),
    ]


class Columns(Source, Predictions, Dims):
    """The columns of a file of predictions in groups."""


def _by(columns):
    """Return the columns of the groups by dim: a single one is called group."""
    return {"group": columns.group[0]} if len(columns.group) == 1 else {c: c for c in columns.group}


class Gap(Options):
    """Which distance of the groups is asked for."""

    statistic: Annotated[
        Literal["range", "ratio", "worst", "deviation"],
        typer.Option(
            "--statistic",
            help="Largest minus smallest (range), smallest by largest (ratio), the worst group, or "
            "each group minus the mean of the others (deviation).",
        ),
    ] = "range"
    delta: Annotated[
        float | None, typer.Option("--delta", help="Also the probability of less than this.")
    ] = None
    reference: Annotated[
        str | None,
        typer.Option("--reference", help="Of every other classifier, its gap minus this one's."),
        BelongsWith("several --predicted"),
    ] = None


@command
def gap(
    columns: Columns,
    measures: Measures,
    question: Gap,
    interval: Interval,
    prior: Prior,
    output: SafeOutput,
) -> None:
    """How far groups are apart in a measure, or by fairlearn's names: equalized_odds_difference."""
    import pandas as pd

    from bayescm.answers.gaps import gap
    from bayescm.cli import evidence
    from bayescm.cli.output import facts_of_counts, header_of_counts, show

    by = _by(columns)
    data = evidence.from_predictions_options(columns, by)
    keywords = {**interval.keywords(), **evidence.prior(prior, data)}
    keywords |= question.keywords("statistic", "delta")
    if len(columns.predicted or ()) > 1:
        keywords |= question.keywords("reference")
    gaps = {
        measure: gap(data, measure, dim=list(by), **keywords)
        for measure in measures.measures or ["recall", "specificity"]
    }
    parts = [_gaps(found, measure) for measure, found in gaps.items()]
    table = pd.concat(parts, ignore_index=True)
    cautions = [
        f"{name}: {found.caution}" for name, found in gaps.items() if "caution" in found.attrs
    ]
    table.attrs = {"caution": " ".join(cautions)} if cautions else {}
    header = header_of_counts(data, **interval.keywords())
    asked = interval.keywords() | {"of": "finite", "model": _model(data, list(by), keywords)}
    show(table, output, header, facts=facts_of_counts(data, **asked, statistic=question.statistic))


def _model(data, dims, keywords):
    """Return the name of the model of groups along some dims; a single dim is called group."""
    from bayescm.evidence.types import type_of

    if keywords.get("model") or len(dims) > 1:
        return keywords.get("model") or "crossed_groups"
    return type_of(data).default_model(data, keywords, dims[0]).model


def _gaps(interval, measure):
    """Return a row for each place on the dims of an answer."""
    from bayescm.cli.output import bounds, rows

    columns = {name: interval[name] for name in ("observed", "point") if name in interval.coords}
    columns |= bounds(interval)
    if "p_below" in interval.coords:
        columns["p_below"] = interval["p_below"]
    frame = rows(columns, [str(dim) for dim in interval.dims])
    frame.insert(interval.ndim - 1, "measure", measure)
    return frame


class SliceColumns(Source, Truth, Classes, Dims):
    """The columns of a file of predictions of one classifier in slices."""

    predicted: Annotated[
        str | None, typer.Option("--predicted", help="Column of the predicted classes.")
    ] = None


class Slices(Options):
    """Which slices are bad, and how many of them are shown."""

    measure: Annotated[str, typer.Option("--measure", "-m", help="The measure.")] = "recall"
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            help="A slice is bad if it is worse than this; by default, worse than the mean of the "
            "others.",
        ),
    ] = None
    delta: Annotated[
        float, typer.Option("--delta", help="Without a threshold: worse by more than this.")
    ] = 0.0
    fdr: Annotated[
        float, typer.Option("--fdr", help="Share of those flagged that may be falsely so.")
    ] = 0.1
    smooth: Annotated[
        list[str] | None,
        typer.Option(
            "--smooth",
            help="Column of numbers, such as an age, that acts by a curve; of several columns.",
        ),
    ] = None
    k: Annotated[int, typer.Option("-k", help="Rows: the worst so many.")] = 10


@command
def slices(
    columns: SliceColumns,
    question: Slices,
    interval: Interval,
    prior: Prior,
    output: TableAndPlot,
) -> None:
    """Which of many slices are bad, the worst first, with the false discoveries to expect."""
    from bayescm.answers.slices import worst_slices
    from bayescm.cli import evidence
    from bayescm.cli.output import facts_of_counts, header_of_counts, show

    by = _by(columns)
    counts = evidence.counts(columns, predicted=columns.predicted, by=by)
    keywords: dict[str, Any] = {"dim": list(by), **interval.keywords()}
    keywords |= question.keywords("threshold", "fdr", "smooth", "k")
    if question.threshold is None:
        keywords |= question.keywords("delta")
    keywords |= evidence.prior(prior, counts)
    table = worst_slices(counts, question.measure, **keywords)
    flagged = int(table["flagged"].sum())
    header = f"{header_of_counts(counts, **interval.keywords())}\n"
    header += f"{flagged} of {len(table)} slices flagged"
    if flagged:
        expected = table.attrs["expected_false"]
        header += f", {expected:.1f} of them falsely as is to be expected"
    asked = interval.keywords() | {"of": "finite", "model": _model(counts, list(by), keywords)}
    facts = facts_of_counts(counts, **asked, fdr=question.fdr)
    table = table.head(question.k)
    if len(columns.group) == 1:
        table = table.rename(columns={"group": columns.group[0]})

    def picture():
        from bayescm.plots import plot_slices

        return plot_slices(counts, question.measure, **keywords)

    show(table, output, header, facts=facts, picture=picture)


class StudySource(Separators):
    """The file of the studies."""

    file: Annotated[Path, file_with("one row per study: TP, FN, FP, TN and its covariates.")]


class Studies(Covariates):
    """What goes with the differences between studies, and their prior."""

    spread: Annotated[float, typer.Option("--spread", help="Scale of its prior.")] = 1.0


@command
def heterogeneity(
    source: StudySource, question: Studies, interval: Interval, output: SafeOutput
) -> None:
    """How much studies of a test differ beyond chance (I2), and what goes with it."""
    from bayescm.answers.heterogeneity import heterogeneity
    from bayescm.cli.evidence import typical_study
    from bayescm.cli.output import facts_of_counts, show
    from bayescm.evidence import read
    from bayescm.evidence.files import File

    names = File(source.file).names
    if not {"tp", "fn", "fp", "tn"} <= {name.lower() for name in names}:
        todo = "give the table of studies such columns"
        raise fail("not a table of studies", names, "columns TP, FN, FP and TN", todo)
    studies = read(source.file, **source.keywords("decimal", "thousands"))
    keywords: dict[str, Any] = {**interval.keywords(), **question.keywords("spread")}
    if question.covariate:
        keywords["covariates"] = typical_study(studies, question.covariate)
    table = heterogeneity(studies, **keywords).reset_index()
    facts = facts_of_counts(studies, **interval.keywords())
    participants = studies.sum().item()
    header = f"{studies.sizes['group']} studies of {participants:,.6g} participants"
    header += f"; {interval.prob:.4g} {interval.kind}"
    closing = "\n".join(table.attrs.get("sentences", []))
    show(table, output, header, facts=facts, closing=closing)
