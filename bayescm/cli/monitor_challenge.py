"""``bayescm monitor challenge``: a champion and its challenger, batch by batch."""

from typing import Annotated, Any

import typer

from bayescm.cli.monitor_options import Store
from bayescm.cli.options import Actual, Format, FormatOption, Positive


def challenge(
    store: Store,
    name: Annotated[str, typer.Option("--name", help="Of the challenge.")] = "challenge",
    file: Annotated[
        str | None,
        typer.Argument(help="CSV or Parquet file of a new batch; without it nothing is added."),
    ] = None,
    batch: Annotated[
        str | None, typer.Option("--batch", help="Name of the batch, taken once.")
    ] = None,
    actual: Actual = "actual",
    champion: Annotated[
        str, typer.Option("--champion", help="Column of the champion's predictions.")
    ] = "champion",
    challenger: Annotated[
        str, typer.Option("--challenger", help="Column of the challenger's predictions.")
    ] = "challenger",
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
    measure: Annotated[
        str, typer.Option("--measure", "-m", help="What the challenger is to be better at.")
    ] = "accuracy",
    margin: Annotated[float, typer.Option("--margin", help="By how much, at least.")] = 0.0,
    prob: Annotated[
        float, typer.Option("--prob", help="The probability at which it is promoted.")
    ] = 0.95,
    planned: Annotated[
        int | None, typer.Option("--planned", help="The examples that there will be at most.")
    ] = None,
    style: FormatOption = Format.table,
) -> None:
    """Add a batch of both, and say whether the challenger is to be promoted."""
    from bayescm.cli import evidence
    from bayescm.cli.output import show
    from bayescm.online import Challenge
    from bayescm.online.ledger import Ledger
    from bayescm.validate import fail

    ledger = Ledger(store, create=file is not None)
    rule: dict[str, Any] = {"margin": margin, "prob": prob, "planned": planned}
    with Challenge(ledger, name, measure=measure, **rule) as opened:
        if file is not None:
            if batch is None:
                todo = "add --batch monday"
                raise fail("the batch has no name", ..., "a name, taken once", todo)
            stored = ledger.challenges().get(name, {"labels": None, "positive": None})
            known: dict[str, Any] = {"labels": label or stored["labels"]}
            known["positive"] = positive or stored["positive"]
            columns = {"predicted": [champion, challenger], "actual": actual}
            outcomes = evidence.from_file(file, **columns, **known)
            opened.add(batch, outcomes, at, corrects=corrects)
        found = opened.history()
    show(found, style.value, f"{name}: {found['decision'].iloc[-1]}")
