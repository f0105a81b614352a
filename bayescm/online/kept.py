"""What monitors have in common: the batches of one classifier in a ledger."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.online.batches import ORDERS, Batches
from bayescm.online.in_force import in_force, latest, warn_if_late
from bayescm.online.settings import check_forgetting, check_window
from bayescm.online.store.ledger import KeptInLedger, Ledger
from bayescm.online.store.rows import name
from bayescm.validate import check_choice


class Kept(KeptInLedger):
    """
    The batches of one classifier, kept in a ledger.

    A subclass says what its batches are (`holds`, the dim beside ``actual``), makes tables of them
    (`table`), which variable its measures are of (`takes`) and what its alarms are told (`rules`),
    and answers `history`, `summary`, `alarms` and `observed`.
    """

    holds, takes = "predicted", "cells"
    rules: tuple[str, ...] = ("rate", "floor", "reference", "horizon")

    def __init__(
        self,
        store: str | Ledger,
        classifier: str,
        *,
        forgetting: float = 1.0,
        window: int | None = None,
        order: str = "at",
    ):
        self.classifier = name(classifier, "classifier")
        super().__init__(store, self.classifier)
        self._evidence: dict[str, Any] = {
            "forgetting": check_forgetting(forgetting),
            "window": None if window is None else check_window(window, forgetting),
        }
        order = check_choice("order", order, list(ORDERS))
        self._batches = Batches(self.ledger, self.classifier, order, self.holds)

    def table(self, evidence: Any, *, may_be_empty: bool) -> xr.DataArray:
        """Return the counts of a batch, or raise where it is none."""
        raise NotImplementedError

    def alarms(self, *, since: Any = None, new: bool = False, **keywords: Any) -> pd.DataFrame:
        """Return the alarms so far."""
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
        counts = self.table(evidence, may_be_empty=corrects is not None)
        given: Any = (self.classifier, batch_id, counts)
        added, before = self.ledger.recorded(*given, at=at, corrects=corrects)
        if added and before is not None and at is not None and corrects is None:
            warn_if_late(self._batches.order, str(batch_id), at, before.latest)
        return added

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
        found = latest(self._batches, last)[0]
        return found if last is None else found.isel(step=slice(-last, None))

    def labels(self) -> xr.DataArray | None:
        """Return zero counts with the labels of the classifier, or None where it has no batch."""
        return self._batches.known()

    def _in_force(self) -> xr.DataArray:
        return in_force(self._batches, **self._evidence)

    def _earlier(self, last: int | None, **asked: Any) -> tuple[xr.DataArray, np.ndarray | float]:
        """Return the latest batches, and what stands for all before them."""
        return latest(self._batches, last, **self._evidence, **asked)

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
        found = self.alarms(new=True) if alarms is None else alarms
        return self.ledger.acknowledge(self.classifier, found, note)
