"""The direct sibling of `bayescm.models.robust_groups`: quadrature on a grid of logits.

References
----------
Beath, K. J. (2014). A finite mixture method for outlier detection and robustness in meta-analysis.
Research Synthesis Methods 5, 285-293. doi:10.1002/jrsm.1114
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from bayescm.posteriors.groups.collections import Two
from bayescm.posteriors.groups.logit_grid import LogitGrid, mean_rates
from bayescm.posteriors.hierarchical_groups import HierarchicalGroups, groups_of
from bayescm.validate import fail


class RobustTwo:
    """Two classes: three rates of each group, independent of each other."""

    parameters = ("rates", "spread", "outlying")

    def __init__(self, cells, concentration, scales, prevalence):
        (tn, fp), (fn, tp) = cells.transpose(1, 2, 0)
        spread, self.deviation = scales
        weight = concentration
        columns = [
            (tp + fn, tp + fn + tn + fp, weight.sum(1)[::-1]),
            (tp, tp + fn, weight[1, ::-1]),
            (tn, tn + fp, weight[0]),
        ]
        self.rates = [LogitGrid(*each, spread, self.deviation) for each in columns]
        self.prevalence = prevalence

    def draws(self, size, rng, groups):
        """Return draws (size, ...) of the model's variables, of the groups' own if asked for."""
        drawn = [each.draw(size, rng, groups=groups) for each in self.rates]
        middle, spread, outlying, new = (
            np.stack([each[name] for each in drawn], axis=1)
            for name in ("middle", "spread", "outlying", "new")
        )
        means = [mean_rates(each, self.deviation) for each in drawn]
        yes, no = (np.stack(each, axis=1) for each in zip(*means, strict=True))
        found = {
            "rates": expit(middle),
            "spread": spread,
            "outlying": outlying,
            "effect_new": (new - middle) / spread,
            "theta": Two._cells(yes, no, self.prevalence),
            "theta_typical": Two._theta(middle, self.prevalence),
            "theta_new": Two._theta(new, self.prevalence),
        }
        if groups:
            logits = np.stack([each["logits"] for each in drawn], axis=-1)
            found["effect"] = (logits - middle[:, None]) / spread[:, None]
            found["theta_group"] = Two._theta(logits)
        return found

    def log_likelihood(self, drawn):
        """Return that of every group (S, G), its effects integrated out, without coefficients."""
        middle = logit(np.clip(drawn["rates"], 1e-300, 1 - 1e-16))
        columns = [(middle[:, i], drawn["spread"][:, i], drawn["outlying"][:, i]) for i in range(3)]
        found = zip(self.rates, columns, strict=True)
        return sum(rate.log_likelihood_of_groups(*each) for rate, each in found)


@dataclass(frozen=True, eq=False)
class RobustGroups(HierarchicalGroups):
    """
    The posterior of matrices of groups, of which a few may be unlike all others.

    Attributes
    ----------
    deviation : float
        How far a group that deviates lies, up or down, on the logit scale.
    """

    sampling_method = "quadrature"
    how = "draws by quadrature on a grid"
    # Quantiles by the cells have errors of a thousandth of a 95% interval, as of so many draws.
    effective_draws = 2e5
    deviation: float

    @cached_property
    def each_collection(self):
        """The posterior of every collection of groups of the batch."""
        cells = self.counts.values.astype(float)
        flat = cells.reshape(-1, *cells.shape[-3:])
        scales = (self.spread, self.deviation)
        return [RobustTwo(each, self.concentration, scales, self.prevalence) for each in flat]


def robust_groups(
    counts: xr.DataArray | ArrayLike,
    *,
    concentration: Any = None,
    spread: float = 0.5,
    deviation: float = 1.2,
    prevalence: float | None = None,
) -> RobustGroups:
    """
    Return the posterior of the matrices of groups, of which a few may be unlike all others.

    Parameters
    ----------
    counts : DataArray, dims (..., group, actual, predicted), or array_like, (..., G, 2, 2)
        Counts of G >= 2 groups of two classes; a group may lack a class, or be empty.
    concentration : float, array_like or DataArray, shape (2, 2), optional
        Prior pseudo-counts > 0 of the typical group; by default .5.
    spread : float, default 0.5
        Scale of the half-normal prior of the standard deviations between groups that do not
        deviate, on the logit scale; > 0. Half of the prior has a scale of one 25th of it.
    deviation : float, default 1.2
        How far a group that deviates lies, up or down, on the logit scale; > 0.
    prevalence : float, optional
        Share of the positive class in the population, inside (0, 1), where it is known; by default
        that of the scalar coord ``prevalence``.

    Returns
    -------
    RobustGroups

    Raises
    ------
    ValueError
        If there is one group only, there are more than two classes, or a keyword is invalid.

    Examples
    --------
    >>> from bayescm.measures import resolve
    >>> cells = [[[40, 10], [5, 45]], [[30, 20], [9, 41]], [[45, 5], [12, 38]]]
    >>> (recall,) = robust_groups(cells).draw([resolve("recall")], 4000, np.random.default_rng(0))
    >>> float(recall.mean().round(1))
    0.8
    """
    if isinstance(counts, xr.Dataset):
        todo = "take hierarchical_groups for several classifiers on the same examples"
        raise fail("robust groups are of one classifier", "outcomes", "counts", todo)
    if not isinstance(deviation, (int, float, np.number)) or not 0 < deviation < np.inf:
        todo = "pass e.g. deviation=1.2"
        raise fail("deviation must be a positive scale", deviation, "a number > 0", todo)
    known = groups_of(counts, concentration, spread, prevalence)
    if known[0].sizes["actual"] != 2:
        todo = "take hierarchical_groups, or compare one class with the rest"
        raise fail("robust groups are of two classes", known[0].sizes["actual"], "2", todo)
    table, weight, spread, prevalence = known
    return RobustGroups(table, weight, spread, prevalence, deviation=float(deviation))
