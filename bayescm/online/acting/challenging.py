"""A champion and its challenger on the same examples, batch by batch, kept in a ledger."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.outcomes import tables_of
from bayescm.measures.labelled import kernels
from bayescm.online.acting.pairs import pair_outcomes, pair_table
from bayescm.online.acting.promoting import Rule, decided, looks, p_promote
from bayescm.online.encoding import check_name
from bayescm.online.ledger import Ledger, LedgerClient
from bayescm.validate import check_prob, fail


class Challenge(LedgerClient):
    """
    A champion and its challenger on the same examples, batch by batch, kept in a ledger.

    The challenger is promoted once it is better with a posterior probability above ``prob``, and
    given up as futile once that is not to be expected any more. Looking after every batch lets
    chance promote more challengers that are no better than ``1 - prob`` says: how many was
    simulated, see the page on evaluation batch by batch.

    Parameters
    ----------
    store : str, path or Ledger
        See `Monitor`. A store holds monitors and challenges, each by its own name.
    name : str
        Of the challenge.
    measure : str or callable, default "accuracy"
        What the challenger is to be better at.
    margin : float, default 0
        By how much, at least; negative where it may be a little worse.
    prob : float, default 0.95
    planned : int, optional
        The examples that there will be at most. With it, futile means that the probability to be
        promoted at their end is below ``1 - prob``; without it, that the challenger is better with
        a probability below ``1 - prob``.

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng, true = np.random.default_rng(0), {"champion": 0.8, "challenger": 0.9}
    >>> with Challenge("sqlite://", "new model", prob=0.99) as challenge:
    ...     for day in range(3):
    ...         y = rng.integers(0, 2, 200)
    ...         answers = {k: np.where(rng.random(200) < p, y, 1 - y) for k, p in true.items()}
    ...         _ = challenge.add(day, bcm.from_classifiers(y, answers))
    ...     challenge.decision()
    'promote'
    """

    def __init__(
        self,
        store: str | os.PathLike | Ledger,
        name: str,
        *,
        measure: str | Callable = "accuracy",
        margin: float = 0.0,
        prob: float = 0.95,
        planned: int | None = None,
    ):
        self.name, self.measure = check_name(name, "name"), measure
        self.rule = Rule(_check_margin(margin), _check_prob(prob), _check_planned(planned))
        super().__init__(store, self.name)

    def add(
        self,
        batch_id: str | int,
        outcomes: xr.Dataset,
        at: Any = None,
        *,
        corrects: str | int | None = None,
    ) -> bool:
        """
        Record a batch; once this returns, it is in the store for good.

        Parameters
        ----------
        batch_id, at, corrects
            See `Monitor.add`.
        outcomes : Dataset
            From `bayescm.from_classifiers`: the champion first, then the challenger. Their names
            are those of the first batch.

        Returns
        -------
        bool
            True if it was recorded, False if it was there already.

        Raises
        ------
        ValueError
            If these are not the outcomes of two classifiers with these names and labels.
        OSError
            If the store could not take it; send the batch again.
        """
        table = pair_table(outcomes)
        return self.ledger.record(self.name, batch_id, table, at=at, corrects=corrects)

    def outcomes(self) -> xr.Dataset:
        """
        Return the batches in force, in the order of time.

        Returns
        -------
        Dataset
            ``counts`` (step, outcome), with coords ``batch_id`` and ``at`` along ``step``; summed
            over ``step`` it is evidence for `bayescm.compare`.
        """
        stored = self.ledger.challenges().get(self.name)
        if stored is None:
            known = sorted(self.ledger.challenges()) or "none yet"
            raise fail("no such challenge", self.name, known, "add a batch first")
        entries = self.ledger.read(self.name)
        order = entries.current("at")
        about = {"batch_id": entries.batch_id[order].astype(str), "at": entries.at[order]}
        found = pair_outcomes(entries.cells[order], stored)
        steps = {name: ("step", values) for name, values in about.items()}
        return found.assign_coords({**steps, "step": np.arange(len(order))})

    def history(self) -> pd.DataFrame:
        """
        Return what is known after every batch, and what follows from it.

        Returns
        -------
        DataFrame
            ``batch_id``, ``at``, ``n`` (examples so far), ``difference`` (posterior mean of
            challenger minus champion, the other way round where lower is better), ``lower`` and
            ``upper`` of its equal-tailed 95% interval, ``p_better``, with ``planned`` also
            ``p_promote``, and ``decision``: "go on", "promote" or "futile". The first decision
            stays.
        """
        found = self.outcomes()
        summed = found.assign(counts=found["counts"].cumsum("step"))
        (kernel,) = kernels(self.measure, tables_of(found))
        known = looks(summed, kernel, margin=self.rule.margin)
        n = summed["counts"].sum("outcome").values
        frame = {name: found[name].values for name in ("batch_id", "at")}
        frame |= {"n": n, "difference": known.mean, "lower": known.lower, "upper": known.upper}
        frame["p_better"] = known.p_better
        if self.rule.planned is not None:
            frame["p_promote"] = p_promote(known, n, self.rule)
        return pd.DataFrame(frame | {"decision": decided(known, n, self.rule)})

    def decision(self) -> str:
        """Return "promote", "futile" or "go on": the first decision, whatever came after it."""
        return str(self.history()["decision"].iloc[-1])


def _check_margin(margin):
    if isinstance(margin, bool) or not isinstance(margin, int | float) or not -1 < margin < 1e9:
        raise fail("margin must be a difference", margin, "a number", "pass margin=0.01")
    return float(margin)


def _check_prob(prob):
    if check_prob(prob) <= 0.5:
        raise fail("prob must be above one half", prob, "0.5 < prob < 1", "pass prob=0.95")
    return float(prob)


def _check_planned(planned):
    if planned is not None and (
        isinstance(planned, bool) or not isinstance(planned, int | np.integer) or planned < 1
    ):
        todo = "pass planned=5000"
        raise fail("planned must be a number of examples", planned, "1 or more", todo)
    return planned
