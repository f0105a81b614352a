"""Several classifiers on the same examples: the exact posterior, drawn without enumeration."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import lgamma, log

import numpy as np
from scipy.special import gammaln

from bayescm.exact import dirichlet
from bayescm.exact.dirichlet_multinomial import dirichlet_multinomial
from bayescm.validate import fail

# Joint tables up to this many cells are enumerated; larger ones are drawn lazily.
ENUMERATE = 256


@dataclass(frozen=True)
class PairedOutcomes:
    """The posterior of the joint outcome probabilities of several classifiers.

    The prior is a Dirichlet over the whole joint table whose base measure makes the answers
    independent given the truth. Its total weight is that of one classifier's own prior, so that
    summing out the other classifiers leaves each with exactly that prior.

    Attributes
    ----------
    counts : ndarray, shape (..., M)
        How often each of the M outcomes that occurred did so.
    actual : ndarray of int, shape (M,)
        Class index of the truth of each outcome.
    predicted : ndarray of int, shape (J, M)
        Class index of each classifier's answer.
    prior : ndarray, shape (J, C, C)
        Each classifier's own prior pseudo-counts; equal row sums over classifiers.
    """

    counts: np.ndarray
    actual: np.ndarray
    predicted: np.ndarray
    prior: np.ndarray

    @property
    def matrices(self) -> np.ndarray:
        """Each classifier's own confusion matrix, shape ``(..., J, C, C)``."""
        return pour(self.counts, self.actual, self.predicted, self.prior.shape[-1])

    def theta(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw every classifier's cell probabilities jointly, shape ``(size, ..., J, C, C)``."""
        classes = self.prior.shape[-1]
        weight = self.prior[0].sum()
        if weight > 0 and classes ** (1 + len(self.predicted)) <= ENUMERATE:
            everything, own = self._enumerated()
            cells = everything._gammas(own, size, rng)
            total = pour(cells, everything.actual, everything.predicted, classes)
        else:
            cells = self._gammas(0.0, size, rng)
            total = pour(cells, self.actual, self.predicted, classes)
            if weight > 0:
                share = weight / (weight + self.counts.sum(-1).min())
                lead = (size, *self.counts.shape[:-1])
                mass = rng.standard_gamma(weight, lead)[..., None, None, None]
                total += mass * _draw_prior(self.prior, lead, share, rng)
        return total / total.sum((-2, -1), keepdims=True)

    def measure(
        self, kernels: Iterable[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Draw every measure from the same draws, each ``(size, ..., J[, C])``."""
        theta = self.theta(size, rng)
        return [kernel(theta) for kernel in kernels]

    def draws(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw ``theta``, shape ``(size, ..., J, C, C)``."""
        return {"theta": self.theta(size, rng)}

    def law(self, kernel: Callable):
        """Return the exact law of a measure of each classifier, or None where there is none."""
        own = dirichlet_multinomial(self.matrices, concentration=self.prior)
        return own.law(kernel)

    def discordant(self, events: np.ndarray, first: int, second: int) -> np.ndarray:
        """
        Return the Dirichlet weights of (only the first right, only the second right, the rest).

        Parameters
        ----------
        events : ndarray of bool, shape (C,)
            The actual classes that count; the other examples are left out altogether.
        first, second : int
            Indices of the two classifiers.

        Returns
        -------
        ndarray, shape (..., 3)
        """
        right = self.predicted == self.actual
        seen = events[self.actual]
        one = right[first] & ~right[second] & seen
        two = right[second] & ~right[first] & seen
        prior = self._prior_discordant(events, first, second)
        counts = self.counts.astype(float)
        parts = [
            counts[..., one].sum(-1),
            counts[..., two].sum(-1),
            counts[..., seen & ~one & ~two].sum(-1),
        ]
        return np.stack(parts, axis=-1) + prior

    def _prior_discordant(self, events, first, second):
        rows = self.prior[0].sum(-1)[events]
        if first == second or not rows.any():
            return np.array([0.0, 0.0, rows.sum()])
        hit = [np.diagonal(self.prior[each])[events] / rows for each in (first, second)]
        one, two = rows @ (hit[0] * (1 - hit[1])), rows @ (hit[1] * (1 - hit[0]))
        return np.array([one, two, rows.sum() - one - two])

    def logpdf(self, theta: np.ndarray) -> np.ndarray:
        """Return the log density of the joint cell probabilities, shape ``(..., cells)``."""
        everything, own = self._enumerated()
        shape = everything.counts + own
        constant = gammaln(shape.sum(-1)) - gammaln(shape).sum(-1)
        return constant + ((shape - 1) * np.log(theta)).sum(-1)

    def log_marginal(self) -> np.ndarray:
        """Return the log probability of the joint counts, the prior averaged out."""
        own = base_measure(self.prior, self.actual, self.predicted)
        n, weight = self.counts.sum(-1), self.prior[0].sum()
        seen = gammaln(self.counts + own) - gammaln(own) - gammaln(self.counts + 1)
        return gammaln(n + 1) + lgamma(weight) - gammaln(n + weight) + seen.sum(-1)

    def _enumerated(self):
        """Return the same posterior with every joint cell as an outcome, and its prior."""
        judges, classes = self.prior.shape[:2]
        cells = np.indices((classes,) * (1 + judges)).reshape(1 + judges, -1)
        place = np.ravel_multi_index((self.actual, *self.predicted), (classes,) * (1 + judges))
        counts = np.zeros((*self.counts.shape[:-1], cells.shape[1]))
        counts[..., place] = self.counts
        everything = PairedOutcomes(counts, cells[0], cells[1:], self.prior)
        return everything, base_measure(self.prior, cells[0], cells[1:])

    def _gammas(self, own, size, rng):
        shape = self.counts + own
        return rng.standard_gamma(shape, (size, *shape.shape))


def paired_outcomes(outcomes, *, concentration=None) -> PairedOutcomes:
    """
    Return the posterior of several classifiers tested on the same examples.

    Parameters
    ----------
    outcomes : xarray.Dataset
        From :func:`bayescm.from_classifiers`.
    concentration : float or array_like, shape (C, C) or (J, C, C), optional
        Each classifier's own prior pseudo-counts, as in ``dirichlet_multinomial``, in the order
        of ``outcomes.label``; by default ``2 / C**2``. They are spread over the joint table, which
        weighs no more than one matrix. The row sums must be the same for every classifier. 0 is
        the Bayesian bootstrap.

    Returns
    -------
    PairedOutcomes

    Raises
    ------
    ValueError
        Where the classifiers' priors disagree on the classes' shares.

    References
    ----------
    Ferguson, T. S. (1973). A Bayesian analysis of some nonparametric problems. Annals of
    Statistics 1, 209-230. doi:10.1214/aos/1176342360

    Sethuraman, J. (1994). A constructive definition of Dirichlet priors. Statistica Sinica 4,
    639-650.
    """
    counts, actual, predicted = arrays(outcomes)
    prior = own_priors(concentration, len(predicted), outcomes["label"].size)
    return PairedOutcomes(counts, actual, predicted, prior)


def arrays(outcomes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return outcomes as arrays, each outcome once.

    Returns
    -------
    counts : ndarray, shape (..., M)
    actual : ndarray of int, shape (M,)
        Place of the truth in ``label``.
    predicted : ndarray of int, shape (J, M)
        Place of each classifier's answer.
    """
    place = {label: index for index, label in enumerate(outcomes["label"].values.tolist())}
    answers = outcomes["predicted"].transpose("classifier", "outcome").values.tolist()
    rows = [outcomes["actual"].values.tolist(), *answers]
    codes = np.array([[place[label] for label in row] for row in rows], np.int64)
    # A selection of classifiers leaves outcomes that differ no more.
    codes, inverse = np.unique(codes, axis=1, return_inverse=True)
    given = outcomes["counts"].transpose(..., "outcome").values
    counts = np.zeros((*given.shape[:-1], codes.shape[1]), given.dtype)
    np.add.at(counts, (..., inverse.ravel()), given)
    return counts, codes[0], codes[1:]


def own_priors(concentration, judges: int, classes: int) -> np.ndarray:
    """Return each classifier's own pseudo-counts, shape ``(J, C, C)``."""
    own = 2 / classes**2 if concentration is None else concentration
    own = np.broadcast_to(np.asarray(own, float), (judges, classes, classes))
    if not ((own > 0).all() or (own == 0).all()) or not np.isfinite(own).all():
        raise fail(
            "a concentration is not a pseudo-count",
            concentration,
            "finite numbers, all > 0 or all 0",
            "pass e.g. concentration=0.5, or 0 for the Bayesian bootstrap",
        )
    rows = own.sum(-1)
    if not np.allclose(rows, rows[:1]):
        raise fail(
            "the classifiers' priors disagree on how frequent the classes are",
            rows.tolist(),
            "the same row sums for every classifier, since they share the truth",
            "scale the rows of each prior to common sums",
        )
    return own


def base_measure(prior, actual, predicted) -> np.ndarray:
    """Return the prior pseudo-counts of joint cells: answers independent given the truth."""
    rows = prior[0].sum(-1)
    split = np.divide(
        prior, prior.sum(-1, keepdims=True), where=rows[:, None] > 0, out=np.zeros_like(prior)
    )
    own = rows[actual].copy()
    for each, answers in zip(split, predicted, strict=True):
        own *= each[actual, answers]
    return own


def pour(weights, actual, predicted, classes: int) -> np.ndarray:
    """
    Add outcome weights up into each classifier's own matrix.

    Parameters
    ----------
    weights : ndarray, shape (..., M)
        Counts or probabilities of the outcomes.
    actual, predicted : ndarray of int, shape (M,) and (J, M)
        Class indices of the truth and of each classifier's answer.
    classes : int
        Number of classes C.

    Returns
    -------
    ndarray, shape (..., J, C, C)
    """
    total = np.zeros((*weights.shape[:-1], len(predicted), classes**2), weights.dtype)
    for judge, answers in enumerate(predicted):
        code = actual * classes + answers
        order = np.argsort(code, kind="stable")
        cells, starts = np.unique(code[order], return_index=True)
        if len(cells) == len(code):
            total[..., judge, code] = weights
        elif len(cells):
            total[..., judge, cells] = np.add.reduceat(weights[..., order], starts, axis=-1)
    return total.reshape(*total.shape[:-1], classes, classes)


def _draw_prior(prior, lead, share, rng):
    """Draw every classifier's matrix from the prior of the joint table, ``(*lead, J, C, C)``.

    Sticks are broken off a joint table with common atoms; what is left is given to each
    classifier as a Dirichlet of its own with common row sums. Each classifier's law is exact
    whatever the number of sticks, and so are all means and covariances between classifiers; the
    sticks make the rest of the joint law right up to a millionth of the mass.
    """
    size = int(np.prod(lead))
    weight = prior[0].sum()
    decay = weight / (1 + weight)
    number = (
        1
        if len(prior) == 1
        else int(np.clip(np.ceil((log(1e-6) - log(share)) / log(decay)), 1, 64))
    )
    broken = rng.beta(1, weight, (number, size))
    left = np.cumprod(1 - broken, axis=0)
    sticks = broken * np.concatenate([np.ones((1, size)), left[:-1]])
    rest = left[-1][:, None, None, None] * _independent_rows(prior, size, rng)
    return (_place(sticks, prior, rng) + rest).reshape(*lead, *prior.shape)


def _place(sticks, prior, rng):
    """Put each stick on one joint cell drawn from the base measure, ``(size, J, C, C)``."""
    number, size = sticks.shape
    judges, classes, _ = prior.shape
    rows = prior[0].sum(-1)
    actual = rng.choice(classes, (number, size), p=rows / rows.sum())
    edges = np.cumsum(prior, axis=-1)
    edges = edges / edges[..., -1:]
    where = np.arange(size) * classes**2
    total = np.empty((size, judges, classes**2))
    for judge in range(judges):
        uniform = rng.random((number, size, 1))
        answers = (uniform > edges[judge][actual][..., :-1]).sum(-1)
        code = (where + actual * classes + answers).ravel()
        total[:, judge] = np.bincount(code, sticks.ravel(), size * classes**2).reshape(size, -1)
    return total.reshape(size, judges, classes, classes)


def _independent_rows(prior, size, rng):
    """Draw common row totals, and each classifier's split of them independently."""
    rows = dirichlet.draw(prior[0].sum(-1), size, rng)
    return rows[:, None, :, None] * dirichlet.draw(prior, size, rng)
