import numpy as np
import pytest
from reference_cases import DATA, cases, data_file

from bayescm.papers import caelen


@pytest.mark.long
@pytest.mark.parametrize("case", cases("caelen-bootstrap"))
def test_the_bootstrap_beside_the_predictive_distribution(case):
    row = caelen.figure_3(200_000, scales=[1]).iloc[0]
    expected = case["expected"]
    assert row["ratio"] == pytest.approx(expected["sd_ratio"], abs=0.01)
    assert row["predictive_iqr"] == pytest.approx(expected["pred_iqr"], abs=0.003)
    assert row["bootstrap_iqr"] == pytest.approx(expected["boot_iqr"], abs=0.003)


def test_the_curves_never_join():
    ratios = caelen.figure_3(50_000, scales=[10, 100, 500])["ratio"]
    np.testing.assert_allclose(ratios, 2**0.5, atol=0.03)


@pytest.mark.parametrize("case", cases("caelen-zero-cell"))
def test_the_silent_zero_cell(case):
    tp, tn, fp, fn = case["inputs"]["v_tp_tn_fp_fn"]
    draws = caelen.predictive_draws(np.array([[tn, fp], [fn, tp]]), 500, np.random.default_rng(0))
    assert (draws[:, 0, 1] == 0).all()  # a point mass: precision is 1 in every draw


def test_the_data_sets_have_the_papers_inputs():
    data_file("uci/iris.csv")
    rows = {1: (150, 50), 5: (961, 445), 8: (336, 143), 11: (1728, 384), 16: (132, 50)}
    for number, size in rows.items():
        features, classes = caelen.read_set(number, str(DATA))
        assert (len(classes), classes.sum()) == size
        assert np.isfinite(features).all()


def test_a_missing_file_is_named():
    with pytest.raises(ValueError, match=r"iris.csv is missing.*UCI"):
        caelen.read_set(1, "nowhere")


@pytest.mark.long
def test_two_test_sets_and_their_intervals():
    data_file("uci/iris.csv")
    table = caelen.table("tables 2 and 3", 1, data=str(DATA), replications=3, seed=1)
    assert len(table) == 15
    averages = table["method"] == "average"
    assert table.loc[averages, "il"].isna().all()
    assert table.loc[averages, "published_center"].notna().all()
    intervals = table[~averages]
    assert intervals["published_doc"].notna().any()
    lengths = intervals[intervals["method"] == "predictive"].pivot(
        index="measure", columns="delta", values="il"
    )
    assert (lengths[0.99] >= lengths[0.9]).all()


@pytest.mark.long
def test_the_values_of_f1_are_shares():
    data_file("uci/glass.csv")
    table = caelen.table("figure 4", 6, data=str(DATA), replications=2)
    np.testing.assert_allclose(table[["second", "drawn"]].sum(), 1)
