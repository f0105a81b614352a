"""The HTML report in a real browser: it renders, asks for nothing, overflows nowhere."""

import numpy as np
import pytest
from browsers import STRANGE, opened_browser, quiet_page

import bayescm as bcm

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def browser():
    with opened_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    actual = [STRANGE[i % 3 == 0] for i in range(60)]
    answers = {
        name: [STRANGE[i % 3 == 0] if i % k else STRANGE[i % 3 != 0] for i in range(60)]
        for name, k in (("a<b>", 7), ("b", 5))
    }
    evidence = bcm.from_classifiers(actual, answers, positive=STRANGE[0])
    path = tmp_path_factory.mktemp("report") / "report.html"
    return bcm.report(evidence, path, measures=["recall", "f1"], title=STRANGE[0], rope=0.01)


def test_page_renders_quietly_and_within_its_width(browser, page_file):
    for width in (390, 1280):
        check_page(browser, page_file, width)


def check_page(browser, page_file, width):
    with quiet_page(browser, page_file.as_uri(), width, "file:") as page:
        text = page.inner_text("body")
        for name in STRANGE:
            assert name in text
        assert page.locator("figure svg").count() >= 2
        assert page.locator("figure svg:not([aria-label])").count() == 0


def test_page_is_small(page_file):
    assert page_file.stat().st_size < 2_000_000


def test_pictures_are_pointed_at_on_a_page_that_loads_nothing(browser, tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 80)
    actual = [STRANGE[1 - each] for each in truth]
    answers = {
        name: [each if rng.random() < right else STRANGE[0] for each in actual]
        for name, right in (("a<b>", 0.9), ("b", 0.7))
    }
    evidence = bcm.from_classifiers(actual, answers, positive=STRANGE[0])
    scores = bcm.from_scores(actual, {"s<i>": rng.random(80) + truth}, positive=STRANGE[0])
    path = tmp_path / "report.html"
    bcm.report(evidence, path, measures=["recall", "f1"], scores=scores, interactive=True)
    with quiet_page(browser, path.as_uri(), 1280, "file:", scripts=True) as page:
        page.wait_for_selector("#interactive-forest .main-svg")
        for name in ("forest", "matrix-0", "roc"):
            assert page.locator(f"#interactive-{name} .main-svg").count() > 0
        text = page.locator("#interactive-matrix-0").text_content()
        assert STRANGE[0] in text
        point = page.locator("#interactive-forest .scatterlayer .point").first
        point.scroll_into_view_if_needed()
        place = point.bounding_box()
        page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
        page.wait_for_selector("#interactive-forest .hoverlayer .hovertext")
        said = page.locator("#interactive-forest .hoverlayer").text_content()
        assert "recall" in said
        assert "a<b>" in said
        page.screenshot(path=tmp_path / "page.png", full_page=True)
