"""How whoever reads a brief reports: by commands here, by calls of the API where the API is what they have.

The forms of the API are made in bd/web/api/verbs.py, from its table of endpoints.
"""

from __future__ import annotations

from typing import NamedTuple


class Verbs(NamedTuple):
    """Each deed as it is typed or sent. `how` is said first, "" if there is nothing to say."""

    found: str
    progress: str
    ask: str
    release: str
    fail: str
    close: str
    show: str
    how: str = ""


def commands(bead_id: str) -> Verbs:
    """Return the commands, for a bead."""
    return Verbs(
        found=f'becomes a bead: bd create "TITLE" --deps discovered-from:{bead_id}',
        progress=f'bd progress {bead_id} "what you have found or done"',
        ask=f'bd wait-human {bead_id} --reason "the question"',
        release=f'bd release {bead_id} --reason "why"',
        fail=f'bd fail {bead_id} --reason other --error "what went wrong"',
        close=f'bd close {bead_id} --reason "what you did, in a sentence"',
        show=f"bd show {bead_id} --json",
    )
