r"""Model for several answers to each of many items, such as pass@k of language models.

.. math::

    \mu &\sim \mathrm{Beta}(\tfrac12, \tfrac12), \qquad
        \rho \sim \mathrm{Beta}(\tfrac14, 1), \qquad \phi = 1 / \rho - 1 \\
    q_m &\sim \mathrm{Beta}(\tfrac12 + \mu \phi, \; \tfrac12 + (1 - \mu) \phi),
        \qquad q_1 = 0, \quad q_2 = 1 \\
    w &\sim \mathrm{Dirichlet}(\alpha\, b) \\
    x_i &\sim \textstyle\sum_m w_m\, \mathrm{Binomial}(n_i, q_m)

Item i has :math:`n_i` answers, :math:`x_i` of them right. The rates :math:`q_3, \dots, q_{24}` have
the beta prior.

Parameters
----------
+----------------+-----------------------+-----------------------------------+---------------------+
| symbol         | meaning               | prior                             | keyword             |
+================+=======================+===================================+=====================+
| :math:`\mu`,   | location of the rates | Beta(0.5, 0.5)                    | –                   |
| ``mu``         | between 0 and 1       |                                   |                     |
+----------------+-----------------------+-----------------------------------+---------------------+
| :math:`\rho`,  | how much these rates  | Beta(0.25, 1)                     | –                   |
| ``rho``        | differ                |                                   |                     |
+----------------+-----------------------+-----------------------------------+---------------------+
| :math:`q_m`,   | rate of right answers | Beta; two rates are fixed at 0    | –                   |
| ``rate``       | of component m        | and 1                             |                     |
+----------------+-----------------------+-----------------------------------+---------------------+
| :math:`w`,     | share of items with   | Dirichlet(:math:`\alpha b`)       | –                   |
| ``share``      | each rate             |                                   |                     |
+----------------+-----------------------+-----------------------------------+---------------------+
| :math:`\alpha` | number of items that  | fixed, 1                          | ``concentration=1`` |
|                | the prior is worth    |                                   |                     |
+----------------+-----------------------+-----------------------------------+---------------------+
| :math:`b`      | prior shares of the   | fixed: 0.02 for the rates 0 and   | –                   |
|                | components            | 1, and 0.96 / 22 for each other   |                     |
+----------------+-----------------------+-----------------------------------+---------------------+

When to use it
--------------
Use it for several attempts at the same items: benchmarks of language models that are sampled more
than once, or repeated ratings. Answers to an item are independent given its rate.

When not to use it
------------------
* Each item has a score instead of right and wrong answers: use `item_scores`.
* There is one attempt at each item, and you need more than the mean. One attempt contains no
  information about how items differ. The direct posterior returns the mean only, with Jeffreys'
  prior.
* You need ``pass@k`` for more than the number of attempts, such as ``pass@32`` from eight. It
  depends on rates below 1/8, on which the data contain little information, so an error is raised.
* There are fewer than six items: results about other items then depend on the prior, and a caution
  is added.

Estimands
---------
* ``share``, ``of="parameter"`` or ``"population"``: the mean of the measure over the population of
  items.
* ``share_item``, ``of="finite"``: the mean of the measure over the observed items.
* ``share_new``, ``of="new"``: the measure of one new item.
* ``share_item``, ``of="predictive"``: the measure in one further run at the observed items.

Only the direct posterior provides ``share_item`` and ``share_new``.

Notes
-----
The model makes no assumption about the shape of the distribution of rates. With few pseudo-items,
few of the 24 components matter, which is close to a Dirichlet process mixture (Ishwaran and
Zarepour 2002). Items that are never or always solved have separate components. All other rates are
continuous, so that one attempt and a thousand attempts are described equally well. If all observed
items are solved once in 200 attempts, other items are expected to be solved about as often.

The model is not conjugate. The direct posterior uses Gibbs sampling (Diebolt and Robert 1994).

The direct posterior supports two designs that this PyMC model does not:

* Several systems on the same items. Each system has its own posterior. Their draws are put in the
  order of a joint Bayesian bootstrap of the items.
* Items in groups, such as questions about one text. The weighted likelihood bootstrap (Newton and
  Raftery 1994) weights whole groups.

If the answers themselves are known (``answer`` in addition to ``correct``), the direct posterior
uses them for ``majority_at(k)``. This is the probability that the plurality of k answers is right.
Each of 48 rates then also has one of eight patterns :math:`(c, s)` of wrong answers. One wrong
answer has the share c, and s others are equally frequent. For n wrong answers of d kinds, each
given :math:`n_j` times,

.. math::

    P(n_1, \dots, n_d) = a(n, d) + \textstyle\sum_j c^{n_j} a(n - n_j, d - 1), \qquad
    a(n, d) = (1 - c)^n \frac{s (s - 1) \cdots (s - d + 1)}{s^n}.

This PyMC model describes right and wrong answers only.

References
----------
Diebolt, J. & Robert, C. P. (1994). Estimation of finite mixture distributions through Bayesian
sampling. Journal of the Royal Statistical Society B 56, 363-375.
doi:10.1111/j.2517-6161.1994.tb01985.x

Ishwaran, H. & Zarepour, M. (2002). Exact and approximate sum representations for the Dirichlet
process. Canadian Journal of Statistics 30, 269-283. doi:10.2307/3315951

Newton, M. A. & Raftery, A. E. (1994). Approximate Bayesian inference with the weighted likelihood
bootstrap. Journal of the Royal Statistical Society B 56, 3-48.
doi:10.1111/j.2517-6161.1994.tb01956.x
"""

import numpy as np
import pymc as pm
import xarray as xr


def repeated_items(attempts: xr.Dataset, *, concentration: float = 1.0) -> pm.Model:
    """Model the distribution over items of the rate of right answers.

    Parameters
    ----------
    attempts : xarray.Dataset
        ``correct`` (item, attempt) of one system: 1, 0, or NaN if no attempt was made. Groups and
        slices of items are rejected here. The direct posterior supports them. If the answers
        themselves are known, the model describes which of them are right.
    concentration : float, default 1
        Number of prior pseudo-items, > 0. One in 25 of them has the rate 0 or 1.

    Returns
    -------
    pymc.Model
        Free variables ``share`` (component), the share of items with each rate, ``rate`` (inner),
        the rates between 0 and 1, ``mu`` and ``rho``. Observed ``right`` (item).

    Examples
    --------
    >>> import xarray as xr
    >>> table = xr.Dataset({"correct": (("item", "attempt"), [[1.0, 0.0], [1.0, 1.0]])})
    >>> [variable.name for variable in repeated_items(table).free_RVs]
    ['mu', 'rho', 'rate', 'share']
    """
    if "group" in attempts.coords:
        raise ValueError(
            "The model treats items as independent, but these items are in groups, so its "
            "intervals would be too short. Use the direct posterior (bayescm.interval, summary, "
            'compare), or drop the groups: attempts.drop_vars("group").'
        )
    if any(str(name).startswith("slice_") for name in attempts):
        raise ValueError(
            "The model supports one sample of items, but these items are in slices. Use the direct "
            "posterior (bayescm.interval, summary, compare), or select one slice."
        )
    table = attempts["correct"].transpose("item", "attempt")
    made = table.notnull().sum("attempt").values.astype(float)
    right = table.sum("attempt").values.astype(float)
    prior = np.full(24, 0.96 / 22)
    # The first two components have the rates 0 and 1.
    prior[:2] = 0.02
    coords = {"item": np.arange(len(made)), "component": np.arange(24), "inner": np.arange(2, 24)}
    with pm.Model(coords=coords) as model:
        mu = pm.Beta("mu", 0.5, 0.5)
        rho = pm.Beta("rho", 0.25, 1.0)
        phi = 1 / rho - 1
        inner = pm.Beta("rate", 0.5 + mu * phi, 0.5 + (1 - mu) * phi, dims="inner")
        share = pm.Dirichlet("share", concentration * prior, dims="component")
        rate = pm.math.concatenate([[0.0, 1.0], inner])
        parts = pm.Binomial.dist(n=made[:, None], p=rate, shape=(len(made), 24))
        pm.Mixture("right", share, parts, observed=right, dims="item")
    return model
