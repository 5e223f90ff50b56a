"""The files of tokens: what `bd token` writes, and what a running server makes of changes."""

from __future__ import annotations

import os
import resource
import threading
from typing import TYPE_CHECKING, Any

import pytest

from bd.core import files
from bd.core.errors import BadInput, NotFound
from bd.web import authentication, token_file
from bd.web.authentication import AGENT, Account
from bd.web.token_file import TokenFiles
from tests.runtime import RUNTIME, HookedRuntime
from tests.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.running import Clone

TOKEN = "a-token-that-nobody-guesses"  # noqa: S105
BOB = Account("bob", TOKEN, AGENT)


def test_a_file_has_digests_and_is_its_owners(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    token_file.add(str(path), BOB, RUNTIME)
    token_file.add(str(path), Account("Ada Lovelace", "another-token-0001"), RUNTIME)
    assert path.stat().st_mode & 0o777 == 0o600
    assert TOKEN not in path.read_text()
    found = token_file.accounts_in(str(path), pytest.fail)
    assert authentication.by_token(found, TOKEN) == BOB._replace(token=BOB.digest)
    assert token_file.remove(str(path), BOB.id, RUNTIME).name == "bob"
    assert [account.name for account in token_file.accounts_in(str(path), pytest.fail)] == ["Ada Lovelace"]
    assert path.read_text().startswith("# ")
    with pytest.raises(NotFound):
        token_file.remove(str(path), BOB.id, RUNTIME)


def test_a_last_line_without_an_end_stays_a_line(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text("Ada Lovelace another-token-0001")
    token_file.add(str(path), BOB, RUNTIME)
    assert [(one.kind, one.name) for one in token_file.accounts_in(str(path), lambda _: None)] == [
        ("person", "Ada Lovelace"),
        ("agent", "bob"),
    ]


@pytest.mark.parametrize("before", ["Ada Lovelace 0123456789abcdef0123", None])
def test_on_a_full_disk_a_line_is_added_whole_or_not_at_all(tmp_path: Path, before: str | None) -> None:
    """Half a line would make a server take the whole file for unusable."""
    path = tmp_path / "tokens"
    if before:
        path.write_text(before)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before or "") + 9, hard))
    try:
        with pytest.raises(BadInput):
            token_file.add(str(path), Account("coder", "sha256:" + "0" * 64, AGENT), RUNTIME)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (path.read_text() if path.exists() else None) == before


def test_a_file_may_be_named_from_here_but_its_folder_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    token_file.add("tokens", BOB, RUNTIME)
    assert token_file.remove("tokens", BOB.id, RUNTIME).name == "bob"
    with pytest.raises(BadInput, match="nowhere"):
        token_file.add("nowhere/tokens", BOB, RUNTIME)
    with pytest.raises(BadInput, match="nowhere"):
        token_file.remove("nowhere/tokens", BOB.id, RUNTIME)
    assert not (tmp_path / "nowhere").exists()


class WaitingRuntime(HookedRuntime):
    """It tells that somebody waits."""

    waited = False

    def sleep(self, seconds: float) -> None:
        self.waited = True
        super().sleep(seconds)


def test_of_two_removals_at_once_neither_brings_a_token_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, replace = str(tmp_path / "tokens"), files.replace
    many = [Account(f"agent-{number}", f"token-of-agent-{number:05}", AGENT) for number in range(2)]
    for one in many:
        token_file.add(path, one, RUNTIME)
    waits = WaitingRuntime()
    other = threading.Thread(target=token_file.remove, args=(path, many[1].id, waits))

    def while_the_other_begins(*args: Any, **more: Any) -> None:
        if threading.current_thread() is not other:
            other.start()
            until(lambda: waits.waited or not other.is_alive())
        replace(*args, **more)

    monkeypatch.setattr(files, "replace", while_the_other_begins)
    token_file.remove(path, many[0].id, RUNTIME)
    other.join()
    assert token_file.accounts_in(path, pytest.fail) == ()


def test_a_server_follows_its_files(tmp_path: Path) -> None:
    told: list[str] = []
    path = tmp_path / "tokens"
    followed = TokenFiles([str(path), str(tmp_path / "nowhere")], told.append)
    assert followed.accounts() == ()
    token_file.add(str(path), BOB, RUNTIME)
    assert [account.name for account in followed.accounts()] == ["bob"]
    path.write_text("damaged\n")
    assert followed.accounts() == ()
    assert followed.accounts() == ()
    assert len([words for words in told if "not accepted" in words]) == 1, "said once"
    path.unlink()
    assert followed.accounts() == ()


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_a_file_that_others_may_read_is_reported(tmp_path: Path) -> None:
    told: list[str] = []
    path = tmp_path / "tokens"
    path.write_text(f"bob {TOKEN}\n")
    path.chmod(0o644)
    token_file.accounts_in(str(path), told.append)
    assert "others on this machine may read" in told[0]


@pytest.mark.parametrize("text", ["", "# nobody\n"])
def test_a_server_does_not_start_on_a_file_without_tokens(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tokens"
    path.write_text(text)
    with pytest.raises(BadInput, match="has no token in it"):
        token_file.accounts_of(str(path), lambda: "Ada", lambda _: None)


def test_what_bd_token_makes_a_server_takes(local_hub: Clone) -> None:
    made = local_hub.here("token", "create", "--for-agent", "bob", "--json").json
    path = token_file.own_file(str(local_hub.path / ".git" / "bd"))
    [account] = token_file.accounts_in(path, pytest.fail)
    assert authentication.by_token([account], made["token"]) == account
    assert (account.id, account.kind, account.name) == (made["name"], "agent", "bob")
    assert local_hub.here("token", "list", "--json").json == [{"name": account.id, "kind": "agent", "for": "bob"}]
    local_hub.here("token", "create", "--person", "Eve", env={"BD_BEAD_FILE": "/x"}, code=5)
    local_hub.here("token", "revoke", account.id, env={"BD_BEAD_FILE": "/x"}, code=5)
    local_hub.here("token", "revoke", account.id)
    assert token_file.accounts_in(path, pytest.fail) == ()
