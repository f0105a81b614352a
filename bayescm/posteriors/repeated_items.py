r"""
The direct posterior of `bayescm.models.repeated_items`: items that were answered several times.

**One answer to each item** (`SingleAnswers`) tells the mean of all items like these and nothing
else, as the likelihood of the shares hangs on the mean of the rates alone. With x right answers of
n and a pseudo-items, half of them right, the mean is Beta(x + a / 2, n - x + a / 2), by Jeffreys'
prior where a = 1. Where two systems answer the same items, of which the first alone has w right and
the second alone l, the difference of their means is W - L of

.. math:: (W, L, \cdot) \sim \mathrm{Dirichlet}(w + a/4, \; l + a/4, \; n - w - l + a/2),

`bayescm.distributions.differences.Discordant`: in the pseudo-items they are right independently of
one another. Nothing is drawn but ranks, which are of all systems at once, and items in groups.

**Several answers.**
Every item is of a sort m: it has a rate of right answers and, where the wrong answers are known, a
way in which these are shared. The shares w of the sorts have the prior Dirichlet(a), and with the
likelihoods :math:`L_{dm}` of the :math:`n_d` items whose answers have the pattern d, the posterior
is

.. math::

    p(w \mid n) \propto \prod_m w_m^{a_m - 1} \prod_d \Bigl(\sum_m w_m L_{dm}\Bigr)^{n_d},

a mixture of known components. Draws are by Gibbs sampling (`bayescm.inference.gibbs`), its mode is
that of EM (`bayescm.inference.em`).

What the model leaves open comes from the weighted likelihood bootstrap (Newton & Raftery 1994):
each of its draws weighs the items by independent exponential (gamma) numbers, and the pseudo-items
of the prior by gamma numbers of their own, and maximises the likelihood of the mixture. (1) How
systems that answered the same items depend on one another: all of them weigh the items alike, and
the draws of every system's own posterior are put into the order of its draws there (Schefzik,
Thorarinsdottir & Gneiting 2013). (2) Items that come in groups: whole groups are weighed, and all
items like these are drawn so.

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
from scipy.special import xlog1py, xlogy

from bayescm.distributions.base import Distribution
from bayescm.distributions.beta import Beta
from bayescm.distributions.differences import discordant
from bayescm.distributions.empirical import Empirical
from bayescm.evidence.attempts import as_attempts, reach
from bayescm.evidence.clusters_and_slices import items_of_slices, slice_dims, without_slices
from bayescm.inference import bayesian_bootstrap, em, gibbs
from bayescm.measures.attempts import ItemAnswers, Rates, Wrong
from bayescm.measures.attempts import mean as MEAN
from bayescm.measures.measure import Repeated
from bayescm.posteriors.base import LabelTemplate, Posterior
from bayescm.posteriors.sliced_items import SlicedItems
from bayescm.validate import fail

# Draws by default: the ends of a 95 % interval then err by less than a tenth of a standard
# deviation (differences of 100 to 5,000 items with 4 and 8 answers, four seeds each).
_DRAWS = 4000
_AT_ONCE = 2e6  # numbers in memory at once, 16 MB of each array
# Fewer groups of items are refused: beside four or fewer the prior, which counts as one, is a fifth
# or more of what all items are known by. Fewer items without groups are cautioned of than six: of
# five that are always right or always wrong pass@4 of all is held in .80 (docs/results/
# small_evidence.csv).
_FEWEST, _FEW_ITEMS = 5, 6

# The sorts of items: rates, and ways in which wrong answers are shared (one wrong answer, a common
# one among others, some alike, and hardly ever the same twice).
SUPPORT = np.sin(np.linspace(0, np.pi / 2, 21)) ** 2
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
_EXTREME = 0.05  # of the prior, at a rate of 0 and of 1

# Sweeps of each chain of the Gibbs sampler, from the mean of the prior, and moves between
# neighbours in each sweep. With these 2,000 draws were as near to 2,000 chains of 150 sweeps as two
# samples of one distribution are (largest distance .05 of ten measures), with 12, 50, 164, 500 and
# 5,000 items, 3 to 64 answers to each, 200 items with no right answer of eight, and pluralities of
# 30 and 164 items. Of 2,000 items with ten answers one distance was .12, means and standard
# deviations within a tenth of the latter. Without the moves up to 350 sweeps are worth one
# independent draw. A chain gives ten draws, so many sweeps apart: 4,000 draws take the time of
# 1,000 chains. They are worth .63 or more of as many independent ones, most of them .9 and more
# (means and tails of four measures, 12 to 2,000 items with 2 to 40 answers, 16,000 draws).
_SWEEPS, _MOVES, _THIN = 30, 10, 5
_DRAWS_OF_CHAIN, _FEWEST_CHAINS, _EFFECTIVE_SHARE = 10, 100, 0.6
# Steps of EM, where the sorts are rates alone, and where ways to be wrong are told apart as well.
_STEPS, _STEPS_WRONG = 40, 120
# EM is in single precision, a thousand times finer than the draws. Likelihoods below so much of the
# largest are taken for 0, and pseudo-items for no fewer, as denormal numbers take ten times as
# long.
_LEAST_LIKELIHOOD, _LEAST_ITEMS = 1e-12, 1e-20


def repeated_items(attempts: xr.Dataset, *, concentration: float = 1.0) -> Posterior:
    """
    Return the posterior of the rates of items that were answered several times.

    Parameters
    ----------
    attempts : xarray.Dataset
        From :func:`bayescm.from_attempts`. Items that come in groups are drawn by their groups.
        Every slice has a posterior of its own.
    concentration : float, default 1
        Prior pseudo-items, > 0; a tenth of them are at the rates 0 and 1.

    Returns
    -------
    RepeatedItems or RepeatedItemsBySlice
        Of one answer to each item `SingleAnswers`.

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
        todo = "pass e.g. concentration=1"
        raise fail("concentration must be positive", concentration, "a number > 0", todo)
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
    """Raise where the groups of some items are too few to tell of others."""
    if (number := len(np.unique(group))) < _FEWEST:
        todo = (
            "what few groups share is not known; from_attempts without group takes items as alike"
        )
        raise fail("too few groups of items", number, f"{_FEWEST} or more", todo)


def check_reach(measure: Callable, reach: int, *, of_all_items: bool) -> None:
    """
    Refuse what is about more answers than most items have.

    One answer to each item tells the mean of all items like these, and not how items differ: with
    the same mean their rates may be all the same or all 0 and 1.

    Parameters
    ----------
    measure : callable
    reach : int
        How many attempts most items have.
    of_all_items : bool
        Whether it is about all items like these, and not about those at hand or a new one.
    """
    form, name = getattr(measure, "form", None), getattr(measure, "__name__", repr(measure))
    least = form.answers if isinstance(form, Repeated) else 2 if reach < 2 else 1
    if not of_all_items:
        least = max(least, 2)
    if least <= reach:
        return
    attempts = f"{reach} attempt{'s' if reach > 1 else ''}"
    todo = f"ask for at most {reach}, or sample {least} answers to each item"
    what = f"{name} is about more answers than most items have"
    if reach < 2:
        what = f"{name} hangs on how items differ, which one answer to each does not tell"
        todo = f"ask for the mean of all items like these, or sample {least} answers to each"
    raise fail(what, attempts, f"{least} attempts or more", todo)


def _few_items(items: int, concentration: float, estimated: str) -> list[str]:
    """Say that few items tell little of others."""
    if estimated == "share_item" or items >= _FEW_ITEMS:
        return []
    others = "a new item" if estimated == "share_new" else "all items like these"
    number = "1 item is" if items == 1 else f"{items} items are"
    prior = f"{concentration:g} item{'s' if concentration != 1 else ''}"
    return [
        f"{number} few: what is said of {others} depends on the prior, which counts as {prior} "
        'more. Ask about the items at hand with of="finite", or answer six items or more.'
    ]


ESTIMANDS = {
    "parameter": "share",
    "population": "share",  # all items like these: the shares of the sorts of items
    "finite": "share_item",  # the items at hand: how many are of each sort
    "new": "share_new",  # one item not seen yet, of one sort that is drawn by the shares
}


class SingleAnswers(SlicedItems):
    """
    The posterior of the mean of items that were answered once.

    Attributes
    ----------
    evidence : Dataset
        Canonical attempts, one of each system at every item.
    right : ndarray, shape (K, n)
        Which answers of each system are right, 1 or 0.
    group : ndarray, shape (n,), or None
        The number of the group that each item belongs to, where they come in groups.
    concentration : float
        Pseudo-items of the prior.
    """

    measured_variable = "attempts"
    estimands = ESTIMANDS
    has_model = False  # which has no rates: one attempt does not show how items differ
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
        """The number of items, for every slice and system."""
        numbers = np.repeat([len(items) for items in self.slices], len(self.right))
        return self.template.to_dataarray(numbers.reshape(self.template.shape))

    @property
    def values_per_draw(self) -> int:
        """The weights of all items, and two numbers of each system."""
        return self.right.shape[1] + 2 * len(self.right)

    def caveats(self, of: str = "parameter") -> list[str]:
        """Say that few items tell little of others."""
        fewest = min(len(items) for items in self.slices if len(items))
        return _few_items(fewest, self.concentration, self.estimands[of])

    def value(self, measure: Callable, population: Rates, items: np.ndarray) -> np.ndarray:
        """Return the mean of a population; what one answer to each does not tell is refused."""
        check_reach(measure, self.reach, of_all_items=True)
        return measure(population)

    def population(self, items: np.ndarray, size: int, rng: np.random.Generator, of: str) -> Rates:
        """Draw how many of all items like some are answered rightly by each system."""
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
        """Return the share of right answers of each system, as one draw."""
        with np.errstate(invalid="ignore"):
            return self._rates(self.right[None, :, items].sum(axis=2) / len(items), items)

    def _rates(self, mean, items):
        """Return items that are answered rightly always or never; NaN of a slice without items."""
        mean = mean if len(items) else np.full_like(mean, np.nan)
        return Rates(np.array([0.0, 1.0]), np.stack([1 - mean, mean], axis=-1))

    def _check_estimand(self, of):
        if self.estimands[self.resolve_estimand(of)] != "share":
            check_reach(MEAN, self.reach, of_all_items=False)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the share of right answers, ([slices], [K])."""
        self._check_estimand(of)
        return super().point(measure, of)

    def exact_distribution(self, measure: Any, *, of: str = "parameter", n: Any = None) -> Any:
        """Return the beta distribution of the mean; None where items come in groups."""
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
        """Return the difference of the means of two systems; None where items come in groups."""
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
        """Refuse: the model is of how items differ."""
        raise _shares_unknown(self.reach)


def _shares_unknown(attempts):
    todo = 'ask the evidence itself for the mean: bcm.interval(evidence, "mean")'
    what = "the shares of the rates are not known of one attempt at most items"
    return fail(what, attempts, "2 attempts or more", todo)


class RepeatedItems(Posterior):
    """
    The posterior of the rates of items that were answered several times.

    Attributes
    ----------
    n_right, n_attempts : ndarray, shape (K, I)
        Right answers and attempts of each system at each item.
    group : ndarray, shape (I,), or None
        The number of the group that each item belongs to, where they come in groups.
    reach : int
        How many attempts most items have.
    answer : ndarray, shape (K, I, T), or None
        Which answers of an item are equal, where that is known.
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
        self.answer = None
        if "answer" in evidence:
            self.answer = evidence["answer"].values.reshape(values.shape)
        self.group = None
        if "group" in evidence.coords:
            _, self.group = np.unique(evidence["group"].values, return_inverse=True)

    @property
    def how(self) -> str:  # type: ignore[override]
        """How the draws are made."""
        if self.group is None:
            return "draws by Gibbs sampling"
        return (
            "draws by the weighted likelihood bootstrap of the groups; of the items at hand, by "
            "Gibbs sampling"
        )

    def caveats(self, of: str = "parameter") -> list[str]:
        """Say that few items tell little of others."""
        return _few_items(self.n_right.shape[1], self.concentration, self.estimands[of])

    @property
    def has_model(self) -> bool:
        """Whether there is a PyMC model: of one system, on items that do not come in groups."""
        return self.names is None and self.group is None

    @property
    def observed(self):
        """The answers."""
        return self.evidence["correct"]

    @cached_property
    def template(self):
        """The systems."""
        return (
            LabelTemplate()
            if self.names is None
            else LabelTemplate().append_dim("classifier", self.names)
        )

    @cached_property
    def batch(self):
        """The number of items, for every system."""
        return self.template.to_dataarray(np.full(self.template.shape, self.n_right.shape[1]))

    @property
    def values_per_draw(self):
        """The shares of the sorts of items, of each system."""
        mixture = RATES_ONLY if self.answer is None else RATES_AND_WRONG
        return len(self.n_right) * len(mixture.prior)

    def draws_by_default(self, of, *, joint=False):
        """Return how many draws are made where nothing else is asked for."""
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
        """Draw several measures jointly, (size, [K])."""
        for measure in measures:
            self.check_reach(measure, of)
        mixture = self.mixture(measures)
        shares = self.draw_shares(mixture, of, size, rng)
        shares = shares.reshape(size, *self.template.shape, -1)
        rates = Rates(mixture.support, shares, mixture.wrong)
        values = [measure(rates) for measure in measures]
        paired = len(self.n_right) > 1 and self.group is None
        if not paired or self.estimands[of] != "share":
            return values
        rates = Rates(mixture.support, self.bootstrap(mixture, size, rng), mixture.wrong)
        return [
            _in_order_of(measure(rates), draws, rng)
            for measure, draws in zip(measures, values, strict=True)
        ]

    def empirical(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the distribution of draws, which of a majority says which."""
        votes = getattr(getattr(measure, "form", None), "votes", False)
        majority = (
            "the plurality of the answers" if self.answer is not None else "more than half right"
        )
        how = f"{self.how}, {majority}" if votes else self.how
        return Empirical(draws, how=how, effective_draws=_EFFECTIVE_SHARE * len(draws))

    def check_reach(self, measure: Callable, of: str = "parameter") -> None:
        """Refuse what is about more answers than most items have."""
        of_all_items = self.estimands[self.resolve_estimand(of)] == "share"
        check_reach(measure, self.reach, of_all_items=of_all_items)

    def mixture(self, measures: Sequence[Callable]) -> "Mixture":
        """Return the sorts of items, as far as they matter for the measures."""
        votes = any(getattr(getattr(measure, "form", None), "votes", False) for measure in measures)
        return RATES_AND_WRONG if votes and self.answer is not None else RATES_ONLY

    def patterns(self, mixture: "Mixture") -> list[np.ndarray]:
        """Return what the answers of each system to every item are like; see `Mixture`."""
        answers = [None] * len(self.n_right) if self.answer is None else self.answer
        systems = zip(self.n_right, self.n_attempts, answers, strict=True)
        return [mixture.patterns(*system) for system in systems]

    def draw_shares(
        self, mixture: "Mixture", of: str, size: int, rng: np.random.Generator
    ) -> np.ndarray:
        """
        Draw the share of items of every sort, (size, K, M); of one new item 1 for its sort.

        A measure such as pass@k is its mean over the sorts, weighted by these: pass@k of one new
        item varies as the items do, that of all items like these does not.
        """
        finite = self.estimands[of] == "share_item"
        if self.group is not None and not finite:
            shares = self.bootstrap(mixture, size, rng)
        else:
            prior = self.concentration * mixture.prior
            patterns = self.patterns(mixture)
            shares = mixture.gibbs_shares(patterns, prior, size, rng, finite=finite)
        if self.estimands[of] == "share_new":
            return rng.multinomial(1, shares / shares.sum(-1, keepdims=True)).astype(float)
        return shares

    def bootstrap(self, mixture: "Mixture", size: int, rng: np.random.Generator) -> np.ndarray:
        """
        Draw the shares (size, K, M) by the weighted likelihood bootstrap.

        All systems weigh the same items alike.
        """
        step = max(1, int(_AT_ONCE / (self.n_right.size + len(mixture.prior))))
        sizes = np.diff([*range(0, size, step), size])
        return np.concatenate([self._bootstrap_at_once(mixture, n, rng) for n in sizes])

    def _bootstrap_at_once(self, mixture, size, rng):
        weights = self._item_weights(size, rng)
        prior = self.concentration * mixture.prior
        shares = np.empty((size, len(self.n_right), len(prior)))
        for system, patterns in enumerate(self.patterns(mixture)):
            unique, index, count = np.unique(
                patterns, axis=0, return_inverse=True, return_counts=True
            )
            # Each system has pseudo-items of its own: what was not seen is not alike in all.
            pseudo_items = rng.gamma(prior, size=(size, len(prior)))
            ordered = weights[:, np.argsort(index.ravel(), kind="stable")]
            of_pattern = np.add.reduceat(ordered, np.cumsum(count) - count, axis=1)
            shares[:, system] = mixture.most_likely_shares(unique, of_pattern, pseudo_items)
        return shares

    def _item_weights(self, size, rng):
        """Weigh the items (S, I), all of a group alike."""
        if self.group is None:
            return rng.standard_exponential((size, self.n_right.shape[1]))
        number = self.group.max() + 1
        shape = bayesian_bootstrap.student_shape(number)
        return (rng.standard_gamma(shape, (size, number)) / shape)[:, self.group]

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """
        Return the value in the sample, ([K]): over all ways to choose as many answers to an item.

        A function of the rates that is not of the package is taken of the shares of right answers.
        """
        self.check_reach(measure, of)
        form, patterns = getattr(measure, "form", None), self.patterns(self.mixture([measure]))
        by_system = []
        for right, number, *wrong in (np.rint(rows).astype(int).T for rows in patterns):
            answers = ItemAnswers(right, number, np.transpose(wrong) if wrong else None)
            if isinstance(form, Repeated) and form.of_sample is not None:
                by_system.append(form.of_sample(answers))
            else:
                by_system.append(measure(answers.observed_rates)[0])
        return np.reshape(by_system, self.template.shape)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, M) of the shares of the rates, of one system."""
        if len(self.n_right) > 1:
            todo = "select one: evidence.sel(classifier=...)"
            raise fail("the model takes one system", self.names, "one", todo)
        if self.reach < 2:
            raise _shares_unknown(self.reach)
        shares = self.draw_shares(RATES_ONLY, "parameter", size, rng)
        return {"share": shares.reshape(size, *self.template.shape, len(SUPPORT))}


class RepeatedItemsBySlice(SlicedItems):
    """
    The posteriors of the items of every slice, which know nothing of one another.

    Attributes
    ----------
    evidence : Dataset
        The attempts of all slices.
    posteriors : list of RepeatedItems or None
        Of every slice, those of several dims in C order; None of one without items, which is NaN.
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
        """The number of items, for every slice and system."""
        numbers = np.repeat([len(items) for items in self.slices], self._first.template.size)
        return self.template.to_dataarray(numbers.reshape(self.template.shape))

    @property
    def values_per_draw(self):
        """The most that one of the slices has in memory: they are drawn one by one."""
        return max(posterior.values_per_draw for posterior in filter(None, self.posteriors))

    def draws_by_default(self, of, *, joint=False):
        """Return how many draws are made where nothing else is asked for."""
        return _DRAWS

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return what any of the slices makes doubtful."""
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
        """Draw several measures jointly, (size, slices, [K])."""
        without_items = [np.full((size, *self._first.template.shape), np.nan)] * len(measures)
        by_slice = [
            without_items if posterior is None else posterior.draw(measures, size, rng, of=of)
            for posterior in self.posteriors
        ]
        shape = (size, *self.template.shape)
        return [np.stack(draws, axis=1).reshape(shape) for draws in zip(*by_slice, strict=True)]

    def empirical(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the distribution of draws, which of a majority says which."""
        return self._first.empirical(measure, draws)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the value in the sample of every slice."""
        without_items = np.full(self._first.template.shape, np.nan)
        values = [
            without_items if posterior is None else posterior.point(measure, of)
            for posterior in self.posteriors
        ]
        return np.reshape(values, self.template.shape)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Refuse: the model is of one sample of items."""
        todo = "fit the items of one slice, made with from_attempts"
        raise fail("the model takes no slices", slice_dims(self.evidence), "none", todo)


def _in_order_of(template, draws, rng):
    """Put the draws (S, K) of every system into the order of others, ties by lot."""
    order = np.lexsort((rng.random(template.shape), template), axis=0).argsort(axis=0)
    return np.take_along_axis(np.sort(draws, axis=0), order, axis=0)


class Mixture:
    """
    The sorts of items, and what is known of their shares.

    The **pattern** of an item is how many answers are right, how many there are, and how often each
    wrong answer was given, the most frequent first, where that matters.

    Attributes
    ----------
    wrong : tuple of Wrong
        The ways in which wrong answers are shared, or nothing where they are all the same to us.
    support : ndarray, shape (M,)
        The rate of right answers of each sort: rates, each with every way in turn.
    prior : ndarray, shape (M,)
        What share of the items each has a priori.
    """

    def __init__(self, wrong: tuple[Wrong, ...] = ()):
        self.wrong, ways = wrong, max(len(wrong), 1)
        self._steps = _STEPS_WRONG if wrong else _STEPS
        shares = np.full(len(SUPPORT), (1 - 2 * _EXTREME) / (len(SUPPORT) - 2))
        shares[[0, -1]] = _EXTREME
        self.support, self.prior = np.repeat(SUPPORT, ways), np.repeat(shares / ways, ways)

    def patterns(
        self, n_right: np.ndarray, n_attempts: np.ndarray, answer: np.ndarray | None
    ) -> np.ndarray:
        """
        Return the pattern of every item, (I, 2 + T).

        Parameters
        ----------
        n_right, n_attempts : ndarray, shape (I,)
        answer : ndarray, shape (I, T), or None
        """
        if not self.wrong or answer is None:
            return np.stack([n_right, n_attempts], 1)
        counts = [(answer == code).sum(1) for code in range(1, int(np.nanmax(answer)) + 1)]
        return np.stack([n_right, n_attempts, *-np.sort(-np.array(counts), axis=0)], 1)

    def likelihood(self, patterns: np.ndarray) -> np.ndarray:
        """Return the likelihood (D, M) of patterns, of each up to a factor."""
        right, attempts = patterns[:, 0, None], patterns[:, 1, None]
        rate = _exp_scaled(xlogy(right, SUPPORT) + xlog1py(attempts - right, -SUPPORT))
        if not self.wrong:
            return rate
        counts = patterns[:, 2:].astype(int)
        pattern_likelihood = _exp_scaled(np.stack([wrong.alike(counts) for wrong in self.wrong], 1))
        return (rate[:, :, None] * pattern_likelihood[:, None]).reshape(len(patterns), -1)

    def gibbs_shares(
        self,
        patterns: Sequence[np.ndarray],
        prior: np.ndarray,
        size: int,
        rng: np.random.Generator,
        *,
        finite: bool,
        chains: int | None = None,
    ) -> np.ndarray:
        """
        Draw the shares (size, K, M) of several sets of items by Gibbs sampling, all at once.

        Parameters
        ----------
        patterns : sequence of K ndarrays, shape (I, 2 + T)
        prior : ndarray, shape (M,)
            Pseudo-items of every sort.
        size : int
        rng : numpy.random.Generator
        finite : bool
            Whether the shares are those of the items at hand, or of all items like these.
        chains : int, optional
            By default a tenth of the draws, and a hundred at least where there are as many draws.
        """
        if chains is None:
            chains = max(min(size, _FEWEST_CHAINS), -(-size // _DRAWS_OF_CHAIN))
        sets = [np.unique(rows, axis=0, return_counts=True) for rows in patterns]
        width = max(len(count) for _, count in sets)
        counts = np.zeros((len(sets), width), int)
        likelihood = np.ones((*counts.shape, len(prior)))
        for system, (unique, count) in enumerate(sets):
            counts[system, : len(count)] = count
            likelihood[system, : len(count)] = self.likelihood(unique)
        shares = gibbs.mixture_weights(
            likelihood, counts, prior, size, rng,
            burn=_SWEEPS - 1, chains=chains, thin=_THIN, neighbours=self._neighbours, moves=_MOVES,
        )  # fmt: skip
        if not finite:
            return shares
        return gibbs.allocations(shares, likelihood, counts, rng) / counts.sum(1, keepdims=True)

    def _neighbours(self, sort, rng):
        """
        Draw a neighbour of each sort: the next rate, up or down, or another way to be wrong.

        A sort at the end of the rates, where there is no next one, is returned itself.
        """
        ways = max(len(self.wrong), 1)
        other = sort + ways * rng.choice([-1, 1], sort.shape)
        other = np.where((other < 0) | (other >= len(self.support)), sort, other)
        if ways == 1:
            return other
        other_way = sort - sort % ways + (sort + rng.integers(1, ways, sort.shape)) % ways
        return np.where(rng.random(sort.shape) < 0.5, other, other_way)

    def most_likely_shares(
        self, patterns: np.ndarray, weights: np.ndarray, pseudo_items: np.ndarray
    ) -> np.ndarray:
        """
        Return the most likely shares (S, M) by EM, in single precision.

        Parameters
        ----------
        patterns : ndarray, shape (D, 2 + T)
        weights : ndarray, shape (S, D)
            Of every pattern.
        pseudo_items : ndarray, shape (S, M)
            Of every sort.
        """
        likelihood = self.likelihood(patterns)
        likelihood = (likelihood / likelihood.max(1, keepdims=True)).astype(np.float32)
        likelihood[likelihood < _LEAST_LIKELIHOOD] = 0
        pseudo_items = np.maximum(pseudo_items, _LEAST_ITEMS)
        return em.mixture_weights(likelihood, weights, pseudo_items, steps=self._steps)


def _exp_scaled(logs):
    return np.exp(logs - logs.max(1, keepdims=True))


RATES_ONLY, RATES_AND_WRONG = Mixture(), Mixture(WRONG)
