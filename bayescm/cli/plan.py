"""``bayescm plan``: how many examples are enough."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bayescm.cli.options import Format, FormatOption, Kind, KindOption, Plot, Prob


def plan(
    measure: Annotated[str, typer.Option("--measure", "-m", help="The measure.")] = "accuracy",
    expect: Annotated[
        float | None, typer.Option("--expect", help="Its plausible value, for a proportion.")
    ] = None,
    width: Annotated[
        float | None, typer.Option("--width", help="Largest acceptable width of the interval.")
    ] = None,
    assurance: Annotated[
        float, typer.Option("--assurance", help="Probability that the goal is reached.")
    ] = 0.9,
    pilot: Annotated[
        str | None,
        typer.Option("--pilot", help="Counts of a pilot as TP,FN,FP,TN instead of --expect."),
    ] = None,
    above: Annotated[
        float | None,
        typer.Option("--above", help="Show that the measure is larger than this."),
    ] = None,
    level: Annotated[
        float, typer.Option("--level", help="Posterior probability of that, to be reached.")
    ] = 0.95,
    difference: Annotated[
        float | None,
        typer.Option("--difference", help="Compare two classifiers that differ by this much."),
    ] = None,
    agreement: Annotated[
        float, typer.Option("--agreement", help="Proportion both get right or both wrong.")
    ] = 0.9,
    prevalence: Annotated[
        float | None, typer.Option("--prevalence", help="Proportion of positives, with -m auc.")
    ] = None,
    margin: Annotated[
        float, typer.Option("--margin", help="No worse by more than this: non-inferiority.")
    ] = 0.0,
    p_better: Annotated[float, typer.Option("--p-better", help="P(better) to be exceeded.")] = 0.95,
    prob: Prob = 0.95,
    kind: KindOption = Kind.hdi,
    style: FormatOption = Format.table,
    plot: Plot = None,
) -> None:
    """Size of the test set for an interval, for a requirement, or to tell two classifiers apart."""
    from bayescm import planning
    from bayescm.cli.output import check_picture, show
    from bayescm.validate import fail

    check_picture(plot)
    goals = {"--width": width, "--above": above, "--difference": difference}
    if sum(each is not None for each in goals.values()) != 1:
        raise fail(
            "only one goal at a time", goals, "--width, --above or --difference", "choose one"
        )
    if above is not None:
        if expect is None:
            raise fail("--above needs --expect", ..., "a plausible value", "pass --expect 0.9")
        goal = {"above": above, "expect": expect, "level": level}
        show(planning.plan_above(measure, assurance=assurance, **goal), style.value)
        return
    if width is None:
        frame = planning.plan_comparison(
            measure,
            difference=difference or 0.0,
            agreement=agreement,
            p_better=p_better,
            margin=margin,
            assurance=assurance,
        )
        show(frame, style.value)
        return
    if measure == "auc":
        area: dict[str, Any] = {} if prevalence is None else {"prevalence": prevalence}
        area |= {"expect": 0.5 if expect is None else expect, "width": width, "prob": prob}
        show(planning.plan_auc(assurance=assurance, **area), style.value)
        return
    truth: dict[str, Any] = {"expect": expect, "pilot": None if pilot is None else _pilot(pilot)}
    interval: dict[str, Any] = {"assurance": assurance, "prob": prob, "kind": kind.value}
    frame = planning.plan(measure, width=width, **truth, **interval)
    if plot is not None:
        _draw(measure, width, int(frame["n"].iloc[0]), {**truth, **interval}, plot)
    show(frame, style.value)


def _pilot(text):
    from bayescm.evidence import from_cells
    from bayescm.validate import fail

    try:
        tp, fn, fp, tn = (int(each) for each in text.split(","))
    except ValueError:
        todo = "write them as --pilot 65,15,35,30"
        raise fail("cannot read --pilot", text, "four counts TP,FN,FP,TN", todo) from None
    return from_cells(tp=tp, fn=fn, fp=fp, tn=tn)


def _draw(measure, width, n, keywords, path: Path):
    from bayescm.cli.output import save_picture
    from bayescm.plots import plot_plan

    save_picture(plot_plan(measure, width=width, n=n, **keywords), path)
