"""
Comparison of a champion and a challenger on the same examples, batch by batch.

An interim analysis follows every batch: the posterior of the difference, and the resulting
decision. The challenger is promoted once it is better by more than the margin with a probability
above the threshold of the rule. It is given up as futile once a promotion has become unlikely. The
first decision is final. The ledger stores the rule with the first batch, so that everyone gets the
same decision.
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
from bayescm.measures.labelled import as_measures
from bayescm.online.classes import current_measure
from bayescm.online.encoding import PAIRED_OUTCOMES, check_name
from bayescm.online.ledger import Ledger, LedgerClient
from bayescm.posteriors.paired_outcomes import paired_outcomes
from bayescm.validate import check_prob, fail

GO_ON, PROMOTE, FUTILE = "go on", "promote", "futile"
_DRAWS = 4000  # number of draws from each posterior
_TAILS = (0.025, 0.975)
_NORMAL = float(ndtri(_TAILS[1]))
_COORDS = ("actual", "predicted", "label", "classifier", "positive")  # coordinates of outcomes
_MOST_CLASSES = 30  # largest number of classes; the number of cells is its cube


class Challenge(LedgerClient):
    """
    Compare a champion and a challenger on the same examples, batch by batch.

    The challenger is promoted once it is better with a posterior probability above ``prob``, and
    given up as futile once a promotion has become unlikely. Because the decision is checked after
    every batch, challengers without an advantage are promoted more often than ``1 - prob``
    suggests. See docs/background/alarm-delays.md for simulated rates.

    The first batch fixes the rule (``measure``, ``margin``, ``prob``, ``planned``), and the ledger
    stores it. Later users, in Python, on the command line or in the dashboard, omit the rule and
    get the same decision. A different rule is rejected, because a rule chosen after looking at the
    data leads to more false promotions.

    Parameters
    ----------
    store : str, path or Ledger
        See `Monitor`. A store contains monitors and challenges, each with its own name.
    name : str, default "challenge"
        Name of the challenge.
    measure : str, optional
        Name of the measure to compare. For a new challenge, the default is accuracy.
    margin : float, optional
        Smallest relevant improvement. A negative margin allows the challenger to be slightly worse.
        The default is 0.
    prob : float, optional
        Posterior probability above which the challenger is promoted. The default is 0.95.
    planned : int, optional
        Maximum number of examples. If given, the challenger is futile when its probability of being
        promoted at the planned end is below ``1 - prob``. Otherwise, it is futile when it is better
        with a probability below ``1 - prob``.

    Raises
    ------
    ValueError
        If a setting is out of range.
    TypeError
        If the measure is not a name, because a ledger cannot store functions.

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
        Stopping rule stored in the ledger or, before the first batch, passed by the user.

        Raises
        ------
        ValueError
            If the rule passed by the user differs from the stored one.
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
                raise fail(
                    f"Challenge {self.name!r} was started with {name}={kept!r}, not {{}}",
                    value,
                    "",
                    f"leave `{name}` out, or start another challenge",
                )
        return rule

    def _rule_that_was_not_kept(self):
        """Return the user's rule, for a ledger that was written without one."""
        if "measure" not in self._asked:
            todo = "pass them: `measure='accuracy'`, `prob=0.95`"
            raise fail(
                f"The ledger does not contain the measure and rule of challenge {self.name!r}",
                ...,
                "",
                todo,
            )
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
        Record a batch permanently.

        Once this method returns, the batch is in the store.

        Parameters
        ----------
        batch_id, at, corrects
            See `Monitor.add`.
        outcomes : Dataset
            Outcomes from `bayescm.from_classifiers`: the champion first, then the challenger. The
            first batch fixes their names.

        Returns
        -------
        bool
            True if the batch was recorded, False if it was already in the ledger.

        Raises
        ------
        ValueError
            If the outcomes are not for two classifiers with the recorded names and labels. Also if
            the rule differs from the stored one, or the measure is not a single number.
        OSError
            If the store cannot record the batch, which can then be sent again.
        """
        table, rule = pair_table(outcomes), self.rule
        if self.name not in self.ledger.challenges():
            _measure_for(rule.measure, outcomes)  # rejects an invalid new challenge
        table.attrs["rule"] = rule._asdict()
        return self.ledger.record(self.name, batch_id, table, at=at, corrects=corrects)

    def change_classes(
        self, *, rename: Mapping[Any, Any] | None = None, add: Sequence | None = None
    ) -> bool:
        """
        Rename classes or add new ones; see `Monitor.change_classes`.

        The measure of the rule follows the new name of its class.

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
        """
        return self.ledger.change_classes(self.name, rename, add)[0]

    def outcomes(self) -> xr.Dataset:
        """
        Return the batches in time order, without those that were corrected.

        Returns
        -------
        Dataset
            ``counts`` (step, outcome), with coordinates ``batch_id`` and ``at`` along ``step``. The
            sum over ``step`` is evidence for `bayescm.compare`.
        """
        description, entries = self.ledger.contents(self.name)
        if description is None or description.encoding != PAIRED_OUTCOMES:
            raise fail(
                "Unknown challenge {}",
                self.name,
                sorted(self.ledger.challenges()),
                "add a batch first",
            )
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
        Return the interim analysis and the decision after every batch.

        Returns
        -------
        DataFrame
            One row per batch, with these columns:

            - ``batch_id`` and ``at``.
            - ``n``: the number of examples so far.
            - ``difference``: the posterior mean of challenger minus champion, with the sign
              reversed if lower is better.
            - ``lower`` and ``upper``: the equal-tailed 95% interval of the difference.
            - ``p_better``: the probability that the challenger is better by more than the margin.
            - ``error``: the Monte Carlo error of ``p_better``.
            - ``p_promote``, with ``planned`` only: the current probability that the challenger will
              be promoted by the planned end.
            - ``decision``: "go on", "promote" or "futile". The first decision is final.

        Notes
        -----
        ``p_better`` is a proportion of 4,000 draws. The same batches always give the same draws.
        For 95% of sets of draws, ``p_better`` is within ``error`` of the exact probability. If
        ``prob`` or ``1 - prob`` is that close, other draws might lead to another decision.
        """
        outcomes, rule = self.outcomes(), self.rule
        summed = outcomes.assign(counts=outcomes["counts"].cumsum("step"))
        measure = _measure_for(rule.measure, outcomes)
        analyses = interim_analyses(summed, measure, margin=rule.margin)
        n = summed["counts"].sum("outcome").values
        columns = {name: outcomes[name].values for name in ("batch_id", "at")}
        columns |= {"n": n, "difference": analyses.mean}
        columns |= {"lower": analyses.lower, "upper": analyses.upper}
        columns |= {"p_better": analyses.p_better, "error": error_of_share(analyses.p_better)}
        if rule.planned is not None:
            columns["p_promote"] = p_promote(analyses, n, rule)
        return pd.DataFrame(columns | {"decision": decisions(analyses, n, rule)})

    def decision(self) -> str:
        """
        Return the decision so far: "promote", "futile" or "go on".

        The first decision is final.
        """
        return str(self.history()["decision"].iloc[-1])


def verdict(history: pd.DataFrame) -> str:
    """
    Return the decision in words, with the deciding batch and the probability.

    Parameters
    ----------
    history : DataFrame
        Result of `Challenge.history`.
    """
    last = history.iloc[-1]
    better = f"better with probability {last['p_better']:.4g}"
    if last["decision"] == FUTILE and "p_promote" in history:
        better += f", promoted by the planned end with probability {last['p_promote']:.4g}"
    if last["decision"] == GO_ON:
        return f"{GO_ON}: {better}"
    first = history[history["decision"] != GO_ON].iloc[0]
    decided = f"{last['decision']}, decided by batch {str(first['batch_id'])!r}"
    if first.name == last.name:
        return f"{decided}: {better}"
    return f"{decided}, which stays; with all batches so far {better}"


def _measure_for(measure, outcomes):
    """Return the resolved measure, or raise an error if it is not a single number."""
    (resolved,) = as_measures(measure, tables_of(outcomes))
    if resolved(np.ones((outcomes.sizes["label"],) * 2)).ndim:
        raise fail(
            "{} has one value per class, but a challenge needs one number",
            resolved.__name__,
            "",
            "use an average, e.g. 'f1_macro', or one class, e.g. 'f1[a]'",
        )
    return resolved


def _check_measure(measure):
    if not isinstance(measure, str):
        todo = "pass `measure='f1'`, or one with parameters such as 'cost([[0,1],[5,0]])'"
        raise fail(
            f"The measure of a challenge must be a name, not a {type(measure).__name__}",
            ...,
            "",
            todo,
            TypeError,
        )
    resolve(measure)
    return measure


def _check_margin(margin):
    if isinstance(margin, bool) or not isinstance(margin, int | float) or not -1 < margin < 1e9:
        raise fail("`margin` must be a number", margin, "", "pass `margin=0.01`")
    return float(margin)


def _check_prob(prob):
    if check_prob(prob) <= 0.5:
        raise fail("`prob` must be above 0.5 and below 1", prob, "", "pass `prob=0.95`")
    return float(prob)


def _check_planned(planned):
    if isinstance(planned, bool) or not isinstance(planned, int | np.integer) or planned < 1:
        todo = "pass `planned=5000`"
        raise fail("`planned` must be a number of examples, 1 or more", planned, "", todo)
    return int(planned)


_CHECKS: Mapping[str, Callable] = {
    "measure": _check_measure,
    "margin": _check_margin,
    "prob": _check_prob,
    "planned": _check_planned,
}


class Rule(NamedTuple):
    """
    Stopping rule of a challenge.

    Attributes
    ----------
    margin : float
        Smallest relevant improvement.
    prob : float
        Posterior probability above which the challenger is promoted.
    planned : int or None
        Maximum number of examples.
    measure : str
        Measure to compare.
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
    Posterior of the difference (challenger minus champion, higher is better) after each batch.

    Attributes
    ----------
    mean, sd, lower, upper : ndarray
        Posterior mean, standard deviation and equal-tailed 95% interval.
    p_better : ndarray
        Probability that the challenger is better by more than the margin.
    """

    mean: np.ndarray
    sd: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    p_better: np.ndarray


def interim_analyses(
    outcomes: xr.Dataset, measure: Callable, *, margin: float = 0.0, random_seed: Any = 0
) -> InterimAnalyses:
    """
    Return the posterior of the difference after each batch.

    Parameters
    ----------
    outcomes : Dataset
        Outcomes of the champion and the challenger, in this order. ``counts`` may have leading
        dimensions, and are cumulative over the batches.
    measure : callable
        Measure with one value per classifier.
    margin : float
        See `Rule`.
    random_seed
        Seed of the draws.
    """
    posterior = paired_outcomes(outcomes)
    lead = posterior.outcomes.shape[:-1]
    flat = posterior.outcomes.reshape(-1, posterior.outcomes.shape[-1])
    coords = {name: outcomes.coords[name] for name in outcomes.coords if name in _COORDS}
    parts = []
    for counts in flat:
        part = xr.Dataset({"counts": (("batch", "outcome"), counts[None])}, coords)
        # All batches use the same seed, so that later batches do not change earlier results.
        parts.append(_analyse(part, measure, margin, np.random.default_rng(random_seed)))
    columns = [np.concatenate(column).reshape(lead) for column in zip(*parts, strict=True)]
    return InterimAnalyses(*columns)


def _analyse(outcomes, measure, margin, rng):
    cells = paired_outcomes(outcomes).cells("parameter", _DRAWS, rng)
    values = measure(cells)
    difference = values[..., 1] - values[..., 0]
    if getattr(measure, "lower_is_better", False):
        difference = -difference
    if np.isnan(difference).any():  # draws with 0/0 are left out
        undefined = np.isnan(difference).mean(axis=0)
        lower, upper = np.nanquantile(difference, _TAILS, axis=0)
        p_better = (difference > margin).mean(axis=0) / (1 - undefined)
        return np.nanmean(difference, axis=0), np.nanstd(difference, axis=0), lower, upper, p_better
    lower, upper = np.quantile(difference, _TAILS, axis=0)
    p_better = (difference > margin).mean(axis=0)
    return difference.mean(axis=0), difference.std(axis=0), lower, upper, p_better


def error_of_share(share: np.ndarray) -> np.ndarray:
    """
    Return a 95% bound on the Monte Carlo error of a proportion of draws.

    The bound is the half width of the Agresti-Coull interval, which is positive even if the
    proportion is 0 or 1.

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
    Return the current probability of a promotion at the planned end.

    The future data are predicted from a normal approximation of the posterior of the difference.

    Parameters
    ----------
    analyses : InterimAnalyses
        Interim analyses so far.
    n : ndarray
        Number of examples so far.
    rule : Rule
        Rule with ``planned``.

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
    Return the decision after each batch, along the last axis.

    The first decision is final. The challenger is promoted if it is better by more than the margin
    with a probability above ``prob``. With a planned number of examples, it is futile if the
    probability of a promotion at their end is below ``1 - prob``. Without one, it is futile if it
    is better with a probability below ``1 - prob``.
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
    Return outcomes as a table, dims (actual, champion, challenger).

    Raises
    ------
    ValueError
        If there are not exactly two classifiers, or there are leading dimensions, abstentions, too
        many classes or no examples.
    TypeError
        If the evidence is item scores or multilabel examples.
    """
    for entry in (ITEM_SCORES, MULTILABEL):
        if entry.matches(outcomes):
            allowed = "outcomes of two classifiers"
            raise fail(
                f"A challenge cannot use evidence of type {entry.name}",
                ...,
                allowed,
                "compare the two systems on all items so far with bcm.compare(evidence)",
                TypeError,
            )
    outcomes = as_outcomes(outcomes)
    names = outcomes["classifier"].values.tolist()
    if len(names) != 2:
        todo = "select them: outcomes.sel(classifier=['champion', 'challenger'])"
        raise fail("A challenge needs exactly two classifiers", names, "", todo)
    if outcomes["counts"].ndim != 1:
        todo = "sum over the other dimensions, or add each part separately"
        raise fail(
            "A batch must be a single table, without groups; it has the dimensions {}",
            outcomes["counts"].dims,
            "",
            todo,
        )
    labels = outcomes["label"].values
    if "abstain" in outcomes.coords or len(labels) > _MOST_CLASSES:
        got = "abstentions" if "abstain" in outcomes.coords else f"{len(labels)} classes"
        allowed = f"at most {_MOST_CLASSES} classes"
        raise fail(f"A challenge cannot have {got}", ..., allowed, "leave these examples out")
    counts, actual, predicted = arrays(outcomes)
    if not counts.any():
        raise fail("The batch has no examples", ..., "", "leave it out")
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
    Return the outcomes of tables stored in the ledger.

    Parameters
    ----------
    tables : ndarray, shape (T, C, C * C)
        Tables of all steps.
    facts : dict
        Description with ``labels``, ``positive`` and ``classifiers``.

    Returns
    -------
    Dataset
        ``counts`` (step, outcome), with every outcome that occurred at any step.
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
