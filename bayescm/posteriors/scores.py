"""
The direct posterior of `bayescm.models.scores`: the joint posterior of ROC curves.

The weights of a class on its slots are the parameters of a Dirichlet distribution, and so are those
on the common cells of several classifiers (or of each class against the rest); the prevalence is a
beta, independent of both. How much weighs where is in `bayescm.posteriors.roc.slots`. The areas of
several classifiers are tied more closely than their curves, in
`bayescm.posteriors.roc.paired_areas`; the area of one has its moments in closed form (`area`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaln, gammaln

from bayescm.distributions import dirichlet
from bayescm.distributions.moments import CornishFisherBeta, beta_of, excess_kurtosis
from bayescm.evidence.scores import as_scores
from bayescm.evidence.slices import check_one_sample
from bayescm.posteriors.base import Posterior
from bayescm.posteriors.roc import slots
from bayescm.posteriors.roc.curve import Curve
from bayescm.posteriors.roc.prevalence import class_weights, prevalence_distribution
from bayescm.validate import fail

# Gammas held at once: 160 MB.
_AT_ONCE = 2e7


@dataclass(frozen=True, eq=False)
class Scores(Posterior):
    """
    The joint posterior of the curves of one or more views of the same examples.

    Attributes
    ----------
    views : tuple of View
    weights : ndarray, shape (n,)
        How many examples each one stands for.
    codes : ndarray of int, shape (n,)
        The class of each example.
    target : ndarray of int, shape (V,)
        The class that is positive in each view.
    shares : ndarray, shape (C,), or None
        The parameters of the Dirichlet distribution of the classes' shares.
    known : float or None
        The prevalence of the positive class where it is known.
    group : ndarray of int, shape (V,)
        The curve that a view belongs to; the views of one curve share its slots.
    scale : ndarray, shape (C,)
        How much an example of each class counts in the population: 1, but for importance weights.
    """

    measured_variable = "curve"
    cell_prior = False
    estimands = {"parameter": "curve"}  # noqa: RUF012
    views: tuple[slots.View, ...]
    weights: np.ndarray
    codes: np.ndarray
    target: np.ndarray
    shares: np.ndarray
    known: float | None
    group: np.ndarray
    scale: np.ndarray | float = 1.0

    @property
    def has_model(self) -> bool:  # type: ignore[override]
        """Whether there is a PyMC model: of two classes."""
        return len(self.shares) == 2

    @property
    def first(self) -> np.ndarray:
        """The first view of each curve."""
        return np.unique(self.group, return_index=True)[1]

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
        if self.known is not None:
            return np.full((len(self.views), size), self.known)
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
            for group, key in zip(self.group, keys, strict=True):
                _pour(gammas, key, masses[group][:, rows])
        return masses

    def _cells(self, cuts):
        """Return the weights of the cells, and side * blocks + block of each view."""
        shape, example, slot = slots.cells(self.views, self.weights)
        keys = np.empty_like(slot)
        for key, view, group, row in zip(keys, self.views, self.group, slot, strict=True):
            block = np.searchsorted(cuts[group], row, "right") - 1
            key[:] = view.positive[example] * (len(cuts[group]) - 1) + block
        keys, inverse = np.unique(keys, axis=1, return_inverse=True)
        return np.bincount(inverse.ravel(), shape), keys

    def draw(  # type: ignore[override]
        self, measures: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Return draws (size, V) of functions of a curve, all from the same curves."""
        curves = self.curves(size, rng)
        return [np.stack([kernel(each) for each in curves], axis=1) for kernel in measures]

    def concentration(self) -> dict[str, np.ndarray]:
        """Return the Dirichlet parameters of both classes' cells; for two classes."""
        shape, keys = self._cells([np.arange(len(each.tied) + 1) for each in self.views])
        positive = keys[0] >= len(self.views[0].tied)
        return {"negative_mass": shape[~positive], "positive_mass": shape[positive]}

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        known = self.known is not None
        share = dirichlet.draw(self.shares, size, rng)[:, self.target[0]]
        prevalence = np.full(size, self.known) if known else share
        both = self.concentration()
        drawn = {name: dirichlet.draw(shape, size, rng) for name, shape in both.items()}
        return {"prevalence": prevalence, **drawn}

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log posterior density of the variables of the PyMC model."""
        both, prevalence = self.concentration(), variables["prevalence"]
        total = sum(dirichlet.logpdf(variables[name], both[name]) for name in both)
        rest, share = self.shares
        beta = (share - 1) * np.log(prevalence) + (rest - 1) * np.log1p(-prevalence)
        return np.asarray(total + beta - betaln(share, rest))

    def log_marginal_likelihood(self) -> np.ndarray:
        """Return the log probability of the number of positives, all that is observed as such."""
        totals = np.bincount(self.codes, self.weights, 2)
        rest, share = self.shares
        ways = gammaln(totals.sum() + 1) - gammaln(totals + 1).sum()
        return ways + betaln(share, rest) - betaln(share - totals[1], rest - totals[0])


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


def scores(evidence, *, prevalence: float | tuple[float, float] | None = None) -> Scores:
    """
    Return the joint posterior of the curves of all classifiers, or of each class against the rest.

    Parameters
    ----------
    evidence : xarray.Dataset
        From :func:`bayescm.from_scores`, one sample: without folds.
    prevalence : float or tuple, optional
        Of two classes: a known share of the positive class, or the parameters (a, b) of a beta
        prior to which the sample adds its counts; (0.5, 0.5) by default. More classes have a
        Dirichlet prior of the same total weight. The coord ``prevalence`` of the evidence is a
        known share.

    Returns
    -------
    Scores
        Its curves run over classifiers and, inside these, over classes.

    Examples
    --------
    >>> import bayescm as bcm
    >>> from bayescm.posteriors.roc.curve import auc
    >>> evidence = bcm.from_scores([0, 0, 1, 1, 1], [1, 2, 3, 4, 5])
    >>> (draws,) = scores(evidence).draw([auc], 1000, np.random.default_rng(1))
    >>> draws.shape
    (1000, 1)
    """
    evidence = as_scores(evidence)
    rows, target, weights, codes, classes = _curves_of(evidence)
    views = tuple(
        slots.view(row, codes == each, weights) for row, each in zip(rows, target, strict=True)
    )
    known, prior = prevalence_distribution(evidence, prevalence, classes)
    shares = prior + np.bincount(codes, weights, classes)
    scale = class_weights(evidence, weights, codes, classes)
    return Scores(views, weights, codes, target, shares, known, np.arange(len(views)), scale)


def _curves_of(evidence):
    """Return scores (V, n), which class is positive in each (V,), and what `arrays` returns."""
    if "fold" in evidence:
        todo = "go fold by fold, or pool them: pool_folds(evidence, ranks=True)"
        raise fail("scores of several folds have no common curve", ..., "a single sample", todo)
    check_one_sample(evidence, "scores")
    matrix, weights, codes = arrays(evidence)
    classes = len(matrix[0]) if matrix.ndim == 3 else 2
    rows = matrix.reshape(-1, len(weights))
    target = np.arange(len(rows)) % classes if matrix.ndim == 3 else np.ones(len(rows), int)
    return rows, target, weights, codes, classes


def arrays(evidence) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return scores as arrays.

    Returns
    -------
    matrix : ndarray, shape (V, n), or (V, C, n) for more than two classes
    weights : ndarray, shape (n,)
    codes : ndarray of int, shape (n,)
        The class of each example; of two classes 1 is the positive one.
    """
    truth = evidence["actual"].values
    score = evidence["score"]
    score = score if "classifier" in score.dims else score.expand_dims("classifier")
    matrix = score.transpose("classifier", "class", "example", missing_dims="ignore").values
    weights = evidence["weight"].values if "weight" in evidence else np.ones(len(truth))
    if "class" in score.dims:
        codes = (truth[:, None] == evidence["class"].values).argmax(axis=1)
    else:
        codes = (truth == evidence["positive"].values).astype(int)
    return matrix, weights.astype(float), codes


# Curves of all (example, class) pairs pooled: the micro average over the classes.


def micro(evidence) -> Scores:
    """
    Return the joint posterior of each classifier's pooled curve.

    Every example is C pairs of its score for a class and whether it is of that class. The pairs of
    an example share its weight, so that they count as one observation, not as C.

    Parameters
    ----------
    evidence : xarray.Dataset
        Scores of more than two classes, without folds.

    Returns
    -------
    Scores
        One curve per classifier. One pair in C is positive, which is certain.
    """
    matrix, weights, codes = arrays(evidence)
    classes = matrix.shape[1]
    positive = codes == np.arange(classes)[:, None]
    pooled = [view for scores in matrix for view in _pooled(scores, positive, weights)]
    group = np.repeat(np.arange(len(matrix)), classes)
    shares = np.bincount(codes, weights, classes)
    return Scores(
        tuple(pooled), weights, codes, np.zeros(len(pooled), int), shares, 1 / classes, group
    )


def _pooled(scores, positive, weights):
    """Return one view per class, all on the slots of the pairs pooled."""
    whole = slots.view(scores.ravel(), positive.ravel(), np.tile(weights, len(scores)))
    for start, own in zip(whole.start.reshape(scores.shape), positive, strict=True):
        yield replace(whole, start=start, positive=own)


# The area under one curve by its moments: what `roc.curve.auc` draws, without draws.


def areas(evidence) -> list[CornishFisherBeta]:
    """Return the areas under the curves of checked scores by moments, in the order of `scores`."""
    rows, target, weights, codes, _ = _curves_of(evidence)
    pairs = zip(rows, target, strict=True)
    return [area(slots.outline(row, codes == each, weights)) for row, each in pairs]


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
