"""The batches of one classifier as evidence: those in force, in the order of time."""

import numpy as np
import xarray as xr

from bayescm.online.ledger import Entries, Ledger


class Batches:
    """
    The batches of one classifier in a ledger; what was read once is not read again.

    Parameters
    ----------
    ledger : Ledger
    classifier : str
    """

    def __init__(self, ledger: Ledger, classifier: str):
        self._ledger, self._classifier = ledger, classifier
        self._entries: Entries | None = None
        self._template: xr.DataArray | None = None

    def labels(self) -> xr.DataArray:
        """
        Return zero counts with the labels of the classifier, which never change.

        Raises
        ------
        ValueError
            If there are no batches yet.
        """
        if self._template is None:
            self._template = self._ledger.empty(self._classifier)
        return self._template

    def known(self) -> xr.DataArray | None:
        """Return zero counts with the labels of the classifier, or None where it has no batch."""
        new = self._template is None and self._classifier not in self._ledger.classifiers()
        return None if new else self.labels()

    def in_force(self) -> xr.DataArray:
        """
        Return the batches that were not corrected, in the order of time.

        Returns
        -------
        DataArray, dims (step, actual, predicted)
            Counts, with coords ``batch_id`` and ``at`` along ``step``.

        Raises
        ------
        ValueError
            If there are no batches yet.
        """
        template, entries = self.labels(), self._read()
        corrected = {each for each in entries.corrects.tolist() if each is not None}
        kept = [each not in corrected for each in entries.batch_id.tolist()]
        order = np.flatnonzero(kept)
        order = order[np.lexsort((entries.entry[order], entries.at[order]))]
        coords = {
            **template.coords,
            "step": np.arange(len(order)),
            "batch_id": ("step", entries.batch_id[order].astype(str)),
            "at": ("step", entries.at[order]),
        }
        dims = ["step", *template.dims]
        return xr.DataArray(entries.cells[order], coords, dims, name="counts")

    def _read(self):
        """Return all entries."""
        last = 0 if self._entries is None else int(self._entries.entry[-1])
        new = self._ledger.read(self._classifier, after=last)
        if self._entries is None:
            self._entries = new
        elif len(new.entry):
            pairs = zip(self._entries, new, strict=True)
            self._entries = Entries(*(np.concatenate(pair) for pair in pairs))
        return self._entries
