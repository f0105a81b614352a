"""``bayescm ranks``: who of several classifiers is told apart, and the ranks of each."""

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
    Labels,
    Measures,
    Model,
    NumericLabels,
    Of,
    Plot,
    Positive,
    Prob,
    SafeCsv,
    TestShare,
)
from bayescm.validate import fail


def ranks(
    file: File,
    actual: Actual = None,
    predicted: Classifiers = None,
    fold: Fold = None,
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
    prob: Prob = 0.95,
    concentration: Concentration = None,
    style: FormatOption = Format.table,
    safe_csv: SafeCsv = False,
    plot: Plot = None,
) -> None:
    """Ranks of classifiers: sets that hold jointly, tiers, P(best), expected rank and loss."""
    from bayescm.answers.ranking.ranks import ranks as ranked
    from bayescm.cli import evidence
    from bayescm.cli.output import check_picture, save_picture, show
    from bayescm.cli.results import results, told
    from bayescm.cli.summary import facts, header

    check_picture(plot)
    question = evidence.asked(model, of)
    if data_set is not None:
        places = {"classifier": classifier, "measure": measure, "test_share": test_share}
        known = results(file, data_set, **places)
        wanted, (words, said) = None, told(known, prob, "jointly", of)
    else:
        labels = {"positive": positive, "labels": label, "numeric_labels": numeric_labels}
        columns = {"actual": actual, "fold": fold, "abstain": abstain}
        known = evidence.outcomes(file, predicted or ["predicted"], **columns, **labels)
        wanted, words = measure or ["accuracy"], header(known, prob, "jointly")
        said = facts(known, prob=prob, **question)
        question |= evidence.prior(concentration, known)
    table = ranked(known, wanted, prob=prob, random_seed=0, **question)
    if plot is not None:
        from bayescm.plots import plot_tiers

        one = wanted or [known["measured"].item()]
        if len(one) > 1:
            raise fail("a picture of tiers is of one measure", one, "one", "ask one by one")
        save_picture(plot_tiers(known, one[0], prob=prob, **question), plot)
    if style in (Format.table, Format.markdown):
        table = table.drop(columns=[name for name in table if str(name).startswith("rank_")])
    show(table, style.value, words, facts=said, safe=safe_csv)
