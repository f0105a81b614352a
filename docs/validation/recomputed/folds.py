r"""
Cross-validations: importance sampling of the documented models, and conjugate draws of pairs.

With two classes, the rates depend only on the difference d of the effects of the two columns. With
K folds, n_j examples of class j, u^2 = 1 / n_0 + 1 / n_1 and t the spread of the thresholds,

    logit recall_k      = logit r + d + a + d_k + a_k
    logit specificity_k = logit s - d + a - d_k + a_k
    d ~ N(0, 0.4 t^2),  d_k ~ N(0, 0.6 t^2),  a ~ N(0, rho u^2),  a_k ~ N(0, (1 - rho) u^2)
    t ~ half-t_2(0.3 u^(2/3)),  r, s ~ Beta(1/2, 1/2),  rho = 1 - 1 / K.

If training sets are smaller than all folds but one, u is multiplied by the square root of the
ratio, in the prior of t and for a and a_k. The effects of a fold are summed over a product of
Gauss-Hermite nodes. t, d and a are drawn from their priors, and the tested rates from an
overdispersed posterior of the summed table.

The draws of `paired_folds` are conjugate draws of the joint outcomes plus random effects. The
spreads of the effects are weighted by the scaled chi-squared densities in the documentation.

Learning curves use a classifier that records its training and test examples, from which the tables
are counted. Training sets must be nested, disjoint from the test sets, and of the requested size
with the class proportions of the sample.

The tables come from stratified folds of UCI data sets, with naive Bayes and a tree with at least
five examples per leaf: sonar (doi:10.24432/C5T01Q), 5 folds; Haberman's survival
(doi:10.24432/C5XK51), 10 folds; contraceptive method choice (doi:10.24432/C59W2D), three classes,
5 folds.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from scipy import stats
from scipy.special import expit, log_expit, logit, logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB

import bayescm as bcm
from bayescm.simulation import Repeated, Replications
from validation.recomputed import Figure, figures_of_draws, rows, summarised
from validation.recomputed.partly_labelled import MANY_CLASSES, PACKAGE_DRAWS, TWO_CLASSES

# (fold, actual, naive Bayes, tree)
SONAR = [
    [[[9, 3], [6, 2]], [[1, 10], [4, 7]]],
    [[[12, 3], [2, 3]], [[2, 7], [3, 10]]],
    [[[15, 4], [0, 0]], [[5, 7], [2, 9]]],
    [[[15, 3], [1, 0]], [[4, 2], [4, 12]]],
    [[[13, 2], [3, 1]], [[3, 5], [6, 8]]],
]
HABERMAN = [
    [[[13, 9], [0, 1]], [[7, 0], [0, 1]]],
    [[[21, 2], [0, 0]], [[5, 2], [0, 1]]],
    [[[19, 3], [1, 0]], [[3, 4], [0, 1]]],
    [[[19, 4], [0, 0]], [[6, 0], [0, 2]]],
    [[[21, 1], [1, 0]], [[6, 0], [2, 0]]],
    [[[19, 3], [0, 0]], [[4, 4], [1, 0]]],
    [[[16, 1], [3, 2]], [[2, 3], [1, 2]]],
    [[[20, 2], [0, 0]], [[5, 1], [1, 1]]],
    [[[20, 1], [1, 0]], [[6, 1], [1, 0]]],
    [[[17, 3], [1, 1]], [[6, 1], [1, 0]]],
]
CONTRACEPTION = [
    [
        [[38, 5, 11], [18, 9, 7], [21, 4, 13]],
        [[3, 0, 3], [11, 19, 13], [4, 5, 9]],
        [[17, 3, 10], [9, 13, 11], [13, 7, 19]],
    ],
    [
        [[31, 6, 4], [21, 8, 6], [23, 7, 20]],
        [[5, 2, 1], [13, 23, 14], [2, 4, 3]],
        [[10, 2, 6], [11, 11, 17], [14, 2, 29]],
    ],
    [
        [[40, 5, 5], [23, 12, 7], [17, 5, 12]],
        [[9, 1, 3], [9, 18, 8], [6, 3, 9]],
        [[14, 0, 8], [12, 17, 6], [15, 4, 27]],
    ],
    [
        [[42, 3, 11], [26, 7, 5], [15, 6, 11]],
        [[6, 0, 5], [9, 16, 11], [7, 4, 8]],
        [[9, 4, 6], [12, 14, 11], [21, 5, 20]],
    ],
    [
        [[37, 5, 5], [22, 9, 8], [19, 7, 13]],
        [[6, 2, 0], [8, 23, 16], [2, 1, 9]],
        [[9, 0, 5], [13, 9, 10], [18, 12, 26]],
    ],
]
SMALL = [[[6, 1], [2, 3]], [[4, 3], [0, 5]]]
TABLES = {
    "small": np.array(SMALL),
    "sonar": np.array(SONAR).sum(-1),
    "haberman": np.array(HABERMAN).sum(-1),
}
CASES = dict(enumerate([(name,) for name in TABLES], start=1))
PAIRS = {"sonar": np.array(SONAR), "haberman": np.array(HABERMAN)}
PAIRS |= {"contraception": np.array(CONTRACEPTION)}

CHUNK = 5_000
THRESHOLD_NODES, SEPARATION_NODES = 15, 7
SPREAD, RHO = 0.3, 0.4
LEARNING_SIZES = (20, 60, 120)


def measures_of_rates(shares: np.ndarray, recall: np.ndarray, specificity: np.ndarray) -> dict:
    """Return measures of two classes, given prevalence, recall and specificity."""
    tp, fn = shares * recall, shares * (1 - recall)
    tn, fp = (1 - shares) * specificity, (1 - shares) * (1 - specificity)
    return {
        "recall": recall,
        "specificity": specificity,
        "precision": tp / (tp + fp),
        "f1": 2 * tp / (2 * tp + fp + fn),
        "accuracy": tp + tn,
        "mcc": (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)),
    }


def _proposals(folds, size, rng, smaller, share):
    """Return log weights, and draws of measures for both estimands (parameter and finite)."""
    number = len(folds)
    totals = folds.sum((0, 2))
    u = np.sqrt((1 / totals).sum())
    easy = np.sqrt(smaller) * u
    spread = SPREAD * easy ** (2 / 3) * np.abs(rng.standard_t(2, size))
    rho = 1 - 1 / number
    d = np.sqrt(RHO) * spread * rng.standard_normal(size)
    a = np.sqrt(rho) * easy * rng.standard_normal(size)
    right = np.diagonal(folds, axis1=1, axis2=2)  # (fold, class)
    wrong = folds.sum(-1) - right
    first, second = right.sum(0) / 2 + 0.5, wrong.sum(0) / 2 + 0.5
    tested = logit(rng.beta(first, second, (size, 2)))  # specificity, recall
    level = tested - np.stack([a - d, a + d], -1)

    def log_beta_of_logit(x, p, q):
        return p * log_expit(x) + q * log_expit(-x)

    weight = (log_beta_of_logit(level, 0.5, 0.5) - log_beta_of_logit(tested, first, second)).sum(-1)
    x, wx = np.polynomial.hermite_e.hermegauss(THRESHOLD_NODES)
    y, wy = np.polynomial.hermite_e.hermegauss(SEPARATION_NODES)
    nodes = np.stack([each.ravel() for each in np.meshgrid(x, y, indexing="ij")], -1)
    log_nodes = np.log(np.outer(wx / wx.sum(), wy / wy.sum()).ravel())
    own_d = np.sqrt(1 - RHO) * spread[:, None] * nodes[:, 0]
    own_a = np.sqrt(1 - rho) * easy * nodes[:, 1]
    moved = np.stack([own_a - own_d, own_a + own_d], -1)  # (size, node, class)
    logits = tested[:, None] + moved
    yes, no = log_expit(logits), log_expit(-logits)
    fold_rates = np.empty((size, number, 2))
    for k in range(number):
        terms = log_nodes + yes @ right[k] + no @ wrong[k]
        whole = logsumexp(terms, axis=-1)
        weight = weight + whole
        chance = np.exp(terms - whole[:, None]).cumsum(-1)
        at = (chance < rng.random((size, 1))).sum(-1).clip(max=len(nodes) - 1)
        effect = moved[np.arange(size), at]
        # The sampling effect a of the training examples is not part of the fold classifiers.
        fold_rates[:, k] = expit(level + np.stack([-d, d], -1) + effect)
    share = totals[1] / totals.sum() if share is None else share
    at_hand = measures_of_rates(share, fold_rates[..., 1], fold_rates[..., 0])
    return (
        weight,
        _expected(level, spread, easy, totals, number, share),
        {name: values.mean(-1) for name, values in at_hand.items()},
    )


def _expected(level, spread, easy, totals, number, share):
    """Return the mean of each measure over training sets, without counting variation twice."""
    u = np.sqrt((1 / totals).sum())
    left = np.maximum(0, 1 - 2 * (RHO + (1 - RHO) / number))
    apart = np.maximum(0, 1 - 2 * (1 - 1 / number + 1 / number**2))
    root = np.sqrt(3)
    zero = np.zeros_like(spread)
    columns = [root * np.sqrt(left / totals[j]) * spread / u for j in (0, 1)]
    separation = root * np.sqrt(apart) * easy + zero
    parts = []
    for sign in (1, -1):
        for move in ((-columns[0], zero), (columns[1], zero), (zero, separation)):
            d, a = sign * move[0], sign * move[1]
            rates = expit(level + np.stack([a - d, a + d], -1))
            parts.append(measures_of_rates(share, rates[:, 1], rates[:, 0]))
    return {name: np.mean([part[name] for part in parts], axis=0) for name in parts[0]}


def resampled(log_weights: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Return indices of draws resampled by their weights, and the effective sample size."""
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    positions = (np.arange(len(weights)) + rng.random()) / len(weights)
    return np.searchsorted(weights.cumsum(), positions).clip(max=len(weights) - 1), float(
        1 / (weights**2).sum()
    )


def by_importance(
    folds: np.ndarray,
    size: int,
    rng: np.random.Generator,
    smaller: float = 1.0,
    share: float | None = None,
) -> tuple[dict[str, dict[str, np.ndarray]], float]:
    """
    Return draws of measures by estimand, and the effective sample size.

    ``smaller`` is the ratio by which training sets are smaller than all folds but one. ``share`` is
    a prevalence that differs from the counts.
    """
    parts = [
        _proposals(folds, min(CHUNK, size), rng, smaller, share)
        for _ in range(max(1, size // CHUNK))
    ]
    index, effective = resampled(np.concatenate([part[0] for part in parts]), rng)
    return {
        of: {
            name: np.concatenate([part[at][name] for part in parts])[index] for name in parts[0][at]
        }
        for at, of in ((1, "parameter"), (2, "finite"))
    }, effective


def package_figures(row: Any) -> dict[str, Figure]:
    """Return the package's figures. A mean is assumed to have half the error of a bound."""
    bound = Figure(0.0, row["error"])
    return {
        "mean": Figure(row["mean"], row["error"] / 2),
        "lower": bound._replace(value=row["lower"]),
        "upper": bound._replace(value=row["upper"]),
    }


def figures(replications: Replications, table: str) -> Iterator[Mapping[str, Any]]:
    """Yield a row for each estimand, measure and figure."""
    folds = TABLES[table]
    counts = bcm.from_matrix(folds, dims=("fold",), positive=1)
    size = 1000 * replications.number
    draws, effective = by_importance(folds, size, replications.generator())
    for of, by_measure in draws.items():
        answers = bcm.summary(counts, list(by_measure), of=of, kind="eti")
        answers = answers.set_index("measure")
        for measure, values in by_measure.items():
            recomputed = figures_of_draws(values, effective)
            package = package_figures(answers.loc[measure])
            yield from rows(f"{measure}, {of}", package, recomputed)


# Pairs of classifiers on the same folds.


def moments(folds: np.ndarray, events: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the variance over folds of the numbers of events, and their sampling covariance.

    Parameters
    ----------
    folds : ndarray, shape (K, C, C, C)
        Counts by actual class and the predictions of two classifiers.
    events : ndarray, shape (2, L, C, C, C)
        Indicators of the outcomes that belong to each event of each classifier.

    Returns
    -------
    variance : ndarray, shape (2, 2)
        Covariance over folds, summed over the events.
    covariance : ndarray, shape (2, L, 2, L)
        Covariance expected from sampling alone.
    """
    classes = folds.shape[1]
    totals, pooled = folds.sum((2, 3)), folds.sum(0)
    rates = np.einsum("iab,mliab->iml", pooled, events) / pooled.sum((1, 2))[:, None, None]
    numbers = np.einsum("kiab,mliab->kml", folds, events)
    residual = numbers - np.einsum("ki,iml->kml", totals, rates)
    variance = np.einsum("kml,knl->mn", residual, residual) / (len(folds) - 1)
    chance = pooled + 2 / classes**3
    chance = chance / chance.sum((1, 2), keepdims=True)
    size = totals.mean(0)
    mean = np.einsum("iab,mliab->iml", chance, events)
    product = np.einsum("i,iab,mliab,npiab->mlnp", size, chance, events, events)
    return variance, product - np.einsum("i,iml,inp->mlnp", size, mean, mean)


def log_scaled_chi_squared(value: float, trace: float, square: float, freedom: float, mean: Any):
    """Return the log scaled chi-squared density of a variance with a known mean."""
    shape = freedom * trace**2 / square / 2
    return stats.gamma.logpdf(max(value, 1e-3 * trace), shape, scale=mean / shape)


def training_spreads(
    folds: np.ndarray, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return spreads (size, 2) in units of u, correlations (size,), and the effective size."""
    classes = folds.shape[1]
    totals = folds.sum((0, 2, 3))
    u = np.sqrt(2 * np.median(1 / totals))
    ratio = SPREAD * u ** (2 / 3) * np.abs(rng.standard_t(2, (size, 2))) / u
    correlation = rng.random(size)
    _, one, two = np.indices((classes,) * 3)
    place = np.arange(classes)[:, None, None, None]
    variance, covariance = moments(folds, np.stack([one == place, two == place]).astype(float))
    own = (1 - RHO) * ratio[..., None] ** 2 / totals
    freedom = len(folds) - 1
    log_weight = np.zeros(size)
    for m in (0, 1):
        block = covariance[m, :, m]
        mean = np.trace(block) + own[:, m] @ (block**2).sum(0)
        log_weight += log_scaled_chi_squared(
            variance[m, m], np.trace(block), (block**2).sum(), freedom, mean
        )
    first, second, across = covariance[0, :, 0], covariance[1, :, 1], covariance[0, :, 1]
    apart = first + second - across - across.T
    mean = np.trace(apart) + own[:, 0] @ (first**2).sum(0) + own[:, 1] @ (second**2).sum(0)
    together = np.sqrt(own[:, 0] * own[:, 1]) @ (first * second).sum(0)
    log_weight += log_scaled_chi_squared(
        variance[0, 0] + variance[1, 1] - 2 * variance[0, 1],
        np.trace(apart),
        (apart**2).sum(),
        freedom,
        mean - 2 * correlation * together,
    )
    index, effective = resampled(log_weight, rng)
    return ratio[index], correlation[index], effective


def paired_tables(
    folds: np.ndarray, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Return draws (size, 2, C, C) of both tables, and the effective sample size."""
    classes, number = folds.shape[1], len(folds)
    totals = folds.sum((0, 2, 3))
    u = np.sqrt(2 * np.median(1 / totals))
    ratio, correlation, effective = training_spreads(folds, size, rng)
    theta = rng.dirichlet((folds.sum(0) + 2 / classes**3).ravel(), size)
    theta = theta.reshape(size, *(classes,) * 3)
    table = np.stack([theta.sum(3), theta.sum(2)], 1)
    column = ratio[..., None] ** 2 * (RHO + (1 - RHO) / number) / totals
    common, alone = rng.standard_normal((size, 1, classes)), rng.standard_normal((size, 2, classes))
    share = correlation[:, None, None]
    threshold = np.sqrt(column) * (np.sqrt(share) * common + np.sqrt(1 - share) * alone)
    actual, one, two = np.indices((classes,) * 3)
    right = np.stack([one == actual, two == actual]).astype(float)[:, None]
    covariance = moments(folds, right)[1][:, 0, :, 0]
    error = np.sqrt(np.diagonal(covariance))
    agree = np.sin(np.pi / 2 * np.clip(covariance / np.outer(error, error), 0, 1))
    separation = u * rng.multivariate_normal(np.zeros(2), agree, size, method="eigh")
    logits = np.log(table) + threshold[:, :, None]
    logits += separation[..., None, None] * np.eye(classes)
    rates = np.exp(logits - logsumexp(logits, axis=-1, keepdims=True))
    return rates * (totals / totals.sum())[:, None], effective


def paired_figures(replications: Replications, table: str) -> Iterator[Mapping[str, Any]]:
    """Yield a row for each measure and figure of the difference between two classifiers."""
    folds = PAIRS[table]
    classes = folds.shape[1]
    cells = np.argwhere(folds)
    fold, actual, one, two = np.repeat(cells, folds[tuple(cells.T)], axis=0).T
    labels = {"positive": 1} if classes == 2 else {}
    answers = {"bayes": one, "tree": two}
    evidence = bcm.from_classifiers(actual, answers, by={"fold": fold}, **labels)
    draws, effective = paired_tables(folds, 1000 * replications.number, replications.generator())
    measures = TWO_CLASSES if classes == 2 else MANY_CLASSES
    measures = {name: measures[name] for name in measures if name not in ("prevalence", "lift")}
    options: dict[str, Any] = {"model": "paired_folds", "kind": "eti", "draws": PACKAGE_DRAWS}
    frame = bcm.compare(evidence, list(measures), **options).set_index("measure")
    for measure, function in measures.items():
        values = function(draws)
        difference = values[:, 0] - values[:, 1]
        recomputed = dict(figures_of_draws(difference, effective))
        better = (difference > 0).mean()
        recomputed["p_better"] = Figure(better, np.sqrt(better * (1 - better) / effective))
        scale = np.sqrt(effective / PACKAGE_DRAWS)
        row = frame.loc[measure]
        package = {key: Figure(row[key], own.error * scale) for key, own in recomputed.items()}
        yield from rows(measure, package, recomputed)


# Learning curves.


class Recorder(ClassifierMixin, BaseEstimator):
    """Naive Bayes that records its examples by their numbers, which are in the first column."""

    calls: ClassVar[list] = []

    def fit(self, x: np.ndarray, y: np.ndarray) -> "Recorder":
        """Train on the other columns."""
        self.bayes_ = GaussianNB().fit(x[:, 1:], y)
        self.classes_, self.train_ = self.bayes_.classes_, x[:, 0].astype(int)
        return self

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Return predictions, and record the examples."""
        answers = self.bayes_.predict(x[:, 1:])
        self.calls.append((self.train_, x[:, 0].astype(int), answers))
        return answers


def defects(y: np.ndarray, size: int, calls: list, before: list) -> int:
    """Return the number of training sets with a wrong size or composition."""
    bad = 0
    for (train, test, _), (smaller, same, _) in zip(calls, before, strict=True):
        bad += bool(set(train) & set(test)) or len(set(train)) != size
        bad += abs(y[train].sum() - size * y.mean()) > 1
        bad += not set(smaller) <= set(train) or set(same) != set(test)
    tested = np.concatenate([test for _, test, _ in calls])
    return bad + (sorted(tested) != list(range(len(y))))


def learning_rows(replications: Replications, folds: int) -> Iterator[Mapping[str, Any]]:
    """Yield a row for each size and measure of a learning curve."""
    rng = replications.generator()
    y = np.repeat([0, 1], [90, 60])
    x = np.column_stack([np.arange(150), rng.normal(y[:, None] * [1.2, 0.4, 0.0], 1.0)])
    sizes, measures = LEARNING_SIZES, ("recall", "accuracy", "f1")
    Recorder.calls.clear()
    options: dict[str, Any] = {"measures": list(measures), "positive": 1, "kind": "eti"}
    curve = bcm.learners.learning_curve(Recorder(), x, y, list(sizes), cv=folds, **options)
    calls = [Recorder.calls[at : at + folds] for at in range(0, folds * len(sizes), folds)]
    compared = []
    for size, of_size, before in zip(sizes, calls, [calls[0], *calls], strict=False):
        bad = Figure(float(defects(y, size, of_size, before)))
        compared += rows("training sets", {str(size): Figure(0.0)}, {str(size): bad})
        table = np.zeros((folds, 2, 2))
        for fold, (_, test, answers) in enumerate(of_size):
            np.add.at(table[fold], (y[test], answers), 1)
        pooled = table.sum(0)
        points = measures_of_rates(
            pooled[1].sum() / 150, pooled[1, 1] / pooled[1].sum(), pooled[0, 0] / pooled[0].sum()
        )
        full = 150 * (1 - 1 / folds)
        draws, effective = by_importance(
            table, 1000 * replications.number, rng, smaller=full / size
        )
        for measure in measures:
            row = curve[(curve["size"] == size) & (curve["measure"] == measure)].iloc[0]
            package, own = {"point": Figure(row["point"])}, {"point": Figure(points[measure])}
            compared += rows("points", package, own)
            recomputed = figures_of_draws(draws["parameter"][measure], effective)
            # The learning curve has no errors, so the errors of an interval of its counts are used.
            counts = bcm.from_matrix(table, dims=("fold",), positive=1)
            error = float(bcm.summary(counts, measure, kind="eti")["error"].item())
            compared += rows(
                f"{measure}, {size} examples",
                {name: Figure(row[name], error) for name in recomputed},
                recomputed,
            )
    yield from summarised(compared)


EXPERIMENTS = [
    Repeated("recomputed", CASES, figures, columns=["table"], table="folds"),
    Repeated(
        "recomputed", {1: (5,), 2: (10,)}, learning_rows, columns=["folds"], table="learning_curve"
    ),
    Repeated(
        "recomputed",
        dict(enumerate([(name,) for name in PAIRS], start=1)),
        paired_figures,
        columns=["table"],
        table="paired_folds",
    ),
]
