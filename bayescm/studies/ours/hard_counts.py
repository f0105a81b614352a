"""
Intervals of hostile matrices, each compared with draws of its own.

Drawn are a size from 1 to 1e9 examples, shares of the classes from balanced to 1 : 1e6, rates down
to a thousandth, then a matrix, a tenth of whose cells is emptied, and a concentration from .01 to
10. Of each matrix one interval is asked, equal-tailed or of highest density, of a mass from .5 to
.999. It is wrong where it is reversed or outside the range, where its error is not a finite number,
or where a tail is not that of the draws.
"""

from typing import Any

import numpy as np
import pandas as pd

from bayescm import __version__
from bayescm.direct import dirichlet_multinomial
from bayescm.distributions import dirichlet
from bayescm.measures.catalogue import names, resolve
from bayescm.studies.tables import Settings, chosen
from bayescm.validate import check_choice

MEASURES = [each for each in names() if resolve(each).form]
MEASURES += ["fbeta(2)", "cost([[0,1],[5,0]])"]
CASES = dict(enumerate(MEASURES, start=1))
TABLES = ("matrices",)
PROBS = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
_DRAWS, _TOGETHER = 50_000, 20


def matrices(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """
    Draw hostile matrices and their concentrations.

    Parameters
    ----------
    rng : numpy.random.Generator
    size : int

    Returns
    -------
    ndarray (size, 2, 2), ndarray (size,)
    """
    share, fpr = _share(rng, size, 6), _share(rng, size, 3)
    recall = _share(rng, size, 3)
    theta = np.stack(
        [(1 - share) * (1 - fpr), (1 - share) * fpr, share * (1 - recall), share * recall], -1
    )
    theta /= theta.sum(-1, keepdims=True)
    totals = (10 ** rng.uniform(0, 9, size)).astype(int)
    cells = rng.multinomial(totals, theta).astype(float)
    cells[rng.random(cells.shape) < 0.1] = 0
    return cells.reshape(-1, 2, 2), 10 ** rng.uniform(-2, 1, size)


def _share(rng, size, digits):
    """Draw shares whose smaller side is from a half down to so many digits."""
    small = 10 ** rng.uniform(-digits, np.log10(0.5), size)
    return np.where(rng.random(size) < 0.5, small, 1 - small)


def table(
    name: str = "matrices", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Ask for intervals of hostile matrices and count what is wrong.

    Parameters
    ----------
    name : {"matrices"}
    case : int, optional
        The number of a measure; all by default.
    settings : Settings, optional
        How many matrices of each measure and kind, and the seed.

    Returns
    -------
    DataFrame
        One row per measure and kind: ``matrices``; ``missing``, ``reversed``, ``outside`` and
        ``unknown_error``, how many intervals are none; ``wrong``, how many have a tail that is not
        that of draws; ``understated``, how many are off by more than twice the error that is
        stated; and ``largest_error``, in parts of the bound where it
        is above 1.
    """
    check_choice("table", name, list(TABLES))
    settings = settings or Settings()
    rows = [
        _row(each, CASES[each], kind, settings)
        for each in chosen(CASES, case)
        for kind in ("eti", "hdi")
    ]
    return pd.DataFrame(rows)


def _row(case, name, kind, settings):
    stream = np.random.SeedSequence(settings.seed, spawn_key=(case, kind == "hdi"))
    rng, found = np.random.default_rng(stream), []
    for start in range(0, settings.replications, _TOGETHER):
        size = min(_TOGETHER, settings.replications - start)
        found.append(_checked(name, kind, float(rng.choice(PROBS)), *matrices(rng, size), rng))
    numbers = {key: np.concatenate([each[key] for each in found]) for key in found[0]}
    row = {"case": case, "measure": name, "kind": kind, "matrices": settings.replications}
    row["largest_error"] = float(np.nanmax(numbers.pop("error")))
    row |= {key: int(values.sum()) for key, values in numbers.items()}
    return row | {"seed": settings.seed, "version": __version__}


def _checked(name, kind, prob, cells, concentration, rng):
    """Return of each matrix what is wrong with its interval."""
    measure, prior = resolve(name), np.broadcast_to(concentration[:, None, None], cells.shape)
    posterior = dirichlet_multinomial(cells, concentration=prior)
    distribution = posterior.distribution(measure)
    ends, error = distribution.checked(prob, kind)
    (low, high), (least, most) = ends.T, distribution.support
    wrong, understated = [], []
    for weights, own, its in zip(posterior.weights, ends, error, strict=True):
        values = measure(dirichlet.draw(weights, _DRAWS, rng, axes=2))
        wrong.append(tail_is_wrong(values, own, prob, kind))
        understated.append(tail_is_wrong(values, own, prob, kind, slack=2 * its, share=0.0))
    return {
        "missing": np.isnan(ends).any(-1),
        "reversed": low > high,
        "outside": (low < least) | (high > most),
        "unknown_error": ~np.isfinite(error).all(-1),
        "wrong": np.array(wrong),
        "understated": np.array(understated),
        "error": (error / np.maximum(1, np.abs(ends))).max(-1),
    }


def tail_is_wrong(
    values: np.ndarray,
    ends: np.ndarray,
    prob: float,
    kind: str,
    *,
    slack: np.ndarray | float = 0.0,
    share: float = 0.1,
) -> bool:
    """
    Say whether tails differ from those of draws by a tenth and five standard errors.

    Parameters
    ----------
    values : ndarray (size,)
        Draws; many may equal an end.
    ends : ndarray (2,)
    prob : float
    kind : {"eti", "hdi"}
        Of the latter only the sum of the tails is known.
    slack : ndarray (2,) or float
        By how much an end may be off.
    share : float
        By how much of itself a tail may be.
    """
    values = values[~np.isnan(values)]
    (low, high), same = ends, slack + 1e-12 * np.maximum(1, np.abs(ends))  # a measure's rounding
    beyond: Any = np.array([(values < low - same[0]).mean(), (values > high + same[1]).mean()])
    reached: Any = np.array([(values <= low + same[0]).mean(), (values >= high - same[1]).mean()])
    tail: Any = np.full(2, (1 - prob) / 2)
    if kind == "hdi":
        beyond, reached, tail = beyond.sum(), reached.sum(), 1 - prob
    allowed = share * tail + 5 * np.sqrt(tail / len(values))
    return bool((beyond > tail + allowed).any() or (reached < tail - allowed).any())
