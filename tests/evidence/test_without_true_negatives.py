"""Counts without true negatives: measures that do not depend on them, and errors for the rest."""

import numpy as np
import pytest

import bayescm as bcm

COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=None)
WITHOUT = ["precision", "recall", "f1", "fbeta(2)", "jaccard", "fowlkes_mallows", "f1[positive]"]
WITH = ["accuracy", "specificity", "mcc", "f1_macro", "cohen_kappa", "npv", "f1[negative]"]


@pytest.mark.parametrize("measure", WITHOUT)
def test_intervals_are_those_of_any_number_of_true_negatives(measure):
    for tn in (0, 30, 5000):
        full = bcm.from_cells(tp=65, fn=15, fp=35, tn=tn)
        np.testing.assert_allclose(
            bcm.interval(COUNTS, measure, accuracy=1e-6),
            bcm.interval(full, measure, accuracy=1e-6),
            atol=1e-6,
        )


@pytest.mark.parametrize("measure", WITH)
@pytest.mark.parametrize("ask", [bcm.interval, bcm.summary, bcm.measure, bcm.prob_above])
def test_other_measures_are_errors(measure, ask):
    arguments = (0.5,) if ask is bcm.prob_above else ()
    with pytest.raises(ValueError, match="true negatives, which are unknown"):
        ask(COUNTS, measure, *arguments)


def test_a_measure_of_ones_own_is_tried():
    def share_of_positives(cells):
        return cells[..., 1, :].sum(-1) / cells.sum((-2, -1))

    def share_found(cells):
        return cells[..., 1, 1] / cells[..., 1, :].sum(-1)

    with pytest.raises(ValueError, match="share_of_positives depends on the true negatives"):
        bcm.interval(COUNTS, share_of_positives)
    assert bcm.measure(COUNTS, share_found)["share_found"] == 65 / 80


@pytest.mark.parametrize(
    "ask",
    [
        lambda: bcm.interval(COUNTS, "f1", of="predictive"),
        lambda: bcm.interval(COUNTS, "f1", positive="negative"),
        lambda: bcm.fit(COUNTS),
        lambda: bcm.plot_matrix(COUNTS),
        lambda: bcm.planning.plan("f1", width=0.1, pilot=COUNTS),
        lambda: bcm.summary(COUNTS.expand_dims(group=["a", "b", "c"]).copy()),
    ],
)
def test_questions_about_all_examples_are_errors(ask):
    with pytest.raises(ValueError, match="true negatives, which are unknown"):
        ask()


def test_a_ledger_does_not_store_zero_true_negatives(tmp_path):
    with bcm.online.Monitor(str(tmp_path / "ledger.db"), "spam") as monitor:
        with pytest.raises(ValueError, match="true negatives, which are unknown"):
            monitor.add("monday", COUNTS)
        assert monitor.add("monday", bcm.from_cells(tp=65, fn=15, fp=35, tn=30))


@pytest.mark.long
def test_default_measures_comparisons_and_reports(tmp_path):
    assert bcm.summary(COUNTS)["measure"].tolist() == ["precision", "recall", "f1"]
    other = bcm.from_cells(tp=70, fn=10, fp=30, tn=None)
    table = bcm.compare(bcm.combine({"a": COUNTS, "b": other}, dim="classifier"))
    assert table["measure"].tolist() == ["precision", "recall", "f1"]
    assert bcm.planning.plan("recall", width=0.2, pilot=COUNTS)["unit"].item() == "positives"
    path = bcm.report(COUNTS, tmp_path / "report.md")
    text = path.read_text()
    assert "true negatives is unknown" in text
    assert "Confusion matrix" not in text
    full = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    with pytest.raises(ValueError, match="true_negatives differs"):
        bcm.combine({"a": COUNTS, "b": full}, dim="classifier")
