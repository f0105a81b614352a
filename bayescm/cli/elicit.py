"""``bayescm elicit``: from three plausible measures to prior pseudo-counts."""

from typing import Annotated

import typer

from bayescm.cli.options import Format, FormatOption
from bayescm.validate import fail


def elicit(
    measure: Annotated[
        list[str],
        typer.Option("--measure", "-m", help="A plausible value, recall=0.65; three of them."),
    ],
    weight: Annotated[
        float, typer.Option("--weight", help="How many examples this knowledge is worth.")
    ],
    style: FormatOption = Format.table,
) -> None:
    """Prior pseudo-counts of two classes that have three given measures."""
    import pandas as pd

    from bayescm import priors
    from bayescm.cli.output import say, show

    prior = priors.elicit(weight=weight, **dict(_pair(each) for each in measure))
    (tn, fp), (fn, tp) = prior.values.tolist()
    cells = {"tp": tp, "fn": fn, "fp": fp, "tn": tn}
    show(pd.DataFrame([cells]), style.value, "prior pseudo-counts", facts={"weight": weight})
    if style is Format.table:
        say("use them as --concentration " + ",".join(f"{count:.6g}" for count in cells.values()))


def _pair(text):
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        todo = "write e.g. -m precision=0.6 -m recall=0.65 -m accuracy=0.6"
        raise fail("cannot read --measure", text, "NAME=VALUE", todo) from None
