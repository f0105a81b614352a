"""Evidence of one type combined along a dim: outcomes first, then every type."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.evidence.outcomes import counts_of
from bayescm.evidence.registry import TYPES, type_of

RNG = np.random.default_rng(3)


def outcomes(size, *, names=("a", "b"), by=None):
    actual = RNG.integers(0, 2, size)
    wrong = {name: RNG.random(size) < 0.2 for name in names}
    answers = {name: np.where(wrong[name], 1 - actual, actual) for name in names}
    return bcm.from_classifiers(actual, answers, labels=[0, 1], by=by)


SETS = {"first": outcomes(40), "second": outcomes(70)}


def test_each_member_is_there_with_its_own_matrices():
    joined = bcm.combine(SETS, dim="data_set")
    assert joined["data_set"].values.tolist() == ["first", "second"]
    for name, member in SETS.items():
        one = counts_of(joined.sel(data_set=name, drop=True))
        xr.testing.assert_equal(one, counts_of(member))


def test_pairs_are_compared_within_each_member_as_by_itself():
    table = bcm.compare(bcm.combine(SETS, dim="data_set"), "accuracy")
    assert table["paired"].all()
    for name, member in SETS.items():
        (row,) = table[table["data_set"] == name].to_dict("records")
        (alone,) = bcm.compare(member, "accuracy").to_dict("records")
        for column in ("mean", "lower", "upper", "p_better"):
            assert row[column] == pytest.approx(alone[column], abs=1e-6)


def test_intervals_are_those_of_each_member():
    table = bcm.summary(bcm.combine(SETS, dim="data_set"), "f1")
    alone = bcm.summary(SETS, "f1", dim="data_set")
    columns = ["data_set", "classifier", "mean", "lower", "upper"]
    for row, of_member in zip(
        table[columns].itertuples(index=False), alone[columns].itertuples(index=False), strict=True
    ):
        assert row[:2] == of_member[:2]
        assert row[2:] == pytest.approx(of_member[2:], abs=1e-9)


def test_classifiers_are_told_by_their_names():
    turned = SETS["second"].isel(classifier=[1, 0])
    joined = bcm.combine({"first": SETS["first"], "second": turned}, dim="data_set")
    xr.testing.assert_identical(joined, bcm.combine(SETS, dim="data_set"))


def test_further_dims_are_kept():
    folds = [outcomes(40, by={"fold": np.arange(40) % 2}) for _ in range(3)]
    joined = bcm.combine(folds, dim="data_set")
    sizes = {name: joined["counts"].sizes[name] for name in ("data_set", "fold")}
    assert sizes == {"data_set": 3, "fold": 2}


@pytest.mark.parametrize(
    ("members", "dim", "said"),
    [
        (SETS, "classifier", "Outcomes cannot be combined along classifier, because it"),
        ([SETS["first"], outcomes(9, names=("a", "c"))], "data_set", "The classifiers differ"),
        (
            [SETS["first"], SETS["first"].assign(halves=3)],
            "data_set",
            "Outcomes cannot be combined",
        ),
        (
            [SETS["first"], SETS["second"].assign_coords(positive=0)],
            "data_set",
            "positive differs",
        ),
    ],
)
def test_what_does_not_belong_together_is_refused(members, dim, said):
    with pytest.raises(ValueError, match=said):
        bcm.combine(members, dim=dim)


def test_counts_and_outcomes_are_not_combined():
    with pytest.raises(TypeError):
        bcm.combine([SETS["first"], bcm.from_cells(tp=1, fn=2, fp=3, tn=4)], dim="data_set")


def test_one_set_of_outcomes_is_not_combined():
    with pytest.raises(TypeError, match="one piece of evidence"):
        bcm.combine(SETS["first"], dim="data_set")


def test_the_folds_of_several_data_sets_are_results_by_their_measure():
    rng = np.random.default_rng(4)
    sets = {}
    for name in ("iris", "wine"):
        actual, fold = rng.integers(0, 2, 60), np.arange(60) % 5
        answers = {
            k: np.where(rng.random(60) < p, actual, 1 - actual) for k, p in (("a", 0.9), ("b", 0.7))
        }
        sets[name] = bcm.from_classifiers(actual, answers, positive=1, by={"fold": fold})
    together = bcm.combine(sets, dim="data_set")
    measured = bcm.measure(together, "f1")
    results = bcm.from_results(measured)
    assert dict(results.sizes) == {"data_set": 2, "classifier": 2, "run": 5}
    assert (results["measured"].item(), results["test_share"].item()) == ("f1", 0.2)
    alone = bcm.measure(sets["wine"], "f1")["f1"].sel(classifier="b")
    np.testing.assert_array_equal(results["result"].sel(data_set="wine", classifier="b"), alone)
    assert bcm.compare(bcm.from_results(measured["f1"]))["measure"].tolist() == ["f1"]
    for evidence in (sets, together, sets["iris"]):
        with pytest.raises(TypeError, match=r"pass its measure: from_results\(measure\("):
            bcm.from_results(evidence)
    with pytest.raises(ValueError, match="dim='data_set'"):
        bcm.combine(sets)
    assert bcm.compare(sets, "f1")["data_set"].tolist() == ["iris", "wine"]
    with pytest.raises(ValueError, match="pass dim='data_set'"):
        bcm.joint_interval(sets, "f1")


# Data sets with other classes: the measure of every fold, each data set with its own classes.


def folds_of(labels, positive, size=60, folds=5):
    actual = np.array(labels)[RNG.integers(0, len(labels), size)]
    answers = {
        name: np.where(RNG.random(size) < share, actual, np.array(labels)[0])
        for name, share in {"a": 0.9, "b": 0.8}.items()
    }
    by = {"fold": np.arange(size) % folds}
    return bcm.from_classifiers(actual, answers, labels=labels, positive=positive, by=by)


OTHER_CLASSES = {
    "two": folds_of([0, 1], 1),
    "ill": folds_of(["ill", "well"], "ill"),
    "three": folds_of(["x", "y", "z"], None),
}


def test_measures_of_data_sets_with_other_classes_are_those_of_each_by_itself():
    values = bcm.measure(OTHER_CLASSES, "f1_macro", dim="data_set")["f1_macro"]
    assert values.dims == ("data_set", "fold", "classifier")
    for name, member in OTHER_CLASSES.items():
        alone = bcm.measure(member, "f1_macro")["f1_macro"]
        np.testing.assert_array_equal(values.sel(data_set=name), alone)
    results = bcm.from_results(bcm.measure(OTHER_CLASSES, "f1_macro", dim="data_set"))
    assert dict(results.sizes) == {"data_set": 3, "classifier": 2, "run": 5}
    assert results["test_share"] == 0.2


def test_the_positive_class_is_that_of_each_data_set():
    two = {name: OTHER_CLASSES[name] for name in ("two", "ill")}
    values = bcm.measure(two, "recall", dim="data_set")["recall"]
    for name, member in two.items():
        np.testing.assert_array_equal(
            values.sel(data_set=name), bcm.measure(member, "recall")["recall"]
        )


def test_a_number_for_each_class_is_refused_where_classes_differ():
    with pytest.raises(ValueError, match="The members have different classes, so a measure"):
        bcm.measure(OTHER_CLASSES, "f1", dim="data_set")


def test_a_mapping_of_what_has_the_dim_is_asked_for_another_name():
    with pytest.raises(ValueError, match="two already has a dimension classifier"):
        bcm.measure(OTHER_CLASSES, "f1_macro")
    with pytest.raises(TypeError, match="dim='data_set'"):
        bcm.from_results(OTHER_CLASSES)


def test_data_sets_with_other_numbers_of_folds_need_the_share_that_is_tested():
    folds = {"five": folds_of([0, 1], 1), "three": folds_of([0, 1], 1, folds=3)}
    values = bcm.measure(folds, "accuracy", dim="data_set")
    with pytest.raises(ValueError, match="The data sets have different numbers of folds"):
        bcm.from_results(values)
    results = bcm.from_results(values, test_share=0.2)
    missing = np.isnan(results["result"]).any("classifier").sum("run")
    assert missing.values.tolist() == [0, 2]


def test_counts_with_other_labels_are_added_by_combine():
    x = bcm.from_matrix([[9, 1], [2, 8]], labels=["a", "b"])
    y = bcm.from_matrix([[5, 0, 2], [1, 6, 0], [0, 3, 7]], labels=["c", "b", "a"])
    total = bcm.combine([x, y], dim="batch").sum("batch")
    assert total.sum() == x.sum() + y.sum()
    assert total.sel(actual="a", predicted="a") == 16
    assert (x + y).sum() < x.sum() + y.sum()  # what the documentation warns of


def test_a_sum_that_lost_the_positive_class_is_refused():
    x, y = (
        bcm.from_matrix(np.eye(3, dtype=int), labels=labels, positive=labels[-1])
        for labels in (["a", "b", "sick"], ["a", "b", "ill"])
    )
    lost = x + y.assign_coords(positive="sick")
    with pytest.raises(ValueError, match=r"'sick'.*combine"):
        bcm.summary(lost, "accuracy")


# Every type: the same evidence as the constructor makes of the data of all


RNG_ALL = np.random.default_rng(8)
SIZES = (17, 24)
# The part of each unit, and the two parts.
PART = np.repeat(["north", "south"], SIZES)
PIECES = [np.arange(SIZES[0]), np.arange(SIZES[0], sum(SIZES))]
TRUTH = RNG_ALL.integers(0, 2, sum(SIZES))
TRUTH[[0, 1, 17, 18]] = 0, 1, 0, 1  # both classes in both parts
LOGIT = {name: (TRUTH * gain + RNG_ALL.normal(size=sum(SIZES))).round(1)
         for name, gain in (("a", 1.5), ("b", 0.8))}  # fmt: skip
ANSWERS = {name: (logit > 0.5).astype(int) for name, logit in LOGIT.items()}
CHANCE = {name: (1 / (1 + np.exp(-logit))).round(2) for name, logit in LOGIT.items()}
THREE = RNG_ALL.integers(0, 3, sum(SIZES))
SHARES = RNG_ALL.dirichlet([2, 2, 2], sum(SIZES))
WEIGHT = RNG_ALL.integers(1, 4, sum(SIZES))
CLUSTER = RNG_ALL.integers(0, 9, sum(SIZES))  # some of them in both parts
LABEL = np.array([f"item {i}" for i in range(sum(SIZES))])[::-1]
RIGHT = {name: RNG_ALL.random((sum(SIZES), 3)) < rate for name, rate in (("a", 0.7), ("b", 0.4))}
TAGS = RNG_ALL.random((sum(SIZES), 4)) < 0.4
TAGGED = {name: TAGS ^ (RNG_ALL.random(TAGS.shape) < p) for name, p in (("a", 0.1), ("b", 0.3))}
OBJECTS = {
    name: {cell: RNG_ALL.poisson(2, sum(SIZES)) for cell in ("tp", "fp", "fn")} for name in "ab"
}
VOTES = {name: np.where(RNG_ALL.random(sum(SIZES)) < 0.8, TRUTH, 1 - TRUTH) for name in "vwxy"}
JUDGE = np.where(RNG_ALL.random(sum(SIZES)) < 0.85, TRUTH, 1 - TRUTH)
SEEN = pd.Series(TRUTH, dtype="Int64").where(np.arange(sum(SIZES)) % 3 > 0)


def at(columns, rows):
    """Return some rows of a column, or of each column of a mapping."""
    if isinstance(columns, dict):
        return {name: at(values, rows) for name, values in columns.items()}
    return columns.iloc[rows] if isinstance(columns, pd.Series) else columns[rows]


def of(make, *columns, named=None, **facts):
    """Return what makes evidence of rows: a constructor, its columns and what holds for all."""

    def evidence(rows, by=None):
        keywords = facts | at(named or {}, rows) | ({} if by is None else {"by": by})
        return make(*(at(column, rows) for column in columns), **keywords)

    return evidence


def results_of(rows, by=None):
    return bcm.from_results(RESULTS[RESULTS["data_set"].isin(LABEL[rows])], test_share=0.2)


def votes_of(rows, by=None):
    """Return votes on three systems, in clusters."""
    names = np.array(list("xyz"))
    left, right = names[rows % 3], names[(rows + 1 + rows // 2 % 2) % 3]
    winner = np.array(["left", "tie", "right"])[rows % 3]
    columns = {"left": left, "right": right, "winner": winner}
    return bcm.from_preferences(**columns, ordered=True, group=at(CLUSTER, rows))


def populations(rows, by=None):
    return bcm.from_raters(at(VOTES, rows), group=None if by is None else by["group"])


RESULTS = pd.DataFrame(
    [
        (data, name, fold, RNG_ALL.normal(0.8 + gain, 0.03))
        for place, data in enumerate(LABEL)
        for name, gain in (("a", 0.02), ("b", 0))
        for fold in range(4 + (place > 20))  # the second part has a run more
    ],
    columns=["data_set", "classifier", "fold", "auc"],
)
JUDGED = np.where(SEEN.isna(), np.nan, CHANCE["a"])
TAG_SCORES = TAGS + RNG_ALL.random(TAGS.shape)
ITEM = {"item": LABEL, "weights": WEIGHT}
IMPORTANCE = {"weights": CHANCE["b"]}
# What makes evidence of rows, and the dim; None for one sample of all.
KINDS = {
    "counts": (of(bcm.from_predictions, TRUTH, ANSWERS["a"], named={"weights": WEIGHT}), "site"),
    "outcomes": (of(bcm.from_classifiers, TRUTH, ANSWERS), "site"),
    "partly labelled": (of(bcm.from_partly_labelled, SEEN, ANSWERS["a"], JUDGE), "site"),
    "partly labelled of two": (of(bcm.from_partly_labelled, SEEN, ANSWERS, JUDGE), "site"),
    "scores": (of(bcm.from_scores, TRUTH, LOGIT["a"], named={"weights": WEIGHT}), None),
    "scores of two": (of(bcm.from_scores, TRUTH, LOGIT), None),
    "scores in groups": (of(bcm.from_scores, TRUTH, LOGIT), "group"),
    "scores in folds": (of(bcm.from_scores, TRUTH, LOGIT["b"]), "fold"),
    "probabilities": (of(bcm.from_probabilities, TRUTH, CHANCE), None),
    "probabilities in groups": (of(bcm.from_probabilities, TRUTH, CHANCE["a"]), "group"),
    "probabilities of three": (of(bcm.from_probabilities, THREE, SHARES), None),
    "ratings": (of(bcm.from_raters, VOTES, named={"gold": SEEN}), None),
    "ratings of populations": (populations, "group"),
    "attempts": (of(bcm.from_attempts, RIGHT, named={"group": CLUSTER}), "language"),
    "attempts as one sample": (of(bcm.from_attempts, RIGHT["a"]), None),
    "item scores": (of(bcm.from_item_scores, CHANCE, named=ITEM, range=(0, 1)), "language"),
    "item scores as one sample": (
        of(bcm.from_item_scores, CHANCE["a"], named={"group": CLUSTER}, range=(0, 1)),
        None,
    ),
    "item scores with weights": (
        of(bcm.from_item_scores, CHANCE["a"], named=IMPORTANCE, weights_are="importance"),
        None,
    ),
    "item scores with a judge": (
        of(bcm.from_item_scores, JUDGED, named={"judge": CHANCE["b"]}),
        None,
    ),
    "multilabel": (
        of(bcm.from_multilabel, TAGS, TAGGED, named={"group": CLUSTER}, labels=list("wxyz")),
        "language",
    ),
    "multilabel with scores": (
        of(bcm.from_multilabel, TAGS, TAGGED["a"], named={"scores": TAG_SCORES} | IMPORTANCE,
           weights_are="importance"),
        None,
    ),
    "item counts": (of(bcm.from_item_counts, OBJECTS, named={"group": CLUSTER}), None),
    "results": (results_of, None),
    "preferences": (votes_of, None),
}  # fmt: skip
UNITS = {
    "vote": ("preferences",),
    "item": ("attempts", "item scores", "item counts"),
    "data_set": ("results",),
}


def unit_of(kind):
    return next((unit for unit, kinds in UNITS.items() if kind.startswith(kinds)), "example")


def combined(kind):
    make, dim = KINDS[kind]
    parts = [make(rows) for rows in PIECES]
    if dim is None:
        return bcm.combine(parts, dim=unit_of(kind))
    return bcm.combine(dict(zip(("north", "south"), parts, strict=True)), dim=dim)


def constructed(kind):
    make, dim = KINDS[kind]
    return make(np.arange(sum(SIZES)), None if dim is None else {dim: PART})


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=[pytest.mark.long] * (kind == "partly labelled of two"))
        for kind in KINDS
    ],
)
def test_evidence_of_every_type_is_that_of_the_data_of_all(kind):
    found, expected = combined(kind), constructed(kind)
    if not kind.startswith(("outcomes", "partly labelled of two")):
        return xr.testing.assert_identical(found, expected)
    # Outcomes are in another order, so that their results are compared.
    for ask in (bcm.summary, bcm.compare):
        tables = [ask(each, "accuracy") for each in (found, expected)]
        pd.testing.assert_frame_equal(*tables, check_exact=False, rtol=1e-9)


def test_every_type_is_combined():
    types = {type_of(constructed(kind)).name for kind in KINDS}
    assert types == {entry.name for entry in TYPES} - {"fit"}


def _without(evidence, name):
    return evidence.drop_vars(name)


X, Y = PIECES
FOLDS = {"fold": np.arange(sum(SIZES)) % 2}
SCALE = {"range": (0, 1)}
WHAT_DIFFERS = {
    "systems of item scores": (
        lambda: [bcm.from_item_scores({"a": [1, 2], "b": [1, 3]}),
                 bcm.from_item_scores({"a": [1, 2], "c": [1, 3]})],
        "item", r"classifiers differ: \['a', 'b'\] and \['a', 'c'\]",
    ),
    "one system and several": (
        lambda: [bcm.from_attempts([[1, 0]]), bcm.from_attempts({"a": [[1, 0]], "b": [[1, 1]]})],
        "item", "classifiers differ: no names and",
    ),
    "ranges": (
        lambda: [bcm.from_item_scores([0.1, 0.5], range=(0, 1)),
                 bcm.from_item_scores([0.1, 0.5], range=(0, 5))],
        "item", "highest differs between the pieces of evidence",
    ),
    "directions": (
        lambda: [bcm.from_item_scores([0.1, 0.5], lower_is_better=True),
                 bcm.from_item_scores([0.1, 0.5])],
        "language", "lower_is_better differs",
    ),
    "positive classes": (
        lambda: [bcm.from_scores(TRUTH, LOGIT["a"], positive=p) for p in (0, 1)],
        "example", "positive differs between the pieces of evidence",
    ),
    "classes": (
        lambda: [bcm.from_scores(list("xyxy"), [1, 2, 3, 4], positive="x"),
                 bcm.from_scores(list("xzxz"), [1, 2, 3, 4], positive="x")],
        "group", r"classes differ: \['x', 'y'\] and \['x', 'z'\]",
    ),
    "labels": (
        lambda: [bcm.from_multilabel(TAGS, TAGS, labels=list("wxyz")),
                 bcm.from_multilabel(TAGS, TAGS, labels=list("vxyz"))],
        "example", "labels differ: .*'w'.* and .*'v'",
    ),
    "raters": (
        lambda: [bcm.from_raters(VOTES), bcm.from_raters({**VOTES, "z": TRUTH})],
        "example", "raters differ",
    ),
    "an item in both": (
        lambda: [bcm.from_item_scores([1, 2, 3], item=["q", "r", "s"]),
                 bcm.from_item_scores([1, 2], item=["t", "r"])],
        "language", "item 'r' is in several",
    ),
    "a data set in both": (lambda: [results_of(X), results_of(X[3:])], "data_set", "data set '.*'"),
    "a fold in both": (
        lambda: [bcm.from_scores(TRUTH, LOGIT["a"], by=FOLDS)] * 2, "example", "fold 0 is in",
    ),
    "a slice in both": (
        lambda: [bcm.from_attempts(RIGHT["a"], by={"site": PART})] * 2, "site", "site 'north' is",
    ),
    "weights of some": (
        lambda: [bcm.from_item_scores([1, 2], weights=[1, 3]), bcm.from_item_scores([1, 2])],
        "item", "Only some pieces of evidence have weight",
    ),
    "clusters of some": (
        lambda: [bcm.from_attempts(RIGHT["a"], group=CLUSTER), bcm.from_attempts(RIGHT["a"])],
        "item", "Only some pieces of evidence have group",
    ),
    "groups of some": (
        lambda: [bcm.from_scores(TRUTH, LOGIT["a"], by={"group": PART}),
                 bcm.from_scores(TRUTH, LOGIT["a"])],
        "example", "Only some pieces of evidence have groups",
    ),
    "importance weights of scores": (
        lambda: [bcm.from_scores(TRUTH, LOGIT["a"], weights=CHANCE["a"], weights_are="importance")]
        * 2,
        "example", "scale of their importance weights",
    ),
    "bins": (
        lambda: [bcm.from_scored_frame(pd.DataFrame({"actual": TRUTH, "s": LOGIT["a"]}), "s",
                                       edges=[0, 1])] * 2,
        "group", "edges of their bins",
    ),
    "no slices": (
        lambda: [bcm.from_item_counts(OBJECTS["a"])] * 2, "site", "pass dim='item'|Pass dim='item'",
    ),
    "judges": (
        lambda: [bcm.from_partly_labelled(SEEN, ANSWERS["a"], JUDGE)] * 2, "judge", "along judge",
    ),
    "names without effect": (
        lambda: {"x": bcm.from_attempts([1, 0]), "y": bcm.from_attempts([1, 1])}, "item",
        "Names along item have no effect",
    ),
    "systems": (
        lambda: {"x": bcm.from_attempts([1, 0]), "y": bcm.from_attempts([1, 1])}, "classifier",
        "items cannot be combined along classifier",
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("case", WHAT_DIFFERS)
def test_what_differs_is_an_error_that_names_it(case):
    members, dim, message = WHAT_DIFFERS[case]
    with pytest.raises(ValueError, match=message):
        bcm.combine(members(), dim=dim)


def test_types_are_not_mixed():
    with pytest.raises(TypeError, match="scores and item scores cannot be combined"):
        bcm.combine([bcm.from_scores(TRUTH, LOGIT["a"]), bcm.from_item_scores([1, 2])])


def test_a_fit_is_not_combined():
    with pytest.raises(TypeError, match="A fit cannot be combined"):
        bcm.combine([xr.DataTree(), xr.DataTree()], dim="site")


def test_systems_and_labels_are_matched_by_name():
    x, y = (of(bcm.from_multilabel, TAGS, TAGGED, labels=list("wxyz"))(rows) for rows in PIECES)
    turned = y.isel(classifier=[1, 0], label=[2, 3, 1, 0])
    xr.testing.assert_identical(
        bcm.combine([x, turned], dim="example"), bcm.combine([x, y], dim="example")
    )


def test_gold_labels_are_those_of_the_classes_by_name():
    truth = np.array(list("abc"))[THREE]
    votes = {name: np.roll(truth, shift) for name, shift in (("v", 0), ("w", 0), ("x", 1))}
    x, y = (
        bcm.from_raters(at(votes, rows), gold=truth[rows], labels=labels)
        for rows, labels in zip(PIECES, (list("abc"), list("cab")), strict=True)
    )
    whole = bcm.from_raters(votes, gold=truth, labels=list("abc"))
    xr.testing.assert_identical(bcm.combine([x, y], dim="example"), whole)


def test_the_same_cluster_in_both_parts_is_one_cluster():
    parts = [bcm.from_item_scores(CHANCE["a"][rows], group=CLUSTER[rows]) for rows in PIECES]
    shared = set(CLUSTER[X]) & set(CLUSTER[Y])
    assert shared
    clusters = bcm.combine(parts, dim="item")["group"].values
    assert len(set(clusters)) == len(set(CLUSTER))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("predicted", [ANSWERS["a"], ANSWERS])
def test_examples_without_a_label_survive(predicted):
    make = of(bcm.from_partly_labelled, SEEN, predicted, JUDGE)
    parts = {"x": make(X), "y": make(Y[:10])}
    both = bcm.combine(parts, dim="site")
    for name, part in parts.items():
        number = both["unlabelled"].sel(site=name).sum()
        assert number == part["unlabelled"].sum() > 0
        alone, within = (
            bcm.interval(each, "prevalence", of="finite") for each in (part, both.sel(site=name))
        )
        np.testing.assert_allclose(within, alone, rtol=1e-9)


def test_slices_of_other_members_are_appended():
    parts = [
        bcm.from_item_scores(CHANCE["a"][rows], item=LABEL[rows], by={"site": PART[rows]})
        for rows in PIECES
    ]
    whole = bcm.from_item_scores(CHANCE["a"], item=LABEL, by={"site": PART})
    xr.testing.assert_identical(bcm.combine(parts, dim="site"), whole)
    named = bcm.combine({2025: parts[0], 2026: parts[1]}, dim="year")
    assert bcm.evidence.clusters_and_slices.slice_dims(named) == ["year", "site"]
