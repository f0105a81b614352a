"""Plug-in estimates of groups that differ: of their average, and of the one in the middle.

A large group tells more of itself than a small one, and no more of the others than one group does:
each weighs as the variance between groups and its own say.
"""

import numpy as np
from scipy.special import expit, logit


def average_cells(cells: np.ndarray) -> np.ndarray:
    """
    Return the cells of the average over all groups.

    Parameters
    ----------
    cells : ndarray, shape (G, ..., C, C)
        Counts of the groups, of which some may lack a class.

    Returns
    -------
    ndarray, shape (..., C, C)
        The average shares of the classes times the average rates of each; NaN in the row of a class
        that no group has.

    References
    ----------
    Kleinman, J. C. (1973). Proportions with extraneous variance: single and independent samples.
    Journal of the American Statistical Association 68, 46-54. doi:10.1080/01621459.1973.10481332
    """
    return _average(cells.sum(-1))[..., None] * _average(cells)


def _average(counts):
    """Return the average shares (..., C) of counts (G, ..., C)."""
    size = counts.sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = counts.sum(0) / size.sum(0)[..., None]
        own = np.nan_to_num(counts / size[..., None])
        seen = (size > 0).sum(0)
        # The correlation of two examples of one group, by the variance between groups.
        between = (size * ((own - pooled) ** 2).sum(-1)).sum(0) / (pooled * (1 - pooled)).sum(-1)
        spare = (np.maximum(size - 1, 0) * (1 - size / size.sum(0))).sum(0)
        rho = np.clip(np.nan_to_num((between - (seen - 1)) / spare), 0, 1)
        weight = np.where(size > 0, size / (1 + (size - 1) * rho), 0)
        return (weight[..., None] * own).sum(0) / weight.sum(0)[..., None]


def typical_cells(cells: np.ndarray) -> np.ndarray:
    """
    Return the cells of the group in the middle, of two classes: rates that are means of logits.

    Parameters
    ----------
    cells : ndarray, shape (G, ..., 2, 2)

    Returns
    -------
    ndarray, shape (..., 2, 2)

    References
    ----------
    DerSimonian, R. & Laird, N. (1986). Meta-analysis in clinical trials. Controlled Clinical Trials
    7, 177-188. doi:10.1016/0197-2456(86)90046-2
    """
    positives = _middle(cells[..., 1, :].sum(-1), cells[..., 0, :].sum(-1))
    recall, specificity = (
        _middle(cells[..., 1, 1], cells[..., 1, 0]),
        _middle(cells[..., 0, 0], cells[..., 0, 1]),
    )
    rows = [
        [(1 - positives) * specificity, (1 - positives) * (1 - specificity)],
        [positives * (1 - recall), positives * recall],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _middle(hits, misses):
    """Return the rate (...) that is the mean on the logit scale, of hits and misses (G, ...)."""
    seen = hits + misses > 0
    at = logit((hits + 0.5) / (hits + misses + 1))
    own = 1 / (hits + 0.5) + 1 / (misses + 0.5)
    weight = seen / own
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (weight * at).sum(0) / weight.sum(0)
        excess = (weight * (at - mean) ** 2).sum(0) - (seen.sum(0) - 1)
        spare = weight.sum(0) - (weight**2).sum(0) / weight.sum(0)
        between = np.maximum(np.nan_to_num(excess / spare), 0)
        weight = seen / (own + between)
        return expit((weight * at).sum(0) / weight.sum(0))


def at_reference(cells: np.ndarray, design: np.ndarray) -> np.ndarray:
    """
    Return the cells of groups as they would be if their covariates were 0.

    Parameters
    ----------
    cells : ndarray, shape (G, ..., 2, 2)
    design : ndarray, shape (G, Q)

    Returns
    -------
    ndarray, shape (G, ..., 2, 2)
        As many examples in every group; its logits moved along least-squares slopes.
    """
    size = cells.sum((-2, -1))
    positives = size * _moved(cells[..., 1, :].sum(-1), cells[..., 0, :].sum(-1), design)
    found = positives * _moved(cells[..., 1, 1], cells[..., 1, 0], design)
    left = (size - positives) * _moved(cells[..., 0, 0], cells[..., 0, 1], design)
    rows = [[left, size - positives - left], [positives - found, found]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _moved(hits, misses, design):
    """Return the rates (G, ...) where the covariates are 0."""
    at = logit((hits + 0.5) / (hits + misses + 1))
    weight = np.sqrt((hits + misses > 0) / (1 / (hits + 0.5) + 1 / (misses + 0.5)))
    wide = np.concatenate([np.ones((len(design), 1)), design], axis=1)
    flat, root = at.reshape(len(at), -1), weight.reshape(len(at), -1)
    slopes = [
        np.linalg.lstsq(own[:, None] * wide, own * each, rcond=None)[0][1:]
        for each, own in zip(flat.T, root.T, strict=True)
    ]
    return expit(flat - design @ np.array(slopes).T).reshape(at.shape)
