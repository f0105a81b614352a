"""Collections of diagnostic studies beside the fits of lme4, and what mada and metandi print."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from reference_cases import REFERENCE, data_file
from scipy.special import expit, logit
from validation.meta_analysis import bivariate_binomial, bivariate_normal

import bayescm as bcm
from bayescm import posteriors
from bayescm.answers.heterogeneity import shares_beyond_chance

KNOWN = json.loads((REFERENCE / "meta_analysis.json").read_text())


def studies(name):
    """Return the counts of a collection, and keywords of its covariate if it has one."""
    if name in KNOWN:
        frame = pd.DataFrame(KNOWN[name])
    else:
        frame = pd.read_csv(data_file(f"confusion/{name}.csv"))
        frame = frame[frame["marker"] == "Telomerase"] if "marker" in frame else frame
    cells = {key: frame[key.upper()].to_numpy() for key in ("tp", "fn", "fp", "tn")}
    counts = bcm.from_cells(**cells).rename(batch="group")
    if "SAQ" not in frame:
        return counts, {}
    counts = counts.assign_coords(asked=("group", frame["SAQ"].map({True: "SAQ", False: "IAQ"})))
    return counts, {"covariates": bcm.meta.study_covariates(counts, {"asked": "IAQ"})}


@cache
def fitted(name):
    """Return draws of a collection's posterior."""
    counts, keywords = studies(name)
    posterior = posteriors.hierarchical_groups(counts, **keywords)
    assert posterior.effective_draws > 600
    return posterior.variables(8000, np.random.default_rng(0))


@pytest.mark.long
@pytest.mark.parametrize("name", list(KNOWN["lme4"]))
def test_the_posterior_beside_the_fit_of_lme4(name):
    drawn, known = fitted(name), KNOWN["lme4"][name]
    logits = logit(drawn["rates"][:, 1:])
    for place, rate in enumerate(("sensitivity", "specificity")):
        middle, error = known[rate]
        assert np.median(logits[:, place]) == pytest.approx(middle, abs=0.5 * error)
        # lme4 takes the spread between studies for known.
        assert 0.85 < logits[:, place].std() / error < 1.35
    spread, rho = drawn["spread"][:, 1:], 2 * drawn["correlation"] - 1
    np.testing.assert_allclose(np.median(spread, axis=0), known["sd"], rtol=0.15)
    assert np.quantile(rho, 0.02) - 0.1 < max(known["correlation"], -0.95) < np.quantile(rho, 0.98)
    for place, (slope, error) in enumerate(known.get("slopes", ()), start=1):
        found = drawn["slope"][:, 0, place]
        assert np.median(found) == pytest.approx(slope, abs=0.5 * error)
        assert 0.85 < found.std() / error < 1.2
        printed, error = KNOWN["mada"][name]["slopes"][place - 1]
        assert np.median(found) == pytest.approx(printed, abs=0.6 * error)


@pytest.mark.parametrize("name", list(KNOWN["metandi"]))
@pytest.mark.long
def test_the_table_that_metandi_prints(name):
    known, (counts, _) = KNOWN["metandi"][name], studies(name)
    printed, errors = np.transpose([known["sensitivity"], known["specificity"]])
    means, between = bivariate_binomial(counts.values)
    assert (np.abs(means - printed) < 0.01 * errors).all()
    np.testing.assert_allclose(between, [*known["sd"], known["correlation"]], atol=2e-3)
    logits = logit(fitted(name)["rates"][:, 1:])
    assert (np.abs(np.median(logits, axis=0) - printed) < 0.5 * errors).all()
    np.testing.assert_allclose(expit(np.median(logits, axis=0)), known["summary"], atol=0.03)
    # metandi, too, takes the spread between studies for known.
    assert (logits.std(0) / errors > 0.85).all()
    assert (logits.std(0) / errors < 1.35).all()


def test_i2_of_audit_c_beside_the_one_that_mada_prints():
    counts, _ = studies("mada_auditc")
    cells, known = counts.values, KNOWN["mada"]["mada_auditc"]
    means, errors, (*between, rho) = bivariate_normal(cells)
    np.testing.assert_allclose(
        means, [known[each][0] for each in ("sensitivity", "specificity")], atol=6e-4
    )
    np.testing.assert_allclose(
        errors, [known[each][1] for each in ("sensitivity", "specificity")], atol=6e-4
    )
    np.testing.assert_allclose([*between, rho], [*known["sd"], known["correlation"]], atol=6e-4)
    # The print has errors of the means for variances between studies, and examples by answer
    # instead of by truth. With these it is reproduced to its last digit.
    _, printed = shares_beyond_chance(np.swapaxes(cells, -1, -2), means, errors, rho)
    assert round(float(printed), 3) == known["i2"]
    _, stated = shares_beyond_chance(cells, means, np.array(between), rho)
    assert stated == pytest.approx(0.841, abs=6e-4)
    drawn = fitted("mada_auditc")
    rates, rho = drawn["rates"][:, 1:], 2 * drawn["correlation"] - 1
    _, found = shares_beyond_chance(cells, logit(rates), drawn["spread"][:, 1:], rho)
    low, high = np.quantile(found, [0.025, 0.975])
    assert known["i2"] < low < stated < high


@pytest.mark.long
def test_the_published_estimates_of_audit_c():
    counts, _ = studies("mada_auditc")
    found = np.quantile(fitted("mada_auditc")["rates"][:, 1:], [0.025, 0.5, 0.975], axis=0)
    likely, printed = expit(bivariate_binomial(counts.values)[0]), expit([2.100, 1.264])
    # One study misses none of 752: half an example added pulls the normal model towards one half.
    np.testing.assert_allclose(found[1], likely, atol=0.01)
    np.testing.assert_allclose(found[1], printed, atol=0.035)
    assert (found[0] < printed).all()
    assert (printed < found[2]).all()


def test_the_published_telomerase_estimates():
    """Glas et al. (2003): sensitivity .75, specificity .86 (.71 to .94)."""
    low, middle, high = np.quantile(
        fitted("bamdit_glas")["rates"][:, 1:], [0.025, 0.5, 0.975], axis=0
    )
    np.testing.assert_allclose(middle, [0.75, 0.86], atol=0.04)
    assert low[1] < 0.77
    assert 0.92 < high[1] < 0.98
