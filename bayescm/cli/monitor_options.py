"""The options that commands of ``bayescm monitor`` share."""

from typing import Annotated, Any

import typer

Store = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="BAYESCM_STORE",
        help="The ledger: a file, sqlite:///FILE or postgresql://USER@HOST/DATABASE. An address "
        "with a password is better given in the environment.",
        show_default=False,
    ),
]
Classifier = Annotated[str, typer.Option("--classifier", help="Whose evaluation it is.")]
Forgetting = Annotated[
    float, typer.Option("--forgetting", help="What earlier evidence is worth after each batch.")
]
Window = Annotated[
    int | None, typer.Option("--window", help="How many of the latest batches count.")
]
Floors = Annotated[
    list[str] | None,
    typer.Option("--floor", help="Least acceptable value: recall=0.8, as often as wanted."),
]
Tolerances = Annotated[
    list[str] | None,
    typer.Option(
        "--tolerance",
        help="Of probabilities: how far from what right ones would show: calibration_slope=0.2.",
    ),
]
Rate = Annotated[
    float,
    typer.Option("--rate", help="Chance of any false alarm in 1,000 batches if nothing changes."),
]
Order = Annotated[
    str,
    typer.Option("--order", help="Order of the batches: at (observed) or recorded_at (arrived)."),
]
Since = Annotated[
    str | None,
    typer.Option("--since", help="Only alarms of batches from this time on (ISO 8601, UTC)."),
]
Reference = Annotated[
    int | None,
    typer.Option("--reference", help="How many first batches later ones are compared with."),
]


def chosen(rate, floor, reference, tolerance) -> dict[str, Any]:
    """Return the rules that were asked for."""
    rules = {"floor": by_measure(floor), "tolerance": by_measure(tolerance, "tolerance")}
    rules["reference"] = reference
    return {"rate": rate} | {name: each for name, each in rules.items() if each is not None}


def by_measure(given: list[str] | None, what: str = "floor") -> dict[str, float] | None:
    """Return numbers by measure from texts such as recall=0.8."""
    from bayescm.validate import fail

    found = {}
    for each in given or []:
        name, _, value = each.rpartition("=")
        try:
            found[name] = float(value)
        except ValueError:
            name = ""
        if not name:
            raise fail(f"cannot read the {what}", each, "measure=value", "write e.g. recall=0.8")
    return found or None
