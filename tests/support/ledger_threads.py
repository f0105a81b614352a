"""Threads and forks for the tests of the ledger, as a script that forks before it has threads."""

import json
import os
import sys
import threading
import warnings

from ledger_worker import counts

from bayescm.online import Monitor
from bayescm.online.ledger import Ledger

_MANY = 500


def threads(store, workers, operations):
    """Add batches and read results in threads that share a monitor, and return the failures."""
    wrong = []
    with Monitor(store, "classifier", measures=["recall"]) as monitor:

        def work(writer):
            try:
                for number in range(operations):
                    if number % 2:
                        state = monitor.posterior()["counts"].values
                        if operations > _MANY and number % _MANY != 1:
                            continue  # the time to read all batches grows with their number
                        table = monitor.batches()
                        # A batch can be added between the two calls, but none is counted twice.
                        if (table.values.sum(axis=0) < state).any():
                            wrong.append(["asked", state.tolist()])
                    else:
                        added = monitor.add(f"{writer}-{number}", counts(writer, number))
                        if not added:
                            wrong.append(["not added", writer, number])
            except BaseException as problem:  # an exception in a thread is not reported otherwise
                wrong.append([writer, repr(problem)])

        started = [threading.Thread(target=work, args=(writer,)) for writer in range(workers)]
        for each in started:
            each.start()
        for each in started:
            each.join()
        want = sum(counts(w, n).values for w in range(workers) for n in range(0, operations, 2))
        found = monitor.batches().values.sum(axis=0).tolist()
        known = monitor.since_change().values.sum(axis=0)
        if found != want.tolist() or (monitor.posterior()["counts"].values != known).any():
            wrong.append(["sum", found, want.tolist()])
    return wrong


def forks(store, workers, operations):
    """Add batches in forked processes to a monitor that the parent has open and keeps using."""
    with Monitor(store, "classifier", measures=["recall"]) as monitor:
        monitor.add("before", counts(99, 0))
        children = []
        for writer in range(workers):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    for number in range(operations):
                        monitor.add(f"{writer}-{number}", counts(writer, number))
                        monitor.posterior()
                    code = 0
                finally:
                    os._exit(code)
            children.append(child)
            monitor.add(f"parent-{writer}", counts(50, writer))
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        found = monitor.batches()
        steps = workers * operations + workers + 1
        exact = found.sizes["step"] == steps == len(set(found["batch_id"].values))
        known = monitor.since_change().values.sum(axis=0)
        same = (monitor.posterior()["counts"].values == known).all()
    return [codes, bool(exact and same)]


def memory_in_a_child(*_):
    """Return the error message of a child process that uses the parent's in-memory ledger."""
    ledger = Ledger("sqlite://")
    ledger.record("classifier", "before", counts(0, 0))
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            ledger.record("classifier", "after", counts(0, 1))
            os.write(writing, b"recorded")
        except ValueError as problem:
            os.write(writing, str(problem).encode())
        os._exit(0)
    os.wait()
    return os.read(reading, 1000).decode()


def everything(folder, workers, operations):
    """Run all jobs in one process, which loads the package once, and fork before using threads."""
    said = {"forks": forks(f"{folder}/forks.db", 3, operations // 2), "child": memory_in_a_child()}
    said["file"] = threads(f"{folder}/eval.db", workers, operations)
    return said | {"memory": threads("sqlite://", workers, operations)}


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # threads add batches in any order
    job, store, *numbers = sys.argv[1:]
    print(json.dumps(globals()[job](store, *map(int, numbers))))
