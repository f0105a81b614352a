"""``bayescm curve``, ``calibration`` and ``decide``: evaluation of scores and probabilities."""

from functools import partial
from typing import Annotated, Any, Literal

from bayescm.cli.columns import Fold, Group, Probabilities, Scores, Source, Truth, Weights
from bayescm.cli.options import (
    OUTPUT,
    QUESTION,
    BelongsWith,
    Measures,
    Options,
    Probability,
    TableAndPlot,
    Target,
    command,
    option,
)
from bayescm.validate import fail

_TWO = ["auc", "calibration_slope", "calibration_intercept", "brier", "ece"]
_MANY = ["auc_macro", "brier", "ece_macro", "ece_top_label", "ece_full"]
_SITES = ["calibration_slope", "calibration_intercept", "calibration_in_the_large", "auc", "brier"]
_ONE_SAMPLE = {
    "ece",
    "ece_macro",
    "ece_top_label",
    "ece_full",
}  # measures that need a single sample, without folds
_THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


class ScoreColumns(Source, Weights, Fold, Scores, Truth):
    """The columns of a file of scores."""


class Curve(Options):
    """The requested curve."""

    kind: Annotated[
        Literal["roc", "pr", "threshold"],
        option(
            "--kind",
            "ROC curve (roc), precision-recall curve (pr), or a measure against the threshold "
            "(threshold).",
            QUESTION,
        ),
    ] = "roc"
    measure: Annotated[
        str,
        option("--measure -m", "Measure to plot against the threshold, e.g. f1 or mcc.", QUESTION),
        BelongsWith("--kind threshold"),
    ] = "f1"
    pointwise: Annotated[
        bool,
        option(
            "--pointwise",
            "Plot a pointwise band instead of a simultaneous band for the whole curve.",
            OUTPUT,
        ),
        BelongsWith("--plot"),
    ] = False


@command(
    "bayescm curve patients.csv --actual sick --positive yes --score risk --plot roc.png",
    "bayescm curve patients.csv --actual sick --positive yes --score risk --kind threshold -m f1",
)
def curve(
    columns: ScoreColumns,
    question: Curve,
    target: Target,
    interval: Probability,
    output: TableAndPlot,
) -> None:
    """Estimate the area under the ROC or precision-recall curve, or find the best threshold."""
    from bayescm import curves, plots
    from bayescm.cli import evidence
    from bayescm.cli.output import header, show

    data, prob = evidence.read(columns, "scores"), interval.prob
    # A ROC curve and its area are the same at every prevalence.
    if question.kind != "roc" and target.prevalence is not None:
        data = curves.at_prevalence(data, target.prevalence)
    if question.kind == "threshold":
        frame = _best_threshold(data, question.measure, prob)
        draw: Any = partial(plots.plot_threshold, data, question.measure)
    elif question.kind == "pr":
        frame = _areas(data, "average_precision", prob)
        draw = partial(plots.plot_precision_recall, data)
    else:
        frame, draw = _areas(data, "auc", prob), partial(plots.plot_roc, data)
    kind = "eti" if question.kind == "threshold" else "hdi"
    facts = {"prob": prob, "kind": kind, "of": "parameter", "n": data.sizes["example"]}
    facts |= {"positive": data["positive"].item(), "model": "scores"}

    def picture():
        return draw(prob=prob, simultaneous=not question.pointwise)

    show(frame, output, header(data, prob, kind), facts=facts, picture=picture)


def _areas(evidence, measure, prob):
    """Return the area under a curve for each classifier, and the differences between the areas."""
    import pandas as pd

    from bayescm.answers.compare import compare
    from bayescm.answers.summary import summary

    table = summary(evidence, measure, prob=prob).rename(columns={"point": "estimate"})
    dims = list(table)[1 : table.columns.get_loc("estimate")]
    frame = table[[*dims, "measure", "estimate", "mean", "lower", "upper"]]
    if "classifier" not in evidence.dims:
        return frame
    pairs = compare(evidence, measure, prob=prob)
    pairs["classifier"] = pairs["first"] + " - " + pairs["second"]
    shared = [*frame.columns.drop("estimate"), "p_better"]
    return pd.concat([frame, pairs[shared]], ignore_index=True)


def _best_threshold(evidence, measure, prob):
    from bayescm import curves
    from bayescm.cli.output import bounds, rows

    best = curves.best_threshold(evidence, measure, prob=prob)
    columns = {name: best[name] for name in ("threshold", "apparent", "optimism")}
    frame = rows({**columns, **bounds(best["value"]), "regret": best["regret"]})
    frame.insert(frame.columns.get_loc("threshold"), "measure", best["measure"].item())
    return frame


class ProbabilityColumns(Source, Group, Fold, Probabilities, Truth):
    """The columns of a file of probabilities."""


class Calibration(Options):
    """Questions about probabilities."""

    recalibrated: Annotated[
        bool,
        option(
            "--recalibrated",
            "Print how much recalibration could improve the Brier score and the log loss.",
            QUESTION,
        ),
    ] = False
    corp: Annotated[
        bool,
        option("--corp", "Plot the CORP reliability diagram.", OUTPUT),
        BelongsWith("--plot"),
    ] = False


@command(
    "bayescm calibration patients.csv --actual sick --positive yes --probability risk",
    "bayescm calibration pets.csv --actual pet --probability cat=p_cat --probability dog=p_dog "
    "--probability fox=p_fox",
)
def calibration(
    columns: ProbabilityColumns,
    measures: Measures,
    question: Calibration,
    target: Target,
    interval: Probability,
    output: TableAndPlot,
) -> None:
    """
    Evaluate probabilities: calibration measures, proper scores and a plot of the calibration curve.

    With --group, the results are for the population of sites, a new site and each observed site,
    and the plot shows the first measure by site.
    """
    from bayescm import curves, plots
    from bayescm.cli import evidence
    from bayescm.cli.output import header, show

    data, prob = evidence.read(columns, "probabilities"), interval.prob
    if target.prevalence is not None:
        data = curves.at_prevalence(data, target.prevalence)
    if question.recalibrated:
        _check_one_sample("--recalibrated", data)
        from bayescm.curves.calibration import recalibrated

        frame = recalibrated(data, prob=prob)
    else:
        frame = _calibration(data, measures.measures, prob)

    def picture():
        if question.corp:
            _check_one_sample("--corp", data)
            return plots.plot_corp(data, prob=prob)
        if "group" in data:
            first = (measures.measures or _SITES)[0]
            return plots.plot_forest(data, first, of="group", prob=prob, kind="eti")
        _check_one_sample("--plot", data)
        return plots.plot_calibration(data, prob=prob)

    facts = {"prob": prob, "kind": "eti", "n": data.sizes["example"]}
    show(frame, output, header(data, prob, "eti"), facts=facts, picture=picture)


def _check_one_sample(option, evidence):
    """Raise an error for groups or folds, because curves and recalibration need a single sample."""
    for dim in ("group", "fold"):
        if dim in evidence:
            raise fail(
                f"{option} needs one sample, but the file has several {dim}s",
                ...,
                "",
                f"leave {option} or --{dim} out",
            )


def _calibration(evidence, measures, prob):
    if "group" in evidence:
        from bayescm.answers.summary import by_site

        return by_site(evidence, measures or _SITES, prob=prob)
    from bayescm.answers.summary import summary

    default = _MANY if "class" in evidence.dims else _TWO
    if "fold" in evidence:
        default = [name for name in default if name not in _ONE_SAMPLE]
    table = summary(evidence, measures or default, prob=prob, kind="eti")
    columns = ("measure", "classifier", "class", "point", "mean", "lower", "upper", "error")
    return table[[name for name in columns if name in table]]


class DecisionColumns(Source, Probabilities, Truth):
    """The columns of a file of probabilities."""


class Decision(Options):
    """Thresholds for action, costs of errors, and the promised risk."""

    threshold: Annotated[
        list[float] | None,
        option(
            "--threshold",
            "Probability threshold above which to act. Repeat for several. Default: 0.1, "
            "0.2, ..., 0.9.",
            QUESTION,
        ),
    ] = None
    false_alarm: Annotated[
        float | None, option("--false-alarm", "Cost of a false alarm.", QUESTION)
    ] = None
    miss: Annotated[float | None, option("--miss", "Cost of a missed positive.", QUESTION)] = None
    promise: Annotated[
        float | None,
        option(
            "--promise",
            "Largest acceptable error rate among answered examples, e.g. 0.05.",
            QUESTION,
        ),
    ] = None


@command(
    "bayescm decide patients.csv --actual sick --positive yes --probability risk",
    "bayescm decide patients.csv --actual sick --probability risk --miss 4 --false-alarm 1",
)
def decide(
    columns: DecisionColumns,
    question: Decision,
    target: Target,
    interval: Probability,
    output: TableAndPlot,
) -> None:
    """Evaluate decisions based on probabilities: net benefit, expected cost or coverage."""
    from bayescm import plots
    from bayescm.cli import evidence
    from bayescm.cli.output import header, show
    from bayescm.curves import at_prevalence

    data, prob = evidence.read(columns, "probabilities"), interval.prob
    top = header(data, prob, "eti")
    # A promised risk refers to the prevalence of the sample.
    if question.promise is None and target.prevalence is not None:
        data = at_prevalence(data, target.prevalence)
    if question.promise is not None:
        promise = question.promise
        frame, assurance = _risks(data, promise, prob)
        top += f"; risk below {promise:g} with probability {assurance:g}"
        picture = partial(plots.plot_risk_coverage, data, promise=promise, prob=prob)
    else:
        thresholds = list(question.threshold or _THRESHOLDS)
        costs = {"fp": question.false_alarm, "fn": question.miss}
        if costs == {"fp": None, "fn": None}:
            frame = _net_benefits(data, thresholds, prob)
            picture = partial(plots.plot_decision_curve, data, prob=prob)
        else:
            frame, implied = _costs(data, costs, thresholds, prob)
            top += f"; costs imply the threshold {implied:.3g}"
            picture = partial(plots.plot_expected_cost, data, costs, prob=prob)
    facts = {"prob": prob, "kind": "eti", "n": data.sizes["example"]}
    facts |= {"positive": data["positive"].item()}
    show(frame, output, top, facts=facts, picture=picture)


def _net_benefits(evidence, thresholds, prob):
    from bayescm.cli.output import bounds, rows
    from bayescm.curves.decisions import DRAWS_OF_A_TABLE, decision_curve

    curve = decision_curve(evidence, thresholds=thresholds, prob=prob, draws=DRAWS_OF_A_TABLE)
    columns = {name: curve[name] for name in ("net_benefit", "mean")} | bounds(curve["interval"])
    columns |= {name: curve[name] for name in ("error", "treat_all", "avoided", "p_useful")}
    if "classifier" in curve.dims:
        best = curve["p_best"].sel(strategy=curve["classifier"].values)
        columns["p_best"] = best.rename(strategy="classifier")
    return rows(columns, ["classifier", "threshold"])


def _costs(evidence, costs, thresholds, prob):
    """Return the table of expected costs, and the threshold implied by the costs."""
    from bayescm.cli.output import bounds, rows
    from bayescm.curves.decisions import DRAWS_OF_A_TABLE, expected_cost

    if None in costs.values():
        raise fail("Only one cost is given: {}", costs, "", "pass both --false-alarm and --miss")
    options = {"prob": prob, "draws": DRAWS_OF_A_TABLE}
    curve = expected_cost(evidence, costs, thresholds=thresholds, **options)
    columns = {"cost": curve["cost"], "mean": curve["mean"], **bounds(curve["interval"])}
    columns |= {name: curve[name] for name in ("error", "p_best", "regret")}
    return rows(columns, ["classifier", "threshold"]), curve["implied"].item()


def _risks(evidence, promise, prob):
    """Return a table of the threshold for answering, coverage and area, and the assurance."""
    from bayescm.cli.output import bounds, rows
    from bayescm.curves.selective import risk_coverage

    curve = risk_coverage(evidence, promise=promise, prob=prob)
    columns = {name: curve[name] for name in ("promised_threshold", "promised_coverage", "area")}
    columns |= bounds(curve["area_interval"])
    if "p_best" in curve:
        columns["p_best"] = curve["p_best"]
    return rows(columns), curve["assurance"].item()
