"""What is kept when a claim has ended, beyond what the write that ended it keeps: the session of a coding agent, and the cost."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.coding_agents import sessions
from bd.core.errors import BdError
from bd.policy.failure_kinds import NOT_OF_THE_BEAD
from bd.worker import tally
from bd.worker.agent_output import AgentOutput
from bd.worker.result import DONE, FAILED, RELEASED, WAITING

if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.core.model import Bead
    from bd.store import Clone
    from bd.worker.job import Job
    from bd.worker.result import Outcome

# The work was interrupted, and goes on where it was. After a crash of the agent it does not: a session that is gone is gone again.
_INTERRUPTED = NOT_OF_THE_BEAD - {"agent_crash"}


def keep_rest(hub: Clone, job: Job, what: str, outcome: Outcome, tell: Callable[[str], None]) -> None:
    """Keep the session, and the cost if neither `close` nor `fail` has taken it; tell what is wrong with the result file.

    `what` is how the claim ended. Nothing is kept if that is unknown.
    """
    for flaw in outcome.flaws:
        tell(f"{job.bead.id}: result file: {flaw}")
    if what == "unknown":
        return
    _keep_session(hub, job, what, outcome)
    is_taken = what in (DONE, FAILED) or (what == RELEASED and outcome.what == FAILED)  # `fail` gave it back
    if is_taken or (outcome.cost.get("usd") is None and not outcome.cost.get("tokens")):
        return
    try:
        tally.book(hub, job.agent, job.bead.id, job.attempt, outcome.cost)
    except BdError as error:
        tell(f"{job.bead.id}: its cost could not be booked: {error}")


def _keep_session(hub: Clone, job: Job, what: str, outcome: Outcome) -> None:
    """Keep the session of a coding agent, or forget it if nobody is to resume it."""
    if not isinstance(job.output, AgentOutput):
        return
    end = _end(hub.snapshot().head(job.bead.id), job, what, outcome)
    session = job.output.session(end) if end else None
    if session is None:
        hub.drop_note(tally.session_note(job.bead.id))
    else:
        hub.note_json(tally.session_note(job.bead.id), session.as_json())


def _end(bead: Bead | None, job: Job, what: str, outcome: Outcome) -> str:
    """Return how the session ended, in the words of sessions.py; "" if it is not to be resumed."""
    if what == "settled" and bead is not None and bead.status == "blocked":
        return sessions.ASKED
    if what == "settled" and bead is not None and bead.status == "open":
        return "" if job.has_failed(bead) else sessions.GIVEN_BACK
    if outcome.what == FAILED and what in (FAILED, RELEASED):
        is_interrupted = outcome.kind in _INTERRUPTED
        return sessions.GIVEN_BACK if is_interrupted else sessions.TURNS if outcome.kind == "turn_limit" else ""
    return {RELEASED: sessions.GIVEN_BACK, WAITING: sessions.ASKED, DONE: ""}.get(what, "")
