"""``bayescm prob-above``: how probable it is that a measure exceeds a value."""

from typing import Annotated

import typer

from bayescm.cli.options import (
    FN,
    FP,
    TN,
    TP,
    Actual,
    Classifiers,
    Concentration,
    Fold,
    Format,
    FormatOption,
    Group,
    Labels,
    Matrix,
    MaybeFile,
    Measures,
    Model,
    Next,
    NumericLabels,
    Of,
    Positive,
    SafeCsv,
)


def prob_above(
    threshold: Annotated[
        list[float], typer.Option("--threshold", help="A value of the measure. May be repeated.")
    ],
    file: MaybeFile = None,
    tp: TP = None,
    fn: FN = None,
    fp: FP = None,
    tn: TN = None,
    matrix: Matrix = None,
    actual: Actual = None,
    predicted: Classifiers = None,
    fold: Fold = None,
    group: Group = None,
    positive: Positive = None,
    label: Labels = None,
    numeric_labels: NumericLabels = False,
    measure: Measures = None,
    model: Model = None,
    of: Of = "parameter",
    n: Next = None,
    concentration: Concentration = None,
    style: FormatOption = Format.table,
    safe_csv: SafeCsv = False,
) -> None:
    """Posterior probability that a measure exceeds a value, from a file or from counts."""
    import pandas as pd

    from bayescm.answers.distribution import prob_above
    from bayescm.cli import evidence
    from bayescm.cli.output import show
    from bayescm.cli.summary import default_measures, facts

    if file is None:
        known = evidence.from_cells_or_matrix(tp, fn, fp, tn, matrix, label, positive)
    else:
        columns = {"actual": actual, "predicted": predicted, "fold": fold, "group": group}
        labels = {"positive": positive, "labels": label, "numeric_labels": numeric_labels}
        known = evidence.from_file(file, **columns, **labels)
    question = evidence.asked(model, of, n)
    options = {**question, **evidence.prior(concentration, known)}
    parts = [
        _rows(prob_above(known, each, value, **options), each, value)
        for each in measure or default_measures(known)
        for value in threshold
    ]
    frame = pd.concat(parts, ignore_index=True)
    show(frame, style.value, facts=facts(known, **question), safe=safe_csv)


def _rows(found, measure, threshold):
    """Return one row for each place on the dims of an answer."""
    found = found.drop_vars([name for name in found.coords if name not in found.dims])
    flat = found.rename("p_above").expand_dims("row" if not found.dims else [])
    frame = flat.to_dataframe().reset_index().drop(columns="row", errors="ignore")
    if "class" in frame:
        frame["measure"] = [f"{measure}[{label}]" for label in frame.pop("class")]
    else:
        frame["measure"] = measure
    return frame.assign(threshold=threshold)[
        [*frame.columns.drop("p_above"), "threshold", "p_above"]
    ]
