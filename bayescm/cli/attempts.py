"""``bayescm attempts``: pass@k and its relatives, from a file with one row per answer."""

from typing import Annotated, Any

import typer

from bayescm.cli.options import (
    File,
    Format,
    FormatOption,
    Kind,
    KindOption,
    Measures,
    Prob,
    SafeCsv,
)


def attempts(
    file: File,
    item: Annotated[str, typer.Option("--item", help="Column of the items.")] = "item",
    correct: Annotated[
        str | None,
        typer.Option(
            "--correct",
            help="Column that says whether the answer is right: 1 or 0. [default: correct]",
        ),
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option(
            "--answer",
            help="Column of the answers themselves, with --truth instead of --correct, equal "
            "where their text is: majority_at(5) is then the plurality of them.",
        ),
    ] = None,
    truth: Annotated[
        str | None,
        typer.Option("--truth", help="Column of the right answer, the same at each of an item."),
    ] = None,
    attempt: Annotated[
        str | None, typer.Option("--attempt", help="Column of the number of the attempt.")
    ] = None,
    system: Annotated[
        str | None, typer.Option("--system", help="Column of the system that answered.")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group", help="Column of what the items come in, such as the text they are about."
        ),
    ] = None,
    measure: Measures = None,
    of: Annotated[
        str,
        typer.Option(
            "--of", help="population (all items like these), finite (these items) or new (one)."
        ),
    ] = "population",
    compare: Annotated[
        bool, typer.Option("--compare", help="Differences of the systems, on the same items.")
    ] = False,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan", help="How wide the intervals would be with more items, or more attempts."
        ),
    ] = False,
    prob: Prob = 0.95,
    kind: KindOption = Kind.hdi,
    style: FormatOption = Format.table,
    safe_csv: SafeCsv = False,
) -> None:
    """Several answers to each item: mean, pass_at(4), pass_all(4), majority_at(5) ..."""
    from bayescm.answers.compare import compare as compared
    from bayescm.answers.summary import summary
    from bayescm.cli.output import show

    others = {"attempt": attempt, "group": group}
    known = _read(file, item, _told(correct, answer, truth), others, system)
    most = int(known["correct"].notnull().sum("attempt").min())
    wanted = measure or ["mean", f"pass_at({most})", f"pass_all({most})"]
    asked: dict[str, Any] = {"prob": prob, "kind": kind.value, "of": of}
    if plan:
        frame = _planned(known, wanted, asked)
    else:
        frame = (compared if compare else summary)(known, wanted, **asked)
    words = f"{known.sizes['item']} items, {most} attempts or more at each; {prob:.4g} {kind.value}"
    told = {**asked, "items": known.sizes["item"], "attempts": most, "model": "repeated_items"}
    people = style in (Format.table, Format.markdown)
    shown = frame.drop(columns=["sentence"], errors="ignore") if people else frame
    show(shown, style.value, words, facts=told, safe=safe_csv)


def _planned(known, measures, asked):
    """Return the widths to expect of all measures."""
    import pandas as pd

    from bayescm.planning.attempts import plan_attempts

    parts = [plan_attempts(known, each, **asked) for each in measures]
    return pd.concat(parts, ignore_index=True)


def _told(correct, answer, truth):
    """Return the column that says what is right, or those of the answers and of the right ones."""
    from bayescm.validate import fail

    if (answer is None) != (truth is None):
        given = "--answer" if truth is None else "--truth"
        raise fail(f"{given} alone", ..., "--answer and --truth", "name both columns")
    if answer is None:
        return (correct or "correct",)
    if correct is not None:
        todo = "leave --correct out"
        raise fail("both --correct and --answer say what is right", ..., "one of them", todo)
    return answer, truth


def _read(file, item, told, others, system):
    """Return the attempts of a file, those of each system by name."""
    from bayescm.evidence.reading import read_columns
    from bayescm.evidence.scored.answers import truth_by_item
    from bayescm.evidence.scored.attempts import from_attempts, together

    others = {name: column for name, column in others.items() if column is not None}
    places = [*others.values(), *([] if system is None else [system])]
    themselves = len(told) == 2
    labels = [item, *(told if themselves else ())]
    frame = read_columns(file, labels, by=places, numbers=[] if themselves else told)
    frame[item] = frame[item].astype(str)
    kinds: dict[str, Any] = {}
    if themselves:  # all systems have the same right answers
        frame[told[0]] = frame[told[0]].astype(object)
        kinds["truth"] = truth_by_item(frame[told[1]], frame[item])
    parts = {"": frame} if system is None else dict(list(frame.groupby(system, observed=True)))
    found = {
        str(name): from_attempts(
            part[told[0]].to_numpy(),
            item=part[item].to_numpy(),
            **{name: part[column].to_numpy() for name, column in others.items()},
            **kinds,
        )
        for name, part in parts.items()
    }
    return found[""] if system is None else together(found)
