r"""
Direct posterior of `bayescm.models.repeated_items`: repeated answers to items.

**One answer to each item** (`SingleAnswers`). The likelihood depends only on the mean of the rates,
so only the mean over the population of items is identified. With x correct answers of n and a
pseudo-items, half of them correct, the mean is Beta(x + a / 2, n - x + a / 2). For a = 1 this is
Jeffreys' prior.

Consider two systems on the same items. Only the first is correct on w items, and only the second on
l items. The difference of their means is W - L with

.. math:: (W, L, \cdot) \sim \mathrm{Dirichlet}(w + a/4, \; l + a/4, \; n - w - l + a/2).

See `bayescm.distributions.differences.Discordant`. In the pseudo-items, the two systems are correct
independently. Draws are only needed for ranks, which involve all systems, and for items in groups.

**Several answers.** The rates of items have a mixture distribution of M components with weights w
and rates q. Both are sampled by Gibbs sampling (`bayescm.inference.binomial_mixture` contains the
formulas). A measure f, such as pass@k, is

.. math:: \sum_m w_m f(q_m), \qquad \sum_m \frac{N_m}{n} f(q_m), \qquad f(q_j), \; j \sim w

in the population, for the n observed items (:math:`N_m` of them in component m), and for one new
item.

*One further run* of T attempts at each observed item (``of="predictive"``) has the numbers of
correct answers

.. math:: c_i \sim \mathrm{Binomial}(T, q_{m(i)}).

The measure of the run is the mean over the items of the unbiased estimate :math:`h_T(c_i)` from T
answers (`bayescm.measures.attempts`).

*Items in groups* use the weighted likelihood bootstrap (Newton & Raftery 1994). Each draw weights
whole groups by gamma variables. Their shape is chosen so that means have the variance of a t
distribution (`bayescm.inference.bayesian_bootstrap`). The EM algorithm (`bayescm.inference.em`)
then maximises the likelihood of the mixture. The rates are restricted to a grid, and the
pseudo-items of the prior have gamma weights. If the rates of items were sampled one by one, the
variation between groups would be too small.

*Several systems on the same items.* Each system has the same posterior as if it were evaluated
alone. The draws of the population are reordered (Schefzik, Thorarinsdottir & Gneiting 2013) to
match a joint posterior of all systems. This is the Bayesian bootstrap of the observed rates of
correct answers, with weights of the items. There are a / 2 pseudo-items at each end, and all
systems share two pseudo-items of disagreement.

One new item is one of the n items or, with probability :math:`a / (n + a)`, a pseudo-item, for all
systems. Each system's rate at the item is sampled given its own answers. In a proportion of the
draws, all systems have the same quantile of their rates. The proportion is chosen so that the
covariance of the rates over the items equals the covariance of the observed rates. At a
pseudo-item, all systems have the rate 0, the rate 1, or the component of the same rank.

References
----------
Newton, M. A. & Raftery, A. E. (1994). Approximate Bayesian inference with the weighted likelihood
bootstrap. Journal of the Royal Statistical Society B 56, 3-48.
doi:10.1111/j.2517-6161.1994.tb01956.x

Schefzik, R., Thorarinsdottir, T. L. & Gneiting, T. (2013). Uncertainty quantification in complex
simulation models using ensemble copula coupling. Statistical Science 28, 616-640.
doi:10.1214/13-STS443
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import betainc, logsumexp, xlog1py, xlogy

from bayescm.distributions.base import Distribution
from bayescm.distributions.beta import Beta
from bayescm.distributions.differences import discordant
from bayescm.distributions.empirical import Empirical
from bayescm.distributions.log_densities import log_binomial
from bayescm.evidence.attempts import as_attempts, reach
from bayescm.evidence.clusters_and_slices import items_of_slices, slice_dims, without_slices
from bayescm.evidence.unsupported import OF_VOTES
from bayescm.inference import bayesian_bootstrap, binomial_mixture, em
from bayescm.inference.binomial_mixture import Items, Mixtures
from bayescm.measures.attempts import ItemAnswers, Rates, Wrong
from bayescm.measures.attempts import mean as MEAN
from bayescm.measures.measure import Repeated
from bayescm.posteriors.base import LabelTemplate, Posterior
from bayescm.posteriors.sliced_items import SlicedItems
from bayescm.validate import fail

# Default number of draws. The errors of the ends of a 95% interval are then below a tenth of a
# standard deviation, for differences between systems on 100 to 5,000 items with 4 or 8 answers.
_DRAWS = 4000
_AT_ONCE = 2e6  # largest number of values in an array (16 MB)
# An error is raised with fewer groups of items than this. The prior has the weight of one group,
# which would be a fifth or more of the total weight with four groups or fewer. For fewer than six
# items without groups, a caution is added. With five items that are always correct or always wrong,
# the coverage of pass@4 for the population of items is 0.80 (docs/results/small_evidence.csv).
_FEWEST = 5
_FEW_ITEMS = 6

COMPONENTS = 24  # number of components of a mixture of rates
COMPONENTS_WITH_WAYS = 48  # components of a mixture of rates and of patterns of wrong answers
END = 0.02  # prior share of each of the rates 0 and 1
# Patterns of wrong answers: a single wrong answer, a common one among others, a few equally likely
# ones, and hardly any repetition.
WRONG = (
    Wrong(1.0, 1),
    Wrong(0.5, 1),
    Wrong(0.7, 30),
    Wrong(0.4, 30),
    Wrong(0.0, 4),
    Wrong(0.0, 16),
    Wrong(0.5, 10_000),
    Wrong(0.0, 10_000),
)
# Settings of Gibbs sampling.
CHAINS = 100
BURN = 40  # discarded sweeps at the start of a chain
THIN = 2  # sweeps per draw of a chain
# Settings for items in groups.
# Number of rates. Their distances are below the width of the likelihood of 1,000 attempts.
GRID = 101
VOTES_GRID = 21  # number of rates with patterns of wrong answers
_STEPS = 40  # number of EM steps
_STEPS_WRONG = 120  # number of EM steps with patterns of wrong answers
# Smaller likelihoods are set to 0, and smaller pseudo-items are increased to the limit, because
# they would only slow EM down.
_LEAST_LIKELIHOOD = 1e-12
_LEAST_ITEMS = 1e-20
_EFFECTIVE_SHARE = 0.4  # effective number of draws, relative to the number of draws
# Log probability that replaces -inf, so that items without a possible pattern still have a
# component.
_IMPOSSIBLE = -1e4
# A caution is added with fewer attempts than this, because they hardly identify the dependence
# between two systems' rates at an item.
_FEW_ATTEMPTS = 4


def repeated_items(attempts: xr.Dataset, *, concentration: float = 1.0) -> Posterior:
    """
    Return the posterior of the rates of items with several answers.

    Use it for several attempts at the same items, such as benchmarks of language models that are
    sampled more than once.

    Parameters
    ----------
    attempts : xarray.Dataset
        Attempts from :func:`bayescm.from_attempts`. Items in groups are resampled by group. Slices
        have separate posteriors.
    concentration : float, default 1
        Number of prior pseudo-items, > 0. A proportion of 1/25 of them has the rate 0 or 1.

    Returns
    -------
    RepeatedItems or RepeatedItemsBySlice
        For one answer to each item, `SingleAnswers`.

    Raises
    ------
    ValueError
        If there are fewer than five groups of items, or the concentration is not > 0.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_attempts([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]])
    >>> float(repeated_items(evidence).point(bcm.measures.resolve("mean")).round(1))
    0.6
    """
    attempts = as_attempts(attempts)
    if not isinstance(concentration, (int, float, np.number)) or not 0 < concentration < np.inf:
        todo = "pass e.g. `concentration=1`"
        raise fail("`concentration` must be a finite number > 0", concentration, "", todo)
    if (attempts["correct"].notnull().sum("attempt") == 1).all():
        return SingleAnswers(attempts, float(concentration))
    if slice_dims(attempts):
        apart = without_slices(attempts)
        posteriors = [
            repeated_items(apart.isel(item=items), concentration=concentration)
            if len(items)
            else None
            for items in items_of_slices(attempts)
        ]
        return RepeatedItemsBySlice(attempts, posteriors)
    posterior = RepeatedItems(attempts, float(concentration))
    if posterior.group is not None:
        _check_groups(posterior.group)
    return posterior


def _check_groups(group):
    """Raise an error if there are too few groups of items."""
    if (number := len(np.unique(group))) < _FEWEST:
        raise fail(
            f"At least {_FEWEST} groups of items are needed",
            number,
            "",
            "use `from_attempts` without group to treat items as independent",
        )


def check_reach(measure: Callable, reach: int, *, of_all_items: bool) -> None:
    """
    Raise an error if a measure needs more answers than most items have.

    One answer to each item identifies the mean over the population of items, but not how items
    differ. Rates with the same mean may be all equal, or all 0 and 1.

    Parameters
    ----------
    measure : callable
    reach : int
        Number of attempts that most items have.
    of_all_items : bool
        Whether the estimand is the population of items, not the observed or a new item.
    """
    form, name = getattr(measure, "form", None), getattr(measure, "__name__", repr(measure))
    least = form.answers if isinstance(form, Repeated) else 2 if reach < 2 else 1
    if not of_all_items:
        least = max(least, 2)
    if least <= reach:
        return
    attempts = f"{reach} attempt{'s' if reach > 1 else ''}"
    what = f"{name} needs at least {least} attempts per item; most items have {attempts}"
    todo = "use the mean" if reach < 2 else f"use at most {reach}"
    raise fail(what, ..., "", f"{todo}, or collect at least {least} attempts per item")


def _few_items(items: int, concentration: float, estimated: str) -> list[str]:
    """Return a caution if there are too few items for results about other items."""
    if estimated == "share_item" or items >= _FEW_ITEMS:
        return []
    others = "a new item" if estimated == "share_new" else "the population of items"
    number = "1 item" if items == 1 else f"{items} items"
    prior = f"{concentration:g} item{'s' if concentration != 1 else ''}"
    return [
        f"With only {number}, the estimate for {others} depends strongly on the prior (worth "
        f'{prior}). Use of="finite" for the observed items, or evaluate at least six items.'
    ]


ESTIMANDS = {
    "parameter": "share",
    "population": "share",  # population of items: shares of the components
    "finite": "share_item",  # observed items: number in each component
    "new": "share_new",  # one new item from a sampled component
    "predictive": "share_item",  # one further run at the observed items
}


class SingleAnswers(SlicedItems):
    """
    Posterior of the mean of items with one answer each.

    Attributes
    ----------
    evidence : Dataset
        Canonical attempts, one per system and item.
    right : ndarray, shape (K, n)
        1 for correct answers of each system, else 0.
    group : ndarray, shape (n,), or None
        Index of the group of each item, if there are groups.
    concentration : float
        Pseudo-items of the prior.
    """

    measured_variable = "attempts"
    estimands = ESTIMANDS
    has_model = False  # one attempt does not show how items differ
    how = "draws of the shares of items by the Bayesian bootstrap"
    reach = 1

    def __init__(self, evidence: xr.Dataset, concentration: float):
        self.evidence, self.concentration = evidence, concentration
        self.right = np.atleast_2d(np.nansum(evidence["correct"].values, axis=-1))
        self.group = None
        if "group" in evidence.coords:
            _, self.group = np.unique(evidence["group"].values, return_inverse=True)
            for items in self.slices:
                if len(items):
                    _check_groups(self.group[items])

    @property
    def observed(self) -> xr.DataArray:
        """The answers."""
        return self.evidence["correct"]

    @cached_property
    def batch(self) -> xr.DataArray:
        """The number of items of each slice and system."""
        numbers = np.repeat([len(items) for items in self.slices], len(self.right))
        return self.template.to_dataarray(numbers.reshape(self.template.shape))

    @property
    def values_per_draw(self) -> int:
        """The number of values in memory for one draw."""
        return self.right.shape[1] + 2 * len(self.right)

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return a caution about few items."""
        fewest = min(len(items) for items in self.slices if len(items))
        return _few_items(fewest, self.concentration, self.estimands[of])

    def value(self, measure: Callable, population: Rates, items: np.ndarray) -> np.ndarray:
        """Return the mean of a population; reject measures that need more answers."""
        check_reach(measure, self.reach, of_all_items=True)
        return measure(population)

    def population(self, items: np.ndarray, size: int, rng: np.random.Generator, of: str) -> Rates:
        """Sample the proportion of items in the population that each system solves."""
        self._check_estimand(of)
        systems, pseudo_items = len(self.right), rng.standard_gamma(self.concentration, (size, 1))
        half = self.concentration / 2
        right = pseudo_items * rng.beta(half, half, (size, systems))
        if self.group is None:
            weight = rng.standard_exponential((size, len(items)))
        else:
            _, group = np.unique(self.group[items], return_inverse=True)
            shape = bayesian_bootstrap.student_shape(group.max() + 1) if len(items) else 1.0
            number = group.max() + 1 if len(items) else 0
            weight = (rng.standard_gamma(shape, (size, number)) / shape)[:, group]
        total = weight.sum(axis=1, keepdims=True) + pseudo_items
        return self._rates((right + weight @ self.right[:, items].T) / total, items)

    def sample(self, items: np.ndarray) -> Rates:
        """Return the proportion of correct answers of each system, as one draw."""
        with np.errstate(invalid="ignore"):
            return self._rates(self.right[None, :, items].sum(axis=2) / len(items), items)

    def _rates(self, mean, items):
        """Return the distribution of the rates 0 and 1, with NaN for a slice without items."""
        mean = mean if len(items) else np.full_like(mean, np.nan)
        return Rates(np.array([0.0, 1.0]), np.stack([1 - mean, mean], axis=-1))

    def _check_estimand(self, of):
        if self.estimands[self.resolve_estimand(of)] != "share":
            check_reach(MEAN, self.reach, of_all_items=False)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the proportion of correct answers, ([slices], [K])."""
        self._check_estimand(of)
        return super().point(measure, of)

    def exact_distribution(self, measure: Any, *, of: str = "parameter", n: Any = None) -> Any:
        """Return the beta distribution of the mean, or None for items in groups."""
        self._check_estimand(of)
        check_reach(measure, self.reach, of_all_items=True)
        if self.group is not None or not self.batch.values.all():
            return None
        right = np.stack([self.right[:, items].sum(axis=1) for items in self.slices])
        right, half = right.reshape(self.template.shape), self.concentration / 2
        return Beta(right + half, self.batch.values - right + half)

    def exact_difference(
        self,
        measure: Callable,
        first: Mapping[str, int],
        second: Mapping[str, int],
        *,
        of: str = "parameter",
    ) -> Distribution | None:
        """Return the distribution of the difference between the means of two systems, or None."""
        self._check_estimand(of)
        check_reach(measure, self.reach, of_all_items=True)
        dims = slice_dims(self.evidence)
        if self.group is not None or any(first[dim] != second[dim] for dim in dims):
            return None
        sizes = tuple(self.evidence.sizes[dim] for dim in dims)
        position = np.ravel_multi_index([first[dim] for dim in dims], sizes) if dims else 0
        items, systems = self.slices[position], (first["classifier"], second["classifier"])
        if systems[0] == systems[1] or not len(items):
            return None
        of_first, of_second = self.right[list(systems)][:, items]
        wins, losses = (of_first > of_second).sum(), (of_second > of_first).sum()
        quarter = self.concentration / 4
        return discordant(
            wins + quarter, losses + quarter, len(items) - wins - losses + 2 * quarter
        )

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Raise an error: one answer does not identify the shares of the rates."""
        raise _shares_unknown(self.reach)


def _shares_unknown(attempts):
    return fail(
        f"The distribution of item rates needs at least two attempts for most items; most have "
        f"{attempts}",
        ...,
        "",
        'use the mean: bcm.interval(evidence, "mean")',
    )


class RepeatedItems(Posterior):
    """
    Posterior of the rates of items with several answers.

    Attributes
    ----------
    n_right, n_attempts : ndarray, shape (K, I)
        Correct answers and attempts of each system at each item.
    group : ndarray, shape (I,), or None
        Index of the group of each item, if there are groups.
    reach : int
        Number of attempts that most items have.
    answer : ndarray, shape (K, I, T), or None
        Codes for the answers to each item, equal for equal answers, if known.
    concentration : float
        Pseudo-items of the prior.
    """

    measured_variable = "attempts"
    pairs = ("classifier",)
    cell_prior = False
    estimands = ESTIMANDS
    sampling_method = "gibbs"

    def __init__(self, evidence, concentration):
        self.evidence, self.concentration = evidence, concentration
        table = evidence["correct"]
        self.names = table["classifier"].values.tolist() if "classifier" in table.dims else None
        values = table.values if self.names is not None else table.values[None]
        self.n_right = np.nansum(values, -1)
        self.n_attempts = (~np.isnan(values)).sum(-1).astype(float)
        self.reach = reach(evidence)
        self.answer: Any = None
        if "answer" in evidence:
            self.answer = evidence["answer"].values.reshape(values.shape)
        self.group = None
        if "group" in evidence.coords:
            _, self.group = np.unique(evidence["group"].values, return_inverse=True)

    @property
    def how(self) -> str:  # type: ignore[override]
        """Description of the method that produces the draws."""
        if self.group is None:
            return "draws by Gibbs sampling"
        return (
            "draws by the weighted likelihood bootstrap of the groups; for the observed items, by "
            "Gibbs sampling"
        )

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return cautions about other items: few items, or few attempts."""
        caveats = _few_items(self.n_right.shape[1], self.concentration, self.estimands[of])
        if of == "new" and len(self.n_right) > 1 and self.reach < _FEW_ATTEMPTS:
            caveats.append(
                f"Most items have {self.reach} attempts, which hardly show whether the systems "
                "solve the same items. The difference at one new item may be too uncertain. "
                f"Collect at least {_FEW_ATTEMPTS} attempts per item."
            )
        return caveats

    @property
    def has_model(self) -> bool:
        """Whether there is a PyMC model: for one system and items without groups."""
        return self.names is None and self.group is None

    @property
    def observed(self):
        """The answers."""
        return self.evidence["correct"]

    @cached_property
    def template(self):
        """Labels of the systems, if any."""
        return (
            LabelTemplate()
            if self.names is None
            else LabelTemplate().append_dim("classifier", self.names)
        )

    @cached_property
    def batch(self):
        """The number of items of each system."""
        return self.template.to_dataarray(np.full(self.template.shape, self.n_right.shape[1]))

    @property
    def values_per_draw(self):
        """The number of values in memory for one draw."""
        return 2 * len(self.n_right) * self._components(self.answer is not None)

    def draws_by_default(self, of, *, joint=False):
        """Return the default number of draws."""
        return _DRAWS

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Sample several measures jointly, (size, [K])."""
        for measure in measures:
            self.check_reach(measure, of)
        votes = self.counts_votes(measures)
        shape = (size, *self.template.shape)
        if of == "predictive":
            estimates = [self._estimates_of_run(measure, n) for measure in measures]
            rates = self.rates(self.mixtures(size, rng), of, rng)
            return [values.reshape(shape) for values in self._run(rates, estimates, rng)]
        rates = self.rates(self.mixtures(size, rng, votes=votes), of, rng)
        values = [measure(rates).reshape(shape) for measure in measures]
        if len(self.n_right) == 1 or self.estimands[of] != "share":
            return values
        joint = self._joint_values(measures, size, rng, votes)
        return [_in_order_of(order, draws, rng) for order, draws in zip(joint, values, strict=True)]

    def _estimates_of_run(self, measure, n):
        """Return the estimates (n + 1,) of a measure for 0, 1, ..., n correct answers."""
        attempts = int(self.reach if n is None else n)
        form, name = getattr(measure, "form", None), getattr(measure, "__name__", repr(measure))
        if not isinstance(form, Repeated) or form.of_sample is None or not form.is_mean:
            raise fail(
                f"{name} is not available for one further run, because it is not a mean over items",
                ...,
                "",
                "use mean, flip_rate, pass_at(k) or pass_all(k)",
            )
        if self.counts_votes([measure]):
            raise fail(
                f"{name} is not available for one further run, because it depends on the wrong "
                "answers",
                ...,
                "",
                'remove the answers with evidence.drop_vars("answer")',
            )
        if attempts < form.answers:
            todo = f"pass n={form.answers} or more"
            raise fail(
                f"{name} needs at least {form.answers} attempts per item of the run",
                attempts,
                "",
                todo,
            )
        number = np.array([attempts])
        counts = range(attempts + 1)
        return [form.of_sample(ItemAnswers(np.array([right]), number)) for right in counts]

    def _run(self, rates, estimates, rng):
        """Return the measures (S, K) of one further run at the observed items."""
        n_items, n_outcomes = self.n_right.shape[1], max(map(len, estimates))
        right = np.arange(n_outcomes)
        number = np.rint(rates.weight * n_items).astype(int)
        step = max(1, int(_AT_ONCE / (number[0].size * n_outcomes)))
        shares = []
        for start in range(0, len(number), step):
            part = slice(start, start + step)
            rate = rates.support[part, ..., None]
            probability = np.clip(np.exp(log_binomial(right, n_outcomes - 1, rate)), 0, 1)
            probability /= probability.sum(axis=-1, keepdims=True)  # removes rounding errors
            drawn = rng.multinomial(number[part], probability)
            # Shares of items with 0, 1, ... correct answers.
            shares.append(drawn.sum(axis=-2) / n_items)
        return [np.concatenate(shares) @ np.array(each) for each in estimates]

    def empirical(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the distribution of draws, with the definition of a majority if needed."""
        votes = getattr(getattr(measure, "form", None), "votes", False)
        majority = (
            "the plurality of the answers" if self.answer is not None else "more than half right"
        )
        how = f"{self.how}, {majority}" if votes else self.how
        return Empirical(draws, how=how, effective_draws=_EFFECTIVE_SHARE * len(draws))

    def check_reach(self, measure: Callable, of: str = "parameter") -> None:
        """Raise an error if a measure needs more answers than most items have."""
        of_all_items = self.estimands[self.resolve_estimand(of)] == "share"
        check_reach(measure, self.reach, of_all_items=of_all_items)

    def counts_votes(self, measures: Sequence[Callable]) -> bool:
        """Return True if measures depend on known equalities of wrong answers."""
        votes = any(getattr(getattr(measure, "form", None), "votes", False) for measure in measures)
        return votes and self.answer is not None

    def items(self, *, votes: bool) -> list[Items]:
        """Return the answers of each system to each item."""
        number = np.ones(self.n_right.shape[1], int)
        answers = self.answer if votes else [None] * len(self.n_right)
        log_ways = [None if answer is None else _log_ways(answer) for answer in answers]
        rows = zip(self.n_right, self.n_attempts, log_ways, strict=True)
        return [Items(right, made, number, log_way) for right, made, log_way in rows]

    def prior(self, *, votes: bool) -> np.ndarray:
        """Return the pseudo-items of each component, (M,)."""
        return self.concentration * prior_shares(self._components(votes))

    def _components(self, votes):
        return COMPONENTS_WITH_WAYS if votes else COMPONENTS

    def mixtures(self, size: int, rng: np.random.Generator, *, votes: bool = False) -> Mixtures:
        """Sample the mixtures of all systems by Gibbs sampling."""
        kinds = [equal_items(items) for items in self.items(votes=votes)]
        return draw_mixtures(kinds, self.prior(votes=votes), size, rng)

    def rates(self, mixtures: Mixtures, of: str, rng: np.random.Generator) -> Rates:
        """
        Return the distribution of the rates in draws of mixtures.

        Its weights have shape (S, K, M). A measure such as pass@k is a mean with these weights. One
        new item has a single rate, so that its pass@k varies as much as the items do.
        """
        votes, weight = mixtures.way is not None, mixtures.weight
        if self.estimands[of] == "share_new":
            return self._rates_of_new_item(mixtures, rng)
        if self.estimands[of] == "share_item":
            weight = mixtures.share
        elif self.group is not None:
            return self._rates_by_groups(mixtures, rng)
        way = mixtures.way if votes else 0
        return Rates(mixtures.rate, weight, WRONG if votes else (), way)

    def _rates_by_groups(self, mixtures, rng):
        """Return rates on a grid, with maximum likelihood weights (S, K, M) for weighted groups."""
        size, votes = len(mixtures.weight), mixtures.way is not None
        number = VOTES_GRID if votes else GRID
        ways = len(WRONG) if votes else 1
        grid = np.sin(np.linspace(0, np.pi / 2, number)) ** 2
        support, way = np.repeat(grid, ways), np.tile(np.arange(ways), number)
        kinds = [_likelihood(items, grid) for items in self.items(votes=votes)]
        step = max(1, int(_AT_ONCE / (len(support) + self.n_right.size)))
        parts = []
        for start in range(0, size, step):
            part = slice(start, min(start + step, size))
            item_weights = self._item_weights(part.stop - part.start, rng)
            of_systems = []
            for system, (likelihood, kind) in enumerate(kinds):
                shares = _grid_shares(grid, mixtures.mu[part, system], mixtures.rho[part, system])
                prior = self.concentration * np.repeat(shares, ways, axis=1) / ways
                pseudo_items = np.maximum(rng.standard_gamma(prior), _LEAST_ITEMS)
                weights = item_weights @ np.eye(len(likelihood))[kind]
                steps = _STEPS_WRONG if votes else _STEPS
                of_systems.append(
                    em.mixture_weights(likelihood, weights, pseudo_items, steps=steps)
                )
            parts.append(np.stack(of_systems, axis=1))
        return Rates(support, np.concatenate(parts), WRONG if votes else (), way if votes else 0)

    def _rates_of_new_item(self, mixtures, rng):
        """Return the rate of each system at one new item: an observed item or a pseudo-item."""
        votes, (size, systems, components) = mixtures.way is not None, mixtures.weight.shape
        number = self.n_right.shape[1]
        item = rng.integers(number, size=size)
        unseen = rng.random(size) < self.concentration / (number + self.concentration)
        pseudo_item = rng.choice(components, size, p=prior_shares(components))
        shared, own = rng.random(size), rng.random((size, systems))
        by_shared, by_own, at_pseudo_item = np.empty((3, size, systems), int)
        for system, items in enumerate(self.items(votes=votes)):
            weight, rate = mixtures.weight[:, system], mixtures.rate[:, system]
            way = mixtures.way[:, system] if votes else None
            arrays: list[Any] = [None if array is None else array[item] for array in items]
            probability = binomial_mixture.probabilities(weight, rate, Items(*arrays), way)
            order = rate.argsort(axis=1)
            edges = np.take_along_axis(probability, order, axis=1).cumsum(axis=1)[:, :-1]
            for chosen, uniform in ((by_shared, shared), (by_own, own[:, system])):
                rank = (edges < uniform[:, None]).sum(axis=1, keepdims=True)
                chosen[:, system] = np.take_along_axis(order, rank, axis=1)[:, 0]
            # The components 0 and 1 are the ends. All others are ranked by their rates.
            inner = 2 + rate[:, 2:].argsort(axis=1)
            ranked = np.column_stack([np.zeros(size, int), np.ones(size, int), inner])
            at_pseudo_item[:, system] = ranked[np.arange(size), pseudo_item]
        share = self._share_alike(mixtures.rate, by_shared, by_own)
        component = np.where(rng.random((size, 1)) < share, by_shared, by_own)
        component = np.where(unseen[:, None], at_pseudo_item, component)[..., None]
        way = np.take_along_axis(mixtures.way, component, axis=-1) if votes else 0
        rate = np.take_along_axis(mixtures.rate, component, axis=-1)
        return Rates(rate, np.ones(rate.shape), WRONG if votes else (), way)

    def _share_alike(self, rate, by_shared, by_own):
        """
        Return the proportion of draws in which all systems have rates of the same rank.

        It is chosen so that the covariance of the systems' rates over the items equals the
        covariance of the observed rates, whose errors are independent. Rates that are sampled
        independently have a smaller covariance.
        """
        if rate.shape[1] < 2:
            return 0.0
        with np.errstate(invalid="ignore"):
            observed = self.n_right / self.n_attempts
        observed = observed[:, ~np.isnan(observed).any(axis=0)].T
        if len(observed) < 2:
            return 0.0
        drawn = [
            np.take_along_axis(rate, each[..., None], -1)[..., 0] for each in (by_own, by_shared)
        ]
        # The variance of a sum is the sum of the variances plus twice the covariances.
        target, least, most = (
            np.var(rates.sum(axis=1)) - np.var(rates, axis=0).sum() for rates in (observed, *drawn)
        )
        return float(np.clip((target - least) / (most - least), 0, 1)) if most > least else 0.0

    def _joint_values(self, measures, size, rng, votes):
        """Sample measures (S, K) of all systems by the Bayesian bootstrap of observed rates."""
        with np.errstate(invalid="ignore"):
            rate = self.n_right / self.n_attempts  # shape (K, I), NaN without attempts
        step = max(1, int(_AT_ONCE / rate.size))
        sizes = np.diff([*range(0, size, step), size])
        parts = [self._joint_values_at_once(measures, rate, part, rng, votes) for part in sizes]
        return [np.concatenate(values) for values in zip(*parts, strict=True)]

    def _joint_values_at_once(self, measures, rate, size, rng, votes):
        (systems, items), half = rate.shape, self.concentration / 2
        pseudo = bayesian_bootstrap.draw_disagreement(systems, np.ones(items), half, size, rng)
        ends = np.broadcast_to([0.0, 1.0], (size, systems, 2))
        seen = np.where(np.isnan(rate), np.nanmean(rate, axis=1, keepdims=True), rate)
        observed = np.broadcast_to(seen, (size, *seen.shape))
        support = np.concatenate([observed, pseudo.scores(rate, 0.0, 1.0), ends], axis=-1)
        of_items, of_ends = self._item_weights(size, rng), rng.standard_gamma(half, (size, 2))
        weight = np.concatenate([of_items, pseudo.weight, of_ends], axis=-1)[:, None]
        way: Any = 0
        if votes:  # the most likely pattern of each item
            of_item = np.array([each.log_way.argmax(axis=1) for each in self.items(votes=True)])
            at_pseudo = of_item[:, pseudo.item].swapaxes(0, 1)
            of_item = np.broadcast_to(of_item, (size, *of_item.shape))
            way = np.concatenate([of_item, at_pseudo, np.zeros(ends.shape, int)], axis=-1)
        rates = Rates(
            support,
            weight / weight.sum(axis=-1, keepdims=True),
            WRONG if votes else (),
            way,
        )
        return [measure(rates) for measure in measures]

    def _item_weights(self, size, rng):
        """Return sampled weights of the items (S, I), equal within a group."""
        if self.group is None:
            return rng.standard_exponential((size, self.n_right.shape[1]))
        number = self.group.max() + 1
        shape = bayesian_bootstrap.student_shape(number)
        return (rng.standard_gamma(shape, (size, number)) / shape)[:, self.group]

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """
        Return the value in the sample, ([K]).

        Measures of several answers are averaged over all subsets of the answers to an item.
        Functions that are not part of the package are evaluated at the proportions of correct
        answers.
        """
        self.check_reach(measure, of)
        form, by_system = getattr(measure, "form", None), []
        for system, (right, number) in enumerate(zip(self.n_right, self.n_attempts, strict=True)):
            wrong = _wrong_counts(self.answer[system]) if self.counts_votes([measure]) else None
            answers = ItemAnswers(right.astype(int), number.astype(int), wrong)
            if isinstance(form, Repeated) and form.of_sample is not None:
                by_system.append(form.of_sample(answers))
            else:
                by_system.append(measure(answers.observed_rates)[0])
        return np.reshape(by_system, self.template.shape)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws of the variables of the PyMC model, for one system."""
        if len(self.n_right) > 1:
            todo = "select one: evidence.sel(classifier=...)"
            raise fail("The model supports one system; got {}", self.names, "", todo)
        if self.reach < 2:
            raise _shares_unknown(self.reach)
        drawn, shape = self.mixtures(size, rng), (size, *self.template.shape)
        return {
            "share": drawn.weight.reshape(*shape, -1),
            "rate": drawn.rate[..., 2:].reshape(*shape, -1),
            "mu": drawn.mu.reshape(shape),
            "rho": drawn.rho.reshape(shape),
        }

    def draw_given(
        self,
        variables: Mapping[str, np.ndarray],
        measures: Sequence[Callable],
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """
        Return draws of measures, given draws of the mixture of one system.

        See `Posterior.draw_given`. The component of each observed item is sampled given its
        answers.
        """
        for measure in measures:
            self.check_reach(measure, of)
        if self.counts_votes(measures):
            raise fail(OF_VOTES, ..., "", "use the evidence instead of the fit")
        if not self.has_model:
            raise fail(
                "The PyMC model supports one system, without groups",
                ...,
                "",
                "use the evidence instead of the fit",
            )
        inner = variables["rate"]
        ends = np.broadcast_to([0.0, 1.0], (len(inner), 2))
        rate, weight = np.concatenate([ends, inner], axis=1)[:, None], variables["share"][:, None]
        share = self._share_of_items(weight[:, 0], rate[:, 0], rng)[:, None]
        mu, rho = (variables[name][:, None] for name in ("mu", "rho"))
        rates = self.rates(Mixtures(weight, rate, share, mu, rho), of, rng)
        if of == "predictive":
            estimates = [self._estimates_of_run(measure, n) for measure in measures]
            return [values.reshape(len(inner)) for values in self._run(rates, estimates, rng)]
        return [measure(rates).reshape(len(inner)) for measure in measures]

    def _share_of_items(self, weight, rate, rng):
        """Sample the share (S, M) of the items in each component, given the mixture."""
        number = np.zeros(weight.shape)
        for right, made in zip(self.n_right[0], self.n_attempts[0], strict=True):
            with np.errstate(divide="ignore"):
                logs = np.log(weight) + xlogy(right, rate) + xlog1py(made - right, -rate)
            chance = np.exp(logs - logs.max(axis=1, keepdims=True)).cumsum(axis=1)
            drawn = (chance < rng.random((len(chance), 1)) * chance[:, -1:]).sum(axis=1)
            number[np.arange(len(chance)), drawn] += 1
        return number / self.n_right.shape[1]

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log density of the variables of one system, up to a constant."""
        from scipy import stats  # slow to import and needed only for this density

        mu, rho = np.squeeze(variables["mu"]), np.squeeze(variables["rho"])
        inner, share = np.squeeze(variables["rate"]), np.squeeze(variables["share"])
        density = stats.beta(0.5, 0.5).logpdf(mu) + stats.beta(0.25, 1).logpdf(rho)
        density += stats.beta(*binomial_mixture.base(mu, rho)).logpdf(inner).sum()
        density += stats.dirichlet(self.prior(votes=False)).logpdf(share / share.sum())
        rate = np.concatenate([[0.0, 1.0], inner])
        right, number = self.n_right[0][:, None], self.n_attempts[0][:, None]
        parts = np.log(share) + stats.binom(number, rate).logpmf(right)
        return density + logsumexp(parts, axis=1).sum()


class RepeatedItemsBySlice(SlicedItems):
    """
    Posteriors of the items of separate slices.

    Attributes
    ----------
    evidence : Dataset
        Attempts of all slices.
    posteriors : list of RepeatedItems or None
        Posterior of each slice; slices along several dimensions are in C order. None for a slice
        without items, whose results are NaN.
    """

    measured_variable = "attempts"
    has_model = False
    estimands = RepeatedItems.estimands
    sampling_method = "gibbs"

    def __init__(self, evidence, posteriors):
        self.evidence, self.posteriors = evidence, posteriors
        self._first = next(filter(None, posteriors))
        self.how = self._first.how

    @property
    def observed(self):
        """The answers."""
        return self.evidence["correct"]

    @cached_property
    def batch(self):
        """The number of items of each slice and system."""
        numbers = np.repeat([len(items) for items in self.slices], self._first.template.size)
        return self.template.to_dataarray(numbers.reshape(self.template.shape))

    @property
    def values_per_draw(self):
        """The largest number of values of one slice, because slices are sampled one by one."""
        return max(posterior.values_per_draw for posterior in filter(None, self.posteriors))

    def draws_by_default(self, of, *, joint=False):
        """Return the default number of draws."""
        return _DRAWS

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return the distinct cautions of all slices."""
        caveats = [posterior.caveats(of) for posterior in filter(None, self.posteriors)]
        return list(dict.fromkeys(sentence for sentences in caveats for sentence in sentences))

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Sample several measures jointly, (size, slices, [K])."""
        without_items = [np.full((size, *self._first.template.shape), np.nan)] * len(measures)
        by_slice = [
            without_items if posterior is None else posterior.draw(measures, size, rng, of=of, n=n)
            for posterior in self.posteriors
        ]
        shape = (size, *self.template.shape)
        return [np.stack(draws, axis=1).reshape(shape) for draws in zip(*by_slice, strict=True)]

    def empirical(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the distribution of draws, with the definition of a majority if needed."""
        return self._first.empirical(measure, draws)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the value in the sample of each slice."""
        without_items = np.full(self._first.template.shape, np.nan)
        values = [
            without_items if posterior is None else posterior.point(measure, of)
            for posterior in self.posteriors
        ]
        return np.reshape(values, self.template.shape)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Raise an error: the PyMC model supports only one sample of items."""
        raise fail(
            "The model does not support slices along {}",
            slice_dims(self.evidence),
            "",
            "fit the items of one slice, built with `from_attempts`",
        )


def _in_order_of(template, draws, rng):
    """
    Reorder the draws (S, K) of each system to match the ranks of a template.

    Ties are broken at random.
    """
    order = np.lexsort((rng.random(template.shape), template), axis=0).argsort(axis=0)
    return np.take_along_axis(np.sort(draws, axis=0), order, axis=0)


def prior_shares(components: int) -> np.ndarray:
    """Return the prior share of items per component, equal except for rates 0 and 1."""
    shares = np.full(components, (1 - 2 * END) / (components - 2))
    shares[:2] = END
    return shares


def equal_items(items: Items) -> Items:
    """Return the kinds of items with equal answers, and their counts."""
    keys = [items.right, items.number]
    if items.log_way is not None:
        keys.extend(items.log_way.T)
    _, first, count = np.unique(
        np.column_stack(keys), axis=0, return_index=True, return_counts=True
    )
    log_way = None if items.log_way is None else items.log_way[first]
    return Items(items.right[first], items.number[first], count, log_way)


def draw_mixtures(
    sets: Sequence[Items],
    prior: np.ndarray,
    size: int,
    rng: np.random.Generator,
    *,
    chains: int = CHAINS,
) -> Mixtures:
    """Sample the mixtures (size, K, M) of several sets of items."""
    chains = min(size, chains)
    return binomial_mixture.draw(sets, prior, size, rng, burn=BURN, chains=chains, thin=THIN)


def _likelihood(items, grid):
    """Return the likelihood (D, M) of kinds of items on a grid, and the kind of each item."""
    keys = np.column_stack(
        [items.right, items.number, *(() if items.log_way is None else items.log_way.T)]
    )
    _, first, kind = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    right, number = items.right[first, None], items.number[first, None]
    logs = (xlogy(right, grid) + xlog1py(number - right, -grid))[..., None]
    if items.log_way is not None:
        logs = logs + items.log_way[first, None]
    logs = logs.reshape(len(first), -1)
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True)).astype(np.float32)
    likelihood[likelihood < _LEAST_LIKELIHOOD] = 0
    return likelihood, kind.ravel()


def _grid_shares(grid, mu, rho):
    """Return the prior share (S, G) of items at each rate of a grid."""
    angle = np.arcsin(np.sqrt(grid))
    edges = np.sin((angle[1:] + angle[:-1]) / 2) ** 2
    first, second = binomial_mixture.base(mu, rho)
    below = betainc(first[:, None], second[:, None], edges)
    # Rounding could give negative values.
    between = np.maximum(np.diff(below, axis=1, prepend=0, append=1), 0)
    shares = (1 - 2 * END) * between
    shares[:, [0, -1]] += END
    return shares


def _wrong_counts(answer):
    """Return the counts of the wrong answers to each item (I, T), most frequent first."""
    codes = range(1, int(np.nanmax(answer)) + 1)
    counts = np.array([(answer == code).sum(axis=1) for code in codes]).reshape(-1, len(answer))
    return -np.sort(-counts.T, axis=1)


def _log_ways(answer):
    """Return the log probability (I, J) of the equalities of wrong answers for each pattern."""
    counts = _wrong_counts(answer)
    return np.maximum(np.stack([wrong.alike(counts) for wrong in WRONG], axis=1), _IMPOSSIBLE)
