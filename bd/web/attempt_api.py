"""The API for isolated attempts: a worker serves it itself, on a free port of this machine, as long as such an attempt runs.

Each attempt has a token of its own for its claim. Tokens and server are in the worker's memory alone, and end with it.
"""

from __future__ import annotations

import os
import stat
from threading import Lock

from bd import TYPE_CHECKING
from bd.core import files as private_files
from bd.core.errors import BdError
from bd.repos.folders import made
from bd.web import authentication
from bd.web.api.endpoints import PREFIX
from bd.web.api.verbs import PROGRAM, program_calls
from bd.web.authentication import CLAIM, Account
from bd.web.checks import SERVED
from bd.web.server import Background, bound
from bd.web.site import Site

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bd.brief.verbs import Verbs
    from bd.core.model import Bead
    from bd.core.runtime import Runtime
    from bd.store import Clone

_HOST = "127.0.0.1"
# The token is in a file for curl: command lines can be seen by everybody on the machine.
_SCRIPT = """\
#!/bin/sh
# bd-api METHOD PATH [JSON] asks the hub's API as the claim of this attempt, such as:
#   bd-api POST beads/hub-7k3q/progress '{"text": "found the cause"}'
[ $# -ge 2 ] || { sed -n 's/^# //p' "$0" >&2; exit 2; }
method=$1 path=${2#/}
shift 2
exec curl -q --silent --show-error --fail-with-body --noproxy '*' --header @"$BD_API_HEADERS" --request "$method" \\
    ${1+--header "Content-Type: application/json" --data-raw "$1"} "$BD_API_URL/$path"
"""


class AttemptApi:
    """The API of one worker. `tell` prints a line for whoever runs it."""

    def __init__(self, open_hub: Callable[[], Clone], runtime: Runtime, tell: Callable[[str], None]) -> None:
        self._open_hub, self._runtime, self._tell = open_hub, runtime, tell
        self._accounts: dict[str, Account] = {}
        self._served: Background | None = None
        self._lock = Lock()

    def admit(self, bead: Bead, files: str) -> AttemptAccess:
        """Return access for the claim of a bead, and write its files; the first one starts the server.

        Raises BadInput, TryAgain and OSError.
        """
        token = authentication.fresh()
        account = Account(bead.id, authentication.digest_of(token), CLAIM, bead.get("claim")["token"])
        with self._lock:
            self._served = self._served or self._serve()
            address = self._served.address
            self._accounts[account.digest] = account
        access = AttemptAccess(f"{address.rstrip('/')}{PREFIX}", token, files, lambda: self._end(account.digest))
        try:
            access.write()
        except (BdError, OSError):
            access.close()
            raise
        return access

    def _serve(self) -> Background:
        site = Site(self._open_hub, self._runtime, lambda: tuple(self._accounts.values()), is_private=True)
        site.verbs = program_calls
        site.tell = self._tell
        site.checks.kinds = SERVED - {"judge"}  # the worker runs it, as isolated as the command, when that has ended
        return Background(site, bound(_HOST, 0))

    def _end(self, digest: str) -> None:
        """End an account at once, and the server after the last one."""
        with self._lock:
            self._accounts.pop(digest, None)
            served = None
            if not self._accounts:
                served, self._served = self._served, None
        if served is not None:
            served.close()


class AttemptAccess:
    """One attempt's access. `close` ends its token; it may be called twice."""

    def __init__(self, url: str, token: str, files: str, end: Callable[[], None]) -> None:
        self.programs = os.path.join(files, "bin")
        self.close = end
        self._url, self._token = url, token
        self._headers = os.path.join(files, "api-headers")

    @property
    def environment(self) -> Mapping[str, str]:
        return {"BD_API_URL": self._url, "BD_API_TOKEN": self._token, "BD_API_HEADERS": self._headers}

    def verbs(self, bead_id: str) -> Verbs:
        return program_calls(CLAIM, bead_id)

    def write(self) -> None:
        """Write the header with the token, for curl, and the program that sends it. Raises TryAgain and OSError."""
        made(self.programs)
        program = os.path.join(self.programs, PROGRAM)
        for path, text in ((self._headers, f"Authorization: Bearer {self._token}\n"), (program, _SCRIPT)):
            with open(path, "w", encoding="utf-8", opener=private_files.private) as file:
                file.write(text)
        os.chmod(program, stat.S_IRWXU)
