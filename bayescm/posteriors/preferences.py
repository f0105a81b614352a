r"""
Direct posterior of `bayescm.models.preferences`: votes on pairs of systems.

**The likelihood.** The systems have the strengths a = s z. The system shown first has the advantage
d, and t = log nu. For a vote on the pair (l, r),

.. math::

    \eta = a_l - a_r + d, \qquad D = e^{\eta / 2} + e^{-\eta / 2} + \nu, \qquad
    p_L = e^{\eta / 2} / D, \; p_R = e^{-\eta / 2} / D, \; p_T = \nu / D.

A pair with n_L, n_R and n_T votes, n in total, contributes these terms to the log likelihood and
its derivatives:

.. math::

    \ell &= (n_L - n_R) \eta / 2 + n_T t - n \log D \\
    \ell_\eta &= (n_L - n_R - n (p_L - p_R)) / 2, \qquad \ell_t = n_T - n p_T \\
    -\ell_{\eta\eta} &= n (p_L + p_R - (p_L - p_R)^2) / 4, \qquad
    -\ell_{tt} = n p_T (1 - p_T), \qquad -\ell_{\eta t} = -n (p_L - p_R) p_T / 2.

Each pair involves two of the strengths. The gradient and the Hessian are therefore sums over pairs,
indexed by their systems. The computing time depends on the number of pairs, not on the number of
votes.

**The posterior** of (a, d, t), with the prior :math:`a \sim N(0, s^2)`, is approximated by
Laplace's method at each scale s of a grid. Importance weights correct the approximation
(`bayescm.inference.nested_laplace`).

**Votes in clusters**, such as prompts or voters, agree more than the likelihood assumes. Let b be
the mode of (a, d, t) at a scale, and H = L L' the Hessian there. The C clusters have the scores
g_c, and P is the prior precision. Draws x are replaced by

.. math::

    b + H^{-1} M L' (x - b), \qquad M M' = J = \frac{C}{C - 1} \sum_c g_c g_c' + P.

Their covariance is then the sandwich H^-1 J H^-1 (Müller 2013) instead of H^-1.

References
----------
Müller, U. K. (2013). Risk of Bayesian inference in misspecified models, and the sandwich covariance
matrix. Econometrica 81, 1805-1849. doi:10.3982/ECTA9097
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from bayescm.distributions.empirical import Empirical
from bayescm.evidence.preferences import as_preferences, groups_that_never_met, places_of_pairs
from bayescm.inference import nested_laplace
from bayescm.measures.preferences import NextVotes, PreferenceMeasure, Strengths
from bayescm.posteriors.base import DRAWS, LARGE_DRAWS, LabelTemplate, Posterior
from bayescm.validate import check_number, check_whole, fail

# Scales of the priors, as in the PyMC model.
SPREAD = 1.0  # scale of the Rayleigh prior for the spread
FIRST = 0.5  # standard deviation of the normal prior for the advantage of the system shown first
TIES = 1.5  # standard deviation of the normal prior for log nu
# Number of scales of the second grid, which is uniform on the log scale and covers the probable
# scales. If 25 scales cover the whole range instead, the ends of intervals of win rates are wrong
# by 0.13 posterior standard deviations. With 60 scales, the error is 0.06.
_SCALES = 64
# The first grid, in units of the prior scale.
_LOWEST = 0.02  # prior probability 2e-4 below this scale
_HIGHEST = 40.0  # strengths with this spread are thousands of rating points apart
_COARSE = 20  # number of scales of this grid
# Scales with a smaller posterior probability, relative to the largest, are omitted.
_NEGLIGIBLE = 1e-8
# Largest number of values in an array of the log density.
_BLOCK = 2**20
_CELLS = 3e7  # default number of draws times pairs; takes about one second
_FEWEST_DRAWS = 4000  # smallest default number of draws, for many pairs
# Number of draws from which the efficiency is estimated.
_PILOT = 1000
_FEWEST_CLUSTERS = 5  # smallest supported number of clusters
_FEW_CLUSTERS = 10  # a caution is added up to this number of clusters
_LISTED = 6  # largest number of names in a caution


def preferences(
    votes: xr.Dataset, *, spread: float = SPREAD, first: float = FIRST, ties: float = TIES
) -> "Preferences":
    """
    Return the posterior of the strengths of systems, from votes on pairs.

    Use it for votes of people or of a judge on pairs of answers, for matches, and for rankings that
    are split into pairs.

    Parameters
    ----------
    votes : xarray.Dataset
        Votes from :func:`bayescm.from_preferences` or :func:`bayescm.from_rankings`.
    spread : float, default 1
        Scale > 0 of the Rayleigh prior for the standard deviation of the strengths, in log odds.
    first : float, default 0.5
        Standard deviation > 0 of the prior of the advantage of the system shown first, in log odds.
    ties : float, default 1.5
        Standard deviation > 0 of the prior for log nu.

    Returns
    -------
    Preferences

    Raises
    ------
    ValueError
        If a scale is not > 0, or the votes are in fewer than five clusters.

    Examples
    --------
    >>> import bayescm as bcm
    >>> votes = bcm.from_preferences([[0, 12, 9], [4, 0, 8], [3, 7, 0]])
    >>> preferences(votes).point(bcm.measures.resolve("rating", "preferences")).round().tolist()
    [1114.0, 950.0, 936.0]
    """
    votes = as_preferences(votes)
    spread = check_number("spread", spread, 0, usual=SPREAD)
    first = check_number("first", first, 0, usual=FIRST)
    ties = check_number("ties", ties, 0, usual=TIES)
    if "group" in votes.coords:
        number = len({*votes["group"].values.tolist()})
        if number < _FEWEST_CLUSTERS:
            raise fail(
                f"At least {_FEWEST_CLUSTERS} clusters of votes are needed",
                number,
                "",
                "build the evidence without group to treat votes as independent",
            )
    return Preferences(votes, spread, first, ties)


class Preferences(Posterior):
    """
    Posterior of the strengths of systems.

    Attributes
    ----------
    evidence : Dataset
        Canonical votes.
    names : list of str
        Names of the K systems.
    left, right : ndarray of int, shape (P,)
        Indices of the systems of each pair.
    votes : ndarray, shape (P, 3)
        Votes for the left system, for the right one, and ties.
    ordered, has_ties : bool
        Whether there is an advantage of the system shown first, and whether any vote is a tie.
    """

    measured_variable = "preferences"
    pairs = ("classifier",)
    cell_prior = False
    follows_variables = True
    sampling_method = "importance"
    estimands = {"parameter": "strength", "predictive": "strength"}  # noqa: RUF012

    def __init__(self, evidence: xr.Dataset, spread: float, first: float, ties: float):
        self.evidence, self.spread = evidence, spread
        self.names = evidence["classifier"].values.tolist()
        self.left, self.right = places_of_pairs(evidence)
        self.votes = evidence["vote_count"].values.astype(float)
        self.ordered = bool(evidence["ordered"])
        self.has_ties = bool(self.votes[:, 2].any())
        sd = [1.0] * len(self.names) + [first] * self.ordered + [ties] * self.has_ties
        # Prior precision of (z, d, t). For the strengths, it is divided by the squared scale.
        self.precision = 1 / np.square(sd)

    # Labels

    @property
    def has_model(self) -> bool:
        """Whether there is a PyMC model, which treats votes as independent."""
        return "group" not in self.evidence.coords

    @property
    def observed(self) -> xr.DataArray:
        """The votes."""
        return self.evidence["vote_count"]

    @cached_property
    def template(self) -> LabelTemplate:
        """Labels of the systems."""
        return LabelTemplate().append_dim("classifier", self.names)

    @cached_property
    def batch(self) -> xr.DataArray:
        """The number of votes on pairs with each system."""
        return self.template.to_dataarray(
            sum(self._of_systems(*each) for each in ((0, 1), (1, 0), (2, 2)))
        )

    @property
    def values_per_draw(self) -> int:
        """The number of values in memory for one draw."""
        return 4 * len(self.names)

    def measure_template(self, measure: Callable, attrs: dict | None = None) -> LabelTemplate:
        """Return the dims, coords and name of a measure of each system or of all votes."""
        if getattr(measure, "of_each_system", True):
            return super().measure_template(measure, attrs)
        return LabelTemplate(name=measure.__name__, attrs=attrs or {})

    def bound(self, measure: Any) -> Any:
        """Return a measure with the index of its opponent; reject unsupported measures."""
        if not isinstance(measure, PreferenceMeasure):
            return measure
        if measure.canonical.startswith("tie_rate") and not self.has_ties:
            todo = "use win_rate"
            raise fail("No vote is a tie, so the model does not include ties", ..., "", todo)
        if measure.canonical == "position_advantage" and not self.ordered:
            todo = "pass `ordered=True` if the left system was shown first"
            raise fail("The order in which systems were shown is unknown", ..., "", todo)
        return measure.bound(self.names)

    def shrinks_by(self, of: str) -> str:
        """Return a clause that says why the posterior may differ from a point estimate."""
        return "the prior of the strengths has a strong influence, because there are few votes"

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return cautions about unconnected systems, one-sided votes and few clusters."""
        sentences = []
        groups = groups_that_never_met(self.evidence)
        if len(groups) > 1:
            listed = "; ".join(_listed(group) for group in groups[:_LISTED])
            more = f"; and {len(groups) - _LISTED} more" if len(groups) > _LISTED else ""
            sentences.append(
                f"There are no votes between these groups of systems: {listed}{more}. "
                "Comparisons between groups depend on the prior alone."
            )
        won, lost = self._of_systems(0, 1), self._of_systems(1, 0)
        undecided = self._of_systems(2, 2) > 0
        for number, other, words in ((won, lost, "won"), (lost, won, "lost")):
            places = np.flatnonzero((number > 0) & (other == 0) & ~undecided)
            if places.size:
                named = _listed([self.names[place] for place in places])
                sentences.append(
                    f"{named} {words} all votes, so the size of the strength depends on the prior."
                )
        if "group" in self.evidence.coords and (number := len(self._clusters[0])) <= _FEW_CLUSTERS:
            sentences.append(
                f"With only {number} clusters, the data hardly show how similar votes in a "
                "cluster are. Intervals may be too short."
            )
        return sentences

    def _of_systems(self, of_left, of_right):
        """Return the votes of each system, for its outcome as the left or as the right system."""
        number = len(self.names)
        on_left = np.bincount(self.left, self.votes[:, of_left], number)
        return on_left + np.bincount(self.right, self.votes[:, of_right], number)

    # The log density and its derivatives

    def _parts(self, coefficients):
        """Return a (S, K), d (S,) and t (S,) of coefficients (S, p). Without ties, t is -inf."""
        number = len(self.names)
        nothing = np.zeros(len(coefficients))
        first = coefficients[:, number] if self.ordered else nothing
        log_tie = coefficients[:, -1] if self.has_ties else nothing - np.inf
        return coefficients[:, :number], first, log_tie

    def _log_density(self, coefficients, scale):
        """Return log prior plus log likelihood for (a, d, t), shape (S, p), and scales (S,)."""
        step = max(1, _BLOCK // max(len(self.left), 1))
        likelihood = [
            self._log_likelihood(coefficients[rows])
            for rows in (slice(k, k + step) for k in range(0, len(scale), step))
        ]
        number = len(self.names)
        squares = coefficients**2
        squares[:, :number] /= scale[:, None] ** 2
        prior = -squares @ self.precision / 2 - number * np.log(scale)
        # The Rayleigh density of the scale.
        prior = prior + np.log(scale) - 2 * np.log(self.spread) - (scale / self.spread) ** 2 / 2
        return np.concatenate(likelihood) + prior

    def _log_likelihood(self, coefficients):
        strength, first, log_tie = self._parts(coefficients)
        half = np.exp(strength / 2)
        # This is exp(eta / 2), computed without an exponential per pair.
        odds = half[:, self.left]
        odds /= half[:, self.right]
        if self.ordered:
            odds *= np.exp(first / 2)[:, None]
        total = 1 / odds
        total += odds
        if self.has_ties:
            total += np.exp(log_tie)[:, None]
        decided = self.votes[:, 0] - self.votes[:, 1]
        number = len(self.names)
        balance = np.bincount(self.left, decided, number) - np.bincount(self.right, decided, number)
        logs = strength @ (balance / 2) + first * (decided.sum() / 2)
        if self.has_ties:
            logs = logs + log_tie * self.votes[:, 2].sum()
        return logs - np.log(total, out=total) @ self.votes.sum(axis=1)

    def _at_pairs(self, coefficients):
        """Return p_L - p_R and p_T of each pair, (P,) each."""
        strength, first, log_tie = (part[0] for part in self._parts(coefficients[None]))
        eta = strength[self.left] - strength[self.right] + first
        small = np.exp(-np.abs(eta) / 2)  # at most 1, so that nothing overflows
        tie = np.exp(log_tie) * small
        total = 1 + small**2 + tie
        return np.sign(eta) * (1 - small**2) / total, tie / total

    def precision_at(self, scale: float) -> np.ndarray:
        """Return the prior precision of (a, d, t) at a scale, (p,)."""
        precision = self.precision.copy()
        precision[: len(self.names)] /= scale**2
        return precision

    def _derivatives(self, scale):
        """Return the function that maps (a, d, t) to the gradient and the negative Hessian."""
        votes, left, right, number = self.votes, self.left, self.right, len(self.names)
        total = votes.sum(axis=1)
        size, prior = len(self.precision), self.precision_at(scale)

        def sums(values):
            """Sum the values of the pairs of each system, negated if it is on the right."""
            return np.bincount(left, values, number) - np.bincount(right, values, number)

        def at(coefficients):
            lead, tie = self._at_pairs(coefficients)
            by_eta = (votes[:, 0] - votes[:, 1] - total * lead) / 2
            weight = total * (1 - tie - lead**2) / 4
            gradient, hessian = np.empty(size), np.zeros((size, size))
            gradient[:number] = sums(by_eta)
            off = np.bincount(left * number + right, weight, number**2).reshape(number, number)
            off = off + off.T
            hessian[:number, :number] = np.diag(off.sum(axis=1)) - off
            if self.ordered:
                gradient[number] = by_eta.sum()
                hessian[:number, number] = hessian[number, :number] = sums(weight)
                hessian[number, number] = weight.sum()
            if self.has_ties:
                both = -total * lead * tie / 2
                gradient[-1] = votes[:, 2].sum() - total @ tie
                hessian[:number, -1] = hessian[-1, :number] = sums(both)
                if self.ordered:
                    hessian[number, -1] = hessian[-1, number] = both.sum()
                hessian[-1, -1] = total @ (tie * (1 - tie))
            gradient -= prior * coefficients
            hessian[np.diag_indices(size)] += prior
            return gradient, hessian

        return at

    # Draws

    def _approximation(self, scales):
        start = np.zeros(len(self.precision))
        return nested_laplace.on_grid(scales, start, self._derivatives, self._log_density)

    @cached_property
    def _laplace(self):
        """The Laplace approximation at each scale of a grid."""
        coarse = self.spread * np.geomspace(_LOWEST, _HIGHEST, _COARSE)
        weights = self._approximation(coarse).log_density
        kept = np.flatnonzero(weights > weights.max() + np.log(_NEGLIGIBLE))
        low, high = max(kept[0] - 1, 0), min(kept[-1] + 1, _COARSE - 1)
        scales = np.geomspace(coarse[low], coarse[high], _SCALES)
        return self._approximation(scales)

    def _draw(self, size, rng):
        """Sample (a, d, t), (size, p), and scales, (size,). Also return the efficiency."""
        return self._laplace.draw(self._log_density, size, rng)

    @cached_property
    def effective_draws(self) -> float:  # type: ignore[override]
        """The effective number of independent draws, for the default number of draws."""
        *_, efficiency = self._draw(_PILOT, np.random.default_rng(0))
        return efficiency * self.draws_by_default("parameter")

    @property
    def how(self) -> str:  # type: ignore[override]
        """Description of the method that produces the draws."""
        words = "draws by nested Laplace and importance weights"
        return words if self.has_model else f"{words}, sandwich over clusters"

    def empirical(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the distribution of draws, with their effective number."""
        share = self.effective_draws / self.draws_by_default("parameter")
        return Empirical(draws, how=self.how, effective_draws=share * len(draws))

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the default number of draws, which falls with the number of pairs."""
        most = LARGE_DRAWS if joint else DRAWS
        pairs = max(len(self.left), len(self.names) ** 2 // 2)
        return int(np.clip(_CELLS / pairs, _FEWEST_DRAWS, most))

    def strengths(self, size: int, rng: np.random.Generator) -> Strengths:
        """Sample the strengths of all systems, the first advantage and the tie parameter."""
        coefficients, scale, _ = self._draw(size, rng)
        if not self.has_model:
            coefficients = self._widened(coefficients, scale)
        return self.strengths_of(coefficients)

    def strengths_of(self, coefficients: np.ndarray) -> Strengths:
        """Return the strengths relative to their mean, for coefficients (S, p)."""
        strength, first, log_tie = self._parts(coefficients)
        strength = strength - strength.mean(axis=1, keepdims=True)
        return Strengths(strength, first, np.exp(log_tie))

    @property
    def mode(self) -> tuple[np.ndarray, float]:
        """The mode of (a, d, t) at the most probable scale, and this scale."""
        best = int(np.argmax(self._laplace.log_density))
        return self._laplace.modes[best], float(self._laplace.points[best])

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Sample measures jointly, with shape (size, K), or (size,) for measures of all votes."""
        strengths = self._asked(self.strengths(size, rng), measures, of, n, rng)
        return [measure(strengths) for measure in measures]

    def _asked(self, strengths, measures, of, n, rng):
        """Return the strengths, or for ``of="predictive"`` the next n votes on each pair."""
        if self.resolve_estimand(of) != "predictive":
            return strengths
        if not self.has_model:
            raise fail(
                f"`of={of!r}` is not available, because the next votes would be in clusters of "
                "unknown sizes",
                ...,
                "",
                "leave `of` out, or build the evidence without group",
            )
        for measure in measures:
            if not getattr(measure, "of_votes", False):
                name, todo = getattr(measure, "__name__", "the measure"), "use win_rate"
                raise fail(
                    f"`of={of!r}` is not available for {name}, which is not a proportion of votes",
                    ...,
                    "",
                    todo,
                )
        return NextVotes(**vars(strengths), number=self._next_number(n), rng=rng)

    def _next_number(self, n):
        """Return the number of next votes on each pair, by default the observed mean per pair."""
        if n is not None:
            return check_whole("n", n, 1, "votes on each pair", 100)
        number = len(self.names)
        low, high = np.minimum(self.left, self.right), np.maximum(self.left, self.right)
        pairs = np.unique((low * number + high)[self.votes.any(axis=1)])
        return max(1, round(self.votes.sum() / len(pairs)))

    def draw_given(
        self,
        variables: Mapping[str, np.ndarray],
        measures: Sequence[Callable],
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Return draws of measures, given draws of the variables of the PyMC model."""
        strengths = self.strengths_of(self._coefficients(variables))
        strengths = self._asked(strengths, measures, of, n, rng)
        return [measure(strengths) for measure in measures]

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the value at the mode of the strengths, at the most probable scale."""
        self.resolve_estimand(of)
        return measure(self.strengths_of(self.mode[0][None]))[0]

    def _coefficients(self, variables):
        parts = [variables["spread"][:, None] * variables["z"]]
        parts += [variables["first"][:, None]] if self.ordered else []
        parts += [variables["log_tie"][:, None]] if self.has_ties else []
        return np.concatenate(parts, axis=1)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws of the free variables of the PyMC model."""
        coefficients, scale, _ = self._draw(size, rng)
        strength, first, log_tie = self._parts(coefficients)
        drawn = {"spread": scale, "z": strength / scale[:, None]}
        drawn |= {"first": first} if self.ordered else {}
        return drawn | ({"log_tie": log_tie} if self.has_ties else {})

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log of prior times likelihood, up to a constant."""
        scale = variables["spread"]
        # The density of z = a / s is s^K times the density of a.
        jacobian = len(self.names) * np.log(scale)
        return self._log_density(self._coefficients(variables), scale) + jacobian

    # Sandwich covariance for votes in clusters.

    @cached_property
    def _clusters(self):
        """Return the cluster labels, and the cluster, pair and outcome of each vote."""
        labels, cluster = np.unique(self.evidence["group"].values, return_inverse=True)
        pair, winner = (self.evidence[name].values for name in ("vote_pair", "vote_winner"))
        return labels, cluster, pair, winner

    def _scores_of_clusters(self, coefficients):
        """Return the gradient of the log likelihood of each cluster, (C, p)."""
        labels, cluster, pair, winner = self._clusters
        lead, tie = self._at_pairs(coefficients)
        by_eta = (np.array([1.0, -1.0, 0.0])[winner] - lead[pair]) / 2
        number, shape = len(self.names), (len(labels), len(self.names))
        size = len(labels) * number
        scores = np.zeros((len(labels), len(self.precision)))
        for side, sign in ((self.left, 1), (self.right, -1)):
            flat = np.bincount(cluster * number + side[pair], sign * by_eta, size)
            scores[:, :number] += flat.reshape(shape)
        if self.ordered:
            scores[:, number] = np.bincount(cluster, by_eta, len(labels))
        if self.has_ties:
            scores[:, -1] = np.bincount(cluster, (winner == 2) - tie[pair], len(labels))
        return scores

    def information_of_clusters(self, mode: np.ndarray, scale: float) -> np.ndarray:
        """Return the middle matrix J of the sandwich at a mode, (p, p)."""
        scores = self._scores_of_clusters(mode)
        number = len(scores)
        return number / (number - 1) * scores.T @ scores + np.diag(self.precision_at(scale))

    def _widened(self, coefficients, scale):
        """Return draws with the sandwich covariance around the mode of their scale."""
        scales, modes, factors = self._laplace.points, self._laplace.modes, self._laplace.factors
        nearest = np.abs(np.log(scale)[:, None] - np.log(scales)).argmin(axis=1)
        widened = np.empty_like(coefficients)
        for place in np.unique(nearest):
            rows, mode, factor = nearest == place, modes[place], factors[place]
            j = self.information_of_clusters(mode, scales[place])
            # The factor F satisfies H^-1 = F F', so L' = F^-1.
            standard = np.linalg.solve(factor, (coefficients[rows] - mode).T)
            moved = factor @ (factor.T @ (np.linalg.cholesky(j) @ standard))
            widened[rows] = mode + moved.T
        return widened


def _listed(names):
    """Return a few names, and the number of omitted ones."""
    more = len(names) - _LISTED
    text = ", ".join(map(str, names[:_LISTED]))
    return f"{text} and {more} more" if more > 0 else text
