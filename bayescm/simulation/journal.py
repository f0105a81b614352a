"""The finished replications of a study: kept in memory and, on request, in a file.

The file holds JSON lines: a header (study, seed, version, true values), then one line for each
finished replication. It is only ever appended to.
"""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd

from bayescm import __version__, validate

# Index of the generator that draws the true values: no replication ever has it.
TRUTH = 2**31


def generator(seed: int, index: int) -> np.random.Generator:
    """Return the generator of one replication: it depends on the seed and the index alone."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))


class Journal:
    """The finished replications, in memory and (if there is a path) in a file.

    Parameters
    ----------
    path : path or None
        The file. If it exists, its replications are taken over.
    study : bayescm.simulation.coverage.Study
        The study; ``study.truth`` is asked for the true values when the file is new.
    seed : int
        The seed.

    Raises
    ------
    ValueError
        If the file belongs to another study or seed.
    """

    def __init__(self, path, study, seed):
        self.path = None if path is None else Path(path)
        header, lines = self._read()
        mine = {"study": study.name, "seed": seed}
        if header and {name: header[name] for name in mine} != mine:
            raise validate.fail(
                "the journal belongs to another run",
                f"{self.path}: {header['study']!r}, seed {header['seed']}",
                f"{study.name!r}, seed {seed}",
                "name another file, or run the same study with the same seed",
            )
        # Later lines hold more methods than earlier ones of the same replication; a second header
        # stands where two runs began at once.
        self.records = {line["index"]: line for line in lines if "index" in line}
        if header is None:
            truth = study.truth(generator(seed, TRUTH)) if study.truth else None
            header = mine | {"version": __version__, "truth": truth}
            self._append(header)
        self.truth = header["truth"]

    def _read(self):
        if self.path is None or not self.path.exists():
            return None, []
        text = self.path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        if len(whole) < len(text):
            # A kill in the middle of a line: that replication was not finished.
            os.truncate(self.path, len(whole))
        lines = [json.loads(line) for line in whole.splitlines()]
        return (lines[0], lines[1:]) if lines else (None, [])

    def _append(self, line):
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(line) + "\n")

    def add(self, record):
        """Keep one finished replication."""
        self.records[record["index"]] = record
        self._append(record)

    def record(self, index):
        """Return what is known of a replication, or None."""
        return self.records.get(index)

    def missing(self, index, methods):
        """Say whether a replication, or one of its methods, is still to be done."""
        record = self.records.get(index)
        return record is None or any(name not in record["intervals"] for name in methods)

    def frame(self, study, indices):
        """Return one row for each replication, method and measure."""
        rows = [
            (index, measure, name, *_with_error(truth[measure]), *ends)
            for index in indices
            for truth in [self.truth or self.records[index]["truth"]]
            for name in study.methods
            for measure, ends in self.records[index]["intervals"][name].items()
        ]
        columns = ["replication", "measure", "method", "truth", "truth_se", "lower", "upper"]
        return pd.DataFrame(rows, columns=columns)


def _with_error(truth):
    """Return a true value and its standard error, 0 where it is known."""
    return (truth, 0.0) if np.ndim(truth) == 0 else tuple(truth)
