"""``bayescm monitor add``: record a batch of predictions."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from bayescm.cli.monitor_options import Classifier, Store
from bayescm.cli.options import Actual, Positive, Predicted


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
