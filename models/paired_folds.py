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
    \qquad \mathrm{Var}\, a_m = v^2

with :math:`u^2 = 2\,\mathrm{median}(1 / n_j)`. Classifiers are trained on the same examples, so
that their effects go together: those of the threshold with a correlation that is unknown. Examples
and training sets that are lucky for one are so for another that answers as it does, and say nothing
of one that does not: the separations are correlated by :math:`\sin(\pi \varphi / 2)`, where
:math:`\varphi` is the correlation of being right, given the truth, over the examples tested.

How far thresholds go is seen in the numbers predicted of each class: their variance over the folds
(each fold's own part) and, with counts of disjoint halves, between the halves (all of it, at half
the size) are scaled chi-squared, as in `hierarchical_folds`; and the variance of the difference of
two classifiers' numbers, whose binomial part the joint outcomes tell, shows how far they move
together. Without halves the share common to all folds is taken as `THRESHOLD_RHO`.

How far separations go, v, is :math:`u` without halves. With them it is unknown, the same for all
classifiers, and seen in the numbers right: their variance between halves is a scaled chi-squared
about :math:`S / (1 + u^2 S) + k v^2 S^2`, where S is the binomial part, lessened as what is easy in
one half is missing in the other.

Use it to compare classifiers by any measure on one cross-validation: `bayescm.cross_outcomes` makes
the evidence. The variances are statistics of the same counts, used once more: a composite
likelihood, judged by its coverage (see the documentation). The direct posterior draws from a
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

# Those of models/hierarchical_folds.py, which says which of them are measured and which tuned, and
# where. With halves SEPARATION_WITH_HALVES is the median of the prior of the separations.
SPREAD, SEPARATION = 0.3, 1.0
SPREAD_WITH_HALVES, SEPARATION_WITH_HALVES = 0.8, 0.8
THRESHOLD_RHO = 0.4
HALF_RATE, HALF_NOISE, HALF_REPEATS = 0.6, 3.0, 20.0
LEAST_VARIANCE = 1e-3
# Those of this model alone. Standard deviation of the logarithm of the spread of the separations,
# before any data, and their variance at half the size over that of the whole.
SEPARATION_LOG_SD, SEPARATION_HALF_RATE = 0.7, 0.7


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
        Spread of the separations, in units of u; 1 by default. With halves the median of its
        prior, 0.8 by default.

    Returns
    -------
    pymc.Model
        Free variables ``theta_outcome`` ``(cell,)``, ``spread`` ``(classifier,)``,
        ``correlation``, with halves ``rho_threshold`` ``(classifier,)`` and ``separation``, and the
        standardised effects ``training_common`` ``(predicted,)`` and ``training`` ``(classifier,
        effect)``; ``theta`` ``(classifier, actual, predicted)``; observed ``outcome_counts``
        ``(fold, cell)``, ``fold_variance``, ``half_variance``, ``half_right`` and ``moved_apart``.

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
    class_indices = np.arange(classes)
    truth = (cells[0] == class_indices[:, None]).astype(float)
    answered = (cells[1:, None] == class_indices[:, None]).astype(float)
    right = (cells[1:, None] == cells[0]).astype(float)
    totals = counts.sum(0) @ truth.T
    error = 1 / np.sqrt(np.maximum(totals, 1))
    unit = np.sqrt(2 * np.median(error**2))
    with_halves = (SPREAD_WITH_HALVES, SEPARATION_WITH_HALVES)
    defaults = (SPREAD, SEPARATION) if halves is None else with_halves

    coords = {"classifier": names, "actual": labels, "predicted": labels}
    coords |= {"fold": outcomes["fold"].values, "effect": ["separation", *map(str, labels)]}
    coords["cell"] = ["->".join(str(labels[at]) for at in cell) for cell in cells.T]
    with pm.Model(coords=coords) as model:
        # pm.Data would convert int64 to int32, which overflows for large counts. Use floats.
        data = pm.Data("counts", counts, dims=("fold", "cell"))
        pm.Data("is_positive", _is_positive(outcomes), dims="actual")
        weight = _joint_prior(concentration, cells, classes)
        prior = pm.Data("concentration", weight, dims="cell")
        theta = pm.Dirichlet("theta_outcome", prior, dims="cell")
        n = data.sum(-1).astype("int64")
        pm.Multinomial("outcome_counts", n=n, p=theta, observed=data, dims=("fold", "cell"))

        scale = (defaults[0] if spread is None else spread) * unit ** (2 / 3)
        moves = pm.HalfStudentT("spread", nu=2, sigma=scale, dims="classifier")
        ratio = (moves / unit) ** 2
        rho = THRESHOLD_RHO
        if halves is not None:
            rho = pm.Uniform("rho_threshold", 0, 1, dims="classifier")
        correlation = pm.Uniform("correlation", 0, 1)
        between_folds = ((1 - rho) * ratio)[:, None] * error**2
        of_folds = numbers(counts[None], truth, answered, weight)
        _observe_variance("fold_variance", of_folds, between_folds)
        if halves is None:
            _observe_differences(of_folds, between_folds, correlation)
        else:
            between_halves = (HALF_RATE * ratio + HALF_NOISE)[:, None] * error**2
            of_halves = numbers(halves, truth, answered, weight)
            _observe_variance("half_variance", of_halves, between_halves)
            _observe_differences(of_halves, between_halves, correlation)

        base = (defaults[1] if separation is None else separation) * unit
        if halves is not None:
            base = pm.LogNormal("separation", np.log(base), SEPARATION_LOG_SD)
            _observe_right(numbers(halves, truth, right, weight), base, unit)
        column = (ratio * (rho + (1 - rho) / len(counts)))[:, None] * error**2
        common = pm.math.sqrt(correlation) * pm.Normal("training_common", dims="predicted")
        alone = pm.Normal("training", dims=("classifier", "effect"))
        threshold = pm.math.sqrt(column) * (common + pm.math.sqrt(1 - correlation) * alone[:, 1:])
        root = luck(numbers(counts[None], truth, right, weight)[1])
        apart = base * pm.math.dot(root, alone[:, 0])
        belongs = truth[None, :, None] * answered[:, None]
        tables = (theta @ belongs.reshape(-1, len(weight)).T).reshape((judges, classes, classes))
        shares = tables.sum(-1, keepdims=True)
        if _fixed(outcomes, counts @ truth.T):
            shares = (totals / totals.sum())[:, None]
        rates = pm.math.log(tables) + threshold[:, None] + apart[:, None, None] * np.eye(classes)
        theta = shares * pm.math.softmax(rates, axis=-1)
        pm.Deterministic("theta", theta, dims=("classifier", "actual", "predicted"))
    return model


def numbers(counts, truth, events, prior):
    """Return how numbers of events vary over test sets, and what examples alone would do.

    Parameters
    ----------
    counts : ndarray, shape (R, F, cells)
        Joint outcomes of R divisions into F test sets.
    truth : ndarray, shape (C, cells)
        Which cells are of which actual class.
    events : ndarray, shape (J, L, cells)
        Which cells are which of L events of each classifier.
    prior : ndarray, shape (cells,)

    Returns
    -------
    variance : ndarray, shape (J, J)
        Variance of the numbers, and covariance of two classifiers', summed over the events.
    covariance : ndarray, shape (J, L, J, L)
        Of the numbers in one test set, for classifiers that do not move.
    degrees : float
        Degrees of freedom of one event.
    """
    repeats, folds, _ = counts.shape
    kinds = events.reshape(-1, events.shape[-1])
    totals = counts @ truth.T
    rates = np.einsum("rx,ix,kx->rik", counts.sum(1), truth, kinds)
    rates = rates / np.maximum(totals.sum(1), 1)[..., None]
    gap = (counts @ kinds.T - totals @ rates).reshape(repeats, folds, *events.shape[:2])
    variance = np.einsum("rfjl,rfml->jm", gap, gap) / (repeats * (folds - 1))
    cell_share = truth * (counts.sum((0, 1)) + prior)
    cell_share, size = cell_share / cell_share.sum(-1, keepdims=True), totals.mean((0, 1))
    mean = cell_share @ kinds.T
    covariance = (kinds * (size @ cell_share)) @ kinds.T - (mean.T * size) @ mean
    degrees = repeats * (folds - 1) / (1 + (repeats - 1) / HALF_REPEATS)
    return variance, covariance.reshape(*events.shape[:2], *events.shape[:2]), degrees


def luck(covariance):
    """Return a root (J, J) of the correlation of the separations, as the answers agree."""
    covariance = covariance[:, 0, :, 0]
    error = np.sqrt(covariance.diagonal())
    agree = np.clip(covariance / np.outer(error, error), 0, 1)
    values, vectors = np.linalg.eigh(np.sin(np.pi / 2 * agree))
    root = vectors * np.sqrt(np.maximum(values, 0))
    return root / np.sqrt((root**2).sum(1, keepdims=True))


def _observe_right(of_halves, apart, unit):
    """Add what the variance of the numbers right between halves says of the separations."""
    variance, covariance, degrees = of_halves
    alone = covariance[:, 0, :, 0].diagonal()
    mean = alone / (1 + unit**2 * alone) + SEPARATION_HALF_RATE * (apart * alone) ** 2
    observed = np.maximum(variance.diagonal(), LEAST_VARIANCE * alone)
    pm.Gamma("half_right", degrees / 2, degrees / (2 * mean), observed=observed, dims="classifier")


def _observe_variance(name, of_sets, moved):
    """Add what the variance of the numbers predicted says about how far thresholds go."""
    variance, covariance, degrees = of_sets
    of_events = np.stack([covariance[j, :, j] for j in range(len(variance))])
    trace, squares = np.trace(of_events, axis1=-2, axis2=-1), (of_events**2).sum(-2)
    shape = degrees * trace**2 / squares.sum(-1) / 2
    mean = trace + (moved * squares).sum(-1)
    observed = np.maximum(variance.diagonal(), LEAST_VARIANCE * trace)
    pm.Gamma(name, shape, shape / mean, observed=observed, dims="classifier")


def _observe_differences(of_sets, moved, correlation):
    """Add what the variance of the differences of two classifiers' numbers says."""
    variance, covariance, degrees = of_sets
    observed, alone, mean, shape = [], [], 0.0, []
    pairs = list(combinations(range(len(variance)), 2))
    for j, k in pairs:
        first, second = covariance[j, :, j], covariance[k, :, k]
        apart = first + second - covariance[j, :, k] - covariance[k, :, j]
        observed.append(variance[j, j] + variance[k, k] - 2 * variance[j, k])
        alone.append(np.trace(apart))
        shape.append(degrees * alone[-1] ** 2 / (apart**2).sum() / 2)
        variances = moved[j] * (first**2).sum(0) + moved[k] * (second**2).sum(0)
        common = pm.math.sqrt(moved[j] * moved[k]) * (first * second).sum(0)
        mean = mean + (variances - 2 * correlation * common).sum()
    alone, shape = np.mean(alone), np.mean(shape)
    mean = alone + mean / len(pairs)
    pm.Gamma(
        "moved_apart",
        shape,
        shape / mean,
        observed=max(np.mean(observed), LEAST_VARIANCE * alone),
    )


def _all_cells(outcomes, name, number):
    """Return counts (..., cells) of every joint cell: truth, first answer, second answer ..."""
    class_index = {label: index for index, label in enumerate(outcomes["label"].values.tolist())}
    answers = outcomes["predicted"].transpose("classifier", "outcome").values.tolist()
    cell = np.zeros(outcomes.sizes["outcome"], int)
    for column in [outcomes["actual"].values.tolist(), *answers]:
        cell = cell * len(class_index) + [class_index[label] for label in column]
    lead = ("fold",) if name == "counts" else ("halving", "half")
    table = outcomes[name].transpose(*lead, "outcome").values
    counts = np.zeros((*table.shape[:-1], number))
    for index, cell_index in enumerate(cell):  # a cell may come more than once
        counts[..., cell_index] += table[..., index]
    return counts


def _fixed(outcomes, totals):
    """Say whether the design fixed the class totals (fold, C)."""
    if "fixed_totals" in outcomes.coords:
        return bool(outcomes.coords["fixed_totals"])
    return bool((np.ptp(totals, axis=0) <= 1).all())


def _joint_prior(concentration, cells, classes):
    """Spread the classifiers' own pseudo-counts over the joint cells."""
    pseudo_counts = 2 / classes**2 if concentration is None else concentration
    pseudo_counts = np.broadcast_to(
        np.asarray(pseudo_counts, float), (len(cells) - 1, classes, classes)
    )
    sums = pseudo_counts[0].sum(-1)
    weight = sums[cells[0]]
    for of_classifier, answers in zip(pseudo_counts, cells[1:], strict=True):
        weight = weight * of_classifier[cells[0], answers] / sums[cells[0]]
    return weight


def _is_positive(outcomes):
    """Return 1 for the positive class, else 0. Without a positive class, return zeros."""
    labels = outcomes["label"].values
    if "positive" not in outcomes.coords:
        return np.zeros(len(labels))
    return (labels == outcomes.coords["positive"].values).astype(float)
