"""
The direct sibling of `bayescm.models.transferred_errors`: exact draws for two classes.

More classes are drawn in turn with the error rates (Gibbs), more examples than a convolution takes
and fractional ones by importance sampling around the mode.

References
----------
Rogan, W. J., Gladen, B. (1978). Estimating prevalence from the results of a screening test.
American Journal of Epidemiology 107, 71-76. doi:10.1093/oxfordjournals.aje.a112510
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr
from scipy.special import gammaln, log_softmax, softmax, xlogy

from bayescm.evidence.counts import CELLS, is_outcomes
from bayescm.inference.importance import Weighted, explore
from bayescm.posteriors.base import as_labelled_counts
from bayescm.posteriors.strata import Strata
from bayescm.validate import check_counts, fail

# Two classes: exact draws. Given how many unlabelled examples of each stratum are of the second
# class, prevalence and error rates have Dirichlet posteriors. Those numbers have a distribution
# that is a product over the strata, but for a factor of their sum; so their sum has its
# distribution by convolution, and they are drawn backwards from it. Where nobody has labelled an
# example of a stratum, either class may own it: a posterior with two modes, which points around one
# of them would miss.

MOST = 10_000  # examples; the convolution grows with their square


@dataclass(frozen=True, eq=False)
class Allocations:
    """
    The posterior of one table of labelled examples and the unlabelled ones of each stratum.

    Attributes
    ----------
    weights : ndarray, shape (2, K)
        Labelled examples of each class and stratum, with the prior's pseudo-counts.
    rest : ndarray of int, shape (K,)
        Unlabelled ones.
    """

    weights: np.ndarray
    rest: np.ndarray

    @cached_property
    def _logs(self):
        """Return for each stratum the log of the factor of 0, 1, ... examples of the second."""
        found = []
        for none, some, many in zip(*self.weights, self.rest, strict=True):
            place = np.arange(many + 1)
            ways = -gammaln(place + 1) - gammaln(many - place + 1)
            found.append(ways + gammaln(some + place) + gammaln(none + many - place))
        return found

    @cached_property
    def _of_sum(self):
        """Return the log of the factor of the sum."""
        place, many = np.arange(self.rest.sum() + 1), self.rest.sum()
        none, some = self.weights.sum(-1)
        ways = gammaln(1 + place) + gammaln(1 + many - place)
        return ways - gammaln(some + place) - gammaln(none + many - place)

    @cached_property
    def _convolved(self):
        """Return the logs of the products up to each stratum, and the mass of the sum."""
        products = [self._logs[0]]
        for each in self._logs[1:]:
            products.append(_convolve(products[-1], each))
        return products, _scaled(products[-1] + self._of_sum)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw shares of the classes (size, 2) and rates of the strata in each (size, 2, K)."""
        second = self._second(size, rng)
        counts = np.stack([self.rest - second, second], axis=1)
        shares = rng.standard_gamma(1.0 + counts.sum(-1))
        rates = np.maximum(rng.standard_gamma(self.weights + counts), 1e-300)
        return shares / shares.sum(-1, keepdims=True), rates / rates.sum(-1, keepdims=True)

    def _second(self, size, rng):
        """Draw how many of each stratum are of the second class, (size, K)."""
        factors, (products, mass) = self._logs, self._convolved
        left = rng.choice(len(mass), size, p=mass / mass.sum())
        found = np.zeros((size, len(factors)), int)
        for place in range(len(factors) - 1, 0, -1):
            for total in np.unique(left):
                here = left == total
                first = max(0, total - len(products[place - 1]) + 1)
                own = np.arange(first, min(total, len(factors[place]) - 1) + 1)
                chances = _scaled(factors[place][own] + products[place - 1][total - own])
                found[here, place] = rng.choice(own, here.sum(), p=chances / chances.sum())
            left = left - found[:, place]
        found[:, 0] = left
        return found


def _convolve(one, two):
    """Return the convolution in logs: the factors run over more than numbers can hold."""
    long, short = (one, two) if len(one) >= len(two) else (two, one)
    found = np.full(len(one) + len(two) - 1, -np.inf)
    for place, each in enumerate(short):
        part = found[place : place + len(long)]
        np.logaddexp(part, long + each, out=part)
    return found


def _scaled(logs):
    return np.exp(logs - logs.max())


# More classes: Gibbs sampling of the classes of unlabelled examples and of the error rates, by many
# chains.

_CHAINS, _LEAST, _MOST, _THIN = 400, 100, 2000, 10


def in_turn(
    weights: np.ndarray, rest: np.ndarray, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, float]:
    """
    Return draws of shares (size, C) and rates (size, C, K), and how much the chains remember.

    Every chain begins with rates that the labels alone allow and with any shares. What it remembers
    is the correlation, over the chains, of the shares halfway and when the first are kept.

    Parameters
    ----------
    weights : ndarray, shape (C, K)
        Labelled examples of each class by stratum, and pseudo-counts.
    rest : ndarray of int, shape (K,)
        The unlabelled ones of each stratum.
    size : int
    rng : Generator
    """
    burn = int(np.clip(20 * rest.sum() / weights.sum(), _LEAST, _MOST))
    rates = _shares(np.broadcast_to(weights, (_CHAINS, *weights.shape)), rng)
    shares = _shares(np.ones((_CHAINS, len(weights))), rng)
    kept, halfway = [], shares
    for sweep in range(burn + -(-size // _CHAINS) * _THIN):
        joint = shares[:, None] * rates.swapaxes(1, 2) + 1e-300
        own = rng.multinomial(rest, joint / joint.sum(-1, keepdims=True)).swapaxes(1, 2)
        rates, shares = _shares(weights + own, rng), _shares(1 + own.sum(-1), rng)
        if sweep == burn // 2:
            halfway = shares
        if sweep >= burn and (sweep - burn) % _THIN == 0:
            kept.append((shares, rates))
    order = rng.permutation(len(kept) * _CHAINS)[:size]
    first, both = kept[0][0], [np.concatenate(each)[order] for each in zip(*kept, strict=True)]
    remembered = max(np.corrcoef(*each)[0, 1] for each in zip(halfway.T, first.T, strict=True))
    return both[0], both[1], float(remembered)


def _shares(weights, rng):
    drawn = rng.standard_gamma(weights) + 1e-300
    return drawn / drawn.sum(-1, keepdims=True)


# The posterior, by one of these or by importance sampling.

_FEW, _FAR, _STEPS = 300.0, 15.0, 500
_REMEMBERED = 0.25  # more is not chance, of 400 chains


@dataclass(frozen=True, eq=False)
class TransferredErrors(Strata):
    """
    The posterior of error rates, and of the classes where nobody labelled.

    Attributes
    ----------
    counts : DataArray, dims (..., judge, actual, predicted)
        The labelled examples.
    known : ndarray, shape (..., C, K)
        The same by true class and stratum, what judge and classifier said.
    others : ndarray, shape (..., K)
        The unlabelled ones.
    answers : ndarray of int, shape (1, K)
        What the classifier said in each stratum.
    prior : float
        Pseudo-count of each answer to a class.
    """

    pooled_dims = ("judge",)
    estimands = {"parameter": "theta", "finite": "theta_finite", "predictive": "theta"}  # noqa: RUF012
    counts: xr.DataArray
    known: np.ndarray
    others: np.ndarray
    answers: np.ndarray
    prior: float

    @cached_property
    def batch(self) -> xr.DataArray:
        """The number of unlabelled examples of every member of the batch."""
        return self.template.to_dataarray(np.broadcast_to(self.others.sum(-1), self.template.shape))

    @cached_property
    def exact(self) -> bool:
        """Whether the unlabelled examples can be told out one by one."""
        whole = (self.others == np.floor(self.others)).all()
        return bool(self.known.shape[-2] == 2 and whole and self.others.sum(-1).max() <= MOST)

    @cached_property
    def by_turns(self) -> bool:
        """Whether classes and rates are drawn in turn."""
        whole = bool((self.others == np.floor(self.others)).all())
        return whole and self.known.shape[-2] > 2

    @property
    def how(self) -> str:  # type: ignore[override]
        """How answers are drawn."""
        otherwise = "draws by Gibbs sampling" if self.by_turns else "draws by importance sampling"
        return "draws" if self.exact else otherwise

    @property
    def sampling_method(self) -> str:  # type: ignore[override]
        """How a tree's draws were made."""
        return "conjugate" if self.exact else "gibbs" if self.by_turns else "importance"

    @cached_property
    def each_table(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Labelled and unlabelled examples of each member of the flat batch."""
        known = self.known.reshape(-1, *self.known.shape[-2:])
        return list(zip(known, self.others.reshape(-1, self.others.shape[-1]), strict=True))

    @cached_property
    def allocations(self) -> list[Allocations]:
        """The exact posterior of each member of the flat batch."""
        prior = self.prior
        return [Allocations(known + prior, rest.astype(int)) for known, rest in self.each_table]

    @cached_property
    def points(self) -> list[Weighted]:
        """Points of the posterior of each member of the flat batch, as unconstrained numbers."""
        self._say_what_is_open()
        found = [self._explored(*each) for each in self.each_table]
        least = min(each.effective for each in found)
        if least < _FEW:
            warnings.warn(
                f"The draws are worth {least:.0f} independent ones only: the labels say little of "
                "the judge's errors. Label more, or fit(evidence, method='nuts').",
                stacklevel=2,
            )
        return found

    def _drawn_in_turn(self, size, rng):
        """Return draws of shares and rates of each member of the flat batch."""
        said = self._say_what_is_open()
        found = []
        for known, rest in self.each_table:
            *drawn, remembered = in_turn(known + self.prior, rest.astype(int), size, rng)
            found.append(drawn)
            if remembered > _REMEMBERED and not said:
                warnings.warn(
                    "The chains still remember how they began: the labels say little of the "
                    "judge's errors. Label more, or fit(evidence, method='nuts').",
                    stacklevel=2,
                )
        return found

    def _say_what_is_open(self):
        """Warn where several classes may own a kind of examples, and say whether it is so."""
        tables = self.each_table
        blank = any(((known.sum(0) == 0) & (rest > 0)).any() for known, rest in tables)
        if blank:
            warnings.warn(
                "Nobody labelled an example like some of the unlabelled ones: several classes may "
                "own them, and the draws may miss all but one. Label some of each kind.",
                stacklevel=3,
            )
        return blank

    def _explored(self, known, rest):
        classes, strata = known.shape
        weights = known + self.prior

        def log_density(points):
            prevalence, rates = self._unfold(points)
            shares, logs = log_softmax(prevalence, -1), log_softmax(rates, -1)
            seen = np.log((np.exp(shares)[..., None] * np.exp(logs)).sum(-2) + 1e-300)
            return shares.sum(-1) + (weights * logs).sum((-2, -1)) + seen @ rest

        likely = _likely(known + self.prior, rest)
        rates = weights / weights.sum(-1, keepdims=True)
        both = [np.log(each / each[..., -1:])[..., :-1].ravel() for each in (likely, rates)]
        start = np.concatenate(both)
        return explore(log_density, start, [(-_FAR, _FAR)] * (classes - 1 + classes * (strata - 1)))

    def _unfold(self, points):
        """Return log odds (S, C) of the classes and (S, C, K) of the answers, up to constants."""
        classes, strata = self.known.shape[-2:]
        first = np.pad(points[:, : classes - 1], [(0, 0), (0, 1)])
        rest = points[:, classes - 1 :].reshape(len(points), classes, strata - 1)
        return first, np.pad(rest, [(0, 0), (0, 0), (0, 1)])

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        lead, shape = self.known.shape[:-2], self.known.shape[-2:]
        if self.exact:
            drawn = [each.draw(size, rng) for each in self.allocations]
        elif self.by_turns:
            drawn = self._drawn_in_turn(size, rng)
        else:
            unfolded = [self._unfold(each.draw(size, rng)) for each in self.points]
            drawn = [(softmax(shares, -1), softmax(rates, -1)) for shares, rates in unfolded]
        prevalence, rates = (np.stack(parts, axis=1) for parts in zip(*drawn, strict=True))
        prevalence = prevalence.reshape(size, *lead, shape[0])
        rates = rates.reshape(size, *lead, *shape)
        cells = (prevalence[..., None] * rates).swapaxes(-1, -2)
        return {"prevalence": prevalence, "rates": rates, "theta": self.table(cells)}

    def strata(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., K, C) of the probability of every stratum and true class."""
        drawn = self.variables(size, rng)
        return (drawn["prevalence"][..., None] * drawn["rates"]).swapaxes(-1, -2)

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., C, C): probabilities, or counts of the examples at hand."""
        cells = self.strata(size, rng)
        if of != "finite":
            return self.table(cells)
        truth = cells / cells.sum(-1, keepdims=True)
        many = np.broadcast_to(self.others.astype(int), truth.shape[:-1])
        return self.table(rng.multinomial(many, truth))

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the measure at the most likely shares of the classes, given the labelled rates."""
        self.resolve_estimand(of)
        weights = self.known + self.prior
        rates = weights / weights.sum(-1, keepdims=True)
        shares = _likely(weights, self.others)
        return measure(self.table((shares[..., None] * rates).swapaxes(-1, -2)))

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log posterior density of prevalence and rates, up to a constant."""
        prevalence, rates = (np.asarray(variables[name]) for name in ("prevalence", "rates"))
        seen = (prevalence[..., None] * rates).sum(-2)
        inner = xlogy(self.known + self.prior - 1, rates).sum((-2, -1))
        return inner + xlogy(self.others, seen).sum(-1)


def _likely(weights, rest):
    """Return the most likely shares (..., C) of the classes at given error rates."""
    rates = weights / weights.sum(-1, keepdims=True)
    shares = np.full(rates.shape[:-1], 1 / rates.shape[-2])
    for _ in range(_STEPS):
        joint = shares[..., None] * rates
        truth = joint / joint.sum(-2, keepdims=True)
        shares = (truth * rest[..., None, :]).sum(-1) + 1e-6
        shares = shares / shares.sum(-1, keepdims=True)
    return shares


def transferred_errors(
    evidence: xr.DataArray, *, concentration: float | None = None
) -> TransferredErrors:
    """
    Return the posterior of a judge's error rates, and of the classes that only it has judged.

    Parameters
    ----------
    evidence : DataArray, dims (..., judge, actual, predicted)
        From `bayescm.from_partly_labelled` with ``transfer="errors"``.
    concentration : float, optional
        Prior pseudo-count of each answer to a class, > 0; by default those of a class sum to one.

    Returns
    -------
    TransferredErrors

    Raises
    ------
    ValueError
        If nothing is unlabelled, a class has no labelled example, there are several classifiers, or
        the concentration is not positive.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.evidence.from_partly_labelled_counts([[90, 10], [20, 80]], [150, 50])
    >>> posterior = transferred_errors(counts)
    >>> posterior.point(bcm.measures.prevalence).round(2).item()  # (.25 + .9 - 1) / (.8 + .9 - 1)
    0.21
    """
    if is_outcomes(evidence):
        todo = "take the classifiers one by one"
        raise fail("several classifiers with transferred errors", ..., "one classifier", todo)
    if "unlabelled" not in getattr(evidence, "coords", ()) or "judge" not in evidence.dims:
        todo = 'make them with from_partly_labelled(..., transfer="errors")'
        raise fail("these counts have no unlabelled examples", ..., "unlabelled", todo)
    counts = as_labelled_counts(evidence, "judge").transpose(..., "judge", *CELLS)
    lead, classes = counts.shape[:-3], counts.shape[-1]
    known = counts.transpose(..., "actual", "judge", "predicted").values.astype(float)
    known = known.reshape(*lead, classes, -1)
    others = counts["unlabelled"].transpose(*counts.dims[:-3], "judge", "predicted").values
    others = check_counts(others.reshape(*lead, -1), fractional=True, name="a number of examples")
    for place, label in enumerate(counts["actual"].values.tolist()):
        if not known.sum(-1)[..., place].all():
            todo = "label some, or take model='partly_labelled' if the labels are of the same place"
            allowed = "some labelled examples of every class"
            raise fail("nothing is known of the errors in a class", label, allowed, todo)
    if not others.sum(-1).all():
        todo = "pass the labelled ones to from_predictions"
        raise fail("nothing is unlabelled", 0, "some examples of the other population", todo)
    prior = 1 / known.shape[-1] if concentration is None else concentration
    if np.ndim(prior) != 0 or not 0 < prior < np.inf:
        raise fail("concentration must be positive", concentration, "a number > 0", "pass 0.5")
    answers = np.tile(np.arange(classes), counts.sizes["judge"])[None]
    return TransferredErrors(counts, known, others.astype(float), answers, float(prior))
