"""A hub's format: a newer one is read and never written, an older one is read, and upgraded before it is written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bd.core import versions
from tests.truth import commit_file, git, log, tip, tip_bead, tip_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

pytestmark = pytest.mark.one_in(12)

NEWER, OLDER = versions.FORMAT + 1, versions.WRITABLE_SINCE - 1
CONFIG = ".beads/config.yaml"
# Settings as a bd of the future may have them: kinds of value that this one can't read.
OF_THE_FUTURE = {
    "only the number": f"format: {NEWER}\nprefix: hub\n",
    "values of other kinds": f"format: {NEWER}\nprefix: hub\ntypes: {{a: b}}\nclaim_mode: shared\nexpected: 7\n",
    "a file that can't be read": f"format: {NEWER}  # by hand\nprefix: [hub]\n",
    "a syntax of its own": f"format: {NEWER}\nprefix: &p hub\nowner: *p\n",
}
WRITES = [
    "create New",
    "claim --next --agent coder",
    "claim hub-a --agent coder",
    "update hub-a --title Other",
    "comment hub-a hello",
    "close hub-a",
    "config set max_attempts 5",
    "agent add coder --role coding",
    "work --agent coder --once -- true",
]
READS = ["list", "ready", "show hub-a", "why hub-a", "count", "stats", "history hub-a", "audit", "doctor", "blocked"]


def plant(hub: Path, tmp_path: Path, settings: str) -> str:
    """Another clone has brought the hub to this format: plain git pushes the file; the hub's new tip."""
    other = tmp_path / "other"
    if not other.exists():
        git(tmp_path, "clone", "--quiet", str(hub), str(other))
    git(other, "pull", "--quiet")
    commit_file(other, CONFIG, settings)
    git(other, "push", "--quiet", "origin", "main")
    return tip(hub)


@pytest.fixture
def alice(hub: Path, tmp_path: Path, clone: Callable[[str], Clone]) -> Clone:
    """A clone that has seen the bead hub-a."""
    first = tmp_path / "first"
    git(tmp_path, "clone", "--quiet", str(hub), str(first))
    commit_file(first, "beads/hub-a.yaml", "id: hub-a\ntitle: A\nstatus: open\npriority: 1\n")
    git(first, "push", "--quiet", "origin", "main")
    clone_of_alice = clone("alice")
    clone_of_alice.here("list")
    return clone_of_alice


@pytest.mark.one_in(48)
@pytest.mark.parametrize(
    ("settings", "command"),
    [
        *(("only the number", command) for command in WRITES),
        *((settings, "claim --next --agent coder") for settings in OF_THE_FUTURE),
    ],
)
def test_a_newer_hub_takes_no_write(settings: str, command: str, hub: Path, tmp_path: Path, alice: Clone) -> None:
    planted = plant(hub, tmp_path, OF_THE_FUTURE[settings])  # alice has not seen it
    refused = alice.here("--json", *command.split(), code=7)
    assert tip(hub) == planted
    assert refused.json["code"] == "newer_format"
    assert f"has format {NEWER}" in refused.json["error"]
    assert "upgrade bd" in refused.json["hint"]


@pytest.mark.parametrize("settings", OF_THE_FUTURE)
def test_a_newer_hub_is_read(settings: str, hub: Path, tmp_path: Path, alice: Clone) -> None:
    plant(hub, tmp_path, OF_THE_FUTURE[settings])
    assert [bead["id"] for bead in alice.here("list", "--fetch", "--json").json] == ["hub-a"]
    for command in READS:
        assert alice.here(*command.split(), check=False).code in (0, 7), command
    assert alice.here("show", "hub-a", "--json").json[0]["title"] == "A"
    found = {finding["code"]: finding["text"] for finding in alice.here("doctor", "--json", check=False).json["findings"]}
    assert "upgrade bd here" in found["format"]


def test_a_newer_hub_is_cloned_and_read(hub: Path, tmp_path: Path, alice: Clone, bd: Callable[..., object]) -> None:
    plant(hub, tmp_path, OF_THE_FUTURE["only the number"])
    bd("clone", str(hub), str(tmp_path / "new"))
    assert git(tmp_path / "new", "status", "--porcelain") == ""


def test_what_was_written_here_stays_until_bd_is_upgraded(hub: Path, tmp_path: Path, alice: Clone) -> None:
    away = hub.rename(tmp_path / "away.git")
    alice.here("create", "Written offline")  # kept here
    away.rename(hub)
    (alice.path / "beads" / "hub-b.yaml").write_text("id: hub-b\ntitle: By hand\nstatus: open\n")
    planted = plant(hub, tmp_path, OF_THE_FUTURE["only the number"])
    refused = alice.here("sync", "--json", code=7)
    assert refused.json["code"] == "newer_format"
    assert tip(hub) == planted
    plant(hub, tmp_path, f"format: {versions.FORMAT}\nprefix: hub\n")  # as if bd had been upgraded here
    alice.here("sync")
    assert {"Written offline", "By hand"} <= {bead["title"] for bead in alice.here("list", "--json").json}
    assert tip_bead(hub, "hub-b") is not None


def test_a_hub_that_is_brought_forward_while_a_bead_is_in_work(hub: Path, tmp_path: Path, alice: Clone) -> None:
    upgrade = f"cd {tmp_path} && git clone -q {hub} up && cd up && printf 'format: {NEWER}\\nprefix: hub\\n' > {CONFIG} && "
    upgrade += "git -c user.name=U -c user.email=u@x commit -qam up && git push -q origin main"
    worked = alice.bd("work", "--agent", "coder", "--once", "--", "sh", "-c", upgrade, check=False)
    assert worked.code != 0
    assert f"has format {NEWER}" in worked.err
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert bead.status == "in_progress", "the hub keeps the claim, which stalls like any other"
    assert "claim" in log(hub)[1]


@pytest.mark.parametrize("command", WRITES)
def test_an_older_hub_takes_no_write_but_its_upgrade(command: str, hub: Path, tmp_path: Path, alice: Clone) -> None:
    planted = plant(hub, tmp_path, f"format: {OLDER}\nprefix: hub\nmax_attempts: 4\n")
    refused = alice.here("--json", *command.split(), code=7)
    assert tip(hub) == planted
    assert refused.json["code"] == "older_format"
    assert "bd upgrade" in refused.json["hint"]
    assert alice.here("show", "hub-a", "--json").json[0]["title"] == "A"


def test_the_command_that_the_hint_names_upgrades_an_older_hub(hub: Path, tmp_path: Path, alice: Clone) -> None:
    plant(hub, tmp_path, f"format: {OLDER}\nprefix: hub\n")
    alice.here("upgrade")
    assert log(hub)[0].startswith(f"upgrade: the hub from format {OLDER} to {versions.FORMAT}")
    alice.here("claim", "hub-a", "--agent", "coder")


def test_the_doctor_brings_an_older_hub_forward_in_one_commit(hub: Path, tmp_path: Path, alice: Clone) -> None:
    planted = plant(hub, tmp_path, f"# ours\nformat: {OLDER}\nprefix: hub\nmax_attempts: 4\n")
    alice.here("list", "--fetch")
    looked = alice.here("doctor")
    assert "upgrades the hub" in looked.out
    assert tip(hub) == planted, "looking changes nothing"
    fixed = alice.here("doctor", "--fix", "--yes")
    assert json.dumps({"format": versions.FORMAT}) in fixed.err
    assert git(hub, "rev-list", "--count", f"{planted}..main") == "1"
    assert log(hub)[0].startswith(f"upgrade: the hub from format {OLDER} to {versions.FORMAT} by ")
    assert tip_file(hub, CONFIG) == f"# ours\nformat: {versions.FORMAT}\nprefix: hub\nmax_attempts: 4\n".encode()
    alice.here("claim", "hub-a", "--agent", "coder")
    assert alice.here("doctor", "--fix", "--yes").err.count("bd can't fix any of this") == 1
    alice.here("audit")


def test_two_doctors_bring_it_forward_once(hub: Path, tmp_path: Path, alice: Clone, clone: Callable[[str], Clone]) -> None:
    plant(hub, tmp_path, f"format: {OLDER}\nprefix: hub\n")
    bob = clone("bob")
    for someone in (alice, bob):
        someone.here("list", "--fetch")
    alice.here("doctor", "--fix", "--yes")
    bob.here("doctor", "--fix", "--yes", "--offline")
    assert sum(subject.startswith("upgrade:") for subject in log(hub)) == 1


def test_the_doctor_leaves_a_newer_hub_alone(hub: Path, tmp_path: Path, alice: Clone) -> None:
    planted = plant(hub, tmp_path, OF_THE_FUTURE["only the number"])
    alice.here("list", "--fetch")
    alice.here("doctor", "--fix", "--yes")
    assert tip(hub) == planted


def test_a_hub_of_the_format_before_goes_on_as_it_is_until_somebody_brings_it_forward(
    hub: Path, tmp_path: Path, alice: Clone
) -> None:
    plant(hub, tmp_path, "format: 1\nprefix: hub\n")
    alice.here("close", "hub-a", "--force", "--reason", "done")
    alice.here("archive", "--older-than", "0s")
    month = tip_bead_path(hub).split("/")[2]
    assert tip_bead_path(hub) == f"beads/archive/{month}/hub-a.yaml", "another machine may have a bd that reads no volumes"
    found = alice.here("doctor", "--json").json["findings"]
    assert [(one["level"], one["code"]) for one in found] == [("note", "format")]
    alice.here("doctor", "--fix", "--yes")
    assert alice.here("archive", "--json").json["gathered"] == ["hub-a"]
    assert tip_bead_path(hub) == f"beads/archive/{month}-001.yaml"
    assert alice.here("show", "hub-a", "--json").json[0]["status"] == "closed"
    assert alice.here("audit", "--json").json["violations"] == []


def tip_bead_path(hub: Path) -> str:
    """The one file below beads/."""
    (path,) = git(hub, "ls-tree", "-r", "--name-only", "main", "beads/").split()
    return path
