"""What a command of `bd work` gets: its environment, the verbs of its own bd, and the token files that it can find."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from bd.processes.environment import passed_on
from bd.processes.sandbox import PRESETS, wrapped
from tests.running import BD
from tests.truth import git, tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(3)

SECRETS = {
    "BD_FORGE_TOKEN_GIT_EXAMPLE_ORG": "forge",
    "BD_HOOK_SECRET_GITHUB": "hook",
    "BD_VIA_TOKEN": "via",
    "BD_FORWARD_TOKEN": "forward",
    "BD_API_TOKEN": "api",
}
GIT_SECRETS = {"SSH_AUTH_SOCK": "agent", "GIT_ASKPASS": "ask", "GITHUB_TOKEN": "forge"}
OTHERS = {"ANTHROPIC_API_KEY": "needed", "DEPLOY_KEY": "not needed", "PATH": os.environ["PATH"]}
# A stand-in for an agent: it says what it got, tries each verb on the hub, looks for files that look like tokens, for the clone,
# for git's way to the server, and calls the API.
STANDIN = """
import json, os, pathlib, subprocess, sys

bd, home, hub, remote, verbs = json.loads(sys.argv[1])
found = {"environment": dict(os.environ), "verbs": {}, "files": [], "clone": os.path.isdir(os.path.join(hub, ".git"))}

def code(*words):
    try:
        return subprocess.run(words, capture_output=True).returncode
    except OSError:
        return "can't be started"

for verb in verbs:
    found["verbs"][verb] = code(*bd, "-C", hub, *verb.split())
for path in pathlib.Path(home).rglob("*"):
    try:
        found["files"] += [path.name] if path.is_file() and b"SECRET" in path.read_bytes() else []
    except OSError:
        pass
asked = subprocess.run(["git", "credential", "fill"], input=b"protocol=https\\nhost=git.example.org\\n\\n", capture_output=True)
found["password"] = b"password=LETMEIN" in asked.stdout
found["remote"] = code("git", "ls-remote", remote) == 0
found["api"] = code("bd-api", "POST", "beads/hub-a/progress", json.dumps({"text": "half"}))
json.dump({"outcome": "done", "output": found}, open(os.environ["BD_RESULT_FILE"], "w"))
"""
FORBIDDEN = ["trust --yes", "config set claim_ttl 1h", "release hub-b --force --reason x", "comment hub-a x --agent eve", "undo"]
VERBS = [*FORBIDDEN, "show hub-a"]
HELPER = "!echo username=ada; echo password=LETMEIN; :"
# One that a sandbox shows, too: the tests' own may lie in a folder that it hides.
PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable


def worked(one: Clone, home: Path, *options: str) -> dict[str, Any]:
    """What the stand-in found when a worker ran it."""
    shutil.copy(os.environ["GIT_CONFIG_GLOBAL"], home / ".gitconfig")
    git(home, "config", "--file", str(home / ".gitconfig"), "credential.https://git.example.org.helper", HELPER)
    remote = git(one.path, "config", "remote.origin.url")
    asked = json.dumps([list(BD), str(home), str(one.path), remote, VERBS])
    words = ("work", "--agent", "coder", "--max-tasks", "1", *options, "--", PYTHON, "-c", STANDIN, asked)
    told = {**SECRETS, **GIT_SECRETS, **OTHERS, "HOME": str(home), "GIT_CONFIG_GLOBAL": str(home / ".gitconfig")}
    one.bd(*words, env=told)
    output: dict[str, Any] = one.bd("show", "hub-a", "--json").json[0]["output"]["data"]
    return output


def a_home(folder: Path) -> Path:
    """A home folder with what an agent should not find, and its own login."""
    home = folder / "ada"
    for path in (".config/bd/forge-tokens", ".ssh/id_ed25519", ".claude/login"):
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text("SECRET")
    return home


class Gets(NamedTuple):
    """A row of the table in docs/agents.md: what a command finds.

    `forbidden` and `show` are the exit codes of the verbs; a sandbox may hide bd itself.
    """

    options: tuple[str, ...]
    sandbox: str
    forbidden: tuple[int | str, ...] = (5,)
    show: tuple[int | str, ...] = (0,)
    files: tuple[str, ...] = ("forge-tokens", "id_ed25519", "login")
    clone: bool = True
    remote: bool = True
    password: bool = True
    git_secrets: bool = True
    api: int | str = "can't be started"


HIDDEN = "can't be started"
TABLE = {
    "plain": Gets((), ""),
    "sandbox": Gets((), "bwrap", (5, HIDDEN), (0, HIDDEN), files=("login",), remote=False, password=False),
    "isolated": Gets(("--isolated",), "", show=(5,), password=False, git_secrets=False, api=0),
    "isolated in a sandbox": Gets(
        ("--isolated",), "bwrap", (5, HIDDEN), (5, HIDDEN), ("login",), False, False, False, False, api=0
    ),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("way", TABLE)
def test_what_a_command_gets(clone: Clones, hub: Path, tmp_path: Path, way: str) -> None:
    """Nobody gets bd's own secrets, or more verbs than the claim's. The hub, and git's way there, are closed by isolation."""
    expected = TABLE[way]
    if expected.sandbox and shutil.which(expected.sandbox) is None:
        pytest.skip(f"{expected.sandbox} is not installed")
    if expected.api == 0 and shutil.which("curl") is None:
        pytest.skip("bd-api needs curl")
    one = clone("one")
    for words in (["Do it", "--id", "hub-a"], ["Do more", "--id", "hub-b"]):
        one.here("create", *words)
    one.here("claim", "hub-b", "--agent", "other")
    if expected.sandbox:
        one.here("config", "set", "sandbox", expected.sandbox, "--clone")
    found = worked(one, a_home(tmp_path), *expected.options)
    names = found["environment"].keys()
    assert not SECRETS.keys() - {"BD_API_TOKEN"} & names
    assert found["environment"].get("BD_API_TOKEN") != SECRETS["BD_API_TOKEN"]
    assert {"ANTHROPIC_API_KEY", "DEPLOY_KEY", "BD_BEAD_ID"} <= names, "the rest passes"
    assert {found["verbs"][verb] for verb in FORBIDDEN} <= set(expected.forbidden)
    assert found["verbs"]["show hub-a"] in expected.show
    assert sorted(found["files"]) == list(expected.files)
    assert (GIT_SECRETS.keys() <= names) == (not GIT_SECRETS.keys() - names) == expected.git_secrets
    found_ways = {name: found[name] for name in ("clone", "remote", "password", "api")}
    assert found_ways == {name: getattr(expected, name) for name in found_ways}
    assert tip_bead(one.path, "hub-b").claim is not None
    if "--isolated" in expected.options:
        assert not {"BD_TOKEN", "BEADS_DIR", "BD_SESSION"} & names
        leads = [name for name, value in found["environment"].items() if str(one.path) in value or str(hub) in value]
        assert not leads, "no variable says where the hub is"
        assert "half" in [note["text"] for note in tip_bead(one.path, "hub-a").get("progress")]


@pytest.mark.slow
def test_only_a_list_of_variables_passes_and_a_sandbox_stands_in_front(clone: Clones, tmp_path: Path) -> None:
    one = clone("one")
    one.here("create", "Do it", "--id", "hub-a", "--validation", "test-pass:tests")
    (tmp_path / "jail").write_text('#!/bin/sh\necho "$1" >> "$1/../jailed"; shift; exec "$@"\n')
    (tmp_path / "jail").chmod(0o755)
    one.here("config", "set", "environment", "ANTHROPIC_*, NOTHING", "--clone")
    one.here("config", "set", "sandbox", f"{tmp_path}/jail {{folder}}", "--clone")
    one.here("config", "set", "validators.tests", 'test -z "$DEPLOY_KEY$BD_FORGE_TOKEN_GIT_EXAMPLE_ORG"', "--clone")
    found = worked(one, a_home(tmp_path))
    assert not {*SECRETS, "DEPLOY_KEY"} & found["environment"].keys()
    assert {"ANTHROPIC_API_KEY", "PATH", "HOME", "BD_TOKEN"} <= found["environment"].keys()
    assert (one.path.parent / "jailed").read_text().splitlines() == [str(one.path)] * 2, "the agent, and what checks its work"
    assert tip_bead(one.path, "hub-a").status == "closed", "the validator got none of the secrets either"


# --- as values --------------------------------------------------------------------------------


def test_what_passes() -> None:
    given = {**SECRETS, **OTHERS, "BD_TOKEN": "t", "LC_ALL": "C"}
    assert passed_on(given) == {**OTHERS, "BD_TOKEN": "t", "LC_ALL": "C"}
    assert passed_on(given, ["ANTHROPIC_*"]).keys() == {"ANTHROPIC_API_KEY", "PATH", "BD_TOKEN", "LC_ALL"}
    assert passed_on(given, ["BD_FORGE_TOKEN_GIT_EXAMPLE_ORG", "*"]) == passed_on(given), "a list can't bring them back"


def test_what_passes_in_isolation() -> None:
    author = {"GIT_AUTHOR_NAME": "coder", "GIT_CONFIG_GLOBAL": "/home/ada/.gitconfig"}
    to_hub = {"BD_TOKEN": "t", "BD_BRANCH": "x", "BEADS_DIR": "/hub", "PWD": "/hub", "GIT_DIR": "/hub/.git"}
    given = {**SECRETS, **GIT_SECRETS, **OTHERS, **author, **to_hub}

    def passed(*names: str) -> dict[str, str]:
        found = passed_on(given, names, isolated=True)
        return {name: value for name, value in found.items() if name in given}

    assert passed() == {**OTHERS, **author}
    assert passed("*") == passed()
    assert passed("SSH_AUTH_SOCK", "ANTHROPIC_*").keys() == {"PATH", "SSH_AUTH_SOCK", "ANTHROPIC_API_KEY"}, "credentials by name"
    assert not passed("BD_*", "BEADS_DIR", "PWD").keys() & (SECRETS | to_hub).keys()


def test_how_a_command_is_wrapped() -> None:
    assert wrapped(["kit", "-p"], [], "/work") == ["kit", "-p"]
    assert wrapped(["kit", "-p"], ["jail", "--in={folder}", "{files}"], "/work", "/files") == [
        "jail",
        "--in=/work",
        "/files",
        "kit",
        "-p",
    ]
    boxed = wrapped(["kit"], ["bwrap", "--unshare-net"], "/work", "/files")
    assert (boxed[0], boxed[-3:]) == ("bwrap", ["--unshare-net", "--", "kit"])
    assert [boxed[place + 1 : place + 3] for place, word in enumerate(boxed) if word == "--bind"] == [
        ["/work"] * 2,
        ["/files"] * 2,
    ]
    assert wrapped(["kit"], ["podman", "image:1"], "/work")[-2:] == ["image:1", "kit"]
    hiding = wrapped(["kit"], ["bwrap"], "/srv/work", "/srv/files", hidden=["/srv", "/opt/hub"])
    places = [hiding.index(path) for path in ("/srv", "/opt/hub", "/srv/work", "/srv/files")]
    assert places == sorted(places), "its own folder is shown again within a hidden one"
    assert [hiding[place - 1] for place in places[:2]] == ["--tmpfs"] * 2
    assert not any("{" in word for name in PRESETS for word in wrapped(["x"], [name], "/work", hidden=["/hub"]))
