"""Draws of the measures of one classifier at several sites, given level and slope of each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from bayescm.direct.probabilities.population import draw_shares
from bayescm.direct.probabilities.sites import Sites
from bayescm.measures.measure import Curved
from bayescm.measures.probabilities import Forecasts
from bayescm.validate import fail

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
        one = np.zeros(len(weight)), weight, np.ones((len(effect), 1))
        return self.given(measures, site, effect, draw_shares(*one, len(effect), rng))

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
