"""``bayescm plan``, ``label`` and ``elicit``: what to collect, and what is known before."""

import warnings
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from bayescm.cli.options import (
    Abstentions,
    BelongsWith,
    Interval,
    Judges,
    Options,
    Output,
    Plot,
    Predictions,
    Probability,
    SafeOutput,
    Source,
    command,
)
from bayescm.validate import fail


class Goal(Options):
    """What the test set is to show: a width, a requirement or a difference."""

    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", "-m", help="The measure, accuracy by default; two for --above."),
    ] = None
    width: Annotated[
        float | None, typer.Option("--width", help="Largest acceptable width of the interval.")
    ] = None
    above: Annotated[
        list[float] | None,
        typer.Option("--above", help="Show that the measure is larger than this; one for each."),
    ] = None
    difference: Annotated[
        float | None,
        typer.Option("--difference", help="Compare two classifiers that differ by this much."),
    ] = None
    assurance: Annotated[
        float, typer.Option("--assurance", help="Probability that the goal is reached.")
    ] = 0.9


class Expected(Options):
    """What is expected of the classifiers."""

    expect: Annotated[
        list[float] | None,
        typer.Option("--expect", help="Its plausible value, for a proportion; one for each."),
        BelongsWith("--width or --above"),
    ] = None
    pilot: Annotated[
        str | None,
        typer.Option("--pilot", help="Counts of a pilot as TP,FN,FP,TN instead of --expect."),
        BelongsWith("--width"),
    ] = None
    prevalence: Annotated[
        float | None,
        typer.Option(
            "--prevalence",
            help="Proportion of positives: plan in examples (patients), not in positives.",
        ),
        BelongsWith("--width or --above"),
    ] = None
    agreement: Annotated[
        float,
        typer.Option("--agreement", help="Proportion both get right or both wrong."),
        BelongsWith("--difference"),
    ] = 0.9


class Certainty(Interval):
    """How sure the test set is to make of its answer."""

    level: Annotated[
        float,
        typer.Option("--level", help="Posterior probability of that, to be reached."),
        BelongsWith("--above"),
    ] = 0.95
    margin: Annotated[
        float,
        typer.Option("--margin", help="No worse by more than this: non-inferiority."),
        BelongsWith("--difference"),
    ] = 0.0
    p_better: Annotated[
        float,
        typer.Option("--p-better", help="P(better) to be exceeded."),
        BelongsWith("--difference"),
    ] = 0.95


class TablePlan(Output, Plot):
    """How the plan is printed, and where its picture goes."""


@command
def plan(goal: Goal, expected: Expected, certainty: Certainty, output: TablePlan) -> None:
    """Size of the test set for an interval, for a requirement, or to tell two classifiers apart."""
    from bayescm import planning
    from bayescm.cli.output import show

    goals = {f"--{name}": getattr(goal, name) for name in ("width", "above", "difference")}
    if sum(value is not None for value in goals.values()) != 1:
        allowed = "--width, --above or --difference"
        raise fail("only one goal at a time", goals, allowed, "choose one")
    keywords: dict[str, Any] = goal.keywords("assurance", *[name[2:] for name in goals])
    if goal.difference is None:
        keywords |= expected.keywords("expect")
    measures = goal.measure or ["accuracy"]
    if goal.above is None and (len(measures) > 1 or len(keywords.get("expect", [])) > 1):
        todo = "plan each on its own, or what both must exceed by --above .8 --above .7"
        raise fail("several measures", measures, "one, or two with --above", todo)
    # Of one measure numbers, of two lists of them.
    if len(measures) == 1:
        keywords |= {
            name: keywords[name][0]
            for name in ("above", "expect")
            if name in keywords and len(keywords[name]) == 1
        }
    measure = measures[0]
    picture = None
    if goal.above is not None:
        keywords |= expected.keywords("prevalence") | certainty.keywords("level")
        if "expect" not in keywords:
            raise fail("--above needs --expect", ..., "a plausible value", "pass --expect 0.9")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the line below the table says it
            frame = planning.plan_above(measure if len(measures) == 1 else measures, **keywords)
    elif goal.difference is not None:
        keywords |= expected.keywords("agreement") | certainty.keywords("margin", "p_better")
        frame = planning.plan_comparison(measure, **keywords)
    elif measure == "auc":
        keywords |= expected.keywords("prevalence") | certainty.keywords("prob")
        frame = planning.plan_auc(**{"expect": 0.5, **keywords})
    else:
        pilot = {} if expected.pilot is None else {"pilot": _pilot(expected.pilot)}
        if not pilot and "expect" not in keywords:
            todo = "pass --expect 0.85, or the counts of a pilot, --pilot 65,15,35,30"
            raise fail("nothing says which value is plausible", ..., "--expect or --pilot", todo)
        keywords |= pilot | certainty.keywords("prob", "kind") | expected.keywords("prevalence")
        frame = planning.plan(measure, **keywords)

        def picture():
            from bayescm.plots import plot_plan

            return plot_plan(measure, n=int(frame["n"].iloc[0]), **keywords)

    show(frame, output, picture=picture, closing=_of_patients(frame, measure))


def _of_patients(frame, measure):
    """Say how many of one class a plan in examples needs, and how often a test set has fewer."""
    from bayescm.measures import resolve

    if "p_too_few" not in frame:
        return ""
    row = frame.iloc[0]
    needed = f"{row.get('needed', 0):,} {resolve(measure).unit}"
    if "needed_positives" in row:
        needed = f"{row['needed_positives']:,} positives and {row['needed_negatives']:,} negatives"
    return (
        f"If they could be chosen, {needed} would do. A test set of {row['n']:,} examples has "
        f"fewer with probability {row['p_too_few']:.2g}, which the assurance takes into account."
    )


def _pilot(text):
    from bayescm.evidence import from_cells

    try:
        tp, fn, fp, tn = (int(count) for count in text.split(","))
    except ValueError:
        todo = "write them as --pilot 65,15,35,30"
        raise fail("cannot read --pilot", text, "four counts TP,FN,FP,TN", todo) from None
    return from_cells(tp=tp, fn=fn, fp=fp, tn=tn)


class LabelColumns(Source, Predictions, Judges, Abstentions):
    """The columns of a file that a judge has seen whole."""


class Budget(Options):
    """How many examples people can label, of which measure and where they are attribute_dims."""

    measure: Annotated[str, typer.Option("--measure", "-m", help="The measure.")] = "f1"
    budget: Annotated[int, typer.Option("--budget", help="How many more can be labelled.")] = 50
    batch: Annotated[
        int | None, typer.Option("--batch", help="How many of these to choose now; default all.")
    ] = None
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the chosen rows here (.csv).")
    ] = None
    seed: Annotated[int, typer.Option("--seed", help="Of the choice within a stratum.")] = 0


@command
def label(columns: LabelColumns, budget: Budget, interval: Probability, output: SafeOutput) -> None:
    """Which examples to label next, of those that a judge has seen, to know a measure best."""
    from bayescm.cli import evidence
    from bayescm.cli.output import show
    from bayescm.evidence import from_partly_labelled
    from bayescm.planning.labels import choose, plan_labels

    if not columns.judge and not columns.predicted:
        todo = "add --judge llm, --predicted yhat or both"
        raise fail("nothing to choose by", ..., "what a judge or a classifier said", todo)
    out, seed = budget.out, budget.seed
    if out is not None and out.resolve() == Path(columns.file).resolve():
        todo = "give the rows a file of their own"
        raise fail("--out is the file itself", str(out), "another name", todo)
    data, labels = evidence.partly_labelled_columns(columns)
    labelled = from_partly_labelled(*data, **labels)
    keywords: dict[str, Any] = {"batch": budget.batch, "prob": interval.prob, "random_seed": seed}
    table = plan_labels(labelled, budget.measure, budget.budget, **keywords)
    rows = None
    if out is not None:
        labels.pop("positive", None)
        selected = choose(table, *data, random_seed=seed, **labels)
        rows = partial(_write_rows, columns.file, selected, out, safe=output.safe_csv)
    show(table, output, files=rows)


def _write_rows(file, selected, out, *, safe):
    """Write rows of a file as they are, with the column ``row``, their number from 1."""
    from bayescm.cli.output import safe_csv
    from bayescm.evidence.files import File, atomic_write, read_columns

    rows = read_columns(file, File(file).names).iloc[selected]
    if "row" not in rows:
        rows.insert(0, "row", selected + 1)
    with atomic_write(out) as part:
        (safe_csv(rows) if safe else rows).to_csv(part, index=False)


class PlausibleMeasures(Options):
    """What is plausible before any data, and how much that is worth."""

    measures: Annotated[
        list[str],
        typer.Option("--measure", "-m", help="A plausible value, recall=0.65; three of them."),
    ]
    weight: Annotated[
        float, typer.Option("--weight", help="How many examples this knowledge is worth.")
    ]


@command
def elicit(plausible: PlausibleMeasures, output: Output) -> None:
    """Prior pseudo-counts of two classes that have three given measures."""
    import pandas as pd

    from bayescm import priors
    from bayescm.cli.output import show

    values = dict(_measure_and_value(text) for text in plausible.measures)
    prior = priors.elicit(weight=plausible.weight, **values)
    (tn, fp), (fn, tp) = prior.values.tolist()
    cells = {"tp": tp, "fn": fn, "fp": fp, "tn": tn}
    closing = "use them as --concentration " + ",".join(f"{c:.6g}" for c in cells.values())
    frame, facts = pd.DataFrame([cells]), {"weight": plausible.weight}
    closing = closing if output.style == "table" else ""
    show(frame, output, "prior pseudo-counts", facts=facts, closing=closing)


def _measure_and_value(text):
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        todo = "write e.g. -m precision=0.6 -m recall=0.65 -m accuracy=0.6"
        raise fail("cannot read --measure", text, "NAME=VALUE", todo) from None
