"""``bayescm monitor notify``: alarms are handed to a command, a URL or the log."""

import logging
from typing import Annotated, Any

import typer

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
from bayescm.cli.options import Concentration, Format, FormatOption, Measures


def notify(
    store: Store,
    classifier: Classifier = "classifier",
    command: Annotated[
        list[str] | None,
        typer.Option("--command", help="Run this for each alarm, which is JSON on its input."),
    ] = None,
    url: Annotated[
        list[str] | None, typer.Option("--url", help="Post each alarm here, as JSON.")
    ] = None,
    secret: Annotated[
        str | None,
        typer.Option(
            "--secret",
            envvar="BAYESCM_HOOK_SECRET",
            show_envvar=True,
            help="Signs what is posted; better given in the environment.",
        ),
    ] = None,
    log: Annotated[bool, typer.Option("--log", help="Write each alarm to standard error.")] = False,
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
    style: FormatOption = Format.table,
) -> int:
    """Hand new alarms over, each at most once; leave with status 1 where that failed."""
    from bayescm.cli.output import show
    from bayescm.online import notify, opened, to_command, to_log, to_url
    from bayescm.validate import fail

    hooks = [to_command(each) for each in command or []]
    hooks += [to_url(each, secret=secret) for each in url or []]
    if log:
        logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
        hooks.append(to_log())
    if not hooks:
        todo = "add --url https://..., --command '...' or --log"
        raise fail("nobody to hand alarms to", ..., "a URL, a command or the log", todo)
    rules = chosen(rate, floor, reference, tolerance)
    settings: dict[str, Any] = {"concentration": concentration, "forgetting": forgetting}
    settings |= {"window": window, "measures": measure, "order": order}
    with opened(store, classifier, **settings) as monitor:
        found = notify(monitor, *hooks, since=since, **rules)
    shown = found[["batch_id", "at", "rule", "measure", "hook", "problem"]]
    show(shown, style.value, f"{len(found)} handed over, {(found['problem'] != '').sum()} failed")
    return int((found["problem"] != "").any())
