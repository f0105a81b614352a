"""
Which batches are compared, if classes were added or the batches have seasons.

The rule `change` compares numbers of parts (the answers to each class) before and after each batch,
by the marginal likelihood of a Dirichlet-multinomial distribution. Two facts make some numbers not
comparable.

**Classes.** A class that was added later could not be the answer before: a zero there is not an
observation. The distribution factors into answers among the first classes and, for each addition,
the answers among the new classes and all earlier ones together,

    Dirichlet(a_1, ..., a_K):   (x_1, ..., x_k) given their sum, and (sum, x_k+1, ..., x_K),

which are independent. Batches from before an addition have no numbers in its second factor.

**Seasons.** Each phase, such as a day of the week, has its own table. A change is one in all of
them at the same batch.

Both leave the Bayes factor a ratio of marginal likelihoods of the same batches, so that the bound
on false alarms holds (see `bayes_factor`).
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import xarray as xr

from bayescm.evidence.evidence_type import ChangeStatistic
from bayescm.online.bayes_factor import log_evidence_of_events, score_of

CLASSES, PHASE = "classes", "phase"  # coords of batches


def comparable(
    statistic: ChangeStatistic, prior: np.ndarray | None, batches: xr.DataArray
) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """
    Return the numbers that the rule `change` compares, and their log marginal likelihood.

    Parameters
    ----------
    statistic : ChangeStatistic
    prior : ndarray, shape (..., K), optional
        Pseudo-counts, of numbers of parts.
    batches : DataArray, dims (step, ...)
        With the coord ``classes`` (the number of classes that each could have, -1 for all) if
        classes were added, and ``phase`` if there are seasons.

    Returns
    -------
    numbers : ndarray, shape (T, rows, columns)
    score : callable
        From sums of the numbers (..., rows, columns) to (...).
    """
    numbers = statistic.numbers
    phase, classes = _values(batches, PHASE), _values(batches, CLASSES)
    if phase is None and classes is None:
        return numbers, log_evidence_of_events if prior is None else score_of(prior, "answers")
    if classes is not None and not statistic.parts_are_classes:
        # The numbers are of all classes together, so that batches with others are not comparable.
        phase = classes if phase is None else _together(phase, classes)
        classes = None
    if prior is None:
        return _by_phase(numbers, phase), log_evidence_of_events
    factors = [(numbers, prior)] if classes is None else _factors(numbers, prior, classes)
    parts, scores, first = [], [], 0
    for part, part_prior in factors:
        columns = slice(first, first + part.shape[-1])
        first = columns.stop
        number = 1 if phase is None else len(np.unique(phase))
        parts.append(_by_phase(part, phase))
        tiled = np.concatenate([part_prior] * number)
        scores.append((columns, score_of(tiled, "answers")))

    def score(cells, *log_ratio):
        return sum(each(cells[..., columns], *log_ratio) for columns, each in scores)

    return np.concatenate(parts, axis=-1), score


def _values(batches, name):
    return batches.coords[name].values if name in batches.coords else None


def _together(first, second):
    """Return one number for each pair of values."""
    pairs = np.stack([np.unique(part, return_inverse=True)[1] for part in (first, second)], axis=1)
    return np.unique(pairs, axis=0, return_inverse=True)[1].ravel()


def _by_phase(numbers, phase):
    """Return numbers (T, R, K) with rows for each phase, (T, P R, K)."""
    if phase is None:
        return numbers
    phases, index = np.unique(phase, return_inverse=True)
    rows = np.zeros((len(numbers), len(phases), *numbers.shape[1:]), numbers.dtype)
    rows[np.arange(len(numbers)), index] = numbers
    return rows.reshape(len(numbers), -1, numbers.shape[-1])


def _factors(numbers, prior, classes):
    """Return the numbers of the first classes and of each addition, with their priors."""
    size = numbers.shape[-1]
    known = np.where(classes < 0, size, classes)
    ends = sorted({*known.tolist(), size})
    factors = [(numbers[..., : ends[0]], prior[..., : ends[0]])]
    for before, after in pairwise(ends):
        could = (known >= after).reshape(-1, *[1] * (numbers.ndim - 1))
        factors.append(
            (_one_and_others(numbers, before, after) * could, _one_and_others(prior, before, after))
        )
    return factors


def _one_and_others(values, before, after):
    """Return the sum over the earlier classes, and the values of those that were added."""
    earlier = values[..., :before].sum(axis=-1, keepdims=True)
    return np.concatenate([earlier, values[..., before:after]], axis=-1)
