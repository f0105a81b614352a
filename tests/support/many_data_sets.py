"""Accuracies of five classifiers on 54 data sets, from baycomp's documentation (MIT licence)."""

from functools import cache
from pathlib import Path

import pandas as pd
import pytest

_FILE = Path(__file__).parents[3] / "shared" / "data" / "confusion" / "baycomp_accuracies.csv.gz"


@cache
def _table():
    return pd.read_csv(_FILE)


def accuracies(names):
    """Return a wide table of 100 runs, in percent, with columns ``data_set`` and ``classifier``."""
    if not _FILE.exists():
        pytest.skip(f"{_FILE.name} is not beside the checkout")
    table = pd.concat(_table().query("classifier == @name") for name in names)
    return table.drop(columns="dataset").rename(columns={"dataset_no": "data_set"})
