"""The HTML report in a real browser: it renders, asks for nothing, overflows nowhere."""

import shutil

import pytest

import bayescm as bcm

pytestmark = pytest.mark.slow
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
STRANGE = ['<script>alert("a")</script>', "שלום & 'quotes' 🦊"]


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


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
    page = browser.new_page(viewport={"width": width, "height": 900})
    noise, requests = [], []
    page.on("console", lambda message: noise.append(message.text))
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(page_file.as_uri())

    assert noise == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.scripts.length") == 0
    text = page.inner_text("body")
    for name in STRANGE:
        assert name in text
    assert page.locator("figure svg").count() >= 2
    assert page.locator("figure svg:not([aria-label])").count() == 0
    page.close()


def test_page_is_small(page_file):
    assert page_file.stat().st_size < 2_000_000
