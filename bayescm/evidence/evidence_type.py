"""What a type of evidence is: how it is recognised and checked, and which model answers it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

# Attribute of stored evidence: the name of its type.
TYPE_ATTRIBUTE = "bayescm_evidence"
# Attribute of batches of a monitor and of their sums: the form in which a ledger stores them.
BATCH_FORM = "batch_form"
# The group of a fitted tree that holds its evidence, if cell probabilities do not suffice.
EVIDENCE_GROUP = "evidence"


class DefaultModel(NamedTuple):
    """
    The model of a question where the user names none, and what it takes of the evidence.

    Attributes
    ----------
    model : str or callable
        A name of `bayescm.posteriors`, or a function from the evidence to a `Posterior`.
    evidence : DataArray or Dataset
        The evidence itself, or a part of what it says: of classifiers on the same examples, each
        one's own confusion matrix.
    keywords : mapping of str to object
        What the design of the evidence adds to the keywords of the user.
    """

    model: str | Callable
    evidence: Any
    keywords: Mapping[str, Any] = {}


class ChangeStatistic(NamedTuple):
    """
    The numbers in which a monitor looks for a change.

    Attributes
    ----------
    numbers : ndarray, shape (T, ..., K)
        Of each batch. They add up over batches.
    law : {"multinomial", "poisson"}
        Whether the last axis has the numbers of units in K parts, or the number of events and how
        many are expected.
    prior : ndarray, shape (..., K), optional
        Pseudo-counts of the parts; by default the prior of the counts.
    parts_are_classes : bool
        Whether the K parts are the classes, in their order.
    """

    numbers: Any
    law: str = "multinomial"
    prior: Any = None
    parts_are_classes: bool = False


def systems_of(evidence: Any) -> dict[str, Any]:
    """Return the evidence of each classifier by its name, empty if there is no such dim."""
    if "classifier" not in getattr(evidence, "dims", ()):
        return {}
    names = [str(name) for name in evidence["classifier"].values]
    return {name: evidence.isel(classifier=i, drop=True) for i, name in enumerate(names)}


class Columns(NamedTuple):
    """
    The columns of a file of evidence, and the settings that go with them.

    The command line has an option for each; ``labels`` is ``--label``, others have their names.

    Attributes
    ----------
    needed : tuple of tuple of str
        Alternatives: columns that together mean that a file is of this type.
    others : tuple of str
        What else it may have.
    """

    needed: tuple[tuple[str, ...], ...]
    others: tuple[str, ...] = ()

    @property
    def names(self) -> set[str]:
        """All columns and settings."""
        return {*self.others}.union(*self.needed)


@dataclass(frozen=True, eq=False)
class EvidenceType:
    """
    A type of evidence.

    Designs of one type, such as the folds and groups of counts, are not separate types:
    `default_model` distinguishes them, and no other code needs to. If a type has several designs,
    its `default_model` is a function in `evidence/default_models.py`, or in the file of the type if
    it needs that file (`outcomes.model_of_outcomes`). A type with one model has `always` of this
    model in its entry. The table in `evidence/default_models.py` lists all of them.

    Attributes
    ----------
    name : str
        As in "not evidence of this type"; a report has its sections by it.
    made_by : str
        The functions that return it, for messages.
    unit : str
        What it has many of, in the plural: ``"examples"``.
    matches : callable
        Whether an object is of this type; what is wrong with it is said by `canonical`.
    canonical : callable
        Checks the evidence, and returns it with its dims and labels in order.
    default_model : callable
        From (evidence, keywords, members, compared) to a `DefaultModel`. ``members`` is the dim
        whose members `gap`, `worst_slices` and reports ask for, and ``compared`` is the dim whose
        members are compared. Each is None if there is no such dim. ``of="group"`` is an estimand of
        the model that pools the groups, and does not set ``members``.
    default_measures : callable
        From the evidence to the names of the measures worth a row where none is asked for; empty
        where none is usual.
    compared_measures : callable, optional
        The same where members are compared; by default those.
    size : callable
        From the evidence to its number of units.
    values : callable
        From the evidence to the array that its model is conditioned on.
    is_whole : callable
        Whether it counts whole units, so that a PyMC model of them has a likelihood.
    sum_over : callable, optional
        From (evidence, dims) to the evidence of all their members taken together, where parts of it
        can be left out, added up and multiplied as those of tables can.
    has_cells : bool
        Whether its measures are functions of the cell probabilities ``theta`` of a PyMC model.
    measured_variable : str, optional
        The variable that its measures are functions of (their ``takes``), where a name means
        another measure without the evidence: the mean of item scores is not that of attempts.
    sentences : callable, optional
        From (evidence, written) to sentences that describe the evidence, as `describe` returns
        them; by default the number of units.
    combine : callable, optional
        From (members, dim, names) to their evidence along a dim: members in canonical form, and
        their names or None.
    resample : callable, optional
        From (evidence, n, rng) to the evidence of n units like these, from which sizes of test sets
        are planned (`bayescm.evidence.resampling`). None if nobody chooses the number of units.
    batch_forms : tuple of str
        The forms in which a ledger stores batches of this type (`bayescm.online.encoding`). A batch
        and a sum of batches have their form as an attribute, `BATCH_FORM`.
    by_system : callable
        From evidence to that of each system by its name, which a monitor records under this name;
        empty if it is of one system, or of several that are recorded together.
    as_batch : callable, optional
        From (evidence, like) to one batch as a ledger stores it, a DataArray: checked, and in one
        order, so that the same batch has the same text. ``like`` is an empty batch with the facts
        of the batches before (labels, scale, edges of bins), or None.
    add : callable, optional
        From (batches, like, coords) to the evidence of all units of several batches. ``coords``
        are values of each batch, by name; each unit gets those of its batch.
    watched_measures : callable
        From an empty batch, or tables or sums, to the names of the measures that a monitor reports
        by default.
    batch_sizes : callable
        From tables or sums (..., ) of batches to the number of units of each leading index.
    change_statistic : callable
        From the tables or sums (step, ...) of batches to a `ChangeStatistic`, or None if no change
        is looked for.
    changing : str
        What a change is one of, for sentences: ``"answers"``.
    alarm_rules : callable
        From tables or sums to the rules of alarms that apply (`bayescm.online.rules`).
    one_by_one : callable
        Whether the posterior of tables takes about a second for each leading index, so that a
        monitor asks it for the evidence in force alone.
    recorded_together : str, optional
        What the systems are called that a monitor records together, since one model describes all
        of them: ``"rater"``. It is the dim of their measures.
    columns : Columns, optional
        The columns of its file form. None if it is not read from a file of columns.
    to_dataset, from_dataset : callable
        From the evidence to a Dataset that can be stored, and back. The default is for evidence
        that is a Dataset itself.
    """

    # What every type has.
    name: str
    made_by: str
    unit: str
    matches: Callable[[Any], bool]
    canonical: Callable[[Any], Any]
    default_model: Callable[..., DefaultModel]
    size: Callable[[Any], float]
    values: Callable[[Any], Any]
    # What answers and texts use.
    is_whole: Callable[[Any], bool] = field(default=lambda evidence: True)
    default_measures: Callable[[Any], list[str]] = field(default=lambda evidence: [])
    compared_measures: Callable[[Any], list[str]] | None = None
    sum_over: Callable[[Any, Sequence], Any] | None = None
    has_cells: bool = True
    measured_variable: str | None = None
    sentences: Callable[[Any, Callable], list[str]] | None = None
    combine: Callable[[Sequence, str, list | None], Any] | None = None
    resample: Callable[..., Any] | None = None
    # What a monitor uses.
    batch_forms: tuple[str, ...] = ()
    by_system: Callable[[Any], dict[str, Any]] = field(
        default=lambda evidence: systems_of(evidence)
    )
    as_batch: Callable[..., Any] | None = None
    add: Callable[..., Any] | None = None
    watched_measures: Callable[[Any], list[str]] = field(default=lambda tables: [])
    batch_sizes: Callable[[Any], Any] = field(default=lambda tables: tables.sum(tables.dims[-2:]))
    change_statistic: Callable[[Any], ChangeStatistic | None] = field(default=lambda tables: None)
    changing: str = "answers"
    alarm_rules: Callable[[Any], tuple[str, ...]] = field(default=lambda tables: ("floor",))
    one_by_one: Callable[[Any], bool] = field(default=lambda tables: False)
    recorded_together: str | None = None
    # Files.
    columns: Columns | None = None
    to_dataset: Callable[[Any], Any] = field(default=lambda evidence: evidence)
    from_dataset: Callable[[Any], Any] = field(default=lambda dataset: dataset)

    def __post_init__(self) -> None:
        _MADE.insert(0, self)

    def describe(self, evidence: Any, written: Callable[[Any], str] = str) -> list[str]:
        """
        Return sentences about the evidence: numbers of units, classes, systems and the design.

        Reports, methods paragraphs and other texts use them. The first one is a noun phrase, such
        as "145 examples of 2 classes.".

        Parameters
        ----------
        evidence : DataArray, Dataset or DataTree
            Canonical evidence of this type.
        written : callable, default str
            From a label, such as the name of a classifier, to its text.
        """
        if self.sentences is not None:
            return self.sentences(evidence, written)
        return [f"{number_of(self.size(evidence), self.unit)}."]


# All entries, the last one first: a special case is made after the type that it is a case of.
_MADE: list[EvidenceType] = []


def name_of(evidence: Any) -> str | None:
    """
    Return the name of the type of evidence for a message, or None if it has none.

    Files of single types use it. All other code uses `bayescm.evidence.registry.type_of`.
    """
    return next((entry.name for entry in _MADE if entry.matches(evidence)), None)


def number_of(number: float, units: str) -> str:
    """
    Return a number with its unit, in the singular if the number is 1.

    Examples
    --------
    >>> number_of(1, "examples"), number_of(12345, "data sets"), number_of(2.5, "examples")
    ('1 example', '12,345 data sets', '2.5 examples')
    """
    number = float(number)
    text = f"{number:,.0f}" if number == round(number) else f"{number:,.6g}"
    return f"{text} {units.removesuffix('s') if number == 1 else units}"


def always(model: str | Callable) -> Callable[..., DefaultModel]:
    """Return the `default_model` of a type that has one model, whatever is asked of it."""

    def default_model(evidence, keywords, members=None, compared=None):
        return DefaultModel(model, evidence)

    return default_model
