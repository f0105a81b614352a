"""``bayescm monitor add``: record a batch of predictions."""

import shutil
import sys
import tempfile
from functools import partial
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
    probability: Annotated[
        str | None,
        typer.Option(
            "--probability", help="Column of probabilities, in place of predictions: of these."
        ),
    ] = None,
    edge: Annotated[
        list[float] | None,
        typer.Option("--edge", help="An edge of the bins of probabilities, as often as there are."),
    ] = None,
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
    """Record a batch of predictions or probabilities. The same batch again changes nothing."""
    from bayescm.online import Monitor

    if probability is not None:
        from bayescm.online import ForecastMonitor

        with ForecastMonitor(store, classifier, edges=edge) as kept:
            columns = {"actual": actual, "probability": probability, "positive": positive}
            table = _copied(file, partial(_forecasts, kept=kept, **columns))
            added = kept.add(batch, table, at, corrects=corrects)
        return _say(batch, classifier, table, added)
    with Monitor(store, classifier) as opened:
        known = _known(opened, label, positive)
        counts = _read(file, actual=actual, predicted=predicted, **known)
        added = opened.add(batch, counts, at, corrects=corrects)
    return _say(batch, classifier, counts, added)


def _say(batch, classifier, counts, added):
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

    return _copied(file, partial(read, **columns))


def _forecasts(file, *, kept, actual, probability, positive):
    """Return a table of the probabilities in a file."""
    from bayescm.evidence.reading import as_label, kind_of, read_columns
    from bayescm.online import forecast_table

    frame = read_columns(file, [actual], by=[], numbers=[probability])
    known = kept.labels()
    label = as_label(positive, kind_of(frame[actual]))
    edges = kept.edges
    if known is not None:
        label = known["positive"].item() if label is None else label
        edges = known.attrs["edges"] if edges is None else edges
    columns = frame[actual].to_numpy(), frame[probability].to_numpy()
    return forecast_table(*columns, positive=label, edges=edges)


def _copied(file, take):
    """Read a file; standard input from a copy, which may be read more than once."""
    if file != "-":
        return take(file)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "standard input.csv"  # the name that an error says
        with copy.open("wb") as opened:
            shutil.copyfileobj(sys.stdin.buffer, opened)
        return take(copy)
