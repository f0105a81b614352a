"""``bayescm label``: which examples people should label next."""

from pathlib import Path
from typing import Annotated

import typer

from bayescm.cli.options import (
    Abstain,
    Actual,
    Classifiers,
    File,
    Format,
    FormatOption,
    Judge,
    Labels,
    NumericLabels,
    Positive,
    Prob,
    SafeCsv,
)


def label(
    file: File,
    actual: Actual = None,
    predicted: Classifiers = None,
    judge: Judge = None,
    positive: Positive = None,
    label: Labels = None,
    numeric_labels: NumericLabels = False,
    abstain: Abstain = None,
    measure: Annotated[str, typer.Option("--measure", "-m", help="The measure.")] = "f1",
    budget: Annotated[int, typer.Option("--budget", help="How many more can be labelled.")] = 50,
    batch: Annotated[
        int | None, typer.Option("--batch", help="How many of these to choose now; default all.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the chosen rows here (.csv).")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the choice within a stratum.")] = 0,
    prob: Prob = 0.95,
    style: FormatOption = Format.table,
    safe_csv: SafeCsv = False,
) -> None:
    """Which examples to label next, of those that a judge has seen, to know a measure best."""
    from bayescm.cli import judged, output
    from bayescm.evidence.judged.partly_labelled import from_partly_labelled
    from bayescm.planning.labels import choose, plan_labels
    from bayescm.validate import fail

    if not judge and not predicted:
        todo = "add --judge llm, --predicted yhat or both"
        raise fail("nothing to choose by", ..., "what a judge or a classifier said", todo)
    if out is not None and out.resolve() == Path(file).resolve():
        todo = "give the rows a file of their own"
        raise fail("--out is the file itself", str(out), "another name", todo)
    labels = {"positive": positive, "labels": label, "numeric_labels": numeric_labels}
    data, options = judged.columns(file, judge or [], predicted, actual, abstain=abstain, **labels)
    known = from_partly_labelled(*data, **options)
    plan = plan_labels(known, measure, budget, batch=batch, prob=prob, random_seed=seed)
    if out is not None:
        options.pop("positive")
        _write(file, choose(plan, *data, random_seed=seed, **options), out, safe_csv)
    output.show(plan, style.value, safe=safe_csv)


def _write(file, places, out, safe):
    """Write rows of a file as they are, with the column ``row``, their number from 1."""
    from bayescm.cli.output import safe_csv
    from bayescm.evidence.files import File, replacing
    from bayescm.evidence.reading import read_columns

    rows = read_columns(file, File(file).names).iloc[places]
    if "row" not in rows:
        rows.insert(0, "row", places + 1)
    with replacing(out) as part:
        (safe_csv(rows) if safe else rows).to_csv(part, index=False)
