r"""
The direct posterior of `bayescm.models.scores`: ROC curves from the ranks of the scores.

The sorted scores divide the range into slots (see `bayescm.posteriors.roc.slots`, also for ties and
weights). Their probabilities have independent Dirichlet distributions, p ~ Dirichlet(alpha) for the
positives and q ~ Dirichlet(beta) for the negatives, from the highest slot to the lowest. The
prevalence has an independent beta distribution. The area under the curve is

    A = sum_ij p_i W_ij q_j,   W_ij = 1 for i < j, 1/2 for i = j and 0 for i > j:

the probability that the positive of a random pair is in the higher slot, plus half the probability
that both are in the same slot. Its first three moments are sums over the slots, and
`area_distribution` returns a distribution with these moments. Other measures, and several curves of
the same examples, are sampled (`DirichletCurves`). Several classifiers, or several one-vs-rest
problems, share a Dirichlet distribution over cells. The marginal distribution of each curve is the
same as without the others. The areas of two classifiers are more closely correlated than their
curves (see `bayescm.posteriors.roc.paired_areas`).

References
----------
Kotz, S., Balakrishnan, N. & Johnson, N. L. (2000). Continuous Multivariate Distributions, volume 1,
chapter 49: Dirichlet and inverted Dirichlet distributions. Wiley. doi:10.1002/0471722065
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import xarray as xr
from scipy.special import betaln, gammaln

from bayescm.distributions import dirichlet
from bayescm.distributions.moments import CornishFisherBeta, beta_of, excess_kurtosis
from bayescm.evidence.scores import score_arrays
from bayescm.measures.curves import Curve
from bayescm.posteriors.roc.curve_posterior import CurvePosterior, top_scores
from bayescm.posteriors.roc.prevalence import class_weights, prevalence_distribution
from bayescm.posteriors.roc.slots import Slots, block_bounds, block_weights, cells, slots_of
from bayescm.validate import fail

_GAMMAS_AT_ONCE = 2e7  # largest number of gamma variates in memory (160 MB)


def scores(
    evidence: xr.Dataset, *, prevalence: float | tuple[float, float] | None = None
) -> CurvePosterior:
    """
    Return the posterior of ROC curves, from the ranks of the scores.

    There is one curve for each classifier. With more than two classes, there is one for each class
    versus the rest.

    Parameters
    ----------
    evidence : xarray.Dataset
        From :func:`bayescm.from_scores` or :func:`bayescm.from_probabilities`. Each fold or group
        has separate curves.
    prevalence : float or tuple, optional
        For two classes, the known prevalence of the positive class, or the parameters (a, b) of a
        beta prior that is updated by the sample. The default is the coordinate ``prevalence`` of
        the evidence if there is one, else (0.5, 0.5). More classes have a Dirichlet prior for the
        same total weight.

    Returns
    -------
    CurvePosterior

    Raises
    ------
    ValueError
        If the prevalence is neither a proportion nor a beta prior, or if it is given for more than
        two classes.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 1, 1], [1, 2, 3, 4, 5])
    >>> scores(evidence).point(bcm.measures.resolve("auc"))
    array(1.)
    """
    return CurvePosterior(evidence, partial(SampleOfScores, prevalence=prevalence))


class SampleOfScores:
    """
    Posterior of the curves of one sample, from the ranks of its scores.

    Parameters
    ----------
    evidence : Dataset
        Canonical scores, without folds and groups.
    prevalence
        See `scores`.
    """

    def __init__(
        self, evidence: xr.Dataset, prevalence: float | tuple[float, float] | None = None
    ) -> None:
        matrix, self.weights, self.codes = score_arrays(evidence)
        self.matrix = matrix if matrix.ndim == 3 else matrix[:, None]  # (K, C or 1, n)
        self.classifiers = len(matrix)
        self.labels = evidence["class"].values if matrix.ndim == 3 else np.arange(2)
        self.classes = matrix.shape[1] if matrix.ndim == 3 else 2
        self.class_totals = np.bincount(self.codes, self.weights, self.classes)
        self.prevalence, prior = prevalence_distribution(evidence, prevalence, self.classes)
        self.shares = prior + self.class_totals
        self.scale = class_weights(evidence, self.weights, self.codes, self.classes)
        # The positive class of each curve. With two classes, it is the second one.
        positive_classes = np.arange(self.classes) if self.classes > 2 else np.ones(1, int)
        self.positive_class = np.tile(positive_classes, self.classifiers)

    def _scores_and_positives(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the scores of each curve, and a mask of the positive examples."""
        if not self.class_totals.all():
            label = self.labels[self.class_totals == 0][0]
            todo = "ask for brier, log_loss or ece_top_label"
            what = f"curves compare the scores of classes, and no example is of class {label!s}"
            raise fail(what, ..., "", todo)
        rows = self.matrix.reshape(-1, len(self.weights))
        for row, label in zip(rows, self.positive_class, strict=True):
            yield row, self.codes == label

    @cached_property
    def dirichlet(self) -> "DirichletCurves":
        """Joint posterior of the curves."""
        return DirichletCurves(
            tuple(slots_of(*problem, self.weights) for problem in self._scores_and_positives()),
            self.weights,
            self.positive_class,
            self.shares,
            self.prevalence,
            self.scale,
        )

    @property
    def slots(self) -> list[Slots]:
        """Slots of each curve."""
        return list(self.dirichlet.slots)

    def areas(self) -> list[CornishFisherBeta]:
        """Return the distributions of the areas under the curves, from their moments."""
        return [
            area_distribution(block_weights(*problem, self.weights))
            for problem in self._scores_and_positives()
        ]

    def curves(
        self,
        size: int,
        rng: np.random.Generator,
        *,
        resolution: int | None = None,
        uncut: Sequence[np.ndarray] | None = None,
    ) -> list[Curve]:
        """Return joint draws of all curves; parameters as in `DirichletCurves.curves`."""
        return self.dirichlet.curves(size, rng, resolution=resolution, uncut=uncut)

    def pooled_curves(
        self, size: int, rng: np.random.Generator, *, resolution: int | None = None
    ) -> list[Curve]:
        """
        Return draws of each classifier's micro-averaged curve, of all (example, class) pairs.

        The pairs of an example share its weight, so that they are treated as one observation, not
        as C. The prevalence is exactly 1/C, because each example has one positive pair.
        """
        return self.pooled.curves(size, rng, resolution=resolution)

    @cached_property
    def pooled(self) -> "DirichletCurves":
        """Joint posterior of the micro-averaged curves. C binary problems share a curve's slots."""
        positive = self.codes == np.arange(self.classes)[:, None]
        problems = []
        for scores in self.matrix:
            pairs = slots_of(scores.ravel(), positive.ravel(), np.tile(self.weights, self.classes))
            starts = pairs.start.reshape(scores.shape)
            problems += [
                replace(pairs, start=start, positive=of_class)
                for start, of_class in zip(starts, positive, strict=True)
            ]
        curve = np.repeat(np.arange(self.classifiers), self.classes)
        classes = np.tile(np.arange(self.classes), self.classifiers)
        return DirichletCurves(
            tuple(problems), self.weights, classes, self.shares, 1 / self.classes, curve_of=curve
        )

    def top_curves(
        self, size: int, rng: np.random.Generator, *, resolution: int | None = None
    ) -> list[Curve]:
        """Return draws of the curves of top scores, in which correct predictions are positive."""
        pairs = [top_scores(scores, self.codes) for scores in self.matrix]
        slots = tuple(slots_of(*pair, self.weights) for pair in pairs)
        joint = DirichletCurves(slots, self.weights, np.ones(len(pairs), int), self.shares, 0.5)
        drawn = joint.curves(size, rng, resolution=resolution)
        curves = []
        for curve, (_, right) in zip(drawn, pairs, strict=True):
            hits, total = self.weights[right].sum(), self.weights.sum()
            accuracy = rng.beta(hits + 0.5, total - hits + 0.5, size)
            curves.append(replace(curve, prevalence=accuracy))
        return curves

    # The variables of the PyMC model of two classes.

    def concentration(self) -> dict[str, np.ndarray]:
        """Return the Dirichlet parameters of the cells of both classes."""
        negative, positive = self.dirichlet.concentration()
        return {"negative_mass": negative, "positive_mass": positive}

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        share = dirichlet.draw(self.shares, size, rng)[:, 1]
        prevalence = share if self.prevalence is None else np.full(size, self.prevalence)
        masses = {
            name: dirichlet.draw(concentration, size, rng)
            for name, concentration in self.concentration().items()
        }
        return {"prevalence": prevalence, **masses}

    def curves_given(self, variables: Mapping[str, np.ndarray]) -> list[Curve]:
        """Return the curves, given draws (size, ...) of the variables of the PyMC model."""
        masses = variables["negative_mass"], variables["positive_mass"]
        known = np.full(len(masses[0]), self.prevalence, float)
        return self.dirichlet.curves_of_masses(*masses, variables.get("prevalence", known))

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log posterior density of the variables of the PyMC model."""
        masses = sum(
            dirichlet.logpdf(variables[name], concentration)
            for name, concentration in self.concentration().items()
        )
        prevalence, (negative, positive) = variables["prevalence"], self.shares
        beta = (positive - 1) * np.log(prevalence) + (negative - 1) * np.log1p(-prevalence)
        return np.asarray(masses + beta - betaln(positive, negative))

    def log_marginal_likelihood(self) -> np.ndarray:
        """Return the log probability of the number of positives, the only observed variable."""
        totals, prior = self.class_totals, self.shares - self.class_totals
        log_binomial = gammaln(totals.sum() + 1) - gammaln(totals + 1).sum()
        return log_binomial + betaln(*self.shares) - betaln(*prior)


# The distribution of the area under one curve (`measures.curves.auc`), from its moments.

# Gamma distributions (Pearson's type III) have the excess kurtosis 3/2 skewness^2.
_TYPE_III = 1.5


def area_distribution(concentration: np.ndarray) -> CornishFisherBeta:
    r"""
    Return the distribution of the area under a ROC curve, from its first three moments.

    Parameters
    ----------
    concentration : ndarray, shape (2, J)
        Dirichlet parameters of the slots: beta of the negatives, then alpha of the positives. The
        highest slot comes first; see `bayescm.posteriors.roc.slots`.

    Notes
    -----
    Let a and b be the sums of alpha and beta, m = alpha' W beta / (a b) the mean of the area, and
    V = W - m. As p and q sum to 1, A - m = p' V q, which avoids cancellation. Given p, it is the
    mean of v = V'p under a Dirichlet distribution. With M_k = sum_j (beta_j / b) v_j^k,

        E((A - m)^2 | p) = (b M_1^2 + M_2) / (b + 1)
        E((A - m)^3 | p) = (b^2 M_1^3 + 3 b M_1 M_2 + 2 M_3) / ((b + 1) (b + 2)).

    The expectations over p of terms in M_1, M_2 and M_3 follow from the moments of linear forms of
    a Dirichlet variable. With [f] = sum_i alpha_i f_i,

        E(f'p g'p)      = ([f] [g] + [f g]) / (a (a + 1))
        E(f'p g'p h'p)  = ([f] [g] [h] + [f] [g h] + [g] [f h] + [h] [f g] + 2 [f g h])
                          / (a (a + 1) (a + 2)).

    Here f, g and h are columns of V, or r = V beta / b, with M_1 = r'p and [r] = 0.

    The fourth moment is approximated, since the first three almost determine it. The excess
    kurtosis is the value of the beta distribution with the same mean and variance, plus 3/2 times
    the difference in squared skewness from this beta distribution. The slope 3/2 is the slope of
    the gamma distributions. `CornishFisherBeta` estimates the error of the distribution.
    """
    beta, alpha = concentration
    a, b = alpha.sum(), beta.sum()
    share = beta / b
    mean = float(share @ (np.cumsum(alpha) - alpha / 2)) / a

    def sums(weights, *powers):
        """Return sum_i weights_i V_ij^k for each slot j of the negatives and each power k."""
        above = np.cumsum(weights) - weights
        below = weights.sum() - above - weights
        return [
            above * (1 - mean) ** k + weights * (0.5 - mean) ** k + below * (-mean) ** k
            for k in powers
        ]

    r = 1 - np.cumsum(share) + share / 2 - mean
    v, v2, v3 = sums(alpha, 1, 2, 3)  # [V_j], [V_j^2] and [V_j^3]
    rv, rv2 = sums(alpha * r, 1, 2)  # [r V_j] and [r V_j^2]
    pairs, triples = a * (a + 1), a * (a + 1) * (a + 2)
    m1_squared = alpha @ r**2 / pairs
    m2 = share @ (v**2 + v2) / pairs
    m1_cubed = 2 * (alpha @ r**3) / triples
    m1_m2 = share @ (2 * v * rv + 2 * rv2) / triples
    m3 = share @ (v**3 + 3 * v * v2 + 2 * v3) / triples
    variance = (b * m1_squared + m2) / (b + 1)
    third = (b**2 * m1_cubed + 3 * b * m1_m2 + 2 * m3) / ((b + 1) * (b + 2))
    sd, skewness = np.sqrt(variance), third / variance**1.5
    beyond_beta = skewness**2 - beta_of(mean, sd).skewness() ** 2
    excess = excess_kurtosis(mean, sd) + _TYPE_III * beyond_beta
    return CornishFisherBeta(np.asarray(mean), sd, skewness, excess)


# Joint draws of curves. Gamma variates of the cells are added up to the slots of each curve.


@dataclass(frozen=True, eq=False)
class DirichletCurves:
    """
    Joint posterior of the curves of one or more binary problems on the same examples.

    Attributes
    ----------
    slots : tuple of V Slots
        Slots of each binary problem. A problem is to separate one class from the rest with one
        classifier.
    weights : ndarray, shape (n,)
        Number of examples that each row represents.
    positive_class : ndarray of int, shape (V,)
        Positive class of each problem.
    shares : ndarray, shape (C,)
        Dirichlet parameters of the class frequencies.
    known_prevalence : float or None
        Prevalence of the positive class, if known.
    scale : ndarray, shape (C,)
        Mean weight of an example of each class in the population: 1 without importance weights.
    curve_of : ndarray of int, shape (V,), optional
        Curve of each problem, if several problems add up to one curve and share its slots. By
        default each problem has a separate curve.
    """

    slots: tuple[Slots, ...]
    weights: np.ndarray
    positive_class: np.ndarray
    shares: np.ndarray
    known_prevalence: float | None
    scale: np.ndarray | float = 1.0
    curve_of: np.ndarray | None = None

    @property
    def _curve_of(self):
        return np.arange(len(self.slots)) if self.curve_of is None else self.curve_of

    def curves(
        self,
        size: int,
        rng: np.random.Generator,
        *,
        resolution: int | None = None,
        uncut: Sequence[np.ndarray] | None = None,
    ) -> list[Curve]:
        """
        Return joint draws of the curves.

        Parameters
        ----------
        size : int
            Number of draws.
        rng : numpy.random.Generator
        resolution : int, optional
            Merge neighbouring slots of a curve with more slots than this. The distribution at the
            remaining points is exact.
        uncut : sequence of ndarray, optional
            Positions on each curve that are kept as points, in numbers of slots from the top; see
            `block_bounds`.
        """
        first = np.unique(self._curve_of, return_index=True)[1]  # the first problem of each curve
        slots = [self.slots[index] for index in first]
        bounds = [
            block_bounds(some, resolution or len(some.tied), () if uncut is None else uncut[index])
            for index, some in enumerate(slots)
        ]
        prevalence = self.prevalence(size, rng)[first]
        masses = self._masses(bounds, size, rng)
        return [_curve(*parts) for parts in zip(slots, bounds, masses, prevalence, strict=True)]

    def curves_of_masses(
        self, negative: np.ndarray, positive: np.ndarray, prevalence: np.ndarray
    ) -> list[Curve]:
        """
        Return the curves with the given masses of the cells.

        Parameters
        ----------
        negative, positive : ndarray, shape (size, cells)
            Masses of the cells of each class, in the order of `concentration`.
        prevalence : ndarray, shape (size,)
            Prevalence of the positive class.
        """
        bounds = [np.arange(len(slots.tied) + 1) for slots in self.slots]
        _, keys = self._cells(bounds)
        is_positive = keys[0] >= len(self.slots[0].tied)
        mass_of_cells = np.empty((len(negative), len(is_positive)))
        mass_of_cells[:, ~is_positive], mass_of_cells[:, is_positive] = negative, positive
        curves = []
        for slots, edges, key in zip(self.slots, bounds, keys, strict=True):
            masses = np.zeros((2, len(negative), len(edges) - 1))
            _add_cells(mass_of_cells, key, masses)
            curves.append(_curve(slots, edges, masses, prevalence))
        return curves

    def prevalence(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws of the prevalence of each problem's positive class, shape (V, size)."""
        if self.known_prevalence is not None:
            return np.full((len(self.slots), size), self.known_prevalence)
        shares = dirichlet.draw(self.shares, size, rng) * self.scale
        return (shares / shares.sum(axis=1, keepdims=True)).T[self.positive_class]

    def _masses(self, bounds, size, rng) -> list[np.ndarray]:
        """Return draws of the masses of the blocks of each curve, (2, size, blocks) each."""
        if len(self.slots) == 1:
            concentration = np.add.reduceat(self.slots[0].concentration, bounds[0][:-1], axis=1)
            masses = np.empty((2, size, len(bounds[0]) - 1))
            for parameters, mass in zip(concentration, masses, strict=True):
                rng.standard_gamma(parameters, out=mass)
            return [masses]
        concentration, keys = self._cells(bounds)
        masses_of_curves = [np.zeros((2, size, len(edges) - 1)) for edges in bounds]
        step = max(1, int(_GAMMAS_AT_ONCE / len(concentration)))
        for first in range(0, size, step):
            rows = slice(first, min(first + step, size))
            gammas = rng.standard_gamma(concentration, (rows.stop - first, len(concentration)))
            for curve, key in zip(self._curve_of, keys, strict=True):
                _add_cells(gammas, key, masses_of_curves[curve][:, rows])
        return masses_of_curves

    def _cells(self, bounds):
        """Return the Dirichlet parameters of the cells, and each cell's block in each problem.

        The blocks of the positives are numbered after the blocks of the negatives.
        """
        concentration, example, slot = cells(self.slots, self.weights)
        keys = np.empty_like(slot)
        for key, slots, curve, row in zip(keys, self.slots, self._curve_of, slot, strict=True):
            block = np.searchsorted(bounds[curve], row, "right") - 1
            key[:] = slots.positive[example] * (len(bounds[curve]) - 1) + block
        keys, inverse = np.unique(keys, axis=1, return_inverse=True)
        return np.bincount(inverse.ravel(), concentration), keys

    def concentration(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the Dirichlet parameters of the cells, negatives and positives."""
        concentration, keys = self._cells([np.arange(len(slots.tied) + 1) for slots in self.slots])
        positive = keys[0] >= len(self.slots[0].tied)
        return concentration[~positive], concentration[positive]


def _add_cells(gammas, key, masses):
    """Add the gamma variates of the cells to the masses of their blocks, in place."""
    order = np.argsort(key, kind="stable")
    keys, starts = np.unique(key[order], return_index=True)
    is_positive, block = np.divmod(keys, masses.shape[-1])
    masses[is_positive, :, block] += np.add.reduceat(gammas[:, order], starts, axis=1).T


def _curve(slots, bounds, masses, prevalence) -> Curve:
    """Return draws of the curve with the given masses (2, S, blocks) between the bounds."""
    rates = np.zeros((2, masses.shape[1], masses.shape[2] + 1))
    np.cumsum(masses, axis=2, out=rates[:, :, 1:])
    rates /= rates[:, :, -1:]
    tied = slots.tied[bounds[:-1]] & (np.diff(bounds) == 1)
    concordance = _concordance(slots.concentration, bounds)
    return Curve(rates[0], rates[1], prevalence, concordance, tied, bounds)


def _concordance(concentration, bounds):
    """Return the expectation of P(positive above negative) within each block."""
    negative, positive = concentration
    above = np.cumsum(positive) - positive / 2
    start = np.concatenate([[0.0], np.cumsum(positive)])[bounds[:-1]]
    negatives, positives = (np.add.reduceat(mass, bounds[:-1]) for mass in (negative, positive))
    concordant = np.add.reduceat(negative * above, bounds[:-1]) - negatives * start
    pairs = negatives * positives
    return np.divide(concordant, pairs, out=np.full(len(pairs), 0.5), where=pairs > 0)
