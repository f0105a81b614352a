"""Golden command lines, run in one process on files that this module writes."""

import contextlib
import io
import os
import re
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from golden_documents import without_version
from golden_saved import LEDGER, MONITORED

ENVIRONMENT = {"COLUMNS": "120", "TERM": "dumb", "NO_COLOR": "1"}
CELLS = "--tp 65 --fn 15 --fp 35 --tn 30"
PREDICTIONS = "--actual y --positive 1"
FIRST = f"{PREDICTIONS} --predicted one"
# Arguments, keyed by command.
COMMANDS = {
    "interval": [
        f"{CELLS}",
        f"{CELLS} -m f1 -m mcc --format json",
        f"{CELLS} -m f1 --format csv --prob 0.5",
        f"{CELLS} -m recall --kind eti --format markdown",
        f"{CELLS} -m precision --prevalence 0.1",
        f"{CELLS} -m recall --of predictive --n 50 --format json",
        "--matrix 9,1,0;2,8,1;0,1,9 --label a --label b --label c -m recall --format csv",
        f"{CELLS} -m recall --concentration 1,1,1,1",
        f"{CELLS} -m recall -m specificity --model fixed_totals --format json",
        f"{CELLS} -m recall --label-error 0.05 --format json",
        f"{CELLS} -m nonsense",
        "--tp 65 --fn 15 --fp 35 -m f1",
        f"{CELLS} --prob 2",
    ],
    "prob-above": [
        f"{CELLS} -m recall --threshold 0.8",
        f"{CELLS} -m f1 --threshold 0.7 --format json",
    ],
    "summary": [
        f"p.csv {PREDICTIONS} --predicted one",
        f"p.csv {PREDICTIONS} --predicted one -m recall -m f1 --format json",
        f"p.csv {PREDICTIONS} --predicted one -m recall --format csv --group g --of population",
        f"p.csv {PREDICTIONS} --predicted one --fold k -m recall",
        f"p.csv {PREDICTIONS} --predicted one -m recall --weights w --weights-are importance",
        "p.csv --actual y --predicted nowhere",
        f"nowhere.csv {PREDICTIONS} --predicted one",
        f"p.csv {PREDICTIONS} --predicted one --model nonsense",
    ],
    "compare": [
        f"p.csv {PREDICTIONS} --predicted one --predicted two -m accuracy",
        f"p.csv {PREDICTIONS} --predicted one --predicted two -m f1 --rope 0.01 --format json",
        f"p.csv {PREDICTIONS} --predicted one --predicted two -m accuracy --fold k --format csv",
        f"p.csv {PREDICTIONS} --predicted one -m f1",
    ],
    "ranks": [
        f"p.csv {PREDICTIONS} --predicted one --predicted two --predicted three -m f1",
        f"p.csv {PREDICTIONS} --predicted one --predicted two --format json",
    ],
    "gap": [
        f"p.csv {PREDICTIONS} --predicted one --group g -m recall",
        f"p.csv {PREDICTIONS} --predicted one --group g -m equalized_odds_difference",
    ],
    "slices": [f"p.csv {PREDICTIONS} --predicted one --group g -m recall"],
    "heterogeneity": ["studies.csv"],
    "attempts": ["a.csv --item q --correct c -m mean -m pass_at(2)"],
    "check": [
        f"p.csv {PREDICTIONS} --predicted one --require recall>0.5",
        f"p.csv {PREDICTIONS} --predicted one --require recall>0.99",
        f"p.csv {PREDICTIONS} --predicted one --require f1>0.82 --format json",
    ],
    "curve": [
        f"p.csv {PREDICTIONS} --score s",
        f"p.csv {PREDICTIONS} --score s --format json",
        f"p.csv {PREDICTIONS} --score s --kind pr --format csv",
    ],
    "calibration": [
        f"p.csv {PREDICTIONS} --probability r",
        f"p.csv {PREDICTIONS} --probability r -m brier -m log_loss --format json",
        f"p.csv {PREDICTIONS} --probability r --recalibrated",
    ],
    "decide": [f"p.csv {PREDICTIONS} --probability r --threshold 0.2 --threshold 0.5"],
    "plan": [
        "--measure recall --expect 0.85 --width 0.1",
        "--measure recall --above 0.8 --expect 0.9",
        "-m accuracy --difference 0.05 --agreement 0.9",
    ],
    "label": ["labels.csv --actual y --positive 1 --predicted two --judge one -m f1 --budget 20"],
    "elicit": ["-m recall=0.8 -m precision=0.7 -m prevalence=0.3 --weight 20"],
    "monitor": [
        # These commands run in sequence on one ledger.
        f"add p.csv --store m.db --batch one --at 2026-01-01 {FIRST}; "
        f"monitor add q.csv --store m.db --batch two --at 2026-01-02 {FIRST}; "
        f"monitor add q.csv --store m.db --batch two --at 2026-01-02 {FIRST}; "
        f"monitor add p.csv --store m.db --batch two --at 2026-01-02 {FIRST}; "
        "monitor history --store m.db -m recall; "
        "monitor status --store m.db --format json; "
        "monitor alarms --store m.db -m recall --floor recall=0.9 --format csv; "
        "monitor alarms --store m.db --floor nonsense; "
        "monitor verify --store m.db"
    ],
    "study": ["nonsense", "wang-2015 --table 2"],
    "report": [f"p.csv {PREDICTIONS} --predicted one -m nonsense -o r.html"],
}
# Every command with every type of evidence that it supports.
BOTH = f"{FIRST} --predicted two"
CLASSES = "p3.csv --actual y"
RATERS = "raters.csv --raters ann,bob,eve --predicted model --positive 1"
JUDGED = "labels.csv --actual y --positive 1 --predicted two --judge one"
RESULTS = "results.csv --data-set data"
MARKS = "one.csv --item item --score mark --range 1,5"
TWO = "marks.csv --item item --score mark --range 1,5 --system s"
TAGS = "tags.csv --actual tags --predicted one"
ATTEMPTS = "a2.csv --item q --correct c"  # some commands add --system s
M = "--store m.db"
BY_TYPE = [
    # counts
    "summary table.csv",
    "summary table.csv -m accuracy --format json",
    f"summary {CLASSES} --predicted one",
    f"summary p.csv {BOTH} -m recall -m f1",
    f"summary p.csv {FIRST} --abstain 9 -m coverage -m recall",
    f"summary {CLASSES} --predicted one -m accuracy --weights n --weights-are counts",
    f"prob-above p.csv {FIRST} -m recall --threshold 0.8",
    f"check {CLASSES} --predicted one --require accuracy>0.5",
    f"check p.csv {BOTH} --require f1[classifier=one]>0.7",
    f"check p.csv {FIRST} --fold k --require recall>0.5",
    "plan --measure f1 --pilot 20,5,5,20 --width 0.2",
    f"report p.csv {FIRST} -m recall -o r.md",
    # classifiers on the same examples
    f"compare {CLASSES} --predicted one --predicted two -m accuracy",
    f"compare p.csv {BOTH} --group g -m recall",
    f"ranks {CLASSES} --predicted one --predicted two -m f1_macro",
    f"gap p.csv {BOTH} --group g -m recall",
    f"report p.csv {BOTH} -m recall -o r.md",
    # partly labelled
    f"summary {JUDGED} -m recall -m prevalence",
    f"compare {JUDGED} --predicted three -m recall",
    f"report {JUDGED} -m recall -o r.md",
    # raters
    f"summary {RATERS} -m recall",
    # results on data sets
    f"compare {RESULTS}",
    f"ranks {RESULTS}",
    f"report {RESULTS} -o r.md",
    # scores and probabilities
    f"curve p.csv {PREDICTIONS} --score s --kind threshold",
    f"curve p.csv {PREDICTIONS} --score s --score r",
    f"curve p.csv {PREDICTIONS} --score s --fold k",
    f"calibration p.csv {PREDICTIONS} --probability r --fold k",
    f"calibration p.csv {PREDICTIONS} --probability r --group g -m brier",
    f"decide p.csv {PREDICTIONS} --probability r --miss 2 --false-alarm 1",
    f"report p.csv {PREDICTIONS} --score s -o r.md",
    f"report p.csv {PREDICTIONS} --probability r -o r.md",
    # attempts
    f"attempts {ATTEMPTS}",
    f"attempts {ATTEMPTS} --system s -m pass_at(2)",
    f"attempts {ATTEMPTS} --system s --compare -m mean",
    f"attempts {ATTEMPTS} --system s --ranks -m mean",
    f"attempts {ATTEMPTS} --group text -m mean",
    f"attempts {ATTEMPTS} --require mean>0.2",
    f"attempts {ATTEMPTS} --system s --report r.md",
    # item scores
    f"items {MARKS}",
    f"items {TWO} -m mean -m median --format json",
    f"items {TWO} -m mean --compare",
    f"items {TWO} -m mean --ranks",
    f"items {MARKS} -m mean --group text",
    f"items {MARKS} -m mean --by kind",
    f"items {MARKS} --require mean>2",
    f"items {MARKS} --width 0.3",
    f"items {TWO} --report r.md",
    # multilabel examples
    f"multilabel {TAGS}",
    f"multilabel {TAGS} -m f1_samples -m f1 --format json",
    f"multilabel {TAGS} --predicted two --compare -m f1_micro",
    f"multilabel {TAGS} --predicted two --ranks -m f1_micro",
    f"multilabel {TAGS} --group text -m f1_micro",
    f"multilabel {TAGS} --require f1_micro>0.5",
    f"multilabel {TAGS} --report r.md",
    # Commands in sequence on a ledger with every type of batch, and on the ledger of version 0.1.0.
    f"monitor add p.csv {M} --classifier counts --batch 1 --at 2026-01-01 {FIRST}; "
    f"monitor add {CLASSES} {M} --classifier classes --new --batch 1 --at 2026-01-01 "
    "--predicted one; "
    f"monitor add p.csv {M} --classifier odds --new --batch 1 --at 2026-01-01 {PREDICTIONS} "
    "--probability r; "
    f"monitor add one.csv {M} --classifier marks --new --batch 1 --at 2026-01-01 --score mark "
    "--range 1,5; "
    f"monitor add {TAGS} {M} --classifier tags --new --batch 1 --at 2026-01-01 --separator ;; "
    f"monitor status {M}",
    f"monitor challenge p.csv {M} --batch 1 --actual y --positive 1 --champion two "
    f"--challenger one --measure f1 --at 2026-01-05; monitor challenge {M}",
    *(
        f"monitor {command}"
        for command in (
            "verify --store saved.db",
            "status --store saved.db",
            *(
                f"{command} --store saved.db --classifier {name}"
                for name in MONITORED
                for command in ("history", "alarms", "incidents")
                if (name, command) not in (("sides", "incidents"), ("topics", "incidents"))
            ),
            "acknowledge --store saved.db --classifier spam --note seen",
            "acknowledge --store saved.db --classifier tags --floor f1_micro=0.9",
            "notify --store saved.db --classifier marks --log --dry-run",
            "challenge --store saved.db --name duel",
            "export --store saved.db",
            "backup --store saved.db copy.db",
            "roll-up --store saved.db copy.db --before 2026-01-06; monitor status --store copy.db",
        )
    ),
    "report --store saved.db --classifier spam -o r.md",
    "report --store saved.db --classifier marks -o r.md",
]
SAMPLED = {"attempts", "calibration", "compare", "curve", "decide", "gap", "heterogeneity", "label"}
SAMPLED |= {"ranks", "slices", "summary", "report", "items", "multilabel"}


def write_files(folder: Path) -> None:
    """Write files with predictions, scores, probabilities, studies and attempts."""
    rng = np.random.default_rng(31)
    for name, size, right in (("p.csv", 200, 0.85), ("q.csv", 120, 0.6)):
        actual = rng.integers(0, 2, size)
        wrong = {"one": 1 - right, "two": 0.25, "three": 0.3}
        frame = {k: np.where(rng.random(size) < p, 1 - actual, actual) for k, p in wrong.items()}
        score = (2 * actual - 1 + rng.normal(0, 1.2, size)).round(6)
        frame |= {"y": actual, "s": score, "r": (1 / (1 + np.exp(-1.5 * score))).round(6)}
        frame |= {"g": np.arange(size) % 5, "k": np.arange(size) % 10}
        frame |= {"w": rng.gamma(2, 0.5, size).round(6)}
        pd.DataFrame(frame).to_csv(folder / name, index=False)
    sensitivity = 1 / (1 + np.exp(-rng.normal(1.5, 0.6, 6)))
    actual = pd.Series(np.arange(400) % 2)
    judged = {k: np.where(rng.random(400) < p, 1 - actual, actual) for k, p in wrong.items()}
    labels = actual.where(np.arange(400) < 60).astype("Int64")
    pd.DataFrame(judged | {"y": labels}).to_csv(folder / "labels.csv", index=False)
    tp, tn = rng.binomial(50, sensitivity), rng.binomial(90, 0.8, 6)
    rows = {"study": list("ABCDEF"), "tp": tp, "fn": 50 - tp, "fp": 90 - tn, "tn": tn}
    pd.DataFrame(rows).to_csv(folder / "studies.csv", index=False)
    items = np.repeat(np.arange(20), 4)
    chance = rng.beta(1, 1, 20)[items]
    answers = {"q": items, "c": (rng.random(80) < chance).astype(int)}
    pd.DataFrame(answers).to_csv(folder / "a.csv", index=False)
    write_files_of_other_types(folder)


def write_files_of_other_types(folder: Path) -> None:
    """Write files with a matrix, three classes, raters, results, item scores and multilabels."""
    rng = np.random.default_rng(32)
    (folder / "table.csv").write_text("actual,a,b,c\na,40,6,1\nb,5,30,2\nc,1,4,22\n")
    actual = rng.integers(0, 3, 90)
    answers = {k: np.where(rng.random(90) < p, rng.integers(0, 3, 90), actual)
               for k, p in (("one", 0.2), ("two", 0.4))}  # fmt: skip
    names = np.array(["art", "law", "sport"])
    three = {"y": names[actual]} | {k: names[v] for k, v in answers.items()}
    three["n"] = 1 + np.arange(90) % 3
    pd.DataFrame(three).to_csv(folder / "p3.csv", index=False)
    truth = rng.random(80) < 0.4
    right = {"ann": 0.9, "bob": 0.85, "eve": 0.8, "model": 0.8}
    votes = {k: np.where(rng.random(80) < p, truth, ~truth).astype(int) for k, p in right.items()}
    votes["g"] = np.arange(80) % 2
    pd.DataFrame(votes).to_csv(folder / "raters.csv", index=False)
    rows = [(f"set {i}", c, f, round(v + rng.normal(0, 0.03), 4)) for i in range(4)
            for c, v in {"a": 0.8, "b": 0.83}.items() for f in range(3)]  # fmt: skip
    columns = ["data", "classifier", "fold", "accuracy"]
    pd.DataFrame(rows, columns=columns).to_csv(folder / "results.csv", index=False)
    place = np.tile(np.arange(24), 2)
    marks = {"item": place, "s": np.repeat(["u", "v"], 24), "mark": rng.integers(1, 6, 48)}
    marks |= {"text": place // 4, "kind": np.where(place % 2, "odd", "even")}
    pd.DataFrame(marks).to_csv(folder / "marks.csv", index=False)
    pd.DataFrame(marks).head(24).to_csv(folder / "one.csv", index=False)
    labels, has = np.array(list("xyz")), rng.random((60, 3)) < 0.5
    tags = {"tags": has, "one": has ^ (rng.random(has.shape) < 0.2)}
    tags |= {"two": has ^ (rng.random(has.shape) < 0.3)}
    fields = {name: [";".join(labels[row]) for row in rows] for name, rows in tags.items()}
    pd.DataFrame(fields | {"text": np.arange(60) // 6}).to_csv(folder / "tags.csv", index=False)
    item = np.repeat(np.arange(12), 4)
    attempts = {"q": item, "c": (rng.random(48) < item / 12).astype(int), "text": item // 2}
    parts = [pd.DataFrame(attempts).assign(s=name, c=rng.permutation(attempts["c"]))
             for name in "uv"]  # fmt: skip
    pd.concat(parts).to_csv(folder / "a2.csv", index=False)
    found = {"image": np.arange(40) % 20, "s": np.repeat(["u", "v"], 20)}
    found |= {name: rng.poisson(mean, 40) for name, mean in (("tp", 4), ("fp", 1), ("fn", 1))}
    found["video"] = found["image"] // 2
    pd.DataFrame(found).to_csv(folder / "found.csv", index=False)
    pd.DataFrame(found).head(20).to_csv(folder / "found_by_one.csv", index=False)
    pairs = np.array([["u", "v"], ["v", "w"], ["w", "u"]])[np.arange(120) % 3]
    winner = np.array(["left", "right", "left", "tie"])[np.arange(120) // 3 % 4]
    votes = {"a": pairs[:, 0], "b": pairs[:, 1], "winner": winner, "prompt": np.arange(120) % 11}
    pd.DataFrame(votes).to_csv(folder / "votes.csv", index=False)
    logits = rng.normal(0, 1, (60, 3)) + 1.5 * np.eye(3)[np.arange(60) % 3]
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    chances = {"y": np.array(list("abc"))[np.arange(60) % 3]}
    chances |= {f"p_{name}": column for name, column in zip("abc", shares.T, strict=True)}
    pd.DataFrame(chances).to_csv(folder / "chances.csv", index=False)
    with closing(sqlite3.connect(folder / "saved.db")) as connection:
        connection.executescript(LEDGER.read_text(encoding="utf-8"))


def run(commands: str) -> str:
    """
    Return the exit codes, output and errors of command lines, run in sequence in a new folder.

    A report is printed after the output of the command that writes it.
    """
    from bayescm.cli import main

    texts = []
    with tempfile.TemporaryDirectory() as name, mock.patch.dict(os.environ, ENVIRONMENT):
        write_files(Path(name))
        for command in commands.split("; "):
            out, errors = io.StringIO(), io.StringIO()
            shown = contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors)
            with contextlib.chdir(name), shown[0], shown[1]:
                try:
                    main(command.split())
                    code = 0
                except SystemExit as stopped:
                    code = stopped.code
            texts.append(f"exit {code}\n{out.getvalue()}--\n{errors.getvalue()}")
            texts += [without_version(path.read_text()) for path in Path(name).glob("r.md")]
    text = "\n".join(texts).replace(name, "<folder>")
    return re.sub(r"\b[0-9a-f]{32}\b", "<hash>", text)  # hashes include the time of writing


def figures(command: str) -> str:
    """Return the class of the figures in the output of a command."""
    return "sampled" if command.split()[0] in SAMPLED else "exact"
