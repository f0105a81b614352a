"""
Pairwise preferences as evidence: votes on which of two systems is better.

Preferences are an ``xr.Dataset`` with the number of votes ``vote_count`` (pair, winner) for the
left system, for the right system, and for a tie. The coordinates ``left`` and ``right`` (pair) name
the two systems, and ``classifier`` names all systems. The scalar coordinate ``ordered`` states
whether the left system was shown first. Otherwise the systems of a pair are in the order of
``classifier``.

For votes in clusters, the variables ``vote_pair`` and ``vote_winner`` (vote) contain the position
of each vote in the table, and the coordinate ``group`` (vote) contains its cluster.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.evidence_type import (
    ChangeStatistic,
    Columns,
    DefaultModel,
    EvidenceType,
    number_of,
)
from bayescm.evidence.identifiers import as_pandas
from bayescm.evidence.labels import check_no_missing_text
from bayescm.evidence.patterns import (
    PatternCounts,
    has_patterns,
    number_of_examples,
    pattern_table,
    patterns_of_batches,
)
from bayescm.evidence.resampling import check_no_parts, draw_numbers
from bayescm.evidence.tabulate import check_sizes, column
from bayescm.validate import check_column, check_counts, check_row_order, fail, suggest

WINNERS = ("left", "right", "tie")
# Recognised outcomes, in lower case. A vote against both systems ("both bad" in arenas) is a tie,
# because neither system is preferred.
_OUTCOMES: Mapping[str, tuple[str, ...]] = {
    "left": ("left", "a", "model_a"),
    "right": ("right", "b", "model_b"),
    "tie": ("tie", "draw", "both", "both_good", "both_bad", "bothbad", "tie (bothbad)"),
}
# Recognised names of the columns of the two systems.
_SIDES = (("model_a", "model_b"), ("left", "right"), ("system_a", "system_b"), ("a", "b"))
_LISTED = 8  # maximum number of unknown outcomes, or systems, in a message


def from_preferences(
    votes: Any = None,
    *,
    left: Any = None,
    right: Any = None,
    winner: Any = "winner",
    outcomes: Mapping[str, Any] | None = None,
    ordered: bool | None = None,
    group: Any = None,
    weights: Any = None,
    ties: Any = None,
) -> xr.Dataset:
    """
    Return votes on pairs of systems as evidence.

    Votes can be preferences of people or of a judge between two outputs, results of matches, or the
    pairs of rankings (`bayescm.from_rankings`).

    Parameters
    ----------
    votes : DataFrame or array_like (K, K), optional
        Table with one row per vote. Alternatively, a square table of wins: the number of votes that
        preferred the system in the row to the system in the column. The labels of a DataFrame then
        name the systems. Without a table, ``left``, ``right`` and ``winner`` are columns.
    left, right : str or array_like, shape (n,), optional
        The two systems of each vote, as columns or as names of columns. By default, columns named
        model_a and model_b, left and right, system_a and system_b, or a and b are used.
    winner : str or array_like, shape (n,), default "winner"
        Outcome of each vote. These outcomes are recognised:

        - A win of the left system: left, a, model_a, or the name of the system.
        - A win of the right system: right, b, model_b, or the name of the system.
        - A tie: tie, draw, both, both_good, both_bad or tie (bothbad).
    outcomes : mapping of str to sequence, optional
        Other names of the outcomes, e.g. ``{"left": [1], "right": [2], "tie": [0]}``. They replace
        all recognised names.
    ordered : bool, optional
        Whether the left system was shown first, so that the advantage of its position is estimated.
        By default True if some pair of systems was seen in both orders. A table of wins does not
        record the order.
    group : str or array_like, shape (n,), optional
        Cluster of each vote, such as the prompt or the voter. Votes in the same cluster are not
        treated as independent.
    weights : str or array_like, shape (n,), optional
        Integer number of votes that each row represents.
    ties : DataFrame or array_like (K, K), optional
        Symmetric table with the number of ties between each pair of systems. Requires a table of
        wins.

    Returns
    -------
    Dataset, dims (pair, winner)
        Votes. Selecting systems, as in ``evidence.sel(classifier=["a", "b", "c"])``, keeps the
        votes on pairs of the selected systems.

    Raises
    ------
    ValueError
        If an outcome is missing or unknown. The message lists unknown outcomes, which are never
        treated as ties. If a system is compared with itself or has no name, there are fewer than
        two systems, or a number of votes is negative or fractional.

    See Also
    --------
    from_rankings : Rankings of several systems, converted to pairs.

    Examples
    --------
    >>> table = pd.DataFrame({"a": ["x", "y", "x"], "b": ["y", "z", "z"]})
    >>> evidence = from_preferences(table.assign(winner=["a", "tie", "a"]))
    >>> evidence["vote_count"].values.tolist(), evidence["classifier"].values.tolist()
    ([[1, 0, 0], [1, 0, 0], [0, 0, 1]], ['x', 'y', 'z'])
    >>> int(from_preferences([[0, 7], [3, 0]])["vote_count"].sum())
    10
    """
    votes = as_pandas(votes)
    if votes is not None and _is_square(votes):
        per_vote = {"left": left, "right": right, "outcomes": outcomes, "group": group}
        per_vote |= {"weights": weights, "ordered": ordered}
        if given := [name for name, value in per_vote.items() if value is not None]:
            todo = "pass one row per vote"
            raise fail(f"A table of wins cannot be combined with `{given[0]}`", ..., "", todo)
        return _from_wins(votes, ties)
    if ties is not None:
        raise fail(
            "`ties` needs a table of wins",
            ...,
            "",
            "with one row per vote, mark ties in the column of the winner",
        )
    columns = _columns(votes, left, right, winner, group, weights)
    systems = {side: _systems(side, columns[side]) for side in ("left", "right")}
    code = _winners(columns["winner"], systems, outcomes)
    sizes = {"votes": len(code)}
    number = None
    if columns["weights"] is not None:
        todo = "pass whole numbers of votes; rows of other weights have no likelihood"
        number = check_counts(columns["weights"], name="a weight", todo=todo)
        sizes["weights"] = len(number)
    if columns["group"] is not None:
        sizes["group"] = len(column("group", columns["group"]))
    check_sizes(sizes)
    groups = None if columns["group"] is None else _groups(columns["group"])
    if number is not None:
        systems = {side: np.repeat(names, number) for side, names in systems.items()}
        code = np.repeat(code, number)
        groups = None if groups is None else np.repeat(groups, number)
    return _dataset(systems["left"], systems["right"], code, ordered, groups)


def from_rankings(
    table: pd.DataFrame, *, item: Any = None, system: Any = None, rank: Any = None
) -> xr.Dataset:
    """
    Return rankings of several systems as pairwise preferences.

    All pairs from one ranking form a cluster, so that intervals do not treat them as independent.
    Under the Plackett-Luce model, pairs and rankings have the same strength parameters.

    Parameters
    ----------
    table : DataFrame
        Table with one row per item and system. Alternatively, a table with one row per ranking and
        one column per system that contains ranks, or NaN for unranked systems.
    item, system, rank : str, optional
        Columns of a table with one row per item and system. Rank 1 is the best, and equal ranks are
        ties.

    Returns
    -------
    Dataset, dims (pair, winner)

    Raises
    ------
    ValueError
        If a ranking contains a system twice, a rank is missing or not a number, or no ranking
        contains two systems.

    Examples
    --------
    >>> ranks = pd.DataFrame({"x": [1, 2, 1], "y": [2, 1, 1], "z": [3, 3, None]})
    >>> from_rankings(ranks)["vote_count"].sum("pair").values.tolist()
    [5, 1, 1]
    """
    table = as_pandas(table)
    if not isinstance(table, pd.DataFrame):
        todo = 'pass a DataFrame, and item="prompt", system="model", rank="rank"'
        raise fail(
            f"Rankings must be a DataFrame, not a {type(table).__name__}", ..., "", todo, TypeError
        )
    named = {"item": item, "system": system, "rank": rank}
    given = [name for name, value in named.items() if value is not None]
    if 0 < len(given) < 3:
        absent = next(name for name in named if name not in given)
        todo = f"pass {absent}= with the name of a column"
        raise fail(f"The column {absent} is not named", ..., "", todo)
    wide = _wide_ranks(table, item, system, rank) if given else table
    other = [name for name in wide if not pd.api.types.is_numeric_dtype(wide[name])]
    if other:
        raise fail(
            "Ranks must be numbers", wide[other[0]].iloc[0], "", "pass numbers, with 1 for the best"
        )
    names, ranks = [str(name) for name in wide.columns], wide.to_numpy(float)
    parts = []
    for i, j in combinations(range(len(names)), 2):
        ranked = ~np.isnan(ranks[:, i] + ranks[:, j])
        difference = (ranks[:, j] - ranks[:, i])[ranked]
        code = np.where(difference > 0, 0, np.where(difference < 0, 1, 2))
        parts.append((np.full(len(code), i), np.full(len(code), j), code, np.flatnonzero(ranked)))
    if not any(len(code) for _, _, code, _ in parts):
        raise fail(
            "No ranking contains at least two systems",
            ...,
            "",
            "pass rankings of two or more systems",
        )
    left, right, code, row = (np.concatenate(each) for each in zip(*parts, strict=True))
    objects = np.array(names, object)
    labels = wide.index.to_numpy()[row]
    return _dataset(objects[left], objects[right], code, False, labels)


def _wide_ranks(table, item, system, rank):
    """Return a table with one row per item and one column per system."""
    for name in (item, system, rank):
        check_column(name, table)
    if (missing := table[[item, system, rank]].isna().any(axis=1)).any():
        todo = "leave out the systems that were not ranked"
        raise fail(f"{number_of(missing.sum(), 'rows')} of the rankings are empty", ..., "", todo)
    twice = table.duplicated([item, system])
    if twice.any():
        first = table.loc[twice, [item, system]].iloc[0]
        what = f"System {first[system]!r} is in the ranking of {first[item]} twice"
        raise fail(what, ..., "", "give each ranking its own label")
    return table.pivot(index=item, columns=system, values=rank)


# Conversion of tables and columns to votes


def _is_square(votes):
    """Return True if a table is a table of wins, with the same systems in rows and columns."""
    if isinstance(votes, pd.DataFrame):
        return votes.shape[0] == votes.shape[1] and list(votes.index) == list(votes.columns)
    return np.ndim(votes) == 2


def _from_wins(wins, ties):
    """Return evidence from a table of wins and an optional table of ties."""
    names = list(map(str, wins.columns)) if isinstance(wins, pd.DataFrame) else None
    table = _square("a number of wins", wins)
    names = [str(place) for place in range(len(table))] if names is None else names
    if len({*names}) < len(names):
        raise fail("The systems have duplicate names: {}", names, "", "rename them")
    if (own := np.flatnonzero(np.diag(table))).size:
        raise fail(
            f"System {names[own[0]]!r} is compared with itself",
            ...,
            "",
            "put 0 on the diagonal of the table",
        )
    tied = np.zeros_like(table)
    if ties is not None:
        if isinstance(ties, pd.DataFrame) and isinstance(wins, pd.DataFrame):
            if {*map(str, ties.columns)} != {*names}:
                todo = "give both tables the same systems"
                raise fail(
                    f"The ties are for the systems {list(ties.columns)}, but the wins for {names}",
                    ...,
                    "",
                    todo,
                )
            ties = ties.loc[wins.index, wins.columns]
        tied = _square("a number of ties", ties)
        check_sizes({"wins": len(table), "ties": len(tied)})
        if (tied != tied.T).any() or np.diag(tied).any():
            raise fail(
                "The table of ties is not symmetric",
                ...,
                "",
                "put the ties of two systems into both of their cells, and 0 on the diagonal",
            )
    left, right = np.triu_indices(len(table), 1)
    counts = np.stack([table[left, right], table[right, left], tied[left, right]], axis=1)
    seen = counts.any(axis=1)
    objects = np.array(names, object)
    sides = objects[left[seen]], objects[right[seen]]
    return as_preferences(_of_counts(objects, *sides, counts[seen], False))


def _square(name, table):
    values = check_counts(np.asarray(table), name=name, todo="count whole votes")
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        todo = "pass a square table, or a DataFrame with one row per vote"
        raise fail(
            "The table must be square, with a row and a column per system, but its shape is {}",
            values.shape,
            "",
            todo,
        )
    return values


def _columns(votes, left, right, winner, group, weights):
    """Return the columns of the votes by role."""
    given = {"left": left, "right": right, "winner": winner, "group": group, "weights": weights}
    if votes is None:
        for side in ("left", "right", "winner"):
            if given[side] is None or isinstance(given[side], str):
                todo = "pass a table of votes, or left=, right= and winner= as columns"
                raise fail(f"The column {side} is missing", ..., "", todo)
        check_row_order(given)
        return given
    if not isinstance(votes, pd.DataFrame):
        todo = "pass a DataFrame with one row per vote, or a square table of wins"
        raise fail(
            f"Votes must be a DataFrame, not a {type(votes).__name__}", ..., "", todo, TypeError
        )
    if left is None and right is None:
        sides = [pair for pair in _SIDES if {*pair} <= {*votes.columns}]
        if not sides:
            raise fail(
                "The columns of the two systems are not named; the table has {}",
                list(votes.columns),
                "",
                'pass e.g. left="model_a", right="model_b"',
            )
        given["left"], given["right"] = sides[0]
    columns: dict[str, Any] = {}
    for role, name in given.items():
        is_named = isinstance(name, str | int)  # the names of columns may be numbers
        columns[role] = votes[check_column(name, votes, role)] if is_named else name
    check_row_order(columns)
    return columns


def _systems(side, values):
    """Return the names of the systems on one side as strings."""
    values = pd.Series(np.asarray(column(side, values)), dtype=object)
    if (missing := values.isna()).any():
        todo = "name the system, or leave the votes out"
        raise fail(
            f"The {side} system of {number_of(missing.sum(), 'votes')} is missing", ..., "", todo
        )
    check_no_missing_text(values.unique(), "the systems", "rename it, or leave the votes out")
    return values.map(str).to_numpy(object)


def _groups(values):
    """Return the cluster of each vote."""
    labels = pd.Series(np.asarray(column("group", values)))
    todo = "give votes in no cluster a label of their own"
    if labels.isna().any():
        raise fail(
            f"The group of {number_of(labels.isna().sum(), 'votes')} is missing",
            ...,
            "",
            "give each vote without a cluster its own label",
        )
    check_no_missing_text(labels.unique(), "the groups", todo)
    return labels.to_numpy()


def _winners(values, systems, outcomes):
    """Return the position of each outcome in `WINNERS`."""
    series = pd.Series(np.asarray(as_pandas(values), dtype=object))
    sizes = {**{side: len(names) for side, names in systems.items()}, "winner": len(series)}
    if not any(sizes.values()):
        raise fail("The table has no votes", ..., "", "pass one row per vote")
    check_sizes(sizes)
    blank = series.map(lambda each: isinstance(each, str) and not each.strip())
    if (missing := series.isna() | blank).any():
        todo = "leave these votes out"
        raise fail(f"The outcome of {number_of(missing.sum(), 'votes')} is missing", ..., "", todo)
    names = _usual_names() if outcomes is None else _outcome_names(outcomes)
    texts = series
    if outcomes is None:
        texts = series.map(lambda each: each.strip().lower() if isinstance(each, str) else each)
    code = np.full(len(series), -1)
    for place, winner in enumerate(WINNERS):
        known = [text for text, meaning in names.items() if meaning == winner]
        code[texts.isin(known).to_numpy()] = place
    if outcomes is None:
        by_name = np.full(len(series), -1)
        plain = series.map(lambda each: str(each).strip()).to_numpy(object)
        for place, side in enumerate(("left", "right")):
            by_name[plain == systems[side]] = place
        two_meanings = (by_name >= 0) & (code >= 0) & (by_name != code)
        if two_meanings.any():
            name = plain[two_meanings][0]
            raise fail(
                f"{name!r} is both a system and an outcome",
                ...,
                "",
                'define the outcomes: outcomes={"left": [...], "right": [...]}',
            )
        code = np.maximum(code, by_name)
    if (unknown := code < 0).any():
        counts = series[unknown].map(repr).value_counts()
        listed = [f"{name} ({number_of(n, 'votes')})" for name, n in counts.items()]
        more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
        what = f"Unknown outcomes: {', '.join(listed[:_LISTED])}{more}"
        allowed = "" if outcomes is not None else "left, right, tie or the name of a system"
        raise fail(
            what,
            ...,
            allowed,
            'leave these votes out, or define them: outcomes={"tie": [...], ...}',
        )
    return code


def _usual_names():
    """Return a mapping from recognised outcomes to winners."""
    return {text: winner for winner, known in _OUTCOMES.items() for text in known}


def _outcome_names(outcomes):
    """Return a mapping from user-defined outcomes to winners."""
    names: dict[Any, str] = {}
    for winner, values in dict(outcomes).items():
        if winner not in WINNERS:
            todo = suggest(winner, WINNERS) or 'pass {"left": [1], "right": [2], "tie": [0]}'
            raise fail("`outcomes` has the unknown key {}", winner, WINNERS, todo)
        single = isinstance(values, str) or not isinstance(values, Sequence | set | np.ndarray)
        for value in [values] if single else list(values):
            if names.setdefault(value, winner) != winner:
                todo = "name each outcome once"
                raise fail("The outcome {} has two meanings", value, "", todo)
    if not names:
        raise fail(
            "`outcomes` is empty",
            ...,
            "",
            "name the outcomes for left, right and, if there are any, tie",
        )
    return names


def _dataset(left, right, code, ordered, groups):
    """Return evidence from the systems, the position of the winner and the cluster of each vote."""
    if not len(code):
        raise fail("The table has no votes", ..., "", "pass one row per vote")
    itself = left == right
    if itself.any():
        name, number = left[itself][0], number_of(int(itself.sum()), "votes")
        todo = "leave these votes out"
        raise fail(f"A system is compared with itself: {name!r}, in {number}", ..., "", todo)
    names = np.array(sorted({*left} | {*right}), object)
    place = {name: k for k, name in enumerate(names)}
    first, second = (np.array([place[name] for name in side]) for side in (left, right))
    if ordered is None:
        met = {*zip(first.tolist(), second.tolist(), strict=True)}
        ordered = any((j, i) in met for i, j in met)
    evidence, vote_pair, code = _of_votes(names, first, second, code, bool(ordered))
    if groups is None:
        return as_preferences(evidence)
    of_votes = {"vote_pair": ("vote", vote_pair), "vote_winner": ("vote", code)}
    return as_preferences(evidence.assign(of_votes).assign_coords(group=("vote", groups)))


def _of_votes(names, first, second, code, ordered, number=1):
    """Return evidence from positions of systems, and the pair and outcome of each vote."""
    if not ordered:  # merge the two orders of a pair
        swap = first > second
        first, second = np.where(swap, second, first), np.where(swap, first, second)
        code = np.where(swap & (code < 2), 1 - code, code)
    pairs, vote_pair = np.unique(first * len(names) + second, return_inverse=True)
    counts = np.zeros((len(pairs), 3), int)
    np.add.at(counts, (vote_pair, code), number)
    sides = names[pairs // len(names)], names[pairs % len(names)]
    return _of_counts(names, *sides, counts, ordered), vote_pair, code


def _of_counts(names, left, right, counts, ordered):
    coords = {
        "winner": list(WINNERS),
        "left": ("pair", left.astype(str)),
        "right": ("pair", right.astype(str)),
        "classifier": names.astype(str),
        "ordered": ordered,
    }
    return xr.Dataset({"vote_count": (("pair", "winner"), counts)}, coords)


# Validation


def is_preferences(evidence: Any) -> bool:
    """Return True if evidence consists of votes on pairs of systems."""
    return (
        isinstance(evidence, xr.Dataset)
        and "vote_count" in evidence
        and {"pair", "winner"} <= {*evidence["vote_count"].dims}
    )


def as_preferences(evidence: xr.Dataset) -> xr.Dataset:
    """
    Validate votes, and keep those on pairs of the systems along ``classifier``.

    Raises
    ------
    TypeError, ValueError
        If the evidence is not votes, or there are fewer than two systems or no votes on them.
    """
    if not is_preferences(evidence) or not {"left", "right", "ordered"} <= {*evidence.coords}:
        todo = "use from_preferences or from_rankings"
        raise fail(
            f"This function needs votes on pairs, not a {type(evidence).__name__}",
            ...,
            "",
            todo,
            TypeError,
        )
    names = np.atleast_1d(evidence["classifier"].values).tolist()
    if len(names) < 2 or "classifier" not in evidence.dims:
        todo = "keep the systems to compare with: evidence.sel(classifier=['a', 'b'])"
        raise fail("Votes on pairs need two or more systems", names, "", todo)
    if len({*names}) < len(names):
        raise fail("The systems have duplicate names: {}", names, "", "rename them")
    check_counts(evidence["vote_count"].values, name="a number of votes", todo="count whole votes")
    dims = ("pair", "winner")
    if any(column.ndim > 1 and column.dims != dims for column in evidence.variables.values()):
        evidence = evidence.transpose(*dims, ...)
    among = np.isin(evidence["left"].values, names) & np.isin(evidence["right"].values, names)
    if not among.all():
        evidence = _select_pairs(evidence, among)
    if not evidence["vote_count"].values.any():
        raise fail(
            "No pair of the systems {} has votes", names, "", "keep systems that were compared"
        )
    in_order = evidence["winner"].values.tolist() == list(WINNERS)
    return evidence if in_order else evidence.sel(winner=list(WINNERS))


def _select_pairs(evidence, kept):
    """Return the votes on a subset of the pairs."""
    if "vote_pair" in evidence:
        evidence = evidence.isel(vote=kept[evidence["vote_pair"].values])
        places = np.cumsum(kept) - 1
        moved = places[evidence["vote_pair"].values]
        evidence = evidence.assign(vote_pair=("vote", moved))
    return evidence.isel(pair=np.flatnonzero(kept))


def groups_that_never_met(evidence: xr.Dataset) -> list[list]:
    """
    Return the groups of systems that are connected by votes, largest first.

    Examples
    --------
    >>> groups_that_never_met(from_preferences([[0, 1, 0], [2, 0, 0], [0, 0, 0]]))
    [['0', '1'], ['2']]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    names = evidence["classifier"].values
    left, right = places_of_pairs(evidence)
    seen = evidence["vote_count"].values.any(axis=1)
    shape = (len(names), len(names))
    graph = coo_array((np.ones(seen.sum()), (left[seen], right[seen])), shape)
    number, member = connected_components(graph, directed=False)
    groups = [names[member == each].tolist() for each in range(number)]
    return sorted(groups, key=len, reverse=True)


def places_of_pairs(evidence: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the left and right system of each pair among all systems."""
    index = pd.Index(evidence["classifier"].values)
    left, right = (index.get_indexer(evidence[side].values) for side in ("left", "right"))
    return left, right


# Evidence type


def _describe(evidence, written=str):
    """Describe votes on pairs in sentences."""
    votes, names = evidence["vote_count"].values, evidence["classifier"].values
    left, right = places_of_pairs(evidence)
    seen = votes.any(axis=1)
    low, high = np.minimum(left, right)[seen], np.maximum(left, right)[seen]
    pairs = len(np.unique(low * len(names) + high))
    total, ties = int(votes.sum()), int(votes[:, 2].sum())
    lines = [f"{number_of(total, 'votes')} on {number_of(pairs, 'pairs')} of {len(names)} systems."]
    if len(names) <= _LISTED:
        lines.append(f"Systems: {', '.join(map(written, names.tolist()))}.")
    lines.append(f"{number_of(ties, 'votes')} ({100 * ties / total:.0f}%) are ties.")
    if evidence["ordered"]:
        lines.append("The order in which the two systems were shown is known.")
    if "group" in evidence.coords:
        number = len(pd.unique(evidence["group"].values))
        lines.append(f"The votes are in {number_of(number, 'clusters')}.")
    return lines


def _combine(members, dim, names):
    """Return the votes of all members together."""
    if dim != "vote":
        raise fail(
            f"Votes cannot be combined along {dim}",
            ...,
            "",
            'pass dim="vote" to pool the votes, or pass a mapping, e.g. summary({...})',
        )
    facts = {
        "clusters": ["group" in member.coords for member in members],
        "a known order": [bool(member["ordered"]) for member in members],
    }
    for words, has in facts.items():
        if any(has) and not all(has):
            raise fail(
                f"Only some pieces of evidence have {words}",
                ...,
                "",
                "build all the evidence in the same way",
            )
    votes = [_rows(member) for member in members]
    parts = {key: np.concatenate([each[key] for each in votes]) for key in votes[0]}
    ordered = bool(members[0]["ordered"])
    return _dataset(parts["left"], parts["right"], parts["code"], ordered, parts.get("group"))


def _rows(evidence):
    """Return the votes as columns with one row per vote."""
    if "group" in evidence.coords:
        pair, code = evidence["vote_pair"].values, evidence["vote_winner"].values
        groups = {"group": evidence["group"].values}
    else:
        counts = evidence["vote_count"].values
        pair, code = (
            np.repeat(index.ravel(), counts.ravel()) for index in np.indices(counts.shape)
        )
        groups = {}
    sides = {side: evidence[side].values[pair].astype(object) for side in ("left", "right")}
    return {**sides, "code": code, **groups}


def _resample(evidence, n, rng):
    """Return n resampled votes."""
    check_no_parts(["group"] if "group" in evidence.coords else [])
    return evidence.assign(
        vote_count=(("pair", "winner"), draw_numbers(evidence["vote_count"].values, n, rng))
    )


# Batches of a monitor

_FORM = "preferences"
# Pseudo-votes per outcome of a pair (Jeffreys prior) in the rule `change`.
_OF_OUTCOME = 0.5


def as_batch(evidence: xr.Dataset, like: xr.DataArray | None = None) -> xr.DataArray:
    """
    Return votes in the form stored by a ledger: patterns of left system, right system, winner.

    Raises
    ------
    ValueError
        If the votes are in clusters.
    """
    evidence = as_preferences(evidence)
    if "group" in evidence.coords:
        todo = "leave `group=` out; a monitor treats votes as independent"
        raise fail("A batch of votes cannot have clusters (group)", ..., "", todo)
    ordered, patterns = bool(evidence["ordered"]), []
    for left, right in zip(evidence["left"].values, evidence["right"].values, strict=True):
        for winner in WINNERS:
            if not ordered and left > right and winner != "tie":  # all batches use the same order
                winner = "left" if winner == "right" else "right"
            pair = [left, right] if ordered else sorted([left, right])
            patterns.append([*map(str, pair), winner])
    facts = {"systems": evidence["classifier"].values.tolist(), "ordered": ordered}
    return pattern_table(patterns, evidence["vote_count"].values.ravel(), _FORM, facts)


def preferences_of(table: xr.DataArray) -> xr.Dataset:
    """Return votes, given the counts (pattern) of their patterns."""
    first, second, code = _places_of_patterns(table)
    names = np.array(table.attrs["systems"], object)
    todo = "use `window=` instead of `forgetting=`"
    number = check_counts(table.values, name="a number of votes", todo=todo)
    seen = number > 0
    places, ordered = (first[seen], second[seen]), table.attrs["ordered"]
    evidence, _, _ = _of_votes(names, *places, code[seen], ordered, number[seen])
    return as_preferences(evidence)


def _places_of_patterns(table):
    """Return the positions of left system, right system and winner of each pattern."""
    place = {name: k for k, name in enumerate(table.attrs["systems"])}
    rows = [json.loads(text) for text in table["pattern"].values.tolist()]
    parts = [(place[left], place[right], WINNERS.index(winner)) for left, right, winner in rows]
    return np.array(parts, int).reshape(-1, 3).T


def add_batches(
    batches: Sequence[PatternCounts], like: xr.DataArray, coords: Mapping[str, np.ndarray]
) -> xr.Dataset:
    """Return the votes of several batches as evidence."""
    return preferences_of(patterns_of_batches(batches, like).sum("step", keep_attrs=True))


def outcomes_by_pair(tables: xr.DataArray) -> ChangeStatistic:
    """
    Return the outcomes of the votes on each pair in each batch, (T, pairs, 3).

    A change is a change in the outcomes, given the pairs. Batches may contain different pairs.
    """
    first, second, code = _places_of_patterns(tables)
    names = len(tables.attrs["systems"])
    pairs, pair = np.unique(first * names + second, return_inverse=True)
    numbers = np.zeros((len(tables), len(pairs), len(WINNERS)), tables.dtype)
    numbers[:, pair, code] = tables.values
    return ChangeStatistic(numbers, prior=np.full(numbers.shape[1:], _OF_OUTCOME))


def _default_model(votes, keywords, members=None, compared=None):
    """Return the default model of votes, or of the patterns of a batch."""
    if has_patterns(votes) and keywords.get("concentration") is not None:
        todo = "leave `concentration` out"
        raise fail(
            f"`concentration={keywords['concentration']!r}` has no effect on a monitor of votes",
            ...,
            "",
            todo,
        )
    return DefaultModel("preferences", preferences_of(votes) if has_patterns(votes) else votes)


PREFERENCES = EvidenceType(
    name="preferences",
    made_by="from_preferences",
    unit="votes",
    matches=is_preferences,
    canonical=as_preferences,
    default_model=_default_model,
    default_measures=lambda evidence: ["win_rate", "rating"],
    compared_measures=lambda evidence: ["rating"],
    size=lambda evidence: int(evidence["vote_count"].sum()),
    values=lambda evidence: evidence["vote_count"],
    has_cells=False,
    measured_variable="preferences",
    combine=_combine,
    sentences=_describe,
    resample=_resample,
    by_system=lambda evidence: {},  # a single model for all systems
    batch_forms=(_FORM,),
    as_batch=as_batch,
    add=add_batches,
    watched_measures=lambda tables: ["win_rate"],
    batch_sizes=number_of_examples,
    change_statistic=outcomes_by_pair,
    changing="preferences",
    alarm_rules=lambda tables: ("change", "floor"),
    one_by_one=has_patterns,
    recorded_together="system",
    columns=Columns((("left", "right"), ("winner",)), ("group", "weights", "ordered")),
)
