"""`bd pool run`, the controller: checks what each pool needs, and makes it so; one for each hub and host.

Sessions live on without it: the next controller finds them by their locks. Everything it remembers is in its `Quarters`, and
all that can be checked is checked again. No error ends it: errors are reported, and retried.
"""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor

from bd import TYPE_CHECKING
from bd.core import times
from bd.core.errors import BdError
from bd.core.pools import Pool, pools_of
from bd.core.schema import AGENTS_DIR
from bd.notify import command_pins
from bd.policy.capacity import duty_of
from bd.policy.scaling import planned
from bd.pool import decisions, desired_size
from bd.pool.decisions import Progress
from bd.pool.supervisor import Crew, Round
from bd.worker.fleet_state import look_if_possible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bd.core.runtime import Runtime
    from bd.pool.state import Quarters
    from bd.store import CachedSnapshot, Clone

_AT_ONCE = 8


class Controller:
    """Runs round after round on one hub. `tell` gets each event as it is recorded."""

    def __init__(
        self,
        open_hub: Callable[[], Clone],
        quarters: Quarters,
        by: str,
        tell: Callable[[dict[str, Any]], None],
        runtime: Runtime,
    ) -> None:
        self._open_hub, self._quarters, self._by, self._tell = open_hub, quarters, by, tell
        self._runtime = runtime
        self._progress = Progress()

    def tolerant_round(self) -> float:
        """Run one round, whatever happens. Return the seconds until the next; longer after each failure."""
        try:
            rest_s = self.round()
        except Exception as error:  # noqa: BLE001  its members live on, so it must, too
            why = _words(error)
            if why != self._progress.why:
                self._tell(self._quarters.record("round failed", "", why=why))
            self._progress = self._progress.failed(why)
            return decisions.retry_in_s(self._progress)
        self._progress = self._progress.went_well()
        return rest_s

    def round(self) -> float:
        """Check once, and do what is needed. Return the seconds until the next check."""
        hub = self._open_hub()
        try:
            held_back = _held_back(hub)
            view, away = look_if_possible(hub, self._by)
            away = away or held_back
            trusted = {one.name: one for one in command_pins.trusted(hub, view.snapshot)}
            now = Round(hub, view, self._quarters, self._by, trusted, self._tell)
            crews = self._crews(now)
            unreadable = _unreadable(view.snapshot)
            known = [crew for crew in crews if crew.pool.name not in unreadable]
            now_s = self._runtime.monotonic
            due = [crew for crew in known if decisions.rest_s(self._progress, crew.pool, now_s()) <= 0]
            wanted = dict(zip([crew.pool.name for crew in due], _wanted(now, due, away), strict=True))
            for crew in crews:
                name = crew.pool.name
                self._settle(now, crew, wanted.get(name), unreadable.get(name, ""))
            return decisions.next_round_in_s(self._progress, [crew.pool for crew in known], now_s())
        finally:
            hub.close()

    def _crews(self, now: Round) -> list[Crew]:
        """Return the pools of the hub, and those with members left but no agent file, which need none."""
        pools = {name: pool for name, pool in pools_of(now.view.snapshot).items() if pool.is_run}
        notes: dict[str, dict[str, Mapping[str, Any]]] = {name: {} for name in pools}
        for name, note in self._quarters.members():
            notes.setdefault(str(note.get("pool") or name), {})[name] = note
        crews = [Crew(now, pools.get(name) or Pool(name, 0, 0)) for name in notes]
        for crew in crews:
            crew.muster(notes[crew.pool.name])
        return crews

    def _settle(self, now: Round, crew: Crew, found: desired_size.Wanted | None, unreadable: str) -> None:
        """Bring one pool to its size; without a new number, only clean up after its members."""
        try:
            if found is not None:
                self._progress = self._progress.looked(crew.pool.name, self._runtime.monotonic())
                self._resize(now, crew, found)
        except Exception as error:  # noqa: BLE001  one pool must not stop the others
            crew.wrong.append(_words(error))
        finally:
            wrong = decisions.trouble(unreadable, crew.wrong)
            if wrong and wrong != crew.note.get("trouble"):
                now.record("trouble", crew.pool.name, why=wrong)
            if not decisions.keeps_old_trouble(wrong, was_resized=found is not None, fails=crew.memory.fails):
                crew.note["trouble"] = wrong
            with contextlib.suppress(OSError):  # on a full disk the next round knows less
                crew.keep()

    def _resize(self, now: Round, crew: Crew, found: desired_size.Wanted) -> None:
        pool, snapshot, now_s = crew.pool, now.view.snapshot, self._runtime.now().timestamp()
        if found.error and found.error != crew.note.get("check_error"):
            now.record("check failed", pool.name, why=found.error)
        # A member whose predecessor's beads are still to be given back is not started either: the notes would mix.
        away = [name for name in pool.members if name in crew.unsettled or duty_of(name, snapshot) == "offline"]
        does = planned(pool, found.number, crew.members(), crew.memory, snapshot, self._runtime.now(), now_s, away=away)
        crew.follow(does)
        why = "" if does.desired else found.why
        seen = {"desired": does.desired, "wanted": found.number, "why": why, "waits": does.waits, "check_error": found.error}
        crew.note.update({**seen, "last_check": times.time_text(self._runtime.now())})


def _held_back(hub: Clone) -> str:
    """Return why this clone sees nothing new: what it has kept can't be published. "" if nothing is in the way."""
    try:
        hub.catch_up()
    except BdError as error:
        return str(error)
    return ""


def _wanted(now: Round, crews: list[Crew], away: str) -> list[desired_size.Wanted]:
    """Return what each pool needs; the checks run in parallel."""
    hub, snapshot = now.hub, now.view.snapshot

    def ask(pool: Pool) -> desired_size.Wanted:
        if not pool.is_run:
            return desired_size.Wanted(0)
        check = now.trusted.get(pool.command_name("check"))
        return desired_size.wanted(pool, snapshot, hub.checkout, hub.runtime.now(), check, is_fresh=not away)

    plain = {crew.pool.name: ask(crew.pool) for crew in crews if not crew.pool.check}  # only these use the snapshot
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        return list(threads.map(lambda crew: plain.get(crew.pool.name) or ask(crew.pool), crews))


def _unreadable(snapshot: CachedSnapshot) -> dict[str, str]:
    """Return the agents whose files can't be read, and why: what they want is unknown."""
    damages = [damage for damage in snapshot.damages if damage.path.startswith(AGENTS_DIR)]
    return {damage.path.removeprefix(AGENTS_DIR).removesuffix(".yaml"): damage.reason for damage in damages}


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
