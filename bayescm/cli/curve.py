"""``bayescm curve``: from a file of scores to curves, areas and thresholds."""

from enum import StrEnum
from typing import Annotated

import typer

from bayescm.cli.options import (
    Actual,
    File,
    Fold,
    Format,
    FormatOption,
    NumericLabels,
    Plot,
    Positive,
    Prevalence,
    Prob,
    SafeCsv,
    Weights,
    WeightsAre,
)


class CurveKind(StrEnum):
    """What is drawn, and what the table is about."""

    roc = "roc"
    pr = "pr"
    threshold = "threshold"


def curve(
    file: File,
    score: Annotated[
        list[str], typer.Option("--score", help="Column of scores; repeat for each classifier.")
    ],
    actual: Actual = None,
    kind: Annotated[
        CurveKind,
        typer.Option("--kind", help="ROC curve, precision-recall curve, or measure by threshold."),
    ] = CurveKind.roc,
    positive: Positive = None,
    measure: Annotated[
        str, typer.Option("--measure", "-m", help="The measure by threshold: f1, mcc ...")
    ] = "f1",
    fold: Fold = None,
    numeric_labels: NumericLabels = False,
    prevalence: Prevalence = None,
    weights: Weights = None,
    weights_are: WeightsAre = None,
    pointwise: Annotated[
        bool, typer.Option("--pointwise", help="Pointwise band, not one for the whole curve.")
    ] = False,
    prob: Prob = 0.95,
    style: FormatOption = Format.table,
    safe_csv: SafeCsv = False,
    plot: Plot = None,
) -> None:
    """Curves with bands, their areas, and the best threshold, from a file of scores."""
    from bayescm import curves
    from bayescm.cli.evidence import scores
    from bayescm.cli.output import check_picture, save_picture, show

    check_picture(plot)
    labels = {"actual": actual, "positive": positive, "numeric_labels": numeric_labels}
    weighted = {"weights": weights, "weights_are": weights_are}
    evidence = scores(file, score, fold=fold, **labels, **weighted)
    if prevalence is not None:
        evidence = curves.at_prevalence(evidence, prevalence)
    frame = TABLES[kind](evidence, prob, measure)
    if plot is not None:
        save_picture(_picture(evidence, kind, prob, not pointwise, measure), plot)
    show(frame, style.value, _header(evidence, prob), facts=_facts(evidence, prob), safe=safe_csv)


def _area_table(name):
    """Return a function from evidence to the table of an area, with its differences."""

    def table(evidence, prob, _):
        import pandas as pd

        from bayescm import curves

        values = curves.number_draws(evidence, name)
        areas = {"auc": curves.auc, "average_precision": curves.average_precision}
        bounds = areas[name](evidence, prob=prob)
        columns = {
            "estimate": curves.estimate(evidence, name),
            "mean": values.mean("draw"),
            "lower": bounds.sel(bound="lower", drop=True),
            "upper": bounds.sel(bound="upper", drop=True),
        }
        frame = _frame(columns, {"measure": name})
        if "classifier" not in evidence.dims:
            return frame
        pairs = curves.compare(evidence, name, prob=prob)
        pairs["classifier"] = pairs["first"] + " - " + pairs["second"]
        wanted = [*frame.columns.drop("estimate"), "p_better"]
        return pd.concat([frame, pairs[wanted]], ignore_index=True)

    return table


def _threshold_table(evidence, prob, measure):
    from bayescm import curves

    best = curves.best_threshold(evidence, measure, prob=prob)
    columns = {name: best[name] for name in ("threshold", "apparent", "optimism")}
    columns |= {end: best["value"].sel(bound=end, drop=True) for end in ("lower", "upper")}
    columns |= {"regret": best["regret"]}
    return _frame(columns, {"measure": best["measure"].item()})


def _frame(columns, labels):
    """Return labelled arrays as a table, one row for each place on their dims."""
    import xarray as xr

    data = xr.Dataset(
        {name: each.drop_vars("measure", errors="ignore") for name, each in columns.items()}
    )
    scalars = [name for name, each in data.coords.items() if each.ndim == 0]
    data = data.drop_vars(scalars)
    if not data.dims:
        data = data.expand_dims("row")
    frame = data.to_dataframe().reset_index().drop(columns="row", errors="ignore")
    for name, label in labels.items():
        frame.insert(len(data.dims) if "row" not in data.dims else 0, name, label)
    return frame


TABLES = {
    CurveKind.roc: _area_table("auc"),
    CurveKind.pr: _area_table("average_precision"),
    CurveKind.threshold: _threshold_table,
}


def _picture(evidence, kind, prob, simultaneous, measure):
    from bayescm import plots

    keywords = {"prob": prob, "simultaneous": simultaneous}
    if kind is CurveKind.threshold:
        return plots.plot_threshold(evidence, measure, **keywords)
    draw = plots.plot_roc if kind is CurveKind.roc else plots.plot_precision_recall
    return draw(evidence, **keywords)


def _header(evidence, prob):
    """Return one line that says what was evaluated."""
    number = int((evidence["actual"] == evidence["positive"]).sum())
    folds = f", {len(set(evidence['fold'].values.tolist()))} folds" if "fold" in evidence else ""
    total = evidence.sizes["example"]
    label = evidence["positive"].item()
    return f"{total} examples, {number} positive ({label}){folds}; {prob:.4g} eti"


def _facts(evidence, prob):
    told = {"prob": prob, "kind": "eti", "of": "parameter", "n": evidence.sizes["example"]}
    return told | {"positive": evidence["positive"].item(), "model": "scores"}
