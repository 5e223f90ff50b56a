"""The server as a process: where it listens, who may write, how it ends and comes back."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.running import BD
from tests.web.running import asked, serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

pytestmark = pytest.mark.one_in(15)


@pytest.fixture
def own(clone: Callable[[str], Clone]) -> Clone:
    made = clone("server")
    made.bd("create", "Mend the proxy", "--id", "hub-one")
    return made


def test_it_listens_on_this_machine_only_and_is_read_only(own: Clone, tmp_path: Path) -> None:
    with serving(own, errors=tmp_path / "said") as server:
        assert urlsplit(server.url).hostname == "127.0.0.1"
        assert server.writers == []
        assert "hub-one" in asked(server.url).read().decode()
    assert (tmp_path / "said").read_text() == ""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
def test_it_ends_well_when_told_to_also_with_pages_open(how: signal.Signals, own: Clone) -> None:
    with serving(own) as server:
        stream = asked(f"{server.url}events")
        assert stream.readline()
        server.process.send_signal(how)
        assert server.process.wait() == 0
        stream.read()


def test_after_a_kill_it_is_started_again_and_writes(own: Clone) -> None:
    with serving(own) as server:
        asked(f"{server.url}healthz").read()
        port = str(urlsplit(server.url).port)
        server.process.kill()
        server.process.wait()
        own.bd("create", "Meanwhile", "--id", "hub-two")
        with serving(own, "--port", port) as again:
            assert again.url == server.url
            assert "hub-two" in asked(again.url).read().decode()


def test_a_token_file_is_made_for_nobody_else_to_read(own: Clone, tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    with serving(own, "--token-file", str(path)) as server:
        (name,) = server.writers
    line = path.read_text().splitlines()[-1]
    assert line.startswith(f"{name} ")
    assert len(line.rpartition(" ")[2]) >= 32
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_token_file_that_can_be_neither_read_nor_made_is_told_as_such(own: Clone, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\xff")
    for path in (tmp_path / "nowhere" / "tokens", tmp_path, tmp_path / "binary"):
        refused = own.here("serve", "--port", "0", "--token-file", str(path), code=2)
        assert "the token file can't be read or made" in refused.err


def test_a_token_file_that_others_may_read_is_warned_of(own: Clone, tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text("Ada 0123456789abcdef\n")
    path.chmod(0o644)
    with serving(own, "--token-file", str(path), errors=tmp_path / "said") as server:
        assert server.writers == ["Ada"]
    assert "chmod 600" in (tmp_path / "said").read_text()


def test_where_others_reach_it_it_says_so(own: Clone, tmp_path: Path) -> None:
    with serving(own, "--host", "0.0.0.0", errors=tmp_path / "said") as server:  # noqa: S104
        port = urlsplit(server.url).port
        assert asked(f"http://127.0.0.1:{port}/healthz").status == 200
    said = (tmp_path / "said").read_text()
    assert "anybody who can reach this address can read the whole hub" in said
    assert "nobody may change anything without --token-file" in said
    assert "not encrypted" in said


def test_a_body_that_breaks_off_is_no_bug(own: Clone, tmp_path: Path) -> None:
    with serving(own, errors=tmp_path / "said") as server:
        parts = urlsplit(server.url)
        with socket.create_connection((parts.hostname, parts.port)) as sender:
            sender.sendall(b"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nabc")
        asked(f"{server.url}healthz").read()
    assert (tmp_path / "said").read_text() == ""


def test_a_host_that_can_be_none_is_refused(own: Clone) -> None:
    assert "can't listen" in own.bd("serve", "--host", "a..b", code=2).err


def test_a_port_that_is_taken_is_refused(own: Clone) -> None:
    with serving(own) as server:
        refused = own.bd("serve", "--port", str(urlsplit(server.url).port), code=2)
    assert "can't listen" in refused.err


def test_without_a_hub_there_is_no_server(tmp_path: Path) -> None:
    refused = subprocess.run([*BD, "serve", "--port", "0"], cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode == 4


def test_without_the_extra_it_says_which_one(own: Clone) -> None:
    code = "import sys; sys.modules['uvicorn'] = None\nfrom bd.cli.main import main\nsys.exit(main(['serve', '--port', '0']))"
    refused = subprocess.run([sys.executable, "-c", code], cwd=own.path, capture_output=True, text=True)
    assert refused.returncode == 2
    assert "gitbeads[serve]" in refused.stderr
