"""Real git servers on loopback for tests: OpenSSH's sshd, and git's own smart HTTP behind a small bridge.

Belongs here: starting and stopping them, and saying why one can't be had. Each serves one folder
of bare repositories, needs no root, and leaves nothing running.
"""

from __future__ import annotations

import base64
import gzip
import os
import pwd
import shutil
import socket
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOOPBACK = "127.0.0.1"
_START_TRIES = 5
READ_ONLY_WORDS = "The key you are authenticating with has been marked as read only."


class CannotServe(Exception):
    """Why a server can't be had on this machine, in words for the person who reads the test's report."""


def find_program(name: str) -> str | None:
    """A program by PATH, or where system daemons lie."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin:/sbin:/usr/libexec:/opt/homebrew/sbin")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


# --- ssh ----------------------------------------------------------------------------------


class SshServer:
    """An sshd of its own: host key, port, one key that may write, one that may only read."""

    def __init__(self, folder: Path) -> None:
        self._program = find_program("sshd")
        if self._program is None:
            raise CannotServe("there is no sshd: install openssh-server")
        for name in ("ssh", "ssh-keygen"):
            if shutil.which(name) is None:
                raise CannotServe(f"there is no {name}: install openssh-client")
        self.folder = folder
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("host", "writer", "reader", "stranger"):
            self._make_key(name)
        self._authorize()
        self.start()

    def _make_key(self, name: str) -> None:
        path = self.folder / name
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)], check=True)

    def _authorize(self) -> None:
        """The reader's key is what a host calls a read-only deploy key: it may fetch, and a push is turned away in words."""
        only_fetch = self.folder / "only-fetch"
        only_fetch.write_text(
            "#!/bin/sh\n"
            'case "$SSH_ORIGINAL_COMMAND" in\n'
            '  git-upload-pack*) exec git-shell -c "$SSH_ORIGINAL_COMMAND" ;;\n'
            f'  *) echo "ERROR: {READ_ONLY_WORDS}" >&2; exit 1 ;;\n'
            "esac\n"
        )
        only_fetch.chmod(0o755)
        writer, reader = (self.folder.joinpath(f"{name}.pub").read_text() for name in ("writer", "reader"))
        authorized = self.folder / "authorized_keys"
        authorized.write_text(f'restrict {writer}restrict,command="{only_fetch}" {reader}')
        authorized.chmod(0o600)

    def _configure(self) -> Path:
        lines = [
            f"Port {self.port}",
            f"ListenAddress {LOOPBACK}",
            f"HostKey {self.folder / 'host'}",
            f"AuthorizedKeysFile {self.folder / 'authorized_keys'}",
            f"PidFile {self.folder / 'pid'}",
            "StrictModes no",
            "UsePAM no",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "PermitRootLogin prohibit-password",
            "MaxStartups 200",
            "LogLevel ERROR",
            f"SetEnv PATH={os.environ['PATH']} GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null",
        ]
        path = self.folder / "sshd_config"
        path.write_text("\n".join(lines) + "\n")
        return path

    def start(self) -> None:
        """Listen; on the same port as before, when it was stopped. Raises CannotServe with sshd's words."""
        if os.geteuid() == 0:  # as root, sshd wants its empty folder to be there
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        known_port, words = self.port, ""
        for _ in range(_START_TRIES):
            self.port = known_port or _free_port()
            log = self.folder / "log"
            args = [str(self._program), "-D", "-f", str(self._configure()), "-E", str(log)]
            self._process = subprocess.Popen(args, stdin=subprocess.DEVNULL)
            if self._answers():
                self._write_known_hosts()
                return
            self.stop()
            words = log.read_text() if log.exists() else ""
        raise CannotServe(f"sshd does not start: {words.strip() or 'no words'}")

    def _answers(self) -> bool:
        """Whether sshd greets: connecting is tried again as long as its process lives."""
        while self._process is not None and self._process.poll() is None:
            try:
                with socket.create_connection((LOOPBACK, self.port)) as connection:
                    return connection.recv(4) == b"SSH-"
            except OSError:
                threading.Event().wait(0.02)
        return False

    def _write_known_hosts(self) -> None:
        key = " ".join((self.folder / "host.pub").read_text().split()[:2])
        (self.folder / "known_hosts").write_text(f"[{LOOPBACK}]:{self.port} {key}\n")

    def stop(self) -> None:
        """Stop listening and wait until it is so."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def url(self, path: Path) -> str:
        return f"ssh://{pwd.getpwuid(os.getuid()).pw_name}@{LOOPBACK}:{self.port}{path}"

    def environment(self, key: str = "writer", *, known: bool = True) -> dict[str, str]:
        """What a client's environment needs to get in with this key; `known` False: it has never seen the host."""
        hosts = self.folder / ("known_hosts" if known else "no_hosts")
        command = (
            f"ssh -F /dev/null -i {self.folder / key} -o IdentitiesOnly=yes -o IdentityAgent=none "
            f"-o UserKnownHostsFile={hosts} -o GlobalKnownHostsFile=/dev/null -o StrictHostKeyChecking="
            + ("yes" if known else "ask")
        )
        return {"GIT_SSH_COMMAND": command, "GIT_ALLOW_PROTOCOL": "file:ssh"}


# --- smart HTTP ---------------------------------------------------------------------------


class HttpServer:
    """`git http-backend` for the repositories below a folder. With `phrase`, everybody has to give it as password (user `bd`)."""

    def __init__(self, root: Path, *, phrase: str | None = None) -> None:
        backend = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout.strip()
        self.backend = os.path.join(backend, "git-http-backend")
        if not os.access(self.backend, os.X_OK):
            raise CannotServe(f"there is no {self.backend}: install git with its HTTP server part")
        if not os.access(os.path.join(backend, "git-remote-http"), os.X_OK):
            raise CannotServe("this git can't speak HTTP: install git-remote-http")
        self.root = root
        self.phrase = phrase
        self.requests: list[str] = []
        self.port = 0
        self._server: ThreadingHTTPServer | None = None
        self.start()

    def start(self) -> None:
        """Listen; on the same port as before, when it was stopped."""
        owner = self

        class Handler(_Bridge):
            server_owner = owner

        self._server = ThreadingHTTPServer((LOOPBACK, self.port), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self) -> None:
        """Stop listening and wait until it is so."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def url(self, path: Path, *, login: str | None = None) -> str:
        return f"http://{login + '@' if login else ''}{LOOPBACK}:{self.port}/{path.relative_to(self.root)}"

    def environment(self) -> dict[str, str]:
        return {"GIT_ALLOW_PROTOCOL": "file:http"}

    def lets_in(self, header: str | None) -> bool:
        if self.phrase is None:
            return True
        right = base64.b64encode(f"bd:{self.phrase}".encode()).decode()
        return header == f"Basic {right}"


class _Bridge(BaseHTTPRequestHandler):
    """One HTTP request as one CGI run of git http-backend."""

    protocol_version = "HTTP/1.1"
    server_owner: HttpServer

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        self._serve(self._body())

    def log_message(self, format: str, *args: Any) -> None:
        self.server_owner.requests.append(format % args)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            body = b"".join(self._chunks())
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _serve(self, body: bytes) -> None:
        owner = self.server_owner
        if not owner.lets_in(self.headers.get("Authorization")):
            self._answer(401, [("WWW-Authenticate", 'Basic realm="the hub"')], b"who are you?\n")
            return
        path, _, query = self.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(owner.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": LOOPBACK,
            "REMOTE_USER": "bd",
        }
        run = subprocess.run([owner.backend], input=body, env=environment, capture_output=True)
        head, _, content = run.stdout.partition(b"\r\n\r\n")
        headers = [tuple(line.split(": ", 1)) for line in head.decode("latin-1").splitlines() if ": " in line]
        status = next((int(value.split()[0]) for name, value in headers if name == "Status"), 200 if head else 500)
        self._answer(status, [(name, value) for name, value in headers if name != "Status"], content)

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
