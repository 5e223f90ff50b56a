"""Operations on what a hub's people want every agent to know."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BadInput, NotFound, WrongState
from bd.core.model import Change
from bd.core.schema import CONFIG_PATH
from bd.core.times import time_text
from bd.operations.base import Operation, register
from bd.policy.memories import KEY, MOST, TEXT_LIMIT, check_key, key_of, memories_of, refuse_writer

if TYPE_CHECKING:
    from typing import Any, ClassVar

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext


@register
class Remember(Operation):
    """Keep a text for every agent: `text`, `key` (made of the first words if left out). A text under that key is replaced."""

    verb: ClassVar[str] = "remember"
    takes: ClassVar[frozenset[str]] = frozenset({"key", "text"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        text = (self.args.get("text") or "").strip()
        if not text:
            raise BadInput("nothing to remember", hint='bd remember "the tests need port 80"')
        if len(text) > TEXT_LIMIT:
            raise BadInput(f"{len(text)} characters; at most {TEXT_LIMIT}", hint="put the rest into a file, and name it here")
        refuse_writer(self.by, snapshot)
        key = check_key(self.args["key"]) if self.args.get("key") else key_of(text)
        there = {memory.key: memory for memory in memories_of(snapshot)}
        result = {"key": key, "text": text, "by": self.by, "at": time_text(self.asked_at)}
        if key in there and (there[key].text, there[key].by) == (text, self.by):
            return Change({}, "", result={**result, "at": there[key].at})
        if key not in there and len(there) >= MOST:
            raise WrongState(f"there are {MOST} memories", hint="`bd forget KEY` drops one; `bd recall` lists them")
        entry = {"text": text, "by": self.by, "at": result["at"]}
        return self._written(snapshot, {**_entries(snapshot), key: entry}, key, result)

    def _written(self, snapshot: Snapshot, entries: dict[str, Any], key: str, result: dict[str, Any]) -> Change:
        config = {name: value for name, value in snapshot.config().items() if name != KEY} | ({KEY: entries} if entries else {})
        return Change({}, f"{self.verb}: {key} by {self.agent}", records={CONFIG_PATH: config}, result=result)


@register
class Forget(Remember):
    """Drop what is remembered under a `key`."""

    verb: ClassVar[str] = "forget"
    takes: ClassVar[frozenset[str]] = frozenset({"key"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        key, entries = self.args["key"], _entries(snapshot)
        if key not in entries:
            raise NotFound(f"nothing is remembered under {key!r}", hint="`bd recall` lists what is")
        refuse_writer(self.by, snapshot)
        return self._written(snapshot, {name: entry for name, entry in entries.items() if name != key}, key, {"key": key})


def _entries(snapshot: Snapshot) -> dict[str, Any]:
    there = snapshot.config().get(KEY)
    return dict(there) if isinstance(there, dict) else {}
