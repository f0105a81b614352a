"""Coverage for groups: rates, gaps, worst slices, and cells of several attributes."""

import warnings
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import digamma, expit, log_expit, logit, ndtr, ndtri
from scipy.stats import binom, false_discovery_control

from bayescm import posteriors
from bayescm.answers.gaps import SCALE_ENDS, interval_up_to, statistic_of
from bayescm.answers.gaps import gap as gap_between
from bayescm.answers.interval import interval
from bayescm.answers.slices import worst_slices
from bayescm.distributions.empirical import Empirical
from bayescm.evidence import from_matrix
from bayescm.evidence.attempts import from_attempts
from bayescm.evidence.default_models import ENOUGH_GROUPS, WIDE_SPREAD
from bayescm.evidence.item_scores import from_item_scores
from bayescm.evidence.multilabel import from_multilabel
from bayescm.evidence.scores import from_probabilities, from_scores
from bayescm.fitting.posterior_for import members_of
from bayescm.measures.catalogue import resolve
from bayescm.simulation import Experiment, Method, Repeated

# Tables "sites" and "items": the four estimands of groups. These are the mean over the population
# of groups, the typical group, the mean over the observed groups (finite), and a new group. Each
# interval is compared with all four true values, and should cover the value of its own estimand.
# Sites differ on the logit scale, as the model assumes. Items belong to one class and are answered
# several times, with beta probabilities of a correct answer, which the model does not assume. The
# method "as one sample" treats all examples as independent. Images with dependent pixels are
# covered in `bayescm.papers`.

ESTIMANDS = ("population", "typical", "finite", "new")
PREVALENCE = 0.4


class SiteSetting(NamedTuple):
    """Number of sites, mean number of examples per site, and sd of the logits between sites."""

    sites: int
    mean_size: float
    sd: float


class ItemSetting(NamedTuple):
    """Number of items, answers per item, and beta parameters of the probability correct."""

    items: int
    samples: int
    a: float
    b: float


SITES = {1: SiteSetting(6, 40, 0.5), 2: SiteSetting(15, 40, 1.0), 3: SiteSetting(12, 60, 1.5)}
ITEMS = {1: ItemSetting(60, 8, 0.6, 0.3), 2: ItemSetting(25, 8, 3.0, 1.5)}


def sites(
    rng: np.random.Generator, number: int, mean_size: float, sd: float
) -> tuple[xr.DataArray, Mapping[str, float]]:
    """Return counts of sites of unequal sizes, and the true recall and F1 of every estimand."""
    center = logit(rng.uniform([0.6, 0.7], [0.9, 0.95]))

    def new_sites(size):
        return _cells(*expit(center + sd * rng.standard_normal((size, 2))).T)

    finite = new_sites(number)
    sizes = np.maximum(rng.poisson(mean_size * rng.gamma(2, 0.5, number)), 8)
    counts = [rng.multinomial(n, site.ravel()) for n, site in zip(sizes, finite, strict=True)]
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    mean_rates = expit(center[:, None] + sd * nodes) @ (weights / weights.sum())
    cells = {
        "population": _cells(*mean_rates),
        "typical": _cells(*expit(center)),
        "new": new_sites(1)[0],
    }
    truth = {
        f"{name}, {of}": float(resolve(name)(cells[of]))
        for name in ("recall", "f1")
        for of in cells
    }
    truth |= {f"{name}, finite": float(resolve(name)(finite).mean()) for name in ("recall", "f1")}
    return _counts_of_groups(counts), truth


def _cells(recall, specificity):
    """Return cell probabilities (..., 2, 2) of rates (...)."""
    rows = [
        [(1 - PREVALENCE) * specificity, (1 - PREVALENCE) * (1 - specificity)],
        [PREVALENCE * (1 - recall), PREVALENCE * recall],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def items(
    rng: np.random.Generator, number: int, samples: int, a: float, b: float
) -> tuple[xr.DataArray, Mapping[str, float]]:
    """Return counts of items with several answers each, and the true accuracy."""
    actual, chances = (rng.random(number) < PREVALENCE).astype(int), rng.beta(a, b, number)
    right = rng.binomial(samples, chances)
    counts = np.zeros((number, 2, 2), int)
    counts[np.arange(number), actual, actual] = right
    counts[np.arange(number), actual, 1 - actual] = samples - right
    truth = {
        "accuracy, population": a / (a + b),
        "accuracy, typical": float(expit(digamma(a) - digamma(b))),
        "accuracy, finite": float(chances.mean()),
        "accuracy, new": float(rng.beta(a, b)),
    }
    return _counts_of_groups(counts), truth


def _counts_of_groups(cells):
    return from_matrix(np.asarray(cells).reshape(-1, 2, 2), positive=1, dims=("group",))


def estimand_intervals(
    counts: xr.DataArray, *, of: str, measures: tuple[str, ...]
) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals of one estimand, for comparison with each true value."""
    posterior = _posterior_of_groups(counts.values.tobytes(), counts.sizes["group"])
    kernels, rng = [resolve(name) for name in measures], np.random.default_rng(0)
    draws = posterior.draw(kernels, 4000, rng, of=of)
    ends = [np.quantile(values, [0.025, 0.975]) for values in draws]
    return _against_all(dict(zip(measures, ends, strict=True)))


@lru_cache(maxsize=1)
def _posterior_of_groups(cells, groups):
    """Return the posterior of groups, cached for all estimands."""
    return posteriors.hierarchical_groups(np.frombuffer(cells, int).reshape(groups, 2, 2))


def one_sample_intervals(counts: xr.DataArray, *, measures: tuple[str, ...]) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals as if all examples were independent."""
    pooled = counts.sum("group")
    return _against_all({name: interval(pooled, name, kind="eti").values for name in measures})


def _against_all(ends):
    return {f"{name}, {of}": ends[name] for name in ends for of in ESTIMANDS}


def _estimand_methods(measures) -> dict[str, Method]:
    methods: dict[str, Method] = {
        of: partial(estimand_intervals, of=of, measures=measures) for of in ESTIMANDS
    }
    return methods | {"as one sample": partial(one_sample_intervals, measures=measures)}


# Table "typical": recall and specificity of the typical group, with groups of equal size.
# `hierarchical_groups` is compared with the default model of the pooled counts.


class TypicalSetting(NamedTuple):
    """Number of groups, examples per group, and the sd of the logits between groups."""

    groups: int
    size: int
    sd: float


TYPICAL = {1: TypicalSetting(6, 40, 0.5), 2: TypicalSetting(15, 40, 1.0)}


def groups_of_equal_size(
    rng: np.random.Generator, groups: int, size: int, sd: float
) -> tuple[xr.DataArray, Mapping[str, float]]:
    """Return the counts of groups, and the rates of the typical group."""
    typical = rng.uniform([0.7, 0.6], [0.95, 0.9])
    rates = expit(logit(typical) + sd * rng.standard_normal((groups, 2)))
    positives = rng.binomial(size, PREVALENCE, groups)
    tn, tp = rng.binomial(np.stack([size - positives, positives], axis=1), rates).T
    cells = np.stack([tn, size - positives - tn, positives - tp, tp], axis=1)
    return _counts_of_groups(cells), {
        "recall": float(typical[1]),
        "specificity": float(typical[0]),
    }


def typical_intervals(counts: xr.DataArray, *, pooled: bool) -> Mapping[str, np.ndarray]:
    """Return 95% equal-tailed intervals of the typical group, or of the pooled counts."""
    model, of = "hierarchical_groups", "typical"
    if pooled:
        counts, model, of = counts.sum("group"), "dirichlet_multinomial", "parameter"
    return {
        name: interval(counts, name, kind="eti", model=model, of=of).values
        for name in ("recall", "specificity")
    }


TYPICAL_METHODS: dict[str, Method] = {
    "hierarchical_groups": partial(typical_intervals, pooled=False),
    "dirichlet_multinomial": partial(typical_intervals, pooled=True),
}

# Experiment "gaps": gaps between groups, compared with the bootstrap over examples. Recall and
# specificity differ between groups on the logit scale, with standard deviation tau. Group sizes are
# log-uniform. In three settings, one group deviates from nearly equal others. In two settings, all
# groups are equal, so that the true gap is 0, which an equal-tailed interval cannot contain.

STATISTICS = ("range", "ratio", "worst")


class GapSetting(NamedTuple):
    """Number of groups, tau, range of group sizes, and the deviation of the first group."""

    groups: int
    tau: float
    smallest: int
    largest: int
    deviation: float = 0.0


GAPS = {
    1: GapSetting(6, 0.05, 50, 200),
    2: GapSetting(6, 0.3, 20, 100),
    3: GapSetting(6, 0.6, 5, 500),
    4: GapSetting(10, 0.15, 30, 120),
    5: GapSetting(10, 0.4, 100, 500),
    6: GapSetting(20, 0.2, 10, 60),
    7: GapSetting(20, 0.6, 5, 50),
    8: GapSetting(30, 0.3, 5, 500),
    9: GapSetting(50, 0.15, 20, 80),
    10: GapSetting(12, 0.1, 50, 200, -1.2),
    11: GapSetting(6, 0.0, 30, 100),
    12: GapSetting(20, 0.0, 30, 100),
    13: GapSetting(8, 0.05, 60, 300, -1.5),
    14: GapSetting(30, 0.2, 40, 200, -1.5),
}


def groups_with_gaps(
    rng: np.random.Generator, groups: int, tau: float, smallest: int, largest: int, deviation: float
) -> tuple[xr.DataArray, Mapping[str, float]]:
    """Return counts of groups, and the true range, ratio and minimum of recall."""
    size = (groups, 2)
    logits = logit([0.8, 0.85]) + tau * rng.standard_normal(size)
    logits[0, 0] += deviation
    rates = expit(logits)
    totals = np.exp(rng.uniform(np.log(smallest), np.log(largest), size)).round()
    hits = rng.binomial(totals.astype(int), rates)
    (tp, tn), (fn, fp) = hits.T, (totals - hits).T
    cells = np.stack([np.stack([tn, fp], -1), np.stack([fn, tp], -1)], -2).astype(int)
    recall = xr.DataArray(rates[:, 0], dims="group")
    truth = {name: float(statistic_of(recall, "group", name, less=False)) for name in STATISTICS}
    return from_matrix(cells, positive=1, dims=("group",)), truth


def pooled_gaps(counts: xr.DataArray, *, kind: str) -> Mapping[str, Any]:
    """Return the 95% intervals of `bayescm.gap`, with the same draws for all statistics."""
    draws = _gap_draws(counts.values.tobytes(), counts.sizes["group"])
    return {
        name: interval_up_to(Empirical(draws[name]), 0.95, kind, SCALE_ENDS.get(name))[0][0]
        for name in STATISTICS
    }


@lru_cache(maxsize=1)
def _gap_draws(cells, groups):
    """Return draws of each statistic, cached for both kinds of intervals."""
    counts = from_matrix(np.frombuffer(cells, int).reshape(groups, 2, 2), dims=("group",))
    posterior = members_of(counts, "group")
    (recall,) = posterior.draw([resolve("recall")], 2000, np.random.default_rng(0))
    return _gap_statistics(recall)


def _gap_statistics(recall):
    draws = xr.DataArray(recall, dims=("draw", "group"))
    return {
        name: statistic_of(draws, "group", name, less=False).values[:, None] for name in STATISTICS
    }


def bootstrap_gaps(counts: xr.DataArray) -> Mapping[str, Any]:
    """Return 95% percentile bootstrap intervals, without groups that have an undefined recall."""
    rng = np.random.default_rng(0)
    cells = counts.values
    flat = rng.multinomial(cells.sum(), cells.ravel() / cells.sum(), 1000)
    with np.errstate(invalid="ignore"):
        statistics = _gap_statistics(resolve("recall")(flat.reshape(-1, *cells.shape)))
    return {name: np.nanquantile(statistics[name][:, 0], [0.025, 0.975]) for name in STATISTICS}


GAP_METHODS = {
    "gap, eti": partial(pooled_gaps, kind="eti"),
    "gap, hdi": partial(pooled_gaps, kind="hdi"),
    "bootstrap": bootstrap_gaps,
}

# Experiment "few_groups": two to five groups with a given gap in recall. The recalls are evenly
# spread, or a single group is below the others, which are equal. The highest recall is uniform
# between the gap plus 0.05 and 0.95. The experiment compares scales of the half-normal prior of the
# spread of the logits. Posteriors are computed on a grid, which is faster than
# `hierarchical_groups` and independent of it. For the first data set of a case, the interval is
# also computed by `bayescm.gap`. The column `differs` is the largest difference of an end.

FEW_GAPS = (0.0, 0.1, 0.3, 0.5)
SCALES = (1.0, 2.0, WIDE_SPREAD, 5.0)
BY_GAP = 1  # number of data sets per gap with an additional interval by `bayescm.gap`
LOGITS = np.linspace(-9, 9, 160)
MIDDLES, SPREADS = np.linspace(-7, 7, 100), np.geomspace(0.02, 12, 30)


class FewSetting(NamedTuple):
    """Number of groups, positives per group, and the spread of the rates: "even" or "one"."""

    groups: int
    size: int
    spread: str


FEW_GROUPS = dict(
    enumerate(
        (
            FewSetting(groups, size, spread)
            for groups in (2, 3, 4, 5)
            for size in (10, 30, 100)
            for spread in ("even", "one")
            if spread == "even" or groups > 2
        ),
        start=1,
    )
)


def rates_with_gap(rng: np.random.Generator, groups: int, gap: float, spread: str) -> np.ndarray:
    """Return rates of groups (G,) with a given difference between the largest and smallest."""
    highest = rng.uniform(gap + 0.05, 0.95)
    if spread == "even":
        return np.linspace(highest - gap, highest, groups)
    return highest - gap * (np.arange(groups) == 0)


class GridOfLogits:
    """
    Normal model of the logits of groups of equal size, on a grid.

    Attributes
    ----------
    log_likelihood : ndarray, shape (P, size + 1)
        Log marginal likelihood of a group with a given number of hits, at the P grid points of
        (middle, spread).
    below : ndarray, shape (size + 1, P, M)
        Distribution function of the logit of a group, given hits and parameters.
    """

    def __init__(self, size: int):
        middle, spread = (a.ravel() for a in np.meshgrid(MIDDLES, SPREADS, indexing="ij"))
        step = LOGITS[1] - LOGITS[0]
        edges = np.concatenate([[-np.inf], LOGITS[1:] - step / 2, [np.inf]])
        weight = np.diff(ndtr((edges - middle[:, None]) / spread[:, None]), axis=1)
        hits = np.arange(size + 1)[:, None]
        log = hits * log_expit(LOGITS) + (size - hits) * log_expit(-LOGITS)
        likelihood = np.exp(log - log.max(axis=1, keepdims=True))
        self.log_likelihood = np.log(np.maximum(weight @ likelihood.T, 1e-300))
        self.below = np.empty((size + 1, *weight.shape), np.float32)
        for count in range(size + 1):
            self.below[count] = np.cumsum(weight * likelihood[count], axis=1)
            self.below[count] /= np.maximum(self.below[count, :, -1:], 1e-30)
        # The rate at the middle has a Beta(1/2, 1/2) prior, as in `hierarchical_groups`.
        # The term log(spread) is due to the grid, which is equidistant in the log spread.
        self.log_prior = log_expit(middle) / 2 + log_expit(-middle) / 2 + np.log(spread)
        self.spread = spread

    def draw(self, hits: np.ndarray, scale: float, size: int, rng: np.random.Generator):
        """Return draws of the rates (size, G) with a half-normal prior of the spread."""
        log = self.log_prior - self.spread**2 / (2 * scale**2)
        log = log + self.log_likelihood[:, hits].sum(axis=1)
        share = np.exp(log - log.max())
        at = rng.choice(len(share), size, p=share / share.sum())
        logits = np.empty((size, len(hits)))
        for group, count in enumerate(hits):
            level = rng.random((size, 1), dtype=np.float32)
            place = (self.below[count][at] < level).sum(axis=1)
            logits[:, group] = LOGITS[np.minimum(place, len(LOGITS) - 1)]
        return expit(logits + (LOGITS[1] - LOGITS[0]) * (rng.random(logits.shape) - 0.5))


def coverage_of_few(replications, groups, size, spread):
    """
    Return the coverage of 95% intervals of the gap between a few groups.

    There is a row for each prior and true gap. The columns ``hdi`` and ``eti`` are the coverage of
    the two kinds of intervals. For highest-density intervals, ``lower`` and ``upper`` are the mean
    ends, ``from_zero`` is the proportion that starts at 0, and ``over_gaps`` is the mean coverage
    over the gaps above 0.
    """
    grid, records = GridOfLogits(size), []
    for number, rng in enumerate(replications.generators()):
        for gap in FEW_GAPS:
            hits = rng.binomial(size, rates_with_gap(rng, groups, gap, spread))
            recall = {"not pooled": rng.beta(hits + 0.5, size - hits + 0.5, (1000, groups))}
            recall |= {f"{scale:g}": grid.draw(hits, scale, 1000, rng) for scale in SCALES}
            by_gap = number < BY_GAP
            for prior, draws in recall.items():
                asked = prior == ("not pooled" if groups < ENOUGH_GROUPS else f"{WIDE_SPREAD:g}")
                record = _record_of_few(np.ptp(draws, axis=1), gap)
                if by_gap and asked:
                    record["differs"] = _differs_from_gap(hits, size, record)
                records.append({"prior": prior, "gap": gap, **record})
    frame = pd.DataFrame(records).drop(columns=["eti_lower", "eti_upper"])
    table = frame.groupby(["prior", "gap"], sort=False, as_index=False).mean()
    largest = frame.groupby(["prior", "gap"], sort=False)["differs"].max().to_numpy()
    over_gaps = table[table["gap"] > 0].groupby("prior")["hdi"].mean()
    return table.assign(differs=largest, over_gaps=table["prior"].map(over_gaps))


def _record_of_few(draws, gap):
    """Return the ends of both intervals, and whether they contain the true gap."""
    distribution = Empirical(draws[:, None])
    (low, high), (eti_low, eti_high) = (
        interval_up_to(distribution, 0.95, kind, SCALE_ENDS["range"])[0][0]
        for kind in ("hdi", "eti")
    )
    record = {"hdi": low <= gap <= high, "eti": eti_low <= gap <= eti_high}
    record |= {"lower": low, "upper": high, "from_zero": low == 0, "differs": np.nan}
    return record | {"eti_lower": eti_low, "eti_upper": eti_high}


def _differs_from_gap(hits, size, record):
    """Return the largest difference of an equal-tailed end from `bayescm.gap`."""
    negatives = np.full(len(hits), size)
    cells = [[negatives - size // 6, negatives * 0 + size // 6], [size - hits, hits]]
    counts = from_matrix(np.moveaxis(np.array(cells), -1, 0), positive=1, dims=("group",))
    ends = gap_between(counts, "recall", kind="eti").values
    return np.abs(ends - [record["eti_lower"], record["eti_upper"]]).max()


# Experiment "few_slices": gaps between slices of items, with the rates of `rates_with_gap`. The
# evidence is item scores (with a standard deviation of about 0.2 within a slice), single answers,
# or the recall of one of two labels per example.


class FewSlicesSetting(NamedTuple):
    """Type of evidence, number of slices, items per slice, true gap, and spread of the rates."""

    evidence: str
    slices: int
    size: int
    gap: float
    spread: str


FEW_SLICES = dict(
    enumerate(
        (
            FewSlicesSetting(evidence, slices, size, gap, spread)
            for evidence in ("scores", "answers", "labels")
            for slices in (2, 4, 12, 60)
            for size in (30,)
            for gap in (0.0, 0.1, 0.3)
            for spread in ("even", "one")
            if spread == "even" or (gap and slices > 2)
        ),
        start=1,
    )
)


def slices_with_gap(
    rng: np.random.Generator, kind: str, slices: int, size: int, gap: float, spread: str
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return items in slices, and the true gap of the mean or the recall."""
    rate = np.repeat(rates_with_gap(rng, slices, gap, spread), size)
    by = {"slice": np.repeat(np.arange(slices), size)}
    if kind == "scores":
        scores = rng.beta(4 * rate, 4 * (1 - rate))
        return from_item_scores(scores, range=(0, 1), by=by), {"range": gap}
    right = rng.random(len(rate)) < rate
    if kind == "answers":
        return from_attempts(right[:, None].astype(int), by=by), {"range": gap}
    other = rng.random((2, len(rate))) < 0.5
    actual = np.stack([np.ones(len(rate), bool), other[0]], axis=1)
    predicted = np.stack([right, other[0] ^ (other[1] & right)], axis=1)
    evidence = from_multilabel(actual.astype(int), predicted.astype(int), by=by)
    return evidence, {"range": gap}


def gap_of_slices(evidence: xr.Dataset, *, kind: str) -> Mapping[str, Any]:
    """Return the 95% interval of the gap of the mean, or of the recall of the first label."""
    posterior = members_of(evidence, "slice")
    takes = str(posterior.measured_variable)
    measure = resolve("recall" if takes == "example_cells" else "mean", takes)
    (values,) = posterior.draw([posterior.bound(measure)], 1000, np.random.default_rng(0))
    draws = np.ptp(values.reshape(*values.shape[:2], -1)[:, :, 0], axis=1)[:, None]
    return {"range": interval_up_to(Empirical(draws), 0.95, kind, SCALE_ENDS["range"])[0][0]}


SLICES_METHODS = {
    "gap, eti": partial(gap_of_slices, kind="eti"),
    "gap, hdi": partial(gap_of_slices, kind="hdi"),
}

# Experiment "score_groups": gaps between groups of examples with scores or probabilities. The
# measures are the area under the curve of normal scores, and the Brier score. Forecasts have the
# absolute error u ~ Beta(a, 3 - a), with a such that E(u^2) is the Brier score. With the rates of
# `rates_with_gap`, the area is 0.5 plus half the rate, and the Brier score is 0.4 times the rate.


class ScoreGroupsSetting(NamedTuple):
    """Measure, number of groups, examples per class and group, gap, and spread of the rates."""

    what: str
    groups: int
    size: int
    gap: float
    spread: str


SCORE_GROUPS = dict(
    enumerate(
        (
            ScoreGroupsSetting(what, groups, 40, gap, spread)
            for what in ("auc", "brier")
            for groups in (2, 4, 12)
            for gap in (0.0, 0.1, 0.3)
            for spread in ("even", "one")
            if spread == "even" or (gap and groups > 2)
        ),
        start=1,
    )
)


def scores_with_gap(
    rng: np.random.Generator, what: str, groups: int, size: int, gap: float, spread: str
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return scores or probabilities of groups, and the true gap."""
    rates = rates_with_gap(rng, groups, gap, spread)
    group, actual = np.repeat(np.arange(groups), 2 * size), np.tile([0, 1], groups * size)
    if what == "auc":
        areas = 0.5 + rates / 2
        score = rng.standard_normal(len(group)) + actual * np.sqrt(2) * ndtri(areas)[group]
        evidence = from_scores(actual, score, positive=1, by={"group": group})
        return evidence, {"range": float(np.ptp(areas))}
    first = (np.sqrt(1 + 48 * 0.4 * rates) - 1) / 2
    forecast = np.abs(actual - rng.beta(first, 3 - first, (2 * size, groups)).T.ravel())
    evidence = from_probabilities(actual, forecast, positive=1, by={"group": group})
    return evidence, {"range": 0.4 * float(np.ptp(rates))}


def gap_of_scores(evidence: xr.Dataset, *, kind: str) -> Mapping[str, Any]:
    """Return the 95% interval of the gap in the area or in the Brier score."""
    posterior = members_of(evidence, "group")
    measure = resolve("brier" if "probabilities" in evidence.coords else "auc")
    (values,) = posterior.draw([measure], 1000, np.random.default_rng(0))
    draws = np.ptp(values, axis=1)[:, None]
    return {"range": interval_up_to(Empirical(draws), 0.95, kind, SCALE_ENDS["range"])[0][0]}


SCORE_GROUPS_METHODS = {
    "gap, eti": partial(gap_of_scores, kind="eti"),
    "gap, hdi": partial(gap_of_scores, kind="hdi"),
}

# Experiment "worst_slices": expected and actual false discoveries among many slices. The logits of
# recall are normal between slices, or have heavy tails, or a twentieth of the slices is bad and the
# others are similar, or all slices are equal and good. A slice is bad if its recall is below 0.7.
# `bayescm.worst_slices` is compared with separate binomial tests of the slices that control the
# false discovery rate (Benjamini & Hochberg, 1995, doi:10.1111/j.2517-6161.1995.tb02031.x), and
# with a rule that flags every slice with an observed recall below the threshold.

THRESHOLD, FDR = 0.7, 0.1


class SliceSetting(NamedTuple):
    """Distribution of recall over slices, number of slices, and range of their positives."""

    kind: str
    slices: int
    smallest: int
    largest: int


SLICES = {
    1: SliceSetting("normal .3", 50, 20, 200),
    2: SliceSetting("normal .3", 500, 20, 200),
    3: SliceSetting("normal .6", 50, 5, 100),
    4: SliceSetting("normal .6", 500, 5, 100),
    5: SliceSetting("one in 20 bad", 50, 20, 200),
    6: SliceSetting("one in 20 bad", 500, 20, 200),
    7: SliceSetting("one in 20 bad", 500, 5, 50),
    8: SliceSetting("heavy tails", 500, 20, 200),
    9: SliceSetting("equal", 500, 5, 100),
}


def slices(
    rng: np.random.Generator, kind: str, size: int, smallest: int, largest: int
) -> tuple[xr.DataArray, np.ndarray]:
    """Return counts of slices, and a mask of the bad slices."""
    recall = expit(logit(0.82) + _slice_effects(kind, size, rng))
    totals = np.exp(rng.uniform(np.log(smallest), np.log(largest), (2, size))).round().astype(int)
    hits = rng.binomial(totals, [recall, np.full(size, 0.9)])
    misses = totals - hits
    cells = np.stack([[hits[1], misses[1]], [misses[0], hits[0]]]).transpose(2, 0, 1)
    return from_matrix(cells, positive=1, dims=("group",)), recall < THRESHOLD


def _slice_effects(kind, size, rng):
    if kind == "one in 20 bad":
        return np.where(np.arange(size) < size // 20, -1.5, 0.1 * rng.standard_normal(size))
    if kind == "heavy tails":
        return 0.25 * rng.standard_t(3, size)
    return (0.0 if kind == "equal" else float(kind.split()[1])) * rng.standard_normal(size)


def flagged_by_worst_slices(counts):
    """Return a mask of the flagged slices, and the expected number of false discoveries."""
    table = worst_slices(counts, "recall", threshold=THRESHOLD, fdr=FDR, draws=1000)
    flagged = np.zeros(counts.sizes["group"], bool)
    flagged[table["group"][table["flagged"]].to_numpy()] = True
    return flagged, table.attrs["expected_false"]


def flagged_by_tests(counts):
    """Return a mask of the slices flagged by binomial tests, and NaN for the expected number."""
    hits, totals = counts.values[:, 1, 1], counts.values[:, 1].sum(1)
    return false_discovery_control(binom.cdf(hits, totals, THRESHOLD)) <= FDR, np.nan


def flagged_by_observation(counts):
    """Return a mask of the slices with an observed recall below the threshold, and NaN."""
    return counts.values[:, 1, 1] < THRESHOLD * counts.values[:, 1].sum(1), np.nan


SLICE_METHODS = {
    "worst_slices": flagged_by_worst_slices,
    "binomial tests": flagged_by_tests,
    "observed below": flagged_by_observation,
}


def discoveries(replications, *setting):
    """
    Return the mean numbers of slices that are flagged, falsely flagged and missed.

    The columns are means over data sets: the numbers of ``bad`` and ``flagged`` slices, the
    expected and actual numbers of false discoveries (``expected_false``, ``false``), the false
    discovery rate (``fdr``), and the number of bad slices that are not flagged (``missed``).
    """
    records = []
    for rng in replications.generators():
        counts, bad = slices(rng, *setting)
        for name, method in SLICE_METHODS.items():
            flagged, expected = method(counts)
            false = (flagged & ~bad).sum()
            records.append(
                {
                    "method": name,
                    "bad": bad.sum(),
                    "flagged": flagged.sum(),
                    "expected_false": expected,
                    "false": false,
                    "fdr": false / max(flagged.sum(), 1),
                    "missed": (~flagged & bad).sum(),
                }
            )
    methods = pd.DataFrame(records).groupby("method", sort=False)
    return methods.mean().assign(fdr_se=methods["fdr"].sem()).reset_index()


# Experiment "crossed_groups": recall in the 2 x 3 x 4 cells of three attributes, with the errors of
# estimates and the coverage of their intervals. The logit of recall has normal main effects and
# interactions. Cell sizes are log-uniform. With three classes, each class has such a recall, errors
# are divided evenly between the other classes, and the estimand is the mean recall.
# `crossed_groups` is compared with the observed recall, and with the 24 cells as groups without
# attributes (`hierarchical_groups`).

SHAPE, ATTRIBUTES = (2, 3, 4), ("sex", "age", "site")


class CellSetting(NamedTuple):
    """Sd of main effects and interactions, range of examples per class and cell, classes."""

    main: float
    interaction: float
    smallest: int
    largest: int
    classes: int = 2


CELLS = {
    1: CellSetting(0.5, 0.2, 5, 60),
    2: CellSetting(0.5, 0.0, 5, 60),
    3: CellSetting(0.3, 0.3, 20, 200),
    4: CellSetting(0.0, 0.4, 5, 60),
    5: CellSetting(0.5, 0.2, 5, 60, 3),
    6: CellSetting(0.5, 0.0, 5, 30, 3),
    7: CellSetting(0.3, 0.3, 20, 100, 3),
}


def cells_of_attributes(
    rng: np.random.Generator, setting: CellSetting
) -> tuple[xr.DataArray, np.ndarray, np.ndarray]:
    """Return counts of the cells, and the true and the observed recall, (2, 3, 4)."""
    classes = setting.classes
    if classes == 2:
        recall = _recall_of_cells(rng, setting)
        totals = _class_totals(rng, setting)
        hits = rng.binomial(totals, [recall, np.full(SHAPE, 0.85)])
        misses = totals - hits
        positive, negative = np.stack([misses[0], hits[0]], -1), np.stack([hits[1], misses[1]], -1)
        counts = from_matrix(np.stack([negative, positive], -2), positive=1, dims=ATTRIBUTES)
        return counts, recall, hits[0] / totals[0]
    recalls = np.stack([_recall_of_cells(rng, setting) for _ in range(classes)])
    same = np.eye(classes)[:, None, None, None]  # (actual, 1, 1, 1, predicted)
    rates = np.where(same, recalls[..., None], ((1 - recalls) / (classes - 1))[..., None])
    cells = rng.multinomial(_class_totals(rng, setting), rates)
    observed = np.einsum("a...a->a...", cells) / cells.sum(-1)
    counts = from_matrix(np.moveaxis(cells, 0, -2), dims=ATTRIBUTES)
    return counts, recalls.mean(0), observed.mean(0)


def _class_totals(rng, setting):
    """Return the number of examples of each class in the cells, (classes, 2, 3, 4)."""
    low, high = np.log(setting.smallest), np.log(setting.largest)
    return np.exp(rng.uniform(low, high, (setting.classes, *SHAPE))).round().astype(int)


def _recall_of_cells(rng, setting):
    """Return the true recall of one class in every cell."""
    logits = 1.2 + setting.interaction * rng.standard_normal(SHAPE)
    for axis, levels in enumerate(SHAPE):
        main = setting.main * rng.standard_normal(levels)
        logits = logits + (np.zeros(SHAPE).swapaxes(axis, -1) + main).swapaxes(axis, -1)
    return expit(logits)


def _recall_draws(counts):
    """Yield the name of each model, and its draws of recall in every cell, (draw, 2, 3, 4)."""
    classes = counts.sizes["actual"]
    positive: dict[str, Any] = {"positive": 1} if classes == 2 else {}
    flat = from_matrix(counts.values.reshape(-1, classes, classes), dims=("group",), **positive)
    measure = resolve("recall" if classes == 2 else "recall_macro")
    by_model = {
        "crossed_groups": posteriors.crossed_groups(counts),
        "hierarchical_groups": posteriors.hierarchical_groups(flat).by("group"),
    }
    for name, posterior in by_model.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # there can be few effective draws
            (recall,) = posterior.draw([measure], 1000, np.random.default_rng(0))
        yield name, recall.reshape(-1, *SHAPE)


def errors_of_cells(replications, *setting):
    """
    Return the mean absolute error of recall per cell, and the coverage of 95% intervals.

    There is a row for each method. ``error`` is the mean absolute error, and ``doc`` and ``il`` are
    the coverage and the mean length of equal-tailed intervals. All are means over cells and data
    sets.
    """
    records = []
    for rng in replications.generators():
        counts, truth, observed = cells_of_attributes(rng, CellSetting(*setting))
        records.append({"method": "observed", "error": np.abs(observed - truth).mean()})
        for method, recall in _recall_draws(counts):
            low, high = np.quantile(recall, [0.025, 0.975], axis=0)
            records.append(
                {
                    "method": method,
                    "error": np.abs(recall.mean(0) - truth).mean(),
                    "doc": ((low <= truth) & (truth <= high)).mean(),
                    "il": (high - low).mean(),
                }
            )
    return pd.DataFrame(records).groupby("method", sort=False, as_index=False).mean()


EXPERIMENTS = [
    Experiment("groups", SITES, sites, _estimand_methods(("recall", "f1")), table="sites"),
    Experiment("groups", ITEMS, items, _estimand_methods(("accuracy",)), table="items"),
    Experiment("groups", TYPICAL, groups_of_equal_size, TYPICAL_METHODS, table="typical"),
    Experiment("gaps", GAPS, groups_with_gaps, GAP_METHODS),
    Repeated("few_groups", FEW_GROUPS, coverage_of_few),
    Experiment("few_slices", FEW_SLICES, slices_with_gap, SLICES_METHODS),
    Experiment("score_groups", SCORE_GROUPS, scores_with_gap, SCORE_GROUPS_METHODS),
    Repeated("worst_slices", SLICES, discoveries),
    Repeated("crossed_groups", CELLS, errors_of_cells),
]
