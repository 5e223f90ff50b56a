"""The workspace of a job: how its preparation and its delivery become outcomes, and the brief learns of it.

bd/repos does the work; the job knows the workspace as a folder and a preparation.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.brief.brief import brief_of
from bd.brief.part import Part
from bd.brief.verbs import commands
from bd.core.errors import BdError
from bd.operations.base import asked
from bd.operations.beads import Comment
from bd.repos.attempt import workspace_for
from bd.repos.delivery import in_words
from bd.repos.workspace import Conflict
from bd.worker.result import DONE, FAILED, RELEASED, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bd.brief.verbs import Verbs
    from bd.core.model import Bead
    from bd.processes.confinement import Confinement
    from bd.processes.tree import ProcessTree
    from bd.repos.attempt import Attempt
    from bd.repos.delivery import Commits, Delivery
    from bd.store import Clone
    from bd.worker.job import Command


def reserved(hub: Clone, bead: Bead, command: Command, open_hub: Callable[[], Clone]) -> JobWorkspace | None:
    """Reserve the workspace of a claimed bead, if it gets one. Raises Refused and TryAgain, for which the bead is given back."""
    attempt = workspace_for(hub, bead, hub.snapshot(), wanted=command.in_workspace)
    return JobWorkspace(attempt, bead, open_hub) if attempt else None


class JobWorkspace:
    """The workspace of one job. `write_brief` writes the brief that the command reads; `open_hub` opens the hub in any thread."""

    def __init__(self, attempt: Attempt, bead: Bead, open_hub: Callable[[], Clone]) -> None:
        self.folder = attempt.folder
        self.variables = attempt.environment
        self.mounts = attempt.workspace.mounts
        self.environment: Mapping[str, str] = {}
        self.write_brief: Callable[[str], object] = lambda _: None
        self.verbs_for: Callable[[str], Verbs] = commands
        self._attempt = attempt
        self._bead = bead
        self._token: str = bead.get("claim")["token"]
        self._agent: str = bead.get("claim")["agent"]
        self._open_hub = open_hub

    def prepare(self, started: Callable[[ProcessTree], None]) -> Outcome | None:
        """Make the workspace, and add it to the brief. Return an outcome if the command must not run."""
        hub = self._open_hub()
        try:
            words = self._attempt.prepare(hub, self.environment, started, lambda branch: self._tell_of_rescued(hub, branch))
            more = [Part("workspace", words)]
            self.write_brief(
                brief_of(self._bead, hub.snapshot(), hub, self._agent, more=more, by_worker=True, verbs_for=self.verbs_for).text
            )
        except Conflict as error:
            return Outcome(FAILED, "conflict", str(error))
        except BdError as error:
            return Outcome(RELEASED, "", str(error))
        finally:
            hub.close()
        return None

    def confine(self, confinement: Confinement) -> None:
        """Run the repository's own commands as confined as the agent is."""
        self._attempt.confinement = confinement

    @property
    def base_commit(self) -> str:
        """The commit of the repository's base branch that it was made with; "" before, and without a repository."""
        return self._attempt.base_commit

    def commits(self) -> Commits | None:
        """Count the commits in it; None where the command need not make any."""
        return self._attempt.commits()

    def finish(self, hub: Clone, outcome: Outcome, tell: Callable[[str], None]) -> Outcome:
        """Deliver what was committed. Return the outcome, with the branch; work that could not be pushed is not done."""
        is_current = self._is_current(hub)
        try:
            found = self._attempt.finish(hub, self.environment, is_current=is_current)
        except (BdError, OSError) as error:
            tell(f"{self._bead.id}: {error}")
            words = f"its commits could not be pushed: {error}; `bd workspace list` shows them"
            return outcome._replace(what=RELEASED, kind="", text=words) if outcome.what == DONE else outcome
        for note in found.notes:
            tell(f"{self._bead.id}: {note}")
        if found.branch and not found.is_beside:
            tell(f"{self._bead.id}: pushed {in_words(found.commits)} to {found.branch}")
        if found.is_beside:
            self._comment(hub, found, tell)
        return outcome._replace(branch=found.branch)

    def abandon(self) -> None:
        """Let others use the folder: the command was never started."""
        self._attempt.abandon()

    def _tell_of_rescued(self, hub: Clone, branch: str) -> None:
        """Tell on the bead where the commits of an attempt are whose worker was killed."""
        self._say(hub, f"The worker of an earlier attempt was killed; its commits are on {branch}", lambda _: None)

    def _is_current(self, hub: Clone) -> bool:
        """Return whether the hub has this claim still. If that can't be seen, nothing goes to the bead's own branch."""
        try:
            hub.catch_up()
            hub.fetch()
        except BdError:
            return False
        bead = hub.snapshot().head(self._bead.id)
        return bead is not None and bead.claim_under(self._token) is not None

    def _comment(self, hub: Clone, found: Delivery, tell: Callable[[str], None]) -> None:
        """Tell on the bead where the commits are that did not go to its branch."""
        attempt = self._bead.get("claim").get("attempt", 1)
        self._say(hub, f"Attempt {attempt} of {self._agent}: {found.notes[-1]}", tell)

    def _say(self, hub: Clone, text: str, tell: Callable[[str], None]) -> None:
        try:
            hub.publish(Comment(**asked(hub.runtime, f"agent:{self._agent}", ids=[self._bead.id], text=text)))
        except BdError as error:
            tell(f"{self._bead.id}: {text} ({error})")
