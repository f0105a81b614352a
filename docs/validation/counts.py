"""Coverage for confusion matrices: priors, fixed class totals, weights, extreme tables."""

import warnings
from collections.abc import Mapping
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from bayescm.answers.interval import interval
from bayescm.distributions import dirichlet
from bayescm.evidence import from_matrix, from_predictions
from bayescm.measures.catalogue import names, resolve
from bayescm.posteriors import dirichlet_multinomial, importance_weighted
from bayescm.simulation import Experiment, Method, Repeated, Replications

# Experiment "priors": coverage of four rules for the prior concentration per cell. In each data
# set, a classifier of C classes is sampled: the prevalences, a recall per class around a given
# mean, and errors unevenly distributed over the other classes. One test set of n examples is
# sampled from it. The rules differ in the total weight of the prior: 2 examples for 2/C^2, C^2/2
# for 0.5, C for 1/C, and 1 for 1/C^2.


class ClassifierSetting(NamedTuple):
    """Number of classes, number of examples, and the mean recall of a class."""

    classes: int
    n: int
    recall: float


PRIORS = {
    case: ClassifierSetting(*setting)
    for case, setting in enumerate(product((2, 3, 5, 10), (50, 300), (0.7, 0.93)), start=1)
}
AVERAGES = ("accuracy", "f1_macro", "mcc")


def classifier(rng: np.random.Generator, classes: int, recall: float) -> np.ndarray:
    """Return the cell probabilities (C, C) of a random classifier."""
    prevalence = rng.dirichlet(np.full(classes, 5.0))
    recalls = rng.beta(20 * recall, 20 * (1 - recall), classes)
    errors = rng.dirichlet(np.full(classes - 1, 0.5), classes)
    rates = np.zeros((classes, classes))
    rates[~np.eye(classes, dtype=bool)] = errors.ravel()
    rates *= (1 - recalls)[:, None]
    rates += np.diag(recalls)
    return prevalence[:, None] * rates


def counts_of_classifier(
    rng: np.random.Generator, classes: int, n: int, recall: float
) -> tuple[xr.DataArray, Mapping[str, float]]:
    """Return the confusion matrix of a random classifier on a test set, and its true measures."""
    cells = classifier(rng, classes, recall)
    counts = rng.multinomial(n, cells.ravel()).reshape(cells.shape)
    return from_matrix(counts), {name: float(resolve(name)(cells)) for name in AVERAGES}


def dirichlet_intervals(counts: xr.DataArray, *, rule: str) -> Mapping[str, np.ndarray]:
    """Return 95% equal-tailed intervals of all measures, from the same draws."""
    classes = counts.sizes["actual"]
    concentration = {
        "2/C^2": 2 / classes**2,
        "0.5": 0.5,
        "1/C": 1 / classes,
        "1/C^2": 1 / classes**2,
    }[rule]
    posterior = dirichlet_multinomial(counts.values, concentration=concentration)
    # Seeding with the counts makes draws independent of the order of methods and replications.
    rng = np.random.default_rng(counts.values.ravel().tolist())
    return _equal_tails(AVERAGES, posterior.draw([resolve(name) for name in AVERAGES], 1000, rng))


def _equal_tails(measures, draws):
    ends = (np.nanquantile(values, [0.025, 0.975]) for values in draws)
    return dict(zip(measures, ends, strict=True))


CONCENTRATIONS: dict[str, Method] = {
    rule: partial(dirichlet_intervals, rule=rule) for rule in ("2/C^2", "0.5", "1/C", "1/C^2")
}

# Experiment "fixed_totals": class totals fixed by design. The model `fixed_totals` is compared with
# the default model, which treats the class totals as random. Recall and specificity are uniform in
# plausible ranges. The true measures refer to a population with the prevalence of the test set.

FIXED_TOTALS = {1: (25, 25), 2: (100, 20)}
TWO_CLASS_MEASURES = ("precision", "recall", "f1", "mcc")


def counts_with_fixed_totals(
    rng: np.random.Generator, negatives: int, positives: int
) -> tuple[xr.DataArray, Mapping[str, float]]:
    """Return the confusion matrix of a test set with fixed class totals, and the true measures."""
    totals = np.array([negatives, positives])
    specificity, recall = rng.uniform([0.75, 0.6], [0.95, 0.9])
    rates = np.array([[specificity, 1 - specificity], [1 - recall, recall]])
    counts = np.stack([rng.multinomial(n, row) for n, row in zip(totals, rates, strict=True)])
    cells = rates * (totals / totals.sum())[:, None]
    truth = {name: float(resolve(name)(cells)) for name in TWO_CLASS_MEASURES}
    return from_matrix(counts, positive=1), truth


def intervals_of_model(counts: xr.DataArray, *, model: str) -> Mapping[str, np.ndarray]:
    """Return 95% equal-tailed intervals from a model."""
    return {
        name: interval(counts, name, kind="eti", model=model).values for name in TWO_CLASS_MEASURES
    }


MODELS: dict[str, Method] = {
    model: partial(intervals_of_model, model=model)
    for model in ("fixed_totals", "dirichlet_multinomial")
}

# Experiment "weights": importance weights, with three ways to use them. Examples are sampled from
# the four cells of a binary confusion matrix, each with a weight. The weights are equal,
# log-normal, smaller for correct predictions, or determined by the class or by the prediction
# (stratified samples). The true measures refer to the population, in which each cell is multiplied
# by the mean weight of its examples.


class Weighting(NamedTuple):
    """
    Rates in a sample, and the distribution of the weights of its examples.

    `log_medians` are the logarithms of the median weights in the cells tn, fp, fn and tp. In each
    cell, the logarithms of the weights have the standard deviation `log_sd`.
    """

    prevalence: float
    recall: float
    specificity: float
    log_medians: tuple[float, float, float, float]
    log_sd: float


WEIGHTINGS = {
    "even": Weighting(0.3, 0.8, 0.9, (0, 0, 0, 0), 0.0),
    "log-normal 0.5": Weighting(0.3, 0.8, 0.9, (0, 0, 0, 0), 0.5),
    "log-normal 1": Weighting(0.3, 0.8, 0.9, (0, 0, 0, 0), 1.0),
    "with the error": Weighting(0.3, 0.6, 0.8, (-0.7, 0, 0, -0.7), 0.7),
    "by class": Weighting(0.5, 0.8, 0.9, (3, 3, 0, 0), 0.0),
    "by answer": Weighting(0.5, 0.8, 0.8, (2.2, 0, 2.2, 0), 0.0),
    "by class, log-normal": Weighting(0.5, 0.8, 0.9, (3, 3, 0, 0), 0.5),
}
WEIGHTS = dict(enumerate(product(WEIGHTINGS, (100, 500, 2000)), start=1))
WEIGHTED_MEASURES = ("accuracy", "recall", "f1", "mcc")
DRAWS = 1000


def weighted_examples(
    rng: np.random.Generator, weights: str, n: int
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], Mapping[str, float]]:
    """Return the class, prediction and weight of every example, and the true measures."""
    prevalence, recall, specificity, log_medians, log_sd = WEIGHTINGS[weights]
    rates = np.array([[specificity, 1 - specificity], [1 - recall, recall]])
    cells = (rates * [[1 - prevalence], [prevalence]]).ravel()
    code = rng.choice(4, n, p=cells)
    weight = np.exp(np.array(log_medians)[code] + log_sd * rng.standard_normal(n))
    # As every cell has the same log_sd, the mean weights are proportional to the medians.
    population = (cells * np.exp(log_medians)).reshape(2, 2)
    truth = {name: float(resolve(name)(population)) for name in WEIGHTED_MEASURES}
    return (code // 2, code % 2, weight), truth


def weighted_intervals(examples: tuple, *, model: Any) -> Mapping[str, np.ndarray]:
    """Return 95% equal-tailed intervals from a model of weighted counts."""
    actual, predicted, weight = examples
    counts = from_predictions(
        actual, predicted, labels=[0, 1], weights=weight, weights_are="importance"
    )
    kernels = [resolve(name) for name in WEIGHTED_MEASURES]
    draws = model(counts).draw(kernels, DRAWS, np.random.default_rng(len(actual)))
    return _equal_tails(WEIGHTED_MEASURES, draws)


def weighted_bootstrap(examples: tuple) -> Mapping[str, np.ndarray]:
    """
    Return 95% equal-tailed intervals of the weighted Bayesian bootstrap.

    References
    ----------
    Rubin, D. B. (1981). The Bayesian bootstrap. Annals of Statistics 9, 130-134.
    doi:10.1214/aos/1176345338
    """
    actual, predicted, weight = examples
    rng = np.random.default_rng(len(actual))
    shares = rng.standard_exponential((DRAWS, len(actual))) * weight
    indicators = np.eye(4)[2 * actual + predicted]
    cells = (shares @ indicators).reshape(DRAWS, 2, 2)
    return _equal_tails(WEIGHTED_MEASURES, [resolve(name)(cells) for name in WEIGHTED_MEASURES])


WEIGHT_METHODS: dict[str, Method] = {
    "importance_weighted": partial(weighted_intervals, model=importance_weighted),
    # The weighted counts, scaled to Kish's effective sample size, are treated as plain counts.
    "Kish over all": partial(weighted_intervals, model=dirichlet_multinomial),
    "weighted bootstrap": weighted_bootstrap,
}

# Experiment "hard_counts": intervals of extreme tables, compared with draws from the same
# posterior. Sample sizes are from 1 to 1e9 examples, prevalences from 1e-6 to 1 - 1e-6, and rates
# from 0.001 to 0.999. A tenth of the cells is set to 0, and the prior concentration is from 0.01 to
# 10. Each table has one interval, equal-tailed or highest-density, with a probability from 0.5 to
# 0.999. The interval is wrong if it is reversed or outside the range of the measure, if its error
# is not finite, or if a tail probability differs from the draws.
# Experiment "hard_counts_errors" has the measures without a closed form, and enough draws to check
# the stated numerical error.

PROBS = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
BATCH = 20


class HardCounts(NamedTuple):
    """A measure, and the number of draws that each interval is compared with."""

    measure: str
    draws: int = 50_000


RECIPROCAL = "number_needed_to_diagnose"  # left out, as the reciprocal of informedness
HARD_COUNTS = {
    case: HardCounts(measure)
    for case, measure in enumerate(
        [
            *(name for name in names() if resolve(name).form and name != RECIPROCAL),
            "fbeta(2)",
            "cost([[0,1],[5,0]])",
        ],
        start=1,
    )
}
WITHOUT_CLOSED_FORM = (
    "balanced_accuracy",
    "diagnostic_odds_ratio",
    "informedness",
    "markedness",
    "negative_likelihood_ratio",
    "overlap",
    "positive_likelihood_ratio",
)
ERRORS = {
    case: HardCounts(setting.measure, 1_000_000)
    for case, setting in HARD_COUNTS.items()
    if setting.measure in WITHOUT_CLOSED_FORM
}


def hard_tables(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return tables (size, 2, 2), and their prior concentrations (size,)."""
    prevalence, fpr = _shares(rng, size, 6), _shares(rng, size, 3)
    recall = _shares(rng, size, 3)
    theta = np.stack(
        [
            (1 - prevalence) * (1 - fpr),
            (1 - prevalence) * fpr,
            prevalence * (1 - recall),
            prevalence * recall,
        ],
        axis=-1,
    )
    theta /= theta.sum(-1, keepdims=True)
    totals = (10 ** rng.uniform(0, 9, size)).astype(int)
    cells = rng.multinomial(totals, theta).astype(float)
    cells[rng.random(cells.shape) < 0.1] = 0
    return cells.reshape(-1, 2, 2), 10 ** rng.uniform(-2, 1, size)


def _shares(rng, size, digits):
    """Return proportions p with min(p, 1 - p) log-uniform from 10**-digits to 1/2."""
    smaller = 10 ** rng.uniform(-digits, np.log10(0.5), size)
    return np.where(rng.random(size) < 0.5, smaller, 1 - smaller)


def wrong_intervals(replications, name, draws):
    """
    Return the numbers of wrong intervals of a measure, equal-tailed and highest-density.

    ``missing``, ``reversed``, ``outside`` and ``unknown_error`` are found without draws. ``wrong``
    counts intervals with a tail probability that differs from the draws. ``understated`` counts
    intervals that differ from the draws by more than twice the stated error. ``largest_error`` is
    relative to the bound if its absolute value is above 1.
    """
    for kind in ("eti", "hdi"):
        rng = replications.generator(int(kind == "hdi"))
        batches = []
        for start in range(0, replications.number, BATCH):
            size = min(BATCH, replications.number - start)
            prob = float(rng.choice(PROBS))
            cells, concentration = hard_tables(rng, size)
            batches.append(_faults(name, kind, prob, cells, concentration, draws, rng))
        faults = {key: np.concatenate([batch[key] for batch in batches]) for key in batches[0]}
        largest = float(np.nanmax(faults.pop("error")))
        totals = {key: int(values.sum()) for key, values in faults.items()}
        yield {"kind": kind, "largest_error": largest, **totals}


def _faults(name, kind, prob, cells, concentration, draws, rng):
    """Return an indicator of each fault, and the error, for the interval of each table."""
    measure, prior = resolve(name), np.broadcast_to(concentration[:, None, None], cells.shape)
    posterior = dirichlet_multinomial(cells, concentration=prior)
    distribution = posterior.distribution(measure)
    intervals, errors = distribution.interval_with_error(prob, kind)
    (low, high), (least, most) = intervals.T, distribution.support
    wrong, understated = [], []
    for weights, ends, error in zip(posterior.concentration, intervals, errors, strict=True):
        values = measure(dirichlet.draw(weights, draws, rng, axes=2))
        wrong.append(tail_differs(values, ends, prob, kind))
        understated.append(tail_differs(values, ends, prob, kind, slack=2 * error, share=0.0))
    return {
        "missing": np.isnan(intervals).any(-1),
        "reversed": low > high,
        "outside": (low < least) | (high > most),
        "unknown_error": ~np.isfinite(errors).all(-1),
        "wrong": np.array(wrong),
        "understated": np.array(understated),
        "error": (errors / np.maximum(1, np.abs(intervals))).max(-1),
    }


def tail_differs(
    values: np.ndarray,
    ends: np.ndarray,
    prob: float,
    kind: str,
    *,
    slack: np.ndarray | float = 0.0,
    share: float = 0.1,
) -> bool:
    """
    Return True if a tail probability of an interval differs from the draws.

    The tolerance is a proportion of the tail probability plus five standard errors.

    Parameters
    ----------
    values : ndarray (size,)
        Draws. Many of them may equal an end.
    ends : ndarray (2,)
        Interval.
    prob : float
        Probability of the interval.
    kind : {"eti", "hdi"}
        For a highest-density interval, only the sum of both tails is compared.
    slack : ndarray (2,) or float
        Tolerance of the ends.
    share : float
        Tolerance of the tail probability, as a proportion of it.
    """
    values = values[~np.isnan(values)]
    low, high = ends
    low_slack, high_slack = slack + 1e-12 * np.maximum(1, np.abs(ends))  # rounding of the measure
    beyond: Any = np.array([(values < low - low_slack).mean(), (values > high + high_slack).mean()])
    reached: Any = np.array(
        [(values <= low + low_slack).mean(), (values >= high - high_slack).mean()]
    )
    tail: Any = np.full(2, (1 - prob) / 2)
    if kind == "hdi":
        beyond, reached, tail = beyond.sum(), reached.sum(), 1 - prob
    tolerance = share * tail + 5 * np.sqrt(tail / len(values))
    return bool((beyond > tail + tolerance).any() or (reached < tail - tolerance).any())


# Experiment "absent_classes": macro averages if some classes have no examples. Each class is half
# as common as the one before. The interval of the package is for the average over the classes in
# the evidence. The alternative averages over all classes, with the prior for those without
# examples.
ABSENT_CLASSES = {1: (8, 20), 2: (8, 50), 3: (8, 200)}
_HIT_RATE = 0.8
_MEASURES = ("recall", "f1")


def absent_classes(replications: Replications, classes: int, n: int) -> list[dict]:
    """
    Return the coverage and length of 95% intervals of macro averages.

    ``absent`` is the mean number of undefined classes. ``doc`` is the coverage of the average over
    the classes in the evidence, and ``doc_of_all_classes`` of the average over all classes.
    """
    share = 0.5 ** np.arange(classes)
    other = (1 - _HIT_RATE) / (classes - 1)
    rates = np.full((classes, classes), other) + (_HIT_RATE - other) * np.eye(classes)
    theta = (share / share.sum())[:, None] * rates
    tables = [
        rng.multinomial(n, theta.ravel()).reshape(theta.shape) for rng in replications.generators()
    ]
    batch = from_matrix(np.stack(tables), labels=list(range(classes)), dims=("batch",))
    rows = []
    for name in _MEASURES:
        of_each, mean = resolve(name), resolve(f"{name}_macro")
        defined = ~np.isnan(of_each(batch.values))
        truths = of_each(theta)
        of_evidence = np.where(defined, truths, 0).sum(-1) / defined.sum(-1)

        def over_all_classes(cells, mean=mean):
            return mean(cells)

        options = {"kind": "eti", "draws": 2000, "random_seed": replications.seed}
        for average, measure in (("evidence", mean), ("all classes", over_all_classes)):
            with warnings.catch_warnings():
                # Predicted classes without examples are the subject of this study.
                warnings.filterwarnings("ignore", message=".* but has no examples")
                low, high = interval(batch, measure, **options).transpose("bound", ...).values
            covered = {
                "evidence": ((low <= of_evidence) & (of_evidence <= high)).mean(),
                "all classes": ((low <= truths.mean()) & (truths.mean() <= high)).mean(),
            }
            rows.append(
                {
                    "measure": f"{name}_macro",
                    "average": average,
                    "absent": (~defined).sum(-1).mean(),
                    "doc": covered["evidence"],
                    "doc_of_all_classes": covered["all classes"],
                    "length": (high - low).mean(),
                }
            )
    return rows


EXPERIMENTS = [
    Repeated("absent_classes", ABSENT_CLASSES, absent_classes, columns=("classes", "n")),
    Experiment("priors", PRIORS, counts_of_classifier, CONCENTRATIONS),
    Experiment(
        "fixed_totals",
        FIXED_TOTALS,
        counts_with_fixed_totals,
        MODELS,
        columns=("negatives", "positives"),
    ),
    Experiment("weights", WEIGHTS, weighted_examples, WEIGHT_METHODS, columns=("weights", "n")),
    Repeated("hard_counts", HARD_COUNTS, wrong_intervals),
    Repeated("hard_counts_errors", ERRORS, wrong_intervals),
]
