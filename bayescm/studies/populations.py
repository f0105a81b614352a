"""Populations that the papers' experiments draw their samples from."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from bayescm.validate import fail

SOURCES = {
    "letter": ("letter.csv.gz", "Letter Recognition, doi:10.24432/C5ZP40"),
    "magic": ("magic.csv.gz", "MAGIC Gamma Telescope, doi:10.24432/C52C8B"),
}


@dataclass(frozen=True)
class Gaussians:
    """
    Two Gaussian classes: standard normal, and shifted and scaled in every feature.

    Attributes
    ----------
    features : int
        Number of features d.
    shift : float
        Mean of every feature in the positive class (the other one has 0).
    scale : float
        Variance of every feature in the positive class (the other one has 1).
    balanced : bool
        Whether samples have equally many examples of both classes, or random numbers.
    swapped : bool
        Whether the standard normal class is the positive one, and the other one is not.
    """

    features: int
    shift: float
    scale: float
    balanced: bool = True
    swapped: bool = False

    def sample(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return features (size, d) and classes (size,)."""
        if self.balanced:
            classes = np.repeat([0, 1], [size - size // 2, size // 2])
        else:
            classes = rng.integers(0, 2, size)
        features = rng.standard_normal((size, self.features))
        moved = classes == (0 if self.swapped else 1)
        features[moved] = self.shift + np.sqrt(self.scale) * features[moved]
        return features, classes


@dataclass(frozen=True)
class Rows:
    """
    The rows of a data set, to be sampled with replacement.

    Attributes
    ----------
    name : {"letter", "magic"}
        Letters A to M against N to Z; gamma rays against as many hadrons (13,376 rows).
    folder : str
        Where the files ``letter.csv.gz`` and ``magic.csv.gz`` are: the archive's own, compressed.
    balanced : bool
        Whether samples have exactly the population's class proportions, or random ones.
    """

    name: str
    folder: str
    balanced: bool = True

    def sample(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return features (size, d) and classes (size,)."""
        features, classes = read_rows(self.name, find_data(self.name, self.folder))
        if not self.balanced:
            chosen = rng.integers(0, len(classes), size)
        else:
            positive = round(size * float(classes.mean()))
            chosen = np.concatenate(
                [
                    rng.choice(np.flatnonzero(classes == label), number)
                    for label, number in [(0, size - positive), (1, positive)]
                ]
            )
        return features[chosen], classes[chosen]


def find_data(name: str, folder: str | None) -> str:
    """Return the folder that has the file of a data set, or say where the file comes from."""
    file, source = SOURCES[name]
    for place in [] if folder is None else [Path(folder), Path(folder) / "uci"]:
        if (place / file).exists():
            return str(place)
    raise fail(
        f"the data file {file} is missing",
        folder,
        f"a folder that has it: the UCI archive's {source}, gzipped, without a header",
        "download it and pass data= (on the command line --data) with its folder",
    )


@cache
def read_rows(name: str, folder: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features (n, d) and classes (n,) of a data set."""
    table = pd.read_csv(Path(folder) / SOURCES[name][0], header=None)
    if name == "letter":
        return table.iloc[:, 1:].to_numpy(float), (table[0] <= "M").to_numpy(int)
    classes = (table.iloc[:, -1] == "g").to_numpy(int)
    # The paper has 13,376 examples, twice the number of hadrons.
    gammas = np.random.default_rng(0).choice(np.flatnonzero(classes == 1), 6688, replace=False)
    kept = np.concatenate([gammas, np.flatnonzero(classes == 0)])
    return table.iloc[kept, :-1].to_numpy(float), classes[kept]
