"""
Two versions of the package side by side: the time of each work, taken in turns in one run.

    python tests/benchmarks/versions.py BEFORE/.venv/bin/python NOW/.venv/bin/python [WORK ...]

Each interpreter has one of the two versions, and does the works in a process of its own, which
lives as long as the run. A work is done by one, then by the other, then in the other order, and so
on. What is printed is the median of the ratios of the processor times (before / now: above 1 is
faster now) and the median time of either. Works are named by the beginnings of their names.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHORTEST = 0.1  # seconds that a work is repeated for, where it takes less
MOST_TURNS, ENOUGH = 5, 2.0  # turns; and seconds of a version, after which three turns are enough


def tables(size, shares, seed=1):
    """Return tables of so many examples, a batch of two classes."""
    import numpy as np

    import bayescm as bcm

    rng = np.random.default_rng(seed)
    totals = np.atleast_1d(size)
    cells = np.stack([rng.multinomial(n, rng.dirichlet(shares)) for n in totals])
    return bcm.from_matrix(cells.reshape(-1, 2, 2), positive=1)


def single_tables(kind):
    """Return twelve single tables, ordinary or small."""
    import numpy as np

    rng = np.random.default_rng(5)
    ordinary = kind == "ordinary"
    sizes = rng.integers(100, 2000, 12) if ordinary else rng.integers(5, 41, 12)
    batch = tables(sizes, [12, 3, 3, 8] if ordinary else [2, 1, 1, 2])
    return [batch[i] for i in range(12)]


def intervals(measure, kind, of_tables):
    """Return the work of the intervals of twelve tables, one after the other."""

    def prepare():
        import bayescm as bcm

        several = single_tables(of_tables)
        return lambda: [bcm.interval(table, measure, kind=kind) for table in several]

    return prepare


def many(measure, kind, of_tables, size):
    """Return the work of the intervals of a batch."""

    def prepare():
        import numpy as np

        import bayescm as bcm

        rng = np.random.default_rng(6)
        ordinary = of_tables == "ordinary"
        sizes = rng.integers(100, 2000, size) if ordinary else rng.integers(5, 41, size)
        batch = tables(sizes, [12, 3, 3, 8] if ordinary else [2, 1, 1, 2])
        return lambda: bcm.interval(batch, measure, kind=kind)

    return prepare


def labels(size, seed=2):
    """Return the truth and the answers of two classifiers."""
    import numpy as np

    rng = np.random.default_rng(seed)
    truth = (rng.random(size) < 0.4).astype(int)
    answers = {name: np.where(rng.random(size) < 0.82, truth, 1 - truth) for name in "ab"}
    return truth, answers


def prepared(code):
    """Return a work whose evidence is made, and whose call is written, in the public names."""

    def prepare():
        import numpy as np

        import bayescm as bcm

        names = {"bcm": bcm, "np": np, "labels": labels, "tables": tables, "folder": FOLDER}
        made, call = code
        exec(made, names)
        work = compile(call, "work", "eval")
        return lambda: eval(work, names)

    return prepare


def process(*command):
    """Return a work that is a process of its own."""

    def prepare():
        def run():
            start = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *command], check=True, capture_output=True)
            end = resource.getrusage(resource.RUSAGE_CHILDREN)
            return end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime

        run.measures_itself = True
        return run

    return prepare


def monitored(size, call):
    """Return the work of asking a ledger of so many batches."""

    def prepare():
        # The root of the checkout that the interpreter belongs to has the script that fills one.
        sys.path.insert(0, str(Path(sys.prefix).parent / "tests" / "support"))
        from ledger_growth import fill

        from bayescm.online import Monitor

        path = f"{FOLDER}/{size}.db"
        if not Path(path).exists():
            fill(path, size)

        def run():
            with Monitor(path, "classifier", measures=["mcc", "cohen_kappa"]) as monitor:
                eval(call, {"monitor": monitor})

        return run

    return prepare


def three_classifiers(size):
    """Return a ledger of three classifiers with so many batches of three classes each."""
    import numpy as np

    import bayescm as bcm
    from bayescm.online import Monitor
    from bayescm.online.ledger import Ledger

    path = f"{FOLDER}/three-{size}.db"
    if not Path(path).exists():
        rng = np.random.default_rng(1)
        with Ledger(path) as ledger:
            for name, right in (("first", 0.8), ("second", 0.7), ("third", 0.6)):
                shares = np.full((3, 3), (1 - right) / 6) + (right - (1 - right) / 2) / 3 * np.eye(
                    3
                )
                cells = rng.multinomial(150, shares.ravel(), size).reshape(-1, 3, 3)
                monitor = Monitor(ledger, name)
                for number, table in enumerate(cells):
                    day = np.datetime64("2026-01-01") + number
                    monitor.add(number, bcm.from_matrix(table, labels=list("abc")), at=day)
    return path


def alarms_of_three(size):
    """Return the work of the alarms of three classifiers, with the default measures."""

    def prepare():
        path = three_classifiers(size)
        from bayescm.online import Monitor

        def run():
            for name in ("first", "second", "third"):
                with Monitor(path, name) as monitor:
                    monitor.alarms()

        return run

    return prepare


def status_of_three(size):
    """Return the work of the command that shows the status of three classifiers."""
    return lambda: process(
        "-m", "bayescm", "monitor", "status", "--store", three_classifiers(size)
    )()


def first_page(size):
    """Return the work of the dashboard's first page, as the first one to ask for it waits."""

    def prepare():
        path = three_classifiers(size)
        from bayescm.online.ledger import Ledger
        from bayescm.online.web.pages import status
        from bayescm.online.web.state import dashboard_state

        def run():
            with Ledger(path) as ledger:
                status(dashboard_state(ledger, {}), 1)

        return run

    return prepare


FOLDER = tempfile.gettempdir()
ONE = "one = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)"
BOTH = "both = bcm.from_classifiers(*labels({}), positive=1)"
PAIR = "pair = dict(a=one, b=bcm.from_cells(tp=60, fn=20, fp=25, tn=40))"
SCORES = (
    "rng = np.random.default_rng(3); truth = (rng.random({size}) < .4).astype(int); "
    "scores = bcm.from_scores(truth, rng.normal(truth), positive=1)"
)
FOLDS = (
    "cells = np.random.default_rng(4).multinomial(100, [.5, .1, .1, .3], 10).reshape(-1, 2, 2); "
    "several = bcm.from_matrix(cells, dims=('{dim}',), positive=1)"
)
TEN_BY_TEN = (
    "cells = np.random.default_rng(4).multinomial(100, [.5, .1, .1, .3], (10, 10)); "
    "several = bcm.from_matrix("
    "cells.reshape(10, 10, 2, 2), dims=('repeat', 'fold'), positive=1)"
)
STEPS = (
    "cells = np.random.default_rng(4).multinomial(100, [.5, .1, .1, .3], {size}); "
    "steps = bcm.from_matrix(cells.reshape(-1, 2, 2), dims=('step',), positive=1)"
)
WORKS = {
    f"12 {of_tables} tables: {measure}, {kind}": intervals(measure, kind, of_tables)
    for of_tables in ("ordinary", "small")
    for measure in ("f1", "precision", "mcc", "cohen_kappa", "lift", "informedness")
    for kind in ("eti", "hdi")
}
WORKS |= {
    f"{size:,} {of_tables} tables: {measure}, {kind}": many(measure, kind, of_tables, size)
    for of_tables, size in (("ordinary", 2_000), ("small", 1_200))
    for measure in ("f1", "mcc", "cohen_kappa")
    for kind in ("eti", "hdi")
}
WORKS |= {
    f"compare of two tables: {name}": prepared((f"{ONE}; {PAIR}", f"bcm.compare(pair, '{name}')"))
    for name in ("accuracy", "f1", "mcc")
}
WORKS |= {
    f"compare on the same 500 examples: {name}": prepared(
        (BOTH.format(500), f"bcm.compare(both, '{name}')")
    )
    for name in ("accuracy", "f1", "mcc")
}
WORKS |= {
    f"AUC of {size:,} scores": prepared((SCORES.format(size=size), "bcm.curves.auc(scores)"))
    for size in (100, 10_000, 1_000_000)
}
WORKS |= {
    f"ten {dim}s: {measure}": prepared(
        (FOLDS.format(dim=dim), f"bcm.interval(several, '{measure}')")
    )
    for dim in ("fold", "group")
    for measure in ("recall", "f1")
}
WORKS |= {
    "summary of one table": prepared((ONE, "bcm.summary(one)")),
    "summary of 12 measures of one table": prepared(
        (
            f"{ONE}; names = ['accuracy', 'balanced_accuracy', 'recall', 'specificity', "
            "'precision', 'npv', 'f1', 'mcc', 'cohen_kappa', 'lift', 'informedness', 'jaccard']",
            "bcm.summary(one, names)",
        )
    ),
    "summary of a batch of 2,000 tables: f1": prepared(
        ("many = tables(np.full(2000, 300), [12, 3, 3, 8])", "bcm.summary(many, 'f1')")
    ),
    "from_predictions, 100,000 integers": prepared(
        ("truth, answers = labels(100_000)", "bcm.from_predictions(truth, answers['a'])")
    ),
    "report of one table": prepared((ONE, "bcm.report(one, f'{folder}/report.md')")),
    "second fit of one table": prepared((ONE, "bcm.fit(one)")),
    "second fit of 10 x 10 folds": prepared((TEN_BY_TEN, "bcm.fit(several)")),
    "first fit of 10 x 10 folds": process(
        *["-c", f"import numpy as np, bayescm as bcm; {TEN_BY_TEN}; bcm.fit(several)"]
    ),
    "interval of one table: mcc": prepared((ONE, "bcm.interval(one, 'mcc')")),
    "20,000 tables to 1e-3: mcc": prepared(
        (
            "many = tables(np.random.default_rng(6).integers(100, 2000, 20_000), [12, 3, 3, 8])",
            "bcm.interval(many, 'mcc', accuracy=1e-3)",
        )
    ),
    "alarms of three classifiers, 200 batches of three classes": alarms_of_three(200),
    "status of three classifiers, 200 batches of three classes": status_of_three(200),
    "first page of three classifiers, 200 batches of three classes": first_page(200),
    "drifting, 1,000 steps: recall": prepared(
        (STEPS.format(size=1000), "bcm.interval(steps, 'recall', model='drifting')")
    ),
    "drifting, 10,000 steps: recall": prepared(
        (STEPS.format(size=10_000), "bcm.interval(steps, 'recall', model='drifting')")
    ),
    "import bayescm": process("-c", "import bayescm"),
    "command line: interval": process(
        *["-m", "bayescm", "interval", "--tp", "65", "--fn", "15", "--fp", "35", "--tn", "30"]
    ),
    "100 classes, one without examples: mcc": prepared(
        (
            "cells = np.random.default_rng(7).poisson(20 * np.eye(100) + .05); cells[7] = 0; "
            "counts = bcm.from_matrix(cells)",
            "bcm.interval(counts, 'mcc')",
        )
    ),
    "the last 200 of 20,000 batches: mcc, kappa": monitored(20_000, "monitor.history(last=200)"),
    "state and alarms of 20,000 batches": monitored(
        20_000, "monitor.summary(), monitor.alarms(floor={'mcc': .5})"
    ),
}


def work_on():
    """Do the works that are asked for on standard input, and answer with their times."""
    import warnings

    warnings.simplefilter("ignore")
    global FOLDER
    with tempfile.TemporaryDirectory() as FOLDER:
        ready = {}
        for line in sys.stdin:
            name = line.rstrip("\n")
            try:
                if name not in ready:
                    ready = {name: WORKS[name]()}
                    ready[name]()  # what is loaded or made on first use
                answer = {"seconds": seconds(ready[name])}
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            print("answer", json.dumps(answer), flush=True)


def seconds(work):
    """Return the processor time of a work, the mean of a fifth of a second's."""
    if hasattr(work, "measures_itself"):
        return work()
    start, times = time.process_time(), 0
    while times == 0 or time.process_time() - start < SHORTEST:
        work()
        times += 1
    return (time.process_time() - start) / times


def ask(worker, name):
    """Return what a version answers."""
    worker.stdin.write(f"{name}\n")
    worker.stdin.flush()
    for line in worker.stdout:
        if line.startswith("answer "):
            return json.loads(line.removeprefix("answer "))
    raise RuntimeError("the process has ended")


def side_by_side(before, now, name):
    """Return the times of both versions, in turns; or what went wrong."""
    times, spent = [], 0.0
    for turn in range(MOST_TURNS):
        order = [before, now] if turn % 2 == 0 else [now, before]
        answers = {id(worker): ask(worker, name) for worker in order}
        pair = [answers[id(worker)] for worker in (before, now)]
        if any("error" in answer for answer in pair):
            return [answer.get("error", f"{answer.get('seconds')} s") for answer in pair]
        times.append([answer["seconds"] for answer in pair])
        spent += max(times[-1])
        if len(times) >= 3 and spent > ENOUGH:
            break
    return times


def main(before, now, *chosen):
    """Print a row for each work."""
    # Bytecode is kept: without it a process spends its time on compiling what it imports.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    workers = [
        subprocess.Popen(
            [python, __file__, "--work"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, cwd=tempfile.gettempdir(), env=environment,
        )
        for python in (before, now)
    ]  # fmt: skip
    names = [name for name in WORKS if not chosen or name.startswith(chosen)]
    print("work,ratio,before_ms,now_ms,turns")
    for name in names:
        times = side_by_side(*workers, name)
        if not isinstance(times[0], list):
            print(f'"{name}",,"{times[0]}","{times[1]}",', flush=True)
            continue
        ratio = statistics.median(pair[0] / pair[1] for pair in times)
        first, second = (1000 * statistics.median(pair[i] for pair in times) for i in (0, 1))
        print(f'"{name}",{ratio:.3g},{first:.4g},{second:.4g},{len(times)}', flush=True)
    for worker in workers:
        worker.stdin.close()
        worker.wait()


if __name__ == "__main__":
    if sys.argv[1:] == ["--work"]:
        work_on()
    else:
        main(*sys.argv[1:])
