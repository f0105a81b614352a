"""``bayescm interval``: from the counts of a matrix to intervals, in less than a second."""

from bayescm.cli.options import (
    FN,
    FP,
    TN,
    TP,
    Concentration,
    Format,
    FormatOption,
    Kind,
    KindOption,
    LabelError,
    Labels,
    Matrix,
    Measures,
    Model,
    Next,
    Of,
    Positive,
    Prevalence,
    Prob,
    SafeCsv,
)


def interval(
    tp: TP = None,
    fn: FN = None,
    fp: FP = None,
    tn: TN = None,
    matrix: Matrix = None,
    label: Labels = None,
    positive: Positive = None,
    measure: Measures = None,
    prob: Prob = 0.95,
    kind: KindOption = Kind.hdi,
    concentration: Concentration = None,
    prevalence: Prevalence = None,
    label_error: LabelError = None,
    model: Model = None,
    of: Of = "parameter",
    n: Next = None,
    style: FormatOption = Format.table,
    safe_csv: SafeCsv = False,
) -> None:
    """Posterior interval of any measure from the counts of a confusion matrix."""
    from bayescm.answers.summary import summary
    from bayescm.cli import evidence
    from bayescm.cli.output import show
    from bayescm.cli.summary import default_measures, facts, header
    from bayescm.evidence import at_prevalence

    counts = evidence.from_cells_or_matrix(tp, fn, fp, tn, matrix, label, positive)
    if prevalence is not None:
        counts = at_prevalence(counts, prevalence)
    words = header(counts, prob, kind.value)
    if matrix is None:
        words = f"tp={tp} fn={fn} fp={fp} tn={tn}, {prob:.4g} {kind.value}"
    question = evidence.asked(model, of, n)
    prior = evidence.prior(concentration, counts) | evidence.label_error(label_error, counts)
    frame = summary(
        counts,
        measure or default_measures(counts),
        prob=prob,
        kind=kind.value,
        **question,
        **prior,
    )
    known = facts(counts, prob=prob, kind=kind.value, **question, **prior)
    show(frame, style.value, words, facts=known, safe=safe_csv)
