"""
A champion and its challenger on the same examples, batch by batch, kept in a ledger.

After every batch there is an interim analysis: the posterior of the difference between the two, and
what follows from it. The challenger is promoted once it is better by more than the margin with a
probability above that of the rule, and given up as futile once that is not to be expected any more;
the first decision stays. The ledger keeps the rule with the first batch, so that whoever asks gets
the same decision.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import ndtr, ndtri

from bayescm.evidence.evidence_type import BATCH_FORM
from bayescm.evidence.item_scores import ITEM_SCORES
from bayescm.evidence.multilabel import MULTILABEL
from bayescm.evidence.outcomes import arrays, as_outcomes, tables_of
from bayescm.measures.catalogue import resolve, same
from bayescm.measures.labelled import kernels
from bayescm.online.classes import current_measure
from bayescm.online.encoding import PAIRED_OUTCOMES, check_name
from bayescm.online.ledger import Ledger, LedgerClient
from bayescm.posteriors.paired_outcomes import paired_outcomes
from bayescm.validate import check_prob, fail

GO_ON, PROMOTE, FUTILE = "go on", "promote", "futile"
_DRAWS = 4000  # of each posterior
_TAILS = (0.025, 0.975)
_NORMAL = float(ndtri(_TAILS[1]))
_COORDS = ("actual", "predicted", "label", "classifier", "positive")  # of outcomes, not of batches
_MOST_CLASSES = 30  # the table has their third power of cells


class Challenge(LedgerClient):
    """
    A champion and its challenger on the same examples, batch by batch, kept in a ledger.

    The challenger is promoted once it is better with a posterior probability above ``prob``, and
    given up as futile once that is not to be expected any more. Looking after every batch lets
    chance promote more challengers that are no better than ``1 - prob`` says: how many was
    simulated, see the page on evaluation batch by batch.

    The rule (``measure``, ``margin``, ``prob``, ``planned``) is that of the first batch for good,
    and the ledger keeps it: who opens the challenge later, in Python, on the command line or in
    the dashboard, leaves it out and gets the same decision. Another rule than that of the ledger
    is refused, since one that is chosen after a look at the data promotes by chance more often
    still.

    Parameters
    ----------
    store : str, path or Ledger
        See `Monitor`. A store holds monitors and challenges, each by its own name.
    name : str, default "challenge"
        Of the challenge.
    measure : str, optional
        The name of what the challenger is to be better at; of a new challenge by default accuracy.
    margin : float, optional
        By how much, at least; negative where it may be a little worse. By default 0.
    prob : float, optional
        The posterior probability above which it is promoted. By default 0.95.
    planned : int, optional
        The examples that there will be at most. With it, futile means that the probability to be
        promoted at their end is below ``1 - prob``; without it, that the challenger is better with
        a probability below ``1 - prob``.

    Raises
    ------
    ValueError
        If a setting is out of its range.
    TypeError
        If the measure is not a name, which is all that a ledger can keep of it.

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
        name: str = "challenge",
        *,
        measure: str | None = None,
        margin: float | None = None,
        prob: float | None = None,
        planned: int | None = None,
    ):
        self.name = check_name(name, "name")
        settings = {"measure": measure, "margin": margin, "prob": prob, "planned": planned}
        settings = {key: value for key, value in settings.items() if value is not None}
        self._asked = {key: _CHECKS[key](value) for key, value in settings.items()}
        super().__init__(store, self.name)

    @property
    def rule(self) -> "Rule":
        """
        When to stop: the rule of the ledger, before the first batch the one that was passed.

        Raises
        ------
        ValueError
            If another one was passed than the ledger keeps.
        """
        facts = self.ledger.challenges().get(self.name)
        if facts is None:
            return Rule(**self._asked)
        if "rule" not in facts:
            return self._rule_that_was_not_kept()
        rule = Rule(**facts["rule"])
        asked, former = self._asked, self.ledger.former_names(self.name)
        if "measure" in asked:
            asked = asked | {"measure": current_measure(asked["measure"], former)}
        for name, value in asked.items():
            kept = getattr(rule, name)
            if value != kept and not (name == "measure" and same(value, kept)):
                what = f"challenge {self.name!r} was begun with another {name}"
                todo = f"leave `{name}` out, or begin another challenge"
                raise fail(what, value, f"{name}={kept!r}, as in the ledger", todo)
        return rule

    def _rule_that_was_not_kept(self):
        """Return the rule that was passed, of a ledger from before rules were kept."""
        if "measure" not in self._asked:
            what = f"the ledger does not keep the rule of challenge {self.name!r}"
            todo = "pass them: `measure='accuracy'`, `prob=0.95`"
            raise fail(what, ..., "its measure, and what else it was begun with", todo)
        return Rule(**self._asked)

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
            If these are not the outcomes of two classifiers with these names and labels, the rule
            is not that of the ledger, or the measure is no number of such outcomes.
        OSError
            If the store could not take it; send the batch again.
        """
        table, rule = pair_table(outcomes), self.rule
        if self.name not in self.ledger.challenges():
            _kernel(rule.measure, outcomes)  # what cannot be judged is not begun
        table.attrs["rule"] = rule._asdict()
        return self.ledger.record(self.name, batch_id, table, at=at, corrects=corrects)

    def change_classes(
        self, *, rename: Mapping[Any, Any] | None = None, add: Sequence | None = None
    ) -> bool:
        """
        Rename classes, and add further ones; see `Monitor.change_classes`.

        The measure of the rule follows the new name of its class.

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
        """
        return self.ledger.change_classes(self.name, rename, add)[0]

    def outcomes(self) -> xr.Dataset:
        """
        Return the batches in force, in the order of time.

        Returns
        -------
        Dataset
            ``counts`` (step, outcome), with coords ``batch_id`` and ``at`` along ``step``; summed
            over ``step`` it is evidence for `bayescm.compare`.
        """
        description, entries = self.ledger.contents(self.name)
        if description is None or description.encoding != PAIRED_OUTCOMES:
            names = sorted(self.ledger.challenges()) or "none yet"
            raise fail("no such challenge", self.name, names, "add a batch first")
        facts = description.facts()
        index = entries.current("at")
        coords = {
            "step": np.arange(len(index)),
            "batch_id": ("step", entries.batch_id[index].astype(str)),
            "at": ("step", entries.at[index]),
        }
        return pair_outcomes(entries.cells[index], facts).assign_coords(coords)

    def history(self) -> pd.DataFrame:
        """
        Return what is known after every batch, and what follows from it.

        Returns
        -------
        DataFrame
            ``batch_id``, ``at``, ``n`` (examples so far), ``difference`` (posterior mean of
            challenger minus champion, the other way round where lower is better), ``lower`` and
            ``upper`` of its equal-tailed 95% interval, ``p_better`` (the probability that the
            challenger is better by more than the margin) and its ``error``, with ``planned`` also
            ``p_promote`` (the probability, as it looks after this batch, that the challenger will
            be promoted by the planned end), and ``decision``: "go on", "promote" or "futile". The
            first decision stays. ``p_better`` is a share of 4,000 draws, always the same ones of
            the same batches; of 100 other samples of draws 95 are within ``error`` of it. Where
            ``prob`` or ``1 - prob`` is so near, other draws might decide otherwise.
        """
        outcomes, rule = self.outcomes(), self.rule
        summed = outcomes.assign(counts=outcomes["counts"].cumsum("step"))
        kernel = _kernel(rule.measure, outcomes)
        analyses = interim_analyses(summed, kernel, margin=rule.margin)
        n = summed["counts"].sum("outcome").values
        columns = {name: outcomes[name].values for name in ("batch_id", "at")}
        columns |= {"n": n, "difference": analyses.mean}
        columns |= {"lower": analyses.lower, "upper": analyses.upper}
        columns |= {"p_better": analyses.p_better, "error": error_of_share(analyses.p_better)}
        if rule.planned is not None:
            columns["p_promote"] = p_promote(analyses, n, rule)
        return pd.DataFrame(columns | {"decision": decisions(analyses, n, rule)})

    def decision(self) -> str:
        """Return "promote", "futile" or "go on": the first decision, whatever came after it."""
        return str(self.history()["decision"].iloc[-1])


def verdict(history: pd.DataFrame) -> str:
    """
    Return the decision in words: by which batch it was taken, and what all batches so far say.

    Parameters
    ----------
    history : DataFrame
        What `Challenge.history` returns.
    """
    last = history.iloc[-1]
    better = f"better with probability {last['p_better']:.4g}"
    if last["decision"] == GO_ON:
        return f"{GO_ON}: {better}"
    first = history[history["decision"] != GO_ON].iloc[0]
    decided = f"{last['decision']}, decided by batch {str(first['batch_id'])!r}"
    if first.name == last.name:
        return f"{decided}: {better}"
    return f"{decided}, which stays; by all batches so far {better}"


def _kernel(measure, outcomes):
    """Return the kernel of a measure of outcomes, or raise where it is no single number."""
    (kernel,) = kernels(measure, tables_of(outcomes))
    if kernel(np.ones((outcomes.sizes["label"],) * 2)).ndim:
        todo = "take an average: 'f1_macro', 'accuracy', or one class: 'f1[a]'"
        raise fail("a measure with a value for each class", kernel.__name__, "one number", todo)
    return kernel


def _check_measure(measure):
    if not isinstance(measure, str):
        todo = "pass `measure='f1'`, or one with parameters such as 'cost([[0,1],[5,0]])'"
        what = "a challenge is kept with the name of its measure"
        raise fail(what, type(measure).__name__, "a name", todo, TypeError)
    resolve(measure)
    return measure


def _check_margin(margin):
    if isinstance(margin, bool) or not isinstance(margin, int | float) or not -1 < margin < 1e9:
        raise fail("margin must be a difference", margin, "a number", "pass `margin=0.01`")
    return float(margin)


def _check_prob(prob):
    if check_prob(prob) <= 0.5:
        raise fail("prob must be above one half", prob, "0.5 < prob < 1", "pass `prob=0.95`")
    return float(prob)


def _check_planned(planned):
    if isinstance(planned, bool) or not isinstance(planned, int | np.integer) or planned < 1:
        todo = "pass `planned=5000`"
        raise fail("planned must be a number of examples", planned, "1 or more", todo)
    return int(planned)


_CHECKS: Mapping[str, Callable] = {
    "measure": _check_measure,
    "margin": _check_margin,
    "prob": _check_prob,
    "planned": _check_planned,
}


class Rule(NamedTuple):
    """
    When to stop.

    Attributes
    ----------
    margin : float
        By how much better the challenger must be, at least.
    prob : float
        The posterior probability at which it is promoted.
    planned : int or None
        The examples that there will be at most.
    measure : str
        What the challenger must be better at.
    """

    margin: float = 0.0
    prob: float = 0.95
    planned: int | None = None
    measure: str = "accuracy"

    def __str__(self) -> str:
        by = f" by more than {self.margin:g}" if self.margin else ""
        end = f"; {self.planned:,} examples are planned" if self.planned is not None else ""
        share = f"{100 * self.prob:.4g}%"
        return f"better in {self.measure}{by} with a probability above {share}{end}"


class InterimAnalyses(NamedTuple):
    """
    What is known of the difference (challenger minus champion, more is better) after each batch.

    Attributes
    ----------
    mean, sd, lower, upper : ndarray
        Of its posterior; the interval is equal-tailed, of 95%.
    p_better : ndarray
        The probability that the challenger is better by more than the margin.
    """

    mean: np.ndarray
    sd: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    p_better: np.ndarray


def interim_analyses(
    outcomes: xr.Dataset, kernel: Callable, *, margin: float = 0.0, random_seed: Any = 0
) -> InterimAnalyses:
    """
    Return what is known after each batch.

    Parameters
    ----------
    outcomes : Dataset
        Of the champion and the challenger, in this order; ``counts`` of any leading dims, summed
        over the batches so far.
    kernel : callable
        A measure, one number for each classifier.
    margin : float
        See `Rule`.
    random_seed
        Of the draws.
    """
    posterior = paired_outcomes(outcomes)
    lead = posterior.outcomes.shape[:-1]
    flat = posterior.outcomes.reshape(-1, posterior.outcomes.shape[-1])
    coords = {name: outcomes.coords[name] for name in outcomes.coords if name in _COORDS}
    parts = []
    for counts in flat:
        part = xr.Dataset({"counts": (("batch", "outcome"), counts[None])}, coords)
        # One seed for every batch: what was known after it stays so when others come.
        parts.append(_analyse(part, kernel, margin, np.random.default_rng(random_seed)))
    columns = [np.concatenate(column).reshape(lead) for column in zip(*parts, strict=True)]
    return InterimAnalyses(*columns)


def _analyse(outcomes, kernel, margin, rng):
    cells = paired_outcomes(outcomes).cells("parameter", _DRAWS, rng)
    values = kernel(cells)
    difference = values[..., 1] - values[..., 0]
    if getattr(kernel, "lower_is_better", False):
        difference = -difference
    if np.isnan(difference).any():  # 0/0 is left out
        undefined = np.isnan(difference).mean(axis=0)
        lower, upper = np.nanquantile(difference, _TAILS, axis=0)
        p_better = (difference > margin).mean(axis=0) / (1 - undefined)
        return np.nanmean(difference, axis=0), np.nanstd(difference, axis=0), lower, upper, p_better
    lower, upper = np.quantile(difference, _TAILS, axis=0)
    p_better = (difference > margin).mean(axis=0)
    return difference.mean(axis=0), difference.std(axis=0), lower, upper, p_better


def error_of_share(share: np.ndarray) -> np.ndarray:
    """
    Return how far a share of the draws is from the probability in 95 of 100 samples, at most.

    The half width of Agresti and Coull's interval, which is not 0 where no draw or every draw is a
    hit.

    References
    ----------
    Agresti, A. & Coull, B. A. (1998). Approximate is better than "exact" for interval estimation of
    binomial proportions. The American Statistician 52, 119-126.
    doi:10.1080/00031305.1998.10480550
    """
    number = _DRAWS + _NORMAL**2
    middle = (share * _DRAWS + _NORMAL**2 / 2) / number
    return _NORMAL * np.sqrt(middle * (1 - middle) / number)


def p_promote(analyses: InterimAnalyses, n: np.ndarray, rule: Rule) -> np.ndarray:
    """
    Return the probability to be promoted at the planned end, as it looks now.

    What is to come is predicted from the posterior of the difference as a normal distribution.

    Parameters
    ----------
    analyses : InterimAnalyses
    n : ndarray
        Examples so far.
    rule : Rule
        With ``planned``.

    References
    ----------
    Spiegelhalter, D. J., Freedman, L. S. & Blackburn, P. R. (1986). Monitoring clinical trials:
    conditional or predictive power? Controlled Clinical Trials 7, 8-17.
    doi:10.1016/0197-2456(86)90003-6
    """
    share = np.minimum(n / (rule.planned or np.inf), 1.0)
    sd = np.maximum(analyses.sd, np.finfo(float).tiny)
    ahead = (analyses.mean - rule.margin) / sd - ndtri(rule.prob) * np.sqrt(share)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = ndtr(ahead / np.sqrt(1 - share))
    return np.where(share < 1, expected, (analyses.p_better > rule.prob).astype(float))


def decisions(analyses: InterimAnalyses, n: np.ndarray, rule: Rule) -> np.ndarray:
    """
    Return the decision after each batch, along the last axis; the first one stays.

    Promoted is the challenger where it is better by more than the margin with a probability of
    more than ``prob``. Futile it is, with a planned number of examples, where the probability to be
    promoted at their end is below ``1 - prob``; without one, where it is better with a probability
    below ``1 - prob``.
    """
    hopeless = analyses.p_better if rule.planned is None else p_promote(analyses, n, rule)
    decision = np.where(hopeless < 1 - rule.prob, 2, 0)
    decision = np.where(analyses.p_better > rule.prob, 1, decision)
    first = np.argmax(decision > 0, axis=-1)[..., None]
    is_decided = np.arange(decision.shape[-1]) >= first
    final = np.where(is_decided, np.take_along_axis(decision, first, axis=-1), 0)
    return np.array([GO_ON, PROMOTE, FUTILE], dtype=object)[final]


def pair_table(outcomes: xr.Dataset) -> xr.DataArray:
    """
    Return a table of outcomes, dims (actual, champion, challenger), for the ledger.

    Raises
    ------
    ValueError
        If there are not two classifiers, there are leading dims, abstentions or too many classes.
    """
    for entry in (ITEM_SCORES, MULTILABEL):
        if entry.matches(outcomes):
            todo = "compare the two systems on all items so far: bcm.compare(evidence)"
            allowed = "outcomes of two classifiers"
            raise fail(f"a challenge keeps no {entry.name}", ..., allowed, todo, TypeError)
    outcomes = as_outcomes(outcomes)
    names = outcomes["classifier"].values.tolist()
    if len(names) != 2:
        todo = "select them: outcomes.sel(classifier=['champion', 'challenger'])"
        raise fail("a challenge is between two classifiers", names, "two", todo)
    if outcomes["counts"].ndim != 1:
        todo = "sum over the other dims, or add each part by itself"
        raise fail("a batch must be a single table", outcomes["counts"].dims, "no groups", todo)
    labels = outcomes["label"].values
    if "abstain" in outcomes.coords or len(labels) > _MOST_CLASSES:
        got = "abstentions" if "abstain" in outcomes.coords else f"{len(labels)} classes"
        allowed = f"at most {_MOST_CLASSES} classes"
        raise fail("a challenge cannot keep these", got, allowed, "leave out")
    counts, actual, predicted = arrays(outcomes)
    if not counts.any():
        raise fail("the batch has no examples", 0, "at least one example", "leave it out")
    table = np.zeros((len(labels),) * 3, counts.dtype)
    table[actual, predicted[0], predicted[1]] = counts
    coords: dict[str, Any] = dict.fromkeys(("actual", "champion", "challenger"), labels)
    if "positive" in outcomes.coords:
        coords["positive"] = outcomes["positive"].item()
    dims = ["actual", "champion", "challenger"]
    attrs = {"classifiers": names, BATCH_FORM: PAIRED_OUTCOMES}
    return xr.DataArray(table, coords, dims, attrs=attrs)


def pair_outcomes(tables: np.ndarray, facts: dict[str, Any]) -> xr.Dataset:
    """
    Return outcomes of tables as the ledger keeps them.

    Parameters
    ----------
    tables : ndarray, shape (T, C, C * C)
    facts : dict
        ``labels``, ``positive`` and ``classifiers``.

    Returns
    -------
    Dataset
        ``counts`` (step, outcome), every outcome that occurred at any step.
    """
    labels = np.array(facts["labels"])
    flat = tables.reshape(len(tables), -1)
    present = np.flatnonzero(flat.any(axis=0))
    actual, first, second = np.unravel_index(present, (len(labels),) * 3)
    coords: dict[str, Any] = {
        "actual": ("outcome", labels[actual]),
        "predicted": (("classifier", "outcome"), labels[np.stack([first, second])]),
        "classifier": facts["classifiers"],
        "label": labels,
    }
    if facts["positive"] is not None:
        coords["positive"] = facts["positive"]
    return xr.Dataset({"counts": (("step", "outcome"), flat[:, present])}, coords)
