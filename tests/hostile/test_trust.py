"""Nothing of a hub runs, unless this clone has pinned exactly that text."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from typing import TYPE_CHECKING

import pytest

from bd.notify.command_files import changed_in
from bd.notify.command_pins import asked_for, is_trusted, pinned
from bd.store.hub_location import locate
from tests.hostile.planting import GOOD, READS, harmless, plant
from tests.running import BD
from tests.runtime import open_clone
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

pytestmark = pytest.mark.one_in(9)

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
        asked = {one.name: one for one in asked_for(opened, opened.snapshot())}
        assert set(pinned(opened)) == NAMES
        assert not is_trusted(opened, asked["agents/codemonkey.pool.check"])
        assert is_trusted(opened, asked["config.notify"])
    finally:
        opened.close()
    alice.here("trust", "--revoke")
    assert not any(entry["trusted"] for entry in alice.here("trust", "--json").json)
    assert not (tmp_path / "owned").exists()


def test_an_agent_at_work_pins_nothing(alice: Clone) -> None:
    """It reads what the hub's beads say, and may be talked into anything."""
    child = alice.bd("work", "--agent", "eve", "--once", "--max-tasks", "1", "--", *BD, "trust", "--yes", check=False)
    assert "an agent can't decide" in child.out + child.err
    assert not any(entry["trusted"] for entry in alice.here("trust", "--json").json)
    alice.here("trust", "--yes")
    assert all(entry["trusted"] for entry in alice.here("trust", "--json").json)


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


# --- what a pin covers ------------------------------------------------------------------------

FILES = {
    "judge.sh": "#!/bin/sh\n. ./lib/common.sh\necho pass\n",
    "lib/common.sh": "x=1\n",
    "tools/check.py": "import helper\nprint(helper.x)\n",
    "tools/helper.py": "x = 1\n",
    "pkg/mod/__main__.py": "print(1)\n",
    "app/main.js": "const part = require('./part')\n",
    "app/part.js": "module.exports = 1\n",
    "hooks.d/10-first": "echo 1\n",
    ".hidden/first": "echo 1\n",
    "my script.sh": "echo 1\n",
    "Makefile": "test:\n\t./run-all\n",
    "run-all": "#!/bin/sh\ntrue\n",
    "README.md": "words\n",
    ".beads/run.sh": "echo 1\n",
    "artifacts/hub-a/tool.sh": "sh beads/tool\n",
    "beads/tool": "echo 1\n",
}
# What is pinned with each command, and so what a change of a file does to it.
COVERED = {
    "./judge.sh": {"judge.sh", "lib/common.sh"},
    "sh -c 'exec \"$PWD\"/judge.sh'": {"judge.sh", "lib/common.sh"},
    "cd lib && . ./common.sh": {"lib/common.sh"},
    "python3 tools/check.py --fast": {"tools/check.py", "tools/helper.py"},
    "cd tools; python3 check.py": {"tools/check.py", "tools/helper.py"},
    "python3 -m pkg.mod": {"pkg/mod/__main__.py"},
    "node app/main.js": {"app/main.js", "app/part.js"},
    "for one in hooks.d/*; do sh $one; done": {"hooks.d/10-first"},
    'for one in "$PWD"/.hidden/*; do sh $one; done': {".hidden/first"},
    "run-parts $PWD/hooks.d/*": {"hooks.d/10-first"},
    "sh 'my script.sh'": {"my script.sh"},
    "sh my\\ script.sh": {"my script.sh"},
    "make -s test": {"Makefile", "run-all"},
    "sh .beads/run.sh": {".beads/run.sh"},
    "cd .beads && sh run.sh": {".beads/run.sh"},
    "sh .beads/../beads/../judge.[s]h": {"judge.sh", "lib/common.sh"},
    "bash artifacts/hub-a/tool.sh": {"artifacts/hub-a/tool.sh", "beads/tool"},
    "sh ./artifacts/hub-a/tool.sh": {"artifacts/hub-a/tool.sh", "beads/tool"},
    "tool --settings config.yaml --agent w.yaml": set(),  # bd's own files of these names change all the time
    "claude -p --model opus": set(),
    "bd ready --json | jq 'map(.id) | .[] * 2'": set(),
}


def why_of(clone: Clone) -> dict[str, list[str]]:
    """Why each command that the clone's hub asks for is not trusted; those that are have no reason."""
    return {entry["command"]: entry["why"] for entry in clone.here("trust", "--json").json}


@pytest.fixture
def covered(hub: Path, clone: Callable[[str], Clone]) -> Clone:
    """A clone of a hub with all these commands, pinned here."""
    lines = "".join(f"  n{number:02}: {json.dumps(text)}\n" for number, text in enumerate(COVERED))
    plant(hub, {**FILES, ".beads/config.yaml": f"format: 2\nprefix: hub\nvalidators:\n{lines}"})
    alice = clone("alice")
    alice.here("trust", "--yes")
    return alice


def test_a_pin_covers_the_files_that_a_command_names(covered: Clone, hub: Path) -> None:
    shown = {entry["command"]: set(entry["files"]) for entry in covered.here("trust", "--json").json}
    assert shown == COVERED
    for path, text in FILES.items():
        plant(hub, {path: f"{text}# changed\n"})
        covered.here("sync")
        expected = {command: [f"{path} has changed"] if path in files else [] for command, files in COVERED.items()}
        assert why_of(covered) == expected, path
        covered.here("trust", "--yes")


def test_a_file_that_comes_or_goes_is_a_change_too(covered: Clone, hub: Path) -> None:
    plant(
        hub,
        {"hooks.d/20-second": "touch owned\n", "GNUmakefile": "test:\n\ttouch owned\n", "x/common.sh": "", "lib/common.sh": None},
    )
    covered.here("sync")
    why = why_of(covered)
    assert why["for one in hooks.d/*; do sh $one; done"] == ["hooks.d/20-second is a new file in it"]
    assert why["make -s test"] == ["GNUmakefile is a new file in it"]
    assert why["./judge.sh"] == ["lib/common.sh is gone", "x/common.sh is a new file in it"]
    text = covered.here("trust").out
    assert "  because  lib/common.sh is gone\n" in text
    assert "  file     judge.sh, of this hub, pinned as " in text
    assert "  trusts   the repository that the work is done in" in text


POOL = {"min": 0, "max": 1, "start": "bd work -- true", "check": "echo 1"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"max": 1000}, ["max was 1, is 1000"]),
        ({"min": 1}, ["min was 0, is 1"]),
        ({"provider": "tmux"}, ["provider was child, is tmux"]),
        ({"alive": "true"}, ["provider was child, is its own commands"]),
        ({"names": ["ada"]}, ["names was not set, is ada"]),
        ({"start": "bd work -- false"}, ["its text has changed"]),
        ({"size": 1}, []),
        ({"size": 1000}, []),  # within `max`, whatever it says
        ({"drain_timeout": "1h", "max_claims": 5}, []),
    ],
)
@pytest.mark.one_in(3)
def test_a_start_is_pinned_with_what_decides_how_it_runs(
    hub: Path, clone: Callable[[str], Clone], change: dict[str, object], why: list[str]
) -> None:
    plant(hub, {".beads/agents/w.yaml": json.dumps({"name": "w", "pool": POOL})})
    alice = clone("alice")
    alice.here("trust", "--yes")
    plant(hub, {".beads/agents/w.yaml": json.dumps({"name": "w", "pool": {**POOL, **change}})})
    alice.here("sync")
    shown = {entry["name"]: entry for entry in alice.here("trust", "--json").json}
    assert shown["agents/w.pool.start"]["why"] == why
    assert shown["agents/w.pool.check"]["why"] == []


def test_only_a_file_is_the_file_that_was_pinned(tmp_path: Path) -> None:
    """A device might be read for ever."""
    nothing = {"check.sh": hashlib.sha256(b"").hexdigest()}
    (tmp_path / "check.sh").symlink_to(os.devnull)
    assert changed_in([str(tmp_path)], nothing) == f"{tmp_path}/check.sh"
    (tmp_path / "check.sh").unlink()
    (tmp_path / "check.sh").touch()
    assert changed_in([str(tmp_path)], nothing) == ""


def test_a_judge_that_changes_does_not_run_before_somebody_has_looked_at_it(
    hub: Path, clone: Callable[[str], Clone], tmp_path: Path
) -> None:
    alice, owned = clone("alice"), tmp_path / "owned"
    judged = "title: Judged\noutput: {validation: judge, data: x}\n"
    plant(
        hub,
        {
            ".beads/config.yaml": "format: 2\nprefix: hub\njudges: {judge: ./judge.sh}\n",
            "judge.sh": "#!/bin/sh\necho pass\n",
            **{f"beads/hub-j{number}.yaml": f"id: hub-j{number}\n{judged}" for number in range(3)},
        },
    )
    git(alice.path, "pull", "-q")
    (alice.path / "judge.sh").chmod(0o755)
    alice.here("trust", "--yes")
    alice.here("close", "hub-j0")
    evil = f"#!/bin/sh\ntouch {owned}\necho pass\n"
    (alice.path / "judge.sh").write_text(evil)  # on disk, before bd has seen the commit
    refused = alice.here("close", "hub-j1", code=5).err
    assert f"the judge was not run: {alice.path}/judge.sh is not the file that was trusted" in refused
    git(alice.path, "checkout", "-q", "--", "judge.sh")
    plant(hub, {"judge.sh": evil})
    alice.here("comment", "hub-j1", "hi")
    assert (alice.path / "judge.sh").read_text() == evil, "its checkout has followed"
    (alice.path / "judge.sh").chmod(0o755)
    assert "no command judges.judge is trusted" in alice.here("close", "hub-j1", code=5).err
    assert not owned.exists()
    alice.here("trust", "--yes")
    alice.here("close", "hub-j1")
    assert owned.exists()


def test_pins_of_an_older_bd_hold_where_they_covered_everything(hub: Path, clone: Callable[[str], Clone]) -> None:
    plant(
        hub,
        {
            ".beads/config.yaml": "format: 2\nprefix: hub\nvalidators: {plain: 'true', file: ./check.sh, other: 'false'}\n",
            ".beads/agents/w.yaml": json.dumps({"name": "w", "pool": POOL}),
            "check.sh": "true\n",
        },
    )
    alice = clone("alice")
    texts = {"config.validators.plain": "true", "config.validators.file": "./check.sh", "config.validators.other": "true"}
    texts |= {f"agents/w.pool.{key}": str(POOL[key]) for key in ("start", "check")}
    old = {name: hashlib.sha256(f"{name}\0{text}".encode()).hexdigest() for name, text in texts.items()}
    note = alice.path / ".git" / "bd" / "trust.json"
    note.parent.mkdir(exist_ok=True)
    note.write_text(json.dumps(old))
    why = {entry["name"]: entry["why"] for entry in alice.here("trust", "--json").json}
    assert why == {
        "config.validators.plain": [],
        "agents/w.pool.check": [],
        "config.validators.other": ["its text has changed"],
        "config.validators.file": ["it was pinned by an older bd, whose pins did not cover the content of check.sh"],
        "agents/w.pool.start": ["it was pinned by an older bd, whose pins did not cover its pool's size and provider"],
    }
    alice.here("trust", "--yes")
    assert not any(why_of(alice).values())
    kept = json.loads(note.read_text())
    assert all(isinstance(text, str) for text in kept.values()), "an older bd reads the note, and asks again"
    note.write_text(json.dumps({**kept, "config.validators.plain": '{"text": 7', "config.validators.file": "{}"}))
    assert [entry["name"] for entry in alice.here("trust", "--json").json if entry["why"]] == [
        "config.validators.file",
        "config.validators.plain",
    ]


def test_trust_shows_a_command_as_it_will_run(
    hub: Path, clone: Callable[[str], Clone], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "my state"))
    pool = {**POOL, "max": 2, "provider": "tmux", "start": "bot.sh {clone} {session}", "stop": "end {name} {n} ${name}"}
    plant(hub, {".beads/agents/w.yaml": json.dumps({"name": "w", "pool": pool})})
    alice = clone("alice")
    shown = {entry["name"]: entry for entry in alice.here("trust", "--json").json}
    start, stop = shown["agents/w.pool.start"], shown["agents/w.pool.stop"]
    member = start["folder"]
    assert member.startswith(str(tmp_path / "my state" / "bd" / "pools"))
    assert shlex.split(start["runs_as"])[-1] == f"bot.sh {shlex.quote(member)} bd-hub-w-1"
    assert shlex.split(start["runs_as"])[:6] == ["tmux", "new-session", "-d", "-s", "bd-hub-w-1", "-c"]
    assert (stop["runs_as"], stop["folder"]) == ("end w-1 1 ${name}", str(alice.path))
    assert not (tmp_path / "my state").exists(), "looking makes nothing"
    assert f"  in       {member}\n" in alice.here("trust").out
    assert "  members  0 to 2 by tmux\n" in alice.here("trust").out
