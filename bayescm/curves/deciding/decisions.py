"""Is acting on the probabilities worth while: net benefit by threshold, with its posterior."""

from functools import partial, reduce
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr

from bayescm.curves import drawing
from bayescm.curves.bands import band
from bayescm.curves.deciding.rates import rates_at, rates_seen
from bayescm.distributions.discrete import Empirical
from bayescm.evidence.scores import at_prevalence, check_chances
from bayescm.evidence.slices import check_one_sample
from bayescm.validate import check_number, check_prob, check_seed, check_whole, fail

_DEFAULT = np.arange(1, 100) / 100
_NOTHING = 1e-12  # what rounding leaves of net benefits that are equal
_BAD = ("a threshold must be a probability", "pass e.g. thresholds=[0.1, 0.2]")


def decision_curve(
    evidence: xr.Dataset,
    *,
    thresholds: Any = None,
    prevalence: float | None = None,
    prob: float = 0.95,
    simultaneous: bool = False,
    concentration: float = 0.5,
    draws: int = drawing.NUMBERS,
    random_seed: int = 0,
) -> xr.Dataset:
    """
    Return the net benefit of acting on each classifier's probabilities, by threshold.

    To act from a probability t on means that a false positive costs t / (1 - t) times what a true
    positive is worth. The net benefit is the proportion of true positives minus that of false
    positives at this price.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two classes, see :func:`bayescm.from_probabilities`.
    thresholds : array_like, shape (T,), optional
        In (0, 1); by default 0.01, 0.02, ..., 0.99.
    prevalence : float, optional
        Of the population where the classifier will be used, such as of case-control data; by
        default that of the sample is estimated.
    prob : float, default 0.95
    simultaneous : bool, default False
        Whether the intervals of the classifiers are bands that hold the whole curve.
    concentration : float, default 0.5
        Examples that the prior adds to each side of every rate and of the prevalence; 1 is the
        uniform prior of bayesDCA.
    draws : int, default 4000
    random_seed : int, default 0

    Returns
    -------
    Dataset, dims ([classifier], threshold)
        ``net_benefit`` in the sample; ``mean`` and ``interval`` (bound) of its posterior;
        ``treat_all``, its value in the sample if everybody is treated (treating none is worth 0),
        and ``treat_all_interval``; ``standardized``, the net benefit as a share of the prevalence,
        and ``avoided``, the interventions avoided for each example compared with treating all, with
        ``standardized_interval`` and ``avoided_interval``; ``p_useful``, the probability of more
        than treating all or none; ``p_best`` over ``strategy`` (the classifiers, all, none);
        ``evpi``, the expected gain from knowing which strategy is best. Of several classifiers
        ``difference`` (other, bound), the interval of how much more the one is worth than the other
        on the same examples.

    Raises
    ------
    TypeError, ValueError
        If these are scores, not probabilities, or an argument is invalid.

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
    at = _DEFAULT if thresholds is None else check_chances(thresholds, *_BAD, inside=True)
    known = checked(evidence, prevalence)
    odds = at / (1 - at)
    concentration = check_number("concentration", concentration, 0, usual=0.5)
    check_whole("draws", draws, 2, "draws", drawing.NUMBERS)
    size = {"draws": draws, "random_seed": check_seed(random_seed)}
    drawn = rates_at(known, at, concentration=concentration, **size)
    seen = rates_seen(known, at)
    net, every, share = _net(drawn, odds)
    points, all_points, share_seen = _net(seen, odds)
    points, all_points = _rounded(points), _rounded(all_points)
    ends = partial(_ends, prob=prob, simultaneous=simultaneous)
    everybody = Empirical(share.ravel()).eti(prob)  # in which their net benefit is linear
    dims = tuple(map(str, seen["tpr"].dims))
    answer = {
        "net_benefit": (dims, points),
        "mean": (dims, net.mean(axis=0)),
        "interval": ((*dims, "bound"), ends(net)),
        "treat_all": ("threshold", all_points.ravel()),
        "treat_all_interval": (
            ("threshold", "bound"),
            everybody - (1 - everybody) * odds[:, None],
        ),
        "standardized": (dims, points / share_seen),
        "standardized_interval": ((*dims, "bound"), ends(net / share)),
        "avoided": (dims, (points - all_points) / odds),
        "avoided_interval": ((*dims, "bound"), ends((net - every) / odds)),
        "p_useful": (dims, (net > np.maximum(every, 0)).mean(axis=0)),
    }
    names = ["classifier"]
    coords: dict[Any, Any] = {**seen.coords, "bound": ["lower", "upper"]}
    if len(dims) > 1:
        names = seen["classifier"].values.tolist()
        coords["other"] = names
        answer["difference"] = (("classifier", "other", *dims[1:], "bound"), _pairs(net, ends))
    coords["strategy"] = [*names, "all", "none"]
    coords |= {"prob": prob, "band": "simultaneous" if simultaneous else "pointwise"}
    return xr.Dataset(answer | _choice(net, every), coords)


def checked(evidence: xr.Dataset, prevalence: float | None) -> xr.Dataset:
    """Return the probabilities of one sample, at a prevalence if it is given."""
    if "probabilities" not in getattr(evidence, "coords", {}):
        todo = "if they are chances, pass them through from_probabilities(actual, probabilities)"
        raise fail("these are scores, not probabilities", ..., "probabilities", todo, TypeError)
    check_one_sample(evidence, "probabilities")
    return evidence if prevalence is None else at_prevalence(evidence, prevalence)


def _ends(values, prob, simultaneous):
    """Return the band, or the pointwise intervals, (..., T, 2), of draws of curves (S, ..., T)."""
    if not simultaneous:
        return Empirical(values).eti(prob)
    dims = ("draw", *(f"dim_{each}" for each in range(1, values.ndim)))
    return band(xr.DataArray(values, dims=dims), prob=prob).values


def _pairs(net, ends):
    """Return how much more each classifier is worth than each other, (K, K, T, 2)."""
    number = net.shape[1]
    found = np.zeros((number, number, net.shape[2], 2))
    for one, other in combinations(range(number), 2):
        found[one, other] = ends(_rounded(net[:, one] - net[:, other]))
        found[other, one] = 0.0 - found[one, other][:, ::-1]
    return found


def _rounded(values):
    return np.where(np.abs(values) > _NOTHING, values, 0.0)


def _net(rates, odds):
    """Return the net benefit of the classifiers, and of as many dims that of all, and the share."""
    found, alarms, share = (rates[name].values for name in ("tpr", "fpr", "prevalence"))
    share = share.reshape(share.shape + (1,) * (found.ndim - share.ndim))
    price = (1 - share) * odds
    return share * found - price * alarms, share - price, share


def _choice(net, every):
    """Return how probable it is that each strategy is best, and what it is worth to know."""
    size, last = len(net), net.shape[-1]
    worth = [*np.moveaxis(net.reshape(size, -1, last), 1, 0), every.reshape(size, last)]
    worth.append(np.zeros((1, last)))
    top = reduce(np.maximum, worth)
    best = [one >= top - _NOTHING for one in worth]
    ties = sum(one.astype(np.int16) for one in best)  # who ties shares the first place
    shared = [(one / ties).mean(axis=0) if (ties > 1).any() else one.mean(axis=0) for one in best]
    gain = top.mean(axis=0) - np.max([one.mean(axis=0) for one in worth], axis=0)
    return {"p_best": (("strategy", "threshold"), np.array(shared)), "evpi": ("threshold", gain)}
