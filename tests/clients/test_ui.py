"""The browser interface's server: every edit, what others change, and quiet when nothing happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.clients.server import LISTS, Page, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.clients.conftest import Workspace
    from tests.running import Clone


@pytest.fixture
def page(workspace: Workspace) -> Iterator[Page]:
    with running(workspace) as port:
        opened = Page(port)
        yield opened
        opened.close()


def test_every_edit(workspace: Workspace, page: Page) -> None:
    page.ask("subscribe-list", id="tab:issues", type=LISTS["tab:issues"])
    page.ask("create-issue", title="An epic", type="epic", priority=1, description="from the page")
    page.ask("create-issue", title="A task", type="task")
    page.until(lambda seen: bool(seen.by_title("An epic") and seen.by_title("A task")))
    epic, task = (page.by_title(title)["id"] for title in ("An epic", "A task"))
    page.ask("subscribe-list", id=f"detail:{task}", type="issue-detail", params={"id": task})
    page.ask("update-status", id=task, status="in_progress")
    page.ask("update-priority", id=task, priority=0)
    page.ask("update-assignee", id=task, assignee="bob")
    page.ask("update-assignee", id=task, assignee="")
    for field in ("title", "description", "acceptance", "notes", "design"):
        page.ask("edit-text", id=task, field=field, value=f"new {field}")
    page.ask("edit-text", id=task, field="design", value="")
    page.ask("dep-add", a=task, b=epic)
    page.ask("dep-remove", a=task, b=epic)
    page.ask("label-add", id=task, label="seen")
    page.ask("label-remove", id=task, label="seen")
    page.ask("add-comment", id=task, text="hi there")
    assert [entry["text"] for entry in page.ask("get-comments", id=task)] == ["hi there"]
    page.ask("update-status", id=task, status="closed")
    page.ask("update-status", id=task, status="open")
    assert "no issue found" in page.ask("update-status", fails=True, id="nope-000", status="open")["message"]
    page.ask("delete-issue", id=epic)
    (shown,) = workspace.clone.here("show", task, "--json", env=workspace.environment).json
    assert (shown["title"], shown["status"], shown["priority"], shown.get("design")) == ("new title", "open", 0, None)
    assert all(call.startswith("--sandbox ") for call in workspace.calls())


@pytest.mark.parametrize("workspace", ["a remote"], indirect=True)
def test_reads_leave_the_page_alone_and_what_another_clone_made_appears(
    workspace: Workspace, page: Page, clone: Callable[[str], Clone]
) -> None:
    for name, kind in LISTS.items():
        page.ask("subscribe-list", id=name, type=kind)
    assert len(workspace.calls()) == len(LISTS)
    for args in (("list",), ("ready", "--fetch"), ("show", "nope", "--json"), ("stats",), ("hooks", "run", "pre-commit")):
        workspace.clone.here(*args, check=False)
    clone("bob").here("create", "From bob", "--id", "hub-bob")
    workspace.clone.here("sync")
    page.until(lambda seen: "hub-bob" in seen.seen)
    # One round for the sync; reads would have made another. The first list is pushed before the rest of its round is asked for.
    assert len(workspace.calls()) <= 2 * len(LISTS)
