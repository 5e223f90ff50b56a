"""The refusal of a request before anything is asked of the hub."""

from __future__ import annotations


class Refusal(Exception):
    """A request that is refused: status and reason."""

    def __init__(self, status: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.hint = status, message, hint
