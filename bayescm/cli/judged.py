"""Evidence from a file that a judge has seen whole, and people in part."""

from typing import Any

from bayescm.validate import fail


def partly_labelled(
    file,
    judge,
    predicted,
    actual,
    further,
    *,
    positive=None,
    labels=None,
    numeric_labels=False,
    abstain=None,
    transfer=None,
) -> Any:
    """Return the counts of the file, or the outcomes where it has several classifiers."""
    from bayescm.evidence import from_partly_labelled

    given = [f"--{name}" for name, value in further.items() if value is not None]
    if given:
        raise fail("a judge goes without these options", given, "none of them", "leave them out")
    labelling = {"positive": positive, "labels": labels, "numeric_labels": numeric_labels}
    data, options = columns(file, judge, predicted, actual, abstain=abstain, **labelling)
    return from_partly_labelled(*data, transfer=transfer, **options)


def columns(
    file,
    judge,
    predicted,
    actual,
    *,
    positive=None,
    labels=None,
    numeric_labels=False,
    abstain=None,
) -> tuple[tuple, dict[str, Any]]:
    """Return the columns of a file as `from_partly_labelled` takes them, and its keywords."""
    import pandas as pd

    from bayescm.evidence.reading import as_label, kind_of, read_columns

    truth, predicted = actual or "actual", predicted or []
    frame = read_columns(file, list(dict.fromkeys([truth, *predicted, *judge])))
    for name in frame:
        text = frame[name].astype(object)
        text = text.where(text.notna() & (text.astype(str) != ""), None)
        numbers = pd.to_numeric(text, errors="coerce")
        score = name in judge and bool((numbers % 1 > 0).any()) and bool(numbers.notna().all())
        frame[name] = numbers if score or numeric_labels else text
    kind = kind_of(frame[truth])
    judges = {name: frame[name] for name in judge}
    answers = {name: frame[name] for name in predicted}
    data = (
        frame[truth],
        answers if len(answers) > 1 else next(iter(answers.values()), None),
        judges if len(judges) > 1 else next(iter(judges.values()), None),
    )
    return data, {
        "labels": None if labels is None else [as_label(label, kind) for label in labels],
        "positive": as_label(positive, kind),
        "abstain": as_label(abstain, kind),
    }
