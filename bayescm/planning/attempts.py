"""What more attempts at the same items would buy, and what more items."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.direct.repeated_items import RepeatedItems, repeated_items
from bayescm.direct.shares import Mixture
from bayescm.evidence.scored.attempts import from_attempts
from bayescm.measures.forms import Repeated
from bayescm.measures.labelled import of_variable
from bayescm.validate import check_choice, check_kind, check_prob, check_seed, check_whole, fail

# Draws of each data set simulated: their width then errs by some 7 %, less than widths differ from
# data set to data set, and all of a plan are done in the time of a fifth of the usual thousand.
_DRAWS = 200


def plan_attempts(
    evidence: xr.Dataset,
    measure: str | Callable,
    *,
    items: int | Sequence[int] | None = None,
    attempts: int | Sequence[int] | None = None,
    of: str = "population",
    prob: float = 0.95,
    kind: str = "hdi",
    replications: int = 20,
    concentration: float = 1.0,
    random_seed: int = 0,
) -> pd.DataFrame:
    """
    Return how wide the interval would be with other numbers of items and of attempts at each.

    Answers are simulated from what is known of the items, and the interval is made of them as it
    is made of real ones.

    Parameters
    ----------
    evidence : Dataset
        Answers of one system so far, from `bayescm.from_attempts`. Where items come in groups, new
        ones come in new groups of the same sizes.
    measure : str or callable
        A measure of repeated answers, such as ``"pass_at(4)"``.
    items, attempts : int or sequence of int, optional
        The numbers asked about; by default as many as there are, twice and four times as many
        items, and half and twice as many attempts, as far as the measure allows.
    of : {"population", "finite"}
        The mean over all items like these, or over the items at hand.
    prob : float in (0, 1), default 0.95
    kind : {"hdi", "eti"}
    replications : int >= 2, default 20
        Data sets simulated for each row.
    concentration : float, default 1
        As `models.repeated_items` takes it.
    random_seed : int, default 0

    Returns
    -------
    DataFrame
        A row for every pair of numbers: ``items``, ``attempts``, ``answers`` in all, the mean
        ``width`` of the interval and its standard error ``width_se``. ``attrs["caution"]`` says
        where the items so far are too few to tell of others.

    Raises
    ------
    ValueError
        If the answers are of several systems, the measure is about more answers than attempts are
        asked about, or a number is out of its range.

    Notes
    -----
    Of more attempts than there are so far a plan knows what its prior says of items that were never
    or always solved, and no more.

    Examples
    --------
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> table = (rng.random((30, 4)) < rng.random((30, 1))).astype(int)
    >>> found = plan_attempts(bcm.from_attempts(table), "mean", items=[30, 120], attempts=4)
    >>> bool(found["width"][1] < 0.6 * found["width"][0])
    True
    """
    check_choice("of", of, ["population", "finite"])
    check_prob(prob), check_kind(kind)
    check_whole("replications", replications, 2, "data sets", 20)
    known = repeated_items(evidence, concentration=concentration)
    if len(known.right) > 1:
        todo = "select one: evidence.sel(classifier=...)"
        raise fail("a plan is of one system", known.names, "one", todo)
    (kernel,) = of_variable(measure, known.gives)
    rng = np.random.default_rng(check_seed(random_seed))
    mixture, rows = known.mixture([kernel]), []
    for tried in _numbers("attempts", attempts, _attempts(known, kernel)):
        for number in _numbers("items", items, [known.right.shape[1] * each for each in (1, 2, 4)]):
            widths = [
                _width(
                    _simulated(known, mixture, share[0], number, tried, rng),
                    kernel,
                    (of, prob, kind),
                    rng,
                )
                for share in known.shares(mixture, "parameter", replications, rng)
            ]
            said = {"items": number, "attempts": tried, "answers": number * tried}
            error = np.std(widths, ddof=1) / replications**0.5
            rows.append({"measure": kernel.__name__, **said} | _said(widths, error))
    table = pd.DataFrame(rows)
    if doubts := known.doubts(of):
        table.attrs["caution"] = " ".join(doubts)
    return table


def _said(widths, error):
    return {"width": float(np.mean(widths)), "width_se": float(error)}


def _attempts(known, kernel):
    """Return half as many, as many and twice as many attempts, as far as the measure allows."""
    form, made = getattr(kernel, "form", None), int(np.median(known.made))
    least = max(2, form.answers if isinstance(form, Repeated) else 2)
    return [each for each in (made // 2, made, 2 * made) if each >= least] or [least]


def _numbers(name, given, otherwise):
    """Return the numbers asked about, each once."""
    asked: Any = otherwise if given is None else np.atleast_1d(np.asarray(given, object)).tolist()
    for each in asked:
        check_whole(name, each, 2, name, 30)
    return list(dict.fromkeys(int(each) for each in asked))


def _simulated(known, mixture: Mixture, share, items, attempts, rng) -> RepeatedItems:
    """Return what would be known of so many items with so many attempts at each."""
    group = None
    if known.group is None:
        sort = rng.choice(len(share), items, p=share)
    else:
        place, group = _in_groups(known.group, items, rng)
        chance = share * mixture.likelihood(known.kinds(0, mixture)[place])
        edges = np.cumsum(chance / chance.sum(1, keepdims=True), axis=1)
        sort = (rng.random((items, 1)) > edges[:, :-1]).sum(1)
    right = rng.random((items, attempts)) < mixture.support[sort][:, None]
    if not mixture.wrong:
        found = from_attempts(right.astype(float), group=group)
    else:
        common, others = np.array(mixture.wrong)[sort % len(mixture.wrong)].T[..., None]
        other = 2 + np.floor(others * rng.random(right.shape))
        wrong = np.where(rng.random(right.shape) < common, 1, other)
        found = from_attempts(np.where(right, 0, wrong), truth=np.zeros(items), group=group)
    return repeated_items(found, concentration=known.concentration)


def _in_groups(group, items, rng):
    """Return items like those known, drawn by their groups, and the groups of these."""
    place: list[np.ndarray] = []
    own: list[np.ndarray] = []
    held = 0
    while held < items:
        members = np.flatnonzero(group == rng.integers(group.max() + 1))[: items - held]
        place.append(members)
        own.append(np.full(len(members), len(own)))
        held += len(members)
    return np.concatenate(place), np.concatenate(own)


def _width(posterior, kernel, asked, rng):
    """Return the width of the interval."""
    of, prob, kind = asked
    (values,) = posterior.draw([kernel], _DRAWS, rng, of=of)
    ends, _ = posterior.drawn(kernel, values.reshape(len(values), -1)).checked(prob, kind)
    return float(np.diff(ends).item())
