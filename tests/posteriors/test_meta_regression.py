"""Studies whose recall and specificity go with covariates, and how much of the rest is chance."""

import json

import numpy as np
import pandas as pd
import pytensor
import pytest
from pytensor.compile.mode import Mode
from reference_cases import data_file
from scipy.special import expit, logit
from scipy.stats import norm
from typer.testing import CliRunner
from validation.meta_analysis import bivariate_binomial

import bayescm as bcm
from bayescm import models, posteriors
from bayescm.cli import application
from bayescm.posteriors.logit_normal_groups import LogitNormalRates

RNG = np.random.default_rng(20)


def of_years(size, slope):
    """Studies of years -1 to 1 whose sensitivity alone rises by a slope."""
    year = np.linspace(-1, 1, size)
    order = np.arange(size)
    off = 0.3 * norm.ppf((order + 0.5) / size)  # in orders that have nothing to do with the year
    recall = expit(1 + slope * year + off[order * 5 % size])
    specificity = expit(1.5 + off[order * 3 % size])
    tp, tn = (np.rint(300 * rate).astype(int) for rate in (recall, specificity))
    counts = bcm.from_cells(tp=tp, fn=300 - tp, fp=300 - tn, tn=tn).rename(batch="group")
    return counts.assign_coords(year=("group", year))


STUDIES = of_years(14, 0.9)
YEARS = bcm.meta.study_covariates(STUDIES, {"year": 0})


@pytest.mark.long
def test_the_slopes_of_studies_are_found():
    table = bcm.meta.heterogeneity(STUDIES, covariates=YEARS, draws=4000)
    recall, specificity = (
        table.loc[f"odds_ratio_{name}"] for name in ("sensitivity", "specificity")
    )
    assert recall["lower"] < np.exp(0.9) < recall["upper"]
    assert recall["p_above_1"] > 0.99
    assert specificity["lower"] < 1 < specificity["upper"]
    # What goes with the year is no longer a difference between studies of one year.
    plain = bcm.meta.heterogeneity(STUDIES, draws=4000)
    assert table.loc["sd_sensitivity", "median"] < plain.loc["sd_sensitivity", "median"]


def test_covariates_move_the_logits_of_the_groups_and_nothing_else():
    hits, totals = RNG.integers(1, 30, (5, 2)), np.full((5, 2), 30)
    design, point = RNG.normal(size=(5, 1)), np.array([[0.4, -0.3, -0.5, 0.1, 0.6, 0.7, -1.1]])
    rates = LogitNormalRates(hits, totals, np.ones((2, 2)), 1.0, design=design)
    alone = LogitNormalRates(hits, totals, np.ones((2, 2)), 1.0)
    for group, own in enumerate(design[:, 0]):
        moved = point[:, :5] + np.array([0.7 * own, -1.1 * own, 0, 0, 0])
        want = alone.log_likelihood(moved)[0, group]
        assert rates.log_likelihood(point)[0, group] == pytest.approx(want, abs=1e-5)


@pytest.mark.long
def test_the_model_makes_the_same_matrices_of_the_same_variables():
    """In another order of the groups too: they go by their names."""
    counts = STUDIES[:8].assign_coords(group=list("abcdefgh"))
    design = bcm.meta.study_covariates(counts, {"year": 0}).isel(group=[2, 0, 3, 1, 7, 5, 4, 6])
    model = models.hierarchical_groups(counts, covariates=design)
    posterior = posteriors.hierarchical_groups(counts, covariates=design)
    drawn = posterior.variables(1, np.random.default_rng(0))
    names = ["theta", "theta_typical", "theta_group", "theta_new"]
    made = pytensor.function(
        model.free_RVs, [model[name] for name in names], mode=Mode(linker="py", optimizer=None)
    )(*(drawn[variable.name][0] for variable in model.free_RVs))
    for name, found in zip(names, made, strict=True):
        np.testing.assert_allclose(found, drawn[name][0], rtol=1e-8, err_msg=name)


@pytest.mark.long
def test_the_typical_study_is_that_of_the_reference():
    at = [bcm.meta.study_covariates(STUDIES, {"year": year}) for year in (-1, 1)]
    early, late = (
        bcm.interval(STUDIES, "recall", of="typical", covariates=each).values for each in at
    )
    assert early[0] < expit(0.1) < early[1]
    assert late[0] < expit(1.9) < late[1]
    assert early[1] < late[0]
    points = [posteriors.hierarchical_groups(STUDIES, covariates=each) for each in at]
    recall = bcm.measures.resolve("recall")
    np.testing.assert_allclose(
        [float(each.point(recall, "typical")) for each in points], expit([0.1, 1.9]), atol=0.05
    )


@pytest.mark.long
def test_published_markers_of_bladder_cancer():
    """Glas et al. (2003): telomerase .75, and no better than BTA stat beyond chance."""
    frame = pd.read_csv(data_file("confusion/bamdit_glas.csv"))
    frame = frame[frame["marker"].isin(["Telomerase", "BTA.stat"])]
    cells = {name: frame[name.upper()].to_numpy() for name in ("tp", "fn", "fp", "tn")}
    counts = bcm.from_cells(**cells).rename(batch="group")
    counts = counts.assign_coords(marker=("group", frame["marker"].to_numpy(object)))
    own = counts.values[frame["marker"].to_numpy() == "BTA.stat"]
    alone = expit(bivariate_binomial(own)[0][0])  # .742; .70 was published, of a table that we lack
    for marker, published in {"Telomerase": 0.75, "BTA.stat": alone}.items():
        design = bcm.meta.study_covariates(counts, {"marker": marker})
        posterior = posteriors.hierarchical_groups(counts, covariates=design)
        rates = posterior.cells("typical", 4000, np.random.default_rng(0))
        recall = bcm.measures.resolve("recall")(rates)
        assert np.median(recall) == pytest.approx(published, abs=0.03)
    table = bcm.meta.heterogeneity(counts, covariates=design)
    assert 0.025 < table.loc["odds_ratio_sensitivity", "p_above_1"] < 0.975


@pytest.mark.long
def test_i2_is_the_share_of_the_variation_that_is_not_chance():
    """Against logits drawn and the variances of their estimates."""
    sizes = STUDIES.sel(actual=STUDIES["positive"].item()).sum("predicted").values
    posterior = posteriors.hierarchical_groups(STUDIES)
    (studies,) = posterior.collections
    drawn = studies.draw(4000, np.random.default_rng(0), groups=False)
    middle, sd = logit(drawn["rates"][:, 1]), drawn["spread"][:, 1]
    rate = expit(middle + sd * RNG.standard_normal((4000, 1)))
    within = (1 / (rate * (1 - rate))).mean(0) * (1 / sizes).mean()
    table = bcm.meta.heterogeneity(STUDIES, draws=4000)
    want = np.median(sd**2 / (sd**2 + within))
    assert table.loc["i2_sensitivity", "median"] == pytest.approx(want, abs=0.01)
    assert ((table["lower"] < table["median"]) & (table["median"] < table["upper"])).all()


@pytest.mark.long
def test_covariates_by_the_values_of_a_typical_study_are_the_numbers_of_study_covariates():
    options = {"of": "new", "draws": 500}
    by_value = bcm.interval(STUDIES, "recall", covariates={"year": 2}, **options)
    numbers = bcm.meta.study_covariates(STUDIES, {"year": 2})
    expected = bcm.interval(STUDIES, "recall", covariates=numbers, **options)
    np.testing.assert_array_equal(by_value, expected)
    tree = bcm.fit(STUDIES, covariates={"year": 2}, draws=10, chains=1)
    np.testing.assert_array_equal(tree["constant_data"]["covariates"], numbers)
    table = bcm.meta.heterogeneity(STUDIES, covariates={"year": 2}, draws=100)
    assert table["covariate"].dropna().unique().tolist() == ["year"]
    with pytest.raises(ValueError, match="Unknown covariate"):
        bcm.interval(STUDIES, "recall", covariates={"yaer": 2})


@pytest.mark.long
def test_the_unit_of_a_covariate_does_not_matter():
    """Beds by the hundred, with a hundred times the slope: also where numbers are large."""
    beds = 100.0 * np.arange(14) + 50
    options = {"of": "typical", "draws": 2000, "kind": "eti"}
    by_bed = bcm.interval(
        STUDIES.assign_coords(beds=("group", beds)),
        "recall",
        covariates={"beds": 500},
        slope=0.01,
        **options,
    )
    by_hundred = bcm.interval(
        STUDIES.assign_coords(beds=("group", beds / 100)),
        "recall",
        covariates={"beds": 5},
        slope=1.0,
        **options,
    )
    np.testing.assert_allclose(by_bed, by_hundred, rtol=1e-6)


@pytest.mark.parametrize(
    ("covariates", "said"),
    [
        (np.ones((14, 1)), "covariates must be a DataArray"),
        (YEARS * 0, "The covariates are linearly dependent"),
        (YEARS.where(YEARS > -1), "covariates must be finite"),
        (YEARS[:5], "covariates must have the shape"),
        (YEARS.astype(str).astype(object) + "x", "covariates must be numbers"),
    ],
)
def test_covariates_that_mean_nothing_are_refused(covariates, said):
    with pytest.raises(ValueError, match=said):
        bcm.interval(STUDIES, "recall", covariates=covariates)


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ({}, "No covariates"),
        ({"yaer": 0}, "Unknown covariate"),
        ({"year": "new"}, "year of the typical study must be a number"),
        ({"test": "c"}, "No study has test 'c'"),
    ],
)
def test_references_that_mean_nothing_are_refused(reference, said):
    counts = STUDIES.assign_coords(test=("group", list("ab") * 7))
    with pytest.raises(ValueError, match=said):
        bcm.meta.study_covariates(counts, reference)


@pytest.mark.long
def test_on_the_command_line(tmp_path):
    path = tmp_path / "studies.csv"
    cells = {"TN": (0, 0), "FP": (0, 1), "FN": (1, 0), "TP": (1, 1)}
    frame = pd.DataFrame({key: STUDIES.values[(..., *place)] for key, place in cells.items()})
    frame.assign(year=STUDIES["year"].values, test=list("ab") * 7).to_csv(path, index=False)
    asked = ["--covariate", "year=0", "--covariate", "test=a", "--format", "json"]
    run = CliRunner().invoke(application(), ["heterogeneity", str(path), *asked])
    assert run.exit_code == 0, run.output
    assert {"year", "test=b"} <= {each.get("covariate") for each in json.loads(run.output)}
    wrong = CliRunner().invoke(application(), ["heterogeneity", str(path), "--covariate", "year"])
    assert "must be NAME=VALUE" in str(wrong.exception)


@pytest.mark.long
def test_answers_say_which_values_of_covariates_they_are_for():
    year = {"covariates": {"year": 0}}
    table = bcm.summary(STUDIES, ["recall"], of=["typical", "new"], **year)
    assert table.attrs["covariates"] == "year=0"
    assert bcm.interval(STUDIES, "recall", of="typical", **year).attrs["covariates"] == "year=0"
    assert "covariates" not in bcm.interval(STUDIES, "recall", of="finite", **year).attrs
    assert "covariates" not in bcm.interval(STUDIES, "recall").attrs
    bare = YEARS.drop_attrs()
    posterior = posteriors.hierarchical_groups(STUDIES, covariates=bare)
    assert posterior.reference == "year=0"


def test_studies_without_covariates_are_said_to_have_none():
    """The labels of the studies are no covariate, though they are a coord along group."""
    studies = STUDIES.drop_vars("year")
    named = studies.assign_coords(group=[f"study {i}" for i in range(studies.sizes["group"])])
    with pytest.raises(ValueError, match=r"have no covariate year.*assign_coords\(year="):
        bcm.meta.heterogeneity(named, covariates={"year": 2000})
