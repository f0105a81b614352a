"""Tables with a bar for every interval."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from browsers import STRANGE, opened_browser, quiet_page

import bayescm as bcm
from bayescm.answers.summary import sentences
from bayescm.answers.tables import decimals


def pairs():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    rates = dict(zip((*STRANGE, "c"), (0.8, 0.85, 0.7), strict=True))
    answers = {name: np.where(rng.random(300) < p, y, 1 - y) for name, p in rates.items()}
    return bcm.from_classifiers(y, answers)


@pytest.mark.long
def test_in_a_browser_bars_lie_where_their_numbers_say(tmp_path):
    frames = bcm.summary(pairs(), ["recall", "f1"]), bcm.compare(pairs(), "accuracy")
    parts = [bcm.table(each, caption=STRANGE[0]).to_html() for each in frames]
    parts += [bcm.answers.great_table(frames[0], caption=STRANGE[0]).as_raw_html()]
    path = tmp_path / "page.html"
    path.write_text(
        f"<!doctype html><meta charset=utf-8><div style='overflow-x: auto'>{''.join(parts)}</div>"
    )
    with opened_browser() as browser, quiet_page(browser, path.as_uri(), 1280, "file:") as page:
        assert page.locator("svg").count() == sum(map(len, (*frames, frames[0])))
        assert all(name in page.inner_text("body") for name in STRANGE)
        for place in (0, -1):  # of pandas and of Great Tables
            bars = page.locator("table").nth(place).locator("svg")
            scale = bars.nth(0).bounding_box()
            for index, row in enumerate(frames[0].to_dict("records")):
                box = bars.nth(index).locator("rect").nth(1).bounding_box()
                start = (box["x"] - scale["x"]) / scale["width"]
                assert start == pytest.approx(row["lower"], abs=0.01)
                end = start + box["width"] / scale["width"]
                assert end == pytest.approx(row["upper"], abs=0.01)


@pytest.mark.long
def test_what_has_no_interval_is_empty_and_what_is_no_table_is_refused():
    frame = pd.DataFrame({"measure": ["a", "b"], "lower": [np.nan, -3.0], "upper": [np.nan, 40.0]})
    text = bcm.table(frame, digits=1).to_html()
    assert (text.count("<svg"), "40.0" in text, "–" in text) == (1, True, True)
    for given, message in (
        ({}, "not a table"),
        (pd.DataFrame({"a": [1]}), "has no columns lower and upper"),
    ):
        for made in (bcm.table, bcm.answers.great_table):
            with pytest.raises((TypeError, ValueError), match=message):
                made(given)
    with pytest.raises(ValueError, match="digits must be a whole number from 0 to 15; got -1"):
        bcm.table(frame, digits=-1)


@pytest.mark.long
def test_great_tables_escape_and_round_as_ours_do(monkeypatch):
    frame = pd.DataFrame({STRANGE[0]: ["<script>&", None], "lower": [np.nan, 3e-9]})
    frame = frame.assign(upper=[np.nan, 0.5], how="drawn")
    made = bcm.answers.great_table(frame, digits=1, caption=STRANGE[0])
    text = made.as_raw_html()
    assert (text.count("<svg"), "drawn" in text, "http" in text) == (1, False, False)
    assert all(f">{shown}<" in text for shown in ("&lt;script&gt;&amp;", "–", "&lt;0.1", "0.5"))
    assert STRANGE[0] not in text
    assert "<svg" not in made.cols_hide("interval").as_latex()
    monkeypatch.setitem(sys.modules, "great_tables", None)
    with pytest.raises(ImportError, match=r"pip install 'bayescm\[tables\]'"):
        bcm.answers.great_table(frame)


@pytest.mark.long
def test_notebooks_show_summaries_and_comparisons_with_bars():
    counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    summary, compared = bcm.summary(counts, ["recall", "f1"]), bcm.compare(pairs(), "accuracy")
    assert [each._repr_html_().count("<svg") for each in (summary, compared)] == [2, 3]
    assert "<script" not in compared._repr_html_()
    # A DataFrame in all else, and shown as one where there are no intervals or rows have names.
    assert summary[["measure", "lower", "upper"]]._repr_html_().count("<svg") == 2
    others = summary[["measure", "mean"]], summary.set_index("measure"), summary[:0]
    assert not any("<svg" in each._repr_html_() for each in others)
    with pd.option_context("display.notebook_repr_html", False):
        assert summary._repr_html_() is None
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(summary)), summary)
    with pd.option_context("display.max_columns", None):
        assert str(summary) == str(pd.DataFrame(summary))


def test_small_numbers_are_not_shown_as_nothing():
    frame = pd.DataFrame({"lower": [0.0], "upper": [0.5], "p": [3e-9], "q": [0.0], "r": [0.0006]})
    text = bcm.table(frame).to_html()
    assert all(f">{shown}<" in text for shown in ("&lt;0.001", "0.000", "0.001"))


@pytest.mark.long
def test_digits_stop_where_the_error_begins():
    counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    exact, drawn = (bcm.summary(counts, "f1", draws=draws) for draws in (None, 2000))
    assert exact["error"].max() < 1e-6 < 0.001 < drawn["error"].max() < 0.02
    for table, digits in ((exact, 3), (drawn, 2)):
        row = table.iloc[0]
        lower, upper = (f"{row[end]:.{digits}f}" for end in ("lower", "upper"))
        html = bcm.table(table).to_html()
        assert f">{lower}<" in html
        assert f"from {lower} to {upper}" in html
        assert f"between {lower} and {upper} with" in sentences(table)[0]
        assert f">{lower}<" in bcm.answers.great_table(table).as_raw_html()
        assert (
            f"[{lower}, {upper}]"
            in bcm.plot_forest(counts, "f1", draws=None if table is exact else 2000)
            .axes[0]
            .texts[0]
            .get_text()
        )
    assert f" {drawn['lower'].iloc[0]:.2f} " in str(drawn)
    assert f"{drawn['sd'].iloc[0]:.6f}" in str(drawn)


def test_of_a_large_number_no_more_decimals_are_left_out_than_all_but_two():
    assert [decimals(error, 6) for error in (0.0, np.nan, 1e-9, 0.004, 30.0, np.inf)] == [
        6, 6, 6, 2, 2, 2
    ]  # fmt: skip
    assert decimals(30.0, 1) == 1


@pytest.mark.long
def test_a_terminal_shows_the_interval_of_every_row():
    counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    with pd.option_context("display.max_columns", 0, "display.width", 80):
        texts = [repr(bcm.summary(counts)), repr(bcm.compare({"a": counts, "b": counts + 9}))]
    for text in texts:
        assert {"lower", "upper"} <= set(text.split())


def test_ranks_fit_a_notebook():
    counts = bcm.from_cells(tp=[40, 30, 20], fn=[10, 20, 31], fp=5, tn=[45, 46, 47])
    table = bcm.ranks(counts.rename(batch="classifier"), "f1")
    page = table._repr_html_()
    assert "expected rank" in page
    assert "rank_1 to rank_3" in page
    assert "rank 1" not in page
    assert {"rank_1", "rank_3"} <= {*table.columns}
    assert "<table" in table[["mean", "rank_1"]]._repr_html_()
