r"""
Item scores batch by batch: what a ledger keeps of them, and the posterior of their means.

A ledger keeps the score of every item. What is known of means over items follows from sums over
the batches, with z a score on the scale from -1 to 1 of its ends:

    n,   sum z,   sum z**2,   sum z**3,   sum z**4,   and how many items are above each mark.

The distribution F of the scores of items is a Dirichlet process, as it is without a monitor
(`bayescm.posteriors.item_scores`): with half a pseudo-item at each known end of the scale, A items
and pseudo-items in all, of mean m and central moments mu_k,

    share of items above a mark   ~  Beta(above, A - above),
    mean of F                     has the mean m and the variance  mu_2 / (A + 1),
    mean of n further items       has the mean m and the variance  mu_2 (A + n) / (n (A + 1)),

and both means have their third and fourth moments in closed form (`mean_of_process`,
`mean_of_batch`), by which they are beta distributions that Cornish and Fisher's expansion corrects.

Restricted to a partition of the scale, a Dirichlet process is a Dirichlet distribution of the
shares of its parts (Ferguson 1973): a change in these is what the rule `change` looks for. The
parts are about quarters and, at the ends, eighths of the items of the first batches (`cut_points`),
with half a pseudo-item in each.

References
----------
Blackwell, D. & MacQueen, J. B. (1973). Ferguson distributions via Polya urn schemes. The Annals of
Statistics 1, 353-355. doi:10.1214/aos/1176342372

Ferguson, T. S. (1973). A Bayesian analysis of some nonparametric problems. The Annals of
Statistics 1, 209-230. doi:10.1214/aos/1176342360
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from bayescm.distributions.beta import Beta
from bayescm.distributions.moments import CornishFisherBeta
from bayescm.evidence.attempts import as_attempts
from bayescm.evidence.item_scores import as_item_scores
from bayescm.measures.item_scores import mean as MEAN
from bayescm.measures.labelled import of_variable
from bayescm.measures.measure import Measure, OfScores
from bayescm.online.encoding import ANSWERS, ATTEMPTS, AnsweredItems, ScoredItems, sizes_of
from bayescm.posteriors.base import LabelTemplate, Posterior
from bayescm.posteriors.item_scores import item_scores
from bayescm.validate import fail

_PSEUDO_ITEMS = 0.5  # at each known end of the scale, as of `posteriors.item_scores`
_POWERS = ("z", "z**2", "z**3", "z**4")
_AT_ENDS = ("at the lowest", "at the highest")
_FIRST = 40  # items, by which the scale is parted
# Where the scale is parted. Of 2, 3, 4 and 6 parts, with 1 / K or half a pseudo-item each these see
# one item in seven fall to the worst score, or all fall by a quarter of a standard deviation,
# soonest: after 4 to 13 batches of 50, where two parts take 8 to 39 (medians of 60 streams of each
# of three populations, without one in which the worst score is also the commonest).
_SHARES = (0.125, 0.25, 0.5, 0.75, 0.875)
PSEUDO_ITEMS_OF_A_PART = 0.5
_NARROWEST = 1e-9  # standard deviation of a mean, in parts of the scale: of scores that are equal


# What the ledger keeps


def as_batch(evidence: xr.Dataset, earlier: xr.DataArray | None) -> xr.DataArray:
    """
    Return a batch of item scores as the ledger keeps it, dims (item).

    Parameters
    ----------
    evidence : Dataset
        As `bayescm.from_item_scores` returns it, of one system.
    earlier : DataArray or None
        No items on the scale of the batches before, which is also that of a batch without a range.

    Raises
    ------
    ValueError
        If there are several systems, slices, clusters, weights, missing scores or a judge.
    """
    evidence = as_item_scores(evidence)
    scores = evidence["item_score"]
    check_one_system(evidence)
    of_items = [str(name) for name, column in evidence.variables.items() if "item" in column.dims]
    further = sorted({*of_items} - {"item", "item_score"})
    if further:
        todo = (
            "leave them out; add slices by names of their own, and of items in clusters the mean "
            "score of each cluster"
        )
        what = "a batch is a score for each item: no slices, clusters, weights or judge"
        raise fail(what, further, "none of these", todo)
    if scores.isnull().any():
        raise fail("scores are missing", int(scores.isnull().sum()), "all", "leave these items out")
    ends = {name: evidence[name].item() if name in evidence else None for name in _ENDS}
    if earlier is not None and "lowest" in earlier.attrs and ends["lowest"] is None:
        ends = {name: earlier.attrs[name] for name in _ENDS}
        if ends["lowest"] is not None:
            as_item_scores(evidence.assign_coords(ends))  # raises where one lies outside
    is_unnamed = scores.indexes["item"].equals(pd.RangeIndex(scores.sizes["item"]))
    values = scores.values.astype(float)
    # In one order, so that the same batch again is the same text.
    order = np.argsort(values if is_unnamed else scores["item"].values.astype(str), kind="stable")
    items = np.arange(len(values)) if is_unnamed else scores["item"].values[order]
    facts = ends | {"lower_is_better": bool(evidence["lower_is_better"])}
    return xr.DataArray(values[order], {"item": items}, ["item"], "item_score", facts)


_ENDS = ("lowest", "highest")


def check_one_system(evidence: xr.Dataset) -> None:
    """Raise an error if a batch has several systems."""
    if "classifier" in evidence.dims:
        todo = "add each under its own name: evidence.sel(classifier='a', drop=True)"
        names = evidence["classifier"].values.tolist()
        raise fail("a batch has one system", names, "one", todo)


def as_attempts_batch(evidence: xr.Dataset, concentration: Any) -> xr.DataArray:
    """
    Return a batch of attempts as the ledger stores it, dims (item, answers).

    Raises
    ------
    ValueError
        If there are several systems, slices, groups or answers in text, or the concentration is
        invalid.
    """
    evidence = as_attempts(evidence)
    check_one_system(evidence)
    columns = {str(name) for name, column in evidence.variables.items() if "item" in column.dims}
    if further := sorted(columns - {"item", "correct"}):
        todo = "leave them out; add slices under names of their own"
        what = "a batch has right and wrong answers only"
        raise fail(what, further, "no slices, groups or answers", todo)
    check_pseudo_items(concentration, _OF_ATTEMPTS)
    correct = evidence["correct"].transpose("item", "attempt").values
    counts = np.stack([np.nansum(correct, axis=1), (~np.isnan(correct)).sum(axis=1)], axis=1)
    names = evidence.indexes["item"]
    unnamed = names.equals(pd.RangeIndex(len(names)))
    # In one order, so that the same batch has the same text.
    order = np.lexsort(counts.T[::-1]) if unnamed else np.argsort(names.astype(str), kind="stable")
    items = np.arange(len(names)) if unnamed else names[order]
    coords = {"item": items, "answers": list(ANSWERS)}
    return xr.DataArray(counts[order], coords, ["item", "answers"], "attempts", _OF_ATTEMPTS)


# What all batches of attempts share: their scores are the shares of right answers.
_OF_ATTEMPTS = {
    "lowest": 0.0,
    "highest": 1.0,
    "lower_is_better": False,
    "unit_of_scores": ATTEMPTS,
}


def attempts_of(batches: Sequence[AnsweredItems], coords: Mapping[str, np.ndarray]) -> xr.Dataset:
    """Return the items of batches as evidence, with coords of every batch at each of them."""
    sizes = [len(batch.right) for batch in batches]
    right, made = (np.concatenate([getattr(batch, name) for batch in batches]) for name in ANSWERS)
    place = np.arange(int(made.max()))
    correct = np.where(place < right[:, None], 1.0, np.where(place < made[:, None], 0.0, np.nan))
    further = {name: ("item", np.repeat(values, sizes)) for name, values in coords.items()}
    coords_of_items = {"item": item_names(batches, sum(sizes)), **further}
    return xr.Dataset({"correct": (("item", "attempt"), correct)}, coords_of_items)


def item_names(batches: Sequence[Any], number: int) -> Any:
    """Return the names of the items of batches, numbered if a batch has none."""
    if all(batch.item is not None for batch in batches):
        return [name for batch in batches for name in batch.item]
    return np.arange(number)


def evidence_of(
    batches: Sequence[ScoredItems], facts: Mapping[str, Any], coords: Mapping[str, np.ndarray]
) -> xr.Dataset:
    """
    Return the items of batches as evidence.

    Parameters
    ----------
    batches : sequence of ScoredItems
    facts : mapping
        ``lowest``, ``highest`` and ``lower_is_better``.
    coords : mapping of str to ndarray
        Of every batch; of the items here.

    Returns
    -------
    Dataset, dims (item)
    """
    sizes = [len(batch.score) for batch in batches]
    scores = np.concatenate([np.zeros(0), *(batch.score for batch in batches)])
    evidence = xr.Dataset({"item_score": ("item", scores)})
    evidence.coords["item"] = item_names(batches, len(scores))
    further = {name: ("item", np.repeat(values, sizes)) for name, values in coords.items()}
    of_scale = (*_ENDS, "lower_is_better")
    scalars = {name: facts[name] for name in of_scale if facts.get(name) is not None}
    return evidence.assign_coords(further | scalars)


def check_pseudo_items(concentration: Any, facts: Mapping[str, Any]) -> None:
    """Raise where a concentration is none of item scores, or where there are no ends to put it."""
    if concentration is not None:
        ends = [facts["lowest"], facts["highest"]] if facts["lowest"] is not None else [0.0, 1.0]
        batch = ScoredItems(None, np.array(ends))
        item_scores(evidence_of([batch], facts, {}), concentration=concentration)


# The sums of batches


def sums_of_batches(
    batches: Sequence[Any],
    facts: Mapping[str, Any],
    measures: Sequence[Measure],
) -> xr.DataArray:
    """
    Return the sums over the items of each batch by which its means are known.

    Parameters
    ----------
    batches : sequence of ScoredItems, or of AnsweredItems
    facts : mapping
        ``lowest``, ``highest`` and ``lower_is_better``.
    measures : sequence of Measure

    Returns
    -------
    DataArray, dims (step, statistic)
        ``items``, the sums of the powers of z, how many items are at each end, ``above 4`` and the
        like for each mark of the measures, ``repeated``, how many items an earlier batch has too,
        by their names, and ``part 0`` ... for the parts of the scale. Attributes: the facts, and
        ``support``, the ends of the scale or else the least and the largest score of all batches.
    """
    low, high = facts["lowest"], facts["highest"]
    if low is None:
        scores = np.concatenate([np.zeros(0), *(batch.score for batch in batches)])
        low, high = (scores.min(), scores.max()) if len(scores) else (-1.0, 1.0)
        if low == high:
            low, high = low - 0.5, high + 0.5
    forms: list[Any] = [measure.form for measure in measures]
    marks = [form.at for form in forms if form.kind == "share"]
    cuts, rows = cut_points(batches), []
    for batch, repeated in zip(batches, repeated_items(batches), strict=True):
        z = (2 * batch.score - low - high) / (high - low)
        of_powers = [(z**power).sum() for power in range(1 + len(_POWERS))]
        of_marks = [(batch.score > mark).sum() for mark in marks]
        parts = np.bincount(np.searchsorted(cuts, batch.score, "right"), minlength=len(cuts) + 1)
        at_ends = [(batch.score == end).sum() for end in (low, high)]
        rows.append([*of_powers, *at_ends, *of_marks, repeated, *parts])
    names = [
        "items",
        *_POWERS,
        *_AT_ENDS,
        *map(above, marks),
        "repeated",
        *map(part, range(len(cuts) + 1)),
    ]
    sums = np.reshape(np.array(rows, float), (len(batches), len(names)))
    attrs = {**facts, "support": (float(low), float(high))}
    return xr.DataArray(sums, {"statistic": names}, ["step", "statistic"], "sums", attrs)


def repeated_items(batches: Sequence[Any]) -> list[int]:
    """Return how many items of each batch an earlier one of these has too, by their names."""
    numbers, scored = [], set[Any]()
    for batch in batches:
        numbers.append(sum(name in scored for name in batch.item or ()))
        scored.update(batch.item or ())
    return numbers


def above(mark: float) -> str:
    """Return the name of the number of items above a mark."""
    return f"above {mark!r}"


def part(number: Any) -> str:
    """Return the name of the number of items in a part of the scale."""
    return f"part {number}"


def parts_of(sums: xr.DataArray) -> np.ndarray:
    """Return how many items, or examples, are in each part of a scale, (..., 1, parts)."""
    columns = sums.indexes["statistic"].str.startswith(part(""))
    return sums.values[..., None, columns]


def measures_of_attempts(measures: Any) -> list[Measure]:
    """
    Return the measures of attempts that are monitored: the mean, which is also pass@1.

    Raises
    ------
    ValueError
        If one is another measure.
    """
    resolved = of_variable("mean" if measures is None else measures, "attempts")
    for measure in resolved:
        if measure.canonical not in ("mean", "pass_at(1)"):
            todo = f"use bcm.summary(monitor.attempts(), {measure.__name__!r})"
            raise fail("not monitored", measure.__name__, "mean or pass@1", todo)
    return [MEAN.called(measure.__name__) for measure in resolved]


def monitored_measures(measures: Any) -> list[Measure]:
    """
    Return the measures of item scores that are monitored, by default the mean.

    Raises
    ------
    ValueError
        If one is no mean over the items.
    """
    resolved = of_variable("mean" if measures is None else measures, "item_scores")
    for measure in resolved:
        if not isinstance(measure.form, OfScores) or measure.form.kind not in ("mean", "share"):
            todo = (
                "a quantile above a mark is a share: the median is above .5 where share_above(0.5) "
                "is above .5; or ask bcm.summary(monitor.item_scores(), ...)"
            )
            raise fail("not monitored", measure.__name__, "mean or share_above(mark)", todo)
    return resolved


# The posterior


def statistic_of(sums: xr.DataArray, statistic: str) -> np.ndarray:
    """Return one of the sums, (...)."""
    return sums.values[..., sums.indexes["statistic"].get_loc(statistic)]


class SummedItems(Posterior):
    """A posterior that follows from sums over the items of batches, dims (..., statistic)."""

    sums: xr.DataArray

    @cached_property
    def template(self) -> LabelTemplate:
        """The dims and coords that remain of the evidence."""
        dims, coords = self.sums.dims[:-1], self.sums.coords.variables
        remaining = {name: coord for name, coord in coords.items() if {*coord.dims} <= {*dims}}
        return LabelTemplate(remaining, dims, self.sums.shape[:-1])

    @property
    def batch(self) -> xr.DataArray:
        """The number of items of every member of the batch."""
        return self.template.to_dataarray(sizes_of(self.sums).values)


class SummedItemScores(SummedItems):
    """
    The posterior of means over items, each leading index of the sums by itself.

    Parameters
    ----------
    sums : DataArray, dims (..., statistic)
        As `sums_of_batches` returns them, added up over batches.
    concentration : float, optional
        Prior pseudo-items at each end of the scale, where it has ends; by default one half.

    Examples
    --------
    >>> from bayescm.measures import resolve
    >>> batch = ScoredItems(None, np.array([0.2, 0.7, 0.9, 1.0]))
    >>> facts = {"lowest": 0.0, "highest": 1.0, "lower_is_better": False}
    >>> mean = resolve("mean", "item_scores")
    >>> posterior = SummedItemScores(sums_of_batches([batch], facts, [mean]))
    >>> posterior.distribution(mean).eti(0.95).round(2)
    array([[0.34, 0.9 ]])
    """

    measured_variable = "item_scores"
    estimands = {"parameter": "share"}  # noqa: RUF012
    has_model = cell_prior = False
    how = "moments"

    def __init__(self, sums: xr.DataArray, concentration: float | None = None):
        self.sums = sums
        self.bounded = sums.attrs["lowest"] is not None
        default = _PSEUDO_ITEMS if concentration is None else float(concentration)
        self.pseudo_items = default if self.bounded else 0.0

    def sum_of(self, statistic: str) -> np.ndarray:
        """Return one of the sums, (...)."""
        return statistic_of(self.sums, statistic)

    def bound(self, measure: Any) -> Any:
        """Return a measure with the range of these scores, and what is better of them."""
        return self._of_one.bound(measure)

    @cached_property
    def _of_one(self):
        """The posterior of one item on this scale, which knows what is better of it."""
        low, high = self.sums.attrs["support"]
        facts = {name: self.sums.attrs[name] for name in (*_ENDS, "lower_is_better")}
        return item_scores(evidence_of([ScoredItems(None, np.array([low, high]))], facts, {}))

    def exact_distribution(
        self, measure: Any, *, of: str = "parameter", n: Any = None
    ) -> "Beta | MeanOfItems":
        """Return the distribution of a share or of a mean, shape (...)."""
        if measure.form.kind == "share":
            return Beta(*self.share_parameters(measure.form.at))
        return self._mean_of_items(*mean_of_process(*self.moments()))

    def share_parameters(self, mark: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the parameters of the beta distribution of the share of items above a mark."""
        hits, number = self.sum_of(above(mark)), self.sum_of("items")
        ends = np.array(self.sums.attrs["support"])
        a = hits + self.pseudo_items * (ends > mark).sum()
        b = number - hits + self.pseudo_items * (ends <= mark).sum()
        if self.bounded and not ends[0] <= mark < ends[1]:
            what, todo = "all scores of the range are on one side of the mark", "correct the mark"
            raise fail(what, mark, "a mark inside the range ({:g}, {:g})".format(*ends), todo)
        # Without pseudo-items all may be on one side, which is then certain.
        return np.maximum(a, _NARROWEST), np.maximum(b, _NARROWEST)

    def _one_sided(self):
        """Return the marks that all items are above, or none is."""
        names = [name for name in self.sums.indexes["statistic"] if name.startswith("above ")]
        number = self.sum_of("items")
        return [name.removeprefix("above ") for name in names if self.sum_of(name) in (0.0, number)]

    def moments(self) -> "tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]":
        """Return A, and the mean and the central moments 2, 3, 4 of z, pseudo-items among them."""
        total = (
            self.sum_of("items") + 2 * self.pseudo_items
        )  # the ends of the scale are at -1 and 1
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
        """Return the distribution of a mean of z on the scale of the scores."""
        sd = np.maximum(sd / 2, _NARROWEST)
        mean = np.clip((1 + mean) / 2, _NARROWEST, 1 - _NARROWEST)
        return MeanOfItems(mean, sd, skewness, excess, support=self.sums.attrs["support"])

    def value_of_next(self, measure: Any, n: np.ndarray) -> "MeanOfItems":
        """Return the distribution of the mean of n further items."""
        return self._mean_of_items(*mean_of_batch(*self.moments(), n))

    def atoms_of_next(self, measure: Any, n: np.ndarray) -> list[np.ndarray]:
        """Return the probability that all n further items are at the one end, or at the other."""
        numbers = (self.sum_of(name) + self.pseudo_items for name in _AT_ENDS)
        return [all_of_next(number, self.moments()[0], n) for number in numbers]

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the value in the sample, (...)."""
        self.resolve_estimand(of)
        form: OfScores = measure.form  # type: ignore[attr-defined]
        with np.errstate(invalid="ignore", divide="ignore"):
            if form.kind == "share":
                return self.sum_of(above(form.at)) / self.sum_of("items")
            low, high = self.sums.attrs["support"]
            return (low + high + (high - low) * self.sum_of("z") / self.sum_of("items")) / 2

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return what the latest evidence makes doubtful."""
        latest = SummedItemScores(self.sums[(-1,) * (self.sums.ndim - 1)])
        number, constant = float(latest.sum_of("items")), latest.moments()[2] < _NARROWEST
        sentences = []
        if not self.bounded and (number < _FEW_ITEMS or constant):
            what = "All items have the same score" if constant else f"{number:.4g} items are few"
            sentences.append(
                f"{what}, and the ends of the scale are not known: what items may do that were not "
                "seen is left out, and intervals are too short. Pass range= to from_item_scores "
                "where the scale has ends."
            )
        if self.bounded and number < _FEW_IN_ALL:
            sentences.append(
                f"{number:.4g} items are few: bounds are rough, and the rules batch, reference and "
                "floor do not judge them."
            )
        if not self.pseudo_items and (marks := latest._one_sided()):
            sentences.append(
                f"All items are on one side of the mark {', '.join(marks)}, and there are no "
                "pseudo-items: of what is on the other side nothing is known."
            )
        if repeated := float(latest.sum_of("repeated")):
            sentences.append(
                f"{100 * repeated / number:.0f}% of the items in force were scored in an earlier "
                "batch too: they count as new ones, so that intervals of several batches are too "
                "short for all items like these, and the rule batch is slow. Compare scores of the "
                "same items item by item, with bcm.compare."
            )
        return sentences


class MeanOfItems(CornishFisherBeta):
    """
    A mean of scores by its moments, whose tails alarms are read off.

    How often samples of a mean at the limit have a tail below 1e-2 and 1e-3 is in
    docs/results/item_score_alarms_tails.csv.
    """

    def minus(self, other: "MeanOfItems") -> "MeanOfItems":
        """Return the distribution of the difference from another sample, by its cumulants."""
        low, high = self.support
        first, second = self.unit_sd**2, other.unit_sd**2
        variance = first + second
        cubes = self.skew * first**1.5 - other.skew * second**1.5
        fourths = self.excess * first**2 + other.excess * second**2
        mean = (self.unit_mean - other.unit_mean + 1) / 2
        sd, skew, excess = np.sqrt(variance) / 2, cubes / variance**1.5, fourths / variance**2
        return MeanOfItems(mean, sd, skew, excess, support=(low - high, high - low))


_FEW_IN_ALL = 20  # of a scale with ends, fewer of which the rules do not judge
_FEW_ITEMS = 30  # of a scale without ends, as of `posteriors.item_scores`


def mean_of_process(
    total: np.ndarray, mean: np.ndarray, second: np.ndarray, third: np.ndarray, fourth: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """
    Return mean, sd, skewness and excess kurtosis of the mean of a Dirichlet process.

    Parameters
    ----------
    total : ndarray
        A, its concentration.
    mean, second, third, fourth : ndarray
        The mean and the central moments of its base.
    """
    variance = second / (total + 1)
    cubes = 2 * third / ((total + 1) * (total + 2))
    fourths = 3 * (total * second**2 + 2 * fourth) / ((total + 1) * (total + 2) * (total + 3))
    return _standardized(mean, variance, cubes, fourths)


def mean_of_batch(
    total: np.ndarray,
    mean: np.ndarray,
    second: np.ndarray,
    third: np.ndarray,
    fourth: np.ndarray,
    n: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """
    Return the same of the mean of n items drawn from a Dirichlet process: Polya's urn.

    An item repeats an earlier one with the probabilities of the urn. With x centred, for different
    items of a batch,

        E x_1 x_2      = mu_2 / (A + 1),              E x_1**2 x_2 = mu_3 / (A + 1),
        E x_1 x_2 x_3  = 2 mu_3 / ((A + 1)(A + 2)),   E x_1**3 x_2 = mu_4 / (A + 1),
        E x_1**2 x_2**2   = (A mu_2**2 + mu_4) / (A + 1),
        E x_1**2 x_2 x_3  = (A mu_2**2 + 2 mu_4) / ((A + 1)(A + 2)),
        E x_1 x_2 x_3 x_4 = (3 A mu_2**2 + 6 mu_4) / ((A + 1)(A + 2)(A + 3)),

    and each moment of the sum is the number of its terms times these.

    Examples
    --------
    >>> binary = [0.25, 0.0, 0.0625]  # moments of 0 and 1, alike probable
    >>> mean, sd, _, _ = mean_of_batch(2.0, 0.5, *binary, 10.0)  # uniform rates: 0 ... 10 of 10
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
        return _standardized(mean, variance / n**2, cubes / n**3, fourths / n**4)


def all_of_next(number: np.ndarray, total: np.ndarray, n: np.ndarray) -> np.ndarray:
    """
    Return the probability that all n items drawn from a Dirichlet process are of some sort.

    Parameters
    ----------
    number, total : ndarray
        Of the items so far, pseudo-items among them, those of this sort and all.
    n : ndarray

    Examples
    --------
    >>> float(all_of_next(1.0, 2.0, 3.0).round(3))  # uniform: 0 ... 3 of 3
    0.25
    """
    some = np.maximum(number, _NARROWEST)
    gains = [special.gammaln(weight + n) - special.gammaln(weight) for weight in (some, total)]
    return np.exp(gains[0] - gains[1])


def _standardized(mean, variance, cubes, fourths):
    with np.errstate(invalid="ignore", divide="ignore"):
        skewness, excess = cubes / variance**1.5, fourths / variance**2 - 3
    # Of scores that are all equal nothing varies.
    skewness, excess = (np.where(variance > 0, value, 0.0) for value in (skewness, excess))
    return mean, np.sqrt(variance), skewness, excess


# The parts of the scale in which a change is looked for


def cut_points(batches: Sequence[Any]) -> np.ndarray:
    """
    Return where the scale is parted, by the items of the first batches.

    A cut lies between two scores that occur among the first 40 items or more, where the share of
    items below is nearest to 1/8, 1/4, 1/2, 3/4 and 7/8. Where all are equal, what is below and
    what is above them are parts.
    """
    if not batches:
        return np.zeros(0)
    number = np.cumsum([len(batch.score) for batch in batches])
    n_batches = int(np.searchsorted(number, _FIRST)) + 1
    scores = np.sort(np.concatenate([batch.score for batch in batches[:n_batches]]))
    values, first = np.unique(scores, return_index=True)
    if len(values) == 1:
        return np.array([values[0], np.nextafter(values[0], np.inf)])
    share_below = first[1:] / len(scores)
    nearest = {int(np.abs(share_below - share).argmin()) for share in _SHARES}
    return np.array([(values[index] + values[index + 1]) / 2 for index in sorted(nearest)])
