"""
The direct sibling of `bayescm.models.repeated_items`: the weighted likelihood bootstrap.

Each draw weighs the items, and the pseudo-items of the prior, by independent exponential (gamma)
numbers and maximises the likelihood of the mixture; which rate an item has is then drawn given its
own answers. All systems weigh the same items alike; the pseudo-items are each system's own. Items
that come in groups are weighed by their groups. A majority of answers that are known themselves is
drawn from a mixture over rates and over how wrong answers are shared.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from bayescm.direct.base import Posterior
from bayescm.direct.frames import Frame
from bayescm.direct.shares import NARROW, SUPPORT, WIDE, Mixture, maximised, of_items
from bayescm.distributions.discrete import Empirical
from bayescm.evidence.scored.attempts import as_attempts
from bayescm.measures.attempts import Rates
from bayescm.measures.forms import Repeated
from bayescm.validate import fail

_SWEEPS = 2  # over the items at hand, whose answers err independently of other systems'
_DRAWS, _HELD = 1000, 2e6
_FEWEST = 5  # groups of items


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
    sampling_method = "bootstrap"
    how = "draws by the weighted likelihood bootstrap"

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
        step = max(1, int(_HELD / self.right.size))
        sizes = np.diff([*range(0, size, step), size])
        mixture = self.mixture(measures)
        parts = [self.shares(mixture, of, each, rng) for each in sizes]
        weight = np.concatenate(parts).reshape(size, *self.frame.shape, -1)
        return [measure(Rates(mixture.support, weight, mixture.wrong)) for measure in measures]

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
        items = self.right.shape[1]
        # Of one system alone only the sums over items of a kind matter, which are gamma numbers.
        alone = len(self.right) == 1 and self.group is None
        weigh = None if alone else self._weights(size, rng)
        prior = self.concentration * mixture.prior
        drawn = np.empty((size, len(self.right), len(prior)))
        for place in range(len(self.right)):
            kinds, own, count = np.unique(
                self.kinds(place, mixture), axis=0, return_inverse=True, return_counts=True
            )
            likely = mixture.likelihood(kinds)
            # Each system has pseudo-items of its own: what was not seen is not alike in all.
            before = rng.gamma(prior, size=(size, len(prior)))
            each = (
                rng.standard_gamma(count, (size, len(count)))
                if weigh is None
                else np.add.reduceat(
                    weigh[:, np.argsort(own.ravel(), kind="stable")],
                    np.cumsum(count) - count,
                    axis=1,
                )
            )
            weight = maximised(likely, each, before, mixture.steps)
            if self.estimands[of] == "share_item":
                # How many items are of each sort, in a few sweeps from the bootstrap's start.
                for _ in range(_SWEEPS):
                    weight = rng.gamma(prior + of_items(weight, likely, count, rng))
                    weight /= weight.sum(1, keepdims=True)
                weight = of_items(weight, likely, count, rng) / items
            drawn[:, place] = weight
        if self.estimands[of] == "share_new":
            return rng.multinomial(1, drawn / drawn.sum(-1, keepdims=True)).astype(float)
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
        """Return the mean of the posterior."""
        self.check_of(of)
        (drawn,) = self.draw([measure], _DRAWS, np.random.default_rng(0), of="parameter")
        return drawn.mean(axis=0)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, M) of the shares of the rates, of one system."""
        if len(self.right) > 1:
            todo = "select one: evidence.sel(classifier=...)"
            raise fail("the model takes one system", self.names, "one", todo)
        weight = self.shares(NARROW, "parameter", size, rng)
        return {"share": weight.reshape(size, *self.frame.shape, len(SUPPORT))}


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
