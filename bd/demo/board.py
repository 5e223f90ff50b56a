"""The state of the running demo, computed only from the hub's commits.

It reads a commit as a `Happening` and adds them up in a `Board`. Pure functions; the caller of `read_happening` passes the raw
commit. view.py displays it, report/audit/proof.py has the proof.
"""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.store.git import commit_message

if TYPE_CHECKING:
    from collections.abc import Mapping


class Happening(NamedTuple):
    """A commit that claimed or closed beads: who, which beads, and how many pushes it took."""

    by: str
    closed: tuple[str, ...]
    claimed: tuple[str, ...]
    tries: int


class Row(NamedTuple):
    """One agent: its current bead, the beads it has done, and the pushes it has tried."""

    agent: str
    role: str
    bead: str = ""
    done: int = 0
    tries: int = 0


class Event(NamedTuple):
    """A happening, and when it was seen, in seconds since the start."""

    at_s: float
    happening: Happening


def read_happening(data: bytes) -> Happening | None:
    """Return what a raw commit did; None if it neither claimed nor closed beads."""
    _, text = commit_message.split_commit(data)
    form, trailers = commit_message.form_of(text), commit_message.parse(text)
    if form is None or form["verb"] not in ("claim", "close"):
        return None
    touched = trailers.get("Bd-Bead", [])
    closed = [] if form["verb"] == "claim" else list((form.get("args") or {}).get("ids") or [])
    claimed = [bead_id for bead_id in touched if bead_id not in closed]
    by = (trailers.get("Bd-Agent") or ["unknown"])[-1]
    return Happening(by, tuple(closed), tuple(claimed), int((trailers.get("Bd-Tries") or ["1"])[-1]))


class Board:
    """The race so far. `titles` are the titles of the work by id."""

    def __init__(self, agents: Mapping[str, str], titles: Mapping[str, str]) -> None:
        self.titles = titles
        self.rows = {name: Row(name, role) for name, role in agents.items()}
        self.events: list[Event] = []
        self._closed: set[str] = set()
        self._claims = 0
        self._tries = 0

    def take(self, happening: Happening, at_s: float) -> None:
        """Add a happening."""
        self.events.append(Event(at_s, happening))
        self._closed.update(bead_id for bead_id in happening.closed if bead_id in self.titles)
        self._claims += len(happening.claimed)
        self._tries += happening.tries
        row = self.rows.get(happening.by)
        if row is None:
            return
        bead = "" if row.bead in happening.closed else row.bead
        self.rows[row.agent] = row._replace(
            bead=happening.claimed[0] if happening.claimed else bead,
            done=row.done + len(happening.closed),
            tries=row.tries + happening.tries,
        )

    @property
    def total(self) -> int:
        return len(self.titles)

    @property
    def closed(self) -> int:
        return len(self._closed)

    @property
    def is_done(self) -> bool:
        return self.closed >= self.total

    @property
    def pushes_per_claim(self) -> float:
        return self._tries / self._claims if self._claims else 0.0
