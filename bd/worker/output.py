"""What is read in a command's output while it comes, and the outcome at its end.

The command's format decides the class: PlainOutput reads lines of any command.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

from bd.core.redaction import masked
from bd.worker.result import outcome_of

if TYPE_CHECKING:
    from bd.worker.result import Outcome

_KEPT_LINES = 40


class Output(Protocol):
    """The output of one command. `hear` is called from the thread that reads it, everything else from others."""

    def hear(self, line: str) -> None:
        """Take in the next line, without its line break."""

    @property
    def last_line(self) -> str:
        """What the command said last, without secrets; "" as long as it has said nothing."""

    def outcome(self, code: int, result: bytes | None) -> Outcome:
        """Return the outcome at its end, by the exit code and the content of the result file."""


class PlainOutput:
    """Lines of text, of which the last are the summary."""

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=_KEPT_LINES)

    def hear(self, line: str) -> None:
        self.lines.append(line)

    @property
    def last_line(self) -> str:
        """The last line that is not empty.

        The kept lines are masked together: a line of a private key is recognised by the lines around it.
        """
        said = masked("\n".join(self.lines)).split("\n")
        return next((line for line in reversed(said) if line.strip()), "")

    def outcome(self, code: int, result: bytes | None) -> Outcome:
        return outcome_of(code, result, list(self.lines))
