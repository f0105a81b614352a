"""
Monitoring of one classifier over time, with its batches in a ledger.

The first batch of a classifier fixes the type of its batches: counts, probabilities, scores, item
scores or another type in `encoding`. The ledger stores every batch, and all results are computed
from it on request:

    batches  ->  segments between changes (`rules.segments`)
             ->  current evidence (`discounting`)  ->  posterior (`updating.posterior_of`)
             ->  intervals after every batch, a summary of the latest, alarms (`rules`),
                 and incidents that group the alarms (`incidents`).
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.registry import TYPES, type_of
from bayescm.evidence.sums_of_items import repeated_items
from bayescm.measures.catalogue import resolve
from bayescm.measures.preferences import is_against_itself
from bayescm.online.classes import current_measure
from bayescm.online.discounting import check_forgetting, check_window
from bayescm.online.encoding import (
    ATTEMPTS,
    CLASS_FORECASTS,
    COUNTS,
    FORECASTS,
    as_datetime64,
    check_name,
    decode,
    describe,
    encode,
    encoding_of,
    sizes_of,
    variables_of,
    zeros,
)
from bayescm.online.encoding import ITEM_COUNTS as ITEM_COUNT_BATCHES
from bayescm.online.encoding import ITEM_SCORES as ITEM_SCORE_BATCHES
from bayescm.online.encoding import MULTILABEL as MULTILABEL_BATCHES
from bayescm.online.encoding import PARTLY_LABELLED as PARTLY_LABELLED_BATCHES
from bayescm.online.encoding import RATINGS as RATING_BATCHES
from bayescm.online.ledger import ORDERS, Entries, Ledger, LedgerClient
from bayescm.online.seasons import check_season, phases
from bayescm.validate import check_choice, check_kind, check_prob, check_whole, fail

if TYPE_CHECKING:
    from matplotlib.figure import Figure


OF_RULES = ("classes", "phase")  # coordinates of batches that only the alarm rules use
BLOCK = 1000  # number of batches per transaction of `extend`; larger blocks are hardly faster
_SLIP = 0.8  # similarity ratio above which a new name may be a typo: one letter in five differs


class Monitor(LedgerClient):
    """
    Monitor one classifier over time, with its batches stored in a ledger.

    The ledger stores every batch, and all results are computed from it on request. The prior, the
    forgetting and the measures can therefore be changed at any time by opening the same store with
    other settings.

    **Current results use the batches since the latest change.** Once the rule `change` has fired
    (see `alarms`), the summary, the posterior and the history start again at that batch. All rules
    share one rate of false alarms, so these methods accept the keywords of the rules too. For
    probabilities, a change is a change of the outcomes given the forecasts. Scores are not tested
    for changes.

    For probabilities and scores, the ledger stores the number of examples of each class in each
    bin. The first batch fixes the bin edges. Measures are computed with every forecast moved to the
    centre of its bin. Their posterior is approximated by a normal distribution, on the log-odds or
    log scale for bounded measures. The approximation needs about 20 examples of each class.

    For item scores (`from_item_scores`: nDCG of queries, ratings on a rubric, a judge's scores),
    the ledger stores every score with the name of its item. The monitored measures are means over
    the items, such as ``mean`` and ``share_above(4)``. For other measures, use the items returned
    by `item_scores`. The first batch fixes the ends of the scale. The items of each batch are
    treated as new items.

    For multilabel examples (`from_multilabel`), the ledger stores the actual and the predicted
    labels of every example. The monitored measures are ratios over the examples: ``f1_micro``,
    ``recall[cat]``, ``f1_samples`` and ``hamming_loss``. `multilabel` returns the examples.

    For attempts (`from_attempts`), the ledger stores the number of correct answers and the number
    of attempts for every item. The monitored measure is ``mean``, which is also ``pass@1``.
    `attempts` returns the items for other measures. For item counts (`from_item_counts`), it stores
    tp, fp and fn of every item. The monitored measures are ratios of sums over the items, such as
    ``precision``, ``recall`` and ``f1``, and means such as ``f1_samples``. `item_counts` returns
    the items.

    For ratings (`from_raters`) and partly labelled examples (`from_partly_labelled`), the ledger
    stores the frequency of each combination of labels. Measures of ratings have a dimension
    ``rater``. The posterior of ratings takes about one second per batch, so ratings are not tested
    for changes, and a floor is compared with the current evidence only. The same holds for
    probabilities of three or more classes, which are rounded to multiples of 0.01. `ratings`,
    `partly_labelled` and `class_forecasts` return the evidence.

    For votes (`from_preferences`), the ledger stores the number of votes by pair and outcome.
    Measures have a dimension ``system``; ``measures=["win_rate[old]"]`` monitors the votes against
    one system. The first batch fixes the systems, and later batches may lack some of them. A change
    is a change in the outcomes of the votes on a pair. `evidence` returns the votes since the
    latest change.

    Parameters
    ----------
    store : str or Ledger
        ``sqlite:///eval.db`` (a separate file, created if missing),
        ``postgresql://user@host/database``, or an open ledger.
    classifier : str
        Name of the classifier in the store. A store can contain any number of classifiers, of any
        type.
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts, for counts. The default prior if omitted. For item scores, the number
        of pseudo-items at each end of the scale; for multilabel examples, the number of
        pseudo-examples in each cell. The default of both is 0.5. Forecasts have a fixed prior: one
        example spread over all bins, with outcomes as forecast.
    forgetting : float, default 1
        Factor in (0, 1] by which each new batch multiplies the earlier evidence; see `update`.
    window : int, optional
        Number of most recent batches to use. All batches are used by default.
    measures : sequence of names or functions, optional
        Measures to monitor. Measures of forecasts must not need a curve, and measures of item
        scores must be means over the items. The defaults are:

        - Counts of two classes with a positive one: precision, recall, specificity, accuracy and
          F1.
        - Probabilities: the area under the ROC curve, the Brier score, calibration in the large and
          the calibration slope.
        - Scores: the area under the ROC curve.
        - Item scores and attempts: the mean.
        - Item counts: precision, recall and F1.
        - Multilabel examples: precision, recall and F1 over all labels (``_micro``).
        - Votes: the win rate.
    order : {"at", "recorded_at"}, default "at"
        Time that orders the batches: the time of observation or the time of arrival.
    edges : sequence of float, optional
        Edges of the bins of forecasts; see `forecast_table`. By default the edges used for
        earlier batches.
    season : int, {"hour", "weekday", "day", "month"}, Series or dict, optional
        Season of the batches. The rules `change`, `batch` and `reference` compare a batch with
        others of the same phase.

        - An integer: the number of batches per season, such as 7 for daily batches. A missing batch
          shifts the phases of all later ones.
        - ``"weekday"`` and the like: the phase is this part of the time of the batch.
        - A Series or dict: the phase of each batch, keyed by the name of the batch.

    Examples
    --------
    >>> import bayescm as bcm
    >>> monitor = Monitor("sqlite://", "spam filter", measures=["recall", "f1"])
    >>> monitor.add("monday", bcm.from_cells(tp=65, fn=15, fp=35, tn=30), at="2026-01-05")
    True
    >>> monitor.add("tuesday", bcm.from_cells(tp=60, fn=20, fp=30, tn=35), at="2026-01-06")
    True
    >>> monitor.history(kind="eti")["recall"].values.round(3)
    array([[0.717, 0.886],
           [0.713, 0.84 ]])
    >>> monitor.close()

    With probabilities:

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> monitor = Monitor("sqlite://", "risk model")
    >>> for week in range(3):
    ...     p = rng.beta(1, 4, 400)
    ...     y = (rng.random(400) < p).astype(int)
    ...     _ = monitor.add(week, bcm.from_probabilities(y, p), at=f"2026-01-0{week + 1}")
    >>> monitor.history()["auc"].dims, len(monitor.alarms())
    (('step', 'bound'), 0)
    >>> monitor.close()

    With ratings on a scale from 1 to 5:

    >>> monitor = Monitor("sqlite://", "assistant", measures=["mean", "share_above(3)"])
    >>> for week in range(3):
    ...     marks = rng.choice([2, 3, 4, 5], 60, p=[0.1, 0.2, 0.4, 0.3])
    ...     _ = monitor.add(week, bcm.from_item_scores(marks, range=(1, 5)))
    >>> monitor.summary()[["measure", "point"]].round(2).values.tolist()
    [['mean', 3.88], ['share_above(3)', 0.67]]
    >>> monitor.close()
    """

    def __init__(
        self,
        store: str | Ledger,
        classifier: str,
        *,
        concentration: Any = None,
        forgetting: float = 1.0,
        window: int | None = None,
        measures: Sequence[str | Callable] | None = None,
        order: str = "at",
        edges: Sequence[float] | None = None,
        season: int | str | pd.Series | dict | None = None,
    ):
        self.classifier = check_name(classifier, "classifier")
        super().__init__(store, self.classifier)
        self.measures, self.edges = measures, edges
        self._memory: dict[str, Any] = {
            "forgetting": check_forgetting(forgetting),
            "window": None if window is None else check_window(window, forgetting),
        }
        self._order = check_choice("order", order, list(ORDERS))
        self.season = check_season(season)
        self._concentration = concentration
        self._is_prior_checked = concentration is None  # the prior is checked with the first batch
        self._entries: Entries | None = None  # entries read so far

    # Recording batches

    def add(
        self,
        batch_id: str | int,
        evidence: Any,
        at: Any = None,
        *,
        corrects: str | int | None = None,
        allow_empty: bool = False,
    ) -> bool:
        """
        Record a batch permanently.

        Once this method returns, the batch is in the store.

        Parameters
        ----------
        batch_id : str or int
            Name of the batch. Sending the same batch again changes nothing, so a failed call can be
            repeated. The same name with different counts is rejected.
        evidence : DataArray or Dataset
            Evidence of one classifier or system: counts (actual, predicted) from `from_predictions`
            or `from_cells`, probabilities, scores, a `forecast_table`, item scores, multilabel
            examples, attempts or item counts. Evidence of several classifiers or systems, such as
            outcomes (`from_classifiers`), must include the classifier of this monitor. The part of
            each classifier is recorded under its own name. Ratings and votes are recorded as a
            whole.
        at : datetime, datetime64 or str, optional
            Time of the evaluation, in UTC unless it has a time zone. By default the time in the
            name of the batch (``"2026-01-31"``, ``"2026-01-31T12:00"``), or else the current time.
            The history is in the order of these times. A late batch is inserted in time order, with
            a warning.
        corrects : str or int, optional
            Name of the batch that this one replaces. The old batch stays in the ledger but is no
            longer used.
        allow_empty : bool, default False
            Whether the batch may have no examples, for example after an outage. With
            ``evidence=None``, an empty batch with the type and the classes of the earlier batches
            is recorded.

        Returns
        -------
        bool
            True if the batch was recorded, False if it was already in the ledger. For several
            classifiers, True if the batch was new for any of them.

        Raises
        ------
        ValueError
            If a batch with this name is recorded with different counts, a label is unknown to the
            classifier, or the labels differ from the labels of the prior. Also if the
            earlier batches have another type, other bins or another scale.
        TypeError
            If the evidence is not of a supported type.
        OSError
            If the store cannot record the batch. The ledger is intact, and the batch can be sent
            again.

        Warns
        -----
        UserWarning
            If the batch is late, is dated more than a day ahead, has the same counts as another
            one, or starts a new classifier whose name is similar to an existing one. The batch is
            recorded.
        """
        if isinstance(evidence, (str, int)) and not isinstance(batch_id, (str, int)):
            raise fail(
                "The first argument must be the evidence, or the name of the batch followed by "
                "its evidence",
                evidence,
                "",
                f"pass add({evidence!r}, evidence)",
                TypeError,
            )
        may_be_empty = corrects is not None or allow_empty
        if evidence is None:
            table = self._empty_batch(allow_empty)
        elif parts := type_of(evidence).by_system(evidence):
            return self._add_every_classifier(batch_id, parts, at, corrects, allow_empty)
        else:
            table = self._as_table(evidence, self.labels(), may_be_empty=may_be_empty)
        is_new, entry = self.ledger.append(
            self.classifier, batch_id, table, at=at, corrects=corrects
        )
        if is_new and entry.entry == 1:
            self._warn_of_near_name()
        is_early = is_new and corrects is None and self._order == "at" and entry.at < entry.latest
        # `entry.latest` may be the time of a batch that has since been corrected.
        if is_early and entry.at < (latest := self.latest()):
            warnings.warn(
                f"Batch {str(batch_id)!r} is dated before the latest batch ({latest}). It was "
                "inserted in time order, so results reported since then may change.",
                UserWarning,
                stacklevel=2,
            )
        return is_new

    def _empty_batch(self, allow_empty):
        """Return a batch without examples, of the same type as the earlier batches."""
        if not allow_empty:
            raise fail(
                "No evidence is given",
                ...,
                "",
                "pass `allow_empty=True` to record a batch without examples",
                TypeError,
            )
        empty = self.labels()
        if empty is None:
            raise fail(
                f"The first batch of {self.classifier!r} is empty",
                ...,
                "",
                "begin with a batch that has examples, because it fixes the type of evidence "
                "and the classes",
            )
        return empty

    def extend(
        self,
        batches: xr.DataArray | Iterable[tuple],
        *,
        block: int = BLOCK,
    ) -> int:
        """
        Record many batches, with one transaction per block.

        Use this method to import a history. Once it returns, all batches are in the store. If it
        raises an error or the process dies, each block is either stored as a whole or not at all.
        It is then safe to send all batches again, because recorded batches are recognised.

        Parameters
        ----------
        batches : DataArray or iterable of tuple
            Batches in one of two forms. A generator is read block by block.

            - Tables with a dimension ``step`` (or ``batch``). The optional coordinates ``batch_id``
              and ``at`` give the names and times of the batches. By default the names are the
              labels of the dimension.
            - Pairs ``(batch_id, evidence)`` or triples ``(batch_id, evidence, at)``; see `add`.
        block : int, default 1000
            Number of batches per transaction.

        Returns
        -------
        int
            Number of batches recorded. The others were already in the ledger.

        Raises
        ------
        ValueError
            If a batch contains several classifiers, or `add` would reject it. Earlier blocks remain
            recorded.

        Warns
        -----
        UserWarning
            If a batch has the same counts as a recent one in its block, which is unlikely by
            chance, or is dated more than a day ahead.

        Examples
        --------
        >>> import bayescm as bcm
        >>> weeks = bcm.from_cells(tp=[45, 44, 46], fn=[5, 6, 4], fp=3, tn=47)
        >>> weeks = weeks.assign_coords(batch=["2026-01-05", "2026-01-12", "2026-01-19"])
        >>> with Monitor("sqlite://", "mail") as monitor:
        ...     monitor.extend(weeks), monitor.extend(weeks)
        (3, 0)
        """
        check_whole("block", block, 1, "batches", BLOCK)
        if isinstance(batches, xr.DataArray):
            rows = self._rows_of_tables(batches)
        else:
            rows = self._rows_of_evidence(batches)
        number, twins = 0, list[str]()
        while some := list(islice(rows, block)):
            added, same = self.ledger.extend(self.classifier, some)
            number, twins = number + added, twins + same
        if twins:
            names = ", ".join(repr(name) for name in twins[:3])
            warnings.warn(
                f"{len(twins)} batches are identical to other batches, which is unlikely by "
                f"chance: {names}. All were recorded and all count.",
                UserWarning,
                stacklevel=2,
            )
        return number

    def _rows_of_tables(self, tables):
        """Yield the name, cells and time of each table, with classes in the order of the ledger."""
        dims = [dim for dim in ("step", "batch") if dim in tables.dims]
        if len(dims) != 1:
            todo = "pass tables with a dimension step, or pairs (batch_id, evidence)"
            raise fail(
                "A series of batches needs the dimension step or batch",
                tables.dims,
                "",
                todo,
            )
        tables = tables.transpose(dims[0], ...)
        names = tables.coords["batch_id"] if "batch_id" in tables.coords else tables[dims[0]]
        ids = [check_name(name, "batch_id") for name in names.values.tolist()]
        times = tables["at"].values if "at" in tables.coords else [None] * len(ids)
        if not len(ids):
            return
        extra = [str(name) for name, coord in tables.coords.items() if dims[0] in coord.dims]
        plain = tables.drop_vars(extra)
        first = self._as_table(plain[0], self.labels(), may_be_empty=True)
        if encoding_of(first) not in (COUNTS, FORECASTS) or first.shape != plain[0].shape:
            todo = "pass pairs (batch_id, evidence)"
            raise fail(
                "A series of {} cannot be added as tables", encoding_of(first), "", todo, TypeError
            )
        check_cells(plain.values)
        empty = plain.values.reshape(len(ids), -1).sum(axis=1) == 0
        if empty.any():
            todo = "leave them out, or add each by `monitor.add(..., allow_empty=True)`"
            named = [name for name, none in zip(ids, empty, strict=True) if none][:5]
            raise fail("The batches {} have no examples", named, "", todo)
        if (like := self.labels()) is None:
            yield ids[0], first, times[0]
            ids, times, plain, like = ids[1:], times[1:], plain[1:], first
        else:
            encode(first, describe(self.classifier, like))  # raises an error for new classes
        known = like.indexes["actual"]
        if not plain.indexes["actual"].equals(known):
            of_classes = {dim: known for dim in ("actual", "predicted") if dim in plain.dims}
            plain = plain.reindex(of_classes, fill_value=0)
        yield from zip(ids, plain.values, times, strict=True)

    def _rows_of_evidence(self, batches):
        """Yield the name, table and time of each piece of evidence."""
        like = self.labels()
        for row in batches:
            if not isinstance(row, tuple) or len(row) not in (2, 3):
                raise fail(
                    "Each batch must be a tuple with its name and evidence",
                    row,
                    "",
                    "pass tuples (batch_id, evidence) or (batch_id, evidence, at)",
                    TypeError,
                )
            name, evidence, at = row if len(row) == 3 else (*row, None)
            if type_of(evidence).by_system(evidence):
                todo = "select one system of each batch, or use add"
                raise fail("Batch {} has several systems", name, "", todo)
            table = self._as_table(evidence, like, may_be_empty=False)
            yield check_name(name, "batch_id"), table, at
            if like is None:
                like = zeros(describe(self.classifier, table))

    def _add_every_classifier(self, batch_id, parts, at, corrects, allow_empty):
        """Record the part of each classifier in its history."""
        names = list(parts)
        if self.classifier not in names:
            raise fail(
                "The batch lacks the classifier {}",
                self.classifier,
                names,
                "open a Monitor for one of these, or select one classifier",
            )
        settings = {"concentration": self._concentration, "edges": self.edges}
        monitors = {name: Monitor(self.ledger, name, **settings) for name in names}
        # All parts are checked first, so that nothing is recorded if one of them is invalid.
        for name, monitor in monitors.items():
            may_be_empty = corrects is not None or allow_empty
            table = monitor._as_table(parts[name], monitor.labels(), may_be_empty=may_be_empty)
            self.ledger.check(name, str(batch_id), table)
        with warnings.catch_warnings():
            # The names come from the evidence, so they are not typos.
            warnings.filterwarnings("ignore", "The batch was recorded for a new classifier")
            added = [
                monitor.add(batch_id, parts[name], at, corrects=corrects, allow_empty=allow_empty)
                for name, monitor in monitors.items()
            ]
        return any(added)

    def change_classes(
        self, *, rename: Mapping[Any, Any] | None = None, add: Sequence | None = None
    ) -> bool:
        """
        Rename classes or add new ones, and continue the history.

        All batches, including earlier ones, get the new names. In earlier batches, an added class
        has no examples and no predictions. The rule `change` compares predictions only among the
        classes present in both periods, so adding a class is not reported as a change. Floors,
        measures, acknowledgements and pages follow the new name.

        Parameters
        ----------
        rename : mapping, optional
            New class names, keyed by the old ones.
        add : sequence, optional
            Names of new classes.

        Returns
        -------
        bool
            True if the change was recorded, False if it repeats the latest change of the classes.

        Raises
        ------
        ValueError
            If a class is unknown, or a new name belongs or belonged to another class, because two
            classes cannot be merged. Also if the batches have no classes (item scores, attempts,
            item counts and votes), or if a class is added to binned forecasts or to batches with a
            positive class.

        Notes
        -----
        The change is a new entry in the ledger, and existing entries are not modified. Versions of
        bayescm without support for such entries reject the ledger. A new batch with a former class
        name is rejected, but a batch recorded before the change can be sent again.

        Examples
        --------
        >>> import bayescm as bcm
        >>> with Monitor("sqlite://", "mail") as monitor:
        ...     _ = monitor.add("monday", bcm.from_matrix([[8, 2], [1, 9]], labels=["buy", "fix"]))
        ...     monitor.change_classes(rename={"buy": "sales"}, add=["legal"])
        ...     monitor.batches()["actual"].values.tolist()
        True
        ['sales', 'fix', 'legal']
        """
        self._is_prior_checked = self._concentration is None  # it may lack the new classes
        return self.ledger.change_classes(self.classifier, rename, add)[0]

    def _warn_of_near_name(self):
        """Warn if a new classifier has nearly the same name as an existing one."""
        others = [name for name in self.ledger.classifiers() if name != self.classifier]
        near = get_close_matches(self.classifier, others, cutoff=_SLIP)
        # Names that differ in their digits are versions, not typos.
        near = [name for name in near if _digits(name) == _digits(self.classifier)]
        if near:
            warnings.warn(
                f"The batch was recorded for a new classifier, {self.classifier!r}. If you "
                f"meant {near[0]!r}, add the batch again under that name.",
                UserWarning,
                stacklevel=3,
            )

    def _as_table(self, evidence, like, *, may_be_empty):
        """Return a batch in the form that the ledger stores, or raise an error if it is invalid."""
        entry = type_of(evidence)
        if self.edges is not None:
            if FORECASTS not in entry.batch_forms:
                got = getattr(evidence, "dims", type(evidence).__name__)
                todo = "pass `from_probabilities(actual, p)`, or online.forecast_table(actual, p)"
                raise fail(
                    "These are not forecasts: {}",
                    got,
                    "dimensions actual and bin, because there are edges",
                    todo,
                    TypeError,
                )
            like = (xr.DataArray() if like is None else like).assign_attrs(edges=self.edges)
        if entry.as_batch is None:
            names = [each.name for each in TYPES if each.as_batch is not None]
            raise fail(
                f"A monitor does not support evidence of type {entry.name}",
                ...,
                names,
                "pass the predictions, scores or attempts of this batch",
                TypeError,
            )
        table = entry.as_batch(evidence, like)
        if encoding_of(table) == COUNTS and not table.values.any() and not may_be_empty:
            raise fail(
                "The batch has no examples",
                ...,
                "",
                "leave it out, or pass `allow_empty=True` to record a batch without examples",
            )
        if not self._is_prior_checked:
            self._check_prior(table)
            self._is_prior_checked = True
        return table

    def _check_prior(self, table):
        """Raise an error if the prior is not valid for the posterior of a batch."""
        from bayescm.online.updating import posterior_of, tables_of_batches

        description = describe(self.classifier, table)
        if self.classifier in self.ledger.classifiers():
            description = describe(self.classifier, self.ledger.empty(self.classifier))
        try:
            like, payload = zeros(description), encode(table, description)["payload"]
        except ValueError:  # `append` raises the error, unless the batch is already recorded
            return
        batches = decode([payload], description.encoding)
        tables = tables_of_batches(batches, like, self._measures(like))
        posterior_of(tables, self._concentration)

    # Contents of the ledger

    @property
    def encoding(self) -> str:
        """
        Type of the batches.

        One of ``"counts"``, ``"forecasts"``, ``"item_scores"``, ``"multilabel"``, ``"attempts"``,
        ``"item_counts"``, ``"ratings"``, ``"partly_labelled"``, ``"class_forecasts"`` and
        ``"preferences"``.

        Raises
        ------
        ValueError
            If the monitor has no batches yet.
        """
        return encoding_of(self.ledger.empty(self.classifier))

    def batches(self, *, last: int | None = None) -> xr.DataArray:
        """
        Return the batches in time order, without those that were corrected.

        Parameters
        ----------
        last : int, optional
            Number of most recent batches to return. All by default.

        Returns
        -------
        DataArray, dims (step, ...)
            Counts (actual, predicted), binned forecasts (actual, bin), counts of patterns (pattern)
            or sums over items (statistic), with coordinates ``batch_id`` and ``at`` along ``step``.

        Raises
        ------
        ValueError
            If the monitor has no batches yet.
        """
        if last is not None:
            check_whole("last", last, 1, "batches", 200)
        batches = self._batches_by(None)
        return batches if last is None else batches.isel(step=slice(-last, None))

    def _batches_by(self, moment):
        """Return the uncorrected batches recorded up to a moment, by default all of them."""
        from bayescm.online.updating import tables_of_batches

        like, batches, coords = self._in_force(moment)
        batches = tables_of_batches(batches, like, self._measures(like))
        return batches.assign_coords({name: ("step", values) for name, values in coords.items()})

    def _in_force(self, moment=None):
        """Return an empty batch, the batches that were not corrected, and their coordinates."""
        zeros, entries = self._read()
        if moment is not None:
            is_recorded = entries.recorded_at <= moment
            if not is_recorded.any():
                raise fail(
                    "No batch had been recorded by {}",
                    moment,
                    "",
                    f"choose a time from {entries.recorded_at[0]} on",
                )
            entries = Entries(*(part[is_recorded] for part in entries))
        index = entries.current(self._order)
        coords = {
            "step": np.arange(len(index)),
            "batch_id": entries.batch_id[index].astype(str),
            "at": entries.at[index],
            "recorded_at": entries.recorded_at[index],
        }
        if (entries.classes >= 0).any():  # classes were added after some of the batches
            coords["classes"] = entries.classes[index]
        if self.season is not None:
            coords["phase"] = phases(self.season, coords["batch_id"], coords["at"])
        return zeros, entries.cells[index], coords

    def item_scores(self) -> xr.Dataset:
        """
        Return the items of a monitor of item scores, without corrected batches.

        Use this evidence for questions that the monitor does not answer, such as a median with
        `bayescm.summary`. To analyse single batches, pass the coordinate ``batch_id`` as ``by=`` to
        `from_item_scores`.

        Returns
        -------
        Dataset, dims (item)
            Evidence as from `from_item_scores`, with coordinates ``batch_id`` and ``at`` for every
            item.

        Raises
        ------
        ValueError
            If the monitor has no batches yet, or batches of another type.

        Examples
        --------
        >>> import bayescm as bcm
        >>> with Monitor("sqlite://", "search") as monitor:
        ...     for day in ("monday", "tuesday"):
        ...         _ = monitor.add(day, bcm.from_item_scores([0.2, 0.9, 0.7], range=(0, 1)))
        ...     float(monitor.item_scores()["item_score"].median())
        0.7
        """
        return self._evidence_of(ITEM_SCORE_BATCHES)

    def multilabel(self) -> xr.Dataset:
        """
        Return the examples of a multilabel monitor, without corrected batches.

        Returns
        -------
        Dataset, dims (example, label)
            Evidence as from `from_multilabel`, with coordinates ``batch_id`` and ``at`` for every
            example.

        Raises
        ------
        ValueError
            If the monitor has no batches yet, or batches of another type.
        """
        return self._evidence_of(MULTILABEL_BATCHES)

    def attempts(self) -> xr.Dataset:
        """
        Return the items of a monitor of attempts, without corrected batches.

        Returns
        -------
        Dataset, dims (item, attempt)
            Evidence as from `from_attempts`, with coordinates ``batch_id`` and ``at`` for every
            item. The correct answers of each item come first.

        Raises
        ------
        ValueError
            If the monitor has no batches yet, or batches of another type.
        """
        return self._evidence_of(ATTEMPTS)

    def item_counts(self) -> xr.Dataset:
        """
        Return the items of a monitor of item counts, without corrected batches.

        Returns
        -------
        Dataset, dims (item)
            Evidence as from `from_item_counts`, with coordinates ``batch_id`` and ``at`` for every
            item.

        Raises
        ------
        ValueError
            If the monitor has no batches yet, or batches of another type.
        """
        return self._evidence_of(ITEM_COUNT_BATCHES)

    def ratings(self) -> xr.Dataset:
        """
        Return the ratings of a monitor of ratings, without corrected batches.

        Returns
        -------
        Dataset
            Evidence as from `from_raters`.

        Raises
        ------
        ValueError
            If the monitor has no batches yet, or batches of another type.
        """
        return self._evidence_of(RATING_BATCHES)

    def partly_labelled(self) -> xr.DataArray:
        """
        Return the partly labelled examples of a monitor, without corrected batches.

        Returns
        -------
        DataArray, dims (judge, actual, predicted)
            Evidence as from `from_partly_labelled`.

        Raises
        ------
        ValueError
            If the monitor has no batches yet, or batches of another type.
        """
        return self._evidence_of(PARTLY_LABELLED_BATCHES)

    def class_forecasts(self) -> xr.Dataset:
        """
        Return the class probabilities of a monitor, without corrected batches.

        The monitor must have probabilities of three or more classes.

        Returns
        -------
        Dataset
            Evidence as from `from_probabilities`, with probabilities rounded to multiples of 0.01.

        Raises
        ------
        ValueError
            If the monitor has no batches yet, or batches of another type.
        """
        return self._evidence_of(CLASS_FORECASTS)

    def _evidence_of(self, encoding):
        """Return the evidence of all uncorrected batches, which must have this encoding."""
        like, batches, coords = self._in_force()
        if encoding_of(like) != encoding:
            raise fail(
                f"The batches are {encoding_of(like)}, not {encoding}",
                ...,
                "",
                "use the monitor's batches()",
            )
        of_units = {name: coords[name] for name in ("step", "batch_id", "at")}
        add: Any = type_of(like).add
        return add(batches.tolist(), like, of_units)

    def evidence(self, **rules: Any) -> Any:
        """
        Return the evidence of the batches since the latest detected change.

        Parameters
        ----------
        **rules
            See `since_change`.

        Returns
        -------
        DataArray or Dataset
            Evidence of the same type as the batches. For counts and binned forecasts, one summed
            table.
        """
        first = self._starts(self.batches(), rules)[-1]
        like, batches, coords = self._in_force()
        if (add := type_of(like).add) is None or encoding_of(like) == FORECASTS:
            return self.batches()[first:].sum("step", keep_attrs=True)
        of_units = {name: coords[name][first:] for name in ("step", "batch_id", "at")}
        return add(batches[first:].tolist(), like, of_units)

    def original_ids(self) -> dict[str, str]:
        """Return a dict that maps each batch to the first batch in its chain of corrections."""
        entries = self._read()[1]
        originals: dict[str, str] = {}
        for batch_id, old in zip(entries.batch_id, entries.supersedes, strict=True):
            originals[batch_id] = originals.get(old, batch_id)
        return originals

    def latest(self) -> str:
        """Return the time of the latest batch in UTC, such as 2026-01-31T12:00:00.000000Z."""
        return f"{self._read()[1].latest}Z"

    def former_names(self) -> dict[Any, Any]:
        """Return a dict that maps former class names to current ones."""
        return self.ledger.former_names(self.classifier)

    def labels(self) -> xr.DataArray | None:
        """Return zero counts with the labels of the classifier, or None before the first batch."""
        if self.classifier not in self.ledger.classifiers():
            return None
        return self.ledger.empty(self.classifier)

    def since_change(self, **rules: Any) -> xr.DataArray:
        """
        Return the batches since the latest detected change, or all if there was none.

        Parameters
        ----------
        **rules
            See `alarms`: ``rate``, and the rules that share it.

        Returns
        -------
        DataArray
            The part of `batches` since the change. All current results are based on it.
        """
        batches = self.batches()
        return self._part(batches, slice(self._starts(batches, rules)[-1], None))

    def _part(self, batches, part):
        """Return batches between changes, with repeated items counted within these batches only."""
        some = batches[part]
        is_whole = some.sizes["step"] == batches.sizes["step"]
        if is_whole or "repeated" not in batches.indexes.get("statistic", ()):
            return some
        _, items, coords = self._in_force()
        of_batch = dict(zip(coords["batch_id"].tolist(), items.tolist(), strict=True))
        numbers = repeated_items([of_batch[name] for name in some["batch_id"].values.tolist()])
        is_repeated = some["statistic"] == "repeated"
        return some.where(~is_repeated, xr.DataArray(numbers, dims="step"))

    def n_examples(self, **rules: Any) -> float:
        """Return the number of examples or items since the latest change."""
        return float(sizes_of(self.since_change(**rules)).sum())

    def _starts(self, batches, rules):
        """Return the first step, which is 0, and the steps at which changes begin."""
        from bayescm.online.rules import prior_of_change, segments, share_of_change

        _check_rules_of(batches, rules)
        rules = self._rules_of_now(rules)
        statistic = type_of(batches).change_statistic(batches)
        if statistic is None:
            return [0]  # this type is not tested for changes
        if statistic.law == "multinomial":
            prior = prior_of_change(statistic, batches, self._concentration)
            if not (prior > 0).all():
                return [0]  # a Bayes factor needs a proper prior
        share = share_of_change(batches, self._measures(batches), rules)
        changes = segments(batches, self._concentration, share)
        return [0, *(change.first for change in changes)]

    def _read(self):
        """
        Return an empty batch and all entries.

        Only new entries are read, unless the classes have changed.
        """
        with self.ledger.exclusive():  # one thread reads at a time
            last = 0 if self._entries is None else int(self._entries.entry[-1])
            description, new = self.ledger.contents(self.classifier, after=last)
            if description is None:
                self._entries = None
                return self.ledger.empty(self.classifier), new  # raises an error
            if self._entries is None or (len(new.entry) and new.entry[0] <= last):
                self._entries = new
            elif len(new.entry):
                parts = zip(self._entries, new, strict=True)
                self._entries = Entries(*(np.concatenate(part) for part in parts))
            return zeros(description), self._entries

    # Current evidence and posterior

    def posterior(self, **rules: Any) -> xr.Dataset:
        """
        Return the current posterior.

        Parameters
        ----------
        **rules
            See `since_change`.

        Returns
        -------
        Dataset
            ``concentration``, the prior, and ``counts``, the current evidence, dims (actual,
            predicted) or (actual, bin). For counts, the result is a state for `update` and
            `intervals`. To fit a model, use ``bcm.fit(state["counts"],
            concentration=state["concentration"])``.

        Raises
        ------
        TypeError
            If the batches have another type, such as item scores or multilabel examples.
        """
        from bayescm.online.updating import as_prior

        if self.encoding not in (COUNTS, FORECASTS):
            raise fail(
                f"Batches of the type {self.encoding} have no table of counts",
                ...,
                "",
                "use summary, or another function of bayescm with evidence()",
                TypeError,
            )
        tables = self._current(rules)
        prior = as_prior(self._concentration, tables)
        return xr.Dataset({"concentration": prior, "counts": tables})

    def _current(self, rules):
        """Return the current evidence: the batches since the latest change, after forgetting."""
        from bayescm.online.discounting import discounted

        current = discounted(self.since_change(**rules), **self._memory).isel(step=-1)
        return current.drop_vars(
            ["step", "batch_id", "at", "recorded_at", *OF_RULES], errors="ignore"
        )

    def _current_after_each(self, batches, rules):
        """Return the current evidence after each batch, with the start of its segment."""
        from bayescm.online.discounting import discounted

        starts = self._starts(batches, rules)
        parts = [slice(*ends) for ends in zip(starts, [*starts[1:], None], strict=True)]
        tables = [discounted(self._part(batches, part), **self._memory).values for part in parts]
        number = np.diff([*starts, batches.sizes["step"]])
        since = np.repeat(batches["at"].values[starts], number)
        current = batches.copy(data=np.concatenate(tables))
        return current.assign_coords(since=("step", since))

    def _measures(self, tables):
        """Return the monitored measures."""
        from bayescm.online.updating import monitored_measures

        return monitored_measures(self._with_names_of_now(self.measures), tables)

    def _with_names_of_now(self, names):
        """Return measures, or limits by measure, with the current class names."""
        former = self.ledger.former_names(self.classifier)
        if not former or names is None:
            return names
        if isinstance(names, Mapping):
            return {current_measure(name, former): value for name, value in names.items()}
        if isinstance(names, str) or callable(names):
            return current_measure(names, former)
        return [current_measure(name, former) for name in names]

    def _rules_of_now(self, rules):
        """Return the rules with the current class names."""
        limits = {name for name in ("floor", "tolerance") if isinstance(rules.get(name), Mapping)}
        return rules | {name: self._with_names_of_now(rules[name]) for name in limits}

    # Results

    def history(
        self,
        *,
        prob: float = 0.95,
        kind: str = "hdi",
        of: str = "parameter",
        n: int | None = None,
        last: int | None = None,
        **rules: Any,
    ) -> xr.Dataset:
        """
        Return the interval of every measure after every batch.

        The history starts again at every detected change: each interval uses the batches from the
        latest change up to that batch.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the intervals.
        kind : {"hdi", "eti"}
            Highest-density or equal-tailed intervals.
        of : {"parameter", "predictive"}, default "parameter"
            Estimand: the measure itself or, for counts, its value in the next batch.
        n : int, optional
            Number of examples in the next batch, for ``"predictive"``. By default the current
            number of examples.
        last : int, optional
            Number of most recent batches to report. All by default.
        **rules
            See `since_change`.

        Returns
        -------
        Dataset
            One variable per measure, dims (step, [class], bound). The coordinates are ``batch_id``,
            ``at``, ``since`` (the time of the first batch since the latest change) and ``n`` (the
            number of examples in each batch). ``attrs["caution"]`` is as in `summary`.
        """
        from bayescm.answers import cautions
        from bayescm.answers.interval import resolve_measures
        from bayescm.online.updating import history_of, posterior_of

        if of != "parameter" and (encoding := self.encoding) != COUNTS:
            name = encoding.replace("_", " ")
            todo = "leave `of` out"
            raise fail(
                f"`of={of!r}` is not available: a monitor of {name} has no predictive distribution",
                ...,
                "",
                todo,
            )
        batches = self.batches()
        current, measures = self._current_after_each(batches, rules), self._measures(batches)
        if last is not None:
            check_whole("last", last, 1, "batches", 200)
            batches, current = batches[-last:], current[-last:]
        posterior = posterior_of(current, self._concentration)
        ends = history_of(posterior, batches, measures, prob=prob, kind=kind, of=of, n=n)
        ends = ends.assign_coords(since=current["since"])
        resolved_measures = resolve_measures(posterior, measures)
        if doubts := cautions.of_measures(posterior, resolved_measures, of):
            ends.attrs["caution"] = " ".join(doubts)
        return ends

    def summary(self, *, prob: float = 0.95, kind: str = "hdi", **rules: Any) -> pd.DataFrame:
        """
        Return the table of `bayescm.summary` for the current posterior.

        For ``**rules``, see `since_change`. For forecasts, ``attrs["caution"]`` reports three
        problems:

        - A class has fewer than 20 current examples, so intervals of the area under the curve are
          too short.
        - The bins are too wide to distinguish the forecasts.
        - Forecasts near 0 or 1 are wrong too often to estimate the calibration slope.

        The win rate of a system against itself, which is always 0.5, is omitted.
        """
        from bayescm.answers.summary import table_of
        from bayescm.online.updating import posterior_of

        tables = self._current(rules)
        posterior, measures = posterior_of(tables, self._concentration), self._measures(tables)
        table = table_of(posterior, measures, check_prob(prob), check_kind(kind))
        if "system" not in table:
            return table
        rows = zip(table["measure"], table["system"], strict=True)
        kept = [not is_against_itself(measure, system) for measure, system in rows]
        return table[kept].reset_index(drop=True)

    def observed(self, *, last: int | None = None) -> xr.Dataset:
        """
        Return the value of every measure in each single batch, dims (step, [class]).

        For forecasts, the values include the prior, because a batch may lack a class.
        """
        from bayescm.online.updating import posterior_of, values_of

        batches = self.batches(last=last)
        return values_of(posterior_of(batches, self._concentration), self._measures(batches))

    def alarms(self, *, since: Any = None, new: bool = False, **rules: Any) -> pd.DataFrame:
        """
        Return all alarms so far.

        Parameters
        ----------
        since : datetime, datetime64 or str, optional
            Return only alarms raised by batches from this moment on.
        new : bool, default False
            Return only alarms that have not been acknowledged; see `acknowledge`.
        **rules
            Keywords of the rules:

            - ``rate``, ``floor`` and ``horizon``: see `online.alarms`.
            - ``silence``: the longest time without a batch, such as ``"26h"``.
            - ``reference``: for counts and items, see `online.alarms`.
            - ``tolerance``: for forecasts, the largest accepted deviation of a measure from its
              value under correct forecasts, on both sides. The default is 0.02 for calibration in
              the large and 0.2 for the calibration slope.

        Returns
        -------
        DataFrame
            The table of `online.alarms`, with the additional columns ``acknowledged``, ``note`` (of
            the acknowledgement) and ``incident`` (see `incidents`).

        Notes
        -----
        For forecasts, the rules are ``calibration`` and ``floor``. Both are applied to the last
        batch and to the last 2, 4, 8, ..., 512 batches together, if these have ten examples of each
        class. Probabilities also have the rule ``change``, which tests whether the outcomes have
        changed relative to the forecasts. The rule ``silence`` fires once no batch has arrived for
        longer than ``silence``, and reports durations in hours.
        """
        table = self._alarms(self.batches(), since, rules).drop(columns=["end", "over"])
        return table[~table["acknowledged"]].reset_index(drop=True) if new else table

    def _alarms(self, batches, since, rules, moment=None):
        """Return the alarms of the batches, with the incident of each alarm and its end."""
        from bayescm.online.incidents import with_incidents
        from bayescm.online.rules import MonitoredSeries, evaluate_rules

        _check_rules_of(batches, rules)
        rules = self._rules_of_now(rules)
        times = batches[self._order].values
        first, earliest = 0, None
        if since is not None:
            earliest = as_datetime64(since)
            first = int(np.append(times >= earliest, True).argmax())
        series = MonitoredSeries(batches, self._concentration, self._memory, first)
        silence = rules.pop("silence", None)
        table = evaluate_rules(series, self._measures(batches), **rules)
        if earliest is not None:
            table = table[times[table["step"]] >= earliest].reset_index(drop=True)
        if silence is not None:
            silent = self._silences(batches, silence, moment)
            if earliest is not None:
                silent = silent[silent["at"] >= earliest]
            parts = [part for part in (table, silent) if len(part)]
            joined = pd.concat(parts or [table], ignore_index=True)
            table = joined.sort_values("step", kind="stable", ignore_index=True)
        if "over" not in table:
            table["over"] = np.full(len(table), "NaT", "<M8[us]")
        acknowledgements = self.ledger.acknowledgements(self.classifier)
        return with_incidents(table, acknowledgements, batches["recorded_at"].values)

    def _silences(self, batches, silence, moment):
        """Return the alarms of the rule `silence`, with the end time of each."""
        from bayescm.online.rules import COLUMNS, UNCLEAR
        from bayescm.online.silence import (
            BATCHES,
            SILENCE,
            check_silence,
            hours,
            sentence_of,
            silences,
        )

        entries, limit = self._read()[1], check_silence(silence)
        known = np.ones(len(entries.entry), bool)
        if moment is not None:
            known = entries.recorded_at <= moment
        names, arrived = entries.batch_id[known].tolist(), entries.recorded_at[known]
        now = np.datetime64(datetime.now(UTC).replace(tzinfo=None), "us")
        steps = dict(zip(batches["batch_id"].values.tolist(), range(len(batches)), strict=True))
        newer = {old: new for old, new in zip(entries.supersedes[known], names, strict=True) if old}
        rows = []
        for index, start, end, is_on in silences(arrived, limit, moment or now):
            name = names[index]
            while name in newer:  # a correction replaces the batch that it corrects
                name = newer[name]
            last, duration = arrived[index], hours(end - arrived[index])
            rows.append(
                {
                    "step": steps[name],
                    "batch_id": name,
                    "at": start,
                    "first": steps[name],
                    "since": last,
                    "rule": SILENCE,
                    "measure": BATCHES,
                    "direction": UNCLEAR,
                    "estimate": duration,
                    "lower": np.nan,
                    "upper": np.nan,
                    "limit": hours(limit),
                    "value": duration,
                    "threshold": hours(limit),
                    "lasted": 1,
                    "on": is_on,
                    "sentence": sentence_of(last, end, limit, is_on),
                    "over": np.datetime64("NaT", "us") if is_on else end,
                }
            )
        return pd.DataFrame(rows, columns=[*COLUMNS, "over"])

    def is_silent(self, silence: Any = None) -> bool:
        """
        Return True if no batch has arrived for longer than the given time.

        Parameters
        ----------
        silence : str or timedelta, optional
            See `alarms`. If omitted, the result is False.
        """
        from bayescm.online.silence import silences

        if silence is None:
            return False
        arrived = self._read()[1].recorded_at
        now = np.datetime64(datetime.now(UTC).replace(tzinfo=None), "us")
        return any(is_on for *_, is_on in silences(arrived, silence, now))

    def incidents(self, *, since: Any = None, **rules: Any) -> pd.DataFrame:
        """
        Return all incidents so far, which group related alarms.

        An incident starts with an alarm and includes all alarms raised while a rule is on. It is
        closed once no rule has been on for three batches, and acknowledged once all its alarms have
        been acknowledged. The next alarm then opens a new incident. The incidents depend on the
        rules: other settings, such as another floor, give other alarms and therefore other
        incidents.

        Parameters
        ----------
        since, **rules
            See `alarms`. Alarms of batches before ``since`` do not open an incident.

        Returns
        -------
        DataFrame
            One row per incident, in time order, with these columns:

            - ``incident``: the batch that opened it.
            - ``opened`` and ``closed``: times. ``closed`` is missing while the incident is open.
            - ``state``: ``open``, ``acknowledged`` or ``closed``.
            - ``alarms``: the number of alarms.
            - ``since``: the earliest ``since`` of its alarms.
            - ``rule``, ``measure`` and ``sentence`` of the most informative alarm.
            - ``on``: the sentence of an alarm whose rule is on at the latest batch, acknowledged or
              not. Empty if no rule is on.
            - ``note``: notes of the acknowledgements.
        """
        return self.alarms_and_incidents(since=since, **rules)[1]

    def alarms_and_incidents(
        self, *, since: Any = None, as_of: Any = None, **rules: Any
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """
        Return the results of `alarms` and `incidents`, evaluating the rules once.

        Parameters
        ----------
        since, **rules
            See `alarms`.
        as_of : datetime, datetime64 or str, optional
            Use only batches recorded up to this moment, without later corrections. By default all
            batches.
        """
        from bayescm.online.incidents import incidents_of

        moment = None if as_of is None else as_datetime64(as_of)
        batches = self._batches_by(moment)
        table = self._alarms(batches, since, rules, moment)
        incidents = incidents_of(table, batches["at"].values)
        return table.drop(columns=["end", "over"]), incidents

    def acknowledge(self, alarms: pd.DataFrame | None = None, *, note: str = "") -> int:
        """
        Mark alarms as seen, so that they are no longer new.

        Parameters
        ----------
        alarms : DataFrame, optional
            Rows of the table returned by `alarms`. By default all new alarms of the default rules.
            An alarm that ends and starts again at another batch is a new alarm.
        note : str, optional
            Note to store with the acknowledgement, such as the cause that was found.

        Returns
        -------
        int
            Number of alarms that had not been acknowledged before.
        """
        table = self.alarms(new=True) if alarms is None else alarms
        return self.ledger.acknowledge(self.classifier, table, note)

    def plot(self, *, prob: float = 0.95, kind: str = "hdi", **rules: Any) -> "Figure":
        """
        Plot the history with its alarms.

        ``prob`` and ``kind`` are as in `history`, and all other keywords as in `alarms`.
        """
        import bayescm as bcm  # plots depend on this package, so they are imported late

        history, alarms = self.history(prob=prob, kind=kind, **rules), self.alarms(**rules)
        # With counts, the plot marks the classes whose predictions have changed.
        batches = self.batches() if self.encoding == COUNTS else self.observed()
        floor, tolerated = self._rules_of_now(rules).get("floor"), self.tolerated(**rules)
        return bcm.plot_history(
            history,
            batches=batches,
            alarms=alarms,
            floor=floor,
            tolerated=tolerated,
            title=self.classifier,
        )

    def tolerated(self, **rules: Any) -> dict[str, tuple[float, float]]:
        """
        Return the tolerated range of each measure of forecasts.

        The range extends by the tolerance on both sides of the value under correct forecasts. By
        default it is -0.02 to 0.02 for calibration in the large, and 0.8 to 1.2 for the calibration
        slope. For other batches, the result is empty.

        Parameters
        ----------
        **rules
            See `alarms`.
        """
        from bayescm.online.rules import tolerances
        from bayescm.online.updating import posterior_of

        batches = self.batches(last=1)
        if "calibration" not in type_of(batches).alarm_rules(batches):
            return {}
        posterior: Any = posterior_of(batches, self._concentration)
        measures = self._measures(batches)
        sizes = tolerances(measures, self._rules_of_now(rules).get("tolerance"))
        right = {m.__name__: float(posterior.if_right(m)[0]) for m in measures}
        return {name: (right[name] - size, right[name] + size) for name, size in sizes.items()}

    @property
    def settings(self) -> dict[str, Any]:
        """Prior, forgetting, window, measures, order and season of the monitor."""
        asked = {"concentration": self._concentration, "measures": self.measures}
        return asked | self._memory | {"order": self._order, "season": self.season}

    @property
    def rules(self) -> tuple[str, ...]:
        """Keywords of the rules that `alarms` accepts for batches of this type."""
        like = self.ledger.empty(self.classifier)
        rules = type_of(like).alarm_rules(like)
        further = {"calibration": "tolerance", "reference": "reference"}
        asked = [keyword for rule, keyword in further.items() if rule in rules]
        return ("rate", "floor", *asked, "horizon", "silence")


def _check_rules_of(batches, rules):
    """Raise an error if a rule is unknown, or not available for batches with sampled posteriors."""
    from bayescm.online.rules import check_rules

    has = type_of(batches).alarm_rules(batches)
    asked = [name for name in ("change", "reference") if rules.get(name) is not None]
    unfit = [name for name in asked if name not in has]
    if unfit and type_of(batches).one_by_one(batches):
        noun = type_of(batches).name
        raise fail(
            f"A monitor of {noun} has no rule {unfit[0]}, because its posterior is sampled "
            "for each batch",
            ...,
            "rate, floor and horizon",
            "set a floor, or compare two periods with bcm.summary",
        )
    check_rules(rules)


def check_cells(cells: np.ndarray) -> None:
    """Raise an error if a cell is negative or not finite."""
    values = np.asarray(cells, float)
    if not np.isfinite(values).all() or (values < 0).any():
        raise fail("Cells must be finite numbers >= 0", ..., "", "correct the counts")


def _digits(name):
    return [character for character in name if character.isdigit()]


# Settings and rules shared by many classifiers


def monitor_of(
    ledger: Ledger,
    classifier: str,
    settings: Mapping[str, Any],
    specific: Mapping[str, Any] | None = None,
) -> Monitor:
    """
    Return the monitor of one classifier, given settings for many classifiers.

    Parameters
    ----------
    ledger : Ledger
        Ledger that contains the classifier.
    classifier : str
        Name of the classifier.
    settings : mapping
        Arguments of `Monitor` for all classifiers. None means the default. Measures and a prior
        that do not apply to the type of this classifier are ignored.
    specific : mapping, optional
        Arguments for this classifier, which override `settings`. All of them are used.
    """
    applicable = {name: value for name, value in settings.items() if value is not None}
    table = ledger.empty(classifier)
    if encoding_of(table) != COUNTS:
        applicable.pop("concentration", None)
    if "measures" in applicable:
        measures = [m for m in applicable["measures"] if _applies(m, table)]
        applicable["measures"] = measures or None
    return Monitor(ledger, classifier, **(applicable | dict(specific or {})))


def applicable_rules(
    monitor: Monitor, rules: Mapping[str, Any], specific: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """
    Return the rules of one classifier, given rules for many classifiers.

    Parameters
    ----------
    monitor : Monitor
        Monitor of the classifier.
    rules : mapping
        Rules of `Monitor.alarms` for all classifiers. Rules that do not apply to the type of this
        classifier are ignored, and so are limits of measures that do not apply to it.
    specific : mapping, optional
        Rules for this classifier, which override `rules`. All of them are used.
    """
    table = monitor.ledger.empty(monitor.classifier)
    applicable = {name: rule for name, rule in rules.items() if name in monitor.rules}
    for name, rule in applicable.items():
        if isinstance(rule, Mapping):
            limits = {measure: size for measure, size in rule.items() if _applies(measure, table)}
            applicable[name] = limits
    return applicable | dict(specific or {})


def _applies(measure, table):
    """Return True if a measure applies to a table, or is unknown (which `Monitor` reports)."""
    variables = variables_of(table)
    try:
        takes = resolve(measure).takes
    except (ValueError, TypeError):
        return True
    with suppress(ValueError, TypeError):  # `mean` is a measure of attempts and of item scores
        takes = resolve(measure, variables).takes
    return callable(measure) or takes in variables
