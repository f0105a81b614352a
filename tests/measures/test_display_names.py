"""Display names: of every measure of the catalogue, of averages, of chosen classes, overridden."""

import pytest

from bayescm.measures import catalogue
from bayescm.measures.display_names import (
    display_dim,
    display_label,
    display_name,
    distinct_display_names,
    with_index,
)


@pytest.mark.parametrize("name", sorted(catalogue._NAMED))
def test_every_name_of_the_catalogue_is_written_without_underscores(name):
    assert "_" not in display_name(name)


def test_measures_of_one_variable_have_different_display_names():
    for variable in {takes for takes, _ in catalogue._CATALOGUE}:
        names = catalogue.names(variable)
        assert len({display_name(name) for name in names}) == len(names)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("f1", "F1"),
        ("mcc", "MCC"),
        ("auc", "AUC"),
        ("sensitivity", "sensitivity"),
        ("recall", "recall"),
        ("cohen_kappa", "Cohen's kappa"),
        ("cohen_kappa_linear", "Cohen's kappa (linear)"),
        ("balanced_accuracy", "balanced accuracy"),
        ("f1_weighted", "F1 (weighted)"),
        ("f1_macro[a,b]", "F1 (macro) of a, b"),
        ("recall[big cat]", "recall of big cat"),
        ("fbeta(0.5)", "F0.5"),
        ("f0.5", "F0.5"),
        ("fbeta(2)_macro", "F2 (macro)"),
        ("tversky(0.3,0.7)", "Tversky (0.3, 0.7)"),
        ("partial_auc(0.1)_macro", "partial AUC (0.1; macro)"),
        ("pass_at(4)", "pass@4"),
        ("pass@4", "pass@4"),
        ("ece_top_label", "ECE (top label)"),
        ("my_own_measure", "my own measure"),
    ],
)
def test_the_rule(name, text):
    assert display_name(name) == text


def test_a_function_is_written_as_its_name():
    def alarms_per_find(cells):
        return cells[..., :, 1].sum(axis=-1) / cells[..., 1, 1]

    assert display_name(alarms_per_find) == "alarms per find"
    assert display_name(catalogue.f1) == "F1"


def test_display_names_go_before_the_rule_and_reach_averages_and_classes():
    names = {"f1": "F-measure", "f1_macro": "mean F"}
    assert display_name("f1", names) == "F-measure"
    assert display_name("f1_macro", names) == "mean F"
    assert display_name("f1_micro", names) == "F-measure (micro)"
    assert display_name("f1[b]", names) == "F-measure of b"
    assert display_label("rf", {"rf": "random forest"}) == "random forest"
    assert display_label(3, {"3": "three"}) == display_label(3, {3: "three"}) == "three"
    assert display_dim("data_set") == "data set"
    assert display_dim("classifier", {"classifier": "system"}) == "system"


def test_labels_are_not_taken_for_measures():
    assert display_label("f1_v2") == "f1_v2"


def test_two_measures_are_never_displayed_alike():
    assert distinct_display_names(["youden", "youden_j"]) == {
        "youden": "youden",
        "youden_j": "youden_j",
    }
    with pytest.raises(ValueError, match="Several measures have the display name"):
        distinct_display_names(["f1", "f2"], {"f1": "F", "f2": "F"})


@pytest.mark.parametrize("names", [{"f1": 3}, {"f1": " "}, {"f1": None}])
def test_a_display_name_is_a_text(names):
    with pytest.raises(ValueError, match="The display name"):
        display_name("recall", names)


def test_display_names_are_a_mapping():
    with pytest.raises(TypeError, match="display_names must be a mapping from names"):
        display_name("recall", ["f1"])


def test_what_a_name_is_about_joins_its_brackets():
    assert with_index("F1", []) == "F1"
    assert with_index("F1 (macro)", ["classifier a", "fold 1"]) == (
        "F1 (macro; classifier a, fold 1)"
    )


def test_two_names_of_one_measure_keep_them_whatever_else_has_a_display_name():
    stated = {"precision": "PPV"}
    texts = distinct_display_names(["accuracy", "accuracy_score", "precision"], stated)
    assert texts == {"accuracy": "accuracy", "accuracy_score": "accuracy_score", "precision": "PPV"}
