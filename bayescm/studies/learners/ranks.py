"""
Simultaneous coverage of the sets of ranks, for classifiers that tie, crowd and stand apart.

A data set counts as covered where the true ranks of all classifiers lie in their sets at once;
classifiers that tie have every rank that they share.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from bayescm import __version__
from bayescm.answers.ranking.ranks import ranks
from bayescm.evidence.matrices import from_matrix
from bayescm.evidence.outcomes import from_classifiers
from bayescm.evidence.scored.results import from_results
from bayescm.studies.tables import Settings, chosen
from bayescm.validate import check_choice

TABLES = ("coverage",)
# Evidence; classifiers; examples, or data sets; how the true accuracies lie: from best to worst.
CASES: dict[int, tuple[str, int, int, str]] = dict(
    enumerate(
        [
            ("counts", 5, 60, "equal"),
            ("counts", 20, 300, "equal"),
            ("counts", 20, 300, "spread"),
            ("outcomes", 6, 60, "equal"),
            ("outcomes", 6, 300, "spread"),
            ("outcomes", 6, 300, "two groups"),
            ("results", 6, 8, "equal"),
            ("results", 6, 30, "equal"),
            ("results", 6, 30, "spread"),
        ],
        start=1,
    )
)
_DRAWS = 4000


@dataclass(frozen=True)
class Ranking:
    """
    Classifiers of known accuracies, and evidence of them.

    Attributes
    ----------
    kind : {"counts", "outcomes", "results"}
        Of test sets of their own, of one test set, or of ten folds on several data sets.
    number, size : int
        Of classifiers; of examples or data sets.
    shape : {"equal", "spread", "two groups"}
    """

    kind: str
    number: int
    size: int
    shape: str

    @property
    def levels(self) -> np.ndarray:
        """The true accuracies."""
        if self.shape == "equal":
            return np.full(self.number, 0.8)
        if self.shape == "spread":
            return np.linspace(0.9, 0.7, self.number)
        return np.repeat([0.85, 0.75], [self.number // 2, self.number - self.number // 2])

    def generate(self, rng: np.random.Generator) -> Any:
        """Return evidence of one sample."""
        return getattr(self, f"_{self.kind}")(rng)

    def _counts(self, rng):
        half = self.size // 2
        right = rng.binomial(half, self.levels, (2, self.number)).T
        cells = np.stack([np.diag(each) for each in right])
        cells[:, [0, 1], [1, 0]] = half - right
        return from_matrix(cells, dims=("classifier",))

    def _outcomes(self, rng):
        truth, shared = rng.random(self.size) < 0.5, rng.standard_normal((self.size, 1))
        own = rng.standard_normal((self.size, self.number))
        wrong = np.sqrt(0.5) * (shared + own) > ndtri(self.levels)
        return from_classifiers(truth, {f"{k}": truth ^ wrong[:, k] for k in range(self.number)})

    def _results(self, rng):
        shape = self.size, self.number, 10
        own = self.levels[:, None] + 0.03 * rng.standard_t(5, (*shape[:2], 1))
        runs = own + 0.03 * rng.standard_normal(shape)
        place = np.indices(shape).reshape(3, -1)
        table = dict(zip(("data_set", "classifier", "fold"), place, strict=True))
        return from_results(pd.DataFrame(table | {"accuracy": runs.ravel()}))


def table(
    name: str = "coverage", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return how often all true ranks lie in their sets at once.

    Parameters
    ----------
    name : {"coverage"}
    case : int, optional
        One case only.
    settings : Settings, optional
        How much is simulated; case and replication have a seed of their own.

    Returns
    -------
    pandas.DataFrame
        ``covered``, the mean number of ranks in a set (``width``), that of tiers (``tiers``), and
        the same share covered by sets that hold one by one (``one_by_one``): of ranks between the
        2.5 % and 97.5 % quantiles of each classifier's own, where any rank that ties share will do.
    """
    check_choice("table", name, list(TABLES))
    settings = settings or Settings()
    rows = []
    for number in chosen(CASES, case):
        ranking = Ranking(*CASES[number])
        found = [
            _ranked(ranking, np.random.default_rng([settings.seed, number, each]))
            for each in range(settings.replications)
        ]
        known = dict(zip(("evidence", "classifiers", "size", "truth"), CASES[number], strict=True))
        means = dict(
            zip(("covered", "width", "tiers", "one_by_one"), np.mean(found, 0), strict=True)
        )
        rows.append({"case": number, **known, "replications": len(found), **means})
    return pd.DataFrame(rows).assign(seed=settings.seed, version=__version__)


def _ranked(ranking, rng):
    """Return whether all ranks are covered, the width of sets, tiers, and the same one by one."""
    evidence, levels = ranking.generate(rng), ranking.levels
    draws: dict[str, Any] = {} if ranking.kind == "results" else {"draws": _DRAWS}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*same class totals")
        found = ranks(evidence, "accuracy", random_seed=int(rng.integers(2**31)), **draws)
    best = 1 + (levels > levels[:, None]).sum(1)
    worst = len(levels) - (levels < levels[:, None]).sum(1)
    low, high = found["best_rank"].to_numpy(), found["worst_rank"].to_numpy()
    shares = np.cumsum(found.filter(regex=r"^rank_\d").to_numpy(), axis=1)
    own = 1 + (shares < 0.025).sum(1), 1 + (shares < 0.975).sum(1)
    covered = ((low <= best) & (worst <= high)).all()
    alone = ((own[0] <= worst) & (best <= own[1])).all()
    tiers = max(int(each) for row in found["tiers"] for each in row.split(", "))
    return covered, (high - low + 1).mean(), tiers, alone
