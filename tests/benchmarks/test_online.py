"""How long an online evaluation takes. Run with ``pytest tests/benchmarks --benchmark-only``.

Processor time where nothing waits for a disk, so that a busy machine matters less. That of a whole
command includes loading Python, xarray and pandas, which is most of it.
"""

import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from ledger_growth import fill

import bayescm as bcm
from bayescm import online, priors

MEASURES = ["precision", "recall", "specificity", "accuracy", "f1"]
BATCH = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
SERIES = bcm.from_cells(tp=[45] * 30, fn=5, fp=8, tn=42).rename(batch="step")
COMMAND = Path(sys.executable).with_name("bayescm")


def of_children():
    """Return the processor time of the commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def bounded(benchmark, seconds):
    if benchmark.enabled:
        assert benchmark.stats.stats.median < seconds


@pytest.mark.benchmark(timer=time.process_time)
def test_one_update_with_five_intervals(benchmark):
    state = online.update(priors.jeffreys(), BATCH)
    benchmark(lambda: online.intervals(online.update(state, BATCH), MEASURES, kind="eti"))
    bounded(benchmark, 0.002)


def test_one_durable_record_with_five_intervals(benchmark, tmp_path):
    numbers = iter(range(10**6))
    with online.Monitor(str(tmp_path / "eval.db"), "classifier", measures=MEASURES) as monitor:
        state = online.update(priors.jeffreys(), BATCH)

        def add():
            assert monitor.add(next(numbers), BATCH)
            online.intervals(online.update(state, BATCH), MEASURES, kind="eti")

        benchmark(add)
    bounded(benchmark, 0.010)


@pytest.mark.benchmark(timer=time.process_time)
def test_ten_thousand_classifiers_at_once(benchmark):
    rng = np.random.default_rng(0)
    tables = rng.multinomial(200, [0.4, 0.1, 0.1, 0.4], 10_000).reshape(-1, 2, 2)
    labels = ["negative", "positive"]
    many = bcm.from_matrix(tables, labels=labels, positive=labels[1], dims=("classifier",))
    state = online.update(priors.jeffreys(), many)
    benchmark(lambda: online.intervals(online.update(state, many), MEASURES, kind="eti"))
    bounded(benchmark, 1.0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.benchmark(timer=time.process_time)
def test_a_refit_by_nuts_on_one_more_batch(benchmark):
    """The room for batches to come keeps the shape, so that nothing is compiled again.

    About a third is the sampler's; the rest makes the other groups of the tree. No bound of 1 s.
    """
    sizes = iter(range(20, 30))

    def refit():
        now = online.with_room(SERIES[: next(sizes)], 0)
        roomy = online.with_room(now, 30 - now.sizes["step"])
        settings = {"method": "nuts", "draws": 500, "tune": 500, "chains": 2, "random_seed": 1}
        return bcm.fit(roomy, "drifting", **settings)

    refit()
    benchmark.pedantic(refit, rounds=5)


@pytest.mark.benchmark(timer=of_children)
@pytest.mark.parametrize("labels", [[0, 1], ["well", "sick"]], ids=["integers", "strings"])
@pytest.mark.parametrize("source", ["file", "standard input"])
def test_a_million_predictions_from_the_shell(benchmark, tmp_path, labels, source):
    rng = np.random.default_rng(0)
    pairs = np.array(labels)[rng.integers(0, 2, (10**6, 2))]
    rows = "\n".join(f"{actual},{predicted}" for actual, predicted in pairs.tolist())
    file = tmp_path / "predictions.csv"
    file.write_text(f"actual,predicted\n{rows}\n")
    name = str(file) if source == "file" else "-"
    command = [COMMAND, "monitor", "add", name, "--store", str(tmp_path / "eval.db")]

    def add():
        with file.open() as rows:
            subprocess.run(
                [*command, "--batch", "1", "--positive", str(labels[1])],
                stdin=rows,
                check=True,
                stdout=subprocess.DEVNULL,
            )

    benchmark.pedantic(add, rounds=5, warmup_rounds=1)
    bounded(benchmark, 1.0)


@pytest.fixture(scope="module")
def ten_thousand(tmp_path_factory):
    """Return a ledger of ten thousand batches, entered at once (one by one takes a minute)."""
    path = tmp_path_factory.mktemp("ledger") / "eval.db"
    fill(path, 10_000)
    return str(path)


@pytest.mark.benchmark(timer=of_children)
def test_the_status_of_ten_thousand_batches_from_the_shell(benchmark, ten_thousand):
    command = [COMMAND, "monitor", "status", "--store", ten_thousand]
    run = {"check": True, "stdout": subprocess.DEVNULL}
    benchmark.pedantic(subprocess.run, (command,), run, rounds=5, warmup_rounds=1)
    bounded(benchmark, 1.0)


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize("question", ["summary", "history", "alarms"])
def test_ten_thousand_batches(benchmark, ten_thousand, question):
    with online.Monitor(ten_thousand, "classifier") as monitor:
        benchmark.pedantic(getattr(monitor, question), rounds=2)


@pytest.mark.benchmark(timer=of_children)
def test_four_counts_from_the_shell(benchmark):
    command = [COMMAND, "interval", "--tp", "65", "--fn", "15", "--fp", "35", "--tn", "30"]
    run = {"check": True, "stdout": subprocess.DEVNULL}
    benchmark.pedantic(subprocess.run, ([*command, "-m", "f1"],), run, rounds=5, warmup_rounds=1)
    bounded(benchmark, 1.0)
