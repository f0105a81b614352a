"""``bayescm report``: a report on evidence in a file, or on a monitor."""

import copy
from pathlib import Path
from typing import Annotated, Any

from bayescm.cli.columns import Evidence, given
from bayescm.cli.monitor import Forgetting, Rules, monitor_and_rules
from bayescm.cli.monitor_config import NAME, config_file, defaults
from bayescm.cli.options import (
    OUTPUT,
    QUESTION,
    BelongsWith,
    Covariates,
    Estimand,
    Interval,
    Measures,
    Options,
    Prior,
    command,
    option,
)
from bayescm.validate import fail

MONITOR = "Monitor"
MONITOR_OR_DATA = "Input columns"
_FORMATS = {".tex": "latex", ".md": "markdown", ".txt": "text"}
# Keywords of a report that do not concern the evidence or its model.
_OF_REPORT = ("title", "checklist", "interactive", "rope", "scores", "meta_analysis")


class Columns(Evidence):
    """The evidence of a report, or the ledger of a monitor."""

    classifier: Annotated[
        str | None,
        option(
            "--classifier",
            "Name of a classifier in the store or, with --data-set, the column of classifiers.",
            MONITOR,
            "NAME",
        ),
        BelongsWith("--store or --data-set"),
    ] = None
    threshold: Annotated[
        list[float] | None,
        option(
            "--threshold",
            "Probability threshold for the net benefit. Needs --probability. Repeat for several.",
            QUESTION,
            "SHARE",
        ),
        BelongsWith(
            "--probability in a report of all examples as one sample, without --group and --fold"
        ),
    ] = None
    store: Annotated[
        str | None,
        option("--store", "Ledger of a monitor to report on, instead of FILE.", MONITOR, "LEDGER"),
    ] = None


class Studies(Covariates):
    """Whether groups are studies of a test, and the covariates of their differences."""

    meta_analysis: Annotated[
        bool,
        option(
            "--meta-analysis",
            "Treat rows as studies of a test, with columns TP, FN, FP and TN.",
            QUESTION,
        ),
        BelongsWith("one table of two classes for each study"),
    ] = False


class Document(Options):
    """The document to write."""

    out: Annotated[
        Path | None, option("--out -o", "Output file: .html, .md, .tex or .docx.", OUTPUT, "FILE")
    ] = None
    style: Annotated[
        str | None,
        option(
            "--format",
            "Format of the report if --out is not given: html, md, tex or docx.",
            OUTPUT,
            "FORMAT",
        ),
    ] = None
    checklist: Annotated[
        str | None,
        option(
            "--checklist",
            "Reporting guideline. The report lists where it addresses each item of the guideline.",
            OUTPUT,
            "stard|tripod",
        ),
    ] = None
    interactive: Annotated[
        bool,
        option(
            "--interactive",
            "Make the plots of an HTML report interactive, with values shown under the mouse "
            "pointer.",
            OUTPUT,
        ),
    ] = False
    title: Annotated[str | None, option("--title", "Title of the report.", OUTPUT, "TEXT")] = None
    methods: Annotated[
        Path | None,
        option("--methods", "Output file for a methods text: .tex, .md or .txt.", OUTPUT, "FILE"),
        BelongsWith("a file of evidence"),
    ] = None
    bib: Annotated[
        Path | None,
        option(
            "--bib",
            "BibTeX file for the references of the methods text. An existing file is extended.",
            OUTPUT,
            "FILE",
        ),
        BelongsWith("--methods"),
    ] = None
    also: Annotated[
        list[Path] | None,
        option(
            "--also",
            "File of another data set, with the same columns. Repeat for several.",
            MONITOR_OR_DATA,
            "FILE",
        ),
        BelongsWith("a file of evidence"),
    ] = None
    rope: Annotated[
        float,
        option(
            "--rope",
            "Largest absolute difference that is treated as negligible.",
            QUESTION,
            "NUMBER",
        ),
        BelongsWith("several classifiers"),
    ] = 0.0


class OfMonitor(Forgetting, Rules):
    """Weights of the batches in a ledger, alarm rules, and the file with these settings."""

    config: Annotated[
        Path | None,
        option(
            "--config",
            f"TOML file with the settings of a monitor. Default with --store: {NAME}.",
            MONITOR,
            "FILE",
        ),
    ] = None


@command(
    "bayescm report predictions.csv --actual y --predicted yhat --positive sick -o report.html",
    "bayescm report scores.csv --item query --system engine --score ndcg --range 0,1 -o items.html",
    "bayescm report studies.csv --meta-analysis -o studies.html",
)
def report(
    columns: Columns,
    studies: Studies,
    document: Document,
    measures: Measures,
    question: Estimand,
    prior: Prior,
    interval: Interval,
    monitored: OfMonitor,
) -> None:
    """Write a report with tables, text and plots in HTML, Markdown, LaTeX or Word format."""
    from bayescm.cli import evidence
    from bayescm.cli.output import say
    from bayescm.reporting.render import check_path

    out = _path(document.out, document.style)
    check_path(out, interactive=document.interactive)
    if columns.store is not None or monitored.config is not None:
        if document.interactive:
            raise fail(
                "--interactive is not available for a report on a monitor",
                ...,
                "",
                "leave --interactive out; `bayescm monitor serve` has interactive plots",
            )
        groups = (measures, prior, interval, monitored)
        path = _report_of_monitor(columns, document, *groups, out)
        say(f"written to {path}")
        return
    data, settings = _evidence(columns, studies, measures, question, prior, interval)
    if document.also:
        data = _data_sets(
            data, columns, document.also, studies, measures, question, prior, interval
        )
    settings |= document.keywords("title", "checklist", "interactive") | interval.keywords("prob")
    parts = [*data.values()] if document.also else [data]
    parts += [settings["scores"]] if "scores" in settings else []
    if any(part.sizes.get("classifier", 1) > 1 for part in parts):
        settings |= document.keywords("rope")
    methods = document.methods
    bib = document.bib if methods else None
    if methods:
        _check_methods(methods)
    write_report(data, out, columns.file, settings, document)
    if methods:
        _write_methods(data, settings, methods, bib)
    if document.also:
        return
    is_grouped = evidence.has_cells(data) and "group" in data.dims
    if is_grouped and not (columns.group or settings.get("meta_analysis")):
        say("Of studies of a diagnostic test, --meta-analysis writes a meta-analysis.")


def write_report(
    data: Any, out: Path, source: Path | None, settings: dict[str, Any], options: Options
) -> None:
    """
    Write a report on evidence, or raise an error if an option had no effect.

    Parameters
    ----------
    data : evidence
    out, source : Path
        Paths of the report and of the evidence.
    settings : dict
        Keywords of `bayescm.report`.
    options : Options
        Any group of options of the command.
    """
    from bayescm.cli.output import say
    from bayescm.reporting import report
    from bayescm.reporting.render import check_path

    check_path(out)
    options.refuse_unread()
    written = report(data, out, source=source, progressbar=True, **settings)
    say(f"written to {written}")


def _data_sets(data, columns, files, *groups):
    """Return the evidence of several files with the same columns, by the names of the files."""
    found = {columns.file.stem: data}
    for file in files:
        if file.stem in found:
            raise fail(
                "Two data sets have the name {}",
                file.stem,
                "",
                "rename one of the files given with --also",
            )
        other = copy.copy(columns)
        other.file = file
        found[file.stem] = _evidence(other, *groups)[0]
    return found


def _check_methods(path):
    if path.suffix not in _FORMATS:
        allowed = f"a name ending in {', '.join(_FORMATS)}"
        raise fail(
            "The methods text cannot be written as {}", path.name, allowed, "rename the file"
        )


def _write_methods(data, settings, path, bib):
    """Write the methods text of a report, and add its references to a BibTeX file."""
    from bayescm.cli.output import say
    from bayescm.evidence.files import atomic_write
    from bayescm.reporting.methods_formats import merged
    from bayescm.reporting.methods_text import methods_paragraph

    keywords = {name: value for name, value in settings.items() if name not in _OF_REPORT}
    found = methods_paragraph(data, format=_FORMATS[path.suffix], **keywords)
    with atomic_write(path) as part:
        part.write_text(found.text, encoding="utf-8")
    say(f"written to {path}")
    if bib is not None:
        old = bib.read_text(encoding="utf-8") if bib.exists() else ""
        text = merged(old, found.bibtex)
        with atomic_write(bib) as part:
            part.write_text(text + "\n", encoding="utf-8")
        say(f"written to {bib}")


def _report_of_monitor(columns, document, measures, prior, interval, monitored, out):
    """Write the report on a classifier in a ledger, and return its path."""
    from bayescm.online import Ledger
    from bayescm.reporting.monitors import monitor_report

    config = config_file(monitored.config)
    values = {} if config is None else defaults(config)
    store = columns.store or values.get("store")
    if store is None:
        raise fail(
            "{} does not name a store",
            str(config),
            "",
            'add store = "eval.db" to it, or pass --store',
        )
    groups = [group.with_defaults(values) for group in (measures, prior, monitored)]
    settings = interval.with_defaults(values).keywords() | document.keywords("title")
    with Ledger(store, create=False) as ledger:
        name = columns.classifier or values.get("classifier") or ledger.only_classifier()
        monitor, rules = monitor_and_rules(ledger, name, groups, config)
        settings |= {"classifier": name, **monitor.settings, **rules}
    document.refuse_unread()
    return monitor_report(store, out, **settings)


def _path(out, style):
    """Return the output path, which is by default report with the extension of the format."""
    if out is None:
        return Path(f"report.{style or 'html'}")
    if style is not None and out.suffix != f".{style}":
        todo = "leave --format out, or rename the file"
        raise fail("{} name two formats", f"{out.name}, --format {style}", "", todo)
    return out


def _evidence(columns, studies, measures, question, prior, interval) -> tuple[Any, dict[str, Any]]:
    """Return the evidence specified by the options, and the keywords that its report accepts."""
    from bayescm.cli import evidence
    from bayescm.cli.output import ITEM_TYPES

    if columns.file is None and not {"tp", "matrix"} & given(columns):
        raise fail(
            "Nothing to report on",
            ...,
            "",
            "pass a file, counts or --store, e.g. bayescm report FILE --actual y "
            "--predicted yhat -o report.html",
        )
    name = "counts" if columns.file is None else evidence.type_of_options(columns)
    beside: dict[str, Any] = {}
    if name == "scores" and columns.predicted:  # scores of the classifier that made the predictions
        name, beside = "counts", {"scores": evidence.scores(columns, columns.score)}
    data = evidence.read(columns, name, measures=measures)
    if name == "scores":
        return data, {}
    if name == "results":
        return data, question.keywords("of") | interval.keywords("kind")
    if name in ITEM_TYPES:
        return data, measures.keywords() | question.keywords("of") | interval.keywords("kind")
    if name == "probabilities":  # their intervals are always equal-tailed
        single_sample = not {"fold", "group", "class"} & {
            *data,
            *data.dims,
        }  # for net benefit
        thresholds = {"thresholds": columns.threshold} if single_sample else {}
        keywords = measures.keywords() | question.keywords() | thresholds
        return data, {name: value for name, value in keywords.items() if value is not None}
    keywords = measures.keywords() | question.keywords() | interval.keywords("kind") | beside
    if tuple(getattr(data, "dims", ()))[:1] == ("group",):
        keywords |= studies.keywords("meta_analysis")
        if studies.covariate:
            keywords["covariates"] = evidence.typical_study(data, studies.covariate)
    if name != "ratings":
        keywords |= evidence.prior(prior, data) | evidence.halves(columns, data)
    return data, keywords
