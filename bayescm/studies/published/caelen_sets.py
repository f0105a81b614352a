"""The 16 data sets of Caelen (2017): where each lies, and its features and classes."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from bayescm.validate import fail

# File, column and label of the positive class, columns that are names.
SETS: dict[int, tuple[str, int, str, tuple[int, ...]]] = {
    1: ("iris", 4, "Iris-versicolor", ()),
    2: ("wine", 0, "1", ()),
    3: ("blood_transfusion", 4, "1", ()),
    4: ("pima", 8, "1", ()),
    5: ("mammographic", 5, "1", ()),
    6: ("glass", 10, "1", ()),
    7: ("fertility", 9, "O", ()),
    8: ("ecoli", 8, "cp", (0,)),
    9: ("abalone", 8, "9", ()),
    10: ("banknote", 4, "1", ()),
    11: ("car", 6, "acc", ()),
    12: ("kr_vs_kp", 36, "won", ()),
    13: ("sonar", 60, "M", ()),
    14: ("cmc", 9, "1", ()),
    15: ("haberman", 3, "2", ()),
    # V4, the educational level; the name (V1) is no feature, the class (V6) is one.
    16: ("hayes_roth", 3, "1", (0,)),
}


@cache
def read_set(number: int, folder: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features (n, d) and classes (n,) of one of the 16 data sets."""
    name, column, positive, names = SETS[number]
    path = next((each for each in _places(name, folder) if each.exists()), None)
    if path is None:
        todo = "download it from the UCI archive and pass data= (--data) with its folder"
        allowed = "a folder that has it, without a header"
        raise fail(f"the data file {name}.csv is missing", folder, allowed, todo)
    table = pd.read_csv(path, header=None, dtype=str)
    classes = (table[column] == positive).to_numpy(int)
    columns = table.drop(columns=[column, *names])
    return pd.get_dummies(columns.apply(_numbers)).to_numpy(float), classes


def _places(name, folder):
    return [Path(folder) / f"{name}.csv", Path(folder) / "uci" / f"{name}.csv"]


def _numbers(column):
    """Return a column as numbers, -1 where missing, or as it is where it holds words."""
    found = pd.to_numeric(column, errors="coerce")
    return found.fillna(-1.0) if found.notna().mean() > 0.9 else column
