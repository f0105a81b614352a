"""
Simulated experiment 1 of Wang and Li (2016): how closely a beta approximates the average posterior.

References
----------
Wang, Y. & Li, J. (2016). Credible intervals for precision and recall based on a K-fold
cross-validated beta distribution. Neural Computation, 28(8), 1694-1722. doi:10.1162/NECO_a_00857
"""

import numpy as np
import pandas as pd

from bayescm.direct import averaged_folds
from bayescm.measures.catalogue import resolve
from bayescm.simulation.journal import generator
from bayescm.studies.cross_validated import CrossValidated
from bayescm.studies.populations import Gaussians


def densities(learner: str = "tree", *, seed: int = 0, points: int = 201) -> pd.DataFrame:
    """
    Return densities of the averaged precision and recall of one cross-validation.

    Parameters
    ----------
    learner : {"tree", "svm"}
    seed : int
        Seed of the sample of 200 examples with five features.
    points : int
        Number of points of each curve.

    Returns
    -------
    pandas.DataFrame
        Columns ``measure``, ``curve``, ``x`` and ``density``. The curves: ``beta, rho = 0`` and
        ``beta, rho = 1/K`` (proposition 2), and ``independent``, the exact distribution of the
        mean of independent folds.

    Examples
    --------
    >>> densities(points=50)["curve"].unique().tolist()
    ['beta, rho = 0', 'beta, rho = 1/K', 'independent']
    """
    gamma = 0.5 if learner == "svm" else None
    source = CrossValidated(Gaussians(5, 0.2, 1), learner, 200, gamma=gamma)
    cells = source.generate(generator(seed, 0))[0].values
    readings = {
        "beta, rho = 0": averaged_folds(cells, concentration=1.0, rho=0.0),
        "beta, rho = 1/K": averaged_folds(cells, concentration=1.0),
        "independent": averaged_folds(cells, concentration=1.0, average="independent"),
    }
    rows = []
    for measure in ("precision", "recall"):
        widest = readings["beta, rho = 1/K"].distribution(resolve(measure))
        x = np.linspace(widest.quantile(1e-4), widest.quantile(1 - 1e-4), points)
        for curve, posterior in readings.items():
            density = posterior.distribution(resolve(measure)).pdf(x)
            rows.append(
                pd.DataFrame({"measure": measure, "curve": curve, "x": x, "density": density})
            )
    return pd.concat(rows, ignore_index=True)
