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

**Several answers.** The rates of items are a mixture of M components, whose weights w and rates q
are drawn by Gibbs sampling (`bayescm.inference.binomial_mixture` has the formulas). A measure f,
such as pass@k, is

.. math:: \sum_m w_m f(q_m), \qquad \sum_m \frac{N_m}{n} f(q_m), \qquad f(q_j), \; j \sim w

in the population, for the n observed items (:math:`N_m` of them are of component m), and for one
new item.

*One further run* of T attempts at each observed item (``of="predictive"``) has right answers

.. math:: c_i \sim \mathrm{Binomial}(T, q_{m(i)}),

and the measure of the run is the mean over the items of its unbiased estimate
:math:`h_T(c_i)` from T answers (`bayescm.measures.attempts`).

*Items in groups.* The weighted likelihood bootstrap (Newton & Raftery 1994): each draw weights
whole groups, with gamma variates of such a shape that means vary as a t distribution does
(`bayescm.inference.bayesian_bootstrap`), and maximises the likelihood of the mixture by EM
(`bayescm.inference.em`). The rates are then on a grid, and the pseudo-items of the prior have gamma
variates as weights. If the rates of items were drawn one by one, groups would differ too little.

*Several systems on the same items.* Each system has its own posterior, also if it is evaluated with
others. The draws of the population are put into the order (Schefzik, Thorarinsdottir & Gneiting
2013) of a joint posterior of all systems: the Bayesian bootstrap of the observed rates of right
answers, with weights of the items, half a pseudo-item at each end and two pseudo-items of
disagreement that all systems share. One new item is one of the n items, or a pseudo-item with the
probability :math:`\alpha / (n + \alpha)`, for all systems; each system's rate at the item is drawn
given its own answers. In a share of the draws all systems have the same quantile of their rates, so
that the covariance of the rates over the items is that of the observed rates. In a pseudo-item all
systems have the rate 0, the rate 1, or the component of the same rank.

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

# Draws by default: the ends of a 95 % interval then err by less than a tenth of a standard
# deviation (differences of 100 to 5,000 items with 4 and 8 answers, four seeds each).
_DRAWS = 4000
_AT_ONCE = 2e6  # numbers in memory at once, 16 MB of each array
# Fewer groups of items are refused: beside four or fewer the prior, which counts as one, is a fifth
# or more of what all items are known by. Fewer items without groups are cautioned of than six: of
# five that are always right or always wrong pass@4 of all is held in .80 (docs/results/
# small_evidence.csv).
_FEWEST = 5
_FEW_ITEMS = 6

COMPONENTS = 24  # of the mixture of rates alone
COMPONENTS_WITH_WAYS = 48  # of the mixture of rates and ways in which wrong answers are shared
END = 0.02  # prior share of each of the rates 0 and 1
# One wrong answer, a common one among others, some alike, and hardly ever the same twice.
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
# Gibbs sampling.
CHAINS = 100
BURN = 40  # sweeps that are left out first
THIN = 2  # sweeps from one draw of a chain to the next
# For items in groups.
GRID = 101  # rates of the grid, closer than the likelihood of 1,000 attempts is wide
VOTES_GRID = 21  # rates of the grid with ways
_STEPS = 40  # of EM
_STEPS_WRONG = 120  # of EM with ways
# Smaller numbers would only slow EM down.
_LEAST_LIKELIHOOD = 1e-12
_LEAST_ITEMS = 1e-20
_EFFECTIVE_SHARE = 0.4  # of the draws, as if they were independent
# Log probability that stands for 0, so that items that no way explains yet have a component too.
_IMPOSSIBLE = -1e4
_FEW_ATTEMPTS = 4  # fewer hardly identify how rates of two systems at one item depend on each other


def repeated_items(attempts: xr.Dataset, *, concentration: float = 1.0) -> Posterior:
    """
    Return the posterior of the rates of items that were answered several times.

    Parameters
    ----------
    attempts : xarray.Dataset
        From :func:`bayescm.from_attempts`. Items that come in groups are drawn by their groups.
        Every slice has a posterior of its own.
    concentration : float, default 1
        Prior pseudo-items, > 0; 1 in 25 of them is at the rates 0 and 1.

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
        todo = "pass e.g. `concentration=1`"
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
            "what few groups share is not known; `from_attempts` without group takes items as alike"
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
    "predictive": "share_item",  # one further run at the items at hand
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
        self.answer: Any = None
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
            "draws by the weighted likelihood bootstrap of the groups; for the observed items, by "
            "Gibbs sampling"
        )

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return what makes results about other items doubtful: few items, or few attempts."""
        caveats = _few_items(self.n_right.shape[1], self.concentration, self.estimands[of])
        if of == "new" and len(self.n_right) > 1 and self.reach < _FEW_ATTEMPTS:
            caveats.append(
                f"Most items have {self.reach} attempts. They hardly show whether the systems "
                "solve the same items, so the difference at one new item may be too uncertain. "
                f"Sample {_FEW_ATTEMPTS} answers to each item or more."
            )
        return caveats

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
        """The weight and the rate of every component, of each system."""
        return 2 * len(self.n_right) * self._components(self.answer is not None)

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
        """Return the estimates (n + 1,) of a measure from 0, 1, ... right answers of n."""
        attempts = int(self.reach if n is None else n)
        form, name = getattr(measure, "form", None), getattr(measure, "__name__", repr(measure))
        if not isinstance(form, Repeated) or form.of_sample is None or not form.is_mean:
            todo = "ask for mean, flip_rate, pass_at(k) or pass_all(k)"
            raise fail(f"{name} of one further run is not a mean over the items", ..., "", todo)
        if self.counts_votes([measure]):
            todo = 'leave the answers out: evidence.drop_vars("answer")'
            raise fail(f"{name} of one further run depends on its wrong answers", ..., "", todo)
        if attempts < form.answers:
            todo = f"pass n={form.answers} or more"
            what = f"{name} needs more attempts at each item of the run"
            raise fail(what, attempts, f"{form.answers} or more", todo)
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
            probability /= probability.sum(axis=-1, keepdims=True)  # of rounding
            drawn = rng.multinomial(number[part], probability)
            shares.append(drawn.sum(axis=-2) / n_items)  # of items with 0, 1, ... right answers
        return [np.concatenate(shares) @ np.array(each) for each in estimates]

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

    def counts_votes(self, measures: Sequence[Callable]) -> bool:
        """Return whether measures depend on which wrong answers are equal, if that is known."""
        votes = any(getattr(getattr(measure, "form", None), "votes", False) for measure in measures)
        return votes and self.answer is not None

    def items(self, *, votes: bool) -> list[Items]:
        """Return the answers of each system to every item."""
        number = np.ones(self.n_right.shape[1], int)
        answers = self.answer if votes else [None] * len(self.n_right)
        log_ways = [None if answer is None else _log_ways(answer) for answer in answers]
        rows = zip(self.n_right, self.n_attempts, log_ways, strict=True)
        return [Items(right, made, number, log_way) for right, made, log_way in rows]

    def prior(self, *, votes: bool) -> np.ndarray:
        """Return the pseudo-items of every component, (M,)."""
        return self.concentration * prior_shares(self._components(votes))

    def _components(self, votes):
        return COMPONENTS_WITH_WAYS if votes else COMPONENTS

    def mixtures(self, size: int, rng: np.random.Generator, *, votes: bool = False) -> Mixtures:
        """Draw the mixtures of all systems by Gibbs sampling."""
        kinds = [equal_items(items) for items in self.items(votes=votes)]
        return draw_mixtures(kinds, self.prior(votes=votes), size, rng)

    def rates(self, mixtures: Mixtures, of: str, rng: np.random.Generator) -> Rates:
        """
        Return how rates are distributed in draws of mixtures, with weights (S, K, M).

        A measure such as pass@k is a mean with these weights. For one new item there is one rate,
        so that pass@k varies as the items do.
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
        """Return rates on a grid with the most likely weights (S, K, M) as groups are weighted."""
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
        """Return the rate of every system at one new item: an observed one, or a pseudo-item."""
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
            # The components 0 and 1 are the ends; the rank of all others is that of their rates.
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
        Return in which share of the draws all systems have rates of the same rank at an item.

        The covariance of the systems' rates over the items is that of the observed rates, whose
        errors are independent. Rates that are drawn independently have a smaller one.
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
        # The variance of a sum is the sum of the variances and of twice the covariances.
        target, least, most = (
            np.var(rates.sum(axis=1)) - np.var(rates, axis=0).sum() for rates in (observed, *drawn)
        )
        return float(np.clip((target - least) / (most - least), 0, 1)) if most > least else 0.0

    def _joint_values(self, measures, size, rng, votes):
        """Draw measures (S, K) of all systems by the joint Bayesian bootstrap of observed rates."""
        with np.errstate(invalid="ignore"):
            rate = self.n_right / self.n_attempts  # (K, I), NaN without attempts
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
        if votes:  # the likeliest way of each item
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
        """Return draws of the variables of the model, of one system."""
        if len(self.n_right) > 1:
            todo = "select one: evidence.sel(classifier=...)"
            raise fail("the model takes one system", self.names, "one", todo)
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
        Return draws of measures, given the mixture of one system; see `Posterior.draw_given`.

        The component of each observed item is drawn given its answers.
        """
        for measure in measures:
            self.check_reach(measure, of)
        if self.counts_votes(measures):
            todo = "ask the evidence itself, which has direct draws of the wrong answers"
            raise fail(OF_VOTES, ..., "", todo)
        if not self.has_model:
            raise fail(
                "the PyMC model takes one system, without groups", ..., "", "ask the evidence"
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
        """Draw the share (S, M) of the items in each component, given weights and rates (S, M)."""
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
        from scipy import stats  # slow to import, and only this density needs it

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
            without_items if posterior is None else posterior.draw(measures, size, rng, of=of, n=n)
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
        todo = "fit the items of one slice, made with `from_attempts`"
        raise fail("the model takes no slices", slice_dims(self.evidence), "none", todo)


def _in_order_of(template, draws, rng):
    """Put the draws (S, K) of every system into the order of others, ties by lot."""
    order = np.lexsort((rng.random(template.shape), template), axis=0).argsort(axis=0)
    return np.take_along_axis(np.sort(draws, axis=0), order, axis=0)


def prior_shares(components: int) -> np.ndarray:
    """Return the prior share of items of every component: the rates 0, 1, and all others alike."""
    shares = np.full(components, (1 - 2 * END) / (components - 2))
    shares[:2] = END
    return shares


def equal_items(items: Items) -> Items:
    """Return the kinds of items that have equal answers, and how many there are of each."""
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
    """Draw the mixtures (size, K, M) of several sets of items."""
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
    between = np.maximum(np.diff(below, axis=1, prepend=0, append=1), 0)  # rounding
    shares = (1 - 2 * END) * between
    shares[:, [0, -1]] += END
    return shares


def _wrong_counts(answer):
    """Return how often each wrong answer to an item (I, T) was given, the most frequent first."""
    codes = range(1, int(np.nanmax(answer)) + 1)
    counts = np.array([(answer == code).sum(axis=1) for code in codes]).reshape(-1, len(answer))
    return -np.sort(-counts.T, axis=1)


def _log_ways(answer):
    """Return the log probability (I, J) that wrong answers are equal as they are, for each way."""
    counts = _wrong_counts(answer)
    return np.maximum(np.stack([wrong.alike(counts) for wrong in WRONG], axis=1), _IMPOSSIBLE)
