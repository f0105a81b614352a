"""What the options of a command say of the evidence: counts, outcomes and scores from a file."""

from typing import Any

from bayescm.validate import fail


def from_cells_or_matrix(tp, fn, fp, tn, matrix=None, labels=None, positive=None) -> Any:
    """Return the counts of ``--tp --fn --fp --tn`` or of ``--matrix``."""
    from bayescm.evidence import from_cells, from_matrix

    cells = {"tp": tp, "fn": fn, "fp": fp, "tn": tn}
    missing = [f"--{name}" for name, count in cells.items() if count is None]
    if matrix is None:
        if missing:
            allowed = "--tp, --fn, --fp and --tn, or --matrix"
            raise fail(f"Missing option {' '.join(missing)}", ..., allowed, "give all four counts")
        return from_cells(**cells)
    if len(missing) < len(cells):
        raise fail("two matrices", "--matrix and single counts", "one of them", "choose one")
    return from_matrix(_rows(matrix), labels=labels, positive=_typed(labels, positive))


def _rows(text):
    try:
        rows = [[int(each) for each in row.split(",")] for row in text.strip(";").split(";")]
    except ValueError:
        todo = 'write it as --matrix "50,2,1;3,40,7;0,5,45"'
        raise fail("cannot read --matrix", text, "rows of counts", todo) from None
    return rows


def _typed(labels, positive):
    """Without ``--label`` the classes of a matrix are the numbers from 0 on."""
    return int(positive) if labels is None and str(positive).isdecimal() else positive


def from_file(
    file,
    *,
    actual=None,
    predicted=None,
    positive=None,
    labels=None,
    numeric_labels=False,
    abstain=None,
    weights=None,
    weights_are=None,
    **by,
) -> Any:
    """Return the counts of a file, or the outcomes where it has several classifiers."""
    from bayescm.evidence import read

    by = {dim: column for dim, column in by.items() if column is not None}
    if weights is not None and predicted and len(predicted) > 1:
        todo = "summarize them one by one"
        raise fail("weights are of a single classifier", predicted, "one --predicted", todo)
    if not predicted or len(predicted) == 1:
        return read(
            file,
            actual=actual,
            predicted=predicted[0] if predicted else None,
            by=by,
            labels=labels,
            positive=positive,
            numeric_labels=numeric_labels or None,
            abstain=abstain,
            weights=weights,
            weights_are=weights_are,
        )
    return outcomes(
        file,
        predicted,
        actual=actual,
        positive=positive,
        labels=labels,
        numeric_labels=numeric_labels,
        abstain=abstain,
        **by,
    )


def outcomes(
    file,
    predicted,
    *,
    actual=None,
    positive=None,
    labels=None,
    numeric_labels=False,
    abstain=None,
    **by,
) -> Any:
    """Return the outcomes of one or more classifiers on the examples of a file."""
    from bayescm.evidence.outcomes import from_classifiers
    from bayescm.evidence.reading import as_label, kind_of, read_columns

    actual = actual or "actual"
    by = {dim: column for dim, column in by.items() if column is not None}
    columns = dict.fromkeys([actual, *predicted])
    frame = read_columns(file, list(columns), by=list(by.values()), numeric_labels=numeric_labels)
    kind = kind_of(frame[actual])
    return from_classifiers(
        frame[actual],
        [(name, frame[name]) for name in predicted],
        labels=None if labels is None else [as_label(label, kind) for label in labels],
        positive=as_label(positive, kind),
        abstain=as_label(abstain, kind),
        by={dim: frame[column] for dim, column in by.items()} or None,
    )


def scores(
    file,
    columns,
    *,
    actual=None,
    positive=None,
    numeric_labels=False,
    weights=None,
    weights_are=None,
    kind=None,
    **by,
) -> Any:
    """
    Return the scores in a file; ``kind`` makes them evidence, `from_scores` by default.

    ``by`` names the columns of ``fold`` and, of probabilities, ``group``.
    """
    from bayescm.evidence.reading import as_label, kind_of, read_columns
    from bayescm.evidence.scored.scores import from_scores

    actual = actual or "actual"
    by = {dim: column for dim, column in by.items() if column is not None}
    numbers = [*columns, *([] if weights is None else [weights])]
    frame = read_columns(
        file, [actual], by=[*by.values()], numbers=numbers, numeric_labels=numeric_labels
    )
    values = {name: frame[name].to_numpy() for name in columns}
    return (kind or from_scores)(
        frame[actual].to_numpy(),
        values if len(columns) > 1 else values[columns[0]],
        positive=as_label(positive, kind_of(frame[actual])),
        **{dim: frame[column].to_numpy() for dim, column in by.items()},
        weights=None if weights is None else frame[weights].to_numpy(),
        weights_are=weights_are,
    )


def prior(concentration: str | None, counts: Any) -> dict[str, Any]:
    """Return the keyword that ``--concentration`` stands for."""
    if concentration is None:
        return {}
    numbers = _numbers(concentration)
    if len(numbers) == 1:
        return {"concentration": numbers[0]}
    from bayescm.evidence.outcomes import counts_of
    from bayescm.priors import default

    counts = counts_of(counts) if "outcome" in counts.dims else counts
    tp, fn, fp, tn = numbers
    empty = default(counts)
    if empty.shape != (2, 2) or "positive" not in empty.coords:
        todo = "give one number for all cells"
        labels = empty["actual"].values.tolist()
        raise fail("TP,FN,FP,TN are of two classes, one positive", labels, "two", todo)
    return {"concentration": empty.copy(data=[[tn, fp], [fn, tp]])}


def label_error(given: list[str] | None, counts: Any) -> dict[str, Any]:
    """Return the keyword that ``--label-error`` stands for."""
    if not given:
        return {}
    single = given[0].rpartition("=")[1] == ""
    if single and len(given) > 1:
        todo = "name the class of each: --label-error sick=0.05 --label-error well=0.01"
        raise fail("several rates of wrong labels", given, "one, or one for each class", todo)
    if single:
        return {"label_error": _rate(given[0])}
    labels = counts["label" if "outcome" in counts.dims else "actual"].values.tolist()
    names = {str(label): label for label in labels}
    pairs = [each.rpartition("=") for each in given]
    return {"label_error": {names.get(name, name): _rate(rate) for name, _, rate in pairs}}


def _rate(text):
    try:
        numbers = tuple(float(each) for each in text.split(","))
    except ValueError:
        todo = "write --label-error 0.05, or --label-error sick=2,38"
        raise fail("cannot read --label-error", text, "a rate, or A,B", todo) from None
    return numbers if len(numbers) > 1 else numbers[0]


def _numbers(text):
    try:
        numbers = [float(each) for each in str(text).split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 4):
        todo = "write --concentration 0.5, or --concentration 24,13,16,19"
        raise fail("cannot read --concentration", text, "a number, or TP,FN,FP,TN", todo) from None
    return numbers


def asked(model, of="parameter", n=None) -> dict[str, Any]:
    """Return the keywords of a question that were given."""
    given = {"model": model, "of": None if of == "parameter" else of, "n": n}
    return {name: value for name, value in given.items() if value is not None}


def halves(file, actual, predicted, counts) -> dict[str, Any]:
    """Return the keyword that ``--halves`` stands for: counts with the classes of the folds."""
    if file is None:
        return {}
    from bayescm.evidence import read
    from bayescm.evidence.counts import positive

    if "fold" not in counts.dims or "classifier" in counts.dims:
        todo = "pass --fold too, and one --predicted"
        raise fail("halves are beside the folds of one classifier", str(file), "--fold", todo)
    labels = counts["actual"].values.tolist()
    found = read(
        file,
        actual=actual,
        predicted=predicted[0] if predicted else None,
        by=["repeat", "half"],
        labels=labels,
        positive=positive(counts),
        numeric_labels=True if isinstance(labels[0], int) else None,
    )
    return {"halves": found}
