"""
Mean measures of out-of-fold probabilities over folds, with the correlated t.

The formula is in `bayescm.posteriors.correlated_t`.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.distributions.differences import StudentT, Truncated
from bayescm.measures.measure import CalibrationForm
from bayescm.posteriors import heavy_weights
from bayescm.posteriors.calibration import calibration
from bayescm.posteriors.correlated_t import correlated_draws
from bayescm.posteriors.dirichlet_calibration import dirichlet_calibration
from bayescm.posteriors.forecasts import OfForecasts, exact_forecast_caveats
from bayescm.validate import fail

_FEW_EXAMPLES = 20  # a caution is added if a fold has fewer examples of a class


class FoldForecasts(OfForecasts):
    """
    Posterior of mean measures over the folds of a cross-validation.

    The measures in the folds are assumed to be normally distributed, with equal correlations
    because folds share training examples. The variance between folds includes the noise from few
    test examples. Classifiers are paired within folds.

    References
    ----------
    Corani, G. & Benavoli, A. (2015). A Bayesian approach for comparing cross-validated algorithms
    on multiple data sets. Machine Learning 100, 285-304. doi:10.1007/s10994-015-5486-z
    """

    has_model = False
    estimands = {"parameter": "mean over folds"}  # noqa: RUF012
    how = "correlated t"
    sampling_method = "closed form"

    def __init__(self, evidence: xr.Dataset):
        self.evidence = evidence
        self.probability = np.atleast_2d(evidence["score"].values)
        self.weight = np.ones(evidence.sizes["example"])
        self.folds = pd.unique(evidence["fold"].values)
        share = float(evidence.coords.get("test_share", 1 / len(self.folds)))
        self.rho = share / (share + float(evidence.coords.get("train_size", 1 - share)))
        if len(self.folds) < 2:
            raise fail(
                "One fold does not show how folds differ",
                ...,
                "",
                "pass two or more folds, or use drop_vars('fold') to treat all examples as one "
                "sample",
            )

    @cached_property
    def of_folds(self) -> list[OfForecasts]:
        """The posterior of each fold separately."""
        posterior = dirichlet_calibration if "class" in self.evidence.dims else calibration
        fold = self.evidence["fold"].values
        evidence = self.evidence.drop_vars("fold")
        return [posterior(evidence.isel(example=fold == label)) for label in self.folds]

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return cautions about small classes in a fold, exact forecasts and heavy weights."""
        truth, fold = self.evidence["actual"].values, self.evidence["fold"].values
        weight = self.evidence["weight"].values if "weight" in self.evidence else np.ones(len(fold))
        fewest = pd.crosstab(fold, truth, weight, aggfunc="sum").fillna(0).to_numpy().min()
        exact = exact_forecast_caveats(self.evidence["score"].values)
        exact += heavy_weights.of_scores(self.evidence)
        if fewest >= _FEW_EXAMPLES:
            return exact
        examples = f"A fold has {fewest:.3g} examples of a class"
        return [f"{examples}: slopes and intercepts of single folds are unreliable.", *exact]

    def classes_of(self, measure: Callable) -> np.ndarray | None:
        """Return the class labels if a measure has one value per class, else None."""
        return self.of_folds[0].classes_of(measure)

    def values(self, measure: Callable) -> np.ndarray:
        """Return the measure in each fold, (folds, [K], [C])."""
        if isinstance(getattr(measure, "form", None), CalibrationForm):
            name = measure.__name__
            raise fail(
                f"{name} is not available for folds, only for one sample",
                ...,
                "",
                "treat the folds as one sample with curves.pool_folds(evidence, "
                "`ranks=False`), or use a proper score",
            )
        values = np.stack([fold.point(measure) for fold in self.of_folds])
        if not np.isfinite(values).all():
            raise fail(
                f"{measure.__name__} is infinite or 0/0 in a fold",
                ...,
                "",
                "use fewer folds or `clip=`, or use drop_vars('fold') to treat all examples as "
                "one sample",
            )
        return values

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the mean of a measure over the folds."""
        self.resolve_estimand(of)
        return self.values(measure).mean(axis=0)

    def exact_distribution(self, measure: Any, *, of: str = "parameter", n: Any = None) -> Any:
        """
        Return the t distribution of a measure, truncated to its range.

        The result is None for several classifiers, or if the measure has one value per class.
        """
        values = self.values(measure)
        if values.ndim > 1:
            return None
        scale = np.sqrt(values.var(ddof=1) * self._variance_factor)
        mean = StudentT(float(values.mean()), float(scale), len(values) - 1)
        bounded = scale > 0 and np.isfinite(measure.range).any()
        return Truncated(mean, measure.range) if bounded else mean

    @property
    def _variance_factor(self):
        """The variance of the mean over folds, relative to the variance between folds."""
        return 1 / len(self.folds) + self.rho / (1 - self.rho)

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Sample the mean measures jointly over classifiers, (size, [K], [C])."""
        draws = []
        for values in map(self.values, measures):
            flat = values.reshape(len(values), -1).T
            means = correlated_draws(flat, self.rho, size, rng)
            draws.append(means.reshape(size, *values.shape[1:]))
        return draws

    def empirical(self, measure: Any, draws: np.ndarray) -> Any:
        """Return the distribution of draws, clipped to the measure's range."""
        return super(OfForecasts, self).empirical(measure, np.clip(draws, *measure.range))
