"""Output of the commands: a description of the evidence, a table for people or programs, a plot."""

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from bayescm.answers.tables import decimals, in_text
from bayescm.cli.options import Format, Output

# Absolute values below this limit are printed for people as <1e-9.
_NOTHING = 1e-9


def show(
    frame: pd.DataFrame,
    output: Output | str,
    header: str = "",
    *,
    facts: Mapping[str, Any] | None = None,
    picture: Callable[[], Any] | None = None,
    files: Callable[[], None] | None = None,
    hidden: Iterable[str] = (),
    renamed: Mapping[str, str] | None = None,
    closing: str = "",
    by_column: bool = False,
) -> None:
    """
    Print the table of a command and save its plot, as the last step of the command.

    Options that had no effect raise an error first. Formats for programs (``csv``, ``json``)
    contain all digits and no header. Formats for people (``table``, ``markdown``) contain four
    significant digits, or fewer if the numerical error is larger, and no control characters. The
    ``caution`` of the table is printed to stderr.

    Parameters
    ----------
    frame : DataFrame
    output : Output or str
        Options for printing, or only the format.
    header, closing : str
        Text above and below a table for people.
    facts : mapping, optional
        Values that are the same in all rows, for JSON.
    picture : callable, optional
        Returns the figure of ``--plot``.
    files : callable, optional
        Writes other files of the command.
    hidden : iterable of str
        Columns that are left out of a table for people.
    renamed : mapping, optional
        New column names in a table for people.
    by_column : bool
        Whether all rows of a column have the same number of decimals.
    """
    if isinstance(output, str):
        output = Output(style=Format(output))
    path = output.keywords("plot").get("plot") if picture is not None else None
    figure = picture() if picture is not None and path is not None else None
    safe = output.style == "csv" and bool(output.keywords("safe_csv"))
    output.refuse_unread()
    if files is not None:
        files()
    if path is not None:
        save_picture(figure, path)
    if caution := frame.attrs.get("caution"):
        print(f"bayescm: caution: {printable(caution)}", file=sys.stderr)
    times = {str(name): _iso(frame[name]) for name in frame.select_dtypes("datetime")}
    frame = frame.assign(**times)
    if output.style == "csv":
        print((safe_csv(frame) if safe else frame).to_csv(index=False), end="")
    elif output.style == "json":
        constant = {name: value for name, value in (facts or {}).items() if name not in frame}
        complete = frame.assign(**constant)
        written = complete.apply(_with_infinities)
        print(written.to_json(orient="records", double_precision=15, indent=2))
    else:
        if header:
            say(header)
        say_table(
            frame.rename(columns=renamed or {}),
            markdown=output.style == "markdown",
            hidden=hidden,
            by_column=by_column,
        )
        if closing:
            say(closing)


def _with_infinities(column):
    """Convert infinity to strings, because JSON does not support it and null means undefined."""
    if column.dtype.kind != "f" or not np.isinf(column).any():
        return column
    text = np.where(column > 0, "Infinity", "-Infinity")
    return column.astype(object).mask(np.isinf(column), pd.Series(text, column.index))


def note(text: str) -> None:
    """Print a remark to stderr, because programs may read stdout."""
    print(f"bayescm: {printable(text)}", file=sys.stderr)


def say(text: str) -> None:
    """Print text for people."""
    console().print(printable(text), highlight=False)


def say_table(
    frame: pd.DataFrame,
    *,
    markdown: bool = False,
    hidden: Iterable[str] = (),
    by_column: bool = False,
) -> None:
    """
    Print a table for people, without the hidden columns.

    If the table is wider than the terminal, text is wrapped between words. Numbers are never
    wrapped, so a table whose numbers alone are too wide is printed at its full width.
    """
    table = Table(box=box.MARKDOWN if markdown else box.SIMPLE_HEAD)
    shown = frame.drop(columns=list(hidden), errors="ignore")
    texts = in_text(shown, _cell, frame, by_column=by_column)
    spare = 0  # by how much wrapping text between words makes the table narrower
    for column in shown.columns:
        numeric = pd.api.types.is_numeric_dtype(shown[column])
        cells = [_cell(column), *texts[column]]
        words = [word for text in cells for word in text.split()]
        longest, least = (max(map(cell_len, parts)) for parts in (cells, words or [""]))
        whole = numeric or markdown  # a cell of Markdown has one line
        spare += 0 if whole else longest - least
        width = None if whole else least
        justify: Literal["left", "right"] = "right" if numeric else "left"
        table.add_column(cells[0], justify=justify, no_wrap=whole, min_width=width)
    for row in texts.itertuples(index=False):
        table.add_row(*row)
    target = console()
    most = Measurement.get(target, target.options, table).maximum
    bounded = sys.stdout.isatty() or "COLUMNS" in os.environ
    line = shutil.get_terminal_size().columns if bounded else most
    target.print(table, width=line if most - spare <= line else most, soft_wrap=False)


def console() -> Console:
    """
    Return the console for people, which does not wrap lines.

    Labels are printed unchanged: ``recall[cat]`` is not treated as markup.
    """
    return Console(width=1_000_000, soft_wrap=True, markup=False, emoji=False)


def printable(text: str) -> str:
    r"""
    Return text with control characters and marks of the writing direction escaped.

    Examples
    --------
    >>> print(printable("cat\x1b[31m"))
    cat\x1b[31m
    """
    return "".join(
        letter
        if letter.isprintable() or letter == "\n"
        else letter.encode("unicode_escape").decode()
        for letter in text
    )


def safe_csv(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with a ' before text, including column names, that looks like a formula."""
    return frame.map(_no_formula).rename(columns=_no_formula)


def _no_formula(value):
    formula = isinstance(value, str) and value.lstrip(" ").startswith(tuple("=+-@\t\r\n"))
    return f"'{value}" if formula else value


def _iso(times):
    """Format UTC times as ISO 8601, with None for missing times."""
    return times.dt.strftime("%Y-%m-%dT%H:%M:%SZ").where(times.notna(), None)


def _cell(value, error=np.nan):
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else _number(value, error)
    return printable(str(value)).replace("\n", "\\n")


def _number(value, error):
    """Return a number with four significant digits, or fewer if its error is larger."""
    significant = 3 - int(np.floor(np.log10(abs(value)))) if value and np.isfinite(value) else 3
    if (digits := decimals(error, significant)) < significant:
        return f"{round(value, digits) + 0:.{digits}f}"  # + 0 converts -0 to 0
    if value and abs(value) < _NOTHING:
        return f"{'>-' if value < 0 else '<'}{_NOTHING:.0e}".replace("e-0", "e-")
    return f"{value:.4g}"


def save_picture(figure: Any, path: Path) -> None:
    """Save a figure to a temporary file first, so that no incomplete file is left behind."""
    from matplotlib import pyplot as plt

    from bayescm.evidence.files import atomic_write

    try:
        with atomic_write(path) as part:
            figure.savefig(part, dpi=150, bbox_inches="tight")
    finally:
        plt.close(figure)


def rows(columns: Mapping[str, xr.DataArray], dims: Iterable[str] = ()) -> pd.DataFrame:
    """
    Return labelled arrays as columns of a table, with one row per combination of labels.

    Parameters
    ----------
    columns : mapping of str to DataArray
    dims : iterable of str
        Dimensions that come first. Columns with the labels of all dimensions precede the arrays.
    """
    data = xr.Dataset({name: array.reset_coords(drop=True) for name, array in columns.items()})
    order = [dim for dim in dims if dim in data.dims]
    order += [str(dim) for dim in data.dims if dim not in order]
    if not order:
        return pd.DataFrame({name: [array.item()] for name, array in columns.items()})
    return data.to_dataframe(dim_order=order).reset_index()[[*order, *columns]]


def bounds(interval: xr.DataArray) -> dict[str, xr.DataArray]:
    """Return the two bounds of an interval as columns of a table."""
    return {end: interval.sel(bound=end, drop=True) for end in ("lower", "upper")}


def header(evidence: Any, prob: float, kind: str) -> str:
    """Return one line that describes the evidence and the interval."""
    return f"{what_is_evaluated(evidence)}; {prob:.4g} {kind}"


def what_is_evaluated(evidence: Any) -> str:
    """Return the units, classes and systems of evidence; text labels are in quotes."""
    entry = _type_of(evidence)
    name = entry.name
    if name in ITEM_TYPES:
        return _items(evidence, name)
    if name in ("scores", "probabilities"):
        return _scores(evidence)
    if name == "results":
        sizes, measure = evidence.sizes, evidence["measured"].item()
        number = f"{sizes['classifier']} classifiers, {sizes['data_set']} data sets"
        return f"{number}, {sizes['run']} runs of {measure}"
    if not entry.has_cells:
        return entry.describe(evidence)[0].rstrip(".")
    counts = _counts(evidence)
    none = counts["abstain"].item() if "abstain" in counts.coords else None
    labels = [label for label in counts["actual"].values.tolist() if label != none]
    shown = ", ".join(repr(label) for label in labels[:20]) + (", ..." if len(labels) > 20 else "")
    positive = f", positive {counts['positive'].item()}" if "positive" in counts.coords else ""
    positive += f", no answer {none!r}" if none is not None else ""
    number = f"{float(counts.sum()):.15g} examples"
    if name == "partly labelled":
        number += f" labelled of {float(counts.sum() + evidence['unlabelled'].sum()):.15g}"
    if "effective" in counts.coords:
        number = f"weighted examples worth {float(counts.sum()):.4g} (Kish)"
    return f"{number}, {len(labels)} classes: {shown}{positive}"


# Types whose estimand is the population of items unless another one is requested.
ITEM_TYPES = ("attempts", "item scores", "item counts", "multilabel")


def _items(evidence, name):
    """Return the number of items, of clusters and slices, and of systems."""
    from bayescm.evidence.clusters_and_slices import clusters_of, slice_dims

    dim = "example" if name == "multilabel" else "item"
    text = f"{evidence.sizes[dim]} {dim}s"
    if (clusters := clusters_of(evidence, dim)) is not None:
        text += f" in {len({*clusters.tolist()})} clusters"
    slices = " x ".join(f"{evidence.sizes[name]} of {name}" for name in slice_dims(evidence))
    text += f", slices: {slices}" if slices else ""
    text += f", {evidence.sizes['classifier']} systems" if "classifier" in evidence.dims else ""
    if name == "multilabel":
        text += f", {evidence.sizes['label']} labels"
    if name == "attempts":
        least = _fewest_attempts(evidence)
        text += f", {'1 attempt' if least == 1 else f'{least} attempts'} or more at each"
    return text


def _fewest_attempts(evidence):
    return int(evidence["correct"].notnull().sum("attempt").min())


def _scores(evidence):
    number = evidence.sizes["example"]
    folds = f", {len(set(evidence['fold'].values.tolist()))} folds" if "fold" in evidence else ""
    if "class" in evidence.dims:
        return f"{number} examples of {evidence.sizes['class']} classes{folds}"
    label = evidence["positive"].item()
    positive = int((evidence["actual"] == label).sum())
    return f"{number} examples, {positive} positive ({label}){folds}"


def facts(
    evidence: Any,
    *,
    model: str | None = None,
    of: str | None = None,
    n: int | None = None,
    concentration: Any = None,
    **asked: Any,
) -> dict[str, Any]:
    """Return the settings that a program needs in addition to the numbers, except the prior."""
    entry, keywords = _type_of(evidence), {**asked, "of": of or usual_estimand(evidence)}
    if entry.name == "results":
        sizes = evidence.sizes
        found = {"measure": evidence["measured"].item(), "data_sets": sizes["data_set"]}
        return {**found, "runs": sizes["run"], **keywords, "model": "hierarchical_differences"}
    model = model or entry.default_model(evidence, asked).model
    if entry.name in ITEM_TYPES:
        return {**keywords, **_sizes(evidence, entry.name), "model": model}
    if entry.name in ("scores", "probabilities"):
        positive = evidence["positive"].item() if "positive" in evidence else None
        number: float = evidence.sizes["example"]
    elif not entry.has_cells:
        return {**keywords, entry.unit: entry.size(evidence), "model": model}
    else:
        counts = _counts(evidence)
        positive = counts["positive"].item() if "positive" in counts.coords else None
        number = counts.sum().item()
        number = int(number) if number == int(number) else number
    found = {**keywords, "positive": positive, "n": number, "model": model}
    return found if n is None else {**found, "next": n}


def usual_estimand(evidence: Any) -> str:
    """Return the default estimand for the type of the evidence."""
    return "population" if _type_of(evidence).name in ITEM_TYPES else "parameter"


def _sizes(evidence, name):
    if name == "multilabel":
        return {"examples": evidence.sizes["example"], "labels": evidence.sizes["label"]}
    if name == "attempts":
        return {"items": evidence.sizes["item"], "attempts": _fewest_attempts(evidence)}
    return {"items": evidence.sizes["item"]}


def _type_of(evidence):
    from bayescm.evidence.registry import type_of

    return type_of(evidence)


def default_measures(evidence: Any) -> list[str]:
    """Return the default measures of the evidence."""
    return _type_of(evidence).default_measures(evidence)


def _counts(evidence):
    """Return the counts of the first classifier, because all were tested on the same examples."""
    from bayescm.evidence.outcomes import matrices_of

    if _type_of(evidence).name == "ratings":
        from bayescm.fitting.posterior_for import posterior_of

        return posterior_of(evidence).counts.isel(classifier=0, drop=True)
    counts = matrices_of(evidence)
    return counts.isel(classifier=0, drop=True) if "classifier" in counts.dims else counts
