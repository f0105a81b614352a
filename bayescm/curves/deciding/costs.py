"""What acting on probabilities costs: by threshold, with the best one and its regret."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.curves import drawing
from bayescm.curves.deciding.decisions import checked
from bayescm.curves.deciding.rates import rates_at, rates_seen
from bayescm.curves.numbers import interval_of
from bayescm.evidence.counts import align, make_counts
from bayescm.evidence.labels import numbered
from bayescm.evidence.scores import check_chances
from bayescm.validate import check_prob, check_seed, fail

_DEFAULT = np.arange(0, 101) / 100
_BAD = ("a threshold must be a probability", "pass e.g. thresholds=[0.1, 0.2]")
_CELLS = ("tn", "fp", "fn", "tp")
_PRIOR = 0.5  # examples added to each side of every rate and of the prevalence


def expected_cost(
    evidence: xr.Dataset,
    costs: Any,
    *,
    thresholds: Any = None,
    prob: float = 0.95,
    draws: int = drawing.NUMBERS,
    random_seed: int = 0,
) -> xr.Dataset:
    """
    Return the expected cost per example of acting on probabilities, by threshold.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two classes, see :func:`bayescm.from_probabilities`; for a population of
        another prevalence, from :func:`bayescm.at_prevalence`.
    costs : mapping, array_like or DataFrame, shape (2, 2)
        Of the cells ``"fn"``, ``"fp"``, ``"tp"`` and ``"tn"``, 0 where one is left out; or rows =
        actual, columns = predicted, index 1 the positive class unless the axes have labels. An
        uncertain entry of a mapping is an array of draws (arrays of one length are drawn together),
        or a function from a name to a PyMC variable. Benefits are negative.
    thresholds : array_like, shape (T,), optional
        In [0, 1]; examples from the threshold on are acted on. By default 0, 0.01, ..., 1.
    prob : float, default 0.95
    draws : int, default 4000
    random_seed : int, default 0

    Returns
    -------
    Dataset, dims ([classifier], threshold)
        ``cost`` in the sample; ``mean`` and ``interval`` (bound) of its posterior; ``p_best``, the
        probability that this threshold is the best one; ``regret``, how much more it is expected to
        cost than whichever is the best. Without the dim threshold: ``best``, that of the least
        expected cost; ``best_interval`` (bound), of the truly best; and ``implied``, the one
        that the costs imply where the probabilities are right.

    Raises
    ------
    TypeError, ValueError
        If these are scores, not probabilities, a mistake costs less than being right, or another
        argument is invalid.

    Notes
    -----
    The cost at the best threshold is not corrected for having been chosen on the same data;
    :func:`bayescm.curves.best_threshold` does that.

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
    known = checked(evidence, None)
    at = _DEFAULT if thresholds is None else check_chances(thresholds, *_BAD)
    drawn = rates_at(known, at, concentration=_PRIOR, draws=draws, random_seed=random_seed)
    price = _prices(_by_cell(costs, known), draws, rng)
    mean = {cell: float(each.mean()) for cell, each in price.items()}
    labelled = {cell: xr.DataArray(each, dims="draw") for cell, each in price.items()}
    paid = _cost(drawn, labelled).transpose("draw", ..., "threshold")
    least = paid.min("threshold")
    winners = paid == least
    answer = {
        "cost": _cost(rates_seen(known, at), mean),
        "mean": paid.mean("draw"),
        "interval": interval_of(paid, prob, "eti"),
        "p_best": (winners / winners.sum("threshold")).mean("draw"),
        "regret": (paid - least).mean("draw"),
        "best": paid.mean("draw").idxmin("threshold"),
        "best_interval": interval_of(paid.idxmin("threshold"), prob, "eti"),
        "implied": xr.DataArray(_implied(mean)),
    }
    found = {name: each.rename(name) for name, each in answer.items()}
    return xr.Dataset(found).assign_coords(prob=prob)


def _cost(rates, price):
    share, found, alarms = rates["prevalence"], rates["tpr"], rates["fpr"]
    of_positive = found * price["tp"] + (1 - found) * price["fn"]
    of_negative = alarms * price["fp"] + (1 - alarms) * price["tn"]
    return share * of_positive + (1 - share) * of_negative


def _implied(mean):
    """Return the probability at which acting and not acting cost the same."""
    alarm, miss = mean["fp"] - mean["tn"], mean["fn"] - mean["tp"]
    return alarm / (alarm + miss)


def _prices(costs, draws, rng):
    """Return draws (draws,) of the cost of each cell."""
    unknown = [each for each in costs if each not in _CELLS]
    if unknown or not costs:
        todo = 'pass e.g. {"fn": 5, "fp": 1}'
        raise fail("costs are of cells", unknown or costs, "tp, fn, fp, tn", todo)
    rows: dict[int, np.ndarray] = {}  # by length: arrays of one length were drawn together
    price = {cell: _draws(cell, costs.get(cell, 0.0), draws, rng, rows) for cell in _CELLS}
    for wrong, right in (("fp", "tn"), ("fn", "tp")):
        if not price[wrong].mean() > price[right].mean():
            got = {cell: float(each.mean()) for cell, each in price.items()}
            todo = "rows are actual, columns predicted, index 1 the positive class"
            what = f"a mistake ({wrong}) costs no more than being right ({right})"
            raise fail(what, got, f"{wrong} > {right}", todo)
    return price


def _by_cell(costs, known):
    """Return costs by cell; a labelled matrix says itself which class is which."""
    if isinstance(costs, Mapping):
        return costs
    if isinstance(costs, pd.DataFrame) and all(map(numbered, costs.axes)):
        costs = costs.to_numpy()
    if isinstance(costs, pd.DataFrame | xr.DataArray):
        positive = known["positive"].item()
        labels = [each for each in np.unique(known["actual"]).tolist() if each != positive]
        costs = align(costs, make_counts(np.zeros((2, 2)), np.array([*labels, positive]), positive))
    try:
        matrix = np.asarray(costs, float)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.shape != (2, 2):
        todo = 'pass [[0, 1], [5, 0]], or {"fn": 5, "fp": 1}'
        raise fail("not a cost matrix", costs, "two rows of two costs", todo)
    return dict(zip(_CELLS, matrix.ravel().tolist(), strict=True))


def _draws(cell, given, draws, rng, rows):
    """Return draws of a cost that is a number, an array of draws, or a prior."""
    if callable(given):
        import pymc as pm  # seconds to import, and few costs are priors

        with pm.Model():
            given = pm.draw(given(cell), draws, random_seed=int(rng.integers(2**31)))
    try:
        values = np.asarray(given, float)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.ndim > 1 or not values.size or not np.isfinite(values).all():
        allowed = "a number, draws, or a function from a name to a PyMC variable"
        raise fail(f"not a cost of {cell}", given, allowed, f'pass e.g. {{"{cell}": 5}}')
    if values.ndim == 0:
        return np.full(draws, values)
    if len(values) not in rows:
        rows[len(values)] = rng.integers(len(values), size=draws)
    return values[rows[len(values)]]
