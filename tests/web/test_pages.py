"""Pages say what the hub holds, whatever it holds."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from bd.web.authentication import session_of
from tests.truth import git, tip
from tests.waiting import until
from tests.web.conftest import ADA

if TYPE_CHECKING:
    from pathlib import Path

    from tests.web.conftest import Served

pytestmark = pytest.mark.one_in(27)

COOKIE = {"cookie": f"bd_session_80={session_of(ADA.token)}"}
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)> \"' \u202egnp.exe \x1b[31mred \u05e9\u05dc\u05d5\u05dd"
PAGES = (
    "/",
    "/beads",
    "/beads?status=all&q=e",
    "/beads/hub-one",
    "/agents",
    "/agents?since=all",
    "/flow",
    "/flow?since=1h",
    "/sign-in",
)


class Markup(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def links(self) -> set[str]:
        return {str(attributes["href"]) for tag, attributes in self.tags if tag == "a"}


def page(served: Served, path: str, **headers: str) -> Markup:
    return Markup(served.reader(path, **headers))


def plant(served: Served) -> None:
    """Put the hostile text wherever a bead, an agent or a file may have one."""
    own = served.clone
    words = HOSTILE.replace("\x1b", "")
    own.bd("update", "hub-one", "--title", words, "--description", words, "--notes", words, "--add-label", "a<b>")
    own.bd("comment", "hub-one", words)
    own.bd("claim", "hub-one", "--agent", "bob")
    own.bd("fail", "hub-one", "--reason", "crash", "--error", words, "--agent", "bob")
    own.bd("create", words, "--id", "hub-ask")
    own.bd("claim", "hub-ask", "--agent", "bob")
    own.bd("wait-human", "hub-ask", "--reason", words, "--agent", "bob")
    (own.path / "beads").mkdir(exist_ok=True)
    (own.path / "beads" / "hub-<i>x.yaml").write_text("title: [\n")
    git(own.path, "add", "beads")
    git(own.path, "commit", "--quiet", "-m", words)
    git(own.path, "push", "--quiet")


def test_the_board_shows_every_bead_with_a_way_to_it(served: Served) -> None:
    made = page(served, "/")
    assert {"/beads/hub-one", "/beads/hub-two", "/beads", "/agents", "/flow"} <= made.links
    assert "In progress and ready bead kind agent since status hub-one Mend the proxy P1 task" in made.text
    assert "waits on hub-one" in made.text


def test_nothing_from_a_hub_is_markup_or_hides_anything(served: Served) -> None:
    plant(served)
    for path in (*PAGES, "/beads/hub-ask", "/new"):
        text = served.reader(path, **COOKIE)
        made = Markup(text)
        assert not {"img", "style", "i"} & {tag for tag, _ in made.tags}, path
        assert all(attributes.get("src") for tag, attributes in made.tags if tag == "script")
        assert not {name for _, attributes in made.tags for name in attributes if name == "style" or name.startswith("on")}
        assert "\u202e" not in text
        assert "\x1b" not in text
    assert "<script>alert(1)</script>" in page(served, "/beads/hub-one").text


@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_nothing_from_elsewhere(path: str, served: Served) -> None:
    made = page(served, path)
    loaded = [
        str(attributes.get(name)) for tag, attributes in made.tags for name in ("src", "href", "action") if attributes.get(name)
    ]
    assert all(address.startswith(("/", "?")) and not address.startswith("//") for address in loaded)
    for address in {one for one in loaded if one.startswith("/assets/")}:
        answer = served.client.get(address)
        assert answer.status_code == 200
        assert "http" not in answer.text.replace("http://www.w3.org/2000/svg", "")


def test_a_bead_is_shown_with_its_past_field_by_field(served: Served) -> None:
    served.clone.bd("update", "hub-one", "--priority", "0", "--description", "First\n\nthen")
    made = page(served, "/beads/hub-one")
    past = served.clone.bd("history", "hub-one", "--json").json
    assert "priority: 1 → 0" in made.text
    assert "description: First then" in made.text
    assert all(event["commit"][:8] in made.text for event in past)
    assert all(f"{key}:" in made.text for event in past for key in event["changes"])


def test_what_waits_for_what_is_drawn_with_ways_to_it(served: Served) -> None:
    made = page(served, "/beads/hub-two")
    assert "What waits for what" in made.text
    boxes = [attributes for tag, attributes in made.tags if tag == "a" and "box" in (attributes.get("class") or "")]
    assert {(one["href"], one["class"]) for one in boxes} == {("/beads/hub-one", "box"), ("/beads/hub-two", "box here")}


def test_a_claims_token_is_on_no_page(served: Served) -> None:
    token = served.clone.bd("claim", "hub-one", "--agent", "bob", "--json").json[0]["claim"]["token"]
    assert all(token not in served.reader(path, **COOKIE) for path in PAGES)


def test_a_bead_that_is_gone_has_a_past(served: Served) -> None:
    served.clone.bd("delete", "hub-two", "--force")
    assert "This bead is gone" in page(served, "/beads/hub-two").text


@pytest.mark.parametrize(
    "path", ["/beads/hub-nope", "/beads/%2e%2e", "/beads/%3Cscript%3E", "/beads/hub-%00", "/nothing", "/assets/x"]
)
def test_what_is_not_there_is_not_found(path: str, served: Served) -> None:
    answer = served.client.get(path, headers={"accept": "text/html"})
    assert answer.status_code in (400, 404)
    assert answer.headers["content-type"].startswith("text/html")
    assert "<script>" not in answer.text


def test_a_program_is_told_in_json(served: Served) -> None:
    answer = served.client.get("/beads/hub-nope", headers={"accept": "application/json"})
    assert answer.status_code == 404
    assert answer.json()["code"] == "no_such_bead"


def test_beads_are_found_by_words_and_status(served: Served) -> None:
    served.clone.bd("update", "hub-two", "--description", "Mention the Certificate")
    served.clone.bd("close", "hub-one", "--force", "--reason", "done")
    assert "hub-two" in page(served, "/beads?q=certificate").text
    assert "hub-one" not in page(served, "/beads?q=proxy").text
    assert "hub-one" in page(served, "/beads?q=proxy&status=all").text
    assert "Nothing found." in page(served, "/beads?q=nowhere").text
    assert "hub-two" not in page(served, "/beads?status=closed").text


def test_agents_and_flow_tell_what_metrics_tell(served: Served) -> None:
    own = served.clone
    own.bd("agent", "add", "bob", "--max", "2")
    own.bd("claim", "hub-one", "--agent", "bob")
    own.bd("close", "hub-one", "--agent", "bob", "--reason", "done")
    own.bd("claim", "hub-two", "--agent", "bob")
    numbers = json.loads(own.bd("metrics", "--since", "1d", "--json").out)
    flow, agents = page(served, "/flow").text, page(served, "/agents").text
    assert f"Closed, {numbers['throughput']['closed']} in all" in flow
    assert f"claims {numbers['contention']['claims']}," in flow
    assert "Waits until claimed" in flow
    assert "bob busy" not in agents
    assert "holds 1 of 2 hub-two" in agents
    assert "closed 1, 0 failed" in agents


def test_a_page_is_as_new_as_the_hub(served: Served) -> None:
    assert "Novel" not in page(served, "/").text
    served.clone.bd("create", "Novel", "--id", "hub-new")
    assert "Novel" in page(served, "/").text


def test_files_that_cant_be_read_are_named_and_stop_nobody(served: Served, hub: Path) -> None:
    plant(served)
    # What plain git has pushed is not seen while the site's own fetch holds the clone's lock.
    until(lambda: "hub-<i>x.yaml" in page(served, "/").text)
    assert "hub-two" in page(served, "/").text


def test_a_hub_that_is_away_leaves_the_pages_and_is_told(served: Served, hub: Path) -> None:
    known = served.site.feed
    hub.rename(hub.with_name("away.git"))
    while not known.stale_since:
        known.look()
    assert "hub-one" in page(served, "/").text
    health = served.client.get("/healthz")
    assert health.status_code == 503
    assert health.json()["stale_since"]
    hub.with_name("away.git").rename(hub)
    while known.stale_since:
        known.look()
    assert served.client.get("/healthz").json()["tip"] == tip(hub)
