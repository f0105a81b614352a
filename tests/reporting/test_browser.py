"""The HTML report in a real browser: it renders, asks for nothing, overflows nowhere."""

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
