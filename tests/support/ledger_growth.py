"""Measure the speed of a monitor on long ledgers. This script fills the ledgers and times calls."""

import json
import sys
import tempfile
import time
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from ledger_worker import counts

from bayescm.online import Monitor
from bayescm.online.chain import next_entry
from bayescm.online.encoding import VERSION, timestamp
from bayescm.online.ledger import Ledger, batch_table, read_descriptions

START = datetime(2000, 1, 1, tzinfo=UTC)
TOLD = 100  # number of recent batches in the call to `alarms`
REPEATS = 7


def moment(number):
    return START + timedelta(minutes=number)


def fill(path, size, some=5000):
    """Write a ledger with one batch per minute, in large transactions, and return its path."""
    rng, who = np.random.default_rng(1), "classifier"
    with Ledger(path) as ledger:
        ledger.record(who, "0", counts(3, 5), at=moment(0))
        last, arrived = ledger.last(who), timestamp(datetime.now(UTC))
        with ledger.transaction("fill", write=True) as connection:
            (description,), rows = read_descriptions(connection), []
            for number in range(1, size):
                tp, tn = rng.binomial([100, 100], [0.8, 0.9])
                new = {"batch_id": str(number), "at": timestamp(moment(number))}
                new |= {"encoding": "counts", "encoding_version": VERSION, "supersedes": None}
                new["payload"] = json.dumps([[int(tn), int(100 - tn)], [int(100 - tp), int(tp)]])
                last = next_entry(description.genesis, last, new | {"recorded_at": arrived}, None)
                rows.append(last._asdict() | {"classifier": who})
                if len(rows) == some or number == size - 1:
                    connection.execute(batch_table.insert(), rows)
                    rows = []
    return path


def calls(path, size):
    """Return the calls to time, keyed by name. Each opens the ledger."""
    fresh = iter(range(size, size + 10**6))
    settings = {"measures": ["recall", "precision", "f1"]}

    def add():
        with Monitor(path, "classifier", **settings) as monitor:
            number = next(fresh)
            monitor.add(str(number), counts(3, 5), at=moment(number))

    def add_in_the_past():
        with Monitor(path, "classifier", **settings) as monitor:
            monitor.add(f"late {next(fresh)}", counts(3, 5), at=moment(size // 2))

    def posterior():
        with Monitor(path, "classifier", **settings) as monitor:
            monitor.posterior()

    def status():
        with Monitor(path, "classifier", **settings) as monitor:
            monitor.summary()

    def alarms():
        with Monitor(path, "classifier", **settings) as monitor:
            monitor.alarms(since=moment(size - TOLD))

    return {job.__name__: job for job in (add, add_in_the_past, posterior, status, alarms)}


def spent(job):
    """Return the median CPU and wall-clock times of several calls, in milliseconds."""
    job()  # the first call is not timed, because it loads modules
    found = []
    for _ in range(REPEATS):
        before = time.process_time(), time.perf_counter()
        job()
        found.append([time.process_time() - before[0], time.perf_counter() - before[1]])
    return 1000 * np.median(found, axis=0)


def table(folder, sizes):
    rows = []
    for size in sizes:
        path = Path(folder) / f"{size}.db"
        if not path.exists():
            fill(path, size)
        for name, job in calls(path, size).items():
            cpu, wall = spent(job)
            rows.append(
                {"batches": size, "call": name, "cpu_ms": round(cpu, 1), "ms": round(wall, 1)}
            )
            print(json.dumps(rows[-1]), flush=True)
    return rows


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        table(folder, [int(each) for each in sys.argv[1:]])
