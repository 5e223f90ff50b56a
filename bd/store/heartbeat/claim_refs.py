"""The side refs that a commit creates and deletes: the heartbeats of the claims it makes and ends."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.store.contract import SideRef
from bd.store.heartbeat.side_refs import CLAIMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from typing import Any

    from bd.store.heartbeat.side_refs import SideRefs


class Beating:
    """The heartbeat refs of one transaction. Old values come from this clone's notes, or else from a listing."""

    def __init__(self, sides: SideRefs) -> None:
        self._sides = sides
        self._listed: Mapping[str, str] | None = None

    def relist(self) -> None:
        """List the refs again before the next push: this clone's notes turned out to be wrong."""
        self._listed = self._sides.beats() if self._sides.may_list() else {}

    def take(self, beats: Mapping[str, str]) -> None:
        """Use a listing that was made with this fetch."""
        self._listed = beats

    def refs_of(self, before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]], at: datetime) -> list[SideRef]:
        """Return the updates of side refs for claims as they are `before` and `after` a commit.

        None at all if the server refuses side refs, even for claims that have one: the end of a claim must not depend on it.
        """
        if not self._sides.may_list():
            return []
        ended = {claim["token"]: claim for claim in before}
        begun = {claim["token"]: claim for claim in after}
        found = [
            SideRef(CLAIMS + token, self._sides.beat(at, claim["heartbeat_interval_s"]), None)
            for token, claim in begun.items()
            if token not in ended and claim.get("heartbeat_by") == "ref"
        ]
        for token, claim in ended.items():
            if token in begun:
                continue
            last = self._value(token, by_ref=claim.get("heartbeat_by") == "ref")
            if last:
                found.append(SideRef(CLAIMS + token, None, last))
        return found

    def _value(self, token: str, *, by_ref: bool) -> str | None:
        if self._listed is None:
            last = self._sides.last_beat(token)
            if last or not by_ref or not self._sides.may_list():
                return last
            self.relist()
        return (self._listed or {}).get(token)

    def note(self, refs: Iterable[SideRef]) -> None:
        """Record heartbeats whose push has landed."""
        for side in refs:
            self._sides.note_beat(side.ref.removeprefix(CLAIMS), side.new)
