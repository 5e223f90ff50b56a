"""A dry run's word is the real run's: the same exit code, whatever is wrong, and nothing written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
import pytest

from bd.cli.click_commands import bd as program
from bd.cli.table import COMMANDS
from tests.hostile.planting import plant
from tests.running import Clone
from tests.truth import git, tip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.one_in(20)

RUNS = {
    "upgrade": ("upgrade",),
    "archive": ("archive", "--older-than", "1d"),
    "create": ("create", "--file", "plan.yaml"),
    "delete": ("delete", "hub-a", "--force"),
    "epic close-eligible": ("epic", "close-eligible"),
    "import": ("import", "in.jsonl"),
    "migrate": ("migrate", "in.jsonl"),
    "plan apply": ("plan", "apply", "plan.yaml"),
    "purge": ("purge",),
    "rebalance": ("rebalance",),
    "work": ("work", "--once", "--agent", "bob"),
}
SETTINGS = ".beads/config.yaml"
BEAD = "id: {}\ntitle: {}\ntype: {}\nstatus: {}\ncreated_at: 2020-01-01T00:00:00Z\nupdated_at: 2020-01-01T00:00:00Z\n"
DONE = BEAD + "closed_at: 2020-01-02T00:00:00Z\n"
TREE = {
    "beads/hub-a.yaml": BEAD.format("hub-a", "A", "task", "open"),
    "beads/hub-e.yaml": BEAD.format("hub-e", "E", "epic", "open"),
    "beads/hub-f.yaml": DONE.format("hub-f", "F", "task", "closed") + "parent: hub-e\n",
    "beads/hub-old.yaml": DONE.format("hub-old", "Old", "task", "closed"),
}
INPUT = {
    "plan.yaml": "title: Root\ntasks:\n  - {name: one, title: One}\n",
    "in.jsonl": json.dumps({"id": "hub-n", "title": "N"}) + "\n",
}
# What is wrong: files of the hub, and the input.
FAULTS: dict[str, tuple[dict[str, str], dict[str, str | None]]] = {
    "nothing": ({}, {}),
    "settings that can't be read": ({SETTINGS: "format: [2\n"}, {}),
    "settings that say nothing": ({SETTINGS: "# later\n"}, {}),
    "a newer format": ({SETTINGS: "format: 99\nprefix: hub\n"}, {}),
    "a bead that can't be read": ({"beads/hub-a.yaml": "# later\n"}, {}),
    "a bead that is imported and can't be read": ({"beads/hub-n.yaml": "id: [\n"}, {}),
    "no input": ({}, dict.fromkeys(INPUT)),
    "empty input": ({}, dict.fromkeys(INPUT, "")),
    "input of comments": ({}, dict.fromkeys(INPUT, "# later\n")),
    "input that is neither": ({}, dict.fromkeys(INPUT, "title: [\n")),
    "input that says null": ({}, dict.fromkeys(INPUT, "null\n")),
    "input that is too large for a file": (
        {},
        {
            "plan.yaml": f"title: x\ndescription: {'x' * 5_000_000}\n",
            "in.jsonl": json.dumps({"id": "hub-n", "title": "N", "description": "x" * 5_100_000}) + "\n",
        },
    ),
    "one line of two that can't be read": ({}, {"in.jsonl": INPUT["in.jsonl"] + "{\n"}),
}


def with_dry_run(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[str]:
    """Every command that has --dry-run, by its words."""
    context = click.Context(group)
    for name in COMMANDS if group is program else group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if any("--dry-run" in option.opts for option in command.params):
            yield " ".join([*words, name])
        if isinstance(command, click.Group):
            yield from with_dry_run(command, (*words, name))


def test_every_command_with_a_dry_run_is_held_to_it() -> None:
    assert sorted(set(with_dry_run(program))) == sorted(RUNS)


def both(clone: Clone, run: tuple[str, ...], *behind: str) -> tuple[int, int]:
    """The exit codes of the dry run, which changes nothing, and of the real one."""

    def state() -> tuple[str, ...]:
        return (git(clone.path, "ls-remote", "origin"), tip(clone.path), git(clone.path, "status", "--porcelain"))

    before = state()
    dry = clone.here(*run, "--dry-run", *behind, check=False)
    assert state() == before
    return dry.code, clone.here(*run, *behind, check=False).code


@pytest.mark.one_in(40)
@pytest.mark.parametrize("what", FAULTS)
@pytest.mark.parametrize("name", RUNS)
def test_a_dry_run_ends_as_the_real_run(name: str, what: str, hub: Path, clone: Callable[[str], Clone]) -> None:
    planted, given = FAULTS[what]
    alice = clone("alice")
    plant(hub, {**TREE, **planted})
    alice.here("list", "--fetch", check=False)
    for file, text in {**INPUT, **given}.items():
        if text is not None:
            (alice.path / file).write_text(text)
    dry, real = both(alice, RUNS[name], *(("--", "true") if name == "work" else ()))
    assert dry == real
    if what == "nothing":
        assert real == 0


WORKSPACES = {
    "comments": ("# json: false\n", 0),
    "nothing": ("", 0),
    "null": ("null\n", 0),
    "settings of the other tool's": ("issue-prefix: web\n", 0),
    "what is no YAML": ("a: [b\n", 7),
    "a list": ("- a\n", 7),
}


@pytest.fixture
def code(tmp_path: Path) -> Clone:
    """A repository with an export of the Go tool in it."""
    git(tmp_path, "init", "--quiet", "-b", "main", "code")
    (tmp_path / "code/.beads").mkdir()
    (tmp_path / "code/.beads/issues.jsonl").write_text(json.dumps({"id": "web-n", "title": "N"}) + "\n")
    return Clone(tmp_path / "code")


@pytest.mark.parametrize("command", ["migrate", "init"])
@pytest.mark.parametrize("what", WORKSPACES)
def test_a_hub_is_made_beside_what_another_tool_wrote(what: str, command: str, code: Clone) -> None:
    text, expected = WORKSPACES[what]
    settings = code.path / SETTINGS
    settings.write_text(text)
    git(code.path, "add", ".beads")
    git(code.path, "commit", "--quiet", "-m", "Beads")
    if command == "migrate":
        assert code.here("migrate", "--dry-run", check=False).code == expected
        assert not (code.path / ".git/bd/config.yaml").exists()
    ended = code.here(command, check=False)
    assert ended.code == expected, ended
    if expected:
        assert "commit that on main" in ended.err
        assert "doctor" not in ended.err
        return
    kept = [line for line in text.splitlines() if line != "null"]
    assert [line for line in settings.read_text().splitlines() if line in kept] == kept
    assert "format: 2" in settings.read_text()


def test_what_is_not_pushed_is_told_to_need_a_push(code: Clone, remote: Path) -> None:
    (code.path / SETTINGS).write_text("a: [b\n")
    git(code.path, "add", ".beads")
    git(code.path, "commit", "--quiet", "-m", "Beads")
    git(code.path, "remote", "add", "origin", str(remote))
    git(code.path, "push", "--quiet", "origin", "main")
    git(code.path, "rm", "--quiet", SETTINGS)
    git(code.path, "commit", "--quiet", "-m", "Away with it")
    for run in (("migrate", "--dry-run"), ("migrate",), ("init",)):
        assert "git push origin main" in code.here(*run, code=7).err
    git(code.path, "push", "--quiet", "origin", "main")
    for run in (("migrate", "--dry-run"), ("migrate",)):
        code.here(*run)


@pytest.mark.parametrize(
    "args", [("--branch", "a..b"), ("--remote", "-x"), ("--remote", "/nowhere/at/all"), ("--remote", "other")]
)
def test_a_dry_run_of_migrate_checks_where_the_hub_would_be(args: tuple[str, str], code: Clone, remote: Path) -> None:
    if args[1] == "other":
        git(code.path, "remote", "add", "origin", str(remote))
    dry = code.here("migrate", "--dry-run", *args, check=False)
    real = code.here("migrate", *args, check=False)
    assert dry.code == real.code != 0


def test_settings_keep_their_comments_where_one_is_set(local_hub: Clone, tmp_path: Path) -> None:
    mine = local_hub.path / ".git/bd/config.yaml"
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("# why\n")
    local_hub.here("config", "set", "agent", "bob", "--clone")
    assert mine.read_text() == "# why\nagent: bob\n"
    local_hub.here("config", "set", "retry_time", "9s", "--clone")
    local_hub.here("config", "set", "agent", "", "--clone")
    assert mine.read_text() == '# why\nretry_time: "9s"\n'


EMPTY_FILES = (".beads/agents/coder.yaml", ".beads/triggers/nightly.yaml", ".agent-status/coder.yaml")


@pytest.mark.parametrize("text", ["# later\n", "---\n", "null\n", ""])
def test_an_agent_a_trigger_and_a_capacity_may_say_nothing(text: str, hub: Path, clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    plant(hub, {**TREE, **dict.fromkeys(EMPTY_FILES, text)})
    alice.here("list", "--fetch")
    findings = alice.here("doctor", "--json", check=False).json["findings"]
    assert [one for one in findings if one["code"] == "unreadable"] == []
    for command in (("agent", "list"), ("pool", "list"), ("trigger", "list"), ("ready", "--agent", "coder")):
        alice.here(*command)
    alice.here("claim", "hub-a", "--agent", "coder")
    assert "agent: coder" in git(hub, "show", "main:.agent-status/coder.yaml")
    if text == "# later\n":
        assert git(hub, "show", "main:.agent-status/coder.yaml").startswith("# later")
