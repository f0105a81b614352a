"""Measures of chosen classes by name, such as ``recall[cat]``, and averages over some of them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from bayescm.measures.kernel import AVERAGES, Measure, every_class, one_vs_rest
from bayescm.validate import fail, suggest


def of_classes(measure: Measure, chosen: Sequence[str]) -> Measure:
    """
    Return the measure of one chosen class, or the average over several.

    Parameters
    ----------
    measure : Measure
        Of one class; of the whole matrix, which is then that of the class and the rest; or an
        average.
    chosen : sequence of str
        The labels, as texts; `bound` finds them among those of the evidence.
    """
    if len(chosen) > 1 and not measure.average:
        todo = f"name one, or average: {measure.__name__}_macro[{','.join(chosen)}]"
        raise fail("several classes of a measure that is no average", chosen, "one class", todo)
    if measure.takes != "cells":
        todo = "ask for the measure and select the class of the answer"
        raise fail("classes by name are of counts", measure.__name__, "a measure of cells", todo)
    if measure.abstentions != "left out":
        todo = "take the measure of the answered examples"
        raise fail("a measure of all examples has no chosen classes", measure.__name__, "", todo)
    written = f"[{','.join(chosen)}]"
    made = replace(
        measure,
        canonical=measure.canonical and measure.canonical + written,
        compute=_not_bound,
        one_class=False,
        needs_positive=False,
        symmetry_assumed=False,
        form=None,
        unit=None,
        part=(_not_bound, measure),
        chosen=tuple(chosen),
    )
    return made.called(measure.__name__ + written)


def _not_bound(cells):
    raise fail("classes by name", ..., "evidence with labels", "ask labelled counts for it")


def bound(measure: Measure, labels: Iterable) -> Measure:
    """Return the measure of the classes that it names, by the labels of the cells."""
    if not measure.chosen or measure.part is None:
        return measure
    names = [str(label) for label in labels]
    for each in measure.chosen:
        if each not in names:
            raise fail("no such class", each, names, suggest(each, names))
    base, places = measure.part[1], [names.index(each) for each in measure.chosen]
    if base.average:
        of_some = partial(_average_of, formula=base.formula, how=base.average, places=places)
        base, reduce = replace(base, compute=of_some, form=None), partial(_table, size=len(names))
    else:
        reduce = partial(_one_table, place=places[0], size=len(names))
    return replace(measure, compute=partial(_of_table, reduce, base), part=(reduce, base))


def _average_of(cells, formula, how, places):
    return AVERAGES[how](formula, *(each[..., places] for each in every_class(cells)))


def _table(cells, size):
    """Return the cells of the classes, without the row and column of an abstention."""
    return cells[..., :size, :size]


def _one_table(cells, place, size):
    """Return [[tn, fp], [fn, tp]] of one of the classes."""
    return one_vs_rest(_table(cells, size))[..., place, :, :]


def _of_table(reduce, base, cells):
    return base.compute(reduce(cells))
