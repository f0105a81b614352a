r"""
The direct posterior of `bayescm.models.hierarchical_calibration`: probabilities by site.

Each site g has a logistic recalibration of its own, of level and slope
:math:`e_g \sim N(m, \mathrm{diag}(s^2))`,

.. math::

    \operatorname{logit} P(y = 1 \mid p, g) = \operatorname{logit} p + e_{g1} + e_{g2} z(p).

At each pair of spreads s between sites the log likelihood of every site is taken for quadratic,
which gives a proposal in closed form: the spreads, then the mean m of the sites, then every site by
itself. A site is proposed several times, and one of these is chosen by its weight; the mean of the
weights stands for the integral over the site, and the product of the integrals weighs the whole
(importance sampling).

The forecasts of a site are those that it has shown, by the Bayesian bootstrap, and as many as one
example of all sites together; what comes true follows its own recalibration. Classifiers are drawn
one by one, and then put in the joint order of a bootstrap of the examples that all of them saw: a
Gaussian copula's rank correlation without the Gaussian (Iman & Conover).

References
----------
Iman, R. L. & Conover, W. J. (1982). A distribution-free approach to inducing rank correlation among
input variables. Communications in Statistics - Simulation and Computation 11, 311-334.
doi:10.1080/03610918208812265
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit, logit, logsumexp

from bayescm.distributions.empirical import Empirical
from bayescm.evidence.scores import as_sites
from bayescm.inference import bayesian_bootstrap, importance
from bayescm.measures.measure import Curved
from bayescm.measures.probabilities import Forecasts, log_odds
from bayescm.posteriors.base import LabelTemplate
from bayescm.posteriors.calibration import LEVEL, SLOPE
from bayescm.posteriors.forecasts import OfForecasts, neighbours, said_of_exact
from bayescm.validate import fail

# Prior scales of the standard deviations of level and slope between sites (half-normal).
SPREAD = np.array([1.0, 0.5])
_CENTER = np.array([LEVEL, SLOPE])
_FEW_SITES, _FEW = 5, 10
_OTHERS, _WORTH = 16, 1.0  # forecasts of all sites together, and the examples they are worth


# Level and slope of every site of one classifier.

_BINS = 200  # neighbouring forecasts of a site are put together beyond this
# Spreads, in steps by 1.9: with none below .01 the 2.5 % quantile of four sites was .023 and .019,
# by NUTS .016 and .008, and is .016 and .013 now.
_SCALES = np.geomspace(0.002, 4.0, 13)
_TRIES, _FREEDOM = 8, 8.0


@dataclass(frozen=True, eq=False)
class Sites:
    """
    The posterior of level and slope of the sites of one classifier.

    Attributes
    ----------
    odds, outcome, weight : ndarray, shape (n,)
        The forecasts' log odds, finite; 1 for the positive class; how many examples each stands
        for.
    code : ndarray of int, shape (n,)
        The site of each.
    spread : ndarray, shape (2,)
        Prior scales of the standard deviations of level and slope.
    """

    odds: np.ndarray
    outcome: np.ndarray
    weight: np.ndarray
    code: np.ndarray
    spread: np.ndarray

    @cached_property
    def number(self) -> int:
        """The number of sites."""
        return int(self.code.max()) + 1

    @cached_property
    def middle(self) -> tuple[float, float]:
        """The mean and the standard deviation of the log odds (1 where they are all the same)."""
        return float(self.odds.mean()), float(self.odds.std()) or 1.0

    def odds_of(self, probability: np.ndarray) -> np.ndarray:
        """Return the log odds of further forecasts (n,), inside those of the examples."""
        return np.clip(logit(probability), self.odds.min(), self.odds.max())

    def place(self, odds: np.ndarray) -> np.ndarray:
        """Return log odds in standard deviations from their mean."""
        center, unit = self.middle
        return (odds - center) / unit

    @cached_property
    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log odds, positives and totals of neighbouring forecasts of each site, (G, bins)."""
        parts = [_binned(*each) for each in self._apart]
        width = max(len(each[0]) for each in parts)
        padded = [[np.pad(row, (0, width - len(row))) for row in each] for each in parts]
        odds, hits, total = np.moveaxis(np.array(padded), 1, 0)
        return odds, hits, total

    @property
    def _apart(self):
        for site in range(self.number):
            own = self.code == site
            yield self.odds[own], self.outcome[own], self.weight[own]

    def log_likelihood(self, site: int, effect: np.ndarray) -> np.ndarray:
        """Return the log likelihood of levels and slopes (..., 2) of a site."""
        odds, hits, total = (each[site] for each in self.tables)
        used = total > 0
        odds, hits, total = odds[used], hits[used], total[used]
        eta = odds + effect[..., :1] + effect[..., 1:] * self.place(odds)
        return eta @ hits - (np.maximum(eta, 0) + np.log1p(np.exp(-np.abs(eta)))) @ total

    def log_prior(self, center: np.ndarray, spread: np.ndarray) -> np.ndarray:
        """Return the log prior density of means (..., 2) and spreads (..., 2)."""
        means = -((center / _CENTER) ** 2) / 2 - np.log(_CENTER * np.sqrt(2 * np.pi))
        half = np.log(2 / np.pi) / 2 - np.log(self.spread) - (spread / self.spread) ** 2 / 2
        return (means + half).sum(axis=-1)

    @cached_property
    def _quadratic(self):
        """
        Return the quadratic log likelihood of every site at each cell of the grid, and weights.

        Cells are pairs of spreads (J, 2); the curvature (J, G, 2, 2), the linear part (J, G, 2) and
        the log share of each cell.
        """
        scales = np.stack(np.meshgrid(_SCALES, _SCALES, indexing="ij"), axis=-1).reshape(-1, 2)
        center, effect = self._modes(scales)
        score, info = self._slopes(effect)
        linear = score + np.einsum("jgab,jgb->jga", info, effect)
        heights = [self.log_likelihood(site, effect[:, site]) for site in range(self.number)]
        away = (effect - center[:, None]) / scales[:, None]
        own = -(away**2).sum((-2, -1)) / 2 - self.number * np.log(scales).sum(-1)
        height = np.sum(heights, axis=0) + own + self.log_prior(center, scales)
        given = _Given.of(info, linear, scales)
        bulk = np.linalg.slogdet(given.precision)[1] + np.linalg.slogdet(given.own)[1].sum(-1)
        # On a grid even in the logs, whose densities have the scales as factors.
        share = height - bulk / 2 + np.log(scales).sum(-1)
        return scales, info, linear, share - logsumexp(share)

    def _modes(self, scales):
        """Return the modes of the mean (J, 2) and of the sites (J, G, 2) at pairs of spreads."""
        effect = np.zeros((len(scales), self.number, 2))
        for _ in range(50):
            score, info = self._slopes(effect)
            linear = score + np.einsum("jgab,jgb->jga", info, effect)
            given = _Given.of(info, linear, scales)
            center = given.center
            step = given.sites(center) - effect
            longest = np.abs(step).max(axis=(1, 2), keepdims=True)
            effect = effect + step * np.minimum(1, 2 / np.maximum(longest, 1e-300))
            if longest.max() < 1e-6:
                break
        return center, effect

    def _slopes(self, effect):
        """Return score (J, G, 2) and information (J, G, 2, 2) of the sites' log likelihoods."""
        odds, hits, total = self.tables
        place = self.place(odds)
        truth = expit(odds + effect[..., :1] + effect[..., 1:] * place)
        rest, bulk = hits - total * truth, total * truth * (1 - truth)
        score = np.stack([rest.sum(-1), (rest * place).sum(-1)], axis=-1)
        cross = (bulk * place).sum(-1)
        rows = [[bulk.sum(-1), cross], [cross, (bulk * place**2).sum(-1)]]
        return score, np.stack([np.stack(each, axis=-1) for each in rows], axis=-2)

    def draw(
        self, size: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """
        Draw means, spreads and sites from the posterior.

        Returns
        -------
        center, spread : ndarray, shape (size, 2)
        effect : ndarray, shape (size, G, 2)
            Level and slope of every site.
        efficiency : float
            The effective share of the draws before they were resampled by their weights.
        """
        scales, info, linear, share = self._quadratic
        cell = rng.choice(len(scales), size=size, p=np.exp(share))
        step = np.log(_SCALES[1] / _SCALES[0])
        spread = scales[cell] * np.exp(step * (rng.random((size, 2)) - 0.5))
        given = _Given.of(info[cell], linear[cell], spread)
        factor = np.linalg.inv(np.linalg.cholesky(given.precision)).swapaxes(-1, -2)
        noise, thick = _student((size, 2), rng)
        center = given.center + np.einsum("sab,sb->sa", factor, noise)
        proposed = share[cell] + thick - np.log(np.abs(_diagonal(factor))).sum(-1)
        logs = self.log_prior(center, spread) + np.log(spread).sum(-1) - proposed
        effect = np.empty((size, self.number, 2))
        for site, middle in enumerate(np.moveaxis(given.sites(center), 1, 0)):
            found, weight = self._of_site(site, middle, given.own[:, site], center, spread, rng)
            effect[:, site] = found
            logs += weight
        kept, efficiency = importance.resample(logs, size, rng)
        return center[kept], spread[kept], effect[kept], efficiency

    def _of_site(self, site: int, middle, precision, center, spread, rng):
        """Return one of several proposals of a site, (S, 2), and the log of its integral, (S,)."""
        factor = np.linalg.inv(np.linalg.cholesky(precision)).swapaxes(-1, -2)
        noise, thick = _student((len(middle), _TRIES, 2), rng)
        tried = middle[:, None] + np.einsum("sab,skb->ska", factor, noise)
        away = (tried - center[:, None]) / spread[:, None]
        own = -(away**2).sum(-1) / 2 - np.log(2 * np.pi) - np.log(spread).sum(-1)[:, None]
        proposed = thick - np.log(np.abs(_diagonal(factor))).sum(-1)[:, None]
        logs = self.log_likelihood(site, tried) + own - proposed
        total = logsumexp(logs, axis=1)
        below = np.exp(logs - total[:, None]).cumsum(axis=1)
        chosen = (rng.random((len(middle), 1)) > below).sum(axis=1).clip(max=_TRIES - 1)
        return tried[np.arange(len(middle)), chosen], total - np.log(_TRIES)


@dataclass(frozen=True, eq=False)
class _Given:
    """
    Mean and sites given the spreads, where log likelihoods of the sites are quadratic.

    Attributes
    ----------
    own : ndarray, shape (..., G, 2, 2)
        Precision of each site given the mean.
    linear : ndarray, shape (..., G, 2)
    inside : ndarray, shape (..., 2)
        One over the variances between sites.
    precision, center : ndarray, shape (..., 2, 2) and (..., 2)
        Of the mean, the sites integrated out.
    """

    own: np.ndarray
    linear: np.ndarray
    inside: np.ndarray
    precision: np.ndarray
    center: np.ndarray

    @classmethod
    def of(cls, info: np.ndarray, linear: np.ndarray, spread: np.ndarray) -> "_Given":
        """Return it of curvatures (..., G, 2, 2), linear parts and spreads (..., 2)."""
        inside = spread**-2
        own = info + inside[..., None, None, :] * np.eye(2)
        # T^-1 - T^-1 (info + T^-1)^-1 T^-1, without the difference of large numbers.
        shared = inside[..., None, :, None] * np.linalg.solve(own, info)
        precision = shared.sum(axis=-3) + np.eye(2) / _CENTER**2
        precision = (precision + precision.swapaxes(-1, -2)) / 2
        toward = inside * np.linalg.solve(own, linear[..., None])[..., 0].sum(axis=-2)
        center = np.linalg.solve(precision, toward[..., None])[..., 0]
        return cls(own, linear, inside, precision, center)

    def sites(self, center: np.ndarray) -> np.ndarray:
        """Return the means of the sites (..., G, 2) given those of all, (..., 2)."""
        pulled = self.linear + (self.inside * center)[..., None, :]
        return np.linalg.solve(self.own, pulled[..., None])[..., 0]


def _student(shape: Sequence[int], rng):
    """Draw from a t distribution of two dimensions, and return the log density up to a constant."""
    noise = rng.standard_normal(shape)
    noise /= np.sqrt(rng.chisquare(_FREEDOM, shape[:-1]) / _FREEDOM)[..., None]
    inside = np.log1p((noise**2).sum(-1) / _FREEDOM)
    return noise, -(_FREEDOM / 2 + 1) * inside - np.log(2 * np.pi)


def _diagonal(factor):
    return np.diagonal(factor, axis1=-2, axis2=-1)


def _binned(odds, outcome, weight):
    """Return log odds, positives and totals of neighbouring forecasts of one site."""
    found, inverse = np.unique(odds, return_inverse=True)
    if len(found) > _BINS:
        inverse = inverse * _BINS // len(found)
    total = np.bincount(inverse, weight)
    return (
        np.bincount(inverse, weight * odds) / total,
        np.bincount(inverse, weight * outcome),
        total,
    )


# Measures of one classifier at its sites, given level and slope of each.

type Asked = Sequence[Callable]


@dataclass(frozen=True, eq=False)
class AtSites:
    """
    One classifier at G sites.

    Attributes
    ----------
    recalibration : Sites
        The posterior of level and slope of every site.
    shown : sequence of pairs of ndarray, shape (u,)
        The forecasts of every site, and the examples they are worth.
    """

    recalibration: Sites
    shown: Sequence[tuple[np.ndarray, np.ndarray]]

    def mean(self, measures: Asked, size: int, rng: np.random.Generator) -> list[np.ndarray]:
        """Draw the means over all the sites there may be, (S,)."""
        center, spread, _, _ = self.recalibration.draw(size, rng)
        share = rng.standard_exponential((size, len(self.shown)))
        share /= share.sum(axis=1, keepdims=True)
        total = np.zeros((len(measures), size))
        for site in range(len(self.shown)):
            # Two opposite points, in a direction by chance, have mean and covariance of the sites.
            turned = rng.uniform(0, np.pi, size)
            away = np.sqrt(2) * spread * np.stack([np.cos(turned), np.sin(turned)], axis=1)
            for effect in (center + away, center - away):
                values = self._of_site(measures, site, effect, rng)
                total += share[:, site] * np.array(values) / 2
        return list(total)

    def new(self, measures: Asked, size: int, rng: np.random.Generator) -> list[np.ndarray]:
        """Draw a site not seen yet, (S,), with the forecasts of one of those at hand."""
        center, spread, _, _ = self.recalibration.draw(size, rng)
        effect = center + spread * rng.standard_normal((size, 2))
        like, found = rng.integers(len(self.shown), size=size), np.empty((len(measures), size))
        for site in np.unique(like):
            own = like == site
            found[:, own] = self._of_site(measures, site, effect[own], rng)
        return list(found)

    def each(self, measures: Asked, size: int, rng: np.random.Generator) -> list[np.ndarray]:
        """Draw every site at hand, (S, G)."""
        effect = self.recalibration.draw(size, rng)[2]
        sites = [
            self._of_site(measures, site, effect[:, site], rng) for site in range(len(self.shown))
        ]
        return [np.stack(values, axis=-1) for values in zip(*sites, strict=True)]

    def at_hand(self, *asked) -> list[np.ndarray]:
        """Draw the means over the sites at hand, (S,)."""
        return [each.mean(axis=-1) for each in self.each(*asked)]

    def _of_site(self, measures, site, effect, rng):
        """Return measures (S,) of a site with levels and slopes (S, 2), its forecasts drawn."""
        weight = self.shown[site][1]
        shares = bayesian_bootstrap.gamma_weights(weight, len(effect), rng)
        shares /= shares.sum(axis=1, keepdims=True)
        return self.given(measures, site, effect, shares)

    def given(
        self, measures: Asked, site: int, effect: np.ndarray, shares: np.ndarray
    ) -> list[np.ndarray]:
        """Return measures (S,) of a site with levels and slopes, and shares (S, u) of forecasts."""
        for measure in measures:
            if isinstance(getattr(measure, "form", None), Curved):
                todo = "select a site, and drop_vars('group')"
                name = measure.__name__
                raise fail(f"{name} is of one sample, not of sites", ..., "a proper score", todo)
        row = self.shown[site][0]
        odds = self.recalibration.odds_of(row)
        truth = expit(odds + effect[:, :1] + effect[:, 1:] * self.recalibration.place(odds))
        both = np.concatenate([shares * (1 - truth), shares * truth], axis=1)
        outcome = np.repeat([0.0, 1.0], len(row))
        seen = Forecasts(np.tile(row, 2)[None], outcome, both, lambda: np.tile(truth, 2)[:, None])
        return [_finite(measure, measure(seen)[:, 0]) for measure in measures]

    @cached_property
    def _middle(self):
        """The posterior means of center (2,), spread (2,) and sites (G, 2)."""
        drawn = self.recalibration.draw(1000, np.random.default_rng(0))[:3]
        return [each.mean(axis=0) for each in drawn]

    def point(self, measure: Callable, *, own: bool) -> np.ndarray:
        """Return a measure of every site (G,) at posterior means: its own, or those of any."""
        center, spread, effect = self._middle
        away = np.sqrt(2) * spread * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
        values = []
        for site, (_, weight) in enumerate(self.shown):
            at = effect[[site]] if own else center + away
            share = np.tile(weight / weight.sum(), (len(at), 1))
            values.append(self.given([measure], site, at, share)[0].mean())
        return np.array(values)


def _finite(measure, values):
    if np.isfinite(values).all():
        return values
    what = f"{measure.__name__} is infinite if a forecast of exactly 0 or 1 is wrong"
    todo = "pass clip=1e-6 to from_probabilities, or ask for brier"
    raise fail(what, ..., "forecasts inside (0, 1)", todo)


# The posterior of all classifiers.


class SiteForecasts(OfForecasts):
    """
    The posterior of the forecasts of one or more classifiers at several sites.

    ``"population"``, the default, is the mean over all the sites there may be of a site's own
    measure, ``"finite"`` the mean over the sites at hand, ``"new"`` one site not seen yet, and
    ``"group"`` each of those at hand. Each classifier has a posterior of its own; their draws come
    in the order of resamples of the sites and the examples that they share.
    """

    pooled_dims: tuple[str, ...] = ("group",)
    estimands = {  # noqa: RUF012
        "parameter": "sites",
        "population": "sites",
        "finite": "site",
        "new": "site_new",
    }
    how = "draws by importance sampling"
    _apart = False
    most = 2000

    def __init__(self, evidence: xr.Dataset, spread: float = 1.0):
        self.evidence = evidence
        self.probability = np.atleast_2d(evidence["score"].values)
        self.outcome = (evidence["actual"] == evidence["positive"]).values.astype(float)
        given = evidence["weight"].values if "weight" in evidence else np.ones(len(self.outcome))
        self.weight = given.astype(float)
        self.sites, self.code = np.unique(evidence["group"].values, return_inverse=True)
        self.scales = spread * SPREAD

    @cached_property
    def recalibrations(self) -> list[Sites]:
        """The posterior of level and slope of the sites, of each classifier."""
        known = self.outcome, self.weight, self.code, self.scales
        return [Sites(row, *known) for row in log_odds(self.probability)]

    @cached_property
    def shown(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The forecasts (K, u) of every site and their weights, those of all sites at the end."""
        order = np.argsort(self.probability[0], kind="stable")
        parts = np.array_split(order, min(_OTHERS, len(order)))
        of_all = [np.average(self.probability[:, i], axis=1, weights=self.weight[i]) for i in parts]
        share = np.array([self.weight[i].sum() for i in parts]) * _WORTH / self.weight.sum()
        found = []
        for site in range(len(self.sites)):
            own = self.code == site
            rows, weight = neighbours(self.probability[:, own], self.weight[own])
            both = np.concatenate([rows, np.stack(of_all, axis=1)], axis=1)
            found.append((both, np.concatenate([weight, share])))
        return found

    def caveats(self, of: str = "parameter") -> list[str]:
        """Say so where the sites, or their examples, are few."""
        said = []
        if len(self.sites) < _FEW_SITES:
            few = f"{len(self.sites)} sites are few"
            said.append(f"{few}: how much they differ is known from the prior more than from them.")
        table = pd.crosstab(self.code, self.outcome, values=self.weight, aggfunc="sum")
        short = (table.reindex(columns=[0.0, 1.0]).fillna(0) < _FEW).any(axis=1).to_numpy()
        if short.any():
            said.append(
                f"{short.sum()} of {len(short)} sites have fewer than {_FEW} positive or negative "
                "examples: what is said of these is said by the others too."
            )
        return said + said_of_exact(self.probability)

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return how many draws are made: sites take more time than draws are worth."""
        return int(np.clip(2e7 / sum(rows.size for rows, _ in self.shown), 500, self.most))

    @property
    def values_per_draw(self) -> int:
        """The numbers of one draw: sites are drawn one after the other."""
        return len(self.probability) * len(self.sites)

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
        of = self.resolve_estimand(of)
        name = {"new": "new", "finite": "at_hand"}.get(of, "mean")
        rows = self._of_all(name, measures, size, rng)
        return self._joined(rows, self._resampled(measures, size, rng, of))

    @cached_property
    def _classifiers(self):
        """Every classifier at the sites."""
        return [
            AtSites(each, [(rows[place], weight) for rows, weight in self.shown])
            for place, each in enumerate(self.recalibrations)
        ]

    def _of_all(self, name, measures, size, rng):
        """Draw from the same numbers for all: the same forecasts have the same draws."""
        ways = [getattr(each, name) for each in self._classifiers]
        if len(ways) == 1:
            return [ways[0](measures, size, rng)]
        seed = rng.integers(2**63)
        return [way(measures, size, np.random.default_rng(seed)) for way in ways]

    def _resampled(self, measures, size, rng, of):
        """Return measures (S, K) of resamples that all classifiers share, or Nones of one."""
        if len(self.recalibrations) == 1:
            return [None for _ in measures]
        shares = resampled(self.code, self.weight, (of, size), rng)
        seen = Forecasts(self.probability, self.outcome, shares, lambda: self.probability[None])
        return [np.nan_to_num(measure(seen)) for measure in measures]

    def of_each(
        self, measures: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Draw several measures of every site jointly, (size, [K], G)."""
        rows = self._of_all("each", measures, size, rng)
        parts = []
        for site in range(len(self.sites)):
            of_one = [[each[:, site] for each in row] for row in rows]
            like = self._resampled(measures, size, rng, site)
            parts.append(self._joined(of_one, like))
        return [np.stack(each, axis=-1) for each in zip(*parts, strict=True)]

    def _joined(self, rows, like):
        """Put the classifiers' draws (S,) of every measure together, (S, [K])."""
        every = zip(*rows, strict=True)
        if self.names is None:
            return [one for (one,) in every]
        found = [
            values if seen is None else coupled(values, seen)
            for values, seen in zip(every, like, strict=True)
        ]
        return [np.stack(values, axis=1) for values in found]

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """
        Return the value at the means of level, slope and spread, with the forecasts at hand.

        Small sites have no estimate of their own. Of a new site, that of the mean over all.
        """
        own = self.estimands[self.resolve_estimand(of)] == "site"
        rows = [each.point(measure, own=own) for each in self._classifiers]
        values = np.stack(rows) if self._apart else np.array([row.mean() for row in rows])
        return values[0] if self.names is None else values

    def empirical(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the distribution of draws."""
        return Empirical(draws, how=self.how)

    def by(self, dim: str) -> "OfForecasts":
        """Return the posterior of every site."""
        return EachSite(self) if dim in self.pooled_dims else self

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws of the variables of the PyMC model, of one classifier."""
        if len(self.recalibrations) > 1:
            todo = "select one: evidence.sel(classifier=...)"
            raise fail("the model takes one classifier", self.names, "one", todo)
        center, spread, effect, _ = self.recalibrations[0].draw(size, rng)
        unit = self.recalibrations[0].middle[1]
        new = rng.standard_normal((size, 2))
        return {
            "center": center,
            "spread": spread,
            "site": (effect - center[:, None]) / spread[:, None],
            "site_new": new,
            "calibration_slope": 1 + effect[..., 1] / unit,
            "calibration_slope_new": 1 + (center + spread * new)[:, 1] / unit,
        }

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log of prior times likelihood of the variables of the PyMC model."""
        center, spread, site, new = map(
            np.asarray, (variables[name] for name in ("center", "spread", "site", "site_new"))
        )
        effect = center[..., None, :] + spread[..., None, :] * site
        one = self.recalibrations[0]
        seen = sum(one.log_likelihood(g, effect[..., g, :]) for g in range(len(self.sites)))
        number = site.shape[-2] * 2 + 2
        steps = (site**2).sum((-2, -1)) + (new**2).sum(-1) + number * np.log(2 * np.pi)
        return seen + one.log_prior(center, spread) - steps / 2


class EachSite(SiteForecasts):
    """Every site at hand, drawn towards the others."""

    pooled_dims = ()
    estimands = {"parameter": "site"}  # noqa: RUF012
    _apart = True

    def __init__(self, whole: SiteForecasts):
        vars(self).update({key: value for key, value in vars(whole).items() if key != "frame"})

    @cached_property
    def template(self) -> LabelTemplate:
        """The classifiers and the sites."""
        return super().template.append_dim("group", self.sites)

    @property
    def batch(self) -> xr.DataArray:
        """The number of examples of every site."""
        number = np.bincount(self.code, self.weight)
        return self.template.to_dataarray(np.broadcast_to(number, self.template.shape))

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Draw several measures jointly, (size, [K], G)."""
        self.resolve_estimand(of)
        return self.of_each(measures, size, rng)


def hierarchical_calibration(evidence: xr.Dataset, *, spread: float | None = None) -> SiteForecasts:
    """
    Return the posterior of probabilities at several sites, partially pooled.

    Parameters
    ----------
    evidence : xarray.Dataset
        From :func:`bayescm.from_probabilities` with ``group=``, of two classes.
    spread : float, optional
        Scale of the half-normal prior of the standard deviation of the sites' levels, on the log
        odds; by default 1. That of the slopes, per standard deviation of the forecasts' log odds,
        is half of it.

    Returns
    -------
    SiteForecasts

    Examples
    --------
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(300)
    >>> evidence = bcm.from_probabilities(rng.random(300) < p, p, group=np.arange(300) % 5)
    >>> float(hierarchical_calibration(evidence).point(bcm.measures.resolve("brier")).round(1))
    0.2
    """
    evidence = as_sites(evidence)
    spread = 1.0 if spread is None else spread
    if not isinstance(spread, (int, float, np.number)) or not 0 < spread < np.inf:
        todo = "pass e.g. spread=1.0, or a function through fit"
        raise fail("spread must be a positive scale", spread, "a number > 0", todo)
    return SiteForecasts(evidence, float(spread))


# Draws of several classifiers in a joint order, each classifier's distribution left as it is.


def coupled(drawn: Sequence[np.ndarray], seen: np.ndarray) -> list[np.ndarray]:
    """
    Put the draws of all classifiers but the first in the order that goes with the first one's.

    Parameters
    ----------
    drawn : sequence of ndarray, shape (S,)
        Draws of each classifier.
    seen : ndarray, shape (S, K)
        Values of all of them in common resamples.

    Returns
    -------
    list of ndarray, shape (S,)

    Examples
    --------
    >>> first, second = coupled([np.array([3, 1, 2]), np.array([5, 4, 6])], np.eye(3)[:, [0, 0]])
    >>> second.tolist()
    [6, 4, 5]
    """
    first, *others = drawn
    place, like = np.argsort(first, kind="stable"), np.argsort(seen[:, 0], kind="stable")
    found = [first]
    for each, values in zip(others, seen.T[1:], strict=True):
        rank = np.empty(len(each), int)
        rank[np.argsort(values, kind="stable")] = np.arange(len(each))
        joint = np.empty_like(each)
        joint[place] = np.sort(each)[rank[like]]
        found.append(joint)
    return found


def resampled(
    code: np.ndarray, weight: np.ndarray, what: tuple[str | int, int], rng: np.random.Generator
) -> np.ndarray:
    """
    Return shares (S, n) of the examples in resamples of the sites and, inside each, of these.

    Parameters
    ----------
    code, weight : ndarray, shape (n,)
        The site of each example, from 0, and how many examples it stands for.
    what : tuple of str or int, and int
        ``"population"``, sites like those at hand; ``"finite"``, the same sites; ``"new"``, one of
        them; or a site, beside which all others together are worth one example. And the number S
        of resamples.

    Examples
    --------
    >>> drawn = resampled(np.array([0, 0, 1]), np.ones(3), ("new", 4), np.random.default_rng(0))
    >>> sorted(set(drawn[:, 2].round(2).tolist()))
    [0.0, 1.0]
    """
    (of, size), number = what, code.max() + 1
    share = rng.standard_gamma(weight, (size, len(weight)))
    if isinstance(of, int):
        others = code != of
        share[:, others] /= max(weight[others].sum(), 1)
        return share / share.sum(axis=1, keepdims=True)
    sites = np.ones((size, number))
    if of == "new":
        sites = np.eye(number)[rng.integers(number, size=size)]
    elif of != "finite":
        sites = rng.standard_exponential((size, number))
    own = np.stack([share[:, code == site].sum(axis=1) for site in range(number)], axis=1)
    share *= (sites / own)[:, code]
    return share / share.sum(axis=1, keepdims=True)
