"""Reports of probabilities."""

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.cli import main


@pytest.mark.long
def test_the_table_of_a_prediction_model(tmp_path):
    rng = np.random.default_rng(3)
    risk = rng.beta(1, 3, 250)
    died = np.where(rng.random(250) < risk, "yes", "no")
    pd.DataFrame({"died": died, "risk": risk}).to_csv(tmp_path / "p.csv", index=False)
    options = ["--actual", "died", "--positive", "yes", "--probability", "risk"]
    options += ["--threshold", "0.15", "-o", str(tmp_path / "model.md")]
    with pytest.raises(SystemExit) as stopped:
        main(["report", str(tmp_path / "p.csv"), *options])
    assert stopped.value.code == 0
    text = (tmp_path / "model.md").read_text().replace("\\_", "_")
    assert f"{(died == 'yes').sum()} events (yes)" in text
    for name in ("AUC", "calibration slope", "calibration intercept", "Brier score"):
        assert f"| {name} " in text
    evidence = bcm.from_probabilities(died, risk, positive="yes")
    curve = bcm.curves.decision_curve(evidence, thresholds=[0.15])
    (row,) = [line for line in text.splitlines() if line.startswith("| 0.15 |")]
    _, _, point, *_, treat_all, treat_none, useful, _ = row.split("|")
    assert float(point) == pytest.approx(curve["net_benefit"].item(), abs=5e-4)
    assert float(treat_all) == pytest.approx(curve["treat_all"].item(), abs=5e-4)
    assert treat_none.strip() == "0"
    expected = curve["p_useful"].item()
    assert float(useful.strip(" &gt;")) == pytest.approx(expected, abs=0.03)
    slope = bcm.summary(evidence, "calibration_slope", kind="eti").iloc[0]
    ends = f"[{slope['lower']:.2f}, {slope['upper']:.2f}]"
    assert f"calibration slope {slope['point']:.2f} {ends}" in _legend(evidence)


def _legend(evidence):
    legend = bcm.plot_calibration(evidence).axes[0].get_legend()
    return " ".join(text.get_text() for text in legend.get_texts())


@pytest.mark.long
def test_sites_have_a_section_of_their_own(tmp_path):
    rng = np.random.default_rng(2)
    risk = rng.random(200)
    evidence = bcm.from_probabilities(rng.random(200) < risk, risk, group=np.arange(200) % 5)
    out = bcm.report(evidence, tmp_path / "sites.md", measures=["calibration_slope", "brier"])
    text = out.read_text().replace("\\_", "_")
    assert "Site by site" in text
    assert "5 sites." in text
    assert "a new one" in text
    assert "hierarchical_calibration" in text
    assert "Net benefit and the calibration curve need one sample" in text


@pytest.mark.long
def test_folds_of_probabilities_have_what_each_fold_has_by_itself(tmp_path):
    rng = np.random.default_rng(5)
    risk = rng.beta(2, 3, 200)
    evidence = bcm.from_probabilities(rng.random(200) < risk, risk, fold=np.arange(200) % 4)
    text = bcm.report(evidence, tmp_path / "folds.md").read_text().replace("\\_", "_")
    assert "| Brier skill score " in text
    assert "correlated t of the folds" in text
    assert "| ECE " not in text
    assert "95% equal-tailed intervals of the posterior" in text


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:ece. The calibration curve seems:UserWarning")
def test_a_report_says_that_the_calibration_curve_has_a_step(tmp_path):
    rng = np.random.default_rng(5)
    p = rng.random(900)
    stepped = bcm.from_probabilities(rng.random(900) < np.where(p < 0.6, 0.2, 0.8), p)
    smooth = bcm.from_probabilities(rng.random(900) < p, p)
    for evidence, said in ((stepped, True), (smooth, False)):
        out = bcm.report(evidence, tmp_path / f"{said}.md", measures=["brier", "ece"])
        text = out.read_text()
        assert ("seems to have a step" in text) is said
