"""Reference cases computed independently of this package, as pytest parameters."""

import json
from functools import cache
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared"
DATA = SHARED / "data"


@cache
def _all_cases():
    path = SHARED / "reference" / "oracle.json"
    return json.loads(path.read_text())["cases"] if path.exists() else None


def cases(*prefixes):
    """Return the cases whose id starts with one of the prefixes, one pytest parameter each."""
    every = _all_cases()
    if every is None:
        reason = "reference/oracle.json is not beside this checkout"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason), id="no-oracle")]
    chosen = [case for case in every if case["id"].startswith(prefixes)]
    assert chosen, f"no reference case starts with {prefixes}"
    return [pytest.param(case, id=case["id"]) for case in chosen]


def data_file(name):
    """Return the path of a data file (``uci/iris.csv``), or skip the test where it is missing."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"data/{name} is not beside this checkout")
    return path
