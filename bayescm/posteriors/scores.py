"""
The direct posterior of `bayescm.models.scores`: ROC curves from the order of the scores.

The weights of a class on its slots (`bayescm.posteriors.roc.slots`) are the parameters of a
Dirichlet distribution, and so are those on the common cells of several classifiers, or of each
class against the rest; the prevalence is a beta, independent of both. With p and q the weights of
the positives and the negatives on the slots, the highest first, the area under a curve is

    A = p' W q,   W = 1 above the diagonal and 1/2 on it,

whose moments are sums over the slots (`area`). Of two classifiers the areas are tied more closely
than the curves, in `bayescm.posteriors.roc.paired_areas`.
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
from bayescm.posteriors.roc import slots
from bayescm.posteriors.roc.curve_posterior import CurvePosterior, top_scores
from bayescm.posteriors.roc.prevalence import class_weights, prevalence_distribution

# Gammas held at once: 160 MB.
_AT_ONCE = 2e7


def scores(
    evidence: xr.Dataset, *, prevalence: float | tuple[float, float] | None = None
) -> CurvePosterior:
    """
    Return the posterior of the curves of all classifiers, or of each class against the rest.

    Parameters
    ----------
    evidence : xarray.Dataset
        From :func:`bayescm.from_scores` or :func:`bayescm.from_probabilities`. Each fold or group
        has curves of its own.
    prevalence : float or tuple, optional
        Of two classes: a known share of the positive class, or the parameters (a, b) of a beta
        prior to which the sample adds its counts; (0.5, 0.5) by default. More classes have a
        Dirichlet prior of the same total weight. The coord ``prevalence`` of the evidence is a
        known share.

    Returns
    -------
    CurvePosterior

    Raises
    ------
    ValueError
        If the prevalence is not a share or a beta prior, or of more than two classes.

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
    The curves of one sample by the order of its scores.

    Parameters
    ----------
    evidence : Dataset
        Checked scores, without folds and groups.
    prevalence
        See `scores`.
    """

    def __init__(
        self, evidence: xr.Dataset, prevalence: float | tuple[float, float] | None = None
    ) -> None:
        matrix, self.weights, self.codes = score_arrays(evidence)
        self.matrix = matrix if matrix.ndim == 3 else matrix[:, None]  # (K, C or 1, n)
        self.classifiers = len(matrix)
        self.classes = matrix.shape[1] if matrix.ndim == 3 else 2
        self.class_totals = np.bincount(self.codes, self.weights, self.classes)
        self.prevalence, prior = prevalence_distribution(evidence, prevalence, self.classes)
        self.shares = prior + self.class_totals
        self.scale = class_weights(evidence, self.weights, self.codes, self.classes)
        # The class that is positive in each view: of two classes the second.
        each = np.arange(self.classes) if self.classes > 2 else np.ones(1, int)
        self.target = np.tile(each, self.classifiers)

    @property
    def _views(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The scores and the positives of each view."""
        rows = self.matrix.reshape(-1, len(self.weights))
        for row, target in zip(rows, self.target, strict=True):
            yield row, self.codes == target

    @cached_property
    def dirichlet(self) -> "DirichletCurves":
        """The joint posterior of the curves."""
        views = tuple(slots.view(*view, self.weights) for view in self._views)
        return DirichletCurves(
            views, self.weights, self.target, self.shares, self.prevalence, self.scale
        )

    @property
    def views(self) -> list[slots.View]:
        """The slots of each curve."""
        return list(self.dirichlet.views)

    def areas(self) -> list[CornishFisherBeta]:
        """Return the areas under the curves by their moments."""
        return [area(slots.outline(*view, self.weights)) for view in self._views]

    def curves(
        self,
        size: int,
        rng: np.random.Generator,
        *,
        resolution: int | None = None,
        keep: Sequence[np.ndarray] | None = None,
    ) -> list[Curve]:
        """Draw the curves of all views jointly; parameters as of `DirichletCurves.curves`."""
        return self.dirichlet.curves(size, rng, resolution=resolution, keep=keep)

    def pooled_curves(
        self, size: int, rng: np.random.Generator, *, resolution: int | None = None
    ) -> list[Curve]:
        """
        Draw the curve of all (example, class) pairs of each classifier.

        The pairs of an example share its weight, so that they count as one observation, not as C.
        One pair in C is positive, which is certain.
        """
        return self.pooled.curves(size, rng, resolution=resolution)

    @cached_property
    def pooled(self) -> "DirichletCurves":
        """The joint posterior of the pooled curves of the classifiers: a view for each class."""
        positive = self.codes == np.arange(self.classes)[:, None]
        views = []
        for scores in self.matrix:
            whole = slots.view(
                scores.ravel(), positive.ravel(), np.tile(self.weights, self.classes)
            )
            for start, members in zip(whole.start.reshape(scores.shape), positive, strict=True):
                views.append(replace(whole, start=start, positive=members))
        group = np.repeat(np.arange(self.classifiers), self.classes)
        return DirichletCurves(
            tuple(views), self.weights, group, self.shares, 1 / self.classes, group=group
        )

    def top_curves(
        self, size: int, rng: np.random.Generator, *, resolution: int | None = None
    ) -> list[Curve]:
        """Draw the curve of the highest score of each example: positive where it was right."""
        pairs = [top_scores(scores, self.codes) for scores in self.matrix]
        views = tuple(slots.view(*pair, self.weights) for pair in pairs)
        target = np.ones(len(views), int)
        joint = DirichletCurves(views, self.weights, target, self.shares, 0.5)
        curves = []
        for curve, (_, right) in zip(
            joint.curves(size, rng, resolution=resolution), pairs, strict=True
        ):
            hits, all_ = self.weights[right].sum(), self.weights.sum()
            share = rng.beta(hits + 0.5, all_ - hits + 0.5, size)
            curves.append(replace(curve, prevalence=share))
        return curves

    # The variables of the PyMC model, of two classes.

    def concentration(self) -> dict[str, np.ndarray]:
        """Return the Dirichlet parameters of both classes' cells."""
        negative, positive = self.dirichlet.concentration()
        return {"negative_mass": negative, "positive_mass": positive}

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        share = dirichlet.draw(self.shares, size, rng)[:, self.target[0]]
        prevalence = share if self.prevalence is None else np.full(size, self.prevalence)
        cells = self.concentration()
        drawn = {name: dirichlet.draw(shape, size, rng) for name, shape in cells.items()}
        return {"prevalence": prevalence, **drawn}

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log posterior density of the variables of the PyMC model."""
        cells, prevalence = self.concentration(), variables["prevalence"]
        total = sum(dirichlet.logpdf(variables[name], cells[name]) for name in cells)
        rest, share = self.shares
        beta = (share - 1) * np.log(prevalence) + (rest - 1) * np.log1p(-prevalence)
        return np.asarray(total + beta - betaln(share, rest))

    def log_marginal_likelihood(self) -> np.ndarray:
        """Return the log probability of the number of positives, all that is observed as such."""
        totals, (rest, share) = self.class_totals, self.shares
        ways = gammaln(totals.sum() + 1) - gammaln(totals + 1).sum()
        return ways + betaln(share, rest) - betaln(share - totals[1], rest - totals[0])


# Joint draws of curves: gamma variates on the cells, added up into the slots of each view.


@dataclass(frozen=True, eq=False)
class DirichletCurves:
    """
    The joint posterior of the curves of one or more views of the same examples.

    Attributes
    ----------
    views : tuple of View
    weights : ndarray, shape (n,)
        How many examples each one stands for.
    target : ndarray of int, shape (V,)
        The class that is positive in each view.
    shares : ndarray, shape (C,)
        The parameters of the Dirichlet distribution of the classes' shares.
    known_prevalence : float or None
        The prevalence of the positive class where it is known.
    scale : ndarray, shape (C,)
        How much an example of each class counts in the population: 1, but for importance weights.
    group : ndarray of int, shape (V,), optional
        The curve that a view belongs to, where the views of one curve share its slots; by default
        each has its own.
    """

    views: tuple[slots.View, ...]
    weights: np.ndarray
    target: np.ndarray
    shares: np.ndarray
    known_prevalence: float | None
    scale: np.ndarray | float = 1.0
    group: np.ndarray | None = None

    @property
    def first(self) -> np.ndarray:
        """The first view of each curve."""
        return np.unique(self._group, return_index=True)[1]

    @property
    def _group(self):
        return np.arange(len(self.views)) if self.group is None else self.group

    def curves(
        self,
        size: int,
        rng: np.random.Generator,
        *,
        resolution: int | None = None,
        keep: Sequence[np.ndarray] | None = None,
    ) -> list[Curve]:
        """
        Draw the curves of all views jointly.

        Parameters
        ----------
        size : int
            Number of draws.
        rng : numpy.random.Generator
        resolution : int, optional
            Put neighbouring slots together where a view has more than this. The distribution at the
            points that are left stays exact.
        keep : sequence of ndarray, optional
            For each curve, places among its slots to have a point at.
        """
        first = self.first
        views = [self.views[index] for index in first]
        cuts = [
            slots.blocks(each, resolution or len(each.tied), () if keep is None else keep[index])
            for index, each in enumerate(views)
        ]
        prevalence = self.prevalence(size, rng)[first]
        masses = self._masses(cuts, size, rng)
        return [
            _curve(view, cut, mass, share)
            for view, cut, mass, share in zip(views, cuts, masses, prevalence, strict=True)
        ]

    def prevalence(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the share of the positive class of each view, shape (V, size)."""
        if self.known_prevalence is not None:
            return np.full((len(self.views), size), self.known_prevalence)
        shares = dirichlet.draw(self.shares, size, rng) * self.scale
        return (shares / shares.sum(axis=1, keepdims=True)).T[self.target]

    def _masses(self, cuts, size, rng) -> list[np.ndarray]:
        """Draw the weight of both sides on every block of each view, each (2, size, blocks)."""
        if len(self.views) == 1:
            sides = self.views[0].concentration
            shapes = np.add.reduceat(sides, cuts[0][:-1], axis=1)
            both = np.empty((2, size, len(cuts[0]) - 1))
            for each, side in zip(shapes, both, strict=True):
                rng.standard_gamma(each, out=side)
            return [both]
        shape, keys = self._cells(cuts)
        masses = [np.zeros((2, size, len(cut) - 1)) for cut in cuts]
        step = max(1, int(_AT_ONCE / len(shape)))
        for first in range(0, size, step):
            rows = slice(first, min(first + step, size))
            gammas = rng.standard_gamma(shape, (rows.stop - first, len(shape)))
            for group, key in zip(self._group, keys, strict=True):
                _pour(gammas, key, masses[group][:, rows])
        return masses

    def _cells(self, cuts):
        """Return the weights of the cells, and side * blocks + block of each view."""
        shape, example, slot = slots.cells(self.views, self.weights)
        keys = np.empty_like(slot)
        for key, view, group, row in zip(keys, self.views, self._group, slot, strict=True):
            block = np.searchsorted(cuts[group], row, "right") - 1
            key[:] = view.positive[example] * (len(cuts[group]) - 1) + block
        keys, inverse = np.unique(keys, axis=1, return_inverse=True)
        return np.bincount(inverse.ravel(), shape), keys

    def concentration(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the Dirichlet parameters of the negatives' and the positives' cells."""
        shape, keys = self._cells([np.arange(len(each.tied) + 1) for each in self.views])
        positive = keys[0] >= len(self.views[0].tied)
        return shape[~positive], shape[positive]


def _pour(gammas, key, out):
    """Add cells up into the blocks of both sides."""
    order = np.argsort(key, kind="stable")
    found, starts = np.unique(key[order], return_index=True)
    side, block = np.divmod(found, out.shape[-1])
    out[side, :, block] += np.add.reduceat(gammas[:, order], starts, axis=1).T


def _curve(view, cuts, mass, prevalence) -> Curve:
    rates = np.zeros((2, mass.shape[1], mass.shape[2] + 1))
    np.cumsum(mass, axis=2, out=rates[:, :, 1:])
    rates /= rates[:, :, -1:]
    tied = view.tied[cuts[:-1]] & (np.diff(cuts) == 1)
    return Curve(rates[0], rates[1], prevalence, _inner(view, cuts), tied, cuts)


def _inner(view, cuts):
    """Return P(positive above negative) inside each block, in the mean over the draws."""
    negative, positive = view.concentration
    before = np.cumsum(positive) - positive / 2
    start = np.concatenate([[0.0], np.cumsum(positive)])[cuts]
    total = [np.add.reduceat(each, cuts[:-1]) for each in (negative, positive)]
    above = np.add.reduceat(negative * before, cuts[:-1]) - total[0] * start[:-1]
    weight = total[0] * total[1]
    return np.divide(above, weight, out=np.full(len(weight), 0.5), where=weight > 0)


# The area under one curve by its moments: what `measures.curves.auc` draws, without draws.

_BEND = 1.5  # of the excess kurtosis on the squared skewness, as of gamma distributions


def area(weights: np.ndarray) -> CornishFisherBeta:
    """
    Return the distribution of the area under a curve, by its first three moments.

    Parameters
    ----------
    weights : ndarray, shape (2, J)
        Of the negatives and of the positives on every slot, the highest first.

    Notes
    -----
    The area is p' W q, where p and q are Dirichlet distributed weights of the positives and the
    negatives on the slots, the highest first, and W is 1 above the diagonal and 1/2 on it. Less the
    mean m of the area it is p' V q, with V = W - m, as the weights of each side sum to 1: so
    nothing cancels. The moments of a Dirichlet distribution are sums over the slots.
    """
    negative, positive = weights
    size, other = positive.sum(), negative.sum()
    above = np.cumsum(positive) - positive
    share = negative / other
    mean = float(share @ (above + positive / 2)) / size

    def over(weights, before, after, power):
        """Sum weights times V**power over the slots of the positives, for each of the negatives."""
        ends = (1 - mean) ** power, (0.5 - mean) ** power, (-mean) ** power
        return before * ends[0] + weights * ends[1] + after * ends[2]

    row = 1 - np.cumsum(share) + share / 2 - mean  # the mean of V over the negatives
    leaning = positive * row
    led = np.cumsum(leaning) - leaning
    found = positive, above, size - above - positive
    led_by = leaning, led, -led - leaning
    first, second, third = (over(*found, power) for power in (1, 2, 3))
    pairs, triples = size * (size + 1), size * (size + 1) * (size + 2)
    # Over the positives: the mean of the sums e of share * (p' V)**k, and of their products.
    square_of_one = leaning @ row / pairs
    of_two = share @ (first**2 + second) / pairs
    cube_of_one = 2 * (leaning @ row**2) / triples
    with_one = share @ (first * over(*led_by, 1) + over(*led_by, 2)) * 2 / triples
    of_three = share @ (first * (first**2 + 3 * second) + 2 * third) / triples
    variance = (other * square_of_one + of_two) / (other + 1)
    lean = other**2 * cube_of_one + 3 * other * with_one + 2 * of_three
    lean /= (other + 1) * (other + 2) * variance**1.5
    spread = np.sqrt(variance)
    bent = _BEND * (lean**2 - beta_of(mean, spread).skewness() ** 2)
    excess = excess_kurtosis(mean, spread) + bent
    return CornishFisherBeta(np.asarray(mean), spread, lean, excess)
