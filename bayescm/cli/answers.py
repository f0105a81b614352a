"""``bayescm interval``, ``prob-above``, ``summary``, ``compare`` and ``ranks``."""

from typing import Annotated, Any

import typer

from bayescm.cli.options import (
    Abstentions,
    Contrast,
    Estimand,
    Folds,
    Groups,
    Halves,
    Interval,
    Judges,
    Matrix,
    Measures,
    NextTestSet,
    OptionalSource,
    Options,
    Predictions,
    Prior,
    PriorAndLabelErrors,
    Probability,
    Raters,
    Results,
    SafeOutput,
    Source,
    SourceOrTable,
    TableAndPlot,
    Target,
    Transfer,
    Weights,
    command,
)
from bayescm.validate import fail


class Targets(Options):
    """The populations that are meant."""

    prevalence: Annotated[
        list[float] | None,
        typer.Option(
            "--prevalence", help="Prevalence of the target population; repeat for several."
        ),
    ] = None


@command
def interval(
    matrix: Matrix,
    measures: Measures,
    interval: Interval,
    prior: PriorAndLabelErrors,
    target: Targets,
    question: NextTestSet,
    output: TableAndPlot,
) -> None:
    """
    Posterior interval of any measure from the counts of a confusion matrix.

    With several --prevalence the picture of --plot is of the predictive values over them.
    """
    from bayescm.answers.summary import summary
    from bayescm.cli import evidence
    from bayescm.cli.output import (
        default_measures,
        facts_of_counts,
        header_of_counts,
        show,
    )
    from bayescm.evidence import at_prevalence
    from bayescm.evidence.table_sides import two_by_two

    table = evidence.from_matrix_options(matrix)
    places = {share: at_prevalence(table, share) for share in target.prevalence or []}
    counts = next(iter(places.values()), table)
    header = header_of_counts(counts, interval.prob, interval.kind)
    if matrix.matrix is None:
        cells = f"tp={matrix.tp} fn={matrix.fn} fp={matrix.fp} tn={matrix.tn}"
        header = f"{cells}, {interval.prob:.4g} {interval.kind}"
    elif counts.shape == (2, 2) and "positive" in counts.coords:
        header += f" ({two_by_two(counts)})"
    keywords = {**interval.keywords(), **question.keywords(), **evidence.prior(prior, counts)}
    names = measures.measures or default_measures(counts)
    several = len(places) > 1
    frame = summary(places if several else counts, names, dim="prevalence", **keywords)

    def picture():
        from bayescm import plots

        if several:
            return plots.plot_predictive_values(table, [*places], **keywords)
        return plots.plot_forest(counts, names, **keywords)

    show(frame, output, header, facts=facts_of_counts(counts, **keywords), picture=picture)


class MatrixOrPredictions(OptionalSource, Matrix, Predictions, Folds, Groups):
    """Counts, or the columns of a file of predictions."""


class Thresholds(Options):
    """The values that a measure is compared with."""

    threshold: Annotated[
        list[float], typer.Option("--threshold", help="A value of the measure. May be repeated.")
    ]


@command
def prob_above(
    columns: MatrixOrPredictions,
    thresholds: Thresholds,
    measures: Measures,
    question: NextTestSet,
    prior: Prior,
    output: SafeOutput,
) -> None:
    """Posterior probability that a measure exceeds a value, from a file or from counts."""
    import pandas as pd

    from bayescm.answers.interval import prob_above
    from bayescm.cli import evidence
    from bayescm.cli.output import default_measures, facts_of_counts, show

    if columns.file is None:
        counts = evidence.from_matrix_options(columns)
    else:
        counts = evidence.from_predictions_options(columns)
    keywords = {**question.keywords(), **evidence.prior(prior, counts)}
    parts = [
        _probabilities(prob_above(counts, measure, threshold, **keywords), measure, threshold)
        for measure in measures.measures or default_measures(counts)
        for threshold in thresholds.threshold
    ]
    facts = facts_of_counts(counts, **question.keywords())
    show(pd.concat(parts, ignore_index=True), output, facts=facts)


def _probabilities(p_above, measure, threshold):
    """Return one row for each place on the dims of an answer; a class is part of the measure."""
    from bayescm.cli.output import rows

    frame = rows({"p_above": p_above})
    labels = frame.pop("class") if "class" in frame else None
    p = frame.pop("p_above")
    frame["measure"] = measure if labels is None else [f"{measure}[{label}]" for label in labels]
    return frame.assign(threshold=threshold, p_above=p)


class AllPredictions(
    SourceOrTable,
    Predictions,
    Folds,
    Groups,
    Halves,
    Judges,
    Transfer,
    Raters,
    Abstentions,
    Weights,
):
    """Every column that a file of predictions, of a judge or of raters may have."""


@command
def summary(
    columns: AllPredictions,
    measures: Measures,
    question: NextTestSet,
    interval: Interval,
    prior: PriorAndLabelErrors,
    target: Target,
    output: TableAndPlot,
) -> None:
    """Table of posterior summaries from a file with one row per example, or a confusion table."""
    from bayescm.answers.summary import summary
    from bayescm.cli import evidence
    from bayescm.cli.output import default_measures, facts_of_counts, header_of_counts, show

    data = evidence.at_target(target, evidence.from_predictions_options(columns))
    header = header_of_counts(data, interval.prob, interval.kind)
    keywords = {**interval.keywords(), **question.keywords(), **evidence.prior(prior, data)}
    facts = facts_of_counts(data, **keywords)
    keywords |= evidence.halves(columns, data)
    names = measures.measures or default_measures(data)

    def picture():
        from bayescm.plots import plot_forest

        return plot_forest(data, names, **keywords)

    show(summary(data, names, **keywords), output, header, facts=facts, picture=picture)


class ComparedPredictions(Source, Predictions, Folds, Groups, Judges, Abstentions):
    """The columns of a file of predictions of several classifiers, or of one in several groups."""


class PooledContrast(Contrast):
    """What is compared with what, and which differences count, where there may be groups."""

    pool: Annotated[
        bool,
        typer.Option("--pool", help="Pool the groups partially: --model hierarchical_groups."),
    ] = False


@command
def compare(
    columns: ComparedPredictions,
    results: Results,
    measures: Measures,
    question: NextTestSet,
    contrast: PooledContrast,
    interval: Interval,
    prior: PriorAndLabelErrors,
    output: TableAndPlot,
) -> None:
    """Paired differences of measures: intervals, P(better), expected loss, a sentence each."""
    from bayescm.answers.compare import compare
    from bayescm.cli import evidence
    from bayescm.cli.output import (
        facts_of_counts,
        facts_of_results,
        header_of_counts,
        header_of_results,
        show,
    )
    from bayescm.evidence.counts import COMPARED

    rope, reference = contrast.ends(), contrast.reference
    keywords: dict[str, Any] = interval.keywords()
    if results.data_set is not None:
        data: Any = evidence.results(columns, results, measures.measures)
        names, header = None, header_of_results(data, **keywords)
        keywords |= question.keywords("of", "n")
        facts = facts_of_results(data, **keywords)
    else:
        names, pooled, dim = measures.measures or list(COMPARED), {}, {}
        if columns.judge:
            _check_several(columns, " with --judge")
            data = evidence.partly_labelled(columns)
        else:
            if contrast.pool:
                pooled = {"model": "hierarchical_groups"}
                if columns.group is None:
                    allowed, todo = "--pool together with --group", "name the column of groups"
                    raise fail("there are no groups to pool", "--pool", allowed, todo)
            if (columns.predicted and len(columns.predicted) > 1) or columns.group is None:
                _check_several(columns)
                data = evidence.outcomes(columns)
            else:  # the groups of one classifier
                data, dim = evidence.from_predictions_options(columns), {"dim": "group"}
                groups: dict[Any, Any] = {str(g): g for g in data["group"].values.tolist()}
                reference = groups.get(reference, reference)
        header = header_of_counts(data, **keywords)
        keywords |= question.keywords("of", "n") | pooled if pooled else question.keywords()
        keywords |= dim | evidence.prior(prior, data)
        facts = facts_of_counts(data, **keywords)
    table = compare(data, names, rope=rope, reference=reference, random_seed=0, **keywords)

    def picture():
        from bayescm.plots import plot_differences

        return plot_differences(table, rope=rope, **interval.keywords())

    sentences = "\n".join(table["sentence"])
    printing: dict[str, Any] = {"facts": facts, "picture": picture, "closing": sentences}
    show(table, output, header, hidden=["sentence"], **printing)


def _check_several(columns, where=""):
    """Raise where there is only one classifier."""
    names = columns.predicted or ["predicted"]
    if len(names) < 2:
        allowed, todo = "several --predicted", "name another --predicted"
        raise fail(f"only one classifier to compare{where}", names, allowed, todo)


class RankedPredictions(Source, Predictions, Folds, Abstentions):
    """The columns of a file of predictions of several classifiers."""


@command
def ranks(
    columns: RankedPredictions,
    results: Results,
    measures: Measures,
    question: Estimand,
    interval: Probability,
    prior: Prior,
    output: TableAndPlot,
) -> None:
    """Ranks of classifiers: sets that hold jointly, tiers, P(best), expected rank and loss."""
    from bayescm.answers.ranks import ranks
    from bayescm.cli import evidence
    from bayescm.cli.output import (
        facts_of_counts,
        facts_of_results,
        header_of_counts,
        header_of_results,
        show,
    )

    prob = interval.prob
    if results.data_set is not None:
        keywords = question.keywords("of")
        data = evidence.results(columns, results, measures.measures)
        names, shown = None, [data["measured"].item()]
        header = header_of_results(data, prob, "jointly")
        facts = facts_of_results(data, prob=prob, kind="jointly", **keywords)
    else:
        keywords = question.keywords()
        _check_several(columns)
        data = evidence.outcomes(columns)
        names = shown = measures.measures or ["accuracy"]
        header = header_of_counts(data, prob, "jointly")
        facts = facts_of_counts(data, prob=prob, **keywords)
        keywords |= evidence.prior(prior, data)
    table = ranks(data, names, prob=prob, random_seed=0, **keywords)

    def picture():
        from bayescm.plots import plot_tiers

        if len(shown) > 1:
            raise fail("a picture of tiers is of one measure", shown, "one", "ask one by one")
        return plot_tiers(data, shown[0], prob=prob, **keywords)

    each_rank = [name for name in table if str(name).startswith("rank_")]
    show(table, output, header, facts=facts, picture=picture, hidden=each_rank)
