"""``bayescm report``: from a file of predictions, or a monitor, to a page for people to read."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bayescm.cli.monitor import Forgetting, Rules, monitor_and_rules
from bayescm.cli.monitor_config import NAME, config_file, defaults
from bayescm.cli.options import (
    Abstentions,
    BelongsWith,
    Clip,
    Covariates,
    Estimand,
    Folds,
    Groups,
    Halves,
    Interval,
    Judges,
    Measures,
    OptionalSource,
    Options,
    Predictions,
    Prior,
    Raters,
    Results,
    command,
)
from bayescm.validate import fail


class Columns(
    OptionalSource, Predictions, Folds, Groups, Halves, Judges, Raters, Abstentions, Clip
):
    """Every column that a report may be of, or the ledger of a monitor."""

    score: Annotated[
        list[str] | None, typer.Option("--score", help="Column of a classifier's scores.")
    ] = None
    probability: Annotated[
        list[str] | None,
        typer.Option("--probability", help="Column of a classifier's probabilities."),
    ] = None
    threshold: Annotated[
        list[float] | None,
        typer.Option("--threshold", help="Of net benefit, with --probability; may be repeated."),
        BelongsWith(
            "--probability in a report of all examples as one sample, without --group and --fold"
        ),
    ] = None
    store: Annotated[
        str | None, typer.Option("--store", help="Ledger of a monitor, instead of a file.")
    ] = None


class ResultsOrClassifier(Results):
    """The columns of a table of results, or the classifier of a ledger."""

    classifier: Annotated[
        str | None,
        typer.Option(
            "--classifier", help="Which classifier in the store; with --data-set the column."
        ),
        BelongsWith("--store or --data-set"),
    ] = None


class Studies(Covariates):
    """That groups are studies of a test, and what goes with their differences."""

    meta_analysis: Annotated[
        bool,
        typer.Option(
            "--meta-analysis",
            help="Groups are studies of a diagnostic test, as of a table with columns TP, FN, FP "
            "and TN.",
        ),
        BelongsWith("one table of two classes for each study"),
    ] = False


class Document(Options):
    """The document that is written."""

    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Ends in .html, .md, .tex or .docx.")
    ] = None
    style: Annotated[
        str | None, typer.Option("--format", help="html, md, tex or docx: report.html and so on.")
    ] = None
    checklist: Annotated[
        str | None,
        typer.Option("--checklist", help="stard or tripod: where each item of it is."),
    ] = None
    interactive: Annotated[
        bool, typer.Option("--interactive", help="HTML: numbers where a picture is pointed at.")
    ] = False
    title: Annotated[str | None, typer.Option("--title", help="The heading.")] = None
    rope: Annotated[
        float,
        typer.Option("--rope", help="Differences below this count as none."),
        BelongsWith("several classifiers"),
    ] = 0.0


# The commands that write a report of a number, of labels or of answers of each item, by an option
# that only they have, and what else they need.
_OTHER_COMMANDS = {
    "item": ("of item scores", "bayescm items FILE --item question --score mark"),
    "separator": ("of several labels", "bayescm multilabel FILE --actual tags --separator ';'"),
    "correct": ("of repeated answers", "bayescm attempts FILE --item task --correct right"),
}


class OfItems(Options):
    """Options of the commands of items, which write reports of their own."""

    correct: Annotated[str | None, typer.Option("--correct", hidden=True)] = None
    separator: Annotated[str | None, typer.Option("--separator", hidden=True)] = None
    item: Annotated[str | None, typer.Option("--item", hidden=True)] = None


class OfMonitor(Forgetting, Rules):
    """What the batches of a ledger are worth, the rules of their alarms, and the file of these."""

    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            help=f"TOML file of a monitor; with --store {NAME} of the working directory.",
        ),
    ] = None


@command
def report(
    columns: Columns,
    results: ResultsOrClassifier,
    studies: Studies,
    document: Document,
    measures: Measures,
    question: Estimand,
    prior: Prior,
    interval: Interval,
    monitored: OfMonitor,
    items: OfItems,
) -> None:
    """
    Report with tables, sentences and pictures: HTML, Markdown, LaTeX or Word.

    The commands items, multilabel and attempts have their own: --report report.html.
    """
    from bayescm.cli.output import say
    from bayescm.reporting import report
    from bayescm.reporting.render import check_path

    for option in items.keywords():
        evidence, command_line = _OTHER_COMMANDS[option]
        what = f"a report {evidence} is written by the command that reads them"
        raise fail(what, f"--{option}", "", f"write {command_line} --report report.html")
    out = _path(document.out, document.style)
    check_path(out, interactive=document.interactive)
    if columns.store is not None or monitored.config is not None:
        if document.interactive:
            todo = "leave --interactive out; bayescm monitor serve has the pictures"
            raise fail("a monitor's report has none to point at", "--interactive", "a file", todo)
        groups = (measures, prior, interval, monitored)
        path = _report_of_monitor(columns, results, document, *groups, out)
        say(f"written to {path}")
        return
    if columns.file is None:
        todo = "bayescm report FILE --actual y --predicted yhat -o report.html"
        raise fail("nothing to report on", ..., "a file, or --store", todo)
    data, settings = _evidence(columns, results, studies, measures, question, prior, interval)
    settings |= document.keywords("title", "checklist", "interactive") | interval.keywords("prob")
    parts = (data, settings.get("scores", data))
    if any(part.sizes.get("classifier", 1) > 1 for part in parts):
        settings |= document.keywords("rope")
    document.refuse_unread()
    path = report(data, out, source=columns.file, progressbar=True, **settings)
    say(f"written to {path}")
    if "group" in getattr(data, "dims", ()) and not (
        columns.group or settings.get("meta_analysis")
    ):
        say("Of studies of a diagnostic test, --meta-analysis writes a meta-analysis.")


def _report_of_monitor(columns, results, document, measures, prior, interval, monitored, out):
    """Write the report of a classifier of a ledger; return where it is."""
    from bayescm.online import Ledger
    from bayescm.reporting.monitors import monitor_report

    config = config_file(monitored.config)
    values = {} if config is None else defaults(config)
    store = columns.store or values.get("store")
    if store is None:
        what = "the file of --config names no store"
        raise fail(what, str(config), "store = ...", "add --store")
    groups = [group.with_defaults(values) for group in (measures, prior, monitored)]
    settings = interval.with_defaults(values).keywords() | document.keywords("title")
    with Ledger(store, create=False) as ledger:
        name = results.classifier or values.get("classifier") or ledger.only_classifier()
        monitor, rules = monitor_and_rules(ledger, name, groups, config)
        settings |= {"classifier": name, **monitor.settings, **rules}
    document.refuse_unread()
    return monitor_report(store, out, **settings)


def _path(out, style):
    """Return where to write: what is given, or report with the ending of the format."""
    if out is None:
        return Path(f"report.{style or 'html'}")
    if style is not None and out.suffix != f".{style}":
        todo = "leave --format out, or rename the file"
        raise fail("two formats", f"{out.name}, --format {style}", "one format", todo)
    return out


def _evidence(
    columns, results, studies, measures, question, prior, interval
) -> tuple[Any, dict[str, Any]]:
    """Return the evidence that the options name, and the keywords that a report on it has."""
    from bayescm.cli import evidence

    if results.data_set is not None:
        data = evidence.results(columns, results, measures.measures)
        return data, question.keywords("of") | interval.keywords("kind")
    if columns.probability:
        # Intervals of probabilities and scores are equal-tailed.
        data = evidence.probabilities(columns)
        single_sample = not {"fold", "group", "class"} & {*data, *data.dims}  # has a net benefit
        thresholds = {"thresholds": columns.threshold} if single_sample else {}
        keywords = measures.keywords() | question.keywords() | thresholds
        return data, {name: value for name, value in keywords.items() if value is not None}
    beside: dict[str, Any] = {}
    if not (columns.raters or columns.judge) and columns.score:
        beside["scores"] = evidence.scores(columns, columns.score)
        if not columns.predicted:
            return beside["scores"], {}
    keywords = measures.keywords() | question.keywords() | interval.keywords("kind") | beside
    data = evidence.from_predictions_options(columns)
    if tuple(getattr(data, "dims", ()))[:1] == ("group",):
        keywords |= studies.keywords("meta_analysis")
        if studies.covariate:
            keywords["covariates"] = evidence.typical_study(data, studies.covariate)
    if not columns.raters:
        keywords |= evidence.prior(prior, data) | evidence.halves(columns, data)
    return data, keywords
