"""The evaluation of one classifier's probabilities, or scores, over time, kept in a ledger."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
import xarray as xr

from bayescm.answers.tables import Intervals
from bayescm.evidence.counts import positive
from bayescm.measures.labelled import of_variable
from bayescm.measures.measure import Curved
from bayescm.online.forecasts import estimates
from bayescm.online.forecasts.cautions import cautions
from bayescm.online.forecasts.rules import evaluate_rules
from bayescm.online.forecasts.tables import forecast_table, middles
from bayescm.online.ledger import Ledger
from bayescm.online.monitor import BaseMonitor
from bayescm.online.rules import MonitoredSeries
from bayescm.online.series import discounted
from bayescm.validate import check_keywords, check_kind, check_prob, fail

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WATCHED = ("auc", "brier", "calibration_in_the_large", "calibration_slope")
_OF_SCORES = ("auc",)


class ForecastMonitor(BaseMonitor):
    """
    The evaluation of one classifier's probabilities, or scores, over time, kept in a ledger.

    The ledger holds how many examples of each class have a forecast in each bin; the edges of the
    bins are those of the first batch for good. Measures are those of the forecasts moved to the
    middles of their bins. Their posterior is taken for normal (on the log odds, or the log, where
    they are bounded), which needs some twenty examples of each class.

    Parameters
    ----------
    store, classifier, forgetting, window, order
        See `Monitor`. A store holds monitors of both kinds, each by its own name.
    measures : sequence of names or functions, optional
        Measures of probabilities that need no curve; by default the area under the ROC curve, the
        Brier score, calibration in the large and its slope; of scores the area.
    edges : sequence of float, optional
        See `forecast_table`.

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> monitor = ForecastMonitor("sqlite://", "risk model")
    >>> for week in range(3):
    ...     p = rng.beta(1, 4, 400)
    ...     y = (rng.random(400) < p).astype(int)
    ...     _ = monitor.add(week, bcm.from_probabilities(y, p), at=f"2026-01-0{week + 1}")
    >>> monitor.history()["auc"].dims, len(monitor.alarms())
    (('step', 'bound'), 0)
    >>> monitor.close()
    """

    dim, variable = "bin", "probabilities"
    rules = ("rate", "floor", "tolerance", "horizon")

    def __init__(
        self,
        store: str | Ledger,
        classifier: str,
        *,
        measures: Sequence[str | Callable] | None = None,
        edges: Sequence[float] | None = None,
        **memory: Any,
    ):
        check_keywords(BaseMonitor, memory)
        super().__init__(store, classifier, **memory)
        self.measures, self.edges = measures, edges
        if measures is not None:
            self._checked(measures)

    def _check_batch(self, evidence: Any, *, may_be_empty: bool) -> xr.DataArray:
        known = self.labels()
        if not isinstance(evidence, xr.DataArray):
            edges = self.edges
            if edges is None and known is not None:
                edges = known.attrs["edges"]
            evidence = forecast_table(evidence, edges=edges)
        if "bin" not in evidence.dims or "edges" not in evidence.attrs:
            todo = "pass from_probabilities(actual, p), or online.forecast_table(actual, p)"
            raise fail("not forecasts", evidence.dims, "(actual, bin)", todo, TypeError)
        labels = evidence.indexes["actual"].tolist()
        if pd.isna(labels[0]):
            if known is None or positive(known) != positive(evidence):
                todo = "begin with a batch that has both, or pass 0 and 1"
                raise fail("a batch with one class only", labels[1], "both classes", todo)
            evidence = evidence.assign_coords(actual=known.indexes["actual"])
        return evidence

    def _checked(self, measures):
        """Return measures of binned forecasts, or raise."""
        found = of_variable(measures, "probabilities")
        for each in found:
            if isinstance(each.form, Curved) or (not each.one_class and each.average):
                todo = f"watch some of {list(_WATCHED)}"
                raise fail("not of binned forecasts", each.__name__, "no curve, one class", todo)
        return found

    def _watched(self, batches):
        """Return the measures that are monitored."""
        chances = batches.attrs["chances"]
        wanted = self.measures or (_WATCHED if chances else _OF_SCORES)
        found = self._checked(list(wanted))
        if not chances and (odd := [e.__name__ for e in found if e.__name__ not in _OF_SCORES]):
            raise fail("scores are no probabilities", odd, list(_OF_SCORES), "watch these")
        return found

    def posterior(self) -> xr.Dataset:
        """
        Return the current posterior.

        Returns
        -------
        Dataset
            ``concentration``, the prior (one example over all bins, whose forecasts are right), and
            ``counts``, the evidence in force, dims (actual, bin).
        """
        counts = self._current()
        prior = counts.astype(float).copy(data=estimates.prior(middles(counts)))
        return xr.Dataset({"concentration": prior.rename("concentration"), "counts": counts})

    def history(
        self, *, prob: float = 0.95, kind: str = "eti", last: int | None = None
    ) -> xr.Dataset:
        """
        Return the interval of every measure after every batch.

        Parameters
        ----------
        prob : float, default 0.95
        kind : {"eti", "hdi"}
            Both are the same on the scale on which the posterior is normal.
        last : int, optional
            Only after so many of the latest.

        Returns
        -------
        Dataset
            A variable for each measure, dims (step, bound); coords ``batch_id``, ``at`` and ``n``,
            the examples of each batch. ``attrs["caution"]`` as in `summary`, of the latest.
        """
        check_prob(prob), check_kind(kind)
        batches, earlier = self._latest(last)
        cells = discounted(batches, **self._memory).values + earlier
        middle, found = middles(batches), {}
        for measure in self._watched(batches):
            center, spread = estimates.known(measure, cells.astype(float), middle)
            ends = estimates.ends(measure, center, spread, prob)
            found[measure.__name__] = ("step", "bound"), ends
        coords = {key: each for key, each in batches.coords.items() if each.dims == ("step",)}
        coords |= {"bound": ["lower", "upper"], "n": ("step", batches.values.sum((1, 2)))}
        said = cautions(batches[-1].copy(data=cells[-1]))
        answer = xr.Dataset(found, coords, {"prob": prob, "kind": kind} | said)
        return answer if last is None else answer.isel(step=slice(-last, None))

    def observed(self, *, last: int | None = None) -> xr.Dataset:
        """Return the value of every measure in each batch by itself, dims (step,)."""
        batches = self.batches(last=last)
        middle = middles(batches)
        cells = batches.values + estimates.prior(middle)
        found = {
            each.__name__: ("step", estimates.values(each, cells, middle))
            for each in self._watched(batches)
        }
        return xr.Dataset(found, {"step": batches["step"]})

    def summary(self, *, prob: float = 0.95, kind: str = "eti") -> pd.DataFrame:
        """
        Return what is known of each measure now, in the columns of `bayescm.summary`.

        ``attrs["caution"]`` says so where a class has fewer than 20 examples in force (intervals of
        the area are then too short), where bins are too wide to tell the forecasts apart, and where
        those next to 0 or 1 err too often to tell the slope.
        """
        check_prob(prob), check_kind(kind)
        counts = self._current()
        middle, rows = middles(counts), []
        for measure in self._watched(counts):
            cells = counts.values[None].astype(float)
            center, spread = estimates.known(measure, cells, middle)
            lower, upper = estimates.ends(measure, center, spread, prob)[0]
            mean = estimates.scale(measure)[1](center)[0]
            row = {"measure": measure.__name__, "point": mean, "mean": mean}
            rows.append(row | {"lower": lower, "upper": upper, "how": "linearized"})
        table = Intervals(pd.DataFrame(rows))
        table.attrs |= cautions(counts)
        return table

    def _evaluate_rules(self, series: MonitoredSeries, **keywords: Any) -> pd.DataFrame:
        check_keywords(evaluate_rules, keywords)
        batches = series.counts
        if not batches.attrs["chances"]:
            keywords = {"tolerance": {}} | keywords
        return evaluate_rules(series, self._watched(batches), middles(batches), **keywords)

    def plot(self, *, prob: float = 0.95, kind: str = "eti", **keywords: Any) -> "Figure":
        """
        Draw the history with its alarms.

        ``prob`` and ``kind`` are those of `history`, other keywords those of `alarms`.
        """
        import bayescm as bcm  # plots stand above this room; they are reached by the public face

        history = self.history(prob=prob, kind=kind)
        alarms, floor = self.alarms(**keywords), keywords.get("floor")
        return bcm.plot_history(history, batches=self.observed(), alarms=alarms, floor=floor)
