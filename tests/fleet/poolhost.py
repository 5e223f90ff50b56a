"""A host that runs pools of one hub, for tests: its rounds, what it says of them, and who is there."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

from bd.pool.state import Quarters
from bd.store.hub_location import locate
from tests.runtime import open_clone
from tests.truth import tip_bead
from tests.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.running import Clone, Result

# A member that lives until it is drained, and one that does not listen.
WAITS = 'while [ ! -e "$BD_DRAIN_FILE" ]; do sleep 0.05; done'
DEAF = "trap '' TERM; while :; do sleep 0.05; done"


_ROUND = ("pool", "run", "--once", "--json")


class Host:
    """A host that runs pools of one hub."""

    def __init__(self, clone: Clone) -> None:
        self.clone = clone

    def pool(self, *, name: str = "worker", **settings: Any) -> None:
        """Make an agent a pool, and trust its commands here."""
        lines = "".join(f"  {key}: {json.dumps(value)}\n" for key, value in settings.items())
        file = self.clone.path / ".beads" / "agents" / f"{name}.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"name: {name}\npool:\n{lines}", encoding="utf-8")
        self.clone.here("sync")
        self.clone.here("trust", "--yes")

    def round(self) -> list[tuple[str, str]]:
        """One round of the controller: (event, member) of what it did."""
        return _events(self.clone.bd(*_ROUND))

    def round_here(self) -> list[tuple[str, str]]:
        """One round in this process, with what a test has put in the place of bd's own times."""
        return _events(self.clone.here(*_ROUND))

    @property
    def status(self) -> dict[str, Any]:
        return next(one for one in self.clone.here("pool", "status", "--json").json if one["name"] == "worker")

    @property
    def quarters(self) -> Quarters:
        hub = open_clone(locate(str(self.clone.path)))
        try:
            return Quarters(hub)
        finally:
            hub.close()

    def leader(self, name: str) -> int:
        """The process of a member; waits until it has said so."""
        path = self.quarters.path("members", f"{name}.pid")
        until(lambda: text_of(path).endswith("\n"))
        return int(text_of(path))

    @property
    def events(self) -> list[dict[str, Any]]:
        return self.quarters.events()

    def clear(self) -> None:
        """Leave nobody running, whatever session it has made its own, nor what one starts just now."""
        mark = f"BD_DRAIN_FILE={self.quarters.folder}/".encode()
        while _kill_all(mark):
            pass

    def kill(self, name: str) -> None:
        """End a member as kill -9 does, with all that it has started."""
        os.killpg(self.leader(name), signal.SIGKILL)
        self.until_ended(name)

    def until_ended(self, name: str) -> None:
        leader = self.leader(name)
        until(lambda: not is_alive(leader))


def _events(result: Result) -> list[tuple[str, str]]:
    return [(one["event"], one.get("member", "")) for one in result.json]


def _kill_all(mark: bytes) -> bool:
    """Kill every process with a variable that begins like this; whether there was one."""
    found = False
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError), open(f"/proc/{entry}/environ", "rb") as file:
            if any(word.startswith(mark) for word in file.read().split(b"\0")):
                os.kill(int(entry), signal.SIGKILL)
                found = True
    return found


def text_of(path: str) -> str:
    """What a file says; nothing where there is none."""
    with contextlib.suppress(FileNotFoundError), open(path, encoding="ascii") as file:
        return file.read()
    return ""


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not asked how does not."""
    if not os.path.isdir("/proc/self"):  # macOS
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout
        return state.strip()[:1] not in ("", "Z")
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def status_of(hub: Path, bead_id: str) -> str | None:
    bead = tip_bead(hub, bead_id)
    return bead.status if bead else None


def claimed_by(hub: Path, bead_id: str) -> str | None:
    bead = tip_bead(hub, bead_id)
    return bead.claim.agent if bead and bead.claim else None
