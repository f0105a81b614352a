"""What more attempts and more items would buy."""

import numpy as np
import pytest

import bayescm as bcm

RNG = np.random.default_rng(3)
TABLE = (RNG.random((40, 4)) < RNG.beta(0.5, 0.5, (40, 1))).astype(float)
EVIDENCE = bcm.from_attempts(TABLE)


@pytest.mark.long
def test_the_width_to_expect_is_that_of_real_answers():
    result = bcm.planning.plan_attempts(
        EVIDENCE, "mean", items=[40, 160], attempts=4, replications=3
    )
    assert result[["items", "attempts", "answers"]].values.tolist() == [[40, 4, 160], [160, 4, 640]]
    real = float(bcm.interval(EVIDENCE, "mean").diff("bound").item())
    assert result["width"][0] == pytest.approx(real, rel=0.2)
    assert result["width"][1] == pytest.approx(real / 2, rel=0.2)


@pytest.mark.long
def test_more_attempts_tell_of_the_items_at_hand():
    asked = {"items": 40, "attempts": [4, 16], "replications": 3}
    finite = bcm.planning.plan_attempts(EVIDENCE, "mean", of="finite", **asked)["width"]
    every = bcm.planning.plan_attempts(EVIDENCE, "mean", **asked)["width"]
    assert finite[1] / finite[0] < 0.65
    assert every[1] / every[0] > 0.75


@pytest.mark.long
def test_by_default_half_and_twice_as_many_are_tried_as_far_as_the_measure_goes():
    result = bcm.planning.plan_attempts(EVIDENCE, "pass_at(3)", replications=2)
    assert result["attempts"].unique().tolist() == [4, 8]
    assert result["items"].unique().tolist() == [40, 80, 160]


@pytest.mark.long
def test_new_items_come_in_groups_where_those_known_do():
    rates = np.repeat(RNG.random(20), 5)
    table = (RNG.random((100, 3)) < rates[:, None]).astype(float)
    group = np.repeat(np.arange(20), 5)
    asked = {"items": 100, "attempts": 3, "replications": 6}
    grouped = bcm.planning.plan_attempts(bcm.from_attempts(table, group=group), "mean", **asked)
    alone = bcm.planning.plan_attempts(bcm.from_attempts(table), "mean", **asked)
    assert grouped["width"][0] > 1.3 * alone["width"][0]


@pytest.mark.long
def test_a_plan_from_few_items_is_cautioned_of():
    asked = {"items": 6, "attempts": 4, "replications": 2}
    few = bcm.planning.plan_attempts(bcm.from_attempts(TABLE[:3]), "mean", **asked)
    assert few.attrs["caution"].startswith("With only 3 items")
    assert "caution" not in bcm.planning.plan_attempts(EVIDENCE, "mean", **asked).attrs


@pytest.mark.long
@pytest.mark.parametrize(
    ("measure", "keywords", "message"),
    [
        ("f1", {}, "not a measure of attempts"),
        ("mean", {"items": 1}, "items must be a whole number"),
        ("mean", {"attempts": [4, 2.5]}, "attempts must be a whole number"),
        ("mean", {"of": "new"}, "Unknown of"),
        ("mean", {"replications": 1}, "replications must be"),
        ("pass_at(9)", {"attempts": 4}, "needs at least 9 attempts"),
    ],
)
def test_what_has_no_meaning_is_refused(measure, keywords, message):
    with pytest.raises(ValueError, match=message):
        bcm.planning.plan_attempts(EVIDENCE, measure, **keywords)


@pytest.mark.long
def test_a_plan_is_of_one_system():
    both = bcm.from_attempts({"a": TABLE, "b": TABLE})
    with pytest.raises(ValueError, match=r"of one system; got .*Select one"):
        bcm.planning.plan_attempts(both, "mean")
    bcm.planning.plan_attempts(
        both.sel(classifier=["a"]), "mean", items=20, attempts=2, replications=2
    )


@pytest.mark.long
def test_a_plan_of_pluralities_simulates_the_answers():
    rng = np.random.default_rng(3)
    right = rng.random((40, 6)) < rng.beta(2, 3, (40, 1))
    apart = np.where(right, 0, np.arange(1, 7))
    group = np.arange(40) // 4
    for groups in (None, group):
        evidence = bcm.from_attempts(apart, truth=np.zeros(40), group=groups)
        asked = {"items": [40, 160], "attempts": 6, "replications": 4}
        result = bcm.planning.plan_attempts(evidence, "majority_at(5)", **asked)
        here = bcm.interval(evidence, "majority_at(5)").diff("bound").item()
        assert result["width"][0] == pytest.approx(here, rel=0.3)
        assert result["width"][1] < 0.7 * result["width"][0]
