"""The browser interface as a person sees it, in a real browser: list, board, epics, one bead, edits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.clients.server import running
from tests.truth import tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.browser import Browser
    from tests.clients.conftest import Workspace
    from tests.running import Clone

pytestmark = [pytest.mark.parametrize("workspace", ["a remote"], indirect=True), pytest.mark.one_in(3)]


@pytest.fixture
def address(workspace: Workspace) -> Iterator[str]:
    bd = workspace.clone.here
    bd("create", "The web site", "--type", "epic", "--id", "hub-site")
    bd("create", "Write the text", "--parent", "hub-site", "--id", "hub-text", "--priority", "1", "--labels", "words")
    bd("create", "Publish it", "--deps", "hub-text", "--id", "hub-publ")
    bd("create", "Choose a name", "--id", "hub-name", "--description", "It has to be **short**.")
    bd("close", "hub-name", "--reason", "chosen")
    bd("create", "In somebody's hands", "--id", "hub-hand")
    bd("claim", "hub-hand", "--agent", "codemonkey")
    with running(workspace) as port:
        yield f"http://127.0.0.1:{port}"


def test_every_view_shows_what_is_there(address: str, browser: Browser) -> None:
    from playwright.sync_api import expect

    page = browser.open(f"{address}/#/issues")
    row = page.get_by_role("row").filter(has_text="hub-text")
    expect(row).to_contain_text("Write the text")
    for title in ("The web site", "Publish it", "In somebody's hands"):
        expect(page.get_by_role("row").filter(has_text=title)).to_be_visible()
    browser.picture(page, "issues")

    page.get_by_role("link", name="Board").click()
    columns = {
        "Blocked": ["Publish it"],
        "Ready": ["Write the text", "The web site"],
        "In Progress": ["In somebody's hands"],
        "Closed": ["Choose a name"],
    }
    for name, titles in columns.items():
        column = page.locator(".board-column").filter(has=page.get_by_text(name, exact=True))
        expect(column.locator(".board-card__title")).to_have_text(titles)
    browser.picture(page, "board")

    page.get_by_role("link", name="Epics").click()
    expect(page.get_by_text("0/1")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="hub-text")).to_be_visible()
    browser.picture(page, "epics")

    page.get_by_role("row").filter(has_text="hub-text").get_by_label("Issue type").click()
    one = page.locator("#issue-dialog")
    expect(one.locator("h2")).to_have_text("Write the text")
    for text in ("The web site", "Publish it", "words", "No comments yet"):
        expect(one.get_by_text(text)).to_be_visible()
    browser.picture(page, "bead")
    assert not browser.outside


def test_edits_reach_the_hub(workspace: Workspace, address: str, browser: Browser) -> None:
    from playwright.sync_api import expect

    page = browser.open(f"{address}/#/issues")
    page.get_by_role("button", name="New issue").click()
    page.get_by_label("Title", exact=True).fill("From the page")
    page.get_by_label("Issue type", exact=True).select_option("bug")
    page.get_by_label("Description", exact=True).fill("As *typed*.")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("row").filter(has_text="From the page")).to_be_visible()

    page.goto(f"{address}/#/issues?issue=hub-text")
    one = page.locator("#issue-dialog")
    one.get_by_role("button", name="Edit title").click()
    one.locator("h2 input").fill("Write all of the text")
    one.get_by_role("button", name="Save").click()
    expect(one.locator("h2")).to_have_text("Write all of the text")
    page.reload()  # the page takes no edit while it waits for its last one, and shows some before they are there
    status = one.locator(".badge--status")
    status.select_option("in_progress")
    expect(status).to_have_class(re.compile("is-in_progress"))
    one.get_by_placeholder("Add a comment").fill("half done")
    one.get_by_role("button", name="Add Comment").click()
    expect(one.get_by_text("half done")).to_be_visible()
    browser.picture(page, "edited")
    page.reload()
    status.select_option("closed")
    page.reload()
    expect(status).to_have_class(re.compile("is-closed"))
    bead = tip_bead(workspace.path, "hub-text")
    assert bead is not None
    assert (bead.title, bead.status) == ("Write all of the text", "closed")
    assert [comment["text"] for comment in bead.get("comments")] == ["half done"]
    (made,) = workspace.clone.here("search", "From the page", "--json").json
    assert (made["issue_type"], made["description"]) == ("bug", "As *typed*.")
    expect(page.locator("#fatal-error-dialog")).to_be_hidden()


def test_an_open_page_shows_what_another_clone_made_and_asks_for_nothing_until_then(
    workspace: Workspace, address: str, browser: Browser, clone: Callable[[str], Clone]
) -> None:
    from playwright.sync_api import expect

    page = browser.open(f"{address}/#/board")
    expect(page.locator(".board-card")).to_have_count(5)
    asked = workspace.calls()
    for args in (("list", "--json"), ("ready", "--fetch"), ("show", "hub-text"), ("stats",), ("hooks", "run", "pre-commit")):
        workspace.clone.here(*args)
    clone("bob").here("create", "From another clone")
    assert workspace.calls() == asked
    workspace.clone.here("sync")
    expect(page.locator(".board-card").filter(has_text="From another clone")).to_be_visible()
    # Each list once more, and no more: what was only read has not woken the page before.
    assert len(workspace.calls()) <= 2 * len(asked)
