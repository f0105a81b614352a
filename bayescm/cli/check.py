"""``bayescm check``: requirements that are met, failed or not yet decided."""

import tomllib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from bayescm.cli.columns import Evidence
from bayescm.cli.options import (
    OUTPUT,
    QUESTION,
    BelongsWith,
    Estimand,
    Options,
    Output,
    Prior,
    command,
    option,
)
from bayescm.validate import fail, suggest

STATUS = {"failed": 1, "not yet known": 3, "met": 0}


class Requirements(Options):
    """Requirements, and the output file for their outcomes."""

    require: Annotated[
        list[str] | None,
        option(
            "--require",
            'Requirement, e.g. "recall > 0.9 @ 0.95". Repeat for several.',
            QUESTION,
            "TEXT",
        ),
    ] = None
    requirements: Annotated[
        Path | None,
        option(
            "--requirements",
            "TOML file with a list named require, and options such as level, by and positive.",
            QUESTION,
            "FILE",
        ),
    ] = None
    level: Annotated[
        float | None,
        option(
            "--level",
            "Required probability, if a requirement does not state one. Default: 0.95.",
            QUESTION,
            "SHARE",
        ),
        BelongsWith("--require"),
    ] = None
    junit: Annotated[
        Path | None,
        option("--junit", "Output file for the outcomes, as JUnit XML.", OUTPUT, "FILE"),
        BelongsWith("--require"),
    ] = None


@command(
    'bayescm check predictions.csv --actual y --predicted new --require "recall > 0.9 @ 0.95"',
    'bayescm check scores.csv --item query --score ndcg --range 0,1 --require "mean > 0.6"',
    "bayescm check predictions.csv --requirements gate.toml --junit gate.xml",
)
def check(
    columns: Evidence, required: Requirements, question: Estimand, prior: Prior, output: Output
) -> int:
    """Check requirements. Exit status: 0 if all are met, 1 if any failed, otherwise 3."""
    from bayescm.cli import evidence
    from bayescm.cli.output import ITEM_TYPES

    read_requirements(required, columns, question)
    if not required.require:
        raise fail(
            "No requirement is given",
            ...,
            "",
            'pass --require "recall > 0.9 @ 0.95", or --requirements FILE',
        )
    name = "counts" if columns.file is None else evidence.type_of_options(columns)
    _check_measures(required.require, name)
    if name in ITEM_TYPES:
        data, by, classifier = evidence.read(columns), None, None
    else:
        data, by, classifier = _predictions(columns, required.require, name)
    keywords = question.keywords() | evidence.prior(prior, data)
    return show_outcomes(data, required, keywords, columns, output, by=by, classifier=classifier)


def show_outcomes(
    data: Any,
    required: Requirements,
    keywords: dict[str, Any],
    columns: Options,
    output: Output,
    *,
    by: str | None = None,
    classifier: str | None = None,
) -> int:
    """Print which requirements each system or slice meets, and return the exit status."""
    from bayescm.answers.check import check
    from bayescm.cli.output import ITEM_TYPES, facts, show, what_is_evaluated
    from bayescm.evidence.registry import type_of

    level, top = 0.95 if required.level is None else required.level, ""
    constant = facts(data, **keywords)
    asked = {"of": constant["of"], **keywords, "level": level}
    if type_of(data).name in ITEM_TYPES:
        top, constant = what_is_evaluated(data), constant | {"level": level}
        slices = columns.get("by") or []
        by = "classifier" if data.sizes.get("classifier", 1) > 1 else next(iter(slices), None)
    if classifier is not None:
        asked["classifier"] = classifier
    table = check(data, required.require or [], by=by, **asked)
    junit = None if required.junit is None else partial(write_junit, table, required.junit)
    show(table, output, top, facts=constant, files=junit, renamed={"needed": "would decide it"})
    return next(code for name, code in STATUS.items() if name in {*table["outcome"]})


def read_requirements(required: Requirements, *groups: Options) -> None:
    """Set the options in the file of requirements that are not on the command line."""
    if required.requirements is None:
        return
    allowed = {"require", "level", *(name for group in groups for name in group.names())} - {"file"}
    keys = {"label" if name == "labels" else name: name for name in sorted(allowed)}
    values = values_of(required.requirements, keys)
    for name in ("by", "group", "predicted", "score", "probability", "judge"):
        if isinstance(values.get(name), str):
            values[name] = [values[name]]
    if isinstance(values.get("range"), list):
        values["range"] = ",".join(map(str, values["range"]))
    for group in (required, *groups):
        for name in values.keys() & {*group.names()} - group.on_command_line():
            setattr(group, name, values[name])
    if not required.require:
        todo = "write require = [...] in the file, or pass --require"
        raise fail("{} contains no requirements", required.requirements.name, "", todo)


def _check_measures(texts, name):
    """Raise an error if a requirement and the columns are for different types of evidence."""
    from bayescm.answers.check import parse
    from bayescm.evidence.registry import TYPES, type_named
    from bayescm.measures.catalogue import resolve

    def is_of(measure, entry):
        try:
            resolve(measure, (entry.measured_variable,))
        except (ValueError, TypeError):
            return False
        return True

    if type_named(name).measured_variable is not None:
        return
    needed = [
        (entry, entry.columns.needed[0])
        for entry in TYPES
        if entry.measured_variable and entry.columns
    ]
    for text in texts:
        requirement = parse(text)
        for term in (requirement.first, requirement.second):
            if term is None or _is_of_predictions(term.measure):
                continue
            found = [columns for entry, columns in needed if is_of(term.measure, entry)]
            columns = sorted(" and ".join(f"--{name}" for name in names) for names in found)
            if columns:
                raise fail(
                    f"{term.measure} is not a measure of predictions, so {{}} cannot be checked",
                    text,
                    "",
                    f"name the columns with {', or '.join(columns)}",
                )


def _is_of_predictions(measure):
    from bayescm.measures.catalogue import resolve

    try:
        resolve(measure, ("cells", "curve", "probabilities"))
    except (ValueError, TypeError):
        return False
    return True


def values_of(path: Path, keys: Mapping[str, str]) -> dict[str, Any]:
    """
    Return the settings in a file of requirements, at the top level or in [bayescm], by keyword.

    Parameters
    ----------
    path : Path
    keys : mapping of str to str
        Allowed keys of the file, with the keyword of each.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as problem:
        raise fail(
            f"{path.name} is not valid TOML: {{}}", str(problem), "", "correct its syntax"
        ) from None
    content = content.get("bayescm", content)
    for name in content:
        if name not in keys:
            raise fail(
                f"{path.name} has an unknown key {{}}", name, list(keys), suggest(name, keys)
            )
    return {keys[name]: value for name, value in content.items()}


def _predictions(columns, requirements, name):
    """Return the evidence by the parts in the requirements, the dim of --by and the classifier."""
    from bayescm.answers.check import parse
    from bayescm.cli import evidence

    parsed = [parse(text) for text in requirements]
    terms = [term for one in parsed for term in (one.first, one.second) if term is not None]
    named = [term.where["classifier"] for term in terms if "classifier" in term.where]
    dims = [dim for term in terms for dim in term.where if dim not in ("classifier", "class")]
    if named and name == "counts":
        predicted = columns.predicted or ["predicted"]
        columns.predicted = list(dict.fromkeys([*predicted, *named]))
    if name != "counts" or columns.file is None:
        data = evidence.read(columns)
        return data, "classifier" if data.sizes.get("classifier", 1) > 1 else None, None
    parts = evidence.groups_and_slices(columns)
    if len(parts) > 1:
        raise fail(
            "--by takes one column, but {} were named",
            parts,
            "",
            "run the command once for each column",
        )
    by = {dim: dim for dim in [*dims, *parts]}
    data = evidence.predictions(columns, by | columns.keywords("fold"))
    several = columns.predicted and len(columns.predicted) > 1
    return data, next(iter(parts), None), columns.predicted[0] if several else None


def write_junit(table: Any, path: Path) -> None:
    """Write one test case per requirement. Undecided requirements are marked as skipped."""
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
