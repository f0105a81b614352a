"""
Coverage of differences between two classifiers that were cross-validated on the same folds.

Ten folds and eight halvings of a sample; the truth is the mean difference over training sets of
nine tenths of its size, among as many positives as the sample has. Of equal classifiers it is 0.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from bayescm.answers.compare import compare
from bayescm.answers.draws import draw_measures
from bayescm.evidence.learners.pairs import cross_outcomes
from bayescm.evidence.outcomes import tables_of
from bayescm.measures.catalogue import resolve
from bayescm.simulation.coverage import Study
from bayescm.studies.learners import kinds
from bayescm.studies.tables import case_of, table_of

TABLES = ("coverage",)
MEASURES = ("f1", "recall", "accuracy")
_FOLDS, _HALVINGS, _MODELS, _TEST, _DRAWS = 10, 8, 800, 2000, 10_000


class Pair(NamedTuple):
    """Two of `kinds.LEARNERS`, where their examples come from, how many, and the positives."""

    first: str
    second: str
    source: kinds.Source
    n: int
    positives: float
    equal: bool = False  # the same learner, on either half of features that are alike


CASES: dict[int, Pair] = dict(
    enumerate(
        [
            Pair("naive Bayes", "naive Bayes", kinds.lognormal(6, 0.7), 150, 0.4, True),
            Pair("logistic", "logistic", kinds.shifted(8, 0.6, 4), 200, 0.3, True),
            Pair("tree of depth 2", "tree of depth 2", kinds.shifted(6, 0.9), 150, 0.5, True),
            Pair("3 neighbours", "25 neighbours", kinds.moons(3, 0.4), 200, 0.4),
            Pair("logistic", "naive Bayes", kinds.mixture(5, 1.8), 150, 0.4),
            Pair("linear discriminant", "quadratic discriminant", kinds.rings(3, 0.4), 150, 0.5),
            Pair("support vectors", "nu support vectors", kinds.shifted(5, 0.8, 3), 160, 0.4),
            Pair("logistic", "lasso", kinds.shifted(20, 0.35), 200, 0.4),
            Pair("support vectors", "squares and products", kinds.moons(2, 0.4), 150, 0.3),
            Pair("tree of depth 3", "naive Bayes", kinds.lognormal(5, 0.6), 200, 0.4),
            Pair("stump", "linear discriminant", kinds.one_good(6, 1.0), 200, 0.5),
            Pair("principal components", "logistic", kinds.digits(3, 8, 9), 150, 0.3),
            Pair("tree of depth 3", "tree cut by cost", kinds.mixture(5, 1.8), 250, 0.5),
            # Made after the model was settled.
            Pair("logistic", "logistic", kinds.shifted(6, 0.8, 3), 200, 0.4, True),
            Pair("naive Bayes", "naive Bayes", kinds.shifted(8, 0.5), 200, 0.3, True),
            Pair("principal components", "logistic", kinds.shifted(10, 0.5, 4), 150, 0.4),
            Pair("squares and products", "linear discriminant", kinds.rings(4, 0.4), 150, 0.5),
            Pair("tree of depth 2", "logistic", kinds.mixture(5, 1.8), 200, 0.4),
            Pair("25 neighbours", "naive Bayes", kinds.shifted(5, 0.6, 3), 150, 0.4),
            Pair("bagged trees", "extra trees", kinds.lognormal(5, 0.7), 150, 0.4),
            Pair("lasso", "stochastic gradient", kinds.shifted(10, 0.4), 200, 0.5),
            Pair("quadratic discriminant", "naive Bayes", kinds.moons(3, 0.4), 200, 0.4),
            Pair("support vectors", "logistic", kinds.digits(2, 5, 8), 120, 0.3),
        ],
        start=1,
    )
)


def _half(features, side):
    middle = features.shape[1] // 2
    return features[:, :middle] if side == 0 else features[:, middle:]


def _learners(pair, seed):
    made = {name: kinds.LEARNERS[name](seed) for name in (pair.first, pair.second)}
    if not pair.equal:
        return made
    sides = [FunctionTransformer(partial(_half, side=side)) for side in (0, 1)]
    return {
        f"{pair.first}, half {1 + side}": make_pipeline(part, kinds.LEARNERS[pair.first](seed))
        for side, part in enumerate(sides)
    }


@dataclass(frozen=True)
class CrossValidations:
    """
    Samples of a case, on which both classifiers are cross-validated and halved.

    Attributes
    ----------
    pair : Pair
    """

    pair: Pair

    def generate(self, rng: np.random.Generator) -> tuple[xr.Dataset, None]:
        """Return the joint outcomes of both classifiers, with halves."""
        seed = int(rng.integers(2**31))
        two, (features, actual) = _learners(self.pair, seed), self._sample(rng, self.pair.n)
        known: dict[str, Any] = {"halves": _HALVINGS, "positive": 1, "random_state": seed}
        with config_context(assume_finite=True, skip_parameter_validation=True):
            return cross_outcomes(two, features, actual, _FOLDS, **known), None

    def _sample(self, rng, size):
        return kinds.Learning("", self.pair.source, size, self.pair.positives).sample(rng, size)

    def truth(self, rng: np.random.Generator) -> Mapping[str, tuple[float, float]]:
        """Return the mean differences over training sets, and their standard errors."""
        if self.pair.equal:
            return dict.fromkeys(MEASURES, (0.0, 0.0))
        with config_context(assume_finite=True, skip_parameter_validation=True):
            found = np.array([self._differences(rng) for _ in range(_MODELS)])
        errors = found.std(axis=0, ddof=1) / np.sqrt(_MODELS)
        return {name: (found[:, k].mean(), errors[k]) for k, name in enumerate(MEASURES)}

    def _differences(self, rng):
        train = self._sample(rng, round(self.pair.n * (1 - 1 / _FOLDS)))
        features, actual = self._sample(rng, _TEST)
        two = _learners(self.pair, int(rng.integers(2**31))).values()
        tables = [
            np.bincount(2 * actual + each.fit(*train).predict(features), minlength=4)
            for each in two
        ]
        cells = np.reshape(tables, (2, 2, 2))
        return [-np.diff(resolve(name)(cells)).item() for name in MEASURES]


def answer(outcomes: xr.Dataset, **options: Any) -> Mapping[str, Any]:
    """Return the 95% equal-tailed intervals of the differences by `compare`."""
    found = compare(outcomes, list(MEASURES), kind="eti", random_seed=0, **options)
    return {row.measure: (row.lower, row.upper) for row in found.itertuples()}


def without(outcomes: xr.Dataset, **options: Any) -> Mapping[str, Any]:
    """Return those without halves."""
    return answer(outcomes.drop_vars("halves"), **options)


def unpaired(outcomes: xr.Dataset) -> Mapping[str, Any]:
    """Return the differences of each one's own posterior with halves, drawn independently."""
    halved = outcomes.drop_vars("counts").rename(halves="counts", halving="repeat")
    halves = tables_of(halved)
    counts = tables_of(outcomes)
    drawn = []
    for seed, place in enumerate((0, 1)):
        known: dict[str, Any] = {
            "halves": halves.isel(classifier=place, drop=True),
            "draws": _DRAWS,
        }
        own = counts.isel(classifier=place, drop=True)
        known |= {"model": "hierarchical_folds", "random_seed": seed}
        drawn.append(draw_measures(own, list(MEASURES), **known).values)
    first, second = drawn
    ends = (first - second).quantile([0.025, 0.975], "draw")
    return {name: tuple(ends[name].values) for name in MEASURES}


METHODS: dict[str, Callable] = {
    "halves": partial(answer, draws=_DRAWS),
    "folds": partial(without, model="paired_folds", draws=_DRAWS),
    "corrected t": without,
    "unpaired": unpaired,
}


def study(case: int) -> Study:
    """
    Return one case, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        1 to 3, 14 and 15: equal classifiers, of which 1 - ``doc`` is how often one is called
        better; 4 to 13 and 16 to 23: others.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(4).name
    'pair 4'
    """
    drawn = CrossValidations(case_of(CASES, case))
    return Study(f"pair {case}", drawn.generate, METHODS, drawn.truth)


table = table_of(study, CASES, columns=("first", "second"))
