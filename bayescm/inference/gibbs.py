r"""
Gibbs sampling by data augmentation, for mixtures of known components and for latent classes.

The component (class) of each observation is sampled given the parameters, and the parameters given
the components. Both steps are conjugate: a multinomial and a Dirichlet distribution.

**Known components** (`mixture_weights`; Diebolt & Robert 1994). With :math:`n_d` observations of
type d, whose probability under component m is :math:`L_{dm}`, and weights w ~ Dirichlet(a),

.. math::

    p(w \mid n) \propto \prod_m w_m^{a_m - 1} \prod_d \Bigl(\sum_m w_m L_{dm}\Bigr)^{n_d}.

A sweep samples the numbers :math:`z_d \sim \mathrm{Multinomial}(n_d, \, w_m L_{dm} / \sum_k w_k
L_{dk})` and then :math:`w \sim \mathrm{Dirichlet}(a + \sum_d z_d)`.

**Latent classes** (`latent_class`; the model of Dawid & Skene 1979, see `bayescm.inference.em`). A
sweep samples the number of examples of each class in each pattern, then the prevalence and the
response rates of the raters.

References
----------
Tanner, M. A. & Wong, W. H. (1987). The calculation of posterior distributions by data augmentation.
Journal of the American Statistical Association 82, 528-540. doi:10.1080/01621459.1987.10478458

Diebolt, J. & Robert, C. P. (1994). Estimation of finite mixture distributions through Bayesian
sampling. Journal of the Royal Statistical Society B 56, 363-375.
doi:10.1111/j.2517-6161.1994.tb01985.x
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from scipy.special import softmax

from bayescm.distributions import dirichlet
from bayescm.inference import em

_FEW = 10  # up to this number of observations per type, inversion is faster
_NEGLIGIBLE = 1e-12  # negligible likelihood, relative to the largest of a type


def mixture_weights(
    likelihood: np.ndarray,
    counts: np.ndarray,
    prior: np.ndarray,
    size: int,
    rng: np.random.Generator,
    *,
    burn: int,
    chains: int | None = None,
    thin: int = 1,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """
    Sample the weights of known components from their posterior, for many data sets at once.

    Parameters
    ----------
    likelihood : ndarray, shape ([...], D, M)
        Likelihood of each type of observation under each component, up to a factor for each type.
    counts : ndarray of int, shape (..., D)
        Number of observations of each type in each data set.
    prior : ndarray, broadcasts against (..., M)
        Parameters of the Dirichlet prior.
    size : int
        Number of draws.
    rng : numpy.random.Generator
    burn : int
        Number of discarded sweeps at the start.
    chains : int, optional
        Number of parallel chains. By default each draw is the last state of a separate chain.
    thin : int, default 1
        Number of sweeps between draws of a chain.
    start : ndarray, shape (..., M), optional
        Initial weights of all chains. By default the prior mean.

    Returns
    -------
    ndarray, shape (size, ..., M)
        Draws, ordered by chain.

    Examples
    --------
    >>> coins = np.array([[0.9, 0.2], [0.1, 0.8]])  # heads and tails of two coins
    >>> counts = np.array([[55, 45], [550, 450]])  # of two experiments
    >>> rng = np.random.default_rng(1)
    >>> mixture_weights(coins, counts, np.ones(2), 2000, rng, burn=20)[..., 0].std(0).round(2)
    array([0.07, 0.02])
    """
    lead, (kinds, components) = counts.shape[:-1], likelihood.shape[-2:]
    counts = counts.reshape(-1, kinds)
    likelihood = _scaled(likelihood, lead)
    prior = np.broadcast_to(prior, (*lead, components)).reshape(-1, components)
    first = prior if start is None else start.reshape(prior.shape)
    first = (first / first.sum(-1, keepdims=True)).T
    chains = size if chains is None else chains

    def sweep(weights):
        allocated = _allocate(weights, likelihood, counts, rng)
        parameters = np.moveaxis(allocated + prior.T[..., None], 0, -1)
        return np.moveaxis(dirichlet.draw(parameters, 1, rng)[0], -1, 0)

    weights = np.repeat(first[..., None], chains, axis=-1)  # (M, data sets, chains)
    states = list(_thinned(sweep, weights, burn, thin, -(-size // chains)))
    draws = np.stack(states, axis=-1).reshape(*weights.shape[:-1], -1).T
    return draws[:size].reshape(size, *lead, components)


def latent_class(
    votes: np.ndarray,
    counts: np.ndarray,
    prior: np.ndarray,
    size: int,
    rng: np.random.Generator,
    *,
    burn: int,
    chains: int,
    thin: int,
    start: tuple[np.ndarray, np.ndarray] | None = None,
    possible: np.ndarray | None = None,
    group: np.ndarray | None = None,
    support: Callable[[np.ndarray], np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray, float]:
    """
    Sample the prevalence of latent classes and the response rates of raters from the posterior.

    The prior for the prevalence is uniform.

    Parameters
    ----------
    votes : ndarray, shape (R, P, J)
        Number of times that each rater gave each label in each pattern.
    counts : ndarray of int, shape (P,)
        Number of examples with each pattern.
    prior : ndarray, broadcasts against (R, C, J)
        Parameters of the Dirichlet prior for the labels given each class.
    size : int
        Number of draws.
    rng : numpy.random.Generator
    burn, chains, thin : int
        Number of discarded sweeps at the start, number of parallel chains, and number of sweeps
        between draws of a chain.
    start : tuple of ndarray, shape (G, C) and (R, C, J), optional
        Initial prevalence and rates of all chains. By default each chain starts at a draw from the
        prior.
    possible : ndarray of bool, shape (P, C), optional
        Possible classes of each pattern. By default all classes.
    group : ndarray of int, shape (P,), optional
        Population of each pattern, from 0. By default there is one population.
    support : callable, optional
        Returns whether the prior allows given rates (S, R, C, J). By default all rates are allowed.

    Returns
    -------
    prevalence : ndarray, shape (size, G, C)
        Draws, ordered by chain.
    rates : ndarray, shape (size, R, C, J)
    autocorrelation : float
        Correlation over the chains between the prevalence halfway through the burn-in and the
        prevalence at the first draw. The largest value over all classes and populations is
        returned.
    """
    group = np.zeros(len(counts), int) if group is None else group
    member = np.eye(group.max() + 1)[group]
    prior = np.broadcast_to(prior, (len(votes), *prior.shape[-2:]))
    if start is None:
        rates = dirichlet.draw(prior, chains, rng)
        prevalence = dirichlet.draw(np.ones((member.shape[1], prior.shape[-2])), chains, rng)
    else:
        prevalence, rates = (np.repeat(array[None], chains, axis=0) for array in start)

    def sweep(state):
        prevalence, rates = state
        logs = em.log_joint(prevalence, em.log_likelihood(rates, votes), possible, group)
        truth = rng.multinomial(counts, softmax(logs, axis=-1))
        classed = np.einsum("snc,ng->sgc", truth, member)
        prevalence = dirichlet.draw(classed + 1.0, 1, rng)[0]
        cells = np.einsum("snc,rnj->srcj", truth, votes)
        proposed = dirichlet.draw(cells + prior, 1, rng)[0]
        if support is not None:  # rejection truncates the distribution to the support
            proposed = np.where(support(proposed)[:, None, None, None], proposed, rates)
        return prevalence, proposed

    halfway = burn // 2
    (middle,) = _thinned(sweep, (prevalence, rates), halfway, 1, 1)
    states = list(_thinned(sweep, middle, max(burn - halfway - 1, 0), thin, -(-size // chains)))
    pairs = zip(middle[0].T.reshape(-1, chains), states[0][0].T.reshape(-1, chains), strict=True)
    autocorrelation = max(np.corrcoef(*pair)[0, 1] for pair in pairs)
    prevalence, rates = (
        np.stack(draws, axis=1).reshape(-1, *draws[0].shape[1:])[:size]
        for draws in zip(*states, strict=True)
    )
    return prevalence, rates, float(autocorrelation)


# Steps of the samplers


def _thinned[State](
    sweep: Callable[[State], State], state: State, burn: int, thin: int, keep: int
) -> Iterator[State]:
    """Yield the state of all chains after the burn-in, then after every ``thin`` sweeps."""
    for number in range(burn + 1 + (keep - 1) * thin):
        state = sweep(state)
        if number >= burn and (number - burn) % thin == 0:
            yield state


def _scaled(likelihood, lead):
    """Return the likelihood (B, D, M) of every data set, scaled to a maximum of 1 per type."""
    scaled = likelihood / likelihood.max(-1, keepdims=True)
    shape = likelihood.shape[-2:]
    return np.broadcast_to(scaled, (*lead, *shape)).reshape(-1, *shape)


def _allocate(weights, likelihood, counts, rng):
    """Sample the number of observations per component in each data set, (M, B, S)."""
    single = np.ascontiguousarray(weights, np.float32)
    total = np.zeros(weights.shape)
    data, chain = np.ogrid[: weights.shape[1], : weights.shape[2]]
    for row, number in zip(likelihood.swapaxes(0, 1), counts.T, strict=True):  # of one type
        likely = np.flatnonzero((row > _NEGLIGIBLE).any(0))
        mass = single[likely] * row.T[likely, :, None].astype(np.float32)
        if number.max() > _FEW:
            total[likely] += _multinomial(number, mass.astype(float), rng)
            continue
        _cumulate(mass)
        for observation in range(number.max()):
            component = _inverted(mass, rng).clip(max=len(likely) - 1)
            total[likely[component], data, chain] += (observation < number)[:, None]
    return total


def _multinomial(number, mass, rng):
    """Sample component counts with totals (B,) and unnormalised probabilities (M, B, S)."""
    # Sampling the most likely component first leaves few observations for the others.
    order = np.argsort(-mass.mean(-1), axis=0)[..., None]
    mass = np.take_along_axis(mass, order, axis=0)
    numbers = rng.multinomial(number[:, None], np.moveaxis(mass / mass.sum(0), 0, -1))
    return np.take_along_axis(np.moveaxis(numbers, -1, 0), np.argsort(order, axis=0), axis=0)


def _inverted(cumulated, rng):
    """Sample a component (B, S) by inversion of cumulative masses (M, B, S)."""
    uniform = rng.random(cumulated.shape[1:], np.float32)
    return (cumulated <= uniform * cumulated[-1]).sum(0)


def _cumulate(mass: np.ndarray) -> None:
    """Cumulate in place along the first axis, several times faster than numpy."""
    for below, here in pairwise(mass):
        here += below
