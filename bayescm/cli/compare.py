"""``bayescm compare``: which of several classifiers is better, on the examples they share."""

from typing import Annotated

import typer

from bayescm.cli.options import (
    Abstain,
    Actual,
    Classifier,
    Classifiers,
    Concentration,
    DataSet,
    File,
    Fold,
    Format,
    FormatOption,
    Group,
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
    Prob,
    SafeCsv,
    TestShare,
)
from bayescm.validate import fail


def compare(
    file: File,
    actual: Actual = None,
    predicted: Classifiers = None,
    fold: Fold = None,
    group: Group = None,
    judge: Judge = None,
    positive: Positive = None,
    abstain: Abstain = None,
    label: Labels = None,
    numeric_labels: NumericLabels = False,
    data_set: DataSet = None,
    classifier: Classifier = "classifier",
    test_share: TestShare = None,
    measure: Measures = None,
    model: Model = None,
    of: Of = "parameter",
    n: Next = None,
    rope: Annotated[
        str,
        typer.Option("--rope", help="Differences below this, or within LOW,HIGH, count as none."),
    ] = "0",
    pool: Annotated[
        bool,
        typer.Option("--pool", help="Pool the groups partially: --model hierarchical_groups."),
    ] = False,
    reference: Annotated[
        str | None,
        typer.Option("--reference", help="Compare all others with this classifier only."),
    ] = None,
    prob: Prob = 0.95,
    kind: KindOption = Kind.hdi,
    concentration: Concentration = None,
    label_error: LabelError = None,
    style: FormatOption = Format.table,
    safe_csv: SafeCsv = False,
    plot: Plot = None,
) -> None:
    """Paired differences of measures: intervals, P(better), expected loss, a sentence each."""
    from bayescm.answers.compare import compare
    from bayescm.cli import evidence, judged
    from bayescm.cli.output import check_picture, save_picture, say, show
    from bayescm.cli.results import results, told
    from bayescm.cli.summary import facts, header
    from bayescm.measures.defaults import COMPARED

    check_picture(plot)
    region = _rope(rope)
    if pool and group is None:
        allowed = "--pool together with --group"
        raise fail("there are no groups to pool", "--pool", allowed, "name the column of groups")
    columns = {"actual": actual, "fold": fold, "group": group}
    labels = {"positive": positive, "labels": label, "numeric_labels": numeric_labels}
    labels["abstain"] = abstain
    question = evidence.asked("hierarchical_groups" if pool else model, of, n)
    prior: dict = {}
    answers = predicted or ["predicted"]
    if len(answers) == 1 and group is not None and judge is None and data_set is None:
        question["dim"] = "group"  # one classifier: its groups are compared
    if data_set is not None:
        places = {"classifier": classifier, "measure": measure, "test_share": test_share}
        known, measure = results(file, data_set, **places), None
    elif "dim" in question:
        known = evidence.from_file(file, predicted=answers, **columns, **labels)
        named: dict[str | None, str] = {str(each): each for each in known["group"].values.tolist()}
        reference = named.get(reference, reference)
    elif judge is None:
        known = evidence.outcomes(file, answers, **columns, **labels)
    else:
        further = {"fold": fold, "group": group}
        known = judged.partly_labelled(file, judge, predicted, actual, further, **labels)
    if data_set is None:
        prior = evidence.prior(concentration, known) | evidence.label_error(label_error, known)
        measure = measure or list(COMPARED)
    table = compare(
        known,
        measure,
        rope=region,
        reference=reference,
        prob=prob,
        kind=kind.value,
        random_seed=0,
        **question,
        **prior,
    )
    if plot is not None:
        from bayescm.plots import plot_differences

        save_picture(plot_differences(table, rope=region, prob=prob, kind=kind.value), plot)
    people = style in (Format.table, Format.markdown)
    if data_set is not None:
        words, said = told(known, prob, kind.value, of)
    else:
        said = facts(known, prob=prob, kind=kind.value, **question, **prior)
        words = header(known, prob, kind.value)
    shown = table.drop(columns=["sentence"]) if people else table
    show(shown, style.value, words, facts=said, safe=safe_csv)
    if people:
        say("\n".join(table["sentence"]))


def _rope(text):
    """Return one number, or the two ends; the library checks them."""
    try:
        ends = [float(each) for each in text.split(",")]
    except ValueError:
        todo = "write e.g. --rope 0.01"
        raise fail("the rope must be one or two numbers", text, "WIDTH or LOW,HIGH", todo) from None
    return ends[0] if len(ends) == 1 else tuple(ends)
