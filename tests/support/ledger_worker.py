"""Processes for the tests of the ledger: run as a script, so that it forks before any thread."""

import json
import os
import random
import resource
import select
import signal
import sys
import time

import sqlalchemy as sa
import xarray as xr

from bayescm.online.database import parse
from bayescm.online.ledger import Ledger

LABELS = ["well", "sick"]
TEMPLATE = xr.DataArray(
    [[0, 0], [0, 7]],
    {"actual": LABELS, "predicted": LABELS, "positive": "sick"},
    ["actual", "predicted"],
    name="counts",
)


def counts(writer, number):
    """Return a matrix that names its batch, so that a half or mixed-up batch is seen."""
    return TEMPLATE.copy(deep=False, data=[[writer, number], [number + 1, 7]])


def write(store, writer, batches, acknowledge=None):
    ledger = Ledger(store)
    for number in range(batches):
        ledger.record("classifier", f"{writer}-{number}", counts(writer, number))
        if acknowledge is not None:
            os.write(acknowledge, f"{writer}-{number}\n".encode())


def warm_up(store):
    """Load what is loaded on first use (by xarray, for one) before the children need it."""
    sa.create_engine(parse(store)).dispose()
    write("sqlite://", 0, 1)


def kill(store, kills, seed, longest, at_once=4):
    """Kill writers at random moments, a few of them at work at once; return what each had said."""
    rng = random.Random(seed)
    said = {}
    warm_up(store)
    for first in range(0, kills, at_once):
        alive = [start(store, writer) for writer in range(first, min(first + at_once, kills))]
        rng.shuffle(alive)
        for writer, child, reading in alive:
            if writer % 2:  # every second one lives to see its first batch acknowledged
                select.select([reading], [], [], 10)
            time.sleep(rng.uniform(0, longest) / at_once)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            with os.fdopen(reading) as pipe:
                said[writer] = pipe.read().split("\n")[:-1]
    return [said[writer] for writer in range(kills)]


def start(store, writer):
    """Start a process that writes until it is killed; return where to read what it says."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        write(store, writer, 10**9, writing)
    os.close(writing)
    return writer, child, reading


def kill_set_ups(folder, trials):
    """Kill three writers of each of several new ledgers, so that some die in the set-up."""
    return [kill(f"sqlite:///{folder}/{trial}.db", 3, trial, 0.05) for trial in range(trials)]


def crowd(store, writers, batches):
    """Let several processes write at once, from the set-up on; return their exit codes."""
    children = []
    warm_up(store)
    for writer in range(writers):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                write(store, writer, batches)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def fill(store, size):
    """Write until the disk is full (as far as this process may use it)."""
    Ledger(store).close()
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    ledger, said = Ledger(store), []
    try:
        for number in range(10**6):
            ledger.record("classifier", f"0-{number}", counts(0, number))
            said.append(f"0-{number}")
    except OSError as problem:
        return [said, str(problem)]


if __name__ == "__main__":
    job, store, *numbers = sys.argv[1:]
    numbers = [float(each) if "." in each else int(each) for each in numbers]
    print(json.dumps(globals()[job](store, *numbers)))
