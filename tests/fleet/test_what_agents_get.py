"""What a command of `bd work` gets: its environment, the verbs of its own bd, and the token files that it can find."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bd.processes.environment import passed_on
from bd.processes.sandbox import PRESETS, wrapped
from tests.running import BD
from tests.truth import tip_bead

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
OTHERS = {"ANTHROPIC_API_KEY": "needed", "DEPLOY_KEY": "not needed", "PATH": os.environ["PATH"]}
# A stand-in for an agent: it says what it got, tries each forbidden verb, and looks for files that look like tokens.
STANDIN = """
import json, os, pathlib, subprocess, sys

bd, home, verbs = json.loads(sys.argv[1])
found = {"environment": dict(os.environ), "verbs": {}, "files": []}
for verb in verbs:
    try:
        found["verbs"][verb] = subprocess.run([*bd, *verb.split()], capture_output=True).returncode
    except OSError as error:
        found["verbs"][verb] = str(error)
for path in pathlib.Path(home).rglob("*"):
    try:
        found["files"] += [path.name] if path.is_file() and b"SECRET" in path.read_bytes() else []
    except OSError:
        pass
json.dump({"outcome": "done", "output": found}, open(os.environ["BD_RESULT_FILE"], "w"))
"""
VERBS = ["trust --yes", "config set claim_ttl 1h", "release hub-b --force --reason x", "comment hub-a x --agent eve", "undo"]


def worked(one: Clone, home: Path) -> dict[str, Any]:
    """What the stand-in found when a worker ran it; a `work` folder next to its home is where it works."""
    script = one.path / "standin.py"
    script.write_text(STANDIN)
    asked = json.dumps([list(BD), str(home), VERBS])
    words = ("work", "--agent", "coder", "--max-tasks", "1", "--", sys.executable, str(script), asked)
    one.bd(*words, env={**SECRETS, **OTHERS, "HOME": str(home)})
    output: dict[str, Any] = one.bd("show", "hub-a", "--json").json[0]["output"]["data"]
    return output


def a_home(folder: Path) -> Path:
    """A home folder with what an agent should not find, and its own login."""
    home = folder / "ada"
    for path in (".config/bd/forge-tokens", ".ssh/id_ed25519", ".claude/login"):
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text("SECRET")
    return home


@pytest.mark.slow
def test_an_agent_gets_none_of_bds_secrets_and_acts_for_its_own_claim(clone: Clones, tmp_path: Path) -> None:
    one = clone("one")
    one.here("create", "Do it", "--id", "hub-a")
    one.here("create", "Do more", "--id", "hub-b")
    one.here("claim", "hub-b", "--agent", "other")
    found = worked(one, a_home(tmp_path))
    assert not SECRETS.keys() & found["environment"].keys()
    assert {"ANTHROPIC_API_KEY", "DEPLOY_KEY", "BD_TOKEN"} <= found["environment"].keys(), "the rest passes"
    assert found["verbs"] == dict.fromkeys(VERBS, 5)
    assert sorted(found["files"]) == ["forge-tokens", "id_ed25519", "login"], "without a sandbox it reads what its user may"
    assert tip_bead(one.path, "hub-b").claim is not None


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bwrap is not installed")
def test_in_a_sandbox_it_finds_its_own_login_alone(clone: Clones, tmp_path: Path) -> None:
    one = clone("one")
    one.here("create", "Do it", "--id", "hub-a")
    one.here("config", "set", "sandbox", "bwrap", "--clone")
    found = worked(one, a_home(tmp_path))
    assert found["files"] == ["login"]


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
    assert not any("{" in word for name in PRESETS for word in wrapped(["x"], [name], "/work"))
