"""
What every direct posterior of the catalogue keeps, whatever its model.

That it is the posterior of the PyMC model of its name is proved in
`tests/models/test_direct_posteriors.py`.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm import posteriors
from bayescm.evidence.counts import with_positive
from bayescm.measures import resolve
from bayescm.posteriors.base import CountsPosterior, Posterior

RNG = np.random.default_rng(3)
NAMES = {"labels": ["well", "sick"], "positive": "sick"}
TABLE = bcm.from_matrix([[30, 35], [15, 65]], **NAMES)
BATCH = bcm.from_matrix(RNG.integers(3, 40, (3, 2, 2)), dims=("batch",), **NAMES)
FOLDS = bcm.from_matrix(RNG.integers(2, 12, (5, 2, 2)), dims=("fold",), **NAMES)
MANY_FOLDS = bcm.from_matrix(RNG.integers(2, 12, (2, 4, 2, 2)), dims=("batch", "fold"), **NAMES)
SITES = bcm.from_matrix(RNG.integers(4, 30, (5, 2, 2)), dims=("group",), **NAMES)
CROSSED = bcm.from_matrix(RNG.integers(1, 9, (2, 3, 2, 2)), dims=("sex", "age"), **NAMES)
SERIES = bcm.from_matrix(RNG.integers(3, 30, (4, 2, 2)), dims=("step",), **NAMES)
THREE = bcm.from_matrix([[9, 1, 2], [2, 7, 3], [1, 1, 8]], labels=list("abc"))
ACTUAL = np.tile([1, 0, 1, 1, 0, 0], 15)
ANSWERS = {"a": np.roll(ACTUAL, 1), "b": np.where(np.arange(90) % 7, ACTUAL, 1 - ACTUAL)}
PAIRS = bcm.from_classifiers(ACTUAL, ANSWERS, positive=1)
FOLDED = bcm.from_classifiers(ACTUAL, ANSWERS, positive=1, by={"fold": np.arange(90) % 3})
HUMAN = np.where(np.arange(90) % 4, None, ACTUAL)
JUDGED = bcm.from_partly_labelled(HUMAN, ANSWERS["b"], np.roll(ANSWERS["b"], 3), positive=1)
CHANCES = bcm.from_probabilities(ACTUAL, RNG.beta(1 + ACTUAL, 2 - ACTUAL), positive=1)
SCORED = bcm.from_scores(ACTUAL, {name: RNG.normal(ACTUAL) for name in "ab"}, positive=1)
ATTEMPTS = bcm.from_attempts(RNG.integers(0, 2, (12, 3)))
SCORE = RNG.beta(3, 2, (2, 40))
ITEM_SCORES = bcm.from_item_scores(dict(zip("ab", SCORE, strict=True)), range=(0, 1))
TAGS = np.random.default_rng(8).random((3, 40, 4)) < 0.5
MULTILABEL = bcm.from_multilabel(TAGS[0], {"a": TAGS[1], "b": TAGS[2]})
ITEM_SLICES = bcm.from_item_scores(SCORE[0], range=(0, 1), by={"topic": np.arange(40) % 4})
VOTES = bcm.from_preferences([[0, 12, 9], [4, 0, 8], [3, 7, 0]])
RATERS = bcm.from_raters(
    {name: np.where(RNG.random(90) < 0.85, ACTUAL, 1 - ACTUAL) for name in "wxyz"}, positive=1
)
RESULTS = bcm.from_results(
    pd.DataFrame(RNG.normal(size=(9, 8)), columns=range(8)).assign(
        data_set=list("xyz") * 3, classifier=list("aaabbbccc")
    ),
    test_share=0.1,
)


@dataclass(eq=False)
class Case:
    model: str
    evidence: Any
    keywords: dict[str, Any] = field(default_factory=dict)
    measures: tuple[str, ...] = ("recall", "f1", "mcc")

    @cached_property
    def posterior(self) -> Posterior:
        """The posterior of the evidence."""
        return getattr(posteriors, self.model)(self.evidence, **self.keywords)


CATALOGUE = [
    Case("dirichlet_multinomial", TABLE),
    Case("dirichlet_multinomial", BATCH),
    Case("dirichlet_multinomial", THREE, measures=("recall", "f1_macro", "accuracy")),
    Case("fixed_totals", TABLE, {"prevalence": 0.2}),
    Case("fixed_totals", BATCH, {"prevalence": (2, 8)}),
    Case("hierarchical_rows", THREE, measures=("recall", "f1_macro", "accuracy")),
    Case("mislabelled", TABLE, {"label_error": 0.05}),
    Case("pooled_folds", FOLDS),
    Case("pooled_folds", MANY_FOLDS),
    Case("averaged_folds", FOLDS, {"concentration": 1.0}),
    Case("averaged_folds", MANY_FOLDS, {"concentration": 1.0}),
    Case("hierarchical_folds", FOLDS),
    Case("hierarchical_folds", MANY_FOLDS),
    Case("hierarchical_groups", SITES),
    Case("robust_groups", SITES),
    Case("crossed_groups", CROSSED),
    Case("drifting", SERIES),
    Case("paired_outcomes", PAIRS),
    Case("paired_folds", FOLDED),
    Case("partly_labelled", JUDGED),
    Case("noisy_labels", RATERS),
    Case("calibration", CHANCES, measures=("brier", "log_loss")),
    Case("scores", SCORED, measures=("auc", "average_precision", "partial_auc(0.3)")),
    Case("binormal", SCORED.isel(classifier=0, drop=True), measures=("auc", "max_f1")),
    Case("repeated_items", ATTEMPTS, measures=("mean",)),
    Case("item_scores", ITEM_SCORES, measures=("mean", "median", "share_above(0.5)")),
    Case("multilabel", MULTILABEL, measures=("f1_macro", "f1_samples", "recall")),
    Case("item_score_slices", ITEM_SLICES, measures=("mean", "median")),
    Case("preferences", VOTES, measures=("win_rate", "rating")),
    Case("hierarchical_differences", RESULTS, measures=()),
]


def _id(case):
    return f"{case.model}-{'-'.join(map(str, case.evidence.dims))}"


def _estimands(posterior):
    return [of for of in posterior.estimands if of != "predictive"]


def _measures(case, posterior):
    variable = posterior.measured_variable
    return [resolve(name, variable) for name in case.measures] or list(posterior.measured)


every = pytest.mark.parametrize("case", CATALOGUE, ids=_id)
of_counts = pytest.mark.parametrize(
    "case", [c for c in CATALOGUE if isinstance(c.posterior, CountsPosterior)], ids=_id
)


@pytest.mark.long
@every
def test_draws_and_points_have_the_shape_of_the_template(case):
    posterior = case.posterior
    measures = _measures(case, posterior)
    for of in _estimands(posterior):
        draws = posterior.draw(measures, 40, np.random.default_rng(1), of=of)
        for measure, values in zip(measures, draws, strict=True):
            template = posterior.measure_template(measure)
            assert values.shape == (40, *template.shape)
            assert template.to_dataarray(values[0]).dims == template.dims
            if not posterior.measured:
                point = posterior.point(measure, of)
                assert np.shape(point) == template.shape
                assert np.isfinite(point).all()


@every
def test_a_posterior_says_what_it_is_of_and_how_it_was_made(case):
    posterior = case.posterior
    assert posterior.how
    assert posterior.effective_draws > 100
    assert set(posterior.pooled_dims).isdisjoint(posterior.template.dims)
    for of in posterior.estimands:
        assert posterior.resolve_estimand(of) == of
        assert posterior.resolve_estimand(posterior.estimand_name(of))
        assert all(sentence.endswith((".", "?")) for sentence in posterior.caveats(of))
    with pytest.raises(ValueError, match="is not available"):
        posterior.resolve_estimand("another")


@pytest.mark.long
@of_counts
def test_draws_follow_the_distribution(case):
    posterior, size = case.posterior, 3000
    for of in _estimands(posterior):
        for measure in _measures(case, posterior):
            exact = posterior.exact_distribution(measure, of=of)
            if exact is None:
                continue
            (draws,) = posterior.draw([measure], size, np.random.default_rng(5), of=of)
            for level in (0.1, 0.5, 0.9):
                share = exact.cdf(np.quantile(draws, level, axis=0))
                error = np.sqrt(level * (1 - level) / size)
                np.testing.assert_allclose(share, level, atol=5 * error + 0.002)


@of_counts
def test_every_measure_has_a_distribution(case):
    posterior = case.posterior
    measures = _measures(case, posterior)
    first, *_ = _estimands(posterior)
    for of in dict.fromkeys((first, *_estimands(posterior)[-1:])):
        answers = posterior.distributions(measures, of=of, draws=400, random_seed=1)
        again = posterior.distributions(measures, of=of, draws=400, random_seed=1)
        for measure, answer, same in zip(measures, answers, again, strict=True):
            assert answer.shape == posterior.measure_template(measure).shape
            ends = answer.eti(0.9)
            assert (ends[..., 0] < ends[..., 1]).all()
            np.testing.assert_array_equal(ends, same.eti(0.9))


BATCHES = [case for case in CATALOGUE if "batch" in case.evidence.dims]


@pytest.mark.parametrize("case", BATCHES, ids=_id)
def test_a_batch_is_its_members(case):
    batch = case.posterior
    for measure in _measures(case, batch):
        whole = batch.exact_distribution(measure)
        for index in range(case.evidence.sizes["batch"]):
            alone = replace(case, evidence=case.evidence.isel(batch=index, drop=True)).posterior
            single = alone.exact_distribution(measure)
            assert (single is None) == (whole is None)
            assert alone.point(measure) == pytest.approx(batch.point(measure)[index], rel=1e-12)
            if single is not None:
                expected = whole.with_tolerance(1e-6).take(index).eti(0.9)
                single = single.with_tolerance(1e-6)
                np.testing.assert_allclose(single.eti(0.9), expected, rtol=1e-5)


SWAPPED = [
    case
    for case in CATALOGUE
    if case.model not in ("hierarchical_rows", "multilabel", "noisy_labels")
    and "recall" in case.measures
    and case.evidence is not THREE
    and "prevalence" not in case.keywords
]


@pytest.mark.parametrize("case", SWAPPED, ids=_id)
def test_the_recall_of_one_class_is_the_specificity_of_the_other(case):
    other = next(
        label
        for label in case.evidence["actual" if "actual" in case.evidence.coords else "label"].values
        if label != case.evidence.coords["positive"]
    )
    posterior = case.posterior
    turned = replace(case, evidence=with_positive(case.evidence, other)).posterior
    recall, specificity = resolve("recall"), resolve("specificity")
    # The plug-in estimate of crossed groups is a mean over draws.
    np.testing.assert_allclose(posterior.point(recall), turned.point(specificity), atol=5e-3)
    one, two = posterior.exact_distribution(recall), turned.exact_distribution(specificity)
    assert (one is None) == (two is None)
    if one is not None:
        one, two = one.with_tolerance(1e-6), two.with_tolerance(1e-6)
        # The nodes of folds are points of a lattice in the effects, which do not turn with them.
        length = np.diff(one.eti(0.9)).max()
        np.testing.assert_allclose(one.eti(0.9), two.eti(0.9), atol=0.02 * length)
        return
    draws = [
        np.asarray(each.draw([measure], 2000, np.random.default_rng(2))[0])
        for each, measure in ((posterior, recall), (turned, specificity))
    ]
    error = draws[0].std(axis=0) / np.sqrt(min(2000, posterior.effective_draws))
    np.testing.assert_array_less(np.abs(draws[0].mean(0) - draws[1].mean(0)), 6 * error + 1e-12)


PAIRED = [Case("paired_outcomes", PAIRS), Case("paired_folds", FOLDED)]


@pytest.mark.parametrize("case", PAIRED, ids=_id)
def test_a_difference_turned_round_is_the_other_one(case):
    posterior, members = case.posterior, [{"classifier": 0}, {"classifier": 1}]
    one = posterior.difference(resolve("f1"), *members)
    two = posterior.difference(resolve("f1"), *members[::-1])
    np.testing.assert_allclose(one.eti(0.9), -two.eti(0.9)[::-1], atol=1e-6)


def test_every_model_of_the_catalogue_is_here():
    elsewhere = {"importance_weighted", "transferred_errors"}
    elsewhere |= {"dirichlet_calibration", "hierarchical_calibration"}
    assert {case.model for case in CATALOGUE} == set(posteriors.__all__) - elsewhere
