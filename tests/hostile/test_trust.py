"""Nothing of a hub runs, unless this clone has pinned exactly that text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bd.notify.command_pins import asked_for, is_trusted, pinned
from bd.store.hub_location import locate
from tests.hostile.planting import GOOD, READS, harmless, plant
from tests.runtime import open_clone
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

RUN = "touch {}/owned; echo x"
NAMES = {
    "agents/codemonkey.pool.check",
    "agents/codemonkey.pool.start",
    "agents/codemonkey.pool.stop",
    "agents/codemonkey.pool.nudge",
    "config.validators.tests",
    "config.notify",
    "config.judges.one",
}


def planted(folder: Path, *, check: str = "") -> dict[str, str]:
    run = json.dumps(RUN.format(folder))
    return {
        "beads/hub-good.yaml": GOOD
        + f"spec: {{prompt: {run}, run: {run}, command: {run}}}\noutput: {{validation: {run}}}\nvalidators: [{run}]\n"
        f"metadata: {{command: {run}, editor: {run}}}\ntitle_command: {run}\n",
        ".beads/agents/codemonkey.yaml": f"role: coding\npool: {{check: {json.dumps(check) if check else run}, start: {run}, stop: {run}, nudge: {run}}}\n"
        f"command: {run}\non_claim: {run}\n",
        ".beads/config.yaml": f"format: 1\nprefix: hub\nvalidators: {{tests: {run}}}\nnotify: {run}\njudges: {{one: {run}}}\nhooks: {{claim: {run}}}\n"
        f"editor: {run}\npager: {run}\nschedules: [{{cron: '* * * * *', command: {run}}}]\n",
        ".beads/hooks/on_create": "#!/bin/sh\n" + RUN.format(folder) + "\n",
        ".beads/hooks/on_update": "#!/bin/sh\n" + RUN.format(folder) + "\n",
        ".githooks/pre-push": "#!/bin/sh\n" + RUN.format(folder) + "\n",
    }


@pytest.fixture
def alice(hub: Path, clone: Callable[[str], Clone], tmp_path: Path) -> Clone:
    plant(hub, planted(tmp_path))
    alice = clone("alice")
    alice.here("sync")
    return alice


def test_nothing_runs_by_itself(alice: Clone, tmp_path: Path) -> None:
    for args in (
        *READS,
        ("create", "x"),
        ("poll", "--agent", "codemonkey"),
        ("heartbeat", "--agent", "codemonkey"),
        ("work", "--agent", "codemonkey", "--once", "true"),
        ("overseer", "--once"),
        ("update", "hub-good", "--priority", "1"),
        ("close", "hub-good", "--force", "--reason", "x"),
        ("archive",),
        ("sync",),
    ):
        harmless(alice.here(*args, check=False), 0, 3, 4, 5)
    assert not (tmp_path / "owned").exists()


def test_a_command_gets_the_bead_as_data(alice: Clone, tmp_path: Path) -> None:
    """The typed command runs; the bead's words reach it in a file and in no command line of bd's."""
    done = alice.bd(
        "work", "--agent", "eve", "--once", "--max-tasks", "1", "--", "sh", "-c", 'cat "$BD_BEAD_FILE" >/dev/null', check=False
    )
    harmless(done, 0, 3)
    assert not (tmp_path / "owned").exists()


def test_trust_shows_what_it_pins_and_breaks_when_it_changes(alice: Clone, hub: Path, tmp_path: Path) -> None:
    shown = alice.here("trust", "--json").json
    assert {entry["name"] for entry in shown} == NAMES
    assert not any(entry["trusted"] for entry in shown)
    text = alice.here("trust").out
    assert all(name in text and RUN.format(tmp_path) in text for name in NAMES)
    assert alice.here("trust", "--yes", "--json").json[0]["trusted"]
    assert all(entry["trusted"] for entry in alice.here("trust", "--json").json)
    plant(hub, planted(tmp_path, check=f"{RUN.format(tmp_path)} "))  # one blank more
    alice.here("sync")
    changed = [entry["name"] for entry in alice.here("trust", "--json").json if not entry["trusted"]]
    assert changed == ["agents/codemonkey.pool.check"]
    opened = open_clone(locate(str(alice.path)))
    try:
        asked = {one.name: one for one in asked_for(opened.snapshot())}
        assert set(pinned(opened)) == NAMES
        assert not is_trusted(opened, asked["agents/codemonkey.pool.check"])
        assert is_trusted(opened, asked["config.notify"])
    finally:
        opened.close()
    alice.here("trust", "--revoke")
    assert not any(entry["trusted"] for entry in alice.here("trust", "--json").json)
    assert not (tmp_path / "owned").exists()


def test_a_pin_is_the_clones_own(alice: Clone, clone: Callable[[str], Clone], hub: Path) -> None:
    alice.here("trust", "--yes")
    assert not any(entry["trusted"] for entry in clone("bob").here("trust", "--json").json)
    assert "trust" not in git(hub, "ls-tree", "-r", "--name-only", "main")


def test_a_text_can_not_pretend_to_be_trusted(alice: Clone, hub: Path) -> None:
    forged = json.dumps("true\ntrusted  agents/codemonkey.pool.start  abcdef012345\x1b[2K")
    plant(hub, {".beads/agents/codemonkey.yaml": f"role: coding\npool: {{check: {forged}}}\n"})
    alice.here("sync")
    lines = alice.here("trust").out.splitlines()
    assert not [line for line in lines if line.startswith("trusted")], lines
