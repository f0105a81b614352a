"""Win rates of all pairs, and whether one order of strength fits the votes."""

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm import preferences

NAMES = list("abcdefgh")


def votes_on(lead, number, seed, nu=0.4):
    """Return votes with the log odds ``lead`` (K, K) of the row over the column."""
    rng = np.random.default_rng(seed)
    size = len(lead)
    left = rng.integers(size, size=number)
    right = (left + rng.integers(1, size, size=number)) % size
    eta = lead[left, right]
    logits = np.stack([eta / 2, -eta / 2, np.full(number, np.log(nu))], axis=1)
    winner = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
    outcomes = np.array(["left", "right", "tie"])[winner]
    names = np.array(NAMES)
    return bcm.from_preferences(left=names[left], right=names[right], winner=outcomes)


def transitive(size=8):
    strength = np.linspace(1, -1, size)
    return strength[:, None] - strength


def with_circle():
    """Return log odds in which d beats e, e beats f, and f beats d."""
    lead = transitive()
    for i, j in ((3, 4), (4, 5), (5, 3)):
        lead[i, j] = 1.5
        lead[j, i] = -1.5
    return lead


@pytest.mark.long
def test_win_rates_are_those_of_the_measure():
    votes = votes_on(transitive(4), 300, 1)
    table = preferences.win_rates(votes, kind="eti")
    assert list(zip(table["first"], table["second"], strict=True)) == [
        (one, two) for place, one in enumerate("abcd") for two in "abcd"[place + 1 :]
    ]
    for row in table.itertuples():
        found = bcm.distribution(votes, f"win_rate[{row.second}]")
        ends = found.interval(kind="eti").sel(classifier=row.first)
        assert [row.lower, row.upper] == pytest.approx(ends.values, abs=0.005)
        above = float(found.prob_above(0.5).sel(classifier=row.first))
        assert row.p_better == pytest.approx(above, abs=0.01)
        best, other = (row.first, row.second)[:: 1 if row.win_rate >= 0.5 else -1]
        assert row.sentence.startswith(f"{best} is preferred to {other} in ")
    assert table["votes"].sum() == 300


def test_the_sentence_names_the_system_that_wins_more():
    for reference in (None, "0", "1"):
        table = preferences.win_rates(bcm.from_preferences([[0, 6], [14, 0]]), reference=reference)
        (sentence,) = table["sentence"]
        assert sentence.startswith("1 is preferred to 0 in 67 of 100 comparisons (4")


@pytest.mark.long
def test_a_reference_is_compared_with_all_others():
    votes = votes_on(transitive(4), 200, 2)
    table = preferences.win_rates(votes, reference="b")
    assert table["first"].tolist() == ["a", "c", "d"]
    assert set(table["second"]) == {"b"}
    pairs = preferences.win_rates(votes).set_index(["first", "second"])
    assert table["win_rate"][0] == pytest.approx(pairs.loc[("a", "b"), "win_rate"])
    assert table["win_rate"][1] == pytest.approx(1 - pairs.loc[("b", "c"), "win_rate"])
    with pytest.raises(ValueError, match="Unknown system"):
        preferences.win_rates(votes, reference="z")


@pytest.mark.long
def test_a_circle_shows_as_the_pairs_with_the_largest_residuals():
    table = preferences.check_fit(votes_on(with_circle(), 3000, 3))
    assert table.attrs["p_pairs"] < 0.01
    assert table.attrs["p_largest"] < 0.05
    worst = {frozenset(row) for row in table[["first", "second"]].head(3).values.tolist()}
    assert len(worst & {frozenset("de"), frozenset("ef"), frozenset("df")}) >= 2


@pytest.mark.long
@pytest.mark.slow
def test_one_order_of_strength_is_rarely_rejected():
    found = [
        preferences.check_fit(votes_on(transitive(), 600, seed), draws=400).attrs
        for seed in range(30)
    ]
    for name in ("p_pairs", "p_largest"):
        values = np.array([each[name] for each in found])
        assert (values < 0.05).sum() <= 4
        assert 0.3 < values.mean() < 0.75


@pytest.mark.long
def test_the_fit_of_votes_in_clusters_has_a_caution():
    votes = votes_on(transitive(3), 90, 1)
    rows = pd.DataFrame({"left": list("ab") * 30, "right": list("bc") * 30, "winner": "left"})
    clustered = bcm.from_preferences(rows, group=np.arange(60) // 6)
    assert "too small" in preferences.check_fit(clustered).attrs["caution"]
    assert "caution" not in preferences.check_fit(votes).attrs
