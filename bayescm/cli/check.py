"""``bayescm check``: a gate that a classifier passes, fails, or of which it is not yet known."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from bayescm.cli.options import (
    Actual,
    Classifiers,
    Concentration,
    File,
    Fold,
    Format,
    FormatOption,
    Labels,
    Model,
    NumericLabels,
    Positive,
)
from bayescm.validate import fail, suggest

STATUS = {"failed": 1, "not yet known": 3, "met": 0}
_KEYS = ("require", "level", "by", "actual", "predicted", "positive", "model", "label")


def check(
    file: File,
    require: Annotated[
        list[str] | None,
        typer.Option("--require", help='Such as "recall > 0.9 @ 0.95"; repeat for several.'),
    ] = None,
    requirements: Annotated[
        Path | None,
        typer.Option("--requirements", help="TOML file: require = [...], level, by, positive ..."),
    ] = None,
    actual: Actual = None,
    predicted: Classifiers = None,
    positive: Positive = None,
    label: Labels = None,
    numeric_labels: NumericLabels = False,
    fold: Fold = None,
    by: Annotated[
        str | None,
        typer.Option("--by", "--group", help="Column: every requirement for each of its values."),
    ] = None,
    level: Annotated[
        float | None,
        typer.Option("--level", help="Probability asked for where none is given; default 0.95."),
    ] = None,
    model: Model = None,
    concentration: Concentration = None,
    style: FormatOption = Format.table,
    junit: Annotated[
        Path | None, typer.Option("--junit", help="Write the outcomes here as JUnit XML.")
    ] = None,
) -> None:
    """Exit with 0 if all requirements are met, 1 if one fails, 3 if one is not yet known."""
    from bayescm.answers.check import check
    from bayescm.cli import evidence
    from bayescm.cli.output import show
    from bayescm.cli.summary import facts

    given = {"require": require, "level": level, "by": by, "actual": actual}
    given |= {"predicted": predicted, "positive": positive, "model": model, "label": label}
    told = _read(requirements) | {name: each for name, each in given.items() if each is not None}
    if not told.get("require"):
        todo = 'pass --require "recall > 0.9 @ 0.95", or --requirements FILE'
        raise fail("nothing is required", ..., "--require or --requirements", todo)
    wanted = {"level": told.get("level", 0.95), "by": told.get("by")}
    known = _evidence(file, told, fold=fold, numeric_labels=numeric_labels)
    asked = evidence.asked(told.get("model"))
    prior = evidence.prior(concentration, known)
    table = check(known, told["require"], **wanted, **asked, **prior)
    if junit is not None:
        _write_junit(table, junit)
    people = style in (Format.table, Format.markdown)
    shown = table.rename(columns={"needed": "would decide it"}) if people else table
    show(shown, style.value, facts=facts(known, **asked))
    raise typer.Exit(next(code for name, code in STATUS.items() if name in {*table["outcome"]}))


def _read(path) -> dict[str, Any]:
    """Return what a file of requirements says, at its top or under [bayescm]."""
    if path is None:
        return {}
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as problem:
        todo = "check its syntax"
        raise fail(f"{path.name} cannot be read", str(problem), "TOML", todo) from None
    told = told.get("bayescm", told)
    for name in told:
        if name not in _KEYS:
            raise fail(f"unknown key in {path.name}", name, _KEYS, suggest(name, _KEYS))
    if isinstance(told.get("predicted"), str):
        told["predicted"] = [told["predicted"]]
    return told


def _evidence(file, told, **options):
    """Read the columns that the requirements speak of, beside those of the classifiers."""
    from bayescm.answers.requirements import parse
    from bayescm.cli.evidence import from_file

    parsed = [parse(each) for each in told["require"]]
    terms = [term for each in parsed for term in (each.first, each.second) if term is not None]
    named = [term.where["classifier"] for term in terms if "classifier" in term.where]
    parts = {dim: dim for term in terms for dim in term.where if dim not in ("classifier", "class")}
    if told.get("by"):
        parts[told["by"]] = told["by"]
    columns = {name: told.get(name) for name in ("actual", "positive")}
    predicted = told.get("predicted")
    if named:
        predicted = list(dict.fromkeys([*(predicted or ["predicted"]), *named]))
    return from_file(
        file, predicted=predicted, labels=told.get("label"), **columns, **parts, **options
    )


def _write_junit(table, path):
    """Write one test case for each requirement; what is not yet known is skipped."""
    from xml.etree import ElementTree as tree

    from bayescm.cli.output import printable
    from bayescm.evidence.files import replacing

    outcomes = table["outcome"].tolist()
    suite = tree.Element("testsuite", name="bayescm", tests=str(len(outcomes)))
    suite.set("failures", str(outcomes.count("failed")))
    suite.set("skipped", str(outcomes.count("not yet known")))
    known = {"requirement", "probability", "level", "outcome", "needed"}
    for row in table.to_dict("records"):
        where = "".join(f" [{name}={row[name]}]" for name in row if name not in known)
        name = printable(row["requirement"] + where)
        case = tree.SubElement(suite, "testcase", classname="bayescm.check", name=name)
        said = f"probability {row['probability']:.4g}, asked for {row['level']:.4g}"
        if row["outcome"] == "failed":
            tree.SubElement(case, "failure", message=said)
        elif row["outcome"] == "not yet known":
            more = f"; {row['needed']} would decide it" if row["needed"] else ""
            tree.SubElement(case, "skipped", message=said + more)
    with replacing(path) as part:
        tree.ElementTree(suite).write(part, encoding="utf-8", xml_declaration=True)
