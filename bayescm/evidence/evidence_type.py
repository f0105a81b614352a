"""Types of evidence: their recognition, validation, default models and other properties."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

# Attribute of stored evidence with the name of its type.
TYPE_ATTRIBUTE = "bayescm_evidence"
# Attribute with the storage form of batches of a monitor, and of their sums.
BATCH_FORM = "batch_form"
# Group that stores the evidence in the tree returned by `fit`, if cell counts do not determine it.
EVIDENCE_GROUP = "evidence"


class DefaultModel(NamedTuple):
    """
    Default model for a question, with the evidence and keywords to pass to it.

    Attributes
    ----------
    model : str or callable
        Name in `bayescm.posteriors`, or a function from evidence to a `Posterior`.
    evidence : DataArray or Dataset
        The evidence itself, or a reduced form of it. For classifiers on the same examples, this can
        be the confusion matrix of each classifier.
    keywords : mapping of str to object
        Keywords that follow from the design, in addition to the user's keywords.
    """

    model: str | Callable
    evidence: Any
    keywords: Mapping[str, Any] = {}


class ChangeStatistic(NamedTuple):
    """
    Statistics that a monitor tests for changes.

    Attributes
    ----------
    numbers : ndarray, shape (T, ..., K)
        Statistics of each batch, which are additive over batches.
    law : {"multinomial", "poisson"}
        Whether the last axis contains the numbers of units in K parts, or the observed and the
        expected number of events.
    prior : ndarray, shape (..., K), optional
        Pseudo-counts of the parts. By default, the prior of the model for counts.
    parts_are_classes : bool
        Whether the K parts are the classes, in order.
    """

    numbers: Any
    law: str = "multinomial"
    prior: Any = None
    parts_are_classes: bool = False


def systems_of(evidence: Any) -> dict[str, Any]:
    """Return the evidence of each classifier by name, or an empty dict without this dimension."""
    if "classifier" not in getattr(evidence, "dims", ()):
        return {}
    names = [str(name) for name in evidence["classifier"].values]
    return {name: evidence.isel(classifier=i, drop=True) for i, name in enumerate(names)}


class Columns(NamedTuple):
    """
    Columns of a file of evidence, and the related settings.

    The command line has an option for each of them. The option for ``labels`` is ``--label``, and
    all other options have the name of the column or setting.

    Attributes
    ----------
    needed : tuple of tuple of str
        Alternative sets of columns. Each set identifies a file of this type.
    others : tuple of str
        Optional columns and settings.
    """

    needed: tuple[tuple[str, ...], ...]
    others: tuple[str, ...] = ()

    @property
    def names(self) -> set[str]:
        """Names of all columns and settings."""
        return {*self.others}.union(*self.needed)


@dataclass(frozen=True, eq=False)
class EvidenceType:
    """
    Type of evidence.

    Designs of one type, such as the folds and groups of counts, are not separate types. Only
    `default_model` distinguishes between them. For a type with several designs, `default_model` is
    a function in `evidence/default_models.py`, or in the file of the type if it needs that file
    (`outcomes.model_of_outcomes`). A type with a single model uses `always`. The table in
    `evidence/default_models.py` lists all models.

    Attributes
    ----------
    name : str
        Name as in "not evidence of this type". Reports select their sections by this name.
    made_by : str
        Names of the constructors, for messages.
    unit : str
        Plural name of the units, such as ``"examples"``.
    matches : callable
        From an object to whether it is of this type. Its contents are checked by `canonical`.
    canonical : callable
        Validates the evidence, and returns it with dimensions and labels in order.
    default_model : callable
        From (evidence, keywords, members, compared) to a `DefaultModel`. ``members`` is the
        dimension whose members are estimated by `gap`, `worst_slices` and reports, and ``compared``
        is the dimension whose members are compared. Both may be None. ``of="group"`` is an estimand
        of the pooling model, and does not set ``members``.
    default_measures : callable
        From the evidence to the names of its default measures, which may be empty.
    compared_measures : callable, optional
        Default measures of comparisons. By default the same as `default_measures`.
    size : callable
        From the evidence to its number of units.
    values : callable
        From the evidence to the array that its model is conditioned on.
    is_whole : callable
        Whether the evidence counts whole units, so that a PyMC model has a likelihood.
    sum_over : callable, optional
        From (evidence, dims) to the evidence summed over dimensions. Defined for evidence that can
        be subset, added and multiplied like tables of counts.
    has_cells : bool
        Whether its measures are functions of the cell probabilities ``theta`` of a PyMC model.
    measured_variable : str, optional
        Variable that its measures depend on (their ``takes``), if a name of a measure is ambiguous
        without the evidence. For example, the mean of item scores differs from the mean of
        attempts.
    sentences : callable, optional
        From (evidence, written) to sentences that describe the evidence, for `describe`. By default
        the number of units.
    combine : callable, optional
        From (members, dim, names) to evidence combined along a dimension. Members are in canonical
        form, and names may be None.
    resample : callable, optional
        From (evidence, n, rng) to the evidence of n resampled units, for planning sample sizes
        (`bayescm.evidence.resampling`). None if the number of units cannot be chosen.
    batch_forms : tuple of str
        Forms in which a ledger stores batches of this type (`bayescm.online.encoding`). Batches and
        sums of batches have their form as the attribute `BATCH_FORM`.
    by_system : callable
        From evidence to the evidence of each system by name, which a monitor records under this
        name. Empty for a single system, or for several that are recorded together.
    as_batch : callable, optional
        From (evidence, like) to one batch as stored by a ledger: a validated DataArray in a unique
        order, so that equal batches have equal text. ``like`` is an empty batch with the properties
        of earlier batches (labels, scale, edges of bins), or None.
    add : callable, optional
        From (batches, like, coords) to the evidence of all units in several batches. ``coords`` are
        named values of each batch, which are assigned to its units.
    watched_measures : callable
        From an empty batch, or tables or sums, to the names of the default measures of a monitor.
    batch_sizes : callable
        From tables or sums (..., ) of batches to the number of units for each leading index.
    change_statistic : callable
        From tables or sums (step, ...) of batches to a `ChangeStatistic`, or None if changes are
        not detected.
    changing : str
        Noun for what changes, in sentences: ``"answers"``.
    alarm_rules : callable
        From tables or sums to the applicable rules of alarms (`bayescm.online.rules`).
    one_by_one : callable
        Whether the posterior takes about a second for each leading index, so that a monitor
        computes it for the current evidence only.
    recorded_together : str, optional
        Noun for systems that a monitor records together because they share one model, such as
        ``"rater"``. It is also the dimension of their measures.
    columns : Columns, optional
        Columns of its file format. None if the type has no file format with columns.
    to_dataset, from_dataset : callable
        From the evidence to a Dataset for storage, and back. By default the evidence itself, which
        must then be a Dataset.
    """

    # Required properties
    name: str
    made_by: str
    unit: str
    matches: Callable[[Any], bool]
    canonical: Callable[[Any], Any]
    default_model: Callable[..., DefaultModel]
    size: Callable[[Any], float]
    values: Callable[[Any], Any]
    # Properties used by estimation and texts
    is_whole: Callable[[Any], bool] = field(default=lambda evidence: True)
    default_measures: Callable[[Any], list[str]] = field(default=lambda evidence: [])
    compared_measures: Callable[[Any], list[str]] | None = None
    sum_over: Callable[[Any, Sequence], Any] | None = None
    has_cells: bool = True
    measured_variable: str | None = None
    sentences: Callable[[Any, Callable], list[str]] | None = None
    combine: Callable[[Sequence, str, list | None], Any] | None = None
    resample: Callable[..., Any] | None = None
    # Properties used by monitors
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
    # Properties used by files
    columns: Columns | None = None
    to_dataset: Callable[[Any], Any] = field(default=lambda evidence: evidence)
    from_dataset: Callable[[Any], Any] = field(default=lambda dataset: dataset)

    def __post_init__(self) -> None:
        _MADE.insert(0, self)

    def describe(self, evidence: Any, written: Callable[[Any], str] = str) -> list[str]:
        """
        Return sentences that describe the evidence: units, classes, systems and design.

        Reports, methods paragraphs and other texts use them. The first sentence is a noun phrase,
        such as "145 examples of 2 classes.".

        Parameters
        ----------
        evidence : DataArray, Dataset or DataTree
            Canonical evidence of this type.
        written : callable, default str
            Formats a label, such as the name of a classifier, as text.
        """
        if self.sentences is not None:
            return self.sentences(evidence, written)
        return [f"{number_of(self.size(evidence), self.unit)}."]


# All types, the last defined first, because special cases are defined after the general type.
_MADE: list[EvidenceType] = []


def name_of(evidence: Any) -> str | None:
    """
    Return the name of the type of evidence for a message, or None for other objects.

    Only modules that define a single type of evidence use this function. All other code uses
    `bayescm.evidence.registry.type_of`.
    """
    return next((entry.name for entry in _MADE if entry.matches(evidence)), None)


def number_of(number: float, units: str) -> str:
    """
    Return a number with its unit, which is singular for the number 1.

    Examples
    --------
    >>> number_of(1, "examples"), number_of(12345, "data sets"), number_of(2.5, "examples")
    ('1 example', '12,345 data sets', '2.5 examples')
    """
    number = float(number)
    text = f"{number:,.0f}" if number == round(number) else f"{number:,.6g}"
    return f"{text} {units.removesuffix('s') if number == 1 else units}"


def always(model: str | Callable) -> Callable[..., DefaultModel]:
    """Return the `default_model` function of a type with a single model."""

    def default_model(evidence, keywords, members=None, compared=None):
        return DefaultModel(model, evidence)

    return default_model
