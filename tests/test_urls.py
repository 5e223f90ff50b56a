"""Addresses of remotes, servers and outputs: what is local, what is near, what holds a password, what git would make of it."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bd
from bd.core import urls
from tests.truth import git

pytestmark = pytest.mark.one_in(2)

HERE = [
    "/srv/hub.git",
    ".",
    "../hub",
    "~/hub",
    "hub",
    "a/b:c",
    "./a:b",
    "file:///srv/hub.git",
    "FILE:///srv/hub.git",
    "ssh://localhost/hub",
    "ssh://git@LocalHost:2222/hub",
    "http://localhost.:80/x",
    "git://hub.localhost/x",
    "https://127.0.0.1/x",
    "http://127.1.2.3/x",
    "http://127.1/x",
    "http://2130706433/x",
    "http://0x7f000001/x",
    "http://0177.0.0.1/x",
    "http://[::1]:3000/x",
    "http://[::ffff:127.0.0.1]/x",
    "localhost:hub",
    "git@localhost:hub",
    "git@[::1]:hub",
    "http://user:secret@localhost/x",
]
ELSEWHERE = [
    "ssh://localhost.example.org/hub",
    "http://127.0.0.1.example.org/x",
    "http://localhost@example.org/x",
    "http://localhost:80@example.org/x",
    "http://127.0.0.1:pw@example.org/x",
    "https://example.org/localhost",
    "https://example.org/?u=http://localhost/",
    "https://example.org#@localhost",
    "git@example.org:hub",
    "example.org:hub",
    "localhost.example.org:hub",
    "host:path",
    "http://10.0.0.1/x",
    "http://[2001:db8::1]/x",
    "http://notlocalhost/x",
    "ssh://git@[fe80::1]/x",
]


@pytest.mark.parametrize(("text", "is_here"), [*((one, True) for one in HERE), *((one, False) for one in ELSEWHERE)])
def test_what_is_on_this_machine(text: str, is_here: bool) -> None:
    assert urls.is_here(text) is is_here


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://ada:pw@h/x", "https://ada@h/x"),
        ("HTTPS://ada:pw@h/x", "HTTPS://ada@h/x"),
        ("https://:pw@h/x", "https://h/x"),
        ("https://ada:p@w@h:1/x", "https://ada@h:1/x"),
        ("https://ada:p:w@h/x", "https://ada@h/x"),
        ("https://ada:p/w@h/x", "https://ada@h/x"),
        ("https://ada:p#w?@h/x", "https://ada@h/x"),
        ("ssh://git:pw@[::1]:22/x", "ssh://git@[::1]:22/x"),
        ("https://ada:@h/x", "https://ada@h/x"),
        ("https://ada@h/x", "https://ada@h/x"),
        ("https://h:80/x@y", "https://h:80/x@y"),
        ("ssh://[fd00::1]/a@b/c", "ssh://[fd00::1]/a@b/c"),
        ("ssh://[FD00::1]:22/a@b/c", "ssh://[FD00::1]:22/a@b/c"),
        ("https://ada:p]/w@h/x", "https://ada@h/x"),
        ("https://ada:/w@h/x", "https://ada@h/x"),
        ("https://h/a:b@c", "https://h/a:b@c"),
        ("git@h:a:b@c", "git@h:a:b@c"),
        ("/srv/a:b@c", "/srv/a:b@c"),
    ],
)
def test_a_password_is_not_shown(text: str, shown: str) -> None:
    assert urls.without_password(text) == shown


NAMES = st.text(alphabet="abcXYZ019-._~", min_size=1, max_size=12)
SECRETS = st.text(alphabet="abcXYZ019-._~!$&'()*+,;=:@%", min_size=1, max_size=12).map(lambda text: f"pw{text}")
REST = st.sampled_from(["", "/", "/x/y", "/a:b@c", "?q=a:b@c", "#f@g"])


@given(st.sampled_from(["http", "https", "ssh", "git+ssh", "ftp"]), NAMES, SECRETS, NAMES, st.integers(1, 65535), REST)
def test_no_password_is_left_in_what_is_shown(scheme: str, user: str, secret: str, host: str, port: int, rest: str) -> None:
    text = f"{scheme}://{user}:{secret}@{host}:{port}{rest}"
    assert urls.without_password(text) == f"{scheme}://{user}@{host}:{port}{rest}"
    found = urls.parsed(text)
    assert found is not None
    assert found.password == secret


@given(st.from_regex(r"\A(?:https?|ssh)://[a-z0-9@:/?#.%-]{0,30}\Z") | st.text(max_size=20))
def test_hosts_are_those_that_the_standard_library_finds(text: str) -> None:
    found = urls.parsed(text)
    if found is None or "://" not in text or not found.is_well_formed or not text.isascii() or not text.isprintable():
        return
    split = urlsplit(text)
    port = split.port or {"http": 80, "https": 443}.get(split.scheme)
    assert (found.scheme, found.host, found.port_number) == (split.scheme, split.hostname, port)


@pytest.mark.parametrize(
    ("text", "port"),
    [
        ("https://[2001:db8::1]/", 443),
        ("http://[::1]", 80),
        ("http://[::1]:8080/", 8080),
        ("https://h/", 443),
        ("ssh://[::1]/", None),
    ],
)
def test_every_web_address_has_a_port(text: str, port: int | None) -> None:
    found = urls.parsed(text)
    assert found is not None
    assert found.port_number == port


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    "text", [one for one in (*HERE, *ELSEWHERE) if urls.parsed(one) is None or "://" not in one or one.startswith("ssh:")]
)
def test_git_takes_for_a_path_what_is_one(text: str, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    said = subprocess.run(
        ["git", "-c", "protocol.ssh.allow=always", "fetch-pack", "--diag-url", text], cwd=tmp_path, capture_output=True, text=True
    ).stdout
    told = dict(line.removeprefix("Diag: ").split("=", 1) for line in said.splitlines())
    found = urls.parsed(text)
    assert (told["protocol"] == "file") is (found is None)
    if found is not None:
        place = told["userandhost"].rpartition("@")[2].strip("[]").lower()
        assert place in (found.host, f"{found.host}:{found.port}")


@pytest.mark.parametrize(
    ("text", "is_helper"),
    [("ext::sh -c x", True), ("fd::7", True), ("a+b::x", True), ("[::1]:x", False), ("u@[::1]:x", False), ("/a::b", False)],
)
def test_what_git_would_start_a_helper_for(text: str, is_helper: bool) -> None:
    assert urls.names_helper(text) is is_helper


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/a b", "/a b"),
        ("a/b", "a/b"),
        ("file:///a%20b", "/a b"),
        ("file://localhost/a", "/a"),
        ("FILE:///a", "/a"),
        ("host:a", None),
        ("ssh://host/a", None),
    ],
)
def test_the_path_of_what_is_local(text: str, path: str | None) -> None:
    assert urls.local_path(text) == path


@pytest.mark.parametrize(
    "text",
    """https:// https:///x http://:80/ http://h:0/ http://h:65536/ http://h:x/ http://u@h/ http://u:p@h/ http://h\\x/ ftp://h/
    //h/ h http://localhost:80@h/ http://[::1/ http://[::1]80/ http://[::1]:x/""".split(),
)
def test_what_can_not_be_asked_for(text: str) -> None:
    assert not urls.is_web(text)


@pytest.mark.parametrize("odd", [" ", "\n", "\t", "\x1b", "\x7f", "\u202e", '"', "<"])
def test_what_belongs_in_no_url(odd: str) -> None:
    assert not urls.is_web(f"http://h/{odd}")
    assert not urls.is_web(f"http://h{odd}.example.org/")


def test_nobody_else_takes_urls_apart() -> None:
    """No other module looks for a scheme in a text."""
    root = Path(bd.__file__).parent
    found = []
    for path in root.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if not re.search(r"://[\"']", text):
            continue
        for node in ast.walk(ast.parse(text)):
            asked = [*node.args] if isinstance(node, ast.Call) else [node.left] if isinstance(node, ast.Compare) else []
            texts = [one.value for part in asked for one in ast.walk(part) if isinstance(one, ast.Constant)]
            if any(isinstance(value, str) and value.endswith("://") for value in texts):
                found.append(path.relative_to(root).as_posix())
    assert {*found} == {"core/urls.py", "core/redaction.py"}, "the latter looks for URLs in texts, and has them parsed"
