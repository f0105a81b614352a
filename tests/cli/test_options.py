"""Groups of options: what is given and not read is refused; errors speak in options."""

import csv
import pickle
from typing import Annotated

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from bayescm.cli import main
from bayescm.cli.options import BelongsWith, Options, command, in_options, message_in_options
from bayescm.validate import Advice, fail

CELLS = "--tp 65 --fn 15 --fp 35 --tn 30"
P = "p.csv --actual y --positive 1"


class Fruit(Options):
    """What is eaten."""

    apples: Annotated[int, typer.Option("--apples")] = 1
    pears: Annotated[int | None, typer.Option("--pears"), BelongsWith("two apples")] = None
    ripe: Annotated[bool, typer.Option("--ripe")] = False


@command()
def eat(fruit: Fruit) -> int:
    """Eat pears with two apples, and nothing with none."""
    if fruit.apples == 2:
        print("pears", fruit.keywords("pears"))
    fruit.refuse_unread()
    print("eaten")
    return 0


def run(*words):
    app = typer.Typer()
    app.command()(eat)
    return CliRunner().invoke(app, list(words))


def test_a_default_is_not_given_and_what_is_read_is_passed():
    assert run().output == "eaten\n"
    assert run("--apples", "2", "--pears", "0").output == "pears {'pears': 0}\neaten\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--pears", "1"], "--pears has no effect here: it belongs with two apples. Leave it out."),
        (["--ripe"], "--ripe has no effect here. Leave it out."),
        (["--apples", "1", "--ripe"], "--ripe has no effect with --apples. Leave it out."),
        (["--pears", "1", "--ripe"], "--pears and --ripe have no effect here. Leave them out."),
    ],
)
def test_what_nothing_has_read_is_refused_before_anything_is_printed(words, message):
    done = run(*words)
    assert (str(done.exception), done.output) == (message, "")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(2)
    y = np.arange(80) % 2
    columns = {"y": y, "a": np.where(rng.random(80) < 0.2, 1 - y, y), "b": y, "g": y}
    frame = pd.DataFrame(
        columns | {"s": y + rng.normal(0, 1, 80), "r": rng.random(80), "b0": 1.0 - y}
    )
    frame.to_csv(tmp_path / "p.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fails(capsys, line):
    with pytest.raises(SystemExit) as stopped:
        main(line.split())
    said = capsys.readouterr()
    assert (stopped.value.code, said.out, said.err.count("\n")) == (2, "", 1), said
    return said.err


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("plan -m accuracy --expect .9 --width .1 --prevalence .2", ["prevalence"]),
        ("plan -m sensitivity --difference .05 --prevalence .2", ["--prevalence"]),
        ("plan -m auc --expect .8 --width .5 --pilot 1,2,3,4 --kind eti", ["--kind", "--pilot"]),
        ("plan --above .8 --expect .9 --plot x.png", ["--plot"]),
        (f"summary {P} --predicted a -m recall --gold g", ["--gold", "--raters"]),
        (f"summary {P} --predicted a -m recall --transfer nonsense", ["--transfer", "--judge"]),
        (f"summary {P} --predicted a --predicted b -m recall --weights s", ["--weights"]),
        (f"summary {P} --predicted a -m recall --weights-are counts", ["--weights-are"]),
        (f"summary {P} --predicted a -m recall --safe-csv", ["--safe-csv", "--format csv"]),
        (f"curve {P} --score s -m nonsense", ["--measure", "--kind threshold"]),
        (f"curve {P} --score s --pointwise", ["--pointwise", "--plot"]),
        (f"interval {CELLS} --label a --label b --positive x", ["--label", "--positive"]),
        (f"interval {CELLS} -m f1 --n 50", ["--n", "--of predictive"]),
        (f"report {P} --probability r --concentration 99 -o r.md", ["--concentration"]),
        (f"report {P} --probability r --transfer errors -o r.md", ["--transfer", "--judge"]),
        (f"report {P} --score s --of finite -m nonsense -o r.md", ["--of", "--measure"]),
        (f"report {P} --predicted a --rope .1 -o r.md", ["--rope", "several classifiers"]),
        (f"compare {P} --predicted a --predicted b -m recall --test-share .2", ["--test-share"]),
        (f"compare {P} --predicted a --predicted b -m recall --classifier x", ["--classifier"]),
        (f"prob-above {P} --predicted a -m recall --threshold .5 --tp 4", ["--tp"]),
        (f"prob-above {CELLS} -m recall --threshold .5 --fold g", ["--fold"]),
        (f"calibration {P} --probability r --recalibrated -m brier", ["--measure"]),
        (f"gap {P} --predicted a --group g -m accuracy --reference a", ["--reference"]),
        (f"decide {P} --probability r --promise .3 --threshold .2", ["--threshold"]),
    ],
)
def test_an_option_without_effect_is_named_and_nothing_is_written(capsys, folder, line, options):
    message = fails(capsys, line)
    assert "no effect" in message
    assert all(option in message for option in options), message
    assert [path.name for path in folder.iterdir()] == ["p.csv"]


@pytest.mark.long
def test_a_store_and_results_take_no_other_options(capsys, folder):
    main_lines = (
        "monitor add p.csv --store s.db --batch 1 --actual y --predicted a --positive 1",
        "report --store s.db --model nonsense --checklist nonsense -o r.md",
    )
    with pytest.raises(SystemExit) as stopped:
        main(main_lines[0].split())
    assert stopped.value.code == 0
    capsys.readouterr()
    message = fails(capsys, main_lines[1])
    assert "--checklist and --model have no effect with --store" in message
    rows = [(d, c, f, 0.8 + 0.01 * f * (c == "b")) for d in "uvw" for c in "ab" for f in range(3)]
    table = pd.DataFrame(rows, columns=["data", "classifier", "fold", "accuracy"])
    table.to_csv(folder / "results.csv", index=False)
    message = fails(capsys, "ranks results.csv --data-set data --positive x --fold y")
    assert "have no effect with --data-set" in message
    assert {"--fold", "--positive"} <= set(message.replace(",", "").split())
    assert not (folder / "r.md").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (f"interval {CELLS} --prob 2", "Pass a number, e.g. --prob 0.95"),
        (f"calibration {P} --probability r --clip 3 -m log_loss", "Pass --clip 1e-6"),
        (f"summary {P} --predicted a --weights r -m recall", "--weights-are"),
        (f"calibration {P} --probability b0 -m log_loss", "Pass --clip 1e-6, or use brier"),
        (f"report {P} --probability b0 -m log_loss -o r.md", "Pass --clip 1e-6, or use brier"),
        ("heterogeneity p.csv", "columns TP, FN, FP and TN"),
        ("plan -m recall -m specificity --width .1 --expect .9", "pass two --above"),
        (f"report {P} --predicted a --interactive -o r.md", "leave --interactive out"),
        ("monitor status --store none.db --window 0", "no ledger"),
    ],
)
def test_errors_speak_in_options(capsys, folder, line, words):
    message = fails(capsys, line)
    assert words in message
    assert "=" not in message


def test_only_keywords_that_the_command_has_are_translated():
    options = {"prob": "--prob", "labels": "--label", "label_error": "--label-error"}
    assert in_options("pass a `prior=2`, `prob=0.9`", options) == "pass a prior=2, --prob 0.9"
    assert in_options("my_prob=2 and 'label_error'", options) == "my_prob=2 and 'label_error'"
    assert in_options("`label_error` of `labels=['a', 'b']`", options) == (
        "--label-error of --label a --label b"
    )
    assert in_options("pass `prob=None`", {}) == "pass prob=None"


@pytest.mark.parametrize(
    ("argument", "option"),
    [
        ("prob=1e-6", "--prob 1e-6"),
        ("prob=1", "--prob 1"),
        ("labels=['a b', ';']", "--label 'a b' --label ';'"),
        ("labels=[..., 'c']", "--label ... --label c"),
        ("range=(-1, 1.5)", "--range -1,1.5"),
        ("prob=True", "--prob"),
        ("prob=", "--prob"),
        ("from_predictions(..., by={'group': site})", "--group"),
        ("by={'topic': topic}", "--by"),
        ("from_probabilities(..., prob=0.5)", "--prob 0.5"),
        ("prob=0.5 to from_probabilities", "--prob 0.5"),
        ("from_raters", "--raters"),
        ("priors.beta(0.6, 0.8)", "priors.beta(0.6, 0.8)"),
    ],
)
def test_an_argument_is_written_as_an_option(argument, option):
    options = {"prob": "--prob", "labels": "--label", "range": "--range", "group": "--group"}
    assert in_options(f"use `{argument}`.", options | {"by": "--by"}) == f"use {option}."


def test_errors_carry_their_parts_and_advice_is_possible():
    todo = ["did you mean 'a'? pass `abstain='b'` if it is no answer", "leave its rows out"]
    error = fail("no class: `labels`", "`x`", ["a", "c"], todo)
    assert str(error) == (
        "no class: labels: '`x`'. Did you mean 'a'? Expected 'a' or 'c'. "
        "Pass abstain='b' if it is no answer, or leave its rows out."
    )
    parts = error.what, error.keyword, error.value, error.expected, error.advice
    assert parts == ("no class: `labels`", "labels", "`x`", "'a' or 'c'", tuple(todo))
    options = {"labels": "--label"}
    expected = "no class: --label: '`x`'. Expected 'a' or 'c'. Leave its rows out."
    assert message_in_options(error, options) == expected
    message = message_in_options(error, options | {"abstain": "--abstain"})
    assert message.endswith("Pass --abstain b if it is no answer, or leave its rows out.")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.advice) == (str(error), error.advice)
    warning = pickle.loads(pickle.dumps(Advice("it is `prob=2`", "pass `prob=0.5`")))
    assert str(warning) == "it is prob=2. Pass prob=0.5."
    assert message_in_options(warning, {"prob": "--prob"}) == "it is --prob 2. Pass --prob 0.5."
    assert message_in_options(ValueError("prob=2"), {"prob": "--prob"}) == "prob=2"


def test_a_backtick_of_a_user_is_text():
    error = fail("the column a`b is empty", ..., "", "pass `prob=0.5`")
    assert str(error) == "the column a`b is empty. Pass prob=0.5."
    assert message_in_options(error, {"prob": "--prob"}) == (
        "the column a`b is empty. Pass --prob 0.5."
    )


@pytest.mark.long
def test_four_pseudo_counts_are_a_prior_of_monitors_too(capsys, folder):
    add = "monitor add p.csv --store s.db --batch 1 --actual y --predicted a --positive 1"
    lower = []
    for line in (
        add,
        "monitor status --store s.db -m recall --format csv --concentration 24,13,16,19",
        f"summary {P} --predicted a -m recall --format csv --concentration 24,13,16,19",
    ):
        with pytest.raises(SystemExit) as stopped:
            main(line.split())
        said = capsys.readouterr()
        assert stopped.value.code == 0, said.err
        rows = list(csv.DictReader(said.out.splitlines()))
        lower.append(rows[-1]["lower"] if rows else None)
    assert float(lower[1]) == pytest.approx(float(lower[2]), abs=1e-9)
    message = fails(capsys, "monitor status --store s.db --concentration 1,2")
    assert "Write --concentration 0.5, or --concentration 24,13,16,19" in message


def test_an_option_belongs_to_one_group():
    def share(fruit: Fruit, more: Fruit) -> None:
        """Take two groups with the same options."""

    with pytest.raises(TypeError, match="two groups of share share an option"):
        command()(share)


def test_an_option_of_one_value_is_passed_once(capsys):
    cells = [*("--tp", 65), *("--fn", 15), *("--fp", 35), *("--tn", 30)]
    with pytest.raises(SystemExit, match="2"):
        main(["interval", *map(str, cells), "--prob", "0.9", "--prob", "0.95"])
    assert "--prob takes one value, but was passed twice" in capsys.readouterr().err
