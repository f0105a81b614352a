"""Independently computed reference values, as pytest parameters, and paths of data files."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

REFERENCE = Path(__file__).parents[1] / "reference"
DATA = Path(__file__).parents[3] / "shared" / "data"


@cache
def _all_cases():
    # A file that does not contain a list belongs to a single test, which reads it directly.
    found = [json.loads(path.read_text()) for path in REFERENCE.glob("*.json")]
    return [case for each in found if isinstance(each, list) for case in each]


def cases(*prefixes):
    """Return the cases with an id that starts with one of the prefixes, as pytest parameters."""
    chosen = [case for case in _all_cases() if case["id"].startswith(prefixes)]
    assert chosen, f"no reference case starts with {prefixes}"
    return [pytest.param(case, id=case["id"]) for case in sorted(chosen, key=lambda c: c["id"])]


def folded_cells(inputs):
    """Return the cells (K, 2, 2) of a reference case of K folds."""
    tn, fp, fn, tp = (inputs[name] for name in ("TN", "FP", "FN", "TP"))
    return np.moveaxis(np.array([[tn, fp], [fn, tp]]), -1, 0)


def data_file(name):
    """Return the path of a data file (``uci/iris.csv``), or skip the test if it is missing."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"data/{name} is not beside this checkout")
    return path
