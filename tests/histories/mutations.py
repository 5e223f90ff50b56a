"""Broken products: each takes one protection away, and the histories have to notice.

`MUTATIONS` maps a name to a function that breaks the product through a monkeypatch, until the patch is undone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bd.policy import lifecycle
from bd.store.cache.cache import Cache
from bd.store.memory.local_state import MemoryEntry
from bd.store.transaction import verdict
from bd.store.transaction.drafts import Chain
from bd.store.transaction.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from bd.core.model import Change
    from bd.core.operation import Operation


def no_fencing(patch: pytest.MonkeyPatch) -> None:
    """A stale token is as good as the current one."""
    patch.setattr(lifecycle, "guard", lambda *_, **__: None)


def blind_retry(patch: pytest.MonkeyPatch) -> None:
    """After a lost race, what was decided before is written again, on top of what the others have done."""
    real, decided = Chain.add, {}

    class Remembered:
        def __init__(self, operation: Operation) -> None:
            self._operation = operation

        def __getattr__(self, name: str) -> Any:
            return getattr(self._operation, name)

        def decide(self, snapshot: Any, context: Any) -> Change:
            uid = self._operation.uid
            if uid not in decided:
                decided[uid] = self._operation.decide(snapshot, context)
            return decided[uid]

    def add(self: Chain, operation: Operation, *args: Any, **more: Any) -> Change:
        return real(self, Remembered(operation), *args, **more)

    patch.setattr(Chain, "add", add)


def trust_in_exit_codes(patch: pytest.MonkeyPatch) -> None:
    """A push that ended without an answer has failed, whatever the hub shows."""

    def seen(answer: Any, branch: str, *_: Any) -> Verdict:
        line = answer.lines.get(branch)
        return Verdict("refused", "git push failed") if line is None or not line.landed else Verdict("lost")

    patch.setattr(verdict, "seen", seen)


def forgotten_journal(patch: pytest.MonkeyPatch) -> None:
    """Nothing is written down before a push."""
    patch.setattr(MemoryEntry, "write", lambda self, *, durably=True, **changes: self.data.update(changes))


def stale_cache(patch: pytest.MonkeyPatch) -> None:
    """Now and then the cache is not brought to the commit that is asked for."""
    real, calls = Cache.move_to, [0]

    def move_to(self: Cache, commit: str, *args: Any, **more: Any) -> None:
        calls[0] += 1
        if calls[0] % 2 or not self.commit or self.commit == commit:
            real(self, commit, *args, **more)

    patch.setattr(Cache, "move_to", move_to)


MUTATIONS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    made.__name__: made for made in (no_fencing, blind_retry, trust_in_exit_codes, forgotten_journal, stale_cache)
}
