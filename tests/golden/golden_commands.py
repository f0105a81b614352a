"""The golden command lines, run in one process on files that are written for them."""

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

ENVIRONMENT = {"COLUMNS": "120", "TERM": "dumb", "NO_COLOR": "1"}
CELLS = "--tp 65 --fn 15 --fp 35 --tn 30"
PREDICTIONS = "--actual y --positive 1"
FIRST = f"{PREDICTIONS} --predicted one"
# ``sampled``: figures that are drawn, printed with as many digits as they have.
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
        # One after the other on one ledger.
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
SAMPLED = {"attempts", "calibration", "compare", "curve", "decide", "gap", "heterogeneity", "label"}
SAMPLED |= {"ranks", "slices", "summary"}


def write_files(folder: Path) -> None:
    """Write predictions, scores and probabilities, studies and attempts."""
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


def run(commands: str) -> str:
    """Return exit code, output and errors of command lines, run one by one in a new folder."""
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
    text = "\n".join(texts).replace(name, "<folder>")
    return re.sub(r"\b[0-9a-f]{32}\b", "<hash>", text)  # hashes are of the time of writing too


def figures(command: str) -> str:
    """Return the class of the figures that a command prints."""
    return "sampled" if command.split()[0] in SAMPLED else "exact"
