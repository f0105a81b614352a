r"""
The posterior of means of item scores from sums over the items of batches.

It is the posterior of `bayescm.posteriors.item_scores`, computed for many batches at once. The sums
have dims (..., statistic). With z the score rescaled from its range to [-1, 1], they are

    n,   sum z,   sum z**2,   sum z**3,   sum z**4,   and the number of items above each threshold.

The distribution F of item scores is a Dirichlet process. By default, there is half a pseudo-item at
each end of a known range. Let A be the number of items and pseudo-items, m their mean, and mu_k
their central moments. Then

    proportion above a threshold   ~  Beta(above, A - above),
    mean of F                      has the mean m and the variance  mu_2 / (A + 1),
    mean of n further items        has the mean m and the variance  mu_2 (A + n) / (n (A + 1)).

The third and fourth moments of both means are also known in closed form
(`bayescm.distributions.moments.mean_of_dirichlet_process`, `mean_of_next_items`). The distributions
are approximated by beta distributions with a Cornish-Fisher correction.

References
----------
Blackwell, D. & MacQueen, J. B. (1973). Ferguson distributions via Polya urn schemes. The Annals of
Statistics 1, 353-355. doi:10.1214/aos/1176342372
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from scipy import special

from bayescm.distributions.base import Distribution
from bayescm.distributions.beta import Beta
from bayescm.distributions.moments import (
    CornishFisherBeta,
    mean_of_dirichlet_process,
    standardized,
)
from bayescm.evidence.sums_of_items import (
    cut_points,
    in_parts,
    number_of_items,
    part,
    repeated_items,
    statistic_of,
)
from bayescm.measures.item_scores import mean as MEAN
from bayescm.measures.item_scores import on_scale
from bayescm.measures.labelled import of_variable
from bayescm.measures.measure import Measure, OfScores
from bayescm.posteriors.base import LabelTemplate, Posterior
from bayescm.validate import fail

_POWERS = ("z", "z**2", "z**3", "z**4")
_AT_ENDS = ("at the lowest", "at the highest")
NARROWEST = 1e-9  # standard deviation of a mean if all scores are equal, relative to the range
# Some rules do not apply with fewer items than this, because the tails of means are then too light
# (docs/results/item_score_alarms_tails.csv).
FEWEST_ITEMS = 20  # if the range is known
_FEWEST_WITHOUT_ENDS = 100  # if the range is unknown
# If the range is unknown, a caution is added with fewer items than this, as in
# `posteriors.item_scores`.
_FEW_ITEMS = 30


# Measures, and their sums over the items of a batch


def monitored_measures(measures: Any, like: xr.DataArray) -> list[Measure]:
    """
    Resolve the requested measures, which must be computable from sums over items.

    The only measure of attempts is the mean, which equals pass@1.

    Raises
    ------
    ValueError
        If a measure is not a mean over the items.
    """
    of_attempts = like.attrs.get("unit_of_scores") == "attempts"
    # The measure may already be resolved as a mean of item scores, which are then the proportions
    # of correct attempts.
    variable = ("attempts", "item_scores") if of_attempts else "item_scores"
    resolved = of_variable(measures, variable)
    if of_attempts:
        return [_mean_of_attempts(measure) for measure in resolved]
    for measure in resolved:
        if not isinstance(measure.form, OfScores) or measure.form.kind not in ("mean", "share"):
            raise fail(
                "{} cannot be monitored",
                measure.__name__,
                "mean or share_above(mark)",
                "for a quantile, monitor a share instead: the median exceeds 0.5 if "
                "share_above(0.5) exceeds 0.5; or use bcm.summary(monitor.item_scores(), ...)",
            )
    return resolved


def _mean_of_attempts(measure):
    """Return the mean of the proportions correct, with the name of a measure of attempts."""
    if measure.canonical not in ("mean", "pass_at(1)"):
        todo = f"use bcm.summary(monitor.attempts(), {measure.__name__!r})"
        raise fail("{} cannot be monitored", measure.__name__, "mean or pass@1", todo)
    return MEAN.called(measure.__name__)


def sums_of_batches(
    batches: Sequence[Any], like: xr.DataArray, measures: Sequence[Measure]
) -> xr.DataArray:
    """
    Return the sums over the items of each batch that determine its means.

    Parameters
    ----------
    batches : sequence of ScoredItems or AnsweredItems
    like : DataArray
        Empty batch with the attributes ``lowest``, ``highest`` and ``lower_is_better``.
    measures : sequence of Measure
        Measures, as returned by `monitored_measures`.

    Returns
    -------
    DataArray, dims (step, statistic)
        Sums of each batch. The statistics are:

        - ``items``: the number of items;
        - ``z`` to ``z**4``: the sums of the powers of z;
        - ``at the lowest``, ``at the highest``: the number of items at each end of the range;
        - ``above 4`` or ``from 4``: the number of items above, or not below, each threshold;
        - ``repeated``: the number of items that are also in an earlier batch, identified by name;
        - ``part 0``, ...: the number of items in each part of the scale.

        The attributes are the attributes of ``like`` and ``support``, which is the range or, if
        unknown, the lowest and the highest score of all batches.
    """
    low, high = like.attrs["lowest"], like.attrs["highest"]
    if low is None:
        scores = np.concatenate([np.zeros(0), *(batch.score for batch in batches)])
        low, high = (scores.min(), scores.max()) if len(scores) else (-1.0, 1.0)
        if low == high:
            low, high = low - 0.5, high + 0.5
    forms: list[Any] = [measure.form for measure in measures]
    shares = [form for form in forms if form.kind == "share"]
    cuts, rows = cut_points([batch.score for batch in batches]), []
    for batch, repeated in zip(batches, repeated_items(batches), strict=True):
        z = (2 * batch.score - low - high) / (high - low)
        of_powers = [(z**power).sum() for power in range(1 + len(_POWERS))]
        of_marks = [form.counts(batch.score).sum() for form in shares]
        at_ends = [(batch.score == end).sum() for end in (low, high)]
        rows.append([*of_powers, *at_ends, *of_marks, repeated, *in_parts(batch.score, cuts)])
    names = [
        "items",
        *_POWERS,
        *_AT_ENDS,
        *map(_counted, shares),
        "repeated",
        *map(part, range(len(cuts) + 1)),
    ]
    sums = np.reshape(np.array(rows, float), (len(batches), len(names)))
    attrs = {**like.attrs, "support": (float(low), float(high))}
    return xr.DataArray(sums, {"statistic": names}, ["step", "statistic"], "sums", attrs)


def _counted(share):
    """Return the name of the statistic that counts the items above a threshold."""
    return f"{'from' if share.included else 'above'} {share.at!r}"


# The posterior


class SummedItems(Posterior):
    """Base class of posteriors from sums over the items of batches, dims (..., statistic)."""

    sums: xr.DataArray
    fewest = FEWEST_ITEMS
    estimands = {"parameter": "share"}  # noqa: RUF012
    has_model = cell_prior = False
    how = "moments"

    @cached_property
    def template(self) -> LabelTemplate:
        """Dimensions and coordinates of the sums, without ``statistic``."""
        dims, coords = self.sums.dims[:-1], self.sums.coords.variables
        remaining = {name: coord for name, coord in coords.items() if {*coord.dims} <= {*dims}}
        return LabelTemplate(remaining, dims, self.sums.shape[:-1])

    @property
    def batch(self) -> xr.DataArray:
        """Number of items of each member of the batch."""
        return self.template.to_dataarray(number_of_items(self.sums).values)

    @property
    def enough(self) -> np.ndarray:
        """Whether there are enough items for accurate tails of means, (...)."""
        return self.batch.values >= self.fewest

    def rate_of_next(self, measure: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the beta parameters of a proportion of the next items, or None for a mean."""
        return None

    def value_of_next(self, measure: Any, n: np.ndarray) -> Distribution:
        """Return the distribution of the sample value in n further items."""
        raise NotImplementedError

    def atoms_of_next(self, measure: Any, n: np.ndarray) -> list[np.ndarray]:
        """Return the probabilities that all n further items are at the low or the high end."""
        raise NotImplementedError


class SummedItemScores(SummedItems):
    """
    Posterior of means over items, separate for each leading index of the sums.

    Parameters
    ----------
    sums : DataArray, dims (..., statistic)
        Result of `sums_of_batches`, added up over batches.
    concentration : float, default 0.5
        Number of prior pseudo-items at each end of the range, if the range is known.

    Examples
    --------
    >>> from bayescm.evidence.item_scores import ScoredItems
    >>> batch = ScoredItems(None, np.array([0.2, 0.7, 0.9, 1.0]))
    >>> like = xr.DataArray(attrs={"lowest": 0.0, "highest": 1.0, "lower_is_better": False})
    >>> (mean,) = monitored_measures("mean", like)
    >>> posterior = SummedItemScores(sums_of_batches([batch], like, [mean]))
    >>> posterior.distribution(mean).eti(0.95).round(2)
    array([[0.34, 0.9 ]])
    """

    measured_variable = "item_scores"

    def __init__(self, sums: xr.DataArray, concentration: float = 0.5):
        self.sums = sums
        self.bounded = sums.attrs["lowest"] is not None
        self.pseudo_items = concentration if self.bounded else 0.0
        self.fewest = FEWEST_ITEMS if self.bounded else _FEWEST_WITHOUT_ENDS

    def sum_of(self, statistic: str) -> np.ndarray:
        """Return the sum with the given name, (...)."""
        return statistic_of(self.sums, statistic)

    def bound(self, measure: Any) -> Any:
        """Return a measure with the range of these scores and the direction of improvement."""
        ends = self.sums.attrs["support"] if self.bounded else (-np.inf, np.inf)
        return on_scale(measure, ends, self.sums.attrs["lower_is_better"])

    def exact_distribution(
        self, measure: Any, *, of: str = "parameter", n: Any = None
    ) -> "Beta | CornishFisherBeta":
        """Return the distribution of a proportion or a mean, shape (...)."""
        if measure.form.kind == "share":
            return Beta(*self.share_parameters(measure.form))
        total, mean, *central = self.moments()
        sums = [np.zeros_like(mean), *(total * moment for moment in central)]
        return self._mean_of_items(*mean_of_dirichlet_process(total, mean, sums))

    def share_parameters(self, share: OfScores) -> tuple[np.ndarray, np.ndarray]:
        """Return the parameters of the beta distribution of a proportion of items."""
        hits, number = self.sum_of(_counted(share)), self.sum_of("items")
        ends = np.array(self.sums.attrs["support"])
        counted = share.counts(ends).sum()
        a = hits + self.pseudo_items * counted
        b = number - hits + self.pseudo_items * (len(ends) - counted)
        if self.bounded and counted != 1:
            todo = "correct the mark"
            allowed = "a mark inside the range ({:g}, {:g})".format(*ends)
            raise fail(
                "All scores of the range are on the same side of the mark {}",
                share.at,
                allowed,
                todo,
            )
        # Without pseudo-items a parameter can be 0. The proportion is then exactly 0 or 1.
        return np.maximum(a, NARROWEST), np.maximum(b, NARROWEST)

    def _one_sided(self):
        """Return the thresholds that have all items on the same side."""
        names = self.sums.indexes["statistic"]
        names = [name for name in names if name.startswith(("above ", "from "))]
        number = self.sum_of("items")
        return [name.split()[1] for name in names if self.sum_of(name) in (0.0, number)]

    def moments(self) -> "tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]":
        """Return A, the mean and the central moments 2 to 4 of z, including pseudo-items."""
        total = self.sum_of("items") + 2 * self.pseudo_items  # pseudo-items have z = -1 and z = 1
        with np.errstate(invalid="ignore", divide="ignore"):
            first, second, third, fourth = (
                (self.sum_of(name) + 2 * self.pseudo_items * (power % 2 == 0)) / total
                for power, name in enumerate(_POWERS, 1)
            )
        variance = np.maximum(second - first**2, 0.0)
        cubes = third - 3 * first * second + 2 * first**3
        fourths = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
        return total, first, variance, cubes, np.maximum(fourths, variance**2)

    def _mean_of_items(self, mean, sd, skewness, excess):
        """Return the distribution of a mean, given moments of the mean of z."""
        sd = np.maximum(sd / 2, NARROWEST)
        mean = np.clip((1 + mean) / 2, NARROWEST, 1 - NARROWEST)
        support = self.sums.attrs["support"]
        return CornishFisherBeta(mean, sd, skewness, excess, support=support, accurate_tails=True)

    def rate_of_next(self, measure: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the beta parameters of a proportion of the next items, or None for a mean."""
        return self.share_parameters(measure.form) if measure.form.kind == "share" else None

    def value_of_next(self, measure: Any, n: np.ndarray) -> CornishFisherBeta:
        """Return the distribution of the mean of n further items."""
        return self._mean_of_items(*mean_of_next_items(*self.moments(), n))

    def atoms_of_next(self, measure: Any, n: np.ndarray) -> list[np.ndarray]:
        """Return the probabilities that all n further items are at the low or the high end."""
        numbers = (self.sum_of(name) + self.pseudo_items for name in _AT_ENDS)
        return [all_of_next(number, self.moments()[0], n) for number in numbers]

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the sample value, (...)."""
        self.resolve_estimand(of)
        form: OfScores = measure.form  # type: ignore[attr-defined]
        with np.errstate(invalid="ignore", divide="ignore"):
            if form.kind == "share":
                return self.sum_of(_counted(form)) / self.sum_of("items")
            low, high = self.sums.attrs["support"]
            return (low + high + (high - low) * self.sum_of("z") / self.sum_of("items")) / 2

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return cautions about the latest batches."""
        latest = SummedItemScores(self.sums[(-1,) * (self.sums.ndim - 1)])
        number, constant = float(latest.sum_of("items")), latest.moments()[2] < NARROWEST
        sentences = []
        if not self.bounded and (number < _FEW_ITEMS or constant):
            what = (
                "All items have the same score"
                if constant
                else f"There are only {number:.4g} items"
            )
            sentences.append(
                f"{what}, and the range of the scores is unknown. Intervals are too short, "
                "because they ignore scores of unobserved items. Pass range= to "
                "from_item_scores if the scale has ends."
            )
        if self.bounded and number < FEWEST_ITEMS:
            sentences.append(
                f"With only {number:.4g} items, bounds are imprecise, and the rules batch, "
                "reference and floor do not apply."
            )
        if not self.pseudo_items and (marks := latest._one_sided()):
            sentences.append(
                f"All items are on one side of the mark {', '.join(marks)}, and there are no "
                "pseudo-items, so the data contain no information on the other side."
            )
        if repeated := float(latest.sum_of("repeated")):
            sentences.append(
                f"{100 * repeated / number:.0f}% of the current items were also scored in an "
                "earlier batch. They count as new items, so intervals over several batches are "
                "too short for the population of items, and the rule batch is slow. Compare "
                "scores of the same items with bcm.compare."
            )
        return sentences


def mean_of_next_items(
    total: np.ndarray,
    mean: np.ndarray,
    second: np.ndarray,
    third: np.ndarray,
    fourth: np.ndarray,
    n: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """
    Return the mean, sd, skewness and excess kurtosis of the mean of n further items.

    The items are drawn from a Dirichlet process, that is, from Polya's urn. An item repeats an
    earlier one with the probabilities of the urn. With x centred, for different items of a batch,

        E x_1 x_2      = mu_2 / (A + 1),              E x_1**2 x_2 = mu_3 / (A + 1),
        E x_1 x_2 x_3  = 2 mu_3 / ((A + 1)(A + 2)),   E x_1**3 x_2 = mu_4 / (A + 1),
        E x_1**2 x_2**2   = (A mu_2**2 + mu_4) / (A + 1),
        E x_1**2 x_2 x_3  = (A mu_2**2 + 2 mu_4) / ((A + 1)(A + 2)),
        E x_1 x_2 x_3 x_4 = (3 A mu_2**2 + 6 mu_4) / ((A + 1)(A + 2)(A + 3)),

    and each moment of the sum is a sum of these expectations, multiplied by their numbers of terms.

    Examples
    --------
    >>> binary = [0.25, 0.0, 0.0625]  # moments of 0 and 1, alike probable
    >>> mean, sd, _, _ = mean_of_next_items(2.0, 0.5, *binary, 10.0)  # 0 ... 10 of 10 alike
    >>> float(sd**2 * 100)
    10.0
    """
    pairs = n * (n - 1)
    triples, fours = pairs * (n - 2), pairs * (n - 2) * (n - 3)
    two = total + 1
    three, four = two * (total + 2), two * (total + 2) * (total + 3)
    squares = total * second**2
    variance = (n + pairs / two) * second
    cubes = (n + 3 * pairs / two + 2 * triples / three) * third
    fourths = (n + 4 * pairs / two) * fourth + 3 * pairs * (squares + fourth) / two
    fourths += 6 * triples * (squares + 2 * fourth) / three
    fourths += fours * (3 * squares + 6 * fourth) / four
    with np.errstate(invalid="ignore", divide="ignore"):
        return standardized(mean, variance / n**2, cubes / n**3, fourths / n**4)


def all_of_next(number: np.ndarray, total: np.ndarray, n: np.ndarray) -> np.ndarray:
    """
    Return the probability that all n items drawn from a Dirichlet process are of one kind.

    Parameters
    ----------
    number, total : ndarray
        Number of observed items of this kind and of all kinds, both including pseudo-items.
    n : ndarray
        Number of further items.

    Examples
    --------
    >>> float(all_of_next(1.0, 2.0, 3.0).round(3))  # uniform: 0 ... 3 of 3
    0.25
    """
    some = np.maximum(number, NARROWEST)
    gains = [special.gammaln(weight + n) - special.gammaln(weight) for weight in (some, total)]
    return np.exp(gains[0] - gains[1])
