"""Outcomes of several classifiers as arrays, and as a matrix of each: numpy alone."""

import numpy as np

_FEW = 5  # classes up to which a product of matrices beats sorting the outcomes


def arrays(outcomes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return outcomes as arrays, each outcome once.

    Returns
    -------
    counts : ndarray, shape (..., M)
    actual : ndarray of int, shape (M,)
        Place of the truth in ``label``.
    predicted : ndarray of int, shape (J, M)
        Place of each classifier's answer.
    """
    known = outcomes.variables  # bare: a labelled array of each takes longer than what is done
    place = {label: index for index, label in enumerate(known["label"].values.tolist())}
    answers = known["predicted"].transpose("classifier", "outcome").values.tolist()
    rows = [known["actual"].values.tolist(), *answers]
    codes = np.array([[place[label] for label in row] for row in rows], np.int64)
    # A selection of classifiers leaves outcomes that differ no more.
    codes, inverse = np.unique(codes, axis=1, return_inverse=True)
    given = known["counts"].transpose(..., "outcome").values
    counts = np.zeros((*given.shape[:-1], codes.shape[1]), given.dtype)
    for index, each in enumerate(inverse.ravel()):
        counts[..., each] += given[..., index]
    return counts, codes[0], codes[1:]


def pour(weights, actual, predicted, classes: int) -> np.ndarray:
    """
    Add outcome weights up into each classifier's own matrix.

    Parameters
    ----------
    weights : ndarray, shape (..., M)
        Counts or probabilities of the outcomes.
    actual, predicted : ndarray of int, shape (M,) and (J, M)
        Class indices of the truth and of each classifier's answer.
    classes : int
        Number of classes C.

    Returns
    -------
    ndarray, shape (..., J, C, C)
    """
    if classes <= _FEW and weights.dtype.kind == "f" and weights.ndim > 1:
        return _poured(weights, actual * classes + predicted, classes)
    total = np.zeros((*weights.shape[:-1], len(predicted), classes**2), weights.dtype)
    for judge, answers in enumerate(predicted):
        code = actual * classes + answers
        order = np.argsort(code, kind="stable")
        cells, starts = np.unique(code[order], return_index=True)
        if len(cells) == len(code):
            total[..., judge, code] = weights
        elif len(cells):
            total[..., judge, cells] = np.add.reduceat(weights[..., order], starts, axis=-1)
    return total.reshape(*total.shape[:-1], classes, classes)


def _poured(weights, code, classes):
    """Add draws up to tables."""
    cells = np.arange(classes**2)[:, None] == code[:, None, :]
    total = added(weights, cells.reshape(-1, code.shape[-1]))
    return total.reshape(*total.shape[:-1], len(code), classes, classes)


def added(weights: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """
    Add up weights (..., M) that are chosen (K, M), (..., K), by a product of matrices.

    Equal choices are added once, so that twins stay equal.
    """
    known: dict[bytes, int] = {}
    place = [known.setdefault(each.tobytes(), len(known)) for each in np.packbits(chosen, axis=1)]
    distinct = chosen[np.unique(place, return_index=True)[1]]
    return (weights @ distinct.T.astype(weights.dtype))[..., place]
