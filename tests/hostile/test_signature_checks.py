"""Checking signatures: git, this process and ssh-keygen agree, and what was found out is remembered by commit."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from bd.core import signers
from bd.report.audit.audit import examine
from bd.store.git.commit_message import signed_by, split_commit
from bd.store.git.discovery import find_repo
from bd.store.trust import signatures, signing
from bd.store.trust.authority import Standing
from bd.store.trust.signature_checks import NAME, Checks
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bd.store.git.repository import GitRepo
    from tests.running import Clone

pytestmark = [pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed"), pytest.mark.one_in(7)]
KINDS = {"ed25519": ["ed25519"], "rsa": ["rsa", "-b", "2048"], "ecdsa": ["ecdsa"]}


def make_key(folder: Path, name: str, kind: str = "ed25519") -> Path:
    path = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", *KINDS[kind], "-N", "", "-C", name, "-f", str(path)], check=True)
    return path


def public(path: Path) -> str:
    return signers.key_of(path.with_suffix(".pub").read_text().strip())


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[GitRepo]:
    folder = tmp_path / "repo"
    git(tmp_path, "init", "--quiet", "-b", "main", str(folder))
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "first")
    found = find_repo(str(folder))
    assert found is not None
    yield found
    found.close()


def commit(repo: GitRepo, key: Path, message: str = "signed", *, at: int = 1_790_000_000) -> bytes:
    """A commit as git signs it, raw."""
    signing_with = ["-c", "gpg.format=ssh", "-c", f"user.signingkey={key}"]
    tree = git(repo.work_tree, "rev-parse", "HEAD^{tree}")
    env = {**os.environ, "GIT_COMMITTER_DATE": f"{at} +0000", "GIT_AUTHOR_DATE": f"{at - 5_000_000} +0000"}
    argv = ["git", "-C", repo.work_tree, *signing_with, "commit-tree", "-S", tree, "-p", "HEAD", "-m", message]
    oid = subprocess.run(argv, env=env, capture_output=True, text=True, check=True).stdout.strip()
    return subprocess.run(["git", "-C", str(repo.work_tree), "cat-file", "commit", oid], capture_output=True, check=True).stdout


def says_git(repo: GitRepo, data: bytes, allowed: str) -> bool:
    """Whether git verifies a raw commit with these allowed signers."""
    oid = git(repo.work_tree, "hash-object", "-t", "commit", "-w", "--stdin", "--literally", data=data)
    file = os.path.join(repo.common_dir, "allowed")
    with open(file, "w", encoding="utf-8") as out:
        out.write(allowed)
    argv = ["git", "-C", repo.work_tree, "-c", f"gpg.ssh.allowedSignersFile={file}", "verify-commit", oid]
    return subprocess.run(argv, capture_output=True).returncode == 0


def forgeries(repo: GitRepo, key: Path) -> dict[str, bytes]:
    """Commits that are not signed, or not as they say."""
    good, other = commit(repo, key, "one"), commit(repo, key, "another")
    found = signatures.of_commit(good)
    assert found is not None
    text = found.text
    file = subprocess.run(
        ["ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", str(key)], input=found.payload, capture_output=True
    )
    lines = text.splitlines(keepends=True)
    return {
        "unsigned": found.payload,
        "of another": signing.signed(found.payload, signatures.of_commit(other).text),
        "for another purpose": signing.signed(found.payload, file.stdout),
        "changed": good.replace(b"\n\none", b"\n\nOne"),
        "cut": signing.signed(found.payload, b"".join([*lines[:2], lines[-1]])),
        "no base64": signing.signed(found.payload, b"".join([lines[0], b"????\n", lines[-1]])),
        "no armour": signing.signed(found.payload, b"".join(lines[1:-1])),
        "empty": signing.signed(found.payload, lines[0] + lines[-1]),
    }


@pytest.mark.one_in(21)
@pytest.mark.parametrize("by", ["this process", "ssh-keygen"])
@pytest.mark.parametrize("kind", list(KINDS))
def test_git_and_bd_agree(by: str, kind: str, repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if by == "ssh-keygen":
        monkeypatch.setattr(signatures, "is_good_at_once", lambda signature: False)
    elif kind == "ed25519":
        pytest.importorskip("cryptography")
    key, stranger = make_key(tmp_path, "coder", kind), make_key(tmp_path, "mallory", kind)
    allowed = signers.line_for("coder", public(key))
    cases = {"good": commit(repo, key), "unknown": commit(repo, stranger), **forgeries(repo, key)}
    said = {}
    for name, data in cases.items():
        found = signatures.of_commit(data)
        ours = found is not None and found.key == public(key) and signatures.is_good(found)
        assert ours == says_git(repo, data, allowed + "\n"), name
        said[name] = ours
    assert [name for name, is_good in said.items() if is_good] == ["good"]


@pytest.mark.parametrize(
    ("since", "until"), [("", ""), ("2026", ""), ("", "2026"), ("2025", "2027"), ("2027", "2028"), ("", "2025")]
)
def test_git_and_bd_agree_on_when_a_key_may_sign(since: str, until: str, repo: GitRepo, tmp_path: Path) -> None:
    """By the time at which it was committed, whenever it was written."""
    key = make_key(tmp_path, "coder")
    stamps = {"valid-after": f"{since}0101000000Z" if since else "", "valid-before": f"{until}0101000000Z" if until else ""}
    options = "".join(f',{name}="{value}"' for name, value in stamps.items() if value)
    line = f'coder namespaces="git"{options} {public(key)}'
    assert signers.read_line(line) is not None
    for at in (1_735_689_599, 1_735_689_601, 1_767_225_599, 1_767_225_601, 1_790_000_000):  # in the very second bd is stricter
        data = commit(repo, key, at=at)
        found = signatures.of_commit(data)
        assert found is not None
        headers, _ = split_commit(data)
        _, at_s = signed_by({"author": headers["committer"]})
        assert at_s == at
        assert Standing((line,)).allows("coder", found.key, at_s) == says_git(repo, data, line + "\n"), at


def test_at_once_says_yes_only_where_ssh_keygen_does(repo: GitRepo, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    key = make_key(tmp_path, "coder")
    found = signatures.of_commit(commit(repo, key))
    assert found is not None
    assert signatures.is_good_at_once(found)
    assert not signatures.is_good_at_once(found._replace(payload=found.payload + b"!"))
    for name, data in forgeries(repo, key).items():
        other = signatures.of_commit(data)
        assert other is None or not signatures.is_good_at_once(other), name
    for kind in ("rsa", "ecdsa"):
        other = signatures.of_commit(commit(repo, make_key(tmp_path, kind, kind)))
        assert other is not None
        assert not signatures.is_good_at_once(other), "ssh-keygen judges these"


def test_what_was_found_out_is_remembered(repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signatures, "is_good_at_once", lambda signature: False)
    key = make_key(tmp_path, "coder")
    wanted = {f"{number:040x}": signatures.of_commit(commit(repo, key, f"{number}")) for number in range(12)}
    wrong = {"f" * 40: signatures.of_commit(forgeries(repo, key)["changed"])}
    asked = {name: found for name, found in {**wanted, **wrong}.items() if found is not None}
    os.mkdir(os.path.join(repo.common_dir, "bd"))
    checks = Checks(repo)
    checks.learn(asked)
    assert [name for name, found in asked.items() if not checks.is_good(name, found)] == ["f" * 40]
    checks.note()
    with open(os.path.join(repo.common_dir, "bd", NAME), encoding="ascii") as file:
        assert file.read().split() == list(wanted), "only what is good"
    monkeypatch.setattr(signatures, "is_good", lambda signature: False)
    again = Checks(repo)
    again.learn(asked)
    assert [name for name, found in asked.items() if again.is_good(name, found)] == list(wanted)


def test_a_second_audit_asks_no_program(clone: Callable[[str], Clone], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signatures, "is_good_at_once", lambda signature: False)
    ada = clone("ada")
    ada.here("identity", "init", "--agent", "ada")
    ada.here("identity", "allow", "--agent", "ada")
    ada.here("config", "set", "require_signed", "true", "--agent", "ada")
    for number in range(11):
        ada.here("create", f"Work {number}", "--agent", "ada")
    repo = find_repo(str(ada.path))
    assert repo is not None
    tip = git(ada.path, "rev-parse", "HEAD")
    try:
        assert examine(repo, tip).holds
        monkeypatch.setattr(signatures, "is_good", lambda signature: False)
        assert examine(repo, tip).holds
        os.unlink(os.path.join(repo.common_dir, "bd", NAME))
        assert not examine(repo, tip).holds, "that was all it went by"
    finally:
        repo.close()
