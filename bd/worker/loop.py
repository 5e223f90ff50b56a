"""The cycle of an agent (the source paper, section 9): look, free stalled claims, claim, run, close or fail; then rest or wait.

One thread decides and writes; a job's own threads only read its child and send heartbeats. Every write is its own transaction, so
the hub is right whatever dies when: a killed worker's bead stalls, and is freed.
"""

from __future__ import annotations

import contextlib
import shutil

from bd import TYPE_CHECKING
from bd.core import times
from bd.core.errors import (
    BdError,
    NothingReady,
    RemoteUnreachable,
    ServerRefused,
    TryAgain,
)
from bd.notify import hooks
from bd.operations.base import asked
from bd.operations.claims import Claim, Release
from bd.operations.close import Close
from bd.operations.fail import Fail
from bd.operations.human_wait import WaitHuman
from bd.policy.eligibility import Eligibility
from bd.policy.failure_kinds import NOT_OF_THE_BEAD
from bd.policy.readiness import next_turn
from bd.worker import attempt_files, decisions, drain, heartbeats, progress, tally, validation
from bd.worker.attempt_end import keep_rest
from bd.worker.decisions import Standing
from bd.worker.events import Events
from bd.worker.fleet_state import ALONE, look
from bd.worker.installation import as_claim_args
from bd.worker.job import Job
from bd.worker.job_workspace import reserved
from bd.worker.maintenance import keep_house, pack_when_full
from bd.worker.options import Ended
from bd.worker.pacing_state import Pacer
from bd.worker.result import DONE, FAILED, RELEASED, WAITING, Outcome
from bd.worker.stall_recovery import reassign
from bd.worker.start import start_for
from bd.worker.stealing import steal
from bd.worker.stopped_repos import StoppedRepos
from bd.worker.watcher import Lookout

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bd.core.model import Bead, Snapshot
    from bd.core.runtime import Runtime
    from bd.core.settings import Settings
    from bd.operations.base import Operation
    from bd.store import Clone
    from bd.store import Outcome as Written
    from bd.worker.fleet_state import View
    from bd.worker.isolation import Access
    from bd.worker.job_workspace import JobWorkspace
    from bd.worker.options import Plan


class Worker:
    """One agent at work in one clone. `open_hub` opens the hub, `tell` prints a line, `on_ended` gets each attempt.

    `on_line` gets the command's output (bead, line); `as_json` returns the bead as the command reads it.
    """

    def __init__(
        self,
        plan: Plan,
        open_hub: Callable[[], Clone],
        tell: Callable[[str], None],
        on_ended: Callable[[Ended], None],
        on_line: Callable[[str, str], None],
        as_json: Callable[[Bead, Snapshot], dict[str, Any]],
        runtime: Runtime,
    ) -> None:
        self.plan = plan
        self._runtime = runtime
        self._open_hub = open_hub
        self._tell = tell
        self._on_ended = on_ended
        self._on_line = on_line
        self._as_json = as_json
        self._jobs: list[Job] = []
        self._events = Events(runtime)
        self._claimed: tuple[Written, Pacer] | None = None
        self._stops = 0  # counted by a signal handler; the loop picks it up
        self._standing = Standing(runtime.monotonic())
        self._told_clocks = False
        self._stopped_repos = StoppedRepos(tell)
        self._lookout = Lookout(runtime, on_ring=lambda: self._events.put("hub"))

    # --- called from outside ---

    def stop(self) -> None:
        """Claim nothing more. The first call lets children finish within their grace period, the second ends them.

        Signal-safe.
        """
        self._stops += 1
        self._events.put("stop")

    # --- the loop ---

    def run(self) -> int:
        """Work until there is nothing to do (`once`), the plan is done, or it is stopped. Return the number of attempts."""
        try:
            with contextlib.closing(self._open_hub()) as hub:
                tally.book_leftovers(hub, self._tell)
            with drain.watched(lambda: self._events.put("drain")):
                return self._loop()
        finally:  # after a bug or a fatal error: no child goes on without its worker
            for job in self._jobs:
                job.break_off()
            self._lookout.end()

    def _loop(self) -> int:
        while True:
            for job in [job for job in self._jobs if job.is_over and not job.is_on_trial]:
                self._finish(job)
            if self._now().stops:
                self._end_all()
            elif decisions.is_due(self._standing, self.plan, self._runtime.monotonic()):
                self._cycle()
            if decisions.is_done(self._now(), self.plan, self._runtime.monotonic()):
                return self._standing.started
            self._wait()

    def _now(self) -> Standing:
        """Return its standing, updated with what has happened outside the loop."""
        now = {"stops": self._stops, "running": len(self._jobs), "is_draining": drain.is_asked()}
        self._standing = self._standing.replace(**now)
        return self._standing

    @property
    def started(self) -> int:
        """The number of started attempts."""
        return self._standing.started

    @property
    def nothing(self) -> BdError | None:
        """The reason why the last look found no work."""
        return self._standing.nothing

    def _wait(self) -> None:
        """Wait for an event: a child ended, a limit is near, a signal came, a look is due, or the hub moved."""
        limits_s = [rest_s for job in self._jobs if (rest_s := job.next_limit_s()) is not None]
        standing, peek_s = self._now(), self._lookout.pause_s()
        event = self._events.next(decisions.pause_s(standing, self.plan, self._runtime.monotonic(), limits_s, peek_s))
        if event == "hub":
            self._standing = self._standing.woken()
        elif not event:
            self._peek()
        for job in self._jobs:
            job.check_limits()

    def _peek(self) -> None:
        """Check one ref: if the hub has moved, the wait ends."""
        if not decisions.may_peek(self._now(), self.plan):
            return
        with contextlib.closing(self._open_hub()) as hub:
            if self._lookout.has_moved(hub, self._standing.tip):
                self._standing = self._standing.woken()

    # --- looking for work ---

    def _cycle(self) -> None:
        """Look once: free stalled claims, claim the best bead that fits, and start it; or find out when to look again."""
        hub = self._open_hub()
        try:
            view = look(hub, f"agent:{self.plan.agent}")
            self._tell_of_clocks(view.clock_words)
            pacer = Pacer(hub, self.plan.agent, view.snapshot, self.plan.interval_s)
            reason, now = Eligibility(view.snapshot, self.plan.agent, self._runtime.now()).idle(), self._runtime.now()
            if decisions.may_claim(
                self._standing,
                self.plan,
                is_idle_for_a_reason=reason is not None,
                is_due_by_pace=pacer.pace.is_due(now),
                has_moved=pacer.tip != view.snapshot.commit,
                has_stalls=self._may_recover(view) and bool(view.abandoned),
            ):
                rest_s = view.rest_s()
                self._claim(hub, self._recover(hub, view), pacer, rest_s)
            else:
                words = f"no work for {self.plan.agent}; next check at {pacer.pace.next_poll_at}"
                why = NothingReady(words, retry_after_s=int(pacer.pace.wait_s(now)))
                self._standing = self._standing.replace(nothing=why)
        except BdError as error:
            if not error.transient and not self._jobs:
                raise
            if self._jobs or not self.plan.once:  # current work is finished in any case
                self._tell(f"{error}; trying again")
            self._standing = self._standing.failed_to_look(error, self._runtime.monotonic())
        finally:
            hub.close()

    def _tell_of_clocks(self, words: str) -> None:
        """Say that this machine's clock is not confirmed, once for each time that it is not."""
        if words and not self._told_clocks:
            self._tell(f"{words}; {ALONE}")
        self._told_clocks = bool(words)

    def _may_recover(self, view: View) -> bool:
        return self.plan.recover if self.plan.recover is not None else view.settings.recover

    def _recover(self, hub: Clone, view: View) -> View:
        """Free stalled claims, so that their beads are offered in this very cycle."""
        stalls = view.abandoned if self._may_recover(view) else []
        if not stalls:
            return view
        outcome = reassign(hub, stalls, f"agent:{self.plan.agent}")
        if outcome is not None and outcome.change is not None:
            for bead_id in outcome.change.touched:
                self._tell(f"freed {bead_id}: it had stalled")
            for note in outcome.change.notes:
                self._tell(note)
        return view._replace(snapshot=hub.snapshot())

    def _claim(self, hub: Clone, view: View, pacer: Pacer, rest_s: float | None) -> None:
        args = {"next": True, "count": 1, **self._claim_args(hub, view.settings)}
        try:
            written = self._claimed_or_stolen(hub, args)
        except NothingReady as nothing:
            self._found_nothing(hub, view, rest_s, pacer, nothing)
            return
        for note in written.change.notes if written.change else ():
            self._tell(note)
        self._standing = self._standing.found_work()
        self._lookout.end()
        self._begin(hub, written, pacer)

    def _claimed_or_stolen(self, hub: Clone, args: dict[str, Any]) -> Written:
        """Claim the best bead; if there is none, one that it takes over from an overloaded agent. Raises NothingReady."""
        try:
            return hub.publish(Claim(**self._asked(), **args))
        except NothingReady:
            stolen = steal(hub, self.plan.agent, args.get("without_repos", ()))
            if not stolen:
                raise
        self._tell(f"took {', '.join(stolen)} from the queues of others")
        return hub.publish(Claim(**self._asked(), **args))

    def _claim_args(self, hub: Clone, settings: Settings) -> dict[str, Any]:
        heartbeat = heartbeats.heartbeat_for(hub, hub.snapshot().agent(self.plan.agent) or {}, settings)
        args = {"agent": self.plan.agent, **as_claim_args(self.plan.command), "heartbeat": heartbeat.as_args()}
        return {**args, **self._stopped_repos.claim_args(hub)}

    def _asked(self, **extra: Any) -> dict[str, Any]:
        return asked(self._runtime, f"agent:{self.plan.agent}", **extra)

    def _found_nothing(self, hub: Clone, view: View, rest_s: float | None, pacer: Pacer, nothing: BdError) -> None:
        """Note when to look again (a claim may have stalled in `rest_s`), and report it."""
        if self._standing.nothing is None and not self._jobs and not self.plan.once:  # once for each period without work
            self._tell(f"{nothing}; waiting")
        before, tip, now_s = self._now(), hub.snapshot().commit, self._runtime.monotonic()
        if self._jobs:
            self._standing = self._standing.found_nothing(nothing, tip, now_s + pacer.base_s)
            self._lookout.begin(hub, pacer.base_s)
            return
        now = self._runtime.now()
        answer = Eligibility(hub.snapshot(), self.plan.agent, now)
        pacer.found_none(hub, tip, answer)
        turn = next_turn(hub.snapshot(), now)
        turn_s = (turn - now).total_seconds() + self._runtime.random() if turn is not None else None
        wait_s = decisions.next_look_in_s(pacer.pace.wait_s(now), rest_s, turn_s, decisions.account_wait_s(nothing))
        self._standing = self._standing.found_nothing(nothing, tip, self._runtime.monotonic() + wait_s)
        self._lookout.begin(hub, pacer.pace.interval_s)
        heartbeats.tell(hub, self.plan.agent, pacer.as_json())
        me = f"agent:{self.plan.agent}"
        for line in (*hooks.tell(hub, me, view._replace(snapshot=hub.snapshot()).stalls), *keep_house(hub, me)):
            self._tell(line)
        if decisions.looks_again(before, self.plan, tip=tip, tip_now=hub.snapshot().commit):
            self._standing = self._standing.made_work()

    def _begin(self, hub: Clone, written: Written, pacer: Pacer) -> None:
        """Start the command on what was claimed."""
        pacer.found_work(hub, tip=written.commit)
        snapshot = hub.snapshot(written.commit)
        for token, bead_id in written.change.tokens if written.change else ():
            bead = snapshot.bead(bead_id)
            claim = bead.claim_under(token) if bead else None
            if bead and claim:
                self._start(hub, bead.evolve(claim=claim))  # to the job, an advisory claim looks like any other
        written.acknowledge()

    def _start(self, hub: Clone, bead: Bead) -> None:
        files = attempt_files.folder_of(hub, bead.get("claim")["token"], isolated=self.plan.command.api is not None)
        self._standing = self._standing.begun(self._runtime.monotonic())
        self._tell(f"{bead.id} — {bead.title} (attempt {bead.get('claim').get('attempt', 1)})")
        workspace: JobWorkspace | None = None
        access: Access | None = None
        try:
            workspace = reserved(hub, bead, self.plan.command, self._open_hub)
            access = self.plan.command.api.admit(bead, files) if self.plan.command.api else None
            job = Job(
                bead,
                start_for(hub, bead, self.plan, self._as_json, files, workspace, access),
                self.plan.command,
                self._open_hub,
                lambda line, bead_id=bead.id: self._on_line(bead_id, line),  # type: ignore[misc]
                lambda: self._events.put("job"),
                self._runtime,
            )
        except (BdError, OSError) as error:
            shutil.rmtree(files, ignore_errors=True)
            if access is not None:
                access.close()
            if workspace is not None:
                workspace.abandon()
            self._tell(f"{bead.id}: {error}")
            self._write(
                hub, Release(**self._asked(tokens={bead.id: bead.get("claim")["token"]}, ids=[bead.id], reason=str(error)))
            )
            return
        self._jobs.append(job)

    # --- the end of an attempt ---

    def _finish(self, job: Job) -> None:
        """Have the output checked, or record the outcome: close and claim the next in one commit, fail, or give back."""
        hub = self._open_hub()
        try:
            job.end_access()
            outcome = job.outcome()
            made = None if job.trial else validation.begun(hub, job, outcome, self._asked)
            if made is not None:
                job.try_output(outcome, made)
                return
            outcome = job.delivered(hub, outcome, self._tell)
            self._jobs.remove(job)
            job.stop_beating()
            self._standing = self._standing.ended(self._runtime.monotonic())
            said = self._record(hub, job, outcome)
            keep_rest(hub, job, said[0], outcome, self._tell)
            if said[0] in ("lost", "settled"):
                hub.sides.note_beat(job.token, None)
            if said[0] != "unknown":  # else the notes are not in the bead yet
                progress.forget(hub, job.bead.id)
            self._on_ended(Ended(job.bead.id, job.bead.title, *said))
            if self._claimed is not None:  # by the same write: told of after what ended
                claimed, self._claimed = self._claimed, None
                self._begin(hub, *claimed)
            if job.trial is not None and job.trial.told_here:
                self._tell(f"{job.bead.id}: {job.trial.told_here}")
            for line in hooks.tell(hub, f"agent:{self.plan.agent}") if said[0] in (FAILED, WAITING) else ():
                self._tell(line)
            pack_when_full(hub)
        finally:
            hub.close()
            if job not in self._jobs:
                job.clear()

    def _record(self, hub: Clone, job: Job, outcome: Outcome) -> tuple[str, str]:
        """Record the outcome. If the hub refuses a close or a release, record a failure with its reason."""
        try:
            return job.settled_elsewhere(hub.snapshot()) or self._end(hub, job, outcome)
        except BdError as error:
            instead = decisions.after_error(error, outcome)
        return self._record(hub, job, instead.of_the_run(outcome)) if isinstance(instead, Outcome) else instead

    def _end(self, hub: Clone, job: Job, outcome: Outcome) -> tuple[str, str]:
        bead_id = job.bead.id
        args = self._asked(tokens={bead_id: job.token}, ids=[bead_id])
        notes = progress.at_end(hub, self.plan.agent, bead_id, job.last_words(outcome))
        if notes:
            args["progress"] = {bead_id: notes}
        if outcome.what == DONE:
            return DONE, self._close(hub, job, outcome, args)
        if outcome.what == WAITING:
            self._write(hub, WaitHuman(**args, reason=outcome.text))
            return WAITING, outcome.text
        if outcome.what == RELEASED:
            self._write(hub, Release(**args, reason=outcome.text or "given back"))
            return RELEASED, outcome.text
        took_s = int(self._runtime.monotonic() - job.child.started_s)
        self._write(hub, Fail(**args, duration_s=took_s, **outcome.failure))
        return RELEASED if outcome.kind in NOT_OF_THE_BEAD else FAILED, f"{outcome.kind}: {outcome.text}"

    def _close(self, hub: Clone, job: Job, outcome: Outcome, args: dict[str, Any]) -> str:
        reason = outcome.text or "Done"
        yielded = {"output": outcome.yielded, "cost": outcome.cost, "seals": outcome.seals}
        args.update({"reason": reason, **{key: value for key, value in yielded.items() if value}})
        snapshot = hub.snapshot()
        pacer = Pacer(hub, self.plan.agent, snapshot, self.plan.interval_s)
        standing = self._now()
        goes_on = not standing.stops and decisions.wants_more(standing, self.plan) and not pacer.cool_down_s
        if goes_on:
            args["next"] = self._claim_args(hub, hub.settings(snapshot))
        try:
            written = self._write(hub, Close(**args))
        except (RemoteUnreachable, ServerRefused) as error:
            if error.data.get("written") == "unknown" or not args.pop("next", None):
                raise
            written = hub.publish(Close(**args))  # on its own it is kept in this clone until the hub is back
        if written.change is not None and written.change.tokens:
            self._claimed = written, pacer
        else:
            pacer.rest(hub)
            pacer.keep(hub)
            self._standing = self._standing.found_work(rests_until_s=self._runtime.monotonic() + pacer.cool_down_s)
        return reason

    def _write(self, hub: Clone, operation: Operation) -> Written:
        """Publish the end of a claim; transient errors must not lose finished work."""
        for tried in range(decisions.LAST_TRIES):
            try:
                written = hub.publish(operation)
            except (TryAgain, ServerRefused) as error:
                pause_s = decisions.pause_before_try_s(tried, self._now(), error)
                if pause_s is None:
                    raise
                self._tell(f"{error}; trying again")
                self._runtime.sleep(pause_s)
                continue
            if tried:  # the first refusal kept it; now it is published
                hub.dismiss(operation.uid)
            return written
        raise AssertionError("unreachable")

    def _end_all(self) -> None:
        """Stop all jobs: those that finish within the grace period are closed, the others are given back."""
        for job in self._jobs:
            if self._standing.stops > 1:
                job.kill()
            if job.ending is None and job.is_running:
                self._tell(f"{job.bead.id}: stopping; it has {times.duration_text(self.plan.command.grace_s)} to finish")
            job.stop()
