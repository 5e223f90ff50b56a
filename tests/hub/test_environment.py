"""The user's own git set-up: what of the environment reaches git, and what does not."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.hub.servers import CannotServe, HttpServer
from tests.hub.test_transports import give_up
from tests.running import Clone, run_here
from tests.truth import git, tip_bead

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.one_in(8)

ARRIVES = {
    "GIT_ASKPASS": "/bin/false",
    "GIT_SSH_VARIANT": "ssh",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "http.userAgent",
    "GIT_CONFIG_VALUE_0": "curious",
    "GIT_SSL_CAINFO": "/ca",
    "GIT_SSL_CAPATH": "/ca.d",
    "GIT_SSL_CERT": "/cert",
    "GIT_SSL_KEY": "/key",
    "GIT_SSL_VERSION": "tlsv1.2",
    "GIT_SSL_CIPHER_LIST": "HIGH",
    "GIT_SSL_NO_VERIFY": "1",
    "GIT_PROXY_SSL_CAINFO": "/proxy-ca",
    "GIT_PROXY_COMMAND": "/bin/false",
    "GIT_HTTP_PROXY_AUTHMETHOD": "basic",
    "GIT_HTTP_USER_AGENT": "curious",
    "GIT_ALLOW_PROTOCOL": "file:ssh",
    "GIT_TRACE_REDACT": "1",
    "SSH_ASKPASS": "/bin/false",
    "SSH_AUTH_SOCK": "/socket",
    "HTTPS_PROXY": "http://proxy",
}
IS_CLEARED = {
    "GIT_DIR": "/elsewhere.git",
    "GIT_WORK_TREE": "/elsewhere",
    "GIT_INDEX_FILE": "/elsewhere/index",
    "GIT_OBJECT_DIRECTORY": "/elsewhere/objects",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/elsewhere/objects",
    "GIT_COMMON_DIR": "/elsewhere.git",
    "GIT_NAMESPACE": "elsewhere",
    "GIT_REPLACE_REF_BASE": "refs/elsewhere/",
    "GIT_SHALLOW_FILE": "/elsewhere/shallow",
    "GIT_TRACE": "1",
    "GIT_TRACE_PACKET": "true",
    "GIT_TRACE2_EVENT": "2",
    "GIT_CURL_VERBOSE": "1",
    "GIT_AUTHOR_DATE": "2001-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "Nobody",
}
IS_SET = {"GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat", "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}


@pytest.fixture
def told(tmp_path: Path, local_hub: Clone, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hub with a remote, and a program before git on PATH that writes down the environment which git gets."""
    told = tmp_path / "told"
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nenv -0 > "{told}"\nexec "{shutil.which("git")}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    git(local_hub.path, "remote", "add", "origin", "ssh://localhost/hub.git")
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GIT_SSH_COMMAND", "false")
    return told


def environment_of(told: Path) -> dict[str, str]:
    return dict(entry.split("=", 1) for entry in told.read_bytes().decode().split("\0") if entry)


def test_what_reaches_and_authenticates_passes_and_what_redirects_does_not(told: Path, local_hub: Clone) -> None:
    trace = str(told.with_name("trace"))
    local_hub.bd("list", "--fetch", env={**ARRIVES, **IS_CLEARED, "GIT_TRACE_SETUP": trace}, check=False)
    there = environment_of(told)
    assert {name: there.get(name) for name in ARRIVES} == ARRIVES
    assert {name for name in IS_CLEARED if there.get(name) == IS_CLEARED[name]} == set()
    assert {name: there.get(name) for name in IS_SET} == IS_SET
    assert there["GIT_TRACE_SETUP"] == trace


@pytest.mark.parametrize(("variant", "is_batch"), [("ssh", True), ("plink", False), ("simple", False)])
def test_a_program_that_knows_no_options_gets_none(variant: str, is_batch: bool, told: Path, local_hub: Clone) -> None:
    local_hub.bd("list", "--fetch", env={"GIT_SSH_VARIANT": variant}, check=False)
    assert ("BatchMode" in environment_of(told)["GIT_SSH_COMMAND"]) is is_batch


def test_bds_own_settings_win_over_those_of_the_environment(tmp_path: Path, local_hub: Clone) -> None:
    """A hook that comes by the environment runs no more than one of the repository's."""
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    hook = hooks / "reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n", encoding="utf-8")
    hook.chmod(0o755)
    env = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath", "GIT_CONFIG_VALUE_0": str(hooks)}
    local_hub.bd("create", "A bead", env=env)
    assert not (tmp_path / "ran").exists()


def test_settings_of_the_environment_count_from_the_command_on_that_has_them(local_hub: Clone) -> None:
    """What git's settings said is remembered from one command to the next."""
    for name in ("Ada", "Ben"):
        env = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": name}
        assert name in local_hub.bd("whoami", env=env).out
    assert "Ben" not in local_hub.bd("whoami").out


# --- a password -----------------------------------------------------------------------------


@pytest.fixture
def locked(hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpServer]:
    """Smart HTTP where everybody has to say a password."""
    git(hub, "config", "http.receivepack", "true")
    try:
        server = HttpServer(tmp_path, phrase="open sesame")
    except CannotServe as why:
        give_up("HTTP with a password", why)
        raise
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    yield server
    server.stop()


def asker(folder: Path, phrase: str) -> Path:
    """A program that git asks for a name and a password."""
    path = folder / "ask pass"
    path.write_text(f'#!/bin/sh\ncase "$1" in Username*) echo bd;; *) echo "{phrase}";; esac\n', encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("by", ["GIT_ASKPASS", "SSH_ASKPASS", "core.askPass", "GIT_CONFIG_COUNT", "http.extraHeader"])
def test_the_users_own_way_to_say_a_password_is_used(by: str, locked: HttpServer, hub: Path, tmp_path: Path) -> None:
    program = str(asker(tmp_path, "open sesame"))
    helper = "!f() { echo username=bd; echo 'password=open sesame'; }; f"
    header = "Authorization: Basic YmQ6b3BlbiBzZXNhbWU="
    settings = {"GIT_CONFIG_COUNT": ("credential.helper", helper), "http.extraHeader": ("http.extraHeader", header)}
    env = {by: program} if by.endswith("_ASKPASS") else {}
    if by in settings:
        key, value = settings[by]
        env = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": key, "GIT_CONFIG_VALUE_0": value}
    if by == "core.askPass":
        git(tmp_path, "config", "--global", "core.askPass", program)
    run_here("clone", locked.url(hub), "alice", cwd=tmp_path, env=env)
    bead_id = Clone(tmp_path / "alice").bd("q", "By a password", env=env).out.strip()
    assert tip_bead(hub, bead_id) is not None


def test_a_wrong_password_ends_without_a_prompt(locked: HttpServer, hub: Path, tmp_path: Path) -> None:
    env = {"GIT_ASKPASS": str(asker(tmp_path, "wrong"))}
    refused = run_here("clone", locked.url(hub), "alice", "--json", cwd=tmp_path, env=env, code=5)
    assert refused.json["scope"] == "hub"
    assert "Authentication failed" in refused.err
    assert not os.path.exists(tmp_path / "alice" / ".git")
