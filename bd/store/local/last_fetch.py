"""The times when this clone last fetched and last lost a race; they decide whether a write may push before it fetches.

Times are those of the machine's boot-time clock: it can't be set, and after a reboot no fetch counts as recent.
"""

from __future__ import annotations

from contextlib import suppress

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from bd.core.runtime import Runtime
    from bd.store.contract import LocalState

# For this long after a lost race, a write fetches first: somebody else is writing.
RACED_S = 60.0


class LastFetch:
    """Two notes of a clone. They only save time: without them, a write fetches first."""

    def __init__(self, local: LocalState, runtime: Runtime) -> None:
        self._local = local
        self._runtime = runtime

    def now(self) -> None:
        """Record that the hub was just fetched."""
        self._note("looked")

    def raced(self) -> None:
        """Record that another writer was faster."""
        self._note("raced")

    def is_fresh(self, within_s: float) -> bool:
        """Return whether the last fetch was less than `within_s` ago, with no race lost lately."""
        looked_s, raced_s = self._age_s("looked"), self._age_s("raced")
        return looked_s is not None and looked_s < within_s and (raced_s is None or raced_s > RACED_S)

    def _note(self, name: str) -> None:
        with suppress(OSError):
            self._local.write(name, f"{self._runtime.uptime():.3f} {self._runtime.boot_id()}\n")

    def age_s(self) -> float | None:
        """Return how many seconds ago this clone last fetched; None if never since the machine was started."""
        return self._age_s("looked")

    def _age_s(self, name: str) -> float | None:
        """Return how many seconds ago this was; None if not since the machine started."""
        up_s, _, boot = (self._local.read(name) or "").strip().partition(" ")
        try:
            age_s = self._runtime.uptime() - float(up_s)
        except ValueError:
            return None
        return age_s if age_s >= 0 and boot == self._runtime.boot_id() else None
