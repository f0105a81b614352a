"""
The direct sibling of `bayescm.models.repeated_items`: Gibbs sampling of the mixture.

The shares of the rates are drawn from their posterior, and which rate an item has given these and
its own answers. A majority of answers that are known themselves is drawn from a mixture over rates
and over how wrong answers are shared.

What the model leaves open comes from the weighted likelihood bootstrap, each of whose draws weighs
the items by independent exponential (gamma) numbers, and the pseudo-items of the prior by gamma
numbers of their own, and maximises the likelihood of the mixture. (1) How systems that answered the
same items depend on one another: all of them weigh the items alike, and the draws of every system's
own posterior are put into the order of its draws there (Schefzik, Thorarinsdottir & Gneiting 2013).
(2) Items that come in groups: whole groups are weighed, and all items like these are drawn so.

References
----------
Schefzik, R., Thorarinsdottir, T. L. & Gneiting, T. (2013). Uncertainty quantification in complex
simulation models using ensemble copula coupling. Statistical Science 28, 616-640.
doi:10.1214/13-STS443
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from bayescm.direct.base import Frame, Posterior
from bayescm.direct.shares import NARROW, SUPPORT, WIDE, Mixture, gibbs, maximised, of_items
from bayescm.distributions.discrete import Empirical
from bayescm.evidence.attempts import as_attempts
from bayescm.measures.attempts import Rates
from bayescm.measures.measure import Repeated
from bayescm.validate import fail

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

    takes = "attempts"
    gives = "attempts"
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

    def doubts(self, of: str = "parameter") -> list[str]:
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
    def seen(self):
        """The answers."""
        return self.evidence["correct"]

    @cached_property
    def frame(self):
        """The systems."""
        return Frame() if self.names is None else Frame().then("classifier", self.names)

    @cached_property
    def batch(self):
        """The number of items, for every system."""
        return self.frame.filled(np.full(self.frame.shape, self.right.shape[1]))

    @property
    def width(self):
        """The numbers of one draw."""
        return self.right.size

    held = width

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

    def drawn(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the distribution of draws, which of a majority says which."""
        votes = getattr(getattr(measure, "form", None), "votes", False)
        known = (
            "the plurality of the answers" if self.answer is not None else "more than half right"
        )
        return Empirical(draws, how=f"{self.how}, {known}" if votes else self.how, worth=self.worth)

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
        weight = weight.reshape(size, *self.frame.shape, -1)
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
        at_hand = self.estimands[self.check_of(of)] == "share_item"
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
        shares = np.reshape(weight, (*self.frame.shape, -1))
        return measure(Rates(mixture.support, shares, mixture.wrong))

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, M) of the shares of the rates, of one system."""
        if len(self.right) > 1:
            todo = "select one: evidence.sel(classifier=...)"
            raise fail("the model takes one system", self.names, "one", todo)
        weight = self.shares(NARROW, "parameter", size, rng)
        return {"share": weight.reshape(size, *self.frame.shape, len(SUPPORT))}


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
