"""Published meta-analyses beside the posterior."""

import numpy as np
import pytest
from reference_cases import DATA, data_file
from validation import experiments
from validation.meta_analysis import REGRESSIONS, read_collection, studies_with_covariates


@pytest.mark.long
def test_published_meta_analyses_agree_with_the_posterior(monkeypatch):
    data_file("confusion/bamdit_glas.csv")
    monkeypatch.setenv("BAYESCM_DATA", str(DATA))
    (experiment,) = experiments("meta_analysis")
    frame = experiment.run(2).set_index("method")
    published, posterior = frame.loc["published"], frame.loc["posterior"]
    assert posterior["sensitivity"] == pytest.approx(published["sensitivity"], abs=0.03)
    assert posterior["specificity"] == pytest.approx(published["specificity"], abs=0.04)


def test_a_missing_file_is_named(monkeypatch):
    monkeypatch.setenv("BAYESCM_DATA", "nowhere")
    with pytest.raises(ValueError, match=r"mada_auditc\.csv is missing.*--data"):
        read_collection("mada_auditc.csv")


def test_logits_of_simulated_studies_have_the_slopes_of_their_covariates():
    setting = REGRESSIONS[2]._replace(studies=2000, smallest=900, largest=1000)
    counts, truth = studies_with_covariates(np.random.default_rng(0), *setting)
    hits, misses = counts.values[:, 1, 1] + 0.5, counts.values[:, 1, 0] + 0.5
    design = np.column_stack([np.ones(2000), counts["year"], counts["test"] == "b"])
    slopes = np.linalg.lstsq(design, np.log(hits / misses), rcond=None)[0]
    assert slopes[1] == pytest.approx(truth["year recall"], abs=0.1)
    assert slopes[2] == pytest.approx(truth["test recall"], abs=0.15)
