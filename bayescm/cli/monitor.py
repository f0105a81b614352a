"""``bayescm monitor``: continuous evaluation, with batches recorded in a ledger."""

import contextlib
import copy
import logging
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from bayescm.cli.columns import Positive, Separators
from bayescm.cli.monitor_config import NAME, TABLES, names_of, read_config, tables
from bayescm.cli.options import (
    OUTPUT,
    QUESTION,
    BelongsWith,
    Format,
    FormatOption,
    Interval,
    Measures,
    Options,
    Output,
    Prior,
    check_picture,
    command,
    option,
)
from bayescm.validate import fail, suggest

# Panels of the help screens.
_LEDGER = "Ledger"
_BATCH = "Batch"
_COLUMNS = "Columns of the batch"
_ALARMS = "Memory and rules of alarms"
_HOOKS = "Receivers"
_SERVER = "Server"


class Store(Options):
    """The ledger, and the configuration file."""

    config: Annotated[
        Path | None,
        option(
            "--config",
            "TOML file with settings such as store, classifier, measures and floor. Options on the "
            f"command line override the file. Default: {NAME}.",
            _LEDGER,
            "FILE",
            is_eager=True,
            callback=read_config,
        ),
    ] = None
    store: Annotated[
        str,
        option(
            "--store",
            "Ledger: a file, sqlite:///FILE or postgresql://USER@HOST/DATABASE. If the "
            "address contains a password, set the address in BAYESCM_STORE instead.",
            _LEDGER,
            "LEDGER",
            envvar="BAYESCM_STORE",
            show_default=False,
        ),
    ]


class Classifier(Store):
    """A classifier in the ledger."""

    classifier: Annotated[
        str | None,
        option(
            "--classifier",
            "Name of the classifier. Required if the ledger contains several.",
            _LEDGER,
            "NAME",
        ),
    ] = None


class Forgetting(Options):
    """The order and the weights of earlier batches."""

    forgetting: Annotated[
        float,
        option(
            "--forgetting",
            "Factor by which each new batch reduces the weight of earlier batches, e.g. 0.98.",
            _ALARMS,
            "SHARE",
        ),
    ] = 1.0
    window: Annotated[
        int | None, option("--window", "Number of most recent batches to use.", _ALARMS, "N")
    ] = None
    order: Annotated[
        str,
        option(
            "--order",
            "Order of the batches: by time of observation (at) or of recording (recorded_at).",
            _ALARMS,
            "at|recorded_at",
        ),
    ] = "at"
    season: Annotated[
        str | None,
        option(
            "--season",
            "Season: a number of batches, e.g. 7; hour, weekday, day or month; or a file "
            "with columns batch and phase. Batches of the same phase are compared.",
            _ALARMS,
            "N|weekday|FILE",
        ),
    ] = None


def _settings_of(group: Options) -> dict[str, Any]:
    """Return the monitor settings in a group of options."""
    settings = group.keywords("forgetting", "window", "measures", "order", "season")
    if "season" in settings:
        settings["season"] = _season(settings["season"])
    return settings


def _season(text: str) -> Any:
    """Return the season: a number of batches, a unit of time, or the phases in a table."""
    from bayescm.evidence.files import read_columns
    from bayescm.online.seasons import check_season

    if text.isdigit():
        return check_season(int(text))
    if not Path(text).suffix:
        return check_season(text)
    # A file of many batches may have one row per example.
    table = read_columns(text, [], by=["batch", "phase"]).drop_duplicates()
    if table.isna().any(axis=None):
        what = f"{Path(text).name} has a row without a batch or without a phase"
        raise fail(what, ..., "", "complete the row, or leave it out")
    names = table["batch"].map(str)
    if names.duplicated().any():
        raise fail(
            f"{Path(text).name} lists the batch {{}} with two phases",
            names[names.duplicated()].iloc[0],
            "",
            "keep one phase for each batch",
        )
    return dict(zip(names, table["phase"].map(str), strict=True))


class Memory(Measures, Prior, Forgetting):
    """The measures, their prior, and the weights of earlier batches."""


class Rules(Options):
    """The alarm rules."""

    rate: Annotated[
        float,
        option(
            "--rate",
            "Probability of any false alarm in 1,000 batches if nothing changes.",
            _ALARMS,
            "SHARE",
        ),
    ] = 0.05
    floor: Annotated[
        list[str] | None,
        option(
            "--floor",
            "Smallest acceptable value of a measure, e.g. recall=0.8. Repeat for several.",
            _ALARMS,
            "MEASURE=VALUE",
        ),
    ] = None
    reference: Annotated[
        int | None,
        option(
            "--reference",
            "Number of initial batches that later ones are compared with.",
            _ALARMS,
            "N",
        ),
        BelongsWith("batches of predictions"),
    ] = None
    tolerance: Annotated[
        list[str] | None,
        option(
            "--tolerance",
            "Acceptable distance from perfect calibration, e.g. calibration_slope=0.2. "
            "Repeat for several.",
            _ALARMS,
            "MEASURE=VALUE",
        ),
        BelongsWith("batches of probabilities"),
    ] = None
    silence: Annotated[
        str | None,
        option(
            "--silence", "Longest acceptable time without a batch, e.g. 26h or 1D.", _ALARMS, "TIME"
        ),
    ] = None


class RulesSince(Rules):
    """The alarm rules, and the earliest time of alarms."""

    since: Annotated[
        str | None,
        option(
            "--since", "Ignore alarms of batches before this time (ISO 8601, UTC).", _ALARMS, "TIME"
        ),
    ] = None


def rules_of(rules: Options, names: Iterable[str]) -> dict[str, Any]:
    """Return the requested rules among those with the given names."""
    keywords = rules.keywords(*names)
    for name in keywords.keys() & {"floor", "tolerance"}:
        keywords[name] = _by_measure(name, keywords[name])
    return keywords


def _by_measure(name, texts) -> dict[str, float]:
    """Return numbers by measure from texts such as recall=0.8."""
    values = {}
    for text in texts:
        measure, _, value = text.rpartition("=")
        try:
            number = float(value.removesuffix("%"))
            values[measure] = number / 100 if value.endswith("%") else number
        except ValueError:
            measure = ""
        if not measure:
            raise fail(f"The {name} must be MEASURE=VALUE", text, "", "write e.g. recall=0.8")
    return values


def _concentration(memory, templates):
    """Return the prior for all classifiers, whose classes must be equal for a prior by cell."""
    from bayescm.cli import evidence

    templates = [labels for labels in templates if "predicted" in labels.dims]
    if not templates:
        return {}
    same = all(labels.coords.equals(templates[0].coords) for labels in templates)
    if not same and "," in str(memory.concentration):
        raise fail(
            "TP,FN,FP,TN as a prior needs classifiers with the same classes",
            memory.concentration,
            "",
            "select one --classifier, or pass one number for all cells",
        )
    return evidence.prior(memory, templates[0])


def _monitor(source: Classifier, memory: Memory, rules: Rules) -> tuple[Any, dict[str, Any]]:
    """Return the monitor of a classifier, which must be closed after use, and its alarm rules."""
    from bayescm.online import Ledger

    ledger = Ledger(source.store, create=False)
    name = source.classifier or ledger.only_classifier()
    return monitor_and_rules(ledger, name, [memory, rules], source.config)


def monitor_and_rules(
    ledger: Any,
    classifier: str,
    groups: Sequence[Options],
    config: Path | None,
    *,
    is_one_of_all: bool = False,
) -> tuple[Any, dict[str, Any]]:
    """
    Return the monitor of a classifier, and its alarm rules.

    Parameters
    ----------
    ledger : Ledger
    classifier : str
    groups : sequence of Options
        Groups of options for measures, prior, memory and rules.
    config : Path, optional
        Configuration file. Settings in the table of the classifier override settings for all
        classifiers. Settings for all classifiers are ignored if they do not apply to the type of
        this classifier, whereas settings in its table, or on the command line for this classifier
        only, are always used.
    is_one_of_all : bool
        Whether the command line applies to all classifiers.
    """
    from bayescm.online.encoding import variables_of
    from bayescm.online.monitor import applicable_rules, monitor_of

    table, labels = tables(config).get(classifier, {}), ledger.empty(classifier)
    _check_has_prior(classifier, table, labels)
    groups = [group.with_defaults(table) for group in groups]
    passed = {name for group in groups for name in group.on_command_line()}
    specific = set(table) if is_one_of_all else {*table, *passed}
    settings: dict[str, Any] = {}
    for group in groups:
        settings |= _settings_of(group)
        if group.has("concentration") and (
            "predicted" in labels.dims or "concentration" in specific
        ):
            settings |= _prior_of(group, labels)
    monitor = monitor_of(ledger, classifier, *_parted(settings, specific))
    names = _RULES if is_one_of_all else {*monitor.rules, *table}
    limits: dict[str, Any] = {}
    for group in groups:
        limits |= rules_of(group, [name for name in _RULES if name in names])
    if "measures" in passed:
        limits |= {
            name: _limits_of(limits[name], settings["measures"], variables_of(labels))
            for name in limits.keys() & {"floor", "tolerance"} - passed
        }
    return monitor, applicable_rules(monitor, *_parted(limits, specific))


_RULES = ("rate", "floor", "reference", "tolerance", "silence")


def _limits_of(limits, measures, variables):
    """Return the limits that a file sets for the measures of the command line."""
    from bayescm.measures.catalogue import resolve

    names = {resolve(measure, variables).__name__ for measure in measures}
    return {name: limits[name] for name in limits if resolve(name, variables).__name__ in names}


def _check_has_prior(classifier, table, labels):
    """Raise an error if the table of a classifier sets a prior for forecasts, which is fixed."""
    if "concentration" in table and "bin" in labels.dims:
        raise fail(
            "`concentration` ({}) applies only to counts and item scores, but "
            f"{classifier!r} has forecasts",
            table["concentration"],
            "",
            f"remove `concentration` from the table of {classifier!r}",
        )


def _prior_of(group, labels):
    """Return the keyword for the prior: pseudo-counts of cells, or a single number for items."""
    from bayescm.cli import evidence

    if "predicted" in labels.dims:
        return evidence.prior(group, labels)
    if "bin" in labels.dims or group.get("concentration") is None:
        return {}
    try:
        return {"concentration": float(group.concentration)}
    except ValueError:
        todo = "write --concentration 0.5"
        raise fail(
            "The prior of item scores must be one number; got {}", group.concentration, "", todo
        ) from None


def _parted(keywords, specific):
    """Return the settings for all classifiers, and the settings for a single classifier."""
    to_all = {name: value for name, value in keywords.items() if name not in specific}
    return to_all, {name: keywords[name] for name in keywords if name in specific}


def _ledger(store: str) -> tuple[Any, bool]:
    """
    Return the ledger to which a batch is added, and whether it is a new one in memory.

    If the store has no ledger, the batch is first recorded in memory, and then in a new ledger. An
    invalid first batch then leaves no ledger behind.
    """
    from bayescm.online.database import NoLedgerError
    from bayescm.online.ledger import Ledger

    try:
        return Ledger(store, create=False), False
    except NoLedgerError:
        return Ledger("sqlite://"), True


class Batch(Options):
    """When a batch was evaluated, and which batch it replaces."""

    at: Annotated[
        str | None,
        option(
            "--at",
            "Time of the batch (ISO 8601, UTC). Default: its name if it is a time such as "
            "2026-01-31, otherwise now.",
            _BATCH,
            "TIME",
        ),
    ] = None
    corrects: Annotated[
        str | None,
        option("--corrects", "Name of an earlier batch that this one replaces.", _BATCH, "BATCH"),
    ] = None


class BatchClasses(Positive):
    """The column of the true classes of a batch, and the classes."""

    labels: Annotated[
        list[str] | None,
        option(
            "--label",
            "Class label. Repeat for each class. Default: the classes of the first batch.",
            _COLUMNS,
            "LABEL",
        ),
    ] = None
    no_positive: Annotated[
        bool,
        option(
            "--no-positive",
            "State that neither class is positive, so that recall and precision are not available.",
            _COLUMNS,
        ),
        BelongsWith("predictions of two classes without --positive"),
    ] = False
    actual: Annotated[str, option("--actual", "Column of true labels.", _COLUMNS, "COLUMN")] = (
        "actual"
    )


class Predictions(BatchClasses, Separators):
    """The file of a batch and its columns."""

    file: Annotated[
        str,
        typer.Argument(help="CSV, Parquet or JSON Lines file, or - for CSV on standard input."),
    ] = "-"
    predicted: Annotated[
        str, option("--predicted", "Column of predicted labels.", _COLUMNS, "COLUMN")
    ] = "predicted"
    probability: Annotated[
        str | None,
        option(
            "--probability",
            "Column of probabilities, or A=P_A,B=P_B,C=P_C for three or more classes.",
            _COLUMNS,
            "COLUMN",
        ),
    ] = None
    edges: Annotated[
        list[float] | None,
        option(
            "--edge",
            "Edge of the probability bins. Repeat for each edge.",
            _COLUMNS,
            "NUMBER",
        ),
        BelongsWith("--probability"),
    ] = None
    score: Annotated[
        str | None,
        option(
            "--score",
            "Column of item scores, one row per item.",
            _COLUMNS,
            "COLUMN",
        ),
    ] = None
    separator: Annotated[
        str | None,
        option(
            "--separator",
            "Separator between the labels in a field, e.g. ';'.",
            _COLUMNS,
            "CHARACTER",
        ),
    ] = None
    indicators: Annotated[
        bool,
        option(
            "--indicators",
            "Read one 0/1 column per label. In column names, * stands for the label, e.g. "
            "--actual 'true_*'.",
            _COLUMNS,
        ),
    ] = False
    correct: Annotated[
        str | None,
        option(
            "--correct",
            "Column of correct (1) and wrong (0) attempts, one row per attempt.",
            _COLUMNS,
            "COLUMN",
        ),
    ] = None
    raters: Annotated[
        str | None,
        option(
            "--raters",
            "Columns of labels from several raters, e.g. ANN,BOB,LLM.",
            _COLUMNS,
            "ANN,BOB,LLM",
        ),
    ] = None
    left: Annotated[
        str | None, option("--left", "Column of the left system in each vote.", _COLUMNS, "COLUMN")
    ] = None
    right: Annotated[
        str | None,
        option("--right", "Column of the right system in each vote.", _COLUMNS, "COLUMN"),
        BelongsWith("--left"),
    ] = None
    winner: Annotated[
        str,
        option(
            "--winner", "Column of outcomes of the votes: left, right or tie.", _COLUMNS, "COLUMN"
        ),
        BelongsWith("--left and --right"),
    ] = "winner"
    ordered: Annotated[
        bool | None,
        option(
            "--ordered",
            "State that the left system was shown first. Default: as in the first batch.",
            _COLUMNS,
        ),
        BelongsWith("--left and --right"),
    ] = None
    gold: Annotated[
        str | None,
        option(
            "--gold",
            "Column of gold labels, empty if unknown.",
            _COLUMNS,
            "COLUMN",
        ),
        BelongsWith("--raters"),
    ] = None
    judge: Annotated[
        str | None,
        option(
            "--judge",
            "Column of labels or scores from a judge, if --actual is partly empty.",
            _COLUMNS,
            "COLUMN",
        ),
    ] = None
    item: Annotated[
        str,
        option("--item", "Column of item names.", _COLUMNS, "COLUMN"),
        BelongsWith("--score or --correct"),
    ] = "item"
    range: Annotated[
        str | None,
        option(
            "--range",
            "Lowest and highest possible score, e.g. 0,1. Default: as in the first batch.",
            _COLUMNS,
            "LOW,HIGH",
        ),
        BelongsWith("--score"),
    ] = None
    lower_is_better: Annotated[
        bool,
        option(
            "--lower-is-better",
            "Treat lower scores as better. Default: as in the first batch.",
            _COLUMNS,
        ),
        BelongsWith("--score"),
    ] = False


class NewName(Options):
    """Whether a name that is not in the store is new, rather than a typing error."""

    new: Annotated[
        bool,
        option(
            "--new",
            "Start a new classifier or challenge in a store that already contains others.",
            _BATCH,
        ),
    ] = False


def _name_to_add_to(source, ledger):
    """Return the classifier of a batch, or raise an error if it is not named but others are."""
    if source.classifier is not None:
        return source.classifier
    names = ledger.classifiers()
    if names and names != [_UNNAMED]:
        raise fail(
            "Nothing was recorded: no classifier is named, but the store has named classifiers",
            ...,
            names[:20],
            "pass --classifier",
        )
    return _UNNAMED


_AHEAD = "The time of batch .* is in the future"  # pattern of a warning
_UNNAMED = "classifier"  # default name, in a store without other classifiers


def _check_is_no_slip(what, name, names, is_new):
    """Raise an error if a store contains other names only, and this one is not marked as new."""
    if names and name not in names and not is_new:
        todo = f"{suggest(name, names)} Nothing was recorded. Add --new to start another one"
        raise fail(f"The store has no {what} {{}}", name, names[:20], todo)


class NamedBatch(Batch):
    """The name of a batch, when it was evaluated, and which batch it replaces."""

    batch_id: Annotated[str, option("--batch", "Unique name of the batch.", _BATCH, "NAME")]
    allow_empty: Annotated[
        bool,
        option("--allow-empty", "Record a file without rows as an empty batch.", _BATCH),
    ] = False


@command()
def add(source: Classifier, columns: Predictions, batch: NamedBatch, beginning: NewName) -> None:
    """Record a batch of predictions, scores, labels, attempts, ratings or votes."""
    from bayescm.online.encoding import time_of_name
    from bayescm.online.ledger import Ledger
    from bayescm.online.monitor import Monitor

    name = batch.batch_id
    keywords: dict[str, Any] = {"at": batch.at, "corrects": batch.corrects}
    ledger, is_new = _ledger(source.store)
    classifier = _name_to_add_to(source, ledger)
    specific = tables(source.config).get(classifier, {})
    keywords["allow_empty"] = batch.with_defaults(specific).allow_empty
    columns = columns.with_defaults(specific)
    as_table = _type_of_batch(columns)
    is_named = beginning.new or classifier in names_of(source.config)
    _check_is_no_slip("classifier", classifier, ledger.classifiers(), is_named)
    with Monitor(ledger, classifier) as monitor:
        with _at_hand(columns.file) as columns.file:
            if _has_rows(columns.file):
                table = _read_batch(as_table, columns, ledger, classifier)
            elif keywords["allow_empty"]:
                table = None
                columns.keywords()  # marks the columns as read, because none is needed
            else:
                todo = "write a row for each example, or pass --allow-empty if there were none"
                raise fail(f"{Path(columns.file).name} has no rows", ..., "", todo)
        batch.refuse_unread()
        with warnings.catch_warnings():
            # The name is new according to --new or the configuration file.
            warnings.filterwarnings("ignore", "The batch was recorded for a new classifier")
            added = monitor.add(name, table, **keywords)
    # A ledger is created only after a trial in memory, so that an invalid batch leaves no empty
    # ledger behind, e.g. at a mistyped address.
    if is_new:
        with Monitor(Ledger(source.store), classifier) as monitor, warnings.catch_warnings():
            warnings.filterwarnings("ignore", _AHEAD)  # already shown in the trial
            added = monitor.add(name, table, **keywords)
    outcome = "recorded" if added else "already recorded, nothing changed"
    if added and not keywords["at"] and not keywords["corrects"] and (at := time_of_name(name)):
        outcome += f" with the time of its name, {at[:16]}Z"
    content = "no examples" if table is None else _content(table)
    print(f"batch {name} of {classifier}: {content}, {outcome}")


def _type_of_batch(columns):
    """Return the function that reads a batch, given the columns that are named."""
    types = {"probability": _forecasts, "score": _item_scores, "separator": _several_labels}
    types |= {"correct": _attempts, "raters": _uncertain_truth, "judge": _uncertain_truth}
    types |= {"left": _votes, "indicators": _several_labels}
    columns_of_types = [option for option in types if columns.get(option) is not None]
    if len(columns_of_types) > 1:
        options = [f"--{option}" for option in columns_of_types]
        raise fail("{} are for different types of evidence", options, "", "pass one of them")
    return types[columns_of_types[0]] if columns_of_types else _counts


def _read_batch(as_table, columns, ledger, classifier):
    """
    Return the batch in a file, with the classes of the ledger.

    A file with former class names is read with the former classes, because it may have been
    recorded before the classes were renamed.
    """
    latest, *earlier = ledger.templates(classifier)
    try:
        with _classes_of(columns, latest):
            return as_table(copy.copy(columns), latest)
    except ValueError:
        for template in earlier:
            part = copy.copy(columns)
            part.no_positive = part.no_positive or "positive" not in template.coords
            with contextlib.suppress(ValueError):
                return as_table(part, template)
        raise


@contextlib.contextmanager
def _classes_of(columns, template):
    """Replace the advice of an error about a class that is missing from the ledger."""
    from bayescm.evidence.labels import UnknownLabelError

    try:
        yield
    except UnknownLabelError as problem:
        if template is None or "labels" in columns.passed():
            raise
        facts = {**template.attrs, **template.coords}
        dim = next(name for name in ("actual", "label", "labels") if name in facts)
        labels = [getattr(label, "item", lambda label=label: label)() for label in facts[dim]]
        todo = "correct the labels, or add a class with bayescm monitor classes --add"
        if facts.get("positive") is not None:
            todo = "correct the labels, or start another classifier: --classifier NAME --new"
        allowed = f"one of the classes in the ledger, {labels}"
        parts = vars(problem)
        raise fail(parts["what"], parts["value"], allowed, todo) from None


def _has_rows(path: str) -> bool:
    """Return True if a file has a row."""
    from bayescm.evidence.files import File

    # Only JSON Lines files have no header. An empty file of another type is a failed export.
    if path.endswith(".jsonl") and Path(path).is_file() and not Path(path).stat().st_size:
        return False
    return len(File(path).whole(1)) > 0


def _content(batch):
    """Return a description of a batch, which states for item scores if lower scores are better."""
    from bayescm.evidence.registry import type_of

    if "votes" in getattr(batch, "data_vars", ()):
        raters = batch.sizes["classifier"]
        return f"{int(batch['counts'].sum())} examples with labels of {raters} raters"
    if (entry := type_of(batch)).recorded_together:
        return entry.describe(batch)[0].removesuffix(".")
    if "probabilities" in batch.coords:
        return f"{batch.sizes['example']} examples"
    if "unlabelled" in batch.coords:
        labelled, others = int(batch.sum()), int(batch["unlabelled"].sum())
        return f"{labelled + others} examples, {labelled} of them labelled"
    if "example" in batch.dims:
        return f"{batch.sizes['example']} examples with {batch.sizes['label']} labels"
    if "item" not in batch.dims:
        return f"{batch.values.sum()} examples"
    if "attempt" in batch.dims:
        return f"{int(batch['correct'].count())} attempts at {batch.sizes['item']} items"
    better = ", lower is better" if batch["lower_is_better"] else ""
    return f"{batch.sizes['item']} items{better}"


@contextlib.contextmanager
def _at_hand(file: str) -> Iterator[str]:
    """Yield the path of a file, or of a copy of standard input, so that it can be read twice."""
    if file != "-":
        yield file
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "standard input.csv"  # this name occurs in error messages
        with copy.open("wb") as opened:
            shutil.copyfileobj(sys.stdin.buffer, opened)
        yield str(copy)


def _counts(columns, template):
    """Return the counts in a file, with the labels of earlier batches."""
    from bayescm.cli import evidence

    if template is not None and "actual" in template.coords:  # otherwise, `add` raises an error
        columns.fill({"labels": template["actual"].values.tolist()})
        if "positive" in template.coords:
            columns.fill({"positive": template["positive"].item()})
    counts = evidence.counts(columns, predicted=columns.predicted)
    counts = _as_truth_values(counts, columns.labels or [])
    _ask_for_positive(columns, counts["actual"].values.tolist(), "positive" in counts.coords)
    return counts


def _ask_for_positive(columns, labels, has_positive):
    """Raise an error if the first batch does not determine which of two classes is positive."""
    if has_positive or len(labels) > 2 or columns.no_positive:
        return
    raise fail(
        "The first batch determines the positive class, but no positive class is named",
        ...,
        "",
        "which class is positive? Pass "
        f"{' or '.join(f'--positive {label}' for label in labels)}, or --no-positive if "
        "neither is positive",
    )


def _forecasts(columns, template):
    """Return the table of binned probabilities in a file, with the bins of earlier batches."""
    from bayescm.evidence.files import as_label, kind_of, read_columns
    from bayescm.online import forecast_table

    actual, probability = columns.actual, columns.probability
    if "=" in probability:
        return _forecasts_of_classes(columns, template)
    labels = [] if template is None else template["actual"].values.tolist()
    frame = read_columns(
        columns.file, [actual], numbers=[probability], numeric_labels=_are_numbers(labels)
    )
    if template is not None and "edges" in template.attrs:  # for counts, `add` raises an error
        positive = template["positive"].item()
        columns.fill({"positive": positive, "edges": template.attrs["edges"]})
    positive = as_label(columns.positive, kind_of(frame[actual]))
    values = frame[actual].to_numpy(), frame[probability].to_numpy()
    return _as_truth_values(forecast_table(*values, positive=positive, edges=columns.edges), labels)


def _forecasts_of_classes(columns, template):
    """Return the probabilities of three or more classes, from --probability A=P_A,B=P_B,C=P_C."""
    from bayescm.evidence.files import read_columns
    from bayescm.evidence.scores import from_probabilities

    pairs = [text.partition("=") for text in columns.probability.split(",")]
    names = [column for _, _, column in pairs]
    if len(pairs) < 3 or not all(names):
        todo = "write --probability cat=p_cat,dog=p_dog,fox=p_fox"
        raise fail(
            "--probability {} must be CLASS=COLUMN for three or more classes",
            columns.probability,
            "",
            todo,
        )
    known = [] if template is None else template.attrs.get("labels", [])
    numeric = _are_numbers(known)
    frame = read_columns(columns.file, [columns.actual], numbers=names, numeric_labels=numeric)
    labels = [int(name) if numeric else name for name, _, _ in pairs]
    values = frame[names].to_numpy(float)
    return from_probabilities(frame[columns.actual].to_numpy(), values, labels=labels)


def _are_numbers(labels):
    """Return True if labels of earlier batches are integers, so that text is read as integers."""
    return any(isinstance(label, int) and not isinstance(label, bool) for label in labels)


def _as_truth_values(table, labels):
    """Convert the labels of a table to True and False if the given labels are booleans."""
    if not labels or not all(isinstance(label, bool) for label in labels):
        return table
    values = {"True": True, "False": False}
    coords = {}
    for name in {"actual", "predicted", "label", "positive"} & {*table.coords}:
        coord = table.coords[name]
        new = [values.get(str(label), label) for label in coord.values.ravel()]
        coords[name] = coord.dims, np.array(new).reshape(coord.shape)
    return table.assign_coords(coords)


def _item_scores(columns, template):
    """Return the item scores in a file. As in earlier batches, lower scores may be better."""
    from bayescm.cli import evidence

    if template is not None and template.attrs.get("lower_is_better"):
        columns.lower_is_better = True
    return evidence.item_scores(columns)


def _attempts(columns, template):
    """Return the attempts in a file with one row per attempt."""
    from bayescm.cli import evidence

    return evidence.attempts(columns)


class _UncertainTruth(Options):
    """The columns of ratings or partly labelled examples, as required by `bayescm.cli.evidence`."""

    file: str
    actual: str
    predicted: list[str]
    raters: str | None
    gold: str | None
    judge: list[str] | None
    labels: list | None
    positive: Any
    numeric_labels: bool


def _uncertain_truth(columns, template):
    """Return the ratings or the partly labelled examples in a file."""
    from bayescm.cli import evidence
    from bayescm.evidence.files import File

    known = [] if template is None else template.attrs.get("labels", [])
    if template is not None and "pattern" in template.dims:  # otherwise, `add` raises an error
        columns.fill({"labels": known, "positive": template.attrs["positive"]})
    is_judged = columns.raters is None
    is_named = columns.predicted != "predicted" or "predicted" in columns.on_command_line()
    is_there = is_judged and columns.predicted in File(columns.file).names
    options = _UncertainTruth(
        file=columns.file,
        actual=columns.actual if is_judged else "",
        predicted=[columns.predicted] if is_named or is_there else [],
        raters=columns.raters,
        gold=None if is_judged else columns.gold,
        judge=[columns.judge] if is_judged else None,
        labels=columns.labels,
        positive=columns.positive,
        numeric_labels=_are_numbers(known),
    )
    reader = evidence.ratings if columns.raters else evidence.partly_labelled
    found = _as_truth_values(reader(options), known)
    _ask_for_positive(columns, found["actual"].values.tolist(), "positive" in found.coords)
    return found


def _votes(columns, template):
    """Return the votes in a file. Their order is known if it was known in the first batch."""
    from bayescm.cli import evidence

    if template is not None and "ordered" in template.attrs:  # otherwise, `add` raises an error
        columns.fill({"ordered": template.attrs["ordered"]})
    return evidence.preferences(columns)


def _several_labels(columns, template):
    """Return the labels of each example in a file, with the label order of earlier batches."""
    from bayescm.cli import evidence

    if template is not None and "label" in template.coords:
        columns.fill({"labels": template["label"].values.tolist()})
    return evidence.multilabel(columns, separator_means_type=True)


class ManyBatches(Options):
    """The columns of a file of many batches."""

    batch_column: Annotated[
        str, option("--batch-column", "Column of batch names.", _BATCH, "COLUMN")
    ] = "batch"
    at_column: Annotated[
        str | None,
        option(
            "--at-column",
            "Column of batch times (ISO 8601, UTC). Default: the batch names, if they are times.",
            _BATCH,
            "COLUMN",
        ),
    ] = None


@command("bayescm monitor import history.csv --store eval.db --positive spam")
def import_(
    source: Classifier, columns: Predictions, batches: ManyBatches, beginning: NewName
) -> None:
    """Record many batches from one file, with one row per example or one row per batch."""
    from bayescm.cli import many_batches
    from bayescm.online.ledger import Ledger
    from bayescm.online.monitor import Monitor

    ledger, is_new = _ledger(source.store)
    classifier = _name_to_add_to(source, ledger)
    columns = columns.with_defaults(tables(source.config).get(classifier, {}))
    as_table = _type_of_batch(columns)
    is_named = beginning.new or classifier in names_of(source.config)
    _check_is_no_slip("classifier", classifier, ledger.classifiers(), is_named)
    names = batches.batch_column, batches.at_column

    def of_part(part):
        return _read_batch(as_table, part, ledger, classifier)

    def read(template):
        if as_table is not _counts:
            return list(many_batches.by_slices(columns, *names, of_part))
        try:
            return counts(copy.copy(columns), template)
        except ValueError:
            # A batch may have the former names of the classes, as in `_read_batch`.
            _, *earlier = templates = ledger.templates(classifier)
            if earlier and "labels" not in columns.passed() and "actual" in template.coords:
                with contextlib.suppress(ValueError):
                    table = many_batches.counts(copy.copy(columns), *names)
                    return many_batches.with_classes_of(table, templates)
            raise

    def counts(columns, template):
        if template is not None and "actual" in template.coords:
            columns.fill({"labels": template["actual"].values.tolist()})
            if "positive" in template.coords:
                columns.fill({"positive": template["positive"].item()})
        with _classes_of(columns, template):
            counts = many_batches.counts(columns, *names)
        counts = _as_truth_values(counts, columns.labels or [])
        _ask_for_positive(columns, counts["actual"].values.tolist(), "positive" in counts.coords)
        return counts

    with _at_hand(columns.file) as columns.file:
        if is_new:  # an invalid file leaves no empty ledger behind
            with Monitor(ledger, classifier) as trial:
                evidence = read(None)
                batches.refuse_unread()
                trial.extend(evidence)
                number = len(trial.ledger.read(classifier).entry)
            ledger = Ledger(source.store)
        with Monitor(ledger, classifier) as monitor:
            if not is_new:
                evidence = read(monitor.labels())
                batches.refuse_unread()
                number = len({*many_batches.names_of(evidence)})
            with warnings.catch_warnings():
                if is_new:  # already shown in the trial
                    warnings.filterwarnings("ignore", ".*are identical to other batches")
                    warnings.filterwarnings("ignore", _AHEAD)
                added = monitor.extend(evidence)
    print(f"{added} batches of {classifier} recorded, {number - added} already present")


class ClassChanges(Options):
    """How the classes change."""

    rename: Annotated[
        list[str] | None,
        option(
            "--rename", "New name of a class, as OLD=NEW. Repeat for several.", _BATCH, "OLD=NEW"
        ),
    ] = None
    add_class: Annotated[
        list[str] | None,
        option("--add", "Name of an additional class. Repeat for several.", _BATCH, "CLASS"),
    ] = None
    challenge: Annotated[
        str | None,
        option(
            "--challenge",
            "Change the classes of this challenge instead of a classifier.",
            _LEDGER,
            "NAME",
        ),
    ] = None


@command("bayescm monitor classes --store eval.db --rename buy=sales --add legal")
def classes(source: Classifier, changes: ClassChanges) -> None:
    """Rename or add classes. The history continues with the new names."""
    from bayescm.online.ledger import Ledger

    if changes.challenge is not None and source.classifier is not None:
        todo = "leave --classifier out"
        raise fail(
            "--challenge {} and --classifier cannot be combined", changes.challenge, "", todo
        )
    with Ledger(source.store, create=False) as ledger:
        name = changes.challenge or source.classifier or ledger.only_classifier()
        labels = ledger.classes(name)
        rename = dict(_renamed(text, labels) for text in changes.rename or [])
        add = list(changes.add_class or [])
        rename, add = _as_labels(labels, rename, add)
        changes.refuse_unread()
        is_new, after = ledger.change_classes(name, rename or None, add or None)
    outcome = "recorded" if is_new else "already up to date, nothing changed"
    print(f"classes of {name}: {', '.join(map(str, after))}; {outcome}")


def _renamed(text, labels):
    """Return the old and the new name in OLD=NEW. The old name may contain equals signs."""
    names = {str(label) for label in labels}
    places = [index for index, character in enumerate(text) if character == "="]
    split = next((at for at in places if text[:at] in names), places[0] if places else -1)
    old, new = text[:split], text[split + 1 :]
    if split < 1 or not new.strip():
        raise fail("--rename {} must be OLD=NEW", text, "", "write e.g. --rename buy=sales")
    return old, new


def _as_labels(labels, rename, add):
    """Return class names as labels of the ledger: integers if all classes are integers."""
    by_text = {str(label): label for label in labels}
    new = [*rename.values(), *add]
    are_numbers = _are_numbers(labels) and all(name.lstrip("-").isdigit() for name in new)
    made = {name: int(name) if are_numbers else name for name in new}
    return {by_text.get(old, old): made[name] for old, name in rename.items()}, [
        made[name] for name in add
    ]


class AllClassifiers(Store):
    """All classifiers in the ledger, or one."""

    classifier: Annotated[
        str | None, option("--classifier", "Classifier to show. Default: all.", _LEDGER, "NAME")
    ] = None


@command()
def status(
    source: AllClassifiers, memory: Memory, rules: Rules, interval: Interval, output: Output
) -> None:
    """Show the current results of every classifier, since the latest change."""
    import pandas as pd

    from bayescm.cli.output import show
    from bayescm.online.ledger import Ledger

    with Ledger(source.store, create=False) as ledger:
        single = source.classifier
        names = ledger.classifiers() if single is None else [single]
        if single is None:
            _concentration(memory, map(ledger.empty, names))
        parts = {}
        for name in names:
            asked = [memory, rules], source.config
            is_one_of_all = single is None and len(names) > 1
            with _naming(name, source.config, is_one_of_all=is_one_of_all):
                monitor, limits = monitor_and_rules(
                    ledger, name, *asked, is_one_of_all=single is None
                )
                parts[name] = _now(monitor, interval, limits)
    cautions = {name: part.attrs.get("caution") for name, part in parts.items()}
    caution = "; ".join(f"{name}: {text}" for name, text in cautions.items() if text)
    table = pd.concat(parts.values(), ignore_index=True) if parts else pd.DataFrame()
    table.attrs = {"caution": caution} if caution else {}
    closing = "\n".join(line for part in parts.values() for line in part.attrs["lines"])
    show(table, output, hidden=["open_incident", "acknowledged_incident"], closing=closing)


def _now(monitor, interval, rules):
    """Return one row for each measure of a classifier, and lines about changes and incidents."""
    from bayescm.online.encoding import sizes_of, what_changes
    from bayescm.online.incidents import standing

    name, last = monitor.classifier, monitor.ledger.last(monitor.classifier)
    frame = monitor.summary(**interval.keywords(), **rules)
    batches, incidents = monitor.since_change(**rules), monitor.incidents(**rules)
    number, since = batches.sizes["step"], str(batches["at"].values[0])[:19] + "Z"
    still_open = standing(incidents[incidents["state"] == "open"])
    columns = {
        "classifier": name,
        "batches": number,
        "examples": sizes_of(batches).values.sum().item(),
        "since": since,
        "latest": monitor.latest()[:19] + "Z",
    }
    for position, (column, value) in enumerate(columns.items()):
        frame.insert(position, column, value)
    frame["open_incident"] = "; ".join(still_open)
    acknowledged = standing(incidents[incidents["state"] == "acknowledged"])
    frame["acknowledged_incident"] = "; ".join(acknowledged)
    lines = [f"{name}: {incident}" for incident in still_open + acknowledged]
    if number < last.batches:
        lines.insert(
            0,
            f"{name}: the {what_changes(batches)} have changed; current results use "
            f"{number} of {last.batches} batches, those since {since}",
        )
    frame.attrs["lines"] = lines
    return frame.drop(columns=["how", "error", "undefined", "sd"], errors="ignore")


class BatchEstimand(Options):
    """The estimand of a history."""

    of: Annotated[
        str | None,
        option(
            "--of",
            "Estimand: parameter (the default) or predictive (the next batch).",
            QUESTION,
            "ESTIMAND",
        ),
    ] = None
    n: Annotated[
        int | None,
        option("--n", "Size of the next batch. Needs --of predictive.", QUESTION, "N"),
        BelongsWith("--of predictive"),
    ] = None

    def keywords(self, *names: str) -> dict[str, Any]:
        """Return the options that are set, including ``n`` only if the estimand is predictive."""
        all_names = names or ("of", "n")
        return super().keywords(*(n for n in all_names if n != "n" or self.of == "predictive"))


class Latest(Options):
    """How many batches are shown."""

    last: Annotated[
        int | None, option("--last", "Number of most recent batches to show.", QUESTION, "N")
    ] = None


@command()
def history(
    source: Classifier,
    memory: Memory,
    rules: Rules,
    interval: Interval,
    question: BatchEstimand,
    latest: Latest,
    output: Output,
) -> None:
    """Show the interval of every measure after each batch."""
    import pandas as pd
    import xarray as xr

    from bayescm.cli.output import show
    from bayescm.evidence.registry import TYPES

    monitor, limits = _monitor(source, memory, rules)
    with monitor:
        asked = interval.keywords() | question.keywords() | latest.keywords()
        ends = monitor.history(**asked, **limits)
    together = {entry.recorded_together: None for entry in TYPES if entry.recorded_together}
    labels = [name for name in (*together, "class") if name in ends.dims]
    parts = []
    for measure, values in ends.data_vars.items():  # the dimensions depend on the measure
        bounds = {name: values.sel(bound=name, drop=True) for name in ("lower", "upper")}
        part = xr.Dataset(bounds).to_dataframe().reset_index().assign(measure=measure)
        parts.append(part.astype({name: object for name in labels if name in part}))
    names = ["step", "batch_id", "at", "since", "n", *labels, "measure", "lower", "upper"]
    order = ["step", *labels, "measure"]
    table = pd.concat(parts)[names].sort_values(order, na_position="first", ignore_index=True)
    table.attrs = {name: ends.attrs[name] for name in ("caution",) if name in ends.attrs}
    show(table, output)


class Unacknowledged(Options):
    """How alarms that have not been acknowledged are treated."""

    new: Annotated[
        bool, option("--new", "List only alarms that have not been acknowledged.", QUESTION)
    ] = False
    exit_code: Annotated[
        bool,
        option(
            "--exit-code", "Exit with status 1 if an alarm has not been acknowledged.", QUESTION
        ),
    ] = False


def _of_each(source, groups) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield each classifier, or the one that is named, with its monitor and rules."""
    from bayescm.online import Ledger

    with Ledger(source.store, create=False) as ledger:
        named = source.classifier
        names = ledger.classifiers() if named is None else [named]
        is_one_of_all = named is None and len(names) > 1
        for name in names:
            monitor, limits = monitor_and_rules(
                ledger, name, groups, source.config, is_one_of_all=is_one_of_all
            )
            yield name, monitor, limits


def _answers(source, groups, answer: Callable[[Any, dict[str, Any]], Any]) -> dict[str, Any]:
    """Return the result of a function for each classifier, given its monitor and rules."""
    every = list(_of_each(source, groups))
    answers = {}
    for name, monitor, limits in every:
        with _naming(name, source.config, is_one_of_all=len(every) > 1):
            answers[name] = answer(monitor, limits)
    return answers


@contextlib.contextmanager
def _naming(name, config, *, is_one_of_all):
    """Add the name of one of several classifiers to an error, and advice on its limits."""
    from bayescm.online.rules import NotMonitoredError

    try:
        yield
    except ValueError as problem:
        parts = vars(problem)  # parts of the error, if `fail` built it
        if not is_one_of_all or "what" not in parts:
            raise
        advice = parts["advice"]
        if config is not None and isinstance(problem, NotMonitoredError):
            advice = (*advice, f"move the limit to a table [{TABLES}.NAME] in {config.name}")
        what = f"{name}: {parts['what']}"
        raise fail(what, parts["value"], parts["expected"], advice) from None


def _joined(parts: dict[str, Any]) -> Any:
    """Return the tables of all classifiers as one, with their names as the first column."""
    import pandas as pd

    named = [table.assign(classifier=name) for name, table in parts.items()]
    if not named:
        return pd.DataFrame()
    some = [table for table in named if len(table)] or named[:1]
    table = pd.concat(some, ignore_index=True)
    return table[["classifier", *[name for name in table.columns if name != "classifier"]]]


def _of_single_classifier(table: Any) -> list[str]:
    """Return the columns to hide from people if a table contains a single classifier."""
    return ["classifier"] if len(table) and table["classifier"].nunique() == 1 else []


@command()
def alarms(
    source: AllClassifiers, memory: Memory, rules: RulesSince, new: Unacknowledged, output: Output
) -> int:
    """List the alarms so far, for all classifiers."""
    from bayescm.cli.output import show
    from bayescm.online.rules import BETTER

    fails, only_new, since = new.exit_code, new.new, rules.since
    table = _joined(
        _answers(
            source,
            [memory, rules],
            lambda monitor, limits: monitor.alarms(since=since, new=only_new, **limits),
        )
    )
    shown = ["classifier", "batch_id", "at", "rule", "direction", "sentence", "incident"]
    shown += ["on", "acknowledged", "note"]
    hidden = [name for name in table.columns if name not in shown]
    hidden += _of_single_classifier(table)
    show(table, output, _number_of_alarms(len(table)), hidden=hidden)
    counted = table[table["direction"] != BETTER] if len(table) else table
    return int(fails and len(counted) > 0 and not counted["acknowledged"].all())


def _number_of_alarms(number):
    return f"{number} {'alarm' if number == 1 else 'alarms'}"


@command()
def incidents(source: AllClassifiers, memory: Memory, rules: RulesSince, output: Output) -> None:
    """List the incidents so far, which are groups of related alarms, and their states."""
    from bayescm.cli.output import show

    since = rules.since
    table = _joined(
        _answers(
            source,
            [memory, rules],
            lambda monitor, limits: monitor.incidents(since=since, **limits),
        )
    )
    number = "one incident" if len(table) == 1 else f"{len(table)} incidents"
    n_open = (table["state"] == "open").sum() if len(table) else 0
    header = f"{number}, {n_open} open"
    hidden = ["since", "rule", "measure", "on", *_of_single_classifier(table)]
    show(table, output, header, hidden=hidden)


class Acknowledgement(Options):
    """Which alarms are acknowledged, and what was found."""

    batch: Annotated[
        list[str] | None,
        option(
            "--batch",
            "Batch whose alarms to acknowledge. Default: all. Repeat for several.",
            QUESTION,
            "NAME",
        ),
    ] = None
    note: Annotated[
        str, option("--note", "Note to store with the acknowledgement.", QUESTION, "TEXT")
    ] = ""


@command()
def acknowledge(
    source: Classifier, memory: Memory, rules: RulesSince, acknowledgement: Acknowledgement
) -> None:
    """Acknowledge the alarms of the given rules, so that they are no longer listed as new."""
    note = acknowledgement.note
    monitor, limits = _monitor(source, memory, rules)
    with monitor:
        table = monitor.alarms(since=rules.since, new=True, **limits)
        if acknowledgement.batch:
            names = monitor.ledger.read(monitor.classifier).batch_id.tolist()
            for name in acknowledgement.batch:
                if name not in names:
                    todo = suggest(name, names) or "check its name with bayescm monitor history"
                    raise fail(f"{monitor.classifier} has no batch {{}}", name, "", todo)
            table = table[table["batch_id"].isin(acknowledgement.batch)]
        acknowledgement.refuse_unread()
        print(f"{_number_of_alarms(monitor.acknowledge(table, note=note))} acknowledged")


class Picture(Options):
    """The output file of a plot."""

    out: Annotated[
        Path,
        option(
            "--out -o", "Output file: .png, .svg or .pdf.", OUTPUT, "FILE", callback=check_picture
        ),
    ]


@command()
def plot(
    source: AllClassifiers, memory: Memory, rules: Rules, interval: Interval, picture: Picture
) -> None:
    """Plot the history with its alarms, one file per classifier."""
    from bayescm.cli.output import save_picture

    path, asked = picture.out, interval.keywords()
    figures = _answers(
        source, [memory, rules], lambda monitor, limits: monitor.plot(**asked, **limits)
    )
    if not figures:
        raise fail("The store has no classifiers", ..., "", "add a batch first")
    picture.refuse_unread()
    files = _files_of(path, list(figures))
    for name, figure in figures.items():
        save_picture(figure, files[name])
        if len(files) > 1:
            print(f"{name}: {files[name]}")


def _files_of(path: Path, names: list[str]) -> dict[str, Path]:
    """Return the file of each classifier: the path, with its name if there are several."""
    if len(names) == 1:
        return {names[0]: path}
    made: dict[str, Path] = {}
    for name in names:
        plain = "".join(c if c.isalnum() or c in "-_." else "-" for c in name).strip(".") or "-"
        file, number = path.with_stem(f"{path.stem}-{plain}"), 2
        while file in made.values():
            file, number = path.with_stem(f"{path.stem}-{plain}-{number}"), number + 1
        made[name] = file
    return made


class Challenge(Store):
    """A challenge, and its rule, which the ledger stores with the first batch."""

    name: Annotated[str, option("--name", "Name of the challenge.", _LEDGER, "NAME")] = "challenge"
    measure: Annotated[
        str | None,
        option(
            "--measure -m",
            "Measure in which the challenger should be better, set with the first batch. "
            "Default: accuracy.",
            _LEDGER,
            "NAME",
        ),
    ] = None
    margin: Annotated[
        float | None,
        option(
            "--margin",
            "Smallest improvement required for promotion. Default: 0.",
            _LEDGER,
            "NUMBER",
        ),
    ] = None
    prob: Annotated[
        float | None,
        option(
            "--prob",
            "Probability at which the challenger is promoted. Default: 0.95.",
            _LEDGER,
            "SHARE",
        ),
    ] = None
    planned: Annotated[
        int | None,
        option("--planned", "Planned maximum number of examples in the challenge.", _LEDGER, "N"),
    ] = None

    def rule(self) -> dict[str, Any]:
        """Return the rule on the command line, because prob in monitor.toml is for intervals."""
        rule = self.keywords("measure", "margin", "prob", "planned")
        return {name: rule[name] for name in self.on_command_line() & {*rule}}


class ChallengeBatch(BatchClasses, Batch):
    """A new batch of a challenge, if there is one."""

    file: Annotated[
        str | None,
        typer.Argument(
            help="CSV, Parquet or JSON Lines file of a new batch. Without it, nothing is added."
        ),
    ] = None
    batch_id: Annotated[
        str | None, option("--batch", "Unique name of the batch.", _COLUMNS, "NAME")
    ] = None
    champion: Annotated[
        str, option("--champion", "Column of predictions from the champion.", _COLUMNS, "COLUMN")
    ] = "champion"
    challenger: Annotated[
        str,
        option("--challenger", "Column of predictions from the challenger.", _COLUMNS, "COLUMN"),
    ] = "challenger"


@command()
def challenge(
    source: Challenge, columns: ChallengeBatch, beginning: NewName, output: Output
) -> None:
    """Add a batch to a challenge, and show whether the challenger should be promoted."""
    from bayescm.cli import evidence
    from bayescm.cli.output import show
    from bayescm.online.challenge import Challenge, verdict
    from bayescm.online.ledger import Ledger

    name, file = source.name, columns.file
    rule = source.rule()
    if file is None:
        with Challenge(Ledger(source.store, create=False), name, **rule) as challenge:
            table = challenge.history()
    else:
        if columns.batch_id is None:
            raise fail("The batch has no name", ..., "", "pass a new name, e.g. --batch monday")
        batch_id, keywords = columns.batch_id, {"at": columns.at, "corrects": columns.corrects}
        ledger, is_new = _ledger(source.store)
        with Challenge(ledger, name, **rule) as challenge:
            challenges = ledger.challenges()
            _check_is_no_slip("challenge", name, sorted(challenges), beginning.new)
            earlier = challenges.get(name, {})
            columns.fill({k: earlier[k] for k in ("labels", "positive") if k in earlier})
            predicted = [columns.champion, columns.challenger]
            numeric = _are_numbers(earlier.get("labels", ()))
            outcomes = evidence.outcomes(columns, predicted=predicted, numeric_labels=numeric)
            outcomes = _as_truth_values(outcomes, earlier.get("labels", ()))
            labels = outcomes["label"].values.tolist()
            _ask_for_positive(columns, labels, "positive" in outcomes.coords)
            source.refuse_unread(later=output)
            challenge.add(batch_id, outcomes, **keywords)
            table = challenge.history()
        if is_new:
            with Challenge(Ledger(source.store), name, **rule) as challenge:
                challenge.add(batch_id, outcomes, **keywords)
                table = challenge.history()
    show(table, output, f"{name}: {verdict(table)}", by_column=True)


class Hooks(Options):
    """The receivers of messages, and their format."""

    command: Annotated[
        list[str] | None,
        option(
            "--command",
            "Shell command to run for each message, with JSON on standard input.",
            _HOOKS,
            "COMMAND",
        ),
    ] = None
    url: Annotated[
        list[str] | None,
        option("--url", "Address to post each message to, as JSON.", _HOOKS, "URL"),
    ] = None
    secret: Annotated[
        str | None,
        option(
            "--secret",
            "Secret for signing posted messages. Set it in the environment.",
            _HOOKS,
            "TEXT",
            envvar="BAYESCM_HOOK_SECRET",
            show_envvar=True,
        ),
        BelongsWith("--url"),
    ] = None
    log: Annotated[bool, option("--log", "Write each message to standard error.", _HOOKS)] = False
    page_format: Annotated[
        str,
        option("--format", "Format of the messages.", _HOOKS, "json|slack|teams|email"),
    ] = "json"
    improvements: Annotated[
        bool, option("--improvements", "Also send messages about improvements.", _HOOKS)
    ] = False
    dry_run: Annotated[
        bool, option("--dry-run", "Print the messages without sending them.", _HOOKS)
    ] = False


class Pages(Output):
    """How the table of messages is printed."""

    style: Annotated[
        Format, option("--table", "Format of the printed table of messages.", OUTPUT)
    ] = Format.table


@command()
def notify(
    source: AllClassifiers, memory: Memory, rules: RulesSince, hooks: Hooks, output: Pages
) -> int:
    """Send a message for each opened or closed incident. Exit status 1 on failure."""
    from bayescm.cli.output import show
    from bayescm.online import notify, to_command, to_log, to_url

    if hooks.on_command_line() & {"command", "url"}:  # these replace the receivers of the file
        for field in {"command", "url", "log", "page_format"} - hooks.on_command_line():
            setattr(hooks, field, getattr(Hooks, field))
    form = hooks.page_format
    if form == "email" and hooks.url:
        todo = "pass --command 'sendmail ops@example.org' instead of --url"
        raise fail("E-mail cannot be posted to a URL ({})", form, "json, slack or teams", todo)
    receivers = [to_command(text, format=form) for text in hooks.command or []]
    receivers += [to_url(address, secret=hooks.secret, format=form) for address in hooks.url or []]
    if hooks.log:
        logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
        receivers.append(to_log(format=form))
    if not receivers:
        raise fail(
            "No receiver of the alarms is given",
            ...,
            "",
            "pass --url https://..., --command '...' or --log",
        )
    since, dry_run, improvements = rules.since, hooks.dry_run, hooks.improvements
    asked: dict[str, Any] = {"since": since, "dry_run": dry_run, "improvements": improvements}
    every = list(_of_each(source, [memory, rules]))  # raises any errors before messages are sent
    rules.refuse_unread(later=output)
    sent = {}
    for name, monitor, limits in every:
        with _naming(name, source.config, is_one_of_all=len(every) > 1):
            sent[name] = notify(monitor, *receivers, **asked, **limits)
    table = _joined(sent)
    failed = int((table["problem"] != "").sum()) if len(table) else 0
    header = f"{len(table) - failed} handed over, {failed} failed"
    if dry_run:
        header = f"{len(table)} would be handed over"
    show(table, output, header, hidden=["rule", "measure"])
    return int(failed > 0)


class Server(Options):
    """The address of the dashboard, and access to it."""

    host: Annotated[
        str,
        option("--host", "Address to listen on. Default: this machine only.", _SERVER, "NAME"),
    ] = "127.0.0.1"
    port: Annotated[int, option("--port", "Port to listen on.", _SERVER, "N")] = 8710
    hosts: Annotated[
        list[str] | None,
        option(
            "--allow-host",
            "Additional allowed host name, e.g. of a proxy. Repeat for several.",
            _SERVER,
            "NAME",
        ),
    ] = None
    token: Annotated[
        str | None,
        option(
            "--token",
            "Token required to acknowledge alarms. Set it in the environment.",
            _SERVER,
            "TEXT",
            envvar="BAYESCM_TOKEN",
            show_envvar=True,
        ),
    ] = None


@command()
def serve(source: Store, server: Server, memory: Memory, rules: Rules, interval: Interval) -> None:
    """Serve a dashboard of classifiers, alarms and challenges, and metrics at /metrics."""
    from bayescm.online import serve
    from bayescm.online.ledger import Ledger

    settings = _settings_of(memory)
    with Ledger(source.store, create=False) as ledger:
        settings |= _concentration(memory, map(ledger.empty, ledger.classifiers()))
        settings["classifiers"] = _of_single_classifiers(ledger, source.config, memory, rules)
    settings |= interval.keywords() | rules_of(rules, rules.keywords()) | server.keywords()
    server.refuse_unread()
    serve(source.store, **settings)


def _of_single_classifiers(ledger, config, memory, rules):
    """Return the settings and rules of the classifiers that have a table in the file."""
    of_single = {}
    for name, table in tables(config).items():
        of_one, limits = memory.with_defaults(table), rules.with_defaults(table)
        names = {*table} - memory.on_command_line() - rules.on_command_line()
        settings = of_one.keywords(*names) | rules_of(limits, names)
        if "season" in settings:
            settings["season"] = _season(settings["season"])
        if "concentration" in settings:
            if name not in ledger.classifiers():
                raise fail(
                    "The file sets a prior for the classifier {}, which has no batches",
                    name,
                    "",
                    "add its first batch, or remove its concentration from the file",
                )
            labels = ledger.empty(name)
            _check_has_prior(name, table, labels)
            settings |= _prior_of(of_one, labels)
        of_single[name] = settings
    return of_single


@command()
def verify(source: Store, output: Output) -> int:
    """Check every entry against its hash. Exit status 1 if one is damaged."""
    from bayescm.cli.output import show
    from bayescm.online import verify

    table = verify(source.store)
    show(table, output)
    return int(not table["whole"].all())


class NewFile(Options):
    """The file of a copy."""

    path: Annotated[
        Path, typer.Argument(help="New file for the copy. The copy is itself a ledger.")
    ]


@command()
def backup(source: Store, copy: NewFile) -> None:
    """Copy the ledger in its current state, even while other programs write to it."""
    from bayescm.online import backup

    table = backup(source.store, copy.path)
    entries = f"{table['entries'].sum()} entries of {len(table)} classifiers"
    print(f"{entries} in {copy.path}, each checked")


class Backup(Options):
    """The file of a copy that was made."""

    path: Annotated[Path, typer.Argument(help="File written by bayescm monitor backup.")]


@command()
def restore(copy: Backup, source: Store) -> None:
    """Restore a backup to a new file, or to an empty PostgreSQL database."""
    from bayescm.online import restore

    table = restore(copy.path, source.store)
    print(f"{table['entries'].sum()} entries of {len(table)} classifiers restored, each checked")


class Period(Options):
    """Which batches are summed."""

    before: Annotated[
        str,
        option(
            "--before", "Time before which batches are summed (ISO 8601, UTC).", QUESTION, "TIME"
        ),
    ]
    by: Annotated[
        str,
        option(
            "--by",
            "Period whose batches are summed: day, month or year.",
            QUESTION,
            "day|month|year",
        ),
    ] = "month"


@command()
def roll_up(source: Store, copy: NewFile, period: Period) -> None:
    """Write a new ledger in which early batches are summed. The old ledger is not changed."""
    from bayescm.online import roll_up

    table = roll_up(source.store, copy.path, **period.keywords())
    entries = f"{table['entries'].sum()} entries of {len(table)} classifiers"
    print(f"{table['rolled_up'].sum()} batches summed, {entries} in {copy.path}, each checked")


class Export(Output):
    """How the entries are printed."""

    style: FormatOption = Format.csv


@command()
def export(source: AllClassifiers, output: Export) -> None:
    """Export every entry of the ledger, with counts, times and labels."""
    from bayescm.cli.output import show
    from bayescm.online.ledger import Ledger

    with Ledger(source.store, create=False) as ledger:
        table = ledger.table()
        if source.classifier is not None:
            ledger.classes(source.classifier)  # raises an error for an unknown classifier
            table = table[table["classifier"] == source.classifier].reset_index(drop=True)
        show(table, output)


COMMANDS = (
    *(add, import_, classes, status, history, alarms, incidents, acknowledge, plot, challenge),
    *(notify, serve, verify, backup, restore, roll_up, export),
)
