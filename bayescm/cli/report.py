"""``bayescm report``: from a file of predictions to a page for people to read."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bayescm.cli.options import (
    Abstain,
    Actual,
    Classifiers,
    Concentration,
    DataSet,
    Fold,
    Gold,
    Group,
    Halves,
    Judge,
    Kind,
    KindOption,
    Labels,
    MaybeFile,
    Measures,
    Model,
    NumericLabels,
    Of,
    Positive,
    Prob,
    Raters,
    TestShare,
)
from bayescm.validate import fail


def report(
    file: MaybeFile = None,
    actual: Actual = None,
    predicted: Classifiers = None,
    score: Annotated[
        list[str] | None, typer.Option("--score", help="Column of a classifier's scores.")
    ] = None,
    probability: Annotated[
        list[str] | None,
        typer.Option("--probability", help="Column of a classifier's probabilities."),
    ] = None,
    threshold: Annotated[
        list[float] | None,
        typer.Option("--threshold", help="Of net benefit, with --probability; may be repeated."),
    ] = None,
    raters: Raters = None,
    gold: Gold = None,
    fold: Fold = None,
    group: Group = None,
    halves: Halves = None,
    data_set: DataSet = None,
    test_share: TestShare = None,
    store: Annotated[
        str | None, typer.Option("--store", help="Ledger of a monitor, instead of a file.")
    ] = None,
    classifier: Annotated[
        str | None,
        typer.Option(
            "--classifier", help="Which classifier in the store; with --data-set the column."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Ends in .html, .md, .tex or .docx.")
    ] = None,
    style: Annotated[
        str | None, typer.Option("--format", help="html, md, tex or docx: report.html and so on.")
    ] = None,
    checklist: Annotated[
        str | None,
        typer.Option("--checklist", help="stard or tripod: where each item of it is."),
    ] = None,
    interactive: Annotated[
        bool, typer.Option("--interactive", help="HTML: numbers where a picture is pointed at.")
    ] = False,
    judge: Judge = None,
    positive: Positive = None,
    abstain: Abstain = None,
    label: Labels = None,
    numeric_labels: NumericLabels = False,
    measure: Measures = None,
    model: Model = None,
    of: Of = "parameter",
    concentration: Concentration = None,
    title: Annotated[str | None, typer.Option("--title", help="The heading.")] = None,
    rope: Annotated[
        float, typer.Option("--rope", help="Differences below this count as none.")
    ] = 0.0,
    prob: Prob = 0.95,
    kind: KindOption = Kind.hdi,
) -> None:
    """Report with tables, sentences and pictures: HTML, Markdown, LaTeX or Word."""
    from bayescm.cli import evidence, judged, rated
    from bayescm.cli.output import say
    from bayescm.reporting import report
    from bayescm.reporting.render import check_path

    out = _out(out, style)
    check_path(out, interactive=interactive)
    settings: dict[str, Any] = {
        "measures": measure,
        "title": title,
        "prob": prob,
        "kind": kind.value,
        "interactive": interactive,
    }
    known: Any
    if store is not None:
        from bayescm.reporting.monitors import monitor_report

        if settings.pop("interactive"):
            todo = "leave --interactive out; bayescm monitor serve has the pictures"
            raise fail("a monitor's report has none to point at", "--interactive", "a file", todo)
        written = monitor_report(store, out, classifier=classifier, **settings)
    elif file is None:
        todo = "bayescm report FILE --actual y --predicted yhat -o report.html"
        raise fail("nothing to report on", ..., "a file, or --store", todo)
    elif data_set is not None:
        from bayescm.cli.results import results

        name = {"classifier": classifier or "classifier", "measure": measure}
        known = results(file, data_set, test_share=test_share, **name)
        settings |= {"measures": None, **evidence.asked(model, of)}
        written = report(known, out, rope=rope, source=file, progressbar=True, **settings)
    else:
        labels = {"actual": actual, "positive": positive, "numeric_labels": numeric_labels}
        of_scores = evidence.scores(file, score, fold=fold, **labels) if score else None
        known = of_scores
        more = {"labels": label, "abstain": abstain}
        if probability:
            from bayescm.evidence.scored.probabilities import from_probabilities

            known = evidence.scores(
                file, probability, kind=from_probabilities, group=group, **labels
            )
            settings |= {"thresholds": threshold} if threshold else {}
        elif raters:
            labels.pop("actual")
            further = {"fold": fold, "score": score or None, "judge": judge, "abstain": abstain}
            options = {"gold": gold, "group": group, "labels": label, **labels}
            known = rated.ratings(file, raters, predicted, further, **options)
        elif judge:
            further = {"fold": fold, "group": group, "score": score or None}
            labels.pop("actual")
            known = judged.partly_labelled(
                file, judge, predicted, actual, further, **labels, **more
            )
        elif predicted or not score:
            columns = {"predicted": predicted, "fold": fold, "group": group}
            known = evidence.from_file(file, **columns, **labels, **more)
        if known is not of_scores and not (probability or raters):
            settings |= {"scores": of_scores, **evidence.prior(concentration, known)}
            settings |= evidence.halves(halves, actual, predicted, known)
        settings |= evidence.asked(model, of)
        settings |= {"rope": rope, "source": file, "checklist": checklist}
        written = report(known, out, progressbar=True, **settings)
    say(f"written to {written}")


def _out(out, style):
    """Return where to write: what is given, or report with the ending of the format."""
    if out is None:
        return Path(f"report.{style or 'html'}")
    if style is not None and out.suffix != f".{style}":
        todo = "leave --format out, or rename the file"
        raise fail("two formats", f"{out.name}, --format {style}", "one format", todo)
    return out
