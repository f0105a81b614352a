"""
The centre of the posterior of an expected measure where folds differ much.

Every fold has a learner of its own, whose logits of recall and specificity are normal, with
standard deviations 1.2 and .9 and a correlation of -.8, and 20 + 20 examples; the learners are
independent. What is true is the mean of a measure over learners.
"""

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from bayescm import __version__
from bayescm.answers.interval import interval
from bayescm.answers.numbers import mean
from bayescm.evidence.matrices import from_matrix
from bayescm.measures.catalogue import resolve
from bayescm.studies.tables import Settings, chosen
from bayescm.validate import check_choice

TABLES = ("centre",)
MEASURES = ("informedness", "recall")
# Folds, and the mean of both logits.
CASES = {1: (5, 1.2), 2: (10, 1.2), 3: (5, 2.0), 4: (10, 2.0)}
_SPREAD, _CORRELATION, _EACH, _LEARNERS = (1.2, 0.9), -0.8, 20, 400_000


def _rates(rng, level, shape):
    """Return recall and specificity of independent learners (..., 2)."""
    a, b = _SPREAD
    cross = _CORRELATION * a * b
    return expit(rng.multivariate_normal([level, level], [[a * a, cross], [cross, b * b]], shape))


def _cells(recall, specificity):
    wrong = np.stack([specificity, 1 - specificity], -1), np.stack([1 - recall, recall], -1)
    return np.stack(wrong, -2)


def table(
    name: str = "centre", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return the bias of posterior means, and the coverage of 95% equal-tailed intervals.

    Parameters
    ----------
    name : {"centre"}
    case : int, optional
        One case only.
    settings : Settings, optional
        How much is simulated; all data sets of a case are answered at once.

    Returns
    -------
    pandas.DataFrame
        A row for each case and measure: ``bias`` of the posterior mean and of the middle of the
        interval (``middle``), with the standard errors of both, ``doc`` and ``il``.
    """
    check_choice("table", name, list(TABLES))
    settings = settings or Settings()
    rows = []
    for number in chosen(CASES, case):
        folds, level = CASES[number]
        rng = np.random.default_rng([settings.seed, number])
        true = _cells(*_rates(rng, level, _LEARNERS).T) / 2
        rates = _rates(rng, level, (settings.replications, folds))
        hits = rng.binomial(_EACH, rates)
        cells = np.round(_EACH * _cells(hits[..., 0] / _EACH, hits[..., 1] / _EACH))
        counts = from_matrix(cells.astype(int), positive=1, dims=("batch", "fold"))
        asked: Any = list(MEASURES)
        ends = interval(counts, asked, model="hierarchical_folds", kind="eti")
        means = mean(counts, asked, model="hierarchical_folds")
        for measure in MEASURES:
            truth = float(resolve(measure)(true).mean())
            low, high = ends.sel(measure=measure).values.T
            parts = {"bias": means.sel(measure=measure).values - truth}
            parts["middle"] = (low + high) / 2 - truth
            row = {"case": number, "folds": folds, "logit": level, "measure": measure}
            row |= {"truth": truth, "replications": settings.replications}
            for key, each in parts.items():
                row |= {key: each.mean(), f"{key}_se": each.std(ddof=1) / np.sqrt(each.size)}
            inside = (low <= truth) & (truth <= high)
            rows.append(row | {"doc": inside.mean(), "il": (high - low).mean()})
    return pd.DataFrame(rows).assign(seed=settings.seed, version=__version__)
