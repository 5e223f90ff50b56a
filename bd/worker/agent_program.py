"""A coding agent as a worker starts it: its words, the session that it resumes, and what reads its output."""

from __future__ import annotations

import os
import socket

from bd import TYPE_CHECKING
from bd.coding_agents import sessions
from bd.worker.agent_output import AgentOutput
from bd.worker.tally import Tally, session_note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bd.coding_agents.known import KnownAgent
    from bd.coding_agents.sessions import Session
    from bd.core.model import Bead
    from bd.store import Clone
    from bd.worker.job import Command


def program_of(hub: Clone, bead: Bead, command: Command, model: str, files: str, folder: str) -> AgentProgram | None:
    """Return what the worker's coding agent adds to a start in a folder; None if the worker runs any command.

    `files` is the folder of the attempt's files. Raises OSError.
    """
    if command.program is None:
        return None
    os.makedirs(files, mode=0o700, exist_ok=True)
    claim = bead.get("claim")
    tally = Tally(files, bead.id, claim.get("attempt", 1), claim["agent"], hub.runtime)
    output = AgentOutput(command.program, model, command.prices, tally.note, tally.close)
    latest = sessions.read(hub.noted_json(session_note(bead.id)))
    return AgentProgram(command.program, command, model, folder, latest, output)


class AgentProgram:
    """One start of a coding agent. `latest` is the latest session of its bead, which it resumes if it may."""

    def __init__(
        self, known: KnownAgent, command: Command, model: str, folder: str, latest: Session | None, output: AgentOutput
    ) -> None:
        self.output = output
        self.environment = dict(known.environment)
        self._known = known
        self._command = command
        self._model = model
        self._folder = folder
        self._latest = latest

    def words_at(self, base: str) -> Sequence[str]:
        """Return its words: only now is it known whether the code is what the session knows."""
        place = sessions.place_of(socket.gethostname(), self._folder, base)
        resumed = self._latest if self._latest is not None and self._latest.may_resume(self._known.name, place) else None
        self.output.begin(place, resumed)
        session = resumed.session if resumed else ""
        workspace = self._folder if base else ""
        return self._known.words(self._command.permissions, self._model, session, self._command.words, workspace)
