"""``bayescm report``: from a file of predictions to a page for people to read."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bayescm.cli.options import Kind, KindOption, Measures, Positive, Prob


def report(
    file: Annotated[
        Path | None, typer.Argument(help="CSV or Parquet file with one row per example.")
    ] = None,
    actual: Annotated[
        str | None, typer.Option("--actual", help="Column of the true classes.")
    ] = None,
    predicted: Annotated[
        list[str] | None,
        typer.Option(
            "--predicted", help="Column of a classifier's predictions; repeat to compare."
        ),
    ] = None,
    score: Annotated[
        list[str] | None, typer.Option("--score", help="Column of a classifier's scores.")
    ] = None,
    fold: Annotated[str | None, typer.Option("--fold", help="Column of the folds.")] = None,
    group: Annotated[str | None, typer.Option("--group", help="Column of the groups.")] = None,
    store: Annotated[
        str | None, typer.Option("--store", help="Ledger of a monitor, instead of a file.")
    ] = None,
    classifier: Annotated[
        str | None, typer.Option("--classifier", help="Which classifier in the store.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Ends in .html, .md or .tex.")] = Path(
        "report.html"
    ),
    positive: Positive = None,
    measure: Measures = None,
    title: Annotated[str | None, typer.Option("--title", help="The heading.")] = None,
    rope: Annotated[
        float, typer.Option("--rope", help="Differences below this count as none.")
    ] = 0.0,
    prob: Prob = 0.95,
    kind: KindOption = Kind.hdi,
) -> None:
    """Report with tables, sentences and pictures: HTML, Markdown or LaTeX."""
    from bayescm.reporting import report
    from bayescm.reporting.render import check_path
    from bayescm.validate import fail

    check_path(out)
    settings: dict[str, Any] = {
        "measures": measure,
        "title": title,
        "prob": prob,
        "kind": kind.value,
    }
    if store is not None:
        from bayescm.reporting.monitors import monitor_report

        written = monitor_report(store, out, classifier=classifier, **settings)
    elif file is None or actual is None or not (predicted or score):
        given = {"file": str(file), "--actual": actual, "--predicted": predicted, "--score": score}
        todo = "bayescm report FILE --actual y --predicted yhat -o report.html"
        allowed = "a file, --actual, and --predicted or --score; or --store"
        raise fail("nothing to report on", given, allowed, todo)
    else:
        evidence, scores = _evidence(file, actual, predicted, score, fold, group, positive)
        written = report(evidence, out, scores=scores, rope=rope, **settings)
    typer.echo(f"written to {written}")


def _evidence(file, actual, predicted, score, fold, group, positive):
    """Return the evidence of the answers, and that of the scores beside it, from the columns."""
    from bayescm.evidence import from_predictions
    from bayescm.evidence.outcomes import from_classifiers
    from bayescm.evidence.reading import as_label, read_columns
    from bayescm.evidence.scores import from_scores

    wanted = [actual, *(predicted or []), *(score or []), *filter(None, (fold, group))]
    frame = read_columns(file, wanted)
    truth = frame[actual]
    positive = as_label(positive, truth.dtype)
    by = {name: frame[column] for name, column in (("fold", fold), ("group", group)) if column}
    scores = None
    if score:
        columns = {name: frame[name] for name in score}
        scores = from_scores(truth, columns, positive=positive, fold=by.get("fold"))
    if not predicted:
        return scores, None
    if len(predicted) == 1:
        answers = frame[predicted[0]]
        return from_predictions(truth, answers, positive=positive, by=by or None), scores
    columns = {name: frame[name] for name in predicted}
    return from_classifiers(truth, columns, positive=positive, by=by or None), scores
