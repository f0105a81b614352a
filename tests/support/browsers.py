"""A real browser for the tests of pages, and checks that apply to every page."""

import shutil
from contextlib import contextmanager

import pytest

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


@contextmanager
def opened_browser():
    """Yield headless Chromium, or skip the test if it is not installed."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def quiet_page(browser, address, width, own, scripts=False):
    """
    Yield a page after checking it.

    The page must not write to the console, send requests to other hosts or exceed the window's
    width. Unless ``scripts`` is true, it must not contain scripts.
    """
    page = browser.new_page(viewport={"width": width, "height": 900})
    noise, requests = [], []
    page.on("console", lambda message: noise.append(message.text))
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)

    assert noise == []
    assert [url for url in requests if not url.startswith((own, "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert scripts or page.evaluate("document.scripts.length") == 0
    yield page
    page.close()
