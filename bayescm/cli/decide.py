"""``bayescm decide``: is acting on the probabilities in a file worth while, and from where on."""

from typing import Annotated

import typer

from bayescm.cli.options import (
    Actual,
    File,
    Format,
    FormatOption,
    NumericLabels,
    Plot,
    Positive,
    Prevalence,
    Prob,
    SafeCsv,
)

_THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def decide(
    file: File,
    probability: Annotated[
        list[str],
        typer.Option("--probability", help="Column of probabilities; repeat for each classifier."),
    ],
    actual: Actual = None,
    positive: Positive = None,
    numeric_labels: NumericLabels = False,
    threshold: Annotated[
        list[float] | None,
        typer.Option("--threshold", help="Act from here on; repeat. Default 0.1, 0.2, ..., 0.9."),
    ] = None,
    false_alarm: Annotated[
        float | None, typer.Option("--false-alarm", help="Cost of a false alarm.")
    ] = None,
    miss: Annotated[float | None, typer.Option("--miss", help="Cost of a missed positive.")] = None,
    promise: Annotated[
        float | None,
        typer.Option("--promise", help="Answer only when sure: a risk to keep to, such as 0.05."),
    ] = None,
    prevalence: Prevalence = None,
    prob: Prob = 0.95,
    style: FormatOption = Format.table,
    safe_csv: SafeCsv = False,
    plot: Plot = None,
) -> None:
    """Net benefit of acting on probabilities; with costs the cost, with a promise the coverage."""
    from bayescm.cli.evidence import scores
    from bayescm.cli.output import check_picture, save_picture, show
    from bayescm.curves import at_prevalence
    from bayescm.evidence.scored.probabilities import from_probabilities

    check_picture(plot)
    labels = {"actual": actual, "positive": positive, "numeric_labels": numeric_labels}
    evidence = scores(file, probability, kind=from_probabilities, **labels)
    if prevalence is not None:
        evidence = at_prevalence(evidence, prevalence)
    asked = {"thresholds": list(threshold or _THRESHOLDS), "prob": prob}
    given = {"fp": false_alarm, "fn": miss}
    if promise is not None:
        frame, said, picture = _answers(evidence, promise, prob)
    elif false_alarm is None and miss is None:
        frame, said, picture = _benefits(evidence, **asked)
    else:
        frame, said, picture = _costs(evidence, given, **asked)
    if plot is not None:
        save_picture(picture(), plot)
    header = f"{_header(evidence)}; {prob:.4g} eti{said}"
    facts = {"prob": prob, "kind": "eti", "n": evidence.sizes["example"]}
    facts |= {"positive": evidence["positive"].item()}
    show(frame, style.value, header, facts=facts, safe=safe_csv)


def _benefits(evidence, thresholds, prob):
    from bayescm.curves.deciding.decisions import decision_curve

    found = decision_curve(evidence, thresholds=thresholds, prob=prob)
    names = ("net_benefit", "mean", "treat_all", "avoided", "p_useful")
    columns = {name: found[name] for name in names}
    columns |= {end: found["interval"].sel(bound=end, drop=True) for end in ("lower", "upper")}
    if "classifier" in found.dims:
        best = found["p_best"].sel(strategy=found["classifier"].values)
        columns["p_best"] = best.rename(strategy="classifier")
    order = ["net_benefit", "mean", "lower", "upper", *names[2:], "p_best"]

    def picture():
        from bayescm.plots import plot_decision_curve

        return plot_decision_curve(evidence, prob=prob)

    frame = _frame(columns, [name for name in order if name in columns])
    return frame, "", picture


def _costs(evidence, given, thresholds, prob):
    from bayescm.curves.deciding.costs import expected_cost
    from bayescm.validate import fail

    if None in given.values():
        todo = "give the other one too: only their ratio matters for the threshold"
        raise fail("one cost alone", given, "--false-alarm and --miss", todo)
    found = expected_cost(evidence, given, thresholds=thresholds, prob=prob)
    names = ("cost", "mean", "p_best", "regret")
    columns = {name: found[name] for name in names}
    columns |= {end: found["interval"].sel(bound=end, drop=True) for end in ("lower", "upper")}
    said = f"; costs imply the threshold {found['implied'].item():.3g}"

    def picture():
        from bayescm.plots import plot_expected_cost

        return plot_expected_cost(evidence, given, prob=prob)

    frame = _frame(columns, ["cost", "mean", "lower", "upper", "p_best", "regret"])
    return frame, said, picture


def _answers(evidence, promise, prob):
    """Return from where on to answer, how many that are, and the area under the risk."""
    from bayescm.curves.deciding.selective import risk_coverage

    found = risk_coverage(evidence, promise=promise, prob=prob)
    names = ("promised_threshold", "promised_coverage", "area", "p_best")
    columns = {name: found[name].reset_coords(drop=True) for name in names if name in found}
    for end in ("lower", "upper"):
        columns[end] = found["area_interval"].sel(bound=end, drop=True).reset_coords(drop=True)
    order = ["promised_threshold", "promised_coverage", "area", "lower", "upper", "p_best"]

    def picture():
        from bayescm.plots import plot_risk_coverage

        return plot_risk_coverage(evidence, promise=promise, prob=prob)

    frame = _single(columns)[
        [*(d for d in found["area"].dims), *[n for n in order if n in columns]]
    ]
    said = f"; risk below {promise:g} with probability {found['assurance'].item():g}"
    return frame, said, picture


def _single(columns):
    """Return arrays by classifier, or numbers, as a table."""
    import pandas as pd
    import xarray as xr

    data = xr.Dataset(columns)
    if data.dims:
        return data.to_dataframe().reset_index()
    return pd.DataFrame({name: [each.item()] for name, each in columns.items()})


def _frame(columns, order):
    """Return arrays over threshold, perhaps by classifier, as a table."""
    import xarray as xr

    data = xr.Dataset({name: each.reset_coords(drop=True) for name, each in columns.items()})
    first = [dim for dim in ("classifier", "threshold") if dim in data.dims]
    return data.to_dataframe(dim_order=first).reset_index()[[*first, *order]]


def _header(evidence):
    number = int((evidence["actual"] == evidence["positive"]).sum())
    label = evidence["positive"].item()
    return f"{evidence.sizes['example']} examples, {number} positive ({label})"
