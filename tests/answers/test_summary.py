"""The summary table: its columns, its words, and that it says how it knows."""

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.answers.summary import sentences

COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)


def test_rows_are_the_exact_answers():
    table = bcm.summary(COUNTS, ["precision", "f1", "mcc"]).set_index("measure")
    for name in table.index:
        ends = bcm.interval(COUNTS, name).values
        assert table.loc[name, ["lower", "upper"]].to_numpy(float) == pytest.approx(ends, abs=1e-9)
        assert table.loc[name, "mean"] == pytest.approx(
            float(bcm.distribution(COUNTS, name).mean()), abs=1e-9
        )
        assert table.loc[name, "sd"] == pytest.approx(
            float(bcm.distribution(COUNTS, name).sd()), abs=1e-9
        )
    assert table.loc["precision", "point"] == pytest.approx(0.65)
    assert table.loc["f1", "how"] == "closed form"
    assert table.loc["mcc", "how"] == "quadrature"
    assert (table["error"] < 1e-4 * (table["upper"] - table["lower"])).all()


def test_many_classes_and_classifiers_have_columns_of_their_own():
    one = bcm.from_matrix(np.diag([5, 6, 7]) + 1, labels=list("abc"))
    both = bcm.combine({"x": one, "y": one}, dim="classifier")
    table = bcm.summary(both, ["recall", "accuracy"])
    assert table.groupby("measure").size().to_dict() == {"recall": 6, "accuracy": 2}
    assert {"classifier", "class"} <= set(table.columns)


def test_a_fit_reports_monte_carlo_error():
    tree = bcm.fit(COUNTS, random_seed=1)
    table = bcm.summary(tree, ["f1"])
    exact = bcm.summary(COUNTS, ["f1"])
    assert table["how"][0] == "draws"
    assert 1e-4 < table["error"][0] < 0.01
    assert table["lower"][0] == pytest.approx(exact["lower"][0], abs=5 * table["error"][0])


def test_sentences_agree_with_the_numbers():
    table = bcm.summary(COUNTS, ["recall"])
    (said,) = sentences(table)
    assert f"{table['lower'][0]:.3f}" in said
    assert f"{table['upper'][0]:.3f}" in said
    assert "95%" in said


def test_that_a_density_has_several_modes_is_said():
    empty = bcm.from_cells(tp=0, fn=5, fp=0, tn=7)
    table = bcm.summary(empty, ["precision"])
    assert table["how"][0] == "closed form, more than one mode"
    assert np.isnan(table["point"][0])


def test_undefined_mass_is_reported():
    few = bcm.from_cells(tp=1, fn=5, fp=1, tn=7)
    table = bcm.summary(few, ["precision"], of="predictive", n=5)
    assert 0 < table["undefined"][0] < 1
    assert isinstance(table, pd.DataFrame)


@pytest.mark.parametrize(
    "counts", [bcm.at_prevalence(bcm.from_cells(tp=231, fn=27, fp=32, tn=54), 0.25)]
)
def test_all_points_are_at_the_prevalence_that_is_set(counts):
    recall, fpr = 231 / 258, 32 / 86
    expected = 0.25 * recall / (0.25 * recall + 0.75 * fpr)
    row = bcm.summary(counts, "precision").iloc[0]
    assert row["lower"] < row["point"] < row["upper"]
    points = [row["point"], bcm.measure(counts, "precision")["precision"].item()]
    normal = bcm.classical.delta(counts, "precision")["precision"].values
    again = bcm.classical.bootstrap(counts, "precision", random_seed=1)["precision"].values
    np.testing.assert_allclose([*points, normal.mean()], expected)
    for ends in (normal, again):
        np.testing.assert_allclose(ends, row[["lower", "upper"]].astype(float), atol=0.02)


def test_more_classes_at_a_set_prevalence():
    counts = bcm.from_matrix([[30, 3, 2], [4, 40, 6], [1, 5, 50]], labels=list("abc"))
    rare = bcm.at_prevalence(counts, {"a": 0.7, "b": 0.2, "c": 0.1})
    expected = 0.7 * 30 / 35 + 0.2 * 40 / 50 + 0.1 * 50 / 56
    row = bcm.summary(rare, "accuracy").iloc[0]
    assert row["point"] == pytest.approx(expected)
    assert row["mean"] == pytest.approx(expected, abs=0.02)


@pytest.mark.long
def test_the_estimand_has_a_column_where_it_has_a_name():
    sites = bcm.from_cells(tp=[40, 10, 35], fn=[5, 30, 8], fp=[9, 4, 20], tn=[41, 50, 30])
    sites = sites.rename(batch="group")
    table = bcm.summary(sites, "recall")
    assert table["of"].item() == "population"
    assert bcm.interval(sites, "recall", of="typical").attrs["of"] == "typical"
    assert "recall (population) lies" in sentences(table)[0]
    assert "of" not in bcm.summary(sites.sum("group"), "recall")


@pytest.mark.long
def test_without_measures_counts_have_the_usual_ones():
    usual = bcm.summary(COUNTS)["measure"].tolist()
    assert "mcc" in usual
    assert bcm.summary(bcm.fit(COUNTS, draws=20))["measure"].tolist() == usual
    assert bcm.interval(COUNTS)["measure"].values.tolist() == usual
    assert bcm.distribution(COUNTS).mean()["measure"].values.tolist() == usual


@pytest.mark.long
def test_without_measures_an_interval_has_those_with_one_value_for_all_classes():
    rng = np.random.default_rng(2)
    truth, judge = rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    seen = [int(label) if place < 40 else None for place, label in enumerate(truth)]
    votes = {name: np.where(rng.random(60) < 0.8, truth, judge) for name in "abcd"}
    for evidence in (
        bcm.from_partly_labelled(seen, votes["a"], judge),
        bcm.from_raters(votes),
        bcm.from_predictions(truth, votes["a"], by={"site": truth % 2}),
    ):
        table = bcm.summary(evidence)
        columns = list(table)
        assert columns.index("class") < columns.index("point")
        whole = table[table["class"].isna()]
        found = bcm.interval(evidence)
        assert found["measure"].values.tolist() == whole["measure"].unique().tolist()
        assert bcm.distribution(evidence).mean().shape == found.shape[:-1]
        np.testing.assert_allclose(found.sel(bound="lower").values.ravel(), whole["lower"])
    with pytest.raises(ValueError, match="Only some of the measures"):
        bcm.interval(evidence, ["f1", "mcc"])


def test_results_have_no_usual_measures_and_are_compared():
    rows = [(d, c, f, 0.7 + 0.1 * f) for d in ("x", "y") for c in "ab" for f in (0, 1)]
    table = pd.DataFrame(rows, columns=["data_set", "classifier", "fold", "accuracy"])
    with pytest.raises(ValueError, match=r"no posterior.*[Uu]se compare\(results\)"):
        bcm.summary(bcm.from_results(table))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["eti", "hdi"])
def test_measures_of_one_call_are_those_that_are_asked_alone(kind):
    counts = bcm.from_cells(tp=30, fn=4, fp=2, tn=90)
    measures = ["recall", "precision", "f1", "jaccard", "fbeta(2)", "informedness", "mcc"]
    measures += ["balanced_accuracy", "cohen_kappa", "lr_plus", "diagnostic_odds_ratio", "lift"]
    together = bcm.summary(counts, measures, kind=kind)
    alone = pd.concat([bcm.summary(counts, each, kind=kind) for each in measures])
    assert together["how"].tolist() == alone["how"].tolist()
    numbers = ["point", "mean", "sd", "lower", "upper"]
    first, second = (each[numbers].to_numpy(float) for each in (together, alone))
    np.testing.assert_allclose(first, second, rtol=2e-6, atol=2e-6)  # both to 1e-6


def test_a_mapping_has_the_rows_of_each_member():
    other = bcm.from_cells(tp=40, fn=10, fp=5, tn=45)
    sets = {"x": COUNTS, "y": other}
    table = bcm.summary(sets, ["f1", "mcc"], dim="data_set", kind="eti", prob=0.9)
    assert list(table["measure"]) == ["f1", "f1", "mcc", "mcc"]
    assert list(table["data_set"]) == ["x", "y", "x", "y"]
    assert (table.attrs["prob"], table.attrs["kind"]) == (0.9, "eti")
    for name, counts in sets.items():
        alone = bcm.summary(counts, ["f1", "mcc"], kind="eti", prob=0.9)
        part = table[table["data_set"] == name].drop(columns="data_set").reset_index(drop=True)
        pd.testing.assert_frame_equal(pd.DataFrame(part), pd.DataFrame(alone))


def test_members_that_have_the_column_already_need_another_name():
    both = bcm.combine({"a": COUNTS, "b": COUNTS})
    assert {"classifier", "data_set"} <= set(bcm.summary({"x": both}, "f1", dim="data_set"))
    with pytest.raises(ValueError, match="x already has a column classifier"):
        bcm.summary({"x": both}, "f1")
    with pytest.raises(ValueError, match="No evidence"):
        bcm.summary({}, "f1")


def test_sentences_have_display_names():
    (line,) = sentences(bcm.summary(COUNTS, "f1"), display_names={"f1": "F-measure"})
    assert line.startswith("F-measure lies between")


@pytest.mark.long
def test_where_a_mean_is_infinite_there_is_a_median():
    table = bcm.summary(COUNTS, ["nnd", "recall"])
    nnd = table.iloc[0]
    youden = bcm.distribution(COUNTS, "informedness")
    assert nnd["mean"] == np.inf
    assert nnd["median"] == pytest.approx(1 / float(youden.quantile([0.5])[0]), rel=0.02)
    assert table["median"][1] == pytest.approx(
        float(bcm.distribution(COUNTS, "recall").quantile(0.5))
    )
    assert table.attrs["caution"] == "The mean is infinite for NND. Use the median."
    assert "its mean is infinite, its median 3.685" in sentences(table)[0]
    assert "median" not in bcm.summary(COUNTS, "recall")
    assert "For NND, the median is given" in bcm.latex_table(table)


@pytest.mark.long
def test_several_estimands_stand_below_each_other():
    sites = bcm.from_cells(tp=[9, 7, 8], fn=[1, 3, 2], fp=2, tn=8).rename(batch="group")
    names = ["population", "typical", "finite", "new", "group"]
    options = {"draws": 300, "random_seed": 1}
    table = bcm.summary(sites, ["recall", "f1"], of=names, **options)
    per_measure = [*names[:4], "group", "group", "group"]
    assert table["of"].tolist() == 2 * per_measure
    assert table["measure"].tolist() == ["recall"] * 7 + ["f1"] * 7
    assert table["group"].dropna().tolist() == [0, 1, 2] * 2
    new = bcm.summary(sites, ["recall", "f1"], of="new", **options)
    both = table.loc[table["of"] == "new", ["lower", "upper"]]
    np.testing.assert_array_equal(both, new[["lower", "upper"]])
    assert table.attrs["prob"] == 0.95
    with pytest.raises(ValueError, match="of is empty"):
        bcm.summary(sites, "recall", of=[])
    with pytest.raises(ValueError, match="is not available"):
        bcm.summary(sites, "recall", of=["new", "fold"])


def test_what_is_undefined_in_the_evidence_is_cautioned_of():
    actual = [0, 1] * 20
    never = bcm.from_classifiers(actual, {"a": actual, "never": [0] * 40}, positive=1)
    table = bcm.summary(never, ["precision", "recall"])
    assert table.attrs["caution"].endswith("depends on the prior: precision (never).")
    assert "caution" not in bcm.summary(never, ["recall"]).attrs


@pytest.mark.long
def test_the_point_of_a_fit_whose_prevalence_has_a_beta_prior():
    asked = {"model": "fixed_totals", "prevalence": (2, 8)}
    counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    point = bcm.summary(bcm.fit(counts, draws=50, **asked), "precision")["point"]
    assert point.item() == bcm.summary(counts, "precision", **asked)["point"].item()


@pytest.mark.long
def test_the_point_of_a_fit_with_importance_weights_is_its_median():
    actual, predicted = np.arange(60) % 2, np.arange(60) % 3 % 2
    weights = {"weights": 1 + np.arange(60) % 3, "weights_are": "importance"}
    by = {"group": np.arange(60) % 4}
    counts = bcm.from_predictions(actual, predicted, positive=1, by=by, **weights)
    tree = bcm.fit(counts, draws=40)
    median = bcm.measure(tree, "recall")["recall"].median()
    np.testing.assert_allclose(bcm.summary(tree, "recall")["point"], median)


@pytest.mark.long
@pytest.mark.parametrize(
    ("model", "keywords"),
    [
        ("dirichlet_multinomial", {}),
        ("fixed_totals", {"prevalence": 0.2}),
        ("hierarchical_groups", {"covariates": {"year": 2000}}),
        ("robust_groups", {}),
        ("pooled_folds", {}),
    ],
)
def test_the_point_of_a_fit_is_that_of_the_evidence(model, keywords):
    counts, of = bcm.from_cells(tp=[47, 26, 19], fn=[9, 5, 10], fp=[10, 7, 12], tn=[73, 54, 19]), ""
    if "groups" in model:
        counts, of = counts.rename(batch="group"), "group"
        counts = counts.assign_coords(year=("group", [1998, 2001, 2008]))
    if "folds" in model:
        counts = counts.rename(batch="fold")
    tree = bcm.fit(counts, model, draws=40, **keywords)
    for estimand in filter(None, ("parameter", of)):
        direct = bcm.summary(counts, ["precision", "f1"], of=estimand, model=model, **keywords)
        sampled = bcm.summary(tree, ["precision", "f1"], of=estimand)
        np.testing.assert_allclose(sampled["point"], direct["point"])


@pytest.mark.long
def test_few_groups_are_said_to_tell_little_of_all_there_may_be():
    """The mean of the population of two sites lies below both, drawn there by the prior."""
    sites = bcm.from_cells(tp=[180, 170], fn=[10, 20], fp=[20, 15], tn=[150, 160])
    sites = sites.rename(batch="group")
    table = bcm.summary(sites, "recall")
    of_each = bcm.summary(sites, "recall", of="group")
    assert table["mean"][0] < of_each["mean"].min()
    assert table.attrs["caution"].startswith("With only 2 groups")
    (sentence,) = bcm.answers.summary.sentences(table)
    assert "its mean is 0.88" in sentence
    assert "caution" not in bcm.summary(sites, "recall", of="finite").attrs


def test_measures_of_a_judge_without_a_system_are_said_to_be_its_own():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200).astype(float)
    judge = np.where(rng.random(200) < 0.85, truth, 1 - truth).astype(int)
    truth[60:] = np.nan
    evidence = bcm.from_partly_labelled(truth, judge=judge, positive=1)
    caution = bcm.summary(evidence).attrs["caution"]
    assert "for the judge, because no predictions were given: accuracy" in caution
    assert "caution" not in bcm.summary(evidence, "prevalence").attrs
    of_system = bcm.from_partly_labelled(truth, judge, judge=1 - judge, positive=1)
    assert "Of the judge" not in bcm.summary(of_system).attrs.get("caution", "")


@pytest.mark.long
def test_ratios_of_a_new_group_are_said_to_lie_orders_of_magnitude_apart():
    sites = bcm.from_cells(
        tp=[47, 126, 19, 36, 130, 84], fn=[9, 51, 10, 3, 19, 2],
        fp=[101, 272, 12, 78, 211, 68], tn=[738, 1543, 192, 276, 959, 89],
    ).rename(batch="group")  # fmt: skip
    caution = bcm.summary(sites, ["recall", "dor"], of="new").attrs["caution"]
    assert "DOR in new groups can differ by orders of magnitude" in caution
    for options in ({"kind": "eti"}, {"of": "typical"}):
        table = bcm.summary(sites, ["recall", "dor"], **{"of": "new", **options})
        assert "caution" not in table.attrs


def test_an_accuracy_that_is_not_met_is_warned_of():
    counts = bcm.from_cells(tp=[30, 25, 28], fn=[5, 8, 6], fp=[4, 6, 5], tn=[40, 38, 41])
    folds = counts.rename(batch="fold")
    with pytest.warns(UserWarning, match="the numerical error of F"):
        bcm.summary(folds, "f1", accuracy=1e-6)
    assert bcm.summary(counts.isel(batch=0), "f1", accuracy=1e-6)["error"][0] < 1e-6


def test_estimands_in_a_list_may_have_a_size_of_the_next_test_set():
    table = bcm.summary(COUNTS, "recall", of=["predictive"], n=30)
    alone = bcm.summary(COUNTS, "recall", of="predictive", n=30)
    np.testing.assert_allclose(table["lower"], alone["lower"])
    with pytest.raises(ValueError, match="Leave n out, or pass"):
        bcm.summary(COUNTS, "recall", of=["predictive", "parameter"], n=30)
