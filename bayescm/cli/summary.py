"""``bayescm summary``: from a file of predictions to a table and a picture."""

from typing import Any

from bayescm.cli.options import (
    Abstain,
    Actual,
    Classifiers,
    Concentration,
    File,
    Fold,
    Format,
    FormatOption,
    Gold,
    Group,
    Halves,
    Judge,
    Kind,
    KindOption,
    LabelError,
    Labels,
    Measures,
    Model,
    Next,
    NumericLabels,
    Of,
    Plot,
    Positive,
    Prevalence,
    Prob,
    Raters,
    SafeCsv,
    Transfer,
    Weights,
    WeightsAre,
)


def summary(
    file: File,
    actual: Actual = None,
    predicted: Classifiers = None,
    fold: Fold = None,
    group: Group = None,
    halves: Halves = None,
    positive: Positive = None,
    label: Labels = None,
    numeric_labels: NumericLabels = False,
    judge: Judge = None,
    transfer: Transfer = None,
    raters: Raters = None,
    gold: Gold = None,
    abstain: Abstain = None,
    weights: Weights = None,
    weights_are: WeightsAre = None,
    measure: Measures = None,
    model: Model = None,
    of: Of = "parameter",
    n: Next = None,
    prob: Prob = 0.95,
    kind: KindOption = Kind.hdi,
    concentration: Concentration = None,
    prevalence: Prevalence = None,
    label_error: LabelError = None,
    style: FormatOption = Format.table,
    safe_csv: SafeCsv = False,
    plot: Plot = None,
) -> None:
    """Table of posterior summaries from a file with one row per example, or a confusion table."""
    from bayescm.answers import summary as tables
    from bayescm.cli import evidence, judged, rated
    from bayescm.cli.output import check_picture, save_picture, show
    from bayescm.evidence import at_prevalence

    check_picture(plot)
    options: dict[str, Any]
    labels = {"positive": positive, "labels": label, "numeric_labels": numeric_labels}
    more: dict[str, Any] = {"weights": weights, "weights-are": weights_are}
    if raters is not None:
        more |= {"actual": actual, "fold": fold, "judge": judge, "abstain": abstain}
        options = {"gold": gold, "group": group, **labels}
        known = rated.ratings(file, raters, predicted, more, **options)
    elif judge is not None:
        more |= {"fold": fold, "group": group, "gold": gold}
        labels |= {"abstain": abstain, "transfer": transfer}
        known = judged.partly_labelled(file, judge, predicted, actual, more, **labels)
    else:
        columns = {"actual": actual, "predicted": predicted, "fold": fold, "group": group}
        labels |= {"abstain": abstain, "weights": weights, "weights_are": weights_are}
        known = evidence.from_file(file, **columns, **labels)
    if prevalence is not None:
        known = at_prevalence(known, prevalence)
    question = evidence.asked(model, of, n)
    options = {"prob": prob, "kind": kind.value, **question}
    prior = evidence.prior(concentration, known) | evidence.label_error(label_error, known)
    prior |= evidence.halves(halves, actual, predicted, known)
    options |= prior
    measures = measure or default_measures(known)
    frame = tables.summary(known, measures, **options)
    if plot is not None:
        from bayescm.plots import plot_forest

        save_picture(plot_forest(known, measures, **options), plot)
    prior.pop("halves", None)
    told = facts(known, prob=prob, kind=kind.value, **question, **prior)
    show(frame, style.value, header(known, prob, kind.value), facts=told, safe=safe_csv)


def default_measures(evidence):
    """Return the measures worth showing first for this kind of evidence."""
    from bayescm.measures import defaults

    return defaults.default_measures(_counts(evidence), defaults.TABULATED)


def header(evidence, prob, kind):
    """Return one line that says what was evaluated: text labels in quotes, numbers without."""
    counts = _counts(evidence)
    none = counts["abstain"].item() if "abstain" in counts.coords else None
    labels = [label for label in counts["actual"].values.tolist() if label != none]
    shown = ", ".join(repr(label) for label in labels[:20]) + (", ..." if len(labels) > 20 else "")
    positive = f", positive {counts['positive'].item()}" if "positive" in counts.coords else ""
    positive += f", no answer {none!r}" if none is not None else ""
    number = f"{float(counts.sum()):.15g} examples"
    if "unlabelled" in evidence.coords:
        number += f" labelled of {float(counts.sum() + evidence['unlabelled'].sum()):.15g}"
    if "effective" in counts.coords:
        number = f"weighted examples worth {float(counts.sum()):.4g} (Kish)"
    return f"{number}, {len(labels)} classes: {shown}{positive}; {prob:.4g} {kind}"


def facts(
    evidence: Any, *, model=None, of="parameter", n=None, concentration=None, **options: Any
) -> dict[str, Any]:
    """Return what a program needs to know beside the numbers."""
    from bayescm.posterior.route import default_model

    counts = _counts(evidence)
    positive = counts["positive"].item() if "positive" in counts.coords else None
    known = {**options, "of": of, "positive": positive, "n": _plain(counts.sum().item())}
    return {**known, "model": model or default_model(evidence, options)} | (
        {} if n is None else {"next": n}
    )


def _counts(evidence):
    """Return the counts of one classifier: all of them were tested on the same examples."""
    from bayescm.evidence.outcomes import matrices_of

    if "votes" in evidence:
        from bayescm.posterior.route import posterior_of

        return posterior_of(evidence).counts.isel(classifier=0, drop=True)
    counts = matrices_of(evidence)
    return counts.isel(classifier=0, drop=True) if "classifier" in counts.dims else counts


def _plain(number):
    return int(number) if number == int(number) else number
