"""A coding agent as a worker starts it: its words, the session that it resumes, and what reads its output."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from bd.coding_agents import sessions
from bd.worker.agent_output import AgentOutput
from bd.worker.start import Program
from bd.worker.tally import Tally, session_note

if TYPE_CHECKING:
    from bd.core.model import Bead
    from bd.store import Clone
    from bd.worker.job import Command


def program_of(hub: Clone, bead: Bead, command: Command, model: str, files: str, base: str = "") -> Program | None:
    """Return what the worker's coding agent adds to a start; None if the worker runs any command.

    `files` is the folder of the attempt's files, `base` the commit that its workspace begins with. Raises OSError.
    """
    known = command.program
    if known is None:
        return None
    os.makedirs(files, mode=0o700, exist_ok=True)
    place = sessions.place_of(socket.gethostname(), command.folder, base)
    before = sessions.read(hub.noted_json(session_note(bead.id)))
    resumed = before if before is not None and before.may_resume(known.name, place) else None
    claim = bead.get("claim")
    tally = Tally(files, bead.id, claim.get("attempt", 1), claim["agent"], hub.runtime)
    output = AgentOutput(known, place, resumed, model, command.prices, tally.note)
    words = known.words(command.permissions, model, resumed.session if resumed else "", command.words)
    return Program(words, dict(known.environment), output)
