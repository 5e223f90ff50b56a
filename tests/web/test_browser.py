"""The pages in a real browser: they show, they move by themselves, they change things, and nothing is wrong with them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.browser import started
from tests.truth import tip_bead
from tests.web.running import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Locator, LocatorAssertions, Page

    from tests.browser import Browser
    from tests.running import Clone
    from tests.web.running import Server

TOKEN = "a-token-that-nobody-guesses"  # noqa: S105
PAGES = ("", "beads", "beads?q=proxy&status=all", "beads/hub-one", "beads/hub-two", "agents", "flow?since=all", "sign-in")


@pytest.fixture
def own(clone: Callable[[str], Clone]) -> Clone:
    made = clone("server")
    made.here("agent", "add", "bob", "--max", "2")
    made.here("create", "Mend the proxy", "--id", "hub-one", "--priority", "1")
    made.here("create", "Tell <b>the</b> users", "--id", "hub-two", "--deps", "hub-one")
    made.here("create", "Which logo?", "--id", "hub-ask")
    made.here("claim", "hub-ask", "--agent", "bob")
    made.here("wait-human", "hub-ask", "--agent", "bob", "--reason", "the blue or the red one?")
    made.here("claim", "hub-one", "--agent", "bob")
    return made


@pytest.fixture
def server(own: Clone, tmp_path: Path) -> Iterator[Server]:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"Ada Lovelace {TOKEN}\n")
    tokens.chmod(0o600)
    with serving(own, "--token-file", str(tokens)) as running:
        yield running


class Console:
    """What a page's console says that nobody wants to read there; a page whose policy was broken says so there too."""

    def __init__(self, page: Page) -> None:
        self.said: list[str] = []
        page.on("console", lambda message: self.said.append(message.text) if message.type in ("error", "warning") else None)


def opened(browser: Browser, url: str) -> tuple[Page, Console]:
    page = browser.open("about:blank")
    console = Console(page)
    page.goto(url)
    return page, console


def signed_in(browser: Browser, server: Server) -> Page:
    page = browser.open(f"{server.url}sign-in")
    page.get_by_label("Your token").fill(TOKEN)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name=re.compile("Ada Lovelace"))).to_be_visible()
    return page


def expect(what: Locator) -> LocatorAssertions:
    from playwright.sync_api import expect as expected

    return expected(what)


def row(page: Page, bead_id: str) -> Locator:
    return page.locator(f"tr:has(td.id:first-child > a[href='/beads/{bead_id}'])")


def test_pages_render_and_nothing_is_wrong_with_them(browser: Browser, server: Server) -> None:
    for place, path in enumerate(PAGES):
        page, console = opened(browser, server.url + path)
        expect(page.locator("h1")).to_be_visible()
        expect(page.locator("#freshness.live")).to_contain_text("live")
        assert console.said == [], path
        browser.picture(page, f"serve-{place}")
        page.close()
    assert browser.outside == []


def test_pages_fit_a_phone(server: Server) -> None:
    with started(width=360, height=740) as narrow:
        for place, path in enumerate(PAGES):
            page = narrow.open(server.url + path)
            expect(page.locator("#freshness.live")).to_be_visible()
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                assert page.evaluate("document.documentElement.scrollWidth") <= 360, (path, scheme)
                narrow.picture(page, f"serve-{scheme}-phone-{place}")
            page.close()


def test_a_bead_closed_by_an_agent_moves_on_the_open_page(browser: Browser, server: Server, own: Clone) -> None:
    page, console = opened(browser, server.url)
    finished = page.locator("section", has=page.get_by_role("heading", name="Finished lately"))
    expect(row(page, "hub-one")).to_contain_text("in progress")
    expect(page.locator("#freshness.live")).to_be_visible()
    page.evaluate("window.isTheSame = true")
    own.bd("close", "hub-one", "--agent", "bob", "--reason", "merged")
    expect(finished.get_by_role("link", name="hub-one")).to_be_visible()
    expect(row(page, "hub-one")).to_have_class(re.compile("moved"))
    expect(row(page, "hub-two")).to_contain_text("ready")
    assert page.evaluate("window.isTheSame"), "the page was not loaded again"
    assert console.said == []


def test_a_person_answers_comments_and_makes_a_bead(browser: Browser, server: Server, hub: Path) -> None:
    page = signed_in(browser, server)
    page.get_by_role("link", name="hub-ask").click()
    page.get_by_label("Answer, and reopen it").fill("the blue one")
    page.get_by_role("button", name="Answer").click()
    expect(page.get_by_text("the blue one").first).to_be_visible()
    answered = tip_bead(hub, "hub-ask")
    assert answered is not None
    assert answered.status == "open"
    assert answered.comments[-1]["author"] == "Ada Lovelace"
    page.get_by_role("link", name="New bead").click()
    page.get_by_label("Title").fill("Wash <up>")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("p.title")).to_have_text("Wash <up>")
    made = tip_bead(hub, page.url.rpartition("/")[2])
    assert made is not None
    assert made.get("created_by") == "human:Ada Lovelace"


def test_what_somebody_is_typing_is_left_alone(browser: Browser, server: Server, own: Clone) -> None:
    page = signed_in(browser, server)
    page.goto(f"{server.url}beads/hub-two")
    expect(page.locator("#freshness.live")).to_be_visible()
    page.get_by_label("Comment").fill("I am still")
    own.bd("update", "hub-two", "--title", "Tell everybody")
    expect(page.locator("p.title")).to_have_text("Tell everybody")
    assert page.get_by_label("Comment").input_value() == "I am still"


def test_a_server_that_dies_is_told_and_what_happened_meanwhile_is_shown_when_it_is_back(browser: Browser, own: Clone) -> None:
    with serving(own) as server:
        page = browser.open(server.url)
        expect(page.locator("#freshness.live")).to_be_visible()
        server.process.kill()
        server.process.wait()
        expect(page.locator("#freshness.stale")).to_contain_text("stale since")
        expect(row(page, "hub-one")).to_be_visible()
        own.bd("create", "Meanwhile", "--id", "hub-new")
        with serving(own, "--port", server.url.rpartition(":")[2].strip("/")):
            expect(row(page, "hub-new")).to_be_visible()
            expect(page.locator("#freshness.live")).to_be_visible()
