"""The report of votes on pairs of systems."""

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm


def votes(**keywords):
    rng = np.random.default_rng(5)
    left, right = rng.integers(0, 4, (2, 240))
    met, strength = left != right, np.array([0.8, 0.3, 0.0, -0.9])
    lead = rng.logistic(size=240) + strength[left] - strength[right]
    winner = np.where(np.abs(lead) < 0.3, "tie", np.where(lead > 0, "left", "right"))
    names = np.array(["new", "old", "mid", "tiny"])
    table = pd.DataFrame({"left": names[left], "right": names[right], "winner": winner})[met]
    return bcm.from_preferences(table, **keywords), met


@pytest.mark.long
def test_a_report_has_ranks_pairs_and_the_fit(tmp_path):
    evidence, met = votes()
    path = tmp_path / "r.md"
    bcm.report(evidence, path)
    text = path.read_text()
    for title in ("Ranks", "Order, clusters and groups", "Win rates of all pairs", "Which is"):
        assert f"## {title}" in text
    assert "the system shown first wins" in text
    assert "design effect" not in text
    assert "posterior predictive p-value is" in text
    assert (tmp_path / "r_files" / "win_rates.png").exists() or "win_rates" in text
    _, met = votes()
    clustered, _ = votes(group=np.arange(240)[met] // 8)
    # A selection of systems keeps its pairs.
    bcm.report(clustered.sel(classifier=["new", "old", "tiny"]), path)
    text = path.read_text()
    assert "of 3 systems" in text
    assert "(design effect)" in text
    assert "p-values are too small" in text
