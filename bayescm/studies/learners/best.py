"""
Coverage of the true measure of the pipeline that was selected as the best of many.

The answers of M pipelines to the same examples, 40 % of which are positive, are simulated and
correlated (.5 on the normal scale); nothing is trained. The accuracies, of both classes the same,
are all .7 or spread around it. The best one is selected by its measure. Beside `bayescm.best` stand
the interval of the selected one as it is (naive), and nested cross-validation: in each of ten folds
the best one on the other nine is selected again, and its answers in the fold are counted.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri

from bayescm import __version__
from bayescm.answers.interval import interval
from bayescm.answers.learners.best import best
from bayescm.evidence.matrices import from_matrix
from bayescm.evidence.outcomes import from_classifiers
from bayescm.measures.catalogue import resolve
from bayescm.studies.tables import Settings, chosen
from bayescm.validate import check_choice

TABLES = ("coverage",)
_LEVEL, _POSITIVE, _FOLDS, _RESAMPLES = 0.7, 0.4, 10, 300


class Setting(NamedTuple):
    """How many pipelines and examples, by which measure, and how the accuracies are spread."""

    pipelines: int
    examples: int
    measure: str
    spread: float


CASES = dict(
    enumerate(
        [
            Setting(pipelines, examples, measure, spread)
            for examples, measure in ((200, "accuracy"), (200, "f1"), (100, "accuracy"))
            for pipelines in (5, 20, 100)
            for spread in (0.0, 0.03)
        ],
        start=1,
    )
)


def generate(
    rng: np.random.Generator, setting: Setting
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the truth (n,), the answers (M, n), and the true accuracies (M,)."""
    number, size = setting.pipelines, setting.examples
    levels = np.clip(_LEVEL + setting.spread * rng.standard_normal(number), 0.5, 0.95)
    truth = (rng.random(size) < _POSITIVE).astype(int)
    latent = np.sqrt(0.5) * (rng.standard_normal(size) + rng.standard_normal((number, size)))
    return truth, np.where(latent < ndtri(levels)[:, None], truth, 1 - truth), levels


def cells_by_fold(truth: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Return the cells (fold, M, 2, 2) of ten folds of examples in random order."""
    place = np.arange(len(truth)) % _FOLDS
    flat = 2 * truth + answers + 4 * (place + _FOLDS * np.arange(len(answers))[:, None])
    cells = np.bincount(flat.ravel(), minlength=4 * _FOLDS * len(answers))
    return cells.reshape(len(answers), _FOLDS, 2, 2).swapaxes(0, 1)


def nested(truth: np.ndarray, answers: np.ndarray, measure: str) -> np.ndarray:
    """Return the interval of nested cross-validation."""
    cells = cells_by_fold(truth, answers)
    selected = resolve(measure)(cells.sum(0) - cells).argmax(1)
    total = cells[np.arange(_FOLDS), selected].sum(0)
    return interval(from_matrix(total, positive=1), measure, kind="eti").values


def _judged(setting, rng):
    """Return whether each interval holds the truth, and how long it is."""
    truth, answers, levels = generate(rng, setting)
    outcomes = from_classifiers(truth, {str(k): each for k, each in enumerate(answers)}, positive=1)
    row: Any = best(outcomes, setting.measure, kind="eti", resamples=_RESAMPLES).iloc[0]
    level = levels[int(row["selected"])]
    right = np.diag([1 - _POSITIVE, _POSITIVE])
    true = resolve(setting.measure)(level * right + (1 - level) * right[:, ::-1])
    ends = {
        "best": row[["lower", "upper"]].to_numpy(float),
        "nested": nested(truth, answers, setting.measure),
        "naive": row[["naive_lower", "naive_upper"]].to_numpy(float),
    }
    found: dict[str, Any] = {}
    for name, (low, high) in ends.items():
        found |= {f"{name}_doc": low <= true <= high, f"{name}_il": high - low}
        found |= {f"{name}_bias": (low + high) / 2 - true}
    return found


def table(
    name: str = "coverage", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return the coverage, the length and the bias of the middle of three kinds of intervals.

    Parameters
    ----------
    name : {"coverage"}
    case : int, optional
        One case only, 1 to 18.
    settings : Settings, optional
        How much is simulated; case and replication have a seed of their own.

    Returns
    -------
    pandas.DataFrame
        A row for each case; ``best_doc``, ``best_il``, ``best_bias`` and so on for ``nested`` and
        ``naive``.

    Examples
    --------
    >>> from bayescm.studies.tables import Settings
    >>> table(case=1, settings=Settings(replications=2)).loc[0, "pipelines"].item()
    5
    """
    check_choice("table", name, list(TABLES))
    settings, rows = settings or Settings(), []
    for number in chosen(CASES, case):
        found = [
            _judged(CASES[number], np.random.default_rng([settings.seed, number, each]))
            for each in range(settings.replications)
        ]
        means = pd.DataFrame(found).astype(float).mean().to_dict()
        known = CASES[number]._asdict() | {"replications": len(found)}
        rows.append({"case": number, **known, **means})
    return pd.DataFrame(rows).assign(seed=settings.seed, version=__version__)
