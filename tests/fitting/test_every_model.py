"""The fit of every model is summarised by ArviZ, and comes back from a file as it was."""

import arviz as az
import numpy as np
import pandas as pd
import pytest

import bayescm as bcm

RNG = np.random.default_rng(12)
N = 48
TRUTH = np.arange(N) % 2
FIRST, SECOND = (np.where(RNG.random(N) < 0.75, TRUTH, 1 - TRUTH) for _ in range(2))
QUARTER = np.arange(N) // 12
CHANCE = np.round((1 + 2 * TRUTH + RNG.random(N)) / 5, 2)
TABLES = bcm.from_predictions(TRUTH, FIRST, positive=1, by={"fold": QUARTER})
TABLE = bcm.from_predictions(TRUTH, FIRST, positive=1)
THREE = bcm.from_matrix([[9, 1, 0], [2, 7, 3], [0, 1, 5]], labels=list("abc"))
BOTH = {"a": FIRST, "b": SECOND}
JUDGED = bcm.from_partly_labelled(
    pd.Series(np.where(np.arange(N) % 3, TRUTH, np.nan), dtype="Int64"),
    FIRST,
    judge=SECOND,
    positive=1,
)
CELLS = RNG.integers(1, 9, (2, 3, 2, 2))
RESULTS = pd.DataFrame(
    [(data, name, RNG.beta(8, 3)) for data in "wxyz" for name in "ab" for _ in range(3)],
    columns=["data_set", "classifier", "accuracy"],
).assign(fold=[*range(3)] * 8)
SCORES = RNG.random(9).round(2)
EVIDENCE = {
    "averaged_folds": TABLES,
    "binormal": bcm.from_scores(TRUTH, CHANCE, positive=1),
    "calibration": bcm.from_probabilities(TRUTH, CHANCE, positive=1),
    "crossed_groups": bcm.from_matrix(CELLS, dims=("sex", "age"), positive=1),
    "dirichlet_calibration": bcm.from_probabilities(
        list("abc") * 4, RNG.dirichlet([1, 1, 1], 12).round(3), labels=list("abc")
    ),
    "dirichlet_multinomial": TABLE,
    "drifting": TABLES.rename(fold="step"),
    "fixed_totals": TABLE,
    "hierarchical_calibration": bcm.from_probabilities(TRUTH, CHANCE, positive=1, group=QUARTER),
    "hierarchical_differences": bcm.from_results(RESULTS),
    "hierarchical_folds": TABLES,
    "hierarchical_groups": TABLES.rename(fold="group"),
    "hierarchical_rows": THREE,
    "importance_weighted": bcm.from_predictions(
        TRUTH, FIRST, positive=1, weights=1 + RNG.random(N), weights_are="importance"
    ),
    "item_score_slices": bcm.from_item_scores(SCORES, range=(0, 1), by={"topic": np.arange(9) % 3}),
    "item_scores": bcm.from_item_scores(SCORES, range=(0, 1)),
    "mislabelled": TABLE,
    "multilabel": bcm.from_multilabel(*(RNG.random((2, 9, 3)) < 0.5)),
    "noisy_labels": bcm.from_raters(
        {name: np.where(RNG.random(N) < 0.8, TRUTH, 1 - TRUTH) for name in "abcd"}, positive=1
    ),
    "paired_folds": bcm.from_classifiers(TRUTH, BOTH, positive=1, by={"fold": QUARTER}),
    "paired_outcomes": bcm.from_classifiers(TRUTH, BOTH, positive=1),
    "partly_labelled": JUDGED,
    "pooled_folds": TABLES,
    "preferences": bcm.from_preferences([[0, 5, 3], [2, 0, 4], [1, 1, 0]]),
    "repeated_items": bcm.from_attempts(RNG.integers(0, 2, (9, 4))),
    "robust_groups": TABLES.rename(fold="group"),
    "scores": bcm.from_scores(TRUTH, CHANCE, positive=1),
    "transferred_errors": JUDGED,
}
# A discounted likelihood has no log likelihood of the folds.
KEYWORDS = {"mislabelled": {"label_error": (2, 18)}, "pooled_folds": {"omega": 1.0}}
# How many observations of each variable ``az.loo`` leaves out, one at a time.
OBSERVATIONS: dict[str, dict[str, int]] = {
    "averaged_folds": {"cell_counts": 4},
    "binormal": {"positives": 1, "negative_score": N // 2, "positive_score": N // 2},
    "calibration": {"outcome": N},
    "crossed_groups": {"cell_counts": 6},
    "dirichlet_calibration": {"outcome": 12},
    "dirichlet_multinomial": {"cell_counts": 1},
    "drifting": {"hits": 12},
    "fixed_totals": {"cell_counts": 2},
    "hierarchical_calibration": {"outcome": N},
    "hierarchical_differences": {"mean": 4},
    "hierarchical_folds": {"cell_counts": 8},
    "hierarchical_groups": {"cell_counts": 4},
    "hierarchical_rows": {"cell_counts": 1},
    "importance_weighted": {},  # weighted counts are no counts
    "item_score_slices": {"slice_mean": 3},
    "item_scores": {},  # the data are the weights of what was seen
    "mislabelled": {"label_counts": 1},
    "multilabel": {},
    "noisy_labels": {"votes": 1},
    "paired_folds": {"outcome_counts": 4, "fold_variance": 2, "moved_apart": 1},
    "paired_outcomes": {"outcome_counts": 1},
    "partly_labelled": {"stratum_counts": 1, "truth_counts": 4},
    "pooled_folds": {"cell_counts": 4},
    "preferences": {"votes": 3},
    "repeated_items": {"right": 9},
    "robust_groups": {"cell_counts": 4},
    "scores": {"positives": 1},
    "transferred_errors": {"labelled_counts": 2, "unlabelled_counts": 1},
}
QUICK = ["item_score_slices", "multilabel"]
MODELS = [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in EVIDENCE
]


class Fits(dict):
    """A fit of each model, made when it is asked for."""

    def __missing__(self, name):
        settings = {"draws": 30, "chains": 2, "random_seed": 3} | KEYWORDS.get(name, {})
        self[name] = bcm.fit(EVIDENCE[name], name, **settings)
        return self[name]


@pytest.fixture(scope="module")
def fits():
    return Fits()


def test_every_model_is_here():
    assert list(EVIDENCE) == list(OBSERVATIONS) == bcm.models.__all__


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_arviz_summarises_it(fits, name):
    table = az.summary(fits[name], kind="stats", round_to="none")
    assert np.isfinite(table["mean"]).all()


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_it_comes_back_from_a_netcdf_file(fits, name, tmp_path):
    bcm.save(fits[name], tmp_path / "fit.nc")
    assert_same(bcm.load(tmp_path / "fit.nc"), fits[name])


def assert_same(copy, tree):
    """Check that a tree is the same, and answers the same where it has cell probabilities."""
    assert copy.identical(tree)
    if {"actual", "predicted"} <= set(tree["posterior"].dims):
        answers = [bcm.summary(each, "accuracy") for each in (copy, tree)]
        pd.testing.assert_frame_equal(*answers)


@pytest.mark.filterwarnings("ignore:Estimated shape parameter", "ignore:The point-wise LOO is")
@pytest.mark.parametrize("name", MODELS)
def test_arviz_leaves_out_what_is_observed(fits, name):
    """Groups without variables are left out: ``az.loo`` says that there is no log likelihood."""
    tree, expected = fits[name], OBSERVATIONS[name]
    if not expected:
        assert not {"log_likelihood", "posterior_predictive", "observed_data"} & set(tree.children)
        with pytest.raises(TypeError, match="log likelihood not found"):
            az.loo(tree)
    for variable, number in expected.items():
        left_out = az.loo(tree, var_name=variable)
        assert left_out.n_data_points == number
        assert np.isfinite(left_out.elpd)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
@pytest.mark.parametrize(
    "names",
    [
        ("averaged_folds", "pooled_folds"),
        ("hierarchical_groups", "robust_groups"),
        ("calibration", "hierarchical_calibration"),
    ],
)
def test_models_of_the_same_evidence_are_compared(fits, names):
    table = az.compare({name: fits[name] for name in names})
    assert set(table.index) == set(names)
    assert np.isfinite(table["elpd"].astype(float)).all()


def test_a_flat_prior_is_improper(fits):
    """The population mean of slices is flat: no draws of the prior, no marginal likelihood."""
    tree = fits["item_score_slices"]
    assert not {"prior", "prior_predictive", "log_prior"} & set(tree.children)
    assert "log_marginal_likelihood" not in tree.attrs
    assert {"posterior_predictive", "log_likelihood"} <= set(tree.children)
