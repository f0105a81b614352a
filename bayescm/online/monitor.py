"""The evaluation of one classifier over time, kept in a ledger."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.measures.defaults import WATCHED, default_measures
from bayescm.online.batches import one_batch
from bayescm.online.kept import Kept
from bayescm.online.settings import as_prior, prior_cells
from bayescm.online.store.ledger import Ledger
from bayescm.validate import check_keywords, check_kind, check_prob

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Monitor(Kept):
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
        self._fits = False  # whether the prior was found to fit the labels

    def table(self, evidence: xr.DataArray, *, may_be_empty: bool) -> xr.DataArray:
        """Return the counts of a batch, or raise where it is none."""
        counts = one_batch(evidence, may_be_empty=may_be_empty)
        if self._concentration is not None and not self._fits:
            known = self._batches.known()
            as_prior(self._concentration, counts if known is None else known)
            self._fits = True
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
        counts = self._in_force()
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
            Only after so many of the latest; others are then read only where evidence is forgotten.

        Returns
        -------
        Dataset
            A variable for each measure, dims (step, [class], bound); coords ``batch_id``, ``at``
            and ``n``, the examples of each batch.
        """
        from bayescm.online.series import history

        asked: dict[str, Any] = {"prob": prob, "kind": kind, "of": of, "n": n, **self._evidence}
        batches, earlier = self._earlier(last, of=of)
        prior = self._concentration
        if np.ndim(earlier):
            prior = as_prior(prior, batches) + earlier
        ends = history(batches, self._watched(batches), concentration=prior, **asked)
        return ends if last is None else ends.isel(step=slice(-last, None))

    def summary(self, *, prob: float = 0.95, kind: str = "hdi") -> pd.DataFrame:
        """Return the table of `bayescm.summary` for the current posterior."""
        from bayescm.answers.summary import table_of
        from bayescm.online.updating import posterior_of

        counts = self._in_force()
        posterior = posterior_of(counts, prior_cells(self._concentration, counts))
        return table_of(posterior, self._watched(counts), check_prob(prob), check_kind(kind))

    def alarms(self, *, since: Any = None, new: bool = False, **keywords: Any) -> pd.DataFrame:
        """
        Return the alarms so far.

        Parameters
        ----------
        since : datetime, datetime64 or str, optional
            Only those raised by batches from this moment on. What came long before is not read,
            except for a ``reference`` that is a number, with ``forgetting``, of fractional counts
            and in the order of arrival.
        new : bool, default False
            Only those that were not acknowledged; see `acknowledge`.
        **keywords
            ``rate``, ``floor``, ``reference`` and ``horizon``; see `online.alarms`.

        Returns
        -------
        DataFrame
            See `online.alarms`, and a column ``acknowledged``.
        """
        from bayescm.online.rules import judged, marked
        from bayescm.online.stream import stream_of

        check_keywords(judged, keywords)
        reference, prior = keywords.get("reference"), self._concentration
        stream, earliest = stream_of(self._batches, since, reference, self._evidence, prior)
        found = judged(stream, self._watched(stream.counts), **keywords)
        if earliest is not None:
            when = stream.counts[self._batches.order].values[found["step"] - stream.number]
            found = found[when >= earliest].reset_index(drop=True)
        found = marked(found, self.ledger.seen(self.classifier))
        return found[~found["acknowledged"]].reset_index(drop=True) if new else found

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
