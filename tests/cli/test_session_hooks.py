"""`bd setup` of tools with hooks, and what `bd prime --hook` answers them; whole sessions are played by stand-ins."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.core.errors import BadInput
from bd.setup import session_hooks
from bd.setup.session_hooks import HOOK_FILES, PLUGIN_FILES, answer, with_hooks, without_hooks
from tests.terminal import with_bd

if TYPE_CHECKING:
    from tests.running import Clone

pytestmark = pytest.mark.one_in(15)

SCRIPTS = Path(__file__).parents[2] / "examples" / "agents"
THEIRS: dict[str, Any] = {
    "model": "theirs",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "their-own"}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check"}]}],
    },
}
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)
_settings = st.dictionaries(st.text().filter(lambda name: name != "hooks"), _json)
_entries = st.lists(
    st.fixed_dictionaries({"hooks": st.lists(st.fixed_dictionaries({"command": st.text()}), min_size=1)}), min_size=1
)


@given(
    _settings,
    st.dictionaries(st.sampled_from(["Stop", "SessionStart", "PreToolUse"]), _entries),
    st.sampled_from(sorted(HOOK_FILES)),
)
def test_hooks_come_and_go_and_the_rest_stays(settings: dict[str, Any], hooks: dict[str, Any], tool: str) -> None:
    told = {**settings, **({"hooks": hooks} if hooks else {})}
    before, file = json.dumps(told), HOOK_FILES[tool]
    there = with_hooks(before, file)
    assert with_hooks(there, file) == there
    assert {event for event in file.events if session_hooks.COMMAND in json.dumps(json.loads(there)["hooks"][event])} == set(
        file.events
    )
    assert json.loads(without_hooks(there, file) or "{}") == told
    later = json.loads(there)
    for entries in later["hooks"].values():
        entries.append(THEIRS["hooks"]["Stop"][0])
    assert with_hooks(json.dumps(later), file) == json.dumps(later), "wherever bd's own stand"
    assert without_hooks(before, file) == before


@pytest.mark.parametrize("text", ["[]", "{", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "// a comment\n{}", "[" * 100_000])
def test_what_cannot_be_read_is_left_alone(text: str) -> None:
    for change in (with_hooks, without_hooks):
        with pytest.raises(BadInput, match=r"\.claude/settings\.json"):
            change(text, HOOK_FILES["claude"])


@pytest.mark.parametrize("tool", HOOK_FILES)
def test_setup_adds_hooks_beside_others_and_takes_only_its_own(local_hub: Clone, tool: str) -> None:
    path = local_hub.path / HOOK_FILES[tool].path
    path.parent.mkdir()
    path.write_text(json.dumps(THEIRS))
    assert local_hub.here("setup", tool, "--check", "--json", code=5).json["files"][HOOK_FILES[tool].path] == "missing"
    local_hub.here("setup", tool)
    assert json.loads(path.read_text())["hooks"]["Stop"][0] == THEIRS["hooks"]["Stop"][0]
    written = path.read_text()
    assert set(local_hub.here("setup", tool, "--json").json["files"].values()) == {"up to date"}
    assert path.read_text() == written
    path.write_text(written.replace("|| exit 1", "|| true"))
    assert local_hub.here("setup", tool, "--check", "--json", code=5).json["files"][HOOK_FILES[tool].path] == "old"
    local_hub.here("setup", tool)
    assert path.read_text() == written
    local_hub.here("setup", tool, "--remove")
    assert json.loads(path.read_text()) == THEIRS


@pytest.mark.parametrize("tool", PLUGIN_FILES)
def test_setup_writes_and_removes_plugins(local_hub: Clone, tool: str) -> None:
    paths = [local_hub.path / name for name in PLUGIN_FILES[tool]]
    local_hub.here("setup", tool)
    assert all(path.exists() for path in paths)
    local_hub.here("setup", tool, "--check")
    paths[0].write_text("bd prime --hook, changed")
    assert "old" in local_hub.here("setup", tool, "--check", code=5).out
    local_hub.here("setup", tool, "--remove")
    assert not any(path.exists() for path in paths)


def test_what_a_hook_is_told() -> None:
    assert answer({"hook_event_name": "SessionStart"}, "the page", ["hub-a"]) == {
        "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "the page"}
    }
    for event in session_hooks.STOPS:
        told = answer({"hook_event_name": event}, "the page", ["hub-a"])
        assert told["decision"] == "block"
        assert "hub-a" in told["reason"]
        assert answer({"hook_event_name": event}, "the page", []) == {}
        assert answer({"hook_event_name": event, "stop_hook_active": True}, "the page", ["hub-a"]) == {}, "once, not for ever"
    for unknown in ({}, {"hook_event_name": "PreCompact"}, {"hook_event_name": 7}):
        assert answer(unknown, "the page", ["hub-a"]) == {}


def test_prime_answers_a_hook(local_hub: Clone, tmp_path: Path) -> None:
    local_hub.here("create", "One", "--id", "hub-one")
    event = json.dumps({"hook_event_name": "Stop"})
    assert local_hub.here("prime", "--hook", "--agent", "bob", input=event).json == {}
    local_hub.here("claim", "hub-one", "--agent", "bob")
    assert local_hub.here("prime", "--hook", "--agent", "bob", input=event).json["decision"] == "block"
    assert local_hub.here("prime", "--hook", "--agent", "alice", input=event).json == {}
    assert "not JSON" in local_hub.here("prime", "--hook", input="{", code=2).err


@pytest.mark.one_in(15)
@pytest.mark.parametrize("tool", [*HOOK_FILES, *PLUGIN_FILES])
def test_a_session_of_each_tool(local_hub: Clone, tmp_path: Path, tool: str) -> None:
    if tool in PLUGIN_FILES and not shutil.which("node"):
        pytest.skip("the plugins are JavaScript")
    local_hub.here("create", "One", "--id", "hub-one")
    environment = with_bd(tmp_path, dict(os.environ))
    environment["PATH"] += os.pathsep + os.path.dirname(shutil.which("node") or "")
    done = subprocess.run(
        ["sh", str(SCRIPTS / f"{tool}.sh"), "FORGETFUL"], cwd=local_hub.path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "You are codemonkey" in done.stdout
    assert "You still hold hub-one" in done.stdout
    [bead] = local_hub.here("show", "hub-one", "--json").json
    assert bead["status"] == "closed"
