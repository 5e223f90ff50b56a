"""A child process that begins only when its workspace is ready: to a job it looks like the process itself.

The preparation runs in a thread of its own, so that heartbeats go on and other jobs don't wait for it.
"""

from __future__ import annotations

import threading

from bd import TYPE_CHECKING
from bd.core.errors import BdError
from bd.processes import run
from bd.worker.result import RELEASED, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.core.runtime import Runtime
    from bd.processes.tree import ProcessTree
    from bd.worker.child import Child

    Prepare = Callable[[Callable[[ProcessTree], None]], Outcome | None]


class PreparedChild:
    """`prepare` gets a function that it tells of its processes, and returns an outcome if there is nothing to `begin`.

    `on_change` is called from another thread when the preparation is over. A child may have ended by then, and have told it before
    it could be seen here.
    """

    def __init__(self, prepare: Prepare, begin: Callable[[], Child], on_change: Callable[[], None], runtime: Runtime) -> None:
        self.failed: Outcome | None = None
        self._begin = begin
        self._child: Child | None = None
        self._on_change = on_change
        self._runtime = runtime
        self._process: ProcessTree | None = None
        self._is_ended = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, args=(prepare,), name="bd workspace", daemon=True)
        self._thread.start()

    def _run(self, prepare: Prepare) -> None:
        failed: Outcome | None = Outcome(RELEASED, "", "the workspace could not be prepared")
        try:
            failed = prepare(self._started)
            with self._lock:
                if failed is None and self._is_ended:
                    failed = Outcome(RELEASED, "", "it was ended before it began")
                if failed is None:
                    self._child = self._begin()
        except (BdError, OSError) as error:
            failed = Outcome(RELEASED, "", str(error))
        finally:
            self.failed = failed
            self._on_change()

    def _started(self, process: ProcessTree) -> None:
        with self._lock:
            self._process = process
            if self._is_ended:
                run.end(process)

    # --- as a child ---

    @property
    def pid(self) -> int:
        return self._child.pid if self._child else 0

    @property
    def code(self) -> int | None:
        """The exit code; None while it runs, or its workspace is prepared."""
        if self._child is not None:
            return self._child.code
        return 1 if self.failed else None

    @property
    def is_over(self) -> bool:
        return self._child.is_over if self._child is not None else self.failed is not None

    @property
    def started_s(self) -> float:
        """When the command began: limits don't count the preparation."""
        return self._child.started_s if self._child is not None else self._runtime.monotonic()

    @property
    def last_output_s(self) -> float:
        return self._child.last_output_s if self._child is not None else self._runtime.monotonic()

    def terminate(self) -> None:
        """Ask it to end. A preparation ends at its next step, its setup at once."""
        self._end_preparation()
        if self._child is not None:
            self._child.terminate()

    def kill(self) -> None:
        """Kill it, with everything that it started."""
        self._end_preparation()
        if self._child is not None:
            self._child.kill()

    def end(self, grace_s: float) -> None:
        """End it: TERM first, and KILL after the grace period."""
        self._end_preparation()
        self._thread.join(grace_s)
        if self._child is not None:
            self._child.end(grace_s)

    def _end_preparation(self) -> None:
        with self._lock:
            self._is_ended = True
            if self._child is None and self._process is not None and self._process.returncode is None:
                run.end(self._process)
