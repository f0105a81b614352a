"""Coverage for cross-validation: expected measures and differences between two learners."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy.special import expit
from sklearn import config_context, ensemble, linear_model, naive_bayes, neighbors, svm, tree
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_approximation import RBFSampler
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

from bayescm.answers.compare import compare, draw_measures
from bayescm.answers.interval import distribution, interval
from bayescm.classical import fold_t
from bayescm.evidence import from_matrix
from bayescm.evidence.cross_validation import cross_confusion, cross_outcomes
from bayescm.evidence.outcomes import tables_of
from bayescm.fitting.question import Question
from bayescm.measures.catalogue import resolve
from bayescm.papers import wang_li
from bayescm.papers.learners import CrossValidation, cross_validate, expected_measures
from bayescm.posteriors import hierarchical_folds, pooled_folds
from bayescm.simulation import Experiment, Repeated, Replications
from validation import data_folder

# The true value of a cross-validation is always the mean of a measure over training sets of the
# same size as in a fold. It is estimated by simulation, with new training sets and test examples.


def mean_and_error(values: np.ndarray, names: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """Return the mean and standard error of each measure, from training sets (S, measure)."""
    error = np.nanstd(values, axis=0, ddof=1) / np.sqrt(len(values))
    means = np.nanmean(values, axis=0)
    return {name: (float(means[k]), float(error[k])) for k, name in enumerate(names)}


def equal_tails(
    counts: xr.DataArray, *, model: str, measures: tuple[str, ...]
) -> Mapping[str, np.ndarray]:
    """Return 95% equal-tailed intervals from a model of folds with its defaults."""
    ends = interval(counts, list(measures), kind="eti", model=model)
    return {name: ends.sel(measure=name).values for name in measures}


def both_models(measures: tuple[str, ...]) -> dict[str, Callable[..., Mapping[str, np.ndarray]]]:
    """Return the methods that use hierarchical and pooled folds."""
    models = ("hierarchical_folds", "pooled_folds")
    return {model: partial(equal_tails, model=model, measures=measures) for model in models}


# Experiment "folds": the 27 cases of Wang & Li (2016, doi:10.1162/NECO_a_00857), which were used to
# choose the defaults of `hierarchical_folds`. Samples, classifiers and true values are as in
# `bayescm.papers.wang_li`. There are additional measures of the whole matrix, because their
# coverage is the first to drop if the threshold of a learner is unstable. Cases with real data need
# the folder of the data files (``--data``).

PAPER_MEASURES = ("precision", "recall", "specificity", "accuracy", "f1", "mcc")
PAPER_CASES = dict(
    enumerate(((table, case) for table, cases in wang_li.CASES.items() for case in cases), start=1)
)


def paper_design(table: int, case: int) -> CrossValidation:
    """Return the design of the cross-validation in a case of the paper."""
    return replace(wang_li.design(table, case, data_folder()), measures=PAPER_MEASURES)


def paper_folds(rng: np.random.Generator, table: int, case: int) -> tuple[xr.DataArray, None]:
    """Return the counts of the ten folds of a sample."""
    return cross_validate(rng, paper_design(table, case))


def paper_truth(rng: np.random.Generator, table: int, case: int) -> Mapping[str, Any]:
    """Return the expected measures and their standard errors."""
    return expected_measures(rng, paper_design(table, case))


# Thirty combinations of a learner and a data distribution that were not used to develop the model.
# Each of the following functions returns a sampler of features, given the classes.

type Features = Callable[[np.random.Generator, np.ndarray], np.ndarray]


def shifted(features: int, shift: float, freedom: float = np.inf) -> Features:
    """Return normal or Student t features, with all features of the positives shifted."""

    def draw(rng, actual):
        shape = len(actual), features
        noise = rng.standard_normal(shape) if np.isinf(freedom) else rng.standard_t(freedom, shape)
        return noise + shift * actual[:, None]

    return draw


def one_informative(features: int, shift: float) -> Features:
    """Return normal features, with only the first one shifted for the positives."""

    def draw(rng, actual):
        x = rng.standard_normal((len(actual), features))
        x[:, 0] += shift * actual
        return x

    return draw


def lognormal(features: int, shift: float) -> Features:
    """Return positive, skewed features."""
    return lambda rng, actual: np.exp(0.8 * shifted(features, shift)(rng, actual))


def rings(features: int, noise: float) -> Features:
    """Return two concentric rings in the plane of the first two features."""

    def draw(rng, actual):
        x = rng.standard_normal((len(actual), features))
        radius = 1 + actual + noise * rng.standard_normal(len(actual))
        x[:, :2] *= (radius / np.hypot(*x[:, :2].T))[:, None]
        return x

    return draw


def moons(features: int, noise: float) -> Features:
    """Return two half-moons in the first two features."""

    def draw(rng, actual):
        angle = np.pi * rng.random(len(actual))
        first = np.cos(angle) * (1 - 2 * actual) + actual
        second = np.sin(angle) * (1 - 2 * actual) + 0.5 * actual
        x = rng.standard_normal((len(actual), features))
        x[:, :2] = np.stack([first, second], 1) + noise * x[:, :2]
        return x

    return draw


def mixture(features: int, shift: float) -> Features:
    """Return normal features; each positive is shifted in either the first or the second one."""

    def draw(rng, actual):
        x = rng.standard_normal((len(actual), features))
        x[np.arange(len(actual)), rng.integers(0, 2, len(actual))] += shift * actual
        return x

    return draw


def digits(*positive: int) -> Features:
    """Return images of digits with a little noise. The given digits are the positive class."""

    def draw(rng, actual):
        images, digit = _images()
        x = np.empty((len(actual), 64))
        for label in (0, 1):
            rows, pool = actual == label, np.flatnonzero(np.isin(digit, positive) == label)
            x[rows] = images[rng.choice(pool, rows.sum())]
        return x + 2 * rng.random(x.shape)

    return draw


@cache
def _images():
    return load_digits(return_X_y=True)


def _logistic():
    return linear_model.LogisticRegression(solver="newton-cholesky")


def _vote(seed):
    three = {
        "logistic": _logistic(),
        "bayes": naive_bayes.GaussianNB(),
        "tree": tree.DecisionTreeClassifier(max_depth=3, random_state=seed),
    }
    return ensemble.VotingClassifier(list(three.items()))


# Functions that return an untrained learner, given a seed.
LEARNERS: dict[str, Callable[[int], Any]] = {
    "boosted stumps": lambda s: ensemble.AdaBoostClassifier(n_estimators=8, random_state=s),
    "bagged trees": lambda s: ensemble.BaggingClassifier(n_estimators=8, random_state=s),
    "extra trees": lambda s: ensemble.ExtraTreesClassifier(n_estimators=8, random_state=s),
    "one random tree": lambda s: tree.ExtraTreeClassifier(max_depth=4, random_state=s),
    "tree cut by cost": lambda s: tree.DecisionTreeClassifier(ccp_alpha=0.02, random_state=s),
    "Bernoulli Bayes": lambda s: naive_bayes.BernoulliNB(),
    "complement Bayes": lambda s: naive_bayes.ComplementNB(),
    "stochastic gradient": lambda s: linear_model.SGDClassifier(
        max_iter=15, tol=None, random_state=s
    ),
    "nu support vectors": lambda s: svm.NuSVC(nu=0.4),
    "cubic support vectors": lambda s: svm.SVC(kernel="poly", degree=3),
    "Gaussian process": lambda s: GaussianProcessClassifier(1.0 * RBF(1.0), optimizer=None),
    "neighbours in a radius": lambda s: neighbors.RadiusNeighborsClassifier(
        1.5, outlier_label="most_frequent"
    ),
    "lasso": lambda s: linear_model.LogisticRegression(l1_ratio=1.0, C=0.2, solver="liblinear"),
    "best feature": lambda s: make_pipeline(SelectKBest(k=1), _logistic()),
    "principal components": lambda s: make_pipeline(PCA(2), LinearDiscriminantAnalysis()),
    "squares and products": lambda s: make_pipeline(
        StandardScaler(), PolynomialFeatures(2), linear_model.RidgeClassifier()
    ),
    "vote of three": _vote,
    "random waves": lambda s: make_pipeline(
        RBFSampler(gamma=0.5, n_components=30, random_state=s), linear_model.RidgeClassifier()
    ),
    "stump": lambda s: tree.DecisionTreeClassifier(max_depth=1, random_state=s),
    "tree of depth 2": lambda s: tree.DecisionTreeClassifier(max_depth=2, random_state=s),
    "tree of depth 3": lambda s: tree.DecisionTreeClassifier(max_depth=3, random_state=s),
    "tree of depth 5": lambda s: tree.DecisionTreeClassifier(max_depth=5, random_state=s),
    "linear discriminant": lambda s: LinearDiscriminantAnalysis(),
    "quadratic discriminant": lambda s: QuadraticDiscriminantAnalysis(),
    "support vectors": lambda s: svm.SVC(),
    "3 neighbours": lambda s: neighbors.KNeighborsClassifier(3),
    "5 neighbours": lambda s: neighbors.KNeighborsClassifier(),
    "25 neighbours": lambda s: neighbors.KNeighborsClassifier(25),
    "boosted trees": lambda s: ensemble.GradientBoostingClassifier(
        n_estimators=15, max_depth=2, random_state=s
    ),
    "logistic": lambda s: _logistic(),
    "naive Bayes": lambda s: naive_bayes.GaussianNB(),
}


class Learning(NamedTuple):
    """Learner, number of examples, prevalence, and features."""

    learner: str
    n: int
    positives: float
    features: Features


HALVES = dict(
    enumerate(
        [
            Learning("best feature", 200, 0.5, shifted(6, 0.8)),
            Learning("one random tree", 200, 0.35, shifted(4, 1.0)),
            Learning("tree cut by cost", 250, 0.5, lognormal(6, 0.7)),
            Learning("Bernoulli Bayes", 150, 0.4, mixture(5, 1.8)),
            Learning("complement Bayes", 120, 0.3, digits(1, 4, 7)),
            Learning("stochastic gradient", 200, 0.5, shifted(5, 0.8)),
            Learning("nu support vectors", 160, 0.4, shifted(5, 0.8, 3)),
            Learning("cubic support vectors", 200, 0.4, rings(3, 0.35)),
            Learning("Gaussian process", 80, 0.5, moons(2, 0.4)),
            Learning("neighbours in a radius", 150, 0.4, shifted(3, 1.0)),
            Learning("lasso", 150, 0.4, shifted(20, 0.35)),
            Learning("principal components", 150, 0.5, shifted(10, 0.5, 4)),
            Learning("squares and products", 120, 0.5, rings(4, 0.4)),
            Learning("random waves", 200, 0.3, moons(3, 0.35)),
            Learning("vote of three", 150, 0.3, digits(3, 8, 9)),
            Learning("extra trees", 150, 0.4, shifted(5, 0.8, 3)),
            Learning("bagged trees", 200, 0.5, mixture(5, 1.8)),
            Learning("boosted stumps", 200, 0.4, lognormal(5, 0.5)),
            # Unstable learners, learners near a tie, and learners sensitive to single examples. The
            # last three are stable.
            Learning("stump", 200, 0.5, shifted(6, 0.8)),
            Learning("stump", 200, 0.5, one_informative(6, 1.0)),
            Learning("tree of depth 2", 400, 0.5, shifted(5, 0.8)),
            Learning("tree of depth 3", 200, 0.4, mixture(5, 1.8)),
            Learning("linear discriminant", 150, 0.4, shifted(6, 0.8, 2.5)),
            Learning("quadratic discriminant", 150, 0.4, shifted(4, 1.0, 3)),
            Learning("support vectors", 200, 0.5, shifted(10, 0.3)),
            Learning("25 neighbours", 200, 0.5, shifted(5, 0.4)),
            Learning("boosted trees", 300, 0.15, shifted(5, 0.8)),
            Learning("3 neighbours", 150, 0.3, digits(0, 2, 6)),
            Learning("logistic", 150, 0.4, shifted(5, 0.6)),
            Learning("naive Bayes", 150, 0.5, shifted(4, 0.8)),
        ],
        start=1,
    )
)


def sample(
    rng: np.random.Generator, size: int, positives: float, features: Features
) -> tuple[np.ndarray, np.ndarray]:
    """Return features (size, d) and classes (size,), with a fixed number of positives."""
    actual = (np.arange(size) >= size - round(positives * size)).astype(int)
    return features(rng, actual), actual


# With thousands of small samples, scikit-learn's input validation would take longer than training.
QUICK = {"assume_finite": True, "skip_parameter_validation": True}

# Experiment "halves": ten folds and eight halvings of a sample into disjoint halves. The true value
# is the mean over training sets with nine tenths of the sample size and the prevalence of the
# sample. Intervals from folds with halves ("halves") are compared with intervals from folds alone,
# with the default prior ("folds") and with a prior for unstable learners ("spread=2"), and with
# pooled folds ("pooled").

HALVES_MEASURES = ("recall", "precision", "f1", "mcc")
FOLDS, HALVINGS = 10, 8
TRAINING_SETS, TEST_SIZE = 800, 2000


def folds_and_halves(
    rng: np.random.Generator, learner: str, n: int, positives: float, features: Features
) -> tuple[dict[str, xr.DataArray], None]:
    """Return the counts of the folds and of the halves of a sample."""
    with config_context(**QUICK):
        x, actual = sample(rng, n, positives, features)
        folds = _divided(rng, learner, x, actual, FOLDS)
        halves = [_divided(rng, learner, x, actual, 2) for _ in range(HALVINGS)]
    counts = from_matrix(folds, dims=("fold",))
    return {"folds": counts, "halves": from_matrix(halves, dims=("repeat", "half"))}, None


def _divided(rng, learner, x, actual, parts):
    """Return the confusion matrices of a division of a sample into folds or halves."""
    division = StratifiedKFold(parts, shuffle=True, random_state=int(rng.integers(2**31)))
    return [
        _confusion(rng, learner, (x[train], actual[train]), (x[test], actual[test]))
        for train, test in division.split(x, actual)
    ]


def _confusion(rng, learner, train, test):
    """Return the confusion matrix (2, 2) of a learner, given training and test data."""
    trained = LEARNERS[learner](int(rng.integers(2**31))).fit(*train)
    x, actual = test
    return np.bincount(2 * actual + trained.predict(x), minlength=4).reshape(2, 2)


def truth_of_halves(
    rng: np.random.Generator, learner: str, n: int, positives: float, features: Features
) -> Mapping[str, tuple[float, float]]:
    """Return the expected measures over training sets, and their standard errors."""
    size = round(n * (1 - 1 / FOLDS))
    with config_context(**QUICK):
        tables = [
            _confusion(
                rng,
                learner,
                sample(rng, size, positives, features),
                sample(rng, TEST_SIZE, positives, features),
            )
            for _ in range(TRAINING_SETS)
        ]
    rates = np.array(tables, float)
    rates /= rates.sum(-1, keepdims=True)
    cells = rates * np.array([[1 - positives], [positives]])
    values = np.stack([resolve(name)(cells) for name in HALVES_MEASURES], axis=1)
    return mean_and_error(values, HALVES_MEASURES)


def with_halves(evidence: Mapping[str, xr.DataArray]) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals from folds with halves."""
    return _ends(hierarchical_folds(evidence["folds"], halves=evidence["halves"]))


def without_halves(evidence: Mapping[str, xr.DataArray], **keywords: Any) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals from the folds alone."""
    return _ends(hierarchical_folds(evidence["folds"], **keywords))


def pooled(evidence: Mapping[str, xr.DataArray]) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals from the sum of the folds, as independent examples."""
    return _ends(pooled_folds(evidence["folds"]))


def _ends(posterior):
    return {
        name: posterior.distribution(resolve(name)).quantile([0.025, 0.975])
        for name in HALVES_MEASURES
    }


HALVES_METHODS = {
    "halves": with_halves,
    "folds": without_halves,
    "spread=2": partial(without_halves, spread=2),
    "pooled": pooled,
}

# Experiment "pairs": differences between two learners on the same ten folds and eight halvings. The
# true value is the mean difference over training sets with nine tenths of the sample size. For
# equal learners it is 0, and 1 - ``doc`` is the probability that one of them is called better. The
# default, `paired_folds` with halves ("halves"), is compared with `paired_folds` without halves
# ("folds") and with the corrected t interval of Nadeau & Bengio (2003,
# doi:10.1023/A:1024068626366) ("corrected t"). "unpaired" treats the posteriors of the two learners
# as independent.

PAIRS_MEASURES = ("f1", "recall", "accuracy")
DRAWS = 10_000


class Pair(NamedTuple):
    """Two learners, number of examples, prevalence, and features."""

    first: str
    second: str
    n: int
    positives: float
    features: Features
    equal: bool = False  # the same learner on each half of exchangeable features


PAIRS = dict(
    enumerate(
        [
            Pair("naive Bayes", "naive Bayes", 150, 0.4, lognormal(6, 0.7), True),
            Pair("logistic", "logistic", 200, 0.3, shifted(8, 0.6, 4), True),
            Pair("tree of depth 2", "tree of depth 2", 150, 0.5, shifted(6, 0.9), True),
            Pair("3 neighbours", "25 neighbours", 200, 0.4, moons(3, 0.4)),
            Pair("logistic", "naive Bayes", 150, 0.4, mixture(5, 1.8)),
            Pair("linear discriminant", "quadratic discriminant", 150, 0.5, rings(3, 0.4)),
            Pair("support vectors", "nu support vectors", 160, 0.4, shifted(5, 0.8, 3)),
            Pair("logistic", "lasso", 200, 0.4, shifted(20, 0.35)),
            Pair("support vectors", "squares and products", 150, 0.3, moons(2, 0.4)),
            Pair("tree of depth 3", "naive Bayes", 200, 0.4, lognormal(5, 0.6)),
            Pair("stump", "linear discriminant", 200, 0.5, one_informative(6, 1.0)),
            Pair("principal components", "logistic", 150, 0.3, digits(3, 8, 9)),
            Pair("tree of depth 3", "tree cut by cost", 250, 0.5, mixture(5, 1.8)),
            # The following pairs were added after the model was fixed.
            Pair("logistic", "logistic", 200, 0.4, shifted(6, 0.8, 3), True),
            Pair("naive Bayes", "naive Bayes", 200, 0.3, shifted(8, 0.5), True),
            Pair("principal components", "logistic", 150, 0.4, shifted(10, 0.5, 4)),
            Pair("squares and products", "linear discriminant", 150, 0.5, rings(4, 0.4)),
            Pair("tree of depth 2", "logistic", 200, 0.4, mixture(5, 1.8)),
            Pair("25 neighbours", "naive Bayes", 150, 0.4, shifted(5, 0.6, 3)),
            Pair("bagged trees", "extra trees", 150, 0.4, lognormal(5, 0.7)),
            Pair("lasso", "stochastic gradient", 200, 0.5, shifted(10, 0.4)),
            Pair("quadratic discriminant", "naive Bayes", 200, 0.4, moons(3, 0.4)),
            Pair("support vectors", "logistic", 120, 0.3, digits(2, 5, 8)),
        ],
        start=1,
    )
)


def outcomes_of_pairs(rng: np.random.Generator, *setting: Any) -> tuple[xr.Dataset, None]:
    """Return the joint outcomes of two cross-validated learners, with halves."""
    pair = Pair(*setting)
    seed = int(rng.integers(2**31))
    x, actual = sample(rng, pair.n, pair.positives, pair.features)
    options: dict[str, Any] = {"halves": HALVINGS, "positive": 1, "random_state": seed}
    with config_context(**QUICK):
        return cross_outcomes(two_learners(pair, seed), x, actual, FOLDS, **options), None


def two_learners(pair: Pair, seed: int) -> dict[str, Any]:
    """Return the learners of a pair, keyed by name."""
    if not pair.equal:
        return {name: LEARNERS[name](seed) for name in (pair.first, pair.second)}
    return {
        f"{pair.first}, half {1 + side}": make_pipeline(
            FunctionTransformer(partial(_half_of_features, side=side)), LEARNERS[pair.first](seed)
        )
        for side in (0, 1)
    }


def _half_of_features(x, side):
    middle = x.shape[1] // 2
    return x[:, :middle] if side == 0 else x[:, middle:]


def truth_of_pairs(rng: np.random.Generator, *setting: Any) -> Mapping[str, tuple[float, float]]:
    """Return the mean differences over training sets, and their standard errors."""
    pair = Pair(*setting)
    if pair.equal:
        return dict.fromkeys(PAIRS_MEASURES, (0.0, 0.0))
    with config_context(**QUICK):
        differences = [_differences(rng, pair) for _ in range(TRAINING_SETS)]
    return mean_and_error(np.array(differences), PAIRS_MEASURES)


def _differences(rng, pair):
    train = sample(rng, round(pair.n * (1 - 1 / FOLDS)), pair.positives, pair.features)
    x, actual = sample(rng, TEST_SIZE, pair.positives, pair.features)
    tables = [
        np.bincount(2 * actual + learner.fit(*train).predict(x), minlength=4)
        for learner in two_learners(pair, int(rng.integers(2**31))).values()
    ]
    cells = np.reshape(tables, (2, 2, 2))
    return [-np.diff(resolve(name)(cells)).item() for name in PAIRS_MEASURES]


def compared(outcomes: xr.Dataset, *, halves: bool = True, **keywords: Any) -> Mapping[str, Any]:
    """Return the 95% equal-tailed intervals of the differences from `compare`."""
    evidence = outcomes if halves else outcomes.drop_vars("halves")
    rows = compare(evidence, list(PAIRS_MEASURES), kind="eti", random_seed=0, **keywords)
    return {row.measure: (row.lower, row.upper) for row in rows.itertuples()}


def unpaired(outcomes: xr.Dataset) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals of the differences, with independent posteriors."""
    halved = outcomes.drop_vars("counts").rename(halves="counts", halving="repeat")
    halves, counts = tables_of(halved), tables_of(outcomes)
    first, second = (
        draw_measures(
            counts.isel(classifier=place, drop=True),
            list(PAIRS_MEASURES),
            Question(
                model="hierarchical_folds",
                draws=DRAWS,
                random_seed=place,
                keywords={"halves": halves.isel(classifier=place, drop=True)},
            ),
        )
        for place in (0, 1)
    )
    ends = (first - second).quantile([0.025, 0.975], "draw")
    return {name: tuple(ends[name].values) for name in PAIRS_MEASURES}


PAIRS_METHODS = {
    "halves": partial(compared, draws=DRAWS),
    "folds": partial(compared, halves=False, model="paired_folds", draws=DRAWS),
    "corrected t": partial(compared, halves=False),
    "unpaired": unpaired,
}

# Experiment "many_classes": three, five and ten classes in ten stratified folds without halves. The
# first class is rare. Classes are normal around centres that are fixed in each case. Training sets
# for the true value have nine tenths of the sample size and the same prevalences.

CLASSES_MEASURES = ("accuracy", "f1_macro", "mcc")
DISTANCE = 1.2  # standard deviation of the centres, in standard deviations within a class


class ManyClasses(NamedTuple):
    """Learner, number of classes, number of examples, and prevalence of the rare class."""

    learner: str
    classes: int
    n: int
    rare: float


MANY_CLASSES = {
    1: ManyClasses("linear discriminant", 3, 150, 0.08),
    2: ManyClasses("tree of depth 5", 3, 150, 0.08),
    3: ManyClasses("naive Bayes", 5, 250, 0.05),
    4: ManyClasses("5 neighbours", 5, 250, 0.05),
    5: ManyClasses("linear discriminant", 10, 400, 0.03),
    6: ManyClasses("naive Bayes", 10, 400, 0.03),
    7: ManyClasses("tree of depth 5", 10, 400, 0.03),
    8: ManyClasses("5 neighbours", 10, 400, 0.03),
}


def sample_of_classes(
    rng: np.random.Generator, classes: int, size: int, rare: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return features and classes of a sample with fixed class totals."""
    totals = np.full(classes, (1 - rare) * size / (classes - 1)).astype(int)
    totals[0] = round(rare * size)
    actual = np.repeat(np.arange(classes), totals)
    features = max(3, round(0.6 * classes) + 1)
    centres = np.random.default_rng(classes).standard_normal((classes, features))
    return DISTANCE * centres[actual] + rng.standard_normal((len(actual), features)), actual


def folds_of_classes(
    rng: np.random.Generator, learner: str, classes: int, n: int, rare: float
) -> tuple[xr.DataArray, None]:
    """Return the counts of one cross-validation."""
    x, actual = sample_of_classes(rng, classes, n, rare)
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=int(rng.integers(2**31)))
    return cross_confusion(LEARNERS[learner](0), x, actual, cv=splitter), None


def truth_of_classes(
    rng: np.random.Generator,
    learner: str,
    classes: int,
    n: int,
    rare: float,
    *,
    training_sets: int = 300,
    test_size: int = 5000,
) -> Mapping[str, tuple[float, float]]:
    """Return the mean of each measure over training sets, and its standard error."""
    values = []
    for _ in range(training_sets):
        train = sample_of_classes(rng, classes, round(n * (1 - 1 / FOLDS)), rare)
        trained = LEARNERS[learner](0).fit(*train)
        x, actual = sample_of_classes(rng, classes, test_size, rare)
        cells = np.bincount(classes * actual + trained.predict(x), minlength=classes**2)
        values.append([resolve(name)(cells.reshape(classes, -1)) for name in CLASSES_MEASURES])
    return mean_and_error(np.array(values, float), CLASSES_MEASURES)


# Experiment "training_sizes": training sets that do not contain all other examples. The designs are
# random splits, the small end of a learning curve, and time series with growing training sets.
# There are five normal features, which are shifted for the positives, and 200 examples, about 40%
# of them positive. The true value is the mean over training sets of the size in the design. If the
# training sets grow, it is also the mean over these sizes.

SIZES_MEASURES = ("accuracy", "recall", "f1")
SIZE, SHARE, SHIFT, FEATURES = 200, 0.4, 0.5, 5


class Splits(NamedTuple):
    """Learner, number of splits, and the proportions of the sample for training and testing."""

    learner: str
    splits: int
    train: float
    test: float


# Without proportions, training sets grow as in a time series.
TRAINING_SIZES = {
    1: Splits("linear discriminant", 15, 0.3, 0.2),
    2: Splits("linear discriminant", 15, 0.8, 0.2),
    3: Splits("tree of depth 3", 15, 0.5, 0.2),
    4: Splits("linear discriminant", 10, 0.1, 0.5),
    5: Splits("linear discriminant", 5, np.nan, np.nan),
}


def shifted_sample(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features and classes of a sample with a random number of positives."""
    actual = rng.random(size) < SHARE
    return rng.standard_normal((size, FEATURES)) + SHIFT * actual[:, None], actual


def splits_of_sizes(
    rng: np.random.Generator, learner: str, splits: int, train: float, test: float
) -> tuple[xr.DataArray, None]:
    """Return the counts of one cross-validation."""
    x, actual = shifted_sample(rng, SIZE)
    splitter: Any = TimeSeriesSplit(splits)
    if not np.isnan(train):
        seed = int(rng.integers(2**31))
        splitter = StratifiedShuffleSplit(
            splits, train_size=train, test_size=test, random_state=seed
        )
    return cross_confusion(LEARNERS[learner](0), x, actual, cv=splitter), None


def truth_of_sizes(
    rng: np.random.Generator,
    learner: str,
    splits: int,
    train: float,
    test: float,
    *,
    training_sets: int = 400,
    test_size: int = 4000,
) -> Mapping[str, tuple[float, float]]:
    """Return the mean of each measure over training sets, and its standard error."""
    sizes = [len(rows) for rows, _ in TimeSeriesSplit(splits).split(range(SIZE))]
    if not np.isnan(train):
        sizes = [round(train * SIZE)]
    values = []
    for index in range(training_sets):
        trained = LEARNERS[learner](0).fit(*shifted_sample(rng, sizes[index % len(sizes)]))
        x, actual = shifted_sample(rng, test_size)
        cells = np.bincount(2 * actual + trained.predict(x), minlength=4).reshape(2, 2)
        values.append([resolve(name)(cells) for name in SIZES_MEASURES])
    return mean_and_error(np.array(values, float), SIZES_MEASURES)


def corrected_t(counts: xr.DataArray) -> Mapping[str, Any]:
    """Return the corrected t intervals of Nadeau & Bengio."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # folds can lack positive predictions
        return {
            name: fold_t(counts, name, method="resampled", undefined="zero").values
            for name in SIZES_MEASURES
        }


# Experiment "differing_folds": the centre of the posterior if folds differ much. Every fold has an
# independent classifier and 20 examples of each class. The logits of recall and specificity are
# normal with standard deviations 1.2 and 0.9 and correlation -0.8. The true value is the mean of a
# measure over classifiers. All data sets of a case are sampled and evaluated at once.

CENTRE_MEASURES = ("informedness", "recall")
DEVIATIONS, CORRELATION, EXAMPLES = (1.2, 0.9), -0.8, 20


class DifferingFolds(NamedTuple):
    """Number of folds, and the mean of both logits."""

    folds: int
    logit: float


DIFFERING_FOLDS = {
    1: DifferingFolds(5, 1.2),
    2: DifferingFolds(10, 1.2),
    3: DifferingFolds(5, 2.0),
    4: DifferingFolds(10, 2.0),
}


def centres(
    replications: Replications, folds: int, logit: float, *, learners: int = 400_000
) -> list[dict[str, Any]]:
    """
    Return the bias of posterior means, and the coverage of 95% equal-tailed intervals.

    There is a row for each measure. ``bias`` is the bias of the posterior mean, and ``middle`` the
    bias of the middle of the interval, both with standard errors. ``doc`` is the coverage and
    ``il`` the mean length.
    """
    rng = np.random.default_rng([replications.seed, replications.case])
    cells = _cells(*_rates(rng, logit, learners).T) / 2
    hits = rng.binomial(EXAMPLES, _rates(rng, logit, (replications.number, folds))) / EXAMPLES
    tables = np.round(EXAMPLES * _cells(hits[..., 0], hits[..., 1])).astype(int)
    counts = from_matrix(tables, positive=1, dims=("batch", "fold"))
    measures: Any = list(CENTRE_MEASURES)
    posterior = distribution(counts, measures, model="hierarchical_folds")
    ends, means = posterior.interval(kind="eti"), posterior.mean()
    rows = []
    for measure in CENTRE_MEASURES:
        truth = float(resolve(measure)(cells).mean())
        low, high = ends.sel(measure=measure).values.T
        row = {"measure": measure, "truth": truth}
        errors = {
            "bias": means.sel(measure=measure).values - truth,
            "middle": (low + high) / 2 - truth,
        }
        for name, error in errors.items():
            row[name] = error.mean()
            row[f"{name}_se"] = error.std(ddof=1) / np.sqrt(error.size)
        inside = (low <= truth) & (truth <= high)
        rows.append(row | {"doc": inside.mean(), "il": (high - low).mean()})
    return rows


def _rates(rng, logit, shape):
    """Return recall and specificity of independent classifiers (..., 2)."""
    a, b = DEVIATIONS
    covariance = [[a * a, CORRELATION * a * b], [CORRELATION * a * b, b * b]]
    return expit(rng.multivariate_normal([logit, logit], covariance, shape))


def _cells(recall, specificity):
    negatives = np.stack([specificity, 1 - specificity], -1)
    return np.stack([negatives, np.stack([1 - recall, recall], -1)], -2)


EXPERIMENTS = [
    Experiment(
        "folds",
        PAPER_CASES,
        paper_folds,
        both_models(PAPER_MEASURES),
        paper_truth,
        columns=("paper_table", "paper_case"),
    ),
    Experiment(
        "halves",
        HALVES,
        folds_and_halves,
        HALVES_METHODS,
        truth_of_halves,
        columns=("learner", "n", "positives"),
    ),
    Experiment(
        "pairs",
        PAIRS,
        outcomes_of_pairs,
        PAIRS_METHODS,
        truth_of_pairs,
        columns=("first", "second", "n", "positives"),
    ),
    Experiment(
        "many_classes",
        MANY_CLASSES,
        folds_of_classes,
        both_models(CLASSES_MEASURES),
        truth_of_classes,
    ),
    Experiment(
        "training_sizes",
        TRAINING_SIZES,
        splits_of_sizes,
        both_models(SIZES_MEASURES) | {"corrected t": corrected_t},
        truth_of_sizes,
    ),
    Repeated("differing_folds", DIFFERING_FOLDS, centres),
]
