"""What agents and shells are told: prime, onboard, setup, completion, manual pages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.cli import agent_guide
from bd.cli.commands.setup import TOOLS
from bd.cli.completion import SHELLS
from bd.cli.table import COMMANDS
from bd.setup import managed_section
from tests.running import BD, run_here

if TYPE_CHECKING:
    from pathlib import Path

    from tests.running import Clone

pytestmark = pytest.mark.one_in(2)


def test_prime_is_short_whoever_asks(board: Clone, tmp_path: Path) -> None:
    longest = agent_guide.prime("a" * 63, [f"{'p' * 20}-{number:04}" for number in range(99)], 10**6, "a" * 63)
    assert len(longest) < agent_guide.LIMIT
    said = board.here("prime", "--agent", "bob").out
    assert said.startswith("You are bob. 2 beads are ready for you.\n")
    for line in said.splitlines():
        name = line.strip().removeprefix("bd ").split(" ")[0]
        assert not line.startswith("  bd ") or name in COMMANDS, line
    (tmp_path / "elsewhere").mkdir()
    assert run_here("prime", cwd=tmp_path / "elsewhere").out == ""


@pytest.mark.parametrize("tool", TOOLS)
def test_setup_writes_only_its_own_section(board: Clone, tool: str) -> None:
    page = board.path / "AGENTS.md"
    page.write_bytes(b"# Mine\r\n\nNo line end")
    assert board.here("setup", tool, "--check", code=5).out.startswith("AGENTS.md: missing\n")
    board.here("setup", tool)
    written = {name: (board.path / name).read_bytes() for name in TOOLS[tool]}
    assert written["AGENTS.md"].startswith(b"# Mine\r\n\nNo line end\n\n<!-- bd: begin -->\n## Work: bd\n")
    assert board.here("setup", tool, "--check").code == 0
    board.here("setup", tool)
    assert {name: (board.path / name).read_bytes() for name in TOOLS[tool]} == written
    page.write_bytes(written["AGENTS.md"].replace(b"Run `bd prime`", b"Walk `bd prime`") + b"After.\n")
    assert "AGENTS.md: old" in board.here("setup", tool, "--check", code=5).out
    board.here("setup", tool)
    assert page.read_bytes() == written["AGENTS.md"] + b"After.\n"
    board.here("setup", tool, "--remove")
    assert b"bd" not in page.read_bytes()
    assert page.read_bytes().startswith(b"# Mine\r\n\nNo line end\n")
    assert not [name for name in TOOLS[tool] if name != "AGENTS.md" and (board.path / name).exists()]


def test_setup_leaves_alone_what_it_does_not_understand(board: Clone, tmp_path: Path) -> None:
    page = board.path / "AGENTS.md"
    page.write_text(f"{managed_section.BEGIN}\nhalf of it\n")
    assert "fix the file by hand" in board.here("setup", "agents", code=2).err
    assert page.read_text() == f"{managed_section.BEGIN}\nhalf of it\n"
    page.unlink()
    (tmp_path / "theirs").write_text("mine")
    page.symlink_to(tmp_path / "theirs")
    assert "is a symbolic link" in board.here("setup", "agents", code=2).err
    assert (tmp_path / "theirs").read_text() == "mine"


@given(st.text().filter(lambda text: "<!-- bd:" not in text), st.text().filter(lambda text: "<!-- bd:" not in text))
def test_a_section_comes_and_goes_and_the_rest_stays(before: str, section: str) -> None:
    there = managed_section.with_section(before, section)
    assert managed_section.with_section(there, section) == there
    assert there.startswith(before)
    assert managed_section.without_section(there).rstrip("\n") == before.rstrip("\n")


def test_completion_knows_ids_with_their_titles(board: Clone) -> None:
    def words(*typed: str) -> list[str]:
        return board.here("completion", "words", "--", *typed).lines

    assert "hub-bug\tFix CORS in the auth middleware" in words("show", "")
    assert words("show", "hub-do") == ["hub-done\tSet up the pipeline"]
    assert words("close", "hub-do") == [], "what is done can't be closed"
    assert words("close", "hub-kid1", "hub-k") == ["hub-kid2\tWire the form"]
    assert words("dep", "ad") == ["add\tMake a bead wait for another, its child, or linked to it. Cycles are refused."]
    assert "--next" in {line.split("\t")[0] for line in words("claim", "--n")}
    assert "--json" in {line.split("\t")[0] for line in words("list", "--")}
    assert "hooks" not in {line.split("\t")[0] for line in words("h")}
    assert words("no-such", "") == []


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("list --agent ", {"codemonkey"}),
        ("list --agent=", {"--agent=codemonkey"}),
        ("--agent codemonkey sh", {"show"}),
        ("fail hub-work --reason c", {"crash", "cancelled", "conflict"}),
        ("fail hub-work --error ", set()),
        ("fail ", {"hub-work"}),
        ("close --reason ", set()),
        ("list --status=ope", {"--status=open"}),
        ("list --status def", {"deferred"}),
        ("create --type bu", {"bug"}),
        ("create ", set()),
        ("create x --parent hub-k", {"hub-kid1", "hub-kid2"}),
        ("release ", {"hub-work"}),
        ("handoff hub-work ", set()),
        ("answer ", set()),
        ("dlq retry ", set()),
        ("undefer ", {"hub-later"}),
        ("close hub-kid1 --reason x hub-kid", {"hub-kid2"}),
        ("completion ba", {"bash"}),
        ("work -- ", set()),
        ("claim hub-bug --next --ne", set()),
        ("list --json --jso", set()),
        ("no-such --", set()),
    ],
)
def test_completion_offers_only_what_the_command_takes_there(typed: str, offered: set[str], board: Clone) -> None:
    board.here("agent", "add", "codemonkey", "--role", "coding")
    shown = {line.split("\t")[0] for line in board.here("completion", "words", "--", *typed.split(" ")).lines}
    assert shown == offered


def test_completion_outside_of_a_hub_is_silent(tmp_path: Path) -> None:
    told = run_here("completion", "words", "--", "show", "", cwd=tmp_path)
    assert (told.out, told.err) == ("", "")


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_take_the_scripts(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if not program:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(run_here("completion", shell).out)
    subprocess.run([program, "-n", str(tmp_path / "script")], check=True)


# Each shell sources its script and completes `bd show hub-b`; zsh outside of its line editor, which has to be told what shows.
COMPLETED = {
    "bash": 'COMP_WORDS=(bd show hub-b); COMP_CWORD=2; _bd; echo "${COMPREPLY[@]}"',
    "zsh": "words=(bd show hub-b); CURRENT=3; _bd",
    "fish": 'complete -C "bd show hub-b"',
}
_BEFORE = {"zsh": "compdef() { }; _describe() { print -l -- ${(P)2} }; "}


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_complete(board: Clone, tmp_path: Path, shell: str) -> None:
    program = shutil.which(shell)
    if not program:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "bd").write_text(f'#!/bin/sh\nexec {" ".join(BD)} "$@"\n')
    (tmp_path / "bd").chmod(0o755)
    (tmp_path / "script").write_text(run_here("completion", shell).out)
    path = f"{tmp_path}:{os.environ['PATH']}"
    asked = f"{_BEFORE.get(shell, '')}source {tmp_path}/script; {COMPLETED[shell]}"
    ended = subprocess.run(
        [program, "-c", asked], cwd=board.path, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True
    )
    assert re.split(r"[:\t\n]", ended.stdout)[0] == "hub-bug", ended.stdout


@pytest.mark.slow
def test_manual_pages_say_what_the_help_says(tmp_path: Path) -> None:
    run_here("help", "--man", str(tmp_path / "man1"))
    assert {page.name for page in (tmp_path / "man1").iterdir()} == {f"bd-{name}.1" for name in COMMANDS}
    page = (tmp_path / "man1" / "bd-claim.1").read_text(encoding="utf-8")
    assert "\\fBbd claim\\fR [OPTIONS] [\\fIbeads\\fR ...]" in page
    assert "\\fB\\-\\-next\\fR" in page
    man = shutil.which("groff")
    if man:
        pages = sorted(map(str, (tmp_path / "man1").iterdir()))
        shown = subprocess.run([man, "-man", "-Tutf8", "-ww", *pages], capture_output=True, text=True)
        assert (shown.returncode, shown.stderr) == (0, "")
