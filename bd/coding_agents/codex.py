"""Lines of Codex CLI: `codex exec --json -`, as versions 0.44 to 0.155 print them.

Usage is that of the whole thread, also after `resume`. There are no dollars, and the model is not named.
"""

from __future__ import annotations

import json

from bd import TYPE_CHECKING
from bd.coding_agents.provider_errors import kind_of_error
from bd.coding_agents.reader import Reader, count_of, instant_of_seconds, map_of, name_of, shown_of, text_of
from bd.coding_agents.spending import Totals

if TYPE_CHECKING:
    from typing import Any

_GONE = ("no rollout found", "thread not found", "no conversation", "session not found", "no saved session")


class CodexReader(Reader):
    """What Codex said."""

    def __init__(self) -> None:
        super().__init__()
        self._message = ""
        self._is_turning = False

    def _take(self, found: dict[str, Any]) -> str:
        kind = found.get("type")
        if kind == "thread.started":
            self.session = name_of(found.get("thread_id")) or self.session
        elif kind == "turn.started":
            self._is_turning = True
        elif kind in ("item.started", "item.completed"):
            return self._take_item(map_of(found.get("item")), is_complete=kind == "item.completed")
        elif kind == "turn.completed":
            self._is_turning = False
            self._count(map_of(found.get("usage")))
            self._report(self._message)
        elif kind == "turn.failed":
            self._is_turning = False
            self._count(map_of(found.get("usage")))
            return self._fail(found.get("error"))
        elif kind == "error":  # of the stream: it may try again, and say later how the turn ended
            words = text_of(found.get("message"))
            self.hear_error(words)
            self._limit(words)
            return shown_of(words)
        return ""

    def _take_item(self, item: dict[str, Any], *, is_complete: bool) -> str:
        kind = item.get("type") or item.get("item_type")
        if item.get("status") == "declined":
            self.denials = tuple(dict.fromkeys((*self.denials, name_of(kind) or "a tool")))
        if kind in ("agent_message", "assistant_message") and is_complete:
            self._message = text_of(item.get("text"))
            return shown_of(self._message)
        if kind == "command_execution" and not is_complete:
            return f"→ {shown_of(text_of(item.get('command')))}"
        if kind == "error" and is_complete:
            return shown_of(self.hear_error(text_of(item.get("message"))))
        return ""

    def _count(self, usage: dict[str, Any]) -> None:
        cached = count_of(usage.get("cached_input_tokens"))
        counted = Totals(None, count_of(usage.get("input_tokens")), cached, count_of(usage.get("output_tokens")))
        if counted.tokens:
            self.totals = counted

    def _fail(self, error: Any) -> str:
        words = text_of(map_of(error).get("message")) or text_of(error) or "the turn failed"
        inner = self._limit(words)
        kind = kind_of_error(words, map_of(inner.get("error")).get("type"), inner.get("status_code"), inner.get("status"))
        if any(gone in words.lower() for gone in _GONE):
            kind = "agent_crash"
        self._report(words, kind or "other")
        return shown_of(words)

    def _limit(self, words: str) -> dict[str, Any]:
        """Return the API's own error, which may be inside the words as JSON, and keep the time at which its limit ends."""
        start = words.find("{")
        try:
            inner = map_of(json.loads(words[start : words.rfind("}") + 1])) if start >= 0 else {}
        except (ValueError, RecursionError):
            inner = {}
        error = map_of(inner.get("error")) or inner
        self.resets_at = instant_of_seconds(error.get("resets_at")) or self.resets_at
        return inner

    def _close(self) -> None:
        if self._is_turning and self._reports:  # a later turn has begun and not ended
            self._is_cut = True

    def _may_be_report(self, line: str) -> bool:
        return '"turn.' in line[:200]
