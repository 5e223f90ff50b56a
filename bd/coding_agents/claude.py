"""Lines of Claude Code: `claude -p --output-format stream-json --verbose`, as versions 1.0 to 2.1.278 print them.

The last line has `type: result`. Its `subtype` can be `success` although `is_error` is set: a failed call of the API ends so.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.coding_agents.provider_errors import kind_of_error
from bd.coding_agents.reader import (
    Reader,
    count_of,
    dollars_of,
    instant_of_seconds,
    list_of,
    map_of,
    name_of,
    names_of,
    shown_of,
    text_of,
)
from bd.coding_agents.spending import Totals

if TYPE_CHECKING:
    from typing import Any

# Subtypes of a result that say what went wrong.
_SUBTYPES = {
    "error_max_turns": ("turn_limit", "it reached its limit of turns"),
    "error_max_budget_usd": ("budget_exceeded", "it reached its own limit of cost"),
    "error_max_structured_output_retries": ("invalid_output", "its output did not fit the schema"),
}
_GONE = "no conversation found"


class ClaudeReader(Reader):
    """What Claude Code said."""

    def __init__(self) -> None:
        super().__init__()
        self._error = ""  # the API's name of the error of the latest message
        self._is_limited = False
        self._message = ""
        self._of_message = self._of_messages = self._of_results = Totals()

    def _take(self, found: dict[str, Any]) -> str:
        kind = found.get("type")
        self.session = name_of(found.get("session_id")) or self.session
        if kind == "system":
            self.model = name_of(found.get("model")) or self.model
            self.version = name_of(found.get("claude_code_version")) or self.version
        elif kind == "assistant":
            return self._take_message(found)
        elif kind == "rate_limit_event":
            self._take_limit(map_of(found.get("rate_limit_info")) or found)
        elif kind == "result":
            return self._take_result(found)
        return ""

    def _take_message(self, found: dict[str, Any]) -> str:
        message = map_of(found.get("message"))
        self._error = name_of(found.get("error"))
        self._count(text_of(message.get("id")), _usage(message.get("usage")))
        shown = ""
        for block in map(map_of, list_of(message.get("content"))):
            if block.get("type") == "text":
                shown = shown_of(text_of(block.get("text"))) or shown
            elif block.get("type") == "tool_use":
                shown = f"→ {name_of(block.get('name'))} {shown_of(_about(map_of(block.get('input'))))}".strip()
        return shown

    def _count(self, message: str, usage: Totals) -> None:
        """Count the tokens of a message, which is printed once for each of its blocks with the same usage."""
        if message != self._message:
            self._of_messages, self._message = _sum(self._of_messages, self._of_message), message
        self._of_message = usage
        self._update(self.totals.usd)

    def _update(self, usd: float | None) -> None:
        messages = _sum(self._of_messages, self._of_message)
        counted = max((messages, self._of_results), key=lambda one: one.input + one.output)
        self.totals = counted._replace(usd=usd)

    def _take_limit(self, info: dict[str, Any]) -> None:
        """Take in the state of a limit. Only a rejection is one that has been reached; others say when its window ends, too."""
        self._is_limited = info.get("status") == "rejected"
        self.resets_at = instant_of_seconds(info.get("resetsAt")) if self._is_limited else None

    def _take_result(self, found: dict[str, Any]) -> str:
        self.denials = tuple(dict.fromkeys((*self.denials, *names_of(found.get("permission_denials"), "tool_name"))))
        self._of_results = _sum(self._of_results, _usage(found.get("usage")))
        usd = dollars_of(found.get("total_cost_usd"))
        known = self.totals.usd
        self._update(usd if known is None else known if usd is None else max(usd, known))
        models = map_of(found.get("modelUsage"))
        self.model = self.model or next((name for name in map(name_of, models) if name), "")
        text = text_of(found.get("result")) or _errors(found)
        kind, words = self._kind(found, text)
        self._report(text or words, kind)
        return shown_of(text)

    def _kind(self, found: dict[str, Any], text: str) -> tuple[str, str]:
        """Return the kind of a failure and its words; "" if it claims success."""
        subtype = name_of(found.get("subtype"))
        if subtype in _SUBTYPES:
            return _SUBTYPES[subtype]
        if subtype == "success" and found.get("is_error") in (False, None):
            return "", ""
        if _GONE in text.lower():
            return "agent_crash", text
        limited = "rate_limit" if self._is_limited else ""
        kind = kind_of_error(text, found.get("api_error_status"), self._error) or limited
        return kind or "other", f"it ended with {subtype or 'an error'}"

    def _may_be_report(self, line: str) -> bool:
        return '"result"' in line[:200]


def _usage(value: Any) -> Totals:
    usage = map_of(value)
    cached = count_of(usage.get("cache_read_input_tokens"))
    written = count_of(usage.get("cache_creation_input_tokens"))
    return Totals(None, count_of(usage.get("input_tokens")) + cached + written, cached, count_of(usage.get("output_tokens")))


def _sum(one: Totals, other: Totals) -> Totals:
    return Totals(None, one.input + other.input, one.cached + other.cached, one.output + other.output)


def _errors(found: dict[str, Any]) -> str:
    told = [*list_of(found.get("errors")), found.get("error")]
    return "; ".join(text for text in map(text_of, told) if text)


def _about(tool_input: dict[str, Any]) -> str:
    keys = ("command", "file_path", "path", "pattern", "description", "url", "query")
    return next((text for key in keys if (text := text_of(tool_input.get(key)))), "")
