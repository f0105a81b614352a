"""``bayescm calibration``: are the probabilities in a file right."""

from typing import Annotated, Any

import typer

from bayescm.cli.options import (
    Actual,
    File,
    Fold,
    Format,
    FormatOption,
    Group,
    NumericLabels,
    Plot,
    Positive,
    Prevalence,
    Prob,
    SafeCsv,
)
from bayescm.validate import fail

_TWO = ["auc", "calibration_slope", "calibration_intercept", "brier", "ece"]
_MANY = ["auc_macro", "brier", "ece_macro", "ece_top_label", "ece_full"]
_SITES = ["calibration_slope", "calibration_intercept", "calibration_in_the_large", "auc", "brier"]
_FOLDS = {"ece", "ece_macro", "ece_top_label", "ece_full"}  # need one sample


def calibration(
    file: File,
    probability: Annotated[
        list[str],
        typer.Option(
            "--probability",
            help="Column of probabilities; repeat for each classifier, or of more than two classes "
            "CLASS=COLUMN for each class.",
        ),
    ],
    actual: Actual = None,
    positive: Positive = None,
    numeric_labels: NumericLabels = False,
    measures: Annotated[
        list[str] | None,
        typer.Option("--measure", "-m", help="Such as brier, log_loss, ece; may be repeated."),
    ] = None,
    recalibrated: Annotated[
        bool,
        typer.Option("--recalibrated", help="By how much recalibration would improve the scores."),
    ] = False,
    corp: Annotated[
        bool, typer.Option("--corp", help="The picture is the CORP reliability diagram.")
    ] = False,
    clip: Annotated[
        float | None, typer.Option("--clip", help="Moves probabilities into [clip, 1 - clip].")
    ] = None,
    fold: Fold = None,
    group: Group = None,
    prevalence: Prevalence = None,
    prob: Prob = 0.95,
    style: FormatOption = Format.table,
    safe_csv: SafeCsv = False,
    plot: Plot = None,
) -> None:
    """
    Calibration and proper scores of probabilities, with the calibration curve as a picture.

    With --group they are of all sites there may be, of a new one and of each at hand, and the
    picture is of the first measure by site.
    """
    from bayescm.cli.output import check_picture, save_picture, show

    check_picture(plot)
    labels: dict[str, Any] = {"actual": actual, "positive": positive, "fold": fold, "group": group}
    evidence = _evidence(file, probability, clip, numeric_labels=numeric_labels, **labels)
    if prevalence is not None:
        from bayescm.curves import at_prevalence

        evidence = at_prevalence(evidence, prevalence)
    frame = _gains(evidence, prob) if recalibrated else _table(evidence, measures, prob)
    if plot is not None:
        save_picture(_picture(evidence, measures, corp, prob), plot)
    facts = {"prob": prob, "kind": "eti", "n": evidence.sizes["example"]}
    show(frame, style.value, f"{_header(evidence)}; {prob:.4g} eti", facts=facts, safe=safe_csv)


def _evidence(file, probability, clip, **options):
    from functools import partial

    from bayescm.cli.evidence import scores
    from bayescm.evidence.scored.probabilities import from_probabilities

    pairs = [each.partition("=") for each in probability]
    named = [bool(sign) for _, sign, _ in pairs]
    if not any(named):
        return scores(file, probability, kind=partial(from_probabilities, clip=clip), **options)
    if not all(named) or len(pairs) < 3:
        todo = "write --probability cat=p_cat --probability dog=p_dog --probability fox=p_fox"
        raise fail("classes by column", probability, "CLASS=COLUMN of three classes or more", todo)

    def of_classes(truth, columns, **more):
        import numpy as np

        classes = [
            type(truth[0].item())(name) if truth.dtype.kind in "iu" else name
            for name, _, _ in pairs
        ]
        rows = np.stack([columns[column] for _, _, column in pairs], axis=1)
        return from_probabilities(truth, rows, labels=classes, clip=clip, **more)

    return scores(file, [column for _, _, column in pairs], kind=of_classes, **options)


def _picture(evidence, measures, corp, prob):
    from bayescm.plots import plot_calibration, plot_corp, plot_forest

    if "group" in evidence and not corp:
        first = measures[0] if measures else _SITES[0]
        return plot_forest(evidence, first, of="group", prob=prob, kind="eti")
    return (plot_corp if corp else plot_calibration)(evidence, prob=prob)


def _table(evidence, measures, prob):
    from bayescm.answers.summary import summary

    if "group" in evidence:
        from bayescm.answers.groups.sites import by_site

        return by_site(evidence, measures or _SITES, prob=prob)
    default = _MANY if "class" in evidence.dims else _TWO
    if "fold" in evidence:
        default = [each for each in default if each not in _FOLDS]
    table = summary(evidence, measures or default, prob=prob, kind="eti")
    columns = ("measure", "classifier", "class", "point", "mean", "lower", "upper")
    return table[[name for name in columns if name in table]]


def _gains(evidence, prob):
    from bayescm.curves.calibration import recalibrated

    return recalibrated(evidence, prob=prob)


def _header(evidence):
    number = evidence.sizes["example"]
    if "class" in evidence.dims:
        return f"{number} examples of {evidence.sizes['class']} classes"
    label = evidence["positive"].item()
    return f"{number} examples, {int((evidence['actual'] == label).sum())} positive ({label})"
