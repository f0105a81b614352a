"""
The direct sibling of `bayescm.models.noisy_labels`: importance sampling around the mode.

Of two classes the parameters are as many as two for each rater and one; the true classes are summed
out, so that nothing else is sampled. Of more classes they are too many for that, and the true
classes and the rates are drawn in turn, in many short chains beside each other.

References
----------
Dawid, A. P., Skene, A. M. (1979). Maximum likelihood estimation of observer error-rates using the
EM algorithm. Applied Statistics 28, 20-28. doi:10.2307/2346806
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import expit, log_expit, logsumexp

from bayescm.direct.base import Posterior
from bayescm.direct.groups.importance import Weighted, explore
from bayescm.distributions import dirichlet
from bayescm.evidence.counts import CELLS
from bayescm.evidence.judged.raters import as_ratings
from bayescm.validate import fail

_FEW, _ROUNDS, _FAR = 400.0, 200, 12.0
# Chains of the Gibbs sampler, sweeps left out first, and sweeps from one kept to the next.
_CHAINS, _BURN, _THIN = 400, 100, 4


@dataclass(frozen=True, eq=False)
class NoisyLabels(Posterior):
    """
    The posterior of the rates of raters, the true classes summed out.

    Attributes
    ----------
    ratings : Dataset
        From `bayescm.from_raters`.
    prior : float
        Pseudo-count of a wrong answer.
    """

    takes = "ratings"
    pairs = ("classifier",)
    cell_prior = False
    ratings: xr.Dataset
    prior: float

    @property
    def how(self) -> str:  # type: ignore[override]
        """How its draws are made, in words."""
        return "draws by importance sampling" if self._two else "draws by Gibbs sampling"

    @property
    def sampling_method(self) -> str:  # type: ignore[override]
        """The same in one word."""
        return "importance" if self._two else "gibbs"

    @property
    def _two(self):
        return self.ratings.sizes["actual"] == 2

    @cached_property
    def counts(self) -> xr.DataArray:  # type: ignore[override]
        """Each rater's expected confusion matrix, (classifier, actual, predicted)."""
        prevalence, rates = self.plug_in
        given = self._given(prevalence[None], rates[None])[0]
        truth = self._weight * np.exp(given - logsumexp(given, axis=-1, keepdims=True)).T
        cells = np.einsum("an,rnp->rap", truth, self._votes)
        coords = {dim: self.ratings[dim].values for dim in ("classifier", *CELLS)}
        if "positive" in self.ratings.coords:
            coords["positive"] = self.ratings["positive"].item()
        return xr.DataArray(cells, dims=("classifier", *CELLS), coords=coords, name="counts")

    @property
    def _votes(self):
        return self.ratings["votes"].values.astype(float)

    @property
    def _weight(self):
        return self.ratings["counts"].values.astype(float)

    @cached_property
    def _possible(self):
        gold = self.ratings["gold"].values[:, None]
        return (gold < 0) | (gold == np.arange(self.ratings.sizes["actual"]))

    def _given(self, prevalence, rates):
        """Return the log probability (S, pattern, actual) of every pattern and class."""
        votes, logs = self._votes, np.log(np.maximum(rates, 1e-300))
        raters, patterns, classes = votes.shape
        flat = logs.swapaxes(1, 2).reshape(len(logs), classes, raters * classes)
        terms = flat @ votes.transpose(0, 2, 1).reshape(raters * classes, patterns)
        terms = terms.swapaxes(1, 2) + np.log(np.maximum(prevalence, 1e-300))[:, None]
        return np.where(self._possible, terms, -np.inf)

    def log_joint(self, prevalence: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return the log density (S,) of the ratings and of the rates, up to a constant."""
        classes = rates.shape[-1]
        given = logsumexp(self._given(prevalence, rates), axis=-1) @ self._weight
        powers = self.prior + np.eye(classes) - 1
        own = (powers * np.log(np.maximum(rates, 1e-300))).sum((1, 2, 3))
        right = np.diagonal(rates, axis1=-2, axis2=-1).mean((1, 2))
        return np.where(right > 1 / classes, given + own, -np.inf)

    @cached_property
    def plug_in(self) -> tuple[np.ndarray, np.ndarray]:
        """The most probable prevalence (C,) and rates (R, C, C)."""
        return self.most_likely(self.prior + np.eye(self.ratings.sizes["actual"]) - 1)

    def most_likely(self, added: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return prevalence (C,) and rates (R, C, C) by EM from the votes, with pseudo-counts."""
        votes, weight = self._votes, self._weight
        truth = np.where(self._possible, votes.sum(0) + 1e-6, 0)
        truth = truth / truth.sum(-1, keepdims=True)
        for _ in range(_ROUNDS):
            prevalence = weight @ truth / weight.sum()
            rates = np.maximum(np.einsum("n,na,rnp->rap", weight, truth, votes) + added, 1e-9)
            rates = rates / rates.sum(-1, keepdims=True)
            given = self._given(prevalence[None], rates[None])[0]
            new = np.exp(given - logsumexp(given, axis=-1, keepdims=True))
            if np.abs(new - truth).max() < 1e-9:
                break
            truth = new
        return prevalence, rates

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the measure at the most probable rates."""
        self.check_of(of)
        prevalence, rates = self.plug_in
        return measure(prevalence[:, None] * rates)

    @property
    def batch(self) -> xr.DataArray:
        """The number of examples, of every rater the same."""
        return self.blank.copy(data=np.full(self.blank.shape, self._weight.sum()))

    @cached_property
    def points(self) -> Weighted:
        """Points of the posterior on the logit scale: the prevalence, then two for each rater."""
        prevalence, rates = self.plug_in
        diagonal = np.diagonal(rates, axis1=-2, axis2=-1).ravel()
        start = np.concatenate([prevalence[1:], diagonal])
        start = np.clip(start, 1e-3, 1 - 1e-3)
        start = np.log(start / (1 - start))

        def log_density(points):
            # The change of variables: p (1 - p) for each logit.
            jacobian = (log_expit(points) + log_expit(-points)).sum(-1)
            return self.log_joint(*_unfold(points)) + jacobian

        found = explore(log_density, start, [(-_FAR, _FAR)] * len(start))
        if found.effective < _FEW:
            warnings.warn(
                f"The draws are worth {found.effective:.0f} independent ones only: the rates are "
                'hardly identified. Use fit(evidence, "noisy_labels", method="nuts"), more raters '
                "or gold labels.",
                stacklevel=2,
            )
        return found

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        if self._two:
            prevalence, rates = _unfold(self.points.draw(size, rng))
        else:
            prevalence, rates = self._in_turn(size, rng)
        theta = prevalence[:, None, :, None] * rates
        return {"prevalence": prevalence, "rates": rates, "theta": theta}

    def _in_turn(self, size, rng):
        """Draw true classes and rates in turn, in chains that start at the most likely rates."""
        classes, weight = self.ratings.sizes["actual"], self._weight.astype(int)
        prevalence, rates = (np.repeat(each[None], _CHAINS, axis=0) for each in self.plug_in)
        kept: list = []
        keep = -(-size // _CHAINS)
        for sweep in range(_BURN + keep * _THIN):
            given = self._given(prevalence, rates)
            chances = np.exp(given - logsumexp(given, axis=-1, keepdims=True))
            truth = rng.multinomial(weight, chances)
            prevalence = dirichlet.draw(truth.sum(1) + 1.0, 1, rng)[0]
            cells = np.einsum("sna,rnp->srap", truth, self._votes)
            new = dirichlet.draw(cells + self.prior + np.eye(classes), 1, rng)[0]
            right = np.diagonal(new, axis1=-2, axis2=-1).mean((1, 2)) > 1 / classes
            rates = np.where(right[:, None, None, None], new, rates)
            if sweep >= _BURN and (sweep - _BURN) % _THIN == 0:
                kept.append((prevalence, rates))
        order = rng.permutation(keep * _CHAINS)[:size]
        return tuple(np.concatenate(each)[order] for each in zip(*kept, strict=True))

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log posterior density of prevalence and rates, up to a constant."""
        return self.log_joint(variables["prevalence"][None], variables["rates"][None])[0]

    def true_classes(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return the probability (pattern, actual) of every class, the rates averaged out."""
        drawn = self.variables(size, rng)
        given = self._given(drawn["prevalence"], drawn["rates"])
        return np.exp(given - logsumexp(given, axis=-1, keepdims=True)).mean(0)

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return how many draws are made: no more than the points are worth."""
        return 4_000


def _unfold(points):
    """Return prevalence (S, 2) and rates (S, R, 2, 2) from points on the logit scale."""
    shares = expit(points)
    prevalence = np.stack([1 - shares[:, 0], shares[:, 0]], axis=-1)
    right = shares[:, 1:].reshape(len(points), -1, 2)
    rows = [np.stack([right[..., 0], 1 - right[..., 0]], -1)]
    rows += [np.stack([1 - right[..., 1], right[..., 1]], -1)]
    return prevalence, np.stack(rows, axis=-2)


def noisy_labels(evidence: xr.Dataset, *, concentration: float | None = None) -> NoisyLabels:
    """
    Return the posterior of the rates of several raters without a gold standard.

    Parameters
    ----------
    evidence : Dataset
        From `bayescm.from_raters`.
    concentration : float, optional
        Prior pseudo-count of each wrong answer, > 0; the right one has 1 more; by default 1.

    Returns
    -------
    NoisyLabels

    Raises
    ------
    ValueError
        If the concentration is not positive.

    Examples
    --------
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.random(300) < 0.4
    >>> names = ("ann", "bob", "eve", "llm")
    >>> said = {name: np.where(rng.random(300) < 0.85, truth, ~truth) for name in names}
    >>> low, high = bcm.interval(bcm.from_raters(said), "recall").sel(classifier="llm").values
    >>> bool(low < 0.85 < high)
    True
    """
    ratings = as_ratings(evidence)
    prior = 1.0 if concentration is None else concentration
    if np.ndim(prior) != 0 or not 0 < prior < np.inf:
        raise fail("concentration must be positive", prior, "a number > 0", "pass 1")
    return NoisyLabels(ratings, float(prior))
