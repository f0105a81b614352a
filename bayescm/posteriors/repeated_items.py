"""
The direct sibling of `bayescm.models.repeated_items`: Gibbs sampling of the mixture.

The shares of the rates are drawn from their posterior, and which rate an item has given these and
its own answers. A majority of answers that are known themselves is drawn from a mixture over rates
and over how wrong answers are shared.

With shares w ~ Dirichlet(a) of the sorts of items m, and likelihoods L_dm of the n_d items whose
answers are of kind d, the posterior is

    p(w | n) ~ prod_m w_m^(a_m - 1) prod_d (sum_m w_m L_dm)^n_d.

`gibbs` draws from it, `maximised` is its mode under random weights.

What the model leaves open comes from the weighted likelihood bootstrap, each of whose draws weighs
the items by independent exponential (gamma) numbers, and the pseudo-items of the prior by gamma
numbers of their own, and maximises the likelihood of the mixture. (1) How systems that answered the
same items depend on one another: all of them weigh the items alike, and the draws of every system's
own posterior are put into the order of its draws there (Schefzik, Thorarinsdottir & Gneiting 2013).
(2) Items that come in groups: whole groups are weighed, and all items like these are drawn so.

References
----------
Diebolt, J. & Robert, C. P. (1994). Estimation of finite mixture distributions through Bayesian
sampling. Journal of the Royal Statistical Society B 56, 363-375.
doi:10.1111/j.2517-6161.1994.tb01985.x
Papaspiliopoulos, O. & Roberts, G. O. (2008). Retrospective Markov chain Monte Carlo methods for
Dirichlet process hierarchical models. Biometrika 95, 169-186. doi:10.1093/biomet/asm086
Newton, M. A. & Raftery, A. E. (1994). Approximate Bayesian inference with the weighted likelihood
bootstrap. Journal of the Royal Statistical Society B 56, 3-48.
doi:10.1111/j.2517-6161.1994.tb01956.x
Schefzik, R., Thorarinsdottir, T. L. & Gneiting, T. (2013). Uncertainty quantification in complex
simulation models using ensemble copula coupling. Statistical Science 28, 616-640.
doi:10.1214/13-STS443
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr

from bayescm.distributions.discrete import Empirical
from bayescm.evidence.attempts import as_attempts
from bayescm.measures.attempts import Rates, Wrong
from bayescm.measures.measure import Repeated
from bayescm.posteriors.base import LabelTemplate, Posterior
from bayescm.validate import fail

# The mixture, its Gibbs sampler and its mode.

SUPPORT = np.sin(np.linspace(0, np.pi / 2, 21)) ** 2
# One wrong answer, a common one among others, some alike, and hardly ever the same twice.
WRONG = tuple(
    Wrong(*each)
    for each in (
        (1.0, 1),
        (0.5, 1),
        (0.7, 30),
        (0.4, 30),
        (0.0, 4),
        (0.0, 16),
        (0.5, 10_000),
        (0.0, 10_000),
    )
)
_EXTREME = 0.05  # of the prior, at a rate of 0 and of 1
_STEPS, _MORE = 40, 120  # of the algorithm that maximises; ways to be wrong are harder to tell
# Sweeps of each chain, from the mean of the prior, and moves between neighbours in each
# sweep. With these 2,000 draws were as near to 2,000 chains of 150 sweeps as two samples of one
# distribution are (largest distance .05 of ten measures), with 12, 50, 164, 500 and 5,000 items,
# 3 to 64 answers to each, 200 items with no right answer of eight, and pluralities of 30 and 164
# items. Of 2,000 items with ten answers one distance was .12, means and standard deviations within
# a tenth of the latter. Without the moves up to 350 sweeps are worth one independent draw.
_SWEEPS, _MOVES = 30, 10
_FEW = 10  # items of a kind, which are drawn one by one
_LEAST = 1e-12  # beside the largest likelihood, which is something


class Mixture:
    """
    What items may be like.

    Attributes
    ----------
    wrong : tuple of Wrong
        The ways in which wrong answers are shared, or nothing where they are all the same to us.
    support : ndarray, shape (M,)
        Rates of right answers, each with every way in turn.
    prior : ndarray, shape (M,)
        What share of the items each has a priori.
    steps : int
        As many as maximising the likelihood takes.
    """

    def __init__(self, wrong: tuple[Wrong, ...] = ()):
        self.wrong, ways = wrong, max(len(wrong), 1)
        self.steps = _MORE if wrong else _STEPS
        shares = np.full(len(SUPPORT), (1 - 2 * _EXTREME) / (len(SUPPORT) - 2))
        shares[[0, -1]] = _EXTREME
        self.support, self.prior = np.repeat(SUPPORT, ways), np.repeat(shares / ways, ways)

    def neighbours(self, sort: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """
        Draw a neighbour of each sort (S,): the next rate, up or down, or another way to be wrong.

        A sort at the end of the rates, where there is no next one, is returned itself.
        """
        ways = max(len(self.wrong), 1)
        other = sort + ways * rng.choice([-1, 1], len(sort))
        other = np.where((other < 0) | (other >= len(self.support)), sort, other)
        if ways == 1:
            return other
        way = sort - sort % ways + (sort + rng.integers(1, ways, len(sort))) % ways
        return np.where(rng.random(len(sort)) < 0.5, other, way)

    def kinds(self, right: np.ndarray, made: np.ndarray, answer: np.ndarray | None) -> np.ndarray:
        """
        Return what is known of every item (I, 2 + T): right, made, and how often each wrong answer.

        Parameters
        ----------
        right, made : ndarray, shape (I,)
        answer : ndarray, shape (I, T), or None
        """
        if not self.wrong or answer is None:
            return np.stack([right, made], 1)
        most = int(np.nanmax(answer))
        each = [(answer == code).sum(1) for code in range(1, most + 1)]
        return np.stack([right, made, *-np.sort(-np.array(each), axis=0)], 1)

    def likelihood(self, kinds: np.ndarray) -> np.ndarray:
        """Return the likelihood (D, M) of items, of each up to a factor."""
        right, made = kinds[:, 0, None], kinds[:, 1, None]
        rate = SUPPORT**right * (1 - SUPPORT) ** (made - right)
        if not self.wrong:
            return rate
        alike = np.stack([each.alike(kinds[:, 2:].astype(int)) for each in self.wrong], 1)
        way = np.exp(alike - alike.max(1, keepdims=True))
        return (rate[:, :, None] * way[:, None]).reshape(len(kinds), -1)


NARROW, WIDE = Mixture(), Mixture(WRONG)


def maximised(
    likely: np.ndarray, each: np.ndarray, before: np.ndarray, steps: int = _STEPS
) -> np.ndarray:
    """
    Return the shares (S, M) that maximise weighted likelihoods.

    Parameters
    ----------
    likely : ndarray, shape (D, M)
    each : ndarray, shape (S, D)
        The weight of every kind of item.
    before : ndarray, shape (S, M)
        Pseudo-items of every sort.
    steps : int
    """
    # Single precision is a thousand times finer than the draws; only the last sum is set right.
    likely = (likely / likely.max(1, keepdims=True)).astype(np.float32)
    total = (each.sum(1) + before.sum(1))[:, None]
    each, before = (each / total).astype(np.float32), (before / total).astype(np.float32)
    # Numbers too small for single precision would take ten times as long.
    likely[likely < _LEAST] = 0
    before = np.maximum(before, _LEAST**2)
    across = np.ascontiguousarray(likely.T)
    weight = np.full_like(before, 1 / before.shape[1])
    for _ in range(steps):
        weight = weight * ((each / (weight @ across)) @ likely) + before
    return weight / weight.sum(1, keepdims=True, dtype=float)


def gibbs(
    mixture: Mixture,
    likely: np.ndarray,
    count: np.ndarray,
    prior: np.ndarray,
    size: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """
    Draw the shares (S, M) from their posterior, each at the end of a chain of its own.

    Given the sorts of the items the shares are Dirichlet, and given the shares the sorts are
    multinomial (Diebolt & Robert 1994). These steps alone hardly ever move a lump of items to the
    rate beside it, as a share without items is next to nothing. So pairs of sorts also divide their
    sum anew (a Metropolis-Hastings step in the spirit of Papaspiliopoulos & Roberts 2008): one is
    drawn by the shares, the other from its neighbours, and how their sum divides from its prior,
    Beta(a_m, a_k), which leaves the ratio of the likelihoods to accept by.

    Parameters
    ----------
    mixture : Mixture
    likely : ndarray, shape (D, M)
    count : ndarray, shape (D,)
        How many items are of every kind.
    prior : ndarray, shape (M,)
        Pseudo-items of every sort.
    size : int
    rng : numpy.random.Generator
    """
    likely = likely / likely.max(1, keepdims=True)
    across, chain = np.ascontiguousarray(likely.T), np.arange(size)
    weight = np.tile(prior[:, None] / prior.sum(), size)
    for _ in range(_SWEEPS):
        current = weight.T @ across
        for _ in range(_MOVES):
            edges = _cumulated(weight.copy())
            first = (edges < rng.random(size) * edges[-1]).sum(0)
            second = mixture.neighbours(first, rng)
            before, alone = weight[first, chain], first == second
            total = np.where(alone, before, before + weight[second, chain])
            share = np.where(alone, 1, rng.beta(prior[first], prior[second]))
            change = total * share - before
            proposed = current + change[:, None] * (across[first] - across[second])
            with np.errstate(divide="ignore"):  # a proposal that explains some answers by nothing
                ratio = np.log(np.maximum(proposed, 0) / current) @ count
            accepted = np.log(rng.random(size)) < ratio
            change = np.where(accepted, change, 0)
            weight[first, chain] += change
            # Rounding must not leave less than nothing.
            weight[second, chain] = np.maximum(weight[second, chain] - change, 0)
            current = np.where(accepted[:, None], proposed, current)
        weight = rng.standard_gamma(prior[:, None] + of_items(weight.T, likely, count, rng).T)
        weight /= weight.sum(0)
    return weight.T


def _cumulated(shares):
    """Cumulate (M, S) in place, several times as fast as numpy, which goes column by column."""
    for below, here in pairwise(shares):
        here += below
    return shares


def of_items(
    weight: np.ndarray, likely: np.ndarray, count: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """
    Draw how many items are of each sort (S, M), given their answers.

    Parameters
    ----------
    weight : ndarray, shape (S, M)
    likely : ndarray, shape (D, M)
    count : ndarray, shape (D,)
        How many items are of every kind.
    """
    across, single = np.ascontiguousarray(weight.T, np.float32), np.arange(len(weight))
    total = np.zeros(across.shape)
    for row, number in zip(likely / likely.max(1, keepdims=True), count, strict=True):
        some = np.flatnonzero(row > _LEAST)
        shares = across[some] * row[some, None].astype(np.float32)
        if number > _FEW:
            shares = shares.astype(float)
            order = np.argsort(-shares.mean(1))  # the likeliest first: few items are then left
            total[some[order]] += rng.multinomial(number, (shares[order] / shares.sum(0)).T).T
            continue
        edges = _cumulated(shares)
        for place in rng.random((number, len(weight)), np.float32) * edges[-1]:
            sort = (edges <= place).sum(0).clip(max=len(some) - 1)
            total[some[sort], single] += 1
    return total.T


# The posterior of one or several systems.

_DRAWS, _HELD = 1000, 2e6  # the latter: numbers in memory at once, 16 MB of each array
# Fewer groups of items are refused, and fewer items without groups are cautioned of: beside four
# items or fewer the prior, which counts as one, is a fifth or more of what all items are known by.
_FEWEST = 5


class RepeatedItems(Posterior):
    """
    The posterior of the rates of items that were answered several times.

    Attributes
    ----------
    right, made : ndarray, shape (K, I)
        Right answers and attempts of each system at each item.
    group : ndarray, shape (I,), or None
        The number of the group that each item belongs to, where they come in groups.
    answer : ndarray, shape (K, I, T), or None
        Which answers of an item are equal, where that is known.
    concentration : float
        Pseudo-items of the prior.
    """

    measured_variable = "attempts"
    pairs = ("classifier",)
    cell_prior = False
    estimands = {  # noqa: RUF012
        "parameter": "share",
        "population": "share",
        "finite": "share_item",
        "new": "share_new",
    }
    sampling_method = "gibbs"

    def __init__(self, evidence, concentration):
        self.evidence, self.concentration = evidence, concentration
        table = evidence["correct"]
        self.names = table["classifier"].values.tolist() if "classifier" in table.dims else None
        values = table.values if self.names is not None else table.values[None]
        self.right, self.made = np.nansum(values, -1), (~np.isnan(values)).sum(-1).astype(float)
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
        items = self.right.shape[1]
        if self.estimands[of] == "share_item" or items >= _FEWEST:
            return []
        others = "a new item" if self.estimands[of] == "share_new" else "all items like these"
        number = "1 item is" if items == 1 else f"{items} items are"
        prior = f"{self.concentration:g} item{'s' if self.concentration != 1 else ''}"
        return [
            f"{number} few: what is said of {others} depends on the prior, which counts as {prior} "
            'more. Ask about the items at hand with of="finite", or answer five items or more.'
        ]

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
        return self.template.to_dataarray(np.full(self.template.shape, self.right.shape[1]))

    @property
    def values_per_draw(self):
        """The numbers of one draw."""
        return self.right.size

    def classes_of(self, measure):
        """Return None: an answer is right or wrong."""
        return None

    def draws_by_default(self, of, *, joint=False):
        """Return how many draws are made where nothing else is asked for."""
        return _DRAWS

    def mixture(self, measures: Sequence[Callable]) -> Mixture:
        """Return what items may be like, as far as it matters for the measures."""
        votes = any(getattr(getattr(each, "form", None), "votes", False) for each in measures)
        return WIDE if votes and self.answer is not None else NARROW

    def kinds(self, place: int, mixture: Mixture) -> np.ndarray:
        """Return what is known of every item of one system."""
        answer = None if self.answer is None else self.answer[place]
        return mixture.kinds(self.right[place], self.made[place], answer)

    def empirical(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the distribution of draws, which of a majority says which."""
        votes = getattr(getattr(measure, "form", None), "votes", False)
        known = (
            "the plurality of the answers" if self.answer is not None else "more than half right"
        )
        return Empirical(
            draws,
            how=f"{self.how}, {known}" if votes else self.how,
            effective_draws=self.effective_draws,
        )

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
        for each in measures:
            self._check_reach(each)
        mixture = self.mixture(measures)
        step = max(1, int(_HELD / max(self.right.size, len(self.right) * len(mixture.prior))))
        sizes = np.diff([*range(0, size, step), size])
        weight = np.concatenate([self.shares(mixture, of, each, rng) for each in sizes])
        weight = weight.reshape(size, *self.template.shape, -1)
        rates = Rates(mixture.support, weight, mixture.wrong)
        values = [measure(rates) for measure in measures]
        paired = len(self.right) > 1 and self.group is None
        if not paired or self.estimands[of] != "share":
            return values
        weight = np.concatenate([self.bootstrap(mixture, each, rng) for each in sizes])
        alike = Rates(mixture.support, weight, mixture.wrong)
        return [
            _in_order_of(measure(alike), each, rng)
            for measure, each in zip(measures, values, strict=True)
        ]

    def _check_reach(self, measure):
        """Refuse what is about more answers than most items have."""
        form = getattr(measure, "form", None)
        reach = int(np.median(self.made, axis=1).min())
        if isinstance(form, Repeated) and form.answers > reach:
            what = f"{measure.__name__} is about more answers than most items have"
            todo = f"ask for at most {reach}, or sample {form.answers} answers to each item"
            raise fail(what, f"{reach} attempts", f"{form.answers} attempts or more", todo)

    def shares(self, mixture: Mixture, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the share of items of every sort, (size, K, M)."""
        at_hand = self.estimands[of] == "share_item"
        if self.group is not None and not at_hand:
            drawn = self.bootstrap(mixture, size, rng)
        else:
            drawn = np.empty((size, len(self.right), len(mixture.prior)))
            prior = self.concentration * mixture.prior
            for place in range(len(self.right)):
                kinds, count = np.unique(self.kinds(place, mixture), axis=0, return_counts=True)
                likely = mixture.likelihood(kinds)
                weight = gibbs(mixture, likely, count, prior, size, rng)
                if at_hand:
                    weight = of_items(weight, likely, count, rng) / count.sum()
                drawn[:, place] = weight
        if self.estimands[of] == "share_new":
            return rng.multinomial(1, drawn / drawn.sum(-1, keepdims=True)).astype(float)
        return drawn

    def bootstrap(self, mixture: Mixture, size: int, rng: np.random.Generator) -> np.ndarray:
        """
        Draw the shares (size, K, M) by the weighted likelihood bootstrap.

        All systems weigh the same items alike.
        """
        weigh = self._weights(size, rng)
        prior = self.concentration * mixture.prior
        drawn = np.empty((size, len(self.right), len(prior)))
        for place in range(len(self.right)):
            kinds, own, count = np.unique(
                self.kinds(place, mixture), axis=0, return_inverse=True, return_counts=True
            )
            # Each system has pseudo-items of its own: what was not seen is not alike in all.
            before = rng.gamma(prior, size=(size, len(prior)))
            each = np.add.reduceat(
                weigh[:, np.argsort(own.ravel(), kind="stable")], np.cumsum(count) - count, axis=1
            )
            drawn[:, place] = maximised(mixture.likelihood(kinds), each, before, mixture.steps)
        return drawn

    def _weights(self, size, rng):
        """Weigh the items (S, I), all of a group alike."""
        if self.group is None:
            return rng.standard_exponential((size, self.right.shape[1]))
        # Means of few groups vary as the t distribution does, which exponential weights do not.
        number = self.group.max() + 1
        shape = (number - 4) / number
        return (rng.standard_gamma(shape, (size, number)) / shape)[:, self.group]

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the value at the shares that are the likeliest; see `maximised`."""
        at_hand = self.estimands[self.resolve_estimand(of)] == "share_item"
        self._check_reach(measure)
        mixture = self.mixture([measure])
        prior, weight = self.concentration * mixture.prior, []
        for place in range(len(self.right)):
            kinds, count = np.unique(self.kinds(place, mixture), axis=0, return_counts=True)
            likely = mixture.likelihood(kinds)
            share = maximised(likely, count[None], prior[None], mixture.steps)
            chance = share * likely
            chance /= chance.sum(1, keepdims=True)
            weight.append(count @ chance / count.sum() if at_hand else share[0])
        shares = np.reshape(weight, (*self.template.shape, -1))
        return measure(Rates(mixture.support, shares, mixture.wrong))

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, M) of the shares of the rates, of one system."""
        if len(self.right) > 1:
            todo = "select one: evidence.sel(classifier=...)"
            raise fail("the model takes one system", self.names, "one", todo)
        weight = self.shares(NARROW, "parameter", size, rng)
        return {"share": weight.reshape(size, *self.template.shape, len(SUPPORT))}


def _in_order_of(alike, draws, rng):
    """Put the draws (S, K) of every system into the order of others, ties by lot."""
    order = np.lexsort((rng.random(alike.shape), alike), axis=0).argsort(axis=0)
    return np.take_along_axis(np.sort(draws, axis=0), order, axis=0)


def repeated_items(attempts: xr.Dataset, *, concentration: float = 1.0) -> RepeatedItems:
    """
    Return the posterior of the rates of items that were answered several times.

    Parameters
    ----------
    attempts : xarray.Dataset
        From :func:`bayescm.from_attempts`. Items that come in groups are drawn by their groups.
    concentration : float, default 1
        Prior pseudo-items, > 0; a tenth of them are at the rates 0 and 1.

    Returns
    -------
    RepeatedItems

    Raises
    ------
    ValueError
        If no item was answered twice, there are fewer than five groups of items, or the
        concentration is not > 0.

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
    found = RepeatedItems(attempts, float(concentration))
    if found.made.max() < 2:
        todo = "make counts of single answers: from_predictions(actual, predicted)"
        raise fail("every item has one attempt", ..., "several attempts at some items", todo)
    if found.group is not None and (number := found.group.max() + 1) < _FEWEST:
        todo = (
            "what few groups share is not known; from_attempts without group takes items as alike"
        )
        raise fail("too few groups of items", number, f"{_FEWEST} or more", todo)
    return found
