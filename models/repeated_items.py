r"""Several answers to each of many items: pass@k, all of k, majorities.

.. math::

    \mu &\sim \mathrm{Beta}(\tfrac12, \tfrac12), \qquad
    \rho \sim \mathrm{Beta}(\tfrac14, 1), \qquad \phi = 1 / \rho - 1 \\
    q_m &\sim \mathrm{Beta}\bigl(\tfrac12 + \mu \phi, \; \tfrac12 + (1 - \mu) \phi\bigr),
        \qquad q_1 = 0, \quad q_2 = 1 \\
    w &\sim \mathrm{Dirichlet}(\alpha\, b) \\
    x_i &\sim \textstyle\sum_m w_m\, \mathrm{Binomial}(n_i, q_m)

Each item has its own rate of right answers. How these rates are distributed is left open: it is a
mixture of 24 rates, few of which matter a priori (``concentration`` :math:`\alpha` is 1), which is
close to a Dirichlet process mixture. Two of the rates are 0 and 1, so that items that are never or
always solved, and items in lumps, are no special cases. All others are continuous, so that one
attempt or a thousand attempts at an item are described equally well. Where they are and how much
they are alike is learned (:math:`\mu, \rho`): if all observed items are solved once in 200
attempts, others are expected to be solved about as often.

Use it for several attempts at the same items: benchmarks of language models sampled more than once,
raters who are asked again. The answers to an item are independent given its rate. One attempt at
each item determines the mean of all items like these, and nothing about how items differ: the
direct posterior then returns this mean, which is a proportion with Jeffreys' prior, and raises an
error for all other measures. It also raises an error for more answers than there are attempts:
pass@32 of eight attempts depends on rates below 1/8, about which the data say little.

Limits: with fewer than six items, results about other items depend on the prior, which counts as
one item, and carry a caution.

Not conjugate. The direct posterior samples by Gibbs sampling.

The direct posterior alone supports two things that are not in the model. Several systems on the
same items: each system has its own posterior, and their draws are put into the order of a joint
Bayesian bootstrap of the items. Items in groups, such as questions about one text: whole groups are
weighted by the weighted likelihood bootstrap
(Newton & Raftery 1994).

If the answers themselves are known (``answer`` in addition to ``correct``), the direct posterior
uses them for ``majority_at(k)``, the chance that the plurality of k answers is right. Each of 48
rates then also has one of eight ways :math:`(c, s)` in which wrong answers are shared: one of them
has the share c, the others are equally frequent among s kinds. For :math:`n` wrong answers in d
kinds, each given :math:`n_j` times,

.. math::

    P(\text{alike so}) = a(n, d) + \textstyle\sum_j c^{n_j} a(n - n_j, d - 1), \qquad
    a(n, d) = (1 - c)^n \frac{s (s - 1) \cdots (s - d + 1)}{s^n}.

The model below describes right and wrong answers only.

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
    """Model how rates of right answers are distributed between items with several attempts.

    Parameters
    ----------
    attempts : xarray.Dataset
        ``correct`` (item, attempt): 1, 0, or NaN where no attempt was made; of one system. Groups
        and slices of items are supported by the direct posterior only, and rejected here. If the
        answers themselves are known, the model describes which of them are right.
    concentration : float, default 1
        Prior pseudo-items, > 0; 1 in 25 of them is at the rates 0 and 1.

    Returns
    -------
    pymc.Model
        Free variables ``share`` (component), the share of items with each rate, ``rate`` (inner),
        the rates between 0 and 1, ``mu`` and ``rho``; observed ``right`` (item).

    Examples
    --------
    >>> import xarray as xr
    >>> table = xr.Dataset({"correct": (("item", "attempt"), [[1.0, 0.0], [1.0, 1.0]])})
    >>> [variable.name for variable in repeated_items(table).free_RVs]
    ['mu', 'rho', 'rate', 'share']
    """
    if "group" in attempts.coords:
        raise ValueError(
            "The model takes items drawn one by one, and these come in groups, which makes it too "
            "sure. Ask the direct draws (bayescm.interval, summary, compare), or leave the groups "
            'out: attempts.drop_vars("group").'
        )
    if any(str(name).startswith("slice_") for name in attempts):
        raise ValueError(
            "The model is of one sample of items, and these come in slices. Ask the direct draws "
            "(bayescm.interval, summary, compare), or make the attempts of one slice."
        )
    table = attempts["correct"].transpose("item", "attempt")
    made = table.notnull().sum("attempt").values.astype(float)
    right = table.sum("attempt").values.astype(float)
    prior = np.full(24, 0.96 / 22)
    prior[:2] = 0.02  # the rates 0 and 1
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
