"""``bayescm heterogeneity``: how much studies differ, from a table of their TP, FN, FP and TN."""

from typing import Annotated, Any

import typer

from bayescm.cli.options import File, Format, FormatOption, Kind, KindOption, Prob, SafeCsv


def heterogeneity(
    file: File,
    covariate: Annotated[
        list[str] | None,
        typer.Option(
            "--covariate",
            help="A column of studies and its value in the typical one: year=2000, test=ELISA.",
        ),
    ] = None,
    spread: Annotated[float, typer.Option("--spread", help="Scale of its prior.")] = 1.0,
    prob: Prob = 0.95,
    kind: KindOption = Kind.hdi,
    style: FormatOption = Format.table,
    safe_csv: SafeCsv = False,
) -> None:
    """How much studies of a test differ beyond chance (I2), and what goes with it."""
    from bayescm.answers.groups.heterogeneity import heterogeneity, study_covariates
    from bayescm.cli import evidence
    from bayescm.cli.output import show
    from bayescm.cli.summary import facts, header

    studies = evidence.from_file(file)
    keywords: dict[str, Any] = {"spread": spread}
    if covariate:
        keywords["covariates"] = study_covariates(studies, _reference(studies, covariate))
    found = heterogeneity(studies, prob=prob, kind=kind.value, **keywords).reset_index()
    told = facts(studies, prob=prob, kind=kind.value)
    show(found, style.value, header(studies, prob, kind.value), facts=told, safe=safe_csv)


def _reference(studies, given):
    """Return the covariates by the value that the typical study has."""
    from bayescm.validate import fail

    found: dict[str, Any] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals:
            raise fail("no value of a covariate", each, "NAME=VALUE", "pass e.g. year=2000")
        numeric = name in studies.coords and studies[name].dtype.kind in "iuf"
        try:
            found[name] = float(value) if numeric else value
        except ValueError:
            raise fail(f"{name} is a number", value, "a number", "pass e.g. year=2000") from None
    return found
