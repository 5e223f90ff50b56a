"""The legal changes of a stored status, by verb: lifecycle.py as a table, for checks after the fact.

lifecycle.py and retry.py carry changes out; tokens decide who may.
"""

from __future__ import annotations

from typing import NamedTuple

from bd.core.schema import DONE_STATUSES

HELD = frozenset({"in_progress", "validating"})
DONE = frozenset(DONE_STATUSES)
# Derived from the clock on reading, never stored.
DERIVED = frozenset({"ready", "stalled", "retrying"})


class Move(NamedTuple):
    """From any status in `start` (None: any but those in `but`) to any in `end`."""

    start: frozenset[str] | None
    end: frozenset[str]
    but: frozenset[str] = frozenset()

    def allows(self, before: str, after: str) -> bool:
        return after in self.end and before not in self.but and (self.start is None or before in self.start)


_OPEN, _CLOSED = frozenset({"open"}), frozenset({"closed"})
_TAKE = Move(frozenset({"open", "deferred"}), frozenset({"in_progress"}))
_CLOSE = Move(None, _CLOSED, DONE)
_GIVE_BACK = Move(HELD, _OPEN)
_FAIL = Move(HELD | _OPEN, frozenset({"open", "dead_letter"}))

# The changes of a status that each verb may make. A verb that is neither here nor in `FREE` changes none.
MOVES: dict[str, tuple[Move, ...]] = {
    "claim": (_TAKE,),
    "take": (_TAKE, Move(frozenset({"validating"}), frozenset({"in_progress"}))),
    "close": (_CLOSE, _TAKE),
    "handoff": (_CLOSE,),
    "cancel": (Move(None, frozenset({"cancelled"}), DONE),),
    "validate": (Move(frozenset({"in_progress"}), frozenset({"validating"})),),
    "release": (_GIVE_BACK,),
    "spawn": (_GIVE_BACK,),
    "fail": (_FAIL,),
    "reassign": (_FAIL,),
    "wait-human": (Move(HELD | _OPEN, frozenset({"blocked"})),),
    "answer": (Move(frozenset({"blocked"}), _OPEN),),
    "reopen": (Move(None, _OPEN, frozenset({"in_progress"})),),
    "dlq-retry": (Move(frozenset({"dead_letter"}), _OPEN),),
    "agent-remove": (_GIVE_BACK,),
    "pool-retire": (_GIVE_BACK,),
    "agent-rename": (_GIVE_BACK,),
}
# These set any status that `is_possible` allows, or restore an earlier one.
FREE = frozenset({"update", "edit"})
RESTORING = frozenset({"undo", "import"})
# These change no status of an existing bead.
KEEPING = frozenset(
    "agent-add agent-clear agent-wake archive board comment config config-set cost create dag-add delete dep-add dep-remove dlq-review duty forget friction "
    "heartbeat heat identity-allow identity-revoke init "
    "notified notify pause plan-apply pool-scale rebalance remember resume schedule-add schedule-remove schedule-run start trigger-add trigger-remove upgrade".split()
)


def is_known(verb: str) -> bool:
    """Return whether this version knows what the verb may do."""
    return verb in MOVES or verb in FREE or verb in RESTORING or verb in KEEPING


def is_possible(before: str, after: str) -> bool:
    """Return whether anything but undoing a write may turn one status into the other."""
    if after in DERIVED:
        return False
    return not (before in DONE and after in {*DONE, "deferred"})


def is_legal(verb: str, before: str, after: str) -> bool:
    """Return whether a verb may turn one status into the other; an empty or unknown verb may do whatever is possible."""
    if before == after or verb in RESTORING:
        return True
    if verb in FREE or not is_known(verb):
        return is_possible(before, after)
    return any(move.allows(before, after) for move in MOVES.get(verb, ()))
