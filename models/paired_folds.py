r"""Classifiers cross-validated on the same folds: joint outcomes, correlated effects of training.

.. math::

    \theta &\sim \mathrm{Dirichlet}(\lambda) \\
    \text{counts}_k \mid \theta &\sim \mathrm{Multinomial}(n_k, \theta) \\
    \eta_{mij} &= \log r_{mij} + c_{mj} + a_m\,[i = j]

An outcome is the truth together with the answer of every classifier, as in `paired_outcomes`: what
classifiers get right together, and wrong together, cancels out of a difference. Row
:math:`r_{mi}` of classifier m is a sum of outcomes, given the truth.

Test examples are not all that is uncertain: other training sets would have moved the classifiers.
As in `hierarchical_folds` they move the *threshold* (:math:`c`, by column) and the *separation*
(:math:`a`, on the diagonal); what is left of it in the mean over K folds has the variances

.. math::

    \mathrm{Var}\, c_{mj} = \frac{s_m^2}{u^2 n_j} \left(\rho_m + \frac{1 - \rho_m}{K}\right),
    \qquad \mathrm{Var}\, a_m = v^2 u^2 + w s_m^2

with :math:`u^2 = 2\,\mathrm{median}(1 / n_j)`. Classifiers are trained on the same examples, so
that their effects go together: those of the threshold with a correlation that is unknown, those of
the separation, which are the luck of the examples, with `LUCK`.

How far thresholds go is seen in the numbers predicted of each class: their variance over the folds
(each fold's own part) and, with counts of disjoint halves, between the halves (all of it, at half
the size) are scaled chi-squared, as in `hierarchical_folds`; and the variance of the difference of
two classifiers' numbers, whose binomial part the joint outcomes tell, shows how far they move
together. Without halves the share common to all folds is taken as `RHO`.

Use it to compare classifiers by any measure on one cross-validation: `bayescm.cross_outcomes` makes
the evidence. The variances are statistics of the same counts, used once more: a composite
likelihood, judged by its coverage (see the documentation). The direct sibling draws from a
Dirichlet and a grid.

References
----------
Nadeau, C. & Bengio, Y. (2003). Inference for the generalization error. Machine Learning, 52,
239-281. doi:10.1023/A:1024068626366
"""

from itertools import combinations

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import ArrayLike

# As in hierarchical_folds, where they are explained: without halves, and with them.
SPREAD, SPREAD_WITH_HALVES = 0.3, 0.8
SEPARATION, SEPARATION_WITH_HALVES = 1.0, 0.8
SEPARATION_OF_SPREAD = 0.04
RHO = 0.4
HALF_RATE, HALF_NOISE, HALF_REPEATS = 0.6, 3.0, 20.0
# Correlation of the classifiers' separations: the luck of the examples is that of all.
LUCK = 0.95


def paired_folds(
    outcomes: xr.Dataset,
    *,
    concentration: ArrayLike | None = None,
    spread: float | None = None,
    separation: float | None = None,
) -> pm.Model:
    """Model the joint outcomes of classifiers cross-validated on the same folds.

    Parameters
    ----------
    outcomes : xarray.Dataset
        ``counts`` ``(fold, outcome)`` with the coords ``actual`` (outcome), ``predicted``
        (classifier, outcome), ``label`` and ``classifier``; with halves also ``halves``
        ``(halving, half, outcome)``.
    concentration : float or array_like, shape (C, C) or (J, C, C), optional
        Each classifier's own prior pseudo-counts, > 0; by default ``2 / C**2`` for C classes.
    spread : float, optional
        Scale of the half-Student-t prior of the spread of the thresholds, in units of u^(2/3); 0.3
        by default, 0.8 with halves.
    separation : float, optional
        Spread of the separations, in units of u; 1 by default, 0.8 at least with halves.

    Returns
    -------
    pymc.Model
        Free variables ``theta_outcome`` ``(cell,)``, ``spread`` and ``rho_threshold`` (with
        halves) ``(classifier,)``, ``correlation``, and the standardised effects
        ``training_common`` ``(effect,)`` and ``training`` ``(classifier, effect)``; ``theta``
        ``(classifier, actual, predicted)``; observed ``outcome_counts`` ``(fold, cell)``,
        ``fold_variance``, ``half_variance`` and ``moved_apart``.

    Examples
    --------
    >>> import xarray as xr
    >>> coords = {"actual": ("outcome", [0, 1, 1]), "label": [0, 1], "classifier": ["a", "b"]}
    >>> coords["predicted"] = (("classifier", "outcome"), [[0, 1, 1], [0, 1, 0]])
    >>> coords["fold"] = [0, 1, 2]
    >>> table = (("fold", "outcome"), [[5, 3, 2], [4, 4, 1], [5, 2, 3]])
    >>> outcomes = xr.Dataset({"counts": table}, coords=coords)
    >>> [variable.name for variable in paired_folds(outcomes).free_RVs][:3]
    ['theta_outcome', 'spread', 'correlation']
    """
    labels, names = outcomes["label"].values, outcomes["classifier"].values
    classes, judges = len(labels), len(names)
    cells = np.indices((classes, *(classes,) * judges)).reshape(1 + judges, -1)
    counts = _all_cells(outcomes, "counts", cells.shape[1])
    halves = _all_cells(outcomes, "halves", cells.shape[1]) if "halves" in outcomes else None
    place = np.arange(classes)
    truth = cells[0] == place[:, None]
    belongs = (truth[None, :, None] & (cells[1:, None, None] == place[:, None])).astype(float)
    totals = counts.sum(0) @ truth.T
    error = 1 / np.sqrt(np.maximum(totals, 1))
    unit = np.sqrt(2 * np.median(error**2))
    usual = (SPREAD, SEPARATION, 0.0)
    if halves is not None:
        usual = (SPREAD_WITH_HALVES, SEPARATION_WITH_HALVES, SEPARATION_OF_SPREAD)

    coords = {"classifier": names, "actual": labels, "predicted": labels}
    coords |= {"fold": outcomes["fold"].values, "effect": ["separation", *map(str, labels)]}
    coords["cell"] = ["->".join(str(labels[at]) for at in cell) for cell in cells.T]
    with pm.Model(coords=coords) as model:
        # Floats: pm.Data would turn int64 into int32 and wrap large counts around.
        data = pm.Data("counts", counts, dims=("fold", "cell"))
        pm.Data("is_positive", _is_positive(outcomes), dims="actual")
        weight = _joint_prior(concentration, cells, classes)
        prior = pm.Data("concentration", weight, dims="cell")
        theta = pm.Dirichlet("theta_outcome", prior, dims="cell")
        n = data.sum(-1).astype("int64")
        pm.Multinomial("outcome_counts", n=n, p=theta, observed=data, dims=("fold", "cell"))

        scale = (usual[0] if spread is None else spread) * unit ** (2 / 3)
        moves = pm.HalfStudentT("spread", nu=2, sigma=scale, dims="classifier")
        ratio = (moves / unit) ** 2
        rho = RHO
        if halves is not None:
            rho = pm.Uniform("rho_threshold", 0, 1, dims="classifier")
        correlation = pm.Uniform("correlation", 0, 1)
        own = ((1 - rho) * ratio)[:, None] * error**2
        seen = counts[None], own
        _observe_variance("fold_variance", numbers(counts[None], belongs, weight), own)
        if halves is not None:
            seen = halves, (HALF_RATE * ratio + HALF_NOISE)[:, None] * error**2
            _observe_variance("half_variance", numbers(halves, belongs, weight), seen[1])
        _observe_apart(numbers(seen[0], belongs, weight), seen[1], correlation)

        base = usual[1] if separation is None else separation
        apart = (base * unit) ** 2 + usual[2] * moves**2
        column = (ratio * (rho + (1 - rho) / len(counts)))[:, None] * error**2
        sizes = pm.math.sqrt(pm.math.concatenate([apart[:, None], column], axis=1))
        common = pm.math.sqrt(pm.math.stack([LUCK, *[correlation] * classes]))
        alone = pm.math.sqrt(1 - common**2)
        effects = common * pm.Normal("training_common", dims="effect")
        effects = sizes * (effects + alone * pm.Normal("training", dims=("classifier", "effect")))
        tables = theta @ belongs.reshape(-1, belongs.shape[-1]).T
        tables = tables.reshape((judges, classes, classes))
        shares = tables.sum(-1, keepdims=True)
        if _fixed(outcomes, counts @ truth.T):
            shares = (totals / totals.sum())[:, None]
        rates = pm.math.log(tables) + effects[:, None, 1:] + effects[:, :1, None] * np.eye(classes)
        moved = shares * pm.math.softmax(rates, axis=-1)
        pm.Deterministic("theta", moved, dims=("classifier", "actual", "predicted"))
    return model


def numbers(counts, belongs, prior):
    """Return how the numbers predicted vary over test sets, and what examples alone would do.

    Parameters
    ----------
    counts : ndarray, shape (R, F, cells)
        Joint outcomes of R divisions of the examples into F test sets.
    belongs : ndarray, shape (J, C, C, cells)
        Which cells make up each classifier's matrix.
    prior : ndarray, shape (cells,)

    Returns
    -------
    variance : ndarray, shape (J, J)
        Variance of the numbers predicted of each class, and covariance of two classifiers', summed
        over the classes.
    covariance : ndarray, shape (J, C, J, C)
        Of the numbers in one test set, for classifiers that do not move.
    divisions : float
        What the R divisions are worth, as many times the degrees of freedom F - 1.
    """
    tables = np.einsum("rfx,jilx->rfjil", counts, belongs)
    repeats, folds, judges, classes = tables.shape[:4]
    pooled = tables.sum(1)
    rates = pooled / np.maximum(pooled.sum(-1, keepdims=True), 1)
    gap = tables.sum(-2) - np.einsum("rfji,rjil->rfjl", tables.sum(-1), rates)
    variance = np.einsum("rfjl,rfml->jm", gap, gap) / (repeats * (folds - 1))
    given = belongs[0].sum(1) * (counts.sum((0, 1)) + prior)
    given = given / given.sum(-1, keepdims=True)
    size = tables[:, :, 0].sum((0, 1, -1)) / (repeats * folds)
    answers = belongs.sum(1).reshape(judges * classes, -1)
    mean = given @ answers.T
    covariance = (answers * (size @ given)) @ answers.T - (mean.T * size) @ mean
    worth = repeats * (folds - 1) / (1 + (repeats - 1) / HALF_REPEATS)
    return variance, covariance.reshape(judges, classes, judges, classes), worth


def _observe_variance(name, seen, moved):
    """Add what the variance of the numbers predicted says about how far thresholds go."""
    variance, covariance, worth = seen
    own = np.stack([covariance[each, :, each] for each in range(len(variance))])
    trace, squares = np.trace(own, axis1=-2, axis2=-1), (own**2).sum(-2)
    shape = worth * trace**2 / squares.sum(-1) / 2
    mean = trace + (moved * squares).sum(-1)
    found = np.maximum(variance.diagonal(), 1e-3 * trace)
    pm.Gamma(name, shape, shape / mean, observed=found, dims="classifier")


def _observe_apart(seen, moved, correlation):
    """Add what the variance of the differences of two classifiers' numbers says."""
    variance, covariance, worth = seen
    found, alone, mean, shape = [], [], 0.0, []
    pairs = list(combinations(range(len(variance)), 2))
    for one, two in pairs:
        first, second = covariance[one, :, one], covariance[two, :, two]
        apart = first + second - covariance[one, :, two] - covariance[two, :, one]
        found.append(variance[one, one] + variance[two, two] - 2 * variance[one, two])
        alone.append(np.trace(apart))
        shape.append(worth * alone[-1] ** 2 / (apart**2).sum() / 2)
        going = moved[one] * (first**2).sum(0) + moved[two] * (second**2).sum(0)
        together = pm.math.sqrt(moved[one] * moved[two]) * (first * second).sum(0)
        mean = mean + (going - 2 * correlation * together).sum()
    alone, shape = np.mean(alone), np.mean(shape)
    mean = alone + mean / len(pairs)
    pm.Gamma("moved_apart", shape, shape / mean, observed=max(np.mean(found), 1e-3 * alone))


def _all_cells(outcomes, name, number):
    """Return counts (..., cells) of every joint cell: truth, first answer, second answer ..."""
    place = {label: index for index, label in enumerate(outcomes["label"].values.tolist())}
    answers = outcomes["predicted"].transpose("classifier", "outcome").values.tolist()
    cell = np.zeros(outcomes.sizes["outcome"], int)
    for column in [outcomes["actual"].values.tolist(), *answers]:
        cell = cell * len(place) + [place[label] for label in column]
    lead = ("fold",) if name == "counts" else ("halving", "half")
    seen = outcomes[name].transpose(*lead, "outcome").values
    counts = np.zeros((*seen.shape[:-1], number))
    for index, each in enumerate(cell):  # a cell may come more than once
        counts[..., each] += seen[..., index]
    return counts


def _fixed(outcomes, totals):
    """Say whether the design fixed the class totals (fold, C)."""
    if "fixed_totals" in outcomes.coords:
        return bool(outcomes.coords["fixed_totals"])
    return bool((np.ptp(totals, axis=0) <= 1).all())


def _joint_prior(concentration, cells, classes):
    """Spread the classifiers' own pseudo-counts over the joint cells."""
    own = 2 / classes**2 if concentration is None else concentration
    own = np.broadcast_to(np.asarray(own, float), (len(cells) - 1, classes, classes))
    sums = own[0].sum(-1)
    weight = sums[cells[0]]
    for each, answers in zip(own, cells[1:], strict=True):
        weight = weight * each[cells[0], answers] / sums[cells[0]]
    return weight


def _is_positive(outcomes):
    """Return 1 for the positive class and 0 for the others; 0 throughout where none is set."""
    labels = outcomes["label"].values
    if "positive" not in outcomes.coords:
        return np.zeros(len(labels))
    return (labels == outcomes.coords["positive"].values).astype(float)
