"""Sessions of coding agents: what a clone remembers of the latest one of a bead, and when the next attempt resumes it. Pure.

Agents find their sessions by machine and folder, and what a session knows of the code is as old as its base.
"""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.coding_agents.spending import Totals
from bd.core.json_shapes import NUMBER, fits

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# The ends after which a session is resumed: the bead was given back, a question was asked (and answered), or a limit of turns.
GIVEN_BACK, ASKED, TURNS = "given back", "asked", "turn limit"
_SHAPE = {"program": str, "session": str, "place": str, "end": str, "usd": (int, float, type(None)), "tokens": [NUMBER]}


class Session(NamedTuple):
    """The latest session of a bead. `place` names machine, folder and base; `end` is "" if it is not to be resumed.

    `totals` are the last that the program printed; `turn_limits` counts how often it has reached its limit of turns.
    """

    program: str
    session: str
    place: str
    end: str = ""
    turn_limits: int = 0
    totals: Totals = Totals()

    def may_resume(self, program: str, place: str) -> bool:
        """Return whether an attempt with this program, at this place, resumes it. After a limit of turns only once."""
        is_same = (self.program, self.place) == (program, place) and bool(self.session)
        return is_same and (self.end in (GIVEN_BACK, ASKED) or (self.end == TURNS and self.turn_limits < 2))

    @property
    def folder(self) -> str:
        """The folder in which its program finds it."""
        return self.place.partition("\n")[2].partition("\n")[0]

    def as_json(self) -> dict[str, Any]:
        """Return it as a note of the clone."""
        totals = self.totals
        named = {"program": self.program, "session": self.session, "place": self.place, "end": self.end}
        counted = {"turn_limits": self.turn_limits, "usd": totals.usd, "tokens": [totals.input, totals.cached, totals.output]}
        return {**named, **counted}


def read(noted: Mapping[str, Any] | None) -> Session | None:
    """Return the session of a note; None if there is none, or it is not one."""
    if not noted or not fits(noted, _SHAPE) or len(noted["tokens"]) != 3:
        return None
    counted = noted.get("turn_limits")
    totals = Totals(noted["usd"], *map(int, noted["tokens"]))
    limits = counted if isinstance(counted, int) else 0
    return Session(noted["program"], noted["session"], noted["place"], noted["end"], limits, totals)


def place_of(host: str, folder: str, base: str) -> str:
    """Return the place of a session: another machine, folder or base is another one."""
    return f"{host}\n{folder}\n{base}"
