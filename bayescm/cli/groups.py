"""``bayescm gap``, ``slices`` and ``heterogeneity``: how groups, slices and studies differ."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bayescm.cli.columns import Evidence, Separators
from bayescm.cli.options import (
    MODEL,
    QUESTION,
    BelongsWith,
    Covariates,
    Interval,
    Measures,
    Options,
    Prior,
    SafeOutput,
    TableAndPlot,
    command,
    option,
)
from bayescm.validate import fail


def _read(columns):
    """Return the evidence by group or slice, and the names of their dimensions."""
    from bayescm.cli import evidence

    name = evidence.type_of_options(columns)
    if name in ("attempts", "item scores", "item counts", "multilabel"):  # groups are clusters
        data = evidence.read(columns, name)
        dims = list(columns.by or [])
    elif name == "counts":
        parts = evidence.groups_and_slices(columns)
        by = {"group": parts[0]} if len(parts) == 1 else {part: part for part in parts}
        data, dims = evidence.predictions(columns, by), list(by)
    else:
        data, dims = evidence.read(columns, name), ["group"] if columns.group else []
    if not dims:
        raise fail(
            "Missing option --group",
            ...,
            "",
            "name the columns of the groups with --group, or slices of items with --by",
        )
    return data, dims


class Gap(Options):
    """The requested statistic of the gap between groups."""

    statistic: Annotated[
        Literal["range", "ratio", "worst", "deviation"],
        option(
            "--statistic",
            "Largest minus smallest value (range), smallest divided by largest (ratio), the "
            "worst value (worst), or each group minus the mean of the others (deviation).",
            QUESTION,
        ),
    ] = "range"
    delta: Annotated[
        float | None,
        option(
            "--delta",
            "Also print the probability that the gap is smaller than this value.",
            QUESTION,
            "NUMBER",
        ),
    ] = None
    reference: Annotated[
        str | None,
        option(
            "--reference",
            "Classifier whose gap is subtracted from the gaps of the others.",
            QUESTION,
            "NAME",
        ),
        BelongsWith("several --predicted"),
    ] = None


@command(
    "bayescm gap predictions.csv --actual y --predicted yhat --group site -m recall",
    "bayescm gap predictions.csv --actual y --predicted yhat --group sex --group age",
)
def gap(
    columns: Evidence,
    measures: Measures,
    question: Gap,
    interval: Interval,
    prior: Prior,
    output: SafeOutput,
) -> None:
    """Estimate gaps between groups in measures, including the fairness metrics of fairlearn."""
    import pandas as pd

    from bayescm.answers.gaps import gap
    from bayescm.cli import evidence
    from bayescm.cli.output import default_measures, facts, header, show

    data, dims = _read(columns)
    keywords = {**interval.keywords(), **evidence.prior(prior, data)}
    keywords |= question.keywords("statistic", "delta")
    if data.sizes.get("classifier", 1) > 1:
        keywords |= question.keywords("reference")
    usual = ["recall", "specificity"] if evidence.has_cells(data) else default_measures(data)
    gaps = {
        measure: gap(data, measure, dim=dims, **keywords) for measure in measures.measures or usual
    }
    parts = [_gaps(found, measure) for measure, found in gaps.items()]
    table = pd.concat(parts, ignore_index=True)
    cautions = [
        f"{name}: {found.caution}" for name, found in gaps.items() if "caution" in found.attrs
    ]
    table.attrs = {"caution": " ".join(cautions)} if cautions else {}
    asked = interval.keywords() | {"of": "finite", "model": _model(data, dims, keywords)}
    constant = facts(data, **asked, statistic=question.statistic)
    show(table, output, header(data, **interval.keywords()), facts=constant)


def _model(data, dims, keywords):
    """Return the name of the model for groups along the given dimensions."""
    from bayescm.evidence.registry import type_of

    if keywords.get("model") or len(dims) > 1:
        return keywords.get("model") or "crossed_groups"
    return type_of(data).default_model(data, keywords, dims[0]).model


def _gaps(interval, measure):
    """Return one row for each combination of labels of an interval."""
    from bayescm.cli.output import bounds, rows

    columns = {name: interval[name] for name in ("observed", "point") if name in interval.coords}
    columns |= bounds(interval)
    if "p_below" in interval.coords:
        columns["p_below"] = interval["p_below"]
    frame = rows(columns, [str(dim) for dim in interval.dims])
    frame.insert(interval.ndim - 1, "measure", measure)
    return frame


class Slices(Options):
    """The definition of a bad slice, and the number of slices to show."""

    measure: Annotated[
        str, option("--measure -m", "Measure to compare between slices.", QUESTION, "NAME")
    ] = "recall"
    threshold: Annotated[
        float | None,
        option(
            "--threshold",
            "Value beyond which a slice is bad. Default: the mean of the other slices.",
            QUESTION,
            "NUMBER",
        ),
    ] = None
    delta: Annotated[
        float,
        option(
            "--delta",
            "Distance from the mean of the other slices beyond which a slice is bad, if "
            "--threshold is not given.",
            QUESTION,
            "NUMBER",
        ),
    ] = 0.0
    fdr: Annotated[
        float,
        option(
            "--fdr",
            "Largest acceptable proportion of false discoveries among the flagged slices.",
            QUESTION,
            "SHARE",
        ),
    ] = 0.1
    smooth: Annotated[
        list[str] | None,
        option(
            "--smooth",
            "Numeric column to model with a smooth curve, e.g. age. Repeat for several.",
            MODEL,
            "COLUMN",
        ),
    ] = None
    k: Annotated[int, option("-k", "Number of slices to show, worst first.", QUESTION, "N")] = 10


@command(
    "bayescm slices predictions.csv --actual y --predicted yhat --group shop --threshold 0.7",
    "bayescm slices scores.csv --item query --score ndcg --range 0,1 --by topic -m mean",
)
def slices(
    columns: Evidence, question: Slices, interval: Interval, prior: Prior, output: TableAndPlot
) -> None:
    """List the worst of many slices, with the expected proportion of false discoveries."""
    from bayescm.answers.slices import worst_slices
    from bayescm.cli import evidence
    from bayescm.cli.output import facts, header, show

    data, dims = _read(columns)
    keywords: dict[str, Any] = {"dim": dims, **interval.keywords()}
    keywords |= question.keywords("threshold", "fdr", "smooth", "k")
    if question.threshold is None:
        keywords |= question.keywords("delta")
    keywords |= evidence.prior(prior, data)
    table = worst_slices(data, question.measure, **keywords)
    flagged = int(table["flagged"].sum())
    top = f"{header(data, **interval.keywords())}\n{flagged} of {len(table)} slices flagged"
    if flagged:
        expected = table.attrs["expected_false"]
        top += f", {expected:.1f} of them falsely as is to be expected"
    asked = interval.keywords() | {"of": "finite", "model": _model(data, dims, keywords)}
    constant = facts(data, **asked, fdr=question.fdr)
    table = table.head(question.k)
    if dims == ["group"]:
        (name,) = [*(columns.group or []), *(columns.by or [])]
        table = table.rename(columns={"group": name})

    def picture():
        from bayescm.plots import plot_slices

        return plot_slices(data, question.measure, **keywords)

    show(table, output, top, facts=constant, picture=picture)


class StudySource(Separators):
    """The file of the studies."""

    file: Annotated[
        Path,
        typer.Argument(
            help="File with one row per study, and columns TP, FN, FP, TN and any covariates.",
            show_default=False,
        ),
    ]


class Studies(Covariates):
    """Covariates of the differences between studies, and the prior scale of these differences."""

    spread: Annotated[
        float,
        option(
            "--spread",
            "Scale of the prior of the between-study standard deviation.",
            MODEL,
            "NUMBER",
        ),
    ] = 1.0


@command(
    "bayescm heterogeneity studies.csv",
    "bayescm heterogeneity studies.csv --covariate year=2000 --covariate test=ELISA",
)
def heterogeneity(
    source: StudySource, question: Studies, interval: Interval, output: SafeOutput
) -> None:
    """Estimate the heterogeneity (I2) between studies of a test, and the effects of covariates."""
    from bayescm.answers.heterogeneity import heterogeneity
    from bayescm.cli.evidence import typical_study
    from bayescm.cli.output import facts, show
    from bayescm.evidence import read
    from bayescm.evidence.files import File

    names = File(source.file, **source.keywords("records")).names
    if not {"tp", "fn", "fp", "tn"} <= {name.lower() for name in names}:
        raise fail(
            "A table of studies needs the columns TP, FN, FP and TN; the file has {}",
            names,
            "",
            "rename its columns",
        )
    studies = read(source.file, **source.keywords("decimal", "thousands"))
    keywords: dict[str, Any] = {**interval.keywords(), **question.keywords("spread")}
    if question.covariate:
        keywords["covariates"] = typical_study(studies, question.covariate)
    table = heterogeneity(studies, **keywords).reset_index()
    constant = facts(studies, **interval.keywords())
    participants = studies.sum().item()
    header = f"{studies.sizes['group']} studies of {participants:,.6g} participants"
    header += f"; {interval.prob:.4g} {interval.kind}"
    closing = "\n".join(table.attrs.get("sentences", []))
    show(table, output, header, facts=constant, closing=closing)
