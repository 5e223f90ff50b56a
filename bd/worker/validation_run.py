"""The check of one attempt's output, in its own thread, so that the worker's other jobs don't wait for it.

It is started and given up here, and its verdict becomes an outcome; validation.py does the checking.
"""

from __future__ import annotations

import threading

from bd import TYPE_CHECKING
from bd.core.errors import BdError
from bd.policy import validation
from bd.processes import run
from bd.worker.result import FAILED, RELEASED, WAITING
from bd.worker.validation import Verdict, check

if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.core.model import Bead
    from bd.core.runtime import Runtime
    from bd.processes.confinement import Confinement
    from bd.processes.tree import ProcessTree
    from bd.store import Clone
    from bd.worker.result import Outcome


class Trial:
    """A check of `made`, the bead with its output. `on_change` is called from its thread when there is a verdict."""

    def __init__(
        self,
        outcome: Outcome,
        made: Bead,
        folder: str,
        open_hub: Callable[[], Clone],
        on_change: Callable[[], None],
        runtime: Runtime,
        confinement: Confinement | None = None,
    ) -> None:
        self.verdict: Verdict | None = None
        self._outcome = outcome
        self._made = made
        self._folder = folder
        self._confinement = confinement
        self._open_hub = open_hub
        self._on_change = on_change
        self._runtime = runtime
        self._process: ProcessTree | None = None
        self._given_up_s: float | None = None
        self._lock = threading.Lock()
        self._is_given_up = threading.Event()
        threading.Thread(target=self._run, name="bd trial", daemon=True).start()

    def _run(self) -> None:
        found = Verdict(None, "the check broke off")
        try:
            hub = self._open_hub()
            try:
                found = check(hub, self._made, self._folder, self._started, self._is_given_up.wait, self._confinement)
            finally:
                hub.close()
        except (BdError, OSError) as error:  # this says nothing about the output
            found = Verdict(None, str(error))
        finally:
            with self._lock:
                self.verdict = self.verdict or found
            self._on_change()

    def _started(self, process: ProcessTree) -> None:
        with self._lock:
            self._process = process
            if self.verdict is not None:
                run.end(process)

    def give_up(self, words: str) -> None:
        """End the check without a verdict on the output."""
        self._is_given_up.set()
        with self._lock:
            if self.verdict is None:
                self.verdict = Verdict(None, words)
                if self._process is not None:
                    run.end(self._process)

    def hurry(self, within_s: float, words: str) -> None:
        """Give it up if it takes longer than this, counted from the first call."""
        self._given_up_s = self._given_up_s or self._runtime.monotonic() + within_s
        if self._runtime.monotonic() >= self._given_up_s:
            self.give_up(words)

    @property
    def told_here(self) -> str:
        """The details of the verdict that stay on this machine."""
        return self.verdict.told_here if self.verdict else ""

    def concluded(self) -> Outcome:
        """Return the outcome: done with a seal, failed with the validator's reasons, waiting, or given back unchecked."""
        passed, words, _, is_for_person = self.verdict or Verdict(None, "the check has not ended")
        if is_for_person:
            return self._outcome._replace(what=WAITING, text=words)
        if passed:
            return self._outcome._replace(seals={self._made.id: validation.seal_of(self._made)})
        if passed is None:
            return self._outcome._replace(what=RELEASED, text=f"could not be validated: {words}")
        return self._outcome._replace(what=FAILED, kind="invalid_output", text=f"not valid: {words}")
