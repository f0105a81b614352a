"""Every option of every command has an effect or is refused by name, whatever the evidence is."""

import contextlib
import hashlib
import io
import re
import shutil
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm import cli, online

P = "p.csv --actual y --positive 1"
ONE, BOTH = f"{P} --predicted a", f"{P} --predicted a --predicted b"
CELLS = "--tp 65 --fn 15 --fp 35 --tn 30"
RATED = "r.csv --raters ann,bob,llm --predicted yhat --positive 1"
HALF = "h.csv --actual y --positive 1 --predicted a"
SPAM, FORECASTS = "--store m.db --classifier spam", "--store m.db --classifier odds"
MARKS = "--store m.db --classifier marks"
ITEMS = "q.csv --system s"
SCORED = "marks.csv --item item --score mark --system s --group text"
TAGGED = "tags.csv --actual tags --predicted ta"
LOW = "--rate .5 --floor recall=.85"
# A command line that works, for each command and for each type of evidence that it takes.
COMMANDS = {
    "interval": [f"{CELLS} -m accuracy", "--matrix 9,1,0;2,8,1;0,1,9 -m accuracy"],
    "prob-above": [f"{CELLS} -m accuracy --threshold .7", f"{ONE} -m accuracy --threshold .7"],
    "summary": [
        f"{ONE} -m accuracy",
        f"{ONE} -m accuracy --group g",
        f"{BOTH} -m accuracy",
        "t.csv -m accuracy",
        f"{HALF} -m prevalence --judge b",
        f"{RATED} -m recall",
    ],
    "compare": [
        f"{BOTH} -m recall",
        f"{ONE} -m recall --group g",
        f"{HALF} --predicted b -m recall --judge c",
        "results.csv --data-set data",
    ],
    "ranks": [f"{BOTH} -m recall", "results.csv --data-set data"],
    "gap": [f"{ONE} -m recall --group g", f"{BOTH} -m recall --group g --statistic deviation"],
    "slices": [f"{ONE} --group g --group k", f"{ONE} --group g --threshold .8"],
    "heterogeneity": ["studies.csv"],
    "attempts": [f"{ITEMS} -m mean", f"{ITEMS} -m mean --answer said --truth t"],
    "items": [
        f"{SCORED} -m mean",
        f"{SCORED} -m mean --compare",
        f"{SCORED} --require mean>.3",
        "marks.csv --item item --score mark --system s --width .3",
    ],
    "item-counts": [
        "found.csv --item item --system s -m f1",
        "found.csv --item item --system s -m f1 --compare",
        "found.csv --item item --system s --require f1>.3",
    ],
    "multilabel": [
        f"{TAGGED} -m f1_micro",
        f"{TAGGED} --predicted tb -m f1_micro --compare",
        f"{TAGGED} --predicted tb --require f1_micro>.7",
    ],
    "check": [f"{ONE} --require accuracy>.8"],
    "curve": [f"{P} --score s", f"{P} --score s --kind threshold", f"{P} --score s --kind pr"],
    "calibration": [
        f"{P} --probability r -m brier",
        f"{P} --probability r --recalibrated",
        f"{P} --probability r -m brier --fold k",
    ],
    "decide": [
        f"{P} --probability r",
        f"{P} --probability r --miss 2 --false-alarm 1",
        f"{P} --probability r --promise .3",
    ],
    "plan": [
        "-m recall --expect .85 --width .2",
        "-m recall --above .8 --expect .9",
        "--difference .05",
        "-m auc --expect .8 --width .3",
    ],
    "label": [f"{HALF} --judge b --budget 10"],
    "elicit": ["-m recall=.8 -m precision=.7 -m prevalence=.3 --weight 20"],
    "report": [
        f"{ONE} -m recall -o a.md",
        f"{BOTH} -m recall -o a.md",
        f"{P} --score s -o a.md",
        f"{P} --probability r -o a.md",
        f"{RATED} -m recall -o a.md",
        f"{HALF} --judge b -m recall -o a.md",
        "results.csv --data-set data -o a.md",
        "--store m.db --classifier spam -o a.md",
    ],
    "monitor add": [
        "p.csv --store new.db --batch 1 --actual y --predicted a --positive 1 --at 2026-01-01",
        "p.csv --store new.db --batch 1 --actual y --probability r --positive 1 --at 2026-01-01",
        "p.csv --store new.db --batch 1 --score r --item id --at 2026-01-01",
        f"{TAGGED} --separator ; --store new.db --batch 1 --at 2026-01-01",
    ],
    "monitor import": [
        "many.csv --store new.db --label 0 --label 1 --positive 1",
        "p.csv --store new.db --batch-column g --actual y --predicted a --positive 1",
    ],
    "monitor classes": ["--store m.db --classifier spam --rename positive=sick"],
    "monitor status": [SPAM, FORECASTS, f"{MARKS} -m mean"],
    "monitor history": [SPAM, FORECASTS, f"{MARKS} -m mean"],
    "monitor alarms": [
        f"{SPAM} {LOW}",
        f"{FORECASTS} --rate .5 --floor auc=.999",
        f"{MARKS} -m mean --rate .5 --floor mean=.95",
    ],
    "monitor incidents": [f"{SPAM} {LOW}", f"{FORECASTS} --rate .5 --floor auc=.999"],
    "monitor acknowledge": [f"{SPAM} {LOW}"],
    "monitor plot": [f"{SPAM} {LOW} -o h.png"],
    "monitor challenge": [
        "--store new.db p.csv --batch 1 --actual y --champion a --challenger b",
        "--store c.db",
    ],
    "monitor notify": [f"{SPAM} {LOW} --log"],
    "monitor verify": ["--store m.db"],
    "monitor backup": ["--store m.db new.db"],
    "monitor restore": ["--store new.db m.db"],
    "monitor roll-up": ["--store m.db new.db --before 2026-01-05"],
    "monitor export": ["--store m.db"],
}
# A value of an option that should change what is printed; of one command where it is another there.
VALUES = {
    "--abstain": "b", "--above": ".75", "--actual": "b", "--agreement": ".8", "--answer": "said",
    "--assurance": ".7", "--at": "2026-01-03", "--attempt": "n", "--batch": "other", "-k": "1",
    "--decimal": ",", "--thousands": ",", "--also": "p.csv", "--methods": "m.txt", "--bib": "m.bib",
    "--budget": "8", "--by": "g", "--challenger": "c", "--champion": "c", "--checklist": "stard",
    "--classifier": "odds", "--config": "m.toml",
    "--clip": ".2", "--command": "true", "--concentration": "5",
    "--correct": "correct", "--corrects": "2", "--covariate": "year=2000", "--data-set": "data",
    "--delta": ".3", "--difference": ".2", "--edge": ".5", "--expect": ".7", "--false-alarm": "3",
    "--fdr": ".4", "--floor": "recall=.99", "--fn": "3", "--fold": "k", "--forgetting": ".5",
    "--format": "csv", "--fp": "3", "--gold": "gold", "--group": "g", "--halves": "halves.csv",
    "--item": "item", "--judge": "c", "--junit": "j.xml", "--kind": "eti", "--label": "0",
    "--label-error": ".03", "--last": "1",
    "--level": ".6", "--margin": ".05", "--matrix": "3,1;1,4",
    "--missing": "drop pairs", "--range": "0,2",
    "--records": "a.b", "--passing": "0", "--sample-metric": "acc", "--sample-filter": "strict",
    "--measure": "specificity", "--miss": "4", "--model": "fixed_totals", "--n": "30",
    "--name": "duel", "--note": "seen", "--of": "predictive", "--order": "recorded_at",
    "--out": "o.csv", "--p-better": ".8", "--pilot": "20,5,5,20", "--planned": "500",
    "--plot": "o.png", "--positive": "0", "--predicted": "c", "--prevalence": ".1", "--prob": ".6",
    "--probability": "r", "--promise": ".4", "--raters": "ann,bob,llm", "--rate": ".9",
    "--reference": "2", "--report": "r.md", "--require": "f1>.3",
    "--requirements": "gate.toml", "--rope": ".1",
    "--score": "s", "--seed": "7", "--separator": "|", "--since": "2026-01-07", "--smooth": "k",
    "--spread": ".2",
    "--statistic": "ratio", "--store": "m.db", "--system": "s", "--test-share": ".4",
    "--threshold": ".6", "--title": "Heading", "--tn": "3", "--tolerance": "calibration_slope=.1",
    "--tp": "3", "--transfer": "errors", "--truth": "t", "--url": "http://127.0.0.1:9/",
    "--weights": "w", "--weights-are": "importance", "--width": ".3", "--window": "2",
    "--left": "a", "--right": "b", "--winner": "a",
    "--secret": "sixteen letters ..", "FILE": "p.csv",
    "--silence": "1ms", "--season": "2", "--table": "json", "--batch-column": "k",
    "--at-column": "at", "--rename": "negative=well", "--add": "new", "--challenge": "none",
}  # fmt: skip
FLAGS = {"--compare", "--corp", "--exit-code", "--interactive", "--log", "--new"}
FLAGS |= {"--indicators", "--ordered"}
FLAGS |= {"--allow-empty", "--improvements"}
FLAGS |= {"--lower-is-better", "--meta-analysis", "--no-positive", "--dry-run", "--item-table"}
FLAGS |= {
    "--numeric-labels",
    "--plan",
    "--pointwise",
    "--pool",
    "--ranks",
    "--recalibrated",
    "--safe-csv",
}
OF_COMMANDS = {
    ("compare", "--reference"): "a",
    ("gap", "--reference"): "b",
    ("curve", "--kind"): "pr",
    ("curve", "--measure"): "mcc",
    ("calibration", "--measure"): "log_loss",
    ("elicit", "--measure"): "f1=.7",
    ("prob-above", "FILE"): "t.csv",
    ("plan", "--prob"): ".9",
    ("monitor add", "--label"): "0",
    ("monitor roll-up", "--by"): "day",
    ("attempts", "--measure"): "pass_at(2)",
    ("attempts", "--of"): "finite",
    ("attempts", "--group"): "text",
    ("attempts", "--by"): "text",
    ("items", "--measure"): "share_above(0.5)",
    ("items", "--reference"): "u",
    ("items", "--require"): "mean<.4",
    ("attempts", "--require"): "mean<.4",
    ("multilabel", "--require"): "f1_micro<.4",
    ("multilabel", "--reference"): "ta",
    ("items", "--of"): "finite",
    ("items", "--group"): "k",
    ("items", "--score"): "score",
    ("item-counts", "--tp"): "other",
    ("item-counts", "--fp"): "other",
    ("item-counts", "--fn"): "other",
    ("item-counts", "--measure"): "jaccard",
    ("item-counts", "--group"): "k",
    ("item-counts", "--of"): "finite",
    ("item-counts", "--require"): "f1<.4",
    ("item-counts", "--reference"): "u",
    ("multilabel", "--measure"): "f1_macro",
    ("multilabel", "--actual"): "tb",
    ("multilabel", "--predicted"): "tb",
    ("multilabel", "--group"): "k",
    ("multilabel", "--of"): "finite",
    ("multilabel", "FILE"): "tags.csv",
    ("report", "--out"): "b.md",
    ("report", "--format"): "tex",
    ("monitor plot", "--out"): "o.png",
    ("monitor notify", "--format"): "slack",
}
# Options whose effect need not be seen in what is printed.
UNSEEN: set = {
    "--numeric-labels",
    "--missing",  # where nothing is
    "--decimal",  # of whole numbers
    "--thousands",
    "--config",  # whose values are those of other options
    "--dry-run",
    "--range",  # of differences, which matters where all of them are 0
    "--label",
    "--note",
    "--seed",
    "--attempt",
    "--exit-code",
    "--secret",
}
UNSEEN |= {("interval", "--positive"), ("monitor challenge", "--margin")}
UNSEEN |= {("summary", "--positive"), "--abstain", "--item", "--correct", ("ranks", "--prob")}
UNSEEN |= {
    ("slices", "--fdr"),
    ("monitor acknowledge", "--forgetting"),
    ("summary", "--model"),
    ("compare", "--model"),
}
UNSEEN |= {
    ("monitor acknowledge", "--window"),
    ("monitor notify", "--forgetting"),
    ("monitor challenge", "--prob"),
    ("monitor acknowledge", "--concentration"),
}
# Which rules share the rate of false alarms matters to a change that is hardly one.
UNSEEN |= {("monitor history", f"--{rule}") for rule in ("rate", "floor", "reference", "tolerance")}
# Whether an incident opens does not hang on these, where nothing or everything is wrong.
UNSEEN |= {("monitor status", "--tolerance"), ("monitor status", "--rate")}
UNSEEN |= {("monitor incidents", name) for name in ("--forgetting", "--window", "--tolerance")}
UNSEEN |= {("monitor notify", "--reference")}
# Intervals of forecasts are equal-tailed whatever is asked for.
UNSEEN |= {("monitor status", "--kind"), ("monitor history", "--kind")}
# Nothing is empty or better there, and no phase differs from the others.
UNSEEN |= {"--allow-empty", "--improvements", "--season", "--at-column"}
UNSEEN |= {(f"monitor {name}", "--silence") for name in ("status", "history", "plot")}
# Names of batches are not printed.
UNSEEN |= {("monitor import", "--batch-column")}
# Every example of that file is labelled.
UNSEEN |= {("monitor import", "--judge")}
UNSEEN |= {"--planned", "--name", "--order", "--new", "--log", "--interactive", "--at"}
# A model of other evidence says itself what it cannot take; a file may lack what is read first.
NAMELESS = {"--model", ("report", "--probability"), ("monitor add", "--correct")}
# An option may mean another type of evidence, whose other columns the file does not have.
NAMELESS |= {("summary", f"--{column}") for column in ("correct", "attempt", "separator", "winner")}
# Votes need both sides, and the error names the missing one.
NAMELESS |= {("monitor add", "--left"), ("monitor import", "--left")}
# The file is too small a pilot for a plan.
NAMELESS |= {("items", "--width"), ("items", "--difference")}
NAMELESS |= {("summary", "--indicators")}
OTHER_TYPES = ("correct", "judge", "probability", "score", "separator")
NAMELESS |= {("monitor import", f"--{column}") for column in OTHER_TYPES}
NAMELESS |= {("plan", "FILE")}
# A further file is read like the first one, and lacks its columns.
NAMELESS |= {("report", "--also")}
# So many are enough for an option to have an effect.
FEW_DRAWS = {
    ("planning.areas", "_SCORES"): 2000,
    ("posteriors.base", "DRAWS"): 2000,
    ("posteriors.noisy_labels", "_PILOT"): 500,
    ("posteriors.noisy_labels", "_POINTS"): 1000,
    ("posteriors.repeated_items", "_DRAWS"): 100,
}
QUICK = {"elicit", "monitor verify", "monitor export"}
QUICK |= {"monitor backup", "monitor restore", "monitor roll-up"}


def functions():
    """Return every command by the words that call it, but for what runs for long or for ever."""
    every = {name: cli.load(name) for name in cli.COMMANDS if name not in ("demo", "paper")}
    for function in cli.load_group("monitor"):
        every[f"monitor {cli.name_of(function)}"] = function
    del every["monitor serve"]
    return every


def cases():
    for name, lines in COMMANDS.items():
        marks = [] if name in QUICK else [pytest.mark.long]
        for line in lines:
            yield pytest.param(name, line, id=f"{name} {line}"[:70], marks=marks)


def others(name, line):
    """Return the options of a command that are not in a line."""
    words = line.replace("-m ", "--measure ").replace("-o ", "--out ").split()
    words += ["PATH"] if name.split()[-1] in ("backup", "restore", "roll-up") else []
    words += ["FILE"] if any("." in w and not w.startswith("-") for w in words[:3]) else []
    return [option for option in functions()[name].options.values() if option not in words]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with a file of each type of evidence, and a ledger."""
    folder, rng = tmp_path_factory.mktemp("files"), np.random.default_rng(5)
    size = 90
    y = rng.integers(0, 2, size)
    answers = {
        k: np.where(rng.random(size) < p, 1 - y, y) for k, p in dict(a=0.15, b=0.3, c=0.4).items()
    }
    score = 2 * y - 1 + rng.normal(0, 1.2, size)
    numbers = {"s": score.round(4), "r": (1 / (1 + np.exp(-1.5 * score))).round(4)}
    numbers["w"] = rng.integers(1, 4, size)
    table = pd.DataFrame({"y": y, **answers, **numbers, "g": np.arange(size) % 2 * 10})
    table["k"], table["id"] = np.arange(size) // 3 % 5, np.arange(size)
    table.to_csv(folder / "p.csv", index=False)
    halves = table.assign(repeat=np.arange(size) % 2, half=np.arange(size) // 2 % 2)
    halves.to_csv(folder / "halves.csv", index=False)
    labelled = pd.Series(y).where(np.arange(size) < 40).astype("Int64")
    table.assign(y=labelled).to_csv(folder / "h.csv", index=False)
    raters = {name: np.where(rng.random(size) < 0.15, 1 - y, y) for name in ("ann", "bob", "llm")}
    gold = {"gold": labelled, "g": table["g"], "k": table["k"], "yhat": table["a"]}
    pd.DataFrame(raters | gold | {"y": y}).head(40).to_csv(folder / "r.csv", index=False)
    (folder / "t.csv").write_text("actual,0,1\n0,40,6\n1,5,30\n")
    (folder / "gate.toml").write_text("level = 0.6\n")
    (folder / "m.toml").write_text('order = "at"\n')
    rows = [(f"set {i}", c, f, v + rng.normal(0, 0.03)) for i in range(4)
            for c, v in dict(a=0.8, b=0.83).items() for f in range(3)]  # fmt: skip
    names = ["data", "classifier", "fold", "accuracy"]
    pd.DataFrame(rows, columns=names).to_csv(folder / "results.csv", index=False)
    tp, tn = rng.binomial(50, [0.7, 0.8, 0.85, 0.9]), rng.binomial(90, [0.9, 0.8, 0.85, 0.7])
    studies = {"study": list("ABCD"), "tp": tp, "fn": 50 - tp, "fp": 90 - tn, "tn": tn}
    studies["year"] = [1999, 2003, 2006, 2011]
    pd.DataFrame(studies).to_csv(folder / "studies.csv", index=False)
    item = np.repeat(np.arange(8), 4)
    attempts = {"item": item, "correct": (rng.random(32) < item / 8).astype(int), "t": "x"}
    attempts |= {"said": np.where(rng.random(32) < item / 8, "x", "z"), "n": np.arange(32) % 4}
    attempts |= {"text": item // 2}
    parts = [pd.DataFrame(attempts).assign(s=name) for name in "uv"]
    pd.concat(parts).to_csv(folder / "q.csv", index=False)
    place = np.tile(np.arange(24), 2)
    marks = {"item": place, "s": np.repeat(["u", "v"], 24), "mark": rng.random(48).round(2)}
    marks |= {"text": place // 4, "g": place % 2, "w": place % 3 + 1, "k": place // 3}
    pd.DataFrame(marks | {"score": marks["mark"] ** 2}).to_csv(folder / "marks.csv", index=False)
    labels, right = np.array(list("xyz")), rng.random((60, 3)) < 0.5
    tags = {"tags": right, "ta": right ^ (rng.random(right.shape) < 0.2)}
    tags |= {"tb": right ^ (rng.random(right.shape) < 0.3)}
    fields = {name: [";".join(labels[row]) for row in rows] for name, rows in tags.items()}
    place = np.arange(60)
    pd.DataFrame(fields | {"g": place % 2, "k": place // 6, "w": 1 + place % 3}).to_csv(
        folder / "tags.csv"
    )
    found = {"item": np.tile(np.arange(20), 2), "s": np.repeat(["u", "v"], 20)}
    found |= {name: rng.poisson(mean, 40) for name, mean in (("tp", 4), ("fp", 1), ("fn", 2))}
    found |= {"k": found["item"] // 2, "other": found["tp"] + 1}
    pd.DataFrame(found).to_csv(folder / "found.csv", index=False)
    write_ledgers(folder, y, numbers["r"])
    many = {"batch": range(4), "k": range(10, 14), "at": pd.date_range("2026-01-01", periods=4)}
    many |= {"tp": [8, 7, 9, 6], "fn": [2, 3, 1, 4], "fp": 3, "tn": [7, 8, 9, 7]}
    pd.DataFrame(many).to_csv(folder / "many.csv", index=False)
    return folder


def write_ledgers(folder, y, probability):
    """Write a ledger of counts and of forecasts, and one of a challenge."""
    with online.Monitor(str(folder / "m.db"), "spam") as monitor:
        for day in range(8):
            tp = 45 - 3 * day
            counts = bcm.from_cells(tp=tp, fn=50 - tp, fp=5, tn=45)
            monitor.add(day, counts, at=f"2026-01-{day + 1:02}")
    with online.Monitor(str(folder / "m.db"), "odds") as monitor:
        for day in range(3):
            forecasts = bcm.from_probabilities(y, probability, positive=1)
            monitor.add(day, forecasts, at=f"2026-01-{day + 1:02}")
    with online.Monitor(str(folder / "m.db"), "marks") as monitor:
        for day in range(8):
            marks = np.linspace(1 - day / 10, 1, 25)
            monitor.add(day, bcm.from_item_scores(marks, range=(0, 1)), at=f"2026-01-{day + 1:02}")
    with online.Challenge(str(folder / "c.db"), "challenge") as challenge:
        outcomes = bcm.from_classifiers(y, {"a": y, "b": 1 - y}, positive=1)
        challenge.add("1", outcomes, "2026-01-01")


def write_arguments(evidence, path, **settings):
    """Write what a report is asked for in its place, which takes a second."""
    path.write_text(f"{evidence} {sorted(settings.items())}")
    return path


@pytest.fixture
def run(files, tmp_path, monkeypatch):
    """Return a function from words to status, output, what is written, and errors."""
    count = iter(range(10_000))
    for (module, constant), number in FEW_DRAWS.items():
        monkeypatch.setattr(import_module(f"bayescm.{module}"), constant, number)
    monkeypatch.setattr("bayescm.reporting.report", write_arguments)
    monkeypatch.setattr("bayescm.reporting.monitors.monitor_report", write_arguments)

    def call(words):
        folder = tmp_path / str(next(count))
        shutil.copytree(files, folder)
        before = {path.name for path in folder.iterdir()}
        out, errors = io.StringIO(), io.StringIO()
        shown = contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors)
        with contextlib.chdir(folder), shown[0], shown[1], pytest.raises(SystemExit) as stopped:
            cli.main(words)
        new = [path for path in sorted(folder.iterdir()) if path.name not in before]
        texts = [f"{path.name}\n{content(path)}" for path in new]
        shutil.rmtree(folder)
        return stopped.value.code, out.getvalue() + "\n".join(texts), errors.getvalue()

    return call


def content(path):
    """Return the text of a file, or the bytes of a picture; a ledger has times."""
    if path.suffix == ".png":
        return hashlib.sha256(path.read_bytes()).hexdigest()
    return path.read_text() if path.suffix in (".csv", ".md", ".xml", ".tex") else ""


def spelled(name, option):
    """Return the words that an option is given by."""
    value = OF_COMMANDS.get((name, option), VALUES.get(option))
    if option in ("FILE", "PATH"):
        return [value]
    return [option] if option in FLAGS else [option, value]


def named(option, value, errors):
    """Say whether an error is about an option: by its name, as a word, or by its value."""
    words = {option, option.strip("-"), option.strip("-").replace("-", " "), value}
    words |= set(value.split(","))
    words |= {str(float(value))} if re.fullmatch(r"[\d.]+", value) else set()
    return any(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", errors) for word in words)


@pytest.mark.long
@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize(("name", "line"), list(cases()))
def test_an_option_has_an_effect_or_is_refused_by_name(run, name, line):
    words = [*name.split(), *line.split()]
    style_option = functions()[name].options.get("style")  # --format, or --table of `notify`
    style = [style_option, "csv"] if style_option and name != "report" else []
    base, wrong = run([*words, *style]), []
    assert base[0] in (0, 1, 3), base[2]
    for option in others(name, line):
        more = spelled(name, option)
        if option in ("--format", "--safe-csv"):
            more = ["--format", "json"] if option == "--format" else more
            status, text, errors = run([*words, *more])
        else:
            status, text, errors = run([*words, *style, *more])
        nameless = bool({option, (name, option)} & NAMELESS)
        if status == 2 and not nameless and not named(option, more[-1], errors):
            wrong.append(f"{option} is not named: {errors}")
        elif status != 2 and text == base[1] and not {option, (name, option)} & UNSEEN:
            wrong.append(f"{option} {more} changed nothing")
    assert not wrong, "\n".join(wrong)


def test_every_command_and_every_option_is_tried():
    assert COMMANDS.keys() == functions().keys()
    every = {option for function in functions().values() for option in function.options.values()}
    assert every - VALUES.keys() - FLAGS == {"PATH", "--before", "--weight"}  # always there
