r"""Several answers to each of many items: pass@k, all of k, majorities.

.. math::

    w &\sim \mathrm{Dirichlet}(\alpha\, b) \\
    p_i &\sim \textstyle\sum_m w_m\, \delta(q_m), \qquad q_m = \sin^2(\pi m / 2M) \\
    x_i &\sim \mathrm{Binomial}(n_i, p_i)

Each item has a rate of right answers of its own. How these rates are distributed is left open: the
mixture has a share for each of 21 rates from 0 to 1, closer where rates are extreme, of which few
matter a priori (``concentration`` is 1). Items that are always or never solved, and items in lumps,
are no special cases.

Use it for several attempts at the same items: benchmarks of language models sampled more than once,
raters who are asked again. The answers to an item are independent given its rate. One attempt at
each item tells the mean of all items like these and nothing about how items differ: the direct
posterior answers for that mean, which is then a proportion with Jeffreys' prior, and refuses the
rest. Nor does it reach beyond the number of
attempts: pass@32 of eight attempts depends on what rates below 1/8 do, which is not in the data.

Limits: ``concentration`` 0 is the maximum likelihood estimate of the mixture (Kiefer and Wolfowitz)
with the sampling error of its items.

Not conjugate. The direct posterior draws from the posterior by Gibbs sampling, in which
neighbouring shares also exchange what they have. Fewer than five items say little of others, and
answers about these carry a caution: the prior counts as one item more.

Two things are not in the model, and the direct posterior alone has them, by the weighted likelihood
bootstrap: how several systems depend on one another that answered the same items, where all of them
weigh the items alike; and items that come in groups (questions about one text), where whole groups
are weighed.

Where the answers themselves are known (``answer`` beside ``correct``), the direct draws alone know
them too, and only for ``majority_at(k)``, the chance that the plurality of k answers is right. Each
item then also has one of eight ways :math:`(c, s)` in which its wrong answers are shared: one of
them with the share c, the others alike among s kinds. Of :math:`n` wrong answers in d kinds, each
given :math:`n_j` times,

.. math::

    P(\text{alike so}) = a(n, d) + \textstyle\sum_j c^{n_j} a(n - n_j, d - 1), \qquad
    a(n, d) = (1 - c)^n \frac{s (s - 1) \cdots (s - d + 1)}{s^n}.

The model below is of right and wrong ones alone.

References
----------
Diebolt, J. & Robert, C. P. (1994). Estimation of finite mixture distributions through Bayesian
sampling. Journal of the Royal Statistical Society B 56, 363-375.
doi:10.1111/j.2517-6161.1994.tb01985.x

Newton, M. A. & Raftery, A. E. (1994). Approximate Bayesian inference with the weighted likelihood
bootstrap. Journal of the Royal Statistical Society B 56, 3-48.
doi:10.1111/j.2517-6161.1994.tb01956.x
"""

import numpy as np
import pymc as pm
import xarray as xr


def repeated_items(attempts: xr.Dataset, *, concentration: float = 1.0) -> pm.Model:
    """Model how the rates of items are distributed that were answered several times.

    Parameters
    ----------
    attempts : xarray.Dataset
        ``correct`` (item, attempt): 1, 0, or NaN where no attempt was made; of one system.
        Groups and slices of items are known to the direct draws alone, and refused here. Of answers
        that are known themselves the model is of which are right.
    concentration : float, default 1
        Prior pseudo-items, > 0; a tenth of them are at the rates 0 and 1.

    Returns
    -------
    pymc.Model
        Free variable ``share`` (rate), the share of items with each rate; observed ``right``
        (item).

    Examples
    --------
    >>> import xarray as xr
    >>> table = xr.Dataset({"correct": (("item", "attempt"), [[1.0, 0.0], [1.0, 1.0]])})
    >>> [variable.name for variable in repeated_items(table).free_RVs]
    ['share']
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
    support = np.sin(np.linspace(0, np.pi / 2, 21)) ** 2
    prior = np.full(21, 0.9 / 19)
    prior[[0, -1]] = 0.05
    coords = {"item": np.arange(len(made)), "rate": support.round(6)}
    with pm.Model(coords=coords) as model:
        share = pm.Dirichlet("share", concentration * prior, dims="rate")
        parts = pm.Binomial.dist(n=made[:, None], p=support, shape=(len(made), 21))
        right = table.sum("attempt").values.astype(float)
        pm.Mixture("right", share, parts, observed=right, dims="item")
    return model
