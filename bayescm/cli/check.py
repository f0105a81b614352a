"""``bayescm check``: a gate that a classifier passes, fails, or of which it is not yet known."""

import tomllib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from bayescm.cli.options import (
    Folds,
    Model,
    Options,
    Output,
    Predictions,
    Prior,
    SourceOrTable,
    command,
)
from bayescm.validate import fail, suggest

STATUS = {"failed": 1, "not yet known": 3, "met": 0}
# The keys of a file of requirements, and the options in whose place they stand.
_KEYS = {name: name for name in ("require", "level", "by", "actual", "predicted", "positive")}
_KEYS |= {"model": "model", "label": "labels"}


class Columns(SourceOrTable, Predictions, Folds):
    """The columns of a file of predictions."""


class Requirements(Options):
    """What is required, of which part of the file, and where the outcomes are written."""

    require: Annotated[
        list[str] | None,
        typer.Option("--require", help='Such as "recall > 0.9 @ 0.95"; repeat for several.'),
    ] = None
    requirements: Annotated[
        Path | None,
        typer.Option("--requirements", help="TOML file: require = [...], level, by, positive ..."),
    ] = None
    by: Annotated[
        str | None,
        typer.Option("--by", "--group", help="Column: every requirement for each of its values."),
    ] = None
    level: Annotated[
        float | None,
        typer.Option("--level", help="Probability asked for where none is given; default 0.95."),
    ] = None
    junit: Annotated[
        Path | None, typer.Option("--junit", help="Write the outcomes here as JUnit XML.")
    ] = None


@command
def check(
    columns: Columns, required: Requirements, model: Model, prior: Prior, output: Output
) -> int:
    """Exit with 0 if all requirements are met, 1 if one fails, 3 if one is not yet known."""
    from bayescm.answers.check import check
    from bayescm.cli import evidence
    from bayescm.cli.output import facts_of_counts, show

    if required.requirements is not None:
        values = values_of(required.requirements, _KEYS)
        for options in (required, columns, model):
            options.fill(values)
    if not required.require:
        todo = 'pass --require "recall > 0.9 @ 0.95", or --requirements FILE'
        raise fail("nothing is required", ..., "--require or --requirements", todo)
    _refuse_items(required.require)
    data = _evidence(columns, required)
    keywords: dict[str, Any] = {
        "level": 0.95 if required.level is None else required.level,
        "by": required.by,
    }
    if columns.predicted and len(columns.predicted) > 1:
        keywords["classifier"] = columns.predicted[0]
    keywords |= model.keywords() | evidence.prior(prior, data)
    table = check(data, required.require, **keywords)
    facts, path = facts_of_counts(data, **model.keywords()), required.junit
    junit = None if path is None else partial(write_junit, table, path)
    show(table, output, facts=facts, files=junit, renamed={"needed": "would decide it"})
    return next(code for name, code in STATUS.items() if name in {*table["outcome"]})


# The commands of measures that no table of predictions has.
_COMMANDS = {"item_scores": "items", "attempts": "attempts", "example_cells": "multilabel"}


def _refuse_items(texts):
    """Raise where a requirement is of item scores, repeated answers or several labels."""
    from bayescm.answers.check import parse
    from bayescm.measures.catalogue import resolve

    def is_of(name, variable):
        try:
            resolve(name, variable)
        except (ValueError, TypeError):
            return False
        return True

    for text in texts:
        requirement = parse(text)
        for term in (requirement.first, requirement.second):
            if term is None or is_of(term.measure, ("cells", "curve", "probabilities")):
                continue
            commands = [
                f"bayescm {command}"
                for variable, command in _COMMANDS.items()
                if is_of(term.measure, variable)
            ]
            if commands:
                todo = f"ask {' or '.join(commands)} FILE --require {text!r}"
                raise fail(
                    f"{term.measure} is no measure of predictions", text, "another command", todo
                )


def values_of(path: Path, keys: Mapping[str, str]) -> dict[str, Any]:
    """
    Return what a file of requirements says, at its top or under [bayescm], by keyword.

    Parameters
    ----------
    path : Path
    keys : mapping of str to str
        The keys that it may have, and the options in whose place they stand.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as problem:
        todo = "check its syntax"
        raise fail(f"{path.name} cannot be read", str(problem), "TOML", todo) from None
    content = content.get("bayescm", content)
    for name in content:
        if name not in keys:
            raise fail(f"unknown key in {path.name}", name, list(keys), suggest(name, keys))
    if isinstance(content.get("predicted"), str):
        content["predicted"] = [content["predicted"]]
    return {keys[name]: value for name, value in content.items()}


def _evidence(columns, required):
    """Read the columns that the requirements speak of, beside those of the classifiers."""
    from bayescm.answers.check import parse
    from bayescm.cli import evidence

    parsed = [parse(text) for text in required.require]
    pairs = [(requirement.first, requirement.second) for requirement in parsed]
    terms = [term for pair in pairs for term in pair if term is not None]
    named = [term.where["classifier"] for term in terms if "classifier" in term.where]
    dims = [dim for term in terms for dim in term.where if dim not in ("classifier", "class")]
    by = {dim: dim for dim in [*dims, *([required.by] if required.by else [])]}
    if named:
        predicted = columns.predicted or ["predicted"]
        columns.predicted = list(dict.fromkeys([*predicted, *named]))
    return evidence.from_predictions_options(columns, by | columns.keywords("fold"))


def write_junit(table: Any, path: Path) -> None:
    """Write one test case for each requirement; what is not yet known is skipped."""
    from xml.etree import ElementTree as tree

    from bayescm.cli.output import printable
    from bayescm.evidence.files import atomic_write

    outcomes = table["outcome"].tolist()
    suite = tree.Element("testsuite", name="bayescm", tests=str(len(outcomes)))
    suite.set("failures", str(outcomes.count("failed")))
    suite.set("skipped", str(outcomes.count("not yet known")))
    columns = {"requirement", "mean", "lower", "upper"}
    columns |= {"probability", "level", "outcome", "needed"}
    for row in table.to_dict("records"):
        location = "".join(f" [{name}={row[name]}]" for name in row if name not in columns)
        name = printable(row["requirement"] + location)
        case = tree.SubElement(suite, "testcase", classname="bayescm.check", name=name)
        message = f"{row['mean']:.4g} [{row['lower']:.4g}, {row['upper']:.4g}], "
        message += f"probability {row['probability']:.4g}, asked for {row['level']:.4g}"
        if row["outcome"] == "failed":
            tree.SubElement(case, "failure", message=message)
        elif row["outcome"] == "not yet known":
            further = f"; {row['needed']} would decide it" if row["needed"] else ""
            tree.SubElement(case, "skipped", message=message + further)
        else:
            tree.SubElement(case, "system-out").text = message
    with atomic_write(path) as part:
        tree.ElementTree(suite).write(part, encoding="utf-8", xml_declaration=True)
