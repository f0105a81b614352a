r"""
The direct posterior of `bayescm.models.item_scores`: a number for each of many items.

The distribution F of scores in the population of items is a Dirichlet process. With
:math:`w_i` items of score :math:`s_i` and e pseudo-items at each end of the range, A of them
in all, the posterior of every mean :math:`\int f \, dF` is

.. math:: \frac{\sum_i g_i f(s_i)}{\sum_i g_i}, \qquad g_i \sim \mathrm{Gamma}(w_i),

the Bayesian bootstrap (`bayescm.inference.bayesian_bootstrap`) with the pseudo-items among the
items. They stand for the scores that were not seen: of twenty items with nineteen equal ones, the
mean would be far too certain without them. e is one half, which of scores of 0 and 1 is Jeffreys'
prior. The share of items above a mark is thus a beta variable. The mean score has the central
moments, with :math:`\mu_k` those of the items and pseudo-items (Yamato 1984),

.. math::

    \frac{\mu_2}{A + 1}, \qquad \frac{2 \mu_3}{(A + 1)(A + 2)}, \qquad
    \frac{3 A \mu_2^2 + 6 \mu_4}{(A + 1)(A + 2)(A + 3)},

and where these say enough of it (`bayescm.distributions.moments`) nothing is drawn.

Systems that answered the same items share the weights of items and pseudo-items. They also share
two pseudo-items in which they disagree (`bayescm.inference.bayesian_bootstrap`). Without these, the
difference of two systems that differ in few items would be far too certain. All measures of all
systems come from this joint distribution. The mean of one system, and the difference of two means,
have known moments again: with :math:`x` the value in such a pseudo-item, which is random, and
centred at the mean,

.. math::

    \mathrm{E}\, m^k = \frac{k!}{A (A + 1) \cdots (A + k - 1)} \, [t^k]
    \prod_i (1 - t s_i)^{-w_i} \; \bigl(\mathrm{E} (1 - t x)^{-e}\bigr)^2 .

The share of items above a mark is the mean of indicators of 0 and 1, and disagrees as these do. If
a system has no score of some items, all systems are compared on the items that all have.

Items that come in clusters are weighed by whole clusters, with gamma variates of such a shape that
the mean of C clusters varies as a t distribution with C - 1 degrees of freedom does. For the
observed clusters (``of="finite"``) items are weighed inside each cluster, whose share of the items
stays, and there are no pseudo-items. Importance weights multiply the gamma variates.

Where a judge has scored all N items and people n of them, chosen at random, the mean is that of the
regression estimator in every draw of the weights, with h and j the scores of people and judge, L
the items that people scored, and b the slope of h on j in L:

.. math:: \bar h_L + b \, (\bar j - \bar j_L).

The weights then have the shape 1 - 4 / n of a t distribution. However bad the judge is, the answer
is about that of people's scores alone, and the better the narrower (Angelopoulos et al. 2023).

References
----------
Ferguson, T. S. (1973). A Bayesian analysis of some nonparametric problems. The Annals of
Statistics 1, 209-230. doi:10.1214/aos/1176342360

Angelopoulos, A. N., Duchi, J. C. & Zrnic, T. (2023). PPI++: efficient prediction-powered inference.
arXiv:2311.01453

Yamato, H. (1984). Characteristic functions of means of distributions chosen from a Dirichlet
process. The Annals of Probability 12, 262-267. doi:10.1214/aop/1176993389
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import xarray as xr

from bayescm.distributions import dirichlet
from bayescm.distributions.base import Distribution
from bayescm.distributions.beta import Beta
from bayescm.distributions.empirical import Empirical
from bayescm.distributions.moments import (
    CornishFisherBeta,
    MomentsOrDraws,
    mean_of_dirichlet_process,
)
from bayescm.evidence.clusters_and_slices import (
    clusters_of,
    items_of_slices,
    slice_dims,
)
from bayescm.evidence.item_scores import as_item_scores
from bayescm.inference import bayesian_bootstrap
from bayescm.inference.bayesian_bootstrap import Disagreement
from bayescm.measures.item_scores import ScoreDistribution, on_scale
from bayescm.measures.measure import OfScores
from bayescm.posteriors.base import DRAWS
from bayescm.posteriors.sliced_items import SlicedItems
from bayescm.posteriors.summed_item_scores import SummedItemScores
from bayescm.validate import fail

_GAMMAS = 2e7  # drawn in all by default, in some .2 seconds
_FEWEST_DRAWS = 500
_TAIL = 0.019  # standard error of a 2.5 % quantile of 20,000 draws, in standard deviations
# Of many more items, blocks of them are weighed: the variance of a mean is then known to 2 %, and
# the length of an interval to 1 %.
_BLOCKS = 5000
_FEWEST_CLUSTERS = 5  # an error is raised with fewer
_FEW_CLUSTERS = 10  # a caution is added with as few
_FEW_ITEMS = 30  # a caution is added with fewer items of a scale without ends
_FEW_EFFECTIVE = 30  # a caution is added with fewer effective items by weight
_NONE = np.empty(0)


def item_scores(
    evidence: xr.Dataset | xr.DataArray, *, concentration: float = 0.5
) -> "ItemScores | SummedItemScores":
    """
    Return the posterior of the distribution of scores in the population of items.

    Parameters
    ----------
    evidence : xarray.Dataset or DataArray
        From :func:`bayescm.from_item_scores`. Every slice has a posterior of its own. Or the sums
        of batches of a monitor (`bayescm.evidence.sums_of_items`), dims (..., statistic).
    concentration : float, default 0.5
        Prior pseudo-items >= 0 at each end of the range, where it is known: with scores of 0 and 1
        this is the parameter of a beta prior of their mean.

    Returns
    -------
    ItemScores
        Of sums, a `SummedItemScores`: the same posterior of means and shares, by their moments.

    Raises
    ------
    ValueError
        If the concentration is negative, or there are fewer than five clusters of items.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_item_scores([0.2, 0.9, 0.7, 1.0], range=(0, 1))
    >>> float(item_scores(evidence).point(bcm.measures.resolve("mean", "item_scores")))
    0.7
    """
    number = isinstance(concentration, int | float | np.number)
    if not number or isinstance(concentration, bool) or not 0 <= concentration < np.inf:
        raise fail("concentration", concentration, "a number >= 0", "pass e.g. `concentration=0.5`")
    if isinstance(evidence, xr.DataArray):
        _check_has_ends(evidence.attrs["lowest"] is not None, concentration)
        return SummedItemScores(evidence, float(concentration))
    evidence = as_item_scores(evidence)
    _check_has_ends("lowest" in evidence.coords, concentration)
    evidence, lacking = on_common_items(evidence)
    check_clusters(evidence)
    return ItemScores(evidence, float(concentration), lacking)


def _check_has_ends(has_ends, concentration):
    """Raise an error if pseudo-items are requested at ends that are not known."""
    if not has_ends and concentration != 0.5:
        todo = "pass `range= to from_item_scores`"
        raise fail("pseudo-items stand at the ends of the range", ..., "a range", todo)


def on_common_items(evidence: xr.Dataset) -> tuple[xr.Dataset, int]:
    """Return the items that all systems have a score of, and how many others there are."""
    absent = evidence["item_score"].isnull()
    if "judge_score" in evidence or "classifier" not in absent.dims:
        return evidence, 0
    lacking = absent.any("classifier").values
    if lacking.all():
        todo = "select two systems, evidence.sel(classifier=['a', 'b']), or pass `missing='worst'`"
        raise fail("no item has a score of every system", ..., "one or more", todo)
    return evidence.isel(item=~lacking), int(lacking.sum())


class ItemScores(SlicedItems):
    """
    The posterior of the distribution of scores in the population of items.

    Attributes
    ----------
    evidence : Dataset
        Canonical item scores.
    score : ndarray, shape (K, n)
        The scores of each system.
    lacking : int
        How many items were left out because a system has no score of them.
    """

    measured_variable = "item_scores"
    estimands = {  # noqa: RUF012
        "parameter": "share",
        "population": "share",  # all items like these, in clusters like these
        "finite": "share_group",  # the items of the clusters at hand, where they come in clusters
    }
    how = "draws by the Bayesian bootstrap"

    def __init__(self, evidence: xr.Dataset, concentration: float = 0.5, lacking: int = 0):
        self.evidence, self.concentration, self.lacking = evidence, concentration, lacking
        self.score = np.atleast_2d(self.observed.values.astype(float))
        self.judge = None
        if "judge_score" in evidence:
            self.judge = np.atleast_2d(evidence["judge_score"].values.astype(float))
        self.bounded = "lowest" in evidence.coords
        self.ends = np.array([-np.inf, np.inf])
        if self.bounded:
            self.ends = np.array([evidence["lowest"].item(), evidence["highest"].item()])
        number = self.score.shape[1]
        self.weight = evidence["weight"].values if "weight" in evidence else np.ones(number)
        self.importance = "weight" in evidence and evidence["weights_are"].item() == "importance"
        self.cluster = None
        if (labels := clusters_of(evidence)) is not None:
            _, self.cluster = np.unique(labels, return_inverse=True)
        else:
            self.estimands = {of: name for of, name in self.estimands.items() if of != "finite"}

    @property
    def has_model(self) -> bool:
        """Whether there is a PyMC model: of one system, without clusters, weights and judge."""
        return super().has_model and not self.importance and self.judge is None

    # Labels

    @property
    def observed(self) -> xr.DataArray:
        """The scores."""
        return self.evidence["item_score"]

    @cached_property
    def batch(self) -> xr.DataArray:
        """The number of items with a score of each slice and system."""
        has_score = ~np.isnan(self.score)
        numbers = np.array([has_score[:, items].sum(1) for items in self.slices])
        return self.template.to_dataarray(numbers.reshape(self.template.shape))

    @property
    def values_per_draw(self) -> int:
        """The weights of all items, or of blocks of them."""
        return len(self.score) * min(self.score.shape[1], 2 * _BLOCKS)

    def resolve_estimand(self, of: str) -> str:
        """Return the estimand; single clusters, partially pooled, are those of another model."""
        if of == "group" and self.cluster is not None:
            todo = (
                'pass the clusters as slices, `by={"cluster": cluster}`, and ask '
                '`model="item_score_slices"`'
            )
            raise fail("single clusters are no estimand of all items", of, self.estimands, todo)
        return super().resolve_estimand(of)

    def bound(self, measure: Any) -> Any:
        """Return a measure with the range of these scores, and what is better of them."""
        lower_is_better = bool(self.evidence["lower_is_better"])
        return on_scale(measure, tuple(self.ends.tolist()), lower_is_better)

    def caveats(self, of: str = "parameter") -> list[str]:
        """Say what few items, few clusters and a scale without ends make doubtful."""
        sentences = []
        few = min(len(items) for items in self.slices)
        scores = [row[items] for row in self.score for items in self.slices]
        constant = any(np.nanmin(row) == np.nanmax(row) for row in scores if row.size)
        if not self.bounded and (few < _FEW_ITEMS or constant):
            number = "All items have the same score" if constant else f"{few} items are few"
            sentences.append(
                f"{number}, and the ends of the scale are not known: what items may do that were "
                "not seen is left out, and intervals are too short. Pass range= to "
                "from_item_scores where the scale has ends."
            )
        if self.cluster is not None and of != "finite":
            clusters = min(len(np.unique(self.cluster[items])) for items in self.slices)
            if clusters < _FEW_CLUSTERS:
                sentences.append(
                    f"{clusters} clusters of items tell little of others like them; of these alone "
                    'ask with of="finite".'
                )
        if self.cluster is not None and of == "finite":
            single = (np.bincount(self.cluster)[self.cluster] == 1).mean()
            if single > 0:
                sentences.append(
                    f"{100 * single:.0f} % of the items are alone in their cluster, and taken for "
                    "known: nothing shows how items of theirs differ."
                )
        if self.lacking:
            number = self.score.shape[1]
            sentences.append(
                f"Only the {number:,} of {number + self.lacking:,} items with a score of every "
                "system are used. Select two systems to compare them on all items that both have."
            )
        if self.judge is not None:
            sentences += self._judge_caveats(self.judge)
        if self.importance:
            kish = min(
                self.weight[items].sum() ** 2 / (self.weight[items] ** 2).sum()
                for items in self.slices
                if len(items)
            )
            if kish < _FEW_EFFECTIVE:
                sentences.append(
                    f"The weights are so unequal that the items are worth {kish:.0f} equal ones: "
                    "too few to know an interval by."
                )
        return sentences

    def _judge_caveats(self, judges):
        """Say so where a judge that has seen all items tells nothing of people's scores."""
        weak = []
        for row, judge in zip(self.score, judges, strict=True):
            scored = ~np.isnan(row)
            varied = np.ptp(row[scored]) > 0 and np.ptp(judge[scored]) > 0
            correlation = np.corrcoef(row[scored], judge[scored])[0, 1] if varied else 0.0
            weak.append(abs(correlation) < 2 / math.sqrt(scored.sum()))
        if not any(weak):
            return []
        return [
            "The judge's scores hardly go with people's: it adds nothing to what is known from the "
            "items that people scored."
        ]

    def distance(self, first: int, second: int) -> np.ndarray:
        """Return how far two systems are apart in each item that both have a score of."""
        distance = np.abs(self.score[first] - self.score[second])
        return distance[~np.isnan(distance)]

    # Draws

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return how many draws are made where nothing else is asked for."""
        number = min(self.score.shape[1], 2 * _BLOCKS)
        return int(np.clip(_GAMMAS / number, _FEWEST_DRAWS, DRAWS))

    def population(
        self, items: np.ndarray, size: int, rng: np.random.Generator, of: str
    ) -> ScoreDistribution:
        """Draw the distribution of the scores of some items in their population."""
        weight, unit = self.unit_weights(items, size, rng, of)
        # The gamma variates of items have their counts as shapes.
        of_items = self.cluster is None and len(items) == weight.shape[1] and not self.importance
        count = np.ones(len(items)) if of_items else self.weight[items]
        end_weight, disagreement = np.zeros((size, 2)), None
        if self.estimands[of] == "share" and self.concentration:
            scale = 1.0  # of a pseudo-item: it weighs as much as an item does on average
            if self.importance:
                scale = self.weight[items].sum() / max((self.weight[items] > 0).sum(), 1)
            end_weight = scale * rng.standard_gamma(self.concentration, end_weight.shape)
            disagreement = self.draw_disagreement(items, size, rng, scale)
        score = self.score[:, items]
        return ScoreDistribution(score, weight, unit, count, self.ends, end_weight, disagreement)

    def draw_disagreement(
        self, items: np.ndarray, size: int, rng: np.random.Generator, scale: float = 1.0
    ) -> Disagreement | None:
        """Draw the pseudo-items in which several systems disagree, None of one system."""
        systems, weight = len(self.score), self.weight[items]
        if systems == 1 or not weight.any():
            return None
        drawn = bayesian_bootstrap.draw_disagreement(systems, weight, self.concentration, size, rng)
        return drawn._replace(weight=scale * drawn.weight)

    def sample(self, items: np.ndarray) -> ScoreDistribution:
        """Return the scores of some items, each of which weighs what it counts."""
        return ScoreDistribution(
            self.score[:, items],
            np.ones((1, len(items))),
            np.arange(len(items)),
            self.weight[items],
            self.ends,
            np.zeros((1, 2)),
        )

    def unit_weights(
        self, items: np.ndarray, size: int, rng: np.random.Generator, of: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """
        Draw the weights (size, u) of units, and return them with the unit of every item.

        A unit is an item (counted as often as it is), a cluster, or of very many items a block of
        some at random.
        """
        number = len(items)
        if self.cluster is not None and self.estimands[of] == "share":
            _, cluster = np.unique(self.cluster[items], return_inverse=True)
            clusters = cluster.max() + 1
            shape = bayesian_bootstrap.student_shape(clusters)
            return rng.standard_gamma(shape, (size, clusters)) / shape, cluster
        if self.cluster is not None:
            # As many items as were seen of each cluster, the weights of its own items varying as
            # much as makes the variance of its mean unbiased.
            _, cluster = np.unique(self.cluster[items], return_inverse=True)
            sizes = np.bincount(cluster)
            shape = np.maximum(bayesian_bootstrap.unbiased_shape(sizes), 0.05)[cluster]
            weights = rng.standard_gamma(shape, (size, number))
            totals = weights @ (np.eye(len(sizes))[cluster] * self.weight[items, None])
            of_cluster = np.bincount(cluster, self.weight[items])
            return weights * (of_cluster / totals)[:, cluster], np.arange(number)
        if self.judge is not None:
            scored = (~np.isnan(self.score[:, items])).sum(1).min()
            shape = max(bayesian_bootstrap.student_shape(scored), 0.2)
            return rng.standard_gamma(shape, (size, number)) / shape, np.arange(number)
        alike = self.importance or np.ptp(self.weight[items]) == 0
        if number > 2 * _BLOCKS and alike:
            block = np.random.default_rng(0).permutation(number) % _BLOCKS
            return rng.standard_exponential((size, _BLOCKS)), block
        counts = np.ones(number) if self.importance else self.weight[items]
        return bayesian_bootstrap.gamma_weights(counts, size, rng), np.arange(number)

    def value(
        self, measure: Callable, population: ScoreDistribution, items: np.ndarray
    ) -> np.ndarray:
        """Return a measure of a population; without ends, pseudo-items count for shares alone."""
        form = getattr(measure, "form", None)
        kind = form.kind if isinstance(form, OfScores) else None
        if not self.bounded and kind != "share":
            nothing = np.zeros_like(population.end_weight)
            population = replace(population, end_weight=nothing)
        values = measure(population)
        if self.judge is not None and kind in ("mean", "share"):
            values = values + self._correction(population, self.judge[:, items], form)
        values = np.broadcast_to(values, (len(population.weight), len(self.score)))
        empty = np.isnan(population.score).all(axis=1)
        return np.where(empty, np.nan, values)

    def _correction(self, population, judges, form):
        """Return what the judge's scores of all items add to the means of those scored, (S, K)."""
        correction = np.empty((len(population.weight), len(self.score)))
        for system, (row, judge) in enumerate(zip(population.score, judges, strict=True)):
            middle = judge.mean()  # so that no digits cancel
            scored, control = ~np.isnan(row), judge - middle
            value = form.counts(row).astype(float) if form.kind == "share" else row
            weight = population.weight[:, population.unit]
            of_scored = weight[:, scored] / weight[:, scored].sum(1, keepdims=True)
            mean_value = of_scored @ value[scored]
            mean_control = of_scored @ control[scored]
            covariance = of_scored @ (value * control)[scored] - mean_value * mean_control
            variance = of_scored @ (control**2)[scored] - mean_control**2
            with np.errstate(invalid="ignore", divide="ignore"):
                slope = np.where(variance > 1e-12, covariance / variance, 0.0)
            mean_of_all = weight @ control / weight.sum(1)
            correction[:, system] = slope * (mean_of_all - mean_control)
        return correction

    # Distributions by their moments

    def exact_distribution(self, measure: Any, *, of: str = "parameter", n: Any = None) -> Any:
        """Return the beta distribution of a share, or that of a mean by its moments, or None."""
        form = measure.form
        if not (isinstance(form, OfScores) and self._has_moments):
            return None
        if form.kind == "share" and len(self.score) == 1:
            return self._share(form)
        if form.kind not in ("mean", "share") or not self.batch.values.all():
            return None
        score, ends = self._as_mean(form)
        moments = [
            self._moments_of(score[:, items], ends, self.weight[items], system)
            for items in self.slices
            for system in range(len(score))
        ]
        shape = self.template.shape
        distribution = by_moments(np.array(moments).T.reshape(6, *shape))
        if distribution is None:
            return None
        return MomentsOrDraws(distribution, partial(self._drawn_members, measure), _TAIL)

    def exact_difference(
        self,
        measure: Any,
        first: Mapping[str, int],
        second: Mapping[str, int],
        *,
        of: str = "parameter",
    ) -> Distribution | None:
        """
        Return the distribution of a measure of one system minus that of another on the same items.

        It is known by its moments if the measure is a mean or a share of items that both systems
        have a score of. Otherwise, and if the moments are not enough, None: the joint draws have
        the same distribution.
        """
        form, slice_number = getattr(measure, "form", None), self._slice(first)
        systems = [at.get("classifier", 0) for at in (first, second)]
        is_mean = isinstance(form, OfScores) and form.kind in ("mean", "share")
        same_items = slice_number == self._slice(second) and systems[0] != systems[1]
        if not (is_mean and same_items and self._has_moments):
            return None
        items = self.slices[slice_number]
        score, ends = self._as_mean(form)
        score = score[:, items]
        if not len(items) or np.isnan(score[systems]).any():
            return None
        distribution = by_moments(
            np.array(self._moments_of(score, ends, self.weight[items], *systems))
        )
        if distribution is None or not _are_enough(distribution):
            return None
        return distribution

    @property
    def _has_moments(self):
        """Whether items are weighed one by one by gamma variates, and nothing else counts."""
        return not (self.importance or self.judge is not None or self.cluster is not None)

    def _as_mean(self, form):
        """Return the scores (K, n) whose mean a measure is, and the ends of their range."""
        if form.kind == "mean":
            return self.score, self.ends
        self._check_mark(form)
        values = np.where(np.isnan(self.score), np.nan, form.counts(self.score))
        return values, form.counts(self.ends).astype(float)

    def _check_mark(self, form):
        """Raise if all scores of the range are on one side of the mark."""
        if form.counts(self.ends).sum() != 1:
            what, todo = "all scores of the range are on one side of the mark", "correct the mark"
            raise fail(
                what, form.at, "a mark inside the range ({:g}, {:g})".format(*self.ends), todo
            )

    def _share(self, form):
        self._check_mark(form)
        above, total = np.zeros((2, len(self.slices), len(self.score)))
        for index, items in enumerate(self.slices):
            row, weight = self.score[:, items], self.weight[items]
            above[index] = form.counts(row) @ weight
            total[index] = ~np.isnan(row) @ weight
        a, b = above + self.concentration, total - above + self.concentration
        if not (a.all() and b.all()):
            return None  # without pseudo-items the share is known
        return Beta(a.reshape(self.template.shape), b.reshape(self.template.shape))

    def _moments_of(self, score, ends, weight, system, other=None):
        """
        Return the ends of the support, and mean, sd, skewness and excess kurtosis of a mean.

        Parameters
        ----------
        score : ndarray, shape (K, n)
            The scores of the items of a slice, or their indicators.
        ends : ndarray, shape (2,)
        weight : ndarray, shape (n,)
        system : int
        other : int, optional
            The system whose mean is subtracted.
        """
        value = score[system] if other is None else score[system] - score[other]
        fixed = ~np.isnan(value)
        atoms, atom_weight = value[fixed], weight[fixed]
        if np.isfinite(ends).all():
            atoms = np.concatenate([atoms, ends if other is None else [0.0, 0.0]])
            atom_weight = np.concatenate([atom_weight, np.full(2, self.concentration)])
        pseudo, probability = np.empty(0), np.empty(0)
        if len(score) > 1 and self.concentration:
            # Every item as the center of a pseudo-item, below and above: (n, K, 2).
            item = np.repeat(np.arange(len(weight))[:, None], 2, axis=1)
            sign = np.broadcast_to([-1.0, 1.0], (len(weight), len(score), 2))
            scores = Disagreement(np.empty(0), item, sign).scores(score, *ends)
            pseudo, sides = scores[:, system], np.array([0.5, 0.5])
            if other is not None:
                differences = pseudo[:, :, None] - scores[:, other, None, :]
                pseudo = differences.reshape(len(weight), 4)
                apart = bayesian_bootstrap.opposite_sides(len(score)) / 2
                sides = np.array([0.5 - apart, apart, apart, 0.5 - apart])
            probability = np.outer(weight / weight.sum(), sides).ravel()
            pseudo = pseudo.ravel()
        everything = np.concatenate([atoms, pseudo])
        moments = dirichlet_mean(atoms, atom_weight, pseudo, probability, self.concentration)
        return [everything.min(), everything.max(), *moments]

    def _drawn_members(self, measure, index):
        """Return the distributions of some members of the flat batch by draws."""
        rng, size = np.random.default_rng(0), self.draws_by_default("parameter")
        (values,) = self.draw_in_parts([measure], size, rng)
        return Empirical(values.reshape(size, -1)[:, index], how=self.how)

    def moments(self, score: np.ndarray, weight: np.ndarray) -> list[float]:
        """
        Return the ends of the support and the moments of the mean of other items on this scale.

        Parameters
        ----------
        score : ndarray, shape (n,) or (2, n)
            The scores of one system, or of two systems, whose difference is returned.
        weight : ndarray, shape (n,)
            How often each item is counted.
        """
        score = np.atleast_2d(score)
        return self._moments_of(score, self.ends, weight, *range(len(score)))

    def _slice(self, at):
        """Return the number of the slice of a member."""
        dims = slice_dims(self.evidence)
        shape = tuple(self.evidence.sizes[dim] for dim in dims)
        return int(np.ravel_multi_index([at[dim] for dim in dims], shape)) if dims else 0

    # The variables of the PyMC model, of one system.

    @cached_property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        """The distinct scores, those at the ends of the range among them, and their weights."""
        unfit = {
            "judge": self.judge is not None,
            "several systems": len(self.score) > 1,
            "slices": len(self.slices) > 1,
            "clusters of items": self.cluster is not None,
            "importance weights": self.importance,
        }
        for what, is_so in unfit.items():
            if is_so:
                todo = "ask interval, summary or compare, which draw from them directly"
                raise fail(f"the PyMC model takes no {what}", ..., "one sample of items", todo)
        score, weight = self.score[0], self.weight
        if self.bounded and self.concentration:
            score = np.concatenate([score, self.ends])
            weight = np.concatenate([weight, np.full(2, self.concentration)])
        values, value_index = np.unique(score, return_inverse=True)
        return values, np.bincount(value_index, weight)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        score, weight = self.atoms
        share = dirichlet.draw(weight, size, rng)
        return {"share": share, "mean": share @ score}

    follows_variables = True

    def draw_given(
        self,
        variables: Mapping[str, np.ndarray],
        measures: Sequence[Callable],
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Return draws of measures, given the share of every score; see `Posterior.draw_given`."""
        score, _ = self.atoms
        population = ScoreDistribution(
            score[None],
            variables["share"],
            np.arange(len(score)),
            np.ones(len(score)),
            self.ends,
            np.zeros((len(variables["share"]), 2)),  # the ends of the range are among the scores
        )
        return [measure(population)[:, 0] for measure in measures]

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log posterior density of the shares of the scores."""
        return dirichlet.logpdf(np.asarray(variables["share"]), self.atoms[1])

    def log_marginal_likelihood(self) -> np.ndarray:
        """Return 0: the model has no likelihood, its prior is the posterior."""
        return np.zeros(())


def check_clusters(evidence: xr.Dataset, unit: str = "item") -> None:
    """Raise where there are too few clusters of items, or of examples, in a slice."""
    cluster = clusters_of(evidence, unit)
    if cluster is None:
        return
    for items in items_of_slices(evidence, unit):
        clusters = len(np.unique(cluster[items]))
        if clusters < _FEWEST_CLUSTERS:
            todo = f"what few clusters share is not known; leave `group=` out to take {unit}s alike"
            what = f"too few clusters of {unit}s"
            raise fail(what, clusters, f"{_FEWEST_CLUSTERS} or more", todo)


def dirichlet_mean(
    score: np.ndarray,
    weight: np.ndarray,
    pseudo: np.ndarray = _NONE,
    probability: np.ndarray = _NONE,
    concentration: float = 0.0,
) -> tuple[float, float, float, float]:
    """
    Return mean, sd, skewness and excess kurtosis of the mean of a Dirichlet process.

    Parameters
    ----------
    score : ndarray, shape (n,)
    weight : ndarray, shape (n,)
    pseudo, probability : ndarray, shape (m,), optional
        The scores that each of two pseudo-items may have, and the probability of each.
    concentration : float, default 0
        The weight of each of the two.

    Examples
    --------
    >>> from scipy import stats
    >>> beta = stats.beta(3, 2).stats(moments="mvsk")
    >>> mean, sd, skewness, kurtosis = dirichlet_mean(np.array([1.0, 0.0]), np.array([3.0, 2.0]))
    >>> np.allclose([mean, sd**2, skewness, kurtosis], beta)
    True
    """
    extra = concentration if len(pseudo) else 0.0
    total = weight.sum() + 2 * extra
    mean = (weight @ score + 2 * extra * (probability @ pseudo)) / total
    further = None
    if extra:
        rising = np.cumprod([1.0, *((extra + k) / (k + 1) for k in range(4))])
        of_pseudo = rising * [probability @ (pseudo - mean) ** k for k in range(5)]
        further = np.convolve(of_pseudo, of_pseudo)[:5]
    sums = [weight @ (score - mean) ** k for k in (1, 2, 3, 4)]
    of_mean = mean_of_dirichlet_process(total, mean, sums, further)
    return tuple(float(moment) for moment in of_mean)  # type: ignore[return-value]


def _are_enough(distribution):
    """Say whether moments describe a distribution as well as the draws by default."""
    return MomentsOrDraws(distribution, lambda index: distribution, _TAIL).good.all()


def by_moments(moments: np.ndarray) -> CornishFisherBeta | None:
    """Return the distributions of means by moments (6, ...), or None where one does not vary."""
    low, high, mean, sd, skewness, kurtosis = moments
    low, high = low.min(), high.max()
    if not (sd > 0).all():
        return None
    width = high - low
    return CornishFisherBeta(
        (mean - low) / width, sd / width, skewness, kurtosis, support=(float(low), float(high))
    )
