"""``bayescm monitor verify``, ``backup``, ``restore``, ``roll-up`` and ``export``: the ledger."""

from pathlib import Path
from typing import Annotated

import typer

from bayescm.cli.monitor_options import Store
from bayescm.cli.options import Format, FormatOption


def verify(store: Store, style: FormatOption = Format.table) -> int:
    """Check every entry against its hash; leave with status 1 where any is damaged."""
    from bayescm.cli.output import show
    from bayescm.online import verify as check

    found = check(store)
    show(found, style.value)
    return int(not found["whole"].all())


def backup(
    store: Store, path: Annotated[Path, typer.Argument(help="A new file, itself a ledger.")]
) -> None:
    """Copy the ledger as it is at this moment; others may go on writing."""
    from bayescm.online import backup as copy

    found = copy(store, path)
    print(f"{found['entries'].sum()} entries of {len(found)} classifiers in {path}, each checked")


def restore(path: Annotated[Path, typer.Argument(help="What backup wrote.")], store: Store) -> None:
    """Make a new ledger of a backup: a new file, or in an empty database of PostgreSQL."""
    from bayescm.online import restore as copy

    found = copy(path, store)
    print(f"{found['entries'].sum()} entries of {len(found)} classifiers restored, each checked")


def roll_up(
    store: Store,
    path: Annotated[Path, typer.Argument(help="A new file, itself a ledger.")],
    before: Annotated[str, typer.Option("--before", help="What is older is summed.")],
    by: Annotated[str, typer.Option("--by", help="One batch a day, month or year.")] = "month",
) -> None:
    """Make a new ledger that keeps the sums of early batches; the old one is not touched."""
    from bayescm.online import roll_up as summed

    found = summed(store, path, before=before, by=by)
    print(
        f"{found['rolled_up'].sum()} batches summed, {found['entries'].sum()} entries of "
        f"{len(found)} classifiers in {path}, each checked"
    )


def export(store: Store, style: FormatOption = Format.csv) -> None:
    """Write every entry of the ledger, corrected ones too: counts, times, labels."""
    from bayescm.cli.output import show
    from bayescm.online.ledger import Ledger

    with Ledger(store, create=False) as ledger:
        show(ledger.table(), style.value)
