r"""
Direct posterior of `bayescm.models.hierarchical_calibration`: site forecasts.

Each site g has a logistic recalibration with level and slope :math:`e_g \sim N(m,
\mathrm{diag}(s^2))`,

.. math::

    \operatorname{logit} P(y = 1 \mid p, g) = \operatorname{logit} p + e_{g1} + e_{g2} z(p).

**Level and slope** are sampled by importance sampling (`Sites.draw`). For each pair of spreads s on
a grid, the log likelihood of every site is approximated by a quadratic at the mode. This gives a
proposal in closed form: first the spreads, then the mean m, then each site separately. For each
site, several proposals are made and one is chosen by weight. The mean of these weights estimates
the integral over the site. The product of the integrals, times the ratio of prior to proposal, is
the importance weight of a draw.

**The forecasts** of a site are sampled by the Bayesian bootstrap of its observed forecasts. Mean
forecasts over all sites are added, with a total weight of one example. The outcomes follow the
recalibration of the site.

**Several classifiers** are sampled separately. Their draws are then reordered to have the rank
correlations of a bootstrap of the shared examples (`bayescm.inference.iman_conover`).
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit, logit, logsumexp

from bayescm.distributions.empirical import Empirical
from bayescm.distributions.log_densities import log_half_normal
from bayescm.evidence.scores import as_sites
from bayescm.inference import bayesian_bootstrap, importance
from bayescm.inference.iman_conover import iman_conover
from bayescm.measures.measure import CalibrationForm
from bayescm.measures.probabilities import Forecasts, log_odds
from bayescm.posteriors import heavy_weights
from bayescm.posteriors.base import LabelTemplate
from bayescm.posteriors.calibration import LEVEL, SLOPE
from bayescm.posteriors.forecasts import OfForecasts, exact_forecast_caveats, neighbours
from bayescm.posteriors.shared_examples import SharedExamples
from bayescm.validate import fail

# Prior scales of the standard deviations of level and slope between sites (half-normal).
SPREAD = np.array([1.0, 0.5])
_CENTER = np.array([LEVEL, SLOPE])  # prior standard deviations of the means m
_FEW_SITES = 5  # a caution is added if there are fewer sites
_FEW_EXAMPLES = 10  # a caution is added if a class has fewer examples at a site
_SHARED_FORECASTS = 16  # number of mean forecasts over all sites that are added to each site
_SHARED_EXAMPLES = 1.0  # number of examples that the shared forecasts represent together


def hierarchical_calibration(
    evidence: xr.Dataset, *, spread: float | None = None
) -> "SiteForecasts":
    """
    Return the posterior of probabilities at several sites, partially pooled.

    Use it to validate the forecasts of a prediction model at several sites, such as hospitals,
    countries or years.

    Parameters
    ----------
    evidence : xarray.Dataset
        Evidence of two classes from :func:`bayescm.from_probabilities` with ``group=``.
    spread : float, optional
        Scale of the half-normal prior for the standard deviation of the level between sites, in log
        odds. Default: 1. For the slope per standard deviation of the log odds, the scale is half of
        this value.

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
        todo = "pass e.g. `spread=1.0`, or a function from a name to a PyMC variable"
        raise fail("`spread` must be a finite number > 0", spread, "", todo)
    return SiteForecasts(evidence, float(spread))


class SiteForecasts(OfForecasts):
    """
    Posterior of the forecasts of one or more classifiers at several sites.

    Measures are computed for each site. The estimands are:

    - ``"population"`` (the default): the mean over all sites that could be sampled
    - ``"finite"``: the mean over the observed sites
    - ``"new"``: one unobserved site
    - ``"group"``: each observed site

    Classifiers have separate posteriors. Their draws are reordered to match resamples of the sites
    and examples that they share.
    """

    pooled_dims: tuple[str, ...] = ("group",)
    estimands = {  # noqa: RUF012
        "parameter": "sites",
        "population": "sites",
        "finite": "site",
        "new": "site_new",
    }
    how = "draws by importance sampling"
    _by_site = False
    most = 2000
    curve_posterior = None  # measures of curves are also computed from the recalibrated sites

    def __init__(self, evidence: xr.Dataset, spread: float = 1.0):
        self.evidence = evidence
        self.probability = np.atleast_2d(evidence["score"].values)
        self.outcome = (evidence["actual"] == evidence["positive"]).values.astype(float)
        weight = evidence["weight"].values if "weight" in evidence else np.ones(len(self.outcome))
        self.weight = weight.astype(float)
        self.sites, self.code = np.unique(evidence["group"].values, return_inverse=True)
        self.scales = spread * SPREAD

    @cached_property
    def recalibrations(self) -> list["Sites"]:
        """The posterior of level and slope of the sites, for each classifier."""
        return [
            Sites(row, self.outcome, self.weight, self.code, self.scales)
            for row in log_odds(self.probability)
        ]

    @cached_property
    def forecasts(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The forecasts (K, u) of each site and their weights. The shared forecasts come last."""
        order = np.argsort(self.probability[0], kind="stable")
        groups = np.array_split(order, min(_SHARED_FORECASTS, len(order)))
        shared = [
            np.average(self.probability[:, members], axis=1, weights=self.weight[members])
            for members in groups
        ]
        share = np.array([self.weight[members].sum() for members in groups])
        share = share * _SHARED_EXAMPLES / self.weight.sum()
        forecasts = []
        for site in range(len(self.sites)):
            in_site = self.code == site
            rows, weight = neighbours(self.probability[:, in_site], self.weight[in_site])
            values = np.concatenate([rows, np.stack(shared, axis=1)], axis=1)
            forecasts.append((values, np.concatenate([weight, share])))
        return forecasts

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return cautions about few sites, small sites, exact forecasts and heavy weights."""
        sentences = []
        if len(self.sites) < _FEW_SITES:
            sentences.append(
                f"With only {len(self.sites)} sites, the differences between sites depend "
                "strongly on the prior, and the population estimate can lie outside the "
                "observed sites."
            )
        table = pd.crosstab(self.code, self.outcome, values=self.weight, aggfunc="sum")
        sparse = (
            (table.reindex(columns=[0.0, 1.0]).fillna(0) < _FEW_EXAMPLES).any(axis=1).to_numpy()
        )
        if sparse.any():
            sentences.append(
                f"{sparse.sum()} of {len(sparse)} sites have fewer than {_FEW_EXAMPLES} "
                "positive or negative examples. Their estimates depend strongly on the other "
                "sites."
            )
        sentences += exact_forecast_caveats(self.probability)
        return sentences + heavy_weights.of_scores(self.evidence)

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the default number of draws, which falls with the number of forecasts."""
        return int(np.clip(2e7 / sum(rows.size for rows, _ in self.forecasts), 500, self.most))

    @property
    def values_per_draw(self) -> int:
        """The number of values in memory for one draw. Sites are sampled one by one."""
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
        """Sample several measures jointly, (size, [K])."""
        of = self.resolve_estimand(of)
        estimand = of if of in ("new", "finite") else "population"
        rows = self._draw_classifiers(estimand, measures, size, rng)
        return self._couple(rows, self._resampled(measures, size, rng, of))

    @cached_property
    def _classifiers(self):
        """Each classifier at the sites."""
        return [
            AtSites(recalibration, [(rows[classifier], weight) for rows, weight in self.forecasts])
            for classifier, recalibration in enumerate(self.recalibrations)
        ]

    def _draw_classifiers(self, estimand, measures, size, rng):
        """Sample classifiers with the same seed, so that equal forecasts have equal draws."""
        samplers = [getattr(classifier, estimand) for classifier in self._classifiers]
        if len(samplers) == 1:
            return [samplers[0](measures, size, rng)]
        seed = rng.integers(2**63)
        return [sampler(measures, size, np.random.default_rng(seed)) for sampler in samplers]

    def _resampled(self, measures, size, rng, of):
        """Return measures (S, K) of shared resamples, or None for a single classifier."""
        if len(self.recalibrations) == 1:
            return [None for _ in measures]
        shares = resample_sites(self.code, self.weight, of, size, rng)
        rows = self.probability
        population = Forecasts(rows, self.outcome, shares, lambda: rows[None])
        resampled = [np.nan_to_num(measure(population)) for measure in measures]
        return self._with_disagreement(measures, resampled, rng, of)

    def _with_disagreement(self, measures, resampled, rng, of):
        """Return measures (S, K) of resamples, with pseudo-examples of disagreement."""
        rows, weight = self.probability, self.weight
        if isinstance(of, int):  # all other sites together have the weight of one example
            elsewhere = self.code != of
            weight = np.where(elsewhere, weight / max(weight[elsewhere].sum(), 1), weight)
        examples = SharedExamples([rows, log_odds(rows)], weight)
        pseudo = examples.disagreement(len(rows), len(resampled[0]), rng)
        weights = examples.weights()
        shares = weights / weights.sum(axis=1, keepdims=True)
        sample = Forecasts(rows, self.outcome, shares, lambda: rows[None])
        with np.errstate(all="ignore"):
            values = [measure(sample) for measure in measures]
        return [
            examples.moved(draws, of_examples, pseudo)
            for draws, of_examples in zip(resampled, values, strict=True)
        ]

    def draw_sites(
        self, measures: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Sample several measures of each site jointly, (size, [K], G)."""
        rows = self._draw_classifiers("group", measures, size, rng)
        parts = []
        for site in range(len(self.sites)):
            of_site = [[values[:, site] for values in row] for row in rows]
            parts.append(self._couple(of_site, self._resampled(measures, size, rng, site)))
        return [np.stack(values, axis=-1) for values in zip(*parts, strict=True)]

    def _couple(self, rows, resamples):
        """Combine the draws (S,) of all classifiers in a joint order, (S, [K])."""
        if self.names is None:
            return rows[0]
        return [
            np.stack(values, axis=1) if resampled is None else in_common_order(values, resampled)
            for values, resampled in zip(zip(*rows, strict=True), resamples, strict=True)
        ]

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """
        Return a measure at the posterior means, with the observed forecasts.

        The posterior means of level, slope and spread are used, so estimates of small sites are
        shrunk. The estimate of a new site is the estimate of the population mean.
        """
        by_site = self.estimands[self.resolve_estimand(of)] == "site"
        rows = [classifier.point(measure, by_site=by_site) for classifier in self._classifiers]
        values = np.stack(rows) if self._by_site else np.array([row.mean() for row in rows])
        return values[0] if self.names is None else values

    def empirical(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the empirical distribution of draws."""
        return Empirical(draws, how=self.how)

    def by(self, dim: str) -> "OfForecasts":
        """Return the posterior of each site."""
        return BySite(self) if dim in self.pooled_dims else self

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws of the variables of the PyMC model, for one classifier."""
        if len(self.recalibrations) > 1:
            todo = "select one: evidence.sel(classifier=...)"
            raise fail("The model supports one classifier; got {}", self.names, "", todo)
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

    def given(self, variables: Mapping[str, np.ndarray]) -> "SiteForecasts":
        """Return the posterior with the PyMC model's draws of level and slope."""
        if len(self.recalibrations) > 1:
            todo = "select one: evidence.sel(classifier=...)"
            raise fail("The model supports one classifier; got {}", self.names, "", todo)
        center, spread = variables["center"], variables["spread"]
        effect = center[:, None] + spread[:, None] * variables["site"]
        recalibration = copy.copy(self.recalibrations[0])
        object.__setattr__(recalibration, "draw", lambda size, rng: (center, spread, effect, None))
        given = copy.copy(self)
        given.recalibrations = [recalibration]
        vars(given).pop("_classifiers", None)
        return given

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log of prior times likelihood of the PyMC model's variables."""
        center, spread, site, new = map(
            np.asarray, (variables[name] for name in ("center", "spread", "site", "site_new"))
        )
        effect = center[..., None, :] + spread[..., None, :] * site
        sites = self.recalibrations[0]
        log_likelihood = sum(
            sites.log_likelihood(g, effect[..., g, :]) for g in range(len(self.sites))
        )
        number = site.shape[-2] * 2 + 2
        steps = (site**2).sum((-2, -1)) + (new**2).sum(-1) + number * np.log(2 * np.pi)
        return log_likelihood + sites.log_prior(center, spread) - steps / 2


class BySite(SiteForecasts):
    """Posterior of each observed site, shrunk towards the others."""

    pooled_dims = ()
    estimands = {"parameter": "site"}  # noqa: RUF012
    _by_site = True

    def __init__(self, posterior: SiteForecasts):
        # Do not copy the cached template and batch of the pooled sites.
        labels = ("template", "batch")
        attributes = vars(posterior).items()
        vars(self).update({name: value for name, value in attributes if name not in labels})

    @cached_property
    def template(self) -> LabelTemplate:
        """The classifiers and the sites."""
        return super().template.append_dim("group", self.sites)

    @property
    def batch(self) -> xr.DataArray:
        """The number of examples of each site."""
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
        """Sample several measures jointly, (size, [K], G)."""
        self.resolve_estimand(of)
        return self.draw_sites(measures, size, rng)


# Measures of one classifier at its sites, given the level and slope of each.

type Measures = Sequence[Callable]


@dataclass(frozen=True, eq=False)
class AtSites:
    """
    One classifier at G sites.

    Attributes
    ----------
    recalibration : Sites
        Posterior of the level and slope of each site.
    forecasts : sequence of pairs of ndarray, shape (u,)
        Forecasts of each site, and their weights in examples.
    """

    recalibration: "Sites"
    forecasts: Sequence[tuple[np.ndarray, np.ndarray]]

    def population(
        self, measures: Measures, size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Sample the means over all sites that could be sampled, (S,)."""
        center, spread, _, _ = self.recalibration.draw(size, rng)
        share = rng.standard_exponential((size, len(self.forecasts)))
        share /= share.sum(axis=1, keepdims=True)
        total = np.zeros((len(measures), size))
        for site in range(len(self.forecasts)):
            # Two opposite points in a random direction have the mean and covariance of the sites.
            angle = rng.uniform(0, np.pi, size)
            deviation = np.sqrt(2) * spread * np.stack([np.cos(angle), np.sin(angle)], axis=1)
            for effect in (center + deviation, center - deviation):
                values = self._bootstrap(measures, site, effect, rng)
                total += share[:, site] * np.array(values) / 2
        return list(total)

    def new(self, measures: Measures, size: int, rng: np.random.Generator) -> list[np.ndarray]:
        """Sample measures of an unobserved site, (S,), with the forecasts of an observed site."""
        center, spread, _, _ = self.recalibration.draw(size, rng)
        effect = center + spread * rng.standard_normal((size, 2))
        template, values = (
            rng.integers(len(self.forecasts), size=size),
            np.empty((len(measures), size)),
        )
        for site in np.unique(template):
            of_site = template == site
            values[:, of_site] = self._bootstrap(measures, site, effect[of_site], rng)
        return list(values)

    def group(self, measures: Measures, size: int, rng: np.random.Generator) -> list[np.ndarray]:
        """Sample measures of each observed site, (S, G)."""
        effect = self.recalibration.draw(size, rng)[2]
        sites = [
            self._bootstrap(measures, site, effect[:, site], rng)
            for site in range(len(self.forecasts))
        ]
        return [np.stack(values, axis=-1) for values in zip(*sites, strict=True)]

    def finite(self, measures: Measures, size: int, rng: np.random.Generator) -> list[np.ndarray]:
        """Sample the means over the observed sites, (S,)."""
        return [values.mean(axis=-1) for values in self.group(measures, size, rng)]

    def _bootstrap(self, measures, site, effect, rng):
        """Return measures (S,) of a site with levels and slopes (S, 2) and resampled forecasts."""
        weight = self.forecasts[site][1]
        shares = bayesian_bootstrap.gamma_weights(weight, len(effect), rng)
        shares /= shares.sum(axis=1, keepdims=True)
        return self._recalibrated(measures, site, effect, shares)

    def _recalibrated(
        self, measures: Measures, site: int, effect: np.ndarray, shares: np.ndarray
    ) -> list[np.ndarray]:
        """Return measures (S,) of a site, given levels, slopes and shares (S, u) of forecasts."""
        for measure in measures:
            if isinstance(getattr(measure, "form", None), CalibrationForm):
                name = measure.__name__
                raise fail(
                    f"{name} is not available for several sites, only for one sample",
                    ...,
                    "",
                    "select a site and use drop_vars('group'), or use a proper score",
                )
        row = self.forecasts[site][0]
        odds = self.recalibration.odds_of(row)
        truth = expit(odds + effect[:, :1] + effect[:, 1:] * self.recalibration.standardise(odds))
        weight = np.concatenate([shares * (1 - truth), shares * truth], axis=1)
        outcome = np.repeat([0.0, 1.0], len(row))
        forecast, curve = np.tile(row, 2)[None], np.tile(truth, 2)[:, None]
        population = Forecasts(forecast, outcome, weight, lambda: curve)
        return [_check_finite(measure, measure(population)[:, 0]) for measure in measures]

    @cached_property
    def _middle(self):
        """The posterior means of center (2,), spread (2,) and sites (G, 2)."""
        draws = self.recalibration.draw(1000, np.random.default_rng(0))[:3]
        return [values.mean(axis=0) for values in draws]

    def point(self, measure: Callable, *, by_site: bool) -> np.ndarray:
        """
        Return a measure at the posterior means, with the forecasts of each site, (G,).

        If `by_site` is True, each site has its own level and slope. Otherwise, the measure is
        averaged over the distribution of the sites.
        """
        center, spread, effect = self._middle
        deviation = np.sqrt(2) * spread * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
        values = []
        for site, (_, weight) in enumerate(self.forecasts):
            effects = effect[[site]] if by_site else center + deviation
            share = np.tile(weight / weight.sum(), (len(effects), 1))
            values.append(self._recalibrated([measure], site, effects, share)[0].mean())
        return np.array(values)


def _check_finite(measure, values):
    if np.isfinite(values).all():
        return values
    raise fail(
        f"{measure.__name__} is infinite: some forecasts are exactly 0 or 1 and may be wrong",
        ...,
        "",
        "pass `clip=1e-6 to from_probabilities`, or use brier",
    )


# Draws of several classifiers in a joint order, which keeps the marginal distributions.


def in_common_order(draws: Sequence[np.ndarray], common: np.ndarray) -> np.ndarray:
    """
    Reorder the draws of all classifiers but the first to match common resamples.

    Parameters
    ----------
    draws : sequence of ndarray, shape (S,)
        Draws of each classifier. The first keeps its order.
    common : ndarray, shape (S, K)
        Values of all classifiers in common resamples. Their rank correlations are reproduced.

    Returns
    -------
    ndarray, shape (S, K)

    Examples
    --------
    >>> draws = [np.array([3, 1, 2]), np.array([5, 4, 6])]
    >>> in_common_order(draws, np.eye(3)[:, [0, 0]])[:, 1].tolist()
    [6, 4, 5]
    """
    joint = iman_conover(np.stack(draws, axis=1), common)
    in_order = np.empty_like(joint)
    in_order[np.argsort(draws[0], kind="stable")] = joint[np.argsort(joint[:, 0], kind="stable")]
    return in_order


def resample_sites(
    code: np.ndarray, weight: np.ndarray, of: str | int, size: int, rng: np.random.Generator
) -> np.ndarray:
    """
    Return example shares (S, n) in a Bayesian bootstrap of sites and examples.

    Parameters
    ----------
    code, weight : ndarray, shape (n,)
        Site of each example, counted from 0, and the number of examples that it represents.
    of : str or int
        - ``"population"``: resampled sites, with random shares
        - ``"finite"``: the observed sites, with equal shares
        - ``"new"``: one site, chosen at random
        - index of a site: this site, with all other sites together weighted as one example
    size : int
        Number S of resamples.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (S, n)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> shares = resample_sites(np.array([0, 0, 1]), np.ones(3), "new", 4, rng)
    >>> sorted(set(shares[:, 2].round(2).tolist()))
    [0.0, 1.0]
    """
    number = code.max() + 1
    share = rng.standard_gamma(weight, (size, len(weight)))
    if isinstance(of, int):
        elsewhere = code != of
        share[:, elsewhere] /= max(weight[elsewhere].sum(), 1)
        return share / share.sum(axis=1, keepdims=True)
    sites = np.ones((size, number))
    if of == "new":
        sites = np.eye(number)[rng.integers(number, size=size)]
    elif of != "finite":
        sites = rng.standard_exponential((size, number))
    site_total = np.stack([share[:, code == site].sum(axis=1) for site in range(number)], axis=1)
    share *= (sites / site_total)[:, code]
    return share / share.sum(axis=1, keepdims=True)


# Level and slope of each site, for one classifier.

_BINS = 200  # neighbouring forecasts of a site are grouped if there are more distinct values
# Grid of the spreads, in steps of a factor of 1.9. Small values are needed for the lower quantiles.
# For four sites, NUTS gives 2.5% quantiles of 0.016 and 0.008. This grid gives 0.016 and 0.013, and
# a grid without values below 0.01 gives 0.023 and 0.019.
_SCALES = np.geomspace(0.002, 4.0, 13)
_PROPOSALS = 8  # number of proposals per site, one of which is chosen by weight
# Degrees of freedom of a proposal, so that its tails are heavier than the posterior's.
_FREEDOM = 8.0


@dataclass(frozen=True, eq=False)
class Sites:
    """
    Posterior of the level and slope of each site, for one classifier.

    Attributes
    ----------
    odds, outcome, weight : ndarray, shape (n,)
        Finite log odds of the forecasts, outcomes (1 for the positive class), and the number of
        examples that each entry represents.
    code : ndarray of int, shape (n,)
        Site of each example.
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
        """The mean and standard deviation of the log odds (1 if all are equal)."""
        return float(self.odds.mean()), float(self.odds.std()) or 1.0

    def odds_of(self, probability: np.ndarray) -> np.ndarray:
        """Return the log odds of new forecasts (n,), clipped to the observed range."""
        return np.clip(logit(probability), self.odds.min(), self.odds.max())

    def standardise(self, odds: np.ndarray) -> np.ndarray:
        """Return standardised log odds."""
        center, unit = self.middle
        return (odds - center) / unit

    @cached_property
    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log odds, positives and totals of grouped forecasts per site, (G, bins)."""
        tables = []
        for site in range(self.number):
            of_site = self.code == site
            forecasts = self.odds[of_site], self.outcome[of_site], self.weight[of_site]
            tables.append(_bin_forecasts(*forecasts))
        width = max(len(odds) for odds, _, _ in tables)
        padded = [[np.pad(row, (0, width - len(row))) for row in table] for table in tables]
        odds, hits, total = np.moveaxis(np.array(padded), 1, 0)
        return odds, hits, total

    def log_likelihood(self, site: int, effect: np.ndarray) -> np.ndarray:
        """Return the log likelihood of levels and slopes (..., 2) of a site."""
        odds, hits, total = (table[site] for table in self.tables)
        positive = total > 0
        odds, hits, total = odds[positive], hits[positive], total[positive]
        eta = odds + effect[..., :1] + effect[..., 1:] * self.standardise(odds)
        return eta @ hits - (np.maximum(eta, 0) + np.log1p(np.exp(-np.abs(eta)))) @ total

    def log_prior(self, center: np.ndarray, spread: np.ndarray) -> np.ndarray:
        """
        Return the log prior density of means (..., 2) and spreads (..., 2).

        The means are normal, and the spreads half-normal.
        """
        means = -((center / _CENTER) ** 2) / 2 - np.log(_CENTER * np.sqrt(2 * np.pi))
        return (means + log_half_normal(spread, self.spread)).sum(axis=-1)

    @cached_property
    def _quadratic_likelihood(self):
        """
        Return the quadratic log likelihood of each site at each cell of the grid, and log weights.

        A cell is a pair of spreads (J, 2). The other arrays are the curvature (J, G, 2, 2), the
        linear part (J, G, 2) and the log posterior probability of each cell.
        """
        scales = np.stack(np.meshgrid(_SCALES, _SCALES, indexing="ij"), axis=-1).reshape(-1, 2)
        center, effect = self._modes(scales)
        score, info = self._score_and_information(effect)
        linear = score + np.einsum("jgab,jgb->jga", info, effect)
        heights = [self.log_likelihood(site, effect[:, site]) for site in range(self.number)]
        deviation = (effect - center[:, None]) / scales[:, None]
        log_sites = -(deviation**2).sum((-2, -1)) / 2 - self.number * np.log(scales).sum(-1)
        log_height = np.sum(heights, axis=0) + log_sites + self.log_prior(center, scales)
        conditional = ConditionalNormal.from_likelihood(info, linear, scales)
        log_precision = np.linalg.slogdet(conditional.precision)[1]
        log_precision += np.linalg.slogdet(conditional.site_precision)[1].sum(-1)
        # The grid is uniform in the logarithms, so the densities are multiplied by the scales.
        log_share = log_height - log_precision / 2 + np.log(scales).sum(-1)
        return scales, info, linear, log_share - logsumexp(log_share)

    def _modes(self, scales):
        """Return the modes of the mean (J, 2) and of the sites (J, G, 2) for pairs of spreads."""
        effect = np.zeros((len(scales), self.number, 2))
        for _ in range(50):
            score, info = self._score_and_information(effect)
            linear = score + np.einsum("jgab,jgb->jga", info, effect)
            conditional = ConditionalNormal.from_likelihood(info, linear, scales)
            center = conditional.center
            step = conditional.sites(center) - effect
            longest = np.abs(step).max(axis=(1, 2), keepdims=True)
            effect = effect + step * np.minimum(1, 2 / np.maximum(longest, 1e-300))
            if longest.max() < 1e-6:
                break
        return center, effect

    def _score_and_information(self, effect):
        """Return the score (J, G, 2) and information (J, G, 2, 2) of each site's log likelihood."""
        odds, hits, total = self.tables
        z = self.standardise(odds)
        truth = expit(odds + effect[..., :1] + effect[..., 1:] * z)
        residual, variance = hits - total * truth, total * truth * (1 - truth)
        score = np.stack([residual.sum(-1), (residual * z).sum(-1)], axis=-1)
        cross = (variance * z).sum(-1)
        rows = [[variance.sum(-1), cross], [cross, (variance * z**2).sum(-1)]]
        return score, np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)

    def draw(
        self, size: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """
        Sample means, spreads and sites from the posterior.

        Returns
        -------
        center, spread : ndarray, shape (size, 2)
        effect : ndarray, shape (size, G, 2)
            Level and slope of each site.
        efficiency : float
            Effective proportion of the draws before resampling by weight.
        """
        scales, info, linear, share = self._quadratic_likelihood
        cell = rng.choice(len(scales), size=size, p=np.exp(share))
        step = np.log(_SCALES[1] / _SCALES[0])
        spread = scales[cell] * np.exp(step * (rng.random((size, 2)) - 0.5))
        conditional = ConditionalNormal.from_likelihood(info[cell], linear[cell], spread)
        factor = np.linalg.inv(np.linalg.cholesky(conditional.precision)).swapaxes(-1, -2)
        noise, log_density = _draw_student((size, 2), rng)
        center = conditional.center + np.einsum("sab,sb->sa", factor, noise)
        log_proposal = share[cell] + log_density - np.log(np.abs(_diagonal(factor))).sum(-1)
        logs = self.log_prior(center, spread) + np.log(spread).sum(-1) - log_proposal
        effect = np.empty((size, self.number, 2))
        for site, middle in enumerate(np.moveaxis(conditional.sites(center), 1, 0)):
            precision = conditional.site_precision[:, site]
            effect[:, site], weight = self._draw_site(site, middle, precision, center, spread, rng)
            logs += weight
        resampled, efficiency = importance.resample(logs, size, rng)
        return center[resampled], spread[resampled], effect[resampled], efficiency

    def _draw_site(self, site: int, middle, precision, center, spread, rng):
        """Return a chosen proposal of a site, (S, 2), and the log of the site's integral, (S,)."""
        factor = np.linalg.inv(np.linalg.cholesky(precision)).swapaxes(-1, -2)
        noise, log_density = _draw_student((len(middle), _PROPOSALS, 2), rng)
        proposals = middle[:, None] + np.einsum("sab,skb->ska", factor, noise)
        deviation = (proposals - center[:, None]) / spread[:, None]
        log_prior = (
            -(deviation**2).sum(-1) / 2 - np.log(2 * np.pi) - np.log(spread).sum(-1)[:, None]
        )
        log_proposal = log_density - np.log(np.abs(_diagonal(factor))).sum(-1)[:, None]
        logs = self.log_likelihood(site, proposals) + log_prior - log_proposal
        total = logsumexp(logs, axis=1)
        cumulative = np.exp(logs - total[:, None]).cumsum(axis=1)
        choice = (rng.random((len(middle), 1)) > cumulative).sum(axis=1).clip(max=_PROPOSALS - 1)
        return proposals[np.arange(len(middle)), choice], total - np.log(_PROPOSALS)


@dataclass(frozen=True, eq=False)
class ConditionalNormal:
    """
    Normal distribution of the mean and the sites given the spreads.

    It assumes that the log likelihood of each site is quadratic.

    Attributes
    ----------
    site_precision : ndarray, shape (..., G, 2, 2)
        Precision of each site given the mean.
    linear : ndarray, shape (..., G, 2)
        Linear part of the log likelihood of each site.
    between_precision : ndarray, shape (..., 2)
        Inverse variances between sites.
    precision, center : ndarray, shape (..., 2, 2) and (..., 2)
        Precision and mean of the mean over sites, with the sites integrated out.
    """

    site_precision: np.ndarray
    linear: np.ndarray
    between_precision: np.ndarray
    precision: np.ndarray
    center: np.ndarray

    @classmethod
    def from_likelihood(
        cls, info: np.ndarray, linear: np.ndarray, spread: np.ndarray
    ) -> "ConditionalNormal":
        """Return the distribution for information (..., G, 2, 2), linear part and spread."""
        between = spread**-2
        site_precision = info + between[..., None, None, :] * np.eye(2)
        # Equal to T^-1 - T^-1 (info + T^-1)^-1 T^-1, without a difference of large numbers. T is
        # the diagonal matrix of the variances between sites.
        shared = between[..., None, :, None] * np.linalg.solve(site_precision, info)
        precision = shared.sum(axis=-3) + np.eye(2) / _CENTER**2
        precision = (precision + precision.swapaxes(-1, -2)) / 2
        linear_sum = between * np.linalg.solve(site_precision, linear[..., None])[..., 0].sum(
            axis=-2
        )
        center = np.linalg.solve(precision, linear_sum[..., None])[..., 0]
        return cls(site_precision, linear, between, precision, center)

    def sites(self, center: np.ndarray) -> np.ndarray:
        """Return the means of the sites (..., G, 2) given the overall means (..., 2)."""
        site_linear = self.linear + (self.between_precision * center)[..., None, :]
        return np.linalg.solve(self.site_precision, site_linear[..., None])[..., 0]


def _draw_student(shape: Sequence[int], rng):
    """Return draws of a bivariate t distribution, and their log density up to a constant."""
    noise = rng.standard_normal(shape)
    noise /= np.sqrt(rng.chisquare(_FREEDOM, shape[:-1]) / _FREEDOM)[..., None]
    log_distance = np.log1p((noise**2).sum(-1) / _FREEDOM)
    return noise, -(_FREEDOM / 2 + 1) * log_distance - np.log(2 * np.pi)


def _diagonal(factor):
    return np.diagonal(factor, axis1=-2, axis2=-1)


def _bin_forecasts(odds, outcome, weight):
    """Return log odds, positives and totals of grouped forecasts of one site."""
    distinct, inverse = np.unique(odds, return_inverse=True)
    if len(distinct) > _BINS:
        inverse = inverse * _BINS // len(distinct)
    total = np.bincount(inverse, weight)
    return (
        np.bincount(inverse, weight * odds) / total,
        np.bincount(inverse, weight * outcome),
        total,
    )
