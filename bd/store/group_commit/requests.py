"""Intents: operations that wait on the remote for whoever publishes next, `refs/bd/intents/<uid>`.

An intent is a request, never the truth: the branch alone says what happened. It is a commit with an empty tree and no
parent, whose message is the operation as JSON. Belongs here: making, reading and judging them. Does not belong here:
deciding them (batch.py), moving their refs (asking.py).
"""

from __future__ import annotations

from bd.core.light import NamedTuple, json_text, json_value
from bd.core.times import SKEW_S, instant_of, time_text
from bd.core.versions import REQUEST, REQUESTS_READ, rules
from bd.store import observations
from bd.store.contract import SideRef

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from typing import Any

    from bd.store.replica import Replica

INTENTS = "refs/bd/intents/"
# Asked for this long; then whoever sees it takes it for left behind.
VALID_S = 90.0
LIMIT = 64_000
# So many are folded into one push.
AT_ONCE = 100
SEEN = "intents.json"


class Intent(NamedTuple):
    """One that was read: the operation's form, who its author is to git, the tip it was made on, and when.

    `rules` is the fingerprint of the code that its author decides by; empty where it names none.
    """

    uid: str
    oid: str
    form: Mapping[str, Any]
    author: str
    base: str
    at: str
    tries: int
    rules: str

    @property
    def burial(self) -> SideRef:
        """What deletes its ref, only if it still is what was read."""
        return SideRef(INTENTS + self.uid, None, self.oid)


def text_of(form: Mapping[str, Any], *, author: str, base: str, at: datetime, tries: int) -> str:
    """The message of an operation's intent."""
    told = {
        "intent": REQUEST,
        "rules": rules(),
        "base": base,
        "at": time_text(at),
        "valid_s": VALID_S,
        "author": author,
        "tries": tries,
        "op": form,
    }
    return json_text(told, compact=True)


def read(hub: Replica, seen: Mapping[str, str]) -> list[Intent]:
    """Those of the listed ones that this version understands; everything else is left alone."""
    names = list(seen)
    found: list[Intent] = []
    for uid, data in zip(names, hub.repo.objects.read_many([seen[uid] for uid in names], at_most=LIMIT + 1), strict=True):
        intent = _parsed(uid, seen[uid], data)
        if intent is not None:
            found.append(intent)
    return found


def _parsed(uid: str, oid: str, data: bytes | None) -> Intent | None:
    if data is None or len(data) > LIMIT or not data.startswith(b"tree ") or b"\nparent " in data.partition(b"\n\n")[0]:
        return None
    try:
        told = json_value(data.partition(b"\n\n")[2].decode())
        form = told["op"]
        fits = (
            told["intent"] in REQUESTS_READ
            and form["uid"] == uid
            and isinstance(form["verb"], str)
            and isinstance(form["args"], dict)
        )
        author = str(told["author"])
        instant_of(told["at"])
        tries, decided_by = int(told.get("tries", 1)), str(told.get("rules") or "")
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
    if not fits or any(sign in author for sign in "\n\r\0") or author.count("<") != 1 or not author.endswith(">"):
        return None
    return Intent(uid, oid, form, author, str(told["base"]), told["at"], tries, decided_by)


def abandoned(hub: Replica, found: Iterable[Intent], now: datetime) -> list[Intent]:
    """Those whose author has given up or died: seen by this clone for longer than they are valid, or with a stamp far older."""
    waiting = list(found)
    seen_s = observations.since(hub, SEEN, {intent.uid: intent.oid for intent in waiting})
    return [intent for intent in waiting if seen_s[intent.uid] > VALID_S or _age_s(intent, now) > VALID_S + SKEW_S]


def _age_s(intent: Intent, now: datetime) -> float:
    return (now - instant_of(intent.at)).total_seconds()
