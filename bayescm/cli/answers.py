"""``bayescm interval``, ``prob-above``, ``summary``, ``compare`` and ``ranks``."""

from typing import Annotated, Any

from bayescm.cli.columns import Evidence
from bayescm.cli.options import (
    QUESTION,
    Contrast,
    Estimand,
    Interval,
    Measures,
    NextTestSet,
    Options,
    Prior,
    PriorAndLabelErrors,
    Probability,
    SafeOutput,
    TableAndPlot,
    Targets,
    command,
    option,
)
from bayescm.validate import fail


@command(
    "bayescm interval --tp 65 --fn 15 --fp 35 --tn 30 -m f1 -m mcc",
    "bayescm interval --tp 65 --fn 15 --fp 35 --tn 30 -m ppv --prevalence 0.01 --prevalence 0.1",
)
def interval(
    columns: Evidence,
    measures: Measures,
    question: NextTestSet,
    interval: Interval,
    prior: PriorAndLabelErrors,
    target: Targets,
    output: TableAndPlot,
) -> None:
    """
    Compute posterior intervals of measures, from a file or from counts.

    If --prevalence is repeated, --plot shows the predictive values against the prevalence.
    """
    _summary(columns, measures, question, interval, prior, target, output)


@command(
    "bayescm summary predictions.csv --actual y --predicted yhat --positive sick",
    "bayescm summary scores.csv --item query --system engine --score ndcg --range 0,1",
    "bayescm summary answers.csv --item problem --correct right -m pass@4",
)
def summary(
    columns: Evidence,
    measures: Measures,
    question: NextTestSet,
    interval: Interval,
    prior: PriorAndLabelErrors,
    target: Targets,
    output: TableAndPlot,
) -> None:
    """Summarise posterior distributions, from a file with any type of evidence or from counts."""
    _summary(columns, measures, question, interval, prior, target, output)


def _summary(columns, measures, question, interval, prior, target, output):
    from bayescm.cli import evidence
    from bayescm.cli.output import header

    data = evidence.read(columns)
    places = {share: evidence.at_target(data, share) for share in target.prevalence or []}
    at_first = next(iter(places.values()), data)
    keywords = {**interval.keywords(), **question.keywords(), **evidence.prior(prior, at_first)}
    top = header(at_first, interval.prob, interval.kind)
    if columns.file is None:
        top = _with_cells(top, at_first, columns, interval)
    show_summary(data, measures.measures, keywords, output, columns, places=places, header=top)


def _with_cells(header, counts, columns, interval):
    """Return the header for counts that were passed as options, including the cells."""
    from bayescm.evidence.table_sides import two_by_two

    if columns.matrix is None:
        cells = [f"{name}={getattr(columns, name)}" for name in ("tp", "fn", "fp", "tn")]
        return f"{' '.join(cells)}, {interval.prob:.4g} {interval.kind}"
    is_two_by_two = counts.shape == (2, 2) and "positive" in counts.coords
    return f"{header} ({two_by_two(counts)})" if is_two_by_two else header


def show_summary(
    data: Any,
    measures: list[str] | None,
    keywords: dict[str, Any],
    output: TableAndPlot,
    columns: Options,
    *,
    places: dict[float, Any] | None = None,
    header: str,
) -> None:
    """
    Print posterior summaries of measures.

    Parameters
    ----------
    data : evidence
    measures : list of str, optional
    keywords : dict
        Keywords of `bayescm.summary`.
    output : TableAndPlot
    columns : Options
        Options that specified the evidence, and possibly the halves of its folds.
    places : dict, optional
        Evidence at each prevalence of a target population.
    header : str
    """
    from bayescm.answers.summary import summary
    from bayescm.cli import evidence
    from bayescm.cli.output import default_measures, facts, show

    at_first = next(iter((places or {}).values()), data)
    names = measures or default_measures(at_first) or None
    constant = facts(at_first, **keywords)
    keywords = {"of": constant["of"], **keywords, **evidence.halves(columns, data)}
    several = places if places and len(places) > 1 else None
    frame = summary(several or at_first, names, dim="prevalence", **keywords)

    def picture():
        from bayescm import plots

        if several:
            return plots.plot_predictive_values(data, [*several], **keywords)
        return plots.plot_forest(at_first, names, **keywords)

    show(frame, output, header, facts=constant, picture=picture, hidden=["sentence"])


class Thresholds(Options):
    """Values that a measure is compared with."""

    threshold: Annotated[
        list[float],
        option(
            "--threshold",
            "Value that the measure should exceed. Repeat for several.",
            QUESTION,
            "NUMBER",
        ),
    ]


@command(
    "bayescm prob-above predictions.csv --actual y --predicted yhat -m recall --threshold 0.8",
    "bayescm prob-above answers.csv --item problem --correct right -m pass@4 --threshold 0.5",
)
def prob_above(
    columns: Evidence,
    thresholds: Thresholds,
    measures: Measures,
    question: NextTestSet,
    prior: Prior,
    output: SafeOutput,
) -> None:
    """Compute the probability that a measure exceeds a value, from a file or from counts."""
    import pandas as pd

    from bayescm.answers.interval import prob_above
    from bayescm.cli import evidence
    from bayescm.cli.output import default_measures, facts, show

    data = evidence.read(columns)
    keywords = {**question.keywords(), **evidence.prior(prior, data)}
    constant = facts(data, **question.keywords())
    keywords = {"of": constant["of"], **keywords}
    parts = [
        _probabilities(prob_above(data, measure, threshold, **keywords), measure, threshold)
        for measure in measures.measures or default_measures(data)
        for threshold in thresholds.threshold
    ]
    show(pd.concat(parts, ignore_index=True), output, facts=constant)


def _probabilities(p_above, measure, threshold):
    """Return one row for each combination of labels. Class labels are appended to the measure."""
    from bayescm.cli.output import rows

    frame = rows({"p_above": p_above})
    labels = frame.pop("class") if "class" in frame else None
    p = frame.pop("p_above")
    frame["measure"] = measure if labels is None else [f"{measure}[{label}]" for label in labels]
    return frame.assign(threshold=threshold, p_above=p)


class PooledContrast(Contrast):
    """Range of negligible differences, reference system, and whether groups are pooled."""

    pool: Annotated[
        bool,
        option(
            "--pool",
            "Pool the groups partially, and compare averages over the groups. Needs --group.",
            QUESTION,
        ),
    ] = False


@command(
    "bayescm compare predictions.csv --actual y --predicted old --predicted new -m f1 --rope 0.01",
    "bayescm compare scores.csv --item query --system engine --score ndcg --range 0,1",
    "bayescm compare results.csv --data-set data -m accuracy",
)
def compare(
    columns: Evidence,
    measures: Measures,
    question: NextTestSet,
    contrast: PooledContrast,
    interval: Interval,
    prior: Prior,
    output: TableAndPlot,
) -> None:
    """Compare systems or groups: differences with intervals, P(better) and expected loss."""
    from bayescm.cli import evidence

    rope, reference = contrast.ends(), contrast.reference
    data = evidence.read(columns, measures=measures)
    keywords: dict[str, Any] = interval.keywords()
    if contrast.pool:
        if columns.group is None:
            raise fail(
                "--pool needs --group", ..., "", "name the column of groups, e.g. --group site"
            )
        keywords |= question.keywords("of", "n") | {"model": "hierarchical_groups"}
    elif evidence.is_results(data):
        keywords |= question.keywords("of", "n")
    else:
        keywords |= question.keywords()
    if not evidence.is_results(data):
        keywords |= evidence.prior(prior, data)
    if data.sizes.get("classifier", 1) == 1:
        keywords["dim"] = evidence.dim_of_parts(columns, data)
        dim = data[keywords["dim"]]
        places: dict[Any, Any] = {str(place): place for place in dim.values.tolist()}
        reference = places.get(reference, reference)
    show_comparison(data, measures.measures, rope, reference, keywords, output)


def show_comparison(
    data: Any,
    measures: list[str] | None,
    rope: Any,
    reference: Any,
    keywords: dict[str, Any],
    output: TableAndPlot,
) -> None:
    """Print the differences between systems or groups, with a sentence for each."""
    from bayescm.answers.compare import compare
    from bayescm.cli import evidence
    from bayescm.cli.output import facts, header, show
    from bayescm.evidence.counts import COMPARED

    constant = facts(data, **keywords)
    asked = {**keywords, "of": constant["of"]}
    names = None if evidence.is_results(data) else measures
    if names is None and evidence.has_cells(data):
        names = list(COMPARED)
    table = compare(data, names, rope=rope, reference=reference, random_seed=0, **asked)

    def picture():
        from bayescm.plots import plot_differences

        return plot_differences(table, rope=rope, prob=keywords["prob"], kind=keywords["kind"])

    top = header(data, keywords["prob"], keywords["kind"])
    printing: dict[str, Any] = {"facts": constant, "picture": picture, "hidden": ["sentence"]}
    show(table, output, top, closing="\n".join(table["sentence"]), **printing)


@command(
    "bayescm ranks predictions.csv --actual y --predicted a --predicted b --predicted c -m f1",
    "bayescm ranks results.csv --data-set data -m accuracy --plot tiers.png",
)
def ranks(
    columns: Evidence,
    measures: Measures,
    question: Estimand,
    interval: Probability,
    prior: Prior,
    output: TableAndPlot,
) -> None:
    """Rank systems: simultaneous rank sets, tiers, P(best) and expected loss."""
    from bayescm.cli import evidence

    data, keywords = evidence.read(columns, measures=measures), interval.keywords()
    if evidence.is_results(data):
        keywords |= question.keywords("of")
    else:
        evidence.check_several(columns, data)
        keywords |= question.keywords() | evidence.prior(prior, data)
    show_ranks(data, measures.measures, keywords, output)


def show_ranks(
    data: Any, measures: list[str] | None, keywords: dict[str, Any], output: TableAndPlot
) -> None:
    """Print the ranks of systems."""
    from bayescm.answers.ranks import ranks
    from bayescm.cli import evidence
    from bayescm.cli.output import facts, header, show

    names = measures
    if evidence.is_results(data):
        names, constant = None, facts(data, kind="jointly", **keywords)
    else:
        constant = facts(data, **keywords)
        names = names or (["accuracy"] if evidence.has_cells(data) else None)
    asked = {**keywords, "of": constant["of"]}
    table = ranks(data, names, random_seed=0, **asked)
    shown = table["measure"].unique().tolist()

    def picture():
        from bayescm.plots import plot_tiers

        if len(shown) > 1:
            raise fail(
                "A plot of tiers shows one measure; got {}",
                shown,
                "",
                "run the command once for each measure",
            )
        return plot_tiers(data, names[0] if names else shown[0], **asked)

    each_rank = [name for name in table if str(name).startswith("rank_")]
    top = header(data, keywords["prob"], "jointly")
    show(table, output, top, facts=constant, picture=picture, hidden=each_rank)
