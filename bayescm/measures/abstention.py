"""
Measures where the last label is an abstention: what of the cells counts.

By default measures are of the answered examples, whose cells are those without the last row and
column. All that is done to the cells is to leave out or to add up, so that the distribution of the
measure of a Dirichlet distribution is one of a Dirichlet distribution again.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from bayescm.measures.catalogue import accuracy
from bayescm.measures.kernel import AVERAGES, Measure, one_vs_rest


def with_abstentions(measure: Measure) -> Measure:
    """
    Return the measure of cells whose last row and column are an abstention.

    Examples
    --------
    >>> from bayescm.measures.catalogue import recall, recall_of_all
    >>> cells = np.array([[50, 10, 5], [5, 25, 10], [0, 0, 0]])
    >>> values = [with_abstentions(each)(cells) for each in (recall, recall_of_all)]
    >>> [round(float(each), 3) for each in values]
    [0.833, 0.625]
    """
    if measure.part is not None:
        return measure  # it knows
    if measure.abstentions == "left out":
        return _of(_answered, measure)
    if measure.abstentions == "all":
        return _of(_whether_answered, accuracy.called(measure.__name__), measure)
    if measure.average:
        mean = partial(_mean_of_tables, formula=measure.formula, how=measure.average)
        return _of(_each_class, replace(measure, compute=mean, form=None))
    return _of(_each_class, measure) if measure.one_class else measure


def _of(reduce, base, like=None):
    """Return the measure of the reduced cells; its form is that of the part."""
    compute = partial(_reduced, reduce=reduce, base=base)
    return replace(like or base, compute=compute, form=None, part=(reduce, base))


def _reduced(cells, reduce, base):
    return base.compute(reduce(cells))


def _answered(cells):
    return cells[..., :-1, :-1]


def _whether_answered(cells):
    """Return [[answered, not], [0, 0]]."""
    answered = np.einsum("...ij->...", cells[..., :-1])
    without = np.einsum("...i->...", cells[..., -1])
    none = np.zeros_like(answered)
    return np.stack([np.stack([answered, without], -1), np.stack([none, none], -1)], -2)


def _each_class(cells):
    """Return the table of each class against the rest; of two the positive one's."""
    tables = one_vs_rest(cells)[..., :-1, :, :]
    return tables[..., 1, :, :] if tables.shape[-3] == 2 else tables


def _mean_of_tables(tables, formula, how):
    tn, fp, fn, tp = (tables[..., i, j] for i in (0, 1) for j in (0, 1))
    return AVERAGES[how](formula, tp, fn, fp, tn)
