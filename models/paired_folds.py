r"""Model for classifiers cross-validated on the same folds, with correlated effects of training.

.. math::

    \theta &\sim \mathrm{Dirichlet}(\lambda), \qquad
        s_m \sim \mathrm{HalfStudentT}_2(\texttt{spread} \, u^{2/3}), \qquad
        \chi \sim \mathrm{Uniform}(0, 1) \\
    z_j, z_{mj}, z_{m0} &\sim \mathrm{Normal}(0, 1) \\
    c_{mj} &= \frac{s_m}{u \sqrt{n_j}} \sqrt{\rho_m + \frac{1 - \rho_m}{K}}
        \, (\sqrt{\chi} \, z_j + \sqrt{1 - \chi} \, z_{mj}) \\
    a_m &= v \sum_l L_{ml} z_{l0} \\
    \eta_{mij} &= \log r_{mij} + c_{mj} + a_m\,[i = j] \\
    \text{counts}_k \mid \theta &\sim \mathrm{Multinomial}(n_k, \theta)

A joint outcome is the actual class together with the predicted labels of all classifiers, as in
`paired_outcomes`. Fold k of K has :math:`n_k` test examples, all folds together have :math:`n_j`
examples of class j, and :math:`u^2 = 2\, \mathrm{median}(1 / n_j)`. The probabilities
:math:`r_{mij}` of classifier m for class i and label j are sums of :math:`\theta`. The measure of
classifier m is computed from the rates :math:`\mathrm{softmax}(\eta_{mi})`.

Parameters
----------
+---------------------+---------------------------+----------------------------+-------------------+
| symbol              | meaning                   | prior                      | keyword           |
+=====================+===========================+============================+===================+
| :math:`\theta`,     | probabilities of the      | Dirichlet(:math:`\lambda`) | –                 |
| ``theta_outcome``   | joint outcomes            |                            |                   |
+---------------------+---------------------------+----------------------------+-------------------+
| :math:`\lambda`,    | prior pseudo-counts of    | fixed, :math:`2 / C^2` for | ``concentration`` |
| ``concentration``   | the joint outcomes, from  | each cell of C classes     |                   |
|                     | the pseudo-counts of each |                            |                   |
|                     | classifier                |                            |                   |
+---------------------+---------------------------+----------------------------+-------------------+
| :math:`s_m`,        | standard deviation of the | half-Student-t, 2 degrees  | ``spread``        |
| ``spread``          | thresholds of classifier  | of freedom, scale          |                   |
|                     | m between training sets   | :math:`0.3\, u^{2/3}`      |                   |
|                     |                           | (with halves 0.8)          |                   |
+---------------------+---------------------------+----------------------------+-------------------+
| :math:`\chi`,       | correlation of the        | Uniform(0, 1)              | –                 |
| ``correlation``     | thresholds of two         |                            |                   |
|                     | classifiers               |                            |                   |
+---------------------+---------------------------+----------------------------+-------------------+
| :math:`\rho_m`,     | share of the variance of  | fixed, 0.4; with halves    | –                 |
| ``rho_threshold``   | thresholds that all folds | Uniform(0, 1)              |                   |
|                     | have in common            |                            |                   |
+---------------------+---------------------------+----------------------------+-------------------+
| :math:`z_j`,        | standardised thresholds   | Normal(0, sd 1)            | –                 |
| ``training_common`` | common to all classifiers |                            |                   |
+---------------------+---------------------------+----------------------------+-------------------+
| :math:`z_{mj},      | standardised thresholds   | Normal(0, sd 1)            | –                 |
| z_{m0}`,            | and separation of         |                            |                   |
| ``training``        | classifier m              |                            |                   |
+---------------------+---------------------------+----------------------------+-------------------+
| :math:`v`,          | standard deviation of the | fixed at u; with halves    | ``separation``    |
| ``separation``      | separations               | log-normal, median 0.8 u,  |                   |
|                     |                           | log sd 0.7                 |                   |
+---------------------+---------------------------+----------------------------+-------------------+
| :math:`L`           | root of the correlation   | computed from the data     | –                 |
|                     | matrix of the separations |                            |                   |
+---------------------+---------------------------+----------------------------+-------------------+

When to use it
--------------
Use it to compare classifiers by any measure on one cross-validation. `bayescm.cross_outcomes`
creates the evidence. Examples that both classifiers get right, or both get wrong, cancel in a
difference.

When not to use it
------------------
* The classifiers were tested once, on one test set: use `paired_outcomes`.
* One classifier is evaluated: use `hierarchical_folds`.
* There are several data sets: use `hierarchical_differences`.

Estimands
---------
* ``theta``, ``of="parameter"``: the measure of each classifier, expected over training sets of this
  size.

Notes
-----
Test examples are not the only source of uncertainty, because other training sets would have
produced other classifiers. As in `hierarchical_folds`, a training set moves the *threshold*
(:math:`c`, by predicted label) and the *separation* (:math:`a`, on the diagonal).

The classifiers are trained on the same examples, so their effects are correlated. Examples and
training sets that are lucky for one classifier are lucky for another that predicts the same labels,
but not for one that predicts other labels. The separations therefore have the correlation
:math:`\sin(\pi \varphi / 2)`. Here :math:`\varphi` is the correlation, over the test examples given
their class, between the indicators of a correct prediction.

The spread of the thresholds is informed by the number of predictions of each label, through scaled
chi-squared variables as in `hierarchical_folds`:

* ``fold_variance``: the variance of this number over the folds, which shows the part of the spread
  that the folds do not share.
* ``half_variance``: the variance of this number between disjoint halves, which shows the whole
  spread at half the size of the data.
* ``moved_apart``: the variance of the difference between two classifiers, which shows the
  correlation of their thresholds. The joint outcomes determine its binomial part.

With halves, v is informed by the number of correct predictions, ``half_right``. Its variance
between halves has the mean :math:`S / (1 + u^2 S) + 0.7\, v^2 S^2` for the binomial part S. This
part is reduced because easy examples in one half are missing in the other.

These variances are computed from the same counts, which are thus used twice. The result is a
composite likelihood, which is judged by the coverage of its intervals. The direct posterior samples
from a Dirichlet distribution and a grid.

The class shares are the sample's if the class totals are fixed by the design, and come from
:math:`\theta` otherwise.

The constants are described in ``models/hierarchical_folds.py``.

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

# Copies from models/hierarchical_folds.py, which explains them. A test compares them.
SPREAD = 0.3
SEPARATION = 1.0
SPREAD_WITH_HALVES = 0.8
# In this model, the median of the prior for the separations with halves, in units of u.
SEPARATION_WITH_HALVES = 0.8
THRESHOLD_RHO = 0.4
HALF_RATE = 0.6
HALF_NOISE = 3.0
HALF_REPEATS = 20.0
LEAST_VARIANCE = 1e-3
# The next two constants belong to this model only.
# Prior standard deviation of the logarithm of the spread of the separations, with halves.
SEPARATION_LOG_SD = 0.7
# Variance of the separations at half the size of the data, relative to the variance at full size.
SEPARATION_HALF_RATE = 0.7


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
        ``counts`` ``(fold, outcome)`` with the coordinates ``actual`` (outcome), ``predicted``
        (classifier, outcome), ``label`` and ``classifier``. With halves also ``halves``
        ``(halving, half, outcome)``.
    concentration : float or array_like, shape (C, C) or (J, C, C), optional
        Prior pseudo-counts of each classifier's own matrix, > 0. Default: ``2 / C**2`` for C
        classes.
    spread : float, optional
        Scale of the half-Student-t prior for the spread of the thresholds, in units of u^(2/3).
        Default: 0.3, or 0.8 with halves.
    separation : float, optional
        Spread of the separations, in units of u. Default: 1. With halves, the median of its prior,
        with the default 0.8.

    Returns
    -------
    pymc.Model
        Free variables ``theta_outcome`` ``(cell,)``, ``spread`` ``(classifier,)`` and
        ``correlation``, and the standardised effects ``training_common`` ``(predicted,)`` and
        ``training`` ``(classifier, effect)``. With halves also ``rho_threshold`` ``(classifier,)``
        and ``separation``. Deterministic ``theta`` ``(classifier, actual, predicted)``. Observed
        ``outcome_counts`` ``(fold, cell)``, ``fold_variance`` and ``moved_apart``, and with halves
        ``half_variance`` and ``half_right``.

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
    """Return the variance over test sets of the numbers of events, and its binomial part.

    Parameters
    ----------
    counts : ndarray, shape (R, F, cells)
        Counts of joint outcomes for R repeats of F test sets.
    truth : ndarray, shape (C, cells)
        Indicators of the cells of each actual class.
    events : ndarray, shape (J, L, cells)
        Indicators of the cells of the L events for each of J classifiers.
    prior : ndarray, shape (cells,)
        Prior pseudo-counts of the cells.

    Returns
    -------
    variance : ndarray, shape (J, J)
        Covariance matrix over the classifiers of the numbers, summed over the events.
    covariance : ndarray, shape (J, L, J, L)
        Covariance of the numbers in one test set if training has no effect.
    degrees : float
        Degrees of freedom for one event.
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
    """Return a root (J, J) of the correlation matrix of separations, from agreement of errors."""
    covariance = covariance[:, 0, :, 0]
    error = np.sqrt(covariance.diagonal())
    agree = np.clip(covariance / np.outer(error, error), 0, 1)
    values, vectors = np.linalg.eigh(np.sin(np.pi / 2 * agree))
    root = vectors * np.sqrt(np.maximum(values, 0))
    return root / np.sqrt((root**2).sum(1, keepdims=True))


def _observe_right(of_halves, apart, unit):
    """Add the variance between halves of correct predictions, which informs the separations."""
    variance, covariance, degrees = of_halves
    alone = covariance[:, 0, :, 0].diagonal()
    mean = alone / (1 + unit**2 * alone) + SEPARATION_HALF_RATE * (apart * alone) ** 2
    observed = np.maximum(variance.diagonal(), LEAST_VARIANCE * alone)
    pm.Gamma("half_right", degrees / 2, degrees / (2 * mean), observed=observed, dims="classifier")


def _observe_variance(name, of_sets, moved):
    """Add the variance of the numbers of predictions, which informs the spread of thresholds."""
    variance, covariance, degrees = of_sets
    of_events = np.stack([covariance[j, :, j] for j in range(len(variance))])
    trace, squares = np.trace(of_events, axis1=-2, axis2=-1), (of_events**2).sum(-2)
    shape = degrees * trace**2 / squares.sum(-1) / 2
    mean = trace + (moved * squares).sum(-1)
    observed = np.maximum(variance.diagonal(), LEAST_VARIANCE * trace)
    pm.Gamma(name, shape, shape / mean, observed=observed, dims="classifier")


def _observe_differences(of_sets, moved, correlation):
    """Add the variance of differences between two classifiers, which informs the correlation."""
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
    """Return the counts of all joint cells, ordered by actual class, then first prediction, ..."""
    class_index = {label: index for index, label in enumerate(outcomes["label"].values.tolist())}
    answers = outcomes["predicted"].transpose("classifier", "outcome").values.tolist()
    cell = np.zeros(outcomes.sizes["outcome"], int)
    for column in [outcomes["actual"].values.tolist(), *answers]:
        cell = cell * len(class_index) + [class_index[label] for label in column]
    lead = ("fold",) if name == "counts" else ("halving", "half")
    table = outcomes[name].transpose(*lead, "outcome").values
    counts = np.zeros((*table.shape[:-1], number))
    # Several outcomes may belong to the same cell.
    for index, cell_index in enumerate(cell):
        counts[..., cell_index] += table[..., index]
    return counts


def _fixed(outcomes, totals):
    """Return True if the design fixed the class totals (fold, C)."""
    if "fixed_totals" in outcomes.coords:
        return bool(outcomes.coords["fixed_totals"])
    return bool((np.ptp(totals, axis=0) <= 1).all())


def _joint_prior(concentration, cells, classes):
    """Return the pseudo-counts of the joint cells from the pseudo-counts of each classifier."""
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
