"""Heartbeats of claims, computed when somebody asks for them instead of sent one by one.

A holder at work moves its claim's ref every interval, whatever else happens. So where the ref stands at any time follows from
when the claim was made. It is brought there when it is listed, and when its holder ends.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.simulation.machine import START
from bd.store.heartbeat.side_refs import CLAIMS

if TYPE_CHECKING:
    from bd.simulation.clone import SimulatedClone
    from bd.simulation.hub import Hub


class _Beat(NamedTuple):
    clone: SimulatedClone
    began_s: float
    ends_s: float


class Beats:
    """The heartbeats of the claims that agents work on."""

    def __init__(self, hub: Hub, every_s: float) -> None:
        self._hub = hub
        self.every_s = every_s
        self._beating: dict[str, _Beat] = {}
        self._sent: dict[str, int] = {}

    def begin(self, token: str, clone: SimulatedClone, until_s: float) -> None:
        """A holder begins to work; its heartbeats end at a time, whether it closes the bead then or has died."""
        now_s = self._hub.events.now_s
        self._beating[token] = _Beat(clone, now_s, until_s)
        if self.every_s:
            at_s = now_s + self.every_s
            while at_s < min(until_s, self._hub.ends_s):
                self._hub.tally.count_sign(at_s)
                at_s += self.every_s

    def end(self, token: str) -> None:
        """Its holder closes the claim: the ref stands where the last heartbeat has put it."""
        if token in self._beating:
            self._bring(token)
            del self._beating[token]
            self._sent.pop(token, None)

    def catch_up(self) -> None:
        """Bring every ref to where it stands now."""
        for token in self._beating:
            self._bring(token)

    def _bring(self, token: str) -> None:
        beat = self._beating[token]
        if not self.every_s:
            return
        number = int((min(self._hub.events.now_s, beat.ends_s) - beat.began_s) // self.every_s)
        if number <= self._sent.get(token, 0):
            return
        self._sent[token] = number
        refs, ref = self._hub.server.repository, CLAIMS + token
        if refs.ref(ref) is None:
            return
        at = START + timedelta(seconds=beat.began_s + number * self.every_s)
        oid = beat.clone.sides.beat(at, self.every_s)
        refs.update_refs([(ref, oid, None)])
        beat.clone.sides.note_beat(token, oid)
