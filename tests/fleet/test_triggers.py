"""Triggers: one plan an event, filled with what the event says, as data."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bd.core.errors import BadInput
from bd.core.schema import BEAD_FIELDS
from bd.policy.triggers import On, filled, forge_key, is_named, parse_on
from bd.schedule import sources
from tests.auditing import assert_sound
from tests.fleet.test_sources import ODD
from tests.hostile.planting import plant
from tests.race.history import assert_nothing_twice
from tests.running import result_of
from tests.truth import all_beads, git, log, tip, tip_file, tip_paths

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bd.core.model import Bead
    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(9)


def put_in(hub: Path, files: dict[str, str]) -> None:
    """Commit files to a hub with plain git."""
    plant(hub, files)


PLAN = """\
title: "Review {event.pull_request.title}"
spec: {context_refs: ["{event.pull_request.html_url}"]}
tasks:
  - {name: read, title: "Read #{event.number}", type: review, description: "By {event.pull_request.user.login}: {event.nothing}"}
"""
NASTY = 'x"\npriority: 0\ntasks:\n  - {title: evil}\n{event.pull_request.html_url} \x1b[31m'
EVENT = {
    "action": "opened",
    "number": 7,
    "pull_request": {"title": NASTY, "html_url": "https://github.com/a/b/pull/7", "user": {"login": "ada"}},
}


@pytest.fixture
def clones(clone: Clones, tmp_path: Path) -> tuple[Clone, Clone]:
    (tmp_path / "plan.yaml").write_text(PLAN)
    (tmp_path / "event.json").write_text(json.dumps(EVENT))
    alice, bob = clone("alice"), clone("bob")
    alice.here("trigger", "add", "review", "--on", "github:pull_request.opened", "--plan", str(tmp_path / "plan.yaml"))
    bob.here("sync")
    return alice, bob


def made(hub: Path) -> dict[str, Bead]:
    return {(bead.get("idempotency_key") or "").rpartition("/")[2]: bead for bead in all_beads(hub)}


def test_an_event_fills_texts_and_nothing_else(clones: tuple[Clone, Clone], hub: Path, tmp_path: Path) -> None:
    alice, _ = clones
    shown = alice.here("trigger", "fire", "review", str(tmp_path / "event.json"), "--delivery", "d1", "--json").json
    assert (shown["made"], set(shown["ids"])) == (True, {"root", "read"})
    beads = made(hub)
    root, read = beads["d1"], beads["read"]
    assert root.title == "Review " + " ".join(NASTY.split())
    assert (root.priority, root.get("created_by"), len(beads)) == (2, "event:review", 2)
    assert root.get("spec") == {"context_refs": ["https://github.com/a/b/pull/7"]}
    assert root.get("metadata") == {"event": {"trigger": "review", "on": "github:pull_request.opened", "key": "d1"}}
    assert (read.title, read.type, read.get("description")) == ("Read #7", "review", "By ada: ")


def test_two_clones_bring_the_same_event(clones: tuple[Clone, Clone], hub: Path, tmp_path: Path) -> None:
    started = [one.start("trigger", "fire", "review", str(tmp_path / "event.json"), "--json") for one in clones]
    results = [result_of(process) for process in started]
    assert [result.code for result in results] == [0, 0], results
    assert results[0].json["ids"] == results[1].json["ids"]
    assert sorted(result.json["made"] for result in results) == [False, True]
    assert len(all_beads(hub)) == 2
    assert_sound(hub)
    assert_nothing_twice(hub)


def test_an_event_whose_beads_were_deleted_makes_nothing_again(clones: tuple[Clone, Clone], hub: Path, tmp_path: Path) -> None:
    alice, bob = clones
    ids = alice.here("trigger", "fire", "review", str(tmp_path / "event.json"), "--json").json["ids"]
    alice.here("delete", *ids.values(), "--force")
    assert "Made before" in bob.here("trigger", "fire", "review", str(tmp_path / "event.json")).out
    assert all_beads(hub) == []


def test_an_event_whose_beads_were_undone_makes_nothing_again(clones: tuple[Clone, Clone], hub: Path, tmp_path: Path) -> None:
    alice, bob = clones
    alice.here("trigger", "fire", "review", str(tmp_path / "event.json"))
    alice.here("undo")
    assert all_beads(hub) == []
    assert "Made before" in bob.here("trigger", "fire", "review", str(tmp_path / "event.json")).out
    assert all_beads(hub) == []
    (tmp_path / "own.yaml").write_text("title: Mine\nidempotency_key: mine\n")
    for _ in range(2):
        alice.here("plan", "apply", str(tmp_path / "own.yaml"))
        assert [bead.title for bead in all_beads(hub)] == ["Mine"]
        alice.here("undo")


@pytest.mark.parametrize("step", ["push", "pushed"])
def test_killed_at_a_step(clones: tuple[Clone, Clone], hub: Path, tmp_path: Path, step: str) -> None:
    alice, bob = clones
    words = ("trigger", "fire", "review", str(tmp_path / "event.json"))
    alice.bd(*words, env={"BD_TEST_STOP_AT": step}, code=137)
    assert len(all_beads(hub)) == (2 if step == "pushed" else 0)
    bob.bd(*words)
    alice.bd(*words)
    assert len(all_beads(hub)) == 2
    assert_nothing_twice(hub)


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ("[1]", "not a JSON object"),
        ("{", "is not JSON"),
        ('{"action": "closed", "pull_request": {}}', "this is not pull_request.opened"),
        ('{"action": "opened", "issue": {}}', "has no pull_request"),
        ('{"action": "opened", "pull_request": {}}', "the event has no id"),
        ('{"action": "opened", "pull_request": "x"}', "has no pull_request"),
    ],
)
def test_what_is_no_such_event(clones: tuple[Clone, Clone], hub: Path, event: str, says: str) -> None:
    before = tip(hub)
    assert says in clones[0].here("trigger", "fire", "review", "-", input=event, code=2).err
    assert tip(hub) == before


def test_an_ended_dag_sets_off_the_next(clones: tuple[Clone, Clone], hub: Path, tmp_path: Path) -> None:
    alice, bob = clones
    alice.here("create", "Pipeline", "--id", "hub-dag", "-t", "epic")
    alice.here("create", "Step", "--id", "hub-step", "--parent", "hub-dag")
    (tmp_path / "next.yaml").write_text(
        "title: 'Report on {event.title}, {event.done} of {event.total}'\nspec: {context_refs: ['task:{event.root}:output']}\n"
    )
    alice.here("trigger", "add", "report", "--on", "dag:hub-dag", "--plan", str(tmp_path / "next.yaml"))
    assert alice.here("trigger", "run", "--json").json == []
    alice.here("defer", "hub-dag")
    alice.here("close", "hub-step")
    bob.here("poll", "--agent", "coder")
    (report,) = [bead for bead in all_beads(hub) if bead.get("created_by") == "event:report"]
    assert report.title == "Report on Pipeline, 1 of 1"
    for one in (alice, bob):
        one.here("sync")
        assert one.here("trigger", "run", "--json").json == []
    assert len(all_beads(hub)) == 3


def test_a_trigger_that_a_hand_edit_has_broken_keeps_nobody_from_the_others(
    clones: tuple[Clone, Clone], hub: Path, tmp_path: Path
) -> None:
    alice, bob = clones
    (tmp_path / "plan.yaml").write_text('title: "Read {event.path}"\n')
    for name in ("broken", "good", "other", "worse"):
        alice.here("trigger", "add", name, "--on", "file:inbox/*.json", "--plan", str(tmp_path / "plan.yaml"))
    paths = [f".beads/triggers/{name}.yaml" for name in ("broken", "worse")]
    texts = {path: (tip_file(hub, path) or b"").decode() for path in paths}
    edited = {path: text.replace("title: Read", "uid: [x]\n    title: Read") for path, text in texts.items()}
    put_in(hub, {"inbox/a.json": "{}", **edited})
    answer = bob.here("trigger", "run", "--json", code=2)
    assert len(all_beads(hub)) == 2
    assert [one["trigger"] for one in answer.json if one.get("made")] == ["good", "other"]
    failed = [("broken", "bad_input"), ("worse", "bad_input")]
    assert [(one["trigger"], one["code"]) for one in answer.json if "error" in one] == failed
    assert "Error: broken: a bead of its plan can't be read" in answer.err
    again = bob.here("trigger", "run", "--json", code=2)
    assert [(one["trigger"], one["code"]) for one in again.json] == failed, "the others have fired"
    assert "Error: worse: a bead of its plan can't be read" in bob.here("trigger", "run", code=2).err


def test_a_new_file_is_an_event_and_an_old_one_is_none(clones: tuple[Clone, Clone], hub: Path, tmp_path: Path) -> None:
    alice, bob = clones
    (tmp_path / "in.yaml").write_text("title: 'Take in {event.name}'\n")
    alice.here("trigger", "add", "inbox", "--on", "file:inbox/**/*.json", "--plan", str(tmp_path / "in.yaml"))
    put_in(hub, {"inbox/a.json": "{}", "inbox/deep/b.json": "[]", "inbox/c.txt": ""})
    assert len(alice.here("trigger", "run", "--json").json) == 2
    assert bob.here("trigger", "run", "--json").json == []
    assert sorted(bead.title for bead in all_beads(hub)) == ["Take in a.json", "Take in b.json"]
    put_in(hub, {"inbox/a.json": '{"new": 1}'})
    bob.here("overseer", "--once")
    assert len(all_beads(hub)) == 3


def test_a_trigger_sees_what_is_committed_to_the_hub_and_nothing_else(
    clones: tuple[Clone, Clone], hub: Path, tmp_path: Path
) -> None:
    alice, _ = clones
    (tmp_path / "in.yaml").write_text("title: 'found {event.path} {event.size} {event.sha256}'\n")
    (alice.path / "in").mkdir()
    (alice.path / "in" / "secret.env").write_text("TOKEN=x")
    (alice.path / "in" / "link").symlink_to("/etc/passwd")
    git(alice.path, "add", "in/link")
    git(alice.path, "commit", "-qm", "a link")
    git(alice.path, "push", "-q")
    put_in(hub, {"in/ours": "ours"})
    plan = ("--plan", str(tmp_path / "in.yaml"))
    alice.here("trigger", "add", "all", "--on", "file:in/**", *plan)
    for number, pattern in enumerate(("file:.git/bd/*.json", "file:.env", "file:**/*.json")):  # as somebody writes them by hand
        text = f"name: t{number}\nuid: 01KB6ZZZZZZZZZZZZZZZZZZZA{number}\non: '{pattern}'\nplan: [{{title: x, name: root}}]\n"
        put_in(hub, {f".beads/triggers/t{number}.yaml": text})
    made = alice.here("trigger", "run", "--json").json
    assert [one["trigger"] for one in made] == ["all"]
    assert [bead.title for bead in all_beads(hub)] == [f"found in/ours 4 {hashlib.sha256(b'ours').hexdigest()}"]
    doctor = alice.here("doctor", "--json").json
    assert {one["where"] for one in doctor["findings"] if one["code"] == "trigger"} == {
        f".beads/triggers/t{number}.yaml" for number in range(3)
    }


def test_what_a_trigger_makes_does_not_fire_it_again(clones: tuple[Clone, Clone], hub: Path, tmp_path: Path) -> None:
    alice, _ = clones
    (tmp_path / "in.yaml").write_text("title: 'Look at {event.path}'\ntasks: [{name: step, title: Step}]\n")
    for name, pattern in (("outputs", "artifacts/**"), ("pages", "docs/*.md")):
        alice.here("trigger", "add", name, "--on", f"file:{pattern}", "--plan", str(tmp_path / "in.yaml"))
    alice.here("config", "set", "board_path", "docs/board.md", "--clone")
    put_in(hub, {"docs/a.md": "a", "artifacts/hub-other/report": "r"})
    assert {one["trigger"] for one in alice.here("trigger", "run", "--json").json} == {"outputs", "pages"}
    made = all_beads(hub)
    assert len(made) == 4
    put_in(hub, {f"artifacts/{bead.id}/out": bead.id for bead in made})
    alice.here("board", "--publish")
    assert "docs/board.md" in tip_paths(hub)
    assert alice.here("trigger", "run", "--json").json == []


def test_many_files_are_read_a_few_at_a_time_and_none_is_forgotten(
    clones: tuple[Clone, Clone], hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, _ = clones
    (tmp_path / "in.yaml").write_text("title: '{event.name}'\n")
    alice.here("trigger", "add", "in", "--on", "file:in/*", "--plan", str(tmp_path / "in.yaml"))
    monkeypatch.setattr(sources, "_FILES_AT_ONCE", 2)
    monkeypatch.setattr(sources, "_LARGEST_FILE", 10)
    put_in(hub, {"in/1": "1", "in/2": "2" * 11, "in/3": "3", "in/4": "4", "in/5": "5"})
    made = [len(alice.here("trigger", "run", "--json").json) for _ in range(4)]
    assert made == [1, 2, 1, 0]


def test_add_list_remove(clones: tuple[Clone, Clone], hub: Path, tmp_path: Path) -> None:
    alice, bob = clones
    words = ("trigger", "add", "review", "--on", "github:issues.opened", "--plan", str(tmp_path / "plan.yaml"))
    assert "the trigger review already exists" in bob.here(*words, code=5).err
    assert bob.here("trigger", "list", "--json").json == [
        {"name": "review", "on": "github:pull_request.opened", "beads": 2, "title": "Review {event.pull_request.title}"}
    ]
    assert ".beads/triggers/review.yaml" in tip_paths(hub)
    bob.here("trigger", "remove", "review")
    assert ".beads/triggers/review.yaml" not in tip_paths(hub)
    assert "there is no trigger review" in alice.here("trigger", "fire", "review", str(tmp_path / "event.json"), code=4).err
    assert log(hub)[0].startswith("trigger-remove: review by ")
    assert git(alice.path, "status", "--porcelain") == ""


def test_a_plan_that_could_not_be_applied_is_no_triggers_plan(clones: tuple[Clone, Clone], tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("title: x\ntype: nonsense\n")
    result = clones[0].here("trigger", "add", "bad", "--on", "github:issues.opened", "--plan", str(tmp_path / "bad.yaml"), code=2)
    assert "'nonsense' is not a bead type" in result.err


@pytest.mark.parametrize(
    "text",
    [
        *("", "dag:", "github:issues", "cron:x", "file:"),
        *("file:/etc/*", "file:../*", "file:a/../../b", "file:~/x", "file:c:/x"),
        *(
            "file:*",
            "file:**",
            "file:**/*.json",
            "file:.env",
            "file:README.md",
            "file:i*/a",
            "file:[i]n/a",
            "file:./*",
            "file:in/",
        ),
        *("file:.git/*", "file:.git/bd/*.json", "file:in/.GIT/x", "file:.beads/**", "file:beads/*.yaml", "file:.agent-status/*"),
    ],
)
def test_what_nothing_waits_for(text: str) -> None:
    with pytest.raises(BadInput):
        parse_on(text)


@pytest.mark.parametrize(
    "edited",
    [
        [{"title": "x"}, {"title": "no name"}],
        [{"title": "x"}, {"title": "y", "name": 3}],
        [{"title": "x", "uid": 5}],
        [{"title": "x", "parent": ["hub-one"]}],
        [{"title": "x", "depends_on": 7}],
        [{"title": "x", "deps": [{}]}],
        [{"title": "x", "links": ["hub-one"]}],
        [{"title": "x", "metadata": "y"}],
    ],
    ids=str,
)
def test_a_plan_that_a_hand_edit_has_broken_is_bad_input(edited: list[dict[str, Any]]) -> None:
    with pytest.raises(BadInput):
        filled(edited, EVENT)


def test_what_is_waited_for() -> None:
    assert parse_on("dag:hub-a") == On("dag", "hub-a")
    assert parse_on("github:issues.opened") == On("github", "issues", "opened")
    assert parse_on("file:in/*.json") == On("file", "in/*.json")
    assert parse_on("file:./in//*.json") == On("file", "in/*.json")


PARTS = st.sampled_from(["a", "b", "ab", ".a", "a.json"])
PATTERN_PARTS = st.one_of(PARTS, st.sampled_from(["*", "**", "?", "a*", "*b", "[ab]", "[!a]", ".*", "*.json"]))


@given(path=st.lists(PARTS, min_size=1, max_size=5), pattern=st.lists(PATTERN_PARTS, min_size=1, max_size=5))
@example(path=["a", "b"], pattern=["a", "**"])
@example(path=["a"], pattern=["a", "**"])
def test_a_pattern_names_what_the_shell_of_python_finds(path: list[str], pattern: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, *path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        found = glob.glob("/".join(pattern), root_dir=folder, recursive=True)
        files = {os.path.normpath(one) for one in found if os.path.isfile(os.path.join(folder, one))}
    assert is_named("/".join(path), "/".join(pattern)) == ("/".join(path) in files)


def test_a_pattern_takes_no_longer_than_its_length_asks_for() -> None:
    assert not is_named("/".join(["d"] * 400), "/".join(["**"] * 400) + "/zz")
    assert not is_named("a" * 400, "*a" * 20 + "b")


def test_an_issue_is_known_by_its_address_and_a_delivery_by_its_id() -> None:
    on, issue = parse_on("github:issues.opened"), {"action": "opened", "issue": {"html_url": "https://x/1"}}
    assert forge_key(on, issue, None) == "https://x/1"
    assert forge_key(on, issue, "d9") == "d9"


@pytest.mark.parametrize("value", [None, 7, True, {"a": [1]}, "{event.b}", "x" * 30_000])
def test_a_field_may_be_anything(value: Any) -> None:
    (bead,) = filled([{"title": "T {event.a}", "labels": ["{event.a}"], "name": "{event.a}"}], {"a": value, "b": "deep"})
    assert len(bead["title"]) <= 500
    assert (bead["labels"], bead["name"]) == (["{event.a}"], "{event.a}")
    assert "deep" not in bead["title"], "what an event says is not filled again"


def test_odd_values_in_a_plan_keep_nobody_from_the_others(clones: tuple[Clone, Clone], hub: Path, tmp_path: Path) -> None:
    """Somebody may have edited the files of triggers by hand, and any agent's poll fires them."""
    alice, bob = clones
    (tmp_path / "plan.yaml").write_text('title: "Read {event.path}"\n')
    alice.here("trigger", "add", "good", "--on", "file:inbox/*.json", "--plan", str(tmp_path / "plan.yaml"))
    text = (tip_file(hub, ".beads/triggers/good.yaml") or b"").decode()
    assert "title: Read" in text
    keys = [key for key in BEAD_FIELDS if key not in ("title", "uid")]
    odd = [(key, value) for number, key in enumerate(keys) for value in ODD[number % 3 :: 3]]
    put_in(
        hub,
        {
            "inbox/a.json": "{}",
            **{
                f".beads/triggers/z{number}.yaml": text.replace("name: good", f"name: z{number}").replace(
                    "title: Read", f"{key}: {value}\n    title: Read"
                )
                for number, (key, value) in enumerate(odd)
            },
        },
    )
    answer = bob.here("trigger", "run", "--json", "--fetch", code=2)
    failed = {one["trigger"]: one["code"] for one in answer.json if "error" in one}
    assert next(one for one in answer.json if one["trigger"] == "good")["made"]
    assert {
        odd[int(name[1:])]: code for name, code in failed.items() if code not in ("bad_input", "no_such_bead", "ambiguous_id")
    } == {}
    assert bob.here("poll", "--agent", "coder", check=False).code != 1
    everything = ("list", "--all", "--limit", "0", "--json", "--fetch")
    written, read = (
        {bead["id"]: {**bead, "effective_priority": 0} for bead in one.here(*everything).json} for one in (bob, alice)
    )
    differing = [(bead, read.get(name)) for name, bead in written.items() if bead != read.get(name)]
    assert differing == [], "as its writer has it, and as others read it"
    assert [found for found in bob.here("doctor", "--json", check=False).json["findings"] if found["level"] == "error"] == []
