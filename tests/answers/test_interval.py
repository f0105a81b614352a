"""Intervals and their kin through the labelled face: exact numbers, dims, coherence, bad input."""

import numpy as np
import pytest
from reference_cases import cases
from scipy import stats

import bayescm as bcm
from bayescm import validate
from bayescm.measures import names, resolve
from bayescm.posteriors import base

COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)


def closed_form(tp, fn, fp, q, concentration=0.5):
    u = stats.beta.ppf(q, tp + concentration, fp + fn + 2 * concentration)
    return 2 * u / (1 + u)


def test_f1_agrees_with_the_closed_form():
    ends = bcm.interval(COUNTS, "f1", prob=0.95, kind="eti", concentration=0.5)
    assert ends.dims == ("bound",)
    assert ends["bound"].values.tolist() == ["lower", "upper"]
    assert ends.values == pytest.approx(closed_form(65, 15, 35, [0.025, 0.975]), abs=1e-10)


# Without an abstention the coverage is 1.
@pytest.mark.parametrize("measure", [each for each in names() if each != "coverage"])
def test_quantile_cdf_and_interval_are_one_distribution(measure):
    accurate = {"accuracy": 1e-6}
    lower, upper = bcm.interval(COUNTS, measure, kind="eti", prob=0.9, **accurate).values
    distribution = bcm.distribution(COUNTS, measure, **accurate)
    for q, x in ((0.05, lower), (0.95, upper)):
        assert float(distribution.quantile(q)) == pytest.approx(x, rel=1e-6)
        assert float(distribution.cdf(x)) == pytest.approx(q, abs=1e-6)
        assert float(bcm.prob_above(COUNTS, measure, x)) == pytest.approx(1 - q, abs=1e-6)
    shortest = bcm.interval(COUNTS, measure, kind="hdi", prob=0.9).values
    assert np.ptp(shortest) <= (upper - lower) * (1 + 1e-6)
    inside = bcm.distribution(COUNTS, measure).cdf(shortest[1]) - bcm.distribution(
        COUNTS, measure
    ).cdf(shortest[0])
    assert float(inside) == pytest.approx(0.9, abs=1e-5)


@pytest.mark.parametrize("measure", ["precision", "f1", "mcc", "balanced_accuracy"])
def test_a_batch_is_a_loop_and_keeps_its_dims(measure):
    cells = {"tp": [65, 5, 20], "fn": [15, 0, 3], "fp": [35, 2, 9], "tn": [30, 7, 40]}
    batch = bcm.from_cells(**cells).rename(batch="classifier").assign_coords(classifier=list("abc"))
    ends = bcm.interval(batch, measure, kind="eti")
    assert ends.dims == ("classifier", "bound")
    for name in "abc":
        one = bcm.interval(batch.sel(classifier=name), measure, kind="eti")
        assert ends.sel(classifier=name).values == pytest.approx(one.values, abs=1e-8)


def test_measures_of_one_class_get_a_dim_and_follow_the_labels():
    cells = np.array([[20, 3, 1], [4, 15, 2], [0, 5, 30]])
    counts = bcm.from_matrix(cells, labels=list("abc"))
    ends = bcm.interval(counts, "recall", kind="eti")
    assert ends.dims == ("class", "bound")
    order = [2, 0, 1]
    moved = bcm.from_matrix(cells[np.ix_(order, order)], labels=list("cab"))
    again = bcm.interval(moved, "recall", kind="eti").sel({"class": list("abc")})
    assert again.values == pytest.approx(ends.values, abs=1e-12)


def test_the_positive_class_decides_and_not_the_order():
    for labels, cells in ((["s", "w"], [[65, 15], [35, 30]]), (["w", "s"], [[30, 35], [15, 65]])):
        counts = bcm.from_matrix(cells, labels=labels, positive="s")
        ends = bcm.interval(counts, "f1", kind="eti").values
        assert ends == pytest.approx(closed_form(65, 15, 35, [0.025, 0.975]), abs=1e-10)


@pytest.mark.parametrize("measure", ["mcc", "f1", "recall"])
def test_draws_agree_with_the_distribution(measure):
    distribution = bcm.interval(COUNTS, measure, kind="eti").values
    drawn = bcm.interval(COUNTS, measure, kind="eti", draws=200_000, random_seed=3).values
    assert drawn == pytest.approx(distribution, abs=0.004)
    same = bcm.interval(COUNTS, measure, kind="eti", draws=200_000, random_seed=3).values
    assert (same == drawn).all()


@pytest.mark.long
def test_a_fit_and_its_counts_agree():
    tree = bcm.fit(COUNTS, draws=5000, random_seed=4)
    for measure in ("precision", "mcc"):
        exact = bcm.interval(COUNTS, measure).values
        assert bcm.interval(tree, measure).values == pytest.approx(exact, abs=0.01)


def test_another_prevalence_moves_precision_and_not_recall():
    rare = bcm.at_prevalence(COUNTS, 0.01)
    same = bcm.interval(COUNTS, "recall").values
    assert bcm.interval(rare, "recall").values == pytest.approx(same, abs=1e-10)
    precision = float(bcm.distribution(rare, "precision").mean())
    rate = 0.01 * 65.5 / 81 / (0.01 * 65.5 / 81 + 0.99 * 35.5 / 66)
    assert precision == pytest.approx(rate, rel=0.05)


def test_a_user_function_is_a_measure():
    def missed_per_alarm(cells):
        return cells[..., 1, 0] / cells[..., :, 1].sum(-1)

    ends = bcm.interval(COUNTS, missed_per_alarm, kind="eti", draws=50_000)
    theta = stats.dirichlet([30.5, 35.5, 15.5, 65.5]).rvs(200_000, random_state=1)
    values = theta[:, 2] / (theta[:, 1] + theta[:, 3])
    assert ends.name == "missed_per_alarm"
    assert ends.values == pytest.approx(np.quantile(values, [0.025, 0.975]), abs=0.005)


@pytest.mark.parametrize("case", cases("coverage-"))
@pytest.mark.parametrize(("method", "concentration"), [("jeffreys", 0.5), ("flat", 1.0)])
def test_coverage_of_a_credible_interval_is_the_reference(case, method, concentration):
    n, p = case["inputs"]["n"], case["inputs"]["p"]
    x = np.arange(n + 1)
    keywords = {"prob": case["inputs"]["level"], "kind": "eti", "concentration": concentration}
    lower, upper = bcm.answers.proportion(x, n - x, **keywords).values.T
    covered = stats.binom.pmf(x, n, p)[(lower <= p) & (p <= upper)].sum()
    assert covered == pytest.approx(case["expected"][method], abs=1e-9)


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"prob": 0}, ValueError, "prob must be a number"),
        ({"prob": "0.9"}, TypeError, "prob must be a number"),
        ({"kind": "hpd"}, ValueError, "Unknown kind"),
        ({"of": "future"}, ValueError, "is not available for this evidence and model"),
        ({"model": "dirichlet"}, ValueError, "dirichlet_multinomial"),
        ({"concentraton": 1}, TypeError, "concentration"),
        ({"concentration": -1}, ValueError, "concentration"),
        ({"measure": "recal"}, ValueError, "Did you mean 'recall'"),
        ({"of": "predictive", "n": 0}, ValueError, "size of a test set"),
        ({"draws": 10**15}, ValueError, "Use fewer members or measures at a time"),
    ],
)
def test_bad_input_is_named(change, error, said):
    keywords = {"measure": "recall"} | change
    with pytest.raises(error, match=said):
        bcm.interval(COUNTS, keywords.pop("measure"), **keywords)


def test_an_improper_posterior_names_its_cell():
    empty = bcm.from_cells(tp=5, fn=0, fp=2, tn=7)
    with pytest.raises(ValueError, match=r"positive.*negative"):
        bcm.interval(empty, "recall", concentration=0)
    with pytest.raises(ValueError, match=r"positive.*negative"):
        bcm.interval(empty, "mcc", concentration=0, draws=100)
    proper = bcm.interval(
        empty, ["precision", "f1"], kind="eti", concentration=bcm.priors.haldane()
    )
    expected = stats.beta.ppf([0.025, 0.975], 5, 2)
    np.testing.assert_allclose(proper, [expected, 2 * expected / (1 + expected)])
    specificity = bcm.interval(empty, "specificity", model="fixed_totals", concentration=0)
    assert specificity.equals(bcm.interval(empty, "specificity", concentration=0))
    with pytest.raises(ValueError, match="improper"):
        bcm.interval(empty, "precision", model="fixed_totals", concentration=0)
    full = bcm.interval(COUNTS, "recall", kind="eti", concentration=0).values
    assert full == pytest.approx(stats.beta.ppf([0.025, 0.975], 65, 15), abs=1e-10)


def test_two_classes_without_a_positive_one_can_have_mcc_and_not_recall():
    counts = bcm.from_matrix([[65, 15], [35, 30]], labels=["sick", "well"])
    assert np.isfinite(bcm.interval(counts, "mcc").values).all()
    with pytest.raises(ValueError, match="positive"):
        bcm.interval(counts, "recall")
    assert resolve("mcc").needs_positive is False


def test_several_measures_at_several_values():
    batch = bcm.from_cells(tp=[65, 30], fn=15, fp=35, tn=30)
    many = bcm.distribution(batch, ["f1", "recall"]).quantile([0.1, 0.5])
    assert many.dims == ("measure", "batch", "quantile")
    one = bcm.distribution(batch.isel(batch=1), "recall").quantile(0.5)
    assert many.sel(measure="recall", quantile=0.5)[1] == one
    above = bcm.prob_above(batch, ["recall", "f1"], 0.7)
    np.testing.assert_array_equal(above.sel(measure="f1"), bcm.prob_above(batch, "f1", 0.7))
    assert bcm.distribution(batch, "f1").cdf([0.6, 0.7]).dims == ("batch", "x")
    assert bcm.distribution(batch, ["f1", "mcc"]).mean().dims == ("measure", "batch")
    for wrong in ("a", [], [0.1, 2], None):
        with pytest.raises(ValueError, match=r"must be"):
            bcm.distribution(batch, "f1").quantile(wrong)


@pytest.mark.parametrize(
    ("said", "ask"),
    [
        ("these draws need", lambda many: bcm.interval(many, "mcc", draws=20_000)),
        ("these draws need", lambda many: bcm.ranks(many.rename(batch="classifier"), "f1")),
        ("draws that are ranked need", lambda many: bcm.joint_interval(many, ["f1", "mcc"])),
        ("these regions need", lambda many: bcm.answers.region(many, ("precision", "recall"))),
    ],
)
def test_a_machine_that_is_too_small_is_said_before_anything_is_drawn(said, ask, monkeypatch):
    many = bcm.from_cells(tp=np.arange(40, 80), fn=5, fp=9, tn=30)
    monkeypatch.setattr(validate, "_memory", lambda: 2e6)
    monkeypatch.setattr(base, "_VALUES_IN_MEMORY", np.inf)  # nothing is drawn lazily, in parts
    monkeypatch.setattr(base.CountsPosterior, "draw", lambda *_, **__: pytest.fail("drawn"))
    with pytest.raises(
        ValueError, match=rf"(?i){said} 0\.\d+ GB of memory; the machine has 0\.002 GB"
    ):
        ask(many)
