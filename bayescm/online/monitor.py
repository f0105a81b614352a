"""
The evaluation of one classifier over time, kept in a ledger.

A batch is counts, or probabilities or scores, or a score or several labels of each of many items;
of which type the batches of a classifier are, the first one says for good (`encoding`). The ledger
holds every batch, and every conclusion is worked out from it on request:

    batches  ->  parted by changes (`rules.segments`)
             ->  the evidence in force (`discounting`)  ->  its posterior (`updating.posterior_of`)
             ->  intervals of the measures after every batch, their summary now, alarms (`rules`),
                 and what belongs together of these (`incidents`).
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


OF_RULES = ("classes", "phase")  # coords of batches that the rules of alarms use
BLOCK = 1000  # batches in a transaction of `extend`: more are hardly faster
_SLIP = 0.8  # how alike names are, of 1, of which one may be a slip: one letter in five or more


class Monitor(LedgerClient):
    """
    The evaluation of one classifier over time, kept in a ledger.

    The ledger holds every batch; conclusions are computed from it on request. So the prior, the
    forgetting and the measures can be changed at any time by opening the same store with others.

    **What is known now is known since the latest change.** Once the rule `change` has fired (see
    `alarms`), the summary, the posterior and the history are those of the batches since then. As
    the rules share their rate of false alarms, each of these takes the keywords of the rules. Of
    probabilities a change is one in what comes true of them; of scores none is looked for.

    Of probabilities and scores the ledger holds how many examples of each class have a forecast in
    each bin; the edges of the bins are those of the first batch for good. Measures are those of the
    forecasts moved to the middles of their bins. Their posterior is taken for normal (on the log
    odds, or the log, where they are bounded), which needs some twenty examples of each class.

    Of item scores (`from_item_scores`: nDCG of queries, marks on a rubric, a judge's scores) the
    ledger holds every score with the name of its item. Monitored are means over the items: ``mean``
    and ``share_above(4)``; for whatever else there is to ask see `item_scores`. The ends of the
    scale are those of the first batch for good. The items of every batch are taken for new ones.

    Of several labels of each example (`from_multilabel`) it holds which labels every example has
    and which were predicted. Monitored are ratios over the examples: ``f1_micro``,
    ``recall[cat]``, ``f1_samples``, ``hamming_loss``; the examples are returned by `multilabel`.

    For attempts (`from_attempts`) the ledger stores the right answers and the attempts of every
    item. The monitored measure is ``mean``, which is also ``pass@1``; `attempts` returns the items
    for other measures. For item counts (`from_item_counts`) it stores tp, fp and fn of every item.
    Monitored measures are ratios of sums over the items, such as ``precision``, ``recall`` and
    ``f1``, and means such as ``f1_samples``; `item_counts` returns the items.

    For ratings (`from_raters`) and partly labelled examples (`from_partly_labelled`) the ledger
    stores how often each combination of labels occurs. Measures of ratings have a dim ``rater``.
    Their posterior takes about a second for each batch, so that no change is looked for, and a
    floor is compared with the evidence in force. The same holds for probabilities of three classes
    or more, which are stored on a grid of 0.01. `ratings`, `partly_labelled` and `class_forecasts`
    return the evidence.

    For votes (`from_preferences`) the ledger stores the number of votes by pair and outcome.
    Measures have a dim ``system``; ``measures=["win_rate[old]"]`` watches the votes against one
    system. The first batch determines the systems, and later batches may lack some of them. A
    change is one in the outcomes of the votes on a pair. `evidence` returns the votes.

    Parameters
    ----------
    store : str or Ledger
        ``sqlite:///eval.db`` (its own file, created if missing),
        ``postgresql://user@host/database``, or a ledger that is open.
    classifier : str
        Its name in the store. A store holds any number of classifiers, of any type.
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts of counts; the default prior if omitted. Of item scores pseudo-items at
        each end of the scale, of several labels pseudo-examples in each cell, by default one half
        each. Forecasts have a prior of their own: one example
        over all bins, whose forecasts are right.
    forgetting : float, default 1
        What earlier evidence is worth after each batch, in (0, 1]; see `update`.
    window : int, optional
        How many of the latest batches count; all by default.
    measures : sequence of names or functions, optional
        What to monitor; by default precision, recall, specificity, accuracy and F1 for two classes
        with a positive one; of probabilities the area under the ROC curve, the Brier score,
        calibration in the large and its slope; of scores the area; of item scores the mean; of
        several labels precision, recall and F1 over all labels (``_micro``); of votes the win
        rate. Measures of forecasts
        are those that need no curve, of item scores means over the items.
    order : {"at", "recorded_at"}, default "at"
        By which time batches are in order and forgotten: that of observation, or of arrival.
    edges : sequence of float, optional
        Edges of the bins of forecasts, see `forecast_table`; those of earlier batches by default.
    season : int, {"hour", "weekday", "day", "month"}, Series or dict, optional
        The season of the batches. The rules `change`, `batch` and `reference` compare a batch with
        others of the same phase.

        - A number: how many batches a season has, such as 7 of daily batches. A batch that is
          missing moves the phases of those after it.
        - ``"weekday"`` and the like: the phase is this part of the time of the batch.
        - A Series or dict: the phase of each batch by its name, such as a column of a table.

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

    Of probabilities:

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

    Of marks from 1 to 5:

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
        self._is_prior_checked = concentration is None  # against the labels
        self._entries: Entries | None = None  # those read so far

    # What comes in

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
        Record a batch; once this returns, it is in the store for good.

        Parameters
        ----------
        batch_id : str or int
            Its name. Sending the same batch again changes nothing, so repeat until acknowledged;
            the same name with different counts is refused.
        evidence : DataArray or Dataset
            Counts (actual, predicted), as `from_predictions` or `from_cells` return them; one
            classifier's probabilities or scores, or a `forecast_table` of them; one system's item
            scores, several labels, attempts or item counts. If there are several classifiers or
            systems, such as outcomes (`from_classifiers`), one of them must be that of the
            monitor: the batch of each is recorded under its name. Ratings and votes are
            recorded together.
        at : datetime, datetime64 or str, optional
            When it was evaluated; without a time zone it is taken as UTC. By default the time that
            the name is (``"2026-01-31"``, ``"2026-01-31T12:00"``), or else now. The history is in
            the order of these times; a batch that comes late is put in its place, with a warning.
        corrects : str or int, optional
            The batch that this one replaces; the old one stays in the ledger but no longer counts.
        allow_empty : bool, default False
            Whether the batch may have no examples, as after an outage. ``evidence=None`` is then an
            empty batch of the type and the classes of the batches before.

        Returns
        -------
        bool
            True if it was recorded, False if it was there already. If there are several
            classifiers, True if it was new for any of them.

        Raises
        ------
        ValueError
            If the name is taken by different counts, or the labels are not those of the
            classifier or of the prior, or the classifier has batches of another type, bins or
            scale.
        TypeError
            If it is no evidence of these types.
        OSError
            If the store could not take it. The ledger is intact; send the batch again.

        Warns
        -----
        UserWarning
            If the batch comes late, has the very counts of another one, or begins a classifier
            whose name is nearly that of another. It is recorded.
        """
        if isinstance(evidence, (str, int)) and not isinstance(batch_id, (str, int)):
            what, allowed = "the name of a batch in place of its evidence", "the name first"
            raise fail(what, evidence, allowed, f"pass add({evidence!r}, evidence)", TypeError)
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
        # The latest of the entry may be the time of a batch that has been corrected.
        if is_early and entry.at < (latest := self.latest()):
            warnings.warn(
                f"Batch {str(batch_id)!r} is earlier than the latest, which is of {latest}. "
                "It is recorded; the history is in order of time, so what was reported since then "
                "may change.",
                UserWarning,
                stacklevel=2,
            )
        return is_new

    def _empty_batch(self, allow_empty):
        """Return a batch without examples, of the type of those before."""
        if not allow_empty:
            todo = "pass `allow_empty=True` to record that there were no examples"
            raise fail("there is no evidence", None, "evidence", todo, TypeError)
        empty = self.labels()
        if empty is None:
            what = f"the first batch of {self.classifier!r} is empty"
            todo = "begin with a batch that has examples: it says the type and the classes"
            raise fail(what, ..., "", todo)
        return empty

    def extend(
        self,
        batches: xr.DataArray | Iterable[tuple],
        *,
        block: int = BLOCK,
    ) -> int:
        """
        Record many batches; those of a block are stored in one transaction.

        Once this returns, all are in the store for good. If it raises an error or the process
        dies, each block is stored as a whole or not at all: send all again, and those that are
        there already are recognised.

        Parameters
        ----------
        batches : DataArray or iterable of tuple
            Either tables with a dim ``step`` (or ``batch``), whose coord ``batch_id`` has the names
            of the batches and ``at`` their times (both optional: the names are then those of the
            dim), or pairs ``(batch_id, evidence)`` or triples ``(batch_id, evidence, at)``; see
            `add`. A generator is read block by block.
        block : int, default 1000
            Batches in a transaction.

        Returns
        -------
        int
            How many were recorded; the others were there already.

        Raises
        ------
        ValueError
            As by `add`. Earlier blocks are recorded.

        Warns
        -----
        UserWarning
            If batches have the very counts of another one that is recorded with them.

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
                f"{len(twins)} batches have the very same counts, scores or labels as another one, "
                f"which by chance is rare: {names}. They are recorded, and all count.",
                UserWarning,
                stacklevel=2,
            )
        return number

    def _rows_of_tables(self, tables):
        """Yield name, cells and time of each table, in the order of the classes of the ledger."""
        dims = [dim for dim in ("step", "batch") if dim in tables.dims]
        if len(dims) != 1:
            todo = "pass tables with a dim step, or pairs (batch_id, evidence)"
            raise fail("not a series of batches", tables.dims, "the dim step or batch", todo)
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
            raise fail("not a series of tables", encoding_of(first), "counts", todo, TypeError)
        check_cells(plain.values)
        empty = plain.values.reshape(len(ids), -1).sum(axis=1) == 0
        if empty.any():
            todo = "leave them out, or add each by `monitor.add(..., allow_empty=True)`"
            named = [name for name, none in zip(ids, empty, strict=True) if none][:5]
            raise fail("batches have no examples", named, "at least one example each", todo)
        if (like := self.labels()) is None:
            yield ids[0], first, times[0]
            ids, times, plain, like = ids[1:], times[1:], plain[1:], first
        else:
            encode(first, describe(self.classifier, like))  # raises an error, if classes are new
        known = like.indexes["actual"]
        if not plain.indexes["actual"].equals(known):
            of_classes = {dim: known for dim in ("actual", "predicted") if dim in plain.dims}
            plain = plain.reindex(of_classes, fill_value=0)
        yield from zip(ids, plain.values, times, strict=True)

    def _rows_of_evidence(self, batches):
        """Yield name, batch and time of each piece of evidence."""
        like = self.labels()
        for row in batches:
            if not isinstance(row, tuple) or len(row) not in (2, 3):
                todo = "pass tuples (batch_id, evidence) or (batch_id, evidence, at)"
                raise fail("not a batch with its name", row, "a tuple", todo, TypeError)
            name, evidence, at = row if len(row) == 3 else (*row, None)
            if type_of(evidence).by_system(evidence):
                todo = "select one system of each batch, or use add"
                raise fail("the batch has several systems", name, "one system", todo)
            table = self._as_table(evidence, like, may_be_empty=False)
            yield check_name(name, "batch_id"), table, at
            if like is None:
                like = zeros(describe(self.classifier, table))

    def _add_every_classifier(self, batch_id, parts, at, corrects, allow_empty):
        """Record the batch of every classifier, each in its own history."""
        names = list(parts)
        if self.classifier not in names:
            todo = f"open a Monitor of one of these, such as {names[0]!r}, or select one classifier"
            raise fail("the batch lacks the classifier", self.classifier, names, todo)
        settings = {"concentration": self._concentration, "edges": self.edges}
        monitors = {name: Monitor(self.ledger, name, **settings) for name in names}
        # First all parts are checked, so that an invalid batch records nothing.
        for name, monitor in monitors.items():
            may_be_empty = corrects is not None or allow_empty
            table = monitor._as_table(parts[name], monitor.labels(), may_be_empty=may_be_empty)
            self.ledger.check(name, str(batch_id), table)
        with warnings.catch_warnings():
            # The names are those of the evidence, and no slips.
            warnings.filterwarnings("ignore", "This batch begins classifier")
            added = [
                monitor.add(batch_id, parts[name], at, corrects=corrects, allow_empty=allow_empty)
                for name, monitor in monitors.items()
            ]
        return any(added)

    def change_classes(
        self, *, rename: Mapping[Any, Any] | None = None, add: Sequence | None = None
    ) -> bool:
        """
        Rename classes, and add further ones; the history goes on.

        All batches, earlier ones included, have the new names. In earlier batches, an added class
        has no examples and no predictions. The rule `change` compares the predictions among the
        classes that both sides have, so that an added class does not count as a change. Floors,
        measures, acknowledgements and pages follow the new name.

        Parameters
        ----------
        rename : mapping, optional
            New names by old ones.
        add : sequence, optional
            Names of further classes.

        Returns
        -------
        bool
            True if it was recorded, False if the last change of the classes was the same.

        Raises
        ------
        ValueError
            If a class is unknown, a new name is taken or was that of another class (two classes
            cannot be merged), or the batches have no classes: item scores, attempts and item
            counts. No class can be added to batches with a positive class.

        Notes
        -----
        Nothing in the ledger is changed: this is a further entry of it. Versions of bayescm that do
        not know such entries reject the ledger. A batch that comes with a former name is rejected,
        unless it was recorded before and is sent again.

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
        self._is_prior_checked = self._concentration is None  # the new classes may not fit it
        return self.ledger.change_classes(self.classifier, rename, add)[0]

    def _warn_of_near_name(self):
        """Warn where a classifier has been begun whose name is another's but for a slip."""
        others = [name for name in self.ledger.classifiers() if name != self.classifier]
        near = get_close_matches(self.classifier, others, cutoff=_SLIP)
        # Other digits are those of another version, and no slip.
        near = [name for name in near if _digits(name) == _digits(self.classifier)]
        if near:
            warnings.warn(
                f"This batch begins classifier {self.classifier!r}: did you mean {near[0]!r}? It "
                "is recorded; if its name is a slip, add the batch again to the right one.",
                UserWarning,
                stacklevel=3,
            )

    def _as_table(self, evidence, like, *, may_be_empty):
        """Return a batch as the ledger keeps it, or raise where it is none."""
        entry = type_of(evidence)
        if self.edges is not None:
            if FORECASTS not in entry.batch_forms:
                got = getattr(evidence, "dims", type(evidence).__name__)
                todo = "pass `from_probabilities(actual, p)`, or online.forecast_table(actual, p)"
                allowed = "(actual, bin), as there are edges"
                raise fail("not forecasts", got, allowed, todo, TypeError)
            like = (xr.DataArray() if like is None else like).assign_attrs(edges=self.edges)
        if entry.as_batch is None:
            names = [each.name for each in TYPES if each.as_batch is not None]
            todo = "pass the predictions, scores or answers of the examples of this batch"
            raise fail(f"a monitor takes no {entry.name}", ..., names, todo, TypeError)
        table = entry.as_batch(evidence, like)
        if encoding_of(table) == COUNTS and not table.values.any() and not may_be_empty:
            todo = "leave it out, or pass `allow_empty=True` to record that there were none"
            raise fail("the batch has no examples", 0, "at least one example", todo)
        if not self._is_prior_checked:
            self._check_prior(table)
            self._is_prior_checked = True
        return table

    def _check_prior(self, table):
        """Raise an error if the posterior of a batch does not take the prior."""
        from bayescm.online.updating import posterior_of, tables_of_batches

        description = describe(self.classifier, table)
        if self.classifier in self.ledger.classifiers():
            description = describe(self.classifier, self.ledger.empty(self.classifier))
        try:
            like, payload = zeros(description), encode(table, description)["payload"]
        except ValueError:  # the ledger gives the reason, or knows the batch
            return
        batches = decode([payload], description.encoding)
        tables = tables_of_batches(batches, like, self._measures(like))
        posterior_of(tables, self._concentration)

    # What the ledger has

    @property
    def encoding(self) -> str:
        """
        Of which type the batches are.

        It is ``"counts"``, ``"forecasts"``, ``"item_scores"``, ``"multilabel"``, ``"attempts"``,
        ``"item_counts"``, ``"ratings"``, ``"partly_labelled"``, ``"class_forecasts"`` or
        ``"preferences"``.

        Raises
        ------
        ValueError
            If there are no batches yet.
        """
        return encoding_of(self.ledger.empty(self.classifier))

    def batches(self, *, last: int | None = None) -> xr.DataArray:
        """
        Return the batches in force, in the order of time.

        Parameters
        ----------
        last : int, optional
            Only so many of the latest.

        Returns
        -------
        DataArray, dims (step, actual, predicted), (step, actual, bin) or (step, statistic)
            Counts, or the sums over items by which their means are known, with coords ``batch_id``
            and ``at`` along ``step``.

        Raises
        ------
        ValueError
            If there are no batches yet.
        """
        if last is not None:
            check_whole("last", last, 1, "batches", 200)
        batches = self._batches_by(None)
        return batches if last is None else batches.isel(step=slice(-last, None))

    def _batches_by(self, moment):
        """Return the batches in force once those up to a moment were recorded, by default all."""
        from bayescm.online.updating import tables_of_batches

        like, batches, coords = self._in_force(moment)
        batches = tables_of_batches(batches, like, self._measures(like))
        return batches.assign_coords({name: ("step", values) for name, values in coords.items()})

    def _in_force(self, moment=None):
        """Return an empty batch, the batches in force, and the step, name and times of each."""
        zeros, entries = self._read()
        if moment is not None:
            is_recorded = entries.recorded_at <= moment
            if not is_recorded.any():
                first = f"a moment from {entries.recorded_at[0]} on"
                raise fail("no batch had been recorded by then", moment, first, "ask of later")
            entries = Entries(*(part[is_recorded] for part in entries))
        index = entries.current(self._order)
        coords = {
            "step": np.arange(len(index)),
            "batch_id": entries.batch_id[index].astype(str),
            "at": entries.at[index],
            "recorded_at": entries.recorded_at[index],
        }
        if (entries.classes >= 0).any():  # a class was added since
            coords["classes"] = entries.classes[index]
        if self.season is not None:
            coords["phase"] = phases(self.season, coords["batch_id"], coords["at"])
        return zeros, entries.cells[index], coords

    def item_scores(self) -> xr.Dataset:
        """
        Return every item of the batches in force, of a monitor of item scores.

        Whatever else there is to ask of them is asked of this evidence: a median by
        `bayescm.summary`, single batches by `from_item_scores` with ``by=`` the coord ``batch_id``.

        Returns
        -------
        Dataset, dims (item)
            As `from_item_scores` returns it, with coords ``batch_id`` and ``at`` of every item.

        Raises
        ------
        ValueError
            If there are no batches yet, or they are of another type.

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
        Return every example of the batches in force, of a monitor of several labels.

        Returns
        -------
        Dataset, dims (example, label)
            As `from_multilabel` returns it, with coords ``batch_id`` and ``at`` of every example.

        Raises
        ------
        ValueError
            If there are no batches yet, or they are of another type.
        """
        return self._evidence_of(MULTILABEL_BATCHES)

    def attempts(self) -> xr.Dataset:
        """
        Return every item of the batches in force, of a monitor of attempts.

        Returns
        -------
        Dataset, dims (item, attempt)
            As `from_attempts` returns it, with coords ``batch_id`` and ``at`` of every item. In
            each item the right answers come first.

        Raises
        ------
        ValueError
            If there are no batches yet, or they are of another type.
        """
        return self._evidence_of(ATTEMPTS)

    def item_counts(self) -> xr.Dataset:
        """
        Return every item of the batches in force, of a monitor of item counts.

        Returns
        -------
        Dataset, dims (item)
            As `from_item_counts` returns it, with coords ``batch_id`` and ``at`` of every item.

        Raises
        ------
        ValueError
            If there are no batches yet, or they are of another type.
        """
        return self._evidence_of(ITEM_COUNT_BATCHES)

    def ratings(self) -> xr.Dataset:
        """
        Return the ratings of all batches in force, of a monitor of ratings.

        Returns
        -------
        Dataset
            As `from_raters` returns it.

        Raises
        ------
        ValueError
            If there are no batches yet, or they are of another type.
        """
        return self._evidence_of(RATING_BATCHES)

    def partly_labelled(self) -> xr.DataArray:
        """
        Return the examples of all batches in force, of a monitor of partly labelled examples.

        Returns
        -------
        DataArray, dims (judge, actual, predicted)
            As `from_partly_labelled` returns it.

        Raises
        ------
        ValueError
            If there are no batches yet, or they are of another type.
        """
        return self._evidence_of(PARTLY_LABELLED_BATCHES)

    def class_forecasts(self) -> xr.Dataset:
        """
        Return the probabilities of all batches in force, of a monitor of three classes or more.

        Returns
        -------
        Dataset
            As `from_probabilities` returns it. The probabilities are on a grid of 0.01.

        Raises
        ------
        ValueError
            If there are no batches yet, or they are of another type.
        """
        return self._evidence_of(CLASS_FORECASTS)

    def _evidence_of(self, encoding):
        """Return the evidence of all batches in force, of a monitor of this encoding."""
        like, batches, coords = self._in_force()
        if encoding_of(like) != encoding:
            what = f"the batches are {encoding_of(like)}"
            raise fail(what, ..., f"a monitor of {encoding}", "ask for its batches()")
        of_units = {name: coords[name] for name in ("step", "batch_id", "at")}
        add: Any = type_of(like).add
        return add(batches.tolist(), like, of_units)

    def evidence(self, **rules: Any) -> Any:
        """
        Return the evidence of the batches since the latest change that was noticed.

        Parameters
        ----------
        **rules
            See `since_change`.

        Returns
        -------
        DataArray or Dataset
            Evidence of the type of the batches: of counts and binned forecasts a table.
        """
        first = self._starts(self.batches(), rules)[-1]
        like, batches, coords = self._in_force()
        if (add := type_of(like).add) is None or encoding_of(like) == FORECASTS:
            return self.batches()[first:].sum("step", keep_attrs=True)
        of_units = {name: coords[name][first:] for name in ("step", "batch_id", "at")}
        return add(batches[first:].tolist(), like, of_units)

    def original_ids(self) -> dict[str, str]:
        """Return for every batch the name of the one that it corrects in the end, or its own."""
        entries = self._read()[1]
        originals: dict[str, str] = {}
        for batch_id, old in zip(entries.batch_id, entries.supersedes, strict=True):
            originals[batch_id] = originals.get(old, batch_id)
        return originals

    def latest(self) -> str:
        """Return the latest time of the batches in force, in UTC: 2026-01-31T12:00:00.000000Z."""
        return f"{self._read()[1].latest}Z"

    def former_names(self) -> dict[Any, Any]:
        """Return the name that each renamed class has now, by its former names."""
        return self.ledger.former_names(self.classifier)

    def labels(self) -> xr.DataArray | None:
        """Return zero counts with the labels of the classifier, or None where it has no batch."""
        if self.classifier not in self.ledger.classifiers():
            return None
        return self.ledger.empty(self.classifier)

    def since_change(self, **rules: Any) -> xr.DataArray:
        """
        Return the batches since the latest change that was noticed, all where none was.

        Parameters
        ----------
        **rules
            See `alarms`: ``rate``, and which rules share it.

        Returns
        -------
        DataArray
            The latest of `batches`; what is known now is known by these.
        """
        batches = self.batches()
        return self._part(batches, slice(self._starts(batches, rules)[-1], None))

    def _part(self, batches, part):
        """Return the batches between changes, of which items are repeated among themselves only."""
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
        """Return how many examples or items there are since the latest change."""
        return float(sizes_of(self.since_change(**rules)).sum())

    def _starts(self, batches, rules):
        """Return at which batches a change begins that was noticed, after 0 for the first batch."""
        from bayescm.online.rules import prior_of_change, segments, share_of_change

        _check_rules_of(batches, rules)
        rules = self._rules_of_now(rules)
        statistic = type_of(batches).change_statistic(batches)
        if statistic is None:
            return [0]  # no change is looked for
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

        Only those that came since the last time are read, and all of them if classes have changed.
        """
        with self.ledger.exclusive():  # a thread that meets another one reading waits for it
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

    # The evidence in force, and its posterior

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
            ``concentration``, the prior, and ``counts``, the evidence in force, dims (actual,
            predicted) or (actual, bin). Of counts it is a state for `update` and `intervals`; pass
            it on as ``bcm.fit(state["counts"], concentration=state["concentration"])``.

        Raises
        ------
        TypeError
            Of item scores and several labels, which are no table.
        """
        from bayescm.online.updating import as_prior

        if self.encoding not in (COUNTS, FORECASTS):
            todo = "use summary, or any function of bayescm on evidence()"
            raise fail(f"{self.encoding} have no table of counts", ..., "counts", todo, TypeError)
        tables = self._current(rules)
        prior = as_prior(self._concentration, tables)
        return xr.Dataset({"concentration": prior, "counts": tables})

    def _current(self, rules):
        """Return the evidence in force: the batches since a change, or what is not forgotten."""
        from bayescm.online.discounting import discounted

        current = discounted(self.since_change(**rules), **self._memory).isel(step=-1)
        return current.drop_vars(
            ["step", "batch_id", "at", "recorded_at", *OF_RULES], errors="ignore"
        )

    def _current_after_each(self, batches, rules):
        """Return the evidence in force after each batch, and since when each part of it counts."""
        from bayescm.online.discounting import discounted

        starts = self._starts(batches, rules)
        parts = [slice(*ends) for ends in zip(starts, [*starts[1:], None], strict=True)]
        tables = [discounted(self._part(batches, part), **self._memory).values for part in parts]
        number = np.diff([*starts, batches.sizes["step"]])
        since = np.repeat(batches["at"].values[starts], number)
        current = batches.copy(data=np.concatenate(tables))
        return current.assign_coords(since=("step", since))

    def _measures(self, tables):
        """Return the measures that are monitored."""
        from bayescm.online.updating import monitored_measures

        return monitored_measures(self._with_names_of_now(self.measures), tables)

    def _with_names_of_now(self, names):
        """Return measures, or limits by measure, with the names that their classes have now."""
        former = self.ledger.former_names(self.classifier)
        if not former or names is None:
            return names
        if isinstance(names, Mapping):
            return {current_measure(name, former): value for name, value in names.items()}
        if isinstance(names, str) or callable(names):
            return current_measure(names, former)
        return [current_measure(name, former) for name in names]

    def _rules_of_now(self, rules):
        """Return the rules with the names that classes have now."""
        limits = {name for name in ("floor", "tolerance") if isinstance(rules.get(name), Mapping)}
        return rules | {name: self._with_names_of_now(rules[name]) for name in limits}

    # What is concluded

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

        Where the answers have changed, it begins anew: after each batch it is what the batches
        tell that lie between the latest change before it and this batch.

        Parameters
        ----------
        prob : float, default 0.95
        kind : {"hdi", "eti"}
        of : {"parameter", "predictive"}, default "parameter"
            The measure itself, or, of counts, that of the next batch.
        n : int, optional
            Examples of the next batch, for ``"predictive"``; by default as many as are in force.
        last : int, optional
            Only after so many of the latest.
        **rules
            See `since_change`.

        Returns
        -------
        Dataset
            A variable for each measure, dims (step, [class], bound); coords ``batch_id``, ``at``,
            ``since`` (the time of the first batch since the latest change) and ``n``, the examples
            of each batch. ``attrs["caution"]`` as in `summary`.
        """
        from bayescm.answers import cautions
        from bayescm.answers.interval import resolve_measures
        from bayescm.online.updating import history_of, posterior_of

        if of != "parameter" and (encoding := self.encoding) != COUNTS:
            name = encoding.replace("_", " ")
            what, todo = f"a monitor of {name} has no predictive distribution", "leave `of` out"
            raise fail(what, of, "'parameter'", todo)
        batches = self.batches()
        current, measures = self._current_after_each(batches, rules), self._measures(batches)
        if last is not None:
            check_whole("last", last, 1, "batches", 200)
            batches, current = batches[-last:], current[-last:]
        posterior = posterior_of(current, self._concentration)
        ends = history_of(posterior, batches, measures, prob=prob, kind=kind, of=of, n=n)
        ends = ends.assign_coords(since=current["since"])
        kernels = resolve_measures(posterior, measures)
        if doubts := cautions.of_measures(posterior, kernels, of):
            ends.attrs["caution"] = " ".join(doubts)
        return ends

    def summary(self, *, prob: float = 0.95, kind: str = "hdi", **rules: Any) -> pd.DataFrame:
        """
        Return the table of `bayescm.summary` for the current posterior.

        ``**rules`` are those of `since_change`.

        Of forecasts ``attrs["caution"]`` says so where a class has fewer than 20 examples in force
        (intervals of the area are then too short), where bins are too wide to tell the forecasts
        apart, and where those next to 0 or 1 err too often to tell the slope.
        """
        from bayescm.answers.summary import table_of
        from bayescm.online.updating import posterior_of

        tables = self._current(rules)
        posterior, measures = posterior_of(tables, self._concentration), self._measures(tables)
        return table_of(posterior, measures, check_prob(prob), check_kind(kind))

    def observed(self, *, last: int | None = None) -> xr.Dataset:
        """
        Return the value of every measure in each batch by itself, dims (step, [class]).

        Of forecasts these are values with the prior, so that a batch may lack a class.
        """
        from bayescm.online.updating import posterior_of, values_of

        batches = self.batches(last=last)
        return values_of(posterior_of(batches, self._concentration), self._measures(batches))

    def alarms(self, *, since: Any = None, new: bool = False, **rules: Any) -> pd.DataFrame:
        """
        Return the alarms so far.

        Parameters
        ----------
        since : datetime, datetime64 or str, optional
            Only those raised by batches from this moment on.
        new : bool, default False
            Only those that were not acknowledged; see `acknowledge`.
        **rules
            ``rate``, ``floor`` and ``horizon``; see `online.alarms`. ``silence``: the longest time
            without a batch, such as ``"26h"``. Of counts also ``reference``,
            of forecasts also ``tolerance``: how far a measure may be from what it would be if the
            forecasts were right, on both sides; by default .02 for calibration in the large and .2
            for its slope.

        Returns
        -------
        DataFrame
            See `online.alarms`, and columns ``acknowledged``, ``note`` (of the acknowledgement) and
            ``incident`` (see `incidents`).
            The rules of forecasts are ``calibration`` and ``floor``, of which both look at the last
            batch, and the last 2, 4, 8 ... 512 together, where these have ten examples of each
            class, and of probabilities ``change``: whether what comes true of them has changed,
            beside what they expect.
            The rule ``silence`` fires once no batch has arrived for longer than ``silence``; its
            numbers are hours.
        """
        table = self._alarms(self.batches(), since, rules).drop(columns=["end", "over"])
        return table[~table["acknowledged"]].reset_index(drop=True) if new else table

    def _alarms(self, batches, since, rules, moment=None):
        """Return the alarms of batches with their incidents, and how far these reach."""
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
        """Return the alarms of the rule `silence`, with the time at which each is over."""
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
            while name in newer:  # a correction has the place of what it corrects
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
        Return whether no batch has arrived for longer than a time, False if none is given.

        Parameters
        ----------
        silence : str or timedelta, optional
            See `alarms`.
        """
        from bayescm.online.silence import silences

        if silence is None:
            return False
        arrived = self._read()[1].recorded_at
        now = np.datetime64(datetime.now(UTC).replace(tzinfo=None), "us")
        return any(is_on for *_, is_on in silences(arrived, silence, now))

    def incidents(self, *, since: Any = None, **rules: Any) -> pd.DataFrame:
        """
        Return the incidents so far: alarms that belong together.

        An incident begins with an alarm and takes in those that are raised while a rule is on. It
        is closed once no rule has been on for three batches, and ``acknowledged`` once all its
        alarms are, so that the next alarm begins another one.

        Parameters
        ----------
        since, **rules
            See `alarms`. Alarms of earlier batches open no incident.

        Returns
        -------
        DataFrame
            One row per incident, in the order of time: ``incident`` (the batch that opened it),
            ``opened`` and ``closed`` (times; none while it is not), ``state`` (``open``,
            ``acknowledged`` or ``closed``), ``alarms`` (how many), ``since``, ``rule``,
            ``measure`` and ``sentence`` of the alarm that says most about it, ``on`` (the sentence
            of an alarm whose rule is on at the latest batch, acknowledged or not; empty where none
            is) and ``note`` (of the acknowledgements). By other rules, such as another floor, there
            are other alarms, and so other incidents.
        """
        return self.alarms_and_incidents(since=since, **rules)[1]

    def alarms_and_incidents(
        self, *, since: Any = None, as_of: Any = None, **rules: Any
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """
        Return both `alarms` and `incidents`, of which each would evaluate the rules anew.

        Parameters
        ----------
        since, **rules
            See `alarms`.
        as_of : datetime, datetime64 or str, optional
            By the batches that had been recorded by this moment, before later corrections; by
            default by all.
        """
        from bayescm.online.incidents import incidents_of

        moment = None if as_of is None else as_datetime64(as_of)
        batches = self._batches_by(moment)
        table = self._alarms(batches, since, rules, moment)
        incidents = incidents_of(table, batches["at"].values)
        return table.drop(columns=["end", "over"]), incidents

    def acknowledge(self, alarms: pd.DataFrame | None = None, *, note: str = "") -> int:
        """
        Record that alarms have been noticed, so that they are no longer new.

        Parameters
        ----------
        alarms : DataFrame, optional
            Rows of what `alarms` returns; by default all that it returns now. One that goes off and
            comes on again with another batch is a new one.
        note : str, optional
            What was found, kept beside it.

        Returns
        -------
        int
            How many had not been acknowledged before.
        """
        table = self.alarms(new=True) if alarms is None else alarms
        return self.ledger.acknowledge(self.classifier, table, note)

    def plot(self, *, prob: float = 0.95, kind: str = "hdi", **rules: Any) -> "Figure":
        """
        Draw the history with its alarms.

        ``prob`` and ``kind`` are those of `history`, other keywords those of `alarms`.
        """
        import bayescm as bcm  # plots stand above this room; they are reached by the public face

        history, alarms = self.history(prob=prob, kind=kind, **rules), self.alarms(**rules)
        # The counts say which classes' answers have changed; of the others it is all measures.
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
        Return from where to where measures of forecasts are tolerated, of counts and items none.

        It is as far as the tolerance on both sides of what right forecasts would show: of
        calibration in the large from -0.02 to 0.02, of its slope from 0.8 to 1.2.

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
        """The prior, the memory, the measures and the order that it was opened with."""
        asked = {"concentration": self._concentration, "measures": self.measures}
        return asked | self._memory | {"order": self._order, "season": self.season}

    @property
    def rules(self) -> tuple[str, ...]:
        """The keywords of the rules that `alarms` takes, of batches of this type."""
        like = self.ledger.empty(self.classifier)
        rules = type_of(like).alarm_rules(like)
        further = {"calibration": "tolerance", "reference": "reference"}
        asked = [keyword for rule, keyword in further.items() if rule in rules]
        return ("rate", "floor", *asked, "horizon", "silence")


def _check_rules_of(batches, rules):
    """Raise an error if a keyword of the rules is unknown, or is not available for ratings."""
    from bayescm.online.rules import check_rules

    has = type_of(batches).alarm_rules(batches)
    asked = [name for name in ("change", "reference") if rules.get(name) is not None]
    unfit = [name for name in asked if name not in has]
    if unfit and type_of(batches).one_by_one(batches):
        noun = type_of(batches).name
        what = (
            f"a monitor of {noun} has no rule {unfit[0]}: its posterior is sampled for each batch"
        )
        todo = "set a floor, or compare the evidence of two periods by bcm.summary"
        raise fail(what, rules[unfit[0]], "rate, floor and horizon", todo)
    check_rules(rules)


def check_cells(cells: np.ndarray) -> None:
    """Raise an error if tables have cells that are not numbers of examples."""
    values = np.asarray(cells, float)
    if not np.isfinite(values).all() or (values < 0).any():
        raise fail("cells are not numbers of examples", ..., "numbers >= 0", "correct the counts")


def _digits(name):
    return [character for character in name if character.isdigit()]


# One of many classifiers, asked by the same settings for all of them


def monitor_of(
    ledger: Ledger,
    classifier: str,
    settings: Mapping[str, Any],
    specific: Mapping[str, Any] | None = None,
) -> Monitor:
    """
    Return the monitor of one of many classifiers.

    Parameters
    ----------
    ledger : Ledger
    classifier : str
    settings : mapping
        Those of `Monitor` for all classifiers; None stands for the default. Measures and a prior
        of the other type of batches are left out.
    specific : mapping, optional
        Those of this one, which go before and of which none is left out.
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
    Return the rules of one of many classifiers.

    Parameters
    ----------
    monitor : Monitor
    rules : mapping
        Those of `Monitor.alarms` for all classifiers; what this one lacks, and limits of measures
        of the other type of batches, are left out.
    specific : mapping, optional
        Those of this one, which go before and of which none is left out.
    """
    table = monitor.ledger.empty(monitor.classifier)
    applicable = {name: rule for name, rule in rules.items() if name in monitor.rules}
    for name, rule in applicable.items():
        if isinstance(rule, Mapping):
            limits = {measure: size for measure, size in rule.items() if _applies(measure, table)}
            applicable[name] = limits
    return applicable | dict(specific or {})


def _applies(measure, table):
    """Say whether a measure is one of such tables, or unknown, which `Monitor` says."""
    variables = variables_of(table)
    try:
        takes = resolve(measure).takes
    except (ValueError, TypeError):
        return True
    with suppress(ValueError, TypeError):  # mean is one of attempts, and of item scores too
        takes = resolve(measure, variables).takes
    return callable(measure) or takes in variables
