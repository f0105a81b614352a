r"""Model for votes on pairs of systems, with ties and an effect of the order.

.. math::

    \sigma &\sim \mathrm{Rayleigh}(\texttt{spread}), \qquad z_k \sim \mathrm{Normal}(0, 1), \qquad
        s = \sigma (z - \bar z) \\
    \delta &\sim \mathrm{Normal}(0, \texttt{first}^2), \qquad
        \log \nu \sim \mathrm{Normal}(0, \texttt{ties}^2) \\
    P(\text{left}), P(\text{right}), P(\text{tie}) &\propto
        \exp(\eta / 2), \; \exp(-\eta / 2), \; \nu,
        \qquad \eta = s_{\text{left}} - s_{\text{right}} + \delta

Parameters
----------
+-----------------+----------------------------+-----------------------------------+---------------+
| symbol          | meaning                    | prior                             | keyword       |
+=================+============================+===================================+===============+
| :math:`\sigma`, | standard deviation of the  | Rayleigh(1), or a function        | ``spread=1``  |
| ``spread``      | strengths, in log odds     |                                   |               |
+-----------------+----------------------------+-----------------------------------+---------------+
| :math:`z_k`,    | standardised strength of   | Normal(0, sd 1)                   | –             |
| ``z``           | system k                   |                                   |               |
+-----------------+----------------------------+-----------------------------------+---------------+
| :math:`s_k`,    | strength of system k       | follows from the others           | –             |
| ``strength``    | relative to the mean of    |                                   |               |
|                 | all, in log odds           |                                   |               |
+-----------------+----------------------------+-----------------------------------+---------------+
| :math:`\delta`, | advantage of the system    | Normal(0, sd 0.5), or a function; | ``first=0.5`` |
| ``first``       | shown first, in log odds   | 0 if the order is unknown         |               |
+-----------------+----------------------------+-----------------------------------+---------------+
| :math:`\log     | frequency of ties          | Normal(0, sd 1.5), or a function; | ``ties=1.5``  |
| \nu`,           |                            | no ties if there are none in the  |               |
| ``log_tie``     |                            | votes                             |               |
+-----------------+----------------------------+-----------------------------------+---------------+

When to use it
--------------
Use it for votes of people or of a judge on pairs of answers, for matches, and for rankings that are
split into pairs.

When not to use it
------------------
* The order of the systems differs between voters or prompts: the model assumes one order for all.
* Votes are not independent. The direct posterior supports votes in clusters, such as several votes
  on one prompt, but this PyMC model does not.

Estimands
---------
* ``strength``, ``of="parameter"``: the rating or win rate of each system.
* ``strength``, ``of="predictive"``: win rates among the next ``n`` votes on each pair.

Notes
-----
The log odds that one system is preferred to another are the difference between their strengths
(Bradley and Terry 1952). Ties are more frequent between systems of similar strength (Davidson
1970). The system that is shown first may have an advantage (Davidson and Beaver 1977). One unit of
log odds corresponds to 174 points of an Elo rating.

The strengths are partially pooled, because :math:`\sigma` is estimated from the votes. Therefore,
systems with few votes, systems that won or lost all their votes, and systems that never met have
finite estimates. The prior density of :math:`\sigma` is 0 at 0. A half-normal prior, with its
largest density there, makes intervals of the extreme systems too short if all systems are similar.
Chung et al. (2013) give the same argument.

The model is not conjugate. The direct posterior uses Laplace's approximation at each scale of a
grid, corrected by importance weights.

References
----------
Bradley, R. A. & Terry, M. E. (1952). Rank analysis of incomplete block designs: I. The method of
paired comparisons. Biometrika 39, 324-345. doi:10.1093/biomet/39.3-4.324

Chung, Y., Rabe-Hesketh, S., Dorie, V., Gelman, A. & Liu, J. (2013). A nondegenerate penalized
likelihood estimator for variance parameters in multilevel models. Psychometrika 78, 685-709.
doi:10.1007/s11336-013-9328-2

Davidson, R. R. (1970). On extending the Bradley-Terry model to accommodate ties in paired
comparison experiments. Journal of the American Statistical Association 65, 317-328.
doi:10.1080/01621459.1970.10481082

Davidson, R. R. & Beaver, R. J. (1977). On extending the Bradley-Terry model to incorporate
within-pair order effects. Biometrics 33, 693-702. doi:10.2307/2529467
"""

from collections.abc import Callable

import numpy as np
import pymc as pm
import xarray as xr


def preferences(
    votes: xr.Dataset,
    *,
    spread: float | Callable = 1.0,
    first: float | Callable = 0.5,
    ties: float | Callable = 1.5,
) -> pm.Model:
    """Model votes on pairs of systems.

    Parameters
    ----------
    votes : xarray.Dataset
        ``vote_count`` (pair, winner), integers, with the winners ``"left"``, ``"right"`` and
        ``"tie"``. Coordinates ``left`` and ``right`` (pair) are the names of the two systems, and
        ``classifier`` the names of all systems. The scalar coordinate ``ordered`` is true if the
        left system was shown first.
    spread : float or callable, default 1
        Scale > 0 of the Rayleigh prior for the standard deviation of the strengths. A function from
        a name to a PyMC variable is another prior for this standard deviation.
    first : float or callable, default 0.5
        Standard deviation > 0 of the normal prior for the advantage of the system shown first, in
        log odds. A function from a name to a PyMC variable is another prior.
    ties : float or callable, default 1.5
        Standard deviation > 0 of the normal prior for log nu, which determines the frequency of
        ties. A function from a name to a PyMC variable is another prior.

    Returns
    -------
    pymc.Model
        Free variables ``spread``, ``z`` (classifier), ``first`` if the order is known, and
        ``log_tie`` if there are ties. Deterministic ``strength`` (classifier), in log odds relative
        to the mean of all systems. Observed ``votes`` (pair, winner).

    Examples
    --------
    >>> import xarray as xr
    >>> table = {"vote_count": (("pair", "winner"), [[7, 2, 1], [3, 5, 0]])}
    >>> names = {"left": ("pair", ["a", "b"]), "right": ("pair", ["b", "a"])}
    >>> names |= {"classifier": ["a", "b"], "winner": ["left", "right", "tie"], "ordered": True}
    >>> [variable.name for variable in preferences(xr.Dataset(table, names)).free_RVs]
    ['spread', 'z', 'first', 'log_tie']
    """
    if "group" in votes.coords:
        raise ValueError(
            "The model treats votes as independent, but these votes are in clusters, so its "
            "intervals would be too short. Use the direct posterior (bayescm.interval, summary, "
            "compare), or make the votes without group."
        )
    names = votes["classifier"].values.tolist()
    left, right = (
        np.array([names.index(name) for name in votes[side].values.tolist()], dtype="float64")
        for side in ("left", "right")
    )
    counts = votes["vote_count"].transpose("pair", "winner").sel(winner=["left", "right", "tie"])
    counts = counts.values.astype("float64")
    winners = ["left", "right", "tie"] if counts[:, 2].any() else ["left", "right"]
    coords = {"classifier": names, "pair": np.arange(len(counts)), "winner": winners}
    with pm.Model(coords=coords) as model:
        counted = pm.Data("vote_counts", counts[:, : len(winners)], dims=("pair", "winner"))
        left = pm.Data("left", left, dims="pair").astype("int64")
        right = pm.Data("right", right, dims="pair").astype("int64")
        # A Weibull distribution of shape 2 is a Rayleigh distribution.
        scale = (
            spread("spread")
            if callable(spread)
            else pm.Weibull("spread", alpha=2, beta=2**0.5 * spread)
        )
        z = pm.Normal("z", 0, 1, dims="classifier")
        strength = pm.Deterministic("strength", scale * (z - z.mean()), dims="classifier")
        eta = strength[left] - strength[right]
        if bool(votes["ordered"]):
            eta = eta + (first("first") if callable(first) else pm.Normal("first", 0, first))
        logits = [eta / 2, -eta / 2]
        if "tie" in winners:
            log_tie = ties("log_tie") if callable(ties) else pm.Normal("log_tie", 0, ties)
            logits.append(log_tie + 0 * eta)
        chances = pm.math.softmax(pm.math.stack(logits, axis=1), axis=1)
        total = counted.sum(axis=1)
        pm.Multinomial("votes", n=total, p=chances, observed=counted, dims=("pair", "winner"))
    return model
