r"""
The direct posterior of `bayescm.models.item_scores`: scores of items from a population.

The distribution F of scores in the population of items is a Dirichlet process. Let :math:`w_i` be
the number of items with score :math:`s_i`, including e pseudo-items at each end of the range, and A
the total number. The posterior of a mean :math:`\int f \, dF` is the distribution of

.. math:: \frac{\sum_i g_i f(s_i)}{\sum_i g_i}, \qquad g_i \sim \mathrm{Gamma}(w_i),

a Bayesian bootstrap of items and pseudo-items (`bayescm.inference.bayesian_bootstrap`). The
pseudo-items represent unobserved scores. Without them, the mean of twenty items with nineteen equal
scores would be far too certain. By default e is one half, which for scores of 0 and 1 is Jeffreys'
prior. The proportion of items above a threshold has a beta distribution. The mean score has the
central moments (Yamato 1984)

.. math::

    \frac{\mu_2}{A + 1}, \qquad \frac{2 \mu_3}{(A + 1)(A + 2)}, \qquad
    \frac{3 A \mu_2^2 + 6 \mu_4}{(A + 1)(A + 2)(A + 3)},

with :math:`\mu_k` the central moments of the items and pseudo-items. If these moments are accurate
enough (`bayescm.distributions.moments`), no draws are needed.

Systems on the same items share the weights of items and pseudo-items. They also share two
pseudo-items in which they disagree (`bayescm.inference.bayesian_bootstrap`). Without these, the
difference between two systems that differ in few items would be far too certain. All measures of
all systems come from this joint distribution. The moments of the mean of one system, and of the
difference of two means, are again known. Let m be the mean score and x the random score in a
pseudo-item of disagreement. If m, x and the scores :math:`s_i` are centred at the posterior mean,
and A also includes the weights e of the two pseudo-items of disagreement,

.. math::

    \mathrm{E}\, m^k = \frac{k!}{A (A + 1) \cdots (A + k - 1)} \, [t^k]
    \prod_i (1 - t s_i)^{-w_i} \; \bigl(\mathrm{E} (1 - t x)^{-e}\bigr)^2 .

The proportion of items above a threshold is the mean of 0/1 indicators, and is treated in the same
way. If some scores are missing, all systems are compared on the items that all of them have.

If items come in clusters, whole clusters are weighted. The gamma variates have the shape at which
the mean of C clusters has the variance of a t distribution with C - 1 degrees of freedom. For the
observed clusters (``of="finite"``), items are weighted within each cluster, the proportion of items
per cluster is fixed, and there are no pseudo-items. Importance weights multiply the gamma variates.

If a judge has scored all N items, and people a random sample of n of them, every draw of the
weights gives a regression estimate of the mean:

.. math:: \bar h_L + b \, (\bar j - \bar j_L).

Here h and j are the scores of the people and of the judge, L the items scored by people, and b the
slope of the regression of h on j in L. The gamma shape is 1 - 4 / n, as for a t distribution. With
a useless judge, the interval is about as long as the interval from people's scores alone, and it
becomes shorter the better the judge is (Angelopoulos et al. 2023).

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

_GAMMAS = 2e7  # default total number of gamma variates, which takes about 0.2 seconds
_FEWEST_DRAWS = 500
_TAIL = 0.019  # standard error of the 2.5% quantile of 20,000 draws, in standard deviations
# Number of random blocks that are weighted if there are more than twice as many items. The variance
# of a mean is then accurate to 2%, and the length of an interval to 1%.
_BLOCKS = 5000
_FEWEST_CLUSTERS = 5  # an error is raised with fewer clusters
_FEW_CLUSTERS = 10  # a caution is added with fewer clusters
_FEW_ITEMS = 30  # a caution is added with fewer items if the range is unknown
_FEW_EFFECTIVE = 30  # a caution is added if weights leave fewer effective items
_NONE = np.empty(0)


def item_scores(
    evidence: xr.Dataset | xr.DataArray, *, concentration: float = 0.5
) -> "ItemScores | SummedItemScores":
    """
    Return the posterior of the distribution of scores in the population of items.

    Parameters
    ----------
    evidence : xarray.Dataset or DataArray
        From :func:`bayescm.from_item_scores`. Slices have separate posteriors. Alternatively, sums
        over the items of monitored batches (`bayescm.evidence.sums_of_items`), dims
        (..., statistic).
    concentration : float, default 0.5
        Number of prior pseudo-items at each end of the range, >= 0, if the range is known. For
        scores of 0 and 1, it is the parameter of a symmetric beta prior for their mean.

    Returns
    -------
    ItemScores or SummedItemScores
        `SummedItemScores` for sums. It is the same posterior of means and proportions, computed
        from moments.

    Raises
    ------
    ValueError
        If the concentration is not a finite number >= 0, or is specified although the range is
        unknown. If no item has a score of every system, or if a slice has fewer than five clusters
        of items.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_item_scores([0.2, 0.9, 0.7, 1.0], range=(0, 1))
    >>> float(item_scores(evidence).point(bcm.measures.resolve("mean", "item_scores")))
    0.7
    """
    number = isinstance(concentration, int | float | np.number)
    if not number or isinstance(concentration, bool) or not 0 <= concentration < np.inf:
        raise fail(
            "`concentration` must be a number >= 0",
            concentration,
            "",
            "pass e.g. `concentration=0.5`",
        )
    if isinstance(evidence, xr.DataArray):
        _check_has_ends(evidence.attrs["lowest"] is not None, concentration)
        return SummedItemScores(evidence, float(concentration))
    evidence = as_item_scores(evidence)
    _check_has_ends("lowest" in evidence.coords, concentration)
    evidence, lacking = on_common_items(evidence)
    check_clusters(evidence)
    return ItemScores(evidence, float(concentration), lacking)


def _check_has_ends(has_ends, concentration):
    """Raise an error if `concentration` is not the default although the range is unknown."""
    if not has_ends and concentration != 0.5:
        raise fail(
            "`concentration` needs the range of the scores",
            ...,
            "",
            "pass `range= to from_item_scores`",
        )


def on_common_items(evidence: xr.Dataset) -> tuple[xr.Dataset, int]:
    """Return the items with scores of all systems, and the number of items left out."""
    absent = evidence["item_score"].isnull()
    if "judge_score" in evidence or "classifier" not in absent.dims:
        return evidence, 0
    lacking = absent.any("classifier").values
    if lacking.all():
        todo = "select two systems, evidence.sel(classifier=['a', 'b']), or pass `missing='worst'`"
        raise fail("No item has a score of every system", ..., "", todo)
    return evidence.isel(item=~lacking), int(lacking.sum())


class ItemScores(SlicedItems):
    """
    Posterior of the distribution of scores in the population of items.

    Attributes
    ----------
    evidence : Dataset
        Canonical item scores.
    score : ndarray, shape (K, n)
        Scores of each system.
    lacking : int
        Number of items that were left out because a system has no score for them.
    """

    measured_variable = "item_scores"
    estimands = {  # noqa: RUF012
        "parameter": "share",
        "population": "share",  # the populations of items and of clusters
        "finite": "share_group",  # the observed clusters, if items come in clusters
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
        """Whether there is a PyMC model: one system, no slices, clusters, importance or judge."""
        return super().has_model and not self.importance and self.judge is None

    # Labels

    @property
    def observed(self) -> xr.DataArray:
        """Observed scores."""
        return self.evidence["item_score"]

    @cached_property
    def batch(self) -> xr.DataArray:
        """Number of items with a score, by slice and system."""
        has_score = ~np.isnan(self.score)
        numbers = np.array([has_score[:, items].sum(1) for items in self.slices])
        return self.template.to_dataarray(numbers.reshape(self.template.shape))

    @property
    def values_per_draw(self) -> int:
        """Number of weights of items or blocks of items in one draw, for all systems."""
        return len(self.score) * min(self.score.shape[1], 2 * _BLOCKS)

    def resolve_estimand(self, of: str) -> str:
        """Return the estimand; raise an error for single clusters, which need another model."""
        if of == "group" and self.cluster is not None:
            raise fail(
                f"`of={of!r}` is not available for items in clusters",
                ...,
                self.estimands,
                'for an interval per cluster, pass `by={"cluster": cluster}` and use '
                '`model="item_score_slices"`',
            )
        return super().resolve_estimand(of)

    def bound(self, measure: Any) -> Any:
        """Return a measure with the range of these scores and the direction of improvement."""
        lower_is_better = bool(self.evidence["lower_is_better"])
        return on_scale(measure, tuple(self.ends.tolist()), lower_is_better)

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return cautions about few items or clusters, an unknown range, judge and weights."""
        sentences = []
        few = min(len(items) for items in self.slices)
        scores = [row[items] for row in self.score for items in self.slices]
        constant = any(np.nanmin(row) == np.nanmax(row) for row in scores if row.size)
        if not self.bounded and (few < _FEW_ITEMS or constant):
            number = "All items have the same score" if constant else f"There are only {few} items"
            sentences.append(
                f"{number}, and the range of the scores is unknown. Intervals are too short, "
                "because they ignore scores of unobserved items. Pass range= to "
                "from_item_scores if the scale has ends."
            )
        if self.cluster is not None and of != "finite":
            clusters = min(len(np.unique(self.cluster[items])) for items in self.slices)
            if clusters < _FEW_CLUSTERS:
                sentences.append(
                    f"With only {clusters} clusters of items, the interval for the population of "
                    'clusters is unreliable. Use of="finite" for the observed clusters.'
                )
        if self.cluster is not None and of == "finite":
            single = (np.bincount(self.cluster)[self.cluster] == 1).mean()
            if single > 0:
                sentences.append(
                    f"{100 * single:.0f}% of the items are alone in their cluster and are treated "
                    "as known, because the data do not show how items of such a cluster differ."
                )
        if self.lacking:
            number = self.score.shape[1]
            sentences.append(
                f"Only the {number:,} of {number + self.lacking:,} items with scores of all "
                "systems are used. Select two systems to compare them on all items that both "
                "have."
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
                    f"The weights are so unequal that the items are worth only {kish:.0f} items of "
                    "equal weight, which is too few for a reliable interval."
                )
        return sentences

    def _judge_caveats(self, judges):
        """Return the caution about a judge whose scores do not correlate with people's scores."""
        weak = []
        for row, judge in zip(self.score, judges, strict=True):
            scored = ~np.isnan(row)
            varied = np.ptp(row[scored]) > 0 and np.ptp(judge[scored]) > 0
            correlation = np.corrcoef(row[scored], judge[scored])[0, 1] if varied else 0.0
            weak.append(abs(correlation) < 2 / math.sqrt(scored.sum()))
        if not any(weak):
            return []
        return [
            (
                "The judge's scores are hardly correlated with people's scores, so the judge "
                "adds no information."
            )
        ]

    def distance(self, first: int, second: int) -> np.ndarray:
        """Return the absolute difference between the scores of two systems in each common item."""
        distance = np.abs(self.score[first] - self.score[second])
        return distance[~np.isnan(distance)]

    # Draws

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the default number of draws."""
        number = min(self.score.shape[1], 2 * _BLOCKS)
        return int(np.clip(_GAMMAS / number, _FEWEST_DRAWS, DRAWS))

    def population(
        self, items: np.ndarray, size: int, rng: np.random.Generator, of: str
    ) -> ScoreDistribution:
        """Return draws of the score distribution in the population of the given items."""
        weight, unit = self.unit_weights(items, size, rng, of)
        # The gamma variates of the items already have the item counts as shape parameters.
        of_items = self.cluster is None and len(items) == weight.shape[1] and not self.importance
        count = np.ones(len(items)) if of_items else self.weight[items]
        end_weight, disagreement = np.zeros((size, 2)), None
        if self.estimands[of] == "share" and self.concentration:
            scale = 1.0  # weight of a pseudo-item, which is the mean weight of an item
            if self.importance:
                scale = self.weight[items].sum() / max((self.weight[items] > 0).sum(), 1)
            end_weight = scale * rng.standard_gamma(self.concentration, end_weight.shape)
            disagreement = self.draw_disagreement(items, size, rng, scale)
        score = self.score[:, items]
        return ScoreDistribution(score, weight, unit, count, self.ends, end_weight, disagreement)

    def draw_disagreement(
        self, items: np.ndarray, size: int, rng: np.random.Generator, scale: float = 1.0
    ) -> Disagreement | None:
        """Return draws of the pseudo-items in which systems disagree, or None for one system."""
        systems, weight = len(self.score), self.weight[items]
        if systems == 1 or not weight.any():
            return None
        drawn = bayesian_bootstrap.draw_disagreement(systems, weight, self.concentration, size, rng)
        return drawn._replace(weight=scale * drawn.weight)

    def sample(self, items: np.ndarray) -> ScoreDistribution:
        """Return the sample distribution of the scores of the given items."""
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
        Return draws of the weights of units, (size, u), and the index of the unit of each item.

        A unit is an item, a cluster or, if there are very many items, a random block of items.
        """
        number = len(items)
        if self.cluster is not None and self.estimands[of] == "share":
            _, cluster = np.unique(self.cluster[items], return_inverse=True)
            clusters = cluster.max() + 1
            shape = bayesian_bootstrap.student_shape(clusters)
            return rng.standard_gamma(shape, (size, clusters)) / shape, cluster
        if self.cluster is not None:
            # The weights of a cluster sum to its observed number of items. Within the cluster, they
            # vary such that the variance of its mean is unbiased.
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
        """Return a measure of a population.

        If the range is unknown, pseudo-items are used for proportions only.
        """
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
        """Return the corrections (S, K) of the means, from the judge's scores of all items."""
        correction = np.empty((len(population.weight), len(self.score)))
        for system, (row, judge) in enumerate(zip(population.score, judges, strict=True)):
            middle = judge.mean()  # centred to avoid cancellation
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

    # Distributions from moments

    def exact_distribution(self, measure: Any, *, of: str = "parameter", n: Any = None) -> Any:
        """Return the distribution of a proportion or a mean, or None if it has to be sampled."""
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
        Return the distribution of the difference between two systems on the same items.

        It is computed from moments if the measure is a mean or a proportion, and both systems have
        scores of all items. Otherwise, or if the moments are not accurate enough, the result is
        None. Joint draws have the same distribution.
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
        """Whether the weights are gamma variates of single items, with no judge or importance."""
        return not (self.importance or self.judge is not None or self.cluster is not None)

    def _as_mean(self, form):
        """Return the scores (K, n) whose mean is the measure, and the ends of their range."""
        if form.kind == "mean":
            return self.score, self.ends
        self._check_mark(form)
        values = np.where(np.isnan(self.score), np.nan, form.counts(self.score))
        return values, form.counts(self.ends).astype(float)

    def _check_mark(self, form):
        """Raise an error if the whole range is on one side of the threshold."""
        if form.counts(self.ends).sum() != 1:
            todo = "correct the mark"
            raise fail(
                "All scores of the range are on the same side of the mark {}",
                form.at,
                "a mark inside the range ({:g}, {:g})".format(*self.ends),
                todo,
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
            return None  # without pseudo-items, the proportion is exactly 0 or 1
        return Beta(a.reshape(self.template.shape), b.reshape(self.template.shape))

    def _moments_of(self, score, ends, weight, system, other=None):
        """
        Return the support, mean, sd, skewness and excess kurtosis of the posterior of a mean.

        Parameters
        ----------
        score : ndarray, shape (K, n)
            Scores or indicators of the items of a slice.
        ends : ndarray, shape (2,)
            Limits of the range.
        weight : ndarray, shape (n,)
            Counts of the items.
        system : int
        other : int, optional
            System whose mean is subtracted.
        """
        value = score[system] if other is None else score[system] - score[other]
        fixed = ~np.isnan(value)
        atoms, atom_weight = value[fixed], weight[fixed]
        if np.isfinite(ends).all():
            atoms = np.concatenate([atoms, ends if other is None else [0.0, 0.0]])
            atom_weight = np.concatenate([atom_weight, np.full(2, self.concentration)])
        pseudo, probability = np.empty(0), np.empty(0)
        if len(score) > 1 and self.concentration:
            # Scores (n, K, 2) in the pseudo-items centred at each item, with the system below and
            # above the centre.
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
        """Return the sampled distributions of some members of the flat batch."""
        rng, size = np.random.default_rng(0), self.draws_by_default("parameter")
        (values,) = self.draw_in_parts([measure], size, rng)
        return Empirical(values.reshape(size, -1)[:, index], how=self.how)

    def moments(self, score: np.ndarray, weight: np.ndarray) -> list[float]:
        """
        Return the support and the moments of the mean score of the given items.

        Parameters
        ----------
        score : ndarray, shape (n,) or (2, n)
            Scores of one system, or of two systems for the difference of their means.
        weight : ndarray, shape (n,)
            Counts of the items.
        """
        score = np.atleast_2d(score)
        return self._moments_of(score, self.ends, weight, *range(len(score)))

    def _slice(self, at):
        """Return the index of the slice of a member."""
        dims = slice_dims(self.evidence)
        shape = tuple(self.evidence.sizes[dim] for dim in dims)
        return int(np.ravel_multi_index([at[dim] for dim in dims], shape)) if dims else 0

    # The variables of the PyMC model of one system.

    @cached_property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        """Distinct scores, including the ends of the range, and their weights."""
        unfit = {
            "judge": self.judge is not None,
            "several systems": len(self.score) > 1,
            "slices": len(self.slices) > 1,
            "clusters of items": self.cluster is not None,
            "importance weights": self.importance,
        }
        for what, is_so in unfit.items():
            if is_so:
                raise fail(
                    f"The PyMC model does not support {what}",
                    ...,
                    "",
                    "use interval, summary or compare, which sample from the posterior directly",
                )
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
        """Return draws of measures, given draws of the variables; see `Posterior.draw_given`."""
        score, _ = self.atoms
        population = ScoreDistribution(
            score[None],
            variables["share"],
            np.arange(len(score)),
            np.ones(len(score)),
            self.ends,
            np.zeros((len(variables["share"]), 2)),  # the scores already include the ends
        )
        return [measure(population)[:, 0] for measure in measures]

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log posterior density of the proportions of the scores."""
        return dirichlet.logpdf(np.asarray(variables["share"]), self.atoms[1])

    def log_marginal_likelihood(self) -> np.ndarray:
        """Return 0, because the PyMC model has no likelihood: its prior is the posterior."""
        return np.zeros(())


def check_clusters(evidence: xr.Dataset, unit: str = "item") -> None:
    """Raise an error if a slice has too few clusters of items or examples."""
    cluster = clusters_of(evidence, unit)
    if cluster is None:
        return
    for items in items_of_slices(evidence, unit):
        clusters = len(np.unique(cluster[items]))
        if clusters < _FEWEST_CLUSTERS:
            raise fail(
                f"Only {clusters} clusters of {unit}s are given; at least {_FEWEST_CLUSTERS} "
                "are needed",
                ...,
                "",
                f"add clusters, or leave `group=` out to treat {unit}s as independent",
            )


def dirichlet_mean(
    score: np.ndarray,
    weight: np.ndarray,
    pseudo: np.ndarray = _NONE,
    probability: np.ndarray = _NONE,
    concentration: float = 0.0,
) -> tuple[float, float, float, float]:
    """
    Return the mean, sd, skewness and excess kurtosis of the mean of a Dirichlet process.

    Parameters
    ----------
    score : ndarray, shape (n,)
        Values of the atoms.
    weight : ndarray, shape (n,)
        Weights of the atoms, including the prior.
    pseudo, probability : ndarray, shape (m,), optional
        Possible scores of each of two additional pseudo-items, and their probabilities.
    concentration : float, default 0
        Weight of each of the two pseudo-items.

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
    """Return True if moments describe a distribution as well as the default draws."""
    return MomentsOrDraws(distribution, lambda index: distribution, _TAIL).good.all()


def by_moments(moments: np.ndarray) -> CornishFisherBeta | None:
    """Return the distributions with the given moments (6, ...), or None if an sd is 0."""
    low, high, mean, sd, skewness, kurtosis = moments
    low, high = low.min(), high.max()
    if not (sd > 0).all():
        return None
    width = high - low
    return CornishFisherBeta(
        (mean - low) / width, sd / width, skewness, kurtosis, support=(float(low), float(high))
    )
