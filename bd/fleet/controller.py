"""bd pool run: the controller. Looks what each pool wants, and makes it so; one for each hub and host.

Sessions live on without it: a controller that was killed is followed by one that finds them by their locks. All it
knows stands in the quarters; nothing is believed that can be looked at.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from bd import clock
from bd.errors import BdError, TryAgain
from bd.fleet import checks
from bd.fleet.session import Session
from bd.fleet.setup import join_hub
from bd.fleet.sight import look_if_possible
from bd.fleet.trust import asked_for, is_trusted
from bd.operations.liveness import Reassign
from bd.operations.pools import Retire
from bd.operations.publish import publish
from bd.operations.switches import SetDuty
from bd.policy.capacity import duty_of, held_by
from bd.policy.liveness import last_commit_of
from bd.policy.scaling import Member, Memory, Plan, plan
from bd.roster import Pool, pool_of, pools_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bd.fleet.quarters import Quarters
    from bd.fleet.sight import View
    from bd.operations.base import Operation
    from bd.store.hub import Hub

# Who ends sooner than this, and not well, did no work: it is started again more rarely.
SHORT_LIFE_S = 10.0
_AT_ONCE = 8


class Controller:
    """One round after another on one hub. `tell` gets each event as it is recorded."""

    def __init__(self, open_hub: Callable[[], Hub], quarters: Quarters, by: str, tell: Callable[[dict[str, Any]], None]) -> None:
        self._open_hub, self._quarters, self._by, self._tell = open_hub, quarters, by, tell

    def round(self) -> float:
        """Look once, and do what is needed. Seconds until the next look."""
        hub = self._open_hub()
        try:
            view, away = look_if_possible(hub)
            pools = {name: pool for name, pool in pools_of(view.snapshot).items() if pool.is_explicit}
            running = self._running(hub, view, pools)
            if any(name not in pools for name in running):  # their agent file is gone: no member is wanted
                pools.update({name: Pool(name, 0, 1) for name in running if name not in pools})
            trusted = {one.name for one in asked_for(view.snapshot) if is_trusted(hub, one)}
            for pool, found in self._wanted(hub, view, list(pools.values()), trusted, away):
                self._settle(hub, view, pool, found, running.get(pool.name, {}), trusted)
            return min((pool.scale_interval_s for pool in pools.values()), default=30.0) or 1.0
        finally:
            hub.close()

    # --- what there is ---

    def _session(self, hub: Hub, view: View, pool: Pool, name: str) -> Session:
        number = name.rpartition("-")[2]
        prefix = str(view.snapshot.config().get("prefix", "hub"))
        places = {"name": name, "n": number if number.isdigit() else "1", "pool": pool.name, "hub": prefix}
        return Session(self._quarters, pool, name, {**places, "clone": self._clone(hub, name)})

    def _clone(self, hub: Hub, name: str) -> str:
        """Where a member works: a clone of its own; this one where the hub has no remote."""
        return self._quarters.path("clones", name) if hub.place.url else hub.place.repo.work_tree or os.getcwd()

    def _running(self, hub: Hub, view: View, pools: dict[str, Pool]) -> dict[str, dict[str, Session]]:
        """The sessions that live, by pool; what others have left behind is seen to."""
        found: dict[str, dict[str, Session]] = {}
        for name, note in list(self._quarters.members()):
            pool_name = str(note.get("pool") or name)
            pool = pools.get(pool_name) or pool_of(pool_name, {})
            session = self._session(hub, view, pool._replace(**note.get("how", {})), name)
            if session.is_alive():
                found.setdefault(pool_name, {})[name] = session
            else:
                self._bury(hub, view, pool_name, session, note)
        return found

    def _wanted(self, hub: Hub, view: View, pools: list[Pool], trusted: set[str], away: str) -> list[tuple[Pool, checks.Wanted]]:
        """What each pool wants; the checks run side by side."""
        folder = hub.place.repo.work_tree or hub.place.repo.common_dir

        def ask(pool: Pool) -> checks.Wanted:
            if not pool.is_explicit:
                return checks.Wanted(0)
            is_trusted = f"agents/{pool.name}.pool.check" in trusted
            return checks.wanted(pool, view.snapshot, folder, is_trusted=is_trusted, is_fresh=not away)

        plain = {pool.name: ask(pool) for pool in pools if not pool.check}  # only these look at the snapshot
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            asked = list(threads.map(lambda pool: plain.get(pool.name) or ask(pool), pools))
        return list(zip(pools, asked, strict=True))

    # --- what is done ---

    def _settle(
        self, hub: Hub, view: View, pool: Pool, found: checks.Wanted, running: dict[str, Session], trusted: set[str]
    ) -> None:
        note = self._quarters.read(f"pool-{pool.name}.json")
        now_s = clock.now().timestamp()
        members = [self._member(view, name) for name in running]
        does = plan(pool, found.number, members, Memory(note.get("up_s"), note.get("down_s"), *_fails(note)), now_s)
        if found.error and found.error != note.get("last_error"):
            self._record("check failed", pool.name, why=found.error)
        wrong = self._do(hub, view, pool, does, running, trusted)
        if does.start and not wrong:
            note["up_s"] = now_s
        if does.drain:
            note["down_s"] = now_s
        error = found.error or wrong
        note.update({"desired": does.desired, "wanted": found.number, "waits": does.waits, "last_error": error})
        note["last_check"] = clock.time_text(clock.now())
        self._quarters.write(f"pool-{pool.name}.json", note)

    def _member(self, view: View, name: str) -> Member:
        """A member as the plan sees it: at work, or idle since it said so, or since it was started."""
        note = self._quarters.read(os.path.join("members", f"{name}.json"))
        said = view.snapshot.capacity(name) or {}
        seen = [text for text in (note.get("started_at"), said.get("idle_since") or said.get("last_heartbeat")) if text]
        active_s = max((clock.instant_of(text).timestamp() for text in seen), default=0.0)
        drained = note.get("drained_at")
        is_idle = not held_by(name, view.snapshot, clock.now())
        return Member(name, active_s, is_idle, clock.instant_of(drained).timestamp() if drained else None)

    def _do(self, hub: Hub, view: View, pool: Pool, does: Plan, running: dict[str, Session], trusted: set[str]) -> str:
        """Carry a plan out; words of what could not be done."""
        wrong = ""
        for name, why in does.kill:
            self._kill(hub, view, pool, running[name], why)
        for name, why in does.drain:
            self._drain(hub, pool, running[name], why)
        untrusted = [
            key
            for key in ("start", "alive", "stop", "nudge")
            if getattr(pool, key) and f"agents/{pool.name}.pool.{key}" not in trusted
        ]
        for name in does.start:
            if not pool.start or untrusted:
                return "it has no start command" if not pool.start else f"its {untrusted[0]} is not trusted here; `bd trust`"
            wrong = self._start(hub, view, pool, name) or wrong
        return wrong

    def _start(self, hub: Hub, view: View, pool: Pool, name: str) -> str:
        session = self._session(hub, view, pool, name)
        try:
            clone = self._clone(hub, name)
            if hub.place.url and not os.path.isdir(os.path.join(clone, ".git")):
                join_hub(hub.place.url, clone, hub.branch_name, None).hub.close()
            if duty_of(name, view.snapshot):  # of its predecessor, which ended as it was told to
                self._publish(hub, SetDuty(**self._asked(agent=name, duty="available")))
        except BdError as error:
            return f"{name} can't be started: {error}"
        how = {key: getattr(pool, key) for key in ("provider", "alive", "stop", "nudge")}
        note = {"pool": pool.name, "started_at": clock.time_text(clock.now()), "how": how}
        self._quarters.write(os.path.join("members", f"{name}.json"), note)  # first: a session is never without one
        if not session.start():
            self._record("start failed", pool.name, member=name)
            return f"{name} could not be started"
        self._record("started", pool.name, member=name)
        return ""

    def _drain(self, hub: Hub, pool: Pool, session: Session, why: str) -> None:
        """No new claims, by its capacity; then the sign to end."""
        self._publish(hub, SetDuty(**self._asked(agent=session.name, duty="draining")))
        path = os.path.join("members", f"{session.name}.json")
        self._quarters.write(path, {**self._quarters.read(path), "drained_at": clock.time_text(clock.now())})
        session.ask_to_drain()
        self._record("draining", pool.name, member=session.name, why=why)

    def _kill(self, hub: Hub, view: View, pool: Pool, session: Session, why: str) -> None:
        path = os.path.join("members", f"{session.name}.json")
        self._quarters.write(path, {**self._quarters.read(path), "killed": True})  # first: what it holds was taken from it
        if not session.end():
            self._record("kill failed", pool.name, member=session.name)
            return
        self._record("killed", pool.name, member=session.name, why=why)
        self._bury(hub, view, pool.name, session, self._quarters.read(path))

    def _bury(self, hub: Hub, view: View, pool: str, session: Session, note: dict[str, Any]) -> None:
        """A session has ended: what it held is open again, its place is free."""
        name, code = session.name, session.exit_code()
        held = held_by(name, hub.snapshot(), clock.now())
        claims = {bead.id: claim for bead in held for claim in bead.claims if claim.get("agent") == name}
        try:
            if claims and not note.get("killed"):
                self._publish(hub, Reassign(**self._asked(stalls=[_lost(*one, view) for one in claims.items()])))
            tokens = {bead_id: str(claim["token"]) for bead_id, claim in claims.items()}
            self._publish(hub, Retire(**self._asked(agent=name, tokens=tokens, reason=f"{name} was drained")))
        except TryAgain as error:  # its note stays: the next round sees to it
            self._record("not cleared", pool, member=name, why=str(error))
            return
        self._quarters.forget(*(os.path.join("members", f"{name}.{kind}") for kind in ("drain", "pid", "exit", "json")))
        why = f"it held {', '.join(sorted(claims))}" if claims else ""
        self._record("ended", pool, member=name, exit_code=code, why=why)
        self._count(pool, note, code)

    def _count(self, pool: str, note: dict[str, Any], code: int | None) -> None:
        """Remember whether a member ended as soon as it was started."""
        now_s = clock.now().timestamp()
        started = note.get("started_at")
        is_short = bool(started) and now_s - clock.instant_of(str(started)).timestamp() < SHORT_LIFE_S
        known = self._quarters.read(f"pool-{pool}.json")
        if is_short and code and not note.get("drained_at"):
            known.update({"fails": int(known.get("fails") or 0) + 1, "failed_s": now_s})
        else:
            known.update({"fails": 0, "failed_s": None})
        self._quarters.write(f"pool-{pool}.json", known)

    # --- telling ---

    def _record(self, event: str, pool: str, **facts: Any) -> None:
        self._tell(self._quarters.record(event, pool, **facts))

    def _asked(self, **extra: Any) -> dict[str, Any]:
        return {"by": self._by, "at": clock.time_text(clock.now(), exact=True), **extra}

    def _publish(self, hub: Hub, operation: Operation) -> None:
        publish(hub, operation)


def _fails(note: dict[str, Any]) -> tuple[int, float | None]:
    return int(note.get("fails") or 0), note.get("failed_s")


def _lost(bead_id: str, claim: dict[str, Any], view: View) -> dict[str, Any]:
    """A claim whose holder's process is seen to be gone."""
    sight = view.sights.get(claim["token"])
    known = {"id": bead_id, "token": claim["token"], "attempt": claim.get("attempt", 1), "since": last_commit_of(claim)}
    return {**known, "why": "lost", "reason": "lost", "text": "has no process", "beat": sight.beat if sight else None}
