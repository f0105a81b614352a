"""Processes for the tests of the ledger, as a script that forks before it has threads."""

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
    """Return a matrix that identifies its batch, so that partial or mixed-up batches are found."""
    return TEMPLATE.copy(deep=False, data=[[writer, number], [number + 1, 7]])


def write(store, writer, batches, acknowledge=None):
    ledger = Ledger(store)
    for number in range(batches):
        ledger.record("classifier", f"{writer}-{number}", counts(writer, number))
        if acknowledge is not None:
            os.write(acknowledge, f"{writer}-{number}\n".encode())


def warm_up(store):
    """Load modules that are imported on first use, so that child processes do not load them."""
    sa.create_engine(parse(store)).dispose()
    write("sqlite://", 0, 1)


def kill(store, kills, seed, longest, at_once=4):
    """
    Kill writers at random times, a few of them running at once.

    Returns the acknowledged batches of each writer.
    """
    rng = random.Random(seed)
    said = {}
    warm_up(store)
    for first in range(0, kills, at_once):
        alive = [start(store, writer) for writer in range(first, min(first + at_once, kills))]
        rng.shuffle(alive)
        for writer, child, reading in alive:
            if writer % 2:  # every second writer is killed after its first acknowledged batch
                select.select([reading], [], [], 10)
            time.sleep(rng.uniform(0, longest) / at_once)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            with os.fdopen(reading) as pipe:
                said[writer] = pipe.read().split("\n")[:-1]
    return [said[writer] for writer in range(kills)]


def start(store, writer):
    """Start a process that writes until it is killed, and return a pipe of acknowledgements."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        write(store, writer, 10**9, writing)
    os.close(writing)
    return writer, child, reading


def kill_set_ups(folder, trials):
    """Kill three writers of each of several new ledgers, some of them during the set-up."""
    return [kill(f"sqlite:///{folder}/{trial}.db", 3, trial, 0.05) for trial in range(trials)]


def crowd(store, writers, batches):
    """Write in several processes at once, including the set-up, and return the exit codes."""
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
    """Write until a limit of the file size is reached, which acts like a full disk."""
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
