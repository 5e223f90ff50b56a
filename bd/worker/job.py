"""One claimed bead of a worker: its files, its child process, and the thread that sends its heartbeats."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import threading
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import times
from bd.policy.advisory_claims import renewal_s
from bd.policy.liveness import MISSED_BEATS, NEAR_INTERVAL_S, RECORD_EVERY_S
from bd.processes.confinement import Confinement
from bd.worker import heartbeats, progress
from bd.worker.attempt_log import AttemptLog
from bd.worker.child import Child, Lines
from bd.worker.prepared_child import PreparedChild
from bd.worker.result import FAILED, RELEASED, Outcome, read_result
from bd.worker.start import DOUBT, RESULT, written
from bd.worker.validation_run import Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from bd.coding_agents.known import KnownAgent
    from bd.core.model import Bead, Snapshot
    from bd.core.runtime import Runtime
    from bd.store import Clone
    from bd.worker.isolation import Api
    from bd.worker.output import Output
    from bd.worker.start import Start

# The time between TERM and KILL.
GRACE_S = 10.0
# The child's own lines are reported no more often than this.
PROGRESS_EVERY_S = 300.0
_NOTE_LIMIT = 300
# The grace period if the worker itself breaks off, and can't wait long.
_BREAK_S = 2.0


class Command(NamedTuple):
    """The command that a worker runs for each bead: words, folder, whether the prompt goes to stdin, and limits in seconds.

    `stop_when_cut_off`: whether it is ended if the hub was unreachable for the stall time. `in_workspace`: whether beads about no
    repository get a folder of their own, too. With a `program` the words are more arguments of it, and `permissions` says what it
    may do; `max_duration` maps types to durations, and `prices` models to prices.
    `confinement` is what it inherits, and what it runs in. With an `api` it gets access to that instead of the hub.
    """

    words: Sequence[str]
    folder: str
    prompt_on_stdin: bool = False
    idle_timeout_s: float | None = None
    grace_s: float = GRACE_S
    stop_when_cut_off: bool = True
    in_workspace: bool = False
    timeout_s: float | None = None
    max_duration: Mapping[str, Any] = {}
    program: KnownAgent | None = None
    permissions: str = "edit"
    prices: Mapping[str, Any] = {}
    confinement: Confinement = Confinement()
    api: Api | None = None


class Job:
    """The work on one claimed bead.

    `on_change` is called from other threads when something has changed.
    """

    def __init__(
        self,
        bead: Bead,
        start: Start,
        command: Command,
        open_hub: Callable[[], Clone],
        on_line: Callable[[str], None],
        on_change: Callable[[], None],
        runtime: Runtime,
    ) -> None:
        claim = bead.get("claim")
        self.bead = bead
        self.token: str = claim["token"]
        self.attempt: int = claim.get("attempt", 1)
        self.agent: str = claim["agent"]
        self.ending: Outcome | None = None
        self.lost = ""
        self.trial: Trial | None = None
        self._claim = claim
        self._interval_s = float(claim.get("heartbeat_interval_s") or NEAR_INTERVAL_S)
        self._renewal_s = renewal_s(claim) if bead.get("claims") else None
        self._renewed_s = self._last_ok_s = self._told_s = runtime.monotonic()
        self._command = command
        self._start = start
        self._open_hub = open_hub
        self._on_change = on_change
        self._runtime = runtime
        self._clock = heartbeats.SteadyClock(runtime)
        self._stop = threading.Event()
        self._told = ""
        self._ending_since_s: float | None = None
        self._max_duration_s = start.limit_s
        self.log = AttemptLog(start.log)
        self.child = self._run(on_line)
        self._beating = threading.Thread(target=self._beat, daemon=True)
        self._beating.start()

    # --- the child ---

    def _run(self, on_line: Callable[[str], None]) -> Child | PreparedChild:
        def begin() -> Child:
            return self._begin(on_line)

        workspace = self._start.workspace
        return PreparedChild(workspace.prepare, begin, self._on_change, self._runtime) if workspace else begin()

    def _begin(self, on_line: Callable[[str], None]) -> Child:
        output = self._start.output

        def shows(hear: Callable[[str], str]) -> Callable[[str], None]:
            def take(line: str) -> None:
                shown = hear(line)
                if shown or not output.keeps_apart:  # any command's empty lines are shown, too
                    on_line(shown)

            return take

        err = shows(output.hear_error) if output.keeps_apart else None
        base = self._start.workspace.base_commit if self._start.workspace else ""
        return Child(
            self._start.words_at(base) if self._start.words_at else self._start.words,
            self._start.folder,
            self._start.environment,
            self._start.stdin,
            Lines(shows(output.hear), output.line_limit, err, self.log.write),
            self._on_change,
            self._runtime,
            grace_s=self._command.grace_s,
            orphan_grace_s=min(self._command.grace_s, MISSED_BEATS * self._interval_s / 2),  # gone before the bead is another's
        )

    @property
    def output(self) -> Output:
        """What its command has said."""
        return self._start.output

    def last_words(self, outcome: Outcome) -> list[str]:
        """Return what is noted on the bead at the end: what is wrong with the result file, and where the full output is."""
        where = [f"full output: {socket.gethostname()}:{self.log.path}"] if self.log.size else []
        return [*(f"result file: {flaw}" for flaw in outcome.flaws), *where]

    def has_failed(self, bead: Bead) -> bool:
        """Return whether its attempt is among the failures of the bead as it is now."""
        return any(failure.get("attempt") == self.attempt for failure in bead.get("failures", []))

    @property
    def folder(self) -> str:
        """The folder in which its command runs."""
        return self._start.folder

    def delivered(self, hub: Clone, outcome: Outcome, tell: Callable[[str], None]) -> Outcome:
        """Deliver what was committed in its workspace, if it has one. Return the outcome with what came of that."""
        workspace = self._start.workspace
        return workspace.finish(hub, outcome, tell) if workspace else outcome

    @property
    def is_running(self) -> bool:
        return self.child.code is None

    @property
    def is_over(self) -> bool:
        """Whether it has ended, and all that it said is known."""
        return self.child.is_over

    @property
    def is_on_trial(self) -> bool:
        """True while its output is being checked."""
        return self.trial is not None and self.trial.verdict is None

    def try_output(self, outcome: Outcome, made: Bead) -> None:
        """Start the check of its output, in parallel to everything else."""
        self.trial = Trial(outcome, made, self.folder, self._open_hub, self._on_change, self._runtime, self._command.confinement)

    def outcome(self) -> Outcome:
        """Return the outcome. A reason from outside comes first, unless it was only asked to stop and then finished."""
        if self.trial is not None:
            return self.trial.concluded()
        if self.child.failed is not None:
            return self.ending or self.child.failed
        code = self.child.code
        result = read_result(os.path.join(self._start.files, RESULT))
        said = self._start.output.outcome(code if code is not None else 1, result, self._start.commits())
        if self.ending is None or (self.ending.what == RELEASED and code == 0):
            return said
        last = self._start.output.last_line
        ending = self.ending._replace(text=f"{self.ending.text}; it said last: {last}" if last else self.ending.text)
        return ending.of_the_run(said)

    def check_limits(self) -> None:
        """Enforce the limits on duration and silence; KILL a child that has ignored TERM."""
        now_s = self._runtime.monotonic()
        if self.is_over:
            if self.trial is not None and self.lost:
                self.trial.give_up(self.lost)
        elif self._ending_since_s is not None:
            if now_s - self._ending_since_s > self._command.grace_s:
                self.child.kill()
        elif self._max_duration_s and now_s - self.child.started_s > self._max_duration_s:
            self.end(Outcome(FAILED, "timeout", f"took longer than {times.duration_text(self._max_duration_s)}"))
        elif self._command.idle_timeout_s and now_s - self.child.last_output_s > self._command.idle_timeout_s:
            self.end(Outcome(FAILED, "timeout", f"had no output for {times.duration_text(self._command.idle_timeout_s)}"))

    def next_limit_s(self) -> float | None:
        """Return after how many seconds `check_limits` may have something to do."""
        if self.is_over:
            return None
        if self._ending_since_s is not None:
            return 0.2
        now_s = self._runtime.monotonic()
        rests = []
        if self._max_duration_s:
            rests.append(self.child.started_s + self._max_duration_s - now_s)
        if self._command.idle_timeout_s:
            rests.append(self.child.last_output_s + self._command.idle_timeout_s - now_s)
        return max(0.05, min(rests)) if rests else None

    def stop(self) -> None:
        """Ask it to end because the worker stops; its command and its check get the grace period to finish."""
        self.end(Outcome(RELEASED, "", "the worker was stopped"))
        if self.trial is not None:
            self.trial.hurry(self._command.grace_s, "the worker was stopped")

    def kill(self) -> None:
        """End it immediately."""
        self.child.kill()
        if self.trial is not None:
            self.trial.give_up("the worker was stopped")

    def end(self, ending: Outcome) -> None:
        """Ask the child to end, for this reason."""
        if self._ending_since_s is None and self.is_running:
            self.ending = ending
            self._ending_since_s = self._runtime.monotonic()
            self.child.terminate()

    # --- heartbeats ---

    def stop_beating(self) -> None:
        """Send no more heartbeats: the write that ends the claim comes next."""
        self._stop.set()
        self._beating.join()

    def break_off(self) -> None:
        """Leave nothing of it running: the worker is ending."""
        self.end_access()
        if self.trial is not None:
            self.trial.give_up("the worker broke off")
        self.child.end(_BREAK_S)
        self.stop_beating()

    def settled_elsewhere(self, snapshot: Snapshot) -> tuple[str, str] | None:
        """Return the status if its command, or somebody else, has already ended the claim."""
        if self.lost:
            return "lost", self.lost
        bead = snapshot.head(self.bead.id)
        if self._claim_on(bead) is not None:
            return None
        return "settled", f"{self.bead.id} is {bead.status if bead else 'gone'} by now; its command did that"

    def end_access(self) -> None:
        """End its access to the API: the command has ended."""
        if self._start.access is not None:
            self._start.access.close()

    def clear(self) -> None:
        """Remove its files: the claim has ended."""
        self.end_access()
        self.log.close()
        shutil.rmtree(self._start.files, ignore_errors=True)
        self._start.output.close()  # not before: a file without an owner is another worker's to book

    def _beat(self) -> None:
        """Until stopped, send a heartbeat each interval, and check the claim."""
        interval_s = self._interval_s
        hub: Clone | None = None
        tip = ""
        try:
            while not self._stop.wait(interval_s):
                try:
                    hub = hub or self._open_hub()
                    tip = self._sign(hub, interval_s, tip)
                    self._last_ok_s = self._runtime.monotonic()
                except Exception as error:  # noqa: BLE001  heartbeats go on after any error: the next may come through
                    self._doubt(error, interval_s)
                if self.lost:
                    return
        finally:
            if hub is not None:
                hub.close()

    def _sign(self, hub: Clone, interval_s: float, tip: str) -> str:
        """Send one heartbeat, and check the branch if it has moved since `tip`. Return the current tip."""
        by_ref = self._claim.get("heartbeat_by") == "ref"
        is_mine = not by_ref or heartbeats.beat(hub, self.token, interval_s, self._clock.now())
        now = heartbeats.branch_tip(hub)
        if is_mine and now == tip and by_ref:
            self._renew(hub)
            self._tell_progress(hub)
            return now
        hub.catch_up()
        hub.fetch()
        bead = hub.snapshot().head(self.bead.id)
        if self._claim_on(bead) is None:
            self._lose(bead)
        elif not is_mine:
            heartbeats.adopt(hub, self.token)
        if not self.lost:
            self._renew(hub)
            if not by_ref:
                self._sign_on_branch(hub)
        self._tell_progress(hub)
        return now

    def _claim_on(self, bead: Bead | None) -> dict[str, Any] | None:
        """Return this job's claim on the bead; None if it has ended."""
        return bead.claim_under(self.token) if bead else None

    def _renew(self, hub: Clone) -> None:
        """Extend an advisory claim by a commit; other claims have no expiry."""
        if self._renewal_s is None or self._runtime.monotonic() - self._renewed_s < self._renewal_s:
            return
        self._renewed_s = self._runtime.monotonic()
        heartbeats.sign_on_branch(hub, self.agent, self.bead.id, self.token, self._clock.now())

    def _tell_progress(self, hub: Clone) -> None:
        """Report the child's last line now and then; the agent's record also shows that it is alive."""
        now_s = self._runtime.monotonic()
        line = self._start.output.last_line[:_NOTE_LIMIT]
        pause_s = PROGRESS_EVERY_S if line != self._told else RECORD_EVERY_S
        if now_s - self._told_s < pause_s:
            return
        self._told, self._told_s = line, now_s
        heartbeats.tell(hub, self.agent, progress.noted(hub, self.agent, self.bead.id, line) if line else None)

    def _sign_on_branch(self, hub: Clone) -> None:
        claim = self._claim_on(hub.snapshot().head(self.bead.id))
        now = self._clock.now()
        if claim is not None and heartbeats.is_due_on_branch(claim, now):
            heartbeats.sign_on_branch(hub, self.agent, self.bead.id, self.token, heartbeats.later_than(claim, now))

    def _lose(self, bead: Bead | None) -> None:
        """Handle the loss of the claim: the child stops, and nothing is written for it."""
        self.lost = "the bead is gone" if bead is None else _whose(bead)
        self.end(Outcome(RELEASED, "", self.lost))
        self._on_change()

    def _doubt(self, error: Exception, interval_s: float) -> None:
        """Handle being cut off for the stall time: others may have taken the bead. The child is told, or ended."""
        silent_s = self._runtime.monotonic() - self._last_ok_s
        if silent_s < MISSED_BEATS * interval_s:
            return
        words = f"no contact with the hub for {times.age_text(silent_s)}: {error}"
        with contextlib.suppress(OSError):  # a full disk must not end the heartbeats
            written(self._start.files, DOUBT, f"{words}\n")
        if self._command.stop_when_cut_off:
            self.end(Outcome(RELEASED, "", words))
            self._on_change()


def _whose(bead: Bead) -> str:
    claim = bead.claim
    return (
        f"{bead.id} is {bead.status} by now"
        if claim is None
        else f"{bead.id} is {claim.agent}'s by now (attempt {claim.attempt})"
    )
