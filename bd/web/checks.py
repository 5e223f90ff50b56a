"""Checks of outputs before a close: the long ones a few at once, in threads of their own, so that no other write waits for one.

They end with the server: a check that is given up says nothing about the output.
"""

from __future__ import annotations

from threading import Event, Lock

from bd import TYPE_CHECKING
from bd.core.errors import NotValidated
from bd.policy import validation
from bd.processes import run
from bd.web.refusal import Refusal
from bd.web.writers import Writers
from bd.worker.validation import check

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Concatenate, ParamSpec, TypeVar

    from bd.core.model import Bead
    from bd.processes.tree import ProcessTree
    from bd.store import Clone
    from bd.worker.validation import Verdict

    P = ParamSpec("P")
    R = TypeVar("R")

AT_ONCE = 4


# The kinds that a server checks. `test-pass` needs the files of the work, which no server has.
SERVED = frozenset({"json-schema", "regex", "url", "judge"})


class Checks:
    """The checks of one site, which are of these `kinds`."""

    def __init__(self, open_hub: Callable[[], Clone]) -> None:
        self.kinds = SERVED
        self._writers = Writers(open_hub, AT_ONCE, "bd check")
        self._count = 0
        self._is_over = Event()
        self._running: set[ProcessTree] = set()
        self._lock = Lock()

    async def do(self, function: Callable[Concatenate[Clone, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function that makes a long check, with a clone, and return its result. Raises Refusal if too many run."""
        if self._count >= AT_ONCE:
            raise Refusal(503, "too many outputs are being checked")
        self._count += 1
        try:
            return await self._writers.do(function, *args, **kwargs)
        finally:
            self._count -= 1

    def check(self, hub: Clone, bead: Bead) -> Verdict:
        """Check a bead's output, in the thread that has the clone. Raises NotValidated for a kind that is not checked here."""
        kind = validation.kind_of(bead)
        if kind not in self.kinds:
            hint = f"`bd close {bead.id}` checks it in a clone, and `bd work` when its command has ended"
            raise NotValidated(f"{bead.id} asks for validation ({kind}), which this server does not do", hint=hint, id=bead.id)
        started: list[ProcessTree] = []

        def begin(process: ProcessTree) -> None:
            started.append(process)
            with self._lock:
                self._running.add(process)
                if self._is_over.is_set():
                    run.end(process)

        try:
            return check(hub, bead, None, begin, self._is_over.wait)
        finally:
            with self._lock:
                self._running.difference_update(started)

    def give_up(self) -> None:
        """End the checks that run, and those that will begin."""
        self._is_over.set()
        with self._lock:
            for process in self._running:
                run.end(process)

    def close(self) -> None:
        """Give up what runs, and close the clones."""
        self.give_up()
        self._writers.close()
