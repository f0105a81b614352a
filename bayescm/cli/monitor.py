"""``bayescm monitor``: an evaluation that goes on, batch after batch, kept in a ledger."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bayescm.cli.monitor_add import add
from bayescm.cli.monitor_challenge import challenge
from bayescm.cli.monitor_notify import notify
from bayescm.cli.monitor_options import (
    Classifier,
    Floors,
    Forgetting,
    Order,
    Rate,
    Reference,
    Since,
    Store,
    Tolerances,
    Window,
    chosen,
)
from bayescm.cli.monitor_serve import serve
from bayescm.cli.monitor_upkeep import backup, export, restore, roll_up, verify
from bayescm.cli.options import (
    Concentration,
    Format,
    FormatOption,
    Kind,
    KindOption,
    Measures,
    Prob,
)

monitor = typer.Typer(
    help="Evaluate batch after batch; every batch is kept in a ledger.", no_args_is_help=True
)

monitor.command()(add)


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
    from bayescm.online.ledger import Ledger

    settings = _settings(concentration, forgetting, window, measure, order)
    with Ledger(store, create=False) as ledger:
        names = ledger.classifiers() if classifier is None else [classifier]
        parts = [_now(ledger, name, prob, kind.value, settings) for name in names]
    told = zip(names, [part.attrs.get("caution") for part in parts], strict=True)
    said = [f"{name}: {caution}" for name, caution in told if caution]
    found = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    found.attrs = {"caution": "; ".join(said)} if said else {}
    show(found, style.value)


def _now(ledger, classifier, prob, kind, settings):
    """Return one row per measure of a classifier."""
    from bayescm.online.opening import among_others

    opened = among_others(ledger, classifier, settings)
    last = ledger.last(classifier)
    frame = opened.summary(prob=prob, kind=kind)
    about = {
        "classifier": classifier,
        "batches": last.batches,
        "examples": opened.n_examples(),
        "latest": last.latest[:19] + "Z",
    }
    for place, (name, value) in enumerate(about.items()):
        frame.insert(place, name, value)
    return frame.drop(columns=["how", "error", "undefined", "sd"], errors="ignore")


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
        asked = {"of": of, "n": n} if (of, n) != ("parameter", None) else {}
        ends = opened.history(prob=prob, kind=kind.value, **asked)
    frame = (
        ends.drop_vars(["positive", "recorded_at"], errors="ignore").to_dataframe().reset_index()
    )
    keys = [name for name in ("batch_id", "at", "n", "class") if name in frame.columns]
    long = frame.melt([*keys, "step", "bound"], list(ends.data_vars), var_name="measure")
    wide = long.pivot(index=["step", *keys, "measure"], columns="bound", values="value")
    found = wide.reset_index().rename_axis(columns=None)
    found.attrs = {name: ends.attrs[name] for name in ("caution",) if name in ends.attrs}
    show(found, style.value)


@monitor.command()
def alarms(
    store: Store,
    classifier: Classifier = "classifier",
    measure: Measures = None,
    rate: Rate = 0.05,
    floor: Floors = None,
    reference: Reference = None,
    tolerance: Tolerances = None,
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

    rules = chosen(rate, floor, reference, tolerance)
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
    tolerance: Tolerances = None,
    since: Since = None,
    concentration: Concentration = None,
    forgetting: Forgetting = 1.0,
    window: Window = None,
    order: Order = "at",
) -> None:
    """Acknowledge the alarms of the same rules: they are no longer new."""
    rules = chosen(rate, floor, reference, tolerance)
    settings = _settings(concentration, forgetting, window, measure, order)
    with _opened(store, classifier, settings) as opened:
        found = opened.alarms(since=since, new=True, **rules)
        if batch:
            found = found[found["batch_id"].isin(batch)]
        print(f"{opened.acknowledge(found, note=note)} alarms acknowledged")


def _opened(store, classifier, settings):
    from bayescm.online import opened

    return opened(store, classifier, **settings)


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
    tolerance: Tolerances = None,
    concentration: Concentration = None,
    forgetting: Forgetting = 1.0,
    window: Window = None,
    order: Order = "at",
) -> None:
    """Draw the history with its alarms."""
    from bayescm.cli.output import check_picture, save_picture

    check_picture(out)
    settings = _settings(concentration, forgetting, window, measure, order)
    rules = chosen(rate, floor, reference, tolerance)
    with _opened(store, classifier, settings) as opened:
        save_picture(opened.plot(prob=prob, kind=kind.value, **rules), out)


for command in (challenge, notify, serve, verify, backup, restore, roll_up, export):
    monitor.command()(command)
