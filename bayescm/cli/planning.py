"""``bayescm plan``, ``label`` and ``elicit``: sample sizes, examples to label, and priors."""

import warnings
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from bayescm.cli.columns import Evidence, Judges, Predictions, Source
from bayescm.cli.options import (
    OUTPUT,
    QUESTION,
    BelongsWith,
    Interval,
    Options,
    Output,
    Plot,
    Probability,
    SafeOutput,
    command,
    option,
)
from bayescm.validate import fail

DESIGN = "Study design"


class Goal(Options):
    """The goal of a test set: an interval width, a requirement or a difference."""

    measure: Annotated[
        list[str] | None,
        option(
            "--measure -m",
            "Measure to plan for. Repeat for two measures with --above. Default: accuracy.",
            QUESTION,
            "NAME",
        ),
    ] = None
    width: Annotated[
        float | None,
        option("--width", "Largest acceptable width of the interval.", QUESTION, "NUMBER"),
    ] = None
    above: Annotated[
        list[float] | None,
        option(
            "--above",
            "Value that the measure should exceed. Repeat for two measures.",
            QUESTION,
            "NUMBER",
        ),
    ] = None
    difference: Annotated[
        float | None,
        option(
            "--difference",
            "Assumed difference between two classifiers, to plan their comparison.",
            QUESTION,
            "NUMBER",
        ),
    ] = None
    assurance: Annotated[
        float, option("--assurance", "Probability that the goal is reached.", QUESTION, "SHARE")
    ] = 0.9


class Expected(Options):
    """Expected results of the classifiers."""

    expect: Annotated[
        list[float] | None,
        option(
            "--expect",
            "Plausible value of the measure, e.g. 0.85. One per --measure.",
            DESIGN,
            "NUMBER",
        ),
        BelongsWith("--width or --above"),
    ] = None
    pilot: Annotated[
        str | None,
        option(
            "--pilot",
            "Counts TP,FN,FP,TN of a pilot study, instead of --expect.",
            DESIGN,
            "TP,FN,FP,TN",
        ),
        BelongsWith("--width"),
    ] = None
    prevalence: Annotated[
        float | None,
        option(
            "--prevalence",
            "Proportion of positives, to plan the total number of examples.",
            DESIGN,
            "SHARE",
        ),
        BelongsWith("--width or --above"),
    ] = None
    agreement: Annotated[
        float,
        option(
            "--agreement",
            "Proportion of examples for which both classifiers are right or both are wrong.",
            DESIGN,
            "SHARE",
        ),
        BelongsWith("--difference"),
    ] = 0.9


class Certainty(Interval):
    """Required certainty of the conclusion."""

    level: Annotated[
        float,
        option(
            "--level",
            "Required posterior probability that the measure exceeds the value of --above.",
            QUESTION,
            "SHARE",
        ),
        BelongsWith("--above"),
    ] = 0.95
    margin: Annotated[
        float,
        option("--margin", "Non-inferiority margin, e.g. 0.02.", QUESTION, "NUMBER"),
        BelongsWith("--difference"),
    ] = 0.0
    p_better: Annotated[
        float,
        option(
            "--p-better",
            "Required posterior probability that a classifier is better.",
            QUESTION,
            "SHARE",
        ),
        BelongsWith("--difference"),
    ] = 0.95


class TablePlan(Output, Plot):
    """How the plan is printed, and the file of its plot."""


@command(
    "bayescm plan -m recall --expect 0.85 --width 0.1",
    "bayescm plan -m recall --above 0.8 --expect 0.9",
    "bayescm plan scores.csv --item query --score ndcg --range 0,1 -m mean --width 0.05",
)
def plan(
    columns: Evidence, goal: Goal, expected: Expected, certainty: Certainty, output: TablePlan
) -> None:
    """
    Plan the size of a test set for an interval, a requirement, or a difference between classifiers.

    If FILE is given, it contains the evidence of a pilot study.
    """
    from bayescm import planning
    from bayescm.cli.output import show

    goals = {f"--{name}": getattr(goal, name) for name in ("width", "above", "difference")}
    given = [name for name, value in goals.items() if value is not None]
    if len(given) != 1:
        what = "{} are passed together" if given else "No goal is given"
        todo = "pass exactly one of --width, --above or --difference"
        raise fail(what, given or ..., "", todo)
    keywords: dict[str, Any] = goal.keywords("assurance", *[name[2:] for name in goals])
    if columns.file is not None:
        _plan_like(columns, goal, keywords, certainty, output)
        return
    if goal.difference is None:
        keywords |= expected.keywords("expect")
    measures = goal.measure or ["accuracy"]
    if goal.above is None and (len(measures) > 1 or len(keywords.get("expect", [])) > 1):
        raise fail(
            "{} cannot be planned together",
            measures,
            "",
            "plan each separately; to show that two measures both exceed a value, pass two "
            "--above, e.g. --above 0.8 --above 0.7",
        )
    # Plans for one measure take single numbers, and plans for two measures take lists.
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
            raise fail(
                "--above needs --expect", ..., "", "pass a plausible value, e.g. --expect 0.9"
            )
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", UserWarning
            )  # the line below the table contains the same information
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
            raise fail(
                "The plan needs a plausible value",
                ...,
                "",
                "pass --expect 0.85, or the counts of a pilot, --pilot 65,15,35,30",
            )
        keywords |= pilot | certainty.keywords("prob", "kind") | expected.keywords("prevalence")
        frame = planning.plan(measure, **keywords)

        def picture():
            from bayescm.plots import plot_plan

            return plot_plan(measure, n=int(frame["n"].iloc[0]), **keywords)

    show(frame, output, picture=picture, closing=_of_patients(frame, measure))


def _plan_like(columns, goal, keywords, certainty, output):
    """Print the plan for a test set of units like those in a file."""
    from bayescm import planning
    from bayescm.cli import evidence
    from bayescm.cli.output import default_measures, show, what_is_evaluated

    data = evidence.read(columns)
    if goal.difference is not None and evidence.type_name(data) == "item scores":
        frame = planning.plan_item_scores(data, **keywords, **certainty.keywords("prob"))
    elif goal.width is None:
        raise fail(
            "A pilot in a file needs --width",
            ...,
            "",
            "plan the width of an interval, or leave FILE out",
        )
    else:
        names = goal.measure or default_measures(data)[:1]
        if len(names) > 1:
            raise fail(
                "{} cannot be planned together", names, "", "run the command once for each measure"
            )
        keywords |= {"pilot": data, **certainty.keywords("prob", "kind")}
        frame = planning.plan(names[0], **keywords)
    show(frame, output, f"pilot: {what_is_evaluated(data)}")


def _of_patients(frame, measure):
    """Return a sentence on the required examples of a class, and the probability of fewer."""
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
        raise fail(
            "--pilot must be four counts, TP,FN,FP,TN", text, "", "write e.g. --pilot 65,15,35,30"
        ) from None
    return from_cells(tp=tp, fn=fn, fp=fp, tn=tn)


class LabelColumns(Source, Judges, Predictions):
    """The columns of a file whose examples have all been labelled by a judge."""


class Budget(Options):
    """The labelling budget, the measure to estimate, and the file for the chosen examples."""

    measure: Annotated[
        str, option("--measure -m", "Measure to estimate with the labels.", QUESTION, "NAME")
    ] = "f1"
    budget: Annotated[
        int, option("--budget", "Number of examples that can still be labelled.", QUESTION, "N")
    ] = 50
    batch: Annotated[
        int | None,
        option("--batch", "Number of examples to choose now. Default: the budget.", QUESTION, "N"),
    ] = None
    out: Annotated[
        Path | None, option("--out -o", "Output file for the chosen rows (.csv).", OUTPUT, "FILE")
    ] = None
    seed: Annotated[
        int,
        option("--seed", "Random seed for the choice of examples within strata.", QUESTION, "N"),
    ] = 0


@command(
    "bayescm label items.csv --actual human --judge llm --predicted new --positive good "
    "--budget 50 --out chosen.csv"
)
def label(columns: LabelColumns, budget: Budget, interval: Probability, output: SafeOutput) -> None:
    """Choose the next examples to label, given predictions or the labels of a judge."""
    from bayescm.cli import evidence
    from bayescm.cli.output import show
    from bayescm.evidence import from_partly_labelled
    from bayescm.planning.labels import choose, plan_labels

    if not columns.judge and not columns.predicted:
        raise fail(
            "The examples to label are chosen with a judge or a classifier, but neither is given",
            ...,
            "",
            "pass --judge llm, --predicted yhat or both",
        )
    out, seed = budget.out, budget.seed
    file = evidence.check_file(columns)
    if out is not None and out.resolve() == file.resolve():
        raise fail("--out {} is the input file", str(out), "", "choose another name")
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
    """Write the selected rows of a file, with their numbers from 1 in the column ``row``."""
    from bayescm.cli.output import safe_csv
    from bayescm.evidence.files import File, atomic_write, read_columns

    rows = read_columns(file, File(file).names).iloc[selected]
    if "row" not in rows:
        rows.insert(0, "row", selected + 1)
    with atomic_write(out) as part:
        (safe_csv(rows) if safe else rows).to_csv(part, index=False)


class PlausibleMeasures(Options):
    """Plausible values of measures before any data are seen, and their weight."""

    measures: Annotated[
        list[str],
        option(
            "--measure -m",
            "Plausible value of a measure, e.g. recall=0.65. Repeat for three measures.",
            QUESTION,
            "NAME",
        ),
    ]
    weight: Annotated[
        float,
        option(
            "--weight", "Weight of this prior knowledge, as a number of examples.", QUESTION, "N"
        ),
    ]


@command("bayescm elicit -m precision=0.6 -m recall=0.65 -m accuracy=0.6 --weight 20")
def elicit(plausible: PlausibleMeasures, output: Output) -> None:
    """Convert plausible values of three measures to prior pseudo-counts for two classes."""
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
        raise fail("--measure must be NAME=VALUE", text, "", todo) from None
