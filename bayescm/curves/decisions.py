"""
Decisions based on probabilities: net benefit and expected cost by threshold.

With prevalence p, costs c of the cells, and both rates at a threshold t,

    net benefit   = p tpr - (1 - p) fpr t / (1 - t),
    expected cost = p (tpr c_tp + (1 - tpr) c_fn) + (1 - p) (fpr c_fp + (1 - fpr) c_tn).

Within each class, the shares of the examples between neighbouring thresholds have a Dirichlet
distribution. Its prior assigns weight to the two outermost intervals only. At every threshold, both
rates therefore have the beta distribution of the two-by-two table at that threshold, and all
thresholds have a joint distribution. Classifiers on the same examples share the joint table of
their intervals. Differences between them include unobserved disagreement, see
`bayescm.posteriors.shared_examples`.
"""

from collections.abc import Mapping
from functools import partial, reduce
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.curves.roc import band, interval_of
from bayescm.curves.thresholds import two_classes
from bayescm.distributions.empirical import Empirical
from bayescm.evidence.counts import align, make_counts
from bayescm.evidence.labels import is_default_index
from bayescm.evidence.scores import at_prevalence, check_chances, score_arrays
from bayescm.evidence.slices import check_one_sample
from bayescm.posteriors.roc.curve_posterior import DRAWS
from bayescm.posteriors.roc.prevalence import class_weights, known_prevalence
from bayescm.posteriors.shared_examples import SharedExamples
from bayescm.validate import check_number, check_prob, check_seed, check_whole, fail

_BENEFIT_THRESHOLDS = np.arange(1, 100) / 100
_COST_THRESHOLDS = np.arange(0, 101) / 100
_REFUSAL = ("a threshold must be a probability", "pass e.g. thresholds=[0.1, 0.2]")
_ROUNDING = 1e-12  # tolerance for equal net benefits
_CELLS = ("tn", "fp", "fn", "tp")
# For a few thresholds, this number of draws takes 0.1 s and gives three decimals of a net benefit.
DRAWS_OF_A_TABLE = 100_000
_PRIOR_EXAMPLES = 0.5  # examples added to each side of every rate and of the prevalence
_CODE_BITS = 62  # bits of an integer that encodes a column


# Net benefit.


def decision_curve(
    evidence: xr.Dataset,
    *,
    thresholds: Any = None,
    prevalence: float | None = None,
    prob: float = 0.95,
    simultaneous: bool = False,
    concentration: float = 0.5,
    draws: int = DRAWS,
    random_seed: int = 0,
) -> xr.Dataset:
    """
    Return the net benefit of acting on probabilities, by threshold.

    Acting at probabilities of at least t implies that a false positive costs t / (1 - t) times the
    benefit of a true positive. The net benefit is the proportion of true positives minus this
    factor times the proportion of false positives.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two classes from :func:`bayescm.from_probabilities`.
    thresholds : array_like, shape (T,), optional
        Thresholds in (0, 1). The default is 0.01, 0.02, ..., 0.99.
    prevalence : float, optional
        Prevalence in the target population, for example with case-control data. By default the
        prevalence is estimated from the sample.
    prob : float, default 0.95
        Probability of the intervals.
    simultaneous : bool, default False
        Whether the intervals of the classifiers are bands that contain the whole curve.
    concentration : float, default 0.5
        Number of prior examples on each side of every rate and of the prevalence. 1 is the uniform
        prior of bayesDCA.
    draws : int, default 4000
        Number of draws.
    random_seed : int, default 0
        Seed of the draws.

    Returns
    -------
    Dataset, dims ([classifier], threshold)
        - ``net_benefit``: the value in the sample.
        - ``mean`` and ``interval`` (bound) of the posterior.
        - ``error``: the numerical error of the bounds, as in `bayescm.interval`; NaN for
          simultaneous bands.
        - ``treat_all`` and ``treat_all_interval``: the net benefit of treating everybody. Treating
          nobody has a net benefit of 0.
        - ``standardized`` and ``standardized_interval``: the net benefit divided by the prevalence.
        - ``avoided`` and ``avoided_interval``: the number of interventions avoided per example,
          compared with treating all.
        - ``p_useful``: the probability that the net benefit exceeds both treating all and treating
          none.
        - ``p_best`` over ``strategy`` (the classifiers, all, none): the probability that the
          strategy is best.
        - ``evpi``: the expected gain from knowing which strategy is best.
        - ``difference`` (other, bound), for several classifiers: the interval of the difference in
          net benefit on the same examples.

    Raises
    ------
    TypeError, ValueError
        If the evidence contains scores that are not probabilities, or an argument is invalid.

    References
    ----------
    Vickers, A. J. & Elkin, E. B. (2006). Decision curve analysis. Medical Decision Making 26,
    565-574. doi:10.1177/0272989X06295361

    Cruz, G. N. F. & Korthauer, K. (2024). Bayesian decision curve analysis with bayesDCA.
    Statistics in Medicine 43, 6042-6058. doi:10.1002/sim.10277

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> p = rng.beta(1, 3, 400)
    >>> found = decision_curve(bcm.from_probabilities(rng.random(400) < p, p), thresholds=[0.2])
    >>> bool(found["p_useful"].item() > 0.9)
    True
    """
    check_prob(prob)
    at = (
        _BENEFIT_THRESHOLDS
        if thresholds is None
        else check_chances(thresholds, *_REFUSAL, inside=True)
    )
    probabilities = one_sample_of_probabilities(evidence, prevalence)
    odds = at / (1 - at)
    concentration = check_number("concentration", concentration, 0, usual=0.5)
    check_whole("draws", draws, 2, "draws", DRAWS)
    size = {"draws": draws, "random_seed": check_seed(random_seed)}
    drawn = rates_at(probabilities, at, concentration=concentration, **size)
    sample = rates_in_sample(probabilities, at)
    net, net_of_all, share = _net_benefit(drawn, odds)
    points, points_of_all, share_in_sample = _net_benefit(sample, odds)
    points, points_of_all = _rounded(points), _rounded(points_of_all)
    joint = net
    if net.ndim > 2:
        rng = np.random.default_rng([1, *np.atleast_1d(size["random_seed"])])
        joint = _joint_benefits(net, net_of_all, probabilities, at, rng)
    ends = partial(_ends, prob=prob, simultaneous=simultaneous)
    # The net benefit of treating everybody is linear in the prevalence, so its ends map directly.
    share_ends = Empirical(share.ravel()).eti(prob)
    dims = tuple(map(str, sample["tpr"].dims))
    answer = {
        "net_benefit": (dims, points),
        "mean": (dims, net.mean(axis=0)),
        "interval": ((*dims, "bound"), ends(net)),
        "error": (dims, _error(net, prob, simultaneous)),
        "treat_all": ("threshold", points_of_all.ravel()),
        "treat_all_interval": (
            ("threshold", "bound"),
            share_ends - (1 - share_ends) * odds[:, None],
        ),
        "standardized": (dims, points / share_in_sample),
        "standardized_interval": ((*dims, "bound"), ends(net / share)),
        "avoided": (dims, (points - points_of_all) / odds),
        "avoided_interval": ((*dims, "bound"), ends((net - net_of_all) / odds)),
        "p_useful": (dims, (net > np.maximum(net_of_all, 0)).mean(axis=0)),
    }
    names = ["classifier"]
    coords: dict[Any, Any] = {**sample.coords, "bound": ["lower", "upper"]}
    if len(dims) > 1:
        names = sample["classifier"].values.tolist()
        coords["other"] = names
        answer["difference"] = (("classifier", "other", *dims[1:], "bound"), _pairs(joint, ends))
    coords["strategy"] = [*names, "all", "none"]
    coords |= {"prob": prob, "band": "simultaneous" if simultaneous else "pointwise"}
    return xr.Dataset(answer | _best_strategy(joint, net_of_all), coords)


def one_sample_of_probabilities(evidence: xr.Dataset, prevalence: float | None) -> xr.Dataset:
    """Return the probabilities of one sample, at a given prevalence unless it is None."""
    if "probabilities" not in getattr(evidence, "coords", {}):
        raise fail(
            "These are scores, not probabilities",
            ...,
            "",
            "if they are probabilities, use `from_probabilities(actual, probabilities)`",
            TypeError,
        )
    check_one_sample(evidence, "probabilities")
    return evidence if prevalence is None else at_prevalence(evidence, prevalence)


def _net_benefit(rates, odds):
    """Return the net benefit of the classifiers and of treating all, and the prevalence."""
    tpr, fpr, share = (rates[name].values for name in ("tpr", "fpr", "prevalence"))
    share = share.reshape(share.shape + (1,) * (tpr.ndim - share.ndim))
    price = (1 - share) * odds
    return share * tpr - price * fpr, share - price, share


def _joint_benefits(net, net_of_all, evidence, thresholds, rng):
    """
    Return draws (S, K, T) of the net benefit, reordered to be joint draws of all classifiers.

    For each classifier, the distribution of the gain over treating everybody is unchanged.
    Classifiers with identical scores have identical draws.
    """
    evidence = two_classes(evidence)
    matrix, weights, _ = score_arrays(evidence)
    _, first, same = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
    if len(first) == 1:
        return net
    examples = SharedExamples([matrix], weights)
    pseudo = examples.disagreement(len(first), len(net), rng)
    rates = rates_in_sample(evidence, thresholds, examples.weights())
    of_examples, all_of_examples, _ = _net_benefit(rates, thresholds / (1 - thresholds))
    added, added_by_examples = net - net_of_all, of_examples - all_of_examples
    joint = examples.joint(added[:, first], added_by_examples[:, first], pseudo)
    return joint[:, same.ravel()] + net_of_all


def _ends(values, prob, simultaneous):
    """Return the band or the pointwise intervals, (..., T, 2), for draws of curves (S, ..., T)."""
    if not simultaneous:
        return Empirical(values).eti(prob)
    dims = ("draw", *(f"dim_{axis}" for axis in range(1, values.ndim)))
    return band(xr.DataArray(values, dims=dims), prob=prob).values


def _error(values, prob, simultaneous):
    """Return the numerical error of pointwise intervals of draws (S, ...)."""
    if simultaneous:
        return np.full(values.shape[1:], np.nan)
    return Empirical(values).interval_with_error(prob, "eti")[1].max(axis=-1)


def _pairs(net, ends):
    """Return the intervals of all pairwise differences in net benefit, (K, K, T, 2)."""
    number = net.shape[1]
    differences = np.zeros((number, number, net.shape[2], 2))
    for one, other in combinations(range(number), 2):
        differences[one, other] = ends(_rounded(net[:, one] - net[:, other]))
        differences[other, one] = 0.0 - differences[one, other][:, ::-1]
    return differences


def _rounded(values):
    return np.where(np.abs(values) > _ROUNDING, values, 0.0)


def _best_strategy(net, net_of_all):
    """
    Return the probability that each strategy is best, and the value of perfect information.

    The input is draws (S, [K], T) of the net benefit. Tied strategies share the first place. The
    expected value of perfect information is E(max over strategies) - max over strategies of E.
    """
    size, number = len(net), net.shape[-1]
    benefits = [*np.moveaxis(net.reshape(size, -1, number), 1, 0), net_of_all.reshape(size, number)]
    benefits.append(np.zeros((1, number)))  # net benefit of treating none
    highest = reduce(np.maximum, benefits)
    is_best = [benefit >= highest - _ROUNDING for benefit in benefits]
    ties = sum(best.astype(np.int16) for best in is_best)
    p_best = [
        (best / ties).mean(axis=0) if (ties > 1).any() else best.mean(axis=0) for best in is_best
    ]
    evpi = highest.mean(axis=0) - np.max([benefit.mean(axis=0) for benefit in benefits], axis=0)
    return {"p_best": (("strategy", "threshold"), np.array(p_best)), "evpi": ("threshold", evpi)}


# Expected cost.


def expected_cost(
    evidence: xr.Dataset,
    costs: Any,
    *,
    thresholds: Any = None,
    prob: float = 0.95,
    draws: int = DRAWS,
    random_seed: int = 0,
) -> xr.Dataset:
    """
    Return the expected cost per example of acting on probabilities, by threshold.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two classes from :func:`bayescm.from_probabilities`. For a population with
        another prevalence, use :func:`bayescm.at_prevalence`.
    costs : mapping, array_like or DataFrame, shape (2, 2)
        Costs of the cells. Benefits are negative costs. The forms are:

        - A mapping with the keys ``"fn"``, ``"fp"``, ``"tp"`` and ``"tn"``. Missing cells cost 0.
          An uncertain cost is an array of draws, or a function from a name to a PyMC variable.
          Arrays of the same length are drawn together.
        - A matrix with actual classes as rows and predicted classes as columns. Index 1 is the
          positive class unless the axes have labels.
    thresholds : array_like, shape (T,), optional
        Thresholds in [0, 1]. Examples with a probability of at least the threshold are acted on.
        The default is 0, 0.01, ..., 1.
    prob : float, default 0.95
        Probability of the intervals.
    draws : int, default 4000
        Number of draws.
    random_seed : int, default 0
        Seed of the draws.

    Returns
    -------
    Dataset, dims ([classifier], threshold)
        - ``cost``: the value in the sample.
        - ``mean`` and ``interval`` (bound) of the posterior.
        - ``error``: the numerical error of the bounds, as in `bayescm.interval`.
        - ``p_best``: the probability that this threshold is the best one.
        - ``regret``: the expected excess cost over the truly best threshold.

        The following variables do not depend on the threshold:

        - ``best``: the threshold with the smallest expected cost.
        - ``best_interval`` (bound): the interval of the truly best threshold.
        - ``implied``: the threshold that the costs imply if the probabilities are calibrated.

    Raises
    ------
    TypeError, ValueError
        If the evidence contains scores that are not probabilities, an error does not cost more than
        a correct decision, or another argument is invalid.

    Notes
    -----
    The cost at the best threshold is not corrected for choosing the threshold on the same data. For
    a corrected value, use :func:`bayescm.curves.best_threshold`.

    References
    ----------
    Elkan, C. (2001). The foundations of cost-sensitive learning. Proceedings of the 17th
    International Joint Conference on Artificial Intelligence, 973-978.

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> p = rng.beta(1, 3, 400)
    >>> evidence = bcm.from_probabilities(rng.random(400) < p, p)
    >>> found = expected_cost(evidence, {"fn": 4, "fp": 1})
    >>> found["implied"].item(), bool(found["regret"].min() < 0.01)
    (0.2, True)
    """
    check_prob(prob)
    rng = np.random.default_rng(check_seed(random_seed))
    probabilities = one_sample_of_probabilities(evidence, None)
    at = _COST_THRESHOLDS if thresholds is None else check_chances(thresholds, *_REFUSAL)
    size = {"draws": draws, "random_seed": random_seed}
    drawn = rates_at(probabilities, at, concentration=_PRIOR_EXAMPLES, **size)
    price = _prices(_by_cell(costs, probabilities), draws, rng)
    mean = {cell: float(values.mean()) for cell, values in price.items()}
    labelled = {cell: xr.DataArray(values, dims="draw") for cell, values in price.items()}
    paid = _cost(drawn, labelled).transpose("draw", ..., "threshold")
    least = paid.min("threshold")
    winners = paid == least
    answer = {
        "cost": _cost(rates_in_sample(probabilities, at), mean),
        "mean": paid.mean("draw"),
        "interval": interval_of(paid, prob, "eti"),
        "error": paid.isel(draw=0, drop=True).copy(data=_error(paid.values, prob, False)),
        "p_best": (winners / winners.sum("threshold")).mean("draw"),
        "regret": (paid - least).mean("draw"),
        "best": paid.mean("draw").idxmin("threshold"),
        "best_interval": interval_of(paid.idxmin("threshold"), prob, "eti"),
        "implied": xr.DataArray(_implied(mean)),
    }
    named = {name: values.rename(name) for name, values in answer.items()}
    return xr.Dataset(named).assign_coords(prob=prob)


def _cost(rates, price):
    share, tpr, fpr = rates["prevalence"], rates["tpr"], rates["fpr"]
    of_positive = tpr * price["tp"] + (1 - tpr) * price["fn"]
    of_negative = fpr * price["fp"] + (1 - fpr) * price["tn"]
    return share * of_positive + (1 - share) * of_negative


def _implied(mean):
    """Return the probability at which acting and not acting cost the same."""
    false_alarm, miss = mean["fp"] - mean["tn"], mean["fn"] - mean["tp"]
    return false_alarm / (false_alarm + miss)


def _prices(costs, draws, rng):
    """Return draws (draws,) of the cost of each cell."""
    todo = 'pass e.g. {"fn": 5, "fp": 1}'
    if not costs:
        raise fail("No costs are given", ..., "", todo)
    if unknown := [name for name in costs if name not in _CELLS]:
        raise fail("Unknown cost {}", unknown, _CELLS, todo)
    # Resampled rows by length, because arrays of the same length were drawn together.
    rows: dict[int, np.ndarray] = {}
    price = {cell: _cost_draws(cell, costs.get(cell, 0.0), draws, rng, rows) for cell in _CELLS}
    for wrong, right in (("fp", "tn"), ("fn", "tp")):
        if not price[wrong].mean() > price[right].mean():
            got = {cell: float(values.mean()) for cell, values in price.items()}
            raise fail(
                f"A mistake ({wrong}) must cost more than a correct prediction ({right}); the "
                "costs are {}",
                got,
                "",
                "check the order: rows are actual, columns are predicted, and index 1 is the "
                "positive class",
            )
    return price


def _by_cell(costs, probabilities):
    """Return costs by cell, using the labels of a labelled matrix."""
    if isinstance(costs, Mapping):
        return costs
    if isinstance(costs, pd.DataFrame) and all(map(is_default_index, costs.axes)):
        costs = costs.to_numpy()
    if isinstance(costs, pd.DataFrame | xr.DataArray):
        positive = probabilities["positive"].item()
        actual = np.unique(probabilities["actual"]).tolist()
        labels = [label for label in actual if label != positive]
        costs = align(costs, make_counts(np.zeros((2, 2)), np.array([*labels, positive]), positive))
    try:
        matrix = np.asarray(costs, float)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.shape != (2, 2):
        todo = 'pass [[0, 1], [5, 0]], or {"fn": 5, "fp": 1}'
        raise fail("Costs must be two rows of two numbers", costs, "", todo)
    return dict(zip(_CELLS, matrix.ravel().tolist(), strict=True))


def _cost_draws(cell, cost, draws, rng, rows):
    """Return draws of a cost that is a number, an array of draws, or a prior."""
    if callable(cost):
        import pymc as pm  # slow to import, and rarely needed

        with pm.Model():
            cost = pm.draw(cost(cell), draws, random_seed=int(rng.integers(2**31)))
    try:
        values = np.asarray(cost, float)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.ndim > 1 or not values.size or not np.isfinite(values).all():
        allowed = "a number, draws, or a function from a name to a PyMC variable"
        raise fail(f"The cost of {cell} must be {allowed}", cost, "", f'pass e.g. {{"{cell}": 5}}')
    if values.ndim == 0:
        return np.full(draws, values)
    if len(values) not in rows:
        rows[len(values)] = rng.integers(len(values), size=draws)
    return values[rows[len(values)]]


# Both rates at the thresholds, jointly with the prevalence: draws, and sample values.


def rates_at(
    evidence: xr.Dataset,
    thresholds: np.ndarray,
    *,
    concentration: float = 0.5,
    draws: int,
    random_seed: int,
) -> xr.Dataset:
    """Draw ``tpr`` and ``fpr``, dims (draw, [classifier], threshold), and ``prevalence``."""
    evidence = two_classes(evidence)
    matrix, weights, codes = score_arrays(evidence)
    rng = np.random.default_rng(random_seed)
    order = np.argsort(thresholds)
    places = np.searchsorted(thresholds[order], matrix, side="right")
    rates = [
        _draw_rate(places[:, codes == c], weights[codes == c], order, concentration, draws, rng)
        for c in (0, 1)
    ]
    totals = np.bincount(codes, weights, 2) + concentration
    scale = class_weights(evidence, weights, codes, 2)
    share = rng.beta(totals[1], totals[0], draws)
    share = share * scale[1] / (share * scale[1] + (1 - share) * scale[0])
    if "prevalence" in evidence.coords:
        share = np.full(draws, evidence.coords["prevalence"].item())
    return _labelled(evidence, thresholds, *rates, share, "draw")


def _draw_rate(places, weights, order, concentration, draws, rng):
    """Draw the share of one class at or above each threshold, (S, K, T)."""
    last = len(order)
    ends = np.repeat([[0, last]], len(places), axis=0)
    cells, cell = _distinct(np.concatenate([places, ends], axis=1), last + 1)
    shape = np.bincount(cell, np.concatenate([weights, [concentration] * 2]))
    mass = rng.standard_gamma(shape, (draws, len(shape)))
    rates, n_cells = np.empty((draws, len(places), last)), np.empty(last, int)
    for classifier, row in enumerate(cells):
        descending = np.argsort(-row, kind="stable")
        cumulative = mass[:, descending]
        np.cumsum(cumulative, axis=1, out=cumulative)
        cumulative /= cumulative[:, -1:]
        n_cells[order] = np.searchsorted(-row[descending], -np.arange(last), side="left")
        rates[:, classifier] = cumulative[:, n_cells - 1]
    return rates


def _distinct(places, size):
    """Return the distinct columns of places (K, n), all below ``size``, and the inverse index."""
    shape = (size,) * len(places)
    if len(places) * np.log2(size) > _CODE_BITS:
        cells, cell = np.unique(places, axis=1, return_inverse=True)
        return cells, cell.ravel()
    code, cell = np.unique(np.ravel_multi_index(tuple(places), shape), return_inverse=True)
    return np.stack(np.unravel_index(code, shape)), cell


def rates_in_sample(
    evidence: xr.Dataset, thresholds: np.ndarray, sample_weights: np.ndarray | None = None
) -> xr.Dataset:
    """
    Return the rates in the sample; scores at the threshold are predicted positive.

    With weights (S, n) of the examples, the result has S samples along the dimension draw.
    """
    evidence = two_classes(evidence)
    matrix, weights, codes = score_arrays(evidence)
    several = sample_weights is not None
    weights = np.atleast_2d(weights if sample_weights is None else sample_weights)
    order, last = np.argsort(thresholds), len(thresholds)
    fpr, tpr = np.empty((2, len(weights), len(matrix), last))
    for classifier, row in enumerate(np.searchsorted(thresholds[order], matrix, side="right")):
        for label, rate in enumerate((fpr, tpr)):
            of_class = weights[:, codes == label]
            for sample, weight in enumerate(of_class):
                above = np.cumsum(np.bincount(row[codes == label], weight, last + 1)[:0:-1])[::-1]
                rate[sample, classifier, order] = above / weight.sum()
    prevalence = known_prevalence(evidence, codes == 1)
    share = weights[:, codes == 1].sum(axis=1) / weights.sum(axis=1)
    if prevalence is not None:
        share = np.full(len(weights), prevalence)
    if several:
        return _labelled(evidence, thresholds, fpr, tpr, share, "draw")
    return _labelled(evidence, thresholds, fpr[0], tpr[0], share[0])


def _labelled(evidence, thresholds, fpr, tpr, share, *lead):
    dims, coords = [*lead, "threshold"], {"threshold": thresholds}
    if "classifier" in evidence.dims:
        dims.insert(-1, "classifier")
        coords |= {"classifier": evidence["classifier"].values}
    else:
        fpr, tpr = fpr[..., 0, :], tpr[..., 0, :]
    columns = {"tpr": (dims, tpr), "fpr": (dims, fpr), "prevalence": (list(lead), share)}
    coords |= {"positive": evidence["positive"].item()}
    return xr.Dataset(columns, coords)
