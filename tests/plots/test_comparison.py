"""The picture of ranks shows the table of ranks."""

import warnings

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm

RNG = np.random.default_rng(0)
ACTUAL = RNG.integers(2, size=200)
ANSWERS = {
    name: np.where(RNG.random(200) < rate, ACTUAL, 1 - ACTUAL)
    for name, rate in (("a", 0.7), ("b", 0.9), ("c", 0.8))
}
THREE = bcm.from_classifiers(ACTUAL, ANSWERS)


@pytest.mark.long
def test_the_best_comes_first_with_the_tables_numbers():
    axes = bcm.plot_ranks(THREE, "f1", random_seed=0).axes[0]
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    table = bcm.ranks(THREE, "f1", random_seed=0).sort_values("expected_rank")
    assert names == table["classifier"].tolist()
    shown = axes.images[0].get_array()
    np.testing.assert_allclose(shown, table[["rank_1", "rank_2", "rank_3"]])


@pytest.mark.long
def test_each_group_has_a_panel_with_its_ranking_in_the_same_order():
    grouped = bcm.from_classifiers(ACTUAL, ANSWERS, by={"group": np.arange(200) % 4})
    figure = bcm.plot_ranks(grouped, "f1", draws=200, random_seed=0)
    *panels, _ = figure.axes  # the last is the colour bar
    assert [axes.get_title() for axes in panels] == [f"group {group}" for group in range(4)]
    table = bcm.ranks(grouped, "f1", draws=200, random_seed=0)
    order = table.groupby("classifier")["expected_rank"].mean().sort_values().index.tolist()
    for group, axes in enumerate(panels):
        assert [tick.get_text() for tick in axes.get_yticklabels()] == order
        expected = table[table["group"] == group].set_index("classifier").loc[order]
        shown = axes.images[0].get_array()
        np.testing.assert_allclose(shown, expected[["rank_1", "rank_2", "rank_3"]])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_data_sets_with_other_classifiers_have_their_own_rows():
    two = {name: ANSWERS[name] for name in list(ANSWERS)[:2]}
    sets = {"first": THREE, "second": bcm.from_classifiers(ACTUAL, two)}
    first, second, _ = bcm.plot_ranks(sets, "f1", draws=200).axes
    assert len(first.get_yticklabels()) == 3
    assert {tick.get_text() for tick in second.get_yticklabels()} == {*two}
    assert np.isfinite(second.images[0].get_array()).all()


@pytest.mark.long
def test_one_measure_at_a_time_and_not_too_many_panels():
    with pytest.raises(ValueError, match="several measures"):
        bcm.plot_ranks(THREE, ["f1", "mcc"], draws=200)
    many = bcm.from_classifiers(ACTUAL, ANSWERS, by={"week": np.arange(200) % 25})
    with pytest.raises(ValueError, match="25 rankings; at most"):
        bcm.plot_ranks(many, "accuracy", draws=200)


@pytest.mark.long
def test_bars_are_sets_of_ranks_and_lines_are_tiers():
    table = bcm.ranks(THREE, "f1", random_seed=0).sort_values("expected_rank")
    axes = bcm.plots.plot_tiers(THREE, "f1", random_seed=0).axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == table["classifier"].tolist()
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches]
    np.testing.assert_allclose(
        np.round(ends), np.stack([table["best_rank"], table["worst_rank"]], axis=1)
    )
    lines = [line for line in axes.lines if line.get_linestyle() == "-"]
    assert len(lines) == max(int(each) for row in table["tiers"] for each in row.split(", "))
    with pytest.raises(ValueError, match="several measures"):
        bcm.plots.plot_tiers(THREE, ["f1", "mcc"], draws=200)


@pytest.mark.long
def test_differences_are_drawn_by_what_the_table_was_computed_with():
    both = bcm.from_classifiers([1, 1, 0, 0] * 9, {"a": [1, 1, 0, 1] * 9, "b": [1, 0] * 18})
    table = bcm.compare(both, ["f1"], rope=0.01, prob=0.9, kind="eti")
    figure = bcm.plot_differences(table, display_names={"a": "first", "f1": "F-measure"})
    assert "90% equal-tailed" in figure.get_suptitle()
    assert "grey: equivalent" in figure.get_suptitle()
    assert figure.axes[0].get_yticklabels()[0].get_text() == "first − b"
    assert "F-measure" in figure.axes[0].get_xlabel()
    bcm.plot_differences(table, rope=0.01, prob=0.9)
    for other in ({"rope": 0.02}, {"prob": 0.95}, {"kind": "hdi"}, {"contrast": "ratio"}):
        with pytest.raises(ValueError, match="was computed with"):
            bcm.plot_differences(table, **other)
    with pytest.raises(ValueError, match=r"computed with rope=.*not 0.01"):
        bcm.plot_differences(bcm.compare(both, "f1"), rope=0.01)


@pytest.mark.long
def test_data_sets_share_the_rows_of_a_pair():
    both = {"a": [1, 1, 0, 0] * 9, "b": [1, 0, 0, 0] * 9}
    sets = {name: bcm.from_classifiers([1, 1, 0, 0] * 9, both) for name in ("iris", "wine")}
    table = bcm.compare(bcm.combine(sets, dim="data_set"), ["accuracy", "f1_macro"])
    axes = bcm.plot_differences(table, dim="data_set").axes[0]
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert labels == ["accuracy", "F1 (macro)"]
    assert axes.get_xlabel() == "difference: a − b"
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["data set iris", "data set wine"]
    with pytest.raises(ValueError, match=r"no column 'dataset'\. Did you mean 'data_set'"):
        bcm.plot_differences(table, dim="dataset")


@pytest.mark.long
def test_comparisons_of_data_sets_have_a_row_for_each_however_they_are_joined():
    answers = {"a": [1, 1, 0, 1] * 9, "b": [1, 0] * 18}
    both = bcm.from_classifiers([1, 1, 0, 0] * 9, answers)
    tables = {name: bcm.compare(both, "accuracy") for name in ("wdbc", "heart")}
    last_column = pd.concat([part.assign(data_set=name) for name, part in tables.items()])
    forms = [tables, pd.concat(tables, names=["data_set"]), last_column]
    for joined in (*forms, bcm.compare({"wdbc": both, "heart": both}, "accuracy")):
        axes = bcm.plot_differences(joined).axes[0]
        labels = [text.get_text() for text in axes.get_yticklabels()]
        assert labels == ["wdbc", "heart"]
        assert axes.get_xlabel() == "difference in accuracy: a − b"
        figure = bcm.plot_differences(joined, dim="data_set")
        assert len(figure.axes[0].get_yticklabels()) == 1
    with pytest.raises(TypeError, match="not the table of a comparison"):
        bcm.plot_differences({"wdbc": both})


@pytest.mark.parametrize(("number", "most"), [(5, 10), (8, 25)])
def test_many_rows_of_differences_are_less_high_or_have_a_warning(number, most):
    names = [f"system {i}" for i in range(number)]
    rows = [
        {"measure": "f1", "first": a, "second": b, "mean": 0.1, "lower": 0.0, "upper": 0.2}
        | {"p_better": 0.9, "p_rope": 0.0, "p_worse": 0.1, "paired": True}
        for i, a in enumerate(names)
        for b in names[i + 1 :]
    ]
    table = pd.DataFrame(rows)
    table.attrs = {"prob": 0.95, "kind": "hdi", "rope": (0.0, 0.0), "contrast": "difference"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure = bcm.plot_differences({"x": table, "y": table, "z": table}, dim="data_set")
    assert figure.get_figheight() < most
    assert ["more than a page" in str(one.message) for one in caught] == [True] * (number > 5)
