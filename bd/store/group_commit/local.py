"""The other processes of this clone that want to write: many operations, one push (docs/protocol.md).

Who finds the clone's lock held leaves its operation in its journal entry (state `waiting`) and keeps that locked. The
holder takes what is there by renaming it, and writes each answer beside it; an author who gives up withdraws by
renaming it. The first rename wins. What was taken and not answered by a holder that died is put back by the next one.

Belongs here: the files, and waiting for an answer. Does not belong here: deciding (batch.py).
"""

from __future__ import annotations

import os

from bd.core.light import json_text, json_value, suppress
from bd.core.settings import PROCESS_KEYS
from bd.store.local.journal import ANSWERED, TAKEN, Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bd.core.runtime import Runtime
    from bd.store.local.journal import Journal
    from bd.store.replica import Replica

AT_ONCE = 64
_WAITING = ".json"
_POLL_S = 0.004
_POLL_CAP_S = 0.03


def kin(hub: Replica) -> str:
    """What two processes of a clone have in common when they would decide the same: their hub and their settings."""
    settings = hub.settings()
    own = {name for name, source in settings.sources.items() if source != "default"} - PROCESS_KEYS
    # The first word keeps 0.9.0 away, which compares this text alone.
    return repr(
        ("rules apart", hub.branch, hub.remote, settings.expected, sorted((name, getattr(settings, name)) for name in own))
    )


# --- the holder of the lock ---------------------------------------------------------------


def take(journal: Journal, kind: str, number: int) -> list[tuple[str, dict[str, Any]]]:
    """Up to this many waiting operations whose hub, settings (`kin`) and rules are the holder's, now the holder's to answer."""
    taken: list[tuple[str, dict[str, Any]]] = []
    for path, data in journal.of_the_living(_WAITING):
        if len(taken) >= number:
            break
        if data.get("state") != "waiting" or data.get("kin") != kind:
            continue
        from bd.core.versions import same_rules  # noqa: PLC0415  mostly nobody waits

        if not same_rules(data.get("rules")):
            continue
        target = path.removesuffix(_WAITING) + TAKEN
        try:
            os.rename(path, target)
        except OSError:  # its author has withdrawn it
            continue
        taken.append((target, data))
    return taken


def answer(path: str, told: Mapping[str, Any]) -> None:
    """Write the answer to an operation that was taken, whole or not at all."""
    target = path.removesuffix(TAKEN) + ANSWERED
    fresh = f"{target}.{os.getpid()}"
    with open(fresh, "w", encoding="utf-8") as file:
        file.write(json_text(told))
    os.replace(fresh, target)


def put_back(journal: Journal) -> None:
    """Let those be taken again that a holder took and did not live to answer. Only under the lock."""
    journal.drop_orphans()
    for path, _ in journal.of_the_living(TAKEN):
        if not os.path.exists(path.removesuffix(TAKEN) + ANSWERED):
            with suppress(OSError):
                os.rename(path, path.removesuffix(TAKEN) + _WAITING)


def answered(path: str) -> dict[str, Any] | None:
    """The answer that an entry got, if there is one."""
    stem = path.removesuffix(TAKEN).removesuffix(_WAITING)
    try:
        with open(stem + ANSWERED, encoding="utf-8") as file:
            told = json_value(file.read())
    except (OSError, ValueError):
        return None
    return told if isinstance(told, dict) else None


# --- who waits ----------------------------------------------------------------------------


def wait(
    entry: Entry, may_hold: Callable[[], bool], runtime: Runtime, *, patience_s: float, on_wait: Callable[[], None] | None
) -> dict[str, Any] | None:
    """Wait until the entry is answered, or the lock is ours (None): then its author carries it out.

    Raises TimeoutError when neither happens in time: the entry is withdrawn, or in `data` its state is `unknown`.
    """
    begun = runtime.monotonic()
    pause, told = _POLL_S, False
    while True:
        found = _heard(entry)
        if found is not None:
            return found
        if may_hold():
            found = _heard(entry)  # the last holder may have answered before it let go
            if found is None:
                _reclaim(entry)
            return found
        waited_s = runtime.monotonic() - begun
        if waited_s > 1 and not told and on_wait:
            on_wait()
            told = True
        if waited_s > patience_s and (withdraw(entry) or waited_s > 2 * patience_s):
            raise TimeoutError
        runtime.sleep(pause)
        pause = min(_POLL_CAP_S, pause * 1.3)


def withdraw(entry: Entry) -> bool:
    """Take a waiting entry back; False when a holder has it already."""
    gone = entry.path.removesuffix(_WAITING) + ".withdrawn"
    try:
        os.rename(entry.path, gone)
    except OSError:
        entry.data["state"] = "unknown"
        return False
    entry.path = gone
    return True


def _heard(entry: Entry) -> dict[str, Any] | None:
    found = answered(entry.path)
    if found is not None:
        entry.path = entry.path.removesuffix(_WAITING) + TAKEN  # the answer goes with it: until then it is not put back
    return found


def _reclaim(entry: Entry) -> None:
    """The lock is ours and nobody answered: the operation is its author's again."""
    with suppress(OSError):
        os.rename(entry.path.removesuffix(_WAITING) + TAKEN, entry.path)
