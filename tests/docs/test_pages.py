"""
The blocks of the pages do what they show: Python runs, and the command line takes each command.

Cells of notebooks are executed when the pages are built. Here are the other blocks: plain Python,
in the order of its page and beside what that supposes, and the commands of consoles.
"""

import io
import re
import shlex
import tomllib
from itertools import groupby, pairwise
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from bayescm.cli import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELLS = ("console", "shell")
NOT_RUN = {
    "--version": "ends before it reads anything",
    "--install-completion": "writes to the home of whoever runs the tests",
    "demo": "trains classifiers",
    "paper": "simulates published tables",
    "monitor challenge": "has a file of several classifiers, and a rule of its first batch",
    "monitor serve": "runs until it is stopped",
    "monitor classes": "renames a class that the batches of the tests do not have",
} | {
    f"monitor {name}": "begins with a database on another machine"
    for name in ("backup", "verify", "restore", "roll-up")
}
REQUIREMENTS = (0, 1, 3)  # met, failed, not yet known


def blocks(page, languages):
    text = page.read_text(encoding="utf-8")
    return [block for language, block in FENCE.findall(text) if language in languages]


def commands(page):
    """Return the calls of the command line on a page, as lists of words."""
    for block in blocks(page, SHELLS):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars="|&>")
            words.whitespace_split = True
            for is_operator, part in groupby(words, key=lambda word: set(word) <= set("|&>")):
                call = list(part)
                if not is_operator and call[0] == "bayescm":
                    yield call[1:]


WITH_PYTHON = [page for page in PAGES if blocks(page, ["python"])]
WITH_COMMANDS = [page for page in PAGES if list(commands(page))]


@pytest.mark.long
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_commands_and_their_options_are_there(page, capsys):
    for words in commands(page):
        if words[0] in NOT_RUN:
            continue
        path = words[:2] if words[0] == "monitor" else words[:1]
        with pytest.raises(SystemExit) as stopped:
            main([*path, "--help"])
        assert stopped.value.code == 0
        known = capsys.readouterr().out
        for option in (word for word in words if re.match(r"--?[a-z]", word)):
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", known), (words, option)


def options_of(words):
    """Return the values of every option of a call, each as a list."""
    values = {}
    for option, value in pairwise([*words, "--"]):
        if option.startswith("-") and not option[1:2].isdigit():
            values.setdefault(option, [])
            if not value.startswith("--"):
                values[option].append(value)
    return values


def stated_in(path):
    """Return the columns that a file of requirements names, as options."""
    if not path.exists():
        return []
    stated = tomllib.loads(path.read_text())["bayescm"]
    options = [(f"--{name}", stated[name]) for name in ("actual", "predicted", "positive")]
    return [word for option in options for word in option] + stated["require"]


def table_for(words):
    """Return a table such as a call supposes, with the columns that its options name."""
    rng, options = np.random.default_rng(1), options_of(words)
    if {"--item", "--data-set"} & options.keys():
        return long_table(rng, options)
    if "--meta-analysis" in options or words[0] == "heterogeneity":
        return studies(rng)
    if "--left" in options:
        return votes(rng, options)
    if "--indicators" in options:
        patterns = [*options["--actual"], *options["--predicted"]]
        names = [name.replace("*", label) for name in patterns for label in ("cat", "dog")]
        return pd.DataFrame({name: rng.integers(0, 2, 200) for name in names})
    size = 400
    usual = "spam" if words[0] == "monitor" else "1"  # a monitor has the class of its first batch
    positive = options.get("--positive", [usual])[0]
    negative = "0" if positive == "1" else "other"
    is_positive = rng.random(size) < 0.4
    columns = {}

    def answers(wrong):
        return np.where(is_positive ^ (rng.random(size) < wrong), positive, negative)

    labels = options.get("--actual", ["actual"])[0]
    columns[labels] = np.where(is_positive, positive, negative).astype(object)
    raters = ",".join(options.get("--raters", [])).split(",")
    judges, predicted = options.get("--judge", []), options.get("--predicted", ["predicted"])
    predicted += re.findall(r"classifier=(\w+)", " ".join(words))
    columns |= {name: answers(0.15) for name in [*predicted, *judges, *raters] if name}
    columns |= {name: columns[labels] for name in options.get("--gold", [])}
    if judges:
        columns[labels][100:] = ""
    risk = np.where(is_positive, rng.beta(4, 2, size), rng.beta(2, 4, size))
    probabilities = [name.split("=")[-1] for name in options.get("--probability", [])]
    columns |= {name: risk for name in [*options.get("--score", []), *probabilities]}
    if len(probabilities) > 1:
        kinds = [name.split("=")[0] for name in options["--probability"]]
        columns[labels] = rng.choice(kinds, size)
        shares = rng.dirichlet(np.ones(len(kinds)), size)
        columns |= dict(zip(probabilities, shares.T, strict=True))
    groups = [*options.get("--group", []), *options.get("--by", [])]
    groups += options.get("--batch-column", [])
    columns |= {name: rng.choice(list("ABCDEF"), size) for name in groups}
    if words[0] == "multilabel" or "--separator" in options:
        tags = ["a;b", "b", "c", "a;c", ""]
        columns |= {name: rng.choice(tags, size) for name in (labels, *predicted)}
    return pd.DataFrame(columns)


def votes(rng, options):
    """Return votes on pairs of three systems."""
    first, second = options["--left"][0], options["--right"][0]
    pairs = np.array([["new", "old"], ["old", "older"], ["older", "new"]])[rng.integers(0, 3, 200)]
    frame = pd.DataFrame(pairs, columns=[first, second])
    outcomes = rng.choice([first, second, "tie"], len(frame))
    return frame.assign(**{options.get("--winner", ["winner"])[0]: outcomes})


def long_table(rng, options):
    """Return a row for each item and system, or for each data set and classifier."""
    if "--data-set" in options:
        rows = pd.MultiIndex.from_product([range(8), ["a", "b", "c"], range(5)])
        names = [*options["--data-set"], "classifier", "fold"]
        frame = rows.to_frame(index=False).set_axis(names, axis=1)
        return frame.assign(accuracy=rng.uniform(0.7, 0.9, len(frame)))
    names = [options["--item"][0], *options.get("--system", ["unused"])[:1]]
    rows = pd.MultiIndex.from_product([range(30), ["new", "old"], range(5)])
    frame = rows.to_frame(index=False).set_axis([*names, "attempt_number"], axis=1)
    if "--score" in options:
        frame = frame[frame["attempt_number"] == 0].drop(columns="attempt_number")
        low, high = map(float, options["--range"][0].split(","))
        frame[options["--score"][0]] = rng.uniform(low, high, len(frame))
    frame = (
        frame if "--system" in options else frame[frame["unused"] == "new"].drop(columns="unused")
    )
    for name in options.get("--correct", []):
        frame[name] = rng.integers(0, 2, len(frame))
    for name in (*options.get("--answer", []), *options.get("--truth", [])):
        frame[name] = rng.choice(list("xy"), len(frame))
    if "--truth" in options:
        frame[options["--truth"][0]] = np.where(frame[names[0]] % 2, "x", "y")
    for name in (*options.get("--group", []), *options.get("--by", [])):
        frame[name] = frame[names[0]] % 5
    return frame


def studies(rng):
    return pd.DataFrame(
        {
            "study": list("ABCDEFGH"),
            "tp": rng.integers(20, 40, 8),
            "fn": rng.integers(2, 9, 8),
            "fp": rng.integers(2, 12, 8),
            "tn": rng.integers(30, 60, 8),
            "year": range(1996, 2004),
            "test": ["ELISA", "other"] * 4,
        }
    )


def write_what_is_read(words, folder):
    """Write the file that a call reads, of the type of its name; return where a text is."""
    names = [word for word in words[1:3] if re.search(r"\.(csv|duckdb::\w+)$|/$", word)]
    if not names:
        return None
    rows, path = table_for(words), folder / names[0].split("::")[0]
    if names[0].endswith("/"):
        path.mkdir(exist_ok=True)
        rows.to_parquet(path / "part-0.parquet")
    elif "::" in names[0]:
        with duckdb.connect(path) as database:
            database.execute(f"create or replace table {names[0].split('::')[1]} as from rows")
    else:
        rows.to_csv(path, index=False)
        return path
    return None


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Batch .* is identical:UserWarning")
@pytest.mark.parametrize(
    "page",
    # Files of other tools, which tests/cli/test_evaluation_files.py has.
    [page for page in WITH_COMMANDS if page.name != "evaluation-files.md"],
    ids=lambda page: page.name,
)
def test_commands_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, ["toml"]):
        if block.startswith("# gate.toml"):
            (tmp_path / "gate.toml").write_text(block)
    text = b""
    for words in commands(page):
        if words[0] in NOT_RUN or " ".join(words[:2]) in NOT_RUN:
            continue
        supposed = words + stated_in(tmp_path / "gate.toml") * ("--requirements" in words)
        path = write_what_is_read(supposed, tmp_path)
        text = path.read_bytes() if path else text
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        with pytest.raises(SystemExit) as stopped:
            main(words)
        said = capsys.readouterr()
        assert stopped.value.code in REQUIREMENTS, (words, said.err)


# What the blocks of Python of each page suppose; SAMPLE is supposed by all of them.
SAMPLE = """
from functools import partial
import numpy as np, pandas as pd, pymc as pm
import bayescm as bcm
from bayescm import online
rng = np.random.default_rng(1)
y = np.where(rng.random(300) < 0.4, "sick", "well")
old, new = (np.where(rng.random(300) < wrong, y[::-1], y) for wrong in (0.3, 0.2))
counts = bcm.from_predictions(y, new, positive="sick")
table = pd.DataFrame({"y": y, "yhat": new, "site": rng.choice(list("AB"), 300), "month": 1})
table = table.assign(old=old, new=new, p=rng.random(300).round(2))
"""
FILES = """
import os
os.mkdir("answers"), table.to_parquet("answers/part-0.parquet")
os.mkdir("predictions"), table.to_parquet("predictions/part-0.parquet")
"""
SETUPS = {
    "README.md": "",
    "ci.md": "",
    "comparing-models.md": "tree = bcm.fit(counts, draws=100, random_seed=1)",
    "fit.md": "tree = bcm.fit(counts, draws=100, random_seed=1)",
    "item-scores.md": "queries = list(range(30)); ndcg = rng.random(30)",
    "more-rows.md": FILES
    + "import duckdb\ntable_ = table\nwith duckdb.connect('answers.duckdb') as database:\n"
    "    database.execute('create table january as from table_')\n"
    "cells = rng.integers(1, 9, (100, 2, 2))",
    "monitor.md": "actual, predicted = (np.where(c == 'sick', 'spam', 'ham') for c in (y, new))",
    "monitor-alarms.md": """
import hashlib, hmac, time
from types import SimpleNamespace
monitor = bcm.online.Monitor("sqlite:///eval.db", "spam filter")
monitor.add("2026-01-05", counts)
secret, body = b"sixteen letters!", b"{}"
moment = str(int(time.time()))
signature = hmac.digest(secret, f"{moment}.".encode() + body, "sha256").hex()
header = {"Bayescm-Signature": f"t={moment},sha256={signature}"}
request = SimpleNamespace(headers=header, body=body)
""",
    "monitor-challenger.md": "actual, old, new = (1 * (c == 'sick') for c in (y, old, new))",
    "monitor-raters.md": """
votes = pd.DataFrame({"model_a": ["new", "old"] * 9, "model_b": ["old", "new"] * 9, "winner": "a"})
ann, bob, eve, llm = (
    ["ill" if (label == "sick") ^ (rng.random() < wrong) else "well" for label in y]
    for wrong in (0.05, 0.1, 0.1, 0.15)
)
""",
    "monitor-types.md": """
died, risk = (y == "sick").astype(int), rng.random(300).round(3)
marks, question_ids = 1 + 4 * rng.random(300), list(range(300))
tags = [{"urgent"} if label == "sick" else {"spam"} for label in y]
predicted_tags = tags[::-1]
""",
    "other-tools.md": "import mlflow\nfrom types import SimpleNamespace\n"
    "import os\nos.environ['MLFLOW_ALLOW_FILE_STORE'] = 'true'\n"
    "mlflow.set_tracking_uri('runs')\nrun = SimpleNamespace(log=dict)",
    "own-sampling.md": "",
    "priors-of-models.md": "import sys; sys.path.insert(0, '.')\nfrom pathlib import Path\n"
    "source = Path(bcm.models.fixed_totals.__code__.co_filename).read_text()\n"
    "name = 'fixed_totals_with_logit_normal_recall'\n"
    "Path('my_models.py').write_text(source.replace('def fixed_totals(', f'def {name}('))",
    "reports.md": "",
    "studies.md": "cells = dict(tp=[40, 30, 20, 35, 28], fn=[4, 5, 6, 3, 7])\n"
    "cells |= dict(fp=[4, 5, 6, 7, 3], tn=[50, 60, 40, 45, 70])\n"
    "studies = bcm.from_cells(**cells).rename(batch='group')\n"
    "studies = studies.assign_coords(year=('group', range(1998, 2003)))",
    "tables.md": FILES + "import duckdb, polars as pl",
}
NOT_EXECUTED = {
    "spark.md": "needs Java",
    "dask.md": "needs a cluster; tests/answers/test_dask.py has one",
    "evaluation-files.md": "needs inspect_ai, ir_measures, pycocotools and seqeval",
}


def test_every_page_with_python_is_executed():
    assert {page.name for page in WITH_PYTHON} == SETUPS.keys() | NOT_EXECUTED.keys()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning")
@pytest.mark.parametrize("name", SETUPS)
def test_python_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (page,) = (page for page in WITH_PYTHON if page.name == name)
    namespace = {}
    exec(SAMPLE + SETUPS[name], namespace)
    for block in blocks(page, ["python"]):
        exec(compile(block, f"{name}: {block.splitlines()[0]}", "exec"), namespace)
