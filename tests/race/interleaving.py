"""Making races: something happens at a named step of a transaction of this process.

`look` before the fetch, `build` after the decision, `push` before and `pushed` after the push,
`look-after-push` when the push was not simply accepted, `refs` after this clone's refs moved,
`keep` and `checked-out` without a remote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.runtime import RUNTIME

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


class Interleaving:
    """What happens when; each action once, in the order given for its step."""

    def __init__(self) -> None:
        self.actions: dict[str, list[Callable[[], object]]] = {}
        self.seen: list[str] = []
        self._is_busy = False

    def at(self, step: str, *actions: Callable[[], object]) -> None:
        """Do these at the step: the first one the first time it is reached, the second one the second time."""
        self.actions.setdefault(step, []).extend(actions)

    @property
    def left(self) -> list[str]:
        """The steps whose actions have not all happened."""
        return [step for step, actions in self.actions.items() if actions]

    def __call__(self, step: str) -> None:
        if self._is_busy:  # a command that another writer runs in this same process
            return
        self.seen.append(step)
        actions = self.actions.get(step)
        if actions:
            action = actions.pop(0)
            self._is_busy = True
            try:
                action()
            finally:
                self._is_busy = False


def install(monkeypatch: pytest.MonkeyPatch) -> Interleaving:
    """From now on, commands of this process (`clone.here`) stop at the steps of the interleaving that is returned."""
    made = Interleaving()
    monkeypatch.setattr(RUNTIME, "on_step", made)
    return made
