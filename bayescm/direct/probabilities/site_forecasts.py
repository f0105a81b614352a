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

from bayescm.direct.frames import Frame
from bayescm.direct.probabilities.at_sites import AtSites
from bayescm.direct.probabilities.coupled import coupled, resampled
from bayescm.direct.probabilities.population import neighbours
from bayescm.direct.probabilities.posterior import OfForecasts, said_of_exact
from bayescm.direct.probabilities.sites import SPREAD, Sites
from bayescm.distributions.discrete import Empirical
from bayescm.measures.probabilities import Forecasts, log_odds
from bayescm.validate import fail

_FEW_SITES, _FEW = 5, 10
_OTHERS, _WORTH = 16, 1.0  # forecasts of all sites together, and the examples they are worth


class SiteForecasts(OfForecasts):
    """
    The posterior of the forecasts of one or more classifiers at several sites.

    ``"population"``, the default, is the mean over all the sites there may be of a site's own
    measure, ``"finite"`` the mean over the sites at hand, ``"new"`` one site not seen yet, and
    ``"group"`` each of those at hand. Each classifier has a posterior of its own; their draws come
    in the order of resamples of the sites and the examples that they share.
    """

    uses: tuple[str, ...] = ("group",)
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

    def doubts(self, of: str = "parameter") -> list[str]:
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
        own = self.estimands[self.check_of(of)] == "site"
        rows = [each.point(measure, own=own) for each in self._classifiers]
        values = np.stack(rows) if self._apart else np.array([row.mean() for row in rows])
        return values[0] if self.names is None else values

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
