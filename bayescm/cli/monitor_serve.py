"""``bayescm monitor serve``: a dashboard of the ledger."""

from typing import Annotated, Any

import typer

from bayescm.cli.monitor_options import (
    Floors,
    Forgetting,
    Order,
    Rate,
    Reference,
    Store,
    Tolerances,
    Window,
    chosen,
)
from bayescm.cli.options import Concentration, Kind, KindOption, Measures, Prob


def serve(
    store: Store,
    host: Annotated[
        str, typer.Option("--host", help="Where to listen; by default only this machine can ask.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port")] = 8710,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", help="A further name of it, such as that of a proxy."),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="BAYESCM_TOKEN",
            show_envvar=True,
            help="What one must know to acknowledge alarms; better given in the environment.",
        ),
    ] = None,
    measure: Measures = None,
    rate: Rate = 0.05,
    floor: Floors = None,
    reference: Reference = None,
    tolerance: Tolerances = None,
    prob: Prob = 0.95,
    kind: KindOption = Kind.hdi,
    concentration: Concentration = None,
    forgetting: Forgetting = 1.0,
    window: Window = None,
    order: Order = "at",
    better: Annotated[
        str, typer.Option("--challenge-measure", help="What challengers are to be better at.")
    ] = "accuracy",
    margin: Annotated[float, typer.Option("--challenge-margin", help="By how much.")] = 0.0,
    sure: Annotated[
        float, typer.Option("--challenge-prob", help="The probability at which one is promoted.")
    ] = 0.95,
    planned: Annotated[
        int | None, typer.Option("--planned", help="Examples of a challenge, at most.")
    ] = None,
) -> None:
    """Serve a dashboard: classifiers, their alarms, challenges; /metrics, /healthz."""
    from bayescm.online import serve

    settings: dict[str, Any] = {"measures": measure, "concentration": concentration}
    settings |= {"forgetting": forgetting, "window": window, "order": order}
    settings |= chosen(rate, floor, reference, tolerance)
    rule = {"measure": better, "margin": margin, "prob": sure, "planned": planned}
    settings |= {"challenge": rule}
    where: dict[str, Any] = {"host": host, "port": port, "hosts": allow_host or (), "token": token}
    serve(store, **where, prob=prob, kind=kind.value, **settings)
