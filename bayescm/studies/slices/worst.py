"""
Many slices, a few of them bad: false discoveries that are expected, and those that there are.

The logits of recall are normal between slices; or a twentieth of the slices are bad and the others
alike; or they have heavy tails; or all slices are equal and good. A slice is bad if its recall is
below .7. Beside `bayescm.worst_slices` stand a binomial test of each slice by itself with the false
discovery rate controlled (Benjamini & Hochberg), and the plain rule that flags what was observed
below the threshold.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit, logit

from bayescm.answers.groups.slices import worst_slices
from bayescm.evidence import from_matrix
from bayescm.studies.tables import Settings, case_of, chosen
from bayescm.validate import check_choice

TABLES = ("discoveries",)
THRESHOLD, FDR = 0.7, 0.1
_MIDDLE, _DRAWS = logit(0.82), 1000


class Setting(NamedTuple):
    """How the slices differ, how many there are, and how many positives each has."""

    kind: str
    slices: int
    smallest: int
    largest: int


CASES = {
    1: Setting("normal .3", 50, 20, 200),
    2: Setting("normal .3", 500, 20, 200),
    3: Setting("normal .6", 50, 5, 100),
    4: Setting("normal .6", 500, 5, 100),
    5: Setting("one in 20 bad", 50, 20, 200),
    6: Setting("one in 20 bad", 500, 20, 200),
    7: Setting("one in 20 bad", 500, 5, 50),
    8: Setting("heavy tails", 500, 20, 200),
    9: Setting("equal", 500, 5, 100),
}


def _effects(kind, size, rng):
    if kind == "one in 20 bad":
        return np.where(np.arange(size) < size // 20, -1.5, 0.1 * rng.standard_normal(size))
    if kind == "heavy tails":
        return 0.25 * rng.standard_t(3, size)
    return (0.0 if kind == "equal" else float(kind.split()[1])) * rng.standard_normal(size)


def generate(rng: np.random.Generator, setting: Setting) -> tuple[xr.DataArray, np.ndarray]:
    """Return counts of slices, and which of them are bad."""
    size = setting.slices
    recall = expit(_MIDDLE + _effects(setting.kind, size, rng))
    low, high = np.log(setting.smallest), np.log(setting.largest)
    totals = np.exp(rng.uniform(low, high, (2, size))).round().astype(int)
    hits = rng.binomial(totals, [recall, np.full(size, 0.9)])
    misses = totals - hits
    cells = np.stack([[hits[1], misses[1]], [misses[0], hits[0]]]).transpose(2, 0, 1)
    return from_matrix(cells, positive=1, dims=("group",)), recall < THRESHOLD


def _pooled(counts):
    table = worst_slices(counts, "recall", threshold=THRESHOLD, fdr=FDR, draws=_DRAWS)
    flagged = np.zeros(counts.sizes["group"], bool)
    flagged[table["group"][table["flagged"]].to_numpy()] = True
    return flagged, table.attrs["expected_false"]


def _tested(counts):
    from scipy.stats import binom, false_discovery_control

    hits, totals = counts.values[:, 1, 1], counts.values[:, 1].sum(1)
    return false_discovery_control(binom.cdf(hits, totals, THRESHOLD)) <= FDR, np.nan


def _observed(counts):
    return counts.values[:, 1, 1] < THRESHOLD * counts.values[:, 1].sum(1), np.nan


METHODS = {"worst_slices": _pooled, "binomial tests": _tested, "observed below": _observed}


def study(case: int, settings: Settings) -> list[dict[str, Any]]:
    """Return a row for each method: discoveries and errors, means over the data sets."""
    setting = case_of(CASES, case)
    found: dict[str, list] = {name: [] for name in METHODS}
    for replication in range(settings.replications):
        counts, bad = generate(np.random.default_rng([settings.seed, case, replication]), setting)
        for name, method in METHODS.items():
            flagged, expected = method(counts)
            false = (flagged & ~bad).sum()
            share = false / max(flagged.sum(), 1)
            row = (bad.sum(), flagged.sum(), expected, false, share, (~flagged & bad).sum())
            found[name].append(row)
    columns = ("bad", "flagged", "expected_false", "false", "fdr", "missed")
    rows = []
    for name, each in found.items():
        values, number = np.array(each, float), settings.replications
        means = dict(zip(columns, values.mean(0), strict=True))
        error = values[:, 4].std(ddof=1) / number**0.5 if number > 1 else np.nan
        said = {"fdr_se": error, "replications": number, "seed": settings.seed}
        rows.append({"case": case, **setting._asdict(), "method": name, **means, **said})
    return rows


def table(
    name: str = "discoveries", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return how many slices are flagged, falsely flagged and missed.

    Parameters
    ----------
    name : {"discoveries"}
    case : int, optional
        1 to 9, as in ``CASES``; by default all.
    settings : Settings, optional
        ``replications`` and ``seed``.

    Returns
    -------
    pandas.DataFrame
        Means over data sets: slices that are ``bad``; those ``flagged``; ``expected_false`` and
        ``false`` ones among them; ``fdr``, the mean share of false ones; and those ``missed``.

    Examples
    --------
    >>> from bayescm.studies.tables import Settings
    >>> table(case=5, settings=Settings(replications=2))["method"].tolist()
    ['worst_slices', 'binomial tests', 'observed below']
    """
    check_choice("table", name, list(TABLES))
    settings = settings or Settings()
    rows = [row for each in chosen(CASES, case) for row in study(each, settings)]
    return pd.DataFrame(rows)
