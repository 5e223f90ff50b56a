"""The document of Gemini CLI: `gemini --output-format json`, as versions 0.6 to 0.65 print it.

One JSON object on stdout, over many lines; errors may be on stderr instead. There are no dollars.
"""

from __future__ import annotations

import json

from bd import TYPE_CHECKING
from bd.coding_agents.provider_errors import kind_of_error
from bd.coding_agents.reader import MOST_DENIALS, Reader, count_of, map_of, name_of, shown_of, text_of
from bd.coding_agents.spending import Totals

if TYPE_CHECKING:
    from typing import Any, ClassVar

_LIMIT = 16_000_000
_KEYS = ("response", "error", "stats")


class GeminiReader(Reader):
    """What Gemini CLI said."""

    codes: ClassVar = {
        41: ("auth_failure", "gemini could not authenticate"),
        42: ("other", "gemini refused its input"),
        44: ("agent_crash", "gemini's sandbox failed"),
        52: ("agent_crash", "gemini's configuration is wrong"),
        53: ("turn_limit", "it reached its limit of turns"),
    }

    def __init__(self) -> None:
        super().__init__()
        self._out, self._err = _Document(), _Document()

    def hear(self, line: str) -> str:
        self._out.add(line)
        return ""

    def hear_error(self, line: str) -> str:
        self._err.add(line)
        return super().hear_error(line)

    def _close(self) -> None:
        found, self._is_cut = self._out.object()
        told, _ = self._err.object()
        self._has_spoken = bool(found) or self._out.has_begun
        for one in (found, told):
            if one:
                self._take(one)

    def _take(self, found: dict[str, Any]) -> str:
        self.session = name_of(found.get("session_id")) or self.session
        stats = map_of(found.get("stats"))
        self._count(map_of(stats.get("models")))
        tools = map_of(map_of(stats.get("tools")).get("byName"))
        refused = (name for name, one in tools.items() if count_of(map_of(map_of(one).get("decisions")).get("reject")))
        self.denials = tuple(name_of(name) or "a tool" for name in refused)[:MOST_DENIALS]
        error = map_of(found.get("error"))
        if "error" in found and found["error"] is not None:
            words = text_of(error.get("message")) or text_of(found["error"]) or "gemini reported an error"
            code = error.get("code")
            kind = kind_of_error(words, code, error.get("type"))
            of_code = self.codes.get(code, ("", ""))[0] if isinstance(code, int) else ""
            self._report(words, of_code or kind or "other")
        elif isinstance(found.get("response"), str):
            self._report(found["response"])
        self.said = shown_of(text_of(found.get("response"))) or self.said
        return self.said

    def _count(self, models: dict[str, Any]) -> None:
        """Add up the tokens of all models. The model that answered most is the one that is named."""
        counted = {name_of(name): map_of(map_of(one).get("tokens")) for name, one in models.items()}
        if not counted:
            return
        self.model = max(counted, key=lambda name: count_of(counted[name].get("total")))
        total = [0, 0, 0]
        for tokens in counted.values():
            prompt = count_of(tokens.get("prompt")) or count_of(tokens.get("input"))
            total[0] += prompt + count_of(tokens.get("tool"))
            total[1] += count_of(tokens.get("cached"))
            total[2] += count_of(tokens.get("candidates")) + count_of(tokens.get("thoughts"))
        self.totals = Totals(None, *total)


class _Document:
    """A JSON object over many lines, among lines of other kinds; only its beginning is kept if it is very long."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._length = 0
        self.has_begun = False

    def add(self, line: str) -> None:
        self.has_begun = self.has_begun or line.lstrip().startswith("{")
        if not self.has_begun:
            return
        self._length += len(line) + 1
        if self._length <= _LIMIT:
            self._lines.append(line)

    def object(self) -> tuple[dict[str, Any] | None, bool]:
        """Return the last object with a known key, and whether one has begun that can't be read."""
        text = "\n".join(self._lines)
        decoder, place, found, is_cut = json.JSONDecoder(), 0, None, self._length > _LIMIT
        while (place := text.find("{", place)) >= 0:
            try:
                one, end = decoder.raw_decode(text, place)
            except (ValueError, RecursionError):
                is_cut = is_cut or text[place : place + 200].lstrip("{ \n\t").startswith(
                    ('"session_id"', '"response"', '"error"')
                )
                place = text.find("\n{", place)
                if place < 0:
                    break
                place += 1
                continue
            place = end
            if isinstance(one, dict) and any(key in one for key in _KEYS):
                found = one
        return found, is_cut
