"""Keys and signed commits, with git's own verification beside bd's."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.truth import git, log, tip, tip_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

pytestmark = [pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed"), pytest.mark.one_in(9)]
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def keys(tmp_path: Path) -> Path:
    return tmp_path / "home" / "config" / "bd" / "keys"


def public(tmp_path: Path, name: str) -> str:
    return (keys(tmp_path) / f"{name}.pub").read_text().strip()


def verified(repository: Path, commit: str = "main") -> str:
    """What `git verify-commit` says with the hub's own allowed signers; empty where it does not verify."""
    allowed = repository.parent / "allowed"
    allowed.write_bytes(tip_file(repository, ".beads/allowed_signers") or b"")
    config = ["-c", f"gpg.ssh.allowedSignersFile={allowed}", "-c", "gpg.format=ssh"]
    done = subprocess.run(["git", "-C", str(repository), *config, "verify-commit", commit], capture_output=True, text=True)
    return done.stderr if done.returncode == 0 else ""


def test_a_key_is_made_once_and_kept_from_others(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    made = alice.here("identity", "init", "--agent", "coder", "--json").json
    path = keys(tmp_path) / "coder"
    assert made["key"].startswith("ssh-ed25519 ")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(keys(tmp_path).stat().st_mode) == 0o700
    before = path.read_bytes()
    again = alice.here("identity", "init", "--agent", "coder")
    assert "already has a key" in again.out
    assert path.read_bytes() == before
    assert not list(alice.path.glob("**/coder*")), "nothing of it lies in the hub or its clone"
    assert git(alice.path, "status", "--porcelain") == ""


def test_a_key_beside_nothing_is_never_overwritten(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    keys(tmp_path).mkdir(parents=True)
    (keys(tmp_path) / "coder").write_text("precious")
    clone("alice").here("identity", "init", "--agent", "coder")
    assert (keys(tmp_path) / "coder").read_text() == "precious"


def test_one_identity_serves_many_hubs(clone: Callable[[str], Clone], local_hub: Clone) -> None:
    alice = clone("alice")
    alice.here("identity", "init", "--agent", "coder")
    alice.here("agent", "add", "coder", "--capability", "git", check=False)
    for where in (alice, local_hub):
        assert not where.here("identity", "show", "--agent", "coder", "--json").json["allowed"]
        where.here("identity", "allow", "--agent", "coder")
        assert where.here("identity", "show", "--agent", "coder", "--json").json["allowed"]
        assert [one["name"] for one in where.here("identity", "list", "--json").json] == ["coder"]


def test_git_itself_verifies_what_bd_signs(hub: Path, clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    alice.here("identity", "init", "--agent", "coder")
    alice.here("identity", "allow", "--agent", "coder")
    assert 'Good "git" signature for coder' in verified(hub), "the first one vouches for itself"
    alice.here("config", "set", "sign", "true")
    alice.here("create", "Sign me", "--id", "hub-a", "--agent", "coder")
    alice.bd("claim", "hub-a", "--agent", "coder")
    assert log(hub)[0].startswith("claim: hub-a")
    assert 'Good "git" signature for coder' in verified(hub)
    shown = git(hub, "-c", f"gpg.ssh.allowedSignersFile={hub.parent / 'allowed'}", "log", "-1", "--format=%G? %GS", "main")
    assert shown == "G coder"
    assert git(hub, "fsck", "--strict", "--no-dangling") == ""


@pytest.mark.parametrize("way", ["a chain", "many files", "shared permissions", "a first commit"])
def test_every_way_of_writing_commits_signs_them(way: str, tmp_path: Path, hub: Path, clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    alice.here("identity", "init", "--agent", "coder")
    alice.here("identity", "allow", "--agent", "coder")
    alice.here("config", "set", "sign", "true")
    before = tip(hub)
    if way == "a chain":
        away = hub.rename(tmp_path / "away.git")
        for name in "abc":
            alice.here("create", name, "--agent", "coder")
        away.rename(hub)
        alice.here("sync", "--agent", "coder")
    elif way == "many files":
        (tmp_path / "in.jsonl").write_text("".join(f'{{"id": "hub-{n}", "title": "t"}}\n' for n in range(60)))
        alice.here("import", str(tmp_path / "in.jsonl"), "--agent", "coder")
    elif way == "shared permissions":
        (alice.path / ".git" / "objects").chmod(0o2775)
        alice.here("create", "One", "--agent", "coder")
    else:
        git(tmp_path, "init", "--quiet", "--bare", "new.git")
        alice.here("identity", "init")  # a person's: bd init is nobody else's
        words = ["init", str(tmp_path / "new"), "--prefix", "new", "--remote", str(tmp_path / "new.git")]
        alice.here(*words, env={"BD_SIGN": "true"})
        assert git(tmp_path / "new.git", "cat-file", "commit", "main").count("BEGIN SSH SIGNATURE") == 1
        return
    made = git(hub, "rev-list", f"{before}..main").split()
    assert len(made) == (3 if way == "a chain" else 1)
    for commit in made:
        assert 'Good "git" signature for coder' in verified(hub, commit)


def test_what_is_not_to_be_signed_is_not(hub: Path, clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    alice.here("identity", "init", "--agent", "coder")
    alice.here("create", "Plain", "--agent", "coder")
    assert "gpgsig" not in git(hub, "cat-file", "commit", "main")


def test_who_signs_without_a_key_is_told_what_to_do(hub: Path, clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    before = tip(hub)
    refused = alice.here("create", "New", "--agent", "coder", "--json", env={"BD_SIGN": "true"}, code=2)
    assert refused.json["code"] == "no_key"
    assert "bd identity init --agent coder" in refused.json["hint"]
    assert tip(hub) == before
    assert alice.here("identity", "allow", "--agent", "coder", "--json", code=2).json["code"] == "no_key"


def test_a_key_that_can_not_sign_is_told_why(hub: Path, clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    alice.here("identity", "init", "--agent", "coder")
    path, before = keys(tmp_path) / "coder", tip(hub)

    def refused() -> tuple[str, str]:
        said = alice.here(
            "create", "New", "--agent", "coder", "--json", env={"BD_SIGN": "true", "SSH_AUTH_SOCK": ""}, code=2
        ).json
        assert said["code"] == "cant_sign"
        return said["error"], said["hint"]

    path.chmod(0o644)
    error, hint = refused()
    assert "too open" in error
    assert hint == f"chmod 600 {path}"
    path.chmod(0o600)
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "secret", "-f", str(path)], check=True, capture_output=True)
    error, hint = refused()
    assert "passphrase" in error
    assert f"ssh-add {path}" in hint
    path.write_text("nothing of the kind")
    refused()
    assert tip(hub) == before
    (tmp_path / "bin").mkdir()
    for name in ("git", "sh"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or name)
    said = alice.here(
        "create", "New", "--agent", "coder", "--json", env={"BD_SIGN": "1", "PATH": str(tmp_path / "bin")}, code=2
    ).json
    assert said["code"] == "cant_sign"
    assert "install OpenSSH" in said["hint"]


def test_a_key_with_a_passphrase_signs_through_an_agent(hub: Path, clone: Callable[[str], Clone], tmp_path: Path) -> None:
    if shutil.which("ssh-agent") is None:
        pytest.skip("ssh-agent is not installed")
    alice = clone("alice")
    alice.here("identity", "init", "--agent", "coder")
    alice.here("identity", "allow", "--agent", "coder")
    path = keys(tmp_path) / "coder"
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(tmp_path / "socket")], stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None
        agent.stdout.readline()
        environment = {"SSH_AUTH_SOCK": str(tmp_path / "socket"), "BD_SIGN": "true"}
        subprocess.run(["ssh-add", "-q", str(path)], check=True, env={**os.environ, **environment}, capture_output=True)
        subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "secret", "-f", str(path)], check=True, capture_output=True)
        try:
            alice.here("create", "New", "--agent", "coder", env=environment)
        finally:
            agent.terminate()
    assert 'Good "git" signature for coder' in verified(hub)


def test_only_a_public_key_is_let_in(clone: Callable[[str], Clone], tmp_path: Path, hub: Path) -> None:
    alice = clone("alice")
    for name in ("coder", "other"):
        alice.here("identity", "init", "--agent", name)
    assert "let yourself in first" in alice.here("identity", "allow", "other", "--agent", "coder", code=2).err
    alice.here("identity", "allow", "--agent", "coder")
    before = tip(hub)
    private = str(keys(tmp_path) / "other")
    assert "private key" in alice.here("identity", "allow", "other", private, "--agent", "coder", code=2).err
    assert "not a public SSH key" in alice.here("identity", "allow", "other", "ssh-ed25519 x", "--agent", "coder", code=2).err
    assert "can't read" in alice.here("identity", "allow", "other", "nothing.pub", "--agent", "coder", code=2).err
    assert tip(hub) == before
    alice.here("identity", "allow", "other", f"{private}.pub", "--agent", "coder")
    taken = alice.here("identity", "allow", "third", public(tmp_path, "other"), "--agent", "coder", "--json", code=5)
    assert "is other's" in taken.json["error"]
    assert [line.split()[0] for line in (tip_file(hub, ".beads/allowed_signers") or b"").decode().splitlines()] == [
        "coder",
        "other",
    ]


def test_who_is_not_let_in_lets_nobody_in(hub: Path, clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    for name in ("coder", "mallory", "friend"):
        alice.here("identity", "init", "--agent", name)
    alice.here("identity", "allow", "--agent", "coder")
    before = tip(hub)
    for words in (["allow", "mallory"], ["allow", "friend"], ["revoke", "coder"]):
        assert alice.here("identity", *words, "--agent", "mallory", "--json", code=5).json["code"] == "not_allowed"
    assert tip(hub) == before
