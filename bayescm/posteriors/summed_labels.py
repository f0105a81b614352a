r"""
The posterior of multilabel measures from sums over the examples of batches.

It is the posterior of `bayescm.posteriors.multilabel`, computed for many batches at once. The sums
have dims (..., statistic). Most measures are ratios of sums over the examples i,

    m  =  sum_i p_i / sum_i q_i.

- Micro averages: p and q are sums of the cells tp, fn, fp and tn over all labels. For ``f1_micro``,
  p = 2 tp and q = 2 tp + fn + fp.
- Measures of one label, such as ``f1[cat]``: p and q are sums of the cells of this label.
- Means over examples, such as ``f1_samples``, ``subset_accuracy`` and ``hamming_loss``: p is the
  value of an example and q = 1. If the value is 0/0, q = 0 and the example is left out.

The proportions g of the examples in the population have the distribution of the Bayesian bootstrap.
The pseudo-examples are as in `bayescm.posteriors.multilabel`: by default, half an example in each
cell or, for means over examples, half an example at each end of the range. Then

    P(m <= x)  =  P(sum_i g_i u_i(x) <= 0),        u_i(x) = p_i - x q_i.

The distribution function of a ratio at x is therefore the distribution function of the mean of a
Dirichlet process at 0. For a batch of n further examples, the mean of n draws from its urn is used
(`bayescm.posteriors.summed_item_scores`). The four moments of u(x) follow from the sums of
p**a q**b over the examples, with a + b <= 4.

Changes are detected in the distribution of the number of wrong labels per example.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescm.distributions.base import Distribution
from bayescm.distributions.beta import Beta
from bayescm.distributions.moments import CornishFisherBeta, mean_of_dirichlet_process
from bayescm.distributions.transformed_normal import TransformedNormal
from bayescm.evidence.sums_of_items import (
    cut_points,
    in_parts,
    number_of_items,
    part,
    statistic_of,
)
from bayescm.measures import example_cells
from bayescm.measures.catalogue import resolve
from bayescm.measures.labelled import of_variable
from bayescm.measures.measure import Measure, OverExamples, OverLabels, Overlap, Proportion
from bayescm.posteriors.summed_item_scores import (
    FEWEST_ITEMS,
    NARROWEST,
    SummedItems,
    all_of_next,
    mean_of_next_items,
)
from bayescm.validate import fail

_CELLS = ("tp", "fn", "fp", "tn")
_POWERS = tuple((a, b) for a in range(5) for b in range(5 - a))  # p**a q**b
_MOST_STEPS = 60  # largest number of iterations in the search for a quantile
_SETTLED = 1e-10  # the search ends at a shorter step


# Measures, and their sums over the examples of a batch


def monitored_measures(measures: Any, like: xr.DataArray) -> list[Measure]:
    """
    Resolve the requested measures of multilabel examples or item counts.

    Raises
    ------
    ValueError
        If a measure is not a ratio of sums over the examples.
    """
    labels = labels_of(like)
    resolved = of_variable(measures, "example_cells")
    for measure in resolved:
        if labels:
            example_cells.bound(measure, labels)  # raises an error if there is no such label
        of_each = isinstance(measure.form, OverLabels) and measure.form.how == "each"
        of_several = of_each and len(measure.form.labels) != 1 and len(labels) > 0
        is_ratio = _ratio_of(measure) is not None and not of_several
        if not is_ratio and not isinstance(measure.form, OverExamples):
            todo = "for one label, write f1[cat]; or use bcm.summary(monitor.multilabel(), ...)"
            if not labels:
                todo = "use bcm.summary(monitor.item_counts(), ...)"
            allowed = "f1_micro, f1[label], f1_samples, subset_accuracy, hamming_loss and the like"
            raise fail("{} cannot be monitored", measure.__name__, allowed, todo)
    return resolved


def labels_of(like: xr.DataArray) -> list:
    """Return the labels of a batch or of sums. For item counts, the list is empty."""
    if "labels" in like.attrs:
        return like.attrs["labels"]
    return like.indexes["label"].tolist() if "label" in like.dims else []


def _ratio_of(measure):
    """Return the weights of tp, fn, fp and tn in p and in q, (2, 4), or None."""
    form = measure.form
    if not isinstance(form, OverLabels) or form.measure.takes == "curve":
        return None
    if not (form.how == "micro" or (form.how == "each" and len(form.labels) <= 1)):
        return None
    of_one = resolve(form.measure.canonical.removesuffix("_micro")).form
    if isinstance(of_one, Overlap):
        return np.array([[1, 0, 0, 0], [1, of_one.fn_weight, of_one.fp_weight, 0]])
    if not isinstance(of_one, Proportion):
        return None
    right_or_wrong = {"right": "tp+tn", "wrong": "fn+fp"}
    part, rest = (
        np.isin(_CELLS, right_or_wrong.get(names, names).split("+")).astype(float)
        for names in (of_one.part, of_one.rest)
    )
    return np.stack([part, part + rest])


def sums_of_batches(
    batches: Sequence[Any], like: xr.DataArray, measures: Sequence[Measure]
) -> xr.DataArray:
    """
    Return the sums over the examples of each batch that determine its ratios.

    Parameters
    ----------
    batches : sequence of LabelledExamples or CountedItems
    like : DataArray
        Empty batch with the labels.
    measures : sequence of Measure
        Measures, as returned by `monitored_measures`.

    Returns
    -------
    DataArray, dims (step, statistic)
        Sums of each batch. The statistics are:

        - ``items``: the number of examples;
        - ``f1_micro: p**a q**b``: the sums of powers, for each measure;
        - ``f1_micro: p = 0``, ``f1_micro: p = q``: the numbers of examples with these values, for
          each measure;
        - ``part 0``, ...: the number of examples, grouped by the number of wrong labels.

        Two attributes have one value per measure. ``largest`` is the largest q. ``highest`` is the
        largest p, used for means over the examples with unlimited range.
    """
    labels, wrong = labels_of(like), [batch.number_wrong for batch in batches]
    cuts, largest = cut_points(wrong), {measure.__name__: 1.0 for measure in measures}
    highest = {measure.__name__: 1 / max(len(labels), 1) for measure in measures}
    rows = []
    for batch, number in zip(batches, wrong, strict=True):
        row = [float(len(number))]
        for measure in measures:
            p, q = _terms(measure, batch, labels)
            row += [*((p**a * q**b).sum() for a, b in _POWERS), (p == 0).sum(), (p == q).sum()]
            largest[measure.__name__] = max(largest[measure.__name__], q.max(initial=0.0))
            highest[measure.__name__] = max(highest[measure.__name__], p.max(initial=0.0))
        rows.append([*row, *in_parts(number, cuts)])
    names = ["items"]
    for measure in measures:
        names += [_power(measure, a, b) for a, b in _POWERS]
        names += [measure.__name__ + end for end in _AT_ENDS]
    names += map(part, range(len(cuts) + 1))
    sums = np.reshape(np.array(rows, float), (len(batches), len(names)))
    attrs = like.attrs | {"labels": labels, "largest": largest, "highest": highest}
    return xr.DataArray(sums, {"statistic": names}, ["step", "statistic"], "sums", attrs)


def _power(measure, a, b):
    return f"{measure.__name__}: p**{a} q**{b}"


_Q = ": p**0 q**1"
_AT_ENDS = (": p = 0", ": p = q")  # if all examples have such values, the ratio is 0 or 1


def _terms(measure, batch, labels):
    """Return p and q of each example."""
    ratio = _ratio_of(measure)
    chosen = [str(label) in measure.form.labels for label in labels] if ratio is not None else []
    return _p_and_q(measure, ratio, batch.cells(chosen if any(chosen) else None))


def _p_and_q(measure, ratio, cells):
    """Return p and q from the cells tp, fn, fp and tn (4, n) of each example."""
    if ratio is not None:
        return ratio @ cells
    with np.errstate(invalid="ignore", divide="ignore"):
        values = measure.form.formula(*cells)
    defined = ~np.isnan(values)
    return np.where(defined, values, 0.0), defined.astype(float)


# The posterior


class SummedLabels(SummedItems):
    """
    Posterior of ratios over the examples, separate for each leading index of the sums.

    Parameters
    ----------
    sums : DataArray, dims (..., statistic)
        Result of `sums_of_batches`, added up over batches.
    concentration : float, default 0.5
        Number of prior pseudo-examples in each cell.

    Examples
    --------
    >>> from bayescm.evidence.multilabel import LabelledExamples
    >>> rng = np.random.default_rng(1)
    >>> actual = rng.random((50, 3)) < 0.4
    >>> batch = LabelledExamples(actual, actual ^ (rng.random((50, 3)) < 0.1))
    >>> like = xr.DataArray(np.zeros(3), {"label": ["cat", "dog", "fox"]}, ["label"])
    >>> (f1,) = monitored_measures("f1_micro", like)
    >>> posterior = SummedLabels(sums_of_batches([batch], like, [f1]))
    >>> float(posterior.point(f1)[0].round(3)), posterior.distribution(f1).eti(0.95).round(2)
    (0.821, array([[0.74, 0.88]]))
    """

    measured_variable = "example_cells"

    def __init__(self, sums: xr.DataArray, concentration: float = 0.5):
        self.sums = sums
        self.pseudo_examples = concentration

    def bound(self, measure: Any) -> Any:
        """Return a measure, with the labels that it names resolved to labels of the evidence."""
        labels = self.sums.attrs["labels"]
        return example_cells.bound(measure, labels) if labels else measure

    def sum_of(self, measure: Any, a: int, b: int) -> np.ndarray:
        """Return the sum of p**a q**b over the examples, (...)."""
        return statistic_of(self.sums, _power(measure, a, b))

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the sample value, (...)."""
        self.resolve_estimand(of)
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.sum_of(measure, 1, 0) / self.sum_of(measure, 0, 1)

    def _pseudo_points(self, measure):
        """Return p and q of the pseudo-examples, (2, k)."""
        ratio = _ratio_of(measure)
        if ratio is not None:
            return ratio
        low, high = measure.form.ends
        high = self.sums.attrs["highest"][measure.__name__] if high is None else high
        return np.array([[low, high], [1.0, 1.0]])

    def powers(self, measure: Any) -> dict[tuple[int, int], np.ndarray]:
        """Return the sums of p**a q**b, including pseudo-examples, (...)."""
        p, q = self._pseudo_points(measure)
        return {
            (a, b): self.sum_of(measure, a, b) + self.pseudo_examples * (p**a * q**b).sum()
            for a, b in _POWERS
        }

    def exact_distribution(
        self, measure: Any, *, of: str = "parameter", n: Any = None
    ) -> "Beta | RatioOfMeans":
        """Return the distribution of a measure, shape (...). A proportion of one label is beta."""
        form = measure.form
        # Other proportions are not beta variables, because the labels of an example and the objects
        # of an item are dependent.
        of_one_label = isinstance(form, OverLabels) and form.how == "each" and form.labels
        if of_one_label and isinstance(form.measure.form, Proportion):
            powers = self.powers(measure)
            return Beta(powers[1, 0], powers[0, 1] - powers[1, 0])
        return RatioOfMeans(self.powers(measure), self.sums.attrs["largest"][measure.__name__])

    def value_of_next(self, measure: Any, n: np.ndarray) -> "RatioOfMeans":
        """Return the distribution of a measure in n further examples."""
        largest = self.sums.attrs["largest"][measure.__name__]
        return RatioOfMeans(self.powers(measure), largest, n)

    def atoms_of_next(self, measure: Any, n: np.ndarray) -> list[np.ndarray]:
        """Return the probabilities that all n further examples have p = 0, or p = q."""
        p, q = self._pseudo_points(measure)
        atoms, names = [], self.sums.indexes["statistic"]
        for end, is_at_end in zip(_AT_ENDS, (p == 0, p == q), strict=True):
            number = self.sums.values[..., names.get_loc(measure.__name__ + end)]
            number = number + self.pseudo_examples * is_at_end.sum()
            atoms.append(all_of_next(number, self.powers(measure)[0, 0], n))
        return atoms

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return the caution about few examples or labels in the latest batches."""
        latest = self.sums[(-1,) * (self.sums.ndim - 1)]
        number, counted = float(number_of_items(latest)), latest.indexes["statistic"]
        if number < FEWEST_ITEMS:
            return [
                (
                    f"With only {number:.4g} examples, the results depend strongly on the prior, "
                    "bounds are imprecise, and the rules batch, reference and floor do not apply."
                )
            ]
        # The sums of q are the denominators, such as the number of occurrences of a label for its
        # recall.
        names = [
            name.split(":")[0]
            for name in counted[latest.values < FEWEST_ITEMS]
            if name.endswith(_Q)
        ]
        if not names:
            return []
        few = ", ".join(names)
        return [
            (
                f"Fewer than {FEWEST_ITEMS} examples or labels contribute to {few}, so the bounds "
                "of these measures are imprecise."
            )
        ]


@dataclass(frozen=True, eq=False)
class RatioOfMeans(Distribution):
    """
    Ratio of two means of a Dirichlet process, from the moments of p - x q.

    Attributes
    ----------
    powers : mapping from (a, b) to ndarray
        Sums of p**a q**b, including pseudo-examples.
    largest : float
        Largest q of an example, and upper limit of p.
    n : ndarray, optional
        Number of further examples. If given, the result is the distribution of the sample ratio
        in these examples.
    """

    powers: Mapping[tuple[int, int], np.ndarray]
    largest: float
    n: np.ndarray | None = None

    how: ClassVar[str] = "moments"
    support = (0.0, 1.0)
    accurate_tails: ClassVar[bool] = True

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the batch."""
        return np.shape(self.powers[0, 0])

    def take(self, index: Any) -> "RatioOfMeans":
        """Return some members of the flat batch."""
        powers = {key: np.ravel(values)[index] for key, values in self.powers.items()}
        n = None if self.n is None else np.ravel(self.n)[index]
        return RatioOfMeans(powers, self.largest, n)

    def minus(self, other: Distribution) -> TransformedNormal:
        """Return the normal approximation of the difference from an independent ratio."""
        return TransformedNormal(self.mean() - other.mean(), np.hypot(self.sd(), other.sd()))

    @property
    def _mean_of_q(self):
        return self.powers[0, 1] / self.powers[0, 0]

    def _mean_of_u(self, x):
        """Return the distribution of the mean of u(x)."""
        x = np.asarray(x, float) + np.zeros(self.shape)
        total = self.powers[0, 0]
        raw = [
            sum(math.comb(k, b) * (-x) ** b * self.powers[k - b, b] for b in range(k + 1)) / total
            for k in range(5)
        ]
        mean = raw[1]
        second = np.maximum(raw[2] - mean**2, 0.0)
        third = raw[3] - 3 * mean * raw[2] + 2 * mean**3
        fourth = raw[4] - 4 * mean * raw[3] + 6 * mean**2 * raw[2] - 3 * mean**4
        moments = total, mean, second, third, np.maximum(fourth, second**2)
        if self.n is None:
            sums = [np.zeros_like(mean), *(total * moment for moment in moments[2:])]
            law = mean_of_dirichlet_process(total, mean, sums)
        else:
            law = mean_of_next_items(*moments, self.n)
        low, high = -x * self.largest, (1 - x) * self.largest  # limits of u, as 0 <= p <= q
        unit_mean = np.clip((law[0] - low) / self.largest, NARROWEST, 1 - NARROWEST)
        sd = np.maximum(law[1] / self.largest, NARROWEST)
        return CornishFisherBeta(unit_mean, sd, law[2], law[3], support=(low, high))

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability that the ratio is at most x."""
        x = np.asarray(x, float)
        inside = self._mean_of_u(np.clip(x, 0, 1)).cdf(0.0)
        return np.where(x < 0, 0.0, np.where(x >= 1, 1.0, inside))[()]

    def sf(self, x: ArrayLike) -> np.ndarray:
        """Return the probability that the ratio is more than x."""
        x = np.asarray(x, float)
        inside = self._mean_of_u(np.clip(x, 0, 1)).sf(0.0)
        return np.where(x < 0, 1.0, np.where(x >= 1, 0.0, inside))[()]

    def quantile(self, q: ArrayLike) -> np.ndarray:
        """Return the q-quantile: the x at which the q-quantile of the mean of u(x) is 0.

        It is found by Newton's method, with the slope -E q of the mean of u(x).
        """
        q = np.asarray(q, float) + np.zeros(self.shape)
        x = self.mean() + np.zeros(q.shape)
        for _ in range(_MOST_STEPS):
            step = self._mean_of_u(x).quantile(q) / self._mean_of_q
            moved, x = x, np.clip(x + step, 0, 1)
            if not (np.abs(x - moved) > _SETTLED).any():
                break
        return x[()]

    def mean(self) -> np.ndarray:
        """Return the ratio of the expectations, which is the mean up to O(1/n)."""
        return self.powers[1, 0] / self.powers[0, 1]

    def sd(self) -> np.ndarray:
        """Return the standard deviation by the delta method."""
        return self._mean_of_u(self.mean()).sd() / self._mean_of_q

    def error_at(self, x: ArrayLike) -> np.ndarray:
        """Return the estimated error of the approximation at x."""
        return self._mean_of_u(np.clip(x, 0, 1)).error_at(0.0) / self._mean_of_q

    # Highest-density intervals use quantiles, as for other distributions from moments.
    _highest = CornishFisherBeta._highest
