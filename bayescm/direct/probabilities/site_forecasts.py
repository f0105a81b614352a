"""
The posterior of probabilities by site: proper scores, areas and calibration, partially pooled.

Level and slope of every site are drawn in `bayescm.direct.probabilities.sites`. The forecasts of a
site are those that it has shown, by the Bayesian bootstrap, and as many as one example of all sites
together; what comes true follows its own recalibration.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit

from bayescm.direct.frames import Frame
from bayescm.direct.probabilities.population import draw_shares, neighbours
from bayescm.direct.probabilities.posterior import OfForecasts, said_of_exact
from bayescm.direct.probabilities.sites import SPREAD, Sites
from bayescm.distributions.discrete import Empirical
from bayescm.measures.forecasts import Forecasts, log_odds
from bayescm.measures.forms import Curved
from bayescm.validate import fail

_FEW_SITES, _FEW = 5, 10
_OTHERS, _WORTH = 16, 1.0  # forecasts of all sites together, and the examples they are worth


class SiteForecasts(OfForecasts):
    """
    The posterior of the forecasts of one or more classifiers at several sites.

    ``"population"``, the default, is the mean over all the sites there may be of a site's own
    measure, ``"finite"`` the mean over the sites at hand, ``"new"`` one site not seen yet, and
    ``"group"`` each of those at hand. Classifiers are not paired, and comparing them warns.
    """

    uses: tuple[str, ...] = ("group",)
    pairs = ()
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

    def doubts(self) -> list[str]:
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
    def width(self) -> int:
        """The numbers of one draw: sites are drawn one after the other."""
        return len(self.probability) * len(self.sites)

    held = width

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
        of = self.check_of(of)
        every = self.of_each(measures, size, rng) if of == "finite" else None
        if every is not None:
            return [each.mean(axis=-1) for each in every]
        way = self._new if of == "new" else self._mean
        rows = [
            way(measures, size, rng, place, each) for place, each in enumerate(self.recalibrations)
        ]
        return self._joined(rows, ())

    def of_each(
        self, measures: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Draw several measures of every site jointly, (size, [K], G)."""
        rows = []
        for place, each in enumerate(self.recalibrations):
            effect = each.draw(size, rng)[2]
            sites = [
                self._of_site(measures, site, effect[:, site], rng, place)
                for site in range(len(self.sites))
            ]
            rows.append([np.stack(values, axis=-1) for values in zip(*sites, strict=True)])
        return self._joined(rows, (len(self.sites),))

    def _joined(self, rows, further):
        found = [np.stack(values, axis=1) for values in zip(*rows, strict=True)]
        many = () if self.names is None else (len(rows),)
        return [each.reshape(len(each), *many, *further) for each in found]

    def _mean(self, measures, size, rng, place, recalibration):
        """Draw the mean over all the sites there may be, of one classifier."""
        center, spread, _, _ = recalibration.draw(size, rng)
        share = rng.standard_exponential((size, len(self.sites)))
        share /= share.sum(axis=1, keepdims=True)
        total = np.zeros((len(measures), size))
        for site in range(len(self.sites)):
            # Two opposite points, in a direction by chance, have mean and covariance of the sites.
            turned = rng.uniform(0, np.pi, size)
            away = np.sqrt(2) * spread * np.stack([np.cos(turned), np.sin(turned)], axis=1)
            for effect in (center + away, center - away):
                values = self._of_site(measures, site, effect, rng, place)
                total += share[:, site] * np.array(values) / 2
        return list(total)

    def _new(self, measures, size, rng, place, recalibration):
        """Draw a site not seen yet, with the forecasts of one of those at hand."""
        center, spread, _, _ = recalibration.draw(size, rng)
        effect = center + spread * rng.standard_normal((size, 2))
        like, found = rng.integers(len(self.sites), size=size), np.empty((len(measures), size))
        for site in np.unique(like):
            own = like == site
            found[:, own] = self._of_site(measures, site, effect[own], rng, place)
        return list(found)

    def _of_site(self, measures, site, effect, rng, place):
        """Return measures (S,) of a site with levels and slopes (S, 2), its forecasts drawn."""
        weight = self.shown[site][1]
        one = np.zeros(len(weight)), weight, np.ones((len(effect), 1))
        return self._given(measures, site, effect, draw_shares(*one, len(effect), rng), place)

    def _given(self, measures, site, effect, shares, place):
        """Return measures (S,) of a site with levels and slopes, and shares (S, u) of forecasts."""
        for measure in measures:
            if isinstance(getattr(measure, "form", None), Curved):
                todo = "select a site, and drop_vars('group')"
                name = measure.__name__
                raise fail(f"{name} is of one sample, not of sites", ..., "a proper score", todo)
        recalibration, row = self.recalibrations[place], self.shown[site][0][place]
        odds = recalibration.odds_of(row)
        truth = expit(odds + effect[:, :1] + effect[:, 1:] * recalibration.place(odds))
        both = np.concatenate([shares * (1 - truth), shares * truth], axis=1)
        outcome = np.repeat([0.0, 1.0], len(row))
        seen = Forecasts(np.tile(row, 2)[None], outcome, both, lambda: np.tile(truth, 2)[:, None])
        return [self._finite(measure, measure(seen)[:, 0]) for measure in measures]

    def _finite(self, measure, values):
        if np.isfinite(values).all():
            return values
        what = f"{measure.__name__} is infinite if a forecast of exactly 0 or 1 is wrong"
        todo = "pass clip=1e-6 to from_probabilities, or ask for brier"
        raise fail(what, ..., "forecasts inside (0, 1)", todo)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """
        Return the value at the means of level, slope and spread, with the forecasts at hand.

        Small sites have no estimate of their own. Of a new site, that of the mean over all.
        """
        rows = [
            self._plug_in(measure, self.check_of(of), *each) for each in enumerate(self._middles)
        ]
        return rows[0] if self.names is None else np.stack(rows)

    @cached_property
    def _middles(self):
        """The posterior means of center (2,), spread (2,) and sites (G, 2) of each classifier."""
        every = [each.draw(1000, np.random.default_rng(0))[:3] for each in self.recalibrations]
        return [[drawn.mean(axis=0) for drawn in each] for each in every]

    def _plug_in(self, measure, of, place, middle):
        """Return a measure of one classifier, of each site or their mean."""
        center, spread, effect = middle
        away = np.sqrt(2) * spread * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
        values = []
        for site, (_, weight) in enumerate(self.shown):
            own = effect[[site]] if self.estimands[of] == "site" else center + away
            share = np.tile(weight / weight.sum(), (len(own), 1))
            values.append(self._given([measure], site, own, share, place)[0].mean())
        return np.array(values) if self._apart else np.mean(values)

    def drawn(self, measure: Callable, draws: np.ndarray) -> Empirical:
        """Return the distribution of draws."""
        return Empirical(draws, how=self.how)

    def members(self, dim: str) -> "OfForecasts":
        """Return the posterior of every site."""
        return EachSite(self) if dim in self.uses else self

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

    uses = ()
    estimands = {"parameter": "site"}  # noqa: RUF012
    _apart = True

    def __init__(self, whole: SiteForecasts):
        vars(self).update({key: value for key, value in vars(whole).items() if key != "frame"})

    @cached_property
    def frame(self) -> Frame:
        """The classifiers and the sites."""
        return super().frame.then("group", self.sites)

    @property
    def batch(self) -> xr.DataArray:
        """The number of examples of every site."""
        number = np.bincount(self.code, self.weight)
        return self.frame.filled(np.broadcast_to(number, self.frame.shape))

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
        self.check_of(of)
        return self.of_each(measures, size, rng)
