r"""
Groups with two classes: logit-normal rates, with group effects integrated out.

The prevalence of group g is a single binomial rate (D = 1). Its recall and specificity are two
rates that are modelled jointly (D = 2). Both are `LogitNormalRates` with the logits

.. math:: x_g = \mu + B^\top z_g + L e_g, \qquad e_g \sim N(0, I_D), \qquad L L^\top = \Sigma.

:math:`\Sigma` has the standard deviations :math:`\tau` and the correlation :math:`\rho`, and
:math:`z_g` are covariates. The likelihood of the parameters :math:`\phi = (\mu, \log \tau,
\mathrm{artanh}\, \rho, B)` is

.. math::

    \prod_g \int N(e; 0, I) \prod_d
        \mathrm{Binomial}\bigl(h_{gd} \mid n_{gd}, \mathrm{expit}\, x_{gd}(e)\bigr) \, de.

- The likelihood is computed by adaptive Gauss-Hermite quadrature
  (`bayescm.inference.adaptive_gauss_hermite`, Pinheiro and Bates 1995). The nodes are centred at
  the mode of each integrand and scaled by its curvature.
- :math:`\phi` is sampled by importance sampling with a Student t proposal
  (`bayescm.inference.importance`).
- The effects of the observed groups given :math:`\phi` are sampled by an independence Metropolis
  sampler.
- The average over the population of groups, :math:`E\,\mathrm{expit}(\mu + \tau e)`, is computed as
  a Gauss-Hermite sum.

References
----------
Reitsma, J. B., Glas, A. S., Rutjes, A. W. S., Scholten, R. J. P. M., Bossuyt, P. M. & Zwinderman,
A. H. (2005). Bivariate analysis of sensitivity and specificity produces informative summary
measures in diagnostic reviews. Journal of Clinical Epidemiology 58, 982-990.
doi:10.1016/j.jclinepi.2005.02.022

Pinheiro, J. C. & Bates, D. M. (1995). Approximations to the log-likelihood function in the
nonlinear mixed-effects model. Journal of Computational and Graphical Statistics 4, 12-35.
doi:10.1080/10618600.1995.10474663
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.special import betaln, expit, logit

from bayescm.distributions.log_densities import log_half_normal
from bayescm.inference.adaptive_gauss_hermite import (
    GroupModes,
    fast_expit,
    log_likelihood_of_logit,
    log_marginal_likelihood,
    logit_normal_means,
)
from bayescm.inference.importance import Weighted, explore


class BivariateLogitNormal:
    """
    Logit-normal prevalence, and bivariate logit-normal recall and specificity.

    This is the bivariate model of diagnostic meta-analysis (Reitsma et al. 2005).

    Parameters
    ----------
    cells : ndarray, shape (G, 2, 2)
        Counts of the groups.
    totals : ndarray, shape (G, 2)
        Effective number of examples of each class, from which the prevalence is estimated.
    concentration : ndarray, shape (2, 2)
        Prior pseudo-counts of the typical group.
    spread : float
        Scale of the half-normal prior for the standard deviations.
    prevalence : float or None
        Known proportion of the positive class in the population.
    design : ndarray, shape (G, Q), optional
        Covariates of the groups.
    slope : float
        Scale of the normal prior for the change of a logit per unit of a covariate.
    points : int
        Smallest number of weighted points of the parameters.
    """

    free_variables: tuple[str, ...] = ("rates", "spread", "scaled_correlation")

    def __init__(
        self,
        cells: np.ndarray,
        totals: np.ndarray,
        concentration: np.ndarray,
        spread: float,
        prevalence: float | None,
        *,
        design: np.ndarray | None = None,
        slope: float = 2.0,
        points: int = 0,
    ):
        (tn, fp), (fn, tp) = cells.transpose(1, 2, 0)
        hits, tested = np.stack([tp, tn], axis=1), np.stack([tp + fn, tn + fp], axis=1)
        rate_prior = np.array([concentration[1, ::-1], concentration[0]])
        share_prior = concentration.sum(1)[::-1][None]
        # Slopes are explored per range of a covariate, which does not depend on its unit.
        self.ranges = np.ones(0) if design is None else np.ptp(design, axis=0)
        scaled: dict[str, Any] = {"points": points}
        if design is not None:
            scaled |= {"design": design / self.ranges, "slope": slope * self.ranges}
        self.rates = LogitNormalRates(hits, tested, rate_prior, spread, **scaled)
        self.shares = LogitNormalRates(
            totals[:, 1:], totals.sum(1, keepdims=True), share_prior, spread, **scaled
        )
        self.prevalence = prevalence
        if design is not None:
            self.free_variables += ("slope",)

    @property
    def effective(self) -> float:
        """The effective number of independent draws of the parameters."""
        return min(self.rates.parameters.effective, self.shares.parameters.effective)

    def draw(self, size: int, rng: np.random.Generator, *, groups: bool) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables, and of each group if `groups`."""
        share_index = self.shares.parameters.choose(size, rng)
        rate_index = self.rates.parameters.choose(size, rng)
        share_parameters = self.shares.parameters.points[share_index]
        rate_parameters = self.rates.parameters.points[rate_index]
        share_mean, share_sd, _ = self.shares.unpack(share_parameters)
        rate_mean, rate_sd, rho = self.rates.unpack(rate_parameters)
        mean = np.concatenate([share_mean, rate_mean], axis=1)
        sd = np.concatenate([share_sd, rate_sd], axis=1)
        # In the population of groups, the prevalence is independent of recall and specificity. The
        # averages of the cells are therefore products of average rates.
        hits, misses = (
            np.concatenate([share[share_index], rate[rate_index]], axis=1)
            for share, rate in zip(
                self.shares.population_rates, self.rates.population_rates, strict=True
            )
        )
        drawn = {
            "rates": expit(mean),
            "spread": sd,
            "scaled_correlation": (rho + 1) / 2,
            "theta": cells_of_rates(hits, misses, self.prevalence),
            "theta_typical": cells_of_logits(mean, self.prevalence),
        }
        if "slope" in self.free_variables:
            slopes = [self.shares.slopes(share_parameters), self.rates.slopes(rate_parameters)]
            drawn["slope"] = np.concatenate(slopes, axis=-1) / self.ranges[:, None]
        effect = rng.standard_normal((size, 1, 3))[:, 0]
        # Convert to the range from -1 to 1 as the model does, so that all digits agree.
        rho = drawn["correlation"] = 2 * drawn["scaled_correlation"] - 1
        new = _new_logits(mean, sd, rho, effect)
        drawn |= {"effect_new": effect, "theta_new": cells_of_logits(new, self.prevalence)}
        if groups:
            drawn |= self._draw_groups(share_parameters, rate_parameters, rng)
        return drawn

    def draw_new_groups(self, size: int, per_point: int, rng: np.random.Generator) -> np.ndarray:
        """Return matrices (size, 2, 2) of new groups, `per_point` for each parameter point."""
        points = -(-size // per_point)
        share_mean, share_sd, _ = self.shares.unpack(self.shares.parameters.draw(points, rng))
        rate_mean, rate_sd, rho = self.rates.unpack(self.rates.parameters.draw(points, rng))
        mean = np.concatenate([share_mean, rate_mean], axis=1)
        sd = np.concatenate([share_sd, rate_sd], axis=1)
        effect = rng.standard_normal((size, 3))
        of_point = np.arange(size) // per_point
        new = _new_logits(mean[of_point], sd[of_point], rho[of_point], effect)
        return cells_of_logits(new, self.prevalence)

    def _draw_groups(self, share_parameters, rate_parameters, rng):
        """Return draws of the matrices of the groups, and of their partially centred effects."""
        logits, effects = [], []
        for rates, parameters in ((self.shares, share_parameters), (self.rates, rate_parameters)):
            standardised = rates.draw_effects(parameters, rng)
            logits.append(rates.logits(parameters, standardised))
            effects.append(rates.partially_centred(parameters, standardised))
        columns = np.moveaxis(np.concatenate(effects, axis=-1), -1, 0)
        named = {f"effect_{rate}": draws for rate, draws in zip(_RATES, columns, strict=True)}
        cells = cells_of_logits(np.concatenate(logits, axis=-1), self.prevalence)
        return named | {"theta_group": cells}

    def log_likelihood(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """
        Return the log likelihood (S, G) of each group, up to a constant.

        The effects of the groups are integrated out, and the binomial coefficients are omitted.
        """
        mean = logit(np.clip(variables["rates"], 1e-300, 1 - 1e-16))
        log_sd = np.log(variables["spread"])
        rho = np.clip(2 * variables["scaled_correlation"] - 1, -1 + 1e-12, 1 - 1e-12)
        size = len(mean)
        slopes = variables.get("slope", np.zeros((size, 0, 3))) * self.ranges[:, None]
        share_slopes = slopes[..., :1].reshape(size, -1)
        rate_slopes = slopes[..., 1:].reshape(size, -1)
        shares = np.concatenate([mean[:, :1], log_sd[:, :1], share_slopes], axis=1)
        rates = np.concatenate(
            [mean[:, 1:], log_sd[:, 1:], np.arctanh(rho)[:, None], rate_slopes], axis=1
        )
        return self.shares.log_likelihood(shares) + self.rates.log_likelihood(rates)


def _new_logits(mean, sd, rho, effect):
    """Return the logits (S, 3) of new groups with standardised effects (S, 3)."""
    last = rho * effect[:, 1] + np.sqrt(np.maximum(1 - rho**2, 1e-12)) * effect[:, 2]
    return mean + sd * np.stack([*effect.T[:2], last], axis=-1)


def cells_of_logits(logits: np.ndarray, prevalence: float | None = None) -> np.ndarray:
    """Return cells (..., 2, 2) for logits of prevalence, recall and specificity."""
    return cells_of_rates(expit(logits), expit(-logits), prevalence)


def cells_of_rates(
    hits: np.ndarray, misses: np.ndarray, prevalence: float | None = None
) -> np.ndarray:
    """Return cells (..., 2, 2) for the three rates (..., 3) and their complements."""
    positives, recall, specificity = np.moveaxis(hits, -1, 0)
    negatives, miss, alarm = np.moveaxis(misses, -1, 0)
    if prevalence is not None:
        positives, negatives = (
            np.full_like(positives, prevalence),
            np.full_like(positives, 1 - prevalence),
        )
    return matrix_of(
        negatives * specificity, negatives * alarm, positives * miss, positives * recall
    )


def matrix_of(tn: np.ndarray, fp: np.ndarray, fn: np.ndarray, tp: np.ndarray) -> np.ndarray:
    """Return matrices (..., 2, 2) from their four cells."""
    return np.stack([np.stack([tn, fp], axis=-1), np.stack([fn, tp], axis=-1)], axis=-2)


# Number of quadrature nodes per effect of a group. Accuracy was measured against 41 nodes, at
# posterior draws of the parameters, for 40 groups of 5 to 300 examples. For groups with observed
# rates inside (0, 1), the error of the log likelihood is at most 1.1e-3 with four nodes, and 2e-2
# with three. Three nodes are used only for the proposal. If an observed rate is 0 or 1, the
# integrand is skewed. The error is then at most 4e-4 with seven nodes, and 2e-3 with five, which
# are used for more than 100 groups. Errors that are common to all draws do not change the
# posterior.
_NODES = 4
_NODES_EXTREME = 7
_NODES_ROUGH = 3
_NODES_EXTREME_OF_MANY = 5
_MANY_GROUPS = 100
# Numbers of weighted points of the parameters. The proposal is adapted with a fifth of the number
# of points for many groups.
_PARAMETER_GROUPS = 1e6  # largest number of points times groups
_FEWEST_POINTS = 1000  # smallest number of points for many groups
_MOST_POINTS = 2500  # largest number of points, unless `_MOST_OF_FEW_GROUPS` applies
_PARAMETERS_OF_FEW_GROUPS = 1.2e5  # points times groups for few groups; takes a quarter of a second
_MOST_OF_FEW_GROUPS = 10_000  # largest number of points for few groups
_LOWEST_LOG_PRIOR = -1e6  # a lower log prior is treated as a prior of 0
_CACHED = 32_000  # largest number of parameters times groups times nodes in an array (256 kB)
_NEWTON_STEPS = 30  # largest number of Newton steps
_LONGEST_STEP = 2.0  # in standardised effects; avoids points whose curvature is nearly 0
_CONVERGED = 1e-3  # Newton decrement at which the iteration stops
_RATES = ("prevalence", "recall", "specificity")
_METROPOLIS_STEPS = 8  # nine in ten proposals are accepted, with 5 to 100 examples per group
_INITIAL_LOG_SD = -0.7  # in units of the prior scale, or of 1 if that is smaller
_LOGIT_BOUND = 20.0  # bound of means and slopes in the search for the mode


@dataclass(frozen=True, eq=False)
class LogitNormalRates:
    """
    Posterior of D = 1 or 2 binomial rates with jointly normal logits in G groups.

    The parameters (S, P) are:

    - D means of the logits
    - D logarithms of their standard deviations
    - for two rates, the inverse hyperbolic tangent of their correlation
    - Q x D slopes

    Attributes
    ----------
    hits, totals : ndarray, shape (G, D)
        Successes and trials. A group may have no trials.
    prior : ndarray, shape (D, 2)
        Beta parameters of the rate of a typical group.
    scale : float
        Scale of the half-normal prior for the standard deviations of the logits.
    design : ndarray, shape (G, Q), optional
        Covariates of the groups. They are 0 for the typical group.
    slope : float or ndarray, shape (Q,)
        Scale of the normal prior for the change of a logit per unit of a covariate.
    points : int
        Smallest number of weighted points of the parameters.
    """

    hits: np.ndarray
    totals: np.ndarray
    prior: np.ndarray
    scale: float
    design: np.ndarray | None = field(default=None, kw_only=True)
    slope: float | np.ndarray = field(default=2.0, kw_only=True)
    points: int = field(default=0, kw_only=True)

    @property
    def n_rates(self) -> int:
        """The number D of rates."""
        return self.hits.shape[1]

    def unpack(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return means (S, D), standard deviations (S, D) and correlation (S,) of logits."""
        size = self.n_rates
        sd = np.exp(parameters[:, size : 2 * size])
        rho = np.tanh(parameters[:, 4]) if size == 2 else np.zeros(len(parameters))
        return parameters[:, :size], sd, rho

    def slopes(self, parameters: np.ndarray) -> np.ndarray:
        """Return the slopes (S, Q, D) of the logits for Q covariates."""
        first = 3 * self.n_rates - 1  # after D means, D sds and, for D = 2, the correlation
        return parameters[:, first:].reshape(len(parameters), -1, self.n_rates)

    def log_prior(self, parameters: np.ndarray) -> np.ndarray:
        """
        Return the normalised log prior density (S,) of the parameters (S, P).

        - The rates of the typical group are beta.
        - The standard deviations are half-normal.
        - For two rates, (1 + rho) / 2 is Beta(2, 2).
        - The slopes are normal.
        """
        mean, sd, _ = self.unpack(parameters)
        a, b = self.prior.T
        total = (a * mean - (a + b) * np.logaddexp(0, mean) - betaln(a, b)).sum(1)
        # The prior of the spread (`_spread` in models/hierarchical_groups.py), times the derivative
        # of exp(log spread). To use another prior, change it in the model, here, in the `bounds` of
        # `parameters` and, for more classes, in `DirichletShares.log_posterior`.
        total = total + (log_half_normal(sd, self.scale) + np.log(sd)).sum(1)
        if self.n_rates == 2:  # (1 + rho) / 2 ~ Beta(2, 2), times the derivative of tanh
            size = np.abs(parameters[:, 4])
            log_rest = 2 * (np.log(2) - size - np.log1p(np.exp(-2 * size)))  # 1 - rho**2
            total = total + np.log(0.75) + 2 * log_rest
        slopes = self.slopes(parameters)  # (S, Q, D)
        scale = np.broadcast_to(self.slope, slopes.shape[1])[:, None]
        normal = -((slopes / scale) ** 2) / 2 - np.log(2 * np.pi) / 2 - np.log(scale)
        return total + normal.sum((1, 2))

    def log_posterior(self, parameters: np.ndarray, n_nodes: int | None = None) -> np.ndarray:
        """
        Return the log posterior density (S,), with the effects integrated out.

        The binomial coefficients are omitted.

        Parameters
        ----------
        parameters : ndarray, shape (S, P)
        n_nodes : int, optional
            Number of nodes of each effect. By default, it depends on the group.
        """
        logs = self.log_prior(parameters)
        # Spreads that the prior excludes would cause overflow in the quadrature, so their weight is
        # set to 0.
        logs = np.where(logs > _LOWEST_LOG_PRIOR, logs, -np.inf)
        possible = np.flatnonzero(np.isfinite(logs))
        nodes = self._nodes if n_nodes is None else np.full(len(self.hits), n_nodes)
        for block in self._slices(len(possible), nodes.mean()):
            logs[possible[block]] += self._log_likelihood(parameters[possible[block]], nodes).sum(1)
        return logs

    @cached_property
    def _nodes(self):
        """The number of nodes for the effects of each group, (G,)."""
        extreme = ((self.hits == 0) | (self.hits == self.totals)).any(axis=1)
        many = len(self.hits) > _MANY_GROUPS
        return np.where(extreme, _NODES_EXTREME_OF_MANY if many else _NODES_EXTREME, _NODES)

    def log_likelihood(self, parameters: np.ndarray) -> np.ndarray:
        """
        Return the log likelihood (S, G) of each group given parameters (S, P).

        The effects are integrated out, and the binomial coefficients are omitted.
        """
        nodes = np.full(len(self.hits), _NODES_EXTREME)
        parts = self._slices(len(parameters), _NODES_EXTREME)
        return np.concatenate([self._log_likelihood(parameters[block], nodes) for block in parts])

    def _log_likelihood(self, parameters, nodes):
        means, cholesky = self.logit_distribution(parameters)
        modes, roots = self.effect_modes(means, cholesky)
        groups = GroupModes(self.hits.T, self.totals.T, means, cholesky, modes, roots)
        return log_marginal_likelihood(groups, nodes)

    def _slices(self, size, n_nodes):
        """Yield slices of the parameters, so that arrays for one slice fit into the cache."""
        step = max(1, int(_CACHED / (len(self.hits) * n_nodes)))
        return (slice(start, start + step) for start in range(0, size, step))

    @cached_property
    def parameters(self) -> Weighted:
        """Weighted draws of the parameters, with a fixed seed."""
        rate = (self.hits.sum(0) + self.prior[:, 0]) / (self.totals.sum(0) + self.prior.sum(1))
        log_scale = np.log(self.scale)
        start = np.concatenate(
            [
                np.log(rate / (1 - rate)),
                np.full(self.n_rates, min(log_scale, 0.0) + _INITIAL_LOG_SD),
            ]
        )
        bounds = [(-_LOGIT_BOUND, _LOGIT_BOUND)] * self.n_rates
        # The range covers the mass of a half-normal prior. A heavier tail needs a wider range.
        bounds += [(log_scale - 6, log_scale + 2)] * self.n_rates
        if self.n_rates == 2:
            start, bounds = np.append(start, 0.0), [*bounds, (-3.0, 3.0)]
        if self.design is not None:
            n_slopes = self.design.shape[1] * self.n_rates
            start = np.append(start, np.zeros(n_slopes))
            bounds = [*bounds, *[(-_LOGIT_BOUND, _LOGIT_BOUND)] * n_slopes]
        size = int(np.clip(_PARAMETER_GROUPS / len(self.hits), _FEWEST_POINTS, _MOST_POINTS))
        many = min(int(_PARAMETERS_OF_FEW_GROUPS / len(self.hits)), _MOST_OF_FEW_GROUPS)
        return explore(
            self.log_posterior,
            start,
            bounds,
            sketch=partial(self.log_posterior, n_nodes=_NODES_ROUGH),
            rough=size // 5,
            size=max(size, many, self.points),
        )

    @cached_property
    def population_rates(self) -> tuple[np.ndarray, np.ndarray]:
        """Rates and their complements (S, D) at each point, averaged over the population."""
        mean, sd, _ = self.unpack(self.parameters.points)
        return logit_normal_means(mean, sd)

    def logits(self, parameters: np.ndarray, effects: np.ndarray) -> np.ndarray:
        """Return the logits (S, G, D) of groups with standardised effects (S, G, D)."""
        means, cholesky = self.logit_distribution(parameters)
        logits = self._logits(means, cholesky, list(np.moveaxis(effects, -1, 0)))
        return np.stack(logits, axis=-1)

    def partially_centred(self, parameters: np.ndarray, effects: np.ndarray) -> np.ndarray:
        """
        Return the effects of the PyMC model, given standardised effects (S, G, D).

        Let m and s be the mean and standard deviation of the logit of a rate given the preceding
        rates, and e its standardised effect. The effect in the model is lambda m + s**lambda e,
        with the centring weight lambda. See the docstring of models/hierarchical_groups.py.
        """
        means, cholesky = self.logit_distribution(parameters)
        logits, information = observed_logits(self.hits, self.totals)
        number = (self.totals > 0).sum(0)
        few = np.maximum(number - 5, 0) / np.maximum(number - 1, 1)
        variance = few * variance_between(logits, information)
        centring = information * variance / (information * variance + 1)
        columns = []
        for index, (mean, row) in enumerate(zip(means, cholesky, strict=True)):
            before = (factor * effects[..., k] for k, factor in enumerate(row[:-1]))
            weight = centring[:, index]
            location = weight * sum(before, mean)
            columns.append(location + row[-1] ** weight * effects[..., index])
        return np.stack(columns, axis=-1)

    # In the methods below, values for the D rates or effects are lists of arrays (S, G). A last
    # axis of length one or two would be slow in numpy.

    def logit_distribution(self, parameters):
        """Return D means (S, 1 or G), and D rows of the lower Cholesky factor (S, 1)."""
        mean, sd, rho = self.unpack(parameters)
        shifted = mean[:, None]
        if self.design is not None:
            shifted = shifted + self.design @ self.slopes(parameters)
        means = list(np.moveaxis(shifted, -1, 0))
        first = sd[:, :1]
        if self.n_rates == 1:
            return means, [[first]]
        rho, second = rho[:, None], sd[:, 1:]
        return means, [[first], [rho * second, np.sqrt(np.maximum(1 - rho**2, 1e-12)) * second]]

    def _logits(self, means, cholesky, effects):
        """Return the logits at standardised effects, both as D arrays (S, G, ...)."""
        extra = (...,) + (None,) * (effects[0].ndim - 2)
        shifts = _multiply([[entry[extra] for entry in row] for row in cholesky], effects)
        return [mean[extra] + shift for mean, shift in zip(means, shifts, strict=True)]

    def effect_modes(self, means, cholesky):
        """
        Return the modes of each group's standardised effects, by Newton's method.

        Returns
        -------
        modes : D arrays, shape (S, G)
        roots : D rows of arrays, shape (S, G)
            Lower Cholesky factor of the inverse curvature at the mode.
        """
        effects = self._normal_approximation(means, cholesky)
        for _ in range(_NEWTON_STEPS):
            gradient, precision, determinant = self._derivatives(effects, means, cholesky)
            step = _multiply(_inverse(precision, determinant), gradient)
            # The decrement is scaled by the curvature, which is large if a group has many examples.
            decrement = sum(move * slope for move, slope in zip(step, gradient, strict=True))
            longest = np.max([np.abs(move) for move in step], axis=0)
            damping = np.minimum(1, _LONGEST_STEP / np.maximum(longest, 1e-12))
            effects = [at + damping * move for at, move in zip(effects, step, strict=True)]
            if decrement.max() < _CONVERGED:  # the quadrature needs no higher accuracy
                break
        _, precision, determinant = self._derivatives(effects, means, cholesky)
        return effects, _root_of_inverse(precision, determinant)

    def _normal_approximation(self, means, cholesky):
        """
        Return the modes under a normal approximation of the observed logits.

        They are good starting points even for outlying groups.
        """
        shares = (self.hits.T + 0.5) / (self.totals.T + 1)
        weights = self.totals.T * shares * (1 - shares)
        residuals = [
            weight * (logit(p) - mean)
            for weight, p, mean in zip(weights, shares, means, strict=True)
        ]
        gradient, precision, determinant = _normal_equations(residuals, weights, cholesky)
        return _multiply(_inverse(precision, determinant), gradient)

    def _derivatives(self, effects, means, cholesky):
        """Return the gradient of the log density of effects, the precision and its determinant."""
        rates = [fast_expit(logits) for logits in self._logits(means, cholesky, effects)]
        residuals = [h - n * p for h, n, p in zip(self.hits.T, self.totals.T, rates, strict=True)]
        weights = [n * p * (1 - p) for n, p in zip(self.totals.T, rates, strict=True)]
        gradient, precision, determinant = _normal_equations(residuals, weights, cholesky)
        gradient = [slope - at for slope, at in zip(gradient, effects, strict=True)]
        return gradient, precision, determinant

    def draw_effects(self, parameters: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """
        Sample each group's standardised effects (S, G, D) given parameters (S, P).

        A few steps of an independence Metropolis sampler are made. Its proposal is the normal
        distribution at the mode.
        """
        parts = self._slices(len(parameters), 1)
        return np.concatenate([self._metropolis(parameters[block], rng) for block in parts])

    def _metropolis(self, parameters, rng):
        means, cholesky = self.logit_distribution(parameters)
        modes, roots = self.effect_modes(means, cholesky)

        def propose():
            noise = list(rng.standard_normal((self.n_rates, *modes[0].shape)))
            shifts = _multiply(roots, noise)
            effects = [mode + shift for mode, shift in zip(modes, shifts, strict=True)]
            logits = self._logits(means, cholesky, effects)
            log_ratio = sum(map(log_likelihood_of_logit, logits, self.hits.T, self.totals.T))
            log_ratio += sum(n**2 - e**2 for n, e in zip(noise, effects, strict=True)) / 2
            return effects, log_ratio

        effects, log_ratio = propose()
        for _ in range(_METROPOLIS_STEPS):
            proposal, proposal_ratio = propose()
            accept = np.log(rng.random(log_ratio.shape)) < proposal_ratio - log_ratio
            effects = [
                np.where(accept, new, old) for new, old in zip(proposal, effects, strict=True)
            ]
            log_ratio = np.where(accept, proposal_ratio, log_ratio)
        return np.stack(effects, axis=-1)


def _normal_equations(residuals, weights, cholesky):
    """
    Return the gradient in standardised effects, the precision and its determinant.

    For the Cholesky factor L, the residuals r and the weights W, they equal L' r, L' W L + I and
    det(L' W L + I).
    """
    if len(residuals) == 1:
        a = cholesky[0][0]
        precision = a**2 * weights[0] + 1
        return [a * residuals[0]], [[precision]], precision
    a, (b, c) = cholesky[0][0], cholesky[1]
    cross = b * c * weights[1]
    gradient = [a * residuals[0] + b * residuals[1], c * residuals[1]]
    first, second = a**2 * weights[0] + 1, c**2 * weights[1] + 1
    shared = b**2 * weights[1]
    # The determinant is written as a sum, because a difference of products loses precision for
    # large counts.
    return gradient, [[first + shared, cross], [cross, second]], first * second + shared


def _multiply(rows, vector):
    """Multiply a matrix, given as rows of arrays (full or lower triangular), by a vector."""
    return [sum(m * v for m, v in zip(row, vector, strict=False)) for row in rows]


def _inverse(precision, determinant):
    if len(precision) == 1:
        return [[1 / determinant]]
    (a, b), (_, d) = precision
    return [[d / determinant, -b / determinant], [-b / determinant, a / determinant]]


def _root_of_inverse(precision, determinant):
    """Return the lower Cholesky factor of the inverse."""
    if len(precision) == 1:
        return [[np.sqrt(1 / determinant)]]
    (_, b), (_, d) = precision
    return [[np.sqrt(d / determinant)], [-b / np.sqrt(d * determinant), np.sqrt(1 / d)]]


def observed_logits(hits: np.ndarray, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return logits of rates (G, ...) and their information, which is 0 without trials."""
    rates = (hits + 0.5) / (totals + 1)
    return logit(rates), (totals > 0) * (totals + 1) * rates * (1 - rates)


def variance_between(logits: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the DerSimonian-Laird variance (...) between logits (G, ...) of groups."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (weight * logits).sum(0) / weight.sum(0)
        excess = (weight * (logits - mean) ** 2).sum(0) - ((weight > 0).sum(0) - 1)
        scale = weight.sum(0) - (weight**2).sum(0) / weight.sum(0)
        return np.maximum(np.nan_to_num(excess / scale), 0)
