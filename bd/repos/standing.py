"""Which code repositories this clone may work on now, and why not the others: untrusted, changed, not valid, or at rest.

A repository rests after its setup has failed twice in a row, for an hour at first. `bd repo check` ends the rest.
"""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import times
from bd.core.code_repos import repos_of
from bd.notify.command_pins import NOT_SEEN, changes, pinned, repos_asked_for

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from typing import Any

    from bd.core.model import Snapshot
    from bd.store import Clone

NOTE = "repos.json"
_SHAPE = {...: {"failures": int, "words": str, "at": str}}
FAILURES, REST_S = 2, 3600.0


class Stopped(NamedTuple):
    """A repository that gets no work here, and why. `is_new`: nobody has ever decided about it in this clone."""

    name: str
    why: str
    since: str = ""
    is_new: bool = False

    @property
    def is_rest(self) -> bool:
        """Whether only its setup's failures stop it."""
        return bool(self.since)

    def as_json(self) -> dict[str, Any]:
        return {"repo": self.name, "why": self.why, **({"since": self.since} if self.since else {})}


def stopped_repos(hub: Clone, snapshot: Snapshot, now: datetime) -> list[Stopped]:
    """Return the repositories that get no work in this clone."""
    asked = repos_asked_for(snapshot)
    if not asked:
        return []
    _, wrong = repos_of(snapshot.config())
    known, noted = pinned(hub), _noted(hub)
    found = []
    for one in asked:
        reasons = changes(one, known.get(one.name))
        note = noted.get(one.repo)
        if one.repo in wrong:
            found.append(Stopped(one.repo, wrong[one.repo]))
        elif reasons:
            is_new = reasons == [NOT_SEEN]
            why = "it is not trusted in this clone" if is_new else "its entry has changed since it was trusted"
            found.append(Stopped(one.repo, f"{why}: `bd trust` shows it", is_new=is_new))
        elif note and _rests(note, now):
            words = f"its setup failed {note['failures']} times in a row: {note['words']}"
            found.append(Stopped(one.repo, f"{words}; `bd repo check {one.repo}` ends its rest", note["at"]))
    return found


def why_stopped(hub: Clone, snapshot: Snapshot, now: datetime, name: str) -> Stopped | None:
    """Return why one repository gets no work in this clone; None if it gets some."""
    return next((one for one in stopped_repos(hub, snapshot, now) if one.name == name), None)


def names_of(stopped: Iterable[Stopped]) -> list[str]:
    """Return the names of the repositories."""
    return sorted(one.name for one in stopped)


def setup_failed(hub: Clone, name: str, words: str) -> bool:
    """Count a failed setup. Return whether the repository rests now."""
    noted = _noted(hub)
    failures = noted.get(name, {"failures": 0})["failures"] + 1
    now = times.time_text(hub.runtime.now())
    hub.note_json(NOTE, {**noted, name: {"failures": failures, "words": words[-500:], "at": now}})
    return bool(failures >= FAILURES)


def setup_worked(hub: Clone, name: str) -> None:
    """Forget that its setup ever failed."""
    noted = _noted(hub)
    if noted.pop(name, None):
        hub.note_json(NOTE, noted)


def _noted(hub: Clone) -> dict[str, Any]:
    return dict(hub.noted_json(NOTE, _SHAPE) or {})


def _rests(note: dict[str, Any], now: datetime) -> bool:
    try:
        since_s = (now - times.instant_of(note["at"])).total_seconds()
    except ValueError:
        return False
    return bool(note["failures"] >= FAILURES and since_s < REST_S)
