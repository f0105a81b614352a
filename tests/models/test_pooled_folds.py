import arviz as az
import numpy as np
import pymc as pm
import pytest
from bayescm.models import pooled_folds
from pytensor.compile.mode import Mode
from scipy.stats import dirichlet_multinomial, multinomial

import bayescm as bcm

PLAIN = Mode("py", None)
RNG = np.random.default_rng(4)
FOLDS = bcm.from_matrix(RNG.integers(1, 9, (5, 2, 2)), dims=("fold",))
REPEATED = bcm.from_matrix(
    RNG.integers(1, 9, (2, 3, 4, 2, 2)), dims=("classifier", "repeat", "fold")
)
THREE = bcm.from_matrix(RNG.integers(1, 9, (4, 3, 3)), dims=("fold",))


@pytest.mark.parametrize(
    ("counts", "omega"),
    [(FOLDS, 0.6), (REPEATED, 5 / 24), (FOLDS.assign_coords(n_folds=2), 0.3)],
)
def test_default_discount(counts, omega):
    assert pooled_folds(counts)["omega"].get_value() == pytest.approx(omega)


def test_what_changes_between_fits_is_data():
    names = {each.name for each in pooled_folds(FOLDS).data_vars}
    assert names == {"counts", "is_positive", "concentration", "omega"}


@pytest.mark.long
def test_new_folds_are_predicted_by_the_plain_multinomial():
    model = pooled_folds(FOLDS, omega=0.2, concentration=50.0)
    drawn = pm.draw(model["cell_counts"], 400, random_seed=1, mode=PLAIN)
    sizes = FOLDS.sum(("actual", "predicted")).values
    assert (drawn.sum(-1) == sizes).all()
    # Almost fair cells: a binomial variance, not one five times as large.
    np.testing.assert_allclose(drawn.var(0).mean(-1) / sizes, 3 / 16, rtol=0.35)


@pytest.mark.long
def test_a_fit_has_a_log_likelihood_unless_it_is_discounted():
    tree = bcm.fit(FOLDS, "pooled_folds", omega=1.0, draws=20, chains=1, random_seed=1)
    theta = tree["posterior"]["theta"].values[0, 7].ravel()
    kept = tree["log_likelihood"]["cell_counts"].values[0, 7]
    cells = FOLDS.values.reshape(5, 4)
    np.testing.assert_allclose(kept, multinomial.logpmf(cells, cells.sum(-1), theta), rtol=1e-8)
    discounted = bcm.fit(FOLDS, "pooled_folds", draws=20, chains=1, random_seed=1)
    assert "raised to a power" in discounted.attrs["why_no_log_likelihood"]
    with pytest.raises(TypeError, match="log likelihood not found"):
        az.loo(discounted)


@pytest.mark.long
def test_leaving_a_fold_out_is_what_a_fit_without_it_says_where_nothing_is_discounted():
    tree = bcm.fit(FOLDS, "pooled_folds", omega=1.0, draws=4000, chains=2, random_seed=1)
    cells = FOLDS.values.reshape(5, 4)
    expected = 0.0
    for fold, others in ((cells[k], np.delete(cells, k, axis=0).sum(0) + 0.5) for k in range(5)):
        expected += dirichlet_multinomial.logpmf(fold, others, fold.sum())
    assert az.loo(tree).elpd == pytest.approx(expected, abs=0.05)


@pytest.mark.long
def test_fit_of_repeats_uses_up_the_folds():
    tree = bcm.fit(REPEATED, "pooled_folds", draws=10, chains=1, random_seed=1)
    assert tree["posterior"]["theta"].dims == ("chain", "draw", "classifier", "actual", "predicted")
    assert bcm.measure(tree, "f1")["f1"].dims == ("chain", "draw", "classifier")


def test_another_prior_is_shared_by_all_cells():
    model = pooled_folds(REPEATED, concentration=lambda name: pm.HalfNormal(name, 1))
    assert [each.name for each in model.free_RVs] == ["concentration", "theta_cell"]


@pytest.mark.parametrize("method", ["auto", "nuts"])
def test_fit_refuses_a_discount_that_is_none(method):
    with pytest.raises(ValueError, match="omega must be from"):
        bcm.fit(FOLDS, "pooled_folds", omega=1.5, method=method)
