"""
The evaluation of one classifier over time, kept in a ledger.

`BaseMonitor` has what every monitor does with a ledger: it adds batches, and reads those that count
in the order of time. A subclass says what its batches are and what is concluded from them;
`Monitor` is that of confusion matrices.
"""

import json
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.counts import WATCHED, as_counts, default_measures
from bayescm.online.encoding import as_datetime64, as_utc, check_name, timestamp
from bayescm.online.ledger import ORDERS, Entries, Ledger, LedgerClient
from bayescm.online.settings import as_prior, check_forgetting, check_window, prior_cells
from bayescm.validate import check_choice, check_keywords, check_kind, check_prob, check_whole, fail

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bayescm.online.rules import MonitoredSeries


class BaseMonitor(LedgerClient):
    """
    The batches of one classifier, kept in a ledger.

    A subclass says which dim its batches have beside ``actual`` (`dim`), which variable its
    measures are of (`variable`) and which keywords its rules take (`rules`), makes a table of a
    batch, evaluates the rules, and answers `history`, `summary` and `observed`.
    """

    dim, variable = "predicted", "cells"
    rules: tuple[str, ...] = ("rate", "floor", "reference", "horizon")
    _concentration: Any = None

    def __init__(
        self,
        store: str | Ledger,
        classifier: str,
        *,
        forgetting: float = 1.0,
        window: int | None = None,
        order: str = "at",
    ):
        self.classifier = check_name(classifier, "classifier")
        super().__init__(store, self.classifier)
        self._memory: dict[str, Any] = {
            "forgetting": check_forgetting(forgetting),
            "window": None if window is None else check_window(window, forgetting),
        }
        self._order = check_choice("order", order, list(ORDERS))
        self._entries: Entries | None = None  # those read so far

    def _check_batch(self, evidence: Any, *, may_be_empty: bool) -> xr.DataArray:
        """Return the counts of a batch, or raise where it is none."""
        raise NotImplementedError

    def _evaluate_rules(self, series: "MonitoredSeries", **keywords: Any) -> pd.DataFrame:
        """Return the alarms of a series of batches; keywords as for `alarms`."""
        raise NotImplementedError

    def history(self, *, prob: float, kind: str, last: int | None = None) -> xr.Dataset:
        """Return the interval of every measure after every batch."""
        raise NotImplementedError

    def summary(self, *, prob: float, kind: str) -> pd.DataFrame:
        """Return what is known of each measure now."""
        raise NotImplementedError

    def observed(self, *, last: int | None = None) -> xr.Dataset:
        """Return the value of every measure in each batch by itself, dims (step, [class])."""
        raise NotImplementedError

    def add(
        self,
        batch_id: str | int,
        evidence: Any,
        at: Any = None,
        *,
        corrects: str | int | None = None,
    ) -> bool:
        """
        Record a batch; once this returns, it is in the store for good.

        Parameters
        ----------
        batch_id : str or int
            Its name. Sending the same batch again changes nothing, so repeat until acknowledged;
            the same name with different counts is refused.
        evidence : DataArray or Dataset
            Of `Monitor` counts (actual, predicted), as `from_predictions` or `from_cells` return
            them; of `ForecastMonitor` one classifier's probabilities, or a `forecast_table`.
        at : datetime, datetime64 or str, optional
            When it was evaluated, now by default; without a time zone it is taken as UTC. The
            history is in the order of these times; a batch that comes late is put in its place,
            with a warning.
        corrects : str or int, optional
            The batch that this one replaces; the old one stays in the ledger but no longer counts.

        Returns
        -------
        bool
            True if it was recorded, False if it was there already.

        Raises
        ------
        ValueError
            If the name is taken by different counts, or the labels are not those of the
            classifier or of the prior, or the classifier has batches of another kind.
        OSError
            If the store could not take it. The ledger is intact; send the batch again.
        """
        counts = self._check_batch(evidence, may_be_empty=corrects is not None)
        is_new, before = self.ledger.append(
            self.classifier, batch_id, counts, at=at, corrects=corrects
        )
        latest = "" if before is None else before.latest
        is_late = at is not None and timestamp(as_utc(at)) < latest
        if is_new and is_late and corrects is None and self._order == "at":
            warnings.warn(
                f"Batch {str(batch_id)!r} is earlier than the latest, which is of {latest}. "
                "It is recorded; the history is in order of time, so what was reported since then "
                "may change.",
                UserWarning,
                stacklevel=2,
            )
        return is_new

    def batches(self, *, last: int | None = None) -> xr.DataArray:
        """
        Return the batches in force, in the order of time.

        Parameters
        ----------
        last : int, optional
            Only so many of the latest.

        Returns
        -------
        DataArray, dims (step, actual, predicted) or (step, actual, bin)
            Counts, with coords ``batch_id`` and ``at`` along ``step``.

        Raises
        ------
        ValueError
            If there are no batches yet.
        """
        if last is not None:
            check_whole("last", last, 1, "batches", 200)
        zeros = self._zeros()
        entries = self._read()
        index = entries.current(self._order)
        coords = {
            **zeros.coords,
            "step": np.arange(len(index)),
            "batch_id": ("step", entries.batch_id[index].astype(str)),
            "at": ("step", entries.at[index]),
            "recorded_at": ("step", entries.recorded_at[index]),
        }
        dims = ["step", *zeros.dims]
        batches = xr.DataArray(entries.cells[index], coords, dims, "counts", zeros.attrs)
        return batches if last is None else batches.isel(step=slice(-last, None))

    def labels(self) -> xr.DataArray | None:
        """Return zero counts with the labels of the classifier, or None where it has no batch."""
        return self._zeros() if self.classifier in self.ledger.classifiers() else None

    def n_examples(self) -> float:
        """Return how many examples count now."""
        total = self.ledger.last(self.classifier).total
        if total is None:
            return float(self.batches().sum())
        return sum(count for row in json.loads(total) for count in row)

    def _zeros(self):
        zeros = self.ledger.empty(self.classifier)
        if self.dim not in zeros.dims:
            what = f"{self.classifier!r} holds other batches"
            todo = "open it by online.opened(store, classifier)"
            raise fail(what, zeros.dims, f"(actual, {self.dim})", todo)
        return zeros

    def _read(self):
        """Return all entries; only those that came since the last time are read."""
        with self.ledger.exclusive():  # a thread that finds another one reading waits for it
            last = 0 if self._entries is None else int(self._entries.entry[-1])
            new = self.ledger.read(self.classifier, after=last)
            if self._entries is None:
                self._entries = new
            elif len(new.entry):
                parts = zip(self._entries, new, strict=True)
                self._entries = Entries(*(np.concatenate(part) for part in parts))
            return self._entries

    def _current(self) -> xr.DataArray:
        """Return the evidence that counts now: the sum of all, or what is not forgotten."""
        if self._memory == {"forgetting": 1, "window": None}:
            total = self.ledger.last(self.classifier).total
            if total is not None:
                return self._zeros().copy(data=np.array(json.loads(total)))
        from bayescm.online.series import discounted

        current = discounted(self.batches(), **self._memory).isel(step=-1)
        return current.drop_vars(["step", "batch_id", "at", "recorded_at"])

    def _latest(self, last: int | None, *, of: str = "parameter") -> tuple[xr.DataArray, Any]:
        """
        Return the batches that the history of the last ones takes, and the sum of all before them.

        All are returned where the others matter too: where evidence is forgotten little by little,
        where sums are not exact, and where the next batch is as large as all of them.
        """
        batches, window = self.batches(), self._memory["window"]
        if last is not None:
            check_whole("last", last, 1, "batches", 200)
        is_exact = batches.dtype.kind != "f"
        if last is None or self._memory["forgetting"] < 1 or of != "parameter" or not is_exact:
            return batches, 0
        first = max(0, batches.sizes["step"] - int(last) - (window or 0))
        return batches[first:], 0 if window else batches[:first].values.sum(axis=0)

    def alarms(self, *, since: Any = None, new: bool = False, **keywords: Any) -> pd.DataFrame:
        """
        Return the alarms so far.

        Parameters
        ----------
        since : datetime, datetime64 or str, optional
            Only those raised by batches from this moment on.
        new : bool, default False
            Only those that were not acknowledged; see `acknowledge`.
        **keywords
            Of `Monitor` ``rate``, ``floor``, ``reference`` and ``horizon``; see `online.alarms`. Of
            `ForecastMonitor` ``rate``, ``floor``, ``horizon`` and ``tolerance``: how far a measure
            may be from what it would be if the forecasts were right, on both sides; by default .02
            for calibration in the large and .2 for its slope.

        Returns
        -------
        DataFrame
            See `online.alarms`, and a column ``acknowledged``. The rules of forecasts are
            ``calibration`` and ``floor``, and both look at the last batch, and the last 2, 4, 8 ...
            512 together, where these have ten examples of each class.
        """
        from bayescm.online.rules import MonitoredSeries, mark_acknowledged

        batches = self.batches()
        times = batches[self._order].values
        first, earliest = 0, None
        if since is not None:
            earliest = as_datetime64(since)
            first = int(np.append(times >= earliest, True).argmax())
        series = MonitoredSeries(batches, first, self._memory, self._concentration)
        table = self._evaluate_rules(series, **keywords)
        if earliest is not None:
            table = table[times[table["step"]] >= earliest].reset_index(drop=True)
        table = mark_acknowledged(table, self.ledger.acknowledgements(self.classifier))
        return table[~table["acknowledged"]].reset_index(drop=True) if new else table

    def acknowledge(self, alarms: pd.DataFrame | None = None, *, note: str = "") -> int:
        """
        Record that alarms have been seen, so that they are no longer new.

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


class Monitor(BaseMonitor):
    """
    The evaluation of one classifier over time, kept in a ledger.

    The ledger holds every batch; conclusions are computed from it on request. So the prior, the
    forgetting and the measures can be changed at any time by opening the same store with others.

    Parameters
    ----------
    store : str or Ledger
        ``sqlite:///eval.db`` (its own file, created if missing),
        ``postgresql://user@host/database``, or a ledger that is open.
    classifier : str
        Its name in the store. A store holds any number of classifiers.
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts; the default prior if omitted.
    forgetting : float, default 1
        What earlier evidence is worth after each batch, in (0, 1]; see `update`.
    window : int, optional
        How many of the latest batches count; all by default.
    measures : sequence of names or functions, optional
        What to monitor; by default precision, recall, specificity, accuracy and F1 for two classes
        with a positive one.
    order : {"at", "recorded_at"}, default "at"
        By which time batches are in order and forgotten: that of observation, or of arrival.

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
    ):
        super().__init__(store, classifier, forgetting=forgetting, window=window, order=order)
        self.measures = measures
        self._concentration = concentration
        self._is_prior_checked = False  # against the labels

    def _check_batch(self, evidence: xr.DataArray, *, may_be_empty: bool) -> xr.DataArray:
        counts = as_counts(evidence)
        if counts.ndim != 2:
            todo = "sum over the other dims, or add each table by itself"
            raise fail("a batch must be a single table", counts.dims, "(actual, predicted)", todo)
        if not counts.values.any() and not may_be_empty:
            todo = "leave it out, or pass corrects= to replace an earlier batch"
            raise fail("the batch has no examples", 0, "at least one example", todo)
        if self._concentration is not None and not self._is_prior_checked:
            zeros = self.labels()
            as_prior(self._concentration, counts if zeros is None else zeros)
            self._is_prior_checked = True
        return counts

    def posterior(self) -> xr.Dataset:
        """
        Return the current posterior.

        Returns
        -------
        Dataset
            ``concentration``, the prior, and ``counts``, the evidence in force, dims (actual,
            predicted): a state for `update` and `intervals`. Pass it on as
            ``bcm.fit(state["counts"], concentration=state["concentration"])``.
        """
        counts = self._current()
        prior = as_prior(self._concentration, counts)
        return xr.Dataset({"concentration": prior, "counts": counts})

    def _watched(self, counts):
        return default_measures(counts, WATCHED) if self.measures is None else self.measures

    def history(
        self,
        *,
        prob: float = 0.95,
        kind: str = "hdi",
        of: str = "parameter",
        n: int | None = None,
        last: int | None = None,
    ) -> xr.Dataset:
        """
        Return the interval of every measure after every batch.

        Parameters
        ----------
        prob : float, default 0.95
        kind : {"hdi", "eti"}
        of : {"parameter", "predictive"}, default "parameter"
            The measure itself, or that of the next batch.
        n : int, optional
            Examples of the next batch, for ``"predictive"``; by default as many as are in force.
        last : int, optional
            Only after so many of the latest.

        Returns
        -------
        Dataset
            A variable for each measure, dims (step, [class], bound); coords ``batch_id``, ``at``
            and ``n``, the examples of each batch.
        """
        from bayescm.online.series import history

        asked: dict[str, Any] = {"prob": prob, "kind": kind, "of": of, "n": n, **self._memory}
        batches, earlier = self._latest(last, of=of)
        prior = self._concentration
        if np.ndim(earlier):
            prior = as_prior(prior, batches) + earlier
        ends = history(batches, self._watched(batches), concentration=prior, **asked)
        return ends if last is None else ends.isel(step=slice(-last, None))

    def summary(self, *, prob: float = 0.95, kind: str = "hdi") -> pd.DataFrame:
        """Return the table of `bayescm.summary` for the current posterior."""
        from bayescm.answers.summary import table_of
        from bayescm.online.updating import posterior_of

        counts = self._current()
        posterior = posterior_of(counts, prior_cells(self._concentration, counts))
        return table_of(posterior, self._watched(counts), check_prob(prob), check_kind(kind))

    def _evaluate_rules(self, series: "MonitoredSeries", **keywords: Any) -> pd.DataFrame:
        from bayescm.online.rules import evaluate_rules

        check_keywords(evaluate_rules, keywords)
        return evaluate_rules(series, self._watched(series.counts), **keywords)

    def observed(self, *, last: int | None = None) -> xr.Dataset:
        """Return the value of every measure in each batch by itself, dims (step, [class])."""
        from bayescm.measures.labelled import measure

        batches = self.batches(last=last)
        return measure(batches, self._watched(batches))

    def plot(self, *, prob: float = 0.95, kind: str = "hdi", **keywords: Any) -> "Figure":
        """
        Draw the history with its alarms.

        ``prob`` and ``kind`` are those of `history`, other keywords those of `alarms`.
        """
        import bayescm as bcm  # plots stand above this room; they are reached by the public face

        history = self.history(prob=prob, kind=kind)
        alarms, floor = self.alarms(**keywords), keywords.get("floor")
        return bcm.plot_history(history, batches=self.batches(), alarms=alarms, floor=floor)
