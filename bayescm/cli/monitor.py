"""``bayescm monitor``: an evaluation that goes on, batch after batch, kept in a ledger."""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from bayescm.cli.options import (
    Actual,
    Concentration,
    Format,
    FormatOption,
    Kind,
    KindOption,
    Measures,
    Positive,
    Predicted,
    Prob,
)

monitor = typer.Typer(
    help="Evaluate batch after batch; every batch is kept in a ledger.", no_args_is_help=True
)

Store = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="BAYESCM_STORE",
        help="The ledger: a file, sqlite:///FILE or postgresql://USER@HOST/DATABASE. An address "
        "with a password is better given in the environment.",
        show_default=False,
    ),
]
Classifier = Annotated[str, typer.Option("--classifier", help="Whose evaluation it is.")]
Forgetting = Annotated[
    float, typer.Option("--forgetting", help="What earlier evidence is worth after each batch.")
]
Window = Annotated[
    int | None, typer.Option("--window", help="How many of the latest batches count.")
]
Floors = Annotated[
    list[str] | None,
    typer.Option("--floor", help="Least acceptable value: recall=0.8, as often as wanted."),
]
Rate = Annotated[
    float,
    typer.Option("--rate", help="Chance of any false alarm in 1,000 batches if nothing changes."),
]
Order = Annotated[
    str,
    typer.Option("--order", help="Order of the batches: at (observed) or recorded_at (arrived)."),
]
Since = Annotated[
    str | None,
    typer.Option("--since", help="Only alarms of batches from this time on (ISO 8601, UTC)."),
]
Reference = Annotated[
    int | None,
    typer.Option("--reference", help="How many first batches later ones are compared with."),
]


@monitor.command()
def add(
    store: Store,
    batch: Annotated[str, typer.Option("--batch", help="Name of the batch, taken once.")],
    file: Annotated[
        str,
        typer.Argument(help="CSV or Parquet file of predictions; - is a CSV on standard input."),
    ] = "-",
    classifier: Classifier = "classifier",
    actual: Actual = "actual",
    predicted: Predicted = "predicted",
    positive: Positive = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", help="A class, as often as there are: those of the first batch."),
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", help="When it was evaluated (ISO 8601, UTC); default now.")
    ] = None,
    corrects: Annotated[
        str | None, typer.Option("--corrects", help="The batch that this one replaces.")
    ] = None,
) -> None:
    """Record a batch of predictions. The same batch again changes nothing."""
    from bayescm.online import Monitor

    with Monitor(store, classifier) as opened:
        known = _known(opened, label, positive)
        counts = _read(file, actual=actual, predicted=predicted, **known)
        added = opened.add(batch, counts, at, corrects=corrects)
    say = "recorded" if added else "was there already, nothing changed"
    print(f"batch {batch} of {classifier}: {counts.values.sum()} examples, {say}")


def _known(opened, label, positive):
    """Return labels and positive class: those of the classifier, where the ledger has it."""
    given = {"labels": label, "positive": positive}
    template = opened.labels()
    if template is None:
        return given
    stored = {
        "labels": template["actual"].values.tolist(),
        "positive": template["positive"].item() if "positive" in template.coords else None,
    }
    return {name: value or stored[name] for name, value in given.items()}


def _read(file, **columns):
    from bayescm.evidence import read

    if file != "-":
        return read(file, **columns)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "standard input.csv"  # the name that an error says
        with copy.open("wb") as opened:
            shutil.copyfileobj(sys.stdin.buffer, opened)
        return read(copy, **columns)


@monitor.command()
def status(
    store: Store,
    classifier: Annotated[
        str | None, typer.Option("--classifier", help="One of them; all if not given.")
    ] = None,
    measure: Measures = None,
    prob: Prob = 0.95,
    kind: KindOption = Kind.hdi,
    concentration: Concentration = None,
    forgetting: Forgetting = 1.0,
    window: Window = None,
    order: Order = "at",
    style: FormatOption = Format.table,
) -> None:
    """Show what is known now of every classifier in the store."""
    import pandas as pd

    from bayescm.cli.output import show
    from bayescm.online.store.ledger import Ledger

    settings = _settings(concentration, forgetting, window, measure, order)
    with Ledger(store, create=False) as ledger:
        names = ledger.classifiers() if classifier is None else [classifier]
        parts = [_now(ledger, name, prob, kind.value, settings) for name in names]
    show(pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(), style.value)


def _now(ledger, classifier, prob, kind, settings):
    """Return one row per measure of a classifier."""
    from bayescm.online import Monitor

    opened = Monitor(ledger, classifier, **settings)
    last = ledger.last(classifier)
    frame = opened.summary(prob=prob, kind=kind)
    about = {
        "classifier": classifier,
        "batches": last.batches,
        "examples": _examples(opened, last),
        "latest": last.latest[:19] + "Z",
    }
    for place, (name, value) in enumerate(about.items()):
        frame.insert(place, name, value)
    return frame.drop(columns=["how", "error", "undefined", "sd"], errors="ignore")


def _examples(opened, last):
    if last.total is None:
        return float(opened.batches().sum())
    return sum(each for row in json.loads(last.total) for each in row)


def _settings(concentration, forgetting, window, measure, order) -> dict[str, Any]:
    return {
        "concentration": concentration,
        "forgetting": forgetting,
        "window": window,
        "measures": measure,
        "order": order,
    }


@monitor.command()
def history(
    store: Store,
    classifier: Classifier = "classifier",
    measure: Measures = None,
    prob: Prob = 0.95,
    kind: KindOption = Kind.hdi,
    of: Annotated[
        str, typer.Option("--of", help="The measure itself (parameter), or predictive.")
    ] = "parameter",
    n: Annotated[int | None, typer.Option("--n", help="Examples of the next batch.")] = None,
    concentration: Concentration = None,
    forgetting: Forgetting = 1.0,
    window: Window = None,
    order: Order = "at",
    style: FormatOption = Format.table,
) -> None:
    """Show the interval of every measure after every batch."""
    from bayescm.cli.output import show

    settings = _settings(concentration, forgetting, window, measure, order)
    with _opened(store, classifier, settings) as opened:
        ends = opened.history(prob=prob, kind=kind.value, of=of, n=n)
    frame = (
        ends.drop_vars(["positive", "recorded_at"], errors="ignore").to_dataframe().reset_index()
    )
    keys = [name for name in ("batch_id", "at", "n", "class") if name in frame.columns]
    long = frame.melt([*keys, "step", "bound"], list(ends.data_vars), var_name="measure")
    wide = long.pivot(index=["step", *keys, "measure"], columns="bound", values="value")
    show(wide.reset_index().rename_axis(columns=None), style.value)


@monitor.command()
def alarms(
    store: Store,
    classifier: Classifier = "classifier",
    measure: Measures = None,
    rate: Rate = 0.05,
    floor: Floors = None,
    reference: Reference = None,
    concentration: Concentration = None,
    forgetting: Forgetting = 1.0,
    window: Window = None,
    order: Order = "at",
    since: Since = None,
    new: Annotated[
        bool, typer.Option("--new", help="Only alarms that have not been acknowledged.")
    ] = False,
    exit_code: Annotated[
        bool,
        typer.Option("--exit-code", help="Leave with status 1 where an alarm is not acknowledged."),
    ] = False,
    style: FormatOption = Format.table,
) -> int:
    """List the alarms so far."""
    from bayescm.cli.output import show

    rules: dict[str, Any] = {"rate": rate, "floor": _floors(floor), "reference": reference}
    settings = _settings(concentration, forgetting, window, measure, order)
    with _opened(store, classifier, settings) as opened:
        found = opened.alarms(since=since, new=new, **rules)
    show(found, style.value, f"{len(found)} alarms")
    return int(exit_code and not found["acknowledged"].all())


@monitor.command()
def acknowledge(
    store: Store,
    classifier: Classifier = "classifier",
    batch: Annotated[
        list[str] | None,
        typer.Option("--batch", help="Only alarms that this batch raised. May be repeated."),
    ] = None,
    note: Annotated[str, typer.Option("--note", help="What was found, kept beside it.")] = "",
    measure: Measures = None,
    rate: Rate = 0.05,
    floor: Floors = None,
    reference: Reference = None,
    since: Since = None,
    concentration: Concentration = None,
    forgetting: Forgetting = 1.0,
    window: Window = None,
    order: Order = "at",
) -> None:
    """Acknowledge the alarms of the same rules: they are no longer new."""
    rules: dict[str, Any] = {"rate": rate, "floor": _floors(floor), "reference": reference}
    settings = _settings(concentration, forgetting, window, measure, order)
    with _opened(store, classifier, settings) as opened:
        found = opened.alarms(since=since, new=True, **rules)
        if batch:
            found = found[found["batch_id"].isin(batch)]
        print(f"{opened.acknowledge(found, note=note)} alarms acknowledged")


@monitor.command()
def verify(store: Store, style: FormatOption = Format.table) -> int:
    """Check every entry against its hash; leave with status 1 where any is damaged."""
    from bayescm.cli.output import show
    from bayescm.online import verify as check

    found = check(store)
    show(found, style.value)
    return int(not found["whole"].all())


@monitor.command()
def backup(
    store: Store, path: Annotated[Path, typer.Argument(help="A new file, itself a ledger.")]
) -> None:
    """Copy the ledger as it is at this moment; others may go on writing."""
    from bayescm.online import backup as copy

    found = copy(store, path)
    print(f"{found['entries'].sum()} entries of {len(found)} classifiers in {path}, each checked")


@monitor.command()
def restore(path: Annotated[Path, typer.Argument(help="What backup wrote.")], store: Store) -> None:
    """Make a new ledger of a backup: a new file, or in an empty database of PostgreSQL."""
    from bayescm.online import restore as copy

    found = copy(path, store)
    print(f"{found['entries'].sum()} entries of {len(found)} classifiers restored, each checked")


def _floors(given):
    """Return floors by measure from texts such as recall=0.8."""
    from bayescm.validate import fail

    floors = {}
    for each in given or []:
        name, _, value = each.rpartition("=")
        try:
            floors[name] = float(value)
        except ValueError:
            name = ""
        if not name:
            raise fail("cannot read the floor", each, "measure=value", "write e.g. recall=0.8")
    return floors or None


def _opened(store, classifier, settings):
    from bayescm.online import Monitor
    from bayescm.online.store.ledger import Ledger

    return Monitor(Ledger(store, create=False), classifier, **settings)


@monitor.command()
def plot(
    store: Store,
    out: Annotated[Path, typer.Option("--out", "-o", help="A picture: .png, .svg or .pdf.")],
    classifier: Classifier = "classifier",
    measure: Measures = None,
    prob: Prob = 0.95,
    kind: KindOption = Kind.hdi,
    rate: Rate = 0.05,
    floor: Floors = None,
    reference: Reference = None,
    concentration: Concentration = None,
    forgetting: Forgetting = 1.0,
    window: Window = None,
    order: Order = "at",
) -> None:
    """Draw the history with its alarms."""
    from bayescm.cli.output import check_picture, save_picture

    check_picture(out)
    settings = _settings(concentration, forgetting, window, measure, order)
    rules: dict[str, Any] = {"rate": rate, "floor": _floors(floor), "reference": reference}
    with _opened(store, classifier, settings) as opened:
        save_picture(opened.plot(prob=prob, kind=kind.value, **rules), out)


@monitor.command()
def export(store: Store, style: FormatOption = Format.csv) -> None:
    """Write every entry of the ledger, corrected ones too: counts, times, labels."""
    from bayescm.cli.output import show
    from bayescm.online.store.ledger import Ledger

    with Ledger(store, create=False) as ledger:
        show(ledger.table(), style.value)
