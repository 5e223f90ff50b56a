"""The members of one pool on this host: which are alive, starting, draining and ending them, and cleaning up after them.

An error with one member is reported, and stops neither the others nor the next round. policy/scaling.py decides how many there
should be; session.py runs a process.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import compress
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import times, urls
from bd.core.errors import BdError
from bd.core.ids import hub_name
from bd.core.json_shapes import fits, json_value
from bd.operations.base import asked
from bd.operations.heartbeat import Reassign
from bd.operations.pools import Retire
from bd.operations.switches import SetDuty
from bd.policy.capacity import duty_of, held_by
from bd.policy.liveness import last_commit_of
from bd.policy.scaling import Member, Memory
from bd.pool.placeholders import values_of
from bd.pool.session import Session
from bd.schedule import agent_log
from bd.setup.hub import join_hub
from bd.store import Clone, locate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bd.core.pools import Pool
    from bd.notify.command_pins import Asked
    from bd.operations.base import Operation
    from bd.policy.scaling import Plan
    from bd.pool.state import Quarters
    from bd.worker.fleet_state import View

# A member that fails sooner than this did no work: it is restarted less often.
SHORT_LIFE_S = 10.0
# How a drained member ends as it should: done, or (bd work) with nothing left to do.
_DRAINED = (0, 3)
_AT_ONCE = 8
# A pool's commands for its sessions.
_COMMANDS = ("start", "alive", "stop", "nudge")


class Round(NamedTuple):
    """The input of one round of the controller: the hub as observed, and the commands trusted here by name."""

    hub: Clone
    view: View
    quarters: Quarters
    by: str
    trusted: Mapping[str, Asked]
    tell: Callable[[dict[str, Any]], None]

    def asked(self, **extra: Any) -> dict[str, Any]:
        return asked(self.hub.runtime, self.by, **extra)

    def publish(self, operation: Operation) -> None:
        self.hub.publish(operation)

    def record(self, event: str, pool: str, **facts: Any) -> None:
        self.tell(self.quarters.record(event, pool, **facts))


class Crew:
    """One pool's members. `note` is what is remembered of the pool; `wrong` describes what could not be done.

    `unsettled` are members that could not be cleaned up after, or may still be alive.
    """

    def __init__(self, now: Round, pool: Pool) -> None:
        self.pool, self.wrong = pool, list[str]()
        self.running: dict[str, Session] = {}
        self.unsettled = set[str]()
        self._round, self._has_failed = now, False
        self._runtime = now.hub.runtime
        self.note = now.quarters.read(f"pool-{pool.name}.json")

    def keep(self) -> None:
        """Store the note for the next round."""
        self._round.quarters.write(f"pool-{self.pool.name}.json", self.note)

    @property
    def memory(self) -> Memory:
        return Memory(self.note.get("up_s"), self.note.get("down_s"), int(self.note.get("fails") or 0), self.note.get("failed_s"))

    # --- which members there are ---

    def muster(self, notes: Mapping[str, Mapping[str, Any]]) -> None:
        """Find out which started members are alive, and clean up after the others."""
        for name, note in notes.items():
            if not self._try(name, self._see, name, note):
                self.unsettled.add(name)

    def _see(self, name: str, note: Mapping[str, Any]) -> None:
        session = self._session(name, note.get("how") or {})
        if not session.is_alive():
            self._bury(session)
            return
        self.running[name] = session
        agent_log.rotate(session.log)  # it may live for months
        if session.doubt:
            self.wrong.append(f"can't tell whether {name} is running: {session.doubt}")

    def members(self) -> list[Member]:
        """Return the live members for a plan: working, or idle since they reported it or were started."""
        return [self._member(name) for name in self.running]

    def _member(self, name: str) -> Member:
        note, snapshot = self._note_of(name), self._round.view.snapshot
        said = snapshot.capacity(name) or {}
        seen = [text for text in (note.get("started_at"), said.get("idle_since") or said.get("last_heartbeat")) if text]
        active_s = max((times.instant_of(text).timestamp() for text in seen), default=0.0)
        drained = note.get("drained_at")
        is_idle = not held_by(name, snapshot, self._runtime.now())
        return Member(name, active_s, is_idle, times.instant_of(drained).timestamp() if drained else None)

    def _note_of(self, name: str) -> dict[str, Any]:
        return self._round.quarters.read(os.path.join("members", f"{name}.json"))

    def _keep_note(self, name: str, note: Mapping[str, Any]) -> None:
        self._round.quarters.write(os.path.join("members", f"{name}.json"), dict(note))

    @property
    def _prefix(self) -> str:
        return hub_name(self._round.view.snapshot.config().get("prefix"))

    def _session(self, name: str, how: Mapping[str, str]) -> Session:
        hub = self._round.hub
        # its own clone; this one if the hub has no remote
        clone = self._round.quarters.path("clones", name) if hub.place.url else hub.place.repo.work_tree or os.getcwd()
        # a running session keeps its name even if the hub's prefix changes
        places = values_of(name, self.pool.name, hub_name(how.get("hub") or self._prefix), clone)
        pool = self.pool.replace(
            provider=how.get("provider", "child"),
            alive=how.get("alive", ""),
            stop=how.get("stop", ""),
            nudge=how.get("nudge", ""),
        )
        return Session(self._round.quarters, pool, name, places, hub.checkout, self._pinned(pool, how))

    def _pinned(self, pool: Pool, how: Mapping[str, str]) -> dict[str, Mapping[str, str]]:
        """Return the files pinned with each command of a session: the current ones if the command is trusted here now."""
        found = _kept_files(how)
        for key in _COMMANDS:
            one = self._trusted(key)
            if one is not None and one.text == getattr(pool, key):
                found[key] = one.files
        return found

    # --- carrying out a plan ---

    def follow(self, plan: Plan) -> None:
        """Carry out a plan."""
        self._kill(dict(plan.kill))
        for name, why in plan.drain:
            self._try(name, self._drain, name, why)
        unfit = self._why_no_start() if plan.start else ""
        if unfit:
            self.wrong.append(unfit)
        for name in plan.start if not unfit else ():
            if not self._try(name, self._start, name):
                self._count(is_failure=True)

    def _try(self, name: str, act: Callable[..., None], *what: Any) -> bool:
        """Do something to one member. Return whether it succeeded; the next round tries again."""
        try:
            act(*what)
        except (BdError, OSError) as error:
            self.wrong.append(f"{name}: {error}")
            return False
        return True

    def _why_no_start(self) -> str:
        if not self.pool.start:
            return "it has no start command"
        asked = (key for key in _COMMANDS if getattr(self.pool, key))
        strange = [key for key in asked if self._trusted(key) is None]
        return f"its {strange[0]} is not trusted here; `bd trust`" if strange else ""

    def _trusted(self, key: str) -> Asked | None:
        """Return a command of the pool if it is trusted here."""
        return self._round.trusted.get(self.pool.command_name(key))

    def _start(self, name: str) -> None:
        how = {"hub": self._prefix, **{key: getattr(self.pool, key) for key in ("provider", "alive", "stop", "nudge")}}
        how["files"] = json.dumps({key: one.files for key in _COMMANDS if (one := self._trusted(key)) is not None})
        session = self._session(name, how)
        session.refuse_second()
        self._make_clone(session.clone)
        if session.changed_file():  # its clone may be older than the latest pin
            self._bring_along(session.clone)
        if duty_of(name, self._round.view.snapshot) == "draining":  # of its predecessor, which ended when asked to
            self._round.publish(SetDuty(**self._round.asked(agent=name, duty="available")))
        started = times.time_text(self._runtime.now())
        self._keep_note(name, {"pool": self.pool.name, "started_at": started, "how": how})  # first: no session without a note
        try:
            session.start()
        except (BdError, OSError):
            if not session.is_alive():
                session.forget()
            raise
        self.note["up_s"] = self._runtime.now().timestamp()
        self._round.record("started", self.pool.name, member=name)

    def _make_clone(self, folder: str) -> None:
        """Make the member's clone; one that was left unfinished is made again."""
        hub = self._round.hub
        if not hub.place.url or os.path.isdir(folder):
            return
        shutil.rmtree(f"{folder}.new", ignore_errors=True)
        url = hub.place.url
        if urls.parsed(url) is None:  # a relative path starts in the folder of the hub
            url = os.path.join(hub.repo.work_tree or hub.repo.git_dir, url)
        join_hub(url, f"{folder}.new", hub.branch_name, hub.open_clone).hub.close()
        os.rename(f"{folder}.new", folder)

    def _bring_along(self, folder: str) -> None:
        """Update the files in a member's clone to the hub's current ones."""
        with closing(self._round.hub.open_clone(locate(folder))) as own:
            own.writing().run(None)

    def _drain(self, name: str, why: str) -> None:
        """Stop new claims through its capacity, then ask it to end. An offline member gets no work anyway."""
        if duty_of(name, self._round.view.snapshot) != "offline":
            self._round.publish(SetDuty(**self._round.asked(agent=name, duty="draining")))
        self.running[name].ask_to_drain()  # first: its time counts from when it was asked
        self._keep_note(name, {**self._note_of(name), "drained_at": times.time_text(self._runtime.now())})
        self.note["down_s"] = self._runtime.now().timestamp()
        self._round.record("draining", self.pool.name, member=name, why=why)

    def _kill(self, why: Mapping[str, str]) -> None:
        """End members by force, in parallel: each has its time to give back what it holds."""
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            gone = list(threads.map(lambda name: self._try(name, self._end, name), why))
        for name in compress(why, gone):
            self._round.record("killed", self.pool.name, member=name, why=why[name])
            self._try(name, self._bury, self.running[name])

    def _end(self, name: str) -> None:
        self._keep_note(name, {**self._note_of(name), "killed": True})  # first: what it holds is being taken from it
        self.running[name].end()

    def _bury(self, session: Session) -> None:
        """Clean up after an ended session: open its beads again, and free its place. Its note is removed last."""
        name, code, lived_s = session.name, session.exit_code(), session.lived_s()
        note = self._note_of(name)
        self._publish_kept(session)
        held = held_by(name, self._round.hub.snapshot(), self._runtime.now())
        claims = {bead.id: claim for bead in held for claim in bead.claims if _is_its(claim, name)}
        tokens = {bead_id: str(claim["token"]) for bead_id, claim in claims.items()}
        session.end_leftovers(tokens.values())
        if claims and not note.get("killed"):
            stalls = [_lost(*one, self._round.view) for one in claims.items()]
            self._round.publish(Reassign(**self._round.asked(stalls=stalls)))
        if self.pool.is_explicit or not self.pool.is_run:  # else it is always on, and comes back to its queue and its record
            self._round.publish(Retire(**self._round.asked(agent=name, tokens=tokens, reason=f"{name} was drained")))
        session.forget()
        is_drained = bool(note.get("drained_at")) and code in _DRAINED
        why = f"it held {', '.join(sorted(claims))}" if claims else "it was drained" if is_drained else ""
        log = session.log if code and not is_drained and os.path.exists(session.log) else ""
        self._round.record("ended", self.pool.name, member=name, exit_code=0 if is_drained else code, why=why, log=log)
        is_short = lived_s is not None and lived_s < SHORT_LIFE_S
        self._count(is_failure=is_short and bool(code) and not note.get("drained_at"))

    def _publish_kept(self, session: Session) -> None:
        """Publish what it did while the hub was unreachable, which only its clone has: the work need not be done twice."""
        try:
            with closing(self._round.hub.open_clone(locate(session.clone))) as own:
                if own.catch_up():
                    self._round.hub.fetch()
        except (BdError, OSError) as error:
            self.wrong.append(f"{session.name}: its clone's unpublished writes can't be published: {error}")

    def _count(self, *, is_failure: bool) -> None:
        """Record whether a member could be started and lived for more than a moment; several failures in a round count once."""
        if self._has_failed:
            return
        self._has_failed = is_failure
        fails = int(self.note.get("fails") or 0) + 1 if is_failure else 0
        self.note.update({"fails": fails, "failed_s": self._runtime.now().timestamp() if is_failure else None})


def _kept_files(how: Mapping[str, str]) -> dict[str, Mapping[str, str]]:
    """Return the files that were pinned with each command of a session when it started; notes of bd 0.9 have none."""
    try:
        found = json_value(how.get("files") or "{}")
    except ValueError:
        return {}
    return found if fits(found, {...: {...: str}}) else {}


def _is_its(claim: Mapping[str, Any], name: str) -> bool:
    """Return whether a member of this host made the claim: on another host, somebody may use the same name."""
    return claim.get("agent") == name and claim.get("host") in (None, socket.gethostname())


def _lost(bead_id: str, claim: Mapping[str, Any], view: View) -> dict[str, Any]:
    """Return the stall of a claim whose holder's process is gone."""
    sight = view.sights.get(claim["token"])
    known = {"id": bead_id, "token": claim["token"], "attempt": claim.get("attempt", 1), "since": last_commit_of(claim)}
    return {**known, "why": "lost", "reason": "lost", "text": "has no process", "beat": sight.beat if sight else None}
