"""A page in a real browser: Chromium without a window, driven by Playwright. `make browser` installs the driver.

    def test_the_board(browser: Browser) -> None:
        page = browser.open(url)
        expect(page.get_by_text("Fix CORS")).to_be_visible()

Ask for what a person sees: `get_by_role("button", name="Save")`, `get_by_label`, `get_by_text`. Playwright waits for
it, so nothing here sleeps. `tests.conftest.browser` is the fixture; it skips the test, in words, where the driver or
the browser is missing, and fails it where the page threw an error.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page, Route

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Only so that a page that never shows what is asked for is a failure of its own, not a hang of the suite.
_PATIENCE_MS = 120_000
_QUIET = ("--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync")


class Browser:
    """A running browser; `open` gives pages, `errors` what they threw, `outside` what they wanted from other machines."""

    def __init__(self, context: Any, pictures: str) -> None:
        self._context = context
        self._pictures = pictures
        self.errors: list[str] = []
        self.outside: list[str] = []
        context.route("**/*", self._only_from_here)

    def open(self, url: str) -> Page:
        """A page that has loaded this address."""
        page: Page = self._context.new_page()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.goto(url)
        return page

    def picture(self, page: Page, name: str) -> None:
        """A picture of the whole page to be looked at, `NAME.png` in the folder that PICTURES names; none where it names none."""
        if self._pictures:
            page.screenshot(path=Path(self._pictures, f"{name}.png"), full_page=True)

    def _only_from_here(self, route: Route) -> None:
        if urlsplit(route.request.url).hostname in ("127.0.0.1", "localhost", None):
            route.continue_()
        else:
            self.outside.append(route.request.url)
            route.abort()


@contextlib.contextmanager
def started(*, width: int = 1280, height: int = 900) -> Iterator[Browser]:
    """A browser for one test: its own process, nothing kept, no requests to other machines."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: `make browser` does it")
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if not program:
        pytest.skip("no Chromium is installed (Debian: apt install chromium)")
    playwright.expect.set_options(timeout=_PATIENCE_MS)
    with playwright.sync_playwright() as driver, driver.chromium.launch(executable_path=program, args=_QUIET) as chromium:
        context = chromium.new_context(viewport={"width": width, "height": height}, locale="en-GB", timezone_id="UTC")
        context.set_default_timeout(_PATIENCE_MS)
        browser = Browser(context, os.environ.get("PICTURES", ""))
        yield browser
        assert not browser.errors
