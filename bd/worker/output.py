"""What is read in a command's output while it comes, and the outcome at its end.

The command's format decides the class: PlainOutput reads lines of any command, agent_output.py those of a coding agent.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from bd import TYPE_CHECKING
from bd.coding_agents.result import report_in
from bd.core.redaction import masked
from bd.worker.result import DONE, FAILED, outcome_of

if TYPE_CHECKING:
    from bd.repos.delivery import Commits
    from bd.worker.result import Outcome

_KEPT_LINES = 40
_LINE_LIMIT, _LONGEST_SECRET = 4000, 500


class Output(Protocol):
    """The output of one command. `hear` is called from the thread that reads it, everything else from others.

    No more than `line_limit` bytes of a line are handed to `hear`. With `keeps_apart`, lines of stderr go to `hear_error`.
    """

    line_limit: int
    keeps_apart: bool

    def hear(self, line: str) -> str:
        """Take in the next line, without its line break. Return what to show of it, "" for nothing."""

    def hear_error(self, line: str) -> str:
        """Take in the next line of stderr. Return what to show of it."""

    @property
    def last_line(self) -> str:
        """What the command said last, without secrets; "" as long as it has said nothing."""

    def outcome(self, code: int, result: bytes | None, commits: Commits | None = None) -> Outcome:
        """Return the outcome at its end, by the exit code and the content of the result file.

        `commits` are those in its workspace; None if nobody counts them.
        """

    def close(self) -> None:
        """Let go of what it has open: the attempt has ended."""


class PlainOutput:
    """Lines of text, of which the last are the summary."""

    line_limit = _LINE_LIMIT + _LONGEST_SECRET
    keeps_apart = False

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=_KEPT_LINES)

    def hear(self, line: str) -> str:
        if len(line) > _LINE_LIMIT:  # half a secret at its end would not be recognised
            line = masked(line)[: -_LONGEST_SECRET if len(line.encode()) >= self.line_limit else None][:_LINE_LIMIT]
        self.lines.append(line)
        return line

    def hear_error(self, line: str) -> str:
        return self.hear(line)

    @property
    def last_line(self) -> str:
        """The last line that is not empty.

        The kept lines are masked together: a line of a private key is recognised by the lines around it.
        """
        said = masked("\n".join(self.lines)).split("\n")
        return next((line for line in reversed(said) if line.strip()), "")

    def outcome(self, code: int, result: bytes | None, commits: Commits | None = None) -> Outcome:
        report = report_in(self.lines)
        if report is None:
            return outcome_of(code, result, list(self.lines))
        found = outcome_of(code, result, [report.text])
        if report.kind and found.what == DONE:
            return found._replace(what=FAILED, kind=report.kind, text=masked(report.text) or "it reported an error")
        return found

    def close(self) -> None:
        """Nothing is open."""
